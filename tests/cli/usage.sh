#!/bin/sh
# The command line itself: help, versions, wrong usage, exit codes. RIDGE names the binary.
set -u
RIDGE=${RIDGE:-build/ridge}
# a leak check costs seconds per process under the sanitizer; opt.sh has one with it
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}
here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
bad=0
fail() { echo "$*"; bad=1; }

# expect STATUS WORDS ARGS..: exit status, and words somewhere in stdout or stderr
expect() {
    want=$1 words=$2
    shift 2
    out=$("$RIDGE" "$@" 2>&1)
    got=$?
    [ $got -eq "$want" ] || fail "ridge $*: exit status $got, expected $want: $out"
    case $out in *"$words"*) ;; *) fail "ridge $*: expected '$words' in: $out" ;; esac
}

expect 0 "usage: ridge COMMAND" --help
expect 0 "usage: ridge COMMAND" help
expect 2 "usage: ridge COMMAND"
expect 2 "no command 'nonsense'; \`ridge --help\` lists them" nonsense
expect 0 "ridge 0." version
expect 0 "ridge 0." --version
expect 0 "usage: ridge env" env --help
expect 0 "RIDGE_DEBUG" env
expect 2 "unknown option --hepl, did you mean --help?; see \`ridge env --help\`" env --hepl
expect 2 "did not expect 'x'" env x
expect 0 "usage: ridge opt [options] FILE.uop" opt --help
expect 0 "TILE(" opt --help
expect 2 "expected FILE.uop; see \`ridge opt --help\`" opt
expect 2 "unknown option --chekc, did you mean --check?" opt --chekc x.uop
expect 2 "unknown option --zzzzzz; see" opt --zzzzzz x.uop
expect 2 "unknown option -x; options have two dashes" opt -x x.uop
expect 2 "--emit expects ir, tree, linear, c, asm, cuda or opencl, found 'pdf'" opt --emit pdf x.uop
expect 2 "--runs expects a whole number, found 'many'" opt --runs many x.uop
expect 2 "--runs expects a value: --runs N" opt x.uop --runs
expect 2 "--run takes no value" opt x.uop --run=1
expect 2 "--noopt and --opts exclude each other" opt --noopt --opts "VEC(i)" x.uop
expect 2 "--threads expects 1 to 4096" opt --threads 99999 x.uop
expect 2 "did not expect 'b.uop'" opt a.uop b.uop
expect 1 "does-not-exist.uop" opt "$here/does-not-exist.uop"

# help goes to stdout, errors to stderr
[ -z "$("$RIDGE" opt --help 2>&1 >/dev/null)" ] || fail "ridge opt --help writes to stderr"
[ -z "$("$RIDGE" opt 2>/dev/null)" ] || fail "an error was written to stdout"
# a variable that does not exist is said once, and the command still works
out=$(RIDGE_NONSENSE=1 "$RIDGE" version 2>&1) || fail "a warning made the command fail"
[ "$(echo "$out" | grep -c NONSENSE)" -eq 1 ] || fail "expected one warning about RIDGE_NONSENSE in: $out"
exit $bad
