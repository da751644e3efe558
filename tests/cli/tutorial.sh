#!/bin/sh
# docs/tutorial.md is true: its programs are taken from the page, its commands run as they stand there, and what they print
# is what the page says. So is the program of README.md.
#
# A ```c block begins with "// FILE.c", or "// FILE.c, continued", which goes on with it. A ``` block that begins with "$ " is a
# session: commands, each followed by what it prints; a line of "..." stands for any lines. Numbers with a fraction may be off by one in the last digit that is
# printed. In lines that DEBUG writes other numbers may differ, as times do; names of kernels may not.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD_DIR:-$root/build/release}
page=$root/docs/tutorial.md
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0} RIDGE_MODEL=$root/tests/machine.txt
unset DEBUG DEVICE NOOPT
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

# where the reader stands: the root of the repository after `make`
mkdir -p "$here/root/build" "$here/bin"
ln -s "$root/include" "$here/root/include"
ln -s "$build" "$here/root/build/release"
# cc is the compiler that built the library, with its sanitizer if it has one
case $build in */asan) more=-fsanitize=address,undefined ;; */tsan) more=-fsanitize=thread ;; *) more= ;; esac
compiler=$(command -v "${CC:-cc}") || exit 1 # before the PATH has ours
printf '#!/bin/sh\nexec %s -Wall -Wextra -Werror %s "$@"\n' "$compiler" "$more" > "$here/bin/cc"
chmod +x "$here/bin/cc"
PATH=$here/bin:$PATH

# blocks: programs go to their files, sessions to $here/N.session
awk -v root="$here/root" -v here="$here" '
/^```c$/ { getline; name = $2; sub(/,$/, "", name)
           if ($1 != "//" || name !~ /^[a-z]+\.c$/) { print "line " NR ": a program begins with // NAME.c"; exit 1 }
           if ((name in seen) != ($3 == "continued")) { print "line " NR ": " name " is begun twice, or continued before it is begun"; exit 1 }
           seen[name] = 1; out = root "/" name; if ($3 != "continued") print > out; next }
/^```$/ && !out { if ((getline) > 0 && /^\$ /) { out = here "/" ++n ".session"; print > out } else { print "line " NR ": not a session"; exit 1 }; next }
/^```/ && out { close(out); out = ""; next }
/^```sh$/ { while ((getline) > 0 && !/^```$/); next }
out { print >> out }
END { if (out) { print "a block has no end"; exit 1 } }' "$page" || exit 1

cat > "$here/same.awk" <<'AWK'
function plain(s) {  # a line that DEBUG wrote, less what differs from run to run
    gsub(/(miss|hit) [0-9a-f]+/, "& ", s); gsub(/miss [0-9a-f]+/, "miss #", s); gsub(/hit [0-9a-f]+/, "hit #", s)
    gsub(/pid:[0-9]+/, "pid:#", s)
    gsub(/[|\/(]/, " & ", s)
    n = split(s, word, /[ \t]+/); s = ""
    for (i = 1; i <= n; i++) {
        sub(/^[0-9.]+(us|ms|%)?$/, "#", word[i]); sub(/^[0-9.]+(us|ms)/, "#", word[i])
        if (word[i] != "") s = s " " word[i]
    }
    return s
}
function equal(a, b,   i, n, m, x, y, unit) {
    if (a == b) return 1
    if (a ~ /^(opened|\*\*\*|scheduled|avg:|plan:|memory|  chosen|  then|  store all|  fuse all)/) return plain(a) == plain(b)
    n = split(a, x, / +/); m = split(b, y, / +/)
    if (n != m) return 0
    for (i = 1; i <= n; i++) {
        if (x[i] == y[i]) continue
        if (x[i] !~ /^-?[0-9]+\.[0-9]+$/ || y[i] !~ /^-?[0-9]+\.[0-9]+$/ || length(x[i]) != length(y[i])) return 0
        unit = 10 ^ -(length(x[i]) - index(x[i], "."))
        if (x[i] - y[i] > 1.01 * unit || y[i] - x[i] > 1.01 * unit) return 0
    }
    return 1
}
FILENAME == ARGV[1] { want[++nw] = $0; next }
{ got[++ng] = $0 }
END {
    for (w = g = 1; w <= nw; w++) {
        if (want[w] == "...") { while (g <= ng && !(w < nw && equal(want[w + 1], got[g]))) g++; continue }
        if (g > ng || !equal(want[w], got[g])) { print "the page says:  " want[w]; print "it prints:      " (g > ng ? "nothing" : got[g]); exit 1 }
        g++
    }
    if (g <= ng) { print "the page ends, it prints also: " got[g]; exit 1 }
}
AWK

# check COMMAND: runs it; its output must be what $here/want holds
check() {
    (cd "$here/root" && sh -c "$1") > "$here/got" 2>&1 || fail "status $? of: $1: $(head -5 "$here/got")"
    cat "$here/got" >> "$here/all"
    said=$(awk -f "$here/same.awk" "$here/want" "$here/got") || fail "$1
$said"
}
commands=0
n=1
while [ -f "$here/$n.session" ]; do
    command=
    : > "$here/want"
    while IFS= read -r line; do
        case $line in
        '$ '*)
            [ -z "$command" ] || check "$command"
            command=${line#??} commands=$((commands + 1))
            : > "$here/want" ;;
        *) printf '%s\n' "$line" >> "$here/want" ;;
        esac
    done < "$here/$n.session"
    check "$command"
    n=$((n + 1))
done
[ $commands -ge 16 ] || fail "only $commands commands were found on the page"
for f in "$here"/root/*.c; do [ -x "${f%.c}" ] || fail "the page never compiles ${f##*/}"; done
# the README's program compiles, and prints what its comment says
awk '/^```c$/ { on = 1; next } /^```/ { on = 0 } on' "$root/README.md" > "$here/root/readme.c"
want=$(sed -n 's|.*printf(.*// *||p' "$here/root/readme.c")
(cd "$here/root" && cc -Iinclude readme.c build/release/libridge.a -lz -ldl -lpthread -lm -o readme) || fail "README.md: its program does not compile"
got=$("$here/root/readme") || fail "README.md: its program fails"
[ -n "$want" ] && [ "$got" = "$want" ] || fail "README.md: its program prints '$got', the page says '$want'"
# the network learns
awk '/^step/ { if (last != "" && $4 + 0 >= last + 0) bad = 1; last = $4; n++ } END { exit bad || n < 5 || last > 0.06 }' "$here/all" ||
    fail "the losses do not fall: $(grep ^step "$here/all")"
exit $bad
