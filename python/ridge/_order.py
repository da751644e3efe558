"""What is sorted, counted and searched: NumPy's and PyTorch's functions around sort, scatter and gather."""
import builtins

from . import _methods, _ridge
from ._methods import _t

__all__ = """quantile nanquantile percentile nanpercentile nanmedian kthvalue msort mode bincount histc histogram searchsorted bucketize
digitize unique unique_consecutive isin argwhere flatnonzero take_along_axis take_along_dim put_along_axis aminmax lexsort""".split()

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _last(x, axis):
    """x with the axis (None: all of them as one) at its end."""
    return x.reshape(-1) if axis is None else _methods.moveaxis(x, axis, -1)


def _back(y, x, axis, keepdims, lead):
    """A reduction of _last(x), after `lead` new axes: with the axis as one of size 1 if it is kept."""
    if not keepdims:
        return y
    if axis is None:
        return y.reshape(y.shape[:lead] + (1,) * x.ndim)
    return y.unsqueeze(lead + axis % x.ndim)


def _float(x):
    x = _t(x)
    return x if "float" in x.dtype.name else x.astype(_ridge.float32)


def _between(s, at, count, method):
    """Elements of sorted rows s at fractions `at` (.., q) of the way from the first to the last of count."""
    if method not in _METHODS:
        _methods._invalid("quantile: interpolation is one of %s; found %r" % (", ".join(_METHODS), method))
    at = at * (count - 1)
    low = at.round() if method == "nearest" else at.ceil() if method == "higher" else at.floor()
    low = _ridge.clamp(low, 0)
    a = _ridge.gather(s, -1, low.astype(_ridge.int64))
    if method in ("nearest", "lower", "higher"):
        return a
    b = _ridge.gather(s, -1, _ridge.minimum(low + 1, _ridge.clamp(count - 1, 0)).expand(low.shape).astype(_ridge.int64))
    share = (at - low).astype(s.dtype) if method == "linear" else _ridge.where(at == low, 0.0, 0.5)
    return _ridge.where(share == 0, a, a + (b - a) * share)


def _quantile(x, q, axis, keepdims, method, skip):
    x, q = _float(x), _t(q).astype(_ridge.float64)
    rows = _last(x, axis)
    if not rows.shape[-1]:
        _methods._invalid("quantile: the axis has no elements")
    s, bad = rows.sort(-1), rows.isnan()
    if skip:
        count = (~bad).sum(-1, True).astype(_ridge.float64)
    else:
        count = _methods.full((1,) * rows.ndim, float(rows.shape[-1]), _ridge.float64)
    at = q.reshape((1,) * (rows.ndim - 1) + (-1,)).expand(rows.shape[:-1] + (q.size,))
    y = _between(s, at, count, method)
    y = _ridge.where((count == 0) if skip else bad.any(-1, True), float("nan"), y).astype(x.dtype)
    y = _methods.moveaxis(y, -1, 0)
    y = y if q.ndim else y.squeeze(0)
    return _back(y, x, axis, keepdims, q.ndim)


def quantile(x, q, axis=None, keepdims=False, method="linear", *, dim=None, keepdim=None, interpolation=None):
    """The values that fractions q of the elements do not exceed; a vector q leads the result's axes. NaN where a row has one."""
    return _quantile(x, q, dim if axis is None else axis, keepdims if keepdim is None else keepdim, interpolation or method, False)


def nanquantile(x, q, axis=None, keepdims=False, method="linear", *, dim=None, keepdim=None, interpolation=None):
    """quantile of the elements that are numbers."""
    return _quantile(x, q, dim if axis is None else axis, keepdims if keepdim is None else keepdim, interpolation or method, True)


def percentile(x, q, axis=None, keepdims=False, method="linear"):
    return quantile(x, _t(q) / 100.0, axis, keepdims, method)


