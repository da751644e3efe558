/* loader.c: batches that a thread of their own prepares while the program computes.
 *
 * A circular buffer of `ahead` slots in host memory. The thread writes slot made % ahead, the program takes slot used % ahead and
 * copies it to the device as rg_from does; used <= made <= used + ahead. Both counters change under the lock, the bytes
 * of a slot belong to the thread before `made` passes it and to the program after, so nothing else needs one.
 * The thread calls nothing but fill: the context stays with the program's thread, and fill never runs twice at once.
 * A batch whose tensors could not be made (no memory) is not lost: the next call tries it again.
 * On a device with memory of its own that copies beside its work, a batch is on its way there one call before it is asked
 * for: rg_loader_next(k) gives out batch k, whose copy began in the call before, and begins the copy of batch k + 1 if that
 * is prepared; so the copy runs beside the work on batch k. The slot is free when the copy is done,
 * which the next call but one waits for: `ahead` slots and one more.
 * Tests: tests/unit/api_loader.c; bench/loader.c */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#define PARTS 64
#define AHEAD 1024
#define ALIGN 64

struct part {
    rg_dtype dt;
    uint32_t rank;
    int64_t d[SHAPE_MAX];
    size_t at, bytes; /* at: inside a batch */
};

/* A batch on its way to the device. */
struct load_slot {
    struct dev_fetch *fetch; /* NULL: not begun */
    void *mem[PARTS];        /* on the device; NULL: a tensor's by now */
};

struct rg_loader {
    rg_ctx *c;
    struct part part[PARTS];
    size_t parts;
    rg_fill_fn *fill;
    void *user;
    uint64_t first;
    uint32_t ahead, slots;
    char *mem;
    bool far; /* batches fly */
    /* by number: given out and perhaps still being copied, next, the one after it */
    struct load_slot flight[3];
    size_t batch; /* bytes of one */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, room;  /* `made` grew or the data ended; `used` grew or all ends */
    uint64_t made, used, taken; /* used: slots that are free again; taken: given out, not the thread's */
    bool stop;
    int result; /* of fill, once it is not 0 */
};

/* ---- the thread ---------------------------------------------------------------------------------------------- */

static void *prepare(void *arg) {
    rg_loader *l = arg;
    void *buf[PARTS];
    pthread_mutex_lock(&l->lock);
    while (!l->stop && !l->result) {
        if (l->made - l->used == l->slots) {
            pthread_cond_wait(&l->room, &l->lock);
            continue;
        }
        char *slot = l->mem + l->made % l->slots * l->batch;
        uint64_t step = l->first + l->made;
        pthread_mutex_unlock(&l->lock);
        for (size_t i = 0; i < l->parts; i++) buf[i] = slot + l->part[i].at;
        int result = l->fill(l->user, step, buf);
        pthread_mutex_lock(&l->lock);
        l->result = result;
        l->made += !result;
        pthread_cond_signal(&l->more);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* Signals are the program's own: the thread gets none. */
static int start(rg_loader *l) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int bad = pthread_create(&l->thread, NULL, prepare, l);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return bad;
}

/* ---- making and freeing ------------------------------------------------------------------------------------------ */

struct order {
    const rg_batch_part *part;
    size_t parts;
    rg_fill_fn *fill;
    void *user;
    rg_loader_opts o;
    rg_loader *made;
};

static size_t measure(struct api_call *k, const rg_batch_part *from, struct part *to, size_t i) {
    int64_t bytes = (int64_t)dtype_info[call_dtype(k, from->dtype)].bytes;
    *to = (struct part){.dt = from->dtype, .rank = (uint32_t)from->shape.n};
    if (from->shape.n > SHAPE_MAX)
        call_fail(k, RG_ELIMIT, "part %zu has %zu axes; a tensor has at most %d", i + 1, from->shape.n,
                  SHAPE_MAX);
    if (from->shape.n && !from->shape.d) call_fail(k, RG_EINVAL, "the shape of part %zu is NULL", i + 1);
    for (uint32_t d = 0; d < to->rank; d++) {
        to->d[d] = from->shape.d[d];
        if (to->d[d] < 0)
            call_fail(k, RG_EINVAL, "axis %u of part %zu has size %lld; sizes are 0 or more", d, i + 1,
                      (long long)to->d[d]);
        if (__builtin_mul_overflow(bytes, to->d[d], &bytes) || bytes > INT64_MAX / 2)
            call_fail(k, RG_ELIMIT, "part %zu has more than 2^62 bytes", i + 1);
    }
    return (size_t)bytes;
}

static void describe(struct api_call *k, const struct order *o, rg_loader *l) {
    if (!o->fill) call_fail(k, RG_EINVAL, "fill is NULL");
    if (!o->parts || !o->part) call_fail(k, RG_EINVAL, "a batch has one part at least");
    if (o->parts > PARTS) call_fail(k, RG_ELIMIT, "%zu parts; a batch has at most %d", o->parts, PARTS);
    if (o->o.ahead > AHEAD) call_fail(k, RG_ELIMIT, "%u batches ahead; %d at most", o->o.ahead, AHEAD);
    *l = (rg_loader){.c = k->c,
                     .parts = o->parts,
                     .fill = o->fill,
                     .user = o->user,
                     .first = o->o.first,
                     .ahead = o->o.ahead ? o->o.ahead : 2,
                     .far = engine_fetches(k->c->engine)};
    l->slots = l->ahead + l->far;
    for (size_t i = 0; i < l->parts; i++) {
        size_t bytes = measure(k, &o->part[i], &l->part[i], i);
        l->part[i].at = l->batch, l->part[i].bytes = bytes;
        l->batch += (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        if (l->batch > SIZE_MAX / 2 / AHEAD)
            call_fail(k, RG_ELIMIT, "a batch of more than %zu bytes", SIZE_MAX / 2 / AHEAD);
    }
}

/* Waits for its copy; what is not a tensor's is given back. */
static int land(rg_loader *l, struct err *e, struct load_slot *f, bool all) {
    int code = f->fetch ? engine_fetched(l->c->engine, e, f->fetch) : 0;
    f->fetch = NULL;
    for (size_t i = 0; i < l->parts && all; i++) {
        engine_free(l->c->engine, f->mem[i], RG_MAX(l->part[i].bytes, 1));
        f->mem[i] = NULL;
    }
    return code;
}

static void release(rg_loader *l) {
    struct err ignore = {0};
    for (size_t i = 0; i < RG_COUNT(l->flight); i++) land(l, &ignore, &l->flight[i], true);
    pthread_cond_destroy(&l->more);
    pthread_cond_destroy(&l->room);
    pthread_mutex_destroy(&l->lock);
    engine_host_free(l->c->engine, l->mem, l->batch * l->slots);
    mem_free(l);
}

static void loader_free(void *obj) {
    rg_loader *l = obj;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->room);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->thread, NULL);
    release(l);
}

