#!/usr/bin/env python3
"""Exchanges with other libraries, linear algebra and leaks of the Python package, as figures for docs/measurements.

    PYTHONPATH=build/release/python python3 bench/python_checks.py [dlpack] [linalg] [leaks] [cuda] [tutorials]

dlpack: addresses, and memory over 10^6 exchanges, with NumPy, PyTorch and JAX where they are installed. linalg: residuals on 500 random
and badly conditioned matrices, beside NumPy's. leaks: blocks and memory after ROUNDS of ordinary programs, and references in a debug build of Python (with an
extension that was compiled with its headers; python3 -S, so that no release build of NumPy counts). cuda (not by default): the
exchanges of dlpack with PyTorch and CuPy on a GPU, streams that are not waited for, and what is refused. N: how many exchanges.
"""
import gc
import os
import sys
import threading
import time

os.environ.setdefault("DEVICE", "REF")
import ridge  # noqa: E402

EXCHANGES = int(os.environ.get("N", "1000000"))
LIMIT = float(os.environ.get("LIMIT", "600"))  # seconds of exchanges on a GPU
PEERS = os.environ.get("PEERS", "torch cupy").split()  # on a GPU


def resident():
    """KiB"""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


def libraries():
    """Name, an array of it, its from_dlpack, and the address of one."""
    import numpy as np

    yield "numpy", np.arange(4096, dtype=np.float32), np.from_dlpack, lambda a: a.__array_interface__["data"][0]
    try:
        import torch

        yield "torch", torch.arange(4096, dtype=torch.float32), torch.from_dlpack, lambda a: a.data_ptr()
    except ImportError:
        print("torch is not installed")
    try:
        import jax

        yield "jax", jax.numpy.arange(4096, dtype="float32"), jax.dlpack.from_dlpack, lambda a: a.unsafe_buffer_pointer()
    except ImportError:
        print("jax is not installed")


def dlpack():
    x = ridge.rand(4096).realize()
    for name, theirs, take, address in libraries():
        ours, back = ridge.from_dlpack(theirs), take(x)
        print("%s: to ridge the same address: %s; from ridge: %s" % (name, ours.data_ptr() == address(theirs), address(back) == x.data_ptr()))
        del ours, back
        n = EXCHANGES // 2
        for i in range(min(n, 5000)):
            ridge.from_dlpack(theirs), take(x)
        before = resident()
        for i in range(n):
            ridge.from_dlpack(theirs), take(x)
        print("%s: %d exchanges, memory %+d KiB" % (name, 2 * n, resident() - before))


def on_gpu():
    """Name, an array of it, its from_dlpack, and the address of one, of the libraries that have GPU arrays."""
    import torch

    if "torch" in PEERS:
        yield "torch", torch.rand(512, 512, device="cuda"), torch.from_dlpack, lambda a: a.data_ptr()
    if "cupy" not in PEERS:
        return
    try:
        import cupy

        yield "cupy", cupy.ones((512, 512), cupy.float32), cupy.from_dlpack, lambda a: a.data.ptr
    except ImportError:
        print("cupy is not installed")


def on_device(torch):
    """KiB of the GPU that the two libraries hold; mem_get_info would count other programs."""
    return (ridge.memory("CUDA")["held"] + torch.cuda.memory_reserved()) // 1024


def streams(torch, n=1 << 20, rounds=100):
    """Wrong results when the producer's work is in a stream that is not waited for: of PyTorch's kernels, and of ours."""
    theirs = ours = 0
    with torch.cuda.stream(torch.cuda.Stream()):
        for i in range(rounds):
            a = torch.zeros(n, device="cuda")
            for _ in range(30):
                a += 1
            theirs += ridge.from_dlpack(a).sum().item() != 30.0 * n
            y = torch.from_dlpack(ridge.full((n,), 1.0, device="CUDA") * (i + 1) + 1)
            ours += y.double().sum().item() != (i + 2.0) * n
    print("torch, a stream of its own, %d rounds: %d wrong to ridge, %d wrong from ridge" % (rounds, theirs, ours), flush=True)


