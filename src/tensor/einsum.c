/* einsum.c: sums of products by formula, "bij,bjk->bik".
 *
 * Every axis of every operand gets a label: its letter, or, for the axes that "..." stands for, a number counted from the
 * right so that they broadcast. An operand is first made simple: a letter it has twice becomes its diagonal, a letter
 * that neither the result nor another operand has is summed. Then operands are taken in from left to right. Each step is one
 * product in the form of product.c, (batch, M, 1, K) with (batch, 1, N, K): labels that both have and that are used
 * again are the batch, those that both have and nothing later needs are K, the others M and N. Order of axes inside
 * those groups is the first operand's, so that a matrix product written as a formula is the same graph as matmul.
 * Tests: tests/values/index.txt (einsum), tests/unit/index.c */
#include "tensor/internal.h"

enum { LETTERS = 52, LABELS = LETTERS + SHAPE_MAX };

/* A tensor whose axis i has label[i]. */
struct factor {
    const uop *x;
    uint8_t label[SHAPE_MAX];
    uint32_t n;
};
struct einsum {
    struct tg *g;
    const char *formula;
    struct factor *factor;
    uint32_t nfactor;
    uint8_t out[SHAPE_MAX];
    uint32_t nout;
    bool has_out[LABELS];
    int64_t size[LABELS];
    uint32_t used[LABELS]; /* how many operands that are not taken in yet have it */
    uint32_t dots;         /* the most axes that an ellipsis stands for */
};

