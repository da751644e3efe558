#!/bin/sh
# tools/cycles and the symbols of tools/depcheck: circles of files and calls in the wrong direction are found in planted
# objects, and there are none too many in the real ones.
set -e
root=$(pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() { echo "cycles.sh: $1" >&2; exit 1; }

plant() { # FILE TEXT
    mkdir -p "$dir/src/$(dirname "$1")" "$dir/build/release/obj/src/$(dirname "$1")" "$dir/include"
    echo "$2" > "$dir/src/$1.c"
    ${CC:-gcc} -c -o "$dir/build/release/obj/src/$1.o" "$dir/src/$1.c"
}
plant engine/a 'int b(void); int a(void) { return b(); }'
plant engine/b 'int c(void); int b(void) { return c(); }'
plant engine/c 'int a(void); int d(void); int c(void) { return a() + d(); }'
plant engine/d 'int d(void) { return 0; }'
plant codegen/gpu/low 'int low(void) { return 0; }'
plant codegen/opts/high 'int low(void); int high(void) { return low(); }'
plant codegen/root 'int high(void); int top(void) { return high(); }'

saved=$BUILD_DIR
unset BUILD_DIR
"$root/tools/cycles" -r "$dir" engine=3 codegen=1 > "$dir/out" || fail "a circle within its limit: $(cat "$dir/out")"
grep -Eq '^src/engine: 3: [abc] [abc] [abc] $' "$dir/out" || fail "$(cat "$dir/out")"
if "$root/tools/cycles" -r "$dir" engine=2 > "$dir/out"; then fail "a circle above its limit passed"; fi
grep -q 'src/engine: a circle of 3 files; at most 2 are allowed' "$dir/out" || fail "$(cat "$dir/out")"
if "$root/tools/cycles" -r "$dir" nowhere=2 > "$dir/out"; then fail "a folder that does not exist passed"; fi

if "$root/tools/depcheck" "$dir" > "$dir/out"; then fail "opts/ calling gpu/ passed"; fi
grep -q '/high.c: codegen/opts/ may not use codegen/gpu/ (low of ' "$dir/out" ||
    fail "$(cat "$dir/out")"
grep -q 'root.c' "$dir/out" && fail "the root of codegen may use its sub-folders"

[ -z "$saved" ] || export BUILD_DIR="$saved"
"$root/tools/cycles" engine=2 api=2 tune=5 > "$dir/out" || fail "$(cat "$dir/out")"
