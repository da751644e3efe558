#!/bin/sh
# The walkthrough of docs/internals/add-an-op.md is true, and changes the files that the page lists: nine at most. Two
# thirds of the library see the table of ops and are built again, without optimization: they hardly run.
. "$(dirname "$0")/walkthrough"
page=docs/internals/add-an-op.md
copy
quickly
built
walk $page 2
git ls-files --cached --others --exclude-standard src include tools |
    while read -r f; do [ ! -e "$f" ] || cmp -s "$f" "$here/tree/$f" || echo "$f"; done | sort > "$here/changed"
awk '/^```files$/ { on = 1; next } /^```/ { on = 0 } on' $page | sort > "$here/listed"
diff "$here/listed" "$here/changed" > "$here/out" || { echo "$page lists other files (<) than its walkthrough changes (>):"; cat "$here/out"; exit 1; }
[ "$(wc -l < "$here/changed")" -le 9 ] || { echo "$page: an op takes more than 9 files"; cat "$here/changed"; exit 1; }
exit 0
