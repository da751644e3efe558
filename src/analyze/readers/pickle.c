/* pickle.c: reads a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) and executes nothing.
 *
 * A pickle is a program for a stack machine. This one knows only the instructions that make plain data
 * (numbers, strings, lists, dictionaries, tuples) and refuses the file at the first that could name or
 * call anything: no class, no function, no persistent id. Values are nodes in an arena; shared parts
 * (frames of a stack) are shared. Nothing recurses over the data, so cycles and depth do no harm.
 * Tests: tests/unit/analyze.c, tests/unit/analyze_fuzz.c */
#include "analyze/internal.h"

#define MAX_NODES (64u << 20)

enum node_type { N_NONE, N_INT, N_STR, N_LIST, N_DICT, N_MARK, N_OTHER };
struct pickle_node {
    uint8_t type;
    int64_t i;          /* N_INT; N_STR: trace_str */
    VEC(uint32_t) kids; /* lists; dictionaries: key, value, key, value */
};

struct vm {
    struct trace *t;
    struct input *in;
    size_t pos;
    VEC(struct pickle_node) nodes;
    VEC(uint32_t) stack;
    struct map memo;
    uint32_t memo_next;
};

static uint64_t at_of(const struct vm *v) { return v->in->offset + v->pos; }

static const uint8_t *need(struct vm *v, size_t n) {
    while (v->in->len - v->pos < n) {
        bool more = n < INPUT_MAX && input_more(v->in, v->pos);
        v->pos = n < INPUT_MAX ? 0 : v->pos;
        if (!more && v->in->len - v->pos < n)
            err_throw(v->t->err, RG_EPARSE,
                      "the snapshot ends at byte %llu, in the middle of a value: it was "
                      "cut short",
                      (unsigned long long)(v->in->offset + v->in->len));
    }
    const uint8_t *p = v->in->buf + v->pos;
    v->pos += n;
    return p;
}
static uint64_t take(struct vm *v, int bytes) {
    const uint8_t *p = need(v, (size_t)bytes);
    uint64_t x = 0;
    for (int i = 0; i < bytes; i++) x |= (uint64_t)p[i] << (8 * i);
    return x;
}

static uint32_t node(struct vm *v, int type, int64_t i) {
    if (v->nodes.n >= MAX_NODES)
        err_throw(v->t->err, RG_ELIMIT, "the snapshot holds more than %u values", MAX_NODES);
    struct pickle_node n = {.type = (uint8_t)type, .i = i};
    vec_push(&v->t->arena, &v->nodes, n);
    return v->nodes.n - 1;
}
static void push(struct vm *v, uint32_t n) { vec_push(&v->t->arena, &v->stack, n); }
static uint32_t pop(struct vm *v) {
    if (!v->stack.n || v->nodes.p[v->stack.p[v->stack.n - 1]].type == N_MARK)
        err_throw(v->t->err, RG_EPARSE, "byte %llu of the snapshot takes from an empty stack: it is damaged",
                  (unsigned long long)at_of(v));
    return v->stack.p[--v->stack.n];
}
/* Index of the first value above the topmost mark. */
static uint32_t mark(struct vm *v) {
    for (uint32_t i = v->stack.n; i-- > 0;)
        if (v->nodes.p[v->stack.p[i]].type == N_MARK) return i + 1;
    err_throw(v->t->err, RG_EPARSE,
              "byte %llu of the snapshot looks for a mark that is not there: it is damaged",
              (unsigned long long)at_of(v));
}
static struct pickle_node *top(struct vm *v, uint32_t below, int type) {
    if (below >= v->stack.n)
        err_throw(v->t->err, RG_EPARSE, "the snapshot is damaged at byte %llu", (unsigned long long)at_of(v));
    struct pickle_node *n = &v->nodes.p[v->stack.p[v->stack.n - 1 - below]];
    if (n->type != type)
        err_throw(v->t->err, RG_EPARSE,
                  "byte %llu of the snapshot adds to something that is not a %s: it is "
                  "damaged",
                  (unsigned long long)at_of(v), type == N_LIST ? "list" : "dictionary");
    return n;
}

