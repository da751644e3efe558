/* Tests of what a GPU kernel's text leaves unset: nothing that it reads, on any path. ptxas takes a register which one path does
 * not set for undefined, and may reuse it for another value; lanes that do set it were then wrong. The interpreter cannot
 * see this: the linear program is right, and only its text is not. Values: cuda_gpu_rnn in cuda_rnn.c. */
#include "cuda.h"

#include <ctype.h>

static struct err err;
static struct arena arena;

/* Two elements of a thread, from parts of a row that come from different buffers: what unrolled recurrent nets are full of. */
static const char parts[] =
    "kernel parts\nb0 = (PARAM<f32>[0 b0] 131072)\nb1 = (PARAM<f32>[1 b1] 65536)\nb2 = (PARAM<f32>[2 b2] "
    "65536)\nb3 = (PARAM<f32>[3 b3] 65536)\ni = (RANGE[i GRID 0] 64)\nj = (RANGE[j GRID 1] 2048)\n"
    "k = (RANGE[k REDUCE 2] 2)\nlow = (LT j 512)\nhigh = (LT 1535 j)\nat = (ADD j (MUL i 512))\n"
    "sum = (REDUCE[ADD] (LOAD (INDEX b1 (WHERE high (ADD (ADD (MUL k 32768) at) -1536) (INVALID<idx>)))) "
    "k)\n"
    "x = (ADD sum (LOAD (INDEX b2 (WHERE high (ADD at -1536) (INVALID<idx>)))))\n"
    "y = (ADD (LOAD (INDEX b2 (WHERE low at (INVALID<idx>)))) (LOAD (INDEX b3 (WHERE low at "
    "(INVALID<idx>)))))\n"
    "(SINK (STORE (INDEX b0 (ADD j (MUL i 2048))) (ADD (WHERE high (MUL x x) 0.0) (WHERE low (SIGMOID y) "
    "0.0))))\n";

struct texts {
    struct ir ir;
    struct linear lin;
    struct str cuda, opencl;
};

static void write_texts(void *arg) {
    struct texts *t = arg;
    struct program p = {0};
    struct render_shape shape;
    ir_init(&t->ir, &arena);
    ir_parse(&t->ir, parts, sizeof parts - 1, "parts.uop", &p);
    struct lower_opts o = {.opts = "TILE(j,2,j_v) VEC(j_v)", .target = {.kind = TARGET_GPU}};
    lower(&t->ir, &p.kernel.p[0], &o, &t->lin);
    str_init(&t->cuda, &arena), str_init(&t->opencl, &arena);
    render_cuda(&t->cuda, &t->ir, &t->lin, false, &shape);
    struct render_limits limits = {.threads = 256, .shared = 32 << 10};
    render_opencl(&t->opencl, &t->ir, &t->lin, false, &limits, &shape);
}

static struct texts *texts(void) {
    static struct texts t;
    memset(&t, 0, sizeof t);
    arena_init(&arena, &err);
    if (err_guard(&err, write_texts, &t)) FAIL("%s", err.msg);
    return &t;
}

/* Every piece has a value from its declaration on. */
static uint32_t pieces_set(const char *text, const char *type) {
    uint32_t n = 0;
    for (const char *p = text; (p = strstr(p, type)); p++) {
        const char *name = p + strlen(type), *end = name + strcspn(name, ";=,)(");
        if (strncmp(name, " p", 2)) continue;
        if (*end != '=') FAIL("%.*s is declared without a value\n%s", (int)(end - p), p, text);
        n++;
    }
    return n;
}

TEST(cuda_predicated_chunks_are_set) {
    struct texts *t = texts();
    CHECK_EQ(pieces_set(t->cuda.p, "piece<f32, 2>"), 4);
    CHECK_EQ(pieces_set(t->opencl.p, "f32x2"), 4);
    arena_free(&arena);
}

/* ---- PTX ---------------------------------------------------------------------------------------------------- */

enum { REGS = 1 << 12, INSTS = 1 << 13, WORDS = REGS / 64 };
struct ptx {
    char *inst[INSTS], *label[INSTS], *reg[REGS];
    uint32_t at[INSTS], n, labels, regs; /* at: of the label, the instruction that follows */
    uint64_t set[INSTS + 1][WORDS];      /* registers that every path to it has set */
};

