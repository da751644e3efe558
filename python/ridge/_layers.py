"""Layers that hold little: cells, transformers, pooling, padding, losses around functional.py. Part of ridge.nn."""
import math

from . import _ridge, functional
from ._ridge import tensor
from .nn import Dropout, LayerNorm, Linear, Module, ModuleList, _activation, _uniform

__all__ = """RNNCell LSTMCell GRUCell RNN Bilinear EmbeddingBag TransformerEncoderLayer TransformerDecoderLayer TransformerEncoder
TransformerDecoder CosineSimilarity PairwiseDistance Fold Unfold ChannelShuffle PixelUnshuffle LocalResponseNorm AlphaDropout
AdaptiveAvgPool1d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d LPPool1d LPPool2d UpsamplingNearest2d
UpsamplingBilinear2d Softmin Softshrink Hardshrink Tanhshrink Threshold Softmax2d RReLU ConstantPad1d ConstantPad2d ConstantPad3d ZeroPad1d
ZeroPad3d ReflectionPad1d ReflectionPad3d ReplicationPad1d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d CTCLoss
CosineEmbeddingLoss GaussianNLLLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelSoftMarginLoss MultiMarginLoss PoissonNLLLoss
SoftMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss ParameterDict""".split()


class ParameterDict(Module):
    """Parameters under names."""

    def __init__(self, parameters=()):
        super().__init__()
        for name, p in dict(parameters).items():
            self[name] = p

    def __setitem__(self, name, p):
        setattr(self, name, tensor(p, requires_grad=True))

    def __getitem__(self, name):
        return self._parameters[name]

    def __iter__(self):
        return iter(self._parameters)

    def __len__(self):
        return len(self._parameters)

    def __contains__(self, name):
        return name in self._parameters

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()


# ---- recurrent ----


class _Cell(Module):
    """One step of a recurrent layer: x (N, in) or (in)."""

    blocks = 1

    def __init__(self, input_size, hidden_size, bias=True):
        super().__init__()
        self.input_size, self.hidden_size, bound = input_size, hidden_size, 1 / math.sqrt(hidden_size)
        self.weight_ih = _uniform((self.blocks * hidden_size, input_size), bound)
        self.weight_hh = _uniform((self.blocks * hidden_size, hidden_size), bound)
        self.bias_ih = _uniform((self.blocks * hidden_size,), bound) if bias else None
        self.bias_hh = _uniform((self.blocks * hidden_size,), bound) if bias else None

    def _zero(self, x):
        return _ridge.zeros(x.shape[:-1] + (self.hidden_size,), dtype=x.dtype)

    def _both(self, x, h):
        return _ridge.linear(x, self.weight_ih, self.bias_ih), _ridge.linear(h, self.weight_hh, self.bias_hh)


class RNNCell(_Cell):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh"):
        super().__init__(input_size, hidden_size, bias)
        self.nonlinearity = {"tanh": _ridge.tanh, "relu": _ridge.relu}[nonlinearity]

    def forward(self, x, h=None):
        a, b = self._both(x, self._zero(x) if h is None else h)
        return self.nonlinearity(a + b)


class LSTMCell(_Cell):
    blocks = 4

    def forward(self, x, state=None):
        h, c = (self._zero(x),) * 2 if state is None else state
        a, b = self._both(x, h)
        i, f, g, o = (a + b).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c


class GRUCell(_Cell):
    blocks = 3

    def forward(self, x, h=None):
        h = self._zero(x) if h is None else h
        a, b = (v.chunk(3, -1) for v in self._both(x, h))
        r, z = (a[0] + b[0]).sigmoid(), (a[1] + b[1]).sigmoid()
        n = (a[2] + r * b[2]).tanh()
        return n + z * (h - n)


