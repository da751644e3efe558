/* cmd_opt_plan.c: `ridge opt` on tensor programs: a (GRAPH ..) becomes the kernels that the planner makes of it.
 *
 * Every call of the schedule becomes a kernel of the session's program, in the order in which they run. Its buffers get
 * the names of what they are (bufN: BUFFER N of the graph, outN: result N, tempN: memory in between), so that
 * kernels that pass a value on share a name, and the rest of the command, which knows kernels only, can print, run,
 * check and time the program as a whole. A kernel over many tensors needs its table of tasks and the sizes of its
 * tensors: they become `data` lines. Its tensors are memory of their own here, because a PARAMS names all of its buffers.
 * Tests: tests/cli/plan.sh */
#include "cmd_opt.h"
#include "schedule/schedule.h"

/* ---- one call as a kernel ------------------------------------------------------------------------------ */

struct writer {
    struct session *s;
    const struct schedule *sched;
    const struct sched_call *call;
    const struct sched_prog *prog;
    uint32_t number; /* of the call in the file */
};

static const char *buffer_name(struct writer *w, uint32_t buf) {
    static const char *const word[] = {
        [BUF_GRAPH] = "buf", [BUF_RESULT] = "out", [BUF_TEMP] = "temp", [BUF_TABLE] = "tasks"};
    const struct sched_buf *b = &w->sched->buf.p[buf];
    bool numbered = b->kind == BUF_GRAPH || b->kind == BUF_RESULT;
    return arena_printf(&w->s->arena, "%s%u", word[b->kind], numbered ? b->number : buf);
}

static void add_data(struct writer *w, const char *name, const char *fill, double *num, uint32_t n) {
    vec_push(&w->s->arena, &w->s->prog.data,
             ((struct data_decl){.name = name, .fill = fill, .num = num, .n = n}));
}

/* The buffers of a PARAMS: from its slot to the next one that the kernel names. */
static void add_sizes(struct writer *w, const uop_vec *topo, uint32_t slot, const char *name) {
    uint32_t end = w->prog->nbuf;
    for (uint32_t i = 0; i < topo->n; i++) {
        const uop *n = topo->p[i];
        if ((n->op == OP_PARAM || n->op == OP_PARAMS) && n->arg.param.slot > slot)
            end = RG_MIN(end, n->arg.param.slot);
    }
    double *num = arena_array(&w->s->arena, double, end - slot + 1);
    for (uint32_t k = slot; k < end; k++) num[k - slot] = (double)w->sched->buf.p[w->call->buf[k]].elements;
    add_data(w, name, "params", num, end - slot);
}

static void add_table(struct writer *w, uint32_t buf, const char *name) {
    const struct sched_buf *b = &w->sched->buf.p[buf];
    double *num = arena_array(&w->s->arena, double, (size_t)b->elements + 1);
    for (int64_t i = 0; i < b->elements; i++) num[i] = (double)w->sched->table[b->number + i];
    add_data(w, name, "values", num, (uint32_t)b->elements);
}

static const char *node_name(struct writer *w, const uop_vec *topo, const uop *n) {
    uint32_t slot = n->arg.param.slot;
    if (n->op == OP_VAR) return w->prog->var_name[slot];
    if (n->op == OP_PARAMS) {
        const char *name = arena_printf(&w->s->arena, "many%u_%u", w->number, slot);
        add_sizes(w, topo, slot, name);
        return name;
    }
    const char *name = buffer_name(w, w->call->buf[slot]);
    if (w->sched->buf.p[w->call->buf[slot]].kind == BUF_TABLE) add_table(w, w->call->buf[slot], name);
    return name;
}

/* The kernel in the session's ir, with names of the program instead of names of slots. */
static const uop *write_kernel(struct writer *w) {
    struct ir *ir = &w->s->ir;
    const uop *sink = ir_import(ir, w->prog->ir, w->prog->kernel.sink);
    uop_vec topo = {0};
    uop_topo(&w->s->arena, &sink, 1, &topo);
    const uop **now = arena_array(&w->s->arena, const uop *, (size_t)sink->id + 1);
    for (uint32_t i = 0; i < topo.n; i++) {
        const uop *n = topo.p[i];
        const uop **src = arena_array(&w->s->arena, const uop *, n->nsrc + 1);
        for (uint32_t k = 0; k < n->nsrc; k++) src[k] = now[n->src[k]->id];
        if (n->op == OP_PARAM || n->op == OP_PARAMS || n->op == OP_VAR) {
            const char *name = node_name(w, &topo, n);
            union arg arg = {.param = {.slot = n->arg.param.slot, .name = ir_sym(ir, name, strlen(name))}};
            now[n->id] = uop_new(ir, (enum op)n->op, (enum dtype)n->dt, n->lanes, src, n->nsrc, arg);
        } else {
            now[n->id] = n->nsrc ? uop_with(ir, n, src) : n;
        }
    }
    return now[sink->id];
}

