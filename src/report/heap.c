/* heap.c: device memory of a Ridge program in words: the lines of the screen, the table, what would lower the peak; and the
 * heap as a profile of pprof.
 *
 * Rows sum to the peak exactly. Advice names the largest owner and what is known to help with its kind; nothing is advised for
 * memory that is the program's own choice (data) and small.
 * pprof: profile.proto, compressed as gzip asks for (stored blocks); samples are rows of the peak with kind, module, line
 * and function as their stack, the function innermost. Tests: tests/unit/profile_memory.c has a decoder of its own */
#include "report/internal.h"

static double mb(int64_t bytes) { return (double)bytes / 1e6; }

/* ---- what would lower it --------------------------------------------------------------------------------------- */

static const char *advice(const struct diag *d, const struct heap_row *top) {
    const int64_t *k = d->heap.kind;
    int64_t rest = k[HEAP_GAP] + k[HEAP_ROUNDING];
    if (d->heap.grows.n) return "end the scope of each step (RG_SCOPE), or free what it keeps";
    if (k[HEAP_ACTIVATION] * 5 >= d->mem_peak * 2)
        return "activations are stored for the backward pass: use a smaller batch (gradient accumulation "
               "over two "
               "half batches gives the same step), or recompute a layer in the backward pass (checkpointing)";
    if (k[HEAP_STATE] * 5 >= d->mem_peak * 2) return "rg_sgd keeps less state than rg_adam";
    if (k[HEAP_DATA] * 5 >= d->mem_peak * 2)
        return "keep the data in the dtype of its file and convert batches; rg_loader holds a few batches at "
               "a time";
    if (k[HEAP_VALUE] * 5 >= d->mem_peak * 2 && top)
        return "tensors that are no longer read: end their scope, or rg_free them";
    if (rest * 5 >= d->mem_peak * 2)
        return "the block of planned values is as large as the neediest program: a smaller batch there";
    return NULL;
}

/* "f32(512,32,24,24) of relu net.1 mnist.c:55" */
static const char *owner_text(struct arena *a, const struct diag *d, const struct heap_row *x) {
    const struct trace *t = d->t;
    return arena_printf(a, "%s%s%.60s%s%.60s%s%.60s", trace_str(t, x->shape), x->shape && x->op ? " of " : "",
                        trace_str(t, x->op), x->module ? " " : "", trace_str(t, x->module),
                        x->where ? " " : "", trace_str(t, x->where));
}

static const struct heap_row *top_owner(const struct diag *d) {
    for (uint32_t i = 0; i < d->heap.peak.n; i++)
        if (d->heap.peak.p[i].kind < HEAP_GAP) return &d->heap.peak.p[i];
    return NULL;
}

