#!/bin/sh
# The ABI of libridge.so: its names are those of tests/abi/symbols, a program of each release under tests/abi runs with it, and what
# the releases' headers declare is still so. docs/abi.md has the rules; `make callsites` adds new names.
. "$(dirname "$0")/common"
export LC_ALL=C # one order for sort and comm
command -v nm >/dev/null || { echo "no nm"; exit 77; }
so=$build/libridge.so abi=$root/tests/abi
# As the library was built: a sanitizer must be the program's too.
flags=$(tr ' ' '\n' < "$build/flags" | grep '^-fsanitize')
cc_() { ${CC:-cc} -std=gnu17 -Wall $flags "$@" > why 2>&1 || fail "does not compile: $(head -3 why)"; }

# ---- names
nm -D --defined-only "$so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort > names
grep -v '^rg_' names > leaked && fail "libridge.so gives names that are not ours: $(head -5 leaked | tr '\n' ' ')"
gone=$(comm -13 names "$abi/symbols")
[ -z "$gone" ] || fail "programs that call these no longer start (docs/abi.md): $(echo "$gone" | head -5 | tr '\n' ' ')"
new=$(comm -23 names "$abi/symbols")
[ -z "$new" ] || fail "new in libridge.so, make callsites adds what ridge.h declares: $(echo "$new" | head -5 | tr '\n' ' ')"
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
# What the header in $1 breaks for programs of the release in old.p and old.l. Options may grow by fields that begin where the struct
# ended, padding included; those of 16 bytes or less only in the registers that they have.
broken() {
    prototypes "$1" > new.p
    layout "$1" > new.l
    comm -23 old.p new.p
    awk 'function words(n) { return n > 16 ? 3 : int((n + 7) / 8) }
        NR == FNR { old[$1] = $2 " " $3; next }
        { new[$1] = $2 " " $3; s = $1; sub(/\..*/, "", s) }
        $1 ~ /\./ && !($1 in old) && (s in old) && $2 < old[s] + 0 { print $0 " lies in the padding of " s }
        END { for (x in old) {
            if (x == "RG_DTYPES" || new[x] == old[x]) continue
            if (x ~ /_opts$/ && new[x] + 0 > old[x] + 0 && words(new[x] + 0) == words(old[x] + 0)) continue
            print x " " old[x] ", now: " new[x]
        } }' old.l new.l
}
for old in "$abi"/[0-9]*; do
    v=$(basename "$old")
    prototypes "$old" > old.p
    layout "$old" > old.l
    [ "$(wc -l < old.p)" -gt 600 ] && [ "$(grep -c '^rg_' old.l)" -gt 150 ] && [ "$(grep -c '^RG_' old.l)" -gt 50 ] ||
        fail "$v: $(wc -l < old.p) prototypes, $(wc -l < old.l) fields and constants only"
    lost=$(broken "$root/include")
    [ -z "$lost" ] || fail "programs of $v pass it otherwise (docs/abi.md): $lost"
    # ---- a program of that release
    cc_ -I"$old" -c -o client.o "$abi/client.c"
    cc_ -o client client.o "$so" -lm && out=$(LD_LIBRARY_PATH=$build ./client 2>&1) || fail "a program of $v: $out"
    readelf -d client | grep -q 'NEEDED.*\[libridge.so.0\]' || fail "a program of $v needs another file than libridge.so.0"
done
# ---- the comparison finds what breaks programs, and lets options grow
mkdir other
try() { # WANT SCRIPT: is what the sed script does to the header found?
    sed "$2" "$root/include/ridge.h" > other/ridge.h
    "$root/tools/callsites" header < other/ridge.h > other/ridge_calls.h
    cmp -s other/ridge.h "$root/include/ridge.h" && fail "this changes nothing: $2"
    lost=$(broken other)
    [ "${lost:+found}" = "$1" ] || fail "abi.sh ${1:+does not find} $2: $lost"
}
try '' 's/^} rg_norm_opts;/    double added;\n&/'
try '' 's/^} rg_resize_opts;/    int added;\n&/'
try found 's/^} rg_norm_opts;/    bool added;\n&/'
try found 's/^} rg_sort_opts;/    double added;\n&/'
try found 's/^} rg_table_opts;/    double added;\n&/'
try found 's/^} rg_usage;/    double added;\n&/'
try found 's/^    double eps; .*/    double added;\n&/'
try found 's/RG_BOOL, RG_I8,/RG_I8, RG_BOOL,/'
try found 's/^RG_FN rg_tensor rg_erf(rg_tensor x);/RG_FN rg_tensor rg_erf(rg_tensor x, int how);/'
try found '/^RG_FN rg_tensor rg_erf(rg_tensor x);/d'

# ---- drawn structs that grow by these rules, passed from old callers to new callees; and by none, which must be seen
grown() {
    for side in old new; do awk -v side=$side -v seed="${SEED:-1}" -v n=60 -v wrong="$1" -f "$abi/grow.awk" > $side.c; done
    ${CC:-cc} -O1 -w -I"$root/src" -o grown old.c new.c || fail "grow.awk writes what does not compile"
    ./grown 2>&1
}
out=$(grown 0) || fail "grown options: $out"
out=$(grown 1 2>&1) && fail "options that grow against the rules are not found: $out"

# ---- opened at run time, and closed
cc_ -I"$root/include" -o unload "$abi/unload.c" -ldl -lpthread
case $flags in *sanitize*) ;; *) out=$(./unload "$so" 2>&1) || fail "dlopen: $out" ;; esac
exit $bad
