/* rendezvous.c: how processes of one host come to map the same memory.
 *
 * Rank 0 makes an anonymous file (memfd) and listens on a socket in the abstract namespace, whose name has the user and the job; the
 * others connect, and are sent the file. Neither has a name in a file system: whatever becomes of the processes, nothing is left.
 * Only processes of the same user are served.
 * Tests: tests/cli/world.sh */
#include "world/internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { RETRY_MS = 5, SHOWN = 60 };

static socklen_t address_of(const struct world *w, struct sockaddr_un *a) {
    char hex[65];
    sha256_hex(w->name, strlen(w->name), hex);
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "ridge-%u-%.40s", (unsigned)getuid(), hex);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool same_user(int s) {
    struct ucred u;
    socklen_t n = sizeof u;
    return !getsockopt(s, SOL_SOCKET, SO_PEERCRED, &u, &n) && u.uid == getuid();
}

/* A message of one byte that carries a file descriptor. */
union fd_control {
    struct cmsghdr h;
    char room[CMSG_SPACE(sizeof(int))];
};
static struct msghdr fd_message(struct iovec *byte, union fd_control *c) {
    memset(c, 0, sizeof *c);
    return (struct msghdr){.msg_iov = byte, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof *c};
}

/* ---- rank 0 --------------------------------------------------------------------------------------------------------- */

static bool send_file(int s, int fd) {
    char byte = 1;
    union fd_control c;
    struct iovec v = {&byte, 1};
    struct msghdr m = fd_message(&v, &c);
    c.h =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&c.h), &fd, sizeof fd);
    return sendmsg(s, &m, MSG_NOSIGNAL) == 1;
}

/* A rank says who it is, and gets the file. */
static int serve_one(int listener, int fd, bool *known, int64_t size) {
    int s = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    int32_t rank = -1;
    struct timeval patience = {.tv_sec = 1};
    if (s < 0) return 0;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool good = same_user(s) && recv(s, &rank, sizeof rank, MSG_WAITALL) == sizeof rank && rank > 0 &&
                rank < size && send_file(s, fd);
    close(s);
    if (!good || known[rank]) return 0;
    known[rank] = true;
    return 1;
}

static int missing(struct world *w, struct err *e, const bool *known) {
    char list[128] = "";
    int n = 0;
    for (int64_t r = 1; r < w->size && n < SHOWN; r++)
        if (!known[r])
            n += snprintf(list + n, sizeof list - (size_t)n, "%s%lld", n ? ", " : "", (long long)r);
    return err_set(
        e, RG_EDEVICE,
        "of %lld ranks, rank %s did not open the world within %.3g s (RIDGE_WORLD_TIMEOUT sets the limit)",
        (long long)w->size, list, (double)w->limit_ns * 1e-9);
}

static int serve(struct world *w, struct err *e, int listener, int fd) {
    bool known[SEGMENT_RANKS] = {0};
    uint64_t until = os_now_ns() + w->limit_ns;
    for (int64_t n = 1; n < w->size;) {
        uint64_t now = os_now_ns();
        struct pollfd p = {.fd = listener, .events = POLLIN};
        if (now >= until) return missing(w, e, known);
        int ms = (int)RG_MIN((until - now) / 1000000 + 1, 1000ull);
        if (poll(&p, 1, ms) > 0) n += serve_one(listener, fd, known, w->size);
    }
    return 0;
}

static int listen_first(struct world *w, struct err *e, size_t bytes) {
    struct sockaddr_un a;
    socklen_t n = address_of(w, &a);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = memfd_create("ridge-world", MFD_CLOEXEC);
    if (s < 0 || fd < 0 || ftruncate(fd, (off_t)bytes))
        err_set(e, RG_EDEVICE, "no shared memory of %zu bytes for a world: %s", bytes, strerror(errno));
    else if (bind(s, (struct sockaddr *)&a, n))
        err_set(e, RG_EDEVICE, "rank 0 of world %s cannot listen: %s; is another job of this name running?",
                w->name, strerror(errno));
    else if (listen(s, SEGMENT_RANKS))
        err_set(e, RG_EDEVICE, "rank 0 of world %s cannot listen: %s", w->name, strerror(errno));
    else if (!segment_begin(w, e, fd))
        serve(w, e, s, fd);
    if (s >= 0) close(s);
    if (e->code && fd >= 0) close(fd);
    return e->code ? -1 : fd;
}

/* ---- the others ------------------------------------------------------------------------------------------------------- */

static int receive_file(int s) {
    char byte;
    int fd = -1;
    union fd_control c;
    struct iovec v = {&byte, 1};
    struct msghdr m = fd_message(&v, &c);
    if (recvmsg(s, &m, MSG_CMSG_CLOEXEC) != 1 || m.msg_controllen < CMSG_LEN(sizeof fd)) return -1;
    if (c.h.cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(&c.h), sizeof fd);
    return fd;
}

static int try_connect(const struct world *w) {
    struct sockaddr_un a;
    socklen_t n = address_of(w, &a);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;
    int32_t rank = (int32_t)w->rank;
    struct timeval patience = {.tv_sec = (time_t)(w->limit_ns / 1000000000u) + 1};
    if (s < 0) return -1;
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!connect(s, (struct sockaddr *)&a, n) && same_user(s) &&
        send(s, &rank, sizeof rank, MSG_NOSIGNAL) == sizeof rank)
        fd = receive_file(s);
    close(s);
    return fd;
}

int rendezvous(struct world *w, struct err *e, size_t bytes) {
    if (!w->rank) return listen_first(w, e, bytes);
    uint64_t until = os_now_ns() + w->limit_ns;
    for (;;) {
        int fd = try_connect(w);
        if (fd >= 0) return fd;
        if (os_now_ns() >= until) break;
        os_sleep_ms(RETRY_MS);
    }
    err_set(e, RG_EDEVICE,
            "rank 0 of world %s did not open it within %.3g s: it ended, is late, or runs on another host "
            "(backend \"mpi\" "
            "spans hosts)",
            w->name, (double)w->limit_ns * 1e-9);
    return -1;
}
