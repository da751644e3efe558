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
# one output per kernel recomputes a+b instead of storing it, and the planner shows both
out=$(DEBUG=3 "$FUSION" 2>&1 >/dev/null)
echo "$out" | grep -q 'chosen  *2 kernels,  *6 reads + *2 writes' || fail "DEBUG=3 does not show the plan that recomputes"
echo "$out" | grep -q 'store all  *3 kernels,  *6 reads + *3 writes' || fail "DEBUG=3 does not show the plan that stores"
"$FUSION" --nonsense 2>/dev/null
[ $? -eq 2 ] || fail "fusion --nonsense: expected status 2"
exit $bad
