/* gpu_heuristic.c: opt lists for a GPU, without search.
 *
 * A thread runs a grid iteration, unless the threads of a block share the values of a loop (COOP), and then a block does.
 * What decides is how memory is walked and how many threads there are. Neighbouring threads take neighbouring values of
 * the innermost grid axis, or of the shared axis: where their addresses are the same or next to each other one access
 * serves the whole warp, else each costs a sector of 32 bytes. And a GPU that is not full of threads is as much slower.
 * So a sum along rows is shared, a sum along columns is not unless there are few; a matrix product is not.
 * Where threads walk along memory and are many, each takes 16 bytes at once. In a sum of products a thread computes a tile of
 * results, so that each number it loads is used several times.
 * Tests: tests/unit/cuda.c */
#include "tune/choose/choose.h"

#define SECTOR 32.0
#define SHARE_LEAST 32        /* values of a loop that are worth a block */
#define MOST_GRID 1e9         /* iterations of the grid; 2^31 is the limit */
#define MOST_SHARE 512.0      /* threads of a block, each with four values */
#define LONG_SUM 1024.0       /* products of one result .. */
#define FEW_RESULTS 1048576.0 /* .. of so few that blocks of threads should share them */
#define MOST_SUMS 64          /* that the threads of a block tell each other (gpu_coop.c) */
#define MANY_BLOCKS 2048.0    /* that keep a large GPU busy */

/* Threads that keep the GPU busy; threads of a kernel that PDL starts early. */
static double full(const struct view *v) { return v->gpu->sms * gpu_cost.threads_full; }
static double early(const struct view *v) { return v->gpu->sms * gpu_cost.threads_early; }

static bool is_shareable(const struct axis_view *a) {
    return !a->grid && !a->scan && !a->fixed && a->most >= SHARE_LEAST;
}

/* Bytes that the accesses cost if neighbouring threads are neighbours along `axis` (-1: there is one thread). */
static double traffic(const struct view *v, int axis) {
    double sum = 0;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = axis < 0 ? NO_STRIDE : access_stride(v, s, axis, 4);
        double step =
            stride == NO_STRIDE ? SECTOR : RG_MIN((double)(stride < 0 ? -stride : stride) * s->bytes, SECTOR);
        sum += v->times[s->node->id] * RG_MAX(step, 1.0 / 8);
    }
    return sum;
}

static double threads_of(const struct view *v) {
    double n = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid) n *= v->axis[i].most;
    return n;
}

static int inner_grid(const struct view *v) {
    int at = -1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && v->axis[i].most > 1) at = i;
    return at;
}

/* Elements of the inner grid axis that a thread takes at once where others of its warp are elsewhere: whole sectors. */
static int sector_lanes(const struct view *v) {
    int inner = inner_grid(v), bytes = 0;
    if (inner < 0 || v->scans || v->axis[inner].fixed) return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, inner, 16);
        bool result =
            s->store && !s->add && v->reduces && stride != NO_STRIDE; /* seldom, beside what is summed */
        if (s->pred || (stride != 1 && (stride != 0 || s->store) && !result)) return 1;
        if (stride == 1) bytes = RG_MAX(bytes, s->add ? 4 : s->bytes);
    }
    int lanes = bytes ? RG_MIN((int)SECTOR / bytes, 16) : 1;
    return v->axis[inner].size < 0 || v->axis[inner].size % lanes ? 1 : lanes;
}

/* The axis whose values a block should share, or -1; *cost: of that. *lanes: of the inner grid axis, for each thread: a sum along
 * columns of which there are few. */
static int shared_axis(const struct view *v, double *cost, int *lanes) {
    double n = threads_of(v), best = traffic(v, inner_grid(v)) / RG_MIN(n / full(v), 1), all_bytes = 0;
    int at = -1, wide = sector_lanes(v);
    bool adds = false; /* to places that are loaded */
    if (wide * v->reduces > MOST_SUMS) wide = 1;
    *lanes = 1;
    for (int i = 0; i < v->naccess; i++)
        all_bytes += v->times[v->access[i].node->id] * v->access[i].bytes, adds |= v->access[i].add;
    for (int i = 0; i < v->naxis; i++) {
        if (!is_shareable(&v->axis[i])) continue;
        double all = n * RG_MIN(v->axis[i].most / 4, MOST_SHARE);
        double share = gpu_cost.coop_traffic * traffic(v, i) / RG_MIN(all / full(v), 1);
        if (share < best) best = share, at = i, *lanes = 1;
        double down = gpu_cost.column_traffic * all_bytes / RG_MIN(all / wide / full(v), 1);
        if (wide > 1 && (v->axis[i].reduce || adds) && down < best) best = down, at = i, *lanes = wide;
    }
    *cost = best;
    return at;
}

