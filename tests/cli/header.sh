#!/bin/sh
# Every function of include/ridge.h is used by a test. What the tests use is what their objects leave to the linker, so that tables
# and macros count and a name in a comment does not: rg_NAME, or rg_NAME_at, which the macros of the header call.
set -e
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sed -n 's/^RG_\(FN\|API\) .*[ *]\(rg_[a-z0-9_]*\)(.*/\2/p' include/ridge.h | sort -u > "$dir/declared"
n=$(grep -c '^RG_\(FN\|API\) ' include/ridge.h)
[ "$(wc -l < "$dir/declared")" -eq "$n" ] || { echo "ridge.h has $n prototypes, and not all could be read"; exit 1; }
for source in tests/*.c tests/unit/*.c tests/semantics/*.c; do
    nm -u "${BUILD_DIR:-build/release}/obj/${source%.c}.o"
done | sed -n 's/.* U \(rg_[a-z0-9_]*\)$/\1/p' | sed 's/_at$//' | sort -u > "$dir/used"
missing=$(comm -23 "$dir/declared" "$dir/used")
[ -z "$missing" ] || { echo "no test uses" $missing; exit 1; }
echo "each of the $n functions of ridge.h is used by a test"
