/* search_moves.c: fusion search, local moves from one plan.
 *
 * Three kinds of moves: a flip stores or inlines a node, or two neighbours at once; a join makes one kernel of two; a
 * shift moves an output to another kernel. A flip replaces the kernels that hold or read its nodes: first as they
 * stand, then grouped anew from single kernels if they are few; the better one counts. Only moves near the last change
 * are tried again, and all improving, non-overlapping moves of a round are made, best first. So kernels double in each
 * round on a long chain, and the work is n log n instead of n^2. Of a kernel with very many nodes a sample is tried.
 *
 * try_* looks at prices only; make_move also asks whether the kernel graph stays acyclic, and undoes what did not improve the
 * plan. So every move made lowers the plan's time, and the search ends. Tests: tests/unit/search.c */
#include "search.h"

#include <math.h>
#include <stdlib.h>

#define PARTNERS 8 /* neighbours of one kernel that are tried as partners */
#define REGROUP 8  /* outputs up to which a flip also regroups from single kernels */

/* ---- joining kernels ------------------------------------------------------------------------------- */

static int by_gain(double x, double y) { return (x < y) - (x > y); }

static int pair_order(const void *x, const void *y) {
    const struct kernel_pair *a = x, *b = y;
    int c = by_gain(a->gain, b->gain);
    if (!c) c = (a->first > b->first) - (a->first < b->first);
    return c ? c : (a->second > b->second) - (a->second < b->second);
}

/* Kernels worth trying with `id`: those it reads from or that read it, those that read the same or are read by the
 * same, and the next one. All, where there are few. */
static void partners(struct search_run *r, uint32_t id) {
    struct fusion_search *s = &r->s;
    r->partner.n = 0;
    if (s->n <= SMALL) {
        for (uint32_t i = 0; i < s->kern.n; i++)
            if (s->kern.p[i].k && i != id) vec_push(s->a, &r->partner, i);
        return;
    }
    struct search_kernel *x = &s->kern.p[id];
    walk_ahead(s);
    x->seen = s->fore_epoch;
    for (uint32_t i = 0; i < x->k && r->partner.n < PARTNERS; i++) users(s, x->out[i], &r->partner, PARTNERS);
    uint32_t readers = r->partner.n;
    for (uint32_t i = 0; i < x->nread && r->partner.n < 3 * PARTNERS; i++) {
        uint32_t y = s->kern_of[x->read[i]];
        if (s->kern.p[y].seen != s->fore_epoch) vec_push(s->a, &r->partner, y);
        s->kern.p[y].seen = s->fore_epoch;
        users(s, x->read[i], &r->partner, r->partner.n + 2);
    }
    for (uint32_t i = 0; i < readers; i++) { /* common readers */
        const struct search_kernel *y = &s->kern.p[r->partner.p[i]];
        for (uint32_t k = 0; k < y->nread && r->partner.n < 4 * PARTNERS; k++) {
            uint32_t z = s->kern_of[y->read[k]];
            if (s->kern.p[z].seen == s->fore_epoch) continue;
            s->kern.p[z].seen = s->fore_epoch;
            vec_push(s->a, &r->partner, z);
        }
    }
    cone(s, x->out, x->k);
    for (uint32_t i = 0; i < s->inner.n && r->partner.n < 5 * PARTNERS; i++) { /* common inputs */
        uint32_t u = s->inner.p[i];
        if (s->in.at[u] == s->in.at[u + 1]) users(s, u, &r->partner, r->partner.n + 2);
    }
    for (uint32_t v = x->out[x->k - 1] + 1, tries = 0; v < s->n && tries < WINDOW; v++, tries++)
        if (s->stored[v]) {
            vec_push(s->a, &r->partner, s->kern_of[v]);
            return;
        }
}

/* Adds the bytes of v unless it is marked; marks it. */
static void add_bytes(struct fusion_search *s, uint32_t v, double *sum) {
    if (s->fore[v] != s->fore_epoch) *sum += s->p->bytes[v];
    s->fore[v] = s->fore_epoch;
}

