/* source.c: the user's source with what each line cost, for the page.
 *
 * A line costs the time of the kernels it asked for, and the host's time inside of the calls it made while no kernel ran. The text is read
 * when the page is made, if the file is still there: under the name that the compiler was given, from here and from the folder of
 * the profile. A profile may come from anyone, so only what is named like source and is a small plain file is opened; only lines
 * near those that cost something are taken. Tests: tests/unit/report.c, tests/page/drive.py */
#include "report/internal.h"

#include <stdlib.h>

#define FILE_BYTES (4u << 20)
#define AROUND 8         /* lines taken before and after one that costs */
#define MOST_LINES 20000 /* of all files */
#define MOST_FILES 200
#define MOST_CHARS 300

struct cost {
    uint32_t line, kernels, calls; /* launches of kernels; calls of functions */
    int64_t kernel_ns, host_ns;
};
struct source_file {
    const char *name; /* "mnist.c" */
    VEC(struct cost) cost;
};
struct source_costs {
    const struct diag *d;
    struct arena *a;
    struct map at; /* trace_str of a source line -> file << 32 | cost, both + 1 */
    VEC(struct source_file) files;
};

/* 1 + the file of that name; 0: there are too many. */
static uint64_t file_of(struct source_costs *c, const char *name) {
    for (uint32_t i = 0; i < c->files.n; i++)
        if (!strcmp(c->files.p[i].name, name)) return i + 1;
    if (c->files.n == MOST_FILES) return 0;
    vec_push(c->a, &c->files, ((struct source_file){.name = name}));
    return c->files.n;
}

/* The cost of "file.c:12"; NULL: not a source line. Valid until the next. */
static struct cost *cost_of(struct source_costs *c, uint32_t line) {
    uint64_t v = 0, f;
    const char *s = trace_str(c->d->t, line), *colon = strrchr(s, ':');
    if (!line || !colon || atoi(colon + 1) < 1) return NULL;
    if (!map_get(&c->at, line, &v)) {
        if (!(f = file_of(c, arena_strdup(c->a, s, (size_t)(colon - s))))) return NULL;
        struct source_file *file = &c->files.p[f - 1];
        vec_push(c->a, &file->cost, ((struct cost){.line = (uint32_t)atoi(colon + 1)}));
        map_put(&c->at, line, v = f << 32 | file->cost.n);
    }
    return &c->files.p[(v >> 32) - 1].cost.p[(uint32_t)v - 1];
}

static void gather(struct source_costs *c) {
    const struct diag *d = c->d;
    const struct trace *t = d->t;
    struct cost *x;
    for (uint32_t i = 0; i < d->kernels.n; i++)
        if ((x = cost_of(c, d->kernels.p[i].where)))
            x->kernel_ns += d->kernels.p[i].ns, x->kernels += d->kernels.p[i].count;
    for (uint32_t i = 0; i < t->n; i++)
        if (t->ev[i].kind == TK_OP && (x = cost_of(c, t->ev[i].args))) x->calls++;
    for (uint32_t i = 0; i < d->idle_n; i++) {
        uint32_t ev = d->idle[i].ev;
        while (ev && !(t->ev[ev - 1].kind == TK_OP && t->ev[ev - 1].args)) ev = t->ev[ev - 1].link;
        if (ev && (x = cost_of(c, t->ev[ev - 1].args))) x->host_ns += d->idle[i].t1 - d->idle[i].t0;
    }
}

/* ---- text ------------------------------------------------------------------------------------------------------- */

static bool is_source(const char *path) {
    static const char *const ends[] = {".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh", ".C", ".inc"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < RG_COUNT(ends); i++)
        if (!strcmp(dot, ends[i])) return true;
    return false;
}

