/* ir.h: the one IR of Ridge, and the only header of src/ir.
 *
 * A node is (op, dtype, lanes, sources, arg), interned: equal nodes are the same pointer, so `==`
 * compares whole expressions. Nodes live in the arena of a `struct ir` and are numbered in the order
 * they are made; everything ordered is ordered by op rank and id, never by address, so that the same
 * input gives the same text, keys and code in every process.
 *
 * The same node type serves three forms of a kernel:
 *   kernel graph    SINK(STORE...): expressions over RANGEs; loops are implicit     (what people and the planner write)
 *   loop tree       BLOCK/FOR/IF/SET/STORE: loops explicit, expressions shared      (codegen)
 *   linear program  an array of nodes, each evaluated in turn; RANGE and IF open, END closes   (renderers, ref/linear)
 *
 * Integer nodes carry bounds [lo, hi] and a modulus (value = rem mod mul) from birth (bounds.c).
 * Scalars broadcast: a node with a vector source is a vector, its scalar sources are used for each lane.
 * Tests: tests/unit/{uop,bounds,affine,text,verify,rewrite}.c, tests/golden/ */
#ifndef RIDGE_IR_H
#define RIDGE_IR_H

#include "base/base.h"

/* ---- tables ------------------------------------------------------------------------------------ */

enum dtype {
#define DTYPE(name, text, bytes, kind, c) DT_##name,
#include "dtype.def"
#undef DTYPE
    DT_COUNT
};
enum dkind { DK_VOID, DK_BOOL, DK_INT, DK_UINT, DK_FLOAT };
struct dtype_info {
    const char *name, *ctype;
    uint8_t bytes, kind;
};
extern const struct dtype_info dtype_info[DT_COUNT];
static inline bool dt_is_float(enum dtype d) { return dtype_info[d].kind == DK_FLOAT; }
static inline bool dt_is_int(enum dtype d) {
    return dtype_info[d].kind == DK_INT || dtype_info[d].kind == DK_UINT;
}
static inline bool dt_is_bool(enum dtype d) { return d == DT_BOOL; }
enum dtype dt_parse(const char *s, size_t n); /* DT_COUNT if unknown */
int64_t dt_wrap(enum dtype, int64_t);         /* integer brought into the type by wrapping */
double dt_round(enum dtype, double);          /* float rounded to the type (f8.., f16, bf16, f32, f64) */
uint8_t dt_f8_bits(enum dtype, double);       /* of a value of the type F8E4M3 or F8E5M2 */
/* One element of memory, need not be aligned; not of IDX, VOID. */
double dt_number(enum dtype, const void *at);
int64_t dt_min(enum dtype); /* least and greatest integer; u64 is treated as i64 bounds */
int64_t dt_max(enum dtype);

enum op {
#define OP(name, ...) OP_##name,
#include "ops.def"
#undef OP
    OP_COUNT
};
enum { OPF_C = 1, OPF_A = 2, OPF_P = 4, OPF_E = 8, OPF_M = 16, OPF_F = 32, OPF_I = 64, OPF_W = 128 };
enum op_dt { OPD_SELF, OPD_S0, OPD_S1, OPD_BOOL, OPD_IDX, OPD_VOID, OPD_BUF };
enum op_lanes { OPL_WIDE, OPL_ONE, OPL_SELF, OPL_S0 };
enum op_unit { OPU_NONE, OPU_ALU, OPU_DIV, OPU_EX2, OPU_FN, OPU_FN2 };
enum op_arg { OPA_NONE, OPA_VALUE, OPA_INT, OPA_RANGE, OPA_PARAM, OPA_OP, OPA_MEM, OPA_SYM };
struct op_info {
    const char *name, *doc;
    uint8_t min_src;
    uint16_t max_src; /* UINT16_MAX: any number */
    uint8_t dt, lanes, arg, flags;
    uint8_t unit; /* enum op_unit */
    uint16_t weight, flops;
    float ulp;
};
extern const struct op_info op_info[OP_COUNT];
enum op op_parse(const char *s, size_t n); /* OP_COUNT if unknown */
static inline bool op_is_pure(enum op o) { return op_info[o].flags & OPF_P; }
/* Functions: exp, log, sin ..; POW has two sources. */
static inline bool op_is_fn1(enum op o) { return op_info[o].unit == OPU_EX2 || op_info[o].unit == OPU_FN; }
static inline bool op_is_fn(enum op o) { return op_info[o].unit >= OPU_EX2; }
/* Statements that an op becomes, roughly: functions are expanded to arithmetic, and a weight of 2 is an instruction. */
static inline uint32_t op_statements(enum op o) { return op_is_fn(o) ? op_info[o].weight / 2 : 1; }
/* A function, division or root. */
static inline bool op_is_slow(enum op o) { return op_info[o].unit >= OPU_DIV; }
static inline bool op_is_effect(enum op o) { return op_info[o].flags & OPF_E; }
double op_identity_f(enum op reduce_op); /* of ADD MUL MAX MIN over floats */
struct ir;
/* Is a combination of many by ADD, MUL, MAX or MIN the same in any order? */
bool uop_any_order(enum op, enum dtype);
const struct uop *uop_identity(struct ir *, enum op reduce_op, enum dtype);

