/* mma.c: MMA instructions of a CPU, interpreted: operands by the layouts of ir/mma.def, sums in the order and with the rounding that
 * Arm's and Intel's manuals define (column `sum` there), so that results equal the machine's bit by bit.
 * Tests: tests/unit/cpu_mma.c (against the instructions themselves where the machine has them) */
#include "ref/linear.h"

#include <float.h>
#include <math.h>

enum { MOST_SIDE = 32, MOST_K = 64 };
struct ref_tile { /* of an operand or of d: [m or n][k], [m][n] */
    struct elem e[MOST_SIDE][MOST_K];
};

/* Is a of AMX not packed? */
static bool is_in_place(const uop *u) {
    return mma_has_tiles((enum mma)u->arg.mma.instr) && u->arg.mma.rows[MMA_B];
}

/* Sources in registers have slots; an operand in memory is an access: a in s->mem, b in s->from. */
void lin_resolve_cpu_mma(struct machine *m, struct step *s, uint32_t at) {
    const uop *u = s->u;
    enum mma instr = (enum mma)u->arg.mma.instr;
    s->many = arena_array(m->arena, struct slot, u->nsrc);
    for (uint32_t i = 0; i < u->nsrc; i++) {
        unsigned operand = i + 2 < u->nsrc ? MMA_D : i + 2 - u->nsrc;
        struct mma_map map = mma_map(instr, operand);
        if (map.memory != (u->src[i]->op == OP_INDEX))
            lin_bad_program(m, u, "entry %u: source %u is %s memory", at, i, map.memory ? "not in" : "in");
        struct access *mem = operand == MMA_A ? &s->mem : &s->from;
        if (!map.memory) {
            s->many[i] = lin_source(m, u->src[i]);
            if (operand != MMA_D && s->many[i].lanes != map.regs)
                lin_bad_program(m, u, "entry %u: an operand of %u lanes, not %u", at, s->many[i].lanes,
                                map.regs);
            continue;
        }
        *mem = lin_access(m, u, u->src[i]);
        if (mem->kind != (operand == MMA_A && is_in_place(u) ? MEM_PARAM : MEM_LOCAL))
            lin_bad_program(m, u, "entry %u: source %u is not a packed tile", at, i);
    }
}

/* r: register; of an operand in memory, element: later steps of k follow. */
static struct elem *at_register(struct machine *m, struct step *s, unsigned operand, unsigned r) {
    if (operand == MMA_D) return &m->v[s->many[r / s->many[0].lanes].at + r % s->many[0].lanes];
    if (!mma_map((enum mma)s->u->arg.mma.instr, operand).memory)
        return &m->v[s->many[s->u->nsrc - 2 + operand].at + r];
    struct access mem = s->mem;
    uint32_t no;
    if (operand == MMA_B) s->mem = s->from;
    int64_t at = lin_address(m, s, 0, &no) + r;
    if (at >= m->scratch[no].n) lin_bad(m, s, "element %lld is outside of its packed tile", (long long)at);
    struct elem *e = lin_scratch(m, s, no, at, false);
    s->mem = mem;
    return e;
}

/* An element of an `a` that is not packed. */
static struct elem in_place(struct machine *m, struct step *s, const int at[3], unsigned step) {
    const union arg *arg = &s->u->arg;
    int from =
        at[MMA_M] * arg->mma.rows[MMA_B] + at[MMA_K] + (int)step * mma_info[arg->mma.instr].size[MMA_K];
    uint32_t no;
    int64_t to = lin_address(m, s, (unsigned)from, &no);
    lin_note_read(m, s, no, to);
    return lin_load(m, no, (enum dtype)s->mem.dt, to);
}

static void gather_tile(struct machine *m, struct step *s, unsigned operand, unsigned step,
                        struct ref_tile *t, bool give) {
    struct mma_map map = mma_map((enum mma)s->u->arg.mma.instr, operand);
    for (unsigned r = 0; r < map.regs; r++) {
        int at[3];
        mma_element(&map, 0, r, at);
        struct elem *o = &t->e[at[operand == MMA_B ? MMA_N : MMA_M]][at[operand == MMA_D ? MMA_N : MMA_K]];
        if (operand == MMA_A && is_in_place(s->u)) {
            *o = in_place(m, s, at, step);
            continue;
        }
        struct elem *e = at_register(m, s, operand, step * map.regs + r);
        *(give ? e : o) = *(give ? o : e);
    }
}