/* Elements of 16 bytes along an axis, if what moves with it walks along memory, all stores and most loads; else 1. Of types of
 * several sizes the largest counts, or, `flat`, the smallest as long as the others have no more than 32 bytes, and what is stored
 * 16: where threads share nothing, fewer of them do the arithmetic of indices and predicates, but a sector that is stored in two
 * halves goes to L2 twice. */
static int pieces(const struct view *v, int axis, bool flat) {
    int bytes = 1, stored = 1, least = 16, along = 0, astray = 0;
    if (axis < 0 || v->scans || v->axis[axis].fixed) return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, 16);
        bool store = s->store && v->axis[axis].grid; /* a row's result does not move along the row */
        if ((s->pred && (s->store || stride != 1)) || s->add || (stride != 1 && store)) return 1;
        if (stride == 1) bytes = RG_MAX(bytes, s->bytes), least = RG_MIN(least, s->bytes), along++;
        if (stride == 1 && s->store) stored = RG_MAX(stored, s->bytes);
        astray += stride != 1 && stride != 0;
    }
    int lanes = astray > along ? 1 : flat ? RG_MIN(RG_MIN(16 / least, 32 / bytes), 16 / stored) : 16 / bytes;
    return v->axis[axis].size < 0 || v->axis[axis].size % lanes ? 1 : lanes;
}

/* Rows of any length, each value stored where it is computed: they can be begun at multiples of 16 bytes, and what is read
 * lies along them too, or is one for all. Elements of 16 bytes; else 1. */
static int odd_pieces(const struct view *v, int axis) {
    int bytes = 0;
    bool astray = false;
    if (axis < 0 || v->scans || v->reduces || v->stages || v->axis[axis].fixed || v->axis[axis].members != 1)
        return 1;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t stride = access_stride(v, s, axis, 16);
        if (s->add || (s->store && (stride != 1 || s->pred || (bytes && bytes != s->bytes)))) return 1;
        if (s->store) bytes = s->bytes;
        astray |= stride != 1 && stride != 0;
    }
    return bytes && !astray && v->axis[axis].size >= 64 ? 16 / bytes : 1;
}

/* Passes over data of one shape may have axes of their own (a mean, then a variance): they are shared alike. */
static bool shares_with(const struct view *v, int i, int axis) {
    return i == axis || (is_shareable(&v->axis[i]) && v->axis[i].size == v->axis[axis].size);
}

/* Several passes over a row that the registers of a block can hold: memory is read in the first of them alone. A row for
 * what is computed, and one for each buffer that is read more than once. */
static bool keeps_rows(const struct view *v, int axis) {
    const struct axis_view *a = &v->axis[axis];
    if (a->members < 2 || a->size < 0) return false;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && !shares_with(v, i, axis)) return false; /* a row for each value of a loop */
    int rows = 1;
    for (int i = 0; i < v->naccess; i++) {
        bool first = true, again = false;
        for (int k = 0; k < v->naccess; k++) {
            if (v->access[k].buf != v->access[i].buf || v->access[k].store ||
                !has_axis(v, v->access[k].mask, axis))
                continue;
            first &= k >= i, again |= k > i;
        }
        rows += first && again && !v->access[i].store && has_axis(v, v->access[i].mask, axis);
    }
    return (double)rows * a->most <= v->gpu->regs_sm;
}

static void tile_of_rows(struct view *v, struct str *out, bool *many);

/* Where a thread has enough values left it takes 16 bytes of them at once: as lanes, or one after the other where it has
 * many sums already. */
static void share(struct view *v, int axis, bool keep, struct str *out) {
    bool many = false;
    if (keep) str_printf(out, " RESIDENT(%s,loads)", v->axis[axis].name);
    if (!keep) tile_of_rows(v, out, &many);
    for (int i = 0; i < v->naxis; i++) {
        const char *name = v->axis[i].name;
        if (!shares_with(v, i, axis)) continue;
        int n = pieces(v, i, false);
        if (n > 1 && v->axis[i].most >= 16.0 * n) {
            const char *inner = view_new_axis(v, name, "v");
            str_printf(out, " TILE(%s,%d,%s) %s(%s)", name, n, inner, many ? "UNROLL" : "VEC", inner);
        }
        str_printf(out, " COOP(%s)", name);
    }
}

