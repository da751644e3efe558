/* gpu_memory.c: memory accesses of GPU kernels: addresses of an INDEX, the 128-byte swizzle, and loads and stores in
 * vectors of up to 16 bytes. Unaligned vectors are loaded as the aligned ones around them; two 16-bit floats are one word.
 * Tests: tests/unit/cuda.c, tests/unit/dtypes.c */
#include "render/gpu.h"

enum { PIECE_BYTES = 16 };

/* CUDA pointers have no address space; nor has private memory. */
static const char *space_of(const struct gpu *c, const uop *buf) {
    if (!c->d->cl) return "";
    if (buf->op == OP_LOCAL && buf->arg.mem.space == SPACE_SHARED) return c->d->shared;
    return buf->op == OP_LOCAL && !c->scratch ? ""
                                              : c->d->global; /* a kernel with rows has no other scratch */
}

/* Index among the elements that this thread keeps, iteration by iteration. */
static struct c_text row_element(struct gpu *c, const uop *index, const struct coop_row *row) {
    struct affine f = affine_of(c->r.a, index);
    struct str s;
    str_init(&s, c->r.a);
    str_printf(&s, "%s * %lld + %lld", c->iteration, (long long)row->step, (long long)f.k);
    for (uint32_t i = 0; i < f.n; i++)
        if (f.t[i].atom != c->r.lin->u[c->open->begin])
            str_printf(&s, " + %s * %lld", gpu_operand(c, f.t[i].atom, 0).s, (long long)f.t[i].coef);
    return (struct c_text){.s = s.p, .dt = index->dt, .lanes = 1};
}

struct gpu_access gpu_access_of(struct gpu *c, const uop *n) {
    if (n->op != OP_INDEX) gpu_bad(c, n, "is not an INDEX");
    struct c_text **base = gpu_slot(c, n->src[0]);
    if (!*base) gpu_bad(c, n->src[0], "is not a buffer of this kernel");
    struct gpu_access p = {.dt = (enum dtype)n->src[0]->dt,
                           .lanes = n->lanes,
                           .piece = 1,
                           .base = (*base)->s,
                           .space = space_of(c, n->src[0]),
                           .index = n->src[1],
                           .panels = n->src[0]->op == OP_LOCAL && n->src[0]->arg.mem.panels};
    const struct coop_row *row = row_of(&c->row, n->src[0]);
    if (row) p.at = row_element(c, p.index, row);
    if (p.index->lanes > 1 || row) return p;
    p.at = gpu_operand(c, p.index, 0);
    if (p.lanes > 1) p.at = named(&c->r, p.at);
    for (unsigned k = 2;
         k * dtype_info[p.dt].bytes <= PIECE_BYTES && p.lanes % k == 0 && uop_divides(p.index, k); k *= 2)
        p.piece = k;
    return p;
}

/* 128-byte swizzle: 16-byte chunk index XOR (row mod 8). If all elements of an access are in one row up to
 * a constant, the XOR is the same for all: rendered such that ptxas sees it, one operation per element.
 * `at` is element i. */
static const char *panel_offset(struct gpu *c, const struct gpu_access *p, const char *at, unsigned i) {
    unsigned bytes = dtype_info[p->dt].bytes;
    int64_t row = 128 / bytes, piece = PIECE_BYTES / bytes, within = 0, k = 0;
    const char *plain = fmt(&c->r, "swizzle<%u>(%s)", bytes, at);
    if (p->index->lanes > 1) return plain;
    struct affine f = affine_of(c->r.a, p->index);
    for (uint32_t t = 0; t < f.n; t++) {
        if (f.t[t].coef < 0 || f.t[t].atom->lo < 0) return plain; /* the rest of `at` is not negative */
        if (f.t[t].coef % row == 0) continue;
        if (f.t[t].atom->hi >= piece) return plain;
        within += f.t[t].coef * f.t[t].atom->hi;
    }
    k = f.k + i;
    int64_t column = k % row / piece * piece, rows = k / (8 * row) * (8 * row);
    if (k < 0 || within + k % piece >= piece || !(column + rows)) return plain;
    return fmt(&c->r, "(swizzle<%u>((%s) - %lld) ^ %lld) + %lld", bytes, at, (long long)(column + rows),
               (long long)column, (long long)rows);
}

