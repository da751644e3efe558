"""The build backend of `pip install .` (PEP 517): make builds, this packs. It needs nothing but Python's own library.

    python3 python/backend.py wheel FOLDER     what `make wheel` runs, after `make python`
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", "build")
PACKAGE = os.path.join(ROOT, BUILD, "release", "python", "ridge")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # no limited API there: a wheel of its own
EXTENSION = "_ridge" + (sysconfig.get_config_var("EXT_SUFFIX") if FREE_THREADED else ".abi3.so")
STRIPPED = (EXTENSION, "ridge", "ridge-worker")


def version():
    with open(os.path.join(ROOT, "include", "ridge.h")) as f:
        return re.search(r'#define RG_VERSION "(.*)"', f.read()).group(1)


def tag():
    own = "cp%d%d-cp%d%dt" % (sys.version_info[:2] * 2)
    return (own if FREE_THREADED else "cp311-abi3") + "-linux_" + os.uname().machine


def metadata():
    with open(os.path.join(ROOT, "docs", "python.md")) as f:
        text = f.read()
    return ("Metadata-Version: 2.1\nName: ridge\nVersion: %s\nSummary: Tensors that know what they cost: a tensor compiler and runtime\n"
            "Requires-Python: >=3.11\nLicense: see LICENSE\nDescription-Content-Type: text/markdown\n\n%s" % (version(), text))


def make():
    subprocess.check_call(["make", "-C", ROOT, "--no-print-directory", "PYTHON=" + sys.executable, "python"], stdout=sys.stderr)


def contents():
    """(name in the wheel, bytes, executable)"""
    for folder, _, files in sorted(os.walk(PACKAGE)):
        for name in sorted(files):
            if name.endswith(".pyc") or (name.startswith("_ridge.") and name.endswith(".so") and name != EXTENSION):
                continue
            path = os.path.join(folder, name)
            data = stripped(path) if name in STRIPPED else open(path, "rb").read()
            yield "ridge/" + os.path.relpath(path, PACKAGE), data, os.access(path, os.X_OK)


def stripped(path):
    copy = path + ".stripped"
    try:
        subprocess.check_call(["strip", "-o", copy, path])
        with open(copy, "rb") as f:
            return f.read()
    finally:
        if os.path.exists(copy):
            os.remove(copy)


def write_wheel(folder):
    info = "ridge-%s.dist-info/" % version()
    name = "ridge-%s-%s.whl" % (version(), tag())
    os.makedirs(folder, exist_ok=True)
    record = []
    with zipfile.ZipFile(os.path.join(folder, name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        def put(path, data, run=False):
            data = data if isinstance(data, bytes) else data.encode()
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if run else 0o100644) << 16 # a regular file: pip drops the bit of others
            entry.compress_type = zipfile.ZIP_DEFLATED
            z.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d" % (path, digest, len(data)))

        for path, data, run in contents():
            put(path, data, run)
        put(info + "METADATA", metadata())
        put(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: ridge\nRoot-Is-Purelib: false\nTag: %s\n" % tag())
        put(info + "entry_points.txt", "[console_scripts]\nridge = ridge.__main__:main\n")
        with open(os.path.join(ROOT, "LICENSE")) as f:
            put(info + "licenses/LICENSE", f.read())
        record.append(info + "RECORD,,")
        z.writestr(info + "RECORD", "\n".join(record) + "\n")
    return name


# ---- PEP 517 ----


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    make()
    return write_wheel(wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    name = "ridge-%s.tar.gz" % version()
    prefix = "ridge-%s/" % version()
    subprocess.check_call(["git", "-C", ROOT, "archive", "--format=tar.gz", "--prefix", prefix, "-o",
                           os.path.join(os.path.abspath(sdist_directory), name), "HEAD"])
    return name


if __name__ == "__main__":
    print(os.path.join(sys.argv[2], write_wheel(sys.argv[2])))
