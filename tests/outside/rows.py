"""Rows of the functions of ridge.h: elementwise, movement, reductions, sorting, indices, products. rows_nn.py has the others."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from header import END, V
from program import ALL, FL, FLOATS, IN, INTS, NP, dtype, is_float, load, round_to, store, wrap, ft
from table import ROWS, kind, promoted, row

SIGNED = ("i8", "i16", "i32", "i64")
NUM = IN + FL


# ---- one operand ------------------------------------------------------------------------------------------------
def one(tags=FL, lo=None, hi=None, exact=False, **kw):
    return lambda g: [g.t(tags, lo=lo, hi=hi, exact=exact, **kw)]


def softplus(x):
    return torch.logaddexp(x, torch.zeros_like(x))


UNARY = {
    "exp": (torch.exp, -5, 5),
    "exp2": (torch.exp2, -6, 6),
    "expm1": (torch.expm1, -5, 5),
    "log": (torch.log, 0.05, 50),
    "log2": (torch.log2, 0.05, 50),
    "log10": (torch.log10, 0.05, 50),
    "log1p": (torch.log1p, -0.9, 50),
    "sin": (torch.sin, -20, 20),
    "cos": (torch.cos, -20, 20),
    "tan": (torch.tan, -1.3, 1.3),
    "sinh": (torch.sinh, -4, 4),
    "cosh": (torch.cosh, -4, 4),
    "tanh": (torch.tanh, -8, 8),
    "asin": (torch.asin, -0.9, 0.9),
    "acos": (torch.acos, -0.9, 0.9),
    "atan": (torch.atan, -9, 9),
    "asinh": (torch.asinh, -9, 9),
    "acosh": (torch.acosh, 1.1, 50),
    "atanh": (torch.atanh, -0.9, 0.9),
    "erf": (torch.erf, -4, 4),
    "sqrt": (torch.sqrt, 0.05, 90),
    "rsqrt": (torch.rsqrt, 0.05, 90),
    "recip": (torch.reciprocal, 0.1, 50),
    "sigmoid": (torch.sigmoid, -9, 9),
    "logsigmoid": (lambda x: -softplus(-x), -9, 9),
    "silu": (F.silu, -9, 9),
    "gelu": (F.gelu, -5, 5),
    "gelu_tanh": (lambda x: 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), -5, 5),
    "softplus": (softplus, -9, 9),
    "mish": (lambda x: x * torch.tanh(softplus(x)), -9, 9),
    "hardswish": (F.hardswish, -9, 9),
    "softsign": (F.softsign, -9, 9),
    "selu": (F.selu, -5, 5),
    "hardsigmoid": (lambda x: F.relu6(x + 3) / 6, -9, 9),
    "quick_gelu": (lambda x: x * torch.sigmoid(1.702 * x), -5, 5),
}
for name, (fn, lo, hi) in UNARY.items():
    row(
        name,
        one(FL + ("i32", "u8", "bool") if lo < 0 and hi > 1 else FL, lo, hi),
        fn,
        out="float",
        conv="float",
        weight=0.4,
    )
row("neg", one(SIGNED + FL), torch.neg)
row("abs", one(SIGNED + FL), torch.abs)
row(
    "sign",  # zeros and NaN stay what they are
    one(SIGNED + FL, exact=True),
    lambda x: torch.where((x > 0) | (x < 0), torch.sign(x), x.detach()),
    discrete=True,
)
row("square", one(NUM, -100, 100), torch.square)
row("relu", one(SIGNED + FL), torch.relu)
row("relu6", one(FL), F.relu6)
for name in ("floor", "ceil", "trunc", "round"):
    row(
        name,
        one(FL + SIGNED, exact=True),
        lambda x, name=name: getattr(torch, name)(x) if x.dtype == ft() else x,
        discrete=True,
        weight=0.5,
    )
for name in ("isnan", "isinf", "isfinite"):
    row(name, one(FL + IN, exact=True), getattr(torch, name), out="bool", discrete=True, weight=0.4)
row("logical_not", one(ALL, exact=True), lambda x: x == 0, out="bool", discrete=True, weight=0.5)
row("bitwise_not", one(IN + ("bool",)), lambda x: ~x)
STEPS = (0.25, 0.5, 1.5, -0.5)
row("leaky_relu", lambda g: [g.t(FL), g.r.choice(STEPS)], lambda x, s: F.leaky_relu(x, s))
row("elu", lambda g: [g.t(FL, lo=-9, hi=9), g.r.choice(STEPS)], lambda x, a: torch.where(x > 0, x, a * torch.expm1(x)))
row(
    "celu",
    lambda g: [g.t(FL, lo=-3, hi=9), g.r.choice((0.5, 1.0, 2.0))],
    lambda x, a: torch.where(x > 0, x, a * torch.expm1(x / a)),
)


def gen_glu(g):
    x = g.t(FL, rank=(1, 4), lo=-9, hi=9, even=True)
    axes = [a for a, n in enumerate(g.shape(x)) if n % 2 == 0]
    return [x, g.sign_axis(g.r.choice(axes), len(g.shape(x)))] if axes else None


row("glu", gen_glu, lambda x, a: F.glu(x, a))
row("hardtanh", lambda g: [g.t(FL), -0.75, 1.25], lambda x, a, b: F.hardtanh(x, a, b))
row("detach", one(ALL), lambda x: x.detach(), move=True, weight=0.5)
row("contiguous", one(ALL + ("f8e4m3", "f8e5m2")), lambda x: x, move=True)
row(
    "keep",
    one(ALL),
    lambda x: x,
    move=True,
    weight=0.2,
    run=lambda m, s: m.lib.handle.__setitem__(s.outs[0], m.lib.handle[s.args[0]]),
    c=lambda s: ["rg_tensor v%d = v%d;" % (s.outs[0], s.args[0])],
)
del ROWS["keep"]


# ---- two and three operands ---------------------------------------------------------------------------------------
def two(tags, tags2=None, number=True, **kw):
    """Operands that broadcast; one may be a number."""

    def gen(g):
        x = g.t(tags, **kw)
        if number and g.r.random() < 0.25:
            n = g.number(g.tag(x), kw.get("lo"), kw.get("hi"))
            return [x, n] if g.r.random() < 0.6 else [n, x]
        y = g.beside(x, tags2 or tags, **kw)
        return [x, y] if g.r.random() < 0.5 else [y, x]

    return gen


def tensor(f):
    """A function that wants tensors where a number may stand."""

    def call(x, y):
        like = x if isinstance(x, torch.Tensor) else y
        fit = lambda v: v if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=like.dtype)
        return f(fit(x), fit(y))

    return call


MIX = ALL
row(
    "add",
    two(MIX),
    tensor(lambda x, y: x | y if x.dtype == torch.bool else x + y),
    out="promote",
    conv="promote",
    weight=2,
)
row(
    "mul",
    two(MIX, lo=-300, hi=300),
    tensor(lambda x, y: x & y if x.dtype == torch.bool else x * y),
    out="promote",
    conv="promote",
    weight=2,
)
row("sub", two(NUM), tensor(lambda x, y: x - y), out="promote", conv="promote", weight=2)
row("div", lambda g: gen_div(g, NUM), lambda x, y: x / y, out="promote_float", conv="float")


def gen_div(g, tags, **kw):
    x = g.t(tags, **kw)
    if g.r.random() < 0.3:
        return [x, g.r.choice((2, 4, -2, 0.5, 8.0)) if g.tag(x)[0] != "u" else 2]
    return [x, g.beside(x, FL, lo=0.2, hi=30, **kw)]


def gen_intdiv(g):
    if g.r.random() < 0.5:
        return gen_div(g, FL, exact=True)
    x = g.t(IN)
    return [x, g.beside(x, IN)]


def int_or_float(f_int, f_float):
    def call(x, y):
        if x.dtype == ft() or (isinstance(y, torch.Tensor) and y.dtype == ft()) or isinstance(y, float):
            return f_float(x.to(ft()), y if not isinstance(y, torch.Tensor) else y.to(ft()))
        y = y if isinstance(y, torch.Tensor) else torch.tensor(y, dtype=x.dtype)
        x, y = torch.broadcast_tensors(x, y)
        return torch.where(y == 0, torch.zeros_like(x), f_int(x, torch.where(y == 0, torch.ones_like(y), y)))

    return call


# whole quotients and x - floor(x/y)*y are rounded to their dtype
row(
    "floordiv",
    gen_intdiv,
    int_or_float(*[lambda x, y: torch.div(x, y, rounding_mode="floor")] * 2),
    out="promote",
    conv="promote",
    discrete=True,
    rounds=True,
)
for name in ("mod", "fmod"):
    f = torch.remainder if name == "mod" else torch.fmod
    row(name, gen_intdiv, int_or_float(f, f), out="promote", conv="promote", discrete=True, rounds=True)


def gen_pow(g):
    how = g.r.random()
    if how < 0.3:
        return [g.t(FL, lo=-9, hi=9), g.r.choice((2, 3, 1, 0))]
    if how < 0.45:
        return [g.t(FL, lo=0.2, hi=9), g.r.choice((0.5, -1.0, 1.5, -2.0, -1))]
    if how < 0.7:
        x = g.t(IN)
        return [x, g.beside(x, (g.tag(x),), lo=0, hi=4)]
    x = g.t(FL, lo=0.2, hi=6)
    return [x, g.beside(x, FL, lo=-3, hi=3)]


row("pow", gen_pow, lambda x, y: torch.pow(x, y), out="promote", conv="promote")
for name in ("maximum", "minimum"):
    row(name, two(MIX), tensor(lambda x, y, f=getattr(torch, name): f(x, y)), out="promote", conv="promote")
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    row(
        name,
        two(MIX, exact=True),
        tensor(lambda x, y, f=getattr(torch, name): f(x, y)),
        out="bool",
        conv="promote",
        discrete=True,
        weight=0.6,
    )
for name in ("logical_and", "logical_or", "logical_xor"):
    row(
        name,
        two(MIX, exact=True, number=False),
        lambda x, y, f=getattr(torch, name): f(x != 0, y != 0),
        out="bool",
        discrete=True,
        weight=0.5,
    )
for name, f in (
    ("bitwise_and", torch.bitwise_and),
    ("bitwise_or", torch.bitwise_or),
    ("bitwise_xor", torch.bitwise_xor),
):
    row(name, lambda g: two_ints(g), lambda x, y, f=f: f(x, y), out="promote", conv="promote", weight=0.6)


def two_ints(g):
    x = g.t(IN + ("bool",))
    tags = [t for t in IN + ("bool",) if not is_float(promoted([g.tag(x), t]))]
    return [x, g.beside(x, tags)]


def gen_shift(g):
    x = g.t(IN)
    return [x, g.beside(x, (g.tag(x),), lo=0, hi=min(70, 2 ** (INTS[g.tag(x)][0] - 1) - 1))]


def ref_shift(left):
    def ref(r, raw, args, tags, out):
        x, y = torch.broadcast_tensors(*args)
        bits = INTS[out][0]
        past, by = y >= bits, torch.clamp(y, 0, 63)
        if left:
            return torch.where(past, torch.zeros_like(x), x << by)
        return torch.where(past, torch.where(x < 0, -torch.ones_like(x), torch.zeros_like(x)), x >> by)

    return ref


row("shl", gen_shift, ref_shift(True), raw=True, weight=0.6)
row("shr", gen_shift, ref_shift(False), raw=True, weight=0.6)
row(
    "copysign",
    two(FL, number=False, exact=True, nonzero=True),
    torch.copysign,
    out="promote",
    conv="promote",
    discrete=True,
    weight=0.6,
)
row("logaddexp", two(FL, number=False, lo=-9, hi=9), torch.logaddexp, out="promote_float", conv="float")


def gen_where(g):
    x, y = two(MIX)(g)
    like = x if isinstance(x, V) else y
    return [g.beside(like, ("bool",)), x, y]


def ref_where(r, raw, args, tags, out):
    c, x, y = args
    fit = lambda v: (
        kind(v, out) if isinstance(v, torch.Tensor) else torch.tensor(v, dtype=ft() if is_float(out) else torch.int64)
    )
    return torch.where(c, fit(x), fit(y))


row("where", gen_where, ref_where, out=lambda tags, args: promoted(tags[1:], args), raw=True)


def gen_clamp(g):
    x = g.t(SIGNED + FL)
    how = g.r.randrange(4)
    lo, hi = (-0.75, 1.25) if is_float(g.tag(x)) else (-2, 5)
    if how == 3 and is_float(g.tag(x)):
        return [x, g.beside(x, (g.tag(x),), lo=-3, hi=-1), g.beside(x, (g.tag(x),), lo=1, hi=3)]
    return [x, None if how == 1 else lo, None if how == 2 else hi]


def ref_clamp(x, lo, hi):
    if isinstance(lo, torch.Tensor):
        return torch.minimum(torch.maximum(x, lo), hi)
    return torch.clamp(x, lo, hi)


row("clamp", gen_clamp, ref_clamp, out="promote", conv="promote")


def gen_lerp(g):
    x = g.t(FL)
    return [
        x,
        g.beside(x, (g.tag(x),)),
        g.r.choice((0.25, 0.5, -1.0)) if g.r.random() < 0.4 else g.beside(x, (g.tag(x),)),
    ]


row("lerp", gen_lerp, lambda a, b, w: a + (b - a) * w, out="promote", conv="promote")
row(
    "isclose",
    lambda g: two(FL, number=False, exact=True)(g) + [0.125, 0.25],
    lambda x, y, rt, at: torch.isclose(x, y, rtol=rt, atol=at),
    out="bool",
    conv="promote",
    discrete=True,
    weight=0.5,
)


def gen_masked_fill(g):
    x = g.t(ALL)
    value = {"bool": 1}.get(g.tag(x), 3)
    return [x, g.beside(x, ("bool",), within=True), value if not is_float(g.tag(x)) else g.r.choice((0.5, -2.0, 3))]


row("masked_fill", gen_masked_fill, lambda x, m, v: torch.where(m, torch.tensor(v, dtype=x.dtype), x), move=True)


# ---- shapes -------------------------------------------------------------------------------------------------------
EVERY = ALL + ("f8e4m3", "f8e5m2")


def sizes_of(g, n):
    """A random shape of n elements."""
    out = []
    while n > 1 and len(out) < 3:
        d = g.r.choice([k for k in range(1, n + 1) if n % k == 0])
        out.append(d)
        n //= d
    return out + ([n] if n != 1 or not out else [])


def gen_reshape(g):
    x = g.t(EVERY)
    n = g.val(x).numel()
    shape = sizes_of(g, n) if n else list(g.shape(x))[::-1]
    if n == 1 and g.r.random() < 0.4:
        shape = []
    if n and shape and g.r.random() < 0.3:
        shape = list(shape)
        shape[g.r.randrange(len(shape))] = -1
    return [x, shape]


row("reshape", gen_reshape, lambda x, s: x.reshape(s), move=True, weight=2)


def gen_permute(g):
    x = g.t(EVERY, rank=(1, 5))
    axes = list(range(len(g.shape(x))))
    g.r.shuffle(axes)
    return [x, [a - len(axes) if g.r.random() < 0.2 else a for a in axes]]


row("permute", gen_permute, lambda x, a: x.permute(a), move=True, weight=2)


def gen_axes(g, x, k=None, empty=True):
    """Some axes of x."""
    n = len(g.shape(x))
    k = g.r.randint(0 if empty else 1, n) if k is None else k
    return [g.sign_axis(a, n) for a in sorted(g.r.sample(range(n), k))]


row(
    "transpose",
    lambda g: (lambda x: [x, g.axis(x), g.axis(x)])(g.t(EVERY, rank=(1, 4))),
    lambda x, a, b: x.transpose(a, b),
    move=True,
)


def gen_expand(g):
    x = g.t(EVERY, ones=True)
    shape = [g.size() if n == 1 and g.r.random() < 0.7 else (-1 if g.r.random() < 0.3 else n) for n in g.shape(x)]
    for _ in range(g.r.randrange(2)):
        shape.insert(0, g.size())
    return [x, shape]


row("expand", gen_expand, lambda x, s: x.expand(s), move=True)


def gen_ranges(g, shape, k=None, windows=True):
    out = []
    for n in shape[: g.r.randint(0, len(shape)) if k is None else k]:
        how = g.r.random()
        if how < 0.2:
            out.append((0, END, 0, None))
        elif how < 0.6:
            a = g.r.randint(-n - 1, n + 1)
            out.append((a, g.r.choice((END, g.r.randint(-n - 1, n + 1))), g.r.choice((0, 1, 2, 3)), None))
        elif how < 0.75:
            out.append(
                (
                    g.r.choice((-1, n - 1, g.r.randint(-n - 1, n))),
                    g.r.choice((END, g.r.randint(-n - 1, n))),
                    g.r.choice((-1, -2)),
                    None,
                )
            )
        elif windows and n > 1 and how < 0.85:
            size = g.r.randint(1, n)
            out.append((0, size, 0, g.index_scalar(0, n - size)))
        else:
            a = g.r.randint(0, n)
            out.append((a, g.r.randint(a, n), 1, None))
    return out


def cut(x, part):
    """x[part], with negative steps, by indices."""
    for axis, (a, b, k, at) in enumerate(part):
        n = x.shape[axis]
        if at is not None:
            at = int(at)
            index = list(range(at + a, at + b))
        else:
            k = k or 1
            index = list(range(n))[a : (None if b == END else b) : k]
        x = x.index_select(axis, torch.tensor(index, dtype=torch.int64))
    return x


def gen_slice(g):
    x = g.t(EVERY, rank=(1, 4))
    return [x, gen_ranges(g, g.shape(x))]


row("slice", gen_slice, cut, out=lambda tags, args: tags[0], move=True, weight=2, covers=("rg_slice", "rg_index"))


def gen_narrow(g):
    x = g.t(EVERY, rank=(1, 4))
    a = g.axis(x)
    n = g.shape(x)[a]
    at = g.r.randint(0, n)
    return [x, a, at, g.r.randint(0, n - at)]


row("narrow", gen_narrow, lambda x, a, s, n: x.narrow(a, s, n), move=True)


def gen_select(g):
    x = g.t(EVERY, rank=(1, 4))
    a = g.axis(x)
    n = g.shape(x)[a]
    return [x, a, g.r.randrange(-n, n)] if n else None


row("select", gen_select, lambda x, a, i: x.select(a, i), move=True)
row(
    "flip",
    lambda g: (lambda x: [x, gen_axes(g, x, empty=False)])(g.t(EVERY, rank=(1, 4))),
    lambda x, a: x.flip(a),
    move=True,
)


def gen_squeeze(g):
    x = g.t(EVERY, ones=True)
    axes = [a for a, n in enumerate(g.shape(x)) if n == 1]
    if not axes or g.r.random() < 0.3:
        return [x, END]
    return [x, g.sign_axis(g.r.choice(axes), len(g.shape(x)))]


row("squeeze", gen_squeeze, lambda x, a: x.squeeze() if a == END else x.squeeze(a), move=True)
row(
    "unsqueeze",
    lambda g: (lambda x: [x, g.r.randint(-len(g.shape(x)) - 1, len(g.shape(x)))])(g.t(EVERY)),
    lambda x, a: x.unsqueeze(a),
    move=True,
)


def gen_flatten(g):
    x = g.t(EVERY, rank=(1, 5))
    n = len(g.shape(x))
    a = g.r.randrange(n)
    return [x, g.sign_axis(a, n), g.sign_axis(g.r.randrange(a, n), n)]


row("flatten", gen_flatten, lambda x, a, b: x.flatten(a, b), move=True)


def pad_pairs(g, shape, least):
    return [
        v
        for n in shape
        for v in (
            g.r.randint(-least(n), 3) if g.r.random() < 0.6 else 0,
            g.r.randint(0, 3) if g.r.random() < 0.6 else 0,
        )
    ]


def torch_pads(p, rank):
    p = list(p) + [0] * (2 * rank - len(p))
    return [v for a in range(rank - 1, -1, -1) for v in p[2 * a : 2 * a + 2]]


def gen_pad(g):
    x = g.t(ALL)
    shape = g.shape(x)
    some = shape[: g.r.randint(0, len(shape))]
    return [x, pad_pairs(g, some, lambda n: n // 2), float(g.r.choice((0, 0, 1, 2)) if g.tag(x) != "bool" else 0)]


def ref_pad(x, p, v):
    if x.dim() == 0 or not p:
        return x
    for axis in range(len(p) // 2):  # F.pad refuses some empty tensors
        b, a = p[2 * axis], p[2 * axis + 1]
        n = x.shape[axis]
        x = x.narrow(axis, max(-b, 0), n - max(-b, 0) - max(-a, 0))
        side = lambda k: torch.full([k if d == axis else s for d, s in enumerate(x.shape)], v).to(x.dtype)
        x = torch.cat([side(max(b, 0)), x, side(max(a, 0))], axis)
    return x


row("pad", gen_pad, ref_pad, move=True, weight=1.5)
MODES = {
    "RG_PAD_CONSTANT": "constant",
    "RG_PAD_REFLECT": "reflect",
    "RG_PAD_REPLICATE": "replicate",
    "RG_PAD_CIRCULAR": "wrap",
}


def gen_pad_with(g):
    from header import E

    x = g.t(FL + IN, rank=(1, 4), least=1)
    mode = g.r.choice(("RG_PAD_REFLECT", "RG_PAD_REPLICATE", "RG_PAD_CIRCULAR"))
    room = {"RG_PAD_REFLECT": lambda n: n - 1, "RG_PAD_REPLICATE": lambda n: 3, "RG_PAD_CIRCULAR": lambda n: n}[mode]
    pads = [v for n in g.shape(x) for v in (g.r.randint(0, min(3, room(n))), g.r.randint(0, min(3, room(n))))]
    return [x, pads, E(mode)]


def ref_pad_with(x, pads, mode):
    for axis in range(len(pads) // 2):
        n, b, a = x.shape[axis], pads[2 * axis], pads[2 * axis + 1]
        index = np.pad(
            np.arange(n),
            (b, a),
            {"RG_PAD_REFLECT": "reflect", "RG_PAD_REPLICATE": "edge", "RG_PAD_CIRCULAR": "wrap"}[mode],
        )
        x = x.index_select(axis, torch.from_numpy(index))
    return x


row("pad_with", gen_pad_with, ref_pad_with, move=True)


def gen_cat(g, axis_new=False):
    x = g.t(EVERY, rank=(0 if axis_new else 1, 4))
    shape = list(g.shape(x))
    a = g.r.randrange(len(shape) + (1 if axis_new else 0))
    xs = [x]
    for _ in range(g.r.randint(0, 3)):
        s = list(shape)
        if not axis_new:
            s[a] = g.size()
        tags = (g.tag(x),) if g.r.random() < 0.7 or g.tag(x)[:2] == "f8" else ALL
        xs.append(g.t(tags, shape=s))
    g.r.shuffle(xs)
    rank = len(shape) + (1 if axis_new else 0)
    return [xs, g.sign_axis(a, rank)]


def ref_cat(f):
    return lambda r, raw, args, tags, out: f([kind(x, out) for x in args[0]], args[1])


def move_if_same(name, f):
    # operands of other dtypes are converted: to a narrower float with a rounding
    row(name, lambda g: gen_cat(g, name == "stack"), ref_cat(f), out="tensors", raw=True, rounds=True, move=True)


move_if_same("cat", torch.cat)
move_if_same("stack", torch.stack)
row(
    "repeat",
    lambda g: (
        lambda x: [
            x,
            [g.r.randint(1, 3) if g.r.random() < 0.95 else 0 for _ in range(len(g.shape(x)) + g.r.randrange(2))],
        ]
    )(g.t(EVERY, small=True)),
    lambda x, t: x.repeat(t),
    move=True,
)


def gen_unflatten(g):
    x = g.t(EVERY, rank=(1, 3), least=1)
    a = g.axis(x)
    sizes = sizes_of(g, g.shape(x)[a])
    if g.r.random() < 0.3:
        sizes[g.r.randrange(len(sizes))] = -1
    return [x, a, sizes]


row("unflatten", gen_unflatten, lambda x, a, s: x.unflatten(a, s), move=True)


def gen_unfold(g):
    x = g.t(EVERY, rank=(1, 3), least=1)
    a = g.axis(x)
    return [x, a, g.r.randint(1, g.shape(x)[a]), g.r.randint(1, 3)]


row("unfold", gen_unfold, lambda x, a, n, s: x.unfold(a, n, s), move=True)


def gen_roll(g):
    x = g.t(EVERY)
    axes = gen_axes(g, x)
    return [x, [g.r.randint(-9, 9) for _ in axes] if axes else [g.r.randint(-9, 9)], axes]


row("roll", gen_roll, lambda x, s, a: x.roll(s, a) if a else x.roll(s[0]), move=True)


def gen_interleave(g):
    x = g.t(EVERY, small=True, rank=(1, 3))
    return [x, g.r.randint(0 if g.r.random() < 0.1 else 1, 3), END if g.r.random() < 0.3 else g.axis(x)]


row(
    "repeat_interleave",
    gen_interleave,
    lambda x, n, a: x.flatten().repeat_interleave(n) if a == END else x.repeat_interleave(n, a),
    move=True,
)
for name in ("tril", "triu"):
    row(
        name,
        lambda g: [g.t(ALL, rank=(2, 4)), g.r.randint(-4, 4)],
        lambda x, k, f=getattr(torch, name): f(x, k),
        move=True,
    )


def gen_diag(g):
    return [g.t(ALL, rank=(1, 2), small=True), g.r.randint(-3, 3)]


def ref_diag(x, k):
    if x.dim() == 1:
        return torch.diag_embed(x, k)
    return x.diagonal(k) if -x.shape[0] <= k <= x.shape[1] else x.new_zeros(0)


row("diag", gen_diag, ref_diag, move=True)


def gen_diagonal(g):
    x = g.t(ALL, rank=(2, 4))
    n = len(g.shape(x))
    a, b = g.r.sample(range(n), 2)
    return [x, g.r.randint(-3, 3), g.sign_axis(a, n), g.sign_axis(b, n)]


row("diagonal", gen_diagonal, lambda x, k, a, b: x.diagonal(k, a, b), move=True)


def gen_split(g):
    x = g.t(EVERY, rank=(1, 3))
    a = g.axis(x)
    left, sizes = g.shape(x)[a], []
    while left and len(sizes) < 3:
        sizes.append(g.r.randint(0, left))
        left -= sizes[-1]
    return [x, a, sizes + [left]]


row("split", gen_split, lambda x, a, s: x.split(s, a), move=True, many=lambda args: len(args[2]))


def gen_chunk(g):
    x = g.t(EVERY, rank=(1, 3), least=1)
    a = g.axis(x)
    n = g.r.randint(1, 4)
    return [x, a, n]


def ref_chunk(x, a, n):
    size = x.shape[a]
    each = -(-size // n)
    return [x.narrow(a, min(i * each, size), max(0, min(each, size - i * each))) for i in range(n)]


row("chunk", gen_chunk, ref_chunk, move=True, many=lambda args: args[2])
row(
    "meshgrid",
    lambda g: [[g.t(ALL, rank=(1, 1)) for _ in range(g.r.randint(1, 3))]],
    lambda xs: torch.meshgrid(*xs, indexing="ij"),
    out=lambda tags, args: list(tags),
    move=True,
    many=lambda args: len(args[0]),
)


def gen_cast(g):
    tag = g.r.choice(EVERY)
    x = g.t(EVERY, exact=not is_float(tag), lo=-200 if tag[:2] == "f8" else None, hi=200 if tag[:2] == "f8" else None)
    return [x, dtype(tag)]


def ref_cast(x, dt):
    tag = dt[3:].lower()
    if tag == "bool":
        return x != 0
    if is_float(tag):
        return x.to(ft())
    if x.dtype == ft():
        bits, signed = INTS[tag]
        lo, hi = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return torch.clamp(torch.nan_to_num(x.detach()).trunc(), lo, min(hi, 2**62)).to(torch.int64)
    return x.to(torch.int64)


row("cast", gen_cast, ref_cast, out=lambda tags, args: args[1][3:].lower(), move=True, rounds=True, weight=2)
WIDE = {1: ("i8", "u8"), 2: ("i16", "u16"), 4: ("i32", "u32"), 8: ("i64", "u64")}


def gen_bitcast(g):
    x = g.t(IN + ("f16", "bf16", "f32", "f64"), exact=True)
    n = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8}.get(g.tag(x)) or INTS[g.tag(x)][0] // 8
    return [x, dtype(g.r.choice(WIDE[n]))]


def ref_bitcast(r, raw, args, tags, out):
    x = args[0].detach()
    return load(store(x, tags[0]), out, list(x.shape))


row(
    "bitcast", gen_bitcast, ref_bitcast, out=lambda tags, args: args[1][3:].lower(), raw=True, discrete=True, weight=0.6
)

# ---- making tensors -----------------------------------------------------------------------------------------------
DT = lambda args: args[0][3:].lower()


def made(name, gen, ref, **kw):
    row(name, gen, ref, out=lambda tags, args: DT(args), move=True, weight=0.35, rounds=True, **kw)


made("number", lambda g: [dtype(g.r.choice(FL)), g.r.choice((0.5, -2.0, 3.0))], lambda t, v: torch.tensor(v))
made("integer", lambda g: [dtype(g.r.choice(IN)), g.r.randint(0, 100)], lambda t, v: torch.tensor(v))
made(
    "full",
    lambda g: [dtype(g.r.choice(EVERY)), float(g.r.choice((0, 1, 1))), g.new_shape()],
    lambda t, v, s: torch.full(s, v),
)
made("zeros", lambda g: [dtype(g.r.choice(EVERY)), g.new_shape()], lambda t, s: torch.zeros(s))
made("ones", lambda g: [dtype(g.r.choice(EVERY)), g.new_shape()], lambda t, s: torch.ones(s))
made(
    "arange",
    lambda g: [
        dtype(g.r.choice(SIGNED + FL)),
        float(g.r.randint(-5, 5)),
        float(g.r.randint(-5, 20)),
        g.r.choice((1.0, 2.0, -1.0, 3.0)),
    ],
    lambda t, a, b, s: torch.from_numpy(np.arange(a, b, s)),
)
made(
    "linspace",
    lambda g: [dtype(g.r.choice(FL)), -1.0, float(g.r.randint(-1, 9)), g.r.randint(1, 17)],
    lambda t, a, b, n: torch.from_numpy(np.linspace(a, b, n)),
)
ROWS["linspace"].move = False
made("eye", lambda g: [dtype(g.r.choice(ALL)), g.r.randint(0, 6), g.r.randint(0, 6)], lambda t, n, m: torch.eye(n, m))
row(
    "full_like",
    lambda g: [g.t(ALL), float(g.r.choice((0, 1)))],
    lambda x, v: torch.full(x.shape, v),
    move=True,
    weight=0.35,
)
row("zeros_like", one(ALL), lambda x: torch.zeros(x.shape), move=True, weight=0.35)
row("ones_like", one(ALL), lambda x: torch.ones(x.shape), move=True, weight=0.35)


# ---- reductions ---------------------------------------------------------------------------------------------------
def gen_reduce(tags, empty=True, some=False, **kw):
    def gen(g):
        x = g.t(tags, **kw)
        axes = gen_axes(g, x)
        o = {"axes": axes} if axes else {}
        if g.r.random() < 0.4:
            o["keep"] = True
        over = [g.shape(x)[a] for a in axes] if axes else g.shape(x)
        if not empty and 0 in over:
            return None
        return [x, o]

    return gen


def dims(x, o):
    return tuple(o.get("axes") or range(x.dim()))


def reduced(f, ints=True):
    def call(x, o):
        d = dims(x, o)
        if not d:  # rank 0: as one element
            y = f(x.reshape(1), (0,), False)
            return y.reshape(())
        return f(x, d, o.get("keep", False))

    return call


def each(f):
    """A reduction that PyTorch has along one axis only."""

    def call(x, d, keep):
        rest = [a for a in range(x.dim()) if a not in [k % x.dim() for k in d]]
        y = f(
            x.permute(rest + [k % x.dim() for k in d]).reshape(
                [x.shape[a] for a in rest] + [-1 if x.numel() else math.prod(x.shape[k] for k in d)]
            )
        )
        if keep:
            y = y.reshape([1 if a not in rest else x.shape[a] for a in range(x.dim())])
        return y

    return call


row(
    "sum",
    gen_reduce(ALL),
    reduced(lambda x, d, k: kind(x, "i64" if x.dtype != ft() else "f64").sum(d, keepdim=k)),
    out="sum",
    weight=2,
)
row(
    "prod",
    gen_reduce(ALL, lo=-2, hi=2),
    reduced(each(lambda x: kind(x, "i64" if x.dtype != ft() else "f64").prod(-1))),
    out="sum",
)
row("max", gen_reduce(ALL, empty=False), reduced(lambda x, d, k: x.amax(d, keepdim=k)))
row("min", gen_reduce(ALL, empty=False), reduced(lambda x, d, k: x.amin(d, keepdim=k)))
row("mean", gen_reduce(ALL, empty=False), reduced(lambda x, d, k: x.mean(d, keepdim=k)), out="float", conv="float")
row("any", gen_reduce(ALL, exact=True), reduced(each(lambda x: (x != 0).any(-1))), out="bool", discrete=True)
row("all", gen_reduce(ALL, exact=True), reduced(each(lambda x: (x != 0).all(-1))), out="bool", discrete=True)
row(
    "logsumexp",
    gen_reduce(FL, empty=False, lo=-9, hi=9),
    reduced(lambda x, d, k: torch.logsumexp(x, d, keepdim=k)),
    out="float",
    conv="float",
)


def gen_var(g):
    a = gen_reduce(FL + ("i32",), empty=False)(g)
    if not a:
        return None
    n = math.prod([g.shape(a[0])[k] for k in a[1]["axes"]] if a[1].get("axes") else g.shape(a[0]))
    if n < 2 or g.r.random() < 0.4:
        a[1]["population"] = True
    return a if n >= 2 else None


def ref_var(f):
    def call(x, o):
        return reduced(lambda x, d, k: f(x, d, correction=0 if o.get("population") else 1, keepdim=k))(x, o)

    return call


row("var", gen_var, ref_var(torch.var), out="float", conv="float")
row("std", gen_var, ref_var(torch.std), out="float", conv="float")


def gen_arg(g):
    x = g.t(ALL, exact=True)
    if not g.shape(x) or g.r.random() < 0.3:
        o = {}
    else:
        o = {"axes": [g.axis(x)]}
    if g.r.random() < 0.4:
        o["keep"] = True
    over = [g.shape(x)[a] for a in o["axes"]] if "axes" in o else g.shape(x)
    return None if 0 in over else [x, o]


def ref_arg(name):
    def call(x, o):
        x = x.detach().to(ft() if x.dtype == ft() else torch.int64).numpy()
        f = np.argmax if name == "argmax" else np.argmin
        if "axes" in o:
            y = f(x, axis=o["axes"][0])
            y = np.expand_dims(y, o["axes"][0]) if o.get("keep") else y
        else:
            y = f(x)
            y = np.reshape(y, [1] * x.ndim) if o.get("keep") else y
        return torch.from_numpy(np.asarray(y, np.int64))

    return call


row("argmax", gen_arg, ref_arg("argmax"), out="i64", discrete=True)
row("argmin", gen_arg, ref_arg("argmin"), out="i64", discrete=True)


def along(tags, **kw):
    def gen(g):
        x = g.t(tags, rank=(1, 4), **kw)
        return [x, g.axis(x)]

    return gen


up = lambda x: x if x.dtype == ft() else x.to(torch.int64)
row("cumsum", along(ALL), lambda x, a: up(x).cumsum(a), out="sum")
row("cumprod", along(ALL, lo=-2, hi=2), lambda x, a: up(x).cumprod(a), out="sum")
row("cummax", along(NUM, least=1), lambda x, a: x.cummax(a)[0])
row("cummin", along(NUM, least=1), lambda x, a: x.cummin(a)[0])
row("logcumsumexp", along(FL, lo=-9, hi=9), lambda x, a: logcumsumexp(x, a), out="float", conv="float")


def logcumsumexp(x, a):
    return torch.stack([torch.logsumexp(x.narrow(a, 0, i + 1), a) for i in range(x.shape[a])], a) if x.shape[a] else x


def gen_norm(g):
    a = gen_reduce(FL, empty=False, nonzero=True)(g)
    return a and [a[0], g.r.choice((1.0, 2.0, 2.0, 3.0, math.inf)), a[1]]


def ref_norm(x, p, o):
    def f(x, d, k):
        if p == math.inf:
            return x.abs().amax(d, keepdim=k)
        return x.abs().pow(p).sum(d, keepdim=k).pow(1 / p)

    return reduced(f)(x, o)


row("norm", gen_norm, ref_norm, out="float", conv="float")
row("softmax", along(FL, lo=-9, hi=9), lambda x, a: torch.softmax(x, a), out="float", conv="float")
row("log_softmax", along(FL, lo=-9, hi=9), lambda x, a: torch.log_softmax(x, a), out="float", conv="float")


# ---- sorting ------------------------------------------------------------------------------------------------------
def gen_sort(g):
    x = g.t(NUM, rank=(1, 4), exact=True)
    return [x, g.axis(x), {"descending": True} if g.r.random() < 0.5 else {}]


def order(x, a, down):
    """Indices of a stable sort."""
    return torch.sort(x.detach(), dim=a, descending=down, stable=True)[1]


row("sort", gen_sort, lambda x, a, o: x.gather(a, order(x, a, o.get("descending", False))), discrete=True)
row("argsort", gen_sort, lambda x, a, o: order(x, a, o.get("descending", False)), out="i64", discrete=True)


def gen_topk(g):
    x = g.t(NUM, rank=(1, 4), exact=True)
    a = g.axis(x)
    return [
        x,
        g.r.randint(0 if g.r.random() < 0.1 else min(1, g.shape(x)[a]), g.shape(x)[a]),
        a,
        {"smallest": True} if g.r.random() < 0.5 else {},
    ]


top = lambda x, k, a, o: order(x, a, not o.get("smallest", False)).narrow(a, 0, k)
row("topk", gen_topk, lambda x, k, a, o: x.gather(a, top(x, k, a, o)), discrete=True)
row("topk_index", gen_topk, top, out="i64", discrete=True)


# ---- products -----------------------------------------------------------------------------------------------------
def gen_matmul(g, tags=FL + IN):
    k, how = g.size(), g.r.random()
    x = g.t(tags, rank=(1, 4), lo=-30, hi=30)
    s = g.shape(x)
    tag = (g.tag(x),) if g.r.random() < 0.8 else (("f32", "f64") if is_float(g.tag(x)) else IN)
    if how < 0.2:
        y = [s[-1]]
    else:
        batch = [n if g.r.random() < 0.7 else 1 for n in s[:-2]]
        batch = batch[g.r.randrange(len(batch) + 1) :]
        y = batch + [s[-1], g.size()]
    return [x, g.t(tag, shape=y, lo=-30, hi=30)]


def matmul(x, y):
    if x.dtype == torch.bool:
        return torch.matmul(x.to(ft()), y.to(ft())) > 0
    return torch.matmul(x, y)


product = lambda tags, args: "f32" if promoted(tags)[:2] == "f8" else promoted(tags)
row("matmul", gen_matmul, matmul, out=product, conv="promote", weight=3)


def gen_f8(g):
    x = g.t(("f8e4m3", "f8e5m2"), shape=[g.size(), g.size()], lo=-8, hi=8)
    return [x, g.t((g.tag(x),), shape=[g.shape(x)[1], g.size()], lo=-8, hi=8)]


row("matmul_f8", gen_f8, matmul, out=product, conv="promote", fn="rg_matmul", weight=0.5)
row("dot", lambda g: gen_dot(g), matmul, out=product, conv="promote")


def gen_dot(g):
    x = g.t(FL + IN, rank=(1, 1), lo=-30, hi=30)
    return [x, g.t((g.tag(x),), shape=g.shape(x), lo=-30, hi=30)]


row(
    "outer",
    lambda g: (lambda x: [x, g.t((g.tag(x),), rank=(1, 1), lo=-30, hi=30)])(g.t(FL + IN, rank=(1, 1), lo=-30, hi=30)),
    lambda x, y: torch.outer(x, y),
    out="tensors",
    conv="promote",
)


def gen_linear(g):
    x = g.t(FL, rank=(1, 4), lo=-30, hi=30)
    n = g.size()
    w = g.t((g.tag(x),), shape=[n, g.shape(x)[-1]], lo=-30, hi=30)
    return [x, w, g.t((g.tag(x),), shape=[n]) if g.r.random() < 0.6 else None]


row("linear", gen_linear, lambda x, w, b: F.linear(x, w, b), out="tensors", conv="promote", weight=2)
FORMULAS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij,ij->",
    "ii->i",
    "ii->",
    "ij->ji",
    "i,j->ij",
    "bi,oi->bo",
    "ijk,k->ij",
    "...ij->...ji",
    "bhid,bhjd->bhij",
    "ij,jk,kl->il",
    "i,i->i",
    "ijk->j",
)


def gen_einsum(g):
    f = g.r.choice(FORMULAS)
    sizes = {c: g.size() for c in "abcdefghijklmno"}
    tag = g.r.choice(FL + ("i32", "i64"))
    xs = [
        g.t((tag,), shape=[sizes[c] for c in part.replace("...", "b")], lo=-30, hi=30)
        for part in f.split("->")[0].split(",")
    ]
    return [f, xs]


row("einsum", gen_einsum, lambda f, xs: torch.einsum(f, *xs), out="tensors")


# ---- indices ------------------------------------------------------------------------------------------------------
def gen_gather(g):
    x = g.t(ALL, rank=(1, 4))
    a = g.axis(x)
    shape = [n if k == a % len(g.shape(x)) else g.r.randint(min(1, n), n) for k, n in enumerate(g.shape(x))]
    shape[a] = g.size()
    if g.shape(x)[a] == 0 and shape[a]:
        return None
    return [x, a, g.index(shape, g.shape(x)[a])]


row("gather", gen_gather, lambda x, a, i: torch.gather(x, a, i), move=True, weight=2)


def gen_take(g):
    x = g.t(ALL, rank=(1, 4))
    a = g.axis(x)
    shape = g.new_shape(rank=(0, 2))
    if g.shape(x)[a] == 0 and math.prod(shape):
        return None
    return [x, a, g.index(shape, g.shape(x)[a])]


def take(x, a, i):
    a = a % x.dim()
    return x.index_select(a, i.reshape(-1)).reshape(list(x.shape[:a]) + list(i.shape) + list(x.shape[a + 1 :]))


row("take", gen_take, take, move=True, weight=2)


def scatter_args(g, tags, same=False, unique=False, **kw):
    x = g.t(tags, rank=(1, 3), **kw)
    a = g.axis(x)
    shape = list(g.shape(x))
    if not same:
        shape = [n if k == a % len(shape) else g.r.randint(min(1, n), n) for k, n in enumerate(shape)]
        shape[a] = g.size()
    if g.shape(x)[a] == 0 and math.prod(shape):
        return None
    return x, a, g.index(shape, g.shape(x)[a]), g.t((g.tag(x),), shape=shape, **kw)


def gen_scatter_add(g):
    a = scatter_args(g, NUM)
    return a and list(a)


row("scatter_add", gen_scatter_add, lambda x, a, i, s: x.scatter_add(a, i, s), weight=2)


def gen_scatter(g):
    a = scatter_args(g, ALL)
    if not a:
        return None
    x, axis, i, s = a
    return [x, axis, i, s if g.r.random() < 0.7 or g.tag(x) == "bool" else (1.5 if is_float(g.tag(x)) else 2)]


def last_wins(x, a, i, s):
    """Element by element along the axis, the last one stays: without in-place writes, so that gradients are right."""
    a = a % x.dim()
    for k in range(i.shape[a]):
        at = i.narrow(a, k, 1)
        if isinstance(s, torch.Tensor):
            x = x.scatter(a, at, s.narrow(a, k, 1))
        else:
            x = x.scatter(a, at, s)
    return x


row("scatter", gen_scatter, last_wins, move=True, weight=2)
HOW = {
    "RG_COMBINE_SUM": "sum",
    "RG_COMBINE_PROD": "prod",
    "RG_COMBINE_MEAN": "mean",
    "RG_COMBINE_MAX": "amax",
    "RG_COMBINE_MIN": "amin",
}


def gen_scatter_reduce(g):
    from header import E

    how = E(g.r.choice([h for h in HOW if h != "RG_COMBINE_PROD" or not g.grads]))
    a = scatter_args(g, FL + ("i32", "i64") if how != "RG_COMBINE_MEAN" else FL, lo=-3, hi=3)
    if not a:
        return None
    o = {"how": how}
    if g.r.random() < 0.4:
        o["exclude_self"] = True
    return list(a) + [o]


def ref_scatter_reduce(x, a, i, s, o):
    how = HOW[o["how"]]
    if o.get("exclude_self") and how != "mean":  # include_self=False of PyTorch gives a gradient to what it leaves out
        least = {"sum": 0, "prod": 1, "amax": -math.inf, "amin": math.inf}[how]
        if x.dtype == torch.int64:
            least = {-math.inf: -(2**62), math.inf: 2**62}.get(least, least)
        x = x.scatter(a, i, least)
        return x.scatter_reduce(a, i, s, how)
    return x.scatter_reduce(a, i, s, how, include_self=not o.get("exclude_self"))


row("scatter_reduce", gen_scatter_reduce, ref_scatter_reduce, weight=2)


def gen_embedding(g):
    w = g.t(FL, rank=(2, 2), least=1)
    return [g.index(g.new_shape(rank=(0, 3)), g.shape(w)[0]), w]


row(
    "embedding",
    gen_embedding,
    lambda i, w: w.index_select(0, i.reshape(-1)).reshape(list(i.shape) + [w.shape[1]]),
    out=lambda tags, args: tags[1],
    move=True,
    weight=1.5,
)
row(
    "one_hot",
    lambda g: (lambda n: [g.index(g.new_shape(rank=(0, 3)), n), n])(g.r.randint(1, 6)),
    lambda i, n: F.one_hot(i, n) if i.numel() else i.new_zeros(list(i.shape) + [n]),
    out="i64",
    move=True,
)


def gen_masked_select(g):
    x = g.t(ALL)
    return [x, g.t(("bool",), shape=g.shape(x)), g.r.randint(0, 12)]


def first(y, size):
    y = y[:size]
    return torch.cat([y, y.new_zeros((size - y.shape[0],) + tuple(y.shape[1:]))])


row(
    "masked_select",
    gen_masked_select,
    lambda x, m, n: first(x.reshape(-1)[m.reshape(-1).nonzero()[:, 0]], n),
    move=True,
)


def ref_nonzero(x, size):
    y = x.detach().nonzero()[:size]
    return torch.cat([y, torch.full((size - y.shape[0], x.dim()), -1)])


row("nonzero", lambda g: [g.t(ALL, exact=True, rank=(1, 3)), g.r.randint(0, 12)], ref_nonzero, out="i64", discrete=True)
import rows_nn  # noqa: E402,F401
