/* gpu.c: a linear program as one kernel in CUDA C or OpenCL C. Differences of the languages are in a table (struct
 * dialect), and in a few forms: vectors, how buffers are passed, how threads of a block exchange values.
 * Two kinds of kernels: one thread per iteration of the grid, or, with cooperative loops (gpu_coop.c), one block.
 * A GPU has no SIMD vectors: each lane is a scalar, rendered with the scalar half of c_op.c and c_cast.c; consecutive
 * elements are loaded and stored as vectors of up to 16 bytes where the index is aligned (buffers are 64-byte aligned).
 * Scratch memory is an array of the thread if it is small, else the thread's slice of a buffer; then there are fewer
 * threads than iterations, and each runs several. As in c.c a value is `const T vN`, N its position in the list, and
 * nothing that reads memory or an accumulator moves.
 * Tests: tests/unit/cuda.c (compiled for two architectures; run where there is a device), tests/unit/opencl.c */
#include "model/model.h"
#include "render/gpu.h"

enum {
    LEAST_THREADS = 8,      /* threads per iteration, on CUDA */
    LONG_THREAD = 4096,     /* iterations of a thread's loops that are worth a word, where threads are few */
    LEAST_COLUMNS = 64,     /* threads of a block with columns */
    THREADS = 256,          /* threads of a block, one iteration each, or several rows */
    LOCAL_BYTES = 256,      /* bytes of scratch that are an array of the thread */
    CAPPED_REGISTERS = 128, /* threads with LEAST_SUMS .. MOST_SUMS accumulators */
    OTHER_REGISTERS = 32,   /* registers of a thread besides its accumulators */
    LEAST_SUMS = 40,
    MOST_SUMS = 96,
};

static const struct dialect cuda_c = {
    .thread = "threadIdx.x",
    .group = "blockIdx.x",
    .item = "(u64)blockIdx.x * blockDim.x + threadIdx.x",
    .items = "(u64)gridDim.x * blockDim.x",
    .barrier = "__syncthreads();",
    .global = "",
    .shared = "__shared__ ",
    .restricted = "__restrict__",
    .aligned = "alignas(16)",
};

static const struct dialect opencl_c = {
    .cl = true,
    .thread = "(u32)get_local_id(0)",
    .group = "get_group_id(0)",
    .item = "get_global_id(0)",
    .items = "get_global_size(0)",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE);",
    .global = "__global ",
    .shared = "__local ",
    .restricted = "restrict",
    .aligned = "__attribute__((aligned(16)))",
};

void gpu_bad(struct gpu *c, const uop *n, const char *why) {
    err_throw(c->r.ir->err, RG_EINTERNAL, "kernel %s, entry %u (%s): %s; this is a bug in ridge",
              c->r.lin->name, c->r.pos, op_info[n->op].name, why);
}

/* ---- values ------------------------------------------------------------------------------------------ */

struct c_text **gpu_slot(struct gpu *c, const uop *n) {
    if (!c->r.slot[n->id]) {
        vec_push(c->r.a, &c->lane, NULL);
        c->r.slot[n->id] = c->lane.n;
    }
    return &c->lane.p[c->r.slot[n->id] - 1];
}

struct c_text *gpu_new_lanes(struct gpu *c, const uop *n) {
    struct c_text *t = arena_array(c->r.a, struct c_text, n->lanes);
    *gpu_slot(c, n) = t;
    return t;
}

void gpu_one_name(struct gpu *c, const uop *n, const char *name) {
    *gpu_new_lanes(c, n) = (struct c_text){.s = name, .node = n, .dt = n->dt, .lanes = 1, .atom = true};
}

/* Lane i; a scalar is the same in all. */
struct c_text gpu_operand(struct gpu *c, const uop *n, unsigned i) {
    struct c_text t;
    switch (n->op) {
    case OP_CONST: t = constant(&c->r, (enum dtype)n->dt, n->arg); break;
    case OP_INVALID: t = constant(&c->r, (enum dtype)n->dt, ARG_NONE); break;
    case OP_LANES: return constant(&c->r, (enum dtype)n->dt, ARG_INT(i));
    default: {
        const struct c_text *v = *gpu_slot(c, n);
        if (!v) gpu_bad(c, n, "is used before it is evaluated");
        t = v[n->lanes > 1 ? i : 0];
    }
    }
    t.node = n;
    return t;
}

/* (u32)(bits of the 16-bit float x): x. */
static const uop *half_word(const uop *n) {
    const uop *bits = n->op == OP_CAST && n->dt == DT_U32 ? n->src[0] : NULL;
    if (!bits || bits->op != OP_BITCAST) return NULL;
    const uop *h = bits->src[0];
    return h->op == OP_CAST && (h->dt == DT_BF16 || h->dt == DT_F16) && h->src[0]->dt == DT_F32 ? h : NULL;
}

/* Two fp32 converted to 16 bits and packed: one instruction. */
static bool pack_two(struct gpu *c, const uop *n, unsigned lane, struct c_text *out) {
    for (int i = 0; i < 2 && n->op == OP_OR && n->dt == DT_U32 && !c->d->cl; i++) {
        const uop *low = half_word(n->src[i]), *up = n->src[1 - i];
        const uop *high = up->op == OP_SHL && uop_is_int_const(up->src[1], 16) ? half_word(up->src[0]) : NULL;
        if (!low || !high || low->dt != high->dt) continue;
        *out = (struct c_text){.s = fmt(&c->r, "two_%s(%s, %s)", dtype_info[low->dt].name,
                                        gpu_operand(c, low->src[0], lane).s,
                                        gpu_operand(c, high->src[0], lane).s),
                               .dt = DT_U32,
                               .lanes = 1};
        return true;
    }
    return false;
}

