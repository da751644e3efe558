/* optim.c: optimisers: SGD, Adam, AdamW, with the formulas of PyTorch's.
 *
 * A step only builds graph: new values of parameters and state from gradients, assigned in place. All parameters get the same
 * expression, so the schedule makes one kernel over a table of them (schedule/batch.c). State lives on the device, the step counter
 * and the loss scale too, so that a recorded step can be replayed; the numbers of rg_optim_opts are rg_scalars, kernel parameters that change
 * without compiling. State is realized when the optimiser is made: a step only ever writes to memory that is there.
 *
 * Adam's corrections 1 - beta^t are -expm1(t log beta): 1 - 0.999f^1 would be off by 1e-5. State of half parameters is F32.
 * Tests: tests/unit/nn_optim.c */
#include "nn.h"

#include <math.h>

enum number { LR, DECAY, MOMENTUM, BETA2, REST1, REST2, LOG1, LOG2, EPS, NUMBERS }; /* REST: 1 - beta */
enum { STATES = 2 };

struct rule {
    const char *name; /* also where profiles say the work belongs to */
    bool adam, decoupled;
    const char *state[STATES];
};

struct rg_optim {
    rg_ctx *c;
    const struct rule *rule;
    rg_optim_opts o;
    rg_dtype dt; /* of the numbers: F64 if a parameter is */
    size_t n;
    rg_tensor *param, *state[STATES];
    rg_tensor num[NUMBERS];
    rg_tensor step, scale, growth; /* RG_NONE where they are not needed */
    rg_tensor *entry;
    char **name;
    size_t entries;
};

enum { GROWTH_STEPS = 2000 }; /* good steps after which the scale is doubled, as torch's GradScaler */

/* ---- making and freeing --------------------------------------------------------------------------------- */

static void release(void *obj) {
    rg_optim *o = obj;
    for (size_t i = 0; i < o->entries; i++) {
        rg_free(o->entry[i]);
        mem_free(o->name[i]);
    }
    for (int i = 0; i < NUMBERS; i++) rg_free(o->num[i]);
    for (int s = 0; s < STATES; s++) mem_free(o->state[s]);
    mem_free(o->param), mem_free(o->entry), mem_free(o->name);
    mem_free(o);
}

void rg_optim_free(rg_optim *o) {
    if (!o) return;
    ctx_disown(o->c, o);
    release(o);
}

static bool check_params(AT, const char *fn, rg_ctx *c, rg_tensors params) {
    for (size_t i = 0; i < params.n; i++) {
        rg_tensor p = params.t[i];
        const char *bad = NULL;
        if (rg_ctx_of(p) != c)
            bad = "belongs to another context than the first";
        else if (!api_is_param(p))
            bad = "is not a parameter, or was freed; rg_param and rg_nn_param make one";
        for (size_t k = 0; k < i && !bad; k++)
            if (params.t[k].id == p.id) bad = "is in the list twice";
        if (bad) return api_fail(c, HERE, fn, RG_EINVAL, "tensor %zu %s", i + 1, bad), false;
    }
    return true;
}

static bool check_opts(AT, const char *fn, rg_ctx *c, const rg_optim_opts *o) {
    struct {
        const char *name;
        double v, most;
    } all[] = {{"lr", o->lr, INFINITY},
               {"momentum", o->momentum, INFINITY},
               {"beta1", o->beta1, 1},
               {"beta2", o->beta2, 1},
               {"eps", o->eps, INFINITY},
               {"weight_decay", o->weight_decay, INFINITY},
               {"loss_scale", o->loss_scale, INFINITY}};
    for (size_t i = 0; i < RG_COUNT(all); i++)
        if (!(all[i].v >= 0 && all[i].v < all[i].most))
            return api_fail(c, HERE, fn, RG_EINVAL, "%s is %g; it must be at least 0 and %s", all[i].name,
                            all[i].v, all[i].most > 1 ? "finite" : "less than 1"),
                   false;
    if (o->nesterov && o->momentum == 0)
        return api_fail(c, HERE, fn, RG_EINVAL, ".nesterov needs .momentum"), false;
    return true;
}

