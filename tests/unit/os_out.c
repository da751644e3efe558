/* Tests of src/base/os_out.c: outputs respect what stands at their path. */
#include "base/base.h"
#include "test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static char *dir;

static void setup(void) {
    arena_init(&arena, &err);
    CHECK_EQ(os_temp_dir(&err, &arena, &dir), 0);
}

static int entries(void) {
    DIR *d = opendir(dir);
    int n = -2;
    while (d && readdir(d)) n++;
    closedir(d);
    return n;
}

static void done(int files) {
    CHECK_EQ(entries(), files); /* nothing was left beside them */
    os_remove_tree(dir);
    arena_free(&arena);
}

static char *in_dir(const char *name) { return arena_printf(&arena, "%s/%s", dir, name); }

static void put(const char *path, const char *text) {
    if (os_write_file(&err, path, text, strlen(text), 0644)) FAIL("%s", err.msg);
}

static void holds(const char *path, const char *text) {
    char *data;
    if (os_read_file(&err, &arena, path, 1 << 20, &data, NULL)) FAIL("%s", err.msg);
    CHECK_STR(data, text);
}

static unsigned mode_of(const char *path) {
    struct stat st;
    CHECK(!lstat(path, &st));
    return st.st_mode;
}

static void refused(const char *path, const char *why) {
    CHECK_EQ(os_write_file(&err, path, "x", 1, 0644), RG_EIO);
    if (!strstr(err.msg, why) || !strstr(err.msg, path)) FAIL("%s: expected %s", err.msg, why);
    err_clear(&err);
}

TEST(os_out_keeps_mode_and_owner) {
    setup();
    char *path = in_dir("f");
    umask(022);
    put(path, "new");
    CHECK_EQ(mode_of(path) & 07777, 0644);
    static const unsigned mode[] = {0600, 0640, 0666, 0755};
    for (size_t i = 0; i < RG_COUNT(mode); i++) {
        CHECK(!chmod(path, mode[i]));
        put(path, "other");
        holds(path, "other");
        CHECK_EQ(mode_of(path) & 07777, mode[i]);
    }
    if (!geteuid()) {
        struct stat st;
        CHECK(!chown(path, 12345, 12346));
        put(path, "theirs");
        CHECK(!stat(path, &st) && st.st_uid == 12345 && st.st_gid == 12346);
    }
    done(1);
}

TEST(os_out_leaves_links) {
    setup();
    char *file = in_dir("file"), *link = in_dir("link"), *second = in_dir("second"), *loop = in_dir("loop");
    CHECK(!symlink("file", link) && !symlink(link, second) && !symlink("loop", loop));
    put(second, "made"); /* where the link leads, though nothing was there */
    holds(file, "made");
    CHECK(!chmod(file, 0600));
    put(link, "replaced");
    holds(file, "replaced");
    CHECK(S_ISLNK(mode_of(link)) && S_ISLNK(mode_of(second)) && S_ISREG(mode_of(file)));
    CHECK_EQ(mode_of(file) & 07777, 0600);
    refused(loop, "symbolic links");
    done(4);
}

TEST(os_out_refuses_directories_and_sockets) {
    setup();
    char *folder = in_dir("d"), *name = in_dir("s");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", name);
    CHECK(!mkdir(folder, 0700) && s >= 0 && !bind(s, (struct sockaddr *)&at, sizeof at));
    refused(folder, "it is a directory");
    refused(name, "No such device or address");
    CHECK(S_ISDIR(mode_of(folder)) && S_ISSOCK(mode_of(name)));
    close(s);
    done(2);
}

/* One of our own: if it is replaced, the machine's is not. */
static void device(const char *path, unsigned minor_number) {
    if (mknod(path, S_IFCHR | 0666, makedev(1, minor_number))) SKIP("no device can be made here");
    int fd = open(path, O_WRONLY);
    if (fd < 0) SKIP("devices cannot be opened here");
    close(fd);
}

TEST(os_out_writes_into_devices) {
    setup();
    char *null = in_dir("null"), *full = in_dir("full"), *link = in_dir("link");
    device(null, 3), device(full, 7);
    CHECK(!symlink("full", link));
    put(null, "gone");
    refused(full, "No space left on device");
    refused(link, "No space left on device");
    CHECK(S_ISCHR(mode_of(null)) && S_ISCHR(mode_of(full)) && S_ISLNK(mode_of(link)));
    done(3);
}

static pid_t reader(const char *path, bool leaves) {
    pid_t p = fork();
    if (p) return p;
    char got[8] = "";
    int fd = open(path, O_RDONLY);
    if (leaves) _exit(0);
    size_t n = 0;
    for (ssize_t k; n < 7 && (k = read(fd, got + n, 7 - n)) > 0;) n += (size_t)k;
    _exit(strcmp(got, "abcdef") != 0);
}

