/* nvrtc.c: CUDA C to machine code with NVIDIA's run-time compiler, in this process, several units at once.
 *
 * For an architecture that the compiler knows, the result is machine code (a cubin); for a newer one PTX of the newest it
 * knows, which the driver translates. A unit that does not compile is kept in a file, whose name the error gives.
 * Tests: tests/unit/cuda.c */
#include "device/cuda/internal.h"

#include <stdlib.h>

/* Nothing is fused or flushed unless the program says so; our own code needs no warnings about unused names. */
const char nvrtc_flags[] = "-std=c++17 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true -w";
static const char *const flag[] = {"-std=c++17",     "-fmad=false",     "-ftz=false",
                                   "-prec-div=true", "-prec-sqrt=true", "-w"};

struct nvrtc_unit {
    const char *text;
    size_t length;
    char *data, *log; /* mem_alloc */
    size_t n;
    int code; /* of NVRTC; -1: out of memory */
};
struct batch {
    const struct cuda_nvrtc *rtc;
    const char *arch;
    struct nvrtc_unit *u;
    struct nvrtc_unit **turn; /* longest first, for balance */
};

static void take_log(const struct cuda_nvrtc *rtc, void *prog, struct nvrtc_unit *u) {
    size_t n = 0;
    if (rtc->log_size(prog, &n) || !n || !(u->log = mem_alloc(n + 1))) return;
    if (rtc->log(prog, u->log)) *u->log = 0;
    u->log[n] = 0;
}

static void compile_one(const struct batch *b, struct nvrtc_unit *u) {
    const struct cuda_nvrtc *rtc = b->rtc;
    bool ptx = !strncmp(b->arch, "compute", 7);
    const char *option[RG_COUNT(flag) + 1];
    char arch[48];
    void *prog = NULL;
    snprintf(arch, sizeof arch, "-arch=%s", b->arch);
    memcpy(option, flag, sizeof flag);
    option[RG_COUNT(flag)] = arch;
    if ((u->code = rtc->create(&prog, u->text, "ridge.cu", 0, NULL, NULL))) return;
    u->code = rtc->compile(prog, RG_COUNT(option), option);
    take_log(rtc, prog, u);
    if (!u->code) u->code = ptx ? rtc->ptx_size(prog, &u->n) : rtc->cubin_size(prog, &u->n);
    if (!u->code && !(u->data = mem_alloc(u->n + 1))) u->code = -1;
    if (!u->code) u->code = ptx ? rtc->ptx(prog, u->data) : rtc->cubin(prog, u->data);
    rtc->destroy(&prog);
}

static void compile_some(void *arg, uint32_t t0, uint32_t t1, int worker) {
    struct batch *b = arg;
    (void)worker;
    for (uint32_t i = t0; i < t1; i++) compile_one(b, b->turn[i]);
}

static int longest_first(const void *x, const void *y) {
    const struct nvrtc_unit *a = *(struct nvrtc_unit *const *)x, *b = *(struct nvrtc_unit *const *)y;
    return a->length != b->length ? (a->length < b->length) - (a->length > b->length) : (a > b) - (a < b);
}

/* The first lines of what the compiler said, and where the text is. */
static int failed(struct err *e, struct arena *a, const struct batch *b, const struct nvrtc_unit *u) {
    const char *log = u->log ? u->log : "";
    char *dir = NULL;
    struct err ignore = {0};
    size_t n = 0;
    if (u->code < 0) return err_set(e, RG_ENOMEM, "out of memory while compiling for %s", b->arch);
    if (!os_temp_dir(&ignore, a, &dir))
        os_write_file(&ignore, arena_printf(a, "%s/unit.cu", dir), u->text, strlen(u->text), 0600);
    for (int lines = 0; log[n] && lines < 8 && n < 1200; n++) lines += log[n] == '\n';
    return err_set(e, RG_ECOMPILE,
                   "NVRTC %d.%d failed with code %d on generated code for %s, kept in %s/unit.cu:\n%.*s",
                   b->rtc->major, b->rtc->minor, u->code, b->arch, dir ? dir : "(nowhere)", (int)n, log);
}

int nvrtc_compile(struct err *e, struct arena *a, const char *arch, const char *const *text, int n,
                  struct dev_object *out) {
    const struct cuda_nvrtc *rtc = cuda_nvrtc(e);
    if (!rtc) return e->code;
    struct batch b = {rtc, arch, arena_array(a, struct nvrtc_unit, n + 1),
                      arena_array(a, struct nvrtc_unit *, n + 1)};
    for (int i = 0; i < n; i++) b.u[i].text = text[i], b.u[i].length = strlen(text[i]), b.turn[i] = &b.u[i];
    if (n > 1) qsort(b.turn, (size_t)n, sizeof *b.turn, longest_first);
    pool_run(pool_get(), compile_some, &b, (uint32_t)n, 1);
    int code = 0;
    for (int i = 0; i < n && !code; i++)
        if (b.u[i].code) code = failed(e, a, &b, &b.u[i]);
    for (int i = 0; i < n; i++) {
        if (!b.u[i].code) {
            const char *log = b.u[i].log ? arena_strdup(a, b.u[i].log, strlen(b.u[i].log)) : NULL;
            out[i] = (struct dev_object){arena_raw(a, b.u[i].n + 1), b.u[i].n, log};
            memcpy(out[i].data, b.u[i].data, b.u[i].n);
            ((char *)out[i].data)[b.u[i].n] = 0; /* PTX is text */
        }
        mem_free(b.u[i].data), mem_free(b.u[i].log);
    }
    return code;
}

const char *nvrtc_version(struct err *e, struct arena *a) {
    const struct cuda_nvrtc *rtc = cuda_nvrtc(e);
    return rtc ? arena_printf(a, "NVRTC %d.%d", rtc->major, rtc->minor) : NULL;
}

void nvrtc_arch(const struct cuda_nvrtc *rtc, int major, int minor, char arch[24]) {
    int list[64], n = 0, best = 0, want = major * 10 + minor;
    snprintf(arch, 24, "sm_%d%s", want,
             want == 90 ? "a" : ""); /* a: with instructions that only this one has */
    if (!rtc || rtc->archs(&n) || n > (int)RG_COUNT(list) || rtc->arch_list(list)) return;
    for (int i = 0; i < n; i++) {
        if (list[i] == want) return;
        if (list[i] < want) best = RG_MAX(best, list[i]);
    }
    if (best) snprintf(arch, 24, "compute_%d", best);
}
