#!/usr/bin/env python3
"""Values of convolutions, pooling, resizing and padding by reflection, forward and gradient, computed by PyTorch in float64.

Run with numpy, torch and mpmath installed: writes conv.txt beside this file, which is committed; tests/unit/conv.c reads
it. ops_lib.py says how the file is laid out and what tolerances mean. The seed is fixed: the same versions give the same
file.

Most inputs are small whole numbers or multiples of 1/32, so that sums in any order are exact or nearly so: the
tolerance of a sum of n products is n eps sum|x w|, and zeros may have either sign.
"""


import numpy as np
import torch
import torch.nn.functional as F

from ops_lib import *

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
BACK = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
MAXP = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVGP = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def words(**kw):
    """Parameters as the file has them: lists joined by commas, what is None left out."""
    text = []
    for k, v in kw.items():
        if v is None:
            continue
        text.append("%s=%s" % (k, ",".join(map(str, v)) if isinstance(v, (tuple, list)) else int(v)))
    return " ".join(text)


def pairs(padding, m):
    """Padding in any of Ridge's forms as F.pad has it: the last axis first."""
    p = (padding,) if isinstance(padding, int) else tuple(padding or (0,))
    p = p * (2 * m) if len(p) == 1 else tuple(x for x in p for _ in (0, 1)) if len(p) == m else p
    return [x for i in reversed(range(m)) for x in p[2 * i : 2 * i + 2]]


def bound(tag, n, x, w):
    """Of a sum of n products in any order, rounded once."""
    big = np.abs(x.a).max(initial=0) * np.abs(w.a).max(initial=0)
    return n * n * big * eps(acc(tag))


def grad_bound(tag, n):
    """Of a gradient, a sum of about n products of numbers up to 2."""
    return None if tag in HALF else 16 * n * eps(tag)


# ---- convolutions -------------------------------------------------------------------------------------------------
def conv(variant, tag, x, w, bias=True, stride=None, padding=None, dilation=None, groups=None, make=grid):
    m = len(x) - 2
    ins = [make(tag, -2, 2, *x), make(tag, -1, 1, *w)] + ([make(tag, -3, 3, w[0])] if bias else [])
    par = words(stride=stride, padding=padding, dilation=dilation, groups=groups, bias=1 if bias else None)
    one = lambda v: 1 if v is None else v[0] if len(v) == 1 else tuple(v)

    def fn(t, k, b=None):
        t = F.pad(t, pairs(padding, m))
        return CONV[m](t, k, b, one(stride), 0, one(dilation), groups or 1)

    if tag not in FLOATS:
        want = fn(*[torch.from_numpy(i.a.astype(np.float64)) for i in ins]).numpy()
        out.case("conv%dd" % m, variant, ins, want, par=par)
        return
    n = int(np.prod(w[1:])) + 1
    a = bound(tag, n, ins[0], ins[1])
    ga = grad_bound(tag, max(int(np.prod(x)), int(np.prod(w))))
    out.torch("conv%dd" % m, variant, ins, fn, par=par, u=0.51 if tag in HALF else 1, a=a, grad=seed, ga=ga, gu=2)


