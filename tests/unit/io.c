/* Parsers of array files, below the public API: headers of npy by the byte, order of bytes and axes. idx and safetensors are
 * looked at through the API (api_files.c). */
#include "io/io.h"

#include <test.h>

static struct err err;

static int parse(int major, const char *dict, uint64_t data, struct io_array *a) {
    uint8_t b[4096] = "\x93NUMPY";
    size_t n = strlen(dict), head = major == 1 ? 10 : 12;
    CHECK(n + head < sizeof b);
    b[6] = (uint8_t)major;
    b[8] = (uint8_t)(n & 255), b[9] = (uint8_t)(n >> 8);
    memcpy(b + head, dict, n);
    err_clear(&err);
    return io_npy_parse(&err, b, head + n, head + n + data, a);
}
static void bad(const char *dict, int code, const char *words) {
    struct io_array a;
    int got = parse(1, dict, 64, &a);
    if (got != code || !strstr(err.msg, words))
        FAIL("%s\nerror %d \"%s\"\nexpected %d \"..%s\"", dict, got, err.msg, code, words);
}
#define DICT(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"

TEST(io_npy_headers) {
    struct io_array a;
    for (int major = 1; major <= 3; major++) {
        CHECK_EQ(parse(major, DICT("'<f4'", "False", "(2, 3)") "     \n", 24, &a), 0);
        CHECK(a.type == IO_F32 && a.rank == 2 && a.d[0] == 2 && a.d[1] == 3 && !a.swap && !a.columns);
        CHECK_EQ(a.bytes, 24);
    }
    CHECK_EQ(parse(1, DICT("\">i2\"", "True", "(4,)"), 8, &a), 0);
    CHECK(a.type == IO_I16 && a.rank == 1 && a.swap && a.columns);
    CHECK_EQ(parse(1, "{'shape':(),'fortran_order':False,'descr':'|b1'}", 1, &a), 0);
    CHECK(a.type == IO_BOOL && a.rank == 0 && a.bytes == 1);
    CHECK_EQ(parse(1, DICT("'=u8'", "False", "(0, 9223372036854775807)"), 0, &a), 0);
    CHECK(a.type == IO_U64 && a.bytes == 0);
    CHECK_EQ(parse(1, DICT("'<V2'", "False", "(3L, 1L)"), 7, &a),
             0); /* a byte too many belongs to what follows */
    CHECK(a.type == IO_BF16 && a.bytes == 6);
}

