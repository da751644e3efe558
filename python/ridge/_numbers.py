"""Elementwise functions, reductions, products and series under NumPy's and PyTorch's names."""
import builtins
import math as _math

from . import _methods, _ridge
from ._methods import _t

__all__ = """frac sgn sinc logit xlogy float_power heaviside ldexp gcd lcm logaddexp2 erfc erfinv lgamma digamma fmax fmin isposinf isneginf
isreal positive real conj angle threshold nansum nanmean nanvar nanstd nanmax nanmin nanprod nanargmax nanargmin std_mean dist fabs radians
degrees cbrt mv ger addmv addr addbmm chain_matmul corrcoef convolve correlate interp gradient trapz cumulative_trapezoid polyval ediff1d
logspace geomspace hann_window hamming_window blackman_window bartlett_window hanning hamming blackman bartlett divmod modf rsub""".split()


def _axis(axis, keepdims, dim, keepdim):
    return dim if axis is None else axis, keepdims if keepdim is None else keepdim


def _is_float(x):
    return "float" in x.dtype.name


def _wide(x):
    """As float64, and the dtype to go back to."""
    x = _t(x)
    return x.astype(_ridge.float64), x.dtype if _is_float(x) else _ridge.float32


# ---- elementwise ----


def frac(x):
    """x - trunc(x)."""
    return x - _ridge.trunc(x)


def sgn(x):
    return _ridge.sign(x)


def positive(x):
    return _t(x)


real, conj = positive, positive


def angle(x):
    """pi of what is negative, 0 else; NaN stays."""
    x = _t(x)
    x = x if _is_float(x) else x.astype(_ridge.float32)
    return _ridge.where(x < 0, _math.pi, _ridge.where(x.isnan(), x, 0.0))


def isreal(x):
    return _methods.full(_t(x).shape, True)


def isposinf(x):
    return _t(x) == float("inf")


def isneginf(x):
    return _t(x) == float("-inf")


def sinc(x):
    """sin(pi x) / (pi x)."""
    x = _t(x) * _math.pi
    return _ridge.where(x == 0, 1.0, x.sin() / _ridge.where(x == 0, 1.0, x))


def logit(x, eps=None):
    """log(x / (1 - x))."""
    x = _t(x) if eps is None else _ridge.clamp(_t(x), eps, 1 - eps)
    return (x / (1 - x)).log()


def xlogy(x, y):
    """x log(y), 0 where x is 0."""
    x, y = _t(x), _t(y)
    return _ridge.where((x == 0) & ~y.isnan(), 0.0, x * _ridge.where(x == 0, _ridge.where(y > 0, y, 1.0), y).log())


def float_power(x, y):
    """A power in float64."""
    return _ridge.pow(_t(x).astype(_ridge.float64), _t(y).astype(_ridge.float64))


def heaviside(x, values):
    """0 below 0, 1 above, `values` at 0."""
    x = _t(x)
    step = _ridge.where(x == 0, values, (x > 0).astype(x.dtype))
    return _ridge.where(x.isnan(), x, step) if _is_float(x) else step


def ldexp(x, exponent):
    """x * 2^exponent."""
    return _t(x) * _ridge.exp2(_t(exponent).astype(_ridge.float32))


def gcd(x, y):
    """Greatest common divisor of integers: steps of Euclid, as many as the dtype can need."""
    x, y = _methods.broadcast_arrays(x, y)
    x, y = x.abs(), y.abs()
    for _ in range({1: 12, 2: 24, 4: 47, 8: 92}[builtins.max(x.itemsize, y.itemsize)]):
        x, y = y, _ridge.where(y == 0, x, x % y)
        x, y = _ridge.where(x == 0, y, x), _ridge.where(x == 0, 0, y)
    return x


