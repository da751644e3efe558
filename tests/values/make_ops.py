#!/usr/bin/env python3
"""Values of every op of the front end, forward and gradient, computed by NumPy, PyTorch and mpmath.

Run with numpy, torch and mpmath installed: writes ops.txt beside this file, which is committed, so that the tests
need none of them; tests/unit/values_ops.c reads it. ops_lib.py says how the file is laid out. The seed is fixed: the
same versions give the same file. Nothing here shares code with Ridge.

Where an answer comes from:
  integers, bool, moves     NumPy on arrays of the type itself; exact
  functions of a float      mpmath with 200 bits at finite arguments, PyTorch in float64 elsewhere (they must agree)
  everything else           PyTorch in float64 on inputs that are values of the type
  gradients                 PyTorch's autograd in float64

Tolerances (u: units in the last place of the exact result; a: absolute):
  exact (u=0, a=0)      one correctly rounded operation, moves, integers, and sums of small whole numbers in any type
  PRIM  u=2.5 / 0.51    functions of docs/math.md: 2 ulp, half an ulp more because the stored number is a double; halves
                        compute in float32 and round once
  reductions            the bound of summation in any order: (n-1) eps sum|x|, with eps of the type that accumulates
  chains of operations  stated at the case, with the reason

Where Ridge differs from the outside, by docs/design.md section 6, and this script says so at the case:
  integer division and remainder by zero give 0 (NumPy: 0 with a warning, PyTorch: an error)
  shifts past the width give 0, or -1 for a negative shifted right (PyTorch and C: undefined)
  a float cast to an integer saturates and NaN gives 0 (NumPy, PyTorch: undefined)
"""
import os

import mpmath as mp
import numpy as np
import torch
import torch.nn.functional as F

from ops_lib import ALL, FL, FLOATS, HALF, IN, INTS, SIGNED, UNSIGNED, File, In, acc, eps, np_type, round_to

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20260117)
out = File()
np.seterr(all="ignore")


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
    some = [0.0, np.inf, 1.0, 0.5, 1.5, 2.5, 2 * tiny, tiny, tiny - least, least, 3 * least, top, top / 2, 1 + 2.0 ** (1 - p), 1 - 2.0**-p, 10.0, 88.5, 0.25]
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


# ---- unary --------------------------------------------------------------------------------------------------
m_sig = lambda x: 1 / (1 + mp.exp(-x))
m_softplus = lambda x: mp.log1p(mp.exp(x))
m_phi = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 if abs(x) < 60 else mp.mpf(x > 0)
t_unary = {"recip": torch.reciprocal, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "logsigmoid": F.logsigmoid, "silu": F.silu, "mish": F.mish, "hardswish": F.hardswish, "softsign": F.softsign, "relu6": F.relu6,
           "softplus": lambda x: F.softplus(x, threshold=1e9), "bitwise_not": torch.bitwise_not}
# The function in 200 bits, where gradients are taken, and the tolerance class:
#   prim  a function of docs/math.md      chain  a few of them, no cancellation: 4 ulp
#   abs   a chain with cancellation: besides 4 ulp, an absolute error of 4 eps (of the greatest intermediate value)
UNARY = {
    "exp": (mp.exp, -3, 3, "prim"), "exp2": (lambda x: mp.power(2, x), -3, 3, "prim"), "expm1": (mp.expm1, -3, 3, "chain"),
    "log": (mp.log, 0.1, 9, "prim"), "log2": (lambda x: mp.log(x, 2), 0.1, 9, "prim"), "log10": (mp.log10, 0.1, 9, "prim"), "log1p": (mp.log1p, -0.9, 9, "chain"),
    "sin": (mp.sin, -9, 9, "prim"), "cos": (mp.cos, -9, 9, "prim"), "tan": (mp.tan, -1.4, 1.4, "prim"),
    "sinh": (mp.sinh, -4, 4, "chain"), "cosh": (mp.cosh, -4, 4, "chain"), "tanh": (mp.tanh, -4, 4, "prim"),
    "asin": (mp.asin, -0.97, 0.97, "chain"), "acos": (mp.acos, -0.97, 0.97, "chain"), "atan": (mp.atan, -9, 9, "chain"),
    "erf": (mp.erf, -3, 3, "prim"), "rsqrt": (lambda x: 1 / mp.sqrt(x), 0.1, 9, "prim"), "sigmoid": (m_sig, -6, 6, "prim"),
    "logsigmoid": (lambda x: -m_softplus(-x), -6, 6, "chain"), "silu": (lambda x: x * m_sig(x), -6, 6, "chain"),
    "gelu": (lambda x: x * m_phi(x), -5, 5, "abs"),
    "gelu_tanh": (lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))), -5, 5, "abs"),
    "softplus": (m_softplus, -6, 6, "chain"), "mish": (lambda x: x * mp.tanh(m_softplus(x)), -6, 6, "chain"),
    "hardswish": (lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, -5, 5, "chain"), "softsign": (lambda x: x / (1 + abs(x)), -9, 9, "chain"),
    "square": (lambda x: x * x, -9, 9, "exact"), "sqrt": (mp.sqrt, 0.1, 9, "exact"), "recip": (lambda x: 1 / x, 0.2, 9, "exact"),
    "neg": (lambda x: -x, -9, 9, "exact"), "abs": (abs, -9, 9, "exact"), "relu": (None, -9, 9, "exact"), "relu6": (None, -3, 9, "exact"),
    "sign": (None, -9, 9, "exact"), "floor": (None, -9, 9, "exact"), "ceil": (None, -9, 9, "exact"), "trunc": (None, -9, 9, "exact"), "round": (None, -9, 9, "exact"),
}
PREDICATES = ("isnan", "isinf", "isfinite", "logical_not")


def unary_tol(kind, tag):
    if kind == "exact":
        return 0, 0
    u = 2.5 if kind == "prim" else 4.5
    if tag in HALF:  # float32 inside, one rounding at the end
        u = 0.51
    return u, (4 * eps(acc(tag)) if kind == "abs" else 0)


def precise(op, x, guess):
    """The function at each finite x in 200 bits; elsewhere (and for what has no formula here) PyTorch's word."""
    fn = UNARY[op][0]
    if fn is None:
        return guess
    want = guess.copy()
    for i, v in np.ndenumerate(x):
        if np.isfinite(v) and v != 0 and np.isfinite(guess[i]):
            y = fn(mp.mpf(float(v)))
            assert abs(y - guess[i]) <= 1e-9 * abs(y) + 1e-13, (op, v, y, guess[i])
            want[i] = float(y)
    return want


def unary():
    for op, (_, lo, hi, kind) in UNARY.items():
        fn = t_unary.get(op) or getattr(torch, op)
        for tag in FL:
            u, a = unary_tol(kind, tag)

            def case(variant, x, grad=None):
                guess = fn(torch.from_numpy(np.array(x.np()))).numpy()
                out.torch(op, variant, [x], fn, u=u, a=a, grad=grad, want=precise(op, x.np(), guess))

            case("random", uni(tag, lo, hi, 17), seed if tag in ("f32", "f64") else None)
            case("corners", float_corners(tag))
            if tag == "f32":
                case("rank0", uni(tag, lo, hi), seed)
                case("empty", uni(tag, lo, hi, 0, 3))
                case("wide", uni(tag, 4 * lo, 4 * hi, 13))
                for view in ("transposed", "sliced", "flipped"):
                    case(view, seen(tag, view, grid, lo, hi), seed)
        if kind != "exact":  # an integer argument becomes f32
            for tag in ("i32", "u8", "bool"):
                x = whole(tag, 1, 1, 5) if op in ("asin", "acos") else whole(tag, 1, 4, 5)
                guess = fn(torch.from_numpy(x.np().astype(np.float64))).numpy()
                out.case(op, "of_int", [x], precise(op, x.np().astype(np.float64), guess), out="f32", u=unary_tol(kind, "f32")[0], a=unary_tol(kind, "f32")[1])
    for op in PREDICATES:
        fn = {"logical_not": np.logical_not}.get(op) or getattr(np, op)
        for tag in ALL:
            x = whole("bool", 0, 1, 7) if tag == "bool" else int_corners(tag) if tag in INTS else float_corners(tag)
            out.case(op, "corners", [x], fn(x.np()), out="bool")
    ties = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 3.5])
    for tag in FL:
        out.torch("round", "ties_to_even", [In(tag, ties)], torch.round)
    huge = np.array([1e5, 1e10, -3e20, 1e30, 131072.5, -1e38, 65504])
    for op in ("sin", "cos", "tan"):
        for tag in ("f32", "f64"):
            x = In(tag, huge)
            want = np.array([float(UNARY[op][0](mp.mpf(float(v)))) for v in x.a])
            out.case(op, "huge", [x], want, u=2.5)


