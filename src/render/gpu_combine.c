/* gpu_combine.c: block reductions after cooperative loops (gpu_coop.c); all threads get the result. The order is fixed,
 * so a sum is the same in every run: on CUDA lanes pairwise by shuffles, then warps in order through shared memory;
 * in OpenCL, without shuffles, all through shared memory. Tests: tests/unit/cuda.c, tests/unit/opencl.c */
#include "render/gpu.h"

/* Bytes of local memory of a block for reductions: half of what OpenCL guarantees. */
enum { SHARED_BYTES = 16 << 10 };

/* Before a cooperative loop each thread's accumulators start at the identity .. */
void gpu_open_shared(struct gpu *c, const struct spread *s) {
    for (uint32_t k = 0; k < s->acc.n; k++) {
        const uop *acc = s->acc.p[k].acc, *zero = uop_identity(c->r.ir, s->acc.p[k].op, (enum dtype)acc->dt);
        for (unsigned i = 0; i < acc->lanes; i++) {
            const char *a = gpu_operand(c, acc, i).s;
            line(&c->r, "%s%s %s_before%u = %s;", s->acc.p[k].term ? "" : "const ",
                 type_of(&c->r, (enum dtype)acc->dt, 1, 0), a, c->r.pos, a);
            line(&c->r, "%s = %s;", a, constant(&c->r, (enum dtype)acc->dt, zero->arg).s);
        }
    }
}

void gpu_step(struct gpu *c, enum op op, enum dtype dt, const char *x, const char *y) {
    struct c_text pair[2] = {{.s = x, .dt = (uint8_t)dt, .lanes = 1, .atom = true}};
    pair[1] = pair[0];
    pair[1].s = y;
    line(&c->r, "%s = %s;", x, bare(&c->r, op_plain(&c->r, op, dt, 1, pair, 2).s));
}

/* Lanes of an accumulator that its thread does not combine itself. */
static unsigned lanes_left(const struct carried *k) { return k->joined ? 1 : k->acc->lanes; }

static void join_lanes(struct gpu *c, const struct carried *k) {
    for (unsigned n = k->acc->lanes; n > 1; n = (n + 1) / 2)
        for (unsigned i = 0, half = (n + 1) / 2; i + half < n; i++)
            gpu_step(c, k->op, (enum dtype)k->acc->dt, gpu_operand(c, k->acc, i).s,
                     gpu_operand(c, k->acc, i + half).s);
    for (unsigned i = 1; i < k->acc->lanes; i++) {
        const char *a = gpu_operand(c, k->acc, i).s;
        line(&c->r, "%s = %s_before%u;", a, a, c->open->begin);
    }
}

/* Warp reduction of x. */
static void combine_warp(struct gpu *c, enum op op, enum dtype dt, const char *x) {
    const char *t = type_of(&c->r, dt, 1, 0);
    if (c->columns == 32) return; /* its threads are in other warps */
    if (c->columns)
        line(&c->r, "for (int o = 16; o >= %u; o >>= 1) {", c->columns);
    else
        line(&c->r, "for (int o = %u; o; o >>= 1) {", RG_MIN(c->coop, 32u) / 2);
    c->r.indent++;
    line(&c->r, "const %s y = shfl_xor<%s>(%s, o%s);", t, t, x, c->coop < 32 && !c->columns ? ", mask" : "");
    gpu_step(c, op, dt, x, "y");
    c->r.indent--, line(&c->r, "}");
}

/* Reduction over warps, from shared memory. */
static void combine_block(struct gpu *c, enum op op, enum dtype dt, const char *x, const char *from) {
    const char *t = type_of(&c->r, dt, 1, 0);
    unsigned warps = c->block / 32;
    const char *w = c->columns ? fmt(&c->r, "w * %u + column", c->columns) : "w";
    line(&c->r, "%s = %s[%s];", x, from, c->columns ? "column" : "0");
    line(&c->r, "for (int w = 1; w < %u; w++) {", warps), c->r.indent++;
    line(&c->r, "const %s y = %s[%s];", t, from, w);
    gpu_step(c, op, dt, x, "y");
    c->r.indent--, line(&c->r, "}");
}

/* 8-byte words of shared memory for an accumulator: one for each warp, of each column. */
static unsigned cell_words(const struct gpu *c) { return c->columns ? c->block / 32 * c->columns : 32; }

/* What a warp has reduced, a value or one for each column. */
static void tell_warps(struct gpu *c, const char *from, const char *a) {
    const char *i = c->d->thread;
    if (c->columns)
        line(&c->r, "if (%s %% 32 < %u) %s[%s / 32 * %u + column] = %s;", i, c->columns, from, i, c->columns,
             a);
    else
        line(&c->r, "if (%s %% 32 == 0) %s[%s / 32] = %s;", i, from, i, a);
}

/* .. and after it they are reduced: lanes pairwise, warps in order, then the value from before the loop.
 * All accumulators of the loop at once, each with its slice of shared memory. */
