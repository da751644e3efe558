/* exchange.c: collectives through memory that all ranks map.
 *
 * Data goes through slots of a megabyte or two (segment.c), two for each rank, used alternately: while others still read what a rank wrote in
 * the last step, it writes the next. One wait per step then orders everything: who reached step n has read step n - 1, whose slots
 * step n + 1 overwrites. Slots stay in the cache; memory sees each element read once and written once.
 * A large all-reduce divides the summing: each rank sums its share of a step, and the next wait makes the shares visible.
 * Tests: tests/unit/world.c; figures: bench/world.c */
#include "world/internal.h"

#if defined __SSE2__
#include <emmintrin.h>
#endif

enum { SMALL = 32 << 10 };     /* bytes of an all-reduce that every rank sums alone */
enum { SUM_PIECE = 16 << 10 }; /* bytes */

struct exchange {
    struct segment *s;
    const struct world_call *c;
    size_t width; /* bytes of an element */
    size_t step;  /* bytes of a step of an all-reduce */
};

static uint32_t next_parity(struct segment *s) { return ++s->step & 1; }

static void copy(void *to, const void *from, size_t n) {
    if (n) memcpy(to, from, n);
}

/* To memory that is not read soon: on x86 past the caches, which would read each line before it is overwritten. */
static void copy_out(void *to, const void *from, size_t n) {
#if defined __SSE2__
    size_t head = RG_MIN((size_t)(-(uintptr_t)to & 15), n), body = (n - head) / 64 * 64;
    copy(to, from, head);
    for (size_t i = head; i < head + body; i += 64) {
        const __m128i *p = (const __m128i *)((const char *)from + i);
        __m128i a = _mm_loadu_si128(p), b = _mm_loadu_si128(p + 1), c = _mm_loadu_si128(p + 2),
                d = _mm_loadu_si128(p + 3);
        __m128i *q = (__m128i *)((char *)to + i);
        _mm_stream_si128(q, a), _mm_stream_si128(q + 1, b), _mm_stream_si128(q + 2, c),
            _mm_stream_si128(q + 3, d);
    }
    copy((char *)to + head + body, (const char *)from + head + body, n - head - body);
    _mm_sfence();
#else
    copy(to, from, n);
#endif
}

static bool is_pair(const struct exchange *x) {
    return x->s->size == 2 && x->c->what.dt == DT_F32 && x->c->what.reduce == COLLECTIVE_SUM;
}

/* f32 of two ranks: to the result, past the caches, and to where the other rank takes it, in one pass. False: it is not that, or there are no
 * such stores. */
static bool sum_pair(const struct exchange *x, float *out, float *shared, const float *a, const float *b,
                     size_t n) {
#if defined __SSE2__
    size_t i = 0;
    if (!is_pair(x)) return false;
    for (; i < n && ((uintptr_t)(out + i) & 15); i++) out[i] = shared[i] = a[i] + b[i];
    for (; i + 4 <= n; i += 4) {
        __m128 sum = _mm_add_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i));
        _mm_stream_ps(out + i, sum), _mm_storeu_ps(shared + i, sum);
    }
    for (; i < n; i++) out[i] = shared[i] = a[i] + b[i];
    _mm_sfence();
    return true;
#else
    (void)x, (void)out, (void)shared, (void)a, (void)b, (void)n;
    return false;
#endif
}

/* Which elements of n rank r sums: shares are whole cache lines apart. */
static size_t share_of(const struct exchange *x, size_t n, uint32_t r) {
    size_t line = 64 / x->width, lines = (n + line - 1) / line;
    return RG_MIN(lines * r / x->s->size * line, n);
}

/* Every rank sums all of it: one wait. */
static int all_reduce_small(struct exchange *x, struct err *e) {
    struct segment *s = x->s;
    size_t n = (size_t)x->c->nin;
    uint32_t parity = next_parity(s);
    const void *in[SEGMENT_RANKS];
    copy(segment_slot(s, s->me, parity), x->c->in, n * x->width);
    if (sync_all(s, e)) return e->code;
    for (uint32_t r = 0; r < s->size; r++) in[r] = segment_slot(s, r, parity);
    reduce_tree(x->c->what.dt, x->c->what.reduce, x->c->out, in, s->size, n);
    return 0;
}

/* A step of a large all-reduce: elements [at, at + n), and what this rank sums of them. */
struct reduce_step {
    size_t at, n, from, to;
    uint32_t parity;
};