def convs():
    for tag in ("f32", "f64"):
        conv("plain", tag, (2, 3, 9), (4, 3, 3))
        conv("no_bias", tag, (2, 3, 9), (4, 3, 3), bias=False)
        conv("stride", tag, (2, 2, 11), (3, 2, 3), stride=(2,))
        conv("stride_cut", tag, (1, 2, 12), (3, 2, 4), stride=(3,), padding=(1,))
        conv("dilation", tag, (2, 2, 11), (3, 2, 3), dilation=(3,))
        conv("uneven", tag, (2, 2, 7), (3, 2, 4), padding=(3, 1))
        conv("crop", tag, (2, 2, 9), (3, 2, 3), padding=(-1, -2))
        conv("crop_and_pad", tag, (2, 2, 9), (3, 2, 3), padding=(-2, 2), stride=(2,))
        conv("groups", tag, (2, 6, 8), (4, 3, 3), groups=2, padding=(1,))
        conv("plain", tag, (2, 3, 6, 7), (4, 3, 3, 3))
        conv("one_channel", tag, (2, 1, 8, 8), (4, 1, 5, 5))
        conv("padded", tag, (2, 3, 6, 7), (4, 3, 3, 3), padding=(1,))
        conv("padded_each", tag, (2, 3, 5, 6), (4, 3, 3, 5), padding=(1, 2))
        conv("padded_uneven", tag, (1, 2, 5, 6), (3, 2, 3, 3), padding=(0, 2, 1, -1))
        conv("strided", tag, (2, 3, 9, 8), (4, 3, 3, 3), stride=(2,), padding=(1,))
        conv("strided_each", tag, (2, 2, 9, 8), (2, 2, 3, 2), stride=(3, 2))
        conv("dilated", tag, (1, 2, 9, 9), (3, 2, 3, 3), dilation=(2, 3), padding=(2, 1))
        conv("dilated_strided", tag, (1, 2, 10, 9), (3, 2, 3, 3), dilation=(2,), stride=(2, 3), padding=(2,))
        conv("groups", tag, (2, 4, 6, 6), (6, 2, 3, 3), groups=2)
        conv("depthwise", tag, (2, 4, 6, 6), (4, 1, 3, 3), groups=4, padding=(1,))
        conv("depthwise_twice", tag, (2, 3, 7, 6), (6, 1, 3, 3), groups=3, stride=(2,))
        conv("point", tag, (2, 5, 4, 3), (6, 5, 1, 1))
        conv("point_strided", tag, (2, 5, 5, 4), (6, 5, 1, 1), stride=(2,))
        conv("point_padded", tag, (1, 3, 3, 3), (2, 3, 1, 1), padding=(1,))
        conv("patches", tag, (2, 3, 8, 6), (4, 3, 4, 2), stride=(4, 2))
        conv("patches_rest", tag, (2, 2, 9, 8), (3, 2, 4, 3), stride=(4, 3))
        conv("whole", tag, (3, 2, 4, 5), (6, 2, 4, 5))
        conv("whole_dilated", tag, (2, 2, 5, 3), (3, 2, 3, 2), dilation=(2,))
        conv("row", tag, (2, 2, 5, 6), (3, 2, 1, 3), padding=(0, 1))
        conv("plain", tag, (2, 2, 4, 5, 4), (3, 2, 2, 3, 3))
        conv("all", tag, (1, 4, 5, 6, 5), (4, 2, 3, 2, 3), stride=(2, 1, 2), padding=(1, 0, 2), dilation=(1, 2, 1), groups=2)
        conv("none", tag, (0, 3, 6, 7), (4, 3, 3, 3))
    for tag in HALF:
        conv("half", tag, (2, 3, 6, 6), (4, 3, 3, 3), padding=(1,))
        conv("half_strided", tag, (1, 4, 7, 7), (4, 2, 3, 3), stride=(2,), groups=2)
        conv("half", tag, (2, 3, 9), (4, 3, 3))
    # sums that f16 cannot hold on the way
    big = [In("f16", np.full((1, 2, 3, 3), 200.0)), In("f16", np.array([200.0, -200.0] * 9).reshape(1, 9, 2).transpose(0, 2, 1).reshape(1, 2, 3, 3))]
    out.torch("conv2d", "no_overflow", big, F.conv2d, par=words(bias=None), u=0, a="z")
    for tag in IN:
        conv("whole_numbers", tag, (2, 3, 5, 6), (4, 3, 3, 3), padding=(1,), make=lambda t, lo, hi, *s: whole(t, 0, 3, *s))
    conv("whole_numbers", "i32", (2, 3, 9), (4, 3, 3), make=lambda t, lo, hi, *s: whole(t, -9, 9, *s))
    bits = [whole("bool", 0, 1, 1, 2, 5), whole("bool", 0, 1, 3, 2, 2)]
    want = F.conv1d(torch.from_numpy(bits[0].a).double(), torch.from_numpy(bits[1].a).double()).numpy() > 0
    out.case("conv1d", "bools", bits, want)


