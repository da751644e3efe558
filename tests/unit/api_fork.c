/* Hosts that fork with a context open, and hosts with limits: right results or an error in words, never a hang. */
#include "event/event.h"
#include "fake/cuda.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- forks ---------------------------------------------------------------------------------------------- */

static int sum_of(rg_ctx *c, int64_t rows) {
    float sum = 0;
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(rows, 1000));
    if (rg_read(rg_sum(rg_exp(rg_mul(x, 0))), &sum, sizeof sum)) return 1;
    return sum == (float)rows * 1000 ? 0 : 2;
}

static void wait_for(pid_t child) {
    int st;
    CHECK(waitpid(child, &st, 0) == child);
    if (st) FAIL("the child ended with %#x", (unsigned)st);
}

/* A child has the parent's context and none of its threads: it computes, known programs and new ones, and may close. */
TEST(api_fork_with_an_open_context) {
    rg_ctx *c = rg_open("CPU");
    CHECK_EQ(sum_of(c, 2000), 0);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(sum_of(c, 2000), 0); /* workers spin when it forks */
        pid_t child = fork();
        if (child) {
            wait_for(child);
            continue;
        }
        alarm(60); /* a hang ends as a failure */
        int bad = sum_of(c, 2000);
        if (!bad && i < 2) bad = sum_of(c, 3000 + i);
        if (!bad && i == 1) bad = rg_close(c);
        _exit(bad);
    }
    CHECK_EQ(sum_of(c, 2001), 0);
    CHECK_EQ(rg_close(c), 0);
}

static _Atomic int stop;
static void *compute(void *arg) {
    while (!stop)
        if (sum_of(arg, 500)) return arg;
    return NULL;
}

/* Another thread computes while one forks; the child opens a context of its own. */
TEST(api_fork_beside_a_thread) {
    rg_ctx *c = rg_open("CPU");
    pthread_t t;
    void *bad;
    CHECK_EQ(sum_of(c, 500), 0);
    CHECK(!pthread_create(&t, NULL, compute, c));
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child) {
            wait_for(child);
            continue;
        }
        alarm(60);
        rg_ctx *own = rg_open("CPU");
        int wrong = sum_of(own, 500);
        _exit(wrong ? wrong : (int)rg_close(own));
    }
    stop = 1;
    CHECK(!pthread_join(t, &bad) && !bad);
    CHECK_EQ(rg_close(c), 0);
}

/* A GPU does not survive a fork: an error that says so, not a hang; the parent's goes on. */
TEST(api_fork_with_a_gpu) {
    struct fake *f = fake();
    rg_ctx *c = fake_open(f);
    float x[64];
    CHECK_EQ(rg_read(rg_exp(rg_ones(c, RG_F32, RG_SHAPE(64))), x, sizeof x), 0);
    uint32_t launches = f->launches;
    pid_t child = fork();
    if (!child) {
        alarm(60);
        int code = rg_read(rg_exp(rg_ones(c, RG_F32, RG_SHAPE(64))), x, sizeof x);
        bool said =
            strstr(rg_error(c), "CUDA does not survive a fork; fork before the first context is opened");
        uint32_t here = f->launches;
        rg_close(c);
        _exit(code != RG_EDEVICE || !said || here != launches || f->contexts != 1);
    }
    wait_for(child);
    CHECK_EQ(rg_read(rg_exp(rg_ones(c, RG_F32, RG_SHAPE(64))), x, sizeof x), 0);
    rg_close(c);
    check_empty(f);
}

static void *name_and_warn(void *arg) {
    for (unsigned i = 0; !stop; i++) {
        char text[32];
        snprintf(text, sizeof text, "thread %u", i % 500);
        event_name_release(event_name_shared(text));
        warn_on();
    }
    return arg;
}

/* The process's own tables: another thread is in them at nearly every fork. */
TEST(api_fork_beside_a_thread_that_names) {
    pthread_t t;
    event_name("parent");
    CHECK(!pthread_create(&t, NULL, name_and_warn, NULL));
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child) {
            wait_for(child);
            continue;
        }
        alarm(60);
        warn_on();
        _exit(event_name("child") == 0 || strcmp(event_name_text(event_name("child")), "child"));
    }
    stop = 1;
    CHECK(!pthread_join(t, NULL));
}

/* The first use of those tables comes from another thread while the process forks: handlers must stand before it. */
static atomic_int calls;
static void *warn_first(void *arg) {
    for (;; atomic_fetch_add(&calls, 1)) warn_on();
    return arg;
}
static void use_while_forking(void) {
    pthread_t t;
    if (pthread_create(&t, NULL, warn_first, NULL)) _exit(2);
    while (atomic_load(&calls) < 100) sched_yield();
}

static int fork_beside_the_first_use(void) {
    int st;
    if (pthread_atfork(use_while_forking, NULL, NULL)) return 3;
    pid_t child = fork();
    if (!child) {
        alarm(60);
        warn_on();
        _exit(0);
    }
    return waitpid(child, &st, 0) == child && !st ? 0 : 1;
}

TEST(api_fork_beside_the_first_use) {
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (!child) _exit(fork_beside_the_first_use());
        wait_for(child);
    }
}

/* ---- limits --------------------------------------------------------------------------------------------- */

/* Too few descriptors for a compiler is an error with the reason, and not for ever. */
TEST(api_host_has_few_descriptors) {
    struct rlimit l;
    float sum;
    CHECK(!getrlimit(RLIMIT_NOFILE, &l));
    rlim_t was = l.rlim_cur;
    setenv("RIDGE_CACHE", "0", 1);
    env_reload();
    rg_ctx *c = rg_open("CPU");
    l.rlim_cur = 4;
    CHECK(!setrlimit(RLIMIT_NOFILE, &l));
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(31, 101));
    CHECK(rg_read(rg_sum(rg_exp(x)), &sum, sizeof sum) != 0);
    CHECK(strstr(rg_error(c), "Too many open files"));
    l.rlim_cur = was;
    CHECK(!setrlimit(RLIMIT_NOFILE, &l));
    rg_clear_error(c);
    CHECK_EQ(rg_read(rg_sum(rg_exp(x)), &sum, sizeof sum), 0);
    CHECK_EQ(rg_close(c), 0);
}

/* A quota on the size of files, as a full disk: nothing is kept, and an error says what could not be written, or the result is right. */
TEST(api_host_has_a_quota) {
    struct rlimit l;
    CHECK(!getrlimit(RLIMIT_FSIZE, &l));
    signal(SIGXFSZ, SIG_IGN);
    static const rlim_t quota[] = {0, 100, 4000, 20000};
    for (size_t i = 0; i < RG_COUNT(quota); i++) {
        pid_t child = fork();
        if (child) {
            wait_for(child);
            continue;
        }
        l.rlim_cur = quota[i];
        setrlimit(RLIMIT_FSIZE, &l);
        alarm(60);
        rg_ctx *c = rg_open("CPU");
        int bad = sum_of(c, 4000 + (int64_t)i);
        bool said = strstr(rg_error(c), "cannot write") || strstr(rg_error(c), "C compiler");
        _exit(bad && !said);
    }
}
