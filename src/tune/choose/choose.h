/* choose.h: shared by the files of src/tune/choose only. A view is what index analysis knows of a kernel; a recipe turns a view
 * into the text of an opt list. */
#ifndef RIDGE_CHOOSE_H
#define RIDGE_CHOOSE_H

#include "codegen/sched.h"
#include "tune/tune.h"

enum {
    CHOOSE_RECIPES = 5,
    CHOOSE_LEVELS = 8,
    CHOOSE_AXES = 24,
    CHOOSE_RANGES = 64,
    CHOOSE_ACCESSES = 96,
    CHOOSE_TEXT = 2048
};

/* One axis class. */
struct axis_view {
    const char *name;
    uint32_t cls;
    int64_t size;    /* -1: known at run time only */
    double most;     /* greatest size */
    uint64_t ranges; /* its members, as bits */
    uint8_t members, pos;
    bool grid, reduce, scan; /* some member is GRID; bound by a REDUCE; by a SCAN */
    bool decays;             /* its running value is multiplied on the way */
    bool ordered;            /* another order would change it */
    bool fixed;              /* determines the length of a loop or a buffer: stays a loop */
};

/* One access to global memory. */
struct access_view {
    const uop *node;  /* LOAD, PRED_LOAD, STORE, STORE_ADD */
    const uop *buf;   /* PARAM, PARAMS */
    const uop *index; /* without the predicate */
    const uop *pred;  /* or NULL */
    uint64_t mask;    /* ranges that the address depends on */
    double times;     /* evaluations */
    uint8_t bytes;    /* of an element */
    bool store, add;
};

/* Steps to a larger grid, in order of cost; each includes those before. Recipes read view.finer, heuristic.c raises it while the
 * grid has fewer than view.tasks iterations. */
enum finer {
    FINER_NONE,
    FINER_JOINED, /* fewer images, rows and panels per grid iteration */
    FINER_AXES, /* an axis that is usually a loop inside (rows of an image, taps of a gradient) is in the grid */
    FINER_TILE,      /* half the register tile across the grid */
    FINER_HALF_TILE, /* a quarter */
    FINER_STEPS
};

struct view {
    struct ir *ir;
    const struct kernel *kernel;
    const struct kernel *asked; /* NULL, or kernel is this one after the opts .. */
    const char *prefix;         /* .. that lists begin with */
    struct arena *arena;
    const struct isa *isa;
    int vec_bytes, threads;     /* vec_bytes: the row's, or what search tries instead */
    int64_t l1, l2, l3;         /* l3: 0 if there is none */
    const struct gpu_spec *gpu; /* NULL: a CPU */
    const char *features;       /* flags of os_cpu() whose MMA instructions may be used */
    uop_vec topo;
    const uop *range[CHOOSE_RANGES];
    uint32_t nrange;
    struct axis_view axis[CHOOSE_AXES]; /* outermost first */
    int naxis;
    struct access_view access[CHOOSE_ACCESSES];
    int naccess;
    uint64_t *mask; /* by id: ranges that a node depends on */
    double *times;  /* by id: how often it is evaluated */
    struct estimate est;
    int reduces, scans, stages;
    const uop *reduce[8];  /* the first ones */
    double ns;             /* of the whole kernel on one core, estimated */
    double tasks;          /* grid iterations that keep all threads busy */
    int copies;            /* of each row of a register tile: phases that are unrolled beside it; 0: one */
    int finer;             /* enum finer: what a recipe gives up for more grid iterations */
    int refused;           /* GPU: lists that were tried and gave up their form */
    int new_axes;          /* names made so far */
    struct uop_memo *memo; /* of functions that walk indices, which share nodes as all values do */
};

#define NO_STRIDE INT64_MIN /* the address depends on the axis, but not linearly */

/* kernel_view.c; false: too large */
bool view_init(struct view *, struct ir *, const struct kernel *, const struct isa *, int threads);
/* The kernel of v after a list, in an opts_axes() callback; NULL: too large. */
struct view *view_after(const struct view *v, struct sched *);
/* The stride, in elements, from one lane to the next when `axis` is tiled into vectors of `lanes`. */
int64_t access_stride(const struct view *, const struct access_view *, int axis, int64_t lanes);
/* Its distance, for one lane; INT64_MAX: not linear. */
static inline int64_t stride_of(const struct view *v, const struct access_view *s, int axis) {
    int64_t d = access_stride(v, s, axis, 1);
    return d == NO_STRIDE ? INT64_MAX : d < 0 ? -d : d;
}
bool view_depends(const struct view *, const uop *, int axis);
int view_axis_of(const struct view *, const uop *range);
/* The bit of a RANGE alone; its mask also has the ranges that determine its length. */
uint64_t view_bit(const struct view *, const uop *range);
/* Lanes of a vector along the axis: the widest type loaded, stored or computed along it fills a register. */
int view_lanes(const struct view *, int axis);
/* opts_legal under the limits of the view's GPU, of a list that fits CHOOSE_TEXT. */
bool view_legal(const struct view *, const char *opts);
/* An unused axis name. */
const char *view_new_axis(struct view *, const char *base, const char *suffix);
/* The grid axis that indices read as quotient and remainder, such as group and channel of a grouped convolution, heads of keys and
 * queries of attention, as two: opts that split it. NULL if there is none. */
