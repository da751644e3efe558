/* elementwise.h: what the files of this folder share: the plan of a kernel that is no contraction, and its steps. */
#ifndef RIDGE_CHOOSE_ELEMENTWISE_H
#define RIDGE_CHOOSE_ELEMENTWISE_H

#include "tune/choose/choose.h"

#define BIG 8e6          /* bytes: does not stay in L1 or L2 from one kernel to the next */
enum { MOST_TAPS = 64 }; /* of a pooling window that is unrolled */
enum { LIGHT_BODY = 10, HEAVY_BODY = 60, HUGE_BODY = 160 }; /* weight of a body that is unrolled less */

enum { MOST_LANES = 16, PIECES_PER_THREAD = 8 }; /* of the grid, at least */

struct elementwise_plan {
    int axis, lanes;    /* the vector axis */
    double cost;        /* of the kernel with it */
    int registers;      /* of the widest type, per vector of a mixed body; 0, 1: one */
    int64_t vectors;    /* along it; 0: known at run time only */
    int transposed;     /* axis with stride 1 of strided loads, or -1 */
    int also[3], nalso; /* others of other accesses */
    bool through_tile;  /* one of those loads is too large for cache: transpose through a tile */
    const char *loop;   /* the vector axis' name after streams were split off */
    const char *name[CHOOSE_AXES];
    double in_grid[CHOOSE_AXES]; /* values of each axis that are still in the grid */
};

/* Consecutive reductions over equal data may have axes of their own (the mean and then the variance of a batch). Such axes are
 * twins: of equal size, and no node depends on both. They are tiled the same way. */
struct twins {
    int axis[4], n; /* the first is the one asked for */
    uint64_t ranges;
};

/* ---- cpu_elementwise.c ------------------------------------------------------------------------------------- */

/* Work of the ops along the axis, in units of LIGHT_BODY. */
double body_weight(const struct view *, int axis);
/* Vectors of an unrolled loop, fewer for more grid iterations. */
int64_t fewer_vectors(const struct view *, int64_t n);
/* Accumulators of one pass along the axis. */
int64_t sums_along(const struct view *, int axis);
/* Writes the opts of the vector axis, u vectors per iteration. */
void tile_vector(struct view *, struct elementwise_plan *, struct str *out, int64_t u);

/* Of an op, in simple instructions; 0: an index, a load. */
double op_weight(const uop *);
enum {
    BODY_STATEMENTS = 2000
}; /* of an unrolled body, functions expanded: compilers take longer than they gain */
int64_t body_statements(const struct view *, int axis);
/* Is the access one of the same elements as an earlier one? */
bool seen_before(const struct view *, int access);

/* ---- cpu_images.c ------------------------------------------------------------------------------------------- */

/* Writes a list of its own for many small images; false: the plan is better. */
bool write_images(struct view *, struct elementwise_plan *, struct str *out);

/* ---- cpu_transpose.c ---------------------------------------------------------------------------------------- */

/* The axes that are transposed in registers, unrolled. */
void write_transpose(struct view *, struct elementwise_plan *, struct str *out);
/* A list through a tile in cache; false: registers are better. */
bool write_tiled_transpose(struct view *, struct elementwise_plan *, struct str *out);
/* The order of the loops, once the grid is shaped. */
void order_transpose(const struct view *, const struct elementwise_plan *, struct str *out);

/* ---- cpu_access.c ------------------------------------------------------------------------------------------- */

/* Vector loads that an element of the access costs, with vectors along the axis; touch: of them per element, if contiguous. */
double access_cost(const struct view *, const struct access_view *, int axis, int lanes, double touch);
/* .. that a vector of images costs, where everything inside of an image is unrolled. */
double image_access_cost(const struct view *, const struct access_view *, int axis, int lanes);
/* An axis other than `not` along which the access has stride 1 and that can be unrolled; -1: none. */
int unit_axis(const struct view *, const struct access_view *, int not );
/* The constant that n divides the axis by, as in an index of a pooled tensor; 0: none. */
int64_t index_divisor(const struct view *, const uop *n, int axis);

/* ---- cpu_reductions.c --------------------------------------------------------------------------------------- */

/* A single pass of sums over contiguous rows: the grid axis that is split into streams, and *run, the rows of a stream.
 * -1: none. Depends on sizes alone, because the number of accumulators depends on it. */
int run_axis(const struct view *, const struct elementwise_plan *, int64_t *run);
void write_runs(struct view *, struct elementwise_plan *, struct str *out, int axis, int64_t run);
/* A long row without such neighbours is itself split into streams. Returns how many. */
int streams_of(const struct view *, const struct elementwise_plan *);
/* Column sums: a block of columns is read row by row, some rows at a time, with the sums in L1; reading down a few columns
 * would touch a page per row, and columns that share a cache line with the next ones fetch it twice. False: not column sums. */
bool write_columns(struct view *, struct elementwise_plan *, struct str *out);
/* The same for the product of `sums` rows, which are unrolled, and a matrix whose rows are along axis `inner`. */
bool write_streamed_product(struct view *, struct elementwise_plan *, struct str *out, int inner,
                            int64_t sums);
/* Sums over short, distant rows (a channel of each image of a batch): several rows at a time, as concurrent streams. `sums`:
 * vectors of a row at a time; pooled: the axis of write_pooled, or -1. (400 elements of each of 512 images, twice: 5.3 ms, 2.0.) */
void write_distant_rows(struct view *, struct elementwise_plan *, const struct twins *, struct str *out,
                        int64_t sums, int pooled);

#endif
