/* collective.c: commands of a list that exchange data with other ranks (CALL collective).
 *
 * They are launched by the engine, not by the device: on memory of the host directly, of a discrete device through a copy on the host, or,
 * by a backend that works on the device (NCCL), enqueued on its stream.
 * A list is recorded around them. They are never run to be timed: every run is an exchange that other ranks take part in.
 * Tests: tests/unit/world.c */
#include "engine/internal.h"
#include "world/world.h"

/* What marks such a command; never called. */
static void collective_fn(void *const *buf, const int64_t *var, uint32_t t0, uint32_t t1, void *scratch) {
    (void)buf, (void)var, (void)t0, (void)t1, (void)scratch;
}

dev_fn *const engine_collective_fn = collective_fn;

bool command_is_collective(const struct command *c) { return c->l.fn == collective_fn; }

bool list_has_collective(const struct engine_list *l) {
    for (uint32_t i = 0; i < l->cmd.n; i++)
        if (command_is_collective(&l->cmd.p[i])) return true;
    return false;
}

int engine_set_world(struct engine *en, struct err *e, uint32_t number, struct world *w) {
    if (number >= RG_COUNT(en->world))
        return err_set(e, RG_ELIMIT, "a context has at most %zu worlds", RG_COUNT(en->world));
    en->world[number] = w;
    return 0;
}

/* Wait and transfer as events of their own, inside the command's. */
static void note(const struct world *w, const struct collective *c, uint64_t t0, uint64_t t1) {
    uint64_t waited = RG_MIN(world_waited_ns(w), t1 - t0);
    event_add(EVENT_WAIT, event_name("wait for ranks"), t0, t0 + waited, (int64_t)c->kind, (int64_t)c->world);
}

/* Ranks of one host have one clock: profiles say which (the host's boot), so that nothing has to be estimated. */
static void tell_clock(struct engine *en) {
    uint32_t file = event_record_file();
    char text[64] = "clock ";
    if (!file || file == en->clock_told) return;
    en->clock_told = file;
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    size_t n = f ? fread(text + 6, 1, sizeof text - 7, f) : 0;
    if (f) fclose(f);
    text[6 + n] = 0;
    uint64_t now = os_now_ns();
    if (n) event_add(EVENT_NOTE, event_name(text), now, now, 0, 0);
}

int collective_run(struct engine *en, struct err *e, int64_t code, const void *in, void *out, int64_t nin,
                   int64_t nout) {
    struct world_call c = {.what = collective_unpack(code), .in = in, .out = out, .nin = nin, .nout = nout};
    struct world *w = c.what.world < RG_COUNT(en->world) ? en->world[c.what.world] : NULL;
    if (!w) return err_set(e, RG_EINVAL, "a collective of a world that was closed");
    tell_clock(en);
    uint64_t t0 = os_now_ns();
    int bad = world_run(w, e, &c);
    note(w, &c.what, t0, os_now_ns());
    return bad;
}

bool engine_has_stream(const struct engine *en) { return en->ops->stream; }

int engine_stream(void *engine, struct err *e, void **out) {
    struct engine *en = engine;
    return en->ops->stream(en->dev, e, out);
}

void collective_close(struct engine *en) {
    if (en->stage) os_pages_free(en->stage, en->stage_bytes);
    en->stage = NULL, en->stage_bytes = 0;
}

/* It stays: touching new pages costs more than the copy. */
static void *stage(struct engine *en, size_t bytes) {
    if (bytes <= en->stage_bytes) return en->stage;
    collective_close(en);
    en->stage = os_pages(bytes);
    if (en->stage) en->stage_bytes = bytes;
    return en->stage;
}

/* Through the host. */
static int run_staged(struct engine *en, struct err *e, const struct dev_launch *l, size_t in, size_t out) {
    char *from = stage(en, in + out), *to = from + in;
    int bad =
        from ? 0 : err_set(e, RG_ENOMEM, "no memory on the host for %zu bytes of a collective", in + out);
    if (!bad) bad = en->ops->copy(en->dev, e, COPY_OUT, from, l->buf[1], in);
    if (!bad) bad = collective_run(en, e, l->var[2], from, to, l->var[0], l->var[1]);
    if (!bad) bad = en->ops->copy(en->dev, e, COPY_IN, l->buf[0], to, out);
    return bad;
}

/* In order with the kernels before and after it; a timed one is waited for. */
static int run_enqueued(struct engine *en, struct err *e, const struct dev_launch *l) {
    bool timed = l->ns && en->ops->span;
    int bad = timed ? en->ops->span(en->dev, e, NULL, 0) : 0;
    if (!bad) bad = collective_run(en, e, l->var[2], l->buf[1], l->buf[0], l->var[0], l->var[1]);
    return !bad && timed ? en->ops->span(en->dev, e, l->ns, 0) : bad;
}

static bool is_enqueued(const struct engine *en, const struct dev_launch *l) {
    uint32_t number = collective_unpack(l->var[2]).world;
    return number < RG_COUNT(en->world) && en->world[number] && world_on_device(en->world[number]);
}

int command_launch(struct engine *en, struct err *e, const struct command *c) {
    const struct dev_launch *l = &c->l;
    if (!command_is_collective(c)) return en->ops->launch(en->dev, e, l);
    if (is_enqueued(en, l)) return run_enqueued(en, e, l);
    size_t width = dtype_info[collective_unpack(l->var[2]).dt].bytes;
    uint64_t t0 = os_now_ns();
    int bad = en->ops->discrete
                  ? run_staged(en, e, l, (size_t)l->var[0] * width, (size_t)l->var[1] * width)
                  : collective_run(en, e, l->var[2], l->buf[1], l->buf[0], l->var[0], l->var[1]);
    if (l->ns) *l->ns = os_now_ns() - t0;
    return bad;
}
