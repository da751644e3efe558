"""The Python array API standard 2024.12 over Ridge: import ridge.array_api as xp, or x.__array_namespace__().

Arrays are ridge.Tensor, and ridge.ComplexTensor of complex64 and complex128 (_complex.py); the default float is float32. Functions whose
result has a size that depends on data (nonzero, unique_*, indexing with masks) read that size on the host. Operators promote by PyTorch's
rules, which agree with the standard's wherever it defines a result.
"""
import builtins as _b
import math as _math

from . import _complex, _helpers, _methods, _ridge
from ._complex import ComplexTensor, complex64, complex128
from ._ridge import Tensor as _Tensor
from ._ridge import (bool_ as bool, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64)  # noqa: F401,A004
from ._helpers import finfo as _finfo, iinfo as _iinfo
from . import linalg  # noqa: F401

__array_api_version__ = "2024.12"
e, pi, inf, nan, newaxis = _math.e, _math.pi, float("inf"), float("nan"), None
_FLOAT = (float32, float64)
_SIGNED, _UNSIGNED = (int8, int16, int32, int64), (uint8, uint16, uint32, uint64)
_COMPLEX = (complex64, complex128)
_DTYPES = (bool,) + _SIGNED + _UNSIGNED + _FLOAT + _COMPLEX
_ARRAY, _DTYPE = (_Tensor, ComplexTensor), (_ridge.DType, _complex.ComplexDType)


def _t(x, like=None):
    """A Python number takes the other operand's dtype."""
    if isinstance(x, _Tensor):
        return x
    if like is None:
        return _ridge.tensor(x)
    kind = like.dtype
    if isinstance(x, float) and kind not in _FLOAT:
        kind = float32
    elif isinstance(x, int) and not isinstance(x, _b.bool) and kind is bool:
        kind = int64
    return _methods.full((), x, kind, like.device)


def _pair(x, y):
    if not isinstance(x, _Tensor) and not isinstance(y, _Tensor):
        raise TypeError("an array is needed")
    return _t(x, y if isinstance(y, _Tensor) else None), _t(y, x if isinstance(x, _Tensor) else None)


def _common(*xs):
    t = result_type(*xs)
    return [x if x.dtype is t else x.astype(t) for x in xs]


# ---- dtypes ----


class _Limits:
    def __init__(self, **kw):
        self.__dict__.update(kw)


def finfo(type, /):
    t = type.dtype if isinstance(type, _ARRAY) else type
    i = _finfo(t.part if t in _COMPLEX else t)
    return _Limits(bits=i.bits, eps=i.eps, max=i.max, min=i.min, smallest_normal=i.smallest_normal, dtype=i.dtype)


def iinfo(type, /):
    i = _iinfo(type)
    return _Limits(bits=i.bits, max=i.max, min=i.min, dtype=i.dtype)


def astype(x, dtype, /, *, copy=True, device=None):
    if _complex.dtype_of(dtype) or isinstance(x, ComplexTensor):
        x = _complex.of(x) if isinstance(x, ComplexTensor) else _complex.of(x.astype(_complex.dtype_of(dtype).part))
        return x.astype(dtype, copy)
    if not copy and x.dtype is _helpers.dtype(dtype):
        return x
    return _methods.to(x.astype(dtype), device) if device else x.astype(dtype)


def isdtype(dtype, kind):
    kinds = {"bool": (bool,), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED, "integral": _SIGNED + _UNSIGNED,
             "real floating": _FLOAT, "complex floating": _COMPLEX, "numeric": _SIGNED + _UNSIGNED + _FLOAT + _COMPLEX}
    if isinstance(kind, tuple):
        return _b.any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str):
        if kind not in kinds:
            raise ValueError("isdtype: no kind %r" % kind)
        return dtype in kinds[kind]
    return dtype is kind


def can_cast(from_, to, /):
    f = from_.dtype if isinstance(from_, _ARRAY) else from_
    try:
        return result_type(f, to) is to
    except TypeError:
        return False


def _rank(d):
    return 0 if d is bool else 2 if d in _FLOAT + _COMPLEX else 1


def _promote(a, b):
    if a is b:
        return a
    if _rank(a) != _rank(b):
        raise TypeError("the standard has no common dtype of %s and %s" % (a.name, b.name))
    if a in _COMPLEX or b in _COMPLEX:
        return complex128 if {a, b} & {float64, complex128} else complex64
    if a in _FLOAT:
        return float64
    if (a in _SIGNED) == (b in _SIGNED):
        return a if a.itemsize > b.itemsize else b
    s, u = (a, b) if a in _SIGNED else (b, a)
    if u is uint64:
        raise TypeError("the standard has no common dtype of %s and %s" % (a.name, b.name))
    return s if s.itemsize > u.itemsize else _SIGNED[_UNSIGNED.index(u) + 1]


