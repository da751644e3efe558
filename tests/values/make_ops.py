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
  PRIM  u=2.5 / 0.51    functions of docs/math.md: 2 ulp, half an ulp more because the stored number is a double; 16-bit floats
                        compute in float32 and round once
  reductions            the bound of summation in any order: (n-1) eps sum|x|, with eps of the type that accumulates
  chains of operations  stated at the case, with the reason
  a="z"                 a zero may have either sign

Where Ridge differs from the outside, by docs/semantics.md, and this script says so at the case:
  the sign of a zero is that of C's functions where docs/math.md has the function and the operation is one of IEEE 754;
      chains (expm1, log1p, sinh, atan ..), remainders, the greater of 0 and -0, and sums do not promise it; sign(-0) is -0
  integer division and remainder by zero give 0 (NumPy: 0 with a warning, PyTorch: an error)
  shifts past the width give 0, or -1 for a negative shifted right (PyTorch and C: undefined)
  a float cast to an integer saturates and NaN gives 0 (NumPy, PyTorch: undefined)
"""


import numpy as np
import torch
import torch.nn.functional as F

from ops_elementwise import *
from ops_lib import *
from ops_moves import *
from ops_reduce import *



# ---- promotion ----------------------------------------------------------------------------------------------
TORCH = {
    "bool": torch.bool,
    "i8": torch.int8,
    "i16": torch.int16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "u16": torch.uint16,
    "u32": torch.uint32,
    "u64": torch.uint64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
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
            out.case("add", "promote_%s_%s" % (a, b), ins, np.array([1, 1, 1]) if t == "bool" else [2, 1, 2], out=t)
            out.case("lt", "promote_%s_%s" % (a, b), ins, np.array([0, 1, 0]), out="bool")
            out.case("where", "promote_%s_%s" % (a, b), [In("bool", [0, 1, 1])] + ins, np.array([1, 0, 1]), out=t)
            d = t if t in FLOATS else "f32"
            out.case("div", "promote_%s_%s" % (a, b), ins, np.array([1, 0, 1]), out=d)
    for a, b in (("i32", "f32"), ("u8", "i64"), ("f16", "bf16"), ("bool", "f64")):
        ins = [In(a, [1, 0]), In(b, [0, 1])]
        t = promoted(a, b)
        out.case("cat", "promote_%s_%s" % (a, b), ins, np.array([1, 0, 0, 1]), par="axis=0", out=t)
        out.case("matmul", "promote_%s_%s" % (a, b), ins, np.array(0), out=t)


# ---- inputs where a careless program goes wrong ---------------------------------------------------------------
def half_range():
    """Intermediate values that f16 cannot hold: PyTorch computes these in float32 and rounds at the end, and so does Ridge."""
    out.torch("mean", "no_overflow", [In("f16", [[60.0], [-60]], ("E", (2, 3000)))], lambda t: t.mean(1), par="axes=1")
    big = In("f16", [[300, 400, -300, 500], [1000, 2000, 3000, -4000]])
    out.torch("std", "no_overflow", [big], lambda t: t.std(1), par="axes=1", u=0.51)
    out.torch("var", "no_overflow", [In("f16", [[900, 910, 890, 905]])], lambda t: t.var(1), par="axes=1", u=0.51)
    out.torch("layernorm", "no_overflow", [big], lambda t: F.layer_norm(t, (4,), None, None, 1e-5), par="n=1 eps=1e-5", u=0.52)
    out.torch("rmsnorm", "no_overflow", [big], lambda t: F.rms_norm(t, (4,), None, 1e-6), par="eps=1e-6", u=0.52)
    out.torch("matmul", "no_overflow", [In("f16", [[300, 300, 1]]), In("f16", [[300], [-300], [2]])], torch.matmul)
    out.torch("prod", "no_overflow", [In("f16", [300, 300, 0.0009765625])], torch.prod, u=0.51)
    out.torch("sum", "no_overflow", [In("f16", [60000, 60000, -60000, -60000, 3])], torch.sum)
    out.torch(
        "cumsum", "no_stall", [In("f16", [1.0], ("E", (2060,)), ("S", ((0, None, 1),)))], lambda t: t.cumsum(0), par="axis=0"
    )
    out.torch("logsumexp", "no_overflow_half", [In("f16", [11.0] * 8)], lambda t: t.logsumexp(0), par="axes=0", u=0.52)
    out.torch("softmax", "no_overflow_half", [In("f16", np.full(7, 60000.0))], lambda t: t.softmax(0), par="axis=0", u=0.51)
    for tag in HALF:
        for op, fn in (("add", torch.add), ("mul", torch.mul), ("div", torch.div), ("maximum", torch.maximum)):
            out.torch(op, "grad_half", [uni(tag, -4, 4, 3, 5), uni(tag, 1, 3, 3, 5)], fn, grad=seed, gu=2)
        for op in ("relu", "exp", "tanh", "sigmoid", "gelu", "silu", "sqrt"):
            u, a = unary_tol(UNARY[op][3], tag)
            # the gradient is a chain of rounded 16-bit floats: about three roundings
            out.torch(
                op,
                "grad_half",
                [uni(tag, 0.25, 3, 7)],
                t_unary.get(op) or getattr(torch, op),
                u=u,
                a=a,
                grad=seed,
                gu=2,
                ga=3 * eps(tag),
            )
        out.torch(
            "sum",
            "grad_half",
            [uni(tag, -4, 4, 3, 5)],
            lambda t: t.sum(1),
            par="axes=1",
            u=0.51,
            a=80 * eps("f32"),
            grad=seed,
            gu=0.51,
        )
        out.torch(
            "matmul",
            "grad_half",
            [whole(tag, -3, 3, 3, 5), whole(tag, -3, 3, 5, 2)],
            torch.matmul,
            a="z",
            grad=seed,
            gu=0.51,
            ga=1e-6,
        )
        out.torch(
            "softmax",
            "grad_half",
            [uni(tag, -2, 2, 3, 5)],
            lambda t: t.softmax(1),
            par="axis=1",
            u=0.51,
            a=20 * eps("f32"),
            grad=seed,
            gu=4,
            ga=8 * eps(tag),
        )


def kinks():
    """Gradients where a function has a corner: PyTorch's choice (docs/semantics.md)."""
    for tag in ("f32", "f64"):
        x = In(tag, [-6, -3, -2, -1, -0.0, 0, 1, 2, 2.5, 3, 6])
        for op in (
            "abs",
            "relu",
            "relu6",
            "sign",
            "floor",
            "ceil",
            "round",
            "trunc",
            "softplus",
            "softsign",
            "hardswish",
            "logsigmoid",
            "gelu",
            "silu",
            "mish",
            "erf",
            "tanh",
            "sigmoid",
            "square",
            "expm1",
            "sinh",
            "atan",
            "tan",
            "sin",
        ):
            fn = t_unary.get(op) or getattr(torch, op)
            u, a = unary_tol(UNARY[op][3], tag)
            guess = fn(torch.from_numpy(x.np())).numpy()
            out.torch(op, "grad_kinks", [x], fn, u=u, a=a, grad=seed, want=precise(op, x.np(), guess))
        for op, par, fn in (
            ("leaky_relu", "slope=0.25", lambda t: F.leaky_relu(t, 0.25)),
            ("elu", "alpha=1.5", lambda t: F.elu(t, 1.5)),
            ("hardtanh", "lo=-2 hi=2.5", lambda t: F.hardtanh(t, -2, 2.5)),
        ):
            out.torch(op, "grad_kinks", [x], fn, par=par, u=4.5, a="z", grad=seed)
        # an x that equals a bound keeps its gradient; PyTorch had that rule too, now it is 0 for numbers and 1/2 for tensors
        keep = lambda t, lo, hi: torch.where((t >= lo) & (t <= hi), t, t.detach().clamp(-2, 2.5))
        out.torch("clamp", "grad_kinks", [x, In(tag, -2), In(tag, 2.5)], keep, grad=seed, wrt=(0,))
        pair = [In(tag, [1, 2, 3, 0, -1]), In(tag, [1, 3, 2, 0, -1])]
        for op, fn in (("maximum", torch.maximum), ("minimum", torch.minimum)):
            out.torch(op, "grad_ties", pair, fn, grad=seed)
        out.torch(
            "pow",
            "grad_negative_base",
            [In(tag, [-1.5, -2, 3, 0, 0, -1]), In(tag, [2, 3, -1, 2, 1, 0])],
            torch.pow,
            u=4.5,
            grad=seed,
            wrt=(0,),
        )
        out.torch("pow", "grad_zero_base", [In(tag, [0.0, 0, 0]), In(tag, [1, 2, 3])], torch.pow, grad=seed)
        out.torch("pow", "number_2_at_zero", [In(tag, [0.0, -1, 2])], lambda t: t**2, par="y=2", grad=seed)
        for op, zeros in (
            ("prod", [[2, 0, 3, 4], [0, 5, 0, 2], [1, 2, 3, 4]]),
            ("cumprod", [[2, 0, 3, 4], [0, 5, 0, 2], [1, 2, 3, 4]]),
        ):
            fn = (lambda t: t.prod(1)) if op == "prod" else (lambda t: t.cumprod(1))
            out.torch(op, "grad_zeros", [In(tag, zeros)], fn, par=("axes" if op == "prod" else "axis") + "=1", grad=seed)
        # masked attention: what is minus infinity has no weight and no gradient
        mask = np.array([[-np.inf, 0, 1, 2], [-np.inf, -np.inf, 1, 0.5]])
        out.torch("softmax", "grad_masked", [In(tag, mask)], lambda t: t.softmax(1), par="axis=1", u=4, grad=seed)
        out.torch(
            "logsumexp", "grad_masked", [In(tag, mask)], lambda t: t.logsumexp(1), par="axes=1", u=4, a=8 * eps(tag), grad=seed
        )
        out.torch(
            "logaddexp", "grad_masked", [In(tag, [-np.inf, 2, 1]), In(tag, [1, -np.inf, 1])], torch.logaddexp, u=4, grad=seed
        )
        out.torch(
            "where",
            "grad_hides_nan",
            [In("bool", [0, 1, 1]), In(tag, [np.nan, 1, np.inf]), In(tag, [1, np.nan, 2])],
            torch.where,
            out=tag,
            grad=seed,
        )
        one = In(tag, [[1.0]], ("E", (3, 4)))
        out.torch("sum", "grad_expanded", [one], lambda t: t.sum(1), par="axes=1", grad=seed)
    for tag in INTS:
        c = int_corners(tag)
        for op, fn in (("argmax", np.argmax), ("argmin", np.argmin)):
            out.case(op, "int_corners", [c], fn(c.np()), out="i64")
        out.case("cummax", "int_corners", [c], np.maximum.accumulate(c.np()), par="axis=0")
        out.case(
            "matmul",
            "int_wrap",
            [In(tag, c.a.reshape(1, -1)), In(tag, c.a.reshape(-1, 1))],
            c.np().reshape(1, -1) @ c.np().reshape(-1, 1),
        )
        out.case("cumsum", "int_wrap", [c], np.cumsum(c.np().astype(np_type(sum_type(tag)))), par="axis=0", out=sum_type(tag))
    for tag in ("i64", "i32"):  # an error on REF, clamped elsewhere (docs/semantics.md)
        x = grid("f32", -9, 9, 5)
        i = In(tag, [0, 5, -1, 4, 99])
        for op in ("take", "gather"):
            out.case(op, "out_of_range", [x, i], x.np()[np.clip(i.np(), 0, 4)], par="axis=0")


