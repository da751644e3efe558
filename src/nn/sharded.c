/* sharded.c: checkpoints that all ranks write together, and that any number of ranks reads.
 *
 *     PATH                                   written last: ranks, generation, and the shape of every entry
 *     PATH-GENERATION-RANK-of-RANKS          each rank's part of every entry: its elements in order, 1 / ranks of them
 *
 * All are safetensors, written to the side and renamed. PATH is renamed when every rank's file is there: whatever is killed, PATH
 * names a whole checkpoint, the old or the new one. Files of the generation before go afterwards.
 * Reading takes the elements that a rank needs from the files that have them: its part of what it keeps a part of (shard.c), else all.
 * Tests: tests/unit/world_shard.c (world_shard_checkpoint*) */
#include "nn.h"

enum { FILE_PATH = 1024, NAME = NN_PATH + 16 };

struct sharded_entry {
    rg_tensor t;
    char *name;
    struct nn_whole whole;
    int64_t elements; /* of the whole */
    bool part;        /* t is this rank's part */
};
struct sharded {
    rg_ctx *c;
    rg_world *w;
    const char *fn, *path;
    struct sharded_entry *entry;
    size_t n;
    int64_t rank, ranks;
};

/* ---- what there is ------------------------------------------------------------------------------------------------ */

static void release(struct sharded *s) {
    for (size_t i = 0; i < s->n; i++) mem_free(s->entry[i].name);
    mem_free(s->entry);
}

static void add(AT, struct sharded *s, const char *kind, const char *name, rg_tensor t, struct api_shard how,
                const struct nn_whole *whole) {
    char full[NAME];
    struct sharded_entry *e = &s->entry[s->n];
    snprintf(full, sizeof full, "%s.%s", kind, name);
    *e = (struct sharded_entry){.t = t, .elements = rg_size_at(HERE, t)};
    e->whole.rank = rg_shape_of_at(HERE, t, e->whole.d, NN_RANK);
    if (how.split == SPLIT_TENSOR)
        api_fail(s->c, HERE, s->fn, RG_EUNSUPPORTED,
                 "%s is a slice of a tensor parallel layer; save each rank's with rg_nn_save", name);
    if (how.split) {
        e->part = true, e->elements = how.elements;
        e->whole = whole ? *whole : (struct nn_whole){{how.elements}, 1};
    }
    if (rg_status_of(s->c) || !(e->name = nn_text(s->c, HERE, s->fn, full))) return;
    s->n++;
}

static void add_module(AT, struct sharded *s, const rg_module *m, const char *path) {
    for (uint32_t i = 0; i < m->entries && !rg_status_of(s->c); i++) {
        const struct nn_entry *e = &m->entry[i];
        char name[NN_PATH];
        struct api_shard how = api_shard_of(e->t);
        if (how.split == SPLIT_STATE) how.split = SPLIT_NONE; /* whole on every rank */
        snprintf(name, sizeof name, "%s%s%s", path, *path ? "." : "", e->name);
        add(HERE, s, "net", name, e->t, how, &e->whole);
    }
    for (uint32_t i = 0; i < m->children && !rg_status_of(s->c); i++) {
        char below[NN_PATH];
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "." : "", m->child[i]->name);
        add_module(HERE, s, m->child[i], below);
    }
}

static bool collect(AT, struct sharded *s, rg_module *m, rg_optim *o) {
    size_t most = rg_nn_entries(m) + rg_optim_entries(o);
    s->entry = mem_alloc((most + 1) * sizeof *s->entry);
    s->rank = rg_world_rank(s->w), s->ranks = rg_world_size(s->w);
    if (!s->path || !*s->path) return api_fail(s->c, HERE, s->fn, RG_EINVAL, "the path is empty"), false;
    if (!s->entry) return api_fail(s->c, HERE, s->fn, RG_ENOMEM, "out of memory"), false;
    add_module(HERE, s, m, "");
    for (size_t i = 0; i < rg_optim_entries(o) && !rg_status_of(s->c); i++) {
        const char *name;
        rg_tensor t = rg_optim_entry(o, i, &name);
        add(HERE, s, "optim", name, t, nn_optim_shard(o, i), NULL);
    }
    return !rg_status_of(s->c);
}

/* ---- files --------------------------------------------------------------------------------------------------------- */

static void file_name(const struct sharded *s, char out[FILE_PATH], int64_t generation, int64_t rank,
                      int64_t ranks) {
    snprintf(out, FILE_PATH, "%s-%lld-%05lld-of-%05lld", s->path, (long long)generation, (long long)rank + 1,
             (long long)ranks);
}

struct sharded_index {
    int64_t ranks, generation;
};

static int64_t number_in(AT, rg_file *f, const char *name) {
    rg_tensor t = rg_file_get_at(HERE, f, name);
    return (int64_t)rg_item_at(HERE, t);
}

static struct sharded_index read_index(AT, rg_file *f) {
    return (struct sharded_index){number_in(HERE, f, "ranks"), number_in(HERE, f, "generation")};
}

