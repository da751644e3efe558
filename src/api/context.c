/* context.c: opening and closing a context, what it owns, its sticky error, its statistics, copies between contexts.
 *
 * rg_open never returns NULL. A context that could not be opened is an ordinary one with an error that cannot be
 * cleared; if there is no memory even for that, all callers get the same static one.
 * After memory ran out inside a call, what handles denote is intact but side tables may be half made: rg_clear_error
 * copies the living graph before the context is used again.
 * Tests: tests/unit/api.c (context_*), tests/unit/api_memory.c (oom_*) */
#include "event/event.h"
#include "internal.h"
#include "tune/search/search.h"

static rg_ctx no_memory = {
    .err = {.code = RG_ENOMEM, .msg = "rg_open: out of memory"}, .broken = true, .device = "none"};

const char *rg_version(void) { return RG_VERSION; }

static void open_body(void *arg) {
    rg_ctx *c = arg;
    c->graph = gr_new(c);
}

static void open_device(rg_ctx *c, const char *name) {
    const struct device_ops *ops = device_find(&c->err, name);
    if (!ops) return;
    snprintf(c->device, sizeof c->device, "%s", ops->name);
    ctx_on_device(c, ops->name);
    c->engine = search_engine_open(&c->err, ops);
    if (!c->engine) err_set(&c->err, RG_EDEVICE, "device %s cannot be opened", ops->name);
    err_guard(&c->err, open_body, c);
}

/* A program of an older header runs: what it passes is a prefix of what is known here (docs/abi.md). */
static bool header_fits(struct err *e, int version) {
    int minor = version / 100 % 100;
    if (version / 10000 == RG_VERSION_MAJOR && minor <= RG_VERSION_MINOR) return true;
    err_set(e, RG_EINVAL,
            "the program was compiled with ridge.h %d.%d.%d, and the library is libridge %s, which is %s: "
            "compile the program again with the library's header, or give it libridge %d.%d or newer of the "
            "same major version",
            version / 10000, minor, version % 100, RG_VERSION,
            version < RG_VERSION_NUMBER ? "of a newer ABI" : "older", version / 10000, minor);
    return false;
}

rg_ctx *(rg_open)(const char *device) { return rg_open_for(device, RG_VERSION_MAJOR * 10000); }

rg_ctx *rg_open_for(const char *device, int version) {
    rg_ctx *c = mem_alloc(sizeof *c);
    if (!c) return &no_memory;
    memset(c, 0, sizeof *c);
    snprintf(c->device, sizeof c->device, "none");
    arena_init(&c->scratch, &c->err);
    flight_from_env();
    bool ready = header_fits(&c->err, version) && !profile_from_env(&c->err);
    struct event_span span = event_begin(EVENT_CALL, event_name("rg_open"));
    if (ready && ctx_enter(c))
        open_device(c, device);
    else if (ready)
        err_set(&c->err, RG_ELIMIT, "255 contexts are open; close one with rg_close");
    if (c->err.code) {
        err_prefix(&c->err, "rg_open: ");
        c->broken = true;
    }
    event_end(span, 0, 0);
    return c;
}

rg_status rg_close(rg_ctx *c) {
    if (!c) return RG_OK;
    rg_status st = (rg_status)c->err.code;
    if (c == &no_memory) return st;
    struct event_span span = event_begin(EVENT_CALL, event_name("rg_close"));
    while (c->nowned) {
        struct ctx_owned o = c->owned[--c->nowned]; /* its free function may disown others, or itself */
        o.free_fn(o.obj);
    }
    ctx_leave(c);
    outer_free(c->outer);
    for (uint32_t i = 0; i < c->stores; i++)
        if (c->store[i].used) store_drop(c, i);
    if (c->engine) engine_close(c->engine);
    slots_close(c);
    gr_free(c->graph);
    arena_free(&c->scratch);
    mem_free(c->store);
    mem_free(c->draw);
    mem_free(c->reads);
    mem_free(c->owned);
    mem_free(c);
    event_end(span, 0, 0);
    return st;
}

void rg_on_warning(rg_warning_fn *fn, void *user) { warn_set(fn, user); }

rg_status rg_status_of(rg_ctx *c) { return c ? (rg_status)c->err.code : RG_EINVAL; }
const char *rg_error(rg_ctx *c) { return !c ? "the context is NULL" : c->err.code ? c->err.msg : ""; }
const char *rg_device(rg_ctx *c) { return c ? c->device : "none"; }

static void mend(void *arg) { gr_compact(arg); }

