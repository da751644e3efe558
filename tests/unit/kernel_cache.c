/* Tests of kernel_cache.c: compiled kernels are counted by the lists that call them, idle ones are unloaded above a limit,
 * and memory stays flat however many shapes a process sees. Kernels of a CPU come from a compiler inside this file, which
 * takes no time; those that must compute something from the real one. */
#include "engine/internal.h"
#include "fake/cuda.h"
#include "test.h"

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

static struct err err;
static struct arena arena;
static struct engine *en;

/* ---- a compiler that takes no time ------------------------------------------------------------------------ */

static bool real;

#define SYMBOLS 16
struct object {
    Elf64_Ehdr head;
    Elf64_Shdr section[4];
    Elf64_Sym symbol[SYMBOLS];
    char names[4096];
    uint32_t code;
};

/* Every function NAME_<16 hex digits> of the text, each a bare return. */
static void add_symbols(struct object *o, const char *text) {
    uint32_t n = 1, at = 1;
    for (const char *p = text; (p = strstr(p, "void ")); p++) {
        size_t len = strcspn(p + 5, "(");
        if (len < 18 || p[5 + len - 17] != '_' || strspn(p + 5 + len - 16, "0123456789abcdef") != 16)
            continue;
        CHECK(n < SYMBOLS && at + len < sizeof o->names);
        memcpy(o->names + at, p + 5, len);
        o->symbol[n++] = (Elf64_Sym){
            .st_name = at, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = 4};
        at += (uint32_t)len + 1;
    }
}

static void make_object(struct object *o, const char *text) {
#ifdef __aarch64__
    enum { MACHINE = EM_AARCH64 };
    o->code = 0xd65f03c0;
#else
    enum { MACHINE = EM_X86_64 };
    o->code = 0xc3c3c3c3;
#endif
    o->head = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                           .e_type = ET_REL,
                           .e_machine = MACHINE,
                           .e_version = EV_CURRENT,
                           .e_shoff = offsetof(struct object, section),
                           .e_ehsize = sizeof(Elf64_Ehdr),
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_shnum = RG_COUNT(o->section)};
    o->section[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                 .sh_offset = offsetof(struct object, code),
                                 .sh_size = sizeof o->code,
                                 .sh_addralign = 4};
    o->section[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                 .sh_offset = offsetof(struct object, symbol),
                                 .sh_size = sizeof o->symbol,
                                 .sh_link = 3,
                                 .sh_entsize = sizeof(Elf64_Sym),
                                 .sh_addralign = 8};
    o->section[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                 .sh_offset = offsetof(struct object, names),
                                 .sh_size = sizeof o->names,
                                 .sh_addralign = 1};
    add_symbols(o, text);
}

static int compile(struct device *d, struct err *e, struct arena *a, const char *const *text, int n,
                   struct dev_object *out) {
    if (real) return device_cpu.compile(d, e, a, text, n, out);
    for (int i = 0; i < n; i++) {
        struct object *o = arena_new(a, struct object);
        make_object(o, text[i]);
        out[i] = (struct dev_object){.data = o, .n = sizeof *o};
    }
    return 0;
}

static struct device_ops quick;

static void setup(const char *kernels, const char *plans) {
    arena_init(&arena, &err);
    if (!os_find_program(&arena, "clang") && !os_find_program(&arena, "gcc")) SKIP("no C compiler");
    setenv("RIDGE_CACHE", "0", 1);
    setenv("RIDGE_KERNELS", kernels, 1);
    setenv("RIDGE_PLANS", plans, 1);
    setenv("RIDGE_MODEL", "tests/machine.txt", 1);
    env_reload();
    quick = device_cpu;
    quick.compile = compile;
    en = engine_open(&err, &quick);
    if (!en) FAIL("%s", err.msg);
}

/* ---- programs: a * k + b ------------------------------------------------------------------------------------- */

struct shape_prog {
    struct err err;
    struct arena arena;
    struct ir ir;
    struct realize r;
    void *buf[2], *result[1];
    float *p; /* a, b and the result */
    int64_t n;
};

