/* kernel_cache.c: the compiled kernels of an engine: found by key, counted by the lists that call them, unloaded by use.
 *
 * Three levels, each owned by the next: a module (a loaded object) has functions, a function (struct code: one text) has
 * kernels, which differ in grid or estimate only. A command list counts the kernels that it calls; one that no list calls
 * is idle, and the one idle for longest goes when there are too many kernels or too many bytes. The last kernel of a
 * function takes it along, and the last function its module, on a GPU after a wait for the stream.
 * Kernels go at one point only, when a new plan is taken in (plans_keep): what a search or a caller of engine_compile
 * holds without a list is safe until then.
 * Tests: tests/unit/kernel_cache.c */
#include "engine/internal.h"

#define KEEP_BYTES ((size_t)256 << 20)

void kernels_init(struct engine *en) {
    en->kernels.most = (uint32_t)RG_MAX(RG_MIN(env_int(ENV_KERNELS), UINT32_MAX), 0);
    en->kernels.most_bytes = KEEP_BYTES;
}

/* The first 64 bits of a sum, by which it is found; the rest is compared. */
uint64_t hex_head(const char *hex) {
    uint64_t h = 0;
    for (int i = 0; i < 16; i++) h = h << 4 | (uint64_t)(hex[i] <= '9' ? hex[i] - '0' : hex[i] - 'a' + 10);
    return h;
}

static void *take(struct engine *en, size_t n) {
    void *p = mem_alloc(n);
    if (!p) err_throw(&en->err, RG_ENOMEM, "out of memory: %zu bytes wanted for a kernel", n);
    return memset(p, 0, n);
}

/* ---- modules ---------------------------------------------------------------------------------------- */

static struct loaded **module_at(struct engine *en, const char *sum) {
    return &en->kernels.module[hex_head(sum) % RG_COUNT(en->kernels.module)];
}

struct loaded *module_find(struct engine *en, const char *sum) {
    struct loaded *m = *module_at(en, sum);
    while (m && strcmp(m->sum, sum)) m = m->chain;
    return m;
}

struct loaded *module_add(struct engine *en, const char *sum, struct module *m, size_t bytes) {
    struct loaded *x = mem_alloc(sizeof *x), **at = module_at(en, sum);
    if (!x) {
        en->ops->unload(m);
        err_throw(&en->err, RG_ENOMEM, "out of memory while loading a kernel");
    }
    *x = (struct loaded){.m = m, .bytes = bytes, .chain = *at};
    memcpy(x->sum, sum, 65);
    arena_init_small(&x->arena, &en->err);
    *at = x;
    en->kernels.modules++;
    en->kernels.bytes += bytes;
    return x;
}

void module_release(struct engine *en, struct loaded *m) {
    if (!m || m->functions) return;
    struct loaded **at = module_at(en, m->sum);
    while (*at != m) at = &(*at)->chain;
    *at = m->chain;
    en->ops->unload(m->m);
    en->kernels.modules--;
    en->kernels.bytes -= m->bytes;
    arena_free(&m->arena);
    mem_free(m);
}

/* ---- functions -------------------------------------------------------------------------------------- */

static struct code **code_at(struct engine *en, const char *key) {
    return &en->kernels.code[hex_head(key) % RG_COUNT(en->kernels.code)];
}

struct code *code_find(struct engine *en, const char *key) {
    struct code *c = *code_at(en, key);
    while (c && strcmp(c->key, key)) c = c->chain;
    return c;
}

struct code *code_add(struct engine *en, const char *key, const char *text, dev_fn *fn, struct loaded *m) {
    size_t n = strlen(text);
    struct code *c = take(en, sizeof *c + n + 1), **at = code_at(en, key);
    memcpy(c->key, key, 65);
    memcpy(c->text, text, n + 1);
    c->fn = fn, c->module = m, c->bytes = sizeof *c + n;
    c->from = m ? FROM_DISK : FROM_DEVICE;
    c->chain = *at;
    *at = c;
    if (m) m->functions++;
    en->kernels.bytes += c->bytes;
    return c;
}

