"""Gradients, layers and optimisers; against PyTorch where it is installed."""
import os
import tempfile
import unittest

import ridge
from common import Case, needs_torch, np, torch
from ridge import nn


class Grad(Case):
    def test_backward(self):
        w = ridge.tensor([1.0, 2.0], requires_grad=True)
        self.assertIsNone(w.grad)
        (w * w).sum().backward()
        self.assertEqual(w.grad.tolist(), [2, 4])
        (w * 3).sum().backward()
        self.assertEqual(w.grad.tolist(), [5, 7])
        w.grad = None
        self.assertIsNone(w.grad)

    def test_grad_of_grad(self):
        x = ridge.tensor([2.0])
        y = (x**3).sum()
        g = ridge.grad(y, x)
        h = ridge.grad(g.sum(), [x])[0]  # before g is read: a value that was computed is a constant
        self.assertEqual((g.item(), h.item()), (12.0, 12.0))
        self.assertEqual(ridge.grad(lambda v: (v * v).sum())(ridge.tensor([3.0])).item(), 6.0)
        v, g = ridge.value_and_grad(lambda a, b: (a * b).sum(), (0, 1))(ridge.tensor([3.0]), ridge.tensor([4.0]))
        self.assertEqual((v.item(), g[0].item(), g[1].item()), (12, 4, 3))

    def test_of_a_detached_value(self):
        w, x = ridge.tensor([2.0, 3.0], requires_grad=True), ridge.tensor([5.0, 7.0])
        seen = (w * x).detach()  # a leaf, as in a gradient penalty
        g, = ridge.grad((seen * seen * w).sum(), [seen])
        self.assertEqual(g.tolist(), [40, 126])
        h, = ridge.grad((g * g).sum(), [w])  # of the penalty
        self.assertEqual(h.tolist(), [2 * 40 * 20, 2 * 126 * 42])
        with self.assertRaisesRegex(ridge.Error, "does not lead"):
            ridge.grad((seen * w).sum(), [x])

    def test_no_grad(self):
        w = ridge.tensor([1.0], requires_grad=True)
        with ridge.no_grad():
            y = (w * 2).sum()
            self.assertFalse(ridge.is_grad_enabled())
        with self.assertRaisesRegex(ridge.Error, "no parameter leads to the loss"):
            y.backward()
        with ridge.no_grad():
            w -= 0.5
        self.assertEqual(w.item(), 0.5)
        self.assertTrue(w.requires_grad)


class Layers(Case):
    def test_names_are_pytorchs(self):
        net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
        names = "0.weight 0.bias 1.weight 1.bias 1.running_mean 1.running_var 1.num_batches_tracked 4.weight 4.bias".split()
        self.assertEqual(list(net.state_dict()), names)
        self.assertEqual(net(ridge.ones(5, 1, 4, 4)).shape, (5, 3))
        self.assertEqual(net[1].num_batches_tracked.item(), 1)
        self.assertIn("Conv2d(1, 2", repr(net))

    def test_files(self):
        a, b = nn.Linear(3, 2), nn.Linear(3, 2)
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "m.safetensors")
            a.save(path)
            b.load(path)
            self.assertEqual(a.weight.tolist(), b.weight.tolist())
            ridge.save({"x": ridge.arange(3)}, path)
            self.assertEqual(ridge.load(path)["x"].tolist(), [0, 1, 2])
            ridge.save(ridge.ones(2), os.path.join(d, "x.npy"))
            self.assertEqual(ridge.load(os.path.join(d, "x.npy")).tolist(), [1, 1])
            with self.assertRaises(OSError):
                ridge.load(os.path.join(d, "none.safetensors"))
            with self.assertRaisesRegex(KeyError, "missing"):
                a.load_state_dict({})

    def test_optimisers_learn(self):
        x = ridge.randn(64, 4)
        y = (x @ ridge.tensor([[1.0], [2], [-1], [0.5]])).realize()
        for make in (lambda p: ridge.optim.SGD(p, lr=0.05, momentum=0.9), lambda p: ridge.optim.Adam(p, lr=0.1),
                     lambda p: ridge.optim.AdamW(p, lr=0.1)):
            m = nn.Linear(4, 1)
            opt = make(m.parameters())
            step = ridge.jit(lambda: self.train(m, opt, x, y))
            losses = [step().item() for _ in range(60)]
            self.assertLess(losses[-1], 0.05 * losses[0])
        opt.lr = 0.5
        self.assertEqual(opt.lr, 0.5)

    @staticmethod
    def train(m, opt, x, y):
        loss = ridge.mse_loss(m(x), y)
        loss.backward()
        opt.step()
        return loss


@needs_torch
class AgainstTorch(Case):
    def test_layers(self):
        T, F = torch.nn, nn
        pairs = [(T.Linear(6, 4), F.Linear(6, 4), (3, 6)), (T.Conv2d(2, 3, 3, padding=1, stride=2), F.Conv2d(2, 3, 3, padding=1, stride=2), (2, 2, 7, 7)),
                 (T.BatchNorm2d(3), F.BatchNorm2d(3), (4, 3, 5, 5)), (T.LayerNorm(6), F.LayerNorm(6), (3, 6)),
                 (T.GroupNorm(2, 4), F.GroupNorm(2, 4), (2, 4, 5)), (T.ConvTranspose2d(2, 3, 3, stride=2), F.ConvTranspose2d(2, 3, 3, stride=2), (1, 2, 4, 4)),
                 (T.GELU(), F.GELU(), (9,)), (T.MaxPool2d(2), F.MaxPool2d(2), (1, 2, 6, 6)), (T.AvgPool2d(3, 2, 1), F.AvgPool2d(3, 2, 1), (1, 2, 7, 7))]
        for theirs, ours, shape in pairs:
            ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
            a = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
            t = torch.tensor(a, requires_grad=True)
            x = ridge.tensor(a, requires_grad=True)
            want, got = theirs(t), ours(x)
            self.same(got, want.detach().numpy(), 1e-4, theirs)
            (want**2).sum().backward()
            (got * got).sum().backward()
            self.same(x.grad, t.grad.numpy(), 1e-3, theirs)
            for (n, p), (_, q) in zip(theirs.named_parameters(), ours.named_parameters()):
                self.same(q.grad, p.grad.numpy(), 2e-3, (theirs, n))
            for (n, p), (_, q) in zip(theirs.named_buffers(), ours.named_buffers()):
                self.same(q, p.numpy(), 1e-4, (theirs, n))

    def test_losses(self):
        g = np.random.default_rng(2)
        a, k = g.standard_normal((5, 3)).astype(np.float32), g.integers(0, 3, 5)
        f = torch.nn.functional
        for kw in ({}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1}):
            self.same(ridge.cross_entropy(ridge.tensor(a), ridge.tensor(k), **kw), f.cross_entropy(torch.tensor(a), torch.tensor(k), **kw), 1e-5)
        b = g.standard_normal((5, 3)).astype(np.float32)
        for name in "mse_loss l1_loss smooth_l1_loss huber_loss".split():
            self.same(getattr(ridge, name)(ridge.tensor(a), ridge.tensor(b)), getattr(f, name)(torch.tensor(a), torch.tensor(b)), 1e-5)


if __name__ == "__main__":
    unittest.main()
