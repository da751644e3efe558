#!/usr/bin/env python3
"""Training steps of networks in a jit, by Ridge and by PyTorch: GRU, LSTM, UNet, ResNet, ViT, and transformers like Llama, GPT-2 and BERT.

    networks.py --lib build/release/libridge.so --device CPU [--size small|large] [gru lstm unet resnet llama gpt2 bert vit gru512 lstm512]
    networks.py --sample tests/unit/networks_sample.h      the networks as C with what PyTorch computes, for `make test`

A network is written once, over the functions of the table (rows.py): f("linear", x, w, b) is rg_linear or the row's reference. Ten steps
of gradient descent with a new batch each; the losses and all gradients of every step must be within 1e-4 of PyTorch's in float64 (of the
greatest element), or within three times what PyTorch's float32 is off by. Each network runs in a child process."""

import argparse
import ctypes as C
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np  # noqa: E402
import torch  # noqa: E402

from header import E, Lib, Tensor, V, text  # noqa: E402
from program import JIT_FN, compute_in, load, store  # noqa: E402
from rows import ROWS  # noqa: E402
from rows_nn import ref_attention  # noqa: E402
from run import in_child  # noqa: E402
from sample import fold  # noqa: E402

STEPS, RATE, NEAR = 10, 0.0625, 1e-4


