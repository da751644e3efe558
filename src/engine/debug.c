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

#include <stdlib.h>
#include <unistd.h>

#define NAME_WIDTH 45

void debug_open(const struct engine *en) {
    log_line(1, "opened device %s from pid:%ld", en->ops->name, (long)getpid());
}

void debug_close(const struct engine *en) {
    const struct shown *s = &en->shown;
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

static void line(struct engine *en, const struct operation *o) {
    struct shown *s = &en->shown;
    s->operations++;
    s->ns += (double)o->ns;
    s->flops += o->flops;
    s->bytes += o->bytes;
    if (!log_on(2)) return;
    double ns = RG_MAX((double)o->ns, 1);
    bool slow = o->ns > 10000000 && log_color();
    log_line(2,
             "*** %-7s %4u %s arg %2u mem %5.2f GB tm %s%9.2fus%s/%9.2fms (%7.0f GFLOPS %4.0f|%-6.0f GB/s)%s",
             o->device, s->operations, o->name, o->args, (double)en->memory.in_use / 1e9,
             slow ? "\033[33m" : "", (double)o->ns / 1e3, slow ? "\033[0m" : "", s->ns / 1e6, o->flops / ns,
             o->bytes / ns, o->issued / ns, o->tail);
}

void debug_kernel(struct engine *en, const struct debug_call *c, uint64_t ns, const char *site) {
    const struct estimate *e = &c->k->est;
    char tail[400] = "";
    if (log_on(2))
        snprintf(tail, sizeof tail, " %2.0f%% of roof, %s%s%s%s",
                 RG_MIN(1e11 * c->roof / RG_MAX((double)ns, 1), 999), c->bound, *site ? "  [" : "", site,
                 *site ? "]" : "");
    en->shown.kernels++;
    line(en, &(struct operation){en->ops->name, c->name, c->k->nbuf, ns, e->flops, e->bytes, e->bytes_issued,
                                 tail});
}

static void line_named(struct engine *en, const char *device, const char *name, uint32_t args, uint64_t ns,
                       double bytes) {
    char padded[NAME_WIDTH + 64];
    if (log_on(2)) snprintf(padded, sizeof padded, "%-*s", NAME_WIDTH, name);
    line(en, &(struct operation){device, padded, args, ns, 0, bytes, bytes, ""});
}

void debug_ref(struct engine *en, uint32_t values, uint64_t ns) {
    char name[64];
    snprintf(name, sizeof name, "graph of %u values", values);
    line_named(en, en->ops->name, name, values, ns, 0);
}

void engine_log_copy(struct engine *en, enum dev_copy kind, size_t bytes, uint64_t ns) {
    const char *dev = en->ops->name, *to = kind == COPY_OUT ? "EXT" : dev,
               *from = kind == COPY_IN ? "EXT" : dev;
    char name[128];
    if (bytes >= 1000000)
        snprintf(name, sizeof name, "copy %8.2f MB, %6s <- %s", (double)bytes / 1e6, to, from);
    else
        snprintf(name, sizeof name, "copy %8zu B, %7s <- %s", bytes, to, from);
    line_named(en, to, name, 2, ns, (double)bytes);
}

void engine_log_wait(struct engine *en, uint64_t ns) { line_named(en, "EXT", "synchronize", 1, ns, 0); }

/* ---- names: E_ or r_ and the sizes, coloured by how the axis runs ----------------------------------------------- */

static const char *axis_color(uint8_t kind) {
    switch (kind) {
    case AX_GRID: return "\033[34m";   /* blue */
    case AX_REDUCE: return "\033[31m"; /* red */
    case AX_SCAN: return "\033[35m";   /* magenta */
    default: return "\033[37m";        /* white */
    }
}

/* The kind of the axis whose size stands in the name, if the sizes of the kernel's axes leave no doubt. */
static const uop *range_of_size(const uop_vec *topo, uint8_t *used, long long size) {
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *r = topo->p[i];
        if (r->op != OP_RANGE || used[i] || r->src[0]->op != OP_CONST || r->src[0]->arg.i != size) continue;
        used[i] = 1;
        return r;
    }
    return NULL;
}

const char *debug_name(struct arena *a, const struct sched_prog *p) {
    const char *name = p->kernel.name;
    int pad = NAME_WIDTH - (int)strlen(name);
    if (!log_on(2) || !log_color()) return arena_printf(a, "%-*s", NAME_WIDTH, name);
    uop_vec topo = {0};
    struct str s;
    str_init(&s, a);
    uop_topo(a, &p->kernel.sink, 1, &topo);
    uint8_t *used = arena_array(a, uint8_t, topo.n + 1);
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "_");
        char *end;
        long long size = strtoll(at, &end, 10);
        const uop *r = n && end == at + n ? range_of_size(&topo, used, size) : NULL;
        str_printf(&s, "%s%.*s%s", r ? axis_color(r->arg.range.kind) : "", (int)n, at, r ? "\033[0m" : "");
        at += n;
        if (*at) str_addc(&s, *at++);
    }
    str_printf(&s, "%*s", RG_MAX(pad, 0), "");
    return s.p;
}

