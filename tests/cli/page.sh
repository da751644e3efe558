#!/bin/sh
# The pages of `ridge diagnose --html` and of a Ridge program in headless Chromium; skipped where there is no browser or no selenium.
set -u
RIDGE=${RIDGE:-build/ridge}
build=${BUILD_DIR:-build/release}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
drive() {
    out=$(python3 tests/page/drive.py "$here/page.html" 2>&1)
    status=$?
    [ $status -eq 0 ] || { echo "$1: $out" | tail -5; exit $status; }
}
for t in mnist_train_eager.pt.trace.json.gz memory_leak.snapshot.pickle jax_compute_bound.xplane.pb; do
    "$RIDGE" diagnose "tests/traces/$t" --html "$here/page.html" >/dev/null || exit 1
    drive "$t"
done
"$RIDGE" diff tests/traces/jax_compute_bound.trace.json.gz tests/traces/jax_overhead.trace.json.gz --html "$here/page.html" >/dev/null || exit 1
drive comparison
[ -x "$build/examples/dot" ] || { echo "the examples are not built"; exit 1; }
RIDGE_PROFILE=$here/p "$build/examples/dot" >/dev/null || exit 1
"$RIDGE" report "$here/p" --html "$here/page.html" >/dev/null || exit 1
drive dot
