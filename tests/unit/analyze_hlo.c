/* analyze_hlo.c: costs of XLA's instructions, counted from HloProtos that are written here field by field. */
#include "analyze/readers/hlo.h"
#include "test.h"

enum { F32 = 11, BF16 = 16, S8 = 2, S32 = 4 };

struct proto {
    struct err e;
    struct arena a;
    struct str out[5]; /* HloProto, module, computation, instruction, shape */
    uint64_t next;     /* id of an instruction */
};

static void put_varint(struct str *s, uint64_t v) {
    for (; v >= 0x80; v >>= 7) str_addc(s, (char)(v | 0x80));
    str_addc(s, (char)v);
}
static void put_number(struct str *s, uint32_t no, uint64_t v) { put_varint(s, no << 3), put_varint(s, v); }
static void put_bytes(struct str *s, uint32_t no, const void *p, size_t n) {
    put_varint(s, no << 3 | 2), put_varint(s, n);
    str_addn(s, p, n);
}
static void put_text(struct str *s, uint32_t no, const char *text) { put_bytes(s, no, text, strlen(text)); }
static void put_list(struct str *s, uint32_t no, const int64_t *v, uint32_t n) {
    char packed[200];
    size_t len = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t x = (uint64_t)v[i], more = 1; more; x >>= 7)
            more = x >= 0x80, packed[len++] = (char)(more ? x | 0x80 : x);
    put_bytes(s, no, packed, len);
}

static void open_proto(struct proto *p) {
    memset(p, 0, sizeof *p);
    arena_init(&p->a, &p->e);
    for (int i = 0; i < 5; i++) str_init(&p->out[i], &p->a);
    p->next = 1;
}

static void put_shape(struct str *to, uint32_t no, uint32_t type, const int64_t *d, uint32_t n, bool tuple) {
    struct str s, t, w;
    str_init(&s, to->arena), str_init(&t, to->arena), str_init(&w, to->arena);
    put_number(&s, 2, type);
    put_list(&s, 3, d, n);
    if (tuple) { /* .. and scratch memory */
        put_number(&w, 2, S8), put_number(&w, 3, 33554432);
        put_number(&t, 2, 13), put_bytes(&t, 4, s.p, s.n), put_bytes(&t, 4, w.p, w.n);
        s = t;
    }
    put_bytes(to, no, s.p, s.n);
}

struct instruction {
    const char *name, *opcode, *target, *config;
    uint32_t type, nd, noperands;
    int64_t d[4], operand[4];
    uint64_t calls;
    const int64_t *contracting, *batch; /* of one axis */
    int64_t feature, parameter;
    bool tuple;
};
static uint64_t put(struct proto *p, struct instruction x) {
    struct str s, dot;
    str_init(&s, &p->a), str_init(&dot, &p->a);
    put_text(&s, 1, x.name), put_text(&s, 2, x.opcode);
    put_shape(&s, 3, x.type, x.d, x.nd, x.tuple);
    put_number(&s, 9, (uint64_t)x.parameter);
    if (x.feature) put_number(&dot, 4, (uint64_t)x.feature), put_bytes(&s, 16, dot.p, dot.n);
    if (x.target) put_text(&s, 28, x.target);
    if (x.contracting) {
        put_list(&dot, 1, x.contracting, 1);
        if (x.batch) put_list(&dot, 3, x.batch, 1);
        put_bytes(&s, 30, dot.p, dot.n);
    }
    put_number(&s, 35, p->next);
    put_list(&s, 36, x.operand, x.noperands);
    if (x.calls) put_list(&s, 38, (int64_t[]){(int64_t)x.calls}, 1);
    if (x.config) put_text(&s, 43, x.config);
    put_bytes(&p->out[2], 2, s.p, s.n);
    return p->next++;
}
static void end_computation(struct proto *p, uint64_t id, uint64_t root) {
    put_number(&p->out[2], 5, id), put_number(&p->out[2], 6, root);
    put_bytes(&p->out[1], 3, p->out[2].p, p->out[2].n);
    str_init(&p->out[2], &p->a);
}
static void read_proto(struct proto *p, struct hlo *h) {
    put_bytes(&p->out[0], 1, p->out[1].p, p->out[1].n);
    hlo_init(h, &p->a);
    hlo_read(h, (struct pb){(const uint8_t *)p->out[0].p, (const uint8_t *)p->out[0].p + p->out[0].n}, 7);
}
static struct hlo_cost cost(const struct hlo *h, const char *name) {
    const struct hlo_cost *c =
        hlo_find(h, 7, (struct pb){(const uint8_t *)name, (const uint8_t *)name + strlen(name)});
    if (!c) FAIL("%s has no cost", name);
    return *c;
}
static bool has_cost(const struct hlo *h, uint64_t program, const char *name) {
    return hlo_find(h, program, (struct pb){(const uint8_t *)name, (const uint8_t *)name + strlen(name)});
}

