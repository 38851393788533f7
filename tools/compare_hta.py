#!/usr/bin/env python3
"""Compares the tables of `chakra analyze` with those of HolisticTraceAnalysis (a development tool; nothing in chakra needs it).

    python3 -m venv /tmp/hta && /tmp/hta/bin/pip install HolisticTraceAnalysis
    tools/compare_hta.py --venv /tmp/hta [--chakra build/release/bin/chakra] [--write FILE] KINETO.json.gz ...

Each file is linked and analysed, and given to HolisticTraceAnalysis twice: as it is, and prepared so that its arithmetic
is exact. Differences of the prepared file are errors (exit 1); of the file as it is they are printed with their reason.
What preparing does, and why:
  times      become whole nanoseconds: it rounds times with decimals up (starts) and down (ends) to microseconds
  first row  is one that it drops: the call in row 0 counts as no call (index_correlation > 0)
  cuda_sync  records go: it counts "Stream Wait Event" as computation
  stream     goes from records that are not on a device: it counts each record with a stream as a kernel
  sorting    is stable: it sorts launches and starts of the same time in any order, so lengths between them vary
--write FILE writes sums of what HolisticTraceAnalysis found on the prepared files, a line each: the case hta_real.
"""
import argparse
import collections
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

SCOPES = {"before-last-step": False, "steps": True}  # --launched: include_last_profiler_step
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
KINDS = ["computation", "communication", "memory"]


# ---- HolisticTraceAnalysis, inside its virtual environment ---------------------------------------------

def frame_rows(frame):
    return json.loads(frame.to_json(orient="records", double_precision=15)) if frame is not None else []


def ask(function):
    """What it returns, or why it does not."""
    try:
        return function()
    except Exception as error:  # whatever it is, it is its answer
        return {"error": f"{type(error).__name__}: {error}"}


def worker(path):
    import logging
    import warnings
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    from importlib.metadata import version

    import pandas
    from hta.trace_analysis import TraceAnalysis
    sort = pandas.DataFrame.sort_values
    pandas.DataFrame.sort_values = lambda self, *a, **k: sort(self, *a, **{"kind": "stable", **k})
    answer = {"version": version("HolisticTraceAnalysis")}
    for scope, last in SCOPES.items():
        def analyse(last=last):
            t = TraceAnalysis(trace_files={0: path}, trace_dir=os.path.dirname(path), include_last_profiler_step=last)
            found = {"rows": int((t.t.traces[0].stream != -1).sum())}

            def breakdown():
                kinds, kernels = t.get_gpu_kernel_breakdown(visualize=False, num_kernels=10**9,
                                                            include_memory_kernels=True)
                return {"kinds": frame_rows(kinds), "kernels": frame_rows(kernels)}

            def queue():
                summary = t.get_queue_length_summary(ranks=[0])
                if summary is None:
                    return []
                summary.columns = [name for _, name in summary.columns]
                return frame_rows(summary.reset_index())
            found["breakdown"] = ask(breakdown)
            found["idle"] = ask(lambda: frame_rows(t.get_temporal_breakdown(visualize=False)))
            found["launches"] = ask(lambda: frame_rows(t.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]))
            found["queues"] = ask(queue)
            found["idle_causes"] = ask(lambda: frame_rows(t.get_idle_time_breakdown(ranks=[0], visualize=False)[0]))
            return found
        answer[scope] = ask(analyse)
    print(json.dumps(answer))


# ---- the file for it -------------------------------------------------------------------------------------

def read(path):
    opened = gzip.open(path, "rt", errors="replace") if path.endswith(".gz") else open(path, errors="replace")
    with opened as file:
        return json.loads(file.read(), parse_float=Fraction)


def write(document, path, prepared):
    document = dict(document)
    events = []
    for event in document["traceEvents"]:
        event = dict(event)
        for key in ("ts", "dur"):
            if isinstance(event.get(key), (int, Fraction)):
                event[key] = int(event[key] * 1000) if prepared else event[key]
        if prepared and event.get("cat") == "cuda_sync":
            continue
        if prepared and event.get("cat") not in DEVICE and "stream" in (event.get("args") or {}):
            event["args"] = {k: v for k, v in event["args"].items() if k != "stream"}
        events.append(event)
    if prepared:
        events.insert(0, {"ph": "M", "name": "first", "cat": "none", "ts": 0, "pid": 0, "tid": 0, "args": {}})
    document["traceEvents"] = events
    document["distributedInfo"] = {**(document.get("distributedInfo") or {}), "rank": 0}
    with open(path, "w") as file:
        json.dump(document, file, default=float)


def overlapping(document):
    streams, found = collections.defaultdict(list), set()
    for event in document["traceEvents"]:
        if event.get("ph") == "X" and event.get("cat") in DEVICE and "stream" in (event.get("args") or {}):
            streams[int(event["args"]["stream"])].append((event["ts"], event["ts"] + event.get("dur", 0)))
    for stream, spans in streams.items():
        spans.sort()
        if any(after[0] < before[1] for before, after in zip(spans, spans[1:])):
            found.add(stream)
    return found


