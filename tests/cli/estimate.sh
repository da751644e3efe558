#!/bin/sh
# `ridge estimate`: floors of a program on machines that are files; twice the machine is half the floor; errors for people.
. "$(dirname "$0")/common"
share=$root/share/machines
# every machine file that is shipped is one; dot's only kernel is 2 multiplications and 2 additions on 20 bytes
for m in "$share"/*.txt; do has 0 "AT BEST" estimate --machine "$m" -- "$build/examples/dot"; done
has 0 '"flops": 4, "bytes": 20' estimate --machine "$share/h200.txt" --json -- "$build/examples/dot"
has 0 "AT BEST" estimate "$build/examples/dot" --machine "$share/laptop.txt"
# 256 x 256 x 256 a thousand times: 2 * 256^3 operations at 32 a cycle, 2.6 GHz and 2 cores, and 600 ns to start it: 202.25 us
if [ -x "$build/planted/planted" ]; then
    us() { sed -n 's/^ *[0-9.]*% *[0-9.]* *[0-9]* *\([0-9.]*\) .* compute *r_256_256_256 .*/\1/p'; }
    one=$("$RIDGE" estimate --machine "$root/tests/machine.txt" -- "$build/planted/planted" compute | us)
    awk -v a="$one" 'BEGIN { exit !(a > 202 && a < 203) }' || fail "256 x 256 x 256 takes '$one' us, expected 202.25"
    sed 's/^flops.f32 .*/flops.f32 = 64/' "$root/tests/machine.txt" > twice.txt
    two=$("$RIDGE" estimate --machine twice.txt -- "$build/planted/planted" compute | us)
    awk -v a="$one" -v b="$two" 'BEGIN { exit !(a - 0.6 > 1.99 * (b - 0.6) && a - 0.6 < 2.01 * (b - 0.6)) }' || fail "twice the rate: $one and $two us"
fi
has 1 "there is no machine file nope" estimate --machine nope -- "$build/examples/dot"
has 1 "expected 'ridge-machine 1'" estimate --machine "$root/Makefile" -- "$build/examples/dot"
has 1 "recorded nothing" estimate --machine "$share/h200.txt" -- true
has 127 "cannot run ./no-such-program: No such file" estimate --machine "$share/h200.txt" -- ./no-such-program
has 2 "expected --machine FILE -- PROGRAM ARGS" estimate
has 2 "expected --machine FILE -- PROGRAM ARGS" estimate -- "$build/examples/dot"
has 0 "usage: ridge estimate" estimate --help
# one of four ranks: collectives take what they take over the link, and twice the rate is less
gpt2="$build/examples/gpt2 --world --shard 1 --steps 2 --batch 4 --write 0 --text $root/docs/tensors.md"
if [ -x "$build/examples/gpt2" ]; then
    # shellcheck disable=SC2086
    has 0 "RANKS    4 over 1.25 GB/s and 0 us" estimate --machine "$share/h200.txt" --ranks 4 --link 10Gbit/s --latency 0 -- $gpt2
    case $out in *link*reduce_scatter_*) ;; *) fail "no reduce-scatter over the link: $out" ;; esac
    exchange() { sed -n 's/.*exchanges \([0-9.]*\) ms.*/\1/p'; }
    slow=$(echo "$out" | exchange)
    # shellcheck disable=SC2086
    fast=$("$RIDGE" estimate --machine "$share/h200.txt" --ranks 4 --link 2.5GB/s --latency 0 -- $gpt2 | exchange)
    awk -v a="$slow" -v b="$fast" 'BEGIN { exit !(a > 1.98 * b && a < 2.02 * b && b > 0) }' || fail "twice the link: $slow and $fast ms"
fi
# a program of its own: 3 sums over ranks of 4,000,000 bytes each, over 1 GB/s 3 x 2 x 3/4 x 4 ms and 3 x 1 ms = 21 ms. A kernel that needs the
# first runs after it, so the plan cannot take less than all of them, and no more than all of it in sequence
cat >sums.c <<'C'
#include <ridge.h>
int main(void) {
    rg_ctx *c = rg_open(NULL);
    rg_world *w = rg_world_open(c);
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 1, RG_SHAPE(1000000)));
    for (int i = 0; i < 3; i++) x = rg_contiguous(rg_sqrt(rg_all_reduce(x, w, RG_COMBINE_SUM)));
    rg_realize(x);
    return rg_close(c);
}
C
${CC:-cc} -I"$root/include" -o sums sums.c "$build/libridge.a" -lz -ldl -lpthread -lm || fail "does not compile"
has 0 "exchanges 21.0000 ms" estimate --machine "$share/h200.txt" --ranks 4 --link 1GB/s --latency 1000 -- ./sums
echo "$out" | awk '/^RANKS/ { c = $11 } /^PLAYED/ { exit !($2 >= 21 + 0.7 * c && $2 <= 21.001 + c) }' || fail "not in sequence: $out"
# kernel times of a profile
PROFILE=sums.profile DEVICE=CPU ./sums || fail "with a profile"
has 0 "kernels take what they took in sums.profile" estimate --machine "$share/h200.txt" --ranks 4 --link 1GB/s --latency 1000 --measured sums.profile -- ./sums
has 1 "none.profile: cannot be opened" estimate --machine "$share/h200.txt" --ranks 4 --link 1GB/s --measured none.profile -- ./sums
rm sums sums.c sums.profile
# what the host does between kernels counts, too: 20 ms of sleep in each step
cat >steps.c <<'C'
#include <ridge.h>
#include <unistd.h>
static rg_status step(void *w, const rg_tensor *in, rg_tensor *out) {
    out[0] = rg_all_reduce(rg_mul(in[0], 2), w, RG_COMBINE_SUM);
    return RG_OK;
}
int main(void) {
    rg_ctx *c = rg_open(NULL);
    rg_world *w = rg_world_open(c);
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 1, RG_SHAPE(1000))), y;
    rg_jit *j = rg_jit_new(c, step, w, 1);
    for (int i = 0; i < 12; i++) {
        RG_SCOPE(c);
        rg_jit_call(j, RG_TENSORS(x), &y);
        rg_item(rg_sum(y));
        usleep(20000);
    }
    return rg_close(c);
}
C
${CC:-cc} -I"$root/include" -o steps steps.c "$build/libridge.a" -lz -ldl -lpthread -lm || fail "does not compile"
PROFILE=steps.profile DEVICE=CPU ./steps || fail "with a profile"
has 0 "a step" estimate --machine "$share/h200.txt" --ranks 4 --link 1GB/s --measured steps.profile -- ./steps
echo "$out" | sed -n 's/^PLAYED.*a step \([0-9.]*\) ms.*/\1/p' | awk '{ ok = $1 >= 20 } END { exit !ok }' || fail "no sleep in a step: $out"
rm steps steps.c steps.profile
has 2 "--ranks needs --link RATE" estimate --machine "$share/h200.txt" --ranks 4 -- "$build/examples/dot"
has 2 "--ranks needs --link RATE" estimate --machine "$share/h200.txt" --ranks 4 --link soon -- "$build/examples/dot"
[ -z "$(ls)" ] || [ "$(ls)" = twice.txt ] || fail "it left files: $(ls)"
exit $bad
