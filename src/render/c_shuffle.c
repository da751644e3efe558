/* c_shuffle.c: a BUILD, a vector of lanes of others, as the shuffle that makes it.
 *
 * Interleaved vectors, columns of transposed rows, elements of four vectors (quads), any lanes of several vectors, a vector that is shifted
 * by some lanes; what is none of these is a list of its lanes. Macros: c_pre.c. Tests: tests/unit/render_access.c, transposition.c */
#include "render/internal.h"

#include <stdlib.h>

enum { MOST_SOURCES = 16 }; /* of a shuffle */

/* Lane i is lane i / ways of vector i % ways: interleaved, as packing for dot and MMA instructions does (pairs of 16 bits,
 * pairs or fours of bytes). gcc makes one instruction per lane of a constructor, and one or two of a shuffle. */
static int interleaved(const uop *n) {
    unsigned bytes = dtype_info[n->dt].bytes;
    for (int ways = 2; n->dt != DT_BOOL && bytes * (unsigned)ways <= 4; ways *= 2) {
        unsigned each = n->lanes / (unsigned)ways;
        bool all = (each == 16 || each == 32) && each * (unsigned)ways == n->lanes; /* ZIP16, ZIP32 */
        for (uint32_t i = 0; i < n->nsrc && all; i++) {
            const uop *x = n->src[i];
            all = x->op == OP_EXTRACT && x->arg.i == i / (uint32_t)ways &&
                  x->src[0] == n->src[i % (uint32_t)ways]->src[0] &&
                  x->src[0]->lanes * (uint32_t)ways == n->lanes && x->src[0]->dt == n->dt;
        }
        if (all) return ways;
    }
    return 0;
}

static const char *zip(struct render *r, const char *type, const char *a, const char *b, unsigned lanes) {
    return fmt(r, "ZIP%u(%s, %s, %s)", lanes, type, a, b);
}

static struct c_text interleave(struct render *r, const uop *n, int ways) {
    struct c_text t = {.dt = n->dt, .lanes = n->lanes}, v[4];
    enum dtype dt = (enum dtype)n->dt;
    for (int i = 0; i < ways; i++) v[i] = named(r, operand(r, n->src[i]->src[0]));
    unsigned each = n->lanes / (unsigned)ways;
    if (ways == 2) {
        t.s = zip(r, type_of(r, dt, n->lanes, 0), v[0].s, v[1].s, each);
        return t;
    }
    const char *pair[2], *wide = fmt(r, "u16x%u", each);
    for (int i = 0; i < 2; i++) {
        struct c_text p = {
            .s = zip(r, wide, v[2 * i].s, v[2 * i + 1].s, each), .dt = DT_U16, .lanes = (uint8_t)each};
        pair[i] = named(r, p).s;
    }
    t.s = zip(r, type_of(r, dt, n->lanes, 0), pair[0], pair[1], each);
    return t;
}

static bool is_zero(const uop *n) { return uop_is_const(n) && !n->arg.i; /* of a float: not -0 */ }

/* How many rows a column has: lanes behind them are 0, in a vector that is not full. */
static unsigned column_rows(const uop *n) {
    unsigned rows = n->nsrc;
    while (rows > 1 && is_zero(n->src[rows - 1])) rows--;
    return rows;
}

/* Lane i is one element of row i, the same of all rows: a column of their transposition (codegen/lower/coalesce.c). Rows of two
 * doubles, four words, 4 or 8 of 16-bit elements, 8 or 16 bytes; of bools their masks, of a byte each. The compiler shares the shuffles of
 * neighbouring columns. Returns the elements of a row; 0: no column. */
static unsigned column_width(const uop *n) {
    static const struct {
        uint8_t bytes, lanes, wide;
    } forms[] = {{8, 4, 2}, {8, 8, 2},  {4, 4, 4},  {4, 8, 4}, {4, 16, 4}, {2, 4, 4},  {2, 4, 8},  {2, 8, 4},
                 {2, 8, 8}, {2, 16, 4}, {2, 16, 8}, {1, 8, 4}, {1, 8, 8},  {1, 16, 8}, {1, 16, 16}};
    unsigned wide = n->src[0]->nsrc ? n->src[0]->src[0]->lanes : 0;
    bool all = false;
    for (size_t i = 0; i < RG_COUNT(forms); i++)
        all |=
            forms[i].bytes == dtype_info[n->dt].bytes && forms[i].lanes == n->lanes && forms[i].wide == wide;
    unsigned rows = column_rows(n);
    bool square = wide == 4 && n->lanes == 4 && dtype_info[n->dt].bytes == 4; /* of computed rows too */
    all = all && 2 * rows > n->nsrc;
    for (uint32_t i = 0; i < rows && all; i++) {
        const uop *x = n->src[i];
        all = x->op == OP_EXTRACT && x->arg.i == n->src[0]->arg.i && x->src[0]->lanes == wide &&
              (square || x->src[0]->op == OP_LOAD || x->src[0]->op == OP_PRED_LOAD) &&
              (!i || x->src[0] != n->src[i - 1]->src[0]);
    }
    return all ? wide : 0;
}

