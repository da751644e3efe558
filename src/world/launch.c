/* launch.c: which rank this process is, by the variables of whoever launched it: ridge run and torchrun (RANK), Open MPI and MPICH
 * (OMPI_COMM_WORLD_RANK, PMI_RANK), Slurm (SLURM_PROCID).
 * Tests: tests/unit/world.c (world_launch), tests/cli/world.sh */
#include "world/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static const struct launcher {
    const char *name, *rank, *size, *local_rank, *local_size;
    const char *job[3]; /* variables that are the same for all ranks of a job, and for no other job */
} launchers[] = {
    {"torchrun or ridge run",
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}},
    {"Open MPI",
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", NULL}},
    {"MPICH",
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     {"PMI_JOBID", "PMI_ID_JOB", NULL}},
    {"Slurm",
     "SLURM_PROCID",
     "SLURM_STEP_NUM_TASKS",
     "SLURM_LOCALID",
     "SLURM_STEP_TASKS_PER_NODE",
     {"SLURM_JOB_ID", "SLURM_STEP_ID", NULL}},
};

static int number(struct err *e, const char *name, int64_t *out) {
    const char *text = env_get(name);
    char *end = NULL;
    if (!text || !*text) return 0;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    /* Slurm: "4(x2)" tasks on each of two nodes */
    if (errno || end == text || (*end && *end != '(' && *end != ',') || v < 0)
        return err_set(e, RG_EINVAL, "%s is \"%.40s\"; expected a number, 0 or more", name, text);
    *out = v;
    return 0;
}

static void name_job(const struct launcher *l, struct world_launch *out) {
    size_t n = 0;
    const char *own = env_str(ENV_WORLD);
    if (own) {
        snprintf(out->job, sizeof out->job, "%s", own);
        return;
    }
    for (size_t i = 0; i < RG_COUNT(l->job); i++) {
        const char *v = l->job[i] ? env_get(l->job[i]) : NULL;
        if (v && n < sizeof out->job) n += (size_t)snprintf(out->job + n, sizeof out->job - n, "%s/", v);
    }
    if (!n) snprintf(out->job, sizeof out->job, "parent-%d", (int)getppid()); /* one launcher per host */
}

int world_launch(struct err *e, struct world_launch *out) {
    *out = (struct world_launch){.size = 1, .local_size = 1, .launcher = "none"};
    for (size_t i = 0; i < RG_COUNT(launchers); i++) {
        const struct launcher *l = &launchers[i];
        int64_t rank = -1, size = 0, local = -1, here = 0;
        if (number(e, l->rank, &rank) || number(e, l->size, &size)) return e->code;
        if (rank < 0 || size < 1) continue;
        if (rank >= size)
            return err_set(e, RG_EINVAL, "%s is %lld and %s is %lld: ranks are 0 to %lld", l->rank,
                           (long long)rank, l->size, (long long)size, (long long)size - 1);
        if (number(e, l->local_rank, &local) || number(e, l->local_size, &here)) return e->code;
        *out =
            (struct world_launch){rank, size, local < 0 ? rank : local, here < 1 ? size : here, l->name, ""};
        name_job(l, out);
        return 0;
    }
    snprintf(out->job, sizeof out->job, "alone-%d", (int)getpid());
    return 0;
}
