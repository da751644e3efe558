/* gpu_mma.c: what warps do together: cp.async, ldmatrix, mma.sync and wgmma, TMA copies, mbarriers, DSMEM stores.
 * Operands of mma.sync are words in registers (two 16-bit elements each, four of 8 bits); those of wgmma are tiles in shared memory,
 * named by matrix descriptors. Register layouts are in ir/mma.def alone; here only the instruction is rendered.
 * CUDA only: render_opencl_fits refuses these ops. Tests: tests/unit/gpu_threads.c, tests/unit/cuda.c */
#include "render/gpu.h"

enum {
    PIECES = 8 /* 16-byte chunks in a row of a panel */,
    PANEL_ROWS = 8 /* rows of a core matrix */
};

/* cp.async of 16, 8 or 4 bytes; smaller elements are copied synchronously. */
void gpu_copy(struct gpu *c, const uop *n) {
    struct gpu_access to = gpu_access_of(c, n->src[0]), from = gpu_access_of(c, n->src[1]);
    const uop *pred = n->nsrc > 2 ? n->src[2] : NULL;
    unsigned bytes = dtype_info[to.dt].bytes, piece = RG_MIN(to.piece, from.piece);
    if (pred && pred->lanes > 1) piece = 1;
    if (piece * bytes < 4) piece = 1;
    for (unsigned i = 0; i < to.lanes; i += piece) {
        const char *g = pred ? gpu_operand(c, pred, i).s : "true", *d = gpu_element(c, &to, i),
                   *s = gpu_element(c, &from, i);
        if (piece * bytes >= 4)
            line(&c->r, "cp_async_%u%s(&%s, &%s, %s);", piece * bytes,
                 n->arg.i && piece * bytes == 16 ? "_ca" : "", d, s, g);
        else
            line(&c->r, "%s = %s ? %s : (%s)0;", d, g, s, elem_type(to.dt));
    }
}

/* Four words of two elements. */
void gpu_ldmatrix(struct gpu *c, const uop *n) {
    struct gpu_access p = gpu_access_of(c, n->src[0]);
    struct c_text *t = gpu_new_lanes(c, n);
    const char *name = fmt(&c->r, "f%u", c->r.pos);
    line(&c->r, "u32 %s_0, %s_1, %s_2, %s_3; ldmatrix%s(%s_0, %s_1, %s_2, %s_3, &%s);", name, name, name,
         name, n->arg.i ? "_trans" : "", name, name, name, name, gpu_element(c, &p, 0));
    for (unsigned i = 0; i < n->lanes; i++)
        t[i] = (struct c_text){
            .s = fmt(&c->r, "%s_%u", name, i), .node = n, .dt = DT_U32, .lanes = 1, .atom = true};
}

/* Register w of an operand. */
static const char *word(struct gpu *c, const uop *n, unsigned w) {
    return n->dt == DT_F32 ? fmt(&c->r, "tf32(%s)", gpu_operand(c, n, w).s) : gpu_operand(c, n, w).s;
}

/* A wgmma descriptor. Addresses count 16-byte units; the constant part is split off, so that tiles of one
 * K step are one address and small offsets. Not where the rest may be negative (the other of two stages, 1
 * - stage): the units are unsigned. */
static const char *tile_of(struct gpu *c, const uop *index, const union arg *arg, int operand) {
    int rows = arg->mma.rows[operand], leap = arg->mma.leap[operand];
    const char *more_rows = leap && leap != PANEL_ROWS ? fmt(&c->r, ", %d", leap * PIECES) : "";
    struct gpu_access p = gpu_access_of(c, index);
    const char *first = fmt(&c->r, "P%s", p.base + 1); /* address of the LOCAL Ln */
    const uop *at = index->src[1], *far = at->op == OP_ADD && uop_is_const(at->src[1]) ? at->src[1] : NULL;
    int64_t piece = 16 / dtype_info[p.dt].bytes, more = far ? far->arg.i : 0;
    if (far && more % piece == 0 && at->src[0]->lo >= 0 && uop_divides(at->src[0], piece))
        return fmt(&c->r, "smem_desc(%s + (u32)(%s) / %lld + %lld, %u%s)", first,
                   gpu_operand(c, at->src[0], 0).s, (long long)piece, (long long)(more / piece), rows * 128,
                   more_rows);
    return fmt(&c->r, "smem_desc(%s + (u32)(%s) / %lld, %u%s)", first, p.at.s, (long long)piece, rows * 128,
               more_rows);
}

