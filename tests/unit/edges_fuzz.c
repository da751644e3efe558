/* Random programs over tensors with axes of size 0 and 1, on CPU and on REF: windows, gather and scatter,
 * running sums, sorting, joining, with gradients, and with values in memory between the steps. Numbers are small
 * integers, so that most results are exact. */
#include <math.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <test.h>

enum { POOL = 12, STEPS = 7, RANK = 3, ROOM = 4096, AXES = 8 };

struct prog {
    rg_ctx *c;
    uint64_t state;
    bool half; /* one of the values is */
    rg_tensor t[POOL];
    uint32_t n;
    double out[ROOM]; /* all that was read */
    uint32_t outs;
};

static uint32_t rnd(struct prog *p, uint32_t n) {
    p->state ^= p->state << 13, p->state ^= p->state >> 7, p->state ^= p->state << 17;
    return (uint32_t)(p->state >> 33) % n;
}

static int64_t size_of(struct prog *p) {
    static const int64_t some[] = {0, 1, 1, 1, 2, 3, 4, 5};
    return some[rnd(p, 8)];
}

static rg_tensor numbers(struct prog *p, rg_dtype dt, rg_ints shape, int64_t lo, int64_t hi) {
    int64_t v[1024], size = 1;
    for (size_t i = 0; i < shape.n; i++) size *= shape.d[i];
    for (int64_t i = 0; i < size; i++) v[i] = lo + (int64_t)rnd(p, (uint32_t)(hi - lo + 1));
    return rg_cast(rg_from(p->c, RG_I64, v, shape), dt);
}

struct dims {
    int64_t d[AXES], n;
};
static struct dims dims_of(rg_tensor x) {
    struct dims s = {0};
    s.n = rg_shape_of(x, s.d, AXES);
    return s;
}
static rg_ints ints(const struct dims *s) { return (rg_ints){s->d, (size_t)s->n}; }

static rg_tensor any(struct prog *p) { return p->t[rnd(p, p->n)]; }

/* One with n axes, by a reshape or by sizes of its own. */
static rg_tensor of_rank(struct prog *p, int64_t n) {
    for (int i = 0; i < 8; i++) {
        rg_tensor x = any(p);
        if (rg_rank(x) == n) return x;
    }
    struct dims s = {.n = n};
    for (int64_t i = 0; i < n; i++) s.d[i] = size_of(p);
    return numbers(p, RG_F32, ints(&s), -3, 4);
}

/* An index for x along an axis: other axes at most x's; along it any size. RG_NONE: there is nothing to name. */
static rg_tensor index_for(struct prog *p, rg_tensor x, int64_t axis, struct dims *s) {
    *s = dims_of(x);
    int64_t there = s->d[axis];
    for (int64_t i = 0; i < s->n; i++)
        if (i == axis)
            s->d[i] = there ? size_of(p) : 0;
        else if (s->d[i] && rnd(p, 3) == 0)
            s->d[i] = 1 + rnd(p, (uint32_t)s->d[i]);
    if (there && rnd(p, 5) == 0) return rg_full(p->c, RG_I64, (double)rnd(p, (uint32_t)there), ints(s));
    return numbers(p, rnd(p, 2) ? RG_I64 : RG_I32, ints(s), 0, there ? there - 1 : 0);
}

static rg_tensor source_for(struct prog *p, rg_dtype dt, const struct dims *index) {
    struct dims s = *index;
    for (int64_t i = 0; i < s.n; i++)
        if (rnd(p, 3) == 0) s.d[i]++;
    rg_tensor x = numbers(p, dt, ints(&s), -3, 4);
    return rnd(p, 2) ? x : rg_mul(x, 2);
}

static rg_tensor indexed(struct prog *p, uint32_t what) {
    rg_tensor x = of_rank(p, 1 + rnd(p, RANK));
    int64_t axis = rnd(p, (uint32_t)rg_rank(x));
    struct dims s;
    rg_tensor i = index_for(p, x, axis, &s), src = source_for(p, rg_dtype_of(x), &s);
    rg_combine how = (rg_combine)rnd(p, 5);
    switch (what) {
    case 0: return rg_gather(x, axis, i);
    case 1: return rg_rank(x) > 2 ? rg_gather(x, axis, i) : rg_take(x, axis, i);
    case 2: return rg_scatter_add(x, axis, i, src);
    case 3: return rg_scatter(x, axis, i, src);
    default: return rg_scatter_reduce(x, axis, i, src, .how = how, .exclude_self = rnd(p, 2));
    }
}

