/* search.c: the fusion search: which values are stored and which stores share a kernel, on numbers only.
 *
 * Seeds: every node stored; only what must be; that with the contractions, also the values with several readers, also
 * the reductions; a minimum cut by bytes. Each is repaired until its kernels are legal and improved by local search
 * (search_moves.c). Connected components between forced values are taken each from its cheapest seed.
 * A region with few free nodes is then enumerated, as far as the budget of evaluations goes: all stored sets, those
 * near the best plan first, and all partitions of each.
 *
 * The answer is never worse than the two plain plans, because both are among the candidates. Budgets count
 * evaluations and nodes walked, ties go to the lower index, nothing looks at an address or a clock: equal problems get
 * equal plans. Bookkeeping: search_state.c. Tests: tests/unit/search.c */
#include "search.h"

#include <math.h>
#include <stdlib.h>

#define EXACT_FREE 8      /* free nodes of a region that is enumerated */
#define EXACT_OUTS 12     /* nodes that can be stored, in such a region */
#define EXACT_EVALS 100   /* evaluations for that */
#define EVALS_MIN 400     /* evaluations, plus EVALS_PER_NODE per node */
#define TINY 12           /* nodes: local search from every seed, not only from the best of them */
#define MIDDLE 512        /* nodes: local search also from the values with several readers */
#define LARGE 5000        /* nodes: local search gets one evaluation for each */
#define HUGE_REGION 20000 /* nodes: two seeds, and one evaluation per node each */
#define EVALS_PER_NODE 6
#define EVALS_THOROUGH 24 /* .. of a small program, which plans in no time */
#define PIECE_NODES 128   /* of a large region that is cut before it is repaired */
#define WORK_PER_EVAL 200 /* nodes walked */
#define FAR_LARGER 4      /* times the bytes of an output or of what it reads */

enum seed_kind { SEED_FORCED, SEED_CONTRACTIONS, SEED_SHARED, SEED_REDUCTIONS, SEED_ALL, SEED_CUT, SEEDS };

/* ---- candidates for the answer --------------------------------------------------------------------- */

static void offer(struct search_run *r, const uint8_t *stored, const uint32_t *group, double seconds) {
    uint32_t n = r->s.n, at = 0, last = r->nbest;
    if (!(seconds < INFINITY)) return;
    for (uint32_t i = 0; i < r->nbest; i++)
        if (!memcmp(r->best[i].stored, stored, n)) last = i;
    if (last < r->nbest && r->best[last].seconds <= seconds) return;
    while (at < last && r->best[at].seconds <= seconds) at++;
    if (at == r->keep) return;
    last = RG_MIN(last, r->keep - 1);
    if (last == r->nbest) r->nbest++;
    struct fusion_candidate p = r->best[last];
    memmove(r->best + at + 1, r->best + at, (last - at) * sizeof p);
    p.seconds = seconds;
    memcpy(p.stored, stored, n);
    memcpy(p.group, group, n * sizeof *group);
    r->best[at] = p;
}

static void offer_current(struct search_run *r) { offer(r, r->s.stored, r->s.kern_of, plan_seconds(&r->s)); }

/* ---- seeds ------------------------------------------------------------------------------------------- */

static uint32_t statements_of(const struct fusion_search *s, uint32_t v) {
    return s->p->statements ? s->p->statements[v] : 1;
}

/* The node that halves a large cone: of the free nodes in its middle quarter, by statements, the smallest. NONE: nothing is free. */
static uint32_t middle_store(struct fusion_search *s) {
    u32_vec *open = &s->todo;
    uint64_t all = 0, sum = 0;
    uint32_t best = NONE;
    open->n = 0;
    for (uint32_t i = 0; i < s->inner.n; i++)
        if (is_free(s, s->inner.p[i])) vec_push(s->a, open, s->inner.p[i]);
    qsort(open->p, open->n, sizeof *open->p, ascending);
    for (uint32_t i = 0; i < open->n; i++) all += statements_of(s, open->p[i]);
    for (uint32_t i = 0; i < open->n; i++) {
        uint32_t v = open->p[i];
        sum += statements_of(s, v);
        bool middle = 8 * sum >= 3 * all && 8 * sum <= 5 * all;
        if (best == NONE ? 8 * sum >= 3 * all : middle && s->p->bytes[v] < s->p->bytes[best]) best = v;
    }
    return best;
}

