/* names.c: what the name of a call, operator, range or kernel says about it.
 *
 * Tables of patterns, so that a new framework's word is one line. A pattern is a substring; one that
 * begins with '^' must stand at the start. The first match wins. Tests: tests/unit/analyze.c */
#include "analyze/internal.h"

struct pattern {
    const char *text;
    uint8_t kind;
};

static bool matches(const char *pattern, const char *name) {
    if (*pattern == '^') return strncmp(name, pattern + 1, strlen(pattern + 1)) == 0;
    return strstr(name, pattern) != NULL;
}
static int lookup(const struct pattern *p, size_t n, const char *name, int none) {
    for (size_t i = 0; i < n; i++)
        if (matches(p[i].text, name)) return p[i].kind;
    return none;
}

/* clang-format off */
static const struct pattern api[] = {
    /*  pattern               kind */
    {"GraphLaunch",           TK_GRAPH},
    {"LaunchHostFunc",        TK_API},
    {"Launch",                TK_LAUNCH},
    {"Synchronize",           TK_SYNC},
    {"hipMemcpyWithStream",   TK_SYNC},
    {"BlockHostUntilReady",   TK_SYNC},
    {"BlockUntilReady",       TK_SYNC},
    {"MallocAsync",           TK_API},
    {"FreeAsync",             TK_API},
    {"cudaFuncGet",           TK_API},
    {"MemGetInfo",            TK_API},
    {"Malloc",                TK_ALLOC},
    {"^cudaFree",             TK_ALLOC},
    {"^hipFree",              TK_ALLOC},
    {"^cuMemAlloc",           TK_ALLOC},
    {"^cuMemFree",            TK_ALLOC},
    {"^cuMemCreate",          TK_ALLOC},
    {"^cuMemMap",             TK_ALLOC},
    {"HostAlloc",             TK_ALLOC},
    {"HostRegister",          TK_ALLOC},
    {"ModuleLoad",            TK_COMPILE},
    {"LibraryLoad",           TK_COMPILE},
    {"nvrtcCompile",          TK_COMPILE},
    {"cuLinkComplete",        TK_COMPILE},
};
/* clang-format on */

int trace_api_kind(const char *name) {
    /* The plain copies wait; their Async and peer forms do not. */
    if (!strcmp(name, "cudaMemcpy") || !strcmp(name, "hipMemcpy") || !strcmp(name, "cudaMemcpy2D"))
        return TK_SYNC;
    if (!strncmp(name, "cuMemcpy", 8) && !strstr(name, "Async") && strstr(name, "to")) return TK_SYNC;
    return lookup(api, RG_COUNT(api), name, TK_API);
}

/* clang-format off */
static const struct pattern host[] = {
    /*  pattern                      kind */
    {"^ProfilerStep#",               TK_STEP},
    {"DataLoader",                   TK_LOADER},
    {"utils/data/dataloader.py",     TK_LOADER},
    {"utils/data/_utils/",           TK_LOADER},
    {"^Iterator::",                  TK_LOADER},
    {"IteratorGetNext",              TK_LOADER},
    {"iterator_get_next",            TK_LOADER},
    {"grain/python",                 TK_LOADER},
    {"tfds",                         TK_LOADER},
    {"webdataset",                   TK_LOADER},
    {"^dataloader",                  TK_LOADER},
    {"^data_loading",                TK_LOADER},
    {"^load_batch",                  TK_LOADER},
    {"^gloo:",                       TK_COLLECTIVE},
    {"^mpi:",                        TK_COLLECTIVE},
    {"^MPI_",                        TK_COLLECTIVE},
    {"_dynamo/convert_frame",        TK_COMPILE}, /* frames that run only while compiling */
    {"_inductor/compile_fx",         TK_COMPILE},
    {"_inductor/async_compile",      TK_COMPILE},
    {"dynamo_timed",                 TK_COMPILE},
    {"entire_frame_compile",         TK_COMPILE},
    {"^_compile.",                   TK_COMPILE},
    {": precompile",                 TK_COMPILE},
    {"backend_compile",              TK_COMPILE},
    {"XlaCompile",                   TK_COMPILE},
    {"::Compile",                    TK_COMPILE},
    {"CompileAndLoad",               TK_COMPILE},
    {"compile_or_get_cached",        TK_COMPILE},
    {"^aten::item",                  TK_SYNC}, /* operators that bring a value to the host */
    {"^aten::_local_scalar_dense",   TK_SYNC},
    {"^aten::is_nonzero",            TK_SYNC},
    {"BlockHostUntilReady",          TK_SYNC},
    {"BlockUntilReady",              TK_SYNC},
    {"block_until_ready",            TK_SYNC},
    {"AwaitOnStream",                TK_SYNC},
};
/* clang-format on */

