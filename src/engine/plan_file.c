/* plan_file.c: a plan without addresses, and its file.
 *
 * A recipe is everything about a plan that can be written down: the text of its kernels, which of them is called on which
 * buffers and numbers, the figures. It is made of a schedule (realize.c) or read from the disk cache, and a plan is
 * put together from it in one way. A program that ran before is therefore neither planned nor lowered when a process
 * starts: its kernels' texts are looked up like any others, and compiled again if their objects are gone.
 * The file's name is the SHA-256 of everything that decides a plan: the key (key.c: nodes, settings, machine model), the
 * compiler, the file that holds this library, and the latest result of a search, since plans use what was found. The
 * cache (cache.c) trusts only files of this user with the right checksum and the name that they were written under. What is in
 * a file must fit the program, too, and kernels that do not compile are planned anew (realize.c).
 * One function, `fields`, says what is in a file; it writes or reads, so that the two cannot differ.
 * Nothing is read or written while a person looks (DEBUG, DUMP), a search runs or a test spoils kernels.
 * Tests: tests/unit/plan_file.c */
#include "engine/internal.h"

#define RECIPE_FORMAT "ridge-plan 4"

/* ---- one description for both directions ------------------------------------------------------------------ */

struct plan_stream {
    struct arena *a;
    struct str *out; /* writing; else .. */
    const char *in;
    size_t n, at;
    bool bad;
};

static void raw(struct plan_stream *f, void *p, size_t n) {
    if (f->out) {
        str_addn(f->out, (const char *)p, n);
    } else if (f->bad || n > f->n - f->at) {
        f->bad = true;
        memset(p, 0, n);
    } else {
        memcpy(p, f->in + f->at, n);
        f->at += n;
    }
}

static void field32(struct plan_stream *f, uint32_t *x) { raw(f, x, sizeof *x); }

/* n items of `size` bytes at *p; allocated when reading. Each takes at least `least` bytes of the file. */
static void array(struct plan_stream *f, void **p, uint32_t *n, size_t size, size_t least) {
    field32(f, n);
    if (f->out) return;
    if (*n > (f->n - f->at) / least) f->bad = true;
    if (f->bad) *n = 0;
    *p = arena_alloc(f->a, ((size_t)*n + 1) * size);
}
#define ARRAY(f, x, count, least) array(f, (void **)&(x), count, sizeof *(x), least)

static void text(struct plan_stream *f, const char **s) {
    uint32_t n = f->out ? (uint32_t)strlen(*s) : 0;
    field32(f, &n);
    if (f->out) {
        str_addn(f->out, *s, n);
    } else {
        if (n > f->n - f->at) f->bad = true;
        if (f->bad) n = 0;
        *s = arena_strdup(f->a, f->in + f->at, n);
        f->at += n;
    }
}

/* Plain numbers side by side: the format is that of one build of the library on one machine. */
static void numbers(struct plan_stream *f, const void *p, uint32_t *n, size_t size) {
    void **at = (void **)(uintptr_t)p;
    array(f, at, n, size, size);
    raw(f, *at, *n * size);
}

static void kernel_fields(struct plan_stream *f, struct recipe_kernel *k) {
    text(f, &k->t.name);
    text(f, &k->t.text);
    text(f, &k->opts);
    text(f, &k->graph);
    text(f, &k->builtin);
    raw(f, &k->predicted, sizeof k->predicted);
    struct etext t = k->t;
    t.name = t.text = NULL;
    raw(f, &t, sizeof t);
    t.name = k->t.name, t.text = k->t.text;
    k->t = t;
    ARRAY(f, k->type, &k->ntype, sizeof(uint32_t));
    for (uint32_t i = 0; i < k->ntype; i++) text(f, &k->type[i]);
    raw(f, &k->rows, sizeof k->rows);
    raw(f, k->num, sizeof k->num);
}

static void call_fields(struct plan_stream *f, struct recipe_call *c) {
    field32(f, &c->kernel);
    numbers(f, &c->buf, &c->nbuf, sizeof *c->buf);
    numbers(f, &c->var, &c->nvar, sizeof *c->var);
    numbers(f, &c->node, &c->nodes, sizeof *c->node);
    text(f, &c->name);
    raw(f, &c->writes, sizeof c->writes);
    text(f, &c->shapes);
}

