/* mpi.c: the MPI backend: ranks on any number of hosts, by the MPI that is installed.
 *
 * Open MPI's and MPICH's ABIs differ, so a shim of a few functions is compiled with the mpicc on PATH and loaded. It moves bytes
 * only, and never blocks: what was begun is asked for until it is done or the time limit is over. Sums are made here, so that they are
 * the same tree as on one host: an all-to-all of shares, the sum of mine, an all-gather.
 * Before each collective every rank tells all others what it is about to do: a rank that differs or does not come is named.
 * Tests: tests/cli/world_mpi.sh */
#include "world/internal.h"

#include <time.h>

static const char shim_text[] =
    "#include <mpi.h>\n"
    "#include <stdlib.h>\n"
    "int shim_open(int *rank, int *size, int *any_thread) {\n"
    "    int on = 0, level = 0;\n"
    "    MPI_Initialized(&on);\n"
    "    if (!on && MPI_Init_thread(0, 0, MPI_THREAD_SERIALIZED, &level)) return 1;\n"
    "    if (on) MPI_Query_thread(&level);\n"
    "    *any_thread = level >= MPI_THREAD_SERIALIZED;\n"
    "    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);\n"
    "    return MPI_Comm_rank(MPI_COMM_WORLD, rank) || MPI_Comm_size(MPI_COMM_WORLD, size);\n"
    "}\n"
    "void shim_close(void) { int off = 0; MPI_Finalized(&off); if (!off) MPI_Finalize(); }\n"
    "void *shim_begin(int kind, const void *in, void *out, int bytes, int peer, int tag) {\n"
    "    MPI_Request *r = malloc(sizeof *r);\n"
    "    MPI_Comm w = MPI_COMM_WORLD;\n"
    "    int bad = !r;\n"
    "    if (bad) return 0;\n"
    "    if (kind == 0) bad = MPI_Ialltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, w, r);\n"
    "    if (kind == 1) bad = MPI_Iallgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, w, r);\n"
    "    if (kind == 2) bad = MPI_Ibcast(out, bytes, MPI_BYTE, peer, w, r);\n"
    "    if (kind == 3) bad = MPI_Isend(in, bytes, MPI_BYTE, peer, tag, w, r);\n"
    "    if (kind == 4) bad = MPI_Irecv(out, bytes, MPI_BYTE, peer, tag, w, r);\n"
    "    if (bad) free(r), r = 0;\n"
    "    return r;\n"
    "}\n"
    "int shim_done(void *p) {\n"
    "    int done = 0, bad = MPI_Test(p, &done, MPI_STATUS_IGNORE);\n"
    "    if (bad || done) free(p);\n"
    "    return bad ? -1 : done;\n"
    "}\n";

enum { ALL_TO_ALL, ALL_GATHER, BROADCAST, SEND, RECEIVE };
enum { TAG_CALL = 1, TAG_DATA = 2, TAG_PROBE = 3, PIECE = 16 << 20, MPI_RANKS = 1024 };
#define PROBE_NS 2000000000u /* that a rank has to answer when an exchange did not end */

struct mpi_state {
    void *lib;
    int (*open)(int *rank, int *size, int *any_thread);
    void (*close)(void);
    void *(*begin)(int kind, const void *in, void *out, int bytes, int peer, int tag);
    int (*done)(void *);
    char *a, *b; /* of PIECE bytes and a share more for each rank */
    size_t room;
    uint64_t count;
    bool opened;
};

/* ---- the shim ---------------------------------------------------------------------------------------------------- */

static const char install[] = "install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev";

/* The compiler that mpicc was configured with may not be there: then Open MPI's and MPICH's take Ridge's. */
static int run_mpicc(struct err *e, struct arena *a, const char *const *mpicc, int n, int *status,
                     char **out) {
    const char *argv[16] = {os_find_program(a, "env")}, *cc = os_find_cc(a);
    char *other;
    int again;
    if (os_run(e, a, mpicc, status, out)) return e->code;
    if (!*status || !argv[0] || !cc) return 0;
    argv[1] = arena_printf(a, "OMPI_CC=%s", cc), argv[2] = arena_printf(a, "MPICH_CC=%s", cc);
    for (int i = 0; i <= n; i++) argv[3 + i] = mpicc[i];
    if (os_run(e, a, argv, &again, &other)) return e->code;
    if (!again) *status = 0; /* else the words of the first are the ones to show */
    return 0;
}

