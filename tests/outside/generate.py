"""Random programs. A Gen holds a program in the making together with the reference's values of it, so that a row can ask for operands in
the domain of its function. The same seed gives the same program."""

import random

import torch

from header import E, V
from program import ALL, FL, INTS, TOP, Leaf, Program, Reference, Step, is_float, round_to, wrap
from rows import ROWS

SIZES = (0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7)
LARGE = (8, 9, 15, 16, 17, 31, 33)
MOST = 1500  # elements of a value
NAMES = [n for n, r in ROWS.items() if r.weight > 0]
KINDS = ("forward", "assign", "grad", "grad2", "jit", "loop", "backward")


class Reject(Exception):
    pass


class Gen:
    def __init__(self, seed, mode, only=None):
        self.r = random.Random(seed)
        self.torch = torch.Generator().manual_seed(self.r.randrange(1 << 31))
        self.mode, self.jit = mode, mode == "jit"
        self.grads = {"grad": 1, "grad2": 2, "backward": 1}.get(mode, 0)
        self.p = Program()
        self.p.grads = self.grads
        self.ref = Reference(ROWS, grad=self.grads > 0)
        self.dead, self.views, self.next, self.decides = set(), set(), 0, set()
        self.tags = (
            self.r.choice((FL, ("f32",), ("f32", "f64"), ALL))
            if not self.grads
            else self.r.choice((("f32",), ("f64",), ("f32",), FL))
        )
        self.only = only
        self.big = self.r.random() < 0.1

    # ---- what rows ask ------------------------------------------------------------------------------------------
    def val(self, v):
        return self.ref.val[v]

    def shape(self, v):
        return list(self.ref.val[v].shape)

    def tag(self, v):
        return self.ref.tag[v]

    def size(self):
        return (
            self.r.choice(LARGE)
            if self.big and self.r.random() < 0.4
            else self.r.choice(SIZES if not self.grads or self.r.random() < 0.3 else SIZES[1:])
        )

    def new_shape(self, rank=(0, 4)):
        for _ in range(20):
            s = [
                self.size()
                for _ in range(
                    self.r.choice([k for k in (0, 1, 1, 2, 2, 2, 3, 3, 4) if rank[0] <= k <= rank[1]] or [rank[0]])
                )
            ]
            if torch.Size(s).numel() <= MOST // 4:
                return s
        return [1] * rank[0]

    def axis(self, v):
        n = len(self.shape(v))
        if not n:
            raise Reject
        return self.r.randrange(-n, n)

    def sign_axis(self, a, n):
        return a - n if self.r.random() < 0.25 else a

    def number(self, tag, lo=None, hi=None):
        if is_float(tag) or self.r.random() < 0.2:
            return (
                self.r.choice((0.5, -1.5, 2.0, 0.25))
                if self.r.random() < 0.7 and tag != "bool"
                else self.r.choice((1, 2, 3))
            )
        return self.r.choice((0, 1, 2, 3, 5))

    def alive(self):
        return [v for v in self.ref.val if v not in self.dead]

    def any(self):
        live = self.alive()
        return V(self.r.choice(live)) if live else self.t(ALL)

    def fits(self, v, tags, shape, rank, lo, hi, exact, nonzero, least):
        x = self.ref.val[v]
        if self.ref.tag[v] not in tags or (exact and not self.ref.exact[v]):
            return False
        if shape is not None and list(x.shape) != list(shape):
            return False
        if not rank[0] <= x.dim() <= rank[1] or (least and 0 in x.shape):
            return False
        if (lo is not None or nonzero) and x.numel():
            y = x.detach()
            if lo is not None and (y.min() < lo or y.max() > hi):
                return False
            if nonzero and (y.abs() < 1e-2).any():
                return False
        return True

    def t(
        self,
        tags,
        shape=None,
        rank=(0, 5),
        lo=None,
        hi=None,
        exact=False,
        nonzero=False,
        least=0,
        even=False,
        ones=False,
        small=False,
    ):
        """A value that fits: one of the program's, or a new leaf."""
        rank = (rank[0], rank[1])
        live = self.alive()
        self.r.shuffle(live)
        live = sorted(live[:6], reverse=True) if self.r.random() < 0.5 else live[:6]
        if self.r.random() < 0.75 or (len(live) > 8):
            for v in live:
                if self.fits(v, tags, shape, rank, lo, hi, exact, nonzero, least):
                    self.decides.update([v] if exact else [])
                    return V(v)
        tags = [t for t in tags if t in self.tags] or list(tags)
        tag = self.r.choice(tags)
        if shape is None:
            shape = self.new_shape((rank[0], min(rank[1], 4)))
            if least:
                shape = [max(n, 1) for n in shape]
            if even and shape:
                shape[self.r.randrange(len(shape))] = self.r.choice((2, 4, 6))
            if ones and shape and self.r.random() < 0.7:
                shape[self.r.randrange(len(shape))] = 1
            if small:
                shape = [min(n, 4) for n in shape]
        made = self.leaf(tag, shape, lo, hi, nonzero)
        self.decides.update([made] if exact else [])
        return made

    def draw(self, tag, shape, lo, hi, nonzero):
        """Data of a leaf."""
        if tag == "bool":
            return torch.rand(shape, generator=self.torch) < 0.5
        if tag in INTS:
            bits, signed = INTS[tag]
            a, b = (-8 if signed else 0), 12
            if lo is not None:
                a, b = max(a, int(-(-lo // 1))), min(b, int(hi))
            elif self.r.random() < 0.1 and bits < 64:
                a, b = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
            return torch.randint(a, max(a, b) + 1, shape, generator=self.torch)
        a, b = (-3.0, 3.0) if lo is None else (float(max(lo, -30)), float(min(hi, 30)))
        x = a + (b - a) * torch.rand(shape, generator=self.torch)
        if not self.grads and lo is None and self.r.random() < 0.3:
            x = torch.round(x * 4) / 4  # ties and whole numbers
        if nonzero:
            x = torch.where(x.abs() < 0.1, x.sign() * 0.25 + 0.125, x)
        return round_to(x, tag)

    def add(self, leaf):
        i = V(self.next)
        self.next += 1
        self.p.leaves[i] = leaf
        self.ref.leaf(i, leaf, leaf.data[0])
        return i

    def leaf(self, tag, shape, lo=None, hi=None, nonzero=False):
        if (
            not shape
            and tag not in ("bool", "f8e4m3", "f8e5m2")
            and lo is None
            and self.r.random() < 0.3
            and not self.grads
        ):
            leaf = Leaf(tag, [self.draw(tag, shape, 0, 9, False)], "scalar")
        else:
            leaf = Leaf(tag, [self.draw(tag, shape, lo, hi, nonzero)])
        leaf.redraw = lambda: self.draw(
            tag, shape, 0 if leaf.kind == "scalar" else lo, 9 if leaf.kind == "scalar" else hi, nonzero
        )
        return self.add(leaf)

    def data(self, tag, x):
        leaf = Leaf(tag, [x])
        leaf.fixed = True  # indices: not assigned to
        return self.add(leaf)

    def index(self, shape, n):
        """Integers 0..n-1: a leaf, or computed of leaves."""
        tag = self.r.choice(("i64", "i64", "i32"))
        if n <= 0 and torch.Size(shape).numel():
            raise Reject
        if shape and self.r.random() < 0.25:
            made = self.index_of_parts(list(shape), n, tag)
            if made is not None:
                return made
        return self.index_leaf(shape, n, tag)

    def index_of_parts(self, shape, n, tag):
        """Such integers, concatenated, stacked or reversed."""
        a = self.r.randrange(len(shape))
        how = self.r.choice(("cat", "stack", "flip"))
        if how == "flip":
            args = [self.index_leaf(shape, n, tag), [a]]
        elif how == "stack" and shape[a] <= 6:
            args = [[self.index_leaf(shape[:a] + shape[a + 1 :], n, tag) for _ in range(shape[a])], a]
        else:
            first = self.r.randint(0, shape[a])
            sizes = [k for k in (first, shape[a] - first) if k] or [0]
            how = "cat"
            args = [[self.index_leaf(shape[:a] + [k] + shape[a + 1 :], n, tag) for k in sizes], a]
        if how != "flip" and not args[0]:
            return None
        s = self.step(how, args)
        return s.outs[0] if s else None

    def index_leaf(self, shape, n, tag):
        make = lambda: torch.randint(0, max(n, 1), shape, generator=self.torch)
        leaf = Leaf(tag, [make()])
        leaf.redraw = make
        leaf.fixed = True
        return self.add(leaf)

    def index_scalar(self, lo, hi):
        make = lambda: torch.tensor(self.r.randint(lo, hi))
        leaf = Leaf("i64", [make()], "index", (lo, hi))
        leaf.redraw = make
        return self.add(leaf)

    def beside(self, x, tags, within=False, **kw):
        """A value that broadcasts with x; within: to x's shape."""
        s = self.shape(x)
        how = self.r.random()
        if how < 0.45:
            shape = s
        elif how < 0.6:
            shape = []
        else:
            shape = [1 if self.r.random() < 0.3 else n for n in s][self.r.randrange(len(s) + 1) :]
            if not within and self.r.random() < 0.2 and len(shape) == len(s) and len(s) < 4:
                shape = [self.r.choice((1, 2, 3))] + shape
        return self.t(tags, shape=shape, **kw)

    def own(self, v):
        leaf = self.p.leaves.get(v)
        return self.tag(v) in ALL and (leaf is None or (leaf.kind in ("from", "param") and not hasattr(leaf, "fixed")))

    def assignable(self, rank=0):
        """A tensor of its own that is not a view."""
        live = [v for v in self.alive() if v not in self.views and len(self.shape(v)) >= rank and self.own(v)]
        if self.jit:
            live = [
                v for v in live if v in self.p.leaves and v not in self.p.inputs and len(self.p.leaves[v].data) == 1
            ]
        if not live:
            raise Reject
        return V(self.r.choice(live))

    def scalar(self):
        live = [
            v
            for v in self.alive()
            if v in self.p.leaves and self.p.leaves[v].kind == "scalar" and is_float(self.tag(v))
        ]
        if not live:
            raise Reject
        return V(self.r.choice(live))

    # ---- steps --------------------------------------------------------------------------------------------------
    def accept(self, s):
        for i in s.outs:
            x, tag = self.ref.val[i], self.ref.tag[i]
            if x.numel() > MOST or x.dim() > 6:
                return False
            y = x.detach()
            if not x.numel():
                continue
            if is_float(tag) and not (torch.isfinite(y).all() and y.abs().max() < TOP[tag]):
                return False
            if tag in ("i64", "u64") and y.abs().max() > 2**60:
                return False
        return True

    def step(self, name, args=None):
        """Adds a step, or leaves the program as it was."""
        row = ROWS[name]
        leaves, nxt, drawn = dict(self.p.leaves), self.next, (self.ref.seed, self.ref.drawn)
        done = len(self.p.steps)  # arguments may be steps of their own
        try:
            if args is None:
                args = row.gen(self)
            if not args:
                raise Reject
            outs = [V(self.next + k) for k in range(row.many(args) if row.many else 1)]
            s = Step(name, args, outs)
            self.ref.step(s)
            if not self.accept(s):
                raise Reject
        except (Reject, RuntimeError, IndexError, ValueError, NotImplementedError):
            for v in list(self.ref.val):
                if v >= nxt:
                    self.ref.val.pop(v)
            self.p.leaves, self.next = leaves, nxt
            del self.p.steps[done:]
            self.views = {v for v in self.views if v < nxt}
            self.ref.seed, self.ref.drawn = drawn
            return None
        self.next += len(outs)
        if row.move:
            self.views.update(outs)
        self.p.steps.append(s)
        return s

    def ban(self, row):
        if self.grads and (row.order < self.grads or row.order == 0):
            return True
        return (
            self.mode in ("jit", "loop")
            and row.order == 0
            and row.name.startswith(("nn_", "sgd", "adam", "npy", "safe", "copy", "multi"))
            or (self.mode in ("jit", "loop") and row.name in ("shl", "shr"))
        )

    def rebind(self, name):
        s = self.step(name)
        if s:
            old, new = s.args[0], s.outs[0]
            self.dead.add(old)
            if name == "set_scalar":
                self.views.add(new)
            else:
                self.views.discard(new)
            leaf = self.p.leaves.get(old)
            first = old
            for k, (a, b) in enumerate(list(self.p.state.items())):
                if b == old:
                    first = a
            if leaf is not None or first != old:
                self.p.state[first] = new
        return s

    def body(self, steps):
        tries = 0
        while len(self.p.steps) < steps and tries < 10 * steps:
            tries += 1
            if self.r.random() < 0.08 and not (self.grads and self.mode != "backward") and not self.jit:
                self.step(self.r.choice(("realize", "realize", "realize_all", "collect", "sync")))
                continue
            share = {"assign": 0.35, "jit": 0.2, "loop": 0.3}.get(self.mode, 0.0)
            if self.r.random() < share:
                self.rebind(
                    self.r.choice(
                        ("assign", "assign_slice", "assign_slice", "set_scalar")
                        if not self.jit
                        else ("assign", "assign_slice")
                    )
                )
                continue
            names = self.only or NAMES
            name = self.r.choices(names, [ROWS[n].weight or 1 for n in names])[0]
            if not self.ban(ROWS[name]):
                self.step(name)

    def gradients(self):
        """Adds d (some value) / d (some leaves), of first and second order."""
        floats = [
            v
            for v in self.alive()
            if is_float(self.tag(v)) and v not in self.p.leaves and self.val(v).requires_grad and self.tag(v) in FL
        ]
        leaves = [
            V(v)
            for v, leaf in self.p.leaves.items()
            if is_float(leaf.tag) and leaf.tag in FL and leaf.kind in ("from", "param")
        ]
        if not floats or not leaves:
            raise Reject
        of = V(max(floats) if self.r.random() < 0.7 else self.r.choice(floats))
        wrt = [V(v) for v in self.r.sample(leaves, min(len(leaves), self.r.randint(1, 3)))]
        if self.mode == "backward":
            for v in leaves:
                self.p.leaves[v].kind = "param"
            if self.shape(of):
                s = self.step("sum", [of, {}])
                if not s:
                    raise Reject
                of = s.outs[0]
            used = torch.autograd.grad(
                self.val(of), [self.val(v) for v in leaves], allow_unused=True, retain_graph=True
            )
            wrt = [v for v, g in zip(leaves, used) if g is not None]
            # a loss of floats that lead to no parameter, or by steps alone, is an error; one of constants has gradients of 0
            beside = any(ROWS[s.f].discrete or s.f in ("detach", "no_grad") for s in self.p.steps)
            if beside and not any(g is not None and g.abs().sum() > 0 for g in used):
                raise Reject
            if not wrt or not self.step("backward", [of, wrt]):
                raise Reject
            self.want = list(self.p.steps[-1].outs)
            return
        self.want = []
        for order in range(self.grads):
            seed = self.leaf(self.tag(of), self.shape(of), -2, 2)
            s = self.step("grad", [of, wrt, {"seed": seed, "unused_ok": True}])
            if not s:
                raise Reject
            self.want = list(s.outs) + (self.want if self.r.random() < 0.3 else [])
            again = [v for v in s.outs if self.val(v).requires_grad and self.val(v).numel()]
            if order + 1 < self.grads:
                if not again:
                    raise Reject
                of = self.r.choice(again)

    def outputs(self):
        """What is read: what nothing else uses, and some others."""
        used = {v for s in self.p.steps for v in self.p.values(s.args)}
        made = [v for s in self.p.steps for v in s.outs if v not in self.dead]
        outs = [v for v in made if v not in used or self.r.random() < 0.15]
        if self.grads:
            outs = [v for v in self.want]
            if self.r.random() < 0.3:
                outs += [s.args[0] for s in self.p.steps if s.f in ("grad", "backward")][:1]
        if self.mode in ("assign", "loop", "jit") and self.r.random() < 0.7:
            outs += [v for v in made if v not in outs and self.r.random() < 0.3]
        outs = list(dict.fromkeys(outs))[-8:]
        if self.jit:  # an output is a value of its own
            outs = [v for v in outs if v not in self.p.leaves and v not in self.p.state.values()]
        if not outs:
            raise Reject
        self.p.outs = outs

    def build(self, steps=None):
        p = self.p
        if self.jit:  # inputs exist before the body
            for _ in range(self.r.randint(1, 3)):
                v = self.leaf(self.r.choice(self.tags), self.new_shape())
                if p.leaves[v].kind == "from":
                    p.inputs.append(v)
        self.body(steps or self.r.choice((1, 2, 3, 4, 5, 6, 8, 10, 12)))
        if self.grads:
            self.gradients()
        if not p.steps:
            raise Reject
        self.outputs()
        p.how = self.r.choice(("async", "async", "each", "backwards"))
        if self.mode in ("jit", "loop"):
            p.jit = self.jit
            p.calls = self.r.choice((3, 4, 5)) if self.jit else self.r.choice((2, 3, 5, 12))
            if not self.decided():
                raise Reject
            self.vary()
        p.tags = dict(self.ref.tag)
        return p

    def decided(self):
        """Is what decides by order or equality free of roundings in later calls too, where state is what a call assigned?"""
        exact, p = dict(self.ref.exact), self.p
        for _ in range(len(p.state) + 1):
            exact.update({i: exact[i] and exact[j] for i, j in p.state.items()})
            for s in p.steps:
                row, still = ROWS[s.f], all(exact[v] for v in p.values(s.args))
                for i in s.outs:
                    exact[i] = not is_float(self.ref.tag[i]) or (still and (row.move or row.discrete))
        return all(exact[v] for v in self.decides if v in self.ref.val)

    def vary(self):
        """Other data for each call."""
        p = self.p
        for i, leaf in p.leaves.items():
            if i in p.state or not hasattr(leaf, "redraw") or (leaf.kind in ("scalar", "index") and not p.jit):
                continue
            if (
                i in p.inputs
                or (leaf.kind in ("scalar", "index") and self.r.random() < 0.7)
                or (not p.jit and self.r.random() < 0.5)
            ):
                leaf.data = [leaf.data[0]] + [leaf.redraw() for _ in range(p.calls - 1)]
        if not p.jit:
            return


# Above these a result of the dtype may be infinite where the reference, in wider numbers, is not.
LARGEST = {"f16": 0.9 * 65504, "f8e4m3": 0.9 * 448, "f8e5m2": 0.9 * 57344}


def finite(want):
    for call in want:
        for t, y in call:
            most = LARGEST.get(t, TOP.get(t, 0) * 30)
            if is_float(t) and y.numel() and not (torch.isfinite(y).all() and y.abs().max() <= most):
                return False
    return True


def program(seed, kinds=KINDS, only=None, steps=None):
    """The program of this seed with what it computes: (program, values)."""
    from program import reference

    r = random.Random(seed)
    for attempt in range(60):
        mode = r.choice(kinds)
        try:
            g = Gen(r.randrange(1 << 40), mode, only)
            p = g.build(steps)
            p.name, p.mode = "seed %d" % seed, mode
            want = reference(p, ROWS)
        except (Reject, RuntimeError, IndexError, ValueError, NotImplementedError):
            continue
        if finite(want):
            for leaf in p.leaves.values():
                leaf.__dict__.pop("redraw", None)
            return p, want
    return None, None
