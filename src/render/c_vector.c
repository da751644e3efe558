/* c_vector.c: functions on vectors in the preamble of C (c_pre.c) that compilers do not write well: conversions between widths and
 * comparisons (gcc: register by register), selections by a mask of other width, integer division. Only those that a text names.
 * Tests: tests/unit/render.c, render_access.c */
#include "render/internal.h"

/* Conversions of vectors (CVT) for gcc: register by register. */
static const struct conversion {
    const char *from, *to;
    uint8_t from_bytes, to_bytes;
    const char *neon, *x86; /* of one register; NULL: the compiler's */
} conversions[] = {
    {"i8", "i16", 1, 2, "sxtl %0.8h, %1.8b", "vpmovsxbw"},
    {"u8", "u16", 1, 2, "uxtl %0.8h, %1.8b", "vpmovzxbw"},
    {"i16", "i32", 2, 4, "sxtl %0.4s, %1.4h", "vpmovsxwd"},
    {"u16", "u32", 2, 4, "uxtl %0.4s, %1.4h", "vpmovzxwd"},
    {"i32", "i64", 4, 8, "sxtl %0.2d, %1.2s", "vpmovsxdq"},
    {"u32", "u64", 4, 8, "uxtl %0.2d, %1.2s", "vpmovzxdq"},
    {"i16", "i8", 2, 1, "xtn %0.8b, %1.8h", "vpmovwb"},
    {"u16", "u8", 2, 1, "xtn %0.8b, %1.8h", "vpmovwb"},
    {"i32", "i16", 4, 2, "xtn %0.4h, %1.4s", "vpmovdw"},
    {"u32", "u16", 4, 2, "xtn %0.4h, %1.4s", "vpmovdw"},
    {"i64", "i32", 8, 4, "xtn %0.2s, %1.2d", "vpmovqd"},
    {"u64", "u32", 8, 4, "xtn %0.2s, %1.2d", "vpmovqd"},
    {"i32", "f32", 4, 4, "scvtf %0.4s, %1.4s", NULL},
    {"u32", "f32", 4, 4, "ucvtf %0.4s, %1.4s", NULL},
    {"i64", "f64", 8, 8, "scvtf %0.2d, %1.2d", NULL},
    {"u64", "f64", 8, 8, "ucvtf %0.2d, %1.2d", NULL},
    {"f32", "f64", 4, 8, "fcvtl %0.2d, %1.2s", NULL},
    {"f64", "f32", 8, 4, "fcvtn %0.2s, %1.2d", NULL},
    {"f16", "f32", 2, 4, "fcvtl %0.4s, %1.4h", NULL},
    {"f32", "f16", 4, 2, "fcvtn %0.4h, %1.4s", NULL},
    {"i32", "f64", 4, 8, NULL, NULL},
    {"u32", "f64", 4, 8, NULL, NULL},
    {"i64", "f32", 8, 4, NULL, NULL},
    {"u64", "f32", 8, 4, NULL, NULL},
};

