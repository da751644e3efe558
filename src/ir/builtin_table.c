/* call.c: the functions that CALL may name, and the shapes of their results.
 *
 * What has no loops of its own in the IR (sorting, the last of several writers) is a function of the device. This file says
 * what goes in and out; ref/eval_graph.c says what comes out, by the plainest code; device/cpu/sort.c and scatter.c compute it.
 * Tests: tests/unit/call.c, tests/unit/shape.c */
#include "ir/node.h"

const struct call_info call_info[CALL_COUNT] = {
#define X(name, values, numbers) {#name, values, numbers},
    CALL_FNS(X)
#undef X
};

enum call_id call_of(const struct ir *ir, const uop *n) {
    const char *name = ir_name(ir, (uint32_t)n->arg.u);
    if (!strncmp(name, "loop\n", 5)) return CALL_loop;
    for (int i = 0; i < CALL_loop; i++)
        if (!strcmp(call_info[i].name, name)) return (enum call_id)i;
    return CALL_COUNT;
}

uint32_t call_values(const struct ir *ir, const uop *n) {
    const struct call_info *f = &call_info[call_of(ir, n)];
    return f->values ? f->values : n->nsrc - RG_MIN(n->nsrc, (uint32_t)f->numbers);
}

static bool same_rows(const struct shape *a, const struct shape *b) {
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i + 1 < a->n; i++) same = a->d[i] == b->d[i];
    return same;
}

static const char *scatter_error(struct shapes *s, const uop *n, enum call_id id, int64_t code) {
    const struct shape *x = shape_of(s, n->src[0]), *index = shape_of(s, n->src[1]),
                       *src = shape_of(s, n->src[2]);
    int64_t w = scatter_unpack(code).width, last = x->n - 1, all;
    if (w < 1 || (w > 1 && id != CALL_scatter_max && id != CALL_scatter_min))
        return "pieces of one element or, of a maximum or minimum, more";
    if (n->src[1]->dt != DT_I64) return "the index of a function is i64";
    if (n->src[2]->dt != n->dt || n->src[0]->dt != n->dt) return "values of one dtype";
    if (!same_rows(src, index) || __builtin_mul_overflow(index->d[last], w, &all) || all != src->d[last])
        return "one value for each number of the index";
    if (!same_rows(x, index)) return "index and source have the same rows";
    if (x->d[last] % w) return "a result of whole pieces";
    return index->d[index->n - 1] && !x->d[x->n - 1] ? "nothing is there to be named" : NULL;
}

/* Pieces of src as many as the index has numbers, each as long as a piece of the result. */
static const char *sum_error(struct shapes *s, const uop *n, int64_t size, int64_t *last) {
    const struct shape *src = shape_of(s, n->src[0]), *index = shape_of(s, n->src[1]);
    if (n->src[1]->dt != DT_I64) return "the index of a function is i64";
    if (n->src[0]->dt != n->dt) return "values of one dtype";
    if (!same_rows(src, index)) return "index and source have the same rows";
    int64_t pieces = index->d[index->n - 1];
    if (size <= 0 || pieces <= 0 || *last % pieces)
        return "a piece of the source for each number of the index";
    return __builtin_mul_overflow(*last / pieces, size, last) ? "a result that is too large" : NULL;
}

/* A network costs more per element the longer a column is; numbers of 8 bytes beside their indices most. An index of a byte's column has
 * a byte itself. */
int64_t call_columns_most(enum dtype dt, bool indices) {
    uint32_t bytes = dtype_info[dt].bytes;
    if (indices) return bytes == 8 ? 64 : bytes == 2 ? 512 : 256;
    return bytes == 8 ? 256 : 512;
}

static const char *columns_error(const struct shape *in, int64_t code, int64_t k, int64_t *last) {
    struct sorted_columns c = columns_unpack(code);
    int64_t all = in->d[in->n - 1];
    if (c.width < 1 || all % c.width || (c.lines != COLUMN_LINES && c.lines != COLUMN_LINES_FEW))
        return "columns of equal length, 4 or 16 lines of them at a time";
    if (k < 0 || k > all / c.width) return "k is 0 to the size of a column";
    return __builtin_mul_overflow(k, c.width, last) ? "a result that is too large" : NULL;
}

int64_t collective_pack(struct collective c) {
    return (int64_t)c.kind | (int64_t)c.reduce << 8 | (int64_t)c.dt << 16 | (int64_t)c.world << 24 |
           c.peer << 40;
}

struct collective collective_unpack(int64_t code) {
    return (struct collective){
        (enum collective_kind)((uint64_t)code & 0xff), (enum collective_reduce)((uint64_t)code >> 8 & 0xff),
        (enum dtype)((uint64_t)code >> 16 & 0xff), (uint32_t)((uint64_t)code >> 24 & 0xffff), code >> 40};
}

