/* attention.c: softmax(q k^T * scale + mask) v, written so that no value for each query and key is ever stored.
 *
 * Forward, for the scores S of one query: m is the greatest, P = exp(S - m), l the sum of P, and the result is (P v) / l. S
 * and P are INLINE: the kernel keeps one row of them in scratch memory (src/schedule/rangeify.c, value_kept), and all of
 * it is one kernel.
 *
 * Backward, plain differentiation would go through m, P and l. Instead the result is a GRAD_THROUGH: its value is the one above, its
 * gradient that of
 *
 *     B = P v - O * (the sum of P over the keys),   P = exp(S - lse),   lse = m + log l
 *
 * where lse and O, the result, are constants. What flows to P is then dO v^T - D with D = sum(dO * O), because that is
 * what sum(P * dP) is, and from P to S it is multiplied by P: the gradient of the softmax in closed form, from lse and O
 * alone. P is INLINE again, so dQ is one kernel with rows along the keys, dK and dV one with rows along the queries. B
 * itself is never computed. As lse and O are constants to it, a gradient of the gradient is refused (ONCE_DIFF).
 *
 * Powers are of two, exp2(S * log2 e - m): one factor with the scale, and what hardware has an instruction for. lse is
 * a logarithm to base two as well.
 * fp16 and bf16: sums are float32, operands of products 16-bit: P is rounded before it is multiplied by v, and so is what
 * flows to S before it is multiplied by k and q. That is what MMA instructions compute, so every device agrees.
 * Where a GPU has no streaming form (float32), and on a CPU where that is faster, scores are not INLINE: GEMM, softmax, GEMM (is_plain).
 * If only the gradient is so, the planner stores those of the forward pass, too, in a program that has both. Scores of more than a limit are
 * those of blocks of queries, one after the other, and the gradient computes them again (attend_blocks): memory is linear in the
 * sizes of q, k and v. Causal queries whose scores may be stored are blocks, too, of which none looks at keys
 * that it does not see (causal_block). 16-bit heads of other sizes than
 * wgmma takes are padded with zeros (attend_padded).
 * A query that sees no key has the result 0, and no gradient, as in PyTorch.
 * Grouped queries: the heads of q are (Hk, G), and k and v are broadcast along G. On a GPU what flows to them is stored for each
 * head of q and then summed over G (GRAD_STORED): the kernel is the one without groups, where a row over G and the queries
 * in one would have no tile to stream. A CPU sums in one kernel.
 * Few queries over many keys (decoding): heads are too few blocks for a GPU, so the keys are cut into chunks, each attended to alone
 * (split-KV, FlashDecoding); a second kernel merges results and lse of the chunks. The gradient is the same.
 * Tests: tests/unit/attention.c, tests/unit/simgpu_attention.c, tests/values/attention.txt */
#include <math.h>

#include "tensor/internal.h"

struct attend {
    struct tg *g;
    enum dtype dt;       /* of the sums: float32 for 16-bit floats */
    enum dtype half;     /* of operands of products; VOID: dt */
    int64_t t, s, first; /* queries, keys; causal: the key that the first query is at */
    const struct t_attention *o;
    const uop *keep; /* dropout: 0 or 1 / (1 - share) for each weight; or NULL */
    bool plain, few; /* scores and weights may be stored; by a kernel of its own: see is_plain */
    bool plain_grad; /* .. in the gradient */
    bool blocks;     /* of queries */
    int64_t chunks;  /* of the keys; 1: not cut */
};

/* ---- shapes -------------------------------------------------------------------------------------------------- */

static void check(struct tg *g, const uop *q, const uop *k, const uop *v) {
    const struct shape *a = tg_shape(g, q), *b = tg_shape(g, k), *c = tg_shape(g, v);
    const char *text = arena_printf(g->ir->arena, "attention of q %s, k %s, v %s", tg_dims(g, q),
                                    tg_dims(g, k), tg_dims(g, v));
    if (a->n < 2 || b->n != a->n || c->n != a->n)
        tg_bad(g, "%s: expected q (.., Hq, T, D), k (.., Hk, S, D), v (.., Hk, S, Dv) of equal rank", text);
    if (a->d[a->n - 1] != b->d[a->n - 1])
        tg_bad(g, "%s: the last axes of q and k must be equal, found %lld and %lld", text,
               (long long)a->d[a->n - 1], (long long)b->d[a->n - 1]);
    if (b->d[a->n - 2] != c->d[a->n - 2])
        tg_bad(g, "%s: k and v must have as many keys, found %lld and %lld", text, (long long)b->d[a->n - 2],
               (long long)c->d[a->n - 2]);
    if (a->n == 2) return;
    int64_t hq = a->d[a->n - 3], hk = b->d[a->n - 3];
    if (hk != c->d[a->n - 3] || !hk || hq % hk)
        tg_bad(g, "%s: the heads of k and v must be equal and divide those of q, found %lld, %lld and %lld",
               text, (long long)hk, (long long)c->d[a->n - 3], (long long)hq);
    for (uint32_t i = 0; i + 3 < a->n; i++)
        if (a->d[i] != b->d[i] || a->d[i] != c->d[i])
            tg_bad(g, "%s: the axes before the heads must be equal", text);
}

