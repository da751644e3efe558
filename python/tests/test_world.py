"""Worlds: ranks as processes, each with this file as its program."""
import os
import subprocess
import sys
import unittest

import ridge
from common import Case
from ridge import nn
from ridge.world import World

ROWS = 7  # shares differ


def train(world):
    """Three steps; the sum of everything that was learned."""
    ridge.manual_seed(3 + (world.rank if world else 0))
    net = nn.Module()
    net.body = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 1))
    net.idle = nn.Linear(2, 2)  # not used: stays rank 0's
    if world:
        world.data_parallel(net)
    optim = ridge.optim.SGD(net.parameters(), lr=0.1)
    for i in range(3):
        x = ridge.sin(ridge.arange(ROWS * 5, dtype="float32").reshape(ROWS, 5) * (i + 1))
        mine = x[world.share(ROWS)] if world else x
        loss = ((net.body(mine) - mine.sum(1, keepdims=True)) ** 2).mean()
        if world:
            (loss * (mine.shape[0] * world.size / ROWS)).backward()
            world.reduce_grads(net, bucket_mb=1e-4)
        else:
            loss.backward()
        optim.step()
    return sum(float(v.astype("float32").cos().sum().item()) for v in net.state_dict().values())


def check_exchanges(w):
    n, r = w.size, w.rank
    x = ridge.tensor([float(r * 10 + i) for i in range(2 * n)])
    total = [float(sum(q * 10 + i for q in range(n))) for i in range(2 * n)]
    assert w.all_reduce(x).tolist() == total
    assert w.all_reduce(x, "max").tolist() == [float((n - 1) * 10 + i) for i in range(2 * n)]
    assert w.all_reduce(x, op="mean").tolist() == [t / n for t in total]
    assert w.reduce_scatter(x).tolist() == total[2 * r : 2 * r + 2]
    assert w.all_gather(x[:1]).tolist() == [q * 10.0 for q in range(n)]
    assert w.broadcast(x, n - 1).tolist() == [(n - 1) * 10.0 + i for i in range(2 * n)]
    assert w.all_to_all(x).tolist() == [q * 10.0 + 2 * r + i for q in range(n) for i in range(2)]
    p = ridge.tensor([1.0 + r], requires_grad=True)
    (w.all_reduce(p * p) * (r + 1)).sum().backward()  # the losses' sum: every rank's share comes back
    assert p.grad.tolist() == [2 * (1.0 + r) * sum(q + 1 for q in range(n))], p.grad.tolist()
    if n > 1:
        if r == 0:
            w.send(x, 1)
        if r == 1:
            assert w.recv(x, 0).tolist() == [float(i) for i in range(2 * n)]
        g = w.group([1, 0])
        assert (g is None) == (r > 1)
        assert g is None or g.rank == 1 - r
    w.barrier()


def rank_main():
    w = World(timeout=60)
    check_exchanges(w)
    print("learned %.6f" % train(w), flush=True)
    if w.size > 1:
        try:
            w.all_reduce(ridge.ones(3 if w.rank else 4)).realize()
        except ridge.Error as e:
            assert "differs between ranks: rank 0 calls all_reduce of f32[4] (sum), rank 1" in str(e), e
            print("named", flush=True)
    os._exit(0)


class Worlds(Case):
    def ranks(self, n):
        name = "python-%d-%d" % (os.getpid(), n)
        env = {**os.environ, "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n), "RIDGE_WORLD": name}
        p = [subprocess.Popen([sys.executable, os.path.abspath(__file__)], env={**env, "RANK": str(r), "LOCAL_RANK": str(r)}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for r in range(n)]
        out = [q.communicate(timeout=300)[0] for q in p]
        for q, text in zip(p, out):
            self.assertEqual(q.returncode, 0, text)
        return out

    def test_alone(self):
        w = World(backend="shm", name="alone-%d" % os.getpid(), rank=0, size=1)
        self.assertEqual((w.rank, w.size, w.share(5)), (0, 1, slice(0, 5)))
        check_exchanges(w)
        w.close()
        with self.assertRaisesRegex(ValueError, "the world was closed"):
            w.barrier()
        with self.assertRaisesRegex(ridge.Error, "no backend"):
            World(backend="smoke")

    def test_ranks_train_as_one_process(self):
        alone = train(None)
        for out in self.ranks(3):
            words = out.split()
            self.assertEqual(words[0], "learned", out)
            self.assertAlmostEqual(float(words[1]), alone, delta=2e-5 * abs(alone))
            self.assertEqual(words[2:], ["named"], out)


if __name__ == "__main__":
    rank_main() if "RIDGE_WORLD" in os.environ else unittest.main()
