/* cuda_graph.c: a list of launches as a CUDA graph.
 *
 * A launch costs the host some microseconds, and dependent kernels leave the GPU idle in between. A graph is launched
 * once: dependent kernels follow each other without the host, independent ones run concurrently. It is built node by node
 * from the dependences that the engine names.
 * Kernel arguments (addresses, numbers, TMA descriptors, scratch memory) are compared at each replay with the last ones;
 * only nodes whose arguments changed are updated. A graph that still runs is not affected.
 * Small kernels use programmatic dependent launch (PDL): they become resident while their predecessors drain and wait in
 * their own code (pdl_wait() in render/cuda_pre.c), which hides launch latency. Large ones would only take SMs away.
 * A builtin, which is a sequence of kernels (builtin.c), is a chain of nodes. Empty launches are no part of a graph: the
 * list ends before them.
 * Tests: tests/unit/cuda_fake.c, tests/unit/cuda.c (need a GPU) */
#include "device/cuda/internal.h"
#include "event/event.h"

struct node {
    cu_node node;
    const struct dev_launch *l;
    uint32_t launch, step; /* its number in the list; of a function */
    unsigned blocks, threads;
    size_t params;
    uint64_t *param; /* as the graph has them */
};
struct dev_record {
    struct cuda_device *d;
    cu_graph graph;
    cu_exec exec;
    uint32_t n;
    struct node *node;
    uint64_t *now;            /* room for the parameters of one */
    uint32_t launches;        /* of the list */
    struct cuda_nodes *nodes; /* for a profile; NULL: made ready without one */
    bool nameless;            /* .. or CUPTI does not say its nodes */
};

static uint32_t steps_of(const struct dev_launch *l) {
    const struct cuda_call *c = cuda_call_of(l->fn);
    return c ? cuda_call_steps(c, l) : 1;
}

/* The launch of step number i of l. */
static const struct dev_launch *step_of(const struct dev_launch *l, uint32_t i, struct cuda_step *room) {
    const struct cuda_call *c = cuda_call_of(l->fn);
    if (!c) return l;
    cuda_call_step(c, l, i, room);
    return &room->l;
}

/* With room for all parameters; NULL: no memory. */
static struct dev_record *record_new(struct cuda_device *d, const struct dev_step *s, uint32_t n) {
    size_t words = 0, most = 0;
    uint32_t nodes = 0;
    struct cuda_step room;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0, end = steps_of(s[i].launch); k < end; k++, nodes++) {
            size_t w = cuda_param_words(step_of(s[i].launch, k, &room));
            words += w, most = RG_MAX(most, w);
        }
    struct dev_record *r = mem_alloc(sizeof *r);
    if (!r) return NULL;
    *r = (struct dev_record){.d = d, .n = nodes, .launches = n, .node = mem_alloc(nodes * sizeof *r->node)};
    uint64_t *param = mem_alloc((words + most) * sizeof *param);
    r->now = param;
    if (!r->node || !param) {
        cuda_forget(r);
        return NULL;
    }
    param += most;
    struct node *x = r->node;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0, end = steps_of(s[i].launch); k < end; k++, x++) {
            *x = (struct node){.l = s[i].launch, .launch = i, .step = k, .param = param};
            x->params = cuda_param_words(step_of(s[i].launch, k, &room));
            param += x->params;
        }
    return r;
}

/* What the driver is told about a kernel; t must outlive the answer. */
static struct cu_kernel_node told(const struct node *x, const struct dev_launch *l, struct cuda_told *t) {
    cuda_told(l, x->param, t);
    return (struct cu_kernel_node){.fn = (cu_function)(uintptr_t)l->fn,
                                   .blocks = x->blocks,
                                   .blocks_y = 1,
                                   .blocks_z = 1,
                                   .threads = x->threads,
                                   .threads_y = 1,
                                   .threads_z = 1,
                                   .shared = l->shared,
                                   .params = t->params,
                                   .extra = t->extra};
}

