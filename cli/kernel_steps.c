/* kernel_steps.c: what each pass of the compiler made of a profile's kernels, for its page.
 *
 * A profile holds the kernel graph and its opts; lowering it again gives the IR after every pass. Only of kernels for this
 * machine's CPU: a GPU's limits are not in the file. Passes that changed nothing are left out; long texts are cut.
 * Tests: tests/cli/profile.sh */
#include "cli.h"
#include "codegen/codegen.h"
#include "report/report.h"

enum { STEP_KERNELS = 6, STEP_BYTES = 16 << 10 };

struct steps_call {
    struct arena *arena;
    struct err *err;
    const char *graph;
    struct str *dump;
    struct pass_log log;
};

static void lower_again(void *arg) {
    struct steps_call *c = arg;
    struct ir *ir = arena_alloc(c->arena, sizeof *ir);
    struct program prog = {0};
    struct linear out = {0};
    ir_init(ir, c->arena);
    ir_parse(ir, c->graph, strlen(c->graph), "the profile", &prog);
    if (prog.kernel.n != 1) err_throw(c->err, RG_EINVAL, "no kernel");
    c->log.dump = c->dump, c->log.which = "all";
    lower(ir, &prog.kernel.p[0], &(struct lower_opts){.log = &c->log}, &out);
}

/* One element of the array: the pass and its text. */
static void put_step(struct str *o, struct arena *a, const char *head, const char *text, size_t n,
                     bool first) {
    const char *name = arena_strdup(a, head, strcspn(head, ":"));
    bool cut = n > STEP_BYTES;
    const char *body = arena_printf(a, "%.*s%s", (int)(cut ? STEP_BYTES : n), text, cut ? "\n.." : "");
    str_add(o, first ? "[" : ",[");
    report_json_string(o, name);
    str_addc(o, ',');
    report_json_string(o, body);
    str_addc(o, ']');
}

/* The dump is a line "; after PASS: .." and its text, again and again. */
static void put_steps(struct str *o, struct arena *a, const char *dump) {
    static const char mark[] = "; after ";
    const char *was = "";
    size_t was_n = 0;
    bool first = true;
    for (const char *s = strstr(dump, mark); s;) {
        const char *head = s + strlen(mark), *text = head + strcspn(head, "\n");
        text += *text == '\n';
        const char *next = strstr(text, mark);
        size_t n = next ? (size_t)(next - text) : strlen(text);
        if (n != was_n || memcmp(text, was, n)) {
            put_step(o, a, head, text, n, first);
            first = false;
        }
        was = text, was_n = n, s = next;
    }
}

void kernel_steps(struct str *o, struct diag *d) {
    struct kernel_sum *k;
    uint32_t n = diag_kernels(d, &k), put = 0;
    str_addc(o, '{');
    for (uint32_t i = 0; i < n && put < STEP_KERNELS && !strncmp(d->device_name, "CPU", 3); i++) {
        struct arena arena;
        struct err e = {0};
        struct str dump;
        const char *graph = trace_str(d->t, k[i].graph);
        if (!k[i].key || !*graph) continue;
        arena_init(&arena, &e);
        str_init(&dump, &arena);
        struct steps_call c = {&arena, &e, graph, &dump, {0}};
        if (!err_guard(&e, lower_again, &c) && dump.n) {
            str_printf(o, "%s\"%s\":[", put++ ? "," : "", trace_str(d->t, k[i].key));
            put_steps(o, &arena, dump.p);
            str_addc(o, ']');
        }
        arena_free(&arena);
    }
    str_addc(o, '}');
}
