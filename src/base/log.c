/* log.c: lines for people, to stderr. A line is formatted whole and written with one call, so that
 * lines of several threads do not mix. Levels are those of DEBUG; level 0 is always printed.
 * Tests: tests/unit/base.c (log_*). */
#include "internal.h"

#include <stdlib.h>
#include <unistd.h>

bool log_on(int level) { return env_int(ENV_DEBUG) >= level; }

bool log_color(void) {
    const char *no = getenv("NO_COLOR"); /* no-color.org: any value but the empty one */
    return !(no && *no) && isatty(STDERR_FILENO);
}

void log_line(int level, const char *fmt, ...) {
    if (level > 0 && !log_on(level)) return;
    char small[1024], *line = small;
    va_list ap;
    va_start(ap, fmt);
    int n = text_vprintf(small, sizeof small - 1, fmt, ap);
    va_end(ap);
    if (n < 0) return;
    size_t len = (size_t)n;
    if (len > sizeof small - 2) { /* source text at DEBUG=4; out of memory prints its beginning */
        line = mem_alloc(len + 2);
        if (line) {
            va_start(ap, fmt);
            text_vprintf(line, len + 1, fmt, ap);
            va_end(ap);
        } else {
            line = small;
            len = sizeof small - 2;
        }
    }
    line[len] = '\n';
    fwrite(line, 1, len + 1, stderr);
    fflush(stderr);
    if (line != small) mem_free(line);
}
