"""Linear algebra of matrices and stacks of them. Products are kernels; factorizations are computed on the host in float64, by NumPy's
LAPACK where NumPy is installed and by plain loops otherwise.

Gradients of real matrices: the value comes from the host, and is a constant of the Taylor series in what x may change by, _change(x): 0,
but with a gradient. det, inv, slogdet, solve and cholesky have terms of first and second order, so that they can be differentiated
twice; eigh, eigvalsh, svd, svdvals, qr and pinv of the first, once. What completes a basis (full_matrices of a matrix that is not
square, mode="complete") has none. What is read keeps its history, so what a filter computes step after step is computed again for each
factorization: no_grad() around it ends that.
"""
import collections
import math

from . import _complex, _methods, _ridge
from ._complex import ComplexTensor
from ._helpers import Error, is_grad_enabled
from ._ridge import Tensor, tensor

__all__ = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose norm outer pinv qr
slogdet solve svd svdvals tensordot trace vecdot vector_norm LinAlgError""".split()
QR = collections.namedtuple("QR", "Q R")
Eigh = collections.namedtuple("eigh_result", "eigenvalues eigenvectors")
SVD = collections.namedtuple("svd_result", "U S Vh")
Slogdet = collections.namedtuple("slogdet_result", "sign logabsdet")


class LinAlgError(ValueError):
    """A matrix that is singular, or not positive definite."""


def _square(x, fn):
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise LinAlgError("%s: square matrices are needed; the shape is %s" % (fn, x.shape))
    if "float" not in x.dtype.name and "complex" not in x.dtype.name:
        raise TypeError("%s: floats are needed; the dtype is %s" % (fn, x.dtype.name))
    return x


# ---- on the host ----


def _numpy():
    try:
        import numpy

        return numpy
    except ImportError:
        return None


def _host(fn, x, *more):
    """fn of each matrix of a stack, in float64; its results as tensors of x's dtype. A copy is read: x keeps its history."""
    np = _numpy()
    if np is not None:
        try:
            out = fn(np, *(_values(np, v) for v in (x,) + more))
        except np.linalg.LinAlgError as e:
            raise LinAlgError(str(e)) from None
        many = isinstance(out, tuple)
        made = [_made(np.asarray(o, order="C"), x) for o in (out if many else (out,))]
        return tuple(made) if many else made[0]
    raise LinAlgError("this factorization needs NumPy, which is not installed")


def _values(np, x):
    try:
        if isinstance(x, ComplexTensor):
            return x.numpy().astype("complex128")
        if not is_grad_enabled():
            _ridge._realize([x])  # it needs no history: what is computed from it later begins here
        return np.asarray(_ridge._contiguous(x).double().numpy())
    except Error as e:
        if "while a jit is recorded" in str(e):
            text = str(e).split("reading a value")[0] + "factorizations run on the host (LAPACK), and a jit records what the device does: "
            raise type(e)(text + "call ridge.linalg outside of the jit and pass its result as an argument") from None
        raise


def _made(a, x):
    """A result on the host as a tensor of x's precision."""
    if a.dtype.kind == "c":
        return _complex.of(a, x.dtype)
    return tensor(a).astype(x.dtype.part if isinstance(x, ComplexTensor) else x.dtype)


def _matrices(x):
    """Nested lists of the matrices of a stack."""
    n, m = x.shape[-2:]
    rows = _ridge._contiguous(x).double().reshape(-1 if x.size else 0, n, m)
    return rows.tolist()


def _stacked(rows, shape, dtype):
    return tensor(rows, "float64").reshape(shape).astype(dtype)


