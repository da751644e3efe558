#!/usr/bin/env python3
"""bench/attention beside PyTorch's scaled_dot_product_attention, on the same GPU in one run.

    bench/attention_vs_torch.py [--build build/release] [PATTERN]

Prints both times of each row and their ratio (more than 1: ours is faster), of all rows or of those that have PATTERN in
their names ("D64 causal forward"). Needs torch with CUDA."""
import argparse, re, subprocess

import torch
import torch.nn.functional as F

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--build", default="build/release")
ap.add_argument("pattern", nargs="?", default="")
args = ap.parse_args()


def peer(b, h, t, d, causal, back):
    q, k, v = (torch.randn(b, h, t, d, device="cuda", dtype=torch.bfloat16, requires_grad=back) for _ in range(3))
    w = torch.randn(b, h, t, d, device="cuda", dtype=torch.bfloat16)

    def once():
        o = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        if back:
            torch.autograd.grad(o, (q, k, v), w)

    best = 1e9
    for i in range(5):
        a, z = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(10):
            once()
        z.record()
        torch.cuda.synchronize()
        best = min(best, a.elapsed_time(z) * 100) if i else best
    return best


out = subprocess.run([f"{args.build}/bench/attention", args.pattern], capture_output=True, text=True, check=True).stdout
for line in out.splitlines():
    m = re.match(r"attention B(\d+) H(\d+) T(\d+) D(\d+) (\w+) (\w+) ([\d.]+) us ([\d.]+)", line)
    if not m:
        print(line)
        continue
    b, h, t, d = map(int, m.groups()[:4])
    ours, theirs = float(m[7]), peer(b, h, t, d, m[5] == "causal", m[6] == "both")
    print(f"{line}   SDPA {theirs:.1f} us   {theirs / ours:.2f} x", flush=True)
