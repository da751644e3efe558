/* memory_plan.c: lifetimes to offsets in one arena.
 *
 * Finding the smallest arena is NP-hard; a few greedy orders come close, and they fail on different inputs, so all are
 * tried and the smallest result wins: in order of first use (what an allocator at run time would do), largest first,
 * largest bytes x time first, longest first. Each item goes into the tightest gap that is free during its whole life.
 * Where none of these is close, the order of the larger items is improved by hill climbing.
 * The search ends early when a result is within CLOSE of the most bytes that live at once, which no plan can beat.
 *
 * In order of first use, dead items never matter again and are dropped from the list, so that order is near linear in
 * practice; the others scan all allocated items and are skipped for very long programs.
 * Invariants: offsets are multiples of 64; items that live during the same call do not overlap; an item of 0 bytes has
 * offset 0 and takes no memory. Ties go to the lower index: equal inputs get equal plans. Tests: tests/unit/memory.c */
#include "schedule.h"

#include <stdlib.h>

#define ALIGN 64
#define MANY 20000    /* items: above this, only the order of first use */
#define CLOSE 1024    /* a 1024th */
#define REPAIRS 300   /* orders that are tried where none of these is close, .. */
#define REPAIRED 2048 /* .. of this number of items at most .. */
#define SMALL 1024    /* .. that have at least such a part of what lives at once */

struct mem_slot { /* an item; sorted in several orders */
    int64_t bytes, offset;
    uint32_t first, last, item;
};
struct mem_taken {
    int64_t offset, end;
    uint32_t first, last;
};
struct mem_layout {
    struct mem_slot *slot, *spare; /* in order of allocation; scratch */
    uint32_t *at;                  /* likewise */
    uint32_t n;
    struct mem_taken *taken; /* by offset; in a row of their own, because each allocation reads all */
    uint32_t ntaken;
};

static int by_index(const struct mem_slot *a, const struct mem_slot *b) {
    return (a->item > b->item) - (a->item < b->item);
}
#define ORDER(name, x, y)                                       \
    static int name(const void *p, const void *q) {             \
        const struct mem_slot *a = p, *b = q;                   \
        return (x) < (y) ? -1 : (x) > (y) ? 1 : by_index(a, b); \
    }
static double area(const struct mem_slot *a) { return (double)a->bytes * ((double)a->last - a->first + 1); }
ORDER(order_first, a->first, b->first)
ORDER(order_last, a->last, b->last)
ORDER(order_size, b->bytes, a->bytes)
ORDER(order_area, area(b), area(a))
ORDER(order_life, b->last - b->first, a->last - a->first)
#undef ORDER

/* Best fit: the tightest gap between allocated slots that live at the same time, or the end. */
static int64_t allocate(struct mem_layout *l, uint32_t i, bool in_time) {
    struct mem_slot *s = &l->slot[i];
    int64_t end = 0, best = -1, room = INT64_MAX;
    uint32_t keep = 0, at;
    for (uint32_t k = 0; k < l->ntaken; k++) {
        const struct mem_taken t = l->taken[k];
        bool dead = t.last < s->first;
        if (in_time && !dead) l->taken[keep++] = t;
        if (dead || t.first > s->last) continue;
        int64_t gap = t.offset - end;
        if (gap >= s->bytes && gap < room) best = end, room = gap;
        end = RG_MAX(end, t.end);
    }
    if (in_time) l->ntaken = keep;
    s->offset = best >= 0 ? best : end;
    for (at = l->ntaken; at > 0 && l->taken[at - 1].offset > s->offset; at--) l->taken[at] = l->taken[at - 1];
    l->taken[at] = (struct mem_taken){s->offset, s->offset + s->bytes, s->first, s->last};
    l->ntaken++;
    return s->offset + s->bytes;
}

static int64_t allocate_all(struct mem_layout *l, bool in_time) {
    int64_t size = 0;
    l->ntaken = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        int64_t end = allocate(l, i, in_time);
        size = RG_MAX(size, end);
    }
    return size;
}

static int64_t try_order(struct mem_layout *l, int (*order)(const void *, const void *)) {
    qsort(l->slot, l->n, sizeof *l->slot, order);
    return allocate_all(l, order == order_first);
}

/* Slots by area, the small ones behind them in order of first use; returns how many are large. */
static uint32_t large_first(struct mem_layout *l, int64_t least) {
    uint32_t large = 0, n = 0;
    qsort(l->slot, l->n, sizeof *l->slot, order_first);
    for (int pass = 0; pass < 2; pass++, large = pass == 1 ? n : large)
        for (uint32_t i = 0; i < l->n; i++)
            if ((l->slot[i].bytes < least / SMALL) == pass) l->spare[n++] = l->slot[i];
    memcpy(l->slot, l->spare, l->n * sizeof *l->slot);
    qsort(l->slot, large, sizeof *l->slot, order_area);
    return large;
}