static struct reduce_step step_of(const struct exchange *x, size_t k) {
    size_t most = x->step / x->width, at = k * most, n = RG_MIN((size_t)x->c->nin - at, most);
    return (struct reduce_step){at, n, share_of(x, n, x->s->me), share_of(x, n, x->s->me + 1), k & 1};
}

/* What others sum, for them to read; this rank's share stays where it is. */
static void offer(const struct exchange *x, struct reduce_step p) {
    char *slot = segment_slot(x->s, x->s->me, p.parity);
    const char *in = (const char *)x->c->in + p.at * x->width;
    copy(slot, in, p.from * x->width);
    copy(slot + p.to * x->width, in + p.to * x->width, (p.n - p.to) * x->width);
}

/* In chunks that stay in L1 until they are copied to the result. */
static void sum_share(const struct exchange *x, struct reduce_step p) {
    const struct segment *s = x->s;
    const void *in[SEGMENT_RANKS];
    size_t piece = SUM_PIECE / x->width;
    for (size_t at = p.from; at < p.to; at += piece) {
        size_t n = RG_MIN(p.to - at, piece);
        char *sum = segment_result(s, p.parity) + at * x->width;
        for (uint32_t r = 0; r < s->size; r++) in[r] = segment_slot(s, r, p.parity) + at * x->width;
        in[s->me] = (const char *)x->c->in + (p.at + at) * x->width;
        void *out = (char *)x->c->out + (p.at + at) * x->width;
        if (sum_pair(x, out, (float *)sum, in[0], in[1], n)) continue;
        reduce_tree(x->c->what.dt, x->c->what.reduce, sum, in, s->size, n);
        copy_out(out, sum, n * x->width);
    }
}

static void take_sums(const struct exchange *x, struct reduce_step p) {
    char *out = (char *)x->c->out + p.at * x->width;
    const char *sum = segment_result(x->s, p.parity);
    copy_out(out, sum, p.from * x->width);
    copy_out(out + p.to * x->width, sum + p.to * x->width, (p.n - p.to) * x->width);
}

/* f32 of two ranks, where no store bypasses the caches: what a round does with three steps, in one loop. A core reads four streams
 * at once faster than one after the other, and a sum is stored twice while a register holds it. False: it is not that, or the steps differ in
 * size. */
static bool round_of_pair(const struct exchange *x, size_t k) {
    enum { LANES = 4, LINE = 16 }; /* floats */
    typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));
    struct reduce_step next = step_of(x, k), now = step_of(x, k - 1), last = step_of(x, k - 2);
    size_t n = now.to - now.from, theirs = n - now.from;
    if (WORLD_STORES_BYPASS || !is_pair(x) || next.n != now.n || 2 * n != now.n || n % LINE) return false;
    const float *in[2], *offer = (const float *)x->c->in + next.at + theirs;
    in[x->s->me] = (const float *)x->c->in + now.at + now.from;
    in[!x->s->me] = (const float *)segment_slot(x->s, !x->s->me, now.parity) + now.from;
    float *slot = (float *)segment_slot(x->s, x->s->me, next.parity) + theirs;
    float *sum = (float *)segment_result(x->s, now.parity) + now.from;
    float *out = (float *)x->c->out + now.at + now.from, *rest = (float *)x->c->out + last.at + theirs;
    const float *taken = (const float *)segment_result(x->s, last.parity) + theirs;
    for (size_t i = 0; i < n; i += LINE) {
        memcpy(slot + i, offer + i, LINE * sizeof *slot);
#pragma GCC unroll 4
        for (size_t j = i; j < i + LINE; j += LANES)
            *(lanes *)(sum + j) = *(lanes *)(out + j) =
                *(const lanes *)(in[0] + j) + *(const lanes *)(in[1] + j);
        memcpy(rest + i, taken + i, LINE * sizeof *rest);
    }
    return true;
}

/* Each rank sums its share. Three steps are under way at once, so that one wait orders all: step k is offered, k - 1 is summed, and
 * the sums of k - 2 are taken. Who is past wait k has read the slots of k - 1 and the results of k - 2, which come next. */
