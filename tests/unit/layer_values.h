/* layer_values.h: reads tests/values/layers.txt (make_layers.py there says what is in it) and compares tensors with it. */
#ifndef RIDGE_TEST_LAYER_VALUES_H
#define RIDGE_TEST_LAYER_VALUES_H

#include <stdio.h>
#include <stdlib.h>

#include "test.h"
#include "ridge.h"

enum { LV_MOST = 4096 };

/* The text after "name: ", or NULL. */
static inline const char *lv_find(const char *name) {
    static char *all;
    if (!all) {
        FILE *f = fopen("tests/values/layers.txt", "r");
        if (!f) FAIL("tests/values/layers.txt cannot be read; run from the root of the repository");
        fseek(f, 0, SEEK_END);
        long n = ftell(f);
        rewind(f);
        all = malloc((size_t)n + 2);
        *all = '\n';
        CHECK_EQ(fread(all + 1, 1, (size_t)n, f), n);
        all[n + 1] = 0;
        fclose(f);
    }
    char key[120];
    snprintf(key, sizeof key, "\n%s:", name);
    const char *at = strstr(all, key);
    return at ? at + strlen(key) : NULL;
}

static inline size_t lv_get(const char *name, double *out) {
    const char *at = lv_find(name);
    if (!at) FAIL("layers.txt has no %s", name);
    size_t n = 0;
    while (*at == ' ') {
        char *end;
        CHECK(n < LV_MOST);
        out[n++] = strtod(at, &end);
        at = end;
    }
    return n;
}

static inline rg_tensor lv_tensor(rg_ctx *c, const char *name, rg_dtype dt, rg_ints shape) {
    double v[LV_MOST];
    int64_t size = 1;
    for (size_t i = 0; i < shape.n; i++) size *= shape.d[i];
    CHECK_EQ(lv_get(name, v), size);
    rg_tensor wide = rg_from(c, RG_F64, v, shape);
    rg_tensor t = rg_cast(wide, dt);
    rg_free(wide);
    return t;
}

/* Every element within tol * (1 + |expected|). */
static inline void lv_is(rg_tensor t, const char *name, double tol) {
    double want[LV_MOST], got[LV_MOST];
    size_t n = lv_get(name, want);
    CHECK_EQ(rg_size(t), n);
    if (rg_read(rg_cast(t, RG_F64), got, sizeof got)) FAIL("%s: %s", name, rg_error(rg_ctx_of(t)));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tol * (1 + fabs(want[i]))))
            FAIL("%s[%zu] is %.9g, expected %.9g", name, i, got[i], want[i]);
}

#endif
