/* isa.c: instruction sets of CPUs (isa.def): the row of a machine, rows by name and width, and what follows from a row: the
 * accumulators of a register tile, the independent chains that hide the latency of an FMA.
 *
 * A machine is what os_cpu() says that it has, never a name.
 * Tests: tests/unit/model.c (isa_*) */
#include "model.h"

#include <stdlib.h>

static const struct isa rows[] = {
#define ISA(called, of, ...) {.name = (called), .arch = (of), __VA_ARGS__},
#define ISA_OP(...)
#include "isa.def"
#undef ISA
#undef ISA_OP
};

static const struct isa_op ops[] = {
#define ISA(...)
#define ISA_OP(of, row, called, ...) {.arch = (of), .field = MODEL_##row, .name = (called), __VA_ARGS__},
#include "isa.def"
#undef ISA
#undef ISA_OP
};

const struct isa *isa_at(size_t i) { return i < RG_COUNT(rows) ? &rows[i] : NULL; }
const struct isa_op *isa_op_at(size_t i) { return i < RG_COUNT(ops) ? &ops[i] : NULL; }

const struct isa *isa_find(const char *name) {
    for (size_t i = 0; i < RG_COUNT(rows); i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

/* Are all words of `need` among the flags? */
static bool has_all(const char *flags, const char *need) {
    char word[32];
    while (*need) {
        size_t n = strcspn(need, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, need);
        if (!strstr(flags, word)) return false;
        need += n + (need[n] == ' ');
    }
    return true;
}

const struct isa *isa_of(const struct os_cpu *c) {
    const struct isa *best = &rows[0];
    for (size_t i = 0; i < RG_COUNT(rows); i++) {
        bool arch = !rows[i].arch[0] || !strcmp(rows[i].arch, c->arch);
        if (arch && has_all(c->flags, rows[i].need)) best = &rows[i];
    }
    return best;
}

const struct isa *isa_host(void) { return isa_of(os_cpu()); }

const struct isa *isa_of_width(int bytes) {
    if (!bytes) return isa_host();
    for (size_t i = 0; i < RG_COUNT(rows); i++)
        if (rows[i].arch[0] && rows[i].bytes == bytes) return &rows[i];
    return &rows[0];
}

int isa_accumulators(const struct isa *r) { return r->regs - r->operands; }
int isa_chains(const struct isa *r) { return r->fma_most * r->latency; }

bool isa_has(const struct os_cpu *c, const struct isa_op *op) {
    return !strcmp(op->arch, c->arch) && has_all(c->flags, op->need);
}

const struct isa_op *isa_op_of(const struct os_cpu *c, enum model_field f) {
    for (size_t i = 0; i < RG_COUNT(ops); i++)
        if (ops[i].field == f && isa_has(c, &ops[i])) return &ops[i];
    return NULL;
}

static int bytes_of(const char *type) {
    const char *digits = type + strcspn(type, "0123456789");
    return atoi(digits) / 8;
}

double isa_op_count(const struct isa_op *op, int vec_bytes) {
    int n = op->n ? op->n : vec_bytes / bytes_of(op->out);
    return (double)op->count * op->m * n * op->k;
}