static struct c_text column_row(struct render *r, const uop *n, uint32_t i) {
    return named(r, operand(r, n->src[RG_MIN(i, column_rows(n) - 1)]->src[0]));
}

/* .. with its lanes behind the last row set to 0. */
static struct c_text column_part(struct render *r, const uop *n, struct c_text t) {
    unsigned rows = column_rows(n), bits = 8 * dtype_info[n->dt].bytes;
    struct str s;
    if (rows == n->nsrc) return t;
    str_init(&s, r->a);
    str_printf(&s, "(%s)((u%ux%u)(%s) & (u%ux%u){", type_of(r, (enum dtype)n->dt, n->lanes, 1), bits,
               n->lanes, t.s, bits, n->lanes);
    for (unsigned i = 0; i < n->lanes; i++) str_printf(&s, "%s%s", i ? ", " : "", i < rows ? "-1" : "0");
    str_add(&s, "})");
    t.s = s.p;
    return t;
}

/* Sixteen narrow elements: a part of a column of words. */
static struct c_text narrow_column(struct render *r, const uop *n, unsigned wide) {
    unsigned bytes = dtype_info[n->dt].bytes, byte = (unsigned)n->src[0]->arg.i * bytes;
    struct c_text t = {.dt = n->dt, .lanes = n->lanes, .mask = n->dt == DT_BOOL};
    struct str s;
    str_init(&s, r->a);
    str_printf(&s, "COLUMN16_%u(u32x16", byte / 4);
    for (uint32_t i = 0; i < n->nsrc; i++) str_printf(&s, ", ROW%u(%s)", wide * bytes, column_row(r, n, i).s);
    str_printf(&s, ") >> %u", byte % 4 * 8);
    t.s = fmt(r, "(%s)%s", type_of(r, (enum dtype)n->dt, n->lanes, 1),
              converted(r, DT_U32, bytes == 1 ? DT_U8 : DT_U16, n->lanes, s.p));
    return t;
}

static struct c_text column(struct render *r, const uop *n, unsigned wide) {
    struct c_text t = {.dt = n->dt, .lanes = n->lanes, .mask = n->dt == DT_BOOL};
    const char *type = type_of(r, (enum dtype)n->dt, n->lanes, 1);
    struct str s;
    unsigned at = (unsigned)n->src[0]->arg.i, bytes = dtype_info[n->dt].bytes;
    if (bytes < 4 && n->lanes == 16) return narrow_column(r, n, wide);
    str_init(&s, r->a);
    if (bytes == 4)
        str_printf(&s, "COLUMN%u_%u(%s", n->lanes, at, type);
    else if (bytes == 8)
        str_printf(&s, "COLUMN%u_OF2(%s, %u", n->lanes, type, at);
    else
        str_printf(&s, "COLUMN%u_OF%u(%s, %u, %s, %s", n->lanes, wide, type, at,
                   at < wide / 2 ? "LOW" : "HIGH", at % 4 < 2 ? "LOW" : "HIGH");
    for (uint32_t i = 0; i < n->nsrc; i++) {
        struct c_text x = column_row(r, n, i);
        t.moving |= x.moving;
        str_printf(&s, ", %s", x.s);
    }
    str_add(&s, ")");
    t.s = s.p;
    return t;
}

static int by_id(const void *p, const void *q) {
    uint32_t x = (*(const uop *const *)p)->id, y = (*(const uop *const *)q)->id;
    return (x > y) - (x < y);
}

/* A vector of two neighbouring columns of the same rows, the end of one and the beginning of the next: packing of rows that are
 * no power of two, a quarter of a line or a whole one of each at once. Rows, at most 16, by their ids; 0: it is none. */