TEST(io_npy_header_errors) {
    struct io_array a;
    bad(DICT("'<f4'", "False", "(17,)"), RG_EPARSE, "its header asks for 68 bytes of data; the file has 64");
    bad(DICT("'<f4'", "False", "(4611686018427387904, 4)"), RG_ELIMIT, "more than 2^63 bytes");
    bad(DICT("'<f4'", "False", "(9223372036854775808,)"), RG_EPARSE, "a number of 2^63 or more");
    bad(DICT("'<f4'", "False", "(-1,)"), RG_EPARSE, "a whole number of 0 or more expected");
    bad(DICT("'<f4'", "False", "(1.5,)"), RG_EPARSE, "a whole number expected");
    bad(DICT("'<f4'", "False", "(3)"), RG_EPARSE, "a shape of one axis is written (3,)");
    bad(DICT("'<f4'", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), RG_EPARSE,
        "more than 16 axes");
    bad(DICT("'<f4'", "0", "(3,)"), RG_EPARSE, "True or False expected");
    bad(DICT("'<f4'", "__import__('os')", "(3,)"), RG_EPARSE, "True or False expected");
    bad(DICT("'<f16'", "False", "(3,)"), RG_EUNSUPPORTED, "elements of dtype '<f16'");
    bad(DICT("''", "False", "(3,)"), RG_EUNSUPPORTED, "elements of dtype ''");
    bad(DICT("'|O'", "False", "(3,)"), RG_EUNSUPPORTED, "Python objects");
    bad(DICT("[('a', '<f4')]", "False", "(3,)"), RG_EUNSUPPORTED, "structured array");
    bad(DICT("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "False", "(3,)"), RG_EPARSE,
        "at most 31 characters");
    bad(DICT("'a\\x'", "False", "(3,)"), RG_EPARSE, "a plain string expected");
    bad("{'descr': '<f4', 'shape': (3,)}", RG_EPARSE, "must all be there");
    bad("{'descr': '<f4', 'descr': '<f4'}", RG_EPARSE, "'descr' appears twice");
    bad("{'other': 1}", RG_EPARSE, "key 'other'; descr, fortran_order and shape exist");
    bad("{'descr", RG_EPARSE, "a string without end");
    bad(DICT("'<f4'", "False", "(3,)") "x", RG_EPARSE, "more text after the end");
    bad("", RG_EPARSE, "'{' expected, found the end");
    bad("[]", RG_EPARSE, "'{' expected, found '['");
    bad("{}", RG_EPARSE, "must all be there");
    err_clear(&err);
    CHECK_EQ(parse(4, "{}", 0, &a), RG_EPARSE);
    CHECK_STR(err.msg, "npy version 4.0; 1.0, 2.0 and 3.0 exist");
    err_clear(&err);
    CHECK_EQ(io_npy_parse(&err, "PK\3\4      ", 10, 10, &a), RG_EPARSE); /* an npz is a zip file */
    CHECK_STR(err.msg, "not an npy file: it does not begin with \\x93NUMPY");
    for (size_t n = 0; n < 12; n++) { /* cut anywhere */
        err_clear(&err);
        CHECK_EQ(io_npy_parse(&err, "\x93NUMPY\2\0\377\377\0\0", n, n, &a), RG_EPARSE);
    }
    err_clear(&err);
    CHECK_EQ(io_npy_parse(&err, "\x93NUMPY\2\0\377\377\377\377", 12, 12, &a), RG_ELIMIT);
    CHECK_STR(err.msg, "a header of 4294967295 bytes; 65524 are expected at most");
}

TEST(io_native_order) {
    static const int64_t shape[] = {2, 3, 4};
    struct io_data x = {.a = {.type = IO_U32, .rank = 3, .swap = true, .columns = true}};
    memcpy(x.a.d, shape, sizeof shape);
    CHECK_EQ(io_measure(&err, &x.a), 0);
    CHECK_EQ(x.a.bytes, 96);
    CHECK_EQ(io_data_room(&err, &x), 0);
    uint32_t *p = x.p;
    for (uint32_t i = 0; i < 2; i++) /* the value says its index: 100 i + 10 j + k */
        for (uint32_t j = 0; j < 3; j++)
            for (uint32_t k = 0; k < 4; k++) p[i + 2 * j + 6 * k] = __builtin_bswap32(100 * i + 10 * j + k);
    CHECK_EQ(io_data_native(&err, &x), 0);
    p = x.p;
    for (uint32_t i = 0; i < 24; i++) CHECK_EQ(p[i], 100 * (i / 12) + 10 * (i / 4 % 3) + i % 4);
    io_data_free(&x);
    struct io_data b = {.a = {.type = IO_BOOL, .rank = 1, .d = {4}, .bytes = 4}};
    CHECK_EQ(io_data_room(&err, &b), 0);
    memcpy(b.p, "\0\1\2\377", 4);
    CHECK_EQ(io_data_native(&err, &b), 0);
    CHECK(!memcmp(b.p, "\0\1\1\1", 4));
    io_data_free(&b);
}

TEST(io_utf8_is_judged_as_by_unicode) {
    static const char *const good[] = {"",
                                       "a",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf"};
    static const char *const wrong[] = {"\x80",
                                        "\xc1\xbf",
                                        "\xc2",
                                        "\xc2\x41",
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xe2\x82"};
    for (size_t i = 0; i < RG_COUNT(good); i++) CHECK(io_utf8(good[i], strlen(good[i])));
    for (size_t i = 0; i < RG_COUNT(wrong); i++) CHECK(!io_utf8(wrong[i], strlen(wrong[i])));
}
