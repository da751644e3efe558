#!/bin/sh
# What `make install` puts somewhere works there: a user's program by pkg-config, the command, its data, manual pages and
# completions; `make uninstall` leaves nothing. The packages are tested by `make test-deb`.
. "$(dirname "$0")/common"
here=$(pwd -P) # the library tells where files really are
manual=$here/manual prefix=$here/opt/ridge
"$root/tools/manual" "$RIDGE" "$manual" || fail "tools/manual failed"
put() { OUT=$build MANUAL=$manual PREFIX=$prefix STRIP='' "$root/tools/install" "$@"; }
put install || fail "tools/install failed"

# ---- a user's program, in a folder of its own
flags=$(tr ' ' '\n' < "$build/flags" | grep '^-fsanitize')
cat > user.c <<'C'
#include <ridge.h>
#include <stdio.h>
int main(void) {
    rg_ctx *c = rg_open(NULL);
    float data[3000];
    for (int i = 0; i < 3000; i++) data[i] = (float)(i % 5);
    rg_tensor x = rg_from(c, RG_F32, data, RG_SHAPE(30, 100));
    printf("%g %s\n", rg_item(rg_sum(rg_matmul(x, rg_transpose(x, 0, 1)))), rg_error(c));
    return rg_close(c);
}
C
if command -v pkg-config > where; then
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    [ "$(pkg-config --modversion ridge)" = "$("$RIDGE" version | awk '{ print $2 }')" ] || fail "ridge.pc has another version than ridge"
    how=$(pkg-config --cflags --libs ridge)
    case $(pkg-config --libs --static ridge) in *-lz*-lm*) ;; *) fail "ridge.pc does not name what a static program needs" ;; esac
else
    how="-I$prefix/include -L$prefix/lib -lridge"
fi
# shellcheck disable=SC2086
${CC:-cc} $flags -o user user.c $how 2> why || fail "a user's program: $(head -3 why)"
out=$(LD_LIBRARY_PATH=$prefix/lib ./user) || fail "a user's program ended with $?"
[ "$out" = "540000 " ] || fail "a user's program: expected 540000, got $out"
# The worker is the one that was installed: in an empty cache search says nothing about a missing one.
out=$(RIDGE_CACHE_DIR=$here/cache RIDGE_TUNED=0 BEAM=1 DEBUG=1 LD_LIBRARY_PATH=$prefix/lib ./user 2>&1)
case $out in *"there is no ridge-worker"*) fail "the library does not find lib/ridge-0/ridge-worker" ;; esac
mv "$prefix/lib/ridge-0" "$prefix/lib/elsewhere"
out=$(RIDGE_CACHE_DIR=$here/cache2 BEAM=1 DEBUG=1 LD_LIBRARY_PATH=$prefix/lib ./user 2>&1)
case $out in *"there is no ridge-worker"*) ;; *) fail "without a worker: expected a line about it in: $out" ;; esac
mv "$prefix/lib/elsewhere" "$prefix/lib/ridge-0"

# Tables of a profile are read by a library of their own.
cat > table.c <<'C'
#include <ridge.h>
#include <stdio.h>
int main(void) {
    char text[4096];
    rg_ctx *c = rg_open("NULL");
    rg_profile_start(c, "t.profile");
    rg_realize(rg_ones(c, RG_F32, RG_SHAPE(4)));
    rg_profile_stop(c);
    size_t n = rg_profile_table(c, "t.profile", text, sizeof text, .by = RG_BY_OP);
    printf("%s%s\n", n ? text : "", rg_error(c));
    return rg_close(c) != 0;
}
C
${CC:-cc} $flags -I"$prefix/include" -o table table.c -L"$prefix/lib" -lridge 2> why || fail "a program with a table: $(head -3 why)"
out=$(LD_LIBRARY_PATH=$prefix/lib ./table 2>&1) || fail "rg_profile_table: $out"
case $out in *share*calls*) ;; *) fail "rg_profile_table gives: $out" ;; esac
rm "$prefix/lib/ridge-0/libridge-report.so"
out=$(LD_LIBRARY_PATH=$prefix/lib ./table 2>&1) && fail "rg_profile_table needs no libridge-report.so: $out"
case $out in *"table.c:9: rg_profile_table: profiles are read by libridge-report.so, which is not where"*) ;; *) fail "without readers: $out" ;; esac

# ---- the command and its data, from its own prefix
RIDGE=$prefix/bin/ridge
has 0 "AT BEST" estimate --machine h200 -- "$build/examples/dot"
has 1 "$prefix/share/ridge/machines has some" estimate --machine nope -- "$build/examples/dot"
export LD_LIBRARY_PATH=$prefix/lib
has 0 "VERDICT" profile --out p.profile --html p.html -- ./user
unset LD_LIBRARY_PATH

# ---- a page for each command, with each of its options; completions that shells take
"$RIDGE" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p' > commands
[ "$(wc -l < commands)" -gt 10 ] || fail "ridge --help lists $(wc -l < commands) commands"
while read -r c; do
    page=$prefix/share/man/man1/ridge-$c.1
    [ -s "$page" ] || { fail "no manual page of ridge $c"; continue; }
    for o in $("$RIDGE" "$c" --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
        sed 's/\\-/-/g' "$page" | grep -q -e "^.fB--$o.fR" || fail "ridge-$c.1 has no --$o"
        grep -q -e "^    $c) .*--$o" "$manual/ridge.bash" || fail "completion of ridge $c has no --$o"
    done
    grep -q "ridge.-$c" "$prefix/share/man/man1/ridge.1" || fail "ridge.1 does not name ridge-$c"
done < commands
if command -v man > where && command -v groff > where; then
    for f in ridge ridge-opt ridge-profile; do
        LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$prefix/share/man/man1/$f.1" 2>&1 > shown | head -3 > why
        [ -s why ] && fail "man $f: $(cat why)"
        grep -q "SYNOPSIS" shown || fail "man $f shows nothing"
    done
fi
if command -v bash > where; then
    out=$(bash -c '. "$1"; COMP_WORDS=(ridge pro); COMP_CWORD=1; _ridge; echo "${COMPREPLY[*]}"
        COMP_WORDS=(ridge cache v); COMP_CWORD=2; _ridge; echo "${COMPREPLY[*]}"' - "$prefix/share/bash-completion/completions/ridge")
    [ "$out" = "profile
verify" ] || fail "bash completes to: $out"
fi
! command -v zsh > where || zsh -n "$prefix/share/zsh/site-functions/_ridge" || fail "zsh does not take its completion"
! command -v fish > where || fish -n "$prefix/share/fish/vendor_completions.d/ridge.fish" || fail "fish does not take its completion"

# ---- without a trace
put uninstall || fail "uninstall failed"
left=$(find "$prefix" ! -type d; find "$prefix" -iname '*ridge*' ! -path "$prefix")
[ -z "$left" ] || fail "uninstall leaves $left"
exit $bad