static int compile_shim(struct err *e, struct arena *a, const char *dir, char **lib) {
    const char *cc = os_find_program(a, "mpicc");
    char *src = arena_printf(a, "%s/shim.c", dir), *out = NULL;
    int status = 0;
    *lib = arena_printf(a, "%s/shim.so", dir);
    if (!cc)
        return err_set(e, RG_EUNSUPPORTED, "backend \"mpi\" needs MPI: there is no mpicc on PATH; %s",
                       install);
    if (os_write_file(e, src, shim_text, sizeof shim_text - 1, 0600)) return e->code;
    const char *argv[] = {cc, "-O1", "-shared", "-fPIC", "-o", *lib, src, NULL};
    if (run_mpicc(e, a, argv, RG_COUNT(argv) - 1, &status, &out)) return e->code;
    if (!status) return 0;
    return err_set(e, RG_ECOMPILE, "%s cannot compile for MPI (%s): %.300s", cc, install, out ? out : "");
}

static int take_shim(struct mpi_state *m, struct err *e, const char *path) {
    m->lib = os_dlopen(e, path);
    if (!m->lib) return e->code;
    *(void **)&m->open = os_dlsym(m->lib, "shim_open");
    *(void **)&m->close = os_dlsym(m->lib, "shim_close");
    *(void **)&m->begin = os_dlsym(m->lib, "shim_begin");
    *(void **)&m->done = os_dlsym(m->lib, "shim_done");
    return m->open && m->close && m->begin && m->done
               ? 0
               : err_set(e, RG_EINTERNAL, "the MPI shim is incomplete");
}

static int load_shim(struct mpi_state *m, struct err *e) {
    struct arena a;
    struct os_work work;
    struct err own = {0};
    char *lib;
    arena_init(&a, &own);
    if (!os_work_begin(e, &a, &work)) {
        if (!compile_shim(e, &a, work.path, &lib)) take_shim(m, e, lib);
        os_work_end(&work); /* what is loaded stays */
    }
    arena_free(&a);
    return e->code;
}

/* ---- moving bytes ------------------------------------------------------------------------------------------------- */

/* Is there a rank that does not answer? The others come here too: their exchange does not end either. -1: all do. */
static int64_t silent_rank(struct world *w) {
    struct mpi_state *m = w->state;
    static char byte[2][MPI_RANKS]; /* MPI may write here when it is too late */
    void *got[MPI_RANKS];
    int64_t left = w->size, silent = -1;
    int done;
    for (int64_t r = 0; r < w->size; r++) {
        got[r] = m->begin(RECEIVE, NULL, &byte[0][r], 1, (int)r, TAG_PROBE);
        m->begin(SEND, &byte[1][r], NULL, 1, (int)r, TAG_PROBE);
    }
    for (uint64_t t0 = os_now_ns(); left && os_now_ns() - t0 < PROBE_NS; os_sleep_ms(1))
        for (int64_t r = 0; r < w->size; r++)
            if (got[r] && (done = m->done(got[r]))) {
                got[r] = NULL, left--;
                if (done < 0) silent = r;
            }
    for (int64_t r = w->size; r-- > 0;)
        if (got[r]) silent = r;
    return silent;
}

static int fail_exchange(struct world *w, struct err *e, const char *what) {
    struct mpi_state *m = w->state;
    int64_t r = silent_rank(w);
    double limit = (double)w->limit_ns * 1e-9;
    if (r < 0)
        return err_set(e, RG_EDEVICE,
                       "%s of collective %llu did not end within %.3g s, though all ranks answer", what,
                       (unsigned long long)m->count, limit);
    return err_set(
        e, RG_EDEVICE,
        "rank %lld does not answer: %s of collective %llu did not end within %.3g s (it was killed, or the "
        "network is cut; RIDGE_WORLD_TIMEOUT sets the limit)",
        (long long)r, what, (unsigned long long)m->count, limit);
}

/* MPI moves data while it is asked, so often; but kernels want the core, too. */
enum { LOOKS = 100, LOOK_EVERY_NS = 50000 };

