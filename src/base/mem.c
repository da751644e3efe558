/* mem.c: the only caller of malloc, so that tests can make the n-th allocation fail.
 *
 * The count of live allocations finds leaks in every build, where the sanitizer's own check is slow
 * (seconds per process on aarch64). Counting is one relaxed atomic add, cheap beside malloc itself. Failing is sticky (the n-th and all
 * after it), because a program that is out of memory stays so while it unwinds; a test that runs with
 * n = 1, 2, 3 … until nothing fails visits every allocation site there is.
 * Tests: tests/unit/base.c (mem_*). */
#include "internal.h"

#include <stdatomic.h>
#include <stdlib.h>

#define NEVER INT64_MAX
#define UNREAD INT64_MIN /* RIDGE_OOM_AT was not looked at yet */

static atomic_int_fast64_t count, live;
static atomic_int_fast64_t fail_from = UNREAD; /* the first allocation number that fails */

static int64_t read_fail_from(void) {
    int64_t n = env_int(ENV_OOM_AT);
    int_fast64_t want = n < 0 ? NEVER : n, old = UNREAD;
    return atomic_compare_exchange_strong(&fail_from, &old, want) ? want : old;
}

bool mem_hit(void) {
    int64_t nth = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) + 1;
    int64_t from = atomic_load_explicit(&fail_from, memory_order_relaxed);
    if (from == UNREAD) from = read_fail_from();
    return nth >= from;
}

void *mem_alloc(size_t n) {
    void *p = mem_hit() ? NULL : malloc(n ? n : 1);
    if (p) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return p;
}

void *mem_realloc(void *p, size_t n) {
    void *q = mem_hit() ? NULL : realloc(p, n ? n : 1);
    if (q && !p) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return q;
}

void mem_free(void *p) {
    if (p) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    free(p);
}

void mem_fail_at(int64_t nth) {
    int64_t now = (int64_t)mem_count();
    atomic_store(&fail_from, nth < 0 ? NEVER : now + RG_MAX(nth, 1));
}

int64_t mem_live(void) { return atomic_load_explicit(&live, memory_order_relaxed); }

uint64_t mem_count(void) { return (uint64_t)atomic_load_explicit(&count, memory_order_relaxed); }
