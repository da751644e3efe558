/* debug.c: what the engine says at DEBUG, to stderr. docs/reading-debug.md explains every field.
 *
 *   1 device, what was scheduled, memory, summary   2 a line per operation   3 opts, buffers, the planner's decisions
 *   4 source (compile.c says it)   5 kernel graph and linear program   6 every pass   7 assembly
 *
 * A line is printed only for something that happened. Counting for the summary goes on at every level: it is four
 * additions per operation. Colours say how an axis of a kernel runs, on a terminal only.
 * `% of roof` is the time that roof.c gives a kernel at best by the measured one, and the word after it what sets the roof.
 * Tests: tests/cli/debug.sh, tests/unit/realize.c (realize_debug_*) */
#include "engine/internal.h"
#include "event/event.h"
#include "render/render.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* A level that is no number is said once; other programs' lists ("app:*") are not Ridge's. */
static void check_level(void) {
    static atomic_bool said;
    const char *s = env_get("RIDGE_DEBUG") ? NULL : env_get("DEBUG");
    char *end;
    if (!s || !*s || strpbrk(s, ":*,=/ ") || (strtol(s, &end, 10), !*end) || atomic_exchange(&said, true))
        return;
    log_line(0, "DEBUG=%.20s: expected a level from 0 to 7; 0 is used", s);
}

static void debug_open(const struct engine *en) {
    check_level();
    log_line(1, "opened device %s from pid:%ld", en->ops->name, (long)getpid());
}

static void debug_close(const struct engine *en) {
    const struct debug_totals *s = &en->shown;
    if (!s->operations || !log_on(1)) return;
    double ns = RG_MAX(s->ns, 1);
    log_line(1,
             "avg: %8.2f GFLOPS %8.2f GB/s           total: %5u operations %5u kernels %8.2f GOPS %8.2f GB "
             "%8.2f ms",
             s->flops / ns, s->bytes / ns, s->operations, s->kernels, s->flops / 1e9, s->bytes / 1e9,
             s->ns / 1e6);
}

/* ---- one operation ------------------------------------------------------------------------------------------ */

struct operation {
    const char *device, *name; /* name: padded */
    uint32_t args;
    uint64_t ns;
    double flops, bytes, issued;
    const char *tail; /* roof and site, or "" */
};

/* Three digits that say something, of small rates too. */
static int digits(double x) { return x < 10 ? 2 : x < 100 ? 1 : 0; }

static void line(struct engine *en, const struct operation *o) {
    struct debug_totals *s = &en->shown;
    s->operations++;
    s->ns += (double)o->ns;
    s->flops += o->flops;
    s->bytes += o->bytes;
    if (!log_on(2)) return;
    double ns = RG_MAX((double)o->ns, 1);
    bool slow = o->ns > 10000000 && log_color();
    log_line(
        2, "*** %-7s %4u %s arg %2u mem %5.2f GB tm %s%9.2fus%s/%9.2fms (%7.*f GFLOPS %4.*f|%-6.*f GB/s)%s",
        o->device, s->operations, o->name, o->args, (double)en->memory.in_use / 1e9, slow ? "\033[33m" : "",
        (double)o->ns / 1e3, slow ? "\033[0m" : "", s->ns / 1e6, digits(o->flops / ns), o->flops / ns,
        digits(o->bytes / ns), o->bytes / ns, digits(o->issued / ns), o->issued / ns, o->tail);
}

static void debug_kernel(struct engine *en, const struct kernel_call *c, uint64_t ns, const char *site) {
    const struct estimate *e = &c->k->est;
    char tail[400] = "";
    if (log_on(2))
        text_printf(tail, sizeof tail, " %2.0f%% of roof, %s%s%s%s",
                    RG_MIN(1e11 * c->roof / RG_MAX((double)ns, 1), 999), c->bound, *site ? "  [" : "", site,
                    *site ? "]" : "");
    en->shown.kernels++;
    line(en, &(struct operation){en->ops->name, c->name, c->k->nbuf, ns, e->flops, e->bytes, e->bytes_issued,
                                 tail});
}

static void line_named(struct engine *en, const char *device, const char *name, uint32_t args, uint64_t ns,
                       double bytes) {
    char padded[CALL_NAME_WIDTH + 64];
    if (log_on(2)) snprintf(padded, sizeof padded, "%-*s", CALL_NAME_WIDTH, name);
    line(en, &(struct operation){device, padded, args, ns, 0, bytes, bytes, ""});
}

static void debug_ref(struct engine *en, uint32_t values, uint64_t ns) {
    char name[64];
    snprintf(name, sizeof name, "graph of %u values", values);
    line_named(en, en->ops->name, name, values, ns, 0);
}

static void debug_copy(struct engine *en, enum dev_copy kind, size_t bytes, uint64_t ns) {
    const char *dev = en->ops->name, *to = kind == COPY_OUT ? "EXT" : dev,
               *from = kind == COPY_IN ? "EXT" : dev;
    char name[128];
    if (bytes >= 1000000)
        text_printf(name, sizeof name, "copy %8.2f MB, %6s <- %s", (double)bytes / 1e6, to, from);
    else
        snprintf(name, sizeof name, "copy %8zu B, %7s <- %s", bytes, to, from);
    line_named(en, to, name, 2, ns, (double)bytes);
}

