/* elf.c: loads a relocatable object (ET_REL) into memory that can be run: the part of a linker that
 * generated kernels need.
 *
 * One mapping holds all allocated sections, then a stub for each function that is not in the object
 * (memcpy, fmaf: whatever the compiler falls back to); it is filled, relocated, and then made readable and
 * executable, never writable again. Loading from bytes that were just checked, and not from a path, means
 * that the file cannot be swapped in between. Everything read from the object is bounds-checked: a damaged
 * object is an error, not a crash.
 * Tests: tests/unit/engine.c (loads, constants, calls of memset, damaged objects) */
#include "device/cpu/internal.h"

#include <elf.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf_module {
    struct module mod;
    char *base; /* the mapping */
    size_t size;
    void *object; /* copy of the bytes: symbol names are looked up in it */
    Elf64_Sym *sym;
    const char *names;
    size_t nsym, names_n;
    uint64_t *section; /* address of each section in the mapping, 0: not loaded */
    size_t nsection;
};

#define STUB 16 /* bytes */

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#define WORD64 R_AARCH64_ABS64
#define DELTA64 R_AARCH64_PREL64
/* ldr x16, #8; br x16; .quad target */
static void write_stub(char *at, uint64_t target) {
    uint32_t code[2] = {0x58000050, 0xd61f0200};
    memcpy(at, code, 8);
    memcpy(at + 8, &target, 8);
}

static void put_bits(char *at, uint64_t v, int low, int n, int to) {
    uint32_t w, mask = ((1u << n) - 1) << to;
    memcpy(&w, at, 4);
    w = (w & ~mask) | ((uint32_t)(v >> low) << to & mask);
    memcpy(at, &w, 4);
}

static bool reach(int64_t v, int bits) {
    return v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1);
}

/* s: symbol plus addend, p: the address patched. */
static bool relocate(unsigned type, char *at, uint64_t s, uint64_t p) {
    int64_t d = (int64_t)(s - p), pages = (int64_t)((s & ~0xfffull) - (p & ~0xfffull));
    switch (type) {
    case R_AARCH64_ABS64: memcpy(at, &s, 8); return true;
    case R_AARCH64_PREL64: memcpy(at, &d, 8); return true;
    case R_AARCH64_PREL32: memcpy(at, &d, 4); return reach(d, 32);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: put_bits(at, (uint64_t)d, 2, 26, 0); return reach(d, 28);
    case R_AARCH64_LD_PREL_LO19:
    case R_AARCH64_CONDBR19: put_bits(at, (uint64_t)d, 2, 19, 5); return reach(d, 21);
    case R_AARCH64_ADR_PREL_LO21:
        put_bits(at, (uint64_t)d, 0, 2, 29);
        put_bits(at, (uint64_t)d, 2, 19, 5);
        return reach(d, 21);
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADR_PREL_PG_HI21_NC:
        put_bits(at, (uint64_t)pages, 12, 2, 29);
        put_bits(at, (uint64_t)pages, 14, 19, 5);
        return reach(pages, 33);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: put_bits(at, s & 0xfff, 0, 12, 10); return true;
    case R_AARCH64_LDST16_ABS_LO12_NC: put_bits(at, s & 0xfff, 1, 12, 10); return true;
    case R_AARCH64_LDST32_ABS_LO12_NC: put_bits(at, s & 0xfff, 2, 12, 10); return true;
    case R_AARCH64_LDST64_ABS_LO12_NC: put_bits(at, s & 0xfff, 3, 12, 10); return true;
    case R_AARCH64_LDST128_ABS_LO12_NC: put_bits(at, s & 0xfff, 4, 12, 10); return true;
    default: return false;
    }
}
#elif defined(__x86_64__)
#define MACHINE EM_X86_64
#define WORD64 R_X86_64_64
#define DELTA64 R_X86_64_PC64
/* jmp *2(%rip); two bytes of padding; .quad target */
static void write_stub(char *at, uint64_t target) {
    static const unsigned char code[8] = {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc};
    memcpy(at, code, 8);
    memcpy(at + 8, &target, 8);
}