/* Bytes of the values that a kernel reads or stores and that are not marked; marks them. */
static double bytes_of(struct fusion_search *s, const uint32_t *out, uint32_t k) {
    double sum = 0;
    cone(s, out, k);
    for (uint32_t i = 0; i < k; i++) add_bytes(s, out[i], &sum);
    for (uint32_t i = 0; i < s->reads.n; i++) add_bytes(s, s->reads.p[i], &sum);
    for (uint32_t i = 0; i < k + s->inner.n; i++)
        for (const uint32_t *v = s->p->far[i < k ? out[i] : s->inner.p[i - k]]; *v != NONE; v++)
            add_bytes(s, *v, &sum);
    return sum;
}

/* Seconds that the memory of a joined kernel is worth: values of one part are there while those of the other are. */
static double held(struct fusion_search *s, const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb) {
    if (s->p->hold == 0) return 0;
    walk_ahead(s);
    double first = bytes_of(s, a, na), more = bytes_of(s, b, nb); /* more: that the first has not */
    walk_ahead(s);
    double second = bytes_of(s, b, nb), common = second - more;
    return s->p->hold * (fmin(first, second) - common);
}

static double gain_of(struct search_run *r, uint32_t a, uint32_t b) {
    struct fusion_search *s = &r->s;
    const struct search_kernel *x = &s->kern.p[a], *y = &s->kern.p[b];
    double was = x->seconds + y->seconds;
    uint32_t at = r->pool.n;
    vec_need(s->a, &r->pool, x->k + y->k);
    uint32_t k = union_sorted(x->out, x->k, y->out, y->k, r->pool.p + at);
    return was - price(s, r->pool.p + at, k) - held(s, x->out, x->k, y->out, y->k);
}

/* One round of joins: pairs with an untried kernel, best first, each kernel at most once. */
static uint32_t join_round(struct search_run *r, bool any_gain) {
    struct fusion_search *s = &r->s;
    r->pairs.n = 0;
    for (uint32_t id = 0; id < s->kern.n && !spent(s); id++) {
        if (!s->kern.p[id].k || !s->kern.p[id].untried) continue;
        partners(r, id);
        s->kern.p[id].untried = false;
        for (uint32_t i = 0; i < r->partner.n; i++) {
            uint32_t y = r->partner.p[i], x = id;
            if (y == id || (s->kern.p[y].untried && s->n <= SMALL)) continue; /* y's turn comes */
            if (s->separate && s->component[s->kern.p[x].out[0]] != s->component[s->kern.p[y].out[0]])
                continue;
            double gain = gain_of(r, x, y), least = margin(s->kern.p[x].seconds + s->kern.p[y].seconds);
            if (!(gain > (any_gain ? -INFINITY : least))) continue;
            uint32_t a = s->kern.p[x].out[0], b = s->kern.p[y].out[0];
            vec_push(s->a, &r->pairs, ((struct kernel_pair){x, y, RG_MIN(a, b), RG_MAX(a, b), gain}));
        }
    }
    if (r->pairs.n) qsort(r->pairs.p, r->pairs.n, sizeof *r->pairs.p, pair_order);
    uint32_t joined = 0;
    s->round++;
    for (uint32_t i = 0; i < r->pairs.n; i++) {
        struct kernel_pair p = r->pairs.p[i];
        struct search_kernel *x = &s->kern.p[p.a], *y = &s->kern.p[p.b];
        if (x->touched == s->round || y->touched == s->round || !x->k || !y->k) {
            if (x->k && x->touched != s->round)
                x->untried = true; /* again, with the other one's replacement */
            if (y->k && y->touched != s->round) y->untried = true;
            continue;
        }
        if (!can_join(s, p.a, p.b)) continue;
        uint32_t id = join(s, p.a, p.b);
        s->kern.p[id].seconds = price(s, s->kern.p[id].out, s->kern.p[id].k);
        joined++;
    }
    return joined;
}

bool group(struct search_run *r, bool any_gain) {
    bool changed = false;
    if (r->s.p->no_multi) return false;
    while (!spent(&r->s) && join_round(r, any_gain)) changed = true;
    return changed;
}

/* ---- one move: flip nodes and regroup the affected kernels ---------------------------------------- */

static void flip(struct search_run *r, const uint32_t *f, uint32_t nf) {
    for (uint32_t i = 0; i < nf; i++) r->s.stored[f[i]] ^= 1;
}

