/* Tests of src/model: the text form and malformed ones, the guess, the roofline against worked examples. */
#include "model/model.h"
#include "test.h"

#include <stdlib.h>

static struct err err;
static struct arena arena;

static void open_arena(void) { arena_init(&arena, &err); }

static char *text_of(const struct model *m) {
    struct str s;
    str_init(&s, &arena);
    model_print(&s, m);
    return s.p;
}

/* Round numbers: a vector rate of 100 Gop/s and a bus of 10 GB/s read, 20 GB/s copy, per 2 cores. */
static struct model round_model(void) {
    struct model m = {.name = "round"};
    for (int f = 0; f < MODEL_FIELDS; f++) m.theory[f] = 1;
    m.theory[MODEL_CORES] = 2;
    m.theory[MODEL_CLOCK] = 2;
    m.theory[MODEL_FLOPS_F32] = 25;
    m.theory[MODEL_MATRIX_BF16] = 0;
    m.theory[MODEL_FLOPS_BF16] = 5;
    m.theory[MODEL_DRAM_READ] = 10;
    m.theory[MODEL_DRAM_COPY] = 20;
    m.theory[MODEL_DRAM_CORE] = 8;
    m.theory[MODEL_LAUNCH] = 100;
    m.theory[MODEL_FORK] = 400;
    return m;
}

TEST(model_guess_is_plausible) {
    struct model m;
    model_guess(&m);
    CHECK(m.name[0]);
    CHECK_EQ(m.theory[MODEL_CORES], os_cpus());
    CHECK(m.theory[MODEL_CLOCK] > 0.5 && m.theory[MODEL_CLOCK] < 10);
    CHECK_EQ(m.theory[MODEL_FLOPS_F32], m.theory[MODEL_FMA_UNITS] * os_cpu()->vec_bytes / 2);
    for (int f = 0; f < MODEL_FIELDS; f++)
        if (f != MODEL_MATRIX_BF16 && f != MODEL_MATRIX_I8 && f != MODEL_L3_SIZE) CHECK(m.theory[f] > 0);
}

/* Plans are those of every process, whatever its threads; reports are of the threads there are. */
TEST(model_of_plans_knows_no_threads) {
    static const char *const threads[] = {"1", "2", "16", "200"};
    open_arena();
    unsetenv("RIDGE_MODEL");
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    uint64_t first = 0;
    for (size_t i = 0; i < RG_COUNT(threads); i++) {
        struct model m, planned;
        setenv("RIDGE_THREADS", threads[i], 1);
        env_reload();
        CHECK_EQ(model_open(&err, &arena, &m), 0);
        CHECK_EQ(model_open_for_plans(&err, &arena, &planned), 0);
        CHECK_EQ(m.theory[MODEL_CORES], atoi(threads[i]));
        if (!i) first = model_hash(&planned);
        CHECK(model_hash(&planned) == first);
    }
    arena_free(&arena);
}

TEST(model_text_round_trips) {
    open_arena();
    struct model m, back;
    model_guess(&m);
    model_measured(&m, MODEL_CLOCK, 2.59371);
    model_measured(&m, MODEL_DRAM_COPY, 95432.1);
    CHECK_NEAR(m.measured[MODEL_CLOCK], 2.59, 0);
    CHECK_NEAR(model_value(&m, MODEL_DRAM_COPY), 95400, 0);
    char *text = text_of(&m);
    CHECK_EQ(model_parse(&err, &back, "text", text, strlen(text)), 0);
    CHECK_STR(text_of(&back), text);
    CHECK(model_hash(&m) == model_hash(&back));
    model_measured(&back, MODEL_CLOCK, 2.61);
    CHECK(model_hash(&m) != model_hash(&back));
    model_measured(&back, MODEL_CLOCK, -1);
    CHECK_EQ(back.measured[MODEL_CLOCK], 0);
    arena_free(&arena);
}