/* How many elements of e rank r of `ranks` has, and the first of them. */
static int64_t range_of(const struct sharded_entry *e, int64_t r, int64_t ranks, int64_t *from) {
    int64_t s = (e->elements + ranks - 1) / ranks;
    *from = RG_MIN(r * s, e->elements);
    return RG_MIN((r + 1) * s, e->elements) - *from;
}

/* ---- saving ---------------------------------------------------------------------------------------------------------- */

static rg_tensor flat(AT, rg_tensor t) { return rg_reshape_at(HERE, t, (rg_ints){(const int64_t[]){-1}, 1}); }

static void save_parts(AT, const struct sharded *s, int64_t generation) {
    rg_tensor *t = mem_alloc((s->n + 1) * sizeof *t);
    const char **name = mem_alloc((s->n + 1) * sizeof *name);
    char path[FILE_PATH];
    size_t n = 0;
    for (size_t i = 0; t && name && i < s->n; i++) {
        const struct sharded_entry *e = &s->entry[i];
        int64_t from, many = range_of(e, s->rank, s->ranks, &from);
        if (!many) continue;
        name[n] = e->name;
        t[n++] = rg_narrow_at(HERE, flat(HERE, e->t), 0, e->part ? 0 : from, many);
    }
    if (t && name) {
        name[n] = "rank", t[n++] = rg_integer_at(HERE, s->c, RG_I64, s->rank); /* a file has something */
        file_name(s, path, generation, s->rank, s->ranks);
        rg_save_at(HERE, path, name, (rg_tensors){t, n});
    } else {
        api_fail(s->c, HERE, s->fn, RG_ENOMEM, "out of memory");
    }
    mem_free(t), mem_free(name);
}

static void save_index(AT, const struct sharded *s, int64_t generation) {
    rg_tensor *t = mem_alloc((s->n + 2) * sizeof *t);
    const char **name = mem_alloc((s->n + 2) * sizeof *name);
    for (size_t i = 0; t && name && i < s->n; i++) {
        const struct sharded_entry *e = &s->entry[i];
        int64_t d[NN_RANK + 1] = {e->whole.rank};
        memcpy(d + 1, e->whole.d, (size_t)e->whole.rank * sizeof *d);
        name[i] = e->name;
        t[i] = rg_from_at(HERE, s->c, RG_I64, d, (rg_ints){(const int64_t[]){e->whole.rank + 1}, 1});
    }
    if (t && name) {
        name[s->n] = "ranks", t[s->n] = rg_integer_at(HERE, s->c, RG_I64, s->ranks);
        name[s->n + 1] = "generation", t[s->n + 1] = rg_integer_at(HERE, s->c, RG_I64, generation);
        rg_save_at(HERE, s->path, name, (rg_tensors){t, s->n + 2});
    }
    mem_free(t), mem_free(name);
}

/* The checkpoint that is there; ranks 0: none. A file that is no checkpoint is an error. */
static struct sharded_index before(AT, const struct sharded *s) {
    struct sharded_index i = {0};
    if (!os_exists(s->path)) return i;
    rg_file *f = rg_file_open_at(HERE, s->c, s->path);
    if (f) i = read_index(HERE, f);
    rg_file_close(f);
    return i;
}

/* Rank 0 knows what is there; all get the next number. */
static int64_t next_generation(AT, const struct sharded *s, struct sharded_index *old) {
    if (!s->rank) *old = before(HERE, s);
    rg_tensor next = rg_integer_at(HERE, s->c, RG_I64, old->generation + 1);
    if (s->w) next = rg_broadcast_at(HERE, next, s->w, 0);
    return (int64_t)rg_item_at(HERE, next);
}

static void save_all(AT, const struct sharded *s) {
    struct sharded_index old = {0};
    char path[FILE_PATH];
    int64_t generation = next_generation(HERE, s, &old);
    if (rg_status_of(s->c)) return;
    save_parts(HERE, s, generation);
    if (s->w && !rg_status_of(s->c)) rg_barrier_at(HERE, s->w);
    if (!s->rank && !rg_status_of(s->c)) save_index(HERE, s, generation);
    if (s->w && !rg_status_of(s->c)) rg_barrier_at(HERE, s->w);
    for (int64_t r = 0; r < old.ranks && !rg_status_of(s->c); r++) {
        file_name(s, path, old.generation, r, old.ranks);
        os_remove(path);
    }
}

rg_status rg_nn_save_sharded_at(AT, rg_module *m, rg_optim *o, rg_world *w, const char *path) {
    if (!m) return RG_EINVAL;
    struct sharded s = {.c = m->c, .w = w, .fn = "rg_nn_save_sharded", .path = path};
    if (rg_status_of(s.c)) return rg_status_of(s.c);
    rg_scope scope = rg_begin(s.c);
    if (collect(HERE, &s, m, o)) save_all(HERE, &s);
    rg_end(scope);
    release(&s);
    return rg_status_of(s.c);
}

