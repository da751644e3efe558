/* model.c: the machine file: guess, print, parse, load, save, hash.
 *
 * The guess comes from what the instruction set says (os_cpu, isa.def) and a small table of cores whose number
 * of FMA units is public. It only has to be right to a factor of two: `ridge ceilings` measures, and a
 * measured value wins wherever it stands. The parser trusts nothing: people edit the files.
 *
 * Invariants: every theory value is finite and >= 0, and > 0 for all fields but the matrix rates and the
 * shared cache; measured is 0 or as theory. print and parse are inverse to each other.
 * Tests: tests/unit/model.c */
#include "model.h"

#include <math.h>
#include <stdlib.h>

#define FILE_MAX ((size_t)64 << 10)
#define VALUE_MAX 1e15
#define MAGIC "ridge-machine 1"

static const struct {
    const char *key, *unit, *what;
} table[MODEL_FIELDS] = {
#define X(field, key, unit, what) {key, unit, what},
    MODEL_TABLE(X)
#undef X
};

/* Cores whose numbers are known.
 *   name in os_cpu  GHz  fma: vector FMAs per cycle  loads: vectors loaded per cycle */
static const struct core {
    const char *name;
    double ghz;
    int fma, loads;
} cores[] = {
    {"Cortex-A53", 1.4, 1, 1},  {"Cortex-A55", 1.8, 1, 1},  {"Cortex-A72", 1.8, 1, 1},
    {"Cortex-A76", 2.4, 2, 2},  {"Cortex-A78", 2.4, 2, 2},  {"Neoverse-N1", 2.5, 2, 2},
    {"Neoverse-N2", 2.8, 2, 2}, {"Neoverse-N3", 3.0, 2, 2}, {"Neoverse-V1", 2.6, 4, 3},
    {"Neoverse-V2", 2.8, 4, 3}, {"Neoverse-V3", 3.0, 4, 3}, {"Ampere-1", 3.0, 2, 2},
};

static bool may_be_zero(int f) {
    return f == MODEL_MATRIX_BF16 || f == MODEL_MATRIX_I8 || f == MODEL_L3_SIZE;
}

/* Through text: what is saved is what is used. */
static double rounded(double x, int digits) {
    char text[48];
    text_printf(text, sizeof text, "%.*e", digits - 1, x);
    return text_double(text, NULL);
}

void model_round(struct model *m) {
    for (int f = 0; f < MODEL_FIELDS; f++) m->theory[f] = rounded(m->theory[f], 9);
}

/* ---- guess ---------------------------------------------------------------------------------------- */

/* Operations per cycle of the instruction behind a field. */
static double rate_of(const struct os_cpu *c, enum model_field f, double fma, double otherwise) {
    const struct isa_op *op = isa_op_of(c, f);
    return op ? op->rate * fma * isa_op_count(op, c->vec_bytes) : otherwise;
}

static void guess_rates(struct model *m, const struct os_cpu *c) {
    double *t = m->theory, fma = t[MODEL_FMA_UNITS], f32 = fma * t[MODEL_VEC_BYTES] / 4 * 2;
    t[MODEL_FLOPS_F64] = rate_of(c, MODEL_FLOPS_F64, fma, f32 / 2);
    t[MODEL_FLOPS_F32] = rate_of(c, MODEL_FLOPS_F32, fma, f32);
    t[MODEL_FLOPS_F16] = rate_of(c, MODEL_FLOPS_F16, fma, f32);
    t[MODEL_FLOPS_BF16] = rate_of(c, MODEL_FLOPS_BF16, fma, f32);
    t[MODEL_OPS_INT] = rate_of(c, MODEL_OPS_INT, fma, f32 / 2); /* no FMA counted twice */
    t[MODEL_MATRIX_BF16] = rate_of(c, MODEL_MATRIX_BF16, fma, 0);
    t[MODEL_MATRIX_I8] = rate_of(c, MODEL_MATRIX_I8, fma, 0);
}

/* Bytes per cycle are typical of server cores; memory is what two channels per few cores give. */
static void guess_memory(struct model *m, const struct os_cpu *c, int loads) {
    double *t = m->theory, clock = t[MODEL_CLOCK], n = t[MODEL_CORES];
    t[MODEL_L1_SIZE] = c->l1 > 0 ? (double)c->l1 : 32 << 10;
    t[MODEL_L2_SIZE] = c->l2 > 0 ? (double)c->l2 : 512 << 10;
    t[MODEL_L3_SIZE] = c->l3 > 0 ? (double)c->l3 : 0;
    t[MODEL_L1_RATE] = loads * t[MODEL_VEC_BYTES] * clock;
    t[MODEL_L2_RATE] = 32 * clock;
    t[MODEL_L3_RATE] = 16 * clock;
    t[MODEL_DRAM_CORE] = 25;
    t[MODEL_DRAM_READ] = RG_MIN(25 * n, 200);
    t[MODEL_DRAM_COPY] = t[MODEL_DRAM_READ];
    t[MODEL_LAUNCH] = 100;
    t[MODEL_FORK] = 500;
    t[MODEL_WAKE] = 7000;
}

