"""What C asks of Python (dtypes by other names, exceptions, text), and functions that are easier to write here."""
import builtins

from . import _ridge
from ._ridge import DType, Tensor, tensor

__all__ = """Error InvalidError AxisError OutOfMemoryError FileError CompilerError DeviceError UnsupportedError dtype finfo iinfo grad
no_grad enable_grad is_grad_enabled manual_seed save load realize asarray from_dlpack value_and_grad scalar set_printoptions""".split()

# ---- exceptions ----


class Error(RuntimeError):
    """What the library refused, with file and line of the call. `status` is the header's code."""

    status = 11


class InvalidError(Error, ValueError):
    """Shapes, dtypes or values that do not fit."""


class AxisError(InvalidError, IndexError):
    """An axis that the tensor does not have; a ValueError and an IndexError, as NumPy's."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory, the host's or the device's."""


class FileError(Error, OSError):
    """A file could not be read or written, or its text does not parse."""


class CompilerError(Error):
    """The C compiler failed or is missing."""


class DeviceError(Error):
    """The device failed."""


class UnsupportedError(Error, NotImplementedError, TypeError):
    """Not supported on this device, or none of Ridge's dtypes."""


for _e in (Error, InvalidError, AxisError, OutOfMemoryError, FileError, CompilerError, DeviceError, UnsupportedError):
    _e.__module__ = "ridge"  # what a traceback says


_CLASSES = {1: InvalidError, 2: FileError, 5: OutOfMemoryError, 6: FileError, 7: CompilerError, 8: DeviceError, 10: UnsupportedError}


def error_of(status, text):
    import re

    is_axis = status == 1 and re.search(r"(^|: )(axis|a new axis at) -?\d+ of ", text)
    e = (AxisError if is_axis else _CLASSES.get(status, Error))(text)
    e.status = status
    return e


# ---- dtypes ----

_BY_NAME = {d.name: d for d in vars(_ridge).values() if isinstance(d, DType)}
_BY_NAME.update(
    bool_=_ridge.bool_, half=_ridge.float16, float=_ridge.float32, double=_ridge.float64, int=_ridge.int32, long=_ridge.int64,
    short=_ridge.int16, float8_e4m3fn=_ridge.float8_e4m3, b=_ridge.int8, f4=_ridge.float32, f8=_ridge.float64, i4=_ridge.int32,
    i8=_ridge.int64, f=_ridge.float32, d=_ridge.float64)
_BY_NAME.update({_short: _BY_NAME[_name] for _short, _name in dict(
    f16="float16", bf16="bfloat16", f32="float32", f64="float64", i16="int16", i32="int32", i64="int64", u8="uint8", u16="uint16",
    u32="uint32", u64="uint64").items()})
_PYTHON = {builtins.float: _ridge.float32, builtins.int: _ridge.int64, builtins.bool: _ridge.bool_}


def dtype(d):
    """The dtype that a name, NumPy's or PyTorch's dtype, or float, int, bool stands for."""
    if isinstance(d, DType):
        return d
    try:
        known = _PYTHON.get(d)
    except TypeError:
        known = None
    if known is None:
        name = d if isinstance(d, str) else getattr(d, "name", None) or getattr(d, "__name__", None) or str(d)
        known = _BY_NAME.get(str(name).rpartition(".")[2])
    if known is None:
        raise TypeError("ridge: %r is no dtype; there are %s" % (d, ", ".join(x for x in _BY_NAME if x[-1:].isdigit() or x == "bool")))
    return known


class finfo:
    """Limits of a float dtype, as numpy.finfo."""

    _BITS = {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52), "float8_e4m3": (4, 3), "float8_e5m2": (5, 2)}

    def __init__(self, t):
        self.dtype = t.dtype if isinstance(t, Tensor) else dtype(t)
        if self.dtype.name not in self._BITS:
            raise ValueError("finfo: %s is no float" % self.dtype.name)
        exponent, mantissa = self._BITS[self.dtype.name]
        bias = 2 ** (exponent - 1) - 1
        self.bits = self.dtype.itemsize * 8
        self.eps = 2.0**-mantissa
        self.max = 448.0 if self.dtype.name == "float8_e4m3" else (2 - self.eps) * 2.0**bias
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (1 - bias)
        self.resolution = 10.0 ** -int(mantissa * 0.30103)