/* Index of element i of the access. */
static const char *offset(struct gpu *c, const struct gpu_access *p, unsigned i) {
    const char *at = p->index->lanes > 1 ? gpu_operand(c, p->index, i).s
                     : i                 ? fmt(&c->r, "%s + %u", p->at.s, i)
                                         : p->at.s;
    return p->panels ? panel_offset(c, p, at, i) : at;
}

/* Element i of the access as an lvalue. */
const char *gpu_element(struct gpu *c, const struct gpu_access *p, unsigned i) {
    return fmt(&c->r, "%s[%s]", p->base, offset(c, p, i));
}

static const char *read_as(struct gpu *c, const struct gpu_access *p, const char *x) {
    return p->dt == DT_BOOL ? fmt(&c->r, "(%s != 0)", x) : x;
}

/* predicate: of the lane, or NULL. */
static const char *predicated(struct gpu *c, const struct gpu_access *p, const char *x,
                              const struct c_text *pred, struct c_text alt) {
    x = read_as(c, p, x);
    return pred ? fmt(&c->r, "(%s ? (%s)%s : (%s)%s)", pred->s, elem_type(p->dt), x, elem_type(p->dt), alt.s)
                : x;
}

/* The two 16-bit parts of a word as two lanes. */
void gpu_pair_lanes(struct gpu *c, const char *word, struct c_text *out) {
    for (unsigned k = 0; k < 2; k++)
        out[k].s = fmt(&c->r, k ? "(u16)(%s >> 16)" : "(u16)%s", word), out[k].atom = true;
    out[0].pair = out[1].upper = word;
}

/* The word that two 16-bit lanes form, the lower first; NULL: they are not parts of one. */
const char *gpu_pair(struct gpu *c, const uop *n, unsigned i) {
    const char *word = gpu_operand(c, n, i).pair;
    return word && gpu_operand(c, n, i + 1).upper == word ? word : NULL;
}

static const char *vector_type(struct gpu *c, const struct gpu_access *p) {
    return fmt(&c->r, c->d->cl ? "%sx%u" : "piece<%s, %u>", elem_type(p->dt), p->piece);
}

/* Does this IF only load into registers, for the stores of a pipeline (pipeline.c)? A thread with few
 * accumulators has little to do before those: it should load at once, not where ptxas would, a few
 * instructions earlier. (With more, other warps hide it, and loads all at once after a barrier take 2 to 5
 * % longer; measured.) */
bool gpu_loads_ahead(const struct gpu *c) {
    enum { FEW_SUMS = 16 };
    const struct linear *l = c->r.lin;
    uint32_t held = 0;
    bool any = false;
    if (!c->lanes || c->d->cl) return false;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->u[i]->op == OP_MMA) return false;
    for (uint32_t i = c->r.pos + 1; i < l->n && l->u[i]->op != OP_END; i++) {
        const uop *n = l->u[i];
        bool load = n->op == OP_LOAD || n->op == OP_PRED_LOAD;
        if (!load && n->op != OP_SET && !op_is_pure((enum op)n->op)) return false;
        any |= load && access_buf(n)->op == OP_PARAM;
        held += n->op == OP_SET ? n->src[0]->lanes : 0;
    }
    return any && c->sums <= held + FEW_SUMS;
}

/* 16-bit floats are loaded as words of two, which packed arithmetic takes; zeros where the predicate is
 * false. */
static void load_words(struct gpu *c, const struct gpu_access *p, const struct c_text *pred, bool ahead,
                       struct c_text *out) {
    const char *t = fmt(&c->r, "piece<u32, %u>", p->piece / 2);
    for (unsigned i = 0; i < p->lanes; i += p->piece) {
        const char *name = fmt(&c->r, "p%u_%u", c->r.pos, i);
        const char *from = fmt(&c->r, ahead ? "load_now((const %s *)(%s + %s))" : "*(const %s *)(%s + %s)", t,
                               p->base, offset(c, p, i));
        if (pred)
            line(&c->r, "%s %s = {}; if (%s) %s = %s;", t, name, pred->s, name, from);
        else
            line(&c->r, "const %s %s = %s;", t, name, from);
        for (unsigned k = 0; k < p->piece; k += 2)
            gpu_pair_lanes(c, fmt(&c->r, "%s.v[%u]", name, k / 2), &out[i + k]);
    }
}

/* A vector's value where its predicate is false: set before the load, not selected after it. A register
 * that one path leaves unset is undefined to ptxas, which then reuses it, and lanes whose predicate is
 * true get the wrong value. */
