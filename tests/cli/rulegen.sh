#!/bin/sh
# Every mistake in a rule file that can be known without running it stops the build, with file, line and reason.
set -eu
gen=$(dirname "$BUILD_DIR")/host/rulegen
[ -x "$gen" ] || exit 77
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
bad=0

# expect LINE TEXT: the file on stdin must fail at LINE with TEXT in the message
expect() {
    cat > "$tmp/t.rules"
    if "$gen" -o "$tmp" "$tmp/t.rules" > "$tmp/out" 2>&1; then
        echo "accepted, expected: $2"; bad=1
    elif ! grep -q "t.rules:$1: .*$2" "$tmp/out"; then
        echo "expected line $1, '$2', found: $(cat "$tmp/out")"; bad=1
    fi
}

expect 1 'unknown op FOO' <<'E'
rule a : (FOO x) => x
E
expect 1 'ADD has 3 sources, expected 2' <<'E'
rule a : (ADD x y z) => x
E
expect 1 'NEG has 2 sources, expected 1' <<'E'
rule a : (ADD x y) => (NEG x y)
E
expect 2 '`y` is not bound' <<'E'
# a comment
rule a : (NEG x) => y
E
expect 1 '`c2` is not bound' <<'E'
rule a : (ADD x c1) => (ADD x {c1 + c2})
E
expect 1 '`c` is not bound' <<'E'
rule a : (NEG x) if c > 0 => x
E
expect 1 'not canonical' <<'E'
rule a : (ADD 0 x) => x
E
expect 1 'not canonical' <<'E'
rule a : (ADD (ADD x y) (MUL x c)) => x
E
expect 1 'not canonical' <<'E'
rule a : (NEG (MUL c x)) => x
E
expect 2 'rule a is defined twice' <<'E'
rule a : (NEG x) => x
rule a : (ABS x) => x
E
expect 3 'is never reached' <<'E'
set s = t.rules
rule a : (ADD x y) => x
rule b : (ADD x 0) => x
E
expect 3 'is never reached' <<'E'
set s = t.rules
rule a : (MUL x (ADD y z)) => x
rule b : (MUL (NEG x) (ADD z z)) if is_int(x) => x
E
expect 3 'is a duplicate of a' <<'E'
set s = t.rules
rule a : (ADD x y) if is_int(x) => x
rule b : (ADD x y) if is_int(x) => y
E
expect 1 'type of an integer cannot be inferred' <<'E'
rule a : (NEG x) => (CAST<f32> 1)
E
expect 1 'lanes of INDEX cannot be inferred' <<'E'
rule a : (LOAD (INDEX b x)) => (LOAD (INDEX b x))
E
expect 1 'unknown dtype <f31>' <<'E'
rule a : (NEG<f31> x) => x
E
expect 1 'NEG has no .argument.' <<'E'
rule a : (NEG[3] x) => x
E
expect 1 'cannot stand in one alternation' <<'E'
rule a : (ADD|LT x y) => x
E
expect 1 'expected `=>`' <<'E'
rule a : (NEG x) if is_int(x) x
E
expect 1 'belongs on the right side' <<'E'
rule a : (NEG {x}) => x
E
expect 1 'the name `rw` is reserved' <<'E'
rule a : (NEG rw) => rw
E
expect 1 'expected a file given to rulegen or a set, found `none.rules`' <<'E'
set s = none.rules
E
expect 1 'found `rul`' <<'E'
rul a : (NEG x) => x
E
expect 1 'needs a line `fuzz n' <<'E'
rule a : (BUILD x ...) => x
E
expect 1 'types on the left side contradict' <<'E'
rule a : (SQRT (AND x y)) => x
E

# gradients
expect 1 '`z` is not a source of MUL' <<'E'
grad a : (MUL x y) => z: g
E
expect 1 '`x` is named twice' <<'E'
grad a : (MUL x y) => x: g, x: g
E
expect 1 '`g` is the gradient of the node' <<'E'
grad a : (MUL g y) => y: g
E
expect 1 '`z` is not bound' <<'E'
grad a : (MUL x y) => x: (MUL g z)
E
expect 1 'expected a source and `:`, or `none`' <<'E'
grad a : (MUL x y) => (MUL g y)
E
expect 1 'expected `,` or the end of the gradient' <<'E'
grad a : (NEG x) => x: (NEG g) y
E
expect 3 'they cannot be mixed' <<'E'
set s = t.rules
rule a : (NEG (NEG x)) => x
grad b : (NEG x) => x: (NEG g)
E
expect 3 'is never reached' <<'E'
set s = t.rules
grad a : (MUL x y) => x: (MUL g y)
grad b : (MUL x 1.0) => x: g
E
expect 2 'a gradient has no `test` lines' <<'E'
grad a : (NEG x) => x: (NEG g)
test (NEG x) => x
E

expect 2 'unknown unit @MATH' <<'E'
set s = t.rules
rule a : (@MATH x) => x
E

# and a good one, over two lines, with both operand orders
cat > "$tmp/t.rules" <<'E'
set s = t.rules
rule a : (ADD x (MUL y c))
         if c == 7 => x
E
"$gen" -o "$tmp" "$tmp/t.rules" || bad=1
[ "$(grep -c '/\* a  t.rules:2 \*/' "$tmp/rules_s.c")" = 2 ] || { echo "expected both operand orders"; bad=1; }
# a gradient asks for each source on its own
printf 'set s = t.rules\ngrad a : (SUB x y) => x: g, y: (NEG g)\n' > "$tmp/t.rules"
"$gen" -o "$tmp" "$tmp/t.rules" || bad=1
[ "$(grep -c 'if (want >> [01] & 1)' "$tmp/rules_s.c")" = 2 ] || { echo "expected a question for each source"; bad=1; }
exit $bad
