/* module.c: what a module is: names, children, parameters, going forward.
 *
 * A module without a parent is owned by its context, one with a parent by that. Lists of what lies below a module are made when
 * asked for and thrown away when something below changes. rg_nn_forward runs each module in a scope of its own: what its function
 * leaves behind is freed when it returns, so that no step on the way is still alive when the optimiser assigns to the parameters
 * (it would keep the old ones in memory).
 * Tests: tests/unit/nn.c */
#include "nn.h"

static rg_tensor forward_custom(AT, rg_module *m, rg_tensor x) {
    (void)file, (void)line; /* calls in it have call sites of their own; those without get this one */
    return m->fn(m, x, m->user);
}
static rg_tensor forward_function(AT, rg_module *m, rg_tensor x) {
    (void)file, (void)line;
    return m->unary(x);
}
static rg_tensor forward_sequential(AT, rg_module *m, rg_tensor x) {
    for (uint32_t i = 0; i < m->children; i++) x = rg_nn_forward_at(HERE, m->child[i], x);
    return x;
}
const struct nn_layer nn_custom = {"module", forward_custom}, nn_function = {"function", forward_function},
                      nn_sequential = {"sequential", forward_sequential};

/* ---- memory ------------------------------------------------------------------------------------------- */

static rg_status no_memory(rg_ctx *c, AT, const char *fn) {
    return api_fail(c, HERE, fn, RG_ENOMEM, "out of memory");
}

rg_status nn_no_module(rg_ctx *c, AT, const char *fn) {
    return api_fail(c, HERE, fn, RG_EINVAL,
                    "the module is NULL: making it failed, or there is none of that name");
}

char *nn_text(rg_ctx *c, AT, const char *fn, const char *text) {
    size_t n = strlen(text) + 1;
    char *out = mem_alloc(n);
    if (!out) return no_memory(c, HERE, fn), NULL;
    return memcpy(out, text, n);
}

bool nn_grow(rg_ctx *c, AT, const char *fn, void *array, uint32_t n, size_t size) {
    void **p = array;
    if (n & (n - 1) || (n && n < 4)) return true; /* room for 4, 8, 16 .. */
    void *more = mem_realloc(*p, (n ? 2 * (size_t)n : 4) * size);
    if (!more) return no_memory(c, HERE, fn), false;
    *p = more;
    return true;
}

static void forget(struct nn_flat *f) {
    for (size_t i = 0; i < f->n; i++) mem_free(f->name[i]);
    mem_free(f->all), mem_free(f->param), mem_free(f->name);
    *f = (struct nn_flat){0};
}

static void changed(rg_module *m) {
    for (; m; m = m->parent) forget(&m->flat);
}

static void release(void *obj) {
    rg_module *m = obj;
    if (!m) return;
    for (uint32_t i = 0; i < m->children; i++) release(m->child[i]);
    for (uint32_t i = 0; i < m->entries; i++) {
        rg_free(m->entry[i].t);
        mem_free(m->entry[i].name);
    }
    forget(&m->flat);
    mem_free(m->child), mem_free(m->entry), mem_free(m->name), mem_free(m->title);
    mem_free(m);
}

void rg_nn_free(rg_module *m) {
    if (!m) return;
    rg_module *p = m->parent;
    ctx_disown(m->c, m);
    for (uint32_t i = 0; p && i < p->children; i++) { /* it takes itself out of its parent */
        if (p->child[i] != m) continue;
        memmove(&p->child[i], &p->child[i + 1], (p->children - i - 1) * sizeof *p->child);
        p->children--;
    }
    changed(p);
    release(m);
}

/* ---- making -------------------------------------------------------------------------------------------- */

rg_module *nn_new(rg_ctx *c, AT, const char *fn, const struct nn_layer *layer) {
    if (!c || rg_status_of(c)) return NULL;
    rg_module *m = mem_alloc(sizeof *m);
    if (!m) return no_memory(c, HERE, fn), NULL;
    *m = (rg_module){.c = c, .layer = layer, .training = true, .half = RG_DTYPES};
    return api_own(c, HERE, fn, m, release) ? NULL : m;
}

