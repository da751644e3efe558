/* cpu_time.c: how long a linear program will take, for ranking the configurations that search may try.
 *
 * Two things are counted on the program as it will be compiled. Arithmetic: of the statements of each loop, what the
 * vector units, the load and store ports and the front end need, or the longest chain of additions into one
 * accumulator if that is longer; an accumulator that finds no register is loaded and stored each time. Memory: of each
 * loop, how many bytes of each buffer one iteration touches. If that fits into a cache, what does not change from one
 * iteration to the next stays there, and the loop moves each byte of a buffer once; if not, it moves what its
 * inner loops move, as often as it runs. So each cache has a traffic, and the slowest of all parts is the time.
 * Of a condition both sides count, the second as often as a loop comes to its end. A body of many hundred instructions
 * is slower than its instructions: they come from further away, and values find no register. Memory is fastest where four
 * runs go on side by side; fewer leave it idle, more are not followed, and what is read in several passes without being
 * asked for early (PIPE) is waited for.
 * Only the order of predictions matters: search measures the best ones. It depends on the program and the model alone.
 * Tests: tests/unit/tune.c (predict_*) */
#include "tune/tune.h"

enum { MOST_LOOPS = 512, MOST_DEPTH = 64 };

/* One place in a loop where memory is touched; equal ones of a written-out loop are counted together. */
struct touch {
    const uop *buf;
    struct affine at;
    uint32_t loop;   /* that it stands in */
    double elements; /* of one execution */
    double bytes;    /* of an element */
    int64_t run[16]; /* where runs begin, as far as they are far apart */
    uint32_t runs;
    bool store;
};

struct body { /* of a loop, without the loops in it */
    const uop *range;
    uint32_t parent, after; /* loops [this, after) are it and those inside it */
    double extent, times;   /* times: that its body runs, in all */
    double vector, load, store, other;
    double chain; /* additions to one accumulator in one iteration */
    double accs;  /* registers of accumulators that are added to here */
};

struct predict {
    const struct linear *l;
    const struct model *m;
    struct arena *a;
    struct body *loop; /* in the order of the program; 0 is the whole */
    uint32_t n;
    VEC(struct touch) touch;
    uop_vec sets;  /* accumulators added to in the loop at hand */
    uop_vec early; /* buffers that are asked for early */
    double weight; /* of the side of a condition that is counted */
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
    case OP_SQRT: return 10 * r;
    case OP_VEC_REDUCE: return 3 * r;
    case OP_BUILD: return n->nsrc;
    case OP_EXTRACT: return n->lanes > 1 ? r : 0; /* one lane is an operand of the instruction that uses it */
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
    enum { APART = 256 }; /* elements: not the same run */
    for (uint32_t i = 0; i < t->runs; i++)
        if (at - t->run[i] < APART && t->run[i] - at < APART) return;
    if (t->runs < RG_COUNT(t->run)) t->run[t->runs++] = at;
}