/* A piece of state that starts as `value` (which is freed). */
static rg_tensor add_state(AT, rg_optim *o, const char *kind, int64_t number, rg_tensor value) {
    char name[48];
    if (number < 0)
        snprintf(name, sizeof name, "%s", kind);
    else
        snprintf(name, sizeof name, "%s.%lld", kind, (long long)number);
    char *text = nn_text(o->c, HERE, o->rule->name, name);
    if (!text) return RG_NONE;
    rg_tensor t = api_state(HERE, value, true);
    api_drop(value);
    o->name[o->entries] = text;
    o->entry[o->entries++] = t;
    return t;
}

/* State of a parameter: of this rank's part of it, where each rank updates one. */
static rg_tensor zeros_of(AT, rg_tensor p) {
    struct api_shard s = api_shard_of(p);
    if (s.split != SPLIT_STATE) return rg_zeros_like_at(HERE, p);
    return rg_zeros_at(HERE, rg_ctx_of(p), rg_dtype_of_at(HERE, p),
                       (rg_ints){(const int64_t[]){nn_part(s.elements, s.world)}, 1});
}

static void make_state(AT, rg_optim *o) {
    for (int s = 0; s < STATES; s++) {
        if (!o->state[s]) continue;
        for (size_t i = 0; i < o->n && !rg_status_of(o->c); i++) {
            rg_tensor like = zeros_of(HERE, o->param[i]);
            rg_dtype dt = rg_dtype_of_at(HERE, like) == RG_F64 ? RG_F64 : RG_F32;
            o->state[s][i] = add_state(HERE, o, o->rule->state[s], (int64_t)i, rg_cast_at(HERE, like, dt));
            api_drop(like);
        }
    }
    if (o->rule->adam) o->step = add_state(HERE, o, "step", -1, rg_number_at(HERE, o->c, RG_F32, 0));
    if (o->o.loss_scale == 0) return;
    o->scale = add_state(HERE, o, "scale", -1, rg_number_at(HERE, o->c, RG_F32, o->o.loss_scale));
    o->growth = add_state(HERE, o, "growth", -1, rg_number_at(HERE, o->c, RG_F32, 0));
}

static void make_numbers(AT, rg_optim *o) {
    const rg_optim_opts *p = &o->o;
    double v[NUMBERS] = {[LR] = p->lr,           [DECAY] = p->weight_decay, [MOMENTUM] = p->momentum,
                         [BETA2] = p->beta2,     [REST1] = 1 - p->beta1,    [REST2] = 1 - p->beta2,
                         [LOG1] = log(p->beta1), [LOG2] = log(p->beta2),    [EPS] = p->eps};
    for (int i = 0; i < NUMBERS; i++) o->num[i] = api_hold(HERE, rg_scalar_at(HERE, o->c, o->dt, v[i]));
}

/* Memory of all arrays; false if there is none. */
static bool make_room(rg_optim *o, rg_tensors params) {
    size_t most = params.n * STATES + 3;
    o->param = mem_alloc((params.n + 1) * sizeof *o->param);
    o->entry = mem_alloc(most * sizeof *o->entry);
    o->name = mem_alloc(most * sizeof *o->name);
    if (!o->param || !o->entry || !o->name) return false;
    for (size_t i = 0; i < params.n; i++) o->param[o->n++] = params.t[i];
    int states = o->rule->adam ? 2 : o->o.momentum != 0;
    for (int s = 0; s < states; s++)
        if (!(o->state[s] = mem_alloc((params.n + 1) * sizeof *o->state[s]))) return false;
    return true;
}