/* (.., H, T, D) to (.., heads, H / heads, T, D). */
static const uop *in_groups(struct tg *g, const uop *x, int64_t heads) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX + 1];
    uint32_t k = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        if (i + 3 == s->n) d[k++] = heads, d[k++] = s->d[i] / heads;
        if (i + 3 != s->n) d[k++] = s->d[i];
    }
    return tg_reshape(g, x, shape_make(&g->shapes, d, k));
}

/* k or v in groups (.., Hk, 1, S, D) for each of G heads of q. */
static const uop *for_each_head(struct tg *g, const uop *x, int64_t group) {
    const struct shape *s = tg_shape(g, x);
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = i + 3 == s->n ? group : s->d[i];
    return uop1(g->ir, OP_GRAD_STORED, tg_to_shape(g, x, shape_make(&g->shapes, d, s->n)));
}

/* A mask that broadcasts to (.., Hq, T, S), as one that broadcasts to the scores in groups. */
static const uop *group_mask(struct tg *g, const uop *m, const struct shape *q, int64_t keys, int64_t heads) {
    const struct shape *s = tg_shape(g, m);
    bool fits = s->n <= q->n;
    for (uint32_t i = 1; i <= s->n && fits; i++) {
        int64_t want = i == 1 ? keys : q->d[q->n - i];
        fits = s->d[s->n - i] == want || s->d[s->n - i] == 1;
    }
    if (!fits || (m->dt != DT_BOOL && !dt_is_float((enum dtype)m->dt)))
        tg_bad(g,
               "attention with a mask of %s %s: expected bool or a float that broadcasts to (.., T, S) = "
               "(.., %lld, %lld)",
               tg_dims(g, m), tg_dt(m), (long long)q->d[q->n - 2], (long long)keys);
    if (s->n < 3) return m;
    return in_groups(g, m, s->d[s->n - 3] == 1 ? 1 : heads);
}

/* ---- the scores ---------------------------------------------------------------------------------------------- */

/* One row in scratch memory, unless scores may be stored. */
static const uop *row_of(struct attend *a, const uop *x) { return a->plain ? x : t_inline(a->g, x); }

static const uop *number(struct attend *a, double v) { return uop_flt(a->g->ir, a->dt, v); }

/* true where query i sees key j: keys 0 .. i, if there are more keys than queries the queries are the last ones. */
static const uop *causal(struct attend *a) {
    int64_t first = a->first;
    const uop *i = tg_iota(a->g, first + a->t, 2, 0), *j = tg_iota(a->g, a->s, 2, 1);
    return t_le(a->g, j, first ? t_slice(a->g, i, &(struct t_slice){.start = first, .stop = T_END}, 1) : i);
}

/* x as an operand of a product: rounded to 16 bits if these are, and if it is not yet. */
static const uop *rounded(struct attend *a, const uop *x) {
    const uop *from = x;
    while (op_is_movement((enum op)from->op)) from = from->src[0];
    if (a->half == DT_VOID || (from->op == OP_CAST && from->src[0]->dt == a->half)) return x;
    return t_cast(a->g, t_cast(a->g, x, a->half), a->dt);
}

/* 2^(s - m), the weights but for their sum. Those behind the causal mask are 0 in any case; as a WHERE they are so to the
 * compiler, and neither they nor what they are multiplied by is computed. */
static const uop *weights(struct attend *a, const uop *s, const uop *m) {
    const uop *p = t_exp2(a->g, t_sub(a->g, s, m));
    if (a->o->causal) p = t_where(a->g, causal(a), p, number(a, 0));
    return row_of(a, p);
}

/* q k^T; what flows back to it is rounded. */
static const uop *products(struct attend *a, const uop *q, const uop *k) {
    struct tg *g = a->g;
    const uop *x = tg_contract(g, t_unsqueeze(g, q, -2), t_unsqueeze(g, k, -3), 1);
    if (a->half != DT_VOID) x = t_grad_through(g, x, rounded(a, x));
    return row_of(a, x); /* INLINE: the gradient scales the row that is kept */
}

