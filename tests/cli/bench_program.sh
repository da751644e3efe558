#!/bin/sh
# `ridge bench -- PROGRAM`: what repeats in every run, with median, least, most and spread that follow from each other.
. "$(dirname "$0")/common"
[ -x "$build/examples/dot" ] || { echo "the examples are not built"; exit 1; }
"$RIDGE" bench --runs 3 -- "$build/examples/dot" > table 2>&1 || fail "dot: $(cat table)"
grep -q "3 runs, 1 before them to warm up, device CPU" table || fail "no head: $(cat table)"
grep -q " r_2 [0-9a-f]*$" table && grep -q "all of it$" table || fail "no kernel, or not the whole: $(cat table)"
grep -q "^11$" table && fail "the program's output stands between the figures"
"$RIDGE" bench --runs 3 --warmup 0 --json -- "$build/examples/dot" > json || fail "no json"
tr '{' '\n' < json | awk -F'[:,}]' '/median_ns/ { n++; for (i = 1; i < NF; i++) { if ($i ~ /"median_ns"/) m = $(i + 1); if ($i ~ /"least_ns"/) l = $(i + 1); if ($i ~ /"most_ns"/) u = $(i + 1); if ($i ~ /"runs"/ && $(i + 1) != 3) bad = 1 }
    if (l + 0 > m + 0 || m + 0 > u + 0) bad = 1 } END { exit !(n >= 2 && !bad) }' || fail "figures that do not follow: $(cat json)"
has 3 "ended with exit status 3" bench -- sh -c 'exit 3'
has 1 "recorded nothing" bench -- true
has 127 "no-such-program" bench -- ./no-such-program
has 2 "expected -- PROGRAM ARGS" bench
has 2 "runs" bench --runs 0 -- true
has 0 "usage: ridge bench" bench --help
exit $bad
