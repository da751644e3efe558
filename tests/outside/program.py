"""Programs: what they are, what PyTorch says they compute, what Ridge computes, and the same program as C.

A program is a list of steps over numbered values; leaves hold data. The reference runs every step in float64 (integers in int64, wrapped
to their dtype), then again a few times with each rounding replaced by noise of its size (noise.py): how far the results of these runs lie
apart is how far an honest implementation may be off. So no tolerance is written down anywhere; a row only says what is computed.
The noisy runs are made in float32; a program of float64 alone may be off by 2^-26 of that (2^-29, and the reference is no better than
float64 itself).
Noise: operands by one unit roundoff of the type that a function computes in, each operation inside it by one, results by two of their
dtype; in programs with gradients every operation by that of the dtype, as the graph of a gradient is made of functions. A function that
only moves elements has none. What decides by order or equality (floor, argmax, casts to integers) takes operands that are free of noise.
"""

import ctypes as C
import math
import tempfile

import numpy as np
import torch

from header import E, FUNCS, V, Tensor, text
from noise import Noise

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

INTS = {
    "i8": (8, True),
    "i16": (16, True),
    "i32": (32, True),
    "i64": (64, True),
    "u8": (8, False),
    "u16": (16, False),
    "u32": (32, False),
    "u64": (64, False),
}
FLOATS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53, "f8e4m3": 4, "f8e5m2": 3}
FL = ("f16", "bf16", "f32", "f64")
IN = tuple(INTS)
ALL = ("bool",) + IN + FL
TOP = {
    "f16": 3e3,
    "bf16": 1e6,
    "f32": 1e6,
    "f64": 1e6,
    "f8e4m3": 200,
    "f8e5m2": 200,
}  # larger results are not asked for
NP = {
    t: np.dtype(n)
    for t, n in (
        ("bool", "bool"),
        ("i8", "int8"),
        ("i16", "int16"),
        ("i32", "int32"),
        ("i64", "int64"),
        ("u8", "uint8"),
        ("u16", "uint16"),
        ("u32", "uint32"),
        ("u64", "uint64"),
        ("f16", "float16"),
        ("f32", "float32"),
        ("f64", "float64"),
    )
}
TORCH = {
    "bf16": torch.bfloat16,
    "f8e4m3": torch.float8_e4m3fn,
    "f8e5m2": torch.float8_e5m2,
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
}
CTYPE = {
    "bool": "bool",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "f32": "float",
    "f64": "double",
    "f8e4m3": "uint8_t",
    "f8e5m2": "uint8_t",
}
SIZE = {t: NP[t].itemsize if t in NP else 2 if t == "bf16" else 1 for t in CTYPE}


NOW = [torch.float64]  # what the reference computes in


def ft():
    return NOW[0]


def compute_in(t):
    NOW[0] = t
    torch.set_default_dtype(t)


def dtype(tag):
    return E("RG_" + tag.upper())


def is_float(tag):
    return tag in FLOATS


def eps(tag):
    """Unit roundoff; in a run by float32 that of float64 is float32's."""
    return 2.0 ** -(24 if tag == "f64" and NOW[0] == torch.float32 else FLOATS[tag])


def work(tag):
    """The type that a function of these operands computes in."""
    return "f64" if tag == "f64" else "f32"


def wrap(x, tag):
    """int64 to the range of the type, modulo its size."""
    bits, signed = INTS[tag]
    if bits == 64:
        return x
    x = x & ((1 << bits) - 1)
    return torch.where(x >= 1 << (bits - 1), x - (1 << bits), x) if signed else x


def round_to(x, tag):
    """float64 to the nearest value of the type; the gradient passes."""
    if tag == "f64":
        return x
    with torch.no_grad():
        r = x.to(torch.float32).to(TORCH[tag]).to(x.dtype)
    return x + (r - x).detach() if x.requires_grad else r


def store(x, tag):
    """Bytes of a reference tensor in the type, row-major."""
    x = x.detach().contiguous()
    if tag in TORCH and tag not in NP:
        return x.to(torch.float32).to(TORCH[tag]).view(torch.uint8 if SIZE[tag] == 1 else torch.int16).numpy().tobytes()
    with np.errstate(all="ignore"):
        return x.numpy().astype(NP[tag]).tobytes()


