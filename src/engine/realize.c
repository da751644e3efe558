/* realize.c: a tensor program becomes values: plan, lower, compile, bind, run.
 *
 * engine_realize is the list of those steps; the first three are done once for programs with equal keys (key.c) and
 * their result, a struct exec_plan, is kept (plan_cache.c). Every later call binds: it writes the addresses of buffers, results
 * and temporaries and the values of VARs into the commands, and runs them.
 * A plan is made in a work arena that goes at the end of the call; only what later calls need is copied out of it, and
 * nothing is taken into the cache before it is whole. Everything inside throws to the error record of the caller's ir,
 * since planning makes nodes there; the guard of that record is here.
 * NULL: steps up to the text of the kernels. REF: none of this (realize_ref.c).
 * Tests: tests/unit/realize.c */
#include "engine/internal.h"
#include "event/event.h"
#include "render/render.h"

struct realize_call {
    struct engine *en;
    const struct realize *r;
    struct err *err; /* = r->ir->err */
    struct arena *work;
    struct plan_key key;
    struct exec_plan *made; /* not in the cache yet */
    struct realize_stats stats;
    bool run;
    struct schedule *searched; /* a new plan whose kernels are to be searched for while it runs; else NULL */
    struct tune_job *tries;    /* by program: what its search will try */
    const char **opts;         /* by kernel of the schedule */
};

static void must(struct realize_call *c, int status, const struct err *e) {
    if (status) err_throw(c->err, status, "%s", e->msg);
}

/* ---- plan ----------------------------------------------------------------------------------------------- */

static enum plan_mode plan_mode(struct realize_call *c) {
    static const char *const name[] = {
        [PLAN_COST] = "cost", [PLAN_STORE_ALL] = "store", [PLAN_FUSE_ALL] = "fuse"};
    const char *s = env_str(ENV_PLAN);
    for (size_t i = 0; i < RG_COUNT(name); i++)
        if (!s || !strcmp(s, name[i])) return (enum plan_mode)i;
    err_throw(c->err, RG_EINVAL, "RIDGE_PLAN=%.40s: expected cost, store or fuse", s);
}

static struct engine_planning planning(struct realize_call *c) {
    if (c->en->plans.planning_set) return c->en->plans.planning;
    return (struct engine_planning){plan_mode(c), (int)RG_MIN(RG_MAX(env_int(ENV_PLAN_RANK), 0), 1000),
                                    !env_int(ENV_MULTI)};
}

/* Two plans are one if the same kernels are called on the same memory in the same order. */
static uint64_t identity(const struct schedule *s) {
    uint64_t h = 1;
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_prog *p = &s->prog.p[s->call.p[i].prog];
        h = hash_bytes(p->text, strlen(p->text), h);
        for (uint32_t b = 0; b < p->nbuf; b++) {
            const struct sched_buf *x = &s->buf.p[s->call.p[i].buf[b]];
            int64_t from = s->call.p[i].slice ? s->call.p[i].slice[b].offset : 0;
            uint64_t at[] = {(uint64_t)x->kind, x->number, (uint64_t)(x->offset + from)};
            h = hash_bytes(at, sizeof at, h);
        }
    }
    return h;
}

/* What the plan cannot do without: every temporary and result once in, every temporary and input once out. Of an input
 * that is only picked from, no more than its kernel moves. */
static double least_bytes(struct arena *a, const struct schedule *s) {
    uint8_t *seen = arena_array(a, uint8_t, s->buf.n + 1);
    double sum = 0;
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_prog *p = &s->prog.p[s->call.p[i].prog];
        const uint8_t *use = prog_uses(a, p);
        for (uint32_t b = 0; b < p->nbuf; b++) {
            const struct sched_buf *x = &s->buf.p[s->call.p[i].buf[b]];
            uint8_t fresh = use[b] & (uint8_t)~seen[s->call.p[i].buf[b]];
            double bytes = (double)x->elements * dtype_info[x->dt].bytes;
            seen[s->call.p[i].buf[b]] |= use[b];
            sum += (fresh & USE_STORED ? bytes : 0) + (fresh & USE_LOADED ? RG_MIN(bytes, p->bytes) : 0);
        }
    }
    return sum;
}

static void count(struct arena *a, struct realize_stats *st, const struct schedule *s) {
    st->kernels = s->call.n;
    st->distinct = s->prog.n;
    st->scratch = s->temp_bytes;
    st->predicted = s->seconds;
    st->identity = identity(s);
    st->least = least_bytes(a, s);
    struct estimate *est = arena_array(a, struct estimate, s->prog.n + 1);
    for (uint32_t i = 0; i < s->prog.n; i++)
        if (s->prog.p[i].builtin)
            est[i].flops = s->prog.p[i].builtin->ops;
        else
            estimate_asked(s->prog.p[i].ir, s->prog.p[i].kernel.sink, &est[i]);
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_prog *p = &s->prog.p[s->call.p[i].prog];
        st->reads += p->reads;
        st->writes += p->writes;
        st->bytes += p->bytes;
        st->ops += est[s->call.p[i].prog].flops * p->share;
    }
}

/* Where a kernel's parameters have little room (OpenCL: 12 bytes a buffer, and numbers). */
static uint32_t most_buffers(const struct engine *en) {
    enum { BUFFER = 12, NUMBERS = 160 };
    return en->info.params ? (RG_MAX(en->info.params, 2u * NUMBERS) - NUMBERS) / BUFFER : 0;
}