static void affine_open(struct shape_prog *p, int64_t n, double k) {
    memset(p, 0, sizeof *p);
    arena_init(&p->arena, &p->err);
    ir_init(&p->ir, &p->arena);
    const uop *dim = uop_idx(&p->ir, n), *x[2];
    for (int i = 0; i < 2; i++) x[i] = uop_new(&p->ir, OP_BUFFER, DT_F32, 1, &dim, 1, ARG_INT(i));
    const uop *y = uop2(&p->ir, OP_ADD, uop2(&p->ir, OP_MUL, x[0], uop_flt(&p->ir, DT_F32, k)), x[1]);
    p->n = n;
    p->p = engine_alloc(en, &err, (size_t)n * 12);
    for (int64_t i = 0; i < n; i++) p->p[i] = (float)i, p->p[n + i] = (float)(n - i), p->p[2 * n + i] = -1;
    p->buf[0] = p->p, p->buf[1] = p->p + n, p->result[0] = p->p + 2 * n;
    p->r = (struct realize){
        .ir = &p->ir, .buf = p->buf, .result = p->result, .graph = uop_mk(&p->ir, OP_GRAPH, &y, 1, ARG_NONE)};
}

static void affine_close(struct shape_prog *p) {
    engine_free(en, p->p, (size_t)p->n * 12);
    arena_free(&p->arena);
}

static void affine_check(const struct shape_prog *p, float k) {
    for (int64_t i = 0; i < p->n; i++) CHECK_EQ(p->p[2 * p->n + i], p->p[i] * k + p->p[p->n + i]);
}

static void shapes(int64_t from, int64_t to) {
    for (int64_t n = from; n < to; n++) {
        struct shape_prog p;
        affine_open(&p, n, 2);
        if (engine_realize(en, &err, &p.r, NULL)) FAIL("%s", err.msg);
        affine_close(&p);
    }
}

static struct replay *record(struct shape_prog *p) {
    struct replay *held = engine_replay_new(en, &err, &p->r);
    CHECK(held);
    if (engine_realize(en, &err, &p->r, NULL)) FAIL("%s", err.msg);
    engine_replay_hold(held);
    return held;
}

static void replay_check(struct replay *held, struct shape_prog *p, float k) {
    for (int64_t i = 0; i < p->n; i++) p->p[2 * p->n + i] = -1;
    if (engine_replay_run(held, &err, p->buf, p->result, NULL, NULL)) FAIL("%s", err.msg);
    affine_check(p, k);
}

static long resident_kb(void) {
    long all, now = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f && fscanf(f, "%ld %ld", &all, &now) == 2);
    fclose(f);
    return now * (sysconf(_SC_PAGESIZE) / 1024);
}

/* What was recorded first is never unloaded; what came later goes, and memory and work for a new shape stay the same. */
TEST(kernels_of_many_shapes_are_unloaded) {
    enum { SHAPES = 2000, STEP = SHAPES / 4, KERNELS = 64, PLANS = 32 };
    setup("64", "32");
    event_names(64);
    struct shape_prog first;
    affine_open(&first, 7, 3);
    real = true;
    struct replay *held = record(&first);
    affine_check(&first, 3);
    real = false;
    struct engine_stats s[5];
    int64_t live[5];
    uint64_t made[5];
    uint32_t names[5];
    long kb[5];
    for (int i = 0; i < 5; i++) {
        if (i) shapes(100 + (i - 1) * STEP, 100 + i * STEP);
        s[i] = engine_stats(en), live[i] = mem_live(), made[i] = mem_count(), kb[i] = resident_kb();
        names[i] = event_names(0);
        if (i) CHECK(s[i].kernels <= KERNELS && s[i].modules <= KERNELS && en->plans.n <= PLANS);
        replay_check(held, &first, 3);
    }
    CHECK(s[4].unloaded >= SHAPES - KERNELS);
    CHECK(s[4].kernel_bytes <= s[1].kernel_bytes + s[1].kernel_bytes / 8);
    CHECK(live[4] - live[2] < STEP / 64); /* rows of costs: by the block */
    CHECK_EQ(names[4], names[2]);
    uint64_t early = made[2] - made[1], late = made[4] - made[3];
    CHECK(late < early + early / 10 && early < late + late / 10);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(WITH_ASAN)
    CHECK(kb[4] - kb[2] < 4096);
#endif
    engine_replay_free(held);
    affine_close(&first);
    engine_close(en);
}

/* Of a kernel that no plan calls any more nothing stays but what the limit allows, and it is compiled anew. */
TEST(kernels_idle_go_least_recently_used_first) {
    setup("4", "1");
    shapes(100, 104);
    CHECK_EQ(engine_stats(en).kernels, 4);
    uint64_t compiled = engine_stats(en).compiled;
    shapes(100, 101); /* planned anew, its kernel is still there: the newest */
    CHECK_EQ(engine_stats(en).compiled, compiled);
    shapes(104, 105); /* drops 101 */
    shapes(100, 101);
    CHECK_EQ(engine_stats(en).compiled, compiled + 1);
    shapes(101, 102);
    CHECK_EQ(engine_stats(en).compiled, compiled + 2);
    CHECK_EQ(engine_stats(en).kernels, 4);
    en->kernels.most_bytes = 1; /* what the newest plan calls stays */
    shapes(200, 202);
    CHECK_EQ(engine_stats(en).kernels, 1);
    CHECK_EQ(engine_stats(en).modules, 1);
    engine_close(en);
}

