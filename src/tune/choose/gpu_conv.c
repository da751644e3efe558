/* gpu_conv.c: opt lists of a GPU for convolutions and for their gradients, as block programs: by FMAs, of floats and
 * of halves in float, and by MMA instructions.
 *
 * The images have pairs of axes that walk over the same elements: places and taps. A tile of images in shared memory has each
 * element once, with the border that the taps reach, so that it is filled once for all taps, and a thread that has several
 * places next to each other takes what its taps share from registers.
 *
 *   results are places   (a convolution, the gradient of its images): a thread has cr channels x yr rows x xr places, the
 *                        threads of a block are channels, rows, places and images; the loop over the channels that are
 *                        summed fills tiles of `deep` channels of images and weights.
 *   results are taps     (the gradient of the weights): a thread has cr channels of the result's gradient x all taps, the threads
 *                        of a block are channels of both factors; the loop fills tiles of some rows of one image.
 *
 * All forms that come out even are priced: FMAs beside what else a thread must issue, warps that find no room in the
 * registers, that come to no whole turn of the four schedulers, blocks that come to no whole wave. The cheapest legal one is taken.
 *
 * Halves, where there are MMA instructions of warpgroups and channels are whole tiles of them: see by_groups.
 * Tests: tests/unit/gpu_conv.c, tests/unit/gpu_conv_16bit.c */
#include "tune/choose/choose.h"

#include <math.h>

#define LEAST_WORK 4e7 /* FMAs that are worth a block program, on this many SMs or more .. */
#define WORK_SMS 132.0 /* .. and as large a part of them on fewer */
enum {
    MOST_TAPS = 11,
    LEAST_SUMS = 24, /* of a thread */
    MOST_SUMS = 100,
    MOST_WRITTEN = 512, /* copies of a statement */
    LEAST_THREADS = 96, /* of a block */
    MOST_THREADS = 512,
    MOST_REGISTERS =
        118, /* that a thread is thought to need; with more it would not get along with the 128 that it is given */
    PLACES_OF_RING = 2,
    STORE_COST = 10,    /* instructions that a store is worth */
    PANEL = 64,         /* channels of halves in a row of 128 bytes, and of a group's instruction */
    GROUP_PLACES = 224, /* of a group, whose sums its threads have registers for .. */
    FILL_PLACES = 128,  /* .. beside what they load, element by element, and with room for other blocks */
    PANEL_BYTES = 128,
    MOST_GROUPS = 3, /* of a block that has all taps, rows and columns, with their sums .. */
    MOST_BESIDE = 5, /* .. or those of one row */
    MOST_TRIES = 6,
};

struct conv {
    struct view *v;
    struct contraction c;
    const struct operand_view *img, *other;
    int x, kx, y, ky;   /* axes: places and taps; y and ky -1: one row */
    int own, out, sum;  /* of images alone, of the other factor alone, summed over and no window; -1: none */
    int64_t by_x, by_y; /* places are so many taps apart */
    int64_t along, row; /* elements from one place of the images to the next, from one row to the next */
    double results;
    bool taps;                    /* are the results */
    bool pred;                    /* the images have borders */
    enum dtype dt;                /* of both */
    const char *lane[4], *reg[4]; /* names of the pieces of OUT, ROWS, PLACES, OWN */
};
enum role { OUT, ROWS, PLACES, OWN };

/* Pieces of each axis: threads and registers. */
struct form {
    int cg, cr, yl, yr, xl,
        xr;   /* channels, rows, places (xr: places that are written out where the results are taps) */
    int ol;   /* threads: images, or their channels where the results are taps */
    int deep; /* in a tile: channels, or rows where the results are taps */
    bool all; /* the taps of all rows are written out */
};

/* ---- the axes ----------------------------------------------------------------------------------------------- */

static int64_t size_of(const struct conv *x, int axis) { return axis < 0 ? 1 : x->v->axis[axis].size; }

static int64_t step(const struct conv *x, int axis) {
    int64_t d = access_stride(x->v, x->img->access, axis, 1);
    return d == NO_STRIDE ? 0 : d < 0 ? -d : d;
}

/* Axis i of the results and k that is summed over walk over the same elements of the images, and only k moves the other factor. */
static bool is_window(const struct conv *x, int i, int k) {
    const struct view *v = x->v;
    int64_t a = step(x, i), b = step(x, k);
    if (!v->axis[i].grid || !v->axis[k].reduce || has_axis(v, x->other->mask, i) ||
        !has_axis(v, x->other->mask, k))
        return false;
    if (!a || !b || (a % b && b % a) || a > 2 * b || b > 2 * a) return false;
    return a > b ? size_of(x, k) > a / b : size_of(x, i) > b / a; /* they overlap */
}

