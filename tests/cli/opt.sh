#!/bin/sh
# `ridge opt` on real files: every form it prints, running, checking, timing, data lines, errors for people.
set -u
RIDGE=${RIDGE:-build/ridge}
# a leak check costs seconds per process under the sanitizer; one run at the end has it
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
small=tests/golden/small
bad=0
fail() { echo "$*" | cut -c1-300 | head -4; bad=1; }

# has STATUS WORDS ARGS..
has() {
    want=$1 words=$2
    shift 2
    out=$("$RIDGE" opt "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "ridge opt $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge opt $*: expected '$words' in: $out" ;; esac
}

# forms
has 0 "matmul: opts TILE(m,4,mr)" $small/matmul.uop
has 0 "matmul: opts none; grid" $small/matmul.uop --noopt
has 0 "(SINK" $small/matmul.uop --emit ir
has 0 "= (END grid)" $small/matmul.uop --emit linear
has 0 "void matmul(void *const *buf" $small/matmul.uop --emit c
has 0 "matmul" $small/matmul.uop --emit asm
has 0 "; after index-width:" $small/matmul.uop --dump all
has 0 "; after opts:" $small/matmul.uop --dump opts,loop-tree
has 0 "linearize" $small/matmul.uop --passes
for p in verify opts finalize-axes loop-tree peel predicate expand coalesce slp decompose index-width linearize cold-branch estimate; do
    has 0 "; after $p:" $small/matmul.uop --dump $p
    has 0 "  $p " --help
done
[ -n "$("$RIDGE" opt $small/matmul.uop --emit tree)" ] || fail "--emit tree prints nothing"

# other machines
has 0 "TILE(n_r,4,n_v)" $small/matmul.uop --heuristic --target neon
has 0 "f32x16" $small/softmax.uop --heuristic --target avx512 --emit c
case $("$RIDGE" opt $small/softmax.uop --heuristic --target neon --emit c | sed -n '/^[A-Z_]*BODY /,$p') in *f32x16*) fail "neon has vectors of 64 bytes" ;; esac
# gcc schedules rows again, never register tiles
"$RIDGE" opt tests/golden/softmax.uop --heuristic --target neon --emit c | grep -q '^SCHEDULED_BODY softmax' || fail "rows are not scheduled"
"$RIDGE" opt $small/matmul.uop --heuristic --target neon --emit c | grep -Eq '^(WINDOW_)?BODY ' || fail "a register tile is scheduled"
cat > "$here/product.uop" <<'END'
kernel product
b0 = (PARAM<bf16>[0 b0] 1048576)
i1 = (RANGE[i1 GRID 1] 1024)
i0 = (RANGE[i0 GRID 0] 1024)
b1 = (PARAM<bf16>[1 b1] 1048576)
k2 = (RANGE[k2 REDUCE 2] 1024)
b2 = (PARAM<bf16>[2 b2] 1048576)
%1 = (MUL (CAST<f32> (LOAD (INDEX b1 (ADD k2 (MUL i0 1024))))) (CAST<f32> (LOAD (INDEX b2 (ADD i1 (MUL k2 1024))))))
(SINK (STORE (INDEX b0 (ADD i1 (MUL i0 1024))) (CAST<bf16> (REDUCE[ADD] %1 k2))))
END
has 0 ",k2_t_t) THREAD" "$here/product.uop" --heuristic --target sm_80
has 0 ",WBF16_" "$here/product.uop" --heuristic --target sm_90a
for p in tma-stores mma warp-specialize threads; do has 0 "; after $p:" "$here/product.uop" --heuristic --target sm_90a --dump all; done
for p in mma pipeline threads; do has 0 "; after $p:" "$here/product.uop" --heuristic --target sm_80 --dump $p; done
has 1 "'peel' is no pass that ran; expected all, verify" "$here/product.uop" --heuristic --target sm_80 --dump peel
has 0 "opts TILE(i0,4,i0_r) REG(i0_r)" "$here/product.uop" --heuristic --target opencl
[ "$("$RIDGE" opt "$here/product.uop" --heuristic --target sm_90a --emit cuda)" = "$("$RIDGE" opt "$here/product.uop" --heuristic --emit cuda)" ] || fail "--emit cuda is not for sm_90a"
has 0 "__kernel" $small/matmul.uop --heuristic --target opencl --emit opencl