def unary_int():
    same = lambda x: x
    fns = {"neg": lambda x: (0 - x).astype(x.dtype), "abs": np.abs, "sign": np.sign, "square": lambda x: x * x, "floor": same, "ceil": same, "trunc": same, "round": same, "bitwise_not": np.invert, "relu": lambda x: np.maximum(x, 0).astype(x.dtype),
           "relu6": lambda x: np.clip(x, 0, 6).astype(x.dtype)}
    for op, fn in fns.items():
        for tag in IN:
            x = int_corners(tag)
            out.case(op, "int", [x], fn(x.np()))
    out.case("bitwise_not", "bool", [In("bool", [0, 1, 1])], np.array([1, 0, 0]))
    for op in ("sqrt", "recip"):  # these make floats of integers too
        x = whole("i32", 1, 50, 7)
        out.case(op, "of_int", [x], np.float32(1) / x.np().astype(np.float32) if op == "recip" else np.sqrt(x.np()), out="f32")


# ---- binary -------------------------------------------------------------------------------------------------
B_FLOAT = {
    # name: (PyTorch, does it have a gradient, class)
    "add": (torch.add, True, "exact"), "sub": (torch.sub, True, "exact"), "mul": (torch.mul, True, "exact"), "div": (torch.div, True, "exact"),
    "floordiv": (lambda x, y: torch.floor(x / y), False, "exact"), "mod": (torch.remainder, True, "mod"), "fmod": (torch.fmod, True, "mod"), "pow": (torch.pow, True, "pow"),
    "maximum": (torch.maximum, True, "exact"), "minimum": (torch.minimum, True, "exact"),
    "copysign": (torch.copysign, True, "exact"), "logaddexp": (torch.logaddexp, True, "abs"),
}
B_BOOL = ("eq", "ne", "lt", "le", "gt", "ge")
B_LOGIC = ("logical_and", "logical_or", "logical_xor")
B_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def binary_tol(kind, tag):
    if kind == "exact":
        return 0, 0
    if kind == "mod":  # the remainder of two floats is a float: nothing needs to be rounded
        return 0, 0
    u = 4.5
    if tag in HALF:
        u = 0.51
    return u, (4 * eps(acc(tag)) if kind == "abs" else 0)


# Pairs of shapes that broadcast, and what each is for.
BROADCAST = {"row": ((3, 5), (5,)), "column": ((3, 5), (3, 1)), "both": ((7, 1), (1, 13)), "scalar": ((17,), ()), "left": ((), (4, 3)), "axes5": ((2, 1, 3, 1, 2), (2, 1, 4, 1)), "ones": ((1, 1), (1,)), "empty": ((0, 3), (1, 3))}


def binary_float():
    for op, (fn, has_grad, kind) in B_FLOAT.items():
        lo = 0.25 if op == "pow" else -4
        for tag in FL:
            u, a = binary_tol(kind, tag)
            grad = seed if has_grad and tag in ("f32", "f64") else None
            make = grid if tag == "f32" else uni
            out.torch(op, "random", [uni(tag, lo, 4, 17), uni(tag, 0.5, 3, 17)], fn, u=u, a=a, grad=grad)
            for name, (sx, sy) in BROADCAST.items():
                if name in ("row", "both") or tag == "f32":
                    out.torch(op, name, [make(tag, lo, 4, *sx), make(tag, 0.5, 3, *sy)], fn, u=u, a=a, grad=grad)
            c = float_corners(tag).a
            few = c[[0, 1, 2, 4, 9, 11, 15, 18, 19, 20, 22, 27, 29, 33, 36]]
            if kind == "mod":  # exact while |x / y| is below 2^24 (docs/semantics.md): no quotients beyond that
                few = np.array([0.0, 1, 1.5, 10, 1000, 0.25, 7, np.inf])
                few = np.concatenate([few, -few, [np.nan]])
            x, y = In(tag, few.reshape(-1, 1)), In(tag, few.reshape(1, -1))
            out.torch(op, "corners", [x, y], fn, u=u, a=a)
        for view in VIEWS:
            out.torch(op, view, [seen("f32", view, grid, lo, 4), seen("f32", "transposed", grid, 0.5, 3)], fn, u=binary_tol(kind, "f32")[0], a=binary_tol(kind, "f32")[1], grad=seed if has_grad else None)


def floor_div(x, y):
    return 0 if y == 0 else x // y


def int_pow(x, y):
    """Whole powers modulo the type; of negative exponents what is left of 1/x^n (PyTorch's rule)."""
    return x**y if y >= 0 else 1 if x == 1 else (1 if y % 2 == 0 else -1) if x == -1 else 0


def wrap(tag, v):
    bits = np_type(tag).itemsize * 8
    v &= (1 << bits) - 1
    return v - (1 << bits) if limits(tag)[0] < 0 and v >> (bits - 1) else v


def exact_int(tag, fn, x, y):
    """fn over Python's integers, wrapped to the type."""
    x, y = np.broadcast_arrays(x, y)
    r = [wrap(tag, fn(int(p), int(q))) for p, q in zip(x.reshape(-1), y.reshape(-1))]
    return np.array(r, dtype=np_type(tag)).reshape(x.shape)


def shift(tag, left):
    bits = np_type(tag).itemsize * 8
    return lambda x, y: (x << y if y < bits else 0) if left else (x >> y if y < bits else (-1 if x < 0 else 0))


def binary_int():
    fns = {"add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "floordiv": floor_div, "mod": lambda x, y: 0 if y == 0 else x % y, "fmod": lambda x, y: 0 if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1), "maximum": max, "minimum": min,
           "bitwise_and": lambda x, y: x & y, "bitwise_or": lambda x, y: x | y, "bitwise_xor": lambda x, y: x ^ y}
    for tag in IN:
        c = int_corners(tag).a
        for op, fn in fns.items():
            out.case(op, "int_corners", [In(tag, c.reshape(-1, 1)), In(tag, c)], exact_int(tag, fn, c.reshape(-1, 1), c))
        e = np.array([0, 1, 2, 3, 5, 7] + ([-1, -2] if tag in SIGNED else []))
        out.case("pow", "int", [In(tag, c.reshape(-1, 1)), In(tag, e)], exact_int(tag, int_pow, c.reshape(-1, 1), e))
        bits = np_type(tag).itemsize * 8
        n = np.array([0, 1, bits // 2, bits - 1, bits, bits + 1, 100])
        for op, left in (("shl", True), ("shr", False)):
            out.case(op, "past_width", [In(tag, c.reshape(-1, 1)), In(tag, n)], exact_int(tag, shift(tag, left), c.reshape(-1, 1), n))
        x, y = whole(tag, 1, 90, 3, 5), whole(tag, 1, 9, 5)
        out.case("div", "int", [x, y], x.np().astype(np.float32) / y.np().astype(np.float32), out="f32")
        z = In(tag, [0, 1, 5])
        out.case("div", "int_by_zero", [z, In(tag, [0])], np.array([np.nan, np.inf, np.inf]), out="f32")
    for op, (sx, sy) in (("add", BROADCAST["axes5"]), ("mul", BROADCAST["both"]), ("floordiv", BROADCAST["row"])):
        x, y = whole("i32", -50, 50, *sx), whole("i32", -5, 5, *sy)
        out.case(op, "int_broadcast", [x, y], exact_int("i32", fns[op], x.np(), y.np()))


def binary_bool():
    b2 = [In("bool", [[0], [1]]), In("bool", [[0, 1]])]
    x, y = b2[0].np(), b2[1].np()
    for op, want in (("add", x | y), ("mul", x & y), ("maximum", x | y), ("minimum", x & y), ("bitwise_and", x & y), ("bitwise_or", x | y), ("bitwise_xor", x ^ y)):
        out.case(op, "bool", b2, want)
    for tag in ALL:
        c = float_corners(tag).a if tag in FLOATS else np.array([0, 1]) if tag == "bool" else int_corners(tag).a
        ins = [In(tag, c.reshape(-1, 1)), In(tag, c[::2])]
        x, y = ins[0].np(), ins[1].np()
        for op, fn in zip(B_BOOL, (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)):
            out.case(op, "corners", ins, fn(x, y), out="bool")
        few = [In(tag, c[:5].reshape(-1, 1)), In(tag, np.append(c[:4], c[-1:]))]
        x, y = few[0].np(), few[1].np()
        for op, fn in zip(B_LOGIC, (np.logical_and, np.logical_or, np.logical_xor)):
            out.case(op, "corners", few, fn(x, y), out="bool")
    for op in B_BOOL + B_LOGIC:
        for name in ("both", "axes5", "empty"):
            x, y = (whole("i32", 0, 2, *s) for s in BROADCAST[name])
            fn = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}.get(op) or getattr(np, op)
            out.case(op, name, [x, y], fn(x.np(), y.np()), out="bool")


def numbers():
    """A plain number as an operand takes the tensor's dtype, unless its kind is higher: an integer beside bool makes i64, a float beside an integer f32."""
    fns = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "maximum": np.maximum, "minimum": np.minimum, "lt": np.less, "ge": np.greater_equal, "eq": np.equal}
    for tag in ALL:
        x = In(tag, [0, 1, 1, 0]) if tag == "bool" else whole(tag, 1, 20, 4)
        for text in ("3", "2.5"):
            kind = tag if tag in FLOATS else "f32" if "." in text else "i64" if tag == "bool" else tag
            v = float(text) if kind in FLOATS else int(text)
            for op, fn in fns.items():
                t = "bool" if op in ("lt", "ge", "eq") else kind if op != "div" or kind in FLOATS else "f32"
                a = x.np().astype(np.float64 if t in FLOATS or "." in text else np_type(kind))
                wide = fn(a.astype(np.float64), float(v)) if op == "div" else None
                out.case(op, "number_" + text.replace(".", "_"), [x], fn(a, v) if wide is None else wide, par="y=" + text, out=t)
                other = fn(v, a) if wide is None else fn(float(v), a.astype(np.float64))
                out.case(op, "number_first_" + text.replace(".", "_"), [x], other, par="x=" + text, out=t)
    for tag in ("f32", "f64"):
        for op, text, fn in (("pow", "2", lambda t: t**2), ("pow", "3", lambda t: t**3), ("pow", "0.5", lambda t: t**0.5), ("pow", "-1", lambda t: t**-1), ("pow", "0", lambda t: t**0), ("pow", "-0.5", lambda t: t**-0.5)):
            out.torch(op, "number_" + text.replace(".", "_").replace("-", "minus_"), [uni(tag, 0.5, 3, 7)], fn, par="y=" + text, u=4.5, grad=seed if text != "0" else None)
        out.torch("pow", "number_first", [uni(tag, -3, 3, 7)], lambda t: 2.5**t, par="x=2.5", u=4.5, grad=seed)
        out.torch("mul", "number_grad", [uni(tag, -3, 3, 7)], lambda t: t * 2.5, par="y=2.5", grad=seed)
        out.torch("div", "number_grad", [uni(tag, 1, 3, 7)], lambda t: 2.5 / t, par="x=2.5", grad=seed)


