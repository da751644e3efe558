/* gpu_gemm.c: opt lists of a GPU for sums of products (matrix products, batched, transposed; convolutions and their
 * gradients) and for transpositions: block programs with tiles in shared memory.
 *
 * Products. The axes of the result that only one factor has are joined to m, those that only the other has to n, those that
 * are summed over to k, so that a convolution is a product like another: what its tiles are filled from is found element by
 * element. A block computes a tile of m x n, its warps smaller ones, a thread its registers: by MMA instructions where
 * both factors are halves (or, with RIDGE_TF32=1, floats), those of warpgroups where there are such, else by
 * FMAs. The k loop runs over blocks whose tiles
 * are in a ring. Every tile of a table, with every ring that has room and several orders of the blocks, is a form; the one
 * that is taken is the one that takes least time by the model of a GPU (gpu_time.c), and search tries the others.
 *
 * Transpositions. A tile is copied along the rows that it is read from and stored along those of the result.
 * Tests: tests/unit/gpu_threads.c, tests/unit/cuda.c */
#include "tune/choose/choose.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_BLOCKS 32      /* fewer are left to single threads, where they leave SMs idle */
#define ROLES_OWN 1024       /* bytes of it that threads with roles meet by */
#define MOST_GROUPS 2        /* that compute, with the registers that each has then */
#define MOST_SUMS 192        /* registers of a thread for them, with a part that is added to them */
#define PANEL 8192           /* bytes through which each of their groups stores .. */
#define PANEL_MORE 1024      /* .. and more where rows of the result begin anywhere */
#define LEAST_TERMS 512      /* of a sum that a block of a cluster is worth */
#define MOST_IN_FOURS 64     /* blocks that find room at once in clusters of four, one on a SM */
#define LINES 1.5            /* of what is fetched, where rows do not begin with lines of memory */
#define TOGETHER 0.25        /* the part of it that neighbouring blocks fetch together */
#define ALONE 30             /* instructions for an element of a tile that is fetched alone .. */
#define ALONE_TURNED 75      /* .. of floats that are turned on the way */
#define HELD_BESIDE 12       /* registers of a thread that holds such elements for a while, beside them */
#define HELD_OVER 24         /* so many may find no room */
#define TURN_LEAST (1 << 16) /* elements that are worth a transposition by tiles */

enum { MOST_JOINED = 8 };

/* Axes of one kind, the slowest first, and the name of the one that they are joined to. */
struct group {
    int axis[MOST_JOINED], n;
    double size;
    const char *name;
};

/* What the tables have is what may be tried, by search too. */
struct tile {
    int m, n, k, wm, wn; /* of a block; warps (or groups of four) along each */
    int blocks;          /* that should find room on a SM */
};
/* One way to do a product, complete. */
struct form {
    struct tile t;
    int places; /* of the ring; 0: what there is room for */
    int near;  /* blocks along m that run beside each other; 0: of 2048 rows, 1: in the order of the result */
    int roles; /* teams that compute while a warp of its own copies; 0: all threads do both */
    bool walk; /* as many blocks as there are SMs walk over the tiles */
    int cluster; /* blocks that have parts of the same sums (cluster_splitk.c), or 1 */
};
static const struct tile by_mma[] = {
    {128, 256, 32, 2, 4, 1}, {128, 128, 32, 2, 2, 2}, {64, 128, 32, 2, 2, 3},  {64, 64, 64, 2, 2, 4},
    {32, 64, 64, 1, 2, 6},   {256, 128, 32, 4, 2, 1}, {128, 256, 64, 2, 4, 1}, {128, 128, 64, 2, 2, 1},
    {128, 128, 32, 2, 4, 2}, {128, 64, 32, 2, 2, 3},  {64, 256, 32, 1, 4, 2},  {64, 128, 64, 2, 2, 2},
    {64, 64, 32, 2, 2, 5},   {64, 32, 64, 2, 1, 6},   {32, 128, 64, 1, 4, 4},  {32, 32, 64, 1, 1, 8},
    {64, 64, 128, 2, 2, 3},  {32, 64, 128, 1, 2, 4},
};
/* Warpgroups along m; n is that of one instruction. */
static const struct tile by_group[] = {
    {128, 256, 64, 2, 1, 1}, {128, 192, 64, 2, 1, 1}, {128, 128, 64, 2, 1, 1},  {64, 128, 64, 1, 1, 2},
    {64, 64, 64, 1, 1, 3},   {256, 128, 64, 2, 1, 1}, {256, 192, 64, 2, 1, 1},  {256, 64, 64, 2, 1, 1},
    {192, 128, 64, 3, 1, 1}, {192, 192, 64, 3, 1, 1}, {128, 64, 64, 2, 1, 2},   {64, 256, 64, 1, 1, 1},
    {64, 192, 64, 1, 1, 2},  {128, 128, 64, 1, 1, 1}, {128, 64, 64, 1, 1, 2},   {64, 64, 128, 1, 1, 2},
    {128, 64, 128, 2, 1, 1}, {64, 128, 128, 1, 1, 1}, {128, 128, 128, 2, 1, 1}, {128, 192, 64, 1, 1, 1},
};
static const struct tile by_fma[] = {
    {64, 128, 16, 2, 2, 3},  {128, 256, 16, 2, 4, 1}, {128, 128, 8, 4, 2, 2}, {64, 64, 16, 2, 2, 4},
    {32, 64, 16, 2, 1, 8},   {128, 128, 16, 4, 2, 2}, {64, 128, 8, 2, 2, 3},  {64, 128, 32, 2, 2, 2},
    {128, 64, 16, 2, 2, 3},  {128, 64, 16, 4, 1, 3},  {128, 256, 8, 2, 4, 1}, {128, 128, 16, 2, 2, 2},
    {64, 256, 16, 2, 4, 2},  {64, 64, 8, 2, 2, 5},    {64, 64, 32, 2, 2, 3},  {32, 128, 16, 2, 2, 5},
    {32, 64, 32, 2, 1, 6},   {64, 32, 16, 2, 1, 8},   {32, 32, 32, 1, 1, 12}, {16, 64, 32, 1, 2, 12},
    {256, 128, 16, 4, 2, 1},
};

