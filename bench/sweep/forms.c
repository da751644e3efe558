/* forms.c: what the operands of each kind of operation look like, and rows.def as a table. A form draws shapes, layouts
 * and parameters, and counts the work. */
#include "sweep.h"

#include <math.h>

/* What is drawn is drawn once: RG_MIN evaluates its operands twice. */
static int64_t at_most(int64_t n, double most) { return RG_MIN(n, (int64_t)most); }

static struct operand *same(struct draw *d, const struct operand *like, rg_dtype dt, enum values v) {
    struct operand copy = *like;
    return draw_operand(d, dt, copy.rank, copy.dim, v);
}

static void elementwise(struct draw *d, int n) {
    struct operand *x = draw_shape(d, d->dt, 1, 4, draw_total(d));
    for (int i = 1; i < n; i++) same(d, x, d->dt, d->row->values);
    for (int i = 0; i < n; i++) draw_layout(d, &d->x[i], i > 0);
    d->work = operand_count(x);
}
static void form_one(struct draw *d) { elementwise(d, 1); }
static void form_two(struct draw *d) { elementwise(d, 2); }
static void form_three(struct draw *d) { elementwise(d, 3); }

static void form_where(struct draw *d) {
    elementwise(d, 2);
    draw_layout(d, same(d, &d->x[0], RG_BOOL, TRUTH), true);
}

/* x (N, C, ..), y and z (1, C, 1 ..) */
static void form_channels(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 4, draw_total(d));
    int64_t dim[RANK_MOST] = {1, x->dim[1], 1, 1};
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, x->rank, dim, d->row->values);
    d->work = operand_count(x);
}

static void form_axis(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 4, draw_total(d));
    d->np = 1;
    d->p[0] = draw_int(d, 0, 2) ? x->rank - 1 : draw_int(d, 0, x->rank - 1);
    draw_layout(d, x, false);
    d->work = operand_count(x);
}

/* The last axis is even. */
static void form_even(struct draw *d) {
    form_axis(d);
    d->x[0].dim[d->p[0]] = RG_MAX(2, d->x[0].dim[d->p[0]] & ~(int64_t)1);
    d->work = operand_count(&d->x[0]) / 2;
}

/* p: how many axes (0: all), which; p[1] is always one. */
static void reduce_axes(struct draw *d, const struct operand *x) {
    int64_t u = draw_int(d, 0, 9);
    d->p[1] = draw_int(d, 0, x->rank - 1);
    d->p[2] = draw_int(d, 0, x->rank - 1);
    d->p[0] = u < 2 ? 0 : u < 4 && x->rank > 1 && d->p[2] != d->p[1] ? 2 : 1;
    d->np = (int)RG_MAX(d->p[0] + 1, 2);
}

static void form_reduce(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 4, draw_total(d));
    reduce_axes(d, x);
    draw_layout(d, x, false);
    d->work = operand_count(x);
}

static void form_reduce_two(struct draw *d) {
    form_two(d);
    reduce_axes(d, &d->x[0]);
}

static void form_sort(struct draw *d) {
    form_axis(d);
    d->work *= RG_MAX(1, log2((double)d->x[0].dim[d->p[0]]));
}

static void form_topk(struct draw *d) {
    form_axis(d);
    int64_t n = d->x[0].dim[d->p[0]];
    d->np = 2;
    d->p[1] = draw_size(d, 1, (double)RG_MIN(n, 512));
    d->work *= RG_MAX(1, log2((double)d->p[1]));
}

/* ---- products ---- */

static void matrices(struct draw *d, double total, int64_t mnk[3]) {
    double part[3], all = 0;
    for (int i = 0; i < 3; i++) all += part[i] = 0.05 + pow(draw_uniform(d, 0, 1), 1.5);
    for (int i = 0; i < 3; i++) {
        double want = pow(total, part[i] / all * 1.5);
        mnk[i] = draw_size(d, 0.7 * want, RG_MIN(1.4 * want, total));
    }
}

