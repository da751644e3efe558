/* linear.c: interprets one linear program, element by element, and checks everything on the way.
 *
 * Two steps. `resolve` walks the list once: it gives each entry a slot for its value, finds for each source the latest
 * evaluation before it in a scope that is still open (the variable that a C compiler would see), and matches RANGE, IF,
 * ELSE and END. Then `run_iteration` walks the list once for each iteration of the grid, with nothing left to look up.
 *
 * Poison. Each element carries why it must not be used, if so: it is INVALID, came from scratch that was never written,
 * from memory that holds nothing (ref_buf.set), or from an accumulator before its first SET. Arithmetic propagates it, WHERE and PRED_LOAD drop what they do not choose,
 * scratch memory keeps it; it is an error where it matters: a store to a global buffer, a predicate, a branch, a loop's
 * size, an index. So a padded lane may hold garbage as long as it is not read.
 *
 * Races. For each element of a global buffer a shadow remembers which grid iteration wrote it and which read it.
 * Iterations may run in any order or at once, so two writers, or a writer and a reader in different iterations, are
 * errors in either order. STORE_ADDs may share an element.
 *
 * Kernels with threads (a THREAD range): each thread has its own values, accumulators and loop counters, and runs up to
 * the next BARRIER; when all have reached it, they go on. For each element of shared memory a shadow knows which threads
 * wrote and read it since which barrier: a read of another thread's write, or a write of what another read or wrote,
 * without a barrier between, is an error, whatever the order in which threads ran here. The data of a CP_ASYNC arrives with
 * the thread's CP_ASYNC_WAIT: an access in between, or without a wait, is reported. LDMATRIX, WARP_REDUCE and MMA are
 * collective over the 32 threads of a warp, computed from the values of all by the layouts of ir/mma.def. wgmma reads
 * tiles: until it is waited for no thread may write there.
 * Tests: tests/unit/ref.c, tests/unit/gpu_threads.c, tests/unit/golden.c */
#include "ref/linear.h"

static const char *const poison_words[] = {
    [IS_INVALID] = "uses a value that is INVALID here",
    [NOT_WRITTEN] = "reads scratch that was never written",
    [NOT_SET] = "reads an accumulator before its first SET",
    [NOT_FILLED] = "reads memory that nothing was written to",
};

/* ---- errors: kernel, entry, node, iteration ------------------------------------------------------- */

void lin_bad_program(struct machine *m, const uop *u, const char *fmt, ...) {
    char words[700];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    err_throw(m->err, RG_EVERIFY, "kernel %s: node %%%u (%s): %s", m->lin->name, u->id, op_info[u->op].name,
              words);
}

void RG_NORETURN RG_FMT(3, 4) lin_bad(struct machine *m, const struct step *s, const char *fmt, ...) {
    char words[700];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    char thread[32] = "";
    if (m->me) snprintf(thread, sizeof thread, ", thread %d", m->me - 1);
    err_throw(m->err, RG_EVERIFY, "kernel %s, entry %u, node %%%u (%s), grid iteration %lld%s: %s",
              m->lin->name, (unsigned)(s - m->step), s->u->id, op_info[s->u->op].name, (long long)m->t,
              thread, words);
}

static const char *global_name(struct machine *m, uint32_t no, char buf[32]) {
    if (m->global[no].b.name) return m->global[no].b.name;
    snprintf(buf, 32, "number %u", no);
    return buf;
}

/* ---- resolve: values ------------------------------------------------------------------------------ */

static uint32_t new_slot(struct machine *m, unsigned lanes) {
    uint32_t at = m->init.n;
    for (unsigned l = 0; l < lanes; l++) vec_push(m->arena, &m->init, ((struct elem){.bad = IS_INVALID}));
    return at;
}

static void make_known(struct machine *m, const uop *u, uint32_t at, bool for_good) {
    uint64_t old = 0;
    map_get(&m->known, u->id, &old);
    if (!for_good) vec_push(m->arena, &m->undo, ((struct ref_undo){u->id, old}));
    map_put(&m->known, u->id, (uint64_t)at + 1);
}

static int64_t const_int(struct machine *m, const uop *user, const uop *c) {
    if (c->op != OP_CONST || dt_is_float((enum dtype)c->dt))
        lin_bad_program(m, user, "expected an integer constant as a source");
    return c->arg.i;
}

static union ref_val var_value(struct machine *m, const uop *u) {
    enum dtype dt = (enum dtype)u->dt;
    uint32_t slot = u->arg.param.slot;
    if (!m->var || slot >= m->lin->nvar)
        err_throw(m->err, RG_EINVAL, "kernel %s: VAR number %u has no value", m->lin->name, slot);
    union ref_val v =
        dt_is_float(dt) ? ref_read(dt, &m->var[slot]) : (union ref_val){.i = ref_wrap(dt, m->var[slot])};
    for (int k = 0; k < 2; k++) {
        const uop *b = u->src[k];
        if (b->op != OP_CONST) continue;
        double x = ref_number(dt, v), bound = dt_is_float((enum dtype)b->dt) ? b->arg.f : (double)b->arg.i;
        if (k ? x > bound : x < bound)
            err_throw(m->err, RG_EINVAL, "kernel %s: VAR number %u is %g, but the kernel was made for %s %g",
                      m->lin->name, slot, x, k ? "at most" : "at least", bound);
    }
    return v;
}

/* The nodes that never stand in the list. */
static uint32_t leaf(struct machine *m, const uop *u) {
    uint32_t at = new_slot(m, u->lanes);
    struct elem *e = &m->init.p[at];
    switch (u->op) {
    case OP_CONST:
        for (int l = 0; l < u->lanes; l++, e++) {
            e->bad = FINE;
            if (dt_is_float((enum dtype)u->dt))
                e->v.f = ref_round((enum dtype)u->dt, u->arg.f);
            else
                e->v.i = ref_wrap((enum dtype)u->dt, u->arg.i);
        }
        break;
    case OP_LANES:
        for (int l = 0; l < u->lanes; l++) e[l] = (struct elem){.v = {.i = l}, .bad = FINE};
        break;
    case OP_VAR: *e = (struct elem){.v = var_value(m, u), .bad = FINE}; break;
    case OP_INVALID: break;
    case OP_ACC:
        for (int l = 0; l < u->lanes; l++) e[l].bad = NOT_SET;
        vec_push(m->arena, &m->accs, at);
        vec_push(m->arena, &m->accs, u->lanes);
        break;
    default: lin_bad_program(m, u, "is used, but was not evaluated before in a scope that is still open");
    }
    make_known(m, u, at, true);
    return at;
}

