/* world.c: opening a world: who this rank is, which backend; groups; one collective.
 * Tests: tests/unit/world.c */
#include "world/internal.h"

#include <time.h>

static const char *const kind_name[COLLECTIVE_KINDS] = {
#define X(name) #name,
    COLLECTIVES(X)
#undef X
};

const char *world_describe(char *out, int64_t code, int64_t nin, int64_t nout) {
    static const char *const how[COLLECTIVE_REDUCES] = {" (sum)", " (product)", " (max)", " (min)"};
    struct collective c = collective_unpack(code);
    bool reduces = c.kind == COLLECTIVE_ALL_REDUCE || c.kind == COLLECTIVE_REDUCE_SCATTER;
    (void)nout;
    if (c.kind == COLLECTIVE_BARRIER)
        snprintf(out, WORLD_TEXT, "barrier");
    else if (c.kind == COLLECTIVE_BROADCAST || c.kind == COLLECTIVE_SEND || c.kind == COLLECTIVE_RECV)
        snprintf(out, WORLD_TEXT, "%s of %s[%lld] %s rank %lld", kind_name[c.kind], dtype_info[c.dt].name,
                 (long long)nin, c.kind == COLLECTIVE_SEND ? "to" : "from", (long long)c.peer);
    else
        snprintf(out, WORLD_TEXT, "%s of %s[%lld]%s", kind_name[c.kind], dtype_info[c.dt].name,
                 (long long)nin, reduces ? how[c.reduce] : "");
    return out;
}

int64_t world_rank(const struct world *w) { return w->rank; }
int64_t world_size(const struct world *w) { return w->size; }
int64_t world_local_rank(const struct world *w) { return w->local_rank; }
const char *world_backend(const struct world *w) { return w->ops->name; }
bool world_any_thread(const struct world *w) { return w->any_thread; }
bool world_on_device(const struct world *w) { return w->ops->on_device; }
uint64_t world_waited_ns(const struct world *w) { return w->waited_ns; }

static const struct world_ops *find_ops(struct err *e, const char *name, bool one_host) {
    static const struct world_ops *const known[] = {&world_shm, &world_local, &world_mpi, &world_nccl,
                                                    &world_plan};
    if (!name || !*name || !strcmp(name, "auto")) return one_host ? &world_shm : &world_mpi;
    for (size_t i = 0; i < RG_COUNT(known); i++)
        if (!strcmp(known[i]->name, name)) return known[i];
    err_set(e, RG_EINVAL, "there is no backend \"%.40s\"; expected auto, shm, mpi, nccl or local", name);
    return NULL;
}

static struct world *start(struct err *e, const struct world *like) {
    struct world *w = mem_alloc(sizeof *w);
    if (!w) {
        err_set(e, RG_ENOMEM, "out of memory for a world");
        return NULL;
    }
    *w = *like;
    if (!w->ops->open(w, e)) return w;
    world_close(w);
    return NULL;
}

static uint64_t limit_of(double seconds) {
    double s = seconds > 0 ? seconds : (double)env_int(ENV_WORLD_TIMEOUT);
    return (uint64_t)(RG_MIN(RG_MAX(s, 0.001), 1e6) * 1e9);
}

static int check_opts(struct err *e, const struct world_opts *o) {
    if (o->size > 0 && (o->rank < 0 || o->rank >= o->size))
        return err_set(e, RG_EINVAL, "rank %lld of %lld: ranks are 0 to %lld", (long long)o->rank,
                       (long long)o->size, (long long)o->size - 1);
    if (o->size > 0 && o->contexts)
        return err_set(e, RG_EINVAL,
                       ".contexts counts ranks of the launcher's processes; .rank and .size say all of it");
    if (o->contexts < 0 || o->context < 0 || o->context >= RG_MAX(o->contexts, 1))
        return err_set(e, RG_EINVAL, ".context %lld of %lld: contexts are 0 to %lld", (long long)o->context,
                       (long long)o->contexts, (long long)RG_MAX(o->contexts, 1) - 1);
    return 0;
}

/* Who this rank is: as it says, or by the launcher, whose processes may be several ranks each. */
static void number_rank(const struct world_opts *o, const struct world_launch *l, struct world *w) {
    int64_t each = RG_MAX(o->contexts, 1);
    w->rank = w->local_rank = o->size > 0 ? o->rank : l->rank * each + o->context;
    w->size = o->size > 0 ? o->size : l->size * each;
    if (o->size <= 0) w->local_rank = l->local_rank * each + o->context;
    snprintf(w->name, sizeof w->name, "%s", o->name ? o->name : l->job);
}

int world_open(struct err *e, const struct world_opts *o, struct world **out) {
    struct world_launch l;
    struct world w = {.limit_ns = limit_of(o->seconds), .stream = o->stream, .stream_user = o->stream_user};
    *out = NULL;
    if (world_launch(e, &l) || check_opts(e, o)) return e->code;
    number_rank(o, &l, &w);
    const char *backend = o->backend ? o->backend : env_str(ENV_WORLD_BACKEND);
    w.ops = find_ops(e, backend, o->size > 0 || l.local_size >= l.size);
    if (!w.ops) return e->code;
    if (w.ops == &world_mpi && o->contexts > 1)
        return err_set(e, RG_EUNSUPPORTED,
                       "%lld ranks in a process: the mpi backend has one; on one host use backend \"shm\"",
                       (long long)o->contexts);
    *out = start(e, &w);
    return e->code;
}

