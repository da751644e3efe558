"""tinygrad's side of the bench table: every row is a TinyJit, warmed up by two calls (the second records). Written for tinygrad 0.14."""
import os, platform

# Its own choice of flags asks for SVE by the name of the core, also where the kernel of a virtual machine hides it.
if platform.machine() == "aarch64" and "sve" not in open("/proc/cpuinfo").read():
    os.environ.setdefault("DEV", "CPU:CLANG:arm64,native,-sve")
from tinygrad import Context, Device, Tensor, TinyJit, nn

from rows_lib import serve

N, WIDTH, HEADS, LAYERS, VOCAB = 4096, 768, 12, 12, 50257


def rand(*shape):
    return (Tensor.rand(*shape) * 2 - 1).realize()


def jit(fn, *args, warm=2):
    j = TinyJit(lambda *a: fn(*a).realize())

    def run():
        j(*args)
        Device[Device.DEFAULT].synchronize()
    for _ in range(warm):
        run()
    return [run]


def sgemm(m, n, k):
    return jit(lambda a, b: a @ b, rand(m, k), rand(k, n))


def flat(fn, inputs):
    return lambda: jit(fn, *[rand(N, N) for _ in range(inputs)])


def conv(batch, ci, co, size, k, pad, backward, stride=1, groups=1):
    out = size + 2 * pad - k + 1
    x, w, y = rand(batch, ci, size, size), rand(co, ci // groups, k, k), rand(batch, co, out, out)
    if not backward:
        return jit(lambda x, w: x.conv2d(w, padding=pad, stride=stride, groups=groups), x, w)

    def both(x, w, y):
        gx, gw = (x.conv2d(w, padding=pad) * y).sum().gradient(x, w)
        return gx.realize(gw)
    return jit(both, x, w, y)


def attention():
    return jit(lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True), *[rand(1, HEADS, 1024, 64) for _ in range(3)])


def mnist(warm=2):
    layers = [nn.Conv2d(1, 32, 5), Tensor.relu, nn.Conv2d(32, 32, 5), Tensor.relu, nn.BatchNorm(32), Tensor.max_pool2d,
              nn.Conv2d(32, 64, 3), Tensor.relu, nn.Conv2d(64, 64, 3), Tensor.relu, nn.BatchNorm(64), Tensor.max_pool2d,
              lambda x: x.flatten(1), nn.Linear(576, 10)]
    optim = nn.optim.Adam(nn.state.get_parameters(layers))
    x, y = rand(512, 1, 28, 28), Tensor.randint(512, high=10).realize()

    def step(x, y):
        with Context(TRAINING=1):
            optim.zero_grad()
            loss = x.sequential(layers).sparse_categorical_crossentropy(y).backward()
            return loss.realize(*optim.schedule_step())
    return jit(step, x, y, warm=warm)


class Block:
    def __init__(self):
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fc, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def __call__(self, x):
        b, t, _ = x.shape
        qkv = self.qkv(self.ln1(x))
        q, k, v = (qkv[:, :, i * WIDTH:(i + 1) * WIDTH].reshape(b, t, HEADS, WIDTH // HEADS).transpose(1, 2) for i in range(3))
        y = q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(b, t, WIDTH)
        x = x + self.proj(y)
        return x + self.out(self.fc(self.ln2(x)).gelu())


def block_forward():
    net = Block()
    return jit(lambda x: net(x), rand(1, 256, WIDTH))


def block_both():
    net = Block()
    weights = nn.state.get_parameters(net)

    def both(x, y):
        out = net(x)
        grads = (out * y).sum().gradient(x, *weights)
        return out.realize(*grads)
    return jit(both, rand(1, 256, WIDTH), rand(1, 256, WIDTH))


def gpt_forward():
    words, positions, norm = nn.Embedding(VOCAB, WIDTH), rand(64, WIDTH), nn.LayerNorm(WIDTH)
    blocks = [Block() for _ in range(LAYERS)]
    return jit(lambda t: norm((words(t) + positions).sequential(blocks)) @ words.weight.T, Tensor.randint(1, 64, high=VOCAB).realize())


def tiny():
    w = rand(1)

    def chain(x):
        for _ in range(1000):
            x = (x - w).contiguous()
        return x
    return jit(chain, rand(1))


serve({
    "sgemm": sgemm, "a*b+c": flat(lambda a, b, c: a * b + c, 3),
    "relu(a*b+c)*a": flat(lambda a, b, c: (a * b + c).relu() * a, 3),
    "exp": flat(lambda x: x.exp(), 1), "cos(cos(x))": flat(lambda x: x.cos().cos(), 1),
    "sum all": flat(lambda x: x.sum(), 1), "sum axis 0": flat(lambda x: x.sum(0), 1), "sum axis 1": flat(lambda x: x.sum(1), 1),
    "softmax": flat(lambda x: x.softmax(1), 1),
    "layernorm": lambda: jit(lambda x, w, b: x.layernorm() * w + b, rand(N, N), rand(N), rand(N)),
    "transpose": flat(lambda x: x.T.contiguous(), 1),
    "conv mnist forward": lambda: conv(512, 32, 32, 24, 5, 0, False),
    "conv mnist backward": lambda: conv(512, 32, 32, 24, 5, 0, True),
    "conv resnet forward": lambda: conv(8, 64, 64, 56, 3, 1, False),
    "conv resnet backward": lambda: conv(8, 64, 64, 56, 3, 1, True),
    "conv 1x1 forward": lambda: conv(8, 64, 256, 56, 1, 0, False),
    "conv stride 2 forward": lambda: conv(8, 64, 128, 56, 3, 1, False, 2),
    "conv depthwise forward": lambda: conv(8, 128, 128, 56, 3, 1, False, 1, 128),
    "conv stem forward": lambda: conv(8, 3, 64, 224, 7, 3, False, 2),
    "attention T=1024": attention, "mnist step": mnist, "mnist first": lambda: mnist(warm=0),
    "gpt2 block forward": block_forward, "gpt2 block forward+backward": block_both,
    "gpt2 124M forward T=64": gpt_forward, "1000 tiny kernels": tiny,
})
