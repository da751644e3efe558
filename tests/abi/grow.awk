# grow.awk: the ABI's claim about options, which are passed by value, on drawn structs (docs/abi.md). Writes one side of a program:
# -v side=old has the structs of a release and calls, -v side=new has what they grew to and is called. Each draw is a struct of options
# after up to nine other arguments; the callee must get what the caller passed, and OPTS_HAS must tell that the rest is not there.
# -v seed, -v n: draws. -v wrong=1: structs that grow against the rules, to see that this finds them. Used by tests/cli/abi.sh.
# Both sides draw the same: not srand, which some awks seed with the time besides.
function below(k) { state = (state * 16807) % 2147483647; return int(state / 2147483647 * k) }
function up(x, a) { return int((x + a - 1) / a) * a }
function add_field(t) { at = up(at, align[t]); where = at; at += size[t]; if (align[t] > most) most = align[t] }
function value(t, k) { return t == "pair" ? "(pair){" k ", 0}" : t == "one" ? "(one){" k "}" : t == "bool" ? "true" : t == "ptr" ? "(ptr)(intptr_t)" k : k "" }
function number(t, x) { return " + (double)" (t == "ptr" ? "(intptr_t)" x : t == "pair" || t == "one" ? x ".a" : x) }
# Fields of both structs in f[], the first `old` of them of the release. Do they grow by the rules?
function draw_struct(   k) {
    at = 4; most = 4
    old = 1 + below(6)
    all = old + 1 + below(3)
    for (k = 1; k <= all; k++) {
        if (k == old + 1) was = up(at, most)
        f[k] = type[1 + below(TYPES)]
        add_field(f[k])
        if (k == old + 1) first = where
    }
    now = up(at, most)
    return first >= was && (was > 16 ? 1 : now <= 16 && up(was, 8) == up(now, 8))
}
BEGIN {
    state = seed * 2654435 + 12345
    for (k = 0; k < 10; k++) below(2)
    TYPES = split("bool int uint32_t int64_t double ptr one pair", type, " ")
    split("1 4 4 8 8 8 8 16", bytes, " ")
    for (k = 1; k <= TYPES; k++) { size[type[k]] = bytes[k]; align[type[k]] = bytes[k] > 8 ? 8 : bytes[k] }
    print "#include \"api/opts.h\"\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdio.h>"
    print "typedef void *ptr;\ntypedef struct { uint64_t a; } one;\ntypedef struct { uint64_t a, b; } pair;"
    for (d = 1; d <= n; d++) {
        while (draw_struct() == (wrong + 0)) {}
        fields = sum = given = formal = passed = ""
        want = 0
        args = below(10)
        for (k = 1; k <= args; k++) {
            t = type[2 + below(TYPES - 1)]
            formal = formal t " a" k ", "
            passed = passed value(t, k) ", "
            sum = sum number(t, "a" k)
            want += k
        }
        for (k = 1; k <= all; k++) {
            if (k <= old || side == "new") fields = fields f[k] " f" k "; "
            if (k > old) { sum = sum " + (OPTS_HAS(o, f" k ", " was ") ? 1000" number(f[k], "o.f" k) " : 0)"; continue }
            sum = sum number(f[k], "o.f" k)
            given = given ", .f" k " = " value(f[k], k)
            want += f[k] == "bool" ? 1 : k
        }
        printf "typedef struct { int size_; %s} s%d;\ndouble take%d(%ss%d o);\n", fields, d, d, formal, d
        if (side == "new") printf "double take%d(%ss%d o) { return 0%s; }\n", d, formal, d, sum
        else printf "static int try%d(int size) { return take%d(%s(s%d){.size_ = size%s}) != %d; }\n", d, d, passed, d, given, want
        tries = tries sprintf("    dirty();\n    bad += sizeof(s%d) != %d || try%d(%d) || try%d(0);\n", d, was, d, was, d)
    }
    if (side == "new") exit
    print "static __attribute__((noinline)) void dirty(void) {\n    volatile unsigned char junk[4096];\n    for (int i = 0; i < 4096; i++) junk[i] = 0x77;\n}"
    print "int main(void) {\n    int bad = 0;\n" tries "    printf(\"%d of " n " draws are wrong\\n\", bad);\n    return bad != 0;\n}"
}
