/* ridge.c: the command `ridge`. Picks the subcommand from a table and prints help.
 *
 * A row whose function is not linked in is left out (the declarations are weak), so the table may name
 * commands whose file does not exist yet. Exit status: 0 done, 1 failed, 2 wrong usage; errors go to stderr.
 * Tests: tests/cli/usage.sh */
#include "cli.h"

#include <errno.h>

#pragma weak cmd_opt
#pragma weak cmd_rules
#pragma weak cmd_shape
#pragma weak cmd_diagnose
#pragma weak cmd_ceilings
#pragma weak cmd_profile
#pragma weak cmd_report
#pragma weak cmd_diff
#pragma weak cmd_kernels
#pragma weak cmd_tune
#pragma weak cmd_explore
#pragma weak cmd_estimate
#pragma weak cmd_doctor
#pragma weak cmd_cache

/* clang-format off */
/*    name        function      what it does, in one line */
#define COMMANDS(X)                                                                                 \
    X("opt",      cmd_opt,      "compile the kernels of a .uop file; print, run, check, time them") \
    X("shape",    cmd_shape,    "tiles, waves and waste of a GEMM on a GPU")                        \
    X("ceilings", cmd_ceilings, "measure the rates of this machine, for planner and reports")        \
    X("tune",     cmd_tune,     "search for the fastest opt list of each kernel; list the results") \
    X("rules",    cmd_rules,    "list the rewrite rules, or search them")                           \
    X("diagnose", cmd_diagnose, "where the time of a PyTorch or JAX trace went, and what to do")    \
    X("profile",  cmd_profile,  "run a Ridge program and show where its time went")                 \
    X("bench",    cmd_bench,    "run a Ridge program several times: its steps and kernels, with spread") \
    X("top",      cmd_top,      "the Ridge programs that run now, and NVIDIA's GPUs")                \
    X("report",   cmd_report,   "show a recorded profile: screen, tables, page; export it")         \
    X("diff",     cmd_diff,     "why one recording took longer than another")                       \
    X("kernels",  cmd_kernels,  "kernels of a profile or program; all about one of them")           \
    X("estimate", cmd_estimate, "how long a program takes at best on a machine you do not have")    \
    X("explore",  cmd_explore,  "experiments: ridge point, cost of a launch, good sizes of GEMMs")    \
    X("doctor",   cmd_doctor,   "is this machine set up for Ridge, and what to do if not")          \
    X("cache",    cmd_cache,    "what the disk cache holds; trim, clear or verify it")              \
    X("run",      cmd_run,      "run a program as several ranks of this host")                      \
    X("env",      cmd_env,      "list the environment variables with their values")                 \
    X("version",  cmd_version,  "print the version")
/* clang-format on */

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};
static const struct command commands[] = {
#define X(name, run, help) {name, run, help},
    COMMANDS(X)
#undef X
};

static void help(FILE *out) {
    fprintf(out, "usage: ridge COMMAND [options]\n\n");
    for (size_t i = 0; i < RG_COUNT(commands); i++)
        if (commands[i].run) fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fprintf(out, "\n`ridge COMMAND --help` says more about one of them.\n");
}

static int run(int argc, char **argv) {
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        help(stdout);
        return EXIT_OK;
    }
    if (!strcmp(name, "--version")) name = "version";
    if (*env_warnings()) fprintf(stderr, "%s\n", env_warnings());
    for (size_t i = 0; i < RG_COUNT(commands); i++)
        if (commands[i].run && !strcmp(commands[i].name, name)) return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "ridge: no command '%s'; `ridge --help` lists them\n", name);
    return EXIT_USAGE;
}

/* What a pipe or a full disk did not take was not shown: that is no success. */
int main(int argc, char **argv) {
    int status = run(argc, argv);
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout)) return status;
    fprintf(stderr, "ridge: what it printed could not all be written: %s\n",
            errno ? strerror(errno) : "it failed before");
    return status ? status : EXIT_FAILED;
}
