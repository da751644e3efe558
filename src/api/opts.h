/* opts.h: options of ridge.h that grew. A struct of options is passed by value and begins with its size in the caller's header; what
 * lies beyond is not there (docs/abi.md). Tests: tests/abi/grow.awk */
#ifndef RIDGE_API_OPTS_H
#define RIDGE_API_OPTS_H

#include <stddef.h>

/* Did the caller's header have this field? first: bytes of the struct in the release that had it first, for callers that set no size. */
#define OPTS_HAS(o, field, first) \
    (offsetof(__typeof__(o), field) < (size_t)((o).size_ > 0 ? (o).size_ : (int)(first)))

#endif
