"""Cases of elementwise functions: one operand, two, three, plain numbers, casts. See make_ops.py."""

import mpmath as mp
import numpy as np
import torch
import torch.nn.functional as F

from ops_lib import *

# ---- unary --------------------------------------------------------------------------------------------------
m_sig = lambda x: 1 / (1 + mp.exp(-x))
m_softplus = lambda x: mp.log1p(mp.exp(x))
m_phi = lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 if abs(x) < 60 else mp.mpf(x > 0)
t_unary = {
    "recip": torch.reciprocal,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "logsigmoid": F.logsigmoid,
    "silu": F.silu,
    "mish": F.mish,
    "hardswish": lambda x: x * (F.relu6(x + 3) / 6),
    "softsign": F.softsign,
    "relu6": F.relu6,
    "sign": lambda x: torch.where(torch.isnan(x), x, torch.sign(x)),
    "softplus": lambda x: torch.logaddexp(x, torch.zeros(())),
    "bitwise_not": torch.bitwise_not,
}
# The function in 200 bits, where gradients are taken, and the tolerance class:
#   prim  a function of docs/math.md      chain  a few of them, no cancellation: 4 ulp
#   abs   a chain with cancellation: besides 4 ulp, an absolute error of 4 eps (of the greatest intermediate value)
UNARY = {
    "exp": (mp.exp, -3, 3, "prim"),
    "exp2": (lambda x: mp.power(2, x), -3, 3, "prim"),
    "expm1": (mp.expm1, -3, 3, "chain"),
    "log": (mp.log, 0.1, 9, "prim"),
    "log2": (lambda x: mp.log(x, 2), 0.1, 9, "prim"),
    "log10": (mp.log10, 0.1, 9, "prim"),
    "log1p": (mp.log1p, -0.9, 9, "chain"),
    "sin": (mp.sin, -9, 9, "prim"),
    "cos": (mp.cos, -9, 9, "prim"),
    "tan": (mp.tan, -1.4, 1.4, "prim"),
    "sinh": (mp.sinh, -4, 4, "chain"),
    "cosh": (mp.cosh, -4, 4, "chain"),
    "tanh": (mp.tanh, -4, 4, "prim"),
    "asin": (mp.asin, -0.97, 0.97, "chain"),
    "acos": (mp.acos, -0.97, 0.97, "chain"),
    "atan": (mp.atan, -9, 9, "chain"),
    "erf": (mp.erf, -3, 3, "prim"),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), 0.1, 9, "prim"),
    "sigmoid": (m_sig, -6, 6, "prim"),
    "logsigmoid": (lambda x: -m_softplus(-x), -6, 6, "chain"),
    "silu": (lambda x: x * m_sig(x), -6, 6, "chain"),
    "gelu": (lambda x: x * m_phi(x), -5, 5, "abs"),
    "gelu_tanh": (lambda x: x / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))), -5, 5, "abs"),
    "softplus": (m_softplus, -6, 6, "chain"),
    "mish": (lambda x: x * mp.tanh(m_softplus(x)), -6, 6, "chain"),
    "hardswish": (lambda x: x * min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, -5, 5, "chain"),
    "softsign": (lambda x: x / (1 + abs(x)), -9, 9, "chain"),
    "square": (lambda x: x * x, -9, 9, "exact"),
    "sqrt": (mp.sqrt, 0.1, 9, "exact"),
    "recip": (lambda x: 1 / x, 0.2, 9, "exact"),
    "neg": (lambda x: -x, -9, 9, "exact"),
    "abs": (abs, -9, 9, "exact"),
    "relu": (None, -9, 9, "exact"),
    "relu6": (None, -3, 9, "exact"),
    "sign": (None, -9, 9, "either"),
    "floor": (None, -9, 9, "exact"),
    "ceil": (None, -9, 9, "exact"),
    "trunc": (None, -9, 9, "exact"),
    "round": (None, -9, 9, "exact"),
}
PREDICATES = ("isnan", "isinf", "isfinite", "logical_not")