/* Instructions and labels, a line each. */
static void read_lines(struct ptx *p, char *text) {
    bool inside = false;
    for (char *l = strtok(text, "\n"); l; l = strtok(NULL, "\n")) {
        while (isspace((unsigned char)*l)) l++;
        size_t n = strlen(l);
        if (*l == '{' || *l == '}') inside = *l == '{';
        if (!inside || !n || strchr(".{}/", *l)) continue;
        CHECK(p->n + 1 < INSTS && p->labels < INSTS);
        if (l[n - 1] == ':') {
            l[n - 1] = 0;
            p->at[p->labels] = p->n, p->label[p->labels++] = l;
        } else {
            p->inst[p->n++] = l;
        }
    }
}

/* The register that begins at *s, which goes on behind it; REGS: there is none. */
static uint32_t next_reg(struct ptx *p, const char **s, const char *end) {
    const char *r = *s;
    do {
        while (r < end && *r != '%') r++;
        size_t n = 1 + strspn(r + 1, "abcdefghijklmnopqrstuvwxyz"), all = n + strspn(r + n, "0123456789");
        *s = r + all;
        if (r >= end) return REGS;
        for (uint32_t i = 0; all > n && i < p->regs; i++)
            if (!strncmp(p->reg[i], r, all) && !p->reg[i][all]) return i;
        if (all > n && p->regs < REGS - 1) {
            p->reg[p->regs] = arena_strdup(&arena, r, all);
            return p->regs++;
        }
        r = *s;
    } while (true);
}

/* What an instruction sets stands first: one register or several in braces. */
static const char *sets_until(const char *s) {
    static const char *const nothing[] = {"st.", "bra", "ret", "bar", "griddepcontrol"};
    const char *op = *s == '@' ? s + strcspn(s, " \t") + 1 : s, *to = op + strcspn(op, " \t");
    while (isspace((unsigned char)*op)) op++;
    for (size_t i = 0; i < RG_COUNT(nothing); i++)
        if (!strncmp(op, nothing[i], strlen(nothing[i]))) return s;
    while (isspace((unsigned char)*to)) to++;
    return *to == '{' ? strchr(to, '}') : to + strcspn(to, ",;");
}

static bool meet(uint64_t *to, const uint64_t *from) {
    bool changed = false;
    for (uint32_t w = 0; w < WORDS; w++) changed |= (to[w] & from[w]) != to[w], to[w] &= from[w];
    return changed;
}

/* One pass over all instructions: what is set after each reaches those that follow. */
static bool flow(struct ptx *p) {
    bool changed = false;
    for (uint32_t i = 0; i < p->n; i++) {
        uint64_t after[WORDS];
        const char *s = p->inst[i], *end = sets_until(s), *bra = strstr(s, "bra");
        memcpy(after, p->set[i], sizeof after);
        for (uint32_t r; end != s && (r = next_reg(p, &s, end)) < REGS;) after[r / 64] |= 1ull << r % 64;
        for (uint32_t k = 0; bra && k < p->labels; k++)
            if (strstr(bra, p->label[k]) && strstr(bra, p->label[k])[strlen(p->label[k])] == ';')
                changed |= meet(p->set[p->at[k]], after);
        if (!strncmp(p->inst[i], "ret", 3) || (bra && *p->inst[i] != '@')) continue;
        changed |= meet(p->set[i + 1], after);
    }
    return changed;
}

TEST(cuda_compile_no_register_unset) {
    struct texts *t = texts();
    cuda_need_nvrtc(&arena);
    struct ptx *p = arena_new(&arena, struct ptx);
    struct dev_object o;
    struct str s;
    str_init(&s, &arena);
    render_cuda_preamble(&s);
    str_add(&s, t->cuda.p);
    const char *text = s.p;
    if (nvrtc_compile(&err, &arena, "compute_90a", &text, 1, &o)) FAIL("%s", err.msg);
    const char *all = arena_strdup(&arena, o.data, o.n);
    read_lines(p, o.data);
    CHECK(p->n > 50 && p->labels > 3);
    memset(p->set[1], 0xff, sizeof p->set - sizeof p->set[0]);
    while (flow(p)) continue;
    for (uint32_t i = 0; i < p->n; i++) {
        const char *x = sets_until(p->inst[i]), *end = p->inst[i] + strlen(p->inst[i]);
        for (uint32_t r; (r = next_reg(p, &x, end)) < REGS;)
            if (!(p->set[i][r / 64] >> r % 64 & 1))
                FAIL("%s is not set on every path to\n%s\n%s", p->reg[r], p->inst[i], all);
    }
    arena_free(&arena);
}