const char *view_digits(struct view *, const char **outer, const char **inner);
/* Can an opt name this buffer? Its name must be unique and one word. */
bool view_can_name(const struct view *, const uop *buf);

/* A recipe writes an opt list; level 0 is its best, each further level is simpler. Returns false when it has no list for this
 * kernel at this or any further level. */
typedef bool recipe_fn(struct view *, int level, struct str *out);
/* heuristic.c: by number; false: no more levels */
bool recipe_list(struct view *, int recipe, int level, struct str *out);
/* Time, relative to one thread's at its best: rounds of tasks, and part of a task because some thread is late, the more of them there
 * are; most_late: of a task. */
double grid_time(const struct view *, double grid, double most_late);
bool recipe_conv(struct view *, int level, struct str *out);        /* conv/cpu_conv.c */
bool recipe_gemm(struct view *, int level, struct str *out);        /* gemm/cpu_gemm.c */
bool recipe_attention(struct view *, int level, struct str *out);   /* cpu_attention.c */
bool recipe_elementwise(struct view *, int level, struct str *out); /* elementwise/cpu_elementwise.c */

/* Tiled GPU kernels; "" where there is none. gpu_conv.c: convolutions and their gradients; gpu_gemm.c: GEMMs and
 * transpositions. */
const char *gpu_conv(struct view *);
const char *gpu_gemm(struct view *);
const char *gpu_gemm_below(struct view *, double seconds); /* of any width; "" if it takes longer */
bool gpu_lowers(const struct view *, const char *opts);    /* can the kernel be lowered with this list? */
/* As opts_configs_gpu. */
void gpu_gemm_configs(struct view *, const struct model *, const char *like, uint32_t best, uint32_t more,
                      gpu_lists *out);
const char *gpu_transpose(struct view *);
/* gpu_skinny_gemm.c: few rows. seconds: predicted, where tiles may take less. */
const char *gpu_skinny_gemm(struct view *, double *seconds);
const char *gpu_attention(struct view *); /* gpu_attention.c: GEMM, row ops, GEMM */

/* gpu_sums.c: blocks of threads for long contractions, few sums (`several`: of several loops) and columns. */
#define FEW_SUMS 8.0 /* per SM: each has a block */
const char *gpu_long_contraction(struct view *);
const char *gpu_few_sums(struct view *, bool several);
const char *gpu_column_sums(struct view *);

/* gpu_heuristic.c: values of the grid; threads that fill the GPU; the innermost axis of the grid, or -1. */
double gpu_threads(const struct view *);
double gpu_full_threads(const struct view *);
int gpu_inner_grid(const struct view *);

/* gpu_register_tile.c. The product that is summed; what combines the two operands of a reduction, a difference too: NULL if there is
 * none. Does only one of them depend on the axis? Then loads of the other are reused along it. */
const uop *gpu_product(const struct view *);
const uop *gpu_operands(const struct view *);
bool gpu_reuses(const struct view *, const uop *pair, int axis);
int gpu_divisor(int64_t n, int most);   /* the greatest up to `most` */
int gpu_tile_size(int64_t n, int most); /* a divisor, or a tile that is hardly padded */
void gpu_tile_axis(struct view *, int axis, int n, const char *how, struct str *out);
void gpu_strips(struct view *, int axis, int n, struct str *out); /* n values of a thread, a strip apart */
const char *gpu_register_tile(struct view *);
int gpu_skinny_tile(struct view *, struct str *out);

/* elementwise/cpu_elementwise.c: moves work from the grid into loops, until a grid iteration is worth its overhead.
 * in_grid[i]: values of axis i that are still in the grid (1: none); name[i]: its innermost loop, changed where the axis is
 * tiled. */