# ---- three operands, activations with a parameter -----------------------------------------------------------
def ternary():
    for tag in ALL:
        c = In("bool", rng.integers(0, 2, (3, 1)))
        x, y = whole(tag, 0, 9, 3, 5), whole(tag, 0, 9, 5)
        out.case("where", "broadcast", [c, x, y], np.where(c.np(), x.np(), y.np()), out=tag)
    nan = In("f32", [np.nan, np.inf, -0.0, 1])
    out.case("where", "hides_nan", [In("bool", [0, 0, 1, 1]), nan, In("f32", [1, 2, 3, np.nan])], np.array([1, 2, -0.0, 1]), out="f32")
    for tag in ("f32", "f64"):
        out.torch("where", "grad", [In("bool", rng.integers(0, 2, (3, 5))), grid(tag, -2, 2, 3, 1), grid(tag, -2, 2, 5)], torch.where, out=tag, grad=seed)
        out.torch("where", "scalars", [In("bool", rng.integers(0, 2, 7)), grid(tag, -2, 2), grid(tag, -2, 2)], torch.where, out=tag, grad=seed)
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        lo, hi = In(tag, -1.5), In(tag, 2.0)
        out.torch("clamp", "both", [uni(tag, -4, 4, 17), lo, hi], lambda x, l, h: torch.clamp(x, l, h), grad=grad, wrt=(0,))
        out.torch("clamp", "tensors", [uni(tag, -4, 4, 3, 5), grid(tag, -2, -1, 5), grid(tag, 1, 2, 3, 1)], torch.clamp)
        out.torch("clamp", "corners", [float_corners(tag), lo, hi], torch.clamp)
        out.torch("clamp", "crossed", [uni(tag, -4, 4, 7), hi, lo], torch.clamp)
        out.torch("clamp", "low_only", [uni(tag, -4, 4, 7), lo], lambda x, l: torch.clamp(x, min=l), par="has=lo", grad=grad, wrt=(0,))
        out.torch("clamp", "high_only", [uni(tag, -4, 4, 7), hi], lambda x, h: torch.clamp(x, max=h), par="has=hi", grad=grad, wrt=(0,))
        # lerp: rounding errors of up to 3 operations on numbers no greater than 4 + 2*8
        out.torch("lerp", "random", [uni(tag, -4, 4, 17), uni(tag, -4, 4, 17), uni(tag, 0, 1, 17)], torch.lerp, u=0.51, a=24 * eps(tag), grad=grad)
        out.torch("lerp", "broadcast", [uni(tag, -4, 4, 3, 1), uni(tag, -4, 4, 5), uni(tag, 0, 1)], torch.lerp, u=0.51, a=24 * eps(tag), grad=grad)
        c, r = float_corners(tag), uni(tag, -4, 4, 17)
        for op, par, fn, exact in (
            ("leaky_relu", "slope=0.25", lambda x: F.leaky_relu(x, 0.25), True),
            ("elu", "alpha=1.5", lambda x: F.elu(x, 1.5), False),
            ("hardtanh", "lo=-2 hi=2.5", lambda x: F.hardtanh(x, -2, 2.5), True),
        ):
            u = 0 if exact else 0.51 if tag in HALF else 4.5
            out.torch(op, "random", [r], fn, par=par, u=u, grad=grad)
            out.torch(op, "corners", [c], fn, par=par, u=u)
    for tag in IN:
        x = int_corners(tag)
        out.case("clamp", "int", [x, In(tag, 2), In(tag, 6)], np.clip(x.np(), 2, 6).astype(np_type(tag)))


# ---- casts --------------------------------------------------------------------------------------------------
def round_int(tag, n):
    """A Python integer to the nearest value of the float type, once."""
    p = FLOATS[tag][0]
    m, cut = abs(n), max(abs(n).bit_length() - p, 0)
    q, r = m >> cut, m & ((1 << cut) - 1)
    half = 1 << (cut - 1) if cut else 1
    q += r > half or (r == half and cut > 0 and q & 1)
    return float(round_to(tag, float((q << cut) * (-1 if n < 0 else 1))))


def cast_one(src, dst, v):
    if dst == "bool":
        return v != 0  # NaN is not 0
    if dst in FLOATS:
        return v if src in FLOATS else round_int(dst, int(v))
    if src not in FLOATS:
        return wrap(dst, int(v))
    lo, hi = limits(dst)
    return 0 if np.isnan(v) else hi if v >= hi else lo if v <= lo else int(v)


