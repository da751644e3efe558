"""torch.nn.functional's functions that are built from others: values and gradients, on random sizes."""
import random
import unittest

import ridge
from common import Case, needs_torch, np, torch
from ridge import nn

# x (N, C, H, W) with C even, y of its shape, r: a Random to draw options from
ROWS = [
    lambda F, x, y, r: F.fold(F.unfold(x, 2), x.shape[2:], 2),
    lambda F, x, y, r: F.fold(F.unfold(x, (2, 3), padding=1, stride=2), x.shape[2:], (2, 3), padding=1, stride=2),
    lambda F, x, y, r: F.fold(F.unfold(x, 2, 2, 1, (1, 2)), x.shape[2:], 2, 2, 1, (1, 2)),
    lambda F, x, y, r: F.fold(F.unfold(x, 2)[0], x.shape[2:], 2),
    lambda F, x, y, r: F.adaptive_avg_pool1d(x[0], r.randint(1, 9)), lambda F, x, y, r: F.adaptive_avg_pool3d(x, (1, r.randint(1, 9), None)),
    lambda F, x, y, r: F.adaptive_max_pool1d(x[0], r.randint(1, 9)), lambda F, x, y, r: F.adaptive_max_pool2d(x, (r.randint(1, 9), 3)),
    lambda F, x, y, r: F.adaptive_max_pool3d(x, (2, 3, r.randint(1, 9))),
    lambda F, x, y, r: F.adaptive_max_pool2d(x, r.randint(1, 4), return_indices=True)[0],
    lambda F, x, y, r: F.adaptive_max_pool2d(x, (r.randint(1, 4), r.randint(1, 4)), return_indices=True)[1] * 1.0,
    lambda F, x, y, r: F.adaptive_max_pool1d(x[0], r.randint(1, 4), return_indices=True)[1] * 1.0,
    lambda F, x, y, r: F.lp_pool2d(x.abs(), 2, 2, ceil_mode=False), lambda F, x, y, r: F.lp_pool1d(x[0].abs(), 3, 2, 1),
    lambda F, x, y, r: F.local_response_norm(x, r.randint(1, 4), 0.3, 0.5, 2.0), lambda F, x, y, r: F.local_response_norm(x[:, :, 0], 3),
    *(lambda F, x, y, r, o=o, a=a, p=p: F.grid_sample(x, (y.reshape(y.shape[0], -1)[:, : 2 * (y[0].numel() // 2)]).reshape(y.shape[0], 1, -1, 2) * 0.9,
                                                      mode=o, padding_mode=p, align_corners=a)
      for o in ("bilinear", "nearest", "bicubic") for p in ("zeros", "border", "reflection") for a in (False, True)),
    *(lambda F, x, y, r, o=o, p=p: F.grid_sample(x.unsqueeze(1), y.reshape(y.shape[0], -1)[:, :6].reshape(y.shape[0], 1, 2, 1, 3), o, p, False)
      for o in ("bilinear", "nearest") for p in ("zeros", "reflection")),
    lambda F, x, y, r: F.affine_grid(x[:, 0, :2, :3], (x.shape[0], 2, 4, 3), align_corners=False),
    lambda F, x, y, r: F.affine_grid(x.reshape(x.shape[0], -1)[:, :12].reshape(-1, 3, 4), (x.shape[0], 2, 2, 4, 3), align_corners=True),
    lambda F, x, y, r: F.bilinear(x[0], y[0], x[0, 0, :2, :, None] * y[0, 0, :2, None], y[0, 0, 0, :2]),
    lambda F, x, y, r: F.alpha_dropout(x, 0.3, training=False), lambda F, x, y, r: F.rrelu(x, 0.1, 0.3),
    lambda F, x, y, r: F.hinge_embedding_loss(x, (y > 0) * 2.0 - 1),
    lambda F, x, y, r: F.cosine_embedding_loss(x[0, 0], y[0, 0], (y[0, 0, :, 0] > 0) * 2.0 - 1, 0.1),
    lambda F, x, y, r: F.poisson_nll_loss(x, y.abs() * 3, full=True),
    lambda F, x, y, r: F.poisson_nll_loss(x.abs(), y.abs(), log_input=False, reduction="sum"),
    lambda F, x, y, r: F.gaussian_nll_loss(x, y, y.abs() + 0.1, full=True),
    lambda F, x, y, r: F.gaussian_nll_loss(x, y, y[..., 0].abs(), reduction="none"),
    lambda F, x, y, r: F.soft_margin_loss(x, (y > 0) * 2.0 - 1), lambda F, x, y, r: F.multilabel_soft_margin_loss(x[0, 0], (y[0, 0] > 0) * 1.0),
    lambda F, x, y, r: F.multi_margin_loss(x[0, 0], y[0, 0].argmax(1), margin=0.5),
    lambda F, x, y, r: F.multi_margin_loss(x[0, 0], y[0, 0].argmax(1), p=2, reduction="none"),
    lambda F, x, y, r: F.triplet_margin_with_distance_loss(x[0, 0], y[0, 0], x[0, 1], swap=True), lambda F, x, y, r: F.max_pool2d(x, 2, 1),
    lambda F, x, y, r: F.avg_pool2d(x, 2, 2, 1), lambda F, x, y, r: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda F, x, y, r: F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    lambda F, x, y, r: F.pad(x, (1, 2, 0, 1), mode="reflect"), lambda F, x, y, r: F.pad(x, (-1, 1), value=2.0),
    lambda F, x, y, r: F.normalize(x, dim=2),
    lambda F, x, y, r: F.cosine_similarity(x, y, dim=-1), lambda F, x, y, r: F.scaled_dot_product_attention(x, y, x, is_causal=True),
    lambda F, x, y, r: F.interpolate(x, scale_factor=1.7, mode="bicubic"),
    lambda F, x, y, r: F.interpolate(x, (r.randint(1, 12), 5), mode="bicubic", align_corners=True),
    lambda F, x, y, r: F.interpolate(x, (r.randint(1, 12), 5), mode="bilinear", antialias=True),
    lambda F, x, y, r: F.interpolate(x, (3, 11), mode="bicubic", antialias=True),
    lambda F, x, y, r: F.interpolate(x, (3, r.randint(1, 9)), mode="area"), lambda F, x, y, r: F.upsample(x, scale_factor=2),
    lambda F, x, y, r: F.relu(x * 1, inplace=True),
    lambda F, x, y, r: F.leaky_relu(x * 1, 0.2, inplace=True), lambda F, x, y, r: F.softmax(x, 1, dtype=x.dtype),
    lambda F, x, y, r: F.conv2d(x, y[:, :, :3, :2], padding="same"),
    lambda F, x, y, r: F.conv2d(x, y[:, :, :2, :2], padding="valid"), lambda F, x, y, r: F.softplus(x, 2, 20),
    lambda F, x, y, r: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1] * 1.0,
    lambda F, x, y, r: F.max_pool1d(x[0], 3, 2, 1, return_indices=True)[1] * 1.0,
    lambda F, x, y, r: F.avg_pool2d(x, 3, 2, 1, True, False), lambda F, x, y, r: F.avg_pool2d(x, (2, 3), divisor_override=4),
    lambda F, x, y, r: F.avg_pool1d(x[0], 2, 1, 1, False, False),
    lambda F, x, y, r: F.rms_norm(x, x.shape[2:], eps=1e-5), lambda F, x, y, r: F.group_norm(x, num_groups=2),
    lambda F, x, y, r: F.normalize(x, p=1, dim=0, eps=0.1),
    lambda F, x, y, r: F.kl_div(F.log_softmax(x, 1), F.log_softmax(y, 1), reduction="sum", log_target=True),
    lambda F, x, y, r: F.embedding(y[0, 0].argmax(1), x.reshape(-1, x.shape[3]), padding_idx=1),
    lambda F, x, y, r: F.hardtanh(x, min_val=-0.3, max_val=0.2),
    lambda F, x, y, r: F.scaled_dot_product_attention(x, y[:, :2], y[:, :2], scale=0.3, enable_gqa=True),
]


class Functional(Case):
    @needs_torch
    def test_values_and_gradients(self):
        draw = random.Random(7)
        for n in range(4 if ridge.device() == "REF" else 1):
            shape = (draw.randint(1, 3), draw.choice((2, 4)), draw.randint(4, 8), draw.randint(4, 8))
            a, b = (np.random.default_rng(10 * n + k).standard_normal(shape).astype("float32") for k in (0, 1))
            for k, f in enumerate(ROWS):
                with self.subTest("%d of ROWS" % k, shape=shape):
                    x, t = ridge.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
                    got, want = f(nn.functional, x, ridge.tensor(b), random.Random(n)), f(torch.nn.functional, t, torch.tensor(b), random.Random(n))
                    self.same(got.detach(), want.detach().numpy(), 2e-5)
                    if want.requires_grad and got.requires_grad:
                        w = np.random.default_rng(5).standard_normal(want.shape).astype("float32")
                        self.same(ridge.grad((got * ridge.tensor(w)).sum(), x), torch.autograd.grad((want * torch.tensor(w)).sum(), t)[0].numpy(), 2e-4)

    @needs_torch
    def test_ctc(self):
        r = np.random.default_rng(1)
        for steps, n, size, classes in ((1, 1, 1, 3), (9, 3, 4, 5), (6, 4, 2, 3)):
            a = r.standard_normal((steps, n, classes)).astype("float32")
            targets = r.integers(1, classes, (n, size))
            lengths = np.minimum(r.integers(1, steps + 1, n), steps), r.integers(1, size + 1, n)
            for options in ({}, {"reduction": "none"}, {"reduction": "sum", "zero_infinity": True}):
                x, t = ridge.tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
                got = nn.functional.ctc_loss(x.log_softmax(2), *map(ridge.tensor, (targets, *lengths)), **options)
                want = torch.nn.functional.ctc_loss(t.log_softmax(2), *map(torch.tensor, (targets, *lengths)), **options)
                self.same(got.detach(), want.detach().numpy(), 1e-4)
                if "zero_infinity" in options:
                    self.same(ridge.grad(got, x), torch.autograd.grad(want, t)[0].numpy(), 1e-4)
            flat = np.concatenate([row[:k] for row, k in zip(targets, lengths[1])])
            got = nn.functional.ctc_loss(ridge.tensor(a).log_softmax(2), *map(ridge.tensor, (flat, *lengths)), reduction="none")
            self.same(got, torch.nn.functional.ctc_loss(torch.tensor(a).log_softmax(2), *map(torch.tensor, (flat, *lengths)), reduction="none").numpy(), 1e-4)

    @needs_torch
    def test_bags(self):
        w = np.random.default_rng(1).standard_normal((9, 4)).astype("float32")
        at, offsets = np.array([1, 8, 2, 2, 0, 5]), np.array([0, 2, 2])
        for mode in ("sum", "mean", "max"):
            got, want = (F.embedding_bag(m.tensor(at.reshape(2, 3)), m.tensor(w), mode=mode) for F, m in ((nn.functional, ridge), (torch.nn.functional, torch)))
            self.same(got, want.numpy())
            got, want = (F.embedding_bag(m.tensor(at), m.tensor(w), m.tensor(offsets), mode=mode) for F, m in ((nn.functional, ridge), (torch.nn.functional, torch)))
            self.same(got, want.numpy())

    def test_drawn(self):
        ridge.manual_seed(3)
        y = nn.functional.gumbel_softmax(ridge.zeros((500, 4)), 0.5, hard=True)
        self.assertEqual(y.sum(1).tolist(), [1.0] * 500)
        self.assertLess(abs(y[:, 0].mean().item() - 0.25), 0.1)
        x = nn.functional.alpha_dropout(ridge.randn(20000), 0.3, True)
        self.assertLess(abs(x.mean().item()) + abs(x.std().item() - 1), 0.1)


if __name__ == "__main__":
    unittest.main()
