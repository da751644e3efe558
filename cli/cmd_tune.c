/* cmd_tune.c: `ridge tune`: runs a program, or the kernels of a .uop file, with search on, and shows what was found.
 *
 * A program is a child process with RIDGE_BEAM set; what it finds is in the disk cache when it ends, and later runs use
 * it without searching. --show prints the records of the cache: what was tried, predicted and measured.
 * Tests: tests/cli/tune.sh */
#include "cmd_tune.h"
#include "tune/search/search.h"

#include <stdlib.h>
#include <unistd.h>

const char *const tuned_word[] = {"timed", "wrong", "heuristic", "winner", "failed", "trapped"};

/* ---- printing ------------------------------------------------------------------------------------------------- */

static const struct tuned_row *winner(const struct tuned *t) {
    for (uint32_t i = 0; i < t->row.n; i++)
        if (t->row.p[i].state == TUNED_WINNER) return &t->row.p[i];
    return &t->row.p[0];
}

static bool is_out(const struct tuned_row *r) {
    return r->state == TUNED_WRONG || r->state == TUNED_FAILED || r->state == TUNED_TRAPPED;
}

static void print_head(void) {
    printf("%-28s %12s %12s %7s %6s %6s %9s\n", "kernel", "heuristic us", "searched us", "gain", "tried",
           "wrong", "search s");
}

static void print_line(const struct tuned *t) {
    uint32_t wrong = 0;
    double before = t->row.p[0].measured, after = winner(t)->measured;
    for (uint32_t i = 0; i < t->row.n; i++) wrong += is_out(&t->row.p[i]);
    printf("%-28s %12.2f %12.2f %6.2fx %6u %6u %9.2f\n", t->name, before * 1e6, after * 1e6,
           after > 0 ? before / after : 1, t->row.n, wrong, t->seconds);
}

static int by_time(const void *x, const void *y) {
    const struct tuned_row *a = x, *b = y;
    bool aw = is_out(a), bw = is_out(b);
    if (aw != bw) return aw - bw;
    return (a->measured > b->measured) - (a->measured < b->measured);
}

static void print_rows(const struct tune_run *r, const struct tuned *t) {
    struct tuned_row *row = arena_array(r->arena, struct tuned_row, t->row.n);
    memcpy(row, t->row.p, t->row.n * sizeof *row);
    qsort(row, t->row.n, sizeof *row, by_time);
    printf("  %12s %12s  %s\n", "measured us", "predicted us", "opts");
    for (uint32_t i = 0; i < t->row.n && (int64_t)i < r->rows; i++)
        printf("  %12.2f %12.2f  %s%s%s\n", row[i].measured * 1e6, row[i].predicted * 1e6,
               row[i].state == TUNED_TIMED ? "" : tuned_word[row[i].state],
               row[i].state == TUNED_TIMED ? "" : ": ", *row[i].opts ? row[i].opts : "none");
    if ((int64_t)t->row.n > r->rows) printf("  .. and %lld more\n", (long long)(t->row.n - r->rows));
}

static void print_json(const struct tuned_row *row, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        printf(
            "%s\n      {\"state\": \"%s\", \"predicted_us\": %.6g, \"measured_us\": %.6g, \"opts\": \"%s\"}",
            i ? "," : "", tuned_word[row[i].state], row[i].predicted * 1e6, row[i].measured * 1e6,
            row[i].opts);
}

static bool wanted(const struct tune_run *r, const struct tuned *t) {
    return t->row.n && (!r->only || !strcmp(r->only, t->name) || !strncmp(r->only, t->key, strlen(r->only)));
}

static int by_prediction(const void *x, const void *y) {
    const struct tuned_row *a = x, *b = y;
    bool aw = is_out(a), bw = is_out(b);
    if (aw != bw) return aw - bw;
    return (a->predicted > b->predicted) - (a->predicted < b->predicted);
}

