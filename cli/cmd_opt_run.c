/* cmd_opt_run.c: the running half of `ridge opt`: --run, --ref, --check, --time, and the result as text or JSON.
 *
 * --check goes kernel by kernel: the memory before the kernel is copied, the kernel runs, then its plain
 * program runs in the interpreter on the copy, and every element that the interpreter wrote is compared.
 * So both sides see the same inputs, and an error is reported at the kernel that made it. When the whole
 * grid would take the interpreter too long it runs iterations spread over the grid; that is no check
 * for a kernel that adds to memory (STORE_ADD), because an element is whole only after all iterations.
 * Tests: tests/cli/opt.sh */
#include "cmd_opt.h"
#include "ref/ref.h"
#include "tune/search/search.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define CHECK_COST 1e8 /* element evaluations: some seconds */

void must(struct err *e, int status) {
    if (status) err_throw(e, status, "%s", rg_status_text(status)); /* the first message is kept */
}

void session_close(struct session *s) {
    if (s->list) engine_list_free(s->list);
    if (s->engine) engine_close(s->engine);
    io_free(&s->mem);
    io_free(&s->plain);
}

/* ---- running ----------------------------------------------------------------------------------------- */

static void compile(struct session *s) {
    uint32_t n = s->prog.kernel.n;
    const struct linear **lin = arena_array(&s->arena, const struct linear *, n);
    const struct ekernel **code = arena_array(&s->arena, const struct ekernel *, n);
    for (uint32_t i = 0; i < n; i++) lin[i] = &s->work[i].lin;
    s->engine = search_engine_open(s->err, NULL);
    if (!s->engine) must(s->err, s->err->code);
    must(s->err, engine_compile(s->engine, s->err, lin, n, code));
    if (*engine_warnings(s->engine)) fprintf(stderr, "%s", engine_warnings(s->engine));
    for (uint32_t i = 0; i < n; i++) s->work[i].code = code[i];
}

static void **buffers_of(struct session *s, uint32_t i, const struct io_mem *m) {
    const struct io_kernel *ik = &s->io.kernel[i];
    void **p = arena_array(&s->arena, void *, RG_MAX(ik->nbuf, s->work[i].lin.nbuf) + 1);
    for (uint32_t k = 0; k < ik->nbuf; k++) p[k] = ik->buf[k] == UINT32_MAX ? NULL : m->p[ik->buf[k]];
    return p;
}

static struct ref_buf *ref_buffers(struct session *s, uint32_t i, const struct io_mem *m,
                                   unsigned char **wrote) {
    const struct io_kernel *ik = &s->io.kernel[i];
    struct ref_buf *b = arena_array(&s->arena, struct ref_buf, ik->nbuf + 1);
    for (uint32_t k = 0; k < ik->nbuf; k++) {
        uint32_t at = ik->buf[k];
        if (at == UINT32_MAX) continue;
        b[k] = (struct ref_buf){m->p[at], io_bytes(&s->io.buf[at]), s->io.buf[at].name,
                                wrote ? wrote[at] : NULL, NULL};
    }
    return b;
}

/* A list with only kernel i in it. */
static void run_kernel(struct session *s, uint32_t i) {
    struct engine_list *l = s->list = engine_list_new(s->engine, s->err);
    if (!l) must(s->err, s->err->code);
    must(s->err, engine_list_add(l, s->err, s->work[i].code, buffers_of(s, i, &s->mem), s->io.kernel[i].var));
    must(s->err, engine_list_run(l, s->err));
    s->work[i].ns = engine_list_ns(l, 0);
    engine_list_free(l);
    s->list = NULL;
}

static void run_reference(struct session *s) {
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        struct work *w = &s->work[i];
        uint64_t t = os_now_ns();
        must(s->err, ref_linear(s->err, &w->lin, ref_buffers(s, i, &s->mem, NULL), s->io.kernel[i].nbuf,
                                s->io.kernel[i].var, 0, w->lin.grid));
        w->ns = os_now_ns() - t;
    }
}

