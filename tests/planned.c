#include "planned.h"

#include "tune/tune.h"
#include "test.h"

const struct model *planned_model(void) {
    static struct model m;
    struct err e = {0};
    static const char text[] =
        "ridge-machine 1\nname = test\ncores = 4\nclock = 2.6\nvec.bytes = 16\nfma.units = 4\n"
        "flops.f64 = 16\nflops.f32 = 32\nflops.f16 = 64\nflops.bf16 = 32\nops.int = 16\nmatrix.bf16 = 0\n"
        "matrix.i8 = 0\nl1.size = 65536\nl2.size = 1048576\nl3.size = 33554432\nl1.rate = 160\nl2.rate = 80\n"
        "l3.rate = 30\ndram.core = 25\ndram.read = 55\ndram.copy = 94\nlaunch = 50\nfork = 400\nwake = "
        "5000\n";
    if (!m.name[0] && model_parse(&e, &m, "test model", text, sizeof text - 1))
        fprintf(stderr, "%s\n", e.msg);
    return &m;
}

const struct model *planned_h200(void) {
    static struct model m;
    model_guess_gpu(&m, &(struct model_gpu){.name = "NVIDIA H200", .memory_rate = 4917});
    return &m;
}

/* The list with another number of blocks that stay. */
static const char *with_blocks(struct arena *a, const char *opts, uint32_t blocks) {
    static const char name[] = "PERSISTENT(";
    const char *at = strstr(opts, name), *end = at ? strchr(at, ')') : NULL;
    if (!end || !blocks) return opts;
    return arena_printf(a, "%.*s%s%u%s", (int)(at - opts), opts, name, blocks, end);
}

void planned_plan(struct planned_run *r) {
    schedule(r->arena, r->ir, r->graph, r->opts, &r->sched);
    if (r->opts->mode == PLAN_COST && !schedule_in_bound(&r->sched))
        err_throw(r->ir->err, RG_EINTERNAL, "a plan of %.0f bytes; a kernel per op moves %.0f",
                  r->sched.bytes, r->sched.naive_bytes);
    r->lin = arena_array(r->arena, struct linear, r->sched.prog.n + 1);
    r->list = arena_array(r->arena, const char *, r->sched.prog.n + 1);
    for (uint32_t i = 0; i < r->sched.prog.n; i++) {
        struct sched_prog *p = &r->sched.prog.p[i];
        if (p->builtin) continue; /* nothing to lower */
        verify_kernel(p->ir, &p->kernel);
        const char *opts = "";
        if (r->from == OPTS_HEURISTIC) opts = opts_heuristic(p->ir, &p->kernel, 16, 4);
        if (r->from == OPTS_GPU)
            opts = opts_heuristic_gpu(p->ir, &p->kernel, GPU_OF_CC(RG_MAX(r->opts->capability, 80)));
        if (r->from == OPTS_RANDOM) opts = opts_random(p->ir, &p->kernel, r->seed + i);
        r->list[i] = opts = with_blocks(r->arena, opts, r->persist);
        struct lower_opts how = {.opts = opts, .target = {.keep_math = !r->for_cc}};
        how.target.vec_bytes = r->for_cc && r->from != OPTS_GPU ? os_cpu()->vec_bytes : 16;
        if (r->from == OPTS_GPU || (r->seed + i) % 2) how.target.kind = TARGET_GPU; /* right on a CPU too */
        lower(p->ir, &p->kernel, &how, &r->lin[i]);
    }
}

static size_t bytes_of(const struct sched_buf *b) { return (size_t)b->elements * dtype_info[b->dt].bytes; }

void planned_memory(struct planned_run *r) {
    struct schedule *s = &r->sched;
    char *temp = arena_alloc(r->arena, (size_t)s->temp_bytes + 64);
    memset(temp, 0xcd, (size_t)s->temp_bytes);
    r->mem = arena_array(r->arena, void *, s->buf.n + 1);
    r->result = arena_array(r->arena, void *, r->graph->nsrc + 1);
    for (uint32_t i = 0; i < s->buf.n; i++) {
        struct sched_buf *b = &s->buf.p[i];
        if (b->kind == BUF_TEMP) {
            r->mem[i] = temp + b->offset;
            continue;
        }
        r->mem[i] = arena_alloc(r->arena, bytes_of(b) + 1);
        if (b->kind == BUF_GRAPH) memcpy(r->mem[i], r->data.bufs[b->number].p, bytes_of(b));
        if (b->kind == BUF_TABLE) memcpy(r->mem[i], s->table + b->number, bytes_of(b));
    }
    for (uint32_t i = 0; i < r->graph->nsrc; i++) r->result[i] = r->mem[s->result[i]];
}

void planned_interpret(struct planned_run *r) {
    struct schedule *s = &r->sched;
    for (uint32_t i = 0; i < s->call.n; i++) {
        const struct sched_call *c = &s->call.p[i];
        const struct sched_prog *p = &s->prog.p[c->prog];
        struct ref_buf *bufs = arena_array(r->arena, struct ref_buf, p->nbuf + 1);
        int64_t *var = arena_array(r->arena, int64_t, p->nvar + 1);
        for (uint32_t k = 0; k < p->nbuf; k++) {
            bufs[k] = (struct ref_buf){.p = r->mem[c->buf[k]], .bytes = bytes_of(&s->buf.p[c->buf[k]])};
            if (c->slice)
                bufs[k].p = (char *)bufs[k].p + c->slice[k].offset, bufs[k].bytes = (size_t)c->slice[k].bytes;
        }
        for (uint32_t k = 0; k < p->nvar; k++) var[k] = r->data.var[c->var[k]];
        struct err e = {0};
        const struct linear *l = &r->lin[c->prog];
        if (ref_linear(&e, l, bufs, p->nbuf, var, 0, l->grid))
            err_throw(r->ir->err, e.code, "call %u, kernel %s: %s\n%s", i, p->kernel.name, e.msg, p->text);
    }
}

bool planned_check(struct planned_run *r, struct str *why, uint64_t *excluded, uint64_t *compared) {
    struct ref_tensor *want = arena_array(r->arena, struct ref_tensor, r->graph->nsrc);
    struct err e = {0};
    if (ref_graph(&e, r->arena, r->ir, r->graph, r->data.bufs, r->data.nbuf, r->data.var, !r->exact, 0,
                  want)) {
        str_printf(why, "oracle: %s", e.msg);
        return false;
    }
    for (uint32_t i = 0; i < r->graph->nsrc; i++)
        if (!graph_compare(why, &want[i], r->result[i], excluded, compared)) {
            str_printf(why, " (result %u)", i);
            return false;
        }
    return true;
}