# what other machines get: random bits rotate words in one instruction of AVX-512; AMX
cat > "$here/random.uop" <<'END'
kernel draw
o = (PARAM<u32>[0 o] 36864)
i = (RANGE[i GRID 0] 36864)
(SINK (STORE (INDEX o i) (CAST<u32> (THREEFRY (CAST<u64> i) 7:u64))))
END
has 0 "= ROL(v" "$here/random.uop" --heuristic --target avx512 --emit c
has 0 ",k2,TDPBF16PS)" "$here/product.uop" --heuristic --target amx
sed 's/1048576/262144/; s/1024/512/g' "$here/product.uop" > "$here/half.uop"
has 0 "ORDER(i0,i1_t) STAGE(b2,i1,i1_t,i1_r,k2)" "$here/half.uop" --heuristic --target amx --threads 1 # a is read where it is
has 0 "ORDER(b2.k22,b2.k21,b2.i1_t,b2.i1_r1)" "$here/half.uop" --heuristic --target amx --threads 1 # b along its rows
has 2 "--target expects native, neon, avx2, avx512, amx, sm_90a, sm_80 or opencl, found 'sm_8'" $small/matmul.uop --target sm_8
has 2 "another language than --emit asks for" $small/matmul.uop --target sm_80 --emit c
has 2 "another language than --emit asks for" $small/matmul.uop --target neon --emit opencl
has 2 "only prints" $small/matmul.uop --target avx512 --run
has 2 "only prints" $small/matmul.uop --target neon --emit asm

# what --emit ir prints is a .uop file that means the same
for k in softmax matmul argmax gather; do
    "$RIDGE" opt $small/$k.uop --emit ir > "$here/again.uop" || fail "--emit ir of $k"
    sed -n '/^data/p' $small/$k.uop >> "$here/again.uop"
    a=$("$RIDGE" opt $small/$k.uop --ref) b=$("$RIDGE" opt "$here/again.uop" --ref)
    [ "$a" = "$b" ] || fail "$k printed and read back computes something else: $a / $b"
done

# --emit c compiles on its own
"$RIDGE" opt $small/softmax.uop --emit c > "$here/k.c"
${CC:-cc} -c -w -o "$here/k.o" "$here/k.c" || fail "--emit c does not compile"

# running: interpreter and machine agree bit for bit on integers
for k in matmul column_sum transpose_add cumsum; do
    a=$("$RIDGE" opt $small/$k.uop --exact --ref --noopt) b=$("$RIDGE" opt $small/$k.uop --exact --run)
    [ "$a" = "$b" ] || fail "$k: --ref and --run differ: $a / $b"
    a=$("$RIDGE" opt $small/$k.uop --exact --run --threads 1)
    [ "$a" = "$b" ] || fail "$k: one thread and all differ: $a / $b"
done
has 0 "softmax: check ok: 160 values, max abs error" $small/softmax.uop --check
has 0 "check ok" $small/softmax.uop --check --random-opts 7
has 0 "sum_finish: check ok: 1 values" $small/sum_split.uop --check
has 0 "median" $small/matmul.uop --time --runs 5
has 0 "over 5 runs" $small/matmul.uop --time --runs 5

