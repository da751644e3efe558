/* linear.h: what the files of the interpreter of linear programs share: linear.c, the list; threads.c, the
 * threads of a block; tma.c, TMA copies and mbarriers. */
#ifndef RIDGE_REF_LINEAR_H
#define RIDGE_REF_LINEAR_H

#include "ref/ref.h"

enum poison { FINE, IS_INVALID, NOT_WRITTEN, NOT_SET, NOT_FILLED };

struct elem {
    union ref_val v;
    union {
        struct {
            uint16_t bad; /* enum poison */
            uint16_t summed,
                operand; /* commit group of the wgmma that accumulates to it, or reads it; 0: none */
            uint16_t none;
        };
        uint64_t marks; /* all of that: 0 for a value that may be used */
    };
};

/* Slot of a source's value; a scalar serves every lane. */
struct slot {
    uint32_t at;
    uint8_t lanes, dt;
};

enum mem_kind { MEM_PARAM, MEM_PARAMS, MEM_LOCAL };
struct access {
    enum mem_kind kind;
    uint8_t dt, lanes;
    uint32_t no;       /* PARAM: slot; LOCAL: number in linear.local */
    struct slot which; /* PARAMS: its value is the buffer number */
    struct slot index;
};

/* What every entry needs comes first: threads walk over the whole list, one after the other. */
struct step {
    const uop *u;
    uint16_t op; /* of u, as are dt, lanes and nsrc */
    uint8_t dt, lanes, nsrc;
    bool pure;  /* computed lane by lane from the values of its sources */
    bool stops; /* the start of the threads, a barrier or a collective op: other threads come first */
    struct slot out;
    struct slot src[3];
    ref_fn *fn;        /* of a pure op, or NULL */
    uint32_t partner;  /* RANGE: its END; IF: its ELSE or END; ELSE: its END; END: its RANGE */
    uint32_t loop;     /* RANGE: its index in machine.loop */
    struct slot *many; /* BUILD, MMA: all sources; TMA_LOAD: coordinates */
    /* LOAD, PRED_LOAD, STORE, STORE_ADD, LDMATRIX, CP_ASYNC, TMA_LOAD: to where; MBAR: which */
    struct access mem;
    struct access from; /* CP_ASYNC; TMA_LOAD: its mbarrier */
};
struct loop { /* while it runs */
    int64_t count, size;
};

struct elem_owner { /* of one element of a global buffer; iterations are numbered from 1 here */
    int64_t writer; /* 0 none, -1 several by STORE_ADD */
    int64_t reader; /* 0 none, -1 several */
    bool plain;     /* written by STORE */
};

enum { OWNER_PAGE = 4096 };
struct global {
    struct ref_buf b;
    struct elem_owner **page; /* one owner for each element of `size` bytes */
    uint32_t size;
};
enum { MOST_GROUPS = 16, MOST_BLOCKS = 4 };
struct
    shadow { /* of an element of shared memory: the last accesses, and after how many barriers; threads from 1, -1: several */
    int32_t writer, wrote, reader;
    uint16_t readers;           /* warpgroups that read since, as bits .. */
    int32_t read[MOST_GROUPS];  /* .. and when */
    bool flight;                /* a CP_ASYNC or TMA_LOAD to it is in flight */
    bool leaves;                /* a TMA_STORE still reads it */
    uint16_t held[MOST_GROUPS]; /* by warpgroup: its commit group that read it last */
};
struct flight { /* one element of a CP_ASYNC */
    uint32_t no, group;
    int64_t at;
    struct elem e;
};
struct mbar {
    int64_t count, missing;    /* arrivals per phase; missing in this one */
    int64_t announced, coming; /* bytes of this phase */
    uint32_t phase;            /* completed phases */
    int32_t beginner, begun;   /* the thread that initialized it, from 1, and when */
    VEC(struct flight) flight; /* TMA loads of this phase */
    int32_t *came, *done;      /* when each thread arrived: in this phase, in the last one; 0: it did not */
    struct mbar_phase {
        int32_t *arrived, *observed; /* when each thread arrived at it, saw it complete; 0: it did not */
        bool loads;                  /* it counted bytes of TMA loads */
    } last[2];                       /* the last even and the last odd phase */
};
struct scratch {
    struct elem *e; /* of the thread that runs, or of all */
    int64_t n;
    struct shadow *shadow; /* shared memory only */
    struct mbar *bar;      /* NULL, or one for each element */
    uint32_t over;         /* 1 + index of the LOCAL that it aliases; 0: none .. */
    int64_t each;          /* .. whose elements each of its own covers */
};
struct ref_tma_store { /* a TMA_STORE in flight, and the elements of shared memory that it reads */
    uint32_t no;
    int64_t at, n;
};
struct thread {
    struct elem *v;
    struct loop *loop;
    uint32_t at; /* the next entry */
    VEC(struct flight) flight;
    uint32_t groups;              /* CP_ASYNC_COMMITs so far */
    uint32_t mma_begun, mma_over; /* WGMMA_COMMITs so far; of them, those waited for */
    VEC(struct ref_tma_store) out;
};