def nanpercentile(x, q, axis=None, keepdims=False, method="linear"):
    return nanquantile(x, _t(q) / 100.0, axis, keepdims, method)


def nanmedian(x, axis=None, keepdims=False):
    """The middle of what is a number, the mean of two for an even count, as NumPy's."""
    return nanquantile(x, 0.5, axis, keepdims, "midpoint")


def kthvalue(x, k, axis=-1, keepdims=False, *, dim=None, keepdim=None):
    """The k-th least value (from 1 on) and its index."""
    axis, keepdims = axis if dim is None else dim, keepdims if keepdim is None else keepdim
    n = x.shape[axis]
    if not 1 <= k <= n:
        _methods._invalid("kthvalue: k is 1 to %d; found %d" % (n, k))
    index = x.argsort(axis).narrow(axis % x.ndim, k - 1, 1)
    pair = _ridge.gather(x, axis, index), index
    return pair if keepdims else tuple(v.squeeze(axis) for v in pair)


def msort(x):
    return _t(x).sort(0)


def mode(x, axis=-1, keepdims=False, *, dim=None, keepdim=None):
    """The most frequent value, the least of several, and the index of one of its elements."""
    axis, keepdims = axis if dim is None else dim, keepdims if keepdim is None else keepdim
    rows = _last(_t(x), axis)
    order, n = rows.argsort(-1), rows.shape[-1]
    s = _ridge.gather(rows, -1, order)
    here = _methods.arange(n).expand(s.shape)
    fresh = _ridge.cat([_methods.ones_like(s.narrow(-1, 0, 1)).cast(_ridge.bool_), s.narrow(s.ndim - 1, 1, n - 1) != s.narrow(s.ndim - 1, 0, n - 1)], -1)
    begin = _ridge.cummax(_ridge.where(fresh, here, 0), -1)
    end = (here - begin).argmax(-1, True)  # the first of the longest runs ends there
    index = _ridge.gather(order, -1, end)
    pair = _ridge.gather(rows, -1, index), index
    return tuple(_methods.moveaxis(v, -1, axis) if keepdims else v.squeeze(-1) for v in pair)


def aminmax(x, axis=None, keepdims=False, *, dim=None, keepdim=None):
    """The least and the greatest."""
    axis, keepdims = axis if dim is None else dim, keepdims if keepdim is None else keepdim
    x = _t(x)
    return (x.min(keepdims=keepdims), x.max(keepdims=keepdims)) if axis is None else (x.min(axis, keepdims), x.max(axis, keepdims))


# ---- counts ----


def bincount(x, weights=None, minlength=0):
    """How often each number from 0 on occurs, or the sum of its weights; the greatest number is read on the host."""
    x = _t(x)
    size = builtins.max(int(x.max().item()) + 1 if x.size else 0, minlength)
    if x.size and int(x.min().item()) < 0:
        _methods._invalid("bincount: numbers from 0 on; found %d" % int(x.min().item()))
    w = _methods.full((x.size,), 1, _ridge.int64) if weights is None else _t(weights).reshape(-1)
    return _ridge.zeros(size, dtype=w.dtype).scatter_add(0, x.reshape(-1).astype(_ridge.int64), w)


def _counted(x, edges, weights):
    """Sums of weights between neighbouring edges; the last interval is closed."""
    n = edges.shape[0] - 1
    at = searchsorted(edges, x, "right") - 1
    at = _ridge.where(x == edges[-1], n - 1, at)
    inside = (x >= edges[0]) & (x <= edges[-1])
    w = _ridge.where(inside, _methods.full((1,), 1, _ridge.int64) if weights is None else _t(weights).reshape(-1), 0)
    return _ridge.zeros(n, dtype=w.dtype).scatter_add(0, _ridge.clamp(at, 0, n - 1), w)


