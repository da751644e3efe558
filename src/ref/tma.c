/* tma.c: the interpreter's TMA copies and mbarriers. A TMA_LOAD lands as late as it may: when a thread waits for the phase
 * that counts its bytes; until then an access to its panel is an error. A phase completes after the arrivals that the
 * mbarrier was initialized with and the bytes that they expect: too few, too many, or an extra arrival are errors or
 * deadlocks, which threads.c reports. A wait by parity cannot tell a phase from the one two before it: a thread that waits
 * must know by then that the phase in between is complete, in whatever order loads land. A panel that a TMA_STORE reads must not change before TMA_STORE_WAIT. A thread
 * that waits for a phase sees the writes of those that arrived at it. Tests: tests/unit/warp_specialize.c */
#include "ref/linear.h"

#include <math.h>
#include <string.h>

enum { MOST_AXES = 5 };

bool lin_is_box(enum op op) {
    return op == OP_TMA_LOAD || op == OP_TMA_STORE || op == OP_TMA_STORE_WAIT || op == OP_MBAR_INIT ||
           op == OP_MBAR_ARRIVE || op == OP_MBAR_WAIT;
}

/* ---- resolve ---------------------------------------------------------------------------------------- */

static struct access mbar_access(struct machine *m, const uop *user, const uop *index) {
    struct access a = lin_access(m, user, index);
    if (a.kind != MEM_LOCAL || a.dt != DT_U64 || !m->scratch[a.no].shadow)
        lin_bad_program(m, user, "its mbarrier is not a u64 in shared memory");
    struct scratch *c = &m->scratch[a.no];
    uint32_t n = m->nthread;
    if (!c->bar) c->bar = arena_array(m->arena, struct mbar, c->n + 1);
    if (!m->seen) m->seen = arena_array(m->arena, int32_t, (size_t)n * n);
    return a;
}

void lin_resolve_box(struct machine *m, struct step *s) {
    const uop *u = s->u;
    if (!m->lin->threads) lin_bad_program(m, u, "there are no threads");
    if (u->op == OP_TMA_STORE_WAIT) return;
    if (u->op != OP_TMA_LOAD && u->op != OP_TMA_STORE) {
        s->mem = mbar_access(m, u, u->src[0]);
        if (u->op == OP_MBAR_WAIT) s->src[1] = lin_source(m, u->src[1]);
        return;
    }
    const uop *map = u->src[1];
    uint32_t first = u->op == OP_TMA_LOAD ? 3 : 2, rank = (uint32_t)map->arg.i;
    if (rank < 1 || rank > MOST_AXES || map->nsrc != 3 * rank || u->nsrc != first + rank)
        lin_bad_program(m, u, "a TENSOR_MAP of %u axes with %u sources, and %u coordinates", rank, map->nsrc,
                        u->nsrc - first);
    lin_param(m, map->src[0]);
    s->mem = lin_access(m, u, u->src[0]);
    if (s->mem.kind != MEM_LOCAL || !m->scratch[s->mem.no].shadow || s->mem.dt != u->src[1]->dt)
        lin_bad_program(m, u, "expected a panel in shared memory of the buffer's type");
    if (u->op == OP_TMA_LOAD) s->from = mbar_access(m, u, u->src[2]);
    s->many = arena_array(m->arena, struct slot, rank + 1);
    for (uint32_t i = 0; i < rank; i++) s->many[i] = lin_source(m, u->src[first + i]);
}

void lin_boxes_begin(struct machine *m) {
    for (uint32_t i = 0; i < m->lin->nlocal; i++)
        for (int64_t k = 0; k < m->scratch[i].n && m->scratch[i].bar; k++)
            m->scratch[i].bar[k] = (struct mbar){0};
    if (m->seen) memset(m->seen, 0, sizeof *m->seen * m->nthread * m->nthread);
}

/* ---- mbarriers -------------------------------------------------------------------------------------- */

static struct mbar *mbar_of(struct machine *m, const struct step *s, const struct access *a) {
    struct step at = *s;
    uint32_t no;
    at.mem = *a;
    int64_t i = lin_address(m, &at, 0, &no);
    struct mbar *b = &m->scratch[no].bar[i];
    if (s->u->op == OP_MBAR_INIT) return b;
    if (!b->beginner || (b->beginner != m->me && !lin_met_since(m, b->beginner, b->begun)))
        lin_bad(m, s, "mbarrier %lld was not initialized, or without a barrier after it", (long long)i);
    return b;
}

