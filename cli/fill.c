/* fill.c: the data that the kernels of a .uop file run on.
 *
 * A file says in words what its buffers hold (`data x = uniform -1 1`), and this file turns that into
 * bytes that are the same in every process: element i of buffer NAME depends on NAME, i and the words,
 * and on nothing else. Buffers belong to the file, not to a kernel: PARAMs of the same name in several
 * kernels are one buffer, which is how a second kernel reads what the first wrote. docs/cli.md describes
 * the words.
 * Tests: tests/unit/golden.c, tests/cli/opt.sh */
#include "cli.h"
#include "ref/ref.h"

#include <float.h>
#include <math.h>

enum { RED_ZONE = 4096, RED_BYTE = 0xA5, MAX_BUFFERS = 1 << 16 };

/* clang-format off */
/*    word     least  most numbers  what it means */
#define FILLS(X)                                                                                   \
    X(uniform, 2,     2,            "LO HI: evenly spread, HI excluded")                           \
    X(normal,  2,     2,            "MEAN STD")                                                    \
    X(randint, 2,     2,            "LO HI: whole numbers, HI excluded")                           \
    X(zeros,   0,     0,            "all 0")                                                       \
    X(ones,    0,     0,            "all 1")                                                       \
    X(iota,    0,     0,            "0 1 2 ..")                                                    \
    X(values,  1,     UINT32_MAX,   "V0 V1 ..: repeated to the end")                               \
    X(tasks,   2,     UINT32_MAX,   "BLOCK N0 N1 ..: (tensor, start, length) of every block")      \
    X(params,  1,     UINT32_MAX,   "N0 N1 ..: sizes of the buffers of a PARAMS")
/* clang-format on */
enum fill {
#define X(name, least, most, help) FILL_##name,
    FILLS(X)
#undef X
        FILL_COUNT
};
static const struct {
    const char *name, *help;
    uint32_t least, most;
} fills[] = {
#define X(name, least, most, help) {#name, help, least, most},
    FILLS(X)
#undef X
};

struct binder {
    struct ir *ir;
    struct err *err;
    const char *file;
    const struct program *prog;
    VEC(struct io_buf) buf;
};

/* ---- declarations ---------------------------------------------------------------------------------- */

static enum fill fill_of(const struct data_decl *d) {
    for (int i = 0; i < FILL_COUNT; i++)
        if (!strcmp(d->fill, fills[i].name)) return (enum fill)i;
    return FILL_COUNT;
}

static void check_decl(struct binder *b, const struct data_decl *d) {
    enum fill f = fill_of(d);
    if (f == FILL_COUNT) {
        struct str s;
        str_init(&s, b->ir->arena);
        for (int i = 0; i < FILL_COUNT; i++) str_printf(&s, "%s%s", i ? ", " : "", fills[i].name);
        err_throw(b->err, RG_EINVAL, "%s:%d: data %s: no fill is called '%s'; there are %s", b->file, d->line,
                  d->name, d->fill, s.p);
    }
    if (d->n < fills[f].least || d->n > fills[f].most)
        err_throw(b->err, RG_EINVAL, "%s:%d: data %s: %s takes %s; %u numbers were given", b->file, d->line,
                  d->name, d->fill, fills[f].least == 0 ? "no numbers" : fills[f].help, d->n);
    for (uint32_t i = 0; i < d->n; i++) {
        bool size = f == FILL_params || f == FILL_tasks;
        if (size && !(d->num[i] >= (i || f == FILL_params ? 0 : 1) && d->num[i] < 0x1p40 &&
                      d->num[i] == floor(d->num[i])))
            err_throw(b->err, RG_EINVAL, "%s:%d: data %s: %g is not a number of elements", b->file, d->line,
                      d->name, d->num[i]);
    }
}

/* The declaration of NAME: the one that says sizes (`params`), or the one that says contents. */
static const struct data_decl *find_decl(struct binder *b, const char *name, bool sizes) {
    for (uint32_t i = 0; i < b->prog->data.n; i++) {
        const struct data_decl *d = &b->prog->data.p[i];
        if (!strcmp(d->name, name) && (fill_of(d) == FILL_params) == sizes) return d;
    }
    return NULL;
}

/* ---- buffers ---------------------------------------------------------------------------------------- */