# data lines
cat > "$here/data.uop" <<'END'
kernel copy
x = (PARAM<f32>[0 x] 8)
y = (PARAM<f32>[1 y] 8)
i = (RANGE[i GRID 0] 8)
(SINK (STORE (INDEX y i) (LOAD (INDEX x i))))
END
data() { # WORDS EXPECTED
    { cat "$here/data.uop"; echo "data x = $1"; } > "$here/d.uop"
    has 0 "y: $2" "$here/d.uop" --ref --print y
}
data "iota" "0 1 2 3 4 5 6 7"
data "ones" "1 1 1 1 1 1 1 1"
data "zeros" "0 0 0 0 0 0 0 0"
data "values 3 -1.5" "3 -1.5 3 -1.5 3 -1.5 3 -1.5"
data "randint 4 5" "4 4 4 4 4 4 4 4"
data "tasks 4 6 3" "0 0 4 0 4 2 1 0"
data "uniform 2 2" "2 2 2 2 2 2 2 2"
data "normal 1 0" "1 1 1 1 1 1 1 1"
nodata() { # WORDS ERROR
    { cat "$here/data.uop"; echo "data x = $1"; } > "$here/d.uop"
    has 1 "$2" "$here/d.uop" --ref
}
nodata "uniform 1" "d.uop:6: data x: uniform takes LO HI"
nodata "tasks 0 5" "d.uop:6: data x: 0 is not a number of elements"
nodata "gaussian 1" "found \`gaussian\`"
# the same name is the same bytes in every process
a=$("$RIDGE" opt "$here/data.uop" --ref) b=$("$RIDGE" opt "$here/data.uop" --ref)
[ "$a" = "$b" ] || fail "two runs differ: $a / $b"

# errors say where
printf 'kernel k\nx = (PARAM<f32>[0 x] 8\n' > "$here/bad.uop"
has 1 "bad.uop:" "$here/bad.uop"
has 1 "holds no kernel called 'zig'" $small/matmul.uop --kernel zig
has 1 "choose it with --kernel NAME" $small/sum_split.uop --opts "VEC(k)"
has 1 "no axis" $small/matmul.uop --opts "VEC(zig)"
has 1 "--print: no buffer is called 'zig'" $small/matmul.uop --run --print zig
: > "$here/empty.uop"
has 1 "holds no kernel" "$here/empty.uop"

# DEBUG levels add lines on stderr, never on stdout
out=$(DEBUG=2 "$RIDGE" opt $small/matmul.uop --run 2>&1 >/dev/null)
case $out in *"*** CPU"*"matmul"*"GFLOPS"*) ;; *) fail "DEBUG=2: expected a line for the kernel in: $out" ;; esac
plain=$("$RIDGE" opt $small/matmul.uop --run) loud=$(DEBUG=6 "$RIDGE" opt $small/matmul.uop --run 2>"$here/err")
[ "$plain" = "$loud" ] || fail "DEBUG=6 changes stdout"
grep -q "after opts" "$here/err" || fail "DEBUG=6 prints no passes"

# JSON is JSON
if command -v python3 >/dev/null; then
    "$RIDGE" opt $small/sum_split.uop --check --time --runs 3 --json > "$here/j.json" || fail "--json failed"
    python3 - "$here/j.json" <<'END' || fail "--json is not what it should be"
import json, sys
j = json.load(open(sys.argv[1]))
assert [k["name"] for k in j["kernels"]] == ["sum_partial", "sum_finish"], j
assert all(k["check"]["ok"] and k["time"]["runs"] == 3 for k in j["kernels"]), j
assert {o["name"] for o in j["outputs"]} == {"part", "out"}, j
END
fi

# out of memory anywhere is a message and exit status 1
n=1
while [ $n -le 400 ]; do
    out=$(RIDGE_OOM_AT=$n "$RIDGE" opt $small/softmax.uop --emit c 2>&1 >/dev/null)
    got=$?
    [ $got -eq 0 ] && break
    case $got:$out in 1:*memory*) ;; *) fail "RIDGE_OOM_AT=$n: exit status $got: $out"; break ;; esac
    n=$((n + 1 + n / 8))
done
[ $n -gt 1 ] || fail "out of memory was never simulated"
# nothing is left behind
out=$(ASAN_OPTIONS=detect_leaks=1 "$RIDGE" opt $small/sum_split.uop --check --time --runs 2 --json 2>&1) || fail "leaks: $out"
exit $bad
