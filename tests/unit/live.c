/* What a program shows of itself while it runs (src/event/live.c): counts, not times. */
#include "event/event.h"

#include "ridge.h"
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

static rg_status one_step(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_exp(rg_contiguous(rg_mul(in[0], 0.5)));
    return RG_OK;
}

static const struct live_row *row_of(const struct live_page *p, const char *device) {
    for (int i = 0; i < LIVE_ROWS; i++)
        if (p->row[i].since && !strcmp(p->row[i].device, device)) return &p->row[i];
    return NULL;
}

static void steps_of(const struct live_row *r, uint64_t *steps, uint64_t *ns) {
    *steps = *ns = 0;
    for (int i = 0; i < LIVE_PLANS; i++) *steps += r->plan[i].steps, *ns += r->plan[i].ns;
}

TEST(live_counts_runs_kernels_and_steps) {
    struct live_page p;
    CHECK(!live_read((uint32_t)getpid(), &p));
    rg_ctx *c = rg_open("CPU");
    rg_tensor x = rg_rand(c, RG_F32, RG_SHAPE(1000)), y;
    rg_jit *j = rg_jit_new(c, one_step, NULL, 1);
    for (int i = 0; i < 3; i++) CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0); /* replays from then on */
    CHECK(live_read((uint32_t)getpid(), &p));
    CHECK_EQ(p.pid, getpid());
    const struct live_row *r = row_of(&p, "CPU");
    CHECK(r && r->runs >= 1 && r->kernels >= 1);
    rg_usage before, after;
    CHECK_EQ(rg_stats(c, &before), 0);
    uint64_t runs = r->runs, kernels = r->kernels, replays = r->replays, was, steps, ns;
    steps_of(r, &was, &ns);
    for (int i = 0; i < 50; i++) CHECK_EQ(rg_jit_call(j, RG_TENSORS(x), &y), 0);
    CHECK(live_read((uint32_t)getpid(), &p));
    r = row_of(&p, "CPU");
    CHECK_EQ(r->runs - runs, 50);
    CHECK_EQ(rg_stats(c, &after), 0);
    CHECK_EQ(r->kernels - kernels, after.kernels - before.kernels);
    CHECK(after.kernels - before.kernels >= 50);
    CHECK_EQ(r->replays - replays, 50);
    steps_of(r, &steps, &ns);
    CHECK(steps >= 49 && steps <= 50); /* the last has no end yet */
    CHECK(r->kernel_ns > 0 && r->kernel_ns <= r->at - r->since && ns <= r->at - r->since);
    CHECK(r->roof_ns > 0);
    rg_memory m;
    CHECK_EQ(rg_memory_of(c, &m), 0);
    CHECK_EQ(r->in_use, m.bytes);
    CHECK_EQ(rg_close(c), 0);
    CHECK(!live_read((uint32_t)getpid(), &p));
}

/* A child adds nothing to its parent's page, and has none before it opens a context of its own. */
TEST(live_of_a_child) {
    struct live_page p;
    rg_ctx *c = rg_open("CPU");
    CHECK_EQ(rg_realize(rg_rand(c, RG_F32, RG_SHAPE(10))), 0);
    CHECK(live_read((uint32_t)getpid(), &p));
    uint64_t runs = row_of(&p, "CPU")->runs;
    pid_t child = fork();
    if (!child) {
        bool none = !live_read((uint32_t)getpid(), &p);
        rg_ctx *d = rg_open("CPU");
        rg_realize(rg_rand(d, RG_F32, RG_SHAPE(20)));
        bool own =
            live_read((uint32_t)getpid(), &p) && p.pid == (uint32_t)getpid() && row_of(&p, "CPU")->runs == 1;
        _exit(none && own ? 0 : 1 + none);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK(live_read((uint32_t)getpid(), &p));
    CHECK_EQ(row_of(&p, "CPU")->runs, runs);
    CHECK_EQ(rg_close(c), 0);
}

TEST(live_marked_steps) {
    struct live_page p;
    rg_ctx *c = rg_open("CPU");
    for (int i = 0; i < 6; i++) CHECK_EQ(rg_profile_step(c), 0);
    CHECK(live_read((uint32_t)getpid(), &p));
    CHECK_EQ(p.marks, 5); /* the first mark has no beginning */
    CHECK_EQ(rg_close(c), 0);
}
