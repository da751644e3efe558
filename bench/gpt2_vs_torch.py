#!/usr/bin/env python3
"""GPT-2's forward pass against PyTorch, from the same random weights.

    bench/gpt2_vs_torch.py [--layers 12 --width 768 --heads 12 --vocab 50257 --tokens 64] [--build build/release]

Needs torch, numpy and safetensors. Writes random weights under the names of the published files, lets examples/gpt2 and a plain
PyTorch model compute the logits of the same tokens, and compares. Exits 1 if they differ by more than 1e-4 of the largest logit."""
import argparse, subprocess, sys, tempfile, time

import numpy as np
import torch
from safetensors.torch import save_file

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name, value in dict(layers=12, width=768, heads=12, vocab=50257, tokens=64).items():
    ap.add_argument(f"--{name}", type=int, default=value)
ap.add_argument("--build", default="build/release")
args = ap.parse_args()
torch.manual_seed(1)
torch.set_num_threads(2)

w, size = {}, args.width
def param(name, *shape, scale=0.02, mean=0.0):
    w[name] = torch.randn(*shape) * scale + mean
param("wte.weight", args.vocab, size)
param("wpe.weight", args.tokens, size, scale=0.01)
for i in range(args.layers):
    for ln in ("ln_1", "ln_2"):
        param(f"h.{i}.{ln}.weight", size, scale=0.1, mean=1.0)
        param(f"h.{i}.{ln}.bias", size, scale=0.1)
    for name, a, b in (("attn.c_attn", size, 3 * size), ("attn.c_proj", size, size), ("mlp.c_fc", size, 4 * size), ("mlp.c_proj", 4 * size, size)):
        param(f"h.{i}.{name}.weight", a, b, scale=0.05)
        param(f"h.{i}.{name}.bias", b)
param("ln_f.weight", size, scale=0.1, mean=1.0)
param("ln_f.bias", size, scale=0.1)


def forward(tokens, w):
    F = torch.nn.functional
    b, t = tokens.shape
    x = w["wte.weight"][tokens] + w["wpe.weight"][:t]
    for i in range(args.layers):
        p = lambda name: w[f"h.{i}.{name}"]
        y = F.layer_norm(x, (size,), p("ln_1.weight"), p("ln_1.bias")) @ p("attn.c_attn.weight") + p("attn.c_attn.bias")
        q, k, v = (z.view(b, t, args.heads, -1).transpose(1, 2) for z in y.split(size, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, size)
        x = x + y @ p("attn.c_proj.weight") + p("attn.c_proj.bias")
        y = F.layer_norm(x, (size,), p("ln_2.weight"), p("ln_2.bias")) @ p("mlp.c_fc.weight") + p("mlp.c_fc.bias")
        x = x + F.gelu(y, approximate="tanh") @ p("mlp.c_proj.weight") + p("mlp.c_proj.bias")
    return F.layer_norm(x, (size,), w["ln_f.weight"], w["ln_f.bias"]) @ w["wte.weight"].T


tokens = torch.randint(0, args.vocab, (1, args.tokens))
with tempfile.TemporaryDirectory() as tmp, torch.no_grad():
    save_file(w, f"{tmp}/w.safetensors")
    np.save(f"{tmp}/tokens.npy", tokens.numpy())
    cmd = [f"{args.build}/examples/gpt2", "--steps", "0", "--write", "0", "--context", str(args.tokens)]
    for name in ("layers", "width", "heads", "vocab"):
        cmd += [f"--{name}", str(getattr(args, name))]
    out = subprocess.run(cmd + ["--weights", f"{tmp}/w.safetensors", "--tokens", f"{tmp}/tokens.npy", "--logits", f"{tmp}/logits.npy"],
                         capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stdout + out.stderr)
    print(out.stdout.strip())
    ours = np.load(f"{tmp}/logits.npy").astype(np.float64)
    theirs = forward(tokens, w).numpy().astype(np.float64)
    exact = forward(tokens, {k: v.double() for k, v in w.items()}).numpy()
scale = np.abs(exact).max()
a, b, c = (np.abs(x - y).max() / scale for x, y in ((ours, theirs), (ours, exact), (theirs, exact)))
print(f"largest difference of {ours.size} logits, over the largest logit ({scale:.2f}):")
print(f"  ours to PyTorch {a:.2e}; to float64: ours {b:.2e}, PyTorch {c:.2e}")
sys.exit(int(not a <= 1e-4))