def histogram(x, bins=10, range=None, weights=None, density=False):
    """Counts (or sums of weights) between edges, and the edges: numpy.histogram."""
    x = _t(x).reshape(-1)
    if isinstance(bins, int):
        lo, hi = range if range is not None else (x.min().item(), x.max().item()) if x.size else (0, 1)
        lo, hi = (lo - 0.5, hi + 0.5) if lo == hi else (lo, hi)
        edges = _methods.linspace(lo, hi, bins + 1, dtype=x.dtype if "float" in x.dtype.name else _ridge.float32)
    else:
        edges = _t(bins)
    x = x.astype(edges.dtype) if "float" in edges.dtype.name else x
    counts = _counted(x, edges, weights)
    return (counts / (counts.sum() * _methods.diff(edges)) if density else counts), edges


def histc(x, bins=100, min=0, max=0):
    """Counts of equal intervals from min to max (both 0: of the values), as torch.histc."""
    x = _t(x)
    return histogram(x, bins, None if min == max == 0 else (min, max))[0].astype(x.dtype)


# ---- where things are ----


def searchsorted(sorted_sequence, values, side="left", sorter=None, *, right=False):
    """Where values go so that the last axis stays sorted: before equal ones, side="right" after. Rows of both fit, or there is one row."""
    s, v = _t(sorted_sequence), _t(values)
    if side not in ("left", "right", None):
        _methods._invalid('searchsorted: side is "left" or "right"; found %r' % (side,))
    s = s if sorter is None else _ridge.gather(s, -1, _t(sorter).astype(_ridge.int64))
    n, shape = s.shape[-1], v.shape
    v = v if s.ndim > 1 and v.ndim else v.reshape(1, -1) if s.ndim > 1 else v.reshape(-1)
    at, step = _methods.zeros_like(v, dtype=_ridge.int64), 1 << n.bit_length() >> 1
    while step and n:  # `at` elements are known to come before
        probe = _ridge.gather(s, -1, _ridge.clamp(at + (step - 1), None, n - 1))
        at = _ridge.where(_before(probe, v, right or side == "right") & (at + step <= n), at + step, at)
        step >>= 1
    return at.reshape(shape)


def _before(a, v, right):
    """a comes before v in sorted order, NaN last."""
    less = (a <= v) if right else (a < v)
    if "float" not in a.dtype.name or "float" not in v.dtype.name:
        return less
    return less | (v.isnan() if right else v.isnan() & ~a.isnan())


def bucketize(x, boundaries, right=False):
    """The interval of each element: searchsorted with the arguments in the other order."""
    return searchsorted(boundaries, x, "right" if right else "left")


def digitize(x, bins, right=False):
    """numpy.digitize: bins[i - 1] <= x < bins[i], with right bins[i - 1] < x <= bins[i]."""
    b = _t(bins)
    if b.shape[0] > 1 and builtins.bool((b[0] > b[-1]).item()):
        return b.shape[0] - searchsorted(b.flip(0), x, "right" if right else "left")
    return searchsorted(b, x, "left" if right else "right")


def isin(x, test, invert=False):
    """Whether each element is one of `test`."""
    x, test = _t(x), _t(test).reshape(-1)
    if not test.shape[0]:
        return _methods.full(x.shape, builtins.bool(invert))
    s = test.sort(0)
    found = s.take(_ridge.clamp(searchsorted(s, x), None, s.shape[0] - 1), 0) == x
    return ~found if invert else found


def argwhere(x):
    """Indices of the elements that are not 0, a row for each; their number is read on the host."""
    x = _t(x)
    mask = x != 0
    return _ridge._nonzero(mask, int(mask.sum().item()))


def flatnonzero(x):
    return argwhere(_t(x).reshape(-1)).reshape(-1)


