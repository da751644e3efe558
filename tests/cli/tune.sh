#!/bin/sh
# ridge tune: a .uop file, a program, --show, wrong usage.
set -e
ridge=${RIDGE:-build/release/ridge}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
RIDGE_CACHE_DIR=$dir/cache RIDGE_THREADS=1
export RIDGE_CACHE_DIR RIDGE_THREADS
unset BEAM RIDGE_BEAM RIDGE_TUNED
fail() { echo "tune.sh: $1" >&2; exit 1; }

"$ridge" tune --show > "$dir/out"
grep -q 'nothing was searched for yet' "$dir/out" || fail "an empty cache"

cat > "$dir/k.uop" <<'END'
kernel mm
a = (PARAM<f32>[0 a] 4096)
b = (PARAM<f32>[1 b] 4096)
o = (PARAM<f32>[2 o] 4096)
m = (RANGE[m GRID 0] 64)
n = (RANGE[n GRID 1] 64)
k = (RANGE[k REDUCE 2] 64)
(SINK (STORE (INDEX o (ADD (MUL m 64) n)) (REDUCE[ADD] (MUL (LOAD (INDEX a (ADD (MUL m 64) k))) (LOAD (INDEX b (ADD (MUL k 64) n)))) k)))
END
"$ridge" tune --beam 2 "$dir/k.uop" > "$dir/out"
grep -Eq '^mm  .*x +[1-9]' "$dir/out" || fail "a file: $(cat "$dir/out")"
"$ridge" tune --show --rows 3 > "$dir/out"
grep -q 'measured us' "$dir/out" && grep -q 'winner: ' "$dir/out" && grep -q '^mm' "$dir/out" || fail "--show"
"$ridge" tune --show --json > "$dir/out"
grep -q '"state": "winner"' "$dir/out" || fail "--show --json"

# The model's ranking: two rounds of 8 forms, the one in use beside them.
"$ridge" tune --model --beam 8 "$dir/k.uop" > "$dir/out"
grep -Eq '^mm +1[67] ' "$dir/out" && grep -Eq "^[01] of 1 kernels: the best of the model's first 8" "$dir/out" || fail "--model: $(cat "$dir/out")"
"$ridge" tune --model > "$dir/out"
grep -q '^mm ' "$dir/out" || fail "--model alone"

# Products from a list, and lists that are none.
printf '# products\nf32 32 48 40 nn\n' > "$dir/shapes"
"$ridge" tune --model --shapes "$dir/shapes" --beam 2 > "$dir/out"
grep -Eq '^f32 32x48x40 nn +[1-5] ' "$dir/out" && grep -Eq '^[01] of 1 products .*warm caches' "$dir/out" || fail "--shapes: $(cat "$dir/out")"
for line in 'f32 1 2 3' 'f64 2 2 2 nn' 'f32 0 2 3 nn' 'f32 2 2 2 tt' '# none'; do
    echo "$line" > "$dir/shapes"
    if "$ridge" tune --model --shapes "$dir/shapes" > "$dir/out" 2> "$dir/err"; then fail "shapes: $line"; fi
    grep -q "$dir/shapes" "$dir/err" || fail "an error message for $line: $(cat "$dir/err")"
done

# A program: here ridge itself, which runs the file without searching; its status is the command's.
"$ridge" tune --beam 2 -- "$ridge" opt --heuristic --run "$dir/k.uop" > "$dir/out" || fail "a program"
grep -q 'nothing was searched for' "$dir/out" || fail "what a program found"
if "$ridge" tune -- sh -c 'test "$RIDGE_BEAM" = 8 && exit 7' > "$dir/out"; then fail "the status of the program"; else
    test $? = 7 || fail "RIDGE_BEAM is not set for the program"
fi
for bad in "" "--shapes x" "--beam 0 x.uop" "--beam 2" "a.uop b.uop" "x.uop -- y"; do
    # shellcheck disable=SC2086
    if "$ridge" tune $bad > "$dir/out" 2> "$dir/err"; then fail "ridge tune $bad should fail"; else
        test $? = 2 || fail "ridge tune $bad: status"
    fi
done
if "$ridge" tune "$dir/none.uop" 2> "$dir/err"; then fail "a file that is not there"; fi
grep -q 'ridge tune: ' "$dir/err" || fail "an error message"
echo ok
