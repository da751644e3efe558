"""Rounding errors by Monte Carlo arithmetic (Parker 1997; Verificarlo): every operation of PyTorch, inside a function and in the graph of
its gradients, gets a random relative error of the size of a rounding. How far such runs lie apart is what roundings do to a program:
the conditions of its formulas are in it and need not be stated.

A fused operation of PyTorch (layer_norm, softmax, gelu and their backward) is taken apart first, as Ridge computes it by elementary
operations whose roundings may cancel. What only moves, chooses or compares elements does not round."""

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

EXACT = """abs alias amax amin any arange argmax argmin as_strided bitwise broadcast cat ceil clamp clone constant_pad_nd copy cummax cummin
detach diag diagonal empty eq expand eye fill flip floor full gather ge gt index isfinite isinf isnan le lift logical lt masked_fill
max max_pool2d max_pool2d_with_indices max_pool3d_with_indices maximum min minimum narrow ne neg new nonzero ones permute prelu randint
relu repeat reshape roll round scalar scatter select sgn sign slice sort split squeeze stack t threshold topk transpose tril triu trunc
unbind unfold unsqueeze view where zero zeros""".split()
SUMS = """addmm addmv avg_pool2d avg_pool3d baddbmm bmm convolution cumprod cumsum dot index_add index_put logcumsumexp logsumexp mean mm
mv norm prod scatter_add scatter_reduce std sum var""".split()
APART = """_log_softmax _softmax celu elu gelu glu hardsigmoid hardswish huber_loss lerp log_sigmoid_forward logaddexp mish mse_loss
native_batch_norm native_group_norm native_layer_norm selu silu smooth_l1_loss softplus std var xlogy""".split()


def name_of(func):
    return func._schema.name.split("::")[1]


def stem(name):
    return name.rstrip("_")


def how(func):
    """exact, apart, sum or one of the others."""
    name = stem(name_of(func))
    if func.is_view or name in EXACT or name.split("_")[0] in ("new", "empty", "bitwise", "logical", "is"):
        return "exact"
    if func in decomposition_table and (name in APART or "backward" in name):
        return "apart"
    return "sum" if name in SUMS or "backward" in name else "one"


class Noise(TorchDispatchMode):
    """Operations round to `eps` (set by whoever runs steps; 0: none)."""

    known = {}

    def __init__(self, gen, times):
        super().__init__()
        self.gen, self.times, self.eps = gen, times, 0.0

    def shake(self, x):
        if not x.is_floating_point() or not x.numel():
            return x
        r = torch.rand(x.shape, generator=self.gen, dtype=torch.float64).to(x.dtype)
        return x * (1 + self.times * self.eps * (2 * r - 1))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if name_of(func) == "_efficientzerotensor":  # has no memory, and few operations know it
            return torch.zeros(*args, **kwargs)
        kind = self.known.get(func) or self.known.setdefault(func, how(func))
        if kind == "exact" or not self.eps:
            return func(*args, **kwargs)
        if kind == "apart":
            with self:
                return decomposition_table[func](*args, **kwargs)
        if name_of(func).endswith("_") or func._schema.is_mutable:
            out = func(*args, **kwargs)
            if isinstance(out, torch.Tensor):
                out.copy_(self.shake(out))
            return out
        if kind == "sum":
            args = tree_map_only(torch.Tensor, self.shake, args)
        return tree_map_only(torch.Tensor, self.shake, func(*args, **kwargs))