static void debug_line(struct session *s, uint32_t i, double *total) {
    struct work *w = &s->work[i];
    double us = (double)w->ns / 1e3, bytes = 0;
    for (uint32_t k = 0; k < s->io.nbuf; k++) bytes += (double)io_bytes(&s->io.buf[k]);
    *total += us / 1e3;
    log_line(2,
             "*** %-6s %6u %-45s arg %2u mem %5.2f GB tm %9.2fus/%9.2fms (%7.0f GFLOPS "
             "%4.0f|%-6.0f GB/s)",
             s->ref ? "REF" : "CPU", i + 1, w->lin.name, s->io.kernel[i].nbuf, bytes / 1e9, us, *total,
             w->lin.est.flops / (us * 1e3), w->lin.est.bytes / (us * 1e3),
             w->lin.est.bytes_issued / (us * 1e3));
}

/* ---- --check ----------------------------------------------------------------------------------------- */

static bool adds_to_memory(const struct kernel *k) {
    for (uint32_t i = 0; i < k->sink->nsrc; i++)
        if (k->sink->src[i]->op == OP_STORE_ADD) return true;
    return false;
}

static void compare_one(struct checked *c, const struct io_buf *b, double scale, int64_t at, double got,
                        double want) {
    double off = fabs(got - want), rel = off / RG_MAX(fabs(want), DBL_MIN);
    double tol = io_tolerance_of(c->tolerance, b->dt);
    bool same = got == want || (isnan(got) && isnan(want));
    c->compared++;
    if (same) return;
    bool ok = off <= tol * (scale + fabs(want));
    if (!ok && (!c->wrong || !(off <= c->max_abs)))
        snprintf(c->where, sizeof c->where, "%s[%lld] is %.9g, expected %.9g", b->name, (long long)at, got,
                 want);
    c->wrong += !ok;
    if (!(off <= c->max_abs)) c->max_abs = off; /* a NaN stays */
    if (!(rel <= c->max_rel) && fabs(want) > scale / 1000) c->max_rel = rel;
}

static void compare(struct session *s, struct checked *c, unsigned char **wrote) {
    for (uint32_t i = 0; i < s->io.nbuf; i++) {
        const struct io_buf *b = &s->io.buf[i];
        size_t size = dtype_info[b->dt].bytes;
        if (!wrote[i]) continue;
        double scale = io_scale(b, s->plain.p[i], wrote[i]);
        for (int64_t k = 0; k < b->n; k++) {
            if (!wrote[i][k]) continue;
            double got = ref_number(b->dt, ref_read(b->dt, (char *)s->mem.p[i] + (size_t)k * size));
            double want = ref_number(b->dt, ref_read(b->dt, (char *)s->plain.p[i] + (size_t)k * size));
            compare_one(c, b, scale, k, got, want);
        }
    }
}

/* Runs the plain program on s->plain: all of it, or iterations spread over the grid. */
static double run_plain(struct session *s, uint32_t i, const struct linear *plain, unsigned char **wrote,
                        bool adds) {
    const struct io_kernel *ik = &s->io.kernel[i];
    struct ref_buf *b = ref_buffers(s, i, &s->plain, wrote);
    double cost = ref_cost(plain), each = cost / (double)RG_MAX(plain->grid, 1);
    if (cost <= (adds ? 10 : 1) * CHECK_COST) {
        must(s->err, ref_linear(s->err, plain, b, ik->nbuf, ik->var, 0, plain->grid));
        return 1;
    }
    if (adds || each > CHECK_COST)
        err_throw(s->err, RG_ELIMIT,
                  "kernel %s: --check would interpret %.2g elements%s; make the kernel smaller", plain->name,
                  adds ? cost : each,
                  adds ? " (it adds to memory, so no part of it can be checked alone)" : "");
    /* neighbours run in one call: they read mostly the same, and a call has to note who touched what */
    int64_t n = RG_MAX((int64_t)(CHECK_COST / each), 1), run = RG_MIN(n, 64), calls = n / run;
    for (int64_t k = 0; k < calls; k++) {
        double at = calls == 1 ? 0.5 : (double)k / (double)(calls - 1);
        int64_t t = (int64_t)((double)(plain->grid - run) * at);
        must(s->err, ref_linear(s->err, plain, b, ik->nbuf, ik->var, t, t + run));
    }
    n = calls * run;
    return (double)n / (double)plain->grid;
}

