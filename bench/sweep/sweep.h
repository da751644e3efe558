/* sweep.h: the parts of bench/sweep, which draws programs at random and holds each to its floor.
 *
 * rows.def: the operations. draw.c: shapes, types and layouts of a draw. list.c: programs of a file. forms.c: what the operands of each kind of
 * operation look like. views.c: strange layouts. work.c: one draw on the device: check, time. floor.c: the least time it could take. main.c:
 * options, child processes. report.c: tables, JSON, the peer. docs/performance.md says how to read it. */
#ifndef SWEEP_H
#define SWEEP_H

#include "base/base.h"
#include "model/model.h"

#include <ridge.h>

enum { RANK_MOST = 6, OPERANDS_MOST = 6, PARAMS_MOST = 20, TEXT_MOST = 320 };

/* Functions that cost more than an operation; their rates are measured. */
#define FUNCTIONS(X) \
    X(EXP)           \
    X(LOG)           \
    X(SIN) X(TAN) X(TANH) X(ERF) X(POW) X(SQRT) X(DIV) X(ATAN) X(ASIN) X(SINH) X(ATANH) X(MOD) X(RANDOM)
enum function {
#define X(name) FN_##name,
    FUNCTIONS(X) FN_COUNT
#undef X
};
#define BIT(name) (1u << FN_##name)

enum layout { PLAIN, TRANSPOSED, SLICED, STEPPED, BROADCAST, LAYOUTS };
extern const char *const layout_mark[]; /* in the text of an operand, before the number of its axis */
enum values { ANY, POSITIVE, UNIT, ABOVE_ONE, NEAR_ONE, PROBABILITY, TRUTH, INDEX };

struct operand {
    rg_dtype dt;
    int rank;
    int64_t dim[RANK_MOST];
    enum layout layout;
    int axis; /* SLICED, STEPPED, BROADCAST: which; TRANSPOSED: swapped with the last */
    enum values values;
    int64_t bound;   /* INDEX: below it */
    double elements; /* that the program reads, if not all */
    double picks;    /* pieces that an index names */
    bool grad;
    uint64_t views; /* --views: of the random numbers that say how it lies in memory; 0: as `layout` says */
};

struct draw {
    uint64_t state; /* of the random numbers */
    double cap;     /* elements of an operand, at most */
    const struct row *row;
    rg_dtype dt;
    bool grad;
    int n, np;
    struct operand x[OPERANDS_MOST];
    int64_t p[PARAMS_MOST];
    double work;  /* units that the row's ops count */
    double calls; /* of each of the row's functions, if they are not one per unit of work */
    double out;   /* elements of the largest value that is asked for, where it is no operand's size */
    double back;  /* work of the gradient by work of the forward program */
    bool views;
    uint64_t after; /* --views: of the random numbers that say what is done with the result */
};

struct row {
    const char *name, *family;
    void (*form)(struct draw *);
    uint32_t types;
    enum values values;
    double ops;         /* of a unit of work */
    uint32_t functions; /* of a unit of work, one each */
    int grad;           /* 1: there is one; 2: products, at the rate of MMA instructions; 3: both */
    const char *torch;
    rg_tensor (*build)(rg_ctx *c, const struct draw *d, const rg_tensor *in);
};
extern const struct row rows[];
extern const size_t rows_count;
enum { GRADIENT = 1, PRODUCT = 2 };

/* What the machine can do, measured in the same run by a child; shared by all of them. */
struct rates {
    struct model model;
    bool gpu;
    double launch;                /* seconds of a program of one element */
    double function[FN_COUNT][2]; /* per second, of f32 and f64; 0: not measured yet */
    int threads;
};

struct options {
    uint64_t seed;
    int n, only, top;
    const char *device, *family, *row, *json, *peer, *list, *work;
    double seconds;  /* for all draws; 0: as many as they take */
    double most;     /* operations of a draw */
    double elements; /* of an operand */
    double limit;    /* seconds of the first run */
    bool cpu_time, least, eager, graphs, plans, check, views, verbose;
    double patience; /* seconds that a draw may take in all */
    int jobs;  /* processes that compile and check before anything is timed; 0: each draw is done at once */
    int peers; /* draws that the peer runs, at most */
};

enum part { WHOLE, PREPARE, TIME, PLAN, CHECK }; /* of a draw: PREPARE is the first run and the check */

enum outcome { FINE, WRONG, FAILED, CRASHED, HUNG, REFUSED };
struct result {
    int draw;
    enum outcome outcome;
    bool prepared; /* by one of --jobs */
    double seconds, floor, first, launches;
    double by_bytes, by_ops, by_functions; /* parts of the floor */
    double error;                          /* by the tolerance */
    double eager, compiled; /* the peer's seconds; 0: none. compiled: of a CUDA graph with --graphs */
    char text[TEXT_MOST];   /* what went wrong */
};

/* draw.c */
uint64_t draw_bits(struct draw *);
double draw_uniform(struct draw *, double lo, double hi);
int64_t draw_int(struct draw *, int64_t lo, int64_t hi); /* both included */
int64_t draw_size(struct draw *, double lo,
                  double hi);     /* log-uniform; primes, powers of two and their neighbours */
double draw_total(struct draw *); /* elements of an operand */
struct operand *draw_operand(struct draw *, rg_dtype, int rank, const int64_t *dim, enum values);
struct operand *draw_shape(struct draw *, rg_dtype, int least_rank, int most_rank, double total);
void draw_layout(struct draw *, struct operand *, bool may_broadcast);
void draw_make(struct draw *, const struct options *, int index, double most);
void draw_describe(const struct draw *, char *out, size_t room);
void draw_peer(struct str *, const struct draw *); /* as JSON */
double operand_count(const struct operand *);
bool type_is_float(rg_dtype);

/* views.c */
void views_ones(struct draw *, int rank, int64_t *dim);
void views_draw(struct draw *);
int views_shape(const struct operand *, int64_t *dim, bool *negative); /* of what is stored: its rank */
rg_tensor views_of(const struct operand *, rg_tensor base);
rg_tensor views_after(const struct draw *, rg_tensor result);

/* list.c */
int list_read(const char *path); /* programs of the file */
void list_draw(struct draw *, int index);

/* work.c */
void work_draw(rg_ctx *device, rg_ctx *ref, const struct options *, struct rates *, int index, enum part,
               struct result *);
double work_time(rg_ctx *, rg_jit *, const struct options *, double *launches);

/* floor.c */
int floor_measure(rg_ctx *, const struct options *, struct rates *, struct err *);
void floor_functions(rg_ctx *, const struct options *, struct rates *, const struct draw *);
void floor_of(const struct rates *, const struct draw *, double out_bytes, struct result *);

/* report.c */
void report(const struct options *, const struct rates *, const struct result *, int n);
int report_json(const struct options *, const struct rates *, const struct result *, int n);
struct peer;
struct peer *peer_start(const struct options *);
void peer_ask(struct peer *, const struct draw *, uint64_t stop, struct result *); /* stop: or 0 */
void peer_end(struct peer *);

#endif
