"""Rows of networks: norms, convolutions, pools, attention, losses; random numbers; steps that are no function of values: assignment,
realizing, gradients, layers, optimisers, files."""

import math
import os
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

from header import E, V, Tensor, number, text
from program import ALL, FL, IN, INTS, dtype, is_float, load, round_to, store, ft
from table import ROWS, kind, promoted, row


def channels(g, tags, d, least=1, **kw):
    """(N, C, ..) with d axes after C."""
    return g.t(
        tags,
        shape=[g.r.choice((0, 1, 1, 2, 3)) if least == 0 else g.r.choice((1, 2, 3))]
        + [g.r.choice((1, 2, 3, 4))]
        + [g.r.choice((1, 2, 3, 4, 5, 6, 8)) for _ in range(d)],
        **kw
    )


def maybe(g, p, v):
    return v if g.r.random() < p else None


# ---- norms --------------------------------------------------------------------------------------------------------
def gen_layernorm(g):
    x = g.t(FL, rank=(1, 4), least=1)
    s = g.shape(x)
    n = g.r.randint(1, len(s))
    w = maybe(g, 0.6, True) and g.t((g.tag(x),), shape=s[-n:])
    b = maybe(g, 0.5, True) and g.t((g.tag(x),), shape=s[-n:])
    o = {"axes": n} if n > 1 or g.r.random() < 0.3 else {}
    if g.r.random() < 0.4:
        o["eps"] = 0.125
    return [x, w, b, o]


def norm_over(x, d, eps):
    c = x - x.mean(d, keepdim=True)
    return c / torch.sqrt((c * c).mean(d, keepdim=True) + eps)


def scale(y, w, b):
    y = y if w is None else y * w
    return y if b is None else y + b


def ref_layernorm(x, w, b, o):
    n = o.get("axes") or (w.dim() if w is not None else b.dim() if b is not None else 1)
    return scale(norm_over(x, tuple(range(-n, 0)), o.get("eps", 1e-5)), w, b)


row("layernorm", gen_layernorm, ref_layernorm, weight=1.5)


def gen_rmsnorm(g):
    x = g.t(FL, rank=(1, 4), least=1)
    return [
        x,
        maybe(g, 0.6, True) and g.t((g.tag(x),), shape=g.shape(x)[-1:]),
        {"eps": 0.125} if g.r.random() < 0.4 else {},
    ]


row(
    "rmsnorm",
    gen_rmsnorm,
    lambda x, w, o: scale(x / torch.sqrt((x * x).mean(-1, keepdim=True) + o.get("eps", 1e-5)), w, None),
)


def per_channel(v, x):
    return v if v is None else v.reshape([1, -1] + [1] * (x.dim() - 2))


def channel_args(g, x, p=0.6):
    c = g.shape(x)[1]
    w = maybe(g, p, True) and g.t((g.tag(x),), shape=[c])
    return w, (g.t((g.tag(x),), shape=[c]) if w is not None and g.r.random() < 0.8 else None)


def gen_groupnorm(g):
    x = channels(g, FL, g.r.randint(1, 2))
    groups = g.r.choice([k for k in range(1, g.shape(x)[1] + 1) if g.shape(x)[1] % k == 0])
    w, b = channel_args(g, x)
    return [x, groups, w, b, {"eps": 0.125} if g.r.random() < 0.4 else {}]


def ref_groupnorm(x, groups, w, b, o):
    y = norm_over(x.reshape(x.shape[0], groups, -1), -1, o.get("eps", 1e-5)).reshape(x.shape)
    return scale(y, per_channel(w, x), per_channel(b, x))


row("groupnorm", gen_groupnorm, ref_groupnorm)


def gen_instancenorm(g):
    x = channels(g, FL, g.r.randint(1, 2))
    w, b = channel_args(g, x)
    return [x, w, b, {"eps": 0.125}]


row(
    "instancenorm",
    gen_instancenorm,
    lambda x, w, b, o: scale(norm_over(x, tuple(range(2, x.dim())), o["eps"]), per_channel(w, x), per_channel(b, x)),
)


def gen_batchnorm(g):
    x = channels(g, FL, g.r.randint(0, 2), least=0)
    c = g.shape(x)[1]
    w, b = channel_args(g, x)
    return [x, g.t((g.tag(x),), shape=[c]), g.t((g.tag(x),), shape=[c], lo=0.3, hi=3), w, b, {}]


def ref_batchnorm(x, m, v, w, b, o):
    f = lambda t: per_channel(t, x)
    return scale((x - f(m)) / torch.sqrt(f(v) + 1e-5), f(w), f(b))


row("batchnorm", gen_batchnorm, ref_batchnorm)


def gen_normalize(g):
    x = g.t(FL, rank=(1, 4), least=1, nonzero=True)
    return [x, g.r.choice((1.0, 2.0, 2.0)), g.axis(x)]


row(
    "normalize",
    gen_normalize,
    lambda x, p, a: x / torch.clamp(x.abs().pow(p).sum(a, keepdim=True).pow(1 / p), min=1e-12),
)


# ---- convolution and pooling ----------------------------------------------------------------------------------------
def per_axis(v, d, default):
    v = list(v or [default])
    return v * d if len(v) == 1 else v


def sides(p, d):
    p = list(p or [0])
    if len(p) == 2 * d and d != 1 or len(p) == 2 and d == 1:
        return p
    return [v for a in per_axis(p, d, 0) for v in (a, a)]


def small_list(g, d, choices, pairs=False):
    how = g.r.random()
    n = 1 if how < 0.4 else 2 * d if pairs and how > 0.8 else d
    return [g.r.choice(choices) for _ in range(n)]


