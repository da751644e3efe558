/* cmd_top.c: ridge top: the Ridge programs that run now, and NVIDIA's GPUs.
 *
 * A program sums its own figures after each run (src/event/live.c); two looks give rates. Between them only
 * whole runs count: from the end of the last run before the first look to that of the last one before the second, or to the
 * second look, if the program has been silent for longer than two of its runs take. Kernels of a GPU are counted with the times
 * that the device gave them when they were sampled, as in rg_kernels.
 * Tests: tests/cli/top.sh */
#include "cli.h"
#include "event/event.h"
#include "nvml.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST_PROGRAMS = 64 };

struct top_program {
    struct live_page page;
    double cpu; /* seconds of all cores */
};
struct top_look {
    uint64_t at;
    struct top_program p[MOST_PROGRAMS];
    uint32_t n;
};
/* An engine of a program, between two looks. */
struct top_row {
    uint32_t pid;
    const char *program, *device;
    double busy, roof, kernels, step_ns, cores; /* of the time; of kernel time; a second; NAN: not known */
    uint64_t steps, in_use, reserved, peak;
};
struct top {
    struct top_look look[2];
    struct nvml_gpu gpu[NVML_GPUS];
    uint32_t gpus;
    struct top_row row[MOST_PROGRAMS];
    uint32_t rows;
    double seconds; /* between the looks */
    bool json;
};

/* ---- looking ---------------------------------------------------------------------------------------------- */

