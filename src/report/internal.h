/* internal.h: what the screens of src/report share. */
#ifndef RIDGE_REPORT_INTERNAL_H
#define RIDGE_REPORT_INTERNAL_H

#include "report/report.h"

#define COLS 100 /* of a screen */

/* text.c: a line cut to the width of the screen; text over several lines with a hanging indent, at most `most`. */
void report_line(struct str *, const char *fmt, ...) RG_FMT(2, 3);
void report_wrapped(struct str *, const char *head, const char *text, int indent, int most);
/* Tenths of a percent that add up to 1000. */
void report_shares(const int64_t *v, int n, int64_t whole, int *out);
/* A long name loses its middle. */
void report_cut_middle(const char *s, char *out, size_t cap);

/* ridge.c */
void report_ridge(struct str *, const struct diag *, const char *path);
const char *ridge_budget_text(int budget);

#endif