static rg_tensor window(struct prog *p, uint32_t what) {
    struct dims s = {.n = 3, .d = {1 + rnd(p, 2), 1 + rnd(p, 2), 1 + rnd(p, 5)}};
    rg_tensor x = of_rank(p, 3);
    if (!dims_of(x).d[2]) x = numbers(p, RG_F32, ints(&s), -3, 4);
    int64_t n = dims_of(x).d[2], k = 1 + rnd(p, (uint32_t)n), step = 1 + rnd(p, 3), pad = k > 1 && rnd(p, 2);
    switch (what) {
    case 0:
    case 1:
        return rg_max_pool1d(x, RG_SHAPE(k), .stride = RG_INTS(step), .padding = RG_INTS(pad),
                             .ceil = rnd(p, 2));
    case 2:
        return rg_avg_pool1d(x, RG_SHAPE(k), .stride = RG_INTS(step), .padding = RG_INTS(pad),
                             .ceil = rnd(p, 2), .exclude_padding = rnd(p, 2));
    default: return rg_select(rg_unfold(x, 2, k, step), 3, 0);
    }
}

static rg_tensor reduced(struct prog *p) {
    rg_tensor x = of_rank(p, 1 + rnd(p, RANK));
    int64_t axis = rnd(p, (uint32_t)rg_rank(x));
    bool keep = rnd(p, 2);
    if (!dims_of(x).d[axis]) return rg_sum(x, .axes = RG_AXES(axis), .keep = keep);
    switch (rnd(p, 8)) {
    case 0: return rg_sum(x, .axes = RG_AXES(axis), .keep = keep);
    case 1: return rg_max(x, .axes = RG_AXES(axis), .keep = keep);
    case 2: return rg_min(x, .axes = RG_AXES(axis), .keep = keep);
    case 3: return rg_mean(x, .axes = RG_AXES(axis), .keep = keep);
    case 4: return rg_cumsum(x, axis);
    case 5: return rg_cummax(x, axis);
    case 6: return rg_sort(x, axis);
    default: return rg_topk(x, rnd(p, (uint32_t)dims_of(x).d[axis] + 1), axis);
    }
}

static rg_tensor moved(struct prog *p) {
    rg_tensor x = of_rank(p, 1 + rnd(p, RANK));
    int64_t rank = rg_rank(x), axis = rnd(p, (uint32_t)rank);
    struct dims s = dims_of(x);
    switch (rnd(p, 9)) {
    case 0: {
        int64_t ba[2 * RANK] = {0};
        for (int64_t i = 0; i < 2 * rank; i++) ba[i] = rnd(p, 3) == 0;
        return rg_pad(x, (rg_ints){ba, (size_t)(2 * rank)}, 2);
    }
    case 1: return rg_cat(RG_TENSORS(x, rg_flip(x, RG_AXES(axis))), axis);
    case 2: return rg_roll(x, RG_INTS(1), RG_AXES(axis));
    case 3: return rg_transpose(x, 0, axis);
    case 4: return rg_narrow(x, axis, rnd(p, (uint32_t)s.d[axis] + 1), 0);
    case 5: return rg_repeat_interleave(x, rnd(p, 3), axis);
    case 6: return s.d[axis] ? rg_select(x, axis, rnd(p, (uint32_t)s.d[axis])) : x;
    case 7: return rank < RANK ? rg_unsqueeze(x, axis) : rg_flatten(x, 0, 1);
    default: return rg_slice(x, RG_SLICES({.start = rnd(p, 3), .stop = INT64_MAX, .step = 1 + rnd(p, 2)}));
    }
}

static rg_tensor looked_up(struct prog *p) {
    rg_tensor w = of_rank(p, 2);
    int64_t rows = dims_of(w).d[0];
    struct dims s = {.n = 1 + rnd(p, 2), .d = {rows ? size_of(p) : 0, size_of(p)}};
    return rg_embedding(numbers(p, RG_I64, ints(&s), 0, rows ? rows - 1 : 0), w);
}

static rg_tensor joined(struct prog *p) {
    rg_tensor x = any(p);
    switch (rnd(p, 5)) {
    case 0: return rg_add(x, 1);
    case 1: return rg_mul(x, x);
    case 2: return rg_maximum(x, 0);
    case 3: return rg_where(rg_gt(x, 1), x, rg_neg(x));
    default: return rg_masked_fill(x, rg_lt(x, 0), 3);
    }
}

