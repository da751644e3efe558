/* nccl.c: stands in for NCCL in tests without a GPU: ranks are threads of one process, and memory of the device is that of the host, as in
 * driver.c. Calls meet at a barrier. It adds f32 only. fake_nccl counts the calls; fail makes the next one fail. */
#include "fake.h"

#include <pthread.h>
#include <string.h>

#define API __attribute__((visibility("default")))
enum { MOST = 8, UINT8 = 1, FLOAT32 = 7, FAILED = 5 };

API struct fake_nccl fake_nccl;

struct id {
    char bytes[128];
};
static struct group {
    pthread_barrier_t all;
    const void *in[MOST];
    int ranks, left;
} group;
struct rank {
    int number;
};
static struct rank rank_of[MOST];

API int ncclGetVersion(int *v) { return *v = 23100, 0; }
API const char *ncclGetErrorString(int code) { return code == FAILED ? "invalid usage" : "?"; }
API const char *ncclGetLastError(struct rank *r) { return (void)r, "told to fail"; }
API int ncclGetUniqueId(struct id *id) { return memset(id, 7, sizeof *id), 0; }

API int ncclCommInitRank(struct rank **out, int ranks, struct id id, int number) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (id.bytes[100] != 7 || ranks > MOST) return FAILED;
    pthread_mutex_lock(&lock);
    if (!group.left)
        pthread_barrier_init(&group.all, NULL, (unsigned)ranks), group.ranks = group.left = ranks;
    pthread_mutex_unlock(&lock);
    rank_of[number].number = number;
    *out = &rank_of[number];
    __atomic_fetch_add(&fake_nccl.comms, 1, __ATOMIC_SEQ_CST);
    pthread_barrier_wait(&group.all);
    return 0;
}
static int leave(void) {
    __atomic_fetch_sub(&fake_nccl.comms, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_sub(&group.left, 1, __ATOMIC_SEQ_CST);
    return 0;
}
API int ncclCommDestroy(struct rank *r) { return (void)r, leave(); }
API int ncclCommAbort(struct rank *r) { return (void)r, leave(); }

/* All inputs are known from here to the second call. */
static int meet(const struct rank *r, const void *in, const void *stream) {
    __atomic_fetch_add(&fake_nccl.calls, 1, __ATOMIC_SEQ_CST);
    if (fake_nccl.fail || !stream) return FAILED;
    group.in[r->number] = in;
    pthread_barrier_wait(&group.all);
    return 0;
}
static int part(const struct rank *r) { return pthread_barrier_wait(&group.all), (void)r, 0; }

static void sum(float *out, size_t from, size_t n) {
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (int k = 0; k < group.ranks; k++) out[i] += ((const float *)group.in[k])[from + i];
    }
}

API int ncclAllReduce(const void *in, void *out, size_t n, int dt, int op, struct rank *r, void *s) {
    if (dt != FLOAT32 || op != 0 || meet(r, in, s)) return FAILED;
    sum(out, 0, n);
    return part(r);
}
API int ncclReduceScatter(const void *in, void *out, size_t n, int dt, int op, struct rank *r, void *s) {
    if (dt != FLOAT32 || op != 0 || meet(r, in, s)) return FAILED;
    sum(out, (size_t)r->number * n, n);
    return part(r);
}
API int ncclAllGather(const void *in, void *out, size_t n, int dt, struct rank *r, void *s) {
    if (dt != UINT8 || meet(r, in, s)) return FAILED;
    for (int k = 0; k < group.ranks; k++) memcpy((char *)out + (size_t)k * n, group.in[k], n);
    return part(r);
}
API int ncclBroadcast(const void *in, void *out, size_t n, int dt, int root, struct rank *r, void *s) {
    if (dt != UINT8 || meet(r, in, s)) return FAILED;
    memmove(out, group.in[root], n);
    return part(r);
}

/* Pairs only inside of a group of all ranks, as all_to_all has them. */
static __thread struct {
    const char *first;
    char *to[MOST];
    size_t n;
    struct rank *r;
    void *stream;
} pairs;
API int ncclGroupStart(void) { return pairs.first = NULL, 0; }
API int ncclSend(const void *in, size_t n, int dt, int peer, struct rank *r, void *s) {
    if (!peer) pairs.first = in;
    pairs.n = n, pairs.r = r, pairs.stream = s;
    return dt == UINT8 ? 0 : FAILED;
}
API int ncclRecv(void *out, size_t n, int dt, int peer, struct rank *r, void *s) {
    (void)r, (void)s, (void)n;
    pairs.to[peer] = out;
    return dt == UINT8 ? 0 : FAILED;
}
API int ncclGroupEnd(void) {
    if (meet(pairs.r, pairs.first, pairs.stream)) return FAILED;
    for (int k = 0; k < group.ranks; k++)
        memcpy(pairs.to[k], (const char *)group.in[k] + (size_t)pairs.r->number * pairs.n, pairs.n);
    return part(pairs.r);
}
