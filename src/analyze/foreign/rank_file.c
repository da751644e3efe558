/* rank_file.c: reads the trace of one rank and keeps what a set needs: its collectives, its account, its kernels' means.
 *
 * The trace itself is given back before the next one is read, so that a set of many large files needs the memory of as many of
 * them as there are threads. Tests: tests/unit/ranks.c */
#include "analyze/foreign/ranks.h"

enum { KEPT_KERNELS = 64 };

static uint64_t hash_text(const char *s) { return hash_bytes(s, strlen(s), 1); }

/* Point-to-point calls end at different times on both sides: they say nothing about clocks. */
static bool meets(const char *name) {
    static const char *const kinds[] = {"SendRecv", "Send_", "Recv_", "send_", "recv_"};
    for (size_t i = 0; i < RG_COUNT(kinds); i++)
        if (strstr(name, kinds[i])) return false;
    return true;
}

/* Does every rank need the data of every other, so that none leaves before the last has come? */
static bool needs_all(const char *name) {
    static const char *const kinds[] = {"AllReduce",      "AllGather",  "ReduceScatter", "all_reduce",
                                        "reduce_scatter", "all_gather", "all_to_all",    "barrier"};
    for (size_t i = 0; i < RG_COUNT(kinds); i++)
        if (strstr(name, kinds[i])) return true;
    return false;
}

static void keep_device(struct rank_file *f, const struct diag *d, bool all) {
    const struct trace *t = d->t;
    for (uint32_t i = 0; i < d->dev_n; i++) {
        const struct trace_event *e = &t->ev[d->dev[i]];
        const char *name = trace_str(t, e->name);
        if (e->kind != TK_COMM || !(all || meets(name))) continue;
        struct rank_collective c = {hash_text(name), t->base + e->t0, t->base + trace_end(e),
                                    needs_all(name)};
        vec_push(&f->arena, &f->calls, c);
    }
}

/* Where there is nothing else, calls that send and receive: an all-to-all is made of them. */
static void keep_collectives(struct rank_file *f, const struct diag *d) {
    const struct trace *t = d->t;
    keep_device(f, d, false);
    if (!f->calls.n) keep_device(f, d, true);
    if (f->calls.n) return;
    for (uint32_t l = 0; l < t->lanes.n; l++) /* on the host: gloo, MPI */
        for (uint32_t k = 0; k < t->lanes.p[l].n; k++) {
            const struct trace_event *e = &t->ev[t->order[t->lanes.p[l].first + k]];
            if (e->kind != TK_COLLECTIVE) continue;
            const char *name = trace_str(t, e->name);
            struct rank_collective c = {hash_text(name), t->base + e->t0, t->base + trace_end(e),
                                        needs_all(name)};
            vec_push(&f->arena, &f->calls, c);
        }
}

static void keep_kernels(struct rank_file *f, const struct diag *d) {
    for (uint32_t i = 0; i < d->kernels.n && f->kernels.n < KEPT_KERNELS; i++) {
        const struct kernel_row *k = &d->kernels.p[i];
        if (k->cls == KC_COMM) continue;
        uint64_t name = hash_text(trace_str(d->t, k->name)) ^ hash_text(trace_str(d->t, k->shape)) * 31;
        vec_push(&f->arena, &f->kernels, ((struct rank_kernel){name, k->count, k->ns}));
    }
}

static const char *kept(struct rank_file *f, const char *s) {
    return s ? arena_strdup(&f->arena, s, strlen(s)) : "";
}

static void keep_account(struct rank_file *f, const struct diag *d) {
    struct rank_row *r = &f->row;
    r->path = f->path;
    r->rank = d->t->rank;
    r->world = d->t->world;
    r->wall_ns = d->wall_ns;
    r->busy_ns = d->busy_ns;
    r->steps = d->steps.n;
    r->cpu = d->cpu;
    memcpy(r->budget, d->budget, sizeof r->budget);
    for (uint32_t i = 0; i < d->devices.n; i++)
        if (d->devices.p[i].device == d->device)
            r->comm_ns = d->devices.p[i].comm_ns, r->hidden_ns = d->devices.p[i].comm_under_compute;
    for (uint32_t i = 0; i < d->kernels.n; i++)
        if (d->kernels.p[i].cls != KC_COMM) r->kernel_count += d->kernels.p[i].count;
    for (uint32_t i = 0; i < d->causes.n && i < RG_COUNT(r->fix); i++) {
        r->fix_id[i] = d->causes.p[i].id;
        r->fix[i] = kept(f, d->causes.p[i].fix);
        r->fix_where[i] = kept(f, d->causes.p[i].where);
        r->fixes++;
    }
    r->clock_ns = d->clock.ns;
    f->clock = d->t->clock;
}

struct rank_job {
    struct rank_file *f;
    struct trace t;
    struct diag d;
};
static void keep(void *arg) {
    struct rank_job *j = arg;
    keep_collectives(j->f, &j->d);
    keep_kernels(j->f, &j->d);
    keep_account(j->f, &j->d);
}

void rank_file_read(struct rank_file *f, const char *path) {
    struct rank_job *j = mem_alloc(sizeof *j);
    f->path = path;
    arena_init(&f->arena, &f->err);
    f->bad = true;
    if (!j) {
        err_set(&f->err, RG_ENOMEM, "out of memory");
        return;
    }
    memset(j, 0, sizeof *j);
    j->f = f;
    if (!trace_read(&j->t, &f->err, path)) {
        if (!diagnose(&j->d, &j->t, &f->err)) {
            f->bad = err_guard(&f->err, keep, j) != 0;
            diag_free(&j->d);
        }
        trace_free(&j->t);
    }
    mem_free(j);
}