/* Is the last cone too large for a kernel, whatever it computes? */
static bool is_large_cone(const struct fusion_search *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->inner.n; i++) sum += statements_of(s, s->inner.p[i]);
    return s->inner.n > 4 * WINDOW || (s->p->most_statements && sum > s->p->most_statements);
}

/* The node to store next in the last cone, which is illegal: a contraction, else a reduction, else a value with several
 * readers, the one nearest to output `out`, or the smallest of them if that is far larger than what the kernel moves anyway; in a
 * large cone the middle one. NONE: nothing is free. */
static uint32_t pick_store(struct fusion_search *s, uint32_t out) {
    uint32_t best = NONE, least = NONE, rank = 0;
    double moved = s->p->bytes[out];
    if (is_large_cone(s)) return middle_store(s);
    for (uint32_t i = 0; i < s->reads.n; i++) moved = RG_MAX(moved, s->p->bytes[s->reads.p[i]]);
    for (uint32_t i = 0; i < s->inner.n; i++) {
        uint32_t v = s->inner.p[i], hint = s->p->hint[v];
        const uint32_t *use = s->p->use[v];
        if (!is_free(s, v)) continue;
        uint32_t k = hint == 1 ? 4 : hint == 2 ? 3 : use[0] != NONE && use[1] != NONE ? 2 : 1;
        if (k > rank) best = least = v, rank = k;
        if (k < rank) continue;
        if (v > best) best = v;
        if (s->p->bytes[v] < s->p->bytes[least]) least = v;
    }
    return best != NONE && s->p->bytes[best] > FAR_LARGER * moved ? least : best;
}

/* Stores more until each stored node alone is a legal kernel. False: it cannot be. */
static bool repair(struct search_run *r) {
    struct fusion_search *s = &r->s;
    u32_vec *list = &r->hit; /* nodes to look at */
    list->n = 0;
    for (uint32_t v = 0; v < s->n; v++)
        if (s->stored[v]) vec_push(s->a, list, v);
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t v = list->p[i];
        if (price(s, &v, 1) < INFINITY) continue;
        uint32_t u = pick_store(s, v);
        if (u == NONE) return false;
        s->stored[u] = 1;
        vec_push(s->a, list, u);
        vec_push(s->a, list, v);
        walk_ahead(s);
        s->ahead.n = 0;
        vec_push(s->a, &s->ahead, u);
        while (s->ahead.n) { /* other kernels that recomputed u have changed too */
            uint32_t x = s->ahead.p[--s->ahead.n];
            for (const uint32_t *w = s->p->use[x]; *w != NONE; w++) {
                if (s->fore[*w] == s->fore_epoch) continue;
                s->fore[*w] = s->fore_epoch;
                if (!s->stored[*w])
                    vec_push(s->a, &s->ahead, *w);
                else if (*w != v)
                    vec_push(s->a, list, *w);
            }
        }
    }
    return true;
}

static void load_alone(struct search_run *r) { plan_load(&r->s, r->s.stored, NULL); }

/* A large region is cut into pieces that fit a kernel before it is repaired: halving what no kernel could hold, again and again,
 * would walk all of it each time. */
static void cut_large(struct fusion_search *s) {
    uint64_t sum = 0;
    if (s->n <= LARGE || !s->p->most_statements) return;
    for (uint32_t v = 0; v < s->n; v++) {
        sum += statements_of(s, v) + s->p->most_statements / PIECE_NODES;
        if (s->stored[v]) sum = 0;
        if (sum < s->p->most_statements || !is_free(s, v)) continue;
        s->stored[v] = 1;
        sum = 0;
    }
}

