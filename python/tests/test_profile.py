"""Profiles as objects, `python -m ridge`, figures."""
import os
import subprocess
import sys
import unittest

import ridge
from common import Case


class Profiles(Case):
    def test_a_profile_names_python_lines(self):
        x = ridge.rand(64, 64)
        with ridge.profile() as p:
            for i in range(3):
                y = (x @ x).relu()
                y.realize()
                p.step()
        self.assertIn("test_profile.py", p.table("line"))
        self.assertIn("matmul", p.table("op"))
        self.assertIn("kernel", repr(p).lower())
        page = p._repr_html_()
        self.assertTrue(page.startswith("<iframe") and "test_profile.py" in page)

    def test_command(self):
        out = subprocess.run([sys.executable, "-m", "ridge", "version"], capture_output=True, text=True)
        self.assertIn(ridge.__version__, out.stdout)

    def test_diagnose(self):
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        traces = os.path.join(root, "tests", "traces")
        path = next((os.path.join(traces, f) for f in sorted(os.listdir(traces)) if f.endswith(".json.gz")), None)
        if not path:
            self.skipTest("no trace")
        self.assertGreater(len(repr(ridge.diagnose(path))), 300)

    def test_figures(self):
        (ridge.rand(10) + 1).realize()
        self.assertGreater(ridge.usage()["realizes"], 0)
        self.assertGreater(ridge.memory()["bytes"], 0)
        self.assertGreater(ridge.machine()["flops"], 0)
        plan = ridge.plan([(ridge.ones(100) * 3).exp().sum()])
        self.assertEqual(plan["kernels"], 1 if ridge.device() == "CPU" else 0)


if __name__ == "__main__":
    unittest.main()