static bool find_windows(struct conv *x) {
    int pairs = 0, at[2][2];
    for (int i = 0; i < x->v->naxis; i++)
        for (int k = 0; k < x->v->naxis; k++) {
            if (!is_window(x, i, k)) continue;
            if (pairs == 2) return false;
            at[pairs][0] = i, at[pairs++][1] = k;
        }
    if (!pairs) return false;
    int first = pairs == 2 && step(x, at[1][0]) < step(x, at[0][0]);
    x->taps = size_of(x, at[first][0]) < size_of(x, at[first][1]);
    for (int i = 0; i < pairs; i++) {
        int p = at[i][x->taps], t = at[i][!x->taps];
        if (size_of(x, t) > MOST_TAPS || size_of(x, t) >= size_of(x, p)) return false;
        *(i == first ? &x->x : &x->y) = p, *(i == first ? &x->kx : &x->ky) = t;
    }
    return RG_MIN(step(x, x->x), step(x, x->kx)) == 1;
}

/* The largest axis takes the role; of those that are summed over there may be one. */
static void take_role(const struct conv *x, int *role, int i) {
    if (*role < 0 || size_of(x, i) > size_of(x, *role)) *role = i;
}

static bool find_roles(struct conv *x) {
    const struct view *v = x->v;
    x->own = x->out = x->sum = -1;
    for (int i = 0; i < v->naxis; i++) {
        const struct axis_view *a = &v->axis[i];
        bool img = has_axis(v, x->img->mask, i), other = has_axis(v, x->other->mask, i);
        if (a->size < 0 || a->fixed || a->scan || a->members != 1 || (!a->grid && !a->reduce)) return false;
        if (i == x->x || i == x->kx || i == x->y || i == x->ky || a->size == 1) continue;
        if (a->reduce && x->sum >= 0) return false;
        if (a->reduce) x->sum = i;
        if (a->grid && img && !other) take_role(x, &x->own, i);
        if (a->grid && other && !img) take_role(x, &x->out, i);
    }
    return x->out >= 0 && (x->own >= 0 || x->dt != DT_F32) && (x->sum >= 0 || !x->taps || x->y >= 0);
}

static int64_t apart(const struct conv *x, int place, int tap) {
    return tap < 0 ? 1 : RG_MAX(step(x, place) / RG_MAX(step(x, tap), 1), 1);
}

static void measure(struct conv *x) {
    x->pred = x->img->access->pred;
    x->by_x = apart(x, x->x, x->kx), x->by_y = apart(x, x->y, x->ky);
    x->along = step(x, x->x), x->row = x->y < 0 ? 0 : step(x, x->y);
}

static bool find_conv(struct conv *x) {
    struct view *v = x->v;
    if (!contraction_find(v, &x->c) || !may_stage(v, &x->c.a) || !may_stage(v, &x->c.b)) return false;
    if (x->c.reduce->dt != DT_F32 || x->c.a.access->buf == x->c.b.access->buf) return false;
    x->dt = (enum dtype)x->c.a.access->node->dt;
    if ((enum dtype)x->c.b.access->node->dt != x->dt) return false;
    if (x->dt != DT_F32 && x->dt != DT_BF16 && x->dt != DT_F16) return false;
    for (int i = 0; i < 2; i++) {
        x->img = i ? &x->c.b : &x->c.a, x->other = i ? &x->c.a : &x->c.b;
        x->x = x->kx = x->y = x->ky = -1;
        if (find_windows(x) && find_roles(x)) return measure(x), !x->other->access->pred;
    }
    return false;
}

/* ---- what a form costs ------------------------------------------------------------------------------------------ */

/* Of a thread in one turn of the loop that fills tiles: FMAs, all that it issues, passes through shared memory. */
struct work {
    double sums, issued, passes;
    double sectors;              /* of 32 bytes that its block asks memory for in one turn */
    double turns, blocks, after; /* after: what storing the results costs, once */
    int64_t threads, regs, shared;
};

static bool is_lanes(int n) { return n == 2 || n == 4 || n == 8; }

/* Elements that a window of n places covers, along a row or down a column. */
static int64_t wide_of(const struct conv *x, int64_t n) { return (n - 1) * x->by_x + size_of(x, x->kx); }
static int64_t high_of(const struct conv *x, int64_t n) { return (n - 1) * x->by_y + size_of(x, x->ky); }