/* RIDGE_PLAN=store ignores costs: it has no bound. */
static void check_bound(struct realize_call *c, const struct schedule *s, enum plan_mode mode) {
    if (mode != PLAN_COST || schedule_in_bound(s)) return;
    const char *fmt =
        "the plan moves %.3f MB, more than %d times the %.3f MB of a plan with a kernel per op: an "
        "error of the planner; please report it with the program";
    if (env_int(ENV_PLAN_BOUND))
        err_throw(c->err, RG_EINTERNAL, fmt, s->bytes / 1e6, PLAN_BYTES_BOUND, s->naive_bytes / 1e6);
    log_line(1, fmt, s->bytes / 1e6, PLAN_BYTES_BOUND, s->naive_bytes / 1e6);
}

/* Given a limit of temporaries: what it took to meet it, or by how much it is not met. */
static void tell_limit(const struct realize_call *c, const struct schedule *s) {
    int64_t limit = c->en->plans.temp_limit;
    if (!limit) return;
    log_line(1, "checkpoints: %u of %u are used; temporaries of %.2f MB, the limit is %.2f MB",
             s->checkpoints_used, s->checkpoints, (double)s->temp_bytes / 1e6, (double)limit / 1e6);
    if (s->temp_bytes > limit)
        warn_line(
            "the temporaries of this program take %lld bytes, %lld more than the limit of %lld, with all %u "
            "checkpoints in use; give it further ones (rg_nn_checkpoint), a smaller batch or more memory",
            (long long)s->temp_bytes, (long long)(s->temp_bytes - limit), (long long)limit, s->checkpoints);
}

static void plan(struct realize_call *c, struct schedule *s) {
    struct str log;
    str_init(&log, c->work);
    struct engine_planning how = planning(c);
    struct sched_opts o = {.model = &c->en->plans.planned,
                           .machine = &c->en->plans.model,
                           .mode = how.mode,
                           .rank = how.rank,
                           .no_multi = how.no_multi,
                           .no_split = !env_int(ENV_SPLIT),
                           .gpu = !engine_on_cpu(c->en),
                           .ordered = c->en->ops->text == DEV_CUDA && !env_int(ENV_ATOMICS),
                           .atomics = env_int(ENV_ATOMICS),
                           .capability = c->en->gpu.cc,
                           .spec = &c->en->gpu,
                           .temp_limit = c->en->plans.temp_limit,
                           .most_buffers = most_buffers(c->en),
                           .no_batch = !env_int(ENV_BATCH),
                           .log = log_on(3) ? &log : NULL};
    uint64_t t0 = os_now_ns();
    memset(s, 0, sizeof *s);
    schedule(c->work, c->r->ir, c->r->graph, &o, s);
    check_bound(c, s, how.mode);
    tell_limit(c, s);
    uint64_t t1 = os_now_ns();
    event_add(EVENT_PLAN, event_name("schedule"), t0, t1, c->key.topo.n, s->call.n);
    c->stats.plan_ns = t1 - t0;
    count(c->work, &c->stats, s);
    c->en->observer->plan(c->en, &c->key, &c->stats);
    c->en->observer->schedule(s, &log);
}

/* ---- lower and compile ------------------------------------------------------------------------------------ */

static const char *choose_opts(struct realize_call *c, struct sched_prog *p) {
    if (env_int(ENV_NOOPT)) return "";
    if (p->kernel.opts && *p->kernel.opts) return p->kernel.opts;
    const char *own = prog_heuristic(c->en, p);
    return c->en->tuner && env_int(ENV_TUNED) ? c->en->tuner->opts(c->en, p, own) : own;
}

static void record_pass(const char *pass, uint64_t t0, uint64_t t1, uint32_t before, uint32_t after) {
    event_add(EVENT_PASS, event_name(pass), t0, t1, before, after);
}

/* Of the heuristic's lists the first by which the threads of a block share their loops; the first of all if none does. */
static void keep_fast_form(struct realize_call *c, struct sched_prog *p, struct lower_opts *how,
                           struct linear *lin) {
    const char *first = how->opts, *last = first;
    if (engine_on_cpu(c->en) || !*first || !render_lone_loops(c->work, lin)) return;
    if (strcmp(first, prog_heuristic(c->en, p))) return; /* the user's, or what a search found */
    for (int i = 1; render_lone_loops(c->work, lin); i++) {
        how->opts = prog_heuristic_after(c->en, p, i);
        bool ends = !*how->opts || !strcmp(how->opts, last);
        if (ends) how->opts = first;
        prog_lower(p, p->ir, &p->kernel, how, lin);
        if (ends) return;
        last = how->opts;
    }
}

enum { LINEAR_MOST = 20000 }; /* entries that a compiler takes seconds for */

static const char *lower_one(struct realize_call *c, struct sched_prog *p, struct linear *lin) {
    struct str dump;
    struct pass_log log = {
        .dump = &dump, .which = log_on(6) ? "all" : env_str(ENV_DUMP), .observe = record_pass};
    str_init(&dump, c->work);
    const char *opts = choose_opts(c, p);
    struct lower_opts how = {.opts = opts, .log = &log};
    prog_target(c->en, &how);
    prog_lower(p, p->ir, &p->kernel, &how, lin);
    keep_fast_form(c, p, &how, lin);
    for (int i = 1; *how.opts && (!compile_fits(c->en, lin) || lin->n > LINEAR_MOST); i++) {
        bool gpu = !engine_on_cpu(c->en);
        how.opts =
            gpu ? "" : prog_heuristic_after(c->en, p, i); /* for a larger device, or unrolled too far */
        prog_lower(p, p->ir, &p->kernel, &how, lin);
    }
    opts = how.opts;
    if (engine_on_cpu(c->en)) predict_traffic(c->work, lin, &c->en->plans.model);
    for (int i = 0; i < 3; i++) lin->est.into[i] *= p->share;
    c->en->observer->lowered(p, lin, opts, &dump);
    return opts;
}

