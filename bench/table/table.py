#!/usr/bin/env python3
"""One table: Ridge beside OpenBLAS, PyTorch and tinygrad.

    make bench [ROWS="sgemm,softmax"] [ARGS="--rounds 5 --no tinygrad --least"]
    make bench ARGS="--products 512,2049,nt:128x96x784,f64:512,random:30:7 --cpu-time --beside ../before/build/release"

Each side is a process of its own (ours.c, blas.c, torch_rows.py, tinygrad_rows.py) that answers "ROW, n runs" with seconds. For each row
the sides alternate; the figure of a side is the median of its runs, and the best peer is the one that counts. A floor is what the machine's limits
alone would take: the longer of operations / FMA peak and bytes / bandwidth of the memory that holds them, measured by `ridge ceilings` in the same run; a
function like exp counts by its bytes. Peers come from PyPI into OUT/venv, in the versions below; a row that a peer does not have says why.
Writes OUT/results.json and OUT/results.md.

--products: instead of the table's rows products of these sizes (M x N x K), of floats, or with a kind before them: nt (b transposed), tn (a transposed),
f64, bf16, i8; random:N:SEED: N of them, skinny, odd and transposed ones too. --cpu-time: one thread each, by the time that it had a core, which a busy
machine does not stretch; --beside: another build of ours as one more side. `before` is its time / ours."""
import argparse, datetime, glob, json, os, pathlib, platform, random, select, statistics, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PACKAGES = {"PyTorch": ["torch==2.15.0", "numpy==2.4.6"], "tinygrad": ["tinygrad==0.14.0", "numpy==2.4.6"]}
BATCH = 0.02    # seconds of runs in one turn, at least; with --least 0.002
ENOUGH = 3.0    # seconds that a side spends on a row before it sits out further turns
PATIENCE = 120  # seconds for a side to get a row ready
PAUSE = 0.1  # seconds between sides: OpenBLAS's threads spin for 2^26 cycles after a call, 20 to 35 ms

F4 = 4 * 4096 * 4096  # bytes of the large matrices


def product(m, n, k):
    return f"sgemm {m}" if m == n == k else f"sgemm {m}x{n}x{k}", 2 * m * n * k, 4 * (m * k + k * n), 4 * m * n


def conv(name, batch, ci, co, size, k, pad, stride=1, groups=1):
    out, per = (size + 2 * pad - k) // stride + 1, ci // groups
    flops, x, w, y = 2 * batch * co * out * out * per * k * k, 4 * batch * ci * size * size, 4 * co * per * k * k, 4 * batch * co * out * out
    return [(f"conv {name} forward", flops, x + w, y), (f"conv {name} backward", 2 * flops, x + w + y, x + w)]


# name, operations, bytes read, bytes written
BLOCK = 2 * 256 * 12 * 768 * 768 + 2 * 256 * 256 * 768  # projections, and attention's visible half
ROWS = [product(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)]
ROWS += [product(*s) for s in ((127, 129, 131), (512, 10, 784), (1, 4096, 4096), (4096, 1, 4096), (2047,) * 3, (2049,) * 3)]
GEMMS = [(f"{kind} gemm {n}", 2 * n**3, 0, 0) for kind in ("bf16", "i8") for n in (512, 2048)]
ROWS += GEMMS + [("a*b+c", 0, 3 * F4, F4), ("relu(a*b+c)*a", 0, 3 * F4, F4), ("exp", 0, F4, F4), ("cos(cos(x))", 0, F4, F4),
         ("sum all", 0, F4, 4), ("sum axis 0", 0, F4, 16384), ("sum axis 1", 0, F4, 16384),
         ("softmax", 0, F4, F4), ("layernorm", 0, F4, F4), ("transpose", 0, F4, F4)]
ROWS += conv("mnist", 512, 32, 32, 24, 5, 0) + conv("resnet", 8, 64, 64, 56, 3, 1)
for shape in (("1x1", 8, 64, 256, 56, 1, 0), ("stride 2", 8, 64, 128, 56, 3, 1, 2), ("depthwise", 8, 128, 128, 56, 3, 1, 1, 128),
              ("stem", 8, 3, 64, 224, 7, 3, 2)):
    ROWS += conv(*shape)[:1]
