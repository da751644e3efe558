"""Tensors: making them, operators, attributes, reading, pickling. What needs no NumPy runs without it."""
import copy
import operator
import pickle
import random
import unittest

import ridge
from common import DRAWS, Case, draw_array, draw_shape, needs_numpy, np


class Making(Case):
    def test_lists_have_pythons_kinds(self):
        self.assertEqual(ridge.tensor([1, 2]).dtype, ridge.int64)
        self.assertEqual(ridge.tensor([1, 2.5]).tolist(), [1.0, 2.5])
        self.assertEqual(ridge.tensor([True, False]).dtype, ridge.bool_)
        self.assertEqual(ridge.tensor([[1, 2], [3, 4]]).shape, (2, 2))
        self.assertEqual(ridge.tensor(3).shape, ())
        self.assertEqual(ridge.tensor([]).shape, (0,))
        self.assertEqual(ridge.tensor([[0.1]], dtype=ridge.float64).item(), 0.1)
        self.assertEqual(ridge.tensor([ridge.tensor([1]), ridge.tensor([2])]).tolist(), [[1], [2]])

    def test_lists_of_unequal_length_are_refused(self):
        with self.assertRaisesRegex(ValueError, "unequal length"):
            ridge.tensor([[1, 2], [3]])

    def test_big_integers_are_exact(self):
        for v in (2**62 + 1, -(2**63), 2**53 + 1):
            self.assertEqual(ridge.tensor([v]).item(), v)
            self.assertEqual(ridge.full((2,), v, ridge.int64)[1].item(), v)
        self.assertEqual(ridge.full((1,), 2**64 - 1, ridge.uint64).item(), 2**64 - 1)

    def test_creation(self):
        self.assertEqual(ridge.zeros(2, 3).shape, (2, 3))
        self.assertEqual(ridge.ones((2,), dtype="int32").tolist(), [1, 1])
        self.assertEqual(ridge.arange(5).tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(ridge.arange(1, 2, 0.5).tolist(), [1.0, 1.5])
        self.assertEqual(ridge.linspace(0, 1, 3).tolist(), [0.0, 0.5, 1.0])
        self.assertEqual(ridge.eye(2).tolist(), [[1, 0], [0, 1]])
        self.assertEqual(ridge.full((2,), True).dtype, ridge.bool_)
        self.assertEqual(ridge.zeros_like(ridge.ones(3), dtype=ridge.int8).dtype.name, "int8")

    def test_random_numbers_repeat(self):
        ridge.manual_seed(7)
        a = ridge.rand(3).tolist()
        ridge.manual_seed(7)
        self.assertEqual(a, ridge.rand(3).tolist())
        self.assertTrue(all(0 <= v < 10 for v in ridge.randint(10, size=(50,)).tolist()))

    def test_dtypes_by_other_names(self):
        self.assertIs(ridge.dtype("float32"), ridge.float32)
        self.assertIs(ridge.dtype(float), ridge.float32)
        self.assertIs(ridge.dtype("i64"), ridge.int64)
        with self.assertRaisesRegex(TypeError, "is no dtype"):
            ridge.dtype("complex64")
        self.assertEqual(repr(ridge.float32), "ridge.float32")
        self.assertIs(pickle.loads(pickle.dumps(ridge.bfloat16)), ridge.bfloat16)
        self.assertEqual(ridge.finfo("float16").max, 65504.0)
        self.assertEqual(ridge.iinfo("int8").min, -128)


class Values(Case):
    def test_items(self):
        self.assertIs(ridge.tensor(True).item(), True)
        self.assertEqual(ridge.tensor(7).item(), 7)
        self.assertEqual(float(ridge.tensor([2.5])), 2.5)
        self.assertEqual(int(ridge.tensor(9.0)), 9)
        self.assertEqual([10, 20][ridge.tensor(1)], 20)
        self.assertTrue(ridge.tensor(1.0))
        with self.assertRaisesRegex(ValueError, "one element is needed"):
            ridge.ones(2).item()

    def test_repr(self):
        self.assertEqual(repr(ridge.tensor([[1.0, 2.5]])), "tensor([[1., 2.5]])")
        self.assertEqual(repr(ridge.tensor([1], dtype="int8")), "tensor([1], dtype=int8)")
        self.assertIn("...", repr(ridge.zeros(5000)))
        self.assertLess(len(repr(ridge.zeros(100, 100))), 1000)

    def test_iteration_and_len(self):
        x = ridge.arange(6).reshape(3, 2)
        self.assertEqual([r.tolist() for r in x], [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(len(x), 3)
        self.assertIn(4, x)
        with self.assertRaises(TypeError):
            len(ridge.tensor(1))

    def test_hash_is_identity(self):
        x, y = ridge.ones(1), ridge.ones(1)
        self.assertEqual(len({x, y, x}), 2)

    def test_pickle_and_copy(self):
        for d in "bool int8 int32 int64 uint16 float16 bfloat16 float32 float64 float8_e4m3".split():
            x = ridge.tensor([[0, 1, 1], [1, 0, 1]]).astype(d)
            y = pickle.loads(pickle.dumps(x))
            self.assertEqual((y.dtype, y.shape, y.float().tolist()), (x.dtype, x.shape, x.float().tolist()))
        p = ridge.tensor([1.0], requires_grad=True)
        self.assertTrue(copy.deepcopy(p).requires_grad)
        self.assertEqual(pickle.loads(pickle.dumps(ridge.zeros(0, 3))).shape, (0, 3))

    def test_in_place_changes_the_object(self):
        x = ridge.ones(3)
        y, z = x, x * 2
        x += 1
        self.assertEqual(y.tolist(), [2, 2, 2])
        self.assertEqual(z.tolist(), [2, 2, 2])
        z -= 5
        self.assertEqual(z.tolist(), [-3, -3, -3])
        view = x[:2]
        view += 10  # a value: x keeps its own
        self.assertEqual((view.tolist(), x.tolist()), ([12, 12], [2, 2, 2]))
        with self.assertRaises(ridge.Error):
            x += ridge.ones(4)


@needs_numpy
class AgainstNumpy(Case):
    def test_operators(self):
        r = random.Random(1)
        ops = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.ge, operator.eq, operator.ne]
        for i in range(DRAWS):
            shape = draw_shape(r)
            a, b = draw_array(r, shape), draw_array(r, shape[r.randint(0, len(shape)):])
            op = r.choice(ops)
            self.same(op(ridge.tensor(a), ridge.tensor(b)), op(a, b), what=(op, a.shape, b.shape))
            self.same(op(ridge.tensor(a), 2), op(a, np.float32(2)))
            self.same(op(1.5, ridge.tensor(a)), op(np.float32(1.5), a))
            self.same(op(a, ridge.tensor(b)), op(a, b))  # NumPy on the left

    def test_integer_operators(self):
        r = random.Random(2)
        ops = [operator.floordiv, operator.mod, operator.and_, operator.or_, operator.xor]
        for i in range(DRAWS):
            a, b = draw_array(r, (4,), "int32"), draw_array(r, (4,), "int32")
            b[b == 0] = 3
            op = r.choice(ops)
            self.same(op(ridge.tensor(a), ridge.tensor(b)), op(a, b), what=op)

    def test_truncating_division(self):
        a, b = np.array([-7, 7, -8, 0]), np.array([2, -2, 3, 5])
        got = ridge.divide(ridge.tensor(a), ridge.tensor(b), rounding_mode="trunc")
        self.same(got, np.trunc(a / b).astype(np.int64))
        self.assertEqual(got.dtype, ridge.int64)

    def test_reductions(self):
        r = random.Random(3)
        for i in range(DRAWS):
            a = draw_array(r, draw_shape(r, 3) + (3,), r.choice(["float32", "float64", "int64"]))
            name = r.choice("sum prod max min mean argmax argmin any all".split())
            axis = r.choice([None] + list(range(-a.ndim, a.ndim)))
            keep = r.random() < 0.5
            want = getattr(np, name)(a, axis=axis, keepdims=keep)
            self.same(getattr(ridge.tensor(a), name)(axis=axis, keepdims=keep), want, 1e-4, (name, a.shape, axis))
        a = draw_array(r, (4, 5))
        self.same(ridge.tensor(a).var(axis=1, ddof=0), a.var(axis=1), 1e-5)
        self.same(ridge.tensor(a).std(0), a.std(0, ddof=1), 1e-5)
        self.same(ridge.std(a, ddof=2), a.std(ddof=2), 1e-5)
        self.same(ridge.median(a, 1), np.median(a, 1))
        self.same(ridge.cumsum(ridge.tensor(a)), np.cumsum(a), 1e-4)

    def test_movement(self):
        r = random.Random(4)
        for i in range(DRAWS):
            a = draw_array(r, tuple(r.randint(1, 4) for _ in range(3)))
            x = ridge.tensor(a)
            for f in (lambda m, v: m.transpose(v, (2, 0, 1)), lambda m, v: m.flip(v, 1), lambda m, v: m.moveaxis(v, 0, -1),
                      lambda m, v: m.expand_dims(v, 1), lambda m, v: m.tile(v, (2, 1, 1)), lambda m, v: m.roll(v, 2, 1),
                      lambda m, v: m.swapaxes(v, 0, 2), lambda m, v: m.pad(v, ((0, 1), (2, 0), (1, 1))), lambda m, v: m.repeat(v, 2, 1),
                      lambda m, v: m.concatenate([v, v], 1), lambda m, v: m.stack([v, v], 2), lambda m, v: m.broadcast_to(v, (2,) + a.shape),
                      lambda m, v: m.tril(v), lambda m, v: m.diff(v, axis=0), lambda m, v: m.squeeze(v[:1]), lambda m, v: m.ravel(v)):
                self.same(f(ridge, x), f(np, a), what=f.__code__.co_firstlineno)
        self.same(x.T, a.T)
        self.assertEqual([p.shape for p in ridge.split(ridge.zeros(9), 3)], [(3,)] * 3)
        self.assertEqual([p.shape for p in ridge.zeros(7).split(3)], [(3,), (3,), (1,)])

    def test_products(self):
        r = random.Random(5)
        for i in range(DRAWS):
            n, k, m, b = (r.randint(1, 9) for _ in range(4))
            x, y = draw_array(r, (b, n, k)), draw_array(r, (k, m))
            self.same(ridge.tensor(x) @ ridge.tensor(y), x @ y, 1e-4)
            self.same(ridge.einsum("bij,jk->bk", ridge.tensor(x), ridge.tensor(y)), np.einsum("bij,jk->bk", x, y), 1e-4)
            self.same(ridge.tensordot(ridge.tensor(x), ridge.tensor(y), 1), np.tensordot(x, y, 1), 1e-4)
        self.same(ridge.outer(ridge.tensor(x[0, 0]), ridge.tensor(y[0])), np.outer(x[0, 0], y[0]))

    def test_elementwise(self):
        r = random.Random(6)
        a = draw_array(r, (40,)) * 3
        for name in "exp sin cos tanh floor ceil trunc sign square abs negative isnan isfinite expm1 arctan rint cosh".split():
            self.same(getattr(ridge, name)(ridge.tensor(a)), getattr(np, name)(a), 1e-4, name)
        b = draw_array(r, (40,))
        for name in "maximum minimum hypot arctan2 logaddexp copysign fmod".split():
            self.same(getattr(ridge, name)(ridge.tensor(a), ridge.tensor(b)), getattr(np, name)(a, b), 1e-4, name)
        odd = np.array([np.inf, -np.inf, np.nan, np.nan, np.nan, 0], np.float32)
        self.same(ridge.hypot(ridge.tensor(odd), ridge.tensor(odd[::-1].copy())), np.hypot(odd, odd[::-1]))
        self.same(ridge.clip(ridge.tensor(a), -1, 1), np.clip(a, -1, 1))
        self.same(ridge.where(ridge.tensor(a) > 0, a, 0), np.where(a > 0, a, 0))
        self.same(ridge.sort(ridge.tensor(a)), np.sort(a))
        self.same(ridge.argsort(ridge.tensor(a)), np.argsort(a, kind="stable"))

    def test_dtypes_travel_both_ways(self):
        for d in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split():
            a = draw_array(random.Random(8), (3, 4), d)
            x = ridge.tensor(a)
            self.assertEqual(x.dtype.name, d)
            self.assertEqual(x.numpy().dtype, a.dtype)
            self.same(x, a)
            self.same(ridge.tensor(a.T), a.T)  # not row-major
            self.same(ridge.tensor(a[::-1, ::2]), a[::-1, ::2])


if __name__ == "__main__":
    unittest.main()
