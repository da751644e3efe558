/* values_file.h: reads tests/values/ops.txt and its like (outside values of ops; ops_lib.py there has the layout)
 * and compares tensors with it. It knows nothing of Ridge but the names of dtypes, and rounds by code of
 * its own, so that a mistake in Ridge's tables of types cannot hide itself. Used by values_ops.c. */
#ifndef RIDGE_TEST_VALUES_FILE_H
#define RIDGE_TEST_VALUES_FILE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "test.h"

enum { VF_MAX_IN = 20, VF_MAX_DIMS = 8, VF_MAX_PAR = 8 };

/* clang-format off: a table */
/*    type  bytes  bits of precision (0: not a float)  least exponent  signed */
#define VF_TYPES(X)           \
    X(bool, 1, 0, 0, false)   \
    X(i8, 1, 0, 0, true)      \
    X(i16, 2, 0, 0, true)     \
    X(i32, 4, 0, 0, true)     \
    X(i64, 8, 0, 0, true)     \
    X(u8, 1, 0, 0, false)     \
    X(u16, 2, 0, 0, false)    \
    X(u32, 4, 0, 0, false)    \
    X(u64, 8, 0, 0, false)    \
    X(f16, 2, 11, -14, true)  \
    X(bf16, 2, 8, -126, true) \
    X(f32, 4, 24, -126, true) \
    X(f64, 8, 53, -1022, true)
/* clang-format on */
enum vf_type {
#define X(name, bytes, p, emin, is_signed) VF_##name,
    VF_TYPES(X)
#undef X
        VF_TYPE_N
};
static const struct vf_info {
    const char *name;
    int bytes, p, emin;
    bool is_signed;
} vf_info[VF_TYPE_N] = {
#define X(name, bytes, p, emin, is_signed) {#name, bytes, p, emin, is_signed},
    VF_TYPES(X)
#undef X
};

/* A tensor of the file. Integers are in i (u64 as the same bits), floats in f. */
struct vf_tensor {
    enum vf_type type;
    int rank, input; /* input: of a gradient, which input it belongs to */
    int64_t dim[VF_MAX_DIMS], n;
    const char *views; /* of an input */
    double u, a, z;    /* tolerance of an expected tensor; z: a zero may have either sign */
    double *f;
    int64_t *i;
};
struct vf_case {
    const char *name, *op, *path;
    const char *key[VF_MAX_PAR], *value[VF_MAX_PAR];
    int npar, nin, ngrad, line;
    bool refuse, has_seed;
    struct vf_tensor in[VF_MAX_IN], out, seed, grad[VF_MAX_IN];
};
struct vf_file {
    struct arena *arena;
    const char *path;
    VEC(struct vf_case *) cases;
};

/* ---- types
 * --------------------------------------------------------------------------------------
 */

static inline enum vf_type vf_type_named(const char *name) {
    for (int t = 0; t < VF_TYPE_N; t++)
        if (!strcmp(vf_info[t].name, name)) return (enum vf_type)t;
    FAIL("no dtype is called '%s'", name);
}
static inline bool vf_is_float(enum vf_type t) { return vf_info[t].p > 0; }

/* What one unit in the last place of x is in the type. */
static inline double vf_ulp(enum vf_type t, double x) {
    int e = vf_info[t].emin + 1;
    if (x != 0 && isfinite(x)) frexp(x, &e);
    return ldexp(1, RG_MAX(e - 1, vf_info[t].emin) - vf_info[t].p + 1);
}

static inline void vf_store(enum vf_type t, void *at, double f, int64_t i) {
    uint64_t bits = (uint64_t)i;
    if (t == VF_f64) memcpy(&bits, &f, 8);
    if (t == VF_f32 || t == VF_bf16) {
        /* a bf16 of the file is a float32 with zeros below: ops_lib.py rounded it, and it has few enough
         * digits to come back exactly once it is rounded to eight bits here */
        double q = t == VF_bf16 && isfinite(f) ? vf_ulp(t, f) : 0;
        float s = (float)(q > 0 ? rint(f / q) * q : f);
        uint32_t w;
        memcpy(&w, &s, 4);
        bits = t == VF_f32 ? w : isnan(f) ? 0x7fc0 : w >> 16;
    }
    if (t ==
        VF_f16) { /* a multiple of the last place, counted from that of a subnormal or with the exponent */
        double q = vf_ulp(t, f), n = isfinite(f) ? rint(fabs(f) / q) : 0;
        int e = isfinite(f) ? (int)(log2(q) + 24) : 31; /* of a subnormal 0, and of the least normal number */
        bits = isnan(f) ? 0x7e00 : isfinite(f) && n * q < 65536 ? (uint64_t)n + ((uint64_t)e << 10) : 0x7c00;
        if (signbit(f)) bits |= 0x8000;
    }
    memcpy(at, &bits, (size_t)vf_info[t].bytes); /* the low bytes come first on
                                                  every machine Ridge runs on */
}