def load(data, tag, shape):
    """Bytes as a reference tensor: float64, int64 or bool."""
    if tag in TORCH and tag not in NP:
        raw = torch.frombuffer(bytearray(data) or bytearray(8), dtype=torch.uint8 if SIZE[tag] == 1 else torch.int16)[
            : len(data) // SIZE[tag]
        ]
        return raw.view(TORCH[tag]).to(torch.float32).to(torch.float64).reshape(shape)
    a = np.frombuffer(data, NP[tag]).reshape(shape)
    if tag == "bool":
        return torch.from_numpy(a.copy())
    return torch.from_numpy(a.astype(np.float64 if is_float(tag) else np.int64))


class Leaf:
    """kind: from, param, scalar, index; data: one reference tensor for each call of the body (one for all: it does not change)."""

    def __init__(self, tag, data, kind="from", bounds=None):
        self.tag, self.data, self.kind, self.bounds = tag, data, kind, bounds


class Step:
    """f: a row; outs: numbers of its results."""

    def __init__(self, f, args, outs):
        self.f, self.args, self.outs = f, args, outs


class Program:
    def __init__(self):
        self.leaves, self.steps, self.outs = {}, [], []
        self.calls, self.jit, self.how, self.grads = 1, False, "async", 0
        self.inputs, self.state, self.tags, self.name = [], {}, {}, ""

    def values(self, args):
        """The values that arguments refer to."""
        for a in args:
            if isinstance(a, V):
                yield a
            elif isinstance(a, dict):
                yield from self.values(a.values())
            elif isinstance(a, (list, tuple)):
                yield from self.values(a)


def map_values(a, fn):
    if isinstance(a, V):
        return fn(a)
    if isinstance(a, dict):
        return {k: map_values(x, fn) for k, x in a.items()}
    if isinstance(a, (list, tuple)):
        return type(a)(map_values(x, fn) for x in a)
    return a


# ---- the reference ------------------------------------------------------------------------------------------------
class Reference:
    """Values of a program by PyTorch; noise > 0: with roundings of that many times their size."""

    def __init__(self, rows, noise=0.0, seed=0, grad=False):
        self.rows, self.noise, self.grad = rows, noise, grad
        self.val, self.tag, self.exact = {}, {}, {}
        self.gen = torch.Generator().manual_seed(seed)
        self.inner, self.coarse = Noise(self.gen, noise), {}
        self.drawn, self.seed = 0, 0
        self.modules = {}

    def leaf(self, i, leaf, x):
        if is_float(leaf.tag):
            x = x.to(ft())
            x = x.detach().clone().requires_grad_(True) if self.grad else x
        self.val[i], self.tag[i], self.exact[i] = x, leaf.tag, True
        self.coarse[i] = eps(leaf.tag) if is_float(leaf.tag) else 0.0

    def shake(self, x, by):
        return (
            x * (1 + self.noise * by * (2 * torch.rand(x.shape, generator=self.gen) - 1))
            if x.dtype == ft() and x.numel()
            else x
        )

    def operand(self, x, tag):
        """x as an operand of a product inside a function that rounds it to the type (docs/semantics.md)."""
        return self.shake(x, eps(tag)) if self.noise else x

    def roundoff(self, s, tags, out):
        """Of the operations inside a step; those of a gradient round to the coarsest type that led to the value."""
        if s.f in ("grad", "backward"):
            return self.coarse[s.args[0]]
        some = [t for t in list(tags) + (out if isinstance(out, list) else [out]) if is_float(t)]
        return max((eps(t if self.grad else work(t)) for t in some), default=eps("f32"))

    def step(self, s, row=None):
        row = row or self.rows[s.f]
        ids = list(Program().values(s.args))
        self.ids = ids
        if self.noise and not row.move and not row.discrete:
            args = map_values(
                s.args, lambda v: self.shake(self.val[v], eps(work(self.tag[v])) if is_float(self.tag[v]) else 0)
            )
        else:
            args = map_values(s.args, lambda v: self.val[v])
        tags = [self.tag[v] for v in ids]
        out = row.out_tags(tags, s.args)
        exact = row.move or row.discrete or not self.noise
        self.inner.eps = 0.0 if exact else self.roundoff(s, tags, out)
        # PyTorch takes other formulas where operations are watched (the gradient of prod): so they always are
        if self.noise or s.f in ("grad", "backward"):
            with self.inner:
                ys = row.ref(self, s.args, args, tags, out)
        else:
            ys = row.ref(self, s.args, args, tags, out)
        ys = list(ys) if row.many else [ys]
        still = all(self.exact[v] for v in ids)
        for k, (i, y) in enumerate(zip(s.outs, ys)):
            tag = out[k] if isinstance(out, list) else out
            if tag in INTS:
                y = wrap(y.to(torch.int64), tag)
                if tag == "u64" and y.numel() and y.min() < 0 and not self.noise:
                    raise ValueError("a u64 of 2^63 or more, which the int64 of the reference takes for a negative one")
            elif tag == "bool":
                y = y.to(torch.bool)
            else:
                y = y.to(ft())
                if self.noise and not row.move and not row.discrete:
                    y = self.shake(y, 2 * eps(tag))
                if row.rounds:
                    y = round_to(y, tag)
            self.val[i], self.tag[i] = y, tag
            self.coarse[i] = max([eps(tag) if is_float(tag) else 0.0] + [self.coarse[v] for v in ids])
            self.exact[i] = not is_float(tag) or (still and (row.move or row.discrete))


