/* warn.c: warnings, to the function that the program gave and to the log.
 * Tests: tests/unit/api_warning.c */
#include "event.h"

#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    warn_fn *fn;
    void *user;
} listener = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void) { pthread_mutex_lock(&listener.lock); }
static void after_fork(void) { pthread_mutex_unlock(&listener.lock); }
RG_AT_LOAD static void at_fork(void) { pthread_atfork(before_fork, after_fork, after_fork); }

static void lock(void) { pthread_mutex_lock(&listener.lock); }

void warn_set(warn_fn *fn, void *user) {
    lock();
    listener.fn = fn, listener.user = user;
    pthread_mutex_unlock(&listener.lock);
}

bool warn_on(void) {
    lock();
    bool yes = listener.fn;
    pthread_mutex_unlock(&listener.lock);
    return yes || log_on(1);
}

void warn_line(const char *fmt, ...) {
    struct err text = {0}; /* spells control characters */
    va_list ap;
    va_start(ap, fmt);
    err_setv(&text, RG_EINVAL, fmt, ap);
    va_end(ap);
    log_line(1, "warning: %s", text.msg);
    lock();
    warn_fn *fn = listener.fn;
    void *user = listener.user;
    pthread_mutex_unlock(&listener.lock);
    if (fn) fn(user, text.msg); /* it may set another */
}
