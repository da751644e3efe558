#!/usr/bin/env python3
"""Values of parts, index functions, sorting and einsum, forward and gradient, computed by NumPy and PyTorch.

Run with numpy, torch and mpmath installed: writes index.txt beside this file, which is committed. The layout is that of
ops.txt (ops_lib.py says it), and tests/unit/values_ops.c reads both. Nothing here shares code with Ridge.

Moves and choices are exact. Products and sums are of small whole numbers or of multiples of 1/32 that every type but
bf16 holds, and so exact in any order of addition, or have the bound of summation as tolerance.
"""


import numpy as np
import torch
import torch.nn.functional as F

from ops_lib import *

IN_ORDER = ("bool",) + tuple(INTS) + tuple(FLOATS)
SOME = ("f32", "f64", "f16", "i32", "u8", "bool")


def values(tag, *s):
    return grid(tag, -9, 9, *s) if tag in FLOATS else whole(tag, 0, 9, *s)


def grads(tag):
    return seed if tag in ("f32", "f64") else None


# ---- parts ---------------------------------------------------------------------------------------------------
def parts():
    for tag in SOME:
        g = grads(tag)
        for name, shape, k in (
            ("main", (4, 4), 0),
            ("wide_up", (3, 5), 1),
            ("tall_down", (5, 3), -2),
            ("batch", (2, 3, 4), 1),
            ("far_up", (3, 4), 7),
            ("far_down", (3, 4), -9),
            ("huge", (3, 4), 2**62),
            ("none", (0, 4), 0),
        ):
            for op, fn in (("tril", torch.tril), ("triu", torch.triu)):
                kk = max(min(k, 99), -99)
                out.torch(op, name, [values(tag, *shape)], lambda t: fn(t, kk), par="k=%d" % k, grad=g)
        for name, shape, k in (
            ("vector", (4,), 0),
            ("vector_up", (3,), 2),
            ("vector_down", (3,), -1),
            ("vector_one", (1,), 0),
            ("vector_none", (0,), 2),
            ("matrix", (4, 4), 0),
            ("matrix_up", (3, 5), 1),
            ("matrix_down", (5, 3), -2),
            ("matrix_past", (3, 4), 9),
        ):
            out.torch("diag", name, [values(tag, *shape)], lambda t: torch.diag(t, k), par="k=%d" % k, grad=g)
        for name, shape, k, a, b in (
            ("plain", (3, 4), 0, 0, 1),
            ("swapped", (3, 4), 1, 1, 0),
            ("outer", (3, 2, 4), -1, 0, 2),
            ("last", (2, 3, 5), 2, -2, -1),
            ("four", (2, 3, 4, 5), 0, 1, 3),
            ("past", (2, 3), 3, 0, 1),
            ("far_past", (2, 3), -7, 0, 1),
        ):
            par = "k=%d a=%d b=%d" % (k, a, b)
            fn = lambda t: torch.diagonal(t, k, a, b) if -2 <= k < 3 else t.reshape(-1)[:0]
            out.torch("diagonal", name, [values(tag, *shape)], fn, par=par, grad=g)
        for name, shape, shifts, axes in (
            ("one", (5,), (2,), (0,)),
            ("back", (5,), (-1,), (0,)),
            ("round", (3,), (7,), (0,)),
            ("two", (3, 4), (1, -2), (0, -1)),
            ("twice", (3, 4), (1, 2), (1, 1)),
            ("flat", (3, 4), (5,), ()),
            ("still", (3, 4), (3,), (0,)),
            ("none", (0, 4), (3,), (0,)),
        ):
            par = "shifts=%s" % ",".join(map(str, shifts)) + (" axes=%s" % ",".join(map(str, axes)) if axes else "")
            out.torch("roll", name, [values(tag, *shape)], lambda t: torch.roll(t, shifts, axes), par=par, grad=g)
        for name, shape, times, axis in (
            ("first", (2, 3), 3, 0),
            ("last", (2, 3), 2, -1),
            ("flat", (2, 3), 2, None),
            ("once", (2, 3), 1, 1),
            ("never", (2, 3), 0, 1),
        ):
            par = "times=%d" % times + ("" if axis is None else " axis=%d" % axis)
            out.torch("repeat_interleave", name, [values(tag, *shape)], lambda t: t.repeat_interleave(times, axis), par=par, grad=g)
        for name, shape, axis, sizes in (
            ("first", (6, 5), 0, (2, 3)),
            ("last", (2, 12), -1, (3, -1, 2)),
            ("one", (4,), 0, (4,)),
            ("none", (3, 0), 1, (0, 2)),
        ):
            par = "axis=%d sizes=%s" % (axis, ",".join(map(str, sizes)))
            out.torch("unflatten", name, [values(tag, *shape)], lambda t: t.unflatten(axis, sizes), par=par, grad=g)
        for name, shape, axis, sizes in (("first", (6, 2), 0, (2, 3, 1)), ("last", (2, 7), -1, (0, 4, 3)), ("all", (3,), 0, (3,))):
            for n in range(len(sizes)):
                par = "axis=%d sizes=%s part=%d" % (axis, ",".join(map(str, sizes)), n)
                out.torch("split", "%s_%d" % (name, n), [values(tag, *shape)], lambda t: t.split(sizes, axis)[n], par=par, grad=g)
        for name, shape, axis, n in (("even", (6, 2), 0, 3), ("uneven", (2, 7), 1, 3), ("few", (5,), 0, 4)):
            for i in range(n):
                par = "axis=%d n=%d part=%d" % (axis, n, i)
                fn = lambda t: (t.chunk(n, axis) + (t.narrow(axis, 0, 0),) * n)[i]
                out.torch("chunk", "%s_%d" % (name, i), [values(tag, *shape)], fn, par=par, grad=g)
        for i in range(3):
            ins = [values(tag, 2), values(tag, 3), values(tag)]
            out.torch("meshgrid", "three_%d" % i, ins, lambda *t: torch.meshgrid(*t, indexing="ij")[i], par="part=%d" % i, grad=g, wrt=[i])
    for name in ("transposed", "sliced", "flipped"):
        x = seen("f32", name, grid, -9, 9)
        out.torch("roll", name, [x], lambda t: torch.roll(t, (1, 2), (0, 1)), par="shifts=1,2 axes=0,1", grad=seed)
        out.torch("tril", name, [x], torch.tril, par="k=0", grad=seed)
        out.torch("diagonal", name, [x], torch.diagonal, par="k=0 a=0 b=1", grad=seed)