int trace_host_kind(int kind, const char *name) { return lookup(host, RG_COUNT(host), name, kind); }

/* clang-format off */
static const struct pattern device[] = {
    /*  pattern               kind */
    {"^Memcpy",               TK_COPY},
    {"^memcpy",               TK_COPY},
    {"^hipMemcpy",            TK_COPY},
    {"^Memset",               TK_SET},
    {"^memset",               TK_SET},
    {"^hipMemset",            TK_SET},
    {"nccl",                  TK_COMM},
    {"rccl",                  TK_COMM},
    {"cross_device_reduce",   TK_COMM},
    {"nvshmem",               TK_COMM},
    {"mscclpp",               TK_COMM},
    {"deep_ep",               TK_COMM},
    {"one_shot_all_reduce",   TK_COMM},
    {"two_shot_all_reduce",   TK_COMM},
    {"AllReduceKernel",       TK_COMM},
};
/* clang-format on */

int trace_device_kind(const char *name) { return lookup(device, RG_COUNT(device), name, TK_KERNEL); }

bool trace_is_ridge_collective(const char *name) {
    static const char *const kinds[] = {"all_reduce_", "reduce_scatter_", "all_gather_", "broadcast_",
                                        "all_to_all_", "barrier_",        "send_",       "recv_"};
    for (size_t i = 0; i < RG_COUNT(kinds); i++) {
        size_t n = strlen(kinds[i]);
        if (!strncmp(name, kinds[i], n) && name[n] && !name[n + strspn(name + n, "0123456789")]) return true;
    }
    return false;
}

int trace_copy_flags(const char *name) {
    int f = 0;
    if (strstr(name, "HtoD") || strstr(name, "H2D") || strstr(name, "HostToDevice")) f |= TF_H2D;
    if (strstr(name, "DtoH") || strstr(name, "D2H") || strstr(name, "DeviceToHost")) f |= TF_D2H;
    if (!f) f = TF_D2D;
    if (strstr(name, "Pageable")) f |= TF_PAGEABLE;
    return f;
}

/* ---- JAX's packed details --------------------------------------------------------------------------- */

static bool token(const char **s, const char *end, const char **key, size_t *kn, const char **val) {
    const char *p = *s;
    while (p < end && *p == ' ') p++;
    const char *k = p;
    while (p < end && *p != ':' && *p != ' ') p++;
    if (p >= end || *p != ':') return false;
    *key = k;
    *kn = (size_t)(p - k);
    *val = ++p;
    while (p < end && *p != ' ') p++;
    *s = p;
    return true;
}
static int64_t number(const char **s, const char *end) {
    int64_t x = 0;
    while (*s < end && **s >= '0' && **s <= '9' && x < INT64_MAX / 20) x = x * 10 + (*(*s)++ - '0');
    return x;
}
static void triple(const char *v, const char *end, uint32_t out[3]) {
    for (int i = 0; i < 3; i++) {
        out[i] = (uint32_t)number(&v, end);
        if (v < end && *v == ',') v++;
    }
}

void parse_kernel_details(const char *s, size_t n, struct trace_kernel_args *a) {
    const char *end = s + n, *key, *val;
    size_t kn;
    while (token(&s, end, &key, &kn, &val)) {
#define IS(text) (kn == sizeof(text) - 1 && !memcmp(key, text, kn))
        if (IS("grid"))
            triple(val, end, a->grid), a->known |= 1;
        else if (IS("block"))
            triple(val, end, a->block);
        else if (IS("regs"))
            a->regs = (uint32_t)number(&val, end), a->known |= 2;
        else if (IS("static_shared") || IS("dynamic_shared") || IS("group_mem"))
            a->smem += (uint32_t)number(&val, end);
    }
}

int64_t parse_copy_details(const char *s, size_t n, uint8_t *flags) {
    const char *end = s + n, *key, *val;
    size_t kn;
    int64_t bytes = 0;
    while (token(&s, end, &key, &kn, &val)) {
        size_t vn = (size_t)(s - val);
        if (IS("size") || IS("num_bytes"))
            bytes = number(&val, end);
        else if ((IS("kind_src") || IS("kind_dst") || IS("kind")) && vn == 8 && !memcmp(val, "pageable", 8))
            *flags |= TF_PAGEABLE;
#undef IS
    }
    return bytes;
}
