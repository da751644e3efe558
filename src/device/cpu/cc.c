/* cc.c: runs the C compiler on translation units, several at once.
 *
 * The compiler is RIDGE_CC, or the first of clang, gcc and cc on PATH. It is asked for relocatable objects,
 * which elf.c loads: a linker run would cost as much again as starting the compiler. Flags say what the
 * text relies on (no contraction, no errno, bits may be looked at through any type) and switch off what
 * only costs time: code is vectorised and unrolled already when it comes here, so the compiler's own
 * vectorisers and unroller, unwind tables and jump tables have nothing to add. With clang, -O1 kernels ran as
 * fast as -O2 ones wherever both were timed, and compile in 10 % less time; with gcc in a third less, and
 * register-tiled ones run 1.5 times faster (it is -O2's first scheduling pass that costs the speed). On x86 gcc has no such
 * pass, and plain -O1 spills accumulators that -O2 keeps in registers: the passes that it lacks for that are asked for in
 * the text (c_pre.c), as clang knows them by no flag. The gcc spelling of each flag is one that clang takes too.
 * CPUs with the JCC erratum want branches inside of 32 bytes of code, for which gcc and clang have a flag each.
 * The instruction set comes from os_cpu(), never from `native`. A unit that fails is compiled once more without what is known to
 * crash a compiler. A failed compile keeps the source and says where.
 * Tests: tests/unit/engine.c (errors), tests/unit/cache.c (no compiler); cost: bench/compile.c */
#include "device/cpu/internal.h"
#include "event/event.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *const base_flags[] = {
    "-std=gnu17",
    "-O1",
    "-w",
    "-c",
    "-x",
    "c",
    "-pipe",
    "-fPIC",
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-jump-tables",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-tree-vectorize",
    "-fno-tree-slp-vectorize",
    "-fno-unroll-loops",
    /* gcc unfolds a chain of squarings (v * v, each used twice) into one expression of 2^n terms up to this size: 24 take
     * minutes and gigabytes at the default of 100. At 12 golden kernels compile to the same code. clang ignores it. */
    "--param=scev-max-expr-size=12",
};

int cc_flags(struct arena *a, const char *arch, const char *machine, const char **out) {
    int n = 0;
    for (size_t i = 0; i < RG_COUNT(base_flags); i++) out[n++] = base_flags[i];
    /* Of more than two instructions gcc's combiner makes none that kernels want (c_pre.c: ROL), and it takes seconds for the
     * shuffles of a transposition: max pooling 1.58 s, 0.67. clang ignores it. */
    if (!strcmp(arch, "x86_64")) out[n++] = "--param=max-combine-insns=2";
    for (const char *s = machine; *s && n < CC_MAX_FLAGS;) {
        size_t k = strcspn(s, " ");
        if (k) out[n++] = arena_strdup(a, s, k);
        s += k + (s[k] == ' ');
    }
    return n;
}

/* Of a Cascade Lake: the same GEMM takes 17.1 or 21.4 ms, by where the compiler puts its loop, and 17.1 with this flag. */
static const char branches_clang[] = "-mbranches-within-32B-boundaries";
static const char branches_gcc[] = "-Wa,-mbranches-within-32B-boundaries"; /* binutils 2.34 */
/* What this process learned: the spelling goes by the compiler's name; a wrapper's (cc) may be the other; its assembler has none. */
enum { BRANCHES_BY_NAME, BRANCHES_OTHER, BRANCHES_NONE };
static atomic_int branches;

static bool is_clang(const char *cc) {
    char real[PATH_MAX];
    const char *name = strrchr(cc, '/');
    return strstr(name ? name : cc, "clang") || (realpath(cc, real) && strstr(strrchr(real, '/'), "clang"));
}

static int host_flags(struct arena *a, const char *cc, const char **out) {
    int n = cc_flags(a, os_cpu()->arch, os_cpu()->flags, out);
    if (!os_cpu()->jcc_erratum || branches == BRANCHES_NONE) return n;
    out[n++] = is_clang(cc) == (branches == BRANCHES_BY_NAME) ? branches_clang : branches_gcc;
    return n;
}

static const char *find_compiler(struct arena *a, const char **request) {
    const char *asked = env_str(ENV_CC);
    *request = asked && *asked ? asked : "auto";
    return os_find_cc(a);
}

static int no_compiler(struct err *e, const char *request) {
    if (!strcmp(request, "auto"))
        return err_set(e, RG_ECOMPILE,
                       "no C compiler found on PATH; install clang (apt-get install clang) or set RIDGE_CC");
    return err_set(
        e, RG_ECOMPILE,
        "the C compiler RIDGE_CC=%s is not there or cannot be run; install it, or unset RIDGE_CC to "
        "use clang or gcc from PATH",
        request);
}

