#!/usr/bin/env python3
"""Training GPT-2 beside PyTorch: the same weights, tokens and steps; losses side by side, and times.

    bench/gpt2_train_vs_torch.py [--layers 12 --width 768 --heads 12 --vocab 50304 --context 1024 --batch 16 --steps 20]
                                 [--device CUDA] [--dtype bf16] [--compile] [--no-ours | --no-torch] [--build build/release]
    bench/gpt2_train_vs_torch.py --values PREFIX ..    writes the weights and PyTorch's losses in f32 and bf16, for tests/cli/gpt2.sh

Needs torch and numpy. PyTorch's model is written as its users do: autocast to bfloat16, fused AdamW, scaled_dot_product_attention,
with --compile by torch.compile. Exits 1 if a loss differs by more than a hundredth (bf16), or 1e-4 (f32), of itself."""
import argparse, json, math, os, re, subprocess, sys, tempfile, time

import numpy as np
import torch

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name, value in dict(layers=12, width=768, heads=12, vocab=50304, context=1024, batch=16, steps=20, threads=2).items():
    ap.add_argument(f"--{name}", type=int, default=value)
ap.add_argument("--lr", type=float, default=6e-4)
ap.add_argument("--device", default="CUDA")
ap.add_argument("--dtype", default="bf16", choices=("f32", "bf16"))
ap.add_argument("--compile", action="store_true")
ap.add_argument("--no-ours", action="store_true")
ap.add_argument("--no-torch", action="store_true")
ap.add_argument("--build", default="build/release")
ap.add_argument("--values")
args = ap.parse_args()
torch.set_num_threads(args.threads)
cuda = args.device.startswith("CUDA")
where = torch.device("cuda" if cuda and torch.cuda.is_available() else "cpu")
SEED = 1


def weights():
    rng = np.random.default_rng(1)
    w, d = {}, args.width
    def param(name, *shape, scale=0.02, mean=0.0):
        w[name] = (rng.standard_normal(shape, dtype=np.float32) * np.float32(scale) + np.float32(mean)).astype(np.float32)
    param("wte.weight", args.vocab, d)
    param("wpe.weight", args.context, d, scale=0.01)
    for i in range(args.layers):
        small = 0.02 / math.sqrt(2 * args.layers)
        for ln in ("ln_1", "ln_2"):
            param(f"h.{i}.{ln}.weight", d, scale=0.02, mean=1.0)
            param(f"h.{i}.{ln}.bias", d)
        for name, a, b, s in (("attn.c_attn", d, 3 * d, 0.02), ("attn.c_proj", d, d, small),
                              ("mlp.c_fc", d, 4 * d, 0.02), ("mlp.c_proj", 4 * d, d, small)):
            param(f"h.{i}.{name}.weight", a, b, scale=s)
            param(f"h.{i}.{name}.bias", b)
    param("ln_f.weight", d, scale=0.02, mean=1.0)
    param("ln_f.bias", d)
    return w


