/* pprof.c: reads memory profiles of pprof (profile.proto, gzip or not), such as jax.profiler.device_memory_profile writes.
 *
 * A profile is one moment: what is held, by source line, and nothing about growth. Each sample is a stack with the bytes that it holds;
 * the line is that of the innermost frame outside of libraries. Tests: tests/unit/pprof.c */
#include "analyze/readers/protobuf.h"

#define FILE_MAX ((size_t)4 << 30)
enum { MOST_STACK = 512, MOST_VALUES = 16 };

struct pb read_whole(struct trace *t, struct input *in) {
    size_t cap = RG_MAX(in->len, (size_t)1 << 20), n = 0;
    uint8_t *all = arena_raw(&t->arena, cap);
    for (;;) {
        if (n + in->len > cap) {
            if (n + in->len > FILE_MAX)
                err_throw(t->err, RG_ELIMIT, "the file is larger than 4 GB; record fewer steps");
            size_t want = RG_MAX(cap * 2, n + in->len);
            uint8_t *p = arena_raw(&t->arena, want);
            memcpy(p, all, n);
            all = p;
            cap = want;
        }
        memcpy(all + n, in->buf, in->len);
        n += in->len;
        if (!input_more(in, in->len)) break;
    }
    return (struct pb){all, all + n};
}

struct pprof_line {
    uint64_t function, line;
};
struct pprof_function {
    uint64_t name, file; /* of the string table */
};
struct pprof_reader {
    struct trace *t;
    VEC(struct pb) strings;
    struct map locations, functions; /* id -> index */
    VEC(struct pprof_line) lines;
    VEC(struct pprof_function) names;
    uint32_t bytes; /* which value of a sample is bytes in use */
    int types;
};

static bool text_is(const struct pprof_reader *r, uint64_t i, const char *s) {
    if (i >= r->strings.n) return false;
    struct pb b = r->strings.p[i];
    return (size_t)(b.end - b.p) == strlen(s) && !memcmp(b.p, s, strlen(s));
}

static void take_string(struct pprof_reader *r, struct pb b) { vec_push(&r->t->arena, &r->strings, b); }

/* [allocations count] [space bytes] of JAX; inuse_space of Go: the last type in bytes that is not what was ever allocated. */
static void take_type(struct pprof_reader *r, struct pb b) {
    struct pbf f;
    uint64_t type = 0, unit = 0;
    while (next_field(&b, &f))
        if (f.no == 1)
            type = f.v;
        else if (f.no == 2)
            unit = f.v;
    if (text_is(r, unit, "bytes") && !text_is(r, type, "alloc_space")) r->bytes = (uint32_t)r->types;
    r->types++;
}

static void take_function(struct pprof_reader *r, struct pb b) {
    struct pbf f;
    uint64_t id = 0;
    struct pprof_function x = {0};
    while (next_field(&b, &f))
        if (f.no == 1)
            id = f.v;
        else if (f.no == 2)
            x.name = f.v;
        else if (f.no == 4)
            x.file = f.v;
    map_put(&r->functions, id, r->names.n);
    vec_push(&r->t->arena, &r->names, x);
}

/* Of lines that were inlined into one, the first is the innermost. */
static void take_location(struct pprof_reader *r, struct pb b) {
    struct pbf f, g;
    uint64_t id = 0;
    struct pprof_line x = {0};
    while (next_field(&b, &f)) {
        if (f.no == 1) id = f.v;
        if (f.no != 4 || f.wire != 2 || x.function) continue;
        while (next_field(&f.sub, &g))
            if (g.no == 1)
                x.function = g.v;
            else if (g.no == 2)
                x.line = g.v;
    }
    map_put(&r->locations, id, r->lines.n);
    vec_push(&r->t->arena, &r->lines, x);
}

/* Packed or one by one. */
static uint32_t take_numbers(const struct pbf *f, uint64_t *out, uint32_t n, uint32_t most) {
    struct pb b = f->sub;
    if (f->wire == 0 && n < most) out[n++] = f->v;
    while (f->wire == 2 && n < most && varint(&b, &out[n])) n++;
    return n;
}

