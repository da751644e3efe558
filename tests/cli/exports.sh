#!/bin/sh
# What `ridge report` exports, in the tools it is for: Perfetto's classes and HolisticTraceAnalysis. Skipped where they are not
# installed; EXPORT_PYTHON names a python that has them (pip install perfetto HolisticTraceAnalysis).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
RIDGE=${RIDGE:-$root/build/ridge}
case $RIDGE in /*) ;; *) RIDGE=$PWD/$RIDGE ;; esac
build=${BUILD_DIR:-$root/build/release}
case $build in /*) ;; *) build=$root/$build ;; esac
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
unset DEBUG DEVICE NOOPT PROFILE RIDGE_PROFILE
python=${EXPORT_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "no $python"; exit 77; }
"$python" -c "import perfetto, hta" 2>/dev/null || { echo "perfetto or HolisticTraceAnalysis is not installed"; exit 77; }
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
fail() { echo "$*" | cut -c1-400 | head -6; exit 1; }
(cd "$root" && PROFILE="$here/p" "$build/examples/mlp" 30) > out 2>&1 || fail "mlp: $(tail -3 out)"
"$RIDGE" report p --trace t.json --perfetto t.pftrace --folded t.folded --csv t.csv > screen || fail "no exports: $(cat screen)"
"$RIDGE" report p --json > r.json || fail "no report"
for f in t.json t.pftrace t.folded t.csv; do grep -q " $f (" screen && [ -s $f ] || fail "$f is missing: $(cat screen)"; done
"$python" "$root/tests/export/check.py" t.json t.pftrace r.json