/* How an axis runs. A kernel from the planner has GRID, LOOP and REDUCE only; opts make the others. */
#define AXIS_TABLE(X)                                                                             \
    X(GRID, 0, "parallel: iterations of the kernel; no order, no communication")                  \
    X(LOOP, 1, "a loop inside one grid iteration")                                                \
    X(REDUCE, 2, "a loop that a reduction runs over")                                             \
    X(SCAN, 3, "a loop whose order matters: a running value is carried along it")                 \
    X(UNROLL, 4, "unrolled; a reduction continues in the same accumulator")                       \
    X(REG, 5, "unrolled; a reduction gets one accumulator per value")                             \
    X(VEC, 6, "the lanes of a vector")                                                            \
    X(THREAD, 11, "threadIdx: each value is a thread of a block, all run the program")            \
    X(COOP, 12, "a serial loop whose iterations the threads of a block share (round-robin)")      \
    X(COPY, 15, "a cooperative copy to shared memory: its elements are dealt out to the threads") \
    X(MMA, 16, "a side of an MMA tile: distributed over the lanes and registers of a warp")
/* The codes are stable: node hashes, which order commutative operands, contain them. */
enum axis_kind {
#define X(name, code, doc) AX_##name = code,
    AXIS_TABLE(X)
#undef X
        AX_COUNT
};
extern const char *const axis_name[AX_COUNT]; /* NULL: no kind has this code */
static inline bool axis_is_expanded(enum axis_kind k) { return k == AX_UNROLL || k == AX_REG || k == AX_VEC; }
/* Neither unrolled nor mapped to the threads of a block. */
static inline bool axis_is_loop(enum axis_kind k) {
    return !axis_is_expanded(k) && k != AX_THREAD && k != AX_COPY && k != AX_MMA;
}

/* Where a LOCAL or STAGE lives. */
enum space { SPACE_SCRATCH, SPACE_SHARED, SPACE_REG, SPACE_COUNT };
extern const char *const space_name[SPACE_COUNT];

/* ---- MMA instructions (mma.def, mma.c) ------------------------------------------------------- */

enum mma {
#define MMA(name, ...) MMA_##name,
#define MMA_CPU(name, ...) MMA_##name,
#include "mma.def"
#undef MMA
#undef MMA_CPU
    MMA_COUNT
};
enum mma_sum {
    MMA_ROUND_ONCE,
    MMA_ODD_PAIRS,
    MMA_FMA_PAIRS,
    MMA_PAIR_SUMS,
    MMA_EXACT
};                            /* order of additions: mma.def */
enum { MMA_M, MMA_N, MMA_K }; /* the sides, and the operand that lacks each: b, a, d are not along m, n, k */
enum { MMA_A, MMA_B, MMA_D, MMA_LANES = 32, WARPGROUP = 128 };
enum { MAPS_MOST = 8 };    /* different MAPs of a kernel: each is a parameter of 128 bytes */
enum { TF32_DIGITS = 11 }; /* of a float that a MMA instruction sees */
struct mma_info {
    const char *name, *ptx;
    const char *feature; /* of a CPU: the compiler flag that stands for it; NULL: a GPU's */
    int size[3];         /* m, n, k */
    enum dtype in, in_b, acc;
    int count;    /* machine instructions, side by side along n */
    unsigned vec; /* digits of d that are the lanes of one vector */
    enum mma_sum sum;
    const char *map[3];
};
extern const struct mma_info mma_info[MMA_COUNT];
struct mma_digit {
    int dim, extent, stride;
};
struct mma_map {
    struct mma_digit lane[4], reg[4]; /* the fastest first */
    unsigned nlane, nreg, regs;
    bool memory; /* an operand that is read from memory */
};
/* Of a warpgroup: b, and a if it has no map either, is read from shared memory. */
static inline bool mma_is_wgmma(enum mma i) { return !*mma_info[i].map[MMA_B]; }
static inline bool mma_is_cpu(enum mma i) { return mma_info[i].feature != NULL; }
/* Both operands are in memory, d in tiles: AMX. */
static inline bool mma_has_tiles(enum mma i) { return mma_info[i].map[MMA_B][0] == '['; }
static inline unsigned mma_lanes(enum mma i) {
    return mma_is_cpu(i) ? 1 : mma_is_wgmma(i) ? WARPGROUP : MMA_LANES;
}
/* 8-bit operands: the instruction accumulates with about 14 bits of precision, whatever the accumulators could hold. */
static inline bool mma_low_precision_acc(enum mma i) {
    return mma_info[i].in == DT_F8E4M3 || mma_info[i].in == DT_F8E5M2;
}
struct mma_map mma_map(enum mma, unsigned operand);
/* The element that a lane's register holds. */
void mma_element(const struct mma_map *, unsigned lane, unsigned reg, int at[3]);

/* ---- nodes (uop.c, bounds.c) ------------------------------------------------------------------- */

