/* cmd_estimate.c: `ridge estimate`: how long a program takes at best on a machine that is described by a file.
 *
 * The program runs on the NULL device with that machine model: everything is planned and lowered for it and nothing is computed, so
 * reads give zeros. A recording keeps the kernels that would have run, each with the least time that the model gives it; the
 * sum of those is the floor. What the host does between kernels is not in it.
 * With --ranks the program is one rank of a world whose other ranks are not there; its collectives take what they take over the link
 * (estimate_ranks.c).
 * Tests: tests/cli/estimate.sh */
#include "cli.h"
#include "cmd_estimate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

struct estimate_run {
    struct err err;
    struct arena arena;
    const char *machine;
    int64_t rows;
    struct estimate_link over;
    const char *link, *measured;
    bool json;
    char profile[64];
    struct model m;
    struct trace t, was;   /* of the plan; what --measured names */
    struct diag d, before; /* the same */
};

struct floor_row {
    const struct kernel_row *k;
    double ns; /* of all calls */
    const char *limit;
};

static int dearest(const void *x, const void *y) {
    const struct floor_row *a = x, *b = y;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return a->k->id < b->k->id ? -1 : a->k->id > b->k->id;
}

static double peak(const struct model *m) {
    return model_value(m, MODEL_FLOPS_F32) * model_value(m, MODEL_CLOCK) * model_value(m, MODEL_CORES);
}

static double sum_limit(const struct floor_row *r, uint32_t n, const char *limit) {
    double ns = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!limit || !strcmp(r[i].limit, limit)) ns += r[i].ns;
    return ns;
}

static void print_text(const struct estimate_run *e, const struct floor_row *r, uint32_t n, double all) {
    const struct diag *d = &e->d;
    static const char *const limits[] = {"compute", "memory", "cache", "overhead", "link"};
    printf("%s: %.0f cores, %.4g GFLOPS in f32, %.4g GB/s\n", e->m.name, model_value(&e->m, MODEL_CORES),
           peak(&e->m), model_value(&e->m, MODEL_DRAM_READ));
    printf("%6s %10s %8s %11s %10s %9s  %-9s %-26s %s\n", "share", "ms", "calls", "us each", "GFLOP", "MB",
           "bound by", "kernel", "line");
    for (uint32_t i = 0; i < n && i < (uint32_t)e->rows; i++) {
        const struct kernel_row *k = r[i].k;
        printf("%5.1f%% %10.4f %8u %11.3f %10.4g %9.4g  %-9s %-26.26s %s\n",
               all > 0 ? 100 * r[i].ns / all : 0, r[i].ns / 1e6, k->count,
               r[i].ns / 1e3 / RG_MAX(k->count, 1u), k->flops * 1e-9, k->bytes * 1e-6, r[i].limit,
               trace_str(&e->t, k->name), trace_str(&e->t, k->where));
    }
    if (n > (uint32_t)e->rows) printf("%6s %u more kernels\n", "", n - (uint32_t)e->rows);
    printf("AT BEST  %.4f ms in %llu kernels", all / 1e6, (unsigned long long)d->kernel_count);
    if (d->steps.n > 1) printf(", %.4f ms for each of %u steps", all / 1e6 / d->steps.n, d->steps.n);
    printf(";");
    for (size_t i = 0; i < RG_COUNT(limits); i++) {
        double x = sum_limit(r, n, limits[i]);
        if (x > 0) printf(" %.0f%% %s", 100 * x / all, limits[i]);
    }
    printf(
        "\n         the machine model's least time of every kernel, nothing between them; planned for a %s\n",
        model_value(&e->m, MODEL_VEC_BYTES) >= 128 ? "CPU of such rates: a GPU may split work otherwise"
                                                   : "CPU");
}

