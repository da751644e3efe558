/* cuda_host.hpp: enough of CUDA C to run kernels of builtins on the host (tests/unit/builtin_host.c). A block is a thread of the
 * system, its threads are contexts that run in random order up to the next barrier or warp instruction. Several blocks run
 * at once, so that they meet in atomics and in look-back. A barrier that not all threads reach ends the process. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned u32;
typedef long i64;
typedef unsigned long u64;

#define __global__
#define __launch_bounds__(...)
#define __shared__ static thread_local
#define pdl_wait()
#define __nanosleep(ns) sched_yield()
#define __trap() fprintf(stderr, "trapped\n"), abort()
#define __popc __builtin_popcount
#define __expf expf
#define __logf logf

typedef float f32;
typedef double f64;
typedef u16 f16;
typedef u16 bf16;
template <class T, int N> struct alignas(sizeof(T) * N) piece {
    T v[N];
};
static float up_bf16(bf16 v) {
    union {
        u32 u;
        float f;
    } x = {(u32)v << 16};
    return x.f;
}
static bf16 down_bf16(float v) {
    union {
        float f;
        u32 u;
    } x = {v};
    return v == v ? (x.u + 0x7fff + (x.u >> 16 & 1)) >> 16 : x.u >> 16 | 0x40;
}
static float max_f32(float a, float b) { return a != a ? a : b > a || b != b ? b : a; }
static float min_f32(float a, float b) { return a != a ? a : b < a || b != b ? b : a; }
static double max_f64(double a, double b) { return a != a ? a : b > a || b != b ? b : a; }
static double min_f64(double a, double b) { return a != a ? a : b < a || b != b ? b : a; }

enum { MOST_THREADS = 512, STACK = 1 << 16, BLOCKS_AT_ONCE = 3 };
struct dim {
    u32 x;
};
static dim gridDim, blockDim;
static thread_local dim threadIdx, blockIdx;

struct meeting { /* of threads that exchange a value */
    u32 arrived, round;
    u64 value[2][32];
};
static thread_local meeting all_threads, warps[MOST_THREADS / 32];
static thread_local jmp_buf fiber[MOST_THREADS],
    scheduler; /* a context begins by setcontext; jumps save no signal mask */
static thread_local bool begun[MOST_THREADS], finished[MOST_THREADS];
static thread_local char *stacks;
static thread_local u64 seed, progress;

static void pause_fiber() {
    if (!_setjmp(fiber[threadIdx.x])) _longjmp(scheduler, 1);
}

/* The values of all that meet, once the last has come. */
static const u64 *meet(meeting &m, u32 count, u64 value, u32 at) {
    const u32 round = m.round;
    m.value[round % 2][at] = value;
    progress++;
    if (++m.arrived == count)
        m.arrived = 0, m.round++;
    else
        while (m.round == round) pause_fiber();
    return m.value[round % 2];
}
static const u64 *warp_meets(u64 value) {
    const u32 t = threadIdx.x;
    return meet(warps[t / 32], 32, value, t % 32);
}
static void __syncthreads() { meet(all_threads, blockDim.x, 0, 0); }
static void __syncwarp() { warp_meets(0); }
static u32 __syncthreads_count(bool p) {
    static thread_local u32 sum[2];
    const u32 turn = all_threads.round % 2;
    sum[turn] += p;
    __syncthreads();
    const u32 r = sum[turn];
    __syncthreads();
    sum[turn] = 0;
    return r;
}
static u32 __ballot_sync(u32, bool p) {
    const u64 *v = warp_meets(p);
    u32 r = 0;
    for (u32 i = 0; i < 32; i++) r |= (u32)v[i] << i;
    return r;
}
static bool __all_sync(u32 mask, bool p) { return __ballot_sync(mask, p) == 0xffffffffu; }
static u32 __shfl_sync(u32, u32 v, u32 from) { return (u32)warp_meets(v)[from]; }
static u32 __shfl_up_sync(u32, u32 v, u32 by) {
    const u32 lane = threadIdx.x % 32;
    return (u32)warp_meets(v)[lane >= by ? lane - by : lane];
}
static u32 __shfl_xor_sync(u32, u32 v, u32 by) { return (u32)warp_meets(v)[threadIdx.x % 32 ^ by]; }
template <class T> static T atomicMax(T *p, T v) {
    T was = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (was < v && !__atomic_compare_exchange_n(p, &was, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return was;
}
static u32 atomicAdd(u32 *p, u32 v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }

typedef void kernel(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64);
static kernel *running;
static u64 given[16];
static u32 next_block;

static void run_thread() {
    const u64 *a = given;
    running(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14],
            a[15]);
    finished[threadIdx.x] = true;
    progress++;
    _longjmp(scheduler, 1);
}

static void resume_fiber(u32 i) {
    threadIdx.x = i;
    if (_setjmp(scheduler)) return;
    if (begun[i]) _longjmp(fiber[i], 1);
    ucontext_t c;
    begun[i] = true;
    getcontext(&c);
    c.uc_stack.ss_sp = stacks + (size_t)i * STACK, c.uc_stack.ss_size = STACK, c.uc_link = NULL;
    makecontext(&c, run_thread, 0);
    setcontext(&c);
}

static u32 draw(u32 n) {
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return (u32)(seed >> 33) % n;
}

static void run_block() {
    u32 left = blockDim.x;
    for (u32 i = 0; i < blockDim.x; i++) begun[i] = finished[i] = false;
    while (left) {
        const u64 was = progress;
        const u32 from = draw(blockDim.x),
                  step = 2 * draw(blockDim.x / 2) + 1; /* odd: every thread of a power of two */
        left = 0;
        for (u32 i = 0; i < blockDim.x; i++) {
            const u32 t = (from + i * step) % blockDim.x;
            if (!finished[t]) resume_fiber(t);
            left += !finished[t];
        }
        if (left && progress == was) fprintf(stderr, "threads wait for threads that are gone\n"), abort();
    }
}

static void *run_blocks(void *number) {
    stacks = (char *)malloc((size_t)MOST_THREADS * STACK), seed = (u64)number;
    for (u32 b; (b = atomicAdd(&next_block, 1)) < gridDim.x;) blockIdx.x = b, run_block();
    free(stacks);
    return NULL;
}

extern "C" void run_kernel(kernel *k, u32 blocks, u32 threads, const u64 *arguments, u32 n, u64 draws) {
    pthread_t t[BLOCKS_AT_ONCE];
    running = k, gridDim.x = blocks, blockDim.x = threads, next_block = 0;
    for (u32 i = 0; i < 16; i++) given[i] = i < n ? arguments[i] : 0;
    for (u64 i = 0; i < BLOCKS_AT_ONCE; i++) pthread_create(&t[i], NULL, run_blocks, (void *)(draws + i));
    for (u32 i = 0; i < BLOCKS_AT_ONCE; i++) pthread_join(t[i], NULL);
}
