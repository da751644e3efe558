#include "base/base.h"
#include "test.h"
TEST(arena_smoke) {
    struct err e = {0};
    struct arena a;
    arena_init(&a, &e);
    CHECK(arena_alloc(&a, 100));
    arena_free(&a);
}