/* The scores in `unit`s: 1, or log2 e for powers of two. */
static const uop *scores(struct attend *a, const uop *x, double scale, double unit) {
    struct tg *g = a->g;
    const uop *m = a->o->mask;
    if (scale * unit != 1) x = t_mul(g, x, number(a, scale * unit));
    if (m && m->dt == DT_BOOL) x = t_where(g, m, x, number(a, -INFINITY));
    if (m && m->dt != DT_BOOL) {
        m = t_cast(g, m, a->dt);
        x = t_add(g, x, unit == 1 ? m : t_mul(g, m, number(a, unit)));
    }
    if (a->o->causal) x = t_where(g, causal(a), x, number(a, -INFINITY));
    return row_of(a, x);
}

/* Recomputed from counters wherever it is used, in the gradient too: never stored. */
static void drop_out(struct attend *a, struct t_rng *rng, const struct shape *s) {
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) d[i] = s->d[i];
    d[s->n - 1] = a->s;
    const uop *chance = t_rand(a->g, rng, DT_F32, d, s->n);
    const uop *seen = t_ge(a->g, chance, uop_flt(a->g->ir, DT_F32, a->o->dropout));
    a->keep = t_where(a->g, seen, number(a, 1 / (1 - a->o->dropout)), number(a, 0));
}

/* The sum over the keys of weights (.., T, S) times v (.., S, Dv). */
static const uop *weighted(struct attend *a, const uop *p, const uop *v) {
    struct tg *g = a->g;
    if (a->keep) p = row_of(a, t_mul(g, p, a->keep));
    if (a->half != DT_VOID) p = t_grad_through(g, rounded(a, p), p);
    const uop *x = t_mul(g, t_unsqueeze(g, p, -1), t_unsqueeze(g, v, -3)); /* (.., T, S, Dv) */
    uint32_t keys = 1u << (tg_shape(g, x)->n - 2);
    return tg_drop(g, tg_reduce(g, OP_ADD, x, keys), keys, false);
}

static const uop *over_keys(struct attend *a, enum op op, const uop *x) {
    return tg_reduce(a->g, op, x, 1u << (tg_shape(a->g, x)->n - 1));
}

/* ---- split-KV ------------------------------------------------------------------------------------------------ */

enum { SPLIT_QUERIES = 64, SPLIT_CHUNK = 64 }; /* at most, of a head of k; keys of a chunk at least */

/* Chunks that give each SM two blocks, of equal length, in whole tiles if there are such, and not of the head's: axes of one size
 * would become one loop, which nothing streams. q is in groups. */
static int64_t chunks_of(const struct attend *a, const struct shape *q) {
    int64_t rows = a->t * (q->n > 2 ? q->d[q->n - 3] : 1), d = q->d[q->n - 1];
    int64_t blocks = shape_size(q) / RG_MAX(rows * d, 1), want = 2 * a->o->sms / RG_MAX(blocks, 1);
    bool masked = a->o->causal && a->t > 1;
    if (!a->o->stream || a->plain || masked || a->o->dropout > 0 || rows > SPLIT_QUERIES) return 1;
    want = RG_MIN(want, a->s / SPLIT_CHUNK);
    for (int64_t c = want; c > 1; c--)
        if (a->s % (c * SPLIT_CHUNK) == 0 && a->s != c * d) return c;
    for (int64_t c = want; c > 1; c--)
        if (a->s % c == 0 && a->s != c * d) return c;
    return 1;
}

/* A mask that broadcasts to scores in groups (.., Hk, G, T, S), for chunks: (.., Hk, C, G, T, S / C). */
static const uop *chunk_mask(struct attend *a, const uop *m, uint32_t rank) {
    struct tg *g = a->g;
    const struct shape *s = tg_shape(g, m);
    int64_t d[SHAPE_MAX], order[SHAPE_MAX],
        inner = rank > 2 ? 3 : 2; /* axes behind that of the chunks: G, T, S */
    uint32_t n = 0;
    while (s->n + n < (uint32_t)inner) d[n++] = 1;
    for (uint32_t i = 0; i + 1 < s->n; i++) d[n++] = s->d[i];
    bool cut = s->d[s->n - 1] > 1;
    d[n++] = cut ? a->chunks : 1, d[n++] = cut ? a->s / a->chunks : 1;
    uint32_t at = n - 1 - (uint32_t)inner; /* where the chunks go */
    for (uint32_t i = 0; i < n; i++) order[i] = i < at ? i : i == at ? n - 2 : i + 1 < n ? i - 1 : i;
    return t_permute(g, t_reshape(g, m, d, n), order, n);
}

/* k or v (.., Hk, 1, S, D) as (.., Hk, C, 1, S / C, D), q (.., Hk, G, T, D) as (.., Hk, 1, G, T, D). Of rank 2 as (C, S / C, D). */
static const uop *in_chunks(struct attend *a, const uop *x, int64_t chunks) {
    const struct shape *s = tg_shape(a->g, x);
    uint32_t at = s->n - (s->n > 2 ? 3 : 2), n = 0;
    int64_t d[SHAPE_MAX];
    for (uint32_t i = 0; i < s->n; i++) {
        if (i == at) d[n++] = chunks;
        d[n++] = i + 2 == s->n ? s->d[i] / chunks : s->d[i];
    }
    return t_reshape(a->g, x, d, n);
}