static const char *vector_else(struct gpu *c, const struct gpu_access *p, const uop *alt, unsigned i) {
    struct str s;
    if (!c->d->cl && alt->op == OP_CONST && alt->arg.u == 0) return "{}";
    str_init(&s, c->r.a);
    for (unsigned k = 0; k < p->piece; k++)
        str_printf(&s, "%s(%s)%s", k ? ", " : "", elem_type(p->dt), gpu_operand(c, alt, i + k).s);
    return c->d->cl ? fmt(&c->r, "(%s)(%s)", vector_type(c, p), s.p) : fmt(&c->r, "{{%s}}", s.p);
}

static void load_vectors(struct gpu *c, const struct gpu_access *p, const struct c_text *pred, const uop *alt,
                         bool ahead, struct c_text *out) {
    const char *t = vector_type(c, p);
    bool sixteen_bit = p->dt == DT_BF16 || p->dt == DT_F16;
    bool zeros = !pred || (alt->op == OP_CONST && alt->arg.u == 0);
    if (zeros && !c->d->cl && p->piece % 2 == 0 && sixteen_bit) return load_words(c, p, pred, ahead, out);
    for (unsigned i = 0; i < p->lanes; i += p->piece) {
        const char *name = fmt(&c->r, "p%u_%u", c->r.pos, i);
        const char *from =
            fmt(&c->r, ahead ? "load_now((const %s%s *)(%s + %s))" : "*(const %s%s *)(%s + %s)", p->space, t,
                p->base, offset(c, p, i));
        if (pred)
            line(&c->r, "%s %s = %s; if (%s) %s = %s;", t, name, vector_else(c, p, alt, i), pred->s, name,
                 from);
        else
            line(&c->r, "const %s %s = %s;", t, name, from);
        for (unsigned k = 0; k < p->piece; k++)
            out[i + k].s = read_as(c, p, fmt(&c->r, c->d->cl ? "%s.s%x" : "%s.v[%u]", name, k));
    }
}

/* Aligned vectors of which each element has a predicate: read if one of their elements is used, so none is out of bounds. */
static void load_masked(struct gpu *c, const struct gpu_access *p, const uop *pred, const uop *alt,
                        struct c_text *out) {
    bool zeros = alt->op == OP_CONST && alt->arg.u == 0;
    for (unsigned i = 0; i < p->lanes; i += p->piece) {
        const char *name = fmt(&c->r, "p%u_%u", c->r.pos, i), *t = vector_type(c, p);
        struct str want;
        str_init(&want, c->r.a);
        for (unsigned k = i; k < i + p->piece; k++) {
            struct c_text g = gpu_operand(c, pred, k);
            str_printf(&want, "%s(u32)%s << %u", k > i ? " | " : "", g.s, k - i);
            out[k].s = predicated(c, p, fmt(&c->r, "%s.v[%u]", name, k - i), zeros ? NULL : &g,
                                  gpu_operand(c, alt, k));
        }
        line(&c->r, "const %s %s = load_some((const %s *)(%s + %s), %s);", t, name, t, p->base,
             offset(c, p, i), want.p);
    }
}

/* Unaligned 16 bytes are loaded as the two aligned vectors that hold them, each only if one of its
 * elements is used, so none is out of bounds. No branch: a thread has several in flight. */
static void load_unaligned(struct gpu *c, const struct gpu_access *p, const uop *pred, const uop *alt,
                           struct c_text *out) {
    unsigned step = PIECE_BYTES / dtype_info[p->dt].bytes;
    bool each = pred && pred->lanes > 1, zeros = pred && alt->op == OP_CONST && alt->arg.u == 0;
    for (unsigned i = 0; i < p->lanes; i += step) {
        const char *name = fmt(&c->r, "p%u_%u", c->r.pos, i), *dt = elem_type(p->dt);
        struct str want;
        str_init(&want, c->r.a);
        if (pred && !each) str_printf(&want, ", %s ? %#x : 0", gpu_operand(c, pred, 0).s, (1u << step) - 1);
        for (unsigned k = i; k < i + step; k++) {
            struct c_text g = {0};
            if (pred) g = gpu_operand(c, pred, each ? k : 0);
            if (each) str_printf(&want, k > i ? " | (u32)%s << %u" : ", (u32)%s", g.s, k - i);
            out[k].s = predicated(c, p, fmt(&c->r, "%s.v[%u]", name, k - i), pred && !zeros ? &g : NULL,
                                  alt ? gpu_operand(c, alt, k) : (struct c_text){0});
        }
        line(&c->r, "const piece<%s, %u> %s = load_unaligned<%s>(%s + %s%s);", dt, step, name, dt, p->base,
             offset(c, p, i), pred ? want.p : "");
    }
}

