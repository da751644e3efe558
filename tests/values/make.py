#!/usr/bin/env python3
"""Expected outputs of the kernels in tests/golden/small, computed by NumPy in float64.

Run from this folder with NumPy installed; writes NAME.txt beside this file, which are committed, so
the tests need neither Python nor NumPy. Each file holds whole buffers:

    in NAME DTYPE COUNT     then COUNT numbers: what the test puts into the buffer before it runs
    out NAME DTYPE COUNT    then COUNT numbers: what the buffer must hold afterwards

Inputs are float32 numbers written so that they read back exactly. Nothing here shares code with Ridge;
each function is the textbook formula over whole arrays.
"""
import math
import os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20240229)


def uniform(lo, hi, *shape):
    return rng.uniform(lo, hi, shape).astype(np.float32)


DTYPES = {"int8": "i8", "uint8": "u8", "int32": "i32", "int64": "i64", "float16": "f16"}


def write(name, ins, outs, types={}):
    """types: the kernel's type of a buffer where it is not that of the array."""
    with open(os.path.join(HERE, name + ".txt"), "w") as f:
        for kind, group in (("in", ins), ("out", outs)):
            for key, a in group.items():
                a = np.asarray(a)
                flat = a.reshape(-1)
                ints = a.dtype.kind in "iu"
                dtype = types.get(key) or DTYPES.get(str(a.dtype), "f32")
                f.write(f"{kind} {key} {dtype} {flat.size}\n")
                # 9 digits give back any float32; outputs are float64 and get a few more
                word = (lambda x: str(int(x))) if ints else (lambda x: "%.*g" % (9 if kind == "in" else 17 if dtype == "f64" else 12, x))
                for i in range(0, flat.size, 10):
                    f.write(" ".join(word(x) for x in flat[i : i + 10]) + "\n")


def d(x):
    return x.astype(np.float64)


def softmax():
    x = uniform(-4, 4, 8, 20)
    e = np.exp(d(x) - d(x).max(axis=1, keepdims=True))
    write("softmax", {"x": x}, {"out": e / e.sum(axis=1, keepdims=True)})


def log_softmax():
    x = uniform(-4, 4, 6, 33)
    z = d(x) - d(x).max(axis=1, keepdims=True)
    write("log_softmax", {"x": x}, {"out": z - np.log(np.exp(z).sum(axis=1, keepdims=True))})


def layernorm():
    x, gamma, beta = uniform(-1, 1, 7, 24), uniform(0.5, 1.5, 24), uniform(-1, 1, 24)
    mean = d(x).mean(axis=1)
    rstd = 1 / np.sqrt(d(x).var(axis=1) + 1e-5)
    out = (d(x) - mean[:, None]) * rstd[:, None] * d(gamma) + d(beta)
    write("layernorm", {"x": x, "gamma": gamma, "beta": beta}, {"out": out, "mean": mean, "rstd": rstd})


def layernorm_bwd():
    x, dy, gamma = uniform(-1, 1, 12, 20), uniform(-1, 1, 12, 20), uniform(0.5, 1.5, 20)
    mean = d(x).mean(axis=1).astype(np.float32)
    rstd = (1 / np.sqrt(d(x).var(axis=1) + 1e-5)).astype(np.float32)
    xhat = (d(x) - d(mean)[:, None]) * d(rstd)[:, None]
    g = d(dy) * d(gamma)
    dx = d(rstd)[:, None] * (g - g.mean(axis=1, keepdims=True) - xhat * (g * xhat).mean(axis=1, keepdims=True))
    write(
        "layernorm_bwd",
        {"x": x, "dy": dy, "gamma": gamma, "mean": mean, "rstd": rstd},
        {"dx": dx, "dgamma": (d(dy) * xhat).sum(axis=0), "dbeta": d(dy).sum(axis=0)},
    )


def gelu(h):
    return 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h**3)))


def matmuls():
    a, b, bias = uniform(-1, 1, 12, 24), uniform(-0.5, 0.5, 24, 16), uniform(-1, 1, 16)
    write("matmul", {"a": a, "b": b}, {"out": d(a) @ d(b)})
    write("matmul_bias_gelu", {"a": a, "b": b, "bias": bias}, {"out": gelu(d(a) @ d(b) + d(bias))})


def conv5x5():
    x, w = uniform(-1, 1, 2, 3, 8, 9), uniform(-1, 1, 4, 3, 5, 5)
    windows = np.lib.stride_tricks.sliding_window_view(d(x), (5, 5), axis=(2, 3))  # n c oh ow kh kw
    write("conv5x5", {"x": x, "w": w}, {"out": np.einsum("nchwij,ocij->nohw", windows, d(w))})