/* Is the model good for what search uses it for? Of the forms that it ranks first, the best is close to the best of all. */
static void print_model(struct tune_run *r, const tuned_vec *v) {
    enum { FIRST = 8 };
    const double close = 1.05;
    uint32_t good = 0, all = 0;
    printf("%-28s %6s %12s %12s %12s %7s\n", "kernel", "forms", "heuristic us", "best us", "first 8 us",
           "ratio");
    for (uint32_t i = 0; i < v->n; i++) {
        const struct tuned *t = v->p[i];
        if (!wanted(r, t) || t->row.n < 2 * FIRST) continue;
        struct tuned_row *row = arena_array(r->arena, struct tuned_row, t->row.n);
        memcpy(row, t->row.p, t->row.n * sizeof *row);
        qsort(row, t->row.n, sizeof *row, by_prediction);
        double best = row[0].measured, first = best;
        for (uint32_t k = 0; k < t->row.n && !is_out(&row[k]); k++) {
            best = RG_MIN(best, row[k].measured);
            if (k < FIRST) first = RG_MIN(first, row[k].measured);
        }
        printf("%-28s %6u %12.2f %12.2f %12.2f %7.3f\n", t->name, t->row.n, t->row.p[0].measured * 1e6,
               best * 1e6, first * 1e6, first / best);
        good += first <= close * best, all++;
    }
    printf("%u of %u kernels: the best of the model's first %d takes at most %.2f of the best of all\n", good,
           all, FIRST, close);
}

/* Nothing to show: of what there is (known), none is the kernel asked for; or there is nothing at all. */
static void print_none(struct tune_run *r, bool known) {
    if (r->only && known)
        err_throw(r->err, RG_EINVAL,
                  "no kernel that was searched for is called '%s'; `ridge tune --show` lists them", r->only);
    if (r->json) return;
    if (r->program)
        printf("nothing was searched for: %s is no Ridge program, or all its kernels are known (`ridge tune "
               "--show`)\n",
               r->program[0]);
    else
        printf("nothing was searched for%s\n", r->show ? " yet" : "");
}

static void print_all(struct tune_run *r, const tuned_vec *v) {
    uint32_t n = 0;
    if (r->model) {
        print_model(r, v);
        return;
    }
    if (r->json) printf("[");
    for (uint32_t i = 0; i < v->n; i++) {
        const struct tuned *t = v->p[i];
        if (!wanted(r, t)) continue;
        if (r->json) {
            printf("%s\n  {\"kernel\": \"%s\", \"key\": \"%s\", \"machine\": \"%s\", \"threads\": %d, "
                   "\"beam\": %d, "
                   "\"seconds\": %.3f,\n    \"rows\": [",
                   n++ ? "," : "", t->name, t->key, t->machine, t->threads, t->beam, t->seconds);
            print_json(t->row.p, t->row.n);
            printf("]}");
            continue;
        }
        if (!n++ || r->show) print_head();
        print_line(t);
        if (r->show) print_rows(r, t);
    }
    if (r->json) printf("\n]\n");
    if (!n) print_none(r, v->n > 0);
}

/* ---- a program -------------------------------------------------------------------------------------------------- */

/* What is there now and was not, or was searched for with less. */
static void keep_new(tuned_vec *now, const tuned_vec *before) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < now->n; i++) {
        bool old = false;
        for (uint32_t k = 0; k < before->n && !old; k++)
            old = !strcmp(now->p[i]->key, before->p[k]->key) && now->p[i]->beam == before->p[k]->beam;
        if (!old) now->p[n++] = now->p[i];
    }
    now->n = n;
}

static void tune_program(struct tune_run *r) {
    tuned_vec before, now;
    bool ran;
    tuning_records(r->engine, r->arena, &before);
    r->status = cli_run("tune", r->program, NULL, NULL, &ran);
    if (!ran) return;
    tuning_records(r->engine, r->arena, &now);
    keep_new(&now, &before);
    fflush(stdout);
    print_all(r, &now);
}