/* The kernels whose cone changes, in `hit`. False: too many. */
static bool affected(struct search_run *r, const uint32_t *f, uint32_t nf) {
    struct fusion_search *s = &r->s;
    r->hit.n = 0;
    walk_ahead(s);
    for (uint32_t i = 0; i < nf; i++) {
        uint32_t id = s->stored[f[i]] ? s->kern_of[f[i]] : NONE;
        if (id != NONE && s->kern.p[id].seen != s->fore_epoch) {
            s->kern.p[id].seen = s->fore_epoch;
            vec_push(s->a, &r->hit, id);
        }
    }
    for (uint32_t i = 0; i < nf; i++) users(s, f[i], &r->hit, WIDE + 1);
    if (s->live <= REGROUP) /* few kernels: try all as partners */
        for (uint32_t i = 0; i < s->kern.n; i++)
            if (s->kern.p[i].k && s->kern.p[i].seen != s->fore_epoch) vec_push(s->a, &r->hit, i);
    return r->hit.n <= WIDE;
}

static void put_group(struct search_run *r, const uint32_t *out, uint32_t k) {
    struct output_group g = {r->pool.n, 0, 0};
    vec_need(r->s.a, &r->pool, k);
    for (uint32_t i = 0; i < k; i++)
        if (r->s.stored[out[i]]) r->pool.p[r->pool.n++] = out[i];
    g.k = r->pool.n - g.at;
    if (!g.k) return;
    g.seconds = price(&r->s, r->pool.p + g.at, g.k);
    vec_push(r->s.a, &r->grp, g);
}

/* Joins the pair of grp[from..] that gains most, while one does. */
static void join_groups(struct search_run *r, uint32_t from) {
    struct fusion_search *s = &r->s;
    double known[2 * REGROUP][2 * REGROUP];
    uint32_t n = r->grp.n - from;
    if (s->p->no_multi || n > 2 * REGROUP) return;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) known[i][j] = NAN;
    for (;;) {
        uint32_t bi = 0, bj = 0, top = r->pool.n;
        double best = 0;
        for (uint32_t j = 1; j < n; j++)
            for (uint32_t i = 0; i < j; i++) {
                struct output_group *g = &r->grp.p[from + i], *h = &r->grp.p[from + j];
                if (!g->k || !h->k) continue;
                if (s->separate && s->component[r->pool.p[g->at]] != s->component[r->pool.p[h->at]]) continue;
                if (isnan(known[i][j])) {
                    vec_need(s->a, &r->pool, g->k + h->k);
                    uint32_t k =
                        union_sorted(r->pool.p + g->at, g->k, r->pool.p + h->at, h->k, r->pool.p + top);
                    double both = price(s, r->pool.p + top, k), gain = g->seconds + h->seconds - both;
                    gain -= held(s, r->pool.p + g->at, g->k, r->pool.p + h->at, h->k);
                    /* two kernels that are illegal alone may be legal together */
                    known[i][j] =
                        isnan(gain) ? -INFINITY : gain - margin(RG_MIN(both, g->seconds + h->seconds));
                }
                if (known[i][j] > best) best = known[i][j], bi = i, bj = j;
            }
        if (!(best > 0)) break;
        struct output_group *g = &r->grp.p[from + bi], *h = &r->grp.p[from + bj];
        vec_need(s->a, &r->pool, g->k + h->k);
        uint32_t k = union_sorted(r->pool.p + g->at, g->k, r->pool.p + h->at, h->k, r->pool.p + top);
        r->pool.n += k;
        *g = (struct output_group){top, k, price(s, r->pool.p + top, k)};
        h->k = 0;
        for (uint32_t i = 0; i < n; i++)
            known[RG_MIN(i, bi)][RG_MAX(i, bi)] = known[RG_MIN(i, bj)][RG_MAX(i, bj)] = NAN;
    }
    uint32_t keep = from;
    for (uint32_t i = from; i < r->grp.n; i++)
        if (r->grp.p[i].k) r->grp.p[keep++] = r->grp.p[i];
    r->grp.n = keep;
}

static double sum_groups(const struct search_run *r, uint32_t from) {
    double sum = 0;
    for (uint32_t i = from; i < r->grp.n; i++) sum += r->grp.p[i].seconds;
    return sum;
}

