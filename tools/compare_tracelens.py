#!/usr/bin/env python3
"""Compares tables of `chakra analyze` with those of AMD's TraceLens (a development tool; nothing in chakra needs it).

    git clone https://github.com/AMD-AGI/TraceLens /tmp/tracelens   (the TraceLens of PyPI is something else)
    python3 -m venv /tmp/tl && /tmp/tl/bin/pip install /tmp/tracelens
    tools/compare_tracelens.py --venv /tmp/tl [--chakra build/release/bin/chakra] KINETO.json.gz ...

Of each file TraceLens makes its report (TraceLens_generate_perf_report_pytorch), and the file is linked and analysed.
Compared are, where both say something:
  operators  device time launched right under all operators of a name
  shapes     of matrix products: the operations (FLOP) of one call of a name and its shapes, and its calls
  timeline   busy, idle and all time of the device, its computation and exposed copies, counted here in the JSON once
             more, over the operations that TraceLens counts: those whose launch was recorded
Times may differ by a part in 10^5 (TraceLens keeps 32-bit numbers). The exit status is 1 where something differs but
for what TraceLens counts otherwise, which is left out here as well:
  runtime calls outside of operators, which it calls operators; memsets of AMD (hipMemset, hipMemsetAsync);
  operators whose device operations overlap, which it counts once; the addition of the bias in addmm.
"""
import argparse
import ast
import collections
import csv
import functools
import gzip
import json
import os
import subprocess
import sys
import tempfile

from page import ROOT

PART = 1e-5
LEAST_US = 0.05
KINDS = {"kernel": "computation", "gpu_memcpy": "memcpy", "gpu_memset": "computation"}


def rows(path):
    if not os.path.exists(path):
        return []
    csv.field_size_limit(sys.maxsize)
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def same(a, b):
    return abs(a - b) <= max(LEAST_US, PART * max(abs(a), abs(b)))


# ---- times in the file -------------------------------------------------------------------------------------