ROWS += [("attention T=1024", 2 * 12 * 1024 * 1024 * 64, 3 * 4 * 12 * 1024 * 64, 4 * 12 * 1024 * 64),
         ("mnist step", 40.1e9, 0, 0),
         ("gpt2 block forward", BLOCK, 4 * 12 * 768 * 768, 4 * 256 * 768),
         ("gpt2 block forward+backward", 3 * BLOCK, 2 * 4 * 12 * 768 * 768, 4 * 12 * 768 * 768),
         ("gpt2 124M forward T=64", 2 * 64 * (12 * 12 * 768 * 768 + 50257 * 768), 4 * 124e6, 4 * 64 * 50257),
         ("1000 tiny kernels", 0, 0, 0)]
EXTRA = ["nt gemm", "tn gemm", "f64 gemm"]  # rows of --products alone
FIRST = ["first run dot cold", "first run dot warm", "first run mnist step cold", "first run mnist step warm"]


def random_size(r):
    """Of all orders of magnitude, often one off a multiple of 16, up to 2^27 FMAs."""
    while True:
        size = [max(1, int(2 ** r.uniform(1, 11.5))) for _ in range(3)]
        size = [max(1, s // 16 * 16 + r.choice((-1, 0, 0, 1))) if s > 24 and r.random() < 0.6 else s for s in size]
        if 2**13 <= size[0] * size[1] * size[2] <= 2**27:
            return "x".join(map(str, size))


def products(text):
    """Rows of --products."""
    rows = []
    for part in filter(None, text.split(",")):
        kind, _, size = part.rpartition(":")
        if kind.startswith("random:"):
            r = random.Random(int(size))
            names = [(r.choice(("s", "s", "nt ", "tn ")), random_size(r)) for _ in range(int(kind.split(":")[1]))]
        else:
            names = [(kind + " " if kind else "s", size)]
        for kind, size in names:
            m, n, k = (int(s) for s in (size.split("x") * 3)[:3])
            element = {"f64 ": 8, "bf16 ": 2, "i8 ": 1}.get(kind, 4)
            rows.append((f"{kind}gemm {size}", 2 * m * n * k, element * (m * k + k * n), (4 if kind == "i8 " else element) * m * n))
    return rows


class Side:
    """A process that answers rows."""

    def __init__(self, name, command, env, why=None):
        self.name, self.command, self.env, self.why, self.process = name, command, {**os.environ, **env}, why, None

    def ask(self, row, n):
        """Seconds of one run, or a string that says why not."""
        if self.why:
            return self.why
        if not self.process:
            self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True, bufsize=1)
        try:
            self.process.stdin.write(f"{row}\t{n}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return self.ended("ended")
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            return self.ended(f"not ready after {PATIENCE} s")
        answer = self.process.stdout.readline().strip()
        if not answer:
            return self.ended("ended")
        return answer[3:] if answer.startswith("no ") else float(answer)

    def ended(self, what):
        self.process.kill()
        status = self.process.wait()
        self.process = None
        return what + (f", status {status}" if what == "ended" else "")

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.kill()
            self.process.wait()


def measure(sides, row, rounds, least):
    """{side: median (or least) seconds, or why there are none}; the sides alternate."""
    runs, times, result = {}, {s.name: [] for s in sides}, {}
    for s in sides:
        t = s.ask(row, 1)
        if isinstance(t, str):
            result[s.name] = t
        else:
            runs[s.name] = max(1, int((BATCH / 10 if least else BATCH) / max(t, 1e-7)))
    for _ in range(rounds):
        for s in sides:
            if s.name in result or (times[s.name] and sum(times[s.name]) * runs[s.name] > ENOUGH):
                continue
            time.sleep(PAUSE)
            if runs[s.name] > 1:
                s.ask(row, 1)
            t = s.ask(row, runs[s.name])
            if isinstance(t, str):
                result[s.name] = t
            else:
                times[s.name].append(t)
    return {s.name: result.get(s.name) or (min if least else statistics.median)(times[s.name]) for s in sides}


# ---- first runs: processes of their own ------------------------------------------------------------------------------

DOT = {"PyTorch": "import torch; print(torch.dot(torch.tensor([1, 2]), torch.tensor([3, 4])).item())",
       "tinygrad": "from tinygrad import Tensor; print(Tensor([1, 2]).dot(Tensor([3, 4])).item())"}


def process_seconds(command, env):
    t0 = time.time()
    out = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE)
    if out.returncode:
        raise RuntimeError(f"status {out.returncode}: {(out.stderr.strip().splitlines() or [''])[-1][:100]}")
    return time.time() - t0, out.stdout


def first_run(side, row, ours_dot, times):
    """Of dot: the whole process. Of the MNIST step: the first call less a later one. Cold: with empty caches."""
    cold, dot, seconds = row.endswith("cold"), "dot" in row, []
    if side.why:
        return side.why
    with tempfile.TemporaryDirectory() as cache:
        env = {**side.env, "RIDGE_CACHE_DIR": cache, "XDG_CACHE_HOME": cache, "CACHEDB": cache + "/tinygrad.db"}
        command = [*side.command, "first", "mnist first" if side.name == "tinygrad" else "mnist step"]
        if dot:
            command = [ours_dot] if side.name == "Ridge" else [side.command[0], "-c", DOT[side.name]]
        for i in range(times + (not cold)):
            if cold:
                subprocess.run(["rm", "-rf", cache])
                os.mkdir(cache, 0o700)
            try:
                wall, out = process_seconds(command, env)
            except (RuntimeError, subprocess.TimeoutExpired) as e:
                return str(e) if isinstance(e, RuntimeError) else f"not done after {PATIENCE} s"
            first, later = (wall, 0) if dot else map(float, out.split())
            if cold or i:
                seconds.append(max(first - later, 1e-6))
            if sum(seconds) > 20:
                break
    return statistics.median(seconds)


# ---- peers --------------------------------------------------------------------------------------------------------------

def venv_python(out, name):
    """A python with this peer: PYTORCH_PYTHON or TINYGRAD_PYTHON if set, else a venv that is made here. Also why there is none."""
    given = os.environ.get(name.upper() + "_PYTHON")
    if given:
        return given, None
    python, wanted = out / "venv" / "bin" / "python", " ".join(PACKAGES[name])
    stamp = out / "venv" / f"{name}.installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return str(python), None
    print(f"installing {wanted} into {out / 'venv'} ..", file=sys.stderr)
    if not python.exists():
        r = subprocess.run([sys.executable, "-m", "venv", out / "venv"], capture_output=True, text=True)
        if r.returncode:
            return None, "no venv: " + (r.stdout + r.stderr).strip().splitlines()[-1][:100]
    r = subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES[name]], capture_output=True, text=True)
    if r.returncode:
        return None, "not installed: " + (r.stderr.strip().splitlines() or ["pip failed"])[-1][:100]
    stamp.write_text(wanted)
    return str(python), None


