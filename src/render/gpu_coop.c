/* gpu_coop.c: cooperative loops, the opt COOP (axes of kind COOP): the threads of a block share the iterations.
 *
 * A block runs one iteration of the grid. Code outside of cooperative loops is computed by all threads and stored by one;
 * inside, threads take iterations round-robin (stride = threads). What a reduction carries starts anew in each
 * thread, is reduced after the loop in a fixed order, and broadcast: the same sum in every run.
 *
 * A loop may be cooperative if each accumulator that it sets is either private to an iteration or only ever becomes
 * `itself op something`. If that cannot be proved, every thread runs the whole loop: slow, and right. An accumulator that is
 * also read in each iteration is a scan (gpu_scan.c).
 *
 * A scratch array is a row if only cooperative loops touch it and iteration r touches elements step*r .. step*r + step - 1
 * and no others. Iteration r is the same thread's in every loop, so these stay in registers from one pass over
 * a row to the next. With other scratch memory nothing is cooperative. Tests: tests/unit/cuda.c */
#include "model/model.h"
#include "render/gpu.h"

#include <math.h>

#define MOST_CELLS 64    /* 256 bytes of shared memory each .. */
#define COLUMN_CELLS 5   /* .. or 8 KB */
#define COLUMN_LOADS 16  /* iterations of a thread of columns */
#define COLUMN_ADDS 64   /* of a thread in one accumulator, if more threads make fewer */
#define LONG 2048        /* iterations that are worth sharing */
#define MANY_THREADS 512 /* at least two such blocks per SM */

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

/* Does n read acc? A SET writes its first source. */
static bool reads(const uop *n, const uop *acc) { return n->op == OP_SET ? n->src[1] == acc : uses(n, acc); }

static uint32_t end_of(const struct linear *l, uint32_t at) {
    for (uint32_t i = at + 1; i < l->n; i++)
        if (l->u[i]->op == OP_END && l->u[i]->src[0] == l->u[at]) return i;
    return l->n;
}

/* v is acc op x, or that under a predicate and acc elsewhere: the op, else OP_COUNT. acc - x is a sum too. */
static enum op step_of(const uop *v, const uop *acc) {
    if (v->op == OP_WHERE && (v->src[1] == acc) != (v->src[2] == acc))
        return step_of(v->src[v->src[1] == acc ? 2 : 1], acc);
    if (v->op == OP_FMA) return v->src[2] == acc && v->src[0] != acc && v->src[1] != acc ? OP_ADD : OP_COUNT;
    if (v->op == OP_SUB) return v->src[0] == acc && v->src[1] != acc ? OP_ADD : OP_COUNT;
    if (v->op != OP_ADD && v->op != OP_MUL && v->op != OP_MAX && v->op != OP_MIN) return OP_COUNT;
    return (v->src[0] == acc) != (v->src[1] == acc) ? (enum op)v->op : OP_COUNT;
}

