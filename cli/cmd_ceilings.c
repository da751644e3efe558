/* cmd_ceilings.c: `ridge ceilings`: measures this machine, prints the table, writes the machine file.
 * Tests: tests/cli/ceilings.sh */
#include "cli.h"
#include "engine/engine.h"

#include <strings.h>

struct ceilings_options {
    bool json, dry, world;
    const char *output;
};
struct ceilings_run {
    struct ceilings_options o;
    struct arena *arena;
    struct err *err;
    struct ceilings c;
    const char *path; /* of the machine file */
};

/* Which values, and from where: the table of uses. */
static const struct {
    const char *name;
    enum model_field ops;
    double bytes;
} use_types[] = {{"f64", MODEL_FLOPS_F64, 8},
                 {"f32", MODEL_FLOPS_F32, 4},
                 {"f16", MODEL_FLOPS_F16, 2},
                 {"bf16 matrix", MODEL_MATRIX_BF16, 2},
                 {"i8 matrix", MODEL_MATRIX_I8, 1}};
static const struct {
    const char *name;
    enum model_field rate, size;
} use_levels[] = {{"L1", MODEL_L1_RATE, MODEL_L1_SIZE},
                  {"L2", MODEL_L2_RATE, MODEL_L2_SIZE},
                  {"L3", MODEL_L3_RATE, MODEL_L3_SIZE},
                  {"memory", MODEL_DRAM_READ, MODEL_CORES}};

/* Matrix rates and L3 are 0 where there is none. */
static bool use_there(const struct model *m, size_t type, size_t level) {
    return model_value(m, use_types[type].ops) > 0 && model_value(m, use_levels[level].size) > 0;
}

static double use_of(const struct model *m, size_t type, size_t level) {
    return ceilings_uses(m, use_types[type].ops, use_types[type].bytes, use_levels[level].rate);
}

static double worst_spread(const struct ceilings *c) {
    double worst = 0;
    for (uint32_t i = 0; i < c->n; i++)
        if (!c->row[i].cost) worst = RG_MAX(worst, c->row[i].spread);
    return worst;
}

/* ---- for people --------------------------------------------------------------------------------------- */

static void print_pair(double theory, double measured, bool cost) {
    char t[16] = "-", share[16] = "-";
    if (theory > 0) snprintf(t, sizeof t, "%.4g", theory);
    if (theory > 0 && !cost) snprintf(share, sizeof share, "%.0f%%", 100 * measured / theory);
    printf(" %8s %8.4g %5s", t, measured, share);
}

static void print_table(const struct ceilings *c) {
    bool cpu = !strcmp(c->core, "core");
    printf("%s, %d %s%s; measured in %.1f s\n\n", c->model.name, c->threads, cpu ? "thread" : c->core,
           c->threads == 1 ? "" : "s", c->seconds);
    printf("%-14s %-6s %23s  %23s %7s  %s\n", "", "", cpu ? "one core       " : "one SM  ",
           cpu ? "all cores      " : "all of them     ", "", "");
    printf("%-14s %-6s %8s %8s %5s  %8s %8s %5s %7s  %s\n", "what", "unit", "theory", "measured", "share",
           "theory", "measured", "share", "spread", "theory is");
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ceiling *r = &c->row[i];
        printf("%-14s %-6s", r->name, r->unit);
        print_pair(r->theory, r->one, r->cost);
        printf(" ");
        print_pair(r->theory_all, r->all, r->cost);
        printf(" %6.0f%%  %s\n", 100 * r->spread, r->how);
    }
    double l3 = c->model.theory[MODEL_L3_SIZE], ours = c->model.measured[MODEL_L3_SIZE];
    if (ours > 0 && ours < l3)
        printf("\nL3: %.0f of its %.0f MB keep what is read again; the rest is shared with others.\n",
               ours / 1e6, l3 / 1e6);
    printf("\nHow often a loaded value must be used (multiplied and added) before arithmetic is the "
           "limit:\n%-14s",
           "");
    for (size_t l = 0; l < RG_COUNT(use_levels); l++) printf(" %8s", use_levels[l].name);
    printf("\n");
    for (size_t t = 0; t < RG_COUNT(use_types); t++) {
        if (!use_there(&c->model, t, 0)) continue;
        printf("%-14s", use_types[t].name);
        for (size_t l = 0; l < RG_COUNT(use_levels); l++)
            if (use_there(&c->model, t, l))
                printf(" %8.3g", use_of(&c->model, t, l));
            else
                printf(" %8s", "-");
        printf("\n");
    }
    printf("\nspread: how far the median of the runs lies below the best, which is the figure.\n");
    if (worst_spread(c) > 0.25)
        printf("Others are using this machine (spread up to %.0f%%): measure again when it is quiet.\n",
               100 * worst_spread(c));
}

/* ---- for programs ------------------------------------------------------------------------------------- */

static void json_number(const char *key, double x, const char *end) {
    if (x > 0)
        printf("\"%s\": %.6g%s", key, x, end);
    else
        printf("\"%s\": null%s", key, end);
}

