/* names.c: the texts that records refer to by number.
 *
 * Most last as long as the process: literals, devices, entry points. Those that come with each new shape (kernels, owners
 * of memory) are shared: commands and blocks of memory hold them, and of those without a hold the oldest go when
 * 16,384 are idle, which is more than the ring buffer of a thread still refers to as a rule. A number is an index and the
 * index's generation, so that a record whose name is gone reads "", not the name that took its place; a generation comes
 * around after 4096 times as many names, when no ring buffer remembers it. While a profile is recorded nothing goes: its
 * file refers to names by number.
 * Tests: tests/unit/event.c (event_name*), tests/unit/kernel_cache.c (kernels_of_many_shapes_are_unloaded) */
#include "event/internal.h"

#include <pthread.h>

#define INDEX_BITS 20
#define NAMES_MAX (1u << INDEX_BITS)
#define GENERATIONS (1u << (32 - INDEX_BITS))
#define NAMES_BYTES ((size_t)4 << 20) /* of texts; more only while a profile is recorded */
#define IDLE_MOST EVENT_RING

enum { PIECE = 64 << 10, STEP = 32, CLASSES = 40 }; /* longer texts have memory of their own */

struct name {
    char *text;            /* NULL: a free index */
    uint32_t newer, older; /* among idle ones; of a free index `older` is the next free one */
    uint32_t holds;
    uint16_t generation;
    bool shared; /* goes when idle; false: lasts */
};

static struct {
    pthread_mutex_t lock;
    struct name *of;            /* by index; 0 is "" */
    uint32_t n, cap;            /* indices given out; cap is a power of two, the table has 2 * cap slots */
    uint32_t *slot;             /* open addressing by hash of the text: indices, 0 is empty */
    uint32_t free;              /* list of free indices */
    uint32_t newest, oldest;    /* idle */
    uint32_t idle, most, count; /* count: of names that there are */
    char *piece;                /* that texts are cut from */
    size_t left, bytes;         /* of the piece; of all texts */
    char *spare[CLASSES];       /* memory of texts that went, by size: lists through their first bytes */
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .n = 1, .most = IDLE_MOST};

/* ---- the table ------------------------------------------------------------------------------------------ */

static uint32_t home(const char *text, size_t len) {
    return (uint32_t)hash_bytes(text, len, 0) & (2 * names.cap - 1);
}

static uint32_t *find(const char *text, size_t len) {
    uint32_t i = home(text, len);
    while (names.slot[i] && strcmp(names.of[names.slot[i]].text, text) != 0)
        i = (i + 1) & (2 * names.cap - 1);
    return &names.slot[i];
}

/* Entries behind it move up, so that probing still finds them. */
static void take_out(const char *text) {
    uint32_t hole = (uint32_t)(find(text, strlen(text)) - names.slot), mask = 2 * names.cap - 1;
    for (uint32_t i = (hole + 1) & mask; names.slot[i]; i = (i + 1) & mask) {
        const char *t = names.of[names.slot[i]].text;
        if (((i - home(t, strlen(t))) & mask) < ((i - hole) & mask)) continue;
        names.slot[hole] = names.slot[i];
        hole = i;
    }
    names.slot[hole] = 0;
}

static bool grow(void) {
    uint32_t cap = names.cap ? names.cap * 2 : 256;
    if (cap > NAMES_MAX) return false;
    uint32_t *slot = mem_alloc(2 * cap * sizeof *slot);
    struct name *of = slot ? mem_realloc(names.of, cap * sizeof *of) : NULL;
    if (!of) {
        mem_free(slot);
        return false;
    }
    memset(slot, 0, 2 * cap * sizeof *slot);
    mem_free(names.slot);
    names.of = of, names.slot = slot, names.cap = cap;
    for (uint32_t i = 1; i < names.n; i++)
        if (of[i].text) *find(of[i].text, strlen(of[i].text)) = i;
    return true;
}

static uint32_t number_of(uint32_t i) { return i | (uint32_t)names.of[i].generation << INDEX_BITS; }

/* Its entry; NULL: the name is gone, or was not given out. */
static struct name *look(uint32_t number) {
    uint32_t i = number & (NAMES_MAX - 1);
    return i && i < names.n && names.of[i].text && number_of(i) == number ? &names.of[i] : NULL;
}

/* ---- memory of texts: what a leak check counts does not depend on which names are idle ------------------------- */

static char *cut(size_t n) {
    if (n > names.left) {
        char *p = mem_alloc(PIECE);
        if (!p) return NULL;
        names.piece = p, names.left = PIECE;
    }
    names.left -= n;
    return (names.piece += n) - n;
}

static char *new_text(const char *text, size_t len) {
    size_t cls = len / STEP;
    char *p = cls >= CLASSES ? mem_alloc(len + 1) : names.spare[cls];
    if (p && cls < CLASSES) memcpy(&names.spare[cls], p, sizeof(char *));
    if (!p && cls < CLASSES) p = cut((cls + 1) * STEP);
    if (p) memcpy(p, text, len + 1);
    return p;
}

