/* grow.c: the ABI's claim about options, which are passed by value (docs/abi.md): a callee that was compiled with a grown struct
 * gets the fields of an old caller, and OPTS_HAS tells that the new one is not among them. Two objects: this file with and without
 * -DCALLEE, which has the newer structs. One pair is passed in registers, one in memory, one in memory after many arguments. */
#include "api/opts.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef CALLEE
#define NEW(field) field
#else
#define NEW(field)
#endif
typedef struct few {
    int size_;
    bool a, b;
    NEW(double added;)
} few;
typedef struct some {
    int size_;
    double a;
    uint32_t b;
    NEW(double added;)
} some;
typedef struct many {
    int size_;
    double a[8];
    int64_t b;
    NEW(int64_t added; double more[4];)
} many;
enum { FEW = 8, SOME = 24, MANY = 80 }; /* sizes of the first release */

double take_few(void *, int64_t, few);
double take_some(void *, int64_t, some);
double take_many(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, many);

#ifdef CALLEE
double take_few(void *p, int64_t n, few o) {
    return (p ? 1000 : 0) + (double)n + o.a * 10 + o.b + (OPTS_HAS(o, added, FEW) ? o.added : 0);
}
double take_some(void *p, int64_t n, some o) {
    return (p ? 1000 : 0) + (double)n + o.a + o.b + (OPTS_HAS(o, added, SOME) ? o.added : 0);
}
double take_many(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h,
                 int64_t i, many o) {
    double sum = (double)(a + b + c + d + e + f + g + h + i + o.b);
    for (int k = 0; k < 8; k++) sum += o.a[k];
    return sum + (OPTS_HAS(o, added, MANY) ? (double)o.added : 0) + (OPTS_HAS(o, more, MANY) ? o.more[3] : 0);
}
#else
/* What lies on the stack beyond the caller's struct is not zero. */
static __attribute__((noinline)) void dirty(void) {
    volatile unsigned char junk[4096];
    for (size_t i = 0; i < sizeof junk; i++) junk[i] = 0x77;
}
int main(void) {
    int bad = 0, x;
    for (int with_size = 0; with_size < 2; with_size++) {
        dirty();
        few f = {with_size * (int)sizeof f, true, true};
        bad |= take_few(&x, 5, f) != 1016;
        some s = {with_size * (int)sizeof s, 2.5, 4};
        bad |= (take_some(&x, 5, s) != 1011.5) << 1;
        many m = {with_size * (int)sizeof m, {1, 2, 3, 4, 5, 6, 7, 8}, 9};
        bad |= (take_many(1, 1, 1, 1, 1, 1, 1, 1, 1, m) != 54) << 2;
    }
    if (sizeof(few) != FEW || sizeof(some) != SOME || sizeof(many) != MANY) bad |= 8;
    if (bad) printf("wrong: %d\n", bad);
    return bad;
}
#endif
