#!/bin/sh
# `ridge kernels`: the list, one kernel with graph, source and assembly, a graph that `ridge opt` takes, errors for people.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
RIDGE=${RIDGE:-$root/build/ridge}
case $RIDGE in /*) ;; *) RIDGE=$PWD/$RIDGE ;; esac
build=${BUILD_DIR:-$root/build/release}
case $build in /*) ;; *) build=$root/$build ;; esac
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
unset DEBUG DEVICE NOOPT PROFILE RIDGE_PROFILE
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
bad=0
fail() { echo "$*" | cut -c1-400 | head -6; bad=1; }
has() {
    want=$1 words=$2
    shift 2
    out=$("$RIDGE" kernels "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "ridge kernels $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge kernels $*: expected '$words' in: $out" ;; esac
}
[ -x "$build/examples/dot" ] || { echo "the examples are not built"; exit 1; }
has 0 " r_2 " -- "$build/examples/dot"
has 0 " r_2 " # the profile that it left
has 0 "SOURCE" r_2
has 0 "dot.c:13, dot" r_2
has 0 "ASSEMBLY" ridge.profile r_2 --asm
has 0 "r_2:" r_2 --emit asm
has 0 "void r_2(" r_2 --emit source
has 0 '"source":"' --json
has 0 "GRAPH" r_2 -- "$build/examples/dot"
"$RIDGE" kernels r_2 --emit graph > k.uop || fail "no graph"
"$RIDGE" opt k.uop --check > out 2>&1 || fail "the graph is not one for ridge opt: $(cat out)"
has 1 "has no kernel 'r_9'; \`ridge kernels ridge.profile\` lists them" r_9
has 1 "No such file" none.profile r_2
has 1 "no Ridge profile" "$root/tests/traces/memory_leak.snapshot.pickle"
has 1 "recorded nothing" -- true
has 2 "--emit expects graph, source or asm, found 'pdf'" r_2 --emit pdf
has 2 "--emit expects a NAME" --emit asm
has 2 "expected [NAME] -- PROGRAM ARGS" --
has 0 "usage: ridge kernels" --help
exit $bad