static void product(struct draw *d, int64_t batch, bool batched, bool one_y) {
    int64_t s[3];
    matrices(d, RG_MAX(1, RG_MIN(draw_total(d), 16777216) / (double)batch), s);
    int64_t x[3] = {batch, s[0], s[2]}, y[3] = {one_y ? 1 : batch, s[2], s[1]};
    draw_operand(d, d->dt, 2 + batched, x + !batched, ANY);
    draw_operand(d, d->dt, 2 + batched, y + !batched, ANY);
    for (int i = 0; i < 2; i++) draw_layout(d, &d->x[i], false);
    d->work = (double)batch * (double)s[0] * (double)s[1] * (double)s[2];
    d->out = d->work / (double)s[2];
    d->back = 2;
}
static void form_matmul(struct draw *d) { product(d, 1, false, false); }
static void form_softmax_matmul(struct draw *d) {
    form_matmul(d);
    d->calls = operand_count(&d->x[0]);
}
static void form_batched(struct draw *d) {
    int64_t batch = draw_size(d, 1, RG_MIN(512, d->cap));
    product(d, batch, true, draw_int(d, 0, 3) == 0);
}

static void form_linear(struct draw *d) {
    int64_t s[3], batch = draw_size(d, 1, RG_MIN(32, d->cap));
    matrices(d, RG_MAX(1, RG_MIN(draw_total(d), 16777216) / (double)batch), s);
    draw_operand(d, d->dt, 3, (int64_t[]){batch, s[0], s[2]}, ANY);
    draw_operand(d, d->dt, 2, (int64_t[]){s[1], s[2]}, ANY);
    draw_operand(d, d->dt, 1, &s[1], ANY);
    d->work = (double)batch * (double)s[0] * (double)s[1] * (double)s[2];
    d->out = d->calls = d->work / (double)s[2];
    d->back = 2;
}

static void form_matvec(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 2, draw_total(d));
    draw_layout(d, x, false);
    draw_operand(d, d->dt, 1, &x->dim[1], ANY);
    d->work = operand_count(x);
    d->back = 2;
}

static void form_outer(struct draw *d) {
    double total = draw_total(d), part = draw_uniform(d, 0.1, 0.9);
    int64_t a = draw_size(d, 1, pow(total, part)), b = draw_size(d, 1, pow(total, 1 - part));
    draw_operand(d, d->dt, 1, &a, ANY);
    draw_operand(d, d->dt, 1, &b, ANY);
    d->work = d->out = (double)a * (double)b;
    d->back = 2;
}

static void form_dot(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 1, draw_total(d));
    draw_layout(d, same(d, x, d->dt, ANY), false);
    d->work = operand_count(x);
}

/* x, y (B, T, H, D) */
static void form_heads(struct draw *d) {
    double total = RG_MIN(draw_total(d), 4194304);
    int64_t b = draw_size(d, 1, RG_MIN(8, total)), h = draw_size(d, 1, RG_MIN(16, total / (double)b));
    int64_t k = draw_size(d, 1, RG_MIN(160, total / (double)(b * h)));
    int64_t t = draw_size(d, 1, total / (double)(b * h * k));
    t = RG_MIN(t, 2048);
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, 4, (int64_t[]){b, t, h, k}, ANY);
    d->work = (double)(b * h * k) * (double)t * (double)t;
    d->out = d->work / (double)k;
    d->back = 2;
}

/* K long, a small result */
static void form_tall(struct draw *d) {
    double total = draw_total(d);
    int64_t i = draw_size(d, 1, RG_MIN(300, sqrt(total))), j = draw_size(d, 1, RG_MIN(300, sqrt(total)));
    int64_t k = draw_size(d, 1, RG_MAX(1, total / (double)RG_MAX(i, j)));
    draw_operand(d, d->dt, 2, (int64_t[]){k, i}, ANY);
    draw_operand(d, d->dt, 2, (int64_t[]){k, j}, ANY);
    d->work = (double)i * (double)j * (double)k;
}

/* ---- convolutions: p is the rank, then stride, padding, dilation, output padding of each axis, groups ---- */

enum { P_STRIDE = 1, P_PAD = 4, P_DILATION = 7, P_OUT = 10, P_GROUPS = 13, P_SIZE = 14 };

static void window(struct draw *d, int rank, int taps, bool transposed, int64_t *k) {
    for (int i = 0; i < rank; i++) {
        static const int64_t often[] = {1, 3, 3, 3, 5, 7, 2, 4};
        k[i] = taps ? taps : often[draw_int(d, 0, 7)];
        int64_t stride = draw_int(d, 0, 2) ? 1 : draw_int(d, 2, 3), dilation = draw_int(d, 0, 4) ? 1 : 2;
        d->p[P_STRIDE + i] = stride;
        d->p[P_DILATION + i] = k[i] > 1 ? dilation : 1;
        d->p[P_PAD + i] = draw_int(d, 0, 2) ? d->p[P_DILATION + i] * (k[i] - 1) / 2 : 0;
        d->p[P_OUT + i] = transposed && stride > 1 ? draw_int(d, 0, 1) : 0;
    }
    d->p[0] = rank;
    d->np = P_SIZE;
}