def reference(p, rows, noise=0.0, seed=0):
    """Outputs of each call, as lists of reference tensors."""
    r = Reference(rows, noise, seed, p.grads > 0)
    state, got = {}, []
    for call in range(p.calls):
        r.val = {}
        for i, leaf in p.leaves.items():
            x = leaf.data[min(call, len(leaf.data) - 1)]
            r.leaf(i, leaf, state.get(i, x))
        for s in p.steps:
            r.step(s)
        got.append([(r.tag[i], r.val[i].detach()) for i in p.outs])
        state = {i: r.val[j].detach() for i, j in p.state.items()}
    return got


def tolerances(p, rows, want, runs=32):
    """For each output how far off it may be, from runs in float32 with noise; where all is float64, by so much less."""
    dev = [[torch.zeros_like(y, dtype=torch.float64) if is_float(t) else None for t, y in call] for call in want]
    compute_in(torch.float32)
    try:
        others = [reference(p, rows, 1.0 if k % 2 else 2.0, 1000 + k) for k in range(runs)]
    finally:
        compute_in(torch.float64)
    for got in others:
        for call, other, d in zip(want, got, dev):
            for j, ((t, y), (_, z)) in enumerate(zip(call, other)):
                if is_float(t):
                    d[j] = torch.maximum(d[j], torch.nan_to_num((y - z.to(torch.float64)).abs(), nan=math.inf))
    pure = [only_f64(p, i) for i in p.outs]
    for call, d in zip(want, dev):
        for j, (t, y) in enumerate(call):
            if is_float(t) and y.numel():
                finite = y.abs()[torch.isfinite(y)]
                top = finite.max().item() if finite.numel() else 0.0
                least = {"f16": 2.0**-24, "f8e4m3": 2.0**-9, "f8e5m2": 2.0**-16, "f64": 1e-300}.get(t, 1e-36)
                d[j] = 4 * d[j] + 2 * d[j].mean()
                if pure[j]:
                    d[j] = d[j] * 2.0**-26
                d[j] = (
                    d[j] + 4 * eps(t) * y.abs() + (64 if pure[j] else 4) * eps(t if p.grads else work(t)) * top + least
                )  # the reference of f64 rounds too
    return dev


def only_f64(p, i):
    """Do only f64 floats lead to value i?"""
    made = {o: s for s in p.steps for o in s.outs}
    todo, seen = [i], set()
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        if is_float(p.tags[v]) and p.tags[v] != "f64":
            return False
        if v in made:
            todo += list(p.values(made[v].args))
        if v in p.state:
            todo.append(p.state[v])
    return True


def wrong(tag, want, tol, got):
    """Elements that are off: a count and the first as text."""
    if tuple(want.shape) != tuple(got.shape):
        return -1, "shape %s, expected %s" % (tuple(got.shape), tuple(want.shape))
    if is_float(tag):
        nan = torch.isnan(want) & torch.isnan(got)
        same = (want == got) | nan | ((want - got).abs() <= tol)
        same &= torch.isfinite(got) | ~torch.isfinite(want)
        same |= ~torch.isfinite(tol)
    else:
        same = want == got
    n = int((~same).sum())
    if not n:
        return 0, ""
    at = tuple(int(i) for i in (~same).nonzero()[0])
    more = " (may be off by %.3g)" % tol[at].item() if is_float(tag) else ""
    return n, "%d of %d elements: [%s] is %r, expected %r%s" % (
        n,
        want.numel(),
        ", ".join(map(str, at)),
        got[at].item(),
        want[at].item(),
        more,
    )


