"""Complex numbers as pairs of real tensors: ComplexTensor, complex64 and complex128, and the array API's functions of them.

Parts are tensors like any other, so that complex arithmetic fuses with the rest and gradients of a real loss flow through it.
Infinities, NaN and signed zeros follow C99's Annex G, as NumPy's. Imported through ridge.array_api only.
Tests: python/tests/test_complex.py
"""
import builtins as _b
import math

from . import _helpers, _methods, _ridge
from ._ridge import DType, Tensor, float32, float64

_INF, _NAN = float("inf"), float("nan")


class ComplexDType:
    """complex64 or complex128: `part` is the dtype of the real and the imaginary part."""

    def __init__(self, name, part):
        self.name, self.part, self.itemsize = name, part, 2 * part.itemsize

    def __repr__(self):
        return "ridge." + self.name

    def __reduce__(self):
        return dtype_of, (self.name,)


complex64, complex128 = ComplexDType("complex64", float32), ComplexDType("complex128", float64)
DTYPES = (complex64, complex128)
_OF_PART = {float32: complex64, float64: complex128}


def dtype_of(d):
    """complex64 or complex128 by any of their names; None: it is no complex dtype."""
    if isinstance(d, ComplexDType):
        return d
    if d is complex:
        return complex64
    if d is None or isinstance(d, DType):
        return None
    name = d if isinstance(d, str) else getattr(d, "name", None) or getattr(d, "__name__", None) or str(d)
    return {"complex64": complex64, "complex128": complex128}.get(str(name).rpartition(".")[2])


class ComplexTensor:
    """A tensor of complex numbers; x.real and x.imag are its parts."""

    __slots__ = ("re", "im")
    __array_ufunc__ = None  # Tensor's and NumPy's operators leave mixed operands to ours
    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, re, im):
        self.re, self.im = re, im

    dtype = property(lambda x: _OF_PART[x.re.dtype])
    shape = property(lambda x: x.re.shape)
    ndim = property(lambda x: x.re.ndim)
    size = property(lambda x: x.re.size)
    device = property(lambda x: x.re.device)
    itemsize = property(lambda x: 2 * x.re.itemsize)
    nbytes = property(lambda x: x.size * x.itemsize)
    real = property(lambda x: x.re.reshape(x.shape))
    imag = property(lambda x: x.im.reshape(x.shape))
    T = property(lambda x: ComplexTensor(x.re.T, x.im.T))
    mT = property(lambda x: ComplexTensor(x.re.mT, x.im.mT))

    def __array_namespace__(x, *, api_version=None):
        from . import array_api

        return array_api

    def realize(x):
        _helpers.realize(x.re, x.im)
        return x

    def item(x):
        return complex(x.re.item(), x.im.item())

    def tolist(x):
        def join(a, b):
            return [join(p, q) for p, q in zip(a, b)] if isinstance(a, list) else complex(a, b)

        x.realize()
        return join(x.re.tolist(), x.im.tolist())

    def numpy(x):
        """A NumPy array with a copy of the values."""
        import numpy as np

        x.realize()
        out = np.empty(x.shape, x.dtype.name)
        out.real, out.imag = x.re.numpy(), x.im.numpy()
        return out

    def __array__(x, dtype=None, copy=None):
        a = x.numpy()
        return a if dtype is None else a.astype(dtype)

    def __dlpack__(x, **kw):
        kw.pop("stream", None)
        if kw.pop("copy", None) is False:
            raise BufferError("dlpack: the parts of a complex tensor are apart, so that this needs a copy")
        return x.numpy().__dlpack__(**kw)

    def __dlpack_device__(x):
        return 1, 0

    def __len__(x):
        return len(x.re)

    def __iter__(x):
        return (ComplexTensor(a, b) for a, b in zip(x.re.unbind(0), x.im.unbind(0)))

    def __repr__(x):
        return "tensor(%s, dtype=%s)" % (x.tolist(), x.dtype.name)

    def __bool__(x):
        return _b.bool(x.item())

    def __complex__(x):
        return x.item()

    def __float__(x):
        raise TypeError("a complex number is no float; take .real or abs()")

    __int__ = __index__ = __float__

    def __getitem__(x, key):
        return ComplexTensor(x.re[key], x.im[key])

    def __setitem__(x, key, v):
        v = of(v, x.dtype)
        x.re[key], x.im[key] = v.re, v.im

    def astype(x, dtype, copy=True):
        d = dtype_of(dtype)
        if d is None:
            raise TypeError("complex numbers cannot be cast to %s; take .real or abs()" % getattr(dtype, "name", dtype))
        return x if d is x.dtype and not copy else ComplexTensor(x.re.astype(d.part), x.im.astype(d.part))

    def to_device(x, device, /, *, stream=None):
        return ComplexTensor(_methods.to(x.re, device), _methods.to(x.im, device))

    def __abs__(x):
        return absolute(x)

    def __neg__(x):
        return ComplexTensor(-x.re, -x.im)

    def __pos__(x):
        return ComplexTensor(x.re.clone(), x.im.clone())


