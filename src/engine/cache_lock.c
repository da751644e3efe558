/* cache_lock.c: which process compiles what, and who rewrites the index.
 *
 * One file, `lock`, whose bytes are locked one by one (open file description locks): byte 0 for the index, another for each
 * key. The system releases them when their owner is killed, and they hold between threads of one process as well, since
 * every user opens the file anew. A file system without such locks is used without them: then several may compile the
 * same, which costs time only.
 * Tests: tests/unit/cache_index.c (cache_lock_*) */
#include "engine/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int cache_locks_open(const struct cache *c) {
    char path[4200];
    struct stat st;
    if (!c->tmp || snprintf(path, sizeof path, "%s/lock", c->dir) >= (int)sizeof path) return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || (!fstat(fd, &st) && S_ISREG(st.st_mode))) return fd;
    close(fd);
    return -1;
}

/* False: another holds it. */
static bool set(int fd, short type, uint64_t at) {
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = 1};
    int code;
    while ((code = fcntl(fd, F_OFD_SETLK, &l)) && errno == EINTR) {}
    return !code || (errno != EAGAIN && errno != EACCES);
}

static uint64_t byte_of(const char *key) { return 1 + (hex_head(key) >> 2); }

bool cache_lock(int fd, const char *key) { return fd < 0 || set(fd, F_WRLCK, byte_of(key)); }

void cache_unlock(int fd, const char *key) {
    if (fd >= 0) set(fd, F_UNLCK, byte_of(key));
}

int cache_guard(const struct cache *c, bool alone, int wait_ms) {
    int fd = cache_locks_open(c);
    for (int ms = 0; fd >= 0 && !set(fd, alone ? F_WRLCK : F_RDLCK, 0); ms++) {
        if (ms >= wait_ms) {
            close(fd);
            return CACHE_BUSY;
        }
        os_sleep_ms(1);
    }
    return fd;
}

void cache_unguard(int fd) {
    if (fd < 0) return;
    set(fd, F_UNLCK, 0); /* a forked child may have the descriptor too */
    close(fd);
}