/* Is v the value of a SET of acc in (begin, end), perhaps under a predicate, and used by nothing else? */
static bool only_set(const struct find *f, uint32_t begin, uint32_t end, const uop *v, const uop *acc) {
    bool set = false;
    for (uint32_t i = begin + 1; i < end; i++) {
        const uop *n = f->lin->u[i];
        if (!uses(n, v)) continue;
        bool predicated = n->op == OP_WHERE && n->src[0] != v && step_of(n, acc) != OP_COUNT;
        if (predicated ? !only_set(f, begin, end, n, acc) : n->op != OP_SET || n->src[0] != acc) return false;
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

/* v is acc * by + term: both, else false. */
static bool decays(const uop *v, const uop *acc, struct carried *out) {
    const uop *less = v->op == OP_FMA   ? v
                      : v->op != OP_ADD ? NULL
                                        : v->src[v->src[0]->op != OP_MUL || !uses(v->src[0], acc)];
    if (!less || (less != v && less->op != OP_MUL) || (less->src[0] == acc) == (less->src[1] == acc))
        return false;
    out->by = less->src[less->src[0] == acc], out->term = less == v ? v->src[2] : v->src[v->src[0] == less];
    return out->term != acc && !uses(out->term, acc);
}

/* Is acc scanned: set once in each iteration, to itself op a term? */
static bool is_scanned(const struct find *f, const struct spread *s, const uop *acc, struct carried *out) {
    uint32_t sets = 0;
    if (acc->lanes > 1 || !uop_is_const(f->lin->u[s->begin]->src[0])) return false;
    for (uint32_t i = s->begin + 1; i < s->end; i++) {
        const uop *n = f->lin->u[i];
        if (n->op != OP_SET || n->src[0] != acc) continue;
        const uop *v = n->src[1];
        bool term = v->op != OP_FMA && v->op != OP_WHERE && v->op != OP_SUB;
        enum op op = term ? step_of(v, acc) : OP_COUNT;
        if (sets++) return false;
        *out = (struct carried){.acc = acc, .op = OP_ADD, .set = i};
        if (decays(v, acc, out)) continue;
        if (op == OP_COUNT) return false;
        out->op = op, out->term = v->src[v->src[0] == acc];
    }
    return sets == 1;
}

static bool uses_any(const uop *n, const uop_vec *v) {
    for (uint32_t i = 0; i < v->n; i++)
        if (n->op == OP_SET ? n->src[1] == v->p[i] : uses(n, v->p[i])) return true;
    return false;
}

static bool has_node(const uop_vec *v, const uop *n) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i] == n) return true;
    return false;
}

/* Does nothing after the store at `at`, up to `last`, load from its buffer? Then loads may be emitted before it. */
static bool is_alone(const struct find *f, uint32_t at, uint32_t last) {
    const uop *buf = access_buf(f->lin->u[at]);
    for (uint32_t i = at + 1; i <= last; i++) {
        const uop *n = f->lin->u[i];
        if ((n->op == OP_LOAD || n->op == OP_PRED_LOAD) && access_buf(n) == buf) return false;
    }
    return true;
}

/* Finds what a loop computes before its last scan and without any: that is emitted first. False: there is a nested loop among it, a
 * store that what is emitted first may read, or a term needs a scan. */
static bool find_early(const struct find *f, struct spread *s) {
    uop_vec late = {0}; /* scanned accumulators and all that depends on them */
    uint32_t last = 0;
    for (uint32_t k = 0; k < s->acc.n; k++)
        if (s->acc.p[k].term) vec_push(f->a, &late, s->acc.p[k].acc), last = RG_MAX(last, s->acc.p[k].set);
    s->early = arena_array(f->a, uint8_t, f->lin->n);
    for (uint32_t i = s->begin + 1; i <= last; i++) {
        const uop *n = f->lin->u[i];
        bool set = n->op == OP_SET, load = n->op == OP_LOAD || n->op == OP_PRED_LOAD;
        bool lanes = n->op == OP_EXTRACT || n->op == OP_BUILD || n->op == OP_VEC_REDUCE;
        if (n->op == OP_STORE && is_alone(f, i, last)) continue;
        if (!set && !load && !lanes && !op_is_pure((enum op)n->op)) return false;
        if (!uses_any(n, &late)) {
            s->early[i] = 1;
            for (uint32_t k = s->begin + 1; k < i && set; k++) /* nothing that stays may use what moves */
                if (!s->early[k] && uses(f->lin->u[k], n->src[0])) return false;
            if (set && has_node(&late, n->src[0])) return false;
            continue;
        }
        vec_push(f->a, &late, n);
        if (set && !has_node(&late, n->src[0])) vec_push(f->a, &late, n->src[0]);
    }
    for (uint32_t k = 0; k < s->acc.n; k++)
        if (s->acc.p[k].term && (has_node(&late, s->acc.p[k].term) || has_node(&late, s->acc.p[k].by)))
            return false;
    return true;
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
        struct carried x = {.acc = acc, .op = carried_op(f, s->begin, s->end, acc)};
        if (x.op == OP_COUNT && !is_scanned(f, s, acc, &x)) return false;
        s->scans |= x.term != NULL;
        vec_push(f->a, &s->acc, x);
    }
    return !s->scans || find_early(f, s);
}