/* Sizes fit each other in every world whose number of ranks divides them: the world checks the rest. */
static const char *collective_error(struct shapes *s, const uop *n, int64_t code, int64_t *last) {
    struct collective c = collective_unpack(code);
    const struct shape *in = shape_of(s, n->src[0]);
    if (in->n != 1) return "a collective works on vectors";
    if ((unsigned)c.kind >= COLLECTIVE_KINDS || (unsigned)c.reduce >= COLLECTIVE_REDUCES || c.peer < 0)
        return "there is no such collective";
    if (n->dt != n->src[0]->dt || c.dt != (enum dtype)n->dt) return "a collective keeps the dtype";
    return *last < 0 ? "a size of 0 or more" : NULL;
}

/* Of the operands; that the body fits them is found when it is read (loop_open). */
static const char *loop_error(struct shapes *s, const uop *n, uint32_t values, int64_t *last) {
    const uop *const *num = n->src + values;
    int64_t steps = num[0]->arg.i, states = num[1]->arg.i, per_step = num[2]->arg.i, sum = 0;
    if (steps < 1 || states < 1 || per_step < 0 || states > values || per_step > values - states)
        return "a loop has a step and a state, and an operand for each that its numbers count";
    for (int64_t i = 0; i < states; i++) {
        const struct shape *x = shape_of(s, n->src[i]);
        if (x->n != 1 || n->src[i]->dt != n->dt) return "states of a loop are flat and of one dtype";
        sum += loop_row((enum dtype)n->dt, x->d[0]);
    }
    for (int64_t i = states; i < states + per_step; i++) {
        const struct shape *x = shape_of(s, n->src[i]);
        if (x->n != 2 || x->d[0] != steps || loop_row((enum dtype)n->src[i]->dt, x->d[1]) != x->d[1])
            return "an operand per step has a row for each step, of a multiple of 64 bytes";
    }
    if (__builtin_mul_overflow(sum, steps + 1, last)) return "a result that is too large";
    return *last == num[4]->arg.i ? NULL : "the size of the result is that of all rows";
}

const char *call_check(struct shapes *s, const uop *n, int64_t *last) {
    enum call_id id = call_of(s->ir, n);
    if (id == CALL_COUNT) return "there is no function of this name";
    const struct call_info *f = &call_info[id];
    const struct shape *in = shape_of(s, n->src[0]);
    uint32_t values = call_values(s->ir, n);
    if (!values || n->nsrc != values + f->numbers) return "another number of sources than the function has";
    for (uint32_t i = values; i < n->nsrc; i++)
        if (n->src[i]->op != OP_CONST || n->src[i]->dt != DT_IDX) return "tensors, then numbers";
    for (uint32_t i = 0; i < values; i++)
        if (n->src[i]->dt == DT_IDX || n->src[i]->dt == DT_VOID) return "a tensor was expected";
    if (!in->n) return "a function along the last axis of something without axes";
    int64_t flag = n->src[values]->arg.i, second = n->src[n->nsrc - 1]->arg.i;
    if (id == CALL_loop) return loop_error(s, n, values, last);
    if (id == CALL_collective) return *last = second, collective_error(s, n, flag, last);
    if (in->d[in->n - 1] > UINT32_MAX) return "rows have at most 2^32 - 1 elements";
    enum dtype dt = (enum dtype)n->dt;
    *last = in->d[in->n - 1];
    switch (id) {
    case CALL_sort:
    case CALL_argsort: break;
    case CALL_topk:
    case CALL_topk_index:
        if (second < 0 || second > *last) return "k is 0 to the size of the last axis";
        *last = second;
        break;
    case CALL_columns: {
        const char *why = columns_error(in, flag, second, last);
        if (why) return why;
        break;
    }
    case CALL_winner:
        if (n->src[0]->dt != DT_I64) return "the index of a function is i64";
        if (flag < 0 || (!flag && *last)) return "a size of 0 or more, with room for every index";
        if (dt != DT_I64 && (dt != DT_I32 || *last > INT32_MAX)) return "i64, or i32 if the indices fit";
        *last = flag;
        return NULL;
    case CALL_nonzero:
        if (n->src[0]->dt != DT_BOOL) return "a mask is of bools";
        if (flag < 0) return "a size of 0 or more";
        if (dt != DT_I64 && (dt != DT_I32 || *last > INT32_MAX)) return "i64, or i32 if the indices fit";
        *last = flag;
        return NULL;
    case CALL_select:
        if (n->src[1]->dt != DT_BOOL || shape_of(s, n->src[1]) != in)
            return "a mask is of bools, one for each";
        if (flag < 0 || dt != (enum dtype)n->src[0]->dt) return "a size of 0 or more, and the dtype of x";
        *last = flag;
        return NULL;
    case CALL_scan_add:
    case CALL_scan_mul:
    case CALL_scan_max:
    case CALL_scan_min:
    case CALL_scan_lse:
        if (n->src[0]->dt == DT_BOOL || dt_is_float(dt) != dt_is_float((enum dtype)n->src[0]->dt))
            return "a scan of numbers gives numbers, of floats floats";
        return NULL;
    case CALL_scatter_sum: return sum_error(s, n, flag, last);
    default: return scatter_error(s, n, id, flag);
    }
    bool indices =
        id == CALL_argsort || id == CALL_topk_index || (id == CALL_columns && columns_unpack(flag).indices);
    return dt == (indices ? DT_I64 : (enum dtype)n->src[0]->dt) ? NULL
                                                                : "indices are i64, values keep their dtype";
}