/* ---- what a profile says of a kernel --------------------------------------------------------------------------------- */

/* Graph and source are names of their own: places that share a kernel share them, and a recording holds them once. */
uint32_t debug_info(struct arena *work, struct debug_call *c, const char *site) {
    struct str s;
    str_init(&s, work);
    if (!event_recording()) { /* the flight recorder: texts last as long as the process */
        str_printf(&s, "%.800s\t%.0f\t%s\t%.200s", site, c->roof * 1e9, c->bound, c->shapes);
        return event_name(s.p);
    }
    if (!c->said[0] && c->text) {
        str_printf(&s, "kernel %s\n%s%s%s%s", c->k->name, *c->opts ? "opts " : "", c->opts,
                   *c->opts ? "\n" : "", c->text);
        c->said[0] = event_name(s.p);
        s.n = 0;
    }
    if (!c->said[1]) c->said[1] = event_name(c->k->source);
    str_printf(&s, "%.800s\t%.0f\t%s\t%.200s\t%s\t%.0f\t%u\t%u\t", site, c->roof * 1e9, c->bound, c->shapes,
               c->k->key, c->predicted * 1e9, c->said[0], c->said[1]);
    roof_print(&s, c);
    str_printf(&s, "\t%s", c->opts);
    return event_name(s.p);
}

/* ---- plans --------------------------------------------------------------------------------------------------------- */

void debug_plan(const struct engine *en, const struct plan_key *k, const struct realize_stats *s) {
    log_line(
        1, "scheduled %5u kernels in %8.2f ms | cache %s %08x | %u nodes, %u plans known | predicted %.2f us",
        s->kernels, (double)s->plan_ns / 1e6, s->cached ? "hit" : "miss", (unsigned)(k->hash ^ k->hash >> 32),
        k->topo.n, en->plans.n, s->predicted * 1e6);
}

struct changing {
    struct engine *en;
    const uop *number;
    const char *site;
};

static void add_warning(void *arg) {
    const struct changing *x = arg;
    bool flt = dt_is_float((enum dtype)x->number->dt);
    size_t from = x->en->warnings.n;
    str_printf(&x->en->warnings,
               "a program was planned and compiled again and again because a number in it changes (now "
               "%.9g)%s%s%s; make it "
               "an rg_scalar or rg_index\n",
               flt ? x->number->arg.f : (double)x->number->arg.i, *x->site ? " [" : "", x->site,
               *x->site ? "]" : "");
    log_line(1, "%.*s", (int)(x->en->warnings.n - from - 1), x->en->warnings.p + from);
}

void debug_changing(struct engine *en, const uop *number, const char *site) {
    struct changing x = {en, number, site};
    err_clear(&en->err);
    err_guard(&en->err, add_warning, &x); /* out of memory: not said */
    err_clear(&en->err);
}

static double temporaries(const struct schedule *s, uint32_t *n) {
    double bytes = 0;
    for (uint32_t i = 0; i < s->buf.n; i++) {
        if (s->buf.p[i].place != BUF_TEMP) continue;
        bytes += (double)s->buf.p[i].elements * dtype_info[s->buf.p[i].dt].bytes;
        ++*n;
    }
    return bytes;
}

void debug_schedule(const struct schedule *s, const struct str *log) {
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

void debug_prog(const struct sched_prog *p, const struct linear *lin, const char *opts,
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

void debug_builtin(const struct sched_prog *p, const struct ekernel *k) {
    if (!log_on(3)) return;
    log_line(3, "%-25s a function of the device; grid %lld, scratch %lld B, predicted %.2f us",
             p->kernel.name, (long long)p->builtin->rows, k ? (long long)k->scratch : 0, p->seconds * 1e6);
}

struct assembly {
    struct engine *en;
    struct err *err;
    struct arena *arena;
    const char *source;
    char **out;
};

static void make_assembly(void *arg) {
    struct assembly *x = arg;
    struct err e = {0};
    struct str unit;
    str_init(&unit, x->arena);
    engine_preamble(x->en, &unit, &x->source, 1);
    str_add(&unit, x->source);
    if (x->en->ops->assembly(x->en->dev, &e, x->arena, unit.p, x->out))
        err_throw(x->err, e.code, "%s", e.msg);
}

int engine_assembly(struct engine *en, struct err *e, struct arena *a, const char *source, char **out) {
    struct assembly x = {en, a->err, a, source, out};
    if (!en->ops->assembly)
        return err_set(e, RG_EUNSUPPORTED, "the %s device has no assembly", en->ops->name);
    int code = err_guard(a->err, make_assembly, &x);
    return code && e != a->err ? err_set(e, code, "%s", a->err->msg) : code;
}

void debug_assembly(struct engine *en, const char *name, const char *text) {
    struct err e = {0};
    struct arena a;
    char *out;
    arena_init(&a, &e);
    if (engine_assembly(en, &e, &a, text, &out))
        log_line(7, "%s: no assembly: %s", name, e.msg);
    else
        log_line(7, "%s", out);
    arena_free(&a);
}
