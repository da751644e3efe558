"""The public header as a table, and calls through it.

Functions, structs and enums are parsed from include/ridge.h, so a new function is known here before anyone thinks of it. `Lib` calls a
function of the shared library with Python values, `text` writes the same call as C:

    int, float, bool   numbers, where an operand may be one
    V(3)               value 3 of a program: an rg_tensor
    E("RG_MEAN")       a constant of the header
    [2, 3]             rg_ints; [V(1), V(2)] is rg_tensors; [(start, stop, step, V or None)] is rg_ranges
    {"keep": True}     options, by the names of their fields
"""

import ctypes as C
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
END = 2**63 - 1  # RG_END, RG_ALL


class V(int):
    def __repr__(self):
        return "v%d" % int(self)


class E(str):
    pass


class Func:
    def __init__(self, ret, name, params, site):
        self.ret, self.name, self.params, self.site = ret, name, params, site


BASE = {
    "int": C.c_int,
    "double": C.c_double,
    "bool": C.c_bool,
    "uint32_t": C.c_uint32,
    "int64_t": C.c_int64,
    "uint64_t": C.c_uint64,
    "size_t": C.c_size_t,
    "const char *": C.c_char_p,
    "float": C.c_float,
}


def parse(path=os.path.join(ROOT, "include", "ridge.h")):
    """Functions, struct bodies and enum values of the header."""
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    text = re.sub(r"//.*", "", text).split("#define RG_SCOPE_(c, line)")[0]
    funcs = {}
    for kind, proto in re.findall(r"^RG_(API|FN)\s+([^;#]*?\));", text, flags=re.M | re.S):
        proto = " ".join(proto.split())
        m = re.match(r"(.*?)(rg_\w+)\((.*)\)$", proto)
        ret, name, params = m.group(1).strip(), m.group(2), m.group(3)
        params = [] if params == "void" else [re.match(r"(.*?)(\w+)$", p.strip()).groups() for p in params.split(",")]
        funcs[name] = Func(ret, name, [(t.strip(), n) for t, n in params], kind == "FN")
    text = re.sub(r"RG_SIZE_\(\w+\);", "int size_;", text)
    structs = {}
    for name, body in re.findall(r"typedef struct (rg_\w+) \{(.*?)\} \1;", text, flags=re.S):
        fields = []
        for decl in body.split(";"):
            decl = " ".join(decl.split())
            m = re.match(r"((?:const )?\w+(?: \*const \*| \*)?) ?(.*)$", decl)
            if decl and m:
                for n in m.group(2).split(","):
                    fields.append((m.group(1).strip(), n.strip()))
        structs[name] = fields
    enums = {}
    for body, name in re.findall(r"typedef enum rg_\w+ \{(.*?)\} (rg_\w+);", text, flags=re.S):
        at = 0
        for item in body.split(","):
            if not item.strip():
                continue
            key, _, value = item.partition("=")
            at = int(value, 0) if value else at
            enums[key.strip()] = at
            at += 1
        BASE[name] = C.c_int
    return funcs, structs, enums


FUNCS, STRUCTS, ENUMS = parse()
FUNC_NAMES = sorted(FUNCS)
CALLBACK = {"rg_jit_fn": C.CFUNCTYPE(C.c_int, C.c_void_p, C.c_void_p, C.c_void_p)}


class Operand(C.Structure):
    class U(C.Union):
        _fields_ = [("i", C.c_int64), ("f", C.c_double)]

    _fields_ = [("t", C.c_uint64), ("kind", C.c_int), ("v", U)]


class Tensor(C.Structure):
    _fields_ = [("id", C.c_uint64)]


class Ints(C.Structure):
    _fields_ = [("d", C.POINTER(C.c_int64)), ("n", C.c_size_t)]


class Tensors(C.Structure):
    _fields_ = [("t", C.POINTER(Tensor)), ("n", C.c_size_t)]


class Range(C.Structure):
    _fields_ = [("start", C.c_int64), ("stop", C.c_int64), ("step", C.c_int64), ("at", Tensor)]


class Ranges(C.Structure):
    _fields_ = [("r", C.POINTER(Range)), ("n", C.c_size_t)]


CLASSES = {
    "rg_tensor": Tensor,
    "rg_ints": Ints,
    "rg_tensors": Tensors,
    "rg_range": Range,
    "rg_ranges": Ranges,
    "rg_operand": Operand,
    "rg_value": Operand,
}


