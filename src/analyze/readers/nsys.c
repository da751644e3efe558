/* nsys.c: reads what Nsight Systems exports with `nsys export --type sqlite`, through libsqlite3, which is opened at run time.
 *
 * Tables exist only where there was data, and columns come and go between versions: both are asked for. Rows are read by plain scans
 * of tables, never of views, and joined here; correlation ids repeat across processes and are kept apart. The file is opened read
 * only, its schema is not trusted, and a query that takes too many steps is ended. Tests: tests/unit/nsys.c */
#include "analyze/internal.h"

#include <dlfcn.h>

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { ROW = 100, DONE = 101, READONLY = 1, URI = 0x40, MOST_COLUMNS = 24, MOST_PROCESSES = 16 };
#define CORRELATION_BITS 28
#define STEPS_EACH 1000000
#define MOST_STEPS 100000 /* times that: ends what a hostile schema makes endless */

struct sqlite_calls {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close)(sqlite3 *);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*step)(sqlite3_stmt *);
    int (*finalize)(sqlite3_stmt *);
    int64_t (*column_int64)(sqlite3_stmt *, int);
    const unsigned char *(*column_text)(sqlite3_stmt *, int);
    int (*column_bytes)(sqlite3_stmt *, int);
    int (*column_type)(sqlite3_stmt *, int);
    int (*exec)(sqlite3 *, const char *, void *, void *, char **);
    const char *(*errmsg)(sqlite3 *);
    void (*progress_handler)(sqlite3 *, int, int (*)(void *), void *);
};

struct nsys {
    struct trace *t;
    struct sqlite_calls q;
    sqlite3 *db;
    sqlite3_stmt *s;    /* the one being read */
    struct map strings; /* id of StringIds -> trace_str */
    uint64_t pid[MOST_PROCESSES];
    uint32_t pids, steps;
    int64_t pageable; /* number of that kind of memory */
    struct {
        uint64_t key;
        uint16_t lane;
    } lane_cache[64];
};

static int too_long(void *arg) { return ++((struct nsys *)arg)->steps > MOST_STEPS; }

