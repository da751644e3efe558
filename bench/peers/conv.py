"""The rows of bench/conv.c with PyTorch: convolutions, both gradients, the linear layer, a training step's gradients.

    python conv.py [--threads N] [--runs N] [--batch N] [--cpu] [--only NAME]

Each row in both memory formats, NCHW and channels last; the better one counts. --cpu counts the processor's time of
this process (with --threads 1): for a machine that others use too. Prints "name ms least GFLOPS format".
"""
import argparse, statistics, time, torch, torch.nn.functional as F

a = argparse.ArgumentParser()
a.add_argument("--threads", type=int, default=2)
a.add_argument("--runs", type=int, default=7)
a.add_argument("--batch", type=int, default=512)
a.add_argument("--cpu", action="store_true")
a.add_argument("--only", default="")
o = a.parse_args()
torch.set_num_threads(o.threads)
torch.manual_seed(1)
clock = time.process_time if o.cpu else time.perf_counter
FORMATS = {"nchw": torch.contiguous_format, "last": torch.channels_last}
LAYERS = [("conv1", 1, 32, 28, 5, 1, 0), ("conv2", 32, 32, 24, 5, 1, 0), ("conv3", 32, 64, 10, 3, 1, 0),
          ("conv4", 64, 64, 8, 3, 1, 0), ("pad", 32, 32, 16, 3, 1, 1), ("step", 32, 64, 17, 3, 2, 0),
          ("down", 64, 128, 56, 3, 2, 1)]

def measure(fn):
  fn()
  ms = []
  for _ in range(o.runs):
    start = clock()
    fn()
    ms.append((clock() - start) * 1e3)
  return statistics.median(ms), min(ms)

def row(name, fns, flops):
  if not name.startswith(o.only): return
  best = min((measure(fn) + (fmt,) for fmt, fn in fns.items()))
  print(f"{name:8s} {best[0]:9.3f} ms  least {best[1]:9.3f}  {flops / best[0] * 1e-6:7.1f} GFLOPS  {best[2]}", flush=True)

def conv_rows(name, ci, co, size, k, step, pad):
  out = (size + 2 * pad - k) // step + 1
  flops = 2 * o.batch * co * out * out * ci * k * k
  fwd, gx, gw = {}, {}, {}
  for fmt, mf in FORMATS.items():
    x = torch.randn(o.batch, ci, size, size).to(memory_format=mf)
    w = torch.randn(co, ci, k, k).to(memory_format=mf)
    y = torch.randn(o.batch, co, out, out).to(memory_format=mf)
    b = torch.randn(co)
    def back(mask, x=x, w=w, y=y):
      return torch.ops.aten.convolution_backward(y, x, w, None, [step] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, mask)
    fwd[fmt] = lambda x=x, w=w, b=b: F.relu_(F.conv2d(x, w, b, step, pad))
    gx[fmt] = lambda back=back: back([True, False, False])
    gw[fmt] = lambda back=back: back([False, True, False])
  with torch.no_grad():
    row(name, fwd, flops)
    if ci > 1: row(name + ".x", gx, flops)
    row(name + ".w", gw, flops)

def linear_rows():
  x, w, y, b = torch.randn(o.batch, 576), torch.randn(10, 576), torch.randn(o.batch, 10), torch.randn(10)
  flops = 2 * 576 * 10 * o.batch
  with torch.no_grad():
    row("linear", {"": lambda: F.linear(x, w, b)}, flops)
    row("linear.x", {"": lambda: y @ w}, flops)
    row("linear.w", {"": lambda: y.t() @ x}, flops)

class Net(torch.nn.Module):
  def __init__(self):
    super().__init__()
    n = torch.nn
    self.all = n.Sequential(n.Conv2d(1, 32, 5), n.ReLU(), n.Conv2d(32, 32, 5), n.ReLU(), n.BatchNorm2d(32), n.MaxPool2d(2),
                            n.Conv2d(32, 64, 3), n.ReLU(), n.Conv2d(64, 64, 3), n.ReLU(), n.BatchNorm2d(64), n.MaxPool2d(2),
                            n.Flatten(), n.Linear(576, 10))
  def forward(self, x): return self.all(x)

def net_row():
  flops = sum((4 if i == 0 else 6) * o.batch * co * (s - k + 1) ** 2 * ci * k * k
              for i, (_, ci, co, s, k, _, _) in enumerate(LAYERS[:4]))
  fns = {}
  for fmt, mf in FORMATS.items():
    m = Net().to(memory_format=mf)
    x, t = torch.randn(o.batch, 1, 28, 28).to(memory_format=mf), torch.arange(o.batch) % 10
    def step(m=m, x=x, t=t):
      m.zero_grad(set_to_none=True)
      F.cross_entropy(m(x), t).backward()
    fns[fmt] = step
  row("net", fns, flops)

print(f"torch {torch.__version__}, batch {o.batch}, {o.threads} threads, {'time of the processor' if o.cpu else 'wall time'}")
for l in LAYERS: conv_rows(*l)
linear_rows()
net_row()
