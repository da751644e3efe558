/* cli.h: what the files of the `ridge` command share: options, and the data a kernel is run on.
 * Tests: tests/cli/, and tests/unit/golden.c for fill.c */
#ifndef RIDGE_CLI_H
#define RIDGE_CLI_H

#include "ir/ir.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOT_RUN = 127 };

/* ---- ridge.c: commands. Each file cli/cmd_NAME.c defines one; those that exist are in the table. -- */

int cmd_opt(int argc, char **argv); /* argv[0] is the command's name */
int cmd_rules(int argc, char **argv);
int cmd_shape(int argc, char **argv);
int cmd_diagnose(int argc, char **argv);
int cmd_ceilings(int argc, char **argv);
int ceilings_world(struct err *); /* --world */
int cmd_profile(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_kernels(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_explore(int argc, char **argv);
int cmd_estimate(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* child.c: runs a program in a process of its own; prepare(arg), if not NULL, is called there before it starts. Its exit
 * status (128 + the signal that killed it); EXIT_NOT_RUN after a message if it could not be started: *ran is false. */
int cli_run(const char *command, char **argv, void (*prepare)(void *), void *arg, bool *ran);
/* cmd_profile.c: cli_run of a program that records a profile to `path`. Says so if nothing was recorded. */
int cli_record(const char *command, const char *path, char **argv, bool *recorded);

/* ---- args.c: options ----------------------------------------------------------------------------- */

#define NOT_GIVEN \
    INT64_MIN /* what a number holds that no option has set, where any number may be asked for */
enum arg_kind { ARG_FLAG, ARG_TEXT, ARG_NUMBER }; /* at: bool *, const char **, int64_t * */
struct arg_spec {
    const char *name; /* without the dashes */
    enum arg_kind kind;
    void *at;
    const char *value; /* what the value is called in --help, NULL for flags */
    const char *help;
};
struct args {
    const char *command;  /* "opt" */
    const char *operands; /* as in the usage line: "FILE.uop", "" for none */
    const char *about;    /* a paragraph for --help */
    const struct arg_spec *spec;
    uint32_t nspec;
    int min_operands, max_operands;
    const char *operand[64];
    int n;
    const char *more; /* printed at the end of --help; may be NULL */
};
/* Returns -1 to go on, else the exit status: 0 after --help, 2 after a message about wrong usage.
 * Options may be written --name VALUE or --name=VALUE, before or after operands; `--` ends them. */
int args_parse(struct args *, int argc, char **argv);
/* The same of `[options] -- PROGRAM ARGS`. */
int args_program(struct args *, int argc, char **argv, char ***program);
/* Prints "ridge opt: message; see `ridge opt --help`" to stderr and returns EXIT_USAGE. */
int RG_FMT(2, 3) args_wrong(const struct args *, const char *fmt, ...);
/* -1 if the number given with an option is one of least .. most, else as args_wrong. INT64_MAX: no upper limit. */
int args_range(const struct args *, const char *name, int64_t x, int64_t least, int64_t most);
/* Prints "ridge opt: message" to stderr and returns EXIT_FAILED. */
int cli_error(const char *command, const struct err *);

/* kernel_steps.c: JSON of what each pass made of the dearest kernels of a Ridge profile: struct page_more's `steps`. */
struct diag;
void kernel_steps(struct str *, struct diag *);

/* ---- quiet.c ----------------------------------------------------------------------------------------- */

#define CLI_BUSY 0.1 /* share of a busy loop that others may take */
struct cli_quiet {
    double lost, spread, load; /* share that others took; median by least, less one; load average */
};
struct cli_quiet cli_quiet(void);
bool cli_say_busy(void); /* a line, if others use the machine */

/* ---- fill.c: buffers and numbers for the kernels of a .uop file ----------------------------------- */

struct io_buf {
    const char *name; /* of the PARAM; "p[2]" for the third of a PARAMS */
    enum dtype dt;
    int64_t n;                    /* elements */
    bool input;                   /* some kernel reads it before any writes it */
    bool output;                  /* some kernel writes it */
    const struct data_decl *decl; /* NULL: the default */
    uint32_t index;               /* of a PARAMS: which */
};
struct io_kernel {
    uint32_t *buf; /* by slot: number in io.buf, or UINT32_MAX */
    uint32_t nbuf;
    int64_t *var; /* by slot */
    uint32_t nvar;
};
struct io {
    struct io_buf *buf;
    uint32_t nbuf;
    struct io_kernel *kernel; /* as many as the program has */
    uint32_t nkernel;
};
/* One memory for all buffers, each aligned to 64 bytes and with a red zone on both sides. */
struct io_mem {
    unsigned char *block;
    size_t bytes;
    void **p; /* by buffer; lives in the arena */
};

/* Reads the kernels of a .uop file. Throws, also if there are none. */
void io_read(struct ir *, const char *file, struct program *);
/* Finds the buffers of a program and how they are filled. Throws RG_EINVAL with file:line. */
void io_bind(struct ir *, const struct program *, const char *file, struct io *);
void io_alloc(struct ir *, const struct io *, struct io_mem *); /* throws when out of memory */
void io_free(struct io_mem *);
/* Fills every buffer and paints the red zones. exact: floats are integers from -4 to 4, so that sums
 * and products of few of them have no rounding. */
void io_fill(const struct io *, struct io_mem *, bool exact);
void io_copy(struct io_mem *to, const struct io_mem *from);
/* NULL, or the buffer beside which memory was overwritten. */
const char *io_red_zone(const struct io *, const struct io_mem *);
size_t io_bytes(const struct io_buf *);
/* How far a value may be off that another schedule of the kernel computed, in parts of |value| plus the
 * buffer's scale: from the coarsest type the kernel computes in and the length of its longest reduction. */
double io_tolerance(struct arena *, const uop *sink);
/* The root of the mean square of the finite values (of those marked; mark may be NULL): what "small" means
 * in this buffer, so that a row of tiny probabilities is held to more than a row of large sums. */
double io_scale(const struct io_buf *, const void *p, const unsigned char *mark);
/* The tolerance for a buffer of this type: storing rounds once more; integers must be equal. */
double io_tolerance_of(double tolerance, enum dtype);

#endif
