#!/bin/sh
# Programs with one planted fault each (tests/planted/planted.c) under `ridge profile`: the right verdict comes first, and taking the
# advice brings at least half of what was predicted. Measured in processor time on one thread; a busy machine may need a second try.
# What can be counted of it is tests/cli/planted.sh. `make bench-timed` runs this.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
RIDGE=${RIDGE:-$root/build/ridge}
case $RIDGE in /*) ;; *) RIDGE=$PWD/$RIDGE ;; esac
build=${BUILD_DIR:-$root/build/release}
case $build in /*) ;; *) build=$root/$build ;; esac
case $build in *asan* | *tsan* | *debug*) echo "speeds of $build mean nothing"; exit 77 ;; esac
planted=$build/planted/planted
[ -x "$planted" ] || { echo "$planted is not built"; exit 1; }
unset DEBUG DEVICE NOOPT PROFILE RIDGE_PROFILE BEAM
export RIDGE_THREADS=1
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
cd "$here" || exit 1
bad=0
# by the rates of this machine, not by a guess
"$RIDGE" ceilings --output "$here/machine" > /dev/null || exit 1
export RIDGE_MODEL="$here/machine"

# try MODE VERDICT: 0 if all is as it should be, else words in the file `why`
try() {
    "$RIDGE" profile -- "$planted" "$1" > screen 2>&1 || { echo "$1: $(tail -3 screen)" > why; return 1; }
    verdict=$(sed -n 's/^VERDICT  \([a-z_.]*\).*/\1/p' screen)
    case $2 in
    healthy*) grep -q "^VERDICT  $2" screen || { echo "$1: expected '$2': $(grep -A14 ^VERDICT screen)" > why; return 1; }; return 0 ;;
    esac
    [ "$verdict" = "$2" ] || { echo "$1: expected $2: $(grep -A14 ^VERDICT screen)" > why; return 1; }
    grep -A4 "^FIX 1" screen | grep -q -e "->" || { echo "$1: no advice: $(cat screen)" > why; return 1; }
    before=$("$planted" "$1") && after=$("$planted" "$1" --fixed) || { echo "$1: $before $after" > why; return 1; }
    if [ "$2" = memory.growth ]; then # what it brings is memory: nearly all that the steps held
        held "$before" "$after" && return 0
        echo "$1: memory does not shrink: $before; $after" > why
        return 1
    fi
    predicted=$(sed -n 's/^FIX 1 .* up to [0-9.]* ms (\([0-9.]*\)%).*/\1/p' screen)
    echo "$(step "$before") $(step "$after") $predicted" | awk '{ got = 100 * (1 - $2 / $1); if (got < $3 / 2) exit 1 }' && {
        echo "$(step "$before") $(step "$after") $predicted" |
            awk -v m="$1" '{ printf "%-8s predicted up to %.0f %%, brought %.0f %%\n", m, $3, 100 * (1 - $2 / $1) }'
        return 0
    }
    echo "$1: predicted $predicted %, but $before became $after" > why
    return 1
}
step() { echo "$1" | sed 's/.*: \([0-9.]*\) us a step.*/\1/'; }
held() { # at most a fifth of the memory is left
    a=$(echo "$1" | sed 's/.*, \([0-9.]*\) MB held/\1/') b=$(echo "$2" | sed 's/.*, \([0-9.]*\) MB held/\1/')
    awk -v a="$a" -v b="$b" 'BEGIN { exit !(b * 5 < a) }'
}

one() {
    for again in 1 2 3; do try "$1" "$2" && return; done
    head -c 1500 why
    bad=1
}
one copies transfer.exposed
one reads sync
one tiny small_kernels
one strided layout
one odd shape.alignment
one leak memory.growth
one compute "healthy, bound by arithmetic"
one memory "healthy, bound by memory"
one healthy "healthy"
exit $bad