def refusals(torch):
    u = torch.rand(64, 64, device="cuda")
    for what, wrong in (("stride 2", u[:, ::2]), ("stride 0", u[:1].expand(64, 64)), ("complex64", u.to(torch.complex64)), ("requires_grad", u.clone().requires_grad_()),
                        ("float8", u.to(torch.float8_e4m3fn))):
        try:
            print("torch, %s: taken, shape %s" % (what, ridge.from_dlpack(wrong).shape))
        except Exception as e:  # which one is the question
            print("torch, %s: %s: %s" % (what, type(e).__name__, e))
    print(flush=True)


def cuda():
    import torch

    x = ridge.rand(512, 512, device="CUDA").realize()
    for name, theirs, take, address in on_gpu():
        ours, back = ridge.from_dlpack(theirs), take(x)
        print("%s: to ridge the same address: %s; from ridge: %s" % (name, ours.data_ptr() == address(theirs), address(back) == x.data_ptr()), flush=True)
        print("%s: values equal: %s, %s" % (name, abs(float((ours - ridge.from_dlpack(theirs + 0)).abs().max())) == 0, abs(float(back.sum()) - float(x.sum())) < 1), flush=True)
        del ours, back
    streams(torch)
    refusals(torch)
    for name, theirs, take, address in on_gpu():
        for i in range(2000):
            ridge.from_dlpack(theirs), take(x)
        n, t, before, device = 0, time.time(), resident(), on_device(torch)
        while n < EXCHANGES and time.time() - t < LIMIT:
            ridge.from_dlpack(theirs), take(x)
            n += 2
        print("%s: %d exchanges of %.1f us, memory %+d KiB, of the GPU %+d KiB" % (
            name, n, (time.time() - t) / n * 1e6, resident() - before, on_device(torch) - device), flush=True)


def spectrum(np, g, n, condition):
    """A matrix with singular values from 1 down to 1 / condition."""
    q = [np.linalg.qr(g.standard_normal((n, n)))[0] for _ in range(2)]
    return q[0] * np.geomspace(1, 1 / condition, n) @ q[1].T


def linalg():
    """Residuals over n eps times the norms: LAPACK's own tests allow 30."""
    import numpy as np

    g, worst = np.random.default_rng(5), {}
    eps = np.finfo(np.float64).eps

    def note(what, who, value):
        worst[what, who] = max(worst.get((what, who), 0.0), float(value))

    for i in range(500):
        n = int(g.integers(2, 40))
        a = spectrum(np, g, n, 10.0 ** g.uniform(0, 14))
        b = g.standard_normal((n, 3))
        for who, lib, to, of in (("ridge", ridge.linalg, lambda v: ridge.tensor(v, "float64"), lambda v: v.numpy()), ("numpy", np.linalg, np.asarray, np.asarray)):
            m, rhs = to(a), to(b)
            y = of(lib.solve(m, rhs))
            note("solve |ax-b|/(|a||x|)", who, np.linalg.norm(a @ y - b, 1) / (np.linalg.norm(a, 1) * np.linalg.norm(y, 1) * n * eps))
            q, r = (of(v) for v in lib.qr(m))
            note("qr |a-qr|/|a|", who, np.linalg.norm(a - q @ r, 1) / (np.linalg.norm(a, 1) * n * eps))
            note("qr |1-q'q|", who, np.linalg.norm(np.eye(n) - q.T @ q, 1) / (n * eps))
            u, s, v = (of(p) for p in lib.svd(m))
            note("svd |a-usv|/|a|", who, np.linalg.norm(a - u * s @ v, 1) / (np.linalg.norm(a, 1) * n * eps))
            h = a @ a.T + np.eye(n) / 1e6
            w, z = (of(p) for p in lib.eigh(to(h)))
            note("eigh |hz-zw|/|h|", who, np.linalg.norm(h @ z - z * w, 1) / (np.linalg.norm(h, 1) * n * eps))
            low = of(lib.cholesky(to(h)))
            note("cholesky |h-ll'|/|h|", who, np.linalg.norm(h - low @ low.T, 1) / (np.linalg.norm(h, 1) * n * eps))
            inverse = of(lib.inv(m))
            note("inv |1-a inv|/(|a||inv|)", who, np.linalg.norm(np.eye(n) - a @ inverse, 1) / (np.linalg.norm(a, 1) * np.linalg.norm(inverse, 1) * n * eps))
    for what in sorted({k[0] for k in worst}):
        print("%-26s ridge %.2f  numpy %.2f" % (what, worst[what, "ridge"], worst[what, "numpy"]))