/* Completes the phase if nothing is missing; its loads land. */
static void settle(struct machine *m, struct mbar *b) {
    if (b->missing || b->announced != b->coming) return;
    for (uint32_t i = 0; i < b->flight.n; i++) {
        const struct flight *f = &b->flight.p[i];
        struct shadow *h = &m->scratch[f->no].shadow[f->at];
        m->scratch[f->no].e[f->at] = f->e;
        *h = (struct shadow){0};
    }
    b->flight.n = 0;
    memcpy(b->done, b->came, m->nthread * sizeof *b->done);
    memset(b->came, 0, m->nthread * sizeof *b->came);
    memset(b->last[b->phase & 1].observed, 0, m->nthread * sizeof *b->done);
    memcpy(b->last[b->phase & 1].arrived, b->done, m->nthread * sizeof *b->done);
    b->last[b->phase & 1].loads = b->coming > 0;
    b->phase++, b->missing = b->count, b->announced = b->coming = 0;
}

static void arrive(struct machine *m, const struct step *s) {
    struct mbar *b = mbar_of(m, s, &s->mem);
    if (!b->missing)
        lin_bad(m, s, "one arrival too many: the phase expects %lld bytes, of which %lld are in flight",
                (long long)b->announced, (long long)b->coming);
    b->missing--, b->announced += s->u->arg.i;
    b->came[m->me - 1] = ++m->barriers;
    if (!b->flight.n) settle(m, b); /* loads land when they are waited for */
}

/* Does the thread that runs know that this phase is complete: has it, or one it has met since, seen it? Or has it met all
 * that arrived, where no loads had to land? */
static bool knows_phase(struct machine *m, const struct mbar *b, uint32_t phase) {
    const struct mbar_phase *p = &b->last[phase & 1];
    bool all = !p->loads;
    if (p->observed[m->me - 1]) return true;
    for (uint32_t i = 0; i < m->nthread; i++) {
        if (p->observed[i] && lin_met_since(m, (int32_t)i + 1, p->observed[i])) return true;
        all &= !p->arrived[i] || lin_met_since(m, (int32_t)i + 1, p->arrived[i]);
    }
    return all;
}

static void observe(struct machine *m, const struct step *s, struct mbar *b) {
    if (b->phase >= 2 && !knows_phase(m, b, b->phase - 2))
        lin_bad(m, s,
                "waits for phase %u and does not know that phase %u is complete; by parity it is as phase %d",
                b->phase - 1, b->phase - 2, (int)b->phase - 3);
    if (b->phase) b->last[(b->phase - 1) & 1].observed[m->me - 1] = m->barriers;
}

static bool is_over(struct machine *m, const struct step *s) {
    struct mbar *b = mbar_of(m, s, &s->mem);
    int64_t parity = lin_good(m, s, s->src[1], 0, "a parity")->v.i;
    if ((b->phase & 1) == (parity & 1)) settle(m, b);
    if ((b->phase & 1) == (parity & 1)) return false;
    observe(m, s, b);
    int32_t *seen = &m->seen[(uint32_t)(m->me - 1) * m->nthread];
    for (uint32_t i = 0; i < m->nthread; i++) seen[i] = RG_MAX(seen[i], b->done[i]);
    return true;
}

/* ---- boxes ------------------------------------------------------------------------------------------ */

struct ref_box {
    const uop *map;
    uint32_t rank;
    int64_t at[MOST_AXES]; /* its first corner */
    int64_t elements;
};

static struct ref_box tma_tile_of(struct machine *m, const struct step *s) {
    struct ref_box b = {.map = s->u->src[1], .rank = (uint32_t)s->u->src[1]->arg.i, .elements = 1};
    for (uint32_t i = 0; i < b.rank; i++) {
        b.at[i] = lin_good(m, s, s->many[i], 0, "a coordinate")->v.i;
        b.elements *= b.map->src[2 * b.rank + i]->arg.i;
    }
    int64_t size = dtype_info[b.map->dt].bytes;
    if (b.at[0] * size % 16)
        lin_bad(m, s, "a box must start at a multiple of 16 bytes, found %lld", (long long)(b.at[0] * size));
    return b;
}

/* Index of element i of the box in its buffer; false: out of bounds. */
static bool box_element(const struct ref_box *b, int64_t i, int64_t *out) {
    *out = 0;
    for (uint32_t k = 0; k < b->rank; k++) {
        int64_t n = b->map->src[2 * b->rank + k]->arg.i, x = b->at[k] + i % n;
        if (x < 0 || x >= b->map->src[1 + k]->arg.i) return false;
        *out += k ? x * b->map->src[b->rank + k]->arg.i : x;
        i /= n;
    }
    return true;
}

static void check_element(struct machine *m, const struct step *s, const struct ref_box *b, int64_t at) {
    const struct ref_buf *buf = &m->global[b->map->src[0]->arg.param.slot].b;
    int64_t size = dtype_info[b->map->dt].bytes;
    if (at < 0 || (at + 1) * size > (int64_t)buf->bytes)
        lin_bad(m, s, "element %lld of a buffer that has %lld", (long long)at, (long long)buf->bytes / size);
}