/* x (N, C, ..), y the weight, z the bias; counts MACs. */
static void convolve(struct draw *d, int rank, int taps, bool transposed, bool depthwise) {
    static const int64_t often[] = {1, 3, 8, 16, 24, 32, 48, 64, 96, 128, 256, 17};
    double total = RG_MIN(draw_total(d), 8388608), area = 1;
    int64_t dim[5], wd[5], k[3];
    window(d, rank, taps, transposed, k);
    int64_t c = at_most(often[draw_int(d, 0, 11)], RG_MAX(1, total / 16));
    int64_t o = at_most(often[draw_int(d, 0, 11)], RG_MAX(1, total / 16)), g = 1;
    if (draw_int(d, 0, 5) == 0 && c % 8 == 0 && o % 8 == 0) g = 8;
    if (depthwise) o = g = c;
    int64_t n = draw_size(d, 1, RG_MAX(1, RG_MIN(32, total / (double)c / 64)));
    double side = pow(RG_MAX(1, total / (double)(n * c)), 1.0 / rank);
    for (int i = 0; i < rank; i++) {
        int64_t least = d->p[P_DILATION + i] * (k[i] - 1) + 1;
        int64_t size = draw_size(d, 0.7 * side, 1.3 * side);
        dim[2 + i] = RG_MAX(least, size);
        area *= (double)dim[2 + i] * (double)k[i] / (transposed ? 1 : (double)d->p[P_STRIDE + i]);
        wd[2 + i] = k[i];
    }
    dim[0] = n, dim[1] = c;
    wd[0] = transposed ? c : o, wd[1] = (transposed ? o : c) / g;
    d->p[P_GROUPS] = g;
    draw_layout(d, draw_operand(d, d->dt, 2 + rank, dim, ANY), false);
    draw_operand(d, d->dt, 2 + rank, wd, ANY);
    draw_operand(d, d->dt, 1, &o, ANY);
    d->work = (double)n * (double)c * (double)(o / g) * area;
    d->out = (double)(n * o) * area;
    d->back = 2;
}
static void form_conv1(struct draw *d) { convolve(d, 1, 0, false, false); }
static void form_conv2(struct draw *d) { convolve(d, 2, 0, false, false); }
static void form_conv3(struct draw *d) { convolve(d, 3, 0, false, false); }
static void form_pointwise(struct draw *d) { convolve(d, 2, 1, false, false); }
static void form_depthwise(struct draw *d) { convolve(d, 2, 0, false, true); }
static void form_unconv1(struct draw *d) { convolve(d, 1, 0, true, false); }
static void form_unconv2(struct draw *d) { convolve(d, 2, 0, true, false); }
static void form_unconv3(struct draw *d) { convolve(d, 3, 0, true, false); }

/* ---- attention: q, k, v, mask ---- */

static void attend(struct draw *d, int mask, bool causal) {
    static const int64_t head[] = {32, 40, 64, 64, 72, 80, 96, 112, 128, 128, 160, 192, 256, 16, 20};
    double total = RG_MIN(draw_total(d), 4194304);
    int64_t size = head[draw_int(d, 0, 14)];
    if (total < 4096) size = draw_size(d, 1, 16);
    int64_t b = draw_size(d, 1, RG_MAX(1, RG_MIN(8, total / (double)size)));
    int64_t hk = draw_size(d, 1, RG_MAX(1, RG_MIN(8, total / (double)(size * b))));
    int64_t hq = hk * (draw_int(d, 0, 3) ? 1 : draw_int(d, 2, 4));
    double left = RG_MAX(1, total / (double)(size * b * hq));
    int64_t s = at_most(draw_size(d, 0.5 * left, left), 8192), t = s;
    if (draw_int(d, 0, 3) == 0) t = draw_size(d, 1, (double)s);
    draw_operand(d, d->dt, 4, (int64_t[]){b, hq, t, size}, ANY);
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, 4, (int64_t[]){b, hk, s, size}, ANY);
    if (mask == 1) draw_operand(d, RG_BOOL, 2, (int64_t[]){t, s}, TRUTH);
    if (mask == 2) draw_operand(d, d->dt, 4, (int64_t[]){1, hq, t, s}, ANY)->grad = false;
    d->calls = (double)(b * hq) * (double)t * ((double)s - (causal ? 0.5 * (double)(t - 1) : 0));
    d->work = d->calls * (double)size;
    d->back = 2;
}
static void form_attention(struct draw *d) { attend(d, 0, false); }
static void form_causal(struct draw *d) { attend(d, 0, true); }
static void form_masked(struct draw *d) { attend(d, 1, false); }
static void form_biased(struct draw *d) { attend(d, 2, false); }