@functools.cache
def events_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", errors="replace") as file:
        return [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X"]


def union(spans):
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        if end > until:
            total += end - max(begin, until)
            until = end
    return total


def timeline(path):
    """{what: microseconds} of what has a recorded launch, as TraceLens names them."""
    events = events_of(path)
    launched = {(event.get("args") or {}).get("correlation") for event in events
                if event.get("cat") in ("cuda_runtime", "cuda_driver") and not event["name"].startswith("hipMemset")}
    spans = {"computation": [], "memcpy": [], "comm": []}
    for event in events:
        if event.get("cat") not in KINDS or (event.get("args") or {}).get("correlation") not in launched:
            continue
        kind = "comm" if "nccl" in event["name"].lower() else KINDS[event["cat"]]
        spans[kind].append((float(event["ts"]), float(event["ts"]) + float(event["dur"])))
    every = [span for of in spans.values() for span in of]
    if not every:
        return {}
    busy, whole = union(every), max(end for _, end in every) - min(begin for begin, _ in every)
    work = union(spans["computation"])
    with_comm = union(spans["computation"] + spans["comm"])
    return {"busy_time": busy, "total_time": whole, "idle_time": whole - busy, "computation_time": work,
            "exposed_comm_time": with_comm - work, "exposed_memcpy_time": busy - with_comm,
            "total_comm_time": union(spans["comm"]), "total_memcpy_time": union(spans["memcpy"])}


@functools.cache
def other_times(path):
    """Operators that launched memsets of AMD, or device operations that ran at the same time."""
    events = events_of(path)
    calls = {(event.get("args") or {}).get("correlation"): event for event in events
             if event.get("cat") in ("cuda_runtime", "cuda_driver")}
    operators = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "cpu_op":
            operators[event["tid"]].append(event)
    launched, found = collections.defaultdict(list), set()
    for event in events:
        call = calls.get((event.get("args") or {}).get("correlation")) if event.get("cat") in KINDS else None
        if not call:
            continue
        around = [op for op in operators[call["tid"]] if op["ts"] <= call["ts"] <= op["ts"] + op["dur"]]
        if around:
            inner = max(around, key=lambda op: op["ts"])
            launched[id(inner), inner["name"]].append((float(event["ts"]), float(event["ts"]) + float(event["dur"])))
            if call["name"].startswith("hipMemset"):
                found.add(inner["name"])
    for (_, name), spans in launched.items():
        if union(spans) < sum(end - begin for begin, end in spans) - LEAST_US:
            found.add(name)
    return found


# ---- the two -----------------------------------------------------------------------------------------------

def tracelens(venv, path, folder):
    done = subprocess.run([os.path.join(venv, "bin", "TraceLens_generate_perf_report_pytorch"),
                           "--profile_json_path", path, "--output_csvs_dir", folder],
                          capture_output=True, text=True, check=False)
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


def ours(chakra, path, folder):
    trace = os.path.join(folder, "linked.et")
    for command in (["link", path, "-o", trace], ["analyze", trace, "--only", "operators,shapes", "--csv",
                                                  os.path.join(folder, "ours")]):
        done = subprocess.run([chakra, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip()
    return None


def shape_of(text):
    """A list of shapes, whichever brackets it is written with; numbers and missing inputs are ()."""
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text

    def plain(item):
        return tuple(plain(part) for part in item) if isinstance(item, (list, tuple)) else item
    return plain(value)


def compare(folder, path):
    """(how many values were compared, sentences about those that differ)"""
    compared, wrong = 0, []

    def check(what, theirs, own):
        nonlocal compared
        compared += 1
        if not same(theirs, own):
            wrong.append(f"{what}: TraceLens {theirs:,.3f}, here {own:,.3f}")
    own = {row["operator"]: float(row["device_ps"]) / 1e6 for row in rows(os.path.join(folder, "ours.operators.csv"))}
    for row in rows(os.path.join(folder, "ops_summary.csv")):
        if "::" not in row["name"] and row["name"] not in own:
            continue  # a runtime call
        if row["name"] in other_times(path):
            continue
        check(f"device time of {row['name']} (us)", float(row["total_direct_kernel_time_sum"]), own.get(row["name"], 0))
    file = timeline(path)
    for row in rows(os.path.join(folder, "gpu_timeline.csv")):
        if row["type"] in file:
            check(f"{row['type']} (us)", 1000 * float(row["time ms"]), file[row["type"]])
    shapes = {(row["operator"], shape_of(row["shapes"])): row
              for row in rows(os.path.join(folder, "ours.shapes.csv"))}
    for row in rows(os.path.join(folder, "GEMM.csv")):
        one = shapes.get((row["name"], shape_of(row["Input Dims_first"])))
        if one and one["flop_s"]:
            rows_of, columns = (int(row[f"param: {side}"]) for side in "MN")
            bias = rows_of * columns if row["name"] == "aten::addmm" else 0
            work = bias + float(one["flop_s"]) * float(one["time_ps"]) / 1e12 / int(one["count"])
            check(f"operations of {row['name']} {row['Input Dims_first']} (M)", 1000 * float(row["GFLOPS_first"]), work / 1e6)
            check(f"calls of {row['name']} {row['Input Dims_first']}", float(row["name_count"]), float(one["count"]))
    return compared, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="KINETO")
    parser.add_argument("--venv", required=True)
    parser.add_argument("--chakra", default=os.path.join(ROOT, "build", "release", "bin", "chakra"))
    parser.add_argument("--lines", type=int, default=8, help="differences printed of each file (8)")
    args = parser.parse_args()
    bad = 0
    for path in args.files:
        with tempfile.TemporaryDirectory() as folder:
            error = tracelens(args.venv, os.path.abspath(path), folder) or ours(args.chakra, path, folder)
            if error:
                print(f"{os.path.basename(path)}: left out: {error}")
                continue
            compared, wrong = compare(folder, path)
        bad += bool(wrong)
        print(f"{os.path.basename(path)}: {compared} values, {len(wrong)} differ")
        for line in wrong[:args.lines]:
            print(f"    {line}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
