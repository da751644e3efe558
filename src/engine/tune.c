/* tune.c: search: which opt list makes a kernel fastest, found by measuring.
 *
 * With BEAM=n a plan that is new is searched while it runs for the first time, kernel by kernel, on the real buffers, just
 * before each kernel's turn: what it reads is there, what it writes goes to copies. Complete lists are made around
 * the one in use (codegen/space.c), ranked by the machine model (codegen/predict.c), the n best are compiled in one
 * batch, run once and compared with the kernel in use, then timed in turns; then once more around the best of them.
 * All lists add up in the same order, so every result must be the same, bit for bit (one NaN is as good as another):
 * what differs is refused. A list that is not faster by some per cent is no winner: the one in use stays.
 *
 * What was found is kept in the engine and on disk ("tuned-" and the sum of cache format, compiler, flags, architecture,
 * machine model, threads and the kernel's text), and later plans use it, with BEAM or without, unless RIDGE_TUNED=0.
 * A record holds everything that was tried; `ridge tune --show` prints it. What is read is checked before it is used:
 * the list must be legal and must add up as the heuristic's does.
 * On one thread the thread's own clock is read, which neighbours do not disturb; a GPU is asked for the time of each run,
 * with its caches as the run before left them. There a list that shares a sum among other threads rounds otherwise,
 * and is refused like any other that differs.
 * Tests: tests/unit/tune.c, tests/cli/tune.sh */
#include "engine/internal.h"

#include <stdlib.h>
#include <time.h>

#define TUNED_FORMAT "ridge-tuned 1"
#define TOO_SHORT_NS 2000 /* launching is most of it: nothing to win */
#define GAIN 0.97         /* of the time of the list in use: what a winner must at most take */
#define ROUNDS 15
#define MOST_LISTS 240         /* that are ranked */
#define BUDGET_NS 400000000ull /* for timing one batch */
#define REPEAT_NS 60000        /* shorter kernels are run several times for one reading */

/* ---- records ------------------------------------------------------------------------------------------------ */

static const char *const state_name[] = {
    [TUNED_TIMED] = "timed", [TUNED_WRONG] = "wrong", [TUNED_BASE] = "used", [TUNED_WINNER] = "winner"};

