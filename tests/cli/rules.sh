#!/bin/sh
# `ridge rules` lists what runs, finds by name, set and file, and counts the rules a kernel needs.
set -eu
[ -x "$RIDGE" ] || exit 77
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
fail() { echo "$1"; exit 1; }

"$RIDGE" rules > "$tmp/all"
[ "$(wc -l < "$tmp/all")" -ge 150 ] || fail "fewer than 150 rules are listed"
grep -q '^add_zero  *sym,predicate,decomp,native  *sym.rules:[0-9]*  *(ADD x 0) => x$' "$tmp/all" || fail "add_zero is not listed as it stands"
[ "$("$RIDGE" rules add_zero | wc -l)" = 1 ] || fail "a name selects one rule"
"$RIDGE" rules predicate.rules | grep -q '^pred_load' || fail "a file selects its rules"
if "$RIDGE" rules sym | grep -q '^pred_load'; then fail "pred_load is not in set sym"; fi
if "$RIDGE" rules no_such_rule > "$tmp/out" 2>&1; then fail "an unknown name must fail"; fi
grep -q 'no rule, set or file is called no_such_rule' "$tmp/out" || fail "the error names what was not found"

for f in tests/golden/*/*.uop tests/golden/*.uop; do
    [ -f "$f" ] || continue
    "$RIDGE" rules --hits "$f" > "$tmp/hits" || fail "--hits $f"
    RIDGE_RULE_TRACE=1 "$RIDGE" rules --hits "$f" 2> "$tmp/trace" > /dev/null || fail "trace $f"
    n=$(awk '{ s += $1 } END { print s + 0 }' "$tmp/hits")
    [ "$n" = "$(grep -c '^rule ' "$tmp/trace")" ] || fail "$f: the trace has another number of firings than the counters ($n)"
    break
done
