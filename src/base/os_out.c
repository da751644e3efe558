/* os_out.c: every file that is written for a person: checkpoints, profiles, pages, traces, machine files.
 *
 * What stands at the path decides. Nothing or a regular file: all is written to a file without a name in the same folder,
 * synced and renamed into place, so that there is the old file or the new one, and a process that is killed leaves neither
 * half a file nor a temporary one; an existing file's mode and owner are kept, and one that may not be written is not replaced.
 * Where the file system has no files without names, a killed process leaves PATH.tmp.PID.N, which is locked while it is written:
 * without a lock and a process it goes when the same path is written again. A symbolic link stays, and what it points to is written so. A device, a pipe or an open descriptor (/dev/stdout,
 * /dev/fd/N) is written into, and the first write that fails is an error. A directory or a socket is an error.
 * Tests: tests/unit/base_os.c (os_out_*) */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINKS 40 /* followed at most, as the system does */
#define OURS "/proc/self/fd/"
#define TEMPORARY ".tmp."

static int fail(struct err *e, const char *verb, const char *path) {
    return err_set(e, RG_EIO, "cannot %s %s: %s", verb, path, strerror(errno));
}

/* ---- what stands there ------------------------------------------------------------------------------ */

/* The descriptor of this process that a path stands for, or -1. */
static int descriptor(const char *path) {
    static const char *const folder[] = {"/dev/fd/", OURS};
    if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    for (size_t i = 0; i < RG_COUNT(folder); i++) {
        size_t n = strlen(folder[i]), digits;
        if (strncmp(path, folder[i], n)) continue;
        digits = strspn(path + n, "0123456789");
        if (digits && digits < 8 && !path[n + digits]) return atoi(path + n);
    }
    return -1;
}

/* Replaces a path that ends in a link by where that leads, or returns -1 with errno. */
static int follow(char path[PATH_MAX]) {
    char to[PATH_MAX];
    for (int i = 0; i < LINKS; i++) {
        struct stat st;
        if (descriptor(path) >= 0 || lstat(path, &st) || !S_ISLNK(st.st_mode)) return 0;
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n < 0) return -1;
        to[n] = 0;
        char *name = strrchr(path, '/');
        size_t keep = *to == '/' || !name ? 0 : (size_t)(name + 1 - path);
        if (keep + (size_t)n >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        memcpy(path + keep, to, (size_t)n + 1);
    }
    errno = ELOOP;
    return -1;
}

/* ---- where it is written ---------------------------------------------------------------------------- */

/* Only root may keep another user as the owner; a group that cannot be kept takes its rights with it. */
static int keep_rights(int fd, const struct stat *old) {
    bool group = !fchown(fd, old->st_uid, old->st_gid) || !fchown(fd, (uid_t)-1, old->st_gid);
    return fchmod(fd, old->st_mode & (group ? 0777 : 0707));
}

/* PID of a name that is `base`.tmp.PID.N; 0: it is not one. */
static long temporary_of(const char *name, const char *base) {
    size_t n = strlen(base), k, m;
    const char *digits = "0123456789", *pid;
    if (strncmp(name, base, n) || strncmp(name + n, TEMPORARY, strlen(TEMPORARY))) return 0;
    pid = name + n + strlen(TEMPORARY);
    k = strspn(pid, digits);
    m = k && pid[k] == '.' ? strspn(pid + k + 1, digits) : 0;
    return m && k < 11 && !pid[k + 1 + m] ? strtol(pid, NULL, 10) : 0;
}

static void remove_leftover(int at, const char *name) {
    struct stat st;
    int fd = openat(at, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB))
        unlinkat(at, name, 0);
    close(fd);
}

static void sweep(const char *folder, const char *base) {
    DIR *d = opendir(folder);
    for (struct dirent *x; d && (x = readdir(d));) {
        long pid = temporary_of(x->d_name, base);
        if (pid && kill((pid_t)pid, 0) && errno == ESRCH) remove_leftover(dirfd(d), x->d_name);
    }
    if (d) closedir(d);
}

/* Without a name where the file system can, so that nothing is left when the process is killed. */
static int open_beside(struct os_out *o, unsigned mode) {
    char folder[PATH_MAX];
    const char *slash = strrchr(o->to, '/');
    size_t n = slash ? RG_MAX((size_t)(slash - o->to), 1) : 1;
    memcpy(folder, slash ? o->to : ".", n);
    folder[n] = 0;
    sweep(folder, slash ? slash + 1 : o->to);
    int fd = access(OURS, X_OK) ? -1 : open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    o->named = fd < 0;
    if (fd < 0) fd = open(o->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd >= 0) flock(fd, LOCK_EX | LOCK_NB); /* it is being written */
    return fd;
}