rg_module *nn_done(rg_module *m) {
    if (!m || !rg_status_of(m->c)) return m;
    rg_nn_free(m);
    return NULL;
}

rg_module *rg_nn_module_at(AT, rg_ctx *c, rg_forward_fn *fn, void *user) {
    rg_module *m = nn_new(c, HERE, "rg_nn_module", &nn_custom);
    if (m) m->fn = fn, m->user = user;
    return nn_done(m);
}

rg_module *rg_nn_function_at(AT, rg_ctx *c, const char *name, rg_unary_fn *fn) {
    if (!fn || !name)
        return api_fail(c, HERE, "rg_nn_function", RG_EINVAL, "the %s is NULL", fn ? "name" : "function"),
               NULL;
    rg_module *m = nn_new(c, HERE, "rg_nn_function", &nn_function);
    if (m) m->unary = fn, m->title = nn_text(c, HERE, "rg_nn_function", name);
    return nn_done(m);
}

rg_module *rg_nn_sequential_at(AT, rg_ctx *c, rg_modules list) {
    if (list.n && !list.m) return api_fail(c, HERE, "rg_nn_sequential", RG_EINVAL, "the list is NULL"), NULL;
    rg_module *m = nn_new(c, HERE, "rg_nn_sequential", &nn_sequential);
    for (size_t i = 0; m && i < list.n; i++) {
        char name[24];
        snprintf(name, sizeof name, "%zu", i);
        if (!list.m[i]) {
            api_fail(c, HERE, "rg_nn_sequential", RG_EINVAL, "module %zu of the list is NULL", i);
            break;
        }
        if (rg_nn_add_at(HERE, m, name, list.m[i])) break;
    }
    return nn_done(m);
}

/* ---- names ---------------------------------------------------------------------------------------------- */

static const struct nn_entry *find_entry(const rg_module *m, const char *name, size_t n) {
    for (uint32_t i = 0; i < m->entries; i++)
        if (strlen(m->entry[i].name) == n && !memcmp(m->entry[i].name, name, n)) return &m->entry[i];
    return NULL;
}

static rg_module *find_child(const rg_module *m, const char *name, size_t n) {
    for (uint32_t i = 0; i < m->children; i++)
        if (strlen(m->child[i]->name) == n && !memcmp(m->child[i]->name, name, n)) return m->child[i];
    return NULL;
}

static bool good_name(const rg_module *m, AT, const char *fn, const char *name) {
    if (!name || !*name || strchr(name, '.') || strlen(name) > 100) {
        api_fail(m->c, HERE, fn, RG_EINVAL, "\"%s\" is no name: 1 to 100 characters without a dot are needed",
                 name ? name : "NULL");
        return false;
    }
    if (find_entry(m, name, strlen(name)) || find_child(m, name, strlen(name))) {
        api_fail(m->c, HERE, fn, RG_EINVAL, "the module already has something called \"%s\"", name);
        return false;
    }
    return true;
}

void nn_path(const rg_module *m, char out[NN_PATH]) {
    size_t at = NN_PATH - 1;
    char text[NN_PATH];
    text[at] = 0;
    for (; m->parent; m = m->parent) {
        size_t n = strlen(m->name);
        if (n + 1 > at) break; /* deeper than anyone reads */
        if (text[at]) text[--at] = '.';
        memcpy(text + (at -= n), m->name, n);
    }
    memcpy(out, text + at, NN_PATH - at);
}

rg_tensor nn_own(const rg_module *m, const char *name) {
    const struct nn_entry *e = find_entry(m, name, strlen(name));
    return e ? e->gathered.id ? e->gathered : e->t : RG_NONE;
}

rg_module *rg_nn_child(rg_module *m, const char *path) {
    while (m && path && *path) {
        size_t n = strcspn(path, ".");
        m = find_child(m, path, n);
        path += n + (path[n] == '.');
    }
    return path ? m : NULL;
}

