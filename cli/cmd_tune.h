/* cmd_tune.h: what the files of `ridge tune` share. */
#ifndef RIDGE_CMD_TUNE_H
#define RIDGE_CMD_TUNE_H

#include "cli.h"
#include "engine/engine.h"
#include "ref/ref.h"

struct tune_run {
    struct err *err;
    struct arena *arena;
    struct engine *engine;
    struct io_mem mem;
    const char *file, *only, *device, *shapes;
    int64_t beam, rows;
    bool show, json, model;
    char **program;
    int status;
};

static inline void must(struct tune_run *r, int code) {
    if (code) err_throw(r->err, code, "%s", r->err->msg);
}

extern const char *const tuned_word[]; /* of enum tuned_state, for people */
void tune_shapes(struct tune_run *);   /* tune_shapes.c */

#endif
