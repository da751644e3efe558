/* cpu_time.c: predicted seconds of a linear program on a CPU, to rank the candidates of the beam search.
 *
 *   compute   per loop: cycles of the vector units, the load and store ports and the front end, or the longest dependent
 *             chain into one accumulator. Accumulators beyond the registers are spilled. Both branches of an IF count, the
 *             second once per end of a loop. Bodies of many hundred instructions miss the uop cache and spill.
 *   memory    per loop: the bytes of each buffer that one iteration touches. If they fit into a cache, loop-invariant data
 *             stays there and the loop moves each byte once; otherwise it moves what its inner loops move, every time. That
 *             gives the traffic into each cache level.
 * The slowest of compute and cache levels is the time; they overlap imperfectly. DRAM is fastest with four concurrent
 * streams: fewer leave it idle, more defeat the hardware prefetcher, and a buffer read in several passes without software
 * prefetch (PIPE) stalls.
 * Only the order of predictions matters: search measures the best ones. It depends on the program and the model alone.
 * Requires: a linear program. Gives: seconds, or bytes into each cache.
 * Tests: tests/unit/tune.c (predict_*) */
#include "tune/tune.h"

enum { MOST_LOOPS = 512, MOST_DEPTH = 64 };
enum { LINE = 64 };          /* bytes of a cache line */
enum { FAR_STRIDE = 64 };    /* elements: the stride of a non-affine term */
enum { SEPARATE_RUN = 256 }; /* elements between addresses of different streams */
enum { BEST_STREAMS = 4 };   /* concurrent streams at which DRAM is fastest */
enum { DIV_CYCLES = 10, REDUCE_CYCLES = 3, PREDICATED_ELEMENT = 2 }; /* instructions */
/* Only the order of predictions counts: tests/unit/tune.c (predict_*). */
static const struct {
    double index_cost, idle_stream, extra_stream, cache_share, exposed_part, exposed_stalled;
} figure = {
    .index_cost = 0.5,      /* instructions per index op: mostly strength-reduced */
    .idle_stream = 0.1,     /* DRAM time lost per stream below BEST_STREAMS */
    .extra_stream = 0.08,   /* and per stream above */
    .cache_share = 0.75,    /* of a cache that the data of a kernel may fill */
    .exposed_part = 0.2,    /* of the faster parts that is not hidden */
    .exposed_stalled = 0.6, /* likewise, where DRAM stalls */
};

/* One memory access in a loop; equal ones of an unrolled loop are counted together. */
struct touch {
    const uop *buf;
    struct affine at;
    uint32_t loop;   /* the loop that contains it */
    double elements; /* of one execution */
    double bytes;    /* of an element */
    int64_t run[16]; /* first elements of separate streams */
    uint32_t runs;
    bool store;
};

struct body { /* of a loop, without the loops in it */
    const uop *range;
    uint32_t parent, after; /* loops [this, after) are it and those inside it */
    double extent, times;   /* times: iterations of its body in total */
    double vector, load, store, other;
    double chain; /* dependent updates of one accumulator per iteration */
    double accs;  /* registers of accumulators that are updated here */
};

struct predict {
    const struct linear *l;
    const struct model *m;
    struct arena *a;
    struct body *loop; /* in the order of the program; 0 is the whole */
    uint32_t n;
    VEC(struct touch) touch;
    uop_vec sets;       /* accumulators updated in the current loop */
    uop_vec prefetched; /* buffers with a PREFETCH */
    double weight;      /* of the branch that is being counted */
};

/* ---- arithmetic -------------------------------------------------------------------------------------------- */

static double registers(const struct predict *p, const uop *n) {
    double bytes = (double)n->lanes * dtype_info[n->dt].bytes / model_value(p->m, MODEL_VEC_BYTES);
    return bytes <= 1 ? 1 : bytes;
}

/* In instructions of a vector unit. */
static double work_of(const struct predict *p, const uop *n) {
    double r = registers(p, n);
    switch (n->op) {
    case OP_FDIV:
    case OP_RECIP:
    case OP_SQRT: return DIV_CYCLES * r;
    case OP_VEC_REDUCE: return REDUCE_CYCLES * r;
    case OP_BUILD: return n->nsrc;
    case OP_EXTRACT: return n->lanes > 1 ? r : 0; /* one lane: folded into its user */
    default: return r;
    }
}

static bool reads_acc(const uop *n, const uop *acc, int depth) {
    if (n == acc) return true;
    for (uint32_t i = 0; depth && i < n->nsrc; i++)
        if (reads_acc(n->src[i], acc, depth - 1)) return true;
    return false;
}