/* ---- a file of kernels -------------------------------------------------------------------------------------------- */

static const struct tuned *tune_kernel(struct tune_run *r, struct ir *ir, const struct kernel *k,
                                       const struct io *io, const struct io_kernel *ik) {
    void **buf = arena_array(r->arena, void *, ik->nbuf + 1);
    size_t *bytes = arena_array(r->arena, size_t, ik->nbuf + 1);
    enum dtype *dt = arena_array(r->arena, enum dtype, ik->nbuf + 1);
    for (uint32_t i = 0; i < ik->nbuf; i++) {
        const struct io_buf *b = ik->buf[i] == UINT32_MAX ? NULL : &io->buf[ik->buf[i]];
        buf[i] = b ? r->mem.p[ik->buf[i]] : r->mem.block;
        bytes[i] = b ? io_bytes(b) : 1;
        dt[i] = b ? b->dt : DT_U8;
        if (!r->device) continue;
        void *there = engine_alloc(r->engine, r->err, bytes[i]);
        must(r, there ? engine_copy(r->engine, r->err, COPY_IN, there, buf[i], bytes[i]) : r->err->code);
        buf[i] = there;
    }
    const struct tuned *t;
    struct search_call c = {.ir = ir,
                            .kernel = k,
                            .buf = buf,
                            .bytes = bytes,
                            .dt = dt,
                            .nbuf = ik->nbuf,
                            .var = ik->var,
                            .nvar = ik->nvar};
    must(r, search_kernel(r->engine, r->err, &c, &t));
    for (uint32_t i = 0; i < ik->nbuf && r->device; i++) engine_free(r->engine, buf[i], bytes[i]);
    return t;
}

static void tune_file(struct tune_run *r) {
    struct ir ir;
    struct program prog = {0};
    struct io io;
    tuned_vec done = {0};
    ir_init(&ir, r->arena);
    io_read(&ir, r->file, &prog);
    for (uint32_t i = 0; i < prog.kernel.n; i++)
        if (prog.kernel.p[i].sink->op != OP_SINK)
            err_throw(r->err, RG_EINVAL,
                      "%s: %s is a tensor program; search works on kernels, or on a program that runs it",
                      r->file, prog.kernel.p[i].name);
    io_bind(&ir, &prog, r->file, &io);
    io_alloc(&ir, &io, &r->mem);
    io_fill(&io, &r->mem, false);
    for (uint32_t i = 0; i < prog.kernel.n; i++) {
        const struct tuned *t = tune_kernel(r, &ir, &prog.kernel.p[i], &io, &io.kernel[i]);
        struct tuned *copy = arena_new(r->arena, struct tuned);
        if (!t) continue;
        *copy = *t;
        vec_push(r->arena, &done, copy);
    }
    print_all(r, &done);
}

/* ---- the command ------------------------------------------------------------------------------------------------------ */

/* A search takes minutes: whether its winners can be kept is asked before, by a file of the size of some kernels. */
static void check_cache(struct tune_run *r) {
    enum { ROOM = 1 << 20 };
    const char *dir = engine_cache_dir(r->engine), *wrong = engine_warnings(r->engine);
    if (!*wrong) wrong = "RIDGE_CACHE=0 switches the cache off";
    if (!dir)
        err_throw(r->err, RG_EIO,
                  "what is found could not be kept: %.*s; RIDGE_CACHE_DIR names another directory",
                  (int)strcspn(wrong, "\n"), wrong);
    if (engine_cache_try(r->engine, r->err, ROOM)) {
        err_prefix(
            r->err,
            "what is found could not be kept, make room or name another directory with RIDGE_CACHE_DIR: ");
        must(r, r->err->code);
    }
}

