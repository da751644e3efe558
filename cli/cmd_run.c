/* cmd_run.c: `ridge run -n 4 -- PROGRAM ..`: a program as several ranks of this host, each with its rank in the environment.
 *
 * The ranks are children of one process group less this process; the first that fails ends the others, and its status is that of
 * the command. A signal that ends the command ends them too.
 * Tests: tests/cli/world.sh */
#include "cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 64, GRACE_MS = 30000, POLL_MS = 20 };

static volatile sig_atomic_t asked; /* the signal that should end everything */
static void on_signal(int sig) { asked = sig; }

static void set_number(const char *name, long v) {
    char text[24];
    snprintf(text, sizeof text, "%ld", v);
    setenv(name, text, 1);
}

static _Noreturn void become_rank(long rank, long n, char **argv) {
    set_number("RANK", rank), set_number("LOCAL_RANK", rank);
    set_number("WORLD_SIZE", n), set_number("LOCAL_WORLD_SIZE", n);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* no rank outlives a command that was killed */
    execvp(argv[0], argv);
    fprintf(stderr, "ridge run: %s cannot be run: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void end_all(const pid_t *pid, long n, int sig) {
    for (long i = 0; i < n; i++)
        if (pid[i] > 0) kill(pid[i], sig);
}

struct running {
    pid_t pid[RANKS_MAX]; /* 0: it ended */
    bool stopped[RANKS_MAX];
    long n, left;
    int result; /* of the first that failed */
    bool failed;
};

static void say_end(struct running *x, long rank, int status) {
    x->pid[rank] = 0, x->left--;
    if (!status) return;
    if (WIFSIGNALED(status))
        fprintf(stderr, "ridge run: rank %ld was ended by signal %d (%s)\n", rank, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "ridge run: rank %ld ended with status %d\n", rank, WEXITSTATUS(status));
    if (!x->failed) x->result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    x->failed = true;
}

/* After a failure the others get its words from the world, and time to say them; who is stopped cannot, and goes when the rest is done. */
static bool hopeless(const struct running *x) {
    for (long i = 0; i < x->n; i++)
        if (x->pid[i] && !x->stopped[i]) return false;
    return true;
}

static int watch(struct running *x) {
    int status;
    for (long waited = 0; x->left;) {
        pid_t p = waitpid(-1, &status, WUNTRACED | WCONTINUED | (x->failed || asked ? WNOHANG : 0));
        if (p <= 0) {
            if (asked) end_all(x->pid, x->n, asked), x->result = 128 + asked, x->failed = true, asked = 0;
            if ((waited += POLL_MS) > GRACE_MS || hopeless(x)) end_all(x->pid, x->n, SIGKILL);
            os_sleep_ms(POLL_MS);
            continue;
        }
        long rank = 0;
        while (rank < x->n && x->pid[rank] != p) rank++;
        if (rank == x->n) continue;
        if (WIFSTOPPED(status) || WIFCONTINUED(status))
            x->stopped[rank] = WIFSTOPPED(status);
        else
            say_end(x, rank, status);
    }
    return x->result;
}

static int launch(long n, char **argv) {
    struct running x = {.n = n, .left = n};
    char job[64];
    struct sigaction act = {.sa_handler = on_signal};
    snprintf(job, sizeof job, "run-%d-%llu", (int)getpid(), (unsigned long long)os_now_ns());
    setenv("RIDGE_WORLD", job, 1);
    sigaction(SIGINT, &act, NULL), sigaction(SIGTERM, &act, NULL), sigaction(SIGHUP, &act, NULL);
    fflush(NULL);
    for (long i = 0; i < n; i++) {
        x.pid[i] = fork();
        if (!x.pid[i]) become_rank(i, n, argv);
        if (x.pid[i] > 0) continue;
        fprintf(stderr, "ridge run: no process for rank %ld: %s\n", i, strerror(errno));
        end_all(x.pid, i, SIGKILL);
        return EXIT_FAILED;
    }
    return watch(&x);
}

int cmd_run(int argc, char **argv) {
    int64_t n = RG_MIN(os_cores(), RANKS_MAX);
    const struct arg_spec spec[] = {
        {"ranks", ARG_NUMBER, &n, "N", "ranks, 1 to 64 (-n for short); default: one for each core"}};
    struct args a = {
        .command = "run",
        .operands = "-- PROGRAM ARGS",
        .about = "Runs a program as N ranks of this host: RANK, WORLD_SIZE and LOCAL_RANK tell each who it "
                 "is, as\n"
                 "with torchrun, and rg_world_open finds the others. Each gets its share of the cores\n"
                 "(RIDGE_THREADS, unless that is set). Several hosts: mpirun or srun.",
        .spec = spec,
        .nspec = RG_COUNT(spec)};
    int own = 1;
    while (own < argc && strcmp(argv[own], "--")) own++;
    static char ranks[] = "--ranks";
    for (int i = 1; i < own; i++)
        if (!strcmp(argv[i], "-n")) argv[i] = ranks;
    int status = args_parse(&a, own, argv);
    if (status >= 0 || (status = args_range(&a, "ranks", n, 1, RANKS_MAX)) >= 0) return status;
    if (own + 1 >= argc) return args_wrong(&a, "expected -- PROGRAM ARGS");
    if (!env_get("RIDGE_THREADS")) set_number("RIDGE_THREADS", RG_MAX((long)os_cores() / (long)n, 1));
    return launch((long)n, argv + own + 1);
}