static void count_set(struct predict *p, struct body *b, const uop *set) {
    if (!reads_acc(set->src[1], set->src[0], 2)) return;
    uint32_t same = 1;
    for (uint32_t i = 0; i < p->sets.n; i++) same += p->sets.p[i] == set->src[0];
    if (p->weight < 1) return;
    if (same == 1) b->accs += registers(p, set->src[0]);
    vec_push(p->a, &p->sets, set->src[0]);
    b->chain = RG_MAX(b->chain, same);
}

static void add_run(struct touch *t, int64_t at) {
    for (uint32_t i = 0; i < t->runs; i++)
        if (at - t->run[i] < SEPARATE_RUN && t->run[i] - at < SEPARATE_RUN) return;
    if (t->runs < RG_COUNT(t->run)) t->run[t->runs++] = at;
}

static void count_memory(struct predict *p, uint32_t loop, const uop *n) {
    const uop *index = n->src[0], *buf = index->src[0];
    struct body *b = &p->loop[loop];
    bool store = n->op == OP_STORE || n->op == OP_STORE_ADD;
    double r = registers(p, index), lanes = index->lanes;
    if (index->src[1]->lanes > 1) r = lanes; /* gather: one by one */
    if (n->op == OP_PRED_LOAD || (store && n->nsrc > 2)) r = PREDICATED_ELEMENT * lanes;
    *(store ? &b->store : &b->load) += r * p->weight;
    if (n->op == OP_STORE_ADD) b->load += r * p->weight;
    if (p->weight < 1) return;
    struct touch t = {.buf = buf,
                      .at = affine_of(p->a, index->src[1]),
                      .loop = loop,
                      .elements = lanes,
                      .bytes = dtype_info[buf->dt].bytes,
                      .store = store};
    for (uint32_t i = p->touch.n; i-- > 0 && p->touch.p[i].loop == loop;)
        if (p->touch.p[i].buf == buf && affine_equal_but_const(&p->touch.p[i].at, &t.at)) {
            if (p->touch.p[i].at.k != t.at.k) p->touch.p[i].elements += lanes;
            add_run(&p->touch.p[i], t.at.k);
            return;
        }
    add_run(&t, t.at.k);
    vec_push(p->a, &p->touch, t);
}

/* Machine instructions that start one per cycle and vector unit, or hold AMX for 16 cycles. */
static void count_mma(struct predict *p, struct body *b, const uop *n) {
    enum { TILE_CYCLES = 16, TILES = 4 };
    bool tiles = mma_has_tiles((enum mma)n->arg.mma.instr);
    if (tiles) {
        double units = RG_MAX(model_value(p->m, MODEL_FMA_UNITS), 1);
        b->vector += TILES * TILE_CYCLES * units * n->arg.mma.rows[MMA_A] * p->weight;
        return;
    }
    b->vector += (n->nsrc - 2) * p->weight;
    if (p->weight < 1) return;
    for (uint32_t i = 0; i + 2 < n->nsrc; i++) {
        uint32_t same = 1;
        for (uint32_t k = 0; k < p->sets.n; k++) same += p->sets.p[k] == n->src[i];
        if (same == 1) b->accs += registers(p, n->src[i]);
        vec_push(p->a, &p->sets, n->src[i]);
        b->chain = RG_MAX(b->chain, same);
    }
}

static void count_node(struct predict *p, uint32_t loop, const uop *n) {
    struct body *b = &p->loop[loop];
    bool memory = n->op == OP_LOAD || n->op == OP_PRED_LOAD || n->op == OP_STORE || n->op == OP_STORE_ADD;
    if (memory)
        count_memory(p, loop, n);
    else if (n->op == OP_SET)
        count_set(p, b, n);
    else if (n->op == OP_MMA)
        count_mma(p, b, n);
    else if (n->op == OP_PREFETCH)
        vec_push(p->a, &p->prefetched, access_buf(n));
    else if (dt_is_float((enum dtype)n->dt) || n->lanes > 1)
        b->vector += work_of(p, n) * p->weight;
    else
        b->other += figure.index_cost * p->weight;
}

static uint32_t open_loop(struct predict *p, uint32_t parent, const uop *range) {
    if (p->n == MOST_LOOPS) return parent;
    p->loop[p->n] = (struct body){.range = range,
                                  .parent = parent,
                                  .extent = (double)range->src[0]->hi,
                                  .times = p->loop[parent].times * (double)range->src[0]->hi * p->weight};
    p->sets.n = 0;
    return p->n++;
}

