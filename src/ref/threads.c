/* threads.c: the interpreter's threads of a block: scheduling, barriers, collective ops, asynchronous copies.
 * A thread runs until it is at a barrier or at a collective op (linear.c says what is checked). mma.sync is computed when
 * the 32 threads of a warp have reached it, wgmma when the 128 of a warpgroup have, from the values of all by the layouts
 * of ir/mma.def; wgmma reads tiles, which no thread may write until it was waited for. Tests: tests/unit/gpu_threads.c */
#include "ref/linear.h"

/* ---- run: copies that take their time ---------------------------------------------------------------- */

void lin_begin_copy(struct machine *m, struct step *s) {
    struct thread *t = &m->threads[m->me - 1];
    struct access to = s->mem;
    for (unsigned l = 0; l < to.lanes; l++) {
        uint32_t no, from_no;
        int64_t at = lin_address(m, s, l, &no);
        struct flight f = {.no = no, .group = t->groups, .at = at};
        lin_scratch(m, s, no, at, true);
        m->scratch[no].shadow[at].flight = true;
        if (s->u->nsrc < 3 || lin_good(m, s, s->src[2], l, "a predicate")->v.i) {
            s->mem = s->from;
            int64_t x = lin_address(m, s, l, &from_no);
            lin_note_read(m, s, from_no, x);
            f.e = lin_load(m, from_no, (enum dtype)to.dt, x);
            s->mem = to;
        }
        vec_push(m->arena, &t->flight, f);
    }
}

/* All but the last n commit groups complete. */
void lin_wait_copies(struct machine *m, int64_t n) {
    struct thread *t = &m->threads[m->me - 1];
    uint32_t keep = 0;
    for (uint32_t i = 0; i < t->flight.n; i++) {
        struct flight *f = &t->flight.p[i];
        if ((int64_t)f->group + n >= t->groups) {
            t->flight.p[keep++] = *f;
            continue;
        }
        struct shadow *h = &m->scratch[f->no].shadow[f->at];
        m->scratch[f->no].e[f->at] = f->e;
        h->flight = false, h->wrote = m->barriers;
    }
    t->flight.n = keep;
}

/* ---- run: threads ---------------------------------------------------------------------------------- */

static bool is_meeting(const struct machine *m, uint32_t at) {
    uint16_t op = m->step[at].op;
    return op == OP_LDMATRIX || op == OP_MMA || op == OP_WARP_REDUCE;
}

static bool is_barrier(const struct machine *m, uint32_t at) {
    return m->step[at].op == OP_BARRIER || m->step[at].op == OP_CLUSTER_SYNC;
}

void lin_as_block(struct machine *m, uint32_t block) {
    m->scratch = m->block[block];
    m->t = m->t0 + block;
}

/* Swaps the values and loops of thread i in, or out. */
static void as_thread(struct machine *m, uint32_t i, bool enter) {
    struct thread *t = &m->threads[i];
    struct elem *v = m->v;
    struct loop *loop = m->loop;
    m->v = t->v, m->loop = t->loop;
    t->v = v, t->loop = loop;
    m->me = enter ? (int32_t)i + 1 : 0;
    lin_as_block(m, i / m->lin->threads);
}

/* Thread i runs until it is at a barrier, a collective op, a wait, or the end of the threads' program. Did
 * it advance? */
static bool run_thread(struct machine *m, uint32_t i, uint32_t end) {
    struct thread *t = &m->threads[i];
    uint32_t from = t->at;
    if (from == end || m->step[from].stops) return false;
    as_thread(m, i, true);
    t->at = lin_run(m, from, end);
    as_thread(m, i, false);
    return t->at != from;
}