static void free_text(char *p) {
    size_t cls = strlen(p) / STEP;
    if (cls >= CLASSES) {
        mem_free(p);
        return;
    }
    memcpy(p, &names.spare[cls], sizeof(char *));
    names.spare[cls] = p;
}

/* ---- idle names ------------------------------------------------------------------------------------------- */

static void link_idle(struct name *x) {
    uint32_t i = (uint32_t)(x - names.of);
    x->newer = 0, x->older = names.newest;
    *(names.newest ? &names.of[names.newest].newer : &names.oldest) = i;
    names.newest = i;
    names.idle++;
}

static void unlink_idle(struct name *x) {
    *(x->newer ? &names.of[x->newer].older : &names.newest) = x->older;
    *(x->older ? &names.of[x->older].newer : &names.oldest) = x->newer;
    names.idle--;
}

static void drop_oldest(void) {
    uint32_t i = names.oldest;
    struct name *x = &names.of[i];
    unlink_idle(x);
    take_out(x->text);
    names.bytes -= strlen(x->text) + 1;
    free_text(x->text);
    names.count--;
    *x = (struct name){.generation = (uint16_t)((x->generation + 1) % GENERATIONS), .older = names.free};
    names.free = i;
}

static void trim(void) {
    if (event_recording_kind(EVENT_RECORD)) return;
    while (names.idle > names.most || (names.idle && names.bytes > NAMES_BYTES)) drop_oldest();
}

/* ---- giving out ------------------------------------------------------------------------------------------- */

static uint32_t again(struct name *x, bool shared) {
    bool idle = x->shared && !x->holds;
    if (idle) unlink_idle(x);
    x->shared = x->shared && shared;
    if (idle && x->shared) link_idle(x);
    return number_of((uint32_t)(x - names.of));
}

static uint32_t add(const char *text, size_t len, bool shared) {
    trim();
    if (!names.free && names.n >= names.cap && !grow()) return 0;
    uint32_t *at = find(text, len), i = *at;
    if (i) return again(&names.of[i], shared);
    if (names.bytes > NAMES_BYTES && !event_recording()) return 0;
    char *copy = new_text(text, len);
    if (!copy) return 0;
    names.bytes += len + 1;
    i = names.free ? names.free : names.n++;
    struct name *x = &names.of[i];
    if (i == names.free)
        names.free = x->older;
    else
        *x = (struct name){0};
    *at = i;
    names.count++;
    x->text = copy, x->shared = shared, x->holds = 0;
    if (shared) link_idle(x);
    record_name(number_of(i), copy, len);
    return number_of(i);
}

/* A forked child has a whole table, and no thread of its own holds the lock. */
static void before_fork(void) { pthread_mutex_lock(&names.lock); }
static void after_fork(void) { pthread_mutex_unlock(&names.lock); }
RG_AT_LOAD static void at_fork(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static uint32_t intern(const char *text, bool shared) {
    if (!text || !*text) return 0;
    pthread_mutex_lock(&names.lock);
    uint32_t number = add(text, strlen(text), shared);
    pthread_mutex_unlock(&names.lock);
    return number;
}

uint32_t event_name(const char *text) { return intern(text, false); }

uint32_t event_name_shared(const char *text) { return intern(text, true); }

bool event_name_hold(uint32_t name) {
    pthread_mutex_lock(&names.lock);
    struct name *x = look(name);
    if (x && x->shared && !x->holds) unlink_idle(x);
    if (x) x->holds++;
    pthread_mutex_unlock(&names.lock);
    return x != NULL;
}

void event_name_release(uint32_t name) {
    pthread_mutex_lock(&names.lock);
    struct name *x = look(name);
    if (x && x->holds && !--x->holds && x->shared) link_idle(x);
    trim();
    pthread_mutex_unlock(&names.lock);
}

bool event_name_known(uint32_t name) {
    pthread_mutex_lock(&names.lock);
    bool known = look(name) != NULL;
    pthread_mutex_unlock(&names.lock);
    return known;
}

uint32_t event_names(uint32_t keep) {
    pthread_mutex_lock(&names.lock);
    if (keep) names.most = keep;
    trim();
    uint32_t count = names.count;
    pthread_mutex_unlock(&names.lock);
    return count;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

void names_each(void (*fn)(uint32_t, const char *, size_t), void (*then)(void)) {
    pthread_mutex_lock(&names.lock);
    then();
    for (uint32_t i = 1; i < names.n; i++)
        if (names.of[i].text) fn(number_of(i), names.of[i].text, strlen(names.of[i].text));
    pthread_mutex_unlock(&names.lock);
}

const char *event_name_text(uint32_t name) {
    pthread_mutex_lock(&names.lock);
    const struct name *x = look(name);
    const char *s = x ? x->text : ""; /* texts never move */
    pthread_mutex_unlock(&names.lock);
    return s;
}
