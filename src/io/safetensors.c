/* safetensors.c: eight bytes with the length of a header, the header (JSON), the data of all tensors.
 *
 *     {"__metadata__": {"format": "pt"}, "h.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
 *
 * Everything that the reference implementation demands is demanded: a header of at most 100 MB that begins with '{' and is
 * valid UTF-8; each tensor exactly as long as its shape says; together they cover the data without holes or overlaps,
 * to the last byte of the file. On top of it names are unique, and unknown fields are refused.
 * Work grows as n log n with the header: names and offsets are sorted, nothing is compared pairwise.
 * When writing, data is laid out by the width of elements, the widest first, so that every tensor is aligned without
 * holes; the header, padded to a multiple of 8, keeps the order of the caller.
 * Tests: tests/unit/io.c (io_safetensors_*), tests/unit/api_files.c, tests/values/make_safetensors.py */
#include "text.h"

#include <stdlib.h>

#define HEADER_MAX 100000000u

struct st_file {
    struct arena *arena;
    const uint8_t *p;
    size_t n;
    uint64_t data;
    struct io_index *x;
    struct text_cursor t;
    VEC(struct io_tensor) tensors;
    VEC(struct io_note) notes;
    bool has_notes;
};

/* ---- the header -------------------------------------------------------------------------------------------- */

/* err_throw, with the tensor's name in front. */
static void RG_NORETURN RG_FMT(4, 5)
    bad_tensor(struct st_file *j, const char *name, int code, const char *fmt, ...) {
    char what[600];
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    err_throw(j->arena->err, code, "tensor '%.200s': %s", name, what);
}

static void take_type(struct st_file *j, struct io_tensor *t) {
    const char *name = tx_string(&j->t, j->arena);
    for (uint32_t i = 0; i < IO_COUNT; i++) {
        if (strcmp(name, io_type_info[i].safetensors)) continue;
        t->type = (enum io_type)i;
        return;
    }
    bad_tensor(j, t->name, RG_EUNSUPPORTED,
               "dtype %.40s; there are F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U64 U32 U16 U8 BOOL",
               name);
}

static void take_shape(struct st_file *j, struct io_tensor *t) {
    int64_t d[IO_AXES];
    tx_need(&j->t, '[');
    if (!tx_take(&j->t, ']')) {
        do {
            if (t->rank == IO_AXES) bad_tensor(j, t->name, RG_ELIMIT, "more than %d axes", IO_AXES);
            d[t->rank++] = (int64_t)tx_count(&j->t);
        } while (tx_take(&j->t, ','));
        tx_need(&j->t, ']');
    }
    int64_t *keep = arena_array(j->arena, int64_t, t->rank);
    memcpy(keep, d, t->rank * sizeof *d);
    t->d = keep;
}

static void take_tensor(struct st_file *j, const char *name) {
    static const char *const fields[] = {"dtype", "shape", "data_offsets"};
    struct io_tensor t = {.name = name};
    uint32_t seen = 0;
    tx_need(&j->t, '{');
    do {
        const char *key = tx_string(&j->t, j->arena);
        uint32_t f = 0;
        while (f < RG_COUNT(fields) && strcmp(key, fields[f])) f++;
        if (f == RG_COUNT(fields))
            bad_tensor(j, name, RG_EPARSE, "field '%.40s'; dtype, shape and data_offsets exist", key);
        if (seen >> f & 1) bad_tensor(j, name, RG_EPARSE, "%s appears twice", key);
        seen |= 1u << f;
        tx_need(&j->t, ':');
        if (f == 0) {
            take_type(j, &t);
        } else if (f == 1) {
            take_shape(j, &t);
        } else {
            tx_need(&j->t, '[');
            t.begin = tx_count(&j->t);
            tx_need(&j->t, ',');
            t.end = tx_count(&j->t);
            tx_need(&j->t, ']');
        }
    } while (tx_take(&j->t, ','));
    tx_need(&j->t, '}');
    if (seen != 7) bad_tensor(j, name, RG_EPARSE, "dtype, shape and data_offsets must all be there");
    vec_push(j->arena, &j->tensors, t);
}

static void take_notes(struct st_file *j) {
    if (j->has_notes) tx_bad(&j->t, "__metadata__ appears twice");
    j->has_notes = true;
    tx_need(&j->t, '{');
    if (tx_take(&j->t, '}')) return;
    do {
        struct io_note n = {.key = tx_string(&j->t, j->arena)};
        tx_need(&j->t, ':');
        n.text = tx_string(&j->t, j->arena);
        vec_push(j->arena, &j->notes, n);
    } while (tx_take(&j->t, ','));
    tx_need(&j->t, '}');
}

