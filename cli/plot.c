/* plot.c: lines in a frame with ticks and names, as SVG text that any browser shows.
 *
 * An axis is linear from 0 or logarithmic between powers of ten (of two where it spans less than two of them); ticks are round
 * numbers. Nothing is loaded from elsewhere. Tests: tests/cli/explore.sh */
#include "plot.h"

#include <math.h>

enum { W = 720, H = 440, LEFT = 78, RIGHT = 24, TOP = 44, BOTTOM = 56 };

struct axis {
    double lo, hi;
    bool log;
    int from, size; /* pixels; negative size: upwards */
};

static double at(const struct axis *a, double v) {
    double t = a->log ? log(v / a->lo) / log(a->hi / a->lo) : (v - a->lo) / (a->hi - a->lo);
    return a->from + t * a->size;
}

static void fit(struct axis *a, const struct plot *p, bool y) {
    double lo = INFINITY, hi = -INFINITY;
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->line[i].n; k++) {
            double v = (y ? p->line[i].y : p->line[i].x)[k];
            lo = RG_MIN(lo, v), hi = RG_MAX(hi, v);
        }
    if (!(hi >= lo)) lo = 0, hi = 1;
    if (a->log) {
        a->lo = lo / 1.2, a->hi = hi * 1.2;
        return;
    }
    double pad = (hi - lo) * 0.05 + (hi == lo);
    a->lo = y ? 0 : lo - pad, a->hi = hi + pad;
}

/* The ticks of an axis: 1, 2, 5 times powers of ten; of a long logarithmic one the powers alone. */
static uint32_t ticks(const struct axis *a, double *out, uint32_t room) {
    uint32_t n = 0;
    if (a->log) {
        bool few = log10(a->hi / a->lo) > 4;
        for (int e = (int)floor(log10(a->lo)); e <= (int)ceil(log10(a->hi)); e++)
            for (int m = 1; m <= (few ? 1 : 5); m += m == 1 ? 1 : 3) {
                double v = m * pow(10, e);
                if (v >= a->lo && v <= a->hi && n < room) out[n++] = v;
            }
        return n;
    }
    double step = pow(10, floor(log10((a->hi - a->lo) / 2)));
    while ((a->hi - a->lo) / step > 8) step *= (a->hi - a->lo) / step > 20 ? 5 : 2;
    for (double v = ceil(a->lo / step) * step; v <= a->hi && n < room; v += step) out[n++] = v;
    return n;
}

static void text(struct str *s, const char *t) {
    for (; *t; t++)
        if (*t == '<')
            str_add(s, "&lt;");
        else if (*t == '&')
            str_add(s, "&amp;");
        else
            str_addc(s, *t);
}

static void label(struct str *s, double x, double y, const char *anchor, const char *more, const char *t) {
    str_printf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
    text(s, t);
    str_add(s, "</text>\n");
}

static void draw_axes(struct str *s, const struct plot *p, const struct axis *x, const struct axis *y) {
    double v[40];
    char t[32];
    uint32_t n = ticks(x, v, RG_COUNT(v));
    for (uint32_t i = 0; i < n; i++) {
        str_printf(s, "<path d=\"M%.1f %dV%d\" class=\"grid\"/>\n", at(x, v[i]), H - BOTTOM, TOP);
        snprintf(t, sizeof t, "%.6g", v[i]);
        label(s, at(x, v[i]), H - BOTTOM + 18, "middle", "", t);
    }
    n = ticks(y, v, RG_COUNT(v));
    for (uint32_t i = 0; i < n; i++) {
        str_printf(s, "<path d=\"M%d %.1fH%d\" class=\"grid\"/>\n", LEFT, at(y, v[i]), W - RIGHT);
        snprintf(t, sizeof t, "%.6g", v[i]);
        label(s, LEFT - 8, at(y, v[i]) + 4, "end", "", t);
    }
    label(s, (LEFT + W - RIGHT) / 2.0, H - 14, "middle", "", p->x);
    snprintf(t, sizeof t, " transform=\"rotate(-90 16 %d)\"", H / 2);
    label(s, 16, H / 2.0, "middle", t, p->y);
    label(s, LEFT, 24, "start", " class=\"title\"", p->title);
}

static void draw_line(struct str *s, const struct plot_line *l, uint32_t no, const struct axis *x,
                      const struct axis *y) {
    static const char *const colour[] = {"#1769aa", "#b23c17", "#4b8b3b", "#7b4fa3"};
    const char *c = colour[no % RG_COUNT(colour)];
    str_add(s, "<path fill=\"none\" d=\"");
    for (uint32_t i = 0; i < l->n; i++)
        str_printf(s, "%s%.1f %.1f", i ? "L" : "M", at(x, l->x[i]), at(y, l->y[i]));
    str_printf(s, "\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n", c, l->roof ? "1" : "2",
               l->roof ? " stroke-dasharray=\"5 4\"" : "");
    for (uint32_t i = 0; i < l->n && !l->roof; i++)
        str_printf(s,
                   "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%.6g, %.6g</title></circle>\n",
                   at(x, l->x[i]), at(y, l->y[i]), c, l->x[i], l->y[i]);
    str_printf(s, "<path d=\"M%d %dh24\" stroke=\"%s\" stroke-width=\"2\"/>\n", W - 250,
               TOP + 14 + 18 * (int)no, c);
    label(s, W - 220, TOP + 18 + 18 * (int)no, "start", "", l->name);
}

void plot_svg(struct str *s, const struct plot *p) {
    struct axis x = {.log = p->log_x, .from = LEFT, .size = W - RIGHT - LEFT},
                y = {.log = p->log_y, .from = H - BOTTOM, .size = TOP - (H - BOTTOM)};
    fit(&x, p, false), fit(&y, p, true);
    str_printf(s,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
               "font-size=\"12\">\n"
               "<style>.grid{stroke:#ddd;fill:none}.title{font-size:15px;font-weight:bold}</style>\n"
               "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
               W, H, W, H);
    draw_axes(s, p, &x, &y);
    for (uint32_t i = 0; i < p->n; i++) draw_line(s, &p->line[i], i, &x, &y);
    str_add(s, "</svg>\n");
}