static void run(void *arg) {
    struct tune_run *r = arg;
    tuned_vec all;
    if (!r->device && (r->file || r->shapes)) r->device = env_str(ENV_DEVICE);
    const struct device_ops *ops = r->device ? device_find(r->err, r->device) : &device_cpu;
    if (!ops || !(r->engine = search_engine_open(r->err, ops))) must(r, r->err->code);
    if ((r->program || r->file) && !r->model) check_cache(r);
    if (r->shapes) {
        tune_shapes(r);
    } else if (r->program) {
        tune_program(r);
    } else if (r->file) {
        tune_file(r);
    } else {
        tuning_records(r->engine, r->arena, &all);
        print_all(r, &all);
    }
}

static void set_beam(int64_t beam) {
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)beam);
    setenv("RIDGE_BEAM", number, 1);
    env_reload();
}

int cmd_tune(int argc, char **argv) {
    struct tune_run r = {.beam = NOT_GIVEN, .rows = 20};
    struct arg_spec spec[] = {
        {"beam", ARG_NUMBER, &r.beam, "N",
         "forms of each kernel to compile and time, twice (default 8, with --model 200)"},
        {"show", ARG_FLAG, &r.show, NULL,
         "print what was tried, predicted and measured; alone: of all kernels known"},
        {"kernel", ARG_TEXT, &r.only, "NAME",
         "print only this kernel: its name, or the beginning of its key"},
        {"rows", ARG_NUMBER, &r.rows, "N",
         "print at most N opt lists of a kernel, fastest first (default 20)"},
        {"model", ARG_FLAG, &r.model, NULL,
         "print how well the machine model ranks: the best of its first 8 beside the best of all"},
        {"device", ARG_TEXT, &r.device, "NAME",
         "with FILE.uop or --shapes: where to search (the environment's DEVICE, else CPU)"},
        {"shapes", ARG_TEXT, &r.shapes, "FILE",
         "with --model and --device CUDA: products, one a line (`bf16 4096 4096 1024 nt`); for each the time "
         "of "
         "the form that the model picks beside the best of --beam (default 64) forms"},
        {"json", ARG_FLAG, &r.json, NULL, "print everything as JSON"},
    };
    int words = argc;
    for (int i = 1; i < argc && words == argc; i++)
        if (!strcmp(argv[i], "--")) words = i;
    if (words + 1 < argc) r.program = argv + words + 1;
    struct args a = {
        .command = "tune",
        .operands = "[FILE.uop | -- PROGRAM ARGS]",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .max_operands = 1,
        .about = "Runs a program, or the kernels of a .uop file, and searches for the fastest form of each "
                 "kernel: forms around\n"
                 "the one that would be used are ranked by the machine model, the best are compiled, checked "
                 "and timed on the\n"
                 "real buffers. Winners are kept in the cache, and every later run uses them (RIDGE_TUNED=0: "
                 "not)."};
    int status = args_parse(&a, words, argv);
    if (status >= 0) return status;
    bool known = (r.show || r.model) && !r.program && !a.n && !r.shapes;
    if (r.beam == NOT_GIVEN) r.beam = r.shapes ? 64 : r.model ? 200 : 8;
    if ((status = args_range(&a, "beam", r.beam, 1, 256)) >= 0) return status;
    if ((status = args_range(&a, "rows", r.rows, 0, INT64_MAX)) >= 0) return status;
    if ((r.program != NULL) + a.n + known + (r.shapes != NULL) != 1 || (r.shapes && !r.model))
        return args_wrong(
            &a, "expected one of FILE.uop, -- PROGRAM, --model --shapes FILE, or --show or --model alone");
    struct err e = {0};
    struct arena arena;
    arena_init(&arena, &e);
    r.arena = &arena, r.err = &e, r.file = a.n ? a.operand[0] : NULL;
    set_beam(r.beam);
    status = err_guard(&e, run, &r) ? cli_error("tune", &e) : r.status;
    io_free(&r.mem);
    engine_close(r.engine);
    arena_free(&arena);
    return status;
}