static bool seed(struct search_run *r, enum seed_kind kind) {
    struct fusion_search *s = &r->s;
    if (kind == SEED_CUT && !cut_seed(s, r->want)) return false;
    for (uint32_t v = 0; v < s->n; v++) {
        const uint32_t *use = s->p->use[v];
        bool want = false, anchor = s->p->hint[v] == 1;
        switch (kind) {
        case SEED_FORCED: break;
        case SEED_CONTRACTIONS: want = anchor; break;
        case SEED_SHARED: want = anchor || (use[0] != NONE && use[1] != NONE); break;
        case SEED_REDUCTIONS: want = anchor || s->p->hint[v] == 2; break;
        case SEED_ALL: want = true; break;
        default: want = r->want[v];
        }
        s->stored[v] = s->p->forced[v] == 1 || (want && is_free(s, v));
    }
    cut_large(s);
    return repair(r);
}

/* What a seed costs in each connected component of the region, by its first node. */
static double *piece_costs(struct fusion_search *s) {
    double *cost = arena_array(s->a, double, s->n);
    for (uint32_t v = 0; v < s->n; v++)
        if (s->stored[v] && s->kern.p[s->kern_of[v]].out[0] == v)
            cost[s->component[v]] += s->kern.p[s->kern_of[v]].seconds;
    return cost;
}

static bool is_huge(const struct fusion_search *s) { return s->n > HUGE_REGION || s->p->brief; }

static uint32_t evals_per_node(const struct fusion_search *s) {
    return is_huge(s) ? 1 : s->p->thorough && s->n <= LARGE ? EVALS_THOROUGH : EVALS_PER_NODE;
}

static void allow(struct search_run *r, uint64_t base, uint64_t per_node) {
    r->s.max_evals = r->s.evals + base + per_node * r->s.n;
    r->s.max_work = r->s.work + (base + per_node * r->s.n) * WORK_PER_EVAL;
}

/* Grows a plan from each seed; the result takes each component from its cheapest plan. */
static void from_seeds(struct search_run *r) {
    struct fusion_search *s = &r->s;
    struct fusion_candidate plan[SEEDS] = {0};
    double *cost[SEEDS] = {0};
    uint8_t *start_set[SEEDS];
    uint32_t n = 0, shared = NONE;
    s->separate = true;
    bool huge = is_huge(s);
    for (uint32_t kind = 0; kind < SEEDS; kind++) {
        if (huge && kind != SEED_SHARED && kind != SEED_REDUCTIONS) continue;
        if (!seed(r, kind)) continue;
        uint8_t *stored = arena_raw(s->a, s->n);
        memcpy(stored, s->stored, s->n);
        bool known = false;
        for (uint32_t i = 0; i < n; i++) known |= !memcmp(start_set[i], stored, s->n);
        if (known) continue;
        start_set[n] = stored;
        load_alone(r);
        allow(r, EVALS_MIN / SEEDS, huge ? 1 : EVALS_PER_NODE / 3);
        group(r, false);
        if (s->n <= TINY) local(r);
        plan[n] = (struct fusion_candidate){arena_raw(s->a, s->n), arena_array(s->a, uint32_t, s->n),
                                            plan_seconds(s)};
        memcpy(plan[n].stored, s->stored, s->n);
        memcpy(plan[n].group, s->kern_of, s->n * sizeof *s->kern_of);
        if (kind == SEED_SHARED) shared = n;
        cost[n++] = piece_costs(s);
        offer_current(r);
    }
    s->separate = false;
    if (!n) return;
    uint8_t *stored = arena_array(s->a, uint8_t, s->n);
    uint32_t *groups = arena_array(s->a, uint32_t, s->n), *pick = arena_array(s->a, uint32_t, s->n);
    for (uint32_t v = 0; v < s->n; v++) {
        uint32_t p = s->component[v];
        if (p == v)
            for (uint32_t i = 1; i < n; i++)
                if (cost[i][v] < cost[pick[v]][v]) pick[v] = i;
        stored[v] = plan[pick[p]].stored[v];
    }
    /* groups stay within a component, so their first output names them */
    uint32_t *first = arena_array(s->a, uint32_t, (size_t)s->n * n);
    for (uint32_t v = 0; v < s->n; v++) {
        if (!stored[v]) continue;
        uint32_t i = pick[s->component[v]], *f = &first[(size_t)i * s->n + plan[i].group[v]];
        if (!*f) *f = v + 1;
        groups[v] = *f - 1;
    }
    if (!plan_load(s, stored, groups)) { /* groups of different components cross: take one seed as a whole */
        uint32_t least = 0;
        for (uint32_t i = 1; i < n; i++)
            if (plan[i].seconds < plan[least].seconds) least = i;
        plan_load(s, plan[least].stored, plan[least].group);
    }
    allow(r, EVALS_MIN, evals_per_node(s));
    group(r, false);
    if (s->n > LARGE) allow(r, EVALS_MIN, 1); /* kernels are large, and each evaluation builds one */
    local(r);
    offer_current(r);
    /* The price of memory is one of moves: plans of two searches cannot be compared by it. */
    if (s->n <= TINY || s->n > MIDDLE || huge || shared == NONE || s->p->hold > 0) return;
    if (!plan_load(s, plan[shared].stored, plan[shared].group)) return;
    allow(r, EVALS_MIN, evals_per_node(s));
    local(r);
    offer_current(r);
}

