/* ranks.c: the traces of a distributed job's ranks together: who waits in collectives, for whom, and why that one is late.
 *
 * A collective transfers only when the last rank has come: until then the others wait. The rank that the others wait for most is the
 * straggler; what it spends more than the median of the others says why. A rank whose kernels are the same but all slower has a
 * slower GPU; when all come at once and the time is transferring, it is the network. Tests: tests/unit/ranks.c */
#include "analyze/foreign/ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    REPORT_PART = 50, /* 1/n of the wall time that a finding costs */
    NETWORK_PART = 5, /* 1/n of the wall time that ranks transfer without a late one */
    SLOWER = 10,      /* percent that each kernel of a slow GPU takes longer, at least .. */
    SAME_COUNT = 3,   /* .. while their number differs by less */
    PACKED = 12,      /* times that gzip makes a trace smaller */
};

static int64_t start_of(const struct rank_file *f, uint32_t i) {
    return f->calls.p[f->matched[i]].t0 - f->row.offset_ns;
}
static int64_t end_of(const struct rank_file *f, uint32_t i) {
    return f->calls.p[f->matched[i]].t1 - f->row.offset_ns;
}

/* Waiting and transferring of every rank in every collective; whom the others waited for. */
static void measure(struct rank_set *s, struct rank_file *f) {
    uint32_t n = s->n;
    for (uint32_t i = 0; i < s->matched; i++) {
        uint32_t last = 0;
        for (uint32_t r = 1; r < n; r++)
            if (start_of(&f[r], i) > start_of(&f[last], i)) last = r;
        int64_t come = start_of(&f[last], i), waited = 0;
        for (uint32_t r = 0; r < n; r++) {
            int64_t wait = RG_MIN(come, end_of(&f[r], i)) - start_of(&f[r], i);
            f[r].row.wait_ns += RG_MAX(wait, 0);
            f[r].row.transfer_ns += RG_MAX(end_of(&f[r], i) - RG_MAX(come, start_of(&f[r], i)), 0);
            waited += RG_MAX(wait, 0);
        }
        f[last].row.late_ns += n > 1 ? waited / (n - 1) : 0;
        f[last].row.last++;
    }
}

static int ascending(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return a < b ? -1 : a > b;
}

/* Of all ranks but one; `what` is a key of the budget. */
static int64_t median_of_others(const struct rank_file *f, uint32_t n, uint32_t but, int what) {
    int64_t v[RANKS_MOST];
    uint32_t k = 0;
    for (uint32_t r = 0; r < n; r++)
        if (r != but) v[k++] = f[r].row.budget[what];
    if (k) qsort(v, k, sizeof *v, ascending);
    return k ? v[(k - 1) / 2] : 0;
}

/* Are the kernels the same in number and most of them slower by about the same? */
static bool slower_gpu(const struct rank_file *slow, const struct rank_file *other) {
    int64_t same = 0, all = 0;
    int64_t a = slow->row.kernel_count, b = other->row.kernel_count;
    if (llabs(a - b) * 100 > SAME_COUNT * RG_MAX(b, 1)) return false;
    for (uint32_t i = 0; i < slow->kernels.n; i++) {
        const struct rank_kernel *x = &slow->kernels.p[i], *y = NULL;
        for (uint32_t k = 0; k < other->kernels.n && !y; k++)
            if (other->kernels.p[k].name == x->name) y = &other->kernels.p[k];
        all += x->ns;
        if (!y || !x->count || !y->count) continue;
        double ratio = ((double)x->ns / x->count) / ((double)RG_MAX(y->ns, 1) / y->count);
        if (ratio > 1 + SLOWER / 100.0) same += x->ns;
    }
    return all && same * 10 > all * 7;
}

