/* rewrite.c: the driver of the rule sets that tools/rulegen.c compiles.
 *
 * Invariant that makes a pass linear: memo[id] is a node that is normal, no rule of the set applies at it
 * or below it. Right sides are built with rw_new and its kin, which intern and then normalise, so what a
 * rule makes is normal at birth; there is no "repeat until nothing changes", and every distinct node is
 * matched at most once per pass. memo is dense by node id: four bytes a node, no hashing.
 *
 * Walks keep their own stack: graphs are deeper than any C stack. Recursion happens only through rules
 * that build with rules, and its depth is limited; a set that does not terminate ends in an error that
 * names the cycle, by depth (rules that build each other) or by fuel (rules that return each other).
 *
 * Lanes: scalars broadcast, so a rule may give a scalar for a vector of equal lanes. Two ops read the
 * width of a source instead of its lanes, INDEX (a scalar index with lanes > 1 means consecutive elements)
 * and VEC_REDUCE (how many lanes are combined); their rebuilt source is spelled out as a BUILD.
 *
 * Threads: an rw belongs to one thread; only the hit counters and RULE_MAX's are shared, relaxed.
 * Tests: tests/unit/rewrite.c; speed: bench/rewrite.c */
#include "ir.h"

#include <stdatomic.h>

enum { DEPTH_MAX = 200, RECENT = 32 };

struct rw_frame {
    const uop *n;   /* the node asked for */
    const uop *now; /* rw_pre: what rules made of it; else n */
    uint32_t next;  /* source to look at */
    bool changed;
};

/* Weak: a program that links src/ir without the generated tables has no rules. */
extern const struct rule_table rules_table __attribute__((weak));
static const struct rule_table no_rules;
static _Atomic uint64_t total_fired; /* counted only while RULE_MAX is set */

uint64_t rule_hits(unsigned rule) {
    if (!&rules_table || rule >= rules_table.n) return 0;
    return atomic_load_explicit(&rules_table.hits[rule], memory_order_relaxed);
}

const uop *rules_none(struct rw *rw, const uop *n) {
    (void)rw, (void)n;
    return NULL;
}

/* ---- switches: RULE_OFF, RULE_MAX, RULE_TRACE ------------------------------------------------------- */

static bool listed(const char *list, const char *name) {
    size_t n = strlen(name);
    for (const char *s = list; *s;) {
        size_t k = strcspn(s, ",");
        if (k == n && !memcmp(s, name, n)) return true;
        s += k + (s[k] == ',');
    }
    return false;
}

static void read_switches(struct rw *rw) {
    const char *off = env_str(ENV_RULE_OFF);
    rw->fast = env_int(ENV_FASTMATH) != 0;
    rw->careful = env_int(ENV_RULE_MAX) >= 0 || env_int(ENV_RULE_TRACE) > 0;
    if (!off || !*off || !rw->table->n) return;
    uint8_t *bits = arena_array(rw->arena, uint8_t, rw->table->n);
    for (unsigned i = 0; i < rw->table->n; i++) bits[i] = listed(off, rw->table->info[i].name);
    rw->off = bits;
    rw->careful = true;
}

void rw_init(struct rw *rw, struct ir *ir, rw_fn fn, void *cx) {
    *rw = (struct rw){.ir = ir, .fn = fn, .cx = cx, .arena = ir->arena, .fuel = 10000};
    rw->table = &rules_table ? &rules_table : &no_rules;
    read_switches(rw);
}

bool rw_allowed(struct rw *rw, unsigned rule) {
    if (rw->off && rule < rw->table->n && rw->off[rule]) return false;
    int64_t max = env_int(ENV_RULE_MAX);
    return max < 0 || atomic_load_explicit(&total_fired, memory_order_relaxed) < (uint64_t)max;
}

static void trace(struct rw *rw, unsigned rule, const uop *before, const uop *after) {
    struct arena_mark mark = arena_mark(rw->arena);
    struct str s;
    str_init(&s, rw->arena);
    str_printf(&s, "rule %s: ", rw->table->info[rule].name);
    ir_print_node(&s, rw->ir, before, 3);
    str_add(&s, "  =>  ");
    ir_print_node(&s, rw->ir, after, 3);
    fprintf(stderr, "%s\n", s.p);
    arena_release(rw->arena, mark);
}