/* ---- few free nodes: exhaustive ------------------------------------------------------------------------ */

struct exact {
    struct search_run *r;
    uint32_t out[EXACT_OUTS], m;  /* stored nodes */
    uint32_t mask[EXACT_OUTS];    /* groups chosen so far, as sets of positions in out */
    uint32_t best[EXACT_OUTS], n; /* the best partition */
    double seconds;               /* and what it takes */
    uint32_t bound;               /* plans must be better than the bound-th best; 0: any */
};

static uint32_t outs_of(const struct exact *x, uint32_t mask, uint32_t *out) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < x->m; i++)
        if (mask >> i & 1) out[k++] = x->out[i];
    return k;
}

/* Do the n groups have a topological order? */
static bool is_acyclic(struct exact *x, uint32_t n) {
    struct fusion_search *s = &x->r->s;
    uint32_t after[EXACT_OUTS], out[EXACT_OUTS], gone = 0; /* after[g]: groups that g must follow */
    for (uint32_t g = 0; g < n; g++) {
        uint32_t k = outs_of(x, x->mask[g], out), need = 0;
        cone(s, out, k);
        for (uint32_t i = 0; i < x->m; i++) {
            for (uint32_t j = 0; j < s->reads.n; j++) need |= (uint32_t)(s->reads.p[j] == x->out[i]) << i;
            for (uint32_t o = 0; o < k; o++)
                for (uint32_t j = s->pre.at[out[o]]; j < s->pre.at[out[o] + 1]; j++)
                    need |= (uint32_t)(s->pre.of[j] == x->out[i]) << i;
        }
        after[g] = 0;
        for (uint32_t h = 0; h < n; h++)
            if (h != g && (x->mask[h] & need)) after[g] |= 1u << h;
    }
    for (bool found = true; found;) {
        found = false;
        for (uint32_t g = 0; g < n; g++)
            if (!(gone >> g & 1) && !(after[g] & ~gone)) gone |= 1u << g, found = true;
    }
    return gone == (1u << n) - 1;
}