static uint32_t find_buf(struct binder *b, const char *name) {
    for (uint32_t i = 0; i < b->buf.n; i++)
        if (!strcmp(b->buf.p[i].name, name)) return i;
    return UINT32_MAX;
}

static uint32_t add_buf(struct binder *b, const struct kernel *k, const char *name, enum dtype dt, int64_t n,
                        const struct data_decl *d, uint32_t index) {
    uint32_t at = find_buf(b, name);
    if (at != UINT32_MAX) {
        struct io_buf *old = &b->buf.p[at];
        if (old->dt != dt)
            err_throw(b->err, RG_EINVAL,
                      "%s:%d: kernel %s: buffer %s is of %s here and of %s in an earlier kernel", b->file,
                      k->line, k->name, name, dtype_info[dt].name, dtype_info[old->dt].name);
        old->n = RG_MAX(old->n, n);
        return at;
    }
    if (b->buf.n == MAX_BUFFERS)
        err_throw(b->err, RG_ELIMIT, "%s: more than %d buffers", b->file, MAX_BUFFERS);
    vec_push(b->ir->arena, &b->buf,
             ((struct io_buf){.name = name, .dt = dt, .n = n, .decl = d, .index = index}));
    return b->buf.n - 1;
}

static void set_slot(struct binder *b, const struct kernel *k, struct io_kernel *ik, uint32_t slot,
                     uint32_t buf) {
    if (slot >= MAX_BUFFERS)
        err_throw(b->err, RG_ELIMIT, "%s:%d: kernel %s: slot %u is too high", b->file, k->line, k->name,
                  slot);
    if (slot >= ik->nbuf) {
        uint32_t *more = arena_array(b->ir->arena, uint32_t, slot + 1);
        for (uint32_t i = 0; i <= slot; i++) more[i] = i < ik->nbuf ? ik->buf[i] : UINT32_MAX;
        ik->buf = more;
        ik->nbuf = slot + 1;
    }
    if (ik->buf[slot] != UINT32_MAX && ik->buf[slot] != buf)
        err_throw(b->err, RG_EINVAL, "%s:%d: kernel %s: slot %u is both %s and %s", b->file, k->line, k->name,
                  slot, b->buf.p[ik->buf[slot]].name, b->buf.p[buf].name);
    ik->buf[slot] = buf;
}

static void bind_param(struct binder *b, const struct kernel *k, struct io_kernel *ik, const uop *u) {
    const char *name = ir_name(b->ir, u->arg.param.name);
    if (u->src[0]->op != OP_CONST)
        err_throw(b->err, RG_EINVAL, "%s:%d: kernel %s: the size of buffer %s is not a constant", b->file,
                  k->line, k->name, name);
    int64_t n = u->src[0]->arg.i;
    if (n < 0 || n > (int64_t)1 << 40)
        err_throw(b->err, RG_EINVAL, "%s:%d: kernel %s: buffer %s of %lld elements", b->file, k->line,
                  k->name, name, (long long)n);
    set_slot(b, k, ik, u->arg.param.slot,
             add_buf(b, k, name, (enum dtype)u->dt, n, find_decl(b, name, false), 0));
}

/* The second half of `data p = params 37 100 uniform -1 1` as a line of its own. */
static const struct data_decl *then_decl(struct binder *b, const struct data_decl *sizes) {
    struct data_decl *d = arena_new(b->ir->arena, struct data_decl);
    *d = (struct data_decl){.name = sizes->name,
                            .fill = sizes->then,
                            .num = sizes->then_num,
                            .n = sizes->then_n,
                            .line = sizes->line};
    check_decl(b, d);
    return d;
}

static void bind_params(struct binder *b, const struct kernel *k, struct io_kernel *ik, const uop *u) {
    const char *name = ir_name(b->ir, u->arg.param.name);
    const struct data_decl *sizes = find_decl(b, name, true);
    if (!sizes)
        err_throw(b->err, RG_EINVAL,
                  "%s:%d: kernel %s: how many buffers %s stands for is not said; add `data %s = "
                  "params N0 N1 ..`",
                  b->file, k->line, k->name, name, name);
    const struct data_decl *fill = sizes->then ? then_decl(b, sizes) : find_decl(b, name, false);
    for (uint32_t i = 0; i < sizes->n; i++) {
        const char *each = arena_printf(b->ir->arena, "%s[%u]", name, i);
        uint32_t at = add_buf(b, k, each, (enum dtype)u->dt, (int64_t)sizes->num[i], fill, i);
        set_slot(b, k, ik, u->arg.param.slot + i, at);
    }
}