struct mm {
    struct view *v;
    struct contraction c;
    struct group m, n, k;
    struct form f;
    bool mma, tf32, group;
    bool parts;        /* the instruction's sums are short: each tile's is added to those of the threads */
    const char *instr; /* the instruction's elements, as its row of mma.def is called */
    int k_step;        /* .. and its size along k */
    bool boxes;        /* the tiles may be boxes of their buffers */
    int finish;        /* operations for a result after its sum */
    bool
        added; /* of what it reads, one buffer lies as the result does: it comes by boxes (warp_specialize.c) */
    bool loads; /* .. and there is more that each result reads for itself */
    bool odd;   /* rows of the result do not begin at multiples of 16 bytes */
    int bytes;  /* of an element of a tile */
    struct str *out;
};

/* ---- axes ---------------------------------------------------------------------------------------------------- */

static int64_t step_of(const struct view *v, const struct access_view *s, int axis) {
    int64_t d = access_stride(v, s, axis, 1);
    return d == NO_STRIDE ? INT64_MAX : d < 0 ? -d : d;
}

static bool add_axis(const struct view *v, struct group *g, int axis) {
    if (g->n == MOST_JOINED || v->axis[axis].size < 0 || v->axis[axis].fixed || v->axis[axis].members != 1)
        return false;
    g->axis[g->n++] = axis;
    return true;
}

/* JOIN takes an outer and an inner one, in the order of the nest. */
static void sort_group(const struct view *v, struct group *g) {
    g->size = 1;
    for (int i = 0; i < g->n; i++) g->size *= (double)v->axis[g->axis[i]].size;
    for (int i = 1; i < g->n; i++)
        for (int k = i; k > 0 && g->axis[k] < g->axis[k - 1]; k--) {
            int t = g->axis[k];
            g->axis[k] = g->axis[k - 1], g->axis[k - 1] = t;
        }
}

static bool find_groups(struct mm *x) {
    const struct view *v = x->v;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        bool in_a = has_axis(v, x->c.a.mask, i), in_b = has_axis(v, x->c.b.mask, i);
        if (a->most <= 1) continue;
        if (a->reduce ? !add_axis(v, &x->k, i)
                      : a->grid && in_a != in_b && !add_axis(v, in_a ? &x->m : &x->n, i))
            return false;
        if (a->scan || (!a->grid && !a->reduce)) return false;
    }
    sort_group(v, &x->m), sort_group(v, &x->n), sort_group(v, &x->k);
    return x->m.n && x->n.n && x->k.n;
}

static const char *fresh(struct mm *x, const char *base) { return view_new_axis(x->v, base, "t"); }

static void join(struct mm *x, struct group *g) {
    g->name = x->v->axis[g->axis[0]].name;
    for (int i = 1; i < g->n; i++) {
        const char *both = arena_printf(x->v->arena, "%s_%s", g->name, x->v->axis[g->axis[i]].name);
        str_printf(x->out, " JOIN(%s,%s,%s)", g->name, x->v->axis[g->axis[i]].name, both);
        g->name = both;
    }
}

/* ---- tiles ---------------------------------------------------------------------------------------------------- */

/* A half as it was loaded, perhaps with zeros around, widened. */
static bool halves(const struct operand_view *s, enum dtype *dt) {
    const uop *x = s->root->op == OP_CAST ? s->root->src[0] : s->root;
    *dt = (enum dtype)s->access->node->dt;
    if (x->op == OP_WHERE && uop_is_const(x->src[2])) x = x->src[1];
    return s->root->op == OP_CAST && s->root->dt == DT_F32 && x == s->access->node &&
           dtype_info[*dt].bytes <= 2 && dt_is_float(*dt);
}

static const struct tile *tiles_of(const struct mm *x, size_t *n) {
    *n = x->group ? RG_COUNT(by_group) : x->mma ? RG_COUNT(by_mma) : RG_COUNT(by_fma);
    return x->group ? by_group : x->mma ? by_mma : by_fma;
}

/* Terms of the sums of one block. */
static double terms_of(const struct mm *x) { return x->k.size / RG_MAX(x->f.cluster, 1); }

/* May so many blocks share its sums? Each has whole tiles along k, and panels of its own to store. */
static bool fits_cluster(const struct mm *x) {
    int c = x->f.cluster, panels = x->f.t.n * x->c.store->bytes / 128;
    return c <= 1 || ((int64_t)x->k.size % ((int64_t)c * x->f.t.k) == 0 && panels % c == 0 &&
                      terms_of(x) >= LEAST_TERMS && !x->added && !x->loads && !x->parts);
}

/* A short sum has shorter tiles along k; false: too short for any. */
static bool fit_k(struct mm *x) {
    if (x->group) x->f.t.k = x->f.t.k * 2 / x->bytes; /* whole panels: the tables count halves */
    while (x->f.t.k > 2 * x->k_step && x->k.size < 2.0 * x->f.t.k && !x->group) x->f.t.k /= 2;
    if (x->tf32 && !x->group && x->f.t.k > 32) x->f.t.k = 32;
    return terms_of(x) >= 2.0 * x->f.t.k && fits_cluster(x);
}

/* Products side by side. */
static double batch_of(const struct mm *x) {
    double n = 1;
    for (int i = 0; i < x->v->naxis; i++)
        if (x->v->axis[i].grid && has_axis(x->v, x->c.a.mask, i) && has_axis(x->v, x->c.b.mask, i))
            n *= x->v->axis[i].most;
    return n;
}

/* One axis in pieces, the outermost first. */
struct pieces {
    const char *name[4], *kind[4];
    int size[4], n;
};

static void piece(struct pieces *p, int size, const char *kind) {
    if (size <= 1) return;
    p->size[p->n] = size, p->kind[p->n++] = kind;
}

/* Rows of this operand are longer than it by less than a piece (a padded copy): they are read to their end, so that no piece
 * is cut. */
