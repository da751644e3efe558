#!/bin/sh
# tools/snapshot: two of the same tree are equal, a line that changed and a file that is missing are found, and a table says what was renamed.
. "$(dirname "$0")/common"
command -v python3 > /dev/null || exit 77
export BUILD_DIR="$build"
snapshot=$root/tools/snapshot

# says STATUS WORDS ARGS..
says() {
    want=$1 words=$2
    shift 2
    out=$("$snapshot" "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "snapshot $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "snapshot $*: expected '$words' in: $out" ;; esac
}

for folder in one two; do
    says 0 " files in $PWD/$folder" --only golden/small_matmul. --only forms/softmax. --only forms/argsort.sm_90a --only plans/fusion.cpu "$PWD/$folder"
done
says 0 " files, all equal" --compare one two
for t in cpu avx512 sm_80 sm_90a opencl; do
    grep -q "opts" one/forms/softmax.$t.txt || fail "forms/softmax.$t has no opts"
    grep -q "r_4096_1000(" one/forms/softmax.$t.txt && tail -n 2 one/forms/softmax.$t.txt | grep -q "^}" || fail "forms/softmax.$t has no whole text"
done
for t in neon avx512 sm_80 sm_90a opencl file; do [ -s one/golden/small_matmul.$t.txt ] || fail "golden/small_matmul.$t is not there"; done
grep -q "kernels  reads  writes" one/plans/fusion.cpu.txt || fail "plans/fusion.cpu has no table"
grep -q "[0-9] ms\|pid:" one/*/* && fail "times or process ids: $(grep "[0-9] ms\|pid:" one/*/*)"

# renamed things are equal by a table, which may exchange names; a name may be an opt and an op
for f in forms/softmax.cpu.txt plans/fusion.cpu.txt; do
    sed 's/REG(/LOAD(/g; s/TILE(/REG(/g; s/(LOAD /(FETCH /g; s/ GRID / BLOCKS /g; s/\<t0\>/first/g' one/$f > two/$f
done
cat > names <<'EOF'
# what sed did
opt REG => LOAD
opt TILE => REG
op LOAD => FETCH
kind GRID => BLOCKS
word t0 => first
EOF
says 1 "forms/softmax.cpu.txt differs" --compare one two
for f in golden forms; do find one/$f two/$f -type f ! -name softmax.cpu.txt -exec rm {} +; done
says 1 "2 of 2 files differ" --compare one two
says 0 "2 files, all equal" --compare --names names one two
sed -i 's/BLOCKS/BLOCK/' two/forms/softmax.cpu.txt
says 1 "softmax.cpu.txt differs" --compare --names names one two
echo "op LOAD FETCH" > wrong
says 1 "expected op, opt, kind, word or text, then OLD => NEW" --compare --names wrong one two

# what changed is shown
rm one/plans/fusion.cpu.txt
cp one/forms/softmax.cpu.txt two/forms
echo "one more" >> one/forms/softmax.cpu.txt
says 1 "+one more" --compare two one
says 1 "only in two: plans/fusion.cpu.txt" --compare two one
says 1 "is not empty: expected a new folder" one
says 1 "no file is called so: nonsense" --only nonsense three
says 1 "no is no folder" --compare no one
says 2 "usage: tools/snapshot" --compare one
says 0 "--compare BEFORE AFTER" --help
exit $bad