static int64_t panel_of(struct machine *m, const struct step *s, const struct ref_box *b, uint32_t *no) {
    int64_t at = lin_address(m, s, 0, no);
    int64_t align = b->rank == 2 && b->map->src[5]->arg.i == 1 ? 128 : 1024; /* one row: no swizzle */
    if (at * dtype_info[b->map->dt].bytes % align || at + b->elements > m->scratch[*no].n)
        lin_bad(m, s, "a panel of %lld elements at %lld: not at a multiple of %lld bytes, or too large",
                (long long)b->elements, (long long)at, (long long)align);
    return at;
}

static double rounded(double x, int digits) {
    int e;
    double m = frexp(x, &e);
    return isfinite(x) ? ldexp(nearbyint(ldexp(m, digits)), e - digits) : x;
}

static void tma_load(struct machine *m, const struct step *s) {
    struct ref_box b = tma_tile_of(m, s);
    struct mbar *bar = mbar_of(m, s, &s->from);
    uint32_t no, slot = b.map->src[0]->arg.param.slot;
    int64_t to = panel_of(m, s, &b, &no), from;
    for (int64_t i = 0; i < b.elements; i++) {
        struct shadow *h = &m->scratch[no].shadow[to + i];
        struct flight f = {.no = no, .at = to + i};
        if (!h->flight) h->writer = h->reader = h->readers = 0; /* ordered by the mbarrier */
        lin_scratch(m, s, no, to + i, true);
        h->flight = true;
        if (box_element(&b, i, &from)) {
            check_element(m, s, &b, from);
            f.e = lin_load(m, slot, (enum dtype)b.map->dt, from);
            if (s->u->arg.i) f.e.v.f = rounded(f.e.v.f, (int)s->u->arg.i);
            lin_note_read(m, s, slot, from);
        }
        vec_push(m->arena, &bar->flight, f);
    }
    bar->coming += b.elements * dtype_info[b.map->dt].bytes;
}

static void tma_store(struct machine *m, const struct step *s) {
    struct ref_box b = tma_tile_of(m, s);
    struct thread *t = &m->threads[m->me - 1];
    uint32_t no, slot = b.map->src[0]->arg.param.slot;
    int64_t at = panel_of(m, s, &b, &no), to;
    for (int64_t i = 0; i < b.elements; i++) {
        struct elem *e = lin_scratch(m, s, no, at + i, false);
        m->scratch[no].shadow[at + i].leaves = true;
        if (!box_element(&b, i, &to)) continue;
        if (e->bad) lin_bad(m, s, "element %lld of the panel was never written", (long long)i);
        check_element(m, s, &b, to);
        lin_note_write(m, s, slot, to);
        lin_store(m, slot, (enum dtype)b.map->dt, to, e->v);
    }
    vec_push(m->arena, &t->out, ((struct ref_tma_store){no, at, b.elements}));
}

static void tma_store_wait(struct machine *m, const struct step *s) {
    struct thread *t = &m->threads[m->me - 1];
    uint32_t over = t->out.n > s->u->arg.i ? t->out.n - (uint32_t)s->u->arg.i : 0;
    for (uint32_t i = 0; i < over; i++)
        for (int64_t k = 0; k < t->out.p[i].n; k++) { /* this thread was its reader */
            struct shadow *h = &m->scratch[t->out.p[i].no].shadow[t->out.p[i].at + k];
            h->leaves = false, h->reader = m->me, h->read[(m->me - 1) / WARPGROUP] = m->barriers;
            h->readers = (uint16_t)(1u << (m->me - 1) / WARPGROUP);
        }
    for (uint32_t i = over; i < t->out.n; i++) t->out.p[i - over] = t->out.p[i];
    t->out.n -= over;
}

bool lin_box(struct machine *m, struct step *s) {
    switch (s->u->op) {
    case OP_MBAR_INIT: {
        struct mbar *b = mbar_of(m, s, &s->mem);
        *b = (struct mbar){
            .count = s->u->arg.i, .missing = s->u->arg.i, .beginner = m->me, .begun = m->barriers};
        b->came = arena_array(m->arena, int32_t, m->nthread);
        b->done = arena_array(m->arena, int32_t, m->nthread);
        for (int i = 0; i < 2; i++) {
            b->last[i].arrived = arena_array(m->arena, int32_t, m->nthread);
            b->last[i].observed = arena_array(m->arena, int32_t, m->nthread);
        }
        return true;
    }
    case OP_MBAR_ARRIVE: arrive(m, s); return true;
    case OP_MBAR_WAIT: return is_over(m, s);
    case OP_TMA_LOAD: tma_load(m, s); return true;
    case OP_TMA_STORE: tma_store(m, s); return true;
    default: tma_store_wait(m, s); return true;
    }
}
