"""Complex tensors and Fourier transforms against NumPy: random values, infinities, NaN and signed zeros; gradients by differences."""
import random
import unittest

import ridge
from common import DRAWS, Case, needs_numpy, np
from ridge import array_api as xp

NUMPY = dict(asin="arcsin", acos="arccos", atan="arctan", asinh="arcsinh", acosh="arccosh", atanh="arctanh")
UNARY = """exp expm1 log log1p log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh sign abs square reciprocal conj real
imag negative isnan isinf isfinite""".split()


def draw(r, shape, dtype="complex128"):
    g = np.random.default_rng(r.getrandbits(32))
    return (g.standard_normal(shape) + 1j * g.standard_normal(shape)).astype(dtype)


@needs_numpy
class Complex(Case):
    def near(self, got, want, tol, what):
        got = np.asarray(got)
        self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype), what)
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol, err_msg=str(what))

    def test_functions(self):
        r = random.Random(1)
        z = draw(r, 300) * np.exp(3 * draw(r, 300).real)
        for name in UNARY:
            for dtype, tol in (("complex128", 1e-13), ("complex64", 2e-5)):
                v = z.astype(dtype)
                with np.errstate(all="ignore"):
                    want = getattr(np, NUMPY.get(name, name))(v)
                got = np.asarray(getattr(xp, name)(xp.asarray(v)))
                self.assertEqual(got.dtype, want.dtype, name)
                with np.errstate(all="ignore"):
                    off = np.abs(got - want) > tol * np.maximum(np.abs(want), 1) if want.dtype != bool else got != want
                self.assertFalse((off & np.isfinite(want)).any(), (name, v[off][:2], got[off][:2], want[off][:2]))

    def test_infinities_and_zeros(self):
        """C99's Annex G, where it fixes the sign: NumPy's values, but for expm1 and log2, which NumPy computes by other functions."""
        parts = [0.0, -0.0, 1.0, -1.0, 2.0, float("inf"), float("-inf"), float("nan")]
        z = np.array([complex(a, b) for a in parts for b in parts])
        unspecified = ~(np.isinf(z.imag) | np.isnan(z.imag)) | np.isfinite(z.real)
        for name in "exp log sqrt cos cosh atan atanh asinh acosh".split():
            with np.errstate(all="ignore"):
                want = getattr(np, NUMPY.get(name, name))(z)
            got = np.asarray(getattr(xp, name)(xp.asarray(z)))
            for p, q in ((got.real, want.real), (got.imag, want.imag)):
                same = (np.isnan(p) & np.isnan(q)) | (np.isclose(p, q, rtol=1e-14) | (p == q)) & (np.signbit(p) == np.signbit(q))
                bad = ~same & unspecified
                self.assertFalse(bad.any(), (name, z[bad], got[bad], want[bad]))

    def test_operators(self):
        r = random.Random(2)
        a, b = draw(r, (2, 3)), draw(r, (3,))
        x, y = xp.asarray(a), xp.asarray(b)
        for f in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: p ** q,
                  lambda p, q: p @ q, lambda p, q: 2.5 - p, lambda p, q: q * 2j, lambda p, q: 1j / p, lambda p, q: p == q):
            self.near(f(x, y), f(a, b), 1e-12, "")
        real = ridge.tensor([1.0, 2.0, 3.0])
        self.near(real * 1j + y, np.array([1, 2, 3]) * 1j + b, 1e-12, "real and complex")
        self.near(real + 1j, (np.array([1, 2, 3]) + 1j).astype("complex64"), 1e-6, "a number")
        self.assertIs((real * 1j).dtype, ridge.complex64)
        x[0, 1:] = 3 - 1j
        a[0, 1:] = 3 - 1j
        x *= y
        self.near(x, a * b, 1e-12, "assigned")
        self.near(x[xp.asarray([True, False])], (a * b)[[True, False]], 1e-12, "mask")

    def test_arrays(self):
        r = random.Random(3)
        a, b = draw(r, (4, 5)), draw(r, (4, 5))
        x, y = xp.asarray(a), xp.asarray(b)
        for name, f, g in (
            ("sum", lambda: xp.sum(x, axis=0), lambda: a.sum(0)), ("mean", lambda: xp.mean(x), lambda: a.mean()),
            ("prod", lambda: xp.prod(x, axis=1, keepdims=True), lambda: a.prod(1, keepdims=True)),
            ("cumulative_prod", lambda: xp.cumulative_prod(x, axis=1), lambda: a.cumprod(1)),
            ("cumulative_sum", lambda: xp.cumulative_sum(x, axis=0), lambda: a.cumsum(0)),
            ("concat", lambda: xp.concat([x, y], axis=1), lambda: np.concatenate([a, b], 1)),
            ("where", lambda: xp.where(xp.real(x) > 0, x, y), lambda: np.where(a.real > 0, a, b)),
            ("vecdot", lambda: xp.vecdot(x, y), lambda: (a.conj() * b).sum(-1)),
            ("tensordot", lambda: xp.tensordot(x, y, axes=2), lambda: np.tensordot(a, b, 2)),
            ("roll", lambda: xp.roll(x, 2, axis=1), lambda: np.roll(a, 2, 1)), ("mT", lambda: x.mT, lambda: a.T),
            ("solve", lambda: xp.linalg.solve(x[:, :4], y), lambda: np.linalg.solve(a[:, :4], b)),
            ("det", lambda: xp.linalg.det(x[:, :4]), lambda: np.asarray(np.linalg.det(a[:, :4]))),
        ):
            self.near(f(), g(), 1e-11, name)
        q, s = xp.linalg.qr(x)
        self.near(q @ s, a, 1e-12, "qr")
        u = xp.unique_all(xp.asarray([1 + 2j, 3j, 1 + 2j, 1 - 1j]))
        self.assertEqual(u.values.tolist(), [3j, 1 - 1j, 1 + 2j])
        self.assertEqual((u.counts.tolist(), u.inverse_indices.tolist()), ([1, 1, 2], [2, 0, 2, 1]))
        with self.assertRaises(TypeError):
            x.astype(xp.float32)
        with self.assertRaises(TypeError):
            float(x[0, 0])


