/* internal.h: what the files of the CPU device share. */
#ifndef RIDGE_CPU_INTERNAL_H
#define RIDGE_CPU_INTERNAL_H

#include "device/device.h"

/* cc.c */
enum { CC_MAX_FLAGS = 64 };
/* Flags for an architecture, and `machine`, those of its instruction set. Strings live in the arena. Returns the count. */
int cc_flags(struct arena *, const char *arch, const char *machine, const char **out);
int cc_target(struct device *, struct err *, struct arena *, struct dev_target *);
int cc_version(struct device *, struct err *, struct arena *, const char **);
int cc_compile(struct device *, struct err *, struct arena *, const char *const *text, int n,
               struct dev_object *out);
int cc_assembly(struct device *, struct err *, struct arena *, const char *text, char **out);

/* sort.c, scatter.c, scan.c: the function of a call; false: not one of theirs */
bool cpu_sort_fn(const struct dev_call *, struct dev_builtin *);
bool cpu_scatter_fn(const struct dev_call *, struct dev_builtin *);
bool cpu_scan_fn(const struct dev_call *, struct dev_builtin *);

/* sort_lanes.c */
struct lane_sort {
    const void *x;
    void *out, *scratch;
    uint32_t n, k; /* elements of a row; wanted */
    uint32_t bytes;
    uint64_t inf; /* bits of infinity; 0: no floats */
    bool is_signed, down, indices;
    size_t pitch; /* of columns: elements from one to the next; 0: rows */
};
struct key_form {
    uint64_t all, top, inf, flip; /* of an element: bits, sign, infinity (0: not a float); what is inverted */
    uint32_t low;                 /* bits of an index below the key */
};
struct key_form cpu_key_form(const struct lane_sort *);
/* NaN and zeros of a row, which share their key: copied behind what is less, as they come. Not for 1 byte. */
void cpu_sort_again(const struct lane_sort *, const struct key_form *);
/* Of rows from the first on: how many it has sorted; the others are faster one by one. */
uint32_t cpu_sort_lanes(const struct lane_sort *, uint32_t rows);
size_t cpu_sort_lanes_scratch(const struct lane_sort *);
/* Columns side by side, COLUMN_BYTES of a row at most: all of them; n is what call_columns_most (ir.h) allows at most. */
enum { COLUMN_BYTES = 1024 };
void cpu_sort_columns(const struct lane_sort *, uint32_t columns);
size_t cpu_sort_columns_scratch(const struct lane_sort *);

/* sort_columns.c: columns to batches of lanes as wide as an element or twice as wide, `each` bytes apart, and the first k back; masked
 * indices as i64. */
void cpu_load_columns(const struct lane_sort *, uint32_t columns, char *lanes, size_t each, uint32_t lane);
void cpu_store_columns(const struct lane_sort *, uint32_t columns, const char *lanes, size_t each,
                       uint64_t mask, uint32_t lane);
/* One of them to a row, or from a row. */
void cpu_copy_column(const void *from, size_t from_step, void *to, size_t to_step, uint32_t n,
                     uint32_t bytes);

/* sort_vectors.c: false: this machine has no such vectors, or the words defy them; they are in another order then. b has as much
 * room as a; scratch memory of cpu_sort_vectors is n words of 4 or 8 bytes, and as much again if the
 * result is no room for words. */
bool cpu_has_sort_vectors(void);
bool cpu_sort_words32(uint32_t *a, uint32_t *b, uint32_t n);
bool cpu_sort_words64(uint64_t *a, uint64_t *b, uint32_t n);
bool cpu_sort_vectors(const struct lane_sort *);

/* sort_registers.c: of a batch of rows in lanes, where the machine has such registers: the rows to lanes of `lane` bytes, which
 * may be twice as wide as an element, positions sorted, bitonic ones merged, and elements or masked indices back. */
bool cpu_has_sort_registers(void);
void cpu_load_registers(const void *x, uint32_t count, uint32_t n, void *lanes, uint32_t bytes,
                        uint32_t lane);
bool cpu_keys_registers(void *lanes, uint32_t n, const struct key_form *, uint32_t width,
                        void *again); /* not of bytes */
void cpu_sort_registers(void *lanes, uint32_t n, uint32_t width);
bool cpu_select_registers(void *lanes, uint32_t n, uint32_t k, uint32_t width); /* false: k is not small */
void cpu_merge_registers(void *lanes, uint32_t n, uint32_t width);
void cpu_store_registers(const void *lanes, uint32_t count, uint32_t k, uint64_t mask, void *out,
                         uint32_t lane, uint32_t bytes);

/* sort_few.c: the indices (u32) of k elements of one row that come first and perhaps some more, in the scratch memory; how
 * many. sorted: they are in order, MOST_RANKED at most; else in that of the row, 2 k at most. */
enum { MOST_RANKED = 120 };
uint32_t cpu_sort_few(const struct lane_sort *, bool *sorted);
size_t cpu_sort_few_scratch(uint32_t n, uint32_t bytes);

/* elf.c */
int elf_load(struct device *, struct err *, const void *object, size_t n, struct module **);
void elf_unload(struct module *);
dev_fn *elf_symbol(struct module *, const char *name);

#endif