static uint32_t line_text(struct pprof_reader *r, uint64_t location, bool *user) {
    uint64_t l, fn;
    char out[600];
    if (!map_get(&r->locations, location, &l) || !map_get(&r->functions, r->lines.p[l].function, &fn))
        return 0;
    const struct pprof_function *x = &r->names.p[fn];
    static const struct pb none = {(const uint8_t *)"", (const uint8_t *)""};
    struct pb file = x->file < r->strings.n ? r->strings.p[x->file] : none;
    struct pb name = x->name < r->strings.n ? r->strings.p[x->name] : none;
    int n = snprintf(out, sizeof out, "%.*s:%llu %.*s", (int)RG_MIN(file.end - file.p, 300),
                     (const char *)file.p, (unsigned long long)r->lines.p[l].line,
                     (int)RG_MIN(name.end - name.p, 200), (const char *)name.p);
    *user = !strstr(out, "site-packages") && !strstr(out, "dist-packages") && !strstr(out, "lib/python") &&
            !strstr(out, "<frozen");
    return trace_intern(r->t, out, (size_t)RG_MIN(n, (int)sizeof out - 1));
}

static void take_sample(struct pprof_reader *r, struct pb b) {
    uint64_t stack[MOST_STACK], value[MOST_VALUES];
    uint32_t depth = 0, values = 0, where = 0;
    struct pbf f;
    while (next_field(&b, &f)) {
        if (f.no == 1) depth = take_numbers(&f, stack, depth, MOST_STACK);
        if (f.no == 2) values = take_numbers(&f, value, values, MOST_VALUES);
    }
    if (r->bytes >= values || (int64_t)value[r->bytes] <= 0) return;
    for (uint32_t i = 0; i < depth; i++) { /* the innermost first */
        bool user = false;
        uint32_t s = line_text(r, stack[i], &user);
        if (s && (user || !where)) where = s;
        if (user) break;
    }
    struct trace *t = r->t;
    int64_t size = (int64_t)RG_MIN(value[r->bytes], (uint64_t)1 << 56);
    vec_push(
        &t->arena, &t->snap,
        ((struct trace_snapshot_event){.size = size, .addr = t->snap.n + 1, .stack = where, .action = 'a'}));
    t->snap_allocated = RG_MIN(t->snap_allocated + size, (int64_t)1 << 60);
}

/* A message of fields 1 to 15 with samples, and a string table that begins with the empty string. */
bool is_pprof(const uint8_t *p, size_t n) {
    struct pb b = {p, p + n};
    struct pbf f;
    bool type = false;
    if (n < 8 || (p[0] != 0x0a && p[0] != 0x12)) return false;
    for (uint32_t i = 0; i < 100000 && next_field(&b, &f); i++) {
        if (!f.no || f.no > 15) return false;
        type |= f.no == 1 || f.no == 2;
        if (f.no == 6) return type && f.wire == 2 && f.sub.p == f.sub.end;
    }
    return false;
}

static void each(struct pprof_reader *r, struct pb b, uint32_t no,
                 void (*take)(struct pprof_reader *, struct pb)) {
    struct pbf f;
    while (next_field(&b, &f))
        if (f.no == no && f.wire == 2) take(r, f.sub);
    if (b.p < b.end) r->t->truncated = true;
}

void read_pprof(struct trace *t, struct input *in) {
    struct pprof_reader r = {.t = t, .bytes = UINT32_MAX};
    struct pb b = read_whole(t, in);
    map_init(&r.locations, &t->arena);
    map_init(&r.functions, &t->arena);
    each(&r, b, 6, take_string);
    each(&r, b, 1, take_type);
    if (r.bytes == UINT32_MAX)
        err_throw(t->err, RG_EPARSE,
                  "this profile of pprof has no value in bytes: expected one of memory, such as "
                  "jax.profiler.device_memory_profile or a heap profile");
    each(&r, b, 5, take_function);
    each(&r, b, 4, take_location);
    each(&r, b, 2, take_sample);
    if (!t->snap.n)
        err_throw(t->err, RG_EPARSE, "this memory profile of pprof holds no sample%s",
                  t->truncated ? "; it was cut short" : "");
    t->format = TRACE_SNAPSHOT;
    t->moment = true;
    trace_finish(t);
}
