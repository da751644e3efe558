#!/bin/sh
# examples/fusion: kernels, reads, writes and bytes of well-known programs are what they ought to be, in both forms.
set -u
FUSION=${BUILD_DIR:-build/release}/examples/fusion
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0} RIDGE_MODEL=tests/machine.txt
bad=0
fail() { echo "$*"; bad=1; }

out=$("$FUSION") || fail "fusion: something differs from what is expected:
$out"
rows=$(echo "$out" | tail -n +2 | wc -l)
[ "$rows" -ge 15 ] || fail "fusion printed $rows rows, expected 15"
json=$("$FUSION" --json) || fail "fusion --json failed"
[ "$(echo "$json" | grep -c '"kernels":')" -eq "$rows" ] || fail "--json has other rows: $json"
# one output per kernel recomputes a+b instead of storing it, and the planner says so
out=$(DEBUG=3 RIDGE_MULTI=0 "$FUSION" 2>&1 >/dev/null)
case $out in *scheduled*) ;; *) fail "DEBUG=3 says nothing about plans" ;; esac
"$FUSION" --nonsense 2>/dev/null
[ $? -eq 2 ] || fail "fusion --nonsense: expected status 2"
exit $bad
