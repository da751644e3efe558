/* builtin.c: builtins of the GPU (sort, scan, scatter in a fixed order, last writer of an index, compaction), each a sequence of
 * kernels. The kernels are source text (builtin_kernels.c) that the engine compiles and caches as its own; this file says
 * with what arguments and in which order they are launched. Step i of a sequence is a function of the launch alone, so
 * single launches and graphs with changing addresses share the code. Intermediate keys and indices (twice), digit counts,
 * and segment offsets are in the launch's scratch memory.
 * Tests: tests/unit/call.c (cuda_gpu_call_*), tests/unit/cuda_fake.c (cuda_fake_calls) */
#include "device/cuda/internal.h"

enum { THREADS = 256, WARP = 32, DIGIT = 8, DIGITS = 1 << DIGIT };
enum {
    PARTS = 1024,
    COUNTERS = 64,
    BLOCKS = 1 << 16
}; /* blocks that fill the GPU with a histogram; words before digit counts; blocks of a kernel over all elements, at most */

enum {
    SELECT_WANTED = 256, /* of a long row, a block per row .. */
    SELECT_ROWS = 32,    /* .. where there are as many, or rows are short */
    SELECT_SHORT = 1 << 16,
    SELECT_THREADS = 512, /* of a block; of many blocks fewer, .. */
    SELECT_MANY = 512,
    SELECT_LEAST = 128, /* .. twice as many as elements are wanted, .. */
    SELECT_EACH = 32    /* .. each for no more than these */
};

enum {
    LONG_RESULTS = 1 << 15, /* threads of a scatter-add, below which long segments .. */
    LONG_SEGMENT = 256,     /* .. on average have a block each */
    LONG_THREADS = 512
};

enum { LEAST_CHUNK = 64, MOST_CHUNK = 512 }; /* sorted indices whose sum is a part of a long segment */

enum {
    EXTREME_PARTS = 2048,
    LEAST_PART = 2048
}; /* blocks of a scatter to few results; indices of each, at least */

enum { SHORT_ROW = 16 }; /* indices of a row of a scatter that each result looks through */

enum builtin_kind {
    SORT,
    ARGSORT,
    TOPK,
    TOPK_INDEX,
    WINNER,
    NONZERO,
    SCAN,
    SCATTER,
    SCATTER_SUM,
    SCATTER_EXTREME
};
struct cuda_call {
    struct cuda_call *next;
    enum builtin_kind what;
    uint32_t key, element; /* bytes of a number, of what a scan carries; of an element */
    dev_fn *kernel[DEV_KERNELS];
};

/* Layout of the scratch memory. */
struct builtin_plan {
    int64_t rows, len, tiles, size, inner; /* size, inner: of a scatter */
    int64_t chunk, chunks;                 /* of a sum; one chunk: no parts */
    uint32_t passes;
    size_t key[2], pos[2], hist, state, begin, part, all;
};

static size_t piece(size_t *at, int64_t n, size_t bytes) {
    size_t here = *at;
    *at += ((size_t)n * bytes + 255) & ~(size_t)255;
    return here;
}

static bool is_scatter(enum builtin_kind w) { return w >= SCATTER; }

/* From there on: of topk_rows; of sort_block; of nonzero. */
enum { TOP_FORM = 1 << 16, BLOCK_FORM = 1 << 15, TILE_FORM = 1 << 14 };

static uint32_t top_of(const struct cuda_call *c, const int64_t *num) {
    return c->what == TOPK || c->what == TOPK_INDEX ? cuda_top_of(c->element, c->what == TOPK_INDEX, num) : 0;
}

/* One kernel: rows that shared memory holds, or the first few of each. */
static bool selects(const struct cuda_call *c, int64_t rows, const int64_t *num) {
    int64_t len = num[0], wanted = num[1];
    if (c->what >= WINNER || !len || !wanted) return false;
    if (len <= CUDA_SELECT_MOST || cuda_sorts_block(c->element, num)) return true;
    return (c->what == TOPK || c->what == TOPK_INDEX) && wanted <= SELECT_WANTED &&
           (rows >= SELECT_ROWS || len <= SELECT_SHORT);
}

