/* scan.c: strings, numbers and values of JSON over a window, eight bytes at a time where it pays.
 *
 * Real traces are not always JSON: raw backslashes, stray quotes inside names, NaN and N/A, control
 * characters. A quote that no comma, colon or bracket follows is taken as part of the string and
 * counted; barewords are skipped as values. Tests: tests/unit/analyze.c */
#include "analyze/readers/json.h"

#define ONES 0x0101010101010101u
#define HIGH 0x8080808080808080u

static inline uint64_t load8(const uint8_t *p) {
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}
static inline uint64_t has_byte(uint64_t x, uint8_t b) {
    x ^= ONES * b;
    return (x - ONES) & ~x & HIGH;
}

/* The first quote or backslash at or after p. */
static inline const uint8_t *find_quote(const uint8_t *p) {
    for (;;) {
        uint64_t x = load8(p), m = has_byte(x, '"') | has_byte(x, '\\');
        if (m) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            return p + (__builtin_ctzll(m) >> 3);
#else
            while (*p != '"' && *p != '\\') p++;
            return p;
#endif
        }
        p += 8;
    }
}

const uint8_t *js_string(struct scan *s, const uint8_t *p, struct slice *out) {
    const uint8_t *q = p;
    out->esc = false;
    for (;;) {
        q = find_quote(q);
        if (q >= s->end) return s->bad = false, NULL;
        if (*q == '\\') {
            out->esc = true;
            q += 2;
            if (q > s->end) return s->bad = false, NULL;
            continue;
        }
        uint8_t c = q[1];
        if (c == ',' || c == ':' || c == '}' || c == ']') break;
        const uint8_t *r = js_space(q + 1);
        if (*r == ',' || *r == ':' || *r == '}' || *r == ']' || r >= s->end) break;
        if (q - p > 65536) return s->bad = true, NULL;
        s->repaired++;
        q++;
    }
    out->p = p;
    out->n = (uint32_t)(q - p);
    return q + 1;
}

/* A key is never repaired: the quote that ends it is followed by a colon, or the event is broken. */
const uint8_t *js_key(struct scan *s, const uint8_t *p, struct slice *out) {
    const uint8_t *q = find_quote(p);
    if (q >= s->end) return s->bad = false, NULL;
    out->p = p;
    out->n = (uint32_t)(q - p);
    out->esc = false;
    if (*q != '"') return s->bad = true, NULL;
    q = q[1] == ':' ? q + 1 : js_space(q + 1);
    if (*q != ':') return js_bad(s, q);
    return q + 1;
}

/* Arrays and objects: counts brackets outside of strings. */
static const uint8_t *skip_nested(struct scan *s, const uint8_t *p) {
    int depth = 0;
    struct slice ignored;
    for (;;) {
        switch (*p) {
        case '[':
        case '{':
            depth++;
            p++;
            break;
        case ']':
        case '}':
            p++;
            if (--depth == 0) return p;
            break;
        case '"':
            if (p >= s->end) return s->bad = false, NULL;
            p = js_string(s, p + 1, &ignored);
            if (!p) return NULL;
            break;
        case 0:
            if (p >= s->end) return s->bad = false, NULL;
            return s->bad = true, NULL;
        default: p++;
        }
    }
}

const uint8_t *js_value(struct scan *s, const uint8_t *p, struct slice *out) {
    p = js_space(p);
    if (p >= s->end) return s->bad = false, NULL;
    if (*p == '"') return js_string(s, p + 1, out);
    const uint8_t *q = p;
    if (*p == '[' || *p == '{') {
        q = skip_nested(s, p);
        if (!q) return NULL;
    } else {
        while (*q && *q != ',' && *q != '}' && *q != ']' && *q > ' ') q++;
        if (q >= s->end) return s->bad = false, NULL;
        if (q == p || !*q) return s->bad = true, NULL;
    }
    out->p = p;
    out->n = (uint32_t)(q - p);
    out->esc = false;
    return q;
}

/* 10^k as integers; times beyond 4e18 ns (126 years) are clamped, and thrown out later by length. */
#define TIME_MAX 4000000000000000000

