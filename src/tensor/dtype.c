/* dtype.c: which dtype a result has. The table stands in docs/semantics.md and is checked against this code.
 *
 * The order is PyTorch's: bool, then integers, then floats; a result has the higher kind, and within a kind the
 * smallest type that holds both. Two choices are ours because PyTorch refuses them: unsigned 16 and 32 bits beside a
 * signed type give the next wider signed type, and u64 beside a signed type gives f32, as no integer holds both.
 * Tests: tests/unit/tensor.c */
#include "tensor/internal.h"

static enum dtype signed_of(unsigned bytes) {
    return bytes == 1 ? DT_I8 : bytes == 2 ? DT_I16 : bytes == 4 ? DT_I32 : DT_I64;
}

static enum dtype promote_int(enum dtype a, enum dtype b) {
    const struct dtype_info *x = &dtype_info[a], *y = &dtype_info[b];
    if (x->kind == y->kind) return x->bytes >= y->bytes ? a : b;
    unsigned s = x->kind == DK_INT ? x->bytes : y->bytes, u = x->kind == DK_INT ? y->bytes : x->bytes;
    if (s > u) return signed_of(s);
    return u == 8 ? DT_F32 : signed_of(2 * u);
}

enum dtype t_promote(enum dtype a, enum dtype b) {
    if (a == DT_IDX) a = DT_I64;
    if (b == DT_IDX) b = DT_I64;
    if (a == b || b == DT_VOID) return a;
    if (a == DT_VOID || a == DT_BOOL) return b;
    if (b == DT_BOOL) return a;
    bool fa = dt_is_float(a), fb = dt_is_float(b);
    if (fa != fb) return fa ? a : b;
    if (!fa) return promote_int(a, b);
    if (dtype_info[a].bytes == dtype_info[b].bytes) return DT_F32; /* f16 and bf16: neither holds the other */
    return dtype_info[a].bytes > dtype_info[b].bytes ? a : b;
}

enum dtype t_sum_dtype(enum dtype d) { return dt_is_float(d) || d == DT_U64 ? d : DT_I64; }

enum dtype t_number_dtype(enum dtype tensor, bool is_float) {
    if (tensor == DT_IDX) tensor = DT_I64;
    if (is_float) return dt_is_float(tensor) ? tensor : DT_F32;
    return tensor == DT_BOOL ? DT_I64 : tensor;
}
