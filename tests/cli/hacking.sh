#!/bin/sh
# The walkthroughs of HACKING.md and docs/internals/add-an-op.md are true: each block marked `sh walkthrough` is run as it stands, in
# the order of the page, in a copy of the tree. A command that fails is named with its section. Adding an op changes the files that
# its page lists, nine at most.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build/release}
case $build in */release) ;; *) exit 77 ;; esac # the pages speak of build/release
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
export RIDGE_CACHE_DIR="$here/cache" RIDGE_MODEL=tests/machine.txt
unset DEBUG DEVICE NOOPT MAKEFLAGS MFLAGS MAKELEVEL
cd "$root" || exit 1

copy() { # the sources, to a new folder
    mkdir -p "$1/build" || exit 1
    git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2> "$here/lost" | tar cf - -T - | tar xf - -C "$1" || exit 1
}

walk() { # the blocks of page $1 in tree $2; at least $3 of them
    rm -f "$here"/*.sh "$here"/*.name
    awk -v dir="$here" '
    /^## / { section = substr($0, 4) }
    /^```sh walkthrough$/ { on = 1; n++; print section > (dir "/" n ".name"); next }
    /^```/ && on { on = 0 }
    on { print > (dir "/" n ".sh") }
    ' "$root/$1"
    n=1
    while [ -f "$here/$n.sh" ]; do
        (cd "$2" && sh -eu "$here/$n.sh") > "$here/out" 2>&1 || {
            echo "$1, \"$(cat "$here/$n.name")\": status $? after"
            tail -15 "$here/out"
            exit 1
        }
        n=$((n + 1))
    done
    [ $n -gt "$3" ] || { echo "$1: $((n - 1)) walkthroughs found"; exit 1; }
}

# ---- an op: a build of its own, since every file sees the table of ops
page=docs/internals/add-an-op.md
copy "$here/op"
walk $page "$here/op" 2
git ls-files --cached --others --exclude-standard src include tools | while read -r f; do cmp -s "$f" "$here/op/$f" || echo "$f"; done | sort > "$here/changed"
awk '/^```files$/ { on = 1; next } /^```/ { on = 0 } on' $page | sort > "$here/listed"
diff "$here/listed" "$here/changed" > "$here/out" || { echo "$page lists other files (<) than its walkthrough changes (>):"; cat "$here/out"; exit 1; }
[ "$(wc -l < "$here/changed")" -le 9 ] || { echo "$page: an op takes more than 9 files"; cat "$here/changed"; exit 1; }
rm -rf "$here/op"

# ---- everything else, with what make built; times are kept, so that only what changes is built again
copy "$here/tree"
for f in gen host setup.ok ridge examples release/obj release/objects release/flags release/libridge.a release/libridge-parts.a \
    release/ridge release/ridge-test release/examples; do
    if [ -e "build/$f" ]; then tar cf - "build/$f" | tar xf - -C "$here/tree" || exit 1; fi
done
walk HACKING.md "$here/tree" 5
exit 0
