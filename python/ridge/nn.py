"""Layers. Names, shapes and first values of weights are PyTorch's, so that state dicts can be exchanged.

    class Net(ridge.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = ridge.nn.Linear(784, 10)
        def forward(self, x):
            return self.fc(x.flatten(1))
"""
import math
import random as _random
import sys as _sys

from . import _methods, _ridge, functional
from ._ridge import Tensor, tensor

__all__ = """Module Parameter Sequential ModuleList Linear Conv1d Conv2d Conv3d ConvTranspose2d BatchNorm1d BatchNorm2d BatchNorm3d
LayerNorm RMSNorm GroupNorm InstanceNorm2d Embedding Dropout Flatten Identity MaxPool2d AvgPool2d MultiheadAttention LSTM GRU ReLU GELU SiLU Tanh
Sigmoid Softmax LogSoftmax LeakyReLU ELU CrossEntropyLoss MSELoss L1Loss BCELoss BCEWithLogitsLoss NLLLoss HuberLoss functional
ConvTranspose1d ConvTranspose3d MaxPool1d MaxPool3d AvgPool1d AvgPool3d AdaptiveAvgPool2d Upsample PixelShuffle Unflatten Dropout1d Dropout2d
Dropout3d InstanceNorm1d InstanceNorm3d ModuleDict ParameterList PReLU ReLU6 Hardswish Hardsigmoid Hardtanh Mish SELU CELU Softplus Softsign
LogSigmoid GLU ZeroPad2d ReflectionPad2d ReplicationPad2d SmoothL1Loss KLDivLoss init utils""".split()


def Parameter(x, requires_grad=True):
    """A tensor that is trained."""
    return tensor(x, requires_grad=requires_grad)


class Module:
    """Holds parameters, buffers and other modules under names, and knows how to go forward."""

    def __init__(self):
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_buffers", {})
        object.__setattr__(self, "_modules", {})
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "_path", "")
        object.__setattr__(self, "_id", _random.getrandbits(64))

    def __setattr__(self, name, v):
        for table in (self._parameters, self._buffers, self._modules):
            table.pop(name, None)
        if isinstance(v, Module):
            self._modules[name] = v
            v._rename(self._path + "." + name if self._path else name)
        elif isinstance(v, Tensor) and v.requires_grad:
            self._parameters[name] = v
        object.__setattr__(self, name, v)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            table.pop(name, None)
        object.__delattr__(self, name)

    def _rename(self, path):
        object.__setattr__(self, "_path", path)
        for name, m in self._modules.items():
            m._rename(path + "." + name)

    def register_buffer(self, name, v, persistent=True):
        """State that is saved and not trained."""
        object.__setattr__(self, name, v)
        self._buffers[name] = v

    def register_parameter(self, name, v):
        setattr(self, name, v)

    def add_module(self, name, m):
        setattr(self, name, m)

    def forward(self, *args, **kw):
        raise NotImplementedError("%s has no forward()" % type(self).__name__)

    def __call__(self, *args, **kw):
        was = _ridge._in_module(self._path or type(self).__name__)
        try:
            return self.forward(*args, **kw)
        finally:
            _ridge._in_module(was)

    # ---- what is inside ----

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, m in self._modules.items():
            yield from m.named_modules(prefix + "." + name if prefix else name)

    def modules(self):
        return (m for _, m in self.named_modules())

    def children(self):
        return iter(self._modules.values())

    def named_children(self):
        return iter(self._modules.items())

    def named_parameters(self, prefix=""):
        for path, m in self.named_modules(prefix):
            for name, p in m._parameters.items():
                yield path + "." + name if path else name, p

    def parameters(self):
        return [p for _, p in self.named_parameters()]

    def named_buffers(self, prefix=""):
        for path, m in self.named_modules(prefix):
            for name, p in m._buffers.items():
                yield path + "." + name if path else name, p

    def buffers(self):
        return [b for _, b in self.named_buffers()]

    def state_dict(self):
        """Parameters and buffers by name: what ridge.save writes."""
        out = {}
        for path, m in self.named_modules():
            for name, p in list(m._parameters.items()) + list(m._buffers.items()):
                out[path + "." + name if path else name] = p
        return out

    def load_state_dict(self, state, strict=True):
        """Takes values by name from a dict of tensors or arrays; shapes must agree."""
        own = self.state_dict()
        missing, unknown = [k for k in own if k not in state], [k for k in state if k not in own]
        if strict and (missing or unknown):
            raise KeyError("load_state_dict: missing %s, unknown %s" % (missing[:8], unknown[:8]))
        for name, t in own.items():
            if name not in state:
                continue
            v = state[name] if isinstance(state[name], Tensor) else tensor(state[name])
            if v.shape != t.shape:
                raise ValueError("load_state_dict: %s has shape %s; the file's is %s" % (name, t.shape, v.shape))
            t.assign_(v.cast(t.dtype))

    def save(self, path):
        from ._helpers import save

        save(self.state_dict(), path)

    def load(self, path, strict=True):
        from ._helpers import load

        self.load_state_dict(load(path), strict)

    # ---- modes ----

    def train(self, mode=True):
        """Dropout and batch norms as in training; modules begin so."""
        for m in self.modules():
            if m.training != mode:
                object.__setattr__(m, "training", mode)
                _ridge._change_mode(m._id)  # a jit that was recorded in the other mode does not serve
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, on=True):
        for p in self.parameters():
            p.requires_grad_(on)
        return self

    def zero_grad(self, set_to_none=True):
        for p in self.parameters():
            p.grad = None

    def apply(self, fn):
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kw):
        """All parameters and buffers in another dtype, in place."""
        for m in self.modules():
            for name, p in list(m._parameters.items()):
                setattr(m, name, tensor(_methods.to(p, *args, **kw), requires_grad=True))
            for name, b in list(m._buffers.items()):
                if "float" in b.dtype.name:
                    m.register_buffer(name, tensor(_methods.to(b, *args, **kw)))
        return self

    def extra_repr(self):
        return ""

    def __repr__(self):
        lines = ["(%s): %s" % (n, repr(m).replace("\n", "\n  ")) for n, m in self._modules.items()]
        head = type(self).__name__ + "("
        return head + ("\n  " + "\n  ".join(lines) + "\n)" if lines else self.extra_repr() + ")")