def unary_tol(kind, tag):
    if kind in ("exact", "either"):
        return 0, 0 if kind == "exact" else "z"
    u = 2.5 if kind == "prim" else 4.5
    if tag in HALF:  # float32 inside, one rounding at the end
        u = 0.51
    return u, (4 * eps(acc(tag)) if kind == "abs" else "z" if kind == "chain" else 0)


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
            want[i] = float(y) if y != 0 else guess[i]  # mpmath has no -0
    return want


def unary_of(table):
    for op, (_, lo, hi, kind) in table.items():
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
        if kind not in ("exact", "either"):  # an integer argument becomes f32
            for tag in ("i32", "u8", "bool"):
                x = whole(tag, 1, 1, 5) if op in ("asin", "acos", "atanh") else whole(tag, 1, 4, 5)
                guess = fn(torch.from_numpy(x.np().astype(np.float64))).numpy()
                out.case(
                    op,
                    "of_int",
                    [x],
                    precise(op, x.np().astype(np.float64), guess),
                    out="f32",
                    u=unary_tol(kind, "f32")[0],
                    a=unary_tol(kind, "f32")[1],
                )


def unary():
    unary_of(UNARY)
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
    fns = {
        "neg": lambda x: (0 - x).astype(x.dtype),
        "abs": np.abs,
        "sign": np.sign,
        "square": lambda x: x * x,
        "floor": same,
        "ceil": same,
        "trunc": same,
        "round": same,
        "bitwise_not": np.invert,
        "relu": lambda x: np.maximum(x, 0).astype(x.dtype),
        "relu6": lambda x: np.clip(x, 0, 6).astype(x.dtype),
    }
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
    "add": (torch.add, True, "exact"),
    "sub": (torch.sub, True, "exact"),
    "mul": (torch.mul, True, "exact"),
    "div": (torch.div, True, "exact"),
    "floordiv": (torch.floor_divide, False, "mod"),
    "mod": (torch.remainder, True, "mod"),
    "fmod": (torch.fmod, True, "mod"),
    "pow": (torch.pow, True, "pow"),
    "maximum": (torch.maximum, True, "either"),
    "minimum": (torch.minimum, True, "either"),  # of 0 and -0
    "copysign": (torch.copysign, True, "exact"),
    "logaddexp": (torch.logaddexp, True, "abs"),
}
B_BOOL = ("eq", "ne", "lt", "le", "gt", "ge")
B_LOGIC = ("logical_and", "logical_or", "logical_xor")
B_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")


def binary_tol(kind, tag):
    if kind == "exact":
        return 0, 0
    if kind in ("mod", "either"):  # the remainder of two floats is a float: nothing needs to be rounded
        return 0, "z"
    u = 4.5
    if tag in HALF:
        u = 0.51
    return u, (4 * eps(acc(tag)) if kind == "abs" else 0)