/* Hill climbing: a large slot near the end is allocated before one at random; what is no better is taken back. The small ones fill what
 * room there is left. */
static int64_t try_repairs(struct mem_layout *l, int64_t least) {
    uint32_t all = l->n, top = 0, *at = l->at;
    uint64_t state = 0;
    l->n = large_first(l, least);
    int64_t best = allocate_all(l, false);
    for (int k = 0; k < REPAIRS && best - least / CLOSE > least; k++) {
        memcpy(l->spare, l->slot, l->n * sizeof *l->slot);
        top = 0;
        for (uint32_t i = 0; i < l->n; i++)
            if (l->slot[i].offset + l->slot[i].bytes > best - (best - least) / 2) at[top++] = i;
        if (!top) break;
        uint32_t from = at[hash_u64(++state) % top], to = (uint32_t)(hash_u64(++state) % (from + 1));
        struct mem_slot moved = l->slot[from];
        memmove(&l->slot[to + 1], &l->slot[to], (from - to) * sizeof *l->slot);
        l->slot[to] = moved;
        int64_t size = allocate_all(l, false);
        if (size > best) memcpy(l->slot, l->spare, l->n * sizeof *l->slot);
        best = RG_MIN(best, size);
    }
    l->n = all;
    return allocate_all(l, false);
}

/* The most bytes that live at once. */
static int64_t most_live(struct arena *a, struct mem_layout *l) {
    struct mem_slot *ends = arena_array(a, struct mem_slot, l->n);
    memcpy(ends, l->slot, l->n * sizeof *ends);
    qsort(ends, l->n, sizeof *ends, order_last);
    qsort(l->slot, l->n, sizeof *l->slot, order_first);
    int64_t live = 0, most = 0;
    for (uint32_t i = 0, e = 0; i < l->n; i++) {
        while (ends[e].last < l->slot[i].first) live -= ends[e++].bytes;
        live += l->slot[i].bytes;
        most = RG_MAX(most, live);
    }
    return most;
}

static void collect(struct arena *a, struct mem_layout *l, struct mem_item *item, uint32_t n) {
    int64_t sum = 0;
    *l = (struct mem_layout){.slot = arena_array(a, struct mem_slot, n),
                             .spare = arena_array(a, struct mem_slot, n),
                             .at = arena_array(a, uint32_t, n),
                             .taken = arena_array(a, struct mem_taken, n)};
    for (uint32_t i = 0; i < n; i++) {
        item[i].offset = 0;
        if (item[i].bytes < 0 || item[i].first > item[i].last)
            err_throw(a->err, RG_EINTERNAL,
                      "memory plan: item %u has %lld bytes and lives from call %u to %u", i,
                      (long long)item[i].bytes, item[i].first, item[i].last);
        if (!item[i].bytes) continue;
        int64_t bytes = item[i].bytes;
        if (__builtin_add_overflow(bytes, ALIGN - 1, &bytes) ||
            __builtin_add_overflow(sum, bytes & -ALIGN, &sum))
            err_throw(a->err, RG_ELIMIT, "the temporary values of this program pass 2^63 bytes");
        l->slot[l->n++] = (struct mem_slot){bytes & -ALIGN, 0, item[i].first, item[i].last, i};
    }
}

int64_t memory_plan(struct arena *a, struct mem_item *item, uint32_t n) {
    static int (*const orders[])(const void *, const void *) = {order_first, order_size, order_area,
                                                                order_life};
    struct arena_mark mark = arena_mark(a);
    struct mem_layout l;
    collect(a, &l, item, n);
    if (!l.n) {
        arena_release(a, mark);
        return 0;
    }
    int64_t least = most_live(a, &l), best = INT64_MAX;
    uint32_t known = RG_COUNT(orders), all = l.n <= REPAIRED ? known + 1 : l.n <= MANY ? known : 1;
    for (uint32_t k = 0; k < all && best - least / CLOSE > least; k++) {
        int64_t size = k < known ? try_order(&l, orders[k]) : try_repairs(&l, least);
        if (size >= best) continue;
        best = size;
        for (uint32_t i = 0; i < l.n; i++) item[l.slot[i].item].offset = l.slot[i].offset;
    }
    arena_release(a, mark);
    return best;
}