def result_type(*args):
    types = [a.dtype if isinstance(a, _ARRAY) else a for a in args if isinstance(a, _ARRAY + _DTYPE)]
    numbers = [a for a in args if not isinstance(a, _ARRAY + _DTYPE)]
    if not types:
        raise ValueError("result_type: an array or a dtype is needed")
    t = types[0]
    for u in types[1:]:
        t = _promote(t, u)
    for n in numbers:
        if isinstance(n, complex):
            t = complex128 if t in (float64, complex128) else complex64
        elif isinstance(n, float) and t not in _FLOAT + _COMPLEX:
            t = float32
        elif isinstance(n, int) and not isinstance(n, _b.bool) and t is bool:
            t = int64
    return t


class _Info:
    """What __array_namespace_info__() returns."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self):
        return _ridge.device()

    def devices(self):
        return [_ridge.device()]

    def default_dtypes(self, *, device=None):
        return {"real floating": float32, "complex floating": complex64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        kind = ("bool", "numeric") if kind is None else kind
        return {d.name: d for d in _DTYPES if isdtype(d, kind)}


def __array_namespace_info__():
    return _Info()


# ---- creation ----


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    if _complex.dtype_of(dtype) or _complex.is_complex(obj):
        return _as_complex(obj, dtype, copy)
    if isinstance(obj, int) and not isinstance(obj, _b.bool) and (dtype is None or dtype in _SIGNED + _UNSIGNED):
        return _methods.full((), obj, dtype or int64, device)
    if dtype is uint64 and isinstance(obj, (list, tuple)):
        return _u64(obj)
    return _helpers.asarray(obj, dtype, device, copy)


def _as_complex(obj, dtype, copy):
    if dtype is not None and not _complex.dtype_of(dtype):
        raise TypeError("asarray: complex numbers cannot be cast to %s" % _helpers.dtype(dtype).name)
    made = _complex.of(obj, dtype)
    if copy is False and made is not obj:
        raise ValueError("asarray: this needs a copy")
    return +made if copy and made is obj else made


def _u64(obj):
    """Beyond int64's range as well."""
    def wrap(v):
        return [wrap(x) for x in v] if isinstance(v, (list, tuple)) else int(v) - 2**64 if int(v) >= 2**63 else int(v)

    return _ridge._bitcast(_ridge.tensor(wrap(obj), int64), uint64)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    return _methods.arange(start, stop, step, dtype, device)