uint32_t spread_cells_of(const struct spread *s) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < s->acc.n; k++) n += carried_cells(&s->acc.p[k]);
    return n;
}

/* Rows that are live from one loop to the next at the same time: within a loop one may reuse another's
 * registers. */
int64_t rows_kept(const struct linear *lin, const spread_vec *v, const row_vec *rows, uint32_t threads) {
    int64_t most = 0, iterations = 1;
    for (uint32_t i = 0; i < v->n; i++)
        iterations = RG_MAX(iterations, coop_iterations(lin->u[v->p[i].begin]->src[0]->hi, threads));
    for (uint32_t i = 0; i + 1 < v->n; i++) {
        int64_t sum = 0;
        for (uint32_t k = 0; k < rows->n; k++) {
            const struct coop_row *r = &rows->p[k];
            if (r->first <= i && i < r->last)
                sum += iterations * r->step * ((dtype_info[r->local->dt].bytes + 3) / 4);
        }
        most = RG_MAX(most, sum);
    }
    return most;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static struct spread *spread_around(spread_vec *v, uint32_t at) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i].begin < at && at < v->p[i].end) return &v->p[i];
    return NULL;
}

/* Elements private to iteration r, if this access stays among them; else 0. */
static int64_t step_along(struct arena *a, const uop *index, const uop *range) {
    if (index->src[1]->lanes > 1 || !uop_is_const(range->src[0])) return 0;
    struct affine f = affine_of(a, index->src[1]);
    int64_t step = affine_coef(&f, range), lo = f.k, hi = f.k, x, y;
    if (step <= 0 || step > 64) return 0;
    for (uint32_t i = 0; i < f.n; i++) {
        const struct term *t = &f.t[i];
        if (t->atom == range) continue;
        if (__builtin_mul_overflow(t->atom->lo, t->coef, &x) ||
            __builtin_mul_overflow(t->atom->hi, t->coef, &y) ||
            __builtin_add_overflow(lo, RG_MIN(x, y), &lo) || __builtin_add_overflow(hi, RG_MAX(x, y), &hi))
            return 0;
    }
    return lo >= 0 && hi + index->lanes <= step ? step : 0;
}

static bool find_row(const struct find *f, spread_vec *v, const uop *local, row_vec *out) {
    struct coop_row row = {local, 0, UINT32_MAX, 0};
    for (uint32_t i = 0; i < f->lin->n; i++) {
        const uop *n = f->lin->u[i];
        bool access = n->op == OP_LOAD || n->op == OP_PRED_LOAD || n->op == OP_STORE || n->op == OP_STORE_ADD;
        if (!access || access_buf(n) != local) continue;
        struct spread *s = spread_around(v, i);
        int64_t here = s ? step_along(f->a, n->src[0], f->lin->u[s->begin]) : 0;
        if (!here || (row.step && here != row.step)) return false;
        row.step = here, s->rows = true;
        row.first = RG_MIN(row.first, (uint32_t)(s - v->p)),
        row.last = RG_MAX(row.last, (uint32_t)(s - v->p));
    }
    row.step = RG_MAX(row.step, 1);
    vec_push(f->a, out, row);
    return true;
}

const struct coop_row *row_of(const row_vec *v, const uop *local) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i].local == local) return &v->p[i];
    return NULL;
}

/* ---- the loops ------------------------------------------------------------------------------------------ */

/* Are the lanes of acc outside of the loop only combined with its own op? */
static bool is_joined(const struct find *f, const struct spread *s, const struct carried *c) {
    for (uint32_t i = 0; i < f->lin->n; i++) {
        const uop *n = f->lin->u[i];
        if ((i > s->begin && i < s->end) || !reads(n, c->acc)) continue;
        if (n->op != OP_VEC_REDUCE || n->arg.i != (int64_t)c->op) return false;
    }
    return c->acc->lanes > 1;
}