/* Two calls of one kernel are two kernels here, because they have other buffers; names are C identifiers and unique. */
static const char *kernel_name(struct session *s, const char *name) {
    uint32_t same = 0;
    size_t n = strlen(name);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        const char *other = s->prog.kernel.p[i].name;
        same += !strncmp(other, name, n) && (!other[n] || !strncmp(other + n, "_call", 5));
    }
    return same ? arena_printf(&s->arena, "%s_call%u", name, same + 1) : name;
}

/* ---- a whole program ------------------------------------------------------------------------------------- */

static void add_calls(struct session *s, const struct kernel *from, const struct schedule *sched) {
    for (uint32_t i = 0; i < sched->call.n; i++) {
        const struct sched_prog *p = &sched->prog.p[sched->call.p[i].prog];
        if (p->builtin)
            err_throw(
                s->err, RG_EUNSUPPORTED,
                "%s is a function of the device, not a kernel: `ridge opt` cannot take programs with CALL",
                p->kernel.name);
        struct writer w = {s, sched, &sched->call.p[i], p, s->prog.kernel.n};
        struct kernel k = {kernel_name(s, p->kernel.name), p->kernel.opts, write_kernel(&w), from->line};
        vec_push(&s->arena, &s->prog.kernel, k);
        const char *about =
            arena_printf(&s->arena, "; %s: reads %u, writes %u, %.0f bytes, predicted %.2f us", k.name,
                         p->reads, p->writes, p->bytes, p->seconds * 1e6);
        vec_push(&s->arena, &s->about, about);
    }
}

/* The planner's log as comments, so that all that is printed is still a .uop file. */
static void print_log(const char *log) {
    for (const char *end; *log; log = end + !!*end) {
        end = log + strcspn(log, "\n");
        printf("; %.*s\n", (int)(end - log), log);
    }
}

static enum plan_mode plan_mode(struct err *e) {
    static const char *const name[] = {
        [PLAN_COST] = "cost", [PLAN_STORE_ALL] = "store", [PLAN_FUSE_ALL] = "fuse"};
    const char *s = env_str(ENV_PLAN);
    for (size_t i = 0; i < RG_COUNT(name); i++)
        if (!s || !strcmp(s, name[i])) return (enum plan_mode)i;
    err_throw(e, RG_EINVAL, "RIDGE_PLAN=%.40s: expected cost, store or fuse", s);
}

static void plan_graph(struct session *s, const struct kernel *k, const struct model *m) {
    struct str log;
    str_init(&log, &s->arena);
    bool dump = s->dump && (!strcmp(s->dump, "plan") || !strcmp(s->dump, "all"));
    struct sched_opts o = {.model = m,
                           .mode = plan_mode(s->err),
                           .rank = (int)RG_MAX(env_int(ENV_PLAN_RANK), 0),
                           .no_multi = !env_int(ENV_MULTI),
                           .no_split = !env_int(ENV_SPLIT),
                           .no_batch = !env_int(ENV_BATCH),
                           .log = dump || log_on(3) ? &log : NULL};
    struct schedule *sched = arena_new(&s->arena, struct schedule);
    schedule(&s->arena, &s->ir, k->sink, &o, sched);
    if (dump) print_log(log.n ? log.p : "");
    if (!dump && log.n) log_line(3, "%s", log.p);
    add_calls(s, k, sched);
}

bool session_plan(struct session *s) {
    struct program was = s->prog;
    struct model m;
    uint32_t graphs = 0;
    for (uint32_t i = 0; i < was.kernel.n; i++) graphs += was.kernel.p[i].sink->op == OP_GRAPH;
    if (!graphs) return false;
    must(s->err, model_open_for_plans(s->err, &s->arena, &m));
    memset(&s->prog.kernel, 0, sizeof s->prog.kernel);
    for (uint32_t i = 0; i < was.kernel.n; i++) {
        const struct kernel *k = &was.kernel.p[i];
        if (k->sink->op != OP_GRAPH)
            err_throw(s->err, RG_EINVAL,
                      "%s:%d: %s is a kernel, and the file also holds tensor programs (GRAPH ..); put them "
                      "into two files",
                      s->file, k->line, k->name);
        plan_graph(s, k, &m);
    }
    if (!s->prog.kernel.n)
        err_throw(s->err, RG_EINVAL, "%s: nothing is computed: each result is a buffer already", s->file);
    return true;
}

/* The plan as a .uop file: what was asked of each kernel as a comment, the kernel, and the data that batches need. */
void session_print_plan(struct session *s) {
    struct str t;
    str_init(&t, &s->arena);
    for (uint32_t i = 0; i < s->prog.kernel.n; i++) {
        struct kernel k = s->prog.kernel.p[i];
        k.opts = s->work[i].opts;
        str_printf(&t, "%s\n", s->about.p[i]);
        ir_print_kernel(&t, &s->ir, &k);
    }
    for (uint32_t i = 0; i < s->prog.data.n; i++) {
        const struct data_decl *d = &s->prog.data.p[i];
        str_printf(&t, "data %s = %s", d->name, d->fill);
        for (uint32_t k = 0; k < d->n; k++) str_printf(&t, " %.17g", d->num[k]);
        str_addc(&t, '\n');
    }
    fputs(t.p, stdout);
}
