"""Shapes, parts and indices: NumPy's and PyTorch's functions around reshape, cat and scatter."""
import builtins
import itertools

from . import _methods, _ridge
from ._methods import _t
from ._ridge import Tensor, tensor

__all__ = """movedim swapdims rollaxis adjoint diag_embed diagflat tensor_split array_split hsplit vsplit dsplit dstack column_stack row_stack
block_diag kron cartesian_prod combinations tril_indices triu_indices diag_indices indices fliplr flipud select_scatter slice_scatter
diagonal_scatter index_copy index_fill index_put masked_scatter put unravel_index ravel_multi_index insert delete append atleast_3d
broadcast_tensors identity vander resize fill_diagonal_ index_put_ index_copy_ index_fill_ masked_scatter_ sum_to_size split_with_sizes
randint_like scalar_tensor is_tensor is_floating_point is_complex is_nonzero channel_shuffle renorm extract compress constant_pad_nd""".split()

movedim, swapdims = _methods.moveaxis, _methods.swapaxes


def rollaxis(x, axis, start=0):
    """numpy.rollaxis: the axis goes before the one at `start`."""
    axis, start = axis % x.ndim, start + x.ndim if start < 0 else start
    return _methods.moveaxis(x, axis, start - 1 if axis < start else start)


def adjoint(x):
    return _t(x).mT


# ---- diagonals ----


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    """The last axis as the diagonal of two new ones, 0 elsewhere."""
    x = _t(x)
    n, rank = x.shape[-1] + abs(offset), x.ndim + 1
    row = _methods.arange(n).reshape(n, 1)
    hit = row + offset == row.T
    at = _ridge.clamp(row.reshape(n) + builtins.min(offset, 0), 0, builtins.max(x.shape[-1] - 1, 0))
    y = _ridge.where(hit, x.take(at, -1).unsqueeze(-1), 0) if x.shape[-1] else _ridge.zeros(x.shape[:-1] + (n, n), dtype=x.dtype)
    if dim1 % rank > dim2 % rank:
        y, dim1, dim2 = y.mT, dim2, dim1
    return _methods.moveaxis(y, (-2, -1), (dim1, dim2))


def diagflat(x, offset=0):
    return diag_embed(_t(x).reshape(-1), offset)


def _diagonal_mask(x, offset, dim1, dim2):
    """Of x with the two axes last: the mask of the diagonal."""
    row, column = (_methods.arange(x.shape[d]) for d in (dim1, dim2))
    return row.unsqueeze(1) + offset == column


def diagonal_scatter(x, src, offset=0, dim1=0, dim2=1):
    """x with its diagonal replaced."""
    y, mask = _methods.moveaxis(x, (dim1, dim2), (-2, -1)), _diagonal_mask(x, offset, dim1, dim2)
    at = _ridge.clamp(_methods.arange(y.shape[-2]) + builtins.min(offset, 0), 0, builtins.max(src.shape[-1] - 1, 0))
    y = _ridge.where(mask, _t(src).astype(x.dtype).take(at, -1).unsqueeze(-1), y) if src.shape[-1] else y
    return _methods.moveaxis(y, (-2, -1), (dim1, dim2))


def fill_diagonal_(x, v):
    return x.assign_(_ridge.where(_diagonal_mask(x, 0, 0, 1), v, x).astype(x.dtype))


# ---- parts ----


def tensor_split(x, indices_or_sections, axis=0, dim=None):
    """Parts between indices, or as many whose sizes differ by one at most."""
    x, s, axis = _t(x), indices_or_sections, axis if dim is None else dim
    n = x.shape[axis]
    if isinstance(s, int):
        sizes = [n // s + (i < n % s) for i in range(s)]
    else:
        s = s.tolist() if hasattr(s, "tolist") else s
        at = [0] + [builtins.min(builtins.max(i if i >= 0 else i + n, 0), n) for i in s] + [n]
        return tuple(x.narrow(axis % x.ndim, a, builtins.max(b - a, 0)) for a, b in zip(at, at[1:]))
    return tuple(_ridge._split(x, sizes, axis))


array_split = tensor_split


def hsplit(x, indices_or_sections):
    return tensor_split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x, indices_or_sections):
    return tensor_split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    return tensor_split(x, indices_or_sections, 2)


def split_with_sizes(x, sizes, axis=0, dim=None):
    return _methods.split(x, list(sizes), axis, dim)


def atleast_3d(x):
    """NumPy's: (1, N, 1) of a vector, (M, N, 1) of a matrix."""
    x = _t(x)
    return x.reshape(1, -1, 1) if x.ndim < 2 else x.unsqueeze(2) if x.ndim == 2 else x


def dstack(xs):
    return _ridge.cat([atleast_3d(x) for x in xs], 2)


def column_stack(xs):
    return _ridge.cat([x if x.ndim > 1 else x.reshape(-1, 1) for x in map(_t, xs)], 1)


row_stack = _methods.vstack


