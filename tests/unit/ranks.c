/* ranks.c: sets of ranks with a planted straggler: the late rank and what made it late are named, clocks aside.
 *
 * Traces are written to a folder of their own; every step computes, then all ranks meet in one all-reduce. */
#include "report/report.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

enum plant {
    NOTHING,
    COMPUTE,
    DATA,
    ALLOCATOR,
    USER_CODE,
    SLOW_GPU,
    WAITS,
    COMPILES,
    PAGEABLE,
    HOST,
    NETWORK,
    SHARED
};

struct planted {
    enum plant what;
    int ranks, late;
    double skew_us; /* the clock of each file is that much further */
    const char *reason;
};

static struct err err;
static struct arena arena;

static void event(struct str *o, uint32_t *n, const char *cat, const char *name, int pid, double ts,
                  double dur, const char *args) {
    str_printf(o,
               "%s\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%."
               "3f,\"args\":{%s}}",
               (*n)++ ? "," : "", cat, name, pid, pid ? 500 : 7, ts, dur, args);
}

struct one_rank {
    struct str o;
    uint32_t n, corr;
    double skew;
};
static void host(struct one_rank *r, const char *cat, const char *name, double ts, double dur) {
    event(&r->o, &r->n, cat, name, 500, ts + r->skew, dur, "");
}
static void launched(struct one_rank *r, const char *kernel, double launch, double at, double dur) {
    char args[200];
    snprintf(args, sizeof args, "\"correlation\":%u", ++r->corr);
    event(&r->o, &r->n, "cpu_op", "aten::mm", 500, launch - 2 + r->skew, 12, "");
    event(&r->o, &r->n, "cuda_runtime", "cudaLaunchKernel", 500, launch + r->skew, 6, args);
    snprintf(args, sizeof args, "\"device\":0,\"stream\":7,\"correlation\":%u", r->corr);
    event(&r->o, &r->n, "kernel", kernel, 0, at + r->skew, dur, args);
}