/* What the flips would gain. Leaves the state unchanged; grp holds the groups that would replace the kernels in `hit`. */
static double try_move(struct search_run *r, const uint32_t *f, uint32_t nf) {
    struct fusion_search *s = &r->s;
    if (!affected(r, f, nf)) return -INFINITY;
    double was = 0;
    uint32_t outs = 0;
    for (uint32_t i = 0; i < r->hit.n; i++)
        was += s->kern.p[r->hit.p[i]].seconds, outs += s->kern.p[r->hit.p[i]].k;
    flip(r, f, nf);
    r->grp.n = r->pool.n = 0;
    for (uint32_t i = 0; i < r->hit.n; i++) /* the groups as they are */
        put_group(r, s->kern.p[r->hit.p[i]].out, s->kern.p[r->hit.p[i]].k);
    for (uint32_t i = 0; i < nf; i++) put_group(r, &f[i], 1);
    uint32_t kept = r->grp.n;
    join_groups(r, 0);
    double now = sum_groups(r, 0);
    if (s->n <= SMALL && outs <= REGROUP && kept < outs && !s->p->no_multi) { /* and from single kernels */
        kept = r->grp.n;
        for (uint32_t i = 0; i < r->hit.n; i++)
            for (uint32_t k = 0; k < s->kern.p[r->hit.p[i]].k; k++) {
                uint32_t v = s->kern.p[r->hit.p[i]].out[k];
                put_group(r, &v, 1);
            }
        for (uint32_t i = 0; i < nf; i++) put_group(r, &f[i], 1);
        join_groups(r, kept);
        double other = sum_groups(r, kept);
        if (other < now - margin(now)) {
            r->grp.n -= kept;
            memmove(r->grp.p, r->grp.p + kept, r->grp.n * sizeof *r->grp.p);
            now = other;
        } else
            r->grp.n = kept;
    }
    flip(r, f, nf);
    return now < was - margin(was) ? was - now : -INFINITY;
}

/* The gain of moving output `o` to the kernel of output `to`, or to one of its own; hit and grp as above. */
static double try_shift(struct search_run *r, uint32_t o, uint32_t to) {
    struct fusion_search *s = &r->s;
    uint32_t a = s->kern_of[o], b = to == NONE ? NONE : s->kern_of[to];
    if (a == NONE || a == b || s->kern.p[a].k < 2) return -INFINITY;
    const struct search_kernel *x = &s->kern.p[a], *y = b == NONE ? NULL : &s->kern.p[b];
    if (y && s->separate && s->component[o] != s->component[to]) return -INFINITY;
    double was = x->seconds + (y ? y->seconds : 0);
    r->hit.n = r->grp.n = r->pool.n = 0;
    vec_push(s->a, &r->hit, a);
    if (y) vec_push(s->a, &r->hit, b);
    uint32_t k = y ? y->k : 0;
    vec_need(s->a, &r->pool, x->k + k);
    r->pool.n = union_sorted(&o, 1, y ? y->out : NULL, k, r->pool.p);
    vec_push(s->a, &r->grp, ((struct output_group){0, k + 1, price(s, r->pool.p, k + 1)}));
    for (uint32_t i = 0; i < x->k; i++)
        if (x->out[i] != o) r->pool.p[r->pool.n++] = x->out[i];
    vec_push(s->a, &r->grp, ((struct output_group){k + 1, x->k - 1, price(s, r->pool.p + k + 1, x->k - 1)}));
    double now = sum_groups(r, 0);
    return now < was - margin(was) ? was - now : -INFINITY;
}

/* Marks nodes whose moves may pay now that a kernel has changed: its outputs, inner nodes and reads; of a large kernel a
 * sample, contractions, reductions and values with several readers first. */
static void note(struct search_run *r, uint32_t v) {
    if (!is_free(&r->s, v)) return;
    if (!(r->dirty[v] & 1)) vec_push(r->s.a, &r->single, v);
    if (!(r->dirty[v] & 2)) vec_push(r->s.a, &r->two, v);
    r->dirty[v] |= 3;
}