static void check_kernel(struct session *s, uint32_t i) {
    struct work *w = &s->work[i];
    struct linear plain;
    unsigned char **wrote = arena_array(&s->arena, unsigned char *, s->io.nbuf + 1);
    for (uint32_t k = 0; k < s->io.nbuf; k++)
        if (s->io.buf[k].output) wrote[k] = arena_array(&s->arena, unsigned char, s->io.buf[k].n + 1);
    session_lower(s, &s->prog.kernel.p[i], &(struct lower_opts){.opts = "", .target = {.keep_math = true}},
                  &plain);
    w->check.tolerance =
        2 * io_tolerance(&s->arena, s->prog.kernel.p[i].sink); /* math functions are approximations */
    w->check.share = run_plain(s, i, &plain, wrote, adds_to_memory(&s->prog.kernel.p[i]));
    compare(s, &w->check, wrote);
    const char *torn = io_red_zone(&s->io, &s->mem);
    if (torn && !w->check.wrong++)
        snprintf(w->check.where, sizeof w->check.where, "memory beside buffer %s was overwritten", torn);
    w->check.done = true;
    s->failed |= w->check.wrong > 0;
}

/* ---- --time ------------------------------------------------------------------------------------------ */

static int by_value(const void *pa, const void *pb) {
    double a = *(const double *)pa, b = *(const double *)pb;
    return (a > b) - (a < b);
}

static struct timing summarise(double *ns, uint32_t n) {
    qsort(ns, n, sizeof *ns, by_value);
    return (struct timing){n, n % 2 ? ns[n / 2] : (ns[n / 2 - 1] + ns[n / 2]) / 2, ns[0],
                           ns[(uint32_t)((n - 1) * 0.9)] - ns[(uint32_t)((n - 1) * 0.1)]};
}

static void measure(struct session *s) {
    uint32_t n = s->prog.kernel.n;
    s->list = engine_list_new(s->engine, s->err);
    if (!s->list) must(s->err, s->err->code);
    for (uint32_t i = 0; i < n; i++)
        must(s->err, engine_list_add(s->list, s->err, s->work[i].code, buffers_of(s, i, &s->mem),
                                     s->io.kernel[i].var));
    for (int k = 0; k < 2; k++) must(s->err, engine_list_run(s->list, s->err)); /* warm */
    uint64_t start = os_now_ns();
    must(s->err, engine_list_run(s->list, s->err));
    double once = (double)(os_now_ns() - start);
    uint32_t runs =
        s->runs != NOT_GIVEN ? (uint32_t)s->runs : (uint32_t)RG_MAX(5, RG_MIN(10000, 1e9 / RG_MAX(once, 1)));
    double *ns = arena_array(&s->arena, double, (size_t)runs *n);
    for (uint32_t r = 0; r < runs; r++) {
        must(s->err, engine_list_run(s->list, s->err));
        for (uint32_t i = 0; i < n; i++) ns[(size_t)i * runs + r] = (double)engine_list_ns(s->list, i);
    }
    for (uint32_t i = 0; i < n; i++) s->work[i].time = summarise(ns + (size_t)i * runs, runs);
}

/* ---- results as text --------------------------------------------------------------------------------- */

static void print_value(struct str *out, enum dtype dt, const void *p, bool json) {
    union ref_val v = ref_read(dt, p);
    if (!dt_is_float(dt))
        str_printf(out, dt == DT_U64 ? "%llu" : "%lld", (long long)v.i);
    else if (json && !isfinite(v.f))
        str_printf(out, "\"%g\"", v.f);
    else
        str_printf(out, "%.*g", dt == DT_F64 ? 17 : 9, v.f);
}

