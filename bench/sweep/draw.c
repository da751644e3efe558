/* draw.c: random shapes, types and layouts. A draw is a function of the seed, its number and the cap on sizes alone:
 * with a smaller cap it is a smaller problem of the same kind, which REF can check. */
#include "sweep.h"

#include <math.h>

uint64_t draw_bits(struct draw *d) { /* splitmix64 */
    uint64_t z = d->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double draw_uniform(struct draw *d, double lo, double hi) {
    return lo + (hi - lo) * (double)(draw_bits(d) >> 11) * 0x1p-53;
}

int64_t draw_int(struct draw *d, int64_t lo, int64_t hi) {
    return lo + (int64_t)(draw_bits(d) % (uint64_t)(hi - lo + 1));
}

static int64_t next_prime(int64_t n) {
    for (n = RG_MAX(n, 2);; n++) {
        bool prime = true;
        for (int64_t f = 2; f * f <= n && prime; f++) prime = n % f != 0;
        if (prime) return n;
    }
}

int64_t draw_size(struct draw *d, double lo, double hi) {
    double v = exp(draw_uniform(d, log(RG_MAX(lo, 1)), log(RG_MAX(hi, RG_MAX(lo, 1)))));
    int64_t n = (int64_t)llround(v), two = (int64_t)1 << (int)lround(log2(RG_MAX(v, 1)));
    switch (draw_int(d, 0, 5)) {
    case 0: n = two; break;
    case 1: n = two + 1; break;
    case 2: n = two - 1; break;
    case 3: n = next_prime(n); break;
    default: break;
    }
    return RG_MAX((int64_t)lo, RG_MAX(1, RG_MIN(n, (int64_t)RG_MAX(hi, 1))));
}

/* A fifth is tiny, some fit in caches, nearly half are large. */
double draw_total(struct draw *d) {
    static const double edge[4] = {1, 4096, 524288, 0};
    double u = draw_uniform(d, 0, 1), at = draw_uniform(d, 0, 1);
    int k = u < 0.2 ? 0 : u < 0.55 ? 1 : 2;
    double hi = k < 2 ? edge[k + 1] : 67108864;
    return RG_MIN(d->cap, edge[k] * pow(hi / edge[k], at));
}

double operand_count(const struct operand *x) {
    double n = 1;
    for (int i = 0; i < x->rank; i++) n *= (double)x->dim[i];
    return n;
}

bool type_is_float(rg_dtype t) { return t == RG_F16 || t == RG_BF16 || t == RG_F32 || t == RG_F64; }

struct operand *draw_operand(struct draw *d, rg_dtype dt, int rank, const int64_t *dim, enum values values) {
    struct operand *x = &d->x[d->n++];
    *x = (struct operand){.dt = dt, .rank = rank, .values = values};
    for (int i = 0; i < rank; i++) x->dim[i] = dim[i];
    x->grad = d->grad && type_is_float(dt) && values != INDEX && values != TRUTH;
    return x;
}

void draw_layout(struct draw *d, struct operand *x, bool may_broadcast) {
    int64_t u = draw_int(d, 0, 99), axis = draw_int(d, 0, RG_MAX(x->rank - 1, 0));
    if (u < 60 || x->rank == 0) return;
    x->axis = (int)axis;
    x->layout = u < 75 ? TRANSPOSED : u < 85 ? SLICED : u < 90 ? STEPPED : BROADCAST;
    if (x->layout == TRANSPOSED && x->axis == x->rank - 1) x->axis = 0;
    if ((x->layout == TRANSPOSED && x->rank < 2) || (x->layout == BROADCAST && !may_broadcast))
        x->layout = PLAIN;
}

/* The exponents of the sizes are uneven: skinny, tall and long shapes are as likely as square ones. */
struct operand *draw_shape(struct draw *d, rg_dtype dt, int least, int most, double total) {
    int rank = (int)draw_int(d, least, most);
    double part[RANK_MOST], all = 0, left = total;
    int64_t dim[RANK_MOST];
    for (int i = 0; i < rank; i++) all += part[i] = pow(draw_uniform(d, 0.02, 1), 2);
    for (int i = 0; i < rank; i++) {
        double want = i == rank - 1 ? left : RG_MIN(left, pow(total, part[i] / all));
        dim[i] = draw_size(d, want * 0.8, want);
        left = RG_MAX(1, left / (double)dim[i]);
    }
    views_ones(d, rank, dim);
    return draw_operand(d, dt, rank, dim, d->row->values);
}

static rg_dtype draw_type(struct draw *d, uint32_t types) {
    rg_dtype pick[2 * RG_DTYPES];
    int n = 0;
    for (int t = 0; t < RG_DTYPES; t++)
        for (int k = 0; k < (t == RG_F32 ? 4 : t == RG_BF16 ? 2 : 1); k++)
            if (types >> t & 1) pick[n++] = (rg_dtype)t;
    return pick[draw_int(d, 0, n - 1)];
}

static const struct row *draw_row(struct draw *d, const struct options *o) {
    const struct row *pick[512];
    const char *families[64];
    int n = 0, nf = 0;
    for (size_t i = 0; i < rows_count; i++) {
        bool known = false;
        if (o->row ? strcmp(o->row, rows[i].name) != 0 : o->family && !strstr(o->family, rows[i].family))
            continue;
        for (int k = 0; k < nf; k++) known |= !strcmp(families[k], rows[i].family);
        if (!known) families[nf++] = rows[i].family;
    }
    if (!nf) return NULL;
    const char *family = families[draw_int(d, 0, nf - 1)]; /* families are equally likely */
    for (size_t i = 0; i < rows_count; i++)
        if (!strcmp(rows[i].family, family) && (!o->row || !strcmp(o->row, rows[i].name)))
            pick[n++] = &rows[i];
    return pick[draw_int(d, 0, n - 1)];
}

static double bytes_most(const struct draw *d) {
    double most = d->out * (double)rg_dtype_size(d->dt);
    for (int i = 0; i < d->n; i++)
        most = RG_MAX(most, operand_count(&d->x[i]) * (double)rg_dtype_size(d->x[i].dt));
    return most;
}

/* most: operations. The cap goes down until the draw keeps to it, and to the limit on memory. */
void draw_make(struct draw *d, const struct options *o, int index, double most) {
    double cap = RG_MIN(o->elements, most);
    if (o->list) {
        list_draw(d, index);
        return;
    }
    for (;;) {
        *d = (struct draw){.state = o->seed * 0x2545f4914f6cdd1du + (uint64_t)index,
                           .cap = cap,
                           .back = 1,
                           .views = o->views};
        draw_bits(d);
        d->row = draw_row(d, o);
        if (!d->row) return;
        d->dt = draw_type(d, d->row->types);
        d->grad = draw_int(d, 0, 2) == 0 && d->row->grad & GRADIENT && type_is_float(d->dt);
        d->row->form(d);
        views_draw(d);
        double ops = d->work * RG_MAX(d->row->ops, 1) * (d->grad ? 1 + d->back : 1);
        if ((ops <= most && bytes_most(d) <= 268435456) || cap < 8) return;
        cap /= 1.7;
    }
}

static void put(char *out, size_t room, size_t *at, const char *format, ...) {
    va_list l;
    va_start(l, format);
    int n = *at < room ? vsnprintf(out + *at, room - *at, format, l) : 0;
    va_end(l);
    *at += n > 0 ? (size_t)n : 0;
}

const char *const layout_mark[] = {"", "T", "s", "/2", "b"};

void draw_describe(const struct draw *d, char *out, size_t room) {
    size_t at = 0;
    put(out, room, &at, "%s%s %s", d->row->name, d->grad ? "+grad" : "", rg_dtype_name(d->dt));
    for (int i = 0; i < d->n; i++) {
        const struct operand *x = &d->x[i];
        put(out, room, &at, " ");
        for (int k = 0; k < x->rank; k++) put(out, room, &at, "%s%lld", k ? "x" : "", (long long)x->dim[k]);
        if (!x->rank) put(out, room, &at, "()");
        put(out, room, &at, "%s", x->views ? "~" : layout_mark[x->layout]);
        if (x->layout && (x->layout != TRANSPOSED || x->axis != x->rank - 2))
            put(out, room, &at, "%d", x->axis);
    }
    if (d->np) put(out, room, &at, " (");
    for (int i = 0; i < d->np; i++) put(out, room, &at, "%s%lld", i ? "," : "", (long long)d->p[i]);
    if (d->np) put(out, room, &at, ")");
}

void draw_peer(struct str *s, const struct draw *d) {
    str_printf(s, "{\"torch\": \"%s\", \"dtype\": \"%s\", \"grad\": %s, \"p\": [", d->row->torch,
               rg_dtype_name(d->dt), d->grad ? "true" : "false");
    for (int i = 0; i < d->np; i++) str_printf(s, "%s%lld", i ? ", " : "", (long long)d->p[i]);
    str_printf(s, "], \"x\": [");
    for (int i = 0; i < d->n; i++) {
        const struct operand *x = &d->x[i];
        str_printf(s, "%s{\"dtype\": \"%s\", \"values\": %d, \"bound\": %lld, \"layout\": %d, \"axis\": %d, ",
                   i ? ", " : "", rg_dtype_name(x->dt), x->values, (long long)x->bound, x->layout, x->axis);
        str_printf(s, "\"grad\": %s, \"dim\": [", x->grad ? "true" : "false");
        for (int k = 0; k < x->rank; k++) str_printf(s, "%s%lld", k ? ", " : "", (long long)x->dim[k]);
        str_printf(s, "]}");
    }
    str_printf(s, "]}\n");
}
