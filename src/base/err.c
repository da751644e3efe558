/* err.c: the sticky error record and the one setjmp of the project.
 *
 * Two ways to fail meet here. Code that a caller checks uses err_set: the first error is kept, later
 * ones are dropped, because they are mostly its consequences. Code deep inside a compile uses
 * err_throw, which records in the same struct and unwinds to the err_guard that owns the arena; so all
 * it leaves behind is arena memory, and nothing needs a destructor.
 *
 * Invariants: e->guard is the innermost live guard or NULL; no frame between a guard and a throw may
 * hold a lock, a file or heap memory. err_guard is the only caller of setjmp, err_throw of longjmp.
 * Tests: tests/unit/base.c (err_*). */
#include "internal.h"

#include <setjmp.h>
#include <stdlib.h>

struct guard {
    jmp_buf jump;
    struct guard *up;
};

const char *rg_status_text(int code) {
    switch (code) {
#define X(name, value, text) \
    case value: return text;
        STATUS_TABLE(X)
#undef X
    default: return "unknown status";
    }
}

/* Names of files and what other programs said may hold anything; a message is for a terminal. The tail of a long one is cut. */
static void text_escape(char *text, size_t room) {
    bool bad = false;
    for (const char *s = text; *s && !bad;) s += text_next(s, &bad);
    if (!bad) return;
    char out[sizeof((struct err *)0)->msg];
    room = RG_MIN(room, sizeof out);
    size_t at = 0;
    for (const char *s = text; *s;) {
        size_t n = text_next(s, &bad);
        if (at + (bad ? 4 : 1) * n >= room) break;
        for (; n; n--, s++)
            if (bad)
                at += (size_t)snprintf(out + at, 5, "\\x%02x", (unsigned char)*s);
            else
                out[at++] = *s;
    }
    memcpy(text, out, at);
    text[at] = 0;
}

int err_setv(struct err *e, int code, const char *fmt, va_list ap) {
    if (e->code) return code;
    e->code = code ? code : RG_EINTERNAL;
    text_vprintf(e->msg, sizeof e->msg, fmt, ap);
    size_t n = strlen(e->msg);
    while (n && e->msg[n - 1] == '\n') e->msg[--n] = 0; /* compiler output ends in newlines */
    text_escape(e->msg, sizeof e->msg);
    return code;
}

int err_set(struct err *e, int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    err_setv(e, code, fmt, ap);
    va_end(ap);
    return code;
}

void err_prefix(struct err *e, const char *fmt, ...) {
    if (!e->code) return;
    char head[sizeof e->msg];
    va_list ap;
    va_start(ap, fmt);
    int n = text_vprintf(head, sizeof head, fmt, ap);
    va_end(ap);
    if (n < 0) head[0] = 0;
    text_escape(head, sizeof head);
    size_t k = strlen(head);
    size_t keep = RG_MIN(strlen(e->msg), sizeof e->msg - 1 - k); /* the tail of a long one is cut */
    memmove(e->msg + k, e->msg, keep);
    memcpy(e->msg, head, k);
    e->msg[k + keep] = 0;
}

void err_clear(struct err *e) {
    e->code = 0;
    e->msg[0] = 0;
}

void err_throw(struct err *e, int code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    err_setv(e, code, fmt, ap);
    va_end(ap);
    if (!e->guard) {
        fprintf(stderr, "ridge: error with no err_guard above it: %s\n", e->msg);
        abort();
    }
    longjmp(e->guard->jump, 1);
}

int err_guard(struct err *e, void (*fn)(void *), void *arg) {
    if (e->code) return e->code;
    struct guard g = {.up = e->guard};
    e->guard = &g;
    if (!setjmp(g.jump)) fn(arg);
    e->guard = g.up;
    return e->code;
}
