/* child.c: programs that a command runs.
 *
 * Whether exec() worked is told through a pipe that closes with it: a program that is not there is one message, and is not
 * taken for one that ran and ended with status 127. Tests: tests/cli/errors.sh */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void become(char **argv, void (*prepare)(void *), void *arg, int tell) {
    if (prepare) prepare(arg);
    execvp(argv[0], argv);
    int code = errno;
    if (write(tell, &code, sizeof code) < 0) _exit(EXIT_FAILED);
    _exit(EXIT_NOT_RUN);
}

/* What exec() failed with, 0 if it did not. */
static int heard(int fd) {
    int code = 0;
    ssize_t n;
    while ((n = read(fd, &code, sizeof code)) < 0 && errno == EINTR)
        ;
    return n == sizeof code ? code : 0;
}

static int not_run(const char *command, const char *program, int code) {
    fprintf(stderr, "ridge %s: cannot run %s: %s%s\n", command, program, strerror(code),
            code == ENOENT && !strchr(program, '/') ? "; it is not in PATH (is it ./ in this folder?)" : "");
    return EXIT_NOT_RUN;
}

int cli_run(const char *command, char **argv, void (*prepare)(void *), void *arg, bool *ran) {
    int ends[2], st = 0;
    *ran = false;
    fflush(stdout);
    if (pipe2(ends, O_CLOEXEC)) return not_run(command, argv[0], errno);
    pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]), close(ends[1]);
        return not_run(command, argv[0], errno);
    }
    if (!pid) become(argv, prepare, arg, ends[1]);
    close(ends[1]);
    int code = heard(ends[0]);
    close(ends[0]);
    while (waitpid(pid, &st, 0) < 0)
        if (errno != EINTR) return not_run(command, argv[0], errno);
    if (code) return not_run(command, argv[0], code);
    *ran = true;
    if (WIFSIGNALED(st))
        fprintf(stderr, "ridge %s: %s was killed by signal %d\n", command, argv[0], WTERMSIG(st));
    return WIFSIGNALED(st) ? 128 + WTERMSIG(st) : WEXITSTATUS(st);
}
