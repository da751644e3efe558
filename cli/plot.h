/* plot.h: a plot with two axes as an SVG file. Tests: tests/cli/explore.sh */
#ifndef RIDGE_PLOT_H
#define RIDGE_PLOT_H

#include "base/base.h"

struct plot_line {
    const char *name;
    const double *x, *y;
    uint32_t n;
    bool roof; /* a limit: drawn thin, without points */
};
struct plot {
    const char *title, *x, *y; /* what the axes are */
    bool log_x, log_y;         /* then all values must be above 0 */
    struct plot_line line[4];
    uint32_t n;
};
void plot_svg(struct str *, const struct plot *);

#endif
