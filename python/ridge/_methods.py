"""Functions and methods with NumPy's or PyTorch's shape around those of the header."""
import builtins
import math as _math

from . import _ridge
from ._ridge import DType, Tensor, tensor

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _dtype(d):
    from ._helpers import dtype

    return dtype(d)


def _t(x):
    return x if isinstance(x, Tensor) else tensor(x)


def _axes(axis, n):
    if axis is None:
        return tuple(range(n))
    return (axis,) if isinstance(axis, int) else tuple(axis)


# ---- conversion ----


def astype(x, dtype, copy=True):
    """As another dtype; float to integer truncates."""
    return _ridge._cast(x, dtype)


def to(x, *args, **kw):
    """x.to("CUDA"), x.to(ridge.float16): another device, dtype or both, as PyTorch's."""
    for a in list(args) + list(kw.values()):
        if a is None:
            continue
        if isinstance(a, str) and a.partition(":")[0].upper() in ("CPU", "CUDA", "OPENCL", "REF", "NULL"):
            x = tensor(x, device=a) if x.device != a.upper() else x
        else:
            x = _ridge._cast(x, a)
    return x


def numpy(x):
    """The values as a NumPy array: on a CPU a read-only view of the tensor's memory, as JAX's; numpy.array(x) is a copy."""
    import numpy as np

    name = x.dtype.name
    if name in ("bfloat16", "float8_e4m3", "float8_e5m2"):
        try:
            import ml_dtypes

            bits = np.asarray(memoryview(_ridge._bitcast(x, _ridge.uint16 if x.itemsize == 2 else _ridge.uint8)))
            return bits.view(getattr(ml_dtypes, {"float8_e4m3": "float8_e4m3fn"}.get(name, name)))
        except ImportError:
            raise TypeError("NumPy has no %s; cast it (x.float()) or install ml_dtypes" % name) from None
    return np.asarray(memoryview(x))


def __array__(x, dtype=None, copy=None):
    a = numpy(x)
    if dtype is not None and a.dtype != dtype:
        return a.astype(dtype)
    return a.copy() if copy else a


def tolist(x):
    """Nested lists of Python numbers."""
    if x.ndim == 0:
        return x.item()
    if x.dtype.name in ("float16", "bfloat16", "float8_e4m3", "float8_e5m2"):
        x = x.cast(_ridge.float32)
    if x.size == 0:
        return [tolist(x[i]) for i in range(x.shape[0])] if x.ndim > 1 else []
    return memoryview(x).tolist()


def clone(x):
    """A tensor with memory of its own."""
    return _ridge._contiguous(x)


def cpu(x):
    return to(x, "CPU")


def cuda(x):
    return to(x, "CUDA")


def dim(x):
    return x.ndim


def numel(x):
    return x.size


def element_size(x):
    return x.itemsize


def data_ptr(x):
    """Address of the value in the device's memory."""
    return _ridge._data_ptr(x)


def __format__(x, spec):
    return format(x.item(), spec) if spec else str(x)


def __contains__(x, v):
    return builtins.bool((x == v).any().item())


def __deepcopy__(x, memo):
    return tensor(x, requires_grad=x.requires_grad)


def __complex__(x):
    return complex(x.item())


def type_as(x, y):
    return _ridge._cast(x, y.dtype)


def _caster(name):
    def cast(x):
        return _ridge._cast(x, getattr(_ridge, name))

    cast.__doc__ = "As %s." % name
    return cast


# ---- shapes ----


def view(x, *shape):
    """Another shape of the same elements, as PyTorch's; a dtype: the same bits."""
    if len(shape) == 1 and isinstance(shape[0], DType):
        return _ridge._bitcast(x, shape[0])
    return x.reshape(*shape)


def transpose(x, *axes, dim0=None, dim1=None):
    """NumPy's transpose(), transpose(axes), and PyTorch's transpose(a, b): two axes swapped."""
    x = _t(x)
    if dim0 is not None:
        return _ridge._transpose(x, dim0, dim1)
    if len(axes) == 1 and not isinstance(axes[0], int):
        axes = axes[0]
        return x.T if axes is None else x.permute(*axes)
    if len(axes) == 2:
        return _ridge._transpose(x, *axes)
    return x.permute(*axes) if axes else x.T


def swapaxes(x, axis1, axis2):
    """Two axes swapped."""
    return _ridge._transpose(x, axis1, axis2)