static void run_ldmatrix(struct machine *m, const struct step *s, uint32_t first) {
    unsigned bytes = dtype_info[s->mem.dt].bytes, each = 4 / bytes, n = 16 / bytes;
    struct elem row[4][8][16];
    for (uint32_t l = 0; l < MMA_LANES; l++) {
        as_thread(m, first + l, true);
        for (unsigned k = 0; k < n; k++) {
            uint32_t no;
            int64_t at = lin_address(m, s, k, &no);
            if (k == 0 && at * bytes % 16)
                lin_bad(m, s, "element %lld is not 16-byte aligned", (long long)at);
            row[l / 8][l % 8][k] = *lin_scratch(m, s, no, at, false);
        }
        as_thread(m, first + l, false);
    }
    for (uint32_t l = 0; l < MMA_LANES; l++)
        for (unsigned w = 0; w < 4; w++) {
            unsigned r = l / 4, k = l % 4 * each;
            uint32_t word = 0;
            struct elem *out = &m->threads[first + l].v[s->out.at + w];
            out->bad = FINE;
            for (unsigned e = 0; e < each; e++) {
                const struct elem *x = s->u->arg.i ? &row[w][k + e][r] : &row[w][r][k + e];
                ref_write((enum dtype)s->mem.dt, (char *)&word + e * bytes, x->v);
                if (x->bad) out->bad = x->bad;
            }
            out->v.i = word;
        }
}

/* Element r of an operand: two 16-bit elements to a word, or four of 8 bits. */
static struct elem operand_elem(enum dtype dt, const struct elem *v, unsigned r) {
    unsigned bytes = dtype_info[dt].bytes, each = 4 / bytes;
    if (bytes > 2) return v[r];
    uint32_t word = (uint32_t)v[r / each].v.i;
    return (struct elem){.v = ref_read(dt, (char *)&word + r % each * bytes), .bad = v[r / each].bad};
}

/* Where the elements of an operand lie: by lane, then by register. Worked out once for a kernel. */
static const int (*layout(struct machine *m, enum mma instr, unsigned operand, unsigned *regs))[3] {
    struct mma_map map = mma_map(instr, operand);
    uint32_t lanes = mma_lanes(instr);
    int(*at)[3] = m->layout[instr][operand];
    *regs = map.regs;
    if (at) return (const int(*)[3])at;
    at = m->layout[instr][operand] = arena_alloc(m->arena, sizeof(int[3]) * lanes * map.regs);
    for (uint32_t l = 0; l < lanes; l++)
        for (unsigned r = 0; r < map.regs; r++) mma_element(&map, l, r, at[l * map.regs + r]);
    return (const int(*)[3])at;
}

/* Operands and accumulators of the warp as matrices, gathered or given back. */
static void mma_side(struct machine *m, const struct step *s, uint32_t first, unsigned operand,
                     struct elem x[32][32], bool give) {
    unsigned regs;
    const int(*where)[3] = layout(m, (enum mma)s->u->arg.mma.instr, operand, &regs);
    for (uint32_t l = 0; l < MMA_LANES; l++)
        for (unsigned r = 0; r < regs; r++) {
            const int *at = where[l * regs + r];
            bool acc = operand == MMA_D;
            const struct slot *in = &s->many[acc ? r / s->many[0].lanes : s->u->nsrc - 2 + operand];
            struct elem *e = &m->threads[first + l].v[in->at + (acc ? r % s->many[0].lanes : 0)];
            struct elem *o = &x[at[operand == MMA_B ? MMA_K : MMA_M]][at[operand == MMA_A ? MMA_K : MMA_N]];
            if (give)
                *e = *o;
            else
                *o = acc ? *e : operand_elem(mma_info[s->u->arg.mma.instr].in, e, r);
        }
}

