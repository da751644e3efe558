#!/bin/sh
# `ridge doctor`: every line with its state, what is wrong and what to do; the exit status.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
RIDGE=${RIDGE:-$root/build/ridge}
case $RIDGE in /*) ;; *) RIDGE=$PWD/$RIDGE ;; esac
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
unset DEBUG DEVICE RIDGE_DEVICE RIDGE_THREADS RIDGE_MODEL
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
bad=0
fail() { echo "$*" | cut -c1-600 | head -30; bad=1; }
# doctor STATUS LINE: exit status, and a line that begins so
doctor() {
    out=$("$RIDGE" doctor 2>&1)
    got=$?
    [ $got -eq "$1" ] || fail "exit status $got, expected $1: $out"
    echo "$out" | grep -q "^$2" || fail "expected a line '$2' in: $out"
    echo "$out" | grep -qv "^\(ok  \|warn\|fail\|   \)" && fail "a line without a state: $out"
    [ "$(echo "$out" | grep -c "^warn\|^fail")" -eq "$(echo "$out" | grep -c -e "^ *-> ")" ] || fail "a warning without advice: $out"
}
export XDG_CONFIG_HOME="$here/config"
RIDGE_CACHE_DIR=$here/cache doctor 0 "ok    kernel cache   $here/cache"
doctor 0 "warn  machine file .*is not there: rates are guessed"
RIDGE_MODEL=$root/tests/machine.txt doctor 0 "warn  machine file .* is of test-machine, this is"
RIDGE_MODEL=/nowhere doctor 1 "fail  machine file   /nowhere is not there"
echo nonsense > "$here/machine"
RIDGE_MODEL=$here/machine doctor 1 "fail  machine file .*expected 'ridge-machine 1'"
RIDGE_CACHE=0 doctor 0 "warn  kernel cache   switched off"
mkdir -m 777 "$here/open"
chmod 777 "$here/open"
RIDGE_CACHE_DIR=$here/open doctor 0 "warn  kernel cache"
RIDGE_CC=/nowhere/cc doctor 1 "fail  C compiler"
RIDGE_THREADS=4000 doctor 0 "warn  threads .*RIDGE_THREADS=4000"
doctor 0 "ok    CPU  .*, $(uname -m); it has "
doctor 0 "ok    kernels use .*: [0-9]* registers of [0-9]* bytes; bf16 by .*, i8 by "
for f in avx2 avx512f amx_tile asimd sve; do # what the system names is said, and nothing else
    grep -m1 -e '^flags' -e '^Features' /proc/cpuinfo | grep -qw $f
    want=$?
    echo "$out" | grep '^ok    CPU' | grep -qw $f
    [ $? -eq $want ] || fail "$f: $out"
done
cores=$(getconf _NPROCESSORS_ONLN)
doctor 0 "\(ok  \|warn\)  threads  .* of $cores cores: affinity allows [0-9]*, the cgroup's quota \([0-9]*\|all\)$"
if command -v taskset > /dev/null; then
    first=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    out=$(taskset -c "$first" "$RIDGE" doctor 2>&1)
    case $out in *"1 of $cores cores: affinity allows 1,"*) ;; *) fail "one core by affinity: $out" ;; esac
fi
for c in gcc clang; do
    command -v $c > /dev/null && ! "$RIDGE" doctor 2>&1 | grep '^ok    C compiler' | grep -q "/$c" && fail "$c is not named"
done
doctor 0 "\(ok\|warn\) *counters"
doctor 0 "\(ok\|warn\) *huge pages"
doctor 0 "\(ok\|warn\) *quiet"
doctor 0 "ok *OpenCL"
"$RIDGE" doctor --help | grep -q "usage: ridge doctor" || fail "no help"
"$RIDGE" doctor x > /dev/null 2>&1
[ $? -eq 2 ] || fail "an operand went unnoticed"
exit $bad