/* What a builtin is called with: nothing to lower or to compile. */
static void builtin_recipe(struct realize_call *c, const struct sched_prog *p, struct recipe_kernel *k) {
    enum { OPS_ISSUED = 20 }; /* instructions for one comparison: what the cut of the grid goes by */
    const struct sched_builtin *b = p->builtin;
    k->builtin = b->name;
    k->ntype = p->nbuf;
    k->type = arena_array(c->work, const char *, p->nbuf);
    k->type[0] = dtype_info[p->kernel.sink->dt].name;
    for (uint32_t i = 1; i < p->nbuf; i++) k->type[i] = dtype_info[p->kernel.sink->src[i - 1]->dt].name;
    k->rows = b->rows;
    memcpy(k->num, b->num, sizeof k->num);
    k->t = (struct etext){.name = p->kernel.name,
                          .text = "",
                          .est = {.flops = b->ops,
                                  .flops_issued = b->ops * OPS_ISSUED,
                                  .bytes = p->bytes,
                                  .bytes_issued = p->bytes,
                                  .lines = p->bytes,
                                  .asked[WORK_INT] = b->ops,
                                  .issued[WORK_INT] = b->ops * OPS_ISSUED}};
}

/* Lowers every kernel and renders its text. */
static void lower_all(struct realize_call *c, struct schedule *s, struct recipe *r) {
    struct linear *lin = arena_array(c->work, struct linear, s->prog.n + 1);
    struct err e = {0};
    uint64_t t0 = os_now_ns();
    c->opts = arena_array(c->work, const char *, s->prog.n + 1);
    r->kernel = arena_array(c->work, struct recipe_kernel, s->prog.n + 1);
    r->nkernel = s->prog.n;
    for (uint32_t i = 0; i < s->prog.n; i++) {
        struct sched_prog *p = &s->prog.p[i];
        r->kernel[i] =
            (struct recipe_kernel){.builtin = "", .opts = "", .graph = "", .predicted = p->seconds};
        if (p->builtin) {
            builtin_recipe(c, p, &r->kernel[i]);
            continue;
        }
        r->kernel[i].opts = c->opts[i] = lower_one(c, p, &lin[i]);
        r->kernel[i].graph = p->text;
    }
    uint64_t t1 = os_now_ns();
    for (uint32_t i = 0; i < s->prog.n; i++)
        if (!s->prog.p[i].builtin) must(c, engine_render(c->en, &e, &lin[i], &r->kernel[i].t), &e);
    event_add(EVENT_LOWER, event_name("lower"), t0, t1, s->prog.n, 0);
    c->stats.lower_ns = t1 - t0;
}

/* On a device that runs nothing a kernel is what is known of it: its name and its work. */
static const struct ekernel **without_code(struct realize_call *c, const struct recipe *r,
                                           const struct ekernel **k) {
    for (uint32_t i = 0; i < r->nkernel; i++) {
        const struct etext *t = &r->kernel[i].t;
        struct ekernel *x = arena_new(c->work, struct ekernel);
        *x = (struct ekernel){.name = t->name,
                              .source = t->text,
                              .grid = (uint32_t)RG_MIN(RG_MAX(t->grid, 1), UINT32_MAX),
                              .nbuf = t->nbuf,
                              .serial = t->serial,
                              .est = t->est};
        k[i] = x;
    }
    return k;
}

/* Compiles the texts that are new, all at once. */
static const struct ekernel **compile(struct realize_call *c, const struct recipe *r) {
    struct etext *text = arena_array(c->work, struct etext, r->nkernel + 1);
    const struct ekernel **k = arena_array(c->work, const struct ekernel *, r->nkernel + 1);
    const struct ekernel **made = arena_array(c->work, const struct ekernel *, r->nkernel + 1);
    struct err e = {0};
    uint64_t t0 = os_now_ns();
    uint32_t n = 0;
    if (c->en->ops->kind != DEV_RUNS) return without_code(c, r, k);
    for (uint32_t i = 0; i < r->nkernel; i++)
        if (!*r->kernel[i].builtin) text[n++] = r->kernel[i].t;
    must(c, engine_compile_text(c->en, &e, text, n, made), &e);
    n = 0;
    for (uint32_t i = 0; i < r->nkernel; i++) {
        const struct recipe_kernel *from = &r->kernel[i];
        struct dev_call call = {from->builtin, from->type, from->ntype, from->rows, from->num};
        if (*from->builtin)
            must(c, engine_builtin(c->en, &e, from->t.name, &call, &from->t.est, &k[i]), &e);
        else
            k[i] = made[n++];
    }
    uint64_t t1 = os_now_ns();
    event_add(EVENT_BUILD, event_name("compile"), t0, t1, n, 0);
    c->stats.compile_ns = t1 - t0;
    return k;
}

/* ---- the recipe of a schedule --------------------------------------------------------------------------------- */

static struct recipe_buf buf_of(const struct schedule *s, uint32_t buf) {
    const struct sched_buf *b = &s->buf.p[buf];
    int64_t offset = b->kind == BUF_TEMP ? b->offset : b->kind == BUF_TABLE ? (int64_t)b->number * 8 : 0;
    int64_t bytes = b->elements * dtype_info[b->dt].bytes;
    return (struct recipe_buf){b->kind, b->number, offset, (uint64_t)bytes, 0, {0, bytes}};
}