static void load_library(struct nsys *n) {
    static const char *const names[] = {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"};
    static const char *const calls[] = {"open_v2",     "close",        "prepare_v2",  "step",
                                        "finalize",    "column_int64", "column_text", "column_bytes",
                                        "column_type", "exec",         "errmsg",      "progress_handler"};
    struct err ignore = {0};
    void *lib = NULL, **to = (void **)&n->q;
    for (size_t i = 0; i < RG_COUNT(names) && !lib; i++) lib = os_dlopen(&ignore, names[i]);
    if (!lib)
        err_throw(n->t->err, RG_EIO,
                  "an export of Nsight Systems needs libsqlite3, which was not found: install it (Debian: "
                  "libsqlite3-0)");
    _Static_assert(sizeof n->q == RG_COUNT(calls) * sizeof(void *), "a name for each call");
    for (size_t i = 0; i < RG_COUNT(calls); i++) {
        char name[40];
        snprintf(name, sizeof name, "sqlite3_%s", calls[i]);
        to[i] = dlsym(lib, name);
        if (!to[i]) err_throw(n->t->err, RG_EIO, "libsqlite3 has no %s: it is too old", name);
    }
}

/* ---- queries ------------------------------------------------------------------------------------------- */

static bool prepare(struct nsys *n, const char *sql) {
    return n->q.prepare_v2(n->db, sql, -1, &n->s, NULL) == 0;
}
static bool next_row(struct nsys *n) {
    int rc = n->q.step(n->s);
    if (rc == ROW) return true;
    n->q.finalize(n->s);
    n->s = NULL;
    if (rc != DONE) n->t->lost++; /* a damaged page ends its table */
    return false;
}

/* Is there a table (no view) of that name with that column? */
static bool has(struct nsys *n, const char *table, const char *column) {
    char sql[300];
    bool found = false;
    snprintf(sql, sizeof sql,
             "SELECT 1 FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name = "
             "'%s' AND c.name = '%s'",
             table, column);
    if (!prepare(n, sql)) return false;
    while (next_row(n)) found = true;
    return found;
}

/* A scan of a table: the columns that it has, 0 for the others. False where there is no such table. */
static bool scan(struct nsys *n, const char *table, const char *const *columns) {
    char sql[1200] = "SELECT ";
    if (!has(n, table, columns[0])) return false;
    for (int i = 0; columns[i] && i < MOST_COLUMNS; i++)
        snprintf(sql + strlen(sql), sizeof sql - strlen(sql), "%s%s%s%s", i ? ", " : "",
                 has(n, table, columns[i]) ? "\"" : "0 AS \"", columns[i], "\"");
    snprintf(sql + strlen(sql), sizeof sql - strlen(sql), " FROM \"%s\"", table);
    return prepare(n, sql);
}
static int64_t whole(struct nsys *n, int i) { return n->q.column_int64(n->s, i); }
static uint32_t u32(struct nsys *n, int i) {
    int64_t x = whole(n, i);
    return x < 0 ? 0 : x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}
static uint32_t text(struct nsys *n, int i) {
    const void *p = n->q.column_text(n->s, i);
    int len = p ? n->q.column_bytes(n->s, i) : 0;
    return trace_intern(n->t, p ? p : "", (size_t)RG_MIN(RG_MAX(len, 0), 16384));
}
static uint32_t string_of(struct nsys *n, int64_t id) {
    uint64_t s;
    return map_get(&n->strings, (uint64_t)id, &s) ? (uint32_t)s : 0;
}

/* ---- processes and lanes ---------------------------------------------------------------------------------- */

static uint32_t number_text(struct nsys *n, uint64_t x) {
    char b[24];
    return trace_intern(n->t, b, (size_t)snprintf(b, sizeof b, "%llu", (unsigned long long)x));
}

static uint32_t process(struct nsys *n, int64_t global) {
    uint64_t pid = (uint64_t)global >> 24 & 0xffffff;
    for (uint32_t i = 0; i < n->pids; i++)
        if (n->pid[i] == pid) return i;
    if (n->pids < MOST_PROCESSES) n->pid[n->pids++] = pid;
    return n->pids - 1;
}
static uint32_t correlation(struct nsys *n, int64_t global, int64_t id) {
    return id ? (uint32_t)(id & ((1 << CORRELATION_BITS) - 1)) | process(n, global) << CORRELATION_BITS : 0;
}

static uint16_t lane_of(struct nsys *n, int kind, uint64_t a, uint64_t b) {
    uint64_t key = (hash_u64(a * 31 + b) ^ (uint64_t)kind) | 1;
    uint32_t c = (uint32_t)(key >> 7) & (RG_COUNT(n->lane_cache) - 1);
    if (n->lane_cache[c].key == key) return n->lane_cache[c].lane;
    uint16_t l = trace_lane(n->t, kind, number_text(n, a), number_text(n, b));
    if (kind == LANE_DEVICE) {
        n->t->lanes.p[l].device = (int32_t)RG_MIN(a, 1000u);
        n->t->lanes.p[l].stream = (int32_t)RG_MIN(b, 1000000u);
    }
    n->lane_cache[c].key = key, n->lane_cache[c].lane = l;
    return l;
}

static struct trace_event *add(struct nsys *n, int kind, int64_t t0, int64_t t1) {
    const int64_t most = (int64_t)1 << 60;
    n->t->seen++;
    if (t0 < 0 || t1 < t0 || t1 > most) {
        n->t->dropped++;
        return NULL;
    }
    struct trace_event *e = trace_add(n->t);
    if (e) e->t0 = t0, e->dur = t1 - t0, e->kind = (uint8_t)kind;
    return e;
}

/* ---- tables ----------------------------------------------------------------------------------------------- */

static void read_strings(struct nsys *n) {
    static const char *const columns[] = {"id", "value", NULL};
    if (!scan(n, "StringIds", columns)) return;
    while (next_row(n)) map_put(&n->strings, (uint64_t)whole(n, 0), text(n, 1));
}

/* Nsight Systems numbers kinds of memory otherwise than CUPTI does: the file says how. */
static void read_enums(struct nsys *n) {
    static const char *const columns[] = {"id", "label", "name", NULL};
    if (!scan(n, "ENUM_CUDA_MEM_KIND", columns)) return;
    while (next_row(n)) {
        const char *label = trace_str(n->t, text(n, 1)), *name = trace_str(n->t, text(n, 2));
        if (strstr(label, "Pageable") || strstr(name, "PAGEABLE")) n->pageable = whole(n, 0);
    }
}

static void read_devices(struct nsys *n) {
    static const char *const columns[] = {"id",
                                          "name",
                                          "smCount",
                                          "computeMajor",
                                          "computeMinor",
                                          "totalMemory",
                                          "memoryBandwidth",
                                          "maxWarpsPerSm",
                                          "maxRegistersPerSm",
                                          "maxShmemPerSm",
                                          NULL};
    if (!scan(n, "TARGET_INFO_GPU", columns)) return;
    while (next_row(n)) {
        struct trace_device d = {.id = (int)RG_MIN(u32(n, 0), 1000u)};
        snprintf(d.name, sizeof d.name, "%.60s", trace_str(n->t, text(n, 1)));
        d.sms = (int)RG_MIN(u32(n, 2), 100000u);
        d.cc = (int)(RG_MIN(u32(n, 3), 99u) * 10 + RG_MIN(u32(n, 4), 9u));
        d.memory = RG_MAX(whole(n, 5), 0);
        d.peak_bw = (double)RG_MAX(whole(n, 6), 0);
        d.max_threads_sm = (int)RG_MIN(u32(n, 7), 64u) * 32;
        d.regs_sm = (int)RG_MIN(u32(n, 8), 1u << 20);
        d.smem_sm = (int)RG_MIN(u32(n, 9), 1u << 24);
        if (n->t->devices.n < 64) vec_push(&n->t->arena, &n->t->devices, d);
    }
}

static void read_kernels(struct nsys *n) {
    static const char *const columns[] = {"start",
                                          "end",
                                          "deviceId",
                                          "streamId",
                                          "correlationId",
                                          "globalPid",
                                          "demangledName",
                                          "shortName",
                                          "registersPerThread",
                                          "gridX",
                                          "gridY",
                                          "gridZ",
                                          "blockX",
                                          "blockY",
                                          "blockZ",
                                          "staticSharedMemory",
                                          "dynamicSharedMemory",
                                          "graphNodeId",
                                          NULL};
    if (!scan(n, "CUPTI_ACTIVITY_KIND_KERNEL", columns)) return;
    while (next_row(n)) {
        struct trace_event *e = add(n, TK_KERNEL, whole(n, 0), whole(n, 1));
        if (!e) continue;
        uint32_t name = string_of(n, whole(n, 6));
        e->name = name ? name : string_of(n, whole(n, 7));
        e->kind = (uint8_t)trace_device_kind(trace_str(n->t, e->name));
        e->lane = lane_of(n, LANE_DEVICE, u32(n, 2), u32(n, 3));
        e->corr = correlation(n, whole(n, 5), whole(n, 4));
        if (whole(n, 17)) e->flags |= TF_GRAPH;
        struct trace_kernel_args a = {.regs = u32(n, 8), .smem = u32(n, 15) + u32(n, 16), .known = 3};
        for (int i = 0; i < 3; i++) a.grid[i] = u32(n, 9 + i), a.block[i] = u32(n, 12 + i);
        e->args = trace_intern(n->t, &a, sizeof a);
    }
}

static const struct {
    int kind;
    const char *name;
    uint8_t flags;
} copies[] = {{1, "Memcpy HtoD", TF_H2D}, {2, "Memcpy DtoH", TF_D2H}, {3, "Memcpy HtoA", TF_H2D},
              {4, "Memcpy AtoH", TF_D2H}, {8, "Memcpy DtoD", TF_D2D}, {10, "Memcpy PtoP", TF_D2D}};

static void read_copies(struct nsys *n) {
    static const char *const columns[] = {"start",         "end",       "deviceId",    "streamId",
                                          "correlationId", "globalPid", "bytes",       "copyKind",
                                          "srcKind",       "dstKind",   "graphNodeId", NULL};
    if (!scan(n, "CUPTI_ACTIVITY_KIND_MEMCPY", columns)) return;
    while (next_row(n)) {
        struct trace_event *e = add(n, TK_COPY, whole(n, 0), whole(n, 1));
        if (!e) continue;
        const char *name = "Memcpy";
        e->flags = TF_D2D;
        for (size_t i = 0; i < RG_COUNT(copies); i++)
            if (copies[i].kind == whole(n, 7)) name = copies[i].name, e->flags = copies[i].flags;
        bool pageable = !(e->flags & TF_D2D) && (whole(n, 8) == n->pageable || whole(n, 9) == n->pageable);
        if (pageable) e->flags |= TF_PAGEABLE;
        if (whole(n, 10)) e->flags |= TF_GRAPH;
        e->lane = lane_of(n, LANE_DEVICE, u32(n, 2), u32(n, 3));
        e->corr = correlation(n, whole(n, 5), whole(n, 4));
        struct trace_copy_args c = {RG_MAX(whole(n, 6), 0)};
        e->args = trace_intern(n->t, &c, sizeof c);
        e->name = trace_intern(n->t, name, strlen(name));
    }
}

static void read_sets(struct nsys *n) {
    static const char *const columns[] = {"start",         "end",       "deviceId", "streamId",
                                          "correlationId", "globalPid", "bytes",    NULL};
    if (!scan(n, "CUPTI_ACTIVITY_KIND_MEMSET", columns)) return;
    while (next_row(n)) {
        struct trace_event *e = add(n, TK_SET, whole(n, 0), whole(n, 1));
        if (!e) continue;
        e->lane = lane_of(n, LANE_DEVICE, u32(n, 2), u32(n, 3));
        e->corr = correlation(n, whole(n, 5), whole(n, 4));
        struct trace_copy_args c = {RG_MAX(whole(n, 6), 0)};
        e->args = trace_intern(n->t, &c, sizeof c);
        e->name = trace_intern(n->t, "Memset", 6);
    }
}

/* Whole graphs, where their kernels were not recorded. */
static void read_graphs(struct nsys *n) {
    static const char *const columns[] = {"start",         "end",       "deviceId", "streamId",
                                          "correlationId", "globalPid", NULL};
    if (!scan(n, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns)) return;
    while (next_row(n)) {
        struct trace_event *e = add(n, TK_KERNEL, whole(n, 0), whole(n, 1));
        if (!e) continue;
        e->flags = TF_GRAPH;
        e->lane = lane_of(n, LANE_DEVICE, u32(n, 2), u32(n, 3));
        e->corr = correlation(n, whole(n, 5), whole(n, 4));
        e->name = trace_intern(n->t, "(CUDA graph)", 12);
    }
}

/* "cudaLaunchKernel_v7000" -> "cudaLaunchKernel". */
static uint32_t call_name(struct nsys *n, uint32_t id) {
    const char *s = trace_str(n->t, id), *v = strstr(s, "_v");
    while (v && strstr(v + 1, "_v")) v = strstr(v + 1, "_v");
    bool version = v && v[2] >= '0' && v[2] <= '9' && strspn(v + 2, "0123456789") == strlen(v + 2);
    return version ? trace_intern(n->t, s, (size_t)(v - s)) : id;
}

static void read_calls(struct nsys *n) {
    static const char *const columns[] = {"start", "end", "globalTid", "correlationId", "nameId", NULL};
    if (!scan(n, "CUPTI_ACTIVITY_KIND_RUNTIME", columns)) return;
    while (next_row(n)) {
        struct trace_event *e = add(n, TK_API, whole(n, 0), whole(n, 1));
        if (!e) continue;
        int64_t tid = whole(n, 2);
        e->name = call_name(n, string_of(n, whole(n, 4)));
        e->kind = (uint8_t)trace_api_kind(trace_str(n->t, e->name));
        e->corr = correlation(n, tid, whole(n, 3));
        e->lane = lane_of(n, LANE_HOST, (uint64_t)tid >> 24 & 0xffffff, (uint64_t)tid & 0xffffff);
    }
}

static void read_ranges(struct nsys *n) {
    static const char *const columns[] = {"start", "end", "eventType", "text", "textId", "globalTid", NULL};
    if (!scan(n, "NVTX_EVENTS", columns)) return;
    while (next_row(n)) {
        int64_t type = whole(n, 2), tid = whole(n, 5);
        bool range = type == 59 || type == 60 || type == 70 || type == 71;
        if (!range || whole(n, 1) <= whole(n, 0)) continue;
        struct trace_event *e = add(n, TK_ANNOT, whole(n, 0), whole(n, 1));
        if (!e) continue;
        uint32_t name = text(n, 3);
        e->name = trace_str_len(n->t, name) > 1 ? name : string_of(n, whole(n, 4));
        e->kind = (uint8_t)trace_host_kind(TK_ANNOT, trace_str(n->t, e->name));
        e->lane = lane_of(n, LANE_HOST, (uint64_t)tid >> 24 & 0xffffff, (uint64_t)tid & 0xffffff);
    }
}

static void read_memory(struct nsys *n) {
    static const char *const columns[] = {"start",   "globalPid", "address", "bytes", "memoryOperationType",
                                          "memKind", NULL};
    if (!scan(n, "CUDA_GPU_MEMORY_USAGE_EVENTS", columns)) return;
    while (next_row(n)) {
        struct trace_event *e = add(n, TK_MEM, whole(n, 0), whole(n, 0));
        if (!e) continue;
        int64_t bytes = RG_MIN(RG_MAX(whole(n, 3), 0), (int64_t)1 << 50);
        struct trace_copy_args c = {whole(n, 4) == 1 ? -bytes : bytes};
        e->dur = -1;
        e->flags = c.bytes < 0 ? TF_FREE : 0;
        e->args = trace_intern(n->t, &c, sizeof c);
        e->corr = (uint32_t)whole(n, 2);
        e->aux = (uint32_t)((uint64_t)whole(n, 2) >> 32);
        e->lane = lane_of(n, LANE_HOST, (uint64_t)whole(n, 1) >> 24 & 0xffffff,
                          (uint64_t)whole(n, 1) >> 24 & 0xffffff);
    }
}

static void read_tables(void *arg) {
    struct nsys *n = arg;
    n->q.exec(n->db, "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA temp_store = MEMORY", NULL,
              NULL, NULL);
    n->q.progress_handler(n->db, STEPS_EACH, too_long, n);
    if (!has(n, "StringIds", "value"))
        err_throw(n->t->err, RG_EPARSE,
                  "this SQLite file is no export of Nsight Systems: it has no table StringIds");
    read_strings(n);
    read_enums(n);
    read_devices(n);
    read_kernels(n);
    read_copies(n);
    read_sets(n);
    read_graphs(n);
    read_calls(n);
    read_ranges(n);
    read_memory(n);
    if (n->steps > MOST_STEPS) n->t->truncated = true;
    if (!n->t->n)
        err_throw(
            n->t->err, RG_EPARSE,
            "this export of Nsight Systems has no CUDA events: record with `nsys profile --trace=cuda,nvtx`");
}

bool is_sqlite(const uint8_t *p, size_t n) { return n >= 16 && !memcmp(p, "SQLite format 3", 16); }

void read_nsys(struct trace *t, const char *path) {
    struct nsys *n = arena_new(&t->arena, struct nsys);
    n->t = t;
    if (!path)
        err_throw(t->err, RG_EINVAL,
                  "an export of Nsight Systems (SQLite) is read from a file, uncompressed");
    load_library(n);
    map_init(&n->strings, &t->arena);
    if (n->q.open_v2(path, &n->db, READONLY, NULL)) {
        if (n->db) n->q.close(n->db);
        err_throw(t->err, RG_EIO, "SQLite cannot open it");
    }
    struct err *outer = t->err, inner = {0}; /* the database is closed, whatever is thrown */
    t->err = t->arena.err = &inner;
    int rc = err_guard(&inner, read_tables, n);
    if (n->s) n->q.finalize(n->s);
    n->q.close(n->db);
    t->err = t->arena.err = outer;
    if (rc) err_throw(outer, inner.code, "%s", inner.msg);
    t->format = TRACE_NSYS;
    trace_finish(t);
}
