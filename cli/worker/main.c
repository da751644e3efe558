/* main.c: ridge-worker, the program in which search runs candidates for the first time (src/tune/search/trial.c). It is started by
 * the library and speaks through its input and output; what its host records or shows is not its business. */
#include "tune/search/search.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static const char *const off[] = {"DEBUG", "PROFILE", "FLIGHT", "PERFMAP", "BEAM", "DUMP"};
    char name[32];
    for (size_t i = 0; i < RG_COUNT(off); i++) {
        snprintf(name, sizeof name, "RIDGE_%s", off[i]);
        unsetenv(off[i]), unsetenv(name);
    }
    env_reload();
    if (argc == 2) return search_worker(0, 1, argv[1]);
    fprintf(stderr,
            "ridge-worker is run by the Ridge library while it searches (BEAM); there is nothing to see\n");
    return 2;
}
