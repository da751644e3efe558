#!/bin/bash
# faults.sh: kills at random times, full disks, files that are damaged or swapped: a program gives the right result or a clear error,
# files of the user are not touched, and nothing is left behind.
#
#   faults.sh [KILLS]     the whole has 200 (make test-faults); `make test` runs a few (tests/cli/faults.sh)
#
# RIDGE, BUILD_DIR: the command and the folder of the build. Times are drawn from a fixed seed (SEED).
. "$(dirname "$0")/../cli/common"
kills=${1:-200}
work=$build/faults/work
export TMPDIR=$here/tmp RIDGE_CACHE_DIR=$here/cache RIDGE_MODEL=$root/tests/machine.txt
unset RIDGE_CACHE RIDGE_CC RIDGE_CACHE_MB
own=$RIDGE_CACHE_DIR/ridge-v3
mkdir -m 700 "$TMPDIR" "$RIDGE_CACHE_DIR"
state=${SEED:-20261116}
random() { state=$(((state * 1103515245 + 12345) % 2147483648)); number=$((state / 65536 % $1)); }

# Files of the user: in the cache's folders, in TMPDIR, with names that look like ours.
mkdir -p "$own"
chmod 700 "$own"
mine="$RIDGE_CACHE_DIR/thesis.txt $RIDGE_CACHE_DIR/video.tmp.1.mp4 $own/notes $own/object-1 $TMPDIR/ridge-cc-thesis $TMPDIR/unit0.c"
for f in $mine; do echo "mine: $f" >"$f"; done
touch -d 2020-01-01 $mine
sums() { ls -l --time-style=full-iso $mine; cat $mine; }
before=$(sums)

# right WHAT: it computes what it did the first time. sane WHAT: that, or an error in words.
right() {
    got=$(timeout 300 "$work" 2>&1)
    [ "$got" = "$good" ] || fail "$1: expected $good: $got"
}
sane() {
    got=$(timeout 300 "$work" 2>&1)
    status=$?
    case $status.$got in
    0."$good") ;;
    1."error: "*) ;;
    *) fail "$1: status $status: $got" ;;
    esac
}
compilers() { # that still run for us
    for p in /proc/[0-9]*; do
        { tr '\0' ' ' <"$p/cmdline" | grep -q "$here/tmp/ridge-cc-" && echo "$p"; } 2>/dev/null
    done
}

t0=$(date +%s%N)
good=$(timeout 300 "$work" 2>&1) || { echo "the program does not run: $good"; exit 1; }
ms=$((($(date +%s%N) - t0) / 1000000 + 100))
[ $ms -gt 2400 ] && ms=2400 # a busy machine: later kills would hit nothing more
right "a second start"