static bool relocate(unsigned type, char *at, uint64_t s, uint64_t p) {
    int64_t d = (int64_t)(s - p);
    switch (type) {
    case R_X86_64_64: memcpy(at, &s, 8); return true;
    case R_X86_64_PC64: memcpy(at, &d, 8); return true;
    case R_X86_64_PC32:
    case R_X86_64_PLT32: memcpy(at, &d, 4); return d == (int32_t)d;
    default: return false;
    }
}
#else
#define MACHINE EM_NONE
#define WORD64 0
#define DELTA64 0
static void write_stub(char *at, uint64_t target) { (void)at, (void)target; }
static bool relocate(unsigned type, char *at, uint64_t s, uint64_t p) {
    return (void)type, (void)at, (void)s, (void)p, false;
}
#endif

/* What a compiler may call although the text does not. */
static uint64_t outside(const char *name) {
    static const struct {
        const char *name;
        uint64_t at;
    } known[] = {
        {"memcpy", (uintptr_t)memcpy}, {"memset", (uintptr_t)memset}, {"memmove", (uintptr_t)memmove},
        {"fmaf", (uintptr_t)fmaf},     {"fma", (uintptr_t)fma},       {"sqrtf", (uintptr_t)sqrtf},
        {"sqrt", (uintptr_t)sqrt},     {"floorf", (uintptr_t)floorf}, {"floor", (uintptr_t)floor},
        {"ceilf", (uintptr_t)ceilf},   {"ceil", (uintptr_t)ceil},     {"truncf", (uintptr_t)truncf},
        {"trunc", (uintptr_t)trunc},   {"rintf", (uintptr_t)rintf},   {"rint", (uintptr_t)rint},
    };
    for (size_t i = 0; i < RG_COUNT(known); i++)
        if (!strcmp(known[i].name, name)) return known[i].at;
    return (uintptr_t)os_dlsym(NULL, name);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

struct image {
    struct err *e;
    const char *data;
    size_t n;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sec;
    size_t stubs; /* offset of the stubs in the mapping */
};

static int damaged(struct image *im, const char *what) {
    return err_set(im->e, RG_ECOMPILE, "the compiler's object cannot be loaded: %s", what);
}

static bool inside(const struct image *im, uint64_t at, uint64_t n) { return at <= im->n && n <= im->n - at; }

/* Constants that hold addresses are writable only until those are filled in: .data.rel.ro and its kin. */
static bool only_relocated(const struct image *im, const Elf64_Ehdr *h, const Elf64_Shdr *s) {
    static const char prefix[] = ".data.rel.ro";
    if (h->e_shstrndx >= h->e_shnum) return false;
    const Elf64_Shdr *names = &im->sec[h->e_shstrndx];
    if (names->sh_type != SHT_STRTAB || !inside(im, names->sh_offset, names->sh_size)) return false;
    if (s->sh_name >= names->sh_size || names->sh_size - s->sh_name < sizeof prefix) return false;
    return !memcmp(im->data + names->sh_offset + s->sh_name, prefix, sizeof prefix - 1);
}

static int check_head(struct image *im) {
    if (im->n < sizeof *im->head) return damaged(im, "it is too short");
    const Elf64_Ehdr *h = im->head = (const Elf64_Ehdr *)im->data;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL)
        return damaged(im, "it is not a 64-bit relocatable ELF file");
    if (h->e_machine != MACHINE) return damaged(im, "it is for another machine");
    if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
        !inside(im, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return damaged(im, "its section table is damaged");
    im->sec = (const Elf64_Shdr *)(im->data + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = &im->sec[i];
        if (s->sh_type != SHT_NOBITS && s->sh_type != SHT_NULL && !inside(im, s->sh_offset, s->sh_size))
            return damaged(im, "a section lies outside the file");
        if ((s->sh_flags & SHF_ALLOC) && (s->sh_flags & SHF_WRITE) && s->sh_size && !only_relocated(im, h, s))
            return damaged(im, "it has writable data, which kernels do not have");
    }
    return 0;
}

static int find_symbols(struct image *im, struct elf_module *m) {
    for (unsigned i = 0; i < im->head->e_shnum; i++) {
        const Elf64_Shdr *s = &im->sec[i];
        if (s->sh_type != SHT_SYMTAB) continue;
        if (s->sh_link >= im->head->e_shnum || s->sh_offset % 8)
            return damaged(im, "its symbol table is damaged");
        const Elf64_Shdr *names = &im->sec[s->sh_link];
        m->sym = (Elf64_Sym *)(im->data + s->sh_offset);
        m->nsym = s->sh_size / sizeof(Elf64_Sym);
        m->names = im->data + names->sh_offset;
        m->names_n = names->sh_size;
        if (!m->names_n || m->names[m->names_n - 1]) return damaged(im, "its names are damaged");
        for (size_t k = 0; k < m->nsym; k++)
            if (m->sym[k].st_name >= m->names_n) return damaged(im, "a symbol has no name");
        return 0;
    }
    return damaged(im, "it has no symbols");
}

/* ---- placing and relocating ------------------------------------------------------------------------- */

static int layout_sections(struct image *im, struct elf_module *m) {
    uint64_t at = 0;
    for (unsigned i = 0; i < m->nsection; i++) {
        const Elf64_Shdr *s = &im->sec[i];
        if (!(s->sh_flags & SHF_ALLOC) || !s->sh_size || s->sh_type == SHT_NOTE) continue;
        uint64_t align = RG_MAX(s->sh_addralign, 1);
        if (align & (align - 1) || align > 4096 || s->sh_size > (uint64_t)1 << 30)
            return damaged(im, "a section is damaged");
        at = (at + align - 1) & ~(align - 1);
        m->section[i] = at + 1; /* + base - 1 later */
        at += s->sh_size;
    }
    im->stubs = (at + STUB - 1) & ~(uint64_t)(STUB - 1);
    m->size = im->stubs + m->nsym * STUB;
    m->base = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->base == MAP_FAILED) {
        m->base = NULL;
        return err_set(im->e, RG_ENOMEM, "no memory for %zu bytes of code", m->size);
    }
    for (unsigned i = 0; i < m->nsection; i++) {
        if (!m->section[i]) continue;
        m->section[i] += (uintptr_t)m->base - 1;
        if (im->sec[i].sh_type != SHT_NOBITS)
            memcpy((void *)m->section[i], im->data + im->sec[i].sh_offset, im->sec[i].sh_size);
    }
    return 0;
}