def _along(x, indices, axis):
    """x and indices from 0 on, both expanded to each other's shape but for the axis."""
    shape = [list(v.shape[:axis] + (1,) + v.shape[axis + 1:]) for v in (x, indices)]
    both = list(_methods.broadcast_shapes(*map(tuple, shape)))
    xs, ks = list(both), list(both)
    xs[axis], ks[axis] = x.shape[axis], indices.shape[axis]
    k = indices.astype(_ridge.int64)
    return x.expand(tuple(xs)), _ridge.where(k < 0, k + x.shape[axis], k).expand(tuple(ks))


def take_along_axis(x, indices, axis=-1):
    """x at indices along the axis, the others broadcast; axis=None: of flat x."""
    x, indices = _t(x), _t(indices)
    if axis is None:
        return take_along_axis(x.reshape(-1), indices.reshape(-1), 0)
    axis %= x.ndim
    x, k = _along(x, indices, axis)
    return _ridge.gather(x, axis, k)


def take_along_dim(x, indices, dim=None):
    """take_along_axis; without dim of flat x."""
    return take_along_axis(x, indices, dim)


def put_along_axis(x, indices, values, axis):
    """x becomes x with values at indices along the axis."""
    axis %= x.ndim
    _, k = _along(x, _t(indices), axis)
    return x.assign_(x.scatter(axis, k, _t(values).astype(x.dtype).expand(k.shape)))


# ---- sets ----


def lexsort(keys):
    """The order by the last key, equal ones by the one before it .."""
    keys = [_t(k) for k in keys]
    order = keys[0].argsort(-1)
    for k in keys[1:]:
        order = _ridge.gather(order, -1, _ridge.gather(k, -1, order).argsort(-1))
    return order


def _runs(first, order, shape):
    """Of sorted elements, from where they differ from the one before: positions of the first of each run, group of each, counts."""
    n = first.shape[0]
    at = argwhere(first).reshape(-1)
    counts = _ridge.cat([at[1:], _methods.full((1,), n, _ridge.int64)], 0) - at
    group = _ridge.cumsum(first.astype(_ridge.int64), 0) - 1
    if order is not None:
        group = _ridge.zeros(n, dtype=_ridge.int64).scatter(0, order, group)
    return at, group.reshape(shape), counts


def _unique(x, axis, in_order):
    """Values, indices of their first elements, groups and counts; by rows along an axis."""
    rows = x.reshape(-1) if axis is None else _methods.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)
    n, shape = rows.shape[0], x.shape if axis is None else (x.shape[axis],)
    if not n:
        none = _ridge.zeros(0, dtype=_ridge.int64)
        return rows if axis is None else x, none, none.reshape(shape), none
    order = None
    if not in_order:
        order = rows.argsort(0) if axis is None else lexsort([rows[:, i] for i in range(rows.shape[1] - 1, -1, -1)]) if rows.shape[1] else None
    s = rows if order is None else rows.take(order, 0)
    differs = s[1:] != s[:-1]
    first = _ridge.cat([_methods.full((1,), True), differs if axis is None else differs.any(1)], 0)
    at, group, counts = _runs(first, order, shape)
    values = s.take(at, 0)
    if axis is not None:
        values = _methods.moveaxis(_methods.moveaxis(x, axis, 0).take(at if order is None else order.take(at, 0), 0), 0, axis)
    return values, at if order is None else order.take(at, 0), group, counts


def _chosen(result, *wanted):
    some = [result[0]] + [r for r, w in zip(result[1:], wanted) if w]
    return some[0] if len(some) == 1 else tuple(some)


def unique(x, return_index=False, return_inverse=False, return_counts=False, axis=None, *, dim=None, sorted=True):
    """The different elements (or slices along an axis), sorted; their number is read on the host. Then what is asked for: the first
    index of each, the group of each element, how many a group has."""
    return _chosen(_unique(_t(x), axis if dim is None else dim, False), return_index, return_inverse, return_counts)


def unique_consecutive(x, return_inverse=False, return_counts=False, dim=None):
    """Of equal neighbours one."""
    return _chosen(_unique(_t(x), dim, True), False, return_inverse, return_counts)