union arg {
    uint64_t u; /* identity compares this */
    int64_t i;
    double f; /* CONST of a float dtype */
    struct {
        uint32_t cls;      /* symbol: axis class */
        uint8_t kind, pos; /* enum axis_kind; loops nest by ascending pos */
        uint16_t id;       /* members of one class differ in id: first pass over a row, second pass .. */
    } range;
    struct {
        uint32_t slot, name; /* name: symbol */
    } param;
    struct {
        uint32_t name;
        uint8_t space;
        /* 128-byte swizzle: 16-byte chunk index XOR (row mod 8), applied by the renderer. STAGE: longer rows are split into
         * consecutive panels of 128 bytes. */
        uint8_t panels;
        uint16_t
            row; /* STAGE, LOCAL with panels: elements of a row, padded unless there are panels; 0: unpadded */
    } mem;
    struct {
        uint8_t instr;     /* enum mma */
        uint8_t zero_init; /* 1: the accumulators start at 0, whatever they hold (wgmma's scale-d = 0) */
        uint8_t leap[2];   /* of an MN-major operand: rows from the first half of k to the second */
        /* of an operand in shared memory: 0, K-major; else MN-major, rows of a panel. AMX: [0], steps of k; [1], elements
         * between rows of an `a` that is not packed, or 0 */
        uint16_t rows[2];
    } mma;
};
#define ARG_NONE ((union arg){.u = 0})
#define ARG_INT(x) ((union arg){.i = (x)})

typedef struct uop uop;
struct uop {
    uint16_t op;
    uint8_t dt, lanes;
    uint32_t nsrc, id, hash;
    union arg arg;
    int64_t lo, hi;    /* integers and bool: value is in [lo, hi]; others: INT64_MIN, INT64_MAX */
    uint32_t mul, rem; /* integers: value = rem (mod mul), mul >= 1, 0 <= rem < mul */
    const uop *src[];
};

struct ir {
    struct arena *arena; /* all nodes */
    struct err *err;     /* = arena->err: all failures are thrown */
    const uop **node;    /* by id */
    uint32_t n, cap;
    uint32_t *table; /* intern table; see uop.c */
    uint32_t table_cap;
    const uop *index[64];  /* CONST<idx> by value, once made: most of what shapes are spelled with */
    VEC(const char *) sym; /* symbols by number; 0 is "" */
    struct map sym_map;
    bool notes_found;
    VEC(uint32_t) found; /* if noted: ids of nodes, but for leaves, that uop_new found and did not make */
};
void ir_init(struct ir *, struct arena *);
uint32_t ir_sym(struct ir *, const char *s, size_t n); /* interned name */
static inline const char *ir_name(const struct ir *ir, uint32_t sym) { return ir->sym.p[sym]; }

/* Interns a node with everything spelled. Sorts the operands of commutative ops: constants right, then op
 * rank, then what a person would sort by (position of a RANGE, slot), then hash; the hash depends on
 * structure only, so the order does not depend on what was made before. Brings constants into their type.
 * Does not simplify. Throws RG_EINTERNAL for a wrong number of sources. */
const uop *uop_new(struct ir *, enum op, enum dtype, unsigned lanes, const uop *const *src, uint32_t nsrc,
                   union arg);
/* The same with dtype and lanes taken from the op's row; for ops whose row does not say SELF. */
const uop *uop_mk(struct ir *, enum op, const uop *const *src, uint32_t nsrc, union arg);
const uop *uop1(struct ir *, enum op, const uop *);
const uop *uop2(struct ir *, enum op, const uop *, const uop *);
const uop *uop3(struct ir *, enum op, const uop *, const uop *, const uop *);
const uop *uop_int(struct ir *, enum dtype, int64_t);      /* CONST; for float dtypes converts */
const uop *uop_flt(struct ir *, enum dtype, double);       /* CONST, rounded to the type */
const uop *uop_idx(struct ir *, int64_t);                  /* CONST<idx> */
const uop *uop_cast(struct ir *, const uop *, enum dtype); /* x itself if it has the type */
/* n with other sources: same op, arg; dtype and lanes follow the table (SELF ones are kept). */
const uop *uop_with(struct ir *, const uop *n, const uop *const *src);
static inline bool uop_is_const(const uop *n) { return n->op == OP_CONST; }
static inline bool uop_is_int_const(const uop *n, int64_t v) {
    return n->op == OP_CONST && !dt_is_float((enum dtype)n->dt) && n->arg.i == v;
}
static inline bool uop_is_exact(const uop *n) { return n->lo == n->hi; } /* integers: the value is known */
static inline bool uop_divides(const uop *n, int64_t k) /* integers: every value is a multiple of k > 0 */
{
    return uop_is_exact(n) ? n->lo % k == 0 : n->mul % k == 0 && n->rem % k == 0;
}

/* Sources by name. An access is a LOAD, PRED_LOAD, STORE, STORE_ADD, PREFETCH, CP_ASYNC or TMA_LOAD: src0 is its INDEX. */
static inline const uop *range_size(const uop *range) { return range->src[0]; }
static inline const uop *for_range(const uop *loop) { return loop->src[0]; }
static inline const uop *for_body(const uop *loop) { return loop->src[1]; }
static inline const uop *if_cond(const uop *n) { return n->src[0]; }
static inline const uop *if_then(const uop *n) { return n->src[1]; }
static inline const uop *index_buf(const uop *index) { return index->src[0]; }
static inline const uop *index_offset(const uop *index) { return index->src[1]; } /* in elements */
static inline const uop *access_index(const uop *access) { return access->src[0]; }
static inline const uop *access_buf(const uop *access) { return index_buf(access_index(access)); }
static inline const uop *access_offset(const uop *access) { return index_offset(access_index(access)); }
static inline const uop *load_index(const uop *load) { return access_index(load); }
static inline const uop *store_index(const uop *store) { return access_index(store); }
static inline const uop *stored_value(const uop *store) { return store->src[1]; } /* STORE, STORE_ADD, SET */
static inline const uop *buf_size(const uop *buf) { return buf->src[0]; }         /* PARAM, LOCAL: elements */
/* x of CAST(x); anything else as it is. */
static inline const uop *uop_uncast(const uop *n) { return n->op == OP_CAST ? n->src[0] : n; }