def _zero(x):
    return _ridge.zeros(x.shape, x.dtype, x.device)


def of(x, dtype=None, like=None):
    """x, an array, a number or a nested list, as a ComplexTensor."""
    d = dtype_of(dtype) or (like.dtype if isinstance(like, ComplexTensor) else None)
    if isinstance(x, Tensor):
        x = x if x.dtype in _OF_PART else x.astype(float32)
        x = ComplexTensor(x, _zero(x))
    if isinstance(x, ComplexTensor):
        return x if d is None else x.astype(d, copy=False)
    d = d or complex64
    if isinstance(x, (_b.bool, int, float, complex)):
        z = complex(x)
        return ComplexTensor(_methods.full((), z.real, d.part), _methods.full((), z.imag, d.part))
    if isinstance(x, (list, tuple)):
        if _b.any(isinstance(v, (Tensor, ComplexTensor)) for v in x):
            xs = [of(v, d) for v in x]
            return ComplexTensor(_ridge.stack([v.re for v in xs], 0), _ridge.stack([v.im for v in xs], 0))
        return ComplexTensor(_ridge.tensor(_part(x, 0), d.part), _ridge.tensor(_part(x, 1), d.part))
    import numpy as np

    a = np.asarray(x) if hasattr(x, "__array__") else np.from_dlpack(x)
    d = dtype_of(dtype) or dtype_of(a.dtype) or d
    return ComplexTensor(*(_ridge.tensor(np.array(p, order="C"), d.part) for p in (a.real, a.imag)))


def _part(v, imag):
    if isinstance(v, (list, tuple)):
        return [_part(e, imag) for e in v]
    z = complex(v)
    return z.imag if imag else z.real


def is_complex(x):
    """Whether x, an array of any library, a number or a nested list, has complex numbers in it."""
    if isinstance(x, (ComplexTensor, complex)):
        return True
    if isinstance(x, (Tensor, int, float, str, type(None))):
        return False
    if isinstance(x, (list, tuple)):
        return _b.any(is_complex(v) for v in x)
    return "complex" in str(getattr(x, "dtype", ""))


def _pair(x, y):
    """Both as complex tensors of their common dtype; a Python number takes the other's."""
    a = of(x, like=y if isinstance(x, (int, float, complex)) else None)
    b = of(y, like=x if isinstance(y, (int, float, complex)) else None)
    for p, q in ((x, b), (y, a)):  # a number beside a real tensor: of that tensor's width
        if isinstance(p, Tensor) and p.dtype is float64 and q.dtype is not complex128:
            return (a, b.astype(complex128)) if p is x else (a.astype(complex128), b)
    if a.dtype is not b.dtype:
        a, b = a.astype(complex128, copy=False), b.astype(complex128, copy=False)
    return a, b


# ---- arithmetic ----


def add(x, y, /):
    a, b = _pair(x, y)
    return ComplexTensor(a.re + b.re, a.im + b.im)


def subtract(x, y, /):
    a, b = _pair(x, y)
    return ComplexTensor(a.re - b.re, a.im - b.im)


def multiply(x, y, /):
    a, b = _pair(x, y)
    return ComplexTensor(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)


def divide(x, y, /):
    """Smith's algorithm: by the quotient of the divisor's parts, so that its square does not overflow."""
    a, b = _pair(x, y)
    wide = b.re.abs() >= b.im.abs()
    zero = (b.re == 0) & (b.im == 0)
    big, small = _ridge.where(wide, b.re, b.im), _ridge.where(wide, b.im, b.re)
    r = _ridge.where(zero, 0.0, small / big)
    d = big + small * r
    re = _ridge.where(wide, a.re + a.im * r, a.re * r + a.im) / d
    im = _ridge.where(wide, a.im - a.re * r, a.im * r - a.re) / d
    return ComplexTensor(re, im)