def adam():
    sizes, block = [37, 100, 5], 32
    f32 = lambda v: float(np.float32(v))  # hyper-parameters reach the kernel as float32
    lr, b1, b2, eps, c1, c2 = map(f32, (0.001, 0.9, 0.999, 1e-8, 10, 1000))
    ins, outs, tasks = {}, {}, []
    for t, n in enumerate(sizes):
        p, g, m, v = uniform(-1, 1, n), uniform(-1, 1, n), uniform(-0.1, 0.1, n), uniform(0, 0.1, n)
        for key, a in (("p", p), ("g", g), ("m", m), ("v", v)):
            ins[f"{key}[{t}]"] = a
        m1 = b1 * d(m) + (1 - b1) * d(g)
        v1 = b2 * d(v) + (1 - b2) * d(g) ** 2
        outs[f"p[{t}]"] = d(p) - lr * (m1 * c1) / (np.sqrt(v1 * c2) + eps)
        outs[f"m[{t}]"], outs[f"v[{t}]"] = m1, v1
        for start in range(0, n, block):
            tasks.append((t, start, min(block, n - start)))
    ins["tasks"] = np.array(tasks, dtype=np.int64)
    write("adam", ins, outs)


def pointwise():
    a, b = uniform(-1, 1, 12, 10), uniform(-1, 1, 10, 12)
    write("transpose_add", {"a": a, "b": b}, {"out": d(a).T + d(b)})
    a, b, c, e = (uniform(-1, 1, 50) for _ in range(4))
    write("two_outputs", {"a": a, "b": b, "c": c, "d": e}, {"o1": d(a) + d(b) + d(c), "o2": d(a) + d(b) + d(e)})


def reductions():
    x = uniform(0, 1, 160)
    write("sum_split", {"x": x}, {"part": d(x).reshape(4, 40).sum(axis=1), "out": np.array([math.fsum(x.tolist())])})
    x = uniform(-1, 1, 9, 22)
    write("column_sum", {"x": x}, {"out": d(x).sum(axis=0)})
    x = uniform(-1, 1, 6, 23)
    x[1, 5] = x[1, 20] = 2  # equal: the first wins
    x[2, 22] = 3
    x[3, 0] = 3
    write("argmax", {"x": x}, {"out": x.argmax(axis=1).astype(np.int32)})
    x = uniform(-1, 1, 5, 19)
    write("cumsum", {"x": x}, {"out": d(x).cumsum(axis=1)})


def indexing():
    table, idx = uniform(-1, 1, 10, 12), np.array([3, 0, 9, 3, -2, 12, 7], dtype=np.int32)
    write("gather", {"table": table, "idx": idx}, {"out": d(table)[idx.clip(0, 9)]})
    x, out, idx = uniform(-1, 1, 9, 12), uniform(-1, 1, 5, 12), np.array([4, 0, 2, 2, 2, 1, 4, 0, 0], dtype=np.int32)
    want = d(out)
    np.add.at(want, idx, d(x))
    write("scatter_add", {"x": x, "idx": idx, "out": out}, {"out": want})


def to_bf16(x):
    """float64 -> the nearest bfloat16, ties to even, as float64 (no overflow, no subnormals here)."""
    m, e = np.frexp(x)
    return np.ldexp(np.rint(m * 256) / 256, e)


def other_types():
    x, w = uniform(-1, 1, 3, 30), uniform(-1, 1, 5)
    padded = np.pad(d(x), ((0, 0), (2, 2)))
    write("pad_conv", {"x": x, "w": w}, {"out": sum(padded[:, k : k + 30] * d(w)[k] for k in range(5))})
    a, b = uniform(-1, 1, 6, 14).astype(np.float16), uniform(-1, 1, 14, 10).astype(np.float16)
    write("half_matmul", {"a": a, "b": b}, {"out": (d(a) @ d(b)).astype(np.float16)})
    x = to_bf16(d(uniform(-3, 3, 4, 21)))
    out = to_bf16(x / np.abs(x).max(axis=1, keepdims=True))
    write("bf16_scale", {"x": x}, {"out": out}, {"x": "bf16", "out": "bf16"})
    a, b = rng.integers(0, 256, (5, 19)).astype(np.uint8), rng.integers(-128, 128, 19).astype(np.int8)
    x, y = rng.integers(-1000, 1000, 40).astype(np.int32), rng.integers(-9, 10, 40).astype(np.int32)
    y[:3], x[3] = 0, -1000
    some = np.where(y == 0, 1, y)
    q, m = np.where(y == 0, 0, np.floor_divide(x, some)), np.where(y == 0, 0, np.mod(x, some))
    s = (x << 3) ^ ((x >> 2) | (y & 255))
    i32 = lambda v: v.astype(np.int32)
    write("int_mix", {"a": a, "b": b, "x": x, "y": y},
          {"dot": i32(a.astype(np.int64) @ b.astype(np.int64)), "q": i32(q), "m": i32(m), "s": i32(s)})
    x = uniform(-1, 1, 4, 30)
    write("slice_var", {"x": x}, {"out": 2.5 * d(x)[:, 7:16]})
    x = uniform(-1, 1, 25, 6)
    write("stats_f64", {"x": x}, {"mean": d(x).mean(axis=0), "var": d(x).var(axis=0)}, {"mean": "f64", "var": "f64"})


if __name__ == "__main__":
    for make in (softmax, log_softmax, layernorm, layernorm_bwd, matmuls, conv5x5, adam, pointwise, reductions, indexing, other_types):
        make()
