/* peak.c: fewer bytes that live at once, by when calls run.
 *
 * A call whose result is read much later runs when what it reads dies, or else just before its first reader: nothing is kept longer,
 * and its result shorter. A training step keeps some values in two orders of axes, one for the forward pass or the gradient of what
 * comes after, one for the gradient of weights, and results of a norm beside what they are made of: one that is read on both sides of
 * the peak is made again after it, from what is kept anyway, where that saves a greater share of memory than it adds to the bytes that are moved (seconds are those of the machine's threads,
 * and no plan depends on these).
 * Requires: calls in a legal order, each run once, none beside others (collectives). Gives: another one.
 * Tests: tests/unit/schedule_peak.c */
#include "schedule/internal.h"

enum { PEAK_LEAST = 1 << 24, PEAK_CALLS = 4096 }; /* bytes between kernels; calls, at most */
enum { PEAK_PART = 512 };                         /* a value of at least such a part of the peak counts */
enum { PEAK_MOVES = 256 };
#define PEAK_WORTH 3.0   /* a share of the bytes that are moved is worth so much of the memory .. */
#define PEAK_MOVED 0.025 /* .. and no more is spent */

struct peak {
    struct arena *a;
    struct schedule *s;
    bool lean;              /* however little is saved, whatever it costs */
    const uint8_t **stores; /* by program and slot: it is stored */
    uint8_t *cheap;         /* by program: one result, of simple functions element by element */
    VEC(uint32_t) * use;    /* by sched_buf: calls, in order */
    uint32_t bufs, at;      /* of `use`; the call where most bytes live */
    uint32_t moves;
    double left;                  /* bytes that may still be moved */
    int64_t most, *live, *across; /* by call: bytes that live; those of them that were made before */
};

static int64_t bytes_of(const struct sched_buf *b) { return b->elements * dtype_info[b->dt].bytes; }

/* Of a builtin or a batch, whose slots cannot be told apart, all count as stored. */
static void find_stores(struct peak *p, uint32_t prog) {
    const struct sched_prog *x = &p->s->prog.p[prog];
    uint8_t *stored = arena_array(p->a, uint8_t, x->nbuf + 1);
    uint32_t stores = 0;
    bool all = x->builtin, cheap = true;
    uop_vec topo = {0};
    p->stores[prog] = stored;
    if (!all) uop_topo(p->a, &x->kernel.sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        all |= n->op == OP_PARAMS;
        cheap &= n->op != OP_REDUCE && n->op != OP_SCAN && n->op != OP_STORE_ADD &&
                 op_statements((enum op)n->op) <= 1;
        if (n->op != OP_STORE && n->op != OP_STORE_ADD) continue;
        stores++;
        if (access_buf(n)->op == OP_PARAM) stored[access_buf(n)->arg.param.slot] = 1;
    }
    if (all) memset(stored, 1, x->nbuf);
    p->cheap[prog] = !all && cheap && stores == 1;
}

static void find_uses(struct peak *p) {
    struct schedule *s = p->s;
    if (p->bufs < s->buf.n) p->use = arena_calloc(p->a, p->bufs = s->buf.n, sizeof *p->use);
    for (uint32_t i = 0; i < s->buf.n; i++) p->use[i].n = 0;
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_call *c = &s->call.p[i];
        for (uint32_t k = 0; k < s->prog.p[c->prog].nbuf; k++) {
            uint32_t b = c->buf[k], n = p->use[b].n;
            if (!n || p->use[b].p[n - 1] != i) vec_push(p->a, &p->use[b], i);
        }
    }
    for (uint32_t i = 0; i < s->buf.n; i++) {
        uint32_t n = p->use[i].n;
        s->buf.p[i].first = n ? p->use[i].p[0] : UINT32_MAX;
        s->buf.p[i].last = n ? p->use[i].p[n - 1] : 0;
    }
}