static bool is_unaligned(const struct gpu *c, const uop *index, const struct gpu_access *p) {
    const uop *buf = index->src[0];
    bool shared = buf->op == OP_LOCAL && buf->arg.mem.space == SPACE_SHARED && !p->panels;
    bool large = buf->op == OP_PARAM || (shared && dtype_info[p->dt].bytes < 4); /* word by word */
    return !c->d->cl && p->piece == 1 && p->index->lanes == 1 && large &&
           p->lanes * dtype_info[p->dt].bytes % PIECE_BYTES == 0;
}

void gpu_load(struct gpu *c, const uop *n, struct c_text *out) {
    struct gpu_access p = gpu_access_of(c, n->src[0]);
    const uop *alt = n->op == OP_PRED_LOAD ? n->src[1] : NULL,
              *pred = n->op == OP_PRED_LOAD ? n->src[2] : NULL;
    for (unsigned i = 0; i < p.lanes; i++) out[i] = (struct c_text){.dt = (uint8_t)p.dt, .lanes = 1};
    if (is_unaligned(c, n->src[0], &p)) return load_unaligned(c, &p, pred, alt, out);
    struct c_text g = {0};
    if (pred && pred->lanes == 1)
        g = p.lanes > 1 ? named(&c->r, gpu_operand(c, pred, 0)) : gpu_operand(c, pred, 0);
    bool ahead = c->ahead && access_buf(n)->op == OP_PARAM;
    if (p.piece > 1 && (!pred || pred->lanes == 1))
        return load_vectors(c, &p, pred ? &g : NULL, alt, ahead, out);
    if (p.piece > 1 && !c->d->cl && access_buf(n)->op == OP_PARAM) return load_masked(c, &p, pred, alt, out);
    for (unsigned i = 0; i < p.lanes; i++) {
        const char *x = gpu_element(c, &p, i);
        if (pred && pred->lanes > 1) g = gpu_operand(c, pred, i);
        out[i].s = predicated(c, &p, ahead ? fmt(&c->r, "load_now(&%s)", x) : x, pred ? &g : NULL,
                              alt ? gpu_operand(c, alt, i) : (struct c_text){0});
    }
}

static void store_one(struct gpu *c, const uop *n, const struct gpu_access *p, unsigned i) {
    const char *at = gpu_element(c, p, p->lanes == 1 ? 0 : i); /* several lanes may add to one element */
    struct c_text v = gpu_operand(c, n->src[1], i);
    if (n->op == OP_STORE) {
        line(&c->r, "%s = %s;", at, bare(&c->r, v.s));
    } else if (c->atomic && access_buf(n)->op != OP_LOCAL) {
        unsigned bytes = dtype_info[p->dt].bytes;
        const char *as = bytes > 2 ? "" : fmt(&c->r, "(%su%u *)", p->space, bytes * 8);
        line(&c->r, "atomic_add_%s(%s&%s, %s);", dtype_info[p->dt].name, as, at, v.s);
    } else {
        struct c_text pair[2] = {
            named(&c->r, (struct c_text){.s = read_as(c, p, at), .dt = (uint8_t)p->dt, .lanes = 1}), v};
        line(&c->r, "%s = %s;", at, bare(&c->r, op_plain(&c->r, OP_ADD, p->dt, 1, pair, 2).s));
    }
}

/* Packed 16-bit floats are stored packed. */
static bool store_pairs(struct gpu *c, const uop *n, const struct gpu_access *p, unsigned i) {
    struct str s;
    str_init(&s, c->r.a);
    for (unsigned k = 0; k < p->piece; k += 2) {
        const char *two = p->piece % 2 ? NULL : gpu_pair(c, n->src[1], i + k);
        if (!two) return false;
        str_printf(&s, "%s%s", k ? ", " : "", two);
    }
    line(&c->r, "*(piece<u32, %u> *)(%s + %s) = piece<u32, %u>{{%s}};", p->piece / 2, p->base,
         offset(c, p, i), p->piece / 2, s.p);
    return true;
}

