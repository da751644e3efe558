"""The array API's namespace and linear algebra, against NumPy; gradients of linear algebra by differences.

The standard's own suite (data-apis/array-api-tests) runs with ARRAY_API_TESTS_MODULE=ridge.array_api DEVICE=REF;
what fails there and why is in docs/array-api.md."""
import random
import unittest

import ridge
from common import DRAWS, Case, draw_array, needs_numpy, needs_torch, np, torch
from ridge import array_api as xp
from ridge import linalg


class Namespace(Case):
    def test_every_name_of_the_standard(self):
        names = """e inf nan newaxis pi arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril
        triu zeros zeros_like astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh bitwise_and
        bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor
        floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
        logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin
        sinh square sqrt subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_arrays broadcast_to
        concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack argmax argmin count_nonzero nonzero
        searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort cumulative_prod cumulative_sum max mean min prod
        std sum var all any diff __array_namespace_info__ linalg fft complex64 complex128""".split()
        self.assertEqual([n for n in names if not hasattr(xp, n)], [])
        more = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr
        slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
        self.assertEqual([n for n in more if not hasattr(linalg, n)], [])
        self.assertIs(ridge.ones(1).__array_namespace__(), xp)

    def test_promotion(self):
        self.assertIs(xp.result_type(xp.int8, xp.uint8), xp.int16)
        self.assertIs(xp.result_type(xp.float32, xp.float64), xp.float64)
        self.assertFalse(xp.can_cast(xp.uint64, xp.int64))
        self.assertTrue(xp.isdtype(xp.int8, ("bool", "integral")))
        self.assertIs(xp.add(xp.ones((2,), dtype=xp.int16), 3).dtype, xp.int16)

    def test_signs_of_zero(self):
        z = xp.asarray(-0.0)
        for f in (xp.sin, xp.sinh, xp.atan, xp.expm1, xp.log1p, xp.tan):
            self.assertTrue(xp.signbit(f(z)).item(), f)
        self.assertEqual(str(xp.floor_divide(xp.asarray(float("inf")), 2.0).item()), "inf")
        self.assertTrue(xp.signbit(xp.remainder(xp.asarray(4.0), -2.0)).item())