static double cpu_of(uint32_t pid) {
    char path[64], text[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *p = strrchr(text, ')'); /* its name may hold anything */
    if (p) sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static void look(struct top_look *l) {
    l->n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && l->n < MOST_PROGRAMS && (e = readdir(d));) {
        if (!isdigit((unsigned char)e->d_name[0])) continue;
        uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
        struct top_program *p = &l->p[l->n];
        if (live_read(pid, &p->page)) p->cpu = cpu_of(pid), l->n++;
    }
    if (d) closedir(d);
    l->at = os_now_ns();
}

/* ---- between two looks ------------------------------------------------------------------------------------- */

/* The plan that took most of the time, or the steps that the program marks. */
static void step_of(const struct live_page *pa, const struct live_page *pb, const struct live_row *a,
                    const struct live_row *b, struct top_row *r) {
    uint64_t most = 0;
    r->step_ns = NAN, r->steps = pb->marks - pa->marks;
    if (r->steps) {
        r->step_ns = (double)(pb->mark_ns - pa->mark_ns) / (double)r->steps;
        return;
    }
    for (int i = 0; i < LIVE_PLANS; i++) {
        const struct live_plan *x = &a->plan[i], *y = &b->plan[i];
        bool same = x->name == y->name && x->steps <= y->steps && x->ns <= y->ns;
        uint64_t ns = y->ns - (same ? x->ns : 0), steps = y->steps - (same ? x->steps : 0);
        if (!steps || ns < most) continue;
        most = ns, r->steps = steps, r->step_ns = (double)ns / (double)steps;
    }
}

static double span_of(const struct live_row *a, const struct live_row *b, uint64_t now) {
    uint64_t from = a->at ? a->at : b->since;
    double whole = b->at > from ? (double)(b->at - from) : 0,
           run = whole / (double)RG_MAX(b->runs - a->runs, 1u);
    return b->at < now && (double)(now - b->at) > 2 * run ? (double)(now - from) : whole;
}

static void add_row(struct top *t, const struct top_program *a, const struct top_program *b, int i) {
    static const struct live_row none;
    const struct live_row *y = &b->page.row[i], *x = a ? &a->page.row[i] : &none;
    if (!y->since || t->rows == MOST_PROGRAMS) return;
    if (x->since != y->since) x = &none;
    struct top_row *r = &t->row[t->rows++];
    double ns = RG_MAX(span_of(x, y, t->look[1].at), 1), kernel = (double)(y->kernel_ns - x->kernel_ns);
    *r = (struct top_row){.pid = b->page.pid, .program = b->page.program, .device = y->device, .cores = NAN};
    r->in_use = y->in_use, r->reserved = y->reserved, r->peak = y->peak;
    r->busy = RG_MIN(kernel / ns, 1);
    r->roof = kernel > 0 ? (double)(y->roof_ns - x->roof_ns) / kernel : NAN;
    r->kernels = (double)(y->kernels - x->kernels) * 1e9 / ns;
    if (y->runs == x->runs) r->busy = r->kernels = 0;
    if (a) r->cores = (b->cpu - a->cpu) / RG_MAX(t->seconds, 1e-9);
    step_of(a ? &a->page : &b->page, &b->page, x, y, r);
}

static void compare(struct top *t) {
    const struct top_look *a = &t->look[0], *b = &t->look[1];
    t->rows = 0, t->seconds = (double)(b->at - a->at) * 1e-9;
    for (uint32_t k = 0; k < b->n; k++) {
        const struct top_program *was = NULL;
        for (uint32_t i = 0; i < a->n; i++)
            if (a->p[i].page.pid == b->p[k].page.pid) was = &a->p[i];
        for (int i = 0; i < LIVE_ROWS; i++) add_row(t, was, &b->p[k], i);
    }
    t->gpus = nvml_read(t->gpu);
}

/* ---- showing ------------------------------------------------------------------------------------------------ */

static const char *quantity(char out[32], double x, const char *fmt) {
    if (x != x)
        snprintf(out, 32, "-");
    else
        snprintf(out, 32, fmt, x);
    return out;
}

static const char *duration(char out[32], double ns) {
    return quantity(out, ns < 1e6 ? ns / 1e3 : ns / 1e6, ns < 1e6 ? "%.1f us" : "%.2f ms");
}

static void show(const struct top *t) {
    char x[6][32];
    printf("%8s %-16s %-8s %6s %6s %8s %11s %12s %11s %11s\n", "pid", "program", "device", "cores", "busy",
           "of roof", "kernels/s", "step", "memory", "reserved");
    for (uint32_t i = 0; i < t->rows; i++) {
        const struct top_row *r = &t->row[i];
        printf("%8u %-16.16s %-8s %6s %6s %8s %11s %12s %8.1f MB %8.1f MB\n", r->pid, r->program, r->device,
               quantity(x[0], r->cores, "%.1f"), quantity(x[1], 100 * r->busy, "%.0f%%"),
               quantity(x[2], 100 * r->roof, "%.0f%%"), quantity(x[3], r->kernels, "%.0f"),
               duration(x[4], r->step_ns), (double)r->in_use / 1e6, (double)r->reserved / 1e6);
    }
    if (!t->rows) printf("%8s no Ridge program of yours runs\n", "");
    for (uint32_t i = 0; i < t->gpus; i++) {
        const struct nvml_gpu *g = &t->gpu[i];
        printf("GPU %u  %s  busy %.0f%%  memory %.1f of %.1f MB  %.0f W\n", i, g->name, 100 * g->busy,
               (double)g->used / 1e6, (double)g->total / 1e6, g->watts);
        for (uint32_t k = 0; k < g->processes; k++)
            printf("%8u %.1f MB\n", g->process[k].pid, (double)g->process[k].bytes / 1e6);
    }
}

/* Names may hold anything. */
static void put_text(const char *s) {
    putchar('"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 32 || c > 126)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static const char *or_null(char out[32], double x) { return x != x ? "null" : quantity(out, x, "%.6g"); }

static void show_json(const struct top *t) {
    char x[6][32];
    printf("{\"seconds\":%.6f,\"programs\":[", t->seconds);
    for (uint32_t i = 0; i < t->rows; i++) {
        const struct top_row *r = &t->row[i];
        printf("%s\n  {\"pid\":%u,\"program\":", i ? "," : "", r->pid);
        put_text(r->program);
        printf(
            ",\"device\":\"%s\",\"cores\":%s,\"busy\":%s,\"of_roof\":%s,\"kernels_per_s\":%s,\"steps\":%llu,"
            "\"step_ns\":%s,\"memory\":%llu,\"reserved\":%llu,\"peak\":%llu}",
            r->device, or_null(x[0], r->cores), or_null(x[1], r->busy), or_null(x[2], r->roof),
            or_null(x[3], r->kernels), (unsigned long long)r->steps, or_null(x[4], r->step_ns),
            (unsigned long long)r->in_use, (unsigned long long)r->reserved, (unsigned long long)r->peak);
    }
    printf("],\n\"gpus\":[");
    for (uint32_t i = 0; i < t->gpus; i++) {
        const struct nvml_gpu *g = &t->gpu[i];
        printf("%s\n  {\"number\":%u,\"name\":", i ? "," : "", i);
        put_text(g->name);
        printf(",\"busy\":%.2f,\"memory\":%llu,\"memory_total\":%llu,\"watts\":%.1f,\"processes\":[", g->busy,
               (unsigned long long)g->used, (unsigned long long)g->total, g->watts);
        for (uint32_t k = 0; k < g->processes; k++)
            printf("%s{\"pid\":%u,\"memory\":%llu}", k ? "," : "", g->process[k].pid,
                   (unsigned long long)g->process[k].bytes);
        printf("]}");
    }
    printf("]}\n");
}

/* True: a key was pressed that ends it. Input that is at its end is not looked at any more. */
static bool wait_for(int64_t ms, bool keys) {
    struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
    char c = 0;
    if (poll(&in, 1, (int)ms) <= 0 || read(STDIN_FILENO, &c, 1) != 1) return false;
    return c == 'q';
}

static void run(struct top *t, int64_t ms, bool once) {
    bool screen = !once && !t->json && isatty(STDOUT_FILENO);
    look(&t->look[0]);
    do {
        if (wait_for(ms, screen && isatty(STDIN_FILENO))) break;
        look(&t->look[1]);
        compare(t);
        if (screen) printf("\033[H\033[J"); /* home, clear */
        t->json ? show_json(t) : show(t);
        fflush(stdout);
        t->look[0] = t->look[1];
    } while (!once && !ferror(stdout));
}

int cmd_top(int argc, char **argv) {
    bool once = false, json = false;
    int64_t ms = 1000;
    const struct arg_spec spec[] = {
        {"once", ARG_FLAG, &once, NULL, "look once (two looks, --interval apart), print and end"},
        {"json", ARG_FLAG, &json, NULL, "one JSON object per look"},
        {"interval", ARG_NUMBER, &ms, "MS", "milliseconds between two looks (1000)"},
    };
    struct args a = {
        .command = "top",
        .operands = "",
        .about = "Shows the Ridge programs that run now, of this user: cores, share of the time in kernels, "
                 "share of "
                 "their\nroof, kernels a second, time of a step, device memory in use and reserved; and "
                 "NVIDIA's GPUs "
                 "with all\nprocesses on them. Only whole runs count. q and Enter, or Ctrl-C, end it.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
    };
    int status = args_parse(&a, argc, argv);
    if (status < 0) status = args_range(&a, "interval", ms, 10, 3600000);
    if (status >= 0) return status;
    struct top *t = mem_alloc(sizeof *t);
    struct err e = {0};
    if (!t) {
        err_set(&e, RG_ENOMEM, "out of memory");
        return cli_error("top", &e);
    }
    memset(t, 0, sizeof *t);
    t->json = json;
    run(t, ms, once);
    mem_free(t);
    return EXIT_OK;
}
