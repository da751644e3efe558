#!/bin/sh
# Ranks as processes: ridge run, the shm backend, faults that name the rank, training on 1 and 2 ranks. Nothing here waits for a clock to
# pass: limits are long where no fault is due, and a dead or stopped rank is found without them or named when they are over.
# shellcheck source=tests/cli/common
. "$(dirname "$0")/common"
has 2 "expected -- PROGRAM ARGS" run -n 2
has 2 "--ranks expects 1 to 64" run -n 0 -- true
has 7 "rank 1 ended with status 7" run -n 2 -- sh -c 'exit $((RANK * 7))'

cat >rank.c <<'C'
#include <ridge.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    int when = argc > 2 ? atoi(argv[2]) : 2;
    rg_ctx *c = rg_open("CPU");
    rg_world *w = rg_world_open(c, .timeout = !strcmp(how, "stop") ? 8 : 60);
    int rank = (int)rg_world_rank(w);
    double sum = 0;
    for (int i = 0; i < 2 + when; i++) {
        RG_SCOPE(c);
        if (rank == 1 && i == when) {
            if (!strcmp(how, "kill")) raise(SIGKILL);
            if (!strcmp(how, "exit")) _exit(3);
            if (!strcmp(how, "stop")) raise(SIGSTOP);
            if (!strcmp(how, "order")) rg_barrier(w);
        }
        rg_tensor x = rg_full(c, RG_F32, rank + i, RG_SHAPE(rank == 1 && i == when && !strcmp(how, "shape") ? 5 : 300000));
        sum += rg_item(rg_select(rg_all_reduce(x, w, RG_COMBINE_SUM), 0, 0));
    }
    char text[2000]; /* one write: lines of ranks do not mix */
    if (rg_status_of(c)) return write(2, text, snprintf(text, sizeof text, "rank %d: %s\n", rank, rg_error(c))), 1;
    if (!rank) printf("%s %lld ranks, sum %g\n", rg_world_backend(w), (long long)rg_world_size(w), sum);
    return rg_close(c);
}
C
${CC:-cc} -I"$root/include" -o rank rank.c "$build/libridge.a" -lz -ldl -lpthread -lm || fail "does not compile"
has 0 "shm 1 ranks, sum 6" run -n 1 -- ./rank
has 0 "shm 4 ranks, sum 48" run -n 4 -- ./rank
# a fault at the third exchange: both other ranks say who
fault() {
    out=$("$RIDGE" run -n 3 -- ./rank "$1" "${3:-2}" 2>&1)
    [ $? -ne 0 ] || fail "$1: no failure"
    [ "$(echo "$out" | grep -c "^rank [02]: .*$2")" -eq 2 ] || fail "$1: expected \"$2\" from ranks 0 and 2: $out"
}
fault kill "rank 1 (process [0-9]*) ended before collective 3"
fault exit "rank 1 (process [0-9]*) ended before collective 3"
fault stop "rank 1 (process [0-9]*) did not come to collective 3 within 8 s, its process is stopped"
fault shape "rank 0 calls all_reduce of f32\[300000\] (sum), rank 1 calls all_reduce of f32\[5\]"
fault order "rank 0 calls all_reduce of f32\[300000\] (sum), rank 1 calls barrier"
# FAULTS=200 sh tests/cli/world.sh: as many more, of random kinds at random moments
for k in $(awk "BEGIN { srand(${SEED:-1}); for (i = 0; i < ${FAULTS:-0}; i++) print int(rand() * 5) * 100 + int(rand() * 30) }"); do
    when=$((k % 100)) nth=$((k % 100 + 1))
    case $((k / 100)) in
    0) fault kill "rank 1 (process [0-9]*) ended before collective $nth" $when ;;
    1) fault exit "rank 1 (process [0-9]*) ended before collective $nth" $when ;;
    2) fault stop "rank 1 (process [0-9]*) did not come to collective $nth within 8 s, its process is stopped" $when ;;
    3) fault shape "rank 1 calls all_reduce of f32\[5\]" $when ;;
    4) fault order "rank 1 calls barrier" $when ;;
    esac
