#!/bin/sh
# `ridge diff`: a verdict, --fail-above for CI, JSON, errors for people.
set -u
RIDGE=${RIDGE:-build/ridge}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
bad=0
fail() { echo "$*" | cut -c1-300 | head -4; bad=1; }
has() {
    want=$1 words=$2
    shift 2
    out=$("$RIDGE" diff "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "ridge diff $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge diff $*: expected '$words' in: $out" ;; esac
}
t=tests/traces
fast=$t/jax_compute_bound.trace.json.gz slow=$t/jax_overhead.trace.json.gz
has 0 "VERDICT  slower" $fast $slow
has 0 "VERDICT  faster" $slow $fast
has 0 "the same" $fast $fast
has 0 '"rows":[' $fast $slow --json
has 1 "is slower by" $fast $slow --fail-above 5%
has 0 "VERDICT  faster" $slow $fast --fail-above 5%
has 0 "the same" $fast $fast --fail-above 0
has 1 "is no Ridge profile: its steps cannot be looked at alone" $fast $slow --skip 1
has 1 "no timeline to compare" $fast $t/memory_leak.snapshot.pickle
has 1 "No such file" $fast /nowhere/b
has 2 "--fail-above expects a percentage" $fast $slow --fail-above much
has 2 "--by expects kernel" $fast $slow --by colour
has 2 "expected A B" $fast
has 0 "usage: ridge diff" --help
page=$(mktemp) || exit 1
has 0 "PAGE   $page" $fast $slow --html "$page"
grep -q '<script id="comparison" type="application/json">{"a":{"file":' "$page" || fail "the page does not compare"
has 1 "/nowhere/page.html" $fast $slow --html /nowhere/page.html
rm -f "$page"
exit $bad