def _solve_rows(a, b):
    """Gaussian elimination with partial pivoting; the determinant comes with it."""
    n, a, b, det = len(a), [r[:] for r in a], [r[:] for r in b], 1.0
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        if a[p][i] == 0:
            return None, 0.0
        if p != i:
            a[i], a[p], b[i], b[p], det = a[p], a[i], b[p], b[i], -det
        det *= a[i][i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            if f:
                a[r] = [u - f * v for u, v in zip(a[r], a[i])]
                b[r] = [u - f * v for u, v in zip(b[r], b[i])]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            b[i] = [u - a[i][k] * v for u, v in zip(b[i], b[k])]
        b[i] = [u / a[i][i] for u in b[i]]
    return b, det


def _eye_rows(n):
    return [[1.0 * (i == j) for j in range(n)] for i in range(n)]


def _plain_inv(x):
    n, out = x.shape[-1], []
    for m in _matrices(x):
        r, det = _solve_rows(m, _eye_rows(n))
        if r is None:
            raise LinAlgError("Singular matrix")
        out.append(r)
    return _stacked(out, x.shape, x.dtype)


def _plain_cholesky(x):
    out, n = [], x.shape[-1]
    for m in _matrices(x):
        low = [[0.0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                s = m[i][j] - sum(low[i][k] * low[j][k] for k in range(j))
                if i == j and s <= 0:
                    raise LinAlgError("Matrix is not positive definite")
                low[i][j] = math.sqrt(s) if i == j else s / low[j][j]
        out.append(low)
    return _stacked(out, x.shape, x.dtype)


# ---- that can be differentiated ----


def _inverse(x):
    return _host(lambda np, a: np.linalg.inv(a), x) if _numpy() else _plain_inv(x)


def _change(x):
    return x - x.detach()


def inv(x, /):
    """The inverse of square matrices."""
    x = _square(x, "inv")
    if isinstance(x, ComplexTensor):
        return _inverse(x)
    y = _inverse(x).detach()
    step = _change(x) @ y
    return y - y @ (step - step @ step)


def solve(x1, x2, /):
    """The solution of x1 @ y = x2; x2 is a vector or a stack of matrices."""
    a, vector = _square(x1, "solve"), x2.ndim == 1
    if isinstance(x1, ComplexTensor) or isinstance(x2, ComplexTensor):
        a, b = _complex._pair(x1, x2)
        return _host(lambda np, p, q: np.linalg.solve(p, q[:, None])[..., 0] if vector else np.linalg.solve(p, q), a, b)
    b = x2.unsqueeze(-1) if vector else x2
    if _numpy():
        y = _host(lambda np, p, q: np.linalg.solve(p, q), a, b)
    else:
        y = _plain_inv(a).detach() @ b.detach()
    y = y.detach()
    da, db, inverse = _change(a), _change(b), _inverse(a).detach()
    y = y + inverse @ (db - da @ (y + inverse @ (db - da @ y)))
    return y.squeeze(-1) if vector else y


def det(x, /):
    """The determinant."""
    x = _square(x, "det")
    if isinstance(x, ComplexTensor):
        return _host(lambda np, a: np.asarray(np.linalg.det(a)), x)
    if _numpy():
        d = _host(lambda np, a: np.asarray(np.linalg.det(a)), x)
    else:
        d = _stacked([_solve_rows(m, _eye_rows(x.shape[-1]))[1] for m in _matrices(x)], x.shape[:-2], x.dtype)
    d, change = d.detach(), _change(x)
    try:
        step = _inverse(x).detach() @ change
    except LinAlgError:
        return d + (_cofactors(x) * change).sum((-2, -1)) if _numpy() else d
    t = trace(step)
    return d * (1 + t + (t * t - trace(step @ step)) / 2)


def _cofactors(x):
    """The gradient of a determinant, of singular matrices too."""
    def cofactors(np, a):
        u, s, v = np.linalg.svd(a)
        others = np.stack([np.delete(s, i, -1).prod(-1) for i in range(s.shape[-1])], -1)
        return (u * others[..., None, :]) @ v * (np.linalg.det(u) * np.linalg.det(v))[..., None, None]

    return _host(cofactors, x).detach()


def slogdet(x, /):
    """Sign and logarithm of the absolute value of the determinant."""
    s, l = _host(lambda np, a: tuple(np.linalg.slogdet(a)), _square(x, "slogdet"))
    if isinstance(x, ComplexTensor):
        return Slogdet(s, l)
    try:
        step = _inverse(x).detach() @ _change(x)
    except LinAlgError:
        return Slogdet(s, l)  # minus infinity: without a gradient
    return Slogdet(s.detach(), l.detach() + trace(step) - trace(step @ step) / 2)


def cholesky(x, /, *, upper=False):
    """The lower triangular L with L @ L.T = x, or its transpose."""
    x = _square(x, "cholesky")
    if isinstance(x, ComplexTensor):
        low = _host(lambda np, a: np.linalg.cholesky(a), x)
        return _complex.conj(low.mT) if upper else low
    low = (_host(lambda np, a: np.linalg.cholesky(a), x) if _numpy() else _plain_cholesky(x)).detach()
    back = _inverse(low).detach()
    m = back @ _change(x) @ back.mT
    first = _lower((m + m.mT) / 2)
    low = low + low @ (first - _lower(first @ first.mT))
    return low.mT if upper else low


def _lower(m):
    """L of a symmetric m = L + L.T."""
    return (m.tril() + m.tril(-1)) / 2


# ---- factorizations ----


def _constants(*xs):
    return tuple(x.detach() for x in xs)


def _over(x, d):
    """x / d, 0 where d is: of a diagonal, and of equal eigenvalues, whose vectors have no derivative."""
    return _ridge.where(d == 0, 0.0, x / _ridge.where(d == 0, 1.0, d))


def qr(x, /, *, mode="reduced"):
    """Q of orthonormal columns and an upper triangular R with Q @ R = x."""
    q, r = _host(lambda np, a: tuple(np.linalg.qr(a, mode)), x)
    if isinstance(x, ComplexTensor):
        return QR(q, r)
    rows, columns = x.shape[-2:]
    if rows < columns:  # the first columns give Q
        q, r = qr(x[..., :rows])
        return QR(q, _ridge.cat([r, q.mT @ x[..., rows:]], -1))
    q, r = _constants(q, r)
    if q.shape[-1] != r.shape[-1]:
        return QR(q, r)
    try:
        right = _change(x) @ _inverse(r).detach()
    except LinAlgError:
        return QR(q, r)
    inner = q.mT @ right
    turn = inner.tril(-1) - inner.tril(-1).mT
    return QR(q + q @ turn + right - q @ inner, r + (inner - turn) @ r)


def eigh(x, /):
    w, v = _host(lambda np, a: tuple(np.linalg.eigh(a)), _square(x, "eigh"))
    if isinstance(x, ComplexTensor):
        return Eigh(w, v)
    w, v = _constants(w, v)
    change = _change(x)
    m = v.mT @ ((change + change.mT) / 2) @ v
    return Eigh(w + m.diagonal(0, -2, -1), v + v @ _over(m, w.unsqueeze(-2) - w.unsqueeze(-1)))


def eigvalsh(x, /):
    return _host(lambda np, a: np.linalg.eigvalsh(a), x) if isinstance(_square(x, "eigvalsh"), ComplexTensor) else eigh(x).eigenvalues


def svd(x, /, *, full_matrices=True):
    u, s, v = _host(lambda np, a: tuple(np.linalg.svd(a, full_matrices=full_matrices)), x)
    if isinstance(x, ComplexTensor):
        return SVD(u, s, v)
    u, s, v = _constants(u, s, v)
    n, change = s.shape[-1], _change(x)
    few, rows = u[..., :n], v[..., :n, :]
    m = few.mT @ change @ rows.mT
    values = s + m.diagonal(0, -2, -1)
    if u.shape[-1] != n or v.shape[-2] != n:
        return SVD(u, values, v)
    row, column = s.unsqueeze(-2), s.unsqueeze(-1)
    d = (row - column) * (row + column)
    left, right = _over(m * row + column * m.mT, d), _over(column * m + m.mT * row, d)
    outer_u = _over(change @ rows.mT - few @ m, row) if u.shape[-2] > n else 0.0
    outer_v = _over(change.mT @ few - rows.mT @ m.mT, row) if v.shape[-1] > n else 0.0
    return SVD(u + u @ left + outer_u, values, (rows.mT + rows.mT @ right + outer_v).mT)


def svdvals(x, /):
    return _host(lambda np, a: np.linalg.svd(a, compute_uv=False), x) if isinstance(x, ComplexTensor) else svd(x, full_matrices=False).S


def pinv(x, /, *, rtol=None):
    if isinstance(rtol, Tensor) and rtol.ndim:
        y = _host(lambda np, a, r: np.linalg.pinv(a, rcond=r), x, rtol)
    else:
        y = _host(lambda np, a: np.linalg.pinv(a, rcond=_limit(x, rtol)), x)
    if isinstance(x, ComplexTensor):
        return y
    y, change, a = y.detach(), _change(x), x.detach()
    across = change.mT - change.mT @ a @ y
    return y - y @ change @ y + y @ y.mT @ across + (change.mT - y @ a @ change.mT) @ y.mT @ y


def _limit(x, rtol):
    from ._helpers import finfo

    return float(rtol.item() if isinstance(rtol, Tensor) else rtol) if rtol is not None else max(x.shape[-2:]) * finfo(getattr(x.dtype, "part", x.dtype)).eps


def matrix_rank(x, /, *, rtol=None):
    s = svdvals(x)
    if not s.shape[-1]:
        return _ridge.zeros(s.shape[:-1], _ridge.int64)
    limit = rtol.unsqueeze(-1) if isinstance(rtol, Tensor) and rtol.ndim else _limit(x, rtol)
    return (s > s.max(-1, keepdims=True) * limit).sum(-1)


def matrix_power(x, n, /):
    x = _square(x, "matrix_power")
    if n < 0:
        return matrix_power(inv(x), -n)
    out = None
    while n:
        if n & 1:
            out = x if out is None else out @ x
        n >>= 1
        x = x @ x if n else x
    return out if out is not None else _ridge.eye(x.shape[-1], x.shape[-1], x.dtype).expand(x.shape)


# ---- norms and products ----


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2, dim=None, keepdim=None):
    axis, keepdims = dim if axis is None else axis, keepdims if keepdim is None else keepdim
    x = _complex.absolute(x) if isinstance(x, ComplexTensor) else x
    axes = _methods._axes(axis, x.ndim)
    if not axes:
        return x.abs()
    if ord == 0:
        return (x != 0).sum(axes, keepdims).astype(x.dtype)
    if ord == float("-inf"):
        return x.abs().min(axes, keepdims)
    if ord < 0 or ord not in (1, 2, float("inf")):
        return (x.abs() ** ord).sum(axes, keepdims) ** (1 / ord)
    return _ridge._norm(x, ord, axes, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    if isinstance(x, ComplexTensor) and ord not in ("nuc", 2, -2):
        x = _complex.absolute(x)
    if ord == "fro":
        out = (x * x).sum((-2, -1)).sqrt()
    elif ord in (1, -1, float("inf"), float("-inf")):
        s = x.abs().sum(-2 if abs(ord) == 1 else -1)
        out = s.max(-1) if ord > 0 else s.min(-1)
    else:
        s = svdvals(x)
        out = s.sum(-1) if ord == "nuc" else s.max(-1) if ord == 2 else s.min(-1)
    return out.unsqueeze(-1).unsqueeze(-1) if keepdims else out


def multi_dot(xs):
    """The product of matrices, in the order of fewest operations."""
    from ._numbers import chain_matmul

    return chain_matmul(xs)


def norm(x, ord=None, axis=None, keepdims=False, *, dim=None, keepdim=None):
    """numpy.linalg.norm; dim and keepdim are PyTorch's."""
    axis, keepdims = dim if axis is None else axis, keepdims if keepdim is None else keepdim
    if ord is None or axis is None and x.ndim == 1 or isinstance(axis, int):
        return vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord in (None, "fro") else ord)
    return matrix_norm(x, keepdims=keepdims, ord=ord)


def diagonal(x, /, *, offset=0):
    return x.diagonal(offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    from .array_api import _wide

    return _wide(diagonal(x, offset=offset), dtype).sum(-1)


def outer(x1, x2, /):
    return x1.reshape(-1, 1) * x2.reshape(1, -1)


def cross(x1, x2, /, *, axis=-1):
    return _methods.cross(x1, x2, axis)


diagonal, trace, outer, cross = (_complex.dispatching(f.__name__, f) for f in (diagonal, trace, outer, cross))


def matmul(x1, x2, /):
    from .array_api import matmul as f

    return f(x1, x2)


def matrix_transpose(x, /):
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    from .array_api import tensordot as f

    return f(x1, x2, axes=axes)


def vecdot(x1, x2, /, *, axis=-1):
    from .array_api import vecdot as f

    return f(x1, x2, axis=axis)
