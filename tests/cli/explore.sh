#!/bin/sh
# `ridge explore`: tables whose columns follow from each other, verdicts that follow from the tables and the machine file, plots, errors
# for people. The times themselves are checked nowhere here: bench/timed/explore.sh compares them with `ridge ceilings`.
. "$(dirname "$0")/common"
export RIDGE_THREADS=1 RIDGE_MODEL="$root/tests/machine.txt"
svg() { grep -q "^<svg " "$1" && grep -q "</svg>" "$1" && [ "$(grep -c "<circle" "$1")" -ge "$2" ] || fail "$1 is no plot of $2 points"; }

# n operations on two elements of four bytes; GFLOPS and GB/s are those of 131072 elements in the time of the row (printed with two
# decimals); the ridge point is the largest of both; that of the machine file: 32 flop by 2.6 GHz over 25 GB/s
"$RIDGE" explore intensity --ms 1 --size 262144 --svg i.svg > table || fail "intensity: $(cat table)"
awk 'function near(a, b, by) { return a <= b * (1 + by) + 0.06 && b <= a * (1 + by) + 0.06 }
/^ +[0-9]+ / { n++; if ($1 != 2 ^ n || $2 != $1 / 8 || !near($4, $1 * 131.072 / $3, 0.01) || !near($5, 1048.576 / $3, 0.01)) bad = 1
               if ($4 > f) f = $4; if ($5 > r) r = $5 }
/^RIDGE/ { said = near($2, f / r, 0.02) && near($5, f, 0) && near($8, r, 0) && $0 ~ / says 3.33: 83.2 by 25.0$/ }
END { exit !(n == 9 && said && !bad) }' table || fail "intensity: $(cat table)"
svg i.svg 9
"$RIDGE" explore overhead --ms 1 --size 65536 --svg o.svg > table || fail "overhead: $(cat table)"
awk '/^ +[0-9]+ / { if ($1 != 2 ^ n++ || $3 > 1000 * ($2 + 0.01) / $1 || $3 < 1000 * ($2 - 0.01) / $1 - 0.0001) bad = 1
                    if (n == 1 || $2 < least) least = $2 }
/^FIXED/ { said = $2 == least }
END { exit !(n == 17 && said && !bad) }' table || fail "overhead: $(cat table)"
svg o.svg 17
"$RIDGE" explore shapes --ms 1 --from 15 --to 17 --svg s.svg > table || fail "shapes: $(cat table)"
[ "$(grep -c "^ *1[567] " table)" -eq 3 ] && grep -q "^BEST   n = 1[567]" table || fail "shapes: $(cat table)"
svg s.svg 3
# a machine that others use: six loops on the one core it may run on
if command -v taskset > /dev/null; then
    core=$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')
    pids=
    for i in 1 2 3 4 5 6; do taskset -c "$core" sh -c 'while :; do :; done' & pids="$pids $!"; done
    taskset -c "$core" "$RIDGE" explore overhead --ms 1 --size 64 > table
    kill $pids
    grep -q "^BUSY   others took [0-9]*% of a busy loop" table || fail "a busy machine is not noticed: $(cat table)"
fi
has 1 "runs nothing that could be timed" explore overhead --device NULL
has 1 "NOWHERE" explore overhead --device NOWHERE
has 1 "/nowhere" explore shapes --ms 1 --from 8 --to 8 --svg /nowhere/x.svg
has 2 "expected intensity, overhead or shapes, found 'colour'" explore colour
has 2 "expected intensity|overhead|shapes" explore
has 2 "--to expects 9 to 16384, found 8" explore shapes --from 9 --to 8
has 0 "usage: ridge explore" explore --help
exit $bad
