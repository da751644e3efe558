#!/bin/sh
# tools/commit-msg: what it accepts and refuses, as a hook and for a range of commits.
. "$(dirname "$0")/common"
hook=$root/tools/commit-msg
long=$(printf '%073d' 0)
printf 'rules: fold x - x\n\nWhy.\n' > good && "$hook" good 2>&1 || fail "a good message is refused"
printf '%s\n' "$long" > bad1 && printf 'Ends with a stop.\n' > bad2 && printf 'x\n' > bad4
printf 'No empty line\nbody\n' > bad3
for f in bad1 bad2 bad4 bad3; do out=$("$hook" $f 2>&1) && fail "$f passes: $(cat $f)"; done
case $out in *"not followed by an empty line"*) ;; *) fail "expected the reason: $out" ;; esac
command -v git > /dev/null || exit $bad
git init -q . && git config user.name t && git config user.email t@t
git commit -q --allow-empty -m 'tests: the first' && git commit -q --allow-empty -m 'tests: the second'
"$hook" HEAD~1..HEAD || fail "a good range is refused"
git commit -q --allow-empty -m "$long"
out=$("$hook" HEAD~2..HEAD 2>&1) && fail "a long subject passes"
case $out in *"73 characters; expected at most 72"*) ;; *) fail "expected the length: $out" ;; esac
exit $bad
