"""What make_ops.py is built from: number formats, inputs that are views, cases, the file that holds them.

The file (ops.txt) is text, one case after the other, one item per line:

    = NAME OP [KEY=VALUE ...]                 a case: NAME is op.variant.dtypes; the parameters of the op
    i DTYPE DIMS VIEWS | numbers              an input as stored, and the views to take of it before use
    o DTYPE DIMS u=U a=A | numbers            the output: at most U units in the last place plus A away; z=1 instead
                                              of a=A: a zero may have either sign
    s | numbers                               what the gradient starts from (shape and dtype of the output)
    g N u=U a=A | numbers                     gradient with respect to stored input N; zeros have no sign
    e                                         instead of o: the op must refuse

DIMS is 2x3, or - for rank 0. VIEWS is - or a list joined by + : T1,0 (permute) F0 (flip) S1/7/2,0/e/1 (slice: start,
stop, step of each axis; e is "to the end") E2,3 (expand) R6 (reshape). Numbers stand in row-major order; z*5 is five times z.
u=0 a=0 asks for the same bits (a NaN is a NaN). Else the number is the exact result, not rounded to the type.
"""

import os

import mpmath
import numpy as np
import torch

torch.set_default_dtype(torch.float64)
mpmath.mp.prec = 200
np.seterr(all="ignore")
rng = np.random.default_rng(20260117)

#            bits of precision, least exponent of a normal number, greatest finite number
FLOATS = {
    "f16": (11, -14, 65504.0),
    "bf16": (8, -126, float.fromhex("0x1.fep127")),
    "f32": (24, -126, float.fromhex("0x1.fffffep127")),
    "f64": (53, -1022, float.fromhex("0x1.fffffffffffffp1023")),
}
INTS = {
    t: np.dtype(n)
    for t, n in (
        ("i8", "int8"),
        ("i16", "int16"),
        ("i32", "int32"),
        ("i64", "int64"),
        ("u8", "uint8"),
        ("u16", "uint16"),
        ("u32", "uint32"),
        ("u64", "uint64"),
    )
}
HALF = ("f16", "bf16")
FL = tuple(FLOATS)
SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
IN = SIGNED + UNSIGNED
ALL = ("bool",) + IN + FL


def round_to(tag, x):
    """float64 to the nearest value of the type, ties to even, once; the result is a float64."""
    p, emin, top = FLOATS[tag]
    x = np.asarray(x, np.float64)
    if tag == "f64":
        return x
    with np.errstate(all="ignore"):
        _, e = np.frexp(x)
        q = np.ldexp(1.0, np.maximum(e - 1, emin) - (p - 1))  # the unit in the last place
        r = np.rint(x / q) * q
        r = np.where(np.abs(r) > top, np.copysign(np.inf, x), r)
    return np.where(np.isfinite(x), r, x)


def eps(tag):
    """Half a unit in the last place of 1: the greatest relative error of one rounding."""
    return 2.0 ** -FLOATS[tag][0]


def acc(tag):
    """The type in which sums of `tag` are made."""
    return "f32" if tag in HALF else tag


def np_type(tag):
    return np.dtype(bool) if tag == "bool" else INTS.get(tag, np.dtype(np.float64))


class In:
    """An input: stored array, dtype, views. Floats are kept as float64 that are values of the type."""

    def __init__(self, tag, a, *views):
        a = np.asarray(a)
        self.tag, self.views = tag, views
        self.a = round_to(tag, a) if tag in FLOATS else a.astype(np_type(tag))

    def np(self):
        x = self.a
        for kind, v in self.views:
            if kind == "T":
                x = x.transpose(v)
            elif kind == "F":
                x = np.flip(x, v)
            elif kind == "S":
                x = x[tuple(slice(b, e, s) for b, e, s in v)]
            elif kind == "E":
                x = np.broadcast_to(x, v)
            elif kind == "R":
                x = x.reshape(v)
        return x

    def leaf(self):
        t = torch.from_numpy(np.ascontiguousarray(self.a).copy()).reshape(self.a.shape)
        return t.requires_grad_(True) if self.tag in FLOATS else t

    def torch(self, t):
        for kind, v in self.views:
            if kind == "T":
                t = t.permute(v)
            elif kind == "F":
                t = t.flip(v)
            elif kind == "S":  # PyTorch has no negative step
                for axis, (b, e, s) in enumerate(v):
                    t = t.index_select(axis, torch.tensor(list(range(t.shape[axis]))[b:e:s], dtype=torch.int64))
            elif kind == "E":
                t = t.expand(v)
            elif kind == "R":
                t = t.reshape(v)
        return t

    def text(self):
        words = []
        for kind, v in self.views:
            if kind == "S":
                words.append("S" + ",".join("%d/%s/%d" % (b, "e" if e is None else e, s) for b, e, s in v))
            else:
                words.append(kind + ",".join(map(str, v)))
        return "+".join(words) or "-"


