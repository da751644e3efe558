#!/usr/bin/env python3
"""Opens the exports of a Ridge profile with the tools they are for.

    check.py PROFILE.json PROFILE.pftrace REPORT.json

The protobuf is decoded with the classes of PyPI's `perfetto`: ids resolve, slices nest. The JSON is opened by
HolisticTraceAnalysis: its busy time agrees with the report to 1 %. REPORT.json is what `ridge report --json` prints.
Exit status: 0 all well, 1 something is wrong, 77 a package is not installed here."""
import json
import os
import shutil
import sys
import tempfile

missing = []
try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    missing.append("perfetto")
try:
    import logging
    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis
except ImportError:
    missing.append("HolisticTraceAnalysis")
if missing:
    print("not installed:", ", ".join(missing))
    sys.exit(77)


def fail(text):
    print("FAIL", text)
    sys.exit(1)


def perfetto(path, report):
    trace = Trace()
    with open(path, "rb") as f:
        trace.ParseFromString(f.read())
    names, values, notes, cats, tracks, stack = {}, {}, {}, {}, {}, {}
    slices = counters = kernel_ns = 0
    for p in trace.packet:
        if p.HasField("interned_data"):
            for table, entries in ((names, p.interned_data.event_names), (cats, p.interned_data.event_categories),
                                   (notes, p.interned_data.debug_annotation_names)):
                table.update((e.iid, e.name) for e in entries)
            values.update((e.iid, e.str) for e in p.interned_data.debug_annotation_string_values)
        if p.HasField("track_descriptor"):
            tracks[p.track_descriptor.uuid] = p.track_descriptor
        if not p.HasField("track_event"):
            continue
        e = p.track_event
        if e.track_uuid not in tracks:
            fail(f"track {e.track_uuid} is not described")
        open_ = stack.setdefault(e.track_uuid, [])
        if e.type == TrackEvent.TYPE_SLICE_BEGIN:
            if e.name_iid not in names or any(c not in cats for c in e.category_iids):
                fail("an id that resolves to nothing")
            for a in e.debug_annotations:
                if a.name_iid not in notes or (a.HasField("string_value_iid") and a.string_value_iid not in values):
                    fail("an annotation that resolves to nothing")
            open_.append((p.timestamp, cats[e.category_iids[0]]))
            slices += 1
        elif e.type == TrackEvent.TYPE_SLICE_END:
            if not open_:
                fail("an end without a beginning")
            t0, cat = open_.pop()
            if p.timestamp < t0:
                fail("a slice that ends before it begins")
            kernel_ns += p.timestamp - t0 if cat == "kernel" else 0
        elif e.type == TrackEvent.TYPE_COUNTER:
            counters += 1
    if any(stack.values()):
        fail("slices without an end")
    want = sum(k["ns"] for k in report["kernels"])
    if kernel_ns != want:
        fail(f"kernels take {kernel_ns} ns in the protobuf, {want} in the report")
    print(f"perfetto: {len(trace.packet)} packets, {slices} slices on {len(tracks)} tracks, {counters} counters, kernels {kernel_ns} ns: as in the report")


def hta(path, report):
    folder = tempfile.mkdtemp()
    with open(path) as f:
        j = json.load(f)
    j["distributedInfo"] = {"rank": 0}
    with open(os.path.join(folder, "rank0.json"), "w") as f:
        json.dump(j, f)
    row = TraceAnalysis(trace_files={0: os.path.join(folder, "rank0.json")}, trace_dir=folder, include_last_profiler_step=True).get_temporal_breakdown(visualize=False).iloc[0]
    shutil.rmtree(folder)
    busy = 100 - row["idle_time_pctg"]
    # theirs is of the span from the first to the last device event
    dev = [e for e in j["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy")]
    span = max(e["ts"] + e["dur"] for e in dev) - min(e["ts"] for e in dev)
    ours = 100 * report["device"]["busy_ns"] / 1e3 / span
    print(f"HolisticTraceAnalysis: busy {busy:.2f} % of {span:.0f} us; ours {ours:.2f} %")
    if abs(busy - ours) > 1:
        fail("busy time differs by more than 1 %")


report = json.load(open(sys.argv[3]))
perfetto(sys.argv[2], report)
hta(sys.argv[1], report)
