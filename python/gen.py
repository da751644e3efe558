#!/usr/bin/env python3
"""The binding of every function that needs no shape of its own in Python, from include/ridge.h.

    gen.py c      < include/ridge.h     a wrapper for each function and its row in the method tables: build/gen/py_calls.c
    gen.py stubs  < include/ridge.h     the same functions as a type stub: ridge/_ridge.pyi
    gen.py list   < include/ridge.h     which functions are bound here, which in src/*.c or the package, which are not

A prototype is bound if all its parameters are of kinds known below. Options become keyword arguments. SIGNATURES gives parameters
another order or a default; ALIASES are NumPy's and PyTorch's names of parameters, understood everywhere (python/src/call.c).
"""
import re
import sys

# Parameters as Python has them: NAME or NAME=DEFAULT. A default is C (a number), or one of
#   ALL    RG_ALL           FLAT   the first tensor is flattened and the axis is 0, as NumPy's axis=None
SIGNATURES = {
    "softmax": "x axis=-1", "log_softmax": "x axis=-1", "glu": "x axis=-1",
    "cumsum": "x axis=FLAT", "cumprod": "x axis=FLAT", "cummax": "x axis=FLAT", "cummin": "x axis=FLAT",
    "logcumsumexp": "x axis=FLAT", "sort": "x axis=-1 descending=0", "argsort": "x axis=-1 descending=0",
    "_topk": "x k axis=-1 smallest=0", "_topk_index": "x k axis=-1 smallest=0",
    "flatten": "x first=0 last=-1", "squeeze": "x axis=ALL", "repeat_interleave": "x times axis=ALL",
    "tril": "x k=0", "triu": "x k=0", "diag": "x k=0", "diagonal": "x k=0 a=0 b=1", "cat": "xs axis=0", "stack": "xs axis=0",
    "take": "x index axis=FLAT", "leaky_relu": "x slope=0.01", "elu": "x alpha=1", "celu": "x alpha=1",
    "hardtanh": "x lo=-1 hi=1", "clamp": "x lo=NONE hi=NONE", "isclose": "x y rtol=1e-5 atol=1e-8",
    "_norm": "x p=2 axes=() keep=0", "normalize": "x p=2 axis=1", "_pad": "x before_after v=0", "_pad_with": "x before_after mode",
    "linear": "x weight bias=NONE", "layernorm": "x weight=NONE bias=NONE eps=0 axes=0", "rmsnorm": "x weight=NONE eps=0",
    "groupnorm": "x groups weight=NONE bias=NONE eps=0", "instancenorm": "x weight=NONE bias=NONE eps=0",
    "batchnorm": "x mean var weight=NONE bias=NONE eps=0", "dropout": "x p=0.5", "multinomial": "weights n replace=0",
    "roll": "x shifts axes=()", "unfold": "x axis size step", "_transpose": "x a b",
    "conv1d": "x weight bias=NONE stride=() padding=() dilation=() groups=0",
    "conv2d": "x weight bias=NONE stride=() padding=() dilation=() groups=0",
    "conv3d": "x weight bias=NONE stride=() padding=() dilation=() groups=0",
    "conv_transpose1d": "x weight bias=NONE stride=() padding=() output_padding=() groups=0 dilation=()",
    "conv_transpose2d": "x weight bias=NONE stride=() padding=() output_padding=() groups=0 dilation=()",
    "conv_transpose3d": "x weight bias=NONE stride=() padding=() output_padding=() groups=0 dilation=()",
    "attention": "q k v mask=NONE dropout=0 causal=0 scale=0", "eye": "rows columns=SAME dt=RG_F32 c=0",
    "uniform": "shape lo=0 hi=1 dt=RG_F32 c=0", "normal": "mean=0 deviation=1 shape=() dt=RG_F32 c=0",
    "_randint": "lo hi shape dt=RG_I64 c=0", "randperm": "n dt=RG_I64 c=0", "_linspace": "start stop n=50 dt=RG_F32 c=0",
    "_arange": "start stop step dt c=0", "_full": "shape v dt=RG_F32 c=0", "zeros": "shape dt=RG_F32 c=0",
    "ones": "shape dt=RG_F32 c=0", "rand": "shape dt=RG_F32 c=0", "randn": "shape dt=RG_F32 c=0",
    "glorot_uniform": "shape dt=RG_F32 c=0", "kaiming_uniform": "shape slope=0 dt=RG_F32 c=0",
    "kaiming_normal": "shape slope=0 dt=RG_F32 c=0", "_scalar": "v dt=RG_F32 c=0", "index_scalar": "least greatest v=0 c=0",
    "_number": "v dt c=0", "_integer": "v dt c=0", "load_npy": "path c=0", "load_idx": "path c=0", "seed": "seed c=0", "sync": "c=0",
    "_einsum": "formula xs", "_contiguous": "x", "_lstm": "x weights state=NONE reverse=0", "_gru": "x weights state=NONE reverse=0",
    "limit_temporaries": "bytes c=0",
}
# Bound under another name: an underscore where the package puts NumPy's shape around it.
RENAMED = {
    "topk": "_topk", "topk_index": "_topk_index", "norm": "_norm", "pad": "_pad", "pad_with": "_pad_with", "transpose": "_transpose",
    "randint": "_randint", "linspace": "_linspace", "arange": "_arange", "full": "_full", "scalar": "_scalar", "index": "index_scalar",
    "number": "_number", "integer": "_integer", "einsum": "_einsum", "flip": "_flip", "var": "_var", "std": "_std",
    "cast": "_cast", "slice": "_slice", "masked_select": "_masked_select", "nonzero": "_nonzero", "full_like": "_full_like",
    "zeros_like": "_zeros_like", "ones_like": "_ones_like", "rand_like": "_rand_like", "randn_like": "_randn_like",
    "repeat": "tile_", "contiguous": "_contiguous", "bitcast": "_bitcast", "one_hot": "one_hot", "gather": "gather",
    "item": "_item", "interpolate": "_interpolate", "adaptive_avg_pool2d": "_adaptive_avg_pool2d", "any": "any", "all": "all",
    "schedule_stats": "_schedule_stats", "lstm": "_lstm", "gru": "_gru",
}
VARARGS = "reshape permute expand tile_ zeros ones rand randn _flip".split()  # the list may be written as arguments
LEAVES = "zeros ones _full rand randn uniform normal _randint randperm _arange _linspace eye _contiguous load_npy load_idx".split()
# Objects with methods of their own (src/*.c), or nothing that a program in Python asks for.
OTHERS = {
    "rg_open rg_close rg_status_of rg_error rg_clear_error rg_status_text rg_on_warning rg_device rg_version": "devices, exceptions, warnings",
    "rg_begin rg_end rg_keep rg_free": "objects are counted",
    "rg_from rg_borrow rg_expose rg_read rg_item rg_read_async rg_wait rg_realize rg_realize_all rg_copy_to": "tensor(), numpy(), item(), realize(), to()",
    "rg_set_scalar rg_assign rg_assign_slice rg_slice": "set(), x[..] = v, assign_()",
    "rg_grad rg_param rg_backward rg_param_grad rg_has_grad rg_zero_grad rg_begin_no_grad rg_end_no_grad": "grad(), backward(), no_grad()",
    "rg_dtype_of rg_rank rg_dim rg_size rg_bytes rg_shape_of rg_ctx_of rg_is_alive rg_dtype_size rg_dtype_name": "attributes",
    "rg_split rg_chunk rg_meshgrid": "lists",
    "rg_jit_new rg_jit_call rg_jit_free rg_jit_info": "jit()",
    "rg_in_module rg_sgd rg_adam rg_adamw rg_clip_grad_norm rg_clip_grad_value": "nn, optim",
    "rg_file_open rg_file_close rg_file_count rg_file_name rg_file_get rg_file_note rg_save": "load(), save()",
    "rg_benchmark": "timeit",
    "rg_world_open rg_world_group rg_all_reduce rg_reduce_scatter rg_all_gather rg_broadcast rg_all_to_all rg_send rg_recv rg_barrier":
        "ridge.world",
    "rg_stats rg_memory_of rg_memory_reset_peak rg_collect rg_memory_snapshot rg_kernels rg_kernels_reset rg_machine_of rg_schedule_stats": "usage(), memory()",
    "rg_profile_start rg_profile_step rg_profile_stop rg_range_push rg_range_pop rg_profile_table rg_flight_dump": "profile()",
}
PREFIXED = {"rg_nn_": "modules are written in Python (ridge/nn.py)", "rg_optim": "optim", "rg_loader_": "Python's own loaders",
            "rg_lr_": "optim"}
