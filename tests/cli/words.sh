#!/bin/sh
# tools/words finds a retired word in prose, in an identifier and as an op, names its successor and leaves other senses alone; the
# tree has none.
. "$(dirname "$0")/common"
command -v python3 > /dev/null || { echo "no python3"; exit 77; }
cat > wrong.c <<'C'
/* A group of warps; the ring has 3 stages. */
int is_gated(int by_hand) { return OP_GLOAD; }
C
cat > right.c <<'C'
/* A warpgroup; the predicate of OP_PRED_LOAD. The update gate of a GRU, a ring buffer of records, returned, a string. */
int halves; /* he_normal: halves the variance */
C
sed -i 2d right.c
out=$(cd "$root" && tools/words "$here/wrong.c") && fail "retired words pass: $out"
for w in "wrong.c:1: group of warps -> warpgroup" "1: ring ->" "2: gated -> predicate" "2: by_hand ->" "2: GLOAD -> PRED_LOAD" "words: 5 retired"; do
    case $out in *"$w"*) ;; *) fail "expected '$w' in: $out" ;; esac
done
out=$("$root/tools/words" "$PWD/right.c") || fail "not retired: $out"
if [ -e "$root/.git" ]; then
    out=$("$root/tools/words") || fail "docs/glossary.md retired these: $out"
fi
exit $bad
