/* text.c: the scanner that the headers of npy and safetensors share.
 *
 * It is strict where JSON readers tend to be kind: a header is written by a program, and two readers that guess
 * differently at a broken one are how a file shows one thing to a checker and another to its user.
 * Nothing recurses, and each byte is looked at a bounded number of times. Tests: tests/unit/io.c, tests/unit/io_fuzz.c */
#include "text.h"

void tx_bad(const struct text_cursor *t, const char *fmt, ...) {
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    err_throw(t->err, RG_EPARSE, "header, byte %zu: %s", (size_t)(t->p - t->start), what);
}

static void skip(struct text_cursor *t) {
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t' || *t->p == '\r')) t->p++;
}

bool tx_take(struct text_cursor *t, char c) {
    skip(t);
    if (t->p == t->end || *t->p != (uint8_t)c) return false;
    t->p++;
    return true;
}

void tx_need(struct text_cursor *t, char c) {
    if (tx_take(t, c)) return;
    if (t->p == t->end) tx_bad(t, "'%c' expected, found the end", c);
    bool shows = *t->p > ' ' && *t->p < 127;
    tx_bad(t, shows ? "'%c' expected, found '%c'" : "'%c' expected, found byte %02x", c, *t->p);
}

void tx_end(struct text_cursor *t) {
    skip(t);
    if (t->p != t->end) tx_bad(t, "there is more text after the end of the description");
}

bool tx_word(struct text_cursor *t, const char *word) {
    skip(t);
    size_t n = strlen(word);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n)) return false;
    t->p += n;
    return true;
}

uint64_t tx_count(struct text_cursor *t) {
    skip(t);
    const uint8_t *first = t->p;
    int64_t v = 0;
    for (; t->p < t->end && (uint8_t)(*t->p - '0') < 10; t->p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *t->p - '0', &v))
            tx_bad(t, "a number of 2^63 or more");
    if (t->p == first) tx_bad(t, "a whole number of 0 or more expected");
    if (*first == '0' && t->p > first + 1) tx_bad(t, "a number that begins with 0");
    if (t->p < t->end && (*t->p == '.' || *t->p == 'e' || *t->p == 'E')) tx_bad(t, "a whole number expected");
    return (uint64_t)v;
}

/* ---- strings -------------------------------------------------------------------------------------------- */

/* Lengths by first byte; the second byte's range excludes overlong forms, surrogates and what is past U+10FFFF. */
bool io_utf8(const void *text, size_t n) {
    const uint8_t *p = text, *end = p + n;
    while (p < end) {
        uint8_t c = *p++, lo = 0x80, hi = 0xbf;
        int more = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
        if (more < 0 || end - p < more) return false;
        if (c == 0xe0) lo = 0xa0;
        if (c == 0xed) hi = 0x9f;
        if (c == 0xf0) lo = 0x90;
        if (c == 0xf4) hi = 0x8f;
        for (; more; more--, p++, lo = 0x80, hi = 0xbf)
            if (*p < lo || *p > hi) return false;
    }
    return true;
}

static uint32_t hex4(struct text_cursor *t) {
    uint32_t v = 0;
    for (int i = 0; i < 4; i++, t->p++) {
        uint8_t c = t->p < t->end ? *t->p : 0, low = c | 0x20;
        if ((uint8_t)(c - '0') < 10)
            v = v << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (uint32_t)(low - 'a' + 10);
        else
            tx_bad(t, "\\u is followed by four hexadecimal digits");
    }
    return v;
}

static char *put_utf8(char *o, uint32_t c) {
    if (c < 0x80) {
        *o++ = (char)c;
    } else if (c < 0x800) {
        *o++ = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        *o++ = (char)(0xe0 | c >> 12), *o++ = (char)(0x80 | (c >> 6 & 63));
    } else {
        *o++ = (char)(0xf0 | c >> 18), *o++ = (char)(0x80 | (c >> 12 & 63)),
        *o++ = (char)(0x80 | (c >> 6 & 63));
    }
    if (c >= 0x80) *o++ = (char)(0x80 | (c & 63));
    return o;
}

/* p is after the backslash. Six characters of text give at most three bytes, twelve at most four. */
static char *escape(struct text_cursor *t, char *o) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = t->p < t->end ? (char)*t->p : 0;
    const char *known = c ? strchr(from, c) : NULL;
    t->p++;
    if (known) {
        *o++ = to[known - from];
        return o;
    }
    if (c != 'u') tx_bad(t, "no such escape in a string");
    uint32_t v = hex4(t);
    if (v >= 0xd800 && v < 0xdc00) {
        if (t->end - t->p < 2 || t->p[0] != '\\' || t->p[1] != 'u') tx_bad(t, "half of a surrogate pair");
        t->p += 2;
        uint32_t low = hex4(t);
        if (low < 0xdc00 || low > 0xdfff) tx_bad(t, "half of a surrogate pair");
        v = 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00);
    } else if (v >= 0xdc00 && v < 0xe000) {
        tx_bad(t, "half of a surrogate pair");
    }
    if (!v) tx_bad(t, "a string with a NUL character");
    return put_utf8(o, v);
}

const char *tx_string(struct text_cursor *t, struct arena *a) {
    tx_need(t, '"');
    const uint8_t *q = t->p;
    while (q < t->end && *q != '"') q += *q == '\\' ? 2 : 1;
    if (q >= t->end) tx_bad(t, "a string without end");
    char *out = arena_raw(a, (size_t)(q - t->p) + 1), *o = out;
    while (t->p < q) {
        uint8_t c = *t->p;
        if (c < 0x20) tx_bad(t, "a control character in a string");
        t->p++;
        if (c == '\\')
            o = escape(t, o);
        else
            *o++ = (char)c;
    }
    *o = 0;
    t->p = q + 1;
    return out;
}