struct slot lin_source(struct machine *m, const uop *u) {
    uint64_t known = 0;
    uint32_t at = map_get(&m->known, u->id, &known) && known ? (uint32_t)known - 1 : leaf(m, u);
    return (struct slot){at, u->lanes, u->dt};
}

/* ---- resolve: memory ------------------------------------------------------------------------------ */

void lin_param(struct machine *m, const uop *p) {
    uint32_t no = p->arg.param.slot;
    char buf[32];
    if (no >= m->nglobal || !m->global[no].b.p)
        err_throw(m->err, RG_EINVAL, "kernel %s: no buffer was given for PARAM number %u", m->lin->name, no);
    if (p->src[0]->op != OP_CONST) return;
    int64_t need = const_int(m, p, p->src[0]), size = dtype_info[p->dt].bytes;
    int64_t have = (int64_t)m->global[no].b.bytes / size;
    if (have < need)
        err_throw(m->err, RG_EINVAL, "kernel %s: buffer %s has %lld elements of %s, its PARAM says %lld",
                  m->lin->name, global_name(m, no, buf), (long long)have, dtype_info[p->dt].name,
                  (long long)need);
}

static uint32_t local_number(struct machine *m, const uop *u) {
    for (uint32_t i = 0; i < m->lin->nlocal; i++)
        if (m->lin->local[i] == u) return i;
    lin_bad_program(m, u, "is not in the program's table of scratch buffers");
}

struct access lin_access(struct machine *m, const uop *user, const uop *index) {
    if (index->op != OP_INDEX)
        lin_bad_program(m, user, "expected INDEX as the first source, found %s", op_info[index->op].name);
    const uop *b = index->src[0];
    struct access a = {.dt = b->dt, .lanes = index->lanes, .index = lin_source(m, index->src[1])};
    if (b->op == OP_PARAM) {
        lin_param(m, b);
        a.kind = MEM_PARAM;
        a.no = b->arg.param.slot;
    } else if (b->op == OP_PARAMS) {
        a.kind = MEM_PARAMS;
        a.which = lin_source(m, b);
    } else if (b->op == OP_LOCAL) {
        a.kind = MEM_LOCAL;
        a.no = local_number(m, b);
    } else {
        lin_bad_program(m, index, "a linear program addresses PARAM, PARAMS or LOCAL, not %s",
                        op_info[b->op].name);
    }
    if (dt_is_float((enum dtype)a.index.dt) || a.index.dt == DT_BOOL)
        lin_bad_program(m, index, "the index is not an integer");
    if (a.index.lanes != 1 && a.index.lanes != a.lanes)
        lin_bad_program(m, index, "has %d lanes but its index has %d", a.lanes, a.index.lanes);
    return a;
}

/* ---- resolve: the list ---------------------------------------------------------------------------- */

static void open_scope(struct machine *m, uint32_t at) {
    vec_push(m->arena, &m->scope, ((struct ref_scope){at, m->undo.n}));
}

/* Forgets what was evaluated since the scope opened. */
static void forget(struct machine *m, uint32_t undo) {
    while (m->undo.n > undo) {
        struct ref_undo *u = &m->undo.p[--m->undo.n];
        map_put(&m->known, u->id, u->old);
    }
}

static void close_scope(struct machine *m, uint32_t at) {
    struct step *s = &m->step[at];
    const uop *opener = s->u->src[0];
    if (!m->scope.n) lin_bad_program(m, s->u, "entry %u closes a scope, but none is open", at);
    struct ref_scope top = m->scope.p[m->scope.n - 1];
    if (m->lin->u[top.step] != opener)
        lin_bad_program(m, s->u, "entry %u names %%%u, but the innermost open scope is that of %%%u", at,
                        opener->id, m->lin->u[top.step]->id);
    forget(m, top.undo);
    struct step *open = &m->step[top.step];
    if (s->u->op == OP_ELSE) {
        if (opener->op != OP_IF || open->partner)
            lin_bad_program(m, s->u, "entry %u: ELSE without its IF", at);
        open->partner = at;
        return;
    }
    m->scope.n--;
    s->partner = top.step;
    if (open->u->op == OP_IF && open->partner)
        m->step[open->partner].partner = at;
    else
        open->partner = at;
}

static void resolve_value(struct machine *m, struct step *s) {
    const uop *u = s->u;
    if (u->op == OP_PARAMS) { /* its value is the index of the buffer; the rest is for the compiler */
        s->src[0] = lin_source(m, u->src[0]);
    } else if (u->op == OP_BUILD) {
        s->many = arena_array(m->arena, struct slot, u->nsrc);
        for (uint32_t k = 0; k < u->nsrc; k++) s->many[k] = lin_source(m, u->src[k]);
        if (u->nsrc != u->lanes) lin_bad_program(m, u, "has %d lanes and %u sources", u->lanes, u->nsrc);
    } else {
        if (u->nsrc > 3)
            lin_bad_program(m, u, "has %u sources; no op of a linear program has more than 3", u->nsrc);
        bool memory = u->op == OP_LOAD || u->op == OP_PRED_LOAD;
        if (memory) s->mem = lin_access(m, u, u->src[0]);
        for (uint32_t k = memory; k < u->nsrc; k++) {
            s->src[k] = lin_source(m, u->src[k]);
            if (op_is_pure((enum op)u->op) && s->src[k].lanes != 1 && s->src[k].lanes != u->lanes)
                lin_bad_program(m, u, "has %d lanes but source %u has %d", u->lanes, k, s->src[k].lanes);
        }
    }
    s->out = (struct slot){new_slot(m, u->lanes), u->lanes, u->dt};
    make_known(m, u, s->out.at, m->scope.n == 0);
}

