#!/usr/bin/env python3
"""How long communication took, by all that say it, against the events of the recordings.

    compare_transfers.py --bin DIR [FOLDER...]      FOLDER: a recorded job, or a folder of such

Without FOLDER: the jobs of recorded/ and reports/ of the test data. Each job is linked. Then, for each type of collective
and for messages:
- the events of the file, read as JSON here, last as long in all as the nodes of the traces (read by tools/et.py) with
  their pieces, and no node of computation bears their name;
- the transfer (last start to last end, by the clocks that link tells) of the events is that of link, of analyze and of
  whatif --remove;
- on a network that takes no time the job takes what the graph takes without its transfers (worked out here).
The exit status is 1 where a job differs by more than 2 %, with the last by more than 1 %.
"""
import argparse
import collections
import decimal
import glob
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile

import et
import job_table
from page import ROOT

DATA = os.environ.get("CHAKRA_TEST_DATA", os.path.join(ROOT, "..", "shared", "data"))
NO_TIME = "topology: [ Switch ]\nnpus_count: [ 64 ]\nbandwidth: [ 1000000000 ]\nlatency: [ 0 ]\n"
SEND, RECV, COLL, COMP = (et.NODE_TYPES.index(name) for name in ("SEND", "RECV", "COLL", "COMP"))
COMMUNICATION = (SEND, RECV, COLL)
TOLERANCE, TOLERANCE_NO_TIME = 0.02, 0.01
IS_RECORD = re.compile(r"gloo:|nccl(Dev|Symk)?.*Kernel|nccl.*RING_LL")
DIFFERENT_NS = 2000  # less is rounding


def differ(a, b, tolerance):
    return abs(a - b) > max(tolerance * max(abs(a), abs(b)), DIFFERENT_NS)


def run(binary, *args):
    return subprocess.run([binary, *args], capture_output=True, text=True, check=False)


# ---- a rank ------------------------------------------------------------------------------------------------