class iinfo:
    """Limits of an integer dtype, as numpy.iinfo."""

    def __init__(self, t):
        self.dtype = t.dtype if isinstance(t, Tensor) else dtype(t)
        if "int" not in self.dtype.name:
            raise ValueError("iinfo: %s is no integer" % self.dtype.name)
        self.bits = self.dtype.itemsize * 8
        unsigned = self.dtype.name[0] == "u"
        self.min = 0 if unsigned else -(2 ** (self.bits - 1))
        self.max = 2**self.bits - 1 if unsigned else 2 ** (self.bits - 1) - 1


# ---- data ----


def stack_list(items):
    """Nested lists that have tensors or arrays in them."""
    return _ridge.stack([x if isinstance(x, Tensor) else tensor(x) for x in items], 0)


def asarray(x, dtype=None, device=None, copy=None):
    """x as a tensor: itself if it is one of this dtype on this device."""
    if "complex" in str(dtype) or isinstance(x, complex) or "complex" in str(getattr(x, "dtype", "")):
        return complex_of(x, dtype)
    if isinstance(x, Tensor) and not copy:
        if (dtype is None or x.dtype == globals()["dtype"](dtype)) and (device is None or x.device == str(device).upper()):
            return x
    if copy is False:
        if isinstance(x, Tensor) or not (hasattr(x, "__dlpack__") or hasattr(x, "__array__")):
            raise ValueError("asarray: this needs a copy")
        return _ridge.from_numpy(x) if not hasattr(x, "__dlpack__") else _ridge._from_dlpack(x)
    return tensor(x, dtype, device)


def complex_of(x, dtype=None):
    """x as a ComplexTensor."""
    from . import _complex

    return _complex.of(x, dtype)


def dlpack_of(x):
    """A capsule from a producer whose work on it is done: of a GPU, the producer puts its work before that of the legacy default
    stream, and that is waited for."""
    cuda = int(x.__dlpack_device__()[0]) == 2 if hasattr(x, "__dlpack_device__") else False
    kw = {"stream": 1} if cuda else {}
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **kw)
    except TypeError:
        capsule = x.__dlpack__(**kw)
    if cuda:
        _wait_for_cuda()
    return capsule


_cuda = []  # the driver, and CUDA's legacy default stream


def _wait_for_cuda():
    if not _cuda:
        import ctypes

        _cuda[:] = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(1)
    _cuda[0].cuStreamSynchronize(_cuda[1])


def from_dlpack(x, /, *, device=None, copy=None):
    """A tensor of the memory of another library's array: no copy."""
    t = _ridge._from_dlpack(x)
    return tensor(t, device=device) if device is not None or copy else t


def scalar(v, dtype=None, device=None):
    """A number that changes without compiling anything again: a learning rate, a step count; x.set(v)."""
    return _ridge._scalar(v, dtype if dtype is not None else _ridge.float32, device)


def reduce_of(x):
    name = x.dtype.name
    data = memoryview(x if name not in _ODD else _ridge._bitcast(x, _BITS_OF[x.itemsize])).tobytes()
    return _rebuild, (name, x.shape, data, x.requires_grad)


_ODD = ("bfloat16", "float8_e4m3", "float8_e5m2")  # Python has no format for these
_BITS_OF = {1: _ridge.uint8, 2: _ridge.uint16}


def _rebuild(name, shape, data, requires_grad):
    d = _BY_NAME[name]
    as_ = d if name not in _ODD else _BITS_OF[d.itemsize]
    formats = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
               "uint64": "Q", "float16": "e", "float32": "f", "float64": "d"}
    import array

    if as_.name in ("bool", "float16"):  # no array.array of these
        x = _ridge._bitcast(tensor(memoryview(data).cast("H")), as_) if as_.name == "float16" else tensor(memoryview(data)) != 0
    else:
        x = tensor(array.array(formats[as_.name], data) if data else [], as_)
    x = x.reshape(shape)
    if as_ is not d:
        x = _ridge._bitcast(x, d)
    return tensor(x, requires_grad=requires_grad)


# ---- text ----

_OPTIONS = {"edge": 3, "threshold": 1000, "precision": 4}


def set_printoptions(threshold=None, edgeitems=None, precision=None):
    """How repr() shows values."""
    for k, v in (("threshold", threshold), ("edge", edgeitems), ("precision", precision)):
        if v is not None:
            _OPTIONS[k] = v


def _format(v):
    if isinstance(v, builtins.float):
        return ("%." + str(_OPTIONS["precision"]) + "g") % v if v != int(v if v == v and abs(v) != float("inf") else 0.5) else "%d." % v
    return str(v)