@needs_numpy
class Fourier(Case):
    def test_lengths(self):
        """Every kind of length: one factor, several, primes above the radix."""
        r = random.Random(4)
        for n in [1, 2, 3, 5, 17, 64, 67, 96, 128, 131, 210, 360, 512, 1009] + [r.randint(1, 700) for _ in range(DRAWS // 10)]:
            a = draw(r, (2, n))
            for name in ("fft", "ifft"):
                want = getattr(np.fft, name)(a)
                got = np.asarray(getattr(ridge.fft, name)(xp.asarray(a)))
                self.assertLess(np.abs(got - want).max(), 2e-14 * np.abs(want).max() * max(n, 2) ** 0.5, (name, n))

    def test_forms(self):
        r = random.Random(5)
        for _ in range(DRAWS // 2):
            shape = tuple(r.randint(1, 6) for _ in range(r.randint(1, 3)))
            axis, norm, n = r.randrange(-len(shape), len(shape)), r.choice(["backward", "ortho", "forward"]), r.choice([None, r.randint(1, 9)])
            name = r.choice("fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn fftshift ifftshift".split())
            a = draw(r, shape)
            a = a.real.copy() if name in ("rfft", "ihfft", "rfftn") else a
            kw = {} if "shift" in name else dict(norm=norm)
            if not name.endswith("n") and "shift" not in name:
                if name in ("irfft", "hfft") and n is None and shape[axis] == 1:
                    continue
                kw.update(n=n, axis=axis)
            elif name == "irfftn" and shape[-1] == 1:
                continue
            want = getattr(np.fft, name)(a, **kw)
            got = np.asarray(getattr(ridge.fft, name)(xp.asarray(a), **kw))
            self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype), (name, shape, kw))
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=str((name, shape, kw)))
        for n in (4, 7):
            self.same(ridge.fft.fftfreq(n, d=0.5), np.fft.fftfreq(n, 0.5).astype("float32"))
            self.same(ridge.fft.rfftfreq(n), np.fft.rfftfreq(n).astype("float32"))

    def test_gradient(self):
        """Of the power at one frequency, by differences."""
        a = np.random.default_rng(6).standard_normal(12)

        def power(v):
            y = ridge.fft.rfft(v)[2]
            return y.re * y.re + y.im * y.im

        g = ridge.grad(power)(ridge.tensor(a, "float64"))
        h = 1e-6
        want = [(power(ridge.tensor(a + h * e, "float64")).item() - power(ridge.tensor(a - h * e, "float64")).item()) / (2 * h) for e in np.eye(12)]
        self.same(g, np.array(want), 1e-6)

    def test_jit(self):
        """Tables of roots that a jit's first call makes are there in the second, and for others."""
        @ridge.jit
        def power(x):
            y = ridge.fft.rfft(x)
            return y.re * y.re + y.im * y.im

        g = np.random.default_rng(7)
        for n in (89, 90, 91):
            for _ in range(3):
                a = g.standard_normal((2, n))
                self.same(power(ridge.tensor(a, "float64")), np.abs(np.fft.rfft(a)) ** 2, 1e-10)
            self.same(ridge.fft.rfft(ridge.tensor(a, "float64")).re, np.fft.rfft(a).real, 1e-10)

    def test_refusals(self):
        for f in (lambda: ridge.fft.fft(ridge.ones(3), n=0), lambda: ridge.fft.fft(ridge.ones(3), norm="unit"),
                  lambda: ridge.fft.fft(ridge.tensor(1.0))):
            with self.assertRaises(ValueError):
                f()
        with self.assertRaises(TypeError):
            ridge.fft.rfft(xp.asarray([1j]))


if __name__ == "__main__":
    unittest.main()