/* Of everything that decides which list is best. */
static void record_key(struct engine *en, const struct sched_prog *p, char out[65]) {
    struct sha256 s = en->base;
    uint8_t sum[32];
    char head[128];
    snprintf(head, sizeof head, "%s\nmodel %016llx\nthreads %d\n", TUNED_FORMAT,
             (unsigned long long)en->plans.model_hash, en->ops->workers(en->dev));
    sha256_add(&s, head, strlen(head));
    sha256_add(&s, p->text, strlen(p->text));
    sha256_end(&s, sum);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

static void print_record(struct str *s, const struct tuned *t, const char *text) {
    str_printf(s, "%s\nkernel %s\nmachine %s\nthreads %d\nbeam %d\nseconds %.3f\n", TUNED_FORMAT, t->name,
               t->machine, t->threads, t->beam, t->seconds);
    for (uint32_t i = 0; i < t->row.n; i++)
        str_printf(s, "%s %.4g %.4g %s\n", state_name[t->row.p[i].state], t->row.p[i].predicted * 1e6,
                   t->row.p[i].measured * 1e6, t->row.p[i].opts);
    str_printf(s, "text\n%s", text);
}

static const char *take_line(char **p) {
    char *line = *p, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *p = end + 1;
    return line;
}

static bool parse_row(const char *line, struct tuned_row *r) {
    for (size_t i = 0; i < RG_COUNT(state_name); i++) {
        size_t n = strlen(state_name[i]);
        if (strncmp(line, state_name[i], n) || line[n] != ' ') continue;
        char *end;
        r->state = (enum tuned_state)i;
        r->predicted = strtod(line + n, &end) * 1e-6;
        r->measured = strtod(end, &end) * 1e-6;
        r->opts = end + (*end == ' ');
        return true;
    }
    return false;
}

/* Of a file that was written here: its sum was right. False if it is of another format all the same. */
static bool parse_record(struct arena *a, char *data, struct tuned *t) {
    const char *line = take_line(&data);
    *t = (struct tuned){.name = "", .machine = "", .opts = NULL};
    if (!line || strcmp(line, TUNED_FORMAT)) return false;
    while ((line = take_line(&data)) && strcmp(line, "text")) {
        struct tuned_row r;
        if (!strncmp(line, "kernel ", 7))
            t->name = line + 7;
        else if (!strncmp(line, "machine ", 8))
            t->machine = line + 8;
        else if (!strncmp(line, "threads ", 8))
            t->threads = atoi(line + 8);
        else if (!strncmp(line, "beam ", 5))
            t->beam = atoi(line + 5);
        else if (!strncmp(line, "seconds ", 8))
            t->seconds = strtod(line + 8, NULL);
        else if (parse_row(line, &r)) {
            vec_push(a, &t->row, r);
            if (r.state == TUNED_WINNER) t->opts = r.opts;
        } else
            return false;
    }
    t->text = data;
    return line && t->opts;
}

static struct tuned *keep_record(struct engine *en, const char *key, struct tuned *t) {
    uint64_t head = strtoull(arena_strdup(&en->arena, key, 16), NULL, 16);
    memcpy(t->key, key, 65);
    vec_push(&en->arena, &en->tuned, t);
    map_put(&en->tuned_by_key, head, en->tuned.n - 1);
    return t;
}

static struct tuned *find_record(struct engine *en, const char *key) {
    uint64_t at, head = strtoull(arena_strdup(&en->work, key, 16), NULL, 16);
    if (map_get(&en->tuned_by_key, head, &at) && !strcmp(en->tuned.p[at]->key, key)) return en->tuned.p[at];
    size_t n;
    char *data = cache_read(&en->cache, &en->arena, arena_printf(&en->work, "tuned-%s", key), &n);
    if (!data) return NULL;
    struct tuned *t = arena_new(&en->arena, struct tuned);
    return parse_record(&en->arena, data, t) ? keep_record(en, key, t) : NULL;
}

/* ---- what is known already --------------------------------------------------------------------------------------- */

struct find_call {
    struct engine *en;
    struct sched_prog *p;
    const struct tuned *out;
};

static void find_guarded(void *arg) {
    struct find_call *c = arg;
    char key[65];
    compile_identity(c->en);
    record_key(c->en, c->p, key);
    c->out = find_record(c->en, key);
}

/* Not by OpenCL: what would be tried is what CUDA has. */
static bool can_search(const struct engine *en) {
    return en->ops->kind == DEV_RUNS && en->ops->text != DEV_OPENCL;
}

const struct tuned *tune_find(struct engine *en, struct sched_prog *p) {
    struct find_call c = {en, p, NULL};
    if (!can_search(en)) return NULL;
    err_clear(&en->err);
    int code = err_guard(&en->err, find_guarded, &c);
    arena_free(&en->work);
    return code ? NULL : c.out; /* what is wrong with the compiler will be said when it is needed */
}

static int capability(struct engine *en) {
    struct dev_info i;
    struct err e = {0};
    return en->ops->info(en->dev, &e, &i) ? 80 : 10 * i.major + i.minor;
}

static const char *heuristic(struct engine *en, struct sched_prog *p) {
    if (en->tuning.heuristic) return en->tuning.heuristic;
    if (en->ops->text != DEV_C)
        return opts_heuristic_gpu(p->ir, &p->kernel, en->ops->text == DEV_CUDA ? capability(en) : 0);
    return opts_heuristic(p->ir, &p->kernel, 0, en->ops->workers(en->dev));
}

const char *tune_opts(struct engine *en, struct sched_prog *p) {
    const struct tuned *t = env_int(ENV_TUNED) ? tune_find(en, p) : NULL;
    const char *own = heuristic(en, p);
    if (!t || !strcmp(t->opts, own)) return own;
    const char *want = opts_rounding(p->ir, &p->kernel, own),
               *have = opts_rounding(p->ir, &p->kernel, t->opts);
    if (!want || !have || strcmp(want, have)) return own;
    en->stats.tuned_hits++;
    return arena_strdup(p->ir->arena, t->opts, strlen(t->opts));
}

int tune_beam(const struct engine *en) {
    if (!can_search(en) || env_int(ENV_NOOPT)) return 0;
    int64_t n = en->tuning_set ? en->tuning.beam : env_int(ENV_BEAM);
    return (int)RG_MAX(RG_MIN(n, 256), 0);
}

void engine_set_tuning(struct engine *en, const struct engine_tuning *how) {
    en->tuning_set = how != NULL;
    en->tuning = how ? *how : (struct engine_tuning){0};
}

/* ---- one search ----------------------------------------------------------------------------------------------------- */

struct candidate {
    const char *opts;
    double predicted; /* seconds */
    uint64_t print;   /* of the program, roughly: equal ones are one */
    uint64_t least;   /* ns, measured */
    enum tuned_state state;
    const struct ekernel *k;
    bool out; /* of the race */
};

struct tune {
    struct engine *en;
    struct err err;
    struct arena arena; /* of the whole search */
    struct ir ir;       /* with the kernel, for lists */
    struct kernel kernel;
    const struct tune_job *job;
    int beam, threads;
    VEC(struct candidate) cand; /* 0: the list in use */
    struct map seen;            /* texts of lists */
    void **work, **want; /* by slot: what candidates write to; what they must write. NULL: not written */
    struct engine_list *list;
    uint32_t wrong;
};

/* A list, lowered in an arena of its own. */
struct trial {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct kernel kernel;
    struct linear lin;
    const struct tune *t;
    const char *opts;
    double predicted;
};

static void lower_trial(void *arg) {
    struct trial *x = arg;
    const struct tune_job *j = x->t->job;
    ir_init(&x->ir, &x->arena);
    x->kernel = j->p->kernel;
    x->kernel.sink = ir_import(&x->ir, j->p->ir, j->p->kernel.sink);
    struct lower_opts how = {.opts = x->opts};
    prog_target(x->t->en, &how);
    prog_lower(j->p, &x->ir, &x->kernel, &how, &x->lin);
    x->predicted = predict_seconds(&x->arena, &x->lin, &x->t->en->plans.model, x->t->threads);
}

/* False: it cannot be lowered. The arena is to be freed in any case. */
static bool trial_lower(struct trial *x, const struct tune *t, const char *opts) {
    *x = (struct trial){.t = t, .opts = opts};
    arena_init(&x->arena, &x->err);
    return !err_guard(&x->err, lower_trial, x);
}

static uint64_t print_of(const struct trial *x) {
    double w[] = {x->predicted,     x->lin.est.flops_issued, x->lin.est.bytes_issued,
                  (double)x->lin.n, (double)x->lin.grid,     (double)x->lin.scratch};
    return hash_bytes(w, sizeof w, 3);
}

static bool known_print(const struct tune *t, uint64_t print) {
    for (uint32_t i = 0; i < t->cand.n; i++)
        if (t->cand.p[i].print == print) return true;
    return false;
}

static int by_prediction(const void *x, const void *y) {
    const struct candidate *a = x, *b = y;
    if (a->predicted != b->predicted) return a->predicted < b->predicted ? -1 : 1;
    return strcmp(a->opts, b->opts);
}

/* Lists around `base` that were not thought of before, priced, the best first, behind those that are there. */
static void propose(struct tune *t, const char *base, uint32_t most) {
    opts_vec lists;
    struct trial *x = arena_new(&t->arena, struct trial);
    uint64_t seed = hash_bytes(base, strlen(base), t->cand.n);
    uint32_t from = t->cand.n;
    struct lower_opts how = {0};
    prog_target(t->en, &how);
    opts_space(&t->ir, &t->kernel, base, how.vec_bytes, t->threads, seed, most, &lists);
    for (uint32_t i = 0; i < lists.n; i++) {
        uint64_t key = hash_bytes(lists.p[i], strlen(lists.p[i]), 5);
        if (map_get(&t->seen, key, NULL)) continue;
        map_put(&t->seen, key, 1);
        if (trial_lower(x, t, lists.p[i]) && !known_print(t, print_of(x)))
            vec_push(
                &t->arena, &t->cand,
                ((struct candidate){.opts = lists.p[i], .predicted = x->predicted, .print = print_of(x)}));
        arena_free(&x->arena);
    }
    if (t->cand.n > from + 1) qsort(t->cand.p + from, t->cand.n - from, sizeof *t->cand.p, by_prediction);
}

/* Candidates [from, to) in one batch; false, and nothing has changed, if the compiler could not. */
static bool compile(struct tune *t, uint32_t from, uint32_t to) {
    uint32_t n = to - from;
    struct trial *x = arena_array(&t->arena, struct trial, n + 1);
    const struct linear **lin = arena_array(&t->arena, const struct linear *, n + 1);
    const struct ekernel **k = arena_array(&t->arena, const struct ekernel *, n + 1);
    struct err e = {0};
    for (uint32_t i = 0; i < n; i++) {
        trial_lower(&x[i], t, t->cand.p[from + i].opts);
        if (t->en->tuning.spoil) t->en->tuning.spoil(t->en->tuning.cx, from + i, &x[i].lin);
        lin[i] = &x[i].lin;
    }
    bool ok = !engine_compile(t->en, &e, lin, n, k);
    for (uint32_t i = 0; i < n; i++) arena_free(&x[i].arena);
    for (uint32_t i = 0; ok && i < n; i++) t->cand.p[from + i].k = k[i];
    if (!ok) log_line(1, "search: %s", e.msg);
    return ok;
}

/* ---- running candidates ------------------------------------------------------------------------------------------------ */

static void fail(struct tune *t, const struct err *e) { err_throw(&t->err, e->code, "%s", e->msg); }

static void move(struct tune *t, void *to, const void *from, size_t n) {
    struct err e = {0};
    if (t->en->ops->copy(t->en->dev, &e, COPY_WITHIN, to, from, n)) fail(t, &e);
}

static void restore(struct tune *t) {
    for (uint32_t i = 0; i < t->job->p->nbuf; i++)
        if (t->work[i] && t->job->same[i] == i) move(t, t->work[i], t->job->buf[i], t->job->bytes[i]);
}

static bool reads_its_output(const struct tune *t) {
    for (uint32_t i = 0; i < t->job->p->nbuf; i++)
        if (t->job->use[i] == (USE_LOADED | USE_STORED)) return true;
    return false;
}

static void make_copies(struct tune *t) {
    const struct tune_job *j = t->job;
    struct err e = {0};
    t->work = arena_array(&t->arena, void *, j->p->nbuf + 1);
    t->want = arena_array(&t->arena, void *, j->p->nbuf + 1);
    for (uint32_t i = 0; i < j->p->nbuf; i++) {
        if (j->same[i] != i) {
            t->work[i] = t->work[j->same[i]];
            continue;
        }
        bool written = false;
        for (uint32_t k = i; k < j->p->nbuf; k++) written |= j->same[k] == i && (j->use[k] & USE_STORED);
        if (!written) continue;
        if (!(t->work[i] = engine_alloc(t->en, &e, j->bytes[i])) ||
            !(t->want[i] = engine_alloc(t->en, &e, j->bytes[i])))
            fail(t, &e);
    }
}

static void free_copies(struct tune *t) {
    for (uint32_t i = 0; t->want && i < t->job->p->nbuf; i++) {
        if (t->job->same[i] != i) continue;
        engine_free(t->en, t->work[i], t->job->bytes[i]);
        engine_free(t->en, t->want[i], t->job->bytes[i]);
    }
}

static void add_commands(struct tune *t, uint32_t from) {
    void **buf = arena_array(&t->arena, void *, t->job->p->nbuf + 1);
    struct err e = {0};
    for (uint32_t i = 0; i < t->job->p->nbuf; i++) buf[i] = t->work[i] ? t->work[i] : t->job->buf[i];
    for (uint32_t i = from; i < t->cand.n && t->cand.p[i].k; i++)
        if (engine_list_add(t->list, &e, t->cand.p[i].k, buf, t->job->var)) fail(t, &e);
}

static bool is_nan_at(enum dtype dt, const char *p) {
    uint64_t v = 0;
    memcpy(&v, p, dtype_info[dt].bytes);
    switch (dt) {
    case DT_F64: return (v & ~(1ull << 63)) > 0x7ff0000000000000ull;
    case DT_F32: return (v & 0x7fffffff) > 0x7f800000;
    case DT_F16: return (v & 0x7fff) > 0x7c00;
    case DT_BF16: return (v & 0x7fff) > 0x7f80;
    default: return false;
    }
}

static bool same_here(enum dtype dt, const char *x, const char *y, size_t bytes) {
    if (!memcmp(x, y, bytes)) return true;
    for (size_t i = 0, n = dtype_info[dt].bytes; i + n <= bytes; i += n)
        if (memcmp(x + i, y + i, n) && !(is_nan_at(dt, x + i) && is_nan_at(dt, y + i))) return false;
    return true;
}

/* Of memory on a device that this process does not see, pieces are copied out. */
static bool same_values(struct tune *t, enum dtype dt, const char *x, const char *y, size_t bytes) {
    enum { PIECE = 8 << 20 };
    if (!t->en->ops->far) return same_here(dt, x, y, bytes);
    struct err e = {0};
    char *here = os_pages(2 * PIECE);
    if (!here) err_throw(&t->err, RG_ENOMEM, "no memory on the host to compare results");
    bool same = true;
    for (size_t at = 0; at < bytes && same && !e.code; at += PIECE) {
        size_t n = RG_MIN(bytes - at, (size_t)PIECE);
        if (t->en->ops->copy(t->en->dev, &e, COPY_OUT, here, x + at, n) ||
            t->en->ops->copy(t->en->dev, &e, COPY_OUT, here + PIECE, y + at, n))
            break;
        same = same_here(dt, here, here + PIECE, n);
    }
    os_pages_free(here, 2 * PIECE);
    if (e.code) fail(t, &e);
    return same;
}

/* Runs every new candidate once on the same data. The list in use says what is right. */
static void check(struct tune *t, uint32_t from) {
    const struct tune_job *j = t->job;
    for (uint32_t i = from; i < t->cand.n && t->cand.p[i].k; i++) {
        struct candidate *c = &t->cand.p[i];
        restore(t);
        c->least = engine_list_time(t->list, i, 1);
        c->state = i ? TUNED_TIMED : TUNED_BASE;
        for (uint32_t b = 0; b < j->p->nbuf; b++) {
            if (!t->want[b]) continue;
            if (!i)
                move(t, t->want[b], t->work[b], j->bytes[b]);
            else if (!same_values(t, j->dt[b], t->work[b], t->want[b], j->bytes[b]))
                c->state = TUNED_WRONG, c->out = true;
        }
        t->wrong += c->state == TUNED_WRONG;
        /* the same code as another one that runs already */
        for (uint32_t k = 0; k < i && !c->out; k++) c->out = t->cand.p[k].k == c->k;
    }
}

/* All in turns, so that what the neighbours do falls on all; those far behind drop out. */
static void race(struct tune *t) {
    uint64_t start = os_now_ns();
    bool again = reads_its_output(t);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t best = UINT64_MAX;
        for (uint32_t i = 0; i < t->cand.n && t->cand.p[i].k; i++) {
            struct candidate *c = &t->cand.p[i];
            if (c->out) continue;
            if (again) restore(t);
            uint32_t times = (uint32_t)RG_MAX(RG_MIN(REPEAT_NS / RG_MAX(c->least, 1), 50), 1);
            c->least = RG_MIN(c->least, engine_list_time(t->list, i, times) / times);
            best = RG_MIN(best, c->least);
        }
        for (uint32_t i = 1; i < t->cand.n && round >= 1; i++)
            if ((double)t->cand.p[i].least > (double)best * (round < 5 ? 1.4 : 1.1)) t->cand.p[i].out = true;
        if (round >= 2 && os_now_ns() - start > BUDGET_NS) break;
    }
}