/* The warpgroup index is warp-uniform, by a shuffle: tile addresses computed from it stay in the uniform
 * datapath. (The warp index would be too, but kernels with many accumulators have no registers for what
 * ptxas then keeps.) */
static const char *of_group(struct gpu *c, const uop *n) {
    if (!c->group || (n->op != OP_SHR && n->op != OP_IDIV) || n->src[0]->op != OP_RANGE ||
        n->src[0]->arg.range.kind != AX_THREAD || !uop_is_const(n->src[1]) || n->src[1]->arg.i <= 0)
        return NULL;
    int64_t by = n->src[1]->arg.i;
    if (n->op == OP_SHR) by = by < 16 ? (int64_t)1 << by : 0;
    if (by < WARPGROUP || by % WARPGROUP) return NULL;
    return by == WARPGROUP ? c->group
                           : fmt(&c->r, "(i32)((u32)%s / %lldu)", c->group, (long long)by / WARPGROUP);
}

static struct c_text scalar_op(struct gpu *c, const uop *n, const struct c_text *src) {
    const char *group = of_group(c, n);
    if (group) return (struct c_text){.s = group, .dt = n->dt, .lanes = 1};
    struct c_text x =
        n->op == OP_EXP2 && n->dt == DT_F32 && c->weights
            ? (struct c_text){.s = fmt(&c->r, "exp2_flush(%s)", src[0].s), .dt = DT_F32, .lanes = 1}
        : n->op == OP_CAST    ? cast_text(&c->r, src[0], (enum dtype)n->dt)
        : n->op == OP_BITCAST ? bitcast_text(&c->r, src[0], (enum dtype)n->dt)
                              : op_plain(&c->r, (enum op)n->op, (enum dtype)n->dt, 1, src, n->nsrc);
    for (unsigned k = 0; k < n->nsrc; k++) x.moving |= src[k].moving;
    return x;
}

/* Pairwise tree, lane l with lane l + half: the order of ref/linear.c. */
static struct c_text vec_reduce(struct gpu *c, const uop *n) {
    const uop *v = n->src[0];
    struct c_text *e = arena_array(c->r.a, struct c_text, v->lanes);
    bool moving = false;
    for (unsigned i = 0; i < v->lanes; i++) {
        e[i] = gpu_operand(c, v, i);
        moving |= e[i].moving;
        e[i].node = NULL;
    }
    for (unsigned k = v->lanes; k > 1; k = (k + 1) / 2) {
        unsigned half = (k + 1) / 2;
        for (unsigned i = 0; i + half < k; i++) {
            struct c_text pair[2] = {e[i], e[i + half]};
            e[i] = named(&c->r, op_plain(&c->r, (enum op)n->arg.i, (enum dtype)n->dt, 1, pair, 2));
        }
    }
    e[0].moving = moving && v->lanes == 1;
    return e[0];
}

/* ---- entries ------------------------------------------------------------------------------------------- */

/* Lanes rounded to 16 bits, two per instruction, stored packed. */
static bool rounds_pairs(const struct gpu *c, const uop *n) {
    return !c->d->cl && n->op == OP_CAST && n->src[0]->dt == DT_F32 &&
           (n->dt == DT_BF16 || n->dt == DT_F16) && n->lanes > 1 && n->lanes % 2 == 0 &&
           n->src[0]->lanes == n->lanes;
}

/* A rounded sum of two 16-bit floats: the fp32 sum rounds to it (rules/half.c). */
static bool adds_16_bit(const uop *n) {
    const uop *s = n->src[0];
    if (s->op != OP_ADD && s->op != OP_SUB) return false;
    for (int k = 0; k < 2; k++)
        if (s->src[k]->op != OP_CAST || s->src[k]->src[0]->dt != n->dt) return false;
    return true;
}

/* Lanes i and i + 1 of a 16-bit type, packed in one word. */
static const char *word_of(struct gpu *c, const uop *n, unsigned i) {
    const char *two = n->lanes > 1 ? gpu_pair(c, n, i) : NULL;
    return two ? two
               : fmt(&c->r, "((u32)(u16)(%s) | (u32)(%s) << 16)", gpu_operand(c, n, i).s,
                     gpu_operand(c, n, i + 1).s);
}

static void round_pairs(struct gpu *c, const uop *n, struct c_text *out) {
    const uop *s = n->src[0];
    const char *type = dtype_info[n->dt].name;
    bool sum = adds_16_bit(n);
    for (unsigned i = 0; i < n->lanes; i += 2) {
        const char *two = fmt(&c->r, "h%u_%u", c->r.pos, i);
        const uop *a = sum ? s->src[0] : NULL, *b = sum ? s->src[1] : NULL;
        if (sum)
            line(&c->r, "const u32 %s = %s_%s(%s, %s);", two, s->op == OP_ADD ? "add2" : "sub2", type,
                 word_of(c, a->src[0], i), word_of(c, b->src[0], i));
        else
            line(&c->r, "const u32 %s = pair_%s(%s, %s);", two, type, gpu_operand(c, s, i).s,
                 gpu_operand(c, s, i + 1).s);
        for (unsigned k = 0; k < 2; k++) out[i + k] = (struct c_text){.node = n, .dt = n->dt, .lanes = 1};
        gpu_pair_lanes(c, two, &out[i]);
    }
}

