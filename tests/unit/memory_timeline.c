/* memory_timeline.c: the raw memory timeline of torch.profiler: sums, categories, changes of category, damage. */
#include "damage.h"

static struct err err;
static struct trace t;
static struct diag d;

/* 1000 parameters before the recording; 500 of a temporary become 500 of a gradient, 300 come and go. */
static const char text[] = "[[-1, 1, 1000, 0], [7000, 2, 500, 3], [8000, 3, -500, 3], [8000, 3, 500, 5],\n"
                           " [9000, 2, 300, 3], [9500, 4, -300, 3], [9600, 4, -77, 3], [9700, 4, -500, 5]]";

TEST(memory_timeline_of_torch_is_read) {
    if (trace_read_mem(&t, &err, text, sizeof text - 1, 0) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    CHECK_EQ(t.format, TRACE_SNAPSHOT);
    CHECK_EQ(t.snap.n, 7);
    CHECK_EQ(t.dropped, 1); /* 77 bytes that were never taken */
    CHECK_EQ(t.snap_allocated, 1000);
    CHECK_EQ(d.mem_peak, 1800);
    CHECK_STR(trace_str(&t, t.snap.p[0].stack), "parameter");
    CHECK(t.snap.p[2].addr == t.snap.p[1].addr && t.snap.p[3].addr != t.snap.p[1].addr);
    CHECK(!t.truncated);
    diag_free(&d);
    trace_free(&t);
}

TEST(memory_timeline_damaged_ends_in_words) { CHECK(read_damaged(text, sizeof text - 1, 2, 2000) > 500); }