OWN = {name: why for names, why in OTHERS.items() for name in names.split()}
WORK = {"load_npy", "load_idx", "save_npy", "sync"}  # they may take long: the GIL is released

KINDS = {"rg_tensor": "tensor", "rg_value": "operand", "rg_ints": "ints", "double": "double", "int64_t": "int", "bool": "bool",
         "rg_dtype": "dtype", "rg_ctx *": "ctx", "const char *": "text", "rg_tensors": "list", "uint32_t": "uint", "uint64_t": "seed"}
PYTHON = {"tensor": "TensorLike", "operand": "TensorLike", "ints": "Ints", "double": "float", "int": "int", "bool": "bool", "dtype": "DTypeLike",
          "ctx": "str", "text": "str", "list": "Sequence[TensorLike]", "uint": "int", "seed": "int", "enum": "str"}


def uncomment(text):
    return " ".join(re.sub(r"^\s*\*", "", line).strip() for line in text.split("\n")).strip()


def parse(text):
    """[(return type, name, [(type, name)], comment)], {struct: [(type, name)]}, {enum: [constants]}"""
    text = text.split("#define RG_SCOPE_(c, line)")[0]
    comment = r"(?:/\*((?:(?!\*/).)*)\*/[ \t]*)"
    functions = []
    pattern = re.compile(r"^" + comment + r"?\n?RG_FN\s+([^;#]*?\));[ \t]*" + comment + "?", re.M | re.S)
    for m in pattern.finditer(text):
        proto = " ".join(m.group(2).split())
        ret, name, params = re.match(r"(.*?)(rg_\w+)\((.*)\)$", proto).groups()
        params = [re.match(r"(.*?)(\w+)$", p.strip()).groups() for p in params.split(",")]
        doc = re.sub(r"\brg_(?=[a-z])", "", uncomment(m.group(3) or m.group(1) or "")).replace("RG_NONE", "None")
        functions.append((ret.strip(), name, [(t.strip(), n) for t, n in params], doc if "----" not in doc else ""))
    bare = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    structs, enums = {}, {}
    for name, body in re.findall(r"typedef struct (rg_\w+_opts) \{(.*?)\} \1;", bare, flags=re.S):
        fields = []
        for decl in body.split(";"):
            m = re.match(r"(\w+) (.*)$", " ".join(decl.split()))
            fields += [(m.group(1), n.strip()) for n in m.group(2).split(",")] if m else []
        structs[name] = [f for f in fields if f[1] != "size_"]
    for name, body in re.findall(r"typedef enum (rg_\w+) \{(.*?)\} \1;", bare, flags=re.S):
        enums[name] = [w.split("=")[0].strip() for w in body.split(",") if w.strip()]
    return functions, structs, enums