static int piece_of_rows(const struct mm *x, const struct operand_view *s, const struct group *own) {
    int64_t lanes = 16 / s->access->bytes, pitch = step_of(x->v, s->access, x->k.axis[x->k.n - 1]);
    bool whole =
        step_of(x->v, s->access, own->axis[own->n - 1]) == 1 && pitch != INT64_MAX && pitch % lanes == 0;
    return whole && (int64_t)own->size % lanes ? (int)lanes : 0;
}

/* Cuts the axis `name` into blocks (what stays of it) and the pieces. */
static void cut_pieces(struct mm *x, const char *name, double size, struct pieces *p) {
    int all = 1;
    for (int i = 0; i < p->n; i++) all *= p->size[i];
    if (size < all) str_printf(x->out, " PADTO(%s,%d)", name, all);
    const char *from = name;
    for (int i = 0; i < p->n; i++) {
        p->name[i] = fresh(x, from);
        if (!strcmp(p->name[i], from)) p->name[i] = arena_printf(x->v->arena, "%s_", from);
        str_printf(x->out, " TILE(%s,%d,%s)", from, all, p->name[i]);
        from = p->name[i];
        all /= p->size[i];
    }
}

static const char *window(struct mm *x, const struct pieces *p) {
    struct str s;
    str_init(&s, x->v->arena);
    for (int i = 0; i < p->n; i++) str_printf(&s, "%s%s", i ? "+" : "", p->name[i]);
    return s.p;
}

static void mark(struct mm *x, const struct pieces *p) {
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->kind[i], "TC")) str_printf(x->out, " %s(%s)", p->kind[i], p->name[i]);
}

/* THREAD pieces: all warps before all lanes of a warp. */
static void order_threads(struct mm *x, const struct pieces *m, const struct pieces *n) {
    const char *name[8];
    int k = 0;
    for (int level = 0; level < 2; level++)
        for (int side = 0; side < 2; side++) {
            const struct pieces *p = side ? n : m;
            bool warp = p->n && !strcmp(p->kind[0], "THREAD") && (side ? x->f.t.wn : x->f.t.wm) > 1;
            if (level == 0 && warp) name[k++] = p->name[0];
            for (int i = warp; i < p->n && level == 1; i++)
                if (!strcmp(p->kind[i], "THREAD")) name[k++] = p->name[i];
        }
    if (k < 2) return;
    str_add(x->out, " ORDER(");
    for (int i = 0; i < k; i++) str_printf(x->out, "%s%s", i ? "," : "", name[i]);
    str_add(x->out, ")");
}

/* Does the tile's source run along this group's axes one by one? */
static bool runs_along(const struct mm *x, const struct access_view *s, const struct group *g) {
    return step_of(x->v, s, g->axis[g->n - 1]) == 1;
}

/* Do the joined axes walk through memory as one? */
static bool is_one_walk(const struct mm *x, const struct access_view *s, const struct group *g) {
    int64_t step = step_of(x->v, s, g->axis[g->n - 1]);
    for (int i = g->n - 1; i > 0; i--) {
        if (step == INT64_MAX) return false;
        step *= x->v->axis[g->axis[i]].size;
        if (step_of(x->v, s, g->axis[i - 1]) != step) return false;
    }
    return true;
}

/* Its elements must be found one by one: the pixels of a convolution, what has a border. */
static bool is_gathered(const struct mm *x, const struct operand_view *s, const struct group *own) {
    return s->access->pred || !is_one_walk(x, s->access, &x->k) || !is_one_walk(x, s->access, own) ||
           (!runs_along(x, s->access, &x->k) && !runs_along(x, s->access, own));
}

/* Its buffer is the other factor too, or is added to the result: the tile is for these loads alone. */
static bool is_read_elsewhere(const struct mm *x, const struct access_view *access) {
    for (int i = 0; i < x->v->naccess; i++)
        if (&x->v->access[i] != access && x->v->access[i].buf == access->buf) return true;
    return false;
}

/* A tile with rows along k or along the side's own axis, filled by 16 bytes where memory runs that way. */
static void stage(struct mm *x, const struct operand_view *s, const struct group *own, const char *at,
                  const struct pieces *side, const struct pieces *k) {
    const char *name = access_name(x->v, s->access);
    if (is_read_elsewhere(x, s->access)) name = arena_printf(x->v->arena, "%s#%d", name, s == &x->c.b);
    bool along_k = runs_along(x, s->access, &x->k), along_own = !along_k && runs_along(x, s->access, own);
    bool rows = x->mma && (along_k || x->tf32 || !along_own); /* [side][k]; else [k][side] */
    const char *a = window(x, side), *b = window(x, k);
    str_printf(x->out, " STAGE(%s,%s,%s,%s)", name, at, rows ? a : b, rows ? b : a);
    if (x->f.roles) return; /* copied as boxes */
    int lanes = 16 / s->access->bytes, len = along_k ? x->f.t.k : own == &x->m ? x->f.t.m : x->f.t.n;
    if ((!along_k && !along_own) || s->access->pred || len % lanes) return;
    const char *copy = along_k ? k->name[0] : side->name[0], *vec = arena_printf(x->v->arena, "%s_v", name);
    str_printf(x->out, " TILE(%s.%s,%d,%s) VEC(%s)", name, copy, lanes, vec, vec);
}

static int64_t ring_bytes(const struct mm *x) {
    return (int64_t)(x->f.t.m + x->f.t.n + 16) * (x->f.t.k + 8) * x->bytes;
}

/* Blocks that run at the same time share what they read: so many along m, then the next along n. */
static int near_of(const struct mm *x) {
    int64_t rows = ceil_div((int64_t)x->m.size, x->f.t.m),
            n = x->f.near ? x->f.near : RG_MAX(2048 / x->f.t.m, 4);
    while (n > 1 && rows % n) n--;
    return !x->group || n < 4 || n == rows ? 1 : (int)n;
}

static void raster(struct mm *x) {
    int n = near_of(x);
    if (n == 1) return;
    const char *near = view_new_axis(x->v, x->m.name, "near");
    str_printf(x->out, " TILE(%s,%d,%s) GRID(%s) ORDER(%s,%s,%s)", x->m.name, n, near, near, x->m.name,
               x->n.name, near);
}