static void evaluate(struct gpu *c, const uop *n, struct c_text *out) {
    struct c_text src[3] = {{0}};
    switch (n->op) {
    case OP_LOAD:
    case OP_PRED_LOAD: gpu_load(c, n, out); return;
    case OP_BUILD:
        for (unsigned i = 0; i < n->lanes; i++) out[i] = gpu_operand(c, n->src[n->nsrc == 1 ? 0 : i], 0);
        return;
    case OP_EXTRACT: out[0] = gpu_operand(c, n->src[0], (unsigned)n->arg.i); return;
    case OP_VEC_REDUCE: out[0] = vec_reduce(c, n); return;
    default:
        if (!op_is_pure((enum op)n->op) || n->nsrc > 3)
            err_throw(c->r.ir->err, RG_EUNSUPPORTED, "kernel %s: %s does not stand in a linear program",
                      c->r.lin->name, op_info[n->op].name);
        if (rounds_pairs(c, n)) {
            round_pairs(c, n, out);
            return;
        }
        for (unsigned i = 0; i < n->lanes; i++) {
            if (pack_two(c, n, i, &out[i])) continue;
            for (uint32_t k = 0; k < n->nsrc; k++) src[k] = gpu_operand(c, n->src[k], i);
            out[i] = scalar_op(c, n, src);
        }
    }
}

/* As in c.c: index arithmetic and conditions are rendered at their use. */
static bool in_place(const struct gpu *c, const uop *n, const struct c_text *t) {
    if (t->moving) return false;
    if (t->atom) return true;
    if (n->op == OP_LOAD || n->op == OP_PRED_LOAD) return false;
    return n->lanes == 1 && !dt_is_float((enum dtype)t->dt) && c->r.uses[c->r.pos] == 1 && strlen(t->s) < 96;
}

static void value(struct gpu *c, const uop *n) {
    if (n->op == OP_PARAMS) {
        const char *t = elem_type((enum dtype)n->dt), *name = fmt(&c->r, "v%u", c->r.pos);
        line(&c->r,
             c->d->cl ? "%s%s *const %s = (%s%s *)buf[%u + %s];" : "%s%s *const %s = (%s%s *)buf.p[%u + %s];",
             c->d->global, t, name, c->d->global, t, n->arg.param.slot, gpu_operand(c, n->src[0], 0).s);
        gpu_one_name(c, n, name);
        return;
    }
    struct c_text *t = arena_array(c->r.a, struct c_text, n->lanes);
    evaluate(c, n, t);
    for (unsigned i = 0; i < n->lanes; i++) {
        t[i].node = n;
        if (in_place(c, n, &t[i])) continue;
        const char *name = n->lanes > 1 ? fmt(&c->r, "w%u_%u", c->r.pos, i) : fmt(&c->r, "v%u", c->r.pos);
        line(&c->r, "const %s %s = %s;", type_of(&c->r, (enum dtype)n->dt, 1, 0), name, bare(&c->r, t[i].s));
        t[i] = (struct c_text){.s = name, .node = n, .dt = n->dt, .lanes = 1, .atom = true};
    }
    *gpu_slot(c, n) = t;
}

/* Iterations round-robin: r, r + threads, .. Unrolled where all threads have as many, or keep something of
 * each, so that all loads are in flight together. */
static void open_spread(struct gpu *c, const uop *n, const char *t, const char *name, const char *size) {
    gpu_open_shared(c, c->open);
    if (c->open->scans) {
        gpu_open_scan(c, c->open, n, t, name);
        return;
    }
    int64_t values = uop_is_const(n->src[0]) ? n->src[0]->lo : 0,
            iterations = coop_iterations(values, c->coop);
    c->guarded = values % c->coop != 0;
    c->iteration = NULL;
    if (!values || (c->guarded && !c->open->rows)) {
        c->guarded = false;
        line(&c->r, "for (%s %s = %s; %s < %s; %s += %u) {", t, name, c->member, name, size, name, c->coop);
        return;
    }
    c->iteration = fmt(&c->r, "%s_iter", name);
    line(&c->r, "#pragma unroll %lld", (long long)(c->open->rows ? iterations : RG_MIN(iterations, 4)));
    line(&c->r, "for (int %s = 0; %s < %lld; %s++) {", c->iteration, c->iteration, (long long)iterations,
         c->iteration);
    c->r.indent++;
    line(&c->r, "const %s %s = %s + %s * %u;", t, name, c->member, c->iteration, c->coop);
    if (c->guarded) line(&c->r, "if (%s < %s) {", name, size), c->r.indent++;
    c->r.indent--;
}

/* Does this loop clamp a sum of integers? ptxas (13.0) fuses an addition and a maximum or minimum, and in
 * an unrolled loop with constant terms max(5 - 2, 0) becomes max(2 - 5, 0): such loops are not unrolled. */
static bool clamps_a_sum(const struct gpu *c) {
    const struct linear *l = c->r.lin;
    for (uint32_t i = c->r.pos + 1, depth = 1; i < l->n && depth; i++) {
        const uop *n = l->u[i];
        depth += (n->op == OP_RANGE || n->op == OP_IF) - (n->op == OP_END);
        if ((n->op != OP_MAX && n->op != OP_MIN) || !dt_is_int((enum dtype)n->dt)) continue;
        for (int k = 0; k < 2; k++)
            if (n->src[k]->op == OP_ADD || n->src[k]->op == OP_SUB) return true;
    }
    return false;
}

/* Partial accumulation with waits: unrolled by a usual number of stages, the address of the next tile is a
 * constant between the additions and the next wgmma. (With two partial sums per accumulator, or
 * cooperative copies, registers run out.) */
static bool adds_parts(const struct gpu *c) {
    const struct linear *l = c->r.lin;
    bool fresh = false;
    for (uint32_t i = c->r.pos + 1, depth = 1; i < l->n && depth; i++) {
        const uop *n = l->u[i];
        if (n->op == OP_RANGE || n->op == OP_CP_ASYNC) return false;
        depth += (n->op == OP_IF) - (n->op == OP_END);
        fresh |= n->op == OP_MMA && n->arg.mma.zero_init;
        for (uint32_t k = c->r.pos + 1; k < i && n->op == OP_SET; k++)
            if (l->u[k]->op == OP_SET && l->u[k]->src[0] == n->src[0]) return false;
    }
    return fresh;
}

