/* forever.c: replays a step, again and again, until its input ends: for `ridge top`. Usage: forever ELEMENTS [sleep in us] */
#include <poll.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static rg_status step(void *user, const rg_tensor *in, rg_tensor *out) {
    (void)user;
    out[0] = rg_exp(rg_contiguous(rg_mul(in[0], 0.5)));
    return RG_OK;
}

int main(int argc, char **argv) {
    rg_ctx *c = rg_open(NULL);
    int64_t n = argc > 1 ? atoll(argv[1]) : 1000;
    rg_tensor x = rg_rand(c, RG_F32, RG_SHAPE(n)), y;
    rg_jit *j = rg_jit_new(c, step, NULL, 1);
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    for (long i = 0; i % 16 || poll(&in, 1, 0) == 0; i++) {
        if (rg_jit_call(j, RG_TENSORS(x), &y)) break;
        if (argc > 2) usleep((useconds_t)atoi(argv[2]));
    }
    if (*rg_error(c)) fprintf(stderr, "%s\n", rg_error(c));
    return rg_close(c);
}