static int64_t place_bytes(const struct mm *x) {
    return x->group ? (int64_t)(x->f.t.m + x->f.t.n) * x->f.t.k * x->bytes : ring_bytes(x);
}

/* What threads with roles need beside the ring, with so many panels for results; one for each, where something comes through
 * them. */
static int64_t roles_bytes(const struct mm *x, int panels) {
    const struct tile *t = &x->f.t;
    if (x->added) panels = RG_MAX(t->m / t->wm / 64, 1) * RG_MAX(t->n * x->c.store->bytes / 128, 1);
    int64_t each = (int64_t)panels * PANEL + (x->odd && panels ? PANEL_MORE : 0);
    return x->f.roles ? ROLES_OWN + each * x->f.roles * t->wm : 0;
}

static int places_of(const struct mm *x) {
    int n = x->f.places ? x->f.places : x->group ? 6 : x->mma && x->f.t.k <= 32 ? 4 : 3;
    int64_t room = (x->v->gpu->smem_block - roles_bytes(x, 1)) / (x->f.places ? 1 : x->f.t.blocks);
    while (n > 1 && n * place_bytes(x) > room) n--;
    return n;
}

/* Sums of a thread. */
static int sums_of(const struct mm *x) { return x->f.t.m * x->f.t.n / RG_MAX(x->f.t.wm, 1) / 128; }

/* Of an instruction of a warpgroup, along n: the tile's, or half of it, so that there are registers for a part beside all sums. */
static int width_of(const struct mm *x) {
    int n = x->f.t.n;
    return x->parts && sums_of(x) + n / 2 > MOST_SUMS && n % 128 == 0 ? n / 2 : n;
}

static void write_product(struct mm *x) {
    struct pieces m = {0}, n = {0}, k = {0};
    const struct tile *t = &x->f.t;
    join(x, &x->m), join(x, &x->n), join(x, &x->k);
    if (x->group) {
        piece(&m, t->wm, "THREAD"), piece(&m, t->m / t->wm / 64, "REG"), piece(&m, 64, "TC");
        piece(&n, t->n / width_of(x), "REG"), piece(&n, width_of(x), "TC");
        piece(&k, t->k / x->k_step, "UNROLL"), piece(&k, x->k_step, "TC");
    } else if (x->mma) {
        piece(&m, t->wm, "THREAD"), piece(&m, t->m / t->wm / 16, "REG"), piece(&m, 16, "TC");
        piece(&n, t->wn, "THREAD"), piece(&n, t->n / t->wn / 16, "REG"), piece(&n, 16, "TC");
        piece(&k, t->k / x->k_step, "UNROLL"), piece(&k, x->k_step, "TC");
    } else {
        piece(&m, t->wm, "THREAD"), piece(&m, t->m / t->wm / 16, "REG"), piece(&m, 4, "THREAD"),
            piece(&m, 4, "REG");
        piece(&n, t->wn, "THREAD"), piece(&n, t->n / t->wn / 32, "REG"), piece(&n, 8, "THREAD"),
            piece(&n, 4, "VEC");
        piece(&k, t->k, "UNROLL");
    }
    for (int i = 0; i < 2; i++) {
        int piece = piece_of_rows(x, i ? &x->c.b : &x->c.a, i ? &x->n : &x->m);
        if (piece) str_printf(x->out, " PADTO(%s,%d)", i ? x->n.name : x->m.name, piece);
    }
    if (x->f.cluster > 1) {
        const char *part = fresh(x, x->k.name);
        str_printf(x->out, " TILE(%s,%lld,%s) CLUSTER(%s)", x->k.name, (long long)terms_of(x), part,
                   x->k.name);
        x->k.name = part;
    }
    cut_pieces(x, x->m.name, x->m.size, &m), cut_pieces(x, x->n.name, x->n.size, &n);
    cut_pieces(x, x->k.name, terms_of(x), &k);
    raster(x);
    char which[16] = "";
    if (x->group)
        snprintf(which, sizeof which, ",W%s_%d", x->instr, width_of(x));
    else if (x->tf32)
        snprintf(which, sizeof which, ",%s", x->instr);
    if (x->mma)
        str_printf(x->out, " TC(%s,%s,%s%s)", m.name[m.n - 1], n.name[n.n - 1], k.name[k.n - 1], which);
    mark(x, &m), mark(x, &n), mark(x, &k);
    order_threads(x, &m, &n);
    stage(x, &x->c.a, &x->m, x->k.name, &m, &k);
    stage(x, &x->c.b, &x->n, x->k.name, &n, &k);
    int places = places_of(x);
    for (int i = 0; i < 2 && places > 1; i++)
        str_printf(x->out, " PIPE(%s,%s,%d)", access_name(x->v, i ? x->c.b.access : x->c.a.access), x->k.name,
                   places);
    if (x->f.roles) str_printf(x->out, " WARP_SPECIALIZE(%d)", x->f.roles);
    if (x->f.walk) str_printf(x->out, " PERSISTENT(%d)", x->v->gpu->sms);
}

/* Do the rows of this operand begin at multiples of 16 bytes, so that pieces of that size are copied? */
static bool in_pieces(const struct mm *x, const struct operand_view *s, const struct group *own) {
    bool along_k = runs_along(x, s->access, &x->k);
    const struct group *other = along_k ? own : &x->k;
    int64_t pitch = step_of(x->v, s->access, other->axis[other->n - 1]), lanes = 16 / s->access->bytes;
    return !s->access->pred && (along_k || runs_along(x, s->access, own)) && pitch != INT64_MAX &&
           pitch % lanes == 0;
}

/* Operations that make a result of its sum; a function counts as many as it is made of. */
static int finish_ops(const struct mm *x) {
    uop_vec topo = {0}, stack = {0};
    int n = 0;
    struct map seen;
    map_init(&seen, x->v->arena);
    vec_push(x->v->arena, &stack, x->c.store->node->src[1]);
    while (stack.n) {
        const uop *u = stack.p[--stack.n];
        if (u == x->c.reduce || map_get(&seen, u->id, NULL)) continue;
        map_put(&seen, u->id, 1);
        vec_push(x->v->arena, &topo, u);
        for (uint32_t i = 0; i < u->nsrc && u->op != OP_INDEX; i++) vec_push(x->v->arena, &stack, u->src[i]);
    }
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *u = topo.p[i];
        if (u->op == OP_LOAD || u->op == OP_PRED_LOAD) n += 2;
        if (dt_is_float((enum dtype)u->dt) && op_is_pure((enum op)u->op) && u->op != OP_CAST)
            n += op_is_fn1((enum op)u->op) ? 12 : 1;
    }
    return n;
}