static void combine(struct gpu *c, const struct spread *s, unsigned phase) {
    struct render *r = &c->r;
    unsigned words = cell_words(c), at = words * s->cell;
    for (uint32_t k = 0; k < s->acc.n; k++) {
        const struct carried *x = &s->acc.p[k];
        enum dtype dt = (enum dtype)x->acc->dt;
        if (x->term) {
            at += words * carried_cells(x);
            continue;
        }
        if (phase == 0 && x->joined) join_lanes(c, x);
        for (unsigned i = 0; i < lanes_left(x); i++, at += words) {
            const char *a = gpu_operand(c, x->acc, i).s,
                       *from = fmt(r, "((%s *)(shared + %u))", type_of(r, dt, 1, 0), at);
            if (phase == 0) combine_warp(c, x->op, dt, a);
            if (phase == 0 && gpu_has_warps(c)) tell_warps(c, from, a);
            if (phase == 0) continue;
            if (gpu_has_warps(c)) combine_block(c, x->op, dt, a, from);
            gpu_step(c, x->op, dt, a, fmt(r, "%s_before%u", a, s->begin));
        }
    }
}

/* Accumulators per reduction through shared memory: a word per thread each. */
static uint32_t told_at_once(const struct gpu *c) { return RG_MAX(SHARED_BYTES / (c->block * 8), 1u); }

/* The same without shuffles: through local memory, 32 threads reduce 1/32 of the block each, all reduce
 * those 32. */
static void combine_by_memory(struct gpu *c, enum op op, enum dtype dt, const char *a, const char *cell,
                              const char *before, unsigned phase) {
    struct render *r = &c->r;
    const char *t = type_of(r, dt, 1, 0), *i = c->d->thread;
    if (phase == 0) {
        line(r, "%s[%s] = %s;", cell, i, a);
    } else if (phase == 1) {
        line(r, "if (%s < 32) {", i), r->indent++;
        line(r, "%s x = %s[%s];", t, cell, i);
        line(r, "for (u32 w = %s + 32; w < %u; w += 32) {", i, c->block), r->indent++;
        line(r, "const %s y = %s[w];", t, cell);
        gpu_step(c, op, dt, "x", "y");
        r->indent--, line(r, "}");
        line(r, "%s[%s] = x;", cell, i);
        r->indent--, line(r, "}");
    } else {
        const char *first = c->columns ? "column" : "0";
        unsigned step = RG_MAX(c->columns, 1u);
        line(r, "%s = %s[%s];", a, cell, first);
        line(r, "for (u32 w = %s + %u; w < 32; w += %u) {", first, step, step), r->indent++;
        line(r, "const %s y = %s[w];", t, cell);
        gpu_step(c, op, dt, a, "y");
        r->indent--, line(r, "}");
        gpu_step(c, op, dt, a, before);
    }
}

/* Accumulators [from, to) of the loop, by lane. */
static void combine_some(struct gpu *c, const struct spread *s, uint32_t from, uint32_t to) {
    for (unsigned phase = 0; phase < 3; phase++) {
        uint32_t at = 0;
        for (uint32_t k = 0; k < s->acc.n; k++) {
            const struct carried *x = &s->acc.p[k];
            enum dtype dt = (enum dtype)x->acc->dt;
            if (x->term) {
                at += carried_cells(x);
                continue;
            }
            for (unsigned i = 0; i < lanes_left(x); i++, at++) {
                if (at < from || at >= to) continue;
                const char *a = gpu_operand(c, x->acc, i).s, *t = type_of(&c->r, dt, 1, 0);
                const char *cell =
                    fmt(&c->r, "((%s%s *)(shared + %u))", c->d->shared, t, (at - from) * c->block);
                combine_by_memory(c, x->op, dt, a, cell, fmt(&c->r, "%s_before%u", a, s->begin), phase);
            }
        }
        line(&c->r, "%s", c->d->barrier);
    }
}

static void combine_all_by_memory(struct gpu *c, const struct spread *s) {
    for (uint32_t k = 0; k < s->acc.n; k++)
        if (s->acc.p[k].joined) join_lanes(c, &s->acc.p[k]);
    for (uint32_t at = 0, n = spread_cells_of(s), step = told_at_once(c); at < n; at += step)
        combine_some(c, s, at, RG_MIN(at + step, n));
}

void gpu_close_shared(struct gpu *c, const struct spread *s) {
    bool reduces = false;
    for (uint32_t k = 0; k < s->acc.n; k++) {
        const char *a = gpu_operand(c, s->acc.p[k].acc, 0).s;
        if (s->acc.p[k].term) /* what a scan carried is its value after the loop */
            line(&c->r, "%s = %s_before%u;", a, a, s->begin);
        else
            reduces = true;
    }
    if (s->scans && s->again && c->coop > 32) line(&c->r, "%s", c->d->barrier);
    if (!reduces) return;
    if (c->d->cl) {
        combine_all_by_memory(c, s);
        return;
    }
    combine(c, s, 0);
    if (gpu_has_warps(c)) line(&c->r, "%s", c->d->barrier);
    combine(c, s, 1);
    if (gpu_has_warps(c) && s->again) line(&c->r, "%s", c->d->barrier);
}

uint32_t gpu_shared_words(const struct gpu *c, uint32_t cells) {
    return c->d->cl ? RG_MIN(cells, told_at_once(c)) * c->block : cell_words(c) * cells;
}
