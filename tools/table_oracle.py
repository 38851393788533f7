#!/usr/bin/env python3
"""Compares tables of `chakra analyze` with counts from the JSON of Kineto traces that share no code with it.

    table_oracle.py [--chakra FILE] [--made N] [KINETO.json.gz ...]

Tables: idle_causes, copies, modules, annotations, sequences, shapes (sums by operator), message_bandwidth. --made N also makes N
random recordings with all of these in them. Exits with 1 if anything differs. Times are whole nanoseconds on both sides.
"""
import argparse
import bisect
import collections
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"}
CALLS = ("runtime", "driver")
DIRECTIONS = {"HtoD": "host to device", "DtoH": "device to host", "DtoD": "within a device", "PtoP": "device to device",
              "HostToDevice": "host to device", "DeviceToHost": "device to host", "DeviceToDevice": "within a device"}


def ns(value):
    scaled = Fraction(value) * 1000
    return int(scaled + Fraction(1, 2)) if scaled >= 0 else -int(-scaled + Fraction(1, 2))


class Recording:
    def __init__(self, path):
        opened = gzip.open(path, "rt", errors="replace") if path.endswith(".gz") else open(path, errors="replace")
        with opened as file:
            document = json.loads(file.read(), parse_float=Fraction)
        self.events = [e for e in document["traceEvents"] if e.get("ph") == "X" and "ts" in e]
        for event in self.events:
            event["begin"] = ns(event["ts"])
            event["end"] = event["begin"] + ns(event.get("dur", 0))
        def args(event):
            return event.get("args") or {}
        self.device = [e for e in self.events if e.get("cat") in DEVICE]
        self.call = {}
        for event in sorted(self.events, key=lambda e: e["begin"]):
            if str(event.get("cat", "")).lower().endswith(CALLS) and "correlation" in args(event):
                self.call[args(event)["correlation"]] = event  # the inner of two launches
        self.place = lambda e: (int(args(e).get("device", e["pid"])), int(args(e).get("stream", 0)))
        self.args = args

    def launch(self, event):
        return self.call.get(self.args(event).get("correlation"))

    def idle_causes(self):
        streams, found = collections.defaultdict(list), collections.defaultdict(int)
        for event in self.device:
            streams[self.place(event)].append(event)
        for place, events in streams.items():
            free = None
            for event in sorted(events, key=lambda e: e["begin"]):
                if free is not None and event["begin"] > free:
                    launch = self.launch(event)
                    cause = "host wait" if launch and launch["begin"] > free else "kernel wait" if event["begin"] - free < 30 else "other"
                    found[(*place, cause)] += event["begin"] - free
                free = max(free if free is not None else event["end"], event["end"])
        return dict(found)

    def copies(self):
        found = {}
        for event in self.device:
            part = next((p for p in DIRECTIONS if p in event["name"]), None)
            if event.get("cat") not in ("gpu_memcpy", "Memcpy") or part is None:
                continue
            count, size, time = found.get((DIRECTIONS[part], event["name"]), (0, 0, 0))
            has_size = "bytes" in self.args(event)
            found[DIRECTIONS[part], event["name"]] = (count + 1, size + (int(self.args(event)["bytes"]) if has_size else 0),
                                                      time + (event["end"] - event["begin"] if has_size else 0))
        return found

    def around(self, launch, events):
        """Those of the launch's thread that are open at its begin, the outermost first."""
        if launch is None:
            return []
        inside = [e for e in events.get((launch["pid"], launch["tid"]), []) if e["begin"] <= launch["begin"] < e["end"]]
        return sorted(inside, key=lambda e: (e["begin"], -e["end"]))

    def by_thread(self, wanted):
        threads = collections.defaultdict(list)
        for event in self.events:
            if wanted(event):
                threads[event["pid"], event["tid"]].append(event)
        return threads

    def modules(self):
        threads = self.by_thread(lambda e: e.get("cat") == "python_function" and e["name"].startswith("nn.Module: "))
        found = collections.defaultdict(lambda: [0, 0])
        if not threads:
            return {}
        for event in self.device:
            path = [e["name"].removeprefix("nn.Module: ") for e in self.around(self.launch(event), threads)]
            for depth in range(1, len(path) + 1):
                found["/".join(path[:depth])][1] += event["end"] - event["begin"]
            if path:
                found["/".join(path)][0] += event["end"] - event["begin"]
        return {k: tuple(v) for k, v in found.items()}

    def annotations(self):
        """On each stream from the first start to the last end of what was launched in one, as Kineto's gpu_user_annotation. Kineto
        cuts starts and ends to microseconds in older files, and takes an annotation that did not end for one that did."""
        launched = collections.defaultdict(list)
        for event in self.device:
            if (launch := self.launch(event)) is not None:
                launched[launch["pid"], launch["tid"]].append((launch["begin"], event))
        found = collections.defaultdict(lambda: [0, 0])
        for note in self.events:
            if note.get("cat") != "user_annotation" or note["name"].startswith("gloo:"):
                continue
            streams = {}
            for begin, event in launched.get((note["pid"], note["tid"]), []):
                if note["begin"] <= begin < note["end"]:
                    first, last = streams.get(self.place(event), (event["begin"], event["end"]))
                    streams[self.place(event)] = (min(first, event["begin"]), max(last, event["end"]))
            for first, last in streams.values():
                found[note["name"]][0] += 1
                found[note["name"]][1] += last - first
        return {name: tuple(sums) for name, sums in found.items()}

    def sequences(self):
        """Of each operator that is not right inside one of its name: what was launched in it, in that order."""
        launched, ops = collections.defaultdict(list), self.by_thread(lambda e: e.get("cat") in ("cpu_op", "Operator", "user_annotation"))
        for event in self.device:
            if (launch := self.launch(event)) is not None:
                launched[launch["pid"], launch["tid"]].append((launch["begin"], event["begin"], event["name"], event["end"] - event["begin"]))
        found = collections.defaultdict(lambda: [0, 0])
        for thread, events in ops.items():
            launches, open_ = sorted(launched[thread]), []
            for op in sorted(events, key=lambda e: (e["begin"], -e["end"])):
                while open_ and open_[-1]["end"] <= op["begin"]:
                    open_.pop()
                inside = bool(open_) and open_[-1]["name"] == op["name"]
                open_.append(op)
                at = bisect.bisect_left(launches, (op["begin"],))
                until = bisect.bisect_left(launches, (op["end"],))
                if inside or op["name"].startswith("ProfilerStep") or not 3 <= until - at <= 32:
                    continue
                sums = found[op["name"], " > ".join(launch[2] for launch in launches[at:until])]
                sums[0] += 1
                sums[1] += sum(launch[3] for launch in launches[at:until])
        return {key: tuple(sums) for key, sums in found.items() if sums[0] > 1}

    def shapes(self):
        """Device time by the innermost operator around the launch, all shapes together."""
        ops = self.by_thread(lambda e: e.get("cat") in ("cpu_op", "Operator", "user_annotation"))
        found = collections.defaultdict(lambda: [0, 0])
        for event in self.device:
            around = self.around(self.launch(event), ops)
            if around and not around[-1]["name"].startswith("ProfilerStep"):
                found[around[-1]["name"]][0] += 1
                found[around[-1]["name"]][1] += event["end"] - event["begin"]
        return {name: tuple(sums) for name, sums in found.items()}

    def messages(self):
        found = collections.defaultdict(lambda: [0, 0])
        for event in self.device:
            args = self.args(event)
            if args.get("Collective name") != "send":
                continue
            size = int(args["In msg nelems"]) * 4
            found[size][0] += 1
            found[size][1] += event["end"] - event["begin"]
        return {k: tuple(v) for k, v in found.items()}


