/* os_run in hosts of all kinds: whatever they do with SIGCHLD, their descriptors, signals and environment, and whatever a
 * program leaves behind. */
#include "base/base.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct err err;
static struct arena arena;

#define SH(text) \
    (const char *const[]) { "sh", "-c", text, NULL }

static void runs(const char *text, int status, const char *says) {
    int got;
    char *out;
    if (os_run(&err, &arena, SH(text), &got, &out)) FAIL("%s: %s", text, err.msg);
    if (got != status || strcmp(out, says)) FAIL("%s: status %d, output %s", text, got, out);
}

static void runs_well(void) {
    runs("echo said; exit 3", 3, "said\n");
    runs("echo last words >&2; kill -9 $$", 128 + SIGKILL, "last words\n");
    static const char *const fine[] = {"true", NULL}, *const fails[] = {"sh", "-c", "exit 4", NULL};
    struct os_proc p[6];
    for (int i = 0; i < 6; i++) p[i] = (struct os_proc){.argv = i == 4 ? fails : fine};
    CHECK_EQ(os_run_many(&err, &arena, p, 6), 0);
    for (int i = 0; i < 6; i++) CHECK_EQ(p[i].status, i == 4 ? 4 : 0);
}

/* ---- who waits for children ------------------------------------------------------------------------ */

static void reap_all(int sig) {
    (void)sig;
    int was = errno;
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
    errno = was;
}

TEST(os_run_does_not_need_sigchld) {
    struct sigaction row[] = {{.sa_handler = SIG_DFL},
                              {.sa_handler = SIG_IGN},
                              {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT},
                              {.sa_handler = reap_all, .sa_flags = SA_RESTART},
                              {.sa_handler = reap_all}};
    arena_init(&arena, &err);
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        struct sigaction after;
        CHECK_EQ(sigaction(SIGCHLD, &row[i], NULL), 0);
        for (int k = 0; k < 5; k++) runs_well();
        CHECK_EQ(sigaction(SIGCHLD, NULL, &after), 0);
        CHECK(after.sa_handler == row[i].sa_handler);
        CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD); /* no zombie is left */
    }
    arena_free(&arena);
}

static atomic_bool stop;
static void *wait_for_any(void *arg) {
    while (!atomic_load(&stop))
        if (waitpid(-1, NULL, 0) < 0) sched_yield();
    return arg;
}

TEST(os_run_beside_a_thread_that_waits_for_all) {
    pthread_t t;
    arena_init(&arena, &err);
    CHECK_EQ(pthread_create(&t, NULL, wait_for_any, NULL), 0);
    for (int k = 0; k < 20; k++) runs_well();
    atomic_store(&stop, true);
    pthread_join(t, NULL);
    CHECK(waitpid(-1, NULL, 0) < 0 && errno == ECHILD);
    arena_free(&arena);
}

/* Servers that compilers start (distcc's, sccache's) keep the output open. */
TEST(os_run_waits_for_the_program_and_not_for_what_it_leaves) {
    int status;
    char *out;
    arena_init(&arena, &err);
    CHECK_EQ(os_run(&err, &arena, SH("sleep 1000 & echo $!; exit 5"), &status, &out), 0);
    CHECK_EQ(status, 5);
    int pid = atoi(out);
    CHECK(pid > 1);
    CHECK_EQ(kill(pid, SIGKILL), 0); /* it still ran */
    arena_free(&arena);
}

/* Two at once: one hangs, with a child that hangs too, the other does not. Both of the first are killed. */
TEST(os_run_kills_what_passes_its_limit) {
    arena_init(&arena, &err);
    CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* who loses its parent comes to us */
    struct os_proc p[2] = {{.argv = SH("echo begun; sleep 1000 & echo $!; wait"), .limit_s = 1},
                           {.argv = SH("exit 8"), .limit_s = 100}};
    CHECK_EQ(os_run_many(&err, &arena, p, 2), 0);
    CHECK(p[0].late && !p[1].late);
    CHECK_EQ(p[0].status, 128 + SIGKILL);
    CHECK_EQ(p[1].status, 8);
    CHECK(!strncmp(p[0].out, "begun\n", 6));
    int pid = atoi(p[0].out + 6), st, ended = 0;
    for (pid_t got; (got = wait(&st)) > 0;) ended += got == pid && WIFSIGNALED(st) && WTERMSIG(st) == SIGKILL;
    CHECK_EQ(ended, 1);
    arena_free(&arena);
}