static inline void vf_load(enum vf_type t, const void *at, double *f, int64_t *i) {
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)vf_info[t].bytes);
    int unused = 64 - 8 * vf_info[t].bytes;
    *i = vf_info[t].is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    *f = 0;
    if (t == VF_f64) memcpy(f, &bits, 8);
    if (t == VF_f32 || t == VF_bf16) {
        uint32_t w = t == VF_bf16 ? (uint32_t)bits << 16 : (uint32_t)bits;
        float s;
        memcpy(&s, &w, 4);
        *f = s;
    }
    if (t == VF_f16) {
        int e = (int)(bits >> 10 & 31), m = (int)(bits & 0x3ff);
        *f = e == 31 ? (m ? (double)NAN : (double)INFINITY) : ldexp(e ? m + 1024 : m, RG_MAX(e, 1) - 25);
        if (bits >> 15 & 1) *f = -*f;
    }
}

/* The tensor as memory; at least one byte, so that an empty one has an address. */
static inline void *vf_bytes(struct arena *a, const struct vf_tensor *t) {
    size_t size = (size_t)vf_info[t->type].bytes;
    char *p = arena_alloc(a, (size_t)t->n * size + 1);
    for (int64_t k = 0; k < t->n; k++)
        vf_store(t->type, p + (size_t)k * size, t->f ? t->f[k] : 0, t->i ? t->i[k] : 0);
    return p;
}

/* ---- comparing
 * ----------------------------------------------------------------------------------
 */

static inline bool vf_same(const struct vf_tensor *w, int64_t k, double f, int64_t i) {
    if (!vf_is_float(w->type)) return i == w->i[k];
    double want = w->f[k];
    if (isnan(want) || isnan(f)) return isnan(want) && isnan(f);
    if (want == 0 && w->a == 0 && !w->z) return f == 0 && !signbit(f) == !signbit(want);
    if (isinf(want) || isinf(f)) return f == want;
    if (w->u == 0 && w->a == 0) return f == want;
    return fabs(f - want) <= w->u * vf_ulp(w->type, want) + w->a;
}

/* The first element of `got` that is not as expected, described in `msg`; or -1. */
static inline int64_t vf_compare(const struct vf_tensor *w, const void *got, char *msg, size_t size) {
    for (int64_t k = 0; k < w->n; k++) {
        double f;
        int64_t i;
        vf_load(w->type, (const char *)got + k * vf_info[w->type].bytes, &f, &i);
        if (vf_same(w, k, f, i)) continue;
        char at[64] = "";
        int64_t rest = k;
        for (int d = w->rank - 1; d >= 0; rest /= w->dim[d], d--) {
            char tail[64];
            snprintf(tail, sizeof tail, "%lld%s%.40s", (long long)(rest % w->dim[d]), *at ? "," : "", at);
            memcpy(at, tail, sizeof at);
        }
        if (!vf_is_float(w->type))
            snprintf(msg, size, "[%s] is %lld, expected %lld", at, (long long)i, (long long)w->i[k]);
        else
            snprintf(msg, size,
                     "[%s] is %.17g, expected %.17g (off by %.3g ulp; allowed %.3g "
                     "ulp + %.3g)",
                     at, f, w->f[k], fabs(f - w->f[k]) / vf_ulp(w->type, w->f[k]), w->u, w->a);
        return k;
    }
    return -1;
}

/* ---- reading
 * ------------------------------------------------------------------------------------
 */

/* The value of parameter `key`, or NULL. */
static inline const char *vf_par(const struct vf_case *c, const char *key) {
    for (int k = 0; k < c->npar; k++)
        if (!strcmp(c->key[k], key)) return c->value[k];
    return NULL;
}
static inline double vf_num(const struct vf_case *c, const char *key, double otherwise) {
    const char *v = vf_par(c, key);
    return v ? strtod(v, NULL) : otherwise;
}
static inline bool vf_has(const struct vf_case *c, const char *word) {
    const char *v = vf_par(c, "has");
    return v && strstr(v, word);
}
/* "0,-1,3" into out; returns how many. A missing key or an empty value: none. */
static inline uint32_t vf_list(const char *v, int64_t *out, uint32_t max) {
    uint32_t n = 0;
    while (v && *v && n < max) {
        out[n++] = strtoll(v, (char **)&v, 10);
        if (*v == ',') v++;
    }
    return n;
}

static inline void vf_dims(struct vf_tensor *t, const char *s) {
    t->n = 1;
    for (t->rank = 0; *s && *s != '-'; t->rank++) {
        if (t->rank == VF_MAX_DIMS) FAIL("too many axes: %s", s);
        t->n *= t->dim[t->rank] = strtoll(s, (char **)&s, 10);
        if (*s == 'x') s++;
    }
}

