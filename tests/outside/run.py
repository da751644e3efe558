#!/usr/bin/env python3
"""Random programs over every public function, by Ridge and by PyTorch (docs/testing.md).

    run.py --lib build/release/libridge.so --device REF --seed 1 --n 1000     counts by function and dtype, failures as C
    run.py --check                                                            every function of the header has a row or a reason
    run.py --show 17                                                          the program of a seed as C
    run.py --jobs 8 ..                                                        the same by eight processes
    run.py --programs 17,33                                                   these programs again, by the seeds that failures name
    run.py --sample FILE                                                      writes the programs that `make test` runs

A batch runs in a child process: a crash costs the batch and names its program. SIGTERM ends a campaign as --seconds does, with its counts. Exit status 1 if a program is wrong, crashes, is refused,
does not compile or takes more than 20 s of CPU."""

import argparse
import collections
import json
import os
import pickle
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings

warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch  # noqa: E402

torch.cuda.is_available = lambda: False  # so that the parent never starts the driver, which does not survive a fork
torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)  # imports what it needs before processes fork

import generate  # noqa: E402
from coverage import uncovered  # noqa: E402
from header import FUNCS, STRUCTS, Lib, class_of  # noqa: E402
from program import Machine, Refused, c_program, compare, is_float  # noqa: E402
from rows import ROWS  # noqa: E402
from shrink import shrink  # noqa: E402

LIMIT = 20  # seconds of CPU of a program, compilers included
HANG = 240  # seconds of the clock after which a child is given up
OVER = -1  # instead of its status: the time of the campaign is over
PLAIN = [
    {},
    {},
    {"NOOPT": "1"},
    {"RIDGE_CC": "gcc"},
    {"RIDGE_CC": "clang"},
    {"RIDGE_THREADS": "1"},
    {"RIDGE_THREADS": "3"},
]
VARIANTS = {
    "CPU": [*PLAIN, *PLAIN, {"BEAM": "2"}],  # a search compiles ten times as much
    "CUDA": [{}, {}, {}, {"NOOPT": "1"}, {"RIDGE_RECORD": "0"}],
}


def cpu():
    a, b = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return a.ru_utime + a.ru_stime + b.ru_utime + b.ru_stime


def verdict(m, p, want=None):
    """ "" or what is wrong with what Ridge makes of it."""
    try:
        got = m.run(p)
    except Refused as e:
        return "refused: %s" % e
    why = compare(p, ROWS, got, want)
    return "wrong: " + why if why else ""