/* Marks what a kernel reads and writes through the INDEX nodes of its LOADs and STOREs. */
static void mark(struct binder *b, struct io_kernel *ik, const uop *buffer, bool writes, bool *read,
                 bool *write) {
    if (buffer->op != OP_PARAM && buffer->op != OP_PARAMS) return;
    uint32_t count = 1;
    if (buffer->op == OP_PARAMS) count = find_decl(b, ir_name(b->ir, buffer->arg.param.name), true)->n;
    for (uint32_t i = 0; i < count; i++)
        *(writes ? &write[ik->buf[buffer->arg.param.slot + i]] : &read[ik->buf[buffer->arg.param.slot + i]]) =
            true;
}

static void bind_directions(struct binder *b, struct io_kernel *ik, const uop_vec *all) {
    bool *read = arena_array(b->ir->arena, bool, b->buf.n + 1),
         *write = arena_array(b->ir->arena, bool, b->buf.n + 1);
    for (uint32_t i = 0; i < all->n; i++) {
        const uop *u = all->p[i];
        bool st = u->op == OP_STORE || u->op == OP_STORE_ADD;
        if (st || u->op == OP_LOAD || u->op == OP_PRED_LOAD)
            if (u->src[0]->op == OP_INDEX) mark(b, ik, access_buf(u), st, read, write);
    }
    for (uint32_t i = 0; i < b->buf.n; i++) {
        b->buf.p[i].input |= read[i] && !b->buf.p[i].output;
        b->buf.p[i].output |= write[i];
    }
}

/* ---- numbers that may change ------------------------------------------------------------------------ */

static void bind_var(struct binder *b, const struct kernel *k, struct io_kernel *ik, const uop *u) {
    uint32_t slot = u->arg.param.slot;
    const char *name = ir_name(b->ir, u->arg.param.name);
    enum dtype dt = (enum dtype)u->dt;
    if (slot >= MAX_BUFFERS)
        err_throw(b->err, RG_ELIMIT, "%s:%d: kernel %s: VAR slot %u is too high", b->file, k->line, k->name,
                  slot);
    if (slot >= ik->nvar) {
        int64_t *more = arena_array(b->ir->arena, int64_t, slot + 1);
        if (ik->nvar) memcpy(more, ik->var, ik->nvar * sizeof *more);
        ik->var = more;
        ik->nvar = slot + 1;
    }
    const struct data_decl *d = find_decl(b, name, false);
    if (d && fill_of(d) != FILL_values)
        err_throw(b->err, RG_EINVAL, "%s:%d: data %s: a VAR is one number; write `data %s = values NUMBER`",
                  b->file, d->line, name, name);
    const uop *least = u->src[0];
    double x = d ? d->num[0] : dt_is_float((enum dtype)least->dt) ? least->arg.f : (double)least->arg.i;
    ik->var[slot] = 0;
    if (dt_is_float(dt))
        ref_write(dt, &ik->var[slot], (union ref_val){.f = ref_round(dt, x)});
    else
        ik->var[slot] = (int64_t)x;
}

void io_read(struct ir *ir, const char *file, struct program *prog) {
    char *text;
    size_t n;
    if (os_read_file(ir->err, ir->arena, file, 64 << 20, &text, &n))
        err_throw(ir->err, ir->err->code, "%s", ir->err->msg);
    ir_parse(ir, text, n, file, prog);
    if (!prog->kernel.n)
        err_throw(ir->err, RG_EINVAL, "%s holds no kernel; expected `kernel NAME` and its lines (docs/ir.md)",
                  file);
}

