#!/bin/sh
# tools/pathcheck: every file that a comment or a page names exists; a name that does not is found.
. "$(dirname "$0")/common"
command -v python3 > /dev/null || { echo "no python3"; exit 77; }
out=$("$root/tools/pathcheck") || fail "$out"
cat > wrong.c <<'C'
/* wrong.c: see gone_for_good.c, src/nowhere/x.c and cli/*.c. */
const char *text = "not_a_comment.c";
C
out=$("$root/tools/pathcheck" "$PWD/wrong.c") && fail "a dead reference passes: $out"
for w in "wrong.c:1: gone_for_good.c: no such file" "src/nowhere/x.c: no such file" "2 dead references"; do
    case $out in *"$w"*) ;; *) fail "expected '$w' in: $out" ;; esac
done
exit $bad