static void note_kernel(struct search_run *r, uint32_t id) {
    struct fusion_search *s = &r->s;
    const struct search_kernel *x = &s->kern.p[id];
    cone(s, x->out, x->k);
    for (uint32_t i = 0; i < x->k; i += 1 + x->k / WINDOW) note(r, x->out[i]);
    for (uint32_t i = 0; i < s->reads.n; i += 1 + s->reads.n / WINDOW) note(r, s->reads.p[i]);
    uint32_t left = WINDOW;
    for (uint32_t i = 0; i < s->inner.n && s->inner.n > WINDOW && left > WINDOW / 2; i++) {
        uint32_t v = s->inner.p[i];
        const uint32_t *use = s->p->use[v];
        if (s->p->hint[v] || (use[0] != NONE && use[1] != NONE)) note(r, v), left--;
    }
    for (uint32_t i = 0; i < s->inner.n; i += 1 + s->inner.n / left) note(r, s->inner.p[i]);
}

/* Replaces the kernels in `hit` by the parts of grp that were one kernel before, then joins the parts of each group as far as
 * the kernel graph stays acyclic; the new kernels are in `partner`. A group with a newly stored node starts as single kernels:
 * its old part may both feed that node and read it. False: the flips close a cycle. */
static bool rebuild(struct search_run *r, const uint32_t *f, uint32_t nf) {
    struct fusion_search *s = &r->s;
    uint32_t *home = s->chain; /* of each output: the kernel it was in */
    for (uint32_t i = 0; i < r->hit.n; i++)
        for (uint32_t k = 0; k < s->kern.p[r->hit.p[i]].k; k++)
            home[s->kern.p[r->hit.p[i]].out[k]] = r->hit.p[i];
    for (uint32_t i = 0; i < r->hit.n; i++) kern_drop(s, r->hit.p[i]);
    for (uint32_t i = 0; i < nf; i++)
        if (!s->stored[f[i]]) home[f[i]] = NONE;
    flip(r, f, nf);
    r->partner.n = 0;
    for (uint32_t g = 0; g < r->grp.n; g++) {
        uint32_t *out = r->pool.p + r->grp.p[g].at, k = r->grp.p[g].k;
        bool alone = false;
        for (uint32_t i = 0; i < k; i++) alone |= home[out[i]] == NONE;
        for (uint32_t i = 0; i < k; i++) {
            if (s->kern_of[out[i]] != NONE) continue;
            uint32_t m = 0;
            for (uint32_t j = i; j < (alone ? i + 1 : k); j++)
                if (home[out[j]] == home[out[i]]) s->merged[m++] = out[j];
            vec_push(s->a, &r->partner, kern_add(s, s->merged, m));
        }
    }
    for (uint32_t i = 0; i < nf; i++) {
        uint32_t v = f[i];
        bool paired = s->pre.at[v] < s->pre.at[v + 1] || s->post.at[v] < s->post.at[v + 1];
        if (s->stored[v] && paired && on_cycle(s, s->kern_of[v])) return false;
    }
    /* a newly stored value may lie between two outputs of a kernel that recomputed it */
    for (uint32_t i = 0; i < r->partner.n; i++)
        if (s->kern.p[r->partner.p[i]].k > 1 && on_cycle(s, r->partner.p[i])) return false;
    for (uint32_t i = 0; i < r->partner.n; i++) settle(s, r->partner.p[i]);
    for (uint32_t g = 0; g < r->grp.n; g++) {
        const uint32_t *out = r->pool.p + r->grp.p[g].at;
        for (bool again = true; again;) {
            again = false;
            for (uint32_t i = 1; i < r->grp.p[g].k; i++) {
                uint32_t a = s->kern_of[out[0]], b = s->kern_of[out[i]];
                if (a != b && can_join(s, a, b)) join(s, a, b), again = true;
            }
        }
    }
    r->partner.n = 0;
    walk_ahead(s);
    for (uint32_t g = 0; g < r->grp.n; g++)
        for (uint32_t i = 0; i < r->grp.p[g].k; i++) {
            uint32_t id = s->kern_of[r->pool.p[r->grp.p[g].at + i]];
            if (s->kern.p[id].seen == s->fore_epoch) continue;
            s->kern.p[id].seen = s->fore_epoch;
            vec_push(s->a, &r->partner, id);
        }
    return true;
}

