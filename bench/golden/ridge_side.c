/* ridge_side.c: runs a golden .uop file on the benchmark's own buffers.
 *
 * Each kernel of the file is lowered with the opts it states (or those that the heuristic chooses), compiled by the engine and put into one command
 * list. A buffer is found by name: PARAM `x` is the task's "x", PARAMS `p` its "p[0]", "p[1]" and so on. What the
 * task does not know is the file's own: partial sums (zeroed), or a task table (`data NAME = tasks BLOCK N..`:
 * three words, tensor, start, length, for each block). Sizes must agree, else the two sides would not do the
 * same job. Tests: `golden --check`. */
#include "side.h"
#include "engine/engine.h"

enum { MAX_SLOTS = 128, MAX_OWN = 16 };

struct own {
    const char *name;
    void *p;
    size_t bytes;
};
struct side {
    struct err *err;
    struct engine *engine;
    struct task *task;
    struct arena arena;
    struct ir ir;
    struct program prog;
    const char *dir;
    bool heuristic;
    struct engine_list *list;
    const struct ekernel **kernel;
    void **bufs; /* MAX_SLOTS for each kernel */
    int64_t *vars;
    struct own own[MAX_OWN];
    int nown;
    char *scratch; /* jobs that are measured on one thread are called directly */
    size_t scratch_n;
};

/* ---- buffers by name ------------------------------------------------------------------------------- */

static const struct data_decl *decl_of(struct side *s, const char *name, const char *fill) {
    for (uint32_t i = 0; i < s->prog.data.n; i++)
        if (!strcmp(s->prog.data.p[i].name, name) && !strcmp(s->prog.data.p[i].fill, fill))
            return &s->prog.data.p[i];
    return NULL;
}

static void write_word(void *p, enum dtype dt, int64_t i, int64_t v) {
    if (dtype_info[dt].bytes == 8)
        ((int64_t *)p)[i] = v;
    else
        ((int32_t *)p)[i] = (int32_t)v;
}

static void fill_tasks(const struct data_decl *d, enum dtype dt, void *p, int64_t n) {
    int64_t at = 0, block = (int64_t)d->num[0];
    for (uint32_t t = 1; t < d->n; t++)
        for (int64_t start = 0; start < (int64_t)d->num[t] && at + 3 <= n; start += block, at += 3) {
            write_word(p, dt, at, t - 1);
            write_word(p, dt, at + 1, start);
            write_word(p, dt, at + 2, RG_MIN(block, (int64_t)d->num[t] - start));
        }
}

static void *own_buf(struct side *s, const char *name, enum dtype dt, int64_t n) {
    size_t bytes = (size_t)RG_MAX(n, 1) * dtype_info[dt].bytes;
    for (int i = 0; i < s->nown; i++)
        if (!strcmp(s->own[i].name, name)) {
            if (s->own[i].bytes < bytes)
                err_throw(s->err, RG_EINVAL, "buffer %s is larger in a later kernel than in the first", name);
            return s->own[i].p;
        }
    if (s->nown == MAX_OWN) err_throw(s->err, RG_ELIMIT, "more than %d buffers of its own", MAX_OWN);
    struct own *o = &s->own[s->nown];
    *o = (struct own){.name = name, .bytes = bytes, .p = os_pages(bytes)};
    if (!o->p) err_throw(s->err, RG_ENOMEM, "no memory for buffer %s", name);
    s->nown++;
    const struct data_decl *d = decl_of(s, name, "tasks");
    if (d) fill_tasks(d, dt, o->p, n);
    return o->p;
}

static void *find_buf(struct side *s, const char *name, enum dtype dt, int64_t n) {
    struct buf *b = task_buf(s->task, name);
    if (!b) return own_buf(s, name, dt, n);
    if (dtype_info[dt].bytes != 4 || (n >= 0 && n != b->n))
        err_throw(s->err, RG_EINVAL,
                  "buffer %s: the file says %lld elements of %s, the benchmark %lld of 4 bytes", name,
                  (long long)n, dtype_info[dt].name, (long long)b->n);
    return b->p[RIDGE];
}

static void bind_slot(struct side *s, void **bufs, uint32_t slot, void *p) {
    if (slot >= MAX_SLOTS) err_throw(s->err, RG_ELIMIT, "more than %d buffers in a kernel", MAX_SLOTS);
    bufs[slot] = p;
}

static void bind_node(struct side *s, const uop *u, void **bufs, int64_t *vars) {
    if (u->op != OP_PARAM && u->op != OP_PARAMS && u->op != OP_VAR) return;
    uint32_t slot = u->arg.param.slot;
    const char *name = ir_name(&s->ir, u->arg.param.name);
    enum dtype dt = (enum dtype)u->dt;
    if (u->op == OP_PARAM) bind_slot(s, bufs, slot, find_buf(s, name, dt, u->src[0]->arg.i));
    if (u->op == OP_PARAMS) {
        for (uint32_t i = 0;; i++) {
            const char *each = arena_printf(&s->arena, "%s[%u]", name, i);
            if (!task_buf(s->task, each)) break;
            bind_slot(s, bufs, slot + i, find_buf(s, each, dt, -1));
        }
    }
    if (u->op == OP_VAR) {
        const struct var *v = NULL;
        for (int i = 0; i < s->task->nvar; i++)
            if (!strcmp(s->task->var[i].name, name)) v = &s->task->var[i];
        if (!v || slot >= MAX_SLOTS)
            err_throw(s->err, RG_EINVAL, "VAR %s is not one that the benchmark knows", name);
        float f = (float)v->value;
        vars[slot] = (int64_t)v->value;
        if (dt_is_float(dt)) {
            vars[slot] = 0;
            if (dt == DT_F32)
                memcpy(&vars[slot], &f, sizeof f);
            else
                memcpy(&vars[slot], &v->value, sizeof v->value);
        }
    }
}