def pow(x, y, /):
    a, b = _pair(x, y)
    out = exp(multiply(b, log(a)))
    zero = (a.re == 0) & (a.im == 0)
    out = _choose(zero & (b.re > 0), of(0, a.dtype), out)
    return _choose((b.re == 0) & (b.im == 0), of(1, a.dtype), out)


def _choose(mask, a, b):
    return ComplexTensor(_ridge.where(mask, a.re, b.re), _ridge.where(mask, a.im, b.im))


def where(condition, x1, x2, /):
    return _choose(condition, *_pair(x1, x2))


def equal(x, y, /):
    a, b = _pair(x, y)
    return (a.re == b.re) & (a.im == b.im)


def not_equal(x, y, /):
    return ~equal(x, y)


def negative(x, /):
    return -x


def positive(x, /):
    return +x


def conj(x, /):
    return ComplexTensor(x.re.clone(), -x.im)


def real(x, /):
    return x.real


def imag(x, /):
    return x.imag


def absolute(x, /):
    inf = x.re.isinf() | x.im.isinf()
    return _ridge.where(inf, _INF, _methods.hypot(x.re, x.im))


def angle(x, /):
    """The angle in radians, from -pi to pi."""
    return _methods.atan2(x.im, x.re)


def square(x, /):
    return multiply(x, x)


def reciprocal(x, /):
    return divide(1, x)


def sign(x, /):
    r = absolute(x)
    zero = r == 0
    return ComplexTensor(_ridge.where(zero, 0.0, x.re / r), _ridge.where(zero, 0.0, x.im / r))


def round(x, /):
    return ComplexTensor(x.re.round(), x.im.round())


def isnan(x, /):
    return x.re.isnan() | x.im.isnan()


def isinf(x, /):
    return x.re.isinf() | x.im.isinf()


def isfinite(x, /):
    return x.re.isfinite() & x.im.isfinite()


# ---- exponentials and logarithms ----


def _real():
    """Real functions that keep the sign of zero."""
    from . import array_api

    return array_api


def _grown(x, c):
    """exp(x) * c, where exp(x) alone may overflow."""
    k = _ridge.where(x > 60.0, 20.0, 0.0).astype(x.dtype)
    return (x - k).exp() * c * k.exp()


def exp(x, /):
    re, im = _grown(x.re, x.im.cos()), _grown(x.re, x.im.sin())
    wild = ~x.im.isfinite()
    down, up = wild & (x.re == -_INF), wild & (x.re == _INF)
    re = _ridge.where(x.im == 0, x.re.exp(), _ridge.where(down, 0.0, _ridge.where(up, _INF, re)))
    return ComplexTensor(re, _ridge.where(x.im == 0, x.im, _ridge.where(down, 0.0, im)))


def expm1(x, /):
    e, h = exp(x), (x.im * 0.5).sin()
    near = x.re.expm1() * x.im.cos() - 2 * h * h
    return ComplexTensor(_ridge.where(x.re.abs() < 1.0, near, e.re - 1), e.im)


def _log_abs(x, y):
    """log(hypot(x, y)), without cancellation where that is near 1."""
    r = absolute(ComplexTensor(x, y))
    big, small = _ridge.maximum(x.abs(), y.abs()), _ridge.minimum(x.abs(), y.abs())
    near = ((big - 1) * (big + 1) + small * small).log1p() * 0.5
    return _ridge.where((r > 0.7) & (r < 1.5), near, r.log())


def log(x, /):
    return ComplexTensor(_log_abs(x.re, x.im), angle(x))


def log1p(x, /):
    far = log(ComplexTensor(x.re + 1, x.im))
    near = (x.re * (x.re + 2) + x.im * x.im).log1p() * 0.5
    small = (x.re.abs() < 0.5) & (x.im.abs() < 0.5)
    return ComplexTensor(_ridge.where(small, near, far.re), far.im)


def log2(x, /):
    y = log(x)
    return ComplexTensor(y.re / math.log(2), y.im / math.log(2))


