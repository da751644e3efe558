/* nsys.c: exports of Nsight Systems: counts, totals and links of a small one that is written here, by libsqlite3; damaged ones.
 *
 * Two processes with the same correlation ids, kernels with short and demangled names, copies of pageable and pinned memory numbered
 * as the file's own table says, ranges by text and by id. */
#include "report/report.h"
#include "test.h"

#include <dlfcn.h>
#include <unistd.h>

static const char schema[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);"
    "INSERT INTO ENUM_CUDA_MEM_KIND VALUES "
    "(0,'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE','Pageable'),(1,'x','Pinned'),(2,'x','Device');"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, smCount INTEGER, computeMajor INTEGER, "
    "computeMinor INTEGER, "
    "totalMemory INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES (0,'NVIDIA H200',132,9,0,150000000000);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
    "INTEGER, correlationId INTEGER, "
    "globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER, "
    "gridY INTEGER, gridZ "
    "INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, "
    "dynamicSharedMemory INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
    "INTEGER, correlationId INTEGER, "
    "globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid "
    "INTEGER, correlationId "
    "INTEGER, nameId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, "
    "globalTid INTEGER);"
    "INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'void "
    "gemm<float>(float*)'),(3,'gemm'),(4,'step'),"
    "(5,'cudaMemcpyAsync_v3020');"
    "INSERT INTO NVTX_EVENTS VALUES "
    "(1000,900000,59,NULL,4,500*16777216+500),(2000,800000,59,'forward',NULL,500*16777216+500),"
    "(3000,NULL,34,'mark',NULL,0);";

typedef int exec_call(void *, const char *, void *, void *, char **);
static char path[64];

static bool write_export(void) {
    void *lib = dlopen("libsqlite3.so.0", RTLD_NOW), *db = NULL;
    if (!lib) return false;
    int (*open_file)(const char *, void **) = (int (*)(const char *, void **))dlsym(lib, "sqlite3_open");
    exec_call *exec = (exec_call *)dlsym(lib, "sqlite3_exec");
    int (*close_file)(void *) = (int (*)(void *))dlsym(lib, "sqlite3_close");
    snprintf(path, sizeof path, "/tmp/ridge-nsys-%d.sqlite", (int)getpid());
    unlink(path);
    CHECK_EQ(open_file(path, &db), 0);
    CHECK_EQ(exec(db, schema, NULL, NULL, NULL), 0);
    char sql[1000];
    for (int i = 0; i < 40; i++) { /* two processes in turns, each with ids 1 .. 20 */
        int t = 100000 + i * 10000, pid = 500 + i % 2, corr = i / 2 + 1;
        snprintf(sql, sizeof sql,
                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (%d,%d,0,%d*16777216+%d,%d,1);"
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
                 "(%d,%d,0,7,%d,%d*16777216,2,3,32,64,1,1,256,1,1,0,1024);",
                 t, t + 3000, pid, pid, corr, t + 5000, t + 9000, corr, pid);
        CHECK_EQ(exec(db, sql, NULL, NULL, NULL), 0);
    }
    CHECK_EQ(
        exec(
            db,
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (600000,601000,0,500*16777216+500,99,5);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (602000,612000,0,7,99,500*16777216,1000000,1,0,2),"
            "(620000,625000,0,7,98,500*16777216,500000,2,2,1),(630000,631000,0,7,97,500*16777216,7,8,2,2);",
            NULL, NULL, NULL),
        0);
    close_file(db);
    return true;
}

TEST(nsys_an_export_is_read) {
    struct err e = {0};
    static struct trace t;
    static struct diag d;
    if (!write_export()) SKIP("no libsqlite3");
    if (trace_read(&t, &e, path) || diagnose(&d, &t, &e)) FAIL("%s", e.msg);
    CHECK_EQ(t.format, TRACE_NSYS);
    CHECK_EQ(d.kernel_count, 40);
    CHECK_EQ(d.kernels.n, 1);
    CHECK_EQ(d.kernels.p[0].ns, 40 * 4000);
    CHECK_STR(trace_str(&t, d.kernels.p[0].name), "void gemm<float>(float*)");
    CHECK_STR(d.device_name, "NVIDIA H200");
    CHECK_EQ(d.budget[BUDGET_PAGEABLE] >= 10000, 1);
    CHECK_EQ(d.budget[BUDGET_EXPOSED], 5000);
    CHECK_EQ(d.budget[BUDGET_DEVCOPY], 1000);
    CHECK_EQ(d.processes.n, 2);
    CHECK_EQ(d.processes.p[0].launches + d.processes.p[1].launches, 41);
    uint32_t ranges = 0;
    for (uint32_t i = 0; i < t.n; i++) {
        const struct trace_event *x = &t.ev[i];
        if (x->kind == TK_LAUNCH && x->corr) CHECK(!strchr(trace_str(&t, x->name), '_'));
        if (x->kind == TK_KERNEL) CHECK_EQ(x->t0 - t.ev[x->link - 1].t0, 5000);
        ranges += x->kind == TK_ANNOT;
    }
    CHECK_EQ(ranges, 2);
    struct str s;
    str_init(&s, &d.arena);
    report_text(&s, &d, path);
    CHECK(strstr(s.p, "Nsight Systems (SQLite)"));
    diag_free(&d);
    trace_free(&t);
    unlink(path);
}

/* Bytes changed anywhere: read, refused with words, or told as damaged; never more. */
TEST(nsys_damaged_exports_end_in_words) {
    struct err e = {0};
    struct arena a;
    static struct trace t;
    static struct diag d;
    if (!write_export()) SKIP("no libsqlite3");
    arena_init(&a, &e);
    size_t n;
    char *p;
    uint32_t readable = 0;
    CHECK_EQ(os_read_file(&e, &a, path, 1 << 20, &p, &n), 0);
    char *q = arena_raw(&a, n);
    uint64_t seed = 7;
    for (int i = 0; i < 150; i++) {
        memcpy(q, p, n);
        for (int k = 0; k < 1 + i % 20; k++) {
            seed = hash_u64(seed + 1);
            q[16 + seed % (n - 16)] = (char)(seed >> 32);
        }
        size_t cut = i % 5 ? n : 100 + hash_u64(seed) % (n - 100);
        CHECK_EQ(os_write_file(&e, path, q, cut, 0644), 0);
        if (trace_read(&t, &e, path)) {
            CHECK(e.msg[0]);
            e = (struct err){0};
            continue;
        }
        readable++;
        if (!diagnose(&d, &t, &e)) diag_free(&d);
        e = (struct err){0};
        trace_free(&t);
    }
    CHECK(readable > 10);
    TEST_INFO("150 damaged exports, %u of them readable", readable);
    unlink(path);
    arena_free(&a);
}
