/* report.c: what a sweep found: the distribution by family, the worst draws with a command that repeats each, JSON; and
 * the peer, bench/peers/sweep.py, which runs the same draws by PyTorch. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>

static const char *const words[] = {"fine", "WRONG", "FAILED", "CRASHED", "HUNG", "refused"};

static double share(const struct result *r) { return r->seconds > 0 ? r->floor / r->seconds : 0; }
static bool timed(const struct result *r) { return r->seconds > 0 && r->floor > 0; }

static int by_share(const void *a, const void *b) {
    double x = share(a), y = share(b);
    return x < y ? -1 : x > y;
}

static void remake(const struct options *o, const struct result *r, struct draw *d, char *text, size_t room) {
    draw_make(d, o, r->draw, o->most);
    draw_describe(d, text, room);
}

static void line(const char *name, const struct result *r, int n) { /* sorted by share */
    int half = 0, fifth = 0, least = 0;
    double eager = 0, compiled = 0;
    int ne = 0, nc = 0;
    for (int i = 0; i < n; i++) {
        half += share(&r[i]) >= 0.5, fifth += share(&r[i]) >= 0.2, least += share(&r[i]) < 0.05;
        if (r[i].eager > 0) eager += log(r[i].eager / r[i].seconds), ne++;
        if (r[i].compiled > 0) compiled += log(r[i].compiled / r[i].seconds), nc++;
    }
    if (!n) return;
    printf("%-12s %5d %7.3f %7.3f %7.3f %7.3f %7.1f%% %7.1f%% %6d", name, n, share(&r[0]), share(&r[n / 10]),
           share(&r[n / 2]), share(&r[n - 1]), 100.0 * half / n, 100.0 * fifth / n, least);
    if (ne) printf(" %7.2f", exp(eager / ne));
    if (nc) printf(" %8.2f", exp(compiled / nc));
    printf("\n");
}

static void families(const struct options *o, const struct result *sorted, int n) {
    struct result *part = calloc((size_t)n + 1, sizeof *part);
    const char *seen = "";
    if (!part) return;
    printf("\nshare of the floor\n%-12s %5s %7s %7s %7s %7s %8s %8s %6s%s\n", "family", "draws", "least",
           "tenth", "median", "most", ">= 0.5", ">= 0.2", "< 0.05",
           !o->peer    ? ""
           : o->graphs ? "   eager   graphs (PyTorch's time / ours)"
                       : "   eager compiled (PyTorch's time / ours)");
    for (size_t k = 0; k < rows_count; k++) {
        int m = 0;
        if (!strcmp(rows[k].family, seen)) continue;
        seen = rows[k].family;
        for (int i = 0; i < n; i++) {
            struct draw d;
            draw_make(&d, o, sorted[i].draw, o->most);
            if (!strcmp(d.row->family, seen)) part[m++] = sorted[i];
        }
        line(seen, part, m);
    }
    line("all", sorted, n);
    free(part);
}

static void command(const struct options *o, int draw) {
    printf("      sweep --device %s --seed %llu --draw %d", o->device, (unsigned long long)o->seed, draw);
    if (o->family) printf(" --family %s", o->family);
    if (o->row) printf(" --row %s", o->row);
    if (o->list) printf(" --list %s", o->list);
    if (o->cpu_time) printf(" --cpu-time");
    if (o->views) printf(" --views");
    if (o->check) printf(" --most %g", o->most);
    if (o->check) printf(" --check");
    printf("\n");
}

static void small(const struct rates *rates, const struct result *r, int n) {
    int all = 0, fine = 0;
    for (int i = 0; i < n; i++) {
        if (r[i].floor > 2 * rates->launch) continue;
        all++, fine += r[i].seconds <= 3 * rates->launch;
    }
    printf("\nlaunch %.3g us; small programs (floor up to two launches): %d of %d take up to three\n",
           1e6 * rates->launch, fine, all);
}