/* ---- norms ---- */

static void form_layernorm(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 3, draw_total(d));
    int64_t n = x->dim[x->rank - 1];
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, 1, &n, ANY);
    if (strstr(d->row->name, "rms")) d->n = 2;
    d->work = operand_count(x);
}

static void image(struct draw *d, int rank, double total) {
    int64_t dim[5];
    dim[1] = draw_size(d, 1, RG_MAX(1, RG_MIN(128, total / 16)));
    dim[0] = draw_size(d, 1, RG_MAX(1, RG_MIN(64, total / (double)dim[1] / 16)));
    double side = pow(RG_MAX(1, total / (double)(dim[0] * dim[1])), 1.0 / rank);
    for (int i = 0; i < rank; i++) dim[2 + i] = draw_size(d, 0.7 * side, 1.3 * side);
    draw_operand(d, d->dt, 2 + rank, dim, ANY);
}

static void form_groupnorm(struct draw *d) {
    image(d, (int)draw_int(d, 1, 3), draw_total(d));
    int64_t *c = &d->x[0].dim[1];
    d->p[0] = *c % 8 == 0 ? 8 : *c % 3 == 0 ? 3 : 1;
    d->np = 1;
    for (int i = 2; i < d->x[0].rank; i++) d->x[0].dim[i] = RG_MAX(2, d->x[0].dim[i]);
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, 1, c, ANY);
    d->work = operand_count(&d->x[0]);
}

static void form_batchnorm(struct draw *d) {
    image(d, (int)draw_int(d, 1, 3), draw_total(d));
    for (int i = 0; i < 3; i++) draw_operand(d, d->dt, 1, &d->x[0].dim[1], POSITIVE)->grad &= i == 2;
    d->work = operand_count(&d->x[0]);
}

static void form_channel_axes(struct draw *d) {
    image(d, 2, draw_total(d));
    memcpy(d->p, (int64_t[]){3, 0, 2, 3}, 4 * sizeof *d->p);
    d->np = 4;
    d->work = operand_count(&d->x[0]);
}

/* ---- indexing ---- */

static struct operand *indices(struct draw *d, int rank, const int64_t *dim, int64_t bound) {
    struct operand *i = draw_operand(d, RG_I64, rank, dim, INDEX);
    i->bound = bound;
    return i;
}

static void form_gather(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d) / 2);
    int64_t axis = draw_int(d, 0, x->rank - 1), dim[RANK_MOST];
    memcpy(dim, x->dim, sizeof dim);
    double rest = operand_count(x) / (double)dim[axis];
    dim[axis] = draw_size(d, 1, RG_MAX(1, RG_MIN(4 * operand_count(x), d->cap) / rest));
    struct operand *i = indices(d, x->rank, dim, x->dim[axis]);
    d->p[0] = axis, d->np = 1;
    x->elements = RG_MIN(operand_count(x), operand_count(i));
    d->work = x->picks = operand_count(i);
}

static void form_take(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d) / 2);
    int64_t axis = draw_int(d, 0, x->rank - 1);
    double rest = operand_count(x) / (double)x->dim[axis];
    int64_t n = draw_size(d, 1, RG_MAX(1, RG_MIN(2 * operand_count(x), d->cap) / rest));
    indices(d, 1, &n, x->dim[axis]);
    d->p[0] = axis, d->np = 1;
    d->work = (double)n * rest;
    x->elements = RG_MIN(operand_count(x), d->work);
    x->picks = (double)n;
    for (int k = 0; k < axis; k++) x->picks *= (double)x->dim[k];
}