static void print_json(const struct ceilings_run *r) {
    const struct ceilings *c = &r->c;
    printf("{\n  \"name\": \"%s\",\n  \"threads\": %d,\n  \"seconds\": %.3f,\n  \"spread\": %.4f,\n",
           c->model.name, c->threads, c->seconds, worst_spread(c));
    printf("  \"file\": %s%s%s,\n  \"rows\": [\n", r->o.dry ? "" : "\"", r->o.dry ? "null" : r->path,
           r->o.dry ? "" : "\"");
    for (uint32_t i = 0; i < c->n; i++) {
        const struct ceiling *x = &c->row[i];
        printf("    {\"what\": \"%s\", \"unit\": \"%s\", ", x->name, x->unit);
        json_number("theory", x->theory, ", ");
        json_number("one", x->one, ", ");
        json_number("theory_all", x->theory_all, ", ");
        json_number("all", x->all, ", ");
        printf("\"spread\": %.4f, \"how\": \"%s\"}%s\n", x->spread, x->how, i + 1 < c->n ? "," : "");
    }
    printf("  ],\n  \"model\": {\n");
    for (int f = 0; f < MODEL_FIELDS; f++)
        printf("    \"%s\": %.6g%s\n", model_key((enum model_field)f),
               model_value(&c->model, (enum model_field)f), f + 1 < MODEL_FIELDS ? "," : "");
    printf("  },\n  \"uses\": {");
    bool first = true;
    for (size_t t = 0; t < RG_COUNT(use_types); t++)
        for (size_t l = 0; l < RG_COUNT(use_levels); l++)
            if (use_there(&c->model, t, l)) {
                printf("%s\n    \"%s %s\": %.4g", first ? "" : ",", use_types[t].name, use_levels[l].name,
                       use_of(&c->model, t, l));
                first = false;
            }
    printf("\n  }\n}\n");
}

/* Before seconds of measuring are lost: can the file be written? It is not touched. */
static bool can_write(struct err *e, const char *path) {
    struct os_out o;
    struct err only_a_look = {0};
    if (os_out_begin(e, &o, path, 0644)) return os_out_end(e, &o), false;
    err_set(&only_a_look, RG_EINVAL, "not kept");
    os_out_end(&only_a_look, &o);
    return true;
}

/* ---- the command -------------------------------------------------------------------------------------- */

static void run(void *arg) {
    struct ceilings_run *r = arg;
    struct err *e = r->err;
    if (r->o.world) {
        ceilings_world(e);
        return;
    }
    r->path = r->o.output ? r->o.output : model_path(r->arena);
    const struct device_ops *dev = device_find(e, NULL);
    if (!dev) return;
    if (dev->discrete && !r->o.output) r->o.dry = true; /* the file is the CPU's */
    if (!r->o.dry && !r->path) {
        err_set(e, RG_EINVAL,
                "there is no home directory to write the machine file to; say --output FILE or --dry-run");
        return;
    }
    if (dev->kind != DEV_RUNS) {
        err_set(e, RG_EUNSUPPORTED, "device %s runs nothing: there is nothing to measure", dev->name);
        return;
    }
    if (!r->o.dry && r->o.output && !can_write(e, r->path)) return;
    struct engine *en = engine_open(e, dev);
    if (!en) return;
    bool ok = !engine_ceilings(en, e, r->arena, &r->c);
    engine_close(en);
    if (!ok || (!r->o.dry && model_save(e, r->arena, r->path, &r->c.model))) return;
    if (r->o.json) {
        print_json(r);
        return;
    }
    if (r->c.n)
        print_table(&r->c);
    else
        printf("%s: OpenCL devices are not measured; plans use a guess from what the device says of itself\n",
               r->c.model.name);
    if (!r->o.dry) printf("written to %s\n", r->path);
    if (!r->o.dry && !r->o.output && env_str(ENV_MODEL))
        printf("RIDGE_MODEL names another file, %s: that one is in use\n", env_str(ENV_MODEL));
}

int cmd_ceilings(int argc, char **argv) {
    struct ceilings_run r = {0};
    struct arg_spec spec[] = {
        {"dry-run", ARG_FLAG, &r.o.dry, NULL, "measure and print; write nothing"},
        {"output", ARG_TEXT, &r.o.output, "FILE", "write the machine file there; RIDGE_MODEL=FILE uses it"},
        {"json", ARG_FLAG, &r.o.json, NULL, "the table as one JSON object"},
        {"world", ARG_FLAG, &r.o.world, NULL,
         "what ranks can exchange, instead: ridge run -n 4 -- ridge ceilings --world"},
    };
    struct args a = {.command = "ceilings",
                     .operands = "",
                     .spec = spec,
                     .nspec = RG_COUNT(spec),
                     .about = "Measures this machine for some seconds: the rate of arithmetic by type, of "
                              "reading, writing and copying\n"
                              "at each level of memory, what it costs to start a kernel. Prints it beside "
                              "what theory says, and\n"
                              "writes the machine file, by which programs are planned and judged from then "
                              "on. Run it on a quiet machine. DEVICE=CUDA measures the GPU, DEVICE=OPENCL "
                              "only guesses; neither writes a file unless --output says so."};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    struct err e = {0};
    struct arena arena;
    arena_init(&arena, &e);
    r.arena = &arena, r.err = &e;
    status = err_guard(&e, run, &r) || e.code ? cli_error("ceilings", &e) : EXIT_OK;
    arena_free(&arena);
    return status;
}