/* Undoes a rebuild: restores the old groups. */
static void restore(struct search_run *r, const u32_vec *old, const uint32_t *f, uint32_t nf) {
    struct fusion_search *s = &r->s;
    for (uint32_t g = 0; g < r->grp.n; g++)
        for (uint32_t i = 0; i < r->grp.p[g].k; i++) {
            uint32_t id = s->kern_of[r->pool.p[r->grp.p[g].at + i]];
            if (id != NONE) kern_drop(s, id);
        }
    flip(r, f, nf);
    r->partner.n = 0;
    for (uint32_t i = 0; i < old->n; i += 1 + old->p[i])
        vec_push(s->a, &r->partner, kern_add(s, old->p + i + 1, old->p[i]));
    for (uint32_t i = 0; i < r->partner.n; i++) {
        struct search_kernel *x = &s->kern.p[r->partner.p[i]];
        x->touched = 0; /* unchanged: other moves may still be made in this round */
        settle(s, r->partner.p[i]);
        x->seconds = price(s, x->out, x->k);
    }
}

/* Makes the move that try_move found. Returns its real gain, 0 if it was undone. */
static double make_move(struct search_run *r, const uint32_t *f, uint32_t nf) {
    struct fusion_search *s = &r->s;
    double was = 0, now = 0;
    u32_vec *old = &s->old;
    old->n = 0;
    for (uint32_t i = 0; i < r->hit.n; i++) {
        const struct search_kernel *x = &s->kern.p[r->hit.p[i]];
        was += x->seconds;
        vec_push(s->a, old, x->k);
        for (uint32_t k = 0; k < x->k; k++) vec_push(s->a, old, x->out[k]);
    }
    if (!rebuild(r, f, nf)) {
        restore(r, old, f, nf);
        return 0;
    }
    for (uint32_t i = 0; i < r->partner.n; i++) {
        struct search_kernel *x = &s->kern.p[r->partner.p[i]];
        now += x->seconds = price(s, x->out, x->k);
    }
    if (now < was - margin(was)) return was - now;
    restore(r, old, f, nf);
    return 0;
}

/* ---- local search ----------------------------------------------------------------------------------- */

static int move_order(const void *x, const void *y) {
    const struct plan_move *a = x, *b = y;
    int c = by_gain(a->gain, b->gain);
    if (!c) c = (a->f[0] > b->f[0]) - (a->f[0] < b->f[0]);
    return c ? c : (a->f[1] > b->f[1]) - (a->f[1] < b->f[1]);
}

static double attempt(struct search_run *r, const struct plan_move *m) {
    return m->nf ? try_move(r, m->f, m->nf) : try_shift(r, m->f[0], m->f[1]);
}

static void consider(struct search_run *r, uint32_t v, uint32_t u, uint32_t nf) {
    struct plan_move m = {.f = {v, u}, .nf = nf};
    m.gain = attempt(r, &m);
    if (m.gain > 0) vec_push(r->s.a, &r->moves, m);
}

/* Pairs of v with adjacent free nodes: readers, and inputs that are not marked themselves. */
static void consider_pairs(struct search_run *r, uint32_t v) {
    struct fusion_search *s = &r->s;
    uint32_t tries = 0;
    for (const uint32_t *u = s->p->use[v]; *u != NONE && tries < WINDOW; u++)
        if (is_free(s, *u)) consider(r, v, *u, 2), tries++;
    for (uint32_t i = s->in.at[v]; i < s->in.at[v + 1] && tries < 2 * WINDOW; i++) {
        uint32_t u = s->in.of[i];
        if (is_free(s, u) && !(r->dirty[u] & 2)) consider(r, u, v, 2), tries++;
    }
}

/* Moves of each output of a kernel with several: to a kernel of its own, or to a partner. */
static void consider_shifts(struct search_run *r, uint32_t id) {
    struct fusion_search *s = &r->s;
    u32_vec *to = &s->old; /* first outputs of the partners */
    to->n = 0;
    partners(r, id);
    for (uint32_t i = 0; i < r->partner.n && to->n < PARTNERS; i++)
        if (r->partner.p[i] != id) vec_push(s->a, to, s->kern.p[r->partner.p[i]].out[0]);
    for (uint32_t i = 0; i < s->kern.p[id].k && i < WINDOW && !spent(s); i++) {
        uint32_t o = s->kern.p[id].out[i];
        consider(r, o, NONE, 0);
        for (uint32_t k = 0; k < to->n; k++) consider(r, o, to->p[k], 0);
    }
}

