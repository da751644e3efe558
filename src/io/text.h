/* text.h: a strict scanner for the small texts inside files: the JSON of safetensors, the Python literal of npy.
 * Private to src/io. Whatever does not fit throws, with the position: run it inside err_guard. */
#ifndef RIDGE_IO_TEXT_H
#define RIDGE_IO_TEXT_H

#include "io.h"

struct text_cursor {
    struct err *err;
    const uint8_t *start, *p, *end;
};

void RG_NORETURN tx_bad(const struct text_cursor *, const char *fmt, ...) RG_FMT(2, 3); /* "at byte 17: .." */
bool tx_take(struct text_cursor *, char c); /* skips space; takes c if it is next */
void tx_need(struct text_cursor *, char c); /* the same; anything else is an error */
uint64_t tx_count(struct text_cursor *);    /* an integer >= 0 below 2^63; no sign, point or leading zero */
void tx_end(struct text_cursor *);          /* nothing but space may follow */
bool tx_word(struct text_cursor *, const char *word);
/* A JSON string as UTF-8 with a NUL after it; one with a NUL inside is refused. */
const char *tx_string(struct text_cursor *, struct arena *);

#endif