# Pairs of shapes that broadcast, and what each is for.
BROADCAST = {
    "row": ((3, 5), (5,)),
    "column": ((3, 5), (3, 1)),
    "both": ((7, 1), (1, 13)),
    "scalar": ((17,), ()),
    "left": ((), (4, 3)),
    "axes5": ((2, 1, 3, 1, 2), (2, 1, 4, 1)),
    "ones": ((1, 1), (1,)),
    "empty": ((0, 3), (1, 3)),
}


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
            out.torch(
                op,
                view,
                [seen("f32", view, grid, lo, 4), seen("f32", "transposed", grid, 0.5, 3)],
                fn,
                u=binary_tol(kind, "f32")[0],
                a=binary_tol(kind, "f32")[1],
                grad=seed if has_grad else None,
            )


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
    fns = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "floordiv": floor_div,
        "mod": lambda x, y: 0 if y == 0 else x % y,
        "fmod": lambda x, y: 0 if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1),
        "maximum": max,
        "minimum": min,
        "bitwise_and": lambda x, y: x & y,
        "bitwise_or": lambda x, y: x | y,
        "bitwise_xor": lambda x, y: x ^ y,
    }
    for tag in IN:
        c = int_corners(tag).a
        for op, fn in fns.items():
            out.case(op, "int_corners", [In(tag, c.reshape(-1, 1)), In(tag, c)], exact_int(tag, fn, c.reshape(-1, 1), c))
        e = np.array([0, 1, 2, 3, 5, 7] + ([-1, -2] if tag in SIGNED else []))
        out.case("pow", "int", [In(tag, c.reshape(-1, 1)), In(tag, e)], exact_int(tag, int_pow, c.reshape(-1, 1), e))
        bits = np_type(tag).itemsize * 8
        n = np.array([0, 1, bits // 2, bits - 1, bits, bits + 1, 100])
        for op, left in (("shl", True), ("shr", False)):
            out.case(
                op, "past_width", [In(tag, c.reshape(-1, 1)), In(tag, n)], exact_int(tag, shift(tag, left), c.reshape(-1, 1), n)
            )
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
    for op, want in (
        ("add", x | y),
        ("mul", x & y),
        ("maximum", x | y),
        ("minimum", x & y),
        ("bitwise_and", x & y),
        ("bitwise_or", x | y),
        ("bitwise_xor", x ^ y),
    ):
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
            fn = {
                "eq": np.equal,
                "ne": np.not_equal,
                "lt": np.less,
                "le": np.less_equal,
                "gt": np.greater,
                "ge": np.greater_equal,
            }.get(op) or getattr(np, op)
            out.case(op, name, [x, y], fn(x.np(), y.np()), out="bool")


def plain_numbers():
    """A plain number as an operand takes the tensor's dtype, unless its kind is higher: an integer beside bool makes i64, a float beside an integer f32."""
    fns = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "lt": np.less,
        "ge": np.greater_equal,
        "eq": np.equal,
    }
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
        for op, text, fn in (
            ("pow", "2", lambda t: t**2),
            ("pow", "3", lambda t: t**3),
            ("pow", "0.5", lambda t: t**0.5),
            ("pow", "-1", lambda t: t**-1),
            ("pow", "0", lambda t: t**0),
            ("pow", "-0.5", lambda t: t**-0.5),
        ):
            out.torch(
                op,
                "number_" + text.replace(".", "_").replace("-", "minus_"),
                [uni(tag, 0.5, 3, 7)],
                fn,
                par="y=" + text,
                u=4.5,
                grad=seed if text != "0" else None,
            )
        out.torch("pow", "number_first", [uni(tag, -3, 3, 7)], lambda t: 2.5**t, par="x=2.5", u=4.5, grad=seed)
        out.torch("mul", "number_grad", [uni(tag, -3, 3, 7)], lambda t: t * 2.5, par="y=2.5", grad=seed)
        x = uni(tag, 1, 3, 7)
        out.torch(
            "div", "number_grad", [x], lambda t: 2.5 / t, par="x=2.5", grad=seed, want=2.5 / x.np()
        )  # PyTorch multiplies by 1/t


# ---- three operands, activations with a parameter -----------------------------------------------------------
def ternary():
    for tag in ALL:
        c = In("bool", rng.integers(0, 2, (3, 1)))
        x, y = whole(tag, 0, 9, 3, 5), whole(tag, 0, 9, 5)
        out.case("where", "broadcast", [c, x, y], np.where(c.np(), x.np(), y.np()), out=tag)
    nan = In("f32", [np.nan, np.inf, -0.0, 1])
    out.case(
        "where", "hides_nan", [In("bool", [0, 0, 1, 1]), nan, In("f32", [1, 2, 3, np.nan])], np.array([1, 2, -0.0, 1]), out="f32"
    )
    for tag in ("f32", "f64"):
        out.torch(
            "where",
            "grad",
            [In("bool", rng.integers(0, 2, (3, 5))), grid(tag, -2, 2, 3, 1), grid(tag, -2, 2, 5)],
            torch.where,
            out=tag,
            grad=seed,
        )
        out.torch(
            "where",
            "scalars",
            [In("bool", rng.integers(0, 2, 7)), grid(tag, -2, 2), grid(tag, -2, 2)],
            torch.where,
            out=tag,
            grad=seed,
        )
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        lo, hi = In(tag, -1.5), In(tag, 2.0)
        out.torch("clamp", "both", [uni(tag, -4, 4, 17), lo, hi], lambda x, l, h: torch.clamp(x, l, h), grad=grad, wrt=(0,))
        out.torch(
            "clamp", "tensors", [uni(tag, -4, 4, 3, 5), grid(tag, -2, -1, 5), grid(tag, 1, 2, 3, 1)], torch.clamp, grad=grad
        )
        out.torch("clamp", "corners", [float_corners(tag), lo, hi], torch.clamp)
        out.torch("clamp", "crossed", [uni(tag, -4, 4, 7), hi, lo], torch.clamp)
        out.torch(
            "clamp", "low_only", [uni(tag, -4, 4, 7), lo], lambda x, l: torch.clamp(x, min=l), par="has=lo", grad=grad, wrt=(0,)
        )
        out.torch(
            "clamp", "high_only", [uni(tag, -4, 4, 7), hi], lambda x, h: torch.clamp(x, max=h), par="has=hi", grad=grad, wrt=(0,)
        )
        # lerp: rounding errors of up to 3 operations on numbers no greater than 4 + 2*8
        out.torch(
            "lerp",
            "random",
            [uni(tag, -4, 4, 17), uni(tag, -4, 4, 17), uni(tag, 0, 1, 17)],
            torch.lerp,
            u=0.51,
            a=24 * eps(acc(tag)),
            grad=grad,
        )
        out.torch(
            "lerp",
            "broadcast",
            [uni(tag, -4, 4, 3, 1), uni(tag, -4, 4, 5), uni(tag, 0, 1)],
            torch.lerp,
            u=0.51,
            a=24 * eps(acc(tag)),
            grad=grad,
        )
        c, r = float_corners(tag), uni(tag, -4, 4, 17)
        for op, par, fn, exact in (
            ("leaky_relu", "slope=0.25", lambda x: F.leaky_relu(x, 0.25), True),
            ("elu", "alpha=1.5", lambda x: F.elu(x, 1.5), False),
            ("hardtanh", "lo=-2 hi=2.5", lambda x: F.hardtanh(x, -2, 2.5), True),
        ):
            u, a = (0, 0) if exact else unary_tol("chain", tag)
            out.torch(op, "random", [r], fn, par=par, u=u, a=a, grad=grad)
            out.torch(op, "corners", [c], fn, par=par, u=u, a=a)
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
            more += [
                1 + 2.0**-8 + 2.0**-40,
                1 + 3 * 2.0**-8 - 2.0**-40,
                1 + 2.0**-11 + 2.0**-40,
                2.0**-25 + 2.0**-50,
                65519.999,
                65520,
                3.4028235677973366e38,
                -200.7,
                127.9,
                255.9,
                -128.9,
                -0.9,
            ]
            x = In(src, np.concatenate([float_corners(src).a, more, [-m for m in more[:32]]]))
        elif src == "bool":
            x = In(src, [0, 1])
        else:
            lo, hi = limits(src)
            more = [
                v
                for k in (8, 11, 12, 16, 24, 25, 31, 32, 53, 54, 63)
                for v in (2**k - 1, 2**k, 2**k + 1, -(2**k) - 1)
                if lo <= v <= hi
            ]
            more += [
                v
                for v in (2**54 + 2**30 + 1, 2**62 + 2**54 + 1, 2**63 + 2**39 + 1, 2**25 + 2, 2**25 + 6, 257, 259, -257)
                if lo <= v <= hi
            ]
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
