/* Tests of the runner itself: what it says about a test that fails, crashes, hangs or is skipped. The
 * naughty ones below behave, unless the runner is started by the test at the end. */
#include "base/base.h"
#include "test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static bool naughty(void) { return getenv("NAUGHTY") != NULL; }

TEST_MANUAL(naughty_fails, 60) {
    TEST_COUNT(12, "things seen before");
    if (naughty()) CHECK_EQ(1 + 1, 3);
}
TEST_MANUAL(naughty_compares_text, 60) {
    if (naughty()) CHECK_STR("one", "two");
}
TEST_MANUAL(naughty_compares_numbers, 60) {
    CHECK_NEAR(NAN, NAN, 0);
    CHECK_NEAR(INFINITY, INFINITY, 0);
    if (naughty()) CHECK_NEAR(1.0, NAN, 10);
}
TEST_MANUAL(naughty_crashes, 60) {
    printf("last words\n");
    fflush(stdout);
    if (naughty()) abort();
}
TEST_MANUAL(naughty_hangs, 1) {
    if (naughty()) sleep(1000);
}
TEST_MANUAL(naughty_leaves_a_child, 60) {
    if (naughty() && fork() == 0) { /* keeps the pipe open; the runner must not wait for it */
        sleep(1000);
        _exit(0);
    }
}
TEST_MANUAL(naughty_skips, 60) {
    if (naughty()) SKIP("no %s here", "compass");
}

/* Nothing else is under way while one of these is; each marks its time by a file. */
static void be_alone(void) {
    const char *mark = getenv("NAUGHTY_MARK");
    if (!mark) return;
    int fd = open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    usleep(100000);
    CHECK(!unlink(mark));
}
TEST_ALONE(hermit_one, 60) { be_alone(); }
TEST_ALONE(hermit_two, 60) { be_alone(); }
TEST_MANUAL(hermit_neighbour, 60) { be_alone(); }

/* What this program prints when it is run with these arguments; ended by NULL. */
static const char *run_self(struct arena *a, const char *const *args, int *status) {
    struct err err = {0};
    const char *argv[16] = {0};
    char *out, self[4096] = "";
    CHECK(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    argv[0] = self;
    for (int i = 0; args[i]; i++) argv[i + 1] = args[i];
    if (os_run(&err, a, argv, status, &out)) FAIL("%s", err.msg);
    return out;
}

TEST(runner_leaves_some_alone) {
    struct err err = {0};
    struct arena a;
    arena_init(&a, &err);
    int status;
    char mark[64];
    snprintf(mark, sizeof mark, "/tmp/ridge-hermit-%d", (int)getpid());
    setenv("NAUGHTY_MARK", mark, 1);
    CHECK_STR(run_self(&a, (const char *const[]){"-a", "-j3", "hermit", NULL}, &status),
              "3 passed, 0 failed\n");
    arena_free(&a);
}

TEST(runner_starts_the_longest_first) {
    struct err err = {0};
    struct arena a;
    arena_init(&a, &err);
    int status;
    struct os_work dir;
    if (os_work_begin(&err, &a, &dir)) FAIL("%s", err.msg);
    const char *costs = arena_printf(&a, "%s/costs.txt", dir.path),
               *text = "# seconds, name\n3 naughty_skips\n20.5 /bin/true\n1 gone\n4 naughty_hangs\n";
    if (os_write_file(&err, costs, text, strlen(text), 0644)) FAIL("%s", err.msg);
    const char *const args[] = {"-l", "-a", "-c", costs, "-x", "/bin/true", "naughty_", NULL};
    CHECK_STR(run_self(&a, args, &status),
              "/bin/true\nnaughty_hangs\nnaughty_skips\nnaughty_compares_numbers\nnaughty_compares_text\n"
              "naughty_crashes\nnaughty_fails\nnaughty_leaves_a_child\n");
    os_work_end(&dir);
    arena_free(&a);
}

TEST_SLOW(runner_tells_failures_apart, 300) {
    static const char *const says[] = {
        "FAIL  naughty_fails (tests/unit/runner.c:",
        "1 + 1 is 2, expected 3",
        "naughty_fails: 12 things seen before",
        "\"one\" is\n      one\n    expected\n      two\n",
        "1.0 is 1, expected nan within 10",
        "FAIL  naughty_crashes (tests/unit/runner.c:",
        "): Aborted\n    last words\n",
        "): stopped after its 1 seconds\n",
        "skip  naughty_skips: no compass here\n",
    };
    struct err err = {0};
    struct arena a;
    arena_init(&a, &err);
    int status;
    const char *const args[] = {"-a", "-j3", "-x", "/bin/true", "-x", "/bin/false", "naughty", NULL};
    setenv("NAUGHTY", "1", 1);
    const char *out = run_self(&a, args, &status);
    for (size_t i = 0; i < RG_COUNT(says); i++)
        if (!strstr(out, says[i])) FAIL("'%s' is not in\n%s", says[i], out);
    size_t n = strlen(out), k = strlen("2 passed, 6 failed, 1 skipped\n");
    CHECK(n > k);
    CHECK_STR(out + n - k, "2 passed, 6 failed, 1 skipped\n");
    CHECK_EQ(status, 1);

    unsetenv("NAUGHTY");
    CHECK(strstr(run_self(&a, args, &status), "8 passed, 1 failed\n")); /* the script that is /bin/false */
    CHECK_STR(run_self(&a, (const char *const[]){"no such test", NULL}, &status), "0 passed, 0 failed\n");
    CHECK_EQ(status, 1); /* a name that selects nothing is a mistake */
    arena_free(&a);
}
