/* tuning_records.c: results of searches as text, in the engine and in the disk cache.
 *
 * Key: hash of cache format, compiler, flags, architecture, machine model, threads and the kernel's text. A record holds every
 * candidate with its predicted and measured time.
 * Tests: tests/unit/tune.c */
#include "tune/search/internal.h"

#include <stdlib.h>

#define TUNED_FORMAT "ridge-tuned 1"

static const char *const state_name[] = {
    [TUNED_TIMED] = "timed",   [TUNED_WRONG] = "wrong",   [TUNED_BASE] = "used",
    [TUNED_WINNER] = "winner", [TUNED_FAILED] = "failed", [TUNED_TRAPPED] = "trapped"};

void record_key(struct engine *en, const struct sched_prog *p, char out[65]) {
    struct sha256 s = en->base;
    uint8_t sum[32];
    char head[128];
    snprintf(head, sizeof head, "%s\nmodel %016llx\nthreads %d\n", TUNED_FORMAT,
             (unsigned long long)en->plans.model_hash, en->ops->workers(en->dev));
    sha256_add(&s, head, strlen(head));
    sha256_add(&s, p->text, strlen(p->text));
    sha256_end(&s, sum);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", sum[i]);
}

void record_print(struct str *s, const struct tuned *t, const char *text) {
    str_printf(s, "%s\nkernel %s\nmachine %s\nthreads %d\nbeam %d\nseconds %.3f\ncaches %s\n", TUNED_FORMAT,
               t->name, t->machine, t->threads, t->beam, t->seconds, t->cold ? "cold" : "warm");
    for (uint32_t i = 0; i < t->row.n; i++)
        str_printf(s, "%s %.4g %.4g %s\n", state_name[t->row.p[i].state], t->row.p[i].predicted * 1e6,
                   t->row.p[i].measured * 1e6, t->row.p[i].opts);
    str_printf(s, "text\n%s", text);
}

static const char *take_line(char **p) {
    char *line = *p, *end = strchr(line, '\n');
    if (!end) return NULL;
    *end = 0;
    *p = end + 1;
    return line;
}

static bool parse_row(const char *line, struct tuned_row *r) {
    for (size_t i = 0; i < RG_COUNT(state_name); i++) {
        size_t n = strlen(state_name[i]);
        if (strncmp(line, state_name[i], n) || line[n] != ' ') continue;
        char *end;
        r->state = (enum tuned_state)i;
        r->predicted = text_double(line + n, &end) * 1e-6;
        r->measured = text_double(end, &end) * 1e-6;
        r->opts = end + (*end == ' ');
        return true;
    }
    return false;
}

/* The checksum was right; false: another format. */
static bool parse_record(struct arena *a, char *data, struct tuned *t) {
    const char *line = take_line(&data);
    *t = (struct tuned){.name = "", .machine = "", .opts = NULL};
    if (!line || strcmp(line, TUNED_FORMAT)) return false;
    while ((line = take_line(&data)) && strcmp(line, "text")) {
        struct tuned_row r;
        if (!strncmp(line, "kernel ", 7))
            t->name = line + 7;
        else if (!strncmp(line, "machine ", 8))
            t->machine = line + 8;
        else if (!strncmp(line, "threads ", 8))
            t->threads = atoi(line + 8);
        else if (!strncmp(line, "beam ", 5))
            t->beam = atoi(line + 5);
        else if (!strncmp(line, "seconds ", 8))
            t->seconds = text_double(line + 8, NULL);
        else if (!strncmp(line, "caches ", 7))
            t->cold = !strcmp(line + 7, "cold");
        else if (parse_row(line, &r)) {
            vec_push(a, &t->row, r);
            if (r.state == TUNED_WINNER) t->opts = r.opts;
        } else
            return false;
    }
    t->text = data;
    return line && t->opts;
}

static struct tuning_records *records_of(struct engine *en) {
    if (en->records) return en->records;
    struct tuning_records *r = arena_new(&en->arena, struct tuning_records);
    map_init(&r->by_key, &en->arena);
    return en->records = r;
}

static uint64_t key_head(const char *key) {
    char head[17];
    snprintf(head, sizeof head, "%s", key);
    return strtoull(head, NULL, 16);
}

struct tuned *record_keep(struct engine *en, const char *key, struct tuned *t) {
    struct tuning_records *r = records_of(en);
    memcpy(t->key, key, 65);
    vec_push(&en->arena, &r->all, t);
    map_put(&r->by_key, key_head(key), r->all.n - 1);
    return t;
}

struct tuned *record_find(struct engine *en, const char *key) {
    const struct tuning_records *r = records_of(en);
    uint64_t at;
    if (map_get(&r->by_key, key_head(key), &at) && !strcmp(r->all.p[at]->key, key)) return r->all.p[at];
    size_t n;
    const char *name = arena_printf(&en->work, "tuned-%s", key);
    char *data = cache_read(&en->cache, &en->arena, name, &n);
    if (!data) return NULL;
    struct tuned *t = arena_new(&en->arena, struct tuned);
    if (parse_record(&en->arena, data, t)) return record_keep(en, key, t);
    cache_reject(&en->cache, name);
    return NULL;
}

void tuning_records(struct engine *en, struct arena *a, tuned_vec *out) {
    const char *const *name;
    uint32_t n = cache_list(&en->cache, a, "tuned-", &name);
    *out = (tuned_vec){0};
    for (uint32_t i = 0; i < n; i++) {
        size_t bytes;
        struct tuned *t = arena_new(a, struct tuned);
        char *data = cache_read(&en->cache, a, name[i], &bytes);
        if (!data || !parse_record(a, data, t)) continue;
        snprintf(t->key, sizeof t->key, "%s", name[i] + strlen("tuned-"));
        vec_push(a, out, t);
    }
}
