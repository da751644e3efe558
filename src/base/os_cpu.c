/* os_cpu.c: what this processor can do, from HWCAP or CPUID and the kernel's cache files.
 *
 * Compiler flags are built feature by feature and never from a model's name or `native`: a virtual
 * machine may mask what the silicon has, and `native` then emits instructions that trap. SVE is left
 * out on purpose: kernels use fixed 128-bit vectors there, and the units are the same. The flags are
 * those that gcc 12 and clang 14 both take.
 * Tests: tests/unit/base.c (os_cpu_*: both compilers accept the flags, caches are sane). */
#include "internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

static void add(struct os_cpu *c, const char *text) {
    size_t n = strlen(c->flags);
    snprintf(c->flags + n, sizeof c->flags - n, "%s", text);
}

/* The first line of /proc/cpuinfo that begins with `key`: the text after its colon, or "". */
static void cpuinfo(const char *key, char *out, size_t n) {
    char line[512];
    out[0] = 0;
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
        colon += strspn(colon, ": \t");
        snprintf(out, n, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    fclose(f);
}

#if defined(__aarch64__)

/* maker, part, name as people know it */
static const struct {
    unsigned maker, part;
    const char *name;
} arm_parts[] = {
    {0x41, 0xd03, "Cortex-A53"},  {0x41, 0xd05, "Cortex-A55"},  {0x41, 0xd08, "Cortex-A72"},
    {0x41, 0xd0b, "Cortex-A76"},  {0x41, 0xd0c, "Neoverse-N1"}, {0x41, 0xd40, "Neoverse-V1"},
    {0x41, 0xd41, "Cortex-A78"},  {0x41, 0xd49, "Neoverse-N2"}, {0x41, 0xd4f, "Neoverse-V2"},
    {0x41, 0xd83, "Neoverse-V3"}, {0x41, 0xd8e, "Neoverse-N3"}, {0xc0, 0xac3, "Ampere-1"},
};

static void fill_model(struct os_cpu *c) {
    char maker[32], part[32];
    cpuinfo("CPU implementer", maker, sizeof maker);
    cpuinfo("CPU part", part, sizeof part);
    unsigned long m = strtoul(maker, NULL, 16), p = strtoul(part, NULL, 16);
    snprintf(c->model, sizeof c->model, "arm %lx:%lx", m, p);
    for (size_t i = 0; i < RG_COUNT(arm_parts); i++)
        if (arm_parts[i].maker == m && arm_parts[i].part == p)
            snprintf(c->model, sizeof c->model, "%s", arm_parts[i].name);
}

static void fill_flags(struct os_cpu *c) {
    unsigned long h = getauxval(AT_HWCAP), h2 = getauxval(AT_HWCAP2);
    snprintf(c->arch, sizeof c->arch, "aarch64");
    c->vec_bytes = 16;
    const unsigned long v82 = HWCAP_ATOMICS | HWCAP_CRC32 | HWCAP_ASIMDRDM | HWCAP_DCPOP;
    if ((h & v82) == v82) {
        add(c, "-march=armv8.2-a");
    } else {
        add(c, "-march=armv8-a");
        if (h & HWCAP_CRC32) add(c, "+crc");
        if (h & HWCAP_ATOMICS) add(c, "+lse");
    }
    if ((h & HWCAP_FPHP) && (h & HWCAP_ASIMDHP)) {
        add(c, "+fp16");
        if (h & HWCAP_ASIMDFHM) add(c, "+fp16fml");
    }
    if (h & HWCAP_ASIMDDP) add(c, "+dotprod");
#ifdef HWCAP2_BF16
    if (h2 & HWCAP2_BF16) add(c, "+bf16");
#endif
#ifdef HWCAP2_I8MM
    if (h2 & HWCAP2_I8MM) add(c, "+i8mm");
#endif
    (void)h2;
    fill_model(c);
}

#elif defined(__x86_64__)

/* The registers that the operating system saves: bits 1,2 SSE and AVX; 5,6,7 AVX-512; 17,18 AMX. */
static uint64_t xgetbv(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

/* Tiles are a large state: a process asks for it once (Linux 5.16), for all its threads. */
static void fill_amx(struct os_cpu *c, uint64_t saved, unsigned d7) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18, BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25 };
    if ((saved >> 17 & 3) != 3 || !(d7 & TILE)) return;
    if (syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA)) return;
    add(c, " -mamx-tile");
    if (d7 & BF16) add(c, " -mamx-bf16");
    if (d7 & INT8) add(c, " -mamx-int8");
}

