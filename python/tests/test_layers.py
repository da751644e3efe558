"""Layers and functions under PyTorch's names: the same values, from the same weights."""
import unittest

import ridge
from common import Case, needs_numpy, needs_torch, np, torch
from ridge import nn

LAYERS = [  # name, arguments, options, shape of what goes in
    *((n, (), {}, (2, 4, 6, 8)) for n in "ReLU6 Hardswish Hardsigmoid Hardtanh Mish SELU CELU Softplus Softsign LogSigmoid GLU PReLU".split()),
    ("PReLU", (4,), {}, (2, 4, 6, 8)), ("AdaptiveAvgPool2d", ((3, 4),), {}, (2, 4, 6, 8)), ("PixelShuffle", (2,), {}, (2, 4, 6, 8)),
    ("Upsample", (), {"scale_factor": 2}, (2, 4, 6, 8)), ("Upsample", ((9, 5), None, "bilinear", True), {}, (2, 4, 6, 8)),
    ("Unflatten", (1, (2, 2)), {}, (2, 4, 3)), ("ZeroPad2d", (1,), {}, (2, 4, 6, 8)), ("ReflectionPad2d", ((1, 2, 1, 0),), {}, (2, 4, 6, 8)),
    ("ReplicationPad2d", (2,), {}, (2, 4, 6, 8)), ("ConvTranspose1d", (4, 6, 4), {"stride": 2, "padding": 1}, (2, 4, 9)),
    ("ConvTranspose3d", (4, 2, 3), {}, (1, 4, 4, 4, 4)), ("MaxPool1d", (2,), {}, (2, 4, 8)), ("AvgPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("InstanceNorm1d", (4,), {}, (2, 4, 8)), ("RNNCell", (5, 3), {}, (2, 5)), ("GRUCell", (5, 3), {}, (2, 5)),
    ("Fold", ((4, 5), 2), {}, (2, 8, 12)), ("Unfold", (2,), {"padding": 1}, (2, 4, 6, 8)), ("ChannelShuffle", (2,), {}, (2, 4, 6, 8)),
    ("PixelUnshuffle", (2,), {}, (2, 4, 6, 8)), ("LocalResponseNorm", (2,), {"k": 2.0}, (2, 4, 6, 8)), ("AdaptiveMaxPool2d", ((3, 5),), {}, (2, 4, 6, 8)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 4, 8)), ("AdaptiveAvgPool3d", (3,), {}, (1, 2, 4, 5, 4)), ("LPPool2d", (2, 3), {}, (2, 4, 6, 8)),
    ("UpsamplingBilinear2d", (), {"scale_factor": 2}, (2, 4, 6, 8)), ("UpsamplingNearest2d", ((5, 9),), {}, (2, 4, 6, 8)),
    ("Softmin", (1,), {}, (2, 4, 6)), ("Softshrink", (0.3,), {}, (2, 4)), ("Threshold", (0.1, 7.0), {}, (2, 4)), ("Softmax2d", (), {}, (2, 4, 6, 8)),
    *((k + "Pad%dd" % n, (1,), {"value": 2.0} if k == "Constant" else {}, (2, 3, 4, 5, 6)[: n + 2])
      for k in ("Constant", "Zero", "Reflection", "Replication", "Circular") for n in (1, 2, 3)),
    *(("TransformerEncoderLayer", (8, 2, 16, 0.0), o, (3, 5, 8)) for o in ({}, {"batch_first": True, "norm_first": True, "activation": "gelu"})),
]