#define MATRIX(r, c) .nd = 2, .d = {r, c}
#define OF(...) .noperands = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .operand = {__VA_ARGS__}

TEST(analyze_hlo_products_by_message_and_by_library_call) {
    static struct proto p;
    struct hlo h;
    open_proto(&p);
    int64_t a = (int64_t)put(&p,
                             (struct instruction){"a", "parameter", .type = BF16, .nd = 3, .d = {4, 64, 96}}),
            b = (int64_t)put(&p,
                             (struct instruction){"b", "parameter", .type = BF16, .nd = 3, .d = {4, 96, 32}});
    put(&p, (struct instruction){"dot.1", "dot", .type = F32, .nd = 3, .d = {4, 64, 32}, OF(a, b),
                                 .contracting = (int64_t[]){2}, .batch = (int64_t[]){0}});
    put(&p,
        (struct instruction){"gemm.1", "custom-call", .target = "__cublas$lt$matmul",
                             .config = "{\"dot_dimension_numbers\":{\"lhs_contracting_dimensions\":[\"2\"],"
                                       "\"lhs_batch_dimensions\":[\"0\"]}}",
                             .type = BF16, .nd = 3, .d = {4, 64, 32}, OF(a, b), .tuple = true});
    put(&p, (struct instruction){"twice", "custom-call", .target = "__cublas$gemm", .config = "", .type = F32,
                                 MATRIX(8, 8), OF(a, a)});
    put(&p, (struct instruction){"other", "custom-call", .target = "my_kernel", .type = F32, MATRIX(8, 8),
                                 OF(a)});
    put(&p, (struct instruction){"sort.1", "sort", .type = F32, MATRIX(8, 8), OF(a)});
    end_computation(&p, 1, 3);
    read_proto(&p, &h);
    struct hlo_cost dot = cost(&h, "dot.1"), gemm = cost(&h, "gemm.1");
    CHECK_NEAR(dot.flops, 2.0 * 4 * 64 * 96 * 32, 0);
    CHECK(dot.m == 64 && dot.n == 32 && dot.k == 96 && dot.batch == 4 && dot.type == 'h');
    CHECK_NEAR(dot.bytes, 4 * (64 * 96 * 2 + 96 * 32 * 2 + 64 * 32 * 4), 0);
    CHECK_NEAR(gemm.flops, dot.flops, 0);
    CHECK_NEAR(gemm.bytes, 4 * (64 * 96 * 2 + 96 * 32 * 2 + 64 * 32 * 2), 0); /* not the scratch memory */
    CHECK(!has_cost(&h, 7, "twice")); /* its configuration does not say what is summed */
    CHECK(!has_cost(&h, 7, "other") && !has_cost(&h, 7, "sort.1") && !has_cost(&h, 8, "dot.1"));
    arena_free(&p.a);
}

TEST(analyze_hlo_convolutions_and_their_gradients) {
    static struct proto p;
    struct hlo h;
    open_proto(&p);
    /* NHWC 2x12x12x3, filter 5x5x3x8 (feature 3), result 2x8x8x8 */
    int64_t x = (int64_t)put(
                &p, (struct instruction){"x", "parameter", .type = F32, .nd = 4, .d = {2, 12, 12, 3}}),
            w = (int64_t)put(&p,
                             (struct instruction){"w", "parameter", .type = F32, .nd = 4, .d = {5, 5, 3, 8}}),
            y = (int64_t)put(&p, (struct instruction){"y", "convolution", .type = F32, .nd = 4,
                                                      .d = {2, 8, 8, 8}, OF(x, w), .feature = 3});
    put(&p, (struct instruction){"dx", "custom-call", .target = "__cudnn$convBackwardInput", .type = F32,
                                 .nd = 4, .d = {2, 12, 12, 3}, OF(y, w), .feature = 3, .tuple = true});
    put(&p, (struct instruction){"dw", "custom-call", .target = "__cudnn$convBackwardFilter", .type = F32,
                                 .nd = 4, .d = {5, 5, 3, 8}, OF(x, y), .feature = 3, .tuple = true});
    end_computation(&p, 1, 3);
    read_proto(&p, &h);
    double terms = 2.0 * 8 * 8 * 8 * 5 * 5 * 3;
    CHECK_NEAR(cost(&h, "y").flops, 2 * terms, 0);
    CHECK_NEAR(cost(&h, "dx").flops, 2 * terms, 0);
    CHECK_NEAR(cost(&h, "dw").flops, 2 * terms, 0);
    CHECK_NEAR(cost(&h, "dw").bytes, 4 * (2 * 12 * 12 * 3 + 2 * 8 * 8 * 8 + 5 * 5 * 3 * 8), 0);
    arena_free(&p.a);
}

