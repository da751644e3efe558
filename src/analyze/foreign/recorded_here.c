/* recorded_here.c: was a trace recorded on this machine? Then its cores are known, which no trace of PyTorch holds.
 *
 * It was if the file came to be within minutes after its last event, by this machine's clock, on a file system that no other machine
 * writes to: a copy from elsewhere keeps the time of its content, but the inode is younger.
 * Tests: tests/unit/foreign_cpu.c */
#include "analyze/internal.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#define WRITTEN_WITHIN 600000000000 /* ns: a long trace takes minutes to write */
#define CLOCK_SLACK 1000000000      /* ns: times of inodes are those of the last tick */

static bool is_local(const char *path) {
    static const uint32_t local[] = {
        0xef53,     0x58465342, 0x9123683e, 0x01021994, /* ext4, xfs, btrfs, tmpfs */
        0x794c7630, 0x2fc12fc1, 0xf2f52010,             /* overlayfs, zfs, f2fs */
    };
    struct statfs fs;
    if (statfs(path, &fs)) return false;
    for (size_t i = 0; i < RG_COUNT(local); i++)
        if ((uint32_t)fs.f_type == local[i]) return true;
    return false;
}

bool trace_written_after(const struct trace *t, int64_t created_ns) {
    int64_t last = 0;
    for (uint32_t i = 0; i < t->n; i++) last = RG_MAX(last, trace_end(&t->ev[i]));
    int64_t later = created_ns - (t->epoch + t->base + last);
    return t->epoch > 0 && later > -CLOCK_SLACK && later < WRITTEN_WITHIN;
}

static void set_cpu(struct trace *t, const struct model *m) {
    double ghz = model_value(m, MODEL_CLOCK);
    t->cpu = (struct trace_cpu){.cores = (uint32_t)model_value(m, MODEL_CORES),
                                .core_flops = model_value(m, MODEL_FLOPS_F32) * ghz * 1e9,
                                .core_bytes = model_value(m, MODEL_DRAM_CORE) * 1e9,
                                .measured = m->measured[MODEL_CLOCK] > 0};
}

void trace_recorded_here(struct trace *t, const char *path) {
    struct stat st;
    struct model m;
    struct err ignore = {0};
    struct arena arena;
    if (t->format != TRACE_TORCH || t->cpu.cores || stat(path, &st) || !is_local(path)) return;
    if (!trace_written_after(t, (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec)) return;
    arena_init(&arena, &ignore);
    if (!model_open(&ignore, &arena, &m)) set_cpu(t, &m);
    arena_free(&arena);
}
