/* shapes.h: FLOPs and least bytes of an operator from its recorded input shapes. Private to analyze.
 * Tests: tests/unit/analyze.c (closed forms). */
#ifndef RIDGE_ANALYZE_SHAPES_H
#define RIDGE_ANALYZE_SHAPES_H

#include "analyze/internal.h"

struct tensor_shape {
    int nd, elt; /* nd: -1 a list of tensors; elt: bytes per element, 0 when it is no tensor */
    int64_t d[8], numel;
    int64_t most;      /* of a list: elements of its largest tensor; numel is those of all */
    int64_t stride[8]; /* in elements, where `strided` */
    bool strided;      /* the strides are known */
    char type;         /* 'f' float, 'd' double, 'h' 16-bit float, '8' 8-bit float, 'i' anything else */
};
struct op_shapes {
    int n;
    struct tensor_shape in[24];
    const char *concrete; /* text of the concrete inputs, NULL none */
    size_t concrete_n;
};
struct op_cost {
    bool known;
    double flops, bytes;
    double same; /* of these bytes: inputs equal in shape to an earlier one, which may be the same tensor */
    int64_t m, n, k, batch; /* GEMM */
    int64_t numel;          /* of the result, elementwise */
    int elt;
    char type;
};
/* blob: what the reader stored, "dims \x1f types [\x1f concrete [\x1f strides]]". */
void shapes_parse(const char *blob, size_t n, struct op_shapes *);
/* Large inputs of one size whose innermost dimensions differ: x.t() beside y. */
bool shapes_mixed(const struct op_shapes *);
struct op_cost op_cost(const char *op, int cls, const struct op_shapes *);

#endif
