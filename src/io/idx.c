/* idx.c: the format of MNIST: two zero bytes, the element type, the number of axes, their sizes and the data, all big
 * endian. The file may be compressed with gzip, which is told by its first bytes.
 *
 * A compressed file does not say how much it holds, so the header inside it decides: that much is read and no more,
 * and a claim beyond what the compressed bytes can hold is refused before memory is asked for.
 * Tests: tests/unit/io.c (io_idx_*), tests/unit/api_files.c (mnist) */
#include "io.h"

#include <unistd.h>
#include <zlib.h>

int io_idx_rank(struct err *e, const void *p) {
    const uint8_t *b = p;
    if (b[0] || b[1]) {
        err_set(e, RG_EPARSE, "not an idx file: it begins with bytes %02x %02x, expected 00 00", b[0], b[1]);
        return -1;
    }
    if (b[3] > IO_AXES) {
        err_set(e, RG_ELIMIT, "%d axes; a tensor has at most %d", b[3], IO_AXES);
        return -1;
    }
    return b[3];
}

int io_idx_parse(struct err *e, const void *p, struct io_array *a) {
    const uint8_t *b = p;
    int rank = io_idx_rank(e, p);
    *a = (struct io_array){.type = IO_COUNT, .swap = true};
    if (rank < 0) return e->code;
    for (uint32_t t = 0; t < IO_COUNT; t++)
        if (io_type_info[t].idx && io_type_info[t].idx == b[2]) a->type = (enum io_type)t;
    if (a->type == IO_COUNT)
        return err_set(e, RG_EPARSE,
                       "element type %02x; idx has 08 (u8), 09 (i8), 0b (i16), 0c (i32), 0d (f32), 0e (f64)",
                       b[2]);
    a->rank = (uint32_t)rank, a->at = 4 + 4 * (uint64_t)rank;
    for (uint32_t i = 0; i < a->rank; i++, b += 4)
        a->d[i] = (int64_t)((uint32_t)b[4] << 24 | (uint32_t)b[5] << 16 | (uint32_t)b[6] << 8 | b[7]);
    return io_measure(e, a);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

#define RATIO 1032 /* deflate's best: 258 bytes from two bits */

static int get(struct err *e, gzFile f, void *p, uint64_t n, const char *what) {
    if (e->code) return e->code;
    for (uint64_t done = 0; done < n;) {
        int k = gzread(f, (char *)p + done, (unsigned)RG_MIN(n - done, (uint64_t)1 << 28));
        int z = 0;
        if (k < 0) return err_set(e, RG_EPARSE, "its compressed data is broken: %s", gzerror(f, &z));
        if (!k)
            return err_set(e, RG_EPARSE, "it ends in the %s: %llu bytes expected, %llu found", what,
                           (unsigned long long)n, (unsigned long long)done);
        done += (uint64_t)k;
    }
    return 0;
}

static int check_size(struct err *e, gzFile f, const struct io_array *a, uint64_t file) {
    if (e->code) return e->code;
    bool plain = gzdirect(f);
    uint64_t most = plain ? file - RG_MIN(a->at, file) : file > INT64_MAX / RATIO ? INT64_MAX : file * RATIO;
    if (a->bytes <= most) return 0;
    return err_set(e, RG_EPARSE, "its header asks for %llu bytes of data; the file %s %llu",
                   (unsigned long long)a->bytes, plain ? "has" : "of this compressed size holds at most",
                   (unsigned long long)most);
}

/* The end is looked for too: that is where zlib compares the checksum, or misses it. */
static int check_end(struct err *e, gzFile f) {
    if (e->code) return e->code;
    char more;
    int z = 0, k = gzread(f, &more, 1);
    const char *why = gzerror(f, &z);
    if (k < 0 || z < 0) return err_set(e, RG_EPARSE, "its compressed data is broken: %s", why);
    return k ? err_set(e, RG_EPARSE, "there is more data than its header says") : 0;
}

static int load(struct err *e, gzFile f, uint64_t file, struct io_data *x) {
    uint8_t head[IO_IDX_HEADER_MAX];
    if (get(e, f, head, 4, "header")) return e->code;
    int rank = io_idx_rank(e, head);
    if (rank < 0 || get(e, f, head + 4, 4 * (uint64_t)rank, "header")) return e->code;
    io_idx_parse(e, head, &x->a);
    check_size(e, f, &x->a, file);
    io_data_room(e, x);
    get(e, f, x->p, x->a.bytes, "data");
    check_end(e, f);
    return io_data_native(e, x);
}

int io_idx_load(struct err *e, const char *path, struct io_data *x) {
    int fd;
    uint64_t file;
    *x = (struct io_data){0};
    if (os_open(e, path, &fd, &file)) return e->code;
    gzFile f = gzdopen(fd, "rb");
    if (f) {
        gzbuffer(f, 1 << 17);
        load(e, f, file, x);
        gzclose(f);
    } else {
        os_close(fd);
        err_set(e, RG_ENOMEM, "out of memory: cannot read it");
    }
    err_prefix(e, "%s: ", path);
    return e->code;
}
