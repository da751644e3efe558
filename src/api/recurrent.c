/* recurrent.c: rg_lstm, rg_gru. What they compute is in src/tensor/recurrent.c. Tests: tests/unit/recurrent.c */
#include "internal.h"

#pragma GCC diagnostic error "-Wmissing-prototypes"

#define AT const char *file, int line

static const uop *recurrent(struct api_call *k, enum t_cell cell) {
    const rg_recurrent_opts *o = k->p;
    struct t_recurrent r = {.cell = cell, .backwards = o->reverse};
    if (k->list.n != 2 && k->list.n != 4)
        call_fail(k, RG_EINVAL, "%zu weights; expected 2 (w_ih, w_hh) or 4 (and b_ih, b_hh)", k->list.n);
    for (size_t i = 0; i < k->list.n; i++) r.w[i] = k->many[i];
    return t_recurrent(k->g, k->u[0], k->u[1], &r);
}

static const uop *b_lstm(struct api_call *k) { return recurrent(k, T_LSTM); }
static const uop *b_gru(struct api_call *k) { return recurrent(k, T_GRU); }

rg_tensor rg_lstm_at(AT, rg_tensor x, rg_tensor state, rg_tensors weights, rg_recurrent_opts o) {
    return call_tensor(CALL(lstm, .in = {TENSOR(x), TENSOR(state)}, .n = 2, .may = 2, .list = weights,
                            .p = &o, .build = b_lstm));
}
rg_tensor rg_gru_at(AT, rg_tensor x, rg_tensor state, rg_tensors weights, rg_recurrent_opts o) {
    return call_tensor(CALL(gru, .in = {TENSOR(x), TENSOR(state)}, .n = 2, .may = 2, .list = weights, .p = &o,
                            .build = b_gru));
}
