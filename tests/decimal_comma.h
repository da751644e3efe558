/* decimal_comma.h: a host program with a decimal comma, as one in German that calls setlocale(LC_ALL, "") has. The locale is written by the
 * test itself, its numbers as glibc stores them, since few machines have one installed. */
#ifndef RIDGE_TEST_DECIMAL_COMMA_H
#define RIDGE_TEST_DECIMAL_COMMA_H

#include "base/base.h"
#include "test.h"

#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>

static inline void decimal_comma(void) {
    static const struct {
        uint32_t magic, items, at[6];
        char point[2], thousands[1], grouping[1];
        uint32_t wide_point, wide_thousands;
        char charset[16];
    } numbers = {0x20031114, 6, {32, 34, 35, 36, 40, 44}, ",", "", "", ',', 0, "ANSI_X3.4-1968"};
    struct err e = {0};
    struct arena a;
    char *dir;
    arena_init(&a, &e);
    if (os_temp_dir(&e, &a, &dir)) FAIL("%s", e.msg);
    char *folder = arena_printf(&a, "%s/comma", dir), *file = arena_printf(&a, "%s/LC_NUMERIC", folder);
    CHECK(!mkdir(folder, 0700));
    if (os_write_file(&e, file, &numbers, sizeof numbers, 0600)) FAIL("%s", e.msg);
    setenv("LOCPATH", dir, 1);
    bool done = setlocale(LC_NUMERIC, "comma") && !strcmp(localeconv()->decimal_point, ",");
    os_remove_tree(dir);
    arena_free(&a);
#ifdef __GLIBC__
    CHECK(done);
#else
    if (!done) SKIP("this C library has locales of another format than glibc's");
#endif
}

#endif
