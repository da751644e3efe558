/* gemm.h: what the files of this folder share: steps of the schedules of a contraction (choose.h). */
#ifndef RIDGE_CHOOSE_GEMM_H
#define RIDGE_CHOOSE_GEMM_H

#include "tune/choose/choose.h"

enum { K_BLOCK = 256 };     /* terms of a packed block, about */
#define BROADCAST_COST 0.25 /* of a vector load, per row of a packed panel */
#define SCORE_MARGIN 1.001  /* a later candidate must win by this */

/* ---- contraction.c ----------------------------------------------------------------------------------------- */

/* A contraction, or a tile of differences whose squares or magnitudes are added. */
bool terms_find(const struct view *, struct contraction *);
bool is_own_output(const struct view *, int axis, uint64_t mine, uint64_t other);
int lanes_along(const struct view *, int axis); /* part of a vector for few values */
/* Exchanges the operands where vectors along an axis of a do twice the work of those along n. */
void exchange_operands(const struct view *, struct contraction *);
/* The axis of b to vectorize where vectors along n would be gathers; -1: there is none. */
int near_axis(const struct view *, const struct contraction *);
bool is_packable(const struct view *, const struct operand_view *);
bool has_packable_k(const struct view *, const struct contraction *);
bool has_windows(const struct view *, const struct contraction *); /* in either operand */

/* ---- register_tile.c --------------------------------------------------------------------------------------- */

/* Share of the FMA rate of a tile of x rows by y vectors, padding aside. */
double tile_score(const struct view *, int64_t rows, int64_t x, int64_t y, double row_load, bool in_place);
enum { MOST_TILE_ROWS = 12 };           /* of few accumulators, or of rows that are streamed */
int64_t most_rows(const struct view *); /* of a register tile */

/* ---- packed.c ---------------------------------------------------------------------------------------------- */

/* Names of the axes of a packed GEMM. */
struct panels {
    const char *mr, *nr, *lane; /* inside the register tile */
    const char *ml, *nl;        /* register tiles of a panel; "": there is one */
    const char *kk, *ku;        /* terms of a block, unrolled ones among them ("": none) */
    const char *at;             /* the loop that packs */
};

/* Can both operands be packed, and is it worth it? unit: b has stride 1 along n. */
bool should_pack(const struct view *, const struct contraction *, bool unit);
/* Of register tiles about as good as that of tile_of, the one whose panels are the least time: padding to whole tiles and idle
 * threads are one thing. */
void tile_packed(const struct view *, struct contraction *);
bool write_packed(struct view *, struct contraction *, struct str *out);

/* ---- joined.c ---------------------------------------------------------------------------------------------- */

/* JOINs of all reduced axes; returns the name of the one that is left. */
const char *join_terms(struct view *, struct str *out);
/* Adds what `write` gives for the kernel after the list in out; false: nothing. */
bool write_joined(struct view *, bool (*write)(struct view *, struct str *), struct str *out);
/* A packed GEMM of an operand that is read with gaps. */
bool write_gaps(struct view *, const struct contraction *, struct str *out);

#endif
