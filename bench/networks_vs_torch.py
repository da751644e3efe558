#!/usr/bin/env python3
"""Training steps of the networks of bench/networks.c in PyTorch: eager, a CUDA graph of the step, torch.compile.

    bench/networks_vs_torch.py [--batch N] [--steps 10] [--modes eager,graph,compile,cudagraphs] [--dtype bf16] [--forward]
                               [--decode] [--tf32] [--seconds S] [--lock FILE] resnet18|resnet50|vit|bert|gpt2|llama|llama-1b|unet ..

Pictures and weights of convolutions are channels-last, matrices bf16 by autocast, AdamW is fused; `cudagraphs` is torch.compile with
mode="reduce-overhead". --forward and --decode (a token of a Llama by its cache): parameters of the dtype. f32 is not TF32 without --tf32
(RIDGE_TF32=1 there). Prints best and median of single steps, the mean of steps that are not waited for, and peak memory, each line as
soon as it is known. What is not ready after --seconds is said to be so; inductor keeps what it compiled, so a second call has it. With
--lock only what is timed holds the file's lock, so that several of these compile side by side."""
import argparse, contextlib, fcntl, math, signal, sys, time

import torch
from torch import nn
from torch.nn import functional as F

BATCH = dict(resnet18=64, resnet50=64, vit=64, bert=32, gpt2=16, llama=4, unet=32)
BATCH["llama-1b"] = 1


def conv(i, o, size, stride=1):
    return nn.Conv2d(i, o, size, stride, size // 2, bias=False)


class Residual(nn.Module):
    def __init__(self, i, o, stride, deep):
        super().__init__()
        m, bn = o // 4, nn.BatchNorm2d
        self.body = nn.Sequential(conv(i, m, 1), bn(m), nn.ReLU(True), conv(m, m, 3, stride), bn(m), nn.ReLU(True), conv(m, o, 1), bn(o)) if deep \
            else nn.Sequential(conv(i, o, 3, stride), bn(o), nn.ReLU(True), conv(o, o, 3), bn(o))
        self.cut = nn.Sequential(conv(i, o, 1, stride), bn(o)) if stride != 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.cut(x))


def resnet(depth):
    deep, at, parts = depth == 50, 64, [conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    for stage, n in enumerate((3, 4, 6, 3) if deep else (2, 2, 2, 2)):
        for i in range(n):
            out = (64 << stage) * (4 if deep else 1)
            parts.append(Residual(at, out, 2 if stage and not i else 1, deep))
            at = out
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(at, 1000))


class Attention(nn.Module):
    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.qkv, self.out, self.heads, self.causal = nn.Linear(width, 3 * width), nn.Linear(width, width), heads, causal

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).reshape(b, t, w))


class Block(nn.Module):
    def __init__(self, width, causal, post, tanh):
        super().__init__()
        self.norm1, self.norm2, self.attention, self.post = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, width // 64, causal), post
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh" if tanh else "none"), nn.Linear(4 * width, width))

    def forward(self, x):
        if self.post:
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.mlp(x))
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, w=768):
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, w, 16, 16), nn.Parameter(torch.randn(1, 1, w) * 0.02)
        self.position = nn.Parameter(torch.randn(197, w) * 0.02)
        self.blocks = nn.Sequential(*(Block(w, False, False, False) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(w), nn.Linear(w, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(len(x), 1, -1).to(x.dtype), x), 1) + self.position
        return self.head(self.norm(self.blocks(x))[:, 0])


class Language(nn.Module):
    def __init__(self, bert):
        super().__init__()
        words, w = 30522 if bert else 50304, 768
        self.words, self.position = nn.Embedding(words, w), nn.Parameter(torch.randn(512 if bert else 1024, w) * 0.02)
        nn.init.normal_(self.words.weight, std=0.02)
        self.first = nn.LayerNorm(w) if bert else nn.Identity()
        self.blocks = nn.Sequential(*(Block(w, not bert, bert, not bert) for _ in range(12)))
        self.norm = nn.Sequential(nn.Linear(w, w), nn.GELU(), nn.LayerNorm(w)) if bert else nn.LayerNorm(w)
        self.head = nn.Linear(w, words, bias=bert)
        if not bert:
            self.head.weight = self.words.weight

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.first(self.words(x) + self.position[: x.shape[1]]))))