/* n lanes by the instruction of a register, else half by half, else as the compiler does it. */
static void conversion(struct str *o, const struct conversion *c, int lanes) {
    for (int n = 2; n <= lanes; n *= 2) {
        int bytes = n * RG_MAX(c->from_bytes, c->to_bytes), least = n * RG_MIN(c->from_bytes, c->to_bytes);
        str_printf(o, "I %sx%d cvt_%s_%s_%d(%sx%d a) {\n", c->to, n, c->from, c->to, n, c->from, n);
        if (bytes > 16)
            str_printf(o,
                       "#if %d > WIDE\n"
                       "union { %sx%d v; %sx%d h[2]; } x = {a}; union { %sx%d h[2]; %sx%d v; } r = "
                       "{{cvt_%s_%s_%d(x.h[0]), cvt_%s_%s_%d(x.h[1])}}; return r.v; }\n"
                       "#else\n",
                       bytes, c->from, n, c->from, n / 2, c->to, n / 2, c->to, n, c->from, c->to, n / 2,
                       c->from, c->to, n / 2);
        if (bytes == 16 && c->neon)
            str_printf(o,
                       "#if defined(__aarch64__)\n"
                       "%sx%d r; __asm__(\"%s\" : \"=w\"(r) : \"w\"(a)); return r;\n"
                       "#endif\n",
                       c->to, n, c->neon);
        if (bytes >= 16 && bytes <= 64 && least >= 8 && c->x86)
            str_printf(
                o,
                "#if defined(%s)\n"
                "if (!__builtin_constant_p(a)) { %sx%d r; __asm__(\"%s %%1, %%0\" : \"=v\"(r) : \"v\"(a)); "
                "return r; }\n"
                "#endif\n",
                c->from_bytes < c->to_bytes ? "__AVX2__" : "__AVX512BW__", c->to, n, c->x86);
        str_printf(o, "return __builtin_convertvector(a, %sx%d); }\n%s", c->to, n,
                   bytes > 16 ? "#endif\n" : "");
    }
}

/* Division of 32-bit integers, rounded down, and what remains, by the quotient of doubles: it has 21 bits more, so that none reaches
 * the next integer. x / 0 and x mod 0 are 0. */
static void divisions(struct str *o, int lanes) {
    for (int n = 2; n <= lanes; n *= 2) {
        static const char *const name[] = {"div", "mod"};
        for (int i = 0; i < 2; i++) {
            str_printf(o, "I i32x%d %s_i32x%d(i32x%d a, i32x%d b) {\n", n, name[i], n, n, n);
            if (n > 2)
                str_printf(o,
                           "#if %d > WIDE\n"
                           "union { i32x%d v; i32x%d h[2]; } x = {a}, y = {b}, r = {.h = {%s_i32x%d(x.h[0], "
                           "y.h[0]), %s_i32x%d(x.h[1], y.h[1])}}; return r.v; }\n"
                           "#else\n",
                           8 * n, n, n / 2, name[i], n / 2, name[i], n / 2);
            str_printf(o,
                       "i32x%d none = (i32x%d)(b == 0), less = (i32x%d)(b == -1); "
                       "f64x%d q = floor_f64x%d(__builtin_convertvector(a, f64x%d) / "
                       "__builtin_convertvector(b | (none & 1), "
                       "f64x%d)); i32x%d r = ~none & SEL(i32x%d, i32x%d, less, (i32x%d)(0 - (u32x%d)a), "
                       "__builtin_convertvector(q, i32x%d)); return ",
                       n, n, n, n, n, n, n, n, n, n, n, n, n);
            str_printf(o, i ? "~none & (i32x%d)((u32x%d)a - (u32x%d)r * (u32x%d)b); }\n" : "r; }\n", n, n, n,
                       n);
            if (n > 2) str_add(o, "#endif\n");
        }
    }
}

/* BLEND for gcc by a mask register of AVX-512. */
static void blends(struct str *o, int lanes) {
    static const char letter[] = "bwdq", *const type[] = {"i8", "i16", "i32", "i64"};
    str_add(o, "#if IS_GCC && defined(__AVX512BW__) && defined(__AVX512VL__)\n");
    for (int mask = 0; mask < 4; mask++)
        for (int of = 0; of < 4; of++)
            for (int n = 2; n <= lanes && mask != of; n *= 2) {
                int widest = n << RG_MAX(mask, of), least = n << RG_MIN(mask, of);
                str_printf(o, "I %sx%d blend_%d_%d_%d(%sx%d m, %sx%d n, %sx%d a, %sx%d b) { ", type[of], n,
                           1 << mask, 1 << of, n, type[mask], n, type[of], n, type[of], n, type[of], n);
                if (widest <= 64 && least >= 8)
                    str_printf(
                        o,
                        "u%d k; %sx%d r; (void)n; __asm__(\"vpmov%c2m %%1, %%0\" : \"=k\"(k) : \"v\"(m)); "
                        "__asm__(\"vpblendm%c %%1, %%2, %%0%%{%%3%%}\" : \"=v\"(r) : \"v\"(a), \"v\"(b), "
                        "\"Yk\"(k)); return r; }\n",
                        RG_MAX(n, 8), type[of], n, letter[mask], letter[of]);
                else
                    str_printf(o, "(void)m; return SEL(%sx%d, %sx%d, n, a, b); }\n", type[of], n, type[of],
                               n);
            }
    str_add(o, "#endif\n");
}