def hta(venv, document, folder, prepared):
    path = os.path.join(folder, "prepared.json" if prepared else "given.json")
    write(document, path, prepared)
    done = subprocess.run([os.path.join(venv, "bin/python"), os.path.abspath(__file__), "--worker", path],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"HolisticTraceAnalysis failed on {path}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


# ---- ours ------------------------------------------------------------------------------------------------

def ours(chakra, path, folder):
    et, results = os.path.join(folder, "linked.et"), {}
    done = subprocess.run([chakra, "link", path, "-o", et, "--json", os.devnull], capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip()}
    for scope in ("all", *SCOPES):
        run = subprocess.run([chakra, "analyze", et, "--only", "kernels,launches,queues,idle", "--launched", scope,
                              "--json", "-"], capture_output=True, text=True, check=True)
        results[scope] = json.loads(run.stdout)
    return results


# ---- the comparison --------------------------------------------------------------------------------------

# Its launch statistics know these calls alone.
COUNTED = {"cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"}
# And its queue lengths these.
QUEUED = COUNTED | {"cuLaunchKernel", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemsetAsync", "hipMemcpyAsync",
                    "hipMemcpyWithStream"}


class Comparison:
    def __init__(self, unit, overlapping):
        self.unit = unit  # nanoseconds of one of its units
        self.overlapping = overlapping  # streams of which an operation begins before the one before it has ended
        self.lines = []
        self.unknown = set()  # calls that its queue lengths lack: then they are not compared

    def differ(self, text):
        self.lines.append(text)

    def same(self, what, mine, its, exact=False):
        close = mine == its if exact else math.isclose(mine, its, rel_tol=1e-9, abs_tol=2e-3)
        if not close:
            self.differ(f"{what}: {mine:g} here, {its:g} there")

    def kernels(self, mine, its):
        here = {(r["name"], r["kind"].upper()): r for r in mine["kernels"]}
        there = {(r["name"], r["kernel_type"]): r for r in its["kernels"]}
        for key in sorted(set(here) ^ set(there)):
            row = here.get(key) or there[key]
            self.differ(f"kernel {key[0][:70]!r} ({key[1].lower()}), sum {row.get('sum_ns', row.get('sum (us)')):g}: "
                        f"only {'here' if key in here else 'there'}")
        for key in sorted(set(here) & set(there)):
            for mine_key, its_key in (("sum_ns", "sum (us)"), ("mean_ns", "mean (us)"), ("min_ns", "min (us)"),
                                      ("max_ns", "max (us)"), ("std_ns", "stddev")):
                self.same(f"kernel {key[0][:70]!r} {mine_key}", here[key][mine_key], there[key][its_key] * self.unit)

    def kinds(self, mine, its):
        names = {" and ".join(k for k in KINDS if k.upper() in r["kernel_type"].split(" overlapping ")): r["sum"]
                 for r in its["kinds"]}
        device = "any" if any(r["device"] == "any" for r in mine["kernel_kinds"]) else None
        here = {r["kind"]: r["time_ns"] for r in mine["kernel_kinds"] if device is None or r["device"] == device}
        for kind in sorted(set(names) | set(here)):
            self.same(f"busy time, {kind}", here.get(kind, 0), names.get(kind, 0) * self.unit)

    def idle(self, mine, its):
        rows = mine["device_time"]
        if not its or not rows:
            return
        row = rows[-1]  # of any device, or of the only one
        self.same("idle time", row["idle_ns"], its[0]["idle_time(us)"] * self.unit)
        self.same("span", row["span_ns"], its[0]["kernel_time(us)"] * self.unit)

    def launches(self, mine, its):
        def grouped(rows, key, values):
            groups = collections.defaultdict(list)
            for row in rows:
                groups[row[key]].append(tuple(values(row)))
            return {k: sorted(v) for k, v in groups.items()}
        counted = [r for r in mine["launches_each"] if r["call"] in COUNTED]
        others = collections.Counter(r["call"] for r in mine["launches_each"] if r["call"] not in COUNTED)
        here = grouped(counted, "correlation",
                       lambda r: (r["call_duration_ns"], r["operation_duration_ns"], r["delay_ns"]))
        there = grouped(its, "correlation",
                        lambda r: (r["cpu_duration"] * self.unit, r["gpu_duration"] * self.unit,
                                   r["launch_delay"] * self.unit))
        for correlation in sorted(set(here) | set(there)):
            if here.get(correlation) != there.get(correlation):
                self.differ(f"launch {correlation}: {here.get(correlation)} here, {there.get(correlation)} there")
        return others

    def queues(self, mine, its):
        unknown = {r["call"] for r in mine["launches_each"]} - QUEUED
        self.unknown = {name for name in unknown if "GraphLaunch" not in name}
        if self.unknown:
            return
        here, there = {int(r["stream"]): r for r in mine["queue_lengths"]}, {int(r["stream"]): r for r in its}
        if len(here) != len(mine["queue_lengths"]):
            self.differ("streams of the same number on several devices: it joins them")
            return
        for stream in sorted(set(here) | set(there)):
            if stream not in here or stream not in there:
                self.differ(f"queue of stream {stream}: only {'here' if stream in here else 'there'}")
                continue
            for mine_key, its_key in (("changes", "count"), ("mean", "mean"), ("std", "std"), ("min", "min"),
                                      ("p25", "25%"), ("p50", "50%"), ("p75", "75%"), ("max", "max")):
                self.same(f"queue of stream {stream} {mine_key}", here[stream][mine_key], there[stream][its_key])

    def idle_causes(self, mine, its):
        """It adds negative gaps where operations of a stream overlap; such streams are not compared."""
        names = {"host wait": "host_wait", "kernel wait": "kernel_wait", "other": "other"}
        here = {(int(r["stream"]), names[r["cause"]]): r["time_ns"] for r in mine["idle_causes"]}
        if len(here) != len(mine["idle_causes"]):
            return
        there = {(int(r["stream"]), r["idle_category"]): r["idle_time"] * self.unit for r in its}
        for stream, cause in sorted(set(here) | set(there)):
            if stream not in self.overlapping:
                self.same(f"idle time of stream {stream}, {cause}", here.get((stream, cause), 0), there.get((stream, cause), 0))

    def run(self, mine, its):
        others = {}
        for part in ("breakdown", "idle", "launches", "queues", "idle_causes"):
            if isinstance(its[part], dict) and "error" in its[part]:
                if part != "idle":
                    self.differ(f"{part}: it fails: {its[part]['error'][:150]}")
                continue
            if part == "breakdown":
                self.kernels(mine, its[part])
                self.kinds(mine, its[part])
            elif part == "launches":
                others = self.launches(mine, its[part])
            else:
                getattr(self, part)(mine, its[part])
        return others


def summed(found):
    """What it found, short: the form of the case hta_real."""
    kinds = {" and ".join(k for k in KINDS if k.upper() in r["kernel_type"].split(" overlapping ")): r["sum"]
             for r in found["breakdown"]["kinds"]}
    launches = [len(found["launches"])] + [sum(r[key] for r in found["launches"])
                                           for key in ("cpu_duration", "gpu_duration", "launch_delay")]
    queues = {r["stream"]: [r[key] for key in ("count", "mean", "std", "min", "25%", "50%", "75%", "max")]
              for r in found["queues"]}
    kernels = found["breakdown"]["kernels"]
    return {"kernels": [len(kernels)] + [round(sum(r[key] for r in kernels)) for key in
                                         ("sum (us)", "max (us)", "min (us)")] + [sum(r["stddev"] for r in kernels)],
            "kinds": kinds, "launches": launches, "queues": queues}


def compare(args, path):
    with tempfile.TemporaryDirectory() as folder:
        mine = ours(args.chakra, path, folder)
        name = os.path.basename(path)
        if "error" in mine:
            print(f"{name}: not linked: {mine['error'][:150]}")
            return None, 0
        document = read(path)
        exact, given = hta(args.venv, document, folder, True), hta(args.venv, document, folder, False)
    failures = 0
    for scope in SCOPES:
        if "error" in exact[scope]:
            print(f"{name} --launched {scope}: it fails: {exact[scope]['error'][:150]}")
            continue
        errors = Comparison(1, overlapping(document))
        others = errors.run(mine[scope], exact[scope])
        operations = sum(r["count"] for r in mine[scope]["kernels"])
        launches = len(mine[scope]["launches_each"])
        print(f"{name} --launched {scope}: {operations} operations, {launches} with a launch, "
              f"{len(mine[scope]['kernels'])} names: {len(errors.lines)} differences"
              + (f"; its launch statistics lack {dict(others)}" if others else "")
              + (f"; queue lengths not compared, for its lack {sorted(errors.unknown)}" if errors.unknown else ""))
        for line in errors.lines[:args.show]:
            print(f"  {line}")
        failures += len(errors.lines)
        if "error" in given[scope]:
            print(f"  as given, it fails: {given[scope]['error'][:150]}")
            continue
        loose = Comparison(1000, overlapping(document))
        loose.run(mine[scope], given[scope])
        if loose.lines:
            print(f"  as given, {len(loose.lines)} differences, such as {loose.lines[0]}")
        for note in mine[scope]["findings"]:
            if note["tag"] in ("analyze.no_launch", "analyze.graph_launch", "analyze.scope"):
                print(f"  said: {note['text']}")
    return {"version": exact["version"], "file": name,
            "scopes": {s: summed(exact[s]) for s in SCOPES if "error" not in exact[s]}}, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--venv", help="virtual environment with HolisticTraceAnalysis")
    parser.add_argument("--chakra", default="build/release/bin/chakra")
    parser.add_argument("--show", type=int, default=10, help="differences to print of each comparison")
    parser.add_argument("--write", help="write sums of what it found (JSON)")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker)
    if not args.venv or not args.files:
        parser.error("--venv and files are needed")
    found, failures = [], 0
    for path in args.files:
        result, count = compare(args, path)
        failures += count
        found += [result] if result else []
    print(f"{len(found)} files, {failures} differences")
    if args.write:
        with open(args.write, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