static void value_fields(struct plan_stream *f, struct recipe_value *v) {
    raw(f, &v->asked, sizeof v->asked);
    raw(f, &v->offset, sizeof v->offset);
    field32(f, &v->first), field32(f, &v->last), field32(f, &v->writer), field32(f, &v->node);
    numbers(f, &v->reader, &v->readers, sizeof *v->reader);
    text(f, &v->shape);
}

static void fields(struct plan_stream *f, struct recipe *r) {
    raw(f, &r->stats, sizeof r->stats);
    raw(f, &r->temp_bytes, sizeof r->temp_bytes);
    numbers(f, &r->table, &r->table_n, sizeof *r->table);
    numbers(f, &r->copy, &r->ncopy, sizeof *r->copy);
    ARRAY(f, r->kernel, &r->nkernel, sizeof(struct etext));
    for (uint32_t i = 0; i < r->nkernel; i++) kernel_fields(f, &r->kernel[i]);
    ARRAY(f, r->call, &r->ncall, 4 * sizeof(uint32_t));
    for (uint32_t i = 0; i < r->ncall; i++) call_fields(f, &r->call[i]);
    ARRAY(f, r->value, &r->nvalue, 2 * sizeof(int64_t));
    for (uint32_t i = 0; i < r->nvalue; i++) value_fields(f, &r->value[i]);
}

/* ---- what can be used ------------------------------------------------------------------------------------------ */

#define MOST_BYTES ((int64_t)1 << 46)

struct slots { /* of the program that the plan is for */
    uint32_t buffers, results, vars;
};

static struct slots slots_of(const struct plan_key *k) {
    struct slots s = {0};
    for (uint32_t i = 0; i < k->topo.n; i++) {
        const uop *n = k->topo.p[i];
        if (n->op == OP_BUFFER) s.buffers = RG_MAX(s.buffers, (uint32_t)n->arg.i + 1);
        if (n->op == OP_VAR) s.vars = RG_MAX(s.vars, (uint32_t)n->arg.param.slot + 1);
        if (n->op == OP_GRAPH) s.results = n->nsrc;
    }
    return s;
}

static bool buf_is_sound(const struct recipe *r, const struct slots *s, const struct recipe_buf *b) {
    int64_t held = b->kind == BUF_TEMP ? r->temp_bytes : (int64_t)r->table_n * 8;
    if (b->bytes > (uint64_t)MOST_BYTES || b->slice.offset < 0 || b->slice.bytes < 0 ||
        b->slice.bytes > (int64_t)b->bytes || b->slice.offset > (int64_t)b->bytes - b->slice.bytes)
        return false;
    switch (b->kind) {
    case BUF_GRAPH: return b->number < s->buffers;
    case BUF_RESULT: return b->number < s->results;
    case BUF_TEMP:
    case BUF_TABLE:
        return b->offset >= 0 && b->bytes <= (uint64_t)held && b->offset <= held - (int64_t)b->bytes;
    }
    return false;
}

static bool kernel_is_sound(const struct recipe_kernel *k) {
    const struct etext *t = &k->t;
    bool ok = t->nmap <= DEV_MAPS && t->scratch >= 0 && t->scratch < MOST_BYTES && t->grid >= 0;
    for (uint32_t i = 0; ok && i < t->nmap; i++) ok = t->map[i].slot < t->nbuf && t->map[i].rank <= DEV_AXES;
    return ok && (!*k->builtin || k->ntype > 0);
}

static bool call_is_sound(const struct recipe *r, const struct slots *s, const struct recipe_call *c) {
    if (c->kernel >= r->nkernel) return false;
    const struct recipe_kernel *k = &r->kernel[c->kernel];
    uint32_t bufs = *k->builtin ? k->ntype : k->t.nbuf;
    bool ok = c->nbuf == bufs && c->nvar <= (*k->builtin ? RG_COUNT(k->num) : k->t.nvar);
    for (uint32_t i = 0; ok && i < c->nbuf; i++) ok = buf_is_sound(r, s, &c->buf[i]);
    for (uint32_t i = 0; ok && i < c->nvar; i++) ok = c->var[i] < s->vars;
    return ok;
}