static bool is_short(const struct cuda_call *c, const int64_t *num) {
    int64_t pieces = c->what == SCATTER_EXTREME ? num[0] / dev_scatter_width(num[2]) : num[0];
    return is_scatter(c->what) && pieces <= SHORT_ROW;
}

/* Few results with long segments have a block each. */
static bool has_blocks(const struct cuda_call *c, const struct builtin_plan *p) {
    int64_t wide = p->inner % (16 / c->element) == 0 ? 16 / c->element : 1;
    return p->rows * p->size * (p->inner / wide) < LONG_RESULTS && p->inner < 8 &&
           p->len / RG_MAX(p->size, 1) >= LONG_SEGMENT;
}

/* Elements of a block of a scan. */
static int64_t scan_tile(const struct cuda_call *c) { return (int64_t)cuda_scan_items(c->element) * THREADS; }

static struct builtin_plan plan_of(const struct cuda_call *c, int64_t rows, const int64_t *num) {
    struct builtin_plan p = {.rows = rows, .len = num[0], .size = 0, .inner = 1};
    uint32_t bits = c->element * 8;
    bool pairs = c->what != SORT && c->what != TOPK;
    if (c->what == WINNER || selects(c, rows, num)) return p;
    if (c->what == NONZERO) {
        p.tiles = (p.len + cuda_nonzero_tile(p.len) - 1) / cuda_nonzero_tile(p.len);
        p.hist = piece(&p.all, p.tiles > 1 ? COUNTERS : 0, 4);
        p.state = piece(&p.all, p.tiles > 1 ? rows * p.tiles : 0, 8);
        p.begin = p.all;
        return p;
    }
    if (c->what == SCAN) {
        int64_t tile = scan_tile(c), words = c->key / 4;
        p.tiles = (p.len + tile - 1) / tile;
        int64_t groups = (p.tiles + CUDA_SCAN_GROUP - 1) / CUDA_SCAN_GROUP;
        p.hist = piece(&p.all, p.tiles > 1 ? COUNTERS : 0, 4);
        p.state = piece(&p.all, p.tiles > 1 ? rows * (p.tiles + groups) * words : 0, 8);
        p.begin = p.all;
        return p;
    }
    if (is_scatter(c->what)) {
        p.size = c->what == SCATTER_SUM ? num[2] : num[1];
        p.inner = c->what == SCATTER_SUM && p.size ? num[1] / p.size : 1;
        if (c->what == SCATTER_EXTREME) {
            p.inner = dev_scatter_width(num[2]), p.len /= p.inner, p.size /= p.inner;
            if (is_short(c, num)) return p;
            p.key[0] = piece(&p.all, rows * num[1], c->key);
            p.begin = piece(&p.all, dev_scatter_forgets(num[2]) ? rows * num[1] : 0, 1);
            return p;
        }
        if (is_short(c, num)) return p;
        bits = p.size > 1 ? 64 - (uint32_t)__builtin_clzll((uint64_t)p.size - 1) : 1;
    }
    p.passes = (bits + DIGIT - 1) / DIGIT;
    p.tiles = (p.len + CUDA_SORT_TILE - 1) / CUDA_SORT_TILE;
    for (int i = 0; i < 2; i++) p.key[i] = piece(&p.all, rows * p.len, c->key);
    for (int i = 0; i < 2; i++) p.pos[i] = piece(&p.all, pairs ? rows * p.len : 0, 4);
    p.hist = piece(&p.all, p.tiles > 1 ? COUNTERS + rows * p.passes * DIGITS : 0, 4);
    p.state = piece(&p.all, p.tiles > 1 ? rows * p.tiles * DIGITS : 0, 8);
    p.begin = piece(&p.all, is_scatter(c->what) ? rows * (p.size + 1) : 0, 4);
    p.chunk = LEAST_CHUNK, p.chunks = 1;
    while (p.chunk < MOST_CHUNK && p.chunk * p.chunk < p.len) p.chunk *= 2;
    if (c->what == SCATTER_SUM && p.len >= MOST_CHUNK && !has_blocks(c, &p))
        p.chunks = (p.len + p.chunk - 1) / p.chunk;
    if (p.chunks == 1) p.chunk = p.len;
    p.part = piece(&p.all, p.chunks > 1 ? 2 * rows * p.chunks * p.inner : 0, sizeof(double));
    return p;
}

