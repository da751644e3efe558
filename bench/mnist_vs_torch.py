#!/usr/bin/env python3
"""The MNIST network against PyTorch: same weights, same batches.

    bench/mnist_vs_torch.py [--steps 20] [--batch 512] [--build build/release] [--data data/mnist]

Needs torch, numpy and safetensors. Compares the gradients of the first step, tensor by tensor, and over the steps the distance
of all parameters to a run of PyTorch in float64: ours and PyTorch's own in float32. Exits 1 if a gradient is off by more than
1e-4 of its norm, or if ours is more than 3 times as far away as PyTorch's."""
import argparse, gzip, pathlib, subprocess, sys, tempfile, time

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--steps", type=int, default=20)
ap.add_argument("--batch", type=int, default=512)
ap.add_argument("--build", default="build/release")
ap.add_argument("--data", default="data/mnist")
args = ap.parse_args()
torch.manual_seed(3)
torch.set_num_threads(2)


def network(dtype):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.Conv2d(32, 32, 5), nn.ReLU(), nn.BatchNorm2d(32), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.BatchNorm2d(64), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(576, 10)).to(dtype)


def read(name, offset):
    return np.frombuffer(gzip.open(pathlib.Path(args.data) / name).read(), np.uint8, offset=offset)


images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
labels = read("train-labels-idx1-ubyte.gz", 8).astype(np.int64)
rng = np.random.default_rng(5)
picks = [rng.integers(0, len(labels), args.batch) for _ in range(args.steps)]
batches = [(images[p].astype(np.float32) / np.float32(255), labels[p]) for p in picks]
first = {k: v.numpy().copy() for k, v in network(torch.float32).named_parameters() for v in [v.detach()]}


def train(dtype):
    net = network(dtype)
    with torch.no_grad():
        for k, v in net.named_parameters():
            v.copy_(torch.from_numpy(first[k]).to(dtype))
    optim, grads, after, times = torch.optim.Adam(net.parameters(), lr=1e-3), {}, [], []
    for i, (x, y) in enumerate(batches):
        t0 = time.time()
        optim.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(torch.from_numpy(x).to(dtype)), torch.from_numpy(y))
        loss.backward()
        if i == 0:
            grads = {k: v.grad.numpy().astype(np.float64) for k, v in net.named_parameters()}
        optim.step()
        times.append(time.time() - t0)
        after.append({k: v.detach().numpy().astype(np.float64) for k, v in net.named_parameters()})
    return grads, after, times


def distance(a, b):
    return sum(float(((a[k] - b[k]) ** 2).sum()) for k in b) ** 0.5


with tempfile.TemporaryDirectory() as tmp:
    save_file(first, f"{tmp}/init.safetensors")
    both = {}
    for i, (x, y) in enumerate(batches):
        both[f"x{i}"], both[f"y{i}"] = x, y
    save_file(both, f"{tmp}/batches.safetensors")
    out = subprocess.run([f"{args.build}/bench/mnist_steps", tmp, str(args.steps)], capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stderr)
    ours_time = [float(line.split()[2]) for line in out.stdout.splitlines()]
    grads = {k: v.astype(np.float64) for k, v in load_file(f"{tmp}/grads.safetensors").items()}
    flat = load_file(f"{tmp}/after.safetensors")
ours = [{k: flat[f"{i}.{k}"].astype(np.float64) for k in first} for i in range(args.steps)]
grad32, after32, time32 = train(torch.float32)
grad64, after64, _ = train(torch.float64)

bad = False
print("gradients of the first step, |ours - float64| / |float64|, and PyTorch's float32")
for k in first:
    norm = np.linalg.norm(grad64[k])
    a, b = np.linalg.norm(grads[k] - grad64[k]) / norm, np.linalg.norm(grad32[k] - grad64[k]) / norm
    bad |= a > 1e-4
    print(f"  {k:12s} {a:9.2e}  {b:9.2e}{'   more than 1e-4' if a > 1e-4 else ''}")
print("distance of all parameters to the float64 run")
worst = 0
for i in range(args.steps):
    a, b = distance(ours[i], after64[i]), distance(after32[i], after64[i])
    worst = a / b
    if i % 5 == 4 or i + 1 == args.steps:
        print(f"  after step {i + 1:3d}: ours {a:9.2e}  PyTorch {b:9.2e}  ratio {a / b:5.2f}")
bad |= worst > 3
print(f"seconds a step, median: ours {np.median(ours_time[2:]):.3f}, PyTorch {torch.__version__} {np.median(time32[1:]):.3f}")
sys.exit(int(bad))
