"""The code of README.md and docs/python.md runs, one block after the other; so do the cells of examples/guide.ipynb."""
import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import types
import unittest

import ridge
from common import Case

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Docs(Case):
    def run_page(self, page):
        """Runs its blocks in one namespace: how many there are, and what they print."""
        with open(os.path.join(ROOT, page)) as f:
            text = f.read()
        blocks = [(text[: m.start(1)].count("\n"), m.group(1)) for m in re.finditer(r"```python\n(.*?)```", text, re.S)]
        names, printed = {"__name__": "guide"}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            for line, block in blocks:
                exec(compile("\n" * line + block, page, "exec"), names)
        return text, len(blocks), printed.getvalue()

    def test_guide(self):
        _, blocks, printed = self.run_page("docs/python.md")
        self.assertGreater(blocks, 6)
        for words in ("tensor([16., 36.])", "python.md", "the last axis of the first has size 3"):
            self.assertIn(words, printed)

    def test_readme(self):
        """It prints what its comment says."""
        text, blocks, printed = self.run_page("README.md")
        self.assertEqual(blocks, 1)
        self.assertEqual(printed.strip(), re.search(r"tolist\(\)\)\s*# (.*)", text).group(1))

    def test_reference(self):
        """The generated reference has every public function of the package, with its arguments."""
        stub = os.path.join(os.path.dirname(ridge.__file__), "_ridge.pyi")
        writer = os.path.join(ROOT, "python", "reference.py")
        text = subprocess.run([sys.executable, writer, stub], capture_output=True, text=True, check=True).stdout
        named = set(re.findall(r"^- `(\w+)\(", text, re.M))
        for module in (ridge.linalg, ridge.fft, ridge.nn, ridge.nn.functional, ridge.nn.init, ridge.nn.utils):
            here = {n for n, v in vars(module).items() if getattr(v, "__module__", "") == module.__name__ and n[0] != "_"}
            parts = {n for n, v in vars(module).items() if isinstance(v, types.ModuleType)}
            self.assertEqual(set(getattr(module, "__all__", here)) - parts - named, set(), module.__name__)
        self.assertIn("- `softmax(x, axis=..., *, dim=...)`", text)
        self.assertIn("- `softplus(x, beta=1.0)`: log(1 + exp(beta x)) / beta.", text)
        self.assertGreater(len(named), 400)

    def test_notebook(self):
        """Its cells, as a notebook runs them: the last expression of each is shown, as text and as a page."""
        with open(os.path.join(ROOT, "examples", "guide.ipynb")) as f:
            cells = ["".join(c["source"]) for c in json.load(f)["cells"] if c["cell_type"] == "code"]
        names, shown = {"__name__": "guide"}, []
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for i, text in enumerate(cells):
                tree = ast.parse(text)
                last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
                exec(compile(tree, "guide.ipynb:%d" % i, "exec"), names)
                if last:
                    shown.append(eval(compile(ast.Expression(last.value), "guide.ipynb:%d" % i, "eval"), names))
        self.assertEqual(repr(shown[0]), "tensor([16., 36.])")
        first, final = shown[2]
        self.assertLess(final, first / 10)
        self.assertIn("<iframe", shown[3]._repr_html_())
        self.assertGreater(len(printed.getvalue()), 100)


if __name__ == "__main__":
    unittest.main()