/* A fusion reads a slice of one operand and all of another, and computes two operations per element. */
TEST(analyze_hlo_fusions_count_what_enters_and_leaves) {
    static struct proto p;
    struct hlo h;
    open_proto(&p);
    int64_t q = (int64_t)put(&p, (struct instruction){"q", "parameter", .type = F32, MATRIX(1000, 64)}),
            r = (int64_t)put(
                &p, (struct instruction){"r", "parameter", .type = F32, MATRIX(1, 64), .parameter = 1}),
            s = (int64_t)put(&p,
                             (struct instruction){"s", "dynamic-slice", .type = F32, MATRIX(1, 64), OF(q)}),
            e = (int64_t)put(&p, (struct instruction){"e", "exponential", .type = F32, MATRIX(1, 64), OF(s)}),
            f = (int64_t)put(&p, (struct instruction){"f", "add", .type = F32, MATRIX(1, 64), OF(e, r)});
    end_computation(&p, 5, (uint64_t)f);
    int64_t big = (int64_t)put(&p, (struct instruction){"big", "parameter", .type = F32, MATRIX(1000, 64)}),
            row = (int64_t)put(
                &p, (struct instruction){"row", "parameter", .type = F32, MATRIX(1, 64), .parameter = 1}),
            at = (int64_t)put(&p, (struct instruction){"at", "parameter", .type = S32, .parameter = 2}),
            root = (int64_t)put(&p, (struct instruction){"update", "dynamic-update-slice", .type = F32,
                                                         MATRIX(1000, 64), OF(big, row, at)});
    end_computation(&p, 6, (uint64_t)root);
    int64_t x = (int64_t)put(&p, (struct instruction){"x", "parameter", .type = F32, MATRIX(1000, 64)}),
            y = (int64_t)put(&p, (struct instruction){"y", "parameter", .type = F32, MATRIX(1, 64)});
    put(&p, (struct instruction){"fusion.1", "fusion", .type = F32, MATRIX(1, 64), OF(x, y), .calls = 5});
    put(&p, (struct instruction){"fusion.2", "fusion", .type = F32, MATRIX(1000, 64), OF(x, y), .calls = 6});
    put(&p, (struct instruction){"reduce.1", "reduce", .type = F32, .nd = 1, .d = {64}, OF(x)});
    put(&p, (struct instruction){"copy.1", "copy", .type = F32, MATRIX(1000, 64), OF(x)});
    put(&p, (struct instruction){"square", "multiply", .type = F32, MATRIX(1000, 64), OF(x, x)});
    end_computation(&p, 1, 0);
    read_proto(&p, &h);
    CHECK_NEAR(cost(&h, "fusion.1").flops, 2 * 64, 0);
    CHECK_NEAR(cost(&h, "fusion.1").bytes, 3 * 64 * 4, 0);
    CHECK_NEAR(cost(&h, "fusion.2").bytes, 2 * 64 * 4 + 4,
               0); /* in place: the row, read and written, and where */
    CHECK_NEAR(cost(&h, "reduce.1").flops, 64000, 0);
    CHECK_NEAR(cost(&h, "copy.1").flops, 0, 0);
    CHECK_NEAR(cost(&h, "copy.1").bytes, 2 * 256000, 0);
    CHECK_NEAR(cost(&h, "square").bytes, 2 * 256000, 0); /* x is read once */
    arena_free(&p.a);
}

/* ---- in a file -------------------------------------------------------------------------------------------- */

static void put_entry(struct str *plane, uint32_t no, uint64_t id, struct str *value) { /* of a map */
    struct str s;
    str_init(&s, plane->arena);
    put_number(&s, 1, id), put_bytes(&s, 2, value->p, value->n);
    put_bytes(plane, no, s.p, s.n);
}
static void put_named(struct str *plane, uint32_t no, uint64_t id, const char *name) {
    struct str s;
    str_init(&s, plane->arena);
    put_number(&s, 1, id), put_text(&s, 2, name);
    put_entry(plane, no, id, &s);
}
static void put_stat(struct str *to, uint32_t no, uint64_t id, const char *text, uint64_t number) {
    struct str s;
    str_init(&s, to->arena);
    put_number(&s, 1, id);
    if (text)
        put_text(&s, 5, text);
    else
        put_number(&s, 3, number);
    put_bytes(to, no, s.p, s.n);
}