/* Counts both branches of an IF; loops in the second branch have its weight in `times` already. */
static void count_all(struct predict *p) {
    uint32_t at[MOST_DEPTH] = {0}, depth = 0;
    double weight[MOST_DEPTH] = {1};
    p->weight = 1;
    for (uint32_t i = 0; i < p->l->n; i++) {
        const uop *n = p->l->u[i];
        bool opens = n->op == OP_RANGE || n->op == OP_IF;
        if (opens && depth + 1 < MOST_DEPTH) {
            uint32_t now = n->op == OP_RANGE ? open_loop(p, at[depth], n) : at[depth];
            at[++depth] = now;
            weight[depth] = p->weight;
        } else if (n->op == OP_ELSE) {
            p->weight /= RG_MAX(p->loop[at[depth]].extent, 2);
        } else if (n->op == OP_END) {
            uint32_t closed = at[depth];
            if (depth) p->weight = weight[depth--];
            if (closed != at[depth]) p->loop[closed].after = p->n;
        } else {
            count_node(p, at[depth], n);
        }
    }
    p->loop[0].after = p->n;
}

static double cycles(const struct predict *p) {
    /* per cycle: instructions issued; cycles: loop overhead; instructions of a long body */
    enum { ISSUE = 5, OVERHEAD = 1, LONG_BODY = 160 };
    const struct isa *isa = isa_of_width((int)model_value(p->m, MODEL_VEC_BYTES));
    double units = RG_MAX(model_value(p->m, MODEL_FMA_UNITS), 1), sum = 0;
    double spare = isa->regs - 4; /* 4 for operands */
    for (uint32_t i = 0; i < p->n; i++) {
        const struct body *b = &p->loop[i];
        double spilled = RG_MAX(b->accs - spare, 0), load = b->load + spilled, store = b->store + spilled;
        double c = b->vector / units;
        c = RG_MAX(c, load / isa->loads);
        c = RG_MAX(c, store);
        c = RG_MAX(c, (b->vector + load + store + b->other) / ISSUE);
        c = RG_MAX(c, b->chain * isa->latency);
        double body = b->vector + load + store;
        if (body > LONG_BODY) c *= 1 + RG_MIN((body - LONG_BODY) / LONG_BODY * 0.5, 2);
        sum += (c + (i ? OVERHEAD : 0)) * b->times;
    }
    return sum;
}

/* ---- memory --------------------------------------------------------------------------------------------------- */

static bool mentions(const uop *n, const uop *range, int depth) {
    if (n == range) return true;
    for (uint32_t i = 0; depth && i < n->nsrc; i++)
        if (mentions(n->src[i], range, depth - 1)) return true;
    return false;
}

/* The stride along a range, in elements; a non-affine term counts as FAR_STRIDE. */
static double stride(const struct touch *t, const uop *range) {
    double s = 0;
    for (uint32_t i = 0; i < t->at.n; i++) {
        const uop *atom = t->at.t[i].atom;
        if (atom == range)
            s += (double)RG_MAX(t->at.t[i].coef, -t->at.t[i].coef);
        else if (mentions(atom, range, 6))
            s += FAR_STRIDE;
    }
    return s;
}

/* Bytes, in whole cache lines, that this access touches in `loop` and the loops inside; `all`: in all iterations of `loop`, else
 * in one. */
static double footprint(const struct predict *p, const struct touch *t, uint32_t loop, bool all) {
    double elements = t->elements, least = 1;
    bool dense = t->elements > 1;
    for (uint32_t i = t->loop;; i = p->loop[i].parent) {
        if (i == loop && !all) break;
        double s = i ? stride(t, p->loop[i].range) : 0;
        if (s > 0) {
            least = dense ? RG_MIN(least, s) : s;
            dense = true;
            elements *= p->loop[i].extent;
        }
        if (i == loop) break;
    }
    double bytes = elements * RG_MAX(RG_MIN(least * t->bytes, LINE), t->bytes);
    bytes = RG_MAX(bytes, LINE);
    if (t->buf->op == OP_PARAM) bytes = RG_MIN(bytes, (double)t->buf->src[0]->hi * t->bytes);
    return bytes;
}

/* The footprint of all accesses inside a loop: passes over the same buffer count once. */
static double touched(const struct predict *p, uint32_t loop, bool all, const uop *only) {
    double sum = 0;
    for (uint32_t i = 0; i < p->touch.n; i++) {
        const struct touch *t = &p->touch.p[i];
        bool first = true;
        double most = 0;
        if (t->loop < loop || t->loop >= p->loop[loop].after || (only && t->buf != only)) continue;
        for (uint32_t k = 0; k < i && first; k++)
            first = p->touch.p[k].buf != t->buf || p->touch.p[k].loop < loop;
        if (!first) continue;
        for (uint32_t k = i; k < p->touch.n; k++)
            if (p->touch.p[k].buf == t->buf && p->touch.p[k].loop >= loop &&
                p->touch.p[k].loop < p->loop[loop].after)
                most = RG_MAX(most, footprint(p, &p->touch.p[k], loop, all));
        sum += most;
    }
    return sum;
}

