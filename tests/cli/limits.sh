#!/bin/sh
# tools/shape: no function over 80 lines, nesting over 5, struct tag defined twice, folder or page too large. It notices what is over.
. "$(dirname "$0")/common"
command -v python3 > /dev/null || { echo "no python3"; exit 77; }
out=$("$root/tools/shape" --strict) || fail "over a limit of tools/shape: $(echo "$out" | grep '^    ')"
mkdir -p tree/tools tree/src/codegen tree/src/tune tree/docs
cp "$root/tools/shape" tree/tools
{
    echo 'struct twice {'
    echo '};'
    echo 'static int long_one(int x) {'
    for i in 1 2 3 4 5 6 7 8 9; do echo '    x++;'; done
    echo '    if (x)'
    echo '        if (x)'
    echo '            if (x)'
    echo '                if (x)'
    echo '                    if (x)'
    echo '                        if (x) x++;'
    i=0
    while [ $i -lt 80 ]; do echo '    x++;'; i=$((i + 1)); done
    echo '    return x;'
    echo '}'
} > tree/src/codegen/a.c
printf 'struct twice {\n};\n' > tree/src/tune/b.h
printf '# Index\n' > tree/docs/README.md
printf '# Page\n%0130d\n' 7 > tree/docs/page.md
out=$(tree/tools/shape --strict) && fail "all limits hold: $out"
for w in "long_one has 98 lines" "long_one nests 6 deep" "twice is defined 2 times" "page.md:2: 130 columns" "page.md: not in docs/README.md" "shape: 5 over"; do
    case $out in *"$w"*) ;; *) fail "expected '$w' in: $out" ;; esac
done
exit $bad