def in_child(work, seconds=HANG):
    """Runs work() in a process of its own; (what it returned, or None; its exit)."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        try:
            with os.fdopen(w, "w") as f:
                json.dump(work(), f)
        finally:
            sys.stdout.flush()
            os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    return (json.loads(text) if text else None), status


class Campaign:
    def __init__(self, args):
        self.args = args
        self.count = collections.Counter()
        self.by = collections.defaultdict(collections.Counter)
        self.failures = []
        self.end = time.time() + args.seconds
        self.pids = []  # processes with a part of the campaign each

    def stop(self, *_):
        """Upon SIGTERM: the time is over."""
        self.end = 0
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)

    def machine(self):
        return Machine(Lib(self.args.lib), ROWS, self.args.device)

    def seeds(self):
        if self.args.programs:
            return [int(s) for s in self.args.programs.split(",")]
        return [self.args.seed * 1_000_000_007 + k for k in range(self.args.n)]

    def record(self, p, why, seconds):
        rows = [(s.f, p.tags.get(s.outs[0] if s.outs else next(iter(p.values(s.args)), None), "-")) for s in p.steps]
        return {"mode": p.mode, "rows": rows, "why": why, "cpu": seconds}

    def batch(self, seeds, env):
        """One child; gives back the seeds that it did not reach."""
        log = tempfile.NamedTemporaryFile("r", suffix=".log")
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.environ.update(env)
            try:
                self.work(seeds, log.name)
            except Exception:
                traceback.print_exc(limit=-4)
            finally:
                sys.stdout.flush()
                os._exit(0)
        status, done = self.wait(pid, log)
        for seed, rec in done:
            self.note(seed, rec, env)
        left = seeds[len(done) :]
        if status == OVER:
            self.end = 0
            return []
        if left:
            how = (
                "hangs"
                if status is None
                else "crashes (signal %d)" % (status & 127) if status & 127 else "ends with status %d" % (status >> 8)
            )
            self.note(left[0], {"mode": "?", "rows": [], "why": how, "cpu": 0}, env)
            left = left[1:]
        return left

    def wait(self, pid, log):
        done, last, text = [], time.time(), ""
        while True:
            got, status = os.waitpid(pid, os.WNOHANG)
            *lines, text = (text + log.read()).split("\n")  # the last may be half written
            for line in lines:
                seed, rec = json.loads(line)
                done.append((seed, rec))
                last = time.time()
            if got:
                over = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM
                return (OVER if over else status), done
            if time.time() > self.end or time.time() - last > HANG:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return (OVER if time.time() > self.end else None), done
            time.sleep(0.02)

    def work(self, seeds, path):
        m = self.machine()
        with open(path, "a") as f:
            for k, seed in enumerate(seeds):
                start = cpu()
                p, want = generate.program(seed, self.args.kinds, self.args.only)
                if p is None:
                    rec = {"mode": "none", "rows": [], "why": "", "cpu": 0}
                else:
                    rec = self.record(p, verdict(m, p, want), cpu() - start)
                f.write(json.dumps([seed, rec]) + "\n")
                f.flush()
                if k % 25 == 24:
                    m.close()
        m.close()

    def note(self, seed, rec, env):
        self.count[rec["mode"]] += 1
        for f, tag in rec["rows"]:
            self.by[f][tag] += 1
        why = rec["why"]
        if not why and rec["cpu"] > LIMIT:
            why = "slow: %.1f s of CPU" % rec["cpu"]
        if why:
            self.failures.append((seed, why, env))
            print(
                "FAIL seed %d %s%s: %s" % (seed, rec["mode"], "".join(" %s=%s" % kv for kv in env.items()), why),
                flush=True,
            )
            if len(self.failures) <= self.args.shrink:
                self.reduce(seed, why, env)

    def program_of(self, seed):
        """The program, made in a child: gradients by PyTorch start the CUDA driver, which does not survive a fork."""
        made = lambda: pickle.dumps(generate.program(seed, self.args.kinds, self.args.only)[0]).hex()
        text, _ = in_child(made)
        return pickle.loads(bytes.fromhex(text))

    def reduce(self, seed, why, env):
        p = self.program_of(seed)
        kind = why.split(":")[0].split(" ")[0]

        def fails(q):
            if time.time() > self.end:  # no more time: as small as it is
                return False

            def work():
                os.environ.update(env)
                return verdict(self.machine(), q)

            got, status = in_child(work, max(1, int(min(60, self.end - time.time()))))
            if got is None and self.end < time.time() + 1:
                return False
            now = got if got is not None else "crashes" if status & 127 != signal.SIGALRM else "hangs"
            return bool(now) and now.split(":")[0].split(" ")[0] == kind

        small = shrink(p, fails, 150)
        print(c_program(small, ROWS, "%s\n * %s" % ("seed %d" % seed, why)), flush=True)

    def run(self):
        """All of the programs, by as many processes as were asked for; the status of the campaign."""
        start, jobs = time.time(), self.args.jobs
        signal.signal(signal.SIGTERM, self.stop)
        if jobs <= 1:
            self.share(self.seeds(), 0)
        else:
            size = -(-self.args.n // jobs)
            parts = []
            for j in range(jobs):
                parts.append(self.part(self.seeds()[j * size : (j + 1) * size], j))
                self.pids.append(parts[-1][0])
            for pid, pipe in parts:
                with os.fdopen(pipe) as f:
                    text = f.read()
                self.pids.remove(pid)
                self.merge(text, pid)
        self.report(time.time() - start)
        return 1 if self.failures else 0

    def part(self, seeds, j):
        r, w = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            self.pids = []
            os.close(r)
            with os.fdopen(w, "w") as f:
                self.share(seeds, j)
                json.dump([self.count, self.by, self.failures], f)
            sys.stdout.flush()
            os._exit(0)
        os.close(w)
        return pid, r

    def merge(self, text, pid):
        os.waitpid(pid, 0)
        count, by, failures = json.loads(text) if text else ({}, {}, [[0, "ends: a process of the campaign", {}]])
        self.count.update(count)
        for f, tags in by.items():
            self.by[f].update(tags)
        self.failures += failures

    def share(self, seeds, k):
        """Programs of these seeds, batch after batch; k: the variant to begin with."""
        start = time.time()
        variants = VARIANTS.get(self.args.device, [{}]) if self.args.variants else [{}]
        variants = [v for v in variants if shutil.which(v.get("RIDGE_CC", "sh"))]
        while seeds and time.time() < self.end and not (self.args.stop and self.failures):
            part, seeds = seeds[: self.args.batch], seeds[self.args.batch :]
            left = self.batch(part, variants[k % len(variants)])
            while left:
                left = self.batch(left, variants[k % len(variants)])
            k += 1
            if k % 20 == 0 and self.args.jobs <= 1:
                print(
                    "  %d programs, %d failures, %.0f s"
                    % (sum(self.count.values()), len(self.failures), time.time() - start),
                    flush=True,
                )

    def report(self, seconds):
        tags = sorted({t for c in self.by.values() for t in c})
        print("\n%-22s %7s  %s" % ("function", "uses", "by dtype of the result"))
        for f in sorted(self.by):
            print(
                "%-22s %7d  %s"
                % (f, sum(self.by[f].values()), " ".join("%s %d" % (t, self.by[f][t]) for t in tags if self.by[f][t]))
            )
        never = sorted(n for n, r in ROWS.items() if n not in self.by and (r.weight > 0 or r.gen is None))
        if never and not self.args.only:
            print("rows that no program used: " + " ".join(never))
        kinds = ", ".join("%s %d" % kv for kv in sorted(self.count.items()))
        kind = lambda why: why.split(":")[0].split(" ")[0]
        bad = collections.Counter("crashes" if kind(why) == "ends" else kind(why) for _, why, _ in self.failures)
        print(
            "\n%s, seed %d: %d programs (%s), %d functions; %.0f s"
            % (self.args.device, self.args.seed, sum(self.count.values()), kinds, len(self.by), seconds)
        )
        print(
            "wrong %d, refused %d, crashes %d, hangs %d, slow %d"
            % tuple(bad[k] for k in ("wrong", "refused", "crashes", "hangs", "slow"))
        )


def check():
    missing, stale = uncovered()
    for t in STRUCTS:
        class_of(t)
    for f in missing:
        print("%s: no row of tests/outside computes it, and coverage.py gives no reason" % f)
    for f in stale:
        print("%s: named in tests/outside, but not in ridge.h" % f)
    print("%d public functions, %d without a row or a reason" % (len(FUNCS), len(missing)))
    return 1 if missing or stale else 0


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--lib", default="build/release/libridge.so")
    a.add_argument("--device", default="REF")
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--n", type=int, default=1000)
    a.add_argument("--kinds", default=",".join(generate.KINDS))
    a.add_argument("--only", default="", help="rows, separated by commas")
    a.add_argument("--batch", type=int, default=100)
    a.add_argument("--seconds", type=float, default=1e9, help="end after that, in the middle of a batch")
    a.add_argument("--shrink", type=int, default=5, help="how many failures are made small")
    a.add_argument(
        "--variants",
        type=int,
        default=1,
        help="0: the device as it is; else its batches run under NOOPT, BEAM, compilers, threads",
    )
    a.add_argument("--stop", action="store_true", help="after the batch of the first failure")
    a.add_argument("--check", action="store_true")
    a.add_argument("--jobs", type=int, default=1, help="processes")
    a.add_argument("--show", type=int)
    a.add_argument("--programs", default="", help="seeds of programs, separated by commas")
    a.add_argument("--sample")
    args = a.parse_args()
    args.kinds, args.only = args.kinds.split(","), [x for x in args.only.split(",") if x]
    unknown = [x for x in args.only if x not in ROWS]
    if unknown:
        a.error(f"--only: no row is called {', '.join(unknown)}; there are {' '.join(sorted(ROWS))}")
    if args.check:
        return check()
    if args.show is not None:
        p, _ = generate.program(args.show, args.kinds, args.only)
        print(c_program(p, ROWS, p.name))
        return 0
    if args.sample:
        from sample import write

        return write(args.sample, args.seed, args.n)
    lacking = check()
    with tempfile.TemporaryDirectory(prefix="ridge-outside-") as tempfile.tempdir:  # children leave theirs in it
        return Campaign(args).run() or lacking


if __name__ == "__main__":
    sys.exit(main())