def back(variant, tag, x, w, bias=True, stride=None, padding=None, dilation=None, groups=None, extra=None):
    m = len(x) - 2
    g = groups or 1
    ins = [grid(tag, -2, 2, *x), grid(tag, -1, 1, *w)] + ([grid(tag, -3, 3, w[1] * g)] if bias else [])
    par = words(stride=stride, padding=padding, dilation=dilation, groups=groups, bias=1 if bias else None, output_padding=extra)
    one = lambda v, d=1: d if v is None else v[0] if len(v) == 1 else tuple(v)
    crop = [-p for p in pairs(padding, m)]

    def fn(t, k, b=None):  # uneven padding is a crop of the result
        t = BACK[m](t, k, None, one(stride), 0, one(extra, 0), g, one(dilation))
        t = F.pad(t, crop)
        return t if b is None else t + b.reshape((-1,) + (1,) * m)

    n = x[1] * int(np.prod(w[2:])) + 1
    a = bound(tag, n, ins[0], ins[1])
    ga = grad_bound(tag, max(int(np.prod(x)), int(np.prod(w))))
    out.torch("conv_transpose%dd" % m, variant, ins, fn, par=par, u=0.51 if tag in HALF else 1, a=a, grad=seed, ga=ga, gu=2)


def transposed():
    for tag in ("f32", "f64"):
        back("plain", tag, (2, 3, 7), (3, 4, 3))
        back("stride", tag, (2, 3, 5), (3, 2, 4), stride=(2,), padding=(1,))
        back("extra", tag, (2, 3, 5), (3, 2, 3), stride=(2,), padding=(1,), extra=(1,))
        back("dilation", tag, (1, 2, 5), (2, 3, 3), dilation=(2,), stride=(2,), padding=(2, 1))
        back("plain", tag, (2, 3, 4, 5), (3, 4, 3, 3))
        back("strided", tag, (2, 3, 4, 4), (3, 2, 3, 3), stride=(2,), padding=(1,), extra=(1,))
        back("groups", tag, (1, 4, 4, 3), (4, 3, 3, 2), groups=2, stride=(1, 2))
        back("depthwise", tag, (2, 3, 4, 4), (3, 1, 3, 3), groups=3, stride=(2,))
        back("tiles", tag, (2, 3, 4, 3), (3, 2, 2, 3), stride=(2, 3))
        back("tiles_extra", tag, (1, 2, 3, 3), (2, 2, 2, 2), stride=(2,), extra=(1, 0), padding=(0, 1))
        back("grown", tag, (1, 2, 3, 3), (2, 2, 3, 3), padding=(-1, -2))
        back("point", tag, (2, 3, 4, 4), (3, 5, 1, 1))
        back("plain", tag, (1, 2, 3, 3, 2), (2, 3, 2, 2, 3), stride=(2, 1, 2), padding=(1, 0, 1), extra=(1, 0, 0))
    for tag in HALF:
        back("half", tag, (2, 3, 4, 4), (3, 2, 3, 3), stride=(2,), padding=(1,))


# ---- pooling -------------------------------------------------------------------------------------------------------
def tuple_of(v, m):
    return None if v is None else tuple(v) * m if len(v) == 1 else tuple(v)


def max_pool(variant, tag, x, size, stride=None, padding=None, dilation=None, ceil=False, grad=True):
    """PyTorch pads both sides alike; that of one side is a crop of x and explicit padding, so only even padding is here."""
    m = len(x.a.shape) - 2
    par = words(size=size, stride=stride, padding=padding, dilation=dilation, ceil=1 if ceil else None)
    t = lambda v, d: tuple_of(v, m) if v is not None else (d,) * m
    args = (t(size, 1), t(stride or size, 1), t(padding, 0), t(dilation, 1), ceil)
    if tag not in FLOATS:
        out.case("max_pool%dd" % m, variant, [x], MAXP[m](torch.from_numpy(x.a), *args).numpy(), par=par)
        return
    out.torch("max_pool%dd" % m, variant, [x], lambda v: MAXP[m](v, *args), par=par, grad=seed if grad else None, a="z")
    if m == 2:
        i = F.max_pool2d(torch.from_numpy(x.a), *args, return_indices=True)[1]
        out.case("max_pool2d_index", variant, [x], i.numpy(), par=par, out="i64")