static void open_range(struct gpu *c, const uop *n) {
    const char *t = elem_type((enum dtype)n->dt), *name = fmt(&c->r, "r%u", c->r.pos),
               *size = gpu_operand(c, n->src[0], 0).s;
    if (n->arg.range.kind == AX_THREAD) {
        line(&c->r, "{ const %s %s = %s;", t, name, c->d->thread);
        gpu_one_name(c, n, name);
        if (c->groups) {
            c->group = "group";
            line(&c->r, "const %s %s = warpgroup_of(%s);", t, c->group, name);
        }
        c->r.indent++;
        return;
    }
    for (uint32_t i = 0; i < c->spread.n && c->block; i++)
        if (c->spread.p[i].begin == c->r.pos) c->open = &c->spread.p[i];
    if (c->open && c->open->begin == c->r.pos)
        open_spread(c, n, t, name, size);
    else {
        if (adds_parts(c))
            line(&c->r, "#pragma unroll 4");
        else if (c->lanes || clamps_a_sum(c))
            line(&c->r, "#pragma unroll 1"); /* unroll what should be */
        line(&c->r, "for (%s %s = 0; %s < %s; %s++) {", t, name, name, size, name);
    }
    gpu_one_name(c, n, name);
    c->r.indent++;
}

static void close_scope(struct gpu *c) {
    bool shared = c->open && c->open->end == c->r.pos;
    if (shared && c->guarded) c->r.indent--, line(&c->r, "}");
    c->r.indent--;
    line(&c->r, "}");
    if (!shared) return;
    gpu_close_shared(c, c->open);
    c->open = NULL;
}

static void set(struct gpu *c, const uop *n) {
    if (n->src[0]->op != OP_ACC) gpu_bad(c, n, "sets something that is no accumulator");
    unsigned lanes = n->src[0]->lanes;
    struct c_text *v = arena_array(c->r.a, struct c_text, lanes);
    for (unsigned i = 0; i < lanes; i++) { /* all are read before the first is written */
        v[i] = gpu_operand(c, n->src[1], i);
        if (lanes > 1 && v[i].moving) v[i].atom = false, v[i] = named(&c->r, v[i]);
    }
    for (unsigned i = 0; i < lanes; i++)
        line(&c->r, "%s = %s;", gpu_operand(c, n->src[0], i).s, bare(&c->r, v[i].s));
}

void gpu_entry(struct gpu *c, const uop *n) {
    c->r.tmp = 0;
    switch (n->op) {
    case OP_RANGE: open_range(c, n); break;
    case OP_IF:
        c->ahead = gpu_loads_ahead(c);
        line(&c->r, "if (%s) {", gpu_operand(c, n->src[0], 0).s);
        c->r.indent++;
        break;
    case OP_ELSE:
        c->r.indent--;
        line(&c->r, "} else {");
        c->r.indent++;
        break;
    case OP_END:
        close_scope(c);
        if (c->ahead) line(&c->r, "pin_loads();");
        c->ahead = false;
        break;
    case OP_STORE:
    case OP_STORE_ADD: gpu_store(c, n); break;
    case OP_PREFETCH: gpu_prefetch(c, n); break;
    case OP_CP_ASYNC: gpu_copy(c, n); break;
    case OP_CP_ASYNC_COMMIT: line(&c->r, "cp_async_commit();"); break;
    case OP_CP_ASYNC_WAIT: line(&c->r, "cp_async_wait<%lld>();", (long long)n->arg.i); break;
    case OP_LDMATRIX: gpu_ldmatrix(c, n); break;
    case OP_MMA: gpu_mma(c, n); break;
    case OP_WARP_REDUCE: gpu_warp_reduce(c, n); break;
    case OP_WGMMA_FENCE: line(&c->r, "wgmma_fence();"); break;
    case OP_WGMMA_COMMIT: line(&c->r, "wgmma_commit();"); break;
    case OP_WGMMA_WAIT: gpu_mma_wait(c, n); break;
    case OP_FENCE_ASYNC: line(&c->r, "fence_async();"); break;
    case OP_BARRIER:
        if (n->arg.i)
            line(&c->r, "named_barrier(%s, %lld);", gpu_operand(c, n->src[0], 0).s, (long long)n->arg.i);
        else
            line(&c->r, "%s", c->d->barrier);
        if (c->late) line(&c->r, "pdl_wait();");
        c->late = false;
        break;
    case OP_CLUSTER_SYNC: line(&c->r, "cluster_sync();"); break;
    case OP_DSMEM_STORE:
    case OP_PIN_REG:
    case OP_SETMAXNREG:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_TMA_STORE_WAIT:
    case OP_MBAR_INIT:
    case OP_MBAR_ARRIVE:
    case OP_MBAR_WAIT: gpu_box(c, n); break;
    case OP_SET: set(c, n); break;
    default: value(c, n);
    }
}

/* ---- the function ---------------------------------------------------------------------------------------- */

static bool is_stored(const struct linear *l, uint32_t slot_number) {
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i];
        if (n->op != OP_STORE && n->op != OP_STORE_ADD) continue;
        const uop *buf = access_buf(n);
        if (buf->op != OP_LOCAL && buf->arg.param.slot == slot_number) return true;
    }
    return false;
}