/* ---- termination -------------------------------------------------------------------------------------- */

static const char *recent_rule(const struct rw *rw, uint32_t back) {
    unsigned r = rw->last[(rw->tried - 1 - back) % RECENT];
    return r < rw->table->n ? rw->table->info[r].name : "?";
}

/* Shortest period of the last rules, or 0. */
static uint32_t cycle_length(const struct rw *rw) {
    for (uint32_t p = 1; p <= RECENT / 2; p++) {
        bool same = true;
        for (uint32_t i = 0; i + p < RECENT && same; i++)
            same = rw->last[(rw->tried - 1 - i) % RECENT] == rw->last[(rw->tried - 1 - i - p) % RECENT];
        if (same) return p;
    }
    return 0;
}

RG_NORETURN static void no_end(struct rw *rw, const char *why) {
    char names[1200];
    size_t n = 0;
    uint32_t p = rw->tried >= RECENT ? cycle_length(rw) : 0;
    uint32_t show = p ? p + 1 : RG_MIN(rw->tried, RECENT);
    names[0] = 0;
    for (uint32_t i = show; i-- > 0 && n < sizeof names - 100;)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", recent_rule(rw, i), i ? " -> " : "");
    err_throw(
        rw->ir->err, RG_EINTERNAL,
        "rewrite does not terminate (%s): %s%s; trace it with RIDGE_RULE_TRACE=1, switch a rule off with "
        "RIDGE_RULE_OFF=%s",
        why, names, p ? " ..." : "", rw->tried ? recent_rule(rw, 0) : "");
}

void rw_hit(struct rw *rw, unsigned rule, const uop *before, const uop *after) {
    rw->fired++;
    if (rule < rw->table->n) atomic_fetch_add_explicit(&rw->table->hits[rule], 1, memory_order_relaxed);
    if (rw->fuel == 0) no_end(rw, "too many firings");
    rw->fuel--;
    if (!rw->careful) return;
    if (env_int(ENV_RULE_MAX) >= 0) atomic_fetch_add_explicit(&total_fired, 1, memory_order_relaxed);
    if (env_int(ENV_RULE_TRACE) > 0 && rule < rw->table->n) trace(rw, rule, before, after);
}

static void refuel(struct rw *rw) {
    if (rw->depth == 0) rw->fuel = 64 * (uint64_t)rw->ir->n + 10000;
}

/* ---- memo and normal forms ------------------------------------------------------------------------------ */

static void memo_grow(struct rw *rw, uint32_t id) {
    uint32_t cap = RG_MAX(RG_MAX(id + 1, rw->ir->n + rw->ir->n / 4 + 64), rw->memo_cap * 2);
    uint32_t *memo = arena_array(rw->arena, uint32_t, cap);
    if (rw->memo_cap) memcpy(memo, rw->memo, sizeof *memo * rw->memo_cap);
    rw->memo = memo;
    rw->memo_cap = cap;
}

static inline uint32_t memo_get(const struct rw *rw, const uop *n) {
    return n->id < rw->memo_cap ? rw->memo[n->id] : 0;
}

static inline void memo_set(struct rw *rw, const uop *n, const uop *to) {
    if (n->id >= rw->memo_cap) memo_grow(rw, n->id);
    rw->memo[n->id] = to->id + 1;
}

/* The normal form of a node whose sources are normal. */
static const uop *norm(struct rw *rw, const uop *n) {
    uint32_t known = memo_get(rw, n);
    if (known) return rw->ir->node[known - 1];
    refuel(rw);
    if (++rw->depth > DEPTH_MAX) no_end(rw, "rules build each other without end");
    const uop *m = n;
    for (;;) {
        const uop *t = rw->fn(rw, m);
        if (!t || t == m) {
            memo_set(rw, m, m);
            break;
        }
        known = memo_get(rw, t);
        if (known) {
            m = rw->ir->node[known - 1];
            break;
        }
        /* Made by other means than rw_*: its sources need not be normal. */
        bool whole = true;
        for (uint32_t i = 0; i < t->nsrc && whole; i++) whole = memo_get(rw, t->src[i]) == t->src[i]->id + 1;
        if (!whole) {
            m = rw_post(rw, t);
            break;
        }
        m = t;
    }
    memo_set(rw, n, m);
    rw->depth--;
    return m;
}

