"""Cases of moves, joins, picking by index, and numbers made from nothing. See make_ops.py."""

import numpy as np
import torch
import torch.nn.functional as F

from ops_lib import *


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
    for name, shape, to in (
        ("flat", (3, 5), (15,)),
        ("split", (12,), (2, 3, 2)),
        ("minus1", (3, 4, 2), (4, -1)),
        ("rank0", (1,), ()),
        ("from_rank0", (), (1, 1)),
        ("ones", (3, 1, 5), (1, 5, 3)),
        ("empty", (0, 3), (3, 0)),
        ("axes6", (4, 6), (2, 2, 1, 3, 2, 1)),
    ):
        move("reshape", name, shape, "dims=" + commas(to), lambda x: x.reshape(to), lambda t: t.reshape(to))
    for name, shape, order in (
        ("swap", (3, 5), (1, 0)),
        ("rotate", (2, 3, 4), (2, 0, 1)),
        ("same", (2, 3), (0, 1)),
        ("negative", (2, 3, 4), (-1, 0, -2)),
        ("axes5", (2, 1, 3, 2, 2), (4, 2, 0, 3, 1)),
        ("rank0", (), ()),
    ):
        move("permute", name, shape, "axes=" + commas(order), lambda x: x.transpose(order), lambda t: t.permute(order))
    for name, shape, a, b in (
        ("matrix", (3, 5), 0, 1),
        ("last_two", (2, 3, 4), -1, -2),
        ("outer", (2, 3, 4), 0, 2),
        ("same", (2, 3), 1, 1),
    ):
        move("transpose", name, shape, "a=%d b=%d" % (a, b), lambda x: x.swapaxes(a, b), lambda t: t.transpose(a, b))
    for name, shape, to in (
        ("column", (3, 1), (3, 5)),
        ("front", (5,), (2, 3, 5)),
        ("keep", (1, 4), (3, -1)),
        ("rank0", (), (2, 3)),
        ("both", (1, 3, 1), (2, 3, 4)),
        ("none", (1, 3), (0, 3)),
    ):
        move(
            "expand",
            name,
            shape,
            "dims=" + commas(to),
            lambda x: np.broadcast_to(x, tuple(x.shape[i - len(to)] if d < 0 else d for i, d in enumerate(to))),
            lambda t: t.expand(to),
        )
    for name, shape, v in (
        ("head", (7,), ((0, 3, 1),)),
        ("tail", (7,), ((-3, None, 1),)),
        ("step", (13,), ((1, 12, 3),)),
        ("reverse", (7,), ((-1, None, -1),)),
        ("reverse_step", (13,), ((-2, 2, -3),)),
        ("reverse_part", (7,), ((5, 1, -1),)),
        ("first_axis", (5, 3), ((1, 4, 1),)),
        ("both", (5, 7), ((4, None, -2), (1, -1, 2))),
        ("empty", (5,), ((3, 3, 1),)),
        ("empty_beyond", (5,), ((9, 12, 1),)),
        ("clipped", (5,), ((-9, 99, 1),)),
        ("one", (5, 4), ((2, 3, 1), (-1, None, 1))),
        ("axes5", (2, 3, 2, 4, 3), ((0, None, 1), (0, None, 2), (-1, None, -1), (1, 3, 1), (2, 0, -1))),
        ("step_past", (7,), ((2, None, 10),)),
        ("crossed", (7,), ((5, 2, 1),)),
    ):
        i = In("f32", np.zeros(shape), ("S", v))
        move("slice", name, shape, slices_par(v), lambda x: x[tuple(slice(b, e, s) for b, e, s in v)], i.torch)
    for name, shape, pads in (
        ("vector", (5,), (2, 1)),
        ("matrix", (3, 4), (1, 0, 0, 2)),
        ("crop", (5, 4), (-1, -2, -1, 0)),
        ("mixed", (3, 5), (2, -1, -2, 3)),
        ("first_only", (3, 4), (1, 1)),
        ("none", (3,), (0, 0)),
        ("to_empty", (3,), (-1, -2)),
        ("of_empty", (0, 2), (1, 2, 0, 0)),
    ):
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
        out.case(
            "pad",
            "value_%s" % ("nan" if np.isnan(v) else "inf"),
            [x],
            np.pad(x.np(), (1, 2), constant_values=v),
            par="pads=1,2 value=%s" % v,
        )
    for name, shape, axes in (
        ("vector", (7,), (0,)),
        ("first", (3, 5), (0,)),
        ("both", (3, 5), (0, 1)),
        ("negative", (2, 3, 4), (-1,)),
        ("middle", (2, 3, 4), (1,)),
        ("one", (1, 3), (0,)),
        ("empty", (0, 3), (0, 1)),
    ):
        move("flip", name, shape, "axes=" + commas(axes), lambda x: np.flip(x, axes), lambda t: t.flip(axes))
    move("squeeze", "axis", (3, 1, 5), "axis=1", lambda x: x.squeeze(1), lambda t: t.squeeze(1))
    move("squeeze", "negative", (3, 1), "axis=-1", lambda x: x.squeeze(-1), lambda t: t.squeeze(-1))
    move("squeeze", "all", (1, 3, 1, 2, 1), "", lambda x: x.squeeze(), lambda t: t.squeeze())
    for axis in (0, 1, 2, -1, -3):
        move(
            "unsqueeze", "axis%d" % axis, (3, 5), "axis=%d" % axis, lambda x: np.expand_dims(x, axis), lambda t: t.unsqueeze(axis)
        )
    move("unsqueeze", "rank0", (), "axis=0", lambda x: x.reshape(1), lambda t: t.unsqueeze(0))
    for name, shape, a, b in (
        ("all", (2, 3, 4), 0, -1),
        ("tail", (2, 3, 4), 1, 2),
        ("head", (2, 3, 4), 0, 1),
        ("single", (2, 3), 1, 1),
    ):
        move(
            "flatten",
            name,
            shape,
            "first=%d last=%d" % (a, b),
            lambda x: torch.from_numpy(np.array(x)).flatten(a, b).numpy(),
            lambda t: t.flatten(a, b),
        )
    for name, shape, times in (
        ("vector", (5,), (3,)),
        ("matrix", (2, 3), (2, 2)),
        ("front", (3,), (2, 1, 2)),
        ("none", (3,), (0,)),
        ("once", (2, 3), (1, 1)),
        ("rank0", (), (4,)),
    ):
        move("repeat", name, shape, "times=" + commas(times), lambda x: np.tile(x, times), lambda t: t.repeat(times))
    for name, shape, axis, start, size in (
        ("head", (7, 3), 0, 0, 4),
        ("tail", (3, 7), -1, 4, 3),
        ("none", (5,), 0, 2, 0),
        ("from_end", (7,), 0, -3, 2),
    ):
        move(
            "narrow",
            name,
            shape,
            "axis=%d start=%d size=%d" % (axis, start, size),
            lambda x: torch.from_numpy(np.array(x)).narrow(axis, start, size).numpy(),
            lambda t: t.narrow(axis, start, size),
        )
    for name, shape, axis, at in (
        ("row", (5, 3), 0, 2),
        ("column", (5, 3), 1, -1),
        ("vector", (5,), 0, 0),
        ("middle", (2, 3, 4), 1, 1),
    ):
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
            (
                "cat",
                np.concatenate,
                torch.cat,
                (
                    ("first", ((2, 3), (1, 3), (4, 3)), 0),
                    ("last", ((2, 3), (2, 1)), -1),
                    ("middle", ((2, 1, 2), (2, 3, 2)), 1),
                    ("one", ((5,),), 0),
                    ("with_empty", ((2, 3), (0, 3), (1, 3)), 0),
                    ("all_empty", ((0,), (0,)), 0),
                    ("many", ((1,),) * 17, 0),
                ),
            ),
            (
                "stack",
                np.stack,
                torch.stack,
                (
                    ("front", ((3, 2),) * 3, 0),
                    ("middle", ((3, 2),) * 2, 1),
                    ("last", ((3, 2),) * 2, -1),
                    ("scalars", ((),) * 4, 0),
                    ("one", ((3,),), 1),
                ),
            ),
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
        for name, shape, axis, ishape in (
            ("first", (5, 3), 0, (4, 3)),
            ("last", (3, 5), -1, (3, 7)),
            ("middle", (2, 5, 3), 1, (2, 2, 3)),
            ("smaller", (3, 5), 1, (2, 2)),
            ("vector", (7,), 0, (13,)),
            ("none", (3, 5), 1, (3, 0)),
        ):
            x, i = make(*shape), index(shape[axis], *ishape)
            out.torch("gather", name, [x, i], lambda t, j: torch.gather(t, axis, j), par="axis=%d" % axis, grad=grad)
        for name, shape, axis, ishape in (
            ("rows", (5, 3), 0, (4,)),
            ("columns", (3, 5), 1, (7,)),
            ("table", (5, 3), 0, (2, 3)),
            ("scalar", (5, 3), 0, ()),
            ("middle", (2, 5, 3), -2, (2, 2)),
            ("none", (5, 3), 0, (0,)),
        ):
            x, i = make(*shape), index(shape[axis], *ishape)
            want = np.take(x.np(), i.np(), axis=axis)
            fn = lambda t, j: t.index_select(axis, j.reshape(-1)).reshape(want.shape)
            out.torch("take", name, [x, i], fn, par="axis=%d" % axis, grad=grad, want=want)
        if tag == "bool":
            continue
        for name, shape, axis, ishape in (
            ("first", (5, 3), 0, (7, 3)),
            ("last", (3, 5), -1, (3, 9)),
            ("smaller", (3, 5), 0, (2, 4)),
            ("vector", (5,), 0, (17,)),
            ("none", (3,), 0, (0,)),
        ):
            x, i, s = (
                whole(tag, 0, 5, *shape),
                index(shape[axis], *ishape),
                whole(tag, 0, 5, *ishape),
            )  # whole numbers: any order of addition
            out.torch("scatter_add", name, [x, i, s], lambda t, j, v: t.scatter_add(axis, j, v), par="axis=%d" % axis, grad=grad)
    for tag in ("i32", "u8", "i8"):  # any integer type may be an index
        x = grid("f32", -9, 9, 7)
        i = index(7, 5, tag=tag)
        out.case("take", "index_type", [x, i], x.np()[i.np().astype(np.int64)], par="axis=0")


