/* elem.c: what all formats share: element types, the size of an array, and turning the bytes of a file into the order
 * that the rest of Ridge knows.
 *
 * Data lies in pages of its own (os_pages) and not on the heap: a size that a hostile file claims costs address space
 * only, until bytes really arrive. Tests: tests/unit/io.c */
#include "io.h"

const struct io_type_info io_type_info[IO_COUNT] = {
#define X(name, bytes, npy, safetensors, idx) {bytes, npy, safetensors, idx},
    IO_TYPES(X)
#undef X
};

int io_measure(struct err *e, struct io_array *a) {
    int64_t n = io_type_info[a->type].bytes;
    bool empty = false, over = false;
    for (uint32_t i = 0; i < a->rank; i++) empty |= a->d[i] == 0;
    for (uint32_t i = 0; i < a->rank && !empty; i++) over |= __builtin_mul_overflow(n, a->d[i], &n);
    a->bytes = empty ? 0 : (uint64_t)n;
    return over ? err_set(e, RG_ELIMIT, "an array of more than 2^63 bytes") : 0;
}

int io_data_room(struct err *e, struct io_data *x) {
    if (e->code) return e->code;
    x->p = os_pages((size_t)x->a.bytes);
    return x->p ? 0
                : err_set(e, RG_ENOMEM, "out of memory: no %llu bytes for its data",
                          (unsigned long long)x->a.bytes);
}

void io_data_free(struct io_data *x) {
    os_pages_free(x->p, (size_t)x->a.bytes);
    x->p = NULL;
}

static void swap_bytes(void *p, uint32_t width, uint64_t bytes) {
    if (width == 2)
        for (uint16_t *w = p, *end = w + bytes / 2; w < end; w++) *w = __builtin_bswap16(*w);
    if (width == 4)
        for (uint32_t *w = p, *end = w + bytes / 4; w < end; w++) *w = __builtin_bswap32(*w);
    if (width == 8)
        for (uint64_t *w = p, *end = w + bytes / 8; w < end; w++) *w = __builtin_bswap64(*w);
}

/* Writes the elements in row-major order: counts through the shape, the last axis fastest, and keeps the offset in the
 * source beside it. */
static void by_rows(const struct io_array *a, char *to, const char *from) {
    uint32_t width = io_type_info[a->type].bytes;
    int64_t at[IO_AXES] = {0}, step[IO_AXES], offset = 0, s = width;
    for (uint32_t i = 0; i < a->rank; i++) step[i] = s, s *= a->d[i];
    for (uint64_t done = 0; done < a->bytes; done += width) {
        memcpy(to + done, from + offset, width);
        for (uint32_t i = a->rank; i-- > 0;) {
            offset += step[i];
            if (++at[i] < a->d[i]) break;
            offset -= step[i] * a->d[i], at[i] = 0;
        }
    }
}

int io_data_native(struct err *e, struct io_data *x) {
    if (e->code) return e->code;
    if (x->a.swap) swap_bytes(x->p, io_type_info[x->a.type].bytes, x->a.bytes);
    if (x->a.type == IO_BOOL) /* code for booleans relies on it */
        for (uint8_t *b = x->p, *end = b + x->a.bytes; b < end; b++) *b = *b != 0;
    if (x->a.columns && x->a.rank > 1 && x->a.bytes) {
        struct io_data rows = {x->a, NULL};
        if (io_data_room(e, &rows)) return e->code;
        by_rows(&x->a, rows.p, x->p);
        io_data_free(x);
        x->p = rows.p;
    }
    x->a.swap = x->a.columns = false;
    return 0;
}
