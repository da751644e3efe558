/* search.h: what the files of the fusion search share; internal to src/schedule. The public part is in schedule.h.
 * Not to be confused with the beam search over opt lists (tune/search/search.c).
 *
 *   search.c          seeds, exact enumeration, the answer
 *   search_moves.c    local search: flips, joins, shifts
 *   search_state.c    one plan and its bookkeeping: cones, prices, the graph of kernels
 *   search_cut.c      the seed that a minimum cut gives */
#ifndef RIDGE_SCHEDULE_SEARCH_H
#define RIDGE_SCHEDULE_SEARCH_H

#include "schedule.h"

#define NONE UINT32_MAX
#define SMALL 128   /* nodes: up to here all pairs of kernels are tried */
#define WINDOW 32   /* nodes of one large kernel that are tried */
#define WIDE 64     /* kernels that one move may change */
#define MARGIN 1e-9 /* relative: smaller gains are rounding noise */

typedef VEC(uint32_t) u32_vec;

struct search_kernel { /* k == 0: a free slot */
    uint32_t *out, *read;
    uint32_t k, nread;
    uint32_t cap;     /* allocated elements of out */
    uint32_t level;   /* greater than that of each kernel that must run before it */
    uint32_t seen;    /* epoch of the last walk that met it */
    uint32_t touched; /* round that made it */
    bool untried;     /* its neighbours have not been tried as partners yet */
    bool shifted;     /* moving its outputs elsewhere has been tried */
    double seconds;
};

struct price_memo {
    uint64_t check;
    double seconds;
};
struct csr { /* lists of nodes: of[at[v]] .. of[at[v + 1]] */
    uint32_t *at, *of;
};

struct fusion_search {
    struct arena *a; /* scratch, freed at the end */
    struct err *err;
    const struct plan_problem *p;
    uint32_t n;
    struct csr in, pre, post; /* inputs; `before` pairs seen from their second and first node */
    uint32_t *pos;            /* a topological order of uses and `before` together */
    uint32_t *component; /* connected components of the region without its forced values, by first node */

    /* the plan */
    uint8_t *stored;
    uint32_t *kern_of; /* [n]: NONE if not stored */
    VEC(struct search_kernel) kern;
    u32_vec slots; /* free ones */
    uint32_t live; /* kernels */
    bool separate; /* kernels of different components are not fused */

    /* prices seen: hash -> index of the check word and the price */
    struct map memo;
    VEC(struct price_memo) prices;
    uint64_t evals, work; /* calls of cost, nodes walked */
    uint64_t max_evals, max_work;

    /* scratch of walks: a mark equals the epoch of the walk that set it */
    uint32_t *mark, *member, *fore, *back, epoch, fore_epoch, round;
    u32_vec inner, reads, todo, ahead, queue, old;
    uint32_t *merged, *chain; /* [n], [2n]: a union of outputs; lists of outputs while a plan is loaded */
    uint32_t lowest;          /* least pos of the last cone's outputs */
};

void search_init(struct fusion_search *, struct arena *, struct err *, const struct plan_problem *);
/* The cone of a kernel: sets `inner` (recomputed, not stored) and `reads` (stored nodes that it loads). */
void cone(struct fusion_search *, const uint32_t *out, uint32_t k);
/* Seconds of a kernel, INFINITY if it is not legal or depends on itself through others. Leaves the cone. */
double price(struct fusion_search *, const uint32_t *out, uint32_t k);
/* Adds to v the kernels that hold or read node x and were not met since walk_ahead; stops at `most` of them. */
void walk_ahead(struct fusion_search *);
void users(struct fusion_search *, uint32_t x, u32_vec *v, uint32_t most);

/* Makes a kernel without price or level; settle() gives levels to it and to those that come after it. */
uint32_t kern_add(struct fusion_search *, const uint32_t *out, uint32_t k);
void kern_drop(struct fusion_search *, uint32_t id);
void settle(struct fusion_search *, uint32_t id);
/* Would the union of two kernels keep the kernel graph acyclic? */
bool can_join(struct fusion_search *, uint32_t a, uint32_t b);
uint32_t join(struct fusion_search *, uint32_t a, uint32_t b); /* no price yet */
bool on_cycle(struct fusion_search *, uint32_t id);            /* may be asked before levels are settled */
/* Sets the whole plan; group[v] numbers the kernel of a stored node, NULL: each alone. Prices it. False: its kernels
 * cannot be put in order, and another plan must be loaded. */
bool plan_load(struct fusion_search *, const uint8_t *stored, const uint32_t *group);
double plan_seconds(const struct fusion_search *);

/* Marks in `want` the free nodes of a minimum cut by bytes between memory and the forced stores. False: the step budget is
 * spent. */
bool cut_seed(struct fusion_search *, uint8_t *want);

static inline bool is_free(const struct fusion_search *s, uint32_t v) { return s->p->forced[v] == 0; }
static inline bool spent(const struct fusion_search *s) {
    return s->evals >= s->max_evals || s->work >= s->max_work;
}
uint32_t union_sorted(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb, uint32_t *out);

/* ---- the run of a search ---- */

struct output_group {
    uint32_t at, k; /* outputs: pool.p[at..at + k) */
    double seconds;
};
struct fusion_candidate { /* a candidate for the answer */
    uint8_t *stored;
    uint32_t *group;
    double seconds;
};
struct plan_move {
    /* nodes to flip; nf 0: output f[0] goes to the kernel of output f[1], NONE: one of its own */
    uint32_t f[2];
    uint32_t nf;
    double gain;
};
struct kernel_pair {
    uint32_t a, b, first, second; /* kernels; their first outputs, for ties */
    double gain;
};
struct search_run {
    struct fusion_search s;
    uint8_t *dirty;                /* [n]: 1 to be tried alone, 2 with each neighbour */
    u32_vec single, two;           /* nodes with these marks */
    u32_vec pool;                  /* outputs of groups */
    u32_vec hit;                   /* kernels that a move replaces */
    u32_vec partner;               /* candidates to join with one kernel, or the kernels that a move made */
    VEC(struct output_group) grp;  /* replacements of `hit` */
    VEC(struct plan_move) moves;   /* of this round */
    VEC(struct kernel_pair) pairs; /* likewise */
    struct fusion_candidate *best; /* the answer so far, ascending */
    uint32_t nbest, keep;
    uint8_t *want;     /* [n] scratch */
    uint32_t *numbers; /* [n] scratch */
};

static inline double margin(double seconds) { return seconds * MARGIN; }
/* Joins kernels while that gains; any_gain: while it is legal. */
bool group(struct search_run *, bool any_gain);
/* Improves the plan until no move does or the budget is spent. */
void local(struct search_run *);
int ascending(const void *, const void *); /* for qsort of uint32_t */

#endif