int cc_target(struct device *dev, struct err *e, struct arena *a, struct dev_target *t) {
    (void)dev, (void)e;
    const char *flag[CC_MAX_FLAGS];
    struct str s;
    str_init(&s, a);
    int n = cc_flags(a, os_cpu()->arch, os_cpu()->flags, flag);
    if (os_cpu()->jcc_erratum)
        flag[n++] = branches_clang; /* whatever this compiler's spelling is, or if there is none */
    for (int i = 0; i < n; i++) str_printf(&s, i ? " %s" : "%s", flag[i]);
    *t = (struct dev_target){.flags = s.p, .arch = os_cpu()->arch};
    const char *found = find_compiler(a, &t->request);
    if (!found) return 0;
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(found, real) || stat(real, &st)) return 0;
    t->tool = found;
    /* found, too: a wrapper (ccache) is each compiler by whose name it is called */
    t->stamp = arena_printf(a, "%s %s %lld.%09ld %lld", found, real, (long long)st.st_mtim.tv_sec,
                            st.st_mtim.tv_nsec, (long long)st.st_size);
    return 0;
}

static int too_late(struct err *e, const char *cc, const char *with) {
    return err_set(
        e, RG_ECOMPILE,
        "the C compiler %s was killed: it was not done after %lld seconds with %s. If it was only "
        "slow, set RIDGE_CC_TIMEOUT to more seconds, or to 0 for no limit; another compiler may be "
        "set by RIDGE_CC",
        cc, (long long)env_int(ENV_CC_TIMEOUT), with);
}

int cc_version(struct device *dev, struct err *e, struct arena *a, const char **out) {
    (void)dev;
    const char *request, *cc = find_compiler(a, &request);
    if (!cc) return no_compiler(e, request);
    const char *argv[] = {cc, "--version", NULL};
    struct os_proc p = {.argv = argv, .limit_s = env_int(ENV_CC_TIMEOUT)};
    if (os_run_many(e, a, &p, 1)) return e->code;
    if (p.late) return too_late(e, cc, "what version it is");
    if (p.status || !*p.out)
        return err_set(e, RG_ECOMPILE, "%s --version failed with status %d: %.200s", cc, p.status, p.out);
    *out = arena_strdup(a, p.out, strcspn(p.out, "\n"));
    return 0;
}

/* The first lines of what the compiler said, and where to look. */
static int compile_error(struct err *e, const char *cc, const char *dir, int unit, const struct os_proc *p) {
    char kept[PATH_MAX + 64];
    size_t n = 0;
    snprintf(kept, sizeof kept, "generated code, kept in %s/unit%d.c", dir, unit);
    if (p->late) return too_late(e, cc, kept);
    for (int lines = 0; p->out[n] && lines < 8 && n < 1200; n++) lines += p->out[n] == '\n';
    while (n && p->out[n - 1] == '\n') n--;
    const char *how = p->status > 128 ? "was killed" : "failed";
    return err_set(e, RG_ECOMPILE, "the C compiler %s %s with status %d on %s%s%.*s", cc, how, p->status,
                   kept, n ? ":\n" : "", (int)n, p->out);
}

struct cc_unit {
    const char *argv[CC_MAX_FLAGS + 8];
    uint32_t n;
    const char *source, *object;
};

static void add_arg(struct cc_unit *u, const char *arg) { u->argv[u->n++] = arg, u->argv[u->n] = NULL; }

/* clang 14 gives up on vectors of 16-bit integers where the CPU has AVX512-FP16 ("Cannot select: v8i16 = X86ISD::VZEXT_MOVL"), and gcc 11
 * does not know the flag. Without it 16-bit floats are computed in 32 bits and rounded: the same bits. */
static bool is_fp16_flag(const char *arg) { return !strcmp(arg, "-mavx512fp16"); }
static bool is_branch_flag(const char *arg) {
    return !strcmp(arg, branches_clang) || !strcmp(arg, branches_gcc);
}

static bool other_branches(struct cc_unit *u) {
    for (uint32_t i = 0; i < u->n; i++) {
        if (!is_branch_flag(u->argv[i])) continue;
        u->argv[i] = strcmp(u->argv[i], branches_clang) ? branches_clang : branches_gcc;
        return branches == BRANCHES_BY_NAME;
    }
    return false;
}

static bool drop_flag(struct cc_unit *u, bool (*is)(const char *)) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < u->n; i++)
        if (!is(u->argv[i])) u->argv[n++] = u->argv[i];
    bool any = n < u->n;
    u->argv[u->n = n] = NULL;
    return any;
}