static bool in_a_loop(const struct linear *l, const struct spread *s) {
    for (uint32_t i = 0; i < s->begin; i++) {
        const uop *n = l->u[i];
        if (n->op == OP_RANGE && n->arg.range.kind != AX_GRID && end_of(l, i) > s->begin) return true;
    }
    return false;
}

/* Why a cooperative loop is not: the first reason is kept. */
static void give_up(const struct find *f, const uop *range, const char **why, const char *reason) {
    if (!*why) *why = arena_printf(f->a, "COOP(%s) %s", ir_name(f->lin->ir, range->arg.range.cls), reason);
}

static void keep_rows(const struct find *f, uint32_t most, spread_vec *out, row_vec *rows, const char **why) {
    const uop *range = f->lin->u[out->p[0].begin];
    for (uint32_t i = 0; i < f->lin->nlocal && out->n; i++) {
        if (find_row(f, out, f->lin->local[i], rows)) continue;
        give_up(f, range, why, "has scratch memory that other threads read");
        out->n = rows->n = 0;
    }
    if (most > 32) most = most / 32 * 32;
    if (!rows->n || rows_kept(f->lin, out, rows, most) <= GPU_ROW_REGISTERS) return;
    give_up(f, range, why, "keeps more rows than registers hold");
    out->n = rows->n = 0;
}

void spread_find(struct arena *a, const struct linear *lin, uint32_t most, spread_vec *out, row_vec *rows,
                 const char **why) {
    struct find f = {a, lin};
    uint32_t cell = 0, cells = lin->columns ? COLUMN_CELLS : MOST_CELLS;
    if (lin->threads || most < 32) return; /* a kernel with THREAD axes has its threads */
    if (lin->columns) most = RG_MAX(most / lin->columns, 1);
    for (uint32_t i = 0; i < lin->n; i++) {
        if (lin->u[i]->op != OP_RANGE || lin->u[i]->arg.range.kind != AX_COOP) continue;
        struct spread s = {.begin = i, .end = end_of(lin, i), .cell = cell};
        if (s.end == lin->n || !may_share(&f, &s) || (s.scans && lin->columns)) {
            give_up(&f, lin->u[i], why, "carries a value that is no sum, product or extreme");
            continue;
        }
        for (uint32_t k = 0; k < s.acc.n; k++)
            s.acc.p[k].joined = !s.acc.p[k].term && is_joined(&f, &s, &s.acc.p[k]);
        s.again = in_a_loop(lin, &s);
        if (cell + spread_cells_of(&s) > cells) {
            give_up(&f, lin->u[i], why, "has more partial results than shared memory is kept for");
            continue;
        }
        cell += spread_cells_of(&s);
        vec_push(a, out, s);
        i = s.end;
    }
    if (out->n) keep_rows(&f, most, out, rows, why);
}

static bool has_axis_of(const uop_vec *v, const uop *range) {
    for (uint32_t i = 0; i < v->n; i++)
        if (v->p[i]->arg.range.cls == range->arg.range.cls) return true;
    return false;
}

bool render_gives_up_coop(struct arena *a, const struct linear *lin, uop_vec *out) {
    spread_vec shared = {0};
    row_vec rows = {0};
    const char *why = NULL;
    uint32_t before = out->n;
    spread_find(a, lin, GPU_BLOCK_THREADS, &shared, &rows, &why);
    for (uint32_t i = 0, s = 0; i < lin->n && why; i++) {
        const uop *n = lin->u[i];
        if (s < shared.n && shared.p[s].begin == i)
            i = shared.p[s++].end; /* inside of it each thread runs all of a loop anyway */
        else if (n->op == OP_RANGE && n->arg.range.kind == AX_COOP && !has_axis_of(out, n))
            vec_push(a, out, n);
    }
    return out->n > before;
}

