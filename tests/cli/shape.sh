#!/bin/sh
# `ridge shape`: tiles, waves and cache lines that were counted by hand.
set -u
RIDGE=${RIDGE:-build/ridge}
bad=0
fail() { echo "$*" | cut -c1-300 | head -4; bad=1; }
has() {
    want=$1 words=$2
    shift 2
    out=$("$RIDGE" shape "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "ridge shape $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge shape $*: expected '$words' in: $out" ;; esac
}
has 0 "tiles     98 " 1792 1792 4096 --device A100 --tile 256x128
has 0 "waves     1," 1792 1792 4096 --device A100 --tile 256x128
has 0 "tiles     120 " 1793 1793 4096 --device A100 --tile 256x128
has 0 "waves     2," 1793 1793 4096 --device A100 --tile 256x128
has 0 "touches 4 cache lines" 4 12 1 --tile 4x4 --line 4
has 0 "touches 7 cache lines" 4 13 1 --tile 4x4 --line 4
has 0 "pad N to 50264" 8192 50257 4096 --device H100
has 0 "pad N to 4104 and K to 4104" 4097 4097 4097
has 0 "pad N to 1800 and K to 1800" 1793 1793 1793
has 0 "pad K to 4104" 4096 4096 4097
has 0 "none nearby" 8448 8192 8192 --tile 256x128
has 2 "not a size" 12 x 3
has 2 "no GPU" 1 2 3 --device Voodoo
has 2 "not a tile" 1 2 3 --tile 256
has 2 "no dtype" 1 2 3 --dtype f3
exit $bad