/* Rows of the images come in pieces of 16 bytes. */
static bool is_wide(const struct conv *x, int64_t places) {
    return !x->pred && wide_of(x, places) % 4 == 0 && x->row % 4 == 0 && places * x->along % 4 == 0;
}

/* Loads from shared memory, of n elements that begin at multiples of `at`. */
static double loads(int64_t n, int64_t at) {
    return (double)ceil_div(n, at % 4 == 0 ? 4 : at % 2 == 0 ? 2 : 1);
}

/* Instructions for copies of n elements by all threads; of more than 16 rounds each finds its place anew, else the places are
 * kept in registers. */
static double copies(struct work *w, int64_t n, bool wide, bool pred) {
    int64_t rounds = ceil_div(wide ? n / 4 : n, w->threads);
    w->regs += rounds > 16 ? 2 : pred ? rounds * 3 / 2 : rounds;
    return (double)rounds * (rounds > 16 ? 30 : pred ? 5 : 3);
}

/* Pieces of memory, n rows of so many elements that begin anywhere. */
static double sectors_of(int64_t n, int64_t row) { return (double)(n * ceil_div(row * 4 + 28, 32)); }

static int64_t bytes_of(int64_t a, int64_t b) { return (a + b) * 9 / 8 * 4 * PLACES_OF_RING; }

static void work_of_places(const struct conv *x, const struct form *f, struct work *w) {
    int64_t kx = size_of(x, x->kx), ky = size_of(x, x->ky), wide = wide_of(x, f->xr);
    int64_t high = f->all ? high_of(x, f->yr) : f->yr * ky;
    int64_t img = f->ol * f->deep * high_of(x, f->yl * f->yr) * wide_of(x, f->xl * f->xr);
    int64_t other = f->deep * ky * kx * f->cg * f->cr;
    double near = (double)high * loads(wide, f->xl == 1 ? 4 : f->xr * x->along);
    double weights = (double)(kx * ky) * loads(f->cr, f->cr);
    w->threads = f->cg * f->yl * f->xl * f->ol;
    w->regs = f->cr * f->yr * f->xr + wide + f->cr + 30;
    w->sums = (double)(f->cr * f->yr * f->xr * kx * ky * f->deep);
    w->issued = w->sums + f->deep * (near + weights + 9 * (f->all ? 1 : (double)ky)) + 40 +
                copies(w, img, is_wide(x, f->xl * f->xr), x->pred) + copies(w, other, false, false);
    w->passes = f->deep * ((double)(high * wide) + 1.5 * weights);
    w->turns = (double)size_of(x, x->sum) / f->deep;
    w->after = STORE_COST * f->cr * f->yr * (is_lanes(f->xr) ? loads(f->xr, f->xr) : f->xr);
    w->shared = bytes_of(img, other) / (f->deep == size_of(x, x->sum) ? PLACES_OF_RING : 1);
    int64_t cols = wide_of(x, f->xl * f->xr);
    w->sectors = sectors_of(img / cols, cols) + sectors_of(f->cg * f->cr, f->deep * ky * kx);
    w->blocks = x->results / (double)(f->cg * f->cr * f->yl * f->yr * f->xl * f->xr * f->ol);
}

static void work_of_taps(const struct conv *x, const struct form *f, struct work *w) {
    int64_t taps = size_of(x, x->kx) * size_of(x, x->ky), cols = size_of(x, x->x);
    int64_t wide = wide_of(x, f->xr), img = high_of(x, f->deep) * f->ol * wide_of(x, cols);
    int64_t other = f->deep * f->cg * f->cr * cols;
    double steps = (double)(f->deep * cols / f->xr), near = (double)size_of(x, x->ky) * loads(wide, f->xr),
           far = f->cr * loads(f->xr, f->xr);
    w->threads = f->cg * f->ol;
    w->regs = f->cr * taps + wide + f->xr + (x->sum >= 0 && f->deep < size_of(x, x->y) ? 30 : 22);
    w->sums = (double)(f->cr * taps * f->deep * cols);
    w->issued = w->sums + steps * (near + far + 10) + 40 + copies(w, img, is_wide(x, cols), x->pred) +
                copies(w, other, cols % 4 == 0, false);
    w->passes = steps * ((double)(size_of(x, x->ky) * wide) + 1.5 * far);
    w->turns = (double)size_of(x, x->sum) * (double)size_of(x, x->y) / f->deep;
    w->after = STORE_COST * f->cr * (double)taps;
    w->shared = bytes_of(img, other);
    w->sectors = sectors_of(f->ol, img / f->ol) + sectors_of(f->cg * f->cr, f->deep * cols);
    w->blocks = x->results / (double)(f->cg * f->cr * f->ol * taps);
}

