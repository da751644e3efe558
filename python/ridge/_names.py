"""NumPy's and PyTorch's other names of the same functions."""
from . import _arrange, _helpers, _methods, _numbers, _order, _ridge
from ._ridge import Tensor

# ours (header's) -> NumPy's, PyTorch's and the array API's
NAMES = {
    "add": "", "sub": "subtract", "mul": "multiply", "div": "true_divide", "floordiv": "floor_divide", "mod": "remainder", "pow": "power",
    "neg": "negative", "abs": "absolute", "recip": "reciprocal", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "logical_not": "", "bitwise_not": "bitwise_invert invert", "eq": "equal_to",
    "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "shl": "bitwise_left_shift left_shift",
    "shr": "bitwise_right_shift right_shift", "cat": "concatenate", "clamp": "", "max": "amax", "min": "amin", "prod": "", "round": "rint around",
    "trunc": "fix", "cumsum": "cumulative_sum_", "matmul": "mm bmm", "layernorm": "layer_norm", "rmsnorm": "rms_norm",
    "groupnorm": "group_norm", "batchnorm": "batch_norm_", "permute": "permute_dims", "attention": "scaled_dot_product_attention",
    "bce": "binary_cross_entropy", "bce_with_logits": "binary_cross_entropy_with_logits", "square": "", "dot": "vdot", "sigmoid": "expit",
}
__all__ = []

# Functions of no tensor, or of several alike: no methods.
CREATE = set("""tril_indices triu_indices diag_indices indices identity scalar_tensor is_tensor logspace geomspace hann_window hamming_window
blackman_window bartlett_window hanning hamming blackman bartlett block_diag cartesian_prod chain_matmul dstack column_stack row_stack
broadcast_tensors lexsort ravel_multi_index compress extract polyval""".split())


def _or_pair(one, pair):
    """A reduction, or with a second tensor the elementwise function, as torch.max."""

    def f(x, *args, **kw):
        return pair(x, args[0]) if args and isinstance(args[0], Tensor) else one(x, *args, **kw)

    f.__doc__ = one.__doc__
    return f


def _install():
    for ours, others in NAMES.items():
        for name in others.split():
            globals()[name] = getattr(_ridge, ours)
            __all__.append(name)
            if hasattr(Tensor, ours) and not hasattr(Tensor, name):
                setattr(Tensor, name, getattr(Tensor, ours))
    for name in _methods.FUNCTIONS:
        globals()[name] = getattr(_methods, name)
        __all__.append(name)
    more = {"repeat": _methods.np_repeat, "split": _methods.np_split, "array": _ridge.tensor, "empty": _ridge.zeros, "Tensor": Tensor,
            "empty_like": _methods.zeros_like, "float": _ridge.float32, "double": _ridge.float64, "half": _ridge.float16,
            "long": _ridge.int64, "int": _ridge.int32, "gelu": _methods.gelu, "arctan2": _methods.atan2, "maximum": _ridge.maximum,
            "concat": _methods.concat, "concatenate": _methods.concat, "result_type": result_type, "promote_types": result_type, "div": _methods.divide, "true_divide": _methods.divide,
            "clamp_min": _methods.clamp_min, "clamp_max": _methods.clamp_max, "ravel": lambda x: x.reshape(-1),
            "t": lambda x: x.T, "asanyarray": _helpers.asarray, "as_tensor": _helpers.asarray, "ascontiguousarray": _helpers.asarray,
            "max": _or_pair(_ridge.max, _ridge.maximum), "min": _or_pair(_ridge.min, _ridge.minimum),
            "ndim": lambda x: _methods._t(x).ndim, "shape": lambda x: _methods._t(x).shape, "size": lambda x: _methods._t(x).size}
    for name, f in more.items():
        globals()[name] = f
        __all__.append(name)
    for module in (_order, _arrange, _numbers):
        for name in module.__all__:
            globals()[name] = f = getattr(module, name)
            __all__.append(name)
            if name not in CREATE and not hasattr(Tensor, name):
                setattr(Tensor, name, f)
    Tensor.div = _methods.divide
    for name in "cross cov addmm rot90 average".split():
        setattr(Tensor, name, getattr(_methods, name))
    Tensor.ravel = lambda x: x.reshape(-1)
    Tensor.t = lambda x: x.T
    Tensor.__pos__ = Tensor.__pos__


def result_type(*xs):
    """The dtype of an operation on these, as torch.result_type's rules."""
    from ._helpers import dtype

    zero = None
    for x in xs:
        if isinstance(x, Tensor):
            v = _ridge.zeros((1,) * min(x.ndim, 1), x.dtype)
        elif isinstance(x, (bool, int, float)):
            v = x
        else:
            v = _ridge.zeros((1,), dtype(x))
        zero = v if zero is None else zero + v
    return zero.dtype if isinstance(zero, Tensor) else _ridge.tensor(zero).dtype


_install()