static const struct {
    int budget;
    const char *why, *fix;
} reasons[] = {
    {BUDGET_LOADER, "it loads data for longer",
     "the loader of that rank: slower disk or decoding, larger files; shard evenly, more workers"},
    {BUDGET_ALLOC, "its driver allocates and frees memory",
     "see `ridge diagnose` of that rank: sizes that do not repeat, empty_cache, little memory left"},
    {BUDGET_SYNC, "it waits for its GPU in the step",
     "no .item(), print or checkpoint on one rank only inside the step"},
    {BUDGET_USER, "it runs other code on the host",
     "logging, evaluation or checkpoints on that rank: move them out of the step or into a thread"},
    {BUDGET_DISPATCH, "its host submits more slowly",
     "a busy or slower host: pin processes to cores (numactl), stop what else runs there"},
    {BUDGET_SMALL, "its host submits more slowly",
     "a busy or slower host: pin processes to cores (numactl), stop what else runs there"},
    {BUDGET_COMPILE, "it compiles or loads code",
     "its shapes change: pad or bucket them as on the other ranks; share the compile cache"},
    {BUDGET_PLAN, "it plans programs that the others do not",
     "its graphs or shapes change: record the step (rg_jit), pad or bucket shapes as on the other ranks"},
    {BUDGET_PAGEABLE, "it copies pageable memory", "pin_memory=True on that rank"},
    {BUDGET_EXPOSED, "its copies take longer",
     "its link to the host is slower or shared: nvidia-smi topo -m, lspci"},
    {BUDGET_UNEXPLAINED, "its GPU is shared with another process",
     "nvidia-smi on that host: end or move the other process"},
    {BUDGET_DEPEND, "its streams wait for one another", "see `ridge diagnose` of that rank"},
    {BUDGET_OTHER, "its host did something that was not recorded",
     "record that rank with CPU activities and stacks"},
};

static void name_reason(struct rank_set *s, struct rank_file *f) {
    uint32_t c = (uint32_t)s->culprit;
    int key = BUDGET_KERNELS;
    int64_t most = 0;
    for (int k = 0; k < BUDGET_KEYS; k++) {
        int64_t more = f[c].row.budget[k] - median_of_others(f, s->n, c, k);
        if (k != BUDGET_COMM && more > most) most = more, key = k;
    }
    s->reason = key;
    s->more_ns = most;
    if (key == BUDGET_KERNELS || key == BUDGET_DEVCOPY || key == BUDGET_MEMSET) {
        s->slow_gpu = slower_gpu(&f[c], &f[c ? 0 : 1]);
        s->why = s->slow_gpu
                     ? "the same kernels, each slower: a slower GPU (clock, power, heat, another tenant)"
                     : "it has more work: more or larger kernels";
        s->fix = s->slow_gpu
                     ? "nvidia-smi -q -d CLOCK,POWER,TEMPERATURE on that host; replace or exclude the GPU"
                     : "balance the work: equal batch and sequence lengths, equal layers for each rank";
    }
    for (size_t i = 0; i < RG_COUNT(reasons); i++)
        if (reasons[i].budget == key) s->why = reasons[i].why, s->fix = reasons[i].fix;
    for (uint32_t i = 0; i < f[c].row.fixes; i++) { /* where, if that rank's own diagnosis knows */
        static const int of[][2] = {{BUDGET_LOADER, CAUSE_LOADER},     {BUDGET_ALLOC, CAUSE_ALLOC},
                                    {BUDGET_SYNC, CAUSE_SYNC},         {BUDGET_USER, CAUSE_USER},
                                    {BUDGET_DISPATCH, CAUSE_DISPATCH}, {BUDGET_COMPILE, CAUSE_COMPILE}};
        for (size_t k = 0; k < RG_COUNT(of); k++)
            if (of[k][0] == key && f[c].row.fix_id[i] == of[k][1]) s->where = f[c].row.fix_where[i];
    }
}

/* One rank waits and all others come together: its own calls take longer, which no work of theirs explains. */
static int lone_waiter(const struct rank_set *s, const struct rank_file *f, int64_t least) {
    int waiter = -1;
    for (uint32_t r = 0; r < s->n && s->n > 2; r++) {
        if (f[r].row.wait_ns < least) continue;
        if (waiter >= 0) return -1;
        waiter = (int)r;
    }
    return waiter;
}