/* shared: the slot is read as two types. In OpenCL the parameter is restrict. */
static const char *param_type(struct gpu *c, const uop *n, bool shared) {
    const char *t = elem_type((enum dtype)n->dt),
               *alone = c->d->cl ? "" : fmt(&c->r, "%s ", c->d->restricted);
    bool stored = shared || is_stored(c->r.lin, n->arg.param.slot);
    return fmt(&c->r, "%s%s%s *%s", c->d->global, stored ? "" : "const ", t, shared ? "" : alone);
}

/* All buffers in an array. OpenCL passes memory and offset, in units of 8 bytes. */
static void declare_many(struct gpu *c, struct str *formal, struct str *first) {
    uint32_t n = c->r.lin->nbuf;
    if (!c->d->cl) {
        str_printf(formal, "const __grid_constant__ many<%u> buf, ", n);
        return;
    }
    str_add(first, "  __global char *const buf[] = {");
    for (uint32_t i = 0; i < n; i++) {
        str_printf(formal, "__global char *p%u, ", i);
        str_printf(first, "%sp%u + (u64)o%u * 8", i ? ", " : "", i, i);
    }
    str_add(first, "};\n");
}

/* One slot. */
static const char *declare_param(struct gpu *c, uint32_t at, const char *type, bool shared,
                                 struct str *formal, struct str *first) {
    const char *name = fmt(&c->r, "b%u", at);
    if (c->many) {
        str_printf(first, c->d->cl ? "  %sconst %s = (%s)buf[%u];\n" : "  %sconst %s = (%s)buf.p[%u];\n",
                   type, name, type, at);
    } else if (c->d->cl) {
        str_printf(formal, "__global char *%sp%u, ", shared ? "" : "restrict ", at);
        str_printf(first, "  %sconst %s = (%s)(p%u + (u64)o%u * 8);\n", type, name, type, at, at);
    } else {
        str_printf(formal, "%s%s, ", type, name);
    }
    return name;
}

static void declare_unused(struct gpu *c, uint32_t from, uint32_t to, struct str *formal) {
    for (; from < to && !c->many; from++)
        str_printf(formal, c->d->cl ? "__global char *p%u, " : "void *b%u, ", from);
}

/* One pointer per slot; another type of the same slot is a cast of it, and then neither is restrict. */
static void declare_params(struct gpu *c, uop_vec *v, struct str *formal, struct str *first) {
    uint32_t next = 0, nbuf = c->r.lin->nbuf;
    sort_by_slot(v);
    if (c->many) declare_many(c, formal, first);
    for (uint32_t i = 0; i < v->n; i++) {
        const uop *n = v->p[i], *before = i ? v->p[i - 1] : NULL, *after = i + 1 < v->n ? v->p[i + 1] : NULL;
        uint32_t at = n->arg.param.slot;
        bool again = before && before->arg.param.slot == at,
             shared = again || (after && after->arg.param.slot == at);
        const char *type = param_type(c, n, shared), *name;
        if (again && before->dt == n->dt) {
            name = (*gpu_slot(c, before))->s;
        } else if (again) {
            name = fmt(&c->r, "b%u_%s", at, dtype_info[n->dt].name);
            str_printf(first, "  %s const %s = (%s)b%u;\n", type, name, type, at);
        } else {
            declare_unused(c, next, at, formal);
            name = declare_param(c, at, type, shared, formal, first);
            next = at + 1;
        }
        gpu_one_name(c, n, name);
    }
    declare_unused(c, next, nbuf, formal);
    for (uint32_t i = 0; i < nbuf && c->d->cl; i++) str_printf(formal, "u32 o%u, ", i);
    for (uint32_t i = 0; i < c->r.lin->nvar; i++) str_printf(formal, "i64 q%u, ", i);
    str_printf(formal, "u64 n, %schar *scratch, u64 stride", c->d->global);
    for (uint32_t i = 0; i < c->nmap; i++) str_printf(formal, ", const __grid_constant__ tensor_map m%u", i);
}

static void declare_vars(struct gpu *c, uop_vec *v) {
    sort_by_slot(v);
    for (uint32_t i = 0; i < v->n; i++) {
        const uop *n = v->p[i];
        uint32_t at = n->arg.param.slot;
        enum dtype d = (enum dtype)n->dt;
        const char *t = elem_type(d), *name = fmt(&c->r, "n%u_%s", at, dtype_info[d].name);
        const char *x = d == DT_BOOL     ? fmt(&c->r, "q%u != 0", at)
                        : d == DT_F64    ? fmt(&c->r, "U(f64, i64, q%u)", at)
                        : d == DT_F32    ? fmt(&c->r, "U(f32, u32, (u32)q%u)", at)
                        : dt_is_float(d) ? fmt(&c->r, "(u16)q%u", at)
                                         : fmt(&c->r, "(%s)q%u", t, at);
        bool again = i && v->p[i - 1]->arg.param.slot == at && v->p[i - 1]->dt == n->dt;
        if (!again) line(&c->r, "const %s %s = %s;", t, name, x);
        gpu_one_name(c, n, name);
    }
}