static void run_mma(struct machine *m, const struct step *s, uint32_t first) {
    const struct mma_info *i = &mma_info[s->u->arg.mma.instr];
    struct elem a[32][32], b[32][32], d[32][32];
    mma_side(m, s, first, MMA_A, a, false);
    mma_side(m, s, first, MMA_B, b, false);
    mma_side(m, s, first, MMA_D, d, false);
    for (int y = 0; y < i->size[MMA_M]; y++)
        for (int x = 0; x < i->size[MMA_N]; x++) {
            struct elem *e = &d[y][x];
            for (int k = 0; k < i->size[MMA_K]; k++) {
                if (i->sum == MMA_EXACT)
                    e->v.i = ref_wrap(i->acc, e->v.i + a[y][k].v.i * b[k][x].v.i);
                else
                    e->v.f += a[y][k].v.f * b[k][x].v.f;
                if (!e->bad) e->bad = a[y][k].bad ? a[y][k].bad : b[k][x].bad;
            }
            if (i->sum != MMA_EXACT) e->v.f = ref_round(i->acc, e->v.f);
        }
    mma_side(m, s, first, MMA_D, d, true);
}

/* Element (p, k) of the tile at `s->mem`, whose address is the same in all threads of the warpgroup. */
static struct elem *tile_at(struct machine *m, const struct step *s, uint32_t first, int64_t base,
                            uint32_t no, int operand, int64_t p, int64_t k) {
    int64_t w = 128 / dtype_info[s->mem.dt].bytes, rows = s->u->arg.mma.rows[operand];
    int64_t half = mma_info[s->u->arg.mma.instr].size[MMA_K] / 2, leap = s->u->arg.mma.leap[operand];
    int64_t row = k / half * leap + k % half;
    int64_t at = base + (rows ? row * w + p % w + p / w * rows * w : p * w + k);
    if (at < 0 || at >= m->scratch[no].n)
        lin_bad(m, s, "element %lld is outside of shared buffer %u", (long long)at, no);
    struct elem *e = lin_scratch(m, s, no, at, false);
    m->scratch[no].shadow[at].held[first / WARPGROUP] = (uint16_t)(m->threads[first].mma_begun + 1);
    return e;
}

static void read_tile(struct machine *m, struct step *s, uint32_t first, int operand, struct elem *out) {
    const int *size = mma_info[s->u->arg.mma.instr].size;
    int n = size[operand == MMA_A ? MMA_M : MMA_N];
    struct access mem = s->mem;
    int64_t base = 0;
    uint32_t no = 0;
    if (operand == MMA_B) s->mem = s->from;
    for (uint32_t l = WARPGROUP; l-- > 0;) {
        as_thread(m, first + l, true);
        int64_t at = lin_address(m, s, 0, &no);
        if (l < WARPGROUP - 1 && at != base)
            lin_bad(m, s, "threads of the warpgroup have different tile addresses");
        base = at;
        for (int i = 0; i < n * size[MMA_K] && !l; i++)
            out[i] = *tile_at(m, s, first, base, no, operand, i / size[MMA_K], i % size[MMA_K]);
        as_thread(m, first + l, false);
    }
    s->mem = mem;
}

/* Operand a from the registers of the warpgroup. */
static void gather_rows(struct machine *m, const struct step *s, uint32_t first, struct elem *a) {
    enum mma instr = (enum mma)s->u->arg.mma.instr;
    unsigned regs;
    const int(*where)[3] = layout(m, instr, MMA_A, &regs);
    const struct slot *in = &s->many[s->u->nsrc - 2];
    for (uint32_t l = 0; l < WARPGROUP; l++)
        for (unsigned r = 0; r < regs; r++) {
            const int *at = where[l * regs + r];
            struct elem *word = &m->threads[first + l].v[in->at];
            word[dtype_info[mma_info[instr].in].bytes == 2 ? r / 2 : r].operand =
                (uint16_t)(m->threads[first].mma_begun + 1);
            a[at[MMA_M] * mma_info[instr].size[MMA_K] + at[MMA_K]] =
                operand_elem(mma_info[instr].in, word, r);
        }
}

