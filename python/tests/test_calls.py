"""Calls: errors and provenance name the user's Python line; arguments by NumPy's and PyTorch's names; nothing leaks."""
import inspect
import os
import re
import subprocess
import sys
import tempfile
import tracemalloc
import unittest

import ridge
from common import Case, needs_numpy, needs_torch, np, torch
from ridge import nn


def line():
    return inspect.currentframe().f_back.f_lineno


class Lines(Case):
    def test_errors_have_file_line_and_function(self):
        with self.assertRaises(ridge.InvalidError) as e:
            at = line(); ridge.ones(2, 3) @ ridge.ones(2)
        self.assertEqual(type(e.exception).__module__, "ridge")
        self.assertIn("test_calls.py:%d: matmul: " % at, str(e.exception))
        self.assertIsInstance(e.exception, ValueError)
        self.assertEqual(e.exception.status, 1)
        with self.assertRaises(ValueError) as e:
            at = line(); nn.Linear(3, 2)(ridge.ones(4))
        self.assertRegex(str(e.exception), r"test_calls.py:%d: linear: \(in Linear\)" % at)  # not the package's line
        self.assertNotIn("rg_", str(e.exception))

    def test_lines_in_kernels_and_profiles(self):
        program = "import ridge\nx = ridge.rand(50, 60)\ny = (x.exp()\n     + x.sin()).sum(1)\ny.realize()\nprint(ridge.kernels()[0]['where'])\n"
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "mine.py")
            with open(path, "w") as f:
                f.write(program)
            env = dict(os.environ, DEBUG="2", DEVICE="CPU")
            done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"exp mine\.py:3, sin mine\.py:4")
            self.assertRegex(done.stderr, r"\*\*\* CPU.*exp mine\.py:3, sin mine\.py:4")

    def test_a_missing_compiler_is_said_in_one_line(self):
        env = dict(os.environ, RIDGE_CC="/nowhere/cc", RIDGE_CACHE="0", DEVICE="CPU")
        done = subprocess.run([sys.executable, "-c", "import ridge\ntry:\n  print((ridge.rand(77)*3.25).sum().item())\nexcept ridge.CompilerError as e: print('said', e)"],
                              capture_output=True, text=True, env=env)
        self.assertIn("said", done.stdout, done.stderr)
        self.assertEqual(len(done.stdout.strip().split("\n")), 1)


class Words(Case):
    """Errors name what Python has, not the library's C names."""

    def said(self, fn, *args):
        with self.assertRaises(ridge.Error) as e:
            for _ in range(3):
                fn(*args)
        return str(e.exception).split(": ", 1)[1]

    def test_names(self):
        self.assertEqual(self.said(lambda: ridge.ones(2).set(3)), "set: tensor 1 was not made by ridge.scalar or ridge.index_scalar; use assign_")
        x = ridge.tensor([1.0, 2.0])
        self.assertIn("backward: no parameter leads to the loss; requires_grad=True makes one", self.said(lambda: (x * x).sum().backward()))
        self.assertEqual(self.said(lambda: ridge.ones(4).window(ridge.ones(1), 2)), "slice: the start of range 1 is not a ridge.index_scalar")

    def test_reads_inside_a_jit(self):
        end = "Return the tensor as an output of the function and read it after the call of the jit"
        said = self.said(ridge.jit(lambda x: memoryview(x * 2) and x), ridge.ones(2))
        self.assertEqual(said, "reading a value: not while a jit is recorded: replays would not do it again. " + end)

    @needs_numpy
    def test_linalg_inside_a_jit(self):
        said = self.said(ridge.jit(ridge.linalg.inv), ridge.eye(2))
        self.assertIn("factorizations run on the host (LAPACK)", said)
        self.assertIn("call ridge.linalg outside of the jit", said)