static void resolve_range(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    if (u->arg.range.kind == AX_GRID && at)
        lin_bad_program(m, u, "entry %u: a GRID range must be the first entry", at);
    if (axis_is_expanded((enum axis_kind)u->arg.range.kind))
        lin_bad_program(m, u, "entry %u: a range of kind %s must be gone from a linear program", at,
                        axis_name[u->arg.range.kind]);
    if (u->arg.range.kind != AX_GRID) s->src[0] = lin_source(m, u->src[0]);
    if (u->arg.range.kind == AX_THREAD && (m->scope.n > 1 || u->src[0]->op != OP_CONST))
        lin_bad_program(m, u, "entry %u: threads stand inside the grid only, and their number is known", at);
    s->loop = m->nloop++;
    open_scope(m, at);
    s->out = (struct slot){new_slot(m, 1), 1, u->dt};
    make_known(m, u, s->out.at, false);
}

static void resolve_cp_async(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    s->mem = lin_access(m, u, u->src[0]);
    s->from = lin_access(m, u, u->src[1]);
    if (u->nsrc > 2) s->src[2] = lin_source(m, u->src[2]);
    if (s->mem.kind != MEM_LOCAL || !m->scratch[s->mem.no].shadow || s->from.kind == MEM_LOCAL ||
        s->mem.lanes != s->from.lanes || s->mem.dt != s->from.dt)
        lin_bad_program(m, u, "entry %u: a CP_ASYNC goes from a buffer to as much shared memory", at);
}

/* The operands of wgmma that are tiles in shared memory; returns how many sources are registers. */
static uint32_t resolve_wgmma_tiles(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    bool tile = u->src[u->nsrc - 2]->op == OP_INDEX; /* a: else registers */
    uint32_t plain = u->nsrc - (tile ? 2 : 1);
    s->from = lin_access(m, u, u->src[u->nsrc - 1]);
    s->mem = tile ? lin_access(m, u, u->src[plain]) : s->from;
    if (tile != !*mma_info[u->arg.mma.instr].map[MMA_A] || s->mem.kind != MEM_LOCAL ||
        s->from.kind != MEM_LOCAL || !m->scratch[s->mem.no].shadow || !m->scratch[s->from.no].shadow)
        lin_bad_program(m, u, "entry %u: its tiles are not in shared memory", at);
    m->group = WARPGROUP;
    return plain;
}

static void resolve_mma(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    if (u->arg.mma.instr < MMA_COUNT && mma_is_cpu((enum mma)u->arg.mma.instr)) {
        lin_resolve_cpu_mma(m, s, at);
        return;
    }
    if (u->arg.mma.instr >= MMA_COUNT || m->lin->threads % mma_lanes((enum mma)u->arg.mma.instr) ||
        m->nthread > MOST_GROUPS * WARPGROUP)
        lin_bad_program(m, u, "entry %u: no such instruction, or no whole warps", at);
    uint32_t plain =
        mma_is_wgmma((enum mma)u->arg.mma.instr) ? resolve_wgmma_tiles(m, s, at) : (uint32_t)u->nsrc;
    s->many = arena_array(m->arena, struct slot, u->nsrc);
    for (uint32_t k = 0; k < plain; k++) s->many[k] = lin_source(m, u->src[k]);
}

static void resolve_warp_reduce(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    s->out = lin_source(m, u->src[0]);
    if (m->lin->threads % MMA_LANES || u->src[1]->op != OP_CONST || u->src[1]->arg.i < 1 ||
        u->src[1]->arg.i >= MMA_LANES || s->out.lanes != 1)
        lin_bad_program(m, u, "entry %u: an accumulator of whole warps, and lanes of one", at);
}

static void resolve_ldmatrix(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    s->mem = lin_access(m, u, u->src[0]);
    int bytes = dtype_info[s->mem.dt].bytes;
    if (s->mem.kind != MEM_LOCAL || (int)s->mem.lanes * bytes != 16 || bytes > 2 ||
        m->lin->threads % MMA_LANES)
        lin_bad_program(m, u, "entry %u: rows of 16 bytes in memory that whole warps share", at);
    s->out = (struct slot){new_slot(m, u->lanes), u->lanes, u->dt};
    make_known(m, u, s->out.at, m->scope.n == 0);
}

static void resolve_set(struct machine *m, struct step *s) {
    const uop *u = s->u;
    if (u->src[0]->op != OP_ACC)
        lin_bad_program(m, u, "sets a %s, not an accumulator", op_info[u->src[0]->op].name);
    s->out = lin_source(m, u->src[0]);
    s->src[1] = lin_source(m, u->src[1]);
}

static void resolve_other(struct machine *m, struct step *s, uint32_t at) {
    enum op op = (enum op)s->u->op;
    if (lin_is_box(op)) {
        lin_resolve_box(m, s);
        return;
    }
    if (!op_is_pure(op) || op_info[op].flags & OPF_W)
        err_throw(m->err, RG_EUNSUPPORTED, "kernel %s, entry %u: %s does not stand in a linear program",
                  m->lin->name, at, op_info[op].name);
    resolve_value(m, s);
    s->pure = true;
    s->fn = ref_function(op, (enum dtype)s->dt, (enum dtype)s->src[0].dt);
}

static bool is_threads(const struct machine *m, uint32_t at) {
    return m->step[at].u->op == OP_RANGE && m->step[at].u->arg.range.kind == AX_THREAD;
}