/* ---- compile --------------------------------------------------------------------------------------- */

static void load(struct side *s) {
    char *text;
    size_t n;
    const char *path = arena_printf(&s->arena, "%s/%s.uop", s->dir, s->task->job->file);
    if (os_read_file(s->err, &s->arena, path, 1 << 20, &text, &n))
        err_throw(s->err, s->err->code, "cannot read %s", path);
    ir_init(&s->ir, &s->arena);
    ir_parse(&s->ir, text, n, path, &s->prog);
    if (!s->prog.kernel.n) err_throw(s->err, RG_EINVAL, "%s: no kernel in it", path);
}

static uint32_t bind_kernel(struct side *s, const struct kernel *k, void **bufs, int64_t *vars) {
    uop_vec topo = {0};
    uint32_t slots = 0;
    uop_topo(&s->arena, &k->sink, 1, &topo);
    for (uint32_t i = 0; i < topo.n; i++) bind_node(s, topo.p[i], bufs, vars);
    for (uint32_t i = 0; i < MAX_SLOTS; i++)
        if (bufs[i]) slots = i + 1;
    return slots;
}

static void compile(struct side *s) {
    uint32_t n = s->prog.kernel.n;
    struct linear *lin = arena_array(&s->arena, struct linear, n);
    const struct linear **each = arena_array(&s->arena, const struct linear *, n);
    s->kernel = arena_array(&s->arena, const struct ekernel *, n);
    s->bufs = arena_array(&s->arena, void *, n *MAX_SLOTS);
    s->vars = arena_array(&s->arena, int64_t, n * MAX_SLOTS);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slots =
            bind_kernel(s, &s->prog.kernel.p[i], s->bufs + i * MAX_SLOTS, s->vars + i * MAX_SLOTS);
        const struct kernel *k = &s->prog.kernel.p[i];
        int threads = s->task->job->one_thread ? 1 : pool_threads(pool_get());
        const char *opts = s->heuristic ? opts_heuristic(&s->ir, k, 0, threads) : NULL;
        lower(&s->ir, k, &(struct lower_opts){.opts = opts}, &lin[i]);
        lin[i].nbuf = RG_MAX(lin[i].nbuf, slots); /* a PARAMS does not say how many it stands for */
        each[i] = &lin[i];
    }
    if (engine_compile(s->engine, s->err, each, n, s->kernel))
        err_throw(s->err, s->err->code, "%s", s->err->msg);
    if (!(s->list = engine_list_new(s->engine, s->err))) err_throw(s->err, RG_ENOMEM, "no command list");
    for (uint32_t i = 0; i < n; i++) {
        if (engine_list_add(s->list, s->err, s->kernel[i], s->bufs + i * MAX_SLOTS, s->vars + i * MAX_SLOTS))
            err_throw(s->err, s->err->code, "%s", s->err->msg);
        s->scratch_n = RG_MAX(s->scratch_n, (size_t)s->kernel[i]->scratch);
    }
    s->scratch_n += 64;
    if (!(s->scratch = os_pages(s->scratch_n))) err_throw(s->err, RG_ENOMEM, "no memory for scratch");
}

static void open_guarded(void *arg) {
    struct side *s = arg;
    load(s);
    compile(s);
}

struct side *side_open(struct err *e, struct engine *engine, struct task *t, const char *dir,
                       bool heuristic) {
    struct side *s = mem_alloc(sizeof *s);
    if (!s) {
        err_set(e, RG_ENOMEM, "out of memory");
        return NULL;
    }
    *s = (struct side){.err = e, .engine = engine, .task = t, .dir = dir, .heuristic = heuristic};
    arena_init(&s->arena, e);
    if (err_guard(e, open_guarded, s)) {
        err_prefix(e, "%s: ", t->job->name);
        side_close(s);
        return NULL;
    }
    return s;
}

void side_close(struct side *s) {
    if (!s) return;
    if (s->list) engine_list_free(s->list);
    for (int i = 0; i < s->nown; i++) os_pages_free(s->own[i].p, s->own[i].bytes);
    if (s->scratch) os_pages_free(s->scratch, s->scratch_n);
    arena_free(&s->arena);
    mem_free(s);
}

int side_run(struct side *s, struct err *e) {
    if (!s->task->job->one_thread) return engine_list_run(s->list, e);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        const struct ekernel *k = s->kernel[i];
        k->fn(s->bufs + i * MAX_SLOTS, s->vars + i * MAX_SLOTS, 0, k->grid, s->scratch);
    }
    return 0;
}

int side_kernels(const struct side *s) { return (int)s->prog.kernel.n; }
