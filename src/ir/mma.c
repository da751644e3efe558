/* mma.c: the table of MMA instructions (mma.def) and their register layouts. Codegen tiles axes by them,
 * the interpreter computes by them, the renderer names the instruction. Tests: tests/unit/mma.c,
 * tests/unit/gpu_threads.c */
#include "ir.h"

const struct mma_info mma_info[MMA_COUNT] = {
#define MMA(id, m, n, k, type, type_acc, a, b, d, number, text) \
    {.name = #id,                                               \
     .ptx = text,                                               \
     .size = {m, n, k},                                         \
     .in = DT_##type,                                           \
     .in_b = DT_##type,                                         \
     .acc = DT_##type_acc,                                      \
     .count = number,                                           \
     .vec = 1,                                                  \
     .sum = DT_##type_acc == DT_I32 ? MMA_EXACT : 0,            \
     .map = {a, b, d}},
#define MMA_CPU(id, m, n, k, type, type_b, type_acc, a, b, d, digits, order, flag) \
    {.name = #id,                                                                  \
     .feature = flag,                                                              \
     .size = {m, n, k},                                                            \
     .in = DT_##type,                                                              \
     .in_b = DT_##type_b,                                                          \
     .acc = DT_##type_acc,                                                         \
     .count = 1,                                                                   \
     .vec = digits,                                                                \
     .sum = MMA_##order,                                                           \
     .map = {a, b, d}},
#include "mma.def"
#undef MMA
#undef MMA_CPU
};

static const char *digit(const char *p, struct mma_digit *d) {
    d->dim = *p == 'M' ? MMA_M : *p == 'N' ? MMA_N : MMA_K;
    d->extent = d->stride = 0;
    for (p++; *p >= '0' && *p <= '9'; p++) d->extent = d->extent * 10 + (*p - '0');
    for (p++; *p >= '0' && *p <= '9'; p++) d->stride = d->stride * 10 + (*p - '0');
    return p;
}

struct mma_map mma_map(enum mma instr, unsigned operand) {
    struct mma_map m = {0};
    bool reg = false;
    for (const char *p = mma_info[instr].map[operand]; *p;) {
        if (*p == ' ' || *p == ']') {
            p++;
        } else if (*p == '[') {
            reg = m.memory = true, p++;
        } else if (*p == '/') {
            reg = true, p++;
        } else {
            p = digit(p, reg ? &m.reg[m.nreg] : &m.lane[m.nlane]);
            reg ? m.nreg++ : m.nlane++;
        }
    }
    m.regs = 1;
    for (unsigned i = 0; i < m.nreg; i++) m.regs *= m.reg[i].extent;
    return m;
}

void mma_element(const struct mma_map *m, unsigned lane, unsigned reg, int at[3]) {
    at[MMA_M] = at[MMA_N] = at[MMA_K] = 0;
    for (unsigned i = 0; i < m->nlane; i++) {
        at[m->lane[i].dim] += (int)(lane % (unsigned)m->lane[i].extent) * m->lane[i].stride;
        lane /= (unsigned)m->lane[i].extent;
    }
    for (unsigned i = 0; i < m->nreg; i++) {
        at[m->reg[i].dim] += (int)(reg % (unsigned)m->reg[i].extent) * m->reg[i].stride;
        reg /= (unsigned)m->reg[i].extent;
    }
}