/* ---- what the header must satisfy ---------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct io_note *)a)->key, ((const struct io_note *)b)->key);
}
static int by_name(const void *a, const void *b) {
    return strcmp((*(const struct io_tensor *const *)a)->name, (*(const struct io_tensor *const *)b)->name);
}
static int by_offset(const void *a, const void *b) {
    const struct io_tensor *s = *(const struct io_tensor *const *)a, *t = *(const struct io_tensor *const *)b;
    if (s->begin != t->begin) return s->begin < t->begin ? -1 : 1;
    return s->end < t->end ? -1 : s->end > t->end;
}

static void check_size(struct st_file *j, const struct io_tensor *t) {
    struct io_array a = {.type = t->type, .rank = t->rank};
    if (t->rank) memcpy(a.d, t->d, t->rank * sizeof *t->d);
    if (t->end < t->begin || t->end > j->data)
        bad_tensor(j, t->name, RG_EPARSE, "bytes %llu..%llu are not inside the data, which has %llu",
                   (unsigned long long)t->begin, (unsigned long long)t->end, (unsigned long long)j->data);
    if (io_measure(j->arena->err, &a)) {
        err_prefix(j->arena->err, "tensor '%.200s': ", t->name);
        err_throw(j->arena->err, RG_ELIMIT, "too large");
    }
    if (a.bytes != t->end - t->begin)
        bad_tensor(j, t->name, RG_EPARSE, "its shape needs %llu bytes of %s; bytes %llu..%llu are %llu",
                   (unsigned long long)a.bytes, io_type_info[t->type].safetensors,
                   (unsigned long long)t->begin, (unsigned long long)t->end,
                   (unsigned long long)(t->end - t->begin));
}

static void check_cover(struct st_file *j, struct io_tensor **t, uint32_t n) {
    uint64_t at = 0;
    if (n > 1) qsort(t, n, sizeof *t, by_offset);
    for (uint32_t i = 0; i < n; at = t[i++]->end) {
        if (t[i]->begin < at)
            bad_tensor(j, t[i]->name, RG_EPARSE, "bytes %llu..%llu overlap those of '%.200s'",
                       (unsigned long long)t[i]->begin, (unsigned long long)t[i]->end, t[i - 1]->name);
        if (t[i]->begin > at)
            bad_tensor(j, t[i]->name, RG_EPARSE, "bytes %llu..%llu before it belong to no tensor",
                       (unsigned long long)at, (unsigned long long)t[i]->begin);
    }
    if (at != j->data)
        err_throw(j->arena->err, RG_EPARSE,
                  "the tensors have %llu bytes together; the file has %llu after its header",
                  (unsigned long long)at, (unsigned long long)j->data);
}

static void check_all(struct st_file *j) {
    uint32_t n = j->tensors.n, notes = j->notes.n;
    struct io_tensor **t = arena_array(j->arena, struct io_tensor *, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        check_size(j, &j->tensors.p[i]);
        t[i] = &j->tensors.p[i];
    }
    check_cover(j, t, n);
    if (n > 1) qsort(t, n, sizeof *t, by_name);
    for (uint32_t i = 1; i < n; i++)
        if (!strcmp(t[i - 1]->name, t[i]->name))
            bad_tensor(j, t[i]->name, RG_EPARSE, "this name appears twice");
    if (notes > 1) qsort(j->notes.p, notes, sizeof *j->notes.p, by_key);
    for (uint32_t i = 1; i < notes; i++)
        if (!strcmp(j->notes.p[i - 1].key, j->notes.p[i].key))
            err_throw(j->arena->err, RG_EPARSE, "__metadata__ has the key '%.200s' twice", j->notes.p[i].key);
    *j->x = (struct io_index){.t = j->tensors.p, .n = n, .sorted = t, .note = j->notes.p, .notes = notes};
}

static void parse(void *arg) {
    struct st_file *j = arg;
    j->t = (struct text_cursor){.err = j->arena->err, .start = j->p, .p = j->p, .end = j->p + j->n};
    if (!j->n || j->p[0] != '{') tx_bad(&j->t, "not a safetensors header: it does not begin with '{'");
    if (!io_utf8(j->p, j->n)) tx_bad(&j->t, "not a safetensors header: it is not valid UTF-8");
    tx_need(&j->t, '{');
    if (!tx_take(&j->t, '}')) {
        do {
            const char *name = tx_string(&j->t, j->arena);
            tx_need(&j->t, ':');
            if (!strcmp(name, "__metadata__"))
                take_notes(j);
            else
                take_tensor(j, name);
        } while (tx_take(&j->t, ','));
        tx_need(&j->t, '}');
    }
    tx_end(&j->t);
    check_all(j);
}

int io_safetensors_parse(struct arena *a, const void *json, size_t n, uint64_t data, struct io_index *x) {
    *x = (struct io_index){0};
    return err_guard(a->err, parse, &(struct st_file){.arena = a, .p = json, .n = n, .data = data, .x = x});
}

const struct io_tensor *io_index_find(const struct io_index *x, const char *name) {
    struct io_tensor key = {.name = name}, *p = &key, **t = NULL;
    if (x->n) t = bsearch(&p, x->sorted, x->n, sizeof p, by_name);
    return t ? *t : NULL;
}

const char *io_index_note(const struct io_index *x, const char *key) {
    struct io_note want = {.key = key}, *n = NULL;
    if (x->notes) n = bsearch(&want, x->note, x->notes, sizeof want, by_key);
    return n ? n->text : NULL;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

static int read_header(struct err *e, struct io_archive *f, uint64_t size) {
    uint8_t b[8] = {0};
    if (size < 8)
        return err_set(e, RG_EPARSE, "%s: not a safetensors file: it has %d bytes", f->path, (int)size);
    if (os_read_at(e, f->fd, f->path, b, 8, 0)) return e->code;
    uint64_t n = 0;
    for (int i = 8; i-- > 0;) n = n << 8 | b[i];
    if (n > HEADER_MAX)
        return err_set(e, RG_ELIMIT, "%s: a header of %llu bytes; safetensors allows %u", f->path,
                       (unsigned long long)n, HEADER_MAX);
    if (n > size - 8)
        return err_set(e, RG_EPARSE, "%s: a header of %llu bytes; the file has %llu after its length",
                       f->path, (unsigned long long)n, (unsigned long long)(size - 8));
    void *p = mem_alloc((size_t)n); /* a tool that watches the heap sees a parser that reads past it */
    if (!p) return err_set(e, RG_ENOMEM, "out of memory: cannot read the header of %s", f->path);
    if (!os_read_at(e, f->fd, f->path, p, (size_t)n, 8)) {
        io_safetensors_parse(&f->arena, p, (size_t)n, size - 8 - n, &f->index);
        err_prefix(e, "%s: ", f->path);
    }
    mem_free(p);
    f->at = 8 + n;
    return e->code;
}