/* The name goes into a file: plain characters only. */
void model_set_name(struct model *m, const char *name, const char *otherwise) {
    size_t n = 0;
    for (const char *s = name; *s && n < sizeof m->name - 1; s++)
        if (*s > ' ' && *s < 127 && *s != '#')
            m->name[n++] = *s;
        else if (n && m->name[n - 1] != '-')
            m->name[n++] = '-';
    if (!n) snprintf(m->name, sizeof m->name, "%s", otherwise);
}

/* ghz 0: typical of the core. */
static void guess(struct model *m, int threads, double ghz) {
    const struct os_cpu *c = os_cpu();
    *m = (struct model){0};
    model_set_name(m, c->model, c->arch);
    const struct isa *isa = isa_of(c);
    struct core core = {.ghz = 2.5, .fma = isa->fma, .loads = isa->loads};
    for (size_t i = 0; i < RG_COUNT(cores); i++)
        if (!strcmp(cores[i].name, c->model)) core = cores[i];
    m->theory[MODEL_CORES] = threads;
    m->theory[MODEL_CLOCK] = ghz > 0 ? ghz : core.ghz;
    m->theory[MODEL_VEC_BYTES] = c->vec_bytes;
    m->theory[MODEL_FMA_UNITS] = core.fma;
    guess_rates(m, c);
    guess_memory(m, c, core.loads);
    model_round(m);
}

void model_guess(struct model *m) { guess(m, os_cpus(), os_cpu()->ghz); }
void model_guess_for_plans(struct model *m) { guess(m, MODEL_PLAN_CORES, 0); }

/* ---- values --------------------------------------------------------------------------------------- */

const char *model_key(enum model_field f) { return table[f].key; }
const char *model_unit_of(enum model_field f) { return table[f].unit; }

double model_value(const struct model *m, enum model_field f) {
    return m->measured[f] > 0 ? m->measured[f] : m->theory[f];
}

void model_measured(struct model *m, enum model_field f, double x) {
    m->measured[f] = isfinite(x) && x > 0 && x <= VALUE_MAX ? rounded(x, 3) : 0;
}

uint64_t model_hash(const struct model *m) {
    uint64_t h = hash_bytes(m->name, strlen(m->name), 1);
    for (int f = 0; f < MODEL_FIELDS; f++) {
        double v = model_value(m, (enum model_field)f);
        h = hash_bytes(&v, sizeof v, h);
    }
    return h;
}

/* ---- text ----------------------------------------------------------------------------------------- */

void model_print(struct str *s, const struct model *m) {
    str_add(s, MAGIC "\n# key = theory [measured]\n");
    str_printf(s, "name = %s\n", m->name);
    for (int f = 0; f < MODEL_FIELDS; f++) {
        char value[80];
        int n = text_printf(value, sizeof value, "%.9g", m->theory[f]);
        if (m->measured[f] > 0) text_printf(value + n, sizeof value - (size_t)n, " [%.9g]", m->measured[f]);
        str_printf(s, "%-11s = %-24s # %s: %s\n", table[f].key, value, table[f].unit, table[f].what);
    }
}

/* A number from p; NULL and an error if there is none or it is out of range. */
static const char *take_number(struct err *e, const char *at, const char *p, bool zero_ok, double *out) {
    char *end;
    double x = text_double(p, &end);
    if (end == p || end - p > 40) {
        err_set(e, RG_EPARSE, "%s: expected a number, found '%.20s'", at, p);
        return NULL;
    }
    if (!isfinite(x) || x > VALUE_MAX || x < 0 || (x == 0 && !zero_ok)) {
        err_set(e, RG_EPARSE, "%s: %g is out of range; expected %s and at most %g", at, x,
                zero_ok ? "0 or more" : "more than 0", VALUE_MAX);
        return NULL;
    }
    *out = x;
    return end + strspn(end, " \t");
}

static int parse_value(struct err *e, struct model *m, const char *at, int f, const char *p) {
    if (!(p = take_number(e, at, p, may_be_zero(f), &m->theory[f]))) return e->code;
    if (*p == '[') {
        if (!(p = take_number(e, at, p + 1, false, &m->measured[f]))) return e->code;
        if (*p != ']') return err_set(e, RG_EPARSE, "%s: expected ']' after the measured value", at);
        p += 1 + strspn(p + 1, " \t");
    }
    if (*p) return err_set(e, RG_EPARSE, "%s: expected the end of the line, found '%.20s'", at, p);
    return 0;
}

static int parse_name(struct err *e, struct model *m, const char *at, const char *p) {
    if (m->name[0]) return err_set(e, RG_EPARSE, "%s: 'name' stands here a second time", at);
    size_t n = strlen(p);
    if (!n || n >= sizeof m->name)
        return err_set(e, RG_EPARSE, "%s: expected a name of 1 to %zu letters", at, sizeof m->name - 1);
    for (size_t i = 0; i < n; i++)
        if (p[i] <= ' ' || p[i] > '~')
            return err_set(e, RG_EPARSE, "%s: expected a name without spaces or odd characters", at);
    memcpy(m->name, p, n + 1);
    return 0;
}