static char *read_text(struct arena *a, const char *path) {
    struct err e = {0};
    char *text;
    size_t n;
    int fd;
    uint64_t size;
    if (!is_source(path) || os_open(&e, path, &fd, &size)) return NULL; /* no pipes, devices and folders */
    os_close(fd);
    return os_read_file(&e, a, path, FILE_BYTES, &text, &n) ? NULL : text;
}

/* The source file called `name`; NULL: it is not there. */
static char *find_text(struct arena *a, const struct trace *t, const char *name, const char *profile,
                       const char **path) {
    const char *slash = strrchr(profile, '/');
    int dir = slash ? (int)(slash - profile + 1) : 0;
    for (uint32_t i = 0; i < t->sources.n; i++) {
        if (strcmp(trace_str(t, t->sources.p[i].name), name)) continue;
        const char *given = *path = trace_str(t, t->sources.p[i].path);
        char *text = read_text(a, given);
        if (!text && *given != '/') text = read_text(a, arena_printf(a, "%.*s%s", dir, profile, given));
        if (!text) text = read_text(a, arena_printf(a, "%.*s%s", dir, profile, name));
        if (text) return text;
    }
    return NULL;
}

static int by_line(const void *x, const void *y) {
    const struct cost *a = x, *b = y;
    return a->line < b->line ? -1 : a->line > b->line;
}

static void one_line(struct str *o, bool *first, uint32_t line, const struct cost *c, const char *text,
                     size_t n, struct arena *a) {
    str_printf(o, "%s[%u,%lld,%lld,%u,%u,", *first ? "" : ",\n", line, c ? (long long)c->kernel_ns : 0,
               c ? (long long)c->host_ns : 0, c ? c->kernels : 0, c ? c->calls : 0);
    *first = false;
    if (text)
        report_json_string(o, arena_strdup(a, text, RG_MIN(n, (size_t)MOST_CHARS)));
    else
        str_add(o, "null");
    str_addc(o, ']');
}

/* Lines [number, kernel ns, host ns, kernels, calls, text or null]. */
static void lines(struct str *o, const struct source_file *f, const char *text, uint32_t *left,
                  struct arena *a) {
    uint32_t line = 1, at = 0;
    bool first = true;
    for (const char *s = text; s && *s && *left; line++) {
        size_t n = strcspn(s, "\n");
        while (at < f->cost.n && f->cost.p[at].line + AROUND < line) at++;
        const struct cost *c = NULL;
        bool near = false;
        for (uint32_t k = at; k < f->cost.n && f->cost.p[k].line <= line + AROUND; k++) {
            near = true;
            if (f->cost.p[k].line == line) c = &f->cost.p[k];
        }
        if (near) one_line(o, &first, line, c, s, n, a), --*left;
        s += n + (s[n] == '\n');
    }
    for (uint32_t k = 0; k < f->cost.n && *left; k++) /* the file is not here, or has become shorter */
        if (!text || f->cost.p[k].line >= line)
            one_line(o, &first, f->cost.p[k].line, &f->cost.p[k], NULL, 0, a), --*left;
}

void source_list(struct str *o, const struct diag *d, const char *profile, struct arena *a) {
    struct source_costs c = {.d = d, .a = a};
    uint32_t left = MOST_LINES;
    map_init(&c.at, a);
    if (d->t->format == TRACE_RIDGE) gather(&c);
    str_addc(o, '[');
    for (uint32_t i = 0; i < c.files.n; i++) {
        struct source_file *f = &c.files.p[i];
        const char *path = "";
        char *text = find_text(a, d->t, f->name, profile, &path);
        qsort(f->cost.p, f->cost.n, sizeof *f->cost.p, by_line);
        str_add(o, i ? ",\n{\"name\":" : "{\"name\":");
        report_json_string(o, f->name);
        str_add(o, ",\"path\":");
        report_json_string(o, path);
        str_printf(o, ",\"found\":%s,\"lines\":[", text ? "true" : "false");
        lines(o, f, text, &left, a);
        str_add(o, "]}");
    }
    str_addc(o, ']');
}
