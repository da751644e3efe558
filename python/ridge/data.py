"""Loops over data: a progress bar, and batches."""
import sys
import time


def progress(items, total=None, desc=""):
    """tqdm if it is installed; else a line on stderr, in a terminal."""
    try:
        from tqdm.auto import tqdm

        return tqdm(items, total=total, desc=desc)
    except ImportError:
        return _plain(items, total, desc)


def _plain(items, total, desc):
    total = total if total is not None else len(items) if hasattr(items, "__len__") else None
    shown, began = sys.stderr.isatty(), time.time()
    for i, x in enumerate(items, 1):
        yield x
        if shown:
            rate = i / max(time.time() - began, 1e-9)
            sys.stderr.write("\r%s %d%s  %.2f/s" % (desc, i, "/%d" % total if total else "", rate))
            sys.stderr.flush()
    if shown:
        sys.stderr.write("\n")


def batches(*tensors, size, shuffle=True):
    """Batches of equal size of tensors that have the same first axis; a rest is left out."""
    from . import _ridge

    n = tensors[0].shape[0]
    order = _ridge.randperm(n).realize() if shuffle else None
    for i in range(0, n - size + 1, size):
        at = order[i:i + size] if shuffle else slice(i, i + size)
        yield tuple(t[at] for t in tensors)
