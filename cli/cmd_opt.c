/* cmd_opt.c: `ridge opt`: one .uop file through the whole compiler, with every stage open to the eye.
 *
 * A tensor program, (GRAPH ..), is planned first (cmd_opt_plan.c). Each kernel of the file is verified and lowered; what was asked for is printed (the kernel graph, the
 * linear program, C, assembly, or the IR after any pass); then the kernels run in order on the data that
 * the file declares, by the engine (--run, --time) or by the interpreter (--ref). --check runs each
 * kernel's plain program (no opts, exact math) in the interpreter on the same inputs and compares what
 * both wrote; where that would take minutes it runs a sample of the grid's iterations.
 * cmd_opt_run.c holds the running half.
 * Tests: tests/cli/opt.sh, tests/cli/plan.sh */
#include "cmd_opt.h"
#include "render/render.h"
#include "device/device.h"
#include "device/cuda/cuda.h"

#include <stdlib.h>

static const struct {
    const char *name;
    enum emit emit;
} emits[] = {
    {"ir", EMIT_IR},   {"tree", EMIT_TREE}, {"linear", EMIT_LINEAR}, {"c", EMIT_C},
    {"asm", EMIT_ASM}, {"cuda", EMIT_CUDA}, {"opencl", EMIT_OPENCL},
};

/* The first of each language is the default. */
static const struct opt_target targets[] = {
    {"native", EMIT_C, {.kind = TARGET_CPU}, NULL},
    {"neon", EMIT_C, {.kind = TARGET_CPU, .vec_bytes = 16}, NULL},
    {"avx2", EMIT_C, {.kind = TARGET_CPU, .vec_bytes = 32}, NULL},
    {"avx512", EMIT_C, {.kind = TARGET_CPU, .vec_bytes = 64}, NULL},
    {"amx",
     EMIT_C,
     {.kind = TARGET_CPU, .vec_bytes = 64, .native_f16 = true},
     "-mfma -mamx-tile -mamx-bf16 -mamx-int8"},
    {"sm_90a", EMIT_CUDA, {.kind = TARGET_GPU, .capability = 90, .native_exp = true}, NULL},
    {"sm_80", EMIT_CUDA, {.kind = TARGET_GPU, .capability = 80, .native_exp = true}, NULL},
    {"opencl", EMIT_OPENCL, {.kind = TARGET_GPU}, NULL},
};

/* ---- reading --------------------------------------------------------------------------------------- */

static const char *kernel_names(struct session *s) {
    struct str t;
    str_init(&t, &s->arena);
    for (uint32_t i = 0; i < s->prog.kernel.n && i < 12; i++)
        str_printf(&t, "%s%s", i ? ", " : "", s->prog.kernel.p[i].name);
    if (s->prog.kernel.n > 12) str_add(&t, " ..");
    return t.p;
}

static void read_program(struct session *s) {
    io_read(&s->ir, s->file, &s->prog);
    s->planned = session_plan(s);
    if (s->only) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < s->prog.kernel.n; i++)
            if (!strcmp(s->prog.kernel.p[i].name, s->only)) {
                if (s->planned) s->about.p[kept] = s->about.p[i];
                s->prog.kernel.p[kept++] = s->prog.kernel.p[i];
            }
        if (!kept)
            err_throw(s->err, RG_EINVAL, "%s holds no kernel called '%s'; it holds %s", s->file, s->only,
                      kernel_names(s));
        s->prog.kernel.n = kept;
    }
    if (s->opts && s->prog.kernel.n > 1)
        err_throw(s->err, RG_EINVAL,
                  "%s holds %u kernels and opts name the axes of one; choose it with --kernel NAME", s->file,
                  s->prog.kernel.n);
}

static const char *choose_opts(struct session *s, const struct kernel *k) {
    if (s->noopt || (env_int(ENV_NOOPT) && !s->opts)) return "";
    if (s->opts) return s->opts;
    const struct target *t = &s->target->target;
    if (s->heuristic && target_is_gpu(t)) return opts_heuristic_gpu(&s->ir, k, GPU_OF_CC(t->capability));
    if (s->heuristic && s->target->features)
        return opts_heuristic_for(&s->ir, k, t->vec_bytes, s->target->features, (int)env_int(ENV_THREADS));
    if (s->heuristic) return opts_heuristic(&s->ir, k, t->vec_bytes, (int)env_int(ENV_THREADS));
    if (s->random_opts != NOT_GIVEN) return opts_random(&s->ir, k, (uint64_t)s->random_opts);
    return k->opts;
}