def dims(shape):
    return "x".join(map(str, shape)) or "-"


def shortest(tag, x):
    """The fewest digits that read back as the same value of the type."""
    if not np.isfinite(x) or x == 0 or tag == "f64":
        return repr(float(x))
    for n in range(1, 18):
        s = "%.*g" % (n, x)
        if round_to(tag, float(s)) == x:
            return "%d" % x if x == int(x) and abs(x) < 1e5 else s
    return repr(float(x))


DIGITS = {"f16": 9, "bf16": 9, "f32": 12, "f64": 17}


def numbers(tag, a, exact):
    flat = np.asarray(a).reshape(-1)
    if tag not in FLOATS:
        words = [str(int(x)) for x in flat]
    elif exact:
        words = [shortest(tag, x) for x in flat]
    else:
        words = ["%.*g" % (DIGITS[tag], x) for x in flat]
    words = [w[:-2] if w.endswith(".0") else w for w in words]
    out, i = [], 0
    while i < len(words):
        n = 1
        while i + n < len(words) and words[i + n] == words[i]:
            n += 1
        out.append(words[i] if n == 1 else "%s*%d" % (words[i], n))
        i += n
    return " ".join(out)


class File:
    def __init__(self):
        self.lines, self.names, self.ops = [], set(), {}
        self.elements = 0

    def head(self, op, variant, ins, par):
        tags = list(dict.fromkeys(i.tag for i in ins))
        name = ".".join([op, variant] + tags)
        assert name not in self.names, name
        self.names.add(name)
        self.ops.setdefault(op, set()).add(variant)
        self.lines.append(" ".join(["=", name, op] + ([par] if par else [])))
        for i in ins:
            self.lines.append("i %s %s %s | %s" % (i.tag, dims(i.a.shape), i.text(), numbers(i.tag, i.a, True)))
        return name

    def out(self, tag, want, u, a):
        exact = u == 0 and a in (0, "z")
        if tag in FLOATS:
            want = np.asarray(want, np.float64)
            top = FLOATS[tag][2]
            if exact:
                want = round_to(tag, want)
            elif tag != "f64":  # what is past the type's range is infinite there
                want = np.where(np.abs(round_to(tag, want)) > top, np.copysign(np.inf, want), want)
        else:
            want = np.asarray(want).astype(np_type(tag))
        self.elements += want.size
        near = "z=1" if a == "z" else "a=%.3g" % a
        self.lines.append("o %s %s u=%.4g %s | %s" % (tag, dims(want.shape), u, near, numbers(tag, want, exact)))

    def case(self, op, variant, ins, want, par="", out=None, u=0, a=0):
        """A case whose answer is known."""
        self.head(op, variant, ins, par)
        self.out(out or ins[0].tag, want, u, a)

    def refuse(self, op, variant, ins, par=""):
        self.head(op, variant, ins, par)
        self.lines.append("e")

    def torch(self, op, variant, ins, fn, par="", out=None, u=0, a=0, grad=None, wrt=None, gu=0, ga=None, want=None):
        """The answer, and the gradient if `grad` is a generator of seeds, from PyTorch in float64."""
        name = self.head(op, variant, ins, par)
        tag = out or ins[0].tag
        leaves = [i.leaf() for i in ins]
        y = fn(*[i.torch(t) for i, t in zip(ins, leaves)])
        self.out(tag, y.detach().numpy() if want is None else want, u, a)
        if grad is None:
            return
        seed = round_to(tag, grad(y.shape))
        y.backward(torch.from_numpy(np.asarray(seed)).reshape(y.shape))
        self.lines.append("s | " + numbers(tag, seed, True))
        for n, (i, leaf) in enumerate(zip(ins, leaves)):
            if i.tag not in FLOATS or (wrt is not None and n not in wrt):
                continue
            g = np.zeros(i.a.shape) if leaf.grad is None else leaf.grad.numpy()
            assert np.isfinite(g).all(), name
            # terms of a gradient are of the size of what it starts from, and may cancel (1 - sigmoid(x))
            scale = max(np.abs(g).max(initial=0), np.abs(seed).max(initial=0))
            tol = 8 * eps(i.tag) * scale if ga is None else ga
            self.elements += g.size
            self.lines.append("g %d u=%.4g a=%.3g | %s" % (n, gu or 16, tol, numbers(i.tag, g, False)))

    def save(self, name, counts):
        """NAME.txt, written by make_NAME.py; counts: what is in it, for its first line."""
        head = "# Written by make_%s.py (numpy %s, torch %s): %d ops, %s. ops_lib.py has the layout.\n" % (
            name,
            np.__version__,
            torch.__version__.split("+")[0],
            len(self.ops),
            counts,
        )
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".txt"), "w") as f:
            f.write(head + "\n".join(self.lines) + "\n")
        print(head, end="")


