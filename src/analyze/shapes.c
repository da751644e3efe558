/* shapes.c: what an operator must compute and move, from the shapes the profiler recorded.
 *
 * GEMMs, convolutions (forward and backward), attention, and everything that reads its
 * inputs once and writes its result once. Bytes are the least that must cross the memory system, so
 * the share of the bandwidth roof is a lower bound. An operator without a formula is not modelled, and
 * the report says which share of the time that is. Tests: tests/unit/analyze.c */
#include "analyze/shapes.h"

enum { LARGE_BYTES = 1 << 18 }; /* of a tensor whose order matters */

static const struct {
    const char *text;
    uint8_t elt;
    char type;
} types[] = {
    {"float", 4, 'f'},
    {"double", 8, 'd'},
    {"c10::Half", 2, 'h'},
    {"c10::BFloat16", 2, 'h'},
    {"long int", 8, 'i'},
    {"int", 4, 'i'},
    {"bool", 1, 'i'},
    {"unsigned char", 1, 'i'},
    {"signed char", 1, 'i'},
    {"short int", 2, 'i'},
    {"c10::Float8_e4m3fn", 1, '8'},
    {"c10::Float8_e5m2", 1, '8'},
    {"c10::complex<float>", 8, 'f'},
    {"half", 2, 'h'},
    {"bfloat16", 2, 'h'},
};

struct shape_text {
    const char *p, *end;
};
static void blank(struct shape_text *t) {
    while (t->p < t->end && (*t->p == ' ' || *t->p == ',' || *t->p == '\n' || *t->p == '\t')) t->p++;
}

static int64_t number(struct shape_text *t) {
    int64_t v = 0;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        if (v < (int64_t)1 << 40) v = v * 10 + (*t->p - '0');
    return v;
}

static int64_t times(int64_t a, int64_t b) { return b && a > ((int64_t)1 << 56) / b ? 0 : a * b; }

/* "[64, 4096]", or a list of these. */
static void parse_tensor(struct shape_text *t, struct tensor_shape *x) {
    int64_t one = 1, sum = 0;
    bool nested = false, any = false;
    for (int depth = 0; t->p < t->end;) {
        if (*t->p >= '0' && *t->p <= '9') {
            int64_t v = number(t);
            one = times(one, v), any = true;
            if (!nested && x->nd < 8) x->d[x->nd++] = v, x->numel = one;
            continue;
        }
        char c = *t->p++;
        if (c == '[') nested |= ++depth > 1;
        if (c != ']') continue;
        if (nested && any) sum += RG_MIN(one, (int64_t)1 << 56), x->most = RG_MAX(x->most, one);
        one = 1, any = false;
        if (--depth == 0) break;
    }
    if (nested) x->nd = -1, x->numel = RG_MIN(sum, (int64_t)1 << 56);
}

static void parse_dims(struct shape_text t, struct op_shapes *s) {
    blank(&t);
    if (t.p >= t.end || *t.p != '[') return;
    t.p++;
    while (s->n < (int)RG_COUNT(s->in)) {
        blank(&t);
        if (t.p >= t.end || *t.p == ']') return;
        struct tensor_shape *x = &s->in[s->n++];
        *x = (struct tensor_shape){.numel = 1};
        if (*t.p == '[')
            parse_tensor(&t, x);
        else /* not a list: nothing we know */
            while (t.p < t.end && *t.p != ',' && *t.p != ']') t.p++;
    }
}

static void parse_types(struct shape_text t, struct op_shapes *s) {
    blank(&t);
    if (t.p < t.end && *t.p == '[') t.p++;
    for (int i = 0; i < s->n && t.p < t.end; i++) {
        blank(&t);
        if (t.p >= t.end || *t.p != '"') { /* a list of types: skip it */
            int depth = 0;
            for (; t.p < t.end; t.p++) {
                if (*t.p == '[')
                    depth++;
                else if (*t.p == ']' && --depth <= 0) {
                    t.p++;
                    break;
                }
            }
            continue;
        }
        const char *a = ++t.p;
        while (t.p < t.end && *t.p != '"') t.p++;
        for (size_t k = 0; k < RG_COUNT(types); k++)
            if (strlen(types[k].text) == (size_t)(t.p - a) && !memcmp(a, types[k].text, (size_t)(t.p - a)))
                s->in[i].elt = types[k].elt, s->in[i].type = types[k].type;
        if (t.p < t.end) t.p++;
    }
}

