"""NumPy's side of bench/sort.c."""

import time

import numpy as np


def best(fn):
    t = []
    for _ in range(7):
        a = time.perf_counter()
        fn()
        t.append(time.perf_counter() - a)
    return min(t) * 1e3


for rows, n, dt in ((1, 1000000, "f4"), (1, 1000000, "f8"), (1, 1000000, "i4"), (1, 10000000, "f4"), (1000, 1000, "f4"), (100000, 10, "f4")):
    x = ((np.random.default_rng(1).random((rows, n)) - 0.5) * 1e9).astype(dt)
    print("sort      of %8d x %8d %s: %9.3f ms (stable: %.3f)" % (rows, n, dt, best(lambda: np.sort(x)), best(lambda: np.sort(x, kind="stable"))))
    print("argsort   of %8d x %8d %s: %9.3f ms (stable: %.3f)" % (rows, n, dt, best(lambda: np.argsort(x)), best(lambda: np.argsort(x, kind="stable"))))
    print("top 10    of %8d x %8d %s: %9.3f ms" % (rows, n, dt, best(lambda: np.partition(x, -10 if n > 10 else 0))))