rg_tensor rg_nn_get_at(AT, rg_module *m, const char *path) {
    if (!m) return RG_NONE;
    const char *dot = path ? strrchr(path, '.') : NULL, *name = dot ? dot + 1 : path;
    rg_module *at = m;
    for (const char *p = path; at && dot && p < dot;) {
        size_t n = strcspn(p, ".");
        at = find_child(at, p, n);
        p += n + 1;
    }
    const struct nn_entry *e = at && name ? find_entry(at, name, strlen(name)) : NULL;
    if (e) return nn_whole(HERE, e);
    api_fail(m->c, HERE, "rg_nn_get", RG_EINVAL,
             "the module has no parameter or state \"%s\"; rg_nn_describe lists what there is",
             path ? path : "NULL");
    return api_poison(m->c);
}

/* ---- what it holds ------------------------------------------------------------------------------------------ */

rg_status rg_nn_add_at(AT, rg_module *m, const char *name, rg_module *child) {
    const char *fn = "rg_nn_add";
    rg_ctx *c = m ? m->c : child ? child->c : NULL;
    if (!m || !child) return nn_no_module(c, HERE, fn);
    if (rg_status_of(c)) return rg_status_of(c);
    if (child->c != c)
        return api_fail(c, HERE, fn, RG_EINVAL,
                        "the child belongs to another context (device %s, here %s); rg_nn_to copies a module",
                        rg_device(child->c), rg_device(c));
    if (child->parent) {
        char path[NN_PATH];
        nn_path(child, path);
        return api_fail(c, HERE, fn, RG_EINVAL, "the child has a parent already, where it is called \"%s\"",
                        path);
    }
    for (const rg_module *p = m; p; p = p->parent)
        if (p == child) return api_fail(c, HERE, fn, RG_EINVAL, "a module cannot be its own child");
    if (!good_name(m, HERE, fn, name) || !nn_grow(c, HERE, fn, &m->child, m->children, sizeof *m->child))
        return rg_status_of(c);
    char *text = nn_text(c, HERE, fn, name);
    if (!text) return rg_status_of(c);
    ctx_disown(c, child);
    child->parent = m, child->name = text;
    m->child[m->children++] = child;
    changed(m);
    return RG_OK;
}

static rg_tensor add_entry(AT, const char *fn, rg_module *m, const char *name, rg_tensor value, bool param) {
    if (!m) return nn_no_module(rg_ctx_of(value), HERE, fn), api_poison(rg_ctx_of(value));
    rg_ctx *c = m->c;
    if (rg_status_of(c)) return api_poison(c);
    rg_tensor bare = value;
    api_unmark(&bare);
    if (rg_ctx_of(bare) && rg_ctx_of(bare) != c)
        api_fail(c, HERE, fn, RG_EINVAL,
                 "the value of \"%s\" belongs to another context; copy it with rg_copy_to",
                 name ? name : "NULL");
    if (rg_status_of(c) || !good_name(m, HERE, fn, name) ||
        !nn_grow(c, HERE, fn, &m->entry, m->entries, sizeof *m->entry))
        return api_poison(c);
    char *text = nn_text(c, HERE, fn, name);
    if (!text) return api_poison(c);
    rg_tensor t = param ? rg_param_at(HERE, value) : api_state(HERE, value, false);
    if (rg_status_of(c)) return mem_free(text), api_poison(c);
    m->entry[m->entries++] = (struct nn_entry){.name = text, .t = t, .param = param};
    changed(m);
    return t;
}

rg_tensor rg_nn_param_at(AT, rg_module *m, const char *name, rg_tensor value) {
    return add_entry(HERE, "rg_nn_param", m, name, value, true);
}
rg_tensor rg_nn_state_at(AT, rg_module *m, const char *name, rg_tensor value) {
    return add_entry(HERE, "rg_nn_state", m, name, value, false);
}

void *rg_nn_user(rg_module *m) { return m ? m->user : NULL; }
rg_ctx *rg_nn_ctx(rg_module *m) { return m ? m->c : NULL; }
bool rg_nn_is_training(const rg_module *m) { return m && m->training; }

static void set_training(rg_module *m, bool train) {
    m->training = train;
    for (uint32_t i = 0; i < m->children; i++) set_training(m->child[i], train);
}

rg_status rg_nn_train_at(AT, rg_module *m, bool train) {
    (void)file, (void)line;
    if (!m) return RG_EINVAL;
    set_training(m, train);
    return rg_status_of(m->c);
}