def log10(x, /):
    y = log(x)
    return ComplexTensor(y.re / math.log(10), y.im / math.log(10))


def sqrt(x, /):
    a, b = x.re.abs(), x.im.abs()
    s = 2 * (a / 8 + absolute(ComplexTensor(a / 8, b / 8))).sqrt()
    zero = s == 0
    d = _ridge.where(zero, 0.0, b / (2 * s))
    left = x.re < 0
    re, im = _ridge.where(left, d, s), _ridge.copysign(_ridge.where(left, s, d), x.im)
    inf = x.im.isinf()
    return ComplexTensor(_ridge.where(inf, _INF, re), _ridge.where(inf | zero, x.im, im))


# ---- hyperbolic functions ----


def sinh(x, /):
    xp = _real()
    a, far, wild = x.re.abs(), x.re.abs() > 30.0, ~x.im.isfinite()
    c, s = x.im.cos(), xp.sin(x.im)
    re = _ridge.where(far, _ridge.copysign(1.0, x.re) * _grown(a, c * 0.5), xp.sinh(x.re) * c)
    im = _ridge.where(far, _grown(a, s * 0.5), x.re.cosh() * s)
    re = _ridge.where(x.re == 0, x.re, _ridge.where(x.im == 0, xp.sinh(x.re), re))
    return ComplexTensor(_ridge.where(wild & x.re.isinf(), x.re, re), _ridge.where(x.im == 0, x.im, im))


def cosh(x, /):
    xp = _real()
    a, far, wild = x.re.abs(), x.re.abs() > 30.0, ~x.im.isfinite()
    c, s, sign_ = x.im.cos(), xp.sin(x.im), _ridge.copysign(1.0, x.re)
    re = _ridge.where(far, _grown(a, c * 0.5), x.re.cosh() * c)
    im = _ridge.where(far, sign_ * _grown(a, s * 0.5), xp.sinh(x.re) * s)
    re = _ridge.where(wild & x.re.isinf(), _INF, _ridge.where(x.im == 0, x.re.cosh(), re))
    im = _ridge.where(x.im == 0, sign_ * x.im, im)
    return ComplexTensor(re, _ridge.where((x.re == 0) & wild, 0.0, im))


def tanh(x, /):
    xp = _real()
    far, wild = x.re.abs() > 20.0, ~x.im.isfinite()
    t, s = xp.tan(x.im), xp.sinh(_ridge.where(far, 0.0, x.re))
    s = _ridge.where(x.re.isnan(), x.re, s)
    beta = t * t + 1
    d = beta * s * s + 1
    re, im = beta * (s * s + 1).sqrt() * s / d, t / d
    tail = 4 * x.im.sin() * x.im.cos() * (-2 * x.re.abs()).exp()
    re = _ridge.where(far, _ridge.copysign(1.0, x.re), _ridge.where(x.re == 0, x.re, re))
    im = _ridge.where(far, _ridge.where(wild, 0.0, tail), im)
    lost = far & wild & x.re.isfinite()
    re, im = (_ridge.where(lost, _NAN, p) for p in (re, im))
    return ComplexTensor(re, _ridge.where(x.im == 0, x.im, im))


def _far(x):
    """Where log(2 |x|) stands for the inverse functions: beyond 1 / sqrt(eps), and where a part is infinite or NaN."""
    big = 1e4 if x.re.dtype is float32 else 1e9
    return (x.re.abs() > big) | (x.im.abs() > big) | ~isfinite(x)


def _log_twice(x):
    return absolute(ComplexTensor(x.re * 0.5, x.im * 0.5)).log() + math.log(4)


def _roots(x):
    """sqrt(1 - x) and sqrt(1 + x), of 0 where x is far."""
    far = _far(x)
    a, b = _ridge.where(far, 0.0, x.re), _ridge.where(far, _ridge.copysign(0.0, x.im), x.im)
    return far, sqrt(ComplexTensor(1 - a, -b)), sqrt(ComplexTensor(1 + a, b))