/* x in memory, as an operand of a product is: what is computed (rotary positions) once, not for every key. */
static const uop *in_memory(struct attend *a, const uop *x) {
    const uop *from = x;
    while (op_is_movement((enum op)from->op) || from->op == OP_CAST) from = from->src[0];
    if (from->op == OP_BUFFER || from->op == OP_ASSIGN) return x;
    if (a->half == DT_VOID) return t_contiguous(a->g, x);
    return t_cast(a->g, t_contiguous(a->g, t_cast(a->g, x, a->half)), a->dt);
}

/* The result of each chunk with its lse, stored, and their merger: sums weighted by 2^(lse of the chunk - that of all). */
static const uop *attend_chunks(struct attend *a, const uop *const *x, double scale, const uop **lse) {
    struct tg *g = a->g;
    struct t_attention o = *a->o;
    struct attend b = *a;
    uint32_t rank = tg_shape(g, x[0])->n, axis = rank > 2 ? rank - 3 : 0;
    const uop *zero = number(a, 0), *one = number(a, 1), *none = number(a, -INFINITY);
    b.o = &o, o.causal = false;
    if (o.mask) o.mask = chunk_mask(a, o.mask, rank);
    const uop *q = in_chunks(a, in_memory(a, x[0]), 1), *k = in_chunks(a, x[1], a->chunks),
              *v = in_chunks(a, x[2], a->chunks);
    const uop *s = scores(&b, products(&b, q, k), scale, M_LOG2E), *m = over_keys(&b, OP_MAX, s);
    m = t_where(g, t_eq(g, m, none), zero, m);
    const uop *p = weights(&b, s, m), *l = over_keys(&b, OP_ADD, p), *nothing = t_eq(g, l, zero);
    const uop *part = t_div(g, weighted(&b, p, v), t_where(g, nothing, one, l));
    part = t_contiguous(g, part);
    const uop *each = t_contiguous(g, t_where(g, nothing, none, t_add(g, m, t_log2(g, l))));
    const uop *top = tg_reduce(g, OP_MAX, each, 1u << axis);
    top = t_where(g, t_eq(g, top, none), zero, top);
    const uop *w = t_exp2(g, t_sub(g, each, top)), *all = tg_reduce(g, OP_ADD, w, 1u << axis);
    all = t_where(g, t_eq(g, all, zero), one, all);
    *lse = tg_drop(g, t_add(g, top, t_log2(g, all)), 1u << axis, false);
    const uop *sum = tg_reduce(g, OP_ADD, t_mul(g, part, w), 1u << axis);
    return tg_drop(g, t_div(g, sum, all), 1u << axis, false);
}

/* ---- both ways ----------------------------------------------------------------------------------------------- */

/* The weights with their sum, stored: a softmax of few rows is a kernel of its own. */
static const uop *shares(struct attend *a, const uop *p, const uop *l) {
    return in_memory(a, t_div(a->g, p, l));
}

/* x, of which the gradient is that of x * scale. */
static const uop *scaled_back(struct attend *a, const uop *x, double scale) {
    return t_grad_through(a->g, x, t_mul(a->g, x, number(a, scale)));
}

/* What the gradient goes through where scores are stored, so that as few of their size are as can be. P is the forward pass's, not
 * divided by l: what flows to a query, F, is. dV = P^T F, and dS = P * (F v^T - sum(F * O)). The scale comes last, so that dS is the
 * operand of both dQ and dK. */
static const uop *stored_weights_back(struct attend *a, const uop *const *x, double scale, const uop *m,
                                      const uop *l, const uop *o) {
    struct tg *g = a->g;
    m = t_detach(g, t_contiguous(g, m));
    const uop *share = t_detach(g, t_contiguous(g, t_div(g, number(a, 1), l)));
    const uop *p = weights(a, scores(a, products(a, x[0], x[1]), scale, M_LOG2E), m);
    const uop *flow = products(a, scaled_back(a, x[0], scale), scaled_back(a, x[1], scale));
    p = t_grad_through(g, p, t_mul(g, t_detach(g, p), scores(a, flow, 1, 1)));
    const uop *back = t_sub(g, weighted(a, p, x[2]), t_mul(g, over_keys(a, OP_ADD, p), o));
    return t_mul(g, back, share);
}