def openblas(python):
    """The library that NumPy brings, or the system's."""
    found = []
    if python:
        code = "import numpy, pathlib; print(pathlib.Path(numpy.__file__).parent.parent / 'numpy.libs')"
        folder = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
        found = glob.glob(folder + "/libscipy_openblas*")
    found += glob.glob("/usr/lib/*/libopenblas.so*") + glob.glob("/usr/lib64/libopenblas.so*")
    return found[0] if found else None


def make_sides(o, out):
    if o.cpu_time:
        os.environ["BENCH_CPU_TIME"] = "1"
    threads = {"OMP_NUM_THREADS": str(o.threads), "OPENBLAS_NUM_THREADS": str(o.threads), "RIDGE_THREADS": str(o.threads),
               "PYTHONDONTWRITEBYTECODE": "1"}
    # glibc maps large blocks anew in each call, 16 ms of page faults per 64 MB: keep them
    malloc = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(32 << 30), "MALLOC_TOP_PAD_": str(256 << 20)}
    ours = Side("Ridge", [str(pathlib.Path(o.build) / "bench/table/ours")], threads)
    peers, pythons = [], {}
    for name, script in (("PyTorch", "torch_rows.py"), ("tinygrad", "tinygrad_rows.py")):
        python, why = (None, "left out") if name in o.no else venv_python(out, name)
        pythons[name] = python
        peers.append(Side(name, [python or "", str(HERE / script)], {**threads, **malloc}, why))
    library = None if "OpenBLAS" in o.no else openblas(pythons["PyTorch"] or pythons["tinygrad"])
    why = None if library else "left out" if "OpenBLAS" in o.no else "no libopenblas found: NumPy is not installed"
    peers.insert(0, Side("OpenBLAS", [str(pathlib.Path(o.build) / "bench/table/blas"), library or ""], threads, why))
    before = [Side("before", [str(pathlib.Path(o.beside) / "bench/table/ours")], threads)] if o.beside else []
    return ours, [*before, *peers]


