/* cmd_doctor.c: `ridge doctor`: is everything there that Ridge needs, and is this machine fit to be measured on?
 *
 * One line for each thing: ok, warn (it works, but slower or with less to see) or fail (programs will not run as they should),
 * what was found, and what to do. Exit status: 0 without a fail, 1 with one. Nothing is changed. Tests: tests/cli/doctor.sh */
#include "cli.h"
#include "engine/engine.h"
#include "device/cuda/cuda.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { OK, WARN, BAD };

struct doctor {
    struct err err;
    struct arena arena;
    int worst;
};

static void say(struct doctor *d, int state, const char *what, const char *found, const char *todo) {
    static const char *const text[] = {"ok", "warn", "fail"};
    printf("%-4s  %-14s %s\n", text[state], what, found);
    if (*todo) printf("%20s -> %s\n", "", todo);
    d->worst = RG_MAX(d->worst, state);
}

#define FOUND(...) arena_printf(&d->arena, __VA_ARGS__)

/* The first line of a small file, "" if it cannot be read. */
static const char *first_line(struct doctor *d, const char *path) {
    struct err e = {0};
    char *text;
    size_t n;
    if (os_read_file(&e, &d->arena, path, 65536, &text, &n)) return "";
    text[strcspn(text, "\n")] = 0;
    return text;
}

/* ---- what the machine has ---------------------------------------------------------------------------------------- */

/* The words of a line of /proc/cpuinfo that matter to kernels and are there, separated by blanks. */
static const char *features(struct doctor *d) {
    static const char *const known[] = {"asimd",       "asimdhp",     "asimddp",  "bf16",     "i8mm",
                                        "sve",         "sve2",        "sse4_2",   "avx",      "avx2",
                                        "fma",         "f16c",        "avx512f",  "avx512bw", "avx512_vnni",
                                        "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"};
    struct err e = {0};
    struct str s;
    char *text, *line;
    size_t n;
    str_init(&s, &d->arena);
    str_add(&s, "");
    if (os_read_file(&e, &d->arena, "/proc/cpuinfo", 64 << 20, &text, &n)) return s.p;
    line = strstr(text, "\nflags");
    if (!line) line = strstr(text, "\nFeatures");
    if (!line) return s.p;
    line[1 + strcspn(line + 1, "\n")] = ' '; /* the last word ends with a blank, too */
    for (size_t i = 0; i < RG_COUNT(known); i++) {
        const char *word = FOUND(" %s ", known[i]), *at = strstr(line, word), *end = strchr(line + 1, '\n');
        if (at && (!end || at < end)) str_printf(&s, "%s%s", s.n ? " " : "", known[i]);
    }
    return s.p;
}

static void cpu(struct doctor *d) {
    const struct os_cpu *c = os_cpu();
    const struct isa *isa = isa_host();
    const struct isa_op *half = isa_op_of(c, MODEL_MATRIX_BF16), *byte = isa_op_of(c, MODEL_MATRIX_I8);
    const char *has = features(d);
    say(d, OK, "CPU",
        FOUND("%s, %s; it has %s; caches %lld KB, %lld KB, %lld KB", *c->model ? c->model : "unknown",
              c->arch, *has ? has : "features that the system does not name", (long long)c->l1 >> 10,
              (long long)c->l2 >> 10, (long long)c->l3 >> 10),
        "");
    say(d, OK, "kernels use",
        FOUND("%s: %d registers of %d bytes; bf16 by %s, i8 by %s; %s", isa->name, isa->regs, isa->bytes,
              half ? half->name : "f32", byte ? byte->name : "i32", c->flags),
        "");
}

/* ---- what programs need ------------------------------------------------------------------------------------------ */

/* Those that could be used instead. */
static const char *other_compilers(struct doctor *d, const char *used) {
    static const char *const names[] = {"clang", "gcc", "cc"};
    struct str s;
    str_init(&s, &d->arena);
    str_add(&s, "");
    for (size_t i = 0; i < RG_COUNT(names); i++) {
        const char *found = os_find_program(&d->arena, names[i]);
        if (found && strcmp(found, used)) str_printf(&s, "%s %s", s.n ? "," : "; also there:", found);
    }
    return s.p;
}