static const uop *born(struct rw *rw, const uop *n) { return rw->pre ? n : norm(rw, n); }

/* ---- constructors ------------------------------------------------------------------------------------------ */

const uop *rw_new(struct rw *rw, enum op op, enum dtype dt, unsigned lanes, const uop *const *src,
                  uint32_t nsrc, union arg arg) {
    return born(rw, uop_new(rw->ir, op, dt, lanes, src, nsrc, arg));
}

const uop *rw_mk(struct rw *rw, enum op op, const uop *const *src, uint32_t nsrc, union arg arg) {
    return born(rw, uop_mk(rw->ir, op, src, nsrc, arg));
}

const uop *rw1(struct rw *rw, enum op op, const uop *a) { return born(rw, uop1(rw->ir, op, a)); }

const uop *rw2(struct rw *rw, enum op op, const uop *a, const uop *b) {
    return born(rw, uop2(rw->ir, op, a, b));
}

const uop *rw3(struct rw *rw, enum op op, const uop *a, const uop *b, const uop *c) {
    return born(rw, uop3(rw->ir, op, a, b, c));
}

/* Normal as everything that is built, but never the scalar again. */
static const uop *spread(struct rw *rw, const uop *x, unsigned lanes) {
    const uop *copy[UINT8_MAX];
    if (x->op == OP_INVALID) return x; /* whatever its width */
    for (unsigned i = 0; i < lanes; i++) copy[i] = x;
    const uop *b = uop_new(rw->ir, OP_BUILD, (enum dtype)x->dt, lanes, copy, lanes, ARG_NONE),
              *n = born(rw, b);
    return n->lanes == lanes ? n : b;
}

static const uop *rebuild(struct rw *rw, const uop *n, const uop *const *src) {
    int wide = n->op == OP_INDEX ? 1 : n->op == OP_VEC_REDUCE ? 0 : -1;
    if (wide >= 0 && n->src[wide]->lanes > 1 && src[wide]->lanes == 1) {
        const uop *s[2] = {src[0], n->nsrc > 1 ? src[1] : NULL};
        s[wide] = spread(rw, src[wide], n->src[wide]->lanes);
        return uop_with(rw->ir, n, s);
    }
    return uop_with(rw->ir, n, src);
}

const uop *rw_with(struct rw *rw, const uop *n, const uop *const *src) {
    return born(rw, rebuild(rw, n, src));
}

const uop *rw_stop(struct rw *rw, const uop *n) {
    rw->stop = true;
    return n;
}

/* ---- walks --------------------------------------------------------------------------------------------------- */

static void push(struct rw *rw, const uop *n, const uop *now) {
    vec_push(rw->arena, &rw->stack, ((struct rw_frame){.n = n, .now = now}));
}

static const uop **src_space(struct rw *rw, uint32_t n) {
    rw->src.n = 0;
    vec_need(rw->arena, &rw->src, n + 1);
    return rw->src.p;
}

/* n with its sources replaced by their memo. */
static const uop *with_memo(struct rw *rw, const uop *n) {
    const uop **src = src_space(rw, n->nsrc);
    for (uint32_t i = 0; i < n->nsrc; i++) src[i] = rw->ir->node[memo_get(rw, n->src[i]) - 1];
    return rebuild(rw, n, src);
}

/* Moves a frame on to the first source without a memo; NULL when all have one. */
static const uop *next_source(struct rw *rw, struct rw_frame *f) {
    const uop *n = f->now;
    for (; f->next < n->nsrc; f->next++) {
        const uop *s = n->src[f->next];
        uint32_t known = memo_get(rw, s);
        if (!known) return s;
        f->changed |= known != s->id + 1;
    }
    return NULL;
}

const uop *rw_post(struct rw *rw, const uop *root) {
    if (memo_get(rw, root)) return rw->ir->node[memo_get(rw, root) - 1];
    refuel(rw);
    if (root->id >= rw->memo_cap) memo_grow(rw, rw->ir->n);
    uint32_t base = rw->stack.n;
    push(rw, root, root);
    while (rw->stack.n > base) {
        struct rw_frame *f = &rw->stack.p[rw->stack.n - 1];
        const uop *s = next_source(rw, f);
        if (s) {
            push(rw, s, s);
            continue;
        }
        const uop *n = f->n;
        const uop *m = f->changed ? with_memo(rw, n) : n;
        m = norm(rw, m);
        if (m != n) memo_set(rw, n, m);
        rw->stack.n--;
    }
    return rw->ir->node[memo_get(rw, root) - 1];
}

