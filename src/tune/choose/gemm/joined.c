/* joined.c: contractions one of whose operands is read with gaps: every second row and column of an image, by a 1 x 1 convolution with
 * strides and by the gradient of its weights. No axis is long and contiguous in both operands, but packed tiles do not care: the reduced
 * axes are joined, and output axes that are one in what is stored. What is left is a GEMM that packs (packed.c).
 *
 * (512 x 256 sums of 8 x 7 x 7 terms on AVX-512: 35.4 ms by gathers, 1.2. Images of 256 channels, every second of 14 x 14 positions, 512
 * filters: 5.3 ms by vectors of 4 positions, 1.5.)
 * Requires: struct view. Gives: an opt list. Tests: tests/unit/heuristic.c */
#include "tune/choose/gemm/gemm.h"

struct joined {
    const struct view *v;
    bool (*write)(struct view *, struct str *);
    char text[CHOOSE_TEXT];
};

static void write_rest(void *cx, struct sched *s, const uop *sink) {
    struct joined *j = cx;
    struct view *v = view_after(j->v, s);
    struct str out;
    (void)sink;
    str_init(&out, s->ir->arena);
    if (!v) return;
    if (j->write(v, &out)) snprintf(j->text, sizeof j->text, "%s", out.n < sizeof j->text ? out.p : "");
}

bool write_joined(struct view *v, bool (*write)(struct view *, struct str *), struct str *out) {
    struct joined j = {.v = v, .write = write};
    if (!out->n) return false;
    opts_axes(v->ir, v->kernel, out->p, write_rest, &j);
    str_printf(out, "%s", j.text);
    return *j.text;
}

const char *join_terms(struct view *v, struct str *out) {
    const char *last = NULL;
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].reduce) continue;
        const char *both = last ? view_new_axis(v, last, "j") : v->axis[i].name;
        if (last) str_printf(out, " JOIN(%s,%s,%s)", last, v->axis[i].name, both);
        last = both;
    }
    return last;
}

/* The output axis around n with which it is one in what is stored, and which a has neither; -1: there is none. */
static int axis_around(const struct view *v, const struct contraction *c) {
    int64_t inner = access_stride(v, c->store, c->n, 1);
    for (int i = 0; i < v->naxis; i++)
        if (i != c->n && is_own_output(v, i, c->b.mask, c->a.mask) && v->axis[i].grid &&
            v->axis[i].pos < v->axis[c->n].pos &&
            access_stride(v, c->store, i, 1) == inner * v->axis[c->n].size)
            return i;
    return -1;
}

static bool write_packed_only(struct view *v, struct str *out) {
    struct contraction c = {0};
    if (!contraction_find(v, &c) || c.nk != 1 || !recipe_gemm(v, 0, out)) return false;
    return strstr(out->p, arena_printf(v->arena, "STAGE(%s,", access_name(v, c.a.access))) &&
           strstr(out->p, arena_printf(v->arena, "STAGE(%s,", access_name(v, c.b.access)));
}

bool write_gaps(struct view *v, const struct contraction *c, struct str *out) {
    enum { LEAST_TERMS = 32 };
    int around = -1;
    if (!c->product || !is_packable(v, &c->a) || !is_packable(v, &c->b) || c->depth < LEAST_TERMS ||
        c->a.access->buf == c->b.access->buf || has_windows(v, c))
        return false;
    if (c->nk > 1) join_terms(v, out);
    if (filled(v->axis[c->n].size, view_lanes(v, c->n)) < 0.9) around = axis_around(v, c);
    if (around >= 0)
        str_printf(out, " JOIN(%s,%s,%s)", v->axis[around].name, v->axis[c->n].name,
                   view_new_axis(v, v->axis[around].name, "j"));
    return write_joined(v, write_packed_only, out);
}
