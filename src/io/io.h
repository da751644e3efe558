/* io.h: array files: NumPy's npy, MNIST's idx, safetensors. The only header of src/io.
 *
 * A parser turns bytes into a description (what elements, what shape, where the data lies); it believes nothing: sizes
 * are multiplied with overflow checks and compared with what the file really has before anything is allocated.
 * Loading reads the data with pread into memory of its own, never through a mapping: a file that becomes shorter
 * meanwhile is an error and not a signal. What comes out is row-major, in this machine's byte order, with booleans 0 or 1.
 * Messages do not name the file in the parsers; loading puts its path in front.
 *   elem.c         element types, sizes, byte order, order of axes
 *   npy.c idx.c    one array per file
 *   safetensors.c  many, by name; text.c scans the JSON of its header and the Python literal of npy's
 * Tests: tests/unit/io.c, tests/unit/io_fuzz.c; through the public API tests/unit/api_files.c */
#ifndef RIDGE_IO_H
#define RIDGE_IO_H

#include "base/base.h"

/* Element types, in the order of rg_dtype. npy: kind and bytes, as in '<f4'. (NumPy has no bf16; ml_dtypes' arrays are
 * saved as V2, two bytes without a meaning.) idx: the third byte of the file; "", 0: the format does not have it.
 *      name  bytes npy   safetensors idx */
#define IO_TYPES(X)                \
    X(BOOL, 1, "b1", "BOOL", 0)    \
    X(I8, 1, "i1", "I8", 0x09)     \
    X(I16, 2, "i2", "I16", 0x0b)   \
    X(I32, 4, "i4", "I32", 0x0c)   \
    X(I64, 8, "i8", "I64", 0)      \
    X(U8, 1, "u1", "U8", 0x08)     \
    X(U16, 2, "u2", "U16", 0)      \
    X(U32, 4, "u4", "U32", 0)      \
    X(U64, 8, "u8", "U64", 0)      \
    X(F16, 2, "f2", "F16", 0)      \
    X(BF16, 2, "V2", "BF16", 0)    \
    X(F32, 4, "f4", "F32", 0x0d)   \
    X(F64, 8, "f8", "F64", 0x0e)   \
    X(F8E4M3, 1, "", "F8_E4M3", 0) \
    X(F8E5M2, 1, "", "F8_E5M2", 0)

enum io_type {
#define X(name, bytes, npy, safetensors, idx) IO_##name,
    IO_TYPES(X)
#undef X
        IO_COUNT
};
struct io_type_info {
    uint32_t bytes;
    const char *npy, *safetensors;
    uint8_t idx;
};
extern const struct io_type_info io_type_info[IO_COUNT];

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data is written as it lies in memory");

#define IO_AXES 16 /* as many as a tensor has */

struct io_array {
    enum io_type type;
    uint32_t rank;
    int64_t d[IO_AXES];
    uint64_t at, bytes; /* of the data in the file */
    bool swap;          /* elements are big endian */
    bool columns;       /* the first axis is the one that runs fastest (Fortran's order) */
};

/* Element count times width into a->bytes; error past 2^63. */
int io_measure(struct err *, struct io_array *);

/* ---- bytes to descriptions ------------------------------------------------------------------------- */

#define IO_NPY_HEADER_MAX 65536
/* p: the first n bytes of a file of `size`, all of them or IO_NPY_HEADER_MAX. */
int io_npy_parse(struct err *, const void *p, size_t n, uint64_t size, struct io_array *);
#define IO_IDX_HEADER_MAX (4 + 4 * IO_AXES)
int io_idx_rank(struct err *, const void *p); /* p: the first 4 bytes; negative on error */
int io_idx_parse(struct err *, const void *p, struct io_array *); /* p: 4 + 4 * rank bytes */

struct io_tensor {
    const char *name;
    enum io_type type;
    uint32_t rank;
    const int64_t *d;
    uint64_t begin, end; /* its bytes in the data */
};
struct io_note {
    const char *key, *text;
};
struct io_index {
    struct io_tensor *t; /* in the order of the header */
    uint32_t n;
    struct io_tensor **sorted; /* by name */
    struct io_note *note;      /* by key */
    uint32_t notes;
};
/* The JSON of a safetensors file that has `data` bytes after it. All it makes is in the arena, errors go to the arena's. */
int io_safetensors_parse(struct arena *, const void *json, size_t n, uint64_t data, struct io_index *);
const struct io_tensor *io_index_find(const struct io_index *, const char *name); /* NULL: there is none */
const char *io_index_note(const struct io_index *, const char *key);

/* ---- whole files ------------------------------------------------------------------------------------ */

struct io_data {
    struct io_array a;
    void *p; /* a.bytes bytes, row-major and native */
};
int io_npy_load(struct err *, const char *path, struct io_data *);
int io_idx_load(struct err *, const char *path, struct io_data *); /* plain or gzip */
void io_data_free(struct io_data *);                               /* also after an error */
/* Memory for x->a.bytes bytes. */
int io_data_room(struct err *, struct io_data *);
/* Row-major, native, booleans 0 or 1; may move x->p. */
int io_data_native(struct err *, struct io_data *);

/* An open safetensors file: its header was read, tensors are read when they are asked for. */
struct io_archive {
    struct arena arena;
    struct io_index index;
    char *path;
    int fd;
    uint64_t at; /* of the data */
};
int io_archive_open(struct err *, const char *path, struct io_archive *); /* the err must outlive it */
void io_archive_close(struct io_archive *);                               /* also after an error */
int io_archive_read(struct err *, const struct io_archive *, const struct io_tensor *, struct io_data *);

/* ---- writing: what stands before the data ------------------------------------------------------------ */

void io_npy_header(struct str *, const struct io_array *);
/* Sets a[i].at, from the end of the header, and `order`, in which their data follows. Names are unique, valid UTF-8. */
void io_safetensors_header(struct str *, const char *const *names, struct io_array *a, uint32_t n,
                           uint32_t *order);
bool io_utf8(const void *p, size_t n); /* is it valid? */

#endif