def asinh(x, /):
    """By asin(y - ix), Kahan's way."""
    xp = _real()
    far, m, p = _roots(ComplexTensor(x.im, -x.re))
    re = xp.asinh(m.im * p.re - m.re * p.im)
    im = _methods.atan2(x.im, m.re * p.re - m.im * p.im)
    re = _ridge.where(far, _ridge.copysign(_log_twice(x), x.re), _ridge.where((x.re == 0) & (x.im.abs() <= 1.0), x.re, re))
    im = _ridge.where(far, _methods.atan2(x.im, x.re.abs()), im)
    return ComplexTensor(re, _ridge.where(x.im == 0, _ridge.where(x.re.isnan(), x.im, im), im))


def acos(x, /):
    xp = _real()
    far, m, p = _roots(x)
    re = 2 * _methods.atan2(m.re, p.re)
    im = xp.asinh(p.re * m.im - p.im * m.re)
    re = _ridge.where(far, _methods.atan2(x.im.abs(), x.re), re)
    im = _ridge.where(far, _ridge.copysign(1.0, -x.im) * _log_twice(x), im)
    return ComplexTensor(_ridge.where((x.re == 0) & x.im.isnan(), math.pi / 2, re), im)


def acosh(x, /):
    """i acos(x) or its negative: the one in the right half-plane."""
    y = acos(x)
    im = _ridge.where((x.re == 0) & x.im.isnan(), math.pi / 2, _ridge.copysign(y.re, x.im))
    return ComplexTensor(y.im.abs(), _ridge.where(y.re.isnan() & ~im.isfinite(), _NAN, im))


def atanh(x, /):
    xp = _real()
    far = _far(x)
    a, b = _ridge.where(far, 0.0, x.re.abs()), _ridge.where(far, 0.0, x.im)
    re = xp.log1p(4 * a / ((1 - a) * (1 - a) + b * b)) * 0.25
    im = _methods.atan2(2 * b, (1 - a) * (1 + a) - b * b) * 0.5
    tail = _ridge.where((x.re == 0) | isinf(x), 0.0, 1 / (x.re.abs() + x.im / x.re.abs() * x.im))
    lost = x.im.isnan() | (x.re.isnan() & ~x.im.isinf())
    re = _ridge.copysign(_ridge.where(far, tail, re), x.re)
    im = _ridge.where(far, _ridge.where(lost, _NAN, _ridge.copysign(math.pi / 2, x.im)), im)
    return ComplexTensor(_ridge.where(x.re == 0, x.re, re), im)


def _rotated(fn):
    """-i fn(i x): sin by sinh, and so on."""
    def f(x, /):
        y = fn(ComplexTensor(-x.im, x.re))
        return ComplexTensor(y.im, -y.re)

    return f


sin, tan, asin, atan = _rotated(sinh), _rotated(tanh), _rotated(asinh), _rotated(atanh)


def cos(x, /):
    return cosh(ComplexTensor(-x.im, x.re))


# ---- reductions, products, sets ----


def _times(xs, axis):
    """The product along an axis pairwise: log2(n) products."""
    while xs.shape[axis] > 1:
        n = xs.shape[axis]
        h = n // 2
        head = multiply(*(ComplexTensor(xs.re.narrow(axis, i, h), xs.im.narrow(axis, i, h)) for i in (0, h)))
        tail = [(xs.re.narrow(axis, n - 1, 1), xs.im.narrow(axis, n - 1, 1))] if n % 2 else []
        xs = ComplexTensor(*(_ridge.cat([p, *(t[i] for t in tail)], axis) for i, p in enumerate((head.re, head.im))))
    return xs


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    x = x if dtype is None else x.astype(dtype)
    axes = _real()._axes(axis, x.ndim)
    for a in axes:
        if x.shape[a] == 0:
            shape = x.shape[:a] + (1,) + x.shape[a + 1:]
            x = ComplexTensor(_ridge.ones(shape, x.re.dtype), _ridge.zeros(shape, x.re.dtype))
        x = _times(x, a)
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape) if keepdims or i not in axes)
    return ComplexTensor(x.re.reshape(shape), x.im.reshape(shape))


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    x = x if dtype is None else x.astype(dtype)
    axis = 0 if axis is None else axis % x.ndim
    n, step = x.shape[axis], 1
    one = ComplexTensor(*(_methods.full(x.shape[:axis] + (1,) + x.shape[axis + 1:], v, x.re.dtype) for v in (1.0, 0.0)))
    while step < n:  # each element times the one `step` before it
        cut = [ComplexTensor(x.re.narrow(axis, i, m), x.im.narrow(axis, i, m)) for i, m in ((0, step), (step, n - step), (0, n - step))]
        rest = multiply(cut[1], cut[2])
        x = ComplexTensor(_ridge.cat([cut[0].re, rest.re], axis), _ridge.cat([cut[0].im, rest.im], axis))
        step *= 2
    if include_initial:
        x = ComplexTensor(_ridge.cat([one.re, x.re], axis), _ridge.cat([one.im, x.im], axis))
    return x