static void find_peak(struct peak *p) {
    struct schedule *s = p->s;
    int64_t *end = arena_array(p->a, int64_t, s->call.n + 1), live = 0;
    find_uses(p);
    p->live = arena_array(p->a, int64_t, s->call.n + 1);
    p->across = arena_array(p->a, int64_t, s->call.n + 1);
    p->most = p->at = 0;
    for (uint32_t i = 0; i < s->buf.n; i++) {
        const struct sched_buf *b = &s->buf.p[i];
        if (b->kind != BUF_TEMP || b->first == UINT32_MAX) continue;
        p->live[b->first] += bytes_of(b), end[b->last] += bytes_of(b);
    }
    for (uint32_t i = 0; i < s->call.n; i++) {
        p->across[i] = live;
        live = p->live[i] += live;
        if (live > p->most) p->most = live, p->at = i;
        live -= end[i];
    }
}

static bool stores(const struct peak *p, uint32_t call, uint32_t buf) {
    const struct sched_call *c = &p->s->call.p[call];
    for (uint32_t k = 0; k < p->s->prog.p[c->prog].nbuf; k++)
        if (c->buf[k] == buf && p->stores[c->prog][k]) return true;
    return false;
}

/* The first call after `call` that uses a buffer; stored: that stores it. */
static uint32_t next_use(const struct peak *p, uint32_t call, uint32_t buf, bool stored) {
    for (uint32_t i = 0; i < p->use[buf].n; i++) {
        uint32_t u = p->use[buf].p[i];
        if (u > call && (!stored || stores(p, u, buf))) return u;
    }
    return p->s->call.n;
}

/* The call before which `call` can run again at the latest: what it reads is kept until then, or so small that it can be. */
static uint32_t kept_until(const struct peak *p, uint32_t call) {
    const struct sched_call *c = &p->s->call.p[call];
    uint32_t until = p->s->call.n, n = p->s->prog.p[c->prog].nbuf;
    int64_t made = 0;
    for (uint32_t k = 0; k < n; k++)
        if (p->stores[c->prog][k]) made = RG_MAX(made, bytes_of(&p->s->buf.p[c->buf[k]]));
    for (uint32_t k = 0; k < n; k++) {
        const struct sched_buf *b = &p->s->buf.p[c->buf[k]];
        if (p->stores[c->prog][k]) continue;
        until = RG_MIN(until, next_use(p, call, c->buf[k], true));
        if (b->kind == BUF_TEMP && bytes_of(b) > made / PEAK_PART) until = RG_MIN(until, b->last);
    }
    return until;
}

/* ---- later ------------------------------------------------------------------------------------------------------ */

/* The call before which `call` runs at the latest, with bytes of what it makes. */
static uint32_t latest(const struct peak *p, uint32_t call, int64_t *bytes) {
    const struct sched_call *c = &p->s->call.p[call];
    uint32_t until = kept_until(p, call);
    *bytes = 0;
    for (uint32_t k = 0; k < p->s->prog.p[c->prog].nbuf; k++) {
        const struct sched_buf *b = &p->s->buf.p[c->buf[k]];
        if (!p->stores[c->prog][k]) continue;
        until = RG_MIN(until, next_use(p, call, c->buf[k], false));
        if (b->kind == BUF_TEMP && b->first == call) *bytes += bytes_of(b);
    }
    return until;
}

/* Moves the call that takes most from the peak behind it. False: there is none. */
static bool delay_one(struct peak *p) {
    struct sched_call *call = p->s->call.p;
    uint32_t from = UINT32_MAX, to = 0;
    int64_t most = p->lean ? 0 : p->most / PEAK_PART;
    for (uint32_t i = p->at + 1; i-- > 0;) {
        int64_t bytes;
        uint32_t until = latest(p, i, &bytes);
        if (until > p->at && until > i + 1 && bytes > most) from = i, to = until, most = bytes;
    }
    if (from == UINT32_MAX) return false;
    struct sched_call c = call[from];
    memmove(&call[from], &call[from + 1], (to - 1 - from) * sizeof *call);
    call[to - 1] = c;
    find_peak(p);
    return true;
}

