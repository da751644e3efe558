#!/bin/sh
# examples/gpt2 trains as PyTorch does: from the same weights and tokens the losses of twelve steps are those of tests/values/gpt2.txt,
# in f32 and with products in bf16. Every kernel's lines are those that asked for its work (DEBUG=2). And its options say what is wrong with them.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build/release}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
unset DEBUG DEVICE NOOPT
gpt2=$build/examples/gpt2 values=$root/tests/values/gpt2 bad=0
small="--layers 2 --width 16 --heads 2 --vocab 64 --context 16 --batch 4 --write 0 --clip 0"
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
complain() { echo "gpt2.sh: $*"; bad=1; }

for row in "f32 2 0.00002" "bf16 3 0.002"; do
    set -- $row
    $gpt2 $small --steps 12 --lr 0.01 --text synthetic --every 1 --seed 1 --dtype "$1" --weights "$values.safetensors" > "$here/out" 2>&1 ||
        complain "$1: $(tail -3 "$here/out")"
    sed -n 's,^ *\([0-9]*\)/12  loss *\([0-9.]*\) .*,\1 \2,p' "$here/out" > "$here/ours"
    grep -v '^#' "$values.txt" | cut -d' ' -f"1,$2" | paste -d' ' - "$here/ours" |
        awk -v most="$3" '{ n++; d = ($4 - $2) / $2; if ($1 != $3 || d > most || d < -most) { print "step", $1, "expected", $2, "found", $4; bad = 1 } }
            END { if (n != 12) { print n + 0, "losses"; bad = 1 } exit bad }' || complain "$1: not the losses of PyTorch"
    grep -q "memory .* GB at most" "$here/out" || complain "$1: no memory in the last line"
done

# Each operation of a kernel stands on a line of gpt2.c that calls it; steps do no work of lines that only start-up runs.
cat > "$here/lines.awk" <<'END'
FILENAME == ARGV[1] { line[FNR] = $0; next }
match($0, /\[[^]]*gpt2\.c:[0-9]+[^]]*\]/) {
    n = split(substr($0, RSTART + 1, RLENGTH - 2), part, ", ")
    ops = ""
    for (i = 1; i <= n; i++) {
        op = part[i]
        sub(/ .*/, "", op)
        if (op != "..") ops = ops " " op
        if (!match(part[i], /gpt2\.c:[0-9]+/)) continue
        at = substr(part[i], RSTART + 7, RLENGTH - 7) + 0
        m = split(ops, o, " ")
        for (k = 1; k <= m; k++) count[o[k] " " at] += FILENAME == ARGV[3] ? 1 : -1
        ops = ""
    }
}
END {
    for (p in count) {
        split(p, x, " ")
        l = line[x[2]]
        fine = index(l, "rg_" x[1] "(") || (x[1] == "layernorm" && l ~ /"ln_[12f]"/) || l ~ /rg_optim_step\(/
        start = l ~ /rg_nn_param\(|rg_nn_layernorm\(|rg_adamw\(/
        if (!fine && !start) print x[1], "is not called by line", x[2] ":" l
        if (start && count[p] != 0) print "a step does work of start-up: line", x[2] ":" l
        if (!start && count[p] <= 0) print "only the first step does work of line", x[2] ":" l
        rows++
        if (!start) steps += count[p]
    }
    if (rows < 25 || steps < 300) print rows + 0, "operations with lines,", steps + 0, "in three steps"
}
END
for n in 1 4; do
    DEBUG=2 $gpt2 $small --steps $n --text synthetic --every 1 --seed 1 > /dev/null 2> "$here/debug.$n" || complain "DEBUG=2: $(tail -1 "$here/debug.$n")"
done
awk -f "$here/lines.awk" "$root/examples/gpt2.c" "$here/debug.1" "$here/debug.4" > "$here/out"
[ -s "$here/out" ] && complain "lines of kernels: $(head -3 "$here/out")"

# Checkpoints, and a limit that asks for some: the same losses.
for o in "--checkpoint 0" "--checkpoint 1" "--limit 1"; do
    $gpt2 $small --steps 3 --text synthetic --every 1 --seed 1 $o | sed -n 's/.*\(loss [0-9.]*\).*/\1/p' > "$here/losses"
    [ "$(wc -l < "$here/losses")" -eq 3 ] || complain "gpt2 $o: $(wc -l < "$here/losses") losses"
    [ "$o" = "--checkpoint 0" ] && cp "$here/losses" "$here/without"
    awk 'NR == FNR { x[FNR] = $2; next } $2 - x[FNR] > 1e-4 || x[FNR] - $2 > 1e-4' "$here/without" "$here/losses" > "$here/out"
    [ -s "$here/out" ] && complain "gpt2 $o: other losses, $(head -1 "$here/out")"
done

says() { # status, text, arguments
    status=$1 text=$2
    shift 2
    "$gpt2" "$@" > "$here/out" 2>&1
    [ $? -eq "$status" ] && grep -q -e "$text" "$here/out" || complain "gpt2 $*: expected status $status and \"$text\", found $(tail -1 "$here/out")"
}
printf '\377\377 many bytes that are more than a batch needs, and some more' > "$here/text.bin"
says 0 "--dtype D" --help
says 2 "f32 or bf16" --dtype f64
says 2 "124M" --model 125M
says 2 "not an option" --nonsense 1
says 2 "heads divide the width" --width 30 --heads 4
says 1 "token 65535, and the model has 64" $small --text "$here/text.bin"
says 1 "cannot be read" $small --text "$here/nothing"
exit $bad
