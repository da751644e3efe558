#!/bin/sh
# `ridge profile` and `ridge report`: examples/mnist for three steps, each of its kernels with a line of mnist.c and its layers
# summing to all kernels; a program that fails or is killed; errors for people.
. "$(dirname "$0")/common"

# a small MNIST: the header says how many images there are
cut_idx() { # NAME HEADER BYTES: BYTES bytes after a header of its own
    skip=$(($(printf "$2" | wc -c) + 1))
    { printf "$2"; gzip -dc "$root/data/mnist/$1" | tail -c "+$skip" | head -c "$3"; } | gzip > "$1"
}
cut_idx train-images-idx3-ubyte.gz '\0\0\10\3\0\0\3\350\0\0\0\34\0\0\0\34' 784000
cut_idx train-labels-idx1-ubyte.gz '\0\0\10\1\0\0\3\350' 1000
cut_idx t10k-images-idx3-ubyte.gz '\0\0\10\3\0\0\1\364\0\0\0\34\0\0\0\34' 392000
cut_idx t10k-labels-idx1-ubyte.gz '\0\0\10\1\0\0\1\364' 500

[ -x "$build/examples/mnist" ] && [ -x "$build/examples/dot" ] || { echo "the examples are not built"; exit 1; }
"$RIDGE" profile -- "$build/examples/mnist" --steps 3 --batch 16 --data "$here" > screen 2>&1 || fail "mnist: $(tail -3 screen)"
grep -q "^VERDICT" screen || fail "no verdict: $(cat screen)"
grep -q " sum .* ms 100.0%" screen || fail "the budget does not sum: $(cat screen)"
grep -q "% of roof, .* mnist.c:" screen || fail "no kernel with its roof and line: $(cat screen)"
awk '/^  [a-zA-Z].* ms +[0-9.]+%/ { for (i = 1; i <= NF; i++) if ($i ~ /%$/ && $i != "100.0%") s += $i }
     /^ +sum/ { exit } END { if (s < 99.95 || s > 100.05) { print "the budget is " s " %"; exit 1 } }' screen || bad=1
