/* compile.c: what it costs to get from kernel graphs to functions, by stage.
 *
 * Forty matrix products of different sizes, register-tiled 8 x 12 with packed operands, as the golden
 * kernel matmul_256 is: cold (an empty cache), then warm (a fresh engine, everything on disk), then one
 * kernel alone, cold. The cache is a directory of its own that goes afterwards. */
#include "engine/engine.h"

#include <stdlib.h>
#include <sys/resource.h>

#define KERNELS 40

/* %d: columns in tiles of 12, all of them in one panel */
static const char opts[] =
    "opts TILE(m,8,mr) UNROLL(mr) TILE(n,12,nr) TILE(nr,4,v) VEC(v) UNROLL(nr)\n"
    "opts TILE(m,16,mt) TILE(n,%d,nt) TILE(k,4,ku) UNROLL(ku) ORDER(nt,mt,k)\n"
    "opts STAGE(a,m,mt,k,ku,mr) STAGE(b,m,nt,k,ku,nr,v) TILE(a.mr,4,a.v) VEC(a.v) UNROLL(a.mr) UNROLL(a.ku) "
    "VEC(b.v) UNROLL(b.nr) ORDER(b.k,b.ku,b.nt)\n";

static void add_kernel(struct str *s, int i) {
    int m = 256, n = 264 + 12 * i, k = 64 + 4 * i;
    str_printf(s, "kernel matmul_%d_%d_%d\n", m, n, k);
    str_printf(s, opts, n / 12);
    str_printf(s, "a = (PARAM<f32>[0 a] %d)\nb = (PARAM<f32>[1 b] %d)\nout = (PARAM<f32>[2 out] %d)\n", m * k,
               k * n, m * n);
    str_printf(s, "m = (RANGE[m GRID 0] %d)\nn = (RANGE[n GRID 1] %d)\nk = (RANGE[k REDUCE 2] %d)\n", m, n,
               k);
    str_printf(s,
               "acc = (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m %d) k))) (LOAD (INDEX b (ADD (MUL k %d) "
               "n)))) k)\n",
               k, n);
    str_printf(s, "(SINK (STORE (INDEX out (ADD (MUL m %d) n)) acc))\n\n", n);
}

struct run {
    struct err err;
    struct arena arena;
    struct ir ir[KERNELS]; /* each kernel in one of its own, as the engine's users do it */
    struct linear lin[KERNELS];
    const struct linear *ptr[KERNELS];
    const struct ekernel *out[KERNELS];
    uint64_t parse_ns, lower_ns;
};

static void front(void *arg) {
    struct run *r = arg;
    for (int i = 0; i < KERNELS; i++) {
        struct str s;
        struct program p = {0};
        str_init(&s, &r->arena);
        add_kernel(&s, i);
        ir_init(&r->ir[i], &r->arena);
        uint64_t t0 = os_now_ns();
        ir_parse(&r->ir[i], s.p, s.n, "bench", &p);
        uint64_t t1 = os_now_ns();
        lower(&r->ir[i], &p.kernel.p[0], &(struct lower_opts){0}, &r->lin[i]);
        r->ptr[i] = &r->lin[i];
        r->parse_ns += t1 - t0;
        r->lower_ns += os_now_ns() - t1;
    }
}

static double ms(uint64_t ns) { return (double)ns / 1e6; }

/* Processor time of this process, and of the compilers that it has waited for. */
static uint64_t cpu_ns(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;
}

static int die(const struct err *e) {
    fprintf(stderr, "compile: %s\n", e->msg);
    return 1;
}

static int back(struct run *r, const char *what, uint32_t n) {
    struct engine *en = engine_open(&r->err, NULL);
    if (!en) return die(&r->err);
    uint64_t own = cpu_ns(RUSAGE_SELF), children = cpu_ns(RUSAGE_CHILDREN), t0 = os_now_ns();
    if (engine_compile(en, &r->err, r->ptr, n, r->out)) return die(&r->err);
    uint64_t t1 = os_now_ns();
    own = cpu_ns(RUSAGE_SELF) - own, children = cpu_ns(RUSAGE_CHILDREN) - children;
    struct engine_stats s = engine_stats(en);
    size_t bytes = 0;
    for (uint32_t i = 0; i < n; i++) bytes += strlen(r->out[i]->source);
    printf("%s: %.1f ms; %llu compiled in %llu units, %llu from disk; %.0f KB of text\n", what, ms(t1 - t0),
           (unsigned long long)s.compiled, (unsigned long long)s.units, (unsigned long long)s.disk_hits,
           (double)bytes / 1e3);
    printf("    render %.2f  lookup %.2f  compiler %.1f  load %.2f  save %.2f ms\n", ms(s.render_ns),
           ms(s.lookup_ns), ms(s.compile_ns), ms(s.load_ns), ms(s.save_ns));
    printf("    processor time: compilers %.1f ms (%.1f per kernel), ours %.1f ms\n", ms(children),
           ms(children) / n, ms(own));
    engine_close(en);
    return 0;
}

int main(void) {
    static struct run r;
    arena_init(&r.arena, &r.err);
    char *dir = NULL;
    if (os_temp_dir(&r.err, &r.arena, &dir)) return die(&r.err);
    setenv("RIDGE_CACHE_DIR", dir, 1);
    env_reload();
    if (err_guard(&r.err, front, &r)) return die(&r.err);
    printf("%d register-tiled matrix products: parse %.2f ms, lower %.1f ms (%.2f each)\n", KERNELS,
           ms(r.parse_ns), ms(r.lower_ns), ms(r.lower_ns) / KERNELS);
    int bad = back(&r, "cold (goal 1200 ms)", KERNELS) || back(&r, "warm", KERNELS);
    os_remove_tree(dir);
    if (!bad) bad = back(&r, "one kernel, cold", 1);
    os_remove_tree(dir);
    arena_free(&r.arena);
    return bad;
}
