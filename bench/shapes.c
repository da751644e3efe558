/* shapes.c: many different shapes in one process: time and memory of each, and what the caches hold.
 *
 *   shapes [--shapes N] [--cc]
 *
 * Kernels are not what is measured: this program is its own C compiler (RIDGE_CC), which makes every function a bare
 * return, unless --cc says to use the real one. Prints a row each N/20 shapes; ends with the growth of the second half. */
#include "base/base.h"
#include "usage.h"

#include <ridge.h>

#include <elf.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the compiler ------------------------------------------------------------------------------------------- */

enum { SYMBOLS = 16, NAMES = 2048 };
static struct {
    Elf64_Ehdr head;
    Elf64_Shdr section[4];
    Elf64_Sym symbol[SYMBOLS];
    char names[NAMES];
    uint32_t code;
} object;

#ifdef __aarch64__
enum { MACHINE = EM_AARCH64, RETURN = (int)0xd65f03c0 };
#else
enum { MACHINE = EM_X86_64, RETURN = (int)0xc3c3c3c3 };
#endif

static void add_symbols(const char *text) {
    uint32_t n = 1, at = 1;
    for (const char *p = text; (p = strstr(p, "void ")) && n < SYMBOLS; p++) {
        size_t len = strcspn(p + 5, "(");
        if (len < 18 || at + len >= NAMES || p[5 + len - 17] != '_') continue;
        if (strspn(p + 5 + len - 16, "0123456789abcdef") != 16) continue;
        memcpy(object.names + at, p + 5, len);
        object.symbol[n++] = (Elf64_Sym){
            .st_name = at, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1, .st_size = 4};
        at += (uint32_t)len + 1;
    }
}

static int compile(const char *source, const char *out) {
    static char text[1 << 22];
    FILE *f = fopen(source, "r");
    if (!f) return 1;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *base = (char *)&object;
#define AT(x) (uint64_t)((char *)&object.x - base), .sh_size = sizeof object.x
    object.head = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_REL,
                               .e_machine = MACHINE,
                               .e_version = EV_CURRENT,
                               .e_shoff = (uint64_t)((char *)object.section - base),
                               .e_ehsize = sizeof(Elf64_Ehdr),
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = RG_COUNT(object.section)};
    object.section[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                     .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                     .sh_offset = AT(code),
                                     .sh_addralign = 4};
    object.section[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                     .sh_offset = AT(symbol),
                                     .sh_link = 3,
                                     .sh_entsize = sizeof(Elf64_Sym),
                                     .sh_addralign = 8};
    object.section[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_addralign = 1};
    object.code = (uint32_t)RETURN;
    add_symbols(text);
    f = fopen(out, "w");
    return !f || fwrite(&object, sizeof object, 1, f) != 1 || fclose(f);
}

static int as_compiler(int argc, char **argv) {
    const char *source = NULL;
    if (!strcmp(argv[1], "--version")) return puts("shapes 1") < 0;
    for (int i = 1; i < argc; i++) {
        size_t n = strlen(argv[i]);
        if (n > 2 && !strcmp(argv[i] + n - 2, ".c")) source = argv[i];
    }
    return !source || compile(source, argv[argc - 1]);
}

/* ---- the measurement ---------------------------------------------------------------------------------------- */

static long resident_kb(void) {
    long all, now = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &all, &now) != 2) now = 0;
    if (f) fclose(f);
    return now * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Sizes come mixed, none twice (65537 is prime): memory of the largest is not taken for growth by shapes. */
static int one_shape(rg_ctx *c, int64_t i) {
    int64_t n = i * 7919 % 65537;
    static float in[3 * (1 << 16)], out[1 << 16];
    RG_SCOPE(c);
    rg_tensor x = rg_from(c, RG_F32, in, RG_SHAPE(n, 3));
    return rg_read(rg_sum(rg_mul(rg_exp(x), 2.0), RG_AXES(1)), out, sizeof out);
}

static int measure(int shapes) {
    int step = RG_MAX(shapes / 20, 1);
    rg_ctx *c = rg_open("CPU");
    uint64_t t0 = os_now_ns();
    long half = 0;
    printf("%8s %12s %10s %12s\n", "shapes", "ms a shape", "RSS MB", "allocations");
    for (int i = 1; i <= shapes; i++) {
        if (one_shape(c, i)) {
            fprintf(stderr, "shape %d: %s\n", i, rg_error(c));
            return 1;
        }
        if (i == shapes / 2) half = resident_kb();
        if (i % step) continue;
        uint64_t t1 = os_now_ns();
        printf("%8d %12.2f %10.1f %12lld\n", i, 1e-6 * (double)(t1 - t0) / step, (double)resident_kb() / 1024,
               (long long)mem_live());
        fflush(stdout);
        t0 = t1;
    }
    printf("growth of the second half: %ld KiB, %.3f KiB a shape\n", resident_kb() - half,
           (double)(resident_kb() - half) / (shapes - shapes / 2));
    return rg_close(c);
}

int main(int argc, char **argv) {
    if (bench_help(argc, argv, "[--shapes N] [--cc]")) return 0;
    static char self[PATH_MAX];
    int shapes = 20000;
    if (argc > 1 && (!strcmp(argv[1], "--version") || !strncmp(argv[1], "-std", 4)))
        return as_compiler(argc, argv);
    bool real = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cc")) real = true;
        if (!strcmp(argv[i], "--shapes") && i + 1 < argc) shapes = atoi(argv[i + 1]);
    }
    if (!real && readlink("/proc/self/exe", self, sizeof self - 1) > 0) {
        setenv("RIDGE_CC", self, 1);
        setenv("RIDGE_CACHE", "0", 1); /* what it makes must not be found by others */
    }
    return measure(RG_MAX(1, RG_MIN(shapes, 1 << 16)));
}