/* Numbers separated by spaces; 3*5 is 3 3 3 3 3. */
static inline void vf_numbers(struct vf_file *v, const struct vf_case *c, struct vf_tensor *t, char *s) {
    bool fl = vf_is_float(t->type);
    if (fl)
        t->f = arena_array(v->arena, double, t->n + 1);
    else
        t->i = arena_array(v->arena, int64_t, t->n + 1);
    int64_t k = 0;
    for (;;) {
        while (*s == ' ') s++;
        if (!*s || *s == '\n') break;
        char *end;
        double f = fl ? strtod(s, &end) : 0;
        int64_t i = fl ? 0 : *s == '-' ? strtoll(s, &end, 10) : (int64_t)strtoull(s, &end, 10);
        int64_t times = *end == '*' ? strtoll(end + 1, &end, 10) : 1;
        if (end == s || times > t->n - k)
            FAIL("%s: case %s: bad number or too many: %.20s", v->path, c->name, s);
        for (; times > 0; times--, k++)
            if (fl)
                t->f[k] = f;
            else
                t->i[k] = i;
        s = end;
    }
    if (k != t->n)
        FAIL("%s: case %s: %lld numbers, expected %lld", v->path, c->name, (long long)k, (long long)t->n);
}

/* "= NAME OP KEY=VALUE ..." */
static inline struct vf_case *vf_begin(struct vf_file *v, char *line, int number) {
    struct vf_case *c = arena_new(v->arena, struct vf_case);
    char *rest = NULL;
    c->line = number, c->path = v->path;
    c->name = strtok_r(line + 1, " ", &rest);
    c->op = strtok_r(NULL, " ", &rest);
    for (char *w; (w = strtok_r(NULL, " ", &rest)); c->npar++) {
        char *eq = strchr(w, '=');
        if (!eq || c->npar == VF_MAX_PAR) FAIL("%s:%d: bad parameter '%s'", v->path, number, w);
        *eq = 0;
        c->key[c->npar] = w;
        c->value[c->npar] = eq + 1;
    }
    vec_push(v->arena, &v->cases, c);
    return c;
}

/* The words before the bar of one line of a case, then its numbers. */
static inline void vf_item(struct vf_file *v, struct vf_case *c, char *line, int number) {
    char kind = line[0], *bar = strchr(line, '|'), *rest = NULL;
    if (kind == 'e') {
        c->refuse = true;
        return;
    }
    if (!bar) FAIL("%s:%d: no numbers", v->path, number);
    *bar = 0;
    struct vf_tensor *t = &c->out;
    if (kind == 'i' || kind == 'g') {
        int *n = kind == 'i' ? &c->nin : &c->ngrad;
        if (*n == VF_MAX_IN) FAIL("%s:%d: too many tensors", v->path, number);
        t = kind == 'i' ? &c->in[(*n)++] : &c->grad[(*n)++];
    }
    char *w = strtok_r(line + 1, " ", &rest);
    if (kind == 's') { /* as the output */
        t = &c->seed;
        *t = c->out;
        c->has_seed = true;
    } else if (kind == 'g') { /* as the input */
        int k = atoi(w);
        *t = c->in[k];
        t->input = k;
        t->z = 1;
    } else {
        t->type = vf_type_named(w);
        vf_dims(t, strtok_r(NULL, " ", &rest));
        if (kind == 'i') t->views = strtok_r(NULL, " ", &rest);
    }
    while ((w = strtok_r(NULL, " ", &rest)))
        if (w[1] == '=') *(w[0] == 'u' ? &t->u : w[0] == 'a' ? &t->a : &t->z) = strtod(w + 2, NULL);
    vf_numbers(v, c, t, bar + 1);
    bool rounded = kind == 'i' || kind == 's' || (kind == 'o' && t->u == 0 && t->a == 0);
    for (int64_t k = 0; t->f && rounded && k < t->n;
         k++) { /* the digits are those that read back as the same value */
        uint64_t word;
        int64_t unused;
        vf_store(t->type, &word, t->f[k], 0);
        vf_load(t->type, &word, &t->f[k], &unused);
    }
}

/* Adds the cases of a file to v, which begins as zeros. */
static inline void vf_read(struct vf_file *v, struct arena *a, const char *path) {
    char *text, *rest = NULL;
    size_t n;
    struct vf_case *c = NULL;
    v->arena = a, v->path = path;
    if (os_read_file(a->err, a, path, 64 << 20, &text, &n))
        FAIL("%s: the script of the same name in tests/values writes it", path);
    int number = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        number++;
        if (*line == '#') continue;
        if (*line == '=')
            c = vf_begin(v, line, number);
        else if (c)
            vf_item(v, c, line, number);
    }
}

#endif