/* What results read besides factors. */
static void find_added(struct mm *x) {
    for (int i = 0; i < x->v->naccess; i++) {
        const struct access_view *s = &x->v->access[i];
        if (s->store || s == x->c.a.access || s == x->c.b.access) continue;
        bool rows = false, columns = false;
        for (int k = 0; k < x->m.n; k++) rows |= has_axis(x->v, s->mask, x->m.axis[k]);
        for (int k = 0; k < x->n.n; k++) columns |= has_axis(x->v, s->mask, x->n.axis[k]);
        bool same = s->index == x->c.store->index && s->pred == x->c.store->pred &&
                    s->node->dt == x->c.store->node->src[1]->dt && s->buf->src[0] == x->c.store->buf->src[0];
        if (same && !x->added)
            x->added = true;
        else
            x->loads |= rows && columns;
    }
}

/* Is the kernel a product that a block program is good for? */
static bool find_product(struct mm *x) {
    enum dtype a, b;
    struct view *v = x->v;
    if (!contraction_find(v, &x->c) || !may_stage(v, &x->c.a) || !may_stage(v, &x->c.b)) return false;
    if (x->c.reduce->dt != DT_F32 || !find_groups(x)) return false;
    x->bytes = RG_MAX(x->c.a.access->bytes, x->c.b.access->bytes);
    if (x->bytes > 4) return false;
    x->mma = halves(&x->c.a, &a) && halves(&x->c.b, &b) && a == b;
    x->tf32 = !x->mma && env_int(ENV_TF32) && x->c.a.root == x->c.a.access->node &&
              x->c.b.root == x->c.b.access->node;
    bool along_k = runs_along(x, x->c.a.access, &x->k) && runs_along(x, x->c.b.access, &x->k);
    x->group = (x->mma || (x->tf32 && along_k)) && v->gpu->cc / 10 == 9 && x->k.size >= 192 &&
               x->n.size >= 64 && (x->m.size >= 64 || (x->m.size > 16 && x->n.size >= 1024));
    x->mma |= x->tf32;
    x->instr = x->tf32          ? "TF32"
               : a == DT_F16    ? "F16"
               : a == DT_F8E4M3 ? "E4M3"
               : a == DT_F8E5M2 ? "E5M2"
                                : "BF16";
    if (x->mma && !x->group && x->bytes == 1) x->mma = false; /* no instruction of a warp takes them */
    x->parts = x->group && x->bytes == 1 && !env_int(ENV_F8_FAST);
    x->k_step = x->group ? 32 / x->bytes : x->tf32 ? 8 : x->mma ? 16 : 1;
    x->boxes = x->group && !is_gathered(x, &x->c.a, &x->m) && !is_gathered(x, &x->c.b, &x->n) &&
               in_pieces(x, &x->c.a, &x->m) && in_pieces(x, &x->c.b, &x->n);
    x->finish = finish_ops(x);
    x->odd = step_of(v, x->c.store, x->m.axis[x->m.n - 1]) % (16 / x->c.store->bytes);
    find_added(x);
    /* finding them costs more than FMAs save: threads read what they need */
    return x->mma || (!is_gathered(x, &x->c.a, &x->m) && !is_gathered(x, &x->c.b, &x->n));
}

/* The list of a form; NULL: it is not legal here. */
static const char *write_form(struct mm *x, const struct form *f) {
    struct mm now = *x;
    struct str s;
    str_init(&s, x->v->arena);
    now.f = *f, now.out = &s;
    int fresh_names = x->v->new_axes; /* equal forms have equal texts */
    write_product(&now);
    x->v->new_axes = fresh_names;
    return s.n < CHOOSE_TEXT && opts_legal(x->v->ir, x->v->kernel, s.p + 1, NULL) ? s.p + 1 : NULL;
}

/* ---- every form, priced ------------------------------------------------------------------------------------------- */

/* Bytes that memory moves: blocks that run at the same time, `wave` of them, read a band of rows and columns together, which
 * L2 keeps for them; what all of them read is kept for the next wave if it is small. */
static double dram_bytes(const struct mm *x, double wave, double batch) {
    const double cache = gpu_cost.l2_kept * (double)x->v->gpu->l2; /* bytes */
    double m = x->m.size, n = x->n.size, k = x->k.size, a = m * k * x->bytes, b = n * k * x->bytes;
    double out = m * n * x->c.store->bytes;
    double rows = ceil(m / x->f.t.m), columns = ceil(n / x->f.t.n);
    double near = near_of(x) > 1 ? near_of(x) : 1;
    double high = near > 1 ? RG_MIN(near, rows) : RG_MIN(ceil(wave / columns), rows);
    double wide = RG_MIN(ceil(wave / high), columns);
    double bands = ceil(rows / high), turns = ceil(columns / wide);
    /* a band of rows is read once if it stays while the columns go by; columns are read by every band */
    double reads_a = high * x->f.t.m * k * x->bytes <= cache / 2 ? 1 : turns;
    double reads_b = b <= cache ? 1 : bands;
    if (a + b <= cache) reads_a = reads_b = 1;
    return batch * (a * reads_a + b * reads_b + out);
}

/* Bytes that the other blocks of a cluster send to a block. */
static int64_t sent_bytes(const struct mm *x) {
    return (int64_t)x->f.t.m * x->f.t.n * 4 * (RG_MAX(x->f.cluster, 1) - 1) / RG_MAX(x->f.cluster, 1);
}

