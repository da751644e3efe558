/* ncu.c: reads what Nsight Compute prints with `ncu --csv`, both pages: `details` (a row for each metric) and `raw` (a column).
 *
 * Each kernel was measured alone, so there is no timeline: kernels are laid out one after another with their durations. What was
 * measured of their throughput takes the part of the roofline model. Lines of the profiler before the header are skipped; a line that
 * does not parse is counted as lost. Tests: tests/unit/ncu.c */
#include "analyze/internal.h"

#include <stdlib.h>

enum { MOST_FIELDS = 2048, LINE_MAX_BYTES = 1 << 20 };

struct ncu_field {
    const char *p;
    uint32_t n;
};
enum ncu_column {
    COL_ID,
    COL_KERNEL,
    COL_BLOCK,
    COL_GRID,
    COL_DEVICE,
    COL_STREAM,
    COL_METRIC,
    COL_UNIT,
    COL_VALUE,
    COLUMNS
};

/* What a metric is, by its name on either page. */
enum ncu_metric { M_TIME, M_REGISTERS, M_STATIC, M_DYNAMIC, M_MEMORY, M_COMPUTE, METRICS };
static const struct {
    const char *name;
    int metric;
} metric_names[] = {
    {"Duration", M_TIME},
    {"gpu__time_duration.sum", M_TIME},
    {"Registers Per Thread", M_REGISTERS},
    {"launch__registers_per_thread", M_REGISTERS},
    {"Static Shared Memory Per Block", M_STATIC},
    {"launch__shared_mem_per_block_static", M_STATIC},
    {"Dynamic Shared Memory Per Block", M_DYNAMIC},
    {"launch__shared_mem_per_block_dynamic", M_DYNAMIC},
    {"Memory Throughput", M_MEMORY},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", M_MEMORY},
    {"Compute (SM) Throughput", M_COMPUTE},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", M_COMPUTE},
};

struct ncu {
    struct trace *t;
    struct ncu_field f[MOST_FIELDS];
    uint32_t n;
    int column[COLUMNS];            /* -1: the file has none */
    int16_t metric_at[MOST_FIELDS]; /* raw page: metric of a column, -1 none */
    struct ncu_field unit[MOST_FIELDS];
    bool header, wide, units;
    /* the kernel being read */
    bool open;
    char id[24];
    uint32_t name, device, stream;
    struct trace_kernel_args args;
    double value[METRICS];
    int64_t now;
};

static bool same(const struct ncu_field *f, const char *s) {
    return f->n == strlen(s) && !memcmp(f->p, s, f->n);
}

/* Fields of one line, without their quotes; a doubled quote inside stays doubled. */
static bool split(struct ncu *u, const char *p, const char *end) {
    u->n = 0;
    while (p <= end && u->n < MOST_FIELDS) {
        struct ncu_field *f = &u->f[u->n++];
        if (p < end && *p == '"') {
            const char *q = ++p;
            while (q < end && (*q != '"' || (q + 1 < end && q[1] == '"'))) q += *q == '"' ? 2 : 1;
            if (q >= end) return false;
            *f = (struct ncu_field){p, (uint32_t)(q - p)};
            p = q + 1;
        } else {
            const char *q = memchr(p, ',', (size_t)(end - p));
            if (!q) q = end;
            *f = (struct ncu_field){p, (uint32_t)(q - p)};
            p = q;
        }
        if (p < end && *p != ',') return false;
        p++;
    }
    return u->n > 4;
}

/* "1,234.5" */
static double number(const struct ncu_field *f) {
    char b[64];
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->n && n + 1 < sizeof b; i++)
        if (f->p[i] != ',') b[n++] = f->p[i];
    b[n] = 0;
    double x = text_double(b, NULL);
    return x > -1e15 && x < 1e15 ? x : 0; /* not a number: 0 */
}