/* `whole`: q, k and v in groups, k and v not repeated for each head of q. */
static const uop *attend(struct attend *a, const uop *q, const uop *k, const uop *v, const uop *const *whole,
                         enum dtype out) {
    struct tg *g = a->g;
    const struct shape *sq = tg_shape(g, q);
    double scale = a->o->scale != 0 ? a->o->scale : 1 / sqrt((double)RG_MAX(sq->d[sq->n - 1], 1));
    if (a->few) q = in_memory(a, q);
    const uop *x = products(a, q, k), *zero = number(a, 0), *one = number(a, 1);
    const uop *s = scores(a, x, scale, M_LOG2E);
    const uop *m = over_keys(a, OP_MAX, s);
    m = t_where(g, t_eq(g, m, number(a, -INFINITY)), zero, m); /* a query that sees nothing */
    const uop *p = weights(a, s, m);
    const uop *l = over_keys(a, OP_ADD, p);
    l = t_where(g, t_eq(g, l, zero), one, l);
    if (a->blocks) l = t_contiguous(g, l); /* several of them would share a kernel that sums again */
    /* 16-bit floats: one division per row, whose rounding error is far below their precision. */
    const uop *sum = weighted(a, a->few ? shares(a, p, l) : p, v);
    const uop *o = a->few ? sum : a->half == DT_VOID ? t_div(g, sum, l) : t_mul(g, sum, t_div(g, one, l));
    const uop *lse = t_add(g, m, t_log2(g, l));
    if (a->chunks > 1) o = attend_chunks(a, whole, scale, &lse);
    o = t_cast(g, o, out);

    const uop *seen = t_cast(g, t_detach(g, t_contiguous(g, o)), a->dt), *back;
    struct attend b = *a;
    b.plain = a->plain_grad;
    if (b.plain && a->o->gemms && a->half == DT_VOID) {
        back = stored_weights_back(&b, (const uop *[]){q, k, v}, scale, m, l, seen);
        return t_grad_through(g, o, uop1(g->ir, OP_ONCE_DIFF, t_cast(g, back, out)));
    }
    lse = t_detach(g, t_contiguous(g, lse));
    if (a->plain != b.plain) x = products(&b, q, k), s = scores(&b, x, scale, M_LOG2E);
    const uop *w = weights(&b, s, lse);
    /* what flows to P is multiplied by the P that is kept */
    w = t_grad_through(g, w, t_mul(g, t_detach(g, w), scores(&b, x, scale, 1)));
    back = t_sub(g, weighted(&b, w, v), t_mul(g, over_keys(&b, OP_ADD, w), seen));
    return t_grad_through(g, o, uop1(g->ir, OP_ONCE_DIFF, t_cast(g, back, out)));
}

/* Without keys, or without results: sums of nothing, to which q, k, v and the mask lead. */
static const uop *attend_nothing(struct attend *a, const uop *q, const uop *k, const uop *v, enum dtype out) {
    struct t_attention plain = {.mask = a->o->mask};
    struct attend b = {.g = a->g, .dt = a->dt, .o = &plain, .t = a->t, .s = a->s, .plain = true};
    return t_cast(a->g, weighted(&b, scores(&b, products(&b, q, k), 1, 1), v), out);
}

/* ---- blocks of queries --------------------------------------------------------------------------------------- */

/* Queries of a block at least; blocks whose scores may be stored together; blocks at most: each has kernels of its own. */
enum { BLOCK_LEAST = 128, BLOCKS_LEAST = 4, BLOCKS_MOST = 128 };

/* Queries of a block: all, if their scores may be stored. */
static int64_t block_of(const struct attend *a, const struct shape *q) {
    double row = (double)shape_size(q) / (double)RG_MAX(q->d[q->n - 1] * a->t, 1) * (double)a->s *
                 dtype_info[a->dt].bytes; /* bytes of a query's scores, of all heads */
    if (row * (double)a->t <= (double)a->o->scores) return RG_MAX(a->t, 1);
    int64_t n = (int64_t)((double)a->o->scores / BLOCKS_LEAST / row);
    return RG_MAX(n / BLOCK_LEAST * BLOCK_LEAST, BLOCK_LEAST);
}

/* Rows from .. of the last axis but one; a single one is the same for all queries. */
static const uop *part_of(struct tg *g, const uop *x, int64_t from, int64_t n) {
    struct t_slice part[SHAPE_MAX];
    const struct shape *s = tg_shape(g, x);
    if (s->n < 2 || s->d[s->n - 2] == 1 || s->d[s->n - 2] == n) return x;
    for (uint32_t i = 0; i < s->n; i++) part[i] = (struct t_slice){.stop = T_END};
    part[s->n - 2] = (struct t_slice){.start = from, .stop = from + n};
    return t_slice(g, x, part, s->n);
}