static bool is_named(const struct c_names *t, const char *name) {
    bool found = !t->text;
    for (uint32_t i = 0; i < t->n && !found; i++) found = strstr(t->text[i], name) != NULL;
    for (size_t i = 0; i < RG_COUNT(t->more) && !found; i++) found = t->more[i] && strstr(t->more[i], name);
    return found;
}

/* Those that the text names; text NULL: all. */
static void conversions_of(struct str *o, const struct c_names *t, int lanes) {
    str_add(o, "#if IS_GCC\n");
    for (size_t k = 0; k < RG_COUNT(conversions); k++) {
        const struct conversion *c = &conversions[k];
        char name[32];
        snprintf(name, sizeof name, "CVT(%s, %s,", c->from, c->to);
        if (is_named(t, name)) conversion(o, c, lanes);
    }
    str_add(o, "#endif\n");
}

/* Comparisons (CMP) for gcc: register by register. */
static void comparisons_of(struct str *o, const struct c_names *names, int lanes) {
    static const char *const type[] = {"i8", "u8", "i16", "u16", "i32", "u32", "f32", "i64", "u64", "f64"};
    static const char *const mask[] = {"i8", "i8", "i16", "i16", "i32", "i32", "i32", "i64", "i64", "i64"};
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
    static const char *const op[][2] = {{"lt", "<"}, {"le", "<="}, {"eq", "=="}, {"ne", "!="}};
    str_add(o, "#if IS_GCC\n");
    for (size_t k = 0; k < RG_COUNT(type) * RG_COUNT(op); k++) {
        const char *t = type[k / RG_COUNT(op)], *m = mask[k / RG_COUNT(op)];
        const char *const *p = op[k % RG_COUNT(op)];
        char name[32];
        snprintf(name, sizeof name, "CMP(%s, %s,", t, p[0]);
        if (!is_named(names, name)) continue;
        for (int n = 2; n <= lanes; n *= 2) {
            str_printf(o, "I %sx%d cmp_%s_%s_%d(%sx%d a, %sx%d b) {\n", m, n, t, p[0], n, t, n, t, n);
            if (n > 2)
                str_printf(
                    o,
                    "#if %d > WIDE\n"
                    "if (__builtin_constant_p(a) && __builtin_constant_p(b)) return (%sx%d)(a %s b);\n"
                    "union { %sx%d v; %sx%d h[2]; } x = {a}, y = {b}; union { %sx%d h[2]; %sx%d v; } r = "
                    "{{cmp_%s_%s_%d(x.h[0], y.h[0]), cmp_%s_%s_%d(x.h[1], y.h[1])}}; return r.v; }\n"
                    "#else\n",
                    n * bytes[k / RG_COUNT(op)], m, n, p[1], t, n, t, n / 2, m, n / 2, m, n, t, p[0], n / 2,
                    t, p[0], n / 2);
            str_printf(o, "return (%sx%d)(a %s b); }\n%s", m, n, p[1], n > 2 ? "#endif\n" : "");
        }
    }
    str_add(o, "#endif\n");
}

void c_vector_functions(struct str *o, const struct c_names *t, int lanes) {
    conversions_of(o, t, lanes);
    if (is_named(t, "BLEND(")) blends(o, lanes);
    if (is_named(t, "div_i32x") || is_named(t, "mod_i32x")) divisions(o, lanes);
    comparisons_of(o, t, lanes);
}