class Layers(Case):
    @needs_torch
    def test_values(self):
        for name, args, options, shape in LAYERS:
            x = np.random.default_rng(1).standard_normal(shape).astype("float32")
            theirs, ours = getattr(torch.nn, name)(*args, **options), getattr(nn, name)(*args, **options)
            ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
            self.same(ours(ridge.tensor(x)).detach(), theirs(torch.from_numpy(x)).detach().numpy(), 1e-5, name)

    def pair(self, name, *args, **options):
        theirs, ours = getattr(torch.nn, name)(*args, **options), getattr(nn, name)(*args, **options)
        ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
        return ours, theirs

    @needs_torch
    def test_several_inputs(self):
        g = np.random.default_rng(4)
        x, y, h = (g.standard_normal(s).astype("float32") for s in ((3, 5, 8), (3, 4, 8), (2, 5, 6)))
        late, gone = ~np.tri(5, dtype=bool), np.arange(4) >= np.array([[2], [4], [3]])
        both = []
        for m, mod, t in zip((ridge, torch), zip(*(self.pair(*a, **o) for a, o in (
                (("TransformerDecoderLayer", 8, 2, 16, 0.0), {"batch_first": True}), (("RNN", 8, 6, 2), {}), (("LSTMCell", 8, 6), {}),
                (("Bilinear", 8, 8, 3), {}), (("EmbeddingBag", 9, 4), {"mode": "sum"}), (("CosineSimilarity",), {"dim": 2})))), (0, 1)):
            decoder, rnn, cell, bilinear, bag, cosine = mod
            a, b, c = m.tensor(x), m.tensor(y), m.tensor(h)
            both.append([decoder(a, b, tgt_mask=m.tensor(late), memory_key_padding_mask=m.tensor(gone)), *rnn(a), rnn(a, c)[0], *cell(a[:, 0]),
                         *cell(a[:, 0], (c[0, :3], c[1, :3])), bilinear(a, a * 2), bag(m.tensor([[1, 2], [0, 8]])), cosine(a, a * 3 + 1)])
        for k, (got, want) in enumerate(zip(*both)):
            self.same(got.detach(), want.detach().numpy(), 1e-5, k)

    @needs_torch
    def test_stacks(self):
        layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        ours, theirs = nn.TransformerEncoder(layer, 2), torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), 2)
        for p in theirs.parameters():
            torch.nn.init.normal_(p, 0, 0.3)
        ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
        x = np.random.default_rng(1).standard_normal((2, 5, 8)).astype("float32")
        self.same(ours(ridge.tensor(x)).detach(), theirs.train()(torch.tensor(x)).detach().numpy(), 1e-5)
        self.assertEqual(len(ours.parameters()), 24)

    @needs_numpy
    def test_first_values(self):
        ridge.manual_seed(5)
        w = ridge.nn.Parameter(ridge.zeros((64, 96)))
        for name, args, std in (("xavier_uniform_", (), (2 / 160) ** 0.5), ("xavier_normal_", (2.0,), 2 * (2 / 160) ** 0.5), ("kaiming_uniform_", (), (2 / 96) ** 0.5),
                                ("kaiming_normal_", (0, "fan_out"), (2 / 64) ** 0.5), ("normal_", (0.0, 3.0), 3.0), ("uniform_", (-1, 1), 3**-0.5),
                                ("trunc_normal_", (0.0, 0.02), 0.02)):
            got = getattr(nn.init, name)(w, *args)
            self.assertTrue(got is w and w.requires_grad)
            self.assertLess(abs(w.detach().std().item() / std - 1), 0.06, name)
        self.assertLessEqual(nn.init.trunc_normal_(w, 0, 1, -0.5, 2).detach().min().item() + 0.5, 0.01)
        q = nn.init.orthogonal_(w, 2.0).detach()
        self.same(q @ q.T, 4 * np.eye(64), 1e-4)
        k, x = nn.init.dirac_(ridge.zeros((4, 2, 3, 3)), 2), ridge.rand((1, 4, 5, 5))
        self.same(nn.functional.conv2d(x, k, padding=1, groups=2), x.numpy())

    @needs_numpy
    def test_utils(self):
        p = [nn.Parameter(ridge.ones((2, 3))), nn.Parameter(ridge.zeros(4))]
        v = nn.utils.parameters_to_vector(p)
        nn.utils.vector_to_parameters(v.detach() + ridge.arange(10), p)
        self.same(p[1].detach(), np.float32([6, 7, 8, 9]))
        x = nn.utils.rnn.pad_sequence([ridge.ones((3, 2)), ridge.ones((1, 2))], padding_value=5.0)
        self.same(x[:, 1], np.float32([[1, 1], [5, 5], [5, 5]]))
        self.assertEqual([s.shape for s in nn.utils.rnn.unpad_sequence(x, [3, 1])], [(3, 2), (1, 2)])
        d = nn.ParameterDict({"a": ridge.ones(2)})
        self.assertEqual((list(d), len(d), "a" in d, len(d.parameters())), (["a"], 1, True, 1))

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
