#!/bin/sh
# The page of `ridge diagnose --html` in headless Chromium; skipped where there is no browser or no selenium.
set -u
RIDGE=${RIDGE:-build/ridge}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
for t in mnist_train_eager.pt.trace.json.gz memory_leak.snapshot.pickle jax_compute_bound.xplane.pb; do
    "$RIDGE" diagnose "tests/traces/$t" --html "$here/page.html" >/dev/null || exit 1
    out=$(python3 tests/page/drive.py "$here/page.html" 2>&1)
    status=$?
    [ $status -eq 0 ] || { echo "$t: $out" | tail -5; exit $status; }
done