static int begin_file(struct err *e, struct os_out *o, const struct stat *old, unsigned mode) {
    static atomic_uint serial;
    size_t room = strlen(o->to) + 48;
    o->tmp = mem_alloc(room);
    if (!o->tmp) return err_set(e, RG_ENOMEM, "out of memory: cannot write %s", o->path);
    snprintf(o->tmp, room, "%s" TEMPORARY "%ld.%u", o->to, (long)getpid(), atomic_fetch_add(&serial, 1));
    if (old && faccessat(AT_FDCWD, o->to, W_OK, AT_EACCESS)) return fail(e, "write", o->path);
    o->fd = open_beside(o, old ? 0600 : mode);
    if (o->fd < 0) return fail(e, "create", o->path); /* the name that was asked for, not ours */
    return old && keep_rights(o->fd, old) ? fail(e, "keep the mode of", o->path) : 0;
}

static int begin_direct(struct err *e, struct os_out *o) {
    int own = descriptor(o->to);
    o->direct = true;
    o->fd = own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 3) : open(o->to, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return o->fd < 0 ? fail(e, "write", o->path) : 0;
}

int os_out_begin(struct err *e, struct os_out *o, const char *path, unsigned mode) {
    struct stat st;
    *o = (struct os_out){.path = path, .fd = -1};
    if (e->code) return e->code;
    size_t n = strlen(path);
    if (!n || n >= PATH_MAX) {
        errno = n ? ENAMETOOLONG : ENOENT;
        return fail(e, "create", path);
    }
    o->to = mem_alloc(PATH_MAX);
    if (!o->to) return err_set(e, RG_ENOMEM, "out of memory: cannot write %s", path);
    memcpy(o->to, path, n + 1);
    if (follow(o->to)) return fail(e, "create", path);
    if (descriptor(o->to) >= 0) return begin_direct(e, o);
    if (lstat(o->to, &st)) return errno == ENOENT ? begin_file(e, o, NULL, mode) : fail(e, "create", path);
    if (S_ISDIR(st.st_mode)) return err_set(e, RG_EIO, "cannot write %s: it is a directory", path);
    return S_ISREG(st.st_mode) ? begin_file(e, o, &st, mode) : begin_direct(e, o);
}

/* ---- writing ---------------------------------------------------------------------------------------- */

static int write_all(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        p += k, n -= (size_t)k;
    }
    return 0;
}

/* A reader of a pipe that goes away is an error of this write, not the end of the process. */
static int write_to_pipe(int fd, const void *p, size_t n) {
    sigset_t broken, before, pending;
    sigemptyset(&broken), sigaddset(&broken, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    int bad = write_all(fd, p, n), why = errno;
    if (bad && why == EPIPE && !sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&broken, NULL, &(struct timespec){0}) < 0 && errno == EINTR) continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return bad;
}

int os_out_add(struct err *e, struct os_out *o, const void *data, size_t n) {
    if (e->code) return e->code;
    int bad = o->direct ? write_to_pipe(o->fd, data, n) : write_all(o->fd, data, n);
    return bad ? fail(e, "write", o->path) : 0;
}

static int give_name(struct os_out *o) {
    char from[40];
    if (o->named) return 0;
    snprintf(from, sizeof from, OURS "%d", o->fd);
    o->named = !linkat(AT_FDCWD, from, AT_FDCWD, o->tmp, AT_SYMLINK_FOLLOW);
    return o->named ? 0 : -1;
}

int os_out_publish(struct err *e, struct os_out *o) {
    if (e->code || o->direct || o->placed) return e->code;
    if (give_name(o) || rename(o->tmp, o->to)) return fail(e, "write", o->path);
    o->named = false;
    o->placed = true;
    return 0;
}

int os_out_end(struct err *e, struct os_out *o) {
    if (o->fd >= 0) {
        if (!e->code && !o->direct && !o->placed && fsync(o->fd)) fail(e, "write", o->path);
        os_out_publish(e, o);
        if (close(o->fd) && !e->code) fail(e, "write", o->path);
        if (o->named) unlink(o->tmp);
    }
    mem_free(o->tmp), mem_free(o->to);
    *o = (struct os_out){.fd = -1};
    return e->code;
}

int os_write_file(struct err *e, const char *path, const void *data, size_t n, unsigned mode) {
    struct os_out o;
    os_out_begin(e, &o, path, mode);
    os_out_add(e, &o, data, n);
    return os_out_end(e, &o);
}