static bool touched(struct search_run *r) {
    for (uint32_t i = 0; i < r->hit.n; i++)
        if (r->s.kern.p[r->hit.p[i]].touched == r->s.round) return true;
    return false;
}

/* Makes the moves of the list that still improve, best first; one that overlaps a change of this round is deferred. Returns how
 * many were made. */
static uint32_t make_moves(struct search_run *r) {
    struct fusion_search *s = &r->s;
    uint32_t made = 0;
    if (r->moves.n) qsort(r->moves.p, r->moves.n, sizeof *r->moves.p, move_order);
    s->round++;
    for (uint32_t i = 0; i < r->moves.n; i++) {
        struct plan_move m = r->moves.p[i];
        double gain = attempt(r, &m);
        if (touched(r)) {
            for (uint32_t k = 0; k < m.nf; k++) note(r, m.f[k]);
        } else if (gain > 0 && make_move(r, m.f, m.nf) > 0) {
            made++;
            for (uint32_t k = 0; k < r->partner.n; k++) note_kernel(r, r->partner.p[k]);
        }
    }
    return made;
}

int ascending(const void *x, const void *y) {
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* One round of flips of marked nodes: single ones, or adjacent pairs. */
static uint32_t flip_round(struct search_run *r, bool pairs) {
    struct fusion_search *s = &r->s;
    u32_vec *list = pairs ? &r->two : &r->single;
    uint8_t bit = pairs ? 2 : 1;
    r->moves.n = 0;
    if (list->n) qsort(list->p, list->n, sizeof *list->p, ascending);
    for (uint32_t i = 0; i < list->n && !spent(s); i++)
        if (pairs)
            consider_pairs(r, list->p[i]);
        else
            consider(r, list->p[i], NONE, 1);
    for (uint32_t i = 0; i < list->n; i++) r->dirty[list->p[i]] &= (uint8_t)~bit;
    list->n = 0;
    return make_moves(r);
}

/* One round of shifts, from the kernels made since the last one. */
static uint32_t shift_round(struct search_run *r) {
    struct fusion_search *s = &r->s;
    r->moves.n = 0;
    for (uint32_t id = 0; id < s->kern.n && !spent(s); id++) {
        if (s->kern.p[id].k > 1 && !s->kern.p[id].shifted) consider_shifts(r, id);
        s->kern.p[id].shifted = true;
    }
    return make_moves(r);
}

/* Stored values of which the only reader is smaller, a sum that is rounded, say: the reader is stored instead. First of all moves:
 * they are few, and a large region may have none left for pairs. */
static uint32_t narrow_round(struct search_run *r) {
    struct fusion_search *s = &r->s;
    r->moves.n = 0;
    for (uint32_t v = 0; v < s->n && !spent(s); v++) {
        uint32_t u = s->p->use[v][0];
        if (!s->stored[v] || !is_free(s, v) || u == NONE || s->p->use[v][1] != NONE) continue;
        if (is_free(s, u) && !s->stored[u] && s->p->bytes[u] < s->p->bytes[v]) consider(r, v, u, 2);
    }
    return make_moves(r);
}

static void note_all(struct search_run *r) {
    r->single.n = r->two.n = 0;
    memset(r->dirty, 0, r->s.n);
    for (uint32_t i = 0; i < r->s.kern.n; i++)
        if (r->s.kern.p[i].k) note_kernel(r, i);
}

void local(struct search_run *r) {
    note_all(r);
    while (!spent(&r->s)) {
        if (narrow_round(r)) continue;
        if (flip_round(r, false)) continue;
        uint32_t round = r->s.round;
        if (group(r, false)) {
            for (uint32_t i = 0; i < r->s.kern.n; i++)
                if (r->s.kern.p[i].k && r->s.kern.p[i].touched >= round) note_kernel(r, i);
            continue;
        }
        if (!shift_round(r) && !flip_round(r, true)) break;
    }
}