static bool drop_fp16(struct cc_unit *u) { return drop_flag(u, is_fp16_flag); }
static bool drop_branches(struct cc_unit *u) { return drop_flag(u, is_branch_flag); }

static int write_units(struct err *e, struct arena *a, const char *cc, const char *dir,
                       const char *const *text, int n, struct cc_unit *u, struct os_proc *p) {
    for (int i = 0; i < n; i++) {
        u[i].source = arena_printf(a, "%s/unit%d.c", dir, i);
        u[i].object = arena_printf(a, "%s/unit%d.o", dir, i);
        FILE *f =
            fopen(u[i].source, "we"); /* os_write_file syncs: milliseconds, for a file that goes at once */
        size_t len = strlen(text[i]);
        bool bad = !f || fwrite(text[i], 1, len, f) != len;
        if (f) bad |= fclose(f) != 0;
        if (bad) return err_set(e, RG_EIO, "cannot write %s; is the disk full? TMPDIR moves it", u[i].source);
        u[i].argv[u[i].n++] = cc;
        u[i].n += (uint32_t)host_flags(a, cc, u[i].argv + u[i].n);
        add_arg(&u[i], u[i].source), add_arg(&u[i], "-o"), add_arg(&u[i], u[i].object);
        p[i] = (struct os_proc){.argv = u[i].argv, .limit_s = env_int(ENV_CC_TIMEOUT)};
    }
    return 0;
}

static int run_units(struct err *e, struct arena *a, struct cc_unit *u, struct os_proc *p, int n) {
    if (os_run_many(e, a, p, n)) return e->code;
    for (int i = 0; i < n; i++) {
        bool (*const without[])(struct cc_unit *) = {drop_fp16, other_branches, drop_branches};
        for (size_t k = 0; k < RG_COUNT(without) && p[i].status && !p[i].late; k++) {
            if (!without[k](&u[i])) continue;
            struct os_proc again = {.argv = u[i].argv, .limit_s = p[i].limit_s};
            if (os_run_many(e, a, &again, 1)) return e->code;
            if (again.status) continue; /* the first error is the one to report */
            p[i] = again;
            if (k) branches = k == 1 ? BRANCHES_OTHER : BRANCHES_NONE;
        }
    }
    return 0;
}

int cc_compile(struct device *dev, struct err *e, struct arena *a, const char *const *text, int n,
               struct dev_object *out) {
    (void)dev;
    const char *request, *cc = find_compiler(a, &request);
    if (!cc) return no_compiler(e, request);
    struct cc_unit *u = arena_array(a, struct cc_unit, n);
    struct os_proc *p = arena_array(a, struct os_proc, n);
    struct os_work dir;
    if (os_work_begin(e, a, &dir)) return e->code;
    uint64_t t0 = os_now_ns();
    int code = write_units(e, a, cc, dir.path, text, n, u, p);
    if (!code) code = run_units(e, a, u, p, n);
    size_t bytes = 0;
    for (int i = 0; i < n && !code; i++) {
        if (p[i].status) {
            compile_error(e, cc, dir.path, i, &p[i]);
            os_work_keep(&dir);
            return e->code;
        }
        char *data = NULL;
        if (!os_exists(u[i].object))
            code =
                err_set(e, RG_ECOMPILE,
                        "the C compiler %s says that all went well and wrote no object; is it a C compiler? "
                        "RIDGE_CC sets another",
                        cc);
        if (!code) code = os_read_file(e, a, u[i].object, (size_t)1 << 30, &data, &out[i].n);
        out[i].data = data;
        bytes += strlen(text[i]);
    }
    os_work_end(&dir);
    event_add(EVENT_COMPILE, event_name(cc), t0, os_now_ns(), n, (int64_t)bytes);
    return code;
}

int cc_assembly(struct device *dev, struct err *e, struct arena *a, const char *text, char **out) {
    (void)dev;
    const char *request, *cc = find_compiler(a, &request);
    if (!cc) return no_compiler(e, request);
    struct os_work dir;
    if (os_work_begin(e, a, &dir)) return e->code;
    struct cc_unit u = {0};
    struct os_proc p;
    int code = write_units(e, a, cc, dir.path, &text, 1, &u, &p);
    size_t n;
    if (!code) {
        add_arg(&u, "-S"); /* wins over -c, whichever stands first */
        code = run_units(e, a, &u, &p, 1);
    }
    if (!code && p.late) code = too_late(e, cc, "the kernel's C");
    if (!code && p.status)
        code = err_set(e, RG_ECOMPILE, "%s failed with status %d on the kernel's C:\n%.1500s", cc, p.status,
                       p.out);
    if (!code) code = os_read_file(e, a, u.object, (size_t)256 << 20, out, &n);
    os_work_end(&dir);
    return code;
}
