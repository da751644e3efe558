"""Ridge: tensors that know what they cost.

    import ridge
    x = ridge.tensor([[1.0, 2.0], [3.0, 4.0]])
    print((x @ x).sum().item())

Nothing runs until a value is asked for: item(), numpy(), print, realize(). docs/python.md is the guide.
"""
import os as _os

from . import _ridge
from ._ridge import *  # noqa: F401,F403  (what has no underscore)
from ._ridge import DType, Tensor, __version__, jit, tensor

_ridge._set_package(_os.path.dirname(_os.path.abspath(__file__)) + _os.sep)

from . import _helpers  # noqa: E402
from ._names import *  # noqa: F401,F403,E402
from ._helpers import *  # noqa: F401,F403,E402
from ._index import getitem as _getitem  # noqa: F401,E402

bool = _ridge.bool_  # the dtypes have NumPy's names
newaxis = None
pi, e, inf, nan = 3.141592653589793, 2.718281828459045, 1e999, -(1e999 - 1e999)


def _array_namespace(x, *, api_version=None):
    from . import array_api

    return array_api


Tensor.__array_namespace__ = _array_namespace


def __getattr__(name):
    """Parts that a program may not need are imported when they are used."""
    import importlib

    if name in ("nn", "optim", "array_api", "linalg", "data", "fft", "world"):
        return importlib.import_module("." + name, __name__)
    if name in ("complex64", "complex128", "ComplexTensor"):
        return getattr(importlib.import_module("._complex", __name__), name)
    if name in ("profile", "diagnose", "Profile", "report", "command"):
        module = importlib.import_module("._profile", __name__)
        for n in ("profile", "diagnose", "Profile", "report", "command"):
            globals()[n] = getattr(module, n)
        return globals()[name]
    if name in _LINALG:
        return getattr(importlib.import_module(".linalg", __name__), _LINALG[name] or name)
    if name == "special":
        return importlib.import_module(__name__)  # torch.special's names are functions here
    raise AttributeError("module 'ridge' has no attribute %r" % name)


# torch's names of functions of ridge.linalg
_LINALG = {n: None for n in "det slogdet cholesky qr svd matrix_power matrix_norm vector_norm multi_dot matrix_rank".split()}
_LINALG.update(inverse="inv", pinverse="pinv", linalg_solve="solve")