# ---- numbers made from nothing ------------------------------------------------------------------------------
def creation():
    for tag in IN + FL:
        for name, a, b, s in (("up", 0, 7, 1), ("step", 1, 20, 3), ("one", 5, 6, 1), ("none", 3, 3, 1)):
            out.case(
                "arange",
                name + "_" + tag,
                [],
                np.arange(a, b, s),
                par="dtype=%s start=%d stop=%d step=%d" % (tag, a, b, s),
                out=tag,
            )
        for name, n, m in (("square", 5, 5), ("wide", 3, 7), ("tall", 7, 2), ("one", 1, 1), ("none", 0, 3)):
            out.case("eye", name + "_" + tag, [], np.eye(n, m), par="dtype=%s n=%d m=%d" % (tag, n, m), out=tag)
        out.case("full", "matrix_" + tag, [], np.full((3, 5), 7), par="dtype=%s value=7 dims=3,5" % tag, out=tag)
        out.case("full", "rank0_" + tag, [], np.array(3), par="dtype=%s value=3 dims=" % tag, out=tag)
    for tag in SIGNED + FL:
        out.case("arange", "down_" + tag, [], np.arange(10, -10, -3), par="dtype=%s start=10 stop=-10 step=-3" % tag, out=tag)
    for tag in FL:
        # start + i*step, two roundings of numbers up to 2
        out.case("arange", "fraction_" + tag, [], np.arange(-1, 2, 0.25), par="dtype=%s start=-1 stop=2 step=0.25" % tag, out=tag)
        out.case(
            "arange",
            "tenth_" + tag,
            [],
            np.arange(0, 1, 0.1),
            par="dtype=%s start=0 stop=1 step=0.1" % tag,
            out=tag,
            u=1,
            a=2 * eps(tag),
        )
        for name, a, b, n in (
            ("unit", 0, 1, 11),
            ("signed", -3, 3, 13),
            ("down", 5, -5, 6),
            ("one", 2, 9, 1),
            ("none", 0, 1, 0),
            ("two", 2, 9, 2),
        ):
            want = np.linspace(a, b, n)
            out.case(
                "linspace",
                name + "_" + tag,
                [],
                want,
                par="dtype=%s start=%d stop=%d n=%d" % (tag, a, b, n),
                out=tag,
                u=1,
                a=2 * eps(tag) * max(abs(a), abs(b)) if n > 2 else 0,
            )
    for tag, v in (("f32", np.nan), ("f32", -0.0), ("f16", np.inf), ("f64", 0.1), ("bf16", -2.5)):
        out.case(
            "full",
            "value_%s_%s" % (tag, str(v).strip("-").replace(".", "_")),
            [],
            np.full(3, v),
            par="dtype=%s value=%r dims=3" % (tag, float(v)),
            out=tag,
        )