static void declare_locals(struct gpu *c) {
    int64_t at = 0, shared = 0, iterations = 1;
    for (uint32_t i = 0; i < c->spread.n && c->row.n; i++)
        iterations =
            RG_MAX(iterations, coop_iterations(c->r.lin->u[c->spread.p[i].begin]->src[0]->hi, c->coop));
    if (c->r.lin->shared && c->d->cl)
        line(&c->r, "__local __attribute__((aligned(128))) char tiles[%lld];", (long long)c->r.lin->shared);
    else if (c->r.lin->shared)
        line(&c->r, "extern __shared__ __align__(1024) char tiles[];");
    if (c->scratch) line(&c->r, "%schar *const mine = scratch + (%s) * stride;", c->d->global, c->d->item);
    for (uint32_t i = 0; i < c->r.lin->nlocal; i++) {
        const uop *n = c->r.lin->local[i];
        const char *t = elem_type((enum dtype)n->dt), *name = fmt(&c->r, "L%u", i);
        if (n->nsrc > 1) {
            line(&c->r, "%s *const %s = (%s *)%s;", t, name, t, (*gpu_slot(c, n->src[1]))->s);
            gpu_one_name(c, n, name);
            continue;
        }
        if (n->arg.mem.space == SPACE_SHARED) {
            const char *space = c->d->cl ? c->d->shared : "";
            shared = (shared + local_align(n) - 1) / local_align(n) * local_align(n);
            line(&c->r, "%s%s *const %s = (%s%s *)(tiles + %lld);", space, t, name, space, t,
                 (long long)shared);
            if (n->arg.mem.panels)
                line(&c->r, "const u32 P%u = desc_addr(tiles) + %lld;", i, (long long)shared / 16);
            gpu_one_name(c, n, name);
            shared += (n->src[0]->hi * dtype_info[n->dt].bytes + 127) & ~(int64_t)127;
            continue;
        }
        const struct coop_row *row = row_of(&c->row, n);
        if (row)
            line(&c->r, "%s %s[%lld] = {0};", t, name, (long long)(row->step * iterations));
        else if (c->scratch)
            line(&c->r, "%s%s *%s const %s = (%s%s *)(mine + %lld);", c->d->global, t, c->d->restricted, name,
                 c->d->global, t, (long long)at);
        else
            line(&c->r, "%s %s %s[%lld];", c->d->aligned, t, name, (long long)RG_MAX(n->src[0]->hi, 1));
        gpu_one_name(c, n, name);
        at = (at + n->src[0]->hi * dtype_info[n->dt].bytes + 63) & ~(int64_t)63;
    }
}

static void declare_accs(struct gpu *c, uop_vec *v) {
    for (uint32_t i = 0; i < v->n; i++) {
        const uop *n = v->p[i];
        struct c_text *t = gpu_new_lanes(c, n);
        for (unsigned k = 0; k < n->lanes; k++) {
            const char *name = n->lanes > 1 ? fmt(&c->r, "a%u_%u", i, k) : fmt(&c->r, "a%u", i);
            line(&c->r, "%s %s;", type_of(&c->r, (enum dtype)n->dt, 1, 0), name);
            t[k] = (struct c_text){.s = name, .dt = n->dt, .lanes = 1, .atom = true, .moving = true};
        }
    }
}

/* A few threads share an iteration and a block runs several: they reduce within a warp. */
static void open_coop_iterations(struct gpu *c) {
    line(&c->r, "const u32 member = %s %% %u;", c->d->thread, c->coop);
    if (c->coop < 32)
        line(&c->r, "const u32 mask = 0x%xu << (%s / %u * %u %% 32);", (1u << c->coop) - 1, c->d->thread,
             c->coop, c->coop);
    line(&c->r, "const u64 t = (u64)%s * %u + %s / %u; if (t < n) {", c->d->group, c->block / c->coop,
         c->d->thread, c->coop);
}

/* Neighbouring threads are in neighbouring iterations; those without one compute the last again and store nothing. */
static void open_columns(struct gpu *c) {
    line(&c->r, "const u32 column = %s %% %u, member = %s / %u;", c->d->thread, c->columns, c->d->thread,
         c->columns);
    line(&c->r,
         "const u64 own = (u64)%s * %u + column, t = own < n ? own : n - 1; const bool live = own < n; {",
         c->d->group, c->columns);
}

/* Before its first barrier a warp-specialized program touches no global memory: griddepcontrol.wait may
 * follow it (PDL). */
static bool begins_late(const struct linear *l) {
    bool news = false;
    for (uint32_t i = 0; i < l->n; i++) {
        enum op op = (enum op)l->u[i]->op;
        if (op == OP_BARRIER) return news;
        news |= op == OP_MBAR_INIT;
        if (op != OP_MBAR_INIT && op != OP_RANGE && op != OP_IF && op != OP_END && !op_is_pure(op))
            return false;
    }
    return false;
}

static void body(struct gpu *c, struct leaves *l) {
    const struct linear *lin = c->r.lin;
    bool grid = lin->n && lin->u[0]->op == OP_RANGE && lin->u[0]->arg.range.kind == AX_GRID;
    c->late = begins_late(lin);
    if (!c->d->cl && !c->late) line(&c->r, "pdl_wait();");
    declare_vars(c, &l->var);
    declare_locals(c);
    if (c->block) {
        uint32_t cells = spread_cells(&c->spread); /* PoCL 5 and 6 abort on an array without a use */
        if (cells && !c->lanes && (gpu_has_warps(c) || c->d->cl))
            line(&c->r, "%su64 shared[%u];", c->d->shared, gpu_shared_words(c, cells));
        if (c->columns)
            open_columns(c);
        else if (c->coop < c->block)
            open_coop_iterations(c);
        else
            line(&c->r, "const u64 t = %s; {", c->d->group);
    } else if (c->scratch)
        line(&c->r, "for (u64 t = %s; t < n; t += %s) {", c->d->item, c->d->items);
    else
        line(&c->r, "const u64 t = %s; if (t < n) {", c->d->item);
    c->r.indent++;
    if (grid) {
        const char *t = elem_type((enum dtype)lin->u[0]->dt);
        line(&c->r, "const %s r0 = (%s)t;", t, t);
        gpu_one_name(c, lin->u[0], "r0");
    }
    declare_accs(c, &l->acc);
    for (c->r.pos = grid; c->r.pos < lin->n - grid; c->r.pos++)
        if (!c->early[c->r.pos]) gpu_entry(c, lin->u[c->r.pos]);
    c->r.indent--;
    line(&c->r, "}");
}

