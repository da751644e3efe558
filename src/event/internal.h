/* internal.h: what event.c and recorder.c share. */
#ifndef RIDGE_EVENT_INTERNAL_H
#define RIDGE_EVENT_INTERNAL_H

#include "event/event.h"

/* recorder.c: to the file, if there is one. */
void record_event(const struct event *, uint32_t thread);
void record_name(uint32_t number, const char *text, size_t len); /* under the lock of the names */
void record_thread_end(void);

/* names.c: calls `first`, then fn for each name, while none can be added. */
void names_each(void (*fn)(uint32_t number, const char *text, size_t len), void (*first)(void));

#endif