static int all_reduce_large(struct exchange *x, struct err *e) {
    size_t most = x->step / x->width, steps = ((size_t)x->c->nin + most - 1) / most;
    for (size_t k = 0; k < steps + 2;
         k++) { /* the next collective begins with a wait: the last sums are taken */
        bool whole = k >= 2 && k < steps && round_of_pair(x, k);
        if (!whole && k < steps) offer(x, step_of(x, k));
        if (!whole && k >= 1 && k <= steps) sum_share(x, step_of(x, k - 1));
        if (!whole && k >= 2) take_sums(x, step_of(x, k - 2));
        if (k < steps + 1 && sync_all(x->s, e)) return e->code;
    }
    return 0;
}

static int all_reduce(struct exchange *x, struct err *e) {
    x->step = is_pair(x) ? x->s->head->step_of_pair : x->s->head->step;
    return (size_t)x->c->nin * x->width <= SMALL ? all_reduce_small(x, e) : all_reduce_large(x, e);
}

/* Each rank has a part for every rank; `parts` are n elements each. Rank r's parts go to its slot side by side. */
static int parts_step(struct exchange *x, struct err *e, size_t n, size_t at, size_t m) {
    struct segment *s = x->s;
    uint32_t parity = next_parity(s);
    const char *in[SEGMENT_RANKS];
    char *mine = segment_slot(s, s->me, parity), *out = x->c->out;
    for (uint32_t r = 0; r < s->size; r++)
        copy(mine + r * m * x->width, (const char *)x->c->in + (r * n + at) * x->width, m * x->width);
    if (sync_all(s, e)) return e->code;
    for (uint32_t r = 0; r < s->size; r++) in[r] = segment_slot(s, r, parity) + s->me * m * x->width;
    if (x->c->what.kind == COLLECTIVE_REDUCE_SCATTER)
        reduce_tree(x->c->what.dt, x->c->what.reduce, out + at * x->width, (const void *const *)in, s->size,
                    m);
    else
        for (uint32_t r = 0; r < s->size; r++) copy(out + (r * n + at) * x->width, in[r], m * x->width);
    return 0;
}

static int parts(struct exchange *x, struct err *e) {
    size_t n = (size_t)x->c->nin / x->s->size, most = x->s->head->step / x->width / x->s->size;
    for (size_t at = 0; at < n; at += most)
        if (parts_step(x, e, n, at, RG_MIN(n - at, most))) return e->code;
    return 0;
}

static int all_gather(struct exchange *x, struct err *e) {
    struct segment *s = x->s;
    size_t n = (size_t)x->c->nin, most = s->head->step / x->width;
    for (size_t at = 0; at < n; at += most) {
        size_t m = RG_MIN(n - at, most);
        uint32_t parity = next_parity(s);
        copy(segment_slot(s, s->me, parity), (const char *)x->c->in + at * x->width, m * x->width);
        if (sync_all(s, e)) return e->code;
        for (uint32_t r = 0; r < s->size; r++)
            copy((char *)x->c->out + (r * n + at) * x->width, segment_slot(s, r, parity), m * x->width);
    }
    return 0;
}

static int broadcast(struct exchange *x, struct err *e) {
    struct segment *s = x->s;
    uint32_t root = (uint32_t)x->c->what.peer;
    size_t n = (size_t)x->c->nin, most = x->s->head->step / x->width;
    for (size_t at = 0; at < n; at += most) {
        size_t bytes = RG_MIN(n - at, most) * x->width;
        uint32_t parity = next_parity(s);
        if (s->me == root)
            copy(segment_slot(s, s->me, parity), (const char *)x->c->in + at * x->width, bytes);
        if (sync_all(s, e)) return e->code;
        copy((char *)x->c->out + at * x->width, segment_slot(s, root, parity), bytes);
    }
    return 0;
}

/* ---- between two ranks -------------------------------------------------------------------------------------------- */

/* Parts of a message: its own size is the first thing that goes over. */
static int send_message(struct exchange *x, struct err *e) {
    struct segment *s = x->s;
    uint32_t to = (uint32_t)x->c->what.peer;
    struct segment_channel *ch = segment_channel(s, s->me, to);
    size_t bytes = (size_t)x->c->nin * x->width;
    for (size_t at = 0; at == 0 || at < bytes; at += SEGMENT_CHANNEL) {
        uint32_t nth = s->sent[to];
        /* the header of a message waits for the last message's end, a part for the part before the last */
        if (sync_wait(s, e, to, &ch->taken, &ch->taken_sleepers, at ? nth - 1 : nth)) return e->code;
        if (!at) ch->call = (struct segment_call){collective_pack(x->c->what), x->c->nin, x->c->nout};
        if (bytes)
            copy(segment_channel_data(s, s->me, to, nth & 1), (const char *)x->c->in + at,
                 RG_MIN(bytes - at, (size_t)SEGMENT_CHANNEL));
        s->sent[to] = nth + 1;
        sync_set(&ch->sent, &ch->sent_sleepers, nth + 1);
    }
    copy(x->c->out, x->c->in, (size_t)RG_MIN(x->c->nin, x->c->nout) * x->width);
    return 0;
}

