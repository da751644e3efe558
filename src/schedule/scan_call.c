/* scan_call.c: scans of rows as a builtin kernel of CUDA, in one pass over memory (device/cuda/scan_kernels.c): long rows that would be
 * split (split_scan.c reads them twice), short ones, of which a block has many, and running logarithms of sums of exponentials, which the tensor layer writes as a running
 * maximum and a sum that decays by it: two scans, with what they add stored between. The element types go into the call:
 * casts around a scan are done as it reads and writes.
 * Requires: a device with builtin kernels in a fixed order (sched_opts.ordered). Tests: tests/unit/scans.c */
#include "schedule/internal.h"

enum {
    ROW_TILES = 8192, /* elements of a row that a block alone scans in too many rounds; */
    ODD_ROW = 2048,   /* .. if it loads them one by one */
    ODD_DIVISOR = 4,
    SHORT_ROW = 64,      /* of rows that a thread each reads far apart, .. */
    SHORT_ROWS = 1 << 16 /* .. of this many elements */
};

static const uop *plain(const uop *n) {
    while (n->op == OP_DETACH || n->op == OP_GRAD_THROUGH || n->op == OP_ONCE_DIFF || n->op == OP_RECOMPUTE ||
           n->op == OP_GRAD_STORED)
        n = n->src[0];
    return n;
}

/* Is n a WHERE of a == b? */
static bool asks_equal(const uop *n, const uop *a, const uop *b) {
    const uop *ask = n->op == OP_WHERE ? plain(n->src[0]) : n;
    if (ask == n || ask->op != OP_EQ) return false;
    const uop *x = plain(ask->src[0]), *y = plain(ask->src[1]);
    return (x == a && y == b) || (x == b && y == a);
}

/* What n, log(s) + m as t_logcumsumexp has it, is the running logarithm of; NULL: it is something else. */
static const uop *exponents_of(const uop *log, const uop *m) {
    if (log->op != OP_LOG || m->op != OP_SCAN_AXIS || m->nsrc != 2 || m->arg.i != OP_MAX) return NULL;
    const uop *s = plain(log->src[0]), *x = plain(m->src[0]);
    if (s->op != OP_SCAN_AXIS || s->nsrc != 3 || s->arg.i != OP_ADD || s->src[1] != m->src[1]) return NULL;
    const uop *term = plain(s->src[0]), *by = plain(s->src[2]);
    if (!asks_equal(term, x, m) || by->op != OP_WHERE || plain(by->src[0])->op != OP_EQ) return NULL;
    const uop *pad = plain(plain(by->src[0])->src[0]), *base = pad;
    if (pad == m) base = pad = plain(plain(by->src[0])->src[1]);
    while (base->op == OP_PAD || base->op == OP_SHRINK) base = plain(base->src[0]);
    if (pad->op != OP_PAD || base != m || !asks_equal(by, pad, m)) return NULL;
    return plain(by->src[2]) == plain(term->src[2]) ? m->src[0] : NULL;
}

struct running_log scan_find_log(const uop *n) {
    struct running_log r = {0};
    if (n->op != OP_ADD) return r;
    for (int i = 0; i < 2 && !r.x; i++) {
        const uop *log = plain(n->src[i]), *m = plain(n->src[1 - i]);
        r.x = exponents_of(log, m);
        if (r.x) r.log = log, r.sum = plain(log->src[0]), r.axis = m->src[1]->arg.i;
    }
    return r;
}

/* What it is computed from: without a cast that loses nothing. */
static const uop *narrow(const uop *x) {
    const uop *in = x->op == OP_CAST ? x->src[0] : x;
    enum dtype from = (enum dtype)in->dt, to = (enum dtype)x->dt;
    bool half = (from == DT_F16 || from == DT_BF16) && to == DT_F32;
    bool whole = !dt_is_float(from) && from != DT_BOOL && to == DT_I64 && from != DT_U64;
    return half || whole ? in : x;
}

