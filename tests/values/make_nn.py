#!/usr/bin/env python3
"""Values of norms, losses and the functions of networks, forward and gradient, by PyTorch in float64 and mpmath.

Run with numpy, torch and mpmath installed: writes nn.txt beside this file. Layout, tolerances and house rules are those of make_ops.py;
tests/unit/values_ops.c runs the cases. Where Ridge differs from PyTorch, and this script says so at the case:
  bce: a gradient is asked for at probabilities 0 and 1, where PyTorch's is (p - t) / 1e-12, which is large: relative tolerance only
  targets of another shape than the prediction are refused (PyTorch broadcasts with a warning, or refuses)
"""


import mpmath as mp
import numpy as np
import torch
import torch.nn.functional as F

import ops_elementwise
from ops_elementwise import *
from ops_lib import *


# ---- functions of one operand ---------------------------------------------------------------------------------
ALPHA, SCALE = mp.mpf("1.6732632423543772848170429916717"), mp.mpf("1.0507009873554804934193349852946")
MORE = {
    "asinh": (mp.asinh, -9, 9, "chain"),
    "acosh": (mp.acosh, 1.1, 9, "chain"),
    "atanh": (mp.atanh, -0.97, 0.97, "chain"),
    "selu": (lambda x: SCALE * (x if x > 0 else ALPHA * mp.expm1(x)), -5, 5, "chain"),
    "hardsigmoid": (lambda x: min(max(x + 3, mp.mpf(0)), mp.mpf(6)) / 6, -2.9, 2.9, "chain"),
    "quick_gelu": (lambda x: x * m_sig(mp.mpf("1.702") * x), -5, 5, "abs"),
}
t_unary.update(
    {
        "selu": F.selu,
        "hardsigmoid": lambda x: F.relu6(x + 3) / 6,
        "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    }
)
UNARY.update(MORE)
BOTH = ("f32", "f64")


def more_unary():
    unary_of(MORE)
    for tag in BOTH:
        x = In(tag, [-6, -3, -2, -1, -0.0, 0, 1, 2, 2.5, 3, 6])
        for op, fn in (("selu", F.selu), ("hardsigmoid", t_unary["hardsigmoid"]), ("quick_gelu", t_unary["quick_gelu"]), ("asinh", torch.asinh)):
            u, a = unary_tol(UNARY[op][3], tag)
            out.torch(op, "grad_kinks", [x], fn, u=u, a=a, grad=seed)
        for alpha in (1.0, 0.5, 2.0, -1.5):
            fn = lambda t: F.celu(t, alpha)
            out.torch("celu", "grad_kinks_%g" % alpha, [x], fn, par="alpha=%g" % alpha, u=4.5, a="z", grad=seed)
        # far from 0, where x*x would overflow or lose the 1
        huge = In(tag, [1e3, 9e3, 1e4, 3e8, 1e18, 1e19, 3e38])
        for op, fn in (("asinh", mp.asinh), ("acosh", mp.acosh)):
            out.torch(op, "huge", [huge], getattr(torch, op), u=4.5, grad=seed, want=np.array([float(fn(mp.mpf(float(v)))) for v in huge.a]))
        tiny = In(tag, [1e-30, -1e-20, 1e-10, -1e-6, 1e-4])
        for op in ("asinh", "atanh"):
            out.torch(op, "tiny", [tiny], getattr(torch, op), u=4.5, grad=seed)
    for tag in FL:
        x = uni(tag, -4, 4, 3, 7)
        grad = seed if tag in BOTH else None
        u = 0.51 if tag in HALF else 4.5
        out.torch("celu", "random", [x], lambda t: F.celu(t, 1.5), par="alpha=1.5", u=u, a="z", grad=grad)
        out.torch("celu", "special", [In(tag, [np.nan, np.inf, -np.inf])], lambda t: F.celu(t, 1.5), par="alpha=1.5", u=u)
        for name, shape, axis in (("last", (3, 8), -1), ("first", (4, 3), 0), ("middle", (2, 6, 3), 1)):
            out.torch("glu", name, [uni(tag, -4, 4, *shape)], lambda t: F.glu(t, axis), par="axis=%d" % axis, u=u, grad=grad)
    out.case("glu", "empty", [In("f32", np.zeros((0, 4)))], np.zeros((0, 2)), par="axis=1")
    out.case("glu", "empty_axis", [In("f32", np.zeros((3, 0)))], np.zeros((3, 0)), par="axis=1")
    out.refuse("glu", "refuse_odd", [In("f32", np.zeros((2, 3)))], par="axis=1")
    out.refuse("celu", "refuse_zero", [In("f32", np.zeros((2, 3)))], par="alpha=0")


# ---- running least, running logsumexp ---------------------------------------------------------------------------
def scans():
    least = lambda t, d: torch.cummin(t, d).values
    for tag in IN:
        x = whole(tag, 0 if tag in UNSIGNED else -5, 9, 3, 7)
        for axis in (0, 1):
            out.case("cummin", "int_axis%d" % axis, [x], np.minimum.accumulate(x.np(), axis), par="axis=%d" % axis)
        c = int_corners(tag)
        out.case("cummin", "int_corners", [c], np.minimum.accumulate(c.np()), par="axis=0")
    b = In("bool", [[1, 1, 0, 1], [0, 1, 1, 1]])
    out.case("cummin", "bool", [b], np.minimum.accumulate(b.np(), 1), par="axis=1")
    for tag in FL:
        grad = seed if tag in BOTH else None
        e = eps(acc(tag))
        u = 0.51 if tag in HALF else 2.5
        for name, shape, axis in (("first", (7, 3), 0), ("last", (3, 7), -1), ("middle", (2, 5, 3), 1), ("vector", (17,), 0), ("one", (3, 1), 1)):
            out.torch("cummin", name, [apart(tag, -2, 2, *shape)], lambda t: least(t, axis), par="axis=%d" % axis, grad=grad)
            n = shape[axis]
            out.torch("logcumsumexp", name, [uni(tag, -4, 4, *shape)], lambda t: torch.logcumsumexp(t, axis), par="axis=%d" % axis, u=u if n > 1 else 0, a=(n + 6) * e, grad=grad)
        x = In(tag, [[1, np.nan, 3], [np.inf, 1, 2], [-np.inf, 1, np.inf], [-np.inf, -np.inf, 2]])
        out.torch("cummin", "special", [x], lambda t: least(t, 1), par="axis=1")
        out.torch("logcumsumexp", "special", [x], lambda t: torch.logcumsumexp(t, 1), par="axis=1", u=u, a=8 * e)
        top = FLOATS[tag][2] / 4
        x = In(tag, [[-top, 0, top, 0], [top, top, -top, 1], [-1000, -999, 3, 1000]])
        out.torch("logcumsumexp", "no_overflow", [x], lambda t: torch.logcumsumexp(t, 1), par="axis=1", u=u, a=8 * e)
    for tag in BOTH:  # longer than a block, and longer than a block of blocks
        for n in (64, 65, 200, 4100):
            x = In(tag, round_to(tag, np.linspace(-300, 300, n) + np.round(rng.uniform(-2, 2, n) * 32) / 32))
            g = seed if n <= 200 else None
            out.torch("logcumsumexp", "long%d" % n, [x], lambda t: torch.logcumsumexp(t, 0), par="axis=0", u=8, a=80 * eps(tag), grad=g, ga=3e-5 if tag == "f32" else 1e-12)
        x = grid(tag, -4, 4, 2, 130, 2)
        out.torch("logcumsumexp", "long_middle", [x], lambda t: torch.logcumsumexp(t, 1), par="axis=1", u=8, a=80 * eps(tag))
    out.torch("logcumsumexp", "of_int", [whole("i32", -3, 3, 5)], lambda t: torch.logcumsumexp(t.double(), 0), par="axis=0", out="f32", u=2.5, a=11 * eps("f32"))
    for op in ("cummin", "logcumsumexp"):
        out.case(op, "empty", [In("f32", np.zeros((0, 3)))], np.zeros((0, 3)), par="axis=0")
        out.case(op, "empty_other", [In("f32", np.zeros((0, 3)))], np.zeros((0, 3)), par="axis=1")
        out.case(op, "rank0", [In("f32", 2.5)], np.array(2.5), par="axis=0")
        out.refuse(op, "refuse_axis", [In("f32", np.zeros(3))], par="axis=1")


# ---- lengths --------------------------------------------------------------------------------------------------
def norms():
    vn = torch.linalg.vector_norm
    name = lambda p: str(p).replace(".", "_").replace("-", "minus_")
    for tag in FL:
        grad = seed if tag in BOTH else None
        e, half = eps(acc(tag)), tag in HALF
        for p in (0, 1, 2, 3, 0.5, 1.5, 4, -1, np.inf, -np.inf):
            for v, shape, axes, keep in (("last", (3, 7), (1,), False), ("all", (2, 3, 4), None, False), ("ends", (2, 3, 4), (0, 2), True)):
                if v != "last" and tag not in BOTH:
                    continue
                x = apart(tag, 0.3, 4, *shape)
                x = In(tag, np.where(rng.random(shape) < 0.5, x.a, -x.a))
                par = "p=%g" % p + (" axes=" + ",".join(map(str, axes)) if axes else "") + (" keep=1" if keep else "")
                n = int(np.prod([shape[a] for a in axes])) if axes else int(np.prod(shape))
                exact = p in (0, np.inf, -np.inf)
                out.torch("norm", v + "_p" + name(p), [x], lambda t: vn(t, p, axes, keep), par=par, u=0 if exact else 0.52 if half else 8, a=0 if exact else n * e * 8 * (n * n if 0 < p < 1 else 1), grad=grad, ga=64 * eps(tag) * (n if p == 0.5 else 1))
            zeros = In(tag, [[0.0, 0, 0], [0, 3, 4], [-2, 0, 0]])
            if grad and p not in (-1, 0.5):  # PyTorch's gradient where a length, or a part of it, is 0
                out.torch("norm", "grad_ties_zeros_p" + name(p), [zeros], lambda t: vn(t, p, 1), par="p=%g axes=1" % p, u=4, grad=grad)
            out.torch("norm", "zeros_p" + name(p), [zeros], lambda t: vn(t, p, 1), par="p=%g axes=1" % p, u=0.52 if half else 4)
            out.torch("norm", "special_p" + name(p), [In(tag, [[np.nan, 1], [np.inf, 1], [-np.inf, np.inf]])], lambda t: vn(t, p, 1), par="p=%g axes=1" % p)
        for p, axis in ((2, 1), (1, 0), (np.inf, -1), (3, 1)):
            x = apart(tag, 0.3, 4, 3, 5)  # away from 0, where |x| has a corner
            x = In(tag, np.where(rng.random((3, 5)) < 0.5, x.a, -x.a))
            out.torch("normalize", "p%g_axis%d" % (p, axis), [x], lambda t: F.normalize(t, p, axis), par="p=%g axis=%d" % (p, axis), u=0.52 if half else 8, a=0 if half else 8 * e, grad=grad, ga=64 * eps(tag))
        out.torch("normalize", "zeros", [In(tag, [[0.0, 0], [3, 4]])], lambda t: F.normalize(t, 2, 1), par="p=2 axis=1", u=0.51 if half else 2)
    out.torch("norm", "of_int", [whole("i32", -9, 9, 3, 5)], lambda t: vn(t.double(), 2, 1), par="p=2 axes=1", out="f32", u=2)
    out.torch("norm", "half_range", [In("f16", [300, 400, 0, 0])], lambda t: vn(t, 2), par="p=2")
    out.case("norm", "empty", [In("f32", np.zeros((3, 0)))], np.zeros(3), par="p=2 axes=1")
    out.case("norm", "empty_p0_5", [In("f32", np.zeros((3, 0)))], np.zeros(3), par="p=0.5 axes=1")
    out.refuse("norm", "refuse_empty_max", [In("f32", np.zeros((3, 0)))], par="p=inf axes=1")
    out.refuse("norm", "refuse_nan", [In("f32", np.zeros(3))], par="p=nan")
    out.refuse("normalize", "refuse_axis", [In("f32", np.zeros(3))], par="p=2 axis=1")


# ---- norms by channels -------------------------------------------------------------------------------------------
def channel_norms():
    for tag in FL:
        grad = seed if tag in BOTH else None
        half = tag in HALF
        tol = dict(u=0.51 if half else 4, a=64 * eps(acc(tag)), grad=grad, ga=256 * eps(tag))
        for name, shape, groups in (("image", (2, 6, 3, 5), 3), ("line", (3, 4, 7), 2), ("one", (2, 4, 5), 1), ("flat", (5, 8), 2), ("each", (2, 3, 4), 3)):
            x, w, b = uni(tag, -4, 4, *shape), uni(tag, 0.5, 1.5, shape[1]), uni(tag, -1, 1, shape[1])
            out.torch("groupnorm", name, [x, w, b], lambda t, p, q: F.group_norm(t, groups, p, q, 1e-5), par="groups=%d has=weight" % groups, **tol)
            out.torch("groupnorm", name + "_plain", [x], lambda t: F.group_norm(t, groups, None, None, 1e-3), par="groups=%d eps=1e-3" % groups, **tol)
            if len(shape) > 2:
                out.torch("instancenorm", name, [x, w, b], lambda t, p, q: F.instance_norm(t, None, None, p, q, True, 0.1, 1e-5), par="has=weight", **tol)
                out.torch("instancenorm", name + "_plain", [x], lambda t: F.instance_norm(t, eps=1e-3), par="eps=1e-3", **tol)
            m, v = uni(tag, -1, 1, shape[1]), uni(tag, 0.5, 2, shape[1])
            fn = lambda t, a, c, p, q: (t - a.reshape(1, -1, *[1] * (len(shape) - 2))) / (c + 1e-5).sqrt().reshape(1, -1, *[1] * (len(shape) - 2)) * p.reshape(1, -1, *[1] * (len(shape) - 2)) + q.reshape(1, -1, *[1] * (len(shape) - 2))
            check = F.batch_norm(torch.from_numpy(x.a), torch.from_numpy(m.a), torch.from_numpy(v.a), torch.from_numpy(w.a), torch.from_numpy(b.a), False, 0.1, 1e-5)
            assert torch.allclose(check, fn(*[torch.from_numpy(i.a) for i in (x, m, v, w, b)]))
            out.torch("batchnorm", name, [x, m, v, w, b], fn, par="has=weight", **tol)  # statistics have gradients too: PyTorch's function has none
            out.torch("batchnorm", name + "_plain", [x, m, v], lambda t, a, c: F.batch_norm(t, a.detach(), c.detach(), None, None, False, 0.1, 1e-3), par="eps=1e-3", wrt=(0,), **tol)
        big = In(tag, np.full((2, 2, 4), 3.0))
        out.torch("groupnorm", "constant", [big], lambda t: F.group_norm(t, 1, None, None, 1e-5), par="groups=1")
    out.torch("groupnorm", "no_overflow", [In("f16", [[[300, 400, -300, 500]], [[1000, 2000, 3000, -4000]]])], lambda t: F.group_norm(t, 1, None, None, 1e-5), par="groups=1", u=0.52)
    mixed = [uni("f16", -4, 4, 2, 3, 4), uni("f32", -1, 1, 3), uni("f32", 0.5, 2, 3)]  # statistics are float32 beside 16-bit floats
    out.torch("batchnorm", "mixed", mixed, lambda t, a, c: F.batch_norm(t, a.detach(), c.detach()), out="f16", u=0.52)
    for op, par in (("groupnorm", "groups=2"), ("instancenorm", ""), ("batchnorm", "")):
        more = [In("f32", np.ones(4)), In("f32", np.ones(4))] if op == "batchnorm" else []
        out.case(op, "empty", [In("f32", np.zeros((0, 4, 3)))] + more, np.zeros((0, 4, 3)), par=par)
        out.refuse(op, "refuse_rank", [In("f32", np.zeros(4))] + more, par=par)
    f = lambda *s: In("f32", np.ones(s))
    out.refuse("groupnorm", "refuse_groups", [f(2, 4, 3)], par="groups=3")
    out.refuse("groupnorm", "refuse_none", [f(2, 4, 3)], par="groups=0")
    out.refuse("groupnorm", "refuse_weight", [f(2, 4, 3), f(3), f(4)], par="groups=2 has=weight")
    out.refuse("batchnorm", "refuse_mean", [f(2, 4, 3), f(3), f(4)])


# ---- losses of classes ---------------------------------------------------------------------------------------------
HOW = (("mean", "mean"), ("sum", "sum"), ("each", "none"))


def labels(n_classes, *shape, ignored=None):
    t = rng.integers(0, n_classes, shape)
    if ignored is not None:
        t = np.where(rng.random(shape) < 0.3, ignored, t)
        t.flat[0] = ignored
    return In("i64", t)


def class_losses():
    for tag in FL:
        grad = seed if tag in BOTH else None
        half = tag in HALF
        for how, red in HOW:
            tol = dict(u=0.52 if half else 6, a="z" if half and how != "sum" else 64 * eps(acc(tag)), grad=grad, ga=64 * eps(tag), wrt=(0,))
            for name, shape in (("rows", (7, 5)), ("image", (2, 4, 3, 2)), ("one", (5,)), ("line", (3, 4, 5)), ("single", (4, 1))):
                axis = 1 if len(shape) > 1 else 0
                c, rest = shape[axis], shape[:axis] + shape[axis + 1 :]
                x, t = uni(tag, -4, 4, *shape), labels(c, *rest)
                w = uni(tag, 0.5, 2, c)
                par = "reduction=%s" % how
                ce = lambda **k: lambda a, b, *m: F.cross_entropy(a, b, m[0].detach() if m else None, reduction=red, **k)
                out.torch("cross_entropy", name + "_" + how, [x, t], ce(), par=par, **tol)
                out.torch("cross_entropy", name + "_weight_" + how, [x, t, w], ce(), par=par + " has=class_weight", **tol)
                if name in ("rows", "line"):
                    i = labels(c, *rest, ignored=-100)
                    out.torch("cross_entropy", name + "_minus_100_" + how, [x, i], ce(), par=par, **tol)
                    i = labels(c, *rest, ignored=2)
                    out.torch("cross_entropy", name + "_ignore_" + how, [x, i], ce(ignore_index=2), par=par + " ignore=2", **tol)
                    out.torch("cross_entropy", name + "_ignore_weight_" + how, [x, i, w], ce(ignore_index=2), par=par + " ignore=2 has=class_weight", **tol)
                    out.torch("cross_entropy", name + "_smooth_" + how, [x, t], ce(label_smoothing=0.125), par=par + " smoothing=0.125", **tol)
                    out.torch("cross_entropy", name + "_smooth_weight_" + how, [x, i, w], ce(label_smoothing=0.25, ignore_index=2), par=par + " smoothing=0.25 ignore=2 has=class_weight", **tol)
                p = rng.uniform(0.1, 1, shape)
                share = In(tag, p / p.sum(axis, keepdims=True))
                both = dict(tol, wrt=(0, 1), ga=128 * eps(tag))
                out.torch("cross_entropy", name + "_share_" + how, [x, share], ce(), par=par, **both)
                out.torch("cross_entropy", name + "_share_smooth_" + how, [x, share, w], ce(label_smoothing=0.125), par=par + " smoothing=0.125 has=class_weight", **both)
                nll = lambda **k: lambda a, b, *m: F.nll_loss(a, b, m[0].detach() if m else None, reduction=red, **k)
                lp = In(tag, -rng.uniform(0.1, 5, shape))
                out.torch("nll_loss", name + "_" + how, [lp, t], nll(), par=par, **tol)
                if name in ("rows", "image"):
                    i = labels(c, *rest, ignored=1)
                    out.torch("nll_loss", name + "_ignore_weight_" + how, [lp, i, w], nll(ignore_index=1), par=par + " ignore=1 has=class_weight", **tol)
        top = FLOATS[tag][2] / 4
        x, t = In(tag, [[top, 0, -top], [-top, -top, 0], [0, 1, 2]]), In("i64", [0, 2, 1])
        out.torch("cross_entropy", "no_overflow", [x, t], F.cross_entropy, u=0.52 if half else 6, grad=grad)
        x = In(tag, [[-np.inf, 0, 1], [0, -np.inf, 1]])  # a masked class has no weight and no gradient
        out.torch("cross_entropy", "grad_masked", [x, In("i64", [1, 0])], F.cross_entropy, u=0.52 if half else 6, grad=grad)
        out.torch("cross_entropy", "masked_target", [x, In("i64", [0, 0])], F.cross_entropy, u=6)
        out.torch("cross_entropy", "nan", [In(tag, [[np.nan, 0, 1], [0, 0, 1]]), In("i64", [1, 0])], lambda a, b: F.cross_entropy(a, b, reduction="none"), par="reduction=each", u=0.52 if half else 6)
    for tag in IN:  # classes of every integer type
        x = uni("f32", -4, 4, 3, 5)
        t = whole(tag, 0, 4, 3)
        out.torch("cross_entropy", "target_" + tag, [x, t], lambda a, b: F.cross_entropy(a, b.long()), u=6, grad=seed, wrt=(0,))
    i8 = In("i8", [1, -100, 0])
    out.torch("cross_entropy", "ignored_i8", [uni("f32", -4, 4, 3, 5), i8], lambda a, b: F.cross_entropy(a, b.long()), u=6, grad=seed, wrt=(0,))
    u8 = In("u8", [1, 156, 0])  # the bits of -100: a class like any other, if there were 157
    out.torch("cross_entropy", "not_ignored_u8", [uni("f32", -4, 4, 3, 160), u8], lambda a, b: F.cross_entropy(a, b.long()), u=6, a=1e-5)
    none = In("i64", [-100, -100])  # 0 / 0, as in PyTorch
    out.case("cross_entropy", "all_ignored", [uni("f32", -4, 4, 2, 3), none], np.array(np.nan))
    out.case("cross_entropy", "all_ignored_sum", [uni("f32", -4, 4, 2, 3), none], np.array(0.0), par="reduction=sum", a="z")
    out.case("cross_entropy", "empty", [In("f32", np.zeros((0, 3))), In("i64", np.zeros(0))], np.array(np.nan))
    out.case("cross_entropy", "empty_sum", [In("f32", np.zeros((0, 3))), In("i64", np.zeros(0))], np.array(0.0), par="reduction=sum", a="z")
    out.case("cross_entropy", "empty_each", [In("f32", np.zeros((0, 3))), In("i64", np.zeros(0))], np.zeros(0), par="reduction=each")
    f = lambda *s: In("f32", np.ones(s))
    i = lambda *s: In("i64", np.ones(s))
    for name, op, ins, par in (
        ("target_shape", "cross_entropy", [f(4, 3), i(3)], ""),
        ("target_rank", "cross_entropy", [f(4, 3), i(4, 1)], ""),
        ("share_shape", "cross_entropy", [f(4, 3), f(4)], ""),
        ("share_ignore", "cross_entropy", [f(4, 3), f(4, 3)], "ignore=1"),
        ("weight", "cross_entropy", [f(4, 3), i(4), f(4)], "has=class_weight"),
        ("smoothing", "cross_entropy", [f(4, 3), i(4)], "smoothing=1.5"),
        ("no_classes", "cross_entropy", [f(4, 0), i(4)], ""),
        ("scalar", "cross_entropy", [f(), i()], ""),
        ("delta", "cross_entropy", [f(4, 3), i(4)], "delta=2"),
        ("smoothing", "nll_loss", [f(4, 3), i(4)], "smoothing=0.1"),
        ("float", "nll_loss", [f(4, 3), f(4, 3)], ""),
        ("shape", "mse_loss", [f(4), f(4, 1)], ""),
        ("weight", "mse_loss", [f(4), f(4), f(4)], "has=class_weight"),
        ("shape", "bce", [f(4), f(3)], ""),
        ("weight", "bce_with_logits", [f(4), f(4), f(3)], "has=class_weight"),
        ("ignore", "l1_loss", [f(4), f(4)], "ignore=1"),
        ("delta", "huber_loss", [f(4), f(4)], "delta=-1"),
    ):
        out.refuse(op, "refuse_" + name, ins, par)


# ---- losses of elements --------------------------------------------------------------------------------------------
def element_losses():
    for tag in FL:
        grad = seed if tag in BOTH else None
        half = tag in HALF
        for how, red in HOW:
            par = "reduction=%s" % how
            for name, shape in (("vector", (17,)), ("matrix", (3, 5)), ("axes4", (2, 3, 2, 2)), ("rank0", ())):
                scale = 64 if how == "sum" else 16
                tol = dict(u=0.52 if half else 6, a=0 if half and how != "sum" else scale * 8 * eps(acc(tag)), grad=grad, ga=64 * eps(tag))
                x, t = uni(tag, -3, 3, *shape), uni(tag, -3, 3, *shape)
                for op, fn in (("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss)):
                    out.torch(op, name + "_" + how, [x, t], lambda a, b: fn(a, b, reduction=red), par=par, **tol)
                for delta in (0, 0.5, 2):
                    k = delta or 1
                    p = par + (" delta=%g" % delta if delta else "")
                    out.torch("smooth_l1_loss", "%s_%s_%g" % (name, how, delta), [x, t], lambda a, b: F.smooth_l1_loss(a, b, reduction=red, beta=k), par=p, **tol)
                    out.torch("huber_loss", "%s_%s_%g" % (name, how, delta), [x, t], lambda a, b: F.huber_loss(a, b, reduction=red, delta=k), par=p, **tol)
                s, w = uni(tag, 0.05, 0.95, *shape), uni(tag, 0.5, 2, *shape[-1:])
                bl = lambda a, b, *m: F.binary_cross_entropy_with_logits(a, b, m[0].detach() if m else None, reduction=red)
                out.torch("bce_with_logits", name + "_" + how, [x, s], bl, par=par, **tol)
                out.torch("bce_with_logits", name + "_weight_" + how, [x, s, w], bl, par=par + " has=class_weight", wrt=(0, 1), **tol)
                pos = lambda a, b, m: F.binary_cross_entropy_with_logits(a, b, None, reduction=red, pos_weight=m.detach())
                out.torch("bce_with_logits", name + "_pos_" + how, [x, s, w], pos, par=par + " has=pos", wrt=(0, 1), **tol)
                two = lambda a, b, m, q: F.binary_cross_entropy_with_logits(a, b, m.detach(), reduction=red, pos_weight=q.detach())
                out.torch("bce_with_logits", name + "_both_" + how, [x, s, w, uni(tag, 0.5, 2, *shape[-1:])], two, par=par + " has=class_weight,pos", wrt=(0, 1), **tol)
                q = uni(tag, 0.05, 0.95, *shape)
                bc = lambda a, b, *m: F.binary_cross_entropy(a, b, m[0].detach() if m else None, reduction=red)
                out.torch("bce", name + "_" + how, [q, s], bc, par=par, **tol)
                out.torch("bce", name + "_weight_" + how, [q, s, w], bc, par=par + " has=class_weight", wrt=(0, 1), **tol)
                lp = In(tag, -rng.uniform(0.1, 5, shape))
                out.torch("kl_div", name + "_" + how, [lp, s], lambda a, b: F.kl_div(a, b, reduction=red), par=par, **tol)
        u = 0.52 if half else 6
        far = In(tag, [100, -100, 1000, -1000, 0, 60000, -60000, 20, -20])
        yes = In(tag, [1, 0, 0, 1, 0.5, 1, 0, 0, 1])
        each = "reduction=each"
        right = np.maximum(far.a, 0) - far.a * yes.a + np.log1p(np.exp(-np.abs(far.a)))  # PyTorch's -100 + 100.0 is 0
        out.torch("bce_with_logits", "grad_far", [far, yes], lambda a, b: F.binary_cross_entropy_with_logits(a, b, reduction="none"), par=each, u=u, grad=grad, wrt=(0,), want=right)
        ends = [In(tag, [0.0, 1, 0, 1, 0.5]), In(tag, [1.0, 0, 0, 1, 1])]
        out.torch("bce", "grad_kinks", ends, lambda a, b: F.binary_cross_entropy(a, b, reduction="none"), par=each, u=u, a="z", grad=grad, wrt=(0,), gu=16 if tag == "f32" else 1e8)  # its 1e-12 is a float32
        out.torch("kl_div", "zero_target", [In(tag, [-1.0, -2, -3]), In(tag, [0.0, 1, 0.5])], lambda a, b: F.kl_div(a, b, reduction="none"), par=each, u=u, a="z", grad=grad, wrt=(0,))
        corner = [In(tag, [1.0, -1, 0, 2, 0.5]), In(tag, [0.0, 0, 0, 2, 0])]
        for op, fn in (("l1_loss", F.l1_loss), ("smooth_l1_loss", F.smooth_l1_loss), ("huber_loss", F.huber_loss)):
            out.torch(op, "grad_kinks", corner, lambda a, b: fn(a, b, reduction="none"), par=each, grad=grad)
        bad = [In(tag, [np.nan, np.inf, 1, -np.inf]), In(tag, [0.0, 0, np.nan, 1])]
        for op, fn in (("mse_loss", F.mse_loss), ("l1_loss", F.l1_loss), ("huber_loss", F.huber_loss), ("smooth_l1_loss", F.smooth_l1_loss), ("kl_div", F.kl_div)):
            out.torch(op, "special", bad, lambda a, b: fn(a, b, reduction="none"), par=each, u=u)
        out.torch("bce_with_logits", "special", bad, lambda a, b: F.binary_cross_entropy_with_logits(a, b, reduction="none"), par=each, u=u)
    out.torch("mse_loss", "half_range", [In("f16", [300.0, 10]), In("f16", [0.0, 0])], F.mse_loss, u=0.51)  # 90000 is no f16, the mean is
    out.torch("mse_loss", "promote", [uni("f16", -2, 2, 5), uni("f32", -2, 2, 5)], F.mse_loss, out="f32", u=4)
    out.torch("bce", "int_target", [uni("f32", 0.1, 0.9, 4), In("i64", [0, 1, 1, 0])], lambda a, b: F.binary_cross_entropy(a, b.double()), u=6, grad=seed, wrt=(0,))
    for op in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div", "bce", "bce_with_logits"):
        none = [In("f32", np.zeros((0, 3))), In("f32", np.zeros((0, 3)))]
        out.case(op, "empty", none, np.array(np.nan))
        out.case(op, "empty_sum", none, np.array(0.0), par="reduction=sum", a="z")
        out.case(op, "empty_each", none, np.zeros((0, 3)), par="reduction=each")


def nothing_counts():
    """The mean is 0 / 0, but no gradient reaches the rows."""
    for tag in BOTH:
        ins = [uni(tag, -4, 4, 2, 3), In("i64", [-100, -100])]
        out.torch("cross_entropy", "grad_kinks_all_ignored", ins, F.cross_entropy, grad=seed, wrt=(0,))


def main():
    for part in (more_unary, scans, norms, channel_norms, class_losses, element_losses, nothing_counts):
        part()
    gradients = sum(1 for l in out.lines if l.startswith("s "))
    out.save("nn", "%d cases, %d of them with gradients" % (len(out.names), gradients))


if __name__ == "__main__":
    main()