/* ---- descriptors, signals, limits, environment ------------------------------------------------------ */

static int descriptors(void) {
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

TEST(os_run_in_hosts_without_standard_descriptors) {
    arena_init(&arena, &err);
    for (int closed = 0; closed < 16; closed++) {
        int kept[4], status, n = descriptors();
        char *out;
        bool still = true;
        for (int i = 0; i < 4; i++) kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 100);
        for (int i = 0; i < 4; i++)
            if (closed >> i & 1) close(i);
        int bad = os_run(&err, &arena, SH("cat; echo out; echo err >&2; exit 6"), &status, &out);
        for (int i = 0; i < 4; i++) {
            if (closed >> i & 1) still &= fcntl(i, F_GETFD) < 0;
            if (kept[i] < 0) continue;
            dup2(kept[i], i);
            close(kept[i]);
        }
        if (bad) FAIL("closed %d: %s", closed, err.msg);
        if (status != 6 || strcmp(out, "out\nerr\n"))
            FAIL("closed %d: status %d, output %s", closed, status, out);
        CHECK(still);
        CHECK_EQ(descriptors(), n);
    }
    arena_free(&arena);
}

TEST(os_run_gives_signals_as_they_were_made) {
    sigset_t all;
    arena_init(&arena, &err);
    sigfillset(&all);
    CHECK_EQ(sigprocmask(SIG_SETMASK, &all, NULL), 0);
    signal(SIGPIPE, SIG_IGN);
    runs("kill -PIPE $$; exit 1", 128 + SIGPIPE, "");
    runs("kill -TERM $$; exit 1", 128 + SIGTERM, "");
    runs("sleep 0 & wait $! && exit 7", 7, "");
    arena_free(&arena);
}

TEST(os_run_under_limits_of_descriptors) {
    struct rlimit l;
    arena_init(&arena, &err);
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &l), 0);
    rlim_t was = l.rlim_cur;
    l.rlim_cur = l.rlim_max; /* a million and more, in containers */
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    runs_well();
    int status;
    l.rlim_cur = 3;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    CHECK_EQ(os_run(&err, &arena, SH("true"), &status, NULL), RG_EIO);
    CHECK_STR(err.msg, "cannot make a pipe: Too many open files");
    l.rlim_cur = was;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &l), 0);
    arena_free(&arena);
}

TEST(os_run_without_a_path) {
    arena_init(&arena, &err);
    unsetenv("PATH");
    CHECK(os_find_program(&arena, "sh") != NULL);
    CHECK(os_find_program(&arena, "no-such-program-here") == NULL);
    runs_well();
    clearenv();
    runs_well();
    arena_free(&arena);
}

/* The shell that waits for a program reads nothing into what it is given. */
TEST(os_run_hands_arguments_on) {
    int status;
    char *out;
    arena_init(&arena, &err);
    const char *const argv[] = {"printf", "[%s]", "",     "a b",   "$HOME", "`echo x`",
                                "*",      "x=1",  "-e\n", "'\"\\", NULL};
    CHECK_EQ(os_run(&err, &arena, argv, &status, &out), 0);
    CHECK_STR(out, "[][a b][$HOME][`echo x`][*][x=1][-e\n]['\"\\]");
    runs("[ -e /proc/self/fd/3 ]", 1, ""); /* nor does it hand on more */
    arena_free(&arena);
}