/* "(1024, 1, 1)" */
static void triple(const struct ncu_field *f, uint32_t out[3]) {
    uint64_t x = 0;
    int k = 0;
    bool digit = false;
    for (uint32_t i = 0; i <= f->n && k < 3; i++) {
        char c = i < f->n ? f->p[i] : ')';
        if (c >= '0' && c <= '9') {
            x = RG_MIN(x * 10 + (uint64_t)(c - '0'), UINT32_MAX), digit = true;
        } else if (digit) {
            out[k++] = (uint32_t)x;
            x = 0, digit = false;
        }
    }
}

static double scale_of(const struct ncu_field *unit, int metric) {
    static const struct {
        const char *name;
        double scale;
    } units[] = {{"nsecond", 1},       {"ns", 1},           {"usecond", 1e3}, {"us", 1e3},
                 {"msecond", 1e6},     {"ms", 1e6},         {"second", 1e9},  {"s", 1e9},
                 {"Kbyte/block", 1e3}, {"Mbyte/block", 1e6}};
    for (size_t i = 0; i < RG_COUNT(units); i++)
        if (same(unit, units[i].name)) return units[i].scale;
    (void)metric;
    return 1;
}

static int metric_of(const struct ncu_field *f) {
    for (size_t i = 0; i < RG_COUNT(metric_names); i++)
        if (same(f, metric_names[i].name)) return metric_names[i].metric;
    return -1;
}

static void take(struct ncu *u, int metric, const struct ncu_field *value, const struct ncu_field *unit) {
    /* Sections name bytes a second "Memory Throughput" too: the share is in percent. */
    if ((metric == M_MEMORY || metric == M_COMPUTE) && !same(unit, "%")) return;
    double x = number(value) * scale_of(unit, metric);
    u->value[metric] = x > 0 ? x : 0;
}

static void close_kernel(struct ncu *u) {
    if (!u->open) return;
    u->open = false;
    u->t->seen++;
    if (u->value[M_TIME] <= 0 || u->value[M_TIME] > 1e15) {
        u->t->dropped++;
        return;
    }
    struct trace_event *e = trace_add(u->t);
    if (!e) return;
    struct trace_kernel_args *a = &u->args;
    a->regs = (uint32_t)RG_MIN(u->value[M_REGISTERS], 255.0);
    a->smem = (uint32_t)RG_MIN(u->value[M_STATIC] + u->value[M_DYNAMIC], 1e9);
    a->known = 1 | (a->regs ? 2u : 0u);
    if (u->value[M_MEMORY] > 0 || u->value[M_COMPUTE] > 0) {
        a->known |= TRACE_MEASURED;
        a->moved = (int64_t)(1000 * RG_MIN(u->value[M_MEMORY], 100.0));
        a->issued = (int64_t)(1000 * RG_MIN(u->value[M_COMPUTE], 100.0));
    }
    e->kind = (uint8_t)trace_device_kind(trace_str(u->t, u->name));
    e->t0 = u->now;
    e->dur = (int64_t)(u->value[M_TIME] + 0.5);
    e->name = u->name;
    e->args = trace_intern(u->t, a, sizeof *a);
    e->lane = trace_lane(u->t, LANE_DEVICE, u->device, u->stream);
    u->now += e->dur;
}

static const struct ncu_field *field(const struct ncu *u, int column) {
    static const struct ncu_field none = {"", 0};
    int i = u->column[column];
    return i >= 0 && (uint32_t)i < u->n ? &u->f[i] : &none;
}

static void open_kernel(struct ncu *u) {
    const struct ncu_field *name = field(u, COL_KERNEL), *dev = field(u, COL_DEVICE),
                           *str = field(u, COL_STREAM);
    memset(&u->args, 0, sizeof u->args);
    memset(u->value, 0, sizeof u->value);
    u->open = true;
    u->name = trace_intern(u->t, name->p, RG_MIN(name->n, 16384u));
    u->device = trace_intern(u->t, dev->n ? dev->p : "0", dev->n ? RG_MIN(dev->n, 16u) : 1);
    u->stream = trace_intern(u->t, str->n ? str->p : "0", str->n ? RG_MIN(str->n, 16u) : 1);
    triple(field(u, COL_GRID), u->args.grid);
    triple(field(u, COL_BLOCK), u->args.block);
}