/* ---- sooner ----------------------------------------------------------------------------------------------------- */

/* The last call before `call` that uses a buffer, + 1, or 0; stored: that stores it. */
static uint32_t after_use(const struct peak *p, uint32_t call, uint32_t buf, bool stored) {
    uint32_t after = 0;
    for (uint32_t i = 0; i < p->use[buf].n && p->use[buf].p[i] < call; i++)
        if (!stored || stores(p, p->use[buf].p[i], buf)) after = p->use[buf].p[i] + 1;
    return after;
}

/* Where `call`, which runs after the peak, could run before it and then end lives: bytes that the peak has less. */
static int64_t advance(const struct peak *p, uint32_t call, uint32_t *to) {
    const struct sched_call *c = &p->s->call.p[call];
    int64_t freed = 0, made = 0;
    *to = 0;
    for (uint32_t k = 0; k < p->s->prog.p[c->prog].nbuf; k++) {
        const struct sched_buf *b = &p->s->buf.p[c->buf[k]];
        bool stored = p->stores[c->prog][k], mine = b->kind == BUF_TEMP && b->last == call;
        uint32_t after = after_use(p, call, c->buf[k], !stored), last = after_use(p, call, c->buf[k], false);
        *to = RG_MAX(*to, after);
        if (b->kind == BUF_TEMP && b->first == call) made += bytes_of(b);
        if (mine && !stored && last <= p->at) freed += bytes_of(b), *to = RG_MAX(*to, last);
    }
    return *to > p->at || p->across[*to] + made >= p->most ? 0 : freed - made;
}

/* Moves a call from behind the peak to before it: the gradient of weights, which is the last to read what the forward pass kept. */
static bool advance_one(struct peak *p) {
    struct sched_call *call = p->s->call.p;
    uint32_t from = UINT32_MAX, to = 0, before;
    int64_t most = p->lean ? 0 : p->most / PEAK_PART;
    for (uint32_t i = p->at + 1; i < p->s->call.n; i++) {
        int64_t bytes = advance(p, i, &before);
        if (bytes > most) from = i, to = before, most = bytes;
    }
    if (from == UINT32_MAX) return false;
    struct sched_call c = call[from];
    memmove(&call[to + 1], &call[to], (from - to) * sizeof *call);
    call[to] = c;
    find_peak(p);
    return true;
}

/* ---- again ------------------------------------------------------------------------------------------------------ */

struct copy_again { /* a value that is made a second time */
    uint32_t call, buf, before;
    int share;     /* its bytes, in twentieths of those that this moves */
    int64_t bytes; /* of its result */
};

static bool is_worth(const struct peak *p, double bytes, double most, double moved) {
    return p->lean || bytes * p->s->bytes >= PEAK_WORTH * moved * most;
}

/* Is the result of `call`, which is cheap, read on both sides of the peak, and what it reads kept? */
static bool can_repeat(const struct peak *p, uint32_t call, struct copy_again *r) {
    const struct sched_call *c = &p->s->call.p[call];
    const struct sched_prog *x = &p->s->prog.p[c->prog];
    uint32_t k = 0;
    if (!p->cheap[c->prog]) return false;
    while (!p->stores[c->prog][k]) k++;
    const struct sched_buf *b = &p->s->buf.p[c->buf[k]];
    uint32_t later = next_use(p, p->at, c->buf[k], false);
    if (b->kind != BUF_TEMP || b->first != call || later == p->s->call.n) return false;
    for (uint32_t i = 0; i < p->use[c->buf[k]].n; i++) {
        uint32_t u = p->use[c->buf[k]].p[i];
        if (u == p->at || (u != call && stores(p, u, c->buf[k]))) return false;
    }
    *r = (struct copy_again){call, c->buf[k], RG_MIN(later, kept_until(p, call)),
                             (int)(20.0 * (double)bytes_of(b) / RG_MAX(x->bytes, 1) + 0.5), bytes_of(b)};
    bool counts = p->lean || (bytes_of(b) > p->most / PEAK_PART && x->bytes <= p->left);
    return r->before > p->at && counts && is_worth(p, (double)bytes_of(b), (double)p->most, x->bytes);
}

