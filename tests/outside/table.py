"""What a row of the table is; rows.py and its kin hold the rows.

    row("exp", gen, ref, out="float", conv="float")

gen(g) makes arguments by a Gen (generate.py) or gives None; ref(*tensors) says what PyTorch makes of them; out is the dtype of the result;
conv is how tensors are converted first: "float" to float64, "promote" to the kind of the common dtype. The arguments are those of the C
function without context and output array."""

import torch

from header import FUNCS, V, Tensor, text
from program import FLOATS, FL, IN, INTS, dtype, is_float, map_values, round_to, ft

ROWS = {}
SIGNED_UP = {"u8": "i16", "u16": "i32", "u32": "i64"}


def promote(a, b):
    """docs/semantics.md"""
    if a == b:
        return a
    if is_float(a) or is_float(b):
        if is_float(a) and is_float(b):
            if {a, b} == {"f16", "bf16"}:
                return "f32"
            return max(a, b, key=lambda t: ("f8e4m3", "f8e5m2", "f16", "bf16", "f32", "f64").index(t))
        return a if is_float(a) else b
    if "bool" in (a, b):
        return b if a == "bool" else a
    (na, sa), (nb, sb) = INTS[a], INTS[b]
    if sa == sb:
        return a if na >= nb else b
    u, s = (a, b) if sb else (b, a)
    if u == "u64":
        return "f32"
    up = SIGNED_UP[u]
    return up if INTS[up][0] >= INTS[s][0] else s


def with_number(tag, n):
    if isinstance(n, float):
        return tag if is_float(tag) else "f32"
    return "i64" if tag == "bool" else tag


def promoted(tags, args=()):
    t = tags[0]
    for u in tags[1:]:
        t = promote(t, u)
    for a in args:
        if isinstance(a, (int, float)) and not isinstance(a, V) and not isinstance(a, bool):
            t = with_number(t, a)
    return t


OUT = {
    "same": lambda tags, args: tags[0],
    "float": lambda tags, args: tags[0] if is_float(tags[0]) else "f32",
    "promote": promoted,
    "promote_float": lambda tags, args: promoted(tags, args) if is_float(promoted(tags, args)) else "f32",
    "tensors": lambda tags, args: promoted(tags),
    "tensors_float": lambda tags, args: promoted(tags) if is_float(promoted(tags)) else "f32",
    "sum": lambda tags, args: tags[0] if is_float(tags[0]) or tags[0] == "u64" else "i64",
    "bool": lambda tags, args: "bool",
    "i64": lambda tags, args: "i64",
}


def kind(x, tag):
    """x as the type: an integer beside a float becomes a float of that type, rounded."""
    if is_float(tag) and not x.is_floating_point():
        return round_to(x.to(torch.float64), tag).to(ft())
    return x.to(ft() if is_float(tag) else torch.bool if tag == "bool" else torch.int64)


class Row:
    def __init__(
        self,
        name,
        gen,
        ref,
        out="same",
        conv=None,
        fn=None,
        move=False,
        discrete=False,
        many=False,
        rounds=False,
        order=2,
        weight=1.0,
        run=None,
        c=None,
        raw=False,
        covers=(),
    ):
        self.name, self.gen, self.fn = name, gen, fn or "rg_" + name
        self.move, self.discrete, self.many, self.rounds, self.order, self.weight = (
            move,
            discrete,
            many,
            rounds,
            order,
            weight,
        )
        self.out_tags = OUT[out] if isinstance(out, str) else out
        self.lam, self.conv, self.raw = ref, conv, raw
        self.covers = tuple(covers) or (self.fn,)
        if run:
            self.run = lambda m, s: run(m, s)
        if c:
            self.c = c

    def ref(self, r, raw, args, tags, out):
        if self.raw:
            return self.lam(r, raw, args, tags, out)
        if self.conv == "float":
            t = promoted(tags) if is_float(promoted(tags)) else "f32"
            args = [kind(x, t) if isinstance(x, torch.Tensor) else x for x in args]
        elif self.conv == "promote":
            t = promoted(tags, raw)
            args = [kind(x, t) if isinstance(x, torch.Tensor) else x for x in args]
        return self.lam(*args)

    def full(self, args, ctx, out):
        """Arguments of the C function: context and output array put where they belong."""
        it, full = iter(args), []
        for t, n in FUNCS[self.fn].params:
            full.append(ctx if t == "rg_ctx *" else out if t == "rg_tensor *" else next(it))
        return full

    def run(self, m, s):
        lib = m.lib
        if self.many:
            out = (Tensor * len(s.outs))()
            lib.call(self.fn, *self.full(s.args, m.ctx, out))
            for i, h in zip(s.outs, out):
                lib.handle[i] = Tensor(h.id)
        else:
            lib.handle[s.outs[0]] = lib.call(self.fn, *self.full(s.args, m.ctx, None))

    def c(self, s):
        name = lambda v: "v%d" % int(v)
        params = FUNCS[self.fn].params

        class Raw(V):
            pass

        args = []
        for (t, _), a in zip(params, self.full(s.args, "c", "o%d" % s.outs[0])):
            args.append(a)
        call = text(
            name, self.fn, [a if not (t in ("rg_ctx *", "rg_tensor *")) else Word(a) for (t, _), a in zip(params, args)]
        )
        if self.many:
            got = ", ".join("v%d = o%d[%d]" % (i, s.outs[0], k) for k, i in enumerate(s.outs))
            return ["rg_tensor o%d[%d];" % (s.outs[0], len(s.outs)), call + ";", "rg_tensor %s;" % got]
        return ["rg_tensor v%d = %s;" % (s.outs[0], call)]


from header import E as Word  # a name written as it is


def row(name, gen, ref, **kw):
    assert name not in ROWS, name
    ROWS[name] = Row(name, gen, ref, **kw)
    return ROWS[name]
