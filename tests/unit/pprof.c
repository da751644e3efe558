/* pprof.c: a memory profile of pprof, written here field by field: bytes by source line, library frames skipped; damaged ones. */
#include "damage.h"
#include "report/report.h"

static struct err err;
static struct arena arena;

static void varint(struct str *o, uint64_t x) {
    for (; x >= 128; x >>= 7) str_addc(o, (char)(x | 128));
    str_addc(o, (char)x);
}
static void number(struct str *o, int field, uint64_t x) {
    varint(o, (uint64_t)field << 3);
    varint(o, x);
}
static void bytes(struct str *o, int field, const char *p, size_t n) {
    varint(o, (uint64_t)field << 3 | 2);
    varint(o, n);
    str_addn(o, p, n);
}
static void pair(struct str *o, int field, uint64_t a, uint64_t b) {
    struct str s;
    str_init(&s, &arena);
    number(&s, 1, a);
    number(&s, 2, b);
    bytes(o, field, s.p, s.n);
}
static void sample(struct str *o, uint64_t leaf, uint64_t caller, uint64_t count, uint64_t size) {
    struct str s, packed;
    str_init(&s, &arena), str_init(&packed, &arena);
    varint(&packed, leaf), varint(&packed, caller);
    bytes(&s, 1, packed.p, packed.n);
    number(&s, 2, count), number(&s, 2, size); /* one by one: that is allowed too */
    bytes(o, 2, s.p, s.n);
}
static void location(struct str *o, uint64_t id, uint64_t function, uint64_t line) {
    struct str s, l;
    str_init(&s, &arena), str_init(&l, &arena);
    number(&l, 1, function), number(&l, 2, line);
    number(&s, 1, id);
    bytes(&s, 4, l.p, l.n);
    bytes(o, 4, s.p, s.n);
}
static void function(struct str *o, uint64_t id, uint64_t name, uint64_t file) {
    struct str s;
    str_init(&s, &arena);
    number(&s, 1, id), number(&s, 2, name), number(&s, 4, file);
    bytes(o, 5, s.p, s.n);
}

static void write_profile(struct str *o) {
    static const char *const strings[] = {"",
                                          "allocations",
                                          "count",
                                          "space",
                                          "bytes",
                                          "make",
                                          "/usr/lib/python3/site-packages/jax/array.py",
                                          "train",
                                          "train.py",
                                          "eval",
                                          "eval.py"};
    str_init(o, &arena);
    pair(o, 1, 1, 2);
    pair(o, 1, 3, 4);
    sample(o, 1, 2, 3, 3000000);
    sample(o, 1, 3, 1, 1000000);
    sample(o, 1, 2, 1, 500000);
    location(o, 1, 1, 10), location(o, 2, 2, 77), location(o, 3, 3, 5);
    function(o, 1, 5, 6), function(o, 2, 7, 8), function(o, 3, 9, 10);
    for (size_t i = 0; i < RG_COUNT(strings); i++) bytes(o, 6, strings[i], strlen(strings[i]));
}

TEST(pprof_memory_by_line) {
    static struct trace t;
    static struct diag d;
    struct str s, text;
    arena_init(&arena, &err);
    write_profile(&s);
    if (trace_read_mem(&t, &err, s.p, s.n, 0) || diagnose(&d, &t, &err)) FAIL("%s", err.msg);
    CHECK(t.moment);
    CHECK_EQ(t.snap_allocated, 4500000);
    CHECK_EQ(d.owners.n, 2);
    CHECK_EQ(d.owners.p[0].bytes, 3500000);
    CHECK_STR(trace_str(&t, d.owners.p[0].where), "train.py:77 train");
    CHECK_STR(trace_str(&t, d.owners.p[1].where), "eval.py:5 eval");
    CHECK(!d.mem_leak);
    str_init(&text, &arena);
    report_text(&text, &d, "memory.prof");
    str_addc(&text, 0);
    CHECK(strstr(text.p, "4.5 MB are held, 78% of it"));
    diag_free(&d);
    trace_free(&t);
    arena_free(&arena);
}

TEST(pprof_damaged_profiles_end_in_words) {
    struct str s;
    arena_init(&arena, &err);
    write_profile(&s);
    CHECK(read_damaged(s.p, s.n, 0, 3000) > 200);
    arena_free(&arena);
}