/* Needs PTX. */
static bool is_cuda_only(enum op op) {
    return op == OP_CP_ASYNC || op == OP_CP_ASYNC_COMMIT || op == OP_CP_ASYNC_WAIT || op == OP_LDMATRIX ||
           op == OP_MMA || op == OP_WARP_REDUCE || op == OP_WGMMA_FENCE || op == OP_WGMMA_COMMIT ||
           op == OP_WGMMA_WAIT || op == OP_FENCE_ASYNC || op == OP_PIN_REG || op == OP_SETMAXNREG ||
           op == OP_TMA_LOAD || op == OP_TMA_STORE || op == OP_TMA_STORE_WAIT || op == OP_MBAR_INIT ||
           op == OP_MBAR_ARRIVE || op == OP_MBAR_WAIT || op == OP_CLUSTER_SYNC || op == OP_DSMEM_STORE;
}

bool render_opencl_fits(const struct linear *l, const struct render_limits *limits) {
    for (uint32_t i = 0; i < l->n; i++)
        if (is_cuda_only((enum op)l->u[i]->op)) return false;
    return l->threads <= limits->threads && l->shared <= (int64_t)limits->shared;
}

/* Refuses a kernel that the device cannot run, with the op and the type that it lacks. */
static void check_limits(struct gpu *c, const struct render_limits *limits) {
    const struct linear *l = c->r.lin;
    if (c->d->cl && !render_opencl_fits(l, limits))
        err_throw(c->r.ir->err, RG_EUNSUPPORTED,
                  "kernel %s: a block of %u threads that share %lld bytes, perhaps with instructions of "
                  "CUDA, is more than "
                  "this OpenCL device has (%u threads, %zu bytes); use another opt list",
                  l->name, l->threads, (long long)l->shared, limits->threads, limits->shared);
    for (uint32_t i = 0; i < l->n; i++) {
        const uop *n = l->u[i];
        bool wide = n->dt == DT_F64 || (n->op == OP_FMA && is_half((enum dtype)n->dt));
        enum dtype dt = (enum dtype)n->dt;
        for (uint32_t k = 0; k < n->nsrc; k++)
            if (n->src[k]->dt == DT_F64) wide = true, dt = DT_F64;
        if (limits->no_f64 && wide)
            err_throw(
                c->r.ir->err, RG_EUNSUPPORTED,
                "kernel %s: %s of %s needs double precision, which this device does not have; cast to f32, "
                "or use another device",
                l->name, op_info[n->op].name, dtype_info[dt].name);
        if (limits->no_atomic64 && n->op == OP_STORE_ADD && c->atomic && dtype_info[n->src[1]->dt].bytes == 8)
            err_throw(c->r.ir->err, RG_EUNSUPPORTED,
                      "kernel %s: %s of %s needs atomic operations on 64 bits, which this device does not "
                      "have; use "
                      "a type of 32 bits, or another device",
                      l->name, op_info[n->op].name, dtype_info[n->src[1]->dt].name);
    }
}

/* Do threads load global memory into registers, not by copies to shared memory? */
static bool loads_ahead(const struct linear *lin) {
    for (uint32_t i = 0; i < lin->n; i++)
        if (lin->u[i]->op == OP_CP_ASYNC) return false;
    return lin->threads > 0;
}

/* Does the program wait for each wgmma with nothing else in flight? */
static bool waits_for_groups(const struct linear *lin) {
    bool group = false;
    for (uint32_t i = 0; i < lin->n; i++) {
        const uop *n = lin->u[i];
        if (n->op == OP_CP_ASYNC || n->op == OP_TMA_LOAD) return false;
        group |= n->op == OP_MMA && mma_is_wgmma((enum mma)n->arg.mma.instr);
    }
    return group;
}

static const struct gpu_spec *spec_of(const struct linear *l) { return l->gpu ? l->gpu : gpu_spec_default(); }

/* Blocks per SM that shared memory allows, if registers hold their accumulators and some more. */
static uint32_t blocks_of_groups(const struct gpu *c, uint32_t sums) {
    uint32_t each = (sums + OTHER_REGISTERS + 7) / 8 * 8 * RG_MAX(c->block, 128);
    return RG_MAX(RG_MIN((uint32_t)spec_of(c->r.lin)->regs_sm / each,
                         (uint32_t)(spec_of(c->r.lin)->smem_sm / (c->r.lin->shared + 1024))),
                  1);
}

/* Minimum blocks per SM of __launch_bounds__; 0: none, and ptxas takes all registers that the threads of
 * one block leave. 1: it issues all loads before the first wait, good where an iteration's loads are
 * needed at once. An FMA kernel needs few registers besides its accumulators but would take all to
 * precompute addresses: occupancy hides more. MMA kernels have few to spare already; where a block waits
 * for its own wgmma, other blocks must compute. */
static uint32_t blocks_wanted(const struct gpu *c) {
    uint32_t sums = c->sums, most = (uint32_t)spec_of(c->r.lin)->regs_sm /
                                    (CAPPED_REGISTERS * RG_MAX((c->block + 31) / 32 * 32, 32));
    if (waits_for_groups(c->r.lin)) return blocks_of_groups(c, sums);
    if (loads_ahead(c->r.lin)) return 1;
    for (uint32_t i = 0; i < c->r.lin->n; i++)
        if (c->r.lin->u[i]->op == OP_MMA) return 0;
    if (!c->lanes || sums < LEAST_SUMS || sums > MOST_SUMS) return 0;
    if (c->r.lin->shared)
        most = RG_MIN(most, (uint32_t)(spec_of(c->r.lin)->smem_sm / (c->r.lin->shared + 1024)));
    return most > 1 ? most : 0;
}