/* Butterfly, bit by bit, as lanes shuffle: all get the same result. */
static void run_warp_reduce(struct machine *m, const struct step *s, uint32_t first, uint32_t n) {
    int64_t bits = s->u->src[1]->arg.i;
    enum dtype dt = (enum dtype)s->u->src[0]->dt;
    for (uint32_t bit = 1; bit < MMA_LANES; bit *= 2) {
        struct elem now[WARPGROUP];
        if (!(bits & bit)) continue;
        for (uint32_t l = 0; l < n; l++) {
            const struct elem *a = &m->threads[first + l].v[s->out.at],
                              *b = &m->threads[first + (l ^ bit)].v[s->out.at];
            union ref_val x[3] = {a->v, b->v, {.i = 0}};
            now[l] = (struct elem){.bad = a->bad ? a->bad : b->bad};
            ref_eval((enum op)s->u->arg.i, dt, dt, x, &now[l].v);
        }
        for (uint32_t l = 0; l < n; l++) m->threads[first + l].v[s->out.at] = now[l];
    }
}

static void run_group_mma(struct machine *m, struct step *s, uint32_t first) {
    enum mma instr = (enum mma)s->u->arg.mma.instr;
    const struct mma_info *i = &mma_info[instr];
    unsigned regs;
    const int(*where)[3] = layout(m, instr, MMA_D, &regs);
    int k = i->size[MMA_K];
    if (*i->map[MMA_A]) layout(m, instr, MMA_A, &(unsigned){0}); /* before the mark: it stays */
    struct arena_mark mark = arena_mark(m->arena);
    struct elem *a = arena_array(m->arena, struct elem, i->size[MMA_M] * k),
                *b = arena_array(m->arena, struct elem, i->size[MMA_N] * k);
    if (*i->map[MMA_A])
        gather_rows(m, s, first, a);
    else
        read_tile(m, s, first, MMA_A, a);
    read_tile(m, s, first, MMA_B, b);
    for (uint32_t l = 0; l < WARPGROUP; l++)
        for (unsigned r = 0; r < regs; r++) {
            const int *at = where[l * regs + r];
            unsigned lanes = s->many[0].lanes;
            struct elem *e = &m->threads[first + l].v[s->many[r / lanes].at + r % lanes];
            if (s->u->arg.mma.zero_init) *e = (struct elem){.v = {.f = 0}, .bad = FINE};
            for (int j = 0; j < k; j++) {
                const struct elem *x = &a[at[MMA_M] * k + j], *y = &b[at[MMA_N] * k + j];
                e->v.f += x->v.f * y->v.f;
                if (!e->bad) e->bad = x->bad ? x->bad : y->bad;
            }
            e->v.f = ref_round(i->acc, e->v.f);
            e->summed = (uint16_t)(m->threads[first].mma_begun + 1);
        }
    arena_release(m->arena, mark);
}

static bool waits(const struct machine *m, uint32_t thread) {
    return m->step[m->threads[thread].at].op == OP_MBAR_WAIT;
}

/* A warp runs until its threads are at a barrier, a wait, or the end. Did any advance? */
static bool run_warp(struct machine *m, uint32_t first, uint32_t n, uint32_t end) {
    for (bool moved = false;; moved = true) {
        for (uint32_t i = 0; i < n; i++) moved |= run_thread(m, first + i, end);
        uint32_t at = m->threads[first].at;
        if (at == end || !is_meeting(m, at)) return moved;
        struct step *s = &m->step[at];
        for (uint32_t i = 0; i < n; i++) {
            if (waits(m, first + i)) return moved;
            if (m->threads[first + i].at != at)
                lin_bad(m, s, "thread %u of the warp has diverged", first + i);
        }
        if (s->u->op == OP_LDMATRIX)
            run_ldmatrix(m, s, first);
        else if (s->u->op == OP_WARP_REDUCE)
            run_warp_reduce(m, s, first, n);
        else if (n == WARPGROUP)
            run_group_mma(m, s, first);
        else
            run_mma(m, s, first);
        for (uint32_t i = 0; i < n; i++) m->threads[first + i].at++;
    }
}