def gen_conv(d, transpose=False):
    def gen(g):
        groups = g.r.choice((1, 1, 1, 2))
        c, o = g.r.randint(1, 3) * groups, g.r.randint(1, 3) * groups
        size = [g.r.randint(2, 9 if d == 1 else 6 if d == 2 else 4) for _ in range(d)]
        x = g.t(
            FL + ("i32",),
            shape=[g.r.choice((0, 1, 1, 2, 3)) if not g.grads else g.r.randint(1, 2), c] + size,
            lo=-9,
            hi=9,
        )
        k = [g.r.randint(1, 3) for _ in range(d)]
        w = g.t((g.tag(x),), shape=([c, o // groups] if transpose else [o, c // groups]) + k, lo=-9, hi=9)
        opts = {}
        if g.r.random() < 0.6:
            opts["bias"] = g.t((g.tag(x),), shape=[o])
        if g.r.random() < 0.5:
            opts["stride"] = small_list(g, d, (1, 2, 3))
        if g.r.random() < 0.5:
            opts["padding"] = small_list(g, d, (0, 1) if transpose else (0, 1, 2), pairs=not transpose)
        if g.r.random() < 0.3:
            opts["dilation"] = small_list(g, d, (1, 2))
        if groups > 1:
            opts["groups"] = groups
        if transpose and g.r.random() < 0.3:
            s, l = per_axis(opts.get("stride"), d, 1), per_axis(opts.get("dilation"), d, 1)
            opts["output_padding"] = [
                g.r.randint(0, max(min(a, b) - 1, 0) if min(a, b) > 1 else 0) for a, b in zip(s, l)
            ]
        for a, (n, m) in enumerate(zip(size, k)):
            if not transpose:
                p = sides(opts.get("padding"), d)
                if n + p[2 * a] + p[2 * a + 1] < per_axis(opts.get("dilation"), d, 1)[a] * (m - 1) + 1:
                    return None
        return [x, w, opts]

    return gen


def ref_conv(d, transpose=False):
    def ref(x, w, o):
        x, w = x.to(ft()), w.to(ft())
        b = o.get("bias")
        b = None if b is None else b.to(ft())
        stride, dilation, groups = (
            per_axis(o.get("stride"), d, 1),
            per_axis(o.get("dilation"), d, 1),
            o.get("groups", 1),
        )
        p = sides(o.get("padding"), d)
        if transpose:
            f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[d - 1]
            return f(
                x, w, b, stride, [p[2 * a] for a in range(d)], per_axis(o.get("output_padding"), d, 0), groups, dilation
            )
        x = F.pad(x, [v for a in range(d - 1, -1, -1) for v in p[2 * a : 2 * a + 2]])
        if not x.shape[0]:
            one = ref(torch.zeros([1] + list(x.shape[1:])), w, {k: v for k, v in o.items() if k != "padding"})
            return one[:0]
        return (F.conv1d, F.conv2d, F.conv3d)[d - 1](x, w, b, stride, 0, dilation, groups)

    return ref


for d in (1, 2, 3):
    row("conv%dd" % d, gen_conv(d), ref_conv(d), weight=1.5 if d < 3 else 0.7)
    row("conv_transpose%dd" % d, gen_conv(d, True), ref_conv(d, True), weight=0.8 if d < 3 else 0.4)


def gen_pool(d, average=False, exact=False):
    def gen(g):
        x = channels(g, FL, d, exact=exact, least=0 if not g.grads else 1)
        size = g.shape(x)[2:]
        k = [g.r.randint(1, min(3, n)) for n in size]
        o = {"size": k if g.r.random() < 0.6 or len(set(k)) > 1 else k[:1]}
        k = per_axis(o["size"], d, 1)
        if g.r.random() < 0.5:
            o["stride"] = [g.r.randint(1, 3) for _ in range(d)]
        if g.r.random() < 0.4:
            o["padding"] = [g.r.randint(0, n // 2) for n in k]
        if not average and g.r.random() < 0.3:
            o["dilation"] = [g.r.randint(1, 2) for _ in range(d)]
        if g.r.random() < 0.3:
            o["ceil"] = True
        if average and g.r.random() < 0.3:
            o["exclude_padding"] = True
        pads, dil = o.get("padding", [0] * d), o.get("dilation", [1] * d)
        if any(n + 2 * p < l * (m - 1) + 1 for n, p, l, m in zip(size, pads, dil, k)):
            return None
        return [x, o]

    return gen


def ref_pool(d, average=False, index=False):
    def ref(x, o):
        k = per_axis(o["size"], d, 1)
        stride, pad = per_axis(o.get("stride"), d, 1) if o.get("stride") else k, per_axis(o.get("padding"), d, 0)
        if not x.shape[0]:
            return ref(torch.zeros([1] + list(x.shape[1:])), o)[:0]
        if average:
            return (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[d - 1](
                x, k, stride, pad, o.get("ceil", False), not o.get("exclude_padding", False)
            )
        y = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[d - 1](
            x, k, stride, pad, per_axis(o.get("dilation"), d, 1), o.get("ceil", False), index
        )
        return y[1] if index else y

    return ref


for d in (1, 2, 3):
    row("max_pool%dd" % d, gen_pool(d), ref_pool(d), weight=1.2 if d < 3 else 0.5)
    row("avg_pool%dd" % d, gen_pool(d, True), ref_pool(d, True), weight=1 if d < 3 else 0.5)
row("max_pool2d_index", gen_pool(2, exact=True), ref_pool(2, index=True), out="i64", discrete=True, weight=0.6)


def gen_unpool(g):
    x = channels(g, FL, 2)
    n, c, h, w = g.shape(x)
    H, W = h + g.r.randint(0, 3), w + g.r.randint(0, 3)
    at = torch.stack([torch.tensor(sorted(g.r.sample(range(H * W), h * w))) for _ in range(n * c)]).reshape(n, c, h, w)
    return [x, g.data("i64", at), H, W]


row(
    "max_unpool2d",
    gen_unpool,
    lambda x, i, h, w: torch.zeros(list(x.shape[:2]) + [h * w])
    .scatter(2, i.flatten(2), x.flatten(2))
    .reshape(list(x.shape[:2]) + [h, w]),
    move=True,
    weight=0.6,
)
row(
    "adaptive_avg_pool2d",
    lambda g: [channels(g, FL, 2), g.r.randint(1, 5), g.r.randint(1, 5)],
    lambda x, h, w: F.adaptive_avg_pool2d(x, (h, w)),
    weight=0.7,
)


def gen_interpolate(g):
    d = g.r.randint(1, 3)
    x = channels(g, FL, d)
    mode = g.r.choice(("RG_RESIZE_NEAREST", "RG_RESIZE_NEAREST_EXACT", "RG_RESIZE_LINEAR"))
    o = {"mode": E(mode)}
    if mode == "RG_RESIZE_LINEAR" and g.r.random() < 0.5:
        o["align_corners"] = True
    return [x, [g.r.randint(1, 7) for _ in range(d)], o]


def ref_interpolate(x, size, o):
    if o["mode"] == "RG_RESIZE_LINEAR":
        return F.interpolate(
            x,
            size,
            mode=("linear", "bilinear", "trilinear")[len(size) - 1],
            align_corners=o.get("align_corners", False),
        )
    for a, m in enumerate(size):
        n = x.shape[a + 2]
        at = [i * n // m if o["mode"] == "RG_RESIZE_NEAREST" else (2 * i + 1) * n // (2 * m) for i in range(m)]
        x = x.index_select(a + 2, torch.tensor(at))
    return x


row("interpolate", gen_interpolate, ref_interpolate, weight=0.8)


# ---- attention and losses -------------------------------------------------------------------------------------------
def gen_attention(g):
    tag = (g.r.choice(FL),)
    hk, r = g.r.randint(1, 2), g.r.choice((1, 1, 2))
    lead = g.r.choice(([], [1], [2]))
    T, S, D, Dv = g.r.randint(1, 5), g.r.randint(1, 6), g.r.choice((1, 2, 4, 5)), g.r.choice((1, 2, 4))
    t = lambda s: g.t(tag, shape=lead + s, lo=-4, hi=4)
    q, k, v = t([hk * r, T, D]), t([hk, S, D]), t([hk, S, Dv])
    o = {}
    if g.r.random() < 0.4:
        o["causal"] = True
    if g.r.random() < 0.4:
        o["mask"] = g.t(("bool",) if g.r.random() < 0.5 else tag, shape=[T, S])
    if g.r.random() < 0.3:
        o["scale"] = 0.5
    return [q, k, v, o]


def ref_attention(q, k, v, o, operand=lambda p: p):
    r = q.shape[-3] // k.shape[-3]
    k, v = k.repeat_interleave(r, -3), v.repeat_interleave(r, -3)
    T, S = q.shape[-2], k.shape[-2]
    s = q @ k.transpose(-1, -2) * (o.get("scale") or 1 / math.sqrt(q.shape[-1]))
    seen = torch.ones(T, S, dtype=torch.bool)
    if o.get("causal"):
        seen = seen.tril(max(S - T, 0))
    m = o.get("mask")
    if m is not None and m.dtype == torch.bool:
        seen = seen & m
    elif m is not None:
        s = s + m
    s = torch.where(seen, s, torch.full_like(s, -1e30))
    p = torch.where(seen, torch.softmax(s, -1), torch.zeros_like(s))
    o = operand(p) @ v
    # The gradient of the scores is P (dP - O dO), as in FlashAttention: it rounds O dO, and softmax's own does not.
    kept = p.detach()
    at = kept * torch.where(torch.isfinite(s), s, torch.zeros_like(s))
    w = kept + (at - at.detach())
    back = operand(w) @ v - w.sum(-1, keepdim=True) * o.detach()
    return o.detach() + (back - back.detach())


row(
    "attention",
    gen_attention,
    lambda r, raw, args, tags, out: ref_attention(*args, operand=lambda p: r.operand(p, out)),
    order=1,
    weight=1.5,
    raw=True,
)


def reduction(g):
    return E(g.r.choice(("RG_MEAN", "RG_MEAN", "RG_SUM", "RG_EACH")))


REDUCE = {"RG_MEAN": "mean", "RG_SUM": "sum", "RG_EACH": "none"}


def gen_classes(logs):
    def gen(g):
        shape = [g.r.randint(1, 4), g.r.randint(1, 5)] + [g.r.randint(1, 3) for _ in range(g.r.choice((0, 0, 1, 2)))]
        x = g.t(FL, shape=shape, lo=-9, hi=-0.1 if logs else 9)
        o = {"reduction": reduction(g)}
        if not logs and g.r.random() < 0.25:
            target = g.t((g.tag(x),), shape=shape, lo=0.1, hi=1)
        else:
            target = g.index(shape[:1] + shape[2:], shape[1])
            if g.r.random() < 0.3:
                o["ignore"], o["ignore_index"] = True, g.r.randrange(shape[1])
        if g.r.random() < 0.3:
            o["weight"] = g.t((g.tag(x),), shape=[shape[1]], lo=0.2, hi=2)
        if not logs and g.r.random() < 0.3:
            o["label_smoothing"] = 0.125
        return [x, target, o]

    return gen


def ref_classes(logs):
    """F.nll_loss and F.cross_entropy, with the roundings of logsumexp(x) - x."""

    def ref(x, t, o):
        lp = x if logs else x - torch.logsumexp(x, 1, keepdim=True)
        n, e = x.shape[1], o.get("label_smoothing", 0.0)
        w = torch.ones(n, dtype=x.dtype) if o.get("weight") is None else o["weight"]
        cost = -lp * w.reshape([1, -1] + [1] * (x.dim() - 2))
        if t.dtype == x.dtype:
            each, share = (cost * (t * (1 - e) + e / n)).sum(1), x.numel() / n
        else:
            keep = (t != o["ignore_index"]) if o.get("ignore") else torch.ones_like(t, dtype=torch.bool)
            each = (1 - e) * cost.gather(1, t.unsqueeze(1)).squeeze(1) + e / n * cost.sum(1)
            each = torch.where(keep, each, torch.zeros_like(each))
            share = torch.where(keep, w[t], torch.zeros_like(each)).sum()
        how = REDUCE[o["reduction"]]
        return each if how == "none" else each.sum() if how == "sum" else each.sum() / share

    return ref


row("cross_entropy", gen_classes(False), ref_classes(False), weight=1.5)
row("nll_loss", gen_classes(True), ref_classes(True))


def gen_pair_loss(lo=None, hi=None, tlo=None, thi=None, delta=False, pos=False, weight=False):
    def gen(g):
        x = g.t(FL, least=1, lo=lo, hi=hi)
        o = {"reduction": reduction(g)}
        if delta and g.r.random() < 0.5:
            o["delta"] = 0.5
        if weight and g.r.random() < 0.3:
            o["weight"] = g.t((g.tag(x),), shape=g.shape(x), lo=0.2, hi=2)
        if pos and g.r.random() < 0.3:
            o["pos_weight"] = g.t((g.tag(x),), shape=g.shape(x)[-1:], lo=0.2, hi=2)
        return [x, g.t((g.tag(x),), shape=g.shape(x), lo=tlo, hi=thi), o]

    return gen


def pair_loss(f):
    def ref(x, t, o):
        y = f(x, t, o)
        y = y if o.get("weight") is None else y * o["weight"]
        return y.mean() if o["reduction"] == "RG_MEAN" else y.sum() if o["reduction"] == "RG_SUM" else y

    return ref


def ref_bcel(x, t, o):
    sp = lambda z: torch.logaddexp(z, torch.zeros_like(z))
    pw = 1 if o.get("pos_weight") is None else o["pos_weight"]
    return pw * t * sp(-x) + (1 - t) * sp(x)


def huber(x, t, o):
    d, b = (x - t).abs(), o.get("delta", 1.0)
    return torch.where(d <= b, 0.5 * d * d, b * (d - 0.5 * b))


row("bce_with_logits", gen_pair_loss(-9, 9, 0.01, 1, pos=True, weight=True), pair_loss(ref_bcel))
row(
    "bce",
    gen_pair_loss(0.05, 0.95, 0.01, 1, weight=True),
    pair_loss(lambda x, t, o: -(t * torch.log(x) + (1 - t) * torch.log(1 - x))),
)
row("mse_loss", gen_pair_loss(), pair_loss(lambda x, t, o: (x - t) ** 2))
row("l1_loss", gen_pair_loss(), pair_loss(lambda x, t, o: (x - t).abs()))
row("smooth_l1_loss", gen_pair_loss(delta=True), pair_loss(lambda x, t, o: huber(x, t, o) / o.get("delta", 1.0)))
row("huber_loss", gen_pair_loss(delta=True), pair_loss(huber))
row("kl_div", gen_pair_loss(-9, -0.1, 0.05, 1), pair_loss(lambda x, t, o: t * (torch.log(t) - x)))


# ---- random numbers: Threefry-2x32 and the formulas of docs/semantics.md ---------------------------------------------
def threefry(counter, key):
    u = np.uint32
    k = [u(key & 0xFFFFFFFF), u(key >> 32)]
    k.append(u(int(k[0]) ^ int(k[1]) ^ 0x1BD11BDA))
    c = counter.astype(np.uint64)
    x0, x1 = c.astype(u) + k[0], (c >> np.uint64(32)).astype(u) + k[1]
    for r in range(20):
        n = (13, 15, 26, 6, 17, 29, 16, 24)[r % 8]
        x0 = x0 + x1
        x1 = (x1 << u(n)) | (x1 >> u(32 - n))
        x1 ^= x0
        if r % 4 == 3:
            i = r // 4 + 1
            x0, x1 = x0 + k[i % 3], x1 + k[(i + 1) % 3] + u(i)
    return x0, x1


def draw(r, shape, lots=1):
    n = math.prod(shape)
    out = []
    with np.errstate(over="ignore"):
        for k in range(lots):
            out.append(threefry(np.arange(n, dtype=np.uint64) + np.uint64(r.drawn + k * n), r.seed))
    if n:
        r.drawn += n * lots
    return out


def unit(bits, tag):
    lo, hi = (w.astype(np.uint64) for w in bits)
    if tag == "f64":
        return ((hi << np.uint64(32) | lo) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    b = {"f16": 11, "bf16": 8}.get(tag, 24)
    return (lo >> np.uint64(32 - b)).astype(np.float64) * 2.0**-b


def rand(r, shape, tag):
    return torch.from_numpy(unit(draw(r, shape)[0], tag)).reshape(shape)


def randn(r, shape, tag):
    if tag == "f64":
        a, b = draw(r, shape, 2)
        u1, u2 = unit(a, tag) + 2.0**-53, unit(b, tag)
    else:
        lo, hi = draw(r, shape)[0]
        u1 = ((lo >> np.uint32(1)).astype(np.float32) + np.float32(1)).astype(np.float64) * 2.0**-31
        u2 = (hi >> np.uint32(8)).astype(np.float64) * 2.0**-24
    angle = r.shake(
        torch.from_numpy(2 * np.pi * u2).to(ft()), 2.0 ** -(53 if tag == "f64" and ft() == torch.float64 else 24)
    )
    return (torch.from_numpy(np.sqrt(-2 * np.log(u1))) * torch.cos(angle.to(torch.float64))).reshape(shape)


def bounded(r, shape, tag, lo, hi):
    a, b = (round_to(torch.tensor(float(v)), tag).item() for v in (lo, hi))
    return rand(r, shape, tag) * (b - a) + a


def fan(shape):
    f = math.prod(shape[2:])
    return shape[1] * f, shape[0] * f


def random_row(name, gen, ref, out=None, exact=False, **kw):
    """The seed is the last argument (None: numbers go on from where they are)."""

    def refer(r, raw, args, tags, out):
        if raw[-1] is not None:
            r.seed, r.drawn = raw[-1], 0
        return ref(r, args[:-1], tags, out)

    def run(m, s):
        if s.args[-1] is not None:
            m.lib.call("rg_seed", m.ctx, s.args[-1])
        inner = ROWS[name]
        m.lib.handle[s.outs[0]] = m.lib.call(inner.fn, *inner.full(s.args[:-1], m.ctx, None))

    def c(s):
        seed = [] if s.args[-1] is None else ["rg_seed(c, %d);" % s.args[-1]]
        args = ROWS[name].full(s.args[:-1], E("c"), None)
        return seed + ["rg_tensor v%d = %s;" % (s.outs[0], text(lambda v: "v%d" % int(v), ROWS[name].fn, args))]

    row(
        name,
        lambda g: (lambda a: a and a + [None if g.jit else g.r.randrange(1 << 40)])(gen(g)),
        refer,
        raw=True,
        run=run,
        c=c,
        out=out or (lambda tags, args: args[0][3:].lower()),
        move=exact,
        order=0,
        weight=0.5,
        covers=("rg_" + name, "rg_seed"),
        **kw
    )


tag_of = lambda a: a[0][3:].lower()
fdt = lambda g: dtype(g.r.choice(FL))
random_row("rand", lambda g: [fdt(g), g.new_shape()], lambda r, a, t, out: rand(r, a[1], out), exact=True)
random_row("randn", lambda g: [fdt(g), g.new_shape()], lambda r, a, t, out: randn(r, a[1], out))
random_row(
    "uniform", lambda g: [fdt(g), -1.5, 2.0, g.new_shape()], lambda r, a, t, out: bounded(r, a[3], out, a[1], a[2])
)
random_row("normal", lambda g: [fdt(g), 0.5, 2.0, g.new_shape()], lambda r, a, t, out: randn(r, a[3], out) * 2 + 0.5)


def ref_randint(r, a, t, out):
    lo, hi, shape = a[1:4]
    x0, x1 = draw(r, shape)[0]
    v = [((int(h) << 32 | int(l)) * (hi - lo) >> 64) + lo for l, h in zip(x0, x1)]
    return torch.tensor(v, dtype=torch.int64).reshape(shape)


random_row(
    "randint",
    lambda g: [dtype(g.r.choice(IN)), g.r.randint(0, 5), g.r.randint(6, 100), g.new_shape()],
    ref_randint,
    exact=True,
)


def ref_randperm(r, a, t, out):
    x0, x1 = draw(r, [a[1]])[0]
    keys = [(int(h) << 32 | int(l)) for l, h in zip(x0, x1)]
    return torch.tensor(sorted(range(len(keys)), key=lambda i: keys[i]), dtype=torch.int64)


random_row(
    "randperm", lambda g: [dtype(g.r.choice(("i32", "i64", "u8", "f32"))), g.r.randint(0, 20)], ref_randperm, exact=True
)
random_row(
    "rand_like",
    lambda g: [g.t(FL)],
    lambda r, a, t, out: rand(r, list(a[0].shape), out),
    out=lambda tags, args: tags[0],
    exact=True,
)
random_row(
    "randn_like",
    lambda g: [g.t(FL)],
    lambda r, a, t, out: randn(r, list(a[0].shape), out),
    out=lambda tags, args: tags[0],
)
weight_shape = lambda g: [g.r.randint(1, 5) for _ in range(g.r.randint(2, 4))]
random_row(
    "glorot_uniform",
    lambda g: [fdt(g), weight_shape(g)],
    lambda r, a, t, out: (lambda b: bounded(r, a[1], out, -b, b))(math.sqrt(6 / sum(fan(a[1])))),
)
random_row(
    "kaiming_uniform",
    lambda g: [fdt(g), 0.5, weight_shape(g)],
    lambda r, a, t, out: (lambda b: bounded(r, a[2], out, -b, b))(math.sqrt(6 / 1.25 / fan(a[2])[0])),
)
random_row(
    "kaiming_normal",
    lambda g: [fdt(g), 0.5, weight_shape(g)],
    lambda r, a, t, out: randn(r, a[2], out) * math.sqrt(2 / 1.25 / fan(a[2])[0]),
)


def ref_dropout(r, a, t, out):
    x, p = a
    if p in (0.0, 1.0):
        return x * (1 - p)
    lo, _ = draw(r, list(x.shape))[0]
    dropped = torch.from_numpy(lo.astype(np.float64) < p * 2.0**32).reshape(x.shape)
    return torch.where(dropped, torch.zeros_like(x), x / (1 - p))


random_row("dropout", lambda g: [g.t(FL), g.r.choice((0.25, 0.5, 0.0))], ref_dropout, out=lambda tags, args: tags[0])
random_row(
    "bernoulli",
    lambda g: [g.t(FL, exact=True, lo=-0.2, hi=1.2)],
    lambda r, a, t, out: (rand(r, list(a[0].shape), "f64" if out == "f64" else "f32") < a[0]).to(ft()),
    out=lambda tags, args: tags[0],
    exact=True,
)


def ref_multinomial(r, a, t, out):
    w, n, _ = a
    k = w.shape[-1]
    run = w.to(ft()).cumsum(-1)
    u = rand(r, list(w.shape[:-1]) + [n], "f64") * run[..., -1:]
    return torch.minimum((run[..., None, :] <= u[..., None]).sum(-1), torch.tensor(k - 1))


random_row(
    "multinomial",
    lambda g: [g.t(("f32", "f64"), rank=(1, 2), least=1, exact=True, lo=0.1, hi=3), g.r.randint(1, 6), True],
    ref_multinomial,
    out=lambda tags, args: "i64",
    exact=True,
)


# ---- assignment, realizing, gradients: steps with an effect ----------------------------------------------------------
def assigned(r, raw, args, tags, out):
    x, v = args[0], args[1]
    v = v.to(x.dtype) if isinstance(v, torch.Tensor) else torch.tensor(v).to(x.dtype)
    return v.expand(x.shape).clone()


def rebind(fn):
    def run(m, s):
        m.lib.call(fn, *s.args)
        m.lib.handle[s.outs[0]] = m.lib.handle[s.args[0]]

    def c(s):
        return ["%s;" % text(lambda v: "v%d" % int(v), fn, s.args), "rg_tensor v%d = v%d;" % (s.outs[0], s.args[0])]

    return dict(run=run, c=c, fn=fn)


def gen_value(g, x, shape, into):
    """What may be assigned to a part of x of this shape."""
    if g.r.random() < 0.25:
        return g.r.choice((0.5, -2.0, 3)) if is_float(g.tag(x)) else 1
    small = [1 if g.r.random() < 0.2 else n for n in shape][
        g.r.randrange(len(shape) + 1) if g.r.random() < 0.2 else 0 :
    ]
    return g.t((g.tag(x),) if g.r.random() < 0.8 else into, shape=small)


def into_of(g, x):
    return FL if is_float(g.tag(x)) else (g.tag(x),)


def gen_assign(g):
    x = g.assignable()
    return x is not None and [x, gen_value(g, x, g.shape(x), into_of(g, x))] or None


row("assign", gen_assign, assigned, raw=True, move=True, rounds=True, weight=0, **rebind("rg_assign"))


def gen_assign_slice(g):
    from rows import cut, gen_ranges

    x = g.assignable(1)
    if x is None:
        return None
    part = gen_ranges(g, g.shape(x))
    box = cut(g.val(x), [(a, b, k, None if at is None else g.val(at)) for a, b, k, at in part]).shape
    return [x, gen_value(g, x, list(box), into_of(g, x)), part]


def ref_assign_slice(r, raw, args, tags, out):
    from rows import cut

    x, v, part = args
    at = cut(torch.arange(x.numel()).reshape(x.shape), part)
    v = v.to(x.dtype) if isinstance(v, torch.Tensor) else torch.tensor(v).to(x.dtype)
    v = v.expand(at.shape).reshape(-1)
    return x.reshape(-1).scatter(0, at.reshape(-1), v).reshape(x.shape)


row(
    "assign_slice",
    gen_assign_slice,
    ref_assign_slice,
    out=lambda tags, args: tags[0],
    raw=True,
    move=True,
    rounds=True,
    weight=0,
    **rebind("rg_assign_slice")
)
row(
    "set_scalar",
    lambda g: (lambda s: s is not None and [s, g.r.choice((0.5, 2.0, -1.0))] or None)(g.scalar()),
    lambda x, v: torch.tensor(v),
    move=True,
    weight=0,
    **rebind("rg_set_scalar")
)


def effect(name, gen, fn):
    row(
        name,
        gen,
        lambda *a: [],
        out=lambda tags, args: [],
        many=lambda args: 0,
        weight=0,
        fn=fn,
        move=True,
        run=lambda m, s: m.lib.call(fn, *s.args),
        c=lambda s: [text(lambda v: "v%d" % int(v), fn, s.args) + ";"],
    )


effect("realize", lambda g: [g.any()], "rg_realize")
effect("realize_all", lambda g: [[g.any() for _ in range(g.r.randint(1, 3))]], "rg_realize_all")
effect("collect", lambda g: [None], "rg_collect")
ROWS["collect"].run = lambda m, s: m.lib.call("rg_collect", m.ctx)
ROWS["collect"].c = lambda s: ["rg_collect(c);"]
effect("sync", lambda g: [None], "rg_sync")
ROWS["sync"].run = lambda m, s: m.lib.call("rg_sync", m.ctx)
ROWS["sync"].c = lambda s: ["rg_sync(c);"]


def run_no_grad(m, s):
    scope = m.lib.call("rg_begin_no_grad", m.ctx)
    m.lib.handle[s.outs[0]] = m.lib.call("rg_add", s.args[0], s.args[0])
    m.lib.call("rg_end_no_grad", scope)


row(
    "no_grad",
    lambda g: [g.t(FL)],
    lambda x: (x + x).detach(),
    weight=0.5,
    run=run_no_grad,
    c=lambda s: [
        "rg_scope s%d = rg_begin_no_grad(c);" % s.outs[0],
        "rg_tensor v%d = rg_add(v%d, v%d);" % (s.outs[0], s.args[0], s.args[0]),
        "rg_end_no_grad(s%d);" % s.outs[0],
    ],
    covers=("rg_begin_no_grad", "rg_end_no_grad"),
)


def ref_grad(r, raw, args, tags, out):
    of, wrt = r.val[raw[0]], [r.val[v] for v in raw[1]]
    seed = raw[2].get("seed")
    seed = torch.ones_like(of) if seed is None else r.val[seed]
    if not of.requires_grad:
        return [torch.zeros_like(w) for w in wrt]
    got = torch.autograd.grad(of, wrt, seed, create_graph=True, allow_unused=True)
    return [torch.zeros_like(w) if x is None else x for w, x in zip(wrt, got)]


row(
    "grad",
    None,
    ref_grad,
    out=lambda tags, args: list(tags[1 : 1 + len(args[1])]),
    raw=True,
    many=lambda args: len(args[1]),
    weight=0,
)
ROWS["grad"].discrete = False


def run_backward(m, s):
    lib = m.lib
    lib.call("rg_zero_grad", m.ctx)
    lib.call("rg_backward", s.args[0])
    for i, p in zip(s.outs, s.args[1]):
        lib.handle[i] = lib.call("rg_param_grad", p)


def c_backward(s):
    return ["rg_zero_grad(c);", "rg_backward(v%d);" % s.args[0]] + [
        "rg_tensor v%d = rg_param_grad(v%d);" % (i, p) for i, p in zip(s.outs, s.args[1])
    ]


row(
    "backward",
    None,
    lambda r, raw, args, tags, out: ref_grad(r, [raw[0], raw[1], {}], args, tags, out),
    out=lambda tags, args: list(tags[1:]),
    raw=True,
    many=lambda args: len(args[1]),
    weight=0,
    run=run_backward,
    c=c_backward,
    covers=("rg_backward", "rg_param_grad", "rg_zero_grad", "rg_param"),
)


# ---- layers ---------------------------------------------------------------------------------------------------------
def layer(name, gen, ref, make, entries, out="same", outputs=(), **kw):
    """make: arguments of the constructor from those of the step; entries: names of the weights, which follow x; outputs: state that is read too."""

    def weights(s):
        return [(n, v) for n, v in zip(entries, s.args[1 : 1 + len(entries)]) if v is not None]

    def run(m, s):
        lib = m.lib
        mod = lib.call("rg_nn_" + name, m.ctx, *make(m, s))
        m.check("rg_nn_" + name)
        m.cleanup.append(lambda: lib.call("rg_nn_free", mod))
        for n, v in weights(s):
            lib.call("rg_assign", lib.call("rg_nn_get", mod, n), v)
        lib.handle[s.outs[0]] = lib.call("rg_nn_forward", mod, s.args[0])
        for i, n in zip(s.outs[1:], outputs):
            lib.handle[i] = lib.call("rg_contiguous", lib.call("rg_nn_get", mod, n))

    def c(s):
        o = s.outs[0]
        made = "rg_module *m%d = %s;" % (o, text(lambda v: "v%d" % int(v), "rg_nn_" + name, [E("c")] + make(None, s)))
        lines = [made] + ['rg_assign(rg_nn_get(m%d, "%s"), v%d);' % (o, n, v) for n, v in weights(s)]
        lines.append("rg_tensor v%d = rg_nn_forward(m%d, v%d);" % (o, o, s.args[0]))
        return lines + [
            'rg_tensor v%d = rg_contiguous(rg_nn_get(m%d, "%s"));' % (i, o, n) for i, n in zip(s.outs[1:], outputs)
        ]

    many = (lambda args: 1 + len(outputs)) if outputs else False
    row(
        "nn_" + name,
        gen,
        ref,
        out=out,
        many=many,
        order=0,
        weight=0.35,
        run=run,
        c=c,
        covers=("rg_nn_" + name, "rg_nn_get", "rg_nn_forward", "rg_nn_free"),
        **kw
    )


ROWS_F32 = ("f32",)


def shape_of(m, s, v):
    return None


def gen_nn_linear(g):
    x = g.t(ROWS_F32, rank=(1, 3), least=1, lo=-9, hi=9)
    i, o = g.shape(x)[-1], g.r.randint(1, 5)
    b = maybe(g, 0.7, True) and g.t(ROWS_F32, shape=[o])
    return [x, g.t(ROWS_F32, shape=[o, i], lo=-9, hi=9), b, i, o]


layer(
    "linear",
    gen_nn_linear,
    lambda x, w, b, i, o: F.linear(x, w, b),
    lambda m, s: s.args[3:] + [{"no_bias": True} if s.args[2] is None else {}],
    ("weight", "bias"),
)
for d in (1, 2, 3):

    def gen_nn_conv(g, d=d):
        a = gen_conv(d)(g)
        if not a or g.tag(a[0]) != "f32" or g.shape(a[0])[0] == 0:
            return None
        x, w, o = a
        ws, b = g.shape(w), o.pop("bias", None)
        return [x, w, b, g.shape(x)[1], ws[0], ws[2:], o]

    layer(
        "conv%dd" % d,
        gen_nn_conv,
        lambda x, w, b, i, o, k, opts, d=d: ref_conv(d)(x, w, dict(opts, bias=b)),
        lambda m, s: s.args[3:6] + [dict(s.args[6], **({"no_bias": True} if s.args[2] is None else {}))],
        ("weight", "bias"),
    )


def gen_nn_transpose(g):
    a = gen_conv(2, True)(g)
    if not a or g.tag(a[0]) != "f32" or g.shape(a[0])[0] == 0 or "output_padding" in a[2]:
        return None
    x, w, o = a
    ws, b = g.shape(w), o.pop("bias", None)
    return [x, w, b, g.shape(x)[1], ws[1] * o.get("groups", 1), ws[2:], o]


layer(
    "conv_transpose2d",
    gen_nn_transpose,
    lambda x, w, b, i, o, k, opts: ref_conv(2, True)(x, w, dict(opts, bias=b)),
    lambda m, s: s.args[3:6] + [dict(s.args[6], **({"no_bias": True} if s.args[2] is None else {}))],
    ("weight", "bias"),
)


def gen_nn_batchnorm(g):
    x = channels(g, ROWS_F32, g.r.randint(0, 2))
    s = g.shape(x)
    if s[0] * math.prod(s[2:]) < 2:
        return None
    t = lambda lo, hi: g.t(ROWS_F32, shape=[s[1]], lo=lo, hi=hi)
    return [x, t(-3, 3), t(-3, 3), t(-3, 3), t(0.3, 3), s[1], {"momentum": 0.25, "eps": 0.125}]


def ref_nn_batchnorm(x, w, b, mean, var, n, o):
    d = [a for a in range(x.dim()) if a != 1]
    y = scale(norm_over(x, d, o["eps"]), per_channel(w, x), per_channel(b, x))
    return [y, mean * 0.75 + x.mean(d) * 0.25, var * 0.75 + x.var(d) * 0.25]


layer(
    "batchnorm",
    gen_nn_batchnorm,
    ref_nn_batchnorm,
    lambda m, s: s.args[5:],
    ("weight", "bias", "running_mean", "running_var"),
    out=lambda tags, args: ["f32"] * 3,
    outputs=("running_mean", "running_var"),
)


def gen_nn_layernorm(g):
    x = g.t(ROWS_F32, rank=(1, 3), least=1)
    s = g.shape(x)[-1:]
    return [x, g.t(ROWS_F32, shape=s), g.t(ROWS_F32, shape=s), list(s), {"eps": 0.125}]


layer(
    "layernorm",
    gen_nn_layernorm,
    lambda x, w, b, s, o: scale(norm_over(x, -1, o["eps"]), w, b),
    lambda m, s: s.args[3:],
    ("weight", "bias"),
)


def gen_nn_groupnorm(g):
    a = gen_groupnorm(g)
    if g.tag(a[0]) != "f32" or a[2] is None or a[3] is None:
        return None
    return [a[0], a[2], a[3], a[1], g.shape(a[0])[1], {"eps": 0.125}]


layer(
    "groupnorm",
    gen_nn_groupnorm,
    lambda x, w, b, n, c, o: ref_groupnorm(x, n, w, b, o),
    lambda m, s: s.args[3:],
    ("weight", "bias"),
)


def gen_nn_instancenorm(g):
    x = channels(g, ROWS_F32, 2)
    t = lambda: g.t(ROWS_F32, shape=g.shape(x)[1:2])
    return [x, t(), t(), g.shape(x)[1], {"eps": 0.125}]


layer(
    "instancenorm",
    gen_nn_instancenorm,
    lambda x, w, b, c, o: scale(norm_over(x, (2, 3), 0.125), per_channel(w, x), per_channel(b, x)),
    lambda m, s: s.args[3:],
    ("weight", "bias"),
)


def gen_nn_rmsnorm(g):
    x = g.t(ROWS_F32, rank=(1, 3), least=1)
    return [x, g.t(ROWS_F32, shape=g.shape(x)[-1:]), g.shape(x)[-1], {"eps": 0.125}]


layer(
    "rmsnorm",
    gen_nn_rmsnorm,
    lambda x, w, n, o: x / torch.sqrt((x * x).mean(-1, keepdim=True) + 0.125) * w,
    lambda m, s: s.args[2:],
    ("weight",),
)
layer(
    "embedding",
    lambda g: (lambda n, d: [g.index(g.new_shape(rank=(0, 2)), n), g.t(ROWS_F32, shape=[n, d]), n, d])(
        g.r.randint(1, 5), g.r.randint(1, 4)
    ),
    lambda i, w, n, d: w[i],
    lambda m, s: s.args[2:],
    ("weight",),
    out=lambda tags, args: "f32",
)


def gen_nn_attention(g):
    h, d = g.r.choice((1, 2)), g.r.choice((1, 2, 3))
    n = h * d
    x = g.t(ROWS_F32, shape=[g.r.randint(1, 2), g.r.randint(1, 4), n], lo=-3, hi=3)
    t = lambda *s: g.t(ROWS_F32, shape=list(s), lo=-3, hi=3)
    return [x, t(3 * n, n), t(3 * n), t(n, n), t(n), n, h, {"causal": True} if g.r.random() < 0.5 else {}]


def ref_nn_attention(x, w, b, wo, bo, n, h, o):
    q, k, v = (z.reshape(x.shape[0], x.shape[1], h, n // h).transpose(1, 2) for z in F.linear(x, w, b).chunk(3, -1))
    return F.linear(ref_attention(q, k, v, o).transpose(1, 2).flatten(2), wo, bo)


layer(
    "attention",
    gen_nn_attention,
    ref_nn_attention,
    lambda m, s: s.args[5:],
    ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"),
)
layer(
    "max_pool2d",
    lambda g: (lambda a: a if a and g.tag(a[0]) == "f32" else None)(gen_pool(2)(g)),
    ref_pool(2),
    lambda m, s: s.args[1:],
    (),
)
layer(
    "flatten",
    lambda g: (lambda x: [x, g.r.randrange(len(g.shape(x)))])(g.t(ROWS_F32, rank=(1, 4), least=1)),
    lambda x, a: x.flatten(a),
    lambda m, s: s.args[1:],
    (),
    move=True,
)
layer("dropout", lambda g: [g.t(ROWS_F32, least=1), 0.0], lambda x, p: x, lambda m, s: s.args[1:], (), move=True)


# ---- optimisers: some steps of gradient descent of mean (p - t)^2 -----------------------------------------------------
def optimiser(name, options, make):
    steps = 3

    def run(m, s):
        lib = m.lib
        x, t, o = s.args
        p = lib.call("rg_param", x)
        m.cleanup.append(lambda: lib.call("rg_free", p))
        opt = lib.call("rg_" + name, [p], {k: v for k, v in o.items() if k != "clip"})
        m.check(name)
        m.cleanup.append(lambda: lib.call("rg_optim_free", opt))
        for k in range(steps):
            lib.call("rg_backward", lib.call("rg_mean", lib.call("rg_square", lib.call("rg_sub", p, t)), {}))
            if o.get("clip") == 1:
                lib.call("rg_clip_grad_norm", [p], 0.25)
            if o.get("clip") == 2:
                lib.call("rg_clip_grad_value", [p], 0.125)
            lib.call("rg_optim_step", opt)
            lib.call("rg_optim_set_lr", opt, lib.call("rg_lr_step", o["lr"], k + 1, 2, 0.5))
            m.check(name)
        lib.handle[s.outs[0]] = lib.call("rg_contiguous", p)

    def c(s):
        i, (x, t, o) = s.outs[0], s.args
        opts = ", ".join(".%s = %s" % (k, number(v)) for k, v in o.items() if k != "clip")
        clip = {
            1: "rg_clip_grad_norm(RG_TENSORS(p%d), 0.25);" % i,
            2: "rg_clip_grad_value(RG_TENSORS(p%d), 0.125);" % i,
        }.get(o.get("clip"), "")
        return [
            "rg_tensor p%d = rg_param(v%d);" % (i, x),
            "rg_optim *s%d = rg_%s(RG_TENSORS(p%d), %s);" % (i, name, i, opts),
            "for (int k = 0; k < %d; k++) {" % steps,
            "    rg_backward(rg_mean(rg_square(rg_sub(p%d, v%d))));" % (i, t),
            "    " + clip,
            "    rg_optim_step(s%d);" % i,
            "    rg_optim_set_lr(s%d, rg_lr_step(%s, k + 1, 2, 0.5));" % (i, number(o["lr"])),
            "}",
            "rg_tensor v%d = rg_contiguous(p%d);" % (i, i),
        ]

    def ref(x, t, o):
        p = torch.nn.Parameter(x.detach().clone())
        t = t.detach()
        opt = make(p, o)
        with torch.enable_grad():
            for k in range(steps):
                opt.zero_grad()
                ((p - t) ** 2).mean().backward()
                if o.get("clip") == 1:
                    torch.nn.utils.clip_grad_norm_([p], 0.25)
                if o.get("clip") == 2:
                    torch.nn.utils.clip_grad_value_([p], 0.125)
                opt.step()
                for grp in opt.param_groups:
                    grp["lr"] = o["lr"] * 0.5 ** ((k + 1) // 2)
        return p.detach()

    def gen(g):
        x = g.t(("f32", "f64"), least=1, nonzero=True)
        o = dict(g.r.choice(options), clip=g.r.choice((0, 0, 1, 2)))
        return [x, g.t((g.tag(x),), shape=g.shape(x), lo=4, hi=9), o]

    row(
        name,
        gen,
        ref,
        order=0,
        weight=0.25,
        run=run,
        c=c,
        covers=(
            "rg_" + name,
            "rg_optim_step",
            "rg_optim_set_lr",
            "rg_optim_free",
            "rg_clip_grad_norm",
            "rg_clip_grad_value",
            "rg_lr_step",
        ),
    )


optimiser(
    "sgd",
    (
        {"lr": 0.125},
        {"lr": 0.125, "momentum": 0.5},
        {"lr": 0.125, "momentum": 0.5, "nesterov": True},
        {"lr": 0.125, "weight_decay": 0.25},
    ),
    lambda p, o: torch.optim.SGD(
        [p], o["lr"], o.get("momentum", 0), 0, o.get("weight_decay", 0), o.get("nesterov", False)
    ),
)
optimiser(
    "adam",
    ({"lr": 0.125}, {"lr": 0.125, "beta1": 0.5, "beta2": 0.75, "weight_decay": 0.25}),
    lambda p, o: torch.optim.Adam(
        [p], o["lr"], (o.get("beta1", 0.9), o.get("beta2", 0.999)), weight_decay=o.get("weight_decay", 0)
    ),
)
optimiser(
    "adamw",
    ({"lr": 0.125}, {"lr": 0.125, "beta1": 0.5, "beta2": 0.75, "weight_decay": 0.25}),
    lambda p, o: torch.optim.AdamW(
        [p], o["lr"], (o.get("beta1", 0.9), o.get("beta2", 0.999)), weight_decay=o.get("weight_decay", 0.01)
    ),
)


# ---- files and other devices ------------------------------------------------------------------------------------------
def round_trip(name, tags, go, c, covers):
    row(
        name,
        lambda g: [g.t(tags)],
        lambda x: x.detach(),
        move=True,
        order=0,
        weight=0.2,
        covers=covers,
        c=c,
        run=lambda m, s: m.lib.handle.__setitem__(s.outs[0], go(m, m.lib.handle[s.args[0]])),
    )


def go_npy(m, x):
    path = os.path.join(m.folder(), "x.npy")
    m.lib.call("rg_save_npy", x, path)
    m.check("rg_save_npy")
    return m.lib.call("rg_load_npy", m.ctx, path)


def go_safetensors(m, x):
    import ctypes

    path, names = os.path.join(m.folder(), "x.safetensors"), (ctypes.c_char_p * 1)(b"x")
    m.lib.call("rg_save", path, names, [x])
    m.check("rg_save")
    f = m.lib.call("rg_file_open", m.ctx, path)
    y = m.lib.call("rg_file_get", f, "x")
    m.lib.call("rg_file_close", f)
    return y


def go_copy(m, x):
    if m.other is None:
        m.other = m.lib.call("rg_open", "REF")
    return m.lib.call("rg_copy_to", m.ctx, m.lib.call("rg_copy_to", m.other, x))


NPY = tuple(t for t in ALL if t != "bf16")
round_trip(
    "npy",
    NPY,
    go_npy,
    lambda s: ['rg_save_npy(v%d, "x.npy");' % s.args[0], 'rg_tensor v%d = rg_load_npy(c, "x.npy");' % s.outs[0]],
    ("rg_save_npy", "rg_load_npy"),
)
round_trip(
    "safetensors",
    ALL,
    go_safetensors,
    lambda s: [
        'rg_save("x.st", (const char *const[]){"x"}, RG_TENSORS(v%d));' % s.args[0],
        'rg_tensor v%d = rg_file_get(rg_file_open(c, "x.st"), "x");' % s.outs[0],
    ],
    ("rg_save", "rg_file_open", "rg_file_get", "rg_file_close"),
)
round_trip(
    "copy_to",
    ALL,
    go_copy,
    lambda s: ['rg_tensor v%d = rg_copy_to(c, rg_copy_to(rg_open("REF"), v%d));' % (s.outs[0], s.args[0])],
    ("rg_copy_to",),
)
