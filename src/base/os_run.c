/* os_run.c: running other programs, mostly C compilers.
 *
 * The host's SIGCHLD is its own: it may be ignored, or a handler or a thread may wait for any child, and then the status of
 * ours is gone before we ask. So each program runs below a shell, which waits for it and writes the status to a pipe. The
 * shell's text is constant and takes the program's arguments as they are. Its end is waited for, and nothing is learned
 * from it unless the pipe stayed empty: the shell was killed, or there is none and the program was started itself.
 *
 * posix_spawn and not fork: the parent may hold gigabytes and many threads. Each child gets /dev/null as input and one pipe
 * for both outputs; the first 64 KiB are kept (a compiler's first error is the one that counts) and the rest is read and
 * dropped, so that no child blocks. Once the status is there, only what has been written is read: a compiler may leave a
 * server behind that holds the pipe open. Our ends of pipes stay clear of 0 to 3, which the host may have closed: the
 * child's own come there. All memory is taken from the arena before the first child starts: nothing can throw while
 * children run. Each child is the head of a process group, so that what passes its limit is killed with all it started.
 * Signals of the terminal do not reach that group, and a host may be killed: beside each program a shell reads a pipe that
 * only the host holds open, and kills the group when it ends.
 * Tests: tests/unit/base_os.c, base_run.c (os_run_*). */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP ((size_t)64 << 10)
#define SHELL "/bin/sh"
enum { SHELL_ARGS = 5, CHILD_FDS = 5 }; /* with the NULL at the end; descriptors that a child gets */

extern char **environ;

struct child {
    pid_t pid;         /* 0: not started */
    const char *path;  /* of the program */
    const char **argv; /* of the shell */
    int fd, said_fd;   /* read ends of output and status, or -1 */
    size_t n, said_n;  /* bytes kept */
    char *out;         /* KEEP + 1 bytes */
    char said[8];      /* the status, "0\n" */
    uint64_t until;    /* os_now_ns; 0: no limit */
    bool late;         /* was killed */
};

static bool has_status(const struct child *c) { return c->said_n && c->said[c->said_n - 1] == '\n'; }

/* Reads do not block; both ends are above those that a child gets. */
static int make_pipe(int end[2]) {
    int low[2], bad = 0;
    if (pipe2(low, O_CLOEXEC)) return errno;
    for (int i = 0; i < 2; i++) {
        end[i] = fcntl(low[i], F_DUPFD_CLOEXEC, CHILD_FDS);
        if (end[i] < 0 && !bad) bad = errno;
    }
    close(low[0]), close(low[1]);
    if (!bad && fcntl(end[0], F_SETFL, O_NONBLOCK)) bad = errno;
    for (int i = 0; i < 2 && bad; i++)
        if (end[i] >= 0) close(end[i]);
    return bad;
}

/* What a program sees of the environment: of a setuid program, nothing that its caller wrote. */
static char **environment(void) {
    static char path[] = "PATH=" OS_DEFAULT_PATH, *own[] = {path, NULL};
    return env_is_foreign() ? own : environ;
}

int os_spawn(pid_t *pid, const char *file, char *const *argv, posix_spawn_file_actions_t *fa) {
    posix_spawnattr_t at;
    sigset_t none, dflt;
    sigemptyset(&none);
    sigemptyset(&dflt);
    sigaddset(&dflt, SIGPIPE);
    sigaddset(&dflt, SIGCHLD);
    posix_spawnattr_init(&at);
    posix_spawnattr_setsigmask(&at, &none);
    posix_spawnattr_setsigdefault(&at, &dflt);
    posix_spawnattr_setpgroup(&at, 0);
    posix_spawnattr_setflags(&at, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int bad = posix_spawn(pid, file, fa, &at, argv, environment());
    if (bad) *pid = 0;
    posix_spawnattr_destroy(&at);
    return bad;
}

/* The shell says nothing itself: its errors are a status that does not come. */
static int spawn(struct child *c, int out, int said, int alive) {
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, out, 1);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, said, 3);
    posix_spawn_file_actions_adddup2(&fa, alive, 4);
    int bad = os_spawn(&c->pid, SHELL, (char *const *)c->argv, &fa);
    if (bad == ENOENT) {
        posix_spawn_file_actions_adddup2(&fa, out, 2);
        posix_spawn_file_actions_addclose(&fa, 3);
        posix_spawn_file_actions_addclose(&fa, 4);
        bad = os_spawn(&c->pid, c->path, (char *const *)c->argv + SHELL_ARGS - 1, &fa);
    }
    posix_spawn_file_actions_destroy(&fa);
    return bad;
}

static void close_both(struct child *c) {
    if (c->fd >= 0) close(c->fd);
    if (c->said_fd >= 0) close(c->said_fd);
    c->fd = c->said_fd = -1;
}

static int start(struct err *e, struct child *c, int alive) {
    int out[2], said[2];
    int bad = make_pipe(out);
    if (bad) return err_set(e, RG_EIO, "cannot make a pipe: %s", strerror(bad));
    if ((bad = make_pipe(said))) {
        close(out[0]), close(out[1]);
        return err_set(e, RG_EIO, "cannot make a pipe: %s", strerror(bad));
    }
    bad = access(c->path, X_OK) ? errno : spawn(c, out[1], said[1], alive);
    close(out[1]), close(said[1]);
    c->fd = out[0], c->said_fd = said[0];
    if (!bad) return 0;
    close_both(c);
    return err_set(e, RG_EIO, "cannot run %s: %s", c->path, strerror(bad));
}