/* What a call does with its buffers; a function of the device writes the first and reads the others. */
static const uint8_t *call_uses(struct realize_call *c, const struct sched_prog *p) {
    if (!p->builtin) return prog_uses(c->work, p);
    uint8_t *use = arena_array(c->work, uint8_t, p->nbuf + 1);
    for (uint32_t i = 0; i < p->nbuf; i++) use[i] = i ? USE_LOADED : USE_LOADED | USE_STORED;
    return use;
}

/* Graph nodes as indices into the key: they name the same nodes of an equal graph in another ir. */
static void add_calls(struct realize_call *c, const struct schedule *s, struct recipe *r) {
    uint32_t n = c->r->graph->id + 1, *index = arena_array(c->work, uint32_t, n);
    for (uint32_t i = 0; i < c->key.topo.n; i++) index[c->key.topo.p[i]->id] = i + 1;
    r->call = arena_array(c->work, struct recipe_call, s->call.n + 1);
    r->ncall = s->call.n;
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_call *from = &s->call.p[i];
        const struct sched_prog *p = &s->prog.p[from->prog];
        struct recipe_buf *buf = arena_array(c->work, struct recipe_buf, p->nbuf + 1);
        uint32_t *node = arena_array(c->work, uint32_t, from->nodes + 1), nodes = 0;
        const uint8_t *use = call_uses(c, p);
        for (uint32_t b = 0; b < p->nbuf; b++) {
            buf[b] = buf_of(s, from->buf[b]);
            buf[b].use = use[b];
            if (from->slice) buf[b].slice = from->slice[b];
        }
        for (uint32_t j = 0; j < from->nodes; j++)
            if (from->node[j] < n && index[from->node[j]]) node[nodes++] = index[from->node[j]] - 1;
        r->call[i] = (struct recipe_call){
            .kernel = from->prog,
            .nbuf = p->nbuf,
            .nvar = p->nvar,
            .nodes = nodes,
            .buf = buf,
            .var = from->var,
            .node = node,
            .name = call_name(c->work, p),
            .writes = p->reads + p->writes ? (double)p->writes / (p->reads + p->writes) : 0};
    }
}

/* A result that is held elsewhere: the same value asked for twice, or a view of a whole buffer. */
static void add_copies(struct realize_call *c, const struct schedule *s, struct recipe *r) {
    const uop *g = c->r->graph;
    r->copy = arena_array(c->work, struct recipe_copy, g->nsrc + 1);
    for (uint32_t i = 0; i < g->nsrc; i++) {
        if (g->src[i]->op == OP_BUFFER || g->src[i]->op == OP_ASSIGN) continue;
        const struct sched_buf *b = &s->buf.p[s->result[i]];
        if (b->kind == BUF_RESULT && b->number == i) continue;
        r->copy[r->ncopy++] =
            (struct recipe_copy){buf_of(s, s->result[i]), i, (uint64_t)b->elements * dtype_info[b->dt].bytes};
    }
}

/* ---- the plan that is kept ---------------------------------------------------------------------------------- */

/* The memory that outer buffers are in, each piece once, for fits(). */
static void add_mem(struct exec_plan *x, const struct recipe_buf *b) {
    uint32_t i = 0;
    while (i < x->nmem && (x->mem[i].kind != b->kind || x->mem[i].number != b->number)) i++;
    if (i == x->nmem) x->mem[x->nmem++] = (struct bind_mem){.kind = b->kind, .number = b->number};
    x->mem[i].bytes = RG_MAX(x->mem[i].bytes, (size_t)b->bytes);
    x->mem[i].written |= b->use != USE_LOADED;
}

static bool moves(enum buf_kind p) { return p == BUF_GRAPH || p == BUF_RESULT; }

static void add_commands(struct realize_call *c, const struct recipe *r, const struct ekernel **k) {
    struct exec_plan *x = c->made;
    struct err e = {0};
    uint32_t nbuf = 0, nvar = 0;
    for (uint32_t i = 0; i < r->ncall; i++) nbuf += r->call[i].nbuf, nvar += r->call[i].nvar;
    x->outer = arena_array(&x->arena, struct bind, nbuf + 1);
    x->inner = arena_array(&x->arena, struct bind, nbuf + 1);
    x->var = arena_array(&x->arena, struct bind_var, nvar + 1);
    x->mem = arena_array(&x->arena, struct bind_mem, nbuf + 1);
    for (uint32_t i = 0; i < r->ncall; i++) {
        const struct recipe_call *call = &r->call[i];
        const struct ekernel *kernel = k[call->kernel];
        void **no_buf = arena_array(c->work, void *, RG_MAX(kernel->nbuf, call->nbuf) + 1);
        int64_t *no_var = arena_array(c->work, int64_t, RG_MAX(kernel->nvar, call->nvar) + 1);
        if (*r->kernel[call->kernel].builtin)
            memcpy(no_var, r->kernel[call->kernel].num, sizeof r->kernel->num);
        must(c, engine_list_add(x->list, &e, kernel, no_buf, no_var), &e);
        void **buf = engine_list_bufs(x->list, i);
        uint8_t *use = arena_array(c->work, uint8_t, RG_MAX(kernel->nbuf, call->nbuf) + 1);
        size_t *size = arena_array(c->work, size_t, RG_MAX(kernel->nbuf, call->nbuf) + 1);
        for (uint32_t b = 0; b < call->nbuf; b++) {
            const struct recipe_buf *from = &call->buf[b];
            struct bind bind = {&buf[b], from->kind, from->number, from->offset + from->slice.offset};
            *(moves(bind.kind) ? &x->outer[x->nouter++] : &x->inner[x->ninner++]) = bind;
            if (moves(bind.kind)) add_mem(x, from);
            use[b] = (uint8_t)from->use, size[b] = (size_t)from->slice.bytes;
        }
        must(c, engine_list_uses(x->list, &e, i, use, size), &e);
        for (uint32_t v = 0; v < call->nvar; v++)
            x->var[x->nvar++] = (struct bind_var){engine_list_vars(x->list, i) + v, call->var[v]};
    }
}

