#!/bin/sh
# `ridge explore` against the clock: the ridge point of the sweep is within 25 % of that of `ridge ceilings`, and four million elements
# take longer than one. What can be counted of it is tests/cli/explore.sh. `make bench-timed` runs this.
. "$(dirname "$0")/../../tests/cli/common"
export RIDGE_THREADS=1
"$RIDGE" ceilings --output machine > /dev/null || fail "no machine file"
export RIDGE_MODEL="$here/machine"
# RIDGE 1.57 flop/byte measured: .. the machine file says 1.61: ..
for again in 1 2 3; do
    "$RIDGE" explore intensity --ms 60 > table || fail "intensity: $(cat table)"
    sed -n 's/^RIDGE *\([0-9.]*\) flop.* says \([0-9.]*\):.*/\1 \2/p' table | awk '{ ok = $1 > 0.75 * $2 && $1 < 1.25 * $2 } END { exit !ok }' && break
    [ $again -lt 3 ] || fail "the ridge point is not within 25 %: $(cat table)"
done
grep "^RIDGE" table
"$RIDGE" explore overhead --ms 5 --size 4194304 > table || fail "overhead: $(cat table)"
awk '/^ +[0-9]+ / { if (!n++) first = $2; last = $2 } END { exit !(n == 23 && last > 5 * first) }' table || fail "overhead: $(cat table)"
grep "^FIXED" table
exit $bad