void shape_grid(struct view *, struct str *out, double *in_grid, const char **name);
/* The size of a tile of at most `most` that divides n with little waste. */
int64_t even_part(int64_t n, int64_t most);

/* ---- gemm/: contractions and their register tiles, also for conv/ ------------------------------------------------ */

struct operand_view {
    const uop *root;
    uint64_t mask;
    const struct access_view *access; /* its load; NULL: none or several depend on the reduced axes */
};

/* A sum of products in which each operand has an output axis of its own. */
struct contraction {
    const uop *reduce;
    struct operand_view a, b; /* b has n */
    int m, n, k;              /* axes; k: the innermost reduced one */
    int kbig;                 /* the largest reduced one */
    int nk;                   /* reduced axes */
    bool product;             /* its terms are products: else squares or magnitudes of differences */
    const struct access_view *store;
    int lanes;
    double depth;          /* terms of one sum */
    int64_t mr, nv;        /* register tile: rows, vectors */
    double pack_a, pack_b; /* packing an element costs this many FMAs */
    bool in_place;         /* neither is packed */
    bool window;           /* b is read through windows: a is packed once for many positions */
    double in_grid[CHOOSE_AXES];
    const char *name[CHOOSE_AXES];
};

bool contraction_find(const struct view *, struct contraction *);
/* A sum of products of any two factors, in no order: m, n and lanes are not set. */
bool factors_find(const struct view *, struct contraction *);
void reset_grid(const struct view *, struct contraction *); /* no axis is tiled */
static inline bool has_axis(const struct view *v, uint64_t mask, int axis) {
    return (mask & v->axis[axis].ranges) != 0;
}
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
double filled(int64_t n, int64_t tile); /* fraction of the tiles that is not padding */
/* Share of the FMA rate that the loads of a tile of x rows by y vectors leave; 0: it does not fit the registers. */
double tile_share(const struct isa *, double x, double y, double row_load);
/* The same where each row of tiles reads a packed panel of `depth` rows of vectors again, from L2 if it does not fit L1. */
double panel_share(const struct view *, double x, double y, double depth);
/* The best register tile of mr rows by nv vectors, and its score. `rows` values in rows, `cols` in vectors of `lanes`; loading
 * a row's value costs row_load of a vector load. in_place: partial tiles of rows are predicated. */
double tile_of(const struct view *, int64_t rows, int64_t cols, int lanes, double row_load, bool in_place,
               int64_t *mr, int64_t *nv);
/* A smaller register tile for more grid iterations (enum finer). */
void shrink_tile(const struct view *, int64_t *mr, int64_t *nv);
/* Tile axes m and n and unroll the tile. *inner, *lane: the new axes; NULL where there is none. */
void tile_rows(struct view *, struct contraction *, struct str *out, const char **inner);
void tile_columns(struct view *, struct contraction *, struct str *out, const char **inner,
                  const char **lane);
/* The reduced axis along which both operands have stride 1, or -1; the tile of mr by nr accumulators with vectors along it. */
int dot_axis(const struct view *, const struct contraction *);
int near_dot_axis(const struct view *, const struct contraction *);
void tile_dot(struct view *, struct contraction *, struct str *out, int k, int64_t mr, int64_t nr);
void price_packing(const struct view *, struct contraction *); /* pack_a, pack_b */
/* How many grid tiles in each direction, of mt x nt register tiles; returns their time, relative. */
double split_panels(const struct view *, const struct contraction *, int64_t mt, int64_t nt, int64_t *gm,
                    int64_t *gn);
bool write_cpu_mma(struct view *, struct contraction *,
                   struct str *out); /* gemm/cpu_mma.c: a packed GEMM by MMA instructions */
/* gemm/cpu_gemm.c: the same for a window whose terms are one axis. */
bool write_window_mma(struct view *, struct str *out);
bool write_dots_mma(struct view *,
                    struct str *out); /* sums along an axis that is contiguous in both operands */
int64_t k_unroll(int64_t k);          /* unroll factor of a sum of k terms */
const char *access_name(const struct view *, const struct access_view *);
bool may_stage(const struct view *, const struct operand_view *);
bool is_loaded(const struct operand_view *); /* is the factor what is loaded, perhaps masked? */
/* A 16-bit or 8-bit float as loaded, perhaps masked, cast to f32; an 8-bit integer cast to i32. */
bool is_widened(const struct operand_view *, enum dtype *);
/* Names joined by commas, without the empty ones. */
const char *list_of(struct view *, const char *const *name, int n);
#define LIST(v, ...)                               \
    list_of(v, (const char *const[]){__VA_ARGS__}, \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

#endif
