/* sync.c: waiting for other ranks, and what happens when they do not come.
 *
 * A rank's progress is a counter in shared memory. Who waits for it spins shortly, then sleeps on it (futex) in slices; after each
 * slice it asks whether the other process still exists, whether it left, whether anyone failed, and whether the time limit is over.
 * The first rank that finds a failure writes down why for all: everyone gets the same words, with the rank that is to blame.
 * Tests: tests/unit/world.c (world_fault_*), tests/cli/world.sh */
#include "world/internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLICE_MS = 20, HEAR_SLICES = 50, STATE_BYTES = 1024 };

static void sleep_on(_Atomic uint32_t *word, uint32_t seen) {
    struct timespec slice = {.tv_nsec = SLICE_MS * 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &slice, NULL, 0);
}

static void wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0); }

void sync_set(_Atomic uint32_t *word, _Atomic uint32_t *sleepers, uint32_t value) {
    atomic_store(word, value);
    if (atomic_load(sleepers)) wake(word);
}

/* ---- other processes --------------------------------------------------------------------------------------------- */

/* /proc/PID/stat: "PID (name) S ..", where the name may hold anything, and the 22nd field is the start time. */
uint64_t sync_process_born(int32_t pid, char *state) {
    char path[64], text[STATE_BYTES];
    unsigned long long born = 0;
    *state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f) return kill(pid, 0) && errno == ESRCH ? 0 : 1;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')');
    if (!at || !at[1]) return 1;
    *state = at[2];
    at += 2;
    for (int field = 3; field < 22 && at; field++) at = strchr(at + 1, ' ');
    if (!at || sscanf(at, "%llu", &born) != 1) return 1;
    return born ? born : 1;
}

enum liveness { ALIVE, STOPPED, ENDED };

static enum liveness look_at(const struct segment *s, uint32_t r) {
    const struct segment_rank *x = &s->head->rank[r];
    char state;
    if (s->threads || !x->pid) return ALIVE;
    uint64_t born = sync_process_born(x->pid, &state);
    if (!born || state == 'Z' || state == 'X' || (x->born > 1 && born > 1 && born != x->born)) return ENDED;
    return state == 'T' || state == 't' ? STOPPED : ALIVE;
}

/* ---- failing -------------------------------------------------------------------------------------------------------- */

static int hear(struct segment *s, struct err *e) {
    /* who writes the reason down may be killed while it does */
    for (int i = 0; i < HEAR_SLICES && atomic_load(&s->head->failed) == 1; i++) sleep_on(&s->head->failed, 1);
    if (atomic_load(&s->head->failed) == 1)
        return err_set(e, RG_EDEVICE, "a rank failed, and ended before it could say why");
    int code = RG_EDEVICE;
    sscanf(s->head->why, "%d", &code);
    const char *text = strchr(s->head->why, ' ');
    return err_set(e, code, "%s", text ? text + 1 : "a rank failed");
}

int sync_fail(struct segment *s, struct err *e, int code, const char *fmt, ...) {
    uint32_t none = 0;
    char text[sizeof s->head->why - 16];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!atomic_compare_exchange_strong(&s->head->failed, &none, 1)) return hear(s, e);
    snprintf(s->head->why, sizeof s->head->why, "%d %s", code, text);
    atomic_store(&s->head->failed, 2);
    wake(&s->head->failed);
    for (uint32_t r = 0; r < s->size; r++) wake(&s->head->rank[r].arrived);
    return err_set(e, code, "%s", text);
}

/* "rank 2 (process 4711)" */
static const char *who(const struct segment *s, uint32_t r, char out[static 48]) {
    if (s->threads)
        snprintf(out, 48, "rank %u", r);
    else
        snprintf(out, 48, "rank %u (process %d)", r, (int)s->head->rank[r].pid);
    return out;
}

static const char *whereabouts(const struct segment *s, uint32_t r, char out[static 160]) {
    const struct segment_rank *x = &s->head->rank[r];
    uint64_t at = atomic_load(&x->at), nth = at / 2;
    char text[WORLD_TEXT];
    const struct segment_call *c = &x->call[nth & 1];
    if (!nth)
        snprintf(out, 160, "it has called no collective yet");
    else
        snprintf(out, 160, "%s collective %llu, %s", at & 1 ? "it is inside of" : "the last it completed is",
                 (unsigned long long)nth, world_describe(text, c->code, c->nin, c->nout));
    return out;
}

static int fail_late(struct segment *s, struct err *e, uint32_t r) {
    char name[48], where[160];
    bool stopped = look_at(s, r) == STOPPED;
    return sync_fail(
        s, e, RG_EDEVICE,
        "%s did not come to collective %llu within %.3g s%s: %s (RIDGE_WORLD_TIMEOUT sets the limit)",
        who(s, r, name), (unsigned long long)s->count, (double)s->w->limit_ns * 1e-9,
        stopped ? ", its process is stopped" : "", whereabouts(s, r, where));
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------- */

static void pause_core(void) {
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("isb");
#endif
}

static bool reached(_Atomic uint32_t *word, uint32_t target) {
    return (int32_t)(atomic_load(word) - target) >= 0;
}

/* Between two slices of sleep. */
static int check_rank(struct segment *s, struct err *e, uint32_t r, _Atomic uint32_t *word, uint32_t target,
                      uint64_t until) {
    char name[48], where[160];
    uint32_t state = atomic_load(&s->head->rank[r].state);
    enum liveness alive = state == RANK_JOINED ? look_at(s, r) : ALIVE;
    if (reached(word, target)) return 0; /* before it ended */
    if (atomic_load(&s->head->failed)) return hear(s, e);
    if (state == RANK_LEFT)
        return sync_fail(s, e, RG_EDEVICE, "%s closed its world before collective %llu: %s", who(s, r, name),
                         (unsigned long long)s->count, whereabouts(s, r, where));
    if (alive == ENDED)
        return sync_fail(s, e, RG_EDEVICE, "%s ended before collective %llu: %s", who(s, r, name),
                         (unsigned long long)s->count, whereabouts(s, r, where));
    return os_now_ns() > until ? fail_late(s, e, r) : 0;
}

int sync_wait(struct segment *s, struct err *e, uint32_t of, _Atomic uint32_t *word,
              _Atomic uint32_t *sleepers, uint32_t target) {
    if (reached(word, target)) return 0;
    uint64_t t0 = os_now_ns(), until = t0 + s->w->limit_ns;
    for (uint32_t i = 0; i < s->spins && !reached(word, target); i++) pause_core();
    while (!reached(word, target)) {
        uint32_t seen = atomic_load(word);
        atomic_fetch_add(sleepers, 1);
        uint64_t slept = os_now_ns();
        if (!reached(word, target) && !atomic_load(&s->head->failed)) sleep_on(word, seen);
        atomic_fetch_sub(sleepers, 1);
        bool slice = os_now_ns() - slept >= SLICE_MS * 500000ull || atomic_load(&s->head->failed);
        if (slice && check_rank(s, e, of, word, target, until)) break;
    }
    s->w->waited_ns += os_now_ns() - t0;
    return e->code;
}

int sync_all(struct segment *s, struct err *e) {
    struct segment_rank *rank = s->head->rank;
    sync_set(&rank[s->me].arrived, &rank[s->me].sleepers, ++s->phase);
    for (uint32_t r = 0; r < s->size; r++)
        if (r != s->me && sync_wait(s, e, r, &rank[r].arrived, &rank[r].sleepers, s->phase)) return e->code;
    return atomic_load(&s->head->failed) ? hear(s, e) : 0; /* they came, and gave up */
}
