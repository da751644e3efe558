#!/bin/sh
# `ridge diagnose`: verdicts, exit codes, errors for people.
set -u
RIDGE=${RIDGE:-build/ridge}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
bad=0
fail() { echo "$*" | cut -c1-300 | head -4; bad=1; }
has() {
    want=$1 words=$2
    shift 2
    out=$("$RIDGE" diagnose "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "ridge diagnose $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge diagnose $*: expected '$words' in: $out" ;; esac
}
t=tests/traces
has 0 "VERDICT  transfer.pageable" $t/transfer_pageable.pt.trace.json.gz
has 0 '"verdict":"dispatch"' $t/mnist_train_eager.pt.trace.json.gz --json
has 0 "VERDICT  memory.growth" $t/memory_leak.snapshot.pickle
has 0 ", H200" $t/jax_compute_bound.trace.json.gz --device H200
has 2 "no GPU named" $t/jax_compute_bound.trace.json.gz --device Voodoo
has 2 "unknown option --frob; see \`ridge diagnose --help\`" --frob
has 2 "expected FILE..; see"
has 2 "--html expects a value: --html OUT.html" "$t/transfer_pageable.pt.trace.json.gz" --html
has 1 "No such file" "$here/none.json"
has 1 "directory" "$here"
: > "$here/empty"; has 1 "empty" "$here/empty"
echo "# some text" > "$here/text"; has 1 "not a trace" "$here/text"
echo '{"a": 1}' > "$here/json"; has 1 "no trace events" "$here/json"
head -c 2000 $t/transfer_pageable.pt.trace.json.gz > "$here/cut.gz"; has 0 "the file ends early" "$here/cut.gz"
truncate -s 50G "$here/sparse" && has 1 "only zeros" "$here/sparse"
printf '\200\004cposix\nsystem\n(X\002\000\000\000idtR.' > "$here/evil.pickle"; has 1 "refused" "$here/evil.pickle"
has 0 "PAGE" $t/mnist_train_eager.pt.trace.json.gz --html "$here/page.html"
grep -q "</html>" "$here/page.html" || fail "the page is not whole"
exit $bad
