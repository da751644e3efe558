/* unload.c: opens the library with names of its own, computes in a thread, closes it and opens it again; for tests/cli/abi.sh.
 * Neither the threads that end after dlclose nor the kernels find a name missing. */
#include <dlfcn.h>
#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>

static void *must(void *lib, const char *name) {
    void *p = dlsym(lib, name);
    if (!p) printf("%s\n", dlerror()), exit(1);
    return p;
}

static void *once(void *path) {
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) printf("%s\n", dlerror()), exit(1);
    rg_ctx *(*open_)(const char *, int) = must(lib, "rg_open_for");
    rg_tensor (*ones)(rg_ctx *, rg_dtype, rg_ints) = must(lib, "rg_ones");
    rg_tensor (*matmul)(rg_tensor, rg_tensor) = must(lib, "rg_matmul");
    rg_tensor (*sum)(rg_tensor, rg_reduce_opts) = must(lib, "rg_sum");
    double (*item)(rg_tensor) = must(lib, "rg_item");
    rg_status (*close_)(rg_ctx *) = must(lib, "rg_close");
    rg_ctx *c = open_("CPU", RG_VERSION_NUMBER);
    rg_tensor x = ones(c, RG_F32, RG_SHAPE(64, 64));
    double y = item(sum(matmul(x, x), (rg_reduce_opts){0}));
    if (close_(c) || y != 64 * 64 * 64) printf("64 x 64 times 64 x 64 ones sum to %g\n", y), exit(1);
    dlclose(lib);
    return NULL;
}

static long resident(void) {
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1) exit(1);
    fclose(f);
    return pages * 4;
}

int main(int argc, char **argv) {
    long after[2] = {0, 0};
    if (argc != 2 || dlsym(RTLD_DEFAULT, "rg_open"))
        return printf("the program has the library already\n"), 1;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 12; i++) {
            pthread_t t;
            if (pthread_create(&t, NULL, once, argv[1]) || pthread_join(t, NULL)) return 1;
        }
        after[round] = resident();
    }
    if (dlsym(RTLD_DEFAULT, "rg_open")) return printf("the library's names are the program's now\n"), 1;
    if (after[1] > after[0] + 4096) return printf("12 loads: from %ld to %ld KB\n", after[0], after[1]), 1;
    return printf("unloads\n"), 0;
}
