#!/usr/bin/env python3
"""Communication in linked recordings, against what the jobs are known to have done.

    compare_truth.py --bin DIR [FOLDER...]      FOLDER: a recording with truth.json, or a folder of such

Without FOLDER: recorded/ of the test data, where every job must be right but those of KNOWN. Each job is linked with the
command; its traces are read by tools/et.py. A call is right if its type, its bytes, the ranks of its group (of a message:
who sends and who receives), its root and the bytes it gets are those of truth.json, as far as that says them. The calls of
a group, and the messages from one rank to another, must stand in the order in which the job made them: by comm_seq where
all have it, else by id. The traces must check without an error and simulate. The exit status is 1 where a job differs.
Files that are no JSON (PyTorch does not escape names) are linked with --salvage.
"""
import argparse
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import et
from page import ROOT

DATA = os.environ.get("CHAKRA_TEST_DATA", os.path.join(ROOT, "..", "shared", "data"))

NETWORK = "topology: [ Switch ]\nnpus_count: [ 64 ]\nbandwidth: [ 10 ]\nlatency: [ 5000 ]\n"

# Jobs of the test data that linking still gets wrong, with the reason. One that is right must not stand here.
KNOWN = {}

# Calls that a job makes and its truth does not list: (kind of the job, the listed call before or behind which they are made
# in each step, where, the calls). Their bytes are those of pickled objects and of sparse tensors: not compared.
UNLISTED = [
    ("zoo", ("ALL_REDUCE", 1212), "before", ["ALL_GATHER", "ALL_GATHER", "BROADCAST", "BROADCAST"]),
    ("zoo", ("ALL_REDUCE", 2400), "behind", ["ALL_REDUCE"]),
]

# A monitored barrier, which sends messages by itself and is not listed either, may be linked as a barrier or left out.
MONITORED = ("zoo", ("ALL_REDUCE", 1212))

Call = collections.namedtuple("Call", "type bytes ranks root out")
ASPECTS = {"type": "types", "bytes": "bytes", "ranks": "groups, peers", "root": "roots", "out": "bytes got"}


# ---- the truth ---------------------------------------------------------------------------------------------

def kind_of(job):
    """zoo-2.6.0 -> zoo"""
    return re.sub(r"-[0-9.]+$", "", os.path.basename(job))


def listed(comm):
    ranks = tuple(comm["ranks"]) if comm["op"] in ("SEND", "RECV") else tuple(sorted(comm["ranks"]))
    return Call(comm["op"], comm["bytes"], ranks, comm.get("root"), comm.get("out"))


