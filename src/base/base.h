/* base.h: what every other folder stands on, and the only header of src/base.
 *
 * It knows nothing of tensors. Errors (sticky record, one setjmp boundary), memory (arena, vectors,
 * maps, strings), the environment table, the log, the operating system, SHA-256 and the thread pool.
 *
 * Memory rule of the whole project: a unit of work (one compile, one trace, one context) owns one
 * arena; everything it makes lives there and dies with it. Nothing else is allocated, except the few
 * long-lived objects that say `_new`/`_free`.
 * Error rule: a function that can fail for the user's sake returns an int status (0 is success) and
 * leaves the words in a `struct err`. Deep inside a compile, where checking each call would drown the
 * algorithm, `err_throw` unwinds to the `err_guard` that owns the arena.
 * Tests: tests/unit/base.c */
#ifndef RIDGE_BASE_H
#define RIDGE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define RG_FMT(a, b) __attribute__((format(printf, a, b)))
#define RG_NORETURN __attribute__((noreturn))
#define RG_AT_LOAD __attribute__((constructor)) /* fork handlers: before any fork */
#define RG_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define RG_MIN(a, b) ((a) < (b) ? (a) : (b))
#define RG_MAX(a, b) ((a) > (b) ? (a) : (b))

/* ---- err.c: status codes, the sticky record, the one setjmp ------------------------------------ */

/*      code          value  what it means to a person */
#define STATUS_TABLE(X)                                      \
    X(RG_OK, 0, "no error")                                  \
    X(RG_EINVAL, 1, "invalid argument")                      \
    X(RG_EPARSE, 2, "the text does not parse")               \
    X(RG_EVERIFY, 3, "the kernel is not legal")              \
    X(RG_EOPT, 4, "the opt is not legal for this kernel")    \
    X(RG_ENOMEM, 5, "out of memory")                         \
    X(RG_EIO, 6, "a file could not be read or written")      \
    X(RG_ECOMPILE, 7, "the C compiler failed or is missing") \
    X(RG_EDEVICE, 8, "the device failed")                    \
    X(RG_ELIMIT, 9, "a limit was passed")                    \
    X(RG_EUNSUPPORTED, 10, "not supported on this device")   \
    X(RG_EINTERNAL, 11, "a bug in ridge")

typedef enum rg_status {
#define X(name, value, text) name = value,
    STATUS_TABLE(X)
#undef X
} rg_status;

__attribute__((visibility("default"))) const char *rg_status_text(int code); /* public: ridge.h has it too */

struct guard;
struct err {
    int code;            /* 0, or the first error */
    char msg[2000];      /* one or a few lines for a person, no trailing newline */
    struct guard *guard; /* innermost err_guard, or NULL */
};

/* Records the first error; later ones are dropped. Returns `code`. */
int err_set(struct err *, int code, const char *fmt, ...) RG_FMT(3, 4);
int err_setv(struct err *, int code, const char *fmt, va_list);
/* Puts words before the message of an error that is set ("file.uop:12: "). */
void err_prefix(struct err *, const char *fmt, ...) RG_FMT(2, 3);
void err_clear(struct err *);
/* Records and unwinds to the innermost err_guard of this record. With no guard it aborts: a bug. */
void err_throw(struct err *, int code, const char *fmt, ...) RG_FMT(3, 4) RG_NORETURN;
/* Runs fn(arg); returns 0, or the code that was thrown (or set) inside. Nests. With an error already
 * recorded it does not run fn and returns that code: errors are sticky until err_clear. */