static const char *site_of(struct realize_call *c, const struct kernel_call *d) {
    struct str s;
    str_init(&s, c->work);
    uint32_t *node = arena_array(c->work, uint32_t, d->nodes + 1);
    for (uint32_t i = 0; i < d->nodes; i++) node[i] = c->key.topo.p[d->node[i]]->id;
    if (c->r->site) c->r->site(c->r->cx, &s, node, d->nodes);
    return s.n ? s.p : "";
}

/* What a profile says about each call of a kernel. A plan that another line of the user's program made is named anew;
 * in a replay there is no graph to ask, and the names stay: made once for a plan, unless a profile is recorded. */
static void name_calls(struct realize_call *c, struct exec_plan *x) {
    bool all = event_recording(), other = all && c->stats.cached && c->key.topo.n;
    if (x->named > all && !other) return;
    struct event_span own = event_begin(EVENT_PROFILER, 0);
    for (uint32_t i = 0; i < x->ncall; i++) {
        struct kernel_call *k = &x->call[i];
        const char *site = other ? site_of(c, k) : k->site;
        uint64_t hash = hash_bytes(site, strlen(site), 1);
        if (x->named > all && hash == k->site_hash) continue;
        k->info = call_event(c->work, k, site);
        if (x->list) list_info(x->list, i, k->info);
        k->site_hash = hash;
    }
    x->named = (uint8_t)(1 + all);
    event_end(own, 0, 0);
}

/* Of a device that runs nothing: no list holds it. */
static const struct ekernel *keep_kernel(struct arena *a, const struct ekernel *k) {
    struct ekernel *x = arena_new(a, struct ekernel);
    *x = *k;
    x->name = arena_printf(a, "%s", k->name);
    x->source = "";
    return x;
}

static void add_provenance(struct realize_call *c, const struct recipe *r, const struct ekernel **k) {
    struct exec_plan *x = c->made;
    x->ncall = r->ncall;
    x->call = arena_array(&x->arena, struct kernel_call, r->ncall + 1);
    const char **opts = arena_array(c->work, const char *, r->nkernel + 1),
               **graph = arena_array(c->work, const char *, r->nkernel + 1);
    for (uint32_t i = 0; i < r->nkernel; i++) {
        opts[i] = arena_printf(&x->arena, "%s", r->kernel[i].opts);
        if (!*r->kernel[i].builtin) graph[i] = arena_printf(&x->arena, "%s", r->kernel[i].graph);
    }
    for (uint32_t i = 0; i < r->ncall; i++) {
        const struct recipe_call *from = &r->call[i];
        uint32_t *node = arena_array(&x->arena, uint32_t, from->nodes + 1);
        struct kernel_call *d = &x->call[i];
        for (uint32_t j = 0; j < from->nodes; j++)
            if (from->node[j] < c->key.topo.n) node[d->nodes++] = from->node[j];
        d->k = x->list ? k[from->kernel] : keep_kernel(&x->arena, k[from->kernel]);
        d->node = node;
        d->opts = opts[from->kernel], d->text = graph[from->kernel];
        d->predicted = r->kernel[from->kernel].predicted;
        d->name = arena_printf(&x->arena, "%s", from->name);
        roof_find(c->en, from->writes, d);
        if (c->en->ops->kind == DEV_PLANS) d->behind = overlap_behind(r, i);
        d->site = arena_printf(&x->arena, "%s", site_of(c, d));
    }
}

static void upload_tables(struct realize_call *c, const struct recipe *r) {
    struct exec_plan *x = c->made;
    struct err e = {0};
    if (!r->table_n) return;
    size_t bytes = (size_t)r->table_n * sizeof *r->table;
    x->table = engine_alloc_for(c->en, &e, bytes, owner_name(EVENT_MEM_OTHER, bytes, "task tables"));
    if (!x->table) must(c, e.code, &e);
    x->table_bytes = bytes;
    must(c, c->en->ops->copy(c->en->dev, &e, COPY_IN, x->table, r->table, bytes), &e);
}

/* A number that changes from call to call costs a compile each time: says where it is used. */
static void warn_changing(struct realize_call *c) {
    const uop *number = plans_changing(c->en, &c->key, c->made);
    struct str s;
    if (!number) return;
    str_init(&s, c->work);
    for (uint32_t i = 0; i < c->key.topo.n && !s.n; i++)
        for (uint32_t k = 0; k < c->key.topo.p[i]->nsrc && !s.n; k++)
            if (c->key.topo.p[i]->src[k] == number && c->r->site)
                c->r->site(c->r->cx, &s, &c->key.topo.p[i]->id, 1);
    plans_warn_changing(c->en, number, s.n ? s.p : "");
}

/* Schedules and lowers; c->searched if its kernels are to be searched for. */
static const struct ekernel **new_recipe(struct realize_call *c, struct recipe *r) {
    struct schedule *s = arena_new(c->work, struct schedule);
    plan(c, s);
    lower_all(c, s, r);
    const struct ekernel **k = compile(c, r);
    for (uint32_t i = 0; i < s->prog.n; i++)
        if (s->prog.p[i].builtin) c->en->observer->builtin(&s->prog.p[i], k[i]);
    r->temp_bytes = s->temp_bytes;
    r->table = s->table, r->table_n = s->table_n;
    r->stats = c->stats;
    add_copies(c, s, r);
    add_calls(c, s, r);
    if (c->en->ops->kind == DEV_RUNS) owners_recipe(c->work, s, &c->key, r);
    if (engine_beam(c->en) > 0) c->searched = s;
    return k;
}