/* The first n of the last axis. */
static const uop *columns_of(struct tg *g, const uop *x, int64_t n) {
    uint32_t rank = tg_shape(g, x)->n;
    struct t_slice part[SHAPE_MAX];
    if (tg_shape(g, x)->d[rank - 1] <= RG_MAX(n, 1)) return x;
    for (uint32_t i = 0; i < rank; i++) part[i] = (struct t_slice){.stop = i + 1 < rank ? T_END : n};
    return t_slice(g, x, part, rank);
}

/* q, read after a block is done: an order that the plan has to keep, as has, reversed, that of the gradient. */
static const uop *after_block(struct attend *a, const uop *q, const uop *block, const uop *never) {
    struct tg *g = a->g;
    struct t_slice one[SHAPE_MAX];
    const struct shape *s = tg_shape(g, block);
    for (uint32_t i = 0; i < s->n; i++) one[i] = (struct t_slice){.stop = 1};
    const uop *x = t_cast(g, t_slice(g, block, one, s->n), (enum dtype)q->dt);
    return t_where(g, uop2(g->ir, OP_NE, never, uop_idx(g->ir, 0)), tg_to_shape(g, x, tg_shape(g, q)), q);
}

/* ordered: one block after the other, and the gradient computes each again. What flows to keys and values is added block by block
 * (GRAD_STORED) then, not kept of all blocks to be added in the end. */
static const uop *attend_blocks(struct attend *a, const uop *const *x, int64_t each, bool ordered,
                                enum dtype out) {
    struct tg *g = a->g;
    int64_t n = (a->t + each - 1) / each;
    const uop **block = arena_array(g->ir->arena, const uop *, (size_t)n), *never = a->o->never(a->o->user);
    const uop *keys = x[1], *values = x[2];
    for (int64_t i = 0; i < n; i++) {
        struct t_attention o = *a->o;
        struct attend b = *a;
        int64_t from = i * each;
        b.o = &o, b.blocks = !ordered, b.first += from, b.t = RG_MIN(each, a->t - from);
        if (o.causal && !ordered) b.s = RG_MIN(a->s, b.first + b.t);
        if (o.mask) o.mask = columns_of(g, part_of(g, o.mask, from, b.t), b.s);
        if (b.keep) b.keep = columns_of(g, part_of(g, b.keep, from, b.t), b.s);
        const uop *q = part_of(g, x[0], from, b.t);
        if (i && ordered) q = after_block(a, q, block[i - 1], never);
        block[i] = attend(&b, q, part_of(g, keys, 0, b.s), part_of(g, values, 0, b.s), x, out);
        block[i] = ordered ? t_recompute(g, block[i], q, never) : t_contiguous(g, block[i]);
        if (ordered) keys = uop1(g->ir, OP_GRAD_STORED, keys), values = uop1(g->ir, OP_GRAD_STORED, values);
    }
    return t_cat(g, block, (uint32_t)n, (int64_t)tg_shape(g, x[0])->n - 2);
}

/* On a GPU without wgmma for these types and head sizes a row is filled by a thread, at a hundredth of the FMA rate. Where that
 * matters attention is two GEMMs and a softmax. So it is for few queries, a decoding step: products of a matrix and some
 * vectors, whose scores are small beside the keys. */
enum {
    PLAIN_LEAST_FMAS = 1 << 22,
    FEW_LEAST_FMAS = 1 << 10,
    FEW_MOST_FMAS = 1 << 23, /* of one query: its weighted sum fills the GPU, with the softmax in it */
    FEW_QUERIES = 16,
    FEW_SMS = 8, /* for each head of k: with more heads wgmma fills the GPU (split-KV) */
    WGMMA_HEAD = 256,
    WGMMA_CHUNK = 8
};

/* On a CPU a GEMM packs its operands and has MMA instructions of 16-bit floats; a kernel that keeps rows has neither, but its scores
 * stay in the caches. Without MMA instructions GEMMs take 1 + CPU_ROW_GAIN / head times as long, if queries fill the tiles of two
 * vectors of such a kernel (or keys the vectors of few queries). Gradients are GEMMs but for tiny ones. */
enum {
    CPU_LEAST_FMAS_16 = 1 << 15, /* 16-bit floats, .. */
    CPU_LEAST_FMAS = 1 << 12,    /* .. others: less is a kernel that keeps rows */
    CPU_LEAST_FMAS_GRAD = 1 << 11,
    CPU_HEAD = 8,    /* at least, */
    CPU_QUERIES = 3, /* and those of a head of k, and keys: a matrix by some vectors else */
    CPU_ROW_GAIN = 10
};

enum {
    CAUSAL_FMAS = 1 << 21, /* of a block of causal queries at least, both products, for each SM .. */
    CAUSAL_LEAST = 256,    /* .. queries of one, */
    CAUSAL_BLOCKS = 8,     /* and blocks at most; */
    CAUSAL_CPU_FMAS = 1 << 19,
    CAUSAL_CPU_LEAST = 48,
    CAUSAL_CPU_BLOCKS = 4,
    CAUSAL_CPU_STEP = 16 /* rows of a tile */
};

