#!/bin/sh
# Every function of ridge.h is there for a program that links libridge.a, as a plain symbol and with its call site.
. "$(dirname "$0")/common"
lib=${BUILD_DIR:-$root/build/release}/libridge.a
nm "$lib" 2> /dev/null | sed -n 's/.* [TW] //p' | sort > there
sed -n 's/^RG_\(API\|FN\) .*[ *]\(rg_[a-z0-9_]*\)(.*/\2/p' "$root/include/ridge.h" | sort -u > named
[ "$(wc -l < named)" -gt 300 ] || fail "ridge.h: found $(wc -l < named) functions only"
missing=$(comm -23 named there)
[ -z "$missing" ] || fail "ridge.h declares what libridge.a keeps to itself: $missing"
exit $bad