static int letter(char c) {
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static const char *said(const struct einsum *e) { return str_visible(e->g->ir->arena, e->formula); }

static void RG_NORETURN bad_char(struct einsum *e, const char *at) {
    char one[2] = {*at, 0};
    tg_bad(e->g, "\"%s\": unexpected '%s' at %d; expected letters, \"...\", ',' and \"->\"", said(e),
           str_visible(e->g->ir->arena, one), (int)(at - e->formula));
}

/* One group of letters; returns what follows it. dots: where the ellipsis stands, -1 for none. */
static const char *group(struct einsum *e, const char *p, uint8_t *label, uint32_t *n, int *dots) {
    for (*n = 0, *dots = -1; *p && *p != ',' && *p != '-'; p++) {
        if (*p == ' ') continue;
        if (*p == '.') {
            if (p[1] != '.' || p[2] != '.' || *dots >= 0) bad_char(e, p);
            *dots = (int)*n, p += 2;
            continue;
        }
        if (letter(*p) < 0) bad_char(e, p);
        if (*n == SHAPE_MAX) tg_rank(e->g, SHAPE_MAX + 1);
        label[(*n)++] = (uint8_t)letter(*p);
    }
    return p;
}

/* Puts the labels of m ellipsis axes into the list at `dots`. */
static void put_dots(struct einsum *e, uint8_t *label, uint32_t *n, int dots, uint32_t m) {
    if (dots < 0) return;
    tg_rank(e->g, *n + m);
    memmove(label + dots + m, label + dots, *n - (uint32_t)dots);
    for (uint32_t i = 0; i < m; i++) label[(uint32_t)dots + i] = (uint8_t)(LETTERS + m - 1 - i);
    *n += m;
}

/* The labels of one operand, and the sizes they have. */
static const char *take_operand(struct einsum *e, const char *p, struct factor *t, uint32_t number) {
    struct tg *g = e->g;
    const struct shape *s = tg_shape(g, t->x);
    int dots;
    p = group(e, p, t->label, &t->n, &dots);
    if (dots < 0 ? t->n != s->n : t->n > s->n)
        tg_bad(g, "\"%s\": operand %u has shape %s; the formula names %u axes", said(e), number + 1,
               tg_dims(g, t->x), t->n);
    uint32_t m = s->n - t->n;
    if (dots >= 0) e->dots = RG_MAX(e->dots, m);
    put_dots(e, t->label, &t->n, dots, m);
    bool seen[LABELS] = {false};
    for (uint32_t i = 0; i < t->n; i++) {
        int64_t *size = &e->size[t->label[i]], d = s->d[i];
        if (*size != -1 && *size != d && *size != 1 && d != 1)
            tg_bad(g,
                   "\"%s\": axis %u of operand %u, shape %s, has size %lld; elsewhere this letter has %lld",
                   said(e), i, number + 1, tg_dims(g, t->x), (long long)d, (long long)*size);
        if (*size == -1 || *size == 1) *size = d;
        e->used[t->label[i]] += !seen[t->label[i]];
        seen[t->label[i]] = true;
    }
    return p;
}

/* What is not written: ellipsis first, then the letters that stand once, in the order of the alphabet. */
static void implicit_output(struct einsum *e) {
    uint32_t count[LABELS] = {0};
    for (uint32_t k = 0; k < e->nfactor; k++)
        for (uint32_t i = 0; i < e->factor[k].n; i++) count[e->factor[k].label[i]]++;
    put_dots(e, e->out, &e->nout, 0, e->dots);
    for (uint32_t i = 0; i < LETTERS; i++) {
        if (count[i] != 1) continue;
        tg_rank(e->g, e->nout + 1);
        e->out[e->nout++] = (uint8_t)i;
    }
}

static void parse(struct einsum *e) {
    const char *p = e->formula;
    for (uint32_t i = 0; i < LABELS; i++) e->size[i] = -1;
    for (uint32_t k = 0; k < e->nfactor; k++) {
        p = take_operand(e, p, &e->factor[k], k);
        bool more = *p == ',';
        if (more != (k + 1 < e->nfactor))
            tg_bad(e->g, "\"%s\" is about %s operands than the %u that are given", said(e),
                   more ? "more" : "fewer", e->nfactor);
        p += more;
    }
    if (!*p) {
        implicit_output(e);
    } else {
        int dots;
        if (p[0] != '-' || p[1] != '>') bad_char(e, p);
        p = group(e, p + 2, e->out, &e->nout, &dots);
        if (*p) bad_char(e, p);
        if (dots < 0 && e->dots)
            tg_bad(e->g, "\"%s\": the result has no \"...\"; its axes would be summed, name them", said(e));
        put_dots(e, e->out, &e->nout, dots, e->dots);
    }
    for (uint32_t i = 0; i < e->nout; i++) {
        if (e->size[e->out[i]] == -1)
            tg_bad(e->g, "\"%s\": a letter of the result is in no operand", said(e));
        if (e->has_out[e->out[i]]) tg_bad(e->g, "\"%s\": a letter stands twice in the result", said(e));
        e->has_out[e->out[i]] = true;
    }
}

/* ---- one operand ------------------------------------------------------------------------------------------------ */

static void drop_label(struct factor *t, uint32_t i) { memmove(t->label + i, t->label + i + 1, --t->n - i); }

static void take_diagonals(struct einsum *e, struct factor *t) {
    for (uint32_t i = 0; i < t->n; i++)
        for (uint32_t k = i + 1; k < t->n; k++) {
            if (t->label[k] != t->label[i]) continue;
            const struct shape *s = tg_shape(e->g, t->x);
            uint8_t same = t->label[i];
            if (s->d[i] != s->d[k])
                tg_bad(e->g, "\"%s\": a letter stands for axes of size %lld and %lld of one operand", said(e),
                       (long long)s->d[i], (long long)s->d[k]);
            t->x = t_diagonal(e->g, t->x, 0, i, k);
            drop_label(t, k), drop_label(t, i);
            t->label[t->n++] = same;
            i = UINT32_MAX; /* again from the first */
            break;
        }
}

/* Sums over labels that only this operand has. The counts of `used` include it. */
static void sum_alone(struct einsum *e, struct factor *t) {
    uint32_t mask = 0;
    for (uint32_t i = 0; i < t->n; i++)
        if (e->used[t->label[i]] == 1 && !e->has_out[t->label[i]]) mask |= (uint32_t)1 << i;
    if (!mask) return;
    t->x = tg_drop(e->g, tg_reduce(e->g, OP_ADD, t->x, mask), mask, false);
    for (uint32_t i = t->n; i-- > 0;)
        if (mask >> i & 1) drop_label(t, i);
}

static int axis_of(const struct factor *t, uint8_t label) {
    for (uint32_t i = 0; i < t->n; i++)
        if (t->label[i] == label) return (int)i;
    return -1;
}

/* The operand with axes as `order` says, size 1 where it does not have the label. */
static const uop *arranged(struct tg *g, const struct factor *t, const uint8_t *order, uint32_t n) {
    const struct shape *s = tg_shape(g, t->x);
    int64_t axis[SHAPE_MAX], d[SHAPE_MAX];
    uint32_t m = 0;
    for (uint32_t i = 0; i < n; i++) {
        int a = axis_of(t, order[i]);
        d[i] = a < 0 ? 1 : s->d[a];
        if (a >= 0) axis[m++] = a;
    }
    return tg_reshape(g, t_permute(g, t->x, axis, m), shape_make(&g->shapes, d, n));
}

/* ---- two operands ------------------------------------------------------------------------------------------------ */

static uint32_t add_labels(uint8_t *order, uint32_t n, const struct factor *t, const struct factor *other,
                           bool both, const bool *needed, bool want) {
    for (uint32_t i = 0; i < t->n; i++) {
        uint8_t l = t->label[i];
        if ((axis_of(other, l) >= 0) == both && needed[l] == want) order[n++] = l;
    }
    return n;
}

/* a becomes the product of a and b, summed over what is not needed any more. */
static void multiply(struct einsum *e, struct factor *a, const struct factor *b) {
    struct tg *g = e->g;
    bool needed[LABELS];
    uint8_t order[2 * SHAPE_MAX];
    for (uint32_t i = 0; i < LABELS; i++) needed[i] = e->has_out[i] || e->used[i];
    uint32_t n = add_labels(order, 0, a, b, true, needed, true);
    n = add_labels(order, n, a, b, false, needed, true);
    n = add_labels(order, n, b, a, false, needed, true);
    uint32_t kept = n;
    n = add_labels(order, n, a, b, true, needed, false);
    tg_rank(g, n);
    const uop *x = arranged(g, a, order, n), *y = arranged(g, b, order, n);
    a->x = tg_contract(g, x, y, n - kept);
    a->n = kept;
    memcpy(a->label, order, kept);
}

const uop *t_einsum(struct tg *g, const char *formula, const uop *const *x, uint32_t n) {
    struct einsum e = {.g = g, .formula = formula, .nfactor = n};
    enum dtype dt = DT_VOID;
    if (!n) tg_bad(g, "\"%s\" of no tensors; give at least one", said(&e));
    e.factor = arena_array(g->ir->arena, struct factor, n);
    for (uint32_t i = 0; i < n; i++)
        e.factor[i].x = tg_value(g, x[i]), dt = t_promote(dt, (enum dtype)x[i]->dt);
    parse(&e);
    for (uint32_t i = 0; i < n; i++) { /* 16-bit floats are summed in float32 and rounded once, at the end */
        struct factor *t = &e.factor[i];
        t->x = t_cast(g, t->x, dt == DT_F16 || dt == DT_BF16 ? DT_F32 : dt);
        take_diagonals(&e, t);
        sum_alone(&e, t);
    }
    struct factor a = e.factor[0];
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t i = 0; i < e.factor[k].n; i++) e.used[e.factor[k].label[i]]--;
        if (k) multiply(&e, &a, &e.factor[k]);
    }
    return t_cast(g, arranged(g, &a, e.out, e.nout), dt);
}