/* They stand beside the ring if there is room, else in the place of one of its tiles (cluster_splitk.c). -1: in neither. */
static int64_t sent_beside(const struct mm *x) {
    int64_t side = (int64_t)RG_MAX(x->f.t.m, x->f.t.n) * x->f.t.k * x->bytes * places_of(x);
    if (places_of(x) * place_bytes(x) + roles_bytes(x, 1) + sent_bytes(x) <= x->v->gpu->smem_block)
        return sent_bytes(x);
    return sent_bytes(x) <= side ? 0 : -1;
}

static int panels_of(const struct mm *x) {
    int64_t ring = places_of(x) * place_bytes(x);
    return !x->f.roles ? 0
           : ring + roles_bytes(x, 2) <= x->v->gpu->smem_block
               ? 2
               : ring + roles_bytes(x, 1) <= x->v->gpu->smem_block;
}

/* Registers of a part of the sums. */
static int part_of(const struct mm *x) { return x->parts ? width_of(x) / 2 : 0; }

/* Registers of a thread for elements that come through them on the way to a tile, because their rows begin anywhere. */
static int held_of(const struct mm *x, int threads) {
    double n = 0;
    if (x->bytes >= 4) return 0; /* copied one by one */
    if (!in_pieces(x, &x->c.a, &x->m)) n += x->f.t.m;
    if (!in_pieces(x, &x->c.b, &x->n)) n += x->f.t.n;
    return n > 0 ? (int)(n * x->f.t.k / threads) + HELD_BESIDE : 0;
}

/* Rows of this operand that begin with pieces, but not with lines of memory: what is copied of a row lies in one line more. */
static double lines_of(const struct mm *x, const struct operand_view *s, const struct group *own) {
    const struct group *other = runs_along(x, s->access, &x->k) ? own : &x->k;
    int64_t pitch = step_of(x->v, s->access, other->axis[other->n - 1]);
    return in_pieces(x, s, own) && pitch * s->access->bytes % 128 ? LINES : 1;
}

/* Rows of tiles that a block fetches from L2 for each term of a sum. What blocks next to each other ask for at about the same time is
 * fetched once, as it seems, in part: of so many blocks in the order in which they run, `high` along m and `wide` along n. */
static double rows_fetched(const struct mm *x) {
    const struct tile *t = &x->f.t;
    double rows = ceil(x->m.size / t->m), columns = ceil(x->n.size / t->n), near = near_of(x);
    double all = RG_MAX(16 / RG_MAX(x->f.cluster, 1), 1), high, wide;
    if (near > 1)
        high = RG_MIN(near, all), wide = RG_MIN(ceil(all / high), columns);
    else
        wide = RG_MIN(all, columns), high = RG_MIN(ceil(all / wide), rows);
    double m = t->m * lines_of(x, &x->c.a, &x->m), n = t->n * lines_of(x, &x->c.b, &x->n);
    return (1 - TOGETHER) * (m + n) + TOGETHER * (high * m + wide * n) / (high * wide);
}

static double blocks_of(const struct mm *x) {
    return ceil(x->m.size / x->f.t.m) * ceil(x->n.size / x->f.t.n) * batch_of(x) * RG_MAX(x->f.cluster, 1);
}

static void work_of(const struct mm *x, struct gpu_work *w) {
    const struct tile *t = &x->f.t;
    double cluster = RG_MAX(x->f.cluster, 1), steps = ceil(terms_of(x) / t->k), depth = steps * t->k,
           area = (double)t->m * t->n, batch = batch_of(x);
    int warps = t->wm * t->wn * (x->group ? 4 : 1) * RG_MAX(x->f.roles, 1);
    *w = (struct gpu_work){.blocks = blocks_of(x),
                           .threads = 32 * warps + (x->f.roles ? 128 : 0),
                           .shared = (int)(places_of(x) * place_bytes(x) + roles_bytes(x, panels_of(x)) +
                                           RG_MAX(sent_beside(x), 0)),
                           .steps = steps,
                           .ahead = RG_MAX(places_of(x) - (x->group && !x->f.roles ? 2 : 1), 1),
                           .teams = x->f.roles,
                           .panels = panels_of(x),
                           .walk = x->f.walk ? x->v->gpu->sms : 0,
                           .matrix_share = 1};
    int sums = (int)(area / (32 * warps / RG_MAX(x->f.roles, 1)));
    w->fill = rows_fetched(x) * depth * x->bytes;
    w->out = area * x->c.store->bytes / cluster * (x->odd && !x->f.roles ? 2 : 1); /* one by one */
    w->finish = area / 32 * x->finish / cluster;
    w->sent = (double)sent_bytes(x);
    w->shared_bytes = (t->m + t->n) * depth * x->bytes;
    w->issue = 4 * w->shared_bytes / 16 / 32 + 6 * area / 32 / (x->c.store->bytes <= 2 ? 2 : 1);
    if (x->group) {
        w->registers = sums + part_of(x) + 16;
        if (x->parts) w->issue += area / 32 * steps;
        w->matrix = 2 * area * depth * x->bytes / 2; /* a float takes the time of two halves */
    } else if (x->mma) {
        double wm = (double)t->m / t->wm, wn = (double)t->n / t->wn;
        w->registers = sums + (int)(wm + wn) / 2 + 48;
        w->matrix = 2 * area * depth;
        w->matrix_share = x->tf32 ? gpu_cost.mma_sync_tf32_peak : gpu_cost.mma_sync_peak;
        w->shared_bytes += warps * (wm + wn) * depth * x->bytes;
        w->issue += area * depth / (16 * 8 * x->k_step) * 1.3;
    } else {
        double wm = (double)t->m / t->wm, wn = (double)t->n / t->wn;
        w->registers = sums + (int)(wm / 4 + wn / 8) + 40;
        w->fma = area * depth;
        w->shared_bytes += warps * (wm / 16 + wn / 32) * 128 * depth;
        w->issue += area * depth / 32 + warps * (wm / 16 + wn / 32) * depth;
    }
    for (int i = 0; i < 2; i++) {
        const struct operand_view *side = i ? &x->c.b : &x->c.a;
        bool turned = x->bytes == 4 && !x->mma && runs_along(x, side->access, &x->k);
        double each = x->bytes < 4 ? ALONE : turned ? ALONE_TURNED : 0;
        double elements = depth * (i ? t->n : t->m);
        if (!in_pieces(x, side, i ? &x->n : &x->m))
            w->issue += each * elements / 32;
        else if (
            turned) /* pieces of 4 along k: of those of a warp, every other one falls on the same banks */
            w->turned += elements / 32 * RG_MAX(t->k / 8, 1);
    }
    w->registers += held_of(x, 32 * warps);
    if (x->f.roles && warps > 4)
        w->registers = x->v->gpu->regs_sm / w->threads / 8 * 8; /* a block has all (warp_specialize.c) */
    w->dram = dram_bytes(x, (double)x->v->gpu->sms * predict_gpu_resident(w, x->v->gpu), batch);
    w->own = RG_MIN(w->dram / w->blocks, w->fill);
}