static unsigned mixed_rows(const uop *n, const uop *row[16]) {
    unsigned rows = 0;
    if (n->lanes != 16 || dtype_info[n->dt].bytes != 4 || n->dt == DT_BOOL) return 0;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *x = n->src[i];
        unsigned k = 0;
        if (x->op != OP_EXTRACT || x->src[0]->op != OP_LOAD) return 0;
        if (x->src[0]->lanes != n->src[0]->src[0]->lanes || (x->src[0]->lanes != 4 && x->src[0]->lanes != 16))
            return 0;
        int64_t step = x->arg.i - n->src[0]->arg.i;
        if (step < 0 || step > 1 || (i && x->arg.i < n->src[i - 1]->arg.i)) return 0;
        while (k < rows && row[k] != x->src[0]) k++;
        if (k == rows && rows == 16) return 0;
        if (k == rows) row[rows++] = x->src[0];
    }
    qsort(row, rows, sizeof *row, by_id);
    return rows;
}

/* Column `at` of these 16 rows of 4 or 16 words. */
static const char *word_column(struct render *r, const char *type, unsigned wide, int at, const char *rows) {
    if (wide == 4) return fmt(r, "COLUMN16_%d(%s%s)", at, type, rows);
    return fmt(r, "COLUMN16_OF16(%s, %s, %s, %d, %d, %d%s)", type, at % 4 < 2 ? "LOW" : "HIGH",
               at % 2 ? "ODD" : "EVEN", at / 8, at / 4 % 2, at, rows);
}

static struct c_text mixed(struct render *r, const uop *n, const uop *const *row, unsigned rows) {
    struct c_text t = {.dt = n->dt, .lanes = n->lanes};
    const char *type = type_of(r, (enum dtype)n->dt, n->lanes, 0);
    struct str s, all;
    int first = (int)n->src[0]->arg.i;
    str_init(&s, r->a), str_init(&all, r->a);
    for (unsigned i = 0; i < 16; i++)
        str_printf(&all, ", %s", named(r, operand(r, row[RG_MIN(i, rows - 1)])).s);
    unsigned wide = row[0]->lanes;
    str_printf(&s, "MIX(%s, %s, %s", type, word_column(r, type, wide, first, all.p),
               word_column(r, type, wide, RG_MIN(first + 1, (int)wide - 1), all.p));
    for (uint32_t i = 0; i < 16; i++) {
        unsigned k = 0;
        while (row[k] != n->src[i]->src[0]) k++;
        str_printf(&s, ", %u", k + (n->src[i]->arg.i > first ? 16 : 0));
    }
    str_add(&s, ")");
    t.s = s.p;
    return t;
}

/* The same the other way: one element of four vectors, all of which are transposed for the elements next to it; of eight vectors of
 * 16-bit elements, as pairs. */
static bool is_quad(const uop *n) {
    unsigned bytes = dtype_info[n->dt].bytes, wide = n->src[0]->nsrc ? n->src[0]->src[0]->lanes : 0;
    bool all =
        n->lanes * bytes == 16 && ((bytes == 4 && wide == 8) || (bytes >= 2 && bytes <= 4 && wide == 16));
    for (uint32_t i = 0; i < n->nsrc && all; i++) {
        const uop *x = n->src[i];
        all = x->op == OP_EXTRACT && x->arg.i == n->src[0]->arg.i && x->src[0]->lanes == wide &&
              (!i || x->src[0] != n->src[i - 1]->src[0]);
    }
    return all;
}

/* Sixteen pairs of the elements of two vectors. */
static struct c_text paired(struct render *r, struct c_text a, struct c_text b) {
    struct c_text t = {.dt = DT_U32, .lanes = 16, .moving = a.moving || b.moving};
    t.s = zip(r, "u32x16", fmt(r, "(u16x16)%s", a.s), fmt(r, "(u16x16)%s", b.s), 16);
    return t;
}

static struct c_text quad(struct render *r, const uop *n) {
    struct c_text t = {.dt = n->dt, .lanes = n->lanes};
    struct str s;
    int at = (int)n->src[0]->arg.i;
    str_init(&s, r->a);
    str_printf(&s, "QUAD(%s, %u, %s, %s, %d, %d", type_of(r, (enum dtype)n->dt, n->lanes, 0),
               n->src[0]->src[0]->lanes, at % 4 < 2 ? "LOW" : "HIGH", at % 2 ? "ODD" : "EVEN", at,
               at / 4 * 4);
    for (uint32_t i = 0; i < n->nsrc; i += n->nsrc / 4) {
        struct c_text x = named(r, operand(r, n->src[i]->src[0]));
        if (n->nsrc == 8) x = named(r, paired(r, x, named(r, operand(r, n->src[i + 1]->src[0]))));
        t.moving |= x.moving;
        str_printf(&s, ", %s", x.s);
    }
    str_add(&s, ")");
    t.s = s.p;
    return t;
}