/* PDL saves a microsecond of latency, but blocks that become resident early are spread unevenly over the SMs: a kernel of many blocks
 * takes longer. At most one wave of one block per SM, or a short kernel. */
enum { PDL_BLOCKS = 16, PDL_BYTES = 48 << 20 }; /* of a short kernel: blocks per SM, bytes it moves (10 us) */
#define PDL_OPS 4e9                             /* .. and computes */

static bool is_small(const struct cuda_device *d, const struct node *x) {
    bool is_short = x->l->bytes <= PDL_BYTES && (double)x->l->ops <= PDL_OPS;
    return x->blocks <= (is_short ? PDL_BLOCKS : 1) * (unsigned)d->info.units;
}

/* Dependences of a node. */
struct waits {
    const struct node **on;
    cu_node *node;
    uint32_t n;
};

/* PDL: may x start before its dependences are complete? */
static bool may_overlap(const struct cuda_device *d, const struct waits *w, const struct node *x) {
    if (!d->cu->graph_edges || d->info.major < 9 || !is_small(d, x)) return false;
    for (uint32_t k = 0; k < w->n; k++)
        if (!is_small(d, w->on[k])) return false;
    return true;
}

static int add_node(struct dev_record *r, struct err *e, struct node *x, const struct waits *w) {
    struct cuda_device *d = r->d;
    struct cuda_step room;
    const struct dev_launch *l = step_of(x->l, x->step, &room);
    struct cuda_told t;
    if (cuda_limits(d, e, l)) return e->code;
    CUDA_TRY(cuda_shared(d, l), "asking for shared memory");
    if (cuda_params(d, e, l, x->param)) return e->code;
    cuda_shape(d, l, &x->blocks, &x->threads);
    for (uint32_t k = 0; k < w->n; k++) w->node[k] = w->on[k]->node;
    struct cu_kernel_node p = told(x, l, &t);
    bool soon = may_overlap(d, w, x);
    CUDA_TRY(d->cu->graph_kernel(&x->node, r->graph, w->node, soon ? 0 : w->n, &p), "recording a kernel");
    /* a programmatic edge (type 1) from port 1 */
    for (uint32_t k = 0; soon && k < w->n; k++)
        CUDA_TRY(d->cu->graph_edges(r->graph, &w->node[k], &x->node, &(struct cu_edge){1, 0, 1, {0}}, 1),
                 "recording what waits");
    return 0;
}

/* The nodes of the steps, in order. last[i]: the last node of step i; the first waits for what the step does, the others
 * for the one before. */
static int add_nodes(struct dev_record *r, struct err *e, const struct dev_step *s, struct waits *w,
                     const struct node **last) {
    uint32_t step = 0;
    for (struct node *x = r->node, *end = x + r->n; x < end; x++) {
        w->n = x->step ? 1 : s[step].nafter;
        for (uint32_t k = 0; k < w->n; k++) w->on[k] = x->step ? x - 1 : last[s[step].after[k]];
        if (add_node(r, e, x, w)) return e->code;
        last[step] = x;
        step += x + 1 < end && !x[1].step;
    }
    return 0;
}

/* While a profile is recorded it is noted under which numbers the driver runs the nodes. */
static int make_ready(struct dev_record *r, struct err *e) {
    struct cuda_device *d = r->d;
    struct cuda_nodes *x = cuda_nodes_begin(r->n);
    for (uint32_t i = 0; i < r->n; i++) cuda_nodes_add(x, i, r->node[i].node, r->node[i].launch);
    int code = d->cu->graph_ready(&r->exec, r->graph, 0);
    r->nodes = cuda_nodes_end(x);
    r->nameless = x && !r->nodes;
    CUDA_TRY(code, "making a graph");
    return 0;
}

