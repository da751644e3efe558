#!/bin/sh
# The mpi backend under mpirun, where there is one; where there is none, the words that say what to install.
# shellcheck source=tests/cli/common
. "$(dirname "$0")/common"
cat >rank.c <<'C'
#include <ridge.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    rg_ctx *c = rg_open("CPU");
    rg_world *w = rg_world_open(c, "mpi", .timeout = 60);
    int rank = (int)rg_world_rank(w), size = (int)rg_world_size(w), bad = argc > 1 && rank == 1;
    rg_tensor x = rg_add(rg_arange(c, RG_F32, 0, (bad ? 5 : 6000000) * size, 1), rank);
    double sum = rg_item(rg_select(rg_all_reduce(x, w, RG_COMBINE_SUM), 0, 3));
    double part = rg_item(rg_select(rg_reduce_scatter(x, w, RG_COMBINE_MAX), 0, 0));
    double all = rg_item(rg_sum(rg_all_gather(rg_full(c, RG_F64, rank, RG_SHAPE(2)), w)));
    double last = rg_item(rg_broadcast(rg_full(c, RG_F32, rank, RG_SHAPE()), w, size - 1));
    double swap = rg_item(rg_select(rg_all_to_all(x, w), 0, -1));
    rg_tensor got = rg_full(c, RG_F32, 0, RG_SHAPE(3));
    if (rank == 0) rg_send(rg_full(c, RG_F32, 9, RG_SHAPE(3)), w, 1);
    if (rank == 1) printf("got %g\n", rg_item(rg_sum(rg_recv(got, w, 0))));
    rg_barrier(w);
    if (rg_status_of(c)) return fprintf(stderr, "rank %d: %s\n", rank, rg_error(c)), 1;
    if (rank == size - 1) printf("%s %d: %g %g %g %g %g\n", rg_world_backend(w), size, sum, part, all, last, swap);
    return rg_close(c);
}
C
${CC:-cc} -I"$root/include" -o rank rank.c "$build/libridge.a" -lz -ldl -lpthread -lm || fail "does not compile"
out=$(PATH=/nowhere ./rank 2>&1)
case $out in *"there is no mpicc on PATH; install openmpi-bin and libopenmpi-dev, or mpich"*) ;; *) fail "without MPI: $out" ;; esac
command -v mpirun >/dev/null && command -v mpicc >/dev/null || exit $bad
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
# where the compiler that mpicc was configured with is missing, it is told of Ridge's
mkdir bare
cat >bare/mpicc <<SH
#!/bin/sh
[ -n "\$OMPI_CC" ] && [ -n "\$MPICH_CC" ] || { echo "mpicc: gcc: not found"; exit 1; }
exec "$(command -v mpicc)" "\$@"
SH
chmod +x bare/mpicc
out=$(PATH=$PWD/bare:$PATH mpirun -n 3 ./rank 2>&1) || fail "mpirun: $out"
case $out in *"mpi 3: 12 1.2e+07 6 2 1.8e+07"*) ;; *) fail "values: $out" ;; esac
case $out in *"got 27"*) ;; *) fail "message: $out" ;; esac
out=$(mpirun -n 2 ./rank bad 2>&1) && fail "no failure"
case $out in *"rank 0 calls all_reduce of f32[12000000] (sum), rank 1 calls all_reduce of f32[10]"*) ;; *) fail "mismatch: $out" ;; esac
exit $bad
