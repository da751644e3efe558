/* worker.c: what ridge-worker does: reads a kernel from its input, runs it on memory of its own and answers, until the input ends.
 *
 * What it is told is checked as far as it decides what is read; the kernel itself is not trusted, which is what this process
 * is for. SIGALRM ends a kernel that hangs after the host is gone. Tests: tests/unit/trial.c */
#include "tune/search/trial.h"

#include <errno.h>
#include <unistd.h>

#define ZEROS ((size_t)1 << 16)
#define GRACE_S 30 /* after the limit, if whoever asked is gone */
enum { RUNS = 2 };

struct worker {
    int in, out;
    struct engine *en;
    struct err err;
    struct arena arena; /* of one kernel */
    struct trial_head head;
    const struct trial_buf *buf;
    const int64_t *var;
    void **whole, **at; /* by slot: allocated, and as the kernel gets it */
};

static bool say(const struct worker *w, enum trial_state state, uint64_t ns, const char *why) {
    struct trial_answer r = {.magic = TRIAL_MAGIC, .state = state, .ns = ns};
    snprintf(r.why, sizeof r.why, "%s", why);
    for (size_t n = 0; n < sizeof r;) {
        ssize_t k = write(w->out, (const char *)&r + n, sizeof r - n);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return false;
        n += (size_t)k;
    }
    return true;
}

/* The kernel, and where its buffers and numbers stand. */
static struct etext take(struct worker *w, char *p) {
    const struct trial_head *h = &w->head;
    w->buf = (const struct trial_buf *)p;
    p += h->nbuf * sizeof *w->buf;
    w->var = (const int64_t *)p;
    p += h->nvar * sizeof *w->var;
    struct etext t = {.name = p,
                      .text = p + h->name,
                      .grid = h->grid,
                      .scratch = h->scratch,
                      .nbuf = h->nbuf,
                      .nvar = h->nvar,
                      .block = h->block,
                      .per_block = h->per_block,
                      .shared = h->shared,
                      .nmap = h->nmap,
                      .serial = h->serial,
                      .est = h->est};
    memcpy(t.map, h->map, sizeof t.map);
    p[h->name - 1] = p[h->name + h->text - 1] = 0;
    return t;
}

static bool makes_sense(const struct trial_head *h) {
    return h->magic == TRIAL_MAGIC && h->bytes <= TRIAL_MOST && h->nmap <= DEV_MAPS && h->name && h->text &&
           h->bytes == h->nbuf * sizeof(struct trial_buf) + h->nvar * sizeof(int64_t) + h->name + h->text;
}

/* False: there is no room. */
static bool make_buffers(struct worker *w, struct err *e) {
    static const char zero[ZEROS];
    w->whole = arena_array(&w->arena, void *, w->head.nbuf + 1);
    w->at = arena_array(&w->arena, void *, w->head.nbuf + 1);
    for (uint32_t i = 0; i < w->head.nbuf; i++) {
        const struct trial_buf *b = &w->buf[i];
        if (b->same < i) {
            w->at[i] = w->at[b->same];
            continue;
        }
        if (!(w->whole[i] = engine_alloc(w->en, e, b->bytes + TRIAL_ALIGN))) return false;
        uintptr_t base = (uintptr_t)w->whole[i];
        w->at[i] = (void *)(base + ((b->at - base) & (TRIAL_ALIGN - 1)));
        for (size_t n = 0; b->zero && n < b->bytes; n += ZEROS)
            if (engine_copy(w->en, e, COPY_IN, (char *)w->at[i] + n, zero, RG_MIN(ZEROS, b->bytes - n)))
                return false;
    }
    return true;
}

static void free_buffers(struct worker *w) {
    for (uint32_t i = 0; w->whole && i < w->head.nbuf; i++)
        if (w->whole[i]) engine_free(w->en, w->whole[i], w->buf[i].bytes + TRIAL_ALIGN);
    w->whole = NULL;
}

/* False: the device is of no use any more. */
static bool run(struct worker *w, const struct ekernel *k) {
    struct err e = {0}, gone = {0};
    struct engine_list *l = engine_list_new(w->en, &e);
    if (!l || engine_list_add(l, &e, k, w->at, w->var)) {
        engine_list_free(l);
        return say(w, TRIAL_NO_ROOM, 0, e.msg);
    }
    say(w, TRIAL_BEGUN, 0, "");
    alarm((unsigned)w->head.limit_s + GRACE_S);
    uint64_t ns = engine_list_time(l, 0, RUNS);
    alarm(0);
    bool alive = !w->en->ops->wait || !w->en->ops->wait(w->en->dev, &gone);
    engine_list_free(l);
    if (!alive) return say(w, TRIAL_LOST, 0, gone.msg) && false;
    return say(w, ns == UINT64_MAX ? TRIAL_REFUSED : TRIAL_RAN, ns / RUNS, "it could not be started");
}

struct worker_kernel {
    struct worker *w;
    bool go_on;
};

static void serve(void *arg) {
    struct worker_kernel *x = arg;
    struct worker *w = x->w;
    struct err e = {0};
    const struct ekernel *k = NULL;
    x->go_on = false;
    if (!os_read_exactly(w->in, &w->head, sizeof w->head) || !makes_sense(&w->head)) return;
    char *p = arena_alloc(&w->arena, w->head.bytes + 1);
    if (!os_read_exactly(w->in, p, w->head.bytes)) return;
    struct etext t = take(w, p);
    if (engine_compile_text(w->en, &e, &t, 1, &k))
        x->go_on = say(w, TRIAL_REFUSED, 0, e.msg);
    else if (!make_buffers(w, &e))
        x->go_on = say(w, TRIAL_NO_ROOM, 0, e.msg);
    else
        x->go_on = run(w, k);
}

int search_worker(int in, int out, const char *device) {
    struct worker w = {.in = in, .out = out};
    struct err e = {0};
    const struct device_ops *ops = device_find(&e, device);
    w.en = ops ? engine_open(&e, ops) : NULL;
    if (!w.en) {
        say(&w, TRIAL_REFUSED, 0, e.msg);
        return 1;
    }
    bool go_on = say(&w, TRIAL_READY, sizeof(struct trial_head), TRIAL_PROTOCOL);
    while (go_on) {
        struct worker_kernel x = {&w, false};
        arena_init(&w.arena, &w.err);
        int code = err_guard(&w.err, serve, &x);
        free_buffers(&w);
        arena_free(&w.arena);
        err_clear(&w.err);
        go_on = x.go_on && !code;
    }
    engine_close(w.en);
    return 0;
}