/* One for all shapes. */
static bool same_call(const struct cuda_call *a, const struct cuda_call *b) {
    return a->what == b->what && a->element == b->element && a->key == b->key &&
           !memcmp(a->kernel, b->kernel, sizeof a->kernel);
}

int cuda_builtin(struct device *dev, struct err *e, const struct dev_call *c, dev_fn *const *kernel,
                 struct dev_builtin *out) {
    struct cuda_device *d = cuda_of(dev);
    static const char *const name[] = {"sort",   "argsort", "topk",  "topk_index",
                                       "winner", "nonzero", "scan_", "scatter_"};
    struct cuda_call want = {.element = cuda_call_bytes(c->type[1])};
    bool scan = !strncmp(c->name, name[SCAN], 5);
    if (scan) want.what = SCAN, want.element = cuda_call_bytes(c->type[0]);
    while (!scan && want.what < SCATTER && strcmp(name[want.what], c->name)) want.what++;
    if (!strcmp(c->name, "scatter_sum")) want.what = SCATTER_SUM, want.element = cuda_call_bytes(c->type[0]);
    want.key = want.what < WINNER ? want.element : 4;
    if (scan) want.key = cuda_scan_bytes(want.element) * (strcmp(c->name, "scan_lse") ? 1 : 2);
    if (!strcmp(c->name, "scatter_max") || !strcmp(c->name, "scatter_min"))
        want.what = SCATTER_EXTREME, want.key = RG_MAX(want.element, 4u);
    memcpy(want.kernel, kernel, sizeof want.kernel);
    struct cuda_call *f = d->calls;
    while (f && !same_call(f, &want)) f = f->next;
    if (!f) {
        f = mem_alloc(sizeof *f);
        if (!f) return err_set(e, RG_ENOMEM, "out of memory for the function %s", c->name);
        *f = want;
        f->next = d->calls;
        d->calls = f;
    }
    struct cuda_row r = {0};
    bool block = want.what < WINNER && cuda_sorts_block(want.element, c->num);
    if (want.what < WINNER) r = cuda_row_of(c->num[0]);
    uint32_t top = top_of(&want, c->num);
    bool tiles = want.what == NONZERO && cuda_nonzero_tile(c->num[0]) > CUDA_NONZERO_TILE;
    *out = (struct dev_builtin){.fn = (dev_fn *)((uintptr_t)f | CUDA_CALL),
                                .scratch = (int64_t)plan_of(f, c->rows, c->num).all,
                                .form = top     ? TOP_FORM + top
                                        : block ? BLOCK_FORM
                                        : tiles ? TILE_FORM
                                                : r.lanes * r.each};
    return 0;
}

void cuda_calls_free(struct cuda_call *f) {
    for (struct cuda_call *next; f; f = next) {
        next = f->next;
        mem_free(f);
    }
}

const struct cuda_call *cuda_call_of(dev_fn *fn) {
    return (uintptr_t)fn & CUDA_CALL ? (const struct cuda_call *)((uintptr_t)fn & ~(uintptr_t)CUDA_CALL)
                                     : NULL;
}

/* ---- steps --------------------------------------------------------------------------------------------------- */

static void give(struct cuda_step *s, dev_fn *fn, int64_t blocks, uint32_t threads) {
    s->l.fn = fn;
    s->l.grid = (uint32_t)RG_MAX(blocks, 1);
    s->l.block = threads;
}
static void add_buf(struct cuda_step *s, const void *p) { s->buf[s->l.nbuf++] = (void *)(uintptr_t)p; }
static void add_num(struct cuda_step *s, int64_t x) { s->var[s->l.nvar++] = x; }