class Made:
    """Parameters and batches of a network: a hash of their numbers, which tests/unit/networks.c computes as well."""

    def __init__(self, seed):
        self.at, self.classes = seed << 40, 0
        self.params = {}

    def draw(self, n):
        """n whole numbers below 2^24."""
        with np.errstate(over="ignore"):
            x = (np.arange(self.at + 1, self.at + 1 + n, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        self.at += n
        return ((x ^ (x >> np.uint64(31))) >> np.uint64(40)).astype(np.int64)

    def normal(self, *shape, scale=1.0):
        """Sums of four, of variance scale^2."""
        x = self.draw(4 * int(torch.Size(shape).numel())).reshape(-1, 4).sum(1)
        return torch.from_numpy(((x * 2.0**-24 - 2) * (3**0.5 * scale)).astype(np.float32).reshape(shape))

    def below(self, n, *shape):
        self.classes = n
        return torch.from_numpy(self.draw(int(torch.Size(shape).numel())) % n).reshape(shape)

    def weight(self, name, *shape):
        fan = max(1, int(torch.Size(shape[1:]).numel()))
        self.params[name] = self.normal(*shape, scale=fan**-0.5)

    def fill(self, name, value, *shape):
        self.params[name] = torch.full(shape, value, dtype=torch.float32, device="cpu")


# ---- networks -----------------------------------------------------------------------------------------------------
def rnn(kind):
    blocks = 3 if kind == "gru" else 4

    def make(m, large):
        T, B, I, H = (64, 32, 64, 128) if large else (9, 3, 5, 8)
        for name, n in (("w", I), ("u", H)):
            m.weight(name, blocks * H, n)
            m.weight(name + "_bias", blocks * H)
        batch = lambda: [("f32", m.normal(T, B, I)), ("f32", m.normal(B, H))]

        def net(f, p, x):
            gi = f("linear", x[0], p["w"], p["w_bias"])
            part = lambda y, k: f("narrow", y, -1, k * H, H)
            h = c = f("zeros", E("RG_F32"), [B, H])
            total = None
            for t in range(T):
                gx, gh = f("select", gi, 0, t), f("linear", h, p["u"], p["u_bias"])
                both = lambda k: f("sigmoid", f("add", part(gx, k), part(gh, k)))
                if kind == "gru":
                    r, z = both(0), both(1)
                    n = f("tanh", f("add", part(gx, 2), f("mul", r, part(gh, 2))))
                    h = f("add", n, f("mul", z, f("sub", h, n)))
                else:
                    c = f("add", f("mul", both(1), c), f("mul", both(0), f("tanh", f("add", part(gx, 2), part(gh, 2)))))
                    h = f("mul", both(3), f("tanh", c))
                square = f("mean", f("square", f("sub", h, x[1])), {})
                total = square if total is None else f("add", total, square)
            return f("mul", total, 1.0 / T)

        return batch, net

    return make


def conv(f, p, name, x, **o):
    return f("conv2d", x, p[name], dict({"padding": [1]}, **o))


def norm(f, p, name, x, groups):
    return f("groupnorm", x, groups, p[name + "_w"], p[name + "_b"], {})


def add_norm(m, name, c):
    m.fill(name + "_w", 1.0, c)
    m.fill(name + "_b", 0.0, c)


def unet(m, large):
    N, S, C0 = (4, 32, 32) if large else (2, 8, 4)
    for name, a, b in (
        ("in", 3, C0),
        ("down", C0, 2 * C0),
        ("mid", 2 * C0, 2 * C0),
        ("up", 3 * C0, C0),
        ("out", C0, 3),
    ):
        m.weight(name, b, a, 3, 3)
        if name != "out":
            add_norm(m, name, b)
    batch = lambda: [("f32", m.normal(N, 3, S, S)), ("f32", m.normal(N, 3, S, S))]

    def net(f, p, x):
        step = lambda name, h: f("silu", norm(f, p, name, conv(f, p, name, h), 2))
        a = step("in", x[0])
        b = step("down", f("max_pool2d", a, {"size": [2]}))
        b = f("add", b, step("mid", b))
        b = f("interpolate", b, [S, S], {"mode": E("RG_RESIZE_NEAREST")})
        y = conv(f, p, "out", step("up", f("cat", [a, b], 1)))
        return f("mse_loss", y, x[1], {"reduction": E("RG_MEAN")})

    return batch, net


def resnet(m, large):
    N, S, C0, K = (8, 32, 32, 10) if large else (3, 8, 4, 5)
    for name, a, b, k in (
        ("stem", 3, C0, 3),
        ("a1", C0, C0, 3),
        ("a2", C0, C0, 3),
        ("b1", C0, 2 * C0, 3),
        ("b2", 2 * C0, 2 * C0, 3),
        ("skip", C0, 2 * C0, 1),
    ):
        m.weight(name, b, a, k, k)
        add_norm(m, name, b)
    m.weight("head", K, 2 * C0)
    m.weight("head_bias", K)
    batch = lambda: [("f32", m.normal(N, 3, S, S)), ("i64", m.below(K, N))]

    def net(f, p, x):
        def bn(name, h):  # batch statistics, as in training
            o = {"axes": [0, 2, 3], "keep": True}
            d = f("sub", h, f("mean", h, o))
            v = f("add", f("mean", f("square", d), o), 1e-5)
            view = lambda w: f("reshape", w, [1, -1, 1, 1])
            return f("add", f("mul", f("mul", d, f("rsqrt", v)), view(p[name + "_w"])), view(p[name + "_b"]))

        h = f("relu", bn("stem", conv(f, p, "stem", x[0])))
        h = f("relu", f("add", h, bn("a2", conv(f, p, "a2", f("relu", bn("a1", conv(f, p, "a1", h)))))))
        low = bn("skip", conv(f, p, "skip", h, stride=[2], padding=[0]))
        h = f("relu", f("add", low, bn("b2", conv(f, p, "b2", f("relu", bn("b1", conv(f, p, "b1", h, stride=[2])))))))
        y = f("linear", f("mean", h, {"axes": [2, 3]}), p["head"], p["head_bias"])
        return f("cross_entropy", y, x[1], {"reduction": E("RG_MEAN")})

    return batch, net


def llama(m, large):
    B, T, D, H, KV, L, F, VOC = (2, 128, 128, 8, 2, 2, 344, 512) if large else (2, 6, 16, 4, 2, 2, 24, 13)
    d = D // H
    m.weight("emb", VOC, D)
    for k in range(L):
        for name, o, i in (
            ("q", D, D),
            ("k", KV * d, D),
            ("v", KV * d, D),
            ("o", D, D),
            ("w1", F, D),
            ("w3", F, D),
            ("w2", D, F),
        ):
            m.weight("%d.%s" % (k, name), o, i)
        m.fill("%d.n1" % k, 1.0, D)
        m.fill("%d.n2" % k, 1.0, D)
    m.fill("norm", 1.0, D)
    m.weight("head", VOC, D)
    angle = torch.outer(
        torch.arange(T, dtype=torch.float64, device="cpu"),
        10000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64, device="cpu") / d),
    ).repeat(1, 2)
    tokens = lambda: ("i64", m.below(VOC, B, T))
    table = lambda fn: ("f32", fn(angle).to(torch.float32).contiguous())
    batch = lambda: [tokens(), tokens(), table(torch.cos), table(torch.sin)]

    def net(f, p, x):
        def rope(y):
            half = d // 2
            rotated = f("cat", [f("neg", f("narrow", y, -1, half, half)), f("narrow", y, -1, 0, half)], -1)
            return f("add", f("mul", y, x[2]), f("mul", rotated, x[3]))

        def heads(y, n):
            return f("permute", f("reshape", y, [B, T, n, d]), [0, 2, 1, 3])

        h = f("embedding", x[0], p["emb"])
        for k in range(L):
            w = lambda name: p["%d.%s" % (k, name)]
            y = f("rmsnorm", h, w("n1"), {})
            q, key, v = (heads(f("linear", y, w(n), None), c) for n, c in (("q", H), ("k", KV), ("v", KV)))
            a = f("attention", rope(q), rope(key), v, {"causal": True})
            h = f("add", h, f("linear", f("reshape", f("permute", a, [0, 2, 1, 3]), [B, T, D]), w("o"), None))
            y = f("rmsnorm", h, w("n2"), {})
            h = f(
                "add",
                h,
                f(
                    "linear",
                    f("mul", f("silu", f("linear", y, w("w1"), None)), f("linear", y, w("w3"), None)),
                    w("w2"),
                    None,
                ),
            )
        y = f("linear", f("rmsnorm", h, p["norm"], {}), p["head"], None)
        return f(
            "cross_entropy", f("reshape", y, [B * T, VOC]), f("reshape", x[1], [B * T]), {"reduction": E("RG_MEAN")}
        )

    return batch, net


