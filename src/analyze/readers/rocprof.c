/* rocprof.c: reads the JSON of rocprofv3 (`rocprofv3 --output-format json`, rocprofiler-sdk-tool): kernels, copies, HIP and RCCL calls.
 *
 * One element of the file is a process: agents, kernel symbols, names of operations, then arrays of records. An array's elements are
 * read one at a time, so a file of any size takes the window's memory. Names may stand before or after the records that use them: records
 * keep ids until the end. A queue of an agent is a lane, as a stream is elsewhere. HSA calls are inside HIP's and are left out.
 * Tests: tests/unit/rocprof.c */
#include "analyze/readers/json.h"

#include <stdlib.h>

enum { AGENT_GPU = 2, KEY_BYTES = 40, MOST_AGENTS = 256 };

struct rocprof_agent {
    uint64_t handle;
    bool gpu;
    int32_t id; /* of the GPU among GPUs */
};
struct rocprof {
    struct trace *t;
    struct input *in;
    struct scan s;
    size_t pos;
    struct map kernels, operations; /* kernel id -> trace_str; kind << 32 | operation -> trace_str */
    VEC(struct rocprof_agent) agents;
    uint32_t kinds;
};

/* ---- the stream ------------------------------------------------------------------------------------------- */

/* The next byte that is neither space nor comma, at r->pos; 0: the end. */
static uint8_t peek(struct rocprof *r) {
    for (;;) {
        const uint8_t *p = js_space(r->in->buf + r->pos);
        while (*p == ',') p = js_space(p + 1);
        r->pos = (size_t)(p - r->in->buf);
        if (r->pos < r->in->len) return *p;
        if (!input_more(r->in, r->in->len)) return 0;
        r->pos = 0;
    }
}

/* A whole value; its slice lives until the next call. */
static bool take(struct rocprof *r, struct slice *v) {
    if (!peek(r)) return false;
    for (;;) {
        r->s.end = r->in->buf + r->in->len;
        const uint8_t *p = js_value(&r->s, r->in->buf + r->pos, v);
        if (p) return r->pos = (size_t)(p - r->in->buf), true;
        if (r->s.bad || !input_more(r->in, r->pos)) return false;
        r->pos = 0;
    }
}

static bool take_key(struct rocprof *r, char key[KEY_BYTES]) {
    struct slice v;
    if (peek(r) != '"' || !take(r, &v)) return false;
    snprintf(key, KEY_BYTES, "%.*s", (int)RG_MIN(v.n, (uint32_t)KEY_BYTES - 1), (const char *)v.p);
    if (peek(r) != ':') return false;
    r->pos++;
    return true;
}

/* ---- one element -------------------------------------------------------------------------------------------- */

/* The value of a key of an object, {0} where it has none. */
static struct slice field(const struct slice *object, const char *key) {
    struct scan s = {.end = object->p + object->n};
    const uint8_t *p = object->p + 1;
    struct slice k, v;
    if (!object->n || *object->p != '{') return (struct slice){0};
    for (;;) {
        p = js_space(p);
        if (*p == ',') p = js_space(p + 1);
        if (p >= s.end || *p != '"' || !(p = js_key(&s, p + 1, &k)) || !(p = js_value(&s, p, &v)))
            return (struct slice){0};
        if (js_is(&k, key)) return v;
    }
}
static int64_t number(const struct slice *object, const char *key) {
    struct slice v = field(object, key);
    return v.n ? js_slice_int(&v) : 0;
}
static uint32_t small(const struct slice *object, const char *key) {
    int64_t x = number(object, key);
    return x < 0 ? 0 : x > UINT32_MAX ? UINT32_MAX : (uint32_t)x;
}
static uint64_t handle(const struct slice *object, const char *key) {
    struct slice v = field(object, key);
    return (uint64_t)number(&v, "handle");
}
static uint32_t text(struct trace *t, const struct slice *v) {
    char buf[4096];
    if (!v->n) return 0;
    if (!v->esc) return trace_intern(t, v->p, RG_MIN(v->n, 16384u));
    return trace_intern(t, buf, js_unescape(v, buf, sizeof buf));
}
static uint32_t number_text(struct trace *t, uint64_t x) {
    char b[24];
    return trace_intern(t, b, (size_t)snprintf(b, sizeof b, "%llu", (unsigned long long)x));
}