def block_diag(*xs):
    """The matrices along a diagonal, 0 elsewhere."""
    xs = [_methods.atleast_2d(x) for x in xs]
    left, width, rows = 0, builtins.sum(x.shape[1] for x in xs), []
    for x in xs:
        rows.append(_methods.pad(x, [(0, 0), (left, width - left - x.shape[1])]))
        left += x.shape[1]
    return _ridge.cat(rows, 0)


def insert(x, at, values, axis=None):
    """values before index (or before each of indices) `at`."""
    x = _t(x).reshape(-1) if axis is None else _t(x)
    axis = (0 if axis is None else axis) % x.ndim
    n, several = x.shape[axis], not isinstance(at, int)
    where = [i + n if i < 0 else i for i in (_t(at).tolist() if several else [at])]
    v = _t(values).astype(x.dtype)
    room = list(x.shape)
    room[axis] = len(where) if several and len(where) > 1 else v.shape[axis] if v.ndim == x.ndim else 1
    if not several and v.ndim and v.ndim == x.ndim - 1:
        v = v.unsqueeze(axis)
    v = v.expand(tuple(room))
    if len(where) == 1:
        return _ridge.cat([x.narrow(axis, 0, where[0]), v, x.narrow(axis, where[0], n - where[0])], axis)
    order = sorted(range(len(where)), key=where.__getitem__)
    parts, last = [], 0
    for i in order:
        parts += [x.narrow(axis, last, where[i] - last), v.narrow(axis, i, 1)]
        last = where[i]
    return _ridge.cat(parts + [x.narrow(axis, last, n - last)], axis)


def delete(x, at, axis=None):
    """Without the elements (slices along an axis) of these indices."""
    x = _t(x).reshape(-1) if axis is None else _t(x)
    axis = 0 if axis is None else axis
    n = x.shape[axis]
    gone = set(range(n)[at] if isinstance(at, slice) else [i % n for i in ([at] if isinstance(at, int) else _t(at).tolist())])
    return x.take(tensor([i for i in range(n) if i not in gone], _ridge.int64), axis)


def append(x, values, axis=None):
    return _methods.concat([x, values], axis)


