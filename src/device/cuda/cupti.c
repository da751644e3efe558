/* cupti.c: kernel and copy times by CUPTI, without synchronizing.
 *
 * CUPTI, if it is there, fills buffers with a record for each kernel, copy and memset, those of replayed graphs too. Records
 * become events (event_add_row), one row per stream; the driver runs branches of a graph on internal streams, whose
 * kernels are shown on the row of the stream that the graph was launched on. While a profile is recorded every launch
 * leaves a `struct cuda_traced`: the names of its kernels. CUPTI calls back inside the launch with the correlation id that its
 * records will carry; of a graph's kernels it also gives the node, whose id was noted when the graph was instantiated
 * (GRAPHNODE_CLONED). A builtin of several kernels is one event, from the first to the last.
 * Only fields are read that have the same offset in all versions from CUDA 11.2 to 13 (tests/fake/cupti.c has them as
 * numbers); other versions are not used. A record that is truncated or inconsistent is counted or shown under its own
 * name; nothing here can fail a program. Without CUPTI launches are timed one by one (cuda_launch).
 * Records arrive in a thread of CUPTI's. Two locks: `list_lock` is held while devices are synchronized, `lock` briefly, and
 * never around a call of the driver or of CUPTI that may call back.
 * Tests: tests/unit/cupti.c (a library that stands in), tests/unit/cuda.c (need a GPU) */
#include "device/cuda/internal.h"
#include "event/event.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { BUFFER = 4 << 20, BUCKETS = 4096, FLUSH_MS = 500, OK_TIME = 1000000000 };
enum {
    OLDEST = 15,
    NEWEST_PLAIN = 99,
    FIRST_LONG = 130000,
    LAST_LONG = 139999
}; /* versions: 15 .., then 130000 */
enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_KERNEL = 10 };
enum { ON_DRIVER_API = 1, ON_RESOURCE = 3, ON_LAUNCH = 307, ON_GRAPH_LAUNCH = 514, ON_NODE_CLONED = 20 };

/* CUpti_CallbackData, CUpti_ResourceData, CUpti_GraphData */
struct api_data {
    int site; /* 0: before the call */
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    cu_context context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};
struct resource_data {
    cu_context context;
    void *handle;
    const void *about;
};
struct graph_data {
    cu_graph graph, original_graph;
    cu_node node, original_node;
};

/* Fields read of a record: offsets in bytes. */
struct layout {
    uint32_t start, end, device, stream, correlation, node, bytes, size;
};
static const struct layout kernel_at = {16, 24, 40, 48, 92, 144, 0, 160};
static const struct layout copy_at = {16, 24, 32, 40, 44, 64, 8, 72}; /* memsets too */
enum { KERNEL_NAME = 104, COPY_KIND = 4 };

#define CUPTI(X)                                                                                             \
    X(version, "cuptiGetVersion", (uint32_t *))                                                              \
    X(error_text, "cuptiGetResultString", (int, const char **))                                              \
    X(now, "cuptiGetTimestamp", (uint64_t *))                                                                \
    X(subscribe, "cuptiSubscribe", (void **, void (*)(void *, int, uint32_t, const void *), void *))         \
    X(unsubscribe, "cuptiUnsubscribe", (void *))                                                             \
    X(callback, "cuptiEnableCallback", (uint32_t, void *, int, uint32_t))                                    \
    X(buffers, "cuptiActivityRegisterCallbacks",                                                             \
      (void (*)(uint8_t **, size_t *, size_t *), void (*)(cu_context, uint32_t, uint8_t *, size_t, size_t))) \
    X(enable, "cuptiActivityEnable", (int))                                                                  \
    X(disable, "cuptiActivityDisable", (int))                                                                \
    X(next, "cuptiActivityGetNextRecord", (uint8_t *, size_t, uint8_t **))                                   \
    X(dropped, "cuptiActivityGetNumDroppedRecords", (cu_context, uint32_t, size_t *))                        \
    X(flush, "cuptiActivityFlushAll", (uint32_t))                                                            \
    X(flush_period, "cuptiActivityFlushPeriod", (uint32_t))                                                  \
    X(node_id, "cuptiGetGraphNodeId", (cu_node, uint64_t *))                                                 \
    X(stream_id, "cuptiGetStreamIdEx", (cu_context, cu_stream, uint8_t, uint32_t *))

