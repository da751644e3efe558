/* hlo.h: what an XLA instruction computes and moves, by program and name. Files: hlo.c, xplane.c */
#ifndef RIDGE_ANALYZE_HLO_H
#define RIDGE_ANALYZE_HLO_H

#include "analyze/readers/protobuf.h"

struct hlo_cost {
    double flops, bytes;
    int64_t m, n, k, batch; /* of its GEMM, 0 none */
    char type;              /* of shapes.h, of its largest product, or of what it stores */
};
struct hlo {
    struct arena *arena;
    struct map of; /* program and name -> index of a cost + 1 */
    VEC(struct hlo_cost) cost;
};
void hlo_init(struct hlo *, struct arena *);
void hlo_read(struct hlo *, struct pb proto, uint64_t program); /* an HloProto; damage ends the reading */
const struct hlo_cost *hlo_find(const struct hlo *, uint64_t program, struct pb name); /* NULL: not known */

#endif