int err_guard(struct err *, void (*fn)(void *), void *arg);
/* "Cannot happen": a release build reports RG_EINTERNAL with file and line instead of crashing. */
#define RG_CHECK(e, cond)                                                                                    \
    ((cond) ? (void)0                                                                                        \
            : err_throw((e), RG_EINTERNAL, "%s:%d: %s is false; this is a bug in ridge", __FILE__, __LINE__, \
                        #cond))

/* ---- mem.c: the only caller of malloc, so that tests can make the n-th allocation fail --------- */

void *mem_alloc(size_t n);            /* NULL when out of memory; not zeroed */
void *mem_realloc(void *p, size_t n); /* NULL leaves p as it was */
void mem_free(void *p);
void mem_fail_at(int64_t nth); /* the nth allocation from now and all after it fail; <0: never */
uint64_t mem_count(void);      /* allocations so far */
int64_t mem_live(void); /* allocations not freed yet: a test of anything that owns memory looks at it */

/* ---- arena.c ----------------------------------------------------------------------------------- */

struct arena {
    struct err *err;           /* out of memory is thrown here */
    struct arena_block *head;  /* newest block first */
    struct arena_block *spare; /* one emptied block, kept for the next need */
    size_t used, reserved;     /* bytes handed out, bytes taken from mem_alloc */
    size_t first;              /* bytes of the first block; 0: as most arenas have */
};
struct arena_mark {
    struct arena_block *head;
    size_t fill, used;
};
void arena_init(struct arena *, struct err *);
void arena_init_small(struct arena *, struct err *); /* of which there are thousands, with little in each */
void arena_free(struct arena *);                     /* frees all blocks; the arena may be used again */
void *arena_alloc(struct arena *, size_t n);         /* zeroed, 16-byte aligned, never NULL (throws) */
void *arena_raw(struct arena *, size_t n);           /* the same, not zeroed */
void *arena_calloc(struct arena *, size_t n, size_t size); /* n * size bytes, zeroed */
/* Grows or shrinks p from `old` to n bytes: in place if it is the newest allocation and fits, else by a
 * copy. New bytes are not zeroed; p may be NULL with old 0. */
void *arena_resize(struct arena *, void *p, size_t old, size_t n);
char *arena_strdup(struct arena *, const char *s, size_t n); /* copies n bytes, adds a NUL */
char *arena_printf(struct arena *, const char *fmt, ...) RG_FMT(2, 3);
struct arena_mark arena_mark(struct arena *);
void arena_release(struct arena *, struct arena_mark); /* frees all made since the mark */
#define arena_new(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_calloc((a), (size_t)(n), sizeof(T)))

/* ---- vec: typed growable arrays in an arena ---------------------------------------------------- */

#define VEC(T)           \
    struct {             \
        T *p;            \
        uint32_t n, cap; \
    }
void vec_grow_(struct arena *, void **p, uint32_t *cap, uint32_t need, size_t size);
#define vec_need(a, v, k)                                                                      \
    ((v)->n + (k) > (v)->cap                                                                   \
         ? vec_grow_((a), (void **)&(v)->p, &(v)->cap, (v)->n + (uint32_t)(k), sizeof *(v)->p) \
         : (void)0)
#define vec_push(a, v, x) (vec_need(a, v, 1), (void)((v)->p[(v)->n++] = (x)))

/* ---- map.c: open addressing, uint64 -> uint64, arena backed, insertion order not kept ---------- */

struct map {
    struct arena *arena;
    uint64_t *key, *val;
    uint8_t *full;
    uint32_t n, cap; /* cap is a power of two or 0 */
};
void map_init(struct map *, struct arena *);
bool map_get(const struct map *, uint64_t key, uint64_t *val); /* val may be NULL */
void map_put(struct map *, uint64_t key, uint64_t val);        /* replaces */
uint64_t hash_u64(uint64_t);                                   /* a good mixer */
uint64_t hash_bytes(const void *, size_t, uint64_t seed);

/* ---- sha256.c ---------------------------------------------------------------------------------- */

struct sha256 {
    uint32_t h[8];
    uint64_t len;
    uint8_t buf[64];
};
void sha256_init(struct sha256 *);
void sha256_add(struct sha256 *, const void *, size_t);
void sha256_end(struct sha256 *, uint8_t out[32]);
void sha256_hex(const void *, size_t, char out[65]); /* in one call */

/* ---- str.c: string builder --------------------------------------------------------------------- */

struct str {
    struct arena *arena;
    char *p; /* always NUL-terminated once anything was added; "" before */
    size_t n, cap;
};
void str_init(struct str *, struct arena *);
void str_add(struct str *, const char *s);
void str_addn(struct str *, const char *s, size_t n);
void str_addc(struct str *, char c);
void str_printf(struct str *, const char *fmt, ...) RG_FMT(2, 3);
/* printf and strtod of the C locale: a host that calls setlocale may have a decimal comma, files and compilers have none. */
int text_printf(char *out, size_t room, const char *fmt, ...) RG_FMT(3, 4);
int text_vprintf(char *out, size_t room, const char *fmt, va_list) RG_FMT(3, 0);
double text_double(const char *, char **end);
void str_vprintf(struct str *, const char *fmt, va_list);
/* What a user gave, in one line of a message: lines, tabs, control characters and what is no UTF-8 as \x0a. */
const char *str_visible(struct arena *, const char *text);

/* ---- env.c: every environment variable, from env.def ------------------------------------------- */

enum env_id {
#define ENV(name, kind, dflt, bare, help) ENV_##name,
#include "env.def"
#undef ENV
    ENV_COUNT
};
/* Read once, at the first call; RIDGE_NAME wins over the bare NAME (allowed where env.def says so). */
int64_t env_int(enum env_id);
const char *env_str(enum env_id); /* NULL when not set (or set to "") and the default is "" */
/* getenv, but NULL where env_is_foreign: the caller of a setuid program must not choose its files. */
const char *env_get(const char *name);
bool env_is_foreign(void);
void env_list(struct str *out); /* the table `ridge env` prints: name, value, default, help */
/* Lines about unknown RIDGE_ names and values that do not parse; "" when all is well. */
const char *env_warnings(void);
void env_reload(void); /* tests: forget what was read */

/* ---- log.c: lines for people, to stderr ---------------------------------------------------------*/

bool log_on(int level);                                      /* DEBUG >= level */
void log_line(int level, const char *fmt, ...) RG_FMT(2, 3); /* adds the newline */
bool log_color(void);                                        /* stderr is a terminal and NO_COLOR is unset */

/* ---- os.c: the only file with #ifdef per operating system --------------------------------------- */

uint64_t os_now_ns(void); /* monotonic */
void os_sleep_ms(int ms); /* or until a signal comes */
int os_cores(void);       /* that this process may use: affinity and cgroup quotas; at least 1 */
int os_cpus(void);        /* threads to use: os_cores, or RIDGE_THREADS */
/* Cores that the CPU quotas of cgroups (v1 and v2) pay for, of this group and all around it; INT_MAX: no quota. groups: the file
 * /proc/self/cgroup; root: where they are mounted. */
int os_quota_cpus(const char *groups, const char *root);
/* Grows in each child that is forked, from the first call on: threads and GPUs of the parent are not there. */
unsigned os_forks(void);
/* Ties the calling thread to the nth of the cores that this process may use (modulo their number); -1 lets it go. The first call of
 * a process must not run beside another. */
void os_pin(int nth);
/* Reads a whole file into the arena (NUL added). Refuses more than `limit` bytes. */
int os_read_file(struct err *, struct arena *, const char *path, size_t limit, char **data, size_t *n);
/* os_out.c: every output. A file is written beside `path`, synced and renamed: a reader sees the old or the new one, and a mode
 * that it had is kept (else `mode` less the umask); a symbolic link stays and its target is written so; a device, a pipe or
 * /dev/stdout is written into; a directory is an error. */
int os_write_file(struct err *, const char *path, const void *data, size_t n, unsigned mode);
/* The same piece by piece. os_out_end keeps the file if all went well (e has no error), else removes it. */
struct os_out {
    const char *path; /* stays the caller's */
    char *to, *tmp;   /* without links; its name until it is in place */
    int fd;           /* to read as well, unless .. */
    bool direct;      /* .. it is no file of ours, and is written into */
    bool named;       /* tmp is there */
    bool placed;      /* it is in its place */
};
int os_out_begin(struct err *, struct os_out *, const char *path, unsigned mode);
int os_out_add(struct err *, struct os_out *, const void *data, size_t n);
/* Renames the file to its final name; it may be written further. */
int os_out_publish(struct err *, struct os_out *);
int os_out_end(struct err *, struct os_out *);
/* A file to read parts of. Pipes, devices and folders are refused: its size must mean something. */
int os_open(struct err *, const char *path, int *fd, uint64_t *size);
/* All of n bytes of a file, pipe or socket; false: an error, or the end came first. */
bool os_read_exactly(int fd, void *to, size_t n);
/* All of n bytes from `at` on, or an error: also when the file has become shorter. */
int os_read_at(struct err *, int fd, const char *path, void *p, size_t n, uint64_t at);
void os_close(int fd);
int os_mkdirs(struct err *, const char *path, unsigned mode);
bool os_exists(const char *path);
/* Changes when the file that holds this code, a program or a shared library, is another one. False: cannot be told. */
bool os_self_stamp(char out[64]);
void os_remove(const char *path);
void os_remove_tree(const char *path); /* rm -r; ignores what is not there */
bool os_is_private(const char *path);  /* exists, owned by this user, not writable by others, no symlink */
int os_temp_dir(struct err *, struct arena *, char **path); /* a fresh private directory */
/* os_work.c: the same for a moment: if this process is killed, a later one removes it. */
struct os_work {
    char *path;
    int lock;
};
int os_work_begin(struct err *, struct arena *, struct os_work *);
void os_work_keep(struct os_work *); /* for people to look at; instead of .. */
void os_work_end(struct os_work *);
char *os_find_program(struct arena *, const char *name); /* first on PATH, or NULL */
char *
os_find_cc(struct arena *); /* the C compiler: RIDGE_CC, or the first of clang, gcc and cc on PATH; or NULL */
/* Runs argv (NULL-terminated), which no shell expands. The host's SIGCHLD does not matter. stdout+stderr go to *out (at most 64 KiB kept, may be
 * NULL). Returns 0 and the exit status in *status (128+n for signal n); error if it cannot start. */
int os_run(struct err *, struct arena *, const char *const *argv, int *status, char **out);
/* The same, several at once: starts all, waits for all. */
struct os_proc {
    const char *const *argv;
    int64_t limit_s; /* then it is killed, with what it started; 0: no limit */
    int status;
    char *out;
    bool late; /* it was killed so */
};
int os_run_many(struct err *, struct arena *, struct os_proc *, int n);
/* os_child.c: a program that is talked to: its stdin and stdout are one socket. Deadlines are times of os_now_ns. */
struct os_child {
    int pid, fd; /* fd -1: there is none */
};
int os_child_start(struct err *, const char *const *argv, struct os_child *);
enum os_talk { OS_TALK_DONE, OS_TALK_ENDED, OS_TALK_LATE };
enum os_talk os_child_send(const struct os_child *, const void *, size_t n, uint64_t until);
enum os_talk os_child_receive(const struct os_child *, void *, size_t n, uint64_t until);
/* Ends it, if need be by force. The signal that ended it by itself, or 0. */
int os_child_stop(struct os_child *);
/* Where a file that comes with the library is, a program or data: near the library, near the program, under the PREFIX of
 * `make install`. In the arena; NULL: nowhere. */
const char *os_installed(struct arena *, const char *name, bool program);
void *os_dlopen(struct err *, const char *path); /* NULL on error */
void *os_dlsym(void *lib, const char *name);     /* NULL if absent */
void os_dlclose(void *lib);
/* Large zeroed buffers: mmap with huge pages asked for; at least 64-byte aligned. NULL on failure. */
void *os_pages(size_t n);
void os_pages_free(void *p, size_t n);

struct os_cpu {         /* what the instruction set really offers, from HWCAP / CPUID, never from a name */
    char arch[16];      /* "aarch64", "x86_64" */
    char flags[256];    /* flags for cc, space separated, e.g. "-march=armv8.2-a+fp16+dotprod+bf16+i8mm" */
    int vec_bytes;      /* width of the widest vector register that may be used: 16, 32, 64 */
    int64_t l1, l2, l3; /* data cache bytes, 0 if unknown */
    double ghz;         /* highest clock the system reports, 0 if it does not */
    bool
        jcc_erratum; /* Intel, Skylake to Comet Lake: loops with a branch across 32 bytes of code are decoded every time */
    char model[96];
};
const struct os_cpu *os_cpu(void);

/* ---- pool.c: one process-wide set of workers; spin briefly, then sleep --------------------------- */

struct pool;
struct pool *pool_get(void); /* started at first use with os_cpus() threads, the caller included */
int pool_threads(struct pool *);
/* Runs fn(arg, t0, t1, worker) over [0, n) cut into chunks: each thread has a contiguous range, then steals; returns when all
 * is done. worker is 0 (the caller) .. pool_threads-1. n small or one thread: runs in the caller.
 * Not reentrant from inside fn (a nested call runs in the caller). */
void pool_run(struct pool *, void (*fn)(void *arg, uint32_t t0, uint32_t t1, int worker), void *arg,
              uint32_t n, uint32_t chunk);
/* The same; note, if it is not NULL, is told by each worker that came what it did and when. */
void pool_run_noted(struct pool *, void (*fn)(void *arg, uint32_t t0, uint32_t t1, int worker),
                    void (*note)(void *arg, int worker, uint32_t iterations, uint64_t t0, uint64_t t1),
                    void *arg, uint32_t n, uint32_t chunk);

/* ---- 16-bit floats, kept as their bits: to float and back, rounded to nearest even, NaN stays one ----- */

static inline float bf16_get(uint16_t x) {
    uint32_t w = (uint32_t)x << 16;
    float f;
    memcpy(&f, &w, 4);
    return f;
}
static inline uint16_t bf16_put(float f) {
    uint32_t w;
    memcpy(&w, &f, 4);
    if (f != f) return 0x7fc0;
    return (uint16_t)((w + 0x7fff + (w >> 16 & 1)) >> 16);
}
#ifdef __aarch64__
static inline float f16_get(uint16_t x) {
    _Float16 h;
    memcpy(&h, &x, 2);
    return (float)h;
}
static inline uint16_t f16_put(float f) {
    _Float16 h = (_Float16)f;
    uint16_t x;
    memcpy(&x, &h, 2);
    return x;
}
#else /* by integers: on x86 gcc knows _Float16 from 12 on, clang from 15 */
static inline float f16_get(uint16_t x) {
    uint32_t sign = (uint32_t)(x & 0x8000) << 16, e = x >> 10 & 31, m = x & 0x3ff, w;
    float f = (float)m * 0x1p-24f; /* a subnormal */
    memcpy(&w, &f, 4);
    if (e) w = (e == 31 ? 0x7f800000 : (e + 112) << 23) | m << 13;
    w |= sign;
    memcpy(&f, &w, 4);
    return f;
}
static inline uint16_t f16_put(float f) {
    uint32_t w, sign;
    memcpy(&w, &f, 4);
    sign = w >> 16 & 0x8000, w &= 0x7fffffff;
    if (w > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (w >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* from 65520 on */
    if (w >= 0x38800000) return (uint16_t)(sign | (w - 0x38000000 + 0xfff + (w >> 13 & 1)) >> 13);
    float unit = __builtin_fabsf(f) + 0.5f; /* whose last bit is 2^-24, that of a subnormal */
    memcpy(&w, &unit, 4);
    return (uint16_t)(sign | (w - 0x3f000000));
}
#endif

#endif
