"""Several processes that run one program: `ridge run -n 4 -- python train.py`, mpirun, torchrun, srun.

    world = ridge.world.World()                   # who am I: the launcher says; alone: rank 0 of 1
    total = world.all_reduce(x)                   # lazy, like everything else
    world.data_parallel(net)                      # once: rank 0's values for all, batch norms over all ranks
    loss.backward(); world.reduce_grads(net); optim.step()

All ranks make the same exchanges in the same order; docs/distributed.md.
"""
from . import _ridge
from ._helpers import no_grad

__all__ = ["World"]


class World:
    """The ranks of a job. A rank that calls something else, ends or does not come in time is named in the exception that all get."""

    def __init__(self, device=None, backend=None, name=None, rank=0, size=0, timeout=0.0):
        self._take(_ridge._world_open(device, backend, name, rank, size, timeout))

    def _take(self, handle):
        self._handle = handle
        self.rank, self.size, self.local_rank, self.backend = _ridge._world_facts(handle)

    def __repr__(self):
        return "World(rank %d of %d, %s)" % (self.rank, self.size, self.backend)

    def group(self, ranks):
        """Some ranks as a world of their own, numbered in this order; None on the others. All ranks call it."""
        handle = _ridge._world_group(self._handle, ranks)
        if handle is None:
            return None
        out = World.__new__(World)
        out._take(handle)
        return out

    def close(self):
        """Runs the exchanges that wait, and leaves."""
        _ridge._world_close(self._handle)

    # ---- exchanges ----

    def all_reduce(self, x, op="sum"):
        """x of all ranks combined: sum, mean, max, min, prod."""
        return _ridge._world_exchange(self._handle, "all_reduce", x, op)

    def reduce_scatter(self, x, op="sum"):
        """This rank's part of that: the first axis is divided among the ranks."""
        return _ridge._world_exchange(self._handle, "reduce_scatter", x, op)

    def all_gather(self, x):
        """x of all ranks, one after the other along the first axis."""
        return _ridge._world_exchange(self._handle, "all_gather", x, 0)

    def broadcast(self, x, root=0):
        """x of rank root."""
        return _ridge._world_exchange(self._handle, "broadcast", x, root)

    def all_to_all(self, x):
        """Part i of the first axis goes to rank i."""
        return _ridge._world_exchange(self._handle, "all_to_all", x, 0)

    def send(self, x, to):
        """Now, to one rank; it calls recv."""
        _ridge._world_send(self._handle, x, to)

    def recv(self, like, source):
        """What rank source sends: the shape and dtype of like."""
        return _ridge._world_exchange(self._handle, "recv", like, source)

    def barrier(self):
        """Waits for all ranks."""
        _ridge._world_barrier(self._handle)

    def share(self, n):
        """Which of n rows of a batch are this rank's: a slice. Shares differ by one row at most."""
        more = n % self.size
        first = n // self.size * self.rank + min(self.rank, more)
        return slice(first, first + n // self.size + (self.rank < more))

    # ---- data parallel ----

    def data_parallel(self, module):
        """Parameters and buffers become rank 0's; batch norms take their statistics over all ranks. Before the optimiser is made."""
        with no_grad():
            for x in list(module.parameters()) + list(module.buffers()):
                x.assign_(self.broadcast(x.detach(), 0))
        for m in module.modules():
            object.__setattr__(m, "_world", self)
        self.barrier()
        return module

    def reduce_grads(self, module, bucket_mb=25.0, wire=None):
        """Gradients become their mean over ranks, in buckets, the last layer's first. A parameter that this rank does not use counts as zeros.
        wire: the dtype they travel in, as "bfloat16"."""
        params = module.parameters() if hasattr(module, "parameters") else list(module)
        bucket, size = [], 0
        for p in reversed(params):
            if bucket and (size >= bucket_mb * 1e6 or bucket[0].dtype != p.dtype):
                self._reduce(bucket, wire)
                bucket, size = [], 0
            bucket.append(p)
            size += p.nbytes
        if bucket:
            self._reduce(bucket, wire)

    def _reduce(self, params, wire):
        grads = [p.grad if p.grad is not None else _ridge._zeros_like(p) for p in params]
        flat = [_ridge._contiguous(g).reshape(-1) for g in grads]
        if wire is not None:
            flat = [g.astype(wire) for g in flat]
        mean = self.all_reduce(_ridge.cat(flat) if len(flat) > 1 else flat[0], "mean")
        at = 0
        for p in params:
            p.grad = mean[at : at + p.size].reshape(p.shape).astype(p.dtype)
            at += p.size