def moveaxis(x, source, destination):
    """Axes moved to other positions, the rest in order."""
    x = _t(x)
    src = [a % x.ndim for a in _axes(source, x.ndim)]
    dst = [a % x.ndim for a in _axes(destination, x.ndim)]
    order = [a for a in range(x.ndim) if a not in src]
    for d, s in sorted(zip(dst, src)):
        order.insert(d, s)
    return x.permute(*order)


def expand_dims(x, axis):
    """New axes of size 1."""
    x = _t(x)
    axes = _axes(axis, 0)
    n = x.ndim + len(axes)
    for a in sorted(a % n if -n <= a < n else _bad_axis(a, n) for a in axes):
        x = x.unsqueeze(a)
    return x


def _invalid(text):
    from ._helpers import InvalidError

    raise InvalidError(text)


def _bad_axis(a, n):
    from ._helpers import AxisError

    raise AxisError("axis %d of a tensor of %d axes" % (a, n))


def flip(x, *axis, dims=None, axes=None):
    """Reversed along axes; none: along all."""
    x = _t(x)
    axis = axis or (dims if dims is not None else axes,)
    axis = axis[0] if len(axis) == 1 and not isinstance(axis[0], int) else axis
    return _ridge._flip(x, _axes(axis, x.ndim))


def broadcast_to(x, shape):
    """Expanded to a shape by NumPy's rules."""
    return _t(x).expand((shape,) if isinstance(shape, int) else tuple(shape))


def expand_as(x, y):
    return x.expand(y.shape)


def reshape_as(x, y):
    return x.reshape(y.shape)


def view_as(x, y):
    return x.reshape(y.shape)


def broadcast_shapes(*shapes):
    from ._index import _broadcast

    return _broadcast(shapes)


def broadcast_arrays(*xs):
    """All of them expanded to their common shape."""
    shape = broadcast_shapes(*[_t(x).shape for x in xs])
    return [_t(x).expand(shape) for x in xs]


def tile(x, reps):
    """Repeated along axes, as numpy.tile and torch.tile."""
    x = _t(x)
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    reps = (1,) * (x.ndim - len(reps)) + reps
    return _ridge.tile_(x.reshape((1,) * (len(reps) - x.ndim) + x.shape), reps)


def repeat(x, *times, axis=None):
    """Of a tensor's method: tiles, as torch.repeat. The function ridge.repeat is NumPy's."""
    times = times[0] if len(times) == 1 and not isinstance(times[0], int) else times
    return tile(x, times)


def np_repeat(x, repeats, axis=None):
    """Each element several times in a row, as numpy.repeat."""
    x = _t(x)
    if not isinstance(repeats, int) and (hasattr(repeats, "shape") or isinstance(repeats, (list, tuple))):
        counts = _t(repeats).tolist()
        counts = counts if isinstance(counts, list) else [counts]
        if axis is None:
            x, axis = x.reshape(-1), 0
        counts = counts * x.shape[axis] if len(counts) == 1 else counts
        index = [i for i, c in enumerate(counts) for _ in range(c)]
        return x.take(tensor(index, _ridge.int64), axis)
    return x.repeat_interleave(int(repeats), axis)


def split(x, indices_or_sections, axis=0, dim=None):
    """Parts of a size or of these sizes (a method, as PyTorch's)."""
    x = _t(x)
    axis = axis if dim is None else dim
    n, s = x.shape[axis], indices_or_sections
    sizes = [builtins.min(s, n - i) for i in range(0, n, s)] if isinstance(s, int) else list(s)
    return tuple(_ridge._split(x, sizes, axis))