static void string(struct vm *v, uint64_t n) {
    if (n >= INPUT_MAX)
        err_throw(v->t->err, RG_ELIMIT, "a string of %llu bytes in the snapshot", (unsigned long long)n);
    const uint8_t *p = need(v, (size_t)n);
    push(v, node(v, N_STR, trace_intern(v->t, p, RG_MIN((size_t)n, (size_t)4096))));
}
static void tuple(struct vm *v, uint32_t from) {
    uint32_t l = node(v, N_LIST, 0);
    for (uint32_t i = from; i < v->stack.n; i++) vec_push(&v->t->arena, &v->nodes.p[l].kids, v->stack.p[i]);
    v->stack.n = from;
    push(v, l);
}
static void items(struct vm *v, uint32_t from, int type) {
    uint32_t n = v->stack.n - from;
    if (!from || from > v->stack.n) top(v, UINT32_MAX, type);
    bool marked = v->nodes.p[v->stack.p[from - 1]].type == N_MARK;
    uint32_t above = n + (marked ? 1 : 0);
    struct pickle_node *l = top(v, above, type);
    if (type == N_DICT && n % 2) top(v, UINT32_MAX, type);
    for (uint32_t i = 0; i < n; i++) vec_push(&v->t->arena, &l->kids, v->stack.p[from + i]);
    v->stack.n -= above;
}
static void memo_put(struct vm *v, uint64_t k) {
    uint32_t x = pop(v);
    push(v, x);
    map_put(&v->memo, k, x);
}
static void memo_get(struct vm *v, uint64_t k) {
    uint64_t x;
    if (!map_get(&v->memo, k, &x))
        err_throw(v->t->err, RG_EPARSE,
                  "byte %llu of the snapshot refers to a value that was never stored: it is "
                  "damaged",
                  (unsigned long long)at_of(v));
    push(v, (uint32_t)x);
}
static int64_t long_int(struct vm *v, uint64_t n) {
    if (n > 1024)
        err_throw(v->t->err, RG_EPARSE, "an integer of %llu bytes in the snapshot", (unsigned long long)n);
    const uint8_t *p = need(v, (size_t)n);
    uint64_t x = n && p[n - 1] & 0x80 ? ~(uint64_t)0 : 0;
    for (size_t i = 0; i < n && i < 8; i++)
        x = (x & ~((uint64_t)0xff << (8 * i))) | (uint64_t)p[i] << (8 * i);
    return (int64_t)x;
}

