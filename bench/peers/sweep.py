"""PyTorch's side of bench/sweep: a draw as a line of JSON comes in, seconds of eager PyTorch and of the same compiled, or captured in a
CUDA graph, go out, in 64 bytes; 0: not run."""

import functools, json, sys, time

import torch
import torch.nn.functional as F

dev, mode, by_cpu = sys.argv[1], sys.argv[2], sys.argv[3] == "cpu-time"
if by_cpu:
    torch.set_num_threads(1)
torch.backends.cudnn.benchmark = True
TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8, "i16": torch.int16,
         "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "bool": torch.bool}
SPAN = [(-2, 2), (0.1, 3), (-0.95, 0.95), (1.05, 5), (0.99, 1.01), (0.02, 0.98)]
SIZED = ("x[y]", "x.nonzero()")  # by their values: no graph can be captured
PLAIN, TRANSPOSED, SLICED, STEPPED, BROADCAST = range(5)


def axes(p):
    return tuple(p[1:1 + p[0]]) or None


def conv(p):
    r = p[0]
    return p[1:1 + r], p[4:4 + r], p[7:7 + r], p[13]


def unconv(p):
    r = p[0]
    return p[1:1 + r], p[4:4 + r], p[10:10 + r], p[13], p[7:7 + r]


def pool(p, r):
    return p[:r], p[3:3 + r], p[6:6 + r]


def pads(p, rank):
    return [v for i in reversed(range(rank)) for v in p[2 * i:2 * i + 2]]


def every_second(x, axis):
    return x[tuple(slice(None, None, 2) if i == axis else slice(None) for i in range(x.dim()))].clone()


def mm(x, y):
    return torch._int_mm(x, y) if x.dtype == torch.int8 and dev == "cuda" and x.dim() == y.dim() == 2 else x @ y


@functools.lru_cache(1)
def lower_right(t, s):
    return torch.ones(t, s, dtype=torch.bool, device=dev).tril(s - t)


def sdpa(q, k, v, mask=None, causal=False):
    if causal and q.shape[2] != k.shape[2]:  # is_causal aligns the first query with the first key
        mask, causal = lower_right(q.shape[2], k.shape[2]), False
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


def recurrence(z, c, steps):
    for _ in range(steps):
        z = torch.where(z.abs() < 2, z * z + c, z)
    return z


def operand(o):
    dim, dt, axis = list(o["dim"]), TYPES[o["dtype"]], o["axis"]
    if o["layout"] == TRANSPOSED:
        dim[axis], dim[-1] = dim[-1], dim[axis]
    elif o["layout"] == SLICED:
        dim[axis] += 3
    elif o["layout"] == STEPPED:
        dim[axis] *= 2
    elif o["layout"] == BROADCAST:
        dim[axis] = 1
    if o["values"] == 7:
        x = torch.randint(0, max(o["bound"], 1), dim, device=dev)
    elif o["values"] == 6 or dt == torch.bool:
        x = torch.rand(dim, device=dev) < 0.5
    elif dt.is_floating_point:
        lo, hi = SPAN[o["values"]]
        x = (torch.rand(dim, device=dev) * (hi - lo) + lo).to(dt)
    else:
        x = torch.randint(1 if o["values"] == 1 or dt == torch.uint8 else -9, 10, dim, device=dev).to(dt)
    if o["layout"] == TRANSPOSED:
        x = x.transpose(axis, -1)
    elif o["layout"] == SLICED:
        x = x.narrow(axis, 1, o["dim"][axis])
    elif o["layout"] == STEPPED:
        x = x[tuple(slice(None, None, 2) if i == axis else slice(None) for i in range(x.dim()))]
    elif o["layout"] == BROADCAST:
        x = x.expand(o["dim"])
    return x.detach().requires_grad_(o["grad"])


def clock(fn):
    """Seconds of a call, warm: the median of some samples of a millisecond; by events on a GPU."""
    for _ in range(3):
        fn()
    now = time.process_time if by_cpu else time.perf_counter
    calls, samples, start = 1, [], time.perf_counter()
    while len(samples) < 5 or time.perf_counter() - start < (0.02 if mode == "graphs" else 0.05):
        if dev == "cuda":
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            for _ in range(calls):
                fn()
            b.record()
            b.synchronize()
            t = a.elapsed_time(b) * 1e-3
        else:
            t = now()
            for _ in range(calls):
                fn()
            t = now() - t
        if t < 5e-4:
            calls = min(100000, max(2 * calls, int(calls * 6e-4 / max(t, 1e-7))))
            samples = []
        else:
            samples.append(t / calls)
    samples.sort()
    return samples[0] if by_cpu else samples[len(samples) // 2]


def captured(fn):
    """A replay of fn's kernels without the host's work; not of results whose size the host must know."""
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            fn()
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        fn()
    return g.replay


def best_layout(d, how):
    """Of a convolution: channels last too, if that is faster."""
    t = seconds(d, how)
    last = {3: None, 4: torch.channels_last, 5: torch.channels_last_3d}[len(d["x"][0]["dim"])]
    return min(t, seconds(d, how, last)) if last else t


def seconds(d, how, layout=None):
    xs = [operand(o) for o in d["x"]]
    if layout:
        xs = [x.detach().contiguous(memory_format=layout).requires_grad_(x.requires_grad) if x.dim() > 3 else x for x in xs]
    names = {**globals(), "p": d["p"]}
    fn = eval("lambda x=None, y=None, z=None, w=None: " + d["torch"], names)
    if how == "compiled":
        torch._dynamo.reset()
        fn = torch.compile(fn, dynamic=False)
    leaves = [x for x in xs if x.requires_grad]
    if not (d["grad"] and leaves):
        with torch.no_grad():
            call = lambda: fn(*xs)
            return clock(captured(call) if how == "graph" else call)
    seed = torch.rand_like(fn(*xs))
    call = lambda: torch.autograd.grad(fn(*xs), leaves, seed, allow_unused=True)
    return clock(captured(call) if how == "graph" else call)


def answer(d):
    out = []
    for how in {"both": ("eager", "compiled"), "graphs": ("eager", "graph")}.get(mode, ("eager",)):
        if how == "graph" and d["torch"] in SIZED:
            continue
        try:
            out.append((best_layout if "conv" in d["torch"] and how != "compiled" else seconds)(d, how))
        except Exception as e:
            print(d["torch"], d["dtype"], type(e).__name__, str(e).split("\n")[0][:120], file=sys.stderr)
            out.append(0.0)
    return (out + [0.0])[:2]


for text in sys.stdin:
    if not text.strip():
        break
    sys.stdout.write(("%.6g %.6g" % tuple(answer(json.loads(text)))).ljust(63) + "\n")
    sys.stdout.flush()