struct known {
    struct realize_call *c;
    const struct recipe *r;
    const struct ekernel **k;
};

static void known_guarded(void *arg) {
    struct known *x = arg;
    x->k = compile(x->c, x->r);
}

/* NULL: what was kept is of no use, and is made anew; a file can hold anything, and must not be why a program fails. */
static const struct ekernel **known_recipe(struct realize_call *c, struct recipe *r, uint64_t t0) {
    struct known x = {c, r, NULL};
    c->stats = r->stats;
    c->stats.plan_ns = os_now_ns() - t0;
    c->stats.lower_ns = c->stats.compile_ns = 0;
    if (!err_guard(c->err, known_guarded, &x)) return x.k;
    warn_line("the plan %s of the disk cache is made anew: %s", r->file, c->err->msg);
    err_clear(c->err);
    c->en->cache.rejected++;
    c->stats = (struct realize_stats){0};
    *r = (struct recipe){.file = r->file};
    return NULL;
}

static struct exec_plan *make_plan(struct realize_call *c) {
    struct recipe r;
    struct err e = {0};
    struct event_span span = event_begin(EVENT_PLAN, event_name("looking for the plan on disk"));
    bool known = recipe_load(c->en, c->work, &c->key, &r);
    event_end(span, c->key.topo.n, known ? r.ncall : 0);
    const struct ekernel **k = known ? known_recipe(c, &r, span.t0) : NULL;
    if (!k) k = new_recipe(c, &r), known = false;
    struct exec_plan *x = c->made = plan_new(c->en, &e);
    if (!x) must(c, e.code, &e);
    x->arena.err = c->err;
    x->stats = c->stats;
    x->temp_bytes = (size_t)r.temp_bytes;
    x->key = c->key;
    x->key.topo = (uop_vec){0};
    x->key.p = arena_raw(&x->arena, c->key.n * sizeof *c->key.p);
    memcpy(x->key.p, c->key.p, c->key.n * sizeof *c->key.p);
    x->copy = arena_array(&x->arena, struct bind_copy, r.ncopy + 1);
    for (; x->ncopy < r.ncopy; x->ncopy++) {
        const struct recipe_copy *from = &r.copy[x->ncopy];
        x->copy[x->ncopy] = (struct bind_copy){
            {NULL, from->from.kind, from->from.number, from->from.offset}, from->result, from->bytes};
    }
    if (x->list) add_commands(c, &r, k);
    add_provenance(c, &r, k);
    if (x->list) {
        owners_find(c->work, x, c->r, &c->key, &r);
        upload_tables(c, &r);
        if (!known) recipe_save(c->en, c->work, &r);
    }
    x->arena.err = &c->en->err; /* the caller's record may go */
    warn_changing(c);
    plans_keep(c->en, x);
    c->made = NULL;
    return x;
}

/* ---- bind and run ------------------------------------------------------------------------------------------- */

static void *address(const struct realize_call *c, const struct exec_plan *x, const struct bind *b) {
    switch (b->kind) {
    case BUF_GRAPH: return (char *)c->r->buf[b->number] + b->offset;
    case BUF_RESULT: return (char *)c->r->result[b->number] + b->offset;
    case BUF_TEMP: return c->en->plans.temp + b->offset;
    case BUF_TABLE: return x->table + b->offset;
    }
    return NULL;
}

static bool overlap(const struct bind_mem *a, const struct bind_mem *b) {
    return memory_meets(a->at, a->bytes, b->at, b->bytes);
}

/* Do today's addresses leave the order of the commands as it was when they were recorded? They do unless memory that
 * moved is now shared with other memory, and one of the two is written. */
static bool fits(struct realize_call *c, struct exec_plan *x) {
    bool ok = true;
    for (uint32_t i = 0; i < x->nmem; i++) {
        struct bind_mem *m = &x->mem[i];
        void *at = m->kind == BUF_GRAPH ? c->r->buf[m->number] : c->r->result[m->number];
        if (at == m->at) continue;
        m->at = at;
        for (uint32_t k = 0; k < x->nmem && ok; k++)
            ok = k == i || !(m->written || x->mem[k].written) || !overlap(m, &x->mem[k]);
    }
    return ok;
}

static void bind(struct realize_call *c, struct exec_plan *x) {
    struct err e = {0};
    must(c, plans_temp(c->en, &e, x->temp_bytes), &e);
    if (!x->bound || x->temp != c->en->plans.temp)
        for (uint32_t i = 0; i < x->ninner; i++) *x->inner[i].at = address(c, x, &x->inner[i]);
    x->bound = true;
    x->temp = c->en->plans.temp;
    if (!fits(c, x)) list_forget(x->list);
    for (uint32_t i = 0; i < x->nouter; i++) *x->outer[i].at = address(c, x, &x->outer[i]);
    for (uint32_t i = 0; i < x->nvar; i++) *x->var[i].at = c->r->var[x->var[i].slot];
}

/* What each kernel's search will try is known, and compiled, before the first of them begins. */
static void prepare_search(struct realize_call *c) {
    const struct schedule *s = c->searched;
    struct tune_job *job = arena_array(c->work, struct tune_job, s->prog.n + 1);
    uint32_t *at = arena_array(c->work, uint32_t, s->prog.n + 1), n = 0;
    for (uint32_t i = 0; i < s->prog.n; i++)
        if (!s->prog.p[i].builtin)
            at[n] = i, job[n++] = (struct tune_job){.p = &s->prog.p[i], .opts = c->opts[i]};
    c->en->tuner->prepare(c->en, c->work, job, n);
    c->tries = arena_array(c->work, struct tune_job, s->prog.n + 1);
    for (uint32_t i = 0; i < n; i++) c->tries[at[i]] = job[i];
}

