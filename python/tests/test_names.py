"""NumPy's and PyTorch's functions that are built from others: the same values, on random shapes."""
import random
import unittest

import ridge
from common import Case, draw_array, needs_numpy, needs_torch, np, torch

BOTH = [  # the same call of ridge and torch: x, y (floats of one shape of 2 to 4 axes), i (integers of the shape), n (their bound)
    lambda m, x, y, i, n: m.quantile(x, 0.3), lambda m, x, y, i, n: m.quantile(x, m.tensor([0.1, 0.5, 1.0]), dim=1, keepdim=True),
    lambda m, x, y, i, n: x.quantile(m.tensor([0.0, 0.77]), dim=0), lambda m, x, y, i, n: m.quantile(x, 0.4, dim=-1, interpolation="nearest"),
    lambda m, x, y, i, n: m.quantile(x, 0.4, dim=-1, interpolation="midpoint"), lambda m, x, y, i, n: m.quantile(x, 0.6, 0, interpolation="lower"),
    lambda m, x, y, i, n: m.quantile(x, 0.6, 0, interpolation="higher"),
    lambda m, x, y, i, n: m.nanquantile(m.where(x > 1, float("nan"), x), 0.3, dim=1),
    lambda m, x, y, i, n: m.quantile(m.where(x > 1, float("nan"), x), 0.3, dim=1),
    lambda m, x, y, i, n: m.kthvalue(x, 1 + x.shape[1] // 2, dim=1)[0], lambda m, x, y, i, n: m.msort(x), lambda m, x, y, i, n: m.mode(i, 1)[0],
    lambda m, x, y, i, n: m.max(x, y) - m.min(x, y), lambda m, x, y, i, n: m.max(x) - m.min(y),
    lambda m, x, y, i, n: m.aminmax(x, dim=0)[1] - m.aminmax(x)[0],
    lambda m, x, y, i, n: m.bincount(i.reshape(-1)), lambda m, x, y, i, n: m.bincount(i.reshape(-1), y.reshape(-1), 12),
    lambda m, x, y, i, n: m.histc(x, 7, -1, 2), lambda m, x, y, i, n: m.histc(x, 5),
    lambda m, x, y, i, n: m.searchsorted(m.msort(x.reshape(-1)), y), lambda m, x, y, i, n: m.searchsorted(m.msort(i.reshape(-1)), i, right=True),
    lambda m, x, y, i, n: m.searchsorted(m.sort(i, -1)[0] if m is torch else i.sort(-1), i, side="right"),
    lambda m, x, y, i, n: m.bucketize(x, m.tensor([-1.0, 0.0, 0.5])), lambda m, x, y, i, n: m.unique(i),
    lambda m, x, y, i, n: m.unique(i, return_inverse=True)[1], lambda m, x, y, i, n: m.unique(i, return_counts=True)[1],
    lambda m, x, y, i, n: m.unique(i % 2, dim=0), lambda m, x, y, i, n: m.unique(i % 2, dim=-1, return_inverse=True, return_counts=True)[1],
    lambda m, x, y, i, n: m.unique_consecutive(i % 2), lambda m, x, y, i, n: m.unique_consecutive(i % 2, return_counts=True, dim=0)[1],
    lambda m, x, y, i, n: m.isin(i, m.tensor([1, 3])), lambda m, x, y, i, n: m.isin(i, m.tensor([1, 3]), invert=True),
    lambda m, x, y, i, n: m.argwhere(x > 0), lambda m, x, y, i, n: m.take_along_dim(x, i % x.shape[1], dim=1),
    lambda m, x, y, i, n: m.take_along_dim(x, i), lambda m, x, y, i, n: m.take_along_dim(x, x.argsort(-1)[..., :1], -1),
    lambda m, x, y, i, n: m.movedim(x, 0, -1), lambda m, x, y, i, n: m.movedim(x, (0, 1), (1, 0)), lambda m, x, y, i, n: m.swapdims(x, 0, 1),
    *(lambda m, x, y, i, n, o=o, a=a: m.diag_embed(x, o, *a) for o in (0, 2, -1) for a in ((), (0, 1), (2, 0), (-1, 0))),
    lambda m, x, y, i, n: m.diagflat(x, -2), lambda m, x, y, i, n: m.diagonal_scatter(x, x.diagonal(1) * 2 + 1, 1),
    lambda m, x, y, i, n: m.diagonal_scatter(x, x.diagonal(-1, 1, 0) * 2 + 1, -1, 1, 0),
    lambda m, x, y, i, n: m.cat(m.tensor_split(x, 3, 1)[::-1], 1), lambda m, x, y, i, n: m.cat(m.tensor_split(x, [1, 2], 0)[::-1], 0),
    lambda m, x, y, i, n: m.hsplit(x, [1])[0], lambda m, x, y, i, n: m.vsplit(x, [-1])[0], lambda m, x, y, i, n: m.dstack((x, y)),
    lambda m, x, y, i, n: m.column_stack((x, y)), lambda m, x, y, i, n: m.block_diag(x.flatten(1), y.flatten(1)[:1]),
    lambda m, x, y, i, n: m.kron(x, y[0]), lambda m, x, y, i, n: m.cartesian_prod(x.reshape(-1)[:3], y.reshape(-1)[:2]),
    lambda m, x, y, i, n: m.combinations(x.reshape(-1)[:4], 2), lambda m, x, y, i, n: m.combinations(x.reshape(-1)[:3], 2, True),
    lambda m, x, y, i, n: m.vander(x.reshape(-1)[:4], 3), lambda m, x, y, i, n: m.tril_indices(4, 3, 1),
    lambda m, x, y, i, n: m.triu_indices(3, 5, -1),
    lambda m, x, y, i, n: m.fliplr(x) + m.flipud(x), lambda m, x, y, i, n: m.select_scatter(x, y[:, -1], 1, -1),
    lambda m, x, y, i, n: m.slice_scatter(x, y[1:], 0, 1), lambda m, x, y, i, n: m.index_copy(x, 0, m.tensor([1, 0]), y[:2]),
    lambda m, x, y, i, n: m.index_fill(x, 1, m.tensor([1, 0]), 3.0), lambda m, x, y, i, n: m.index_put(x, (m.tensor([1, 0]),), y[:2]),
    lambda m, x, y, i, n: m.index_put(x, (i[:, 0] % 2, i[:, 1] % 2), m.tensor(2.0), accumulate=True),
    lambda m, x, y, i, n: m.masked_scatter(x, y > 0, y.flip(0)), lambda m, x, y, i, n: m.renorm(x, 2, 0, 0.5),
    lambda m, x, y, i, n: m.channel_shuffle(m.cat((x, y), 1).unsqueeze(-1), 2), lambda m, x, y, i, n: x.sum_to_size(1, *x.shape[1:]),
    lambda m, x, y, i, n: m.frac(x * 5), lambda m, x, y, i, n: m.sgn(x), lambda m, x, y, i, n: m.sinc(x * (i > 1)),
    lambda m, x, y, i, n: m.logit(x.sigmoid()),
    lambda m, x, y, i, n: m.logit(x, 0.1), lambda m, x, y, i, n: m.xlogy(x * (i > 2), y.abs() * (i > 1)),
    lambda m, x, y, i, n: m.float_power(x.abs(), 1.5),
    lambda m, x, y, i, n: m.heaviside(x * (i > 1), y), lambda m, x, y, i, n: m.ldexp(x, i), lambda m, x, y, i, n: m.gcd(i * 6, i.flip(0) * 4),
    lambda m, x, y, i, n: m.lcm(i * 6, i.flip(0) * 4), lambda m, x, y, i, n: m.logaddexp2(x, y), lambda m, x, y, i, n: m.erfc(x * 3),
    lambda m, x, y, i, n: m.erfinv(x.tanh()), lambda m, x, y, i, n: m.lgamma(x * 9), lambda m, x, y, i, n: m.digamma(x * 9),
    lambda m, x, y, i, n: m.fmax(m.where(x > 1, float("nan"), x), y), lambda m, x, y, i, n: m.fmin(x, m.where(y > 0, float("nan"), y)),
    lambda m, x, y, i, n: m.nansum(m.where(x > 1, float("nan"), x), 1), lambda m, x, y, i, n: m.nanmean(m.where(x > 1, float("nan"), x)),
    lambda m, x, y, i, n: m.std_mean(x, 1)[0], lambda m, x, y, i, n: m.dist(x, y, 3), lambda m, x, y, i, n: m.angle(x),
    lambda m, x, y, i, n: x.flatten(1).mv(x.flatten(1)[0]),
    lambda m, x, y, i, n: m.chain_matmul(x.flatten(1), y.flatten(1).T, x.flatten(1)), lambda m, x, y, i, n: m.corrcoef(x.flatten(1) + i.flatten(1)),
    lambda m, x, y, i, n: m.gradient(x, dim=0)[0], lambda m, x, y, i, n: m.cumulative_trapezoid(x, dim=1),
    lambda m, x, y, i, n: m.hann_window(9) * m.blackman_window(9), lambda m, x, y, i, n: m.hamming_window(9, periodic=False) + m.bartlett_window(9),
    lambda m, x, y, i, n: m.logspace(-1, 2, 7), lambda m, x, y, i, n: m.clamp_min(x, 0.1) + m.clamp_max(y, 0.2),
    lambda m, x, y, i, n: x.cov() if x.ndim < 3 else x,
]

NUMPY = [  # the same call of ridge and numpy; x, y as above, i integers
    lambda m, x, y, i: m.percentile(x, 30, axis=1), lambda m, x, y, i: m.nanmedian(m.where(x > 0.5, np.nan, x), axis=0),
    lambda m, x, y, i: m.quantile(x, np.float32([0.2, 0.9]) if m is np else ridge.tensor([0.2, 0.9]), axis=-1, keepdims=True),
    lambda m, x, y, i: m.digitize(x, m.array([-0.5, 0.0, 1.0])), lambda m, x, y, i: m.digitize(x, m.array([1.0, 0.0, -0.5])),
    lambda m, x, y, i: m.digitize(i, m.array([1, 3]), right=True), lambda m, x, y, i: m.histogram(x, 6)[0],
    lambda m, x, y, i: m.histogram(x, 6, (-1, 1))[1],
    lambda m, x, y, i: m.histogram(x, m.array([-1.0, 0.0, 0.5, 2.0]), density=True)[0], lambda m, x, y, i: m.histogram(i, m.array([0, 2, 4]))[0],
    lambda m, x, y, i: m.unique(i, return_index=True, return_inverse=True, return_counts=True)[1], lambda m, x, y, i: m.unique(i % 2, axis=0),
    lambda m, x, y, i: m.take_along_axis(x, m.argsort(x, 0), 0), lambda m, x, y, i: m.take_along_axis(x, i[:1] % x.shape[1], axis=1),
    lambda m, x, y, i: m.flatnonzero(x > 0), lambda m, x, y, i: m.lexsort((x.reshape(-1), i.reshape(-1) % 2)), lambda m, x, y, i: m.rollaxis(x, 1),
    lambda m, x, y, i: m.insert(x, 1, 9, axis=0), lambda m, x, y, i: m.insert(x, [0, 2], 7.0, axis=1),
    lambda m, x, y, i: m.insert(x, 1, y[0], axis=0),
    lambda m, x, y, i: m.delete(x, [0, -1], axis=1), lambda m, x, y, i: m.delete(x, 1), lambda m, x, y, i: m.append(x, y, axis=0),
    lambda m, x, y, i: m.resize(x, (3, 5)),
    lambda m, x, y, i: m.indices((2, 3)), lambda m, x, y, i: m.ravel_multi_index((i % 2, i % 3), (2, 3)),
    lambda m, x, y, i: m.unravel_index(i, (3, 4))[0],
    lambda m, x, y, i: m.compress(m.array([False, True]), x, axis=1), lambda m, x, y, i: m.extract(x > 0, x), lambda m, x, y, i: m.atleast_3d(x),
    lambda m, x, y, i: m.correlate(x.reshape(-1), y.reshape(-1)[:3]), lambda m, x, y, i: m.correlate(x.reshape(-1)[:2], y.reshape(-1), "same"),
    lambda m, x, y, i: m.convolve(x.reshape(-1), y.reshape(-1)[:4]), lambda m, x, y, i: m.convolve(x.reshape(-1), y.reshape(-1)[:4], "same"),
    lambda m, x, y, i: m.convolve(x.reshape(-1)[:3], y.reshape(-1), "valid"),
    lambda m, x, y, i: m.interp(x, m.array([-1.0, 0.0, 0.7]), m.array([2.0, 1.0, 5.0])),
    lambda m, x, y, i: m.interp(x, m.array([-0.5, 0.2]), m.array([2.0, 1.0]), -3, 4), lambda m, x, y, i: m.gradient(x, axis=0),
    lambda m, x, y, i: m.polyval(m.array([1.0, 2.0, -3.0]), x),
    lambda m, x, y, i: m.ediff1d(x), lambda m, x, y, i: m.geomspace(2, 54, 4),
    lambda m, x, y, i: m.hanning(7) + m.blackman(7) + m.bartlett(7) + m.hamming(7),
    lambda m, x, y, i: m.cbrt(x), lambda m, x, y, i: m.modf(x * 3)[0], lambda m, x, y, i: m.divmod(x, y)[1],
    lambda m, x, y, i: m.nanmax(m.where(x > 0, np.nan, x), axis=0),
    lambda m, x, y, i: m.nanstd(m.where(x > 1, np.nan, x), axis=1), lambda m, x, y, i: m.nanargmin(m.where(x > 1, np.nan, x)),
    lambda m, x, y, i: m.nanprod(m.where(x > 1, np.nan, x), axis=0),
    lambda m, x, y, i: m.identity(3), lambda m, x, y, i: m.array_split(x, 3, axis=1)[0],
    lambda m, x, y, i: m.msort(x) if m is ridge else np.sort(x, 0),
]


def line(f):
    return "line %d" % f.__code__.co_firstlineno


class Names(Case):
    def shapes(self, draws):
        r = random.Random(11)
        for _ in range(draws):
            shape = tuple(r.randint(2, 6) for _ in range(r.randint(2, 4)))
            n = 5
            yield draw_array(r, shape), draw_array(r, shape), abs(draw_array(r, shape, "int64")) % n, n

    @needs_torch
    def test_as_torch(self):
        for x, y, i, n in self.shapes(4 if ridge.device() == "REF" else 1):  # each row is kernels to compile
            for k, f in enumerate(BOTH):
                with self.subTest("%d of BOTH, %s" % (k, line(f)), shape=x.shape):
                    want = f(torch, *map(torch.from_numpy, (x, y, i)), n)
                    got = f(ridge, *map(ridge.tensor, (x, y, i)), n)
                    self.same(got, want.numpy(), 2e-5)

    @needs_numpy
    def test_as_numpy(self):
        for x, y, i, _ in self.shapes(4 if ridge.device() == "REF" else 1):
            for k, f in enumerate(NUMPY):
                with self.subTest("%d of NUMPY, %s" % (k, line(f)), shape=x.shape):
                    self.same(f(ridge, *map(ridge.tensor, (x, y, i))), np.asarray(f(np, x, y, i)), 2e-5)

    @needs_numpy
    def test_in_place(self):
        x, a = ridge.tensor(np.float32([[1, 2], [3, 4]])), np.float32([[1, 2], [3, 4]])
        ridge.put_along_axis(x, ridge.tensor([[1], [0]]), 9.0, 1)
        np.put_along_axis(a, np.array([[1], [0]]), 9.0, 1)
        self.same(x, a)
        x.fill_diagonal_(0).index_fill_(1, ridge.tensor([0]), 5.0).square_()
        self.same(x, [[25, 81], [25, 0]])

    @needs_numpy
    def test_few_and_none(self):
        none = ridge.zeros(0)
        self.same(ridge.bincount(ridge.zeros(0, dtype="int64"), minlength=2), np.int64([0, 0]))
        self.same(ridge.unique(none), np.float32([]))
        self.same(ridge.searchsorted(none, ridge.tensor([1.0, 2.0])), np.int64([0, 0]))
        self.same(ridge.searchsorted(ridge.tensor([1.0, 1.0]), ridge.tensor(1.0), side="right"), np.int64(2))
        self.same(ridge.searchsorted(ridge.tensor([1.0, np.nan]), ridge.tensor([np.nan, 2.0]), side="right"), np.int64([2, 1]))
        self.same(ridge.isin(ridge.tensor([1, 2]), []), np.array([False, False]))
        self.same(ridge.quantile(ridge.tensor([3.0]), 0.7), np.float32(3))
        self.same(ridge.diag_embed(ridge.zeros((2, 0)), 1), np.zeros((2, 1, 1)))
        self.same(ridge.nanquantile(ridge.tensor([[np.nan, np.nan], [1, np.nan]]), 0.5, 1), np.float32([np.nan, 1]))
        for f in (lambda: ridge.quantile(none, 0.5), lambda: ridge.quantile(ridge.ones(2), 0.5, interpolation="cubic"),
                  lambda: ridge.bincount(ridge.tensor([-1])), lambda: ridge.kthvalue(ridge.ones(3), 4)):
            with self.assertRaises(ridge.InvalidError):
                f()

    @needs_torch
    def test_gradients(self):
        a = np.random.default_rng(3).standard_normal((4, 5)).astype("float32")
        rows = [lambda m, x: m.quantile(x, 0.3, dim=1), lambda m, x: m.erfinv(x.tanh()), lambda m, x: m.lgamma(x + 3), lambda m, x: m.xlogy(x * 0, x.abs()),
                lambda m, x: m.sinc(x), lambda m, x: m.take_along_dim(x, x.argsort(1), 1) ** 2, lambda m, x: m.diag_embed(x) ** 2, lambda m, x: m.kron(x, x[:2]),
                lambda m, x: m.index_put(x, (m.tensor([0, 2]),), x[1:3] * 2) ** 2, lambda m, x: m.erfc(x)]
        for k, f in enumerate(rows):
            with self.subTest(k):
                x, t = ridge.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
                self.same(ridge.grad(f(ridge, x).sum(), x), torch.autograd.grad(f(torch, t).sum(), t)[0].numpy(), 1e-4)


if __name__ == "__main__":
    unittest.main()