def programs():
    """A bit of everything."""
    x = ridge.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    loss = ((x @ x.T).softmax(1) * x[:, [1, 0]]).sum()
    loss.backward()
    x.grad.tolist()
    y = ridge.arange(12).reshape(3, 4)
    y[y > 5] = 0
    y[1:, ::2].sum(0).tolist()
    memoryview(ridge.cat([y, y]).realize())
    ridge.fft.fft(ridge.ones(8)).tolist()
    for wrong in (lambda: ridge.ones(2, 3) @ ridge.ones(2), lambda: y[9], lambda: ridge.tensor("a"), lambda: y.sum(axis=7), lambda: y.sum(nothing=1)):
        try:
            wrong()
        except (ValueError, IndexError, TypeError):
            pass
    ridge.linalg.inv(ridge.eye(3) * 2).tolist()
    step = ridge.jit(lambda v, more, flag=True: {"sum": v + more[0], "rest": [flag, (v * 2,)]})
    for i in range(4):
        step(x, [x + 1], flag=i < 3)["rest"][1][0].tolist()
    with ridge.no_grad():
        (x * x).realize()
    thread = threading.Thread(target=lambda: step(x, [x])["sum"].tolist())
    thread.start()
    thread.join()


def leaks():
    total = getattr(sys, "gettotalrefcount", None)
    rounds = int(os.environ.get("ROUNDS", "1000"))
    for i in range(rounds // 3):
        programs()
    for part in range(3):
        gc.collect()
        blocks, refs, before = sys.getallocatedblocks(), total() if total else 0, resident()
        for i in range(rounds):
            programs()
        gc.collect()
        print("%d rounds: blocks %+d%s, memory %+d KiB" % (
            rounds, sys.getallocatedblocks() - blocks, ", references %+d" % (total() - refs) if total else "", resident() - before))


def tutorials():
    """CPU time of the ten programs of python/tests/test_tutorials.py beside NumPy's and PyTorch's, best of five after a first call;
    with RIDGE_THREADS=1 and DEVICE=CPU."""
    import warnings

    import numpy as np
    import torch

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python", "tests"))
    import test_tutorials

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)

    def milliseconds(fn, lib):
        best = 1e9
        for i in range(6):
            t = time.process_time()
            v = fn(lib)
            np.asarray(v.detach() if isinstance(v, torch.Tensor) else v)
            best = min(best, time.process_time() - t) if i else best
        return best * 1e3

    for names, peer in (("mandelbrot nearest_neighbours standardize life power_iteration", np), ("polynomial autograd attention logistic indexing", torch)):
        for name in names.split():
            fn = getattr(test_tutorials, name)
            ours, theirs = milliseconds(fn, ridge), milliseconds(fn, peer)
            print("%-20s ridge %8.3f ms  %s %8.3f ms  %.2f x" % (name, ours, peer.__name__, theirs, theirs / ours), flush=True)


def main():
    for name in sys.argv[1:] or ["dlpack", "linalg", "leaks"]:
        {"dlpack": dlpack, "linalg": linalg, "leaks": leaks, "cuda": cuda, "tutorials": tutorials}[name]()


main()