static void store_vector(struct gpu *c, const uop *n, const struct gpu_access *p, unsigned i) {
    const char *t = vector_type(c, p);
    struct str s;
    if (store_pairs(c, n, p, i)) return;
    str_init(&s, c->r.a);
    for (unsigned k = 0; k < p->piece; k++)
        str_printf(&s, "%s(%s)%s", k ? ", " : "", elem_type(p->dt), gpu_operand(c, n->src[1], i + k).s);
    line(&c->r, c->d->cl ? "*(%s%s *)(%s + %s) = (%s)(%s);" : "*(%s%s *)(%s + %s) = %s{{%s}};", p->space, t,
         p->base, offset(c, p, i), t, s.p);
}

/* A vector store where all predicates are true, else lane by lane. In CUDA the predicates are bits of a mask. */
static void store_predicated_vector(struct gpu *c, const uop *n, const struct gpu_access *p, const uop *pred,
                                    unsigned i) {
    const char *mask = fmt(&c->r, "m%u_%u", c->r.pos, i);
    struct str all;
    str_init(&all, c->r.a);
    for (unsigned k = i; k < i + p->piece; k++) {
        const char *one = gpu_operand(c, pred, k).s;
        if (c->d->cl)
            str_printf(&all, "%s%s", k > i ? " & " : "", one);
        else
            str_printf(&all, "%s(u32)%s << %u", k > i ? " | " : "", one, k - i);
    }
    if (!c->d->cl) line(&c->r, "const u32 %s = lane_mask(%s);", mask, all.p);
    line(&c->r, "if (%s) {", c->d->cl ? all.p : fmt(&c->r, "%s == %#x", mask, (1u << p->piece) - 1));
    c->r.indent++;
    store_vector(c, n, p, i);
    c->r.indent--, line(&c->r, "} else {"), c->r.indent++;
    for (unsigned k = i; k < i + p->piece; k++) {
        line(&c->r, "if (%s) {",
             c->d->cl ? gpu_operand(c, pred, k).s : fmt(&c->r, "%s >> %u & 1", mask, k - i));
        c->r.indent++;
        store_one(c, n, p, k);
        c->r.indent--, line(&c->r, "}");
    }
    c->r.indent--, line(&c->r, "}");
}

void gpu_store(struct gpu *c, const uop *n) {
    struct gpu_access p = gpu_access_of(c, n->src[0]);
    const uop *pred = n->nsrc > 2 ? n->src[2] : NULL;
    bool local = access_buf(n)->op == OP_LOCAL, single = c->block && !c->lanes && !c->open && !local;
    bool own = c->columns && !local;
    if (n->src[1]->dt != p.dt) gpu_bad(c, n, "stores a value of another type than the buffer's");
    if (single || own)
        line(&c->r, "if (%s%s%s) {", own ? "live" : "", own && single ? " && " : "",
             single ? fmt(&c->r, "%s == 0", c->member) : ""),
            c->r.indent++;
    if (pred && pred->lanes == 1) line(&c->r, "if (%s) {", gpu_operand(c, pred, 0).s), c->r.indent++;
    bool by_lane = pred && pred->lanes > 1;
    bool wide = by_lane && n->op == OP_STORE && p.piece * dtype_info[p.dt].bytes == PIECE_BYTES;
    unsigned step = (by_lane && !wide) || n->op == OP_STORE_ADD ? 1 : p.piece;
    unsigned lanes = p.lanes;
    if (n->op == OP_STORE_ADD && lanes == 1) lanes = RG_MAX(n->src[1]->lanes, pred ? pred->lanes : 1);
    for (unsigned i = 0; i < lanes; i += step) {
        if (wide) {
            store_predicated_vector(c, n, &p, pred, i);
            continue;
        }
        if (by_lane) line(&c->r, "if (%s) {", gpu_operand(c, pred, i).s), c->r.indent++;
        if (step > 1)
            store_vector(c, n, &p, i);
        else
            store_one(c, n, &p, i);
        if (by_lane) c->r.indent--, line(&c->r, "}");
    }
    if (pred && pred->lanes == 1) c->r.indent--, line(&c->r, "}");
    if (single || own) c->r.indent--, line(&c->r, "}");
}

/* In kernels with threads; elsewhere PREFETCH is for CPU caches. */
void gpu_prefetch(struct gpu *c, const uop *n) {
    if (!c->lanes || c->d->cl) return;
    struct gpu_access p = gpu_access_of(c, n->src[0]);
    line(&c->r, "prefetch_l1(%s + %s);", p.base, p.at.s);
}