/* A program, which only its name numbers, and one stream: "dot.1" by a kernel and a shorter one that sums its parts. */
static void put_amd(struct str *gpu) {
    static const char *const names[] = {"device_vendor", "core_count", "memory_bandwidth",
                                        "compute_cap_major"};
    for (uint64_t i = 0; i < RG_COUNT(names); i++) put_named(gpu, 5, 11 + i, names[i]);
    put_stat(gpu, 6, 11, "AMD", 0), put_stat(gpu, 6, 12, NULL, 304);
    put_stat(gpu, 6, 13, NULL, 2662400000000), put_stat(gpu, 6, 14, NULL, 9);
}

static void put_planes(struct str *file, const struct str *proto) {
    static const struct {
        uint64_t name, at, ps;
    } events[] = {{1, 0, 5000000}, {2, 6000000, 2000000}, {1, 10000000, 5000000}, {2, 16000000, 2000000}};
    struct str meta, gpu, line, s, p;
    str_init(&meta, file->arena), str_init(&gpu, file->arena), str_init(&line, file->arena);
    str_init(&s, file->arena), str_init(&p, file->arena);
    put_text(&meta, 2, "/host:metadata"), put_named(&meta, 5, 1, "Hlo Proto");
    put_number(&p, 1, 1), put_bytes(&p, 6, proto->p, proto->n);
    put_number(&s, 1, 3), put_text(&s, 2, "jit_step(17)"), put_bytes(&s, 5, p.p, p.n);
    put_entry(&meta, 4, 3, &s);
    put_text(&gpu, 2, "/device:GPU:0");
    put_amd(&gpu);
    put_named(&gpu, 5, 1, "hlo_op"), put_named(&gpu, 5, 2, "program_id");
    put_named(&gpu, 4, 1, "gemm_kernel"), put_named(&gpu, 4, 2, "splitk_reduce");
    put_number(&line, 1, 5), put_text(&line, 2, "Stream #5");
    for (size_t i = 0; i < RG_COUNT(events); i++) {
        str_init(&s, file->arena);
        put_number(&s, 1, events[i].name), put_number(&s, 2, events[i].at), put_number(&s, 3, events[i].ps);
        put_stat(&s, 4, 1, "dot.1", 0), put_stat(&s, 4, 2, NULL, 17);
        put_bytes(&line, 4, s.p, s.n);
    }
    put_bytes(&gpu, 3, line.p, line.n);
    put_bytes(file, 1, gpu.p, gpu.n), put_bytes(file, 1, meta.p, meta.n); /* the program comes last */
}

TEST(analyze_hlo_of_a_file_costs_the_longest_kernel) {
    static struct proto p;
    struct str file;
    struct trace t;
    struct diag d;
    open_proto(&p);
    int64_t a = (int64_t)put(&p, (struct instruction){"a", "parameter", .type = BF16, MATRIX(512, 512)});
    put(&p, (struct instruction){"dot.1", "dot", .type = BF16, MATRIX(512, 512), OF(a, a),
                                 .contracting = (int64_t[]){1}});
    end_computation(&p, 1, 2);
    put_bytes(&p.out[0], 1, p.out[1].p, p.out[1].n);
    str_init(&file, &p.a);
    put_planes(&file, &p.out[0]);
    if (trace_read_mem(&t, &p.e, file.p, file.n, 0)) FAIL("%s", p.e.msg);
    if (diagnose(&d, &t, &p.e)) FAIL("%s", p.e.msg);
    CHECK_EQ(d.kernels.n, 2);
    const struct kernel_row *gemm = &d.kernels.p[0], *sum = &d.kernels.p[1];
    CHECK_STR(trace_str(&t, gemm->name), "gemm_kernel");
    CHECK_NEAR(gemm->flops, 2.0 * 512 * 512 * 512, 0);
    CHECK(gemm->m == 512 && gemm->n == 512 && gemm->k == 512);
    CHECK(!sum->modelled && sum->flops == 0);
    CHECK_STR(d.device_name, "AMD MI300X"); /* 304 units, and half of its 5.3 TB/s */
    CHECK(d.gpu && d.gpu->bw == 5300);
    diag_free(&d);
    trace_free(&t);
    arena_free(&p.a);
}