static void group_mma(struct gpu *c, const uop *n) {
    const struct mma_info *info = &mma_info[n->arg.mma.instr];
    const uop *a = n->src[n->nsrc - 2];
    bool tile = a->op == OP_INDEX; /* else registers, without an address */
    unsigned lanes = n->src[0]->lanes, cells = (n->nsrc - 2) * lanes, at = cells;
    /* partial sums: "+f" reuses the last one's registers once it is read; else ptxas keeps two sets */

    const char *reg =
        n->arg.mma.zero_init && !mma_low_precision_acc((enum mma)n->arg.mma.instr) ? "=f" : "+f";
    struct str op, arg;
    str_init(&op, c->r.a), str_init(&arg, c->r.a);
    str_printf(&op, "{ .reg .pred p; setp.%s.u32 p, 0, 0; %s {", n->arg.mma.zero_init ? "ne" : "eq",
               info->ptx);
    for (unsigned i = 0; i < cells; i++) {
        str_printf(&op, "%s%%%u", i ? ", " : "", i);
        str_printf(&arg, "%s\"%s\"(%s)", i ? ", " : "", reg, gpu_operand(c, n->src[i / lanes], i % lanes).s);
    }
    str_add(&arg, " : ");
    if (tile) {
        str_printf(&op, "}, %%%u", at++);
        str_printf(&arg, "\"l\"(%s)", tile_of(c, a, &n->arg, 0));
    } else {
        for (unsigned i = 0; i < a->lanes; i++) {
            str_printf(&op, "%s%%%u", i ? ", " : "}, {", at++);
            str_printf(&arg, "%s\"r\"(%s)", i ? ", " : "", gpu_operand(c, a, i).s);
        }
        str_add(&op, "}");
    }
    str_printf(&op, ", %%%u, p, 1, 1", at);
    bool either = dtype_info[info->in].bytes == 2; /* only 16-bit types have the transpose bits (MN-major) */
    if (tile && either) str_printf(&op, ", %d", n->arg.mma.rows[0] != 0);
    if (either) str_printf(&op, ", %d", n->arg.mma.rows[1] != 0);
    str_add(&op, "; }");
    line(&c->r, "asm volatile(\"%s\" : %s, \"l\"(%s));", op.p, arg.p,
         tile_of(c, n->src[n->nsrc - 1], &n->arg, 1));
}

/* Butterfly shuffle, bit by bit. */
void gpu_warp_reduce(struct gpu *c, const uop *n) {
    const char *acc = gpu_operand(c, n->src[0], 0).s;
    enum dtype dt = (enum dtype)n->src[0]->dt;
    for (int bit = 1; bit < MMA_LANES; bit *= 2) {
        if (!(n->src[1]->arg.i & bit)) continue;
        struct c_text pair[2] = {{.s = acc, .dt = (uint8_t)dt, .lanes = 1, .atom = true},
                                 {.s = fmt(&c->r, "__shfl_xor_sync(0xffffffffu, %s, %d)", acc, bit),
                                  .dt = (uint8_t)dt,
                                  .lanes = 1}};
        line(&c->r, "%s = %s;", acc, op_plain(&c->r, (enum op)n->arg.i, dt, 1, pair, 2).s);
    }
}

static bool is_before(const uop *const *done, uint32_t n, const uop *m) {
    for (uint32_t i = 0; i < n; i++)
        if (done[i] == m->src[0]) return true;
    return false;
}