/* Finds the slots and the memory that an entry reads and writes, and checks its form. */
static void resolve_step(struct machine *m, uint32_t at) {
    struct step *s = &m->step[at];
    const uop *u = s->u = m->lin->u[at];
    s->op = u->op, s->dt = u->dt, s->lanes = u->lanes, s->nsrc = (uint8_t)RG_MIN(u->nsrc, UINT8_MAX);
    s->stops = m->lin->threads && (is_threads(m, at) || u->op == OP_BARRIER || u->op == OP_CLUSTER_SYNC ||
                                   u->op == OP_LDMATRIX || u->op == OP_MMA || u->op == OP_WARP_REDUCE);
    switch (u->op) {
    case OP_RANGE: resolve_range(m, s, at); break;
    case OP_IF:
        s->src[0] = lin_source(m, u->src[0]);
        if (s->src[0].lanes != 1) lin_bad_program(m, u, "branches on a vector");
        open_scope(m, at);
        break;
    case OP_ELSE:
    case OP_END: close_scope(m, at); break;
    case OP_PREFETCH: break; /* a hint: nothing to compute, nothing to check */
    case OP_CP_ASYNC: resolve_cp_async(m, s, at); break;
    case OP_MMA: resolve_mma(m, s, at); break;
    case OP_WARP_REDUCE: resolve_warp_reduce(m, s, at); break;
    case OP_LDMATRIX: resolve_ldmatrix(m, s, at); break;
    case OP_CP_ASYNC_COMMIT:
    case OP_CP_ASYNC_WAIT:
    case OP_WGMMA_FENCE:
    case OP_WGMMA_COMMIT:
    case OP_WGMMA_WAIT:
    case OP_FENCE_ASYNC:
    case OP_PIN_REG:
    case OP_SETMAXNREG:
    case OP_CLUSTER_SYNC:
    case OP_BARRIER:
        if (!m->lin->threads) lin_bad_program(m, u, "entry %u: expected a kernel with threads", at);
        if (u->nsrc) s->src[0] = lin_source(m, u->src[0]);
        break;
    case OP_DSMEM_STORE:
    case OP_STORE:
    case OP_STORE_ADD:
        s->mem = lin_access(m, u, u->src[0]);
        for (uint32_t k = 1; k < u->nsrc; k++) s->src[k] = lin_source(m, u->src[k]);
        break;
    case OP_SET: resolve_set(m, s); break;
    case OP_LOAD:
    case OP_PRED_LOAD:
    case OP_PARAMS:
    case OP_BUILD:
    case OP_EXTRACT:
    case OP_VEC_REDUCE: resolve_value(m, s); break;
    default: resolve_other(m, s, at);
    }
}

static void make_scratch(struct machine *m, uint32_t block) {
    const struct linear *lin = m->lin;
    struct scratch *c = m->block[block] = arena_array(m->arena, struct scratch, lin->nlocal + 1);
    for (uint32_t i = 0; i < lin->nlocal; i++) {
        bool shared = lin->local[i]->arg.mem.space == SPACE_SHARED;
        int64_t n = c[i].n = const_int(m, lin->local[i], lin->local[i]->src[0]);
        c[i].e = arena_array(m->arena, struct elem, n * (shared ? 1 : RG_MAX(m->nthread, 1u)));
        if (shared) c[i].shadow = arena_array(m->arena, struct shadow, n);
        for (uint32_t k = 0; k < i && lin->local[i]->nsrc > 1; k++)
            if (lin->local[k] == lin->local[i]->src[1]) c[i].over = k + 1;
        if (!c[i].over) continue;
        const struct scratch *base = &c[c[i].over - 1];
        c[i].each = dtype_info[lin->local[i]->dt].bytes / dtype_info[lin->local[i]->src[1]->dt].bytes;
        if (!shared || !base->shadow || c[i].each < 1 || n * c[i].each > base->n)
            lin_bad_program(m, lin->local[i], "is larger than the buffer that it aliases");
    }
}

static void resolve(struct machine *m) {
    const struct linear *lin = m->lin;
    map_init(&m->known, m->arena);
    new_slot(m, 1); /* number 0: sources that an op does not have */
    m->init.p[0] = (struct elem){.bad = FINE};
    m->step = arena_array(m->arena, struct step, lin->n + 1);
    if (lin->cluster > MOST_BLOCKS || (lin->cluster && lin->grid % lin->cluster))
        err_throw(m->err, RG_EVERIFY, "kernel %s: clusters of %u blocks, of %lld", lin->name, lin->cluster,
                  (long long)lin->grid);
    m->blocks = RG_MAX(lin->cluster, 1u);
    m->nthread = lin->threads * m->blocks;
    for (uint32_t b = 0; b < m->blocks; b++) make_scratch(m, b);
    lin_as_block(m, 0);
    for (uint32_t i = 0; i < lin->n; i++) resolve_step(m, i);
    for (uint32_t i = 0; i < lin->nlocal; i++) /* mbarriers are found in the first block */
        for (uint32_t b = 1; b < m->blocks && m->scratch[i].bar; b++)
            m->block[b][i].bar = arena_array(m->arena, struct mbar, m->scratch[i].n + 1);
    if (m->scope.n) lin_bad_program(m, lin->u[m->scope.p[m->scope.n - 1].step], "is never closed");
    bool grid = lin->n && lin->u[0]->op == OP_RANGE && lin->u[0]->arg.range.kind == AX_GRID;
    if (grid && m->step[0].partner != lin->n - 1)
        lin_bad_program(m, lin->u[0], "the END of the GRID range is not the last entry");
    if (!grid && lin->grid != 1)
        err_throw(m->err, RG_EVERIFY, "kernel %s: has no GRID range, but %lld iterations", lin->name,
                  (long long)lin->grid);
    m->v = m->init.p;
    m->loop = arena_array(m->arena, struct loop, m->nloop + 1);
    m->threads = arena_array(m->arena, struct thread, m->nthread + 1);
    for (uint32_t i = 0; i < m->nthread; i++) {
        m->threads[i].v = arena_array(m->arena, struct elem, m->init.n + 1);
        m->threads[i].loop = arena_array(m->arena, struct loop, m->nloop + 1);
    }
}

/* ---- run: values ---------------------------------------------------------------------------------- */

