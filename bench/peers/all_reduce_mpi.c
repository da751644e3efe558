/* all_reduce_mpi.c: a sum over ranks of 64 MB: ours through shared memory, Open MPI's (or MPICH's), and memcpy, in turns in one run.
 *
 *     mpicc -O2 -Iinclude -o all_reduce_mpi bench/peers/all_reduce_mpi.c build/release/libridge.a -lz -ldl -lpthread -lm
 *     RIDGE_WORLD_BACKEND=shm mpirun -n 2 ./all_reduce_mpi [MEGABYTES [TIMES]]
 *
 * The floor: each rank reads its tensor and writes the sum once, at the rate at which all ranks copy memory of that size at the same time. Prints
 * the best of each, and the median over rounds of what is only compared within a round: floor / ours, MPI / ours. */
#include <mpi.h>
#include <ridge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES_MOST = 1000 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of all ranks: the slowest. */
static double slowest(double s) {
    double most;
    MPI_Allreduce(&s, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    size_t bytes = (size_t)((argc > 1 ? atof(argv[1]) : 64) * 1e6) & ~(size_t)63;
    int times = argc > 2 && atoi(argv[2]) < TIMES_MOST ? atoi(argv[2]) : 20;
    rg_ctx *c = rg_open("CPU");
    rg_world *w = rg_world_open(c);
    int64_t n = (int64_t)(bytes / 4);
    rg_tensor x = rg_contiguous(rg_full(c, RG_F32, 1 + (double)rg_world_rank(w), RG_SHAPE(n)));
    char *a = malloc(bytes), *b = malloc(bytes);
    double best[3] = {1e9, 1e9, 1e9}, floor_of[TIMES_MOST], mpi_of[TIMES_MOST];
    rg_realize(x);
    memset(a, 0, bytes), memset(b, 0, bytes);
    for (int i = 0; i < times && !rg_status_of(c); i++) {
        RG_SCOPE(c);
        double took[3];
        for (int k = 0; k < 3; k++) {
            MPI_Barrier(MPI_COMM_WORLD);
            double t0 = MPI_Wtime();
            if (k == 0) memcpy(i % 2 ? a : b, i % 2 ? b : a, bytes);
            if (k == 1) rg_realize(rg_all_reduce(x, w, RG_COMBINE_SUM));
            if (k == 2) MPI_Allreduce(a, b, (int)n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            took[k] = slowest(MPI_Wtime() - t0);
            best[k] = took[k] < best[k] ? took[k] : best[k];
        }
        floor_of[i] = took[0] / took[1], mpi_of[i] = took[2] / took[1];
    }
    if (rg_status_of(c)) return fprintf(stderr, "%s\n", rg_error(c)), 1;
    qsort(floor_of, (size_t)times, sizeof *floor_of, by_size),
        qsort(mpi_of, (size_t)times, sizeof *mpi_of, by_size);
    if (!rg_world_rank(w))
        printf("%lld ranks, %.1f MB by %s: copy %.2f ms, all_reduce %.2f, MPI_Allreduce %.2f; of the floor "
               "%.2f (median of rounds %.2f), "
               "MPI takes %.2f times ours (%.2f)\n",
               (long long)rg_world_size(w), (double)bytes * 1e-6, rg_world_backend(w), best[0] * 1e3,
               best[1] * 1e3, best[2] * 1e3, best[0] / best[1], floor_of[times / 2], best[2] / best[1],
               mpi_of[times / 2]);
    free(a), free(b);
    rg_close(c);
    return MPI_Finalize();
}
