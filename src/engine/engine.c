/* engine.c: opening and closing an engine, copies, its figures. See engine.h.
 * Tests: tests/unit/engine.c */
#include "engine/internal.h"
#include "event/event.h"

static void open_guarded(void *arg) {
    struct engine *en = arg;
    struct err e = {0};
    str_init(&en->warnings, &en->arena);
    if (en->ops->open(&e, en->ops, &en->dev)) err_throw(&en->err, e.code, "%s", e.msg);
    if (en->ops->info && en->ops->info(en->dev, &e, &en->info)) err_throw(&en->err, e.code, "%s", e.msg);
    en->gpu = engine_spec(en);
    if (!en->ops->interpret) cache_open(&en->cache, &en->arena, &en->warnings);
    if (en->warnings.n) warn_line("%.*s", (int)en->warnings.n - 1, en->warnings.p);
    en->event_name = event_name(en->ops->name);
    en->observer->open(en);
    if (en->ops->kind == DEV_RUNS) en->live = live_open(en->ops->name, en->ops->unit);
}

struct engine *engine_open(struct err *e, const struct device_ops *ops) {
    struct engine *en = mem_alloc(sizeof *en);
    if (!en) {
        err_set(e, RG_ENOMEM, "out of memory while opening an engine");
        return NULL;
    }
    memset(en, 0, sizeof *en);
    en->ops = ops ? ops : &device_cpu;
    en->observer = &debug_observer;
    arena_init(&en->arena, &en->err);
    arena_init(&en->work, &en->err);
    plans_init(en);
    kernels_init(en);
    if (!err_guard(&en->err, open_guarded, en)) return en;
    err_set(e, en->err.code, "%s", en->err.msg);
    engine_close(en);
    return NULL;
}

void engine_close(struct engine *en) {
    if (!en) return;
    live_close(en->live);
    if (en->tuner) en->tuner->end(en);
    en->observer->close(en);
    plans_free(en);
    kernels_free(en);
    memory_trim(en);
    if (en->scratch.p) {
        memory_uncount(en, en->scratch.p, os_now_ns());
        en->ops->free(en->dev, en->scratch.p, en->scratch.size);
    }
    small_close(en);
    overlap_close(en);
    collective_close(en);
    memory_close(en);
    if (en->dev) en->ops->close(en->dev);
    arena_free(&en->arena);
    mem_free(en);
}

struct engine_stats engine_stats(const struct engine *en) {
    struct engine_stats s = en->stats;
    s.rejected = en->cache.rejected;
    s.evicted = en->cache.evicted;
    s.kernels = en->kernels.n, s.modules = en->kernels.modules, s.unloaded = en->kernels.dropped;
    s.kernel_bytes = en->kernels.bytes;
    return s;
}

void engine_log_copy(struct engine *en, enum dev_copy kind, size_t bytes, uint64_t ns) {
    en->observer->copy(en, kind, bytes, ns);
}

void engine_log_wait(struct engine *en, uint64_t ns) { en->observer->wait(en, ns); }

void engine_set_tuning(struct engine *en, const struct engine_tuning *how) {
    en->tuning_set = how != NULL;
    en->tuning = how ? *how : (struct engine_tuning){0};
}

const char *engine_cache_dir(const struct engine *en) { return en->cache.dir; }

int engine_cache_try(struct engine *en, struct err *e, size_t n) {
    return e->code ? e->code : cache_try(&en->cache, e, n);
}

const char *engine_warnings(const struct engine *en) { return en->warnings.n ? en->warnings.p : ""; }

/* What is copied out must be computed first. On a CPU it is by now; the wait is reported all the same, because a reader of
 * the lines looks for where the program waited. */
int engine_sync(struct engine *en, struct err *e) {
    uint64_t t0 = os_now_ns();
    int code = en->ops->wait ? en->ops->wait(en->dev, e) : 0;
    uint64_t t1 = os_now_ns();
    event_add(EVENT_WAIT, en->event_name, t0, t1, 0, 0);
    en->observer->wait(en, t1 - t0);
    return code;
}

bool engine_has_clock(const struct engine *en) { return en->ops->span; }

int engine_span(struct engine *en, struct err *e, uint64_t *ns) {
    if (en->ops->span) return en->ops->span(en->dev, e, ns, 0);
    if (en->ops->wait && en->ops->wait(en->dev, e)) return e->code;
    uint64_t now = os_now_ns();
    if (ns)
        *ns = now - en->span_began;
    else
        en->span_began = now;
    return 0;
}

int engine_copy(struct engine *en, struct err *e, enum dev_copy kind, void *dst, const void *src, size_t n) {
    if (kind == COPY_OUT && engine_sync(en, e)) return e->code;
    uint64_t t0 = os_now_ns();
    int code = en->ops->copy(en->dev, e, kind, dst, src, n);
    uint64_t t1 = os_now_ns();
    enum { PAGEABLE = 4 }; /* a user's memory is: it is staged through pinned buffers */
    event_add(EVENT_COPY, en->event_name, t0, t1, (int64_t)n,
              kind + (en->ops->discrete && kind != COPY_WITHIN ? PAGEABLE : 0));
    if (!code) en->observer->copy(en, kind, n, t1 - t0);
    return code;
}

void *engine_host_alloc(struct engine *en, struct err *e, size_t n) {
    void *p = en->ops->host_alloc ? en->ops->host_alloc(en->dev, n) : os_pages(n);
    if (!p)
        err_set(e, RG_ENOMEM, "the host has no %zu bytes of memory that device %s can copy from", n,
                en->ops->name);
    return p;
}

void engine_host_free(struct engine *en, void *p, size_t n) {
    if (!p) return;
    if (en->ops->host_free)
        en->ops->host_free(en->dev, p, n);
    else
        os_pages_free(p, n);
}

bool engine_fetches(const struct engine *en) { return en->ops->fetch != NULL; }

/* The record says how long it took to ask; the wait, if there is one, is in engine_fetched. */
int engine_fetch(struct engine *en, struct err *e, const struct dev_piece *p, uint32_t n,
                 struct dev_fetch **out) {
    uint64_t t0 = os_now_ns();
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) bytes += p[i].n;
    int code = en->ops->fetch(en->dev, e, p, n, out);
    uint64_t t1 = os_now_ns();
    event_add(EVENT_COPY, en->event_name, t0, t1, (int64_t)bytes, COPY_IN);
    if (!code) en->observer->copy(en, COPY_IN, bytes, t1 - t0);
    return code;
}

int engine_order(struct engine *en, struct err *e, struct dev_fetch *f) { return en->ops->order(f, e); }

int engine_fetched(struct engine *en, struct err *e, struct dev_fetch *f) {
    uint64_t t0 = os_now_ns();
    int code = en->ops->fetched(f, e);
    event_add(EVENT_WAIT, en->event_name, t0, os_now_ns(), 0, 0);
    return code;
}
