/* export.c: how long a large Ridge profile takes to read and to export, and in how much memory.
 *
 *   export [--events N] [--dir DIR] [--keep]
 * writes a profile of N records (default ten million: of five, a call, two kernels, a copy and a wait) under DIR (/tmp), reads and
 * accounts for it, then writes each format. Wall and processor time, and by how much the largest memory of the process grew:
 * an export must not add to it. The disk is part of the wall time: --dir /dev/shm leaves it out. */
#include "event/event.h"
#include "report/report.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long rss_mb(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_maxrss / 1024;
}

static void block(FILE *f, uint32_t tag, uint32_t bytes) {
    struct event_block b = {tag, 1, bytes, bytes};
    fwrite(&b, sizeof b, 1, f);
}

static void names(FILE *f) {
    static const char *const text[] = {
        "rg_jit_call",
        "examples/mnist.c:55",
        "r_512_32_24_24_32_5_5",
        "E_512_10",
        "CPU",
        "conv2d net.2 mnist.c:55\t8000\tcompute\tf32(512,32,24,24)\t00\t9000\t0\t0\tissued=1\tTILE(i,4,u)",
        "relu net.3 mnist.c:56 (backward)\t700\tmemory\tf32(512,10)\t01\t800\t0\t0\tissued=1\tVEC(i)"};
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < RG_COUNT(text); i++) bytes += 8 + (uint32_t)strlen(text[i]);
    block(f, EVENT_BLOCK_NAMES, bytes);
    for (uint32_t i = 0; i < RG_COUNT(text); i++) {
        uint32_t head[2] = {i + 1, (uint32_t)strlen(text[i])};
        fwrite(head, sizeof head, 1, f);
        fwrite(text[i], 1, head[1], f);
    }
}

/* As a program writes them: each when it ends. */
static void records(FILE *f, uint64_t n) {
    enum { OF_BLOCK = 5000 };
    uint64_t t = 1000000000000;
    for (uint64_t at = 0; at < n;) {
        uint32_t k = (uint32_t)RG_MIN(n - at, OF_BLOCK);
        block(f, EVENT_BLOCK_RECORDS, k * (uint32_t)sizeof(struct event));
        for (uint32_t i = 0; i < k; i++, at++) {
            uint64_t s = t + at / 5 * 40000;
            const struct event five[] = {
                {s + 1000, s + 12000 + at % 7, 4000000, 90000, 3, 1, EVENT_KERNEL, 0, 6},
                {s + 12100, s + 13000 + at % 3, 5120, 40960, 4, 1, EVENT_KERNEL, 0, 7},
                {s + 14000, s + 15000, 4096, 0, 5, 1, EVENT_COPY, 0, 0},
                {s + 16000, s + 17000, 0, 0, 5, 1, EVENT_WAIT, 0, 0},
                {s, s + 39000, 0, 0, 1, 1, EVENT_CALL, 0, 2}};
            fwrite(&five[at % 5], sizeof five[0], 1, f);
        }
    }
}

static void write_profile(const char *path, uint64_t n) {
    FILE *f = fopen(path, "wb");
    struct event_head head = {.version = EVENT_FILE_VERSION, .bytes = sizeof head};
    if (!f) exit((perror(path), 1));
    memcpy(head.magic, EVENT_FILE_MAGIC, sizeof head.magic);
    fwrite(&head, sizeof head, 1, f);
    names(f);
    records(f, n);
    if (fclose(f)) exit((perror(path), 1));
}

static void row(const char *what, uint64_t t0, double c0, long mb, double bytes) {
    printf("%-10s %8.2f s wall %8.2f s processor %8.1f MB written %6ld MB largest, +%ld\n", what,
           (double)(os_now_ns() - t0) * 1e-9, cpu() - c0, bytes / 1e6, rss_mb(), rss_mb() - mb);
}

int main(int argc, char **argv) {
    static const char *const format[EXPORTS] = {"trace", "perfetto", "folded", "csv"};
    static struct trace t;
    static struct diag d;
    struct err e = {0};
    uint64_t n = 10000000, bytes = 0;
    const char *dir = "/tmp";
    bool keep = false;
    char path[400], out[420];
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--events") && i + 1 < argc)
            n = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--dir") && i + 1 < argc)
            dir = argv[++i];
        else if (!strcmp(argv[i], "--keep"))
            keep = true;
        else
            return fprintf(stderr, "usage: export [--events N] [--dir DIR] [--keep]\n"), 2;
    snprintf(path, sizeof path, "%.300s/ridge-export-%d", dir, (int)getpid());
    write_profile(path, n);
    uint64_t t0 = os_now_ns(), all = t0;
    double c0 = cpu();
    if (trace_read(&t, &e, path)) return fprintf(stderr, "%s\n", e.msg), 1;
    row("read", t0, c0, 0, 0);
    t0 = os_now_ns(), c0 = cpu();
    if (diagnose(&d, &t, &e)) return fprintf(stderr, "%s\n", e.msg), 1;
    row("account", t0, c0, 0, 0);
    for (int i = 0; i < EXPORTS; i++) {
        long mb = rss_mb();
        snprintf(out, sizeof out, "%s.%s", path, format[i]);
        t0 = os_now_ns(), c0 = cpu();
        if (report_export(&e, &d, i, out, &bytes)) return fprintf(stderr, "%s\n", e.msg), 1;
        row(format[i], t0, c0, mb, (double)bytes);
        if (!keep) unlink(out);
    }
    printf("%llu events, %.2f s in all\n", (unsigned long long)n, (double)(os_now_ns() - all) * 1e-9);
    if (!keep) unlink(path);
    diag_free(&d);
    trace_free(&t);
    return 0;
}
