"""Layers and functions under PyTorch's names: the same values, from the same weights."""
import unittest

import ridge
from common import Case, needs_torch, np, torch
from ridge import nn

LAYERS = [  # name, arguments, options, shape of what goes in
    *((n, (), {}, (2, 4, 6, 8)) for n in "ReLU6 Hardswish Hardsigmoid Hardtanh Mish SELU CELU Softplus Softsign LogSigmoid GLU PReLU".split()),
    ("PReLU", (4,), {}, (2, 4, 6, 8)), ("AdaptiveAvgPool2d", ((3, 4),), {}, (2, 4, 6, 8)), ("PixelShuffle", (2,), {}, (2, 4, 6, 8)),
    ("Upsample", (), {"scale_factor": 2}, (2, 4, 6, 8)), ("Upsample", ((9, 5), None, "bilinear", True), {}, (2, 4, 6, 8)),
    ("Unflatten", (1, (2, 2)), {}, (2, 4, 3)), ("ZeroPad2d", (1,), {}, (2, 4, 6, 8)), ("ReflectionPad2d", ((1, 2, 1, 0),), {}, (2, 4, 6, 8)),
    ("ReplicationPad2d", (2,), {}, (2, 4, 6, 8)), ("ConvTranspose1d", (4, 6, 4), {"stride": 2, "padding": 1}, (2, 4, 9)),
    ("ConvTranspose3d", (4, 2, 3), {}, (1, 4, 4, 4, 4)), ("MaxPool1d", (2,), {}, (2, 4, 8)), ("AvgPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("InstanceNorm1d", (4,), {}, (2, 4, 8)),
]


class Layers(Case):
    @needs_torch
    def test_values(self):
        for name, args, options, shape in LAYERS:
            x = np.random.default_rng(1).standard_normal(shape).astype("float32")
            theirs, ours = getattr(torch.nn, name)(*args, **options), getattr(nn, name)(*args, **options)
            ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
            self.same(ours(ridge.tensor(x)).detach(), theirs(torch.from_numpy(x)).detach().numpy(), 1e-5, name)

    @needs_torch
    def test_functions(self):
        x, y = (np.random.default_rng(k).standard_normal((3, 4, 5)).astype("float32") for k in (1, 2))
        i = np.array([2, 0, 2])
        for f in (lambda t, x, y, i: x.index_select(1, i), lambda t, x, y, i: x.index_add(0, i, y), lambda t, x, y, i: x.addcmul(x, y, value=2),
                  lambda t, x, y, i: t.baddbmm(x @ y.transpose(1, 2), x, y.transpose(1, 2)), lambda t, x, y, i: t.cdist(x[0], y[0]),
                  lambda t, x, y, i: x.new_full((2, 2), 3.0) + x.new_ones(2, 2), lambda t, x, y, i: t.var_mean(x, 1)[0],
                  lambda t, x, y, i: x.clamp_min(0.1)):
            self.same(f(ridge, ridge.tensor(x), ridge.tensor(y), ridge.tensor(i)), f(torch, *map(torch.from_numpy, (x, y, i))).numpy())

    @needs_torch
    def test_functional(self):
        x, y, z = (np.random.default_rng(k).standard_normal((3, 4, 8, 6)).astype("float32") for k in (1, 2, 3))
        windows = [(3,), (2, 2), (1, 1, 2), (4, 1, 0, 3)]
        rows = [lambda F, x, y, z, k=k: F.unfold(x, *k) for k in windows]
        rows += [lambda F, x, y, z: F.unfold(x, (3, 2), stride=(2, 1), padding=(1, 0)), lambda F, x, y, z: F.threshold(x, 0.1, 20),
                 lambda F, x, y, z: F.hardshrink(x), lambda F, x, y, z: F.softshrink(x, 0.3), lambda F, x, y, z: F.tanhshrink(x),
                 lambda F, x, y, z: F.pixel_unshuffle(x, 2), lambda F, x, y, z: F.pairwise_distance(x, y),
                 lambda F, x, y, z: F.triplet_margin_loss(x[0, 0], y[0, 0], z[0, 0], reduction="sum"),
                 lambda F, x, y, z: F.margin_ranking_loss(x, y, z, 0.2), lambda F, x, y, z: F.instance_norm(x),
                 lambda F, x, y, z: F.kl_div(F.log_softmax(x, 1), F.softmax(y, 1), reduction="batchmean")]
        for f in rows:
            self.same(f(nn.functional, *map(ridge.tensor, (x, y, z))), f(torch.nn.functional, *map(torch.from_numpy, (x, y, z))).numpy(), 1e-5)

    @needs_torch
    def test_functional_batch_norm(self):
        x = np.random.default_rng(1).standard_normal((3, 4, 8)).astype("float32")
        w, b = np.float32([1, 2, 3, 4]), np.float32([0, 1, 0, 2])
        state = [[m.zeros(4), m.ones(4)] for m in (ridge, torch)]
        for training in (True, True, False):
            ours, theirs = (m.nn.functional.batch_norm(m.tensor(x), *s, m.tensor(w), m.tensor(b), training, 0.3)
                            for m, s in zip((ridge, torch), state))
            self.same(ours, theirs.numpy(), 1e-5)
        for running, want in zip(*state):
            self.same(running, want.numpy(), 1e-5)
        for f in (lambda x: nn.functional.batch_norm(x, None, None, training=True), nn.BatchNorm1d(4)):
            with self.assertRaisesRegex(ridge.InvalidError, "more than one value"):
                f(ridge.ones(1, 4))

    def test_containers(self):
        m = nn.ModuleDict({"a": nn.Linear(2, 3), "b": nn.ReLU()})
        p = nn.ParameterList([ridge.ones(2), ridge.zeros(3)])
        self.assertEqual((list(m), len(m["a"].parameters()), len(p), len(p.parameters())), (["a", "b"], 2, 2, 2))
        d = nn.Dropout2d(0.5)
        self.assertLessEqual(set(d(ridge.ones(4, 8, 3, 3)).sum((2, 3)).flatten().tolist()), {0.0, 18.0})


if __name__ == "__main__":
    unittest.main()
