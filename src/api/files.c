/* files.c: tensors from files and to files.
 *
 * Loading is two steps: src/io reads and checks the file into memory of its own, then that becomes a tensor as in rg_from.
 * The memory is held here, outside the steps, because an error unwinds past whoever holds it inside.
 * Saving computes all tensors in one plan, makes the header, and only then opens the file; from there on nothing
 * unwinds. A file is complete or not there (os_out): an error leaves what had the name before.
 * Tests: tests/unit/api_files.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

_Static_assert((int)IO_BOOL == (int)RG_BOOL && (int)IO_F16 == (int)RG_F16 && (int)IO_COUNT == (int)RG_DTYPES,
               "src/io numbers element types as rg_dtype does");
_Static_assert(IO_AXES == SHAPE_MAX, "a shape holds what src/io accepts");

static void need_path(struct api_call *k, const char *path) {
    if (!path || !*path) call_fail(k, RG_EINVAL, "the path is %s", path ? "empty" : "NULL");
}

/* ---- one array per file ------------------------------------------------------------------------------------ */

struct load {
    const char *path;
    int (*load)(struct err *, const char *path, struct io_data *);
    struct io_data x;
};

static void do_load(struct api_call *k) {
    struct load *l = k->p;
    need_path(k, l->path);
    l->load(&k->c->err, l->path, &l->x);
}

/* k is a call with a context; `work` reads the data into k's struct load, the second part takes it in. */
static rg_tensor load_tensor(struct api_call *k, void (*work)(struct api_call *)) {
    struct load *l = k->p;
    struct api_call in = *k;
    rg_tensor out = k->c ? poison(k->c) : RG_NONE;
    if (!call_work(k, work)) {
        in.p = l->x.p, in.ints = (rg_ints){l->x.a.d, l->x.a.rank};
        in.i[0] = (int64_t)l->x.a.type, in.build = build_from;
        out = call_tensor(&in);
    }
    io_data_free(&l->x);
    return out;
}

rg_tensor rg_load_idx_at(AT, rg_ctx *c, const char *path) {
    struct load l = {.path = path, .load = io_idx_load};
    return load_tensor(CALL(load_idx, .c = c, .p = &l), do_load);
}

rg_tensor rg_load_npy_at(AT, rg_ctx *c, const char *path) {
    struct load l = {.path = path, .load = io_npy_load};
    return load_tensor(CALL(load_npy, .c = c, .p = &l), do_load);
}

/* ---- many, by name -------------------------------------------------------------------------------------------- */

struct rg_file {
    rg_ctx *c;
    struct io_archive a;
};

static void file_free(void *obj) {
    rg_file *f = obj;
    io_archive_close(&f->a);
    mem_free(f);
}

struct opening {
    const char *path;
    rg_file *f;
};

static void do_open(struct api_call *k) {
    struct opening *o = k->p;
    need_path(k, o->path);
    rg_file *f = mem_alloc(sizeof *f);
    if (!f) call_fail(k, RG_ENOMEM, "out of memory: cannot open %s", o->path);
    f->c = k->c;
    if (io_archive_open(&k->c->err, o->path, &f->a)) {
        file_free(f);
        return;
    }
    ctx_own(k->c, f, file_free);
    o->f = f;
}

rg_file *rg_file_open_at(AT, rg_ctx *c, const char *path) {
    struct opening o = {.path = path};
    return call_work(CALL(file_open, .c = c, .p = &o), do_open) ? NULL : o.f;
}

void rg_file_close(rg_file *f) {
    if (!f) return;
    ctx_disown(f->c, f);
    file_free(f);
}

size_t rg_file_count(const rg_file *f) { return f ? f->a.index.n : 0; }
const char *rg_file_name(const rg_file *f, size_t i) {
    return i < rg_file_count(f) ? f->a.index.t[i].name : NULL;
}
const char *rg_file_note(const rg_file *f, const char *key) {
    return f && key ? io_index_note(&f->a.index, key) : NULL;
}

struct getting {
    struct load l; /* first: load_tensor knows it as that */
    rg_file *f;
    const char *name;
};

static void do_get(struct api_call *k) {
    struct getting *g = k->p;
    const struct io_index *x = &g->f->a.index;
    if (!g->name) call_fail(k, RG_EINVAL, "the name is NULL");
    const struct io_tensor *t = io_index_find(x, g->name);
    if (!t)
        call_fail(k, RG_EINVAL, "%s has no tensor '%.200s'; it has %u%s%.200s%s", g->f->a.path, g->name, x->n,
                  x->n ? ", the first is '" : "", x->n ? x->t[0].name : "", x->n ? "'" : "");
    io_archive_read(&k->c->err, &g->f->a, t, &g->l.x);
}

rg_tensor rg_file_get_at(AT, rg_file *f, const char *name) {
    struct getting g = {.f = f, .name = name};
    return f ? load_tensor(CALL(file_get, .c = f->c, .p = &g), do_get) : RG_NONE;
}

/* ---- saving ----------------------------------------------------------------------------------------------------- */

#define CHUNK ((size_t)16 << 20) /* bytes on their way from the device to the file */

struct save {
    const char *path;
    const char *const *names; /* of a safetensors file */
    bool npy;
};

