"""torch.nn.functional's names; those that are functions of the header are found too."""
import builtins
import math

from . import _methods, _ridge
from ._methods import _invalid, _t


def batch_statistics(x):
    axes, n = [i for i in range(x.ndim) if i != 1], x.size // max(x.shape[1], 1)
    if n < 2:
        _methods._invalid("batch_norm in training: expected more than one value for each channel; found %s" % (x.shape,))
    return x.mean(axes), _ridge._var(x, axes, False, True)


def follow(running_mean, running_var, mean, var, n, momentum):
    """The running statistics go towards those of a batch of n values a channel."""
    running_mean.assign_(running_mean * (1 - momentum) + mean.detach() * momentum)
    running_var.assign_(running_var * (1 - momentum) + (var * (n / (n - 1))).detach() * momentum)


def _reduced(x, reduction):
    return x.mean() if reduction == "mean" else x.sum() if reduction == "sum" else x


def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _ridge.layernorm(x, weight, bias, eps, len(normalized_shape))


def batch_norm(x, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if not training:
        return _ridge.batchnorm(x, running_mean, running_var, weight, bias, eps)
    mean, var = batch_statistics(x)
    if running_mean is not None:
        follow(running_mean, running_var, mean, var, x.size // x.shape[1], momentum)
    return _ridge.batchnorm(x, mean, var, weight, bias, eps)


def instance_norm(x, weight=None, bias=None, eps=1e-5):
    return _ridge.instancenorm(x, weight, bias, eps)


def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    """Windows of (N, C, H, W) as columns: (N, C * window, number of windows)."""
    k, d, p, s = ((v, v) if isinstance(v, int) else tuple(v) for v in (kernel_size, dilation, padding, stride))
    x = pad(x, (p[1], p[1], p[0], p[0])) if any(p) else x
    out = [(x.shape[2 + i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in (0, 1)]
    ends = [(out[i] - 1) * s[i] + 1 for i in (0, 1)]
    taps = [x[:, :, a : a + ends[0] : s[0], b : b + ends[1] : s[1]]
            for a in range(0, k[0] * d[0], d[0]) for b in range(0, k[1] * d[1], d[1])]
    return _ridge.stack(taps, 2).reshape(x.shape[0], x.shape[1] * k[0] * k[1], out[0] * out[1])


def kl_div(x, target, reduction="mean", log_target=False):
    target = target.exp() if log_target else target
    if reduction == "batchmean":
        return _ridge.kl_div(x, target, reduction="sum") / x.shape[0]
    return _ridge.kl_div(x, target, reduction=reduction)


def threshold(x, threshold, value):
    return _ridge.where(x > threshold, x, value)


def hardshrink(x, lambd=0.5):
    return _ridge.where(x.abs() > lambd, x, 0)


def softshrink(x, lambd=0.5):
    return x - x.clip(-lambd, lambd)


def tanhshrink(x):
    return x - x.tanh()


def pairwise_distance(x, y, p=2.0, eps=1e-6, keepdim=False):
    return _methods.norm(x - y + eps, p, -1, keepdim)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, reduction="mean"):
    near, far = (pairwise_distance(anchor, y, p, eps) for y in (positive, negative))
    return _reduced(_ridge.relu(near - far + margin), reduction)


def margin_ranking_loss(x, y, target, margin=0.0, reduction="mean"):
    return _reduced(_ridge.relu(-target * (x - y) + margin), reduction)


def dropout(x, p=0.5, training=True, inplace=False):
    return _ridge.dropout(x, p) if training else x


def pad(x, pad, mode="constant", value=0):
    pairs = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        pairs[x.ndim - 1 - i] = (pad[2 * i], pad[2 * i + 1])
    return _methods.pad(x, pairs, {"replicate": "edge", "circular": "wrap"}.get(mode, mode), value or 0)


def embedding(x, weight, padding_idx=None):
    """Rows of weight; that of padding_idx has no gradient."""
    y = _ridge.embedding(x, weight)
    return y if padding_idx is None else _ridge.where((x == padding_idx % weight.shape[0]).unsqueeze(-1), y.detach(), y)


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None, antialias=False):
    """(N, C, ..) to a size or by a factor: nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area."""
    n, factor = x.ndim - 2, [None] * (x.ndim - 2)
    if size is None:
        factor = list(scale_factor) if isinstance(scale_factor, (tuple, list)) else [scale_factor] * n
        size = [int(math.floor(d * f)) for d, f in zip(x.shape[2:], factor)]
    size = _each(size, n)
    if antialias:
        return _antialiased(x, size, mode, bool(align_corners))
    if mode == "area":
        return _adaptive_avg(n)(x, size)
    if mode == "bicubic":
        return _bicubic(x, size, factor, bool(align_corners))
    how = {"nearest-exact": "nearest_exact", "bilinear": "linear", "trilinear": "linear"}.get(mode, mode)
    return _ridge._interpolate(x, list(size), how, bool(align_corners))


def upsample(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(x, size, scale_factor, mode, align_corners)


def _bicubic(x, size, factor, align):
    """Along each axis the sum of four neighbours."""
    for axis, to, f in zip(range(2, x.ndim), size, factor):
        n = x.shape[axis]
        i = _methods.arange(to, dtype=_ridge.float64)
        at = i * ((n - 1) / builtins.max(to - 1, 1)) if align else (i + 0.5) * (1 / f if f else n / to) - 0.5
        low, after, y = at.floor(), (-1,) + (1,) * (x.ndim - axis - 1), 0
        for k, w in enumerate(_cubic(at - low)):
            tap = _ridge.clamp(low + (k - 1), 0, n - 1).astype(_ridge.int64)
            y = y + x.take(tap, axis) * w.astype(x.dtype).reshape(after)
        x = y
    return x


def _antialiased(x, size, mode, align):
    """Along each axis a product with the weights of a filter that is as wide as what it shrinks."""
    reach = {"bilinear": 1.0, "bicubic": 2.0}.get(mode)
    if reach is None:
        _invalid('interpolate: antialias goes with mode "bilinear" or "bicubic"; found %r' % (mode,))
    for axis, to in zip(range(2, x.ndim), size):
        n = x.shape[axis]
        scale = ((n - 1) / builtins.max(to - 1, 1)) if align else n / to
        wide = builtins.max(scale, 1.0)
        centre = _methods.arange(to, dtype=_ridge.float64).unsqueeze(1) * scale + (0 if align else 0.5 * scale)
        d = ((_methods.arange(n, dtype=_ridge.float64) + 0.5 - centre - (0.5 if align else 0)) / wide).abs()
        near, far = _cubic(d, -0.5)[1], _cubic(d - 1, -0.5)[0]
        w = _ridge.relu(1 - d) if reach == 1 else _ridge.where(d < 1, near, _ridge.where(d < 2, far, 0.0))
        w = (w / w.sum(1, True)).astype(x.dtype)
        x = _methods.moveaxis(_methods.moveaxis(x, axis, -1) @ w.T, -1, axis)
    return x


def adaptive_avg_pool2d(x, output_size):
    h, w = (output_size,) * 2 if isinstance(output_size, int) else output_size
    return _ridge._adaptive_avg_pool2d(x, h or x.shape[-2], w or x.shape[-1])


def pixel_shuffle(x, r):
    n, c, h, w = x.shape
    return x.reshape(n, c // (r * r), r, r, h, w).permute(0, 1, 4, 2, 5, 3).reshape(n, c // (r * r), h * r, w * r)


def pixel_unshuffle(x, r):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // r, r, w // r, r).permute(0, 1, 3, 5, 2, 4).reshape(n, c * r * r, h // r, w // r)


def prelu(x, weight):
    w = weight.reshape([1, -1] + [1] * (x.ndim - 2)) if weight.size > 1 else weight
    return _ridge.where(x > 0, x, w * x)


def cosine_similarity(x, y, dim=1, eps=1e-8):
    norms = ((x * x).sum(dim) * (y * y).sum(dim)).sqrt()
    return (x * y).sum(dim) / _ridge.maximum(norms, eps)


# ---- the header's functions with PyTorch's arguments ----


def _in_place(fn):
    """`inplace` is understood: values are not shared here, so the result is a new tensor."""

    def f(x, *args, inplace=False, **kw):
        return fn(x, *(args[:-1] if args and isinstance(args[-1], bool) else args), **kw)

    f.__doc__ = fn.__doc__
    return f


relu, relu6, leaky_relu, elu, celu, selu, silu, mish, hardswish, hardsigmoid, hardtanh = map(_in_place, (
    _ridge.relu, _ridge.relu6, _ridge.leaky_relu, _ridge.elu, _ridge.celu, _ridge.selu, _ridge.silu, _ridge.mish, _ridge.hardswish,
    _ridge.hardsigmoid, lambda x, min_val=-1.0, max_val=1.0: _ridge.hardtanh(x, min_val, max_val)))


def _of_dtype(fn):
    def f(x, dim=-1, dtype=None, axis=None):
        x = x if dtype is None else x.astype(dtype)
        return fn(x, dim if axis is None else axis)

    f.__doc__ = fn.__doc__
    return f


softmax, log_softmax = _of_dtype(_ridge.softmax), _of_dtype(_ridge.log_softmax)


def softplus(x, beta=1.0, threshold=20.0):
    return _methods.softplus(x, beta)


def group_norm(x, num_groups, weight=None, bias=None, eps=1e-5):
    return _ridge.groupnorm(x, num_groups, weight, bias, eps)


def rms_norm(x, normalized_shape, weight=None, eps=None):
    lead = x.shape[: x.ndim - len(normalized_shape)]
    rows = x.reshape(lead + (-1,))
    weight = _ridge.ones(rows.shape[-1], dtype=x.dtype) if weight is None else weight.reshape(-1)
    return _ridge.rmsnorm(rows, weight, 1.1920929e-07 if eps is None else eps).reshape(x.shape)


def normalize(x, p=2.0, dim=1, eps=1e-12):
    return x / _ridge.clamp(_methods.norm(x, p, dim, True), eps)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """softmax(query key' scale + mask) value; with enable_gqa several heads of the query share one of key and value."""
    return _ridge.attention(query, key, value, attn_mask, dropout_p, is_causal, 0 if scale is None else scale)


def _conv(n):
    fn = getattr(_ridge, "conv%dd" % n)

    def conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            most = [d * (k - 1) for d, k in zip(_each(dilation, n), weight.shape[2:])]
            padding = () if padding == "valid" else [v for m in most for v in (m // 2, m - m // 2)]
        return fn(x, weight, bias, stride, padding, dilation, groups)

    return conv


conv1d, conv2d, conv3d = map(_conv, (1, 2, 3))


def _max_pool(n):
    fn = getattr(_ridge, "max_pool%dd" % n)

    def pool(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        options = dict(stride=stride or (), padding=padding, dilation=dilation, ceil_mode=ceil_mode)
        y = fn(x, kernel_size, **options)
        if not return_indices:
            return y
        if n == 2:
            return y, _ridge.max_pool2d_index(x, kernel_size, **options)
        if n == 1:
            one = {k: (0, v) if k == "padding" else v if k == "ceil_mode" else (1, v or kernel_size) for k, v in options.items()}
            return y, _ridge.max_pool2d_index(x.unsqueeze(-2), (1, kernel_size), **one).squeeze(-2)
        _invalid("max_pool3d: return_indices is for one axis or two")

    return pool


max_pool1d, max_pool2d, max_pool3d = map(_max_pool, (1, 2, 3))


def _avg_pool(n):
    fn = getattr(_ridge, "avg_pool%dd" % n)

    def pool(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        options = dict(stride=stride or (), padding=padding, ceil_mode=ceil_mode, exclude_padding=not count_include_pad)
        if not divisor_override:
            return fn(x, kernel_size, **options)
        if ceil_mode:
            _invalid("avg_pool%dd: divisor_override does not go with ceil_mode" % n)
        return fn(x, kernel_size, **dict(options, exclude_padding=False)) * (_size(_each(kernel_size, n)) / divisor_override)

    return pool


avg_pool1d, avg_pool2d, avg_pool3d = map(_avg_pool, (1, 2, 3))


# ---- windows ----


def _size(shape):
    return math.prod(shape)


def _each(v, n):
    return (v,) * n if isinstance(v, int) else tuple(v)


def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """unfold's adjoint: columns (N, C * window, number of windows) added where their windows lie in (N, C, H, W)."""
    size, k, d, p, s = (_each(v, 2) for v in (output_size, kernel_size, dilation, padding, stride))
    full = [size[i] + 2 * p[i] for i in (0, 1)]
    out = [(full[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in (0, 1)]
    batch = x.ndim == 3
    x = x if batch else x.unsqueeze(0)
    c = x.shape[1] // (k[0] * k[1])
    if c * k[0] * k[1] != x.shape[1] or out[0] * out[1] != x.shape[2]:
        _invalid("fold: %d windows of %s in %s; found columns of shape %s" % (out[0] * out[1], k, size, x.shape))
    x, total = x.reshape(x.shape[0], c, k[0], k[1], out[0], 1, out[1], 1), None
    x = _methods.pad(x, [(0, 0)] * 5 + [(0, s[0] - 1), (0, 0), (0, s[1] - 1)])
    x = x.reshape(x.shape[0], c, k[0], k[1], out[0] * s[0], out[1] * s[1])
    x = x[..., : (out[0] - 1) * s[0] + 1, : (out[1] - 1) * s[1] + 1]
    for a in range(k[0]):
        for b in range(k[1]):
            y = x[:, :, a, b]
            edge = [(o, f - n - o) for o, f, n in zip((a * d[0], b * d[1]), full, y.shape[2:])]
            y = _methods.pad(y, [(0, 0), (0, 0)] + edge)
            total = y if total is None else total + y
    total = total[:, :, p[0] : p[0] + size[0], p[1] : p[1] + size[1]]
    return total if batch else total.squeeze(0)


def _windows(x, axis, size):
    """Windows of adaptive pooling along an axis, as one more axis after it, and which of their elements count (None: all)."""
    n, axis = x.shape[axis], axis % x.ndim
    if n % size == 0:
        return x.reshape(x.shape[:axis] + (size, n // size) + x.shape[axis + 1:]), None, None
    begin = [i * n // size for i in range(size)]
    end = [-(-(i + 1) * n // size) for i in range(size)]
    most = builtins.max(b - a for a, b in zip(begin, end))
    at = [[builtins.min(a + k, b - 1) for k in range(most)] for a, b in zip(begin, end)]
    inside = [[a + k < b for k in range(most)] for a, b in zip(begin, end)]
    after = (1,) * (x.ndim - axis - 1)
    return x.take(_ridge.tensor(at), axis), _ridge.tensor(at), _ridge.tensor(inside).reshape((size, most) + after)


def _adaptive_avg(n):
    def pool(x, output_size):
        for i, size in enumerate(_each(output_size, n)):
            axis = x.ndim - n + i
            y, _, inside = _windows(x, axis, size or x.shape[axis])
            x = y.mean(axis + 1) if inside is None else _ridge.where(inside, y, 0).sum(axis + 1) / inside.astype(x.dtype).sum(1)
        return x

    return pool


def _adaptive_max(n):
    def pool(x, output_size, return_indices=False):
        sizes = [s or x.shape[i - n] for i, s in enumerate(_each(output_size, n))]
        if not return_indices:
            for i, size in enumerate(sizes):
                axis = x.ndim - n + i
                x = _windows(x, axis, size)[0].max(axis + 1)
            return x
        lead, where = x.ndim - n, _methods.arange(_size(x.shape[x.ndim - n:])).reshape(x.shape[x.ndim - n:])
        for i, size in enumerate(sizes):
            x, where = _windows(x, lead + 2 * i, size)[0], _windows(where, 2 * i, size)[0]
        order = list(range(0, 2 * n, 2)) + list(range(1, 2 * n, 2))
        x = x.permute(*list(range(lead)), *[lead + a for a in order]).flatten(lead + n)
        where = where.permute(*order).flatten(n)
        best = x.argmax(-1, True)
        return _ridge.gather(x, -1, best).squeeze(-1), _ridge.gather(where.expand(x.shape), -1, best).squeeze(-1)

    return pool


adaptive_avg_pool1d, adaptive_avg_pool3d = _adaptive_avg(1), _adaptive_avg(3)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = _adaptive_max(1), _adaptive_max(2), _adaptive_max(3)


def _lp_pool(n):
    def pool(x, norm_type, kernel_size, stride=None, ceil_mode=False):
        k = _each(kernel_size, n)
        mean = getattr(_ridge, "avg_pool%dd" % n)(x**norm_type, k, stride=k if stride is None else _each(stride, n), ceil_mode=ceil_mode)
        return (_ridge.sign(mean) * _ridge.relu(mean.abs()) * _size(k)) ** (1.0 / norm_type)

    return pool


lp_pool1d, lp_pool2d = _lp_pool(1), _lp_pool(2)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divided by a power of the mean square of `size` channels around."""
    square = pad((x * x).transpose(1, -1), (size // 2, (size - 1) // 2)).unfold(-1, size, 1).mean(-1).transpose(1, -1)
    return x / (square * alpha + k) ** beta


# ---- sampling ----


def affine_grid(theta, size, align_corners=False):
    """Where grid_sample finds each pixel of a picture of this size: theta times (x, y[, z], 1)."""
    axes = []
    for n in reversed(tuple(size)[2:]):
        edge = 1.0 if align_corners else 1 - 1 / n
        axes.append(_methods.linspace(-edge, edge, n, dtype=theta.dtype) if n > 1 else _ridge.zeros(1, dtype=theta.dtype))
    grid = [g for g in reversed(_methods.meshgrid(*reversed(axes), indexing="ij"))]
    points = _ridge.stack(grid + [_methods.ones_like(grid[0])], -1)
    return (points.reshape(1, -1, points.shape[-1]) @ theta.mT).reshape((theta.shape[0],) + tuple(size)[2:] + (theta.shape[1],))


def _reflected(c, low, high):
    """Coordinates reflected until they lie between two bounds."""
    span = high - low
    if not span:
        return c * 0 + low
    c = (c - low).abs()
    turns, rest = (c / span).floor(), _ridge.fmod(c, span)
    return _ridge.where(turns % 2 == 0, rest, span - rest) + low


def _padded(c, n, how, align):
    """Coordinates of an axis of n, moved inside by the padding mode."""
    if how == "reflection":
        c = _reflected(c, 0.0, float(n - 1)) if align else _reflected(c, -0.5, n - 0.5)
    return c if how == "zeros" else _ridge.clamp(c, 0, n - 1)


def _picked(flat, taps, sizes):
    """Pixels at whole coordinates, one tensor for each axis: 0 outside."""
    index, inside = None, None
    for c, n in zip(taps, sizes):
        ok = (c >= 0) & (c <= n - 1)
        c = _ridge.clamp(c, 0, n - 1).astype(_ridge.int64)
        index, inside = (c, ok) if index is None else (index * n + c, inside & ok)
    shape = (flat.shape[0], flat.shape[1], index.shape[1])
    return _ridge.where(inside.unsqueeze(1), _ridge.gather(flat, 2, index.unsqueeze(1).expand(shape)), 0)


def _cubic(t, a=-0.75):
    """Weights of the four neighbours at a fraction t."""
    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """(N, C, H, W) or (N, C, D, H, W) at points of -1 to 1, x first: bilinear, nearest or (of pictures) bicubic."""
    n, sizes = x.ndim - 2, x.shape[2:]
    if mode not in ("bilinear", "nearest", "bicubic")[: 2 + (n == 2)] or padding_mode not in ("zeros", "border", "reflection"):
        _invalid("grid_sample: unknown mode %r or padding_mode %r" % (mode, padding_mode))
    if grid.ndim != x.ndim or grid.shape[-1] != n:
        _invalid("grid_sample of %s: expected points of %d coordinates in a grid of %d axes; found %s" % (x.shape, n, x.ndim, grid.shape))
    flat, points = x.reshape(x.shape[0], x.shape[1], -1), grid.reshape(grid.shape[0], -1, n)
    at = []
    for i, size in enumerate(sizes):
        g = points[:, :, n - 1 - i]
        c = (g + 1) * ((size - 1) / 2) if align_corners else ((g + 1) * size - 1) / 2
        at.append(c if mode == "bicubic" else _padded(c, size, padding_mode, align_corners))
    if mode == "nearest":
        y = _picked(flat, [c.round() for c in at], sizes)
    else:
        y, low = 0, [c.floor() for c in at]
        cubic = mode == "bicubic"
        weights = [_cubic(c - f) if cubic else (1 - (c - f), c - f) for c, f in zip(at, low)]
        for k in range((4 if cubic else 2) ** n):
            pick = [k // (4 if cubic else 2) ** i % (4 if cubic else 2) for i in range(n)]
            taps = [f + (p - cubic) for f, p in zip(low, pick)]
            taps = [_padded(t, size, padding_mode, align_corners) for t, size in zip(taps, sizes)] if cubic else taps
            w = math.prod((weights[i][p] for i, p in enumerate(pick)), start=1.0)
            y = y + _picked(flat, taps, sizes) * w.unsqueeze(1)
    return y.reshape(x.shape[:2] + grid.shape[1:-1])


# ---- layers ----


def bilinear(x, y, weight, bias=None):
    """x W[k] y for each output k."""
    z = _methods.einsum("...i,kij,...j->...k", x, weight, y) if x.ndim == 1 else _flat_bilinear(x, y, weight)
    return z if bias is None else z + bias


def _flat_bilinear(x, y, weight):
    lead = x.shape[:-1]
    z = _methods.einsum("ni,kij,nj->nk", x.reshape(-1, x.shape[-1]), weight, y.reshape(-1, y.shape[-1]))
    return z.reshape(lead + (weight.shape[0],))


def embedding_bag(x, weight, offsets=None, mode="mean", per_sample_weights=None):
    """Sums, means or maxima of rows: of each row of x, or of flat x from each offset on."""
    rows = _ridge.embedding(x, weight)
    rows = rows if per_sample_weights is None else rows * per_sample_weights.unsqueeze(-1)
    if offsets is None:
        return getattr(rows, {"mean": "mean", "sum": "sum", "max": "max"}[mode])(1)
    from ._order import searchsorted

    bag = searchsorted(offsets, _methods.arange(x.shape[0]), "right") - 1
    index = bag.unsqueeze(1).expand(rows.shape)
    none = _ridge.zeros((offsets.shape[0], rows.shape[1]), dtype=rows.dtype)
    return _methods.scatter_reduce(none, 0, index, rows, {"max": "amax"}.get(mode, mode), include_self=False)


def gumbel_softmax(logits, tau=1.0, hard=False, dim=-1):
    """A sample of a relaxed one-hot distribution; hard: one-hot, with the gradient of the soft one."""
    noise = -(-(_methods.rand_like(logits) * (1 - 2e-7) + 1e-7).log()).log()
    y = _ridge.softmax((logits + noise) / tau, dim)
    if not hard:
        return y
    one = _methods.moveaxis(_methods.one_hot(y.argmax(dim), y.shape[dim]), -1, dim).astype(y.dtype)
    return one - y.detach() + y


def alpha_dropout(x, p=0.5, training=False):
    """Dropout that keeps mean and variance of what selu gives."""
    if not training or not p:
        return x
    low = -1.7580993408473766
    a = ((1 - p) * (1 + p * low * low)) ** -0.5
    keep = _ridge.dropout(_methods.ones_like(x), p) > 0
    return _ridge.where(keep, x, low) * a - a * low * p


def dropout1d(x, p=0.5, training=True):
    """Whole channels of (N, C, ..)."""
    if not training or not p:
        return x
    return x * _ridge.dropout(_ridge.ones(x.shape[:2] + (1,) * (x.ndim - 2), dtype=x.dtype, device=x.device), p)


dropout2d = dropout3d = dropout1d


def rrelu(x, lower=1 / 8, upper=1 / 3, training=False):
    """leaky_relu, while training of random slopes."""
    slope = _methods.rand_like(x) * (upper - lower) + lower if training else (lower + upper) / 2
    return _ridge.where(x >= 0, x, x * slope)


# ---- losses ----


def hinge_embedding_loss(x, target, margin=1.0, reduction="mean"):
    return _reduced(_ridge.where(target == 1, x, _ridge.relu(margin - x)), reduction)


def cosine_embedding_loss(x, y, target, margin=0.0, reduction="mean"):
    c = (x * y).sum(-1) / (((x * x).sum(-1) + 1e-12) * ((y * y).sum(-1) + 1e-12)).sqrt()
    return _reduced(_ridge.where(target == 1, 1 - c, _ridge.relu(c - margin)), reduction)


def poisson_nll_loss(x, target, log_input=True, full=False, eps=1e-8, reduction="mean"):
    y = x.exp() - target * x if log_input else x - target * (x + eps).log()
    if full:
        t = _ridge.where(target > 1, target, 1.0)
        y = y + _ridge.where(target > 1, t * t.log() - t + 0.5 * (2 * math.pi * t).log(), 0.0)
    return _reduced(y, reduction)


def gaussian_nll_loss(x, target, var, full=False, eps=1e-6, reduction="mean"):
    var = _t(var)
    var = var.unsqueeze(-1) if var.ndim == x.ndim - 1 else var
    v = var + (_ridge.maximum(var, eps) - var).detach()
    y = 0.5 * (v.log() + (x - target) ** 2 / v)
    return _reduced(y + 0.5 * math.log(2 * math.pi) if full else y, reduction)


def soft_margin_loss(x, target, reduction="mean"):
    return _reduced(_ridge.softplus(-target * x), reduction)


def multilabel_soft_margin_loss(x, target, weight=None, reduction="mean"):
    y = -(target * _ridge.logsigmoid(x) + (1 - target) * _ridge.logsigmoid(-x))
    return _reduced((y if weight is None else y * weight).mean(-1), reduction)


def multi_margin_loss(x, target, p=1, margin=1.0, weight=None, reduction="mean"):
    own = _ridge.gather(x, -1, target.unsqueeze(-1))
    y = _ridge.relu(margin - own + x) ** p
    y = y if weight is None else y * weight.take(target, 0).unsqueeze(-1)
    y = _ridge.where(_methods.arange(x.shape[-1]) == target.unsqueeze(-1), 0.0, y)
    return _reduced(y.sum(-1) / x.shape[-1], reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    far = distance_function or pairwise_distance
    other = far(anchor, negative)
    other = _ridge.minimum(other, far(positive, negative)) if swap else other
    return _reduced(_ridge.relu(far(anchor, positive) - other + margin), reduction)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification of log_probs (T, N, C) and targets (N, S), or those of all rows after each other."""
    steps, n, _ = log_probs.shape
    input_lengths, target_lengths = _t(input_lengths), _t(target_lengths)
    if targets.ndim == 1:
        most = int(target_lengths.max().item()) if n else 0
        at = (_ridge.cumsum(target_lengths, 0) - target_lengths).unsqueeze(1) + _methods.arange(most)
        targets = targets.take(_ridge.clamp(at, 0, builtins.max(targets.shape[0] - 1, 0)), 0) if targets.shape[0] else _ridge.zeros((n, most), dtype=_ridge.int64)
    size, low = targets.shape[1], -1e30  # instead of -inf, whose differences are NaN
    blanks = _methods.full((n, size, 1), blank, _ridge.int64)
    label = _ridge.cat([_ridge.stack([blanks.squeeze(2), targets.astype(_ridge.int64)], 2).reshape(n, 2 * size), blanks[:, :1, 0] if size else _methods.full((n, 1), blank)], 1)
    here = _methods.arange(2 * size + 1)
    jump = (here % 2 == 1) & (here > 1) & (label != _ridge.roll(label, 2, 1))
    p = _ridge.gather(log_probs, 2, label.unsqueeze(0).expand(steps, n, 2 * size + 1))
    a = _ridge.where(here < 2, p[0], low)
    for t in range(1, steps):
        one = pad(a, (1, 0), value=low)[:, : 2 * size + 1]
        two = _ridge.where(jump, pad(a, (2, 0), value=low)[:, : 2 * size + 1], low)
        grown = _ridge.logsumexp(_ridge.stack([a, one, two], 0), 0) + p[t]
        a = _ridge.where(t < input_lengths.unsqueeze(1), _ridge.clamp(grown, low), a)
    end = 2 * target_lengths.unsqueeze(1)
    last = _ridge.gather(a, 1, _ridge.cat([end, _ridge.clamp(end - 1, 0)], 1))
    last = _ridge.where((target_lengths > 0).unsqueeze(1) | _ridge.tensor([True, False]), last, low)
    loss = -_ridge.logsumexp(last, 1)
    loss = _ridge.where(loss < -low / 2, loss, 0.0 if zero_infinity else float("inf"))
    if reduction == "mean":
        return (loss / _ridge.clamp(target_lengths, 1).astype(loss.dtype)).mean()
    return _reduced(loss, reduction)


def __getattr__(name):
    import ridge

    if name.startswith("_"):
        raise AttributeError("module 'ridge.nn.functional' has no attribute %r" % name)
    return getattr(ridge, name)