class Sequential(Module):
    """One module after the other."""

    def __init__(self, *layers):
        super().__init__()
        for i, m in enumerate(layers):
            if not isinstance(m, Module):
                m = Function(m)
            setattr(self, str(i), m)

    def forward(self, x):
        for m in self._modules.values():
            x = m(x)
        return x

    def __getitem__(self, i):
        return list(self._modules.values())[i]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())


class ModuleList(Sequential):
    """Modules in a list."""

    def __init__(self, layers=()):
        super().__init__(*layers)

    def append(self, m):
        setattr(self, str(len(self)), m)
        return self

    def forward(self, *args):
        raise NotImplementedError("a ModuleList only holds modules")


class ModuleDict(ModuleList):
    """Modules by name."""

    def __init__(self, modules=()):
        super().__init__()
        for name, m in dict(modules).items():
            setattr(self, name, m)

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, m):
        setattr(self, name, m)

    def __contains__(self, name):
        return name in self._modules

    def __iter__(self):
        return iter(self._modules)

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class ParameterList(Module):
    """Parameters in a list."""

    def __init__(self, values=()):
        super().__init__()
        for v in values:
            self.append(v)

    def append(self, v):
        setattr(self, str(len(self)), v if v.requires_grad else Parameter(v))
        return self

    def __getitem__(self, i):
        return list(self._parameters.values())[i]

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())


class Function(Module):
    """A function of one tensor as a module."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return self.fn(x)

    def extra_repr(self):
        return getattr(self.fn, "__name__", repr(self.fn))


def _uniform(shape, bound):
    return tensor(_ridge.uniform(shape, -bound, bound), requires_grad=True)


class Linear(Module):
    """x @ weight.T + bias; weight (out, in)."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = _uniform((out_features, in_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, x):
        return _ridge.linear(x, self.weight, self.bias)

    def extra_repr(self):
        return "%d, %d, bias=%s" % (self.in_features, self.out_features, self.bias is not None)