/* Looks for a better kernel for command i and puts it into every command that has the same one. */
static void search_one(struct realize_call *c, struct exec_plan *x, uint32_t i) {
    const struct schedule *s = c->searched;
    const struct sched_call *call = &s->call.p[i];
    struct sched_prog *p = &s->prog.p[call->prog];
    size_t *bytes = arena_array(c->work, size_t, p->nbuf + 1);
    enum dtype *dt = arena_array(c->work, enum dtype, p->nbuf + 1);
    uint32_t *same = arena_array(c->work, uint32_t, p->nbuf + 1);
    const struct ekernel *best;
    const char *opts = NULL;
    struct err e = {0};
    for (uint32_t b = 0; b < p->nbuf; b++) {
        const struct sched_buf *from = &s->buf.p[call->buf[b]];
        bytes[b] =
            call->slice ? (size_t)call->slice[b].bytes : (size_t)from->elements * dtype_info[from->dt].bytes;
        dt[b] = from->dt;
        while (call->buf[same[b]] != call->buf[b]) same[b]++;
    }
    struct tune_job job = {.p = p,
                           .opts = c->opts[call->prog],
                           .k = x->call[i].k,
                           .buf = engine_list_bufs(x->list, i),
                           .var = engine_list_vars(x->list, i),
                           .bytes = bytes,
                           .dt = dt,
                           .use = prog_uses(c->work, p),
                           .same = same,
                           .list = c->tries[call->prog].list,
                           .nlist = c->tries[call->prog].nlist,
                           .plan = x->list,
                           .at = i};
    if (c->en->tuner->kernel(c->en, &e, &job, &best, &opts))
        log_line(1, "search for %s: %s", p->kernel.name, e.msg);
    for (uint32_t k = i; k < s->call.n && best != job.k; k++)
        if (s->call.p[k].prog == call->prog) {
            must(c, engine_list_replace(x->list, &e, k, best), &e);
            struct kernel_call *d = &x->call[k];
            d->k = best;
            if (opts) d->opts = opts;
            d->said[0] = d->said[1] = 0;
            if (event_recording()) list_info(x->list, k, call_event(c->work, d, d->site));
        }
}

static void search_before(struct realize_call *c, struct exec_plan *x, uint32_t i) {
    const struct sched_call *call = c->searched->call.p;
    bool seen = c->searched->prog.p[call[i].prog].builtin != NULL;
    for (uint32_t k = 0; k < i && !seen; k++) seen = call[k].prog == call[i].prog;
    if (!seen) search_one(c, x, i);
}

/* A plan that another line of the user's program made runs for this one. */
static void tell_sites(struct realize_call *c, struct exec_plan *x) {
    if (!c->key.topo.n || x->sites == c->r->sites) return;
    if (x->sites) costs_take(c->en, x);
    for (uint32_t i = 0; x->sites && i < x->ncall; i++)
        costs_site(c->en, &x->call[i], site_of(c, &x->call[i]));
    x->sites = c->r->sites;
}

/* At DEBUG=2 each operation is waited for and said; else all are handed over at once. Two runs of a plan are samples for
 * rg_kernels on a device that works on its own: the first, which has just been compiled, and one with warm
 * caches, which waits until no profile is recorded. */
#define RUNS_WARM 8
static void run(struct realize_call *c, struct exec_plan *x) {
    struct err e = {0};
    tell_sites(c, x);
    name_calls(c, x);
    if (event_recording()) machine_tell(c->en), memory_tell(c->en), owners_tell(x);
    uint64_t t0 = os_now_ns();
    if (c->searched) prepare_search(c);
    bool due = x->runs == 0 || (x->runs == RUNS_WARM && !event_recording());
    if (due) x->list->sample = true;
    x->runs += due || x->runs < RUNS_WARM;
    uint32_t n = engine_list_count(x->list), step = log_on(2) || c->searched ? 1 : RG_MAX(n, 1);
    for (uint32_t i = 0; i < n; i += step) {
        if (c->searched) search_before(c, x, i);
        must(c, engine_list_run_part(x->list, &e, i, i + step), &e);
        for (uint32_t k = i; k < RG_MIN(i + step, n); k++) {
            struct kernel_call *d = &x->call[k];
            uint64_t ns = engine_list_ns(x->list, k);
            d->calls++, d->ns += ns;
            c->stats.kernel_ns += ns, c->stats.roof += RG_MIN(d->roof, (double)ns * 1e-9); /* as a profile */
            c->en->observer->kernel(c->en, d, ns, !log_on(2) ? "" : c->key.topo.n ? site_of(c, d) : d->site);
        }
    }
    if (c->searched) c->en->tuner->end(c->en);
    for (uint32_t i = 0; i < x->ncopy; i++) {
        void *from = address(c, x, &x->copy[i].from), *to = c->r->result[x->copy[i].result];
        must(c, engine_copy(c->en, &e, COPY_WITHIN, to, from, x->copy[i].bytes), &e);
    }
    c->stats.run_ns = os_now_ns() - t0;
}

