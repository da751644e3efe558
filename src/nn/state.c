/* state.c: what a module or an optimiser holds, in files, in other dtypes and on other contexts.
 *
 * Loading looks at all names and shapes before it changes anything, and says all that is wrong at once.
 * Tests: tests/unit/nn_state.c */
#include "nn.h"

/* ---- files ------------------------------------------------------------------------------------------------ */

struct named { /* what is saved or loaded */
    rg_ctx *c;
    const char *fn;
    const rg_tensor *t;
    char *const *name;
    size_t n;
};

static rg_status save(AT, const struct named *s, const char *path) {
    if (!path) return api_fail(s->c, HERE, s->fn, RG_EINVAL, "the path is NULL");
    if (!s->n)
        return api_fail(s->c, HERE, s->fn, RG_EINVAL, "there is nothing to save: no parameters, no state");
    return rg_save_at(HERE, path, (const char *const *)s->name, (rg_tensors){s->t, s->n});
}

/* A list of what does not fit, cut where the message would be too long. */
struct complaint {
    char text[1200];
    size_t n;
};

static void complain(struct complaint *w, const char *fmt, ...) RG_FMT(2, 3);
static void complain(struct complaint *w, const char *fmt, ...) {
    va_list ap;
    if (w->n >= sizeof w->text - 80) {
        if (w->n < sizeof w->text - 8) w->n = sizeof w->text - 8, strcat(w->text, " ..");
        return;
    }
    va_start(ap, fmt);
    int n = text_vprintf(w->text + w->n, sizeof w->text - 80 - w->n, fmt, ap);
    va_end(ap);
    w->n = strlen(w->text);
    (void)n;
}

static bool in_file(const rg_file *f, const char *name) {
    for (size_t i = 0; i < rg_file_count(f); i++)
        if (!strcmp(rg_file_name(f, i), name)) return true;
    return false;
}

static void print_shape(char *out, size_t room, const int64_t *d, int64_t rank) {
    size_t at = (size_t)snprintf(out, room, "(");
    for (int64_t i = 0; i < rank && i < NN_RANK && at < room; i++)
        at += (size_t)snprintf(out + at, room - at, i ? ", %lld" : "%lld", (long long)d[i]);
    if (at < room) snprintf(out + at, room - at, ")");
}

/* The tensor of the file for entry i, checked; RG_NONE if it is missing or does not fit. */
static rg_tensor fetch(AT, const struct named *s, size_t i, rg_file *f, bool partial, struct complaint *w) {
    if (!in_file(f, s->name[i])) {
        if (!partial) complain(w, "\n  %s is missing in the file", s->name[i]);
        return RG_NONE;
    }
    rg_tensor t = rg_file_get_at(HERE, f, s->name[i]);
    int64_t a[NN_RANK], b[NN_RANK];
    int64_t want = rg_shape_of_at(HERE, s->t[i], a, NN_RANK), found = rg_shape_of_at(HERE, t, b, NN_RANK);
    bool same = want == found && want <= NN_RANK;
    for (int64_t k = 0; k < want && same; k++) same = a[k] == b[k];
    if (same || want < 0 || found < 0) return t;
    char x[120], y[120];
    print_shape(x, sizeof x, a, want), print_shape(y, sizeof y, b, found);
    complain(w, "\n  %s has shape %s here and %s in the file", s->name[i], x, y);
    return RG_NONE;
}

static void unknown_names(const struct named *s, const rg_file *f, struct complaint *w) {
    for (size_t i = 0; i < rg_file_count(f); i++) {
        size_t k = 0;
        while (k < s->n && strcmp(s->name[k], rg_file_name(f, i))) k++;
        if (k == s->n) complain(w, "\n  %s is in the file only", rg_file_name(f, i));
    }
}

static void load_all(AT, const struct named *s, rg_file *f, const char *path, bool partial, rg_tensor *got) {
    struct complaint w = {0};
    for (size_t i = 0; i < s->n; i++) got[i] = fetch(HERE, s, i, f, partial, &w);
    if (!partial) unknown_names(s, f, &w);
    if (rg_status_of(s->c)) return;
    if (w.n) {
        api_fail(s->c, HERE, s->fn, RG_EINVAL, "%s does not fit%s:%s", path,
                 partial ? "" : " (partial = true takes what does)", w.text);
        return;
    }
    for (size_t i = 0; i < s->n && !rg_status_of(s->c); i++)
        if (got[i].id) rg_assign_at(HERE, s->t[i], TENSOR(got[i]));
}