# ---- choices -------------------------------------------------------------------------------------------------
def choices():
    for tag in SOME:
        for name, shape, mshape in (("same", (3, 4), (3, 4)), ("rows", (3, 4), (3, 1)), ("vector", (3, 4), (4,))):
            m = In("bool", rng.integers(0, 2, mshape))
            fn = lambda t, b: t.masked_fill(b, 1)
            out.torch("masked_fill", name, [values(tag, *shape), m], fn, par="v=1", grad=grads(tag), out=tag)
    x, m = values("f32", 3, 4), In("bool", rng.integers(0, 2, (3, 4)))
    out.torch("masked_fill", "infinite", [x, m], lambda t, b: t.masked_fill(b, float("-inf")), par="v=-inf.", grad=seed)
    v = In("f32", 2.5)
    out.torch("masked_fill", "tensor", [x, m, v], lambda t, b, w: torch.where(b, w, t), grad=seed)
    for tag in ("i64", "i32", "u8", "i8"):
        for name, shape, n in (("vector", (5,), 4), ("matrix", (2, 3), 7), ("scalar", (), 3), ("none", (0,), 3)):
            i = In(tag, rng.integers(0, n, shape))
            want = F.one_hot(torch.tensor(i.np().astype(np.int64)), n).numpy()
            out.case("one_hot", name, [i], want, par="classes=%d" % n, out="i64")
    i = In("i64", [0, -1, 3, 2, 2**40])
    out.case("one_hot", "outside", [i], i.np()[:, None] == np.arange(3), par="classes=3", out="i64")
    for tag in ("f32", "f64", "f16", "i32"):
        for name, shape in (("vector", (5,)), ("matrix", (2, 3)), ("scalar", ()), ("none", (0,))):
            i, w = In("i64", rng.integers(0, 6, shape)), values(tag, 6, 3)
            out.torch("embedding", name, [i, w], lambda j, t: F.embedding(j, t), grad=grads(tag), out=tag)
    big, nan, inf = 2.0**60, float("nan"), float("inf")
    for tag in ("f32", "f64"):
        a = In(tag, [1, 1, 1, 0, inf, inf, 1, -inf, nan, nan, 100, 100])
        b = In(tag, [1, 1.0625, 1.25, 0.0625, inf, -inf, inf, -inf, nan, 1, 112, 114])
        for name, r, t in (("both", 0.125, 0.0625), ("relative", 0.125, 0.0), ("absolute", 0.0, 0.0625), ("exact", 0.0, 0.0)):
            want = torch.isclose(torch.tensor(a.np()), torch.tensor(b.np()), r, t).numpy()
            out.case("isclose", name, [a, b], want, par="rtol=%g atol=%g" % (r, t), out="bool")
    a, b = In("i64", [0, 10, 10, -10, 2**60]), In("i64", [1, 11, 12, -11, 2**60])
    want = torch.isclose(torch.tensor(a.np()), torch.tensor(b.np()), 0.125, 0.0).numpy()
    out.case("isclose", "int", [a, b], want, par="rtol=0.125 atol=0", out="bool")


