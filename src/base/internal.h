/* internal.h: what the files of src/base share with each other only. */
#ifndef RIDGE_BASE_INTERNAL_H
#define RIDGE_BASE_INTERNAL_H

#include "base.h"

#include <spawn.h>

#define OS_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin" /* as a shell's */

/* Counts one allocation; true when the fault injection of mem.c wants it to fail. */
bool mem_hit(void);

/* str.c: bytes of the next character of a text; bad: it is no UTF-8, or moves the cursor or changes colors (C0 but for
 * lines and tabs, DEL, C1). */
size_t text_next(const char *, bool *bad);

/* os_run.c: starts a program with signals as it expects them, whatever the host does with its own, as the head of a process
 * group. 0 or an errno. */
int os_spawn(pid_t *, const char *file, char *const *argv, posix_spawn_file_actions_t *);

#endif