def max_pools():
    for tag in FL:
        g = lambda *s: whole(tag, -3, 3, *s)  # few values: many ties
        max_pool("tiles", tag, g(2, 3, 6, 8), (2,))
        if tag in HALF:
            max_pool("overlap", tag, g(2, 2, 7, 8), (3,), stride=(2,), padding=(1,))
            continue
        max_pool("line", tag, g(2, 3, 9), (3,))
        max_pool("line_overlap", tag, g(2, 3, 9), (3,), stride=(1,))
        max_pool("line_padded", tag, g(2, 3, 9), (4,), stride=(3,), padding=(2,))
        max_pool("tiles_cut", tag, g(2, 3, 7, 9), (2,))
        max_pool("tiles_each", tag, g(2, 1, 6, 9), (2, 3))
        max_pool("tiles_ceil", tag, g(2, 3, 7, 9), (2,), ceil=True)
        max_pool("tiles_padded", tag, g(2, 3, 7, 9), (2,), padding=(1,))
        max_pool("overlap", tag, g(2, 2, 7, 8), (3,), stride=(2,))
        max_pool("overlap_padded", tag, g(2, 2, 7, 8), (3,), stride=(2,), padding=(1,))
        max_pool("overlap_ceil", tag, g(2, 2, 8, 8), (3,), stride=(2,), ceil=True)
        max_pool("ceil_dropped", tag, g(2, 2, 7, 7), (2,), stride=(3,), padding=(1,), ceil=True)
        max_pool("dilated", tag, g(2, 2, 9, 8), (3, 2), stride=(2, 1), dilation=(2, 3), padding=(1,))
        max_pool("equal", tag, In(tag, np.ones((1, 2, 6, 6))), (3,), stride=(2,), padding=(1,))
        max_pool("global", tag, g(2, 3, 4, 5), (4, 5))
        max_pool("space", tag, g(2, 2, 4, 5, 6), (2,))
        max_pool("space_overlap", tag, g(1, 2, 5, 5, 5), (3, 2, 3), stride=(1, 2, 2), padding=(1, 1, 0))
        odd = g(1, 2, 6, 6)
        odd.a[0, 0, 1, 2] = odd.a[0, 0, 4, 4] = np.nan  # of several in a window Ridge takes the first, PyTorch the last
        odd.a[0, 1, 0:3, 0:3] = -np.inf
        odd.a[0, 1, 5, 5] = np.inf
        max_pool("none", tag, g(0, 2, 6, 6), (3,), stride=(2,), padding=(1,))
        max_pool("nan", tag, odd, (2,))
        max_pool("nan_overlap", tag, odd, (3,), stride=(2,), padding=(1,))
    for tag in ("i8", "u8", "i32", "i64"):
        max_pool("whole", tag, whole(tag, 0, 9, 2, 2, 6, 6), (3,), stride=(2,), padding=(1,))
        max_pool("corners", tag, In(tag, np.array(limits(tag) * 8, INTS[tag]).reshape(1, 1, 4, 4)), (2,))


def avg_pool(variant, tag, x, size, stride=None, padding=None, ceil=False, exclude=False):
    m = len(x.a.shape) - 2
    par = words(size=size, stride=stride, padding=padding, ceil=1 if ceil else None, exclude=1 if exclude else None)
    t = lambda v, d: tuple_of(v, m) if v is not None else (d,) * m
    fn = lambda v: AVGP[m](v, t(size, 1), t(stride or size, 1), t(padding, 0), ceil, not exclude)
    n = int(np.prod(tuple_of(size, m)))
    a = n * eps(acc(tag)) * np.abs(x.a).max()
    out.torch("avg_pool%dd" % m, variant, [x], fn, par=par, u=0.51 if tag in HALF else 2, a=a, grad=seed, gu=4)


