/* rank_match.c: which calls of all ranks are one collective, and how far apart the ranks' clocks are.
 *
 * Calls of one name are matched in their order; where a recording has more of them than another (it began earlier or ended later),
 * the shift with the least spread of the ends is taken. A collective ends everywhere at once: the median difference of ends is the
 * difference of clocks, and how far it can be from that is bounded by who waited for whom. Tests: tests/unit/ranks.c */
#include "analyze/foreign/ranks.h"

#include <stdlib.h>

enum { MOST_SHIFTS = 64, MOST_NAMES = 64 };

static int ascending(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

static int64_t median(int64_t *v, uint32_t n) {
    if (!n) return 0;
    qsort(v, n, sizeof *v, ascending);
    return v[n / 2];
}

/* Indices of a rank's calls of one name. */
static uint32_t calls_of(const struct rank_file *f, uint64_t name, uint32_t *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->calls.n; i++)
        if (f->calls.p[i].name == name) out[n++] = i;
    return n;
}

struct matching {
    struct arena *a;
    struct rank_file *f;
    uint32_t n;
    uint32_t **at; /* by rank: calls of the name looked at */
    uint32_t *count;
    uint32_t matched;
    int64_t *tmp;
};

/* How far the ends of two ranks' calls scatter when those of `r` begin `shift` later. */
static int64_t spread(struct matching *m, uint32_t ref, uint32_t r, uint32_t shift, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        m->tmp[i] = m->f[r].calls.p[m->at[r][i + shift]].t1 - m->f[ref].calls.p[m->at[ref][i]].t1;
    qsort(m->tmp, n, sizeof *m->tmp, ascending);
    return m->tmp[n - 1 - n / 10] - m->tmp[n / 10];
}

static void match_name(struct matching *m, uint64_t name) {
    uint32_t ref = 0;
    for (uint32_t r = 0; r < m->n; r++) {
        m->count[r] = calls_of(&m->f[r], name, m->at[r]);
        if (m->count[r] < m->count[ref]) ref = r;
    }
    uint32_t n = m->count[ref];
    if (!n) return;
    for (uint32_t r = 0; r < m->n; r++) {
        uint32_t best = 0;
        int64_t least = INT64_MAX;
        for (uint32_t s = 0; s <= m->count[r] - n && s < MOST_SHIFTS; s++) {
            int64_t x = spread(m, ref, r, s, n);
            if (x < least) least = x, best = s;
        }
        for (uint32_t i = 0; i < n; i++) m->f[r].matched[m->matched + i] = m->at[r][i + best];
    }
    m->matched += n;
}

/* No rank leaves a collective before the other has come: the difference of clocks lies between begin - end and end - begin of each, and
 * the shortest exchanges tell most. Clocks that drift may leave nothing between: then the error is how far they drifted. */
static void bound_clock(struct matching *m, uint32_t r) {
    struct rank_row *row = &m->f[r].row;
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (uint32_t i = 0; i < m->matched; i++) {
        const struct rank_collective *a = &m->f[0].calls.p[m->f[0].matched[i]],
                                     *b = &m->f[r].calls.p[m->f[r].matched[i]];
        if (!a->needs_all) continue;
        low = RG_MAX(low, b->t0 - a->t1), high = RG_MIN(high, b->t1 - a->t0);
    }
    row->error_ns = -1;
    if (low == INT64_MIN) return;
    if (low <= high) row->offset_ns = RG_MIN(RG_MAX(row->offset_ns, low), high);
    row->error_ns = r ? RG_MAX(llabs(high - row->offset_ns), llabs(row->offset_ns - low)) : 0;
}

static void align_clocks(struct matching *m) {
    for (uint32_t r = 0; r < m->n; r++) {
        for (uint32_t i = 0; i < m->matched; i++)
            m->tmp[i] = m->f[r].calls.p[m->f[r].matched[i]].t1 - m->f[0].calls.p[m->f[0].matched[i]].t1;
        bool same = m->f[r].clock && m->f[r].clock == m->f[0].clock; /* of one host */
        m->f[r].row.offset_ns = same ? 0 : median(m->tmp, m->matched);
        if (!same) bound_clock(m, r);
    }
}

uint32_t ranks_match(struct arena *a, struct rank_file *f, uint32_t n) {
    struct matching m = {.a = a, .f = f, .n = n};
    uint64_t names[MOST_NAMES];
    uint32_t most = 0, known = 0;
    for (uint32_t r = 0; r < n; r++) most = RG_MAX(most, f[r].calls.n);
    m.at = arena_array(a, uint32_t *, n + 1);
    m.count = arena_array(a, uint32_t, n + 1);
    m.tmp = arena_array(a, int64_t, most + 1);
    for (uint32_t r = 0; r < n; r++) {
        m.at[r] = arena_array(a, uint32_t, most + 1);
        f[r].matched = arena_array(a, uint32_t, most + 1);
    }
    for (uint32_t i = 0; i < f[0].calls.n; i++) {
        uint32_t k = 0;
        while (k < known && names[k] != f[0].calls.p[i].name) k++;
        if (k < known || known == MOST_NAMES) continue;
        names[known++] = f[0].calls.p[i].name;
        match_name(&m, names[known - 1]);
    }
    align_clocks(&m);
    return m.matched;
}