class _Conv(Module):
    axes, transposed = 2, False

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, output_padding=0):
        super().__init__()
        k = (kernel_size,) * self.axes if isinstance(kernel_size, int) else tuple(kernel_size)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        bound = 1 / math.sqrt(second // groups * math.prod(k))
        if padding == "same":
            padding = [p for d, n in zip((dilation,) * self.axes if isinstance(dilation, int) else dilation, k)
                       for p in (d * (n - 1) // 2, d * (n - 1) - d * (n - 1) // 2)]
        self.options = dict(stride=stride, padding=0 if padding == "valid" else padding, dilation=dilation, groups=groups)
        if self.transposed:
            self.options["output_padding"] = output_padding
        self.shown = "%d, %d, kernel_size=%s" % (in_channels, out_channels, k)
        self.weight = _uniform((first, second // groups) + k, bound)
        self.bias = _uniform((out_channels,), bound) if bias else None

    def forward(self, x):
        return self.function(x, self.weight, self.bias, **self.options)

    def extra_repr(self):
        return self.shown


class Conv1d(_Conv):
    axes, function = 1, staticmethod(_ridge.conv1d)


class Conv2d(_Conv):
    axes, function = 2, staticmethod(_ridge.conv2d)


class Conv3d(_Conv):
    axes, function = 3, staticmethod(_ridge.conv3d)


class ConvTranspose2d(_Conv):
    axes, function, transposed = 2, staticmethod(_ridge.conv_transpose2d), True


class ConvTranspose1d(_Conv):
    axes, function, transposed = 1, staticmethod(_ridge.conv_transpose1d), True


class ConvTranspose3d(_Conv):
    axes, function, transposed = 3, staticmethod(_ridge.conv_transpose3d), True


class BatchNorm2d(Module):
    """Statistics of the batch while training, running ones else; x (N, C, ..)."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True):
        super().__init__()
        self.eps, self.momentum, self.num_features = eps, momentum, num_features
        self.weight = tensor(_ridge.ones(num_features), requires_grad=True) if affine else None
        self.bias = tensor(_ridge.zeros(num_features), requires_grad=True) if affine else None
        self.register_buffer("running_mean", _ridge.zeros(num_features))
        self.register_buffer("running_var", _ridge.ones(num_features))
        self.register_buffer("num_batches_tracked", tensor(0))

    def forward(self, x):
        if not self.training:
            return _ridge.batchnorm(x, self.running_mean, self.running_var, self.weight, self.bias, self.eps)
        axes = [i for i in range(x.ndim) if i != 1]
        n = x.size // x.shape[1]
        world = getattr(self, "_world", None)
        if world and world.size > 1:  # shares may differ: sums and the number of values travel together
            both = world.all_reduce(_ridge.cat([x.sum(axes), _ridge._full([1], n, x.dtype)]))
            n = both[-1:].detach()
            mean = both[:-1] / n
            var = world.all_reduce(((x - mean.reshape([1, -1] + [1] * (x.ndim - 2))) ** 2).sum(axes)) / n
        else:
            mean, var = functional.batch_statistics(x)
        functional.follow(self.running_mean, self.running_var, mean, var, n, self.momentum)
        self.num_batches_tracked += 1
        return _ridge.batchnorm(x, mean, var, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return str(self.num_features)


class BatchNorm1d(BatchNorm2d):
    pass


class BatchNorm3d(BatchNorm2d):
    pass


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.shape, self.eps = shape, eps
        self.weight = tensor(_ridge.ones(shape), requires_grad=True) if elementwise_affine else None
        self.bias = tensor(_ridge.zeros(shape), requires_grad=True) if elementwise_affine and bias else None

    def forward(self, x):
        return _ridge.layernorm(x, self.weight, self.bias, self.eps, len(self.shape))


class RMSNorm(Module):
    def __init__(self, size, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = tensor(_ridge.ones(size), requires_grad=True)

    def forward(self, x):
        return _ridge.rmsnorm(x, self.weight, self.eps)


class GroupNorm(Module):
    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True):
        super().__init__()
        self.groups, self.eps = num_groups, eps
        self.weight = tensor(_ridge.ones(num_channels), requires_grad=True) if affine else None
        self.bias = tensor(_ridge.zeros(num_channels), requires_grad=True) if affine else None

    def forward(self, x):
        return _ridge.groupnorm(x, self.groups, self.weight, self.bias, self.eps)


class InstanceNorm2d(Module):
    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return _ridge.instancenorm(x, None, None, self.eps)


class InstanceNorm1d(InstanceNorm2d):
    pass


class InstanceNorm3d(InstanceNorm2d):
    pass


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = tensor(_ridge.randn(num_embeddings, embedding_dim), requires_grad=True)

    def forward(self, x):
        return _ridge.embedding(x, self.weight)


class Dropout(Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, x):
        return _ridge.dropout(x, self.p) if self.training and self.p else x


class Dropout1d(Dropout):
    """Whole channels of (N, C, ..)."""

    def forward(self, x):
        if not self.training or not self.p:
            return x
        keep = _ridge.ones(x.shape[:2] + (1,) * (x.ndim - 2), dtype=x.dtype, device=x.device)
        return x * _ridge.dropout(keep, self.p)


class Dropout2d(Dropout1d):
    pass


class Dropout3d(Dropout1d):
    pass


class Unflatten(Module):
    def __init__(self, dim, sizes):
        super().__init__()
        self.dim, self.sizes = dim, sizes

    def forward(self, x):
        return _ridge.unflatten(x, self.dim, self.sizes)


class Flatten(Module):
    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start, self.end = start_dim, end_dim

    def forward(self, x):
        return x.flatten(self.start, self.end)


class Identity(Module):
    def forward(self, x):
        return x


class MaxPool2d(Module):
    function = staticmethod(_ridge.max_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0, **options):
        super().__init__()
        self.options = dict(options, size=kernel_size, stride=stride, padding=padding)

    def forward(self, x):
        return self.function(x, **self.options)


class AvgPool2d(MaxPool2d):
    function = staticmethod(_ridge.avg_pool2d)


class MaxPool1d(MaxPool2d):
    function = staticmethod(_ridge.max_pool1d)


class MaxPool3d(MaxPool2d):
    function = staticmethod(_ridge.max_pool3d)


class AvgPool1d(MaxPool2d):
    function = staticmethod(_ridge.avg_pool1d)


class AvgPool3d(MaxPool2d):
    function = staticmethod(_ridge.avg_pool3d)


class AdaptiveAvgPool2d(Module):
    def __init__(self, output_size):
        super().__init__()
        self.size = output_size

    def forward(self, x):
        return functional.adaptive_avg_pool2d(x, self.size)


class Upsample(Module):
    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None):
        super().__init__()
        self.options = size, scale_factor, mode, align_corners

    def forward(self, x):
        return functional.interpolate(x, *self.options)


class PixelShuffle(Module):
    def __init__(self, upscale_factor):
        super().__init__()
        self.r = upscale_factor

    def forward(self, x):
        return functional.pixel_shuffle(x, self.r)


class ZeroPad2d(Module):
    mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)

    def forward(self, x):
        return functional.pad(x, self.padding, self.mode)


class ReflectionPad2d(ZeroPad2d):
    mode = "reflect"


class ReplicationPad2d(ZeroPad2d):
    mode = "replicate"


class PReLU(Module):
    def __init__(self, num_parameters=1, init=0.25):
        super().__init__()
        self.weight = tensor(_ridge.ones(num_parameters) * init, requires_grad=True)

    def forward(self, x):
        return functional.prelu(x, self.weight)


class MultiheadAttention(Module):
    """Self-attention of (N, T, size) with in_proj and out_proj."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, causal=False):
        super().__init__()
        self.heads, self.p, self.causal = num_heads, dropout, causal
        bound = math.sqrt(6 / (embed_dim + 3 * embed_dim))
        self.in_proj_weight = _uniform((3 * embed_dim, embed_dim), bound)
        self.in_proj_bias = tensor(_ridge.zeros(3 * embed_dim), requires_grad=True) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)

    def forward(self, x, mask=None):
        n, t, size = x.shape
        qkv = _ridge.linear(x, self.in_proj_weight, self.in_proj_bias).reshape(n, t, 3, self.heads, size // self.heads)
        q, k, v = (qkv[:, :, i].permute(0, 2, 1, 3) for i in range(3))
        y = _ridge.attention(q, k, v, mask, self.p if self.training else 0, self.causal)
        return self.out_proj(y.permute(0, 2, 1, 3).reshape(n, t, size))


class LSTM(Module):
    """torch.nn.LSTM: y, (h, c) of (T, N, in), or (N, T, in) with batch_first; planned and compiled for one step."""

    _blocks, _run, _states = 4, staticmethod(_ridge._lstm), 2

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False):
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        rows, bound, ways = self._blocks * hidden_size, 1 / math.sqrt(hidden_size), 1 + bool(bidirectional)
        for name, layer in self._names():
            width = input_size if layer == 0 else ways * hidden_size
            shapes = [(rows, width), (rows, hidden_size)] + [(rows,), (rows,)] * bool(bias)
            for part, shape in zip(self._parts, shapes):
                setattr(self, part + name, _uniform(shape, bound))

    _parts = "weight_ih_l", "weight_hh_l", "bias_ih_l", "bias_hh_l"

    def _names(self):
        return [("%d%s" % (k, way), k) for k in range(self.num_layers) for way in ("", "_reverse")[: 1 + bool(self.bidirectional)]]

    def _begin(self, state, i):
        if state is None:
            return None
        return _ridge.stack([s[i] for s in (state if self._states == 2 else (state,))], 0)

    def forward(self, x, state=None):
        x, sides, last = x.permute(1, 0, 2) if self.batch_first else x, [], []
        for i, (name, layer) in enumerate(self._names()):
            back = name.endswith("_reverse")
            if layer and not back and self.training and self.dropout:
                x = _ridge.dropout(x, self.dropout)
            weights = [getattr(self, part + name) for part in self._parts[: 4 if self.bias else 2]]
            every = self._run(x, weights, self._begin(state, i), back)
            sides.append(every[0, :-1] if back else every[0, 1:])
            last.append(every[:, 0 if back else -1])
            if len(sides) == 1 + bool(self.bidirectional):
                x, sides = sides[0] if len(sides) == 1 else _ridge.cat(sides, 2), []
        last = _ridge.stack(last, 1)
        return x.permute(1, 0, 2) if self.batch_first else x, (last[0], last[1]) if self._states == 2 else last[0]

    def extra_repr(self):
        return "%d, %d, num_layers=%d" % (self.input_size, self.hidden_size, self.num_layers)


class GRU(LSTM):
    """torch.nn.GRU: y, h."""

    _blocks, _run, _states = 3, staticmethod(_ridge._gru), 1


def _activation(name, fn, *names):
    def __init__(self, *args, inplace=False, **kw):
        Module.__init__(self)
        self.args, self.kw = args, kw

    def forward(self, x):
        return fn(x, *self.args, **self.kw)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": "%s as a module." % name})


ReLU, SiLU, Tanh, Sigmoid = (_activation(n, f) for n, f in (
    ("ReLU", _ridge.relu), ("SiLU", _ridge.silu), ("Tanh", _ridge.tanh), ("Sigmoid", _ridge.sigmoid)))
GELU, Softmax, LogSoftmax = _activation("GELU", _methods.gelu), _activation("Softmax", _ridge.softmax), _activation("LogSoftmax", _ridge.log_softmax)
LeakyReLU, ELU = _activation("LeakyReLU", _ridge.leaky_relu), _activation("ELU", _ridge.elu)
ReLU6, Hardswish, Hardsigmoid, Hardtanh, Mish, SELU, CELU, Softplus, Softsign, LogSigmoid, GLU = (_activation(n, f) for n, f in (
    ("ReLU6", _ridge.relu6), ("Hardswish", _ridge.hardswish), ("Hardsigmoid", _ridge.hardsigmoid),
    ("Hardtanh", lambda x, min_val=-1.0, max_val=1.0: _ridge.hardtanh(x, min_val, max_val)), ("Mish", _ridge.mish), ("SELU", _ridge.selu),
    ("CELU", lambda x, alpha=1.0: _ridge.celu(x, alpha)), ("Softplus", _methods.softplus), ("Softsign", _ridge.softsign),
    ("LogSigmoid", _ridge.logsigmoid), ("GLU", lambda x, dim=-1: _ridge.glu(x, dim))))


def _loss(name, fn):
    def __init__(self, **kw):
        Module.__init__(self)
        self.kw = kw

    def forward(self, x, target):
        return fn(x, target, **self.kw)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": "%s as a module." % name})


CrossEntropyLoss, MSELoss, L1Loss = _loss("CrossEntropyLoss", _ridge.cross_entropy), _loss("MSELoss", _ridge.mse_loss), _loss("L1Loss", _ridge.l1_loss)
BCELoss, BCEWithLogitsLoss = _loss("BCELoss", _ridge.bce), _loss("BCEWithLogitsLoss", _ridge.bce_with_logits)
NLLLoss, HuberLoss = _loss("NLLLoss", _ridge.nll_loss), _loss("HuberLoss", _ridge.huber_loss)
SmoothL1Loss, KLDivLoss = _loss("SmoothL1Loss", _ridge.smooth_l1_loss), _loss("KLDivLoss", _ridge.kl_div)


from . import _layers, init, utils  # noqa: E402
from ._layers import *  # noqa: F401,F403,E402

__all__ += _layers.__all__
for _part in ("functional", "init", "utils"):  # import ridge.nn.functional as F
    _sys.modules[__name__ + "." + _part] = globals()[_part]
_sys.modules[__name__ + ".utils.rnn"] = utils.rnn