rg_status rg_nn_checkpoint_at(AT, rg_module *m, bool on) {
    (void)file, (void)line;
    if (!m) return RG_EINVAL;
    m->checkpoint = on;
    return rg_status_of(m->c);
}

static void set_half(rg_module *m, rg_dtype dt) {
    m->half = dt, m->half_root = false;
    for (uint32_t i = 0; i < m->children; i++) set_half(m->child[i], dt);
}

rg_status rg_nn_precision_at(AT, rg_module *m, rg_dtype dt) {
    if (!m) return RG_EINVAL;
    if (dt != RG_F16 && dt != RG_BF16 && dt != RG_F32)
        return api_fail(m->c, HERE, "rg_nn_precision", RG_EINVAL,
                        "products compute in RG_F16, RG_BF16 or RG_F32; found %s", rg_dtype_name(dt));
    set_half(m, dt == RG_F32 ? RG_DTYPES : dt);
    m->half_root = dt != RG_F32;
    return rg_status_of(m->c);
}

rg_dtype rg_nn_precision_of(const rg_module *m) { return m && m->half != RG_DTYPES ? m->half : RG_F32; }

/* ---- all that lies below -------------------------------------------------------------------------------------- */

static void count(const rg_module *m, size_t *n, size_t *params) {
    for (uint32_t i = 0; i < m->entries; i++) ++*n, *params += m->entry[i].param;
    for (uint32_t i = 0; i < m->children; i++) count(m->child[i], n, params);
}

static bool fill(const rg_module *m, struct nn_flat *f, const char *path) {
    for (uint32_t i = 0; i < m->entries; i++) {
        const struct nn_entry *e = &m->entry[i];
        size_t room = strlen(path) + strlen(e->name) + 2;
        char *name = mem_alloc(room);
        if (!name) return false;
        snprintf(name, room, "%s%s%s", path, *path ? "." : "", e->name);
        f->name[f->n] = name, f->all[f->n++] = e->t;
        if (e->param) f->param[f->params++] = e->t;
    }
    for (uint32_t i = 0; i < m->children; i++) {
        size_t room = strlen(path) + strlen(m->child[i]->name) + 2;
        char *below = mem_alloc(room);
        if (!below) return false;
        snprintf(below, room, "%s%s%s", path, *path ? "." : "", m->child[i]->name);
        bool ok = fill(m->child[i], f, below);
        mem_free(below);
        if (!ok) return false;
    }
    return true;
}

const struct nn_flat *nn_flat(rg_module *m) {
    struct nn_flat *f = &m->flat;
    if (f->all) return f;
    size_t n = 0, params = 0;
    count(m, &n, &params);
    *f = (struct nn_flat){mem_alloc((n + 1) * sizeof *f->all), mem_alloc((params + 1) * sizeof *f->param),
                          mem_alloc((n + 1) * sizeof *f->name), 0, 0};
    if (f->all && f->param && f->name && fill(m, f, "")) {
        for (size_t i = 0; i < f->n && !m->parent; i++) api_label(f->all[i], f->name[i]);
        return f;
    }
    forget(f);
    return NULL;
}

rg_tensors rg_nn_params_at(AT, rg_module *m) {
    if (!m || rg_status_of(m->c)) return (rg_tensors){0};
    const struct nn_flat *f = nn_flat(m);
    if (!f) return no_memory(m->c, HERE, "rg_nn_params"), (rg_tensors){0};
    return (rg_tensors){f->param, f->params};
}

size_t rg_nn_entries(rg_module *m) {
    size_t n = 0, params = 0;
    if (m) count(m, &n, &params);
    return n;
}

rg_tensor rg_nn_entry(rg_module *m, size_t i, const char **name) {
    const struct nn_flat *f = m ? nn_flat(m) : NULL;
    if (name) *name = f && i < f->n ? f->name[i] : NULL;
    return f && i < f->n ? f->all[i] : RG_NONE;
}

/* ---- forward ------------------------------------------------------------------------------------------------------ */