@needs_numpy
class AgainstNumpy(Case):
    def test_sets_and_searches(self):
        r = random.Random(1)
        for i in range(min(DRAWS, 30)):
            a = draw_array(r, (r.randint(1, 30),), "int32")
            u = xp.unique_all(ridge.tensor(a))
            v, first, inverse, counts = np.unique(a, True, True, True)
            for got, want in zip(u, (v, first, inverse, counts)):
                self.same(got, want)
            s = np.sort(a)
            for side in ("left", "right"):
                self.same(xp.searchsorted(ridge.tensor(s), ridge.tensor(a), side=side), np.searchsorted(s, a, side))
        self.assertEqual(xp.unique_values(xp.zeros((0,))).shape, (0,))

    def test_more(self):
        r = random.Random(2)
        a = draw_array(r, (3, 4))
        x = ridge.tensor(a)
        self.same(xp.nextafter(x, xp.asarray(9.0)), np.nextafter(a, np.float32(9)), 0)
        self.same(xp.cumulative_sum(x, axis=1, include_initial=True), np.pad(np.cumsum(a, 1), ((0, 0), (1, 0))), 1e-5)
        self.same(xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1), np.sort(a, 1))
        self.same(xp.var(x, axis=0, correction=1), a.var(0, ddof=1), 1e-5)
        self.assertIs(xp.sum(xp.ones((3,), dtype=xp.uint8)).dtype, xp.uint64)
        self.assertIs(xp.cumulative_sum(xp.ones((3,), dtype=xp.uint8), dtype=xp.uint8).dtype, xp.uint8)
        self.assertEqual((xp.ones((1,), dtype=xp.uint64) ^ (2**63 + 1)).item(), 2**63)
        with self.assertRaises(ValueError):
            xp.vecdot(xp.ones((2, 3)), xp.ones((2, 1)))

    def test_residuals(self):
        """At LAPACK's level, also of badly conditioned matrices."""
        g = np.random.default_rng(3)
        for i in range(DRAWS):
            n = int(g.integers(1, 9))
            u, _ = np.linalg.qr(g.standard_normal((2, n, n)))
            a = (u * np.logspace(0, -int(g.integers(0, 10)), n)) @ np.linalg.qr(g.standard_normal((2, n, n)))[0]
            b = g.standard_normal((2, n, 2))
            x = linalg.solve(ridge.tensor(a), ridge.tensor(b)).numpy()
            limit = 1e-13 * n
            self.assertLess(np.abs(a @ x - b).max(), limit * (1 + np.abs(a).max() * np.abs(x).max()))
            q, rr = linalg.qr(ridge.tensor(a))
            self.assertLess(np.abs((q @ rr).numpy() - a).max(), limit)
            uu, s, vh = linalg.svd(ridge.tensor(a), full_matrices=False)
            self.assertLess(np.abs((uu * s.unsqueeze(-2) @ vh).numpy() - a).max(), limit)
            p = a @ a.swapaxes(-1, -2) + np.eye(n)
            low = linalg.cholesky(ridge.tensor(p)).numpy()
            self.assertLess(np.abs(low @ low.swapaxes(-1, -2) - p).max(), limit * 4)
            w, v = linalg.eigh(ridge.tensor(p))
            self.assertLess(np.abs((v * w.unsqueeze(-2) @ v.mT).numpy() - p).max(), limit * 8)

    def test_gradients_by_differences(self):
        g = np.random.default_rng(4)
        a = g.standard_normal((2, 3, 3)) + 3 * np.eye(3)
        b, c = g.standard_normal((2, 3, 2)), g.standard_normal((2, 3, 3))
        cases = {
            "inv": lambda x: (linalg.inv(x) * c).sum(), "det": lambda x: linalg.det(x).sum(),
            "solve": lambda x: (linalg.solve(x, ridge.tensor(b)) * b).sum(),
            "cholesky": lambda x: (linalg.cholesky(x @ x.mT) * c).sum()}
        for name, f in cases.items():
            x = ridge.tensor(a)
            got = ridge.grad(f(x), x).numpy()
            at, h = (1, 2, 0), 1e-6
            up, down = a.copy(), a.copy()
            up[at] += h
            down[at] -= h
            want = (f(ridge.tensor(up)).item() - f(ridge.tensor(down)).item()) / (2 * h)
            self.assertAlmostEqual(got[at], want, delta=1e-6 * (1 + abs(want)), msg=name)

    @needs_torch
    def test_gradients_as_torch(self):
        """First and, of the first rows, second gradients of values that do not depend on signs."""
        g = np.random.default_rng(3)
        square, tall = g.standard_normal((2, 4, 4)), g.standard_normal((2, 5, 3))
        twice = [lambda m, a: m.linalg.inv(a), lambda m, a: m.linalg.det(a), lambda m, a: m.linalg.slogdet(a)[1],
                 lambda m, a: m.linalg.solve(a, a[..., :2] ** 2), lambda m, a: m.linalg.cholesky(a @ a.mT)]
        once = [lambda m, a: m.linalg.qr(a)[0] ** 2, lambda m, a: m.linalg.qr(a)[1] ** 2, lambda m, a: m.linalg.svdvals(a), lambda m, a: m.linalg.pinv(a)]
        once += [lambda m, a, k=k: m.linalg.svd(a, full_matrices=False)[k] ** 2 for k in (0, 2)]
        symmetric = [lambda m, a: m.linalg.eigvalsh(a @ a.mT), lambda m, a: m.linalg.eigh(a @ a.mT)[1] ** 2]
        cases = [(f, square, True) for f in twice] + [(f, x, False) for f in once for x in (square, tall, tall.transpose(0, 2, 1).copy())]
        cases += [(f, square, False) for f in symmetric] + [(twice[1], np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]]), False)]
        for f, a, second in cases:
            x, t = ridge.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
            with self.subTest(f.__code__.co_firstlineno, shape=a.shape):
                y, z = f(ridge, x), f(torch, t)
                self.same(y.detach(), z.detach().numpy(), 1e-9)
                w = g.standard_normal(z.shape)
                d, e = ridge.grad((y * ridge.tensor(w)).sum(), x), torch.autograd.grad((z * torch.tensor(w)).sum(), t, create_graph=second)[0]
                self.same(d if not second else ridge.tensor(d).detach(), e.detach().numpy(), 1e-8)
                if second:
                    x = ridge.tensor(a, requires_grad=True)
                    d = ridge.grad((f(ridge, x) * ridge.tensor(w)).sum(), x)
                    self.same(ridge.grad((d**2).sum(), x), torch.autograd.grad((e**2).sum(), t)[0].numpy(), 1e-7)

    def test_no_grad_computes_once(self):
        """A filter under no_grad: the plans of a step do not grow with those before it."""
        def kernels(steps):
            p, f = ridge.eye(3), ridge.tensor(np.float32([[1, 0.1, 0], [0, 1, 0.1], [0, 0, 1]]))
            with ridge.no_grad():
                for _ in range(steps):
                    p = f @ p @ f.T + 0.1 * ridge.eye(3)
                    p = p - p @ linalg.solve(p + ridge.eye(3), p)
            return ridge._ridge.plan(p)["kernels"]

        self.assertEqual(kernels(6), kernels(2))

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "[Ss]ingular"):
            linalg.inv(ridge.zeros(2, 2))
        with self.assertRaisesRegex(ValueError, "positive definite"):
            linalg.cholesky(ridge.tensor([[1.0, 2.0], [2.0, 1.0]]))
        with self.assertRaisesRegex(ValueError, "square"):
            linalg.det(ridge.ones(2, 3))


class Plain(Case):
    """Without NumPy: plain loops."""

    def test_inverse_and_cholesky(self):
        x = ridge.tensor([[4.0, 1.0], [1.0, 3.0]])
        self.assertTrue(ridge.allclose(linalg._plain_inv(x) @ x, ridge.eye(2), atol=1e-6))
        low = linalg._plain_cholesky(x)
        self.assertTrue(ridge.allclose(low @ low.T, x, atol=1e-6))


if __name__ == "__main__":
    unittest.main()
