"""Profiles and traces: what `ridge report` and `ridge diagnose` show, as objects of a notebook or a terminal."""
import os
import subprocess
import tempfile

from . import _ridge


def command():
    """Path of the command `ridge`: RIDGE_COMMAND, the one of the package, or one that is installed."""
    import shutil

    here = os.path.dirname(os.path.abspath(__file__))
    for path in (os.environ.get("RIDGE_COMMAND"), os.path.join(here, "bin", "ridge"), shutil.which("ridge")):
        if path and os.access(path, os.X_OK):
            return path
    raise FileNotFoundError("the command `ridge` is not in the package nor in PATH; RIDGE_COMMAND names it")


def _run(*args):
    env = dict(os.environ)
    env.pop("PROFILE", None)
    done = subprocess.run([command(), *args], capture_output=True, text=True, env=env)
    if done.returncode and not done.stdout:
        raise RuntimeError(done.stderr.strip() or "ridge %s failed" % args[0])
    return done.stdout


class Report:
    """A file as `ridge report` or `ridge diagnose` shows it: repr is the screen, in a notebook the page."""

    def __init__(self, path, kind):
        self.path, self.kind = os.fspath(path), kind

    def text(self, *options):
        return _run(self.kind, *options, self.path)

    def json(self):
        import json

        return json.loads(self.text("--json"))

    def table(self, by="kernel", rows=30, sort="device"):
        """A table by kernel, op, line, module, shape or class, as text."""
        return self.text("--by", by, "--rows", str(rows), "--sort", sort)

    def html(self, path=None):
        """The page with timeline and tables, as text; also written to path."""
        with tempfile.TemporaryDirectory() as d:
            to = path or os.path.join(d, "page.html")
            self.text("--html", to)
            with open(to, encoding="utf-8") as f:
                return f.read()

    def __repr__(self):
        return self.text()

    def _repr_html_(self):
        import html

        page = html.escape(self.html(), quote=True)
        return '<iframe srcdoc="%s" style="width:100%%;height:720px;border:0"></iframe>' % page


class Profile(Report):
    """with ridge.profile() as p: ...; then p is what it cost. p.step() ends a step."""

    def __init__(self, path=None, wait=0, warmup=0, active=0, repeat=0):
        self.temporary = None if path else tempfile.TemporaryDirectory(prefix="ridge-")
        super().__init__(path or os.path.join(self.temporary.name, "run.profile"), "report")
        self.options = (wait, warmup, active, repeat)

    def __enter__(self):
        _ridge._profile_start(self.path, *self.options)
        return self

    def __exit__(self, *exc):
        _ridge._profile_stop()

    def step(self):
        _ridge._profile_step()


profile = Profile


def report(path):
    """A profile that was recorded before (PROFILE=1, ridge.profile)."""
    return Report(path, "report")


def diagnose(path):
    """Where the time of a PyTorch or JAX trace went, and what to do."""
    return Report(path, "diagnose")