# ---- Ridge --------------------------------------------------------------------------------------------------------
class Refused(Exception):
    pass


class Machine:
    """Runs programs by the library on one device."""

    def __init__(self, lib, rows, device):
        self.lib, self.rows, self.device, self.ctx = lib, rows, device, None
        self.other, self.cleanup, self.temporary = None, [], None

    def folder(self):
        self.temporary = self.temporary or tempfile.TemporaryDirectory(prefix="ridge-outside-")
        return self.temporary.name

    def open(self):
        if self.ctx is None:
            self.ctx = self.lib.call("rg_open", self.device)
            self.check("rg_open")
        return self.ctx

    def close(self):
        for c in (self.ctx, self.other):
            if c is not None:
                self.lib.call("rg_close", c)
        self.ctx = self.other = None

    def check(self, where):
        if self.lib.call("rg_status_of", self.ctx):
            why = self.lib.call("rg_error", self.ctx).decode(errors="replace")
            raise Refused("%s: %s" % (where, why))

    def leaf(self, i, leaf, x):
        lib = self.lib
        if leaf.kind == "scalar":
            h = lib.call("rg_scalar", self.ctx, dtype(leaf.tag), float(x))
        elif leaf.kind == "index":
            h = lib.call("rg_index", self.ctx, leaf.bounds[0], leaf.bounds[1], int(x))
        else:
            raw = store(x, leaf.tag)
            h = lib.call(
                "rg_from", self.ctx, dtype(leaf.tag), C.create_string_buffer(raw, max(len(raw), 1)), list(x.shape)
            )
            if leaf.kind == "param":
                h = lib.call("rg_param", h)
        self.check("leaf v%d" % i)
        lib.handle[i] = h

    def steps(self, p):
        for n, s in enumerate(p.steps):
            self.lib.line = n + 1
            self.rows[s.f].run(self, s)
            self.check("step %d (%s)" % (n + 1, s.f))

    def read(self, p, outs):
        lib, got = self.lib, []
        order = list(range(len(outs)))
        if p.how == "backwards":
            order.reverse()
        buf = {}
        for k in order:
            h = outs[k]
            n = lib.call("rg_bytes", h)
            buf[k] = C.create_string_buffer(max(n, 1)), n
            lib.call("rg_read_async" if p.how == "async" else "rg_read", h, buf[k][0], n)
            self.check("read of v%d" % p.outs[k])
        lib.call("rg_wait", self.ctx)
        self.check("wait")
        for k, h in enumerate(outs):
            dims = (C.c_int64 * 16)()
            rank = lib.call("rg_shape_of", h, dims, 16)
            tag = NAMES[lib.call("rg_dtype_of", h)]
            got.append((tag, load(buf[k][0].raw[: buf[k][1]], tag, list(dims[:rank]))))
        return got

    def run(self, p):
        self.open()
        lib = self.lib
        lib.handle = {}
        scope = lib.call("rg_begin", self.ctx)
        try:
            lib.call("rg_seed", self.ctx, 0)
            return self.run_jit(p) if p.jit else self.run_loop(p)
        finally:
            if lib.call("rg_status_of", self.ctx):
                lib.call("rg_clear_error", self.ctx)
            for free in reversed(self.cleanup):
                free()
            self.cleanup = []
            for i, leaf in p.leaves.items():
                if leaf.kind == "param" and i in lib.handle:
                    lib.call("rg_free", lib.handle[i])
            lib.call("rg_end", scope)
            lib.handle = {}

    def run_loop(self, p):
        got = []
        for call in range(p.calls):
            for i, leaf in p.leaves.items():
                if call == 0 or len(leaf.data) > 1:
                    self.leaf(i, leaf, leaf.data[call if len(leaf.data) > 1 else 0])
            inner = self.lib.call("rg_begin", self.ctx)
            keep = dict(self.lib.handle)
            self.steps(p)
            got.append(self.read(p, [self.lib.handle[i] for i in p.outs]))
            self.lib.call("rg_end", inner)
            self.lib.handle = keep
        return got

    def run_jit(self, p):
        lib, failed, got = self.lib, [], []
        for i, leaf in p.leaves.items():
            if i not in p.inputs:
                self.leaf(i, leaf, leaf.data[0])
        outside = dict(lib.handle)

        def body(_, ins, outs):
            try:
                ins = C.cast(ins, C.POINTER(C.c_uint64))
                outs = C.cast(outs, C.POINTER(C.c_uint64))
                lib.handle = dict(outside)
                for k, i in enumerate(p.inputs):
                    lib.handle[i] = Tensor(ins[k])
                self.steps(p)
                for k, i in enumerate(p.outs):
                    outs[k] = lib.handle[i].id
                return 0
            except Exception as e:
                failed.append(e)
                return 1

        fn = JIT_FN(body)
        jit = lib.call("rg_jit_new", self.ctx, C.cast(fn, C.c_void_p), None, len(p.outs))
        self.check("rg_jit_new")
        try:
            for call in range(p.calls):
                inner = lib.call("rg_begin", self.ctx)
                for i, leaf in p.leaves.items():
                    if call and i not in p.inputs and len(leaf.data) > 1:  # a scalar that changes
                        lib.call("rg_set_scalar", lib.handle[i], float(leaf.data[call]))
                for i in p.inputs:
                    leaf = p.leaves[i]
                    self.leaf(i, leaf, leaf.data[min(call, len(leaf.data) - 1)])
                out = (Tensor * max(len(p.outs), 1))()
                lib.call("rg_jit_call", jit, [lib.handle[i] for i in p.inputs], out)
                if failed:
                    raise failed[0]
                self.check("call %d of the jit" % (call + 1))
                got.append(self.read(p, list(out)[: len(p.outs)]))
                lib.call("rg_end", inner)
                lib.handle = dict(outside)
        finally:
            lib.call("rg_jit_free", jit)
        return got