static void repeat(struct peak *p, const struct copy_again *r) {
    struct schedule *s = p->s;
    struct sched_call c = s->call.p[r->call];
    uint32_t made = s->buf.n;
    vec_push(p->a, &s->buf, s->buf.p[r->buf]);
    vec_push(p->a, &s->call, c);
    memmove(&s->call.p[r->before + 1], &s->call.p[r->before],
            (s->call.n - 1 - r->before) * sizeof *s->call.p);
    s->call.p[r->before] = c;
    for (uint32_t i = r->before; i < s->call.n; i++) {
        uint32_t n = s->prog.p[s->call.p[i].prog].nbuf, *buf = arena_array(p->a, uint32_t, n + 1);
        bool any = false;
        for (uint32_t k = 0; k < n; k++) {
            buf[k] = s->call.p[i].buf[k] == r->buf ? made : s->call.p[i].buf[k];
            any |= buf[k] == made;
        }
        if (any) s->call.p[i].buf = buf;
    }
    s->seconds += s->prog.p[c.prog].seconds, s->bytes += s->prog.p[c.prog].bytes;
    find_peak(p);
}

static bool is_better(const struct copy_again *a, const struct copy_again *b) {
    return a->share != b->share ? a->share > b->share : a->bytes > b->bytes;
}

static bool repeat_one(struct peak *p) {
    struct copy_again best = {.bytes = 0}, r;
    for (uint32_t i = 0; i < p->at; i++)
        if (can_repeat(p, i, &r) && is_better(&r, &best)) best = r;
    if (best.bytes) repeat(p, &best);
    return best.bytes > 0;
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static struct schedule copy_of(struct arena *a, const struct schedule *s) {
    struct schedule c = *s;
    c.call.p = arena_alloc(a, c.call.cap * sizeof *c.call.p);
    c.buf.p = arena_alloc(a, c.buf.cap * sizeof *c.buf.p);
    memcpy(c.call.p, s->call.p, c.call.n * sizeof *c.call.p);
    memcpy(c.buf.p, s->buf.p, c.buf.n * sizeof *c.buf.p);
    return c;
}

static void move_calls(struct peak *p) {
    while (p->moves < PEAK_MOVES && (delay_one(p) || advance_one(p))) p->moves++;
}

/* Values are made again as long as what all of them save is worth what they move. */
static void repeat_copies(struct peak *p) {
    struct schedule keep = copy_of(p->a, p->s);
    double bytes = p->s->bytes, most = (double)p->most;
    p->left = PEAK_MOVED * bytes;
    for (; p->moves < PEAK_MOVES && repeat_one(p); p->moves++) {
        double spent = p->s->bytes - bytes;
        p->left = PEAK_MOVED * bytes - spent;
        move_calls(p);
        double saved = most - (double)p->most;
        if (saved > 0 && is_worth(p, saved, most, spent)) keep = copy_of(p->a, p->s);
    }
    *p->s = keep;
}

void lower_peak(struct arena *a, struct schedule *s, bool lean) {
    struct peak p = {.a = a, .s = s, .lean = lean};
    if (!s->call.n || s->call.n > PEAK_CALLS) return;
    find_peak(&p);
    if (!lean && p.most < PEAK_LEAST) return;
    p.stores = arena_array(a, const uint8_t *, s->prog.n + 1);
    p.cheap = arena_array(a, uint8_t, s->prog.n + 1);
    for (uint32_t i = 0; i < s->prog.n; i++) find_stores(&p, i);
    move_calls(&p);
    repeat_copies(&p);
    find_peak(&p);
}
