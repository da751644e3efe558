#!/bin/sh
# `ridge top`: two programs at once, NVIDIA's GPUs by a library that pretends to be NVIDIA's, JSON and options.
set -u
RIDGE=${RIDGE:-build/ridge}
build=${BUILD_DIR:-build/release}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
here=$(mktemp -d) || exit 1
bad=0
fail() { echo "$*"; bad=1; }
[ -x "$build/planted/forever" ] || { echo "the planted programs are not built"; exit 1; }
mkfifo "$here/a" "$here/b"
RIDGE_DEVICE=CPU "$build/planted/forever" 1000 1000 <"$here/a" & a=$!
RIDGE_DEVICE=CPU "$build/planted/forever" 3000 1000 <"$here/b" & b=$!
exec 8>"$here/a" 9>"$here/b"
trap 'exec 8>&- 9>&-; wait; rm -rf "$here"' EXIT

# look N: both programs, with rates; a machine without a free core may need several looks
seen=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$RIDGE" top --once --json --interval 500 >"$here/out" || fail "ridge top: exit status $?"
    n=$(grep -c "\"pid\":\($a\|$b\),\"program\":\"forever\",\"device\":\"CPU\",.*\"kernels_per_s\":[1-9].*\"step_ns\":[1-9]" "$here/out")
    [ "$n" = 2 ] && { seen=1; break; }
done
[ "$seen" ] || fail "two programs were expected in: $(cat "$here/out")"
# 4 bytes an element: x, and what is between the kernels and after them
for who in "$a 4000" "$b 12000"; do
    set -- $who
    m=$(sed -n "s/.*\"pid\":$1,.*\"memory\":\([0-9]*\).*/\1/p" "$here/out")
    [ "${m:-0}" -ge "$2" ] || fail "program $1 holds at least $2 bytes, found '$m'"
done
"$RIDGE" top --once --interval 100 >"$here/out" || fail "ridge top: exit status $?"
grep -q "^ *$a forever .* CPU " "$here/out" || fail "expected program $a in: $(cat "$here/out")"
if [ -f "$build/fake/libnvidia-ml.so.1" ]; then
    out=$(LD_LIBRARY_PATH=$build/fake "$RIDGE" top --once --interval 10)
    case $out in *'GPU 1  Fake "1"  busy 43%  memory 1234.0 of 150000.0 MB  300 W'*"4242 512.0 MB"*) ;; *) fail "GPUs: $out" ;; esac
    out=$(LD_LIBRARY_PATH=$build/fake "$RIDGE" top --once --json --interval 10)
    case $out in *'"number":1,"name":"Fake \"1\"","busy":0.43,"memory":1234000000,"memory_total":150000000000,"watts":300.5,"processes":[{"pid":4242,"memory":512000000}]'*) ;; *) fail "GPUs: $out" ;; esac
fi
exec 8>&- 9>&-
wait $a || fail "program a: exit status $?"
wait $b || fail "program b: exit status $?"
"$RIDGE" top --once --json --interval 10 >"$here/out"
grep -q "\"pid\":$a," "$here/out" && fail "a program that ended is shown: $(cat "$here/out")"
"$RIDGE" top --interval 0 2>"$here/err" && fail "--interval 0 was taken"
grep -q -- "--interval" "$here/err" || fail "expected --interval in: $(cat "$here/err")"
exit $bad