def casts():
    for src in ALL:
        if src in FLOATS:
            p = FLOATS[src][0]
            more = [2.0**k + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for d in (-1.0, -0.5, 0, 0.75)]
            # between two bf16 and close to the middle: rounding first to f32 would go wrong
            more += [1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40, 1 + 2.0**-11 + 2.0**-40, 2.0**-25 + 2.0**-50, 65519.999, 65520, 3.4028235677973366e38, -200.7, 127.9, 255.9, -128.9, -0.9]
            x = In(src, np.concatenate([float_corners(src).a, more, [-m for m in more[:32]]]))
        elif src == "bool":
            x = In(src, [0, 1])
        else:
            lo, hi = limits(src)
            more = [v for k in (8, 11, 12, 16, 24, 25, 31, 32, 53, 54, 63) for v in (2**k - 1, 2**k, 2**k + 1, -(2**k) - 1) if lo <= v <= hi]
            more += [v for v in (2**54 + 2**30 + 1, 2**62 + 2**54 + 1, 2**63 + 2**39 + 1, 2**25 + 2, 2**25 + 6, 257, 259, -257) if lo <= v <= hi]
            x = In(src, np.concatenate([int_corners(src).a, np.array(more, np_type(src))]))
        for dst in ALL:
            want = [cast_one(src, dst, v) for v in x.a]
            out.case("cast", "to_" + dst, [x], np.array(want, np_type(dst)), par="dtype=" + dst, out=dst)
    for src, dst in (("f32", "f64"), ("f64", "f32"), ("f32", "f16"), ("bf16", "f32")):
        x = grid(src, -3, 3, 7)
        tol = dict(ga=2 * eps(dst)) if dst == "f16" else {}
        out.torch("cast", "grad_" + dst, [x], lambda t: t * 1, par="dtype=" + dst, out=dst, u=0, grad=seed, **tol)
    words = {"f32": np.float32, "f64": np.float64, "f16": np.float16}
    for src, dst in (("f32", "i32"), ("f32", "u32"), ("f64", "i64"), ("f64", "u64"), ("f16", "i16"), ("f16", "u16")):
        x = np.array([0.0, -0.0, 1, -2.5, np.inf, 0.1], words[src])
        out.case("bitcast", "to_" + dst, [In(src, x)], x.view(np_type(dst)), par="dtype=" + dst, out=dst)
        out.case("bitcast", "to_" + src, [In(dst, x.view(np_type(dst)))], x.astype(np.float64), par="dtype=" + src, out=src)
    for src, dst in (("i8", "u8"), ("u32", "i32"), ("i64", "u64")):
        x = int_corners(src)
        out.case("bitcast", "to_" + dst, [x], x.a.view(np_type(dst)), par="dtype=" + dst, out=dst)
    x = In("bf16", [0, 1, -2.5, np.inf])
    out.case("bitcast", "to_i16", [x], (x.a.astype(np.float32).view(np.int32) >> 16).astype(np.int16), par="dtype=i16", out="i16")


# ---- reductions ---------------------------------------------------------------------------------------------
# Which axes of which shape: the first, one between, the last, several, all, sizes of 1, many axes, a strided input.
AXES = {
    "all": ((3, 4, 5), None), "first": ((3, 4, 5), (0,)), "middle": ((3, 4, 5), (1,)), "last": ((3, 4, 5), (2,)), "negative": ((3, 4, 5), (-2,)),
    "ends": ((3, 4, 5), (0, 2)), "order": ((2, 3, 4), (2, 0)), "odd": ((7, 13), (1,)), "odd_first": ((17, 3), (0,)), "one": ((3, 1), (1,)), "axes5": ((2, 3, 1, 2, 2), (0, 3, -1)),
    "rank0": ((), None), "single": ((1,), (0,)), "vector": ((17,), (0,)),
}


def axes_par(axes, keep):
    return ("axes=" + ",".join(map(str, axes)) if axes is not None else "") + (" keep=1" if keep else "")


def sum_type(tag):
    """Integers add in i64, as in PyTorch; u64 keeps its type, which PyTorch cannot add."""
    return tag if tag in FLOATS or tag == "u64" else "i64"


def count(shape, axes):
    return int(np.prod(shape)) if axes is None else int(np.prod([shape[a] for a in axes]))


def reduce_ints():
    for tag in ("bool",) + IN:
        acc_type = np_type(sum_type(tag))
        for name, (shape, axes) in AXES.items():
            if name not in ("all", "middle", "ends", "vector") and tag != "i32":
                continue
            for keep in (False, True) if tag == "i32" else (False,):
                x = whole(tag, 0 if tag in UNSIGNED + ("bool",) else -90, 90, *shape)
                par, variant = axes_par(axes, keep), name + ("_keep" if keep else "")
                kw = dict(axis=axes, keepdims=keep)
                out.case("sum", variant, [x], np.sum(x.np().astype(acc_type), **kw), par=par, out=sum_type(tag))
                if tag != "bool":
                    out.case("max", variant, [x], np.max(x.np(), **kw), par=par)
                    out.case("min", variant, [x], np.min(x.np(), **kw), par=par)
                out.case("any", variant, [x], np.any(x.np(), **kw), par=par, out="bool")
                out.case("all", variant, [x], np.all(x.np(), **kw), par=par, out="bool")
                out.case("prod", variant, [x], np.prod(x.np().astype(acc_type), **kw), par=par, out=sum_type(tag))
        if tag != "bool":
            c = int_corners(tag)
            out.case("sum", "overflow", [c], np.sum(c.np().astype(acc_type)), out=sum_type(tag))
            out.case("max", "corners", [c], np.max(c.np()))
            out.case("min", "corners", [c], np.min(c.np()))
            n = whole(tag, 0, 20, 3, 4)
            out.case("mean", "int", [n], np.mean(n.np(), axis=1), par="axes=1", out="f32", u=2)


def reduce_floats():
    fns = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax, "min": torch.amin, "logsumexp": torch.logsumexp}
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        for name, (shape, axes) in AXES.items():
            if tag != "f32" and name not in ("all", "last", "first", "ends", "axes5", "rank0"):
                continue
            n, dim = count(shape, axes), tuple(range(len(shape))) if axes is None else axes
            for op, fn in fns.items():
                keep = rng.random() < 0.5
                x = apart(tag, -4, 4, *shape) if op in ("max", "min") else uni(tag, -4, 4, *shape)
                red = (lambda f, k: lambda t: f(t, dim=dim, keepdim=k))(fn, keep)
                if shape == ():
                    red = lambda t: t * 1
                e, last = eps(acc(tag)), 0.51 if tag in HALF else 1
                scale = float(np.abs(x.np()).sum(axis=axes).max()) if x.a.size else 0
                tol = {"sum": (last if n > 1 else 0, (n - 1) * e * scale), "mean": (last + 0.01, n * e * scale / n), "max": (0, 0), "min": (0, 0),
                       # exp 2 ulp, sum n, log 2 ulp of the sum: relative to the sum, then absolute; plus the maximum added back
                       "logsumexp": (0.51 if tag in HALF else 2.5, (n + 6) * e)}[op]
                out.torch(op, name + ("_keep" if keep else ""), [x], red, par=axes_par(axes, keep), u=tol[0], a=tol[1], grad=grad)
                if op == "sum":
                    w = whole(tag, -3, 3, *shape)  # whole numbers: every order of summation gives the same bits
                    out.torch(op, name + "_whole", [w], (lambda t: t.sum(dim)) if shape else (lambda t: t * 1), par=axes_par(axes, False))
        for view in VIEWS:
            x = seen(tag, view, grid, -4, 4)
            for axis in (0, 1):
                out.torch("sum", "%s_%d" % (view, axis), [x], lambda t: t.sum(axis), par="axes=%d" % axis, u=0.51 if tag in HALF else 1, a=5 * eps(acc(tag)) * 20, grad=grad)
        p = uni(tag, 0.5, 1.5, 3, 7)
        # a product of n: each of n-1 roundings is half an ulp, the last alone where halves multiply in float32
        out.torch("prod", "last", [p], lambda t: t.prod(1), par="axes=1", u=0.51 if tag in HALF else 7, grad=grad, gu=32)
        out.torch("prod", "all", [p], lambda t: t.prod(), u=0.51 if tag in HALF else 21, grad=grad, gu=64)
        special = np.array([[1, np.nan, 3], [np.inf, 1, 2], [-np.inf, 1, np.inf], [-0.0, -0.0, -0.0], [-0.0, 0.0, -0.0], [np.nan, -np.inf, np.inf]])
        for op, fn in (("sum", torch.sum), ("max", torch.amax), ("min", torch.amin), ("prod", torch.prod), ("mean", torch.mean), ("logsumexp", torch.logsumexp)):
            x = In(tag, special[:3] if op in ("logsumexp", "mean") else special[[0, 1, 2, 5]] if op in ("max", "min") else special)
            out.torch(op, "special", [x], lambda t: fn(t, dim=1), par="axes=1", u=2.5 if op == "logsumexp" else 0)
        out.case("any", "special", [In(tag, special)], np.array([1, 1, 1, 0, 0, 1]), par="axes=1", out="bool")
        out.case("all", "special", [In(tag, special)], np.array([1, 1, 1, 0, 0, 1]), par="axes=1", out="bool")
        big = In(tag, [[FLOATS[tag][2] / 4, 1], [-(FLOATS[tag][2]) / 4, 0.5]])
        out.torch("logsumexp", "no_overflow", [big], lambda t: torch.logsumexp(t, 1), par="axes=1", u=1)
    long = whole("f16", 1, 1, 3000)  # an accumulator of f16 would stop at 2048
    out.torch("sum", "long", [long], torch.sum)
    out.torch("mean", "long", [whole("bf16", 1, 1, 1000)], torch.mean)
    out.torch("sum", "expanded_long", [In("f32", [[1.0]], ("E", (100, 1000)))], torch.sum)
    for op, fn in (("max", torch.amax), ("min", torch.amin)):  # equal values share the gradient, as amax and amin do
        for tag in ("f32", "f64"):
            out.torch(op, "grad_ties", [In(tag, [[1, 3, 3, 2], [5, 5, 5, 5], [-1, -1, -2, -2]])], lambda t: fn(t, dim=1), par="axes=1", grad=seed)