class LlamaBlock(nn.Module):
    def __init__(self, w, heads, kv, hidden):
        super().__init__()
        lin = lambda i, o: nn.Linear(i, o, bias=False)
        self.heads, self.kv, self.norm1, self.norm2 = heads, kv, nn.RMSNorm(w, 1e-5), nn.RMSNorm(w, 1e-5)
        self.q, self.k, self.v, self.o = lin(w, w), lin(w, w // heads * kv), lin(w, w // heads * kv), lin(w, w)
        self.gate_proj, self.up_proj, self.down_proj = lin(w, hidden), lin(w, hidden), lin(hidden, w)

    def forward(self, x, cos, sin, pos=None):
        b, t, w = x.shape
        y = self.norm1(x)

        def turn(z):
            u, v = z.chunk(2, -1)
            return torch.cat((u * cos - v * sin, v * cos + u * sin), -1)

        q, k, v = (f(y).view(b, t, h, -1).transpose(1, 2) for f, h in ((self.q, self.heads), (self.k, self.kv), (self.v, self.kv)))
        q, k = turn(q), turn(k)
        if pos is not None:  # a token of a sequence whose keys and values are stored
            self.keys[:, :, pos : pos + 1], self.values[:, :, pos : pos + 1] = k, v
            k, v = self.keys[:, :, : pos + 1], self.values[:, :, : pos + 1]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=pos is None, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(b, t, w))
        y = self.norm2(x)
        return x + self.down_proj(F.silu(self.gate_proj(y)) * self.up_proj(y))

    def caches(self, batch, context):
        shape = (batch, self.kv, context, self.q.out_features // self.heads)
        self.keys, self.values = (torch.zeros(shape, dtype=self.q.weight.dtype, device=self.q.weight.device) for _ in range(2))


class Llama(nn.Module):
    def __init__(self, w=1024, heads=16, kv=4, hidden=2816, layers=24, t=2048):
        super().__init__()
        self.words, self.norm, self.head = nn.Embedding(32000, w), nn.RMSNorm(w, 1e-5), nn.Linear(w, 32000, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock(w, heads, kv, hidden) for _ in range(layers))
        half = w // heads // 2
        angle = torch.arange(t)[:, None] * torch.exp(torch.arange(half) * (-math.log(10000) / half))
        self.register_buffer("cos", angle.cos()), self.register_buffer("sin", angle.sin())

    def forward(self, x, pos=None):
        x = self.words(x)
        to = torch.get_autocast_dtype(x.device.type) if torch.is_autocast_enabled(x.device.type) else x.dtype
        at = slice(0, x.shape[1]) if pos is None else slice(pos, pos + 1)
        for block in self.blocks:
            x = block(x, self.cos[at].to(to), self.sin[at].to(to), pos)
        return self.head(self.norm(x))


class UNetBlock(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.norm1, self.conv1, self.norm2, self.conv2 = nn.GroupNorm(32, i), conv(i, o, 3), nn.GroupNorm(32, o), conv(o, o, 3)
        self.skip = conv(i, o, 1) if i != o else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.conv2(F.silu(self.norm2(self.conv1(F.silu(self.norm1(x))))))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.block1, self.shrink, self.block2 = conv(3, 128, 3), UNetBlock(128, 128), conv(128, 256, 3, 2), UNetBlock(256, 256)
        self.norm, self.attention, self.block3 = nn.GroupNorm(32, 256), Attention(256, 4), UNetBlock(256, 256)
        self.block4, self.head = UNetBlock(384, 128), conv(128, 3, 3)

    def forward(self, x):
        a = self.block1(self.stem(x))
        b = self.block2(self.shrink(a))
        b = b + self.attention(self.norm(b).flatten(2).transpose(1, 2)).transpose(1, 2).reshape(b.shape)
        b = F.interpolate(self.block3(b), scale_factor=2)
        return self.head(self.block4(torch.cat((b, a), 1)))


LLAMA_60M, LSTM_STEPS = dict(w=512, heads=8, kv=4, hidden=1408, layers=9, t=256), 128
LLAMA_1B = dict(w=2048, heads=32, kv=8, hidden=5632, layers=22)
WORDS = {"bert": 30522, "bert-128": 30522, "gpt2": 50304, "llama": 32000, "llama-1b": 32000, "llama-60m": 32000}
TOKENS = {"bert": 512, "bert-128": 128, "gpt2": 1024, "llama": 2048, "llama-1b": 2048, "llama-60m": 256}
NETS = {"vit": ViT, "vit-s": lambda: ViT(384), "unet": UNet, "llama": Llama, "llama-60m": lambda: Llama(**LLAMA_60M),
        "llama-1b": lambda: Llama(**LLAMA_1B), "gpt2": lambda: Language(False)}


class LSTM(nn.LSTM):
    def forward(self, x):
        return super().forward(x)[0]


def network(name):
    if name.startswith("resnet"):
        return resnet(int(name[6:]))
    if name.startswith("lstm"):
        return LSTM(int(name[5:]), int(name[5:]))
    return NETS.get(name, lambda: Language(True))()


def make(name, batch, where, layout=torch.channels_last):
    net = network(name)
    if name in WORDS:
        x, y = (torch.randint(WORDS[name], shape, device=where) for shape in ((batch, TOKENS[name]), (batch * TOKENS[name],)))
    elif name.startswith("lstm"):
        x, y = (torch.randn(LSTM_STEPS, batch, int(name[5:]), device=where) for _ in range(2))
        layout = torch.preserve_format
    else:
        side = 64 if name == "unet" else 224
        x = torch.randn(batch, 3, side, side, device=where).to(memory_format=layout)
        y = torch.randn_like(x) if name == "unet" else torch.randint(1000, (batch,), device=where)
    return net.to(where).to(memory_format=layout), x, y


def graph_of(step, warm):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            warm()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    return lambda: (graph.replay(), loss)[1]


def decoder(net, x, mode):
    """A token at three quarters of the context, where it always is: a CUDA graph takes no position."""
    for block in net.blocks:
        block.caches(len(x), net.cos.shape[0])
    compiled = {"compile": None, "cudagraphs": "reduce-overhead"}
    call = torch.compile(net, mode=compiled[mode]) if mode in compiled else net
    at = net.cos.shape[0] * 3 // 4

    def step():
        with torch.no_grad():
            return call(x[:, :1], at).flatten(0, 1).argmax(1)

    return graph_of(step, step) if mode == "graph" else step


def stepper(net, x, y, args, mode):
    if args.forward or args.decode:
        net = net.to(torch.bfloat16 if args.dtype == "bf16" else torch.float32).eval()
        x = x.to(torch.bfloat16) if x.is_floating_point() and args.dtype == "bf16" else x
    if args.decode:
        return decoder(net, x, mode)

    def loss_of(x, y):
        with torch.autocast(x.device.type, torch.bfloat16, enabled=args.dtype == "bf16" and not args.forward):
            out = net(x)
        if y.is_floating_point():
            return F.mse_loss(out.float(), y)
        return F.cross_entropy(out.flatten(0, 1).float() if out.dim() == 3 else out.float(), y)

    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True, capturable=mode == "graph") if not args.forward else None
    net.train(not args.forward)
    if mode in ("compile", "cudagraphs"):
        loss_of = torch.compile(loss_of, mode="reduce-overhead" if mode == "cudagraphs" else None)

    def step():
        if args.forward:
            with torch.no_grad():
                return loss_of(x, y)
        opt.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        opt.step()
        return loss

    return graph_of(step, step) if mode == "graph" else step


def times(step, n):
    torch.cuda.synchronize()
    t = time.perf_counter()
    for _ in range(n):
        step()
    torch.cuda.synchronize()
    mean, each = (time.perf_counter() - t) / n, []
    for _ in range(n):
        t = time.perf_counter()
        step()
        torch.cuda.synchronize()
        each.append(time.perf_counter() - t)
    each.sort()
    return each[0] * 1e3, each[n // 2] * 1e3, mean * 1e3


def measure(name, batch, mode, args, lock):
    t0 = time.perf_counter()
    net, x, y = make(name, batch, "cuda")
    step = stepper(net, x, y, args, mode)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    made = time.perf_counter() - t0
    with contextlib.ExitStack() as held:
        if lock:
            fcntl.flock(lock, fcntl.LOCK_EX), held.callback(fcntl.flock, lock, fcntl.LOCK_UN)
        best, median, mean = times(step, args.steps)
    peak = torch.cuda.max_memory_allocated() * 1e-9
    return f"best {best:.3f} ms, median {median:.3f}, mean {mean:.3f}; ready in {made:.1f} s; {peak:.2f} GB"


def late(*_):
    raise TimeoutError("not ready in the time that was left")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--batch", type=int, default=0)
    ap.add_argument("--steps", type=int, default=10)
    ap.add_argument("--modes", default="eager,graph,compile")
    ap.add_argument("--dtype", default="bf16", choices=("f32", "bf16"))
    ap.add_argument("--forward", action="store_true")
    ap.add_argument("--decode", action="store_true")
    ap.add_argument("--tf32", action="store_true")
    ap.add_argument("--seconds", type=float, default=0)
    ap.add_argument("--lock")
    ap.add_argument("names", nargs="+", choices=tuple(BATCH))
    args = ap.parse_args()
    lock = open(args.lock, "w") if args.lock else None
    end = time.monotonic() + args.seconds
    signal.signal(signal.SIGALRM, late)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.tf32
    for name in args.names:
        for mode in args.modes.split(","):
            torch.cuda.reset_peak_memory_stats()
            batch = args.batch or BATCH[name]
            try:
                if args.seconds:
                    signal.setitimer(signal.ITIMER_REAL, max(end - time.monotonic(), 1e-3))
                text = measure(name, batch, mode, args, lock)
            except Exception as e:  # a mode that fails is a row of the table
                text = f"{type(e).__name__}: {str(e)[:120]}"
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(f"torch {name} {batch} {mode}: {text}", flush=True)
            torch._dynamo.reset(), torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