static void refuse(struct vm *v, uint8_t op) {
    static const struct {
        uint8_t op;
        const char *name;
    } calls[] = {{'c', "GLOBAL"},    {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},  {'b', "BUILD"},
                 {'i', "INST"},      {'o', "OBJ"},           {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"},
                 {0x82, "EXT1"},     {0x83, "EXT2"},         {0x84, "EXT4"},   {'P', "PERSID"},
                 {'Q', "BINPERSID"}, {0x97, "NEXT_BUFFER"}};
    for (size_t i = 0; i < RG_COUNT(calls); i++)
        if (calls[i].op == op)
            err_throw(v->t->err, RG_EPARSE,
                      "refused: the pickle holds %s at byte %llu, which names or calls code. "
                      "A memory snapshot of torch.cuda.memory._dump_snapshot never does",
                      calls[i].name, (unsigned long long)at_of(v) - 1);
    err_throw(v->t->err, RG_EPARSE, "byte %llu of the pickle is 0x%02x, which no memory snapshot uses",
              (unsigned long long)at_of(v) - 1, op);
}

/* One instruction; false at the end. */
static bool step(struct vm *v) {
    uint8_t op = (uint8_t)take(v, 1);
    uint32_t x;
    switch (op) {
    case 0x80: take(v, 1); break; /* PROTO */
    case 0x95: take(v, 8); break; /* FRAME */
    case '.': return false;       /* STOP */
    case '(': push(v, node(v, N_MARK, 0)); break;
    case 'N': push(v, node(v, N_NONE, 0)); break;
    case 0x88: push(v, node(v, N_INT, 1)); break;
    case 0x89: push(v, node(v, N_INT, 0)); break;
    case 'J': push(v, node(v, N_INT, (int32_t)take(v, 4))); break;
    case 'K': push(v, node(v, N_INT, (int64_t)take(v, 1))); break;
    case 'M': push(v, node(v, N_INT, (int64_t)take(v, 2))); break;
    case 0x8a: push(v, node(v, N_INT, long_int(v, take(v, 1)))); break;
    case 0x8b: push(v, node(v, N_INT, long_int(v, take(v, 4)))); break;
    case 'G':
        take(v, 8);
        push(v, node(v, N_OTHER, 0));
        break; /* BINFLOAT: none is needed */
    case 0x8c: string(v, take(v, 1)); break;
    case 'X': string(v, take(v, 4)); break;
    case 0x8d: string(v, take(v, 8)); break;
    case 'C': string(v, take(v, 1)); break; /* bytes */
    case 'B': string(v, take(v, 4)); break;
    case '}': push(v, node(v, N_DICT, 0)); break;
    case ']':
    case ')': push(v, node(v, N_LIST, 0)); break;
    case 0x8f: push(v, node(v, N_LIST, 0)); break; /* EMPTY_SET */
    case 't':
        x = mark(v);
        tuple(v, x);
        x = v->stack.p[--v->stack.n];
        v->stack.n--; /* the mark */
        push(v, x);
        break;
    case 0x85:
    case 0x86:
    case 0x87:
        x = (uint32_t)(op - 0x84);
        if (v->stack.n < x) top(v, UINT32_MAX, N_LIST);
        tuple(v, v->stack.n - x);
        break;
    case 'a':
        if (v->stack.n < 2) top(v, UINT32_MAX, N_LIST);
        items(v, v->stack.n - 1, N_LIST);
        break;
    case 'e':
    case 0x90: items(v, mark(v), N_LIST); break;
    case 's':
        if (v->stack.n < 3) top(v, UINT32_MAX, N_DICT);
        items(v, v->stack.n - 2, N_DICT);
        break;
    case 'u': items(v, mark(v), N_DICT); break;
    case '0': pop(v); break;
    case '1':
        x = mark(v);
        v->stack.n = x - 1;
        break;
    case '2':
        x = pop(v);
        push(v, x);
        push(v, x);
        break;
    case 0x94: memo_put(v, v->memo_next++); break;
    case 'q': memo_put(v, take(v, 1)); break;
    case 'r': memo_put(v, take(v, 4)); break;
    case 'h': memo_get(v, take(v, 1)); break;
    case 'j': memo_get(v, take(v, 4)); break;
    default: refuse(v, op);
    }
    return true;
}

/* ---- what the data means -------------------------------------------------------------------------------- */

static const struct pickle_node *field(const struct vm *v, const struct pickle_node *d, const char *key) {
    if (!d || d->type != N_DICT) return NULL;
    for (uint32_t i = 0; i + 1 < d->kids.n; i += 2) {
        const struct pickle_node *k = &v->nodes.p[d->kids.p[i]];
        if (k->type == N_STR && !strcmp(trace_str(v->t, (uint32_t)k->i), key))
            return &v->nodes.p[d->kids.p[i + 1]];
    }
    return NULL;
}
static int64_t integer(const struct vm *v, const struct pickle_node *d, const char *key) {
    const struct pickle_node *n = field(v, d, key);
    return n && n->type == N_INT ? n->i : 0;
}
static const char *text(const struct vm *v, const struct pickle_node *d, const char *key) {
    const struct pickle_node *n = field(v, d, key);
    return n && n->type == N_STR ? trace_str(v->t, (uint32_t)n->i) : "";
}
static const struct pickle_node *kid(const struct vm *v, const struct pickle_node *l, uint32_t i) {
    return l && l->type == N_LIST && i < l->kids.n ? &v->nodes.p[l->kids.p[i]] : NULL;
}

/* The user's frame: Python code outside of the framework; else any Python; else the innermost. */
static uint32_t stack_of(struct vm *v, const struct pickle_node *frames) {
    const struct pickle_node *any = NULL, *best = NULL;
    for (uint32_t i = 0; frames && frames->type == N_LIST && i < frames->kids.n && i < 512; i++) {
        const struct pickle_node *f = kid(v, frames, i);
        const char *file = text(v, f, "filename");
        size_t n = strlen(file);
        if (n < 3 || strcmp(file + n - 3, ".py")) continue;
        if (!any) any = f;
        if (strstr(file, "/torch/") || strstr(file, "site-packages") || strstr(file, "dist-packages"))
            continue;
        best = f;
        break;
    }
    if (!best) best = any ? any : kid(v, frames, 0);
    if (!best) return trace_intern(v->t, "(no stack recorded)", 19);
    const char *file = text(v, best, "filename"), *slash = strrchr(file, '/');
    char s[400];
    int n = snprintf(s, sizeof s, "%s(%lld): %s", slash ? slash + 1 : file,
                     (long long)integer(v, best, "line"), text(v, best, "name"));
    return trace_intern(v->t, s, RG_MIN((size_t)RG_MAX(n, 0), sizeof s - 1));
}

static void segments(struct vm *v, const struct pickle_node *list) {
    struct trace *t = v->t;
    for (uint32_t i = 0; list && list->type == N_LIST && i < list->kids.n; i++) {
        const struct pickle_node *s = kid(v, list, i), *blocks = field(v, s, "blocks");
        t->snap_reserved += integer(v, s, "total_size");
        t->snap_allocated += integer(v, s, "allocated_size");
        for (uint32_t k = 0; blocks && blocks->type == N_LIST && k < blocks->kids.n; k++) {
            const struct pickle_node *b = kid(v, blocks, k);
            if (strcmp(text(v, b, "state"), "inactive")) continue;
            int64_t size = integer(v, b, "size");
            t->snap_inactive += size;
            t->snap_largest_free = RG_MAX(t->snap_largest_free, size);
        }
    }
}

static void one_event(struct vm *v, const struct pickle_node *e, uint32_t device) {
    struct trace *t = v->t;
    static const struct {
        const char *text;
        char action;
    } actions[] = {{"alloc", 'a'},        {"free_completed", 'f'}, {"segment_alloc", 's'},
                   {"segment_free", 'S'}, {"segment_map", 's'},    {"segment_unmap", 'S'},
                   {"oom", 'o'}};
    const char *a = text(v, e, "action");
    for (size_t i = 0; i < RG_COUNT(actions); i++) {
        if (strcmp(a, actions[i].text)) continue;
        int64_t us = integer(v, e, "time_us");
        struct trace_snapshot_event s = {.t = RG_MIN(RG_MAX(us, 0), INT64_MAX / 2000) * 1000,
                                         .size = RG_MAX(integer(v, e, "size"), 0),
                                         .addr = (uint64_t)integer(v, e, "addr"),
                                         .action = (uint8_t)actions[i].action,
                                         .device = (uint8_t)RG_MIN(device, 255u)};
        if (s.size > (int64_t)1 << 50) s.size = 0;
        s.stack = stack_of(v, field(v, e, "frames"));
        if (s.action == 'o') t->snap_oom++;
        vec_push(&t->arena, &t->snap, s);
        t->seen++;
        return;
    }
}

void read_pickle(struct trace *t, struct input *in) {
    struct vm *v = arena_new(&t->arena, struct vm);
    v->t = t;
    v->in = in;
    map_init(&v->memo, &t->arena);
    while (step(v)) {}
    const struct pickle_node *root = v->stack.n ? &v->nodes.p[v->stack.p[v->stack.n - 1]] : NULL;
    const struct pickle_node *traces = field(v, root, "device_traces");
    if (!traces || !field(v, root, "segments"))
        err_throw(t->err, RG_EPARSE,
                  "this pickle holds plain data but no memory snapshot: expected a dictionary with "
                  "\"segments\" and \"device_traces\" as torch.cuda.memory._dump_snapshot writes it");
    t->format = TRACE_SNAPSHOT;
    segments(v, field(v, root, "segments"));
    for (uint32_t d = 0; traces->type == N_LIST && d < traces->kids.n; d++) {
        const struct pickle_node *l = kid(v, traces, d);
        for (uint32_t i = 0; l->type == N_LIST && i < l->kids.n; i++) one_event(v, kid(v, l, i), d);
    }
    int64_t base = INT64_MAX;
    for (uint32_t i = 0; i < t->snap.n; i++) base = RG_MIN(base, t->snap.p[i].t);
    t->base = t->snap.n ? base : 0;
    for (uint32_t i = 0; i < t->snap.n; i++) t->snap.p[i].t -= t->base;
    trace_finish(t);
}