/* Accumulators of completed wgmmas are read after this and not before; what was waited for earlier is
 * known. Groups count back from the last: arg groups stay in flight. */
void gpu_mma_wait(struct gpu *c, const uop *n) {
    const uop *seen[8];
    uint32_t nseen = 0;
    int64_t group = -1, end = INT64_MAX;
    line(&c->r, "wgmma_wait<%lld>();", (long long)n->arg.i);
    for (uint32_t i = c->r.pos; i-- > 0 && group < end;) {
        const uop *m = c->r.lin->u[i];
        if (m->op == OP_WGMMA_WAIT) end = RG_MIN(end, group + 1 + m->arg.i);
        if (m->op == OP_WGMMA_COMMIT) group++;
        if (m->op != OP_MMA || group >= end || is_before(seen, nseen, m)) continue;
        if (nseen < RG_COUNT(seen)) seen[nseen++] = m->src[0];
        for (uint32_t k = 0; k + 2 < m->nsrc && group >= n->arg.i; k++)
            for (unsigned l = 0; l < m->src[k]->lanes; l++)
                line(&c->r, "asm volatile(\"\" : \"+f\"(%s));", gpu_operand(c, m->src[k], l).s);
    }
}

void gpu_mma(struct gpu *c, const uop *n) {
    const struct mma_info *info = &mma_info[n->arg.mma.instr];
    if (mma_is_wgmma((enum mma)n->arg.mma.instr)) {
        group_mma(c, n);
        return;
    }
    const uop *a = n->src[n->nsrc - 2], *b = n->src[n->nsrc - 1];
    unsigned count = (unsigned)info->count, cells = (n->nsrc - 2) * n->src[0]->lanes;
    unsigned na = a->lanes, nb = b->lanes / count, nd = cells / count;
    const char *in = info->in == DT_F64 ? "d" : "r", *acc = info->acc == DT_F64   ? "d"
                                                            : info->acc == DT_I32 ? "r"
                                                                                  : "f";
    for (unsigned k = 0; k < count; k++) {
        struct str op, arg;
        str_init(&op, c->r.a), str_init(&arg, c->r.a);
        str_printf(&op, "%s {", info->ptx);
        for (unsigned i = 0; i < nd; i++) {
            unsigned e = k * nd + i, lanes = n->src[0]->lanes;
            str_printf(&op, "%s%%%u", i ? ", " : "", i);
            str_printf(&arg, "%s\"+%s\"(%s)", i ? ", " : "", acc,
                       gpu_operand(c, n->src[e / lanes], e % lanes).s);
        }
        str_add(&arg, " : ");
        for (unsigned i = 0; i < na + nb; i++) {
            str_printf(&op, "%s%%%u", i == 0 || i == na ? "}, {" : ", ", nd + i);
            str_printf(&arg, "%s\"%s\"(%s)", i ? ", " : "", in,
                       i < na ? word(c, a, i) : word(c, b, k * nb + i - na));
        }
        str_add(&op, "}, {");
        for (unsigned i = 0; i < nd; i++) str_printf(&op, "%s%%%u", i ? ", " : "", i);
        line(&c->r, "asm(\"%s};\" : %s);", op.p, arg.p);
    }
}

/* ---- boxes -------------------------------------------------------------------------------------------- */

/* The TENSOR_MAP of a TMA_LOAD or TMA_STORE. */
static struct render_map map_of(const uop *box) {
    const uop *n = box->src[1];
    struct render_map m = {.slot = n->src[0]->arg.param.slot,
                           .rank = (uint32_t)n->arg.i,
                           .bytes = dtype_info[n->dt].bytes,
                           .digits = box->op == OP_TMA_LOAD ? box->arg.i : 0};
    for (uint32_t i = 0; i < m.rank && i < RENDER_AXES; i++) {
        m.size[i] = n->src[1 + i]->arg.i;
        m.step[i] = i ? n->src[m.rank + i]->arg.i : 1;
        m.box[i] = n->src[2 * m.rank + i]->arg.i;
    }
    return m;
}