rg_status rg_clear_error(rg_ctx *c) {
    if (!c) return RG_EINVAL;
    if (c->broken) return (rg_status)c->err.code;
    err_clear(&c->err);
    c->nreads = 0; /* what was waiting for the failed run will not come */
    slots_drain(c);
    if (c->damaged && err_guard(&c->err, mend, c)) {
        err_prefix(&c->err, "rg_clear_error: ");
        return (rg_status)c->err.code;
    }
    c->damaged = false;
    return RG_OK;
}

/* ---- statistics --------------------------------------------------------------------------------------------- */

static void collect_body(void *arg) { gr_collect(arg); }

/* What was freed is gone where one looks. */
static void collect_now(rg_ctx *c, const char *file, int line, const char *fn) {
    if (c->err.code || !c->graph) return;
    slots_drain(c);
    if (!err_guard(&c->err, collect_body, c)) return;
    c->damaged = true;
    err_prefix(&c->err, "%s:%d: %s: ", file ? file : "unknown file", line, fn);
}

rg_status rg_stats_at(const char *file, int line, rg_ctx *c, rg_usage *out) {
    if (!c || !out) return RG_EINVAL;
    collect_now(c, file, line, "rg_stats");
    *out = (rg_usage){.handles = c->handles,
                      .nodes = c->live_nodes,
                      .nodes_held = c->graph ? c->graph->ir.n : 0,
                      .buffers = c->buffers,
                      .bytes = c->bytes,
                      .temporaries = c->engine ? engine_temporaries(c->engine) : 0,
                      .peak = c->peak + (c->engine ? engine_temporaries(c->engine) : 0),
                      .realizes = c->realizes,
                      .kernels = c->kernels,
                      .cached = c->cached,
                      .moved = c->moved,
                      .ops = c->ops,
                      .seconds = c->seconds};
    return (rg_status)c->err.code;
}

rg_status rg_memory_of_at(const char *file, int line, rg_ctx *c, rg_memory *out) {
    if (!c || !out) return RG_EINVAL;
    collect_now(c, file, line, "rg_memory_of");
    struct engine_memory m = c->engine ? engine_memory(c->engine) : (struct engine_memory){0};
    *out = (rg_memory){m.asked, m.held, m.peak, m.cached, m.blocks};
    return (rg_status)c->err.code;
}

static void do_collect(struct api_call *k) {
    gr_collect(k->c);
    if (!k->c->outer) gr_compact(k->c);
    k->g = &k->c->graph->tg;
    engine_trim(k->c->engine);
}

rg_status rg_collect_at(const char *file, int line, rg_ctx *c) {
    return c ? call_work(CALL(collect, .c = c), do_collect) : RG_EINVAL;
}

static void do_reset_peak(struct api_call *k) {
    gr_collect(k->c);
    engine_reset_peak(k->c->engine);
    k->c->peak = k->c->bytes;
}

rg_status rg_memory_reset_peak_at(const char *file, int line, rg_ctx *c) {
    return c ? call_work(CALL(memory_reset_peak, .c = c), do_reset_peak) : RG_EINVAL;
}

/* ---- another device ------------------------------------------------------------------------------------------- */

struct parcel {
    void *data;
    size_t bytes;
    int64_t d[SHAPE_MAX];
    uint32_t n;
    rg_dtype dt;
};

static void do_measure(struct api_call *k) {
    struct parcel *p = k->p;
    const uop *n = call_slot(k, k->in[0].t, 0)->node;
    const struct shape *sh = tg_shape(k->g, n);
    p->bytes = store_bytes(k->c, n), p->n = sh->n, p->dt = call_dtype_out((enum dtype)n->dt);
    for (uint32_t i = 0; i < sh->n; i++) p->d[i] = sh->d[i];
    p->data = mem_alloc(p->bytes);
    if (!p->data) call_fail(k, RG_ENOMEM, "out of memory: no %zu bytes for the copy", p->bytes);
}

rg_tensor rg_copy_to_at(const char *file, int line, rg_ctx *c, rg_tensor x) {
    struct parcel p = {0};
    bool temporary = x.id & TEMPORARY;
    x.id &= ~TEMPORARY;
    rg_ctx *from = ctx_of(x.id);
    rg_tensor out = c && c->id ? poison(c) : RG_NONE;
    if (!c || c->err.code) return out;
    if (!from)
        err_set(&c->err, RG_EINVAL, "%s:%d: rg_copy_to: the tensor belongs to no open context",
                file ? file : "unknown file", line);
    else if (!call_work(CALL(copy_to, .in = {TENSOR(x)}, .n = 1, .p = &p), do_measure) &&
             !rg_read_at(file, line, x, p.data, p.bytes))
        out = rg_from_at(file, line, c, p.dt, p.data, (rg_ints){p.d, p.n});
    else if (from != c)
        err_set(&c->err, from->err.code, "%s", from->err.msg); /* both know */
    mem_free(p.data);
    if (temporary) rg_free(x);
    return out;
}