static void debug_wait(struct engine *en, uint64_t ns) { line_named(en, "EXT", "synchronize", 1, ns, 0); }

/* ---- plans --------------------------------------------------------------------------------------------------------- */

static void debug_plan(const struct engine *en, const struct plan_key *k, const struct realize_stats *s) {
    log_line(
        1, "scheduled %5u kernels in %8.2f ms | cache %s %08x | %u nodes, %u plans known | predicted %.2f us",
        s->kernels, (double)s->plan_ns / 1e6, s->cached ? "hit" : "miss", (unsigned)(k->hash ^ k->hash >> 32),
        k->topo.n, en->plans.n, s->predicted * 1e6);
}

static double temporaries(const struct schedule *s, uint32_t *n) {
    double bytes = 0;
    for (uint32_t i = 0; i < s->buf.n; i++) {
        if (s->buf.p[i].kind != BUF_TEMP) continue;
        bytes += (double)s->buf.p[i].elements * dtype_info[s->buf.p[i].dt].bytes;
        ++*n;
    }
    return bytes;
}

static void debug_schedule(const struct schedule *s, const struct str *log) {
    if (!log_on(1)) return;
    uint32_t n = 0;
    double bytes = temporaries(s, &n);
    if (log->n) log_line(3, "%.*s", (int)(log->p[log->n - 1] == '\n' ? log->n - 1 : log->n), log->p);
    if (n)
        log_line(1, "memory planned: %u temporaries of %.2f MB in %.2f MB", n, bytes / 1e6,
                 (double)s->temp_bytes / 1e6);
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

/* The buffers of a kernel: "out f32[1024] <- x f32[1024,..". */
static void print_buffers(struct str *s, const struct sched_prog *p) {
    uop_vec topo = {0};
    uop_topo(s->arena, &p->kernel.sink, 1, &topo);
    uint8_t *stored = arena_array(s->arena, uint8_t, topo.n + 1),
            *loaded = arena_array(s->arena, uint8_t, topo.n + 1);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        bool st = n->op == OP_STORE || n->op == OP_STORE_ADD, ld = n->op == OP_LOAD || n->op == OP_PRED_LOAD;
        if (!st && !ld) continue;
        for (uint32_t k = 0; k < i; k++) {
            if (topo.p[k] != access_buf(n)) continue;
            stored[k] |= st;
            loaded[k] |= ld;
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        const char *gap = pass ? " <- " : "";
        for (uint32_t i = 0; i < topo.n; i++) {
            const uop *n = topo.p[i];
            if ((n->op != OP_PARAM && n->op != OP_PARAMS) || !(pass ? loaded[i] : stored[i])) continue;
            const uop *size = n->op == OP_PARAM ? n->src[0] : n->src[1];
            str_printf(s, "%s%s %s[%lld]", gap, ir_name(p->ir, n->arg.param.name), dtype_info[n->dt].name,
                       (long long)size->hi);
            gap = ", ";
        }
    }
}

static void debug_lowered(const struct sched_prog *p, const struct linear *lin, const char *opts,
                          const struct str *passes) {
    if (passes->n) log_line(log_on(6) ? 6 : 0, "%s", passes->p);
    if (!log_on(3)) return;
    struct str s;
    str_init(&s, passes->arena);
    print_buffers(&s, p);
    log_line(3, "%-25s opts: %s", p->kernel.name, *opts ? opts : "none");
    log_line(3, "%-25s %s; grid %lld, scratch %lld B, predicted %.2f us", "", s.n ? s.p : "no buffers",
             (long long)lin->grid, (long long)lin->scratch, p->seconds * 1e6);
    if (!log_on(5)) return;
    struct str t;
    str_init(&t, passes->arena);
    ir_print_kernel(&t, p->ir, &p->kernel);
    linear_print(&t, lin->ir, lin);
    log_line(5, "%s", t.p);
}

static void debug_builtin(const struct sched_prog *p, const struct ekernel *k) {
    if (!log_on(3)) return;
    log_line(3, "%-25s a function of the device; grid %lld, scratch %lld B, predicted %.2f us",
             p->kernel.name, (long long)p->builtin->rows, k ? (long long)k->scratch : 0, p->seconds * 1e6);
}

static void debug_rendered(struct engine *en, const char *name, const char *text) {
    struct err e = {0};
    struct arena a;
    char *out;
    if (!log_on(7)) return;
    arena_init(&a, &e);
    if (engine_assembly(en, &e, &a, text, &out))
        log_line(7, "%s: no assembly: %s", name, e.msg);
    else
        log_line(7, "%s", out);
    arena_free(&a);
}

const struct observer debug_observer = {.open = debug_open,
                                        .close = debug_close,
                                        .plan = debug_plan,
                                        .schedule = debug_schedule,
                                        .lowered = debug_lowered,
                                        .builtin = debug_builtin,
                                        .rendered = debug_rendered,
                                        .kernel = debug_kernel,
                                        .ref = debug_ref,
                                        .copy = debug_copy,
                                        .wait = debug_wait};