/* Is that commit group of the thread still in flight? */
static bool goes_on(const struct machine *m, uint16_t group) {
    return group && m->me && group > m->threads[m->me - 1].mma_over;
}

const struct elem *lin_lane(struct machine *m, struct slot s, unsigned l) {
    const struct elem *e = &m->v[s.at + (s.lanes == 1 ? 0 : l)];
    if (goes_on(m, e->summed))
        lin_bad(m, &m->step[m->now], "reads an accumulator of a wgmma that was not waited for");
    return e;
}

static void set_lane(struct machine *m, const struct step *s, unsigned l) {
    struct elem *e = &m->v[s->out.at + l];
    if (goes_on(m, e->summed) || goes_on(m, e->operand))
        lin_bad(m, s, "sets a register of a wgmma that was not waited for");
    *e = *lin_lane(m, s->src[1], l);
    e->summed = e->operand = 0;
}

const struct elem *lin_good(struct machine *m, const struct step *s, struct slot x, unsigned l,
                            const char *as) {
    const struct elem *e = lin_lane(m, x, l);
    if (e->bad) lin_bad(m, s, "%s, as %s (lane %u)", poison_words[e->bad], as, l);
    return e;
}

/* A bool that one source decides ignores poison in the other. */
static bool settled(enum op op, const struct elem *a, const struct elem *b, int64_t *value) {
    *value = op == OP_OR;
    return (!a->bad && a->v.i == *value) || (!b->bad && b->v.i == *value);
}

/* Not a struct that is put together in memory and then copied: that waits for its parts. */
static void set_elem(struct elem *out, union ref_val v, uint64_t bad) {
    out->v = v;
    out->marks = 0;
    if (bad) out->bad = (uint16_t)bad;
}

static void eval_lane(struct machine *m, const struct step *s, unsigned l, struct elem *out) {
    union ref_val x[3] = {{.i = 0}, {.i = 0}, {.i = 0}}, v;
    const struct elem *e[3] = {NULL, NULL, NULL};
    uint16_t bad = FINE;
    for (uint32_t k = 0; k < s->nsrc; k++) {
        e[k] = lin_lane(m, s->src[k], l);
        x[k] = e[k]->v;
        if (!bad) bad = e[k]->bad;
    }
    if (bad && s->op == OP_WHERE && !e[0]->bad) bad = e[e[0]->v.i ? 1 : 2]->bad;
    if (bad && s->dt == DT_BOOL && (s->op == OP_AND || s->op == OP_OR) &&
        settled((enum op)s->op, e[0], e[1], &v.i)) {
        set_elem(out, v, FINE);
        return;
    }
    if (!ref_eval((enum op)s->op, (enum dtype)s->dt, (enum dtype)s->src[0].dt, x, &v))
        lin_bad(m, s, "%s of %s is not an operation", op_info[s->op].name, dtype_info[s->dt].name);
    set_elem(out, v, bad);
}

/* A pure op. Where a source has a mark, eval_lane looks what it means. */
static void run_pure(struct machine *m, const struct step *s) {
    struct elem *out = &m->v[s->out.at];
    const struct elem *a = &m->v[s->src[0].at], *b = &m->v[s->src[1].at], *c = &m->v[s->src[2].at];
    unsigned na = s->src[0].lanes > 1, nb = s->src[1].lanes > 1, nc = s->src[2].lanes > 1;
    for (unsigned l = 0; l < s->lanes; l++, out++, a += na, b += nb, c += nc)
        if (s->fn && !(a->marks | b->marks | c->marks))
            set_elem(out, s->fn(a->v, b->v, c->v), FINE);
        else
            eval_lane(m, s, l, out);
}

/* Combines the lanes as a balanced tree: lane i with lane i + half, then again. */
static struct elem vec_reduce(struct machine *m, const struct step *s) {
    struct elem e[256];
    unsigned n = s->src[0].lanes;
    for (unsigned l = 0; l < n; l++) e[l] = *lin_lane(m, s->src[0], l);
    for (; n > 1; n = (n + 1) / 2) {
        unsigned half = (n + 1) / 2;
        for (unsigned l = 0; l + half < n; l++) {
            union ref_val x[3] = {e[l].v, e[l + half].v, {.i = 0}};
            if (!e[l].bad) e[l].bad = e[l + half].bad;
            enum dtype dt = (enum dtype)s->u->dt;
            if (!ref_eval((enum op)s->u->arg.i, dt, dt, x, &e[l].v))
                lin_bad(m, s, "cannot combine lanes with this op");
        }
    }
    return e[0];
}

/* ---- run: memory ---------------------------------------------------------------------------------- */

/* Buffers that share their memory share their owners: the same address under two numbers. */
static struct elem_owner **owner_pages(struct machine *m, const struct global *g, uint32_t size) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < m->nglobal; i++) {
        const struct global *other = &m->global[i];
        if (other->b.p != g->b.p) continue;
        if (other->page && other->size == size) return other->page;
        bytes = RG_MAX(bytes, other->b.bytes);
    }
    return arena_array(m->arena, struct elem_owner *, bytes / size / OWNER_PAGE + 1);
}

/* Pages are made when first touched: a few iterations of a large kernel touch little of its buffers. */
static struct elem_owner *owner_of(struct machine *m, uint32_t no, int64_t at, uint32_t size) {
    struct global *g = &m->global[no];
    if (!g->page) {
        g->page = owner_pages(m, g, size);
        g->size = size;
    }
    if (g->size != size)
        at = at * size / g->size; /* another type's view: the owner of the first byte will do */
    struct elem_owner **page = &g->page[(uint64_t)at / OWNER_PAGE];
    if (!*page) *page = arena_array(m->arena, struct elem_owner, OWNER_PAGE);
    return &(*page)[(uint64_t)at % OWNER_PAGE];
}

