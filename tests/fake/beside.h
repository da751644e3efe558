/* beside.h: the libraries that stand in for others lie beside the test program. */
#ifndef RIDGE_TEST_FAKE_BESIDE_H
#define RIDGE_TEST_FAKE_BESIDE_H

#include "base/base.h"
#include "test.h"

#include <string.h>
#include <unistd.h>

enum { BESIDE_PATH = 600 };

/* Loads "/fake/NAME.so"; path is where it lies. */
static void *beside(const char *name, char path[BESIDE_PATH]) {
    struct err err = {0};
    ssize_t n = readlink("/proc/self/exe", path, BESIDE_PATH - 100);
    CHECK(n > 0);
    path[n] = 0;
    strcpy(strrchr(path, '/'), name);
    void *lib = os_dlopen(&err, path);
    if (!lib) FAIL("%s", err.msg);
    return lib;
}

#endif