def reduce_empty():
    for tag in ("f32", "f16", "i32", "u8", "bool"):
        none, row = In(tag, np.zeros((0, 3))), In(tag, np.zeros((3, 0)))
        for op, ident in (("sum", 0), ("prod", 1), ("any", 0), ("all", 1)):
            t = sum_type(tag) if op in ("sum", "prod") else "bool"
            out.case(op, "empty", [none], np.full(3, ident), par="axes=0", out=t)
            out.case(op, "empty_all", [none], np.array(ident), out=t)
            out.case(op, "empty_result", [none], np.zeros(0), par="axes=1", out=t)
        if tag != "bool":
            for op in ("max", "min"):
                out.refuse(op, "empty", [row], par="axes=1")
                out.case(op, "empty_result", [none], np.zeros(0), par="axes=1")
    out.case("mean", "empty", [In("f32", np.zeros((0, 3)))], np.full(3, np.nan), par="axes=0")


def variance():
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        for name in ("all", "last", "ends", "odd_first", "negative", "axes5"):
            shape, axes = AXES[name]
            dim = tuple(range(len(shape))) if axes is None else axes
            for corr in (0, 1):
                keep = corr == 0
                x, n = uni(tag, -4, 4, *shape), count(shape, axes)
                # squared deviations up to 64; the mean is off by n eps * 4, the sum of squares by n eps
                for op, fn, scale in (("var", torch.var, 16), ("std", torch.std, 4)):
                    out.torch(op, "%s_%d" % (name, corr), [x], lambda t: fn(t, dim=dim, correction=corr, keepdim=keep), par=axes_par(axes, keep) + " correction=%d" % corr,
                              u=0.51 if tag in HALF else 4, a=(n + 4) * eps(acc(tag)) * scale, grad=grad, gu=64)
    for tag in ("f32", "f64"):  # far from 0: the naive formula E[x^2] - E[x]^2 loses everything
        x = In(tag, 10000 + np.array([[1, 2, 3, 4.0], [0, 0, 1, 1]]))
        out.torch("var", "far", [x], lambda t: t.var(1), par="axes=1 correction=1", u=4, a=0)


def arg_and_scan():
    for op, fn in (("argmax", np.argmax), ("argmin", np.argmin)):
        for tag in IN + FL:
            a = whole(tag, 0, 5, 3, 4, 5)  # many ties: the first counts
            for axis, keep in ((0, 0), (1, 1), (2, 0), (-1, 1)):
                out.case(op, "axis%d" % axis, [a], fn(a.np(), axis=axis, keepdims=bool(keep)), par="axis=%d keep=%d" % (axis, keep), out="i64")
            out.case(op, "flat", [a], fn(a.np()), out="i64")
        for tag in FL:
            x = In(tag, [[1, np.nan, 3, np.nan], [np.inf, 1, np.inf, -np.inf], [-np.inf] * 4, [-0.0, 0.0, -0.0, 0.0]])
            tt = torch.from_numpy(x.np())
            want = getattr(torch, op)(tt, 1).numpy()
            want[2:] = 0  # PyTorch does not promise the first of equals; Ridge does, and -0 equals 0
            out.case(op, "special", [x], want, par="axis=1", out="i64")
        for view in ("transposed", "flipped", "sliced"):
            x = seen("f32", view, apart, -4, 4)
            out.case(op, view, [x], fn(x.np(), axis=1), par="axis=1", out="i64")
        out.case(op, "rank0", [In("f32", 3.0)], np.array(0), out="i64")
        out.case(op, "one", [In("f32", np.ones((1, 5)))], np.zeros(5), par="axis=0", out="i64")
        out.refuse(op, "empty", [In("f32", np.zeros((2, 0)))], par="axis=1")
    for op, fn, tfn in (("cumsum", np.cumsum, torch.cumsum), ("cumprod", np.cumprod, torch.cumprod), ("cummax", np.maximum.accumulate, lambda t, d: torch.cummax(t, d).values)):
        for tag in IN:
            x = whole(tag, 0 if tag in UNSIGNED else -5, 9, 3, 7)
            t = tag if op == "cummax" else sum_type(tag)
            for axis in (0, 1):
                out.case(op, "int_axis%d" % axis, [x], fn(x.np().astype(np_type(t)), axis), par="axis=%d" % axis, out=t)
        for tag in FL:
            grad = seed if tag in ("f32", "f64") else None
            for name, shape, axis in (("first", (7, 3), 0), ("last", (3, 7), -1), ("middle", (2, 5, 3), 1), ("vector", (17,), 0), ("one", (3, 1), 1)):
                n = shape[axis]
                x = apart(tag, -2, 2, *shape) if op == "cummax" else uni(tag, 0.5, 1.5, *shape) if op == "cumprod" else uni(tag, -2, 2, *shape)
                # halves: the running value is kept in float32 and each output rounded once
                u = 0 if op == "cummax" else 0.51 if tag in HALF else n if op == "cumprod" else 1
                a = (n - 1) * eps(acc(tag)) * 2 * n if op == "cumsum" else 0
                out.torch(op, name, [x], lambda t: tfn(t, axis), par="axis=%d" % axis, u=u, a=a, grad=grad, gu=64)
            w = whole(tag, -2, 2, 4, 5)
            out.torch(op, "whole", [w], lambda t: tfn(t, 1), par="axis=1")
            x = In(tag, [[1, np.nan, 3], [np.inf, 1, 2], [-np.inf, 1, np.inf]])
            out.torch(op, "special", [x], lambda t: tfn(t, 1), par="axis=1")
        out.case(op, "empty", [In("f32", np.zeros((0, 3)))], np.zeros((0, 3)), par="axis=0")
        for view in ("transposed", "flipped"):
            x = seen("f32", view, whole, -2, 2)
            out.torch(op, view, [x], lambda t: tfn(t, 0), par="axis=0", grad=seed if op == "cumsum" else None)


# ---- softmax, norms -----------------------------------------------------------------------------------------
def softmax_and_norms():
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        e = eps(acc(tag))
        half = tag in HALF
        for name, shape, axis in (("last", (3, 17), -1), ("first", (7, 3), 0), ("middle", (2, 5, 3), 1), ("one", (3, 1), 1)):
            x, n = uni(tag, -4, 4, *shape), shape[axis]
            # x - max is off by 8 eps, which e^x makes relative; exp 2 ulp (4 eps); the sum n eps
            out.torch("softmax", name, [x], lambda t: t.softmax(axis), par="axis=%d" % axis, u=0.51 if half else 1, a=(14 + n) * e, grad=grad, ga=32 * eps(tag) if grad else None)
            out.torch("log_softmax", name, [x], lambda t: t.log_softmax(axis), par="axis=%d" % axis, u=0.51 if half else 1, a=(14 + n) * e, grad=grad, ga=64 * eps(tag) if grad else None)
        top = FLOATS[tag][2] / 4
        x = In(tag, [[top, top, 0], [-top, -top, -top], [-np.inf, 0, 0]])
        out.torch("softmax", "huge", [x], lambda t: t.softmax(-1), par="axis=-1", u=0.51 if half else 3)
        out.torch("log_softmax", "huge", [In(tag, [[top, 0, 0], [-np.inf, 0, 0]])], lambda t: t.log_softmax(-1), par="axis=-1", u=0.51 if half else 3)
        out.torch("softmax", "special", [In(tag, [[np.nan, 0, 1], [np.inf, 0, 1], [-np.inf] * 3])], lambda t: t.softmax(-1), par="axis=-1", u=0.51 if half else 3)
        # norms: deviations of n numbers up to 4, divided by a spread of about 2, times weights up to 1.5
        tol = dict(u=0.51 if half else 4, a=64 * e)
        for name, shape, k in (("last", (3, 17), 1), ("two", (2, 3, 5), 2), ("all", (7,), 1), ("rows5", (2, 1, 2, 1, 13), 1)):
            x, w, b = uni(tag, -4, 4, *shape), uni(tag, 0.5, 1.5, *shape[len(shape) - k :]), uni(tag, -1, 1, *shape[len(shape) - k :])
            ga = 256 * eps(tag) if grad else None
            out.torch("layernorm", name, [x, w, b], lambda t, p, q: F.layer_norm(t, shape[len(shape) - k :], p, q, 1e-5), par="n=%d eps=1e-5 has=weight,bias" % k, grad=grad, ga=ga, **tol)
            out.torch("layernorm", name + "_plain", [x], lambda t: F.layer_norm(t, shape[len(shape) - k :], None, None, 1e-5), par="n=%d eps=1e-5" % k, grad=grad, ga=ga, **tol)
            if k == 1:
                out.torch("rmsnorm", name, [x, w], lambda t, p: F.rms_norm(t, shape[-1:], p, 1e-6), par="eps=1e-6 has=weight", grad=grad, ga=ga, **tol)
                out.torch("rmsnorm", name + "_plain", [x], lambda t: F.rms_norm(t, shape[-1:], None, 1e-6), par="eps=1e-6", grad=grad, ga=ga, **tol)
        out.torch("layernorm", "constant", [In(tag, np.full((2, 4), 3.0))], lambda t: F.layer_norm(t, (4,), None, None, 1e-5), par="n=1 eps=1e-5")