/* Which barrier a thread is at: 0 that of its block, MEETING that of the cluster, -1 none. */
enum { MEETING = 1 << 24 };
static int64_t barrier_of(struct machine *m, uint32_t thread, uint32_t end) {
    const struct thread *t = &m->threads[thread];
    const struct step *s = &m->step[t->at];
    if (t->at == end || !is_barrier(m, t->at)) return -1;
    if (s->u->op == OP_CLUSTER_SYNC) return MEETING;
    return s->u->arg.i ? s->u->arg.i * 256 + t->v[s->src[0].at].v.i : 0;
}

/* Releases the threads at a barrier, of this block or of all, once all have arrived. */
static bool pass_barrier(struct machine *m, int64_t id, uint32_t block, uint32_t end) {
    bool all = id == MEETING;
    uint32_t n = all ? m->nthread : m->lin->threads, first = all ? 0 : block * n, here = 0, groups = 0,
             where = end, ended = 0;
    for (uint32_t i = first; i < first + n; i++) {
        ended += m->threads[i].at == end;
        if (barrier_of(m, i, end) != id) continue;
        if ((!id || all) && where != end && where != m->threads[i].at) return false; /* two of them */
        where = m->threads[i].at;
        here++, groups |= 1u << i / WARPGROUP;
    }
    if (here != (all ? n - ended : id ? id / 256 : n)) return false;
    m->barriers++;
    for (uint32_t g = 0; g < MOST_GROUPS * MOST_GROUPS; g++)
        if (groups >> g / MOST_GROUPS & 1 && groups >> g % MOST_GROUPS & 1)
            m->met[g / MOST_GROUPS][g % MOST_GROUPS] = m->barriers;
    for (uint32_t i = first; i < first + n; i++)
        if (barrier_of(m, i, end) == id) m->threads[i].at++;
    return true;
}

/* Deadlock. */
static void stuck(struct machine *m, uint32_t end) {
    uint32_t n = m->nthread;
    for (uint32_t i = 0; i < n; i++)
        if (waits(m, i))
            lin_bad(m, &m->step[m->threads[i].at],
                    "deadlock: thread %u waits for a phase that does not complete", i);
    for (uint32_t i = 1; i < n; i++)
        if (m->threads[i].at != m->threads[0].at)
            lin_bad(m, &m->step[m->threads[i].at],
                    "thread %u stands here and thread 0 at entry %u: not all come to this barrier", i,
                    m->threads[0].at);
    lin_bad(m, &m->step[RG_MIN(m->threads[0].at, end)], "not all threads come to this barrier");
}

void lin_begin_threads(struct machine *m, uint32_t at, uint32_t block) {
    for (uint32_t i = 0; i < m->lin->threads; i++) {
        struct thread *t = &m->threads[block * m->lin->threads + i];
        memcpy(t->v, m->v, m->init.n * sizeof *m->v);
        t->v[m->step[at].out.at] = (struct elem){.v = {.i = i}, .bad = FINE};
        t->at = at + 1;
        t->flight.n = t->groups = t->out.n = 0;
        t->mma_begun = t->mma_over = 0;
    }
}

uint32_t lin_threads(struct machine *m, uint32_t at) {
    uint32_t n = m->nthread, each = m->lin->threads, end = m->step[at].partner;
    for (;;) {
        uint32_t group = m->group ? m->group : MMA_LANES, done = 0;
        bool moved = false;
        for (uint32_t i = 0; i < n; i += group) moved |= run_warp(m, i, RG_MIN(each - i % each, group), end);
        for (uint32_t i = 0; i < n; i++) {
            int64_t barrier = barrier_of(m, i, end);
            done += m->threads[i].at == end;
            if (barrier >= 0) moved |= pass_barrier(m, barrier, i / each, end);
        }
        if (done == n) return end + 1;
        if (!moved) stuck(m, end);
    }
}