/* The vector of a lane: a constant is one of all lanes alike (a padded halo). */
static const uop *lane_source(const uop *x) { return uop_is_const(x) ? x : x->src[0]; }

/* Vectors that a shuffle is made of at most: a list takes an instruction per lane, of vectors wider than 16 bytes two or more. */
static unsigned most_sources(const uop *n) {
    unsigned wide = n->lanes * dtype_info[n->dt].bytes > 16 ? n->lanes / 2u : 0;
    return RG_MAX(4, RG_MIN(wide, MOST_SOURCES));
}

/* Lanes of several vectors: the distinct ones; 0: it is no such shuffle. */
static unsigned shuffle_sources(const uop *n, const uop *from[MOST_SOURCES]) {
    unsigned k, found = 0, vectors = 0;
    if (n->lanes < 4 || storage_lanes(n->lanes) != n->lanes || n->dt == DT_BOOL) return 0;
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *x = n->src[i];
        unsigned lanes = x->op == OP_EXTRACT ? x->src[0]->lanes : 0;
        if (!uop_is_const(x) && (lanes < 4 || storage_lanes(lanes) != lanes)) return 0;
        for (k = 0; k < found && from[k] != lane_source(x);) k++;
        if (k == most_sources(n)) return 0;
        if (k == found) from[found++] = lane_source(x), vectors += !uop_is_const(x);
    }
    return vectors ? found : 0;
}

/* A vector of n lanes, the first of which are v's. */
static struct c_text widened(struct render *r, struct c_text v, unsigned n) {
    struct c_text t = {.dt = v.dt, .lanes = (uint8_t)n, .moving = v.moving};
    struct str s;
    if (v.lanes == n) return v;
    str_init(&s, r->a);
    str_printf(&s, "MIX(%s, %s, %s", type_of(r, (enum dtype)v.dt, n, 0), v.s, v.s);
    for (unsigned i = 0; i < n; i++) str_printf(&s, ", %u", i % v.lanes);
    str_add(&s, ")");
    t.s = s.p;
    return named(r, t);
}

/* Lanes of two of the vectors, each of as many `lanes`; those of others are any. */
static const char *mix(struct render *r, const uop *n, const char *type, const uop *const *from,
                       const char *const *name, unsigned found, unsigned lanes) {
    struct str s;
    str_init(&s, r->a);
    str_printf(&s, "MIX(%s, %s, %s", type, name[0], name[found - 1]);
    for (uint32_t i = 0; i < n->nsrc; i++) {
        const uop *x = n->src[i];
        bool second = found > 1 && lane_source(x) == from[1];
        unsigned at = uop_is_const(x) ? 0 : second || x->src[0] == from[0] ? (unsigned)x->arg.i : 0;
        str_printf(&s, ", %u", at + (second ? lanes : 0));
    }
    str_add(&s, ")");
    return s.p;
}

/* Which of the sources a lane is of. */
static unsigned which_source(const uop *x, const uop *const *from) {
    unsigned k = 0;
    while (from[k] != lane_source(x)) k++;
    return k;
}

/* Pairs are shuffled, then the pairs of pairs are blended, and so on. Doubles as integers: gcc 12 and 13 take permutations of eight for
 * ones inside 128-bit lanes (vpermilpd) where only the third and fourth element cross them. */