struct cupti {
#define X(field, symbol, arguments) int(*field) arguments;
    CUPTI(X)
#undef X
};

struct traced_unit { /* one launch of the engine's */
    uint32_t name, info;
    int64_t ops, bytes;
    uint32_t left; /* kernels without a record yet */
    uint16_t row;
    uint64_t t0, t1; /* of the records so far; 0: none */
};
struct traced_key { /* a correlation id */
    struct traced_key *next;
    uint32_t correlation;
    struct cuda_traced *of;
};
struct cuda_traced {
    struct cuda_traced *next, *last; /* list of all that wait for records */
    struct cuda_nodes *nodes;        /* of a graph */
    uint32_t number, left, units;
    uint32_t stream; /* launch stream, by CUPTI's id; 0 unknown */
    /* a candidate of a search, or recording is not on yet: no event */
    bool hidden;
    struct traced_unit unit[];
};
struct node_id {
    uint64_t id;
    cu_node made_of;
    uint32_t unit;
};
struct cuda_nodes {
    uint32_t refs, n, known, at; /* at: where the next search starts */
    struct node_id node[];
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
/* State of the module. */
static struct {
    /* under list_lock: */
    struct cuda_device *devices; /* open ones */
    struct cupti api;            /* once `loaded` */
    char path[512];
    bool loaded;
    uint32_t version;
    void *subscriber;
    atomic_bool active;
    pid_t owner;         /* a forked child has neither the GPU nor CUPTI's threads: it does nothing */
    atomic_uint refused; /* the recording for which a missing CUPTI was reported */
    /* under lock: */
    bool trying;   /* kernels that are launched now measure what recording costs: no events */
    uint64_t lost; /* unusable records */
    struct cuda_traced *waiting;
    struct traced_key *bucket[BUCKETS];
    uint32_t launches;
    int64_t to_host; /* ns from CUPTI's clock to the host's */
    uint64_t began;
} cu;

static _Thread_local struct cuda_traced *asking; /* what this thread launches now */
static _Thread_local struct cuda_nodes *cloning; /* the graph that this thread makes ready now */

/* ---- launches that wait for their records ------------------------------------------------------------------------- */

static void nodes_drop(struct cuda_nodes *x) {
    if (x && !--x->refs) mem_free(x);
}

/* Under the lock, as all of these. Keys are left only where a launch failed half way. */
static void traced_drop(struct cuda_traced *t) {
    for (uint32_t b = 0; b < BUCKETS && t->left; b++)
        for (struct traced_key **k = &cu.bucket[b], *x; (x = *k);) {
            if (x->of != t) {
                k = &x->next;
                continue;
            }
            *k = x->next;
            mem_free(x);
        }
    if (t->next) t->next->last = t->last;
    *(t->last ? &t->last->next : &cu.waiting) = t->next;
    nodes_drop(t->nodes);
    mem_free(t);
}

static void emit(const struct cuda_traced *t, const struct traced_unit *u) {
    if (!t->hidden && u->t0)
        event_add_row(EVENT_KERNEL, u->name, u->info, u->row, t->number, u->t0, u->t1, u->ops, u->bytes);
}

/* Missing records, or records known to be lost: one may explain the other. */
static uint64_t give_up_all(void) {
    uint64_t never = 0;
    for (uint32_t b = 0; b < BUCKETS; b++)
        for (struct traced_key *k; (k = cu.bucket[b]);) {
            cu.bucket[b] = k->next;
            mem_free(k);
        }
    while (cu.waiting) {
        struct cuda_traced *t = cu.waiting;
        for (uint32_t i = 0; i < t->units; i++)
            if (t->unit[i].left) emit(t, &t->unit[i]);
        if (!t->hidden) never += t->left;
        t->left = 0;
        traced_drop(t);
    }
    return RG_MAX(never, cu.lost);
}

void cuda_trace_begin(struct cuda_trace *x, struct cuda_device *d, uint32_t units, struct cuda_nodes *nodes) {
    *x = (struct cuda_trace){0};
    if (!cuda_tracing()) return;
    size_t size = sizeof *x->t + units * sizeof *x->t->unit;
    struct cuda_traced *t = mem_alloc(size);
    if (!t) return;
    memset(t, 0, size);
    t->units = units;
    if (cu.api.stream_id(d->context, d->stream, 0, &t->stream)) t->stream = 0;
    t->hidden = !event_recording_kind(EVENT_KERNEL);
    pthread_mutex_lock(&lock);
    t->number = ++cu.launches;
    if ((t->next = cu.waiting)) cu.waiting->last = t;
    cu.waiting = t;
    if ((t->nodes = nodes)) nodes->refs++;
    pthread_mutex_unlock(&lock);
    *x = (struct cuda_trace){.t = t, .number = t->number, .t0 = os_now_ns()};
    asking = t;
}

void cuda_trace_unit(struct cuda_trace *x, uint32_t i, const struct dev_launch *l, uint32_t kernels) {
    if (!x->t) return;
    x->t->unit[i] = (struct traced_unit){l->name, l->info, l->ops, l->bytes, kernels, 0, 0, 0};
    x->t->left += kernels;
    x->t->hidden |= l->limit != 0;
    x->hidden = x->t->hidden;
    x->name = x->t->units == 1 ? l->name : 0;
    x->kernels += kernels;
}

/* The launch may be gone, with all its records: looked up. */
void cuda_trace_end(struct cuda_trace *x, int code) {
    if (!x->t) return;
    asking = NULL;
    if (!code && !x->hidden)
        event_add(EVENT_LAUNCH, x->name ? x->name : event_name("graph"), x->t0, os_now_ns(), x->kernels,
                  x->number);
    if (!code) return;
    pthread_mutex_lock(&lock);
    struct cuda_traced *t = cu.waiting;
    while (t && t->number != x->number) t = t->next;
    if (t) traced_drop(t);
    pthread_mutex_unlock(&lock);
}

bool cuda_tracing(void) { return atomic_load_explicit(&cu.active, memory_order_relaxed); }

/* ---- nodes of graphs ------------------------------------------------------------------------------------------------ */

struct cuda_nodes *cuda_nodes_begin(uint32_t n) {
    if (!cuda_tracing()) return NULL;
    struct cuda_nodes *x = mem_alloc(sizeof *x + n * sizeof *x->node);
    if (!x) return NULL;
    memset(x, 0, sizeof *x + n * sizeof *x->node);
    x->refs = 1, x->n = n;
    return cloning = x;
}

void cuda_nodes_add(struct cuda_nodes *x, uint32_t i, cu_node made_of, uint32_t unit) {
    if (x) x->node[i] = (struct node_id){0, made_of, unit};
}

static int by_id(const void *x, const void *y) {
    const struct node_id *a = x, *b = y;
    return a->id < b->id ? -1 : a->id > b->id;
}

struct cuda_nodes *cuda_nodes_end(struct cuda_nodes *x) {
    cloning = NULL;
    if (!x) return NULL;
    if (x->known != x->n) { /* CUPTI did not report all of them */
        mem_free(x);
        return NULL;
    }
    qsort(x->node, x->n, sizeof *x->node, by_id);
    return x;
}

void cuda_nodes_free(struct cuda_nodes *x) {
    pthread_mutex_lock(&lock);
    nodes_drop(x);
    pthread_mutex_unlock(&lock);
}

static struct traced_unit *unit_of_node(struct cuda_traced *t, uint64_t id) {
    uint32_t lo = 0, hi = t->nodes ? t->nodes->n : 0;
    if (!t->nodes) return NULL;
    while (lo < hi) {
        uint32_t m = (lo + hi) / 2;
        if (t->nodes->node[m].id < id)
            lo = m + 1;
        else
            hi = m;
    }
    return lo < t->nodes->n && t->nodes->node[lo].id == id ? &t->unit[t->nodes->node[lo].unit] : NULL;
}

/* ---- what CUPTI calls ------------------------------------------------------------------------------------------------ */

static void on_clone(const struct graph_data *g) {
    struct cuda_nodes *x = cloning;
    uint64_t id = 0;
    if (cu.api.node_id(g->node, &id) || !id) return;
    for (uint32_t i = 0; i < x->n; i++) {
        struct node_id *n = &x->node[(x->at + i) % x->n];
        if (n->made_of != g->original_node) continue;
        if (!n->id) x->known++;
        n->id = id;
        x->at = (x->at + i + 1) % x->n;
        return;
    }
}

static void on_launch(uint32_t correlation) {
    struct traced_key *k = mem_alloc(sizeof *k);
    if (!k) return;
    pthread_mutex_lock(&lock);
    struct traced_key **at = &cu.bucket[correlation % BUCKETS];
    *k = (struct traced_key){*at, correlation, asking};
    *at = k;
    pthread_mutex_unlock(&lock);
}

static void on_call(void *user, int domain, uint32_t id, const void *data) {
    (void)user;
    if (domain == ON_RESOURCE && id == ON_NODE_CLONED && cloning && data) {
        const struct resource_data *r = data;
        if (r->about) on_clone(r->about);
    } else if (domain == ON_DRIVER_API && (id == ON_LAUNCH || id == ON_GRAPH_LAUNCH) && asking && data) {
        const struct api_data *d = data;
        if (!d->site) on_launch(d->correlation);
    }
}

static void on_buffer_wanted(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = mem_alloc(BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most = 0;
}

/* ---- records ---------------------------------------------------------------------------------------------------------- */

static uint64_t number_at(const uint8_t *r, uint32_t at) {
    uint64_t x;
    memcpy(&x, r + at, sizeof x);
    return x;
}
static uint32_t small_at(const uint8_t *r, uint32_t at) {
    uint32_t x;
    memcpy(&x, r + at, sizeof x);
    return x;
}

struct record {
    uint64_t t0, t1;
    uint16_t row;
    uint32_t correlation;
};

/* False: not timed, or inconsistent. */
static bool read_record(const uint8_t *r, const struct layout *at, struct record *out) {
    uint64_t start = number_at(r, at->start), end = number_at(r, at->end), now = os_now_ns();
    uint64_t t0 = start + (uint64_t)cu.to_host, t1 = end + (uint64_t)cu.to_host;
    if (!start || end < start || t0 + OK_TIME < cu.began || t1 > now + OK_TIME) return false;
    *out = (struct record){t0, t1, event_row(small_at(r, at->device), small_at(r, at->stream)),
                           small_at(r, at->correlation)};
    return true;
}

static struct traced_key **key_of(uint32_t correlation) {
    struct traced_key **k = &cu.bucket[correlation % BUCKETS];
    while (*k && (*k)->correlation != correlation) k = &(*k)->next;
    return k;
}

/* Of another library, or of an unknown graph: under its own name. */
static void emit_unknown(const uint8_t *r, const struct record *x, uint32_t number) {
    const char *name;
    if (x->t0 < event_record_since()) return;
    memcpy(&name, r + KERNEL_NAME, sizeof name);
    event_add_row(EVENT_KERNEL, event_name(name ? name : "kernel"), 0, x->row, number, x->t0, x->t1, 0, 0);
}

static void kernel_record(const uint8_t *r) {
    struct record x = {0};
    struct traced_key **at = key_of(small_at(r, kernel_at.correlation)), *k = *at;
    bool good = read_record(r, &kernel_at, &x);
    cu.lost += !good;
    if (!k) {
        if (good && !cu.trying) emit_unknown(r, &x, 0);
        return;
    }
    struct cuda_traced *t = k->of;
    uint64_t node = number_at(r, kernel_at.node);
    if (node && t->stream) x.row = event_row(small_at(r, kernel_at.device), t->stream);
    struct traced_unit *u = t->units == 1 && !t->nodes ? &t->unit[0] : unit_of_node(t, node);
    if (good && !u && !t->hidden) emit_unknown(r, &x, t->number);
    if (u && u->left) {
        u->row = x.row;
        if (good) u->t0 = u->t0 ? RG_MIN(u->t0, x.t0) : x.t0, u->t1 = RG_MAX(u->t1, x.t1);
        if (!--u->left) emit(t, u);
    }
    if (t->left) t->left--;
    if (t->left && node) return; /* shared by the nodes of a graph */
    *at = k->next;
    mem_free(k);
    if (!t->left) traced_drop(t);
}

static void copy_record(const uint8_t *r, bool fill) {
    static const char *const name[] = {"copy to the GPU", "copy from the GPU", "copy on the GPU", "fill"};
    struct record x;
    int kind = fill ? 3 : r[COPY_KIND] == 1 ? 0 : r[COPY_KIND] == 2 ? 1 : 2;
    if (!read_record(r, &copy_at, &x))
        cu.lost++;
    else if (x.t0 >= event_record_since())
        event_add_row(EVENT_COPY, event_name(name[kind]), 0, x.row, 0, x.t0, x.t1,
                      (int64_t)number_at(r, copy_at.bytes), RG_MIN(kind, 2));
}

/* CUPTI has another clock: the offset is measured again with each buffer. */
static void look_at_clocks(void) {
    uint64_t best = UINT64_MAX, theirs;
    int64_t found = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t a = os_now_ns();
        if (cu.api.now(&theirs)) return;
        uint64_t b = os_now_ns();
        if (b - a < best) best = b - a, found = (int64_t)(a + (b - a) / 2 - theirs);
    }
    pthread_mutex_lock(&lock);
    if (found) cu.to_host = found;
    pthread_mutex_unlock(&lock);
}

static void on_buffer_done(cu_context context, uint32_t stream, uint8_t *buffer, size_t size, size_t used) {
    uint8_t *r = NULL;
    size_t missing = 0;
    if (!buffer) return;
    used = RG_MIN(used, RG_MIN(size, (size_t)BUFFER));
    look_at_clocks();
    pthread_mutex_lock(&lock);
    while (used && !cu.api.next(buffer, used, &r) && r) {
        uint32_t kind = 0;
        size_t room = r >= buffer && r < buffer + used ? used - (size_t)(r - buffer) : 0;
        if (room >= sizeof kind) kind = small_at(r, 0);
        uint32_t need = kind == KIND_KERNEL ? kernel_at.size : copy_at.size;
        if (kind != KIND_KERNEL && kind != KIND_MEMCPY && kind != KIND_MEMSET && room >= sizeof kind)
            continue;
        if (room < need) { /* cut */
            cu.lost++;
            break;
        }
        if (kind == KIND_KERNEL)
            kernel_record(r);
        else
            copy_record(r, kind == KIND_MEMSET);
    }
    pthread_mutex_unlock(&lock);
    mem_free(buffer);
    if (!cu.api.dropped(context, stream, &missing) && missing) {
        pthread_mutex_lock(&lock);
        cu.lost += missing;
        pthread_mutex_unlock(&lock);
    }
}

/* ---- on and off ------------------------------------------------------------------------------------------------------- */

static int load(struct err *e) {
    const char *const named = env_str(ENV_CUPTI), *home = env_get("CUDA_HOME");
    char at_home[2][600];
    for (int i = 0; i < 2; i++)
        snprintf(at_home[i], sizeof at_home[i], "%.500s/%s/libcupti.so*",
                 home && *home ? home : "/usr/local/cuda", i ? "lib64" : "extras/CUPTI/lib64");
    const char *const where[] = {named && *named ? named : "libcupti.so.13",
                                 "libcupti.so.12",
                                 at_home[0],
                                 at_home[1],
                                 "/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so*",
                                 "/usr/local/cuda*/lib*/libcupti.so*",
                                 "/usr/local/cuda*/targets/*/lib/libcupti.so*",
                                 "libcupti.so"};
    if (named && !strcmp(named, "0")) return err_set(e, RG_EDEVICE, "RIDGE_CUPTI is 0");
    void *lib = cuda_load_first(where, named && *named ? 1 : RG_COUNT(where), cu.path, sizeof cu.path);
    if (!lib)
        return err_set(e, RG_EDEVICE,
                       named && *named ? "RIDGE_CUPTI names no library that loads" : "CUPTI not found");
#define X(field, symbol, arguments)                                                                  \
    if (!(*(void **)&cu.api.field = os_dlsym(lib, symbol)))                                          \
        return err_set(e, RG_EDEVICE, "%s has no function %s: it is no CUPTI of CUDA 11.2 or later", \
                       cu.path, symbol);
    CUPTI(X)
#undef X
    if (cu.api.version(&cu.version)) return err_set(e, RG_EDEVICE, "%s does not say its version", cu.path);
    if (cu.version < OLDEST || (cu.version > NEWEST_PLAIN && cu.version < FIRST_LONG) ||
        cu.version > LAST_LONG)
        return err_set(e, RG_EDEVICE, "%s has version %u; known are those of CUDA 11.2 to 13", cu.path,
                       cu.version);
    cu.loaded = true;
    return 0;
}

const char *cupti_version(struct err *e, struct arena *a) {
    pthread_mutex_lock(&list_lock);
    bool bad = !cu.loaded && load(e);
    pthread_mutex_unlock(&list_lock);
    return bad ? NULL : arena_printf(a, "CUPTI, version %u (%s)", cu.version, cu.path);
}

static const struct {
    int domain;
    uint32_t id;
} calls[] = {{ON_DRIVER_API, ON_LAUNCH}, {ON_DRIVER_API, ON_GRAPH_LAUNCH}, {ON_RESOURCE, ON_NODE_CLONED}};
static const int kinds[] = {KIND_KERNEL, KIND_MEMCPY, KIND_MEMSET};

static void switch_off(void) {
    for (size_t i = 0; i < RG_COUNT(kinds); i++) cu.api.disable(kinds[i]);
    for (size_t i = 0; i < RG_COUNT(calls); i++)
        cu.api.callback(0, cu.subscriber, calls[i].domain, calls[i].id);
    cu.api.unsubscribe(cu.subscriber);
    cu.subscriber = NULL;
}

static int fail(struct err *e, int code) {
    const char *text = NULL;
    cu.api.error_text(code, &text);
    return err_set(e, RG_EDEVICE, "CUPTI refused: %s (%d); another profiler may be using it",
                   text ? text : "?", code);
}

static int switch_on(struct err *e) {
    int code = 0;
    if ((code = cu.api.subscribe(&cu.subscriber, on_call, NULL))) return fail(e, code);
    for (size_t i = 0; i < RG_COUNT(calls) && !code; i++)
        code = cu.api.callback(1, cu.subscriber, calls[i].domain, calls[i].id);
    if (!code) code = cu.api.buffers(on_buffer_wanted, on_buffer_done);
    for (size_t i = 0; i < RG_COUNT(kinds) && !code; i++) code = cu.api.enable(kinds[i]);
    if (code) {
        switch_off();
        return fail(e, code);
    }
    cu.api.flush_period(FLUSH_MS); /* a program that is killed loses no more */
    look_at_clocks();
    cu.began = os_now_ns();
    cu.lost = 0;
    return 0;
}

static void say_lost(uint64_t n) {
    char text[120];
    if (!n) return;
    snprintf(text, sizeof text, "CUPTI lost the times of %llu kernels or copies", (unsigned long long)n);
    uint64_t now = os_now_ns();
    event_add_info(EVENT_NOTE, event_name(text), event_name("record fewer steps"), now, now, 0, 0);
}

/* Synchronizes, so that all times are in the recording. */
static void trace_off(void) {
    bool hung = false;
    if (!cuda_tracing() || getpid() != cu.owner) return;
    pthread_mutex_lock(&list_lock);
    if (atomic_exchange(&cu.active, false)) {
        for (struct cuda_device *d = cu.devices; d; d = d->next_open) {
            struct err ignore = {0};
            hung |= d->hung;
            if (!d->lost && !cuda_enter(d, &ignore))
                d->cu->stream_wait(d->stream), d->cu->stream_wait(d->copies);
        }
        if (!hung) cu.api.flush(1);
        switch_off();
        pthread_mutex_lock(&lock);
        uint64_t n = give_up_all();
        pthread_mutex_unlock(&lock);
        say_lost(n);
    }
    pthread_mutex_unlock(&list_lock);
}

static void note(struct cuda_device *d, const struct err *e) {
    char text[400];
    uint64_t now = os_now_ns();
    if (e)
        snprintf(text, sizeof text, "kernels of %s were timed one by one, so that nothing overlaps: %.250s",
                 d->info.name, e->msg);
    else
        snprintf(text, sizeof text, "%s timed its kernels and copies itself, by CUPTI (version %u)",
                 d->info.name, cu.version);
    const char *todo = e ? "install CUPTI (it is part of the CUDA toolkit), or name it by RIDGE_CUPTI" : "";
    event_add_info(EVENT_NOTE, event_name(text), event_name(todo), now, now, 0, 0);
    log_line(1, "%s", text);
}

static void set_trying(bool on) {
    pthread_mutex_lock(&lock);
    cu.trying = on;
    pthread_mutex_unlock(&lock);
}

/* What timing a kernel adds on the device from one to the next, and what the host took for it in a graph before; the arguments:
 * both without recording. */
static void note_cost(struct cuda_device *d, uint64_t gap, uint64_t launch) {
    char text[64];
    set_trying(true);
    uint64_t gap_recorded = gap ? cuda_turnaround(d) : 0, now = os_now_ns();
    cu.api.flush(1);
    set_trying(false);
    gap = gap_recorded > gap ? gap_recorded - gap : 0;
    if (!gap && !launch) return;
    snprintf(text, sizeof text, "kernel record %llu %llu", (unsigned long long)gap,
             (unsigned long long)launch);
    event_add_info(EVENT_NOTE, event_name(text), 0, now, now, 0, 0);
}

/* The driver takes itself down in a handler of its own, which was registered before this one and so runs later. */
static void once_for_all(void) {
    event_before_off(trace_off);
    atexit(trace_off);
}

bool cuda_trace(struct device *dev) {
    struct cuda_device *d = cuda_of(dev);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct err e = {0};
    uint32_t file = event_record_file();
    if (cuda_tracing()) return true;
    if (!file || atomic_load(&cu.refused) == file) return false;
    pthread_mutex_lock(&list_lock);
    if (!cuda_tracing()) {
        struct event_span own = event_begin(EVENT_PROFILER, 0);
        bool found = cu.loaded || !load(&e);
        uint64_t gap = found ? cuda_turnaround(d) : 0, launch = found ? cuda_graph_launch_ns(d) : 0;
        if (!found || switch_on(&e)) {
            atomic_store(&cu.refused, file);
        } else {
            note_cost(d, gap, launch);
            pthread_once(&once, once_for_all);
            cu.owner = getpid();
            atomic_store(&cu.active, true);
        }
        event_end(own, 0, 0);
        note(d, e.code ? &e : NULL);
    }
    pthread_mutex_unlock(&list_lock);
    return !e.code;
}

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

void cuda_trace_open(struct cuda_device *d) {
    pthread_mutex_lock(&list_lock);
    d->next_open = cu.devices;
    cu.devices = d;
    pthread_mutex_unlock(&list_lock);
}

/* What it ran is noted before it is gone. */
void cuda_trace_close(struct cuda_device *d) {
    if (cuda_tracing() && !d->lost) {
        d->cu->stream_wait(d->stream), d->cu->stream_wait(d->copies);
        cu.api.flush(0);
    }
    pthread_mutex_lock(&list_lock);
    for (struct cuda_device **at = &cu.devices; *at; at = &(*at)->next_open)
        if (*at == d) {
            *at = d->next_open;
            break;
        }
    pthread_mutex_unlock(&list_lock);
}