out = File()


# ---- inputs -------------------------------------------------------------------------------------------------
def uni(tag, lo, hi, *shape):
    """Floats with all their digits."""
    return In(tag, rng.uniform(lo, hi, shape))


def grid(tag, lo, hi, *shape):
    """Floats with few digits (multiples of 1/32): short in the file, exact in every type but bf16, which rounds them."""
    return In(tag, np.round(rng.uniform(lo, hi, shape) * 32) / 32)


def apart(tag, lo, hi, *shape):
    """Floats no two of which are equal, for what decides by order."""
    n = int(np.prod(shape))
    return In(tag, (lo + (hi - lo) * (rng.permutation(n) + 0.5) / max(n, 1)).reshape(shape))


def whole(tag, lo, hi, *shape):
    a = rng.integers(lo, hi + 1, shape)
    return In(tag, a != 0 if tag == "bool" else a)


def seed(shape):
    return np.round(rng.uniform(-2, 2, tuple(shape)) * 16) / 16


def limits(tag):
    i = np.iinfo(INTS[tag])
    return int(i.min), int(i.max)


def int_corners(tag):
    lo, hi = limits(tag)
    near = [0, 1, 2, 3, 5, 7, hi - 1, hi, hi // 2 + 1]
    return In(tag, np.array(near + ([lo, lo + 1, -1, -2, -7] if lo else []), INTS[tag]))


def float_corners(tag):
    """Zeros, infinities, NaN, the ends of the range and of the subnormals, and numbers between."""
    p, emin, top = FLOATS[tag]
    tiny, least = 2.0**emin, 2.0 ** (emin - p + 1)
    some = [
        0.0,
        np.inf,
        1.0,
        0.5,
        1.5,
        2.5,
        2 * tiny,
        tiny,
        tiny - least,
        least,
        3 * least,
        top,
        top / 2,
        1 + 2.0 ** (1 - p),
        1 - 2.0**-p,
        10.0,
        88.5,
        0.25,
    ]
    return In(tag, np.array(some + [-x for x in some] + [np.nan]))


# Strided inputs of shape (3, 5): what is stored, and how it is seen.
VIEWS = {
    "transposed": ((5, 3), ("T", (1, 0))),
    "sliced": ((5, 11), ("S", ((1, 4, 1), (0, 10, 2)))),
    "flipped": ((3, 5), ("F", (0, 1))),
    "expanded": ((3, 1), ("E", (3, 5))),
    "backwards": ((3, 5), ("S", ((0, None, 1), (-1, None, -1)))),
    "reshaped": ((5, 3), ("T", (1, 0)), ("R", (15,)), ("R", (3, 5))),
}


def seen(tag, view, make, *range_):
    shape, *steps = VIEWS[view]
    i = make(tag, *range_, *shape)
    return In(tag, i.a, *steps)