static bool has_wgmma_sizes(int64_t d, int64_t dv) {
    return d % WGMMA_CHUNK == 0 && dv % WGMMA_CHUNK == 0 && RG_MAX(d, dv) <= WGMMA_HEAD;
}

/* Do GEMMs take less time than rows, whose tiles queries (or keys) do not fill? */
static bool beats_rows(const struct attend *a, int64_t d) {
    static const double few_gain = 0.9, few_gain_16 = 0.7; /* keys along lanes: sums across them */
    static const double gain_16 = 0.87; /* 16-bit floats are widened wherever they are read */
    int64_t lanes = RG_MAX(a->o->vec_bytes / dtype_info[a->dt].bytes, 1);
    bool few = a->t < lanes;
    int64_t n = few ? a->s : a->t, step = a->t < 2 * lanes ? lanes : 2 * lanes;
    double filled = (double)n / (double)((n + step - 1) / step * step);
    double gain = a->half != DT_VOID ? gain_16 * (few ? few_gain_16 : 1) : few ? few_gain : 1;
    return filled * (1 + (double)CPU_ROW_GAIN / (double)d) * gain < 1;
}

/* Scores above the limit: kept rows, of 16-bit floats blocks of queries. What a causal mask leaves out is not computed in rows. */
static bool is_plain_on_cpu(struct attend *a, const struct shape *q, const struct shape *v, int64_t heads) {
    int64_t d = RG_MAX(q->d[q->n - 1], 1), rows = shape_size(q) / d;
    int64_t each = a->t * (q->n > 2 ? q->d[q->n - 3] / RG_MAX(heads, 1) : 1);
    double scores = (double)rows * (double)a->s, fmas = scores * (double)d;
    if (RG_MIN(d, v->d[v->n - 1]) < CPU_HEAD) return false;
    bool fits = scores * dtype_info[a->dt].bytes <= (double)a->o->scores;
    if (!fits && (a->half == DT_VOID || a->t > BLOCKS_MOST * block_of(a, q))) return false;
    a->plain_grad = !fits || fmas >= CPU_LEAST_FMAS_GRAD;
    if (!fits) return true;
    if (RG_MIN(each, a->s) < CPU_QUERIES) return false;
    if (fmas < (a->half != DT_VOID ? CPU_LEAST_FMAS_16 : CPU_LEAST_FMAS)) return false;
    return (a->half == DT_BF16 && a->o->mma_bf16) || beats_rows(a, d);
}

static bool is_plain(struct attend *a, const struct shape *q, const struct shape *v, int64_t heads) {
    int64_t d = q->d[q->n - 1], dv = v->d[v->n - 1], rows = shape_size(q) / RG_MAX(d, 1);
    int64_t each = a->t * (q->n > 2 ? q->d[q->n - 3] / heads : 1); /* queries of a head of k */
    bool wgmma = a->o->wgmma && a->half != DT_VOID && has_wgmma_sizes(d, dv);
    bool few = each <= FEW_QUERIES && (!wgmma || FEW_SMS * (rows / RG_MAX(each, 1)) <= a->o->sms);
    if (!a->o->stream || (wgmma && !few)) return false;
    double scores = (double)rows * (double)a->s;
    if (scores * (double)d < (few ? FEW_LEAST_FMAS : PLAIN_LEAST_FMAS)) return false;
    if (a->t > BLOCKS_MOST * block_of(a, q)) return false;
    a->few = few && (each > 1 || scores * (double)dv <= FEW_MOST_FMAS);
    return a->plain_grad = true;
}

/* Queries of a block whose scores may be stored: all; if they are causal and many, some, for the keys that are not looked at. */
static int64_t causal_block(const struct attend *a, const struct shape *q) {
    double fmas = 2 * (double)shape_size(q) * (double)a->s;
    bool cpu = a->o->gemms;
    int64_t n = RG_MIN((int64_t)(fmas / (cpu ? CAUSAL_CPU_FMAS : CAUSAL_FMAS) / RG_MAX(a->o->sms, 1)),
                       a->t / (cpu ? CAUSAL_CPU_LEAST : CAUSAL_LEAST));
    n = RG_MIN(n, cpu ? CAUSAL_CPU_BLOCKS : CAUSAL_BLOCKS);
    if (cpu) n = RG_MIN(n, 2 * CAUSAL_CPU_BLOCKS * a->t / a->s); /* few queries see nearly all keys */
    int64_t step = cpu ? CAUSAL_CPU_STEP : BLOCK_LEAST;
    if (!a->o->causal || a->few || n < 2) return a->t;
    return (a->t / n + step - 1) / step * step;
}

