#!/usr/bin/env python3
"""Values of layers, optimisers and schedules, computed by PyTorch in float64 from inputs that are float32 values.

Run with torch installed: writes layers.txt beside this file, which is committed, so that the tests need no PyTorch;
tests/unit/layer_values.h reads it. A line is a name, a colon and numbers; arrays are row-major. The seed is fixed.

  optim.CASE.STEP.P         parameter P after that many steps; optim.p.P, optim.t.P, optim.a.P: where it starts, the loss
                            is the sum of a/2 (p - t)^2 + sin(p)
  lr.CASE                   learning rates of steps 0, 1, ..
  layer.CASE.x, .y, .gx     input, output, gradient of the input for the seed layer.CASE.g; .w.NAME and .gw.NAME: weights
                            and their gradients; .s.NAME: state after the call
  names.net                 names and order of a state dict, as text
"""

import math
import os

import torch
import torch.nn as nn

torch.manual_seed(7)
out = []


def put(name, values):
    out.append(f"{name}: " + " ".join(repr(float(v)) for v in torch.as_tensor(values, dtype=torch.float64).flatten().tolist()))


def f32(x):
    """Doubles that are values of float32."""
    return x.to(torch.float32).to(torch.float64)


# ---- optimisers ------------------------------------------------------------------------------------------------

SHAPES = [(3, 4), (5,), (2, 2, 3)]
P0 = [f32(torch.randn(s, dtype=torch.float64)) for s in SHAPES]
T = [f32(torch.randn(s, dtype=torch.float64)) for s in SHAPES]
A = [f32(torch.rand(s, dtype=torch.float64) + 0.5) for s in SHAPES]
for i in range(3):
    put(f"optim.p.{i}", P0[i])
    put(f"optim.t.{i}", T[i])
    put(f"optim.a.{i}", A[i])


def loss_of(p):
    return sum((a / 2 * (q - t) ** 2 + torch.sin(q)).sum() for q, t, a in zip(p, T, A))


CASES = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_decay": lambda p: torch.optim.SGD(p, lr=0.1, weight_decay=0.05),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9),
    "sgd_nesterov": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda p: torch.optim.Adam(p, lr=0.05),
    "adam_decay": lambda p: torch.optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.05),
    "adamw_decay": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.3),
    "adamw_none": lambda p: torch.optim.AdamW(p, lr=0.05, weight_decay=0.0),
    "clip": lambda p: torch.optim.SGD(p, lr=0.5),
    "clip_value": lambda p: torch.optim.SGD(p, lr=0.5),
}
for name, make in CASES.items():
    p = [q.clone().requires_grad_() for q in P0]
    opt = make(p)
    norms = []
    for step in range(1, 11):
        opt.zero_grad()
        loss_of(p).backward()
        if name == "clip":
            norms.append(torch.nn.utils.clip_grad_norm_(p, 0.7).item())
        if name == "clip_value":
            torch.nn.utils.clip_grad_value_(p, 0.3)
        opt.step()
        for i in range(3):
            put(f"optim.{name}.{step}.{i}", p[i].detach())
    if norms:
        put("optim.clip.norms", norms)

# ---- learning rates ----------------------------------------------------------------------------------------------


def rates(make, n, lr=0.3):
    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    sched = make(opt)
    got = []
    for _ in range(n):
        got.append(opt.param_groups[0]["lr"])
        opt.step()
        sched.step()
    return got


S = torch.optim.lr_scheduler
put("lr.step", rates(lambda o: S.StepLR(o, 7, 0.5), 30))
put("lr.cosine", rates(lambda o: S.CosineAnnealingLR(o, 20, 0.01), 21))
put("lr.warmup", rates(lambda o: S.LinearLR(o, 1 / 10, total_iters=9), 20))
put("lr.one_cycle", rates(lambda o: S.OneCycleLR(o, 0.5, total_steps=40, pct_start=0.3), 40))
put("lr.one_cycle_short", rates(lambda o: S.OneCycleLR(o, 0.5, total_steps=10, pct_start=0.25), 10))

# ---- layers --------------------------------------------------------------------------------------------------------