static double ratio(const struct result *r) { return r->eager / r->seconds; }

static int by_ratio(const void *a, const void *b) {
    double x = ratio(a), y = ratio(b);
    return x < y ? -1 : x > y;
}

/* Ratios of PyTorch's time to ours, ascending: the distribution and the worst. */
static void beside_peer(const struct options *o, struct result *r, int n) {
    int m = 0, below[3] = {0};
    double logs = 0;
    char text[TEXT_MOST];
    struct draw d;
    for (int i = 0; i < n; i++)
        if (r[i].eager > 0) r[m++] = r[i];
    if (!m) return;
    qsort(r, (size_t)m, sizeof *r, by_ratio);
    for (int i = 0; i < m; i++) {
        logs += log(ratio(&r[i]));
        below[0] += ratio(&r[i]) < 0.9, below[1] += ratio(&r[i]) < 0.8, below[2] += ratio(&r[i]) < 0.5;
    }
    printf("\nbeside PyTorch eager: %d draws, geometric mean %.2f, median %.2f; below 0.9: %d, 0.8: %d, "
           "0.5: %d\n",
           m, exp(logs / m), ratio(&r[m / 2]), below[0], below[1], below[2]);
    printf("%6s %10s %10s %10s %6s %7s %s\n", "ratio", "us", "eager us", o->graphs ? "graph us" : "compiled",
           "share", "kernels", "draw");
    for (int i = 0; i < RG_MIN(m, o->top); i++) {
        remake(o, &r[i], &d, text, sizeof text);
        printf("%6.2f %10.4g %10.4g %10.4g %6.3f %7g #%d %s\n", ratio(&r[i]), 1e6 * r[i].seconds,
               1e6 * r[i].eager, 1e6 * r[i].compiled, share(&r[i]), r[i].launches, r[i].draw, text);
    }
}

void report(const struct options *o, const struct rates *rates, const struct result *r, int n) {
    struct result *sorted = calloc((size_t)n + 1, sizeof *sorted);
    int count[6] = {0}, m = 0;
    double slowest = 0;
    char text[TEXT_MOST];
    struct draw d;
    if (!sorted) return;
    for (int i = 0; i < n; i++) {
        count[r[i].outcome]++;
        slowest = RG_MAX(slowest, r[i].first);
        if (timed(&r[i])) sorted[m++] = r[i];
    }
    qsort(sorted, (size_t)m, sizeof *sorted, by_share);
    printf(
        "%s on %s, seed %llu: %d draws, %d timed, %d wrong, %d failed, %d crashed, %d over %g s, %d refused; "
        "slowest first run %.1f s\n",
        o->device, rates->model.name, (unsigned long long)o->seed, n, m, count[WRONG], count[FAILED],
        count[CRASHED], count[HUNG], o->limit, count[REFUSED], slowest);
    for (int i = 0; i < n; i++) {
        if (r[i].outcome == FINE) continue;
        remake(o, &r[i], &d, text, sizeof text);
        printf("%-8s %s: %s\n", words[r[i].outcome], text, r[i].text);
        command(o, r[i].draw);
    }
    if (o->check) {
        free(sorted);
        return;
    }
    families(o, sorted, m);
    small(rates, sorted, m);
    printf("\nworst\n%6s %10s %10s %7s %s\n", "share", "us", "floor", "first s", "draw");
    for (int i = 0; i < RG_MIN(m, o->top); i++) {
        remake(o, &sorted[i], &d, text, sizeof text);
        printf("%6.3f %10.4g %10.4g %7.2f %s", share(&sorted[i]), 1e6 * sorted[i].seconds,
               1e6 * sorted[i].floor, sorted[i].first, text);
        if (sorted[i].eager > 0)
            printf(" [PyTorch %.4g, %.4g us]", 1e6 * sorted[i].eager, 1e6 * sorted[i].compiled);
        printf("\n");
        command(o, sorted[i].draw);
    }
    beside_peer(o, sorted, m);
    free(sorted);
}

