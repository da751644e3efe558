/* graph_capture.c: a command list that runs often, handed to the device as one.
 *
 * A device that offers `record` (a CUDA graph) is given the commands and their dependences once; from then on a run is
 * one call. Dependences are RAW, WAR and WAW hazards on the memory that commands load and store: buffers, temporaries
 * that share memory, and scratch memory, of which there is one block. Transitive ones are left out.
 * A list is captured when it runs for the second time: capture costs about what a run costs. Commands that the device
 * cannot record are launched in between.
 * Tests: tests/unit/graph_capture.c, tests/unit/cuda_fake.c */
#include "engine/internal.h"

#define RUNS_BEFORE 1
#define ALONE_BYTES (24 << 20) /* of two commands: some 6 us of a large GPU */
#define SHORT 4                /* the part of the first's bytes that a short second command moves at most */
#define PART_MOST 4096         /* commands of a part: what waits for what takes a bit for each pair */

/* ---- what waits for what --------------------------------------------------------------------------------- */

bool commands_meet(const struct command *a, const struct command *b) {
    if (a->l.areas && b->l.areas) return true;
    for (uint32_t i = 0; i < a->l.nbuf; i++)
        for (uint32_t k = 0; k < b->l.nbuf; k++) {
            if (!((a->use[i] | b->use[k]) & USE_STORED) || !a->use[i] || !b->use[k]) continue;
            if (memory_meets(a->buf[i], a->size[i], b->buf[k], b->size[k])) return true;
        }
    return false;
}

/* before[i]: one bit for each step that is done before step i begins. */
struct dev_step *list_steps(struct arena *a, const struct engine_list *l, uint32_t from, uint32_t to) {
    uint32_t n = to - from, words = (n + 63) / 64;
    struct dev_step *step = arena_array(a, struct dev_step, n + 1);
    uint64_t *before = arena_array(a, uint64_t, (size_t)n * words + 1);
    uint32_t *after = arena_array(a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *mine = before + (size_t)i * words;
        uint32_t k = 0;
        for (uint32_t j = i; j-- > 0;) {
            if (mine[j / 64] >> (j % 64) & 1 || !commands_meet(&l->cmd.p[from + i], &l->cmd.p[from + j]))
                continue;
            const uint64_t *its = before + (size_t)j * words;
            for (uint32_t w = 0; w <= j / 64; w++) mine[w] |= its[w];
            mine[j / 64] |= 1ull << (j % 64);
            after[k++] = j;
        }
        uint32_t *kept = arena_array(a, uint32_t, k + 1);
        memcpy(kept, after, k * sizeof *kept);
        step[i] = (struct dev_step){&l->cmd.p[from + i].l, kept, k};
    }
    return step;
}

/* ---- recording ----------------------------------------------------------------------------------------------- */

void list_forget(struct engine_list *l) {
    for (uint32_t i = 0; i < l->part.n; i++)
        if (l->part.p[i].record) l->en->ops->record_free(l->part.p[i].record);
    l->part.n = 0;
    l->runs = 0;
}

struct recording {
    struct engine_list *l;
    struct arena work;
};

static void record_guarded(void *arg) {
    struct recording *r = arg;
    struct engine_list *l = r->l;
    const struct device_ops *ops = l->en->ops;
    struct err e = {0};
    for (uint32_t i = 0, taken; i < l->cmd.n; i += RG_MAX(taken, 1)) {
        uint32_t to = i;
        struct list_part part = {0};
        while (to < RG_MIN(l->cmd.n, i + PART_MOST) && !command_is_collective(&l->cmd.p[to])) to++;
        vec_need(&l->arena, &l->part, 1);
        taken = 0;
        if (to > i &&
            ops->record(l->en->dev, &e, list_steps(&r->work, l, i, to), to - i, &taken, &part.record))
            err_throw(&l->err, e.code, "%s", e.msg);
        part.n = RG_MAX(taken, 1);
        l->part.p[l->part.n++] = part;
    }
}

/* Launched directly, not as a graph: a single kernel, or two dependent ones that both outlast their launch, if the second is short
 * and can start early (PDL) while the first drains. A graph starts as a whole, but has the shorter gap between kernels: better
 * for a second kernel that is long or cannot start early. */
static bool better_alone(const struct engine_list *l) {
    const struct command *a = l->cmd.p, *b = a + 1;
    const struct device_ops *ops = l->en->ops;
    if (l->cmd.n != 2) return l->cmd.n < 2;
    return a->l.bytes + b->l.bytes >= ALONE_BYTES && b->l.bytes <= a->l.bytes / SHORT &&
           commands_meet(a, b) && ops->overlaps && ops->overlaps(l->en->dev, &b->l);
}

static bool can_record(const struct engine_list *l) {
    if (!l->en->ops->record || !env_int(ENV_RECORD)) return false;
    for (uint32_t i = 0; i < l->cmd.n; i++)
        if (!l->cmd.p[i].use) return false;
    return !better_alone(l);
}

int list_record(struct engine_list *l, struct err *e, bool *recorded) {
    struct recording r = {.l = l};
    *recorded = l->part.n > 0;
    if (*recorded || l->runs++ < RUNS_BEFORE || !can_record(l)) return 0;
    arena_init(&r.work, &l->err);
    err_clear(&l->err);
    int code = err_guard(&l->err, record_guarded, &r);
    arena_free(&r.work);
    if (code) {
        list_forget(l);
        return err_set(e, code, "%s", l->err.msg);
    }
    *recorded = true;
    return 0;
}

int list_replay(struct engine_list *l, struct err *e) {
    const struct device_ops *ops = l->en->ops;
    const struct command *c = l->cmd.p;
    for (uint32_t i = 0; i < l->part.n; c += l->part.p[i++].n) {
        struct dev_record *r = l->part.p[i].record;
        struct command one = *c;
        one.l.ns = NULL;
        if (r ? ops->replay(r, e) : command_launch(l->en, e, &one)) return e->code;
    }
    return 0;
}
