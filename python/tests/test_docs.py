"""The code of docs/python.md runs, one block after the other."""
import contextlib
import io
import os
import re
import unittest

from common import Case

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Docs(Case):
    def test_guide(self):
        with open(os.path.join(ROOT, "docs", "python.md")) as f:
            text = f.read()
        blocks = [(text[: m.start(1)].count("\n"), m.group(1)) for m in re.finditer(r"```python\n(.*?)```", text, re.S)]
        self.assertGreater(len(blocks), 6)
        names, printed = {"__name__": "guide"}, io.StringIO()
        with contextlib.redirect_stdout(printed):
            for line, block in blocks:
                exec(compile("\n" * line + block, "docs/python.md", "exec"), names)
        for words in ("tensor([16., 36.])", "python.md", "the last axis of the first has size 3"):
            self.assertIn(words, printed.getvalue())


if __name__ == "__main__":
    unittest.main()
