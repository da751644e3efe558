/* env.c: the environment, read once through the table in env.def.
 *
 * RIDGE_NAME always counts; the bare NAME counts where the table allows it and only if it parses, since
 * DEBUG and CC-like names belong to other programs too. A RIDGE_ value that does not parse keeps the
 * default and leaves a warning, as does a RIDGE_ name that is not in the table (with the nearest one
 * that is). In a program that has more rights than its caller (setuid, setgid, file capabilities) nothing of the caller's
 * environment is believed: every variable that names a file or program is asked for by env_get. Nothing here allocates: mem.c asks for OOM_AT before its first allocation.
 *
 * Invariants: after `ready` the values do not change until env_reload, which only tests call, while no
 * other thread runs. An empty value is the same as none.
 * Tests: tests/unit/base.c (env_*). */
#include "internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/auxv.h>

extern char **environ;

enum env_kind { INT, STR };

static const struct {
    const char *name;
    enum env_kind kind;
    const char *dflt;
    bool bare;
    const char *help;
} table[ENV_COUNT] = {
#define ENV(name, kind, dflt, bare, help) {#name, kind, dflt, bare, help},
#include "env.def"
#undef ENV
};

#define TEXT_MAX 4096 /* a path fits */

static struct {
    atomic_bool ready;
    pthread_mutex_t lock;
    int64_t num[ENV_COUNT];
    bool set[ENV_COUNT];
    char text[ENV_COUNT][TEXT_MAX];
    char warnings[2048];
} env = {.lock = PTHREAD_MUTEX_INITIALIZER};

RG_FMT(1, 2) static void warn(const char *fmt, ...) {
    size_t n = strlen(env.warnings);
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(env.warnings + n, sizeof env.warnings - n, fmt, ap);
    va_end(ap);
}

static bool parse_int(const char *s, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end == s || *end || errno) return false;
    *out = v;
    return true;
}

/* Takes `s` as the value of variable `id` if it is one. */
static bool take(int id, const char *s) {
    if (strlen(s) >= TEXT_MAX) return false;
    if (table[id].kind == INT && !parse_int(s, &env.num[id])) return false;
    strcpy(env.text[id], s);
    return true;
}

bool env_is_foreign(void) { return getauxval(AT_SECURE) != 0; }

const char *env_get(const char *name) { return env_is_foreign() ? NULL : getenv(name); }

static void read_one(int id) {
    char name[64];
    snprintf(name, sizeof name, "RIDGE_%s", table[id].name);
    take(id, table[id].dflt);
    const char *s = env_get(name);
    if (s && *s) {
        env.set[id] = take(id, s);
        if (env.set[id]) return;
        if (table[id].kind == INT)
            warn("%s=%.40s: expected a whole number; using %s\n", name, s, table[id].dflt);
        else
            warn("%s: longer than %d bytes; ignored\n", name, TEXT_MAX - 1);
    } else if (table[id].bare && (s = env_get(table[id].name)) && *s) {
        env.set[id] = take(id, s);
    }
}

/* How many edits turn a into b; for names of at most 40 letters, more counts as far. */
static int distance(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b);
    if (na > 40 || nb > 40) return 99;
    int row[41];
    for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int diag = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            int up = row[j], best = RG_MIN(up, row[j - 1]) + 1;
            row[j] = RG_MIN(best, diag + (a[i - 1] != b[j - 1]));
            diag = up;
        }
    }
    return row[nb];
}

static void check_name(const char *entry) {
    if (strncmp(entry, "RIDGE_", 6) != 0) return;
    if (env_is_foreign()) {
        if (!*env.warnings)
            warn("RIDGE_ variables are ignored: this program has more rights than its caller (setuid or "
                 "setgid)\n");
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)RG_MIN(strcspn(entry + 6, "="), 63), entry + 6);
    int best = 0, d, least = 99;
    for (int id = 0; id < ENV_COUNT; id++)
        if ((d = distance(name, table[id].name)) < least) least = d, best = id;
    if (least == 0) return;
    if (least <= 2)
        warn("RIDGE_%s: no such variable; did you mean RIDGE_%s?\n", name, table[best].name);
    else
        warn("RIDGE_%s: no such variable; `ridge env` lists them\n", name);
}

static void read_all(void) {
    pthread_mutex_lock(&env.lock);
    if (!atomic_load(&env.ready)) {
        env.warnings[0] = 0;
        memset(env.set, 0, sizeof env.set);
        for (int id = 0; id < ENV_COUNT; id++) read_one(id);
        for (char **e = environ; e && *e; e++) check_name(*e);
        size_t n = strlen(env.warnings);
        if (n && env.warnings[n - 1] == '\n') env.warnings[n - 1] = 0;
        atomic_store_explicit(&env.ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&env.lock);
}

static void want(void) {
    if (!atomic_load_explicit(&env.ready, memory_order_acquire)) read_all();
}

int64_t env_int(enum env_id id) {
    want();
    return env.num[id];
}

const char *env_str(enum env_id id) {
    want();
    return env.text[id][0] ? env.text[id] : NULL;
}

const char *env_warnings(void) {
    want();
    return env.warnings;
}

void env_list(struct str *out) {
    want();
    for (int id = 0; id < ENV_COUNT; id++)
        str_printf(out, "%c RIDGE_%-12s %-3s %-10s default %-4s %s%s\n", env.set[id] ? '*' : ' ',
                   table[id].name, table[id].kind == INT ? "int" : "str",
                   env.text[id][0] ? env.text[id] : "-", table[id].dflt[0] ? table[id].dflt : "-",
                   table[id].help, table[id].bare ? " (the bare name works too)" : "");
}

void env_reload(void) { atomic_store(&env.ready, false); }