struct priced {
    struct form f;
    double seconds, blocks;
    int number;
};

static int by_seconds(const void *p, const void *q) {
    const struct priced *a = p, *b = q;
    if (a->seconds != b->seconds) return a->seconds < b->seconds ? -1 : 1;
    return a->number - b->number;
}

/* Forms that are written alike are one. */
static bool is_known(const struct priced *p, uint32_t n, const struct form *f) {
    for (uint32_t i = 0; i < n; i++) {
        const struct tile *o = &p[i].f.t, *t = &f->t;
        if (o->m == t->m && o->n == t->n && o->k == t->k && o->wm == t->wm && o->wn == t->wn &&
            p[i].f.places == f->places && p[i].f.near == f->near && p[i].f.roles == f->roles &&
            p[i].f.walk == f->walk && p[i].f.cluster == f->cluster)
            return true;
    }
    return false;
}

/* How the work is dealt out: all threads alike; a warp that copies, for blocks that come and go and blocks that stay; two
 * teams that take turns; clusters. */
static const struct {
    int roles;
    bool walk;
    int cluster;
} deals[] = {{0, false, 1}, {1, true, 1}, {2, true, 1}, {1, false, 1}, {1, false, 2}, {1, false, 4}};

struct pricing {
    struct mm *x;
    const struct model *model;
    struct priced *out;
    uint32_t found, room;
};

static void price_form(struct pricing *p) {
    struct mm *x = p->x;
    struct gpu_work w;
    if (!fit_k(x) || p->found >= p->room) return;
    x->f.places = places_of(x), x->f.near = near_of(x);
    int least = x->group && !x->f.roles ? 3 : 2, sums = sums_of(x);
    if (x->f.roles && x->loads && sums > 128) return; /* no registers are left to finish them with */
    if (x->parts && (sums + part_of(x) > MOST_SUMS || x->f.roles > 1))
        return; /* two teams would not add at once */
    int end = (int)fmod(x->n.size, x->f.t.n);
    if (width_of(x) < x->f.t.n && end && end <= width_of(x))
        return; /* half of the last tile would be outside */
    if (x->f.cluster > 1 && sent_beside(x) < 0) return;
    if (x->f.cluster > 2 && blocks_of(x) > MOST_IN_FOURS) return;
    if (x->f.places < least || is_known(p->out, p->found, &x->f)) return;
    work_of(x, &w);
    if (w.registers > RG_MIN(255, x->v->gpu->regs_sm / w.threads / 8 * 8) + HELD_OVER &&
        held_of(x, w.threads))
        return;
    p->out[p->found] = (struct priced){x->f, predict_gpu(&w, x->v->gpu, p->model), w.blocks, (int)p->found};
    p->found++;
}

static uint32_t all_forms(struct mm *x, const struct model *model, struct priced *out, uint32_t room) {
    static const int places[] = {0, 2, 3, 4, 5, 6, 8}, near[] = {0, 8, 4, 1};
    struct pricing p = {x, model, out, 0, room};
    size_t n;
    const struct tile *list = tiles_of(x, &n);
    for (size_t d = 0; d < (x->boxes ? RG_COUNT(deals) : 1); d++)
        for (size_t i = 0; i < n; i++)
            for (size_t q = 0; q < RG_COUNT(places) && deals[d].roles * list[i].wm <= MOST_GROUPS; q++)
                for (size_t r = 0; r < (x->group ? RG_COUNT(near) : 1); r++) {
                    x->f = (struct form){list[i],        places[q],     near[r],
                                         deals[d].roles, deals[d].walk, deals[d].cluster};
                    price_form(&p);
                }
    if (p.found) qsort(out, p.found, sizeof *out, by_seconds);
    return p.found;
}

enum { FORMS = 2048 };

static const struct model *model_of_row(const struct view *v) {
    struct model *m = arena_new(v->arena, struct model);
    model_of_gpu(m, v->gpu);
    return m;
}

struct trial {
    struct err err;
    struct arena arena;
    const struct view *v;
    const char *opts;
};

static void lower_trial(void *arg) {
    struct trial *t = arg;
    struct ir ir;
    struct kernel k = *t->v->kernel;
    struct linear lin;
    ir_init(&ir, &t->arena);
    k.sink = ir_import(&ir, t->v->ir, k.sink);
    lower(&ir, &k, &(struct lower_opts){.opts = t->opts, .target = {.kind = TARGET_GPU, .gpu = t->v->gpu}},
          &lin);
}

/* Whether a tile is a box, or lies as an instruction wants it, is known when it is lowered. */
bool gpu_lowers(const struct view *v, const char *opts) {
    struct trial t = {.v = v, .opts = opts};
    arena_init(&t.arena, &t.err);
    bool ok = !err_guard(&t.err, lower_trial, &t);
    arena_free(&t.arena);
    return ok;
}

const char *gpu_gemm(struct view *v) {
    struct mm x = {.v = v};
    if (!find_product(&x) || x.m.size < 32 || x.n.size < 32) return "";
    struct priced *form = arena_array(v->arena, struct priced, FORMS);
    uint32_t n = all_forms(&x, model_of_row(v), form, FORMS);
    for (uint32_t i = 0, roles = 0; i < n; i++) {
        if (form[i].f.roles && roles) continue; /* once is enough to know */
        const char *text = write_form(&x, &form[i].f);
        if (!text || (form[i].f.roles && roles++ == 0 && !gpu_lowers(v, text))) continue;
        return form[i].blocks < RG_MIN(LEAST_BLOCKS, v->gpu->sms / 4) ? "" : text;
    }
    return "";
}