class Param:
    def __init__(self, name, kind, ctype, target, default=None):
        self.name, self.kind, self.ctype, self.target, self.default = name, kind, ctype, target, default


class Function:
    """How Python sees a function: its name, its parameters in order."""

    def __init__(self, ret, name, params, doc, structs, enums):
        self.c, self.ret, self.doc = name, ret, doc
        self.name = RENAMED.get(name[3:], name[3:])
        self.args, known = [], {}
        for ctype, n in params:
            if ctype in structs:
                self.args.append(("opts", ctype, n))
                for t, f in structs[ctype]:
                    if f == "population" and self.name not in ("_var", "_std"):
                        continue
                    kind = "enum" if t in enums else KINDS.get(t)
                    known[f] = Param(f, kind, t, "o." + f, "NONE" if kind == "tensor" else "()" if kind == "ints" else "0")
                continue
            kind = "enum" if ctype in enums and ctype != "rg_dtype" else KINDS.get(ctype)
            self.args.append((kind, ctype, n))
            known[n] = Param(n, kind, ctype, "a_" + n)
        self.kinds = {p.kind for p in known.values()}
        order = SIGNATURES.get(self.name)
        self.params = list(known.values())
        if order:
            self.params = []
            for word in order.split():
                n, _, default = word.partition("=")
                p = known[n]
                p.default = default if default else p.default if p.target.startswith("o.") else None
                self.params.append(p)
        self.varargs = self.name in VARARGS

    def bound(self):
        return (None not in self.kinds and self.ret in ("rg_tensor", "rg_status") and self.c not in OWN
                and not any(self.c.startswith(p) for p in PREFIXED))

    def required(self):
        return sum(p.default is None for p in self.params)

    def is_method(self):
        return self.params[0].kind in ("tensor", "operand")

    def signature(self, shown=lambda p: p.name):
        def default(p):
            return {"bool": {"0": "False"}, "ints": {"()": "None"}}.get(p.kind, {}).get(p.default) or PY_DEFAULT.get(p.default, p.default)

        return ", ".join(shown(p) + ("" if p.default is None else "=" + default(p)) for p in self.params)