const char *render_lone_loops(struct arena *a, const struct linear *lin) {
    spread_vec shared = {0};
    row_vec rows = {0};
    const char *why = NULL;
    spread_find(a, lin, GPU_BLOCK_THREADS, &shared, &rows, &why);
    return why;
}

double thread_iterations(const struct linear *lin) {
    double sum = 0, product[64] = {1};
    uint32_t depth = 0;
    for (uint32_t i = 0; i < lin->n; i++) {
        const uop *n = lin->u[i];
        bool loop = n->op == OP_RANGE && n->arg.range.kind != AX_GRID && n->arg.range.kind != AX_THREAD;
        if ((n->op == OP_RANGE || n->op == OP_IF) && depth + 1 < RG_COUNT(product)) {
            product[depth + 1] = product[depth] * (loop ? (double)n->src[0]->hi : 1);
            if (loop) sum += product[depth + 1];
            depth++;
        } else if (n->op == OP_END && depth) {
            depth--;
        }
    }
    return sum;
}

uint32_t spread_cells(const spread_vec *v) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < v->n; i++) n += spread_cells_of(&v->p[i]);
    return n;
}

/* Do cooperative loops load more than SMs have in flight? */
static bool loads_much(const struct linear *lin, const spread_vec *v, const struct gpu_spec *gpu) {
    double bytes = 0;
    for (uint32_t i = 0; i < v->n; i++)
        for (uint32_t k = v->p[i].begin; k < v->p[i].end; k++) {
            const uop *n = lin->u[k];
            if (n->op == OP_LOAD || n->op == OP_PRED_LOAD)
                bytes += (double)lin->u[v->p[i].begin]->src[0]->hi * n->lanes * dtype_info[n->dt].bytes;
        }
    return bytes * (double)lin->grid > gpu_cost.bytes_in_flight * gpu->sms;
}

/* About four iterations per thread, or sixteen of columns (of up to 16 bytes), equally many if possible; within a warp rather
 * than with barriers; few threads where reductions are many; and rows that leave registers to compute
 * with. */
static double threads_cost(const struct linear *lin, uint32_t n, int64_t most, uint32_t cells, int64_t kept,
                           double busy) {
    int64_t iterations = coop_iterations(most, n);
    double idle = (double)(iterations * n) / (double)most;
    uint32_t block = n * RG_MAX(lin->columns, 1u);
    double each = lin->columns ? COLUMN_LOADS : 4; /* of 4 bytes, or up to 16 */
    double cost = idle * (1 + 0.08 * fabs(log2((double)iterations / each))) + 0.07 * (block > 32) +
                  0.1 * (block > MANY_THREADS) + 4.5e-5 * block * cells +
                  0.005 * (double)RG_MAX(kept - MANY_KEPT, 0);
    double threads = (double)lin->grid * n;
    if (threads < busy) cost += 0.3 * log2(busy / threads);
    return cost;
}

uint32_t spread_threads(const struct linear *lin, uint32_t least, uint32_t limit, const spread_vec *v,
                        const row_vec *rows) {
    double best = INFINITY;
    int64_t most = 1;
    uint32_t at = 0, cells = spread_cells(v);
    const struct gpu_spec *gpu = lin->gpu ? lin->gpu : gpu_spec_default();
    for (uint32_t i = 0; i < v->n; i++) most = RG_MAX(most, lin->u[v->p[i].begin]->src[0]->hi);
    bool waits = most >= LONG || lin->columns || loads_much(lin, v, gpu);
    double busy = waits ? gpu->sms * gpu_cost.threads_coop : 0;
    for (uint32_t n = least; v->n && n <= limit; n += n < 32 ? n : 32) {
        int64_t kept = rows_kept(lin, v, rows, n);
        double cost = threads_cost(lin, n, most, cells, kept, busy);
        bool adds_many =
            lin->columns && coop_iterations(most, n) > COLUMN_ADDS && n < limit; /* block_sums.c */
        if (kept <= GPU_ROW_REGISTERS && !adds_many && cost < best) best = cost, at = n;
    }
    return at;
}