/* ---- sums of products ----------------------------------------------------------------------------------- */

static const uop *product_of(const struct view *v) {
    for (int i = 0; i < RG_MIN(v->reduces, (int)RG_COUNT(v->reduce)); i++) {
        const uop *x = v->reduce[i]->src[0];
        while (x->op == OP_CAST) x = x->src[0];
        if (v->reduce[i]->arg.i == OP_ADD && x->op == OP_MUL) return x;
    }
    return NULL;
}

/* One factor moves with the axis and the other does not: along it, what is loaded of the other serves all. */
static bool reuses(const struct view *v, const uop *product, int axis) {
    return view_depends(v, product->src[0], axis) != view_depends(v, product->src[1], axis);
}

static int divisor_below(int64_t n, int most) {
    for (; most > 1 && n % most; most--) {}
    return most;
}

static void cut(struct view *v, int axis, int n, const char *how, struct str *out) {
    const char *inner = view_new_axis(v, v->axis[axis].name, "r");
    if (n > 1) str_printf(out, " TILE(%s,%d,%s) %s(%s)", v->axis[axis].name, n, inner, how, inner);
}

/* The innermost of several loops, if it is short: the taps of a window, written out, so that what one tap loads serves the
 * next. "" if there is none. */
static const char *taps(const struct view *v) {
    int last = -1, loops = 0;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid) last = i, loops++;
    const struct axis_view *a = &v->axis[RG_MAX(last, 0)];
    bool short_one = loops > 1 && a->reduce && !a->fixed && a->size >= 2 && a->size <= 8;
    return short_one ? arena_printf(v->arena, " UNROLL(%s)", a->name) : "";
}

/* The grid axis outside of the innermost that moves the same factor: the rows of an image; -1 if there is none. */
static int row_axis(const struct view *v, const uop *x, int inner) {
    int at = inner - 1;
    if (at < 0 || !v->axis[at].grid || v->axis[at].fixed || !reuses(v, x, at)) return -1;
    return view_depends(v, x->src[0], at) == view_depends(v, x->src[0], inner) ? at : -1;
}

/* A tile along the innermost axis and the largest other one, as large as leaves enough threads; "" if there is none. Lanes would
 * each ask a predicate of their own. */
static const char *tile_of_results(struct view *v) {
    static const int size[][2] = {{8, 4}, {4, 4}, {4, 2}, {2, 2}};
    const uop *x = product_of(v);
    int inner = inner_grid(v), other = -1;
    bool preds = false;
    for (int i = 0; i < v->naccess; i++) preds |= v->access[i].pred != NULL;
    if (!x || inner < 0 || !reuses(v, x, inner)) return "";
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->fixed || i == inner || a->size < 2 || !reuses(v, x, i)) continue;
        if (view_depends(v, x->src[0], i) == view_depends(v, x->src[0], inner))
            continue; /* moves the same factor */
        if (other < 0 || a->size > v->axis[other].size) other = i;
    }
    for (size_t k = 0; other >= 0 && k < RG_COUNT(size) * 2; k++) {
        struct str s;
        int m = divisor_below(v->axis[other].size, size[k / 2][0]),
            n = divisor_below(v->axis[inner].size, size[k / 2][1]);
        if (threads_of(v) / (m * n) < full(v) / 4 || m * n == 1) continue;
        int row = n <= 2 && *taps(v) ? row_axis(v, x, inner) : -1;
        str_init(&s, v->arena);
        cut(v, other, m, "REG", &s);
        if (row >= 0 && row != other && v->axis[row].size % 2 == 0) cut(v, row, 2, "REG", &s);
        cut(v, inner, n, k % 2 || n == 3 || preds ? "REG" : "VEC", &s);
        str_add(&s, taps(v));
        if (s.n < CHOOSE_TEXT && opts_legal(v->ir, v->kernel, s.p + 1, NULL)) return s.p + 1;
    }
    return "";
}

