#!/bin/sh
# `ridge explore`: the ridge point of the sweep beside that of `ridge ceilings`, within 25 %; tables, plots, errors for people.
. "$(dirname "$0")/common"
export RIDGE_THREADS=1
svg() { grep -q "^<svg " "$1" && grep -q "</svg>" "$1" && [ "$(grep -c "<circle" "$1")" -ge "$2" ] || fail "$1 is no plot of $2 points"; }

"$RIDGE" ceilings --output machine > /dev/null || fail "no machine file"
export RIDGE_MODEL="$here/machine"
# RIDGE 1.57 flop/byte measured: .. the machine file says 1.61: ..
for again in 1 2 3; do
    "$RIDGE" explore intensity --ms 60 --svg i.svg > table || fail "intensity: $(cat table)"
    sed -n 's/^RIDGE *\([0-9.]*\) flop.* says \([0-9.]*\):.*/\1 \2/p' table | awk '{ ok = $1 > 0.75 * $2 && $1 < 1.25 * $2 } END { exit !ok }' && break
    [ $again -lt 3 ] || fail "the ridge point is not within 25 %: $(cat table)"
done
svg i.svg 9
"$RIDGE" explore overhead --ms 5 --size 4194304 --svg o.svg > table || fail "overhead: $(cat table)"
# from one element to four million, time grows in the end
awk '/^ +[0-9]+ / { if (!n++) first = $2; last = $2 } END { exit !(n == 23 && last > 5 * first) }' table || fail "overhead: $(cat table)"
grep -q "^FIXED" table || fail "no verdict: $(cat table)"
svg o.svg 23
"$RIDGE" explore shapes --ms 5 --from 15 --to 17 --svg s.svg > table || fail "shapes: $(cat table)"
[ "$(grep -c "^ *1[567] " table)" -eq 3 ] && grep -q "^BEST   n = 1[567]" table || fail "shapes: $(cat table)"
svg s.svg 3
has 1 "runs nothing that could be timed" explore overhead --device NULL
has 1 "NOWHERE" explore overhead --device NOWHERE
has 1 "/nowhere" explore shapes --ms 1 --from 8 --to 8 --svg /nowhere/x.svg
has 2 "expected intensity, overhead or shapes, found 'colour'" explore colour
has 2 "expected intensity|overhead|shapes" explore
has 2 "--to expects 9 to 16384, found 8" explore shapes --from 9 --to 8
has 0 "usage: ridge explore" explore --help
exit $bad