void lin_note_read(struct machine *m, const struct step *s, uint32_t no, int64_t at) {
    struct elem_owner *o = owner_of(m, no, at, dtype_info[s->mem.dt].bytes);
    int64_t me = m->t + 1;
    char buf[32];
    if (o->writer && o->writer != me)
        lin_bad(m, s,
                "reads element %lld of buffer %s, which grid iteration %lld writes; iterations "
                "have no order",
                (long long)at, global_name(m, no, buf),
                (long long)(o->writer < 0 ? o->writer : o->writer - 1));
    o->reader = o->reader && o->reader != me ? -1 : me;
}

void lin_note_write(struct machine *m, const struct step *s, uint32_t no, int64_t at) {
    struct elem_owner *o = owner_of(m, no, at, dtype_info[s->mem.dt].bytes);
    int64_t me = m->t + 1;
    bool add = s->u->op == OP_STORE_ADD;
    char buf[32];
    if (o->writer && o->writer != me && (!add || o->plain))
        lin_bad(m, s,
                "writes element %lld of buffer %s, which grid iteration %lld writes too; "
                "iterations have no order",
                (long long)at, global_name(m, no, buf),
                (long long)(o->writer < 0 ? o->writer : o->writer - 1));
    if (o->reader && o->reader != me)
        lin_bad(m, s,
                "writes element %lld of buffer %s, which grid iteration %lld reads; iterations "
                "have no order",
                (long long)at, global_name(m, no, buf),
                (long long)(o->reader < 0 ? o->reader : o->reader - 1));
    o->writer = o->writer && o->writer != me ? -1 : me;
    o->plain |= !add;
    if (m->global[no].b.wrote) m->global[no].b.wrote[at] = 1;
}

/* The number of the global buffer, and the element; checked. */
int64_t lin_address(struct machine *m, const struct step *s, unsigned l, uint32_t *no) {
    const struct access *a = &s->mem;
    int64_t at = lin_good(m, s, a->index, l, "an index")->v.i;
    if (a->index.lanes == 1) at += l;
    char buf[32];
    *no = a->no;
    if (a->kind == MEM_LOCAL) {
        if (at < 0 || at >= m->scratch[a->no].n)
            lin_bad(m, s, "element %lld of scratch buffer %u, which has %lld elements (lane %u)",
                    (long long)at, a->no, (long long)m->scratch[a->no].n, l);
        return at;
    }
    if (a->kind == MEM_PARAMS) *no = (uint32_t)lin_good(m, s, a->which, 0, "a buffer number")->v.i;
    int64_t bytes = (int64_t)m->global[*no].b.bytes, size = dtype_info[a->dt].bytes;
    if (at < 0 || at >= bytes || (at + 1) * size > bytes)
        lin_bad(m, s, "element %lld of buffer %s, which has %lld elements (lane %u)", (long long)at,
                global_name(m, *no, buf), (long long)(bytes / size), l);
    return at;
}

#define EACH_BYTE 0x0101010101010101u
struct elem lin_load(const struct machine *m, uint32_t no, enum dtype dt, int64_t at) {
    const struct ref_buf *b = &m->global[no].b;
    size_t size = dtype_info[dt].bytes, from = (size_t)at * size;
    struct elem e = {.v = ref_read(dt, (char *)b->p + from), .bad = FINE};
    if (b->set && ref_bits(b->set + from, size) != EACH_BYTE >> (64 - 8 * size)) e.bad = NOT_FILLED;
    return e;
}

void lin_store(struct machine *m, uint32_t no, enum dtype dt, int64_t at, union ref_val v) {
    const struct ref_buf *b = &m->global[no].b;
    size_t size = dtype_info[dt].bytes, from = (size_t)at * size;
    ref_write(dt, (char *)b->p + from, v);
    if (b->set) memset(b->set + from, 1, size);
}

bool lin_met_since(const struct machine *m, int32_t thread, int32_t when) {
    if (m->met[(thread - 1) / WARPGROUP][(m->me - 1) / WARPGROUP] > when) return true;
    return m->seen && m->seen[(uint32_t)(m->me - 1) * m->nthread + (uint32_t)(thread - 1)] > when;
}

/* An element of scratch memory: the thread's own, or a shared one after a look at who else touched it. */
struct elem *lin_scratch(struct machine *m, const struct step *s, uint32_t no, int64_t at, bool write) {
    struct scratch *c = &m->scratch[no];
    if (!c->shadow) return &c->e[at + (m->me ? (m->me - 1) * c->n : 0)];
    for (int64_t k = 0; k < c->each && write; k++) /* the aliased contents are dead */
        lin_scratch(m, s, c->over - 1, at * c->each + k, true)->bad = NOT_WRITTEN;
    struct shadow *h = &c->shadow[at];
    if (h->flight)
        lin_bad(m, s, "%s element %lld of shared buffer %u, which thread %d is still copying to",
                write ? "writes" : "reads", (long long)at, no, h->writer - 1);
    for (uint32_t g = 0; write && g * WARPGROUP < m->nthread && m->group == WARPGROUP; g++)
        if (h->held[g] > m->threads[g * WARPGROUP].mma_over)
            lin_bad(m, s, "writes element %lld of shared buffer %u, which MMA instructions still read",
                    (long long)at, no);
    if (write && h->leaves)
        lin_bad(m, s, "writes element %lld of shared buffer %u, which a TMA_STORE still reads", (long long)at,
                no);
    if (h->writer && h->writer != m->me && !lin_met_since(m, h->writer, h->wrote))
        lin_bad(m, s, "%s element %lld of shared buffer %u, which thread %d wrote; no barrier is between",
                write ? "writes" : "reads", (long long)at, no, h->writer - 1);
    bool still_read = false;
    for (int32_t g = 0; h->readers >> g; g++)
        still_read |= h->readers >> g & 1 && !lin_met_since(m, g * WARPGROUP + 1, h->read[g]);
    if (write && still_read && h->reader != m->me)
        lin_bad(m, s, "writes element %lld of shared buffer %u, which %s reads; no barrier is between",
                (long long)at, no, h->reader < 0 ? "more than one thread" : "another thread");
    if (write) {
        h->writer = m->me, h->wrote = m->barriers;
    } else {
        h->reader = still_read && h->reader != m->me ? -1 : m->me;
        h->readers = (uint16_t)((still_read ? h->readers : 0) | 1u << (m->me - 1) / WARPGROUP);
        h->read[(m->me - 1) / WARPGROUP] = m->barriers;
    }
    return &c->e[at];
}

