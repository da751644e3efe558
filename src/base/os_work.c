/* os_work.c: folders in TMPDIR that are needed for a moment, such as those that a C compiler reads from and writes to.
 *
 * A folder is locked while it is used. What a process that was killed left behind is not locked any more, and goes when a later
 * process begins its first one. Only folders of this form are looked at, ridge-cc-XXXXXX, of this user, private, not changed for
 * a minute (a new one is not locked yet), and of what is in them only files called unit...
 * Tests: tests/unit/base_os.c (os_work_*) */
#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FORM "ridge-cc-"
#define RANDOM 6
#define QUIET_S 60

static const char *top(void) {
    const char *dir = env_get("TMPDIR");
    return dir && *dir ? dir : "/tmp";
}

static bool is_own(int at, const char *name) {
    struct stat st;
    size_t n = strlen(FORM);
    return !strncmp(name, FORM, n) && strlen(name) == n + RANDOM &&
           !fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 07777) == 0700 && time(NULL) - st.st_mtime > QUIET_S;
}

static void remove_units(int fd) {
    DIR *d = fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, "unit", 4)) unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d); /* and the lock */
    else
        close(fd);
}

static void sweep(void) {
    static atomic_long swept; /* by this process, which may be a child of one that did */
    DIR *d = atomic_exchange(&swept, (long)getpid()) == getpid() ? NULL : opendir(top());
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!is_own(dirfd(d), e->d_name)) continue;
        int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB)) {
            close(fd); /* it is used */
            continue;
        }
        remove_units(fd);
        unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    }
    if (d) closedir(d);
}

int os_work_begin(struct err *e, struct arena *a, struct os_work *w) {
    *w = (struct os_work){.lock = -1};
    if (e->code) return e->code;
    sweep();
    char *p = arena_printf(a, "%s/" FORM "XXXXXX", top());
    if (!mkdtemp(p))
        return err_set(e, RG_EIO, "cannot create a directory in %s: %s; set TMPDIR to another folder", top(),
                       strerror(errno));
    w->path = p;
    w->lock = open(p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->lock >= 0) flock(w->lock, LOCK_EX | LOCK_NB);
    return 0;
}

/* Keeps the folder for the user, since the compiler's message names it: the sticky bit exempts it from cleaning. */
void os_work_keep(struct os_work *w) {
    chmod(w->path, 01700);
    os_close(w->lock);
    *w = (struct os_work){.lock = -1};
}

void os_work_end(struct os_work *w) {
    if (w->path) os_remove_tree(w->path);
    os_close(w->lock);
    *w = (struct os_work){.lock = -1};
}
