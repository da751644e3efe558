"""ridge.jit: replays give what the function gives; shapes, flags and modes make recordings of their own."""
import threading
import unittest

import ridge
from common import Case
from ridge import nn


class Jit(Case):
    def test_replays_take_todays_arguments(self):
        @ridge.jit
        def f(x, y):
            return x @ y + 1, {"sum": (x * y).sum(), "n": 3}

        for i in range(6):
            x, y = ridge.full((2, 2), float(i)), ridge.eye(2)
            a, d = f(x, y)
            self.assertEqual(a.tolist(), (x @ y + 1).tolist())
            self.assertEqual((d["sum"].item(), d["n"]), (2.0 * i, 3))
        self.assertEqual(f.recordings[0]["replays"], 4)
        for i in range(2):
            f(x.realize(), y.realize())
        self.assertEqual((f.recordings[0]["nodes"], f.recordings[0]["allocations"] if ridge.device() == "CPU" else 0), (0, 0))

    def test_other_shapes_and_flags(self):
        calls = []

        @ridge.jit
        def f(x, twice=False):
            calls.append(x.shape)
            return x * 2 if twice else x

        for i in range(4):
            for n in (2, 3):
                self.assertEqual(f(ridge.ones(n)).tolist(), [1] * n)
                self.assertEqual(f(ridge.ones(n), twice=True).tolist(), [2] * n)
        self.assertEqual((len(f.recordings), len(calls)), (4, 8))

    def test_training(self):
        w = ridge.tensor([1.0, -2.0], requires_grad=True)
        opt = ridge.optim.SGD([w], lr=0.1)

        @ridge.jit
        def step(x):
            loss = ((w * x).sum() - 3) ** 2
            loss.backward()
            opt.step()
            return loss

        losses = [step(ridge.tensor([1.0, 1.0])).item() for _ in range(8)]
        self.assertLess(losses[-1], losses[0] / 100)
        self.assertAlmostEqual(w.sum().item(), 3, delta=0.1)

    def test_modes_of_modules(self):
        m = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        f = ridge.jit(lambda x: m(x))
        x = ridge.ones(50, 4)
        for i in range(3):
            m.train()
            self.assertGreater((f(x) == 0).sum().item(), 20)
            m.eval()
            self.assertEqual((f(x) == 0).sum().item(), 0)
        self.assertEqual(len(f.recordings), 2)

    def test_state_that_was_computed(self):
        """What comes from outside is assigned to, in the function too, whatever it was made by."""
        half, view, part = ridge.zeros(2).to("bfloat16"), ridge.arange(4.0)[2:], ridge.ones(2) * 0

        @ridge.jit
        def f(x):
            half.assign_(half + x)
            nonlocal view
            view += x
            part[1:] = part[1:] + 1
            y = x * 2
            y += 1  # its own: no state
            return y

        for i in range(4):
            self.assertEqual(f(ridge.ones(2)).tolist(), [3, 3])
        self.assertEqual((half.tolist(), view.tolist(), part.tolist()), ([4, 4], [6, 7], [0, 4]))
        norm = nn.BatchNorm2d(2).to("bfloat16")
        train = ridge.jit(lambda x: norm(x))
        for i in range(3):
            train(ridge.ones(2, 2, 3, 3).to("bfloat16"))
        self.assertAlmostEqual(norm.running_mean[0].item(), 1 - 0.9**3, delta=0.01)

    def test_exceptions_pass(self):
        @ridge.jit
        def f(x):
            raise KeyError("mine")

        for i in range(3):
            with self.assertRaises(KeyError):
                f(ridge.ones(1))

        @ridge.jit
        def g(x):
            return x.sum().item()

        g(ridge.ones(2))
        with self.assertRaisesRegex(ridge.Error, "recorded"):
            g(ridge.ones(2))
        self.assertEqual(ridge.ones(2).sum().item(), 2)

    def test_old_outputs_are_stale_with_words(self):
        f = ridge.jit(lambda x: x + 1)
        first = f(ridge.ones(1))
        f(ridge.ones(1))
        with self.assertRaisesRegex(ridge.Error, "output of an earlier call of the jit"):
            first.item()

    def test_methods(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.k = ridge.tensor([3.0])

            @ridge.jit
            def forward(self, x):
                return x * self.k

        a, b = Net(), Net()
        b.k = ridge.tensor([5.0])
        for i in range(4):
            self.assertEqual((a(ridge.ones(1)).item(), b(ridge.ones(1)).item()), (3.0, 5.0))

    def test_threads(self):
        """Threads share a device: work runs without the GIL, and calls do not mix."""
        wrong = []

        def work(k):
            for i in range(20):
                x = ridge.tensor([float(k)] * 64) * 2 + ridge.tensor(float(i))
                if x.sum().item() != 64 * (2 * k + i):
                    wrong.append((k, i))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