/* What ranks exchange, beside what they compute, and how long both take as the plan orders them. */
static void print_ranks(const struct estimate_run *e, const struct floor_row *r, uint32_t n, double all,
                        const struct estimate_result *s) {
    double link = sum_limit(r, n, "link"), rest = all - link;
    printf("RANKS    %lld over %.4g GB/s and %lld us: each computes %.4f ms and exchanges %.4f ms",
           (long long)e->over.ranks, e->over.rate, (long long)e->over.latency, rest / 1e6, link / 1e6);
    if (e->measured)
        printf("; %u of %u kernels take what they took in %s", s->known, s->kernels, e->measured);
    printf("\nPLAYED   %.4f ms, collectives beside kernels as they are planned", s->all_ns / 1e6);
    if (s->step_ns > 0) printf("; a step %.4f ms", s->step_ns / 1e6);
    printf("\n");
}

bool estimate_is_exchange(const char *name, enum collective_kind *kind) {
    static const char *const names[] = {
#define X(name) #name "_",
        COLLECTIVES(X)
#undef X
    };
    for (size_t i = 0; i < RG_COUNT(names); i++)
        if (!strncmp(name, names[i], strlen(names[i]))) return *kind = (enum collective_kind)i, true;
    return false;
}

/* Bytes of a kernel are those it reads and writes; those of an exchange are the larger of the two. */
double estimate_exchange_ns(const struct estimate_link *l, enum collective_kind kind, double bytes) {
    double ranks = (double)l->ranks;
    bool uneven = kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER;
    bytes *= uneven ? ranks / (ranks + 1) : 0.5;
    return 1e9 * world_link_seconds(kind, bytes, l->ranks, l->rate, (double)l->latency * 1e-6);
}

static void print_json(const struct estimate_run *e, const struct floor_row *r, uint32_t n, double all) {
    struct str s;
    str_init(&s, (struct arena *)&e->d.arena);
    str_add(&s, "{\"machine\": ");
    report_json_string(&s, e->m.name);
    str_printf(&s, ", \"floor_ns\": %.0f, \"kernels\": %llu, \"steps\": %u, \"rows\": [", all,
               (unsigned long long)e->d.kernel_count, e->d.steps.n);
    for (uint32_t i = 0; i < n; i++) {
        str_add(&s, i ? ", {\"kernel\": " : "{\"kernel\": ");
        report_json_string(&s, trace_str(&e->t, r[i].k->name));
        str_printf(&s,
                   ", \"calls\": %u, \"floor_ns\": %.0f, \"flops\": %.0f, \"bytes\": %.0f, \"bound\": "
                   "\"%s\", \"where\": ",
                   r[i].k->count, r[i].ns, r[i].k->flops, r[i].k->bytes, r[i].limit);
        report_json_string(&s, trace_str(&e->t, r[i].k->where));
        str_addc(&s, '}');
    }
    str_add(&s, "]}\n");
    fwrite(s.p, 1, s.n, stdout);
}

static void print(void *arg) {
    struct estimate_run *e = arg;
    uint32_t n = e->d.kernels.n;
    struct floor_row *r = arena_array(&e->d.arena, struct floor_row, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct kernel_row *k = &e->d.kernels.p[i];
        const struct trace_kernel_args *a = trace_blob(&e->t, k->args, sizeof *a);
        r[i] = (struct floor_row){k, a && a->known & 8 ? (double)a->roof_ns * k->count : 0,
                                  a && a->known & 8 ? trace_str(&e->t, a->limit) : "?"};
        enum collective_kind kind;
        if (e->over.ranks && estimate_is_exchange(trace_str(&e->t, k->name), &kind)) {
            r[i].ns = k->count * estimate_exchange_ns(&e->over, kind, k->bytes);
            r[i].limit = "link";
        }
    }
    if (n) qsort(r, n, sizeof *r, dearest);
    double all = sum_limit(r, n, NULL);
    (e->json ? print_json : print_text)(e, r, n, all);
    if (!e->over.ranks || e->json) return;
    struct kernel_times *times = e->measured ? estimate_times(&e->d.arena, &e->before) : NULL;
    struct estimate_result s = estimate_simulate(&e->d.arena, &e->d, &e->over, times);
    print_ranks(e, r, n, all, &s);
}

