"""What the tests share: NumPy and PyTorch if there, comparisons, drawn shapes."""
import os
import unittest

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None

DRAWS = int(os.environ.get("RIDGE_TEST_DRAWS", "40"))
needs_numpy = unittest.skipUnless(np, "no NumPy")
needs_torch = unittest.skipUnless(torch and np, "no PyTorch")


class Case(unittest.TestCase):
    def same(self, x, want, tol=1e-5, what=""):
        """x has the values and the shape of an array."""
        got = np.asarray(x.numpy() if hasattr(x, "dtype") and hasattr(x, "numpy") else x)
        want = np.asarray(want)
        self.assertEqual(got.shape, want.shape, what)
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=tol, atol=tol, err_msg=str(what))
        else:
            np.testing.assert_array_equal(got, want, err_msg=str(what))


def draw_shape(r, rank=3, most=5):
    return tuple(r.randint(1, most) for _ in range(r.randint(0, rank)))


def draw_array(r, shape, dtype="float32"):
    g = np.random.default_rng(r.getrandbits(32))
    if dtype == "bool":
        return g.integers(0, 2, shape).astype(bool)
    if dtype.startswith("int") or dtype.startswith("uint"):
        return g.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    return g.standard_normal(shape).astype(dtype)
