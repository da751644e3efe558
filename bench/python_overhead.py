#!/usr/bin/env python3
"""What a call from Python costs, beside NumPy and PyTorch where they are installed: import, lazy operations, replays.

    PYTHONPATH=build/release/python python3 bench/python_overhead.py
CPU time of this thread, the best of nine rounds: other processes on the machine do not count.
"""
import subprocess
import sys
import time


def each(fn, n=20000, rounds=9):
    best = 1e9
    for _ in range(rounds):
        t = time.thread_time()
        for _ in range(n):
            fn()
        best = min(best, (time.thread_time() - t) / n)
    return best * 1e6


def importing(name):
    code = "import time; t = time.process_time(); import %s; print(time.process_time() - t)" % name
    times = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(5)]
    return min(float(t.stdout) for t in times) * 1e3 if not times[0].returncode else None


def main():
    import ridge

    print("import ridge      %6.1f ms" % importing("ridge"))
    for name in ("numpy", "torch"):
        ms = importing(name)
        print("import %-10s %6.1f ms" % (name, ms) if ms is not None else "no " + name)
    peers = {"ridge": (ridge, ridge.ones(3, 3).realize())}
    try:
        import numpy

        peers["numpy"] = (numpy, numpy.ones((3, 3), numpy.float32))
        import torch

        peers["torch"] = (torch, torch.ones(3, 3))
    except ImportError:
        pass
    rows = {"a + a": lambda m, a: a + a, "a * 2.0": lambda m, a: a * 2.0, "exp(a)": lambda m, a: m.exp(a), "a.sum(0)": lambda m, a: a.sum(0),
            "a.reshape(9)": lambda m, a: a.reshape(9), "a[1]": lambda m, a: a[1], "a @ a": lambda m, a: a @ a, "a.shape": lambda m, a: a.shape}
    print("%-14s" % "us" + "".join("%10s" % p for p in peers))
    for name, f in rows.items():
        print("%-14s" % name + "".join("%10.2f" % each(lambda: f(m, a)) for m, a in peers.values()))
    a = peers["ridge"][1]
    for n, f in (("jit, no kernel", ridge.jit(lambda: None)), ("jit, 1 kernel", ridge.jit(lambda: a + 1)), ("jit, 1 input", ridge.jit(lambda x: x + 1))):
        args = (a,) if "input" in n else ()
        for _ in range(3):
            f(*args)
        print("%-14s%10.2f" % (n, each(lambda: f(*args), 5000)))


main()