/* A profile of a device that runs nothing holds the kernels that would have run, each for no time. */
static void run_nothing(struct realize_call *c, struct exec_plan *x) {
    if (!event_recording()) return;
    name_calls(c, x);
    for (uint32_t i = 0; i < x->ncall; i++) {
        const struct kernel_call *d = &x->call[i];
        overlap_tell(d->behind);
        uint64_t now = os_now_ns();
        event_add_info(EVENT_KERNEL, event_name(d->k->name), d->info, now, now, (int64_t)d->k->est.flops,
                       (int64_t)d->k->est.bytes);
    }
    overlap_tell(1); /* a run ends when its collectives have */
}

/* ---- the entries ---------------------------------------------------------------------------------------------- */

static void realize(void *arg) {
    struct realize_call *c = arg;
    struct err e = {0};
    RG_CHECK(c->err, c->r->graph->op == OP_GRAPH);
    must(c, plans_model(c->en, &e), &e);
    uint64_t t0 = os_now_ns();
    plan_key(c->work, c->en, c->r->ir, c->r->graph, &c->key);
    if (c->en->ops->kind == DEV_REF) {
        c->en->plans.latest = NULL;
        if (c->run) c->stats.run_ns = realize_ref(c->en, c->err, c->work, c->r, &c->key.topo);
        return;
    }
    struct exec_plan *x = plans_find(c->en, &c->key);
    if (x) {
        c->stats = x->stats;
        c->stats.plan_ns = os_now_ns() - t0;
        c->stats.lower_ns = c->stats.compile_ns = 0;
        c->stats.cached = true;
        c->en->observer->plan(c->en, &c->key, &c->stats);
    } else if (c->run) {
        x = make_plan(c);
    } else {
        struct schedule s;
        plan(c, &s);
    }
    if (c->run) c->en->plans.latest = x;
    if (!c->run) return;
    if (!x->list) {
        run_nothing(c, x);
        return;
    }
    bind(c, x);
    run(c, x);
}

static void add_stats(struct realize_stats *t, const struct realize_stats *s) {
    t->kernels += s->kernels;
    t->distinct += s->cached ? 0 : s->distinct;
    t->reads += s->reads;
    t->writes += s->writes;
    t->bytes += s->bytes;
    t->ops += s->ops;
    t->least += s->least;
    t->scratch = RG_MAX(t->scratch, s->scratch);
    t->predicted += s->predicted;
    t->identity = s->identity;
    t->plan_ns += s->plan_ns;
    t->lower_ns += s->lower_ns;
    t->compile_ns += s->compile_ns;
    t->run_ns += s->run_ns;
}

static void end_run(const struct engine *en, struct event_span s, const struct exec_plan *x,
                    const struct realize_stats *r, int how) {
    const struct mem_block *b = x && x->nplanned ? memory_block(en, en->plans.temp) : NULL;
    const struct memory *m = &en->memory;
    uint64_t now = os_now_ns();
    event_add_info(EVENT_RUN, s.name, x ? x->name : 0, s.t0, now, r->kernels,
                   how + 256 * (b ? (int64_t)b->number : 0));
    live_run(en->live, &(struct live_run){x ? x->name : 0, how, s.t0, now, r->kernels, r->kernel_ns,
                                          (uint64_t)(r->roof * 1e9), m->in_use,
                                          m->held + m->kept + m->small.kept, m->peak});
}

static int start(struct engine *en, struct err *e, const struct realize *r, struct realize_stats *stats,
                 bool run_it) {
    struct realize_call c = {.en = en, .r = r, .err = r->ir->err, .work = &en->plans.work, .run = run_it};
    c.work->err = c.err;
    struct arena_mark mark = arena_mark(c.work);
    struct event_span span = event_begin(EVENT_RUN, en->event_name);
    int code = err_guard(c.err, realize, &c);
    if (run_it) end_run(en, span, en->plans.latest, &c.stats, c.stats.cached);
    if (code && e != c.err) err_set(e, code, "%s", c.err->msg);
    plan_free(en, c.made);
    arena_release(c.work, mark);
    c.work->err = &en->err;
    if (!code && run_it) add_stats(&en->plans.totals, &c.stats);
    if (stats) *stats = c.stats;
    return code;
}

struct again {
    struct realize_call c;
    struct exec_plan *x;
};

static void run_again(void *arg) {
    struct again *a = arg;
    a->c.stats = a->x->stats;
    a->c.stats.plan_ns = a->c.stats.lower_ns = a->c.stats.compile_ns = 0;
    a->c.stats.kernel_ns = 0, a->c.stats.roof = 0;
    a->c.stats.cached = true;
    if (!a->x->list) {
        run_nothing(&a->c, a->x);
        return;
    }
    bind(&a->c, a->x);
    run(&a->c, a->x);
}

int plan_run(struct engine *en, struct err *e, struct exec_plan *x, const struct realize *r,
             struct realize_stats *stats) {
    struct again a = {.c = {.en = en, .r = r, .err = e, .work = &en->plans.work, .run = true}, .x = x};
    struct event_span span = event_begin(EVENT_RUN, en->event_name);
    int code = err_guard(e, run_again, &a);
    end_run(en, span, x, &a.c.stats, 2);
    if (!code) add_stats(&en->plans.totals, &a.c.stats);
    if (stats) *stats = a.c.stats;
    return code;
}

int engine_realize(struct engine *en, struct err *e, const struct realize *r, struct realize_stats *stats) {
    return start(en, e, r, stats, true);
}

int engine_plan(struct engine *en, struct err *e, const struct realize *r, struct realize_stats *stats) {
    return start(en, e, r, stats, false);
}

size_t engine_temporaries(const struct engine *en) { return en->plans.temp_bytes; }

struct realize_stats engine_totals(const struct engine *en) {
    return en->plans.totals;
}
