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

/* The value that a thread scans: x, and where it decays the product f of its factors, else NULL. Names of variables. */
struct scanned {
    const char *x, *f;
};

/* Combines a with b, which came before it, into `into`: either of them. Decaying, (f, x) after (g, y) is (g f, y f + x). */
static void join(struct gpu *c, const struct carried *k, struct scanned a, struct scanned b,
                 struct scanned into) {
    enum dtype dt = (enum dtype)k->acc->dt;
    struct render *r = &c->r;
    if (!k->by) {
        gpu_step(c, k->op, dt, into.x, into.x == a.x ? b.x : a.x);
        return;
    }
    line(r, "%s = %s * %s + %s;", into.x, b.x, a.f, a.x);
    if (into.f) line(r, "%s = %s * %s;", into.f, b.f, a.f);
}

static struct scanned pair_of(struct gpu *c, const struct carried *k, const char *x) {
    return (struct scanned){x, k->by ? fmt(&c->r, "%s_by", x) : NULL};
}

/* Over a warp, or the part of one that shares the loop: x becomes the inclusive scan, e the exclusive one. */
static void scan_warp(struct gpu *c, const struct carried *k, struct scanned x, struct scanned e,
                      const char *zero) {
    struct render *r = &c->r;
    const char *t = type_of(r, (enum dtype)k->acc->dt, 1, 0), *part = c->coop < 32 ? ", mask" : "";
    unsigned width = RG_MIN(c->coop, 32u);
    const char *lane = fmt(r, "%s %% %u", c->d->thread, width);
    struct scanned y = {"y", k->by ? "g" : NULL};
    line(r, "for (int o = 1; o < %u; o <<= 1) {", width), r->indent++;
    line(r, "const %s y = shfl_up<%s>(%s, o, %u%s);", t, t, x.x, width, part);
    if (k->by) line(r, "const %s g = shfl_up<%s>(%s, o, %u%s);", t, t, x.f, width, part);
    line(r, "if (%s >= o) {", lane), r->indent++;
    join(c, k, x, y, x);
    r->indent--, line(r, "}");
    r->indent--, line(r, "}");
    line(r, "%s %s = shfl_up<%s>(%s, 1, %u%s);", t, e.x, t, x.x, width, part);
    if (k->by) line(r, "%s %s = shfl_up<%s>(%s, 1, %u%s);", t, e.f, t, x.f, width, part);
    line(r, "if (%s == 0) %s = %s%s;", lane, e.x, zero, k->by ? fmt(r, ", %s = 1", e.f) : "");
}

/* before: what precedes this thread's warp; carry: all of this round too. */
static void scan_warps(struct gpu *c, const struct carried *k, struct scanned x, struct scanned carry,
                       struct scanned before, unsigned cell) {
    struct render *r = &c->r;
    const char *t = type_of(r, (enum dtype)k->acc->dt, 1, 0);
    const char *sums = fmt(r, "((%s *)(shared + %u + 32 * (%s & 1)))", t, 32 * cell, c->iteration);
    const char *factors =
        fmt(r, "((%s *)(shared + %u + 32 * (%s & 1)))", t, 32 * (cell + SCAN_CELLS), c->iteration);
    struct scanned y = {"y", k->by ? "g" : NULL};
    line(r, "%s %s = %s;", t, before.x, carry.x);
    if (c->coop <= 32) {
        const char *part = c->coop < 32 ? ", mask" : "";
        line(r, "{ const %s y = shfl_last<%s>(%s, %u%s);", t, t, x.x, c->coop, part), r->indent++;
        if (k->by) line(r, "const %s g = shfl_last<%s>(%s, %u%s);", t, t, x.f, c->coop, part);
        join(c, k, y, carry, carry);
        r->indent--, line(r, "}");
        return;
    }
    line(r, "if (%s %% 32 == 31) {", c->d->thread), r->indent++;
    line(r, "%s[%s / 32] = %s;", sums, c->d->thread, x.x);
    if (k->by) line(r, "%s[%s / 32] = %s;", factors, c->d->thread, x.f);
    r->indent--, line(r, "}");
    line(r, "%s", c->d->barrier);
    line(r, "for (int w = 0; w < %u; w++) {", c->coop / 32), r->indent++;
    line(r, "const %s y = %s[w];", t, sums);
    if (k->by) line(r, "const %s g = %s[w];", t, factors);
    line(r, "if (w < (int)(%s / 32)) {", c->d->thread), r->indent++;
    join(c, k, y, before, before);
    r->indent--, line(r, "}");
    join(c, k, y, carry, carry);
    r->indent--, line(r, "}");
}