static double flush(double x) { return fabs(x) < FLT_MIN ? copysign(0, x) : x; }

/* Exact but for its last digit, which is odd where digits are lost. */
static double sum_to_odd(double a, double b) {
    double s = a + b, from = s - a, lost = (a - (s - from)) + (b - from);
    if (!isfinite(s) || lost == 0) return s;
    uint64_t w;
    memcpy(&w, &s, sizeof w);
    return w & 1 ? s : nextafter(s, lost > 0 ? INFINITY : -INFINITY);
}

static float round_to_odd(double x) {
    float f = (float)x;
    if (isnan(x) || (double)f == x) return f;
    if (isinf(f) && fabs(x) < 0x1p128) f = copysignf(FLT_MAX, f);
    if (isinf(f)) return f;
    if (fabs((double)f) > fabs(x)) f = nextafterf(f, 0);
    uint32_t w;
    memcpy(&w, &f, sizeof w);
    w |= 1;
    memcpy(&f, &w, sizeof f);
    return f;
}

static double add_to_odd(double a, double b) { return flush(round_to_odd(sum_to_odd(a, b))); }
static double fma_flushed(double a, double b, double c) {
    return flush((float)sum_to_odd(flush(a) * flush(b), flush(c)));
}

static union ref_val float_sum(enum mma_sum sum, const struct elem *a, const struct elem *b, int n,
                               double d) {
    double even = 0, odd = 0;
    for (int k = 0; k < n; k += 2) {
        if (sum == MMA_PAIR_SUMS) {
            even = fma_flushed(a[k].v.f, b[k].v.f, even);
            odd = fma_flushed(a[k + 1].v.f, b[k + 1].v.f, odd);
        } else if (sum == MMA_ODD_PAIRS) {
            double x = flush(flush(a[k].v.f) * flush(b[k].v.f)),
                   y = flush(flush(a[k + 1].v.f) * flush(b[k + 1].v.f));
            d = add_to_odd(flush(d), add_to_odd(round_to_odd(x), round_to_odd(y)));
        } else {
            d = fma_flushed(a[k + 1].v.f, b[k + 1].v.f, d);
            d = fma_flushed(a[k].v.f, b[k].v.f, d);
        }
    }
    if (sum == MMA_PAIR_SUMS) d = fma_flushed(1, d, fma_flushed(1, even, odd));
    return (union ref_val){.f = d};
}

static void multiply_tiles(const struct mma_info *i, const struct ref_tile *a, const struct ref_tile *b,
                           struct ref_tile *d) {
    for (int y = 0; y < i->size[MMA_M]; y++)
        for (int x = 0; x < i->size[MMA_N]; x++) {
            struct elem *e = &d->e[y][x];
            for (int k = 0; k < i->size[MMA_K]; k++) {
                if (!e->bad) e->bad = a->e[y][k].bad ? a->e[y][k].bad : b->e[x][k].bad;
                if (i->sum == MMA_EXACT) e->v.i = ref_wrap(i->acc, e->v.i + a->e[y][k].v.i * b->e[x][k].v.i);
            }
            if (i->sum != MMA_EXACT) e->v = float_sum(i->sum, a->e[y], b->e[x], i->size[MMA_K], e->v.f);
        }
}

void lin_cpu_mma(struct machine *m, struct step *s) {
    const struct mma_info *i = &mma_info[s->u->arg.mma.instr];
    if (!m->tile) m->tile = arena_array(m->arena, struct ref_tile, 3);
    struct ref_tile *t = m->tile;
    unsigned steps = RG_MAX(s->u->arg.mma.rows[MMA_A], 1);
    if (!s->u->arg.mma.zero_init) gather_tile(m, s, MMA_D, 0, &t[MMA_D], false);
    for (int y = 0; s->u->arg.mma.zero_init && y < i->size[MMA_M]; y++)
        memset(t[MMA_D].e[y], 0, (size_t)i->size[MMA_N] * sizeof t[MMA_D].e[y][0]);
    for (unsigned k = 0; k < steps; k++) {
        gather_tile(m, s, MMA_A, k, &t[MMA_A], false);
        gather_tile(m, s, MMA_B, k, &t[MMA_B], false);
        multiply_tiles(i, &t[MMA_A], &t[MMA_B], &t[MMA_D]);
    }
    gather_tile(m, s, MMA_D, 0, &t[MMA_D], true);
}
