"""Memory without copies: buffers and DLPack, both ways; lifetimes; what is refused."""
import gc
import resource
import unittest

import ridge
from common import DRAWS, Case, needs_numpy, needs_torch, np, torch


class Buffers(Case):
    def test_memoryview(self):
        v = memoryview(ridge.arange(6).reshape(2, 3))
        self.assertEqual((v.shape, v.format, v.readonly, v.tolist()), ((2, 3), "q", True, [[0, 1, 2], [3, 4, 5]]))
        with self.assertRaises(BufferError):
            memoryview(ridge.ones(2).bfloat16())

    def test_a_value_stays_what_it_was(self):
        x = ridge.ones(4)
        v = memoryview(x)
        x += 1
        x.realize()
        self.assertEqual((v.tolist(), x.tolist()), ([1] * 4, [2] * 4))


@needs_numpy
class Numpy(Case):
    def test_addresses(self):
        a = np.arange(12, dtype=np.float32).reshape(3, 4)
        x = ridge.from_numpy(a)
        self.assertEqual(x.data_ptr(), a.ctypes.data)
        b = x.numpy()
        self.assertEqual(b.ctypes.data, a.ctypes.data)
        self.assertFalse(b.flags.writeable)
        self.assertEqual(np.asarray(x.reshape(12)).ctypes.data, a.ctypes.data)
        self.assertEqual(np.from_dlpack(x).ctypes.data, a.ctypes.data)
        self.assertEqual(ridge.from_dlpack(a).data_ptr(), a.ctypes.data)

    def test_the_array_outlives_its_owner(self):
        b = ridge.from_numpy(np.arange(1000.0)).numpy()
        y = (ridge.arange(1000) * 2).numpy()
        gc.collect()
        ridge.collect()
        self.assertEqual((b.sum(), y.sum()), (499500.0, 999000))

    def test_memory_is_flat(self):
        """A hundred thousand exchanges (a million with RIDGE_TEST_DRAWS=2000) leave nothing behind."""
        a = np.ones(1000, np.float32)

        def rounds(n):
            for i in range(n):
                x = ridge.from_numpy(a)
                b = x.numpy()
                c = np.from_dlpack(ridge.from_dlpack(a))
                del x, b, c

        rounds(2000)
        ridge.collect()
        before, handles = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, ridge.usage()["handles"]
        rounds(DRAWS * 500)
        ridge.collect()
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 4096)
        self.assertEqual(ridge.usage()["handles"], handles)

    def test_odd_memory_is_refused_or_copied(self):
        a = np.arange(12, dtype=np.float32).reshape(3, 4)
        with self.assertRaisesRegex(ridge.UnsupportedError, "not row-major"):
            ridge.from_dlpack(a.T)
        self.same(ridge.from_numpy(a.T), a.T)  # a copy
        with self.assertRaisesRegex(ridge.UnsupportedError, "complex"):
            ridge.tensor(np.array([1j]))
        with self.assertRaisesRegex(ridge.UnsupportedError, "complex128; ridge keeps the parts"):
            ridge.from_dlpack(np.array([1j]))
        with self.assertRaisesRegex(ridge.UnsupportedError, "byte orders"):
            ridge.tensor(np.array([1.0], dtype=">f4"))
        odd = np.frombuffer(b"x" + np.ones(4, np.float32).tobytes(), np.uint8)[1:].view(np.float32)
        self.same(ridge.from_numpy(odd), np.ones(4))  # not aligned: a copy


@needs_torch
class Torch(Case):
    def test_both_ways(self):
        t = torch.arange(6.0).reshape(2, 3)
        x = ridge.from_dlpack(t)
        self.assertEqual(x.data_ptr(), t.data_ptr())
        u = torch.from_dlpack(x)
        self.assertEqual(u.data_ptr(), t.data_ptr())
        y = torch.from_dlpack(x + 1)
        del x
        gc.collect()
        self.assertEqual(y.tolist(), [[1, 2, 3], [4, 5, 6]])
        for d in (torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool, torch.float64):
            t = torch.ones(3).to(d)
            self.assertEqual(torch.from_dlpack(ridge.from_dlpack(t)).tolist(), t.tolist())
        self.assertEqual(ridge.tensor(t).tolist(), [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
