/* cmd_env.c: `ridge env` and `ridge version`: what is set, and what this is.
 * Tests: tests/cli/usage.sh */
#include "cli.h"

#include <ridge.h>

struct listing {
    struct arena *arena;
};

static void print_list(void *arg) {
    struct listing *l = arg;
    struct str s;
    str_init(&s, l->arena);
    env_list(&s);
    fputs(s.p, stdout);
}

int cmd_env(int argc, char **argv) {
    struct args a = {
        .command = "env",
        .operands = "",
        .about = "Lists every environment variable with its value, its default and what it does.\n"
                 "Set them as RIDGE_NAME; the names marked so work bare too.",
    };
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    struct err e = {0};
    struct arena arena;
    arena_init(&arena, &e);
    struct listing l = {&arena};
    status = err_guard(&e, print_list, &l) ? cli_error("env", &e) : EXIT_OK;
    arena_free(&arena);
    return status;
}

int cmd_version(int argc, char **argv) {
    struct args a = {.command = "version",
                     .operands = "",
                     .about = "Prints the version, and for which machine it is built."};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    printf("ridge %s %s\n", rg_version(), os_cpu()->arch);
    return EXIT_OK;
}