/* Every number in it names something that this program has. */
static bool is_sound(const struct recipe *r, const struct plan_key *k) {
    struct slots s = slots_of(k);
    bool ok = r->temp_bytes >= 0 && r->temp_bytes < MOST_BYTES;
    for (uint32_t i = 0; ok && i < r->nkernel; i++) ok = kernel_is_sound(&r->kernel[i]);
    for (uint32_t i = 0; ok && i < r->ncall; i++) ok = call_is_sound(r, &s, &r->call[i]);
    for (uint32_t i = 0; ok && i < r->ncopy; i++)
        ok = r->copy[i].result < s.results && buf_is_sound(r, &s, &r->copy[i].from);
    return ok;
}

/* ---- finding and keeping ------------------------------------------------------------------------------------ */

static bool wanted(const struct engine *en) {
    const char *dump = env_str(ENV_DUMP);
    return en->ops->kind == DEV_RUNS && en->cache.dir && !log_on(1) && !(dump && *dump) && !en->tuning_set &&
           !env_int(ENV_NOOPT) && engine_beam(en) == 0 && env_int(ENV_PLANS);
}

/* NULL: there is nothing to tell one build of the library from another by. */
static const char *file_of(struct engine *en, struct arena *a, const struct plan_key *k) {
    char stamp[64], hex[65];
    uint8_t sum[32];
    size_t n = 0;
    if (!os_self_stamp(stamp)) return NULL;
    const char *search = cache_read(&en->cache, a, SEARCH_LATEST, &n);
    struct sha256 s = en->base;
    sha256_add(&s, RECIPE_FORMAT, sizeof RECIPE_FORMAT);
    sha256_add(&s, stamp, strlen(stamp));
    if (search) sha256_add(&s, search, n);
    int choice[3] = {(int)env_int(ENV_TF32), (int)env_int(ENV_ATOMICS),
                     (int)env_int(ENV_F8_FAST)}; /* other opts, other kernels */
    sha256_add(&s, choice, sizeof choice);
    sha256_add(&s, k->p, k->n * sizeof *k->p);
    sha256_end(&s, sum);
    for (int i = 0; i < 32; i++) snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    return arena_printf(a, "plan-%s", hex);
}

struct name_call {
    struct engine *en;
    const struct plan_key *k;
    char name[80]; /* "": none */
};

/* The compiler's identity is asked for under the engine's own error record. Failing only means: no file. */
static void name_guarded(void *arg) {
    struct name_call *c = arg;
    compile_identity(c->en);
    const char *name = file_of(c->en, &c->en->work, c->k);
    if (name) snprintf(c->name, sizeof c->name, "%s", name);
}

static const char *name_of(struct engine *en, struct arena *a, const struct plan_key *k) {
    struct name_call c = {.en = en, .k = k};
    err_clear(&en->err);
    err_guard(&en->err, name_guarded, &c);
    arena_free(&en->work);
    err_clear(&en->err);
    return *c.name ? arena_strdup(a, c.name, strlen(c.name)) : NULL;
}

bool recipe_load(struct engine *en, struct arena *a, const struct plan_key *k, struct recipe *out) {
    const char *name = wanted(en) ? name_of(en, a, k) : NULL;
    size_t n = 0;
    *out = (struct recipe){.file = name};
    const char *data = name ? cache_read(&en->cache, a, name, &n) : NULL;
    if (!data) return false;
    struct plan_stream f = {.a = a, .in = data, .n = n};
    fields(&f, out);
    if (f.bad || f.at != f.n || !is_sound(out, k)) {
        cache_reject(&en->cache, name);
        *out = (struct recipe){.file = name};
        return false;
    }
    return true;
}

void recipe_save(struct engine *en, struct arena *a, const struct recipe *r) {
    struct recipe copy = *r;
    struct str s;
    if (!r->file) return;
    str_init(&s, a);
    struct plan_stream f = {.a = a, .out = &s};
    fields(&f, &copy);
    cache_write(&en->cache, a, r->file, s.p, s.n);
    cache_trim(&en->cache, a);
}