/* All partitions of the outputs in `left`: the group of the first one is any set that holds it. */
static void partitions(struct exact *x, uint32_t left, uint32_t n, double sum) {
    struct fusion_search *s = &x->r->s;
    if (!left) {
        if (!is_acyclic(x, n)) return;
        x->seconds = sum, x->n = n;
        memcpy(x->best, x->mask, sizeof x->mask);
        return;
    }
    uint32_t low = left & -left, rest = left ^ low, sub = 0, out[EXACT_OUTS];
    do {
        if (spent(s)) return;
        x->mask[n] = low | sub;
        uint32_t k = outs_of(x, low | sub, out);
        double p = price(s, out, k);
        if (sum + p < x->seconds - margin(x->seconds)) partitions(x, rest ^ sub, n + 1, sum + p);
        sub = (sub - rest) & rest;
    } while (sub && !s->p->no_multi);
}

static void enumerate_plan(struct exact *x) {
    struct search_run *r = x->r;
    struct fusion_search *s = &r->s;
    x->m = x->n = 0;
    for (uint32_t v = 0; v < s->n; v++)
        if (s->stored[v]) x->out[x->m++] = v;
    x->seconds = x->bound ? r->best[x->bound - 1].seconds : INFINITY;
    partitions(x, (1u << x->m) - 1, 0, 0);
    if (!x->n) return;
    for (uint32_t g = 0; g < x->n; g++)
        for (uint32_t i = 0; i < x->m; i++)
            if (x->best[g] >> i & 1) r->numbers[x->out[i]] = g;
    offer(r, s->stored, r->numbers, x->seconds);
}

/* Every set of stored nodes, those nearest to the best plan first, since the budget may end it. */
static void exact(struct search_run *r, bool runners_up) {
    struct fusion_search *s = &r->s;
    uint32_t node[EXACT_FREE], nfree = 0, outs = 0;
    for (uint32_t v = 0; v < s->n; v++) {
        if (s->p->forced[v] == 2) continue;
        if (++outs > EXACT_OUTS) return;
        if (!is_free(s, v)) continue;
        if (nfree == EXACT_FREE) return;
        node[nfree++] = v;
    }
    if (!r->nbest) return;
    allow(r, EXACT_EVALS, 0);
    memcpy(r->want, r->best[0].stored, s->n);
    struct exact x = {.r = r};
    for (uint32_t distance = 0; distance <= nfree; distance++)
        for (uint32_t set = 0; set < 1u << nfree && !spent(s); set++) {
            if ((uint32_t)__builtin_popcount(set) != distance) continue;
            x.bound = !runners_up ? 1 : r->nbest == r->keep ? r->keep : 0;
            memcpy(s->stored, r->want, s->n);
            for (uint32_t i = 0; i < nfree; i++)
                if (set >> i & 1) s->stored[node[i]] ^= 1;
            enumerate_plan(&x);
        }
}

/* ---- the answer --------------------------------------------------------------------------------------- */

static double store_all(struct search_run *r) {
    for (uint32_t v = 0; v < r->s.n; v++) r->s.stored[v] = r->s.p->forced[v] != 2;
    load_alone(r);
    offer_current(r);
    return plan_seconds(&r->s);
}

static double fuse_all(struct search_run *r) {
    if (!seed(r, SEED_FORCED)) return INFINITY;
    load_alone(r);
    allow(r, EVALS_MIN, is_huge(&r->s) ? 1 : EVALS_PER_NODE / 3);
    group(r, true);
    offer_current(r);
    return plan_seconds(&r->s);
}

/* More runners-up: the best plan with one node flipped. */
static void more_plans(struct search_run *r) {
    struct fusion_search *s = &r->s;
    if (!r->nbest || r->nbest == r->keep || is_huge(s)) return;
    memcpy(r->want, r->best[0].stored, s->n);
    for (uint32_t v = 0, tries = 0; v < s->n && r->nbest < r->keep && tries < WIDE; v++) {
        if (!is_free(s, v)) continue;
        memcpy(s->stored, r->want, s->n);
        s->stored[v] ^= 1;
        tries++;
        if (!repair(r)) continue;
        load_alone(r);
        allow(r, EVALS_MIN / SEEDS, 1);
        group(r, false);
        offer_current(r);
    }
}

