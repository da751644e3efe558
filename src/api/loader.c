/* loader.c: batches that a thread of their own prepares while the program computes.
 *
 * A ring of `ahead` places in host memory. The thread writes place made % ahead, the program takes place used % ahead and
 * copies it to the device as rg_from does; used <= made <= used + ahead. Both counters change under the lock, the bytes
 * of a place belong to the thread before `made` passes it and to the program after, so nothing else needs one.
 * The thread calls nothing but fill: the context stays with the program's thread, and fill never runs twice at once.
 * A batch whose tensors could not be made (no memory) is not lost: the next call tries it again.
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
    size_t at; /* inside a batch */
};

struct rg_loader {
    rg_ctx *c;
    struct part part[PARTS];
    size_t parts;
    rg_fill_fn *fill;
    void *user;
    uint64_t first;
    uint32_t ahead;
    char *mem;
    size_t batch; /* bytes of one */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, room; /* `made` grew or the data ended; `used` grew or all ends */
    uint64_t made, used;
    bool stop;
    int result; /* of fill, once it is not 0 */
};

/* ---- the thread ---------------------------------------------------------------------------------------------- */

static void *prepare(void *arg) {
    rg_loader *l = arg;
    void *buf[PARTS];
    pthread_mutex_lock(&l->lock);
    while (!l->stop && !l->result) {
        if (l->made - l->used == l->ahead) {
            pthread_cond_wait(&l->room, &l->lock);
            continue;
        }
        char *place = l->mem + l->made % l->ahead * l->batch;
        uint64_t step = l->first + l->made;
        pthread_mutex_unlock(&l->lock);
        for (size_t i = 0; i < l->parts; i++) buf[i] = place + l->part[i].at;
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

static size_t measure(struct call *k, const rg_batch_part *from, struct part *to, size_t i) {
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

static void describe(struct call *k, const struct order *o, rg_loader *l) {
    if (!o->fill) call_fail(k, RG_EINVAL, "fill is NULL");
    if (!o->parts || !o->part) call_fail(k, RG_EINVAL, "a batch has one part at least");
    if (o->parts > PARTS) call_fail(k, RG_ELIMIT, "%zu parts; a batch has at most %d", o->parts, PARTS);
    if (o->o.ahead > AHEAD) call_fail(k, RG_ELIMIT, "%u batches ahead; %d at most", o->o.ahead, AHEAD);
    *l = (rg_loader){.c = k->c,
                     .parts = o->parts,
                     .fill = o->fill,
                     .user = o->user,
                     .first = o->o.first,
                     .ahead = o->o.ahead ? o->o.ahead : 2};
    for (size_t i = 0; i < l->parts; i++) {
        size_t bytes = measure(k, &o->part[i], &l->part[i], i);
        l->part[i].at = l->batch;
        l->batch += (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        if (l->batch > SIZE_MAX / 2 / AHEAD)
            call_fail(k, RG_ELIMIT, "a batch of more than %zu bytes", SIZE_MAX / 2 / AHEAD);
    }
}

static void release(rg_loader *l) {
    pthread_cond_destroy(&l->more);
    pthread_cond_destroy(&l->room);
    pthread_mutex_destroy(&l->lock);
    os_pages_free(l->mem, l->batch * l->ahead);
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

static void do_new(struct call *k) {
    struct order *o = k->p;
    rg_loader plan;
    describe(k, o, &plan);
    rg_loader *l = mem_alloc(sizeof *l);
    if (!l) call_fail(k, RG_ENOMEM, "out of memory");
    *l = plan;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->more, NULL);
    pthread_cond_init(&l->room, NULL);
    l->mem = os_pages(l->batch * l->ahead);
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

static void do_await(struct call *k) {
    struct taking *t = k->p;
    rg_loader *l = t->l;
    if (!t->out) call_fail(k, RG_EINVAL, "the place for the tensors is NULL");
    pthread_mutex_lock(&l->lock);
    while (l->made == l->used && !l->result) pthread_cond_wait(&l->more, &l->lock);
    t->there = l->made > l->used;
    int result = l->result;
    pthread_mutex_unlock(&l->lock);
    if (t->there) return;
    uint64_t step = l->first + l->used;
    if (result < 0)
        call_fail(k, RG_EIO, "fill failed at step %llu: it returned %d", (unsigned long long)step, result);
    if (!t->end)
        call_fail(k, RG_EINVAL, "the data ended before step %llu; pass a bool to be told so instead",
                  (unsigned long long)step);
}

/* Tensors of the batch at hand; false if one could not be made. */
static bool take(rg_loader *l, const char *file, int line, rg_tensor *out) {
    char *place = l->mem + l->used % l->ahead * l->batch;
    for (size_t i = 0; i < l->parts; i++) {
        const struct part *p = &l->part[i];
        out[i] = call_tensor(CALL(loader_next, .c = l->c, .i = {(int64_t)p->dt}, .p = place + p->at,
                                  .ints = {p->d, p->rank}, .build = build_from));
        if (!l->c->err.code) continue;
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
        pthread_mutex_lock(&l->lock);
        l->used++;
        pthread_cond_signal(&l->room);
        pthread_mutex_unlock(&l->lock);
        return RG_OK;
    }
    st = (rg_status)l->c->err.code;
    for (size_t i = 0; i < l->parts && out; i++) out[i] = st ? poison(l->c) : RG_NONE;
    return st;
}