int io_archive_open(struct err *e, const char *path, struct io_archive *f) {
    uint64_t size;
    *f = (struct io_archive){.fd = -1};
    arena_init(&f->arena, e);
    size_t n = strlen(path) + 1;
    f->path = mem_alloc(n);
    if (!f->path) return err_set(e, RG_ENOMEM, "out of memory: cannot open %s", path);
    memcpy(f->path, path, n);
    if (!os_open(e, path, &f->fd, &size)) read_header(e, f, size);
    return e->code;
}

void io_archive_close(struct io_archive *f) {
    os_close(f->fd);
    mem_free(f->path);
    arena_free(&f->arena);
    *f = (struct io_archive){.fd = -1};
}

int io_archive_read(struct err *e, const struct io_archive *f, const struct io_tensor *t, struct io_data *x) {
    *x = (struct io_data){
        .a = {.type = t->type, .rank = t->rank, .at = f->at + t->begin, .bytes = t->end - t->begin}};
    if (t->rank) memcpy(x->a.d, t->d, t->rank * sizeof *t->d);
    if (!io_data_room(e, x) && !os_read_at(e, f->fd, f->path, x->p, (size_t)x->a.bytes, x->a.at))
        io_data_native(e, x);
    err_prefix(e, "tensor '%.200s': ", t->name);
    return e->code;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void add_string(struct str *o, const char *s) {
    str_addc(o, '"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') str_addc(o, '\\');
        if ((uint8_t)*s < 0x20)
            str_printf(o, "\\u%04x", *s);
        else
            str_addc(o, *s);
    }
    str_addc(o, '"');
}

void io_safetensors_header(struct str *out, const char *const *names, struct io_array *a, uint32_t n,
                           uint32_t *order) {
    uint64_t at = 0;
    for (uint32_t width = 8; width; width /= 2)
        for (uint32_t i = 0; i < n; i++)
            if (io_type_info[a[i].type].bytes == width) *order++ = i, a[i].at = at, at += a[i].bytes;
    str_addn(out, "\0\0\0\0\0\0\0\0{", 9);
    for (uint32_t i = 0; i < n; i++) {
        if (i) str_addc(out, ',');
        add_string(out, names[i]);
        str_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", io_type_info[a[i].type].safetensors);
        for (uint32_t d = 0; d < a[i].rank; d++) str_printf(out, d ? ",%lld" : "%lld", (long long)a[i].d[d]);
        str_printf(out, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)a[i].at,
                   (unsigned long long)(a[i].at + a[i].bytes));
    }
    str_addc(out, '}');
    while (out->n % 8) str_addc(out, ' ');
    for (int i = 0; i < 8; i++) out->p[i] = (char)((out->n - 8) >> 8 * i);
}