def save(path, w):
    head, at = {}, 0
    for name, x in w.items():
        head[name] = {"dtype": "F32", "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for x in w.values():
            f.write(x.tobytes())


def lcg(state):
    return (state * 1664525 + 1013904223) & 0xFFFFFFFF


def token_stream(n=1 << 20):
    vocab, state, out = min(args.vocab, 50257), 1, np.empty(n, np.uint16)
    for i in range(n):
        state = lcg(state)
        r = state >> 16
        out[i] = (r * r * r // 65536 * vocab) >> 32
    return out


def offsets(step, room):
    state, out = (SEED * 9781 + step) & 0xFFFFFFFF, []
    for _ in range(args.batch):
        state = lcg(state)
        out.append(state * room >> 32)
    return out


def rate(i):
    if i < 20:
        return args.lr * min(i, 20) / 20
    return args.lr / 10 + (args.lr - args.lr / 10) / 2 * (1 + math.cos(math.pi * i / args.steps))


def ours(tmp):
    cmd = [f"{args.build}/examples/gpt2", "--write", "0", "--clip", "0", "--lr", str(args.lr), "--text", "synthetic", "--device", args.device,
           "--dtype", args.dtype, "--weights", f"{tmp}/w.safetensors", "--every", "1", "--seed", str(SEED)]
    for name in ("layers", "width", "heads", "vocab", "context", "batch", "steps"):
        cmd += [f"--{name}", str(getattr(args, name))]
    out = subprocess.run(cmd, capture_output=True, text=True)
    if out.returncode:
        sys.exit(out.stdout + out.stderr)
    rows = re.findall(r"loss +([0-9.naif]+) +([0-9.]+) ms", out.stdout)
    print(out.stdout.strip().splitlines()[-1])
    return [float(a) for a, _ in rows], [float(b) for _, b in rows]


def theirs(w, tokens):
    F = torch.nn.functional
    d = args.width
    p = {k: torch.nn.Parameter(torch.tensor(v, device=where)) for k, v in w.items()}

    def model(x, y):
        b, t = x.shape
        h = F.embedding(x, p["wte.weight"]) + p["wpe.weight"][:t]
        for i in range(args.layers):
            q = lambda name: p[f"h.{i}.{name}"]
            lin = lambda z, name: F.linear(z, q(name + ".weight").t(), q(name + ".bias"))
            z = lin(F.layer_norm(h, (d,), q("ln_1.weight"), q("ln_1.bias")), "attn.c_attn")
            parts = (u.view(b, t, args.heads, -1).transpose(1, 2) for u in z.split(d, 2))
            z = F.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).reshape(b, t, d)
            h = h + lin(z, "attn.c_proj")
            z = lin(F.layer_norm(h, (d,), q("ln_2.weight"), q("ln_2.bias")), "mlp.c_fc")
            h = h + lin(F.gelu(z, approximate="tanh"), "mlp.c_proj")
        logits = F.linear(F.layer_norm(h, (d,), p["ln_f.weight"], p["ln_f.bias"]), p["wte.weight"])
        return F.cross_entropy(logits.view(-1, args.vocab).float(), y.reshape(-1))

    opt = torch.optim.AdamW(p.values(), lr=args.lr, weight_decay=0.01, fused=where.type == "cuda")
    run = torch.compile(model) if args.compile else model
    data = torch.from_numpy(tokens.astype(np.int64)).to(where)
    losses, times = [], []
    for i in range(1, args.steps + 1):
        at = torch.tensor(offsets(i, len(tokens) - args.context))[:, None] + torch.arange(args.context + 1)
        text = data[at.to(where)]
        for g in opt.param_groups:
            g["lr"] = rate(i)
        t0 = time.perf_counter()
        with torch.autocast(where.type, torch.bfloat16, enabled=args.dtype == "bf16"):
            loss = run(text[:, :-1], text[:, 1:])
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        losses.append(loss.item())
        times.append((time.perf_counter() - t0) * 1e3)
    return losses, times


if args.values:
    w, tokens, rows = weights(), token_stream(), []
    for args.dtype in ("f32", "bf16"):
        rows.append(theirs(w, tokens)[0])
    save(args.values + ".safetensors", w)
    with open(args.values + ".txt", "w") as f:
        f.write("# losses of PyTorch %s, f32 and bf16 (autocast), by bench/gpt2_train_vs_torch.py %s\n" % (torch.__version__, " ".join(sys.argv[1:])))
        for i, (x, y) in enumerate(zip(*rows)):
            f.write(f"{i + 1} {x:.6f} {y:.6f}\n")
    sys.exit(0)
with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as tmp:
    w = weights()
    tokens = token_stream()
    a = b = None
    if not args.no_ours:
        save(f"{tmp}/w.safetensors", w)
        a = ours(tmp)
    if not args.no_torch:
        b = theirs(w, tokens)
worst = 0.0
print("step  ours loss     ms   torch loss     ms")
for i in range(args.steps):
    x, y = (s[0][i] if s else math.nan for s in (a, b))
    u, v = (s[1][i] if s else math.nan for s in (a, b))
    worst = max(worst, abs(x - y) / abs(y)) if a and b else worst
    print(f"{i + 1:4d}  {x:9.5f} {u:9.1f}  {y:9.5f} {v:9.1f}")
for name, s in (("ours", a), ("torch" + (" compiled" if args.compile else ""), b)):
    if s and args.steps > 4:
        best = sorted(s[1][3:])
        print(f"{name}: median {best[len(best) // 2]:.2f} ms, best {best[0]:.2f} ms, first step {s[1][0] / 1e3:.2f} s")
if a and b:
    print(f"largest difference of a loss: {worst:.2e} of itself")
    sys.exit(int(not worst <= (1e-2 if args.dtype == "bf16" else 1e-4)))