/* "[[4096, 1], [], [1]]", in the order of the dimensions; a tensor whose count differs has none. */
static void parse_strides(struct shape_text t, struct op_shapes *s) {
    struct op_shapes v = {0};
    parse_dims(t, &v);
    for (int i = 0; i < s->n && i < v.n; i++) {
        struct tensor_shape *x = &s->in[i];
        if (x->nd <= 0 || v.in[i].nd != x->nd) continue;
        memcpy(x->stride, v.in[i].d, sizeof x->stride);
        x->strided = true;
    }
}

void shapes_parse(const char *blob, size_t n, struct op_shapes *s) {
    memset(s, 0, sizeof *s);
    const char *end = blob + n, *a = memchr(blob, 0x1f, n);
    parse_dims((struct shape_text){blob, a ? a : end}, s);
    if (!a) return;
    const char *b = memchr(a + 1, 0x1f, (size_t)(end - a - 1));
    parse_types((struct shape_text){a + 1, b ? b : end}, s);
    if (!b) return;
    const char *c = memchr(b + 1, 0x1f, (size_t)(end - b - 1));
    s->concrete = b + 1, s->concrete_n = (size_t)((c ? c : end) - b - 1);
    if (c) parse_strides((struct shape_text){c + 1, end}, s);
}

/* The dimension of the smallest stride; -1: a tensor that has none to speak of. */
static int innermost(const struct tensor_shape *x) {
    int at = -1;
    if (x->nd < 2 || !x->strided || (double)x->numel * x->elt < LARGE_BYTES) return -1;
    for (int i = 0; i < x->nd; i++)
        if (x->d[i] > 1 && x->stride[i] > 0 && (at < 0 || x->stride[i] < x->stride[at])) at = i;
    return at;
}

bool shapes_mixed(const struct op_shapes *s) {
    int first = -1;
    for (int i = 0; i < s->n; i++) {
        int in = innermost(&s->in[i]);
        if (in < 0) continue;
        if (first >= 0 && s->in[first].numel == s->in[i].numel && innermost(&s->in[first]) != in) return true;
        if (first < 0) first = i;
    }
    return false;
}

/* ---- formulas --------------------------------------------------------------------------------------- */

static bool ends(const char *s, const char *with) {
    size_t a = strlen(s), b = strlen(with);
    return a >= b && !strcmp(s + a - b, with);
}

static struct op_cost gemm_cost(const struct tensor_shape *a, const struct tensor_shape *b, bool bt) {
    struct op_cost c = {0};
    if (a->nd < 2 || b->nd < 2) return c;
    c.k = a->d[a->nd - 1];
    c.n = bt ? b->d[b->nd - 2] : b->d[b->nd - 1];
    c.batch = 1;
    if (a->nd == 3 && b->nd == 3) {
        c.batch = a->d[0];
        c.m = a->d[1];
    } else {
        c.m = c.k ? a->numel / c.k : 0;
    }
    if (c.m <= 0 || c.n <= 0 || c.k <= 0) return (struct op_cost){0};
    double out = (double)c.batch * (double)c.m * (double)c.n;
    c.flops = 2.0 * out * (double)c.k;
    c.bytes = (double)a->elt * (double)a->numel + (double)b->elt * (double)b->numel + out * a->elt;
    c.elt = a->elt;
    c.type = a->type;
    c.known = true;
    return c;
}

/* The i-th concrete input, a string such as "[2, 2]": its first two numbers. */
static void concrete_pair(const struct op_shapes *s, int i, int64_t out[2], int64_t none) {
    out[0] = out[1] = none;
    const char *p = s->concrete, *end = p + s->concrete_n;
    if (!p) return;
    for (int k = 0; p < end; k++) {
        const char *a = memchr(p, '"', (size_t)(end - p));
        if (!a) return;
        const char *b = memchr(a + 1, '"', (size_t)(end - a - 1));
        if (!b) return;
        if (k == i) {
            int got = 0;
            for (const char *q = a + 1; q < b && got < 2; q++) {
                if (*q < '0' || *q > '9') continue;
                int64_t v = 0;
                while (q < b && *q >= '0' && *q <= '9' && v < 1 << 20) v = v * 10 + (*q++ - '0');
                out[got++] = v;
            }
            if (got == 1) out[1] = out[0];
            return;
        }
        p = b + 1;
    }
}

