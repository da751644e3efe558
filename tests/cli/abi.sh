#!/bin/sh
# The ABI of libridge.so: its names are those of tests/abi/symbols, a program of each release under tests/abi runs with it, and what
# the releases' headers declare is still so. docs/abi.md has the rules; BLESS=1 adds new names to the list.
. "$(dirname "$0")/common"
export LC_ALL=C # one order for sort and comm
command -v nm >/dev/null || { echo "no nm"; exit 77; }
so=$build/libridge.so abi=$root/tests/abi
# As the library was built: a sanitizer must be the program's too.
flags=$(tr ' ' '\n' < "$build/flags" | grep '^-fsanitize')
cc_() { ${CC:-cc} -std=gnu17 -Wall $flags "$@" > why 2>&1 || fail "does not compile: $(head -3 why)"; }

# ---- names
nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort > names
[ -z "${BLESS:-}" ] || sort -u names "$abi/symbols" > new && [ -z "${BLESS:-}" ] || cp new "$abi/symbols"
grep -v '^rg_' names > leaked && fail "libridge.so gives names that are not ours: $(head -5 leaked | tr '\n' ' ')"
gone=$(comm -13 names "$abi/symbols")
[ -z "$gone" ] || fail "programs that call these no longer start (docs/abi.md): $(echo "$gone" | head -5 | tr '\n' ' ')"
new=$(comm -23 names "$abi/symbols")
[ -z "$new" ] || fail "new in libridge.so, BLESS=1 tests/cli/abi.sh adds them to tests/abi/symbols: $(echo "$new" | head -5 | tr '\n' ' ')"
readelf -d "$so" | grep -q 'soname: \[libridge.so.0\]' || fail "the soname is not libridge.so.0"
undefined=$(nm -D --undefined-only "$build/libridge.so" | sed -n 's/.* U \(rg_.*\)/\1/p')
[ -z "$undefined" ] || fail "libridge.so needs $undefined"

# ---- declarations: prototypes, fields, constants
prototypes() {
    sed 's,/\*.*\*/,,' "$1/ridge.h" "$1/ridge_calls.h" | awk '/^RG_(API|FN) / {
        while ($0 !~ /;/ && (getline more) > 0) $0 = $0 " " more
        sub(/^RG_[A-Z]+ /, ""); gsub(/ +/, " "); sub(/;.*/, "")
        print }' | sort
}
layout() {
    awk -f "$abi/layout.awk" "$1/ridge.h" > layout.c
    cc_ -I"$1" -o layout layout.c && ./layout | sed 's/\.zero_ /.size_ /'
}
prototypes "$root/include" > ours.p
layout "$root/include" > ours.l
[ "$(grep -c '^rg_' ours.l)" -gt 150 ] && [ "$(grep -c '^RG_' ours.l)" -gt 50 ] || fail "layout.awk read little: $(wc -l < ours.l) lines"
for old in "$abi"/[0-9]*; do
    v=$(basename "$old")
    prototypes "$old" > old.p
    [ "$(wc -l < old.p)" -gt 600 ] || fail "$v: $(wc -l < old.p) prototypes only"
    changed=$(comm -23 old.p ours.p)
    [ -z "$changed" ] || fail "$v declares it otherwise, give a new function a new name: $changed"
    layout "$old" > old.l
    # Options may grow, by whole fields at their end, as long as they stay in registers or in memory.
    awk -v v="$v" 'NR == FNR { ours[$1] = $2 " " $3; next }
        $1 == "RG_DTYPES" || ours[$1] == $2 " " $3 { next }
        $1 ~ /_opts$/ && ours[$1] + 0 > $2 && (($2 > 16) == (ours[$1] > 16)) { next }
        { print v ": " $0 ", now: " ours[$1] }' ours.l old.l > moved
    [ -s moved ] && fail "what programs of a release pass lies elsewhere: $(cat moved)"
    # ---- a program of that release
    cc_ -I"$old" -c -o client.o "$abi/client.c"
    cc_ -o client client.o "$so" -lm && out=$(LD_LIBRARY_PATH=$build ./client 2>&1) || fail "a program of $v: $out"
    readelf -d client | grep -q 'NEEDED.*\[libridge.so.0\]' || fail "a program of $v needs another file than libridge.so.0"
done

# ---- structs that grow: tests/abi/grow.c is old caller and new callee
cc_ -O2 -I"$root/src" -DCALLEE -c -o callee.o "$abi/grow.c"
cc_ -O2 -I"$root/src" -o grow "$abi/grow.c" callee.o && out=$(./grow) || fail "grown options: $out"

# ---- opened at run time, and closed
cc_ -I"$root/include" -o unload "$abi/unload.c" -ldl -lpthread
case $flags in *sanitize*) ;; *) out=$(./unload "$so" 2>&1) || fail "dlopen: $out" ;; esac
exit $bad
