/* compile.c: linear programs to functions: find, or compile all that is new at once, and keep.
 *
 * A kernel's key is the SHA-256 of everything that decides its code: cache format, compiler, flags,
 * architecture, preamble and text. It is looked for in this engine, then on disk. What is left is dealt out
 * over as many translation units as there are cores, balanced by length, compiled in parallel; starting a
 * compiler costs as much as compiling several kernels, so a call with forty kernels starts two, not forty.
 * Each unit's object is one cache file, named by its SHA-256, and each kernel a small file that names its object
 * and symbol; objects are written first, so that an entry never points to nothing unless its object was
 * evicted, and then it is written anew.
 * The compiler is only run for its version when its file has changed: the answer is kept under the file's
 * path, time and size. If the compiler is gone, the last one that was used under the same request stands in,
 * so that a machine with a warm cache needs no compiler.
 * A key is locked while it is compiled (cache_lock.c): processes that begin at once compile each kernel once, and the
 * others wait for its file.
 * Code is shared by kernels that differ in grid or estimate only; kernel_cache.c keeps it.
 * Tests: tests/unit/engine.c, tests/unit/cache.c; cost: bench/compile.c */
#include "engine/internal.h"
#include "render/render.h"

#include <stdlib.h>

#define WAIT_S 300  /* for another process that compiles the same, at most */
#define POLL_MS 5   /* between two looks at what it does */
#define CLAIM_MS 20 /* in which a process that was first locks all that it compiles */

/* ---- keys ------------------------------------------------------------------------------------------- */

static const char *file_name(struct arena *a, const char *kind, const char *what) {
    char hex[65];
    sha256_hex(what, strlen(what), hex);
    return arena_printf(a, "%s-%s", kind, hex);
}

static uint64_t wait_until(void) {
    int64_t s = env_int(ENV_CC_TIMEOUT);
    return os_now_ns() + (uint64_t)(s > 0 ? RG_MIN(s, WAIT_S) : WAIT_S) * 1000000000;
}

struct version_call {
    struct engine *en;
    const struct dev_target *t;
    const char *memo, *known;
};

/* Another process may have been faster. */
static void ask_version(void *arg) {
    struct version_call *v = arg;
    struct arena *a = &v->en->work;
    struct err e = {0};
    const char *version;
    size_t n;
    if ((v->known = cache_read(&v->en->cache, a, v->memo, &n))) return;
    if (v->en->ops->version(v->en->dev, &e, a, &version)) err_throw(&v->en->err, e.code, "%s", e.msg);
    v->known = arena_printf(a, "%s\n%s", v->t->tool, version);
    cache_write(&v->en->cache, a, v->memo, v->known, strlen(v->known));
}

/* Which compiler: path and version, from the cache where possible. */
static const char *compiler_identity(struct engine *en, const struct dev_target *t) {
    struct arena *a = &en->work;
    size_t n;
    if (!t->tool) {
        const char *last = cache_read(&en->cache, a, file_name(a, "last", t->request), &n);
        return last ? last : "none";
    }
    const char *memo = file_name(a, "cc", t->stamp), *known = cache_read(&en->cache, a, memo, &n);
    if (known) return known;
    int locks = cache_locks_open(&en->cache);
    uint64_t until = wait_until();
    while (!known && !cache_lock(locks, memo + strlen("cc-")) && os_now_ns() < until) {
        os_sleep_ms(POLL_MS); /* another process asks it */
        known = cache_read(&en->cache, a, memo, &n);
    }
    struct version_call v = {en, t, memo, known};
    int code = known ? 0 : err_guard(&en->err, ask_version, &v);
    os_close(locks);
    if (code) err_throw(&en->err, code, "%s", en->err.msg);
    return v.known;
}

void engine_preamble(const struct engine *en, struct str *s, const char *const *text, uint32_t n) {
    if (en->ops->text == DEV_CUDA)
        render_cuda_preamble(s);
    else if (en->ops->text == DEV_OPENCL && en->info.cpu)
        render_opencl_cpu_preamble(s, text, n);
    else if (en->ops->text == DEV_OPENCL)
        render_opencl_preamble(s);
    else if (text)
        render_c_preamble_for(s, text, n);
    else
        render_c_preamble(s);
}

