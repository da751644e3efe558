/* recurrent.c: the layers rg_nn_lstm and rg_nn_gru: how they are made, and go forward.
 *
 * Entries are PyTorch's: weight_ih_l0 (gates * H, in), weight_hh_l0 (gates * H, H), bias_ih_l0, bias_hh_l0, with _reverse for the other
 * direction and l1 .. for further layers; first values uniform within 1 / sqrt(H). With rg_nn_precision the products are
 * in the half type, the states float32.
 * Tests: tests/unit/recurrent.c */
#include "nn.h"

#include <math.h>
#include <stdio.h>

enum { WEIGHTS = 4, NAME = 48 };

static const char *entry_name(char *out, int which, int64_t layer, bool reverse) {
    static const char *const kind[WEIGHTS] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
    snprintf(out, NAME, "%s_l%lld%s", kind[which], (long long)layer, reverse ? "_reverse" : "");
    return out;
}

static rg_tensor in_half(AT, const rg_module *m, rg_tensor t) {
    return m->half == RG_DTYPES || !t.id ? t : rg_cast_at(HERE, t, m->half);
}

/* One layer in one direction: h of each step. */
static rg_tensor run_layer(AT, rg_module *m, rg_tensor x, int64_t layer, bool reverse) {
    rg_tensor w[WEIGHTS];
    char name[NAME];
    int64_t d[NN_RANK];
    bool lstm = m->a.recurrent.gates == 4;
    for (int i = 0; i < WEIGHTS; i++) w[i] = in_half(HERE, m, nn_own(m, entry_name(name, i, layer, reverse)));
    rg_tensors list = {w, w[2].id ? 4 : 2};
    rg_recurrent_opts o = {.size_ = sizeof o, .reverse = reverse};
    rg_tensor all = (lstm ? rg_lstm_at : rg_gru_at)(HERE, x, RG_NONE, list, o);
    if (rg_shape_of_at(HERE, all, d, NN_RANK) != 4) return api_poison(m->c);
    return rg_narrow_at(HERE, rg_select_at(HERE, all, 0, 0), 0, reverse ? 0 : 1, d[1] - 1);
}

static rg_tensor forward_recurrent(AT, rg_module *m, rg_tensor x) {
    const struct nn_recurrent *r = &m->a.recurrent;
    if (rg_rank_at(HERE, x) != 3) {
        api_fail(m->c, HERE, r->gates == 4 ? "rg_nn_lstm" : "rg_nn_gru", RG_EINVAL,
                 "the input must be %s; found %lld axes", r->batch_first ? "(N, T, in)" : "(T, N, in)",
                 (long long)rg_rank_at(HERE, x));
        return api_poison(m->c);
    }
    x = in_half(HERE, m, r->batch_first ? rg_transpose_at(HERE, x, 0, 1) : x);
    for (int64_t layer = 0; layer < r->layers; layer++) {
        if (layer && m->training && m->a.dropout > 0) x = rg_dropout_at(HERE, x, m->a.dropout);
        rg_tensor y[2] = {run_layer(HERE, m, x, layer, false)};
        if (r->directions == 2) y[1] = run_layer(HERE, m, x, layer, true);
        x = r->directions == 2 ? rg_cat_at(HERE, (rg_tensors){y, 2}, 2) : y[0];
    }
    return r->batch_first ? rg_transpose_at(HERE, x, 0, 1) : x;
}
static const struct nn_layer lstm_layer = {"lstm", forward_recurrent}, gru_layer = {"gru", forward_recurrent};

static void add_weights(AT, rg_module *m, int64_t layer, bool reverse, int64_t in, int64_t hidden,
                        bool bias) {
    int64_t rows = m->a.recurrent.gates * hidden,
            shape[WEIGHTS][2] = {{rows, in}, {rows, hidden}, {rows}, {rows}};
    double bound = 1 / sqrt((double)hidden);
    char name[NAME];
    for (int i = 0; i < (bias ? 4 : 2) && !rg_status_of(m->c); i++) {
        rg_tensor w = rg_uniform_at(HERE, m->c, RG_F32, -bound, bound, (rg_ints){shape[i], i < 2 ? 2 : 1});
        rg_nn_param_at(HERE, m, entry_name(name, i, layer, reverse), w);
        api_drop(w);
    }
}

static bool fits(AT, const char *fn, rg_ctx *c, int64_t in, int64_t hidden, const rg_recurrent_opts *o) {
    if (in < 1 || hidden < 1 || in > INT32_MAX / 4 || hidden > INT32_MAX / 4)
        api_fail(c, HERE, fn, RG_EINVAL, "sizes of %lld in and %lld hidden; each must be at least 1",
                 (long long)in, (long long)hidden);
    else if (o->layers < 0 || o->layers > 1000)
        api_fail(c, HERE, fn, RG_EINVAL, "%lld layers; it must be from 1 to 1000", (long long)o->layers);
    else if (!(o->dropout >= 0 && o->dropout < 1))
        api_fail(c, HERE, fn, RG_EINVAL, "dropout is a share from 0 to less than 1; found %g", o->dropout);
    else if (o->reverse)
        api_fail(c, HERE, fn, RG_EINVAL,
                 "a layer goes forward, or with .bidirectional both ways; "
                 "for one that goes backwards flip the input and the output (rg_flip)");
    return !rg_status_of(c);
}

static rg_module *make_recurrent(AT, const char *fn, rg_ctx *c, const struct nn_layer *layer, int64_t gates,
                                 int64_t in, int64_t hidden, rg_recurrent_opts o) {
    rg_module *m = nn_new(c, HERE, fn, layer);
    if (!m) return NULL;
    if (!fits(HERE, fn, c, in, hidden, &o)) return nn_done(m);
    m->a.dropout = o.dropout;
    m->a.recurrent = (struct nn_recurrent){.gates = gates,
                                           .layers = o.layers ? o.layers : 1,
                                           .directions = o.bidirectional ? 2 : 1,
                                           .batch_first = o.batch_first};
    for (int64_t l = 0; l < m->a.recurrent.layers; l++)
        for (int64_t d = 0; d < m->a.recurrent.directions; d++)
            add_weights(HERE, m, l, d, l ? m->a.recurrent.directions * hidden : in, hidden, !o.no_bias);
    return nn_done(m);
}

rg_module *rg_nn_lstm_at(AT, rg_ctx *c, int64_t in, int64_t hidden, rg_recurrent_opts o) {
    return make_recurrent(HERE, "rg_nn_lstm", c, &lstm_layer, 4, in, hidden, o);
}
rg_module *rg_nn_gru_at(AT, rg_ctx *c, int64_t in, int64_t hidden, rg_recurrent_opts o) {
    return make_recurrent(HERE, "rg_nn_gru", c, &gru_layer, 3, in, hidden, o);
}