static struct elem load_lane(struct machine *m, const struct step *s, unsigned l) {
    if (s->u->op == OP_PRED_LOAD && !lin_good(m, s, s->src[2], l, "a predicate")->v.i)
        return *lin_lane(m, s->src[1], l);
    uint32_t no;
    int64_t at = lin_address(m, s, l, &no);
    if (s->mem.kind == MEM_LOCAL) return *lin_scratch(m, s, no, at, false);
    lin_note_read(m, s, no, at);
    return lin_load(m, no, (enum dtype)s->mem.dt, at);
}

static void store_lane(struct machine *m, const struct step *s, unsigned l) {
    if (s->u->nsrc > 2 && !lin_good(m, s, s->src[2], l, "a predicate")->v.i) return;
    uint32_t no;
    int64_t at = lin_address(m, s, l, &no);
    enum dtype dt = (enum dtype)s->mem.dt;
    bool add = s->u->op == OP_STORE_ADD;
    struct elem e = *lin_lane(m, s->src[1], l);
    e.summed = e.operand = 0; /* each thread has its own counters */
    struct elem *here = s->mem.kind == MEM_LOCAL ? lin_scratch(m, s, no, at, true) : NULL;
    if (!here) {
        lin_good(m, s, s->src[1], l, "the value stored");
        lin_note_write(m, s, no, at);
    }
    if (add) {
        struct elem old = here ? *here : lin_load(m, no, dt, at);
        union ref_val x[3] = {old.v, e.v, {.i = 0}};
        if (!here && old.bad) lin_bad(m, s, "adds to memory that nothing was written to");
        if (!e.bad) e.bad = old.bad;
        ref_eval(OP_ADD, dt, dt, x, &e.v);
    }
    if (here)
        *here = e;
    else
        lin_store(m, no, dt, at, e.v);
}

/* To the memory of another block. */
static void send(struct machine *m, const struct step *s) {
    if (!m->me) lin_bad(m, s, "there are no threads");
    int64_t to = lin_good(m, s, s->src[1], 0, "a block")->v.i, own = (m->me - 1) / m->lin->threads;
    uint32_t no;
    if (to < 0 || to >= m->blocks) lin_bad(m, s, "block %lld of %u", (long long)to, m->blocks);
    if (!lin_met_since(m, (int32_t)(to * m->lin->threads) + 1, m->began))
        lin_bad(m, s, "block %lld may not have begun: no CLUSTER_SYNC is before", (long long)to);
    for (unsigned l = 0; l < s->mem.lanes; l++) {
        int64_t at = lin_address(m, s, l, &no);
        if (s->mem.kind != MEM_LOCAL || !m->scratch[no].shadow) lin_bad(m, s, "not to shared memory");
        struct elem e = *lin_lane(m, s->src[2], l);
        e.summed = e.operand = 0;
        lin_as_block(m, (uint32_t)to);
        *lin_scratch(m, s, no, at, true) = e;
        lin_as_block(m, (uint32_t)own);
    }
}

/* ---- run: the list -------------------------------------------------------------------------------- */

static void run_value(struct machine *m, const struct step *s) {
    const uop *u = s->u;
    struct elem *out = &m->v[s->out.at];
    switch (u->op) {
    case OP_LOAD:
    case OP_PRED_LOAD:
        for (unsigned l = 0; l < u->lanes; l++) out[l] = load_lane(m, s, l);
        return;
    case OP_BUILD:
        for (unsigned l = 0; l < u->lanes; l++) out[l] = *lin_lane(m, s->many[l], 0);
        return;
    case OP_EXTRACT:
        if (u->arg.i < 0 || u->arg.i >= s->src[0].lanes)
            lin_bad(m, s, "lane %lld of %d", (long long)u->arg.i, s->src[0].lanes);
        *out = *lin_lane(m, s->src[0], (unsigned)u->arg.i);
        return;
    case OP_VEC_REDUCE: *out = vec_reduce(m, s); return;
    case OP_PARAMS: {
        int64_t no = u->arg.param.slot + lin_good(m, s, s->src[0], 0, "a buffer number")->v.i;
        if (no < 0 || no >= m->nglobal || !m->global[no].b.p)
            lin_bad(m, s, "picks buffer %lld; %u buffers were given", (long long)no, m->nglobal);
        *out = (struct elem){.v = {.i = no}, .bad = FINE};
        return;
    }
    default: break;
    }
}

/* Runs one entry that is not pure; returns the next, or `at`: it must wait. */
static uint32_t run_step(struct machine *m, uint32_t at) {
    struct step *s = &m->step[at], *open;
    switch (s->op) {
    case OP_RANGE:
        m->loop[s->loop] = (struct loop){0, lin_good(m, s, s->src[0], 0, "the size of a loop")->v.i};
        m->v[s->out.at] = (struct elem){.v = {.i = 0}, .bad = FINE};
        return m->loop[s->loop].size > 0 ? at + 1 : s->partner + 1;
    case OP_IF:
        return lin_good(m, s, s->src[0], 0, "the condition of a branch")->v.i ? at + 1 : s->partner + 1;
    case OP_ELSE: return s->partner; /* the end of the first side */
    case OP_END:
        open = &m->step[s->partner];
        if (open->u->op != OP_RANGE || ++m->loop[open->loop].count >= m->loop[open->loop].size) return at + 1;
        m->v[open->out.at].v.i = m->loop[open->loop].count;
        return s->partner + 1;
    case OP_PREFETCH: return at + 1;
    case OP_CP_ASYNC: lin_begin_copy(m, s); return at + 1;
    case OP_CP_ASYNC_COMMIT: m->threads[m->me - 1].groups++; return at + 1;
    case OP_CP_ASYNC_WAIT: lin_wait_copies(m, s->u->arg.i); return at + 1;
    case OP_WGMMA_FENCE:
    case OP_SETMAXNREG:
    case OP_PIN_REG:
    case OP_FENCE_ASYNC: return at + 1;
    case OP_WGMMA_COMMIT: m->threads[m->me - 1].mma_begun++; return at + 1;
    case OP_WGMMA_WAIT: {
        struct thread *t = &m->threads[m->me - 1];
        t->mma_over = (uint32_t)RG_MAX((int64_t)t->mma_begun - s->u->arg.i, (int64_t)t->mma_over);
        return at + 1;
    }
    case OP_STORE:
    case OP_STORE_ADD:
        for (unsigned l = 0; l < s->mem.lanes; l++) store_lane(m, s, l);
        return at + 1;
    case OP_DSMEM_STORE: send(m, s); return at + 1;
    case OP_MMA: lin_cpu_mma(m, s); return at + 1; /* a GPU's is collective: threads.c */
    case OP_SET:
        for (unsigned l = 0; l < s->out.lanes; l++) set_lane(m, s, l);
        return at + 1;
    default:
        if (lin_is_box((enum op)s->u->op)) return lin_box(m, s) ? at + 1 : at;
        run_value(m, s);
        return at + 1;
    }
}