/* Does this rank leave collectives so much later than the others that it comes late to the next? */
static bool leaves_late(const struct rank_set *s, const struct rank_file *f, uint32_t top) {
    int64_t v[RANKS_MOST];
    uint32_t k = 0;
    for (uint32_t r = 0; r < s->n; r++)
        if (r != top) v[k++] = f[r].row.transfer_ns;
    if (k) qsort(v, k, sizeof *v, ascending);
    return k && (f[top].row.transfer_ns - v[(k - 1) / 2]) * 2 > f[top].row.late_ns;
}

static void judge_set(struct rank_set *s, struct rank_file *f) {
    int64_t wall = 0, late = 0, transfer = 0, wait = 0;
    uint32_t top = 0;
    for (uint32_t r = 0; r < s->n; r++) {
        wall = RG_MAX(wall, f[r].row.wall_ns);
        late += f[r].row.late_ns;
        transfer += f[r].row.transfer_ns / s->n;
        wait += f[r].row.wait_ns / s->n;
        if (f[r].row.late_ns > f[top].row.late_ns) top = r;
    }
    s->wall_ns = wall, s->wait_ns = wait, s->transfer_ns = transfer;
    s->culprit = -1;
    int lone = lone_waiter(s, f, wall / REPORT_PART);
    if (lone >= 0) {
        s->culprit = lone, s->network = true, s->lost_ns = f[lone].row.wait_ns;
        s->why =
            "its collectives take longer than those of all others: a slower link, or a clock that drifts";
        s->fix = "NCCL_DEBUG=INFO, ibstat and nvidia-smi nvlink -s on that host";
    } else if (f[top].row.late_ns * REPORT_PART >= wall && f[top].row.late_ns * 2 > late) {
        s->culprit = (int)top;
        s->lost_ns = f[top].row.late_ns;
        if (leaves_late(s, f, top)) {
            s->network = true;
            s->why = "its transfers take longer than those of all others, and it comes late to the next: a "
                     "slower link";
            s->fix = "NCCL_DEBUG=INFO, ibstat, ethtool and nvidia-smi nvlink -s on that host";
        } else {
            name_reason(s, f);
        }
    } else if (late * REPORT_PART >= wall && late > transfer) {
        s->lost_ns = late;
        s->why = "ranks are late in turns: work differs from step to step";
        s->fix = "bucket by length, equal batches; fewer synchronisation points (larger buckets, gradient "
                 "accumulation)";
    } else if (transfer * NETWORK_PART >= wall) {
        s->network = true;
        s->lost_ns = transfer;
        s->why = "all ranks come together: the time is transferring";
        s->fix = "faster links (NCCL_DEBUG=INFO names the one used), larger buckets, bf16 gradients, overlap "
                 "with the backward pass";
    }
}

/* Files in memory at once: all that fit into `most` bytes together, or one. */
struct rank_reads {
    struct rank_file *f;
    const char *const *path;
    pthread_mutex_t lock;
    pthread_cond_t given_back;
    uint64_t most, held;
    uint32_t open, at_once; /* files; most of them at a time */
};

/* Bytes that reading a file may take: its events and what is derived from them, half as much again as their text. */
static uint64_t need_of(const char *path) {
    struct stat st;
    size_t n = strlen(path);
    bool packed = n > 3 && !strcmp(path + n - 3, ".gz");
    return stat(path, &st) ? 0 : (uint64_t)st.st_size * (packed ? 3 * PACKED : 3) / 2;
}

static void hold(struct rank_reads *x, uint64_t need) {
    pthread_mutex_lock(&x->lock);
    while (x->open && x->held + need > x->most) pthread_cond_wait(&x->given_back, &x->lock);
    x->held += need, x->open++;
    x->at_once = RG_MAX(x->at_once, x->open);
    pthread_mutex_unlock(&x->lock);
}

