/* str.c: a string builder in an arena. The text is NUL-terminated at all times; growth doubles and
 * extends in place while nothing else was allocated since, which is how printers and renderers use it.
 * Tests: tests/unit/base.c (str_*). */
#include "internal.h"

#include <locale.h>
#include <stdlib.h>

/* The C locale's own object, which is not allocated; 0 if there is none, and the host's stays. */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

int text_vprintf(char *out, size_t room, const char *fmt, va_list ap) {
    locale_t host = uselocale(c_locale()); /* of this thread alone */
    int n = vsnprintf(out, room, fmt, ap);
    uselocale(host);
    return n;
}

int text_printf(char *out, size_t room, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = text_vprintf(out, room, fmt, ap);
    va_end(ap);
    return n;
}

double text_double(const char *text, char **end) {
    locale_t host = uselocale(c_locale());
    double x = strtod(text, end);
    uselocale(host);
    return x;
}

void str_init(struct str *s, struct arena *a) {
    *s = (struct str){.arena = a, .p = (char *)""}; /* never written to: cap is 0 */
}

/* Room for n more bytes and the NUL. */
static void need(struct str *s, size_t n) {
    if (n < s->cap && s->n < s->cap - n) return;
    if (n > SIZE_MAX / 4) err_throw(s->arena->err, RG_ENOMEM, "a string passed %zu bytes", n);
    size_t cap = RG_MAX(RG_MAX(s->cap * 2, s->n + n + 1), 64);
    s->p = arena_resize(s->arena, s->cap ? s->p : NULL, s->cap, cap);
    s->cap = cap;
}

void str_addn(struct str *s, const char *t, size_t n) {
    need(s, n);
    if (n) memcpy(s->p + s->n, t, n);
    s->n += n;
    s->p[s->n] = 0;
}

void str_add(struct str *s, const char *t) { str_addn(s, t, strlen(t)); }

void str_addc(struct str *s, char c) {
    need(s, 1);
    s->p[s->n++] = c;
    s->p[s->n] = 0;
}

void str_vprintf(struct str *s, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    size_t room = s->cap - s->n;
    int n = text_vprintf(s->cap ? s->p + s->n : NULL, room, fmt, ap);
    if (n > 0 && (size_t)n >= room) {
        need(s, (size_t)n);
        text_vprintf(s->p + s->n, s->cap - s->n, fmt, again);
    }
    va_end(again);
    if (n > 0) s->n += (size_t)n;
}

void str_printf(struct str *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(s, fmt, ap);
    va_end(ap);
}

/* The number of bytes of the UTF-8 character here; 0: it is none. */
static size_t utf8_size(const unsigned char *s) {
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0; /* the end of the text too */
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

size_t text_next(const char *text, bool *bad) {
    const unsigned char *s = (const unsigned char *)text;
    size_t n = utf8_size(s);
    bool c0 = (s[0] < 0x20 && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f,
         c1 = n == 2 && s[0] == 0xc2 && s[1] < 0xa0;
    *bad = !n || c0 || c1;
    return n ? n : 1;
}

const char *str_visible(struct arena *a, const char *text) {
    struct str s;
    str_init(&s, a);
    while (*text) {
        bool bad;
        size_t n = text_next(text, &bad);
        bad |= *text == '\n' || *text == '\t';
        if (!bad) str_addn(&s, text, n);
        for (size_t i = 0; bad && i < n; i++) str_printf(&s, "\\x%02x", (unsigned char)text[i]);
        text += n;
    }
    return s.p;
}
