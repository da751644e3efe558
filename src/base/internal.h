/* internal.h: what the files of src/base share with each other only. */
#ifndef RIDGE_BASE_INTERNAL_H
#define RIDGE_BASE_INTERNAL_H

#include "base.h"

#define OS_DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin" /* as a shell's */

/* Counts one allocation; true when the fault injection of mem.c wants it to fail. */
bool mem_hit(void);

#endif
