/* gpu_transpose.c: opt lists of a GPU for transposes: a tile in shared memory is loaded along the rows of the source and stored along
 * those of the destination; few channels are transposed in registers.
 * Tests: tests/unit/gpu_threads.c, tests/unit/transposition.c, tests/unit/simgpu_sums.c */
#include "tune/choose/choose.h"

#define MIN_TRANSPOSE (1 << 16) /* elements worth a tiled transpose */
#define TRANSPOSE_SHARED 45056  /* bytes of its tiles: five blocks of an SM */
#define TRANSPOSE_TILE 64
#define MIN_TRANSPOSE_SIDE 32 /* of a tile that is worth filling */
#define MOST_COLUMNS 16       /* that a thread has */

static bool is_transposed(const struct view *v, const struct access_view *s, int inner) {
    return !s->store && stride_of(v, s, inner) > 1 && view_can_name(v, s->buf);
}

/* A load that is contiguous along another axis than the store. */
static const struct access_view *transposed_load(const struct view *v, int inner, int *along) {
    const struct access_view *found = NULL;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        if (!is_transposed(v, s, inner)) continue;
        for (int k = 0; k < v->naxis; k++)
            if (v->axis[k].grid && k != inner && stride_of(v, s, k) == 1) found = s, *along = k;
    }
    return found;
}

/* The axis whose rows follow each other in the load, so that both joined are long enough to tile: columns and rows of a small
 * image, between which there may be padding. -1: there is none. */
static int next_rows(const struct view *v, const struct access_view *s, int inner, int along) {
    int k = along - 1;
    if (k < 0 || k == inner || !v->axis[k].grid) return -1;
    int64_t pitch = stride_of(v, s, k), size = v->axis[along].size;
    return pitch <= size && 2 * pitch >= size ? k : -1;
}

/* The innermost axis of positions. */
static int last_position(const struct view *v, int inner) {
    int last = -1;
    for (int i = 0; i < inner; i++)
        if (v->axis[i].most > 1) last = i;
    return last;
}

/* Few channels, or no tile: a thread stores 16 bytes of the channels of a position, consecutive threads those of consecutive positions,
 * along the axis on which the source is contiguous. */
static const char *transpose_in_registers(struct view *v, int inner, int along) {
    int64_t n = v->axis[inner].size;
    const char *name = v->axis[inner].name, *list = "";
    int bytes = 1, last = last_position(v, inner);
    for (int i = 0; i < v->naccess; i++)
        if (v->access[i].store) bytes = RG_MAX(bytes, v->access[i].bytes);
    int lanes = n == 4 || n == 8 ? (int)n : RG_MIN(16 / bytes, 8);
    if (lanes < 4 || n % lanes) return "";
    if (along < last && v->axis[along].size >= lanes)
        list = arena_printf(v->arena, "ORDER(%s,%s) ", v->axis[last].name, v->axis[along].name);
    if (n == lanes) {
        list = arena_printf(v->arena, "%sVEC(%s)", list, name);
    } else {
        const char *part = view_new_axis(v, name, "v");
        list = arena_printf(v->arena, "%sTILE(%s,%d,%s) VEC(%s)", list, name, lanes, part, part);
    }
    return view_legal(v, list) ? list : "";
}

/* STAGE of a load that is transposed; `at`: the axis around the tile, p: its axes along i and j. */
static void stage_transposed(struct view *v, const struct access_view *s, const char *at,
                             const char *const *p, bool wide, struct str *out) {
    const char *x = access_name(v, s);
    str_printf(out, " STAGE(%s,%s,%s+%s+%s,%s+%s+%s)", x, at, p[0], p[1], p[2], p[3], p[4], p[5]);
    if (wide) str_printf(out, " TILE(%s.%s,%d,%s_v) VEC(%s_v)", x, p[3], RG_MIN(16 / s->bytes, 8), x, x);
}

/* What else a fused copy reads transposed has tiles too: the gradient of a batch norm reads three such tensors. */
static void stage_others(struct view *v, const struct access_view *first, int inner, int along, int rows,
                         const char *at, const char *const *p, struct str *out) {
    int bytes = first->bytes;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        size_t n = out->n;
        bool known = s->buf == first->buf;
        for (int k = 0; k < i; k++) known |= v->access[k].buf == s->buf;
        if (known || s->bytes > 4 || !is_transposed(v, s, inner) || stride_of(v, s, along) != 1) continue;
        if (rows >= 0 && next_rows(v, s, inner, along) != rows) continue;
        if ((bytes + s->bytes) * TRANSPOSE_TILE * (TRANSPOSE_TILE + 4) > TRANSPOSE_SHARED) continue;
        stage_transposed(v, s, at, p, rows < 0 && !s->pred, out);
        if (view_legal(v, out->p))
            bytes += s->bytes;
        else
            out->n = n, out->p[n] = 0;
    }
}

