/* tables.c: what a Ridge program cost, as rows of text. src/analyze/groups.c says what the columns mean.
 *
 * The first columns are of kernels, their shares and times sum to that of all kernels; then time of kernels under calls from
 * there, of the calls themselves and the memory at the peak; a dash is what a group does not have.
 * Tests: tests/unit/profile.c, tests/cli/profile.sh */
#include "report/internal.h"

static double ms(int64_t ns) { return (double)ns / 1e6; }

static void number(struct str *o, int width, int digits, double x, bool has) {
    if (has)
        str_printf(o, " %*.*f", width, digits, x);
    else
        str_printf(o, " %*s", width, "-");
}

static void table_row(struct str *o, const struct group_row *r, int64_t all, const char *name, bool sum) {
    char roof[16] = "-";
    double ns = RG_MAX((double)r->ns, 1), share = all > 0 ? 100.0 * (double)r->ns / (double)all : 0;
    if (r->roof_of) text_printf(roof, sizeof roof, "%.0f%%", 100 * r->roof_ns / (double)r->roof_of);
    str_printf(o, "%5.1f%% %8llu %12.3f", share, (unsigned long long)r->count, ms(r->ns));
    number(o, 11, 2, (double)r->ns / 1e3 / (double)RG_MAX(r->count, 1u), r->count);
    number(o, 9, 1, r->flops / ns, r->count);
    number(o, 8, 1, r->bytes / ns, r->count);
    str_printf(o, " %7s", roof);
    number(o, 11, 3, ms(r->total_ns), r->calls && !sum);
    number(o, 9, 3, ms(r->host_ns), r->calls);
    number(o, 11, 3, ms(r->host_total), r->calls && !sum);
    number(o, 8, 2, (double)r->memory / 1e6, r->memory != 0);
    str_printf(o, "  %s\n", name);
}

static void add(struct group_row *to, const struct group_row *x) {
    to->count += x->count, to->calls += x->calls, to->ns += x->ns, to->host_ns += x->host_ns;
    to->flops += x->flops, to->bytes += x->bytes, to->memory += x->memory;
    to->roof_ns += x->roof_ns, to->roof_of += x->roof_of;
}

/* Shapes of other frameworks have parts: dimensions and types are shown. */
static const char *shown(struct arena *a, const char *name) {
    const char *types = strchr(name, 0x1f), *rest = types ? strchr(types + 1, 0x1f) : NULL;
    if (!types) return name;
    size_t n = rest ? (size_t)(rest - types - 1) : strlen(types + 1);
    return arena_printf(a, "%.*s %.*s", (int)(types - name), name, (int)n, types + 1);
}

void report_table(struct str *o, struct diag *d, int by, int sort, uint32_t rows) {
    static const char *const none[GROUPS] = {"?",           "(no function)", "(no line)",
                                             "(no module)", "(no shape)",    "?"};
    struct group_row *row, sum = {0}, rest = {0};
    uint32_t n = diag_group(d, by, sort, &row);
    int64_t all = 0;
    for (uint32_t i = 0; i < n; i++) all += row[i].ns;
    str_printf(o, "%6s %8s %12s %11s %9s %8s %7s %11s %9s %11s %8s  %s\n", "share", "calls", "ms", "us each",
               "GFLOPS", "GB/s", "of roof", "under it ms", "host ms", "in calls ms", "MB", group_text(by));
    for (uint32_t i = 0; i < n; i++) {
        add(&sum, &row[i]);
        if (i >= rows) add(&rest, &row[i]);
        const char *name = row[i].name ? trace_str(d->t, row[i].name) : none[by >= 0 && by < GROUPS ? by : 0];
        if (i < rows)
            table_row(o, &row[i], all, *name ? shown(o->arena, name) : none[by >= 0 && by < GROUPS ? by : 0],
                      false);
    }
    if (n > rows) table_row(o, &rest, all, arena_printf(o->arena, "(%u more)", n - rows), true);
    table_row(o, &sum, all, "sum", true);
}

/* ---- of a file ------------------------------------------------------------------------------------------------- */

struct table_of_file {
    struct trace t;
    struct diag d;
    const struct report_pick *pick;
    char *out;
    size_t room, n;
};

static void write_table(void *arg) {
    struct table_of_file *x = arg;
    struct str s;
    str_init(&s, &x->d.arena);
    report_table(&s, &x->d, x->pick->by, x->pick->sort,
                 x->pick->rows > 0 ? (uint32_t)x->pick->rows : UINT32_MAX);
    x->n = s.n;
    if (!x->out || !x->room) return;
    size_t n = RG_MIN(s.n, x->room - 1);
    memcpy(x->out, s.p, n);
    x->out[n] = 0;
}

static int check_pick(struct err *e, const struct report_pick *p) {
    if ((unsigned)p->by >= GROUPS)
        return err_set(e, RG_EINVAL, "there is no group number %d; use RG_BY_KERNEL ..", p->by);
    if ((unsigned)p->sort >= SORTS)
        return err_set(e, RG_EINVAL, "there is no order number %d; use RG_SORT_DEVICE ..", p->sort);
    if (p->rows < 0) return err_set(e, RG_EINVAL, "rows is %d; it is 0 for all, or how many", p->rows);
    return 0;
}

int report_profile_table(struct err *e, const char *path, const struct report_pick *pick, char *out,
                         size_t room, size_t *n) {
    struct table_of_file *x = mem_alloc(sizeof *x);
    if (!x) return err_set(e, RG_ENOMEM, "out of memory");
    memset(x, 0, sizeof *x);
    x->pick = pick, x->out = out, x->room = room;
    int bad = trace_read(&x->t, e, path);
    if (!bad) {
        bad = check_pick(e, pick);
        if (!bad && x->t.format != TRACE_RIDGE) bad = err_set(e, RG_EINVAL, "%s is no Ridge profile", path);
        if (!bad && !(bad = diagnose(&x->d, &x->t, e))) {
            bad = err_guard(e, write_table, x);
            diag_free(&x->d);
        }
        trace_free(&x->t);
    }
    *n = x->n;
    mem_free(x);
    return bad;
}
