/* npy.c: NumPy's array file: "\x93NUMPY", a version, the length of a header, the header, the data.
 *
 * The header is a Python dictionary as text. NumPy evaluates it; here only the one form that NumPy writes is understood:
 * the keys descr, fortran_order and shape, in any order, each once. Versions 1 (length in two bytes), 2 (four) and 3 (the
 * text is UTF-8) differ in nothing else. Bytes after the data are left alone, as NumPy does: files may be joined.
 * Tests: tests/unit/io.c (io_npy_*), tests/unit/api_files.c */
#include "text.h"

struct npy {
    struct err *err;
    const uint8_t *p;
    size_t n;
    uint64_t size;
    struct io_array *a;
};

static void quoted(struct text_cursor *t, char *out, size_t room) {
    char q = tx_take(t, '"') ? '"' : '\'';
    if (q == '\'') tx_need(t, q);
    size_t n = 0;
    for (; t->p < t->end && *t->p != (uint8_t)q; t->p++) {
        if (*t->p < ' ' || *t->p > 126 || *t->p == '\\') tx_bad(t, "a plain string expected");
        if (n + 1 == room) tx_bad(t, "a string of at most %zu characters expected", room - 1);
        out[n++] = (char)*t->p;
    }
    if (t->p == t->end) tx_bad(t, "a string without end");
    t->p++;
    out[n] = 0;
}

static void take_descr(struct text_cursor *t, struct io_array *a) {
    char d[32];
    if (tx_take(t, '['))
        err_throw(t->err, RG_EUNSUPPORTED,
                  "a structured array (several fields per element); save each field as a file of its own");
    quoted(t, d, sizeof d);
    const char *type = d + (*d && strchr("<>=|", *d) != NULL);
    if (type[0] == 'O')
        err_throw(t->err, RG_EUNSUPPORTED,
                  "an array of Python objects, which only Python can read; save it with a number dtype");
    for (uint32_t i = 0; i < IO_COUNT; i++)
        if (*type && !strcmp(type, io_type_info[i].npy)) a->type = (enum io_type)i;
    if (a->type == IO_COUNT)
        err_throw(t->err, RG_EUNSUPPORTED,
                  "elements of dtype '%s'; there are b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8, and V2 for bf16",
                  d);
    a->swap = *d == '>';
}

static void take_shape(struct text_cursor *t, struct io_array *a) {
    tx_need(t, '(');
    while (!tx_take(t, ')')) {
        if (a->rank == IO_AXES) tx_bad(t, "more than %d axes", IO_AXES);
        a->d[a->rank++] = (int64_t)tx_count(t);
        tx_take(t, 'L'); /* Python 2 wrote long integers so */
        if (tx_take(t, ',')) continue;
        if (a->rank == 1) tx_bad(t, "',' expected: a shape of one axis is written (3,)");
        tx_need(t, ')');
        return;
    }
}

static void take_header(struct text_cursor *t, struct io_array *a) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    char key[32];
    int seen = 0, now;
    tx_need(t, '{');
    while (!tx_take(t, '}')) {
        quoted(t, key, sizeof key);
        tx_need(t, ':');
        now = !strcmp(key, "descr") ? DESCR : !strcmp(key, "fortran_order") ? ORDER : SHAPE;
        if (now == SHAPE && strcmp(key, "shape"))
            tx_bad(t, "key '%s'; descr, fortran_order and shape exist", key);
        if (seen & now) tx_bad(t, "'%s' appears twice", key);
        seen |= now;
        if (now == DESCR)
            take_descr(t, a);
        else if (now == SHAPE)
            take_shape(t, a);
        else if (tx_word(t, "True"))
            a->columns = true;
        else if (!tx_word(t, "False"))
            tx_bad(t, "True or False expected");
        if (tx_take(t, ',')) continue;
        tx_need(t, '}');
        break;
    }
    if (seen != (DESCR | ORDER | SHAPE)) tx_bad(t, "descr, fortran_order and shape must all be there");
    tx_end(t);
}

static void parse(void *arg) {
    struct npy *f = arg;
    struct io_array *a = f->a;
    const uint8_t *p = f->p;
    if (f->n < 10 || memcmp(p, "\x93NUMPY", 6))
        err_throw(f->err, RG_EPARSE, "not an npy file: it does not begin with \\x93NUMPY");
    if (p[6] < 1 || p[6] > 3 || p[7])
        err_throw(f->err, RG_EPARSE, "npy version %d.%d; 1.0, 2.0 and 3.0 exist", p[6], p[7]);
    size_t head = p[6] == 1 ? 10 : 12;
    if (f->n < head) err_throw(f->err, RG_EPARSE, "it ends in the header");
    uint64_t len = (uint64_t)p[8] | (uint64_t)p[9] << 8;
    if (p[6] > 1) len |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
    if (len > IO_NPY_HEADER_MAX - head)
        err_throw(f->err, RG_ELIMIT, "a header of %llu bytes; %zu are expected at most",
                  (unsigned long long)len, IO_NPY_HEADER_MAX - head);
    if (len > f->n - head) err_throw(f->err, RG_EPARSE, "it ends in the header");
    struct text_cursor t = {.err = f->err, .start = p + head, .p = p + head, .end = p + head + len};
    take_header(&t, a);
    a->at = head + len;
    if (io_measure(f->err, a)) err_throw(f->err, f->err->code, "too large");
    if (a->bytes > f->size - a->at)
        err_throw(f->err, RG_EPARSE, "its header asks for %llu bytes of data; the file has %llu",
                  (unsigned long long)a->bytes, (unsigned long long)(f->size - a->at));
}

int io_npy_parse(struct err *e, const void *p, size_t n, uint64_t size, struct io_array *a) {
    *a = (struct io_array){.type = IO_COUNT};
    return err_guard(e, parse, &(struct npy){e, p, n, size, a});
}

int io_npy_load(struct err *e, const char *path, struct io_data *x) {
    int fd;
    uint64_t size;
    *x = (struct io_data){0};
    if (os_open(e, path, &fd, &size)) return e->code;
    size_t n = (size_t)RG_MIN(size, (uint64_t)IO_NPY_HEADER_MAX);
    void *head = mem_alloc(n);
    if (!head) err_set(e, RG_ENOMEM, "out of memory: cannot read %s", path);
    if (!os_read_at(e, fd, path, head, n, 0)) {
        if (!io_npy_parse(e, head, n, size, &x->a)) io_data_room(e, x);
        err_prefix(e, "%s: ", path);
        if (!os_read_at(e, fd, path, x->p, (size_t)x->a.bytes, x->a.at)) io_data_native(e, x);
    }
    mem_free(head);
    os_close(fd);
    return e->code;
}

void io_npy_header(struct str *out, const struct io_array *a) {
    struct str h;
    const struct io_type_info *t = &io_type_info[a->type];
    str_init(&h, out->arena);
    str_printf(&h, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", t->bytes == 1 ? '|' : '<', t->npy);
    for (uint32_t i = 0; i < a->rank; i++)
        str_printf(&h, i ? " %lld%s" : "%lld%s", (long long)a->d[i],
                   a->rank == 1 || i + 1 < a->rank ? "," : "");
    str_add(&h, "), }");
    while ((10 + h.n + 1) % 64) str_addc(&h, ' '); /* the data begins on a cache line, as NumPy has it */
    str_addc(&h, '\n');
    str_addn(out, "\x93NUMPY\1\0", 8);
    str_addc(out, (char)(h.n & 255));
    str_addc(out, (char)(h.n >> 8));
    str_addn(out, h.p, h.n);
}