int report_json(const struct options *o, const struct rates *rates, const struct result *r, int n) {
    FILE *f = fopen(o->json, "w");
    char text[TEXT_MOST];
    struct draw d;
    if (!f) return perror(o->json), 1;
    fprintf(f, "{\"device\": \"%s\", \"machine\": \"%s\", \"seed\": %llu, \"launch\": %g, \"draws\": [",
            o->device, rates->model.name, (unsigned long long)o->seed, rates->launch);
    for (int i = 0; i < n; i++) {
        remake(o, &r[i], &d, text, sizeof text);
        fprintf(
            f,
            "%s\n{\"draw\": %d, \"family\": \"%s\", \"row\": \"%s\", \"text\": \"%s\", \"outcome\": \"%s\"",
            i ? "," : "", r[i].draw, d.row->family, d.row->name, text, words[r[i].outcome]);
        fprintf(
            f,
            ", \"seconds\": %g, \"floor\": %g, \"share\": %g, \"first\": %g, \"launches\": %g, \"error\": %g",
            r[i].seconds, r[i].floor, share(&r[i]), r[i].first, r[i].launches,
            isfinite(r[i].error) ? r[i].error : 1e30);
        fprintf(f, ", \"bytes\": %g, \"ops\": %g, \"functions\": %g", r[i].by_bytes, r[i].by_ops,
                r[i].by_functions);
        if (r[i].eager > 0) fprintf(f, ", \"eager\": %g", r[i].eager);
        if (r[i].compiled > 0) fprintf(f, ", \"compiled\": %g", r[i].compiled);
        fprintf(f, "}");
    }
    fprintf(f, "\n]}\n");
    return fclose(f) ? (perror(o->json), 1) : 0;
}

/* ---- the peer: a line of JSON goes to it, "EAGER COMPILED" comes back, in 64 bytes ---- */

struct peer {
    struct os_child child;
};

static const char *script(void) {
    static const char *const at[] = {"bench/peers/sweep.py", "../bench/peers/sweep.py"};
    for (size_t i = 0; i < RG_COUNT(at); i++) {
        FILE *f = fopen(at[i], "r");
        if (f) return fclose(f), at[i];
    }
    return at[0];
}

struct peer *peer_start(const struct options *o) {
    struct peer *p = calloc(1, sizeof *p);
    struct err e = {0};
    const char *argv[] = {"/usr/bin/env",
                          o->peer,
                          script(),
                          strncmp(o->device, "CUDA", 4) ? "cpu" : "cuda",
                          o->graphs  ? "graphs"
                          : o->eager ? "eager"
                                     : "both",
                          o->cpu_time ? "cpu-time" : "wall",
                          NULL};
    if (p && !os_child_start(&e, argv, &p->child)) return p;
    fprintf(stderr, "sweep: no peer: %s\n", e.msg);
    free(p);
    return NULL;
}

void peer_ask(struct peer *p, const struct draw *d, uint64_t stop, struct result *r) {
    char answer[65] = {0};
    struct err e = {0};
    struct arena a;
    struct str s;
    uint64_t until = os_now_ns() + 90000000000u;
    if (stop) until = RG_MIN(until, stop);
    if (p->child.fd < 0) return;
    arena_init(&a, &e);
    str_init(&s, &a);
    draw_peer(&s, d);
    if (os_child_send(&p->child, s.p, s.n, until) == OS_TALK_DONE &&
        os_child_receive(&p->child, answer, 64, until) == OS_TALK_DONE)
        sscanf(answer, "%lf %lf", &r->eager, &r->compiled);
    else
        os_child_stop(&p->child), p->child.fd = -1, fprintf(stderr, "sweep: the peer is gone\n");
    arena_free(&a);
}

void peer_end(struct peer *p) {
    if (p->child.fd >= 0) os_child_stop(&p->child);
    free(p);
}
