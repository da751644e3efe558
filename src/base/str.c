/* str.c: a string builder in an arena. The text is NUL-terminated at all times; growth doubles and
 * extends in place while nothing else was allocated since, which is how printers and renderers use it.
 * Tests: tests/unit/base.c (str_*). */
#include "internal.h"

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
    int n = vsnprintf(s->cap ? s->p + s->n : NULL, room, fmt, ap);
    if (n > 0 && (size_t)n >= room) {
        need(s, (size_t)n);
        vsnprintf(s->p + s->n, s->cap - s->n, fmt, again);
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