JIT_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p, C.c_void_p)
NAMES = [
    "bool",
    "i8",
    "i16",
    "i32",
    "i64",
    "u8",
    "u16",
    "u32",
    "u64",
    "f16",
    "bf16",
    "f32",
    "f64",
    "f8e4m3",
    "f8e5m2",
    "none",
]


def compare(p, rows, got, want=None):
    """None, or what is wrong. The noisy runs are made only where results differ by more than a few units in the last place."""
    want = want or reference(p, rows)
    why = differs(p, got, want, [[None if not is_float(t) else tight(t, y) for t, y in call] for call in want])
    for runs in (4, 32):
        why = why and differs(p, got, want, tolerances(p, rows, want, runs))
    return why


def tight(t, y):
    top = y.abs().max().item() if y.numel() else 0.0
    return 4 * eps(t) * y.abs() + 4 * eps(work(t)) * (top if math.isfinite(top) else 0.0)


def differs(p, got, want, tol):
    for call in range(p.calls):
        for k, i in enumerate(p.outs):
            (t, y), (gt, g) = want[call][k], got[call][k]
            if gt != t:
                return "v%d has dtype %s, expected %s" % (i, gt, t)
            n, why = wrong(t, y, tol[call][k], g)
            if n:
                return "v%d%s: %s" % (i, " of call %d" % (call + 1) if p.calls > 1 else "", why)
    return None


# ---- as C ---------------------------------------------------------------------------------------------------------
def c_number(tag, x):
    if tag in ("f16", "bf16", "f8e4m3", "f8e5m2"):
        raw = store(torch.tensor(float(x)), tag)
        return "0x%0*x" % (2 * len(raw), int.from_bytes(raw, "little"))
    if tag == "bool":
        return str(int(x))
    if is_float(tag):
        x = float(x)
        s = repr(float(np.float32(x))) if tag == "f32" else repr(x)
        if tag == "f32":
            s = str(np.float32(x))
        s = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(s, s)
        return s
    if tag == "i64" and int(x) == -(2**63):
        return "INT64_MIN"
    return str(int(x)) + ("LL" if abs(int(x)) >= 2**31 else "")