TEST(os_out_writes_into_pipes) {
    setup();
    char *path = in_dir("p");
    CHECK(!mkfifo(path, 0600));
    pid_t p = reader(path, false);
    int st;
    put(path, "abcdef");
    CHECK(waitpid(p, &st, 0) == p && st == 0);
    CHECK(S_ISFIFO(mode_of(path)));
    p = reader(path, true); /* an error, not the end of the process */
    struct os_out o;
    os_out_begin(&err, &o, path, 0644);
    CHECK(waitpid(p, &st, 0) == p && st == 0);
    CHECK_EQ(os_out_add(&err, &o, "abc", 3), RG_EIO);
    CHECK(strstr(err.msg, "Broken pipe"));
    CHECK_EQ(os_out_end(&err, &o), RG_EIO);
    CHECK(S_ISFIFO(mode_of(path)));
    done(1);
}

/* /dev/fd/N is the open file, where it stands; it is not replaced, though it is a regular one. */
TEST(os_out_writes_into_descriptors) {
    setup();
    char *path = in_dir("f");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, "said ", 5) == 5);
    put(arena_printf(&arena, "/dev/fd/%d", fd), "more");
    CHECK(write(fd, " after", 6) == 6 && !close(fd));
    holds(path, "said more after");
    refused("/dev/fd/9999", "Bad file descriptor");
    done(1);
}

TEST(os_out_respects_a_file_that_may_not_be_written) {
    setup();
    if (geteuid()) SKIP("only root can become another user");
    char *path = in_dir("f");
    put(path, "keep");
    CHECK(!chmod(path, 0444) && !chmod(dir, 0777));
    pid_t p = fork();
    int st;
    if (!p) {
        if (setgid(12345) || setuid(12345)) _exit(1);
        _exit(os_write_file(&err, path, "x", 1, 0644) == RG_EIO && strstr(err.msg, "Permission denied") ? 0
                                                                                                        : 2);
    }
    CHECK(waitpid(p, &st, 0) == p && st == 0);
    holds(path, "keep");
    done(1);
}

TEST(os_out_leaves_nothing_when_killed) {
    setup();
    char *path = in_dir("f");
    struct os_out probe;
    put(path, "old");
    CHECK_EQ(os_out_begin(&err, &probe, path, 0644), 0);
    bool named = probe.named;
    err_set(&err, RG_EINVAL, "not needed");
    os_out_end(&err, &probe);
    err_clear(&err);
    if (named) SKIP("files without a name cannot be made here");
    pid_t p = fork();
    if (!p) {
        struct os_out o;
        os_out_begin(&err, &o, path, 0644);
        os_out_add(&err, &o, "half", 4);
        raise(SIGKILL);
    }
    int st;
    CHECK(waitpid(p, &st, 0) == p && WIFSIGNALED(st));
    holds(path, "old");
    done(1);
}

/* PATH.tmp.PID.N of a process that is gone; not of one that lives, not one that is locked, nor another's name. */
TEST(os_out_removes_what_killed_processes_left) {
    setup();
    char *path = in_dir("f"), name[6][40];
    pid_t gone = fork();
    if (!gone) _exit(0);
    CHECK(waitpid(gone, NULL, 0) == gone);
    snprintf(name[0], sizeof name[0], "f.tmp.%d.0", (int)gone);
    snprintf(name[1], sizeof name[1], "f.tmp.%d.1", (int)gone); /* another container's, say */
    snprintf(name[2], sizeof name[2], "f.tmp.%d.0", (int)getppid());
    snprintf(name[3], sizeof name[3], "g.tmp.%d.0", (int)gone);
    snprintf(name[4], sizeof name[4], "f.tmp.%d.0.mp4", (int)gone);
    snprintf(name[5], sizeof name[5], "f.tmp.%d.", (int)gone);
    for (int i = 0; i < 6; i++) {
        int fd = open(in_dir(name[i]), O_WRONLY | O_CREAT | O_EXCL, 0600);
        CHECK(fd >= 0);
        if (i == 1) CHECK(!flock(fd, LOCK_EX)); /* stays open */
    }
    put(path, "new");
    CHECK(!os_exists(in_dir(name[0])));
    for (int i = 1; i < 6; i++) CHECK(os_exists(in_dir(name[i])));
    done(6);
}

/* Renamed into place at once, and written on; the old file stays whole for processes that have it open. */
TEST(os_out_can_be_placed_early) {
    setup();
    char *path = in_dir("f"), got[8] = "";
    put(path, "old");
    int old = open(path, O_RDONLY);
    struct os_out o;
    os_out_begin(&err, &o, path, 0644);
    os_out_add(&err, &o, "new", 3);
    CHECK_EQ(os_out_publish(&err, &o), 0);
    holds(path, "new");
    os_out_add(&err, &o, "er", 2);
    CHECK_EQ(os_out_end(&err, &o), 0);
    holds(path, "newer");
    CHECK(read(old, got, 7) == 3 && !strcmp(got, "old") && !close(old));
    done(1);
}