def add_blocks(m, layers, width):
    for k in range(layers):
        for name, out, inner in (("qkv", 3 * width, width), ("o", width, width), ("up", 4 * width, width), ("down", width, 4 * width)):
            m.weight("%d.%s" % (k, name), out, inner)
            m.weight("%d.%s_bias" % (k, name), out)
        add_norm(m, "%d.n1" % k, width)
        add_norm(m, "%d.n2" % k, width)


def blocks_of(f, p, h, shape, layers, heads, before, gelu, causal=False):
    """Blocks of a transformer on (B, T, D): norms before attention and MLP (GPT-2, ViT), or after the sums (BERT)."""
    B, T, D = shape
    d = D // heads
    for k in range(layers):
        linear = lambda name, y: f("linear", y, p["%d.%s" % (k, name)], p["%d.%s_bias" % (k, name)])
        norm_of = lambda name, y: f("layernorm", y, p["%d.%s_w" % (k, name)], p["%d.%s_b" % (k, name)], {})

        def attend(y):
            qkv = f("permute", f("reshape", linear("qkv", y), [B, T, 3, heads, d]), [2, 0, 3, 1, 4])
            a = f("attention", *(f("select", qkv, 0, i) for i in range(3)), {"causal": causal})
            return linear("o", f("reshape", f("permute", a, [0, 2, 1, 3]), [B, T, D]))

        mlp = lambda y: linear("down", f(gelu, linear("up", y)))
        for name, part in (("n1", attend), ("n2", mlp)):
            h = f("add", h, part(norm_of(name, h))) if before else norm_of(name, f("add", h, part(h)))
    return h


def language(bert):
    """GPT-2: the next token, by the table of tokens again. BERT: tokens of two segments, each to be told."""

    def make(m, large):
        B, T, D, H, L, VOC = (2, 128, 128, 4, 2, 512) if large else (2, 6, 16, 2, 2, 13)
        m.weight("emb", VOC, D)
        m.weight("pos", T, D)
        if bert:
            m.weight("segment", 2, D)
        add_blocks(m, L, D)
        add_norm(m, "norm", D)
        tokens = lambda n: ("i64", m.below(n, B, T))
        batch = lambda: [tokens(VOC), tokens(VOC)]

        def net(f, p, x):
            h = f("add", f("embedding", x[0], p["emb"]), p["pos"])
            last = lambda y: f("layernorm", y, p["norm_w"], p["norm_b"], {})
            if bert:
                first = f("narrow", p["segment"], 0, 0, 1)
                h = last(f("add", h, first))
            h = blocks_of(f, p, h, (B, T, D), L, H, not bert, "gelu" if bert else "gelu_tanh", not bert)
            y = f("linear", h if bert else last(h), p["emb"], None)
            return f(
                "cross_entropy", f("reshape", y, [B * T, VOC]), f("reshape", x[1], [B * T]), {"reduction": E("RG_MEAN")}
            )

        return batch, net

    return make


