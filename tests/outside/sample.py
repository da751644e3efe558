"""Writes tests/unit/outside_sample.h: programs of tests/outside with what PyTorch says they compute, as C.

tests/unit/outside.c runs them in `make test`, which needs neither Python nor PyTorch. Of many small programs those are taken that add the
most to what the others show: a function in a kind of program, with an option, a dtype, a size of 0 or 1."""

import collections
import heapq
import textwrap

import generate
from header import V
from program import c_leaf, c_scalars, c_steps, dtype, is_float, tolerances
from rows import ROWS

MOST_VALUES, DRAWN = 30, 12  # elements; candidates for each program
KINDS = ["forward", "forward", "assign", "grad", "grad2", "backward", "jit", "loop"]
FILES = ("npy", "safetensors", "copy_to")  # they write files


def small(p, want, most):
    """Few values and calls; of a jit four, as it replays from the third on."""
    if any(s.f in FILES or s.f == "collect" for s in p.steps):
        return False
    leaves = sum(x.numel() for leaf in p.leaves.values() for x in leaf.data)
    return leaves <= 2 * most and sum(y.numel() for call in want for _, y in call) <= most and p.calls <= 3 + p.jit


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


def trait(p, a):
    """What kind of argument it is."""
    if isinstance(a, V):
        return p.tags[a]
    if isinstance(a, (list, tuple)):
        return min(len(a), 3), len(set(map(repr, a))) > 1, min((repr(trait(p, x)) for x in a), default="")
    if isinstance(a, bool) or not isinstance(a, (int, float)):
        return repr(a)
    return "-" if a < 0 else 0 if a == 0 else 1 if a == 1 else "+"


def sizes(p, a):
    leaf = p.leaves.get(a) if isinstance(a, V) else None
    return leaf and tuple(sorted({min(n, 2) for n in leaf.data[0].shape}))


def features(p):
    """What a program has that others may not: functions by kind, option, dtype and sizes, and by all their options together."""
    for s in p.steps:
        yield s.f, p.mode
        options = [(name, repr(trait(p, x))) for a in s.args if isinstance(a, dict) for name, x in a.items()]
        plain = [(k, repr(trait(p, a))) for k, a in enumerate(s.args) if not isinstance(a, dict)]
        whole = [sizes(p, a) for a in s.args if isinstance(a, V)][:1]  # of the first operand
        yield from ((s.f, p.grads > 0, o, whole == [(2,)]) for o in options)
        yield from ((s.f, o) for o in plain)
        yield s.f, whole == [(2,)], tuple(options), tuple(o for o in plain if not isinstance(s.args[o[0]], V))
        yield from ((s.f, k, sizes(p, a)) for k, a in enumerate(s.args))


def candidates(seed, n):
    """Small programs, every row in every kind; of a row that had none, larger ones."""
    rows, used = [name for name, r in ROWS.items() if r.weight > 0 and name not in FILES], set()

    def draw(k, name, kind, steps, most):
        only = [name, name, name, "add", "mul", "permute", "sum"]
        p, want = generate.program(seed * 1_000_000_007 + k, [kind], only, steps=steps)
        if p is not None and small(p, want, most):
            used.update(s.f for s in p.steps)
            yield p, want

    for k in range(n):
        turn = k // len(rows)
        yield from draw(k, rows[k % len(rows)], KINDS[turn % len(KINDS)], 1 + turn % 4, MOST_VALUES)
    for k in range(n, n + 400 * len(rows)):
        if rows[k % len(rows)] not in used:
            yield from draw(k, rows[k % len(rows)], "forward", 1, 4 * MOST_VALUES)


def choose(programs, n):
    """Those that have the most features that none before has; lazily, as what a program adds only falls."""
    seen, chosen = set(), []
    heap = [(-len(set(features(p))), k) for k, (p, _) in enumerate(programs)]
    heapq.heapify(heap)
    while heap and len(chosen) < n:
        _, k = heapq.heappop(heap)
        fresh = set(features(programs[k][0])) - seen
        if heap and fresh and -len(fresh) > heap[0][0]:
            heapq.heappush(heap, (-len(fresh), k))
        elif fresh:
            seen |= fresh
            chosen.append(k)
    return [programs[k] for k in chosen]


def write(path, seed, n):
    some = choose(list(candidates(seed, DRAWN * n)), n)
    out, kinds = [], collections.Counter()
    for k, (p, want) in enumerate(some):
        kinds[p.mode] += 1
        out.append("/* %d: %s; %s */" % (k, p.mode, " ".join(s.f for s in p.steps)))
        out += body_of(p, k, want, tolerances(p, ROWS, want)) + [""]
    head = [
        "/* outside_sample.h: written by tests/outside/run.py --sample; do not edit. %d programs (%s) with PyTorch's values."
        % (len(some), ", ".join("%s %d" % kv for kv in sorted(kinds.items()))),
        " * outside.c runs them; docs/testing.md */",
        "/* clang-format off */",
    ]
    tail = [
        "static void (*const sample[])(rg_ctx *) = {",
        "    " + ", ".join("p%d" % k for k in range(len(some))) + ",",
        "};",
        "/* clang-format on */",
    ]
    with open(path, "w") as f:
        f.write("\n".join(x for line in head + out + tail for x in fold(line)) + "\n")
    used = {s.f for p, _ in some for s in p.steps}
    lacking = sorted(name for name in ROWS if name not in used and name not in FILES and name != "collect")
    print("%s: %d programs; rows not used: %s" % (path, len(some), " ".join(lacking) or "none"))
    return 1 if lacking else 0