static int fill(struct dev_record *r, struct err *e, const struct dev_step *s, uint32_t n) {
    struct cuda_device *d = r->d;
    uint32_t most = 1;
    for (uint32_t i = 0; i < n; i++) most = RG_MAX(most, s[i].nafter);
    CUDA_TRY(d->cu->graph_new(&r->graph, 0), "making a graph");
    struct waits w = {.on = mem_alloc((most + (size_t)n) * sizeof *w.on),
                      .node = mem_alloc(most * sizeof *w.node)};
    int code = !w.on || !w.node ? err_set(e, RG_ENOMEM, "out of memory while recording")
                                : add_nodes(r, e, s, &w, w.on + most);
    mem_free(w.on), mem_free(w.node);
    return code ? code : make_ready(r, e);
}

int cuda_record(struct device *dev, struct err *e, const struct dev_step *s, uint32_t n, uint32_t *taken,
                struct dev_record **out) {
    struct cuda_device *d = cuda_of(dev);
    *taken = 0;
    *out = NULL;
    while (*taken < n && s[*taken].launch->grid) ++*taken;
    if (!*taken) return 0;
    if (cuda_enter(d, e)) return e->code;
    struct dev_record *r = record_new(d, s, *taken);
    if (!r) return err_set(e, RG_ENOMEM, "out of memory while recording");
    if (fill(r, e, s, *taken)) {
        cuda_forget(r);
        return e->code;
    }
    *out = r;
    return 0;
}

/* Tells the graph what a kernel is given now, if that is something else, or in any case. */
static int bring_up(struct dev_record *r, struct err *e, struct node *x, bool always) {
    struct cuda_device *d = r->d;
    struct cuda_step room;
    const struct dev_launch *l = step_of(x->l, x->step, &room);
    struct cuda_told t;
    unsigned blocks, threads;
    if (cuda_params(d, e, l, r->now)) return e->code;
    cuda_shape(d, l, &blocks, &threads);
    if (!always && !memcmp(r->now, x->param, x->params * sizeof *r->now) && blocks == x->blocks &&
        threads == x->threads)
        return 0;
    memcpy(x->param, r->now, x->params * sizeof *r->now);
    x->blocks = blocks, x->threads = threads;
    struct cu_kernel_node p = told(x, l, &t);
    CUDA_TRY(d->cu->graph_change(r->exec, x->node, &p), "changing a graph");
    return 0;
}

/* A graph that was made ready before the recording: again, so that its nodes are known. The driver keeps the old one as
 * long as it runs. */
static int make_known(struct dev_record *r, struct err *e) {
    struct cuda_device *d = r->d;
    cu_exec was = r->exec;
    struct event_span own = event_begin(EVENT_PROFILER, 0);
    r->exec = NULL;
    int code = make_ready(r, e);
    if (code)
        r->exec = was;
    else
        d->cu->graph_drop(was);
    event_end(own, 0, 0);
    return code;
}

int cuda_replay(struct dev_record *r, struct err *e) {
    struct cuda_device *d = r->d;
    struct cuda_trace t;
    if (cuda_enter(d, e)) return e->code;
    bool again = cuda_tracing() && !r->nodes && !r->nameless;
    if (again && make_known(r, e)) return e->code;
    for (uint32_t i = 0; i < r->n; i++)
        if (bring_up(r, e, &r->node[i], again)) return e->code;
    cuda_trace_begin(&t, d, r->launches, r->nodes);
    for (uint32_t i = 0; t.t && i < r->n; i++)
        if (!r->node[i].step) cuda_trace_unit(&t, r->node[i].launch, r->node[i].l, steps_of(r->node[i].l));
    char text[48];
    snprintf(text, sizeof text, "graph of %u kernels", r->n);
    event_nvtx_push(text);
    int code = d->cu->graph_launch(r->exec, d->stream);
    event_nvtx_pop();
    cuda_trace_end(&t, code);
    CUDA_TRY(code, "starting a graph");
    return 0;
}

void cuda_forget(struct dev_record *r) {
    struct err ignore = {0};
    if (!r) return;
    if (!cuda_enter(r->d, &ignore)) {
        if (r->exec) r->d->cu->graph_drop(r->exec);
        if (r->graph) r->d->cu->graph_free(r->graph);
    }
    if (r->nodes) cuda_nodes_free(r->nodes);
    mem_free(r->now);
    mem_free(r->node);
    mem_free(r);
}