/* One read, into p while there is room. False: nothing more for now; at the end the pipe is closed. */
static bool drain(int *fd, char *p, size_t room, size_t *n) {
    char drop[4096];
    ssize_t k = read(*fd, room > *n ? p + *n : drop, room > *n ? room - *n : sizeof drop);
    if (k < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
    if (k > 0) {
        if (room > *n) *n += (size_t)k;
        return true;
    }
    close(*fd);
    *fd = -1;
    return false;
}

/* What is there. After the status no more is waited for. */
static void take(struct child *c) {
    while (c->said_fd >= 0 && !has_status(c) && drain(&c->said_fd, c->said, sizeof c->said, &c->said_n)) {}
    if (c->fd >= 0) drain(&c->fd, c->out, KEEP, &c->n);
    if (!has_status(c)) return;
    while (c->fd >= 0 && c->n < KEEP && drain(&c->fd, c->out, KEEP, &c->n)) {}
    close_both(c);
}

static bool is_open(const struct child *c) { return c->fd >= 0 || c->said_fd >= 0; }

/* Milliseconds until the next limit is passed; -1: there is none. */
static int patience(const struct child *c, int n) {
    uint64_t now = os_now_ns(), until = UINT64_MAX;
    for (int i = 0; i < n; i++)
        if (is_open(&c[i]) && c[i].until) until = RG_MIN(until, c[i].until);
    if (until == UINT64_MAX) return -1;
    return until <= now ? 0 : (int)RG_MIN((until - now) / 1000000 + 1, (uint64_t)INT32_MAX);
}

static void stop_late(struct child *c, int n) {
    uint64_t now = os_now_ns();
    for (int i = 0; i < n; i++) {
        if (!is_open(&c[i]) || !c[i].until || c[i].until > now) continue;
        kill(-c[i].pid, SIGKILL);
        c[i].late = true;
        close_both(&c[i]);
    }
}

static void read_outputs(struct child *c, struct pollfd *p, int n) {
    for (;;) {
        int open = 0;
        for (int i = 0; i < n; i++) {
            p[2 * i] = (struct pollfd){.fd = c[i].fd, .events = POLLIN};
            p[2 * i + 1] = (struct pollfd){.fd = c[i].said_fd, .events = POLLIN};
            open += is_open(&c[i]);
        }
        if (!open) return;
        int ready = poll(p, 2 * (nfds_t)n, patience(c, n));
        for (int i = 0; i < n && ready > 0; i++)
            if (p[2 * i].revents || p[2 * i + 1].revents) take(&c[i]);
        stop_late(c, n);
    }
}

static void reap(struct err *e, struct child *c, struct os_proc *p) {
    int st;
    pid_t got;
    while ((got = waitpid(c->pid, &st, 0)) < 0 && errno == EINTR) {}
    p->late = c->late;
    if (c->late)
        p->status = 128 + SIGKILL;
    else if (has_status(c))
        p->status = atoi(c->said);
    else if (got < 0)
        err_set(e, RG_EIO,
                "%s: its exit status is lost: %s. The shell %s that waits for it was killed, or could not "
                "be started; is there memory for more processes?",
                c->path, strerror(errno), SHELL);
    else
        p->status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/* Arguments of the shell; the program's follow. */
static void shell_args(struct arena *a, struct child *c, const char *const *argv) {
    static const char text[] = "(read end <&4; kill -9 0) >&2 3>&- & w=$!; exec 4<&-; "
                               "(exec \"$@\" 2>&1 3>&-); s=$?; kill -9 $w; echo $s >&3";
    int n = 0;
    while (argv[n]) n++;
    const char **out = arena_array(a, const char *, n + SHELL_ARGS);
    out[0] = "sh", out[1] = "-c", out[2] = text, out[3] = "sh";
    memcpy(out + SHELL_ARGS - 1, argv, (size_t)n * sizeof *out);
    const char *found = strchr(argv[0], '/') ? NULL : os_find_program(a, argv[0]);
    c->path = out[SHELL_ARGS - 1] = found ? found : argv[0];
    c->argv = out;
}

int os_run_many(struct err *e, struct arena *a, struct os_proc *p, int n) {
    if (e->code) return e->code;
    struct child *c = arena_array(a, struct child, n);
    struct pollfd *polls = arena_array(a, struct pollfd, 2 * n);
    size_t bytes = (size_t)n * (KEEP + 1), fill = 0;
    for (int i = 0; i < n; i++) {
        p[i].status = -1;
        c[i] = (struct child){.fd = -1, .said_fd = -1};
        shell_args(a, &c[i], p[i].argv);
    }
    char *text = arena_raw(a, bytes); /* the last: it shrinks in the end */
    for (int i = 0; i < n; i++) c[i].out = text + (size_t)i * (KEEP + 1);
    int alive[2], bad = make_pipe(alive);
    if (bad) return err_set(e, RG_EIO, "cannot make a pipe: %s", strerror(bad));
    fcntl(alive[0], F_SETFL, 0); /* its readers wait */
    for (int i = 0; i < n && !e->code; i++) {
        if (p[i].limit_s > 0)
            c[i].until = os_now_ns() + (uint64_t)RG_MIN(p[i].limit_s, (int64_t)1 << 32) * 1000000000;
        start(e, &c[i], alive[0]);
    }
    close(alive[0]);
    read_outputs(c, polls, n);
    for (int i = 0; i < n; i++) {
        if (c[i].pid) reap(e, &c[i], &p[i]);
        p[i].out = memmove(text + fill, c[i].out, c[i].n); /* close up: most outputs are empty */
        fill += c[i].n;
        text[fill++] = 0;
    }
    close(alive[1]);
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
