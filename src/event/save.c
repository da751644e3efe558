/* save.c: a list of events as a profile, whole at once: what the flight recorder holds, or the blocks in use. The layout stands
 * in event.h; recorder.c writes the same as it goes, src/analyze/readers/ridge.c reads both.
 * Tests: tests/unit/analyze.c, tests/unit/profile.c */
#include "event/event.h"

static void add_block(struct str *s, uint32_t tag, const void *p, size_t n) {
    struct event_block b = {tag, 0, (uint32_t)n, (uint32_t)n};
    str_addn(s, (const char *)&b, sizeof b);
    str_addn(s, p, n);
}

static void add_name(struct str *s, struct map *seen, uint32_t name) {
    if (!name || map_get(seen, name, NULL)) return;
    bool held = event_name_hold(name);
    const char *t = event_name_text(name);
    uint32_t head[2] = {name, (uint32_t)strlen(t)};
    map_put(seen, name, 1);
    str_addn(s, (const char *)head, sizeof head);
    str_addn(s, t, head[1]);
    if (held) event_name_release(name);
}

int event_save(struct err *e, struct arena *a, const char *path, const struct event_list *l) {
    struct str s, names;
    struct map seen;
    struct event_head head = {.version = EVENT_FILE_VERSION, .bytes = sizeof head, .dropped = l->dropped};
    memcpy(head.magic, EVENT_FILE_MAGIC, sizeof head.magic);
    str_init(&s, a);
    str_init(&names, a);
    map_init(&seen, a);
    for (size_t i = 0; i < l->n; i++) {
        add_name(&names, &seen, l->p[i].name);
        add_name(&names, &seen, l->p[i].info);
    }
    str_addn(&s, (const char *)&head, sizeof head);
    add_block(&s, EVENT_BLOCK_NAMES, names.p, names.n);
    add_block(&s, EVENT_BLOCK_RECORDS, l->p, l->n * sizeof *l->p);
    return os_write_file(e, path, s.p, s.n, 0644);
}
