/* os_run.c: running other programs, mostly C compilers, without a shell.
 *
 * posix_spawn and not fork: the parent may hold gigabytes and many threads. Each child gets /dev/null
 * as input and one pipe for both outputs; the first 64 KiB are kept (a compiler's first error is the one
 * that counts) and the rest is read and dropped, so that no child blocks. All memory is taken from the
 * arena before the first child starts: nothing can throw while children run.
 * Tests: tests/unit/base.c (os_run_*). */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP ((size_t)64 << 10)

extern char **environ;

struct child {
    pid_t pid; /* 0: not started */
    int fd;    /* read end, or -1 */
    size_t n;  /* bytes kept */
    char *out; /* KEEP + 1 bytes */
};

/* Returns 0 or an errno. */
static int spawn(struct child *c, const char *const *argv, int write_end) {
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    sigset_t none, dflt;
    sigemptyset(&none);
    sigemptyset(&dflt);
    sigaddset(&dflt, SIGPIPE);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&at);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, write_end, 1);
    posix_spawn_file_actions_adddup2(&fa, write_end, 2);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setsigdefault(&at, &dflt);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int bad = posix_spawnp(&c->pid, argv[0], &fa, &at, (char *const *)argv, environ);
    if (bad) c->pid = 0;
    posix_spawnattr_destroy(&at);
    posix_spawn_file_actions_destroy(&fa);
    return bad;
}

static int start(struct err *e, struct child *c, const char *const *argv) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) return err_set(e, RG_EIO, "cannot make a pipe: %s", strerror(errno));
    int bad = spawn(c, argv, ends[1]);
    close(ends[1]);
    if (!bad) {
        c->fd = ends[0];
        return 0;
    }
    close(ends[0]);
    return err_set(e, RG_EIO, "cannot run %s: %s", argv[0], strerror(bad));
}

/* Reads what is there; closes at the end of the output. */
static void drain(struct child *c) {
    char drop[4096];
    size_t room = KEEP - c->n;
    ssize_t k = read(c->fd, room ? c->out + c->n : drop, room ? room : sizeof drop);
    if (k < 0 && errno == EINTR) return;
    if (k > 0) {
        if (room) c->n += (size_t)k;
        return;
    }
    close(c->fd);
    c->fd = -1;
}

static void read_outputs(struct child *c, struct pollfd *p, int n) {
    for (;;) {
        int open = 0;
        for (int i = 0; i < n; i++) {
            p[i] = (struct pollfd){.fd = c[i].fd, .events = POLLIN};
            open += c[i].fd >= 0;
        }
        if (!open) return;
        if (poll(p, (nfds_t)n, -1) < 0) continue;
        for (int i = 0; i < n; i++)
            if (c[i].fd >= 0 && p[i].revents) drain(&c[i]);
    }
}

static void reap(struct err *e, struct child *c, struct os_proc *p) {
    int st;
    pid_t got;
    while ((got = waitpid(c->pid, &st, 0)) < 0 && errno == EINTR) {}
    if (got < 0)
        err_set(e, RG_EIO, "%s: its exit status is lost: %s", p->argv[0], strerror(errno));
    else
        p->status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

int os_run_many(struct err *e, struct arena *a, struct os_proc *p, int n) {
    if (e->code) return e->code;
    struct child *c = arena_array(a, struct child, n);
    struct pollfd *polls = arena_array(a, struct pollfd, n);
    size_t bytes = (size_t)n * (KEEP + 1), fill = 0;
    char *text = arena_raw(a, bytes);
    for (int i = 0; i < n; i++) {
        p[i].status = -1;
        c[i] = (struct child){.fd = -1, .out = text + (size_t)i * (KEEP + 1)};
    }
    for (int i = 0; i < n && !e->code; i++) start(e, &c[i], p[i].argv);
    read_outputs(c, polls, n);
    for (int i = 0; i < n; i++) {
        if (c[i].pid) reap(e, &c[i], &p[i]);
        p[i].out = memmove(text + fill, c[i].out, c[i].n); /* close up: most outputs are empty */
        fill += c[i].n;
        text[fill++] = 0;
    }
    arena_resize(a, text, bytes, fill);
    return e->code;
}

int os_run(struct err *e, struct arena *a, const char *const *argv, int *status, char **out) {
    struct os_proc p = {.argv = argv};
    int code = os_run_many(e, a, &p, 1);
    if (status) *status = p.status;
    if (out) *out = code ? NULL : p.out;
    return code;
}
