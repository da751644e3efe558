/* gpu_scan.c: block scans. A cooperative loop (gpu_coop.c) whose accumulator is read in each iteration: threads take
 * neighbouring iterations, one each per round. What the iterations add is computed first, scanned over the threads and added to what the
 * rounds before gave; then each thread runs its iteration from there. The order of additions is fixed. On CUDA lanes scan by shuffles and
 * warps through shared memory, one barrier per round; in OpenCL all through local memory. Threads beyond the last iteration compute
 * that one's terms again, add the identity and store nothing.
 * Tests: tests/unit/scans.c, tests/unit/cuda.c (cuda_shares_scans) */
#include "render/gpu.h"

/* Emits what precedes the scans, ahead of the rest. */
static void emit_early(struct gpu *c, const struct spread *s) {
    uint32_t pos = c->r.pos;
    for (uint32_t i = s->begin + 1; i < s->end; i++) {
        if (!s->early[i]) continue;
        c->r.pos = i, c->early[i] = 1;
        gpu_entry(c, c->r.lin->u[i]);
    }
    c->r.pos = pos;
}

/* x op= y of the thread o before it, if there is one. */
static void step_if(struct gpu *c, const struct carried *a, const char *cond, const char *x, const char *y) {
    line(&c->r, "if (%s) {", cond), c->r.indent++;
    gpu_step(c, a->op, (enum dtype)a->acc->dt, x, y);
    c->r.indent--, line(&c->r, "}");
}

/* Over a warp, or the part of one that shares the loop: x becomes the inclusive scan, e the exclusive one. */
static void scan_warp(struct gpu *c, const struct carried *a, const char *x, const char *e,
                      const char *zero) {
    struct render *r = &c->r;
    const char *t = type_of(r, (enum dtype)a->acc->dt, 1, 0), *part = c->coop < 32 ? ", mask" : "";
    unsigned width = RG_MIN(c->coop, 32u);
    const char *lane = fmt(r, "%s %% %u", c->d->thread, width);
    line(r, "for (int o = 1; o < %u; o <<= 1) {", width), r->indent++;
    line(r, "const %s y = shfl_up<%s>(%s, o, %u%s);", t, t, x, width, part);
    step_if(c, a, fmt(r, "%s >= o", lane), x, "y");
    r->indent--, line(r, "}");
    line(r, "%s %s = shfl_up<%s>(%s, 1, %u%s);", t, e, t, x, width, part);
    line(r, "if (%s == 0) %s = %s;", lane, e, zero);
}

/* before: what precedes this thread's warp; carry: all of this round too. */
static void scan_warps(struct gpu *c, const struct carried *a, const char *x, const char *carry,
                       const char *before, unsigned cell) {
    struct render *r = &c->r;
    const char *t = type_of(r, (enum dtype)a->acc->dt, 1, 0);
    const char *sums = fmt(r, "((%s *)(shared + %u + 32 * (%s & 1)))", t, 32 * cell, c->iteration);
    line(r, "%s %s = %s;", t, before, carry);
    if (c->coop <= 32) {
        line(r, "const %s %s_all = shfl_last<%s>(%s, %u%s);", t, x, t, x, c->coop,
             c->coop < 32 ? ", mask" : "");
        gpu_step(c, a->op, (enum dtype)a->acc->dt, carry, fmt(r, "%s_all", x));
        return;
    }
    line(r, "if (%s %% 32 == 31) %s[%s / 32] = %s;", c->d->thread, sums, c->d->thread, x);
    line(r, "%s", c->d->barrier);
    line(r, "for (int w = 0; w < %u; w++) {", c->coop / 32), r->indent++;
    line(r, "const %s y = %s[w];", t, sums);
    step_if(c, a, fmt(r, "w < (int)(%s / 32)", c->d->thread), before, "y");
    gpu_step(c, a->op, (enum dtype)a->acc->dt, carry, "y");
    r->indent--, line(r, "}");
}