static void print_values(struct str *out, const struct io_buf *b, const void *p, int64_t n, bool json) {
    for (int64_t k = 0; k < RG_MIN(n, b->n); k++) {
        if (k) str_add(out, json ? ", " : " ");
        print_value(out, b->dt, (const char *)p + (size_t)k * dtype_info[b->dt].bytes, json);
    }
}

static double sum_of(const struct io_buf *b, const void *p) {
    double sum = 0;
    size_t size = dtype_info[b->dt].bytes;
    for (int64_t k = 0; k < b->n; k++)
        sum += ref_number(b->dt, ref_read(b->dt, (const char *)p + (size_t)k * size));
    return sum;
}

static void text_kernel(struct str *t, struct session *s, uint32_t i) {
    const struct work *w = &s->work[i];
    const struct estimate *e = &w->lin.est;
    const char *name = s->prog.kernel.p[i].name;
    if (w->time.runs)
        str_printf(t,
                   "%s: median %.4f ms, least %.4f, spread %.4f over %u runs; %.2f GFLOPS, "
                   "%.2f|%.2f GB/s\n",
                   name, w->time.median / 1e6, w->time.least / 1e6, w->time.spread / 1e6, w->time.runs,
                   e->flops / w->time.median, e->bytes / w->time.median, e->bytes_issued / w->time.median);
    const struct checked *c = &w->check;
    if (!c->done) return;
    str_printf(t, "%s: check %s: %lld values%s, max abs error %.3g, max rel error %.3g, tolerance %.3g", name,
               c->wrong ? "FAILED" : "ok", (long long)c->compared, c->share < 1 ? " (a sample)" : "",
               c->max_abs, c->max_rel, c->tolerance);
    if (c->wrong) str_printf(t, "; %lld wrong, worst: %s", (long long)c->wrong, c->where);
    str_addc(t, '\n');
}

static void text_output(struct str *t, const struct io_buf *b, const void *p) {
    str_printf(t, "%-8s %s[%lld]  sum %.9g  hash %08x  ", b->name, dtype_info[b->dt].name, (long long)b->n,
               sum_of(b, p), (unsigned)hash_bytes(p, io_bytes(b), 0));
    print_values(t, b, p, 6, false);
    str_add(t, b->n > 6 ? " ..\n" : "\n");
}

/* --print NAME[:N] */
static void text_print(struct str *t, struct session *s) {
    const char *colon = strrchr(s->print, ':');
    size_t n = colon ? (size_t)(colon - s->print) : strlen(s->print);
    int64_t count = colon ? strtoll(colon + 1, NULL, 10) : 8;
    for (uint32_t i = 0; i < s->io.nbuf; i++) {
        const struct io_buf *b = &s->io.buf[i];
        if (strlen(b->name) != n || strncmp(b->name, s->print, n)) continue;
        str_printf(t, "%s: ", b->name);
        print_values(t, b, s->mem.p[i], count, false);
        str_addc(t, '\n');
        return;
    }
    struct str names;
    str_init(&names, &s->arena);
    for (uint32_t i = 0; i < s->io.nbuf && i < 12; i++)
        str_printf(&names, "%s%s", i ? ", " : "", s->io.buf[i].name);
    err_throw(s->err, RG_EINVAL, "--print: no buffer is called '%.*s'; there are %s%s", (int)n, s->print,
              names.n ? names.p : "none", s->io.nbuf > 12 ? " .." : "");
}

static void print_text(struct session *s) {
    struct str t;
    str_init(&t, &s->arena);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) text_kernel(&t, s, i);
    if (s->run || s->ref)
        for (uint32_t i = 0; i < s->io.nbuf; i++)
            if (s->io.buf[i].output) text_output(&t, &s->io.buf[i], s->mem.p[i]);
    if (s->print) text_print(&t, s);
    fputs(t.p, stdout);
}

/* ---- results as JSON --------------------------------------------------------------------------------- */

static void json_string(struct str *t, const char *s) {
    str_addc(t, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            str_printf(t, "\\%c", *s);
        else if ((unsigned char)*s < 32)
            str_printf(t, "\\u%04x", *s);
        else
            str_addc(t, *s);
    }
    str_addc(t, '"');
}