void world_close(struct world *w) {
    if (!w) return;
    w->ops->close(w);
    mem_free(w);
}

int world_group(struct world *w, struct err *e, const int64_t *rank, size_t n, struct world **out) {
    struct world g = {.ops = w->ops, .rank = -1, .size = (int64_t)n, .limit_ns = w->limit_ns};
    g.stream = w->stream, g.stream_user = w->stream_user;
    *out = NULL;
    w->groups++;
    if (w->ops == &world_mpi)
        return err_set(e, RG_EUNSUPPORTED, "the mpi backend has no groups; shm, local and nccl have");
    for (size_t i = 0; i < n; i++) {
        if (rank[i] < 0 || rank[i] >= w->size)
            return err_set(e, RG_EINVAL, "rank %lld is not in the world; it has ranks 0 to %lld",
                           (long long)rank[i], (long long)w->size - 1);
        for (size_t k = 0; k < i; k++)
            if (rank[k] == rank[i])
                return err_set(e, RG_EINVAL, "rank %lld is twice in the group", (long long)rank[i]);
        if (rank[i] == w->rank) g.rank = (int64_t)i;
    }
    if (g.rank < 0) return 0;
    g.local_rank = w->local_rank;
    snprintf(g.name, sizeof g.name, "%.120s/%u/%lld", w->name, w->groups, (long long)rank[0]);
    *out = start(e, &g);
    return e->code;
}

/* ---- one collective -------------------------------------------------------------------------------------------------- */

static int check(const struct world *w, struct err *e, const struct world_call *c) {
    char text[WORLD_TEXT];
    bool peer = c->what.kind == COLLECTIVE_BROADCAST || c->what.kind == COLLECTIVE_SEND ||
                c->what.kind == COLLECTIVE_RECV;
    world_describe(text, collective_pack(c->what), c->nin, c->nout);
    if (peer && (c->what.peer < 0 || c->what.peer >= w->size))
        return err_set(e, RG_EINVAL, "%s: the world has ranks 0 to %lld", text, (long long)w->size - 1);
    if (c->what.kind != COLLECTIVE_BROADCAST && peer && c->what.peer == w->rank)
        return err_set(e, RG_EINVAL, "%s, which is this rank itself", text);
    return 0;
}

double world_link_seconds(enum collective_kind kind, double bytes, int64_t ranks, double gb_per_s,
                          double latency) {
    double others = (double)(ranks - 1) / (double)ranks, n = bytes;
    if (kind == COLLECTIVE_ALL_REDUCE) n = 2 * others * bytes;
    if (kind == COLLECTIVE_REDUCE_SCATTER || kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_ALL_TO_ALL)
        n = others * bytes;
    return ranks > 1 ? latency + n / (gb_per_s * 1e9) : 0;
}

/* RIDGE_WORLD_LINK; 0: there is none. */
static double named_link_seconds(enum collective_kind kind, double bytes, int64_t ranks) {
    const char *link = env_str(ENV_WORLD_LINK);
    char *end;
    double rate = link ? text_double(link, &end) : 0;
    if (rate <= 0 || *end != ',') return 0;
    double us = text_double(link = end + 1, &end);
    if (end == link) return 0;
    return world_link_seconds(kind, bytes, ranks, rate, us * 1e-6);
}

/* Through memory that ranks share, by rule of thumb: within a factor of two of what the machines of docs/measurements do. */
enum { SHARED_GB_PER_S = 4, SHARED_US = 20 };

double world_planned_seconds(const struct world *w, double bytes) {
    double link = named_link_seconds(COLLECTIVE_ALL_REDUCE, bytes, w->size);
    bool shared = w->ops == &world_shm || w->ops == &world_local;
    if (link > 0 || !shared) return link;
    return world_link_seconds(COLLECTIVE_ALL_REDUCE, bytes, w->size, SHARED_GB_PER_S, SHARED_US * 1e-6);
}

/* The link carries data once all have come; what the exchange takes here, waits between its steps too, happens meanwhile. */
static void as_over_link(const struct world *w, const struct world_call *c, uint64_t t0) {
    double bytes = (double)RG_MAX(c->nin, c->nout) * dtype_info[c->what.dt].bytes;
    uint64_t came = w->came_ns ? w->came_ns : t0 + w->waited_ns;
    uint64_t end = came + (uint64_t)(1e9 * named_link_seconds(c->what.kind, bytes, w->size));
    for (uint64_t now = os_now_ns(); now < end; now = os_now_ns())
        nanosleep(&(struct timespec){(time_t)((end - now) / 1000000000u), (long)((end - now) % 1000000000u)},
                  NULL);
}

int world_run(struct world *w, struct err *e, const struct world_call *c) {
    if (w->broken.code) return err_set(e, w->broken.code, "the world failed before: %s", w->broken.msg);
    w->waited_ns = w->came_ns = 0;
    if (check(w, e, c)) return e->code;
    if (w->size == 1 && !w->ops->on_device) {
        if (c->in != c->out)
            memcpy(c->out, c->in, (size_t)RG_MIN(c->nin, c->nout) * dtype_info[c->what.dt].bytes);
        return 0;
    }
    uint64_t t0 = os_now_ns();
    if (w->ops->run(w, e, c)) err_set(&w->broken, e->code, "%s", e->msg);
    if (!e->code) as_over_link(w, c, t0);
    return e->code;
}