static int wait_for(struct world *w, struct err *e, void *request, const char *what, int64_t peer) {
    struct mpi_state *m = w->state;
    uint64_t t0 = os_now_ns();
    int done = request ? m->done(request) : -1;
    for (uint32_t looks = 0; !done; looks++) {
        if (os_now_ns() - t0 > w->limit_ns) break;
        if (looks > LOOKS) nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_NS}, NULL);
        done = m->done(request);
    }
    w->waited_ns += os_now_ns() - t0;
    if (done > 0) return 0;
    if (done < 0) return err_set(e, RG_EDEVICE, "MPI failed in %s", what);
    if (peer < 0) return fail_exchange(w, e, what);
    return err_set(
        e, RG_EDEVICE,
        "rank %lld did not come to collective %llu within %.3g s (RIDGE_WORLD_TIMEOUT sets the limit)",
        (long long)peer, (unsigned long long)m->count, (double)w->limit_ns * 1e-9);
}

static int move(struct world *w, struct err *e, int kind, const void *in, void *out, size_t bytes,
                int64_t peer) {
    struct mpi_state *m = w->state;
    void *r = m->begin(kind, in, out, (int)bytes, (int)peer, TAG_DATA);
    return wait_for(w, e, r, "an exchange", kind == RECEIVE || kind == SEND ? peer : -1);
}

/* ---- collectives --------------------------------------------------------------------------------------------------- */

/* All ranks tell all others what they do. */
static int agree(struct world *w, struct err *e, const struct world_call *c) {
    struct mpi_state *m = w->state;
    struct segment_call mine = {collective_pack(c->what), c->nin, c->nout}, its[MPI_RANKS];
    void *sent[MPI_RANKS], *got[MPI_RANKS];
    char a[WORLD_TEXT], b[WORLD_TEXT];
    for (int64_t r = 0; r < w->size; r++) {
        got[r] = m->begin(RECEIVE, NULL, &its[r], sizeof mine, (int)r, TAG_CALL);
        sent[r] = m->begin(SEND, &mine, NULL, sizeof mine, (int)r, TAG_CALL);
    }
    for (int64_t r = 0; r < w->size && !e->code; r++)
        if (!wait_for(w, e, got[r], "saying what comes next", r))
            wait_for(w, e, sent[r], "saying what comes next", r);
    for (int64_t r = 1; r < w->size && !e->code; r++)
        if (memcmp(&its[r], &its[0], sizeof mine))
            err_set(e, RG_EINVAL,
                    "collective %llu differs between ranks: rank 0 calls %s, rank %lld calls %s; all ranks "
                    "make the same calls in the same order",
                    (unsigned long long)m->count, world_describe(a, its[0].code, its[0].nin, its[0].nout),
                    (long long)r, world_describe(b, its[r].code, its[r].nin, its[r].nout));
    return e->code;
}

static int all_reduce(struct world *w, struct err *e, const struct world_call *c, size_t width) {
    struct mpi_state *m = w->state;
    const void *in[MPI_RANKS];
    size_t ranks = (size_t)w->size, most = PIECE / width;
    for (size_t at = 0; at < (size_t)c->nin; at += most) {
        size_t n = RG_MIN((size_t)c->nin - at, most), share = (n + ranks - 1) / ranks;
        memcpy(m->a, (const char *)c->in + at * width, n * width);
        memset(m->a + n * width, 0, (share * ranks - n) * width);
        if (move(w, e, ALL_TO_ALL, m->a, m->b, share * width, -1)) return e->code;
        for (size_t r = 0; r < ranks; r++) in[r] = m->b + r * share * width;
        reduce_tree(c->what.dt, c->what.reduce, m->a, in, (uint32_t)ranks, share);
        if (move(w, e, ALL_GATHER, m->a, m->b, share * width, -1)) return e->code;
        memcpy((char *)c->out + at * width, m->b, n * width);
    }
    return 0;
}

/* A part for each rank, of which some elements at a time. */
static int parts(struct world *w, struct err *e, const struct world_call *c, size_t width) {
    struct mpi_state *m = w->state;
    const void *in[MPI_RANKS];
    bool sums = c->what.kind == COLLECTIVE_REDUCE_SCATTER;
    size_t ranks = (size_t)w->size, n = (size_t)c->nin / ranks, most = PIECE / width / ranks;
    for (size_t at = 0; at < n; at += most) {
        size_t k = RG_MIN(n - at, most);
        for (size_t r = 0; r < ranks; r++)
            memcpy(m->a + r * k * width, (const char *)c->in + (r * n + at) * width, k * width);
        if (move(w, e, ALL_TO_ALL, m->a, m->b, k * width, -1)) return e->code;
        for (size_t r = 0; r < ranks; r++) {
            in[r] = m->b + r * k * width;
            if (!sums) memcpy((char *)c->out + (r * n + at) * width, in[r], k * width);
        }
        if (sums)
            reduce_tree(c->what.dt, c->what.reduce, (char *)c->out + at * width, in, (uint32_t)ranks, k);
    }
    return 0;
}