static struct op_cost convolution(const char *op, const struct op_shapes *s) {
    struct op_cost c = {0};
    bool back = strstr(op, "backward") != NULL;
    const struct tensor_shape *x = &s->in[back ? 1 : 0], *w = &s->in[back ? 2 : 1];
    if (s->n < (back ? 3 : 2) || x->nd < 3 || x->nd > 5 || w->nd != x->nd) return c;
    double out = (double)x->d[0] * (double)w->d[0];
    if (back) {
        out = (double)s->in[0].numel;
    } else {
        bool cudnn = strstr(op, "cudnn") || strstr(op, "miopen");
        int64_t stride[2], pad[2];
        concrete_pair(s, cudnn ? 3 : 3, stride, 1);
        concrete_pair(s, cudnn ? 2 : 4, pad, 0);
        for (int i = 2; i < x->nd; i++) {
            int64_t st = RG_MAX(stride[(i - 2) & 1], 1), pd = pad[(i - 2) & 1];
            int64_t o = (x->d[i] + 2 * pd - w->d[i]) / st + 1;
            out *= (double)RG_MAX(o, 1);
        }
    }
    double per = 1;
    for (int i = 1; i < w->nd; i++) per *= (double)w->d[i];
    c.flops = 2 * out * per;
    c.bytes = ((double)x->numel + (double)w->numel + out) * x->elt;
    c.elt = x->elt;
    c.type = x->type;
    c.known = c.flops > 0;
    return c;
}

static struct op_cost attention(const char *op, const struct op_shapes *s) {
    struct op_cost c = {0};
    bool back = strstr(op, "backward") != NULL;
    const struct tensor_shape *q = &s->in[back ? 1 : 0], *k = &s->in[back ? 2 : 1];
    if (s->n < 3 || q->nd != 4 || k->nd != 4) return c;
    bool heads_first = strstr(op, "scaled_dot_product") != NULL;
    double b = (double)q->d[0], h = (double)q->d[heads_first ? 1 : 2], sq = (double)q->d[heads_first ? 2 : 1];
    double sk = (double)k->d[heads_first ? 2 : 1], dim = (double)q->d[3];
    c.flops = 4 * b * h * sq * sk * dim * (back ? 2.5 : 1);
    c.bytes = (2.0 * (double)q->numel + 2.0 * (double)k->numel) * q->elt * (back ? 2 : 1);
    c.elt = q->elt;
    c.type = q->type;
    c.known = c.flops > 0;
    return c;
}

/* Bytes that must move for a tensor: a dimension of stride 0 repeats what was read; elements apart from one another take a
 * sector of 32 bytes each. */
static double moved(const struct tensor_shape *x) {
    double elements = 1;
    int64_t least = INT64_MAX;
    if (!x->strided) return (double)x->numel * x->elt;
    for (int i = 0; i < x->nd; i++) {
        if (!x->stride[i] && x->d[i] > 1) continue;
        elements *= (double)x->d[i];
        if (x->d[i] > 1) least = RG_MIN(least, x->stride[i]);
    }
    double each = least == INT64_MAX ? x->elt : RG_MIN((double)least * x->elt, RG_MAX(32.0, (double)x->elt));
    return elements * RG_MAX(each, (double)x->elt);
}

/* Writes its tensor and reads none: fill_, zero_, random numbers. */
static bool only_writes(const char *name) {
    static const char *const ops[] = {
        "fill_",        "zero_",      "zeros",     "ones",      "full",      "normal_",  "uniform_",
        "random_",      "arange",     "linspace",  "rand",      "randn",     "eye",      "bernoulli_",
        "exponential_", "zeros_like", "ones_like", "full_like", "new_zeros", "new_full", "fill"};
    for (size_t i = 0; i < RG_COUNT(ops); i++)
        if (!strcmp(name, ops[i])) return true;
    return false;
}