static void do_new(struct api_call *k) {
    struct order *o = k->p;
    rg_loader plan;
    describe(k, o, &plan);
    rg_loader *l = mem_alloc(sizeof *l);
    if (!l) call_fail(k, RG_ENOMEM, "out of memory");
    *l = plan;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    pthread_cond_init(&l->room, NULL);
    struct err e = {0};
    l->mem = engine_host_alloc(k->c->engine, &e, l->batch * l->slots);
    int bad = l->mem ? start(l) : ENOMEM;
    if (bad) {
        release(l);
        call_fail(k, RG_ENOMEM, "cannot prepare %u batches of %zu bytes: %s", plan.ahead, plan.batch,
                  strerror(bad));
    }
    ctx_own(k->c, l, loader_free);
    o->made = l;
}

rg_loader *rg_loader_new_at(const char *file, int line, rg_ctx *c, const rg_batch_part *part, size_t parts,
                            rg_fill_fn *fill, void *user, rg_loader_opts o) {
    struct order r = {.part = part, .parts = parts, .fill = fill, .user = user, .o = o};
    return call_work(CALL(loader_new, .c = c, .p = &r), do_new) ? NULL : r.made;
}

void rg_loader_free(rg_loader *l) {
    if (!l) return;
    ctx_disown(l->c, l);
    loader_free(l);
}

/* ---- taking a batch ------------------------------------------------------------------------------------------------ */

struct taking {
    rg_loader *l;
    const rg_tensor *out;
    const bool *end;
    bool there;
};

static void free_slot(rg_loader *l) {
    pthread_mutex_lock(&l->lock);
    l->used++;
    pthread_cond_signal(&l->room);
    pthread_mutex_unlock(&l->lock);
}

static struct load_slot *flight(rg_loader *l, uint64_t number) {
    return &l->flight[number % RG_COUNT(l->flight)];
}