static int recv_message(struct exchange *x, struct err *e) {
    struct segment *s = x->s;
    uint32_t from = (uint32_t)x->c->what.peer;
    struct segment_channel *ch = segment_channel(s, from, s->me);
    size_t bytes = (size_t)x->c->nout * x->width;
    for (size_t at = 0; at == 0 || at < bytes; at += SEGMENT_CHANNEL) {
        uint32_t nth = s->taken[from];
        if (sync_wait(s, e, from, &ch->sent, &ch->sent_sleepers, nth + 1)) return e->code;
        struct collective sent = collective_unpack(ch->call.code);
        char a[WORLD_TEXT], b[WORLD_TEXT];
        if (!at && (sent.dt != x->c->what.dt || ch->call.nin != x->c->nout))
            return sync_fail(s, e, RG_EINVAL,
                             "rank %u calls %s, and rank %u receives it with %s: one dtype and one number of "
                             "elements are needed",
                             from, world_describe(a, ch->call.code, ch->call.nin, ch->call.nin), s->me,
                             world_describe(b, collective_pack(x->c->what), x->c->nout, x->c->nout));
        if (bytes)
            copy((char *)x->c->out + at, segment_channel_data(s, from, s->me, nth & 1),
                 RG_MIN(bytes - at, (size_t)SEGMENT_CHANNEL));
        s->taken[from] = nth + 1;
        sync_set(&ch->taken, &ch->taken_sleepers, nth + 1);
    }
    return 0;
}

/* ---- entry ------------------------------------------------------------------------------------------------------------ */

/* All ranks have said what they are about to do: all find the same difference. */
static int compare(struct segment *s, struct err *e, uint32_t parity) {
    const struct segment_call *first = &s->head->rank[0].call[parity];
    for (uint32_t r = 1; r < s->size; r++) {
        const struct segment_call *c = &s->head->rank[r].call[parity];
        char a[WORLD_TEXT], b[WORLD_TEXT];
        if (c->code == first->code && c->nin == first->nin && c->nout == first->nout) continue;
        return sync_fail(s, e, RG_EINVAL,
                         "collective %llu differs between ranks: rank 0 calls %s, rank %u calls %s; all "
                         "ranks make the same "
                         "calls in the same order",
                         (unsigned long long)s->count,
                         world_describe(a, first->code, first->nin, first->nout), r,
                         world_describe(b, c->code, c->nin, c->nout));
    }
    return 0;
}

static int run_all(struct exchange *x, struct err *e) {
    struct segment *s = x->s;
    uint32_t parity = (uint32_t)(s->count & 1);
    s->head->rank[s->me].call[parity] =
        (struct segment_call){collective_pack(x->c->what), x->c->nin, x->c->nout};
    if (sync_all(s, e) || compare(s, e, parity)) return e->code;
    s->w->came_ns = os_now_ns();
    switch (x->c->what.kind) {
    case COLLECTIVE_ALL_REDUCE: return all_reduce(x, e);
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_TO_ALL: return parts(x, e);
    case COLLECTIVE_ALL_GATHER: return all_gather(x, e);
    case COLLECTIVE_BROADCAST: return broadcast(x, e);
    default: copy(x->c->out, x->c->in, (size_t)x->c->nin * x->width); return 0; /* a barrier */
    }
}

int segment_run(struct segment *s, struct err *e, const struct world_call *c) {
    struct exchange x = {.s = s, .c = c, .width = dtype_info[c->what.dt].bytes};
    struct segment_rank *me = &s->head->rank[s->me];
    bool pair = c->what.kind == COLLECTIVE_SEND || c->what.kind == COLLECTIVE_RECV;
    s->count += !pair;
    atomic_store(&me->at, s->count * 2 + 1);
    int code = pair ? (c->what.kind == COLLECTIVE_SEND ? send_message : recv_message)(&x, e) : run_all(&x, e);
    atomic_store(&me->at, s->count * 2);
    return code;
}