static void form_embedding(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 2, draw_total(d));
    int64_t dim[2] = {draw_size(d, 1, 16), 0};
    dim[1] = draw_size(d, 1, RG_MAX(1, RG_MIN(4096, d->cap / (double)(dim[0] * x->dim[1]))));
    indices(d, 2, dim, x->dim[0]);
    x->picks = (double)(dim[0] * dim[1]);
    d->work = x->picks * (double)x->dim[1];
    x->elements = RG_MIN(operand_count(x), d->work);
}

static void form_scatter(struct draw *d) {
    form_gather(d);
    d->x[0].elements = d->x[0].picks = 0;
    same(d, &d->x[1], d->dt, ANY);
}

/* Many elements to few bins. */
static void form_histogram(struct draw *d) {
    int64_t bins = draw_size(d, 1, RG_MIN(4096, d->cap)), n = draw_size(d, 1, draw_total(d));
    draw_operand(d, d->dt, 1, &bins, ANY);
    indices(d, 1, &n, bins);
    draw_operand(d, d->dt, 1, &n, UNIT);
    d->work = (double)n;
}

static void form_one_hot(struct draw *d) {
    double total = draw_total(d);
    int64_t n = draw_size(d, 1, sqrt(total));
    d->p[0] = draw_size(d, 1, RG_MAX(1, total / (double)n)), d->np = 1;
    indices(d, 1, &n, d->p[0]);
    d->work = d->out = (double)n * (double)d->p[0];
}

static void form_select(struct draw *d) {
    form_one(d);
    same(d, &d->x[0], RG_BOOL, TRUTH);
    d->p[0] = (int64_t)RG_MAX(1, d->work / 2), d->np = 1;
}

static void form_nonzero(struct draw *d) {
    form_one(d);
    d->p[0] = (int64_t)RG_MAX(1, d->work / 2), d->np = 1;
}

/* ---- movement ---- */

static void form_matrix(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 4, draw_total(d));
    d->work = operand_count(x);
}

static void form_vector(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 1, sqrt(draw_total(d)));
    d->work = d->out = operand_count(x) * operand_count(x);
}

static void form_square(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 3, draw_total(d));
    d->work = x->elements = operand_count(x) / (double)RG_MAX(x->dim[0], x->dim[1]);
}

static void form_permute(struct draw *d) {
    form_matrix(d);
    d->np = d->x[0].rank;
    for (int i = 0; i < d->np; i++) d->p[i] = i;
    for (int i = d->np - 1; i > 0; i--) {
        int64_t k = draw_int(d, 0, i), t = d->p[i];
        d->p[i] = d->p[k], d->p[k] = t;
    }
}

static void form_narrow(struct draw *d) {
    form_one(d);
    struct operand *x = &d->x[0];
    d->p[0] = draw_int(d, 0, x->rank - 1), d->np = 3;
    d->p[2] = draw_int(d, 1, x->dim[d->p[0]]);
    d->p[1] = draw_int(d, 0, x->dim[d->p[0]] - d->p[2]);
    d->work = x->elements = operand_count(x) / (double)x->dim[d->p[0]] * (double)d->p[2];
}

static void form_pad(struct draw *d) {
    form_one(d);
    d->np = 2 * d->x[0].rank;
    for (int i = 0; i < d->np; i++) d->p[i] = draw_int(d, 0, 2);
    d->p[0] += 1; /* never nothing at all */
}

static void form_pad_image(struct draw *d) {
    image(d, 2, draw_total(d));
    d->np = 8;
    for (int i = 4; i < 8; i++) d->p[i] = draw_int(d, 0, RG_MIN(3, d->x[0].dim[i / 2] - 1));
    d->work = operand_count(&d->x[0]);
}

static void form_cat(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d) / 3);
    d->p[0] = draw_int(d, 0, x->rank - 1), d->np = 1;
    double total = operand_count(x), rest = total / (double)x->dim[d->p[0]];
    for (int i = 0; i < 2; i++) {
        struct operand *y = same(d, x, d->dt, ANY);
        y->dim[d->p[0]] = draw_size(d, 1, RG_MAX(1, total / rest));
    }
    for (int i = 0; i < 3; i++) draw_layout(d, &d->x[i], false), d->work += operand_count(&d->x[i]);
}

static void form_repeat(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d) / 8);
    d->work = operand_count(x);
    d->np = x->rank;
    for (int i = 0; i < d->np; i++) d->work *= (double)(d->p[i] = draw_int(d, 1, 3));
    d->out = d->work;
}