def _rows(v, shape, at, edge):
    """Nested lists of the values that are shown, from the flat memory v on; None for those that are not."""
    if not shape:
        return v[at]
    n, size = shape[0], 1
    for d in shape[1:]:
        size *= d
    some = range(n) if not edge or n <= 2 * edge else list(range(edge)) + [None] + list(range(n - edge, n))
    return [None if i is None else _rows(v, shape[1:], at + i * size, edge) for i in some]


def _text(v, indent):
    if not isinstance(v, list):
        return "..." if v is None else _format(v)
    if v and isinstance(v[0], list):
        return "[" + (",\n" + " " * (indent + 1)).join(_text(r, indent + 1) for r in v) + "]"
    return "[" + ", ".join(_text(r, indent) for r in v) + "]"


def repr_of(x):
    edge = _OPTIONS["edge"] if x.size > _OPTIONS["threshold"] else 0
    d = x.dtype.name
    tail = ", dtype=" + d if d not in ("float32", "int64", "bool") else ""
    tail += ", device=" + x.device if x.device != _ridge.device() else ""
    tail += ", requires_grad=True" if x.requires_grad else ""
    try:
        y = x.float() if d in _ODD or d == "float16" else x
        v = memoryview(y.reshape(-1)) if x.size else []
        return "tensor(" + _text(_rows(v, x.shape, 0, edge), 7) + tail + ")"
    except Error as e:
        return "tensor(<%s> %s%s)" % (e, x.shape, tail)


# ---- gradients ----


class no_grad:
    """with no_grad(): what this thread makes inside leads to no parameter. Also a decorator."""

    def __enter__(self):
        _ridge._no_grad(1)
        return self

    def __exit__(self, *exc):
        _ridge._no_grad(-1)

    def __call__(self, fn):
        import functools

        @functools.wraps(fn)
        def inner(*args, **kw):
            with no_grad():
                return fn(*args, **kw)

        return inner


class enable_grad:
    """Gradients flow unless no_grad() is around."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


def is_grad_enabled():
    return _ridge._no_grad(0) == 0


def grad(of, wrt=None, grad_outputs=None, allow_unused=False):
    """grad(loss, [a, b]): gradients as torch.autograd.grad's. grad(f): the function of the gradient of f, as jax.grad's."""
    if callable(of) and not isinstance(of, Tensor):
        return lambda *args, **kw: value_and_grad(of, wrt or 0)(*args, **kw)[1]
    one = isinstance(wrt, Tensor)
    out = _ridge._grad(of, [wrt] if one else list(wrt), grad_outputs, allow_unused)
    return out[0] if one else out


def value_and_grad(fn, argnums=0):
    """A function that returns fn's value and its gradient by argument number argnums."""

    def inner(*args, **kw):
        at = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        args = [asarray(a) if i in at else a for i, a in enumerate(args)]
        v = fn(*args, **kw)
        g = _ridge._grad(v, [args[i] for i in at], None, False)
        return v, (g[0] if isinstance(argnums, int) else tuple(g))

    return inner


def manual_seed(seed, device=None):
    """Random numbers begin again; the same on every device for a seed."""
    _ridge.seed(seed, device)


def realize(*xs):
    """Computes several tensors in one plan."""
    _ridge._realize(xs[0] if len(xs) == 1 and not isinstance(xs[0], Tensor) else xs)


# ---- files ----


def save(obj, path):
    """A dict of tensors as a safetensors file; one tensor as a .npy file."""
    if isinstance(obj, Tensor):
        return _ridge.save_npy(obj, path)
    obj = obj.state_dict() if hasattr(obj, "state_dict") else obj
    _ridge._save_file(path, list(obj), list(obj.values()))


def load(path, device=None):
    """The tensors of a safetensors file as a dict; that of a .npy file."""
    return _ridge.load_npy(path, device) if str(path).endswith(".npy") else _ridge._load_file(path, device)


def bind(jit, obj):
    """A jit that is a method."""
    import types

    return types.MethodType(jit, obj)


from . import _index, _methods  # noqa: E402

_ridge._set_helpers(dict(
    error_of=error_of, dtype=dtype, tensor=tensor, stack_list=stack_list, repr_of=repr_of, reduce_of=reduce_of, dlpack_of=dlpack_of,
    complex_of=complex_of, getitem=_index.getitem, setitem=_index.setitem, bind=bind))