# ---- einsum --------------------------------------------------------------------------------------------------
EINSUM = (
    ("matmul", "ij,jk->ik", (3, 4), (4, 5)),
    ("matmul_t", "ij,kj->ik", (3, 4), (5, 4)),
    ("t_matmul", "ji,jk->ki", (4, 3), (4, 5)),
    ("batch", "bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("heads", "bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("heads_back", "bhqk,bkhd->bqhd", (2, 2, 3, 5), (2, 5, 2, 4)),
    ("vector", "ij,j->i", (3, 4), (4,)),
    ("dot", "i,i->", (5,), (5,)),
    ("outer", "i,j->ij", (3,), (4,)),
    ("outer_swapped", "i,j->ji", (3,), (4,)),
    ("hadamard", "ij,ij->ij", (3, 4), (3, 4)),
    ("transpose", "ij->ji", (3, 4)),
    ("sum_all", "ij->", (3, 4)),
    ("sum_rows", "ij->j", (3, 4)),
    ("trace", "ii", (4, 4)),
    ("diagonal", "ii->i", (4, 4)),
    ("batch_diagonal", "bii->bi", (2, 3, 3)),
    ("cube_diagonal", "iii->i", (3, 3, 3)),
    ("two_diagonals", "iijj->ij", (2, 2, 3, 3)),
    ("implicit", "ij,jk", (3, 4), (4, 5)),
    ("implicit_sorted", "ba", (3, 4)),
    ("implicit_capital", "bA", (3, 4)),
    ("ellipsis", "...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    ("ellipsis_broadcast", "...ij,...jk->...ik", (2, 1, 3, 4), (3, 4, 5)),
    ("ellipsis_implicit", "...ij,jk", (2, 3, 4), (4, 5)),
    ("ellipsis_last", "i...->...i", (2, 3, 4)),
    ("ellipsis_none", "...i,...i->...", (4,), (4,)),
    ("ellipsis_diagonal", "...ii->...i", (2, 3, 3)),
    ("two_sums", "ijk,jkl->il", (2, 3, 4), (3, 4, 5)),
    ("two_sums_crossed", "ijk,kjl->il", (2, 3, 4), (4, 3, 5)),
    ("alone", "ijx,jk->ik", (2, 3, 4), (3, 5)),
    ("alone_both", "ijx,yjk->ik", (2, 3, 4), (2, 3, 5)),
    ("three", "ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("three_kept", "ij,jk,jl->ikl", (2, 3), (3, 4), (3, 2)),
    ("bilinear", "bi,oij,bj->bo", (3, 4), (2, 4, 5), (3, 5)),
    ("four", "ab,bc,cd,da->", (2, 3), (3, 4), (4, 2), (2, 2)),
    ("scalar", ",ij->ij", (), (2, 3)),
    ("scalars", ",->", (), ()),
    ("size_one", "ij,jk->ik", (3, 1), (4, 5)),
    ("size_one_kept", "ij,ij->ij", (3, 1), (1, 4)),
    ("empty_sum", "ij,jk->ik", (3, 0), (0, 2)),
    ("empty", "ij,jk->ik", (0, 3), (3, 2)),
)


def einsum():
    for tag in ("f32", "f64", "f16", "bf16", "i32", "u8"):
        for name, formula, *shapes in EINSUM:
            ins = [whole(tag, 0, 3, *s) for s in shapes]  # small whole numbers: exact in every type
            fn = lambda *t: torch.einsum(formula, *[v if tag in FLOATS else v.long() for v in t])
            out.torch("einsum", name, ins, fn, par="f=" + formula, grad=grads(tag), out=tag, ga=0 if tag == "f64" else None)
    b = [In("bool", rng.integers(0, 2, (3, 4))), In("bool", rng.integers(0, 2, (4, 2)))]
    out.case("einsum", "bool", b, b[0].np() @ b[1].np(), par="f=ij,jk->ik")
    m = [whole("f32", 0, 3, 3, 4), whole("i32", 0, 3, 4, 2)]
    out.case("einsum", "promoted", m, m[0].np() @ m[1].np(), par="f=ij,jk->ik")
    v = [In("f32", grid("f32", -2, 2, 4, 3).a, ("T", (1, 0))), In("f32", grid("f32", -2, 2, 4, 5).a, ("F", (0,)))]
    out.torch("einsum", "views", v, lambda x, y: torch.einsum("ij,jk->ik", x, y), par="f=ij,jk->ik", a=1e-6, grad=seed)


# ---- sorting ---------------------------------------------------------------------------------------------------
def np_sorted(a, axis, down):
    """Stable, NaN the greatest: indices and values. NumPy's stable sort is so for ascending ones; for descending ones the
    row is reversed before and after."""
    if down:
        i = a.shape[axis] - 1 - np.flip(np.argsort(np.flip(a, axis), axis=axis, kind="stable"), axis)
    else:
        i = np.argsort(a, axis=axis, kind="stable")
    return i, np.take_along_axis(a, i, axis)


def top(a, k, axis, smallest):
    i, v = np_sorted(a, axis, not smallest)
    part = tuple(slice(0, k) if d == axis % a.ndim else slice(None) for d in range(a.ndim))
    return i[part], v[part]


def sort_cases():
    """Inputs by name: with ties, apart, with everything that is special."""
    for tag in IN_ORDER:
        if tag == "bool":
            yield tag, "random", In("bool", rng.integers(0, 2, (3, 7)))
            continue
        if tag in FLOATS:
            yield tag, "corners", float_corners(tag)
            z = np.array([0.0, -0.0, 1, -0.0, 0.0, np.nan, -1, 0.0, np.inf, -np.nan, -np.inf, -0.0])
            yield tag, "zeros_nan_ties", In(tag, np.stack([z, np.flip(z), np.roll(z, 5)]))
        else:
            yield tag, "corners", int_corners(tag)
        yield tag, "ties", whole(tag, 0, 4, 3, 50)
        yield tag, "long", whole(tag, 0, 100, 300)


def sorting():
    for tag, name, x in sort_cases():
        for down in (0, 1):
            i, v = np_sorted(x.np(), -1, down)
            par = "axis=-1 down=%d" % down
            out.case("sort", "%s_%d" % (name, down), [x], v, par=par)
            out.case("argsort", "%s_%d" % (name, down), [x], i, par=par, out="i64")
            k = max(x.np().shape[-1] // 10, 1)
            i, v = top(x.np(), k, -1, down)
            par = "k=%d axis=-1 smallest=%d" % (k, down)
            out.case("topk", "%s_%d" % (name, down), [x], v, par=par)
            out.case("topk_index", "%s_%d" % (name, down), [x], i, par=par, out="i64")
    for tag in ("f32", "f64", "f16", "i16"):
        for axis in (0, 1, 2, -2):
            x = apart(tag, -9, 9, 3, 5, 4) if tag in FLOATS else whole(tag, 0, 99, 3, 5, 4)
            out.torch("sort", "axis_%d" % axis, [x], lambda t: t.sort(dim=axis, stable=True)[0], par="axis=%d down=0" % axis, grad=grads(tag))
            out.torch("sort", "axis_%d_down" % axis, [x], lambda t: t.sort(axis, True)[0], par="axis=%d down=1" % axis, grad=grads(tag))
            if tag in FLOATS:
                out.torch("argsort", "axis_%d" % axis, [x], lambda t: t.sort(axis)[1], par="axis=%d down=0" % axis, out="i64")
            n = x.np().shape[axis]
            for k in sorted({0, 1, 2, n}):
                for small in (0, 1):
                    par = "k=%d axis=%d smallest=%d" % (k, axis, small)
                    variant = "axis_%d_%d_%d" % (axis, k, small)
                    fn = lambda t: t.topk(k, axis, not small)[0]
                    if tag in FLOATS:  # no two are equal: PyTorch's order of ties is its own business
                        out.torch("topk", variant, [x], fn, par=par, grad=grads(tag))
                    else:
                        out.case("topk", variant, [x], top(x.np(), k, axis, small)[1], par=par)
                    out.case("topk_index", variant, [x], top(x.np(), k, axis, small)[0], par=par, out="i64")
    for shape, axis in (((0,), 0), ((3, 0), 1), ((3, 0), 0), ((1,), 0), ((), 0), ((), -1)):
        x = grid("f32", -9, 9, *shape)
        name = "shape_%s_%d" % ("x".join(map(str, shape)) or "none", axis)
        out.case("sort", name, [x], x.np(), par="axis=%d down=0" % axis)
        out.case("argsort", name, [x], np.zeros(shape), par="axis=%d down=1" % axis, out="i64")
    for view in VIEWS:
        x = seen("f32", view, grid, -9, 9)
        out.case("sort", view, [x], np.sort(x.np(), -1), par="axis=-1 down=0")
        out.case("argsort", view, [x], np_sorted(x.np(), 0, 1)[0], par="axis=0 down=1", out="i64")


# ---- scattering ------------------------------------------------------------------------------------------------
HOW = ("sum", "prod", "mean", "amax", "amin")
PLACES = (
    ("first", (5, 3), 0, (4, 3)),
    ("last", (3, 5), -1, (3, 4)),
    ("middle", (2, 5, 3), 1, (2, 4, 3)),
    ("smaller", (3, 5), 1, (2, 4)),
    ("smaller_rows", (4, 3), 0, (3, 2)),
    ("vector", (7,), 0, (5,)),
    ("none", (3, 5), 1, (3, 0)),
)


def once(size, axis, shape):
    """An index that names no element twice along the axis."""
    a = np.argsort(rng.random(tuple(size if d == axis % len(shape) else n for d, n in enumerate(shape))), axis)
    return In("i64", np.take(a, range(shape[axis]), axis))


def written(x, axis, index, src):
    """One element after the other, the last wins."""
    y, axis = x.copy(), axis % x.ndim
    for at in np.ndindex(index.shape):
        to = list(at)
        to[axis] = index[at]
        y[tuple(to)] = src[at] if np.ndim(src) else src
    return y


def scattering():
    for tag in SOME + ("i64", "bf16"):
        for name, shape, axis, ishape in PLACES:
            x, s, i = values(tag, *shape), values(tag, *ishape), once(shape[axis], axis, ishape)
            par = "axis=%d" % axis
            out.torch("scatter", name, [x, i, s], lambda t, j, v: t.scatter(axis, j, v), par=par, grad=grads(tag), out=tag)
            out.torch("scatter", name + "_number", [x, i], lambda t, j: t.scatter(axis, j, 1), par=par + " v=1", grad=grads(tag), out=tag)
            r = In("i64", rng.integers(0, shape[axis], ishape))
            out.case("scatter", name + "_ties", [x, r, s], written(x.np(), axis, r.np(), s.np()), par=par)
            if tag == "bool":
                continue
            for how, word in enumerate(HOW):
                for exclude in (0, 1):
                    if tag in FLOATS:  # whole numbers, none of them 0: exact products, and no ties but those of the index
                        x, s = apart(tag, 1, 9, *shape), apart(tag, 1.5, 7, *ishape)
                        x.a, s.a = round_to(tag, np.round(x.a * 2) / 2), round_to(tag, np.round(s.a * 2) / 2 + 0.25 * (how > 2))
                    fn = lambda t, j, v: t.scatter_reduce(axis, j, v, word, include_self=not exclude)
                    p = par + " how=%d exclude=%d" % (how, exclude)
                    loose = {} if tag not in HALF else {"u": 8}
                    if tag in ("f32", "f64") and word in ("mean", "prod"):
                        loose = {"u": 2}
                    out.torch("scatter_reduce", "%s_%s_%d" % (name, word, exclude), [x, r, s], fn, par=p, grad=grads(tag), out=tag, **loose)
    z = In("f64", [2.0, 3.0, 0.0, 1.5]), In("i64", [0, 0, 1, 1, 2, 2, 2]), In("f64", [0, 5.0, 0, 0, 2.0, 4, 0.5])
    for exclude in (0, 1):
        fn = lambda t, j, v: t.scatter_reduce(0, j, v, "prod", include_self=not exclude)
        out.torch("scatter_reduce", "prod_zeros_%d" % exclude, list(z), fn, par="axis=0 how=1 exclude=%d" % exclude, grad=seed, u=2)
    x, i = grid("f32", -9, 9, 5), In("i64", [5, -1, 99])
    want = written(x.np(), 0, np.clip(i.np(), 0, 4), np.array([1.0, 2, 3]))
    out.case("scatter", "out_of_range", [x, i, In("f32", [1, 2, 3])], want, par="axis=0")


def masks():
    for tag in SOME:
        for name, shape, size in (("all", (4, 5), 20), ("few", (4, 5), 3), ("more", (4, 5), 25), ("vector", (9,), 5), ("room0", (9,), 0)):
            x, m = values(tag, *shape), In("bool", rng.integers(0, 2, shape))
            fn = lambda t, b: torch.cat([t[b], torch.zeros(size, dtype=t.dtype)])[:size]
            out.torch("masked_select", name, [x, m], fn, par="size=%d" % size, grad=grads(tag), out=tag)
            if tag not in ("f16", "u8"):
                x = In(tag, x.a * m.a) if tag != "bool" else m
                found = np.argwhere(x.np())
                want = np.concatenate([found, np.full((size, len(shape)), -1)])[:size]
                out.case("nonzero", name, [x], want, par="size=%d" % size, out="i64")
    x, m = values("f32", 3, 4), In("bool", [[True], [False], [True]])
    out.torch("masked_select", "broadcast", [x, m], lambda t, b: t.masked_select(b), par="size=8", grad=seed)
    out.case("masked_select", "none", [In("f32", np.zeros((0, 3))), In("bool", np.zeros((0, 3)))], np.zeros(2), par="size=2")
    out.case("nonzero", "none", [In("f32", np.zeros((0, 3)))], np.full((2, 2), -1), par="size=2", out="i64")


# ---- what must be refused -------------------------------------------------------------------------------------
def refusals():
    f = lambda *s: In("f32", np.ones(s))
    i = lambda *s: In("i64", np.zeros(s))
    for n, (op, ins, par) in enumerate(
        (
            ("tril", [f(3)], "k=0"),
            ("triu", [f()], "k=0"),
            ("diag", [f()], "k=0"),
            ("diag", [f(2, 2, 2)], "k=0"),
            ("diag", [f(2)], "k=9223372036854775807"),
            ("diagonal", [f(2, 2)], "k=0 a=0 b=-2"),
            ("diagonal", [f(2)], "k=0 a=0 b=1"),
            ("roll", [f(3)], "shifts=1,2 axes=0"),
            ("roll", [f(3)], "shifts=1 axes=1"),
            ("roll", [f(3)], "shifts=1,2"),
            ("repeat_interleave", [f(3)], "times=-1 axis=0"),
            ("repeat_interleave", [f(3)], "times=2 axis=1"),
            ("unflatten", [f(6)], "axis=0 sizes=4,2"),
            ("unflatten", [f(6)], "axis=0 sizes=-1,-1"),
            ("unflatten", [f(6)], "axis=0 sizes=4,-1"),
            ("unflatten", [f(6)], "axis=1 sizes=6"),
            ("split", [f(6)], "axis=0 sizes=4,3 part=0"),
            ("split", [f(6)], "axis=0 sizes=4,1 part=0"),
            ("split", [f(6)], "axis=0 sizes=7,-1 part=0"),
            ("split", [f(6)], "axis=1 sizes=6 part=0"),
            ("chunk", [f(6)], "axis=0 n=0 part=0"),
            ("chunk", [f(6)], "axis=1 n=2 part=0"),
            ("meshgrid", [f(2), f(2, 2)], "part=0"),
            ("masked_fill", [f(3), f(3)], "v=1"),
            ("masked_fill", [i(3), In("bool", [True, False, True])], "v=1.5"),
            ("one_hot", [f(3)], "classes=3"),
            ("one_hot", [i(3)], "classes=-1"),
            ("embedding", [i(3), f(3)], ""),
            ("embedding", [f(3), f(3, 2)], ""),
            ("isclose", [f(3), f(3)], "rtol=-1 atol=0"),
            ("isclose", [f(3), f(4)], "rtol=0 atol=0"),
            ("scatter", [f(3), f(2), f(2)], "axis=0"),
            ("scatter", [f(3), i(2), f(1)], "axis=0"),
            ("scatter", [i(3), i(2), f(2)], "axis=0"),
            ("scatter", [f(3), i(2, 2), f(2, 2)], "axis=0"),
            ("scatter_reduce", [f(3), i(2), f(1)], "axis=0 how=0 exclude=0"),
            ("scatter_reduce", [f(3), i(2), f(2)], "axis=0 how=9 exclude=0"),
            ("masked_select", [f(3), f(3)], "size=2"),
            ("masked_select", [f(3), In("bool", [True, True])], "size=2"),
            ("nonzero", [f(3)], "size=-1"),
            ("sort", [f(2, 3)], "axis=2 down=0"),
            ("argsort", [f()], "axis=1 down=0"),
            ("topk", [f(2, 3)], "k=4 axis=1 smallest=0"),
            ("topk_index", [f(2, 3)], "k=-1 axis=0 smallest=0"),
            ("einsum", [f(2, 3), f(4, 2)], "f=ij,jk->ik"),
            ("einsum", [f(2, 3)], "f=ijk->i"),
            ("einsum", [f(2, 3)], "f=i->i"),
            ("einsum", [f(2, 3)], "f=ij->ii"),
            ("einsum", [f(2, 3)], "f=ij->ik"),
            ("einsum", [f(2, 3)], "f=ij,jk->ik"),
            ("einsum", [f(2, 3), f(3, 2)], "f=ij->ij"),
            ("einsum", [f(2, 3)], "f=i1->i"),
            ("einsum", [f(2, 3)], "f=i..->i"),
            ("einsum", [f(2, 3)], "f=......->"),
            ("einsum", [f(2, 3)], "f=ij->i->j"),
            ("einsum", [f(2, 3)], "f=ij-i"),
            ("einsum", [f(2, 3)], "f=ii->i"),
        )
    ):
        out.refuse(op, "refuse_%d" % n, ins, par)


def main():
    for part in (parts, choices, einsum, sorting, scattering, masks, refusals):
        part()
    out.save("index", "%d cases, %d numbers to compare" % (len(out.names), out.elements))


if __name__ == "__main__":
    main()