def _product(name, fn, x1, x2, **kw):
    """A bilinear function of two arrays: four of their parts."""
    a, b = _pair(x1, x2)
    a = conj(a) if name == "vecdot" else a
    return ComplexTensor(fn(a.re, b.re, **kw) - fn(a.im, b.im, **kw), fn(a.re, b.im, **kw) + fn(a.im, b.re, **kw))


def unique_all(x, /):
    """In the order of the real parts, then of the imaginary ones."""
    xp = _real()
    re, im = x.re.reshape(-1 if x.size else 0), x.im.reshape(-1 if x.size else 0)
    n = re.shape[0]
    if not n:
        z = xp.zeros((0,), dtype=xp.int64)
        return xp._All(ComplexTensor(re, im), z, z.reshape(x.shape), z)
    order = _ridge.argsort(im, 0)
    order = order.take(_ridge.argsort(re.take(order, 0), 0), 0)
    a, b = re.take(order, 0), im.take(order, 0)
    return xp._groups(order, (a[1:] != a[:-1]) | (b[1:] != b[:-1]), x.shape, lambda at: ComplexTensor(a.take(at, 0), b.take(at, 0)))


def broadcast_arrays(*arrays):
    """Each keeps its dtype."""
    xp = _real()
    shape = _methods.broadcast_shapes(*[x.shape for x in arrays])
    return [xp.broadcast_to(x, shape) for x in arrays]


# ---- which function of the array API is which of ours ----

_SINGLE = """add subtract multiply divide pow where equal not_equal negative positive conj real imag square reciprocal sign round isnan
isinf isfinite exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh prod cumulative_prod
unique_all broadcast_arrays""".split()
_OURS = {n: globals()[n] for n in _SINGLE}
_OURS["abs"] = absolute
# Linear maps of one array: the same function of each part.
_PARTS = """broadcast_to expand_dims flip moveaxis permute_dims repeat reshape roll squeeze tile unstack take take_along_axis
matrix_transpose tril triu sum mean cumulative_sum diagonal trace""".split()
# The same, of several arrays.
_LINEAR = "concat stack meshgrid diff".split()
_PRODUCTS = "matmul tensordot vecdot outer cross".split()
_OF_ZERO = "nonzero count_nonzero any all".split()  # of whether it is not 0
_CREATION = "zeros ones empty full eye linspace zeros_like ones_like empty_like full_like".split()
NAMES = set(_OURS) | set(_PARTS + _LINEAR + _PRODUCTS + _OF_ZERO + _CREATION)


def _joined(a, b):
    return ComplexTensor(a, b) if isinstance(a, Tensor) else type(a)(ComplexTensor(p, q) for p, q in zip(a, b))


def _split(v, part, d):
    if isinstance(v, (list, tuple)) and _b.any(isinstance(e, (Tensor, ComplexTensor)) for e in v):
        return [_split(e, part, d) for e in v]
    return getattr(of(v, d), part) if isinstance(v, (Tensor, ComplexTensor)) else v


def _widest(args):
    found = [a for v in args for a in (v if isinstance(v, (list, tuple)) else [v])]
    wide = _b.any(getattr(a, "dtype", None) in (float64, complex128) for a in found)
    return complex128 if wide else complex64


