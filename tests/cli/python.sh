#!/bin/sh
# The Python package, a sample of its tests: python/tests. `make test-python` runs all of them.
. "$(dirname "$0")/common"
package=$build/python/ridge
so=$(ls "$package"/_ridge.*.so 2> /dev/null | head -1)
[ -n "$so" ] || { echo "no Python package: python3 3.11 or later with its headers is needed (make python)"; exit 77; }
PYTHONPATH=$build/python "${PYTHON:-python3}" "$root/python/tests/run.py" --sample > log 2>&1 || fail "$(tail -40 log)"
grep -q '^[1-9][0-9]* passed, 0 failed' log || fail "no test ran: $(tail -3 log)"
# The extension gives one name, and finds all of the library in itself.
if command -v nm > /dev/null; then
    out=$(nm -D --defined-only "$so" | awk '{ print $3 }' | grep -v '^PyInit__ridge$')
    [ -z "$out" ] || fail "the extension gives other names: $(echo "$out" | head -3)"
    out=$(nm -D --undefined-only "$so" | awk '{ print $2 }' | grep '^rg_' | head -3)
    [ -z "$out" ] || fail "the extension needs $out"
fi
exit $bad