/* Cycles in which a SM that has b blocks at once runs them. Schedulers with few warps wait for memory, and shared memory
 * is the slower the more it is asked for. */
static double round_of(const struct work *w, int64_t b) {
    int64_t warps = ceil_div(b * ceil_div(w->threads, 32), 4);
    double one =
        (double)warps *
        (RG_MAX(w->issued + gpu_cost.conv_pass_issue * w->passes, 4 * w->passes) * w->turns + w->after);
    one += gpu_cost.conv_sector * (double)b * w->sectors * w->turns;
    return one * (warps < 4 ? gpu_cost.conv_few_warps[warps] : 1) * (b == 1 ? gpu_cost.conv_one_block : 1) +
           gpu_cost.conv_start;
}

/* Registers that the compiler takes for a thread: where several blocks of threads with many sums fit it is told (render/gpu.c), else it
 * takes more than are needed. 0: more than it may. */
static int64_t registers(const struct gpu_spec *g, const struct work *w, int64_t sums) {
    bool told = sums >= 40 && sums <= 80 && g->regs_sm / (128 * ceil_div(w->threads, 32) * 32) >= 2;
    if (told) return w->regs > MOST_REGISTERS ? 0 : 128;
    return ceil_div(w->regs + w->regs * 3 / 10, 8) * 8;
}

/* Cycles of the whole kernel; 0: a block does not fit. */
static double cycles(const struct conv *x, const struct form *f) {
    struct work w;
    (x->taps ? work_of_taps : work_of_places)(x, f, &w);
    int64_t sums = f->cr * (x->taps ? size_of(x, x->kx) * size_of(x, x->ky) : f->yr * f->xr);
    int64_t regs = registers(x->v->gpu, &w, sums), warps = ceil_div(w.threads, 32);
    if (!regs || w.blocks < x->v->gpu->sms / 2) return 0;
    int64_t fit = RG_MIN(x->v->gpu->regs_sm / (warps * 32 * regs),
                         x->v->gpu->smem_block / (w.shared + x->v->gpu->smem_reserved));
    fit = RG_MIN(fit, x->v->gpu->max_threads_sm / 32 / warps);
    if (fit < 1) return 0;
    int64_t each = ceil_div((int64_t)w.blocks, x->v->gpu->sms);
    return (double)(each / fit) * round_of(&w, fit) + (each % fit ? round_of(&w, each % fit) : 0);
}

/* ---- forms ---------------------------------------------------------------------------------------------------- */

/* The best few, the best first. */
struct best {
    struct form f[MOST_TRIES];
    double time[MOST_TRIES];
    int n;
};

static void offer(const struct conv *x, struct best *b, const struct form *f) {
    double t = cycles(x, f);
    int at = b->n;
    if (t <= 0 || (at == MOST_TRIES && t >= b->time[at - 1])) return;
    if (at == MOST_TRIES) at--;
    for (; at > 0 && b->time[at - 1] > t; at--) b->f[at] = b->f[at - 1], b->time[at] = b->time[at - 1];
    b->f[at] = *f, b->time[at] = t, b->n = RG_MIN(b->n + 1, MOST_TRIES);
}

/* The next divisor of n after d, up to `most`; 0: there is none. */
static int divisor_after(int64_t n, int d, int most) {
    for (d++; d <= most && d <= n; d++)
        if (n % d == 0) return d;
    return 0;
}
#define DIVISORS(d, n, most) (int d = 1; d; d = divisor_after(n, d, most))

static void offer_depths(const struct conv *x, struct best *b, struct form *f) {
    int64_t ky = size_of(x, x->ky),
            copies = f->cr * f->yr * (is_lanes(f->xr) ? 1 : f->xr) * size_of(x, x->kx);
    for
        DIVISORS(deep, size_of(x, x->sum), 16)
    for (int all = 0; all < 2 && (deep > 1 || x->sum < 0); all++) {
        f->deep = deep, f->all = all && ky > 1;
        if (all <= f->all && copies * (all ? ky : 1) <= MOST_WRITTEN) offer(x, b, f);
    }
}