struct ref_scope {
    uint32_t step, undo; /* the RANGE or IF that opened it; length of the undo list then */
};
struct ref_undo {
    uint32_t id;
    uint64_t old; /* 0: was not known */
};

struct machine {
    struct err *err;
    struct arena *arena;
    const struct linear *lin;
    const int64_t *var;
    struct step *step;
    struct elem *v; /* all values */
    struct global *global;
    uint32_t nglobal;
    struct scratch *scratch;            /* of the block that runs .. */
    struct scratch *block[MOST_BLOCKS]; /* .. and of each block of a cluster */
    struct loop *loop;
    uint32_t nloop;
    int64_t t, t0;          /* the grid iteration, for messages; that of the first block of the cluster */
    uint32_t blocks;        /* of a cluster, or 1 */
    uint32_t nthread;       /* of all of them */
    struct thread *threads; /* of a block program, block by block */
    uint32_t now;           /* the entry that runs */
    int32_t me,
        barriers;  /* the thread that runs, from 1; barriers passed and arrivals, of whatever threads */
    int32_t began; /* those before this iteration */
    int32_t met[MOST_GROUPS][MOST_GROUPS]; /* by warpgroups: the last barrier that both passed */
    int32_t *
        seen; /* by threads, [waiter][arriver]: when the arriver last arrived at an mbarrier that the waiter waited for */
    uint32_t group;                 /* threads at a collective op */
    int (*layout[MMA_COUNT][3])[3]; /* of operands of MMA instructions, as they are used */
    struct ref_tile *tile;          /* of an MMA of a CPU: a, b, d; made once */
    /* resolve only */
    struct map known; /* node id -> slot + 1 of its latest evaluation in an open scope */
    VEC(struct ref_undo) undo;
    VEC(struct ref_scope) scope;
    VEC(uint32_t) accs;    /* pairs: slot, lanes */
    VEC(struct elem) init; /* becomes v */
};

/* ---- linear.c -------------------------------------------------------------------------------------- */

void RG_NORETURN RG_FMT(3, 4) lin_bad(struct machine *, const struct step *, const char *fmt, ...);
/* Lane l of a value; an error where it is not there yet. */
const struct elem *lin_lane(struct machine *, struct slot, unsigned l);
/* The same, and an error where it must not be used; `as` says what it is. */
const struct elem *lin_good(struct machine *, const struct step *, struct slot x, unsigned l, const char *as);
void lin_note_read(struct machine *, const struct step *, uint32_t no, int64_t at);
int64_t lin_address(struct machine *, const struct step *, unsigned l, uint32_t *no);
/* An element of a global buffer; poison where the memory holds nothing. */
struct elem lin_load(const struct machine *, uint32_t no, enum dtype, int64_t at);
void lin_store(struct machine *, uint32_t no, enum dtype, int64_t at, union ref_val);
/* Did that thread (from 1) and the one that runs pass a barrier together since then? */
bool lin_met_since(const struct machine *, int32_t thread, int32_t when);
struct elem *lin_scratch(struct machine *, const struct step *, uint32_t no, int64_t at, bool write);
/* Runs up to `end`, a barrier, a collective op, or an entry that must wait; returns where it stands. */
uint32_t lin_run(struct machine *, uint32_t at, uint32_t end);
struct access lin_access(struct machine *, const uop *user, const uop *index); /* while resolving */
struct slot lin_source(struct machine *, const uop *);
void RG_NORETURN RG_FMT(3, 4) lin_bad_program(struct machine *, const uop *, const char *fmt, ...);
void lin_param(struct machine *, const uop *param);
void lin_note_write(struct machine *, const struct step *, uint32_t no, int64_t at);

/* ---- threads.c ------------------------------------------------------------------------------------- */

void lin_begin_copy(struct machine *, struct step *);
void lin_wait_copies(struct machine *, int64_t n); /* all but the last n commit groups complete */
/* The threads of a block begin at the THREAD range, with the values that there are. */
void lin_begin_threads(struct machine *, uint32_t at, uint32_t block);
/* Of all blocks, from the THREAD range to its END; returns the entry after it. */
uint32_t lin_threads(struct machine *, uint32_t at);
void lin_as_block(struct machine *, uint32_t block); /* its shared memory becomes current */

/* ---- mma.c: MMA instructions of a CPU ---------------------------------------------------------------- */

void lin_resolve_cpu_mma(struct machine *, struct step *, uint32_t at);
void lin_cpu_mma(struct machine *, struct step *);

/* ---- tma.c --------------------------------------------------------------------------------------- */

bool lin_is_box(enum op); /* TMA_LOAD, TMA_STORE, TMA_STORE_WAIT, MBAR_..: ops of tma.c */
void lin_resolve_box(struct machine *, struct step *);
bool lin_box(struct machine *, struct step *); /* false: the thread must wait */
void lin_boxes_begin(struct machine *);        /* start of a grid iteration: no mbarrier is initialized */

#endif