static void add_agent(struct rocprof *r, const struct slice *v) {
    struct trace *t = r->t;
    struct rocprof_agent a = {handle(v, "id"), number(v, "type") == AGENT_GPU,
                              (int32_t)RG_MIN(small(v, "logical_node_type_id"), 1000u)};
    if (r->agents.n < MOST_AGENTS) vec_push(&t->arena, &r->agents, a);
    if (!a.gpu || t->devices.n >= 64) return;
    struct trace_device d = {.id = a.id, .sms = (int)RG_MIN(small(v, "cu_count"), 100000u)};
    struct slice name = field(v, "product_name"), banks = field(v, "mem_banks");
    snprintf(d.name, sizeof d.name, "%.*s", (int)RG_MIN(name.n, 60u), (const char *)name.p);
    if (banks.n > 2) banks.p++, banks.n--, d.memory = RG_MAX(number(&banks, "size_in_bytes"), 0);
    d.max_threads_sm =
        (int)(RG_MIN(small(v, "max_waves_per_cu"), 1024u) * RG_MIN(small(v, "wave_front_size"), 64u));
    d.smem_sm = (int)RG_MIN(small(v, "lds_size_in_kb"), 1u << 14) * 1024;
    vec_push(&t->arena, &t->devices, d);
}

static void add_symbol(struct rocprof *r, const struct slice *v) {
    struct slice name = field(v, "formatted_kernel_name");
    if (!name.n) name = field(v, "kernel_name");
    map_put(&r->kernels, (uint64_t)number(v, "kernel_id"), text(r->t, &name));
}

/* {"kind": "HIP_RUNTIME_API", "operations": ["hipApiName", ..]}: both are numbered by their index. */
static void add_kind(struct rocprof *r, const struct slice *v) {
    struct slice list = field(v, "operations"), name;
    struct scan s = {.end = list.p + list.n};
    const uint8_t *p = list.p + 1;
    uint64_t kind = r->kinds++;
    for (uint32_t i = 0; list.n && *list.p == '['; i++) {
        p = js_space(p);
        if (*p == ',') p = js_space(p + 1);
        if (p >= s.end || *p == ']' || !(p = js_value(&s, p, &name))) return;
        map_put(&r->operations, kind << 32 | i, text(r->t, &name));
    }
}

/* ---- records -------------------------------------------------------------------------------------------------- */

static struct trace_event *add(struct rocprof *r, const struct slice *v, int kind) {
    int64_t t0 = number(v, "start_timestamp"), t1 = number(v, "end_timestamp");
    struct slice id = field(v, "correlation_id");
    r->t->seen++;
    if (t0 <= 0 || t1 < t0 || t1 > (int64_t)1 << 60) return r->t->dropped++, NULL;
    struct trace_event *e = trace_add(r->t);
    if (!e) return NULL;
    e->t0 = t0, e->dur = t1 - t0, e->kind = (uint8_t)kind, e->corr = small(&id, "internal");
    return e;
}

static const struct rocprof_agent *agent_of(const struct rocprof *r, uint64_t handle) {
    for (uint32_t i = 0; i < r->agents.n; i++)
        if (r->agents.p[i].handle == handle) return &r->agents.p[i];
    return NULL;
}

static uint16_t device_lane(struct rocprof *r, uint64_t agent, uint64_t queue) {
    const struct rocprof_agent *a = agent_of(r, agent);
    uint64_t device = a ? (uint64_t)a->id : RG_MIN(agent, 1000u);
    uint16_t l = trace_lane(r->t, LANE_DEVICE, number_text(r->t, device), number_text(r->t, queue));
    r->t->lanes.p[l].device = (int32_t)device;
    r->t->lanes.p[l].stream = (int32_t)RG_MIN(queue, 1000000u);
    return l;
}

static void triple(const struct slice *v, uint32_t out[3]) {
    out[0] = small(v, "x"), out[1] = small(v, "y"), out[2] = small(v, "z");
}

/* HSA's grid counts threads. aux: the kernel's id, until all names are known. */
static void add_kernel(struct rocprof *r, const struct slice *v) {
    struct trace_event *e = add(r, v, TK_KERNEL);
    if (!e) return;
    struct slice info = field(v, "dispatch_info"), grid = field(&info, "grid_size"),
                 block = field(&info, "workgroup_size");
    struct trace_kernel_args a = {.smem = small(&info, "group_segment_size"), .known = 1};
    triple(&grid, a.grid), triple(&block, a.block);
    for (int i = 0; i < 3; i++)
        if (a.block[i]) a.grid[i] = a.grid[i] / a.block[i] + (a.grid[i] % a.block[i] != 0);
    e->aux = small(&info, "kernel_id");
    e->lane = device_lane(r, handle(&info, "agent_id"), handle(&info, "queue_id"));
    e->args = trace_intern(r->t, &a, sizeof a);
}

static void add_copy(struct rocprof *r, const struct slice *v) {
    struct trace_event *e = add(r, v, TK_COPY);
    if (!e) return;
    uint64_t from = handle(v, "src_agent_id"), to = handle(v, "dst_agent_id");
    const struct rocprof_agent *a = agent_of(r, from), *b = agent_of(r, to);
    bool out = a && a->gpu, in = b && b->gpu;
    const char *name = in && out ? "Memcpy DtoD" : in ? "Memcpy HtoD" : out ? "Memcpy DtoH" : "Memcpy HtoH";
    struct trace_copy_args c = {RG_MAX(number(v, "bytes"), 0)};
    e->flags = in && out ? TF_D2D : in ? TF_H2D : TF_D2H;
    e->lane = device_lane(r, in ? to : from, 0);
    e->args = trace_intern(r->t, &c, sizeof c);
    e->name = trace_intern(r->t, name, strlen(name));
}