static uint32_t fastest(const struct tune *t) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < t->cand.n && t->cand.p[i].k; i++)
        if (t->cand.p[i].state == TUNED_TIMED && t->cand.p[i].least < t->cand.p[best].least) best = i;
    return (double)t->cand.p[best].least <= (double)t->cand.p[0].least * GAIN ? best : 0;
}

/* Around one list: propose, compile, check, time. */
static void step(struct tune *t, const char *base, uint32_t most) {
    uint32_t from = t->cand.n;
    propose(t, base, most);
    uint32_t to = RG_MIN(t->cand.n, from + (uint32_t)t->beam + (from == 0));
    if (to == from) return;
    t->cand.n = to;
    if (!compile(t, from, to)) {
        t->cand.n = from;
        return;
    }
    add_commands(t, from);
    check(t, from);
    race(t);
}

static void use_first(struct tune *t) {
    struct trial *x = arena_new(&t->arena, struct trial);
    const char *opts = t->job->opts;
    if (!trial_lower(x, t, opts)) fail(t, &x->err);
    vec_push(
        &t->arena, &t->cand,
        ((struct candidate){.opts = opts, .predicted = x->predicted, .print = print_of(x), .k = t->job->k}));
    map_put(&t->seen, hash_bytes(opts, strlen(opts), 5), 1);
    arena_free(&x->arena);
    add_commands(t, 0);
    check(t, 0);
}

