#!/usr/bin/env python3
"""What limits a few rows on an NVIDIA GPU: hardware counters of their kernels, and clock and power while they are sustained.

    make build/release/bench/counters && bench/counters.py [NAME ..] [--program build/release/bench/counters]

Two runs of bench/counters: one by itself, each row for half a second, beside `nvidia-smi`; one under `ncu`, each row's kernels
once, with clocks and caches as the program leaves them. Of each kernel: its time (under ncu, alone), and of the peak of
each unit while it ran: SM (the busiest pipe of the SMs), tensor pipe, L2, DRAM; shared memory: wavefronts of the
peak, and the part of them that is bank conflicts; warps that were resident by those that could be; issue slots used; waves
of blocks. `limit` is what the figures say: a unit at 75 % or more, else `latency` (no unit is busy: waits between instructions)
and the busiest one; `power` where the sustained clock is 5 % or more under the highest; `waves` where the last wave of blocks leaves a fifth or more
of the GPU idle. Without permission to read counters it says so and
prints clock, power and times alone.
"""
import csv, datetime, re, subprocess, sys, time

METRICS = {
    "us": "gpu__time_duration.sum",
    "sm": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "tensor": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "gmma": "sm__inst_executed_pipe_tensor_op_gmma.avg.pct_of_peak_sustained_elapsed",
    "l2": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "waves_shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    "shared": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "warps": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issue": "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "waves": "launch__waves_per_multiprocessor",
    "regs": "launch__registers_per_thread",
}


def sustained(program, names):
    """Rows of a run by itself: name -> kernels, us, MHz, W, reasons for a lower clock."""
    fields = "timestamp,clocks.sm,clocks.max.sm,power.draw.instant,clocks_event_reasons.active"
    smi = subprocess.Popen(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits", "-lms", "50"],
                           stdout=subprocess.PIPE, text=True)
    out = subprocess.run([program] + names, capture_output=True, text=True)
    smi.terminate()
    samples = []
    for line in smi.communicate()[0].splitlines():
        part = [x.strip() for x in line.split(",")]
        try:
            at = datetime.datetime.strptime(part[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()
            samples.append((at, float(part[1]), float(part[2]), float(part[3]), int(part[4], 16)))
        except (ValueError, IndexError):
            pass
    rows = {}
    for line in out.stdout.splitlines():
        if not line.startswith("row "):
            continue
        what, kernels, t0, t1, us = [x.strip() for x in line[4:].split("|")]
        t0, t1 = float(t0), float(t1)
        mine = [s for s in samples if t0 + 0.6 * (t1 - t0) < s[0] <= t1]  # once it has settled
        mean = lambda k: sum(s[k] for s in mine) / len(mine) if mine else float("nan")
        why = 0
        for s in mine:
            why |= s[4]
        rows[what] = dict(kernels=int(kernels), us=float(us), mhz=mean(1), top=mean(2), watt=mean(3), why=why)
    if not rows:
        sys.exit("%s did not run: %s%s" % (program, out.stdout, out.stderr))
    return rows


def counted(program, names):
    """Kernels in the order in which they ran: a dict of METRICS each, with `name`; or why there are none."""
    line = ["ncu", "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw",
            "--print-units", "base", "--metrics", ",".join(METRICS.values()), program, "--once"] + names
    try:
        out = subprocess.run(line, capture_output=True, text=True)
    except FileNotFoundError:
        return None, "ncu is not installed: no counters"
    text = out.stdout + out.stderr
    if "ERR_NVGPUCTRPERM" in text:
        return None, ("ERR_NVGPUCTRPERM: this user may not read the GPU's counters (root, or the module option "
                      "NVreg_RestrictProfilingToAdminUsers=0)")
    lines = [x for x in out.stdout.splitlines() if x.startswith('"')]
    table = list(csv.reader(lines))
    if len(table) < 3:
        return None, "ncu gave no counters: " + " / ".join(x for x in text.splitlines() if "ERROR" in x or "==PROF==" in x)[-400:]
    head, kernels = table[0], []
    for r in table[2:]:  # the second line has the units
        row = dict(zip(head, r))
        k = {"name": re.sub(r"_[0-9a-f]{16}$", "", row.get("Kernel Name", "?"))}
        for key, metric in METRICS.items():
            try:
                k[key] = float(row.get(metric, "").replace(",", ""))
            except ValueError:
                k[key] = float("nan")
        kernels.append(k)
    return kernels, ""


def limit(k, row):
    busy = {"tensor": max(k["tensor"], k["gmma"]) if k["gmma"] == k["gmma"] else k["tensor"], "L2": k["l2"], "DRAM": k["dram"],
            "shared": k["waves_shared"], "issue": k["issue"], "SM": k["sm"]}
    unit = max((u for u in busy if busy[u] == busy[u]), key=lambda u: busy[u])
    said = []
    if busy[unit] >= 75:
        said += [u for u in busy if busy[u] >= 75 and u != "SM"] or [unit]
    else:
        said.append("latency (%s most)" % unit)
    if row["mhz"] < 0.95 * row["top"]:
        said.append("power")
    whole = -(-k["waves"] // 1)
    if k["waves"] == k["waves"] and k["waves"] > 0 and k["waves"] / whole <= 0.8:
        said.append("waves")
    return ", ".join(said)


def main():
    args = sys.argv[1:]
    program = "build/release/bench/counters"
    if "--program" in args:
        i = args.index("--program")
        program = args[i + 1]
        del args[i:i + 2]
    t0 = time.time()
    rows = sustained(program, args)
    kernels, why = counted(program, args)
    print("%-36s %9s %6s %5s  %s" % ("row, sustained", "us", "MHz", "W", "clock held by"))
    reasons = {0x4: "power", 0x20: "heat", 0x40: "heat", 0x80: "power brake", 0x8: "slowdown"}
    for what, r in rows.items():
        by = [text for bit, text in reasons.items() if r["why"] & bit]
        print("%-36s %9.1f %6.0f %5.0f  %s" % (what, r["us"], r["mhz"], r["watt"], ", ".join(by) or "nothing"))
    if not kernels:
        return print(why)
    print("\n%-38s %8s %5s %5s %5s %5s %6s %5s %5s %5s %6s %4s  %s" % ("kernel, % of peak", "us", "SM", "tens", "L2", "DRAM", "shared",
                                                                      "confl", "warps", "issue", "waves", "regs", "limit"))
    at = 0
    for what, r in rows.items():
        print(what)
        for k in kernels[at:at + r["kernels"]]:
            scale = 1e-3 if k["us"] > 0 else 1
            part = 100 * k["conflicts"] / k["shared"] if k["shared"] else 0
            tensor = max(k["tensor"], k["gmma"]) if k["gmma"] == k["gmma"] else k["tensor"]
            print("  %-36s %8.1f %5.0f %5.0f %5.0f %5.0f %6.0f %4.0f%% %5.0f %5.0f %6.2f %4.0f  %s"
                  % (k["name"][:36], k["us"] * scale, k["sm"], tensor, k["l2"], k["dram"], k["waves_shared"], part, k["warps"],
                     k["issue"], k["waves"], k["regs"], limit(k, r)))
        at += r["kernels"]
    if at != len(kernels):
        print("ncu saw %d kernels, the program speaks of %d: rows may be shifted" % (len(kernels), at))
    print("%.0f s" % (time.time() - t0))


main()