static void code_release(struct engine *en, struct code *c) {
    if (c->kernels) return;
    struct code **at = code_at(en, c->key);
    while (*at != c) at = &(*at)->chain;
    *at = c->chain;
    en->kernels.bytes -= c->bytes;
    if (c->module) {
        c->module->functions--;
        module_release(en, c->module);
    }
    mem_free(c);
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static void link_idle(struct kernel_cache *p, struct knode *k) {
    k->newer = NULL;
    k->older = p->newest;
    *(p->newest ? &p->newest->newer : &p->oldest) = k;
    p->newest = k;
}

static void unlink_idle(struct kernel_cache *p, struct knode *k) {
    *(k->newer ? &k->newer->older : &p->newest) = k->older;
    *(k->older ? &k->older->newer : &p->oldest) = k->newer;
}

static bool same_call(const struct ekernel *k, const struct etext *t) {
    return k->grid == t->grid && k->scratch == t->scratch && k->nbuf == t->nbuf && k->nvar == t->nvar &&
           k->serial == t->serial && k->block == t->block && k->per_block == t->per_block &&
           k->shared == t->shared && k->nmap == t->nmap && !memcmp(k->map, t->map, sizeof t->map) &&
           !memcmp(&k->est, &t->est, sizeof t->est);
}

static struct knode *kernel_new(struct engine *en, struct code *c, const struct etext *t) {
    size_t n = strlen(t->name);
    struct knode *k = mem_alloc(sizeof *k + n + 1);
    if (!k) {
        code_release(en, c);
        err_throw(&en->err, RG_ENOMEM, "out of memory while loading a kernel");
    }
    *k = (struct knode){.code = c, .next = c->kernels};
    memcpy(k->name, t->name, n + 1);
    k->k = (struct ekernel){.name = k->name,
                            .source = c->text,
                            .fn = c->fn,
                            .grid = (uint32_t)t->grid,
                            .nbuf = t->nbuf,
                            .nvar = t->nvar,
                            .scratch = t->scratch,
                            .serial = t->serial,
                            .block = t->block,
                            .per_block = t->per_block,
                            .shared = t->shared,
                            .registers = c->registers,
                            .spills = c->spills,
                            .nmap = t->nmap,
                            .from = c->from,
                            .est = t->est};
    memcpy(k->k.map, t->map, sizeof t->map);
    memcpy(k->k.key, c->key, 65);
    c->kernels = k;
    en->kernels.n++;
    en->kernels.bytes += sizeof *k + n;
    link_idle(&en->kernels, k);
    return k;
}

const struct ekernel *kernel_of(struct engine *en, struct code *c, const struct etext *t) {
    struct knode *k = c->kernels;
    while (k && !same_call(&k->k, t)) k = k->next;
    if (!k) return &kernel_new(en, c, t)->k;
    if (!k->uses) {
        unlink_idle(&en->kernels, k);
        link_idle(&en->kernels, k);
    }
    return &k->k;
}

static struct knode *node_of(const struct ekernel *k) { return (struct knode *)(uintptr_t)k; }

void kernel_use(struct engine *en, const struct ekernel *k) {
    struct knode *x = node_of(k);
    if (!x->uses++) unlink_idle(&en->kernels, x);
}

void kernel_unuse(struct engine *en, const struct ekernel *k) {
    struct knode *x = node_of(k);
    if (!--x->uses) link_idle(&en->kernels, x);
}

static void kernel_drop(struct engine *en, struct knode *k) {
    struct code *c = k->code;
    struct knode **at = &c->kernels;
    while (*at != k) at = &(*at)->next;
    *at = k->next;
    en->kernels.n--;
    en->kernels.bytes -= sizeof *k + strlen(k->name);
    mem_free(k);
    code_release(en, c);
}

void kernels_trim(struct engine *en) {
    struct kernel_cache *p = &en->kernels;
    struct err e = {0};
    if (!p->oldest || (p->n <= p->most && p->bytes <= p->most_bytes)) return;
    if (en->ops->wait && en->ops->wait(en->dev, &e))
        return; /* the device is lost: nothing more is asked of it */
    while (p->oldest && (p->n > p->most || p->bytes > p->most_bytes)) {
        struct knode *k = p->oldest;
        unlink_idle(p, k);
        kernel_drop(en, k);
        p->dropped++;
    }
}

void kernels_free(struct engine *en) {
    struct kernel_cache *p = &en->kernels;
    for (size_t i = 0; i < RG_COUNT(p->code); i++)
        while (p->code[i]) {
            struct code *c = p->code[i]; /* its last kernel takes it along */
            if (c->kernels)
                kernel_drop(en, c->kernels);
            else
                code_release(en, c);
        }
    for (size_t i = 0; i < RG_COUNT(p->module); i++)
        while (p->module[i]) module_release(en, p->module[i]);
}