def avg_pools():
    for tag in FL:
        g = lambda *s: grid(tag, -3, 3, *s)
        avg_pool("overlap_padded", tag, g(2, 2, 7, 8), (3,), stride=(2,), padding=(1,))
        if tag in HALF:
            continue
        avg_pool("line", tag, g(2, 3, 9), (3,), stride=(2,))
        avg_pool("line_excluded", tag, g(2, 3, 9), (4,), stride=(3,), padding=(2,), exclude=True, ceil=True)
        avg_pool("tiles", tag, g(2, 3, 6, 8), (2,))
        avg_pool("tiles_cut", tag, g(2, 3, 7, 9), (2, 3))
        avg_pool("tiles_ceil", tag, g(2, 3, 7, 9), (2,), ceil=True)
        avg_pool("excluded", tag, g(2, 2, 7, 8), (3,), stride=(2,), padding=(1,), exclude=True)
        avg_pool("ceil", tag, g(2, 2, 8, 8), (3,), stride=(2,), padding=(1,), ceil=True)
        avg_pool("ceil_excluded", tag, g(2, 2, 8, 8), (3,), stride=(2,), padding=(1,), ceil=True, exclude=True)
        avg_pool("ceil_dropped", tag, g(2, 2, 7, 7), (2,), stride=(3,), padding=(1,), ceil=True)
        avg_pool("global", tag, g(2, 3, 4, 5), (4, 5))
        avg_pool("space", tag, g(1, 2, 5, 4, 5), (2, 3, 2), stride=(2, 1, 2), padding=(1, 1, 0))


def adaptive():
    for tag in FL:
        sizes = ((7, 9, 3, 4), (8, 6, 4, 3), (5, 7, 1, 1), (5, 6, 5, 4), (3, 4, 5, 8)) if tag not in HALF else ((7, 9, 3, 4),)
        for h, w, a, b in sizes:
            x = grid(tag, -3, 3, 2, 3, h, w)
            fn = lambda t: F.adaptive_avg_pool2d(t, (a, b))
            tol = 40 * eps(acc(tag))
            par = words(h=a, w=b)
            out.torch("adaptive_avg_pool2d", "%dx%d_to_%dx%d" % (h, w, a, b), [x], fn, par=par, u=0.51 if tag in HALF else 2, a=tol, grad=seed)


def unpool():
    for tag in FL:
        x = apart(tag, -3, 3, 2, 3, 6, 8)
        y, i = F.max_pool2d(torch.from_numpy(x.a), 2, return_indices=True)
        small = In(tag, y.numpy())
        out.torch("max_unpool2d", "tiles", [small, In("i64", i.numpy())], lambda t, k: F.max_unpool2d(t, k, 2), par="h=6 w=8", grad=seed, a="z")
        if tag in HALF:
            continue
        i32 = In("i32", i.numpy())
        out.torch("max_unpool2d", "larger", [small, i32], lambda t, k: F.max_unpool2d(t, k.long(), 2, output_size=(7, 9)), par="h=7 w=9", a="z")
        y, i = F.max_pool2d(torch.from_numpy(x.a), 3, 2, 1, return_indices=True)  # one element in up to four windows
        two = [In(tag, y.numpy()), In("i64", i.numpy())]
        out.torch("max_unpool2d", "overlap", two, lambda t, k: F.max_unpool2d(t, k, 3, 2, 1, output_size=(6, 8)), par="h=6 w=8", u=1, a="z")


# ---- other sizes ---------------------------------------------------------------------------------------------------
def resize(variant, tag, x, size, mode, corners=False):
    m = len(size)
    name = "nearest-exact" if mode == 1 else "nearest" if mode == 0 else ("linear", "bilinear", "trilinear")[m - 1]
    par = words(dims=size, mode=mode, corners=1 if corners else None)
    if tag not in FLOATS:
        want = F.interpolate(torch.from_numpy(x.a.astype(np.float64)), size, mode=name).numpy()
        out.case("interpolate", variant, [x], want, par=par)
        return
    fn = lambda t: F.interpolate(t, size, mode=name, align_corners=corners if mode == 2 else None)
    tol = "z" if mode < 2 else 60 * eps(acc(tag)) * max(x.a.shape)
    ga = 200 * eps(tag) * max(max(size), max(x.a.shape)) if tag not in HALF else None
    out.torch("interpolate", variant, [x], fn, par=par, u=0 if mode < 2 else 0.51 if tag in HALF else 2, a=tol, grad=seed, ga=ga)


