#!/usr/bin/env python3
"""bench/attention beside PyTorch's scaled_dot_product_attention, on the same GPU in one run.

    bench/attention_vs_torch.py [--build build/release] [PATTERN]

Prints both times of each row, sustained and of a burst (bench/attention.c says what that is; the peer is measured alike), and
their ratios (more than 1: ours is faster), of all rows or of those that have PATTERN in
their names ("D64 causal forward"). Needs torch with CUDA."""
import argparse, re, statistics, subprocess, time

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

    def calls(n):
        torch.cuda.synchronize()
        t0 = time.perf_counter()
        for _ in range(n):
            once()
        torch.cuda.synchronize()
        return (time.perf_counter() - t0) / n * 1e6

    def burst(n):
        time.sleep(0.02)
        return calls(n)

    calls(5)
    n = int(20000 / calls(5)) + 1
    sustained = min(calls(n) for _ in range(4))
    return sustained, statistics.median(burst(int(2000 / sustained) + 1) for _ in range(15))


out = subprocess.run([f"{args.build}/bench/attention", args.pattern], capture_output=True, text=True, check=True).stdout
for line in out.splitlines():
    m = re.match(r"attention B(\d+) H(\d+) T(\d+) D(\d+) (\w+) (\w+) ([\d.]+) us .* burst ([\d.]+) us", line)
    if not m:
        print(line)
        continue
    b, h, t, d = map(int, m.groups()[:4])
    ours = float(m[7]), float(m[8])
    theirs = peer(b, h, t, d, m[5] == "causal", m[6] == "both")
    print(f"{line}   SDPA {theirs[0]:.1f} us, burst {theirs[1]:.1f} us   {theirs[0] / ours[0]:.2f} x, {theirs[1] / ours[1]:.2f} x", flush=True)
