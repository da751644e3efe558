/* readers.c: how fast and in how much memory a trace is read, beside Python's json and HolisticTraceAnalysis.
 *
 *   readers [--mb N] [--keep FILE] [--peers]
 * writes a PyTorch-like trace of N MB (default 200; the target is stated for 2048), reads it three times on one
 * core and prints MB/s of wall and of processor time (the second is what a loaded machine cannot spoil), bytes
 * per retained event, and the time of the diagnosis. --peers runs Python's json and, if installed, HTA on it. */
#include "analyze/analyze.h"
#include "usage.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static const char *const ops[] = {"aten::addmm", "aten::add", "aten::layer_norm",
                                  "aten::gelu",  "aten::mul", "aten::copy_"};
static const char *const kernels[] = {
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, "
    "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
    "c10::BFloat16 const*)",
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float> >(int)",
    "void "
    "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>("
    "int)"};

#define TS(ns) (long long)((ns) / 1000), (int)((ns) % 1000)

/* One operator: its Python frame, itself, its launch, its kernel and their flow. About 1.9 KB, 6 objects. */
static void one(FILE *f, uint64_t i) {
    int64_t t = (int64_t)i * 25000 + 3847047712343093000;
    int k = (int)(i % 6);
    fprintf(f,
            "  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"model.py(%d): forward\", "
            "\"pid\": 401, \"tid\": 401,\n"
            "    \"ts\": %lld.%03d, \"dur\": 24.100,\n    \"args\": {\n      \"Python parent id\": %llu, "
            "\"Python id\": %llu, \"Ev Idx\": %llu\n    }\n  },\n",
            40 + k, TS(t), (unsigned long long)(i / 6), (unsigned long long)i, (unsigned long long)i * 3);
    fprintf(f,
            "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 401, \"tid\": 401,\n    "
            "\"ts\": %lld.%03d, \"dur\": 20.511,\n"
            "    \"args\": {\n      \"External id\": %llu,\"Record function id\": 0, \"Concrete Inputs\": "
            "[\"\", \"\", \"\", \"1\", \"1\"], \"Input type\": "
            "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"], \"Input "
            "Strides\": [[1], [4096, 1], [1, 4096], [], []], "
            "\"Input Dims\": [[4096], [8192, 4096], [4096, 4096], [], []], \"Ev Idx\": %llu\n    }\n  },\n",
            ops[k], TS(t + 1000), (unsigned long long)i, (unsigned long long)i * 3 + 1);
    fprintf(
        f,
        "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 401, "
        "\"tid\": 401,\n    \"ts\": %lld.%03d, \"dur\": 5.1,\n"
        "    \"args\": {\n      \"External id\": %llu, \"cbid\": 211, \"correlation\": %llu\n    }\n  },\n",
        TS(t + 9000), (unsigned long long)i, (unsigned long long)i + 100);
    fprintf(f,
            "  {\n    \"ph\": \"s\", \"id\": %llu, \"pid\": 401, \"tid\": 401, \"ts\": %lld.%03d,\n    "
            "\"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n",
            (unsigned long long)i + 100, TS(t + 9000));
    fprintf(f,
            "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7,\n    "
            "\"ts\": %lld.%03d, \"dur\": %d.472,\n    \"args\": {\n"
            "      \"External id\": %llu,\n      \"queued\": 0, \"device\": 0, \"context\": 1,\n      "
            "\"stream\": 7, \"correlation\": %llu,\n      \"registers per thread\": 32,\n"
            "      \"shared memory\": 0,\n      \"blocks per SM\": 69.818184,\n      \"warps per SM\": "
            "558.545471,\n      \"grid\": [%d, 1, 512],\n      \"block\": [256, 1, 1],\n"
            "      \"est. achieved occupancy %%\": 100\n    }\n  },\n",
            kernels[k], TS(t + 15000), 8 + k * 2, (unsigned long long)i, (unsigned long long)i + 100, 18 + k);
    fprintf(f,
            "  {\n    \"ph\": \"f\", \"id\": %llu, \"pid\": 0, \"tid\": 7, \"ts\": %lld.%03d,\n    \"cat\": "
            "\"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n",
            (unsigned long long)i + 100, TS(t + 15000));
}