/* ---- lowering --------------------------------------------------------------------------------------- */

struct lower_call {
    struct session *s;
    const struct kernel *k;
    struct lower_opts lo;
    struct linear *out;
};

static void lower_inner(void *arg) {
    struct lower_call *c = arg;
    verify_kernel(&c->s->ir, c->k);
    lower(&c->s->ir, c->k, &c->lo, c->out);
}

/* Lowers one kernel; an error is said to be at the kernel's line. */
void session_lower(struct session *s, const struct kernel *k, const struct lower_opts *lo,
                   struct linear *out) {
    struct lower_call c = {s, k, *lo, out};
    if (!err_guard(s->err, lower_inner, &c)) return;
    err_prefix(s->err, "%s:%d: ", s->file, k->line);
    must(s->err, s->err->code);
}

static void lower_one(struct session *s, uint32_t i) {
    const struct kernel *k = &s->prog.kernel.p[i];
    struct work *w = &s->work[i];
    struct str dump;
    struct pass_log log = {.dump = &dump, .which = s->dump};
    str_init(&dump, &s->arena);
    if (log_on(6) && !s->dump) log.which = "all";
    const char *asked = env_str(ENV_DUMP);
    if (!log.which && asked && *asked) log.which = asked;
    if (s->emit == EMIT_TREE && !log.which) log.which = pass_name(PASS_INDEX_WIDTH);
    if (!log.which) log.dump = NULL;
    w->opts = choose_opts(s, k);
    uint64_t t = os_now_ns();
    struct lower_opts how = {.opts = w->opts, .log = &log, .target = s->target->target};
    how.target.keep_math = s->ref;
    session_lower(s, k, &how, &w->lin);
    w->lower_ns = os_now_ns() - t;
    /* PARAMS stands for as many buffers as the data says, which the program alone does not know. */
    w->lin.nbuf = RG_MAX(w->lin.nbuf, s->io.kernel[i].nbuf);
    if (log.dump && dump.n) fputs(dump.p, s->dump || s->emit == EMIT_TREE ? stdout : stderr);
    w->pass = arena_array(&s->arena, const char *, log.n);
    for (uint32_t p = 0; p < log.n; p++)
        if (log.rec[p].nodes) w->pass[w->npass++] = log.rec[p].name;
    if (s->passes)
        for (uint32_t p = 0; p < log.n; p++)
            printf("%-16s %8.1f us %7u nodes\n", log.rec[p].name, (double)log.rec[p].ns / 1e3,
                   log.rec[p].nodes);
}

/* A name given to --dump must be a pass that ran. */
static bool pass_ran(struct session *s, const char *name, size_t n) {
    for (uint32_t i = 0; i < s->prog.kernel.n; i++)
        for (uint32_t p = 0; p < s->work[i].npass; p++)
            if (strlen(s->work[i].pass[p]) == n && !memcmp(s->work[i].pass[p], name, n)) return true;
    return (n == 3 && !memcmp(name, "all", 3)) || (s->planned && n == 4 && !memcmp(name, "plan", 4));
}

static void check_dump(struct session *s) {
    for (const char *at = s->dump; at && *at;) {
        size_t n = strcspn(at, ",");
        if (!pass_ran(s, at, n)) {
            struct str t;
            str_init(&t, &s->arena);
            for (uint32_t p = 0; p < s->work[0].npass; p++) str_printf(&t, ", %s", s->work[0].pass[p]);
            err_throw(s->err, RG_EINVAL, "--dump: '%.*s' is no pass that ran; expected all%s%s", (int)n, at,
                      s->planned ? ", plan" : "", t.n ? t.p : "");
        }
        at += n + (at[n] == ',');
    }
}

/* ---- printing ---------------------------------------------------------------------------------------- */

static char *render_unit(struct session *s) {
    struct str c;
    str_init(&c, &s->arena);
    render_c_preamble(&c);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        str_addc(&c, '\n');
        render_c(&c, &s->ir, &s->work[i].lin);
    }
    return c.p;
}

