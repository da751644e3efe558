"""Makes a failing program small: fewer results, calls and steps, then smaller sizes and rounder numbers, as long as it fails in the same
way. A step is taken out by putting a leaf with the reference's value in its place, so what is left always fits together.
"""

import copy

import torch

from header import V
from program import Leaf, Program, Reference, is_float, reference
from rows import ROWS


def clone(p):
    q = Program()
    q.__dict__.update(p.__dict__)
    q.leaves, q.steps, q.outs = dict(p.leaves), list(p.steps), list(p.outs)
    q.inputs, q.state, q.tags = list(p.inputs), dict(p.state), dict(p.tags)
    return q


def used(p):
    return {v for s in p.steps for v in p.values(s.args)} | set(p.outs)


def sweep(p):
    """Without steps and leaves that lead to nothing."""
    q = clone(p)
    while True:
        need = used(q)
        steps = [s for s in q.steps if not s.outs or any(o in need for o in s.outs)]
        if len(steps) == len(q.steps):
            break
        q.steps = steps
    need = used(q)
    q.leaves = {i: leaf for i, leaf in q.leaves.items() if i in need}
    q.inputs = [i for i in q.inputs if i in q.leaves]
    made = {o for s in q.steps for o in s.outs}
    q.state = {a: b for a, b in q.state.items() if a in q.leaves and b in made}
    q.grads = p.grads if any(s.f in ("grad", "backward") for s in q.steps) else 0
    return q


def values(p):
    """Every value of every call."""
    r, state, all_ = Reference(ROWS, grad=p.grads > 0), {}, []
    for call in range(p.calls):
        r.val = {}
        for i, leaf in p.leaves.items():
            r.leaf(i, leaf, state.get(i, leaf.data[min(call, len(leaf.data) - 1)]))
        for s in p.steps:
            r.step(s)
        all_.append({i: x.detach() for i, x in r.val.items()})
        state = {i: r.val[j].detach() for i, j in p.state.items()}
    return all_, dict(r.tag)


def without_step(p, k, all_, tags):
    q = clone(p)
    s = q.steps.pop(k)
    for o in s.outs:
        same = p.calls == 1 or p.jit
        q.leaves[o] = Leaf(tags[o], [c[o] for c in all_[: 1 if same else None]])
        if p.jit and p.calls > 1:
            q.leaves[o].data = [c[o] for c in all_]
            q.inputs.append(o)
        q.state = {a: b for a, b in q.state.items() if b != o}
    return sweep(q)


def fewer_calls(p):
    if p.calls > 1:
        q = clone(p)
        q.calls = p.calls - 1
        yield q
    if p.jit:
        q = clone(p)
        q.jit = False
        yield sweep(q)


def other_sizes(p):
    """One size replaced everywhere by a smaller one."""
    sizes = sorted({n for leaf in p.leaves.values() for n in leaf.data[0].shape if n > 1}, reverse=True)
    for n in sizes:
        for m in (1, 2, n - 1):
            if m >= n:
                continue
            q = clone(p)
            for i, leaf in p.leaves.items():
                if n not in leaf.data[0].shape:
                    continue
                fresh = copy.copy(leaf)
                fresh.data = []
                for x in leaf.data:
                    for axis, k in enumerate(x.shape):
                        x = x.narrow(axis, 0, m) if k == n else x
                    fresh.data.append(x.contiguous())
                q.leaves[i] = fresh
            swap = lambda a: (
                m
                if isinstance(a, int) and not isinstance(a, (V, bool)) and a == n
                else [swap(x) for x in a] if isinstance(a, list) else a
            )
            q.steps = [copy.copy(s) for s in p.steps]
            for s in q.steps:
                s.args = [swap(a) for a in s.args]
            yield q


def other_data(p):
    for i, leaf in p.leaves.items():
        for simple in (lambda x: torch.ones_like(x), lambda x: torch.round(x) if is_float(leaf.tag) else x):
            fresh = copy.copy(leaf)
            fresh.data = [simple(x) for x in leaf.data]
            if all(torch.equal(a, b) for a, b in zip(fresh.data, leaf.data)):
                continue
            q = clone(p)
            q.leaves[i] = fresh
            yield q
    if p.how != "each":
        q = clone(p)
        q.how = "each"
        yield q


def shrink(p, fails, tries=400):
    """fails(program): is it wrong in the way that p is?"""
    budget = [tries]

    def ok(q):
        if budget[0] <= 0 or not q.outs or not q.steps:
            return False
        budget[0] -= 1
        try:
            reference(q, ROWS)
            return fails(q)
        except Exception:
            return False

    p = sweep(p) if ok(sweep(p)) else p
    for out in list(p.outs):
        q = clone(p)
        q.outs = [out]
        q = sweep(q)
        if ok(q):
            p = q
            break
    changed = True
    while changed and budget[0] > 0:
        changed = False
        for q in fewer_calls(p):
            if ok(q):
                p, changed = q, True
                break
        all_, tags = values(p)
        for k in range(len(p.steps) - 1, -1, -1):
            if k >= len(p.steps):
                continue
            q = without_step(p, k, all_, tags)
            if ok(q):
                p, changed = q, True
                all_, tags = values(p)
        for others in (other_sizes, other_data):
            for q in others(p):
                if ok(q):
                    p, changed = q, True
                    break
    return p