/* The program is to run under the NULL device. What it prints is of no use to anyone: its numbers are zeros. */
static void prepare(void *arg) {
    struct estimate_run *e = arg;
    char *machine = realpath(e->machine, NULL);
    setenv("RIDGE_MODEL", machine ? machine : e->machine, 1);
    setenv("RIDGE_DEVICE", "NULL", 1);
    setenv("DEVICE", "NULL", 1);
    setenv("RIDGE_PROFILE", e->profile, 1);
    if (e->over.ranks) {
        char size[24], link[64];
        snprintf(size, sizeof size, "%lld", (long long)e->over.ranks);
        snprintf(link, sizeof link, "%.9g,%lld", e->over.rate, (long long)e->over.latency);
        setenv("RIDGE_WORLD_LINK", link, 1); /* buckets are sized for it */
        setenv("RANK", "0", 1), setenv("WORLD_SIZE", size, 1);
        setenv("LOCAL_RANK", "0", 1), setenv("LOCAL_WORLD_SIZE", size, 1);
        setenv("RIDGE_WORLD_BACKEND", "plan", 1);
    }
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) dup2(null, 1);
}

static int read_measured(struct estimate_run *e) {
    if (trace_read(&e->was, &e->err, e->measured)) return e->err.code;
    if (diagnose(&e->before, &e->was, &e->err)) trace_free(&e->was);
    return e->err.code;
}

static int show(struct estimate_run *e, const char *program) {
    if (access(e->profile, R_OK))
        return fprintf(stderr, "ridge estimate: %s recorded nothing: is it a Ridge program?\n", program),
               EXIT_FAILED;
    int bad = trace_read(&e->t, &e->err, e->profile);
    if (bad) return cli_error("estimate", &e->err);
    if (e->measured && read_measured(e)) {
        trace_free(&e->t);
        return fprintf(stderr, "ridge estimate: %s: %s\n", e->measured, e->err.msg), EXIT_FAILED;
    }
    if (!(bad = diagnose(&e->d, &e->t, &e->err))) {
        if (strcmp(e->d.device_name, "NULL"))
            bad =
                err_set(&e->err, RG_EINVAL,
                        "%s runs on device %s whatever the environment says; it must open with rg_open(NULL)",
                        program, *e->d.device_name ? e->d.device_name : "none");
        else
            bad = err_guard(&e->err, print, e);
        diag_free(&e->d);
    }
    trace_free(&e->t);
    if (e->measured) diag_free(&e->before), trace_free(&e->was);
    return bad ? cli_error("estimate", &e->err) : EXIT_OK;
}

/* A file, or the name of one that comes with Ridge: h200 is share/machines/h200.txt, wherever that was installed. */
static void load_machine(struct estimate_run *e) {
    if (!os_exists(e->machine) && !strchr(e->machine, '/')) {
        const char *found =
            os_installed(&e->arena, arena_printf(&e->arena, "machines/%s.txt", e->machine), false);
        if (!found)
            found = os_installed(&e->arena, arena_printf(&e->arena, "machines/%s", e->machine), false);
        if (found) e->machine = found;
    }
    if (!model_load(&e->err, &e->arena, e->machine, &e->m) || os_exists(e->machine)) return;
    err_clear(&e->err);
    const char *h200 = os_installed(&e->arena, "machines/h200.txt", false);
    err_set(&e->err, RG_EIO,
            "there is no machine file %s; %s has some, `ridge ceilings --output FILE` writes one of this "
            "machine",
            e->machine,
            h200 ? arena_printf(&e->arena, "%.*s", (int)(strrchr(h200, '/') - h200), h200)
                 : "share/machines");
}

