#!/usr/bin/env python3
"""Steps of the networks of bench/networks.c on the CPU, by Ridge and by PyTorch's modes in turn.

    bench/networks_cpu.py [--threads 1] [--steps 7] [--seconds 8] [--modes eager,last,compile] [--cpu] [CASE ..]

A case is NAME[:forward|:decode]; without any, those of the table below. Both are f32. A round has a sample of each side: Ridge in a
process that is asked for one step at a time, PyTorch here: eager, `last` (channels-last pictures and weights), compile (torch.compile,
with a C++ compiler). A sample is a pause, in which the threads of the other side stop spinning, a step that is not timed, and up to
four that are, whose median counts. --cpu compares seconds of CPU, for a machine with other work, with one thread. Prints the medians, the ratio of the best of
PyTorch's modes to Ridge, and the least and greatest ratio of a round."""
import argparse, os, statistics, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

from networks_vs_torch import make, stepper  # noqa: E402

BATCH = {"resnet18": 8, "vit-s": 8, "bert-128": 2, "llama-60m": 2, "lstm-64": 16, "lstm-256": 32}
CASES = [f"{n}{how}" for n in BATCH for how in ("", ":forward")] + ["llama-60m:decode"]


class Ridge:
    def __init__(self, args, name, how, batch):
        env = dict(os.environ, RIDGE_THREADS=str(args.threads))
        line = [args.networks, name, str(batch), "0", "f32"] + [how] * bool(how)
        self.child = subprocess.Popen(line, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self.child.stdout.readline().split()
        if not ready:
            raise RuntimeError(f"{' '.join(line)} ended")
        self.first = float(ready[1])

    def __call__(self):
        self.child.stdin.write("\n"), self.child.stdin.flush()
        return [float(x) for x in self.child.stdout.readline().split()]

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def decoder(net, x, mode):
    for block in net.blocks:
        block.caches(len(x), 256)
    net.eval()
    at, call = [0], torch.compile(net) if mode == "compile" else net

    def step():
        with torch.no_grad():
            at[0] += 1
            return call(x[:, :1], 128 + at[0] % 128).flatten(0, 1).argmax(1).sum().item()

    return step


def torch_step(args, name, how, batch, mode):
    torch.manual_seed(1)
    torch._dynamo.reset()
    net, x, y = make(name, batch, "cpu", torch.channels_last if mode == "last" else torch.contiguous_format)
    args.forward, args.decode, args.dtype = how == "forward", False, "f32"
    step = decoder(net, x, mode) if how == "decode" else stepper(net, x, y, args, mode)

    def timed():
        cpu, wall = time.process_time(), time.perf_counter()
        step()
        return time.perf_counter() - wall, time.process_time() - cpu

    for _ in range(3):
        timed()
    return timed


def sample(step, args):
    time.sleep(args.pause)
    took = [step()[args.cpu]]
    steps = max(1, min(4, int(0.3 / max(took[0], 1e-6))))
    return statistics.median(step()[args.cpu] for _ in range(steps))


def row(args, case):
    name, _, how = case.partition(":")
    batch = args.batch or (1 if how == "decode" else BATCH[name])
    sides = {"ridge": Ridge(args, name, how, batch)}
    for mode in args.modes.split(","):
        if mode == "last" and name not in ("resnet18", "vit-s"):
            continue
        try:
            sides[mode] = torch_step(args, name, how, batch, mode)
        except Exception as e:  # a mode that fails is said
            print(f"# {case} {mode}: {type(e).__name__}: {str(e)[:160]}", flush=True)
    took, began = {s: [] for s in sides}, time.time()
    while len(took["ridge"]) < args.steps or (time.time() - began < args.seconds and len(took["ridge"]) < 200):
        for s, step in sides.items():
            took[s].append(sample(step, args))
    first = sides["ridge"].first
    sides["ridge"].close()
    mid = {s: statistics.median(t) for s, t in took.items()}
    best = min((s for s in mid if s != "ridge"), key=mid.get)
    rounds = sorted(p / r for p, r in zip(took[best], took["ridge"]))
    texts = ", ".join(f"{s} {t * 1e3:.2f}" for s, t in mid.items())
    print(f"{case} {batch}: {mid[best] / mid['ridge']:.2f} of {best} ({rounds[0]:.2f} to {rounds[-1]:.2f}, {len(rounds)} rounds); "
          f"ms: {texts}; first call {first:.1f} s", flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--batch", type=int, default=0)
    ap.add_argument("--steps", type=int, default=7)
    ap.add_argument("--seconds", type=float, default=8)
    ap.add_argument("--pause", type=float, default=0.1)
    ap.add_argument("--modes", default="eager,last,compile")
    ap.add_argument("--cpu", action="store_true")
    ap.add_argument("--networks", default="build/release/bench/networks")
    ap.add_argument("cases", nargs="*", metavar="CASE")
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    for case in args.cases or CASES:
        row(args, case)


if __name__ == "__main__":
    sys.exit(main())