def resize(x, shape):
    """The elements again and again until the shape is full, as numpy.resize."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    n = 1
    for d in shape:
        n *= d
    return _t(x).reshape(-1).take(_methods.arange(n) % x.size, 0).reshape(shape) if x.size else _ridge.zeros(shape, dtype=x.dtype)


# ---- products of sets ----


def kron(x, y):
    """Kronecker product."""
    x, y = _t(x), _t(y)
    n = builtins.max(x.ndim, y.ndim)
    a, b = ((1,) * (n - v.ndim) + v.shape for v in (x, y))
    x, y = x.reshape([d for s in a for d in (s, 1)]), y.reshape([d for s in b for d in (1, s)])
    return (x * y).reshape([p * q for p, q in zip(a, b)])


def cartesian_prod(*xs):
    """All combinations of elements of vectors, a row each."""
    if len(xs) == 1:
        return _t(xs[0])
    return _ridge.stack([g.reshape(-1) for g in _methods.meshgrid(*xs, indexing="ij")], 1)


def combinations(x, r=2, with_replacement=False):
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(pick(range(x.shape[0]), r))
    return x.take(tensor(rows, _ridge.int64).reshape(-1, r), 0) if rows else _ridge.zeros((0, r), dtype=x.dtype)


def vander(x, n=None, increasing=False):
    """Powers of a vector as columns, the highest first."""
    x = _t(x)
    n = x.shape[0] if n is None else n
    ones = _methods.ones_like(x).unsqueeze(1)
    p = _ridge.cat([ones, _ridge.cumprod(x.unsqueeze(1).expand(x.shape[0], n - 1), 1)], 1) if n > 1 else ones.narrow(1, 0, n)
    return p if increasing else _methods.flip(p, 1)


# ---- indices ----


def tril_indices(row, col=None, offset=0, k=None):
    """Rows and columns of the lower triangle, as a (2, n) tensor."""
    k, col = offset if k is None else k, row if col is None else col
    both = [(i, j) for i in range(row) for j in range(builtins.max(0, builtins.min(col, i + k + 1)))]
    return tensor(both, _ridge.int64).reshape(-1, 2).T


def triu_indices(row, col=None, offset=0, k=None):
    """Rows and columns of the upper triangle, as a (2, n) tensor."""
    k, col = offset if k is None else k, row if col is None else col
    both = [(i, j) for i in range(row) for j in range(builtins.max(0, i + k), col)]
    return tensor(both, _ridge.int64).reshape(-1, 2).T


def diag_indices(n, ndim=2):
    return (_methods.arange(n),) * ndim


def indices(dimensions, dtype=None):
    """The coordinates of each element of a grid, as numpy.indices."""
    grid = _methods.meshgrid(*[_methods.arange(n) for n in dimensions], indexing="ij")
    return _ridge.stack(grid, 0).astype(dtype or _ridge.int64)


def unravel_index(flat, shape):
    """Coordinates, a tensor for each axis, of flat indices."""
    flat, out = _t(flat), []
    for d in reversed(tuple(shape)):
        out.append(flat % d)
        flat = flat // d
    return tuple(reversed(out))


def ravel_multi_index(index, shape):
    """Flat indices of coordinates."""
    total = _t(index[0])
    for i, d in zip(index[1:], tuple(shape)[1:]):
        total = total * d + _t(i)
    return total


def fliplr(x):
    return _methods.flip(x, 1)


def flipud(x):
    return _methods.flip(x, 0)


# ---- x with a part replaced ----


def _whole(k, n):
    k = _t(k).astype(_ridge.int64)
    return _ridge.where(k < 0, k + n, k)


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    """x with x[start:end:step] along an axis replaced."""
    some = range(x.shape[dim])[start:end:step]
    return x.scatter(dim, _methods._rows_of(x, dim % x.ndim, tensor(list(some), _ridge.int64)), _t(src).astype(x.dtype))


def select_scatter(x, src, dim, index):
    """x with the slice at an index replaced."""
    return index_copy(x, dim, tensor([index]), src.unsqueeze(dim))


def index_copy(x, dim, index, src):
    """x with slices along an axis replaced."""
    return x.scatter(dim, _methods._rows_of(x, dim % x.ndim, _whole(index, x.shape[dim]).reshape(-1)), _t(src).astype(x.dtype))


def index_fill(x, dim, index, value):
    rows = _methods._rows_of(x, dim % x.ndim, _whole(index, x.shape[dim]).reshape(-1))
    return x.scatter(dim, rows, _t(value).astype(x.dtype).expand(rows.shape))


def index_put(x, index, values, accumulate=False):
    """x[index] = values, or with accumulate += of every one of equal indices; of a copy."""
    numbers = _methods.arange(x.size).reshape(x.shape)[tuple(index)]
    v = _t(values).astype(x.dtype).expand(numbers.shape).reshape(-1)
    flat = x.reshape(-1)
    return (flat.scatter_add if accumulate else flat.scatter)(0, numbers.reshape(-1), v).reshape(x.shape)


def put(x, index, source, accumulate=False):
    """index_put of flat x."""
    return index_put(x.reshape(-1), (_whole(index, x.size),), source, accumulate).reshape(x.shape)


def masked_scatter(x, mask, source):
    """x with the elements of source, in order, where the mask is true."""
    mask = mask.expand(x.shape)
    order = _ridge.cumsum(mask.reshape(-1).astype(_ridge.int64), 0) - 1
    picked = _t(source).reshape(-1).take(_ridge.clamp(order, 0, builtins.max(source.size - 1, 0)), 0) if source.size else x.reshape(-1)
    return _ridge.where(mask, picked.reshape(x.shape), x).astype(x.dtype)


def _in_place(fn):
    def method(x, *args, **kw):
        return x.assign_(fn(x, *args, **kw))

    method.__doc__ = "x becomes x.%s(..)." % fn.__name__
    return method


index_put_, index_copy_, index_fill_, masked_scatter_ = map(_in_place, (index_put, index_copy, index_fill, masked_scatter))


def compress(condition, x, axis=None):
    """Slices where the vector of bools is true, as numpy.compress."""
    x = _t(x).reshape(-1) if axis is None else _t(x)
    return x.take(_methods.nonzero(_t(condition))[0], 0 if axis is None else axis)


def extract(condition, x):
    return _methods.masked_select(_t(x), _t(condition).astype(_ridge.bool_))


# ---- others ----


def sum_to_size(x, *size):
    """The sum over what was broadcast from this size."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    lead = x.ndim - len(size)
    axes = list(range(lead)) + [lead + i for i, d in enumerate(size) if d == 1 and x.shape[lead + i] != 1]
    return (x.sum(axes) if axes else x).reshape(size)


def broadcast_tensors(*xs):
    return tuple(_methods.broadcast_arrays(*xs))


def identity(n, dtype=None):
    return _ridge.eye(n, dtype=dtype or _ridge.float32)


def randint_like(x, low, high=None, dtype=None):
    return _methods.randint(low, high, x.shape, dtype or x.dtype)


def scalar_tensor(v, dtype=None, device=None):
    return tensor(v, dtype, device)


def is_tensor(x):
    return isinstance(x, Tensor)


def is_floating_point(x):
    return "float" in x.dtype.name


def is_complex(x):
    return not isinstance(x, Tensor) and "complex" in str(getattr(x, "dtype", ""))


def is_nonzero(x):
    return builtins.bool(x.item())


def channel_shuffle(x, groups):
    """Channels of (N, C, ..) dealt from groups in turn."""
    n, c = x.shape[:2]
    return x.reshape((n, groups, c // groups) + x.shape[2:]).transpose(1, 2).reshape(x.shape)


def renorm(x, p, dim, maxnorm):
    """Slices along an axis scaled down to a p-norm of maxnorm at most."""
    axes = [i for i in range(x.ndim) if i != dim % x.ndim]
    n = _methods.norm(x, p, axes, True)
    return x * _ridge.where(n > maxnorm, maxnorm / (n + 1e-7), 1.0)


def constant_pad_nd(x, pad, value=0):
    from .nn import functional

    return functional.pad(x, pad, "constant", value)
