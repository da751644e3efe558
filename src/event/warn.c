/* warn.c: warnings, to the function that the program gave and to the log.
 * Tests: tests/unit/api_warning.c */
#include "event.h"

#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    warn_fn *fn;
    void *user;
} listener = {.lock = PTHREAD_MUTEX_INITIALIZER};

void warn_set(warn_fn *fn, void *user) {
    pthread_mutex_lock(&listener.lock);
    listener.fn = fn, listener.user = user;
    pthread_mutex_unlock(&listener.lock);
}

bool warn_on(void) {
    pthread_mutex_lock(&listener.lock);
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
    pthread_mutex_lock(&listener.lock);
    warn_fn *fn = listener.fn;
    void *user = listener.user;
    pthread_mutex_unlock(&listener.lock);
    if (fn) fn(user, text.msg); /* it may set another */
}