static void remember(struct tune *t, uint32_t winner, double seconds) {
    struct engine *en = t->en;
    struct tuned *r = arena_new(&en->arena, struct tuned);
    char key[65];
    const char *name = t->job->p->kernel.name;
    *r = (struct tuned){.name = arena_strdup(&en->arena, name, strlen(name)),
                        .machine =
                            arena_strdup(&en->arena, en->plans.model.name, strlen(en->plans.model.name)),
                        .threads = t->threads,
                        .beam = t->beam,
                        .seconds = seconds};
    for (uint32_t i = 0; i < t->cand.n; i++) {
        const struct candidate *c = &t->cand.p[i];
        struct tuned_row row = {.state = i == winner ? TUNED_WINNER : c->state,
                                .opts = arena_strdup(&en->arena, c->opts, strlen(c->opts)),
                                .predicted = c->predicted,
                                .measured = (double)c->least * 1e-9};
        vec_push(&en->arena, &r->row, row);
    }
    r->opts = r->row.p[winner].opts;
    r->text = arena_strdup(&en->arena, t->job->p->text, strlen(t->job->p->text));
    record_key(en, t->job->p, key);
    keep_record(en, key, r);
    struct str s;
    str_init(&s, &t->arena);
    print_record(&s, r, r->text);
    cache_write(&en->cache, &t->arena, arena_printf(&t->arena, "tuned-%s", key), s.p, s.n);
    const char *now = arena_printf(&t->arena, "%s %llu", key, (unsigned long long)os_now_ns());
    cache_write(&en->cache, &t->arena, SEARCH_LATEST, now, strlen(now)); /* plans on disk are made anew */
}