def _create(name, fn, args, kw):
    """Creation functions with a complex dtype, or of complex values."""
    like = args[0] if args and isinstance(args[0], ComplexTensor) else None
    if like is not None and kw.get("dtype") is not None and not dtype_of(kw["dtype"]):
        return fn(like.re, *args[1:], **kw)
    d = dtype_of(kw.pop("dtype", None)) or (like.dtype if like is not None else complex64)
    kw.pop("device", None)
    args = [like.re] + list(args[1:]) if like is not None else list(args)
    if name == "eye" or name[:4] not in ("full", "lins"):
        re = fn(*args, dtype=d.part, **kw)
        return ComplexTensor(re, _zero(re))
    at = slice(0, 2) if name == "linspace" else slice(1, 2)
    if "fill_value" in kw:
        args, kw = args[:1] + [kw.pop("fill_value")], kw
    values = [v.item() if isinstance(v, (Tensor, ComplexTensor)) else v for v in args[at]]
    parts = []
    for imag_ in (False, True):
        new = list(args)
        new[at] = [complex(v).imag if imag_ else complex(v).real for v in values]
        parts.append(fn(*new, dtype=d.part, **kw))
    return ComplexTensor(*parts)


def call(name, fn, args, kw):
    """A function of the array API with a complex array, number or dtype among its arguments; fn is the one of real arrays."""
    if name in _CREATION:
        return _create(name, fn, args, dict(kw))
    if kw.get("dtype") is not None and dtype_of(kw["dtype"]):
        args = (of(args[0], kw["dtype"]),) + tuple(args[1:])
        kw = {k: v for k, v in kw.items() if k != "dtype"}
    if name in _OURS:
        return _OURS[name](*args, **kw)
    if name in _PRODUCTS:
        return _product(name, fn, *args, **kw)
    x = args[0] if args else None
    if name in _OF_ZERO:
        return fn((x.re != 0) | (x.im != 0), *args[1:], **kw)
    if name in _PARTS:
        return _joined(fn(x.re, *args[1:], **kw), fn(x.im, *args[1:], **kw))
    d = _widest(list(args) + list(kw.values()))
    parts = [fn(*(_split(a, p, d) for a in args), **{k: _split(v, p, d) for k, v in kw.items()}) for p in ("re", "im")]
    return _joined(*parts)


def involved(args, kw):
    """Whether a call is one of complex arrays."""
    for a in args:
        if isinstance(a, (ComplexTensor, complex)) or (isinstance(a, (list, tuple)) and _b.any(isinstance(e, ComplexTensor) for e in a)):
            return True
    return _b.any(isinstance(v, (ComplexTensor, ComplexDType, complex)) or v is complex for v in kw.values())


def dispatching(name, fn):
    """fn, and ours where an argument is complex."""
    import functools

    @functools.wraps(fn)
    def f(*args, **kw):
        return call(name, fn, args, kw) if involved(args, kw) else fn(*args, **kw)

    return f


def _install():
    operators = dict(add=add, sub=subtract, mul=multiply, truediv=divide, pow=pow)
    for name, fn in operators.items():
        def forward(a, b, fn=fn):
            return fn(a, b) if _known(b) else NotImplemented

        def backward(a, b, fn=fn):
            return fn(b, a) if _known(b) else NotImplemented

        def inplace(a, b, fn=fn):
            c = of(fn(a, b), a.dtype)
            if c.shape != a.shape:
                raise ValueError("a result of shape %s does not fit a tensor of shape %s" % (c.shape, a.shape))
            a.re, a.im = c.re, c.im
            return a

        for prefix, method in (("", forward), ("r", backward), ("i", inplace)):
            setattr(ComplexTensor, "__%s%s__" % (prefix, name), method)
    ComplexTensor.__eq__ = lambda a, b: equal(a, b) if _known(b) else NotImplemented
    ComplexTensor.__ne__ = lambda a, b: not_equal(a, b) if _known(b) else NotImplemented
    ComplexTensor.__matmul__ = lambda a, b: _real().matmul(a, b)
    ComplexTensor.__rmatmul__ = lambda a, b: _real().matmul(b, a)
    ComplexTensor.__imatmul__ = lambda a, b: _real().matmul(a, b)
    for name in "reshape sum mean prod squeeze conj exp log sqrt sin cos".split():
        setattr(ComplexTensor, name, _method(name))
    ComplexTensor.abs, ComplexTensor.angle = absolute, angle


def _method(name):
    def method(x, *args, **kw):
        if name == "reshape":
            args = (args[0] if len(args) == 1 and not isinstance(args[0], int) else args,)
        elif args:
            args, kw = (), dict(kw, axis=args[0])
        return getattr(_real(), name)(x, *args, **kw)

    return method


def _known(b):
    return isinstance(b, (Tensor, ComplexTensor, int, float, complex)) or hasattr(b, "__array__")


_install()