def tables(chakra, path, folder):
    et = os.path.join(folder, "t.et")
    done = subprocess.run([chakra, "link", path, "-o", et], capture_output=True, text=True)
    if done.returncode:
        return None
    return json.loads(subprocess.run([chakra, "analyze", et, "--only", "idle,copies,modules,bandwidth,sequences,shapes", "--json", "-"],
                                     capture_output=True, text=True, check=True).stdout)


def compare(chakra, path, made):
    with tempfile.TemporaryDirectory() as folder:
        mine = tables(chakra, path, folder)
    name = os.path.basename(path)
    if mine is None:
        print(f"{name}: not linked")
        return 0
    its = Recording(path)
    both = {
        "idle_causes": ({(int(r["device"]), int(r["stream"]), r["cause"]): r["time_ns"] for r in mine["idle_causes"]}, its.idle_causes()),
        "copies": ({(r["direction"], r["copy"]): (r["count"], r["bytes"], r["time_ns"]) for r in mine["copies"]}, its.copies()),
        "modules": ({r["module"]: (r["device_ns"], r["device_inclusive_ns"]) for r in mine["modules"]}, its.modules()),
    }
    both["annotations"] = ({r["annotation"]: (r["count"], r["sum_ns"]) for r in mine["annotations"]}, its.annotations())
    both["sequences"] = ({(r["operator"], r["sequence"]): (r["count"], r["device_ns"]) for r in mine["sequences"]}, its.sequences())
    shapes = collections.defaultdict(lambda: [0, 0])
    for row in mine["shapes"]:
        shapes[row["operator"]][0] += row["operations"]
        shapes[row["operator"]][1] += row["time_ns"] if row["operations"] else 0
    both["shapes"] = ({name: tuple(sums) for name, sums in shapes.items() if sums[0]}, its.shapes())
    if made:
        both["messages"] = ({r["size_bytes"]: (r["count"], r["time_ns"]) for r in mine["message_bandwidth"] if r["type"] == "SEND"},
                            its.messages())
    failures = 0
    for table, (a, b) in both.items():
        different = [key for key in sorted(set(a) | set(b), key=str) if a.get(key) != b.get(key)]
        failures += len(different)
        for key in different[:5]:
            print(f"{name}: {table} {key}: {a.get(key)} here, {b.get(key)} in the JSON")
    print(f"{name}: {', '.join(f'{len(b)} {table}' for table, (_, b) in both.items())}; {failures} differences")
    return failures


