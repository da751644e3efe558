/* overlap.c: collectives that run beside kernels: the gradients of one bucket travel while those of the next are computed.
 *
 * A thread of the engine runs a list's collectives, in their order. The list goes on with commands that touch none of their memory;
 * it waits where one does, before it ends, and before it fails. Only where kernels and exchanges are both work of the host: on a GPU
 * collectives are enqueued on its stream or copied through the host (collective.c).
 * Tests: tests/unit/world_overlap.c */
#include "engine/internal.h"
#include "engine/plan.h"
#include "world/world.h"

#include <pthread.h>

enum { OVERLAP_MOST = 256 }; /* collectives of one list under way */

struct overlap {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct command *cmd[OVERLAP_MOST];
    uint32_t begun, ended; /* of the list that runs */
    bool quit;
    struct engine *en;
    struct err err; /* the first that failed; those after it do not run */
};

static void run_one(struct overlap *o, struct command *c) {
    uint64_t t0 = os_now_ns();
    if (!o->err.code) command_launch(o->en, &o->err, c);
    uint64_t t1 = os_now_ns();
    c->ns = t1 - t0;
    event_add_info(EVENT_KERNEL, c->l.name, c->l.info, t0, t1, c->l.ops, c->l.bytes);
}

static void *overlap_main(void *arg) {
    struct overlap *o = arg;
    pthread_mutex_lock(&o->lock);
    while (!o->quit) {
        if (o->ended == o->begun) {
            pthread_cond_wait(&o->changed, &o->lock);
            continue;
        }
        struct command *c = o->cmd[o->ended];
        pthread_mutex_unlock(&o->lock);
        run_one(o, c);
        pthread_mutex_lock(&o->lock);
        o->ended++;
        pthread_cond_broadcast(&o->changed);
    }
    pthread_mutex_unlock(&o->lock);
    return NULL;
}

static struct overlap *overlap_new(struct engine *en) {
    struct overlap *o = mem_alloc(sizeof *o);
    if (!o) return NULL;
    *o = (struct overlap){.en = en};
    pthread_mutex_init(&o->lock, NULL);
    pthread_cond_init(&o->changed, NULL);
    if (!pthread_create(&o->thread, NULL, overlap_main, o)) return o;
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
    return NULL;
}

void overlap_close(struct engine *en) {
    struct overlap *o = en->overlap;
    if (!o) return;
    pthread_mutex_lock(&o->lock);
    o->quit = true;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    pthread_join(o->thread, NULL);
    pthread_cond_destroy(&o->changed);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
    en->overlap = NULL;
}

/* A world that other threads may use, whose exchange is the host's work. */
static bool can_overlap(const struct engine *en, const struct command *c) {
    if (!command_is_collective(c) || !c->use || en->ops->discrete || !env_int(ENV_OVERLAP)) return false;
    uint32_t number = collective_unpack(c->l.var[2]).world;
    const struct world *w = number < RG_COUNT(en->world) ? en->world[number] : NULL;
    return w && world_size(w) > 1 && world_any_thread(w);
}

bool overlap_begin(struct engine *en, struct command *c) {
    if (!can_overlap(en, c)) return false;
    if (!en->overlap) en->overlap = overlap_new(en);
    struct overlap *o = en->overlap;
    if (!o || o->begun == OVERLAP_MOST) return false;
    pthread_mutex_lock(&o->lock);
    o->cmd[o->begun++] = c;
    pthread_cond_broadcast(&o->changed);
    pthread_mutex_unlock(&o->lock);
    return true;
}

/* What has to end before `next` begins: all up to the last that it meets. */
static uint32_t needed(const struct overlap *o, const struct command *next) {
    for (uint32_t i = o->begun; next && i > o->ended; i--)
        if (!next->use || command_is_collective(next) || commands_meet(o->cmd[i - 1], next)) return i;
    return next ? 0 : o->begun;
}

int overlap_wait(struct engine *en, struct err *e, const struct command *next) {
    struct overlap *o = en->overlap;
    if (!o || !o->begun) return 0;
    uint64_t t0 = os_now_ns();
    pthread_mutex_lock(&o->lock);
    uint32_t until = needed(o, next);
    bool waits = o->ended < until;
    while (o->ended < until) pthread_cond_wait(&o->changed, &o->lock);
    bool failed = o->ended == o->begun && o->err.code;
    if (failed && !e->code) err_set(e, o->err.code, "%s", o->err.msg);
    if (!next) o->begun = o->ended = 0, err_clear(&o->err);
    pthread_mutex_unlock(&o->lock);
    if (waits) event_add(EVENT_WAIT, event_name("wait for a collective"), t0, os_now_ns(), 0, 0);
    return e->code;
}

/* ---- plans that do not run ------------------------------------------------------------------------------------------ */

static bool is_exchange(const struct recipe *r, uint32_t i) {
    return !strcmp(r->kernel[r->call[i].kernel].builtin, call_info[CALL_collective].name);
}

static bool bufs_meet(const struct recipe_buf *a, const struct recipe_buf *b) {
    bool inner = a->kind == BUF_TEMP || a->kind == BUF_TABLE;
    if (a->kind != b->kind || (!inner && a->number != b->number) || !((a->use | b->use) & USE_STORED))
        return false;
    int64_t p = a->offset + a->slice.offset, q = b->offset + b->slice.offset;
    return p < q + b->slice.bytes && q < p + a->slice.bytes;
}

uint32_t overlap_behind(const struct recipe *r, uint32_t i) {
    uint32_t begun = 0;
    for (uint32_t j = i; j-- > 0 && !is_exchange(r, i);) {
        if (!is_exchange(r, j)) continue;
        begun++;
        for (uint32_t a = 0; a < r->call[i].nbuf; a++)
            for (uint32_t b = 0; b < r->call[j].nbuf; b++)
                if (bufs_meet(&r->call[i].buf[a], &r->call[j].buf[b])) return begun;
    }
    return 0;
}

void overlap_tell(uint32_t behind) {
    char text[16];
    uint64_t now = os_now_ns();
    snprintf(text, sizeof text, "%u", behind);
    if (behind)
        event_add_info(EVENT_WAIT, event_name("wait for a collective"), event_name(text), now, now, 0, 0);
}
