/* dot.c: the smallest program: two vectors, their dot product, one kernel.
 *
 *     build/examples/dot             prints 11
 *     DEBUG=5 build/examples/dot     and everything that happened on the way; docs/reading-debug.md reads it with you */
#include <ridge.h>
#include <stdio.h>

int main(void) {
    rg_ctx *c = rg_open(NULL);
    rg_tensor a = rg_from(c, RG_I32, (int[]){1, 2}, RG_SHAPE(2));
    rg_tensor b = rg_from(c, RG_I32, (int[]){3, 4}, RG_SHAPE(2));
    int r;
    if (rg_read(rg_dot(a, b), &r, sizeof r)) return fprintf(stderr, "%s\n", rg_error(c)), 1;
    printf("%d\n", r);
    return rg_close(c);
}
