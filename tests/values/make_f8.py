"""Writes f8.txt: what PyTorch makes of every 8-bit float, and of floats that are rounded to one.

    python3 tests/values/make_f8.py > tests/values/f8.txt

Lines: `up TYPE byte f32` and `down TYPE f32 byte`, all numbers as hexadecimal bits; NaN is any NaN.
"""
import random
import struct

import torch

TYPES = {"f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2}


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


random.seed(1)
for name, dt in TYPES.items():
    up = torch.arange(256, dtype=torch.uint8).view(dt).float().tolist()
    for b, v in enumerate(up):
        print(f"up {name} {b:02x} {bits(v):08x}")
    exact = sorted(v for v in up if v == v and abs(v) < 1e9)
    some = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-30, 1e30, 447.9, 448, 463.9, 464, 464.1, 480, 57344, 61439, 61440, 61441]
    for a, b in zip(exact, exact[1:]):  # the middle between two neighbours, and both sides of it
        m = (a + b) / 2
        some += [m, m * 1.0001, m * 0.9999]
    some += [random.uniform(-1, 1) * 2.0 ** random.randint(-20, 18) for _ in range(300)]
    t = torch.tensor(some, dtype=torch.float32)
    for v, b in zip(t.tolist(), t.to(dt).view(torch.uint8).tolist()):
        print(f"down {name} {bits(v):08x} {b:02x}")
