/* os_child.c: a helper process that is talked to through a socket, which is its stdin and stdout.
 *
 * Nothing here blocks beyond its deadline and nothing raises SIGPIPE. The helper may die at any time: then reads and writes
 * say so. A host that reaps our children takes their exit status, no more. Our end stays clear of 0 to 2, which the host may
 * have closed. Tests: tests/unit/base_run.c (os_child_*) */
#include "internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_FDS = 3, PATIENCE_MS = 1000, LOOK_MS = 5 };

/* Both ends above those that the child gets. */
static int make_socket(int end[2]) {
    int low[2], bad = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low)) return errno;
    for (int i = 0; i < 2; i++) {
        end[i] = fcntl(low[i], F_DUPFD_CLOEXEC, CHILD_FDS);
        if (end[i] < 0 && !bad) bad = errno;
    }
    close(low[0]), close(low[1]);
    for (int i = 0; i < 2 && bad; i++)
        if (end[i] >= 0) close(end[i]);
    return bad;
}

int os_child_start(struct err *e, const char *const *argv, struct os_child *out) {
    posix_spawn_file_actions_t fa;
    int end[2];
    pid_t pid = 0;
    *out = (struct os_child){.fd = -1};
    int bad = access(argv[0], X_OK) ? errno : make_socket(end);
    if (bad) return err_set(e, RG_EIO, "cannot run %s: %s", argv[0], strerror(bad));
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, end[1], 0);
    posix_spawn_file_actions_adddup2(&fa, end[1], 1);
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
    bad = os_spawn(&pid, argv[0], (char *const *)argv, &fa);
    posix_spawn_file_actions_destroy(&fa);
    close(end[1]);
    if (bad) {
        close(end[0]);
        return err_set(e, RG_EIO, "cannot run %s: %s", argv[0], strerror(bad));
    }
    *out = (struct os_child){.pid = pid, .fd = end[0]};
    return 0;
}

static enum os_talk wait_for(int fd, short what, uint64_t until) {
    for (;;) {
        uint64_t now = os_now_ns();
        struct pollfd p = {.fd = fd, .events = what};
        if (now >= until) return OS_TALK_LATE;
        int ready = poll(&p, 1, (int)RG_MIN((until - now) / 1000000 + 1, (uint64_t)INT_MAX));
        if (ready > 0) return OS_TALK_DONE;
        if (ready < 0 && errno != EINTR) return OS_TALK_ENDED;
    }
}

enum os_talk os_child_send(const struct os_child *c, const void *data, size_t n, uint64_t until) {
    const char *p = data;
    while (n) {
        enum os_talk t = wait_for(c->fd, POLLOUT, until);
        if (t) return t;
        ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (k < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (k < 0) return OS_TALK_ENDED;
        p += k, n -= (size_t)k;
    }
    return OS_TALK_DONE;
}

enum os_talk os_child_receive(const struct os_child *c, void *data, size_t n, uint64_t until) {
    char *p = data;
    while (n) {
        enum os_talk t = wait_for(c->fd, POLLIN, until);
        if (t) return t;
        ssize_t k = recv(c->fd, p, n, MSG_DONTWAIT);
        if (k < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (k <= 0) return OS_TALK_ENDED;
        p += k, n -= (size_t)k;
    }
    return OS_TALK_DONE;
}

/* It sees the end of its input and goes; what does not is killed, and then goes at once. */
int os_child_stop(struct os_child *c) {
    int st = 0;
    pid_t got = 0;
    if (c->fd < 0) return 0;
    close(c->fd);
    for (int ms = 0; ms < PATIENCE_MS && got == 0; ms += LOOK_MS) {
        got = waitpid(c->pid, &st, WNOHANG);
        if (!got) poll(NULL, 0, LOOK_MS);
    }
    bool forced = got == 0;
    if (forced) {
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, &st, 0) < 0 && errno == EINTR) {}
    }
    *c = (struct os_child){.fd = -1};
    return !forced && got > 0 && WIFSIGNALED(st) ? WTERMSIG(st) : 0;
}

#ifndef RIDGE_PREFIX /* the Makefile says */
#define RIDGE_PREFIX "/usr/local"
#define RIDGE_LIBDIR "/usr/local/lib"
#define RIDGE_MULTIARCH "."
#define RIDGE_ABI "0"
#endif

/* Where a file is when its folder is asked from that of the library or the program: beside it (in a build tree, in a Python
 * package), as `make install` puts it (PREFIX/lib, PREFIX/lib/TRIPLET, PREFIX/bin), in the source tree. */
static const char *const folders[] = {
    "",
    "ridge-" RIDGE_ABI "/",
    "../lib/ridge-" RIDGE_ABI "/",
    "../lib/" RIDGE_MULTIARCH "/ridge-" RIDGE_ABI "/",
    "../share/ridge/",
    "../../share/ridge/",
    "../../share/",
};

static const char *in_folders(struct arena *a, const char *folder, const char *name, int mode) {
    for (size_t i = 0; i < RG_COUNT(folders); i++) {
        char real[PATH_MAX];
        const char *path = arena_printf(a, "%s/%s%s", folder, folders[i], name);
        if (!access(path, mode) && realpath(path, real)) return arena_printf(a, "%s", real);
    }
    return NULL;
}

static const char *near_file(struct arena *a, const char *file, const char *name, int mode) {
    char real[PATH_MAX];
    if (!file || !strchr(file, '/') || !realpath(file, real)) return NULL;
    *strrchr(real, '/') = 0;
    return in_folders(a, real, name, mode);
}

const char *os_installed(struct arena *a, const char *name, bool program) {
    const int mode = program ? X_OK : R_OK;
    const char *path = NULL;
    Dl_info at;
    /* A setuid program asks only where it was installed: its caller chose argv[0], which dladdr gives, and may have linked its file
     * elsewhere. Without /proc there is what exec was given. */
    if (!getauxval(AT_SECURE)) {
        if (dladdr((void *)(uintptr_t)make_socket, &at)) path = near_file(a, at.dli_fname, name, mode);
        if (!path) path = near_file(a, "/proc/self/exe", name, mode);
        if (!path) path = near_file(a, (const char *)getauxval(AT_EXECFN), name, mode);
    }
    if (!path) path = in_folders(a, RIDGE_LIBDIR, name, mode);
    return path ? path : in_folders(a, RIDGE_PREFIX "/bin", name, mode);
}
