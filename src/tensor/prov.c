/* prov.c: provenance: the user's calls, with source lines, that a node came from.
 *
 * A side table by node id, never part of a node's identity: the same expression written on two lines is one node with
 * two sites. Sites and sets of sites are interned, so a node costs eight bytes and sets compare by number.
 * Nodes outlive what asked for them: a step finds the index grid that the initialisation of weights made. Those sites
 * end with the program that ran since: the first call to ask again replaces them.
 * Tests: tests/unit/tensor.c */
#include "tensor/internal.h"

void prov_init(struct prov *p, struct arena *a) {
    *p = (struct prov){.arena = a};
    map_init(&p->site_map, a);
    map_init(&p->set_map, a);
    vec_push(a, &p->site, ((struct site){.file = "", .fn = "?"}));
    vec_push(a, &p->set, arena_array(a, uint32_t, 1));
}

static const char *intern(struct prov *p, const char *s) {
    return s ? arena_strdup(p->arena, s, strlen(s)) : NULL;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static uint64_t text_hash(const char *s, uint64_t seed) { return s ? hash_bytes(s, strlen(s), seed) : seed; }

uint32_t prov_site(struct prov *p, const char *file, int line, const char *fn, const char *module,
                   uint8_t part) {
    uint64_t h = text_hash(file, 1), at;
    h = text_hash(fn, h), h = text_hash(module, h), h = hash_u64(h ^ (uint64_t)line << 2 ^ part);
    for (; map_get(&p->site_map, h, &at); h = hash_u64(h + 1)) {
        const struct site *s = &p->site.p[at];
        if (s->line == line && s->part == part && same_text(s->file, file) && same_text(s->fn, fn) &&
            same_text(s->module, module))
            return (uint32_t)at;
    }
    struct site s = {.file = intern(p, file),
                     .fn = intern(p, fn),
                     .module = intern(p, module),
                     .line = line,
                     .part = part};
    vec_push(p->arena, &p->site, s);
    map_put(&p->site_map, h, p->site.n - 1);
    return p->site.n - 1;
}

/* The number of the set of these sites, which are sorted and distinct. */
static uint32_t set_of(struct prov *p, const uint32_t *site, uint32_t n) {
    if (!n) return 0;
    uint64_t h = hash_bytes(site, n * sizeof *site, n), at;
    for (; map_get(&p->set_map, h, &at); h = hash_u64(h + 1)) {
        const uint32_t *old = p->set.p[at];
        if (old[0] == n && !memcmp(old + 1, site, n * sizeof *site)) return (uint32_t)at;
    }
    uint32_t *s = arena_array(p->arena, uint32_t, n + 1);
    s[0] = n;
    memcpy(s + 1, site, n * sizeof *site);
    vec_push(p->arena, &p->set, s);
    map_put(&p->set_map, h, p->set.n - 1);
    return p->set.n - 1;
}

static uint32_t set_of_one(struct prov *p, uint32_t site) {
    uint32_t set = p->site.p[site].alone;
    return set ? set : (p->site.p[site].alone = set_of(p, &site, 1));
}

uint32_t prov_union(struct prov *p, uint32_t a, uint32_t b) {
    if (a == b || !b) return a;
    if (!a) return b;
    const uint32_t *x = p->set.p[a], *y = p->set.p[b];
    uint32_t small[64], n = 0, i = 1, j = 1; /* most sets are small: no memory for a union that is known */
    uint32_t *out = x[0] + y[0] <= RG_COUNT(small) ? small : arena_array(p->arena, uint32_t, x[0] + y[0]);
    while (i <= x[0] || j <= y[0]) {
        uint32_t u = i <= x[0] ? x[i] : UINT32_MAX, v = j <= y[0] ? y[j] : UINT32_MAX;
        out[n++] = RG_MIN(u, v);
        i += u <= v, j += v <= u;
    }
    return set_of(p, out, n);
}

static struct prov_node *row_of(struct prov *p, uint32_t node) {
    if (node >= p->of.n) {
        vec_need(p->arena, &p->of, node + 1 - p->of.n);
        memset(p->of.p + p->of.n, 0, (node + 1 - p->of.n) * sizeof *p->of.p);
        p->of.n = node + 1;
    }
    return &p->of.p[node];
}

static void put(struct prov *p, uint32_t node, uint32_t set) {
    struct prov_node *x = row_of(p, node);
    *x = (struct prov_node){prov_union(p, x->set, set), p->epoch};
}

static void replace(struct prov *p, uint32_t node, uint32_t set) {
    struct prov_node *x = row_of(p, node);
    if (!x->set || x->epoch != p->epoch) *x = (struct prov_node){set, p->epoch};
}

void prov_add(struct prov *p, uint32_t node, uint32_t site) {
    if (site && site < p->site.n) put(p, node, set_of_one(p, site));
}

void prov_again(struct prov *p, uint32_t node, uint32_t site) {
    if (site && site < p->site.n) replace(p, node, set_of_one(p, site));
}

void prov_copy(struct prov *p, uint32_t to, uint32_t from) {
    if (from >= p->of.n || !p->of.p[from].set) return;
    struct prov_node *x = row_of(p, to);
    if (!x->set) *x = p->of.p[from];
}

bool prov_is_new(const struct prov *p, uint32_t node) {
    return node < p->of.n && p->of.p[node].set && p->of.p[node].epoch == p->epoch;
}

uint32_t prov_set_of(const struct prov *p, uint32_t node) { return node < p->of.n ? p->of.p[node].set : 0; }

static uint32_t backward_set(struct prov *p, uint32_t set) {
    uint32_t out = 0, n = p->set.p[set][0];
    for (uint32_t i = 1; i <= n; i++) {
        struct site s = p->site.p[p->set.p[set][i]];
        uint32_t b = prov_site(p, s.file, s.line, s.fn, s.module, s.part | SITE_BACKWARD);
        out = prov_union(p, out, set_of_one(p, b));
    }
    return out;
}

void prov_inherit(struct prov *p, uint32_t first, uint32_t last, uint32_t from, bool backward) {
    uint32_t set = prov_set_of(p, from);
    if (!set || first >= last) return;
    if (backward) set = backward_set(p, set);
    for (uint32_t id = first; id < last; id++) put(p, id, set);
}

void prov_inherit_again(struct prov *p, const uint32_t *node, uint32_t n, uint32_t from, bool backward) {
    uint32_t set = prov_set_of(p, from);
    if (!set || !n) return;
    if (backward) set = backward_set(p, set);
    for (uint32_t i = 0; i < n; i++) replace(p, node[i], set);
}

static void print_site(struct str *out, const struct site *s) {
    if (s->module) str_printf(out, " %s", s->module);
    if (s->file && *s->file) {
        const char *base = strrchr(s->file, '/');
        str_printf(out, " %s:%d", base ? base + 1 : s->file, s->line);
    }
    if (s->part & SITE_BACKWARD) str_add(out, " (backward)");
}

/* Neighbours at one source line are named together: "softmax, gelu model.c:31". */
static bool same_site(const struct site *a, const struct site *b) {
    return a->line == b->line && a->part == b->part && same_text(a->file, b->file) &&
           same_text(a->module, b->module);
}

void prov_print(struct str *out, const struct prov *p, uint32_t set, int max) {
    if (!set || set >= p->set.n) return;
    const uint32_t *s = p->set.p[set];
    for (uint32_t i = 1; i <= s[0]; i++) {
        const struct site *now = &p->site.p[s[i]], *next = i < s[0] ? &p->site.p[s[i + 1]] : NULL;
        if (i > 1) str_add(out, ", ");
        if (i > (uint32_t)RG_MAX(max, 0)) {
            str_add(out, "..");
            return;
        }
        str_add(out, now->fn ? now->fn : "?");
        if (!next || i == (uint32_t)RG_MAX(max, 0) || !same_site(now, next)) print_site(out, now);
    }
}