/* Copies with equal descriptors share one: compared by value. */
static uint32_t map_number(const struct gpu *c, const uop *n) {
    struct render_map m = map_of(n);
    uint32_t i = 0;
    while (i < c->nmap && memcmp(&c->map[i], &m, sizeof m)) i++;
    return i;
}

void gpu_find_maps(struct gpu *c) {
    for (uint32_t i = 0; i < c->r.lin->n; i++) {
        const uop *n = c->r.lin->u[i];
        if (n->op != OP_TMA_LOAD && n->op != OP_TMA_STORE) continue;
        uint32_t at = map_number(c, n);
        if (at < c->nmap) continue;
        if (at == RENDER_MAPS || n->src[1]->arg.i > RENDER_AXES)
            err_throw(c->r.ir->err, RG_ELIMIT,
                      "kernel %s: TMA copies with more than %d descriptors, or of more than %d axes",
                      c->r.lin->name, RENDER_MAPS, RENDER_AXES);
        c->map[c->nmap++] = map_of(n);
    }
}

static const char *address_of(struct gpu *c, const uop *index) {
    struct gpu_access p = gpu_access_of(c, index);
    return fmt(&c->r, "smem_addr(%s + %s)", p.base, p.at.s);
}

static void box(struct gpu *c, const uop *n) {
    uint32_t first = n->op == OP_TMA_LOAD ? 3 : 2;
    struct str s;
    str_init(&s, c->r.a);
    for (uint32_t i = first; i < n->nsrc; i++) str_printf(&s, ", %s", gpu_operand(c, n->src[i], 0).s);
    const char *panel = address_of(c, n->src[0]),
               *to = n->op == OP_TMA_LOAD ? address_of(c, n->src[2]) : NULL;
    if (to)
        line(&c->r, "tma_load(%s, &m%u, %s%s);", panel, map_number(c, n), to, s.p);
    else
        line(&c->r, "tma_store(%s, &m%u%s);", panel, map_number(c, n), s.p);
}

static void send(struct gpu *c, const uop *n) {
    unsigned lanes = n->src[0]->lanes;
    struct str s;
    str_init(&s, c->r.a);
    if (n->src[2]->dt != DT_F32 || (lanes != 1 && lanes != 2))
        gpu_bad(c, n, "a DSMEM store has 1 or 2 floats");
    for (unsigned i = 0; i < lanes; i++) str_printf(&s, ", %s", gpu_operand(c, n->src[2], i).s);
    struct gpu_access p = gpu_access_of(c, n->src[0]);
    line(&c->r, "dsmem_store_%u(cluster_addr(smem_addr(%s), %s) + (u32)(%s) * 4%s);", lanes, p.base,
         gpu_operand(c, n->src[1], 0).s, p.at.s, s.p);
}

void gpu_box(struct gpu *c, const uop *n) {
    long long arg = (long long)n->arg.i;
    switch (n->op) {
    case OP_PIN_REG: line(&c->r, "asm volatile(\"\" : \"+r\"(%s));", gpu_operand(c, n->src[0], 0).s); break;
    case OP_SETMAXNREG: line(&c->r, "setmaxnreg<%lld>();", arg); break;
    case OP_DSMEM_STORE: send(c, n); break;
    case OP_TMA_STORE_WAIT: line(&c->r, "tma_store_wait<%lld>();", arg); break;
    case OP_MBAR_INIT: line(&c->r, "mbar_init(%s, %lld);", address_of(c, n->src[0]), arg); break;
    case OP_MBAR_ARRIVE:
        if (arg)
            line(&c->r, "mbar_expect_tx(%s, %lld);", address_of(c, n->src[0]), arg);
        else
            line(&c->r, "mbar_arrive(%s);", address_of(c, n->src[0]));
        break;
    case OP_MBAR_WAIT:
        line(&c->r, "mbar_wait(%s, %s);", address_of(c, n->src[0]), gpu_operand(c, n->src[1], 0).s);
        break;
    default: box(c, n);
    }
}