static char *gpu_unit(struct session *s) {
    struct render_limits any = {.threads = 256, .shared = 32 << 10}; /* what any OpenCL device has */
    struct render_shape shape;
    struct str c;
    str_init(&c, &s->arena);
    s->emit == EMIT_CUDA ? render_cuda_preamble(&c) : render_opencl_preamble(&c);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        str_addc(&c, '\n');
        if (s->emit == EMIT_CUDA)
            render_cuda(&c, &s->ir, &s->work[i].lin, true, &shape);
        else
            render_opencl(&c, &s->ir, &s->work[i].lin, true, &any, &shape);
        if (shape.why) str_printf(&c, "/* slow form: %s */\n", shape.why);
    }
    return c.p;
}

/* At DEBUG=2 and more: what NVIDIA's compiler makes of the text, if it is there. What the newest takes and an older refuses
 * has instructions that came between them. */
static void log_machine_code(struct session *s, const char *unit) {
    static const char *const arch[] = {"sm_90a", "sm_80"};
    struct err e = {0};
    bool newest = false;
    for (size_t i = 0; i < RG_COUNT(arch) && log_on(2); i++) {
        struct dev_object o;
        cubin_vec code = {0};
        if (nvrtc_compile(&e, &s->arena, arch[i], &unit, 1, &o) ||
            cubin_read(&e, &s->arena, o.data, o.n, &code)) {
            log_line(2, "%s: %s", arch[i], newest ? "it lacks instructions of this kernel" : e.msg);
            err_clear(&e);
            continue;
        }
        newest = true;
        for (uint32_t k = 0; k < code.n; k++) {
            struct str line;
            str_init(&line, &s->arena);
            cubin_print(&line, &code.p[k]);
            log_line(2, "%s %s", arch[i], line.p);
        }
    }
}

/* The same compiler and flags as the engine's, to assembly. */
static void print_asm(struct session *s) {
    struct device *dev;
    char *unit = render_unit(s), *text = "";
    must(s->err, device_cpu.open(s->err, &device_cpu, &dev));
    int bad = device_cpu.assembly(dev, s->err, &s->arena, unit, &text);
    device_cpu.close(dev);
    must(s->err, bad);
    fputs(text, stdout);
}

static void print_emit(struct session *s) {
    if (s->emit == EMIT_C) fputs(render_unit(s), stdout);
    if (s->emit == EMIT_ASM) print_asm(s);
    if (s->emit == EMIT_CUDA || s->emit == EMIT_OPENCL) {
        char *unit = gpu_unit(s);
        fputs(unit, stdout);
        if (s->emit == EMIT_CUDA) log_machine_code(s, unit);
    }
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        struct str t;
        str_init(&t, &s->arena);
        struct kernel k = s->prog.kernel.p[i];
        if (s->heuristic) k.opts = s->work[i].opts;
        if (s->emit == EMIT_IR) ir_print_kernel(&t, &s->ir, &k);
        if (s->emit == EMIT_LINEAR) linear_print(&t, &s->ir, &s->work[i].lin);
        if (t.n) fputs(t.p, stdout);
    }
}

static void print_debug(struct session *s, uint32_t i) {
    struct work *w = &s->work[i];
    struct str t;
    if (log_on(3))
        log_line(3, "%s: opts %s; grid %lld, scratch %lld bytes, %u entries", w->lin.name,
                 *w->opts ? w->opts : "none", (long long)w->lin.grid, (long long)w->lin.scratch, w->lin.n);
    if (log_on(5)) {
        str_init(&t, &s->arena);
        ir_print_kernel(&t, &s->ir, &s->prog.kernel.p[i]);
        linear_print(&t, &s->ir, &w->lin);
        log_line(5, "%s", t.p);
    }
    if (log_on(4) && !s->ref) {
        str_init(&t, &s->arena);
        render_c(&t, &s->ir, &w->lin);
        log_line(4, "%s", t.p);
    }
}

/* ---- the command ------------------------------------------------------------------------------------- */

static void print_summary(struct session *s) {
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        struct work *w = &s->work[i];
        printf("%s: opts %s; grid %lld, scratch %lld bytes, %u entries, %.3g flops, %.3g bytes; "
               "lowered in %.2f ms\n",
               s->prog.kernel.p[i].name, *w->opts ? w->opts : "none", (long long)w->lin.grid,
               (long long)w->lin.scratch, w->lin.n, w->lin.est.flops, w->lin.est.bytes,
               (double)w->lower_ns / 1e6);
    }
}