void bounds_fill(uop *);                  /* lo, hi, mul, rem from the sources; called at interning */
int64_t idiv_floor(int64_t a, int64_t b); /* 0 when b is 0 */
int64_t imod_floor(int64_t a, int64_t b);

/* Evaluates one pure op on one element (constant folding, fuzzers). Returns false where the op is not
 * pure or the value is not defined (poison). Floats are rounded to the node's dtype. */
union val {
    int64_t i;
    double f;
};
#define THREEFRY_PARITY 0x1bd11bda /* of the key schedule */
bool op_eval(enum op, enum dtype result, enum dtype source0, const union val *src, union val *out);

typedef VEC(const uop *) uop_vec;
/* All nodes below the roots, sources before users, each once, in a deterministic order. */
void uop_topo(struct arena *, const uop *const *root, uint32_t n, uop_vec *out);
/* RANGEs that a node is inside of: those it uses, less those bound below by REDUCE, STAGE and FOR. Sorted by
 * (pos, class, id). A struct ranges caches by node id. */
struct free_ranges {
    struct arena *arena;
    struct ir *ir;
    VEC(const uop_vec *) memo;
};
void free_init(struct free_ranges *, struct ir *, struct arena *);
const uop_vec *free_of(struct free_ranges *, const uop *);
bool free_has(struct free_ranges *, const uop *n, const uop *range);
/* Imports a graph of another ir (or this) in post-order: fresh ids that depend on structure only. */
const uop *ir_import(struct ir *to, const struct ir *from, const uop *root);

/* ---- affine form of integer expressions (affine.c) --------------------------------------------- */

struct term {
    const uop *atom; /* never ADD, SUB, NEG, CONST, or MUL by a constant */
    int64_t coef;    /* not 0 */
};
struct affine {
    struct term *t; /* sorted by atom id, each atom once */
    uint32_t n;
    int64_t k;
};
/* Sum of coefficient x atom + constant; always succeeds (an opaque expression is its own atom), unless a
 * coefficient overflows: then the whole node is one atom. Vector nodes: LANES is an atom. */
struct affine affine_of(struct arena *, const uop *);
/* Back to nodes, terms in the given order, constant last. `dt` of the result. */
const uop *affine_build(struct ir *, const struct affine *, enum dtype);
int64_t affine_coef(const struct affine *, const uop *atom);               /* 0 if absent */
bool affine_equal_but_const(const struct affine *, const struct affine *); /* same terms */
int affine_compare(const struct affine *, const struct affine *); /* an order: by terms, then by constant */

/* ---- text (print.c, parse.c) ------------------------------------------------------------------- */

/* One kernel of a .uop file, and the file. docs/ir.md describes the syntax. */
struct kernel {
    const char *name;
    const char *opts; /* text of its `opts` lines joined by a space, "" if none */
    const uop *sink;
    int line; /* of the `kernel` line */
};
struct data_decl { /* how `ridge opt --run` fills a buffer:  data NAME = FILL number... */
    const char *name;
    const char *fill; /* uniform normal randint zeros ones iota values tasks */
    double *num;
    uint32_t n;
    const char *then; /* params SIZE... FILL number...: how each of the buffers is filled; else NULL */
    double *then_num;
    uint32_t then_n;
    int line;
};
struct program {
    VEC(struct kernel) kernel;
    VEC(struct data_decl) data;
};
/* Throws RG_EPARSE with "file:line:column: what was expected, what was found". */
void ir_parse(struct ir *, const char *text, size_t n, const char *file, struct program *);
/* Prints the nodes below root one per line, `%ID = (OP ...)`, such that parsing gives the same node.
 * Nodes used once by their only user may be printed inside it. */
void ir_print(struct str *, const struct ir *, const uop *root);
void ir_print_kernel(struct str *, const struct ir *, const struct kernel *); /* `kernel`, `opts`, nodes */
void ir_print_node(struct str *, const struct ir *, const uop *,
                   int depth);                                         /* for messages; deeper is "%id" */
void ir_print_tree(struct str *, const struct ir *, const uop *block); /* a loop tree, indented, for people */

/* ---- the linear program (made by codegen, read by renderers and ref/linear) ---------------------- */