/* ---- loading ----------------------------------------------------------------------------------------------------------- */

static bool fits(AT, const struct sharded *s, const struct sharded_entry *e, rg_file *index) {
    int64_t d[NN_RANK + 1] = {0};
    bool there = false;
    for (size_t i = 0; i < rg_file_count(index) && !there; i++)
        there = !strcmp(rg_file_name(index, i), e->name);
    if (!there)
        return api_fail(s->c, HERE, s->fn, RG_EINVAL, "%s has no %s: it is of another network or optimiser",
                        s->path, e->name),
               false;
    rg_tensor t = rg_file_get_at(HERE, index, e->name);
    if (rg_size_at(HERE, t) > NN_RANK + 1 || rg_read_at(HERE, t, d, (size_t)rg_bytes_at(HERE, t)))
        return false;
    if (d[0] == e->whole.rank && !memcmp(d + 1, e->whole.d, (size_t)d[0] * sizeof *d)) return true;
    int64_t elements = 1;
    for (int64_t i = 0; i < d[0]; i++) elements *= d[i + 1];
    if (elements == e->elements && !strncmp(e->name, "optim.", 6)) return true; /* a part's state is flat */
    api_fail(s->c, HERE, s->fn, RG_EINVAL, "%s has %lld elements in %s and %lld here, or another shape",
             e->name, (long long)elements, s->path, (long long)e->elements);
    return false;
}

/* The elements that this rank needs, from all files that have some. */
static void load_entry(AT, const struct sharded *s, const struct sharded_entry *e, rg_file *const *in,
                       int64_t files) {
    rg_tensor *piece = mem_alloc((size_t)(files + 1) * sizeof *piece);
    int64_t first = 0, many = e->elements, n = 0;
    if (e->part) many = range_of(e, s->rank, s->ranks, &first);
    for (int64_t r = 0; piece && r < files; r++) {
        int64_t from, has = range_of(e, r, files, &from), a = RG_MAX(from, first),
                      b = RG_MIN(from + has, first + many);
        if (a >= b) continue;
        rg_tensor t = rg_file_get_at(HERE, in[r], e->name);
        piece[n++] = rg_narrow_at(HERE, t, 0, a - from, b - a);
    }
    if (piece && n && !rg_status_of(s->c)) {
        rg_tensor x = n > 1 ? rg_cat_at(HERE, (rg_tensors){piece, (size_t)n}, 0) : piece[0];
        int64_t d[NN_RANK], rank = rg_shape_of_at(HERE, e->t, d, NN_RANK),
                            more = rg_size_at(HERE, e->t) - many;
        if (more > 0) x = rg_pad_at(HERE, x, (rg_ints){(const int64_t[]){0, more}, 2}, 0);
        rg_assign_at(HERE, e->t, TENSOR(rg_reshape_at(HERE, x, (rg_ints){d, (size_t)rank})));
        rg_realize_at(HERE, e->t);
    }
    mem_free(piece);
}

static void load_files(AT, const struct sharded *s, struct sharded_index index) {
    rg_file **in = mem_alloc((size_t)index.ranks * sizeof *in);
    int64_t open = 0;
    for (; in && open < index.ranks && !rg_status_of(s->c); open++) {
        char path[FILE_PATH];
        file_name(s, path, index.generation, open, index.ranks);
        in[open] = rg_file_open_at(HERE, s->c, path);
    }
    for (size_t i = 0; in && i < s->n && !rg_status_of(s->c); i++) {
        rg_scope scope = rg_begin(s->c);
        load_entry(HERE, s, &s->entry[i], in, index.ranks);
        rg_end(scope);
    }
    while (in && open-- > 0) rg_file_close(in[open]);
    if (!in) api_fail(s->c, HERE, s->fn, RG_ENOMEM, "out of memory");
    mem_free(in);
}

rg_status rg_nn_load_sharded_at(AT, rg_module *m, rg_optim *o, rg_world *w, const char *path) {
    enum { MOST = 65536 };
    if (!m) return RG_EINVAL;
    struct sharded s = {.c = m->c, .w = w, .fn = "rg_nn_load_sharded", .path = path};
    if (rg_status_of(s.c)) return rg_status_of(s.c);
    rg_scope scope = rg_begin(s.c);
    rg_file *f = collect(HERE, &s, m, o) ? rg_file_open_at(HERE, s.c, path) : NULL;
    if (f) {
        struct sharded_index index = read_index(HERE, f);
        bool good = !rg_status_of(s.c) && index.ranks >= 1 && index.ranks <= MOST;
        if (!good) api_fail(s.c, HERE, s.fn, RG_EPARSE, "%s is no checkpoint of ranks", path);
        for (size_t i = 0; i < s.n && good; i++) good = fits(HERE, &s, &s.entry[i], f);
        if (good) load_files(HERE, &s, index);
        rg_file_close(f);
    }
    rg_end(scope);
    release(&s);
    return rg_status_of(s.c);
}
