/* json.h: the scanner's primitives, shared by the event reader (json.c) and the header reader.
 *
 * No tree is built and nothing is allocated per value: a value is skipped, or a slice of the window is
 * handed out. Every function gets a position and returns the next one, or NULL: then either the window
 * ended (the caller asks for more and tries again) or the text is wrong; scan.bad tells which.
 * The byte after the window is NUL and quotes follow it, so loops over a string or a number stop by
 * themselves. Tests: tests/unit/analyze.c */
#ifndef RIDGE_ANALYZE_JSON_H
#define RIDGE_ANALYZE_JSON_H

#include "analyze/internal.h"

struct slice {
    const uint8_t *p;
    uint32_t n;
    bool esc; /* contains a backslash */
};
struct scan {
    const uint8_t *end; /* of the window */
    bool bad;
    uint64_t repaired;
};

static inline const uint8_t *js_space(const uint8_t *p) {
    while (*p <= ' ' && *p) p++;
    return p;
}
static inline const uint8_t *js_bad(struct scan *s, const uint8_t *p) {
    s->bad = p < s->end;
    return NULL;
}
/* p is after the opening quote; returns the position after the closing one. */
const uint8_t *js_string(struct scan *, const uint8_t *p, struct slice *out);
/* The same for a key; returns the position after its colon. */
const uint8_t *js_key(struct scan *, const uint8_t *p, struct slice *out);
/* Any value; `out` is its text (strings without quotes). */
const uint8_t *js_value(struct scan *, const uint8_t *p, struct slice *out);
/* Microseconds in decimal text to nanoseconds, with integers only. Quotes around it are allowed. */
const uint8_t *js_time(struct scan *, const uint8_t *p, int64_t *ns);
const uint8_t *js_int(struct scan *, const uint8_t *p, int64_t *v);
size_t js_unescape(const struct slice *, char *out, size_t cap);
bool js_is(const struct slice *, const char *text);
int64_t js_slice_int(const struct slice *);

#endif