static rg_optim *make(AT, const struct rule *rule, const char *fn, rg_tensors params, rg_optim_opts opts) {
    rg_ctx *c = params.n && params.t ? rg_ctx_of(params.t[0]) : NULL;
    if (!c || rg_status_of(c)) return NULL;
    if (opts.lr == 0) opts.lr = 1e-3;
    if (opts.beta1 == 0) opts.beta1 = 0.9;
    if (opts.beta2 == 0) opts.beta2 = 0.999;
    if (opts.eps == 0) opts.eps = 1e-8;
    if (rule->decoupled) opts.weight_decay = opts.weight_decay == 0 ? 0.01 : fmax(opts.weight_decay, 0);
    if (!check_params(HERE, fn, c, params) || !check_opts(HERE, fn, c, &opts)) return NULL;
    rg_optim *o = mem_alloc(sizeof *o);
    if (!o) return api_fail(c, HERE, fn, RG_ENOMEM, "out of memory"), NULL;
    *o = (rg_optim){.c = c, .rule = rule, .o = opts, .dt = RG_F32};
    if (!make_room(o, params)) return release(o), api_fail(c, HERE, fn, RG_ENOMEM, "out of memory"), NULL;
    if (api_own(c, HERE, fn, o, release)) return NULL;
    for (size_t i = 0; i < o->n; i++)
        if (rg_dtype_of_at(HERE, o->param[i]) == RG_F64) o->dt = RG_F64;
    make_state(HERE, o);
    make_numbers(HERE, o);
    if (!rg_status_of(c)) rg_realize_all_at(HERE, (rg_tensors){o->param, o->n}); /* first values, and state */
    if (!rg_status_of(c)) return o;
    rg_optim_free(o);
    return NULL;
}

static const struct rule sgd = {"sgd", .state = {"momentum"}}, adam = {"adam", true, .state = {"m", "v"}},
                         adamw = {"adamw", true, true, {"m", "v"}};

rg_optim *rg_sgd_at(AT, rg_tensors params, rg_optim_opts o) { return make(HERE, &sgd, "rg_sgd", params, o); }
rg_optim *rg_adam_at(AT, rg_tensors params, rg_optim_opts o) {
    return make(HERE, &adam, "rg_adam", params, o);
}
rg_optim *rg_adamw_at(AT, rg_tensors params, rg_optim_opts o) {
    return make(HERE, &adamw, "rg_adamw", params, o);
}

/* ---- one step ---------------------------------------------------------------------------------------------- */

enum { GATHER_MOST = 256, GATHER_BYTES = 25000000 };
struct gathering { /* new parts of parameters, on their way to all ranks */
    rg_world *world;
    rg_tensor param[GATHER_MOST], part[GATHER_MOST];
    uint32_t n;
    int64_t bytes;
};

/* Arithmetic, short: the user's call site goes along in every call. */
struct at {
    const char *file;
    int line;
    rg_optim *o;
    rg_tensor skip;        /* true: this step is left out; RG_NONE: there is no such question */
    rg_tensor size, root2; /* adam: lr / (1 - beta1^t), sqrt(1 - beta2^t) */
    struct gathering q;
};

static rg_tensor add(struct at *a, rg_tensor x, rg_tensor y) {
    return rg_add_at(a->file, a->line, TENSOR(x), TENSOR(y));
}
static rg_tensor sub(struct at *a, rg_tensor x, rg_tensor y) {
    return rg_sub_at(a->file, a->line, TENSOR(x), TENSOR(y));
}
static rg_tensor mul(struct at *a, rg_tensor x, rg_tensor y) {
    return rg_mul_at(a->file, a->line, TENSOR(x), TENSOR(y));
}
static rg_tensor quot(struct at *a, rg_tensor x, rg_tensor y) {
    return rg_div_at(a->file, a->line, TENSOR(x), TENSOR(y));
}
static rg_tensor root(struct at *a, rg_tensor x) { return rg_sqrt_at(a->file, a->line, x); }
static rg_tensor to(struct at *a, rg_tensor x, rg_dtype dt) { return rg_cast_at(a->file, a->line, x, dt); }

static rg_tensor kept(struct at *a, rg_tensor x, rg_tensor v) {
    return a->skip.id ? rg_where_at(a->file, a->line, TENSOR(a->skip), TENSOR(x), TENSOR(v)) : v;
}
static void set(struct at *a, rg_tensor x, rg_tensor v) {
    rg_assign_at(a->file, a->line, x, TENSOR(kept(a, x, v)));
}

