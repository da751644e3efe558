/* profile.c: recording a profile of the process; ranges; the tables of a profile that was recorded.
 *
 * The recorder is src/event/recorder.c and belongs to the process, not to a context: a context is asked for only because
 * errors are told through one. Here is what a user adds: which steps to record, ranges, and PROFILE in the environment,
 * which records from the first rg_open to the end of the process.
 * Tests: tests/unit/profile.c, tests/cli/profile.sh */
#include "event/event.h"
#include "internal.h"
#include "world/world.h"
#include "report/report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define DEEPEST 64

static struct {
    pthread_mutex_t lock;
    rg_profile_opts o;
    uint64_t began; /* of this step */
    uint64_t range; /* of it, for NVIDIA's tools */
    int64_t steps;  /* that ended */
    bool by_env;    /* PROFILE began it */
    bool told;      /* the recording says what it does not hold */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- recording -------------------------------------------------------------------------------------------- */

/* What is done with step n, counted from 0. */
static enum event_mode wanted(const rg_profile_opts *o, int64_t n) {
    if (!o->active) return EVENT_ON;
    int64_t cycle = (int64_t)o->wait + o->warmup + o->active, at = n % cycle;
    if (at < o->wait || (o->repeat && n / cycle >= o->repeat)) return EVENT_OFF;
    return at < o->wait + o->warmup ? EVENT_WARM : EVENT_ON;
}

/* Bits of enum event_kind for bits of rg_activity. */
static uint32_t kinds_of(uint32_t activities) {
    enum {
        ALL = RG_RECORD_CALLS | RG_RECORD_KERNELS | RG_RECORD_WORKERS | RG_RECORD_COPIES | RG_RECORD_MEMORY |
              RG_RECORD_COMPILER
    };
    uint32_t a = activities ? activities : ALL, k = 0;
#define BIT(name) (1u << EVENT_##name)
    if (a & RG_RECORD_CALLS) k |= BIT(CALL);
    if (a & RG_RECORD_KERNELS) k |= BIT(KERNEL) | BIT(LAUNCH) | BIT(RUN);
    if (a & RG_RECORD_WORKERS) k |= BIT(PART);
    if (a & RG_RECORD_COPIES) k |= BIT(COPY) | BIT(WAIT);
    if (a & RG_RECORD_MEMORY) k |= BIT(ALLOC) | BIT(FREE) | BIT(RESERVE) | BIT(PLANNED) | BIT(RUN);
    if (a & RG_RECORD_COMPILER)
        k |= BIT(PASS) | BIT(PLAN) | BIT(COMPILE) | BIT(CACHE) | BIT(LOWER) | BIT(BUILD);
#undef BIT
    return k;
}

/* A reader must not take for your code, or for Ridge's, what was left out. */
static void set_mode(enum event_mode m) {
    uint32_t a = state.o.activities;
    event_record_mode(m);
    if (m != EVENT_ON || state.told || !a) return;
    state.told = true;
    char text[80];
    snprintf(text, sizeof text, "not recorded:%s%s%s", a & RG_RECORD_CALLS ? "" : " calls",
             a & RG_RECORD_KERNELS ? "" : " kernels", a & RG_RECORD_COMPILER ? "" : " compiler");
    uint64_t now = os_now_ns();
    if (text[13])
        event_add_info(EVENT_NOTE, event_name(text),
                       event_name("leave .activities out to have a cause for all of the time"), now, now, 0,
                       0);
}

static int begin(struct err *e, const char *path, const rg_profile_opts *o) {
    int bad = event_record_start(e, path, kinds_of(o->activities));
    if (bad) return bad;
    state.o = *o;
    state.steps = 0;
    state.told = false;
    state.began = os_now_ns();
    set_mode(wanted(o, 0));
    return 0;
}

struct profile_start {
    const char *path;
    rg_profile_opts o;
};

static void do_start(struct api_call *k) {
    const struct profile_start *s = k->p;
    const rg_profile_opts *o = &s->o;
    struct err e = {0};
    if (!s->path || !*s->path) call_fail(k, RG_EINVAL, "the path of the profile is empty");
    if (o->wait < 0 || o->warmup < 0 || o->active < 0 || o->repeat < 0)
        call_fail(k, RG_EINVAL, "wait, warmup, active and repeat are numbers of steps; found %d, %d, %d, %d",
                  o->wait, o->warmup, o->active, o->repeat);
    if ((o->wait || o->warmup) && !o->active)
        call_fail(k, RG_EINVAL, "wait is %d, warmup %d and active 0: nothing would be recorded", o->wait,
                  o->warmup);
    if (o->activities & ~(2 * RG_RECORD_COMPILER - 1))
        call_fail(k, RG_EINVAL, "activities is %#x; use RG_RECORD_CALLS ..", o->activities);
    pthread_mutex_lock(&state.lock);
    int bad = begin(&e, s->path, o);
    pthread_mutex_unlock(&state.lock);
    if (bad) call_fail(k, bad, "%s", e.msg);
}

rg_status rg_profile_start_at(const char *file, int line, rg_ctx *c, const char *path, rg_profile_opts o) {
    return c ? call_work(CALL(profile_start, .c = c, .p = &(struct profile_start){path, o}), do_start)
             : RG_EINVAL;
}

/* The step that begins now, for NVIDIA's tools; it does not matter to them whether a profile is recorded. */
static void mark_step(void) {
    char text[32];
    if (!event_nvtx()) return;
    snprintf(text, sizeof text, "step %lld", (long long)state.steps);
    if (state.range) event_nvtx_end(state.range);
    state.range = event_nvtx_start(text);
}

static void do_step(struct api_call *k) {
    (void)k;
    pthread_mutex_lock(&state.lock);
    uint64_t now = os_now_ns();
    event_add(EVENT_STEP, event_name("step"), state.began, now, state.steps, 0);
    live_step(state.began, now);
    set_mode(wanted(&state.o, ++state.steps));
    state.began = now;
    mark_step();
    pthread_mutex_unlock(&state.lock);
}

rg_status rg_profile_step_at(const char *file, int line, rg_ctx *c) {
    return c ? call_work(CALL(profile_step, .c = c), do_step) : RG_EINVAL;
}

static void do_stop(struct api_call *k) {
    struct err e = {0};
    pthread_mutex_lock(&state.lock);
    int bad = event_record_stop(&e);
    state.o = (rg_profile_opts){0};
    pthread_mutex_unlock(&state.lock);
    if (bad) call_fail(k, bad, "%s", e.msg);
}

rg_status rg_profile_stop_at(const char *file, int line, rg_ctx *c) {
    return c ? call_work(CALL(profile_stop, .c = c), do_stop) : RG_EINVAL;
}

/* The file is whole without it; this tells when the program ended. */
static void end_of_process(void) {
    struct err e = {0};
    int bad = event_record_stop(&e);
    if (bad && bad != RG_EINVAL) log_line(0, "ridge: PROFILE: %s", e.msg); /* that: it was stopped before */
}

/* Ranks of one job have files of their own: ridge.profile.0, ridge.profile.1 .. Where one is planned for all, there is one process. */
static const char *path_of_rank(const char *path, char *out, size_t room) {
    struct err ignore = {0};
    struct world_launch l;
    if (!strcmp(env_str(ENV_WORLD_BACKEND), "plan")) return path;
    if (world_launch(&ignore, &l) || l.size < 2) return path;
    snprintf(out, room, "%s.%lld", path, (long long)l.rank);
    return out;
}

int profile_from_env(struct err *e) {
    const char *path = env_str(ENV_PROFILE);
    char room[4096];
    int bad = 0;
    if (!path || !*path || !strcmp(path, "0")) return 0;
    pthread_mutex_lock(&state.lock);
    if (!state.by_env) {
        const char *to = strcmp(path, "1") ? path : "ridge.profile";
        bad = begin(e, path_of_rank(to, room, sizeof room), &(rg_profile_opts){0});
        state.by_env = !bad;
        if (!bad) atexit(end_of_process);
    }
    pthread_mutex_unlock(&state.lock);
    if (bad) err_prefix(e, "PROFILE=%.100s: ", path);
    return bad;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

static void do_memory_snapshot(struct api_call *k) {
    gr_collect(k->c);
    struct event_dump x = {.path = k->p, .c = k->c};
    if (!x.path || !*x.path) call_fail(k, RG_EINVAL, "the path of the snapshot is empty");
    if (event_dump(&x)) call_fail(k, x.e.code, "%s", x.e.msg);
}

rg_status rg_memory_snapshot_at(const char *file, int line, rg_ctx *c, const char *path) {
    return c ? call_work(CALL(memory_snapshot, .c = c, .p = (void *)path), do_memory_snapshot) : RG_EINVAL;
}

/* ---- ranges ------------------------------------------------------------------------------------------------- */

static _Thread_local struct {
    struct event_span open[DEEPEST];
    uint32_t n;
} ranges;

void rg_range_push(const char *name) {
    if (ranges.n < DEEPEST) {
        ranges.open[ranges.n] = event_begin(EVENT_RANGE, event_name(name));
        event_nvtx_push(name ? name : "");
    }
    ranges.n++;
}

void rg_range_pop(void) {
    if (!ranges.n) return;
    if (--ranges.n >= DEEPEST) return;
    event_end(ranges.open[ranges.n], 0, 0);
    event_nvtx_pop();
}

/* ---- tables --------------------------------------------------------------------------------------------------- */

/* The readers of profiles are linked to the archive and the command; libridge.so does without them and loads them when a
 * table is asked for: they would be a tenth of it, and most programs read none. */
#define READERS "libridge-report.so"
extern __typeof__(report_profile_table) report_profile_table __attribute__((weak, visibility("hidden")));

struct profile_table {
    const char *path;
    struct report_pick pick;
    char *out;
    size_t room, n;
};

static __typeof__(report_profile_table) *find_readers(struct api_call *k) {
    struct err e = {0};
    const char *path = os_installed(&k->c->scratch, READERS, false);
    if (!path)
        call_fail(k, RG_EIO,
                  "profiles are read by " READERS ", which is not where the library was installed; "
                  "install it too, or run: ridge report FILE");
    void *lib = os_dlopen(&e, path); /* stays: tables are asked for more than once */
    const char *version = lib ? os_dlsym(lib, "ridge_report_version") : NULL;
    if (!lib) call_fail(k, RG_EIO, "%s", e.msg);
    if (!version || strcmp(version, RG_VERSION))
        call_fail(k, RG_EIO,
                  "%s is of version %s, and the library of " RG_VERSION "; install both from one package",
                  path, version ? version : "none");
    __typeof__(report_profile_table) *fn;
    *(void **)&fn = os_dlsym(lib, "ridge_report_table");
    return fn;
}

/* The reader has guards of its own: what it throws is caught there, and told here. */
static void do_table(struct api_call *k) {
    struct profile_table *x = k->p;
    struct err e = {0};
    __typeof__(report_profile_table) *fn = report_profile_table ? report_profile_table : find_readers(k);
    if (!x->path) call_fail(k, RG_EINVAL, "the path of the profile is NULL");
    int bad = fn(&e, x->path, &x->pick, x->out, x->room, &x->n);
    if (bad) call_fail(k, bad, "%s", e.msg);
}

size_t rg_profile_table_at(const char *file, int line, rg_ctx *c, const char *path, char *out, size_t room,
                           rg_table_opts o) {
    struct profile_table x = {path, {(int)o.by, (int)o.sort, o.rows}, out, room, 0};
    if (out && room) *out = 0;
    bool bad = !c || call_work(CALL(profile_table, .c = c, .p = &x), do_table);
    return bad ? 0 : x.n;
}
