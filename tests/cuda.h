/* cuda.h: for tests of the CUDA device: kernels compiled without a GPU, and kernels run on one with buffers of the host.
 * Tests that need NVRTC or a GPU are skipped, with the reason, where there is none. Names: cuda_compile_* need NVRTC
 * (`make test-cuda-compile`), cuda_gpu_* and semantics_CUDA_* a GPU (`make test-gpu`). */
#ifndef RIDGE_TEST_CUDA_H
#define RIDGE_TEST_CUDA_H

#include "engine/engine.h"
#include "render/render.h"
#include "test.h"
#include "tune/search/search.h"
#include "device/cuda/cuda.h"

#include <ridge.h>

#include <stdlib.h>

static inline struct engine *cuda_engine(void) {
    struct err e = {0};
    struct engine *en = search_engine_open(&e, &device_cuda[0]);
    if (!en) NO_CUDA(e.msg);
    return en;
}

static inline void cuda_need_gpu(void) { engine_close(cuda_engine()); }

static inline rg_ctx *cuda_open(void) {
    rg_ctx *c = rg_open("CUDA");
    if (rg_status_of(c)) NO_CUDA(rg_error(c));
    return c;
}

/* Runs a kernel on host buffers of the given sizes in bytes: copied there and back. */
static inline void cuda_run(struct engine *en, const struct ekernel *k, void *const *buf, const size_t *bytes,
                            const int64_t *var) {
    struct err e = {0};
    void *far[64] = {0};
    CHECK(k->nbuf <= 64);
    for (uint32_t i = 0; i < k->nbuf; i++) {
        far[i] = engine_alloc(en, &e, bytes[i] + 1);
        if (!far[i] || engine_copy(en, &e, COPY_IN, far[i], buf[i], bytes[i])) FAIL("%s", e.msg);
    }
    struct engine_list *l = engine_list_new(en, &e);
    if (!l || engine_list_add(l, &e, k, far, var) || engine_list_run(l, &e)) FAIL("%s: %s", k->name, e.msg);
    for (uint32_t i = 0; i < k->nbuf; i++) {
        if (engine_copy(en, &e, COPY_OUT, buf[i], far[i], bytes[i]))
            FAIL("%s: %s\n%s", k->name, e.msg, k->source);
        engine_free(en, far[i], bytes[i] + 1);
    }
    engine_list_free(l);
}

/* Texts of kernels, with names of their own, to be compiled together. */
struct cuda_texts {
    struct arena *arena;
    VEC(const char *) text;
    uint32_t blocks;  /* kernels that a block runs */
    uint32_t whole;   /* the first n must fit into registers */
    uint32_t spilled; /* kernels that do not */
};
static inline void cuda_render(struct cuda_texts *t, const struct linear *lin, bool meet) {
    struct linear one = *lin;
    struct render_shape shape;
    struct str s;
    one.name = arena_printf(t->arena, "k%u", t->text.n);
    str_init(&s, t->arena);
    render_cuda(&s, lin->ir, &one, meet, &shape);
    t->blocks += shape.block > 0;
    vec_push(t->arena, &t->text, s.p);
}

/* The kernels of a function of the device, those that are not there yet. */
static inline void cuda_add_calls(struct cuda_texts *t, const struct dev_call *c) {
    struct dev_kernel_text text[DEV_KERNELS];
    uint32_t n = device_cuda[0].kernels(t->arena, c, text);
    if (!n) FAIL("no kernels of %s", c->name);
    for (uint32_t i = 0; i < n; i++) {
        size_t head = (size_t)(strstr(text[i].text, text[i].name) - text[i].text);
        struct str s;
        str_init(&s, t->arena);
        str_printf(&s, "%.*sk%u%s", (int)head, text[i].text, t->text.n,
                   text[i].text + head + strlen(text[i].name));
        vec_push(t->arena, &t->text, s.p);
    }
}

/* For sm_80 and sm_90a, in a few units. Returns how many kernels were compiled; fails with the compiler's words. */
static inline uint32_t cuda_compile_texts(struct cuda_texts *t) {
    static const char *const arch[] = {"sm_80", "sm_90a"};
    struct err e = {0};
    uint32_t units = RG_MIN((t->text.n + 31) / 32, 64u);
    const char *unit[64];
    struct dev_object out[64];
    for (uint32_t u = 0; u < units; u++) {
        struct str s;
        str_init(&s, t->arena);
        render_cuda_preamble(&s);
        for (uint32_t i = u; i < t->text.n; i += units) str_add(&s, t->text.p[i]);
        unit[u] = s.p;
    }
    for (size_t i = 0; i < RG_COUNT(arch); i++) {
        if (nvrtc_compile(&e, t->arena, arch[i], unit, (int)units, out)) FAIL("%s", e.msg);
        uint32_t seen = 0;
        for (uint32_t u = 0; u < units; u++) {
            cubin_vec code = {0};
            if (cubin_read(&e, t->arena, out[u].data, out[u].n, &code)) FAIL("%s", e.msg);
            seen += code.n;
            for (uint32_t k = 0; k < code.n; k++) {
                uint32_t number = (uint32_t)atoi(code.p[k].name + 1);
                CHECK(code.p[k].registers > 0 && code.p[k].registers <= 255 && code.p[k].instructions > 0);
                t->spilled += code.p[k].spills > 0;
                if (number < t->whole && code.p[k].stack)
                    FAIL("%s does not fit into registers: %u bytes of stack\n%s", arch[i], code.p[k].stack,
                         t->text.p[number]);
            }
        }
        CHECK_EQ(seen, t->text.n);
    }
    return t->text.n * (uint32_t)RG_COUNT(arch);
}
/* A kernel for sm_90a of at least `matrix` MMA instructions, all in registers: nothing is spilled, and MMA instructions go on
 * while the program does. */
static inline void cuda_compile_whole(struct arena *arena, struct ir *ir, const struct linear *lin,
                                      uint32_t matrix) {
    struct err err = {0};
    struct render_shape shape;
    struct dev_object o;
    struct str s;
    cubin_vec v = {0};
    str_init(&s, arena);
    render_cuda_preamble(&s);
    render_cuda(&s, ir, lin, false, &shape);
    const char *text = s.p;
    if (nvrtc_compile(&err, arena, "sm_90a", &text, 1, &o)) FAIL("%s", err.msg);
    if (cubin_read(&err, arena, o.data, o.n, &v)) FAIL("%s", err.msg);
    CHECK(v.n == 1 && v.p[0].matrix >= matrix && !v.p[0].stack && !v.p[0].spills);
    if (o.log && (strstr(o.log, "serialized") || strstr(o.log, "setmaxnreg") || strstr(o.log, "injected")))
        FAIL("%s", o.log);
}

static inline void cuda_need_nvrtc(struct arena *a) {
    struct err e = {0};
#ifdef __SANITIZE_THREAD__
    SKIP("NVRTC was not built with the thread sanitizer, which then sees races in it");
#endif
    if (!nvrtc_version(&e, a)) SKIP("%s", e.msg);
}

#endif
