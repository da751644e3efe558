#!/bin/sh
# Every program of bench/ starts: it answers --help with its arguments, without a GPU and without measuring anything.
. "$(dirname "$0")/common"
for f in "$root"/bench/*.c; do
    name=$(basename "$f" .c)
    [ -x "$build/bench/$name" ] || { echo "bench/$name is not built: make test does"; exit 77; }
    out=$(timeout 30 "$build/bench/$name" --help 2>&1)
    case $out in "usage: $name"*) ;; *) fail "bench/$name --help: exit status $?, expected usage, found: $out" ;; esac
done
exit $bad