/* The linear program: nodes in the order in which they are evaluated. What stands in the list:
 *   RANGE       opens a loop, closed by END(range). At most one of kind GRID: if present it is the first
 *               entry, its size is `grid`, and the caller runs a part [t0, t1) of it; its END is the last.
 *               One of kind THREAD may stand directly inside it, outermost: a block program. Its values are the threads of
 *               a block, each with its own values and accumulators; BARRIER synchronises them.
 *   IF(cond)    opens, then perhaps ELSE(if), closed by END(if)
 *   STORE, STORE_ADD, SET
 *   values      LOAD, PRED_LOAD, arithmetic, BUILD, EXTRACT, VEC_REDUCE, PARAMS: evaluated here, from sources evaluated
 *               before in an open scope. The same node may stand in the list again (in another scope, or
 *               because memory or an accumulator below it changed): its value is the latest evaluation.
 * What never stands in the list and is read in place: CONST, INVALID (any value will do), LANES, PARAM, VAR,
 *   LOCAL, TENSOR_MAP, INDEX (a part of its LOAD or STORE), ACC (a variable of the grid iteration, uninitialised until its
 *   first SET; a value that uses it reads what it holds at that point of the list).
 * INDEX with lanes > 1 and a scalar index addresses consecutive elements, with a vector index one per lane;
 * there is no alignment promise. All indices in the list are i32 or i64 (never IDX).
 * LOCALs live in the scratch memory of the worker, in the order of `local`, each 64-byte aligned; those of SPACE_SHARED in
 * memory that the threads of a block share, in the same order, each at a multiple of local_align() bytes. */
enum work_unit { /* who does an operation. MATRIX, asked: sums of products of 16-bit values, which a tensor cores could do */
                 WORK_F64,
                 WORK_F32,
                 WORK_F16,
                 WORK_INT,
                 WORK_MATRIX,
                 WORK_UNITS
};
struct gpu_spec; /* model/model.h */
struct linear {
    struct ir *ir;              /* whose nodes it is made of */
    const struct gpu_spec *gpu; /* whose limits a block program keeps; NULL: the default GPU */
    const char *name;           /* of the function: letters, digits, _ */
    const uop **u;
    uint32_t n;
    int64_t grid;      /* iterations of the GRID range; 1 if there is none */
    const uop **local; /* LOCAL nodes */
    uint32_t nlocal;
    int64_t scratch; /* bytes for one worker */
    int64_t shared;  /* bytes that the threads of a block share: the LOCALs of SPACE_SHARED */
    uint32_t
        threads; /* of a block that runs one iteration together, each with its own values (the THREAD range); else 0 */
    uint32_t
        columns; /* grid iterations that the threads of cooperative loops have side by side; 0: one in a row */
    uint32_t
        cluster; /* blocks of a cluster, which run at once and may DSMEM_STORE to each other; 0: each is alone */
    uint32_t nbuf, nvar; /* greatest slot + 1 */
    struct estimate {
        double flops;        /* arithmetic the kernel graph asks for: reduce of n is n, an FMA two */
        double flops_issued; /* arithmetic of this program: recompute, padding and packing included */
        double bytes;        /* distinct bytes of global buffers touched */
        double bytes_issued; /* bytes of all loads and stores of global memory as written */
        double special;      /* exp, log, sin .. evaluations asked for */
        double lines;        /* bytes of the cache lines that the distinct elements lie in */
        double into[3];      /* bytes that come into L1, L2 and L3 by predict_traffic, or 0 */
        double asked[WORK_UNITS],
            issued[WORK_UNITS]; /* flops and flops_issued by unit; integers: addresses issued too */
    } est;
};

/* Shared memory: panels repeat their pattern every 1024 bytes, and begin there. */
static inline int64_t local_align(const uop *local) { return local->arg.mem.panels ? 1024 : 128; }

/* Read in place: never stands in the list. (INDEX does not either, but its sources do.) */
static inline bool linear_in_place(const uop *n) {
    switch (n->op) {
    case OP_CONST:
    case OP_INVALID:
    case OP_LANES:
    case OP_PARAM:
    case OP_VAR:
    case OP_LOCAL:
    case OP_TENSOR_MAP:
    case OP_ACC:
    case OP_RANGE: return true;
    default: return false;
    }
}
/* Numbered, indented, for people. */
void linear_print(struct str *, const struct ir *, const struct linear *);

/* ---- the tensor graph (shape.c) ----------------------------------------------------------------- */

/* The same nodes with shapes: what a program asks for, before any loop. A tensor program is (GRAPH value ...).
 * Leaves are BUFFER (arg: its number; equal numbers are the same memory at the same time), CONST, VAR and IOTA; rank-0
 * operands of elementwise ops broadcast, every other broadcast is an explicit RESHAPE and EXPAND. A graph is a pure
 * function: ASSIGN is the whole buffer with a box replaced; that it happens in place is the scheduler's business. */
#define SHAPE_MAX 16 /* axes */
struct shape {
    uint32_t n;
    int64_t d[];
};
struct shapes { /* of the nodes of one ir, by id; memoised */
    struct ir *ir;
    struct arena *arena;
    VEC(const struct shape *) memo;
    struct map intern; /* equal shapes are the same pointer */
};
void shapes_init(struct shapes *, struct ir *, struct arena *);
/* Throws RG_EVERIFY naming the node when it is not a legal tensor node. Any depth. */
const struct shape *shape_of(struct shapes *, const uop *);
const struct shape *shape_make(struct shapes *, const int64_t *d, uint32_t n); /* interned */
int64_t shape_size(const struct shape *);             /* elements; RANGE bounds are checked at construction */
void shape_print(struct str *, const struct shape *); /* "(2, 3)", "()" */
/* Elements of the value below casts and views: what an operand has in memory. */
double shape_elements_below(struct shapes *, const uop *);
/* A product that uses every element of both factors at least CONTRACTION_REUSE times: what a contraction sums. */
enum { CONTRACTION_REUSE = 4 };
bool shape_is_outer_product(struct shapes *, const uop *);
bool op_is_movement(enum op); /* RESHAPE PERMUTE EXPAND PAD SHRINK FLIP UNFOLD FOLD */
/* Constants of movement ops as numbers: src[i] must be a CONST (throws RG_EVERIFY else). */
int64_t uop_const_i(struct ir *, const uop *n, uint32_t i);

