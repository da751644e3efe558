#!/bin/sh
# The walkthroughs of HACKING.md are true: each block marked `sh walkthrough` is run as it stands, in the order of the page, in a
# copy of the tree with what is built already. A command that fails is named with its section.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build/release}
case $build in */release) ;; *) exit 77 ;; esac # the page speaks of build/release
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
export RIDGE_CACHE_DIR="$here/cache" RIDGE_MODEL=tests/machine.txt
unset DEBUG DEVICE NOOPT MAKEFLAGS MFLAGS MAKELEVEL

# sources, then what make built of them; times are kept, so that only what changes is built again
mkdir -p "$here/tree/build" || exit 1
cd "$root" || exit 1
git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2> "$here/lost" | tar cf - -T - | tar xf - -C "$here/tree" || exit 1
for f in gen host setup.ok ridge examples release/obj release/objects release/flags release/libridge.a release/libridge-parts.a \
    release/ridge release/ridge-test release/examples; do
    if [ -e "build/$f" ]; then tar cf - "build/$f" | tar xf - -C "$here/tree" || exit 1; fi
done

awk -v dir="$here" '
/^## / { section = substr($0, 4) }
/^```sh walkthrough$/ { on = 1; n++; print section > (dir "/" n ".name"); next }
/^```/ && on { on = 0 }
on { print > (dir "/" n ".sh") }
' "$root/HACKING.md"
n=1
while [ -f "$here/$n.sh" ]; do
    (cd "$here/tree" && sh -eu "$here/$n.sh") > "$here/out" 2>&1 || {
        echo "HACKING.md, \"$(cat "$here/$n.name")\": status $? after"
        tail -15 "$here/out"
        exit 1
    }
    n=$((n + 1))
done
[ $n -gt 5 ] || { echo "HACKING.md: $((n - 1)) walkthroughs found"; exit 1; }
exit 0