/* name: the kind and the number of the operation, until all names are known. */
static void add_call(struct rocprof *r, const struct slice *v) {
    struct trace_event *e = add(r, v, TK_API);
    if (!e) return;
    uint64_t thread = (uint64_t)RG_MAX(number(v, "thread_id"), 0);
    e->lane = trace_lane(r->t, LANE_HOST, number_text(r->t, 0), number_text(r->t, thread));
    e->aux = RG_MIN(small(v, "kind"), 0xffffu) << 16 | RG_MIN(small(v, "operation"), 0xffffu);
}

static void name_events(struct rocprof *r) {
    struct trace *t = r->t;
    for (uint32_t i = 0; i < t->n; i++) {
        struct trace_event *e = &t->ev[i];
        uint64_t s = 0;
        if (e->kind == TK_KERNEL) {
            map_get(&r->kernels, e->aux, &s);
            e->name = s ? (uint32_t)s : trace_intern(t, "kernel", 6);
            e->kind = (uint8_t)trace_device_kind(trace_str(t, e->name));
            if (e->kind != TK_KERNEL)
                e->args = trace_intern(t, &(struct trace_copy_args){0}, sizeof(struct trace_copy_args));
        } else if (e->kind == TK_API) {
            map_get(&r->operations, (uint64_t)(e->aux >> 16) << 32 | (e->aux & 0xffff), &s);
            e->name = s ? (uint32_t)s : trace_intern(t, "call", 4);
            e->kind = (uint8_t)trace_api_kind(trace_str(t, e->name));
        }
        e->aux = 0;
    }
}

/* ---- the file --------------------------------------------------------------------------------------------- */

typedef void element(struct rocprof *, const struct slice *);

/* An array, element by element. False: the text ends or is wrong. */
static bool each(struct rocprof *r, element *what) {
    struct slice v;
    uint8_t c;
    if (peek(r) != '[') return take(r, &v);
    r->pos++;
    while ((c = peek(r)) && c != ']') {
        if (!take(r, &v)) return false;
        what(r, &v);
    }
    r->pos += c != 0;
    return c != 0;
}

static const struct {
    const char *within, *key;
    element *what;
} arrays[] = {{"", "agents", add_agent},
              {"", "kernel_symbols", add_symbol},
              {"strings", "buffer_records", add_kind},
              {"buffer_records", "kernel_dispatch", add_kernel},
              {"buffer_records", "memory_copy", add_copy},
              {"buffer_records", "hip_api", add_call},
              {"buffer_records", "rccl_api", add_call}};

/* An object: arrays of the table are read, `strings` and `buffer_records` entered, all else skipped. */
static bool read_process(struct rocprof *r, const char *within) {
    char key[KEY_BYTES];
    struct slice v;
    uint8_t c;
    if (peek(r) != '{') return take(r, &v);
    r->pos++;
    while ((c = peek(r)) && c != '}') {
        element *what = NULL;
        if (!take_key(r, key)) return false;
        for (size_t i = 0; i < RG_COUNT(arrays); i++)
            if (!strcmp(arrays[i].within, within) && !strcmp(arrays[i].key, key)) what = arrays[i].what;
        bool inner = !*within && (!strcmp(key, "strings") || !strcmp(key, "buffer_records"));
        if (!(what ? each(r, what) : inner ? read_process(r, key) : take(r, &v))) return false;
    }
    r->pos += c != 0;
    return c != 0;
}

static bool read_tool(struct rocprof *r) {
    char key[KEY_BYTES];
    if (peek(r) != '{') return false;
    r->pos++;
    if (!take_key(r, key) || peek(r) != '[') return false;
    for (r->pos++; peek(r) && peek(r) != ']';) {
        r->kinds = 0;
        if (!read_process(r, "")) return false;
    }
    return peek(r) == ']';
}

bool is_rocprof(const uint8_t *p, size_t n) {
    return memmem(p, RG_MIN(n, (size_t)64), "\"rocprofiler-sdk-tool\"", 22) != NULL;
}

void read_rocprof(struct trace *t, struct input *in) {
    struct rocprof *r = arena_new(&t->arena, struct rocprof);
    r->t = t, r->in = in;
    map_init(&r->kernels, &t->arena);
    map_init(&r->operations, &t->arena);
    if (!read_tool(r)) t->truncated = true;
    if (!t->n)
        err_throw(t->err, RG_EPARSE,
                  "this JSON of rocprofv3 has no kernels, copies or HIP calls%s: record with `rocprofv3 "
                  "--sys-trace --output-format json -- PROGRAM`",
                  t->truncated ? ", and ends in the middle" : "");
    name_events(r);
    t->format = TRACE_ROCPROF;
    trace_finish(t);
}