# ---- products -----------------------------------------------------------------------------------------------
MATMUL = {
    "vv": ((13,), (13,)), "mv": ((3, 7), (7,)), "vm": ((7,), (7, 3)), "mm": ((3, 7), (7, 5)), "odd": ((7, 13), (13, 17)), "one": ((1, 1), (1, 1)), "inner1": ((4, 1), (1, 3)), "batch": ((2, 3, 4), (2, 4, 5)),
    "batch_broadcast": ((2, 1, 3, 4), (5, 4, 2)), "batch_left": ((3, 4), (2, 4, 2)), "batch_v": ((2, 3, 4), (4,)), "v_batch": ((4,), (2, 4, 3)), "empty_k": ((3, 0), (0, 2)), "empty_m": ((0, 3), (3, 2)), "axes5": ((2, 1, 2, 2, 3), (2, 1, 3, 2)),
}


def products():
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        for name, (sx, sy) in MATMUL.items():
            if tag == "f64" and name not in ("vv", "mm", "batch_broadcast", "vm"):
                continue
            k = sx[-1]
            x, y = grid(tag, -2, 2, *sx), grid(tag, -2, 2, *sy)
            out.torch("matmul", name, [x, y], torch.matmul, u=0.51 if tag in HALF else 1, a=k * eps(acc(tag)) * 4 * k, grad=grad, ga=32 * eps(tag) * 16 if grad else None)
            out.torch("matmul", name + "_whole", [whole(tag, -3, 3, *sx), whole(tag, -3, 3, *sy)], torch.matmul)
        for name, (sx, sy) in {"dot": ((17,), (17,)), "matrix": ((3, 4), (4, 2))}.items():
            out.torch("dot", name, [whole(tag, -3, 3, *sx), whole(tag, -3, 3, *sy)], torch.matmul, grad=grad)
        out.torch("outer", "random", [uni(tag, -3, 3, 7), uni(tag, -3, 3, 5)], torch.outer, grad=grad)
        w, b = grid(tag, -2, 2, 5, 7), grid(tag, -1, 1, 5)
        tol = dict(u=1.02 if tag in HALF else 2, a=8 * eps(acc(tag)) * 28, grad=grad, ga=32 * eps(tag) * 16 if grad else None)  # halves: the product is rounded, then the sum
        for name, shape in (("matrix", (3, 7)), ("vector", (7,)), ("batch", (2, 3, 7))):
            out.torch("linear", name, [grid(tag, -2, 2, *shape), w, b], F.linear, par="has=bias", **tol)
            out.torch("linear", name + "_plain", [grid(tag, -2, 2, *shape), w], F.linear, **tol)
    # strided operands
    for name, vx, vy in (("nt", (("T", (1, 0)),), ()), ("tn", (), (("T", (1, 0)),)), ("tt", (("T", (1, 0)),), (("T", (1, 0)),)), ("flip", (("F", (1,)),), (("S", ((-1, None, -1), (0, None, 1))),))):
        sx, sy = ((5, 3) if vx and vx[0][0] == "T" else (3, 5)), ((4, 5) if vy and vy[0][0] == "T" else (5, 4))
        out.torch("matmul", name, [In("f32", whole("f32", -3, 3, *sx).a, *vx), In("f32", whole("f32", -3, 3, *sy).a, *vy)], torch.matmul, grad=seed)
    for tag in IN:  # integers wrap in their own type
        x, y = whole(tag, 0 if tag in UNSIGNED else -100, 100, 3, 7), whole(tag, 0 if tag in UNSIGNED else -100, 100, 7, 2)
        out.case("matmul", "int", [x, y], x.np() @ y.np())
    x, y = whole("i32", -9, 9, 5), whole("i32", -9, 9, 5)
    out.case("dot", "int", [x, y], np.dot(x.np(), y.np()))
    long = [whole("f16", 1, 1, 3000), whole("f16", 1, 1, 3000)]
    out.torch("dot", "long", long, torch.dot)


# ---- moves --------------------------------------------------------------------------------------------------
def move(op, variant, shape, par, np_fn, t_fn, more=()):
    """A move of one array, in types of every size and kind; gradients in f32 and f64."""
    for tag in ("f32", "f64", "f16", "bf16", "i32", "u8", "i64", "bool") + tuple(more):
        x = whole(tag, 0, 9, *shape) if tag not in FLOATS else grid(tag, -9, 9, *shape)
        if tag in ("f32", "f64"):
            out.torch(op, variant, [x], t_fn, par=par, grad=seed, want=np_fn(x.np()))
        else:
            out.case(op, variant, [x], np_fn(x.np()), par=par)


def commas(v):
    return ",".join(map(str, v))


def slices_par(v):
    return "slices=" + ",".join("%d/%s/%d" % (b, "e" if e is None else e, s) for b, e, s in v)