# ---- kills --------------------------------------------------------------------------------------------------
for i in $(seq 1 "$kills"); do
    [ $((i % 5)) = 1 ] && rm -f "$own"/*-????????????????????????????????????????????????????????????????
    random $((ms * 5 / 4))
    "$work" >/dev/null 2>&1 &
    pid=$!
    sleep "$(printf '%d.%03d' $((number / 1000)) $((number % 1000)))"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ $((i % 5)) = 0 ] && right "after $i kills"
done
right "after all kills"
for i in $(seq 300); do [ -z "$(compilers)" ] && break; sleep 0.2; done
[ -z "$(compilers)" ] || fail "compilers outlive their programs: $(compilers)"
# what they left goes at the next start that compiles, once it is a minute old
find "$TMPDIR" -maxdepth 1 -name 'ridge-cc-*' -type d -exec touch -d '2 minutes ago' {} +
RIDGE_CACHE=0 right "without a cache"
rm -f "$own"/plan-* "$own"/kernel-*
right "with objects only"
left=$(find "$TMPDIR" "$own/tmp" -mindepth 1 ! -name unit0.c ! -name ridge-cc-thesis)
[ -z "$left" ] || fail "left behind: $left"

# a checkpoint is the old one or the new one, and leaves nothing beside it
mkdir "$here/save"
"$work" save "$here/save/x" 1 || fail "save"
for i in $(seq 1 $((kills / 5 + 1))); do
    random 300
    "$work" save "$here/save/x" 2 2>/dev/null &
    pid=$!
    sleep "0.$(printf %03d "$number")"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    case $("$work" show "$here/save/x" 2>&1) in "1 1" | "2 2") ;; *) fail "a checkpoint after a kill: $("$work" show "$here/save/x" 2>&1)" ;; esac
done
"$work" save "$here/save/x" 3 || fail "save after kills"
[ "$(ls "$here/save")" = x ] || fail "beside the checkpoint: $(ls "$here/save")"

# ---- full disks ---------------------------------------------------------------------------------------------
trap '' XFSZ
[ "$kills" -ge 100 ] && blocks="0 1 8 40 200" || blocks="0 8 200"
for k in $blocks; do
    rm -rf "$here/full" && mkdir -m 700 "$here/full"
    (ulimit -f $k; export RIDGE_CACHE_DIR=$here/full; sane "files of at most $k blocks"; exit $bad) || bad=1
    said=$(ulimit -f $k; "$work" save "$here/save/x" 4 2>&1) && fail "4 MB were saved into $k blocks"
    case $said in "error: "*"$here/save/x"*) ;; *) fail "save on a full disk: $said" ;; esac
    [ "$("$work" show "$here/save/x")" = "3 3" ] || fail "the old checkpoint is gone"
    RIDGE_CACHE_DIR=$here/full right "after $k blocks"
done
[ "$(ls "$here/save")" = x ] || fail "beside the checkpoint: $(ls "$here/save")"
mkdir "$here/small"
if mount -t tmpfs -o size=100k,mode=700 none "$here/small" 2>/dev/null; then
    mkdir -m 700 "$here/small/t" "$here/small/c"
    (export TMPDIR=$here/small/t; sane "a full TMPDIR"; exit $bad) || bad=1
    (export RIDGE_CACHE_DIR=$here/small/c; right "a full cache"; right "a full cache, again"; exit $bad) || bad=1
    said=$("$work" save "$here/small/x" 1 2>&1) && fail "4 MB were saved into 100 KB"
    case $said in "error: "*"No space left"*) ;; *) fail "save on a full disk: $said" ;; esac
    umount "$here/small"
fi

# ---- damage -------------------------------------------------------------------------------------------------
RIDGE_BEAM=2 RIDGE_THREADS=1 "$work" >/dev/null 2>&1 # results of a search, too
right "after a search"
cp -a "$own" "$here/whole"
restore() { rm -rf "$own" && cp -a "$here/whole" "$own"; }
poke() { printf '\125' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }
[ "$kills" -ge 100 ] && ways="flip flip flip flip half empty text folder swap gone" || ways=flip
kinds=$(ls "$own" | sed -n 's/^\([a-z]*\)-.\{64\}$/\1/p' | sort -u)
for kind in $kinds index lock CACHEDIR.TAG; do
    [ "$kills" -ge 100 ] || case $ways in flip) ways=swap ;; *) ways=flip ;; esac
    for way in $ways; do
        restore
        files=$(ls -d "$own/$kind"-* 2>/dev/null || echo "$own/$kind")
        set -- $files
        for f in $files; do
            size=$(stat -c %s "$f")
            case $way in
            flip) random $((size + 1)); poke "$f" "$number" ;;
            half) truncate -s $((size / 2)) "$f" ;;
            empty) : >"$f" ;;
            text) echo "something else, of a user's own hand" >"$f" ;;
            folder) rm "$f" && mkdir "$f" ;;
            swap) [ "$f" = "$1" ] || mv "$f" "$1" ;;
            gone) rm "$f" ;;
            esac
        done
        right "$kind: $way"
        [ "$kills" -ge 100 ] && right "$kind: $way, again"
    done
done
restore
ls -d "$own"/*-????????????????????????????????????????????????????????????????* | while read -r f; do random "$(stat -c %s "$f")"; poke "$f" "$number"; done
right "every file damaged"
"$RIDGE" cache verify >"$here/said" 2>&1
[ $? -le 1 ] || fail "ridge cache verify: $(cat "$here/said")"

# recordings
PROFILE=$here/p RIDGE_CACHE=0 right "with a profile"
size=$(stat -c %s "$here/p")
for i in $(seq 1 $((kills / 4 + 3))); do
    cp "$here/p" "$here/q"
    random "$size"
    [ $((i % 3)) = 0 ] && truncate -s "$number" "$here/q" || poke "$here/q" "$number"
    timeout 60 "$RIDGE" report "$here/q" >"$here/said" 2>&1
    [ $? -le 1 ] || fail "a damaged profile: $(cat "$here/said")"
done

[ "$before" = "$(sums)" ] || fail "files of the user were touched: $(sums)"
[ $bad = 0 ] && echo "faults: $kills kills, $(echo $kinds | wc -w) kinds of files damaged in $(echo $ways | wc -w) ways, full disks: right results or clear errors"
exit $bad