def class_of(t):
    if t in BASE:
        return BASE[t]
    if t in CLASSES:
        return CLASSES[t]
    if t.endswith("*"):
        return C.c_void_p
    fields = [(n, class_of(ft)) for ft, n in STRUCTS[t]]
    CLASSES[t] = type(t, (C.Structure,), {"_fields_": fields})
    return CLASSES[t]


def ints(values):
    n = len(values)
    return Ints((C.c_int64 * max(n, 1))(*values), n)


class Lib:
    """The shared library. Tensors are V(i), found in `self.handle`; the line of a call is that of the program."""

    def __init__(self, path):
        self.so = C.CDLL(os.path.abspath(path))
        self.handle, self.fn, self.line = {}, {}, 0
        for f in FUNCS.values():
            if "rg_fill_fn" in str(f.params) or f.ret.startswith("rg_modules"):
                continue
            types = [C.c_char_p, C.c_int] if f.site else []
            types += [class_of(t) if t in STRUCTS or t in CLASSES or t in BASE else C.c_void_p for t, _ in f.params]
            sym = getattr(self.so, f.name + ("_at" if f.site else ""), None)
            if sym is None:  # run.py --check reports it
                continue
            sym.argtypes = types
            sym.restype = (
                None
                if f.ret == "void"
                else (
                    class_of(f.ret)
                    if f.ret in CLASSES or f.ret in BASE or f.ret in STRUCTS
                    else C.c_char_p if f.ret == "const char *" else C.c_void_p
                )
            )
            self.fn[f.name] = (sym, f)

    def arg(self, t, a):
        if t == "rg_tensor":
            return Tensor(0 if a is None else a.id if isinstance(a, Tensor) else self.handle[a].id)
        if t in ("rg_value", "rg_operand"):
            if isinstance(a, V) or isinstance(a, Tensor) or a is None:
                return Operand(self.arg("rg_tensor", a).id, 0)
            o = Operand(0, 2 if isinstance(a, float) else 1)
            if isinstance(a, float):
                o.v.f = a
            else:
                o.v.i = int(a)
            return o
        if t == "rg_ints":
            return ints(a)
        if t == "rg_tensors":
            return Tensors((Tensor * max(len(a), 1))(*[self.arg("rg_tensor", x) for x in a]), len(a))
        if t == "rg_ranges":
            rows = [Range(s, e, k, self.arg("rg_tensor", at)) for s, e, k, at in a]
            return Ranges((Range * max(len(a), 1))(*rows), len(a))
        if isinstance(a, E):
            return ENUMS[a]
        if isinstance(a, dict):
            kinds = {n: ft for ft, n in STRUCTS[t]}
            made = class_of(t)
            size = {"size_": C.sizeof(made)} if "size_" in kinds else {}
            return made(**size, **{n: self.arg(kinds[n], v) for n, v in a.items()})
        if isinstance(a, str):
            return a.encode()
        return a

    def call(self, name, *args):
        sym, f = self.fn[name]
        values = [self.arg(t, a) for (t, _), a in zip(f.params, args)]
        if f.site:
            return sym(b"program", self.line, *values)
        return sym(*values)


# ---- the same call as C -----------------------------------------------------------------------------------------
def number(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return "RG_END" if x == END else "%dLL" % x if abs(x) >= 2**31 else str(int(x))
    s = repr(float(x))
    return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(s, s)


def text_arg(t, a, name):
    if a is None:
        return "RG_NONE"
    if isinstance(a, V):
        return name(a)
    if isinstance(a, E):
        return str(a)
    if t == "rg_ints":
        return "RG_SHAPE(%s)" % ", ".join(number(x) for x in a)
    if t == "rg_tensors":
        return "RG_TENSORS(%s)" % ", ".join(name(x) for x in a)
    if t == "rg_ranges":
        rows = []
        for s, e, k, at in a:
            tail = ", .at = %s" % name(at) if at is not None else ""
            rows.append("(rg_range){.start = %s, .stop = %s, .step = %s%s}" % (number(s), number(e), number(k), tail))
        return "RG_SLICES(%s)" % ", ".join(rows)
    if isinstance(a, str):
        return '"%s"' % a
    return number(a)


def text(name_of, fn, args):
    """The call as an expression of C; name_of names a value."""
    out = []
    f = FUNCS[fn]
    for (t, _), a in zip(f.params, args):
        if isinstance(a, dict):
            kinds = {n: ft for ft, n in STRUCTS[t]}
            out += [".%s = %s" % (n, text_arg(kinds[n], v, name_of)) for n, v in a.items()]
        else:
            out.append(text_arg(t, a, name_of))
    return "%s(%s)" % (fn, ", ".join(out))