def moves():
    for name, shape, to in (("flat", (3, 5), (15,)), ("split", (12,), (2, 3, 2)), ("minus1", (3, 4, 2), (4, -1)), ("rank0", (1,), ()), ("from_rank0", (), (1, 1)), ("ones", (3, 1, 5), (1, 5, 3)), ("empty", (0, 3), (3, 0)), ("axes6", (4, 6), (2, 2, 1, 3, 2, 1))):
        move("reshape", name, shape, "dims=" + commas(to), lambda x: x.reshape(to), lambda t: t.reshape(to))
    for name, shape, order in (("swap", (3, 5), (1, 0)), ("rotate", (2, 3, 4), (2, 0, 1)), ("same", (2, 3), (0, 1)), ("negative", (2, 3, 4), (-1, 0, -2)), ("axes5", (2, 1, 3, 2, 2), (4, 2, 0, 3, 1)), ("rank0", (), ())):
        move("permute", name, shape, "axes=" + commas(order), lambda x: x.transpose(order), lambda t: t.permute(order))
    for name, shape, a, b in (("matrix", (3, 5), 0, 1), ("last_two", (2, 3, 4), -1, -2), ("outer", (2, 3, 4), 0, 2), ("same", (2, 3), 1, 1)):
        move("transpose", name, shape, "a=%d b=%d" % (a, b), lambda x: x.swapaxes(a, b), lambda t: t.transpose(a, b))
    for name, shape, to in (("column", (3, 1), (3, 5)), ("front", (5,), (2, 3, 5)), ("keep", (1, 4), (3, -1)), ("rank0", (), (2, 3)), ("both", (1, 3, 1), (2, 3, 4)), ("none", (1, 3), (0, 3))):
        move("expand", name, shape, "dims=" + commas(to), lambda x: np.broadcast_to(x, tuple(x.shape[i - len(to)] if d < 0 else d for i, d in enumerate(to))), lambda t: t.expand(to))
    for name, shape, v in (
        ("head", (7,), ((0, 3, 1),)), ("tail", (7,), ((-3, None, 1),)), ("step", (13,), ((1, 12, 3),)), ("reverse", (7,), ((-1, None, -1),)), ("reverse_step", (13,), ((-2, 2, -3),)), ("reverse_part", (7,), ((5, 1, -1),)),
        ("first_axis", (5, 3), ((1, 4, 1),)), ("both", (5, 7), ((4, None, -2), (1, -1, 2))), ("empty", (5,), ((3, 3, 1),)), ("empty_beyond", (5,), ((9, 12, 1),)), ("clipped", (5,), ((-9, 99, 1),)), ("one", (5, 4), ((2, 3, 1), (-1, None, 1))),
        ("axes5", (2, 3, 2, 4, 3), ((0, None, 1), (0, None, 2), (-1, None, -1), (1, 3, 1), (2, 0, -1))), ("step_past", (7,), ((2, None, 10),)), ("crossed", (7,), ((5, 2, 1),)),
    ):
        i = In("f32", np.zeros(shape), ("S", v))
        move("slice", name, shape, slices_par(v), lambda x: x[tuple(slice(b, e, s) for b, e, s in v)], i.torch)
    for name, shape, pads in (("vector", (5,), (2, 1)), ("matrix", (3, 4), (1, 0, 0, 2)), ("crop", (5, 4), (-1, -2, -1, 0)), ("mixed", (3, 5), (2, -1, -2, 3)), ("first_only", (3, 4), (1, 1)), ("none", (3,), (0, 0)), ("to_empty", (3,), (-1, -2)), ("of_empty", (0, 2), (1, 2, 0, 0))):
        for value in (0, 2):
            def np_pad(x):
                w = [(pads[2 * i], pads[2 * i + 1]) if 2 * i < len(pads) else (0, 0) for i in range(x.ndim)]
                x = x[tuple(slice(-min(b, 0), x.shape[i] + min(e, 0)) for i, (b, e) in enumerate(w))]
                return np.pad(x, [(max(b, 0), max(e, 0)) for b, e in w], constant_values=value)
            def t_pad(t):  # PyTorch counts pairs from the last axis
                w = [list(pads[2 * i : 2 * i + 2]) or [0, 0] for i in range(t.dim())]
                return F.pad(t, [n for pair in reversed(w) for n in pair], value=value)
            move("pad", name + ("_value" if value else ""), shape, "pads=%s value=%d" % (commas(pads), value), np_pad, t_pad)
    for tag, v in (("f32", np.nan), ("f32", -np.inf), ("f16", -np.inf)):
        x = grid(tag, -1, 1, 3)
        out.case("pad", "value_%s" % ("nan" if np.isnan(v) else "inf"), [x], np.pad(x.np(), (1, 2), constant_values=v), par="pads=1,2 value=%s" % v)
    for name, shape, axes in (("vector", (7,), (0,)), ("first", (3, 5), (0,)), ("both", (3, 5), (0, 1)), ("negative", (2, 3, 4), (-1,)), ("middle", (2, 3, 4), (1,)), ("one", (1, 3), (0,)), ("empty", (0, 3), (0, 1))):
        move("flip", name, shape, "axes=" + commas(axes), lambda x: np.flip(x, axes), lambda t: t.flip(axes))
    move("squeeze", "axis", (3, 1, 5), "axis=1", lambda x: x.squeeze(1), lambda t: t.squeeze(1))
    move("squeeze", "negative", (3, 1), "axis=-1", lambda x: x.squeeze(-1), lambda t: t.squeeze(-1))
    move("squeeze", "all", (1, 3, 1, 2, 1), "", lambda x: x.squeeze(), lambda t: t.squeeze())
    for axis in (0, 1, 2, -1, -3):
        move("unsqueeze", "axis%d" % axis, (3, 5), "axis=%d" % axis, lambda x: np.expand_dims(x, axis), lambda t: t.unsqueeze(axis))
    move("unsqueeze", "rank0", (), "axis=0", lambda x: x.reshape(1), lambda t: t.unsqueeze(0))
    for name, shape, a, b in (("all", (2, 3, 4), 0, -1), ("tail", (2, 3, 4), 1, 2), ("head", (2, 3, 4), 0, 1), ("single", (2, 3), 1, 1)):
        move("flatten", name, shape, "first=%d last=%d" % (a, b), lambda x: torch.from_numpy(np.array(x)).flatten(a, b).numpy(), lambda t: t.flatten(a, b))
    for name, shape, times in (("vector", (5,), (3,)), ("matrix", (2, 3), (2, 2)), ("front", (3,), (2, 1, 2)), ("none", (3,), (0,)), ("once", (2, 3), (1, 1)), ("rank0", (), (4,))):
        move("repeat", name, shape, "times=" + commas(times), lambda x: np.tile(x, times), lambda t: t.repeat(times))
    for name, shape, axis, start, size in (("head", (7, 3), 0, 0, 4), ("tail", (3, 7), -1, 4, 3), ("none", (5,), 0, 2, 0), ("from_end", (7,), 0, -3, 2)):
        move("narrow", name, shape, "axis=%d start=%d size=%d" % (axis, start, size), lambda x: torch.from_numpy(np.array(x)).narrow(axis, start, size).numpy(), lambda t: t.narrow(axis, start, size))
    for name, shape, axis, at in (("row", (5, 3), 0, 2), ("column", (5, 3), 1, -1), ("vector", (5,), 0, 0), ("middle", (2, 3, 4), 1, 1)):
        move("select", name, shape, "axis=%d at=%d" % (axis, at), lambda x: np.take(x, at, axis), lambda t: t.select(axis, at))
    for tag in ALL:
        x = whole(tag, 0, 5, 2, 3)
        for op, v in (("zeros_like", 0), ("ones_like", 1), ("full_like", 5)):
            if op != "full_like" or tag != "bool":
                out.case(op, "matrix", [x], np.full((2, 3), v), par="value=5" if op == "full_like" else "")
    move("contiguous", "plain", (3, 5), "", lambda x: x, lambda t: t * 1)
    x = In("f32", grid("f32", -9, 9, 3, 5).a, ("T", (1, 0)))
    out.torch("contiguous", "transposed", [x], lambda t: t * 1, grad=seed)
    x = grid("f32", -9, 9, 7)
    out.torch("detach", "no_gradient", [x], lambda t: t.detach() + 0 * t, grad=seed)
    joins()


def joins():
    for tag in ("f32", "f64", "f16", "i32", "u8", "bool"):
        make = (lambda *s: grid(tag, -9, 9, *s)) if tag in FLOATS else (lambda *s: whole(tag, 0, 9, *s))
        for op, np_fn, t_fn, cases in (
            ("cat", np.concatenate, torch.cat, (("first", ((2, 3), (1, 3), (4, 3)), 0), ("last", ((2, 3), (2, 1)), -1), ("middle", ((2, 1, 2), (2, 3, 2)), 1), ("one", ((5,),), 0), ("with_empty", ((2, 3), (0, 3), (1, 3)), 0), ("all_empty", ((0,), (0,)), 0), ("many", ((1,),) * 17, 0))),
            ("stack", np.stack, torch.stack, (("front", ((3, 2),) * 3, 0), ("middle", ((3, 2),) * 2, 1), ("last", ((3, 2),) * 2, -1), ("scalars", ((),) * 4, 0), ("one", ((3,),), 1))),
        ):
            for name, shapes, axis in cases:
                ins = [make(*s) for s in shapes]
                par = "axis=%d" % axis
                if tag in ("f32", "f64"):
                    out.torch(op, name, ins, lambda *t: t_fn(t, axis), par=par, grad=seed)
                else:
                    out.case(op, name, ins, np_fn([i.np() for i in ins], axis), par=par)
    mixed = [In("f32", grid("f32", -9, 9, 5, 3).a, ("T", (1, 0))), In("f32", grid("f32", -9, 9, 3, 5).a, ("F", (0,)))]
    out.torch("cat", "views", mixed, lambda *t: torch.cat(t, 1), par="axis=1", grad=seed)


# ---- by index -----------------------------------------------------------------------------------------------
def index(n, *shape, tag="i64"):
    return In(tag, rng.integers(0, n, shape))


