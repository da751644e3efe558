"""First values of weights: torch.nn.init. Each fills its tensor and gives it back; under no_grad, as there."""
import math

from . import _methods, _ridge
from ._helpers import no_grad

__all__ = """calculate_gain zeros_ ones_ constant_ uniform_ normal_ trunc_normal_ eye_ dirac_ xavier_uniform_ xavier_normal_ kaiming_uniform_
kaiming_normal_ orthogonal_""".split()


def calculate_gain(nonlinearity, param=None):
    """By how much a nonlinearity's inputs are scaled up."""
    slope = 0.01 if param is None else param
    gains = {"tanh": 5 / 3, "relu": math.sqrt(2), "leaky_relu": math.sqrt(2 / (1 + slope**2)), "selu": 0.75}
    return gains.get(nonlinearity, 1.0)


def _fill(t, v):
    with no_grad():
        return t.assign_(v.astype(t.dtype))


def constant_(tensor, val):
    return _fill(tensor, _methods.full(tensor.shape, float(val)))


def zeros_(tensor):
    return constant_(tensor, 0.0)


def ones_(tensor):
    return constant_(tensor, 1.0)


def uniform_(tensor, a=0.0, b=1.0):
    return _fill(tensor, _ridge.rand(tensor.shape) * (b - a) + a)


def normal_(tensor, mean=0.0, std=1.0):
    return _fill(tensor, _ridge.randn(tensor.shape) * std + mean)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """A normal distribution between two bounds."""
    from ._numbers import erfinv

    low, high = (math.erf((v - mean) / std / math.sqrt(2)) for v in (a, b))
    x = erfinv(_ridge.rand(tensor.shape) * (high - low) + low) * (std * math.sqrt(2)) + mean
    return _fill(tensor, _ridge.clamp(x, a, b))


def eye_(tensor):
    return _fill(tensor, _ridge.eye(*tensor.shape))


def dirac_(tensor, groups=1):
    """A convolution that gives its input."""
    out, channels = tensor.shape[0] // groups, tensor.shape[1]
    middle = tuple(n // 2 for n in tensor.shape[2:])
    one = _ridge.eye(out, channels).reshape((out, channels) + (1,) * len(middle)).tile((groups, 1) + (1,) * len(middle))
    edge = [(0, 0), (0, 0)] + [(m, n - m - 1) for m, n in zip(middle, tensor.shape[2:])]
    return _fill(tensor, _methods.pad(one, edge))


def _fans(t):
    if t.ndim < 2:
        _methods._invalid("init: a weight has two axes or more; found %s" % (t.shape,))
    window = math.prod(t.shape[2:])
    return t.shape[1] * window, t.shape[0] * window


def xavier_uniform_(tensor, gain=1.0):
    bound = gain * math.sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_fans(tensor))))


def _kaiming(tensor, a, mode, nonlinearity):
    return calculate_gain(nonlinearity, a) / math.sqrt(_fans(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    bound = math.sqrt(3) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity))


def orthogonal_(tensor, gain=1.0):
    """Rows or columns of length 1 at right angles."""
    from . import linalg

    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q, r = linalg.qr(_ridge.randn((max(rows, columns), min(rows, columns))))
    q = q * _ridge.sign(r.diagonal(0, 0, 1))
    return _fill(tensor, (q if rows >= columns else q.T).reshape(tensor.shape) * gain)