static void do_await(struct api_call *k) {
    struct taking *t = k->p;
    rg_loader *l = t->l;
    if (!t->out) call_fail(k, RG_EINVAL, "the array for the tensors is NULL");
    if (l->far && l->used < l->taken) { /* the batch of the call before: its copy is done by now, or soon */
        if (land(l, &k->c->err, flight(l, l->used), false))
            err_throw(&k->c->err, k->c->err.code, "the copy failed");
        free_slot(l);
    }
    pthread_mutex_lock(&l->lock);
    while (l->made == l->taken && !l->result) pthread_cond_wait(&l->more, &l->lock);
    t->there = l->made > l->taken;
    int result = l->result;
    pthread_mutex_unlock(&l->lock);
    if (t->there) return;
    uint64_t step = l->first + l->taken;
    if (result < 0)
        call_fail(k, RG_EIO, "fill failed at step %llu: it returned %d", (unsigned long long)step, result);
    if (!t->end)
        call_fail(k, RG_EINVAL, "the data ended before step %llu; pass a bool to be told so instead",
                  (unsigned long long)step);
}

/* Begins the copy of a batch; on error nothing was. */
static int begin(rg_loader *l, struct err *e, uint64_t number) {
    struct load_slot *f = flight(l, number);
    struct dev_piece piece[PARTS];
    struct err ignore = {0};
    char *slot = l->mem + number % l->slots * l->batch;
    if (f->fetch) return 0;
    for (size_t i = 0; i < l->parts; i++) {
        if (!(f->mem[i] = engine_alloc(l->c->engine, e, RG_MAX(l->part[i].bytes, 1)))) break;
        piece[i] = (struct dev_piece){f->mem[i], slot + l->part[i].at, l->part[i].bytes};
    }
    if (e->code || engine_fetch(l->c->engine, e, piece, (uint32_t)l->parts, &f->fetch))
        land(l, &ignore, f, true);
    return e->code;
}

static void do_begin(struct api_call *k) {
    rg_loader *l = k->p;
    if (begin(l, &k->c->err, l->taken) || engine_order(k->c->engine, &k->c->err, flight(l, l->taken)->fetch))
        err_throw(&k->c->err, k->c->err.code, "the copy failed");
}

/* The next one, if it is prepared. Without memory for it now, it begins when it is asked for. */
static void begin_next(rg_loader *l) {
    struct err ignore = {0};
    pthread_mutex_lock(&l->lock);
    bool there = l->made > l->taken;
    pthread_mutex_unlock(&l->lock);
    if (there) begin(l, &ignore, l->taken);
}

static const uop *build_landed(struct api_call *k) {
    rg_loader *l = k->p;
    size_t i = (size_t)k->i[0];
    enum dtype dt = call_dtype(k, l->part[i].dt);
    const struct shape *sh = shape_make(&k->g->shapes, l->part[i].d, l->part[i].rank);
    void **mem = &flight(l, l->taken)->mem[i];
    uint32_t s = store_new(k->c, l->part[i].bytes, EVENT_MEM_DATA);
    store_give(k, s, *mem, dt, sh);
    *mem = NULL;
    return store_node(k->c, s, k->c->store[s].version, dt, sh);
}

/* Tensors of the batch at hand; false if one could not be made. */
static bool take(rg_loader *l, const char *file, int line, rg_tensor *out) {
    char *slot = l->mem + l->taken % l->slots * l->batch;
    struct err ignore = {0};
    if (l->far && call_work(CALL(loader_next, .c = l->c, .p = l), do_begin)) return false;
    for (size_t i = 0; i < l->parts; i++) {
        const struct part *p = &l->part[i];
        out[i] =
            l->far
                ? call_tensor(CALL(loader_next, .c = l->c, .i = {(int64_t)i}, .p = l, .build = build_landed))
                : call_tensor(CALL(loader_next, .c = l->c, .i = {(int64_t)p->dt}, .p = slot + p->at,
                                   .ints = {p->d, p->rank}, .build = build_from));
        if (!l->c->err.code) continue;
        if (l->far) land(l, &ignore, flight(l, l->taken), true);
        while (i > 0) rg_free(out[--i]);
        return false;
    }
    return true;
}

rg_status rg_loader_next_at(const char *file, int line, rg_loader *l, rg_tensor *out, bool *end) {
    if (!l) return RG_EINVAL;
    struct taking t = {.l = l, .out = out, .end = end};
    rg_status st = call_work(CALL(loader_next, .c = l->c, .p = &t), do_await);
    if (end) *end = !st && !t.there;
    if (t.there && take(l, file, line, out)) {
        l->taken++;
        if (l->far)
            begin_next(l);
        else
            free_slot(l);
        return RG_OK;
    }
    st = (rg_status)l->c->err.code;
    for (size_t i = 0; i < l->parts && out; i++) out[i] = st ? poison(l->c) : RG_NONE;
    return st;
}
