/* wgmma_schedule.c: loops with several products, of which one computes with what another leaves (attention, both ways): in which order
 * their statements run, and where they wait for MMA instructions.
 *
 * Instructions of a warpgroup run in the order in which they are begun, while the program goes on. So:
 *
 *   order   a product is begun as early as its operands are there, those first that wait for the earliest product; before it
 *           stand only the statements that it needs. The gradients of attention: S and dP are begun together, P is taken from
 *           S while dP is computed, dV is begun, and dS is taken from dP while dV is computed.
 *   waits   each product is a group; a statement that touches what a product writes, or overwrites what it reads, waits for
 *           that group and what was begun before it, and not for those begun later: WGMMA_WAIT(how many are later).
 *   carry   what is still under way at the end of an iteration may go on into the next one, if the next one waits for it in
 *           any case: whoever fills the tiles again must know that they are read that long.
 *
 * What statements touch are accumulators; tiles are the caller's care. A statement of another kind keeps its place.
 * Requires: tree_mma. Tests: tests/unit/gpu_attention.c, and the interpreter of linear programs, which finds accumulators
 * that are used too early. */
#include "codegen/internal.h"

enum { MOST_UNDER_WAY = 16 };

struct item { /* a statement, or the instructions of a product */
    uop_vec stmts;
    bool product;
    uint64_t read, written; /* accumulators */
};

struct weave {
    struct ir *ir;
    struct arena *a;
    VEC(struct item) item;
    VEC(int64_t) acc; /* their numbers, in the order of their bits */
    bool *needs;      /* [i * n + k]: item i comes after item k, and after what that needs */
    VEC(uint32_t) order;
    struct item *under_way[MOST_UNDER_WAY]; /* products, oldest first */
    uint32_t nunder_way;
};

/* ---- what statements touch --------------------------------------------------------------------------------- */

static uint64_t acc_bit(struct weave *c, const uop *acc) {
    uint32_t i = 0;
    while (i < c->acc.n && c->acc.p[i] != acc->arg.i) i++;
    if (i == c->acc.n) vec_push(c->a, &c->acc, acc->arg.i);
    return 1ull << i % 64; /* two with one bit: more is waited for */
}

static uint64_t accs_below(struct weave *c, const uop *n) {
    uop_vec topo = {0};
    uint64_t bits = 0;
    uop_topo(c->a, &n, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++)
        if (topo.p[i]->op == OP_ACC) bits |= acc_bit(c, topo.p[i]);
    return bits;
}

static void touch(struct weave *c, struct item *x, const uop *s) {
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
    arg.mma.fresh = 1;
    return uop_new(ir, OP_MMA, DT_VOID, 1, next->src, next->nsrc, arg);
}

static void find_items(struct weave *c, const uop_vec *body) {
    for (uint32_t i = 0; i < body->n; i++) {
        const uop *s = body->p[i], *first = mma_begins(c->ir, body, i);
        if (first) s = first, i++;
        struct item *last = c->item.n ? &c->item.p[c->item.n - 1] : NULL;
        bool more = last && last->product && s->op == OP_MMA && !s->arg.mma.fresh &&
                    last->stmts.p[0]->src[0]->arg.i == s->src[0]->arg.i;
        if (!more) {
            vec_push(c->a, &c->item, ((struct item){.product = s->op == OP_MMA}));
            last = &c->item.p[c->item.n - 1];
        }
        vec_push(c->a, &last->stmts, s);
        touch(c, last, s);
    }
}

/* ---- the order ----------------------------------------------------------------------------------------------- */

static void find_needs(struct weave *c) {
    uint32_t n = c->item.n;
    c->needs = arena_array(c->a, bool, n *n + 1);
    memset(c->needs, 0, n * n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct item *x = &c->item.p[i], *y = &c->item.p[k];
            if (!(y->written & (x->read | x->written)) && !(y->read & x->written)) continue;
            c->needs[i * n + k] = true;
            for (uint32_t j = 0; j < k; j++) c->needs[i * n + j] |= c->needs[k * n + j];
        }
}

static uint32_t place_in_order(const struct weave *c, uint32_t item) {
    for (uint32_t i = 0; i < c->order.n; i++)
        if (c->order.p[i] == item) return i;
    return UINT32_MAX;
}