done
[ "${FAULTS:-0}" -eq 0 ] || echo "${FAULTS} faults"
pgrep -f "^./rank" >/dev/null && [ "$(pgrep -f "^./rank" | wc -l)" -gt 0 ] && for p in $(pgrep -f "^./rank"); do
    [ "$(readlink "/proc/$p/cwd")" = "$here" ] && fail "a rank was left behind"
done
# four ranks in one, two and four processes: the same bits
cat >shards.c <<'C'
#include <pthread.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
static int contexts;
static void *rank(void *arg) {
    rg_ctx *c = rg_open("REF");
    rg_world *w = rg_world_open(c, .contexts = contexts, .context = (long)arg, .timeout = 60);
    rg_tensor x = rg_sin(rg_add(rg_arange(c, RG_F32, 0, 20000, 1), 0.37 * (double)rg_world_rank(w)));
    double sum = rg_item(rg_sum(rg_all_reduce(rg_div(1, rg_add(x, 1.5)), w, RG_COMBINE_SUM)));
    if (rg_status_of(c)) fprintf(stderr, "%s\n", rg_error(c));
    if (!rg_world_rank(w)) printf("%lld ranks, sum %a\n", (long long)rg_world_size(w), sum);
    rg_close(c);
    return NULL;
}
int main(int argc, char **argv) {
    pthread_t t[4];
    contexts = argc > 1 ? atoi(argv[1]) : 1;
    for (long i = 0; i < contexts; i++) pthread_create(&t[i], NULL, rank, (void *)i);
    for (long i = 0; i < contexts; i++) pthread_join(t[i], NULL);
    return 0;
}
C
${CC:-cc} -I"$root/include" -o shards shards.c "$build/libridge.a" -lz -ldl -lpthread -lm || fail "does not compile"
for n in 1 2 4; do "$RIDGE" run -n $n -- ./shards $((4 / n)) 2>&1; done >sums
[ "$(grep -c "^4 ranks, sum 0x" sums)" -eq 3 ] && [ "$(sort -u sums | wc -l)" -eq 1 ] || fail "sums of four ranks: $(cat sums)"
# profiles: a file for each rank, and their collectives matched on one clock
PROFILE=p.profile "$RIDGE" run -n 2 -- ./rank >/dev/null || fail "with a profile"
has 0 "2 ranks, 4 collectives that all of them have" diagnose p.profile.0 p.profile.1
# ranks of one host have one clock, and need no estimate of it
[ "$("$RIDGE" diagnose --json p.profile.0 p.profile.1 | grep -c '"clock_offset_ns":0,"clock_error_ns":0')" -eq 2 ] || fail "clocks of one host differ"
# variables of other launchers; what is malformed is named
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 ./rank | grep -q "1 ranks" || fail "Open MPI's variables"
PMI_RANK=x PMI_SIZE=1 ./rank 2>&1 | grep -q 'PMI_RANK is "x"; expected a number' || fail "a malformed rank"

# data parallel: the same losses as one process with the same global batch, to ten digits (docs/distributed.md: why f64)
[ -x "$build/examples/mnist" ] && [ -d "$root/data/mnist" ] || exit $bad
mkdir m
for n in 1 2; do
    "$RIDGE" run -n $n -- "$build/examples/mnist" --world --f64 --steps 3 --batch 16 --data "$root/data/mnist" >m/$n 2>&1 || fail "mnist on $n ranks: $(tail -3 m/$n)"
    grep -o "loss *[0-9.]*" m/$n >m/loss.$n
done
[ -s m/loss.1 ] || fail "no losses"
cmp -s m/loss.1 m/loss.2 || fail "losses differ: $(cat m/loss.1 m/loss.2)"
exit $bad