/* ---- functions of CALL (call.c) ------------------------------------------------------------------------ */

/* All work along the last axis, n elements of a row.
 *   name          result                 sources                            */
/* clang-format off */
#define CALL_FNS(X)                                                                                                       \
    X(sort,          1, 1)  /* x's shape      x; 1: descending                                                          */ \
    X(argsort,       1, 1)  /* the same, i64: indices of the sorted elements in x                                       */ \
    X(topk,          1, 2)  /* (.., k)        x; 1: the greatest first, 0: the least; k                                 */ \
    X(topk_index,    1, 2)  /* the same, i64: their indices                                                             */ \
    X(columns,       1, 2)  /* (.., k * w)    x (.., n * w), columns of n elements, w side by side; struct sorted_columns       */ \
                            /*                packed; k: the first k of each, or their indices (i64)                    */ \
    X(winner,        1, 1)  /* (.., size)     index; size: for each i the last j with index[j] = i, or -1               */ \
    X(nonzero,       1, 1)  /* (.., size)     bools; size: the indices of the true ones in order, then -1               */ \
    X(select,        2, 1)  /* (.., size)     x, bools; size: elements of x where they are true, in order, then 0       */ \
    X(scatter_max,   3, 1)  /* (.., size * w) x, index (.., n), src (.., n * w); struct scatter_how packed: pieces of w ..  */ \
    X(scatter_min,   3, 1)  /*                .. x[index[j]], src[j] combined, j from 0 on; w is 1 of the next two      */ \
    X(scatter_prod,  3, 1)                                                                                                \
    X(scatter_set,   3, 1)  /*                .. replaced by the last of them; 0                                        */ \
    X(scatter_sum,   2, 1)  /* (.., size * w) src (.., n * w), index (.., n); size: pieces of w, j's added at index[j] */ \
    X(scan_add,      1, 1)  /* x's shape      x; 0: running sums, of a dtype at least as wide as x's                     */ \
    X(scan_mul,      1, 1)  /*                .. products                                                               */ \
    X(scan_max,      1, 1)  /*                .. maxima                                                                 */ \
    X(scan_min,      1, 1)  /*                .. minima                                                                 */ \
    X(scan_lse,      1, 1)  /*                .. logarithms of sums of exponentials                                     */ \
    X(collective,    2, 2)  /* (m)            x (n), what it comes after; a struct collective packed, m                 */ \
    X(loop,          0, 5)  /* (m)            see struct loop_call                                                           */
/* clang-format on */
enum call_id {
#define X(name, values, numbers) CALL_##name,
    CALL_FNS(X)
#undef X
        CALL_COUNT
};
struct call_info {
    const char *name;
    uint8_t values, numbers; /* sources: tensors (0: as many as there are), then idx constants */
};
extern const struct call_info call_info[CALL_COUNT];
enum call_id call_of(const struct ir *, const uop *); /* CALL_COUNT: unknown */
uint32_t call_values(const struct ir *, const uop *); /* sources that are tensors */
/* Of CALL["columns"]: how many stand side by side, lines of 64 bytes that an iteration of the grid takes of a row, and what is asked
 * for. */
struct sorted_columns {
    int64_t width;
    int lines;
    bool indices, descending;
};
enum { COLUMN_LINES_FEW = 4, COLUMN_LINES = 16 };
static inline int64_t columns_pack(struct sorted_columns c) {
    return c.width << 10 | c.lines << 2 | c.indices << 1 | c.descending;
}
static inline struct sorted_columns columns_unpack(int64_t code) {
    return (struct sorted_columns){code >> 10, code >> 2 & 255, code & 2, code & 1};
}
/* Of CALL["scatter_max"] and its like: how many elements an index names, do those that are hit forget x, and iterations of the grid
 * that share a row, one unless the planner says otherwise. */
struct scatter_how {
    int64_t width;
    bool forget;
    int blocks; /* less one */
};
enum { SCATTER_BLOCKS = 16 }; /* at most */
static inline int64_t scatter_pack(struct scatter_how h) {
    return (h.width - 1) << 5 | h.blocks << 1 | h.forget;
}
static inline struct scatter_how scatter_unpack(int64_t code) {
    return (struct scatter_how){(code >> 5) + 1, code & 1, code >> 1 & (SCATTER_BLOCKS - 1)};
}
/* Elements of a column that the device sorts side by side with others; 0: it does not. */
int64_t call_columns_most(enum dtype, bool indices);

/* ---- loops: a tensor program that is repeated along time (loop.c) ---------------------------------------- */