/* 16-bit heads of a size that is no whole chunk of a tile, as streamed ones with zeros behind them: the scores are the same. Both
 * ways what is padded is stored. */
static const uop *attend_padded(struct tg *g, struct t_rng *rng, const uop *const *x, struct t_attention o) {
    const uop *wide[3];
    int64_t d = tg_shape(g, x[0])->d[tg_shape(g, x[0])->n - 1];
    if (o.scale == 0) o.scale = 1 / sqrt((double)d);
    for (int i = 0; i < 3; i++) {
        const struct shape *s = tg_shape(g, x[i]);
        int64_t pad[2 * SHAPE_MAX] = {0}, last = s->d[s->n - 1];
        pad[2 * s->n - 1] = (last + WGMMA_CHUNK - 1) / WGMMA_CHUNK * WGMMA_CHUNK - last;
        wide[i] = uop1(g->ir, OP_GRAD_STORED, t_contiguous(g, t_pad(g, x[i], pad, s->n, 0)));
    }
    const struct shape *v = tg_shape(g, x[2]);
    const uop *y = t_contiguous(g, t_attention(g, rng, wide[0], wide[1], wide[2], &o));
    return columns_of(g, uop1(g->ir, OP_GRAD_STORED, y), v->d[v->n - 1]);
}

const uop *t_attention(struct tg *g, struct t_rng *rng, const uop *q, const uop *k, const uop *v,
                       const struct t_attention *o) {
    const uop *x[3] = {tg_float(g, tg_value(g, q)), tg_float(g, tg_value(g, k)), tg_float(g, tg_value(g, v))};
    enum dtype out = DT_VOID;
    for (int i = 0; i < 3; i++) out = t_promote(out, (enum dtype)x[i]->dt);
    check(g, x[0], x[1], x[2]);
    struct t_attention opts = *o;
    const struct shape *sq = tg_shape(g, x[0]), *sk = tg_shape(g, x[1]), *sv = tg_shape(g, x[2]);
    struct attend a = {.g = g, .dt = out == DT_F64 ? DT_F64 : DT_F32, .o = &opts};
    if (out == DT_F16 || out == DT_BF16) a.half = out;
    a.t = sq->d[sq->n - 2], a.s = sk->d[sk->n - 2], a.first = RG_MAX(a.s - a.t, 0);
    if (!(opts.dropout >= 0 && opts.dropout < 1))
        tg_bad(g, "attention with dropout %g: expected a share from 0 to less than 1", opts.dropout);
    int64_t heads = sq->n > 2 ? sk->d[sk->n - 3] : 1, d[SHAPE_MAX],
            most = RG_MAX(sq->d[sq->n - 1], sv->d[sv->n - 1]);
    a.plain = opts.gemms ? is_plain_on_cpu(&a, sq, sv, heads) : is_plain(&a, sq, sv, heads);
    if (a.plain && !a.few && opts.wgmma && a.half != DT_VOID && most <= WGMMA_HEAD) {
        for (int i = 0; i < 3; i++) x[i] = t_cast(g, x[i], out);
        return attend_padded(g, rng, x, opts);
    }
    for (int i = 0; i < 3; i++) x[i] = t_cast(g, x[i], a.dt);
    if (opts.mask) opts.mask = group_mask(g, opts.mask, sq, a.s, heads);
    for (int i = 0; i < 3 && sq->n > 2; i++) x[i] = in_groups(g, x[i], heads);
    const uop *whole[3] = {x[0], x[1], x[2]};
    a.chunks = chunks_of(&a, tg_shape(g, x[0]));
    int64_t group = sq->n > 2 && o->stream ? sq->d[sq->n - 3] / heads : 1;
    for (int i = 1; i < 3 && group > 1; i++) x[i] = for_each_head(g, x[i], group);
    for (uint32_t i = 0; i < sq->n; i++) d[i] = sq->d[i];
    d[sq->n - 1] = sv->d[sv->n - 1];
    const struct shape *shape = shape_make(&g->shapes, d, sq->n);
    if (!shape_size(shape) || !a.s) return tg_reshape(g, attend_nothing(&a, x[0], x[1], x[2], out), shape);
    if (opts.dropout > 0) drop_out(&a, rng, tg_shape(g, x[0]));
    int64_t block = a.plain ? block_of(&a, tg_shape(g, x[0])) : a.t;
    bool ordered = block < a.t;
    if ((a.plain || a.plain_grad) && !ordered) block = causal_block(&a, tg_shape(g, x[0]));
    const uop *y =
        block < a.t ? attend_blocks(&a, x, block, ordered, out) : attend(&a, x[0], x[1], x[2], whole, out);
    if (group > 1) y = uop1(g->ir, OP_GRAD_STORED, y); /* a number for all would leave no row to keep */
    return tg_reshape(g, y, shape);
}