/* A list that is no plan's keeps its kernels too; one that was replaced in it is free to go. */
TEST(kernels_of_a_list_stay) {
    setup("0", "1");
    real = true;
    const struct ekernel *k[2];
    struct etext t[2];
    for (int i = 0; i < 2; i++)
        t[i] =
            (struct etext){.name = "put",
                           .grid = 1,
                           .nbuf = 1,
                           .text = arena_printf(
                               &arena,
                               "void put(void *const *buf, const i64 *var, u32 t0, u32 t1, void *scratch) { "
                               "*(i32 *)buf[0] = %d; }\n",
                               100 + i)};
    if (engine_compile_text(en, &err, t, 2, k)) FAIL("%s", err.msg);
    int x = 0;
    struct engine_list *l = engine_list_new(en, &err);
    CHECK(!engine_list_add(l, &err, k[0], (void *[]){&x}, NULL));
    CHECK(!engine_list_add(l, &err, k[0], (void *[]){&x}, NULL));
    CHECK(!engine_list_replace(l, &err, 1, k[1]));
    real = false;
    shapes(100, 110);
    CHECK(!engine_list_run(l, &err));
    CHECK_EQ(x, 101);
    CHECK_EQ(engine_stats(en).kernels, 3); /* of the plan, of the list */
    CHECK(!engine_list_replace(l, &err, 1, k[0]));
    shapes(110, 111);
    CHECK_EQ(engine_stats(en).kernels, 2);
    CHECK(!engine_list_run(l, &err));
    CHECK_EQ(x, 100);
    engine_list_free(l);
    shapes(111, 112);
    CHECK_EQ(engine_stats(en).kernels, 1);
    engine_close(en);
}

/* Kernels of a builtin differ by shape, and share one function. */
TEST(kernels_of_a_builtin_are_bounded) {
    setup("16", "8");
    struct estimate est = {0};
    for (int64_t rows = 2; rows < 200; rows++) {
        const char *type[] = {"f32", "f32"};
        int64_t num[8] = {rows, rows};
        struct dev_call call = {"sort", type, 2, rows, num};
        const struct ekernel *k;
        if (engine_builtin(en, &err, "sort", &call, &est, &k)) FAIL("%s", err.msg);
        CHECK_EQ(k->grid, rows);
        if (rows % 50 == 0) shapes(rows, rows + 1);
    }
    shapes(1000, 1001);
    CHECK(engine_stats(en).kernels <= 16);
    engine_close(en);
}

/* ---- a GPU -------------------------------------------------------------------------------------------------- */

TEST(kernels_of_a_gpu_are_unloaded_after_a_wait) {
    struct fake *f = fake();
    setenv("RIDGE_KERNELS", "32", 1);
    setenv("RIDGE_PLANS", "16", 1);
    rg_ctx *c = fake_open(f);
    rg_tensor in = rg_contiguous(rg_ones(c, RG_F32, RG_SHAPE(64))), y;
    rg_jit *j = rg_jit_new(c, diamond, NULL, 1);
    for (int i = 0; i < 3; i++)
        if (rg_jit_call(j, (rg_tensors){&in, 1}, &y)) FAIL("%s", rg_error(c));
    for (int n = 100; n < 300; n++) {
        RG_SCOPE(c);
        rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(n));
        if (rg_realize(rg_contiguous(rg_exp(x)))) FAIL("%s", rg_error(c));
        if (f->modules > 32)
            FAIL("%u modules, %u unloaded, at %d: %s", f->modules, f->unloads, n, rg_error(c));
    }
    CHECK(f->unloads >= 150);
    CHECK_EQ(f->hasty, 0);
    uint32_t nodes = f->launched_nodes, launches = f->launches;
    if (rg_jit_call(j, (rg_tensors){&in, 1}, &y)) FAIL("%s", rg_error(c));
    CHECK_EQ(f->launched_nodes - nodes, 4); /* names of functions are read: ASan sees one that is gone */
    CHECK_EQ(f->launches, launches);
    rg_close(c);
    check_empty(f);
}