static int64_t scale(uint64_t v, int power) {
    for (; power > 0; power--) {
        if (v > TIME_MAX / 10) return TIME_MAX;
        v *= 10;
    }
    for (; power < 0 && v; power++) v /= 10;
    return v > TIME_MAX ? TIME_MAX : (int64_t)v;
}

const uint8_t *js_time(struct scan *s, const uint8_t *p, int64_t *ns) {
    p = js_space(p);
    bool quoted = *p == '"' && p < s->end, neg = false;
    if (quoted) p++;
    if (*p == '-') neg = true, p++;
    const uint8_t *start = p;
    uint64_t v = 0;
    int power = 3;
    for (; (uint8_t)(*p - '0') < 10; p++) {
        if (v < TIME_MAX / 10)
            v = v * 10 + (*p - '0');
        else
            power++;
    }
    if (*p == '.') {
        for (p++; (uint8_t)(*p - '0') < 10; p++)
            if (power > 0 && v < TIME_MAX / 10) v = v * 10 + (*p - '0'), power--;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        bool eneg = *p == '-';
        if (*p == '-' || *p == '+') p++;
        int e = 0;
        for (; (uint8_t)(*p - '0') < 10; p++)
            if (e < 1000) e = e * 10 + (*p - '0');
        power += eneg ? -e : e;
    }
    if (p >= s->end) return s->bad = false, NULL;
    if (p == start) return s->bad = true, NULL;
    if (quoted) {
        if (*p != '"') return s->bad = true, NULL;
        p++;
    }
    *ns = neg ? 0 : scale(v, power);
    return p;
}

const uint8_t *js_int(struct scan *s, const uint8_t *p, int64_t *v) {
    struct slice t;
    p = js_value(s, p, &t);
    if (p) *v = js_slice_int(&t);
    return p;
}

int64_t js_slice_int(const struct slice *t) {
    uint32_t i = 0;
    bool neg = t->n && t->p[0] == '-';
    uint64_t x = 0;
    if (neg) i++;
    for (; i < t->n && (uint8_t)(t->p[i] - '0') < 10 && x < INT64_MAX / 20; i++) x = x * 10 + (t->p[i] - '0');
    return neg ? -(int64_t)x : (int64_t)x;
}

bool js_is(const struct slice *s, const char *text) {
    size_t n = strlen(text);
    return s->n == n && memcmp(s->p, text, n) == 0;
}

static size_t put_utf8(char *o, uint32_t c) {
    if (c < 0x80) return o[0] = (char)c, 1;
    if (c < 0x800) return o[0] = (char)(0xc0 | c >> 6), o[1] = (char)(0x80 | (c & 63)), 2;
    o[0] = (char)(0xe0 | c >> 12);
    o[1] = (char)(0x80 | (c >> 6 & 63));
    o[2] = (char)(0x80 | (c & 63));
    return 3;
}

size_t js_unescape(const struct slice *s, char *out, size_t cap) {
    size_t o = 0;
    for (uint32_t i = 0; i < s->n && o + 4 < cap; i++) {
        uint8_t c = s->p[i];
        if (c != '\\' || i + 1 >= s->n) {
            out[o++] = (char)c;
            continue;
        }
        c = s->p[++i];
        if (c == 'n')
            out[o++] = '\n';
        else if (c == 't')
            out[o++] = '\t';
        else if (c == '"' || c == '\\' || c == '/')
            out[o++] = (char)c;
        else if (c == 'u' && i + 4 < s->n) {
            uint32_t x = 0;
            for (int k = 1; k <= 4; k++) {
                uint8_t h = s->p[i + (uint32_t)k];
                x = x * 16 + (h <= '9' ? h - '0' : (h | 32) - 'a' + 10) % 16u;
            }
            i += 4;
            o += put_utf8(out + o, x ? x : '?');
        } else { /* a raw backslash of a Windows path */
            out[o++] = '\\';
            out[o++] = (char)c;
        }
    }
    return o;
}
