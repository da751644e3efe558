#!/bin/sh
# `ridge cache`, and what surrounds a cache: other files, other users, setuid programs.
. "$(dirname "$0")/common"
export RIDGE_CACHE_DIR=$here/c
unset RIDGE_CACHE RIDGE_CACHE_MB RIDGE_CC
c=$here/c/ridge-v3
prog=$build/examples/dot

has 0 "usage: ridge cache [options] [show|verify|trim|clear]" cache --help
has 2 "expected show, verify, trim or clear, found 'empty'" cache empty
has 2 "did not expect 'now'" cache clear now
has 2 "--mb goes with trim" cache clear --mb 3
has 2 "--mb expects" cache trim --mb -1
has 0 "0 files" cache
"$prog" >out 2>&1 || fail "dot: $(cat out)"
first=$(cat out)
has 0 "object " cache show
has 0 "compiled code" cache
case $out in *"missing or damaged"*) fail "no index: $out" ;; esac
[ -e "$c/CACHEDIR.TAG" ] || fail "no CACHEDIR.TAG"

# files of others, in our folder and beside it, are counted and stay
echo mine >"$c/thesis.txt"
echo mine >"$here/c/kernel-0000000000000000000000000000000000000000000000000000000000000000"
has 0 "1 other entry in this folder, not ours and left alone" cache show
mtimes() { ls -l --time-style=full-iso "$c/thesis.txt" "$here"/c/kernel-*; }
before=$(mtimes)

# verify: a damaged file is found, removed and made anew
has 0 "0 damaged" cache verify
object=$(ls "$c"/object-* | head -1)
printf X | dd of="$object" bs=1 seek=300 conv=notrunc 2>/dev/null
has 0 "1 damaged, of which 1 were removed" cache verify
[ ! -e "$object" ] || fail "the damaged file is still there"
"$prog" >out 2>&1
[ "$(cat out)" = "$first" ] || fail "another result after damage: $(cat out)"
has 0 "0 damaged" cache verify

# a lost index
rm "$c/index"
has 0 "the index is missing or damaged" cache
has 0 "0 damaged" cache verify
case $out in *"missing or damaged"*) fail "verify made no index" ;; esac

# trim keeps what fits; clear removes all that is ours
has 0 "removed 0 files" cache trim --mb 100
has 0 "removed " cache trim --mb 0
[ -z "$(ls "$c" | grep -v 'index\|lock\|tmp\|CACHEDIR\|thesis')" ] || fail "files are left after trim to 0: $(ls "$c")"
"$prog" >out 2>&1
has 0 "all             0 files" cache clear
[ "$before" = "$(mtimes)" ] || fail "files of others were touched: $(mtimes)"
"$prog" >out 2>&1
[ "$(cat out)" = "$first" ] || fail "another result after clear: $(cat out)"
[ -z "$(ls "$c/tmp")" ] || fail "files are left in tmp: $(ls "$c/tmp")"

# no cache, and one that may not be used
export RIDGE_CACHE=0
has 1 "there is no cache: RIDGE_CACHE=0" cache
unset RIDGE_CACHE
chmod 777 "$here/c"
has 1 "other users can write to it (chmod 700 mends that)" cache show
chmod 755 "$here" "$here/c" "$c"

# the same by another user, to whom it is read only; and a program with more rights than its caller, which must not run what the
# caller names
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    chmod -R a+rX "$here/c"
    as="setpriv --reuid 12345 --regid 12345 --clear-groups"
    cp "$RIDGE" "$here/ridge" && chmod 755 "$here/ridge"
    if $as "$here/ridge" version >/dev/null 2>&1; then
        out=$($as "$here/ridge" cache clear 2>&1) && fail "another user cleared the cache: $out"
        case $out in *"cannot be written: nothing was removed"*) ;; *) fail "clear by another user: $out" ;; esac
        out=$($as "$here/ridge" cache 2>&1) || fail "show by another user: $out"
        case $out in *"(read only)"*) ;; *) fail "show by another user: $out" ;; esac
        chmod 4755 "$here/ridge"
        out=$(RIDGE_CC=/evil RIDGE_MODEL=/evil CC=/evil $as "$here/ridge" env 2>&1)
        if [ "$($as "$here/ridge" env 2>/dev/null | grep -c CACHE_DIR.*$here)" -eq 0 ]; then
            case $out in *evil*) fail "a setuid program believes its caller: $(echo "$out" | grep evil)" ;; esac
            case $out in *"RIDGE_ variables are ignored: this program has more rights than its caller"*) ;;
            *) fail "a setuid program does not say that it ignores variables: $(echo "$out" | head -3)" ;; esac
        fi
        chmod 755 "$here/ridge"
        case $(RIDGE_CC=/evil $as "$here/ridge" env 2>&1) in *evil*) ;; *) fail "RIDGE_CC is not shown" ;; esac
    fi
fi
exit $bad