/* Where the last product stands that item i waits for: 0 none; UINT32_MAX one is not begun yet. */
static uint32_t waits_for(const struct weave *c, uint32_t i) {
    uint32_t last = 0;
    for (uint32_t k = 0; k < i; k++) {
        if (!c->needs[i * c->item.n + k] || !c->item.p[k].product) continue;
        uint32_t at = place_in_order(c, k);
        if (at == UINT32_MAX) return at;
        last = RG_MAX(last, at + 1);
    }
    return last;
}

static void find_order(struct weave *c) {
    for (uint32_t n = c->item.n;;) {
        uint32_t best = n, least = UINT32_MAX;
        for (uint32_t i = 0; i < n; i++) {
            if (!c->item.p[i].product || place_in_order(c, i) != UINT32_MAX) continue;
            uint32_t w = waits_for(c, i);
            if (w < least) best = i, least = w;
        }
        for (uint32_t k = 0; k < n; k++) {
            bool now = best == n || k == best || c->needs[best * n + k];
            if (now && place_in_order(c, k) == UINT32_MAX) vec_push(c->a, &c->order, k);
        }
        if (best == n) return;
    }
}

/* ---- the statements ------------------------------------------------------------------------------------------ */

static void put_op(struct weave *c, uop_vec *out, enum op op, int64_t n) {
    vec_push(c->a, out, uop_mk(c->ir, op, NULL, 0, ARG_INT(n)));
}

/* A block of its own: nothing moves out of it. */
static void put_part(struct weave *c, uop_vec *part, uop_vec *out) {
    if (part->n) vec_push(c->a, out, tree_block(c->ir, part));
    part->n = 0;
}

static void wait_until(struct weave *c, uint32_t over, uop_vec *out) {
    put_op(c, out, OP_WGMMA_WAIT, c->nunder_way - over);
    memmove(c->under_way, c->under_way + over, (c->nunder_way - over) * sizeof *c->under_way);
    c->nunder_way -= over;
}

/* How many of the products under way must be over before x. Products that add to the same accumulator follow each other. */
static uint32_t must_be_over(const struct weave *c, const struct item *x) {
    uint32_t over = 0;
    for (uint32_t i = 0; i < c->nunder_way; i++) {
        const struct item *y = c->under_way[i];
        uint64_t written = x->product ? 0 : y->written & x->written;
        if (written | (y->written & x->read) | (y->read & x->written)) over = i + 1;
    }
    return over;
}

static void write_items(struct weave *c, uop_vec *out) {
    uop_vec part = {0};
    for (uint32_t i = 0; i < c->order.n; i++) {
        struct item *x = &c->item.p[c->order.p[i]];
        uint32_t over = must_be_over(c, x);
        if (c->nunder_way == MOST_UNDER_WAY) over = RG_MAX(over, 1);
        if (over || x->product) put_part(c, &part, out);
        if (over) wait_until(c, over, out);
        if (x->product) put_op(c, &part, OP_WGMMA_FENCE, 0);
        for (uint32_t k = 0; k < x->stmts.n; k++) vec_push(c->a, &part, x->stmts.p[k]);
        if (!x->product) continue;
        put_op(c, &part, OP_WGMMA_COMMIT, 0);
        put_part(c, &part, out);
        c->under_way[c->nunder_way++] = x;
    }
    put_part(c, &part, out);
}

/* Is everything that an iteration leaves under way over at the end of the next? Then the same is left in all iterations. */
static bool can_carry(struct weave *c) {
    uop_vec out = {0};
    write_items(c, &out);
    uint32_t left = c->nunder_way;
    write_items(c, &out);
    return left == c->nunder_way;
}

bool wgmma_schedule_body(struct ir *ir, const uop_vec *body, bool carry, uop_vec *out) {
    struct weave c = {.ir = ir, .a = ir->arena};
    find_items(&c, body);
    find_needs(&c);
    find_order(&c);
    carry = carry && can_carry(&c);
    if (!carry) c.nunder_way = 0;
    write_items(&c, out);
    if (!carry && c.nunder_way) wait_until(&c, c.nunder_way, out);
    return carry;
}