def resizes():
    for tag in ("f32", "f64"):
        g = lambda *s: grid(tag, -3, 3, *s)
        for mode, word in ((0, "nearest"), (1, "exact"), (2, "linear")):
            resize(word + "_line_up", tag, g(2, 3, 5), (12,), mode)
            resize(word + "_line_down", tag, g(2, 3, 11), (4,), mode)
            resize(word + "_twice", tag, g(2, 2, 4, 5), (8, 15), mode)
            resize(word + "_half", tag, g(2, 2, 8, 9), (4, 3), mode)
            resize(word + "_mixed", tag, g(1, 2, 5, 9), (7, 4), mode)
            resize(word + "_same", tag, g(1, 2, 5, 4), (5, 4), mode)
            resize(word + "_one", tag, g(1, 2, 5, 1), (1, 3), mode)
            resize(word + "_space", tag, g(1, 2, 3, 4, 3), (5, 4, 6), mode)
        for name, x, size in (("line_up", (2, 3, 5), (12,)), ("line_down", (2, 3, 11), (4,)), ("mixed", (1, 2, 5, 9), (7, 4)), ("one", (1, 2, 5, 1), (1, 3)), ("space", (1, 2, 3, 4, 3), (5, 2, 6))):
            resize("corners_" + name, tag, g(*x), size, 2, corners=True)
    for tag in HALF:
        for mode, word in ((0, "nearest"), (2, "linear")):
            resize(word + "_half_type", tag, grid(tag, -3, 3, 1, 2, 5, 4), (7, 8), mode)
    resize("whole", "i32", whole("i32", -9, 9, 1, 2, 5, 4), (7, 8), 0)
    resize("whole", "u8", whole("u8", 0, 200, 1, 2, 5, 4), (10, 3), 1)


def pad_like():
    """Padding from the first axis on; PyTorch's begins with the last, and leaves (N, C) alone."""
    for tag in ("f32", "f64", "f16"):
        for mode, name in ((1, "reflect"), (2, "replicate"), (3, "circular")):
            for variant, shape, pads in (
                ("line", (2, 3, 5), (2, 3)),
                ("one_side", (2, 3, 5), (0, 4)),
                ("plane", (1, 2, 4, 5), (1, 2, 3, 0)),
                ("crop", (1, 2, 6, 5), (2, -1, -2, 1)),
                ("space", (1, 2, 3, 4, 3), (1, 2, 2, 1, 0, 1)),
            ):
                m = len(shape) - 2
                fn = lambda t: F.pad(t, pairs(pads, m) if m > 1 else pads, mode=name)
                par = words(pads=(0, 0, 0, 0) + pads, mode=mode)
                out.torch("pad_with", name + "_" + variant, [grid(tag, -3, 3, *shape)], fn, par=par, grad=seed, ga=8 * eps(tag) * 16)
    first = In("i32", np.arange(12).reshape(3, 4))
    out.case("pad_with", "first_axis", [first], np.pad(first.a, ((2, 1), (0, 0)), mode="reflect"), par="pads=2,1 mode=1")
    out.case("pad_with", "zeros", [first], np.pad(first.a, ((2, 1), (0, 3))), par="pads=2,1,0,3 mode=0")


def unfolds():
    for tag in ("f32", "f64"):
        for variant, shape, axis, size, step in (
            ("line", (11,), 0, 3, 2),
            ("first", (7, 4), 0, 3, 1),
            ("middle", (2, 9, 3), 1, 4, 2),
            ("last", (2, 3, 8), -1, 3, 3),
            ("tiles", (2, 9), 1, 3, 3),
            ("single", (3, 5), 1, 1, 2),
            ("whole", (3, 5), 1, 5, 1),
        ):
            fn = lambda t: t.unfold(axis, size, step)
            out.torch("unfold", variant, [grid(tag, -3, 3, *shape)], fn, par=words(axis=axis, size=size, step=step), grad=seed)
    x = whole("i16", -9, 9, 3, 8)
    out.case("unfold", "whole", [x], torch.from_numpy(x.a).unfold(1, 3, 2).numpy(), par="axis=1 size=3 step=2")