/* A tile of 64 x 64 in shared memory, loaded along j, stored along i. */
static const char *write_transpose(struct view *v, const struct access_view *s, int inner, int along,
                                   int rows) {
    const char *i = v->axis[inner].name, *j = v->axis[along].name, *at = i, *p[6];
    struct str out;
    int64_t size = v->axis[along].size;
    str_init(&out, v->arena);
    if (rows >= 0) {
        const char *both = view_new_axis(v, j, "j");
        str_printf(&out, "JOIN(%s,%s,%s) ", v->axis[rows].name, j, both);
        j = both, size *= v->axis[rows].size;
    }
    for (int k = 0; k < 6; k++) p[k] = arena_printf(v->arena, "%s_t%d", k < 3 ? i : j, k % 3);
    if (v->axis[inner].size <= TRANSPOSE_TILE) /* an axis of one tile is gone: the innermost of the others */
        for (int k = 0; k < v->naxis; k++)
            if (k != inner && k != rows && v->axis[k].most > 1 && (k != along || size > TRANSPOSE_TILE))
                at = k == along ? j : v->axis[k].name;
    str_printf(&out,
               "PADTO(%s,64) TILE(%s,64,%s) TILE(%s,8,%s) TILE(%s,4,%s) PADTO(%s,64) TILE(%s,64,%s) "
               "TILE(%s,16,%s) TILE(%s,4,%s) THREAD(%s) THREAD(%s) THREAD(%s) THREAD(%s) ORDER(%s,%s,%s,%s) "
               "VEC(%s) UNROLL(%s)",
               i, i, p[0], p[0], p[1], p[1], p[2], j, j, p[3], p[3], p[4], p[4], p[5], p[3], p[0], p[4], p[1],
               p[3], p[0], p[4], p[1], p[2], p[5]);
    stage_transposed(v, s, at, p, rows < 0 && !s->pred, &out);
    if (!view_legal(v, out.p)) return "";
    stage_others(v, s, inner, along, rows, at, p, &out);
    return out.p;
}

/* Columns of a few elements, row by row: a thread has those of several rows, which it loads and stores by vectors, so that no line
 * is read again. Of small ones, as the weights of a convolution, there would be too few threads. */
static const char *transpose_few(struct view *v, const struct access_view *s, int inner, int along) {
    int64_t n = v->axis[along].size, size = v->axis[inner].size, lanes = s->bytes > 4 ? 2 : 16 / s->bytes;
    lanes = RG_MIN(lanes, 8);
    if (n > MOST_COLUMNS || size < TRANSPOSE_TILE || stride_of(v, s, inner) != n) return "";
    while (size % lanes) lanes /= 2;
    if (gpu_threads(v) / (double)(n * lanes) < gpu_full_threads(v)) return "";
    const char *name = v->axis[inner].name, *part = view_new_axis(v, name, "v");
    const char *list = arena_printf(v->arena, "REG(%s) TILE(%s,%d,%s) VEC(%s)", v->axis[along].name, name,
                                    (int)lanes, part, part);
    return lanes > 1 && view_legal(v, list) ? list : "";
}

const char *gpu_transpose(struct view *v) {
    int inner = -1, along = -1, rows = -1;
    double all = 1;
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].grid || v->axis[i].fixed || v->axis[i].members != 1) return "";
        if (v->axis[i].most > 1) inner = i;
        all *= v->axis[i].most;
    }
    if (v->reduces || v->scans || v->stages || inner < 0 || all < MIN_TRANSPOSE) return "";
    const struct access_view *s = transposed_load(v, inner, &along);
    if (!s) return "";
    if (s->bytes > 4) return transpose_few(v, s, inner, along);
    if (v->axis[inner].size < MIN_TRANSPOSE_SIDE) return transpose_in_registers(v, inner, along);
    if (v->axis[along].size < TRANSPOSE_TILE * 3 / 4) rows = next_rows(v, s, inner, along);
    int64_t size = v->axis[along].size * (rows < 0 ? 1 : v->axis[rows].size);
    const char *tiled = size < MIN_TRANSPOSE_SIDE ? transpose_few(v, s, inner, along)
                                                  : write_transpose(v, s, inner, along, rows);
    return *tiled ? tiled : transpose_in_registers(v, inner, along);
}
