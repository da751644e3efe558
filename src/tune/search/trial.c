/* trial.c: the first run of a candidate, in another process.
 *
 * A list that was never run may trap, hang or write where it should not, and on a GPU that ends every context of the process.
 * So each candidate runs first in ridge-worker, a helper program that has its own context, on memory of its own of the same
 * sizes and alignments: integers are zero, floats whatever they were. What comes back is compared and timed in this process
 * as before: real data and neighbours of the plan are here. What does not come back, or late, costs the candidate
 * ("trapped"), and the next one gets a new worker.
 * The worker reads compiled code from the disk cache; it lives until the plan was searched, and holds its memory until then.
 * It is RIDGE_WORKER, or the ridge-worker that was installed with the library (os_installed). Without it, or where it cannot open the
 * device, candidates run in this process at once, as they do on devices that only this process knows.
 * Tests: tests/unit/trial.c */
#include "tune/search/trial.h"

#define OPEN_NS 120000000000ull  /* to open the device: drivers take their time */
#define BUILD_NS 600000000000ull /* to load the code, or to compile it where no cache is */
#define BASE_TIMES 200           /* of the time of the list in use: slow, not hung */

struct search_worker {
    struct os_child child;
    bool off; /* there is none, or it is of no use here */
};

static uint64_t after(uint64_t ns) { return os_now_ns() + ns; }

static void give_up(struct search_worker *w, const char *why) {
    w->off = true;
    os_child_stop(&w->child);
    log_line(1, "search: candidates run in this process, where one that traps ends it: %s", why);
}

/* Opens the device; it says so, and what it is. */
static void start(struct engine *en, struct search_worker *w) {
    struct arena *a = &en->work;
    const char *path = env_str(ENV_WORKER);
    struct trial_answer r;
    struct err e = {0};
    if (!path || !*path) path = os_installed(a, "ridge-worker", true);
    if (!path || !strcmp(path, "0") || en->ops->interpret) {
        give_up(w, path ? "RIDGE_WORKER=0"
                        : "there is no ridge-worker where the library or the program was installed");
        return;
    }
    if (os_child_start(&e, (const char *[]){path, en->ops->name, NULL}, &w->child)) {
        give_up(w, e.msg);
        return;
    }
    enum os_talk t = os_child_receive(&w->child, &r, sizeof r, after(OPEN_NS));
    r.why[sizeof r.why - 1] = 0;
    if (t || r.magic != TRIAL_MAGIC)
        give_up(w, "ridge-worker did not answer");
    else if (r.state != TRIAL_READY)
        give_up(w, r.why);
    else if (strcmp(r.why, TRIAL_PROTOCOL) || r.ns != sizeof(struct trial_head))
        give_up(w, "ridge-worker is of another version");
}

struct worker_call {
    struct engine *en;
    struct search_worker *w;
};

static void start_guarded(void *arg) {
    struct worker_call *c = arg;
    start(c->en, c->w);
}

/* NULL: there is none. */
static struct search_worker *worker_of(struct engine *en) {
    struct search_worker *w = en->worker;
    if (!w) {
        if (!(w = en->worker = mem_alloc(sizeof *w))) return NULL;
        *w = (struct search_worker){.child.fd = -1};
    }
    if (w->off || w->child.fd >= 0) return w->off ? NULL : w;
    err_clear(&en->err);
    if (err_guard(&en->err, start_guarded, &(struct worker_call){en, w})) w->off = true;
    arena_free(&en->work);
    return w->off ? NULL : w;
}

void trial_stop(struct engine *en) {
    if (!en->worker) return;
    os_child_stop(&en->worker->child);
    mem_free(en->worker);
    en->worker = NULL;
}

/* ---- one candidate --------------------------------------------------------------------------------------- */