def indexing():
    for tag in ("f32", "f64", "f16", "bf16", "i32", "u8", "i64", "bool"):
        make = (lambda *s: grid(tag, -9, 9, *s)) if tag in FLOATS else (lambda *s: whole(tag, 0, 9, *s))
        grad = seed if tag in ("f32", "f64") else None
        for name, shape, axis, ishape in (("first", (5, 3), 0, (4, 3)), ("last", (3, 5), -1, (3, 7)), ("middle", (2, 5, 3), 1, (2, 2, 3)), ("smaller", (3, 5), 1, (2, 2)), ("vector", (7,), 0, (13,)), ("none", (3, 5), 1, (3, 0))):
            x, i = make(*shape), index(shape[axis], *ishape)
            out.torch("gather", name, [x, i], lambda t, j: torch.gather(t, axis, j), par="axis=%d" % axis, grad=grad)
        for name, shape, axis, ishape in (("rows", (5, 3), 0, (4,)), ("columns", (3, 5), 1, (7,)), ("table", (5, 3), 0, (2, 3)), ("scalar", (5, 3), 0, ()), ("middle", (2, 5, 3), -2, (2, 2)), ("none", (5, 3), 0, (0,))):
            x, i = make(*shape), index(shape[axis], *ishape)
            want = np.take(x.np(), i.np(), axis=axis)
            fn = lambda t, j: t.index_select(axis, j.reshape(-1)).reshape(want.shape)
            out.torch("take", name, [x, i], fn, par="axis=%d" % axis, grad=grad, want=want)
        if tag == "bool":
            continue
        for name, shape, axis, ishape in (("first", (5, 3), 0, (7, 3)), ("last", (3, 5), -1, (3, 9)), ("smaller", (3, 5), 0, (2, 4)), ("vector", (5,), 0, (17,)), ("none", (3,), 0, (0,))):
            x, i, s = whole(tag, 0, 5, *shape), index(shape[axis], *ishape), whole(tag, 0, 5, *ishape)  # whole numbers: any order of addition
            out.torch("scatter_add", name, [x, i, s], lambda t, j, v: t.scatter_add(axis, j, v), par="axis=%d" % axis, grad=grad)
    for tag in ("i32", "u8", "i8"):  # any integer type may be an index
        x = grid("f32", -9, 9, 7)
        i = index(7, 5, tag=tag)
        out.case("take", "index_type", [x, i], x.np()[i.np().astype(np.int64)], par="axis=0")


# ---- numbers made from nothing ------------------------------------------------------------------------------
def creation():
    for tag in IN + FL:
        for name, a, b, s in (("up", 0, 7, 1), ("step", 1, 20, 3), ("one", 5, 6, 1), ("none", 3, 3, 1)):
            out.case("arange", name + "_" + tag, [], np.arange(a, b, s), par="dtype=%s start=%d stop=%d step=%d" % (tag, a, b, s), out=tag)
        for name, n, m in (("square", 5, 5), ("wide", 3, 7), ("tall", 7, 2), ("one", 1, 1), ("none", 0, 3)):
            out.case("eye", name + "_" + tag, [], np.eye(n, m), par="dtype=%s n=%d m=%d" % (tag, n, m), out=tag)
        out.case("full", "matrix_" + tag, [], np.full((3, 5), 7), par="dtype=%s value=7 dims=3,5" % tag, out=tag)
        out.case("full", "rank0_" + tag, [], np.array(3), par="dtype=%s value=3 dims=" % tag, out=tag)
    for tag in SIGNED + FL:
        out.case("arange", "down_" + tag, [], np.arange(10, -10, -3), par="dtype=%s start=10 stop=-10 step=-3" % tag, out=tag)
    for tag in FL:
        # start + i*step, two roundings of numbers up to 2
        out.case("arange", "fraction_" + tag, [], np.arange(-1, 2, 0.25), par="dtype=%s start=-1 stop=2 step=0.25" % tag, out=tag)
        out.case("arange", "tenth_" + tag, [], np.arange(0, 1, 0.1), par="dtype=%s start=0 stop=1 step=0.1" % tag, out=tag, u=1, a=2 * eps(tag))
        for name, a, b, n in (("unit", 0, 1, 11), ("signed", -3, 3, 13), ("down", 5, -5, 6), ("one", 2, 9, 1), ("none", 0, 1, 0), ("two", 2, 9, 2)):
            want = np.linspace(a, b, n)
            out.case("linspace", name + "_" + tag, [], want, par="dtype=%s start=%d stop=%d n=%d" % (tag, a, b, n), out=tag, u=1, a=2 * eps(tag) * max(abs(a), abs(b)) if n > 2 else 0)
    for tag, v in (("f32", np.nan), ("f32", -0.0), ("f16", np.inf), ("f64", 0.1), ("bf16", -2.5)):
        out.case("full", "value_%s_%s" % (tag, str(v).strip("-").replace(".", "_")), [], np.full(3, v), par="dtype=%s value=%r dims=3" % (tag, float(v)), out=tag)


# ---- promotion ----------------------------------------------------------------------------------------------
TORCH = {"bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
TAG = {v: k for k, v in TORCH.items()}


def promoted(a, b):
    try:
        return TAG[torch.promote_types(TORCH[a], TORCH[b])]
    except RuntimeError:  # PyTorch has no answer for unsigned types wider than 8 bits beside signed ones
        return wide_unsigned(a, b)


def wide_unsigned(a, b):
    """The least signed type that holds both, as NumPy; no integer holds u64 and a sign: f32 (NumPy: float64)."""
    t = np.promote_types(np_type(a), np_type(b))
    return "f32" if t.kind == "f" else [k for k, v in INTS.items() if v == t][0]


def promotion():
    for a in ALL:
        for b in ALL:
            t = promoted(a, b)
            ins = [In(a, [1, 0, 1]), In(b, [1])]
            out.case("add", "promote_%s_%s" % (a, b), ins, np.array([1, 0, 1]) if t == "bool" else [2, 1, 2], out=t)
            out.case("lt", "promote_%s_%s" % (a, b), ins, np.array([0, 1, 0]), out="bool")
            out.case("where", "promote_%s_%s" % (a, b), [In("bool", [0, 1, 1])] + ins, np.array([1, 0, 1]), out=t)
            d = t if t in FLOATS else "f32"
            out.case("div", "promote_%s_%s" % (a, b), ins, np.array([1, 0, 1]), out=d)
    for a, b in (("i32", "f32"), ("u8", "i64"), ("f16", "bf16"), ("bool", "f64")):
        ins = [In(a, [1, 0]), In(b, [0, 1])]
        t = promoted(a, b)
        out.case("cat", "promote_%s_%s" % (a, b), ins, np.array([1, 0, 0, 1]), par="axis=0", out=t)
        out.case("matmul", "promote_%s_%s" % (a, b), ins, np.array(0), out=t)


# ---- what must be refused -----------------------------------------------------------------------------------
def refusals():
    f = lambda *s: In("f32", np.ones(s))
    for name, op, ins, par in (
        ("shapes", "add", [f(3), f(4)], ""), ("shapes", "mul", [f(2, 3), f(3, 2)], ""), ("inner", "matmul", [f(2, 3), f(4, 2)], ""), ("rank0", "matmul", [f(), f(3)], ""), ("batch", "matmul", [f(2, 3, 4), f(3, 4, 5)], ""),
        ("count", "reshape", [f(2, 3)], "dims=4"), ("two_unknown", "reshape", [f(2, 3)], "dims=-1,-1"), ("axis", "sum", [f(2, 3)], "axes=2"), ("twice", "sum", [f(2, 3)], "axes=0,-2"), ("axis", "softmax", [f(2, 3)], "axis=5"),
        ("axes", "permute", [f(2, 3)], "axes=0,0"), ("few", "permute", [f(2, 3)], "axes=0"), ("size", "expand", [f(2, 3)], "dims=2,4"), ("not_one", "squeeze", [f(2, 3)], "axis=0"), ("other_axes", "cat", [f(2, 3), f(2, 4)], "axis=0"), ("shapes", "stack", [f(2, 3), f(2, 4)], "axis=0"),
        ("float_index", "gather", [f(3), f(2)], "axis=0"), ("rank", "gather", [f(3, 2), In("i64", [0, 1])], "axis=0"), ("float", "bitwise_and", [f(3), f(3)], ""), ("float", "bitwise_not", [f(3)], ""), ("float", "shl", [f(3), f(3)], ""),
        ("width", "bitcast", [f(3)], "dtype=i16"), ("too_many", "slice", [f(3)], "slices=0/1/1,0/1/1"), ("rank", "outer", [f(2, 2), f(2)], ""), ("features", "linear", [f(2, 3), f(4, 5)], ""), ("axis", "argmax", [f(2, 3)], "axis=2"), ("cropped_away", "pad", [f(3)], "pads=-2,-2 value=0"),
    ):
        out.refuse(op, "refuse_" + name, ins, par)


def main():
    for part in (unary, unary_int, binary_float, binary_int, binary_bool, numbers, ternary, casts, reduce_ints, reduce_floats, reduce_empty, variance, arg_and_scan, softmax_and_norms, products, moves, indexing, creation, promotion, refusals):
        part()
    variants = sum(len([n for n in v if not n.startswith("promote_")]) for v in out.ops.values())
    head = "# Written by make_ops.py (numpy %s, torch %s): %d ops, %d ops-and-variants, %d cases, %d numbers to compare. ops_lib.py has the layout.\n" % (
        np.__version__, torch.__version__.split("+")[0], len(out.ops), variants, len(out.names), out.elements)
    out.save(os.path.join(HERE, "ops.txt"), head)
    print(head, end="")


if __name__ == "__main__":
    main()