static void give_back(struct rank_reads *x, uint64_t need) {
    pthread_mutex_lock(&x->lock);
    x->held -= need, x->open--;
    pthread_cond_broadcast(&x->given_back);
    pthread_mutex_unlock(&x->lock);
}

static void read_some(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct rank_reads *x = arg;
    (void)worker;
    for (uint32_t i = t0; i < t1; i++) {
        uint64_t need = need_of(x->path[i]);
        hold(x, need);
        rank_file_read(&x->f[i], x->path[i]);
        give_back(x, need);
    }
}

/* Half of what the machine can spare. */
static uint64_t spare_memory(void) {
    char line[128];
    unsigned long long kb = 0;
    FILE *f = fopen("/proc/meminfo", "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1) break;
    if (f) fclose(f);
    return kb ? kb * 512 : (uint64_t)2 << 30;
}

struct set_job {
    struct rank_set *s;
    struct rank_file *f;
    uint32_t n;
};

/* Files that cannot be read are named and left out. */
static void put_together(void *arg) {
    struct set_job *j = arg;
    struct rank_set *s = j->s;
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n; i++) {
        struct rank_file *x = &j->f[i];
        if (x->bad || !x->row.wall_ns) {
            const char *why = x->bad ? x->err.msg : "it has no timeline";
            vec_push(&s->arena, &s->refused, arena_printf(&s->arena, "%s: %.300s", x->path, why));
            continue;
        }
        if (n != i) { /* keep all: their arenas are freed by index */
            struct rank_file t = j->f[n];
            j->f[n] = *x, *x = t;
        }
        n++;
    }
    for (uint32_t i = 0; i < n; i++) {
        j->f[i].arena.err = j->f[i].err.code ? &j->f[i].err : s->arena.err;
        if (j->f[i].row.rank < 0) j->f[i].row.rank = (int)i;
    }
    s->n = n;
    if (n < 2)
        err_throw(s->arena.err, RG_EINVAL,
                  n ? "a set needs two traces that can be read; only one could be: %s"
                    : "no trace of the set could be read%s",
                  n ? j->f[0].path : "");
    s->matched = ranks_match(&s->arena, j->f, n);
    measure(s, j->f);
    judge_set(s, j->f);
    for (uint32_t i = 0; i < n; i++) {
        struct rank_row r = j->f[i].row;
        r.path = arena_strdup(&s->arena, r.path, strlen(r.path));
        vec_push(&s->arena, &s->rows, r);
    }
    if (s->where) s->where = arena_strdup(&s->arena, s->where, strlen(s->where));
}

int rank_set_read(struct rank_set *s, struct err *e, const char *const *path, uint32_t n) {
    return rank_set_read_within(s, e, path, n, spare_memory());
}

int rank_set_read_within(struct rank_set *s, struct err *e, const char *const *path, uint32_t n,
                         uint64_t most) {
    memset(s, 0, sizeof *s);
    arena_init(&s->arena, e);
    n = RG_MIN(n, (uint32_t)RANKS_MOST);
    struct rank_file *f = mem_alloc(sizeof *f * RG_MAX(n, 1u));
    if (!f) return err_set(e, RG_ENOMEM, "out of memory");
    memset(f, 0, sizeof *f * RG_MAX(n, 1u));
    struct rank_reads reads = {.f = f, .path = path, .most = most};
    pthread_mutex_init(&reads.lock, NULL), pthread_cond_init(&reads.given_back, NULL);
    pool_run(pool_get(), read_some, &reads, n, 1);
    pthread_mutex_destroy(&reads.lock), pthread_cond_destroy(&reads.given_back);
    s->at_once = reads.at_once;
    int rc = err_guard(e, put_together, &(struct set_job){s, f, n});
    for (uint32_t i = 0; i < n; i++) arena_free(&f[i].arena);
    mem_free(f);
    if (rc) rank_set_free(s);
    return rc;
}

void rank_set_free(struct rank_set *s) { arena_free(&s->arena); }