void heap_lines(struct str *o, const struct diag *d) {
    const struct heap_peak *h = &d->heap;
    const struct heap_row *top = top_owner(d);
    struct str s;
    int order[HEAP_KINDS];
    if (!d->mem.n) return;
    for (int k = 0; k < HEAP_KINDS; k++) { /* the largest first */
        int at = k;
        while (at && h->kind[order[at - 1]] < h->kind[k]) order[at] = order[at - 1], at--;
        order[at] = k;
    }
    str_init(&s, o->arena);
    str_printf(&s, "peak %.1f MB of device memory", mb(d->mem_peak));
    if (d->mem_reserved) str_printf(&s, " (%.1f reserved)", mb(d->mem_reserved));
    for (int i = 0; i < HEAP_KINDS && h->kind[order[i]] > 0; i++)
        str_printf(&s, "%s %s %.1f", i ? "," : ":", heap_kind_text(order[i]), mb(h->kind[order[i]]));
    report_wrapped(o, "MEMORY  ", s.p, 8, 3);
    if (top)
        report_line(o, "        largest: %.1f MB, %s, %s", mb(top->bytes), heap_kind_text(top->kind),
                    owner_text(o->arena, d, top));
    for (uint32_t i = 0; i < h->grows.n && i < 2; i++)
        report_line(o, "        grows by %.2f MB in each of %u steps: %s", mb(h->grows.p[i].bytes),
                    h->grows.p[i].steps, owner_text(o->arena, d, &h->grows.p[i]));
    const char *fix = advice(d, top);
    if (fix) report_wrapped(o, "     -> ", fix, 8, 2);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static uint32_t key_of(const struct heap_row *x, int by) {
    return by == GROUP_OP ? x->op : by == GROUP_LINE ? x->where : by == GROUP_MODULE ? x->module : x->shape;
}

struct line {
    const char *name;
    int64_t bytes;
    uint64_t count;
};

static void put_lines(struct str *o, struct line *l, uint32_t n, int64_t all, uint32_t rows) {
    int64_t rest = 0, sum = 0;
    uint64_t count = 0;
    for (uint32_t i = 1; i < n; i++) /* few rows, or nearly in order */
        for (uint32_t k = i; k && l[k].bytes > l[k - 1].bytes; k--) {
            struct line swap = l[k];
            l[k] = l[k - 1], l[k - 1] = swap;
        }
    for (uint32_t i = 0; i < n; i++) {
        sum += l[i].bytes;
        if (i >= rows) rest += l[i].bytes, count += l[i].count;
        if (i < rows)
            str_printf(o, "%5.1f%% %14lld %8llu  %s\n",
                       all > 0 ? 100.0 * (double)l[i].bytes / (double)all : 0, (long long)l[i].bytes,
                       (unsigned long long)l[i].count, l[i].name);
    }
    if (n > rows)
        str_printf(o, "%5.1f%% %14lld %8llu  (%u more)\n", all > 0 ? 100.0 * (double)rest / (double)all : 0,
                   (long long)rest, (unsigned long long)count, n - rows);
    str_printf(o, "100.0%% %14lld           sum\n", (long long)sum);
}

static void grouped(struct str *o, struct diag *d, const heap_rows *h, int by, uint32_t rows) {
    struct line *l = arena_array(&d->arena, struct line, h->n + 1);
    uint32_t n = 0;
    int64_t all = 0;
    struct map at;
    map_init(&at, &d->arena);
    for (uint32_t i = 0; i < h->n; i++) {
        const struct heap_row *x = &h->p[i];
        uint64_t k = n, key = by < GROUPS ? key_of(x, by) : 0;
        if (!key) key = (uint64_t)1 << 32 | x->kind;
        if (!map_get(&at, key, &k)) {
            map_put(&at, key, k = n++);
            l[k].name = key >> 32 ? heap_kind_text(x->kind) : trace_str(d->t, (uint32_t)key);
            if (by < GROUPS && key >> 32) l[k].name = arena_printf(&d->arena, "(%s)", l[k].name);
        }
        l[k].bytes += x->bytes, l[k].count += x->count, all += x->bytes;
    }
    put_lines(o, l, n, all, rows);
}

static void each(struct str *o, struct diag *d, const heap_rows *h, uint32_t rows) {
    for (uint32_t i = 0; i < h->n && i < rows; i++)
        str_printf(o, "       %14lld %8u  %s, %s\n", (long long)h->p[i].bytes, h->p[i].count,
                   heap_kind_text(h->p[i].kind), owner_text(o->arena, d, &h->p[i]));
    if (h->n > rows) str_printf(o, "       and %u more\n", h->n - rows);
}

void report_memory(struct str *o, struct diag *d, int by, uint32_t rows) {
    const struct heap_peak *h = &d->heap;
    if (!d->mem.n) {
        str_add(o, "no memory was recorded\n");
        return;
    }
    str_printf(o, "AT THE PEAK  %lld bytes in %u blocks, %.3f ms after the start\n%6s %14s %8s  %s\n",
               (long long)d->mem_peak, h->blocks, (double)h->t / 1e6, "share", "bytes", "tensors",
               by < GROUPS ? group_text(by) : "kind");
    grouped(o, d, &h->peak, by, rows);
    str_add(o, "OWNERS AT THE PEAK\n");
    each(o, d, &h->peak, rows);
    str_printf(o, "%s\n", h->closed ? "ALIVE AT rg_close" : "ALIVE AT THE END");
    each(o, d, &h->left, rows);
    if (!h->left.n) str_add(o, "       nothing\n");
    str_add(o, "GROWS IN EACH STEP\n");
    each(o, d, &h->grows, rows);
    if (!h->grows.n) str_add(o, "       nothing\n");
    const char *fix = advice(d, top_owner(d));
    if (fix) str_printf(o, "-> %s\n", fix);
}

/* ---- pprof ------------------------------------------------------------------------------------------------------------- */

/* Field numbers of profile.proto. */
enum { P_SAMPLE_TYPE = 1, P_SAMPLE = 2, P_LOCATION = 4, P_FUNCTION = 5, P_STRING = 6, P_DEFAULT_TYPE = 14 };

struct pprof {
    const struct diag *d;
    struct arena *a;
    struct str out, strings;
    struct map known; /* hash of a text -> its number */
    uint32_t n, locations;
};

static void varint(struct str *s, uint64_t x) {
    for (; x >= 128; x >>= 7) str_addc(s, (char)(x | 128));
    str_addc(s, (char)x);
}
static void put_number(struct str *s, int field, uint64_t x) {
    varint(s, (uint64_t)field << 3);
    varint(s, x);
}
static void put_bytes(struct str *s, int field, const char *p, size_t n) {
    varint(s, (uint64_t)field << 3 | 2);
    varint(s, n);
    str_addn(s, p, n);
}

static uint32_t text_number(struct pprof *p, const char *text) {
    uint64_t h = hash_bytes(text, strlen(text), 7), at;
    if (map_get(&p->known, h, &at)) return (uint32_t)at;
    map_put(&p->known, h, p->n);
    put_bytes(&p->strings, P_STRING, text, strlen(text));
    return p->n++;
}

/* A function and a location of that name; one number for both, since each function has one line. */
static uint32_t location(struct pprof *p, struct map *made, const char *name, const char *file,
                         int64_t line) {
    uint32_t text = text_number(p, name), where = text_number(p, file);
    uint64_t at, h = hash_u64((uint64_t)text << 32 | where) ^ (uint64_t)line;
    if (map_get(made, h, &at)) return (uint32_t)at;
    struct str f, l, in;
    str_init(&f, p->a), str_init(&l, p->a), str_init(&in, p->a);
    at = ++p->locations;
    map_put(made, h, at);
    put_number(&f, 1, at), put_number(&f, 2, text), put_number(&f, 4, where);
    put_bytes(&p->out, P_FUNCTION, f.p, f.n);
    put_number(&in, 1, at), put_number(&in, 2, (uint64_t)line);
    put_number(&l, 1, at), put_bytes(&l, 4, in.p, in.n);
    put_bytes(&p->out, P_LOCATION, l.p, l.n);
    return (uint32_t)at;
}

static void sample(struct pprof *p, struct map *made, const struct heap_row *x) {
    const struct trace *t = p->d->t;
    struct str s, ids, values;
    const char *where = trace_str(t, x->where), *colon = strrchr(where, ':');
    const char *file = arena_printf(p->a, "%.*s", colon ? (int)(colon - where) : 0, where);
    int64_t line = 0;
    for (const char *c = colon ? colon + 1 : ""; *c >= '0' && *c <= '9' && line < 100000000; c++)
        line = line * 10 + (*c - '0');
    str_init(&s, p->a), str_init(&ids, p->a), str_init(&values, p->a);
    if (x->shape) varint(&ids, location(p, made, trace_str(t, x->shape), file, line));
    if (x->op) varint(&ids, location(p, made, trace_str(t, x->op), file, line));
    if (x->where) varint(&ids, location(p, made, where, file, line));
    if (x->module) varint(&ids, location(p, made, trace_str(t, x->module), "", 0));
    varint(&ids, location(p, made, heap_kind_text(x->kind), "", 0));
    varint(&values, x->count), varint(&values, (uint64_t)x->bytes);
    put_bytes(&s, 1, ids.p, ids.n);
    put_bytes(&s, 2, values.p, values.n);
    put_bytes(&p->out, P_SAMPLE, s.p, s.n);
}

static void value_type(struct pprof *p, const char *type, const char *unit) {
    struct str s;
    str_init(&s, p->a);
    put_number(&s, 1, text_number(p, type)), put_number(&s, 2, text_number(p, unit));
    put_bytes(&p->out, P_SAMPLE_TYPE, s.p, s.n);
}

static uint32_t crc(const char *p, size_t n) {
    uint32_t c = ~0u;
    for (size_t i = 0; i < n; i++) {
        c ^= (uint8_t)p[i];
        for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
}

/* gzip with stored blocks: such a profile is small. */
static void gzip(struct sink *k, const char *p, size_t n) {
    static const unsigned char head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    uint32_t tail[2] = {crc(p, n), (uint32_t)n};
    sink_put(k, head, sizeof head);
    for (size_t at = 0, part; at < n || !at; at += part) {
        part = RG_MIN(n - at, (size_t)65535);
        unsigned char b[5] = {at + part >= n, (unsigned char)part, (unsigned char)(part >> 8),
                              (unsigned char)~part, (unsigned char)(~part >> 8)};
        sink_put(k, b, sizeof b);
        sink_put(k, p + at, part);
    }
    sink_put(k, tail, sizeof tail);
}

void heap_write(struct sink *k, const struct diag *d) {
    struct pprof p = {.d = d, .a = &k->arena};
    struct map made;
    str_init(&p.out, p.a), str_init(&p.strings, p.a);
    map_init(&p.known, p.a), map_init(&made, p.a);
    text_number(&p, ""); /* string 0 */
    value_type(&p, "inuse_objects", "count");
    value_type(&p, "inuse_space", "bytes");
    for (uint32_t i = 0; i < d->heap.peak.n; i++) sample(&p, &made, &d->heap.peak.p[i]);
    put_number(&p.out, P_DEFAULT_TYPE, text_number(&p, "inuse_space"));
    str_addn(&p.out, p.strings.p, p.strings.n);
    gzip(k, p.out.p, p.out.n);
}