/* A kernel over `count` elements. */
static void give_all(struct cuda_step *s, dev_fn *fn, int64_t count) {
    give(s, fn, RG_MIN((count + THREADS - 1) / THREADS, BLOCKS), THREADS);
}

static void keys_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                      struct cuda_step *s) {
    int64_t count = p->rows * p->len;
    give_all(s, c->kernel[CUDA_KEYS], count);
    add_buf(s, l->buf[2]), add_buf(s, l->scratch + p->key[0]);
    add_num(s, count), add_num(s, p->size);
}

static void clear_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                       struct cuda_step *s) {
    int64_t count = (int64_t)(p->begin - p->hist) / 8;
    give_all(s, c->kernel[CUDA_CLEAR], count);
    add_buf(s, l->scratch + p->hist), add_num(s, count);
}

/* What is sorted: the keys of an index, or the elements of the call. */
static const void *unsorted(const struct cuda_call *c, const struct builtin_plan *p,
                            const struct dev_launch *l) {
    return is_scatter(c->what) ? l->scratch + p->key[0] : l->buf[1];
}

static void histogram_step(const struct cuda_call *c, const struct builtin_plan *p,
                           const struct dev_launch *l, struct cuda_step *s) {
    int64_t parts = RG_MAX(RG_MIN(PARTS / RG_MAX(p->rows, 1), p->tiles), 1);
    give(s, c->kernel[CUDA_HISTOGRAM], p->rows * parts, THREADS);
    add_buf(s, unsorted(c, p, l)), add_buf(s, l->scratch + p->hist);
    add_num(s, p->len), add_num(s, parts), add_num(s, p->passes);
    add_num(s, is_scatter(c->what) ? 0 : l->var[2]);
}

/* The last pass of a sort leaves the result; those of a scatter go on between the buffers of keys and of indices. */
static void pass_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                      uint32_t pass, struct cuda_step *s) {
    bool scatter = is_scatter(c->what), last = !scatter && pass + 1 == p->passes;
    int from = pass % 2, to = 1 - from;
    void *result = l->buf[0];
    give(s, c->kernel[CUDA_PASS], p->rows * p->tiles,
         (uint32_t)cuda_sort_warps(scatter ? 4 : c->element) * WARP);
    add_buf(s, pass ? l->scratch + p->key[from] : unsorted(c, p, l));
    add_buf(s, last ? result : l->scratch + p->key[to]);
    add_buf(s, l->scratch + p->hist), add_buf(s, l->scratch + p->state);
    if (c->what != SORT && c->what != TOPK) {
        add_buf(s, l->scratch + p->pos[from]);
        add_buf(s, last ? result : l->scratch + p->pos[to]);
    }
    add_num(s, p->len), add_num(s, scatter ? p->len : l->var[1]), add_num(s, pass), add_num(s, p->passes);
    add_num(s, (pass == 0) | last << 1 | (!scatter && l->var[2]) << 2);
}

static void select_step(const struct cuda_call *c, const struct dev_launch *l, struct cuda_step *s) {
    uint32_t threads = 32;
    bool top = top_of(c, l->var);
    uint32_t lanes = top ? WARP : cuda_row_of(l->var[0]).lanes, per = top ? THREADS : CUDA_ROW_THREADS;
    while (threads < SELECT_THREADS && 2 * threads < l->var[0] &&
           (l->grid < SELECT_MANY || threads < SELECT_LEAST || threads < 2 * l->var[1] ||
            SELECT_EACH * threads < l->var[0]))
        threads *= 2;
    if (cuda_sorts_block(c->element, l->var))
        give(s, c->kernel[CUDA_ROWS], l->grid, CUDA_BLOCK_WARPS * WARP);
    else if (lanes)
        give(s, c->kernel[CUDA_ROWS], ((int64_t)l->grid * lanes + per - 1) / per, per);
    else
        give(s, c->kernel[CUDA_SELECT], l->grid, threads);
    add_buf(s, l->buf[0]), add_buf(s, l->buf[1]);
    add_num(s, l->var[0]), add_num(s, l->var[1]), add_num(s, l->var[2]);
    if (lanes) add_num(s, l->grid);
}

