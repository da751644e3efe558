/* on_device.h: a context, or what is wrong with it, for tests of the public API. Include it after ridge.h. */
#ifndef RIDGE_TEST_ON_DEVICE_H
#define RIDGE_TEST_ON_DEVICE_H

#include <ridge.h>
#include <test.h>

static inline rg_ctx *open_on(const char *device) {
    rg_ctx *c = rg_open(device);
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    return c;
}

static inline void close_ctx(rg_ctx *c) {
    if (rg_status_of(c)) FAIL("%s", rg_error(c));
    CHECK_EQ(rg_close(c), 0);
}

static inline void read_all(rg_tensor t, void *out, size_t bytes) {
    if (rg_read(t, out, bytes)) FAIL("%s", rg_error(rg_ctx_of(t)));
}

#endif
