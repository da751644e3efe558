/* gpu_block.c: which loops of a linear program the threads of a block can share.
 *
 * The opt BLOCK asks for it by giving an axis the kind THREAD; the program stays one that runs in order, and says
 * nothing else. A block runs one iteration of the grid: what stands outside of shared loops is computed by every thread
 * alike and stored by one of them; of a shared loop each thread takes every so-manieth value. What a reduction
 * carries from value to value is begun anew in each thread, combined after the loop in a fixed order, and known to all:
 * the same sum in every run.
 * Here it is proved that a loop may be shared: an accumulator that it sets is either made anew for each value and read
 * by nobody else, or only ever becomes `itself op something`. Where that cannot be shown, and in programs with
 * scratch memory, the loop is run by every thread as it is: slow, and right.
 * Tests: tests/unit/cuda.c */
#include "render/gpu.h"

#define MOST_CELLS 64 /* 256 bytes of shared memory each */

struct find {
    struct arena *a;
    const struct linear *lin;
};

static bool uses(const uop *n, const uop *x) {
    for (uint32_t i = 0; i < n->nsrc; i++) {
        if (n->src[i] == x) return true;
        if (n->src[i]->op == OP_INDEX && uses(n->src[i], x)) return true;
    }
    return false;
}

/* Reads acc: a SET writes its first source. */
static bool reads(const uop *n, const uop *acc) { return n->op == OP_SET ? n->src[1] == acc : uses(n, acc); }

static uint32_t end_of(const struct linear *l, uint32_t at) {
    for (uint32_t i = at + 1; i < l->n; i++)
        if (l->u[i]->op == OP_END && l->u[i]->src[0] == l->u[at]) return i;
    return l->n;
}

/* v is acc op x: the op, else OP_COUNT. */
static enum op step_of(const uop *v, const uop *acc) {
    if (v->op == OP_MULACC)
        return v->src[2] == acc && v->src[0] != acc && v->src[1] != acc ? OP_ADD : OP_COUNT;
    if (v->op != OP_ADD && v->op != OP_MUL && v->op != OP_MAX && v->op != OP_MIN) return OP_COUNT;
    return (v->src[0] == acc) != (v->src[1] == acc) ? (enum op)v->op : OP_COUNT;
}

/* Is v the value of a SET of acc in (begin, end), and used by nothing else? */
static bool only_set(const struct find *f, uint32_t begin, uint32_t end, const uop *v, const uop *acc) {
    bool set = false;
    for (uint32_t i = begin + 1; i < end; i++) {
        const uop *n = f->lin->u[i];
        if (!uses(n, v)) continue;
        if (n->op != OP_SET || n->src[0] != acc) return false;
        set = true;
    }
    return set;
}

static bool carries(const struct find *f, uint32_t begin, uint32_t end, const uop *acc) {
    for (uint32_t i = begin + 1; i < end; i++) {
        if (reads(f->lin->u[i], acc)) return true;
        if (f->lin->u[i]->op == OP_SET && f->lin->u[i]->src[0] == acc) return false;
    }
    return false;
}

static enum op carried_op(const struct find *f, uint32_t begin, uint32_t end, const uop *acc) {
    enum op op = OP_COUNT;
    for (uint32_t i = begin + 1; i < end; i++) {
        const uop *n = f->lin->u[i];
        if (n->op == OP_SET && n->src[0] == acc) {
            enum op o = step_of(n->src[1], acc);
            if (o == OP_COUNT || (op != OP_COUNT && op != o)) return OP_COUNT;
            op = o;
        } else if (reads(n, acc) && !only_set(f, begin, end, n, acc)) {
            return OP_COUNT;
        }
    }
    return op;
}

static bool read_outside(const struct find *f, uint32_t begin, uint32_t end, const uop *acc) {
    for (uint32_t i = 0; i < f->lin->n; i++)
        if ((i < begin || i > end) && reads(f->lin->u[i], acc)) return true;
    return false;
}

static bool may_share(struct find *f, struct spread *s) {
    for (uint32_t i = s->begin + 1; i < s->end; i++) {
        const uop *n = f->lin->u[i], *acc = n->src[0];
        if (n->op != OP_SET) continue;
        bool known = false;
        for (uint32_t k = 0; k < s->acc.n; k++) known |= s->acc.p[k].acc == acc;
        if (known) continue;
        if (!carries(f, s->begin, s->end, acc)) {
            if (read_outside(f, s->begin, s->end, acc)) return false;
            continue;
        }
        enum op op = carried_op(f, s->begin, s->end, acc);
        if (op == OP_COUNT) return false;
        vec_push(f->a, &s->acc, ((struct carried){acc, op}));
    }
    return true;
}

static uint32_t cells_of(const struct spread *s) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->acc.n; k++) n += s->acc.p[k].acc->lanes;
    return n;
}

void spread_find(struct arena *a, const struct linear *lin, spread_vec *out) {
    struct find f = {a, lin};
    if (lin->nlocal) return;
    for (uint32_t i = 0; i < lin->n; i++) {
        if (lin->u[i]->op != OP_RANGE || lin->u[i]->arg.range.kind != AX_THREAD) continue;
        struct spread s = {.begin = i, .end = end_of(lin, i)};
        if (s.end == lin->n || !may_share(&f, &s) || cells_of(&s) > MOST_CELLS) continue;
        vec_push(a, out, s);
        i = s.end;
    }
}

uint32_t spread_cells(const spread_vec *v) {
    uint32_t most = 0;
    for (uint32_t i = 0; i < v->n; i++) most = RG_MAX(most, cells_of(&v->p[i]));
    return most;
}

uint32_t spread_threads(const struct linear *lin, const spread_vec *v) {
    int64_t most = 1;
    uint32_t n = 32;
    for (uint32_t i = 0; i < v->n; i++) most = RG_MAX(most, lin->u[v->p[i].begin]->src[0]->hi);
    while (n < 512 && (int64_t)n * 4 <= most) n *= 2;
    return v->n ? n : 0;
}