/* Signals of a terminal do not reach a compiler, which has a process group of its own; it must not outlive its host. */
TEST(os_run_ends_with_its_host) {
    arena_init(&arena, &err);
    for (int sig = SIGINT; sig <= SIGKILL; sig += SIGKILL - SIGINT) {
        int fd[2];
        char byte;
        CHECK(!pipe(fd));
        pid_t host = fork();
        if (!host) {
            dup2(fd[1], 9); /* dash knows no greater ones */
            signal(SIGINT, SIG_DFL);
            os_run(&err, &arena, SH("echo x >&9; sleep 1000 & sleep 1000"), NULL, NULL);
            _exit(0);
        }
        close(fd[1]);
        CHECK(read(fd[0], &byte, 1) == 1); /* it runs */
        CHECK(!kill(host, sig) && waitpid(host, NULL, 0) == host);
        while (read(fd[0], &byte, 1) > 0) {} /* until no process has the other end any more */
        close(fd[0]);
    }
    arena_free(&arena);
}

/* ---- a child that is talked to -------------------------------------------------------------------------------- */

static uint64_t in_ms(uint64_t ms) { return os_now_ns() + ms * 1000000; }

TEST(os_child_talks) {
    struct os_child c;
    char got[6] = "";
    static char much[1 << 22];
    CHECK_EQ(os_child_start(&err, (const char *[]){"/bin/cat", NULL}, &c), 0);
    CHECK_EQ(os_child_send(&c, "hello", 6, in_ms(60000)), OS_TALK_DONE);
    CHECK_EQ(os_child_receive(&c, got, 6, in_ms(60000)), OS_TALK_DONE);
    CHECK_STR(got, "hello");
    CHECK_EQ(os_child_receive(&c, got, 6, in_ms(10)), OS_TALK_LATE);
    CHECK_EQ(os_child_send(&c, much, sizeof much, in_ms(50)), OS_TALK_LATE); /* the pipe is full */
    int by = os_child_stop(&c); /* cat reads ECONNRESET or writes into nothing, whichever comes first */
    CHECK(!by || by == SIGPIPE);
    CHECK_EQ(c.fd, -1);
    CHECK_EQ(os_child_stop(&c), 0);
}

TEST(os_child_may_end) {
    struct os_child c;
    char got;
    CHECK_EQ(os_child_start(&err, (const char *[]){"/bin/sh", "-c", "kill -9 $$", NULL}, &c), 0);
    CHECK_EQ(os_child_receive(&c, &got, 1, in_ms(60000)), OS_TALK_ENDED);
    for (enum os_talk t = OS_TALK_DONE; t != OS_TALK_ENDED;) t = os_child_send(&c, "x", 1, in_ms(60000));
    CHECK_EQ(os_child_stop(&c), SIGKILL);
    CHECK_EQ(os_child_start(&err, (const char *[]){"/bin/nothing-here", NULL}, &c), RG_EIO);
    CHECK_EQ(c.fd, -1);
}

/* A host that ignores its children, or reaps them, learns as much but for the signal. */
TEST(os_child_does_not_need_sigchld) {
    struct os_child c;
    char got;
    signal(SIGCHLD, SIG_IGN);
    CHECK_EQ(os_child_start(&err, (const char *[]){"/bin/sh", "-c", "kill -9 $$", NULL}, &c), 0);
    CHECK_EQ(os_child_receive(&c, &got, 1, in_ms(60000)), OS_TALK_ENDED);
    CHECK_EQ(os_child_stop(&c), 0);
    CHECK_EQ(os_child_start(&err, (const char *[]){"/bin/cat", NULL}, &c), 0);
    CHECK_EQ(os_child_stop(&c), 0);
}

/* In a build tree: the worker lies beside the tests, machines in the source tree. A data file is no program. */
TEST(os_child_installed_files) {
    arena_init(&arena, &err);
    const char *worker = os_installed(&arena, "ridge-worker", true);
    const char *machine = os_installed(&arena, "machines/h200.txt", false);
    CHECK(worker && *worker == '/' && !access(worker, X_OK));
    CHECK(machine && strstr(machine, "/share/machines/h200.txt") && !strstr(machine, "/../"));
    CHECK(!os_installed(&arena, "machines/h200.txt", true));
    CHECK(!os_installed(&arena, "machines/nothing-here", false));
    arena_free(&arena);
}