static void offer_blocks(const struct conv *x, struct best *b, struct form *f) {
    int64_t ny = size_of(x, x->y) / f->yr, nx = size_of(x, x->x) / f->xr, no = size_of(x, x->own);
    for
        DIVISORS(xl, nx, 16)
        for
            DIVISORS(yl, ny, 32)
            for
                DIVISORS(ol, no, 8) {
                    int threads = f->cg * xl * yl * ol;
                    if (threads < LEAST_THREADS || threads > MOST_THREADS) continue;
                    f->xl = xl, f->yl = yl, f->ol = ol;
                    offer_depths(x, b, f);
                }
}

static void forms_of_places(const struct conv *x, struct best *b) {
    int64_t out = size_of(x, x->out);
    for (int cr = 4; cr <= 8; cr += 4)
        for
            DIVISORS(cg, out % cr ? 0 : out / cr, 64 / cr)
            for
                DIVISORS(xr, size_of(x, x->x), 20)
                for
                    DIVISORS(yr, size_of(x, x->y), 5) {
                        struct form f = {.cr = cr, .cg = cg, .xr = xr, .yr = yr};
                        if (out % cr == 0 && cr * xr * yr >= LEAST_SUMS && cr * xr * yr <= MOST_SUMS)
                            offer_blocks(x, b, &f);
                    }
}

static void forms_of_taps(const struct conv *x, struct best *b) {
    int64_t out = size_of(x, x->out), taps = size_of(x, x->kx) * size_of(x, x->ky);
    for
        DIVISORS(cr, out, 16)
        for
            DIVISORS(cg, out / cr, 32)
            for
                DIVISORS(ol, size_of(x, x->own), 64)
                for
                    DIVISORS(deep, size_of(x, x->y), 8)
                    for
                        DIVISORS(xr, size_of(x, x->x), 8) {
                            struct form f = {.cr = cr,
                                             .cg = cg,
                                             .ol = ol,
                                             .deep = deep,
                                             .xr = xr,
                                             .yr = 1,
                                             .xl = 1,
                                             .yl = 1};
                            int threads = cg * ol;
                            if (x->sum < 0 && deep == size_of(x, x->y)) continue;
                            if (threads < LEAST_THREADS || threads > MOST_THREADS || cr * taps < LEAST_SUMS ||
                                cr * taps > MOST_SUMS || cr * taps * xr > MOST_WRITTEN)
                                continue;
                            offer(x, b, &f);
                        }
}

/* ---- the list ------------------------------------------------------------------------------------------------ */

static const char *name_of(const struct conv *x, int axis) { return axis < 0 ? "" : x->v->axis[axis].name; }

/* Cuts an axis into what the grid keeps, threads and registers. */
static void cut(struct conv *x, struct str *s, enum role role, int axis, int lanes, int regs) {
    const char *name = name_of(x, axis);
    x->lane[role] = x->reg[role] = "";
    if (axis < 0 || lanes * regs == 1) return;
    if (lanes * regs < size_of(x, axis)) {
        const char *inner = view_new_axis(x->v, name, "t");
        str_printf(s, " TILE(%s,%d,%s)", name, lanes * regs, inner);
        name = inner;
    }
    if (lanes > 1) x->lane[role] = name;
    if (regs == 1) return;
    if (lanes > 1) {
        const char *inner = view_new_axis(x->v, name, "r");
        str_printf(s, " TILE(%s,%d,%s)", name, regs, inner);
        name = inner;
    }
    x->reg[role] = name;
}

/* A dimension of a tile: the names that there are, as one window. */
static const char *window(const struct conv *x, const char *a, const char *b, const char *c) {
    const char *all = "", *name[3] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (*name[i]) all = *all ? arena_printf(x->v->arena, "%s+%s", all, name[i]) : name[i];
    return all;
}

/* wide: whole rows of memory, in pieces of 16 bytes along the window `along`. */
static void stage(struct conv *x, struct str *s, const struct operand_view *side, const char *at,
                  const char *dims, const char *along, bool wide) {
    const char *name = access_name(x->v, side->access);
    str_printf(s, " STAGE(%s,%s,%s)", name, at, dims);
    if (wide)
        str_printf(s, " TILE(%s.%.*s,4,%s_v) VEC(%s_v)", name, (int)strcspn(along, "+"), along, name, name);
}

/* Halves would go through registers, which costs more than it hides. */
static void ring(struct conv *x, struct str *s, const char *at) {
    for (int i = 0; i < 2 && x->dt == DT_F32; i++)
        str_printf(s, " PIPE(%s,%s,%d)", access_name(x->v, i ? x->other->access : x->img->access), at,
                   PLACES_OF_RING);
}