/* The same without shuffles: log2(threads) rounds through local memory. */
static void scan_by_memory(struct gpu *c, const struct carried *a, const char *x, const char *e,
                           const char *carry, const char *before, const char *zero) {
    struct render *r = &c->r;
    const char *t = type_of(r, (enum dtype)a->acc->dt, 1, 0), *i = c->d->thread;
    const char *cell = fmt(r, "((%s%s *)shared)", c->d->shared, t);
    line(r, "%s[%s] = %s;", cell, i, x);
    line(r, "%s", c->d->barrier);
    line(r, "for (u32 o = 1; o < %u; o <<= 1) {", c->coop), r->indent++;
    line(r, "const %s y = %s >= o ? %s[%s - o] : %s;", t, i, cell, i, zero);
    line(r, "%s", c->d->barrier);
    step_if(c, a, fmt(r, "%s >= o", i), x, "y");
    line(r, "%s[%s] = %s;", cell, i, x);
    line(r, "%s", c->d->barrier);
    r->indent--, line(r, "}");
    line(r, "%s %s = %s ? %s[%s - 1] : %s;", t, e, i, cell, i, zero);
    line(r, "%s %s = %s;", t, before, carry);
    line(r, "{ const %s y = %s[%u];", t, cell, c->coop - 1), r->indent++;
    gpu_step(c, a->op, (enum dtype)a->acc->dt, carry, "y");
    r->indent--, line(r, "}");
    line(r, "%s", c->d->barrier);
}

static void scan_threads(struct gpu *c, const struct spread *s, const struct carried *a, unsigned cell) {
    struct render *r = &c->r;
    enum dtype dt = (enum dtype)a->acc->dt;
    const char *acc = gpu_operand(c, a->acc, 0).s, *t = type_of(r, dt, 1, 0);
    const char *x = fmt(r, "%s_scan%u", acc, s->begin), *e = fmt(r, "%s_lane%u", acc, s->begin);
    const char *carry = fmt(r, "%s_before%u", acc, s->begin), *before = fmt(r, "%s_warp%u", acc, s->begin);
    const char *zero = constant(r, dt, uop_identity(r->ir, a->op, dt)->arg).s,
               *term = gpu_operand(c, a->term, 0).s;
    if (c->guarded)
        line(r, "%s %s = live%u ? (%s)%s : (%s)%s;", t, x, s->begin, t, term, t, zero);
    else
        line(r, "%s %s = %s;", t, x, term);
    if (c->d->cl) {
        scan_by_memory(c, a, x, e, carry, before, zero);
    } else {
        scan_warp(c, a, x, e, zero);
        scan_warps(c, a, x, carry, before, cell);
    }
    gpu_step(c, a->op, dt, before, e);
    line(r, "%s = %s;", acc, before);
}

void gpu_open_scan(struct gpu *c, const struct spread *s, const uop *range, const char *type,
                   const char *name) {
    struct render *r = &c->r;
    int64_t size = range->src[0]->lo, rounds = coop_iterations(size, c->coop);
    unsigned cell = s->cell;
    c->guarded = size % c->coop != 0;
    c->iteration = fmt(r, "%s_iter", name);
    line(r, "for (int %s = 0; %s < %lld; %s++) {", c->iteration, c->iteration, (long long)rounds,
         c->iteration);
    r->indent++;
    const char *at = fmt(r, "%s + %s * %u", c->member, c->iteration, c->coop);
    if (c->guarded) {
        line(r, "const bool live%u = %s < %lld;", s->begin, at, (long long)size);
        at = fmt(r, "live%u ? %s : %lld", s->begin, at, (long long)size - 1);
    }
    line(r, "const %s %s = %s;", type, name, at);
    gpu_one_name(c, range, name);
    emit_early(c, s);
    for (uint32_t k = 0; k < s->acc.n; k++) {
        if (s->acc.p[k].term) scan_threads(c, s, &s->acc.p[k], cell);
        cell += s->acc.p[k].term ? SCAN_CELLS : s->acc.p[k].joined ? 1 : s->acc.p[k].acc->lanes;
    }
    if (c->guarded) line(r, "if (live%u) {", s->begin), r->indent++;
    r->indent--;
}
