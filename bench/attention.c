/* attention.c: softmax(q k^T / sqrt(d)) v of bfloat16 on the CUDA device, alone and with its gradients.
 *
 *     bench/attention [PATTERN]        our times, of the rows that have PATTERN in their names ("D64 causal forward");
 *                                      bench/attention_vs_torch.py has PyTorch's beside them
 *
 * Two times, each of replays with one wait at the end: of those that last 20 ms, the best of several rounds (sustained), and of those
 * that last 2 ms, after a pause of 20 ms, the median of several (a burst: the power limit has not made the clock slower yet). Operations are those of the products: 4 B H T T D
 * one way, two and a half times as many for the gradient, half of both with a causal mask. */
#include "usage.h"

#include <ridge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shape {
    int64_t b, h, t, d;
    bool causal;
};

struct times {
    double sustained, burst; /* seconds */
};

struct job {
    const struct shape *s;
    bool back;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static rg_status call(void *user, const rg_tensor *in, rg_tensor *out) {
    const struct job *j = user;
    out[0] = rg_attention(in[0], in[1], in[2], .causal = j->s->causal);
    return j->back ? rg_grad(out[0], RG_TENSORS(in[0], in[1], in[2]), out + 1, .seed = in[3]) : RG_OK;
}

/* Seconds of each of n calls, until the GPU is done with the last; 0: one failed. */
static double calls(rg_jit *j, rg_tensor one, const rg_tensor *in, int n) {
    float probe;
    rg_tensor out[4];
    double t0 = now();
    for (int k = 0; k < n; k++)
        if (rg_jit_call(j, RG_ARRAY(in, 4), out)) return 0;
    return rg_read(one, &probe, sizeof probe) ? 0 : (now() - t0) / n; /* waits for all before it */
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(rg_ctx *c, rg_tensor one, const rg_tensor *in, struct job *job, struct times *t) {
    enum { WARM = 5, ROUNDS = 4, BURSTS = 15, PAUSE_NS = 20000000 };
    static const double lasting = 0.02, short_while = 0.002; /* seconds of one round */
    double burst[BURSTS] = {0};
    rg_jit *j = rg_jit_new(c, call, job, job->back ? 4 : 1);
    double first = calls(j, one, in, WARM) ? calls(j, one, in, WARM) : 0;
    int n = first > 0 ? (int)(lasting / first) + 1 : 0;
    t->sustained = first;
    for (int i = 0; i < ROUNDS && t->sustained > 0; i++) {
        double x = calls(j, one, in, n);
        t->sustained = x < t->sustained || x <= 0 ? x : t->sustained;
    }
    for (int i = 0; i < BURSTS && t->sustained > 0; i++) {
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        burst[i] = calls(j, one, in, (int)(short_while / t->sustained) + 1);
    }
    qsort(burst, BURSTS, sizeof *burst, by_value);
    t->burst = burst[0] > 0 ? burst[BURSTS / 2] : 0;
    rg_jit_free(j);
    return t->sustained > 0 && t->burst > 0;
}

static bool name_of(const struct shape *s, bool back, const char *pattern, char *out, size_t n) {
    snprintf(out, n, "attention B%lld H%lld T%lld D%lld %s %s", (long long)s->b, (long long)s->h,
             (long long)s->t, (long long)s->d, s->causal ? "causal" : "full", back ? "both" : "forward");
    return strstr(out, pattern) != NULL;
}

static int row(rg_ctx *c, rg_tensor one, const struct shape *s, const char *pattern) {
    RG_SCOPE(c);
    char name[128];
    rg_tensor in[4];
    if (!name_of(s, false, pattern, name, sizeof name) && !name_of(s, true, pattern, name, sizeof name))
        return 0;
    for (int i = 0; i < 4; i++)
        in[i] = rg_contiguous(rg_cast(rg_randn(c, RG_F32, RG_SHAPE(s->b, s->h, s->t, s->d)), RG_BF16));
    if (rg_realize_all(RG_ARRAY(in, 4))) return 1;
    double gop = 4e-9 * (double)(s->b * s->h) * (double)(s->t * s->t) * (double)s->d * (s->causal ? 0.5 : 1);
    for (int back = 0; back < 2; back++) {
        struct job job = {s, back};
        if (!name_of(s, back, pattern, name, sizeof name)) continue;
        struct times t;
        if (!measure(c, one, in, &job, &t)) return 1;
        double op = gop * (back ? 3.5 : 1) * 1e-3;
        printf("%s %.1f us %.0f TFLOP/s burst %.1f us %.0f TFLOP/s\n", name, t.sustained * 1e6,
               op / t.sustained, t.burst * 1e6, op / t.burst);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[PATTERN]")) return 0;
    static const struct shape shapes[] = {{4, 32, 4096, 128, false},
                                          {4, 32, 4096, 128, true},
                                          {16, 32, 1024, 128, true},
                                          {16, 12, 1024, 64, true}};
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) return printf("%s\n", rg_error(c)), rg_close(c), 0;
    rg_tensor one = rg_randn(c, RG_F32, RG_SHAPE(1));
    int bad = rg_realize(one) != 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !bad; i++)
        bad = row(c, one, &shapes[i], argc > 1 ? argv[1] : "");
    if (bad) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c) || bad;
}