def empty(shape, *, dtype=None, device=None):
    return zeros(shape, dtype=dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    return _ridge.zeros(_shape(shape), dtype or float32, device)


def ones(shape, *, dtype=None, device=None):
    return _ridge.ones(_shape(shape), dtype or float32, device)


def full(shape, fill_value, *, dtype=None, device=None):
    return _methods.full(_shape(shape), fill_value, dtype, device)


def _shape(s):
    return (s,) if isinstance(s, int) else tuple(s)


def empty_like(x, /, *, dtype=None, device=None):
    return zeros(x.shape, dtype=dtype or x.dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    return zeros(x.shape, dtype=dtype or x.dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    return ones(x.shape, dtype=dtype or x.dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    m = n_rows if n_cols is None else n_cols
    k = _b.min(_b.max(k, -n_rows), m)
    i, j = _ridge._arange(0, n_rows, 1, int64, device), _ridge._arange(0, m, 1, int64, device)
    return (i.reshape(-1 if n_rows else 0, 1) + k == j).astype(dtype or float32)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    dtype = dtype or float32
    step = (stop - start) / _b.max(num - 1 if endpoint else num, 1)
    i = _ridge._arange(0, num, 1, float64, device)
    x = i * step + start
    if endpoint and num > 1:
        x = _ridge.where(i == num - 1, float(stop), x)
    return x.astype(dtype)


def tril(x, /, *, k=0):
    return _mask(x, k, True)


def triu(x, /, *, k=0):
    return _mask(x, k, False)


def _mask(x, k, low):
    return _ridge.tril(x, k) if low else _ridge.triu(x, k)


def meshgrid(*arrays, indexing="xy"):
    return _methods.meshgrid(*arrays, indexing=indexing) if len(arrays) != 1 else [arrays[0]]


def from_dlpack(x, /, *, device=None, copy=None):
    if _complex.is_complex(x):
        if copy is False:
            raise BufferError("from_dlpack: complex numbers are copied into two tensors")
        return +_complex.of(x)
    return _helpers.from_dlpack(x, device=device, copy=copy)


# ---- elementwise ----


def _unary(name, ok=_DTYPES, to=None):
    fn = getattr(_ridge, name)

    def f(x, /):
        return fn(x)

    return f


def _whole(fn):
    """Of an integer itself."""
    def f(x, /):
        return fn(x) if x.dtype in _FLOAT else x

    return f


def _odd(name):
    """f(-0) is -0."""
    fn = getattr(_ridge, name)

    def f(x, /):
        return _ridge.where(x == 0, x, fn(x))

    return f


abs, negative, square, logical_not = (_unary(n) for n in ("abs", "neg", "square", "logical_not"))
bitwise_invert = _unary("bitwise_not")
acos, acosh, cos, cosh, exp, log, log2, log10, sqrt = (_unary(n) for n in "acos acosh cos cosh exp log log2 log10 sqrt".split())
asin, asinh, atan, atanh, sin, sinh, tan, tanh, expm1, log1p = (
    _odd(n) for n in "asin asinh atan atanh sin sinh tan tanh expm1 log1p".split())
ceil, floor, round, trunc = (_whole(getattr(_ridge, n)) for n in "ceil floor round trunc".split())


def _test(fn, other):
    def f(x, /):
        return fn(x) if x.dtype in _FLOAT else _methods.full(x.shape, other, bool, x.device)

    return f


isfinite, isinf, isnan = _test(_ridge.isfinite, True), _test(_ridge.isinf, False), _test(_ridge.isnan, False)


def positive(x, /):
    return x.clone()


def conj(x, /):
    return x


def real(x, /):
    return x


def imag(x, /):
    return zeros(x.shape, dtype=x.dtype, device=x.device)


def sign(x, /):
    return _ridge.where(x == 0, _t(0, x), _ridge.sign(x)).astype(x.dtype)


def reciprocal(x, /):
    return 1.0 / x


def signbit(x, /):
    return _methods.signbit(x)


def _zero_of(r, b):
    """A remainder of zero has the divisor's sign."""
    return _ridge.where(r == 0, _ridge.copysign(r, b), r)


def _binary(fn):
    def f(x1, x2, /):
        a, b = _common(*_pair(x1, x2))
        return fn(a, b)

    return f


add, subtract, multiply, divide, maximum, minimum, logaddexp = (
    _binary(getattr(_ridge, n)) for n in "add sub mul div maximum minimum logaddexp".split())
floor_divide = _binary(lambda a, b: _ridge.floor(a / b) if a.dtype in _FLOAT else _ridge.floordiv(a, b))
remainder = _binary(lambda a, b: _zero_of(_ridge.mod(a, b), b) if a.dtype in _FLOAT else _ridge.mod(a, b))
pow = _binary(_ridge.pow)
equal, not_equal, less, less_equal, greater, greater_equal = (_binary(getattr(_ridge, n)) for n in "eq ne lt le gt ge".split())
logical_and, logical_or, logical_xor = (_binary(getattr(_ridge, n)) for n in "logical_and logical_or logical_xor".split())
bitwise_and, bitwise_or, bitwise_xor = (_binary(getattr(_ridge, n)) for n in "bitwise_and bitwise_or bitwise_xor".split())
copysign, hypot, atan2 = _binary(_ridge.copysign), _binary(_methods.hypot), _binary(_methods.atan2)
bitwise_left_shift, bitwise_right_shift = _binary(_ridge.shl), _binary(_ridge.shr)


def nextafter(x1, x2, /):
    """The next float after x1 towards x2, by its bits."""
    a, b = _common(*_pair(x1, x2))
    a, b = _methods.broadcast_arrays(a, b)
    ints = int32 if a.dtype is float32 else int64
    bits = _ridge._bitcast(_ridge._contiguous(a), ints)
    up = (b > a) == (a > 0)
    tiny = _ridge._bitcast(_methods.full((), 1, ints), a.dtype)
    step = _ridge._bitcast(_ridge._contiguous(bits + _ridge.where(up, 1, -1).astype(ints)), a.dtype)
    out = _ridge.where(a == 0, _ridge.copysign(tiny, b), step)
    return _ridge.where(isnan(a) | isnan(b), a + b, _ridge.where(a == b, b, out))


def clip(x, /, min=None, max=None):
    if min is None and max is None:
        return x.clone()
    out = x
    if min is not None:
        out = _ridge.maximum(out, _t(min, x).astype(x.dtype))
    if max is not None:
        out = _ridge.minimum(out, _t(max, x).astype(x.dtype))
    return out.astype(x.dtype)


def where(condition, x1, x2, /):
    a, b = _common(*_pair(x1, x2))
    return _ridge.where(condition, a, b)


# ---- reductions ----


def _axes(axis, n):
    if axis is None:
        return tuple(range(n))
    return (axis % n if -n <= axis < n else _methods._bad_axis(axis, n),) if isinstance(axis, int) else tuple(a % n for a in axis)


def _reduce(x, fn, axis, keepdims):
    """axis=() reduces nothing; for the header an empty list means all."""
    axes = _axes(axis, x.ndim)
    if not axes:
        return fn(x.reshape(x.shape + (1,)), (-1,), False) if x.ndim or axis is None else fn(x.reshape(1), (0,), False).reshape(x.shape)
    return fn(x, axes, keepdims)


def _wide(x, dtype):
    if dtype is not None:
        return x.astype(dtype)
    if x.dtype in _FLOAT:
        return x
    return x.astype(uint64 if x.dtype in _UNSIGNED else int64)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    x = _wide(x, dtype)
    return _reduce(x, _ridge.sum, axis, keepdims).astype(x.dtype)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    x = _wide(x, dtype)
    return _reduce(x, _ridge.prod, axis, keepdims).astype(x.dtype)


def max(x, /, *, axis=None, keepdims=False):
    return _reduce(x, _ridge.max, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    return _reduce(x, _ridge.min, axis, keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    return _reduce(x, _ridge.mean, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    return _reduce(x, _ridge.any, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    return _reduce(x, _ridge.all, axis, keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    axes = _axes(axis, x.ndim)
    if not axes:
        return x * 0 / (1 - correction if correction != 1 else nan)
    return _methods.var(x, axes, ddof=correction, keepdims=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    return var(x, axis=axis, correction=correction, keepdims=keepdims).sqrt()


def argmax(x, /, *, axis=None, keepdims=False):
    return _ridge.argmax(x, () if axis is None else axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    return _ridge.argmin(x, () if axis is None else axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    return _reduce((x != 0).astype(int64), _ridge.sum, axis, keepdims)


def _running(fn, start):
    def f(x, /, *, axis=None, dtype=None, include_initial=False):
        x = _wide(x, dtype)
        axis = 0 if axis is None else axis % x.ndim
        out = fn(x, axis).astype(x.dtype)
        if include_initial:
            shape = x.shape[:axis] + (1,) + x.shape[axis + 1:]
            out = _ridge.cat([_methods.full(shape, start, out.dtype, x.device), out], axis)
        return out

    return f


cumulative_sum, cumulative_prod = _running(_ridge.cumsum, 0), _running(_ridge.cumprod, 1)


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    return _methods.diff(x, n, axis, prepend, append)


# ---- shapes ----


def broadcast_arrays(*arrays):
    return _methods.broadcast_arrays(*arrays)


def broadcast_to(x, /, shape):
    return x.expand(tuple(shape))


def concat(arrays, /, *, axis=0):
    return _methods.concat(_common(*arrays), axis)


def stack(arrays, /, *, axis=0):
    return _ridge.stack(_common(*arrays), axis)


def expand_dims(x, /, axis):
    return _methods.expand_dims(x, axis)


def flip(x, /, *, axis=None):
    return _methods.flip(x, axis) if x.ndim else x


def moveaxis(x, source, destination, /):
    return _methods.moveaxis(x, source, destination)


def permute_dims(x, /, axes):
    return x.permute(*axes) if x.ndim else x


def repeat(x, repeats, /, *, axis=None):
    return _methods.np_repeat(x, repeats, axis)


def reshape(x, /, shape, *, copy=None):
    return x.reshape(tuple(shape))


def roll(x, /, shift, *, axis=None):
    return _ridge.roll(x, shift, () if axis is None else axis) if x.ndim else x


def squeeze(x, /, axis):
    axes = sorted((a % x.ndim if -x.ndim <= a < x.ndim else _methods._bad_axis(a, x.ndim) for a in _shape(axis)), reverse=True)
    for a in axes:
        if x.shape[a] != 1:
            raise ValueError("squeeze: axis %d has size %d" % (a, x.shape[a]))
        x = x.squeeze(a)
    return x


def tile(x, repetitions, /):
    return _methods.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    return x.unbind(axis)


# ---- searching, sorting, sets ----


def nonzero(x, /):
    if not x.ndim:
        raise ValueError("nonzero: an array of one axis or more is needed")
    return _methods.nonzero(x)


def take(x, indices, /, *, axis=None):
    return x.take(_wrap(indices, x.shape[axis or 0]), 0 if axis is None else axis)


def _wrap(i, n):
    return _ridge.where(i < 0, i + n, i)


def take_along_axis(x, indices, /, *, axis=-1):
    axis %= x.ndim
    shape = list(_methods.broadcast_shapes(x.shape[:axis] + (1,) + x.shape[axis + 1:], indices.shape[:axis] + (1,) + indices.shape[axis + 1:]))
    xs, ks = list(shape), list(shape)
    xs[axis], ks[axis] = x.shape[axis], indices.shape[axis]
    return _ridge.gather(x.expand(tuple(xs)), axis, _wrap(indices, x.shape[axis]).expand(tuple(ks)))


def sort(x, /, *, axis=-1, descending=False, stable=True):
    return _ridge.sort(x, axis, descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    return _ridge.argsort(x, axis, descending)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    x1 = x1 if sorter is None else x1.take(sorter, 0)
    a, b = _common(x1, x2)
    b = b.reshape(b.shape + (1,))
    return ((a < b) if side == "left" else (a <= b)).astype(int64).sum(-1)


class _Result(tuple):
    pass


def _named(name, fields):
    import collections

    return collections.namedtuple(name, fields)


_All = _named("unique_all_result", "values indices inverse_indices counts")
_Counts = _named("unique_counts_result", "values counts")
_Inverse = _named("unique_inverse_result", "values inverse_indices")


def unique_all(x, /):
    flat = x.reshape(-1)
    n = flat.shape[0]
    if not n:
        z = zeros((0,), dtype=int64)
        return _All(flat, z, z.reshape(x.shape), z)
    order = _ridge.argsort(flat, 0)
    s = flat.take(order, 0)
    return _groups(order, s[1:] != s[:-1], x.shape, lambda at: s.take(at, 0))


def _groups(order, changes, shape, values):
    """unique_all's result from the sorted order, and from where its elements change."""
    n = order.shape[0]
    first = _ridge.cat([_methods.full((1,), True, bool), changes], 0)
    where_ = _methods.nonzero(first)[0]
    counts = _ridge.cat([where_[1:], _methods.full((1,), n, int64)], 0) - where_
    group = _ridge.cumsum(first.astype(int64), 0) - 1
    inverse = _ridge.scatter(zeros((n,), dtype=int64), 0, order, group)
    return _All(values(where_), order.take(where_, 0), inverse.reshape(shape), counts)


def unique_values(x, /):
    return unique_all(x).values


def unique_counts(x, /):
    u = unique_all(x)
    return _Counts(u.values, u.counts)


def unique_inverse(x, /):
    u = unique_all(x)
    return _Inverse(u.values, u.inverse_indices)


# ---- products ----


def matmul(x1, x2, /):
    a, b = _common(x1, x2)
    return a @ b


def matrix_transpose(x, /):
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    a, b = _common(x1, x2)
    return _methods.tensordot(a, b, axes)


def vecdot(x1, x2, /, *, axis=-1):
    a, b = _common(x1, x2)
    a, b = _methods.moveaxis(a, axis, -1), _methods.moveaxis(b, axis, -1)
    if a.shape[-1] != b.shape[-1]:
        raise ValueError("vecdot: axes of size %d and %d" % (a.shape[-1], b.shape[-1]))
    a, b = _methods.broadcast_arrays(a, b)
    return (a * b).sum(-1).astype(a.dtype)


def _install():
    def namespace(x, *, api_version=None):
        import ridge.array_api as xp

        return xp

    _Tensor.__array_namespace__ = namespace
    _Tensor.to_device = lambda x, device, /, *, stream=None: _methods.to(x, device)
    for name in _complex.NAMES & set(globals()):
        globals()[name] = _complex.dispatching(name, globals()[name])


_install()


def __getattr__(name):
    if name == "fft":  # it needs this module
        import importlib

        return importlib.import_module(".fft", __package__)
    raise AttributeError("module 'ridge.array_api' has no attribute %r" % name)


__all__ = [n for n in list(globals()) if not n.startswith("_") and n not in ("any_", "annotations")] + ["fft"]