def expected(job, truth, world):
    """The calls of a rank; and {type: bytes} of all of them where only that is known."""
    calls, totals = [], collections.Counter()
    kind, blocks, steps = kind_of(job), sum(truth.get("block_bytes", [])), len(truth["steps"])
    if blocks:  # FSDP gathers each block before its forward and its backward pass, and scatters its gradients
        totals = collections.Counter({"ALL_GATHER": 2 * blocks // world * steps, "REDUCE_SCATTER": blocks * steps})
    for comm in truth["comm"]:
        if comm["op"].endswith("_TOTAL"):
            totals[comm["op"].removesuffix("_TOTAL")] += comm["bytes"]
            continue
        call = listed(comm)
        extra = {where: [Call(type_, None, call.ranks, None, None) for type_ in types]
                 for of, anchor, where, types in UNLISTED if of in kind and anchor == (call.type, call.bytes)}
        calls += extra.get("before", []) + [call] + extra.get("behind", [])
    return calls, totals


def with_monitored(kind, wants, gots):
    """The calls with a barrier for each monitored one, if the trace has that many barriers."""
    of, anchor = MONITORED
    anchors = [at for at, want in enumerate(wants) if of in kind and anchor == (want.type, want.bytes)]
    barriers = [sum(call.type == "BARRIER" for call in calls) for calls in (wants, [got for got, _, _ in gots])]
    if not anchors or barriers[1] != barriers[0] + len(anchors):
        return wants
    return [call for at, want in enumerate(wants)
            for call in ([want] + ([Call("BARRIER", 0, want.ranks, None, None)] if at in anchors else []))]


# ---- the linked trace --------------------------------------------------------------------------------------

def linked(path, everyone):
    """The calls of a trace. Where it names no group at all, each is of all ranks: so do the commands take it."""
    metadata, nodes = et.read(path)
    groups = {group["pg_name"]: tuple(sorted(group["ranks"])) or everyone  # PyTorch writes none for all
              for group in json.loads(metadata.get("process_groups", "[]"))}
    rank = metadata.get("rank")
    calls = []
    for node in nodes:
        attrs, type_ = node["attrs"], et.NODE_TYPES[node["type"]]
        root = out = None
        if type_ == "SEND":
            ranks = (rank, attrs.get("comm_dst"))
        elif type_ == "RECV":
            ranks = (attrs.get("comm_src"), rank)
        elif type_ == "COLL":
            type_ = et.COMM_TYPES[attrs.get("comm_type", 0)]
            ranks = groups.get(attrs.get("pg_name", "")) if groups else everyone
            root = attrs.get("comm_root")
            out = attrs.get("comm_out_bytes", 0)
        else:
            continue
        sequence = attrs.get("comm_seq")
        calls.append((Call(type_, attrs.get("comm_size", 0), ranks, root, out), sequence, node["id"]))
    return calls


def in_order(calls):
    """By the place in the group where all calls of a channel say it, else by id."""
    channels = collections.defaultdict(list)
    for call, sequence, id_ in calls:
        channels[channel(call)].append((sequence, id_, call))
    ordered = {}
    for key, rows in channels.items():
        by_sequence = all(row[0] is not None for row in rows)
        ordered[key] = [row[2] for row in sorted(rows, key=lambda row: row[0 if by_sequence else 1])]
    return ordered


def channel(call):
    """Calls of one channel have an order: collectives of a group; messages one way between two ranks."""
    return (call.type if call.type in ("SEND", "RECV") else "COLL", call.ranks)


# ---- comparison --------------------------------------------------------------------------------------------

def differing(want, got):
    """Names of what the truth says and the trace does not."""
    return [name for name in Call._fields
            if getattr(want, name) != getattr(got, name) and (getattr(want, name) is not None or name == "ranks")]


def pairs(wants, gots):
    """Each wanted call with the found one that it resembles most, None where there is none; and the calls left over."""
    found, left = [], list(gots)
    rest = sorted(wants, key=lambda call: call.bytes is None)
    for most in range(3):  # differences; of more than two, nothing of the call is there
        for want in list(rest):
            near = next((got for got in left if len(differing(want, got)) <= most), None)
            if near is not None:
                left.remove(near)
                rest.remove(want)
                found.append((want, near))
    return found + [(want, None) for want in rest], left


def show(call):
    ranks = call.ranks and (f"{call.ranks[0]} -> {call.ranks[1]}" if call.type in ("SEND", "RECV") else list(call.ranks))
    text = f"{call.type} of {call.bytes} B, {ranks}"
    text += "" if call.root is None else f", root {call.root}"
    return text + ("" if not call.out else f", gets {call.out} B")


def compare_rank(rank, wants, gots, wrong, lines):
    found, more = pairs(wants, [call for call, _, _ in gots])
    for want, got in found:
        if got is None:
            wrong["missing"] += 1
            lines.append(f"rank {rank}: not found: {show(want)}")
            continue
        names = differing(want, got)
        for name in names:
            wrong[ASPECTS[name]] += 1
        if names:
            lines.append(f"rank {rank}: {show(want)} is linked as {show(got)}")
    wrong["too many"] += len(more)
    lines += [f"rank {rank}: not made by the job: {show(call)}" for call in more]
    if any(got is None or differing(want, got) for want, got in found) or more:
        return  # an order of other calls says nothing
    ordered, at = in_order(gots), collections.Counter()
    for want in wants:
        got = ordered[channel(want)][at[channel(want)]]
        at[channel(want)] += 1
        if differing(want, got):
            wrong["order"] += 1
            lines.append(f"rank {rank}: number {at[channel(want)]} of {channel(want)} is {show(want)}, linked is {show(got)}")


def bytes_by_type(gots):
    moved = collections.Counter()
    for call, _, _ in gots:
        moved[call.type] += call.bytes
    return moved


def run(*command):
    """The exit status, and what the command says of an error."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=300)
    said = [line for line in (done.stderr + done.stdout).splitlines() if "error: " in line or "chakra: " in line]
    return done.returncode, (said or [f"{command[1]} ends with {done.returncode}"])[0].strip()


def compare(binary, job):
    """(calls of the truth, calls found, {what: how many are wrong}, sentences)"""
    with open(os.path.join(job, "truth.json"), encoding="utf-8") as file:
        truth = json.load(file)
    wrong, lines, wanted, had = collections.Counter(), [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "linked")
        status, said = run(binary, "link", job, "-o", out)
        if status and "[pytorch.json." in said:  # PyTorch does not escape all names
            status, said = run(binary, "link", job, "-o", out, "--salvage")
        if status:
            wrong["refused"] = 1
            return 0, 0, wrong, [said]
        network = os.path.join(folder, "network.yml")
        with open(network, "w", encoding="utf-8") as file:
            file.write(NETWORK)
        for verb in (["check"], ["sim", "--network", network]):
            status, said = run(binary, verb[0], out, *verb[1:])
            if status:
                wrong[verb[0]] = 1
                lines.append(f"chakra {verb[0]} exits with {status}: {said}")
        for rank in sorted(truth, key=int):
            path = os.path.join(out, f"trace.{rank}.et")
            gots = linked(path if os.path.exists(path) else out, tuple(sorted(map(int, truth))))
            wants, totals = expected(job, truth[rank], len(truth))
            wanted, had = wanted + len(wants), had + len(gots)
            if not totals:
                compare_rank(rank, with_monitored(kind_of(job), wants, gots), gots, wrong, lines)
            elif (moved := bytes_by_type(gots)) != totals:
                wrong["bytes"] += 1
                lines.append(f"rank {rank}: {dict(totals)} B in all are linked as {dict(moved)} B")
    return wanted, had, wrong, lines


def jobs(folders):
    for folder in folders:
        if os.path.exists(os.path.join(folder, "truth.json")):
            yield folder
        else:
            yield from sorted(os.path.dirname(path) for path in glob.glob(os.path.join(folder, "*", "truth.json")))


def is_recording(job):
    """jax_fsdp and its kin have another truth, by no ranks."""
    with open(os.path.join(job, "truth.json"), encoding="utf-8") as file:
        return all(rank.isdigit() for rank in json.load(file))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--lines", type=int, default=6, help="differences printed of each job (6)")
    args = parser.parse_args()
    folders = args.folders or [os.path.join(DATA, "recorded")]
    if not args.folders and not os.path.isdir(folders[0]):
        print(f"no test data at {DATA}: skipped")
        return
    bad = []
    print(f"{'job':<24} {'calls':>6} {'found':>6}  differences")
    for job in filter(is_recording, jobs(folders)):
        name, known = os.path.basename(job), {} if args.folders else KNOWN
        wanted, had, wrong, lines = compare(os.path.join(os.path.abspath(args.bin), "chakra"), os.path.abspath(job))
        verdict = ", ".join(f"{what} {count}" for what, count in wrong.items() if count)
        note = ""
        if bool(verdict) != (name in known):
            bad.append(name)
            note = "" if verdict else " (take it out of KNOWN)"
        elif verdict:
            note = f" (known: {known[name]})"
        print(f"{name:<24} {wanted:>6} {had:>6}  {verdict or 'none'}{note}")
        for line in lines[:args.lines]:
            print(f"    {line}")
        if len(lines) > args.lines:
            print(f"    ... and {len(lines) - args.lines} more")
    if bad:
        sys.exit("compare_truth: " + ", ".join(bad))


if __name__ == "__main__":
    main()