/* More than one pass over its input: what it must compute and move does not follow from its size. */
static bool many_passes(const char *name) {
    static const char *const parts[] = {
        "svd",     "eig",       "qr",        "chole",       "inv",          "lu_",        "solve",
        "lstsq",   "slogdet",   "matrix",    "fft",         "sort",         "topk",       "unique",
        "nonzero", "kthval",    "median",    "multinomial", "histc",        "bincou",     "cdist",
        "pdist",   "searchsor", "bucketize", "lstm",        "gru",          "grid_sampl", "upsam",
        "unfold",  "im2col",    "col2im",    "randperm",    "masked_selec", "einsum",     "ctc_loss"};
    for (size_t i = 0; i < RG_COUNT(parts); i++)
        if (strstr(name, parts[i])) return true;
    return false;
}

static bool alike(const struct tensor_shape *x, const struct tensor_shape *y) {
    return x->nd == y->nd && x->elt == y->elt && x->type == y->type && x->strided == y->strided &&
           !memcmp(x->d, y->d, (size_t)x->nd * sizeof x->d[0]) &&
           (!x->strided || !memcmp(x->stride, y->stride, (size_t)x->nd * sizeof x->stride[0]));
}

/* Reads every tensor once, writes a result as large as the largest. */
static struct op_cost streaming(const struct op_shapes *s, int cls) {
    struct op_cost c = {0};
    for (int i = 0; i < s->n; i++) {
        const struct tensor_shape *x = &s->in[i];
        if (x->nd < 0) return (struct op_cost){0}; /* a list of tensors: sizes not kept */
        if (!x->elt || x->nd == 0) continue;
        c.bytes += moved(x);
        for (int k = 0; k < i; k++)
            if (alike(x, &s->in[k])) {
                c.same += moved(x);
                break;
            }
        if (x->numel > c.numel) c.numel = x->numel, c.elt = x->elt, c.type = x->type;
    }
    if (!c.numel) return c;
    if (cls != KC_REDUCE) c.bytes += (double)c.numel * c.elt;
    c.flops = (double)c.numel * (cls == KC_NORM ? 5 : 1);
    c.known = true;
    return c;
}

/* The first tensor, written once. */
static struct op_cost writing(const struct op_shapes *s) {
    struct op_cost c = {0};
    const struct tensor_shape *x = &s->in[0];
    if (!s->n || x->nd <= 0 || !x->elt) return c;
    c.numel = x->numel, c.elt = x->elt, c.type = x->type;
    c.bytes = moved(x);
    c.known = c.numel > 0;
    return c;
}

struct op_cost op_cost(const char *op, int cls, const struct op_shapes *s) {
    const char *name = strrchr(op, ':');
    name = name ? name + 1 : op;
    switch (cls) {
    case KC_GEMM:
        if (!strcmp(name, "mm") || !strcmp(name, "bmm") || !strcmp(name, "matmul") || ends(name, "_mm"))
            return gemm_cost(&s->in[0], &s->in[1], false);
        if (!strcmp(name, "addmm") || !strcmp(name, "baddbmm") || !strcmp(name, "_addmm_activation"))
            return gemm_cost(&s->in[1], &s->in[2], false);
        if (!strcmp(name, "linear")) return gemm_cost(&s->in[0], &s->in[1], true);
        return (struct op_cost){0};
    case KC_CONV: return strstr(name, "conv") ? convolution(name, s) : (struct op_cost){0};
    case KC_ATTENTION: return attention(name, s);
    case KC_ELEMENTWISE:
    case KC_NORM:
    case KC_REDUCE:
        /* Gathers read a part of their input: the input's size says nothing. */
        if (strstr(name, "index") || strstr(name, "embedding") || strstr(name, "gather"))
            return (struct op_cost){0};
        if (strstr(name, "conv") || strstr(name, "mm") || many_passes(name)) return (struct op_cost){0};
        if (only_writes(name)) return writing(s);
        return streaming(s, cls);
    case KC_COPY:
    case KC_LAYOUT:
        if (strstr(name, "cat") || strstr(name, "conv")) return (struct op_cost){0};
        if (!strcmp(name, "copy_")) { /* both sides are inputs */
            struct op_cost c = streaming(s, cls);
            if (s->n >= 2 && s->in[0].elt && s->in[1].elt) c.bytes -= (double)c.numel * c.elt;
            return c;
        }
        return streaming(s, cls);
    default: return (struct op_cost){0};
    }
}