class RNN(Module):
    """torch.nn.RNN: y, h of (T, N, in), or (N, T, in) with batch_first; a step after the other."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0):
        super().__init__()
        self.batch_first, self.dropout, self.num_layers, self.bias = batch_first, dropout, num_layers, bias
        self.nonlinearity, bound = {"tanh": _ridge.tanh, "relu": _ridge.relu}[nonlinearity], 1 / math.sqrt(hidden_size)
        for k in range(num_layers):
            setattr(self, "weight_ih_l%d" % k, _uniform((hidden_size, hidden_size if k else input_size), bound))
            setattr(self, "weight_hh_l%d" % k, _uniform((hidden_size, hidden_size), bound))
            if bias:
                setattr(self, "bias_ih_l%d" % k, _uniform((hidden_size,), bound))
                setattr(self, "bias_hh_l%d" % k, _uniform((hidden_size,), bound))

    def forward(self, x, h0=None):
        x, last = x.permute(1, 0, 2) if self.batch_first else x, []
        for k in range(self.num_layers):
            if k and self.dropout and self.training:
                x = _ridge.dropout(x, self.dropout)
            w_ih, w_hh, *bias = (getattr(self, "%s_l%d" % (n, k)) for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")[: 2 + 2 * bool(self.bias)])
            steps = _ridge.linear(x, w_ih, bias[0] + bias[1] if bias else None)
            h, every = _ridge.zeros((x.shape[1], w_hh.shape[0]), dtype=x.dtype) if h0 is None else h0[k], []
            for t in range(x.shape[0]):
                h = self.nonlinearity(steps[t] + h @ w_hh.T)
                every.append(h)
            x = _ridge.stack(every, 0)
            last.append(h)
        return x.permute(1, 0, 2) if self.batch_first else x, _ridge.stack(last, 0)


# ---- transformers ----


class _Attention(Module):
    """Of queries and of what is attended to, with torch.nn.MultiheadAttention's parameters."""

    def __init__(self, size, heads, dropout, bias):
        super().__init__()
        self.heads, self.p = heads, dropout
        self.in_proj_weight = _uniform((3 * size, size), math.sqrt(6 / (4 * size)))
        self.in_proj_bias = tensor(_ridge.zeros(3 * size), requires_grad=True) if bias else None
        self.out_proj = Linear(size, size, bias)

    def forward(self, x, memory, mask, padding, causal):
        """Masks as torch's: bools are True where nothing is attended to; padding (N, S)."""
        size = x.shape[-1]
        w, b = self.in_proj_weight.chunk(3, 0), (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3, 0)
        q, k, v = (_ridge.linear(s, w[i], b[i]).reshape(s.shape[0], s.shape[1], self.heads, -1).permute(0, 2, 1, 3)
                   for i, s in enumerate((x, memory, memory)))
        mask = None if mask is None else ~mask if mask.dtype.name == "bool" else mask
        if padding is not None:
            here = ~padding[:, None, None, :] if padding.dtype.name == "bool" else padding[:, None, None, :] == 0
            mask = here if mask is None else (mask & here) if mask.dtype.name == "bool" else _ridge.where(here, mask, float("-inf"))
        y = _ridge.attention(q, k, v, mask, self.p if self.training else 0, causal)
        return self.out_proj(y.permute(0, 2, 1, 3).reshape(x.shape[0], x.shape[1], size))


class _TransformerLayer(Module):
    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True):
        super().__init__()
        self.batch_first, self.norm_first = batch_first, norm_first
        self.self_attn = _Attention(d_model, nhead, dropout, bias)
        self.linear1, self.linear2 = Linear(d_model, dim_feedforward, bias), Linear(dim_feedforward, d_model, bias)
        for i in range(self.norms):
            setattr(self, "norm%d" % (i + 1), LayerNorm(d_model, layer_norm_eps))
        self.drop = Dropout(dropout)
        self.activation = {"relu": _ridge.relu, "gelu": _ridge.gelu}.get(activation, activation)

    def _wide(self, x):
        return self.linear2(self.drop(self.activation(self.linear1(x))))

    def _through(self, x, blocks):
        for i, block in enumerate(blocks):
            norm = getattr(self, "norm%d" % (i + 1))
            x = x + self.drop(block(norm(x))) if self.norm_first else norm(x + self.drop(block(x)))
        return x


def _swapped(x, batch_first):
    return x if batch_first or x is None else x.transpose(0, 1)


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a wide layer, of (T, N, size), or (N, T, size) with batch_first."""

    norms = 2

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        x = self._through(_swapped(src, self.batch_first), [
            lambda y: self.self_attn(y, y, None if is_causal else src_mask, src_key_padding_mask, is_causal), self._wide])
        return _swapped(x, self.batch_first)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to a memory, and a wide layer."""

    norms = 3

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu", layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True):
        super().__init__(d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.multihead_attn = _Attention(d_model, nhead, dropout, bias)

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None,
                tgt_is_causal=False):
        memory = _swapped(memory, self.batch_first)
        x = self._through(_swapped(tgt, self.batch_first), [
            lambda y: self.self_attn(y, y, None if tgt_is_causal else tgt_mask, tgt_key_padding_mask, tgt_is_causal),
            lambda y: self.multihead_attn(y, memory, memory_mask, memory_key_padding_mask, False), self._wide])
        return _swapped(x, self.batch_first)


class TransformerEncoder(Module):
    """Layers like the given one, each with values of its own (PyTorch begins with copies of one)."""

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers, self.norm = ModuleList([_another(encoder_layer) for _ in range(num_layers)]), norm

    def forward(self, x, *args, **kw):
        for layer in self.layers:
            x = layer(x, *args, **kw)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(TransformerEncoder):
    pass


def _another(m):
    """A module of the same parts, with copies of its values."""
    new = object.__new__(type(m))
    Module.__init__(new)
    for name, v in vars(m).items():
        if name in ("_parameters", "_buffers", "_modules", "_path", "_id"):
            continue
        if name in m._modules:
            v = _another(v)
        elif name in m._parameters:
            v = tensor(v.detach(), requires_grad=True)
        setattr(new, name, v) if name not in m._buffers else new.register_buffer(name, tensor(v))
    return new


