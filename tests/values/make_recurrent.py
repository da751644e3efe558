#!/usr/bin/env python3
"""Values of the layers rg_nn_lstm and rg_nn_gru: outputs and gradients of torch.nn.LSTM and torch.nn.GRU in float64.

Run with torch installed: prints tests/unit/recurrent_sample.h (clang-format -i it). Weights and inputs are a formula of their position (number() in
tests/unit/recurrent.c), so that only results are stored.
"""

import math

import torch

SIZES = dict(T=4, N=2, I=3, H=2)
CASES = [("lstm", 1, False, True), ("lstm", 2, True, True), ("gru", 1, False, True), ("gru", 2, True, False)]


def numbers(shape, which):
    n = math.prod(shape)
    return torch.tensor([0.8 * math.sin(0.37 * i + which + 1) for i in range(n)], dtype=torch.float64).reshape(shape)


def run(kind, layers, both, bias):
    t, n, i, h = SIZES.values()
    make = torch.nn.LSTM if kind == "lstm" else torch.nn.GRU
    net = make(i, h, num_layers=layers, bidirectional=both, bias=bias).double()
    params = list(net.named_parameters())
    for k, (_, p) in enumerate(params):
        p.data = numbers(p.shape, k + 1)
    x = numbers((t, n, i), 0).requires_grad_()
    y, _ = net(x)
    (y * numbers(y.shape, 99)).sum().backward()
    return [y, x.grad] + [p.grad for _, p in params], [name for name, _ in params]


print("/* recurrent_sample.h: written by tests/values/make_recurrent.py: y, the gradient of x, those of the entries in order. */")
for k, case in enumerate(CASES):
    out, names = run(*case)
    flat = torch.cat([o.detach().flatten() for o in out])
    print(f"static const char *const names_{k}[] = {{{', '.join(chr(34) + n + chr(34) for n in names)}}};")
    print(f"static const double values_{k}[] = {{")
    text = [f"{v:.9g}" for v in flat.tolist()]
    for i in range(0, len(text), 8):
        print("    " + ", ".join(text[i : i + 8]) + ",")
    print("};")
print("static const struct sample samples[] = {")
for k, (kind, layers, both, bias) in enumerate(CASES):
    b = lambda v: "true" if v else "false"
    print(f"    {{{b(kind == 'lstm')}, {layers}, {b(both)}, {b(bias)}, names_{k}, RG_COUNT(names_{k}), values_{k}, RG_COUNT(values_{k})}},")
print("};")