static void count_memory(struct predict *p, uint32_t loop, const uop *n) {
    enum { GATED = 2 };
    const uop *index = n->src[0], *buf = index->src[0];
    struct body *b = &p->loop[loop];
    bool store = n->op == OP_STORE || n->op == OP_STORE_ADD;
    double r = registers(p, index), lanes = index->lanes;
    if (index->src[1]->lanes > 1) r = lanes;                                /* one by one */
    if (n->op == OP_PRED_LOAD || (store && n->nsrc > 2)) r = GATED * lanes; /* and each is asked for */
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

static void count_node(struct predict *p, uint32_t loop, const uop *n) {
    struct body *b = &p->loop[loop];
    bool memory = n->op == OP_LOAD || n->op == OP_PRED_LOAD || n->op == OP_STORE || n->op == OP_STORE_ADD;
    if (memory)
        count_memory(p, loop, n);
    else if (n->op == OP_SET)
        count_set(p, b, n);
    else if (n->op == OP_PREFETCH)
        vec_push(p->a, &p->early, access_buf(n));
    else if (dt_is_float((enum dtype)n->dt) || n->lanes > 1)
        b->vector += work_of(p, n) * p->weight;
    else
        b->other += 0.5 * p->weight; /* indices: mostly kept up to date by a single addition */
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

/* Both sides of a condition; loops in the second side have its weight in their count already. */
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
    enum { ISSUE = 5, LATENCY = 4, LOADS = 2, OVERHEAD = 1, LONG_BODY = 160 };
    double units = RG_MAX(model_value(p->m, MODEL_FMA_UNITS), 1), sum = 0;
    double spare = (model_value(p->m, MODEL_VEC_BYTES) == 32 ? 16 : 32) - 4; /* for what is added */
    for (uint32_t i = 0; i < p->n; i++) {
        const struct body *b = &p->loop[i];
        double spilled = RG_MAX(b->accs - spare, 0), load = b->load + spilled, store = b->store + spilled;
        double c = b->vector / units;
        c = RG_MAX(c, load / LOADS);
        c = RG_MAX(c, store);
        c = RG_MAX(c, (b->vector + load + store + b->other) / ISSUE);
        c = RG_MAX(c, b->chain * LATENCY);
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

/* Elements that the address moves with the range; a term that is no multiple of it moves it far. */
static double stride(const struct touch *t, const uop *range) {
    double s = 0;
    for (uint32_t i = 0; i < t->at.n; i++) {
        const uop *atom = t->at.t[i].atom;
        if (atom == range)
            s += (double)RG_MAX(t->at.t[i].coef, -t->at.t[i].coef);
        else if (mentions(atom, range, 6))
            s += 64;
    }
    return s;
}

/* Bytes of the buffer, in whole lines, that the loops from `loop` on inwards touch at this place; `all`: in all
 * iterations of that loop, else in one. */
static double footprint(const struct predict *p, const struct touch *t, uint32_t loop, bool all) {
    enum { LINE = 64 };
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

/* The places inside a loop, one buffer at a time: passes over the same elements touch them once. */
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
            sum += leaf ? RG_MAX(p->touch.p[i].elements * p->touch.p[i].bytes, 64) : 64;
    return sum * p->loop[loop].extent;
}

static const enum model_field caches[] = {MODEL_L1_SIZE, MODEL_L2_SIZE, MODEL_L3_SIZE};

static bool is_early(const struct predict *p, const uop *buf) {
    for (uint32_t i = 0; i < p->early.n; i++)
        if (p->early.p[i] == buf) return true;
    return false;
}

/* How much longer memory takes than at its best: by the runs of a loop that go on at once, of what is loaded from there. */
static double idle_memory(const struct predict *p) {
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
        double worse = runs < 4 ? 0.1 * (4 - runs) : 0.08 * (runs - 4);
        all += n, bytes += n * (is_early(p, t->buf) ? 1 : 1 + worse);
    }
    return all > 0 ? bytes / all : 1;
}

/* Is a buffer that no cache holds read in several passes, and not asked for early? */
static bool waits(const struct predict *p) {
    double far = model_value(p->m, MODEL_L3_SIZE) / 8;
    for (uint32_t i = 0; i < p->touch.n; i++) {
        const struct touch *t = &p->touch.p[i];
        if (t->buf->op != OP_PARAM || (double)t->buf->src[0]->hi * t->bytes < far || is_early(p, t->buf))
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
    return traffic(p, 0, model_value(p->m, cache) * 0.75); /* it holds other things too */
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
    rate[2] /= idle_memory(&p);
    for (int i = 0; i < 3; i++) {
        part[i + 1] = into(&p, caches[i]) / (rate[i] * 1e9);
        most = RG_MAX(most, part[i + 1]);
        sum += part[i + 1];
    }
    /* Parts overlap, but not wholly. */
    double apart = waits(&p) ? 0.6 : 0.2;
    return model_value(m, MODEL_LAUNCH) * 1e-9 + (most + apart * (sum - most)) * balance;
}

void predict_traffic(struct arena *a, struct linear *l, const struct model *m) {
    struct predict p = {.l = l, .m = m, .a = a};
    struct arena_mark mark = arena_mark(a);
    start(&p);
    for (int i = 0; i < 3; i++) l->est.into[i] = into(&p, caches[i]);
    arena_release(a, mark);
}