static rg_status load(AT, const struct named *s, const char *path, bool partial) {
    if (rg_status_of(s->c)) return rg_status_of(s->c);
    rg_file *f = rg_file_open_at(HERE, s->c, path);
    if (!f) return rg_status_of(s->c);
    rg_tensor *got = mem_alloc((s->n + 1) * sizeof *got);
    rg_scope scope = rg_begin(s->c);
    if (got)
        load_all(HERE, s, f, path, partial, got);
    else
        api_fail(s->c, HERE, s->fn, RG_ENOMEM, "out of memory");
    rg_end(scope);
    mem_free(got);
    rg_file_close(f);
    return rg_status_of(s->c);
}

static bool of_module(AT, const char *fn, rg_module *m, struct named *s) {
    if (rg_status_of(m->c)) return false;
    const struct nn_flat *f = nn_flat(m);
    if (!f) return api_fail(m->c, HERE, fn, RG_ENOMEM, "out of memory"), false;
    *s = (struct named){m->c, fn, f->all, f->name, f->n};
    return true;
}

rg_status rg_nn_save_at(AT, rg_module *m, const char *path) {
    struct named s;
    if (!m) return RG_EINVAL;
    return of_module(HERE, "rg_nn_save", m, &s) ? save(HERE, &s, path) : rg_status_of(m->c);
}
rg_status rg_nn_load_at(AT, rg_module *m, const char *path, bool partial) {
    struct named s;
    if (!m) return RG_EINVAL;
    return of_module(HERE, "rg_nn_load", m, &s) ? load(HERE, &s, path, partial) : rg_status_of(m->c);
}

rg_status nn_save_list(AT, const char *fn, rg_ctx *c, const rg_tensor *t, char *const *name, size_t n,
                       const char *path) {
    return save(HERE, &(struct named){c, fn, t, name, n}, path);
}
rg_status nn_load_list(AT, const char *fn, rg_ctx *c, const rg_tensor *t, char *const *name, size_t n,
                       const char *path) {
    return load(HERE, &(struct named){c, fn, t, name, n}, path, false);
}

/* ---- other dtypes ------------------------------------------------------------------------------------------ */

static bool is_float(rg_dtype dt) { return dt == RG_F16 || dt == RG_BF16 || dt == RG_F32 || dt == RG_F64; }

rg_status rg_nn_cast_at(AT, rg_module *m, rg_dtype dt) {
    if (!m) return RG_EINVAL;
    if (rg_status_of(m->c)) return rg_status_of(m->c);
    if (!is_float(dt))
        return api_fail(m->c, HERE, "rg_nn_cast", RG_EINVAL, "weights are floats; found %s",
                        rg_dtype_name(dt));
    for (uint32_t i = 0; i < m->entries; i++) {
        rg_tensor t = m->entry[i].t;
        rg_dtype now = rg_dtype_of_at(HERE, t);
        if (!is_float(now) || now == dt) continue;
        rg_tensor v = rg_cast_at(HERE, t, dt);
        api_become(HERE, t, v);
        api_drop(v);
    }
    for (uint32_t i = 0; i < m->children; i++) rg_nn_cast_at(HERE, m->child[i], dt);
    return rg_status_of(m->c);
}

/* ---- another context ----------------------------------------------------------------------------------------- */

rg_module *rg_nn_to_at(AT, rg_module *m, rg_ctx *c) {
    const char *fn = "rg_nn_to";
    if (!m) return nn_no_module(c, HERE, fn), NULL;
    rg_module *out = nn_new(c, HERE, fn, m->layer);
    if (!out) return NULL;
    out->a = m->a, out->fn = m->fn, out->user = m->user, out->unary = m->unary;
    out->training = m->training, out->half = m->half, out->half_root = m->half_root;
    if (m->title) out->title = nn_text(c, HERE, fn, m->title);
    for (uint32_t i = 0; i < m->entries && !rg_status_of(c); i++) {
        const struct nn_entry *e = &m->entry[i];
        rg_tensor t = rg_copy_to_at(HERE, c, e->t);
        if (e->param)
            rg_nn_param_at(HERE, out, e->name, t);
        else
            rg_nn_state_at(HERE, out, e->name, t);
        api_drop(t);
    }
    for (uint32_t i = 0; i < m->children && !rg_status_of(c); i++) {
        rg_module *child = rg_nn_to_at(HERE, m->child[i], c);
        if (child) rg_nn_add_at(HERE, out, m->child[i]->name, child);
    }
    return nn_done(out);
}
