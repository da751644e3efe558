/* cubin.c: statistics of machine code for an NVIDIA GPU: registers, spills, widths of memory accesses, MMA instructions.
 * Search and reports rank by it, tests check it.
 *
 * A cubin is an ELF file. A kernel is a section .text.NAME of 16-byte instructions; the low nine bits are the opcode (the
 * next three the operand form), three bits of a memory access its width. Registers and stack are in .nv.info as triples of
 * attribute, symbol index, value; shared memory is the size of .nv.shared.NAME. NVIDIA documents none of it; it has been so
 * from sm_70 to sm_90, and is checked by tests against kernels with known answers. The bytes may come from a file: every
 * offset and count is checked. Tests: tests/unit/cuda.c (cuda_compile_cubin_*) */
#include "device/cuda/internal.h"

#include <elf.h>

enum {
    MACHINE = 190,
    INSTRUCTION = 16,
    MOST_SECTIONS = 1 << 16,
    /* .nv.info: an attribute's form and the two we want */
    FORM_SIZED = 4,
    ATTR_STACK = 0x11,
    ATTR_REGISTERS = 0x2f,
    /* instructions, by their low nine bits */
    OP_LDG = 0x181,
    OP_STG = 0x186,
    OP_LDL = 0x183,
    OP_STL = 0x187,
    OP_LDGSTS = 0x1ae,
    OP_HMMA = 0x03c,
    OP_IMMA = 0x037,
    OP_DMMA = 0x03f,
    OP_HGMMA = 0x1f0,
    OP_QGMMA = 0x1f3,
    WIDTH_16 = 6, /* bytes at once */
};

struct file {
    struct err *e;
    struct arena *a;
    const char *p;
    size_t n;
    uint64_t sections; /* where their table is */
    uint32_t count;
    Elf64_Shdr names;
};

static int damaged(struct file *f, const char *what) {
    return err_set(f->e, RG_EPARSE, "this is no machine code for an NVIDIA GPU that can be read: %s", what);
}

static bool inside(const struct file *f, uint64_t at, uint64_t n) { return at <= f->n && n <= f->n - at; }

/* i < f->count */
static Elf64_Shdr section(const struct file *f, uint32_t i) {
    Elf64_Shdr s;
    memcpy(&s, f->p + f->sections + (uint64_t)i * sizeof s, sizeof s);
    return s;
}

/* A string of a table; NULL if it does not end inside of it. */
static const char *string_at(const struct file *f, const Elf64_Shdr *table, uint32_t at) {
    if (table->sh_type != SHT_STRTAB || !inside(f, table->sh_offset, table->sh_size) || at >= table->sh_size)
        return NULL;
    const char *s = f->p + table->sh_offset + at;
    return memchr(s, 0, table->sh_size - at) ? s : NULL;
}

static int open_file(struct file *f) {
    Elf64_Ehdr h;
    if (f->n < sizeof h) return damaged(f, "too short");
    memcpy(&h, f->p, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB)
        return damaged(f, "not an ELF file of 64 bits");
    if (h.e_machine != MACHINE) return damaged(f, "for another machine");
    f->sections = h.e_shoff, f->count = h.e_shnum;
    if (h.e_shentsize != sizeof(Elf64_Shdr) || f->count > MOST_SECTIONS || h.e_shstrndx >= f->count ||
        !inside(f, f->sections, (uint64_t)f->count * sizeof(Elf64_Shdr)))
        return damaged(f, "its table of sections is outside of it");
    f->names = section(f, h.e_shstrndx);
    return 0;
}

/* ---- instructions --------------------------------------------------------------------------------------------- */

static void count_one(struct cubin_kernel *k, uint64_t lo, uint64_t hi) {
    bool wide = (hi >> 9 & 7) == WIDTH_16;
    switch (lo & 0x1ff) {
    case OP_LDG: k->loads++, k->wide_loads += wide; break;
    case OP_STG: k->stores++, k->wide_stores += wide; break;
    case OP_LDL:
    case OP_STL: k->spills++; break;
    case OP_LDGSTS: k->copies++; break;
    case OP_HMMA:
    case OP_IMMA:
    case OP_DMMA:
    case OP_HGMMA:
    case OP_QGMMA: k->matrix++; break;
    default: break;
    }
}

