"""PyTorch's side of the bench table. Outputs are allocated before wherever PyTorch takes one; where there are several ways (memory formats, one
call or two), all are tried and the fastest counts. table.py sets the allocator so that large results are not mapped anew in each call."""
import os

import torch
import torch.nn.functional as F

from rows_lib import serve

torch.manual_seed(1)
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
torch.set_num_interop_threads(1)
N, WIDTH, HEADS, LAYERS, VOCAB = 4096, 768, 12, 12, 50257
FORMATS = [torch.contiguous_format, torch.channels_last]


def rand(*shape):
    return torch.rand(*shape) * 2 - 1


def no_grad(fn):
    def run():
        with torch.inference_mode():
            fn()
    return run


def sgemm(m, n, k):
    a, b, c = rand(m, k), rand(k, n), torch.empty(m, n)
    ways = [no_grad(lambda: torch.mm(a, b, out=c))]
    if m == 1:
        ways.append(no_grad(lambda: torch.mv(b.t(), a[0], out=c[0])))
    if n == 1:
        ways.append(no_grad(lambda: torch.mv(a, b[:, 0], out=c[:, 0])))
    return ways


def sgemm_of(transpose_a):
    """The product of one operand transposed: of a (m x k in columns), or of b."""
    def make(m, n, k):
        a, b = (rand(k, m).t(), rand(k, n)) if transpose_a else (rand(m, k), rand(n, k).t())
        c = torch.empty(m, n)
        return [no_grad(lambda: torch.mm(a, b, out=c))]
    return make


def gemm(dtype):
    """Of int8 into int32; b as it is and transposed: what the library likes better counts."""
    def make(m, n, k):
        low = dtype == torch.int8
        new = (lambda *shape: torch.randint(-127, 128, shape, dtype=dtype)) if low else lambda *shape: rand(*shape).to(dtype)
        a, b, t, c = new(m, k), new(k, n), new(n, k).t(), torch.empty(m, n, dtype=torch.int32 if low else dtype)
        return [no_grad(lambda x=x: (torch._int_mm if low else torch.mm)(a, x, out=c)) for x in (b, t)]
    return make


def mul_add():
    a, b, c, o = rand(N, N), rand(N, N), rand(N, N), torch.empty(N, N)
    return [no_grad(lambda: torch.addcmul(c, a, b, out=o)), no_grad(lambda: torch.mul(a, b, out=o).add_(c))]


def relu_chain():
    a, b, c, o = rand(N, N), rand(N, N), rand(N, N), torch.empty(N, N)
    return [no_grad(lambda: torch.addcmul(c, a, b, out=o).relu_().mul_(a))]


def unary(fn):
    def make():
        x, o = rand(N, N), torch.empty(N, N)
        return [no_grad(lambda: fn(x, o))]
    return make


def layernorm():
    x, w, b = rand(N, N), rand(N), rand(N)
    return [no_grad(lambda: F.layer_norm(x, (N,), w, b))]


def transpose():
    x, o = rand(N, N), torch.empty(N, N)
    return [no_grad(lambda: o.copy_(x.t())), no_grad(lambda: x.t().contiguous())]


def conv(batch, ci, co, size, k, pad, backward, stride=1, groups=1):
    ways, out = [], size + 2 * pad - k + 1
    for fmt in FORMATS:
        x, w = rand(batch, ci, size, size).to(memory_format=fmt), rand(co, ci // groups, k, k).to(memory_format=fmt)
        y = rand(batch, co, out, out).to(memory_format=fmt)
        if backward:
            ways.append(no_grad(lambda x=x, w=w, y=y: torch.ops.aten.convolution_backward(
                y, x, w, None, [1, 1], [pad, pad], [1, 1], False, [0, 0], 1, [True, True, False])))
        else:
            ways.append(no_grad(lambda x=x, w=w: F.conv2d(x, w, None, stride, pad, 1, groups)))
    return ways


def attention():
    q, k, v = (rand(1, HEADS, 1024, 64) for _ in range(3))
    return [no_grad(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))]