static int symbol_address(struct image *im, struct elf_module *m, size_t k, uint64_t *out) {
    const Elf64_Sym *s = &m->sym[k];
    if (s->st_shndx == SHN_UNDEF) {
        const char *name = m->names + s->st_name;
        uint64_t target = *name ? outside(name) : 0;
        if (!target)
            return err_set(im->e, RG_ECOMPILE, "generated code calls %s, which this process does not have",
                           name);
        char *stub = m->base + im->stubs + k * STUB;
        write_stub(stub, target);
        *out = (uintptr_t)stub;
        return 0;
    }
    if (s->st_shndx >= m->nsection || !m->section[s->st_shndx])
        return damaged(im, "a symbol lies in no section");
    *out = m->section[s->st_shndx] + s->st_value;
    return 0;
}

static int relocate_section(struct image *im, struct elf_module *m, const Elf64_Shdr *s) {
    if (s->sh_info >= m->nsection || s->sh_offset % 8) return damaged(im, "a relocation table is damaged");
    const Elf64_Shdr *in = &im->sec[s->sh_info];
    uint64_t base = m->section[s->sh_info];
    if (!base) return 0; /* of debug information or notes */
    const Elf64_Rela *r = (const Elf64_Rela *)(im->data + s->sh_offset);
    for (size_t i = 0; i < s->sh_size / sizeof *r; i++) {
        size_t k = ELF64_R_SYM(r[i].r_info);
        unsigned type = ELF64_R_TYPE(r[i].r_info);
        uint64_t at = 0, bytes = type == WORD64 || type == DELTA64 ? 8 : 4;
        if (k >= m->nsym || r[i].r_offset > in->sh_size || in->sh_size - r[i].r_offset < bytes)
            return damaged(im, "a relocation lies outside its section");
        if (symbol_address(im, m, k, &at)) return im->e->code;
        if (!relocate(type, (char *)base + r[i].r_offset, at + (uint64_t)r[i].r_addend, base + r[i].r_offset))
            return err_set(im->e, RG_ECOMPILE,
                           "the compiler's object has a relocation of type %u that cannot be applied", type);
    }
    return 0;
}