/* For people and tables of measurements. */
static const char *name_of(const struct mm *x, const struct form *f) {
    const struct tile *t = &f->t;
    const char *deal =
        !f->roles ? "" : arena_printf(x->v->arena, " roles %d%s", f->roles, f->walk ? " walk" : "");
    if (f->cluster > 1) deal = arena_printf(x->v->arena, "%s cluster %d", deal, f->cluster);
    return arena_printf(x->v->arena, "%s %dx%dx%d %dx%d ring %d near %d%s",
                        x->group  ? "wgmma"
                        : x->tf32 ? "tf32"
                        : x->mma  ? "mma"
                                  : "fma",
                        t->m, t->n, t->k, t->wm, t->wn, f->places, f->near, deal);
}

/* Forms before number i that differ from it in ring and order alone. */
static uint32_t alike(const struct priced *p, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < i; k++) {
        const struct form *a = &p[k].f, *b = &p[i].f;
        n += !memcmp(&a->t, &b->t, sizeof a->t) && a->roles == b->roles && a->walk == b->walk &&
             a->cluster == b->cluster;
    }
    return n;
}

/* The best first, but of those that are alike only some are among them: the model hardly tells them apart, and what else there
 * is should be tried before all of them are. */
static void mix(struct arena *a, struct priced *p, uint32_t n) {
    enum { ALIKE = 2 };
    struct priced *late = arena_array(a, struct priced, n + 1);
    uint32_t *before = arena_array(a, uint32_t, n + 1), m = 0, k = 0;
    for (uint32_t i = 0; i < n; i++) before[i] = alike(p, i);
    for (uint32_t i = 0; i < n; i++)
        if (before[i] < ALIKE)
            p[m++] = p[i];
        else
            late[k++] = p[i];
    memcpy(p + m, late, k * sizeof *p);
}

static void note_cluster(void *cx, struct sched *s, const uop *sink) {
    (void)sink;
    if (s->ws.cluster) *(int64_t *)cx = sched_axis(s, s->ws.cluster)->size;
}

void gpu_gemm_forms(struct view *v, const struct model *model, const char *like, uint32_t best, uint32_t more,
                    gpu_lists *out) {
    struct mm x = {.v = v};
    int64_t cluster = 1; /* what else forms differ in does not change the order of additions */
    if (!find_product(&x)) return;
    struct priced *form = arena_array(v->arena, struct priced, FORMS);
    uint32_t n = 0, all = all_forms(&x, model, form, FORMS);
    if (like) opts_look(v->ir, v->kernel, like, NULL, note_cluster, &cluster);
    for (uint32_t i = 0; i < all; i++)
        if (!like || form[i].f.cluster == cluster) form[n++] = form[i];
    if (!more) mix(v->arena, form, n);
    for (uint32_t i = 0, step = 1; i < n && out->n < best + more; i += step) {
        const char *text = write_form(&x, &form[i].f);
        if (text)
            vec_push(v->arena, out, ((struct gpu_list){text, name_of(&x, &form[i].f), form[i].seconds}));
        if (out->n == best && more) step = RG_MAX((n - i) / more, 1u);
    }
}

/* ---- transpositions ---------------------------------------------------------------------------------------------- */

/* A load that walks along memory with another axis than the store does. */
static const struct access_view *turned(const struct view *v, int inner, int *along) {
    const struct access_view *found = NULL;
    for (int i = 0; i < v->naccess; i++) {
        const struct access_view *s = &v->access[i];
        int64_t d = step_of(v, s, inner);
        if (s->store || d <= 1 || !view_can_name(v, s->buf)) continue;
        for (int k = 0; k < v->naxis; k++)
            if (v->axis[k].grid && k != inner && step_of(v, s, k) == 1 && v->axis[k].size >= 32)
                found = s, *along = k;
    }
    return found;
}

const char *gpu_transpose(struct view *v) {
    int inner = -1, along = -1;
    double all = 1;
    for (int i = 0; i < v->naxis; i++) {
        if (!v->axis[i].grid || v->axis[i].fixed || v->axis[i].members != 1) return "";
        if (v->axis[i].most > 1) inner = i;
        all *= v->axis[i].most;
    }
    if (v->reduces || v->scans || v->stages || inner < 0 || v->axis[inner].size < 32 || all < TURN_LEAST)
        return "";
    const struct access_view *s = turned(v, inner, &along);
    if (!s || s->bytes > 4) return "";
    const char *i = v->axis[inner].name, *j = v->axis[along].name, *x = access_name(v, s);
    const char *p[6];
    for (int k = 0; k < 6; k++) p[k] = arena_printf(v->arena, "%s_t%d", k < 3 ? i : j, k % 3);
    const char *list = arena_printf(v->arena,
                                    "PADTO(%s,64) TILE(%s,64,%s) TILE(%s,8,%s) TILE(%s,4,%s) PADTO(%s,64) "
                                    "TILE(%s,64,%s) TILE(%s,16,%s) TILE(%s,4,%s) "
                                    "THREAD(%s) THREAD(%s) THREAD(%s) THREAD(%s) ORDER(%s,%s,%s,%s) VEC(%s) "
                                    "UNROLL(%s) STAGE(%s,%s,%s+%s+%s,%s+%s+%s) "
                                    "TILE(%s.%s,%d,%s_v) VEC(%s_v)",
                                    i, i, p[0], p[0], p[1], p[1], p[2], j, j, p[3], p[3], p[4], p[4], p[5],
                                    p[3], p[0], p[4], p[1], p[3], p[0], p[4], p[1], p[2], p[5], x, i, p[0],
                                    p[1], p[2], p[3], p[4], p[5], x, p[3], RG_MIN(16 / s->bytes, 8), x, x);
    return strlen(list) < CHOOSE_TEXT && opts_legal(v->ir, v->kernel, list, NULL) ? list : "";
}