def np_split(x, indices_or_sections, axis=0):
    """Equal parts, or parts between indices, as numpy.split."""
    x, s = _t(x), indices_or_sections
    n = x.shape[axis]
    if isinstance(s, int):
        if n % s:
            raise ValueError("split: %d elements cannot be cut into %d equal parts" % (n, s))
        sizes = [n // s] * s
    else:
        at = [0] + [i if i >= 0 else i + n for i in s] + [n]
        sizes = [b - a for a, b in zip(at, at[1:])]
    return _ridge._split(x, sizes, axis)


def chunk(x, chunks, axis=0, dim=None):
    """As many parts of equal size, the last may be smaller; as PyTorch's."""
    axis = axis if dim is None else dim
    n = x.shape[axis]
    return split(x, -(-n // chunks) if n else 1, axis)


def unbind(x, axis=0, dim=None):
    """The slices along an axis."""
    axis = axis if dim is None else dim
    return tuple(x.select(axis, i) for i in range(x.shape[axis]))


def meshgrid(*xs, indexing="xy"):
    """Grids of coordinate vectors, as numpy.meshgrid."""
    xs = xs[0] if len(xs) == 1 and not isinstance(xs[0], Tensor) else xs
    xs = [_t(x).reshape(-1) for x in xs]
    if indexing not in ("xy", "ij"):
        _invalid('meshgrid: indexing is "xy" or "ij"; found %r' % (indexing,))
    if indexing == "ij" or len(xs) < 2:
        return _ridge._meshgrid(xs) if xs else []
    out = _ridge._meshgrid([xs[1], xs[0]] + xs[2:])
    return [out[1], out[0]] + out[2:]


def pad(x, pad_width, mode="constant", value=0, constant_values=None):
    """numpy.pad: pairs of (before, after) for each axis. Modes: constant, reflect, edge, wrap."""
    x = _t(x)
    if isinstance(pad_width, int):
        pad_width = [(pad_width, pad_width)] * x.ndim
    elif pad_width and isinstance(pad_width[0], int):
        pad_width = [tuple(pad_width) * (1 if len(pad_width) == 2 else 2)] * x.ndim
    pairs = [int(n) for p in pad_width for n in (p if len(p) == 2 else tuple(p) * 2)]
    if mode == "constant":
        return _ridge._pad(x, pairs, value if constant_values is None else constant_values)
    return _ridge._pad_with(x, pairs, {"edge": "replicate", "wrap": "circular"}.get(mode, mode))


def atleast_1d(x):
    x = _t(x)
    return x if x.ndim else x.reshape(1)


def atleast_2d(x):
    x = atleast_1d(x)
    return x if x.ndim > 1 else x.reshape(1, -1)


def hstack(xs):
    xs = [atleast_1d(x) for x in xs]
    return _ridge.cat(xs, 0 if xs[0].ndim == 1 else 1)


def vstack(xs):
    return _ridge.cat([atleast_2d(x) for x in xs], 0)


def unstack(x, axis=0):
    return unbind(_t(x), axis)


def concat(xs, axis=0):
    """Joined along an axis; None: flattened first."""
    xs = [_t(x) for x in xs]
    return _ridge.cat([x.reshape(-1) for x in xs], 0) if axis is None else _ridge.cat(xs, axis)


def rot90(x, k=1, axes=(0, 1)):
    x, k = _t(x), k % 4
    a, b = axes
    if k == 2:
        return flip(flip(x, a), b)
    x = flip(x, b) if k == 1 else x
    x = swapaxes(x, a, b) if k else x
    return flip(x, b) if k == 3 else x


def window(x, at, size, axis=0):
    """x[at:at + size] along an axis, `at` being an index_scalar: it may change without compiling anything again."""
    return _ridge._window(x, at, size, axis)


# ---- creation ----


def _like(fill):
    def like(x, dtype=None, device=None):
        x = _t(x)
        made = fill(x)
        return made if dtype is None else _ridge._cast(made, dtype)

    return like


def full(shape, fill_value, dtype=None, device=None):
    """A tensor of one value."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if isinstance(fill_value, Tensor):
        fill_value = fill_value.item()
    if dtype is None:
        dtype = _ridge.bool_ if isinstance(fill_value, builtins.bool) else _ridge.int64 if isinstance(fill_value, int) else _ridge.float32
    dtype = _dtype(dtype)
    if isinstance(fill_value, int) and "int" in dtype.name and abs(fill_value) > 2**53:
        bits = fill_value - 2**64 if fill_value >= 2**63 else fill_value
        x = _ridge._integer(bits, _ridge.int64, device)
        return _ridge._contiguous((_ridge._bitcast(x, dtype) if dtype.name == "uint64" else _ridge._cast(x, dtype)).expand(shape))
    return _ridge._full(shape, fill_value, dtype, device)


def full_like(x, fill_value, dtype=None, device=None):
    x = _t(x)
    return full(x.shape, fill_value, dtype or x.dtype, device or x.device)


def arange(start, stop=None, step=1, dtype=None, device=None):
    """start, start + step .. before stop."""
    start, stop = (0, start) if stop is None else (start, stop)
    if dtype is None:
        dtype = _ridge.int64 if all_int(start, stop, step) else _ridge.float32
    return _ridge._arange(start, stop, step, dtype, device)


def all_int(*v):
    return builtins.all(isinstance(x, int) or (hasattr(x, "__index__") and not isinstance(x, float)) for x in v)


def linspace(start, stop, num=50, endpoint=True, dtype=None, device=None):
    """Evenly spaced numbers, both ends included unless endpoint is False."""
    dtype = _dtype(dtype or _ridge.float32)
    if endpoint:
        return _ridge._linspace(start, stop, num, dtype, device)
    step = (stop - start) / num if num else 0
    return _ridge._cast(_ridge._arange(0, num, 1, _ridge.float64, device) * step + start, dtype)


def randint(low, high=None, size=(), dtype=None, device=None, shape=None):
    """Integers from low to high - 1, each as likely."""
    low, high = (0, low) if high is None else (low, high)
    return _ridge._randint(low, high, size if shape is None else shape, dtype or _ridge.int64, device)


def tri(n, m=None, k=0, dtype=None):
    return _ridge.tril(_ridge.ones((n, m or n), dtype or _ridge.float32), k)


# ---- reductions ----


def _moment(fn):
    def reduce(x, axis=None, ddof=None, keepdims=False, *, dim=None, correction=None, unbiased=None, keepdim=None):
        x = _t(x)
        axis = dim if axis is None else axis
        keepdims = keepdims if keepdim is None else keepdim
        less = ddof if ddof is not None else correction if correction is not None else 1 if unbiased is None or unbiased else 0
        axes = _axes(axis, x.ndim) if axis is not None else ()
        if less in (0, 1):
            return fn(x, axes, keepdims, less == 0)
        n = 1
        for a in axes or range(x.ndim):
            n *= x.shape[a]
        v = _ridge._var(x, axes, keepdims, True) * (n / (n - less) if n > less else float("inf"))
        return v.sqrt() if fn is _ridge._std else v

    reduce.__doc__ = "Divided by n - ddof: 1 unless you say otherwise, as PyTorch's (NumPy's default is 0)."
    return reduce


def norm(x, p=2, axis=None, keepdims=False, dim=None, ord=None, keepdim=None):
    """(sum |x|^p)^(1/p) over axes, or over all elements."""
    axis = dim if axis is None else axis
    p = ord if ord is not None else 2 if p in (None, "fro") else p
    return _ridge._norm(_t(x), p, _axes(axis, 0) if axis is not None else (), keepdims if keepdim is None else keepdim)


def topk(x, k, axis=-1, largest=True, dim=None, sorted=True):
    """Values and indices of the k greatest (largest=False: least), in order."""
    axis = axis if dim is None else dim
    return _ridge._topk(x, k, axis, not largest), _ridge._topk_index(x, k, axis, not largest)


def median(x, axis=None, keepdims=False):
    """The middle of the sorted values, the mean of two for an even count, as NumPy's."""
    x = _t(x)
    if axis is None:
        y, axis = x.reshape(-1), 0
        out = median(y, 0)
        return out.reshape((1,) * x.ndim) if keepdims else out
    n = x.shape[axis]
    s = x.sort(axis)
    m = (s.select(axis, (n - 1) // 2) + s.select(axis, n // 2)) / 2
    return m.unsqueeze(axis) if keepdims else m


def average(x, axis=None, weights=None):
    x = _t(x)
    if weights is None:
        return x.mean(axis)
    w = _t(weights)
    if axis is not None and w.ndim == 1:
        w = w.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return (x * w).sum(axis) / w.expand(x.shape).sum(axis)


def count_nonzero(x, axis=None, keepdims=False):
    return (_t(x) != 0).sum(axis, keepdims)


def nonzero(x):
    """Indices of the elements that are not 0, a vector for each axis; their number is read on the host."""
    x = _t(x)
    mask = x != 0
    n = int(mask.sum().item())
    where_ = _ridge._nonzero(mask, n)
    return tuple(where_[:, i] for i in range(x.ndim))


def masked_select(x, mask):
    """The elements where the mask is true; their number is read on the host."""
    mask = mask.expand(x.shape) if mask.shape != x.shape else mask
    return _ridge._masked_select(x, mask, int(mask.sum().item()))


def ptp(x, axis=None, keepdims=False):
    return x.max(axis, keepdims) - x.min(axis, keepdims)


def allclose(x, y, rtol=1e-5, atol=1e-8):
    return builtins.bool(_ridge.isclose(_t(x), _t(y), rtol, atol).all().item())


def array_equal(x, y):
    x, y = _t(x), _t(y)
    return x.shape == y.shape and builtins.bool((x == y).all().item())


equal = array_equal


def diff(x, n=1, axis=-1, prepend=None, append=None):
    x = _t(x)
    parts = [p for p in (prepend, x, append) if p is not None]
    if len(parts) > 1:
        parts = [p if p is x else _t(p).cast(x.dtype) for p in parts]
        x = _ridge.cat(parts, axis)
    for _ in range(n):
        a, m = axis % x.ndim, x.shape[axis]
        x = x.narrow(a, 1, m - 1) - x.narrow(a, 0, m - 1) if x.dtype.name != "bool" else x.narrow(a, 1, m - 1) ^ x.narrow(a, 0, m - 1)
    return x


def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = _t(y)
    a, n = axis % y.ndim, y.shape[axis]
    d = dx if x is None else diff(_t(x))
    return ((y.narrow(a, 1, n - 1) + y.narrow(a, 0, n - 1)) / 2 * d).sum(axis)


# ---- products ----


def einsum(formula, *xs):
    """Einstein summation: einsum("bij,bjk->bik", a, b)."""
    return _ridge._einsum(formula, list(xs[0]) if len(xs) == 1 and isinstance(xs[0], (list, tuple)) else list(xs))


def tensordot(x, y, axes=2):
    x, y = _t(x), _t(y)
    if isinstance(axes, int):
        axes = (list(range(x.ndim - axes, x.ndim)), list(range(axes)))
    a, b = [[v % t.ndim for v in _axes(ax, 0)] for ax, t in zip(axes, (x, y))]
    free_x, free_y = [i for i in range(x.ndim) if i not in a], [i for i in range(y.ndim) if i not in b]
    k = 1
    for i in a:
        k *= x.shape[i]
    left = x.permute(*(free_x + a)).reshape(-1 if k else _size(x, free_x), k)
    right = y.permute(*(b + free_y)).reshape(k, -1 if k else _size(y, free_y))
    return (left @ right).reshape([x.shape[i] for i in free_x] + [y.shape[i] for i in free_y])


def _size(x, axes):
    n = 1
    for a in axes:
        n *= x.shape[a]
    return n


def vecdot(x, y, axis=-1):
    return (_t(x) * _t(y)).sum(axis)


def inner(x, y):
    x, y = _t(x), _t(y)
    return x * y if not x.ndim or not y.ndim else tensordot(x, y, ([-1], [-1]))


def trace(x, offset=0):
    return _t(x).diagonal(offset, -2, -1).sum(-1) if _t(x).ndim > 1 else _t(x).sum()


def addmm(c, x, y, beta=1, alpha=1):
    return beta * c + alpha * (x @ y)


def cross(x, y, axis=-1, dim=None):
    x, y, axis = _t(x), _t(y), axis if dim is None else dim
    a, b = x.unbind(axis), y.unbind(axis)
    return _ridge.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]], axis)


# ---- elementwise ----


def clip(x, lo=None, hi=None, min=None, max=None, a_min=None, a_max=None):
    """Limited to lo .. hi; either may be None."""
    lo = next((v for v in (lo, min, a_min) if v is not None), None)
    hi = next((v for v in (hi, max, a_max) if v is not None), None)
    return _t(x) if lo is None and hi is None else _ridge.clamp(_t(x), lo, hi)


def where(cond, x=None, y=None):
    """x where cond is true, else y; with cond alone its nonzero()."""
    return nonzero(cond) if x is None else _ridge.where(cond, x, y)


def hypot(x, y):
    x, y = _t(x).abs(), _t(y).abs()
    big, small = _ridge.maximum(x, y), _ridge.minimum(x, y)
    r = small / _ridge.where(big == 0, 1.0, big)
    return _ridge.where(x.isinf() | y.isinf(), _math.inf, big * (r * r + 1).sqrt())  # an infinity beside a NaN too, as C's


def atan2(y, x):
    """The angle of (x, y)."""
    y, x = _t(y), _t(x)
    ratio = y / x
    base = _ridge.where(ratio == 0, ratio, ratio.atan())
    half = _ridge.copysign(_math.pi, y)
    base = _ridge.where(x < 0, base + half, base)
    neg = _ridge.copysign(1.0, x) < 0
    zero = _ridge.where(neg, half, _ridge.copysign(0.0, y))
    both = _ridge.where(neg, half * 0.75, half * 0.25)
    out = _ridge.where((x == 0) & (y != 0), half / 2, base)
    out = _ridge.where(y == 0, zero, out)
    out = _ridge.where(x.isinf() & y.isinf(), both, out)
    return _ridge.where(x.isnan() | y.isnan(), x + y, out)


def signbit(x):
    x = _t(x)
    if x.dtype.name not in _FLOATS:
        return x < 0
    return _ridge._bitcast(_ridge._contiguous(x), {2: _ridge.int16, 4: _ridge.int32, 8: _ridge.int64}[x.itemsize]) < 0


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    x = _t(x)
    from ._helpers import finfo

    if x.dtype.name not in _FLOATS:
        return x
    most = finfo(x.dtype).max
    x = _ridge.where(x.isnan(), nan, x)
    x = _ridge.where(x == float("inf"), most if posinf is None else posinf, x)
    return _ridge.where(x == float("-inf"), -most if neginf is None else neginf, x)


def deg2rad(x):
    return _t(x) * (_math.pi / 180)


def rad2deg(x):
    return _t(x) * (180 / _math.pi)


def divide(x, y, rounding_mode=None):
    if rounding_mode not in (None, "floor", "trunc"):
        _invalid('divide: rounding_mode is None, "floor" or "trunc"; found %r' % (rounding_mode,))
    if rounding_mode == "floor":
        return _ridge.floordiv(x, y)
    if rounding_mode == "trunc":
        q = _ridge.div(x, y)
        whole = _ridge.add(x, y).dtype.name not in _FLOATS
        return _ridge.floordiv(_ridge.sub(x, _ridge.fmod(x, y)), y) if whole else q.trunc()
    return _ridge.div(x, y)


def gelu(x, approximate="none"):
    return _ridge.gelu_tanh(x) if approximate == "tanh" else _ridge.gelu(x)


def softplus(x, beta=1.0):
    """log(1 + exp(beta x)) / beta."""
    return _ridge.softplus(x) if beta == 1 else _ridge.softplus(x * beta) / beta


def softmin(x, axis=-1, dim=None):
    return _ridge.softmax(-x, axis if dim is None else dim)


def diagonal(x, offset=0, axis1=0, axis2=1, *, dim1=None, dim2=None):
    """Elements (i, i + offset) of two axes, as the last axis."""
    return _ridge.diagonal(x, offset, axis1 if dim1 is None else dim1, axis2 if dim2 is None else dim2)


_COMBINE = {"amax": "max", "amin": "min", "add": "sum", "multiply": "prod"}


def scatter_reduce(x, dim, index, src, reduce="sum", include_self=True, axis=None):
    """x with the elements of src combined into it: sum, prod, mean, amax or amin, as PyTorch's."""
    how = _COMBINE.get(reduce, reduce)
    return _ridge.scatter_reduce(x, dim if axis is None else axis, index, src, how=how, exclude_self=not include_self)


def one_hot(x, num_classes=-1):
    return _ridge.one_hot(x, int(x.max().item()) + 1 if num_classes < 0 else num_classes)


def cov(x, ddof=1):
    x = atleast_2d(x)
    x = x - x.mean(1, keepdims=True)
    return x @ x.T / (x.shape[1] - ddof)


# ---- in place: x becomes the result ----


def fill_(x, v):
    return x.assign_(full_like(x, v))


def zero_(x):
    return fill_(x, 0)


def index_select(x, dim, index):
    return x.take(index, dim)


def _rows_of(x, dim, index):
    shape = [1] * x.ndim
    shape[dim] = index.shape[0]
    to = list(x.shape)
    to[dim] = index.shape[0]
    return index.reshape(shape).expand(to)


def index_add(x, dim, index, source, alpha=1):
    return x.scatter_add(dim, _rows_of(x, dim, index), source if alpha == 1 else source * alpha)


def new_zeros(x, *shape, dtype=None, device=None):
    return _ridge.zeros(*shape, dtype=dtype or x.dtype, device=device or x.device)


def new_ones(x, *shape, dtype=None, device=None):
    return _ridge.ones(*shape, dtype=dtype or x.dtype, device=device or x.device)


def new_full(x, shape, value, dtype=None, device=None):
    return full(shape, value, dtype or x.dtype, device or x.device)


def new_tensor(x, data, dtype=None, device=None):
    return tensor(data, dtype or x.dtype, device or x.device)


def type(x, dtype=None):
    """As another dtype; without one the name of its own."""
    return x.dtype.name if dtype is None else _ridge._cast(x, dtype)


def clamp_min(x, lo):
    return _ridge.clamp(x, lo)


def clamp_max(x, hi):
    return _ridge.clamp(x, None, hi)


def addcmul(x, a, b, value=1):
    return x + value * a * b


def addcdiv(x, a, b, value=1):
    return x + value * a / b


def baddbmm(c, x, y, beta=1, alpha=1):
    return beta * c + alpha * _ridge.matmul(x, y)


def var_mean(x, dim=None, correction=1, keepdim=False):
    return var(x, dim, correction=correction, keepdim=keepdim), x.mean(dim, keepdim=keepdim)


def cdist(x, y, p=2.0):
    """Distances of the rows of x and y, by the p-norm."""
    d = x.unsqueeze(-2) - y.unsqueeze(-3)
    return (d * d).sum(-1).sqrt() if p == 2 else norm(d, p, -1)


def _inplace(name):
    fn = getattr(_ridge, name)

    def method(x, *args, **kw):
        return x.assign_(fn(x, *args, **kw))

    method.__doc__ = "x becomes x.%s(..)." % name
    return method


_CASTS = dict(float="float32", double="float64", half="float16", bfloat16="bfloat16", int="int32", long="int64", short="int16",
              bool="bool_", byte="uint8", char="int8")
_INPLACE = """add sub mul div clamp relu exp sqrt neg abs masked_fill scatter scatter_add lerp pow square rsqrt recip log log2 log10 log1p
exp2 expm1 sin cos tan asin acos atan sinh cosh tanh sigmoid erf floor ceil round trunc sign fmod mod floordiv maximum minimum logical_not
logical_and logical_or logical_xor tril triu cumsum cumprod""".split()

FUNCTIONS = """astype transpose swapaxes moveaxis expand_dims flip broadcast_to broadcast_shapes broadcast_arrays tile chunk unbind
meshgrid pad atleast_1d atleast_2d hstack vstack unstack concat rot90 full full_like arange linspace randint tri norm topk median average
count_nonzero nonzero masked_select ptp allclose array_equal diff trapezoid einsum tensordot vecdot inner trace addmm cross clip where
hypot atan2 signbit nan_to_num deg2rad rad2deg divide one_hot cov equal clone numel softplus softmin diagonal scatter_reduce
index_select index_add addcmul addcdiv baddbmm var_mean cdist""".split()
METHODS = """window astype to numpy __array__ tolist clone cpu cuda dim numel element_size data_ptr __format__ __contains__ __deepcopy__
__complex__ type_as view transpose swapaxes moveaxis expand_dims flip broadcast_to expand_as reshape_as view_as tile repeat split chunk
unbind norm topk median count_nonzero nonzero masked_select ptp allclose diff trace clip where hypot atan2 nan_to_num fill_ zero_ divide
tensordot inner vecdot signbit equal gelu softplus softmin diagonal scatter_reduce index_select index_add new_zeros new_ones new_full new_tensor type
clamp_min clamp_max addcmul addcdiv baddbmm cdist""".split()

var, std = _moment(_ridge._var), _moment(_ridge._std)
zeros_like, ones_like = _like(_ridge._zeros_like), _like(_ridge._ones_like)
rand_like, randn_like = _like(_ridge._rand_like), _like(_ridge._randn_like)
FUNCTIONS += ["var", "std", "zeros_like", "ones_like", "rand_like", "randn_like"]
METHODS += ["var", "std"]


def _where_method(x, cond, y):
    return _ridge.where(cond, x, y)


def _install():
    for name in METHODS:
        setattr(Tensor, name, globals()[name])
    for name, d in _CASTS.items():
        setattr(Tensor, name, _caster(d))
    for name in _INPLACE:
        setattr(Tensor, name + "_", _inplace(name))
    Tensor.where = _where_method
    Tensor.__array_ufunc__ = None  # NumPy's operators leave mixed operands to ours
    Tensor.__array_priority__ = 1000
    Tensor.cast = Tensor.astype
    Tensor.contiguous = lambda x: x
    Tensor.__module__ = "ridge"


_install()