/* Each row: replace the first text by the second in a good file; the error must hold the third. */
TEST(model_parse_refuses_bad_files) {
    static const struct {
        const char *find, *put, *says;
    } row[] = {
        {"ridge-machine 1", "ridge-machine 2", "expected 'ridge-machine 1', found 'ridge-machine 2'"},
        {"name = round", "name = two words", "without spaces"},
        {"name = round", "# no name", "'name' is missing"},
        {"name = round", "name =", "a name of 1 to 63 letters"},
        {"name = round", "name = round\nname = again", "'name' stands here a second time"},
        {"= 2 ", "= nan ", "out of range"},
        {"= 2 ", "= 1e99 ", "out of range"},
        {"= 2 ", "= -2 ", "out of range"},
        {"= 2 ", "= 0 ", "more than 0"},
        {"= 2 ", "= two ", "expected a number, found 'two'"},
        {"= 2 ", "= ", "expected a number, found ''"},
        {"= 2 ", "= 2 [3 ", "expected ']'"},
        {"= 2 ", "= 2 [] ", "expected a number"},
        {"= 2 ", "= 2 [3] x", "expected the end of the line, found 'x'"},
        {"cores ", "kores ", "no such key 'kores'"},
        {"clock ", "cores ", "'cores' stands here a second time"},
        {"cores ", "# cores ", "'cores' is missing"},
        {"cores       =", "cores", "expected 'key = value'"},
    };
    open_arena();
    struct model good = round_model(), m;
    char *text = text_of(&good);
    for (size_t i = 0; i < RG_COUNT(row); i++) {
        char *at = strstr(text, row[i].find);
        if (!at) FAIL("row %zu: '%s' is not in the text", i, row[i].find);
        char *bad =
            arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, row[i].put, at + strlen(row[i].find));
        err_clear(&err);
        int code = model_parse(&err, &m, "file", bad, strlen(bad));
        if (code != RG_EPARSE || !strstr(err.msg, row[i].says) || !strstr(err.msg, "file"))
            FAIL("row %zu: code %d, '%s' lacks '%s'", i, code, err.msg, row[i].says);
    }
    TEST_COUNT(RG_COUNT(row), "bad machine files refused with the right words");
    arena_free(&arena);
}

/* Cutting a good file anywhere, or changing any byte of it, may fail but must not harm. */
TEST(model_parse_survives_any_text) {
    open_arena();
    struct model good = round_model(), m;
    char *text = text_of(&good);
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++) {
        struct arena_mark mark = arena_mark(&arena);
        char *cut = arena_strdup(&arena, text, i);
        err_clear(&err);
        model_parse(&err, &m, "cut", cut, i);
        cut = arena_strdup(&arena, text, n);
        cut[i] = (char)hash_u64(i);
        err_clear(&err);
        model_parse(&err, &m, "bent", cut, n);
        arena_release(&arena, mark);
    }
    char *huge = arena_raw(&arena, 100000);
    memset(huge, 'x', 100000);
    err_clear(&err);
    CHECK_EQ(model_parse(&err, &m, "long", huge, 100000), RG_EPARSE);
    CHECK(strstr(err.msg, "at most 255 bytes"));
    arena_free(&arena);
}

TEST(model_files_and_environment) {
    open_arena();
    char *dir;
    CHECK_EQ(os_temp_dir(&err, &arena, &dir), 0);
    char *path = arena_printf(&arena, "%s/a/b/machine", dir);
    struct model m = round_model(), back;
    CHECK_EQ(model_save(&err, &arena, path, &m), 0);
    setenv("RIDGE_MODEL", path, 1);
    env_reload();
    CHECK_EQ(model_open(&err, &arena, &back), 0);
    CHECK_STR(back.name, "round");
    os_remove(path);
    CHECK_EQ(model_open(&err, &arena, &back), RG_EIO); /* asked for by name: no silent guess */
    CHECK(strstr(err.msg, path));
    err_clear(&err);
    unsetenv("RIDGE_MODEL");
    setenv("XDG_CONFIG_HOME", dir, 1);
    env_reload();
    CHECK_EQ(model_open(&err, &arena, &back), 0);
    CHECK(strcmp(back.name, "round") != 0);
    CHECK_EQ(model_save(&err, &arena, model_path(&arena), &m), 0);
    CHECK_EQ(model_open(&err, &arena, &back), 0);
    CHECK_STR(back.name, "round");
    os_remove_tree(dir);
    CHECK(!os_exists(dir));
    arena_free(&arena);
}

TEST(roofline_names_the_limit) {
    struct model m = round_model();
    struct model_time t = model_time(&m, &(struct model_work){.f32 = 1e9});
    CHECK_EQ(t.limit, UNIT_VECTOR);
    CHECK_NEAR(t.seconds, 1e9 / 100e9 + 500e-9, 1e-12);
    t = model_time(&m, &(struct model_work){.f32 = 1e9, .threads = 1});
    CHECK_NEAR(t.seconds, 1e9 / 50e9 + 100e-9, 1e-12);
    t = model_time(&m, &(struct model_work){.f32 = 1e9, .dram_read = 1e9});
    CHECK_EQ(t.limit, UNIT_DRAM);
    CHECK_NEAR(t.by[UNIT_DRAM], 0.1, 1e-9);
    t = model_time(&m, &(struct model_work){.f32 = 10});
    CHECK_EQ(t.limit, UNIT_LAUNCH);
    CHECK_STR(model_unit_text(t.limit), "launch");
}