static void read_header(struct ncu *u) {
    static const char *const names[COLUMNS] = {"ID",          "Kernel Name", "Block Size",
                                               "Grid Size",   "Device",      "Stream",
                                               "Metric Name", "Metric Unit", "Metric Value"};
    for (int c = 0; c < COLUMNS; c++) {
        u->column[c] = -1;
        for (uint32_t i = 0; i < u->n; i++)
            if (same(&u->f[i], names[c])) u->column[c] = (int)i;
    }
    u->header = u->column[COL_ID] >= 0 && u->column[COL_KERNEL] >= 0;
    u->wide = u->column[COL_METRIC] < 0;
    for (uint32_t i = 0; i < u->n; i++) u->metric_at[i] = (int16_t)metric_of(&u->f[i]);
}

static void read_row(struct ncu *u) {
    const struct ncu_field *id = field(u, COL_ID);
    if (u->wide && !u->units && !id->n) { /* the line of units */
        for (uint32_t i = 0; i < u->n; i++) {
            uint32_t s = trace_intern(u->t, u->f[i].p, RG_MIN(u->f[i].n, 40u));
            u->unit[i] = (struct ncu_field){trace_str(u->t, s), (uint32_t)trace_str_len(u->t, s)};
        }
        u->units = true;
        return;
    }
    bool other = !u->open || id->n != strlen(u->id) || memcmp(id->p, u->id, id->n) != 0;
    if (other) {
        close_kernel(u);
        snprintf(u->id, sizeof u->id, "%.*s", (int)RG_MIN(id->n, 20u), id->p);
        open_kernel(u);
    }
    if (!u->wide) {
        int m = metric_of(field(u, COL_METRIC));
        if (m >= 0) take(u, m, field(u, COL_VALUE), field(u, COL_UNIT));
        return;
    }
    for (uint32_t i = 0; i < u->n; i++)
        if (u->metric_at[i] >= 0) take(u, u->metric_at[i], &u->f[i], &u->unit[i]);
    close_kernel(u);
}

bool is_ncu(const uint8_t *p, size_t n) {
    return memmem(p, RG_MIN(n, (size_t)65536), "\"ID\",\"Process ID\"", 17) != NULL;
}

static void read_line(struct ncu *u, const char *p, const char *end) {
    if (end > p && end[-1] == '\r') end--;
    if (end == p || !memcmp(p, "==", RG_MIN((size_t)2, (size_t)(end - p)))) return;
    bool ok = split(u, p, end);
    if (!u->header && ok)
        read_header(u);
    else if (u->header && ok)
        read_row(u);
    else if (u->header)
        u->t->lost++;
}

void read_ncu(struct trace *t, struct input *in) {
    struct ncu *u = arena_new(&t->arena, struct ncu);
    size_t pos = 0;
    u->t = t;
    for (;;) {
        const uint8_t *nl = memchr(in->buf + pos, '\n', in->len - pos);
        if (!nl && in->len - pos < LINE_MAX_BYTES) {
            bool more = input_more(in, pos);
            pos = 0; /* it moved what is left to the front */
            if (more) continue;
        }
        if (!nl && in->len - pos >= LINE_MAX_BYTES) t->truncated = true;
        const uint8_t *end = nl ? nl : in->buf + in->len;
        read_line(u, (const char *)in->buf + pos, (const char *)end);
        if (!nl) break;
        pos = (size_t)(nl + 1 - in->buf);
    }
    close_kernel(u);
    if (!t->n)
        err_throw(t->err, RG_EPARSE,
                  "this output of Nsight Compute has no kernel with a duration: record with `ncu --set full "
                  "--csv` or add "
                  "--metrics gpu__time_duration.sum");
    for (uint32_t i = 0; i < t->lanes.n; i++) {
        t->lanes.p[i].device = (int32_t)strtoul(trace_str(t, t->lanes.p[i].pid), NULL, 10) & 1023;
        t->lanes.p[i].stream = (int32_t)strtoul(trace_str(t, t->lanes.p[i].tid), NULL, 10) & 0xfffff;
    }
    t->format = TRACE_NCU;
    trace_finish(t);
}
