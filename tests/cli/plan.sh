#!/bin/sh
# `ridge opt` on tensor programs: the planned kernels as text that can be fed back, their figures, the planner's log; and
# --heuristic, the list of opts that the library would choose.
set -u
RIDGE=${RIDGE:-build/ridge}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0} RIDGE_MODEL=tests/machine.txt
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
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

cat > "$here/softmax.uop" <<'END'
kernel softmax_rows
x = (BUFFER<f32>[0] 4 1000)
m = (EXPAND (REDUCE_AXES[MAX] x 1) 4 1000)
e = (EXP (SUB x m))
s = (REDUCE_AXES[ADD] e 1)
(GRAPH (FDIV e (EXPAND s 4 1000)))
data buf0 = uniform -4 4
END
# two matrix products with a sum over the rows of the first: several kernels with memory in between, two results
cat > "$here/chain.uop" <<'END'
kernel chain
a = (BUFFER<f32>[0] 24 40 1)
b = (BUFFER<f32>[1] 1 40 16)
c = (BUFFER<f32>[2] 1 16 8)
p = (REDUCE_AXES[ADD] (MUL (EXPAND a 24 40 16) (EXPAND b 24 40 16)) 1)
q = (RESHAPE (MAX p 0.0) 24 16 1)
r = (REDUCE_AXES[ADD] (MUL (EXPAND q 24 16 8) (EXPAND c 24 16 8)) 1)
(GRAPH r (REDUCE_AXES[ADD] p 0))
END
# the same update of tensors of three sizes, by a number that changes: one kernel over all of them
cat > "$here/batch.uop" <<'END'
kernel update
v = (VAR<i32>[0 rate] 1 100)
a = (BUFFER<i32>[0] 300)
b = (BUFFER<i32>[1] 7)
c = (BUFFER<i32>[2] 70000)
(GRAPH (ASSIGN a (MUL a v)) (ASSIGN b (MUL b v)) (ASSIGN c (MUL c v)))
data rate = values 3
END
printf 'kernel small\nx = (BUFFER<i32>[0] 2 3)\n(GRAPH (REDUCE_AXES[ADD] x 1))\ndata buf0 = iota\n' > "$here/small.uop"

# figures, and values that are known
has 0 "; r_4_1000: reads 1, writes 1, 32000 bytes, predicted " "$here/softmax.uop"
has 0 "out0: 3 12" "$here/small.uop" --print out0
has 0 "out0: 3 12" "$here/small.uop" --print out0 --ref
has 0 ": reads 3, writes 3, 562456 bytes" "$here/batch.uop"
has 0 "params 300 7 70000" "$here/batch.uop"
n=$("$RIDGE" opt "$here/chain.uop" | grep -c '^kernel')
[ "$n" -ge 2 ] || fail "chain: $n kernels, expected several"
[ "$("$RIDGE" opt "$here/chain.uop" | grep -c '^; .*: reads')" -eq "$n" ] || fail "chain: not one line of figures per kernel"
"$RIDGE" opt "$here/chain.uop" | grep -q 'temp[0-9]* = (PARAM' || fail "chain: no memory between the kernels"

# what is printed is a .uop file of kernels: it computes the same, and is checked against the plain kernels
for g in softmax chain batch small; do
    "$RIDGE" opt "$here/$g.uop" > "$here/k.uop" || fail "$g: cannot be planned"
    grep -q GRAPH "$here/k.uop" && fail "$g: a GRAPH is left"
    a=$("$RIDGE" opt "$here/$g.uop" --exact --run) b=$("$RIDGE" opt "$here/k.uop" --exact --run)
    [ -n "$a" ] && [ "$a" = "$b" ] || fail "$g printed and read back computes something else: $a / $b"
    [ "$("$RIDGE" opt "$here/k.uop" --emit ir | grep -v '^data')" = "$(grep -v '^[;d]' "$here/k.uop")" ] || fail "$g: the text is not stable"
    has 0 "check ok" "$here/k.uop" --check --heuristic
    has 0 "check ok" "$here/$g.uop" --check --heuristic
    "$RIDGE" opt "$here/$g.uop" --heuristic > "$here/h.uop" || fail "$g --heuristic"
    has 0 "check ok" "$here/h.uop" --check
done
grep -q '^opts ' "$here/h.uop" || "$RIDGE" opt "$here/softmax.uop" --heuristic | grep -q '^opts ' || fail "--heuristic writes no opts"

# the planner's reasons: as comments, or on stderr
has 0 ";   chosen     1 kernels" "$here/softmax.uop" --dump plan
"$RIDGE" opt "$here/softmax.uop" --dump plan > "$here/k.uop"
has 0 "check ok" "$here/k.uop" --check
out=$(DEBUG=3 "$RIDGE" opt "$here/softmax.uop" 2>&1 >/dev/null)
case $out in *"store all  5 kernels"*) ;; *) fail "DEBUG=3 shows no plan: $out" ;; esac
[ "$("$RIDGE" opt "$here/softmax.uop")" = "$(DEBUG=3 "$RIDGE" opt "$here/softmax.uop" 2>/dev/null)" ] || fail "DEBUG=3 changes stdout"
[ "$(RIDGE_SPLIT=0 RIDGE_BATCH=0 "$RIDGE" opt "$here/batch.uop" | grep -c ^kernel)" -eq 3 ] || fail "RIDGE_BATCH=0 is not heard"
[ "$(RIDGE_PLAN=store "$RIDGE" opt "$here/softmax.uop" | grep -c ^kernel)" -eq 5 ] || fail "RIDGE_PLAN=store is not heard"
out=$(RIDGE_PLAN=zig "$RIDGE" opt "$here/softmax.uop" 2>&1) && fail "RIDGE_PLAN=zig worked"
case $out in *"expected cost, store or fuse"*) ;; *) fail "RIDGE_PLAN=zig: $out" ;; esac

# --heuristic on kernels
has 0 "matmul: opts " tests/golden/small/matmul.uop --heuristic
has 0 "check ok" tests/golden/small/softmax.uop --check --heuristic
a=$("$RIDGE" opt tests/golden/small/matmul.uop --heuristic --emit ir | sed -n 's/^opts //p')
has 0 "matmul: opts $a;" tests/golden/small/matmul.uop --opts "$a"
has 2 "--heuristic excludes" tests/golden/small/matmul.uop --heuristic --noopt

# errors
cat "$here/small.uop" tests/golden/small/matmul.uop > "$here/both.uop"
has 1 "is a kernel, and the file also holds tensor programs" "$here/both.uop"
printf 'kernel k\nx = (BUFFER<i32>[0] 2 3)\n(GRAPH x)\n' > "$here/nothing.uop"
has 1 "nothing is computed" "$here/nothing.uop"
# out of memory anywhere is a message and exit status 1; nothing is left behind
n=1
while [ $n -le 2000 ]; do
    out=$(RIDGE_OOM_AT=$n "$RIDGE" opt "$here/batch.uop" 2>&1 >/dev/null)
    got=$?
    [ $got -eq 0 ] && break
    case $got:$out in 1:*memory*) ;; *) fail "RIDGE_OOM_AT=$n: exit status $got: $out"; break ;; esac
    n=$((n + 1 + n / 8))
done
[ $n -gt 1 ] || fail "out of memory was never simulated"
out=$(ASAN_OPTIONS=detect_leaks=1 "$RIDGE" opt "$here/chain.uop" --check 2>&1) || fail "leaks: $out"
has 1 "no buffer is called 'zig'" "$here/softmax.uop" --print zig
exit $bad