void io_bind(struct ir *ir, const struct program *prog, const char *file, struct io *io) {
    struct binder b = {.ir = ir, .err = ir->err, .file = file, .prog = prog};
    *io = (struct io){.nkernel = prog->kernel.n,
                      .kernel = arena_array(ir->arena, struct io_kernel, prog->kernel.n + 1)};
    for (uint32_t i = 0; i < prog->data.n; i++) check_decl(&b, &prog->data.p[i]);
    for (uint32_t i = 0; i < prog->kernel.n; i++) {
        const struct kernel *k = &prog->kernel.p[i];
        struct io_kernel *ik = &io->kernel[i];
        uop_vec all = {0};
        uop_topo(ir->arena, &k->sink, 1, &all);
        for (uint32_t j = 0; j < all.n; j++) {
            const uop *u = all.p[j];
            if (u->op == OP_PARAM) bind_param(&b, k, ik, u);
            if (u->op == OP_PARAMS) bind_params(&b, k, ik, u);
            if (u->op == OP_VAR) bind_var(&b, k, ik, u);
        }
        bind_directions(&b, ik, &all);
    }
    io->buf = b.buf.p;
    io->nbuf = b.buf.n;
}

/* ---- memory ------------------------------------------------------------------------------------------ */

size_t io_bytes(const struct io_buf *b) { return (size_t)b->n * dtype_info[b->dt].bytes; }

static size_t room(const struct io_buf *b) { return RED_ZONE + (io_bytes(b) + 63) / 64 * 64; }

void io_alloc(struct ir *ir, const struct io *io, struct io_mem *m) {
    size_t total = RED_ZONE;
    for (uint32_t i = 0; i < io->nbuf; i++) total += room(&io->buf[i]);
    m->p = arena_array(ir->arena, void *, io->nbuf + 1);
    m->bytes = total;
    m->block = os_pages(total);
    if (!m->block)
        err_throw(ir->err, RG_ENOMEM, "out of memory: the buffers take %.1f MB", (double)total / 1e6);
    size_t at = RED_ZONE;
    for (uint32_t i = 0; i < io->nbuf; i++) {
        m->p[i] = m->block + at;
        at += room(&io->buf[i]);
    }
}

void io_free(struct io_mem *m) {
    if (m->block) os_pages_free(m->block, m->bytes);
    m->block = NULL;
}

void io_copy(struct io_mem *to, const struct io_mem *from) { memcpy(to->block, from->block, from->bytes); }

/* The bytes between the end of one buffer and the start of the next. */
static unsigned char *gap(const struct io *io, const struct io_mem *m, uint32_t i, size_t *n) {
    unsigned char *end = (unsigned char *)m->p[i] + io_bytes(&io->buf[i]);
    unsigned char *next = i + 1 < io->nbuf ? m->p[i + 1] : m->block + m->bytes;
    *n = (size_t)(next - end);
    return end;
}

const char *io_red_zone(const struct io *io, const struct io_mem *m) {
    for (size_t k = 0; io->nbuf && k < RED_ZONE; k++)
        if (m->block[k] != RED_BYTE) return io->buf[0].name;
    for (uint32_t i = 0; i < io->nbuf; i++) {
        size_t n;
        const unsigned char *p = gap(io, m, i, &n);
        for (size_t k = 0; k < n; k++)
            if (p[k] != RED_BYTE) return io->buf[k < n / 2 || i + 1 == io->nbuf ? i : i + 1].name;
    }
    return NULL;
}

/* ---- contents ---------------------------------------------------------------------------------------- */