static int all_gather(struct world *w, struct err *e, const struct world_call *c, size_t width) {
    struct mpi_state *m = w->state;
    size_t ranks = (size_t)w->size, n = (size_t)c->nin, most = PIECE / width / ranks;
    for (size_t at = 0; at < n; at += most) {
        size_t k = RG_MIN(n - at, most);
        if (move(w, e, ALL_GATHER, (const char *)c->in + at * width, m->b, k * width, -1)) return e->code;
        for (size_t r = 0; r < ranks; r++)
            memcpy((char *)c->out + (r * n + at) * width, m->b + r * k * width, k * width);
    }
    return 0;
}

/* Point to point, in chunks. */
static int one_way(struct world *w, struct err *e, const struct world_call *c, int kind, size_t bytes) {
    if (kind == BROADCAST && c->out != c->in) memcpy(c->out, c->in, bytes);
    for (size_t at = 0; at < bytes; at += PIECE)
        if (move(w, e, kind, (const char *)c->in + (kind == RECEIVE ? 0 : at),
                 (char *)c->out + (kind == SEND ? 0 : at), RG_MIN(bytes - at, (size_t)PIECE), c->what.peer))
            return e->code;
    return 0;
}

static int mpi_run(struct world *w, struct err *e, const struct world_call *c) {
    struct mpi_state *m = w->state;
    size_t width = dtype_info[c->what.dt].bytes;
    if (c->what.kind == COLLECTIVE_SEND) return one_way(w, e, c, SEND, (size_t)c->nin * width);
    if (c->what.kind == COLLECTIVE_RECV) return one_way(w, e, c, RECEIVE, (size_t)c->nout * width);
    m->count++;
    if (agree(w, e, c)) return e->code;
    w->came_ns = os_now_ns();
    switch (c->what.kind) {
    case COLLECTIVE_ALL_REDUCE: return all_reduce(w, e, c, width);
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALL_TO_ALL: return parts(w, e, c, width);
    case COLLECTIVE_ALL_GATHER: return all_gather(w, e, c, width);
    case COLLECTIVE_BROADCAST: return one_way(w, e, c, BROADCAST, (size_t)c->nin * width);
    default: memcpy(c->out, c->in, width); return 0; /* a barrier: they agreed */
    }
}

/* ---- opening -------------------------------------------------------------------------------------------------------- */

static int mpi_open(struct world *w, struct err *e) {
    struct mpi_state *m = mem_alloc(sizeof *m);
    int rank = 0, size = 0, any_thread = 0;
    if (!m) return err_set(e, RG_ENOMEM, "out of memory for a world");
    *m = (struct mpi_state){.room = PIECE + (size_t)MPI_RANKS * sizeof(double)};
    w->state = m;
    if (load_shim(m, e)) return e->code;
    if (m->open(&rank, &size, &any_thread)) return err_set(e, RG_EDEVICE, "MPI_Init failed");
    m->opened = true;
    w->any_thread = any_thread;
    if (size > MPI_RANKS) return err_set(e, RG_ELIMIT, "%d ranks; at most %d are possible", size, MPI_RANKS);
    if (rank != w->rank || size != w->size)
        return err_set(
            e, RG_EINVAL,
            "MPI says rank %d of %d, and the launcher rank %lld of %lld: is mpirun of the same MPI as mpicc?",
            rank, size, (long long)w->rank, (long long)w->size);
    m->a = os_pages(m->room), m->b = os_pages(m->room);
    return m->a && m->b ? 0 : err_set(e, RG_ENOMEM, "no memory for a world");
}

/* After a failure others may never come to MPI_Finalize. */
static void mpi_close(struct world *w) {
    struct mpi_state *m = w->state;
    if (!m) return;
    if (m->opened && !w->broken.code) m->close();
    if (m->a) os_pages_free(m->a, m->room);
    if (m->b) os_pages_free(m->b, m->room);
    mem_free(m);
}

const struct world_ops world_mpi = {"mpi", mpi_open, mpi_close, mpi_run, false};