static rg_tensor step(struct prog *p) {
    switch (rnd(p, 10)) {
    case 0:
    case 1:
    case 2: return indexed(p, rnd(p, 6));
    case 3:
    case 4: return window(p, rnd(p, 4));
    case 5: return reduced(p);
    case 6: return moved(p);
    case 7: return looked_up(p);
    default: return joined(p);
    }
}

static void note(struct prog *p, rg_tensor x) {
    int64_t size = rg_size(x);
    float v[512];
    if (size < 0 || size > 512 || p->outs + size + 1 > ROOM) return;
    if (rg_read(rg_cast(x, RG_F32), v, sizeof v)) return;
    for (int64_t i = 0; i < size; i++) p->out[p->outs++] = v[i];
    p->out[p->outs++] = (double)size;
}

static void run_steps(struct prog *p) {
    for (int i = 0; i < 3; i++) {
        struct dims s = {.n = 1 + rnd(p, RANK)};
        for (int64_t k = 0; k < s.n; k++) s.d[k] = size_of(p);
        rg_dtype dt = rnd(p, 2) ? RG_F32 : rnd(p, 2) ? RG_F64 : RG_F16;
        p->half |= dt == RG_F16;
        p->t[p->n++] = numbers(p, dt, ints(&s), -3, 4);
    }
    rg_tensor leaf[3] = {p->t[0], p->t[1], p->t[2]}, g[3];
    for (int i = 0; i < STEPS && !rg_status_of(p->c); i++) {
        rg_tensor y = step(p);
        if (rg_status_of(p->c)) return;
        if (rg_rank(y) < 1 || rg_rank(y) > RANK || rg_size(y) > 200) continue;
        p->t[p->n < POOL ? p->n++ : rnd(p, POOL - 3) + 3] = y;
        if (rnd(p, 3) == 0) rg_realize(y);
        if (rnd(p, 4) == 0) note(p, y);
    }
    rg_tensor loss = rg_sum(rg_square(rg_cast(p->t[p->n - 1], RG_F32)));
    for (uint32_t i = 3; i + 1 < p->n; i++) loss = rg_add(loss, rg_sum(rg_cast(p->t[i], RG_F32)));
    if (rg_grad(loss, ((rg_tensors){leaf, 3}), g, .unused_ok = true)) return;
    for (uint32_t i = 3; i < p->n; i++) note(p, p->t[i]);
    for (int i = 0; i < 3; i++) note(p, g[i]);
}

static void run_on(const char *device, uint64_t seed, struct prog *p) {
    *p = (struct prog){.c = rg_open(device), .state = seed * 0x9e3779b97f4a7c15u + 1};
    if (rg_status_of(p->c)) FAIL("%s", rg_error(p->c));
    run_steps(p);
    if (rg_status_of(p->c)) FAIL("program %llu on %s: %s", (unsigned long long)seed, device, rg_error(p->c));
    CHECK_EQ(rg_close(p->c), 0);
}

static bool same(double a, double b, double within) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= within * fmax(1, fabs(b));
}

static void run_programs(uint64_t first, uint32_t n) {
    struct prog *ref = malloc(sizeof *ref), *cpu = malloc(sizeof *cpu);
    uint64_t compared = 0;
    for (uint64_t seed = first; seed < first + n; seed++) {
        run_on("REF", seed, ref);
        run_on("CPU", seed, cpu);
        CHECK_EQ(ref->outs, cpu->outs);
        for (uint32_t i = 0; i < ref->outs; i++)
            if (!same(cpu->out[i], ref->out[i], ref->half ? 2e-2 : 1e-4))
                FAIL("program %llu: number %u of %u is %.9g on CPU, %.9g on REF", (unsigned long long)seed, i,
                     ref->outs, cpu->out[i], ref->out[i]);
        compared += ref->outs;
    }
    free(ref), free(cpu);
    CHECK(compared > 20 * n);
    TEST_INFO("%u programs, %llu numbers compared", n, (unsigned long long)compared);
}
TEST_SLOW(edges_random_0, 300) { run_programs(1, 10); }
TEST_SLOW(edges_random_1, 300) { run_programs(21, 10); }
TEST_MANUAL(edges_random_many, 3000) { run_programs(1000, 1000); }
