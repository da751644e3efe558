"""x[key] and x[key] = v: drawn keys against NumPy."""
import random
import unittest

import ridge
from common import DRAWS, Case, draw_array, needs_numpy, np


def draw_slice(r, n):
    def bound():
        return r.choice([None, r.randint(-n - 2, n + 2)])

    return slice(bound(), bound(), r.choice([None, 1, 2, -1, -2, 3]))


def draw_key(r, shape, arrays):
    key, dots = [], False
    for n in shape:
        kind = r.random()
        if kind < 0.1 and not dots:
            key.append(Ellipsis)
            dots = True
            break
        if kind < 0.2:
            key.append(None)
        if kind < 0.45:
            key.append(r.randint(-n, n - 1))
        elif kind < 0.65 and arrays:
            key.append(np.array([r.randint(-n, n - 1) for _ in range(3)]))
        else:
            key.append(draw_slice(r, n))
    return tuple(key[: len(key) - r.randint(0, 1)]) if key and not dots else tuple(key)


class Words(Case):
    def test_errors_say_what_and_where(self):
        x = ridge.ones(2, 3)
        for key, words in ((5, "index 5 is out of bounds for axis 0"), ((0, 0, 0), "too many indices"), ((..., 0, ...), "single ellipsis")):
            with self.assertRaisesRegex(IndexError, words):
                x[key]
        with self.assertRaises(TypeError):
            del x[0]


@needs_numpy
class Against(Case):
    def test_basic_keys(self):
        r = random.Random(1)
        for i in range(4 * DRAWS):
            shape = tuple(r.randint(1, 5) for _ in range(r.randint(1, 4)))
            a = draw_array(r, shape)
            key = draw_key(r, shape, False)
            self.same(ridge.tensor(a)[key], a[key], what=(shape, key))

    def test_arrays(self):
        r = random.Random(2)
        for i in range(2 * DRAWS):
            shape = tuple(r.randint(1, 5) for _ in range(r.randint(1, 4)))
            a = draw_array(r, shape)
            key = tuple(k for k in draw_key(r, shape, True) if k is not None)
            self.same(ridge.tensor(a)[key], a[key], what=(shape, key))

    def test_lists_and_tuples_of_integers(self):
        a = draw_array(random.Random(9), (3, 4, 5))
        for key in (([0, 2], (1, 3)), ((0, 1), slice(None), [[0], [2]]), ([1, 2],), (Ellipsis, (0, 1))):
            self.same(ridge.tensor(a)[key], a[key], what=key)

    def test_masks(self):
        r = random.Random(3)
        for i in range(DRAWS):
            shape = tuple(r.randint(1, 5) for _ in range(3))
            a = draw_array(r, shape)
            n = r.randint(1, 3)
            m = draw_array(r, shape[:n], "bool")
            self.same(ridge.tensor(a)[ridge.tensor(m)], a[m], what=(shape, n))
            self.same(ridge.tensor(a)[m], a[m])

    def test_assignment(self):
        r = random.Random(4)
        for i in range(2 * DRAWS):
            shape = tuple(r.randint(1, 5) for _ in range(r.randint(1, 3)))
            a = draw_array(r, shape)
            x = ridge.tensor(a) if i % 2 else ridge.tensor(a) * 1
            key = draw_key(r, shape, False)
            v = np.float32(7) if r.random() < 0.4 else draw_array(r, a[key].shape[r.randint(0, a[key].ndim):])
            a[key] = v
            x[key] = 7.0 if np.ndim(v) == 0 and v == 7 else ridge.tensor(v)
            self.same(x, a, what=(shape, key))

    def test_assignment_by_arrays_and_masks(self):
        r = random.Random(5)
        for i in range(DRAWS):
            a = draw_array(r, (5, 4))
            x = ridge.tensor(a)
            m = a > 0.3
            a[m] = -1.0
            x[x > 0.3] = -1.0
            self.same(x, a)
            k = np.array(r.sample(range(5), 3))
            v = draw_array(r, (3, 4))
            a[k] = v
            x[k] = v
            self.same(x, a)
            a[m] = np.arange(m.sum())
            x[m] = ridge.arange(int(m.sum())).float()
            self.same(x, a)


if __name__ == "__main__":
    unittest.main()
