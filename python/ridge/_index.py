"""Indexing with arrays of integers and masks, as NumPy does it. What has neither is done in C (python/src/index.c)."""
from . import _ridge
from ._ridge import Tensor, tensor


def _is_array(k):
    return isinstance(k, (Tensor, list, tuple)) or hasattr(k, "__array__") or (hasattr(k, "__dlpack__")) or isinstance(k, (bool, range))


def _parts(x, key):
    """The key with one entry for each axis and None: slices, integers, index tensors. Masks become their indices."""
    key = list(key) if isinstance(key, tuple) else [key]
    out, used = [], 0
    for k in key:
        if isinstance(k, bool):
            k = tensor([0] if k else [], _ridge.int64)
            x = x.reshape(x.shape[:used] + (1,) + x.shape[used:])
            out.append(k)
            used += 1
            continue
        if k is Ellipsis or k is None or isinstance(k, slice):
            out.append(k)
            used += isinstance(k, slice)
            continue
        if not _is_array(k):
            out.append(k)
            used += 1
            continue
        k = k if isinstance(k, Tensor) else tensor(k)
        if k.dtype.name == "bool" and k.ndim == 0:
            x = x.reshape(x.shape[:used] + (1,) + x.shape[used:])
            out.append(tensor([0] if k.item() else [], _ridge.int64))
            used += 1
            continue
        if k.size == 0 and k.dtype.name == "float32":
            k = k.cast(_ridge.int64)
        if k.dtype.name == "bool":
            at = len([p for p in out if p is not None and p is not Ellipsis]) if Ellipsis not in out else x.ndim - k.ndim
            if len(x.shape[at:at + k.ndim]) != k.ndim or any(n not in (0, m) for n, m in zip(k.shape, x.shape[at:])):
                raise IndexError("a mask of shape %s does not fit axes %d.. of a tensor of shape %s" % (k.shape, at, x.shape))
            count = int(k.sum().item())  # its size is data: read on the host
            where = _ridge._nonzero(k, count)
            out += [where[:, i] for i in range(k.ndim)]
            used += k.ndim
            continue
        if "int" not in k.dtype.name:
            raise IndexError("tensors that index have integers or bools; found %s" % k.dtype.name)
        out.append(k)
        used += 1
    if used > x.ndim:
        raise IndexError("too many indices: the tensor has %d axes" % x.ndim)
    rest = [slice(None)] * (x.ndim - used)
    i = next((i for i, k in enumerate(out) if k is Ellipsis), len(out))
    return x, out[:i] + rest + out[i + 1:]


def _wrapped(k, n, axis):
    k = k if k.dtype.name == "int64" else k.cast(_ridge.int64)
    return _ridge.where(k < 0, k + n, k)


def _plan(x, key):
    """x after the basic part of the key, index tensors by axis, and where their axes go."""
    x, parts = _parts(x, key)
    arrays = [i for i, k in enumerate(parts) if isinstance(k, Tensor)]
    ints = [i for i, k in enumerate(parts) if not isinstance(k, (Tensor, slice)) and k is not None]
    # Integers beside arrays are arrays of one element; they count when it is asked whether arrays are neighbours.
    both = sorted(arrays + ints)
    together = both == list(range(both[0], both[-1] + 1))
    parts = [tensor(int(k)) if i in ints else k for i, k in enumerate(parts)]
    basic = tuple(slice(None) if isinstance(k, Tensor) else k for k in parts)
    return x, parts, basic, both, together


def _linear(x, index, axes):
    """Indices along several axes as one along their product."""
    shape = _broadcast([k.shape for k in index])
    total = None
    for k, a in zip(index, axes):
        k = _wrapped(k, x.shape[a], a)
        total = k if total is None else total * x.shape[a] + k
    return total.expand(shape) if total.shape != shape else total


def _broadcast(shapes):
    n = max(len(s) for s in shapes)
    out = [1] * n
    for s in shapes:
        for i, d in enumerate(s):
            at = n - len(s) + i
            if out[at] == 1:
                out[at] = d
            elif d not in (1, out[at]):
                raise IndexError("index tensors of shapes %s do not broadcast" % (shapes,))
    return tuple(out)


def getitem(x, key):
    x, parts, basic, axes, together = _plan(x, key)
    y = x[basic]
    index = [parts[i] for i in axes]
    if len(axes) == 1:
        k = _wrapped(index[0], y.shape[axes[0]], axes[0])
        return y.take(k, axes[0])
    k = _linear(y, index, axes)
    others = [i for i in range(y.ndim) if i not in axes]
    rows = 1
    for i in axes:
        rows *= y.shape[i]
    flat = y.permute(*(axes + others)).reshape((rows,) + tuple(y.shape[i] for i in others))
    out = flat.take(k, 0)
    if together and axes[0]:  # they stay where they were
        n, first = k.ndim, axes[0]
        order = list(range(n, n + first)) + list(range(n)) + list(range(n + first, out.ndim))
        out = out.permute(*order)
    return out


def setitem(x, key, v):
    if isinstance(key, Tensor) or hasattr(key, "__array__"):
        mask = key if isinstance(key, Tensor) else tensor(key)
        value = v if not hasattr(v, "shape") or v.shape == () else None
        if mask.dtype.name == "bool" and (value is not None or isinstance(v, (int, float))):
            mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
            x.assign_(_ridge.where(mask, v, x).cast(x.dtype))
            return
    y, parts, basic, axes, together = _plan(x, key)
    if any(k is None for k in parts):
        raise IndexError("x[.., None, ..] = v with index tensors is not supported; reshape the value")
    # Every element of x gets a number; those of the key are written in a flat copy.
    numbers = _ridge._arange(0, x.size, 1, _ridge.int64, x.device).reshape(x.shape)[key]
    v = (v if isinstance(v, Tensor) else tensor(v, x.dtype, x.device)).cast(x.dtype)
    v = v.expand(numbers.shape).reshape(-1)
    flat = x.reshape(-1).scatter(0, numbers.reshape(-1), v)
    x.assign_(flat.reshape(x.shape))