def mnist():
    def way(fmt):
        nn = torch.nn
        net = nn.Sequential(
            nn.Conv2d(1, 32, 5), nn.ReLU(), nn.Conv2d(32, 32, 5), nn.ReLU(), nn.BatchNorm2d(32), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.BatchNorm2d(64), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(576, 10)).to(memory_format=fmt)
        optim = torch.optim.Adam(net.parameters(), fused=True)
        x, y = rand(512, 1, 28, 28).to(memory_format=fmt), torch.randint(0, 10, (512,))

        def step():
            optim.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optim.step()
        return step
    return [way(fmt) for fmt in FORMATS]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (p.view(b, t, HEADS, WIDTH // HEADS).transpose(1, 2) for p in self.qkv(self.ln1(x)).split(WIDTH, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, WIDTH)
        x = x + self.proj(y)
        return x + self.out(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


def block_forward():
    net, x = Block(), rand(1, 256, WIDTH)
    return [no_grad(lambda: net(x))]


def block_both():
    net, x, y = Block(), rand(1, 256, WIDTH).requires_grad_(), rand(1, 256, WIDTH)

    def run():
        for p in [x, *net.parameters()]:
            p.grad = None
        net(x).backward(y)
    return [run]


def gpt_forward():
    words, positions, norm = rand(VOCAB, WIDTH) * 0.02, rand(64, WIDTH) * 0.01, torch.nn.LayerNorm(WIDTH)
    blocks = torch.nn.Sequential(*[Block() for _ in range(LAYERS)])
    tokens = torch.randint(0, VOCAB, (1, 64))
    return [no_grad(lambda: F.linear(norm(blocks(F.embedding(tokens, words) + positions)), words))]


def tiny():
    x, w, o = rand(1), torch.ones(1), torch.empty(1)

    def run():
        for _ in range(1000):
            torch.sub(x, w, out=o)
    return [no_grad(run)]


serve({
    "sgemm": sgemm, "nt gemm": sgemm_of(False), "tn gemm": sgemm_of(True), "f64 gemm": gemm(torch.float64),
    "bf16 gemm": gemm(torch.bfloat16), "i8 gemm": gemm(torch.int8), "a*b+c": mul_add,
    "relu(a*b+c)*a": relu_chain,
    "exp": unary(lambda x, o: torch.exp(x, out=o)),
    "cos(cos(x))": unary(lambda x, o: torch.cos(x, out=o).cos_()),
    "sum all": unary(lambda x, o: torch.sum(x)),
    "sum axis 0": unary(lambda x, o: torch.sum(x, 0, out=o[0])),
    "sum axis 1": unary(lambda x, o: torch.sum(x, 1, out=o[0])),
    "softmax": unary(lambda x, o: torch.softmax(x, 1, out=o)),
    "layernorm": layernorm, "transpose": transpose,
    "conv mnist forward": lambda: conv(512, 32, 32, 24, 5, 0, False),
    "conv mnist backward": lambda: conv(512, 32, 32, 24, 5, 0, True),
    "conv resnet forward": lambda: conv(8, 64, 64, 56, 3, 1, False),
    "conv resnet backward": lambda: conv(8, 64, 64, 56, 3, 1, True),
    "conv 1x1 forward": lambda: conv(8, 64, 256, 56, 1, 0, False),
    "conv stride 2 forward": lambda: conv(8, 64, 128, 56, 3, 1, False, 2),
    "conv depthwise forward": lambda: conv(8, 128, 128, 56, 3, 1, False, 1, 128),
    "conv stem forward": lambda: conv(8, 3, 64, 224, 7, 3, False, 2),
    "attention T=1024": attention, "mnist step": mnist,
    "gpt2 block forward": block_forward, "gpt2 block forward+backward": block_both,
    "gpt2 124M forward T=64": gpt_forward, "1000 tiny kernels": tiny,
})