/* Applies rules to n until none does. */
static const uop *settle(struct rw *rw, const uop *n) {
    rw->stop = false;
    while (!rw->stop) {
        const uop *t = rw->fn(rw, n);
        if (!t || t == n) break;
        n = t;
    }
    return n;
}

const uop *rw_pre(struct rw *rw, const uop *root) {
    if (memo_get(rw, root)) return rw->ir->node[memo_get(rw, root) - 1];
    refuel(rw);
    rw->pre = true;
    uint32_t base = rw->stack.n;
    push(rw, root, NULL);
    while (rw->stack.n > base) {
        struct rw_frame *f = &rw->stack.p[rw->stack.n - 1];
        if (!f->now) {
            const uop *now = settle(rw, f->n); /* may move the stack */
            f = &rw->stack.p[rw->stack.n - 1];
            f->now = now;
            if (rw->stop) f->next = now->nsrc;
        }
        const uop *s = next_source(rw, f);
        if (s) {
            push(rw, s, NULL);
            continue;
        }
        const uop *m = f->changed ? with_memo(rw, f->now) : f->now;
        memo_set(rw, f->n, m);
        memo_set(rw, m, m);
        rw->stack.n--;
    }
    rw->pre = false;
    return rw->ir->node[memo_get(rw, root) - 1];
}

/* ---- substitution: memo of its own, normalisation shared ---------------------------------------------------- */

static const uop *seen_get(const struct rw *rw, uint32_t epoch, const uop *n) {
    uint64_t e = rw->seen[n->id];
    return e >> 32 == epoch && (uint32_t)e ? rw->ir->node[(uint32_t)e - 1] : NULL;
}

static void seen_set(struct rw *rw, uint32_t epoch, const uop *n, const uop *to) {
    rw->seen[n->id] = (uint64_t)epoch << 32 | (to->id + 1);
}

static uint32_t seen_begin(struct rw *rw, const uop *root) {
    if (root->id >= rw->seen_cap) {
        uint32_t cap = RG_MAX(rw->ir->n + rw->ir->n / 4 + 64, rw->seen_cap * 2);
        rw->seen = arena_array(rw->arena, uint64_t, cap);
        rw->seen_cap = cap;
        rw->epoch = 0;
    }
    return ++rw->epoch;
}

/* The replaced source, or NULL when it is not known yet. Nodes older than every `from` cannot hold one. */
static const uop *subst_of(struct rw *rw, uint32_t epoch, const uop *s, uint32_t oldest) {
    return s->id < oldest ? s : seen_get(rw, epoch, s);
}

const uop *rw_subst(struct rw *rw, const uop *root, const uop *const *from, const uop *const *to,
                    uint32_t n) {
    uint32_t oldest = UINT32_MAX;
    for (uint32_t i = 0; i < n; i++) oldest = RG_MIN(oldest, from[i]->id);
    if (root->id < oldest) return root;
    refuel(rw);
    uint32_t epoch = seen_begin(rw, root);
    for (uint32_t i = 0; i < n; i++)
        if (from[i]->id <= root->id) seen_set(rw, epoch, from[i], to[i]);
    uint32_t base = rw->stack.n;
    if (!seen_get(rw, epoch, root)) push(rw, root, root);
    while (rw->stack.n > base) {
        struct rw_frame *f = &rw->stack.p[rw->stack.n - 1];
        const uop *m = f->n, *s = NULL;
        for (; f->next < m->nsrc; f->next++) {
            s = m->src[f->next];
            const uop *t = subst_of(rw, epoch, s, oldest);
            if (!t) break;
            f->changed |= t != s;
        }
        if (f->next < m->nsrc) {
            push(rw, s, s);
            continue;
        }
        const uop *r = m;
        if (f->changed) {
            const uop **src = src_space(rw, m->nsrc);
            for (uint32_t i = 0; i < m->nsrc; i++) src[i] = subst_of(rw, epoch, m->src[i], oldest);
            r = norm(rw, rebuild(rw, m, src));
        }
        seen_set(rw, epoch, m, r);
        rw->stack.n--;
    }
    return seen_get(rw, epoch, root);
}