/* Computes the tensors; `a` says what each is, `from` where its bytes are. */
static void collect(struct api_call *k, struct io_array *a, const char **from) {
    rg_ctx *c = k->c;
    uint32_t n = (uint32_t)k->list.n;
    call_collect(k);
    k->many = arena_array(&c->scratch, const uop *, n);
    for (uint32_t i = 0; i < n; i++) k->many[i] = call_slot(k, k->list.t[i], i)->node;
    for (uint32_t i = 0; i < n; i++) {
        const struct shape *sh = tg_shape(k->g, k->many[i]);
        a[i] = (struct io_array){.type = (enum io_type)call_dtype_out((enum dtype)k->many[i]->dt),
                                 .rank = sh->n,
                                 .bytes = store_bytes(c, k->many[i])};
        memcpy(a[i].d, sh->d, sh->n * sizeof *sh->d);
    }
    for (uint32_t i = 0; i < n; i++) k->many[i] = behind_shapes(c, k->many[i]);
    realize_nodes(k, k->many, n, false, NULL);
    for (uint32_t i = 0; i < n; i++) { /* the graph may have moved */
        const uop *b = behind_shapes(c, call_slot(k, k->list.t[i], i)->node);
        from[i] = a[i].bytes ? c->store[store_of(b)].mem : NULL;
    }
}

static void check_names(struct api_call *k, const char *const *names) {
    struct map seen;
    uint64_t other;
    if (!names) call_fail(k, RG_EINVAL, "the list of names is NULL");
    map_init(&seen, &k->c->scratch);
    for (size_t i = 0; i < k->list.n; i++) {
        if (!names[i]) call_fail(k, RG_EINVAL, "name %zu is NULL", i + 1);
        size_t n = strlen(names[i]);
        if (!io_utf8(names[i], n)) call_fail(k, RG_EINVAL, "name %zu is not valid UTF-8", i + 1);
        if (!strcmp(names[i], "__metadata__"))
            call_fail(k, RG_EINVAL, "the name '__metadata__' has another meaning in a safetensors file");
        uint64_t h = hash_bytes(names[i], n, 1);
        while (map_get(&seen, h, &other)) {
            if (!strcmp(names[other], names[i]))
                call_fail(k, RG_EINVAL, "tensors %zu and %zu are both named '%.200s'", (size_t)other + 1,
                          i + 1, names[i]);
            h++; /* another name with the same hash */
        }
        map_put(&seen, h, i);
    }
}

/* Does not throw: it holds a file and memory. */
static void write_file(rg_ctx *c, const char *path, const struct str *head, const struct io_array *a,
                       const char *const *from, const uint32_t *order, uint32_t n) {
    struct os_out o;
    size_t most = 0;
    for (uint32_t i = 0; i < n; i++) most = RG_MAX(most, (size_t)a[i].bytes);
    size_t room = RG_MIN(most, CHUNK);
    void *stage = os_pages(room);
    if (!stage) err_set(&c->err, RG_ENOMEM, "out of memory: no %zu bytes to copy through", room);
    os_out_begin(&c->err, &o, path, 0666);
    os_out_add(&c->err, &o, head->p, head->n);
    for (uint32_t i = 0; i < n; i++) {
        const struct io_array *x = &a[order[i]];
        for (size_t at = 0; at < x->bytes && !c->err.code; at += room) {
            size_t k = RG_MIN(room, (size_t)x->bytes - at);
            if (!engine_copy(c->engine, &c->err, COPY_OUT, stage, from[order[i]] + at, k))
                os_out_add(&c->err, &o, stage, k);
        }
    }
    os_out_end(&c->err, &o);
    os_pages_free(stage, room);
}

static void do_save(struct api_call *k) {
    struct save *s = k->p;
    struct arena *tmp = &k->c->scratch;
    uint32_t n = (uint32_t)k->list.n, *order = arena_array(tmp, uint32_t, n);
    struct io_array *a = arena_array(tmp, struct io_array, n);
    const char **from = arena_array(tmp, const char *, n);
    struct str head;
    need_path(k, s->path);
    if (!s->npy) check_names(k, s->names);
    collect(k, a, from);
    str_init(&head, tmp);
    if (s->npy && !*io_type_info[a->type].npy)
        call_fail(k, RG_EUNSUPPORTED,
                  "NumPy has no type of 8 bits for floats; save it as safetensors, or cast it");
    if (s->npy)
        io_npy_header(&head, a);
    else
        io_safetensors_header(&head, s->names, a, n, order);
    write_file(k->c, s->path, &head, a, from, order, n);
}

rg_status rg_save_at(AT, const char *path, const char *const *names, rg_tensors xs) {
    struct save s = {.path = path, .names = names};
    if (!xs.n || !xs.t || xs.n > UINT32_MAX / 2) return RG_EINVAL;
    return call_work(CALL(save, .list = xs, .p = &s), do_save);
}

rg_status rg_save_npy_at(AT, rg_tensor x, const char *path) {
    struct save s = {.path = path, .npy = true};
    bool temporary = x.id & TEMPORARY;
    x.id &= ~TEMPORARY;
    rg_status st = call_work(CALL(save_npy, .list = {&x, 1}, .p = &s), do_save);
    if (temporary) rg_free(x);
    return st;
}
