/* list.c: programs of a file instead of random ones, a line each, as draw_describe writes them:
 *
 *     conv2d+grad bf16 64x128x28x28 128x128x3x3 128 (2,1,1,0,1,1,0,1,1,0,0,0,0,1)
 *
 * Types and values of the operands are those that the row draws; sizes, transposed operands (T) and parameters are the line's.
 * Their floor counts bytes alone, and REF is not asked. */
#include "sweep.h"

#include <ctype.h>
#include <stdlib.h>

enum { LINES_MOST = 4096, FORM_TRIES = 64 };
static char *lines[LINES_MOST];

static const struct row *row_of(const char *name) {
    for (size_t i = 0; i < rows_count; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

static rg_dtype type_of(const char *name) {
    int t = 0;
    while (t < RG_DTYPES && strcmp(rg_dtype_name((rg_dtype)t), name) != 0) t++;
    return (rg_dtype)t;
}

/* 64x128x28x28, of a transposed operand 28x64T, of one that is sliced along its first axis 28x64s0: as draw_describe() says it. */
static bool parse_layout(const char *text, struct operand *x) {
    size_t n = 0;
    x->layout = PLAIN, x->axis = RG_MAX(x->rank - 2, 0);
    for (int i = TRANSPOSED; i < LAYOUTS; i++)
        if (!strncmp(text, layout_mark[i], strlen(layout_mark[i])))
            x->layout = (enum layout)i, n = strlen(layout_mark[i]);
    if (!text[n]) return x->layout == PLAIN || x->layout == TRANSPOSED;
    x->axis = text[n] - '0';
    return x->layout && x->axis >= 0 && x->axis < x->rank && !text[n + 1];
}

static bool parse_operand(const char *text, struct operand *x) {
    char *end = (char *)text;
    x->rank = 0;
    if (!strcmp(text, "()")) return parse_layout("", x);
    do {
        if (x->rank == RANK_MOST) return false;
        x->dim[x->rank++] = strtoll(text, &end, 10);
        if (end == text) return false;
        text = end + 1;
    } while (*end == 'x');
    return parse_layout(end, x);
}

/* False: no numbers, or too many of them. */
static bool parse_params(char *text, struct draw *d) {
    char *end = text;
    d->np = 0;
    for (char *at = strtok(text, "(,)"); at; at = strtok(NULL, "(,)")) {
        if (d->np == PARAMS_MOST) return false;
        d->p[d->np++] = strtoll(at, &end, 10);
        if (end == at || *end) return false;
    }
    return true;
}

/* Is this a number of parameters that the row's form draws? Of some forms it depends on ranks. */
static bool params_fit(const struct draw *d) {
    for (int i = 0; i < FORM_TRIES; i++) {
        struct draw other = {.state = (uint64_t)i * 7919, .cap = 4096, .back = 1, .row = d->row, .dt = d->dt};
        d->row->form(&other);
        if (other.np == d->np) return true;
    }
    return false;
}

static bool parse_line(char *text, struct draw *d) {
    char *part = strrchr(text, '('), *word;
    if (part && part[1] == ')') part = NULL; /* an operand without axes */
    if (part) part[-1] = 0;
    word = strtok(text, " ");
    char *plus = word ? strchr(word, '+') : NULL;
    int n = 0;
    if (plus) *plus = 0, d->grad = true;
    d->row = word ? row_of(word) : NULL;
    d->dt = (word = strtok(NULL, " ")) ? type_of(word) : RG_DTYPES;
    if (!d->row || d->dt == RG_DTYPES) return false;
    d->row->form(d);
    while ((word = strtok(NULL, " ")))
        if (n == OPERANDS_MOST || !parse_operand(word, &d->x[n++])) return false;
    d->work = 0, d->np = 0;
    if (part && !parse_params(part, d)) return false;
    return n == d->n && params_fit(d);
}

void list_draw(struct draw *d, int index) {
    char text[TEXT_MOST];
    snprintf(text, sizeof text, "%s", lines[index]);
    *d = (struct draw){.state = 1, .cap = 4096, .back = 1};
    if (parse_line(text, d)) return;
    fprintf(stderr,
            "sweep: expected NAME[+grad] DTYPE SIZES.. (PARAMETERS), as many as the row's form has, found "
            "\"%s\"\n",
            lines[index]);
    exit(2);
}

int list_read(const char *path) {
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    int n = 0;
    if (!f) return perror(path), 0;
    while (n < LINES_MOST && getline(&text, &room, f) > 0) {
        text[strcspn(text, "#\n")] = 0;
        if (text[strspn(text, " ")] && !(lines[n++] = strdup(text))) n--;
    }
    free(text);
    fclose(f);
    for (int i = 0; i < n; i++) { /* all of them, before anything is timed */
        struct draw d;
        list_draw(&d, i);
    }
    return n;
}
