"""The transformer of bench/transformer.h in tinygrad, and what it takes from the lazy graph to linear programs.

    python tinygrad_transformer.py [runs] [layers]

Same shapes and same operations, call by call: rows of a table, layer norm, a joint projection, causal softmax
attention, gelu (tanh), cross entropy by log_softmax and gather, gradients of all parameters. On tinygrad's NULL
device: nothing is compiled or run. Its caches (schedule, programs) are off or emptied before each run, its worker
processes are off: everything happens in this process, as in Ridge. Equal kernels are lowered once, as its own
lower_and_compile does. Prints lines "name wall_ms cpu_ms"; bench/compile --peer reads them.
Written for tinygrad 0.14.
"""
import os, sys, time, math, statistics, resource, gc
os.environ.update(DEV="NULL", SCACHE="0", PARALLEL="0", CACHELEVEL="0", CCACHE="0")
from tinygrad import Tensor, Device, dtypes
from tinygrad.uop.ops import Ops, UOp
from tinygrad.codegen import full_rewrite_to_sink, do_linearize, to_program_key

LAYERS, BATCH, TOKENS, WIDTH, HEADS, VOCABULARY = 12, 2, 256, 768, 12, 5000

def param(*shape): return Tensor.empty(*shape, dtype=dtypes.float32)
def norm_new(): return param(WIDTH), param(WIDTH)
def linear_new(inputs, outputs): return param(outputs, inputs), param(outputs)

class Model:
  def __init__(self, layers):
    self.token, self.position, self.norm = param(VOCABULARY, WIDTH), param(TOKENS, WIDTH), norm_new()
    self.layer = [(norm_new(), norm_new(), linear_new(WIDTH, 3*WIDTH), linear_new(WIDTH, WIDTH),
                   linear_new(WIDTH, 4*WIDTH), linear_new(4*WIDTH, WIDTH)) for _ in range(layers)]
    self.input = Tensor.empty(BATCH, TOKENS, dtype=dtypes.int32)
    self.target = Tensor.empty(BATCH, TOKENS, dtype=dtypes.int32)
  def params(self):
    return [self.token, self.position, *self.norm] + [p for l in self.layer for pair in l for p in pair]

def linear(x, w): return x.linear(w[0].transpose(), w[1])
def layernorm(x, w): return x.layernorm() * w[0] + w[1]
def heads(qkv, i):
  return qkv[..., i*WIDTH:(i+1)*WIDTH].reshape(BATCH, TOKENS, HEADS, WIDTH//HEADS).transpose(1, 2)

def attention(x, l, mask):
  qkv = linear(x, l[2])
  q, k, v = heads(qkv, 0), heads(qkv, 1), heads(qkv, 2)
  score = q.matmul(k.transpose(-2, -1)) * (1 / math.sqrt(WIDTH // HEADS))
  mixed = mask.where(score, -math.inf).softmax(-1).matmul(v)
  return linear(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH), l[3])

def block(x, l, mask):
  x = x + attention(layernorm(x, l[0]), l, mask)
  return x + linear(linear(layernorm(x, l[1]), l[4]).gelu(), l[5])

def loss_of(m):
  at = Tensor.arange(TOKENS)
  mask = at.unsqueeze(1) >= at
  x = m.token[m.input] + m.position
  for l in m.layer: x = block(x, l, mask)
  logits = layernorm(x, m.norm).matmul(m.token.transpose())
  return -logits.log_softmax(-1).gather(-1, m.target.unsqueeze(-1)).mean()

class Clock:
  """Wall and processor milliseconds by name."""
  def __init__(self): self.ms = {}
  def run(self, name, f):
    wall, cpu = time.perf_counter(), time.process_time()
    out = f()
    self.ms[name] = ((time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3)
    return out

def lower(calls, renderer):
  """Every distinct kernel: opts, all rewrites, and the linear list of uops. No text, no compiler."""
  todo = {to_program_key(c.src[0], renderer): c.src[0] for c in calls}
  lines = 0
  for ast in todo.values():
    sink = full_rewrite_to_sink(ast, renderer)
    lines += len(do_linearize(renderer, UOp(Ops.PROGRAM, src=(sink,)), sink).src[-1].src)
  return len(todo), lines

def once(layers, info):
  clock, model = Clock(), Model(layers)
  def build():
    loss = loss_of(model)
    return [loss] + loss.gradient(*model.params())
  out = clock.run("build", build)
  info["nodes"] = len(UOp.sink(*[t.uop for t in out]).toposort())
  plan = clock.run("plan", lambda: out[0].schedule_linear(*out[1:]))
  calls = [c for c in plan.src if c.src[0].op is Ops.SINK]
  info["kernels"] = len(plan.src)
  info["distinct"], info["uops"] = clock.run("lower", lambda: lower(calls, Device["NULL"].renderer))
  return clock.ms

def main():
  runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2
  layers = int(sys.argv[2]) if len(sys.argv) > 2 else LAYERS
  info, times = {}, []
  for _ in range(runs):
    gc.collect()
    times.append(once(layers, info))
  for name in ("build", "plan", "lower"):
    wall, cpu = (statistics.median(t[name][i] for t in times) for i in (0, 1))
    print(name, f"{wall:.1f} {cpu:.1f}")
  for name, value in info.items(): print(name, value)
  print("rss_mb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)

main()