static void search(void *arg) {
    struct tune *t = arg;
    uint64_t t0 = os_now_ns();
    ir_init(&t->ir, &t->arena);
    map_init(&t->seen, &t->arena);
    t->kernel = t->job->p->kernel;
    t->kernel.sink = ir_import(&t->ir, t->job->p->ir, t->job->p->kernel.sink);
    if (!(t->list = engine_list_new(t->en, &t->err))) err_throw(&t->err, t->err.code, "%s", t->err.msg);
    make_copies(t);
    use_first(t);
    restore(t);
    t->cand.p[0].least = RG_MIN(t->cand.p[0].least, engine_list_time(t->list, 0, 1));
    if (t->cand.p[0].least >= TOO_SHORT_NS) {
        uint32_t lists = (uint32_t)RG_MIN(RG_MAX(24 * t->beam, 48), MOST_LISTS);
        step(t, t->job->opts, lists);
        step(t, t->cand.p[fastest(t)].opts, lists / 2);
    }
    uint32_t winner = fastest(t);
    remember(t, winner, (double)(os_now_ns() - t0) * 1e-9);
    log_line(2, "searched %s: %.2f us -> %.2f us, %u tried, %u refused, %.2f s", t->kernel.name,
             (double)t->cand.p[0].least / 1e3, (double)t->cand.p[winner].least / 1e3, t->cand.n, t->wrong,
             (double)(os_now_ns() - t0) * 1e-9);
    t->en->stats.searched++;
    t->en->stats.refused += t->wrong;
    t->cand.p[0].k = t->cand.p[winner].k;
}