/* Few rows by a matrix, summed along memory: a block computes several results of each factor, so that what it loads serves all. */
static void tile_of_rows(struct view *v, struct str *out, bool *many) {
    static const int most[2] = {8, 4};
    const uop *x = product_of(v);
    double left = threads_of(v);
    int tile[2] = {1, 1}, axis[2] = {-1, -1};
    if (!x || most[0] * most[1] * v->reduces > MOST_SUMS) return;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->fixed || a->size < 2 || !reuses(v, x, i)) continue;
        int side = view_depends(v, x->src[1], i);
        if (axis[side] < 0 || a->size > v->axis[axis[side]].size) axis[side] = i;
    }
    if (axis[0] >= 0 && (axis[1] < 0 || v->axis[axis[0]].size > v->axis[axis[1]].size)) {
        int t = axis[0]; /* the longer one second: it has more results to choose from */
        axis[0] = axis[1], axis[1] = t;
    }
    for (int k = 0; k < 2; k++) {
        if (axis[k] < 0) continue;
        int n = divisor_below(v->axis[axis[k]].size, axis[0] < 0 ? 2 : most[k]);
        while (n > 1 && (left / n < MANY_BLOCKS || v->axis[axis[k]].size % n)) n--;
        tile[k] = n, left /= n;
    }
    *many = tile[0] * tile[1] > 4;
    for (int k = 0; k < 2; k++)
        if (axis[k] >= 0) cut(v, axis[k], tile[k], "REG", out);
}

/* More iterations than can be counted: the largest axis of the grid is cut, and a thread runs several of its values. */
static void thin(struct view *v, struct str *out) {
    int at = -1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid && (at < 0 || v->axis[i].most > v->axis[at].most)) at = i;
    const char *inner = view_new_axis(v, v->axis[at].name, "l");
    str_printf(out, " TILE(%s,%d,%s)", v->axis[at].name, (int)(threads_of(v) / MOST_GRID) + 1, inner);
}

static void share_down(struct view *v, int axis, int lanes, struct str *out) {
    int inner = inner_grid(v);
    const char *name = view_new_axis(v, v->axis[inner].name, "v");
    str_printf(out, " TILE(%s,%d,%s) VEC(%s) COOP(%s)", v->axis[inner].name, lanes, name, name,
               v->axis[axis].name);
}

/* Sums of few terms, such as the parts of a product whose sum was cut: a thread takes as many results as leave few blocks, up to
 * `lanes`. Such kernels are over as soon as what they load is there, and those of few blocks are at their places before what they wait
 * for is done (device/cuda). 1: it is no such kernel. */
static int lanes_of_parts(const struct view *v, int lanes) {
    int n = 1;
    if (v->reduces != 1 || v->scans || v->stages) return 1;
    for (int i = 0; i < v->naxis; i++)
        if (!v->axis[i].grid && (!v->axis[i].reduce || v->axis[i].most > SHARE_LEAST)) return 1;
    while (n < lanes && threads_of(v) / n > early(v)) n *= 2;
    return n;
}

static bool is_legal(const struct view *v, const struct str *s) {
    return s->n && s->n < CHOOSE_TEXT && opts_legal(v->ir, v->kernel, s->p + 1, NULL);
}

static const char *choose(struct view *v) {
    struct str s;
    double cost;
    int down, axis = shared_axis(v, &cost, &down), inner = inner_grid(v), lanes = pieces(v, inner, true);
    str_init(&s, v->arena);
    if (axis < 0 && threads_of(v) <= MOST_GRID) {
        const char *tile = tile_of_results(v);
        if (*tile) return tile;
    }
    if (axis >= 0 && down > 1) {
        share_down(v, axis, down, &s);
    } else if (axis >= 0) {
        bool keep = keeps_rows(v, axis);
        share(v, axis, keep, &s);
        if (keep && !is_legal(v, &s)) s.n = 0, share(v, axis, false, &s);
    } else if (lanes > 1 && (threads_of(v) / lanes >= full(v) || lanes_of_parts(v, lanes) > 1)) {
        if (threads_of(v) / lanes < full(v)) lanes = lanes_of_parts(v, lanes);
        const char *name = view_new_axis(v, v->axis[inner].name, "v");
        str_printf(&s, " TILE(%s,%d,%s) VEC(%s)", v->axis[inner].name, lanes, name, name);
    }
    int odd = axis < 0 && !s.n ? odd_pieces(v, inner) : 1;
    if (odd > 1 && threads_of(v) / odd >= full(v)) {
        const char *name = view_new_axis(v, v->axis[inner].name, "v");
        str_printf(&s, " ALIGN(%s,%d) TILE(%s,%d,%s) VEC(%s)", v->axis[inner].name, odd, v->axis[inner].name,
                   odd, name, name);
        if (!is_legal(v, &s)) s.n = 0;
    }
    if (threads_of(v) / lanes > MOST_GRID) thin(v, &s);
    return is_legal(v, &s) ? s.p + 1 : "";
}