static void session_run(struct session *s) {
    read_program(s);
    s->work = arena_array(&s->arena, struct work, s->prog.kernel.n);
    io_bind(&s->ir, &s->prog, s->file, &s->io);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        lower_one(s, i);
        print_debug(s, i);
    }
    check_dump(s);
    bool plan_only = s->planned && s->dump && !strcmp(s->dump, "plan");
    bool runs = s->run || s->check || s->time || s->ref || s->print;
    if (s->emit) print_emit(s);
    if (runs || s->json)
        session_execute(s, runs);
    else if (s->planned && !s->emit && !s->passes && (!s->dump || plan_only))
        session_print_plan(s);
    else if (!s->emit && !s->dump && !s->passes)
        print_summary(s);
}

/* NAME or NAME:N */
static bool print_is_right(const char *print) {
    const char *colon = strrchr(print, ':');
    if (!colon) return *print;
    return colon > print && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/* `opt` has one device. */
static int check_device(void) {
    struct err e = {0};
    const struct device_ops *d = device_find(&e, NULL);
    if (!d) return cli_error("opt", &e);
    if (d != &device_cpu)
        fprintf(stderr, "ridge opt: kernels run on the CPU; DEVICE=%s is not used here\n",
                env_str(ENV_DEVICE));
    return -1;
}

/* Without a name: the first target of the language that is emitted. */
static int choose_target(struct session *s, const struct args *a, const char *name) {
    enum emit text = s->emit == EMIT_CUDA || s->emit == EMIT_OPENCL ? s->emit : EMIT_C;
    for (size_t i = 0; i < RG_COUNT(targets) && !s->target; i++)
        if (name ? !strcmp(name, targets[i].name) : targets[i].text == text) s->target = &targets[i];
    if (!s->target)
        return args_wrong(
            a, "--target expects native, neon, avx2, avx512, amx, sm_90a, sm_80 or opencl, found '%s'", name);
    if (s->emit >= EMIT_C && s->target->text != text)
        return args_wrong(a, "--target %s has another language than --emit asks for", s->target->name);
    bool runs = s->run || s->check || s->time || s->ref || s->print || s->emit == EMIT_ASM;
    if (name && s->target != &targets[0] && runs)
        return args_wrong(a, "--target %s only prints; kernels run and are assembled for this machine",
                          s->target->name);
    return -1;
}

static int check_usage(struct session *s, const struct args *a, const char *emit, const char *target,
                       int64_t threads) {
    int status;
    for (size_t i = 0; emit && i < RG_COUNT(emits); i++)
        if (!strcmp(emit, emits[i].name)) s->emit = emits[i].emit;
    if (emit && !s->emit)
        return args_wrong(a, "--emit expects ir, tree, linear, c, asm, cuda or opencl, found '%s'", emit);
    if ((status = choose_target(s, a, target)) >= 0) return status;
    if (s->noopt && s->opts) return args_wrong(a, "--noopt and --opts exclude each other");
    if (s->random_opts != NOT_GIVEN && (s->opts || s->noopt))
        return args_wrong(a, "--random-opts excludes --opts and --noopt");
    if (s->heuristic && (s->opts || s->noopt || s->random_opts != NOT_GIVEN))
        return args_wrong(a, "--heuristic excludes --opts, --noopt and --random-opts");
    if (s->ref && (s->time || s->check || s->emit == EMIT_C || s->emit == EMIT_ASM))
        return args_wrong(a, "--ref interprets; it does not go with --time, --check, --emit c or --emit asm");
    if (s->print && !print_is_right(s->print))
        return args_wrong(a, "--print expects NAME or NAME:N, found '%s'", s->print);
    if (s->random_opts != NOT_GIVEN &&
        (status = args_range(a, "random-opts", s->random_opts, 0, INT64_MAX)) >= 0)
        return status;
    if (s->runs != NOT_GIVEN && (status = args_range(a, "runs", s->runs, 1, 1000000)) >= 0) return status;
    if (threads != NOT_GIVEN) {
        char number[24];
        if ((status = args_range(a, "threads", threads, 1, 4096)) >= 0) return status;
        snprintf(number, sizeof number, "%lld", (long long)threads);
        setenv("RIDGE_THREADS", number, 1);
        env_reload();
    }
    return s->run || s->check || s->time || s->print ? check_device() : -1;
}

static const char about[] = "Compiles the kernels of a .uop file and shows or runs the result. "
                            "Without options it checks the\n"
                            "file and prints one line per kernel; of a tensor program, (GRAPH ..), it "
                            "prints the planned kernels. docs/ir.md describes the "
                            "language, docs/cli.md the data lines.";

/* All of the command that may run out of memory, inside the guard. */
struct opt_call {
    struct session *s;
    int argc, status;
    char **argv;
};

static void opt_main(void *arg) {
    struct opt_call *c = arg;
    struct session *s = c->s;
    const char *emit = NULL, *target = NULL;
    int64_t threads = NOT_GIVEN;
    /* clang-format off */
    const struct arg_spec spec[] = {
        {"opts",        ARG_TEXT,   &s->opts,        "LIST",       "use this list of opts, not the file's"},
        {"noopt",       ARG_FLAG,   &s->noopt,       NULL,         "use no opts: the plain program"},
        {"heuristic",   ARG_FLAG,   &s->heuristic,   NULL,         "use the list that the library would choose"},
        {"random-opts", ARG_NUMBER, &s->random_opts, "SEED",       "a random legal list; the same seed gives the same list"},
        {"kernel",      ARG_TEXT,   &s->only,        "NAME",       "only this kernel of the file"},
        {"emit",        ARG_TEXT,   &emit,           "FORM",       "print the kernels as ir, tree, linear, c, asm, cuda or opencl"},
        {"target",      ARG_TEXT,   &target,         "NAME",       "compile for native, neon, avx2, avx512, amx, sm_90a, sm_80 or opencl, and print only"},
        {"dump",        ARG_TEXT,   &s->dump,        "all|PASS,..", "print the IR after these passes; plan: the planner's reasons"},
        {"passes",      ARG_FLAG,   &s->passes,      NULL,         "print the time and node count of each pass"},
        {"run",         ARG_FLAG,   &s->run,         NULL,         "run on the CPU; print what each output holds"},
        {"ref",         ARG_FLAG,   &s->ref,         NULL,         "run in the interpreter, which checks bounds, races, unset values"},
        {"check",       ARG_FLAG,   &s->check,       NULL,         "run, and compare with the plain program in the interpreter"},
        {"time",        ARG_FLAG,   &s->time,        NULL,         "run many times; print median, least and spread"},
        {"runs",        ARG_NUMBER, &s->runs,        "N",          "how many times (default: for about a second)"},
        {"exact",       ARG_FLAG,   &s->exact,       NULL,         "fill float buffers with integers from -4 to 4"},
        {"threads",     ARG_NUMBER, &threads,        "N",          "threads to use (default: RIDGE_THREADS, else all cores)"},
        {"print",       ARG_TEXT,   &s->print,       "NAME[:N]",   "run, and print the first N values of a buffer (default 8)"},
        {"json",        ARG_FLAG,   &s->json,        NULL,         "print results as one JSON object"},
    };
    /* clang-format on */
    struct str more;
    str_init(&more, &s->arena);
    str_add(&more, "Opts:\n");
    opts_help(&more);
    str_add(&more, "\nPasses, in order: what each requires => gives:\n");
    passes_help(&more);
    struct args a = {.command = "opt",
                     .operands = "FILE.uop",
                     .about = about,
                     .spec = spec,
                     .nspec = RG_COUNT(spec),
                     .min_operands = 1,
                     .max_operands = 1,
                     .more = more.p};
    c->status = args_parse(&a, c->argc, c->argv);
    if (c->status < 0) c->status = check_usage(s, &a, emit, target, threads);
    if (c->status >= 0) return;
    s->file = a.operand[0];
    ir_init(&s->ir, &s->arena);
    session_run(s);
    c->status = s->failed ? EXIT_FAILED : EXIT_OK;
}

int cmd_opt(int argc, char **argv) {
    struct err e = {0};
    struct session s = {.err = &e, .random_opts = NOT_GIVEN, .runs = NOT_GIVEN};
    struct opt_call c = {.s = &s, .argc = argc, .argv = argv};
    arena_init(&s.arena, &e);
    if (err_guard(&e, opt_main, &c)) c.status = cli_error("opt", &e);
    session_close(&s);
    arena_free(&s.arena);
    return c.status;
}