static void mark(struct conv *x, struct str *s, bool vec) {
    const char *lane[4] = {x->lane[x->taps ? OUT : OWN], x->lane[x->taps ? OWN : OUT], x->lane[ROWS],
                           x->lane[PLACES]};
    for (int i = 0; i < 4; i++)
        if (*lane[i]) str_printf(s, " THREAD(%s)", lane[i]);
    for (int i = 0; i < 4; i++)
        if (*x->reg[i]) str_printf(s, " %s(%s)", i == PLACES && vec ? "VEC" : "REG", x->reg[i]);
    const char *all = list_of(x->v, lane, 4);
    if (strchr(all, ',')) str_printf(s, " ORDER(%s)", all);
}

/* The innermost axis of which the grid keeps something; "" if there is none. */
static const char *last_of_grid(const struct conv *x, const struct form *f) {
    for (int i = x->v->naxis - 1; i >= 0; i--) {
        int64_t block = i == x->out   ? f->cg * f->cr
                        : i == x->y   ? f->yl * f->yr
                        : i == x->x   ? f->xl * f->xr
                        : i == x->own ? f->ol
                                      : 1;
        if (x->v->axis[i].grid && block < size_of(x, i)) return name_of(x, i);
    }
    return "";
}

/* Where all channels fit a tile there is no loop over them, and nothing to fill ahead. */
static void write_places(struct conv *x, const struct form *f, struct str *s) {
    struct view *v = x->v;
    bool whole = f->deep == size_of(x, x->sum);
    const char *sum = name_of(x, x->sum), *at = whole ? last_of_grid(x, f) : sum,
               *deep = whole ? sum : view_new_axis(v, at, "t"), *kx = name_of(x, x->kx),
               *ky = name_of(x, x->ky);
    cut(x, s, OUT, x->out, f->cg, f->cr), cut(x, s, ROWS, x->y, f->yl, f->yr);
    cut(x, s, PLACES, x->x, f->xl, f->xr), cut(x, s, OWN, x->own, f->ol, 1);
    if (!whole) str_printf(s, " TILE(%s,%d,%s)", at, f->deep, deep);
    mark(x, s, is_lanes(f->xr));
    str_printf(s, " UNROLL(%s)", kx);
    if (f->all) str_printf(s, " UNROLL(%s)", ky);
    const char *rows = window(x, x->lane[ROWS], x->reg[ROWS], ky);
    const char *cols = window(x, x->lane[PLACES], x->reg[PLACES], kx);
    stage(x, s, x->img, at, LIST(v, x->lane[OWN], deep, rows, cols), cols, is_wide(x, f->xl * f->xr));
    stage(x, s, x->other, at, LIST(v, deep, ky, kx, window(x, x->lane[OUT], x->reg[OUT], "")), "", false);
    if (!whole) ring(x, s, at);
}

static void write_taps(struct conv *x, const struct form *f, struct str *s) {
    struct view *v = x->v;
    const char *at = name_of(x, x->sum), *rows = name_of(x, x->y), *cols = name_of(x, x->x), *more = "";
    cut(x, s, OUT, x->out, f->cg, f->cr), cut(x, s, OWN, x->own, f->ol, 1);
    x->lane[ROWS] = x->lane[PLACES] = "", x->reg[ROWS] = name_of(x, x->ky),
    x->reg[PLACES] = name_of(x, x->kx);
    if (x->y >= 0 && f->deep < size_of(x, x->y)) {
        at = rows, rows = f->deep > 1 ? view_new_axis(v, at, "t") : "";
        if (f->deep > 1) str_printf(s, " TILE(%s,%d,%s)", at, f->deep, rows);
    }
    if (f->xr < size_of(x, x->x)) {
        more = view_new_axis(v, cols, "t");
        str_printf(s, " TILE(%s,%d,%s)", cols, f->xr, more);
    }
    mark(x, s, false);
    str_printf(s, " UNROLL(%s)", *more ? more : cols);
    const char *along = window(x, cols, more, "");
    stage(x, s, x->img, at,
          LIST(v, window(x, rows, x->reg[ROWS], ""), x->lane[OWN], window(x, along, x->reg[PLACES], "")),
          cols, is_wide(x, size_of(x, x->x)));
    stage(x, s, x->other, at, LIST(v, rows, window(x, x->lane[OUT], x->reg[OUT], ""), along), cols,
          size_of(x, x->x) % 4 == 0);
    ring(x, s, at);
}

/* ---- halves ----------------------------------------------------------------------------------------------------- */