/* Everything but the kernel's own text, hashed once. */
void compile_identity(struct engine *en) {
    if (en->base_known) return;
    struct dev_target t;
    struct err e = {0};
    if (en->ops->target(en->dev, &e, &en->work, &t)) err_throw(&en->err, e.code, "%s", e.msg);
    const char *id = compiler_identity(en, &t);
    en->request = arena_strdup(&en->arena, t.request, strlen(t.request));
    en->identity = arena_strdup(&en->arena, id, strlen(id));
    struct str s;
    str_init(&s, &en->work);
    str_printf(&s, "%s\n%s\n%s\n%s\n", CACHE_FORMAT, en->identity, t.flags, t.arch);
    engine_preamble(en, &s, NULL, 0);
    sha256_init(&en->base);
    sha256_add(&en->base, s.p, s.n);
    en->base_known = true;
}

static void key_of(const struct engine *en, const char *text, char out[65]) {
    struct sha256 s = en->base;
    uint8_t sum[32];
    sha256_add(&s, text, strlen(text));
    sha256_end(&s, sum);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

/* ---- what this engine has --------------------------------------------------------------------------- */

/* What the machine code of a GPU says of a function of a loaded object. */
static const struct cubin_kernel *machine_code(const struct loaded *m, const char *symbol) {
    for (uint32_t i = 0; i < m->cubin.n; i++)
        if (!strcmp(m->cubin.p[i].name, symbol)) return &m->cubin.p[i];
    return NULL;
}

static struct loaded *load(struct engine *en, const void *data, size_t n, const char *sum) {
    enum { COPIES = 2 }; /* a module holds the object's bytes, and its code where it can run */
    uint64_t t0 = os_now_ns();
    struct loaded *known = module_find(en, sum);
    if (known) return known;
    struct module *m;
    struct err e = {0}, unread = {0};
    if (en->ops->load(en->dev, &e, data, n, &m)) {
        log_line(1, "%s", e.msg);
        if (!en->load_error.code) en->load_error = e;
        return NULL;
    }
    struct loaded *x = module_add(en, sum, m, COPIES * n);
    if (en->ops->text == DEV_CUDA) cubin_read(&unread, &x->arena, data, n, &x->cubin); /* PTX has none */
    en->stats.load_ns += os_now_ns() - t0;
    return x;
}

/* ---- the disk --------------------------------------------------------------------------------------- */

static const char *symbol_of(struct arena *a, const char *name, const char *key) {
    return arena_printf(a, "%s_%.16s", name, key);
}

static struct loaded *load_object(struct engine *en, const char *sum) {
    struct loaded *known = module_find(en, sum);
    if (known) return known;
    size_t n;
    const char *name = arena_printf(&en->work, "object-%s", sum);
    char *data = cache_read(&en->cache, &en->work, name, &n), hex[65];
    if (data) sha256_hex(data, n, hex);
    struct loaded *mod = data && !strcmp(hex, sum) ? load(en, data, n, sum) : NULL;
    if (data && !mod) cache_reject(&en->cache, name);
    return mod;
}

/* A function, and the kernel that it is wanted for. NULL: the module has none of this name. */
static struct code *take_function(struct engine *en, const struct etext *t, const char *key, struct loaded *m,
                                  int from) {
    const char *symbol = symbol_of(&en->work, t->name, key);
    dev_fn *fn = m ? en->ops->symbol(m->m, symbol) : NULL;
    const struct cubin_kernel *machine = fn ? machine_code(m, symbol) : NULL;
    if (!fn) {
        module_release(en, m);
        return NULL;
    }
    struct code *c = code_add(en, key, t->text, fn, m);
    c->from = from;
    if (machine) c->registers = machine->registers, c->spills = machine->spills;
    kernel_of(en, c, t);
    return c;
}

static struct code *from_disk(struct engine *en, const struct etext *t, const char *key) {
    struct arena *a = &en->work;
    size_t n;
    const char *name = arena_printf(a, "kernel-%s", key);
    char *entry = cache_read(&en->cache, a, name, &n), sum[65];
    if (!entry) return NULL;
    if (n < 65 || entry[64] != '\n' || strspn(entry, "0123456789abcdef") != 64) {
        cache_reject(&en->cache, name);
        return NULL;
    }
    memcpy(sum, entry, 64);
    sum[64] = 0;
    struct code *c = take_function(en, t, key, load_object(en, sum), FROM_DISK);
    en->stats.disk_hits += c != NULL;
    return c;
}

/* ---- compiling -------------------------------------------------------------------------------------- */

struct compile_job {
    const struct etext *t;
    const char *key;
    size_t len;
    int unit;
};
typedef VEC(struct compile_job) jobs;

/* Longest first to the unit with least: within a few per cent of even. Equal lengths keep their order. */
static void deal(struct arena *a, jobs *j, int units) {
    size_t *load = arena_array(a, size_t, units);
    uint32_t *order = arena_array(a, uint32_t, j->n);
    for (uint32_t i = 0; i < j->n; i++) {
        uint32_t k = i;
        for (; k > 0 && j->p[order[k - 1]].len < j->p[i].len; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    for (uint32_t i = 0; i < j->n; i++) {
        int least = 0;
        for (int u = 1; u < units; u++)
            if (load[u] < load[least]) least = u;
        j->p[order[i]].unit = least;
        load[least] += j->p[order[i]].len;
    }
}

/* The text with its function, and the inner one called NAME_body, under other names: kernels of a unit may
 * share a name, and a kernel may be called "for". */
static void add_renamed(struct str *s, const char *text, const char *name, const char *symbol) {
    char head[224], body[224];
    int head_n = snprintf(head, sizeof head, "void %s(", name),
        body_n = snprintf(body, sizeof body, "%s_body(", name);
    for (const char *p = text; *p;) {
        if (!strncmp(p, head, (size_t)head_n)) {
            str_printf(s, "void %s(", symbol);
            p += head_n;
        } else if (*p == ' ' && !strncmp(p + 1, body, (size_t)body_n)) {
            str_printf(s, " %s_body(", symbol);
            p += body_n + 1;
        } else {
            str_addc(s, *p++);
        }
    }
}

static const char *unit_text(struct engine *en, const jobs *j, int unit) {
    struct arena *a = &en->work;
    struct str s;
    str_init(&s, a);
    const char **text = arena_array(a, const char *, j->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n; i++)
        if (j->p[i].unit == unit) text[n++] = j->p[i].t->text;
    engine_preamble(en, &s, text, n);
    for (uint32_t i = 0; i < j->n; i++) {
        const struct compile_job *b = &j->p[i];
        if (b->unit != unit) continue;
        add_renamed(&s, b->t->text, b->t->name, symbol_of(a, b->t->name, b->key));
    }
    return s.p;
}

static void keep(struct engine *en, const jobs *j, int unit, const struct dev_object *o, const char *sum) {
    struct arena *a = &en->work;
    cache_write(&en->cache, a, arena_printf(a, "object-%s", sum), o->data, o->n);
    for (uint32_t i = 0; i < j->n; i++) {
        if (j->p[i].unit != unit) continue;
        const char *entry = arena_printf(a, "%s\n%s\n", sum, symbol_of(a, j->p[i].t->name, j->p[i].key));
        cache_write(&en->cache, a, arena_printf(a, "kernel-%s", j->p[i].key), entry, strlen(entry));
    }
}

static void take_in(struct engine *en, const jobs *j, int unit, const struct dev_object *o) {
    char sum[65];
    sha256_hex(o->data, o->n, sum);
    struct loaded *m = load(en, o->data, o->n, sum);
    if (!m) err_throw(&en->err, en->load_error.code, "%s", en->load_error.msg);
    for (uint32_t i = 0; i < j->n; i++) {
        const struct compile_job *b = &j->p[i];
        if (b->unit != unit) continue;
        if (!take_function(en, b->t, b->key, m, FROM_COMPILER))
            err_throw(&en->err, RG_ECOMPILE, "the compiled object has no function %s", b->t->name);
    }
    uint64_t t0 = os_now_ns();
    keep(en, j, unit, o, sum);
    en->stats.save_ns += os_now_ns() - t0;
}

static void compile_jobs(struct engine *en, jobs *j) {
    struct arena *a = &en->work;
    struct err e = {0};
    int64_t jobs_set = env_int(ENV_CC_JOBS);
    int most = jobs_set > 0 ? (int)RG_MIN(jobs_set, 1 << 16) : os_cpus();
    int units = RG_MIN(en->ops->programs ? en->ops->programs : most, (int)j->n);
    deal(a, j, units);
    const char **text = arena_array(a, const char *, units);
    struct dev_object *obj = arena_array(a, struct dev_object, units);
    uint64_t t0 = os_now_ns();
    for (int u = 0; u < units; u++) text[u] = unit_text(en, j, u);
    int failed = en->ops->compile(en->dev, &e, a, text, units, obj);
    en->stats.compile_ns += os_now_ns() - t0;
    en->stats.units += (uint64_t)units;
    en->stats.compiled += failed ? 0 : j->n;
    for (int u = 0; u < units; u++)
        if (obj[u].data)
            take_in(en, j, u, &obj[u]); /* also where another failed: search tries it without that one */
    if (failed) err_throw(&en->err, e.code, "%s", e.msg);
    t0 = os_now_ns();
    cache_write(&en->cache, a, file_name(a, "last", en->request), en->identity, strlen(en->identity));
    cache_trim(&en->cache, a);
    en->stats.save_ns += os_now_ns() - t0;
}

/* ---- one process compiles, others wait -------------------------------------------------------------- */

/* Of `rest`, what no other process compiles now goes to `mine`, locked; what is on disk by now is taken in; the others stay. */
static void claim(struct engine *en, int locks, jobs *rest, jobs *mine, bool patient) {
    uint32_t left = 0;
    bool first = patient;
    mine->n = 0;
    for (uint32_t i = 0; i < rest->n; i++) {
        struct compile_job *b = &rest->p[i];
        if (!cache_lock(locks, b->key)) {
            if (first) os_sleep_ms(CLAIM_MS); /* so that two that begin at once do not share one batch */
            first = false;
            rest->p[left++] = *b;
        } else if (locks >= 0 && from_disk(en, b->t, b->key)) {
            cache_unlock(locks, b->key);
        } else {
            vec_push(&en->work, mine, *b);
        }
    }
    rest->n = left;
}

struct claim_call {
    struct engine *en;
    int locks;
    jobs *rest;
};

static void compile_claimed(void *arg) {
    struct claim_call *c = arg;
    struct engine *en = c->en;
    jobs mine = {0};
    uint64_t until = wait_until();
    for (bool patient = true; c->rest->n; patient = false) {
        if (!patient && os_now_ns() > until) {
            compile_jobs(en, c->rest); /* whoever has the locks is stuck */
            return;
        }
        claim(en, c->locks, c->rest, &mine, patient);
        if (mine.n) compile_jobs(en, &mine);
        for (uint32_t i = 0; i < mine.n; i++) cache_unlock(c->locks, mine.p[i].key);
        if (!mine.n && c->rest->n) os_sleep_ms(POLL_MS);
    }
}

/* The locks go when an error is thrown, too. */
static void compile_once(struct engine *en, jobs *j) {
    struct claim_call c = {en, cache_locks_open(&en->cache), j};
    int code = err_guard(&en->err, compile_claimed, &c);
    os_close(c.locks);
    if (code) err_throw(&en->err, code, "%s", en->err.msg);
}

/* ---- the entries ------------------------------------------------------------------------------------ */

static void check_text(struct engine *en, const struct etext *t) {
    size_t n = strspn(t->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    if (!n || t->name[n] || n > 200)
        err_throw(&en->err, RG_EINVAL, "kernel name \"%.80s\": expected 1 to 200 letters, digits or _",
                  t->name);
    char head[220];
    snprintf(head, sizeof head, "void %s(", t->name);
    if (!strstr(t->text, head))
        err_throw(&en->err, RG_EINVAL, "kernel %s: its text must define \"%s\"", t->name, head);
    if (t->grid < 0 || t->grid > UINT32_MAX)
        err_throw(&en->err, RG_ELIMIT, "kernel %s: %lld grid iterations; 0 to %u are possible", t->name,
                  (long long)t->grid, UINT32_MAX);
}

struct compile_call {
    struct engine *en;
    const struct etext *t;
    uint32_t n;
    const struct ekernel **out;
};

static void compile_guarded(void *arg) {
    struct compile_call *c = arg;
    struct engine *en = c->en;
    jobs j = {0};
    uint64_t t0 = os_now_ns();
    compile_identity(en);
    char(*key)[65] = arena_alloc(&en->work, (size_t)c->n * 65 + 1);
    struct map asked;
    map_init(&asked, &en->work);
    for (uint32_t i = 0; i < c->n; i++) {
        check_text(en, &c->t[i]);
        key_of(en, c->t[i].text, key[i]);
        if (code_find(en, key[i]))
            en->stats.memory_hits++;
        else if (!map_get(&asked, hex_head(key[i]), NULL) && !from_disk(en, &c->t[i], key[i]))
            vec_push(&en->work, &j,
                     ((struct compile_job){.t = &c->t[i], .key = key[i], .len = strlen(c->t[i].text)}));
        map_put(&asked, hex_head(key[i]), 1);
    }
    en->stats.lookup_ns += os_now_ns() - t0;
    if (j.n) compile_once(en, &j);
    for (uint32_t i = 0; i < c->n; i++) c->out[i] = kernel_of(en, code_find(en, key[i]), &c->t[i]);
}

int engine_compile_text(struct engine *en, struct err *e, const struct etext *t, uint32_t n,
                        const struct ekernel **out) {
    struct compile_call c = {en, t, n, out};
    err_clear(&en->err);
    err_clear(&en->load_error);
    err_guard(&en->err, compile_guarded, &c);
    arena_free(&en->work);
    return en->err.code ? err_set(e, en->err.code, "%s", en->err.msg) : 0;
}

/* ---- functions of the device ------------------------------------------------------------------------ */

struct builtin_call {
    struct engine *en;
    const char *name;
    const struct dev_call *call;
    const struct estimate *est;
    const struct ekernel *out;
};

/* The kernels that it consists of, compiled. */
static void builtin_kernels(struct engine *en, const struct dev_call *call, dev_fn **fn) {
    struct dev_kernel_text text[DEV_KERNELS];
    struct etext t[DEV_KERNELS] = {0};
    const struct ekernel *k[DEV_KERNELS] = {0};
    uint32_t n = en->ops->kernels ? en->ops->kernels(&en->work, call, text) : 0;
    for (uint32_t i = 0; i < n; i++) t[i] = (struct etext){.name = text[i].name, .text = text[i].text};
    if (n) compile_guarded(&(struct compile_call){en, t, n, k});
    for (uint32_t i = 0; i < n; i++) {
        kernel_use(en, k[i]); /* for good: the device calls it */
        fn[i] = k[i]->fn;
    }
}

/* Its text is what it is called with: functions are found by it as compiled code is. */
static void builtin_guarded(void *arg) {
    struct builtin_call *c = arg;
    struct engine *en = c->en;
    struct dev_builtin f;
    dev_fn *kernel[DEV_KERNELS] = {0};
    struct err e = {0};
    struct str s;
    char key[65];
    if (c->call->rows > UINT32_MAX)
        err_throw(&en->err, RG_ELIMIT, "%s: %lld rows; at most %u are possible", c->name,
                  (long long)c->call->rows, UINT32_MAX);
    bool exchange = !strcmp(c->call->name, call_info[CALL_collective].name);
    if (!exchange) builtin_kernels(en, c->call, kernel);
    if (exchange)
        f = (struct dev_builtin){.fn = engine_collective_fn};
    else if (en->ops->builtin(en->dev, &e, c->call, kernel, &f))
        err_throw(&en->err, e.code, "%s", e.msg);
    str_init(&s, &en->work);
    str_printf(&s, "call %s%s", exchange ? c->name : c->call->name, c->call->rows == 1 ? " alone" : "");
    for (uint32_t i = 0; i < c->call->nbuf; i++) str_printf(&s, " %s", c->call->type[i]);
    if (f.form) str_printf(&s, " form %u", f.form);
    sha256_hex(s.p, s.n, key);
    struct code *code = code_find(en, key);
    if (!code) code = code_add(en, key, s.p, f.fn, NULL);
    c->out = kernel_of(en, code,
                       &(struct etext){.name = c->name,
                                       .text = s.p,
                                       .grid = c->call->rows,
                                       .scratch = f.scratch,
                                       .nbuf = c->call->nbuf,
                                       .nvar = RG_COUNT(((struct sched_builtin *)0)->num),
                                       .est = *c->est});
}

int engine_builtin(struct engine *en, struct err *e, const char *name, const struct dev_call *call,
                   const struct estimate *est, const struct ekernel **out) {
    struct builtin_call c = {en, name, call, est, NULL};
    *out = NULL;
    if (en->ops->kind != DEV_RUNS) return 0;
    err_clear(&en->err);
    err_guard(&en->err, builtin_guarded, &c);
    arena_free(&en->work);
    *out = c.out;
    return en->err.code ? err_set(e, en->err.code, "%s", en->err.msg) : 0;
}

struct assembly {
    struct engine *en;
    struct err *err;
    struct arena *arena;
    const char *source;
    char **out;
};

static void make_assembly(void *arg) {
    struct assembly *x = arg;
    struct err e = {0};
    struct str unit;
    str_init(&unit, x->arena);
    engine_preamble(x->en, &unit, &x->source, 1);
    str_add(&unit, x->source);
    if (x->en->ops->assembly(x->en->dev, &e, x->arena, unit.p, x->out))
        err_throw(x->err, e.code, "%s", e.msg);
}

int engine_assembly(struct engine *en, struct err *e, struct arena *a, const char *source, char **out) {
    struct assembly x = {en, a->err, a, source, out};
    if (!en->ops->assembly)
        return err_set(e, RG_EUNSUPPORTED, "the %s device has no assembly", en->ops->name);
    int code = err_guard(a->err, make_assembly, &x);
    return code && e != a->err ? err_set(e, code, "%s", a->err->msg) : code;
}

struct render_call {
    const struct engine *en;
    const struct linear *lin;
    struct etext *t;
};

static struct render_limits limits_of(const struct engine *en) {
    const struct dev_info *i = &en->info;
    return (struct render_limits){i->threads, i->shared, i->no_f64, i->no_atomic64};
}

bool compile_fits(const struct engine *en, const struct linear *l) {
    struct render_limits limits = limits_of(en);
    if (en->ops->text == DEV_CUDA) return l->shared <= (int64_t)en->info.shared_most;
    return en->ops->text != DEV_OPENCL || en->info.cpu || render_opencl_fits(l, &limits);
}

static struct dev_map dev_map_of(const struct render_map *r) {
    struct dev_map m = {.slot = r->slot, .rank = r->rank, .bytes = r->bytes, .digits = r->digits};
    for (uint32_t i = 0; i < r->rank; i++)
        m.size[i] = r->size[i], m.step[i] = r->step[i], m.box[i] = r->box[i];
    return m;
}

static void render_guarded(void *arg) {
    struct render_call *c = arg;
    const struct linear *l = c->lin;
    struct str s;
    struct render_shape shape = {.scratch = l->scratch};
    struct render_limits limits = limits_of(c->en);
    bool serial = linear_is_serial(l);
    const struct device_ops *ops = c->en->ops;
    str_init(&s, l->ir->arena);
    if (ops->text == DEV_CUDA)
        render_cuda(&s, l->ir, l, serial, &shape);
    else if (ops->text == DEV_OPENCL && c->en->info.cpu)
        render_opencl_cpu(&s, l->ir, l);
    else if (ops->text == DEV_OPENCL)
        render_opencl(&s, l->ir, l, serial, &limits, &shape);
    else
        render_c(&s, l->ir, l);
    *c->t = (struct etext){.name = l->name,
                           .text = ops->interpret ? ops->interpret(c->en->dev, l->ir->arena, l, s.p) : s.p,
                           .grid = l->grid,
                           .scratch = shape.scratch,
                           .block = shape.block,
                           .per_block = shape.per_block,
                           .shared = shape.shared,
                           .nmap = shape.maps,
                           .nbuf = l->nbuf,
                           .nvar = l->nvar,
                           .serial = serial,
                           .est = l->est};
    for (uint32_t i = 0; i < shape.maps; i++) c->t->map[i] = dev_map_of(&shape.map[i]);
    if (shape.why) log_line(3, "%-25s slow form: %s", l->name, shape.why);
    if (log_on(4)) log_line(4, "%s", s.p);
}

int compile_render(const struct engine *en, struct err *e, const struct linear *lin, struct etext *out) {
    struct err *inner = lin->ir->err;
    int code = err_guard(inner, render_guarded, &(struct render_call){en, lin, out});
    if (code && e != inner) err_set(e, code, "%s", inner->msg);
    return code;
}

int engine_render(struct engine *en, struct err *e, const struct linear *lin, struct etext *out) {
    uint64_t t0 = os_now_ns();
    int code = compile_render(en, e, lin, out);
    en->stats.render_ns += os_now_ns() - t0;
    if (!code) en->observer->rendered(en, out->name, out->text);
    return code;
}

int engine_compile(struct engine *en, struct err *e, const struct linear *const *lin, uint32_t n,
                   const struct ekernel **out) {
    struct etext *t = mem_alloc((n + 1) * sizeof *t);
    if (!t) return err_set(e, RG_ENOMEM, "out of memory while compiling %u kernels", n);
    int code = 0;
    for (uint32_t i = 0; i < n && !code; i++) code = engine_render(en, e, lin[i], &t[i]);
    for (uint32_t i = 0; i < n; i++) out[i] = NULL;
    if (!code && en->ops->kind == DEV_RUNS) code = engine_compile_text(en, e, t, n, out);
    mem_free(t);
    return code;
}