/* The same without shuffles: log2(threads) rounds through local memory. */
static void scan_by_memory(struct gpu *c, const struct carried *k, struct scanned x, struct scanned e,
                           struct scanned carry, struct scanned before, const char *zero) {
    struct render *r = &c->r;
    const char *t = type_of(r, (enum dtype)k->acc->dt, 1, 0), *i = c->d->thread;
    const char *cell = fmt(r, "((%s%s *)shared)", c->d->shared, t),
               *factor = fmt(r, "((%s%s *)(shared + %u))", c->d->shared, t, c->block);
    struct scanned y = {"y", k->by ? "g" : NULL};
    line(r, "%s[%s] = %s;", cell, i, x.x);
    if (k->by) line(r, "%s[%s] = %s;", factor, i, x.f);
    line(r, "%s", c->d->barrier);
    line(r, "for (u32 o = 1; o < %u; o <<= 1) {", c->coop), r->indent++;
    line(r, "const %s y = %s >= o ? %s[%s - o] : %s;", t, i, cell, i, zero);
    if (k->by) line(r, "const %s g = %s >= o ? %s[%s - o] : 1;", t, i, factor, i);
    line(r, "%s", c->d->barrier);
    line(r, "if (%s >= o) {", i), r->indent++;
    join(c, k, x, y, x);
    r->indent--, line(r, "}");
    line(r, "%s[%s] = %s;", cell, i, x.x);
    if (k->by) line(r, "%s[%s] = %s;", factor, i, x.f);
    line(r, "%s", c->d->barrier);
    r->indent--, line(r, "}");
    line(r, "%s %s = %s ? %s[%s - 1] : %s;", t, e.x, i, cell, i, zero);
    if (k->by) line(r, "%s %s = %s ? %s[%s - 1] : 1;", t, e.f, i, factor, i);
    line(r, "%s %s = %s;", t, before.x, carry.x);
    line(r, "{ const %s y = %s[%u];", t, cell, c->coop - 1), r->indent++;
    if (k->by) line(r, "const %s g = %s[%u];", t, factor, c->coop - 1);
    join(c, k, y, carry, carry);
    r->indent--, line(r, "}");
    line(r, "%s", c->d->barrier);
}

static void scan_threads(struct gpu *c, const struct spread *s, const struct carried *k, unsigned cell) {
    struct render *r = &c->r;
    enum dtype dt = (enum dtype)k->acc->dt;
    const char *acc = gpu_operand(c, k->acc, 0).s, *t = type_of(r, dt, 1, 0);
    struct scanned x = pair_of(c, k, fmt(r, "%s_scan%u", acc, s->begin)),
                   e = pair_of(c, k, fmt(r, "%s_lane%u", acc, s->begin)),
                   carry = {fmt(r, "%s_before%u", acc, s->begin), NULL},
                   before = {fmt(r, "%s_warp%u", acc, s->begin), NULL};
    const char *zero = constant(r, dt, uop_identity(r->ir, k->op, dt)->arg).s;
    const uop *from[2] = {k->term, k->by};
    const char *name[2] = {x.x, x.f}, *none[2] = {zero, "1"};
    for (int i = 0; i < (k->by ? 2 : 1); i++) {
        const char *value = gpu_operand(c, from[i], 0).s;
        if (c->guarded)
            line(r, "%s %s = live%u ? (%s)%s : (%s)%s;", t, name[i], s->begin, t, value, t, none[i]);
        else
            line(r, "%s %s = %s;", t, name[i], value);
    }
    if (c->d->cl) {
        scan_by_memory(c, k, x, e, carry, before, zero);
    } else {
        scan_warp(c, k, x, e, zero);
        scan_warps(c, k, x, carry, before, cell);
    }
    join(c, k, e, before, before);
    line(r, "%s = %s;", acc, before.x);
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
        cell += carried_cells(&s->acc.p[k]);
    }
    if (c->guarded) line(r, "if (live%u) {", s->begin), r->indent++;
    r->indent--;
}