struct search_job {
    struct arena scratch;
    struct err *err;
    const struct plan_problem *p;
    struct plan_result *out;
    enum plan_mode mode;
    uint32_t keep, got;
};

static void run_init(struct search_run *r, struct search_job *j) {
    struct arena *a = &j->scratch;
    uint32_t n = j->p->n;
    search_init(&r->s, a, j->err, j->p);
    r->keep = j->keep;
    r->best = arena_array(a, struct fusion_candidate, j->keep);
    for (uint32_t i = 0; i < j->keep; i++) {
        r->best[i].stored = arena_array(a, uint8_t, n);
        r->best[i].group = arena_array(a, uint32_t, n);
    }
    r->dirty = arena_array(a, uint8_t, n);
    r->want = arena_array(a, uint8_t, n);
    r->numbers = arena_array(a, uint32_t, n);
}

/* Kernels are numbered by their first output. */
static void answer(struct search_run *r, const struct fusion_candidate *p, struct plan_result *out) {
    uint32_t n = r->s.n, *number = r->numbers; /* of each group of p */
    out->seconds = p->seconds;
    memcpy(out->stored, p->stored, n);
    for (uint32_t v = 0; v < n; v++) number[v] = NONE;
    for (uint32_t v = 0; v < n; v++) {
        out->kernel[v] = NONE;
        if (!p->stored[v]) continue;
        if (number[p->group[v]] == NONE) number[p->group[v]] = out->kernels++;
        out->kernel[v] = number[p->group[v]];
    }
}

static void run_job(void *arg) {
    struct search_job *j = arg;
    struct search_run *r = arena_new(&j->scratch, struct search_run);
    double baseline[2] = {INFINITY, INFINITY};
    run_init(r, j);
    if (j->mode != PLAN_FUSE_ALL) baseline[0] = store_all(r);
    if (j->mode != PLAN_STORE_ALL) baseline[1] = fuse_all(r);
    if (j->mode == PLAN_COST) {
        from_seeds(r);
        exact(r, false); /* first without runners-up: the best plan does not depend on their number */
        if (r->keep > 1) exact(r, true);
        more_plans(r);
    }
    for (uint32_t i = 0; i < r->nbest; i++) {
        answer(r, &r->best[i], &j->out[i]);
        j->out[i].store_all = baseline[0], j->out[i].fuse_all = baseline[1];
        j->out[i].evaluations = r->s.evals;
    }
    j->got = r->nbest;
}

/* The scratch arena is freed on errors too; they propagate to the caller's guard, if there is one. */
static uint32_t start(struct arena *a, struct err *e, const struct plan_problem *p, struct plan_result *out,
                      uint32_t keep, enum plan_mode mode) {
    struct search_job j = {.err = e, .p = p, .out = out, .mode = mode, .keep = keep};
    for (uint32_t i = 0; i < keep; i++) {
        out[i] = (struct plan_result){0};
        out[i].stored = arena_array(a, uint8_t, p->n);
        out[i].kernel = arena_array(a, uint32_t, p->n);
    }
    arena_init(&j.scratch, e);
    int code = keep ? err_guard(e, run_job, &j) : 0;
    arena_free(&j.scratch);
    if (code && e->guard) err_throw(e, code, "the planner failed");
    return code ? 0 : j.got;
}

uint32_t plan_search(struct arena *a, struct err *e, const struct plan_problem *p, struct plan_result *out,
                     uint32_t keep) {
    return start(a, e, p, out, keep, PLAN_COST);
}

bool plan_store_all(struct arena *a, struct err *e, const struct plan_problem *p, struct plan_result *out) {
    return start(a, e, p, out, 1, PLAN_STORE_ALL) == 1;
}

bool plan_fuse_all(struct arena *a, struct err *e, const struct plan_problem *p, struct plan_result *out) {
    return start(a, e, p, out, 1, PLAN_FUSE_ALL) == 1;
}