# ---- what must be refused -----------------------------------------------------------------------------------
def refusals():
    f = lambda *s: In("f32", np.ones(s))
    for name, op, ins, par in (
        ("shapes", "add", [f(3), f(4)], ""),
        ("shapes", "mul", [f(2, 3), f(3, 2)], ""),
        ("inner", "matmul", [f(2, 3), f(4, 2)], ""),
        ("rank0", "matmul", [f(), f(3)], ""),
        ("batch", "matmul", [f(2, 3, 4), f(3, 4, 5)], ""),
        ("count", "reshape", [f(2, 3)], "dims=4"),
        ("two_unknown", "reshape", [f(2, 3)], "dims=-1,-1"),
        ("axis", "sum", [f(2, 3)], "axes=2"),
        ("twice", "sum", [f(2, 3)], "axes=0,-2"),
        ("axis", "softmax", [f(2, 3)], "axis=5"),
        ("axes", "permute", [f(2, 3)], "axes=0,0"),
        ("few", "permute", [f(2, 3)], "axes=0"),
        ("size", "expand", [f(2, 3)], "dims=2,4"),
        ("not_one", "squeeze", [f(2, 3)], "axis=0"),
        ("other_axes", "cat", [f(2, 3), f(2, 4)], "axis=0"),
        ("shapes", "stack", [f(2, 3), f(2, 4)], "axis=0"),
        ("float_index", "gather", [f(3), f(2)], "axis=0"),
        ("rank", "gather", [f(3, 2), In("i64", [0, 1])], "axis=0"),
        ("float", "bitwise_and", [f(3), f(3)], ""),
        ("float", "bitwise_not", [f(3)], ""),
        ("float", "shl", [f(3), f(3)], ""),
        ("width", "bitcast", [f(3)], "dtype=i16"),
        ("too_many", "slice", [f(3)], "slices=0/1/1,0/1/1"),
        ("rank", "outer", [f(2, 2), f(2)], ""),
        ("features", "linear", [f(2, 3), f(4, 5)], ""),
        ("axis", "argmax", [f(2, 3)], "axis=2"),
        ("cropped_away", "pad", [f(3)], "pads=-2,-2 value=0"),
    ):
        out.refuse(op, "refuse_" + name, ins, par)


def main():
    for part in (
        unary,
        unary_int,
        binary_float,
        binary_int,
        binary_bool,
        plain_numbers,
        ternary,
        casts,
        reduce_ints,
        reduce_floats,
        reduce_empty,
        variance,
        arg_and_scan,
        softmax_and_norms,
        products,
        moves,
        indexing,
        creation,
        promotion,
        half_range,
        kinks,
        refusals,
    ):
        part()
    variants = sum(len([n for n in v if not n.startswith("promote_")]) for v in out.ops.values())
    out.save("ops", "%d ops-and-variants, %d cases, %d numbers to compare" % (variants, len(out.names), out.elements))


if __name__ == "__main__":
    main()