uint32_t lin_run(struct machine *m, uint32_t at, uint32_t end) {
    while (at != end && !m->step[at].stops) {
        m->now = at;
        uint32_t next = at + 1;
        if (m->step[at].pure)
            run_pure(m, &m->step[at]);
        else
            next = run_step(m, at);
        if (next == at) break;
        at = next;
    }
    return at;
}

/* Scratch and accumulators hold nothing at the start of an iteration, whatever the last one left. */
static void clear_block(struct machine *m, uint32_t block) {
    lin_as_block(m, block);
    lin_boxes_begin(m);
    for (uint32_t i = 0; i < m->lin->nlocal; i++) {
        int64_t n = m->scratch[i].n * (m->scratch[i].shadow ? 1 : RG_MAX(m->nthread, 1u));
        for (int64_t k = 0; k < n; k++) m->scratch[i].e[k].bad = NOT_WRITTEN;
        for (int64_t k = 0; k < n && m->scratch[i].shadow; k++) {
            m->scratch[i].shadow[k].flight = m->scratch[i].shadow[k].leaves = false;
            memset(m->scratch[i].shadow[k].held, 0, sizeof m->scratch[i].shadow[k].held);
        }
    }
    for (uint32_t i = 0; i < m->accs.n; i += 2)
        for (uint32_t l = 0; l < m->accs.p[i + 1]; l++) m->v[m->accs.p[i] + l].bad = NOT_SET;
}

/* One iteration, or those of the blocks of a cluster, whose threads are interleaved. */
static void run_iteration(struct machine *m, int64_t t) {
    uint32_t end = m->lin->n, at = 0;
    bool grid = end && m->lin->u[0]->op == OP_RANGE && m->lin->u[0]->arg.range.kind == AX_GRID;
    m->t0 = t, m->began = ++m->barriers;
    for (int i = 0; i < MOST_GROUPS * MOST_GROUPS; i++)
        m->met[i / MOST_GROUPS][i % MOST_GROUPS] = m->barriers;
    for (uint32_t b = 0; b < m->blocks; b++) {
        clear_block(m, b);
        at = 0;
        if (grid) m->v[m->step[at++].out.at] = (struct elem){.v = {.i = m->t}, .bad = FINE};
        at = lin_run(m, at, end - grid);
        if (at < end - grid) lin_begin_threads(m, at, b);
    }
    lin_as_block(m, 0);
    while (at < end - grid) at = is_threads(m, at) ? lin_threads(m, at) : lin_run(m, at, end - grid);
}

struct linear_job {
    struct machine *m;
    const struct ref_buf *bufs;
    int64_t t0, t1;
};

static void run_all(void *arg) {
    struct linear_job *j = arg;
    struct machine *m = j->m;
    if (j->t0 < 0 || j->t1 > m->lin->grid)
        err_throw(m->err, RG_EINVAL, "kernel %s: iterations %lld to %lld asked for, the grid has %lld",
                  m->lin->name, (long long)j->t0, (long long)j->t1, (long long)m->lin->grid);
    m->global = arena_array(m->arena, struct global, m->nglobal + 1);
    for (uint32_t i = 0; i < m->nglobal; i++) m->global[i].b = j->bufs[i];
    resolve(m);
    if (j->t0 % m->blocks || j->t1 % m->blocks)
        err_throw(m->err, RG_EINVAL, "kernel %s: clusters run as a whole, %u iterations at once",
                  m->lin->name, m->blocks);
    for (int64_t t = j->t0; t < j->t1; t += m->blocks) run_iteration(m, t);
}

int ref_linear(struct err *err, const struct linear *lin, const struct ref_buf *bufs, uint32_t nbuf,
               const int64_t *var, int64_t t0, int64_t t1) {
    struct arena arena;
    arena_init(&arena, err);
    struct machine m = {.err = err, .arena = &arena, .lin = lin, .var = var, .nglobal = nbuf};
    struct linear_job linear_job = {&m, bufs, t0, t1};
    int code = err_guard(err, run_all, &linear_job);
    arena_free(&arena);
    return code;
}

double ref_cost(const struct linear *lin) {
    double cost = 0, times = 1, outer[256];
    int depth = 0;
    for (uint32_t i = 0; i < lin->n; i++) {
        const uop *u = lin->u[i];
        if (u->op == OP_RANGE || u->op == OP_IF) {
            if (depth == (int)RG_COUNT(outer)) return 1e300;
            outer[depth++] = times;
            if (u->op == OP_RANGE)
                times *= i == 0 && lin->grid > 1 ? (double)lin->grid : (double)RG_MAX(u->src[0]->hi, 0);
        } else if (u->op == OP_END && depth) {
            times = outer[--depth];
        } else {
            cost += times * RG_MAX(u->lanes, 1);
        }
    }
    return cost;
}
