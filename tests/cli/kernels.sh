#!/bin/sh
# `ridge kernels`: the list, one kernel with graph, source and assembly, a graph that `ridge opt` takes, errors for people.
. "$(dirname "$0")/common"
[ -x "$build/examples/dot" ] || { echo "the examples are not built"; exit 1; }
has 0 " r_2 " kernels -- "$build/examples/dot"
has 0 " r_2 " kernels # the profile that it left
has 0 "SOURCE" kernels r_2
has 0 "dot.c:13, dot" kernels r_2
has 0 "ASSEMBLY" kernels ridge.profile r_2 --asm
has 0 "r_2:" kernels r_2 --emit asm
has 0 "void r_2(" kernels r_2 --emit source
has 0 '"source":"' kernels --json
has 0 "GRAPH" kernels r_2 -- "$build/examples/dot"
"$RIDGE" kernels r_2 --emit graph > k.uop || fail "no graph"
"$RIDGE" opt k.uop --check > out 2>&1 || fail "the graph is not one for ridge opt: $(cat out)"
has 1 "has no kernel 'r_9'; \`ridge kernels ridge.profile\` lists them" kernels r_9
has 1 "No such file" kernels none.profile r_2
has 1 "no Ridge profile" kernels "$root/tests/traces/memory_leak.snapshot.pickle"
has 1 "recorded nothing" kernels -- true
has 2 "--emit expects graph, source or asm, found 'pdf'" kernels r_2 --emit pdf
has 2 "--emit expects a NAME" kernels --emit asm
has 2 "expected [NAME] -- PROGRAM ARGS" kernels --
has 0 "usage: ridge kernels" kernels --help
exit $bad
