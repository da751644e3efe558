/* chains.h: whole random programs of the public API: chains of 5 to 60 functions over shared operands, every kind of view between
 * them, assignments, gradients, replays with other inputs. For tests/unit/chains.c and its longer form.
 *
 * Values are small whole numbers as long as functions are exact, so results are equal bit by bit; from the first function
 * that rounds on, a value carries a bound of its error, and nothing is decided by it (sorts, comparisons, indices). */
#ifndef RIDGE_TEST_CHAINS_H
#define RIDGE_TEST_CHAINS_H

#include "base/base.h"

#include <ridge.h>

struct chain_want {
    uint64_t seed;
    int steps;        /* at most this number; 0: as drawn */
    int output;       /* only this one: -1: all of them */
    int64_t elements; /* of a value at most; 0: 4096, sometimes more */
};

/* Runs the program of the seed on REF and on the device and compares. Returns 0, or why not, in text that lives until the next
 * call: what differs, and the program as C. */
const char *chain_run(const struct chain_want *, const char *device);
/* The same with the fewest steps and outputs for which it still fails. */
const char *chain_shrink(const struct chain_want *, const char *device);

#endif
