/* io_fuzz.c: mutated npy, idx, compressed idx and safetensors files through the public API: a tensor or an error with
 * words, never a crash, and no more memory than the file can account for.
 *
 * Seeds are files of NumPy and of the package safetensors (tests/values/files), and our own. Half of the inputs have the
 * length of their header corrected after the mutation, and compressed ones are mutated before compressing or after: so
 * the inner parts are reached too. What can be read is written and read again, bit for bit.
 * `make test` runs a few thousand; `make fuzz` runs 100,000 of each format, meant for MODE=asan. */
#include "mutate.h"

#include <ridge.h>
#include <test.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

static const char *const words[] = {"{",
                                    "}",
                                    "[",
                                    "]",
                                    "(",
                                    ")",
                                    "\"",
                                    "'",
                                    ":",
                                    ",",
                                    "0",
                                    "-1",
                                    "1",
                                    "9223372036854775807",
                                    "18446744073709551615",
                                    "4294967296",
                                    "1e9",
                                    "\\u0000",
                                    "\\ud83d\\ude00",
                                    "\\",
                                    "null",
                                    "\"F32\"",
                                    "\"U8\"",
                                    "\"BOOL\"",
                                    "\"F4\"",
                                    "\"dtype\"",
                                    "\"shape\"",
                                    "\"data_offsets\"",
                                    "\"__metadata__\"",
                                    "[0,0]",
                                    "[0,4]",
                                    "[[[[[[",
                                    "True",
                                    "False",
                                    "'descr'",
                                    "'shape'",
                                    "'fortran_order'",
                                    "'<f4'",
                                    "'>i8'",
                                    "'|O'",
                                    "'|b1'",
                                    "(3,)",
                                    "()",
                                    "\x93NUMPY",
                                    "\1",
                                    "\2",
                                    "\3",
                                    "\x1f\x8b\x08",
                                    "\377\377\377\377",
                                    "\xc3\x28",
                                    " "};

#define CAP 8192
enum format { NPY, IDX, IDX_GZ, SAFETENSORS, FORMATS };
static const char *const format_name[] = {"npy", "idx", "idx.gz", "safetensors"};

struct seeds {
    struct bytes seed[24];
    size_t n;
};

static void add_file(struct arena *a, struct seeds *s, const char *name) {
    struct bytes *b = &s->seed[s->n++];
    CHECK(s->n <= RG_COUNT(s->seed));
    CHECK_EQ(os_read_file(a->err, a, arena_printf(a, "tests/values/files/%s", name), CAP, &b->p, &b->n), 0);
}

static void add_seeds(struct arena *a, struct seeds *s, enum format f) {
    static const char *const npy[] = {"bool",     "f16",         "bf16",       "i64",    "u16",
                                      "f32",      "fortran",     "big",        "i32",    "version2",
                                      "version3", "big_fortran", "structured", "objects"};
    static const struct bytes idx[] = {{"\0\0\10\2\0\0\0\2\0\0\0\3abcdef", 18},
                                       {"\0\0\15\1\0\0\0\2\0\0\0\1\377\300\0\2", 16},
                                       {"\0\0\16\0\0\0\0\0\0\0\0\1", 12},
                                       {"\0\0\13\3\0\0\0\1\0\0\0\2\0\0\0\2abcdefgh", 24},
                                       {"\0\0\14\2\0\0\0\0\0\0\0\3", 12}};
    if (f == NPY)
        for (size_t i = 0; i < RG_COUNT(npy); i++) add_file(a, s, arena_printf(a, "%s.npy", npy[i]));
    if (f == IDX || f == IDX_GZ)
        for (size_t i = 0; i < RG_COUNT(idx); i++) s->seed[s->n++] = idx[i];
    if (f == SAFETENSORS) add_file(a, s, "torch.safetensors"), add_file(a, s, "numpy.safetensors");
}

/* If the header grew or shrank, its length can say so. */
static void correct_length(enum format f, char *p, size_t n, size_t before) {
    uint64_t len = 0;
    size_t at = f == NPY ? 8 : 0, width = f == NPY ? 2 : 8;
    if (n < 12 || (f != NPY && f != SAFETENSORS)) return;
    memcpy(&len, p + at, width);
    len += n - before;
    memcpy(p + at, &len, width);
}