static void compiler(struct doctor *d) {
    struct err e = {0};
    struct dev_target t = {0};
    struct device *dev = NULL;
    const char *version = NULL;
    if (device_cpu.open(&e, &device_cpu, &dev) || device_cpu.target(dev, &e, &d->arena, &t))
        say(d, BAD, "device CPU", e.msg, "see the message");
    else if (!t.tool)
        say(d, BAD, "C compiler", FOUND("none found (asked for: %s)", t.request),
            "install clang or gcc, or name one: RIDGE_CC=/path/to/cc");
    else if (device_cpu.version(dev, &e, &d->arena, &version))
        say(d, BAD, "C compiler", FOUND("%s does not work: %s", t.tool, e.msg),
            "install clang or gcc, or name another: RIDGE_CC=/path/to/cc");
    else
        say(d, OK, "C compiler", FOUND("%s: %.70s%s", t.tool, version, other_compilers(d, t.tool)), "");
    if (dev) device_cpu.close(dev);
}

static double folder_bytes(const char *path, int *files) {
    DIR *dir = opendir(path);
    double sum = 0;
    for (struct dirent *f; dir && (f = readdir(dir));) {
        struct stat st;
        if (fstatat(dirfd(dir), f->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        sum += (double)st.st_size, ++*files;
    }
    if (dir) closedir(dir);
    return sum;
}

/* Opening an engine looks at the directory as every program does, and says what is wrong with it. */
static void cache(struct doctor *d) {
    struct err e = {0};
    if (!env_int(ENV_CACHE)) {
        say(d, WARN, "kernel cache", "switched off by RIDGE_CACHE=0",
            "unset it: every start compiles every kernel");
        return;
    }
    struct engine *en = engine_open(&e, &device_cpu);
    const char *wrong = en ? engine_warnings(en) : e.msg;
    const char *path = en ? engine_cache_dir(en) : NULL;
    if (!path) {
        say(d, WARN, "kernel cache",
            FOUND("%.*s", (int)strcspn(wrong, "\n"), *wrong ? wrong : "there is none"),
            "name a directory of your own, not writable by others: RIDGE_CACHE_DIR=DIR");
    } else {
        int files = 0;
        double bytes = folder_bytes(path, &files);
        struct statvfs v;
        double room = statvfs(path, &v) ? 0 : (double)v.f_bavail * (double)v.f_frsize;
        bool full = room < 64e6;
        say(d, full ? WARN : OK, "kernel cache",
            FOUND("%s: %d files, %.1f MB; %.1f GB free", path, files, bytes / 1e6, room / 1e9),
            full ? "make room: kernels that cannot be kept are compiled again" : "");
    }
    engine_close(en);
}

static void threads(struct doctor *d) {
    int64_t asked = env_int(ENV_THREADS);
    int cores = os_cores(), quota = os_quota_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;
    int allowed = sched_getaffinity(0, sizeof set, &set) ? (int)online : CPU_COUNT(&set);
    const char *found = FOUND("%d of %ld cores: affinity allows %d, the cgroup's quota %s", os_cpus(), online,
                              allowed, quota < online ? FOUND("%d", quota) : "all");
    if (asked > cores)
        say(d, WARN, "threads",
            FOUND("RIDGE_THREADS=%lld, but %d cores may be used", (long long)asked, cores),
            "unset it, or ask for fewer: threads that share a core wait for each other");
    else if (cores < online)
        say(d, WARN, "threads", found, "more cores: taskset, docker --cpus, cgroup cpu.max");
    else
        say(d, OK, "threads", found, "");
}

static void huge_pages(struct doctor *d) {
    const char *s = first_line(d, "/sys/kernel/mm/transparent_hugepage/enabled");
    if (!*s)
        say(d, WARN, "huge pages", "the system does not say",
            "nothing to do; large tensors may run a few percent slower");
    else if (strstr(s, "[never]"))
        say(d, WARN, "huge pages", s,
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled: large tensors need fewer "
            "page lookups");
    else
        say(d, OK, "huge pages", s, "");
}

/* ---- what measurements need ---------------------------------------------------------------------------------------- */

static void counters(struct doctor *d) {
    struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                                .size = sizeof a,
                                .config = PERF_COUNT_HW_CPU_CYCLES,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0), code = errno;
    const char *level = first_line(d, "/proc/sys/kernel/perf_event_paranoid");
    if (fd >= 0)
        say(d, OK, "counters", "cycles and cache misses can be counted", ""), close(fd);
    else if (code == EACCES || code == EPERM)
        say(d, WARN, "counters", FOUND("refused: perf_event_paranoid is %s", *level ? level : "not known"),
            "sudo sysctl kernel.perf_event_paranoid=1, or in a container allow perf_event_open; figures are "
            "estimates until then");
    else
        say(d, WARN, "counters", FOUND("none: %s", strerror(code)),
            "a virtual machine often has none; figures are estimates by the machine model");
}

static void machine_file(struct doctor *d) {
    struct err e = {0};
    struct model m;
    const char *path = env_str(ENV_MODEL);
    if (!path) path = model_path(&d->arena);
    struct stat st;
    if (!path || stat(path, &st)) {
        say(d, env_str(ENV_MODEL) ? BAD : WARN, "machine file",
            FOUND("%s is not there: rates are guessed", path ? path : "it"),
            "ridge ceilings (some seconds, on a quiet machine)");
        return;
    }
    if (model_load(&e, &d->arena, path, &m)) {
        say(d, BAD, "machine file", e.msg, "ridge ceilings writes a new one");
        return;
    }
    double days = difftime(time(NULL), st.st_mtime) / 86400;
    struct model guess;
    model_guess(&guess);
    if (strcmp(m.name, guess.name))
        say(d, WARN, "machine file", FOUND("%s is of %s, this is %s", path, m.name, guess.name),
            "ridge ceilings, here");
    else if (days > 180)
        say(d, WARN, "machine file", FOUND("%s is %.0f days old", path, days),
            "ridge ceilings: kernels, firmware and neighbours change");
    else
        say(d, OK, "machine file", FOUND("%s, %.0f days old", path, days), "");
}

static void quiet(struct doctor *d) {
    struct cli_quiet q = cli_quiet();
    const char *found =
        FOUND("load %.1f on %ld cores; others took %.0f%% of a busy loop, its speed varied by %.0f%%", q.load,
              sysconf(_SC_NPROCESSORS_ONLN), 100 * q.lost, 100 * q.spread);
    if (q.lost > CLI_BUSY)
        say(d, WARN, "quiet", found,
            "others use this machine: measure when it is quiet, or use RIDGE_THREADS=1 and processor time");
    else if (q.spread > 0.2)
        say(d, WARN, "quiet", found,
            "the clock is not steady (throttling, power saving): sudo cpupower frequency-set -g performance");
    else
        say(d, OK, "quiet", found, "");
    const char *governor = first_line(d, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (*governor && strcmp(governor, "performance"))
        say(d, WARN, "clock", FOUND("governor %s", governor),
            "sudo cpupower frequency-set -g performance, while you measure");
}

/* ---- devices --------------------------------------------------------------------------------------------------------- */

/* Is one of them there, or the one that is named instead? */
static bool library(enum env_id given, const char *const *names) {
    const char *const only[] = {env_str(given), NULL};
    if (only[0]) names = only;
    for (; *names; names++) {
        void *h = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (h) return dlclose(h), true;
    }
    return false;
}

static bool is_asked(const char *family) {
    const char *name = env_str(ENV_DEVICE);
    return name && !strncasecmp(name, family, strlen(family));
}

/* Every device that it lists, with what its kernels are scheduled for. */
static void opencl(struct doctor *d) {
    bool asked = is_asked("OPENCL") || is_asked("CL");
    if (!library(ENV_OPENCL, (const char *[]){"libOpenCL.so.1", "libOpenCL.so", NULL})) {
        say(d, asked ? BAD : OK, "OpenCL", "no loader (libOpenCL.so.1)",
            asked ? "install one (Debian: ocl-icd-libopencl1), name it with RIDGE_OPENCL, or unset DEVICE"
                  : "");
        return;
    }
    for (int i = 0; i < OPENCL_DEVICES; i++) {
        struct err e = {0};
        struct device *dev = NULL;
        struct dev_info info = {0};
        const struct device_ops *ops = &device_opencl[i];
        bool there = !ops->open(&e, ops, &dev) && !ops->info(dev, &e, &info);
        if (there)
            say(d, OK, "OpenCL",
                FOUND("%s is %s, %d units, %.1f GB: the schedules of %s", ops->name, info.name, info.units,
                      (double)info.memory / 1e9, info.cpu ? "the CPU" : "a GPU"),
                "");
        else if (!i)
            say(d, asked ? BAD : OK, "OpenCL", FOUND("its loader is there, no device: %.90s", e.msg),
                asked ? "install a driver (Debian: pocl-opencl-icd), or unset DEVICE" : "");
        if (dev) ops->close(dev);
        if (!there) break;
    }
}

static void gpus(struct doctor *d) {
    struct err e = {0};
    bool asked = is_asked("CUDA");
    if (!library(ENV_CUDA, (const char *[]){"libcuda.so.1", NULL})) {
        say(d, asked ? BAD : OK, "CUDA", "no driver (libcuda.so.1): the CPU is used",
            asked ? "install NVIDIA's driver, or unset DEVICE" : "");
    } else {
        const char *v = nvrtc_version(&e, &d->arena);
        struct device *dev = NULL;
        struct err open = {0};
        bool gpu = !device_cuda[0].open(&open, &device_cuda[0], &dev);
        if (dev) device_cuda[0].close(dev);
        if (!gpu)
            say(d, asked ? BAD : WARN, "CUDA", FOUND("a driver, but no GPU: %.80s", open.msg),
                "nvidia-smi should list one; in a container: --gpus all");
        else if (!v)
            say(d, BAD, "CUDA", FOUND("a GPU, but no run-time compiler: %.80s", e.msg),
                "install libnvrtc (cuda-nvrtc), or RIDGE_NVRTC=/path/libnvrtc.so");
        else
            say(d, OK, "CUDA", FOUND("a GPU; %s", v), "");
        const char *cupti = gpu ? cupti_version(&e, &d->arena) : NULL;
        if (gpu)
            say(d, cupti ? OK : WARN, "CUPTI",
                cupti ? cupti : FOUND("%.100s: a profile times kernels one by one", e.msg),
                cupti ? ""
                      : "install CUPTI (it is part of the CUDA toolkit), or RIDGE_CUPTI=/path/libcupti.so");
    }
    opencl(d);
}

/* A name that is none makes every program fail. */
static void device_name(struct doctor *d) {
    struct err e = {0};
    if (!device_find(&e, NULL)) say(d, BAD, "DEVICE", e.msg, "unset DEVICE, or set it to one of these");
}

static void examine(void *arg) {
    struct doctor *d = arg;
    cpu(d);
    compiler(d);
    cache(d);
    threads(d);
    huge_pages(d);
    counters(d);
    device_name(d);
    gpus(d);
    machine_file(d);
    quiet(d);
}

int cmd_doctor(int argc, char **argv) {
    struct args a = {
        .command = "doctor",
        .operands = "",
        .about =
            "Looks at what this machine has and what Ridge uses of it: CPU, compilers, cache, threads, huge "
            "pages, counters, GPUs, machine\n"
            "file, and whether it is quiet enough to measure on. Says what to do; changes "
            "nothing. Exit status 1: something fails."};
    int status = args_parse(&a, argc, argv);
    if (status >= 0) return status;
    struct doctor d = {0};
    arena_init(&d.arena, &d.err);
    status = err_guard(&d.err, examine, &d) ? cli_error("doctor", &d.err)
             : d.worst == BAD               ? EXIT_FAILED
                                            : EXIT_OK;
    arena_free(&d.arena);
    return status;
}