/* CALL["loop\n.."]: the name is the text of the body, a GRAPH of the next values of `states` tensors of one dtype. Its
 * BUFFERs are numbered: the states before the step, then `per_step` operands, of which each step sees one row, then operands that
 * are the same in each step. Sources: the states to begin with, flat; the operands per step, each (steps, row); the others; and
 * the numbers steps, states, per_step, 1 if time goes backwards, elements of the result.
 * Result: for each state all its values, steps + 1 rows of it in the order of time. Step t reads row t and writes row t + 1,
 * backwards it reads t + 1 and writes t; what the loop begins with is the first row, or the last. Rows begin at multiples of
 * LOOP_ALIGN bytes (loop_row): what is between them holds nothing. */
enum { LOOP_ALIGN = 64, LOOP_NUMBERS = 5 };
struct loop_call {
    int64_t steps, size;
    uint32_t states, per_step, values;
    bool backwards;
    struct ir *ir; /* of the body */
    const uop *graph;
    struct shapes shapes;
    const uop **leaf; /* [values]: the body's BUFFER of each number, or NULL */
    int64_t row[];    /* [states]: elements of a row */
};
int64_t loop_row(enum dtype, int64_t elements);
/* Parses the body into an ir of its own, in the arena. */
struct loop_call *loop_open(struct arena *, struct shapes *outer, const uop *call);
static inline int64_t loop_time(const struct loop_call *l, int64_t i) {
    return l->backwards ? l->steps - 1 - i : i;
}
/* Where row t of a state begins in the result, in elements. */
int64_t loop_at(const struct loop_call *, uint32_t state, int64_t t);
/* The body in another ir. leaf: by number of a BUFFER what stands for it. Result: by id of the body's nodes. */
const uop **loop_copy(const struct loop_call *, struct arena *, struct ir *to, const uop *const *leaf);
/* .. its BUFFERs there, those after the states with numbers greater by `more`. */
const uop **loop_leaves(const struct loop_call *, struct arena *, struct ir *to, uint32_t more);

/* ---- collectives: what the CALL `collective` does with the other ranks (builtin_table.c, src/world) ------- */

#define COLLECTIVES(X) \
    X(all_reduce) X(reduce_scatter) X(all_gather) X(broadcast) X(all_to_all) X(send) X(recv) X(barrier)
enum collective_kind {
    COLLECTIVE_ALL_REDUCE,     /* n to n: combined over ranks */
    COLLECTIVE_REDUCE_SCATTER, /* n to n / ranks: this rank's part of it */
    COLLECTIVE_ALL_GATHER,     /* n to n * ranks: all of them, by rank */
    COLLECTIVE_BROADCAST,      /* n to n: what `peer` has */
    COLLECTIVE_ALL_TO_ALL,     /* n to n: part i goes to rank i */
    COLLECTIVE_SEND,           /* n to 1: to rank `peer` */
    COLLECTIVE_RECV,           /* 1 to n: from rank `peer` */
    COLLECTIVE_BARRIER,        /* 1 to 1 */
    COLLECTIVE_KINDS
};
enum collective_reduce {
    COLLECTIVE_SUM,
    COLLECTIVE_PROD,
    COLLECTIVE_MAX,
    COLLECTIVE_MIN,
    COLLECTIVE_REDUCES
};
struct collective {
    enum collective_kind kind;
    enum collective_reduce reduce;
    enum dtype dt;
    uint32_t world; /* number of the world in its context */
    int64_t peer;
};
int64_t collective_pack(struct collective);
struct collective collective_unpack(int64_t);

/* ---- verifier (verify.c, verify.def) ----------------------------------------------------------- */

/* Throws RG_EVERIFY with a message that names the node, the rule that it breaks, and what to do. */
/* Kernel graph: a kernel as docs/internals/ir.md defines it. */
void verify_kernel(struct ir *, const struct kernel *);
void verify_linear(struct ir *, const uop *const *list, uint32_t n);
/* Can it be shown that this LOAD or STORE stays inside its buffer? */
bool verify_is_inside(struct ir *, const uop *access);
struct verify_rule {
    const char *name, *what, *todo;
};
extern const struct verify_rule verify_rules[]; /* verify.def; for docs and messages */
extern const unsigned verify_rule_count;

/* ---- rewriting (rewrite.c) and the generated rule sets ----------------------------------------- */

/* Invariant that makes a pass linear: memo[id] is a node to which no rule of the set applies, at it or
 * below it. rw_mk builds, interns and normalises, so what a rule makes is normal at birth. */
