#!/bin/sh
# Programs with one planted fault each (tests/planted/planted.c), recorded: the fault is among the causes, with its line and what was
# counted, and is gone, or counts less, where the advice is taken. The machine file says that the machine is a thousand times faster
# than the frozen one, so that every kernel is below its roof wherever this runs: nothing here depends on a clock. Which cause comes
# first, and what the advice brings in time: bench/timed/planted.sh.
. "$(dirname "$0")/common"
planted=$build/planted/planted
[ -x "$planted" ] || { echo "$planted is not built"; exit 1; }
awk -F= '/^(clock|l[123].rate|dram)/ { sub(/#.*/, "", $2); printf "%s= %.6g\n", $1, $2 * 1000; next } { print }' \
    "$root/tests/machine.txt" > machine
export RIDGE_MODEL="$here/machine" RIDGE_THREADS=1

# record MODE [--fixed]: the causes in the file `causes`, a line each, and the events in events.csv
record() {
    "$planted" "$@" --steps 10 > /dev/null && PROFILE=$here/p "$planted" "$@" --steps 40 > /dev/null || fail "$*: it does not run"
    "$RIDGE" report p --json > json && "$RIDGE" report p --csv events.csv > /dev/null || fail "$*: no report"
    grep '^ *{"id":' json > causes
}
# planted MODE CAUSE LINE WORDS: the cause is there, at the line with this text of the program (any: anywhere), with the words
planted() {
    record "$1"
    line=$(grep -n "$3" "$root/tests/planted/planted.c" | head -1 | cut -d: -f1)
    [ "$3" != any ] || line='[0-9]+'
    grep "\"id\":\"$2\"" causes | grep -E "\"where\":\"planted.c:$line[,\"]" | grep -q "\"signal\":\"[^\"]*$4" ||
        fail "$1: expected $2 at planted.c:$line, '$4': $(cat causes)"
    grep "\"id\":\"$2\"" causes | grep -q '"fix":"..' || fail "$1: no advice: $(cat causes)"
}
# fixed MODE CAUSE LINE: the same with the advice taken has no such cause at that line, or (WORDS) counts that much
fixed() {
    record "$1" --fixed
    if [ $# -gt 3 ]; then
        grep "\"id\":\"$2\"" causes | grep -q -v "\"signal\":\"[^\"]*$4" && fail "$1 --fixed: expected '$4' or nothing: $(cat causes)"
    else
        line=$(grep -n "$3" "$root/tests/planted/planted.c" | head -1 | cut -d: -f1)
        grep "\"id\":\"$2\"" causes | grep -q "planted.c:$line[,\"]" && fail "$1 --fixed: $2 is still there: $(cat causes)"
    fi
}

# the first of 40 steps plans and compiles: it is start-up, and 39 are counted
step='rg_tensor out, x = r->fixed ? r->data : rg_from'
planted copies transfer.exposed "$step" "39 copies to the device of 163.6 MB in all"
fixed copies transfer.exposed "$step" "0 copies to the device of 0.0 MB in all"
step='if (!r->fixed || i % 20 == 0) rg_read'
planted reads sync "$step" "39 reads of 163.6 MB in all"
fixed reads sync "$step" "1 reads of 4.2 MB in all"
# which of its calls takes longest is a matter of the clock
planted tiny small_kernels any "for each of 3939 kernels"
calls=$(grep -c '^[0-9]*,[0-9]*,[0-9]*,op,' events.csv)
record tiny --fixed
[ "$calls" -gt $((10 * $(grep -c '^[0-9]*,[0-9]*,[0-9]*,op,' events.csv))) ] || fail "tiny: a replayed graph is built in as many calls: $calls"
step='out\[0\] = rg_sum(rg_mul(r->fixed'
planted strided layout "$step" "16 times the bytes it uses are moved"
fixed strided layout "$step"
step='out\[0\] = rg_mul(rg_matmul(r->data, r->other), r->now);'
planted odd shape.alignment "$step" "a GEMM whose size 7 is no multiple of the vector length"
fixed odd shape.alignment "$step"
step='rg_tensor y = rg_mul(rg_matmul'
planted leak memory.growth "$step" "device memory grows by 1.0 MB per step"
fixed leak memory.growth "$step"

# what is as it should be has none of these faults, and each kernel the roof that its operations and bytes give it
sound() { # MODE BOUND
    record "$1"
    grep -E '"id":"(transfer.exposed|sync|small_kernels|layout|shape.alignment|memory.growth)"' causes && fail "$1: a fault that it does not have"
    [ "$(grep -c "^[0-9]*,[0-9]*,[0-9]*,kernel,.*,$2\$" events.csv)" -ge 40 ] || fail "$1: not bound by $2: $(grep ,kernel, events.csv | tail -1)"
}
sound compute compute
sound memory memory
sound healthy compute
exit $bad