int tune_kernel(struct engine *en, struct err *e, const struct tune_job *job, const struct ekernel **best) {
    const struct tuned *known = tune_find(en, job->p);
    struct tune t = {.en = en, .job = job, .beam = tune_beam(en), .threads = en->ops->workers(en->dev)};
    *best = job->k;
    if (known && known->beam >= t.beam && env_int(ENV_TUNED)) return 0;
    arena_init(&t.arena, &t.err);
    int code = err_guard(&t.err, search, &t);
    if (code) err_set(e, code, "%s", t.err.msg);
    if (!code) *best = t.cand.p[0].k;
    free_copies(&t);
    engine_list_free(t.list);
    arena_free(&t.arena);
    return code;
}

struct tune_call {
    struct engine *en;
    const struct engine_tune_call *c;
    struct sched_prog *p;
    const struct tuned *out;
};

static void tune_guarded(void *arg) {
    struct tune_call *x = arg;
    const struct engine_tune_call *c = x->c;
    struct ir *ir = c->ir;
    struct err e = {0};
    struct linear lin;
    const struct linear *one = &lin;
    const struct ekernel *k, *best;
    struct str text;
    str_init(&text, ir->arena);
    ir_print(&text, ir, c->kernel->sink);
    *x->p = (struct sched_prog){
        .ir = ir, .kernel = *c->kernel, .nbuf = c->nbuf, .nvar = c->nvar, .text = text.p, .share = 1};
    uint32_t *same = arena_array(ir->arena, uint32_t, c->nbuf + 1);
    for (uint32_t i = 0; i < c->nbuf; i++)
        while (c->buf[same[i]] != c->buf[i]) same[i]++;
    struct tune_job job = {.p = x->p,
                           .opts = heuristic(x->en, x->p),
                           .buf = c->buf,
                           .var = c->var,
                           .bytes = c->bytes,
                           .dt = c->dt,
                           .use = prog_uses(ir->arena, x->p),
                           .same = same};
    struct lower_opts how = {.opts = job.opts};
    prog_target(x->en, &how);
    prog_lower(x->p, ir, c->kernel, &how, &lin);
    if (plans_model(x->en, &e) || engine_compile(x->en, &e, &one, 1, &k))
        err_throw(ir->err, e.code, "%s", e.msg);
    job.k = k;
    if (tune_kernel(x->en, &e, &job, &best)) err_throw(ir->err, e.code, "%s", e.msg);
    x->out = tune_find(x->en, x->p);
}

int engine_tune(struct engine *en, struct err *e, const struct engine_tune_call *c,
                const struct tuned **out) {
    struct sched_prog p;
    struct tune_call x = {en, c, &p, NULL};
    struct err *inner = c->ir->err;
    *out = NULL;
    if (!can_search(en))
        return err_set(e, RG_EUNSUPPORTED, "device %s runs nothing: there is nothing to search for",
                       en->ops->name);
    int code = err_guard(inner, tune_guarded, &x);
    *out = x.out;
    return code && e != inner ? err_set(e, code, "%s", inner->msg) : code;
}

/* ---- for people -------------------------------------------------------------------------------------------------------- */

void engine_tuned(struct engine *en, struct arena *a, tuned_vec *out) {
    const char *const *name;
    uint32_t n = cache_list(&en->cache, a, "tuned-", &name);
    *out = (tuned_vec){0};
    for (uint32_t i = 0; i < n; i++) {
        size_t bytes;
        struct tuned *t = arena_new(a, struct tuned);
        char *data = cache_read(&en->cache, a, name[i], &bytes);
        if (!data || !parse_record(a, data, t)) continue;
        snprintf(t->key, sizeof t->key, "%s", name[i] + strlen("tuned-"));
        vec_push(a, out, t);
    }
}
