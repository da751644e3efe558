#!/bin/sh
# libridge.a and libridge.so give a program the names of ridge.h and take no other: one that defines a function by every name that Ridge has
# inside links, and computes what it did.
. "$(dirname "$0")/common"
command -v nm >/dev/null || { echo "no nm"; exit 77; }
names() { nm -g --defined-only "$1" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u; }
names "$build/libridge.a" > public
names "$build/libridge-parts.a" > all
grep -v '^rg_' public > leaked && fail "libridge.a leaks $(wc -l < leaked) names: $(head -5 leaked | tr '\n' ' ')"
grep -qx rg_matmul public || fail "rg_matmul is not in libridge.a"
# Names that begin with _ are the compiler's: sanitizers add them.
grep -v -e '^rg_' -e '^_' -e '[^A-Za-z0-9_]' all > inside
grep -qx schedule inside || fail "schedule is not inside: what is tested here?"
{
    echo '#include <stdlib.h>'
    sed 's/.*/void &(void) { abort(); }/' inside
} > clash.c
cat > main.c <<'END'
#include <ridge.h>
#include <stdio.h>
int main(void) {
    rg_ctx *c = rg_open(NULL);
    rg_tensor x = rg_ones(c, RG_F32, RG_SHAPE(30, 100));
    float sum = 0;
    if (rg_read(rg_sum(rg_matmul(x, rg_ones(c, RG_F32, RG_SHAPE(100, 7)))), &sum, sizeof sum))
        fprintf(stderr, "%s\n", rg_error(c));
    printf("%g\n", sum);
    return rg_close(c);
}
END
# As the library was built: a sanitizer must be the program's too.
# shellcheck disable=SC2046
flags=$(tr ' ' '\n' < "$build/flags" | grep '^-fsanitize')
for lib in libridge.a libridge.so; do
    ${CC:-cc} -std=gnu17 -w -fno-builtin $flags -I"$root/include" -o clash main.c clash.c "$build/$lib" -lz -ldl -lpthread -lm 2> why ||
        fail "does not link with $lib: $(head -3 why)"
    out=$(LD_LIBRARY_PATH=$build ./clash 2>&1)
    [ "$out" = 21000 ] || fail "$lib and a program with $(wc -l < inside) names of ours: expected 21000, got $out"
done
exit $bad