def make(path, seed):
    """Operators in modules and annotations launch kernels, copies and messages; streams run them in order."""
    rng = random.Random(seed)
    events, free, now, correlation = [], collections.defaultdict(int), 0, 0

    def host(cat, name, begin, end, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": begin / 1000, "dur": (end - begin) / 1000, "args": args})

    def launch():
        nonlocal now, correlation
        correlation += 1
        now += rng.randrange(100, 3000)
        begin, now = now, now + rng.randrange(1000, 4000)
        stream = rng.choice((7, 7, 7, 20))
        start = max(begin + rng.randrange(500, 9000), free[stream] + rng.choice((0, 10, 29, 30, 700, 5000)))
        free[stream] = start + rng.randrange(1000, 20000)
        device = {"device": 0, "stream": stream, "correlation": correlation}
        kind = rng.randrange(8)
        if kind == 0:
            call, cat, name = "cudaMemcpyAsync", "gpu_memcpy", rng.choice(("Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)"))
            if rng.randrange(5):
                device["bytes"] = rng.randrange(1, 1 << 20)
        elif kind == 1:
            call, cat, name = "cudaLaunchKernelExC", "kernel", "ncclDevKernel_SendRecv"
            size = rng.choice((256, 1024))
            device |= {"Collective name": "send", "In msg nelems": size, "Out msg nelems": size, "Group size": 2, "dtype": "Float",
                       "Process Group Name": "0", "Process Group Ranks": "[0, 1]", "Rank": 0, "Seq": correlation, "Src Rank": 0, "Dst Rank": 1}
        else:
            call, cat, name = "cudaLaunchKernel", "kernel", rng.choice(("gemm", "relu", "add"))
        host("cuda_runtime", call, begin, now, correlation=correlation)
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": start / 1000, "dur": (free[stream] - start) / 1000,
                       "args": device})

    def module(depth):
        nonlocal now
        begin = now
        now += 200
        for _ in range(rng.randrange(1, 4)):
            if depth < 3 and rng.randrange(2):
                module(depth + 1)
            else:
                first = now
                now += 100
                for _ in range(rng.randrange(0, 4)):
                    launch()
                now += 100
                host("cpu_op", rng.choice(("aten::mm", "aten::add")), first, now)
        now += 200
        host("python_function", f"nn.Module: M{depth}_{rng.randrange(3)}", begin, now)
        now += rng.randrange(0, 5000)

    for number in range(3):
        begin = now
        for _ in range(4):
            module(0)
        launch()
        host("user_annotation", rng.choice(("forward", "loss")), begin, now + 10)
        now += 1000 + number
    document = {"schemaVersion": 1, "distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]}, "traceEvents": events}
    with open(path, "w") as file:
        json.dump(document, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chakra", default="chakra")
    parser.add_argument("--made", type=int, default=0)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    failures = sum(compare(args.chakra, path, False) for path in args.files)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.made):
            path = os.path.join(folder, f"made{seed}.json")
            make(path, seed)
            failures += compare(args.chakra, path, True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