PY_DEFAULT = {"NONE": "None", "ALL": "None", "FLAT": "None", "SAME": "None", "RG_F32": "float32", "RG_I64": "int64"}
PY_NAME = {"dt": "dtype", "c": "device", "keep": "keepdims"}


def shown_name(p):
    return "axis" if p.target == "o.axes" and p.kind == "ints" else PY_NAME.get(p.name, p.name)


def fetch(p, i, flat):
    """C that converts argument i."""
    v = "v[%d]" % i
    get = {"tensor": "py_tensor", "operand": "py_operand", "ints": "py_ints", "double": "py_double", "int": "py_int", "bool": "py_bool",
           "dtype": "py_dtype", "ctx": "py_device", "text": "py_text", "list": "py_list", "uint": "py_uint", "seed": "py_seed"}
    if p.kind == "enum":
        call = "py_enum(%s, %s_names, (int *)&%s)" % (v, p.ctype, p.target)
    else:
        call = "%s(k, %s, &%s)" % (get[p.kind], v, p.target)
    if p.kind == "ctx":
        return call
    if p.default is None:
        return call
    if p.default == "FLAT":
        return "(PY_GIVEN(%s) ? %s : (%s = 0, py_flatten(k, &a_x)))" % (v, call, p.target)
    return "(PY_GIVEN(%s) && %s)" % (v, call)


def initial(p):
    d = p.default
    if p.kind == "operand":
        return "{{0}, 0, {0}}"
    if p.kind in ("tensor", "ints", "list"):
        return "{0}"
    return {"ALL": "RG_ALL", None: "0", "FLAT": "0", "SAME": "-1"}.get(d, d)


def write_function(f, out):
    opts = [(t, n) for kind, t, n in f.args if kind == "opts"]
    lines = ["static PyObject *do_%s(struct py_call *k, PyObject *const *v) {" % f.name]
    for t, n in opts:
        lines.append("    %s o = {.size_ = sizeof o};" % t)
    for p in f.params:
        if p.target.startswith("o."):
            continue
        ctype = "rg_operand" if p.kind == "operand" else p.ctype
        init = "NULL" if p.ctype.endswith("*") else initial(p)
        lines.append("    %s%s%s = %s;" % (ctype, "" if ctype.endswith("*") else " ", p.target, init))
    tests = [fetch(p, i, f) for i, p in enumerate(f.params)]
    ctx = [t for t in tests if "py_device" in t]  # first: what is made is made there
    lines.append("    if (%s) return NULL;" % " || ".join(ctx + [t for t in tests if t not in ctx]))
    if "SAME" in [p.default for p in f.params]:
        lines.append("    if (a_columns < 0) a_columns = a_rows;")
    call = ", ".join(["k->file", "k->line"] + ["o" if kind == "opts" else "a_" + n for kind, t, n in f.args])
    done = "py_made" if f.ret == "rg_tensor" else "py_did"
    flag = ", %s" % ("PY_LEAF" if f.name in LEAVES else "0") if f.ret == "rg_tensor" else ""
    if f.name in WORK:
        kind = "rg_tensor" if f.ret == "rg_tensor" else "rg_status"
        lines += ["    %s r;" % kind, "    PY_WORK(k, r = %s_at(%s));" % (f.c, call), "    return %s(k, r%s);" % (done, flag), "}"]
    else:
        lines += ["    PY_LOCK(k);", "    return %s(k, %s_at(%s)%s);" % (done, f.c, call, flag), "}"]
    names = ", ".join('"%s"' % shown_name(p) for p in f.params)
    lines.append("static const char *const names_%s[] = {%s};" % (f.name, names))
    lines.append('static const struct py_signature sig_%s = {"%s", names_%s, %d, %d, %d};' %
                 (f.name, f.name, f.name, len(f.params), f.required(), 1 + [p.kind for p in f.params].index("ints") if f.varargs else 0))
    lines.append("PY_FUNCTION(%s)" % f.name)
    if f.is_method():
        lines.append("PY_METHOD(%s)" % f.name)
    out += lines


