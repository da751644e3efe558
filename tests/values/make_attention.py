#!/usr/bin/env python3
"""Values of rg_attention and its gradients, computed by PyTorch's scaled_dot_product_attention in float64.

Run with numpy, torch and mpmath installed: writes attention.txt beside this file, which is committed; tests/unit/attention.c
reads it. ops_lib.py says how the file is laid out. Inputs are q, k, v and, with has=mask, a mask.

Tolerances: a score is a sum of D products of the type that accumulates, its exponential has that error relatively, and the
result is a mean of v with such weights: a few dozen eps of the sizes at hand; 16-bit floats round the inputs' products not at all
and the result once. Gradients of 16-bit floats start from the rounded result (sum(dO * O)) and are rounded once.
"""

import os

import torch.nn.functional as F

from ops_lib import *

HERE = os.path.dirname(os.path.abspath(__file__))


def attention(causal=False, scale=None):
    def fn(q, k, v, *mask):
        m = mask[0] if mask else None
        if causal:  # with more keys than queries the queries are the last ones; PyTorch's is_causal takes the first
            t, s = q.shape[-2], k.shape[-2]
            see = torch.ones(t, s, dtype=torch.bool).tril(max(s - t, 0))
            m = see if m is None else see & m if m.dtype == torch.bool else m.masked_fill(~see, -np.inf)
        gqa = q.dim() > 2 and q.shape[-3] != k.shape[-3]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=scale, enable_gqa=gqa)

    return fn


def case(variant, tag, q, k, v, mask=None, causal=False, scale=None):
    ins = [grid(tag, -2, 2, *q), grid(tag, -2, 2, *k), grid(tag, -2, 2, *v)] + ([mask] if mask else [])
    par = " ".join((["has=mask"] if mask else []) + (["causal=1"] if causal else []) + (["scale=%g" % scale] if scale else []))
    half = tag in HALF
    keys = k[-2]
    err = 40 * eps(acc(tag)) + (2 * eps(tag) if half else 0)
    out.torch("attention", variant, ins, attention(causal, scale), par=par, u=0.51 if half else 4, a=2 * err, grad=seed,
              gu=2, ga=(8 + q[-2]) * (2 * err) * (1 + keys / 64), wrt=None)


def masks(tag):
    seen = rng.random((5, 7)) < 0.6
    seen[:, 2] = True
    some = seen.copy()
    some[3] = False  # a query that sees nothing
    case("mask_bool", tag, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), In("bool", seen))
    case("mask_blind", tag, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 6), In("bool", some))
    case("mask_keys", tag, (2, 2, 5, 4), (2, 2, 7, 4), (2, 2, 7, 4), In("bool", (rng.random((2, 1, 1, 7)) < 0.7) | (np.arange(7) == 1)))
    case("mask_heads", tag, (1, 4, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), In("bool", seen[None] | (rng.random((4, 5, 7)) < 0.3)))
    case("mask_causal", tag, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), In("bool", seen | (np.arange(7) == 0)), causal=True)
    case("mask_float", tag, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), grid(tag, -2, 2, 2, 5, 7))
    case("mask_added", tag, (1, 2, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4), grid(tag, -2, 2, 5, 7))


def main():
    for tag in ("f32", "f64", "f16", "bf16"):
        case("plain", tag, (2, 2, 6, 8), (2, 2, 6, 8), (2, 2, 6, 8))
        case("causal", tag, (1, 2, 6, 8), (1, 2, 6, 8), (1, 2, 6, 8), causal=True)
        case("grouped", tag, (1, 6, 5, 4), (1, 2, 7, 4), (1, 2, 7, 4))
        if tag != "f64":
            masks(tag)
    for tag in ("f32",):
        case("lengths", tag, (2, 2, 3, 4), (2, 2, 9, 4), (2, 2, 9, 5))
        case("causal_last", tag, (1, 2, 3, 4), (1, 2, 9, 4), (1, 2, 9, 4), causal=True)
        case("causal_short", tag, (1, 2, 9, 4), (1, 2, 3, 4), (1, 2, 3, 4), causal=True)
        case("scale", tag, (2, 6, 4), (2, 5, 4), (2, 5, 3), scale=0.25)
        case("rank2", tag, (6, 4), (5, 4), (5, 3))
        case("rank5", tag, (2, 2, 4, 3, 4), (2, 2, 2, 5, 4), (2, 2, 2, 5, 4))
        case("one_query", tag, (1, 4, 1, 8), (1, 2, 11, 8), (1, 2, 11, 8))
        case("one_key", tag, (1, 2, 3, 8), (1, 2, 1, 8), (1, 2, 1, 8))
        case("one_each", tag, (1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1))
        case("longer", tag, (1, 2, 19, 8), (1, 1, 35, 8), (1, 1, 35, 8), causal=True)
    q = lambda *s: grid("f32", -1, 1, *s)
    out.refuse("attention", "depth", [q(1, 2, 3, 4), q(1, 2, 3, 5), q(1, 2, 3, 4)])
    out.refuse("attention", "keys", [q(1, 2, 3, 4), q(1, 2, 3, 4), q(1, 2, 5, 4)])
    out.refuse("attention", "heads", [q(1, 3, 3, 4), q(1, 2, 3, 4), q(1, 2, 3, 4)])
    out.refuse("attention", "batch", [q(2, 2, 3, 4), q(3, 2, 3, 4), q(3, 2, 3, 4)])
    out.refuse("attention", "rank", [q(2, 3, 4), q(3, 4), q(3, 4)])
    out.refuse("attention", "rank1", [q(4), q(4), q(4)])
    out.refuse("attention", "mask_shape", [q(1, 2, 3, 4), q(1, 2, 5, 4), q(1, 2, 5, 4), In("bool", np.ones((5, 3)))], par="has=mask")
    out.refuse("attention", "mask_type", [q(1, 2, 3, 4), q(1, 2, 5, 4), q(1, 2, 5, 4), In("i32", np.ones((3, 5)))], par="has=mask")
    head = "# Written by make_attention.py (numpy %s, torch %s): %d cases, %d numbers to compare. ops_lib.py has the layout.\n"
    out.save(os.path.join(HERE, "attention.txt"), head % (np.__version__, torch.__version__.split("+")[0], len(out.names), out.elements))


main()
