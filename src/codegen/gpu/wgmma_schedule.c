/* wgmma_schedule.c: schedules loops with several dependent GEMMs (attention, forward and backward): the order of their
 * statements, and where they wait for wgmma.
 *
 * wgmmas complete in the order in which they are issued, while the program goes on. So:
 *
 *   order   a GEMM is issued as soon as its operands are there, first the one that waits for the earliest GEMM; before it
 *           come only the statements that it needs. Backward: S and dP are issued together, P is computed from S under dP,
 *           dV is issued, dS is computed from dP under dV.
 *   waits   each GEMM is a commit group; a statement that touches what a GEMM writes, or overwrites what it reads, waits
 *           for that group and earlier ones: WGMMA_WAIT(groups issued later).
 *   carry   groups in flight at the end of an iteration may complete in the next, if the next waits for them anyway;
 *           the pipeline then keeps their stages one iteration longer.
 *
 * Dependences are those of accumulators; tiles are the caller's. Statements of other kinds keep their position.
 * Requires: tree_mma. Tests: tests/unit/gpu_attention.c, gpu_attention_grad.c, and the interpreter, which finds accumulators
 * that are used too early. */
#include "codegen/internal.h"

enum { IN_FLIGHT_MAX = 16 };

struct wgmma_item { /* a statement, or the wgmmas of a GEMM */
    uop_vec stmts;
    bool gemm;
    uint64_t read, written; /* accumulators, as bits */
};

struct wgmma_order {
    struct ir *ir;
    struct arena *a;
    VEC(struct wgmma_item) item;
    VEC(int64_t) acc; /* their ids, in the order of their bits */
    bool *needs;      /* [i * n + k]: item i depends on item k, transitively */
    VEC(uint32_t) order;
    struct wgmma_item *in_flight[IN_FLIGHT_MAX]; /* GEMMs, oldest first */
    uint32_t nin_flight;
};

/* ---- dependences --------- --------------------------------------------------------------------------------- */

static uint64_t acc_bit(struct wgmma_order *c, const uop *acc) {
    uint32_t i = 0;
    while (i < c->acc.n && c->acc.p[i] != acc->arg.i) i++;
    if (i == c->acc.n) vec_push(c->a, &c->acc, acc->arg.i);
    return 1ull << i % 64; /* a shared bit only adds waits */
}

static uint64_t accs_below(struct wgmma_order *c, const uop *n) {
    uop_vec topo = {0};
    uint64_t bits = 0;
    uop_topo(c->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_ACC) bits |= acc_bit(c, topo.p[i]);
    return bits;
}

static void touch(struct wgmma_order *c, struct wgmma_item *x, const uop *s) {
    if (s->op == OP_IF || s->op == OP_BLOCK) {
        if (s->op == OP_IF) x->read |= accs_below(c, s->src[0]);
        for (uint32_t i = s->op == OP_IF; i < s->nsrc; i++) touch(c, x, s->src[i]);
    } else if (s->op == OP_SET || s->op == OP_WARP_REDUCE) {
        x->written |= acc_bit(c, s->src[0]);
        x->read |= accs_below(c, s->src[1]);
    } else if (s->op == OP_MMA) {
        x->written |= acc_bit(c, s->src[0]);
        for (uint32_t i = s->nsrc - 2; i < s->nsrc; i++) x->read |= accs_below(c, s->src[i]);
    } else {
        x->read = x->written = UINT64_MAX;
    }
}

const uop *mma_begins(struct ir *ir, const uop_vec *body, uint32_t i) {
    const uop *s = body->p[i], *next = i + 1 < body->n ? body->p[i + 1] : NULL;
    if (s->op != OP_SET || !next || next->op != OP_MMA || next->src[0]->arg.i != s->src[0]->arg.i)
        return NULL;
    if (s->src[1]->op != OP_CONST || s->src[1]->arg.f != 0) return NULL;
    union arg arg = next->arg;
    arg.mma.zero_init = 1;
    return uop_new(ir, OP_MMA, DT_VOID, 1, next->src, next->nsrc, arg);
}

static void find_items(struct wgmma_order *c, const uop_vec *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        const uop *s = body->p[i], *first = mma_begins(c->ir, body, i);
        if (first) s = first, i++;
        struct wgmma_item *last = c->item.n ? &c->item.p[c->item.n - 1] : NULL;
        bool more = last && last->gemm && s->op == OP_MMA && !s->arg.mma.zero_init &&
                    last->stmts.p[0]->src[0]->arg.i == s->src[0]->arg.i;
        if (!more) {
            vec_push(c->a, &c->item, ((struct wgmma_item){.gemm = s->op == OP_MMA}));
            last = &c->item.p[c->item.n - 1];
        }
        vec_push(c->a, &last->stmts, s);
        touch(c, last, s);
    }
}

/* ---- the order ----------------------------------------------------------------------------------------------- */