def doc_of(f):
    shown = f.signature(shown_name)
    text = "%s(%s)\n--\n\n%s" % (f.name, shown, f.doc)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_c(functions, enums):
    out = ["/* Written by python/gen.py from ridge.h: the functions that need no shape of their own in Python. */", '#include "py.h"', ""]
    for name, words in enums.items():
        if name in ("rg_dtype", "rg_status"):
            continue
        cut = len(words[0]) - len(words[0].split("_")[-1]) if "PAD" in words[0] or "RESIZE" in words[0] or "COMBINE" in words[0] else 3
        short = [w[cut:].lower() if not w.startswith("RG_RESIZE") else w[len("RG_RESIZE_"):].lower() for w in words]
        out.append("__attribute__((unused)) static const char *const %s_names[] = {%s, NULL};" % (name, ", ".join('"%s"' % s for s in short)))
    for f in functions:
        write_function(f, out)
    out.append("PyMethodDef py_functions[] = {")
    out += ['    {"%s", (PyCFunction)(void *)fn_%s, METH_FASTCALL | METH_KEYWORDS, "%s"},' % (f.name, f.name, doc_of(f)) for f in functions]
    out.append("    {0}};\nPyMethodDef py_methods[] = {")
    out += ['    {"%s", (PyCFunction)(void *)me_%s, METH_FASTCALL | METH_KEYWORDS, "%s"},' % (f.name, f.name, doc_of(f))
            for f in functions if f.is_method()]
    out.append("    {0}};")
    print("\n".join(out))


ATTRIBUTES = """    shape: Tuple[int, ...]
    ndim: int
    size: int
    nbytes: int
    itemsize: int
    dtype: DType
    device: str
    T: "Tensor"
    mT: "Tensor"
    requires_grad: bool
    is_leaf: bool
    grad: Optional["Tensor"]
    def item(self) -> Any: ...
    def realize(self) -> "Tensor": ...
    def backward(self) -> None: ...
    def assign_(self, v: "TensorLike") -> "Tensor": ...
    def copy_(self, v: "TensorLike") -> "Tensor": ...
    def set(self, v: float) -> None: ...
    def requires_grad_(self, on: bool = ...) -> "Tensor": ...
    def __getitem__(self, key: Any) -> "Tensor": ...
    def __setitem__(self, key: Any, v: "TensorLike") -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
"""
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
OPERATORS = "".join("    def __%s__(self, other: TensorLike) -> Tensor: ...\n" % (r + n) for n in BINARY for r in ("", "r")) + "".join(
    "    def __%s__(self, other: Any) -> Tensor: ...  # type: ignore[override]\n" % n for n in "eq ne lt le gt ge".split()) + "".join(
    "    def __%s__(self) -> Tensor: ...\n" % n for n in "neg pos abs invert".split())
