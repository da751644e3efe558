#!/usr/bin/env python3
"""The API reference as Markdown, from the type stub that gen.py writes and from the package's signatures: `make reference`.

    reference.py _ridge.pyi > python-api.md          Tests: python/tests/test_docs.py
"""
import ast
import os
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ridge")
MODULES = (("ridge", ("_methods.py", "_helpers.py", "_order.py", "_arrange.py", "_numbers.py", "_profile.py")), ("ridge.linalg", ("linalg.py",)), ("ridge.fft", ("fft.py",)),
           ("ridge.nn", ("nn.py", "_layers.py")), ("ridge.nn.functional", ("functional.py",)), ("ridge.nn.init", ("init.py",)), ("ridge.nn.utils", ("utils.py",)),
           ("ridge.optim", ("optim.py",)), ("ridge.data", ("data.py",)), ("ridge.array_api", ("array_api.py",)))


def parsed(path):
    with open(path) as f:
        return ast.parse(f.read())


def public(node):
    return isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_")


def arguments(node, method):
    if isinstance(node, ast.ClassDef):
        node = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if node is None:
            return ""
        method = True
    for a in ast.walk(node.args):
        if isinstance(a, ast.arg):
            a.annotation = None
    text = ast.unparse(node.args)
    return text.partition(", ")[2] if method and text.startswith(("self", "x", "cls")) else text


def entry(node, method=False):
    doc = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ")
    return "- `%s(%s)`%s" % (node.name, arguments(node, method), ": " + doc if doc else "")


def listed(tree, name):
    """The names in a list of strings that a module assigns: METHODS, __all__."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name and isinstance(node.value, ast.Call):
            return set(node.value.func.value.value.split())
    return None


def assigned(tree):
    """Names that a module makes by other functions: A, B = made(..)."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (t.id for target in node.targets for t in ast.walk(target) if isinstance(t, ast.Name))


def lines(stub):
    """Headings and entries, a section for each class and module."""
    tensor = next(n for n in stub.body if isinstance(n, ast.ClassDef) and n.name == "Tensor")
    methods = {n.name: entry(n, True) for n in tensor.body if public(n)}
    attributes = {n.target.id for n in tensor.body if isinstance(n, ast.AnnAssign)} | {
        n.name for n in tensor.body if public(n) and n.decorator_list}
    yield "## Tensor"
    yield "Attributes: " + ", ".join("`%s`" % a for a in sorted(attributes)) + "."
    yield from (methods[n] for n in sorted(set(methods) - attributes))
    functions = {n.name: entry(n) for n in stub.body if public(n) and n.name not in ("Tensor", "DType")}
    for module, files in MODULES:
        found = dict(functions) if module == "ridge" else {}
        for name in files:
            tree = parsed(os.path.join(HERE, name))
            some = listed(tree, "__all__") or (listed(tree, "FUNCTIONS") if name == "_methods.py" else None)
            found.update({n.name: entry(n) for n in tree.body if public(n) and (some is None or n.name in some)})
            found.update({n: "- `%s(..)`" % n for n in assigned(tree)
                          if n not in found and (n in some if some is not None else n[0] != "_")})
        yield "## " + module
        yield from (found[n] for n in sorted(found, key=str.lower))


def main():
    print("# The Python API\n\nWritten by python/reference.py from the type stubs; the guide is docs/python.md.")
    last = "#"
    for line in lines(parsed(sys.argv[1])):
        print(line if line[0] == "-" and last == "-" else "\n" + line)
        last = line[0]


main()