# ---- what must be refused -----------------------------------------------------------------------------------------
def refusals():
    f = lambda *s: In("f32", np.ones(s))
    for name, op, ins, par in (
        ("rank", "conv2d", [f(3, 8, 8), f(4, 3, 3, 3)], ""),
        ("weight_rank", "conv2d", [f(1, 3, 8, 8), f(4, 3, 3)], ""),
        ("channels", "conv2d", [f(1, 3, 8, 8), f(4, 2, 3, 3)], ""),
        ("group_channels", "conv2d", [f(1, 4, 8, 8), f(4, 4, 3, 3)], "groups=2"),
        ("group_results", "conv2d", [f(1, 4, 8, 8), f(3, 2, 3, 3)], "groups=2"),
        ("small", "conv2d", [f(1, 3, 2, 8), f(4, 3, 3, 3)], ""),
        ("bias", "conv2d", [f(1, 3, 8, 8), f(4, 3, 3, 3), f(3)], "bias=1"),
        ("stride", "conv2d", [f(1, 3, 8, 8), f(4, 3, 3, 3)], "stride=0"),
        ("stride_list", "conv2d", [f(1, 3, 8, 8), f(4, 3, 3, 3)], "stride=1,1,1"),
        ("padding_list", "conv2d", [f(1, 3, 8, 8), f(4, 3, 3, 3)], "padding=1,1,1"),
        ("cropped", "conv1d", [f(1, 3, 4), f(4, 3, 1)], "padding=-3,-3"),
        ("output_padding", "conv1d", [f(1, 3, 4), f(4, 3, 1)], "output_padding=1"),
        ("output_padding", "conv_transpose1d", [f(1, 3, 4), f(3, 4, 2)], "output_padding=1"),
        ("channels", "conv_transpose1d", [f(1, 3, 4), f(4, 3, 2)], ""),
        ("rank", "max_pool2d", [f(8, 8)], "size=2"),
        ("size", "max_pool2d", [f(1, 1, 8, 8)], ""),
        ("large", "max_pool2d", [f(1, 1, 3, 8)], "size=4"),
        ("padding", "max_pool2d", [f(1, 1, 8, 8)], "size=2 padding=2"),
        ("padding", "avg_pool2d", [f(1, 1, 8, 8)], "size=3 padding=2"),
        ("index", "max_unpool2d", [f(1, 1, 2, 2), In("i64", [[[[0, 1]]]])], "h=4 w=4"),
        ("size", "adaptive_avg_pool2d", [f(1, 1, 8, 8)], "h=0 w=3"),
        ("sizes", "interpolate", [f(1, 1, 8, 8)], "dims=4 mode=0"),
        ("corners", "interpolate", [f(1, 1, 8, 8)], "dims=4,4 mode=0 corners=1"),
        ("mode", "interpolate", [f(1, 1, 8, 8)], "dims=4,4 mode=7"),
        ("reflect", "pad_with", [f(3)], "pads=3,0 mode=1"),
        ("circular", "pad_with", [f(3)], "pads=0,4 mode=3"),
        ("pairs", "pad_with", [f(3)], "pads=1 mode=1"),
        ("size", "unfold", [f(3)], "axis=0 size=4 step=1"),
        ("step", "unfold", [f(3)], "axis=0 size=2 step=0"),
    ):
        out.refuse(op, "refuse_" + name, ins, par)


def main():
    for part in (convs, transposed, max_pools, avg_pools, adaptive, unpool, resizes, pad_like, unfolds, refusals):
        part()
    out.save("conv", "%d cases, %d numbers to compare" % (len(out.names), out.elements))


if __name__ == "__main__":
    main()