/* New parts of parameters that all ranks have whole travel in buckets, as gradients do. */
static void gather_now(struct at *a) {
    struct gathering *q = &a->q;
    rg_tensor out[GATHER_MOST];
    struct nn_whole whole[GATHER_MOST];
    if (!q->n) return;
    for (uint32_t i = 0; i < q->n; i++)
        whole[i].rank = rg_shape_of_at(a->file, a->line, q->param[i], whole[i].d, NN_RANK);
    nn_gather(a->file, a->line, q->world, whole, q->n, q->part, out);
    for (uint32_t i = 0; i < q->n; i++) rg_assign_at(a->file, a->line, q->param[i], TENSOR(out[i]));
    q->n = 0, q->bytes = 0;
}
static void gather_later(struct at *a, rg_world *w, rg_tensor param, rg_tensor part) {
    struct gathering *q = &a->q;
    bool other =
        q->n && rg_dtype_of_at(a->file, a->line, q->param[0]) != rg_dtype_of_at(a->file, a->line, param);
    if (q->n == GATHER_MOST || q->bytes > GATHER_BYTES || other || q->world != w) gather_now(a);
    q->world = w;
    q->bytes += rg_bytes_at(a->file, a->line, param);
    q->param[q->n] = param, q->part[q->n++] = part;
}

/* 1 - beta^t */
static rg_tensor correction(struct at *a, rg_tensor t, enum number log_beta) {
    return rg_neg_at(a->file, a->line, rg_expm1_at(a->file, a->line, mul(a, t, a->o->num[log_beta])));
}

static rg_tensor new_sgd(struct at *a, size_t i, rg_tensor p, rg_tensor g, const rg_tensor *num) {
    rg_optim *o = a->o;
    if (o->o.weight_decay != 0) g = add(a, g, mul(a, p, num[DECAY]));
    if (o->state[0]) {
        rg_tensor b = add(a, mul(a, o->state[0][i], num[MOMENTUM]), g); /* first step: 0 * momentum + g */
        set(a, o->state[0][i], b);
        g = o->o.nesterov ? add(a, g, mul(a, b, num[MOMENTUM])) : b;
    }
    return sub(a, p, mul(a, g, num[LR]));
}

static rg_tensor new_adam(struct at *a, size_t i, rg_tensor p, rg_tensor g, const rg_tensor *num) {
    rg_optim *o = a->o;
    rg_tensor m = o->state[0][i], v = o->state[1][i], one = rg_number_at(a->file, a->line, o->c, RG_F32, 1);
    if (o->o.weight_decay != 0 && !o->rule->decoupled) g = add(a, g, mul(a, p, num[DECAY]));
    if (o->o.weight_decay != 0 && o->rule->decoupled) p = mul(a, p, sub(a, one, mul(a, num[LR], num[DECAY])));
    rg_tensor m1 = add(a, m, mul(a, sub(a, g, m), num[REST1]));
    rg_tensor v1 = add(a, mul(a, v, num[BETA2]), mul(a, mul(a, g, g), num[REST2]));
    rg_tensor below = add(a, quot(a, root(a, v1), a->root2), num[EPS]);
    rg_tensor out = sub(a, p, mul(a, quot(a, m1, below), a->size));
    set(a, m, m1), set(a, v, v1);
    return out;
}

/* What a parameter is computed in, and the optimiser's numbers in that. */
static void update(struct at *a, size_t i, rg_tensor g) {
    rg_optim *o = a->o;
    rg_tensor p = o->param[i], num[NUMBERS];
    rg_dtype dt = rg_dtype_of_at(a->file, a->line, p) == RG_F64 ? RG_F64 : RG_F32;
    for (int k = 0; k < NUMBERS; k++) num[k] = o->dt == dt ? o->num[k] : to(a, o->num[k], dt);
    struct api_shard s = api_shard_of(p);
    if (s.split == SPLIT_STATE) p = rg_detach_at(a->file, a->line, nn_my_part(a->file, a->line, p, s.world));
    rg_tensor wide = to(a, p, dt);
    rg_tensor v = (o->rule->adam ? new_adam : new_sgd)(a, i, wide, to(a, g, dt), num);
    v = to(a, v, rg_dtype_of_at(a->file, a->line, p));
    if (s.split == SPLIT_STATE)
        gather_later(a, s.world, o->param[i], kept(a, p, v));
    else
        set(a, p, v);
}