/* One line without comment, newline and outer blanks; not empty. */
static int parse_line(struct err *e, struct model *m, const char *at, char *line) {
    char *eq = strchr(line, '=');
    if (!eq) return err_set(e, RG_EPARSE, "%s: expected 'key = value', found '%.40s'", at, line);
    size_t n = (size_t)(eq - line);
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\t')) n--;
    line[n] = 0;
    char *p = eq + 1 + strspn(eq + 1, " \t");
    if (!strcmp(line, "name")) return parse_name(e, m, at, p);
    for (int f = 0; f < MODEL_FIELDS; f++) {
        if (strcmp(line, table[f].key) != 0) continue;
        if (m->theory[f] >= 0) return err_set(e, RG_EPARSE, "%s: '%s' stands here a second time", at, line);
        return parse_value(e, m, at, f, p);
    }
    return err_set(e, RG_EPARSE, "%s: no such key '%.40s'; was the file written by another version?", at,
                   line);
}

static int check_complete(struct err *e, const struct model *m, const char *where) {
    if (!m->name[0]) return err_set(e, RG_EPARSE, "%s: 'name' is missing", where);
    for (int f = 0; f < MODEL_FIELDS; f++)
        if (m->theory[f] < 0)
            return err_set(e, RG_EPARSE, "%s: '%s' is missing (%s: %s)", where, table[f].key, table[f].unit,
                           table[f].what);
    return 0;
}

int model_parse(struct err *e, struct model *m, const char *where, const char *text, size_t n) {
    if (e->code) return e->code;
    *m = (struct model){0};
    for (int f = 0; f < MODEL_FIELDS; f++) m->theory[f] = -1; /* not seen yet */
    const char *end = text + n;
    if (!n)
        return err_set(e, RG_EPARSE, "%s: the file is empty; expected '" MAGIC "' on its first line", where);
    for (int no = 1; text < end; no++) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        size_t len = (size_t)((nl ? nl : end) - text);
        char line[256], at[320];
        snprintf(at, sizeof at, "%.250s:%d", where, no);
        if (len >= sizeof line || memchr(text, 0, len))
            return err_set(e, RG_EPARSE, "%s: expected a line of text of at most %zu bytes", at,
                           sizeof line - 1);
        memcpy(line, text, len);
        line[len] = 0;
        text = nl ? nl + 1 : end;
        if (no == 1) {
            if (strcmp(line, MAGIC) != 0)
                return err_set(e, RG_EPARSE, "%s: expected '" MAGIC "', found '%.40s'", at, line);
            continue;
        }
        line[strcspn(line, "#")] = 0;
        for (size_t k = strlen(line); k && strchr(" \t\r", line[k - 1]);) line[--k] = 0;
        char *p = line + strspn(line, " \t");
        if (*p && parse_line(e, m, at, p)) return e->code;
    }
    return check_complete(e, m, where);
}

/* ---- files ---------------------------------------------------------------------------------------- */

int model_load(struct err *e, struct arena *a, const char *path, struct model *m) {
    char *text;
    size_t n;
    if (os_read_file(e, a, path, FILE_MAX, &text, &n)) return e->code;
    return model_parse(e, m, path, text, n);
}

int model_save(struct err *e, struct arena *a, const char *path, const struct model *m) {
    struct str s;
    str_init(&s, a);
    model_print(&s, m);
    char *dir = arena_strdup(a, path, strlen(path)), *slash = strrchr(dir, '/');
    if (slash && slash > dir) {
        *slash = 0;
        if (os_mkdirs(e, dir, 0755)) return e->code;
    }
    return os_write_file(e, path, s.p, s.n, 0644);
}

char *model_path(struct arena *a) {
    const char *xdg = env_get("XDG_CONFIG_HOME"), *home = env_get("HOME");
    if (xdg && *xdg == '/') return arena_printf(a, "%s/ridge/machine", xdg);
    if (home && *home == '/') return arena_printf(a, "%s/.config/ridge/machine", home);
    return NULL;
}

static int open_or(struct err *e, struct arena *a, struct model *m, void (*otherwise)(struct model *)) {
    if (e->code) return e->code;
    const char *given = env_str(ENV_MODEL), *path = given ? given : model_path(a);
    if (!path || (!given && !os_exists(path))) {
        otherwise(m);
        return e->code;
    }
    if (model_load(e, a, path, m))
        err_prefix(e, given ? "the machine file that RIDGE_MODEL names: "
                            : "the machine file of this machine (`ridge ceilings` writes a new one): ");
    return e->code;
}

int model_open(struct err *e, struct arena *a, struct model *m) { return open_or(e, a, m, model_guess); }

int model_open_for_plans(struct err *e, struct arena *a, struct model *m) {
    return open_or(e, a, m, model_guess_for_plans);
}