/* Threads of the launch. */
static void kernel_words(struct gpu *c) {
    uint32_t threads = c->block ? c->block : THREADS, blocks = blocks_wanted(c);
    if (c->d->cl && c->block)
        str_printf(c->r.o, "__kernel __attribute__((reqd_work_group_size(%u, 1, 1))) ", c->block);
    else if (c->d->cl)
        str_add(c->r.o, "__kernel ");
    else if (blocks)
        str_printf(c->r.o, "extern \"C\" __global__ __launch_bounds__(%u, %u) ", threads, blocks);
    else
        str_printf(c->r.o, "extern \"C\" __global__ __launch_bounds__(%u) ", threads);
    if (c->r.lin->cluster) str_printf(c->r.o, "__cluster_dims__(%u, 1, 1) ", c->r.lin->cluster);
}

/* Loops of single threads that leave most of the GPU idle, or write and read rows of their own in memory. */
static const char *slow_form(struct gpu *c) {
    double each = thread_iterations(c->r.lin), threads = (double)c->r.lin->grid;
    if (c->why || c->block || each < LONG_THREAD) return c->why;
    if (c->scratch)
        return fmt(&c->r, "thread loops of %.0f iterations, rows of %llu bytes in memory", each,
                   (unsigned long long)c->scratch);
    if (threads >= spec_of(c->r.lin)->sms * gpu_cost.threads_coop) return NULL;
    return fmt(&c->r, "thread loops of %.0f iterations, %.0f threads", each, threads);
}

/* Threads of a block of rows that each have at most a warp: fewer where rows are few, and every SM has some. */
static uint32_t rows_together(const struct gpu *c) {
    uint32_t n = THREADS;
    while (n > 32 && (double)c->r.lin->grid * c->coop < (double)n * spec_of(c->r.lin)->sms) n /= 2;
    return n;
}

static void render_gpu(struct gpu *c, struct str *o, const struct render_limits *limits,
                       struct render_shape *shape) {
    const struct linear *lin = c->r.lin;
    struct leaves l = {0};
    struct str formal, first;
    c->r.o = o, c->r.a = c->r.ir->arena, c->r.indent = 1;
    c->r.slot = arena_array(c->r.a, uint32_t, c->r.ir->n + 1);
    c->r.uses = arena_array(c->r.a, uint32_t, lin->n + 1);
    c->early = arena_array(c->r.a, uint8_t, lin->n + 1);
    str_init(&formal, c->r.a), str_init(&first, c->r.a);
    count_uses(&c->r, &l);
    for (uint32_t i = 0; i < lin->n; i++) c->many |= lin->u[i]->op == OP_PARAMS;
    spread_find(c->r.a, lin, limits->threads, &c->spread, &c->row, &c->why);
    uint32_t wide = RG_MAX(lin->columns, 1u), least = c->d->cl ? 32 : LEAST_THREADS;
    if (lin->columns) least = LEAST_COLUMNS / lin->columns;
    c->coop = spread_threads(lin, least, limits->threads / wide, &c->spread, &c->row);
    c->columns = c->coop ? lin->columns : 0, c->block = c->coop * wide;
    c->atomic |= c->block > 0; /* each element is owned by a block */
    for (uint32_t i = 0; i < lin->n; i++)
        c->weights |= lin->u[i]->op == OP_WARP_REDUCE || lin->u[i]->op == OP_MMA,
            c->groups |= lin->u[i]->op == OP_MBAR_INIT;
    if (lin->threads) c->lanes = true, c->block = c->coop = lin->threads;
    c->member = c->d->thread;
    if (c->block && c->block <= 32 && !c->lanes && !c->d->cl) c->block = rows_together(c);
    if (c->block > c->coop) c->member = "member";
    c->scratch = lin->scratch > LOCAL_BYTES && !c->row.n ? lin->scratch : 0;
    c->why = slow_form(c);
    check_limits(c, limits);
    gpu_find_maps(c);
    declare_params(c, &l.param, &formal, &first);
    for (uint32_t i = 0; i < l.acc.n; i++) /* an accumulator without a slot is a counter */
        c->sums += l.acc.p[i]->nsrc || l.acc.p[i]->lanes > 1 ? l.acc.p[i]->lanes : 0;
    kernel_words(c);
    str_printf(o, "void %s(%s) {\n%s", lin->name, formal.p, first.n ? first.p : "");
    body(c, &l);
    str_add(o, "}\n");
    if (c->lanes && c->scratch)
        err_throw(c->r.ir->err, RG_EUNSUPPORTED,
                  "kernel %s: a block program whose threads have scratch memory of their own", lin->name);
    *shape = (struct render_shape){.block = c->block,
                                   .per_block = c->block ? c->block / c->coop : 1,
                                   .scratch = c->scratch,
                                   .shared = c->d->cl ? 0 : lin->shared,
                                   .maps = c->nmap,
                                   .why = c->why};
    memcpy(shape->map, c->map, sizeof shape->map);
}

void render_cuda(struct str *o, struct ir *ir, const struct linear *lin, bool atomic,
                 struct render_shape *shape) {
    struct gpu c = {.r = {.ir = ir, .lin = lin, .lang = LANG_CUDA}, .d = &cuda_c, .atomic = atomic};
    render_gpu(&c, o, &(struct render_limits){.threads = GPU_BLOCK_THREADS}, shape);
}

void render_opencl(struct str *o, struct ir *ir, const struct linear *lin, bool atomic,
                   const struct render_limits *limits, struct render_shape *shape) {
    struct gpu c = {.r = {.ir = ir, .lin = lin, .lang = LANG_OPENCL}, .d = &opencl_c, .atomic = atomic};
    render_gpu(&c, o, limits, shape);
}
