/* cache_report.c: the disk cache as a whole: what it holds, whether that is sound, and how it is emptied.
 * Tests: tests/cli/cache.sh */
#include "engine/internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_job {
    struct arena *a;
    struct cache c;
    enum cache_action what;
    uint64_t most;
    struct cache_report *r;
    struct err *e;
};

/* Names in the folder that are ours without being files of the cache. */
static bool is_furniture(const char *name) {
    static const char *const known[] = {".", "..", "tmp", "lock", CACHE_INDEX, "CACHEDIR.TAG"};
    for (size_t i = 0; i < RG_COUNT(known); i++)
        if (!strcmp(name, known[i])) return true;
    return false;
}

static void count(struct report_job *j, DIR *d) {
    struct cache_report *r = j->r;
    for (struct dirent *x; (x = readdir(d));) {
        struct stat st;
        if (is_furniture(x->d_name)) continue;
        if (!cache_is_own(x->d_name) || fstatat(dirfd(d), x->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
            !S_ISREG(st.st_mode)) {
            r->others++;
            continue;
        }
        size_t k = 0, n = strcspn(x->d_name, "-");
        while (strncmp(cache_kinds[k], x->d_name, n) || cache_kinds[k][n]) k++;
        r->kind[k].files++, r->files++;
        r->kind[k].bytes += (uint64_t)st.st_size, r->bytes += (uint64_t)st.st_size;
    }
}

static void verify(struct report_job *j) {
    const char *const *name;
    uint32_t n = cache_list(&j->c, j->a, "", &name);
    for (uint32_t i = 0; i < n; i++) {
        if (!cache_check(&j->c, j->a, name[i])) continue;
        j->r->damaged++;
        cache_reject(&j->c, name[i]);
        char path[4200];
        snprintf(path, sizeof path, "%.4000s/%s", j->c.dir, name[i]);
        j->r->removed += access(path, F_OK) != 0;
    }
    cache_reindex(&j->c, j->a, UINT64_MAX);
}

static void report_guarded(void *arg) {
    struct report_job *j = arg;
    struct cache_report *r = j->r;
    struct str why;
    str_init(&why, j->a);
    cache_open(&j->c, j->a, &why);
    *r = (struct cache_report){
        .dir = j->c.dir, .why = why.n ? why.p : "", .writable = j->c.tmp, .limit = j->c.limit};
    for (size_t i = 0; i < CACHE_KINDS; i++) r->kind[i].name = cache_kinds[i];
    if (!r->dir) return;
    if (!r->writable && (j->what == CACHE_TRIM || j->what == CACHE_CLEAR)) {
        err_set(j->e, RG_EIO, "the cache %s cannot be written: nothing was removed", r->dir);
        return;
    }
    if (j->what == CACHE_VERIFY) verify(j);
    if (j->what == CACHE_TRIM) cache_reindex(&j->c, j->a, j->most);
    if (j->what == CACHE_CLEAR) cache_reindex(&j->c, j->a, 0);
    r->removed += j->c.evicted;
    r->indexed = cache_index_total(&j->c);
    DIR *d = opendir(r->dir);
    if (d) count(j, d), closedir(d);
}

int engine_cache(struct err *e, struct arena *a, enum cache_action what, uint64_t most,
                 struct cache_report *out) {
    struct report_job j = {.a = a, .what = what, .most = most, .r = out, .e = e};
    int code = err_guard(a->err, report_guarded, &j);
    if (code && e != a->err) err_set(e, code, "%s", a->err->msg);
    return e->code;
}
