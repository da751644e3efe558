/* What a context owns besides tensors: freed at rg_close, the youngest first, or earlier by its own function. */
#include "api/internal.h"

#include <test.h>

static char order[16];
static rg_ctx *ctx;
static void note(void *obj) {
    CHECK(rg_status_of(ctx) == RG_OK || rg_status_of(ctx) == RG_ENOMEM); /* the context still works */
    strncat(order, obj, 1);
}
static void note_and_disown(void *obj) {
    note(obj);
    ctx_disown(ctx, obj);   /* already gone */
    ctx_disown(ctx, order); /* never there */
    ctx_disown(ctx, "absent");
}
static char a[] = "a", b[] = "b", d[] = "d";
static void takes_d_along(void *obj) {
    note(obj);
    ctx_disown(ctx, d);
    note(d);
}

TEST(context_frees_what_it_owns_youngest_first) {
    ctx = rg_open("REF");
    ctx_own(ctx, a, note);
    ctx_own(ctx, b, note_and_disown);
    ctx_own(ctx, d, note);
    CHECK_EQ(rg_close(ctx), RG_OK);
    CHECK_STR(order, "dba");
}

TEST(context_disown_takes_out_one) {
    ctx = rg_open("REF");
    ctx_own(ctx, a, note);
    ctx_own(ctx, d, note);
    ctx_own(ctx, b, takes_d_along);
    ctx_disown(ctx, a);
    CHECK_EQ(rg_close(ctx), RG_OK);
    CHECK_STR(order, "bd"); /* d is freed once, by b */
}

static void own_many(void *arg) {
    for (int i = 0; i < 100; i++) ctx_own(arg, a, note);
}
TEST(context_own_frees_when_there_is_no_room) {
    rg_close(rg_open("REF")); /* what stays for the process is there from now on */
    int64_t live = mem_live();
    ctx = rg_open("REF");
    mem_fail_at(1);
    CHECK_EQ(err_guard(&ctx->err, own_many, ctx), RG_ENOMEM);
    CHECK_STR(order, "a");
    mem_fail_at(-1);
    CHECK_EQ(rg_close(ctx), RG_ENOMEM);
    CHECK_STR(order, "a");
    CHECK_EQ(mem_live(), live);
}