/* ---- long sums of products along memory ------------------------------------------------------------------------ */

/* The innermost loop, if all loops are one sum of products and both factors walk along memory with it; else -1. */
static int dot_loop(const struct view *v, double *depth) {
    int at = -1, moving = 0;
    *depth = 1;
    if (v->reduces != 1 || v->scans || v->stages || !product_of(v)) return -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (a->fixed || a->size < 0) return -1;
        if (a->grid) continue;
        if (!a->reduce || a->members > 1) return -1;
        at = i, *depth *= (double)a->size;
    }
    for (int i = 0; i < v->naccess && at >= 0; i++) {
        const struct access_view *s = &v->access[i];
        if (s->pred || s->add) return -1;
        if (s->store || !has_axis(v, s->mask, at)) continue;
        if (access_stride(v, s, at, 4) != 1) return -1;
        moving++;
    }
    return moving >= 2 ? at : -1;
}

/* A short grid axis along which a factor walks over the same elements as along the loop: the taps of a window. */
static int tap_axis(const struct view *v, int loop) {
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->size < 2 || a->size > 8) continue;
        for (int k = 0; k < v->naccess; k++) {
            const struct access_view *s = &v->access[k];
            if (!s->store && has_axis(v, s->mask, loop) && access_stride(v, s, i, 1) == 1) return i;
        }
    }
    return -1;
}

/* The other factor's results: as many as divide its largest axis. */
static void tile_of_other(struct view *v, int tap, struct str *out) {
    const uop *x = product_of(v);
    int other = -1, side = view_depends(v, x->src[0], tap);
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        if (!a->grid || a->size < 2 || i == tap || !reuses(v, x, i) || view_depends(v, x->src[!side], i))
            continue;
        if (other < 0 || a->size > v->axis[other].size) other = i;
    }
    if (other >= 0)
        cut(v, other, divisor_below(v->axis[other].size, v->axis[tap].size > 4 ? 4 : 8), "REG", out);
}

/* The gradient of a convolution's weights, and the like: few results, each a sum over all places of all images. A block
 * runs along memory, all loops joined to one, and each thread has a tile of results; where these are the taps of
 * a window, four places at once need few more elements than one. "" if it is not such a sum. */
static const char *long_dots(struct view *v) {
    double depth;
    struct str s;
    bool many = false;
    int loop = dot_loop(v, &depth), tap = loop < 0 ? -1 : tap_axis(v, loop);
    const char *joined = loop < 0 ? NULL : v->axis[loop].name;
    str_init(&s, v->arena);
    if (loop < 0 || depth < LONG_SUM || threads_of(v) > FEW_RESULTS) return "";
    for (int i = loop - 1; i >= 0; i--) {
        if (v->axis[i].grid) continue;
        const char *name = view_new_axis(v, v->axis[i].name, "j");
        str_printf(&s, " JOIN(%s,%s,%s)", v->axis[i].name, joined, name);
        joined = name;
    }
    if (!s.n) return "";
    if (tap >= 0 && v->axis[loop].size % 4 == 0) {
        const char *inner = view_new_axis(v, joined, "v");
        tile_of_other(v, tap, &s);
        str_printf(&s, " REG(%s) TILE(%s,4,%s) UNROLL(%s)", v->axis[tap].name, joined, inner, inner);
    } else {
        tile_of_rows(v, &s, &many);
    }
    str_printf(&s, " COOP(%s)", joined);
    return is_legal(v, &s) ? s.p + 1 : "";
}

/* ---- loops that are shared better together ------------------------------------------------------------------- */

static bool gpu_view(struct view *v, struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu) {
    bool ok = view_init(v, ir, k, 16, 1);
    v->gpu = gpu;
    return ok;
}