OTHER_FUNCTIONS = """def tensor(data: Any, dtype: Optional[DTypeLike] = ..., device: Optional[str] = ..., requires_grad: bool = ...) -> Tensor: ...
def from_numpy(x: Any, device: Optional[str] = ...) -> Tensor: ...
def zero_grad(device: Optional[str] = ...) -> None: ...
def plan(xs: Sequence[Tensor]) -> dict: ...
def usage(device: Optional[str] = ...) -> dict: ...
def memory(device: Optional[str] = ...) -> dict: ...
def collect(device: Optional[str] = ...) -> None: ...
def machine(device: Optional[str] = ...) -> dict: ...
def kernels(device: Optional[str] = ...) -> list: ...
def device(name: Optional[str] = ...) -> str: ...
class jit:
    def __init__(self, fn: Callable) -> None: ...
    def __call__(self, *args: Any, **kw: Any) -> Any: ...
    recordings: list
class Optimizer:
    lr: float
    def step(self) -> None: ...
    def scale(self, loss: Tensor) -> Tensor: ...
    def save(self, path: str) -> None: ...
    def load(self, path: str) -> None: ...
"""


def python_methods():
    """Methods of ridge/_methods.py, with their parameters."""
    import ast

    with open(__file__.replace("gen.py", "ridge/_methods.py")) as f:
        tree = ast.parse(f.read())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "METHODS":
            names = set(node.value.func.value.value.split())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            words = ast.unparse(node.args).split(", ")
            yield "    def %s(%s) -> Any: ..." % (node.name, ", ".join(["self"] + words[1:]))


def write_stubs(functions):
    print('"""Written by python/gen.py from ridge.h: do not edit."""')
    print("from typing import Any, Callable, Iterable, Optional, Sequence, Tuple, Union\n")
    print("class DType:\n    name: str\n    itemsize: int\n    code: int\n")
    for n in "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8_e4m3 float8_e5m2".split():
        print("%s: DType" % n)
    print("\nDTypeLike = Union[DType, str, type, Any]\nInts = Union[int, Sequence[int]]")
    print('TensorLike = Union["Tensor", bool, int, float, Sequence, Any]\n')

    def line(f, method):
        shown = []
        params = f.params[1:] if method else f.params
        for i, p in enumerate(params):
            star = f.varargs and p.kind == "ints"
            default = "" if p.default is None or star else " = ..."
            optional = "Optional[%s]" if p.default in ("NONE", "ALL", "FLAT", "SAME", "()", "0") and p.default is not None else "%s"
            shown.append(("*" if star else "") + "%s: %s%s" % (shown_name(p), optional % PYTHON[p.kind] if not star else "Ints", default))
        ret = "Tensor" if f.ret == "rg_tensor" else "None"
        named = {shown_name(p) for p in params}
        if "axis" in named and not f.varargs:  # PyTorch's names are understood too
            shown += ["*", "dim: Optional[Ints] = ..."] + (["keepdim: bool = ..."] if "keepdims" in named else [])
        text = "def %s(%s) -> %s:" % (f.name, ", ".join((["self"] if method else []) + shown), ret)
        return text, f.doc

    print("class Tensor:")
    for f in functions:
        if f.is_method() and not f.name.startswith("_"):
            text, doc = line(f, True)
            print("    %s\n        %s" % (text, '"""%s"""' % doc.replace('"', "'") if doc else "..."))
    print(ATTRIBUTES + "\n".join(python_methods()) + "\n" + OPERATORS)
    print(OTHER_FUNCTIONS)
    for f in functions:
        if not f.name.startswith("_"):
            text, doc = line(f, False)
            print("%s\n    %s" % (text, '"""%s"""' % doc.replace('"', "'") if doc else "..."))


def main():
    functions, structs, enums = parse(sys.stdin.read())
    every = [Function(*f, structs, enums) for f in functions]
    bound = [f for f in every if f.bound()]
    if sys.argv[1] == "c":
        write_c(bound, enums)
    elif sys.argv[1] == "stubs":
        write_stubs(bound)
    else:
        for f in every:
            why = OWN.get(f.c) or next((w for p, w in PREFIXED.items() if f.c.startswith(p)), "not bound")
            print("%-28s %s" % (f.c, "%s(%s)" % (f.name, f.signature()) if f.bound() else why))


main()