static const uop *call_of_scan(struct ir *ir, const char *name, enum dtype dt, const uop *x) {
    const uop *src[2] = {x, uop_idx(ir, 0)};
    return uop_new(ir, OP_CALL, dt, 1, src, 2, (union arg){.u = ir_sym(ir, name, strlen(name))});
}

/* Along an axis, which goes behind the others: the call, and the result in x's order of axes. */
static const uop *along(struct ir *ir, struct shapes *sh, const char *name, const uop *x, int64_t axis,
                        const uop **call) {
    const struct shape *s = shape_of(sh, x);
    uint32_t n = s->n;
    int64_t order[SHAPE_MAX], back[SHAPE_MAX], inner = 1;
    enum dtype dt = (enum dtype)x->dt;
    for (uint32_t i = 0; i < n; i++) order[i] = i + (i >= axis), inner *= i > axis ? s->d[i] : 1;
    order[n - 1] = axis;
    for (uint32_t i = 0; i < n; i++) back[order[i]] = i;
    x = narrow(x);
    if (axis + 1 == n) return *call = call_of_scan(ir, name, dt, x);
    if (inner == 1) {
        x = graph_shaped(ir, OP_RESHAPE, x, s->d, (uint32_t)axis + 1);
        return graph_shaped(ir, OP_RESHAPE, *call = call_of_scan(ir, name, dt, x), s->d, n);
    }
    *call = call_of_scan(ir, name, dt, graph_shaped(ir, OP_PERMUTE, x, order, n));
    return graph_shaped(ir, OP_PERMUTE, *call, back, n);
}

const uop *scan_log_call(struct ir *ir, struct shapes *sh, const uop *x, int64_t axis, const uop **call) {
    return along(ir, sh, "scan_lse", x, axis, call);
}

const uop *scan_call(struct ir *ir, struct shapes *sh, const uop *n, const struct gpu_spec *gpu, bool splits,
                     const uop **call) {
    const struct shape *s = shape_of(sh, n);
    const char *name = n->arg.i == OP_ADD   ? "scan_add"
                       : n->arg.i == OP_MUL ? "scan_mul"
                       : n->arg.i == OP_MAX ? "scan_max"
                       : n->arg.i == OP_MIN ? "scan_min"
                                            : NULL;
    int64_t axis = n->src[1]->arg.i, rows = 1, inner = 1;
    for (int64_t i = 0; i < s->n; i++) *(i < axis ? &rows : &inner) *= i == axis ? 1 : s->d[i];
    if (!name || n->nsrc != 2 || inner > 1 || n->dt == DT_BOOL || s->d[axis] > UINT32_MAX) return NULL;
    int64_t len = s->d[axis], least = len % ODD_DIVISOR ? ODD_ROW : ROW_TILES;
    bool near = len > 1 && len <= SHORT_ROW && rows * len >= SHORT_ROWS;
    if (!splits && !near && (rows >= 2 * gpu->sms || len < least)) return NULL;
    return along(ir, sh, name, n->src[0], axis, call);
}

static bool scan_is_call(const struct ir *ir, const uop *n) {
    if (n->op != OP_CALL) return false;
    enum call_id id = call_of(ir, n);
    return id >= CALL_scan_add && id <= CALL_scan_lse;
}

const uop *scan_cast(struct ir *ir, const uop *n, enum dtype dt) {
    const uop *c = n->op == OP_PERMUTE || n->op == OP_RESHAPE ? n->src[0] : n;
    if (!scan_is_call(ir, c) || c->dt != DT_F32 || (dt != DT_F16 && dt != DT_BF16)) return NULL;
    if (c->src[0]->dt != DT_F32 && c->src[0]->dt != dt) return NULL;
    const uop *src[1 + SHAPE_MAX] = {call_of_scan(ir, ir_name(ir, (uint32_t)c->arg.u), dt, c->src[0])};
    if (c == n) return src[0];
    memcpy(src + 1, n->src + 1, (n->nsrc - 1) * sizeof *src);
    return uop_new(ir, (enum op)n->op, dt, 1, src, n->nsrc, n->arg);
}