static int add_kernel(struct file *f, const Elf64_Shdr *s, const char *name, cubin_vec *out) {
    struct cubin_kernel k = {.name = arena_strdup(f->a, name, strlen(name)),
                             .instructions = (uint32_t)RG_MIN(s->sh_size / INSTRUCTION, UINT32_MAX)};
    if (!inside(f, s->sh_offset, s->sh_size)) return damaged(f, "code is outside of it");
    for (uint32_t i = 0; i < k.instructions; i++) {
        uint64_t word[2];
        memcpy(word, f->p + s->sh_offset + (uint64_t)i * INSTRUCTION, sizeof word);
        count_one(&k, word[0], word[1]);
    }
    vec_push(f->a, out, k);
    return 0;
}

/* ---- attributes ------------------------------------------------------------------------------------------------ */

static struct cubin_kernel *by_name(cubin_vec *v, const char *name) {
    for (uint32_t i = 0; name && i < v->n; i++)
        if (!strcmp(v->p[i].name, name)) return &v->p[i];
    return NULL;
}

static const char *symbol_name(const struct file *f, uint32_t number) {
    for (uint32_t i = 0; i < f->count; i++) {
        Elf64_Shdr s = section(f, i);
        if (s.sh_type != SHT_SYMTAB) continue;
        Elf64_Sym sym;
        if (!inside(f, s.sh_offset, s.sh_size) || number >= s.sh_size / sizeof sym || s.sh_link >= f->count)
            return NULL;
        memcpy(&sym, f->p + s.sh_offset + (uint64_t)number * sizeof sym, sizeof sym);
        Elf64_Shdr names = section(f, s.sh_link);
        return string_at(f, &names, sym.st_name);
    }
    return NULL;
}

static int read_attributes(struct file *f, const Elf64_Shdr *s, cubin_vec *out) {
    if (!inside(f, s->sh_offset, s->sh_size)) return damaged(f, "its attributes are outside of it");
    const unsigned char *p = (const unsigned char *)f->p + s->sh_offset;
    for (uint64_t at = 0; at + 4 <= s->sh_size;) {
        unsigned form = p[at], attr = p[at + 1];
        uint64_t n = form == FORM_SIZED ? p[at + 2] | (uint64_t)p[at + 3] << 8 : 0;
        at += 4;
        if (n > s->sh_size - at) return damaged(f, "an attribute is longer than all of them");
        if (n >= 8 && (attr == ATTR_STACK || attr == ATTR_REGISTERS)) {
            uint32_t symbol, value;
            memcpy(&symbol, p + at, 4), memcpy(&value, p + at + 4, 4);
            struct cubin_kernel *k = by_name(out, symbol_name(f, symbol));
            if (k) *(attr == ATTR_STACK ? &k->stack : &k->registers) = value;
        }
        at += n;
    }
    return 0;
}

static const char *after(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return name && !strncmp(name, prefix, n) ? name + n : NULL;
}

int cubin_read(struct err *e, struct arena *a, const void *data, size_t n, cubin_vec *out) {
    struct file f = {.e = e, .a = a, .p = data, .n = n};
    out->n = 0;
    if (open_file(&f)) return e->code;
    for (uint32_t i = 0; i < f.count; i++) {
        Elf64_Shdr s = section(&f, i);
        const char *name = after(string_at(&f, &f.names, s.sh_name), ".text.");
        if (name && s.sh_type == SHT_PROGBITS && add_kernel(&f, &s, name, out)) return e->code;
    }
    for (uint32_t i = 0; i < f.count; i++) {
        Elf64_Shdr s = section(&f, i);
        const char *name = string_at(&f, &f.names, s.sh_name);
        struct cubin_kernel *k = by_name(out, after(name, ".nv.shared."));
        if (k) k->shared = (uint32_t)RG_MIN(s.sh_size, UINT32_MAX);
        if (name && !strcmp(name, ".nv.info") && read_attributes(&f, &s, out)) return e->code;
    }
    return 0;
}

void cubin_print(struct str *s, const struct cubin_kernel *k) {
    str_printf(s, "%s: %u registers, %u instructions, %u of %u loads and %u of %u stores of 16 bytes",
               k->name, k->registers, k->instructions, k->wide_loads, k->loads, k->wide_stores, k->stores);
    if (k->shared) str_printf(s, ", %u bytes shared", k->shared);
    if (k->stack || k->spills)
        str_printf(s, ", %u bytes of stack used by %u instructions", k->stack, k->spills);
    if (k->matrix) str_printf(s, ", %u MMA instructions", k->matrix);
    if (k->copies) str_printf(s, ", %u copies to shared memory", k->copies);
}