TEST(roofline_memory_mixes_reads_and_writes) {
    struct model m = round_model();
    CHECK_NEAR(model_time(&m, &(struct model_work){.dram_read = 5e8, .dram_write = 5e8}).by[UNIT_DRAM], 0.05,
               1e-9);
    CHECK_NEAR(model_time(&m, &(struct model_work){.dram_write = 1e9}).by[UNIT_DRAM], 0.05, 1e-9);
    CHECK_NEAR(model_time(&m, &(struct model_work){.dram_read = 7.5e8, .dram_write = 2.5e8}).by[UNIT_DRAM],
               0.075, 1e-9);
    /* one core reads 8 GB/s, not the 10 of the bus */
    CHECK_NEAR(model_time(&m, &(struct model_work){.dram_read = 1e9, .threads = 1}).by[UNIT_DRAM], 0.125,
               1e-9);
}

TEST(roofline_missing_unit_uses_the_other) {
    struct model m = round_model();
    struct model_time t = model_time(&m, &(struct model_work){.mat_bf16 = 1e9});
    CHECK_EQ(t.limit, UNIT_MATRIX);
    CHECK_NEAR(t.by[UNIT_MATRIX], 1e9 / (5 * 2e9 * 2), 1e-9); /* bf16 arithmetic on the vector unit */
}

/* ---- isa.c -------------------------------------------------------------------------------------------- */

static const struct isa *row_with(const char *arch, const char *flags) {
    struct os_cpu c = {0};
    snprintf(c.arch, sizeof c.arch, "%s", arch);
    snprintf(c.flags, sizeof c.flags, "%s", flags);
    return isa_of(&c);
}

TEST(isa_row_is_the_last_that_the_flags_allow) {
    open_arena();
    const char *wide = isa_find("avx512")->cc;
    CHECK_STR(row_with("aarch64", "-march=armv8-a")->name, "neon");
    CHECK_STR(row_with("aarch64", "-march=armv8.2-a+fp16+sve")->name, "sve");
    CHECK_STR(row_with("x86_64", "-msse2")->name, "sse2");
    CHECK_STR(row_with("x86_64", "-msse2 -mavx2")->name, "sse2"); /* without FMA */
    CHECK_STR(row_with("x86_64", "-msse2 -mavx2 -mfma")->name, "avx2");
    CHECK_STR(row_with("x86_64", arena_printf(&arena, "-msse2 %s", wide))->name, "avx512");
    CHECK_STR(row_with("riscv64", "")->name, "c");
    CHECK_EQ(isa_host()->bytes, os_cpu()->vec_bytes);
    arena_free(&arena);
}

TEST(isa_rows_are_whole) {
    for (size_t i = 0; isa_at(i); i++) {
        const struct isa *r = isa_at(i);
        CHECK(r->bytes >= 16 && r->regs >= 16 && r->fma >= 1 && r->fma_most >= r->fma && r->loads >= 1);
        CHECK(isa_accumulators(r) > 0 && isa_accumulators(r) < r->regs);
        if (isa_chains(r) > isa_accumulators(r))
            FAIL("%s: no register tile hides the latency of an FMA", r->name);
        CHECK(isa_find(r->name) == r);
    }
    CHECK_STR(isa_of_width(16)->name, "neon");
    CHECK_STR(isa_of_width(32)->name, "avx2");
    CHECK_STR(isa_of_width(64)->name, "avx512");
    CHECK(isa_of_width(0) == isa_host());
}

/* Figures of instruction manuals: Neoverse V1 has four 16-byte pipes; an AMX product takes 16 cycles. */
TEST(isa_ops_give_the_rates_of_the_model) {
    struct os_cpu arm = {.arch = "aarch64", .flags = "-march=armv8.2-a+fp16+dotprod+bf16+i8mm"};
    struct os_cpu amx = {.arch = "x86_64", .flags = "-mfma -mavx512bf16 -mavx512vnni -mamx-bf16 -mamx-int8"};
    struct os_cpu dot = {.arch = "x86_64", .flags = "-mfma -mavx512bf16 -mavx512vnni"};
    CHECK_NEAR(isa_op_count(isa_op_of(&arm, MODEL_FLOPS_F32), 16), 8, 0);
    CHECK_NEAR(isa_op_count(isa_op_of(&arm, MODEL_MATRIX_BF16), 16), 32, 0);
    CHECK_NEAR(isa_op_count(isa_op_of(&arm, MODEL_MATRIX_I8), 16), 64, 0);
    CHECK_NEAR(isa_op_count(isa_op_of(&dot, MODEL_FLOPS_F64), 64), 16, 0);
    CHECK_NEAR(isa_op_count(isa_op_of(&dot, MODEL_MATRIX_I8), 64), 128, 0);
    const struct isa_op *tile = isa_op_of(&amx, MODEL_MATRIX_BF16);
    CHECK(tile->tiles && !isa_op_of(&dot, MODEL_MATRIX_BF16)->tiles);
    CHECK_NEAR(2 * tile->rate * isa_op_count(tile, 64), 1024, 0); /* two FMA units: per cycle */
    CHECK(!isa_op_of(&(struct os_cpu){.arch = "x86_64"}, MODEL_MATRIX_I8));
}