static void write_trace(const char *path, int64_t bytes) {
    FILE *f = fopen(path, "w");
    if (!f) perror(path), exit(1);
    setvbuf(f, NULL, _IOFBF, 1 << 20);
    fprintf(f, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H200\", "
               "\"computeMajor\": 9, \"computeMinor\": 0, "
               "\"maxThreadsPerMultiprocessor\": 2048, \"numSms\": 132, \"regsPerMultiprocessor\": 65536, "
               "\"sharedMemPerMultiprocessor\": 233472}],\n"
               "  \"record_shapes\": 1, \"with_stack\": 1,\n  \"displayTimeUnit\": \"ms\",\n  "
               "\"baseTimeNanoseconds\": 1790857026000000000,\n  \"traceEvents\": [\n");
    for (uint64_t i = 0; ftell(f) < bytes; i++) one(f, i);
    fprintf(f, "  {\"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 401, \"tid\": 0, \"args\": "
               "{\"name\": \"python3\"}}\n  ],\n  \"traceName\": \"bench\"\n}\n");
    fclose(f);
}

static void read_once(const char *path, bool with_diag) {
    static struct trace t;
    static struct diag d;
    struct err e = {0};
    uint64_t w = os_now_ns(), c = cpu_ns();
    if (trace_read(&t, &e, path)) fprintf(stderr, "%s\n", e.msg), exit(1);
    double ws = (double)(os_now_ns() - w) / 1e9, cs = (double)(cpu_ns() - c) / 1e9,
           mb = (double)t.bytes_read / 1e6;
    printf("  read %8.1f MB, %9u events of %llu objects: %6.0f MB/s of processor time, %6.0f of wall; %zu B "
           "per event + %.1f MB of strings, %llu lost\n",
           mb, t.n, (unsigned long long)t.seen, mb / cs, mb / ws, sizeof *t.ev + sizeof *t.order,
           (double)t.str_bytes / 1e6, (unsigned long long)t.lost);
    if (with_diag) {
        c = cpu_ns();
        if (diagnose(&d, &t, &e)) fprintf(stderr, "%s\n", e.msg), exit(1);
        struct rusage r;
        getrusage(RUSAGE_SELF, &r);
        printf("  diagnose %.2f s of processor time (%s); peak memory %.0f MB\n",
               (double)(cpu_ns() - c) / 1e9, d.healthy ? "healthy" : cause_text(d.verdict),
               (double)r.ru_maxrss / 1e3);
        diag_free(&d);
    }
    trace_free(&t);
}

static const char peer[] =
    "import sys,time,resource\n"
    "p=sys.argv[1]\n"
    "import json\n"
    "t=time.process_time(); j=json.load(open(p)); s=time.process_time()-t\n"
    "import os; mb=os.path.getsize(p)/1e6\n"
    "print('  Python json.load: %.0f MB/s of processor time, peak %.0f MB' % (mb/s, "
    "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1e3))\n"
    "del j\n"
    "try:\n"
    "    from hta.common.trace_parser import parse_trace_dataframe\n"
    "    from hta.configs.parser_config import ParserConfig\n"
    "except Exception as x:\n"
    "    print('  HolisticTraceAnalysis is not installed'); sys.exit()\n"
    "t=time.process_time(); parse_trace_dataframe(p, ParserConfig.get_default_cfg()); "
    "s=time.process_time()-t\n"
    "print('  HolisticTraceAnalysis parse_trace_dataframe: %.0f MB/s of processor time, peak %.0f MB' % "
    "(mb/s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss/1e3))\n";

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[--mb N] [--keep FILE] [--peers]")) return 0;
    int64_t mb = 200;
    const char *keep = NULL;
    bool peers = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--mb") && i + 1 < argc)
            mb = atoll(argv[++i]);
        else if (!strcmp(argv[i], "--keep") && i + 1 < argc)
            keep = argv[++i];
        else if (!strcmp(argv[i], "--peers"))
            peers = true;
    }
    char path[] = "/tmp/ridge-bench-XXXXXX.json"; /* HTA looks at the ending */
    if (!keep) close(mkstemps(path, 5));
    const char *file = keep ? keep : path;
    write_trace(file, mb * 1000000);
    for (int k = 0; k < 3; k++) read_once(file, k == 2);
    if (peers) {
        fflush(stdout);
        struct err e = {0};
        struct arena a;
        arena_init(&a, &e);
        const char *cmd[] = {"python3", "-c", peer, file, NULL};
        int status;
        char *out = NULL;
        if (!os_run(&e, &a, cmd, &status, &out) && out) fputs(out, stdout);
        arena_free(&a);
    }
    if (!keep) unlink(file);
    return 0;
}