/* In the arena, which may throw; NULL: too long. */
static char *message(struct arena *a, const struct tune_job *j, const struct ekernel *k, int64_t limit_s,
                     size_t *n) {
    struct trial_head h = {.magic = TRIAL_MAGIC,
                           .nbuf = k->nbuf,
                           .nvar = k->nvar,
                           .block = k->block,
                           .per_block = k->per_block,
                           .nmap = k->nmap,
                           .serial = k->serial,
                           .name = (uint32_t)strlen(k->name) + 1,
                           .text = (uint32_t)strlen(k->source) + 1,
                           .grid = k->grid,
                           .scratch = k->scratch,
                           .shared = k->shared,
                           .limit_s = limit_s,
                           .est = k->est};
    memcpy(h.map, k->map, sizeof h.map);
    h.bytes = k->nbuf * sizeof(struct trial_buf) + k->nvar * sizeof(int64_t) + h.name + h.text;
    if (h.bytes > TRIAL_MOST || k->nbuf > j->p->nbuf) return NULL;
    char *out = arena_alloc(a, sizeof h + h.bytes), *p = out;
    p = (char *)memcpy(p, &h, sizeof h) + sizeof h;
    for (uint32_t i = 0; i < k->nbuf; i++, p += sizeof(struct trial_buf)) {
        struct trial_buf b = {.bytes = j->bytes[i],
                              .same = j->same[i],
                              .at = (uint32_t)((uintptr_t)j->buf[i] % TRIAL_ALIGN),
                              .zero = !dt_is_float(j->dt[i])};
        memcpy(p, &b, sizeof b);
    }
    if (k->nvar) memcpy(p, j->var, k->nvar * sizeof(int64_t));
    p += k->nvar * sizeof(int64_t);
    memcpy(p, k->name, h.name), memcpy(p + h.name, k->source, h.text);
    *n = sizeof h + h.bytes;
    return out;
}

/* The worker is of no use any more: why. */
static enum trial_end lost(struct search_worker *w, const char *kernel, enum os_talk t, int64_t limit_s,
                           const char *said) {
    char why[320];
    int signal = os_child_stop(&w->child);
    if (said)
        snprintf(why, sizeof why, "%s", said);
    else if (t == OS_TALK_LATE)
        snprintf(why, sizeof why, "it was not done after %lld s (RIDGE_TUNE_LIMIT)", (long long)limit_s);
    else if (signal)
        snprintf(why, sizeof why, "it ended its process by signal %d (%s)", signal, strsignal(signal));
    else
        snprintf(why, sizeof why, "its process ended, or answered what is no answer");
    log_line(1, "search: a candidate for %s is left out: %s", kernel, why);
    return TRIAL_TRAPPED;
}

static enum trial_end answer(struct search_worker *w, const char *kernel, int64_t limit_s) {
    struct trial_answer r = {0};
    for (uint32_t want = TRIAL_BEGUN; want <= TRIAL_RAN; want++) {
        uint64_t ns = want == TRIAL_BEGUN ? BUILD_NS : (uint64_t)limit_s * 1000000000u;
        enum os_talk t = os_child_receive(&w->child, &r, sizeof r, after(ns));
        r.why[sizeof r.why - 1] = 0;
        bool sense = !t && r.magic == TRIAL_MAGIC;
        if (sense && r.state == want) continue;
        if (sense && r.state == TRIAL_NO_ROOM) return TRIAL_NONE;
        if (!sense || r.state != TRIAL_REFUSED)
            return lost(w, kernel, t, limit_s, sense && r.state == TRIAL_LOST ? r.why : NULL);
        log_line(1, "search: a candidate for %s does not run: %s", kernel, r.why);
        return TRIAL_DID_NOT_START;
    }
    return TRIAL_PASSED;
}

enum trial_end trial_run(struct engine *en, struct arena *a, const struct tune_job *j,
                         const struct ekernel *k, uint64_t base_ns) {
    int64_t limit_s = RG_MAX(env_int(ENV_TUNE_LIMIT), 1) + (int64_t)(base_ns * BASE_TIMES / 1000000000u);
    struct search_worker *w = worker_of(en);
    size_t n;
    char *m = w ? message(a, j, k, limit_s, &n) : NULL;
    if (!m) return TRIAL_NONE;
    enum os_talk t = os_child_send(&w->child, m, n, after(OPEN_NS));
    if (t) return lost(w, k->name, t, limit_s, NULL);
    return answer(w, k->name, limit_s);
}