static size_t compress_to(char *out, const char *p, size_t n) {
    z_stream z = {.next_in = (Bytef *)p, .avail_in = (uInt)n, .next_out = (Bytef *)out, .avail_out = CAP * 2};
    CHECK_EQ(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    CHECK_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

static size_t make_input(const struct seeds *s, enum format f, char *out) {
    static char tmp[CAP * 2];
    const struct bytes *a = &s->seed[rnd() % s->n], *b = &s->seed[rnd() % s->n];
    if (f != IDX_GZ) {
        size_t n = mutate(a, b, out, CAP, words, RG_COUNT(words));
        if (rnd() % 2) correct_length(f, out, n, a->n);
        return n;
    }
    if (rnd() % 2) return compress_to(out, tmp, mutate(a, b, tmp, CAP, words, RG_COUNT(words)));
    struct bytes whole = {tmp, compress_to(tmp, a->p, a->n)};
    return mutate(&whole, b, out, CAP, words, RG_COUNT(words));
}

/* Its bytes can be read; saved and loaded they are the same. */
static void use(rg_ctx *c, rg_tensor x, size_t file, const char *path) {
    static char one[CAP * 1040], two[CAP * 1040];
    int64_t bytes = rg_bytes(x);
    CHECK(bytes >= 0 && (uint64_t)bytes <= file * 1032);
    CHECK_EQ(rg_read(x, one, sizeof one), RG_OK);
    if (rnd() % 8) return;
    CHECK_EQ(rg_save_npy(x, path), RG_OK);
    rg_tensor y = rg_load_npy(c, path);
    CHECK_EQ(rg_read(y, two, sizeof two), RG_OK);
    CHECK_EQ(rg_dtype_of(y), rg_dtype_of(x));
    CHECK(!memcmp(one, two, (size_t)bytes));
}

static bool load(rg_ctx *c, enum format f, const char *path, size_t n, const char *again) {
    RG_SCOPE(c);
    if (f != SAFETENSORS) {
        rg_tensor x = f == NPY ? rg_load_npy(c, path) : rg_load_idx(c, path);
        if (rg_status_of(c)) return false;
        use(c, x, n, again);
        return true;
    }
    rg_file *file = rg_file_open(c, path);
    for (size_t i = 0; i < rg_file_count(file) && !rg_status_of(c); i++)
        use(c, rg_file_get(file, rg_file_name(file, i)), n, again);
    rg_file_note(file, "format");
    rg_file_close(file);
    return file != NULL && !rg_status_of(c);
}

static void fuzz(enum format f, int64_t times) {
    struct err e = {0};
    struct arena a;
    struct seeds s = {0};
    static char buf[CAP * 2];
    char path[64], *dir;
    int64_t good = 0;
    uint64_t slowest = 0;
    arena_init(&a, &e);
    add_seeds(&a, &s, f);
    CHECK_EQ(os_temp_dir(&e, &a, &dir), 0);
    char *again = arena_printf(&a, "%s/x", dir);
    state = 88172645463325252u + (uint64_t)f * 977;
    int fd = memfd_create("fuzz", 0); /* a file like any other, but it stays in memory */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rg_ctx *c = rg_open("REF");
    for (int64_t i = 0; i < times; i++) {
        uint64_t before = state;
        size_t n = make_input(&s, f, buf);
        CHECK_EQ(ftruncate(fd, 0), 0);
        CHECK_EQ(pwrite(fd, buf, n, 0), (ssize_t)n);
        uint64_t t0 = os_now_ns();
        good += load(c, f, path, n, again);
        slowest = RG_MAX(slowest, os_now_ns() - t0);
        int st = rg_status_of(c);
        if (st && ((st != RG_EPARSE && st != RG_ELIMIT && st != RG_EUNSUPPORTED) || !*rg_error(c)))
            FAIL("%s: state %llu: status %d: %s", format_name[f], (unsigned long long)before, st,
                 rg_error(c));
        CHECK_EQ(rg_clear_error(c), RG_OK);
    }
    CHECK_EQ(rg_close(c), RG_OK);
    close(fd);
    os_remove_tree(dir);
    arena_free(&a);
    TEST_INFO("%s: %lld mutated files, %lld of them readable; slowest %.1f ms", format_name[f],
              (long long)times, (long long)good, (double)slowest / 1e6);
}

TEST(io_mutated_npy) { fuzz(NPY, 1000); }
TEST(io_mutated_idx) { fuzz(IDX, 1000); }
TEST(io_mutated_idx_gz) { fuzz(IDX_GZ, 1000); }
TEST(io_mutated_safetensors) { fuzz(SAFETENSORS, 1000); }

TEST_MANUAL(fuzz_file_npy, 3600) { fuzz(NPY, 100000); }
TEST_MANUAL(fuzz_file_idx, 3600) { fuzz(IDX, 100000); }
TEST_MANUAL(fuzz_file_idx_gz, 3600) { fuzz(IDX_GZ, 100000); }
TEST_MANUAL(fuzz_file_safetensors, 3600) { fuzz(SAFETENSORS, 100000); }