class Arguments(Case):
    def test_other_names(self):
        x = ridge.arange(6).reshape(2, 3)
        for kw in ({"axis": 0}, {"dim": 0}, {"axes": (0,)}):
            self.assertEqual(x.sum(**kw).tolist(), [3, 5, 7])
        self.assertEqual(x.sum(dim=1, keepdim=True).shape, (2, 1))
        self.assertEqual(x.clamp(min=1, max=3).tolist(), [[1, 1, 2], [3, 3, 3]])
        self.assertEqual(x.transpose(0, 1).shape, x.T.shape)
        self.assertEqual(x.reshape(-1).shape, x.reshape((6,)).shape)
        self.assertEqual(ridge.cat((x, x), dim=1).shape, (2, 6))

    def test_mistakes_are_type_errors(self):
        x = ridge.ones(2)
        for f, words in ((lambda: x.sum(axle=1), "unexpected keyword argument 'axle'"), (lambda: x.reshape(), None), (lambda: ridge.add(x), "needs the argument 'y'"),
                         (lambda: x.softmax(0, 1), "at most 2"), (lambda: x + "s", None), (lambda: ridge.ones("two"), None),
                         (lambda: x.sum(0, axis=0), "two values")):
            with self.assertRaises((TypeError, ValueError)) as e:
                f()
            if words:
                self.assertIn(words, str(e.exception))

    def test_every_function_of_the_header_is_there(self):
        """gen.py knows of each function how Python has it."""
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        with open(os.path.join(root, "include", "ridge.h")) as header:
            out = subprocess.run([sys.executable, os.path.join(root, "python", "gen.py"), "list"], stdin=header, capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertNotIn("not bound", out.stdout)
        self.assertGreater(len(re.findall(r"\(", out.stdout)), 250)


class Leaks(Case):
    def test_operations_leave_nothing(self):
        w = ridge.tensor([1.0, 2.0], requires_grad=True)
        f = ridge.jit(lambda x: {"y": x * 2})

        def once():
            x = ridge.tensor([[1.0, 2.0]])
            y = (x @ w.reshape(2, 1))[0, 0] + x.sum(axis=1, keepdims=True)[0]
            y.sum().backward()
            w.grad = None
            f(x)
            try:
                x.reshape(7)
            except ValueError:
                pass
            x[0] = 3
            x += 1
            y.item()

        for i in range(20):
            once()
        ridge.collect()
        handles = ridge.usage()["handles"]
        tracemalloc.start()
        once()
        a = tracemalloc.get_traced_memory()[0]
        for i in range(300):
            once()
        b = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        self.assertLess(b - a, 4000)
        ridge.collect()
        self.assertLessEqual(ridge.usage()["handles"], handles + 1)


class Devices(Case):
    def test_reference_device(self):
        x = ridge.ones(3, device="REF")
        self.assertEqual((x.device, (x + 1).tolist()), ("REF", [2, 2, 2]))
        self.assertEqual(x.to("CPU").device, "CPU")
        with self.assertRaisesRegex(ridge.Error, "two devices, .* move one: x.to"):
            x + ridge.ones(3, device="CPU")
        with self.assertRaises(ridge.Error):
            ridge.ones(1, device="NOWHERE")



class Integers(Case):
    def test_beyond_int64(self):
        """They are uint64, as NumPy's; beside negative ones there is no dtype."""
        top = 2**64 - 1
        for data in (top, [top, 0], [[2**63], [1]]):
            x = ridge.tensor(data)
            self.assertIs(x.dtype, ridge.uint64)
            self.assertEqual(x.tolist(), data)
        self.assertEqual(ridge.tensor(top, "uint64").item(), top)
        self.assertEqual(ridge.tensor([top, 0.5]).dtype, ridge.float32)
        for wrong in (2**64, -(2**63) - 1, [top, -1], [-1, top]):
            with self.assertRaises(OverflowError):
                ridge.tensor(wrong)


@needs_torch
class AsPyTorch(Case):
    """Functions whose arguments have PyTorch's names."""

    def test_scatter_reduce(self):
        g = torch.Generator().manual_seed(1)
        x, src = torch.randn(3, 4, generator=g), torch.randn(3, 4, generator=g)
        index = torch.randint(3, (3, 4), generator=g)
        ours = [ridge.tensor(v.numpy()) for v in (x, index, src)]
        for how in ("sum", "prod", "mean", "amax", "amin"):
            for keep in (True, False):
                want = x.scatter_reduce(0, index, src, how, include_self=keep)
                self.same(ours[0].scatter_reduce(0, ours[1], ours[2], how, include_self=keep), want.numpy(), what=(how, keep))

    def test_softplus_softmin_diagonal_var(self):
        x = torch.linspace(-3, 3, 24).reshape(2, 3, 4)
        y = ridge.tensor(x.numpy())
        self.same(ridge.softplus(y, beta=3), torch.nn.functional.softplus(x, beta=3).numpy())
        self.same(y.softmin(1), torch.nn.functional.softmin(x, 1).numpy())
        self.same(y.diagonal(offset=1, dim1=-2, dim2=-1), x.diagonal(1, -2, -1).numpy())
        self.same(y.var((1, 2), correction=12), np.full(2, np.inf, "float32"))

    def test_refusals(self):
        x = ridge.ones(2, 3)
        for wrong in (lambda: x.sum(2), lambda: x.softmax(5), lambda: ridge.stack([x], 7), lambda: ridge.expand_dims(x, 9)):
            with self.assertRaises(IndexError):
                wrong()
            with self.assertRaises(ridge.AxisError):
                wrong()
        for wrong in (lambda: ridge.divide(x, x, "down"), lambda: ridge.meshgrid(x, x, indexing="yx")):
            with self.assertRaises(ridge.InvalidError):
                wrong()


if __name__ == "__main__":
    unittest.main()