/* The text of a JOIN of two loops, one inside the other, that brings the cost down; NULL if there is none. */
static const char *join_of(struct view *v, double *cost, const uop **sink) {
    const uop *x = product_of(v);
    int inner = inner_grid(v);
    if (x && inner >= 0 && reuses(v, x, inner)) return NULL; /* its loops are a window's, or a tile's */
    for (int i = 0; i + 1 < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i], *b = &v->axis[i + 1];
        if (a->grid || b->grid || a->scan || b->scan || a->fixed || b->fixed || a->members != b->members)
            continue;
        const char *text =
            arena_printf(v->arena, "JOIN(%s,%s,%s)", a->name, b->name, view_new_axis(v, a->name, "j"));
        if (!opts_legal(v->ir, v->kernel, text, NULL)) continue;
        struct sched s;
        struct view joined;
        sched_init(&s, v->ir, v->kernel);
        sched_apply(&s, text);
        struct kernel k = *v->kernel;
        k.sink = s.sink;
        double now;
        int lanes;
        if (!gpu_view(&joined, v->ir, &k, v->gpu) || shared_axis(&joined, &now, &lanes) < 0 || now >= *cost)
            continue;
        *cost = now, *sink = s.sink;
        return text;
    }
    return NULL;
}

/* Sums that are stored otherwise than what they are made of lies: neighbouring threads should be neighbours where most is
 * loaded. The text of an ORDER that makes another axis of the grid the innermost and halves the cost, and the view then; "" if there is
 * none. */
static const char *order_of(struct view *v, double cost) {
    int inner = inner_grid(v), lanes;
    if (v->reduces != 1 || v->scans || v->stages || product_of(v) || inner < 0) return "";
    for (int i = 0; i < inner; i++) {
        struct axis_view a = v->axis[i], b = v->axis[inner];
        double now;
        if (!a.grid || a.fixed || b.fixed || a.most < SHARE_LEAST) continue;
        v->axis[i] = b, v->axis[inner] = a;
        shared_axis(v, &now, &lanes);
        if (now < cost / 2) return arena_printf(v->arena, "ORDER(%s,%s) ", b.name, a.name);
        v->axis[i] = a, v->axis[inner] = b;
    }
    return "";
}

static void write_list(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu, char *text) {
    struct view *v = arena_new(ir->arena, struct view);
    struct kernel now = *k;
    struct str joins;
    double cost;
    int lanes;
    str_init(&joins, ir->arena);
    if (!gpu_view(v, ir, &now, gpu)) return;
    const char *block = gpu->cc ? gpu_skinny_gemm(v) : "";
    if (gpu->cc && !*block) block = gpu_conv(v);
    if (gpu->cc && !*block) block = gpu_gemm(v);
    if (gpu->cc && !*block) block = gpu_attention(v);
    if (gpu->cc && !*block) block = gpu_transpose(v);
    if (!*block) block = long_dots(v);
    if (*block) {
        snprintf(text, CHOOSE_TEXT, "%s", block);
        return;
    }
    shared_axis(v, &cost, &lanes);
    const char *order = order_of(v, cost);
    if (*order) {
        snprintf(text, CHOOSE_TEXT, "%s%s", order, choose(v));
        if (!opts_legal(ir, k, text, NULL)) *text = 0;
        return;
    }
    for (const char *join; (join = join_of(v, &cost, &now.sink));) {
        str_printf(&joins, "%s ", join);
        if (!gpu_view(v, ir, &now, gpu)) return;
    }
    snprintf(text, CHOOSE_TEXT, "%s%s", joins.n ? joins.p : "", choose(v));
    if (joins.n && !opts_legal(ir, k, text, NULL)) *text = 0;
}

const char *opts_heuristic_gpu(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu) {
    char text[CHOOSE_TEXT] = "";
    write_list(ir, k, gpu, text); /* a JOIN makes nodes, which stay */
    return arena_strdup(ir->arena, text, strlen(text));
}

void opts_forms_gpu(struct ir *ir, const struct kernel *k, const struct gpu_spec *gpu,
                    const struct model *model, const char *like, uint32_t best, uint32_t more,
                    gpu_lists *out) {
    struct view *v = arena_new(ir->arena, struct view);
    *out = (gpu_lists){0};
    if (gpu->cc && gpu_view(v, ir, k, gpu)) gpu_gemm_forms(v, model, like, best, more, out);
}