/* Places of a row in one instruction: the widest of those by which fewest are added to a row. */
static int places_of(const struct conv *x) {
    static const int wide[] = {64, 56, 32, 16};
    int64_t n = size_of(x, x->x), least = 0;
    int best = 0;
    for (size_t i = 0; i < RG_COUNT(wide); i++) {
        int64_t all = ceil_div(n, wide[i]) * wide[i];
        if (!best || all < least) best = wide[i], least = all;
    }
    return best;
}

/* Rows of a block: as many as there are registers for. */
static int rows_of(const struct conv *x, int places, int all) {
    int most = 1;
    for
        DIVISORS(d, size_of(x, x->y), all / places)
    most = d;
    return most;
}

/* The axis, or its innermost n values. */
static const char *inner_of(struct conv *x, struct str *s, int axis, int64_t n) {
    if (size_of(x, axis) <= n) return name_of(x, axis);
    const char *inner = view_new_axis(x->v, name_of(x, axis), "t");
    str_printf(s, " TILE(%s,%d,%s)", name_of(x, axis), (int)n, inner);
    return inner;
}

/* A tile of 64 channels for each place is filled by squares of 8 places x 8 channels that are turned in registers. */
static void turn_tile(struct str *s, const char *tile, const char *channels, const char *places) {
    str_printf(s, " TILE(%s.%s,8,%s_v) VEC(%s_v)", tile, channels, tile, tile);
    str_printf(s, " TILE(%s.%s,8,%s_p) UNROLL(%s_p)", tile, places, tile, tile);
}

/* Elements of a row of a tile, which begins and ends at multiples of 16 bytes. */
static int64_t row_of_tile(const struct conv *x, int64_t places) {
    return ceil_div(places + 2 * (size_of(x, x->kx) - 1), 8) * 8;
}

struct halves {
    int places, rows;
    bool pieces; /* borders and rows are such that 8 places next to each other are loaded at once */
    int ring; /* tiles that a warpgroup fills ahead, while two others multiply; 0: each block fills its own */
};

static void write_halves(struct conv *x, struct str *s, const struct halves *h) {
    struct view *v = x->v;
    struct form f = {.cg = 1, .cr = PANEL, .yl = 1, .yr = h->rows, .xl = 1, .xr = h->places, .ol = 1};
    const char *img = access_name(v, x->img->access), *kx = name_of(x, x->kx), *ky = name_of(x, x->ky);
    const char *at = size_of(x, x->sum) > PANEL ? name_of(x, x->sum) : last_of_grid(x, &f);
    if (size_of(x, x->x) % h->places) str_printf(s, " PADTO(%s,%d)", name_of(x, x->x), h->places);
    const char *out = inner_of(x, s, x->out, PANEL), *sum = inner_of(x, s, x->sum, PANEL);
    const char *cols = inner_of(x, s, x->x, h->places),
               *high = h->rows > 1 ? inner_of(x, s, x->y, h->rows) : "";
    if (h->rows > 1) str_printf(s, " REG(%s)", high);
    str_printf(s, " TC(%s,%s,%s,WR%s_%d)", out, cols, sum, x->dt == DT_F16 ? "F16" : "BF16", h->places);
    str_printf(s, " STAGE(%s,%s,%s,%s,%s)", img, at, window(x, high, ky, ""), window(x, cols, kx, ""), sum);
    if (h->pieces)
        turn_tile(s, img, sum, cols);
    else
        str_printf(s, " TILE(%s.%s,8,%s_v) VEC(%s_v)", img, sum, img, img);
    if (h->ring)
        str_printf(s, " PIPE(%s,%s,%d) WARP_SPECIALIZE(2) PERSISTENT(%d)", img, at, h->ring, x->v->gpu->sms);
}

/* A tile of images lies in shared memory with its channels side by side, each place a row of 128 bytes: places and taps are
 * rows of it, and a tap is nothing but another row to begin with, so that the tile is filled once for all taps. Weights come straight from
 * memory to registers (schedule/repack.c). A block for each SM walks over the tiles: one warpgroup fills, two multiply.
 * Where there is no room for that, or tiles are not turned by squares, blocks fill and multiply in turns. */
static const char *by_groups(struct conv *x) {
    int places = places_of(x), rows = rows_of(x, places, GROUP_PLACES);
    if (x->y < 0 || x->sum < 0 || x->by_x != 1 || x->by_y != 1) return "";
    if (size_of(x, x->out) % PANEL || size_of(x, x->sum) % PANEL) return "";
    int64_t tile = (rows + size_of(x, x->ky) - 1) * row_of_tile(x, places) * PANEL_BYTES;
    int ring = (int)RG_MIN(x->v->gpu->smem_block / tile, 3);
    const struct halves form[] = {{places, rows, true, ring},
                                  {places, rows, true, 0},
                                  {places, rows_of(x, places, FILL_PLACES), false, 0}};
    for (size_t i = ring < 2; i < RG_COUNT(form); i++) {
        struct str s;
        str_init(&s, x->v->arena);
        write_halves(x, &s, &form[i]);
        if (s.n < CHOOSE_TEXT && opts_legal(x->v->ir, x->v->kernel, s.p + 1, NULL) &&
            gpu_lowers(x->v, s.p + 1))
            return s.p + 1;
    }
    return "";
}

