"""Random programs, through Python and through NumPy: what they compute is equal. RIDGE_TEST_DRAWS=N draws N of them; the device
is DEVICE's (REF evaluates without compiling kernels: 10,000 take minutes)."""
import os
import random
import unittest

import ridge
from common import DRAWS, Case, needs_numpy, np

UNARY = "exp sin cos tanh abs negative square floor ceil sign arctan".split()
BINARY = "add subtract multiply maximum minimum".split()


class Program:
    """Values are pairs: a tensor and an array, which must stay equal."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.g = np.random.default_rng(seed)
        self.values, self.text = [], []
        for _ in range(3):
            shape = tuple(self.r.randint(1, 4) for _ in range(self.r.randint(1, 3)))
            a = self.g.standard_normal(shape).astype(self.r.choice(["float32", "float64"]))
            self.values.append((ridge.tensor(a), a))

    def pick(self):
        return self.r.choice(self.values)

    def step(self):
        kind = self.r.choice("unary binary number reduce move index matmul where cumsum assign sort concat".split())
        x, a = self.pick()
        out = getattr(self, kind)(x, a)
        if out is not None and out[1].size and np.all(np.abs(out[1]) < 1e4):
            self.values.append((out[0], np.asarray(out[1])))
            self.text.append(kind)

    def unary(self, x, a):
        name = self.r.choice(UNARY)
        near = name in ("floor", "ceil", "sign") and np.any(np.abs(a - np.round(a)) < 1e-4)  # where rounding decides
        return None if near else (getattr(ridge, name)(x), getattr(np, name)(a))

    def binary(self, x, a):
        y, b = self.pick()
        try:
            np.broadcast_shapes(a.shape, b.shape)
        except ValueError:
            return None
        name = self.r.choice(BINARY)
        return getattr(ridge, name)(x, y), getattr(np, name)(a, b)

    def number(self, x, a):
        v = self.r.choice([2, -1, 0.5, 3.25])
        f = self.r.choice([lambda u: u + v, lambda u: v - u, lambda u: u * v, lambda u: u / v])
        return f(x), f(a)

    def reduce(self, x, a):
        name, keep = self.r.choice("sum mean max min".split()), self.r.random() < 0.5
        axis = self.r.choice([None] + list(range(a.ndim))) if a.ndim else None
        return getattr(x, name)(axis=axis, keepdims=keep), getattr(a, name)(axis=axis, keepdims=keep)

    def move(self, x, a):
        f = self.r.choice([lambda m, v: m.flip(v, 0) if v.ndim else v, lambda m, v: v.T, lambda m, v: m.expand_dims(v, 0),
                           lambda m, v: v.reshape(-1), lambda m, v: m.roll(v, 1), lambda m, v: m.tile(v, 2)])
        return (f(ridge, x), f(np, a)) if a.ndim < 4 and a.size < 200 else None

    def index(self, x, a):
        if not a.ndim:
            return None
        n = a.shape[0]
        key = self.r.choice([slice(None, None, -1), slice(1, None), self.r.randint(-n, n - 1), [self.r.randint(-n, n - 1) for _ in range(3)],
                             (..., None), (..., slice(None, None, 2))])
        return x[key], a[key]

    def matmul(self, x, a):
        return (x @ x.mT, a @ np.swapaxes(a, -1, -2)) if a.ndim > 1 else None

    def where(self, x, a):
        return ridge.where(x > 0.25, x, 0.5), np.where(a > 0.25, a, np.asarray(0.5, a.dtype))

    def cumsum(self, x, a):
        return (ridge.cumsum(x, 0), np.cumsum(a, 0)) if a.ndim else None

    def sort(self, x, a):
        return (ridge.sort(x, -1), np.sort(a, -1)) if a.ndim else None

    def concat(self, x, a):
        return (ridge.concatenate([x, x * 2], 0), np.concatenate([a, a * 2], 0)) if a.ndim and a.size < 200 else None

    def assign(self, x, a):
        """In place: a copy of each, so that older values keep theirs."""
        if not a.ndim:
            return None
        y, b = x * 1, a.copy()
        before = y + 0
        y[0] = 1.5
        y[..., -1] += 1
        b[0] = 1.5
        b[..., -1] += 1
        self.values.append((before, a))
        return y, b


@needs_numpy
class Random(Case):
    def test_programs(self):
        first = int(os.environ.get("RIDGE_TEST_SEED", "0"))
        steps = 0
        for seed in range(first, first + DRAWS):
            p = Program(seed)
            with np.errstate(all="ignore"):
                for _ in range(12):
                    p.step()
            exact = all(a.dtype == np.float64 for _, a in p.values)
            for x, a in p.values:
                self.assertEqual(x.dtype.name, a.dtype.name, (seed, p.text))
                self.same(x, a, 1e-9 if exact else 2e-3, (seed, p.text))
            steps += len(p.text)
        self.assertGreater(steps, 4 * DRAWS)


if __name__ == "__main__":
    unittest.main()
