"""Discrete Fourier transforms with NumPy's names, of real and complex tensors, by Ridge's own kernels.

A length is split into factors of at most 64 (Cooley and Tukey): each is a product with the matrix of its roots of unity, so that all of
it is matrix products and twiddle factors, on any device, with gradients. Lengths with a greater prime factor go by a convolution of a
power of two (Bluestein). Roots are computed in float64. Tests: python/tests/test_complex.py
"""
import functools
import math

from . import _methods, _ridge
from . import array_api as _xp
from ._complex import ComplexTensor, of
from ._ridge import Tensor, float32, float64

__all__ = """fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fft2 ifft2 fftfreq rfftfreq fftshift ifftshift""".split()
_RADIX = 64


# ---- one transform along the last axis, not normalised ----


@functools.lru_cache(maxsize=256)
def _roots(rows, cols, n, dtype, device):
    """exp(-2 pi i r c / n) for r below rows and c below cols, as (rows, cols)."""
    def part(f):
        flat = [f(2 * math.pi * ((r * c) % n) / n) for r in range(rows) for c in range(cols)]
        return _ridge._keep(_ridge.tensor(flat, dtype, device).reshape(rows, cols).realize())

    return part(math.cos), part(lambda a: -math.sin(a))


def _by_roots(x, w):
    """The matrix w times x, of parts that may be None: zero."""
    (a, b), (re, im) = x, w
    if b is None:
        return re @ a, im @ a
    return re @ a - im @ b, re @ b + im @ a


def _turn(x, w):
    (a, b), (re, im) = x, w
    return (a * re, a * im) if b is None else (a * re - b * im, a * im + b * re)


def _factor(n):
    """The greatest divisor of n up to the radix; 1: n has a prime factor above it."""
    return next(f for f in range(min(n, _RADIX), 0, -1) if n % f == 0)


def _smooth(n):
    while n > 1 and (f := _factor(n)) > 1:
        n //= f
    return n == 1


def _transform(x, n):
    """x is the pair of parts, (rows, n) each."""
    a = x[0]
    key = (a.dtype, a.device)
    if n == 1:
        return a, a * 0 if x[1] is None else x[1]
    if n <= _RADIX:
        re, im = _roots(n, n, n, *key)
        y = _by_roots(tuple(p if p is None else p.T for p in x), (re, im))
        return y[0].T, y[1].T
    if not _smooth(n):
        return _bluestein(x, n)
    n1 = _factor(n)
    n2 = n // n1
    rows = a.shape[0]
    y = _by_roots(tuple(p if p is None else p.reshape(rows, n1, n2) for p in x), _roots(n1, n1, n1, *key))
    y = _turn(y, _roots(n1, n2, n, *key))
    y = _transform(tuple(p.reshape(rows * n1, n2) for p in y), n2)
    return tuple(p.reshape(rows, n1, n2).permute(0, 2, 1).reshape(rows, n) for p in y)


@functools.lru_cache(maxsize=64)
def _chirp(n, m, dtype, device):
    """exp(-pi i k k / n), and the transform of its conjugate's convolution kernel of length m."""
    angle = [math.pi * ((k * k) % (2 * n)) / n for k in range(n)]
    c, s = [math.cos(v) for v in angle], [math.sin(v) for v in angle]
    kernel = [[0.0] * m, [0.0] * m]
    for k in range(n):
        for p, v in zip(kernel, (c, s)):
            p[k] = p[-k] = v[k]
    w = (_ridge.tensor(c, dtype, device), -_ridge.tensor(s, dtype, device))
    f = _transform(tuple(_ridge.tensor(p, dtype, device).reshape(1, m) for p in kernel), m)
    _ridge._realize([*w, *f])
    return tuple(map(_ridge._keep, w)), tuple(map(_ridge._keep, f))


def _bluestein(x, n):
    """As a convolution with a chirp, of a power of two."""
    m = 1 << (2 * n - 1).bit_length()
    w, f = _chirp(n, m, x[0].dtype, x[0].device)
    y = tuple(_ridge._pad(p, [0, 0, 0, m - n], 0) for p in _turn(x, w))
    y = _turn(_transform(y, m), f)
    im, re = _transform((y[1], y[0]), m)  # the inverse: parts swapped before and after
    return _turn(tuple(p.narrow(1, 0, n) / m for p in (re, im)), w)


# ---- any axis, length and norm ----


def _parts(x):
    """The two parts; the imaginary one of a real tensor is None."""
    if not isinstance(x, (Tensor, ComplexTensor)):
        x = _xp.asarray(x)
    if isinstance(x, ComplexTensor):
        return x.re, x.im
    return (x if x.dtype in (float32, float64) else x.astype(float32)), None


def _scale(n, norm, inverse):
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError('fft: norm is "backward", "ortho" or "forward"; found %r' % (norm,))
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if inverse == (norm in (None, "backward")) else 1.0


def _sized(p, n, axis):
    """Cut or padded with zeros to n."""
    have = p.shape[axis]
    if have >= n:
        return p.narrow(axis, 0, n) if have > n else p
    pairs = [0] * (2 * p.ndim)
    pairs[2 * axis + 1] = n - have
    return _ridge._pad(p, pairs, 0)


