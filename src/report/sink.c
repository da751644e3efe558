/* sink.c: a streamed output file: an export of ten million events needs no more memory than one of ten.
 *
 * A sink is a buffer of fixed size before a file; the writers of kineto.c, perfetto.c and plain.c put bytes and numbers into
 * it. Numbers are written without printf: an event has ten of them. What goes wrong with the file is thrown, and the file that was
 * there before stays. Tests: tests/unit/export.c; speed and memory: bench/export.c */
#include "report/internal.h"

void sink_flush(struct sink *k) {
    if (os_out_add(k->err, &k->file, k->p, k->n)) err_throw(k->err, k->err->code, "%s", k->err->msg);
    k->bytes += k->n;
    k->n = 0;
}

void sink_put_slow(struct sink *k, const void *p, size_t n) {
    while (n) {
        size_t part = RG_MIN(n, SINK_BYTES - k->n);
        memcpy(k->p + k->n, p, part);
        k->n += part;
        p = (const char *)p + part;
        n -= part;
        if (k->n == SINK_BYTES) sink_flush(k);
    }
}

void sink_number(struct sink *k, int64_t x) {
    static const char pairs[] = "0001020304050607080910111213141516171819202122232425262728293031323334353637"
                                "3839404142434445464748495051525354555657585960616263646566676869707172737475"
                                "767778798081828384858687888990919293949596979899";
    char b[24], *at = b + sizeof b;
    uint64_t u = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    for (; u >= 100; u /= 100) memcpy(at -= 2, pairs + 2 * (u % 100), 2);
    if (u >= 10)
        memcpy(at -= 2, pairs + 2 * u, 2);
    else
        *--at = (char)('0' + u);
    if (x < 0) *--at = '-';
    sink_put(k, at, (size_t)(b + sizeof b - at));
}

void sink_micros(struct sink *k, int64_t ns) {
    uint64_t u = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char b[4] = {'.', (char)('0' + u / 100 % 10), (char)('0' + u / 10 % 10), (char)('0' + u % 10)};
    if (ns < 0) sink_put(k, "-", 1);
    sink_number(k, (int64_t)(u / 1000));
    sink_put(k, b, 4);
}

/* Each string of the trace is escaped once. */
void sink_json(struct sink *k, const struct trace *t, uint32_t id) {
    if (!k->json) k->json = arena_array(&k->arena, struct trace_string, t->strs.n + 1);
    struct trace_string *e = &k->json[id < t->strs.n ? id : 0];
    if (!e->p) {
        struct str s;
        str_init(&s, &k->arena);
        report_json_string(&s, trace_str(t, id));
        *e = (struct trace_string){.p = s.p, .n = (uint32_t)s.n};
    }
    sink_put(k, e->p, e->n);
}