/* On any rank: each sees its parts of the gradients. */
static rg_tensor all_ranks(struct at *a, rg_tensor bad) {
    struct api_shard s = {0};
    for (size_t i = 0; i < a->o->n && !s.split; i++) s = api_shard_of(a->o->param[i]);
    return s.split ? rg_all_reduce_at(a->file, a->line, bad, s.world, RG_COMBINE_MAX) : bad;
}

/* Is a gradient not finite? */
static rg_tensor find_bad(struct at *a, const rg_tensor *g) {
    rg_tensor bad = RG_NONE;
    for (size_t i = 0; i < a->o->n; i++) {
        if (!g[i].id) continue;
        rg_tensor no = rg_logical_not_at(a->file, a->line, rg_isfinite_at(a->file, a->line, g[i]));
        no = rg_any_at(a->file, a->line, no, (rg_reduce_opts){0});
        bad = bad.id ? rg_logical_or_at(a->file, a->line, TENSOR(bad), TENSOR(no)) : no;
    }
    bad = all_ranks(a, bad);
    return rg_contiguous_at(a->file, a->line, bad);
}

/* The scale is halved when gradients overflow and doubled after many steps in which they did not. */
static void update_scale(struct at *a) {
    rg_optim *o = a->o;
    const char *file = a->file;
    int line = a->line;
    rg_tensor count = rg_add_at(HERE, TENSOR(o->growth), NUMBER(1));
    rg_tensor twice = rg_mul_at(HERE, TENSOR(o->scale), NUMBER(2));
    rg_tensor full = rg_ge_at(HERE, TENSOR(count), NUMBER(GROWTH_STEPS));
    rg_tensor grow = rg_logical_and_at(HERE, TENSOR(full), TENSOR(rg_isfinite_at(HERE, twice)));
    rg_tensor good = rg_where_at(HERE, TENSOR(grow), TENSOR(twice), TENSOR(o->scale));
    rg_tensor half = rg_mul_at(HERE, TENSOR(o->scale), NUMBER(0.5));
    count = rg_where_at(HERE, TENSOR(full), NUMBER(0), TENSOR(count));
    rg_assign_at(HERE, o->growth, TENSOR(rg_where_at(HERE, TENSOR(a->skip), NUMBER(0), TENSOR(count))));
    rg_assign_at(HERE, o->scale, TENSOR(rg_where_at(HERE, TENSOR(a->skip), TENSOR(half), TENSOR(good))));
}

/* Gradients as they are to be used; RG_NONE for a parameter that has none and stays as it is. They are stored first, so
 * that the updates of all parameters are alike and become one kernel. */
static size_t take_gradients(struct at *a, rg_tensor *g) {
    rg_optim *o = a->o;
    size_t found = 0;
    rg_tensor inverse = o->scale.id ? rg_recip_at(a->file, a->line, o->scale) : RG_NONE;
    for (size_t i = 0; i < o->n; i++) {
        g[i] = RG_NONE;
        if (!api_has_grad(o->param[i])) continue;
        found++;
        g[i] = rg_contiguous_at(a->file, a->line, rg_param_grad_at(a->file, a->line, o->param[i]));
        if (inverse.id) g[i] = mul(a, g[i], inverse); /* F32 at least: the scale is */
    }
    return found;
}

