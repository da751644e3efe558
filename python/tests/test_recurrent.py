"""ridge.nn.LSTM and GRU: beside PyTorch's where it is installed, and against themselves step by step."""
import unittest

import ridge
from common import *

try:
    import torch
except ImportError:
    torch = None


def make(kind, **options):
    ridge.seed(3)
    return getattr(ridge.nn, kind)(3, 4, **options)


class Recurrent(unittest.TestCase):
    def test_steps(self):
        """Two calls, the second from the first's state, are one call of both parts."""
        for kind in ("LSTM", "GRU"):
            m, x = make(kind, num_layers=2), ridge.randn(5, 2, 3)
            y, last = m(x)
            a, state = m(x[:2])
            b, end = m(x[2:], state)
            self.assertEqual(tuple(y.shape), (5, 2, 4))
            close = lambda p, q: self.assertLess(float(abs(p - q).max()), 1e-5)
            close(ridge.cat([a, b], 0), y)
            for p, q in zip(last if kind == "LSTM" else [last], end if kind == "LSTM" else [end]):
                self.assertEqual(tuple(p.shape), (2, 2, 4))
                close(p, q)

    def test_gradient(self):
        m, x = make("GRU", batch_first=True, bidirectional=True), ridge.randn(2, 5, 3)
        y, _ = m(x)
        self.assertEqual(tuple(y.shape), (2, 5, 8))
        (y * y).sum().backward()
        self.assertEqual(sorted(n for n, p in m.named_parameters() if float(abs(p.grad).max()) > 0),
                         sorted(n for n, _ in m.named_parameters()))
        self.assertIn("weight_hh_l0_reverse", dict(m.named_parameters()))

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_torch(self):
        for kind in ("LSTM", "GRU"):
            m = make(kind, num_layers=2, bidirectional=True)
            other = getattr(torch.nn, kind)(3, 4, num_layers=2, bidirectional=True)
            other.load_state_dict({n: torch.tensor(p.numpy()) for n, p in m.named_parameters()})
            x = ridge.randn(5, 2, 3)
            y, last = m(x)
            want, end = other(torch.tensor(x.numpy()))
            self.assertLess(float(abs(y.numpy() - want.detach().numpy()).max()), 1e-5)
            for p, q in zip(last if kind == "LSTM" else [last], end if kind == "LSTM" else [end]):
                self.assertLess(float(abs(p.numpy() - q.detach().numpy()).max()), 1e-5)


if __name__ == "__main__":
    unittest.main()
