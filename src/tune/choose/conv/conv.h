/* conv.h: what the files of this folder share: a convolution, its sizes, its packing. */
#ifndef RIDGE_CHOOSE_CONV_H
#define RIDGE_CHOOSE_CONV_H

#include "tune/choose/choose.h"

enum { CONV_AXES = 4 };

enum { TAPS_OUT = 8 }; /* taps of a loop that is unrolled whole */

struct cpu_conv {
    struct contraction c;
    struct operand_view image, filter;
    int pos[CONV_AXES], tap[CONV_AXES], windows; /* the innermost window last */
    int channel;                                 /* the filters' output axis; -1 in neither */
    int batch;                                   /* the image's largest other output axis, or -1 */
    int phase[CONV_AXES], phases;                /* loops that the filters have: remainders of positions */
    int shift[CONV_AXES]; /* of each window: the phase that moves its positions, or -1 */
    int64_t more;         /* positions that pad the innermost */
    int64_t row;          /* how many of them are packed at a time; 0: all */
    int sum;              /* a reduced axis that is no tap */
    int64_t block;        /* values of it that are packed at a time; 0: all */
    const char *in_block; /* the axis inside a block */
};

/* An axis after tiling: the outer loop, the unrolled tile, the vector; "" where there is none. */
struct tiled_axis {
    const char *loop, *out, *lane;
};

static inline int64_t size_of(const struct view *v, int axis) { return v->axis[axis].size; }

/* ---- recognise.c ------------------------------------------------------------------------------------------- */

/* Pairs of positions and taps of the image s. */
bool conv_windows(const struct view *, struct cpu_conv *, const struct operand_view *s,
                  const struct operand_view *other);
bool conv_find(const struct view *, struct cpu_conv *);
/* The window whose position or tap it is, or -1. */
int conv_window_of(const struct cpu_conv *, int axis);
/* More taps than positions. */
bool conv_is_weight_gradient(const struct view *, const struct cpu_conv *);
/* Elements from one position of a window to the next, in taps (less than 1: a dilation); elements of the whole window. */
double conv_step(const struct view *, const struct cpu_conv *, int window);
double conv_window_size(const struct view *, const struct cpu_conv *, int window);
double conv_tap_span(const struct view *, const struct cpu_conv *, int window); /* of one position */
double conv_positions(const struct view *, const struct cpu_conv *);
/* The largest divisor of n up to `most`. */
int64_t conv_divisor(int64_t n, int64_t most);
/* Values of the image that the unrolled taps of neighbouring positions share. AVX-512 broadcasts them from memory, and compilers keep each
 * in a register until its last tap, spilling accumulators if they must. (256 channels of 14 positions, 3 taps: 40 ms by 14 x 2, 20 by
 * 7 x 2; gcc 23 and 19.) 0: none, or they are operands of FMAs by lane, or loaded again. */
int64_t conv_shared_values(const struct view *, const struct cpu_conv *, int64_t rows);
/* Bytes of a tile of the image over these windows and the other reduced axes. */
double conv_image_bytes(const struct view *, const struct cpu_conv *, int first_window);
/* Rows of a part of the image, a divisor, that fit half of L2 with their halo; 0: not even one. */
int64_t conv_fitting_rows(const struct view *, const struct cpu_conv *);
/* Bytes of the packed filters of the channels of a register tile. */
double conv_column_bytes(const struct view *, const struct cpu_conv *);
/* Finds blocks of input channels of which some rows, and a vector of filters, fit; false: there are none worth it. */
bool conv_find_blocks(const struct view *, struct cpu_conv *);

/* ---- pack.c ------------------------------------------------------------------------------------------------ */

struct tiled_axis conv_axis(const struct view *, int axis); /* not tiled */
/* Rows or columns of the register tile. */
struct tiled_axis conv_tile(struct view *, struct contraction *, struct str *out, bool rows);
/* Unrolls the innermost reduced axis, or a tile of it. */
struct tiled_axis conv_unroll_sum(struct view *, struct str *out, int axis, int64_t copies);
/* The dimension of a tile of the image that a window becomes. */
const char *conv_window_dim(struct view *, const struct tiled_axis *pos, const struct tiled_axis *tap);
/* The innermost axis that is still in the grid; iterations of the grid; takes an axis out of it. */
const char *conv_grid_axis(const struct view *, const struct contraction *);
double conv_grid_size(const struct view *, const struct contraction *);
void conv_loop(const struct view *, struct contraction *, struct str *out, int axis);
/* Is a row of the image of this many elements copied by vectors? */
bool conv_is_even_row(const struct view *, int pos, int64_t wide);
void conv_pad_row(struct view *, struct cpu_conv *, struct str *out);
bool conv_stage_image(struct view *, struct cpu_conv *, struct str *out, const char *at, const char *rows);
void conv_stage_filter(struct view *, struct cpu_conv *, struct str *out, const char *at,
                       const struct tiled_axis *ch, const char *tap);

/* ---- forward.c --------------------------------------------------------------------------------------------- */

/* Requires c.m, c.n, c.mr and c.nv. copy: the image is packed into scratch. */
bool conv_write_forward(struct view *, struct cpu_conv *, struct str *out, bool copy);
bool conv_write_alone(struct view *, struct str *out);

/* ---- weight_gradient.c ------------------------------------------------------------------------------------- */

bool conv_write_gradient(struct view *, struct cpu_conv *, struct str *out);
bool conv_write_dots(struct view *, struct cpu_conv *, struct str *out, int along);

#endif