# ---- the table ------------------------------------------------------------------------------------------------------------

def ceilings(o):
    env = {**os.environ, "RIDGE_THREADS": str(o.threads)}
    out = subprocess.run([str(pathlib.Path(o.build) / "ridge"), "ceilings", "--dry-run", "--json"], env=env, capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def floor_of(machine, row):
    """Seconds at best; None if no limit applies."""
    name, flops, read, write = row
    rate = {r["what"]: r["all"] * 1e9 for r in machine["rows"] if r["unit"] != "ns"}
    model, used = machine["model"], read + write
    level = "L2" if used < model["l2.size"] * machine["threads"] * 0.75 else "L3" if used < model["l3.size"] * 0.75 else "memory"
    both = min(read, write)
    move = 2 * both / rate[level + " copy"] + (read - both) / rate[level + " read"] + (write - both) / rate[level + " write"]
    if name.split()[0] in ("bf16", "i8", "f64"):  # the best of this type: MMA instructions where there are any
        return flops / max(r for what, r in rate.items() if what.startswith(name.split()[0]))
    if name == "1000 tiny kernels":
        return 1000 * model["launch"] * 1e-9
    return max(flops / rate["f32"], move) or None


def work(size):
    m, n, k = (int(s) for s in (size.split("x") * 3)[:3])
    return m * n * k


def scaled(row):
    """Unit, and how many of it there are in a second (of a single tiny kernel)."""
    if row == "1000 tiny kernels":
        return "us each", 1e3
    kind, _, size = row.rpartition(" ")
    return ("us", 1e6) if kind.endswith("gemm") and work(size) < 2**23 else ("ms", 1e3)


def result_of(row, floor, ours, peers):
    unit, scale = scaled(row)
    r = {"row": row, "unit": unit, "ours": None, "peer": None, "peer_name": None, "ratio": None, "floor": None, "share": None, "before": None}
    before = peers.pop("before", None)
    if before and not isinstance(before, str) and not isinstance(ours, str):
        r["before"] = before / ours
    timed = {n: t for n, t in peers.items() if not isinstance(t, str)}
    if isinstance(ours, str):
        r["why"] = ours
    else:
        r["ours"] = ours * scale
        if floor:
            r["floor"], r["share"] = floor * scale, floor / ours
    if timed:
        r["peer_name"] = min(timed, key=timed.get)
        r["peer"] = timed[r["peer_name"]] * scale
        if r["ours"]:
            r["ratio"] = r["peer"] / r["ours"]
    r["others"] = {n: t * scale for n, t in timed.items() if n != r["peer_name"]}
    r["missing"] = {n: t for n, t in peers.items() if isinstance(t, str)}
    return r


def number(x, digits=4):
    return "-" if x is None else f"{x:.{digits}g}" if x < 10000 else f"{x:.0f}"


QUIET = ("only products", "left out")  # reasons that need no words in each row
HEAD = ["row", "unit", "ours", "peer", "peer name", "ratio", "floor", "share of floor", "before", "other peers"]


def cells(r):
    others = ", ".join([f"{n} {number(t)}" for n, t in sorted(r["others"].items())] + [f"{n}: {w}" for n, w in r["missing"].items() if w not in QUIET])
    if "why" in r:
        others = f"Ridge: {r['why']}; " + others
    return [r["row"], r["unit"], number(r["ours"]), number(r["peer"]), r["peer_name"] or "none", number(r["ratio"], 3), number(r["floor"]),
            "-" if r["share"] is None else f"{100 * r['share']:.0f}%", number(r["before"], 3), others]


def print_row(c):
    print(f"{c[0]:28s} {c[1]:8s} {c[2]:>9s} {c[3]:>9s} {c[4]:10s} {c[5]:>6s} {c[6]:>9s} {c[7]:>6s} {c[8]:>6s}  {c[9]}", flush=True)


def about(o, machine, load):
    rate = {r["what"]: r["all"] for r in machine["rows"]}
    busy = "; the machine was busy" if max(load) > o.threads * 0.75 else ""
    return [f"{datetime.date.today()}, {machine['name']} ({platform.machine()}), {o.threads} threads{' by CPU time' if o.cpu_time else ''}, {'least' if o.least else 'medians'} of up to {o.rounds} interleaved turns, "
            f"load {load[0]:.1f} before, {load[1]:.1f} after{busy}",
            f"measured in this run: f32 {rate['f32']:.4g} GFLOPS, memory read {rate['memory read']:.3g} write {rate['memory write']:.3g} copy {rate['memory copy']:.3g} GB/s",
            *([f"left out: {o.no}"] if o.no else []),
            "command: " + " ".join(["bench/table/table.py", *sys.argv[1:]])]


def write(out, results, notes):
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)] + ["| " + " | ".join(cells(r)) + " |" for r in results]
    (out / "results.md").write_text("\n".join(notes) + "\n\n" + "\n".join(lines) + "\n")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--build", default="build/release", help="where ours is built")
    a.add_argument("--out", default="build/bench", help="results and the venv")
    a.add_argument("--rows", default="", help="parts of names, separated by commas")
    a.add_argument("--rounds", type=int, default=7, help="turns of each side")
    a.add_argument("--least", action="store_true", help="the least time of short turns instead of the median: for a busy machine")
    a.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    a.add_argument("--products", default="", help="products instead of the table's rows, as 512,nt:64x128x32,f64:512,random:30:SEED")
    a.add_argument("--cpu-time", action="store_true", help="one thread, by its time on a core: for a busy machine")
    a.add_argument("--beside", default="", help="another build of ours, to compare with")
    a.add_argument("--no", default="", help="peers to leave out: OpenBLAS,PyTorch,tinygrad")
    o = a.parse_args()
    if o.cpu_time:
        o.threads = 1
    out = pathlib.Path(o.out).absolute()
    out.mkdir(parents=True, exist_ok=True)
    parts = [p.strip() for p in o.rows.split(",") if p.strip()]
    wanted = lambda name: not parts or any(p in name for p in parts)
    load = [os.getloadavg()[0], 0]
    ours, peers = make_sides(o, out)
    machine, results = ceilings(o), []
    print_row(["row", "unit", "ours", "peer", "", "ratio", "floor", "share", "before", "others"])
    try:
        for row in products(o.products) or filter(lambda r: wanted(r[0]), ROWS):
            first = ours
            if row[0] == "1000 tiny kernels":  # one kernel for each value
                first = Side("Ridge", ours.command, {**ours.env, "RIDGE_MULTI": "0"})
            times = measure([first, *peers], row[0], o.rounds, o.least)
            mine = times.pop("Ridge")
            results.append(result_of(row[0], floor_of(machine, row), mine, times))
            print_row(cells(results[-1]))
            if first is not ours:
                first.close()
        for row in [] if o.products else filter(wanted, FIRST):
            dot = str(pathlib.Path(o.build) / "examples/dot")
            times = {s.name: first_run(s, row, dot, 3) for s in [ours, *peers] if s.name != "OpenBLAS"}
            mine = times.pop("Ridge")
            results.append(result_of(row, None, mine, times))
            print_row(cells(results[-1]))
    finally:
        for s in [ours, *peers]:
            s.close()
    load[1] = os.getloadavg()[0]
    notes = about(o, machine, load)
    print("\n" + "\n".join(notes))
    print("ratio: peer / ours, above 1 Ridge is faster. share: floor / ours. before: of the other build / ours.")
    write(out, results, notes)
    print(f"written: {out / 'results.json'}, {out / 'results.md'}")
    return 0 if results else 2


if __name__ == "__main__":
    sys.exit(main())