def vit(m, large):
    N, S, P, D, H, L, K = (4, 32, 8, 96, 4, 2, 10) if large else (2, 8, 4, 16, 2, 2, 5)
    T = (S // P) ** 2
    m.weight("patch", D, 3, P, P)
    m.weight("patch_bias", D)
    m.weight("cls", 1, 1, D)
    m.weight("pos", T + 1, D)
    add_blocks(m, L, D)
    add_norm(m, "norm", D)
    m.weight("head", K, D)
    m.weight("head_bias", K)
    batch = lambda: [("f32", m.normal(N, 3, S, S)), ("i64", m.below(K, N))]

    def net(f, p, x):
        y = f("conv2d", x[0], p["patch"], {"stride": [P], "bias": p["patch_bias"]})
        y = f("permute", f("reshape", y, [N, D, T]), [0, 2, 1])
        h = f("add", f("cat", [f("expand", p["cls"], [N, 1, D]), y], 1), p["pos"])
        h = blocks_of(f, p, h, (N, T + 1, D), L, H, True, "gelu")
        h = f("select", f("layernorm", h, p["norm_w"], p["norm_b"], {}), 1, 0)
        return f("cross_entropy", f("linear", h, p["head"], p["head_bias"]), x[1], {"reduction": E("RG_MEAN")})

    return batch, net


def layer(kind, gates):
    """rg_lstm or rg_gru over 512 steps (unlike `rnn`, whose steps are unrolled); every state is classified."""

    def make(m, large):
        T, B, D, H, K = 512, 4, 24, 32, 6
        for name, shape in (("w_ih", (gates * H, D)), ("w_hh", (gates * H, H)), ("b_ih", (gates * H,)), ("b_hh", (gates * H,)), ("head", (K, H))):
            m.weight(name, *shape)
        batch = lambda: [("f32", m.normal(T, B, D)), ("i64", m.below(K, T * B))]

        def net(f, p, x):
            states = f(kind, x[0], None, [p[n] for n in ("w_ih", "w_hh", "b_ih", "b_hh")], {})
            h = f("reshape", f("narrow", f("select", states, 0, 0), 0, 1, T), [T * B, H])
            return f("cross_entropy", f("linear", h, p["head"], None), x[1], {"reduction": E("RG_MEAN")})

        return batch, net

    return make


def ref_layer(kind, x, weights):
    """States of all times, (2, T + 1, N, H) or (1, ..), from zeros; those of the cell are left out."""
    zero = torch.zeros(1, x.shape[1], weights[1].shape[1])
    start = (zero, zero) if kind == "lstm" else zero
    out = getattr(torch, kind)(x, start, weights, True, 1, 0.0, True, False, False)[0]  # cuDNN has gradients in training mode only
    return torch.cat([zero, out])[None]


NETS = {"gru": rnn("gru"), "lstm": rnn("lstm"), "unet": unet, "resnet": resnet, "llama": llama, "gpt2": language(False)}
NETS.update(bert=language(True), vit=vit)
LAYERS = {"lstm512": layer("lstm", 4), "gru512": layer("gru", 3)}


# ---- both sides ---------------------------------------------------------------------------------------------------
def by_torch(net, params, batches, dtype, device):
    """Loss and gradients of each step."""
    compute_in(dtype)
    torch.backends.cudnn.allow_tf32 = False
    torch.set_default_device(device)
    try:
        p = {n: x.to(device, dtype).requires_grad_(True) for n, x in params.items()}
        out = []
        for batch in batches:
            x = [t.to(device, dtype) if tag == "f32" else t.to(device) for tag, t in batch]
            loss = net(reference_call, p, x)
            grads = torch.autograd.grad(loss, list(p.values()))
            out.append([loss.detach().double().cpu()] + [g.detach().double().cpu() for g in grads])
            p = {n: (w - RATE * g).detach().requires_grad_(True) for (n, w), g in zip(p.items(), grads)}
        return out
    finally:
        torch.set_default_device("cpu")
        compute_in(torch.float64)


def reference_call(name, *args):
    if name == "zeros":
        return torch.zeros(args[1])
    if name in ("lstm", "gru"):
        return ref_layer(name, args[0], args[2])
    row = ROWS[name]
    if row.conv == "promote" or not row.raw:
        return row.lam(*args)
    return {"cat": torch.cat, "attention": ref_attention}[name](*args)


def by_ridge(lib, device, net, params, batches):
    ctx = lib.call("rg_open", device)

    def check(where):
        if lib.call("rg_status_of", ctx):
            raise RuntimeError("%s: %s" % (where, lib.call("rg_error", ctx).decode(errors="replace")))

    def tensor(tag, x):
        raw = store(x, tag)
        return lib.call(
            "rg_from", ctx, E("RG_" + tag.upper()), C.create_string_buffer(raw, max(len(raw), 1)), list(x.shape)
        )

    def f(name, *args):
        y = lib.call("rg_" + name, *([ctx] if name == "zeros" else []), *args)
        check(name)
        return y

    p = {n: lib.call("rg_param", tensor("f32", x)) for n, x in params.items()}
    check("parameters")
    failed = []

    def body(_, ins, outs):
        try:
            ins, outs = C.cast(ins, C.POINTER(C.c_uint64)), C.cast(outs, C.POINTER(C.c_uint64))
            loss = net(f, p, [Tensor(ins[k]) for k in range(len(batches[0]))])
            lib.call("rg_backward", loss)
            check("rg_backward")
            outs[0] = loss.id
            for k, w in enumerate(p.values()):
                g = lib.call("rg_param_grad", w)
                outs[k + 1] = g.id
                lib.call("rg_assign", w, f("sub", w, f("mul", g, RATE)))
            lib.call("rg_zero_grad", ctx)
            check("step")
            return 0
        except Exception as e:
            failed.append(e)
            return 1

    fn = JIT_FN(body)
    jit = lib.call("rg_jit_new", ctx, C.cast(fn, C.c_void_p), None, 1 + len(p))
    got = []
    for batch in batches:
        scope = lib.call("rg_begin", ctx)
        out = (Tensor * (1 + len(p)))()
        lib.call("rg_jit_call", jit, [tensor(tag, x) for tag, x in batch], out)
        if failed:
            raise failed[0]
        check("rg_jit_call")
        step = []
        for h, shape in zip(out, [()] + [x.shape for x in params.values()]):
            n = lib.call("rg_bytes", h)
            raw = C.create_string_buffer(n)
            lib.call("rg_read", h, raw, n)
            check("rg_read")
            step.append(load(raw.raw, "f32", list(shape)))
        got.append(step)
        lib.call("rg_end", scope)
    lib.call("rg_jit_free", jit)
    lib.call("rg_close", ctx)
    return got


def far(a, b):
    """Greatest difference, of the greatest element."""
    top = b.abs().max().item()
    return (a - b).abs().max().item() / top if top else (a - b).abs().max().item()


def one(name, args):
    start, m = time.time(), Made(args.seed)
    batch, net = {**NETS, **LAYERS}[name](m, args.size == "large")
    params, batches = dict(m.params), [batch() for _ in range(STEPS)]
    on = "cuda" if args.device.startswith("CUDA") else "cpu"
    exact, single = (by_torch(net, params, batches, t, on) for t in (torch.float64, torch.float32))
    known = time.time()
    got = by_ridge(Lib(args.lib), args.device, net, params, batches)
    worst, bad, names = 0.0, [], ["loss"] + list(params)
    for k in range(STEPS):
        for n, g, e, s in zip(names, got[k], exact[k], single[k]):
            off, most = far(g, e), max(NEAR, 3 * far(s, e))
            worst = max(worst, off / most)
            if not off <= most:
                bad.append("step %d, %s: off by %.3g, PyTorch's float32 by %.3g" % (k + 1, n, off, far(s, e)))
    text = (
        "%-7s %-5s loss %.6f -> %.6f, %d gradients, at worst %.3f of what it may be off; PyTorch %.1f s, Ridge %.1f s"
        % (
            name,
            args.device,
            got[0][0].item(),
            got[-1][0].item(),
            len(params),
            worst,
            known - start,
            time.time() - known,
        )
    )
    return [text] + ["  " + b for b in bad[:6]]


# ---- as C ---------------------------------------------------------------------------------------------------------
class Text:
    """Calls of a network as lines of C."""

    def __init__(self):
        self.lines, self.at = [], 0

    def __call__(self, name, *args):
        call = text(
            lambda v: v.c if isinstance(v, Named) else "t%d" % v,
            "rg_" + name,
            [E("c")] * (name == "zeros") + list(args),
        )
        self.at += 1
        self.lines.append("    rg_tensor t%d = %s;" % (self.at, call))
        return V(self.at)


class Named(V):
    """A parameter or an input: an element of an array."""

    def __new__(cls, c):
        v = V.__new__(cls, 0)
        v.c = c
        return v


def input_of(batch, later, classes):
    """How tests/unit/networks.c makes it: classes, normal numbers, or a table that does not change."""
    rows = []
    for (tag, x), (_, y) in zip(batch, later):
        shape = "{%s}, %d" % (", ".join(map(str, x.shape)), x.dim())
        if tag == "i64":
            rows.append("{%s, .classes = %d}" % (shape, classes))
        elif torch.equal(x, y):
            rows.append("{%s, .table = (float[]){%s}}" % (shape, ", ".join("%.9g" % v for v in x.reshape(-1))))
        else:
            rows.append("{%s, .scale = 1}" % shape)
    return rows


def sums(g, e):
    """Of a gradient: two weighted sums, and how far off each may be."""
    flat, n = e.reshape(-1), e.numel()
    weight = [torch.cos(torch.arange(n) * w) for w in (1.0, 0.37)]
    off = max(NEAR * flat.abs().max().item(), 3 * (g - e).abs().max().item()) * n**0.5
    return [(flat * w).sum().item() for w in weight] + [off]


def sample_of(name):
    m = Made(1)
    batch, net = NETS[name](m, False)
    params, batches = dict(m.params), [batch() for _ in range(STEPS)]
    exact, single = (by_torch(net, params, batches, t, "cpu") for t in (torch.float64, torch.float32))
    f = Text()
    p = {n: Named("w[%d]" % k) for k, n in enumerate(params)}
    loss = net(f, p, [Named("x[%d]" % k) for k in range(len(batches[0]))])
    specs = []
    for x in params.values():
        fixed = bool((x == x.reshape(-1)[0]).all())
        fan = max(1, int(torch.Size(x.shape[1:]).numel()))
        value = ".fill = %g" % x.reshape(-1)[0].item() if fixed else ".scale = %.17g" % fan**-0.5
        specs.append("{{%s}, %d, %s}" % (", ".join(map(str, x.shape)), x.dim(), value))
    out = ["static rg_tensor %s(rg_ctx *c, const rg_tensor *w, const rg_tensor *x) {" % name, "    (void)c;"]
    out += f.lines + ["    return t%d;" % loss, "}"]
    out.append("static const struct made %s_params[] = {%s};" % (name, ", ".join(specs)))
    out.append(
        "static const struct made %s_inputs[] = {%s};" % (name, ", ".join(input_of(batches[0], batches[1], m.classes)))
    )
    rows = [[e[0].item()] + [v for k in range(1, len(e)) for v in sums(s[k], e[k])] for e, s in zip(exact, single)]
    out.append("static const double %s_want[] = {%s};" % (name, ", ".join("%.10g" % v for r in rows for v in r)))
    return out


def write(path):
    head = [
        "/* networks_sample.h: written by tests/outside/networks.py --sample; do not edit. Networks and ten training",
        " * steps of each: PyTorch's loss, of each gradient two weighted sums and how far these may be off.",
        " * networks.c runs them; docs/testing.md */",
        "/* clang-format off */",
    ]
    out = [line for name in NETS for line in sample_of(name)]
    row = '    {"%s", %s, %s_params, RG_COUNT(%s_params), %s_inputs, RG_COUNT(%s_inputs), %s_want},'
    out += ["static const struct network networks[] = {"] + [row % ((n,) * 7) for n in NETS] + ["};"]
    with open(path, "w") as f:
        f.write("\n".join(x for line in head + out + ["/* clang-format on */"] for x in fold(line)) + "\n")
    return 0


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--lib", default="build/release/libridge.so")
    a.add_argument("--device", default="CPU")
    a.add_argument("--size", default="small")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--seconds", type=int, default=200)
    a.add_argument("--sample")
    a.add_argument("nets", nargs="*")
    args = a.parse_args()
    if args.sample:
        return write(args.sample)
    bad = 0
    for name in args.nets or {**NETS, **LAYERS}:

        def work():
            try:
                return one(name, args)
            except Exception as e:
                return ["%s %s fails" % (name, args.device), "  %s" % e]

        lines, status = in_child(work, args.seconds)
        lines = lines or ["%s %s ends with signal %d" % (name, args.device, status & 127), ""]
        print("\n".join(lines), flush=True)
        bad += len(lines) > 1
    print("networks: %d wrong" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