def c_array(tag, x):
    flat = x.detach().reshape(-1)
    return "(%s[]){%s}" % (CTYPE[tag], ", ".join(c_number(tag, v) for v in flat) or "0")


def c_leaf(i, leaf, call, decl="rg_tensor "):
    x = leaf.data[min(call, len(leaf.data) - 1)]
    if leaf.kind == "scalar":
        return "%sv%d = rg_scalar(c, %s, %r);" % (decl, i, dtype(leaf.tag), float(x))
    if leaf.kind == "index":
        return "%sv%d = rg_index(c, %d, %d, %d);" % (decl, i, leaf.bounds[0], leaf.bounds[1], int(x))
    made = "rg_from(c, %s, %s, RG_SHAPE(%s))" % (dtype(leaf.tag), c_array(leaf.tag, x), ", ".join(map(str, x.shape)))
    return "%sv%d = %s;" % (decl, i, "rg_param(%s)" % made if leaf.kind == "param" else made)


def c_steps(p, rows, indent):
    lines = []
    for s in p.steps:
        lines += [indent + line for line in rows[s.f].c(s)]
    return lines


def c_scalars(p, call, prefix=""):
    """Scalars that change before this call of a jit."""
    some = [(i, leaf) for i, leaf in p.leaves.items() if call and i not in p.inputs and len(leaf.data) > 1]
    return ["rg_set_scalar(%sv%d, %r);" % (prefix, i, float(leaf.data[call])) for i, leaf in some]


def c_program(p, rows, note=""):
    """A file of C that compiles against libridge.a and prints what it reads."""
    out = [
        "/* %s */" % note.replace("*/", "") if note else "",
        "#include <math.h>",
        "#include <ridge.h>",
        "#include <stdio.h>",
        "static void show(rg_tensor x) {",
        "    rg_tensor f = rg_cast(x, RG_F64);",
        "    double v[4096];",
        '    if (rg_read(f, v, sizeof v)) { printf("%s\\n", rg_error(rg_ctx_of(x))); return; }',
        '    for (int i = 0; i < rg_size(x); i++) printf("%.9g ", v[i]);',
        '    printf("\\n");',
        "}",
    ]
    fixed = [i for i in p.leaves if i not in p.inputs]
    if p.jit:
        out += ["static rg_ctx *c;"] + (["static rg_tensor %s;" % ", ".join("v%d" % i for i in fixed)] if fixed else [])
        out.append("static rg_status body(void *user, const rg_tensor *in, rg_tensor *out) {")
        out += ["    rg_tensor v%d = in[%d];" % (i, k) for k, i in enumerate(p.inputs)]
        out += c_steps(p, rows, "    ")
        out += ["    out[%d] = v%d;" % (k, p.outs[k]) for k in range(len(p.outs))] + ["    return 0;", "}"]
    out += ["int main(void) {", "    %sc = rg_open(NULL);" % ("" if p.jit else "rg_ctx *")]
    decl = "" if p.jit else "rg_tensor "
    if p.jit:
        out += ["    " + c_leaf(i, p.leaves[i], 0, decl) for i in fixed]
        out.append("    rg_jit *jit = rg_jit_new(c, body, NULL, %d);" % len(p.outs))
    else:
        out += ["    " + c_leaf(i, leaf, 0) for i, leaf in p.leaves.items() if len(leaf.data) == 1]
    for call in range(p.calls):
        out.append("    {")
        changing = p.inputs if p.jit else [i for i, leaf in p.leaves.items() if len(leaf.data) > 1]
        out += ["        " + c_leaf(i, p.leaves[i], call) for i in changing]
        if p.jit:
            out += ["        " + line for line in c_scalars(p, call)]
            out.append("        rg_tensor out[%d];" % len(p.outs))
            out.append(
                '        if (rg_jit_call(jit, RG_TENSORS(%s), out)) return printf("%%s\\n", rg_error(c)), 1;'
                % ", ".join("v%d" % i for i in p.inputs)
            )
            out += ["        show(out[%d]);" % k for k in range(len(p.outs))]
        else:
            out += c_steps(p, rows, "        ") + ["        show(v%d);" % i for i in p.outs]
        out.append("    }")
    out += ['    if (rg_status_of(c)) printf("%s\\n", rg_error(c));', "    return rg_close(c);", "}"]
    return "\n".join(line for line in out if line) + "\n"