static struct c_text shuffle(struct render *r, const uop *n, const uop *const *from, unsigned found) {
    struct c_text t = {.dt = n->dt, .lanes = n->lanes};
    const char *name[MOST_SOURCES], *type = type_of(r, (enum dtype)n->dt, n->lanes, 0);
    unsigned lanes = 0, parts = 0;
    for (unsigned k = 0; k < found; k++) lanes = RG_MAX(lanes, from[k]->lanes);
    for (unsigned k = 0; k < found; k++) {
        struct c_text v = from[k]->lanes == 1 ? named(r, splat(r, operand(r, from[k]), lanes, 0))
                                              : widened(r, named(r, operand(r, from[k])), lanes);
        t.moving |= v.moving;
        name[k] = n->dt == DT_F64 ? fmt(r, "(i64x%u)%s", lanes, v.s) : v.s;
    }
    for (unsigned k = 0; k < found; k += 2)
        name[parts++] = mix(r, n, type, from + k, name + k, RG_MIN(found - k, 2), lanes);
    for (unsigned each = 2; parts > 1; each *= 2) {
        for (unsigned k = 0; k < parts; k++) {
            name[k] = named(r, (struct c_text){.s = name[k], .dt = n->dt, .lanes = n->lanes}).s;
            if (n->dt == DT_F64) name[k] = fmt(r, "(i64x%u)%s", n->lanes, name[k]);
        }
        for (unsigned k = 0; k + 1 < parts; k += 2) {
            struct str s;
            str_init(&s, r->a);
            str_printf(&s, "MIX(%s, %s, %s", type, name[k], name[k + 1]);
            for (uint32_t i = 0; i < n->nsrc; i++)
                str_printf(&s, ", %u", i + (which_source(n->src[i], from) / each == k + 1 ? n->lanes : 0));
            str_add(&s, ")");
            name[k / 2] = s.p;
        }
        if (parts % 2) name[parts / 2] = name[parts - 1];
        parts = (parts + 1) / 2;
    }
    t.s = name[0];
    return t;
}

/* The first lanes of a vector behind equal constants, as a running value has them: how many these are; 0: it is none such. */
static unsigned shifted(const uop *n) {
    unsigned by = 0;
    while (by < n->nsrc && n->src[by]->op == OP_CONST && n->src[by] == n->src[0]) by++;
    if (!by || by == n->nsrc || n->src[by]->op != OP_EXTRACT || n->dt == DT_BOOL) return 0;
    const uop *v = n->src[by]->src[0];
    bool all = v->lanes == n->lanes && v->dt == n->dt;
    for (uint32_t i = by; i < n->nsrc && all; i++) {
        const uop *x = n->src[i];
        all = x->op == OP_EXTRACT && x->src[0] == v && x->arg.i == i - by;
    }
    return all ? by : 0;
}

/* Lanes of both count on from the constants to the vector: compilers have one instruction for that. */
static struct c_text shift(struct render *r, const uop *n, unsigned by) {
    struct c_text v = named(r, operand(r, n->src[by]->src[0]));
    struct c_text t = {.dt = n->dt, .lanes = n->lanes, .moving = v.moving};
    const char *type = type_of(r, (enum dtype)n->dt, n->lanes, 0);
    const char *as = n->dt == DT_F64 ? fmt(r, "(i64x%u)", n->lanes) : "";
    struct str s;
    str_init(&s, r->a);
    str_printf(&s, "MIX(%s, %sS%u(%s, %s), %s%s", type, as, n->lanes, type, operand(r, n->src[0]).s, as, v.s);
    for (uint32_t i = 0; i < n->nsrc; i++) str_printf(&s, ", %u", n->lanes - by + i);
    str_add(&s, ")");
    t.s = s.p;
    return t;
}

struct c_text build_text(struct render *r, const uop *n) {
    int ways = interleaved(n);
    if (ways) return interleave(r, n, ways);
    unsigned by = shifted(n);
    if (by) return shift(r, n, by);
    unsigned wide = column_width(n);
    if (wide) return column_part(r, n, column(r, n, wide));
    if (is_quad(n)) return quad(r, n);
    const uop *row[16], *from[MOST_SOURCES];
    unsigned rows = mixed_rows(n, row), found = shuffle_sources(n, from);
    if (rows > 8) return mixed(r, n, row, rows);
    if (found) return shuffle(r, n, from, found);
    struct c_text t = {.dt = n->dt, .lanes = n->lanes, .mask = n->dt == DT_BOOL && n->lanes > 1};
    struct str s;
    if (n->lanes == 1) return operand(r, n->src[0]);
    str_init(&s, r->a);
    str_printf(&s, "(%s){", type_of(r, (enum dtype)n->dt, n->lanes, 1));
    for (uint32_t i = 0; i < n->nsrc; i++) {
        struct c_text x = operand(r, n->src[i]);
        t.moving |= x.moving;
        str_printf(&s, n->dt == DT_BOOL ? "%s-%s" : "%s%s", i ? ", " : "", x.s);
    }
    close_lanes(&s, n->lanes);
    t.s = s.p;
    return t;
}