def _along(parts, n, axis, norm, inverse):
    """The transform of both parts along an axis."""
    ndim = parts[0].ndim
    if not ndim:
        raise ValueError("fft: an array of one axis or more is needed")
    axis = axis % ndim if -ndim <= axis < ndim else _methods._bad_axis(axis, ndim)
    n = parts[0].shape[axis] if n is None else n
    if n < 1:
        raise ValueError("fft: %d points; at least one is needed" % n)
    parts = [p if p is None else _methods.moveaxis(_sized(p, n, axis), axis, -1) for p in parts]
    lead = parts[0].shape[:-1]
    rows = math.prod(lead)
    if not rows:
        zero = _ridge.zeros(parts[0].shape, parts[0].dtype)
        return tuple(_methods.moveaxis(zero, -1, axis) for _ in range(2))
    flat = [p if p is None else p.reshape(rows, n) for p in parts]
    if inverse:  # parts swapped before and after
        flat = [flat[0] * 0 if flat[1] is None else flat[1], flat[0]]
    out = _transform(tuple(flat), n)
    out = out[::-1] if inverse else out
    k = _scale(n, norm, inverse)
    return tuple(_methods.moveaxis((p * k if k != 1 else p).reshape(lead + (n,)), -1, axis) for p in out)


def fft(x, /, *, n=None, axis=-1, norm="backward"):
    """The transform along an axis, cut or padded to n points."""
    return ComplexTensor(*_along(_parts(x), n, axis, norm, False))


def ifft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of fft."""
    return ComplexTensor(*_along(_parts(x), n, axis, norm, True))


def _axes_of(x, s, axes):
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = list(axes)
    return axes, [None] * len(axes) if s is None else list(s)


def _many(one, x, s, axes, norm):
    axes, s = _axes_of(x, s, axes)
    for a, n in reversed(list(zip(axes, s))):
        x = one(x, n=n, axis=a, norm=norm)
    return x if isinstance(x, ComplexTensor) else of(x)


def fftn(x, /, *, s=None, axes=None, norm="backward"):
    """The transform along several axes."""
    return _many(fft, x, s, axes, norm)


def ifftn(x, /, *, s=None, axes=None, norm="backward"):
    return _many(ifft, x, s, axes, norm)


def fft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    return fftn(x, s=s, axes=axes, norm=norm)


def ifft2(x, /, *, s=None, axes=(-2, -1), norm="backward"):
    return ifftn(x, s=s, axes=axes, norm=norm)


# ---- of real numbers ----


def rfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The first n // 2 + 1 values of the transform of real numbers."""
    re, im = _parts(x)
    if im is not None:
        raise TypeError("rfft: real numbers are needed")
    n = re.shape[axis] if n is None else n
    a = axis % re.ndim
    return ComplexTensor(*(p.narrow(a, 0, n // 2 + 1) for p in _along((re, None), n, axis, norm, False)))


def irfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The inverse of rfft: n real numbers, 2 (m - 1) of them for m values unless n is given."""
    re, im = _parts(x)
    a = axis % re.ndim if -re.ndim <= axis < re.ndim else _methods._bad_axis(axis, re.ndim)
    n = 2 * (re.shape[a] - 1) if n is None else n
    if n < 1:
        raise ValueError("irfft: %d points; at least one is needed" % n)
    m = n // 2 + 1
    re, im = _sized(re, m, a), _sized(re * 0 if im is None else im, m, a)
    rest = n - m  # what is left follows from symmetry
    if rest:
        back = [p.narrow(a, 1, rest).flip(a) for p in (re, im)]
        re, im = _ridge.cat([re, back[0]], a), _ridge.cat([im, -back[1]], a)
    at = _ridge._arange(0, n, 1, _ridge.int64, re.device).reshape([-1 if i == a else 1 for i in range(re.ndim)])
    own = at == 0 if n % 2 else (at == 0) | (at == n // 2)  # real by symmetry
    return _along((re, _ridge.where(own, 0.0, im)), n, a, norm, True)[0]


def rfftn(x, /, *, s=None, axes=None, norm="backward"):
    axes, s = _axes_of(x, s, axes)
    y = rfft(x, n=s[-1], axis=axes[-1], norm=norm)
    return _many(fft, y, s[:-1], axes[:-1], norm)


def irfftn(x, /, *, s=None, axes=None, norm="backward"):
    axes, s = _axes_of(x, s, axes)
    y = _many(ifft, x, s[:-1], axes[:-1], norm)
    return irfft(y, n=s[-1], axis=axes[-1], norm=norm)


_OTHER = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(x, /, *, n=None, axis=-1, norm="backward"):
    """The real transform of values with Hermitian symmetry, of which half are given."""
    _scale(1, norm, False)
    return irfft(_xp.conj(of(x)), n=n, axis=axis, norm=_OTHER[norm])


def ihfft(x, /, *, n=None, axis=-1, norm="backward"):
    _scale(1, norm, False)
    return _xp.conj(rfft(x, n=n, axis=axis, norm=_OTHER[norm]))


# ---- helpers ----


def fftfreq(n, /, *, d=1.0, dtype=None, device=None):
    """The frequencies of fft's values: 0, 1 .. -1 times 1 / (n d)."""
    k = _ridge._arange(0, n, 1, float64, device)
    return (_ridge.where(k < (n + 1) // 2, k, k - n) / (n * d)).astype(dtype or float32)


def rfftfreq(n, /, *, d=1.0, dtype=None, device=None):
    return (_ridge._arange(0, n // 2 + 1, 1, float64, device) / (n * d)).astype(dtype or float32)


def _shift(x, axes, sign):
    axes = list(range(x.ndim)) if axes is None else [axes] if isinstance(axes, int) else list(axes)
    return _xp.roll(x, tuple(sign * (x.shape[a] // 2) if sign > 0 else -(x.shape[a] // 2) for a in axes), axis=tuple(axes))


def fftshift(x, /, *, axes=None):
    """The value of frequency 0 in the middle."""
    return _shift(x, axes, 1)


def ifftshift(x, /, *, axes=None):
    return _shift(x, axes, -1)
