"""Threads: programs side by side, one device, shared tensors and jits; no_grad is the thread's. With a free-threaded Python the
same tests run without the GIL."""
import os
import subprocess
import sys
import threading
import unittest

import ridge
from common import DRAWS, Case, needs_numpy, np

THREADS = 6


def side_by_side(fn, n=THREADS):
    """fn(i) in n threads that begin together; raises what the first of them raised."""
    begin, failed = threading.Barrier(n), []

    def run(i):
        try:
            begin.wait()
            fn(i)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failed:
        raise failed[0]


class Threads(Case):
    @unittest.skipUnless(hasattr(sys, "_is_gil_enabled"), "this Python has a GIL")
    def test_import_leaves_the_gil_off(self):
        import sysconfig

        off = sysconfig.get_config_var("Py_GIL_DISABLED") and os.environ.get("PYTHON_GIL") != "1"
        code = "import sys, ridge; print(sys._is_gil_enabled())"
        out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
        self.assertEqual(out.stdout.strip(), str(not off), out.stderr)

    def test_first_use(self):
        """Threads that need the device first open it once: their tensors work together."""
        code = """if 1:
            import ridge, threading
            begin, made = threading.Barrier(8), []
            def first(i):
                begin.wait()
                made.append(ridge.full((3,), i) + 1)
            threads = [threading.Thread(target=first, args=(i,)) for i in range(8)]
            [t.start() for t in threads], [t.join() for t in threads]
            print(sum(made[1:], made[0]).tolist())"""
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "DEVICE": "REF"})
        self.assertEqual(out.stdout.strip(), "[36, 36, 36]", out.stderr)

    @needs_numpy
    def test_programs(self):
        from test_random import Program

        shared = [(ridge.tensor(a), a) for a in (np.arange(6.0).reshape(2, 3), np.float32([0.5, -1, 2]))]

        def run(i):
            for seed in range(DRAWS // 10 + 1):
                p = Program(10**6 + 1000 * i + seed + int(os.environ.get("RIDGE_TEST_SEED", "0")))
                p.values += shared
                with np.errstate(all="ignore"):
                    for _ in range(10):
                        p.step()
                exact = all(a.dtype == np.float64 for _, a in p.values)
                for x, a in p.values:
                    self.same(x, a, 1e-9 if exact else 2e-3, (i, seed, p.text))

        side_by_side(run)

    def test_gradients(self):
        """Parameters of each thread's own; no_grad in some threads is not in the others."""

        def run(i):
            for step in range(10):
                w = ridge.tensor([1.0, 2.0, float(i)], requires_grad=True)
                if i % 2:
                    with ridge.no_grad():
                        self.assertFalse(ridge.is_grad_enabled())
                        y = (w * w).sum()
                        self.assertEqual(y.item(), 5 + i * i)
                    with self.assertRaises(ridge.Error):
                        y.backward()
                else:
                    self.assertTrue(ridge.is_grad_enabled())
                    (w * w).sum().backward()
                    self.assertEqual(w.grad.tolist(), [2, 4, 2 * i])

        side_by_side(run)

    def test_no_grad_of_another_thread(self):
        inside, left = threading.Event(), threading.Event()

        def other():
            with ridge.no_grad():
                inside.set()
                left.wait(60)

        t = threading.Thread(target=other)
        t.start()
        inside.wait(60)
        w = ridge.tensor([3.0], requires_grad=True)
        enabled, y = ridge.is_grad_enabled(), (w * w).sum()
        left.set()
        t.join()
        y.backward()
        self.assertTrue(enabled)
        self.assertEqual(w.grad.tolist(), [6])

    def test_jit(self):
        """One jit for all threads, with shapes of their own, on two devices."""
        f = ridge.jit(lambda x, more: {"sum": (x * 2).sum(), "rest": [x + more[0], 7]})

        def run(i):
            device = "CPU" if i == 0 else "REF"
            for step in range(12):
                x = ridge.tensor([float(step)] * (1 + i % 3), device=device)
                out = f(x, [x * 3])
                self.assertEqual(out["sum"].item(), 2 * step * (1 + i % 3))
                self.assertEqual(out["rest"][0].tolist(), [4 * step] * (1 + i % 3))
                self.assertEqual(out["rest"][1], 7)

        side_by_side(run)
        self.assertEqual(sum(r["calls"] for r in f.recordings), 12 * THREADS)

    def test_jit_of_threads_that_end(self):
        """Their recordings serve the threads after them."""
        f, calls = ridge.jit(lambda x: x + 1), 0
        while calls < 1000 and calls < len(f.recordings) + 3:  # join() may return before the thread has ended for the system
            side_by_side(lambda _: self.assertEqual(f(ridge.full((2,), float(calls))).tolist(), [calls + 1] * 2), 1)
            calls += 1
        self.assertEqual(sum(r["calls"] for r in f.recordings), calls)
        self.assertLess(calls, 1000)

    def test_in_place(self):
        """A tensor that one thread changes has a value for the others all the time, the old or a later one."""
        x = ridge.zeros(64).realize() + 0
        rounds = 60

        def run(i):
            seen = 0
            for step in range(rounds):
                if i == 0:
                    x.__iadd__(1)
                    x.realize()
                else:
                    v = (x * 2).sum().item() / 128
                    self.assertEqual(v, int(v))
                    self.assertGreaterEqual(v, seen)
                    seen = v

        side_by_side(run, 3)
        self.assertEqual(x.tolist(), [rounds] * 64)

    def test_two_devices(self):
        """Copies in both directions at once; what is on two devices is refused."""

        def run(i):
            a, b = ("REF", "CPU") if i % 2 else ("CPU", "REF")
            for step in range(10):
                x = ridge.tensor([1.0, float(step)], device=a)
                y = x.to(b)
                self.assertEqual((y.device, y.tolist()), (b, [1, step]))
                with self.assertRaisesRegex(ridge.Error, r'tensors of two devices, \w+ and \w+; move one: x.to\("'):
                    x + y

        side_by_side(run, 4)

    def test_optimizer(self):
        def run(i):
            w = ridge.tensor([float(i)] * 4, requires_grad=True)
            o = ridge.optim.SGD([w], lr=0.5)
            for step in range(5):
                w.sum().backward()
                o.step()
                self.assertEqual(o.lr, 0.5)
            self.assertEqual(w.tolist(), [i - 2.5] * 4)

        side_by_side(run)


if __name__ == "__main__":
    unittest.main()
