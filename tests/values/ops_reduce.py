"""Cases of reductions, scans, softmax, norms and products. See make_ops.py."""

import numpy as np
import torch
import torch.nn.functional as F

from ops_lib import *

# ---- reductions ---------------------------------------------------------------------------------------------
# Which axes of which shape: the first, one between, the last, several, all, sizes of 1, many axes, a strided input.
AXES = {
    "all": ((3, 4, 5), None),
    "first": ((3, 4, 5), (0,)),
    "middle": ((3, 4, 5), (1,)),
    "last": ((3, 4, 5), (2,)),
    "negative": ((3, 4, 5), (-2,)),
    "ends": ((3, 4, 5), (0, 2)),
    "order": ((2, 3, 4), (2, 0)),
    "odd": ((7, 13), (1,)),
    "odd_first": ((17, 3), (0,)),
    "one": ((3, 1), (1,)),
    "axes5": ((2, 3, 1, 2, 2), (0, 3, -1)),
    "rank0": ((), None),
    "single": ((1,), (0,)),
    "vector": ((17,), (0,)),
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
                tol = {
                    "sum": (last if n > 1 else 0, (n - 1) * e * scale),
                    "mean": (last + 0.01, n * e * scale / n),
                    "max": (0, 0),
                    "min": (0, 0),
                    # exp 2 ulp, sum n, log 2 ulp of the sum: relative to the sum, then absolute; plus the maximum added back
                    "logsumexp": (0.51 if tag in HALF else 2.5, (n + 6) * e),
                }[op]
                out.torch(op, name + ("_keep" if keep else ""), [x], red, par=axes_par(axes, keep), u=tol[0], a=tol[1], grad=grad)
                if op == "sum":
                    w = whole(tag, -3, 3, *shape)  # whole numbers: every order of summation gives the same bits
                    out.torch(
                        op,
                        name + "_whole",
                        [w],
                        (lambda t: t.sum(dim)) if shape else (lambda t: t * 1),
                        par=axes_par(axes, False),
                    )
        for view in VIEWS:
            x = seen(tag, view, grid, -4, 4)
            for axis in (0, 1):
                out.torch(
                    "sum",
                    "%s_%d" % (view, axis),
                    [x],
                    lambda t: t.sum(axis),
                    par="axes=%d" % axis,
                    u=0.51 if tag in HALF else 1,
                    a=5 * eps(acc(tag)) * 20,
                    grad=grad,
                )
        p = uni(tag, 0.5, 1.5, 3, 7)
        # a product of n: each of n-1 roundings is half an ulp, the last alone where 16-bit floats multiply in float32
        out.torch("prod", "last", [p], lambda t: t.prod(1), par="axes=1", u=0.51 if tag in HALF else 7, grad=grad, gu=32)
        out.torch("prod", "all", [p], lambda t: t.prod(), u=0.51 if tag in HALF else 21, grad=grad, gu=64)
        special = np.array(
            [
                [1, np.nan, 3],
                [np.inf, 1, 2],
                [-np.inf, 1, np.inf],
                [-0.0, -0.0, -0.0],
                [-0.0, 0.0, -0.0],
                [np.nan, -np.inf, np.inf],
            ]
        )
        for op, fn in (
            ("sum", torch.sum),
            ("max", torch.amax),
            ("min", torch.amin),
            ("prod", torch.prod),
            ("mean", torch.mean),
            ("logsumexp", torch.logsumexp),
        ):
            x = In(
                tag, special[:3] if op in ("logsumexp", "mean") else special[[0, 1, 2, 5]] if op in ("max", "min") else special
            )
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
            out.torch(
                op,
                "grad_ties",
                [In(tag, [[1, 3, 3, 2], [5, 5, 5, 5], [-1, -1, -2, -2]])],
                lambda t: fn(t, dim=1),
                par="axes=1",
                grad=seed,
            )


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
                    out.torch(
                        op,
                        "%s_%d" % (name, corr),
                        [x],
                        lambda t: fn(t, dim=dim, correction=corr, keepdim=keep),
                        par=axes_par(axes, keep) + " correction=%d" % corr,
                        u=0.51 if tag in HALF else 4,
                        a=(n + 4) * eps(acc(tag)) * scale,
                        grad=grad,
                        gu=64,
                    )
    for tag in ("f32", "f64"):  # far from 0: the naive formula E[x^2] - E[x]^2 loses everything
        x = In(tag, 10000 + np.array([[1, 2, 3, 4.0], [0, 0, 1, 1]]))
        out.case(
            "var", "far", [x], np.var(x.np(), axis=1, ddof=1), par="axes=1 correction=1", u=4, a=0
        )  # PyTorch is off by 10^-12


def arg_and_scan():
    for op, fn in (("argmax", np.argmax), ("argmin", np.argmin)):
        for tag in IN + FL:
            a = whole(tag, 0, 5, 3, 4, 5)  # many ties: the first counts
            for axis, keep in ((0, 0), (1, 1), (2, 0), (-1, 1)):
                out.case(
                    op,
                    "axis%d" % axis,
                    [a],
                    fn(a.np(), axis=axis, keepdims=bool(keep)),
                    par="axis=%d keep=%d" % (axis, keep),
                    out="i64",
                )
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
    for op, fn, tfn in (
        ("cumsum", np.cumsum, torch.cumsum),
        ("cumprod", np.cumprod, torch.cumprod),
        ("cummax", np.maximum.accumulate, lambda t, d: torch.cummax(t, d).values),
    ):
        for tag in IN:
            x = whole(tag, 0 if tag in UNSIGNED else -5, 9, 3, 7)
            t = tag if op == "cummax" else sum_type(tag)
            for axis in (0, 1):
                out.case(op, "int_axis%d" % axis, [x], fn(x.np().astype(np_type(t)), axis), par="axis=%d" % axis, out=t)
        for tag in FL:
            grad = seed if tag in ("f32", "f64") else None
            for name, shape, axis in (
                ("first", (7, 3), 0),
                ("last", (3, 7), -1),
                ("middle", (2, 5, 3), 1),
                ("vector", (17,), 0),
                ("one", (3, 1), 1),
            ):
                n = shape[axis]
                x = (
                    apart(tag, -2, 2, *shape)
                    if op == "cummax"
                    else uni(tag, 0.5, 1.5, *shape) if op == "cumprod" else uni(tag, -2, 2, *shape)
                )
                # 16-bit floats: the running value is kept in float32 and each output rounded once
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
            out.torch(
                "softmax",
                name,
                [x],
                lambda t: t.softmax(axis),
                par="axis=%d" % axis,
                u=0.51 if half else 1,
                a=(14 + n) * e,
                grad=grad,
                ga=32 * eps(tag) if grad else None,
            )
            out.torch(
                "log_softmax",
                name,
                [x],
                lambda t: t.log_softmax(axis),
                par="axis=%d" % axis,
                u=0.51 if half else 1,
                a=(14 + n) * e,
                grad=grad,
                ga=64 * eps(tag) if grad else None,
            )
        top = FLOATS[tag][2] / 4
        x = In(tag, [[top, top, 0], [-top, -top, -top], [-np.inf, 0, 0]])
        out.torch("softmax", "huge", [x], lambda t: t.softmax(-1), par="axis=-1", u=0.51 if half else 3)
        out.torch(
            "log_softmax",
            "huge",
            [In(tag, [[top, 0, 0], [-np.inf, 0, 0]])],
            lambda t: t.log_softmax(-1),
            par="axis=-1",
            u=0.51 if half else 3,
        )
        out.torch(
            "softmax",
            "special",
            [In(tag, [[np.nan, 0, 1], [np.inf, 0, 1], [-np.inf] * 3])],
            lambda t: t.softmax(-1),
            par="axis=-1",
            u=0.51 if half else 3,
        )
        # norms: deviations of n numbers up to 4, divided by a spread of about 2, times weights up to 1.5
        tol = dict(u=0.51 if half else 4, a=64 * e)
        for name, shape, k in (("last", (3, 17), 1), ("two", (2, 3, 5), 2), ("all", (7,), 1), ("rows5", (2, 1, 2, 1, 13), 1)):
            x, w, b = (
                uni(tag, -4, 4, *shape),
                uni(tag, 0.5, 1.5, *shape[len(shape) - k :]),
                uni(tag, -1, 1, *shape[len(shape) - k :]),
            )
            ga = 256 * eps(tag) if grad else None
            out.torch(
                "layernorm",
                name,
                [x, w, b],
                lambda t, p, q: F.layer_norm(t, shape[len(shape) - k :], p, q, 1e-5),
                par="n=%d eps=1e-5 has=weight,bias" % k,
                grad=grad,
                ga=ga,
                **tol
            )
            out.torch(
                "layernorm",
                name + "_plain",
                [x],
                lambda t: F.layer_norm(t, shape[len(shape) - k :], None, None, 1e-5),
                par="n=%d eps=1e-5" % k,
                grad=grad,
                ga=ga,
                **tol
            )
            if k == 1:
                out.torch(
                    "rmsnorm",
                    name,
                    [x, w],
                    lambda t, p: F.rms_norm(t, shape[-1:], p, 1e-6),
                    par="eps=1e-6 has=weight",
                    grad=grad,
                    ga=ga,
                    **tol
                )
                out.torch(
                    "rmsnorm",
                    name + "_plain",
                    [x],
                    lambda t: F.rms_norm(t, shape[-1:], None, 1e-6),
                    par="eps=1e-6",
                    grad=grad,
                    ga=ga,
                    **tol
                )
        out.torch(
            "layernorm",
            "constant",
            [In(tag, np.full((2, 4), 3.0))],
            lambda t: F.layer_norm(t, (4,), None, None, 1e-5),
            par="n=1 eps=1e-5",
        )


# ---- products -----------------------------------------------------------------------------------------------
MATMUL = {
    "vv": ((13,), (13,)),
    "mv": ((3, 7), (7,)),
    "vm": ((7,), (7, 3)),
    "mm": ((3, 7), (7, 5)),
    "odd": ((7, 13), (13, 17)),
    "one": ((1, 1), (1, 1)),
    "inner1": ((4, 1), (1, 3)),
    "batch": ((2, 3, 4), (2, 4, 5)),
    "batch_broadcast": ((2, 1, 3, 4), (5, 4, 2)),
    "batch_left": ((3, 4), (2, 4, 2)),
    "batch_v": ((2, 3, 4), (4,)),
    "v_batch": ((4,), (2, 4, 3)),
    "empty_k": ((3, 0), (0, 2)),
    "empty_m": ((0, 3), (3, 2)),
    "axes5": ((2, 1, 2, 2, 3), (2, 1, 3, 2)),
}


def products():
    for tag in FL:
        grad = seed if tag in ("f32", "f64") else None
        for name, (sx, sy) in MATMUL.items():
            if tag == "f64" and name not in ("vv", "mm", "batch_broadcast", "vm"):
                continue
            k = sx[-1]
            x, y = grid(tag, -2, 2, *sx), grid(tag, -2, 2, *sy)
            out.torch(
                "matmul",
                name,
                [x, y],
                torch.matmul,
                u=0.51 if tag in HALF else 1,
                a=k * eps(acc(tag)) * 4 * k,
                grad=grad,
                ga=32 * eps(tag) * 16 if grad else None,
            )
            out.torch("matmul", name + "_whole", [whole(tag, -3, 3, *sx), whole(tag, -3, 3, *sy)], torch.matmul, a="z")
        for name, (sx, sy) in {"dot": ((17,), (17,)), "matrix": ((3, 4), (4, 2))}.items():
            out.torch("dot", name, [whole(tag, -3, 3, *sx), whole(tag, -3, 3, *sy)], torch.matmul, grad=grad)
        out.torch("outer", "random", [uni(tag, -3, 3, 7), uni(tag, -3, 3, 5)], torch.outer, grad=grad)
        w, b = grid(tag, -2, 2, 5, 7), grid(tag, -1, 1, 5)
        tol = dict(
            u=1.02 if tag in HALF else 2, a=8 * eps(acc(tag)) * 28, grad=grad, ga=32 * eps(tag) * 16 if grad else None
        )  # 16-bit floats: the product is rounded, then the sum
        for name, shape in (("matrix", (3, 7)), ("vector", (7,)), ("batch", (2, 3, 7))):
            out.torch("linear", name, [grid(tag, -2, 2, *shape), w, b], F.linear, par="has=bias", **tol)
            out.torch("linear", name + "_plain", [grid(tag, -2, 2, *shape), w], F.linear, **tol)
    # strided operands
    for name, vx, vy in (
        ("nt", (("T", (1, 0)),), ()),
        ("tn", (), (("T", (1, 0)),)),
        ("tt", (("T", (1, 0)),), (("T", (1, 0)),)),
        ("flip", (("F", (1,)),), (("S", ((-1, None, -1), (0, None, 1))),)),
    ):
        sx, sy = ((5, 3) if vx and vx[0][0] == "T" else (3, 5)), ((4, 5) if vy and vy[0][0] == "T" else (5, 4))
        out.torch(
            "matmul",
            name,
            [In("f32", whole("f32", -3, 3, *sx).a, *vx), In("f32", whole("f32", -3, 3, *sy).a, *vy)],
            torch.matmul,
            grad=seed,
        )
    for tag in IN:  # integers wrap in their own type
        x, y = whole(tag, 0 if tag in UNSIGNED else -100, 100, 3, 7), whole(tag, 0 if tag in UNSIGNED else -100, 100, 7, 2)
        out.case("matmul", "int", [x, y], x.np() @ y.np())
    x, y = whole("i32", -9, 9, 5), whole("i32", -9, 9, 5)
    out.case("dot", "int", [x, y], np.dot(x.np(), y.np()))
    long = [whole("f16", 1, 1, 3000), whole("f16", 1, 1, 3000)]
    out.torch("dot", "long", long, torch.dot)
