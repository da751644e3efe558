/* program.c: OpenCL C to what a driver keeps, and back: sources, binaries, kernels.
 *
 * What a driver gives as the binary of a program (machine code, PTX, an archive) is what the engine keeps on disk, under the
 * name and version of device and driver; if the driver refuses it later all the same, the engine compiles anew. A program that
 * does not build is kept in a file, whose name the error gives.
 * Tests: tests/unit/opencl.c */
#include "device/opencl/internal.h"

struct opencl_module {
    struct module mod;
    cl_program program;
    struct opencl_kernel *kernels;
};

int opencl_target(struct device *dev, struct err *e, struct arena *a, struct dev_target *t) {
    struct opencl_device *d = opencl_of(dev);
    (void)e;
    *t = (struct dev_target){
        .request = "opencl",
        .tool = d->cl->path,
        .stamp = arena_printf(a, "%s %s %s %s", d->cl->path, d->platform, d->driver, d->info.name),
        .flags = d->flags,
        .arch = arena_printf(a, "%s %s, %u threads, %u bytes of parameters%s%s", d->info.name, d->driver,
                             d->info.threads, d->info.params, d->info.no_f64 ? "" : ", f64",
                             d->info.no_atomic64 ? "" : ", atomic64")};
    return 0;
}

int opencl_version(struct device *dev, struct err *e, struct arena *a, const char **out) {
    struct opencl_device *d = opencl_of(dev);
    (void)e;
    *out = arena_printf(a, "%s, driver %s", d->platform, d->driver);
    return 0;
}

static char *build_log(struct opencl_device *d, struct arena *a, cl_program p) {
    size_t n = 0;
    if (d->cl->build_info(p, d->chosen.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n)) return "";
    char *log = arena_alloc(a, n + 1);
    if (n && d->cl->build_info(p, d->chosen.device, CL_PROGRAM_BUILD_LOG, n, log, NULL)) return "";
    log[n] = 0;
    return log;
}

/* The first lines of what the compiler said, and where the text is. */
static int build_failed(struct opencl_device *d, struct err *e, struct arena *a, cl_program p,
                        const char *text, int code) {
    const char *log = build_log(d, a, p);
    char *dir = NULL;
    struct err ignore = {0};
    size_t n = 0;
    if (code == CL_OUT_OF_HOST_MEMORY) return opencl_fail(d, e, code, "compiling");
    if (!os_temp_dir(&ignore, a, &dir))
        os_write_file(&ignore, arena_printf(a, "%s/unit.cl", dir), text, strlen(text), 0600);
    for (int lines = 0; log[n] && lines < 12 && n < 1600; n++) lines += log[n] == '\n';
    return err_set(e, RG_ECOMPILE, "%s (%s) failed with %s (%d) on generated code, kept in %s/unit.cl:\n%.*s",
                   d->info.name, d->platform, opencl_error(code), code, dir ? dir : "(nowhere)", (int)n, log);
}

static int take_binary(struct opencl_device *d, struct err *e, struct arena *a, cl_program p,
                       struct dev_object *out) {
    size_t n = 0;
    int code = d->cl->program_info(p, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL);
    if (!code && !n)
        return err_set(e, RG_ECOMPILE, "%s gives no binary of a program that it has built", d->info.name);
    if (!code) {
        unsigned char *data = arena_raw(a, n + 1);
        data[n] = 0; /* PTX is text */
        *out = (struct dev_object){.data = data, .n = n};
        code = d->cl->program_info(p, CL_PROGRAM_BINARIES, sizeof data, &data, NULL);
    }
    return code ? opencl_fail(d, e, code, "taking the binary of a program") : 0;
}

static int compile_one(struct opencl_device *d, struct err *e, struct arena *a, const char *text,
                       struct dev_object *out) {
    int code = 0;
    cl_program p = d->cl->source(d->context, 1, &text, NULL, &code);
    if (!p || code) return opencl_fail(d, e, code ? code : CL_OUT_OF_HOST_MEMORY, "compiling");
    code = d->cl->build(p, 1, &d->chosen.device, d->flags, NULL, NULL);
    code = code ? build_failed(d, e, a, p, text, code) : take_binary(d, e, a, p, out);
    d->cl->program_free(p);
    return code;
}

int opencl_compile(struct device *dev, struct err *e, struct arena *a, const char *const *text, int n,
                   struct dev_object *out) {
    struct opencl_device *d = opencl_of(dev);
    if (opencl_enter(d, e)) return e->code;
    for (int i = 0; i < n; i++)
        if (compile_one(d, e, a, text[i], &out[i])) {
            out[i] = (struct dev_object){0};
            return e->code;
        }
    return 0;
}

/* Some drivers' binaries are text for people, NVIDIA's PTX above all. */
int opencl_assembly(struct device *dev, struct err *e, struct arena *a, const char *text, char **out) {
    struct opencl_device *d = opencl_of(dev);
    struct dev_object o;
    if (opencl_compile(dev, e, a, &text, 1, &o)) return e->code;
    const char *s = o.data;
    for (size_t i = 0; i < o.n; i++)
        if ((unsigned char)s[i] < 9) {
            *out = arena_printf(a, "(%s compiles to %zu bytes that only its driver can read)\n", d->info.name,
                                o.n);
            return 0;
        }
    *out = o.data;
    return 0;
}

int opencl_load_object(struct device *dev, struct err *e, const void *object, size_t n, struct module **out) {
    struct opencl_device *d = opencl_of(dev);
    const unsigned char *data = object;
    int status = 0, code = 0;
    if (opencl_enter(d, e)) return e->code;
    struct opencl_module *m = mem_alloc(sizeof *m);
    if (!m) return err_set(e, RG_ENOMEM, "out of memory while loading a kernel");
    *m = (struct opencl_module){.mod.dev = dev};
    m->program = d->cl->binary(d->context, 1, &d->chosen.device, &n, &data, &status, &code);
    if (!code) code = status;
    if (!code) code = d->cl->build(m->program, 1, &d->chosen.device, "", NULL, NULL);
    if (code) {
        opencl_unload(&m->mod);
        return opencl_fail(d, e, code, "loading a kernel");
    }
    *out = &m->mod;
    return 0;
}

void opencl_unload(struct module *mod) {
    struct opencl_module *m = (struct opencl_module *)mod;
    const struct opencl *cl = opencl_of(mod->dev)->cl;
    bool here = opencl_of(mod->dev)->forks == os_forks();
    for (struct opencl_kernel *k = m->kernels, *next; k; k = next) {
        next = k->next;
        if (here) cl->kernel_free(k->k);
        mem_free(k);
    }
    if (here && m->program) cl->program_free(m->program);
    mem_free(m);
}

dev_fn *opencl_symbol(struct module *mod, const char *name) {
    struct opencl_module *m = (struct opencl_module *)mod;
    const struct opencl_device *d = opencl_of(mod->dev);
    const struct opencl *cl = d->cl;
    int code = 0;
    struct opencl_kernel *k = mem_alloc(sizeof *k);
    if (!k) return NULL;
    *k = (struct opencl_kernel){.next = m->kernels, .k = cl->kernel_new(m->program, name, &code)};
    if (!k->k || code) {
        mem_free(k);
        return NULL;
    }
    if (cl->kernel_info(k->k, d->chosen.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof k->threads, &k->threads,
                        NULL))
        k->threads = d->info.threads;
    m->kernels = k;
    return (dev_fn *)(uintptr_t)k;
}