static int fill(struct image *im, struct elf_module *m) {
    if (check_head(im) || find_symbols(im, m)) return im->e->code;
    m->nsection = im->head->e_shnum;
    m->section = mem_alloc((m->nsection + 1) * sizeof *m->section);
    if (!m->section) return err_set(im->e, RG_ENOMEM, "out of memory while loading a kernel");
    memset(m->section, 0, (m->nsection + 1) * sizeof *m->section);
    if (layout_sections(im, m)) return im->e->code;
    for (unsigned i = 0; i < m->nsection; i++)
        if (im->sec[i].sh_type == SHT_RELA && relocate_section(im, m, &im->sec[i])) return im->e->code;
    if (mprotect(m->base, m->size, PROT_READ | PROT_EXEC))
        return err_set(im->e, RG_EDEVICE,
                       "this system does not let a process run code that it made (mprotect)");
    __builtin___clear_cache(m->base, m->base + m->size);
    return 0;
}

/* A line for each function, for perf: address, bytes, name. Failing is no error: it is for people who look. */
static void write_perf_map(const struct elf_module *m) {
    char path[40], line[300];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    bool ours = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    for (size_t k = 0; ours && k < m->nsym; k++) {
        const Elf64_Sym *s = &m->sym[k];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx >= m->nsection || !m->section[s->st_shndx])
            continue;
        int n = snprintf(line, sizeof line, "%llx %llx %.200s\n",
                         (unsigned long long)(m->section[s->st_shndx] + s->st_value),
                         (unsigned long long)s->st_size, m->names + s->st_name);
        if (write(fd, line, (size_t)n) != n) break;
    }
    if (fd >= 0) close(fd);
}

int elf_load(struct device *dev, struct err *e, const void *object, size_t n, struct module **out) {
    struct elf_module *m = mem_alloc(sizeof *m);
    void *copy = mem_alloc(n + 1);
    if (!m || !copy) {
        mem_free(m), mem_free(copy);
        return err_set(e, RG_ENOMEM, "out of memory while loading a kernel");
    }
    memcpy(copy, object, n);
    *m = (struct elf_module){.mod.dev = dev, .object = copy};
    struct image im = {.e = e, .data = copy, .n = n};
    if (fill(&im, m)) {
        elf_unload(&m->mod);
        return e->code;
    }
    if (env_int(ENV_PERFMAP)) write_perf_map(m);
    *out = &m->mod;
    return 0;
}

void elf_unload(struct module *mod) {
    struct elf_module *m = (struct elf_module *)mod;
    if (!m) return;
    if (m->base) munmap(m->base, m->size);
    mem_free(m->section);
    mem_free(m->object);
    mem_free(m);
}

dev_fn *elf_symbol(struct module *mod, const char *name) {
    const struct elf_module *m = (const struct elf_module *)mod;
    for (size_t k = 0; k < m->nsym; k++) {
        const Elf64_Sym *s = &m->sym[k];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx >= m->nsection || !m->section[s->st_shndx])
            continue;
        if (strcmp(m->names + s->st_name, name) == 0)
            return (dev_fn *)(uintptr_t)(m->section[s->st_shndx] + s->st_value);
    }
    return NULL;
}