/* splitmix64: number `i` of the stream that starts at `seed`. */
static uint64_t random_bits(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double random_unit(uint64_t seed, uint64_t i) { /* in [0, 1) */
    return (double)(random_bits(seed, i) >> 11) * 0x1p-53;
}

static double element(const struct io_buf *b, enum fill f, const double *num, uint64_t seed, int64_t i) {
    double u;
    switch (f) {
    case FILL_uniform: return num[0] + (num[1] - num[0]) * random_unit(seed, (uint64_t)i);
    case FILL_normal: /* Box and Muller, one of the two */
        u = 1 - random_unit(seed, 2 * (uint64_t)i);
        return num[0] + num[1] * sqrt(-2 * log(u)) * cos(2 * M_PI * random_unit(seed, 2 * (uint64_t)i + 1));
    case FILL_randint: return floor(num[0] + (num[1] - num[0]) * random_unit(seed, (uint64_t)i));
    case FILL_ones: return 1;
    case FILL_iota: return (double)i;
    case FILL_values: return num[i % b->decl->n];
    default: return 0;
    }
}

/* The task table of a batch kernel: each tensor cut into blocks; rows past the last task have length 0. */
static double task_word(const struct data_decl *d, int64_t i) {
    int64_t row = i / 3, word = i % 3;
    double block = d->num[0];
    for (uint32_t t = 1; t < d->n; t++) {
        int64_t blocks = (int64_t)ceil(d->num[t] / block);
        if (row < blocks) {
            double start = (double)row * block;
            return word == 0 ? t - 1 : word == 1 ? start : RG_MIN(block, d->num[t] - start);
        }
        row -= blocks;
    }
    return 0;
}

static void fill_buf(const struct io_buf *b, void *p, bool exact) {
    static const double unit[2] = {-1, 1}, small[2] = {0, 10}, tiny[2] = {-4, 5};
    bool flt = dt_is_float(b->dt);
    enum fill f = b->decl ? fill_of(b->decl) : !b->input ? FILL_zeros : flt ? FILL_uniform : FILL_randint;
    const double *num = b->decl ? b->decl->num : flt ? unit : small;
    if (exact && flt && (f == FILL_uniform || f == FILL_normal)) f = FILL_randint, num = tiny;
    uint64_t seed = hash_bytes(b->name, strlen(b->name), 0x52494447);
    size_t size = dtype_info[b->dt].bytes;
    for (int64_t i = 0; i < b->n; i++) {
        double x = f == FILL_tasks ? task_word(b->decl, i) : element(b, f, num, seed, i);
        union ref_val v;
        if (flt)
            v.f = ref_round(b->dt, x);
        else
            v.i = ref_wrap(b->dt, (int64_t)x);
        ref_write(b->dt, (char *)p + (size_t)i * size, v);
    }
}

void io_fill(const struct io *io, struct io_mem *m, bool exact) {
    memset(m->block, RED_BYTE, RED_ZONE);
    for (uint32_t i = 0; i < io->nbuf; i++) {
        size_t n;
        unsigned char *p = gap(io, m, i, &n);
        memset(p, RED_BYTE, n);
        fill_buf(&io->buf[i], m->p[i], exact);
    }
}

/* ---- comparing --------------------------------------------------------------------------------------- */

static double epsilon(enum dtype dt) {
    switch (dt) {
    case DT_F16: return 0x1p-10;
    case DT_BF16: return 0x1p-7;
    case DT_F32: return FLT_EPSILON;
    case DT_F64: return DBL_EPSILON;
    default: return 0;
    }
}

double io_tolerance(struct arena *a, const uop *sink) {
    uop_vec all = {0};
    double longest = 1, tol = DBL_EPSILON;
    uop_topo(a, &sink, 1, &all);
    for (uint32_t i = 0; i < all.n; i++) {
        const uop *u = all.p[i];
        double n = 1;
        if (u->op == OP_REDUCE || u->op == OP_SCAN)
            for (uint32_t k = 1; k < u->nsrc; k++) n *= (double)RG_MAX(u->src[k]->src[0]->hi, 1);
        longest = RG_MAX(longest, n);
    }
    for (uint32_t i = 0; i < all.n; i++) {
        const uop *u = all.p[i];
        enum dtype dt = (enum dtype)(u->op == OP_STORE_ADD ? u->src[1]->dt : u->dt);
        bool computes =
            op_is_pure((enum op)u->op) || u->op == OP_REDUCE || u->op == OP_SCAN || u->op == OP_STORE_ADD;
        if (!computes || u->op == OP_CAST || u->op == OP_WHERE) continue;
        /* roundings of a long sum partly cancel; 16-bit floats are accumulated in f32, so their length does not matter */
        bool half = dt == DT_F16 || dt == DT_BF16;
        tol = RG_MAX(tol, epsilon(dt) * (half ? 4 : 8 + 4 * sqrt(longest)));
    }
    return tol;
}

double io_tolerance_of(double tolerance, enum dtype dt) {
    if (!dt_is_float(dt)) return 0;
    return RG_MAX(tolerance, epsilon(dt) * (dt == DT_F16 || dt == DT_BF16 ? 2 : 1));
}

double io_scale(const struct io_buf *b, const void *p, const unsigned char *mark) {
    double sum = 0, n = 0;
    for (int64_t i = 0; i < b->n; i++) {
        double x = ref_number(b->dt, ref_read(b->dt, (const char *)p + (size_t)i * dtype_info[b->dt].bytes));
        if ((mark && !mark[i]) || !isfinite(x)) continue;
        sum += x * x;
        n++;
    }
    return n ? sqrt(sum / n) : 0;
}
