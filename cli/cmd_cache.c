/* cmd_cache.c: `ridge cache`: what the disk cache holds; trim, clear and verify it.
 * Tests: tests/cli/cache.sh */
#include "cli.h"
#include "engine/engine.h"

static const struct {
    const char *name;
    enum cache_action what;
} actions[] = {{"show", CACHE_SHOW}, {"verify", CACHE_VERIFY}, {"trim", CACHE_TRIM}, {"clear", CACHE_CLEAR}};

static const char *what_of(const char *kind) {
    static const char *const text[][2] = {{"kernel", "kernels: which object, which function"},
                                          {"object", "compiled code"},
                                          {"plan", "plans of programs"},
                                          {"tuned", "results of searches"},
                                          {"cc", "versions of compilers"},
                                          {"last", "compilers used last"},
                                          {"search", "the latest search"}};
    for (size_t i = 0; i < RG_COUNT(text); i++)
        if (!strcmp(text[i][0], kind)) return text[i][1];
    return "";
}

static void show(const struct cache_report *r) {
    printf("%s%s\n", r->dir, r->writable ? "" : " (read only)");
    for (size_t i = 0; i < CACHE_KINDS; i++)
        if (r->kind[i].files)
            printf("  %-8s %8llu files %10.2f MB  %s\n", r->kind[i].name,
                   (unsigned long long)r->kind[i].files, (double)r->kind[i].bytes / 1e6,
                   what_of(r->kind[i].name));
    printf("  %-8s %8llu files %10.2f MB  of %.0f MB at most (RIDGE_CACHE_MB)\n", "all",
           (unsigned long long)r->files, (double)r->bytes / 1e6, (double)r->limit / 1e6);
    if (r->others)
        printf("  %llu other entr%s in this folder, not ours and left alone\n", (unsigned long long)r->others,
               r->others == 1 ? "y" : "ies");
    if (r->indexed == UINT64_MAX && r->writable)
        printf("  the index is missing or damaged; the next program that compiles makes it anew\n");
}

static int say(const struct cache_report *r, enum cache_action what) {
    if (!r->dir) {
        fprintf(stderr, "ridge cache: %s%s", *r->why ? r->why : "there is no cache: RIDGE_CACHE=0\n",
                *r->why && !strchr(r->why, '\n') ? "\n" : "");
        return EXIT_FAILED;
    }
    if (*r->why) fprintf(stderr, "ridge cache: %s", r->why);
    if (what == CACHE_TRIM || what == CACHE_CLEAR)
        printf("removed %llu files\n", (unsigned long long)r->removed);
    if (what == CACHE_VERIFY)
        printf("%llu files are sound; %llu damaged, of which %llu were removed\n",
               (unsigned long long)(r->files - (r->damaged - r->removed)), (unsigned long long)r->damaged,
               (unsigned long long)r->removed);
    show(r);
    return what == CACHE_VERIFY && r->damaged > r->removed ? EXIT_FAILED : EXIT_OK;
}

int cmd_cache(int argc, char **argv) {
    int64_t mb = NOT_GIVEN;
    const struct arg_spec spec[] = {
        {"mb", ARG_NUMBER, &mb, "N", "trim: leave no more than this many MB; else RIDGE_CACHE_MB"}};
    struct args a = {
        .command = "cache",
        .operands = "[show|verify|trim|clear]",
        .about =
            "The disk cache: compiled kernels, plans and results of searches, in a folder of its own.\n"
            "  show    what it holds, by kind\n"
            "  verify  reads every file; damaged ones are removed, and are made anew when they are needed\n"
            "  trim    removes what was not used for longest, until the rest fits\n"
            "  clear   removes all of it, results of searches too\n"
            "Only files of Ridge's own form are ever removed. Programs may run meanwhile.",
        .spec = spec,
        .nspec = RG_COUNT(spec),
        .max_operands = 1};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    const char *name = a.n ? a.operand[0] : "show";
    size_t i = 0;
    while (i < RG_COUNT(actions) && strcmp(actions[i].name, name)) i++;
    if (i == RG_COUNT(actions))
        return args_wrong(&a, "expected show, verify, trim or clear, found '%s'", name);
    if (mb != NOT_GIVEN && actions[i].what != CACHE_TRIM) return args_wrong(&a, "--mb goes with trim");
    if (mb != NOT_GIVEN && (status = args_range(&a, "mb", mb, 0, (int64_t)1 << 30)) >= 0) return status;
    if (mb == NOT_GIVEN) mb = env_int(ENV_CACHE_MB);
    struct err e = {0};
    struct arena arena;
    struct cache_report r;
    arena_init(&arena, &e);
    uint64_t most = (uint64_t)RG_MAX(mb, 0) << 20;
    status = engine_cache(&e, &arena, actions[i].what, most, &r) ? cli_error("cache", &e)
                                                                 : say(&r, actions[i].what);
    arena_free(&arena);
    return status;
}