static void fill_avx(struct os_cpu *c, unsigned c1, unsigned b7, unsigned c7, unsigned d7) {
    uint64_t saved = c1 & bit_OSXSAVE ? xgetbv() : 0;
    if ((saved & 6) != 6 || !(c1 & bit_AVX) || !(b7 & bit_AVX2)) return;
    add(c, " -mavx2");
    if (!(c1 & bit_FMA)) return; /* kernels rely on FMA: without it AVX2 is no row of isa.def */
    add(c, " -mfma");
    c->vec_bytes = 32;
    if (c1 & bit_F16C) add(c, " -mf16c");
    if (b7 & bit_BMI) add(c, " -mbmi");
    if (b7 & bit_BMI2) add(c, " -mbmi2");
    unsigned need = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if ((saved & 0xe6) != 0xe6 || (b7 & need) != need) return;
    add(c, " -mavx512f -mavx512bw -mavx512dq -mavx512vl");
    c->vec_bytes = 64;
    if (c7 & bit_AVX512VNNI) add(c, " -mavx512vnni");
    unsigned a71 = 0, b71 = 0, c71 = 0, d71 = 0;
    __get_cpuid_count(7, 1, &a71, &b71, &c71, &d71);
    if (a71 & 1u << 5) add(c, " -mavx512bf16");
    if (d7 & 1u << 23) add(c, " -mavx512fp16");
    add(c, " -mprefer-vector-width=512");
    fill_amx(c, saved, d7);
}

/* Intel, "Mitigations for Jump Conditional Code Erratum" (2019): with the microcode of that year, lines of 32 bytes in which a branch
 * ends or which it crosses are not kept in the cache of decoded instructions. */
static bool has_jcc_erratum(void) {
    static const unsigned models[] = {0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0xae};
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(0, &a, &b, &c, &d) || b != signature_INTEL_ebx || !__get_cpuid(1, &a, &b, &c, &d))
        return false;
    unsigned family = a >> 8 & 15, model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    for (size_t i = 0; i < RG_COUNT(models); i++)
        if (family == 6 && model == models[i]) return true;
    return false;
}

static void fill_flags(struct os_cpu *c) {
    unsigned a, b, c1 = 0, d, b7 = 0, c7 = 0, d7 = 0;
    snprintf(c->arch, sizeof c->arch, "x86_64");
    c->jcc_erratum = has_jcc_erratum();
    c->vec_bytes = 16;
    add(c, "-msse2");
    __get_cpuid(1, &a, &b, &c1, &d);
    __get_cpuid_count(7, 0, &a, &b7, &c7, &d7);
    if (c1 & bit_SSE4_2) add(c, " -msse4.2");
    if (c1 & bit_POPCNT) add(c, " -mpopcnt");
    fill_avx(c, c1, b7, c7, d7);
    cpuinfo("model name", c->model, sizeof c->model);
}

#else

static void fill_flags(struct os_cpu *c) { /* a plain build still works: 16-byte vectors, no flags */
    snprintf(c->arch, sizeof c->arch, "unknown");
    c->vec_bytes = 16;
    cpuinfo("model name", c->model, sizeof c->model);
}

#endif

/* One line of a small file under /sys; "" if it is not there. */
static void sys_line(int index, const char *what, char *out, int n) {
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    out[0] = 0;
    FILE *f = fopen(path, "re");
    if (!f) return;
    if (!fgets(out, n, f)) out[0] = 0;
    fclose(f);
}

static void fill_caches(struct os_cpu *c) {
    for (int i = 0; i < 8; i++) {
        char type[32], level[32], size[32];
        sys_line(i, "type", type, sizeof type);
        sys_line(i, "level", level, sizeof level);
        sys_line(i, "size", size, sizeof size);
        if (!type[0] || type[0] == 'I') continue; /* Instruction */
        char *unit;
        int64_t n = strtol(size, &unit, 10);
        n <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0;
        if (level[0] == '1') c->l1 = n;
        if (level[0] == '2') c->l2 = n;
        if (level[0] == '3') c->l3 = n;
    }
    if (!c->l1) c->l1 = RG_MAX(sysconf(_SC_LEVEL1_DCACHE_SIZE), 0);
    if (!c->l2) c->l2 = RG_MAX(sysconf(_SC_LEVEL2_CACHE_SIZE), 0);
    if (!c->l3) c->l3 = RG_MAX(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
}

static void fill_clock(struct os_cpu *c) { /* virtual machines often say nothing */
    double khz = 0;
    char mhz[32];
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
    if (f && fscanf(f, "%lf", &khz) != 1) khz = 0;
    if (f) fclose(f);
    cpuinfo("cpu MHz", mhz, sizeof mhz);
    c->ghz = khz > 0 ? khz * 1e-6 : text_double(mhz, NULL) * 1e-3;
    if (!(c->ghz > 0.1 && c->ghz < 20)) c->ghz = 0;
}

static struct os_cpu this_cpu;
static void fill_this(void) {
    fill_flags(&this_cpu);
    if (!this_cpu.model[0])
        snprintf(this_cpu.model, sizeof this_cpu.model, "%s", this_cpu.arch); /* no /proc */
    fill_caches(&this_cpu);
    fill_clock(&this_cpu);
}

const struct os_cpu *os_cpu(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_this);
    return &this_cpu;
}