rg_tensor rg_nn_forward_at(AT, rg_module *m, rg_tensor x) {
    bool temporary = api_unmark(&x);
    if (!m) return nn_no_module(rg_ctx_of(x), HERE, "rg_nn_forward"), api_poison(rg_ctx_of(x));
    rg_ctx *c = m->c;
    if (rg_status_of(c)) return api_poison(c);
    if (rg_ctx_of(x) && rg_ctx_of(x) != c) {
        api_fail(c, HERE, "rg_nn_forward", RG_EINVAL,
                 "the input belongs to another context (device %s) than the module (%s); copy one of them: "
                 "rg_copy_to, rg_nn_to",
                 api_device_of(x), rg_device(c));
        return api_poison(c);
    }
    if (m->layer == &nn_custom && !m->fn) {
        api_fail(c, HERE, "rg_nn_forward", RG_EINVAL,
                 "this module only holds others: it was made without a function");
        return api_poison(c);
    }
    char path[NN_PATH + 4] = "net";
    nn_path(m, path + 4);
    if (path[4]) path[3] = '.';
    rg_scope scope = rg_begin(c);
    struct api_origin old = api_enter(c, (struct api_origin){path, HERE, false});
    nn_layer_begin(HERE, m);
    rg_tensor out = m->layer->forward(HERE, m, x);
    nn_layer_end(m);
    if (m->half_root) out = rg_cast_at(HERE, out, RG_F32);
    if (m->checkpoint && m->training) out = rg_checkpoint_at(HERE, out, x);
    out = api_result(HERE, scope, out);
    api_enter(c, old);
    if (temporary) api_drop(x);
    return out;
}

/* ---- a table ---------------------------------------------------------------------------------------------------------- */

struct table {
    char *out;
    size_t room, n;
    int path, layer; /* widths */
};

static void put(struct table *t, const char *fmt, ...) RG_FMT(2, 3);
static void put(struct table *t, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = text_vprintf(t->n < t->room ? t->out + t->n : NULL, t->n < t->room ? t->room - t->n : 0, fmt, ap);
    va_end(ap);
    t->n += n > 0 ? (size_t)n : 0;
}

static const char *title(const rg_module *m) { return m->title ? m->title : m->layer->name; }

static void widths(const rg_module *m, struct table *t) {
    char path[NN_PATH];
    nn_path(m, path);
    t->path = RG_MAX(t->path, (int)strlen(path));
    t->layer = RG_MAX(t->layer, (int)strlen(title(m)));
    for (uint32_t i = 0; i < m->children; i++) widths(m->child[i], t);
}

static int64_t shape_text(rg_tensor x, char *out, size_t room) {
    int64_t d[NN_RANK], rank = rg_shape_of_at(NULL, 0, x, d, NN_RANK), size = 1;
    size_t at = (size_t)snprintf(out, room, "(");
    for (int64_t i = 0; i < rank && i < NN_RANK; i++) {
        size *= d[i];
        if (at < room) at += (size_t)snprintf(out + at, room - at, i ? ", %lld" : "%lld", (long long)d[i]);
    }
    if (at < room) snprintf(out + at, room - at, ")");
    return rank < 0 ? 0 : size;
}

static int64_t rows(const rg_module *m, struct table *t) {
    char path[NN_PATH], shape[200];
    int64_t total = 0, below = 0;
    nn_path(m, path);
    put(t, "%-*s  %-*s", t->path, path, t->layer, title(m));
    for (uint32_t i = 0; i < m->entries; i++) {
        int64_t n = shape_text(m->entry[i].t, shape, sizeof shape);
        put(t, "%s%s %s", i ? ", " : "  ", m->entry[i].name, shape);
        total += m->entry[i].param ? n : 0;
    }
    if (total) put(t, "  %lld", (long long)total);
    put(t, "\n");
    for (uint32_t i = 0; i < m->children; i++) below += rows(m->child[i], t);
    return total + below;
}

int rg_nn_describe(rg_module *m, char *out, size_t room) {
    struct table t = {out, out ? room : 0, 0, 4, 5};
    if (room && out) *out = 0;
    if (!m) return 0;
    widths(m, &t);
    put(&t, "%-*s  %-*s  shape, parameters\n", t.path, "path", t.layer, "layer");
    put(&t, "%lld parameters\n", (long long)rows(m, &t));
    return (int)t.n;
}
