"""Short programs as NumPy's and PyTorch's tutorials have them: only the module they are given differs. They run, and give the same."""
import unittest

import ridge
from common import Case, needs_numpy, needs_torch, np, torch

# ---- NumPy ----


def mandelbrot(m):
    x, y = m.meshgrid(m.linspace(-2, 1, 24), m.linspace(-1.2, 1.2, 20))
    zx, zy, count = x * 0, y * 0, x * 0
    for _ in range(12):
        zx, zy = m.clip(zx * zx - zy * zy + x, -10, 10), m.clip(2 * zx * zy + y, -10, 10)
        count = count + m.where(zx * zx + zy * zy < 4, 1.0, 0.0)
    return count


def nearest_neighbours(m):
    points = m.sin(m.arange(40).reshape(20, 2) * 1.7)
    d = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
    return m.argsort(d, axis=1)[:, 1:4]


def standardize(m):
    a = m.cos(m.arange(60).reshape(12, 5) * 0.9)
    return (a - a.mean(axis=0)) / a.std(axis=0, ddof=0)


def life(m):
    board = (m.arange(64).reshape(8, 8) * 7 % 5 < 2).astype("int64")
    for _ in range(4):
        n = sum(m.roll(m.roll(board, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        board = ((n == 3) | ((board == 1) & (n == 2))).astype("int64")
    return board


def power_iteration(m):
    a = m.cos(m.arange(25).reshape(5, 5) * 0.3)
    a = a @ a.T
    v = a[:, 0]
    for _ in range(30):
        v = a @ v
        v = v / m.sqrt((v * v).sum())
    return (v @ a) @ v


# ---- PyTorch ----


def polynomial(m):
    """Learning with tensors and autograd: a polynomial fits a sine."""
    x = m.linspace(-3.1, 3.1, 200)
    y = m.sin(x)
    w = [m.tensor(v, requires_grad=True) for v in (0.1, 0.2, -0.1, 0.05)]
    for _ in range(40):
        loss = ((w[0] + w[1] * x + w[2] * x**2 + w[3] * x**3 - y) ** 2).sum()
        loss.backward()
        with m.no_grad():
            for p in w:
                p -= 1e-5 * p.grad
                p.grad = None
    return m.stack([p.detach() for p in w])


def autograd(m):
    x = m.ones(5)
    y = m.zeros(3)
    w = m.tensor([[0.1 * (i - j) for j in range(3)] for i in range(5)], requires_grad=True)
    b = m.tensor([0.5, -0.5, 0.1], requires_grad=True)
    z = m.matmul(x, w) + b
    loss = ((z - y) ** 2).mean()
    loss.backward()
    return m.cat([w.grad.reshape(-1), b.grad])


def attention(m):
    q, k, v = (m.sin(m.arange(24).reshape(4, 6) * s) for s in (0.1, 0.2, 0.3))
    return m.softmax(q @ k.transpose(0, 1) / 6**0.5, dim=-1) @ v


def logistic(m):
    x = m.cos(m.arange(80).reshape(20, 4) * 0.37)
    t = (x[:, 0] > x[:, 1]).float()
    w = m.zeros(4)
    for _ in range(50):
        p = m.sigmoid(x @ w)
        w = w - 0.5 * (x.T @ (p - t)) / 20
    return w


def indexing(m):
    t = m.arange(24).reshape(2, 3, 4)
    a = t[:, 1:, ::2].sum(dim=-1)
    b = m.cat([a, a], dim=0).max()
    return m.stack([t.permute(2, 0, 1)[0].sum(), b, (t > 7).sum(), t.flatten()[5], t[..., -1].sum()])


@needs_numpy
class Numpy(Case):
    def test_programs(self):
        for f in (mandelbrot, nearest_neighbours, standardize, life, power_iteration):
            with self.subTest(f.__name__):
                self.same(f(ridge), f(np), 1e-4, f.__name__)


@needs_torch
class Torch(Case):
    def test_programs(self):
        for f in (polynomial, autograd, attention, logistic, indexing):
            with self.subTest(f.__name__):
                self.same(f(ridge), f(torch).detach().numpy(), 1e-4, f.__name__)


if __name__ == "__main__":
    unittest.main()
