#!/bin/sh
# docs/nn.md is true: its programs compile without a warning, and run. A ```c block begins with "// FILE.c", or "// FILE.c,
# continued", which goes on with it.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build/release}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
unset DEBUG DEVICE NOOPT
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
case $build in */asan) more=-fsanitize=address,undefined ;; */tsan) more=-fsanitize=thread ;; *) more= ;; esac
awk -v here="$here" '
/^```c$/ { getline; name = $2; sub(/,$/, "", name); out = here "/" name; if ($3 != "continued") print > out; next }
/^```/ && out { close(out); out = ""; next }
out { print >> out }' "$root/docs/nn.md"
bad=0 n=0
for f in "$here"/*.c; do
    n=$((n + 1))
    ${CC:-cc} -std=gnu17 -Wall -Wextra -Werror $more -I"$root/include" -o "${f%.c}" "$f" "$build/libridge.a" -lz -ldl -lpthread -lm ||
        { echo "docs/nn.md: ${f##*/} does not compile"; bad=1; continue; }
    (cd "$here" && "${f%.c}") > "$here/out" 2>&1 || { echo "docs/nn.md: ${f##*/} fails: $(tail -5 "$here/out")"; bad=1; }
done
[ $n -ge 2 ] || { echo "docs/nn.md: $n programs found"; bad=1; }
exit $bad