static void json_number(struct str *t, const char *key, double x) {
    if (isfinite(x))
        str_printf(t, ", \"%s\": %.9g", key, x);
    else
        str_printf(t, ", \"%s\": \"%g\"", key, x); /* JSON has no NaN */
}

static void json_kernel(struct str *t, struct session *s, uint32_t i, bool runs) {
    const struct work *w = &s->work[i];
    const struct estimate *e = &w->lin.est;
    str_add(t, "    {\"name\": ");
    json_string(t, s->prog.kernel.p[i].name);
    str_add(t, ", \"opts\": ");
    json_string(t, w->opts);
    str_printf(t, ", \"grid\": %lld, \"scratch\": %lld, \"entries\": %u", (long long)w->lin.grid,
               (long long)w->lin.scratch, w->lin.n);
    json_number(t, "lower_ms", (double)w->lower_ns / 1e6);
    json_number(t, "flops", e->flops);
    json_number(t, "flops_issued", e->flops_issued);
    json_number(t, "bytes", e->bytes);
    json_number(t, "bytes_issued", e->bytes_issued);
    if (runs) json_number(t, "first_ms", (double)w->ns / 1e6);
    if (w->time.runs) {
        str_printf(t, ", \"time\": {\"runs\": %u", w->time.runs);
        json_number(t, "median_ms", w->time.median / 1e6);
        json_number(t, "least_ms", w->time.least / 1e6);
        json_number(t, "spread_ms", w->time.spread / 1e6);
        str_addc(t, '}');
    }
    if (w->check.done) {
        const struct checked *c = &w->check;
        str_printf(t, ", \"check\": {\"ok\": %s, \"compared\": %lld, \"wrong\": %lld",
                   c->wrong ? "false" : "true", (long long)c->compared, (long long)c->wrong);
        json_number(t, "share", c->share);
        json_number(t, "max_abs", c->max_abs);
        json_number(t, "max_rel", c->max_rel);
        json_number(t, "tolerance", c->tolerance);
        str_addc(t, '}');
    }
    str_addc(t, '}');
}

static void print_json(struct session *s, bool runs) {
    struct str t;
    str_init(&t, &s->arena);
    str_add(&t, "{\n  \"file\": ");
    json_string(&t, s->file);
    str_add(&t, ",\n  \"kernels\": [\n");
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        if (i) str_add(&t, ",\n");
        json_kernel(&t, s, i, runs);
    }
    str_add(&t, "\n  ],\n  \"outputs\": [");
    for (uint32_t i = 0, first = 1; runs && i < s->io.nbuf; i++) {
        const struct io_buf *b = &s->io.buf[i];
        if (!b->output) continue;
        str_add(&t, first ? "\n    {\"name\": " : ",\n    {\"name\": ");
        first = 0;
        json_string(&t, b->name);
        str_printf(&t, ", \"dtype\": \"%s\", \"n\": %lld, \"hash\": \"%08x\"", dtype_info[b->dt].name,
                   (long long)b->n, (unsigned)hash_bytes(s->mem.p[i], io_bytes(b), 0));
        json_number(&t, "sum", sum_of(b, s->mem.p[i]));
        str_add(&t, ", \"first\": [");
        print_values(&t, b, s->mem.p[i], 6, true);
        str_add(&t, "]}");
    }
    str_add(&t, "\n  ]\n}\n");
    fputs(t.p, stdout);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static void run_all(struct session *s) {
    double total = 0;
    io_alloc(&s->ir, &s->io, &s->mem);
    io_fill(&s->io, &s->mem, s->exact);
    if (s->check) io_alloc(&s->ir, &s->io, &s->plain);
    if (s->ref)
        run_reference(s);
    else
        compile(s);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        if (s->check) io_copy(&s->plain, &s->mem);
        if (!s->ref) run_kernel(s, i);
        if (s->check) check_kernel(s, i);
        debug_line(s, i, &total);
    }
    if (s->time) measure(s);
}

void session_execute(struct session *s, bool runs) {
    if (runs) run_all(s);
    if (s->json)
        print_json(s, runs);
    else
        print_text(s);
}