class Rank:
    """A linked trace, and the file that it was made from."""

    def __init__(self, trace, recording):
        self.metadata, nodes = et.read(trace)
        self.nodes = {node["id"]: node for node in nodes}
        text = open(recording, "rb").read()
        self.data = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
        self.file = json.loads(self.data, parse_float=decimal.Decimal)
        self.base_ns = int(self.file.get("baseTimeNanoseconds", 0)) if isinstance(self.file, dict) else 0
        self.pieces = collections.defaultdict(list)
        for node in nodes:
            whole = self.nodes.get(node["attrs"].get("part_of"))
            if whole and whole["type"] in COMMUNICATION:
                self.pieces[whole["id"]].append(node)

    def event(self, node):
        """(start, end) in ns of the event that a node was made from."""
        at = re.search(r"device @(\d+)", node["attrs"].get("source", ""))
        if not at:
            return None
        text = self.data[int(at[1]):int(at[1]) + 100_000].decode(errors="replace")
        found, _ = json.JSONDecoder(parse_float=decimal.Decimal).raw_decode(text[text.index("{"):])
        start = int(decimal.Decimal(found["ts"]) * 1000) + self.base_ns
        return start, start + int(decimal.Decimal(found["dur"]) * 1000)

    def span(self, node):
        """(start, end) of communication: the events of its records."""
        events = [self.event(one) for one in [node, *self.pieces[node["id"]]] if "source" in one["attrs"]]
        return (min(e[0] for e in events), max(e[1] for e in events)) if events and all(events) else None

    def events_by_name(self):
        sums, events = collections.Counter(), self.file["traceEvents"] if isinstance(self.file, dict) else self.file
        calls = collections.defaultdict(list)  # of sends, by thread: (start, end)
        for event in events:
            if event.get("name") == "c10d::send" and event.get("ph") == "X":
                calls[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for event in events:
            if event.get("name") == "gloo:send" and event.get("ph") == "X":  # an interrupted one began with its call
                for start, end in calls[event["tid"]]:
                    if start + 200 < event["ts"] <= end:
                        sums[event["name"]] += float(event["ts"] - start) * 1000
            if event.get("ph") == "X" and IS_RECORD.match(event.get("name", "")) and event.get("dur"):
                if event.get("cat") in ("cpu_op", "user_annotation", "kernel"):
                    sums[event["name"]] += float(event["dur"]) * 1000
        return sums

    def nodes_by_name(self):
        sums, computing = collections.Counter(), collections.Counter()
        for node in self.nodes.values():
            if IS_RECORD.match(node["name"]):
                (computing if node["type"] == COMP else sums)[node["name"]] += node["attrs"].get("dur_ns", 0)
        return sums, computing


def kind(node):
    """all_reduce, message"""
    if node["type"] != COLL:
        return "message"
    return et.COMM_TYPES[int(node["attrs"]["comm_type"])].lower()


# ---- a job -------------------------------------------------------------------------------------------------

def collectives(ranks):
    """[(rank, node)] of each that all its members have recorded: in a group, those of a type with one number."""
    found = collections.defaultdict(list)
    turn = collections.Counter()
    for r, rank in ranks.items():
        for node in rank.nodes.values():
            if node["type"] == COLL:
                attrs = node["attrs"]
                key = attrs.get("pg_name", ""), attrs.get("comm_type"), attrs.get("comm_seq", -1)
                turn[r, key] += 1
                found[key + (turn[r, key],)].append((r, node))
    return list(found.values())


def transfers_of_events(ranks, clocks):
    """By type: from the last start to the last end, in ns, of the events; and the same counted for each member."""
    sums, of_members = collections.Counter(), collections.Counter()
    for members in collectives(ranks):
        spans = [(r, ranks[r].span(node)) for r, node in members]
        if len(members) < 2 or not all(span for _, span in spans):
            continue
        starts = [span[0] - clocks[r] for r, span in spans]
        ends = [span[1] - clocks[r] for r, span in spans]
        transfer = max(0, max(ends) - max(starts))
        sums[kind(members[0][1])] += transfer
        of_members[kind(members[0][1])] += transfer * len(members)
    return sums, of_members


def without_transfers(ranks, starts):
    """When the last node ends if communication takes no time but that all members have to come."""
    waits_for = {}  # (rank, id) -> [(rank, id, lag)], and what takes how long
    takes = {}
    for r, rank in ranks.items():
        for node in rank.nodes.values():
            lags = node["attrs"].get("dep_lag_ns") or [0] * len(node["deps"])
            waits_for[r, node["id"]] = [((r, dep), lag) for dep, lag in zip(node["deps"], lags)]
            whole = rank.nodes.get(node["attrs"].get("part_of"))
            piece = whole is not None and whole["type"] in COMMUNICATION
            takes[r, node["id"]] = 0 if piece or node["type"] in COMMUNICATION else node["attrs"].get("dur_ns", 0)
    for members in collectives(ranks):
        own = [waits_for[r, node["id"]] for r, node in members]
        together = [wait for waits in own for wait in waits]
        for r, node in members:
            waits_for[r, node["id"]] = together
    end, state = {}, {}
    for root in waits_for:
        stack = [root]
        while stack:
            at = stack[-1]
            if state.get(at, 0) == 0:
                state[at] = 1
                stack += [dep for dep, _ in waits_for[at] if state.get(dep, 0) == 0]
                continue
            stack.pop()
            if state[at] == 1:
                state[at] = 2
                end[at] = max([starts[at[0]]] + [end.get(dep, 0) + lag for dep, lag in waits_for[at]]) + takes[at]
    return max(end.values())


def linked_job(binary, folders, folder):
    """What link says, and the ranks; None where the job has no times of several ranks."""
    report = os.path.join(folder, "report.json")
    if run(binary, "link", *folders, "-o", os.path.join(folder, "linked"), "--json", report).returncode:
        return None, None
    with open(report, encoding="utf-8") as file:
        said = json.load(file)
    if not said.get("job") or any(not rank["device"] for rank in said["ranks"]):
        return None, None
    return said, {rank["rank"]: Rank(rank["output"], rank["device"]) for rank in said["ranks"]}


def answer_of(binary, folder, *args):
    answer = os.path.join(folder, "answer.json")
    done = run(binary, *args, "--json", answer)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    with open(answer, encoding="utf-8") as file:
        return json.load(file), None


class Comparison:
    def __init__(self):
        self.bad, self.done = [], 0

    def compare(self, what, a, b, tolerance=TOLERANCE):
        self.done += 1
        if differ(a, b, tolerance):
            self.bad.append(f"{what}: {a / 1e6:.3f} and {b / 1e6:.3f} ms")


def compare_events(ranks, to):
    for r, rank in ranks.items():
        events, (nodes, computing) = rank.events_by_name(), rank.nodes_by_name()
        to.bad += [f"rank {r}: {time / 1e6:.3f} ms of {name} are computation" for name, time in computing.items() if time]
        for name, time in events.items():
            to.compare(f"rank {r}: {name}, events and nodes", time, nodes[name])


def compare_transfers(binary, said, ranks, folder, to):
    clocks = {clock["rank"]: clock["offset_ns"] or 0 for clock in said["job"]["clock"]}
    linked = os.path.join(folder, "linked")
    by_type, of_members = transfers_of_events(ranks, clocks)
    analyzed, error = answer_of(binary, folder, "analyze", linked, "--only", "stragglers")
    if error:
        return to.bad.append(f"analyze: {error}")
    for type_, time in by_type.items():
        for who, rows in (("link", said["job"]["collectives"]), ("analyze", analyzed["collectives"])):
            to.compare(f"{type_}, events and {who}", time,
                       sum(row["transfer_ns"] for row in rows if row["type"].lower() == type_))
        removed, error = answer_of(binary, folder, "whatif", linked, "--remove", type_)
        if error:
            to.bad.append(f"whatif --remove {type_}: {error}")
        else:
            to.compare(f"{type_}, events and whatif --remove", of_members[type_], removed["changes"][0]["time_ps"] / 1000)


def compare_no_time(binary, ranks, folder, to):
    if any(node["type"] in (SEND, RECV) for rank in ranks.values() for node in rank.nodes.values()):
        return  # who waits for a message is not worked out here
    network = os.path.join(folder, "network.yml")
    with open(network, "w", encoding="utf-8") as file:
        file.write(NO_TIME)
    simulated, error = answer_of(binary, folder, "sim", os.path.join(folder, "linked"), "--network", network)
    if error:
        return to.bad.append(f"sim: {error}")
    starts = {r: rank.metadata.get("rank_start_ns", 0) for r, rank in ranks.items()}
    rest = without_transfers(ranks, starts) - min(starts.values())
    to.compare("without transfers, and on a network that takes no time", rest, simulated["makespan_ps"] / 1000,
               TOLERANCE_NO_TIME)


def jobs(folders, folder):
    """(name, folders) of each job."""
    if not folders:
        yield from job_table.inputs(DATA, folder)
        for path in sorted(glob.glob(os.path.join(DATA, "reports", "cut_*", "*"))):
            yield os.path.basename(path), [path]
    for path in folders:
        if glob.glob(os.path.join(path, "*.json*")):
            yield os.path.basename(os.path.abspath(path)), [path]
        else:
            yield from ((os.path.basename(job), [job]) for job in sorted(glob.glob(os.path.join(path, "*"))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    args = parser.parse_args()
    if not args.folders and not os.path.isdir(DATA):
        print(f"no test data at {DATA}: skipped")
        return
    binary, bad = os.path.join(os.path.abspath(args.bin), "chakra"), []
    with tempfile.TemporaryDirectory() as inputs:
        for name, folders in jobs(args.folders, inputs):
            with tempfile.TemporaryDirectory() as folder:
                said, ranks = linked_job(binary, folders, folder)
                if not ranks:
                    print(f"{name:<40} not compared: refused, or not several ranks with times")
                    continue
                to = Comparison()
                compare_events(ranks, to)
                compare_transfers(binary, said, ranks, folder, to)
                compare_no_time(binary, ranks, folder, to)
            print(f"{name:<40} {to.done:>4} compared, {len(to.bad)} differ")
            for line in to.bad:
                print(f"    {line}")
            bad += [name] * bool(to.bad)
    if bad:
        sys.exit("compare_transfers: " + ", ".join(bad))


if __name__ == "__main__":
    main()