awk '/^  other/ { if ($(NF) + 0 > 2) exit 1 }' screen || fail "too much is not known: $(cat screen)"
[ -s report.html ] && grep -q "</html>" report.html || fail "no page"
grep -q '<script id="compiled".*\["opts",".*\["linearize","' report.html || fail "the page has no steps of the compiler"
[ -s trace.json ] && [ "$(tail -c 4 trace.json | tr -d '\n')" = "]}" ] || fail "no trace"
"$RIDGE" report ridge.profile --by line > lines || fail "no table by line"
awk 'NR > 1 && $2 > 0 && $NF != "sum" && $NF !~ /^mnist.c:[0-9]+$/ { print "a kernel without a line of mnist.c: " $0; exit 1 }' lines || bad=1
# charged PROGRAM PROFILE STEP INIT..: nodes are shared, lines are not: from the first kernel on that is charged to the function STEP, none is
# charged to one of the functions INIT
charged() {
    source=$root/examples/$1.c profile=$2 step=$3
    shift 3
    "$RIDGE" report "$profile" --rows 1 --by line --csv rows.csv > nothing || fail "no rows"
    awk -v step="$step" -v init=" $* " -v name="$(basename "$source" .c)" '
        NR == FNR { if (match($0, /^[a-z].*[ *][a-z_]+\(.*\{/)) { fn = $0; sub(/\(.*/, "", fn); sub(/.*[ *]/, "", fn) } at[FNR] = fn; next }
        !/,kernel,/ { next }
        { line = $0; if (!sub(".*" name ".c:", "", line)) { print "a kernel without a line: " $0; bad = 1; next } f = at[line + 0] }
        f == step { steps++ }
        steps && index(init, " " f " ") { print "a kernel of a step is charged to " f "(): " $0; bad = 1 }
        END { if (!steps) { print "no kernel is charged to " step "()"; bad = 1 } exit bad }' "$source" rows.csv || bad=1
}
charged mnist ridge.profile step network
PROFILE=gpt2.profile DEVICE=NULL "$build/examples/gpt2" --layers 2 --width 16 --heads 2 --vocab 64 --context 16 --batch 4 --write 0 --steps 3 --text synthetic > out 2>&1 || fail "gpt2: $(tail -2 out)"
charged gpt2 gpt2.profile step affine_new block_new table gpt_new synthetic read_text
"$RIDGE" report ridge.profile --by module --rows 100 > modules || fail "no table by module"
grep -q "net.0$" modules && grep -q "adam$" modules || fail "layers are missing: $(cat modules)"
awk 'NR > 1 && $NF == "sum" { if (s - $3 > 0.02 || $3 - s > 0.02) { print "layers take " s " ms of " $3; exit 1 } }
     NR > 1 { s += $3 }' modules || bad=1
[ "$("$RIDGE" report ridge.profile --by module --rows 1 | wc -l)" -eq 4 ] || fail "--rows 1 is not one row, the rest and the sum"
grep -q "^MEMORY  peak" screen && grep -q " parameters 0.4" screen && grep -q "^RECORDING " screen || fail "no memory by kind, or no cost of recording: $(cat screen)"
"$RIDGE" report ridge.profile --memory --rows 100 > memory || fail "no memory"
awk '/^AT THE PEAK/ { peak = $4 } /^OWNERS/ { exit } $NF == "sum" { if (s != peak || $2 != peak) { print "kinds sum to " s " of " peak; exit 1 } }
     /%/ { s += $2 }' memory || bad=1
"$RIDGE" report ridge.profile --by op --sort memory --rows 3 > ops || fail "no table by op"
has 0 '"verdict":' report ridge.profile --json
has 0 "x asked" report ridge.profile --roof
has 0 "is busy" report ridge.profile --roof --rows 100
grep -q "^AT BEST  .* you take .*x" screen || fail "no speed of light: $(cat screen)"
has 0 "VERDICT" diagnose ridge.profile
has 0 "a Ridge program's export" diagnose trace.json
"$RIDGE" diagnose trace.json | grep -i "torch\|cuda\|dispatch: " && fail "its own export gets advice for PyTorch"

# the environment alone; a file of one's own
PROFILE=mine.profile "$build/examples/dot" > out || fail "dot failed under PROFILE"
has 0 "dot.c:" report mine.profile --by line
[ "$(cat out 2>/dev/null)" = 11 ] || fail "PROFILE changed what dot prints: $(cat out)"
PROFILE=/nowhere/x "$build/examples/dot" > out 2>&1 && fail "a profile that cannot be written went unnoticed"
grep -q "PROFILE=/nowhere/x: cannot create /nowhere/x: No such file or directory" out || fail "not said: $(cat out)"

# the flight recorder of a program that records nothing; names for perf
FLIGHT=last.profile PERFMAP=1 sh -c "rm -f /tmp/perf-\$\$.map; exec '$build/examples/dot'" > out & pid=$!
wait $pid || fail "dot failed under FLIGHT"
has 0 "dot.c:" report last.profile --by line
grep -q "^[0-9a-f]* [0-9a-f]* ." /tmp/perf-$pid.map || fail "no map for perf"
rm -f /tmp/perf-$pid.map

# a program that goes elsewhere first
has 0 "dot.c:" profile --out away.profile -- sh -c "cd / && exec '$build/examples/dot'"
[ -s away.profile ] || fail "the profile is not where it should be"

# what the program does is what the command does
has 3 "recorded nothing" profile -- sh -c 'exit 3'
has 137 "killed by signal 9" profile -- sh -c 'kill -9 $$'
"$RIDGE" profile --out fails.profile -- sh -c "'$build/examples/dot'; exit 5" > out 2>&1
[ $? -eq 5 ] && grep -q "^VERDICT  the program ended with exit status 5: no advice" out || fail "a failed program: $(cat out)"
grep -q "^FIX\|compile:" out && fail "a failed program gets advice: $(cat out)"
has 127 "no-such-program" profile -- ./no-such-program
has 2 "expected -- PROGRAM" profile
has 2 "unknown option --otu, did you mean --out?" profile --otu x -- true
has 0 "usage: ridge profile" profile --help
has 0 "usage: ridge report" report --help
has 2 "expected FILE" report
has 2 "--by expects kernel, op, line, module, shape or class" report mine.profile --by colour
has 2 "--sort expects device, total, host" report mine.profile --by op --sort colour
has 2 "memory has no kernel" report mine.profile --memory --by kernel
has 1 "No such file" report none.profile
has 1 "no Ridge profile" report --roof "$root/tests/traces/memory_leak.snapshot.pickle"
has 0 "aten::convolution_backward" report --by op --sort host "$root/tests/traces/mnist_train_eager.pt.trace.json.gz"
head -c 100000 mine.profile > cut.profile
has 0 "the file ends early" report cut.profile
printf 'RIDGEPRF\1\0\0\0\20\0\0\0' > old.profile
has 1 "is of version 1" report old.profile
exit $bad