/* Our own options may stand before `--`, or without one anywhere: what is not ours belongs to the program. */
static int split(int argc, char **argv, char **own, char **prog, int *nprog) {
    int n = 0, end = 1;
    while (end < argc && strcmp(argv[end], "--")) end++;
    own[n++] = argv[0];
    for (int i = 1; i < argc; i++) {
        bool ours =
            i < end && (end < argc || !strncmp(argv[i], "--machine", 9) || !strcmp(argv[i], "--help"));
        if (i == end) continue;
        if (!ours) {
            prog[(*nprog)++] = argv[i];
            continue;
        }
        own[n++] = argv[i];
        if (end == argc && !strcmp(argv[i], "--machine") && i + 1 < argc) own[n++] = argv[++i];
    }
    return n;
}

static bool parse_link(struct estimate_run *e) {
    char *end = NULL;
    if (!e->over.ranks || !e->link) return !e->over.ranks && !e->link;
    e->over.rate = strtod(e->link, &end);
    if (!strcmp(end, "Gbit/s")) e->over.rate /= 8, end += strlen(end);
    return e->over.rate > 0 && (!*end || !strcmp(end, "GB/s"));
}

int cmd_estimate(int argc, char **argv) {
    static struct estimate_run e = {.rows = 20, .over.latency = 10, .profile = "/tmp/ridge-estimate-XXXXXX"};
    const struct arg_spec spec[] = {
        {"machine", ARG_TEXT, &e.machine, "FILE",
         "the machine: h200, laptop and neoverse-v1-2 are there, `ridge ceilings --output FILE` writes this "
         "one"},
        {"rows", ARG_NUMBER, &e.rows, "N", "at most N kernels (20); before --"},
        {"ranks", ARG_NUMBER, &e.over.ranks, "N",
         "as one of N ranks; the program opens its world; before --"},
        {"link", ARG_TEXT, &e.link, "RATE", "between ranks: 450GB/s, 10Gbit/s; with --ranks"},
        {"latency", ARG_NUMBER, &e.over.latency, "US", "of an exchange, in microseconds (10)"},
        {"measured", ARG_TEXT, &e.measured, "PROFILE",
         "kernels take what they took there, as of one rank on this machine; with --ranks"},
        {"json", ARG_FLAG, &e.json, NULL, "as one JSON object; before --"},
    };
    struct args a = {.command = "estimate",
                     .operands = "--machine FILE -- PROGRAM ARGS",
                     .about = "How long a program takes at best on a machine that you do not have: it is "
                              "planned for that machine and not\n"
                              "run. The program must take its device from the environment: rg_open(NULL).",
                     .spec = spec,
                     .nspec = RG_COUNT(spec)};
    char **own = calloc((size_t)argc + 1, sizeof *own), **prog = calloc((size_t)argc + 1, sizeof *prog);
    int nprog = 0,
        status = own && prog ? args_parse(&a, split(argc, argv, own, prog, &nprog), own) : EXIT_FAILED;
    if (status < 0 && (!nprog || !e.machine)) status = args_wrong(&a, "expected %s", a.operands);
    if (status < 0) status = args_range(&a, "rows", e.rows, 1, 1000000);
    if (status < 0 && e.over.ranks) status = args_range(&a, "ranks", e.over.ranks, 1, 65536);
    if (status < 0 && !parse_link(&e))
        status =
            args_wrong(&a, "--ranks needs --link RATE, as 450GB/s or 10Gbit/s, and --link needs --ranks");
    arena_init(&e.arena, &e.err);
    if (status < 0) load_machine(&e);
    if (status < 0 && e.err.code) status = cli_error("estimate", &e.err);
    int fd = status < 0 ? mkstemp(e.profile) : -1;
    if (status < 0 && fd < 0) {
        fprintf(stderr, "ridge estimate: no temporary file: %s\n", strerror(errno));
        status = EXIT_FAILED;
    }
    if (status < 0) {
        bool ran;
        close(fd), unlink(e.profile);
        int ended = cli_run("estimate", prog, prepare, &e, &ran);
        status = ran ? show(&e, prog[0]) : ended;
        if (!status && ended)
            fprintf(stderr, "ridge estimate: %s ended with status %d; what it did until then is counted\n",
                    prog[0], ended);
        if (!status) status = ended;
        unlink(e.profile);
    }
    arena_free(&e.arena);
    free(own), free(prog);
    return status;
}