static void step(struct at *a, rg_tensor *g) {
    rg_optim *o = a->o;
    if (!take_gradients(a, g)) {
        api_fail(o->c, a->file, a->line, "rg_optim_step", RG_EINVAL,
                 "no parameter has a gradient; call rg_backward(loss) before the step");
        return;
    }
    if (o->scale.id) a->skip = find_bad(a, g);
    if (o->rule->adam) {
        rg_tensor t = rg_add_at(a->file, a->line, TENSOR(o->step), NUMBER(1));
        a->size = rg_contiguous_at(a->file, a->line, quot(a, o->num[LR], correction(a, t, LOG1)));
        a->root2 = rg_contiguous_at(a->file, a->line, root(a, correction(a, t, LOG2)));
        set(a, o->step, t);
    }
    for (size_t i = 0; i < o->n && !rg_status_of(o->c); i++)
        if (g[i].id) update(a, i, g[i]);
    gather_now(a);
    if (o->scale.id) update_scale(a);
    for (size_t i = 0; i < o->n; i++) api_set_grad(a->file, a->line, o->param[i], RG_NONE);
}

rg_status rg_optim_step_at(AT, rg_optim *o) {
    if (!o) return RG_EINVAL;
    if (rg_status_of(o->c)) return rg_status_of(o->c);
    rg_tensor *g = mem_alloc((o->n + 1) * sizeof *g);
    if (!g) return api_fail(o->c, HERE, "rg_optim_step", RG_ENOMEM, "out of memory");
    rg_scope scope = rg_begin(o->c);
    struct api_origin old = api_enter(o->c, (struct api_origin){o->rule->name, HERE, true});
    step(&(struct at){.file = file, .line = line, .o = o}, g);
    api_enter(o->c, old);
    rg_end(scope);
    mem_free(g);
    return rg_status_of(o->c);
}

/* ---- numbers and state ------------------------------------------------------------------------------------------ */

rg_status rg_optim_set_lr_at(AT, rg_optim *o, double lr) {
    if (!o) return RG_EINVAL;
    if (rg_status_of(o->c)) return rg_status_of(o->c);
    if (!(lr >= 0 && lr < INFINITY))
        return api_fail(o->c, HERE, "rg_optim_set_lr", RG_EINVAL,
                        "lr is %g; it must be at least 0 and finite", lr);
    o->o.lr = lr;
    return rg_set_scalar_at(HERE, o->num[LR], lr);
}

double rg_optim_lr(const rg_optim *o) { return o ? o->o.lr : NAN; }

rg_tensor rg_optim_scale_at(AT, rg_optim *o, rg_tensor loss) {
    bool temporary = api_unmark(&loss);
    rg_ctx *c = rg_ctx_of(loss);
    if (!o) {
        api_fail(c, HERE, "rg_optim_scale", RG_EINVAL, "the optimiser is NULL: making it failed");
        return api_poison(c);
    }
    rg_dtype dt = rg_dtype_of_at(HERE, loss);
    rg_tensor out = rg_cast_at(HERE, loss, dt == RG_F16 || dt == RG_BF16 ? RG_F32 : dt), wide = out;
    if (o->scale.id) {
        out = rg_mul_at(HERE, TENSOR(wide), TENSOR(o->scale));
        api_drop(wide);
    }
    if (temporary) api_drop(loss);
    return out;
}

size_t rg_optim_entries(rg_optim *o) { return o ? o->entries : 0; }

rg_tensor rg_optim_entry(rg_optim *o, size_t i, const char **name) {
    bool there = o && i < o->entries;
    if (name) *name = there ? o->name[i] : NULL;
    return there ? o->entry[i] : RG_NONE;
}

/* Momenta come first, a list for each kind. */
struct api_shard nn_optim_shard(const rg_optim *o, size_t entry) {
    size_t states = (o->state[0] != NULL) + (o->state[1] != NULL);
    return entry < states * o->n ? api_shard_of(o->param[entry % o->n]) : (struct api_shard){0};
}

rg_status rg_optim_save_at(AT, rg_optim *o, const char *path) {
    if (!o) return RG_EINVAL;
    if (rg_status_of(o->c)) return rg_status_of(o->c);
    return nn_save_list(HERE, "rg_optim_save", o->c, o->entry, o->name, o->entries, path);
}
rg_status rg_optim_load_at(AT, rg_optim *o, const char *path) {
    if (!o) return RG_EINVAL;
    return nn_load_list(HERE, "rg_optim_load", o->c, o->entry, o->name, o->entries, path);
}