static void find_needs(struct wgmma_order *c) {
    uint32_t n = c->item.n;
    c->needs = arena_array(c->a, bool, n *n + 1);
    memset(c->needs, 0, n * n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct wgmma_item *x = &c->item.p[i], *y = &c->item.p[k];
            if (!(y->written & (x->read | x->written)) && !(y->read & x->written)) continue;
            c->needs[i * n + k] = true;
            for (uint32_t j = 0; j < k; j++) c->needs[i * n + j] |= c->needs[k * n + j];
        }
}

static uint32_t order_index(const struct wgmma_order *c, uint32_t item) {
    for (uint32_t i = 0; i < c->order.n; i++)
        if (c->order.p[i] == item) return i;
    return UINT32_MAX;
}

/* Position of the last GEMM that item i waits for: 0 none; UINT32_MAX one is not issued yet. */
static uint32_t waits_for(const struct wgmma_order *c, uint32_t i) {
    uint32_t last = 0;
    for (uint32_t k = 0; k < i; k++) {
        if (!c->needs[i * c->item.n + k] || !c->item.p[k].gemm) continue;
        uint32_t at = order_index(c, k);
        if (at == UINT32_MAX) return at;
        last = RG_MAX(last, at + 1);
    }
    return last;
}

static void find_order(struct wgmma_order *c) {
    for (uint32_t n = c->item.n;;) {
        uint32_t best = n, least = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            if (!c->item.p[i].gemm || order_index(c, i) != UINT32_MAX) continue;
            uint32_t w = waits_for(c, i);
            if (w < least) best = i, least = w;
        }
        for (uint32_t k = 0; k < n; k++) {
            bool now = best == n || k == best || c->needs[best * n + k];
            if (now && order_index(c, k) == UINT32_MAX) vec_push(c->a, &c->order, k);
        }
        if (best == n) return;
    }
}

/* ---- the statements ------------------------------------------------------------------------------------------ */

static void put_op(struct wgmma_order *c, uop_vec *out, enum op op, int64_t n) {
    vec_push(c->a, out, uop_mk(c->ir, op, NULL, 0, ARG_INT(n)));
}

/* A nested block: later passes move nothing out of it. */
static void put_part(struct wgmma_order *c, uop_vec *part, uop_vec *out) {
    if (part->n) vec_push(c->a, out, tree_block(c->ir, part));
    part->n = 0;
}

static void wait_oldest(struct wgmma_order *c, uint32_t done, uop_vec *out) {
    put_op(c, out, OP_WGMMA_WAIT, c->nin_flight - done);
    memmove(c->in_flight, c->in_flight + done, (c->nin_flight - done) * sizeof *c->in_flight);
    c->nin_flight -= done;
}

/* How many of the GEMMs in flight must complete before x. Those of one accumulator are ordered by
 * hardware. */
static uint32_t count_complete(const struct wgmma_order *c, const struct wgmma_item *x) {
    uint32_t done = 0;
    for (uint32_t i = 0; i < c->nin_flight; i++) {
        const struct wgmma_item *y = c->in_flight[i];
        uint64_t written = x->gemm ? 0 : y->written & x->written;
        if (written | (y->written & x->read) | (y->read & x->written)) done = i + 1;
    }
    return done;
}

static void write_items(struct wgmma_order *c, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < c->order.n; i++) {
        struct wgmma_item *x = &c->item.p[c->order.p[i]];
        uint32_t done = count_complete(c, x);
        if (c->nin_flight == IN_FLIGHT_MAX) done = RG_MAX(done, 1);
        if (done || x->gemm) put_part(c, &part, out);
        if (done) wait_oldest(c, done, out);
        if (x->gemm) put_op(c, &part, OP_WGMMA_FENCE, 0);
        for (uint32_t k = 0; k < x->stmts.n; k++) vec_push(c->a, &part, x->stmts.p[k]);
        if (!x->gemm) continue;
        put_op(c, &part, OP_WGMMA_COMMIT, 0);
        put_part(c, &part, out);
        c->in_flight[c->nin_flight++] = x;
    }
    put_part(c, &part, out);
}

/* Does everything that an iteration leaves in flight complete by the end of the next? */
static bool can_carry(struct wgmma_order *c) {
    uop_vec out = {0};
    write_items(c, &out);
    uint32_t left = c->nin_flight;
    write_items(c, &out);
    return left == c->nin_flight;
}

bool wgmma_schedule_body(struct ir *ir, const uop_vec *body, bool carry, uop_vec *out) {
    struct wgmma_order c = {.ir = ir, .a = ir->arena};
    find_items(&c, body);
    find_needs(&c);
    find_order(&c);
    carry = carry && can_carry(&c);
    if (!carry) c.nin_flight = 0;
    write_items(&c, out);
    if (!carry && c.nin_flight) wait_oldest(&c, c.nin_flight, out);
    return carry;
}