static int64_t bytes_of_taps(const struct conv *x, int rows, bool all) {
    int64_t wide = row_of_tile(x, size_of(x, x->x)), high = rows + (all ? size_of(x, x->ky) - 1 : 0);
    return (high * wide + rows * size_of(x, x->x)) * PANEL_BYTES;
}

/* all: the taps of all rows are a block's, else each row has its own. */
static void write_half_taps(struct conv *x, struct str *s, int rows, bool all, bool along) {
    struct view *v = x->v;
    const char *img = access_name(v, x->img->access), *other = access_name(v, x->other->access);
    const char *kx = name_of(x, x->kx), *ky = all ? name_of(x, x->ky) : "", *cols = name_of(x, x->x);
    const char *out = inner_of(x, s, x->out, PANEL), *own = inner_of(x, s, x->own, PANEL);
    const char *high = inner_of(x, s, x->y, rows), *at = name_of(x, x->y);
    if (*ky) str_printf(s, " THREAD(%s)", ky);
    if (along) str_printf(s, " REG(%s)", kx);
    str_printf(s, " UNROLL(%s) TC(%s,%s,%s,W%s_%d)", high, out, own, cols, x->dt == DT_F16 ? "F16" : "BF16",
               PANEL);
    str_printf(s, " STAGE(%s,%s,%s,%s,%s)", img, at, window(x, high, ky, ""),
               window(x, cols, along ? kx : "", ""), own);
    str_printf(s, " STAGE(%s,%s,%s,%s,%s)", other, at, high, cols, out);
    turn_tile(s, img, own, cols), turn_tile(s, other, out, cols);
}

/* The gradient of the weights: both tiles lie with 64 channels of a place side by side, places are the sum's. A tap is another row of
 * the images' tile to begin with; those of one row are one wide instruction, those of different rows different warpgroups. */
static const char *taps_by_groups(struct conv *x) {
    int64_t kx = size_of(x, x->kx), ky = size_of(x, x->ky);
    if (x->y < 0 || x->own < 0 || x->by_x != 1 || x->by_y != 1 || size_of(x, x->x) % 8) return "";
    if (size_of(x, x->out) % PANEL || size_of(x, x->own) % PANEL) return "";
    bool all = ky <= MOST_GROUPS && kx <= MOST_GROUPS, along = kx <= MOST_BESIDE;
    for (int rows = 4; rows >= 2; rows -= 2) {
        struct str s;
        if (size_of(x, x->y) % rows || bytes_of_taps(x, rows, all) > x->v->gpu->smem_block) continue;
        str_init(&s, x->v->arena);
        write_half_taps(x, &s, rows, all, along);
        if (s.n < CHOOSE_TEXT && opts_legal(x->v->ir, x->v->kernel, s.p + 1, NULL) &&
            gpu_lowers(x->v, s.p + 1))
            return s.p + 1;
    }
    return "";
}

const char *gpu_conv(struct view *v) {
    struct conv x = {.v = v};
    struct best b = {.n = 0};
    if (!find_conv(&x)) return "";
    x.results = 1;
    for (int i = 0; i < v->naxis; i++)
        if (v->axis[i].grid) x.results *= (double)v->axis[i].size;
    if (x.results * x.c.depth < LEAST_WORK * RG_MIN(v->gpu->sms / WORK_SMS, 1)) return "";
    bool groups = x.dt != DT_F32 && v->gpu->cc / 10 == 9;
    const char *list = !groups ? "" : x.taps ? taps_by_groups(&x) : by_groups(&x);
    if (*list) return list;
    (x.taps ? forms_of_taps : forms_of_places)(&x, &b);
    for (int i = 0; i < b.n; i++) {
        struct str s;
        str_init(&s, v->arena);
        (x.taps ? write_taps : write_places)(&x, &b.f[i], &s);
        if (s.n < CHOOSE_TEXT && opts_legal(v->ir, v->kernel, s.p + 1, NULL)) return s.p + 1;
    }
    return "";
}