def layer(name, m, x, calls=1, grad_x=True):
    m = m.double()
    with torch.no_grad():
        for k, v in m.state_dict().items():
            if v.is_floating_point():
                v.copy_(f32(v + 0.25 * torch.randn(v.shape, dtype=torch.float64).abs()))
    for k, v in m.state_dict().items():
        put(f"layer.{name}.w.{k}", v)
    put(f"layer.{name}.x", x)
    x = x.clone().requires_grad_() if grad_x else x
    for _ in range(calls):
        y = m(x)
    if isinstance(y, tuple):
        y = y[0]
    g = f32(torch.randn(y.shape, dtype=torch.float64))
    put(f"layer.{name}.y", y.detach())
    put(f"layer.{name}.g", g)
    y.backward(g)
    if grad_x:
        put(f"layer.{name}.gx", x.grad)
    for k, v in m.named_parameters():
        put(f"layer.{name}.gw.{k}", v.grad / 1)
    for k, v in m.named_buffers():
        put(f"layer.{name}.s.{k}", v)


def randn(*shape):
    return f32(torch.randn(shape, dtype=torch.float64))


class SelfAttention(nn.Module):
    """nn.MultiheadAttention's parameters and names; causal."""

    def __init__(self, size, heads, causal):
        super().__init__()
        inner = nn.MultiheadAttention(size, heads, batch_first=True)
        self.in_proj_weight, self.in_proj_bias, self.out_proj = inner.in_proj_weight, inner.in_proj_bias, inner.out_proj
        self.size, self.heads, self.causal = size, heads, causal

    def forward(self, x):
        n, t, e = x.shape
        mask = torch.triu(torch.full((t, t), -math.inf, dtype=x.dtype), 1) if self.causal else None
        return nn.functional.multi_head_attention_forward(
            x.transpose(0, 1), x.transpose(0, 1), x.transpose(0, 1), e, self.heads, self.in_proj_weight, self.in_proj_bias,
            None, None, False, 0.0, self.out_proj.weight, self.out_proj.bias, attn_mask=mask,
            need_weights=False)[0].transpose(0, 1)


layer("linear", nn.Linear(4, 3), randn(2, 4))
layer("linear_plain", nn.Linear(4, 3, bias=False), randn(2, 5, 4))
layer("conv1d", nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), randn(2, 4, 9))
layer("conv2d", nn.Conv2d(2, 4, (3, 2), stride=(1, 2), padding=(1, 0), dilation=(2, 1)), randn(2, 2, 6, 5))
layer("conv3d", nn.Conv3d(1, 2, 2), randn(1, 1, 3, 3, 4))
layer("conv_transpose2d", nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1), randn(2, 3, 3, 4))
layer("batchnorm", nn.BatchNorm2d(3), randn(4, 3, 2, 3))
layer("batchnorm1d", nn.BatchNorm1d(3, momentum=0.3, eps=1e-3), randn(5, 3))
layer("batchnorm_eval", nn.BatchNorm2d(3).eval(), randn(4, 3, 2, 3))
layer("batchnorm_plain", nn.BatchNorm2d(3, affine=False), randn(4, 3, 2, 3))
layer("layernorm", nn.LayerNorm((3, 4)), randn(2, 3, 4))
layer("groupnorm", nn.GroupNorm(2, 4), randn(2, 4, 3))
layer("instancenorm", nn.InstanceNorm2d(3, affine=True), randn(2, 3, 3, 2))
layer("rmsnorm", nn.RMSNorm(6, eps=1e-5), randn(2, 3, 6))
layer("embedding", nn.Embedding(7, 3), torch.tensor([[1, 5, 1], [0, 6, 2]]), grad_x=False)
layer("attention", SelfAttention(8, 2, False), randn(2, 5, 8))
layer("attention_causal", SelfAttention(8, 4, True), randn(2, 4, 8))

# ---- names -----------------------------------------------------------------------------------------------------------

net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.ReLU(), nn.BatchNorm2d(4), nn.MaxPool2d(2), nn.Flatten(1),
    nn.Sequential(nn.Linear(36, 8), nn.LayerNorm(8)), nn.Linear(8, 2, bias=False))
out.append("names.net: " + " ".join(net.state_dict().keys()))
out.append("names.attention: " + " ".join(nn.MultiheadAttention(8, 2).state_dict().keys()))

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers.txt"), "w") as f:
    f.write("\n".join(out) + "\n")