static void copied(struct one_rank *r, double at, double dur) {
    char args[200];
    snprintf(args, sizeof args, "\"correlation\":%u", ++r->corr);
    event(&r->o, &r->n, "cuda_runtime", "cudaMemcpyAsync", 500, at + r->skew, dur, args);
    snprintf(args, sizeof args, "\"device\":0,\"stream\":7,\"correlation\":%u,\"bytes\":%d", r->corr,
             3000000);
    event(&r->o, &r->n, "gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, at + 5 + r->skew, dur - 6, args);
}

/* What one rank does in a step before the all-reduce, from `t` on; returns when it comes to it. */
static double compute(struct one_rank *r, enum plant what, double t) {
    int kernels = what == COMPUTE ? 6 : 4;
    double each = what == SLOW_GPU ? 150 : 100, extra = 0;
    if (what == DATA)
        host(r, "user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", t,
             extra = 300);
    if (what == ALLOCATOR) {
        host(r, "cpu_op", "aten::empty", t, 300);
        host(r, "cuda_runtime", "cudaMalloc", t + 5, extra = 290);
    }
    if (what == USER_CODE) host(r, "python_function", "train.py(80): log_metrics", t, extra = 300);
    if (what == COMPILES)
        host(r, "python_function", "torch/_dynamo/convert_frame.py(1100): _convert_frame", t, extra = 300);
    if (what == PAGEABLE) copied(r, t, extra = 300);
    if (what == WAITS) host(r, "cuda_runtime", "cudaStreamSynchronize", t, extra = 300);
    t += extra;
    for (int k = 0; k < kernels; k++) {
        double gap = what == HOST ? 90 : 0;
        if (what == SHARED && k == 0) {
            launched(r, "ampere_bf16_gemm_128x128", t + 1, t + 400, each);
            t += 400 + each;
            continue;
        }
        if (gap) host(r, "cpu_op", "aten::linear", t, gap);
        launched(r, "ampere_bf16_gemm_128x128", t + gap + 2, t + gap + 8, each);
        t += gap + 8 + each;
    }
    return t;
}

static void write_set(const char *dir, const struct planted *p, char (*path)[128]) {
    static struct one_rank r[8];
    for (int i = 0; i < p->ranks; i++) {
        r[i] = (struct one_rank){.skew = 1e8 + i * p->skew_us};
        str_init(&r[i].o, &arena);
        str_printf(&r[i].o,
                   "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA "
                   "H200\"}],\"distributedInfo\":{\"backend\":"
                   "\"nccl\",\"rank\":%d,\"world_size\":%d},\"traceEvents\":[",
                   i, p->ranks);
    }
    double now = 100;
    for (int step = 0; step < 12; step++) {
        double come[8], last = 0, transfer = p->what == NETWORK ? 900 : 60;
        for (int i = 0; i < p->ranks; i++) {
            come[i] = compute(&r[i], i == p->late ? p->what : NOTHING, now + i);
            if (come[i] > last) last = come[i];
        }
        for (int i = 0; i < p->ranks; i++)
            launched(&r[i], "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", come[i] - 50, come[i] + 1,
                     last + transfer - come[i]);
        now = last + transfer + 20;
    }
    for (int i = 0; i < p->ranks; i++) {
        str_add(&r[i].o, "]}");
        snprintf(path[i], 128, "%s/rank%d.json", dir, i);
        CHECK_EQ(os_write_file(&err, path[i], r[i].o.p, r[i].o.n, 0644), 0);
    }
}

static void check_set(const struct planted *p, const char *dir, size_t i) {
    char path[8][128];
    const char *list[8];
    struct rank_set s;
    arena_init(&arena, &err);
    write_set(dir, p, path);
    for (int k = 0; k < p->ranks; k++) list[k] = path[k];
    if (rank_set_read(&s, &err, list, (uint32_t)p->ranks)) FAIL("%s", err.msg);
    struct str text;
    str_init(&text, &s.arena);
    report_ranks(&text, &s);
    CHECK_EQ(s.matched, 12);
    bool none = p->what == NOTHING || p->what == NETWORK;
    const char *reason = p->what == NOTHING && !s.why ? "healthy"
                         : s.network                  ? "network"
                                                      : budget_key(s.reason);
    if (s.culprit != (none ? -1 : p->late) || strcmp(reason, p->reason))
        FAIL("set %zu: rank %d for %s, planted %d for %s\n%.*s", i, s.culprit, reason, p->late, p->reason,
             (int)text.n, text.p);
    if (p->what == COMPUTE || p->what == SLOW_GPU) CHECK_EQ(s.slow_gpu, p->what == SLOW_GPU);
    CHECK(llabs(s.rows.p[1].offset_ns - (int64_t)(p->skew_us * 1000)) <= 2000);
    rank_set_free(&s);
    for (int k = 0; k < p->ranks; k++) unlink(path[k]);
    arena_free(&arena);
}

static void check_sets(const struct planted *sets, size_t n) {
    char dir[64];
    snprintf(dir, sizeof dir, "/tmp/ridge-ranks-%d", (int)getpid());
    os_mkdirs(&err, dir, 0755);
    for (size_t i = 0; i < n; i++) check_set(&sets[i], dir, i);
    rmdir(dir);
}

TEST(ranks_planted_stragglers_are_named) {
    static const struct planted sets[] = {
        {NOTHING, 4, 0, 0, "healthy"},
        {COMPUTE, 4, 2, 0, "kernels"},
        {DATA, 2, 1, 250, "host.dataloader"},
        {ALLOCATOR, 3, 0, -7000, "allocator"},
        {USER_CODE, 8, 7, 33, "host.user"},
        {SLOW_GPU, 4, 3, 1e6, "kernels"},
        {WAITS, 5, 1, 0, "sync"},
        {COMPILES, 4, 2, 12, "compile"},
        {HOST, 6, 4, 5000, "dispatch"},
        {NETWORK, 4, 0, 90, "network"},
        {SHARED, 3, 2, 0, "unexplained"},
        {NOTHING, 2, 0, 5e6, "healthy"}, /* clocks five seconds apart */
        {COMPUTE, 8, 5, 4e6, "kernels"},
        {DATA, 8, 0, -3, "host.dataloader"},
    };
    check_sets(sets, RG_COUNT(sets));
    TEST_COUNT(RG_COUNT(sets), "sets of ranks");
}

/* Any cause, late rank, number of ranks and clocks. */
TEST(ranks_random_stragglers_are_named) {
    static const struct {
        enum plant what;
        const char *reason;
    } kinds[] = {{COMPUTE, "kernels"},     {DATA, "host.dataloader"},       {ALLOCATOR, "allocator"},
                 {USER_CODE, "host.user"}, {SLOW_GPU, "kernels"},           {WAITS, "sync"},
                 {COMPILES, "compile"},    {PAGEABLE, "transfer.pageable"}, {HOST, "dispatch"},
                 {NETWORK, "network"},     {SHARED, "unexplained"},         {NOTHING, "healthy"}};
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    struct planted sets[36];
    for (size_t i = 0; i < RG_COUNT(sets); i++) {
        uint64_t x = hash_u64(seed + i);
        size_t k = i % RG_COUNT(kinds);
        int ranks = 2 + (int)(x % 7);
        sets[i] = (struct planted){kinds[k].what, ranks, (int)((x >> 8) % (uint64_t)ranks),
                                   (double)(int64_t)(x >> 16 & 0xffffff) - 8e6, kinds[k].reason};
    }
    check_sets(sets, RG_COUNT(sets));
    TEST_COUNT(RG_COUNT(sets), "sets of ranks");
}

/* A file that is no trace is refused by name; the rest is a set. One trace alone is none. */
/* Ranks come to and leave collectives at random moments, on clocks that differ at random: the offset that is found is as near to the true one as
 * it says, and that is not far. */
static int64_t clock_error(const char *dir, uint64_t *seed) {
    static const char *const name[] = {"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                       "ncclDevKernel_Broadcast_RING_LL"};
    enum { STEPS = 20 };
    double skew = (double)(int64_t)((*seed = hash_u64(*seed)) % 4000001) - 2000000, now = 100;
    char path[2][128];
    struct one_rank r[2];
    struct rank_set s;
    for (int i = 0; i < 2; i++) {
        r[i] = (struct one_rank){.skew = 5e7 + i * skew};
        str_init(&r[i].o, &arena);
        str_printf(&r[i].o, "{\"distributedInfo\":{\"rank\":%d,\"world_size\":2},\"traceEvents\":[", i);
    }
    for (int step = 0; step < STEPS; step++) {
        double come[2], left[2], last;
        for (int i = 0; i < 2; i++) come[i] = now + (double)((*seed = hash_u64(*seed)) % 900);
        last = come[0] > come[1] ? come[0] : come[1];
        for (int i = 0; i < 2; i++) left[i] = last + 30 + (double)((*seed = hash_u64(*seed)) % 300);
        bool one_way = step % 4 == 1; /* a root does not wait for the others: this says nothing */
        if (one_way) left[0] = come[0] + 5;
        for (int i = 0; i < 2; i++) launched(&r[i], name[one_way], come[i] - 20, come[i], left[i] - come[i]);
        now = 400 + (left[0] > left[1] ? left[0] : left[1]);
    }
    for (int i = 0; i < 2; i++) {
        str_add(&r[i].o, "]}");
        snprintf(path[i], sizeof path[i], "%s/clock%d.json", dir, i);
        CHECK_EQ(os_write_file(&err, path[i], r[i].o.p, r[i].o.n, 0644), 0);
    }
    CHECK_EQ(rank_set_read(&s, &err, (const char *[]){path[0], path[1]}, 2), 0);
    int64_t error = s.rows.p[1].error_ns, off = llabs(s.rows.p[1].offset_ns - (int64_t)(skew * 1000));
    rank_set_free(&s);
    for (int i = 0; i < 2; i++) unlink(path[i]);
    if (off > error)
        FAIL("the clock is %.1f us off, and said to be within %.1f", (double)off / 1e3, (double)error / 1e3);
    return error;
}

TEST(ranks_clock_error_is_true) {
    char dir[64];
    uint64_t seed = 1;
    snprintf(dir, sizeof dir, "/tmp/ridge-clocks-%d", (int)getpid());
    os_mkdirs(&err, dir, 0755);
    arena_init(&arena, &err);
    for (int i = 0; i < 100; i++) CHECK(clock_error(dir, &seed) < 500000);
    arena_free(&arena);
    rmdir(dir);
}

/* A set in little memory is read file by file, with the same result. */
TEST(ranks_within_a_bound_of_memory) {
    static const struct planted p = {DATA, 6, 2, 0, ""};
    char dir[64], path[8][128];
    const char *list[8];
    struct rank_set all, one;
    snprintf(dir, sizeof dir, "/tmp/ridge-ranks-bound-%d", (int)getpid());
    os_mkdirs(&err, dir, 0755);
    arena_init(&arena, &err);
    write_set(dir, &p, path);
    for (int i = 0; i < p.ranks; i++) list[i] = path[i];
    CHECK_EQ(rank_set_read_within(&one, &err, list, (uint32_t)p.ranks, 1), 0);
    CHECK_EQ(rank_set_read(&all, &err, list, (uint32_t)p.ranks), 0);
    CHECK_EQ(one.at_once, 1);
    CHECK_EQ(one.matched, all.matched);
    CHECK_EQ(one.rows.p[one.culprit].rank, 2);
    CHECK_EQ(one.lost_ns, all.lost_ns);
    rank_set_free(&one), rank_set_free(&all);
    for (int i = 0; i < p.ranks; i++) unlink(path[i]);
    rmdir(dir);
    arena_free(&arena);
}

TEST(ranks_refuse_what_is_no_trace) {
    static const struct planted p = {DATA, 3, 1, 0, ""};
    char dir[64], path[8][128];
    const char *list[4];
    struct rank_set s;
    snprintf(dir, sizeof dir, "/tmp/ridge-ranks-bad-%d", (int)getpid());
    os_mkdirs(&err, dir, 0755);
    arena_init(&arena, &err);
    write_set(dir, &p, path);
    snprintf(path[3], sizeof path[3], "%s/notes.json", dir);
    CHECK_EQ(os_write_file(&err, path[3], "{}", 2, 0644), 0);
    for (int i = 0; i < 4; i++) list[i] = path[(i + 3) % 4];
    if (rank_set_read(&s, &err, list, 4)) FAIL("%s", err.msg);
    CHECK_EQ(s.n, 3);
    CHECK_EQ(s.refused.n, 1);
    CHECK(strstr(s.refused.p[0], "notes.json"));
    CHECK_EQ(s.rows.p[s.culprit].rank, 1);
    struct str json;
    str_init(&json, &s.arena);
    report_ranks_json(&json, &s);
    str_addc(&json, 0);
    CHECK(strstr(json.p, "\"verdict\":\"straggler\",\"rank\":1") &&
          strstr(json.p, "\"reason\":\"host.dataloader\""));
    rank_set_free(&s);
    CHECK(rank_set_read(&s, &err, (const char *const[]){path[0], path[3]}, 2));
    CHECK(strstr(err.msg, "two traces"));
    for (int i = 0; i < 4; i++) unlink(path[i]);
    rmdir(dir);
    arena_free(&arena);
}