static void form_times(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d) / 4);
    d->p[0] = draw_int(d, 0, x->rank - 1), d->p[1] = draw_int(d, 1, 5), d->np = 2;
    draw_layout(d, x, false);
    d->work = d->out = operand_count(x) * (double)d->p[1];
}

static void form_unfold(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d) / 4);
    d->p[0] = draw_int(d, 0, x->rank - 1), d->np = 3;
    d->p[1] = draw_int(d, 1, RG_MIN(7, x->dim[d->p[0]])), d->p[2] = draw_int(d, 1, 3);
    d->work = d->out = operand_count(x) * (double)d->p[1] / (double)d->p[2];
}

/* p is a shape; there are no operands. */
static void form_nothing(struct draw *d) {
    struct operand x = *draw_shape(d, d->dt, 1, 3, draw_total(d));
    d->n = 0, d->np = x.rank;
    memcpy(d->p, x.dim, sizeof x.dim);
    d->work = operand_count(&x);
}
static void form_nothing1(struct draw *d) {
    d->np = 1, d->p[0] = draw_size(d, 1, draw_total(d));
    d->work = (double)d->p[0];
}

/* ---- pooling, losses, chains ---- */

/* p: size, stride, padding of each axis, three each. */
static void pool(struct draw *d, int rank) {
    image(d, rank, draw_total(d));
    double taps = 1;
    for (int i = 0; i < rank; i++) {
        int64_t *dim = &d->x[0].dim[2 + i], k = draw_int(d, 1, 4);
        *dim = RG_MAX(*dim, k);
        d->p[i] = k, d->p[3 + i] = draw_int(d, 1, k), d->p[6 + i] = draw_int(d, 0, 2) ? 0 : k / 2;
        taps *= (double)k / (double)d->p[3 + i];
    }
    d->np = 9;
    d->work = operand_count(&d->x[0]) * taps;
}
static void form_pool1(struct draw *d) { pool(d, 1); }
static void form_pool2(struct draw *d) { pool(d, 2); }
static void form_pool3(struct draw *d) { pool(d, 3); }

static void form_resize(struct draw *d) {
    image(d, 2, draw_total(d) / 4);
    double out = (double)(d->x[0].dim[0] * d->x[0].dim[1]);
    for (int i = 0; i < 2; i++) {
        double side = (double)d->x[0].dim[2 + i];
        out *= (double)(d->p[i] = draw_size(d, RG_MAX(1, side / 4), 3 * side));
    }
    d->np = 2;
    d->out = out;
    d->work = RG_MAX(out, strstr(d->row->name, "adaptive") ? operand_count(&d->x[0]) : 0);
    if (!strcmp(d->row->name, "nearest")) d->x[0].elements = RG_MIN(out, operand_count(&d->x[0]));
}

static void form_classes(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 3, draw_total(d));
    int64_t dim[2] = {x->dim[0], x->rank > 2 ? x->dim[2] : 1};
    struct operand *i = indices(d, x->rank - 1, dim, x->dim[1]);
    d->work = operand_count(x);
    if (!strcmp(d->row->name, "nll_loss")) d->work = x->elements = x->picks = operand_count(i);
}

static void form_target(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 1, 3, draw_total(d));
    draw_layout(d, same(d, x, d->dt, PROBABILITY), false);
    d->x[1].grad = false;
    d->work = operand_count(x);
}

/* A function of both p and 1 - p. */
static void form_odds(struct draw *d) {
    form_target(d);
    d->calls = 2 * d->work;
}

static void form_mlp(struct draw *d) {
    int64_t s[3];
    matrices(d, RG_MIN(draw_total(d), 4194304), s);
    draw_operand(d, d->dt, 2, (int64_t[]){s[0], s[2]}, ANY);
    draw_operand(d, d->dt, 2, (int64_t[]){s[2], s[1]}, UNIT);
    draw_operand(d, d->dt, 2, (int64_t[]){s[1], s[2]}, UNIT);
    d->work = 2 * (double)s[0] * (double)s[1] * (double)s[2];
    d->out = d->calls = (double)s[0] * (double)s[1];
    d->back = 2;
}

static void form_norm_linear(struct draw *d) {
    int64_t s[3];
    matrices(d, RG_MIN(draw_total(d), 4194304), s);
    draw_operand(d, d->dt, 2, (int64_t[]){s[0], s[2]}, ANY);
    draw_operand(d, d->dt, 2, (int64_t[]){s[1], s[2]}, UNIT);
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, 1, &s[2], ANY);
    d->work = (double)s[0] * (double)s[1] * (double)s[2];
    d->out = (double)s[0] * (double)s[1];
    d->back = 2;
}

