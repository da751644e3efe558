#!/bin/sh
# The whole story of the dot product at DEBUG=5, as docs/reading-debug.md tells it, and what each level adds.
set -u
DOT=${BUILD_DIR:-build/release}/examples/dot
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0} RIDGE_MODEL=tests/machine.txt
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
export RIDGE_CACHE_DIR="$here/cache"
bad=0
fail() { echo "$*"; bad=1; }

# say LEVEL: the value goes to stdout, the story to stderr
say() {
    value=$(env DEBUG="$1" NOOPT=1 "$DOT" 2>"$here/err")
    [ "$value" = 11 ] || fail "DEBUG=$1: dot printed '$value', expected 11: $(cat "$here/err")"
}
# has PATTERN WHAT: a line of the story, as an extended regular expression
has() { grep -Eq -- "$1" "$here/err" || fail "DEBUG=$level: no line for $2 ($1)"; }
has_not() { grep -Eq -- "$1" "$here/err" && fail "DEBUG=$level: did not expect $2 ($1)"; }
# before A B: the first line with A stands before the first with B
before() {
    a=$(grep -En -- "$1" "$here/err" | head -1 | cut -d: -f1) b=$(grep -En -- "$2" "$here/err" | head -1 | cut -d: -f1)
    [ "${a:-999999}" -lt "${b:-0}" ] || fail "DEBUG=$level: expected $1 (line ${a:-none}) before $2 (line ${b:-none})"
}

line='arg +[0-9]+ mem +[0-9.]+ GB tm +[0-9.]+us/ +[0-9.]+ms \( +[0-9.]+ GFLOPS +[0-9.]+\|[0-9.]+ +GB/s\)'
level=5
say 5
has '^opened device CPU from pid:[0-9]+$' 'opening the device'
has "^\*\*\* CPU        1 copy        8 B,     CPU <- EXT  +$line\$" 'the copy of a'
has "^\*\*\* CPU        2 copy        8 B,     CPU <- EXT  +$line\$" 'the copy of b'
has '^scheduled     1 kernels in +[0-9.]+ ms \| cache miss [0-9a-f]{8} \| [0-9]+ nodes' 'the plan'
has '^r_2 +opts: none$' 'the opts'
has '^kernel r_2' 'the kernel graph'
has '\(REDUCE' 'the reduction in the kernel graph'
has '\(SINK' 'the sink of the kernel graph'
has 'END' 'the linear program'
has '^void r_2\(void \*const \*buf' 'the source'
has "^\*\*\* CPU        3 r_2  +$line +[0-9]+% of roof, overhead  \[dot dot.c:[0-9]+\]\$" 'the kernel with its call site'
has "^\*\*\* EXT        4 synchronize  +$line\$" 'the wait'
has "^\*\*\* EXT        5 copy        4 B,     EXT <- CPU  +$line\$" 'the copy back'
has '^avg: +[0-9.]+ GFLOPS +[0-9.]+ GB/s +total: +5 operations +1 kernels' 'the summary'
before '^opened' 'CPU        1 copy'
before 'CPU        2 copy' '^kernel r_2'
before '^kernel r_2' '^void r_2'
before '^void r_2' 'CPU        3 r_2'
before 'CPU        3 r_2' 'EXT        4 synchronize'
before 'EXT        5 copy' '^avg:'
n=$(grep -n 'rg_dot' examples/dot.c | head -1 | cut -d: -f1)
has "\[dot dot.c:$n\]" 'the very line of rg_dot'

# three digits of a rate, however small; every operand of the linear program has a line or stands where it is used
has '\( +[0-9]\.[0-9][0-9] GFLOPS +[0-9]\.[0-9][0-9]\|' 'rates with digits'
env DEBUG=5 "$DOT" 2>"$here/lin" > "$here/out"
awk '/^ +[0-9]+ +%[0-9]+ = / { def[$2] = 1; s = $0; sub(/^[^=]*= /, "", s); while (match(s, /%[0-9]+/)) { use[substr(s, RSTART, RLENGTH)] = 1; s = substr(s, RSTART + RLENGTH) } n++ }
     END { for (u in use) if (!(u in def)) { print "DEBUG=5: " u " is used and never printed"; bad = 1 } if (!n) { print "no linear program"; bad = 1 } exit bad }' "$here/lin" || bad=1
level=abc; say abc
has '^DEBUG=abc: expected a level from 0 to 7; 0 is used$' 'a level that is no number'
level='app:*'; say 'app:*'
[ -s "$here/err" ] && fail "another program's DEBUG: $(cat "$here/err")"

level=0; say 0
[ -s "$here/err" ] && fail "DEBUG=0 is not silent: $(cat "$here/err")"
level=1; say 1
has '^opened' 'opening'; has '^avg:' 'the summary'; has '^scheduled' 'the plan'; has_not '^\*\*\*' 'operations'
level=2; say 2
has '^\*\*\*' 'operations'; has_not 'opts:' 'opts'
level=3; say 3
has 'opts:' 'opts'; has_not '^void' 'source'
level=4; say 4
has '^void' 'source'; has_not '^kernel ' 'the kernel graph'
level=6; say 6
has '^; after loop-tree' 'passes'; has_not '\.text' 'assembly'
level=7; say 7
has '\.text' 'assembly'
# no colours unless on a terminal
grep -q "$(printf '\033')" "$here/err" && fail "colours in a file"

# the second process compiles nothing and says the same
level=2; say 2
# devices by the environment; the value comes from the oracle, or from nowhere
value=$(DEVICE=REF "$DOT") || fail "DEVICE=REF failed"
[ "$value" = 11 ] || fail "DEVICE=REF: $value"
value=$(DEVICE=NULL "$DOT") || fail "DEVICE=NULL failed"
[ "$value" = 0 ] || fail "DEVICE=NULL: $value, expected 0: nothing is computed there"
out=$(DEVICE=TPU "$DOT" 2>&1) && fail "DEVICE=TPU worked"
case $out in *'no device is called "TPU"'*) ;; *) fail "DEVICE=TPU: $out" ;; esac
exit $bad