# ---- of two, of words ----


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True):
        super().__init__()
        bound = 1 / math.sqrt(in1_features)
        self.weight = _uniform((out_features, in1_features, in2_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, x, y):
        return functional.bilinear(x, y, self.weight, self.bias)


class EmbeddingBag(Module):
    def __init__(self, num_embeddings, embedding_dim, mode="mean"):
        super().__init__()
        self.weight, self.mode = tensor(_ridge.randn((num_embeddings, embedding_dim)), requires_grad=True), mode

    def forward(self, x, offsets=None, per_sample_weights=None):
        return functional.embedding_bag(x, self.weight, offsets, self.mode, per_sample_weights)


class AlphaDropout(Dropout):
    def forward(self, x):
        return functional.alpha_dropout(x, self.p, self.training)


# ---- functions as modules ----


def _module(name, fn):
    """A function of one tensor whose other arguments the module holds."""
    return _activation(name, fn)


def _loss_of(name, fn):
    """A loss of two tensors or more."""

    def __init__(self, *args, **kw):
        Module.__init__(self)
        self.args, self.kw = args, kw

    def forward(self, *xs):
        return fn(*xs, *self.args, **self.kw)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": "%s as a module." % name})


F = functional
(Fold, Unfold, ChannelShuffle, PixelUnshuffle, LocalResponseNorm, AdaptiveAvgPool1d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d,
 AdaptiveMaxPool3d, LPPool1d, LPPool2d, Softmin, Softshrink, Hardshrink, Tanhshrink, Threshold, RReLU) = (_module(n, f) for n, f in (
     ("Fold", F.fold), ("Unfold", F.unfold), ("ChannelShuffle", lambda x, groups: F.channel_shuffle(x, groups)), ("PixelUnshuffle", F.pixel_unshuffle),
     ("LocalResponseNorm", F.local_response_norm), ("AdaptiveAvgPool1d", F.adaptive_avg_pool1d), ("AdaptiveAvgPool3d", F.adaptive_avg_pool3d),
     ("AdaptiveMaxPool1d", F.adaptive_max_pool1d), ("AdaptiveMaxPool2d", F.adaptive_max_pool2d), ("AdaptiveMaxPool3d", F.adaptive_max_pool3d),
     ("LPPool1d", F.lp_pool1d), ("LPPool2d", F.lp_pool2d), ("Softmin", lambda x, dim=-1: _ridge.softmax(-x, dim)), ("Softshrink", F.softshrink),
     ("Hardshrink", F.hardshrink), ("Tanhshrink", F.tanhshrink), ("Threshold", F.threshold), ("RReLU", F.rrelu)))
Softmax2d = _module("Softmax2d", lambda x: _ridge.softmax(x, -3))
UpsamplingNearest2d = _module("UpsamplingNearest2d", lambda x, size=None, scale_factor=None: F.interpolate(x, size, scale_factor))
UpsamplingBilinear2d = _module("UpsamplingBilinear2d", lambda x, size=None, scale_factor=None: F.interpolate(x, size, scale_factor, "bilinear", True))
(CosineSimilarity, PairwiseDistance, CosineEmbeddingLoss, GaussianNLLLoss, HingeEmbeddingLoss, MarginRankingLoss, MultiLabelSoftMarginLoss,
 MultiMarginLoss, PoissonNLLLoss, SoftMarginLoss, TripletMarginLoss, TripletMarginWithDistanceLoss, CTCLoss) = (_loss_of(n, f) for n, f in (
     ("CosineSimilarity", F.cosine_similarity), ("PairwiseDistance", F.pairwise_distance), ("CosineEmbeddingLoss", F.cosine_embedding_loss),
     ("GaussianNLLLoss", F.gaussian_nll_loss), ("HingeEmbeddingLoss", F.hinge_embedding_loss), ("MarginRankingLoss", F.margin_ranking_loss),
     ("MultiLabelSoftMarginLoss", F.multilabel_soft_margin_loss), ("MultiMarginLoss", F.multi_margin_loss), ("PoissonNLLLoss", F.poisson_nll_loss),
     ("SoftMarginLoss", F.soft_margin_loss), ("TripletMarginLoss", F.triplet_margin_loss),
     ("TripletMarginWithDistanceLoss", F.triplet_margin_with_distance_loss), ("CTCLoss", F.ctc_loss)))


def _padding(name, axes, mode):
    def __init__(self, padding, value=0.0):
        Module.__init__(self)
        self.padding, self.value = (padding,) * (2 * axes) if isinstance(padding, int) else tuple(padding), value

    def forward(self, x):
        return functional.pad(x, self.padding, mode, self.value)

    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__doc__": "%s padding of %d axes." % (mode, axes)})


(ConstantPad1d, ConstantPad2d, ConstantPad3d, ZeroPad1d, ZeroPad3d, ReflectionPad1d, ReflectionPad3d, ReplicationPad1d, ReplicationPad3d,
 CircularPad1d, CircularPad2d, CircularPad3d) = (_padding("%sPad%dd" % (kind, n), n, mode) for kind, mode, axes in (
     ("Constant", "constant", (1, 2, 3)), ("Zero", "constant", (1, 3)), ("Reflection", "reflect", (1, 3)), ("Replication", "replicate", (1, 3)),
     ("Circular", "circular", (1, 2, 3))) for n in axes)