/* Bytes that come into a cache of this size while the loop runs once. */
static double traffic(const struct predict *p, uint32_t loop, double cache) {
    if (touched(p, loop, false, NULL) <= cache) return touched(p, loop, true, NULL);
    double sum = 0;
    bool leaf = true;
    for (uint32_t i = loop + 1; i < p->loop[loop].after; i = p->loop[i].after) {
        sum += traffic(p, i, cache);
        leaf = false;
    }
    for (uint32_t i = 0; i < p->touch.n; i++)
        if (p->touch.p[i].loop == loop)
            sum += leaf ? RG_MAX(p->touch.p[i].elements * p->touch.p[i].bytes, LINE) : LINE;
    return sum * p->loop[loop].extent;
}

static const enum model_field caches[] = {MODEL_L1_SIZE, MODEL_L2_SIZE, MODEL_L3_SIZE};

static bool is_prefetched(const struct predict *p, const uop *buf) {
    for (uint32_t i = 0; i < p->prefetched.n; i++)
        if (p->prefetched.p[i] == buf) return true;
    return false;
}

/* DRAM time relative to its best: by the concurrent streams of each loop that loads from there. */
static double stream_factor(const struct predict *p) {
    double bytes = 0, all = 0, far = model_value(p->m, MODEL_L3_SIZE) / 2;
    for (uint32_t i = 0; i < p->touch.n; i++) {
        const struct touch *t = &p->touch.p[i];
        double runs = 0, n = p->loop[t->loop].times * t->elements * t->bytes;
        if (t->store || t->buf->op != OP_PARAM || (double)t->buf->src[0]->hi * t->bytes < far) continue;
        for (uint32_t k = 0; k < p->touch.n; k++) {
            const struct touch *o = &p->touch.p[k];
            bool load = o->loop == t->loop && !o->store && o->buf->op == OP_PARAM;
            if (load && (double)o->buf->src[0]->hi * o->bytes >= far) runs += RG_MAX(o->runs, 1);
        }
        double worse = runs < BEST_STREAMS ? figure.idle_stream * (BEST_STREAMS - runs)
                                           : figure.extra_stream * (runs - BEST_STREAMS);
        all += n, bytes += n * (is_prefetched(p, t->buf) ? 1 : 1 + worse);
    }
    return all > 0 ? bytes / all : 1;
}

/* Is a buffer that no cache holds read in several passes without prefetch? */
static bool stalls(const struct predict *p) {
    double far = model_value(p->m, MODEL_L3_SIZE) / 8;
    for (uint32_t i = 0; i < p->touch.n; i++) {
        const struct touch *t = &p->touch.p[i];
        if (t->buf->op != OP_PARAM || (double)t->buf->src[0]->hi * t->bytes < far || is_prefetched(p, t->buf))
            continue;
        for (uint32_t k = 0; k < p->touch.n; k++)
            if (p->touch.p[k].buf == t->buf && p->touch.p[k].loop != t->loop) return true;
    }
    return false;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

static void start(struct predict *p) {
    p->n = 1;
    p->loop = arena_array(p->a, struct body, MOST_LOOPS);
    p->loop[0] = (struct body){.extent = 1, .times = 1};
    count_all(p);
}

static double into(const struct predict *p, enum model_field cache) {
    return traffic(p, 0, model_value(p->m, cache) * figure.cache_share);
}

double predict_seconds(struct arena *a, const struct linear *l, const struct model *m, int threads) {
    struct predict p = {.l = l, .m = m, .a = a};
    start(&p);
    double grid = (double)RG_MAX(l->grid, 1), n = RG_MIN(RG_MAX(threads, 1), grid);
    double rounds = (double)(int64_t)((grid + n - 1) / n), balance = rounds * n / grid;
    double rate[] = {model_value(m, MODEL_L2_RATE) * n, model_value(m, MODEL_L3_RATE) * n,
                     RG_MIN(model_value(m, MODEL_DRAM_CORE) * n, model_value(m, MODEL_DRAM_READ))};
    double part[4] = {cycles(&p) / (model_value(m, MODEL_CLOCK) * 1e9 * n)};
    double most = part[0], sum = part[0];
    rate[2] /= stream_factor(&p);
    for (int i = 0; i < 3; i++) {
        part[i + 1] = into(&p, caches[i]) / (rate[i] * 1e9);
        most = RG_MAX(most, part[i + 1]);
        sum += part[i + 1];
    }
    double exposed = stalls(&p) ? figure.exposed_stalled : figure.exposed_part;
    return model_value(m, MODEL_LAUNCH) * 1e-9 + (most + exposed * (sum - most)) * balance;
}

void predict_traffic(struct arena *a, struct linear *l, const struct model *m) {
    struct predict p = {.l = l, .m = m, .a = a};
    struct arena_mark mark = arena_mark(a);
    start(&p);
    for (int i = 0; i < 3; i++) l->est.into[i] = into(&p, caches[i]);
    arena_release(a, mark);
}