static void begin_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                       struct cuda_step *s) {
    int64_t count = p->rows * (p->size + 1);
    give_all(s, c->kernel[CUDA_BEGIN], count);
    add_buf(s, l->scratch + p->key[p->passes % 2]), add_buf(s, l->scratch + p->begin);
    add_num(s, p->len), add_num(s, p->size), add_num(s, count);
}

static int64_t width_of(const struct cuda_call *c, const struct builtin_plan *p) {
    return c->what == SCATTER_SUM && p->inner % (16 / c->element) == 0 ? 16 / c->element : 1;
}

static void part_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                      struct cuda_step *s) {
    int64_t wide = width_of(c, p), count = 2 * p->rows * p->chunks * (p->inner / wide);
    give_all(s, c->kernel[wide > 1 ? CUDA_PART_WIDE : CUDA_PART], count);
    add_buf(s, l->scratch + p->part), add_buf(s, l->buf[1]);
    add_buf(s, l->scratch + p->pos[p->passes % 2]), add_buf(s, l->scratch + p->key[p->passes % 2]);
    add_buf(s, l->scratch + p->begin);
    add_num(s, p->len), add_num(s, p->size), add_num(s, p->inner), add_num(s, p->chunk), add_num(s, count);
}

static void fold_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                      struct cuda_step *s) {
    bool sum = c->what == SCATTER_SUM, blocks = sum && has_blocks(c, p);
    int64_t wide = width_of(c, p), count = p->rows * p->size * (p->inner / wide);
    if (blocks) {
        count = p->rows * p->size * p->inner;
        give(s, c->kernel[CUDA_LONG], RG_MIN(count, BLOCKS), LONG_THREADS);
    } else {
        give_all(s, c->kernel[wide > 1 ? CUDA_WIDE : CUDA_RESULT], count);
    }
    add_buf(s, l->buf[0]), add_buf(s, l->buf[1]);
    if (!sum) add_buf(s, l->buf[3]);
    add_buf(s, l->scratch + p->pos[p->passes % 2]), add_buf(s, l->scratch + p->begin);
    if (sum && !blocks) add_buf(s, l->scratch + p->part);
    add_num(s, p->len), add_num(s, p->size), add_num(s, sum ? p->inner : l->var[2]);
    if (sum && !blocks) add_num(s, p->chunk);
    add_num(s, count);
}

static void short_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                       struct cuda_step *s) {
    bool sum = c->what == SCATTER_SUM;
    int64_t count = p->rows * p->size * p->inner;
    give_all(s, c->kernel[c->what == SCATTER_EXTREME ? CUDA_EXTREME_SHORT : CUDA_SHORT], count);
    add_buf(s, l->buf[0]), add_buf(s, l->buf[1]);
    if (!sum) add_buf(s, l->buf[3]);
    add_buf(s, l->buf[2]);
    add_num(s, p->len), add_num(s, p->size), add_num(s, p->inner);
    if (!sum) add_num(s, dev_scatter_forgets(l->var[2]));
    add_num(s, count);
}

/* Keys of x, those of what is scattered, their numbers. */
static void extreme_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                         uint32_t i, struct cuda_step *s) {
    int64_t len = p->len * p->inner, size = p->size * p->inner, count = p->rows * (i == 1 ? len : size),
            most = RG_MAX(EXTREME_PARTS / RG_MAX(p->rows, 1), 1);
    int64_t parts = RG_MIN((len + LEAST_PART - 1) / LEAST_PART, most);
    bool few = i == 1 && p->inner == 1 && size <= CUDA_FEW && len >= 2 * size;
    if (few)
        give(s, c->kernel[CUDA_EXTREME_FEW], p->rows * parts, THREADS);
    else
        give_all(s, c->kernel[i == 0 ? CUDA_IMAGE : i == 1 ? CUDA_EXTREME : CUDA_VALUES], count);
    if (i == 2) add_buf(s, l->buf[0]);
    add_buf(s, l->scratch + p->key[0]), add_buf(s, l->scratch + p->begin);
    add_buf(s, l->buf[i == 1 ? 3 : 1]);
    if (i == 1) add_buf(s, l->buf[2]), add_num(s, len), add_num(s, size);
    if (i == 1 && !few) add_num(s, p->inner);
    add_num(s, dev_scatter_forgets(l->var[2])), add_num(s, few ? parts : count);
}