struct rw;
typedef const uop *(*rw_fn)(struct rw *, const uop *); /* generated; NULL: nothing applies */
struct rw {
    struct ir *ir;
    rw_fn fn;
    void *cx;       /* the pass's own state; a set that reads it is not shared between passes */
    uint32_t *memo; /* by node id: id+1 of the normal form, 0 not known */
    uint32_t memo_cap;
    uint64_t fuel, fired; /* firings left (then: "rewrite does not terminate" with the last rules), done */
    uint32_t depth;
    uint16_t last[32];              /* ring buffer of the last rules that fired */
    struct arena *arena;            /* scratch; = ir->arena */
    uint32_t tried;                 /* rules begun so far; last[(tried-1) % 32] is the newest */
    const struct rule_table *table; /* names and counters of the rules of fn */
    const uint8_t *off;             /* RULE_OFF: by rule, 1 is off; NULL: none */
    bool careful;                   /* RULE_OFF, RULE_MAX or RULE_TRACE is set */
    bool fast;                      /* FASTMATH */
    bool pre, stop;                 /* inside rw_pre; the rule that fired said rw_stop */
    uint64_t *seen;                 /* rw_subst: epoch << 32 | id+1, by node id */
    uint32_t seen_cap, epoch;
    VEC(struct rw_frame) stack;
    VEC(const uop *) src; /* scratch for rebuilding a node */
};
void rw_init(struct rw *, struct ir *, rw_fn, void *cx);
const uop *rw_post(struct rw *, const uop *root); /* children first; the result is a fixpoint */
const uop *rw_pre(struct rw *, const uop *root);  /* node first, until stable, then its children */
const uop *rw_new(struct rw *, enum op, enum dtype, unsigned lanes, const uop *const *src, uint32_t nsrc,
                  union arg);
const uop *rw_mk(struct rw *, enum op, const uop *const *src, uint32_t nsrc, union arg);
const uop *rw1(struct rw *, enum op, const uop *);
const uop *rw2(struct rw *, enum op, const uop *, const uop *);
const uop *rw3(struct rw *, enum op, const uop *, const uop *, const uop *);
const uop *rw_with(struct rw *, const uop *n, const uop *const *src);
/* Replaces from[i] by to[i] everywhere below root and normalises what changes. */
const uop *rw_subst(struct rw *, const uop *root, const uop *const *from, const uop *const *to, uint32_t n);
const uop *rw_stop(struct rw *, const uop *); /* in rw_pre: the result's sources are not visited */
/* Generated code: may this rule apply (RULE_OFF, RULE_MAX)? Then, once the result is built: counts, traces. */
bool rw_allowed(struct rw *, unsigned rule);
static inline bool rw_try(struct rw *rw, unsigned rule) {
    if (rw->careful && !rw_allowed(rw, rule)) return false;
    rw->last[rw->tried++ % 32] = (uint16_t)rule;
    return true;
}
void rw_hit(struct rw *, unsigned rule, const uop *before, const uop *after);

struct rule_info {
    const char *name, *file, *set, *text;
    int line;
};
struct rule_table {
    const struct rule_info *info;
    unsigned n;
    _Atomic uint64_t *hits;
};
/* generated: rule_info[rule_count], counters rule_hits[] (relaxed atomics), and one rw_fn per set. */
extern const struct rule_info rule_info[];
extern const unsigned rule_count;
uint64_t rule_hits(unsigned rule);
const uop *rules_none(struct rw *, const uop *); /* no rule: a plain builder */

/* ---- passes (pass.c) ----------------------------------------------------------------------------*/

/* Wraps each step of the compiler: time, node count, dump (RIDGE_DUMP, --dump). */
struct pass_log {
    struct str *dump;  /* NULL: no dumps */
    const char *which; /* "all" or names separated by commas */
    /* After each pass, or NULL: start and end in ns, nodes before and after. */
    void (*observe)(const char *pass, uint64_t t0, uint64_t t1, uint32_t before, uint32_t after);
    struct {
        const char *name;
        uint64_t ns;
        uint32_t nodes;
    } rec[64];
    uint32_t n;
};
void pass_begin(struct pass_log *, const char *name);
void pass_end(struct pass_log *, struct ir *, const uop *root); /* root may be NULL */
bool pass_wants_dump(const struct pass_log *, const char *name);

/* ---- memo: results of a recursive function over nodes --------------------------------------------- */

/* By node id, so that a DAG is walked as one and not as a tree:
 *
 *     if (uop_memo_get(m, n, &r)) return r;
 *     ...
 *     return uop_memo_put(m, n, r);
 *
 * uop_memo_clear forgets all results, for another argument of the function. `visits` counts what was computed: tests bound it
 * (tests/unit/plan_visits.c). */
struct uop_memo_entry {
    uint64_t value;
    uint32_t epoch;
};
struct uop_memo {
    struct arena *a;
    struct uop_memo_entry *of; /* by node id */
    uint32_t n, epoch;
    uint64_t visits;
};

static inline void uop_memo_init(struct uop_memo *m, struct arena *a) {
    *m = (struct uop_memo){.a = a, .epoch = 1};
}
static inline void uop_memo_clear(struct uop_memo *m) { m->epoch++; }

static inline bool uop_memo_get(const struct uop_memo *m, const uop *n, uint64_t *value) {
    if (n->id >= m->n || m->of[n->id].epoch != m->epoch) return false;
    *value = m->of[n->id].value;
    return true;
}

static inline uint64_t uop_memo_put(struct uop_memo *m, const uop *n, uint64_t value) {
    if (n->id >= m->n) {
        uint32_t cap = RG_MAX(n->id + 1, 2 * m->n + 64);
        m->of = arena_resize(m->a, m->of, m->n * sizeof *m->of, cap * sizeof *m->of);
        memset(m->of + m->n, 0, (cap - m->n) * sizeof *m->of);
        m->n = cap;
    }
    m->of[n->id] = (struct uop_memo_entry){value, m->epoch};
    m->visits++;
    return value;
}

#endif
