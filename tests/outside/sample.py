"""Writes tests/unit/outside_sample.h: programs of tests/outside with what PyTorch says they compute, as C.

tests/unit/outside.c runs them in `make test`, which needs neither Python nor PyTorch. Programs are taken in order of their seeds until
every row has been used and there are 25 of each kind; small ones only."""

import textwrap

import generate
from header import V
from program import c_leaf, c_scalars, c_steps, dtype, is_float, tolerances
from rows import ROWS

MOST_VALUES, TIMES, LEAST = 30, 1, 25
KINDS = ["forward", "forward", "assign", "grad", "grad2", "backward", "jit", "loop"]
FILES = ("npy", "safetensors", "copy_to")  # they write files


def small(p, want):
    if any(s.f in FILES or s.f == "collect" for s in p.steps):
        return False
    leaves = sum(x.numel() for leaf in p.leaves.values() for x in leaf.data)
    return (
        leaves <= 2 * MOST_VALUES and sum(y.numel() for call in want for _, y in call) <= MOST_VALUES and p.calls <= 4
    )


def numbers(values, digits):
    return (
        ", ".join(
            {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(s, s)
            for s in ("%.*g" % (digits, v) for v in values)
        )
        or "0"
    )


def expect(name, tag, y, tol):
    flat = [float(v) for v in y.reshape(-1)]
    if is_float(tag):
        off = "(double[]){%s}" % numbers([1.05 * float(v) for v in tol.reshape(-1)], 2)
    else:
        off = "NULL"
    return "see(%s, %s, RG_SHAPE(%s), (double[]){%s}, %s);" % (
        name,
        dtype(tag),
        ", ".join(map(str, y.shape)),
        numbers(flat, 17 if tag == "f64" else 12),
        off,
    )


def body_of(p, k, want, tol):
    """Functions of program k."""
    out, fixed = [], [i for i in p.leaves if i not in p.inputs]
    for i, leaf in p.leaves.items():
        assert leaf.kind in ("from", "param", "scalar", "index")
    if p.jit:
        out += ["static rg_tensor %s;" % ", ".join("p%d_v%d" % (k, i) for i in fixed)] if fixed else []
        out.append("static rg_status p%d_body(void *user, const rg_tensor *in, rg_tensor *out) {" % k)
        out += ["    (void)in; (void)user;", "    rg_ctx *c = here; (void)c;"]
        out += ["    rg_tensor v%d = p%d_v%d;" % (i, k, i) for i in fixed]
        out += ["    rg_tensor v%d = in[%d];" % (i, j) for j, i in enumerate(p.inputs)]
        out += (
            c_steps(p, ROWS, "    ")
            + ["    out[%d] = v%d;" % (j, i) for j, i in enumerate(p.outs)]
            + ["    return 0;", "}"]
        )
    out += ["static void p%d(rg_ctx *c) {" % k]
    if p.jit:
        out += ["    " + c_leaf(i, p.leaves[i], 0, "p%d_" % k) for i in fixed]
        out.append("    rg_jit *jit = rg_jit_new(c, p%d_body, NULL, %d);" % (k, len(p.outs)))
    else:
        out += ["    " + c_leaf(i, leaf, 0) for i, leaf in p.leaves.items() if len(leaf.data) == 1]
    changing = p.inputs if p.jit else [i for i, leaf in p.leaves.items() if len(leaf.data) > 1]
    for call in range(p.calls):
        out.append("    {")
        out += ["        " + c_leaf(i, p.leaves[i], call) for i in changing]
        if p.jit:
            out += ["        " + line for line in c_scalars(p, call, "p%d_" % k)]
            ins = ", ".join("v%d" % i for i in p.inputs)
            out.append("        rg_tensor out[%d];" % len(p.outs))
            out.append(
                "        if (rg_jit_call(jit, %s, out)) return;"
                % ("RG_TENSORS(%s)" % ins if ins else "RG_ARRAY(NULL, 0)")
            )
            names = ["out[%d]" % j for j in range(len(p.outs))]
        else:
            out += c_steps(p, ROWS, "        ")
            names = ["v%d" % i for i in p.outs]
        for name, (tag, y), t in zip(names, want[call], tol[call]):
            out.append("        " + expect(name, tag, y, t))
        out += ["        seen(c);", "    }"]
    if p.jit:
        out.append("    rg_jit_free(jit);")
    return out + ["}"]


def fold(line):
    if len(line) <= 118:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(
        line.strip(),
        118,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def write(path, seed, n):
    need = {name: TIMES for name, r in ROWS.items() if name not in FILES and name != "collect"}
    out, names, kinds, k = [], [], {}, 0
    few = lambda kind: kinds.get(kind, 0) < LEAST
    while (any(need.values()) or any(map(few, KINDS))) and k < 100 * n and len(names) < n:
        k += 1
        lacking = sorted((f for f, times in need.items() if times and ROWS[f].weight > 0), key=lambda f: -need[f])
        kind = KINDS[k % len(KINDS)]
        only = None if not lacking else lacking[:3] + ["add", "mul", "permute", "sum"]
        p, want = generate.program(seed * 1_000_000_007 + k, [kind], only, steps=1 + k % 5)
        if p is None or not small(p, want) or not (few(kind) or any(need.get(s.f) for s in p.steps)):
            continue
        for s in p.steps:
            if need.get(s.f):
                need[s.f] -= 1
        kinds[kind] = kinds.get(kind, 0) + 1
        out.append("/* %d: %s; %s */" % (len(names), kind, " ".join(s.f for s in p.steps)))
        out += body_of(p, len(names), want, tolerances(p, ROWS, want)) + [""]
        names.append("p%d" % len(names))
    head = [
        "/* outside_sample.h: written by tests/outside/run.py --sample; do not edit. %d programs (%s) with PyTorch's values."
        % (len(names), ", ".join("%s %d" % kv for kv in sorted(kinds.items()))),
        " * outside.c runs them; docs/testing.md */",
        "/* clang-format off */",
    ]
    tail = [
        "static void (*const sample[])(rg_ctx *) = {",
        "    " + ", ".join(names) + ",",
        "};",
        "/* clang-format on */",
    ]
    with open(path, "w") as f:
        f.write("\n".join(x for line in head + out + tail for x in fold(line)) + "\n")
    print(
        "%s: %d programs; rows not used: %s"
        % (path, len(names), " ".join(f for f, t in need.items() if t == TIMES) or "none")
    )
    return 0