static void form_residual(struct draw *d) {
    struct operand *x = draw_shape(d, d->dt, 2, 3, draw_total(d));
    same(d, x, d->dt, ANY);
    for (int i = 0; i < 2; i++) draw_operand(d, d->dt, 1, &x->dim[x->rank - 1], ANY);
    d->work = operand_count(x);
}

static void form_steps(struct draw *d) {
    form_two(d);
    d->p[0] = draw_int(d, 5, 30), d->np = 1;
    d->work *= (double)d->p[0] / 10;
}

static void form_distances(struct draw *d) {
    int64_t s[3];
    matrices(d, RG_MIN(draw_total(d), 262144), s);
    s[2] = RG_MIN(s[2], 128);
    draw_operand(d, d->dt, 2, (int64_t[]){s[0], s[2]}, ANY);
    draw_operand(d, d->dt, 2, (int64_t[]){s[1], s[2]}, ANY);
    d->work = (double)s[0] * (double)s[1] * (double)s[2];
    d->out = (double)s[0] * (double)s[1];
    d->back = 2;
}

/* ---- the table ---- */

#define FLOATS (1u << RG_F16 | 1u << RG_BF16 | 1u << RG_F32 | 1u << RG_F64)
#define REALS (1u << RG_F32 | 1u << RG_F64)
#define INTS (1u << RG_I8 | 1u << RG_I16 | 1u << RG_I32 | 1u << RG_I64 | 1u << RG_U8)
#define INDICES (1u << RG_I64)
#define NUMBERS (FLOATS | INTS)
#define PRODUCTS (FLOATS | 1u << RG_I8 | 1u << RG_I32)
#define ALL (NUMBERS | 1u << RG_BOOL)

#define AXES(p) RG_LIST(p + 1, (size_t)p[0])
#define CONV(p, rank)                                                           \
    .stride = RG_LIST(p + P_STRIDE, rank), .padding = RG_LIST(p + P_PAD, rank), \
    .dilation = RG_LIST(p + P_DILATION, rank), .groups = p[P_GROUPS]
#define UNCONV(p, rank) CONV(p, rank), .output_padding = RG_LIST(p + P_OUT, rank)
#define POOL(p, rank) RG_LIST(p, rank), .stride = RG_LIST(p + 3, rank), .padding = RG_LIST(p + 6, rank)

static rg_tensor every_second(rg_tensor x, int64_t axis) {
    rg_range part[RANK_MOST];
    for (int i = 0; i < RANK_MOST; i++) part[i] = i == axis ? RG_STEP(0, RG_END, 2) : RG_WHOLE;
    return rg_slice(x, RG_PARTS(part, (size_t)rg_rank(x)));
}

static rg_tensor expanded(rg_tensor x, int64_t times) {
    int64_t dim[RANK_MOST + 1] = {times, -1, -1, -1, -1, -1, -1};
    return rg_expand(rg_unsqueeze(x, 0), RG_LIST(dim, (size_t)rg_rank(x) + 1));
}

/* z = z*z + c, as long as |z| < 2 */
static rg_tensor recurrence(rg_tensor x, rg_tensor y, int64_t steps) {
    rg_tensor z = x;
    for (int64_t i = 0; i < steps; i++) z = rg_where(rg_lt(rg_abs(z), 2), rg_add(rg_mul(z, z), y), z);
    return z;
}

#define ROW(name_, family_, form_, types_, values_, ops_, functions_, grad_, torch_, ...)  \
    static rg_tensor build_##name_(rg_ctx *c, const struct draw *d, const rg_tensor *in) { \
        rg_tensor x = in[0], y = in[1], z = in[2], w = in[3];                              \
        const int64_t *p = d->p;                                                           \
        (void)c, (void)x, (void)y, (void)z, (void)w, (void)p;                              \
        return __VA_ARGS__;                                                                \
    }
#include "rows.def"
#undef ROW
#define ROW(name_, family_, form_, types_, values_, ops_, functions_, grad_, torch_, ...) \
    {#name_, family_, form_, types_, values_, ops_, functions_, grad_, torch_, build_##name_},
const struct row rows[] = {
#include "rows.def"
};
const size_t rows_count = RG_COUNT(rows);
