#!/bin/sh
# examples/gpt2 trains as PyTorch does: from the same weights and tokens the losses of twelve steps are those of tests/values/gpt2.txt,
# in f32 and with products in bf16. And its options say what is wrong with them.
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