def lcm(x, y):
    """Least common multiple of integers."""
    g = gcd(x, y)
    return (_t(x) // _ridge.where(g == 0, 1, g) * y).abs()


def logaddexp2(x, y):
    return _ridge.logaddexp(_t(x) * _math.log(2), _t(y) * _math.log(2)) / _math.log(2)


def erfc(x):
    """1 - erf(x), from float64: right for large x too."""
    x, back = _wide(x)
    a = x.abs()
    t = 2 / (a + 2)
    ty, d, dd = 4 * t - 2, 0.0, 0.0
    for c in reversed(_ERFC[1:]):
        d, dd = ty * d - dd + c, d
    r = t * (-a * a + 0.5 * (_ERFC[0] + ty * d) - dd).exp()
    return _ridge.where(x < 0, 2 - r, r).astype(back)


# erfc(x) = t exp(-x^2 + P(t)), t = 2 / (2 + x): Chebyshev coefficients of P (Numerical Recipes, 3rd edition, 6.2.2)
_ERFC = (-1.3026537197817094, 6.4196979235649026e-1, 1.9476473204185836e-2, -9.561514786808631e-3, -9.46595344482036e-4,
         3.66839497852761e-4, 4.2523324806907e-5, -2.0278578112534e-5, -1.624290004647e-6, 1.303655835580e-6, 1.5626441722e-8,
         -8.5238095915e-8, 6.529054439e-9, 5.059343495e-9, -9.91364156e-10, -2.27365122e-10, 9.6467911e-11, 2.394038e-12, -6.886027e-12,
         8.94487e-13, 3.13092e-13, -1.12708e-13, 3.81e-16, 7.106e-15, -1.523e-15, -9.4e-17, 1.21e-16, -2.8e-17)


def erfinv(x):
    """The inverse of erf: Winitzki's estimate and Newton steps, in float64."""
    x, back = _wide(x)
    inside = x.abs() < 1
    v = _ridge.where(inside, x, 0.0)
    u = ((1 - v) * (1 + v)).log()
    b = 2 / (_math.pi * 0.147) + u / 2
    w = ((b * b - u / 0.147).sqrt() - b).sqrt()
    for _ in range(3):
        w = w + (erfc(w) - (1 - v.abs())) * (w * w).exp() * (_math.sqrt(_math.pi) / 2)
    w = _ridge.copysign(w, v)
    w = _ridge.where(x.abs() == 1, _ridge.copysign(float("inf"), x), _ridge.where(inside, w, float("nan")))
    return w.astype(back)


_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def lgamma(x):
    """log |gamma(x)|, computed in float64: Stirling's series from 8 on, the recurrence below, the reflection of negative numbers."""
    x, back = _wide(x)
    low = x < 0.5
    z = _ridge.where(low, 1 - x, x)
    short = z < 8
    p = 1.0
    for i in range(8):
        p = p * _ridge.where(short, z + i, 1.0)
    z = _ridge.where(short, z + 8, z)
    series, r = 0.0, 1 / (z * z)
    for c in reversed(_STIRLING):
        series = series * r + c
    y = (z - 0.5) * z.log() - z + 0.5 * _math.log(2 * _math.pi) + series / z - p.log()
    sine = ((x - x.round()) * _math.pi).sin().abs()
    return _ridge.where(x.isinf(), float("inf"), _ridge.where(low, _math.log(_math.pi) - sine.log() - y, y)).astype(back)


def digamma(x):
    """The derivative of lgamma."""
    x, back = _wide(x)
    low = x < 0.5
    z, shift = _ridge.where(low, 1 - x, x), 0.0
    short = z < 8
    for i in range(8):
        shift = shift + _ridge.where(short, 1 / (z + i), 0.0)
    z = _ridge.where(short, z + 8, z)
    series, r = 0.0, 1 / (z * z)
    for i, c in reversed(list(enumerate(_STIRLING))):
        series = (series + (2 * i + 1) * c) * r
    y = z.log() - 0.5 / z - series - shift
    whole = x - x.round()
    y = _ridge.where(low, y - _math.pi / (whole * _math.pi).tan(), y)
    return _ridge.where(low & (whole == 0), _ridge.where(x == 0, -1 / x, float("nan")), y).astype(back)


def _other_if_nan(fn):
    def f(x, y):
        x, y = _t(x), _t(y)
        r = fn(x, y)
        return _ridge.where(x.isnan(), y, _ridge.where(y.isnan(), x, r)) if _is_float(r) else r

    return f


fmax, fmin = _other_if_nan(_ridge.maximum), _other_if_nan(_ridge.minimum)


def threshold(x, threshold, value):
    return _ridge.where(x > threshold, x, value)


def fabs(x):
    return _t(x).abs()


def cbrt(x):
    x = _t(x)
    return _ridge.copysign(_ridge.pow(x.abs(), 1 / 3), x)


radians, degrees = _methods.deg2rad, _methods.rad2deg


def divmod(x, y):
    return _ridge.floordiv(x, y), _ridge.mod(x, y)


def modf(x):
    """Fraction and whole part."""
    whole = _ridge.trunc(x)
    return _ridge.where(_t(x).isinf(), _ridge.copysign(0.0, x), x - whole), whole


def rsub(x, y, alpha=1):
    return y - alpha * x


# ---- reductions ----


def _without_nan(fn, fill):
    def f(x, axis=None, keepdims=False, *, dim=None, keepdim=None, **kw):
        x, (axis, keepdims) = _t(x), _axis(axis, keepdims, dim, keepdim)
        some = ~x.isnan() if _is_float(x) else _methods.full(x.shape, True)
        y = fn(_ridge.where(some, x, fill), axis, keepdims, **kw)
        if fill in (0, 1):
            return y
        return _ridge.where(some.any(axis, keepdims) if axis is not None else some.any(keepdims=keepdims), y, float("nan"))

    return f


def _reduce(name):
    def f(x, axis, keepdims):
        fn = getattr(_ridge, name)
        return fn(x, keepdims=keepdims) if axis is None else fn(x, axis, keepdims)

    return f


nansum, nanprod = _without_nan(_reduce("sum"), 0), _without_nan(_reduce("prod"), 1)
nanmax, nanmin = _without_nan(_reduce("max"), float("-inf")), _without_nan(_reduce("min"), float("inf"))


def nanmean(x, axis=None, keepdims=False, *, dim=None, keepdim=None):
    axis, keepdims = _axis(axis, keepdims, dim, keepdim)
    x = _t(x)
    return nansum(x, axis, keepdims) / _reduce("sum")((~x.isnan()).astype(x.dtype), axis, keepdims)


def nanvar(x, axis=None, ddof=0, keepdims=False):
    """Divided by n - ddof: by n unless you say otherwise, as NumPy's."""
    x = _t(x)
    d = x - nanmean(x, axis, True)
    return nansum(d * d, axis, keepdims) / (_reduce("sum")((~x.isnan()).astype(x.dtype), axis, keepdims) - ddof)


def nanstd(x, axis=None, ddof=0, keepdims=False):
    return nanvar(x, axis, ddof, keepdims).sqrt()


def nanargmax(x, axis=None, keepdims=False):
    x = _t(x)
    return _reduce("argmax")(_ridge.where(x.isnan(), float("-inf"), x), axis, keepdims)


def nanargmin(x, axis=None, keepdims=False):
    x = _t(x)
    return _reduce("argmin")(_ridge.where(x.isnan(), float("inf"), x), axis, keepdims)


def std_mean(x, dim=None, correction=1, keepdim=False):
    v, m = _methods.var_mean(x, dim, correction, keepdim)
    return v.sqrt(), m


def dist(x, y, p=2):
    """The p-norm of the difference."""
    return _methods.norm((_t(x) - _t(y)).reshape(-1), p)


# ---- products ----


def mv(x, v):
    return x @ v


def ger(x, y):
    return _ridge.outer(x, y)


def addmv(c, x, v, beta=1, alpha=1):
    return beta * c + alpha * (x @ v)


def addr(c, x, y, beta=1, alpha=1):
    return beta * c + alpha * _ridge.outer(x, y)


def addbmm(c, x, y, beta=1, alpha=1):
    return beta * c + alpha * _ridge.matmul(x, y).sum(0)


def chain_matmul(*xs):
    """The product of matrices, in the order of fewest operations."""
    xs = list(xs[0]) if len(xs) == 1 else list(xs)
    sizes = [x.shape[0] for x in xs] + [xs[-1].shape[1]]
    best = {(i, i): (0, xs[i]) for i in range(len(xs))}
    for span in range(1, len(xs)):
        for i in range(len(xs) - span):
            j = i + span
            cost, k = builtins.min((best[i, k][0] + best[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j))
            best[i, j] = cost, best[i, k][1] @ best[k + 1, j][1]
    return best[0, len(xs) - 1][1]


def corrcoef(x):
    """Correlations of the rows."""
    c = _methods.cov(x)
    d = c.diagonal(0, 0, 1).sqrt()
    return c / d.unsqueeze(1) / d


def correlate(x, y, mode="valid"):
    """Sums of products of vectors at all lags, as numpy.correlate."""
    x, y = _t(x), _t(y)
    if mode not in ("valid", "same", "full"):
        _methods._invalid('correlate: mode is "valid", "same" or "full"; found %r' % (mode,))
    if y.shape[0] > x.shape[0]:
        return _methods.flip(correlate(y, x, mode), 0)
    m = y.shape[0]
    left, right = {"valid": (0, 0), "full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2)}[mode]
    x = _methods.pad(x, [(left, right)])
    return (x.unfold(0, m, 1) * y).sum(-1)


def convolve(x, y, mode="full"):
    """correlate with y reversed."""
    x, y = _t(x), _t(y)
    if y.shape[0] > x.shape[0]:
        x, y = y, x
    y, m = _methods.flip(y, 0), y.shape[0]
    if mode == "same":
        return (_methods.pad(x, [(m // 2, m - 1 - m // 2)]).unfold(0, m, 1) * y).sum(-1)
    return correlate(x, y, mode)


# ---- series ----


def interp(x, xp, fp, left=None, right=None):
    """The line through points (xp, fp) at x, as numpy.interp; xp increases."""
    from ._order import searchsorted

    x, xp, fp = _t(x), _t(xp), _t(fp)
    i = _ridge.clamp(searchsorted(xp, x, "right"), 1, xp.shape[0] - 1)
    a, b, fa, fb = xp.take(i - 1, 0), xp.take(i, 0), fp.take(i - 1, 0), fp.take(i, 0)
    y = fa + (fb - fa) * ((x - a) / (b - a))
    y = _ridge.where(x < xp[0], fp[0] if left is None else left, y)
    return _ridge.where(x == xp[-1], fp[-1], _ridge.where(x > xp[-1], fp[-1] if right is None else right, y))


def gradient(x, spacing=1.0, axis=None, dim=None):
    """Central differences, one-sided at the ends: a tuple of tensors, or NumPy's one for a single `axis`."""
    x, one, axis = _t(x), isinstance(axis, int), dim if axis is None else axis
    axes, out = _methods._axes(axis, x.ndim), []
    for a in axes:
        n = x.shape[a]
        first, last = (x.narrow(a % x.ndim, i + 1, 1) - x.narrow(a % x.ndim, i, 1) for i in (0, n - 2))
        inner = (x.narrow(a % x.ndim, 2, n - 2) - x.narrow(a % x.ndim, 0, n - 2)) / 2 if n > 2 else None
        out.append(_ridge.cat([p for p in (first, inner, last) if p is not None], a) / spacing)
    return out[0] if one else tuple(out)


trapz = _methods.trapezoid


def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, dim=None):
    y, axis = _t(y), axis if dim is None else dim
    a, n = axis % y.ndim, y.shape[axis]
    d = dx if x is None else _methods.diff(_t(x))
    return _ridge.cumsum((y.narrow(a, 1, n - 1) + y.narrow(a, 0, n - 1)) / 2 * d, a)


def polyval(p, x):
    """A polynomial at x, the highest coefficient first."""
    y = 0
    for i in range(len(p) if not hasattr(p, "shape") else p.shape[0]):
        y = y * x + p[i]
    return y


def ediff1d(x):
    return _methods.diff(_t(x).reshape(-1))


def logspace(start, stop, num=50, base=10.0, dtype=None, device=None):
    """Powers of base, evenly spaced exponents."""
    e = _methods.linspace(start, stop, num, dtype=_ridge.float64, device=device)
    return _ridge.exp2(e * _math.log2(base)).astype(dtype or _ridge.float32)


def geomspace(start, stop, num=50, dtype=None):
    """Numbers of equal ratios, both ends included."""
    sign = -1 if start < 0 else 1
    return sign * logspace(_math.log10(sign * start), _math.log10(sign * stop), num, dtype=dtype)


def _window(*weights):
    """sum of weights[k] (-1)^k cos(2 pi k i / n)."""

    def window(n, periodic=True, dtype=None, device=None):
        if n < 2:
            return _ridge.ones(n, dtype=dtype or _ridge.float32, device=device)
        t = _methods.arange(n, dtype=_ridge.float64, device=device) * (2 * _math.pi / (n if periodic else n - 1))
        return builtins.sum((t * k).cos() * (w * (-1) ** k) for k, w in enumerate(weights)).astype(dtype or _ridge.float32)

    return window


hann_window, hamming_window, blackman_window = _window(0.5, 0.5), _window(0.54, 0.46), _window(0.42, 0.5, 0.08)


def bartlett_window(n, periodic=True, dtype=None, device=None):
    m = n if periodic else n - 1
    t = _methods.arange(n, dtype=_ridge.float64, device=device)
    return (1 - (t * (2 / builtins.max(m, 1)) - 1).abs() if n > 1 else t + 1).astype(dtype or _ridge.float32)


def _symmetric(window):
    def f(n):
        return window(n, periodic=False)

    return f


hanning, hamming, blackman, bartlett = map(_symmetric, (hann_window, hamming_window, blackman_window, bartlett_window))
