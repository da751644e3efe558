#!/usr/bin/env python3
"""Array files as the Python world writes them, and a look at ours from there.

    make_safetensors.py              writes files/*.safetensors and files/*.npy beside this file; they are committed
    make_safetensors.py check DIR    reads all.safetensors and *.npy that Ridge wrote to DIR (tests/unit/api_files.c,
                                     files_python_reads_ours) with the packages safetensors, numpy and torch

Needs numpy, torch, safetensors and ml_dtypes. Element i of any array of type T is ((i * 37 + 11) % 101 - 50) * 0.25 in
a float type (exact in all of them), ((i * 37 + 11) % 101 - 50) in an integer type (wrapped if it has no sign), and
i % 3 == 0 in bool; the tests in C know that formula too.
"""

import os
import sys

import ml_dtypes
import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file as save_numpy
from safetensors.torch import load_file, save_file

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
NUMPY = {
    "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "U8": np.uint8,
    "U16": np.uint16, "U32": np.uint32, "U64": np.uint64, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F32": np.float32, "F64": np.float64,
}
SHAPE = {"BOOL": (7,), "I8": (3,), "I16": (2, 5), "I32": (), "I64": (2, 1, 3), "U8": (5,), "U16": (0, 4), "U32": (1,),
         "U64": (2, 2), "F16": (3, 3), "BF16": (4, 2), "F32": (2, 3, 4), "F64": (6,)}


def values(name, shape):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    v = (i * 37 + 11) % 101 - 50
    if name == "BOOL":
        v = i % 3 == 0
    elif "F" in name:
        v = v * 0.25
    return v.astype(NUMPY[name]).reshape(shape)


def as_torch(a):
    if a.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(a.view(np.uint16).view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(a.copy())


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def make():
    os.makedirs(HERE, exist_ok=True)
    arrays = {"t." + n.lower(): values(n, SHAPE[n]) for n in NUMPY}
    save_file({k: as_torch(v) for k, v in arrays.items()}, os.path.join(HERE, "torch.safetensors"),
              metadata={"format": "pt", "note": 'quotes " and \\ and ü and 😀\n'})
    save_numpy({"ü/😀 \"x\"": values("F32", (3,))}, os.path.join(HERE, "numpy.safetensors"))
    for n in NUMPY:
        np.save(os.path.join(HERE, n.lower() + ".npy"), values(n, SHAPE[n]))
    np.save(os.path.join(HERE, "fortran.npy"), np.asfortranarray(values("I32", (2, 3, 4))))
    np.save(os.path.join(HERE, "big.npy"), values("F64", (2, 3)).astype(">f8"))
    np.save(os.path.join(HERE, "big_fortran.npy"), np.asfortranarray(values("I16", (3, 2)).astype(">i2")))
    for major in 2, 3:
        with open(os.path.join(HERE, "version%d.npy" % major), "wb") as f:
            np.lib.format.write_array(f, values("U16", (2, 4)), version=(major, 0))
    np.save(os.path.join(HERE, "structured.npy"), np.zeros(2, dtype=[("a", "i4"), ("b", "f4")]))
    np.save(os.path.join(HERE, "objects.npy"), np.array([None, {}], dtype=object), allow_pickle=True)
    np.save(os.path.join(HERE, "complex.npy"), np.zeros(2, dtype=np.complex64))
    np.save(os.path.join(HERE, "text.npy"), np.array(["ab", "c"]))


def check(where):
    path = os.path.join(where, "all.safetensors")
    loaded = load_file(path)
    assert sorted(loaded) == sorted("t." + n.lower() for n in NUMPY), sorted(loaded)
    for n in NUMPY:
        want = as_torch(values(n, SHAPE[n]))
        got = loaded["t." + n.lower()]
        assert got.dtype == want.dtype and got.shape == want.shape and torch.equal(got, want), n
    with safe_open(path, framework="numpy") as f:
        assert len(f.keys()) == len(NUMPY)
    for n in NUMPY:
        got = np.load(os.path.join(where, n.lower() + ".npy"))
        if n == "BF16":
            got = got.view(ml_dtypes.bfloat16)
        assert same(got, values(n, SHAPE[n])), n
    print("%d tensors of safetensors and %d npy files read as they were meant" % (len(loaded), len(NUMPY)))


if __name__ == "__main__":
    check(sys.argv[2]) if sys.argv[1:2] == ["check"] else make()