static void winner_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                        uint32_t i, struct cuda_step *s) {
    int64_t size = l->var[1], count = p->rows * (i ? p->len : size);
    give_all(s, c->kernel[i ? CUDA_PUT : CUDA_FILL], count);
    add_buf(s, l->buf[0]);
    if (i) add_buf(s, l->buf[1]), add_num(s, p->len), add_num(s, size);
    add_num(s, count);
}

static void nonzero_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                         struct cuda_step *s) {
    give(s, c->kernel[CUDA_NONZERO], p->rows * p->tiles, THREADS);
    add_buf(s, l->buf[0]), add_buf(s, l->buf[1]);
    add_buf(s, l->scratch + p->hist), add_buf(s, l->scratch + p->state);
    add_num(s, p->len), add_num(s, l->var[1]);
}

static void scan_step(const struct cuda_call *c, const struct builtin_plan *p, const struct dev_launch *l,
                      struct cuda_step *s) {
    int64_t per = p->tiles > 1 ? 0 : scan_tile(c) / RG_MAX(p->len, 1);
    give(s, c->kernel[CUDA_SCAN], per ? (p->rows + per - 1) / per : p->rows * p->tiles, THREADS);
    add_buf(s, l->buf[0]), add_buf(s, l->buf[1]);
    add_buf(s, l->scratch + p->hist), add_buf(s, l->scratch + p->state);
    add_num(s, p->len), add_num(s, p->rows), add_num(s, per);
}

uint32_t cuda_call_steps(const struct cuda_call *c, const struct dev_launch *l) {
    struct builtin_plan p = plan_of(c, l->grid, l->var);
    if (c->what == WINNER) return 2;
    if (c->what == NONZERO || c->what == SCAN) return p.tiles > 1 ? 2 : 1;
    if (is_short(c, l->var) || selects(c, l->grid, l->var)) return 1;
    if (c->what == SCATTER_EXTREME) return 3;
    return (p.tiles > 1 ? 2 : 0) + p.passes + (is_scatter(c->what) ? 3u + (p.chunks > 1) : 0);
}

void cuda_call_step(const struct cuda_call *c, const struct dev_launch *l, uint32_t i, struct cuda_step *s) {
    struct builtin_plan p = plan_of(c, l->grid, l->var);
    uint32_t keys = is_scatter(c->what), lead = keys + (p.tiles > 1 ? 2 : 0), last = lead + p.passes;
    *s = (struct cuda_step){.l = {.name = l->name}};
    s->l.buf = s->buf, s->l.var = s->var;
    if (c->what == WINNER)
        winner_step(c, &p, l, i, s);
    else if (c->what == NONZERO || c->what == SCAN)
        (p.tiles > 1 && !i ? clear_step : c->what == NONZERO ? nonzero_step : scan_step)(c, &p, l, s);
    else if (is_short(c, l->var))
        short_step(c, &p, l, s);
    else if (c->what == SCATTER_EXTREME)
        extreme_step(c, &p, l, i, s);
    else if (selects(c, l->grid, l->var))
        select_step(c, l, s);
    else if (i < keys)
        keys_step(c, &p, l, s);
    else if (i < lead)
        (i == keys ? clear_step : histogram_step)(c, &p, l, s);
    else if (i < last)
        pass_step(c, &p, l, i - lead, s);
    else if (i == last)
        begin_step(c, &p, l, s);
    else
        (i == last + 1 && p.chunks > 1 ? part_step : fold_step)(c, &p, l, s);
}
