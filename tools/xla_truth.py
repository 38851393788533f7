#!/usr/bin/env python3
"""Count a recording of XLA independently of the program: xla_truth.py CHAKRA FOLDER...

Each folder has module.txt (the compiled program as text), host.trace.json.gz, host.xplane.pb, module.hlo.pb and
truth.json, as examples/xla/record.py writes them. The text and the profile for browsers are read here; `chakra link` and
`chakra import` read the two protobuf files. Compared: executed instructions by device, collectives by opcode
(instructions x iterations x devices x runs), the members of their groups, and FLOPs against JAX's cost analysis.
"""
import collections
import glob
import gzip
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute", "collective-broadcast")


def computations(text):
    """Return {name: [(instruction, opcode, line)]} and the name of the entry."""
    found, entry, name = {}, None, None
    for line in text.splitlines():
        if begins := re.match(r"(ENTRY )?%(\S+) \(.*\{$", line):
            name = begins[2]
            found[name] = []
            entry = name if begins[1] else entry
        elif name and (row := re.match(r"\s+(?:ROOT )?%(\S+) = ((?:\([^=]*?\)|\S+)) ([a-z-]+)\(", re.sub(r"/\*.*?\*/", "", line))):
            found[name].append((row[1], row[3], line))
    return found, entry


def iterations(program, entry):
    """Return how often each computation runs in a run of the program."""
    times = collections.Counter({entry: 1})
    for name in reversed(list(program)):
        for _, opcode, line in program[name]:
            if opcode == "while":
                trips = int(re.search(r'known_trip_count":\{"n":"(\d+)"', line)[1])
                times[re.search(r"body=%([^,\s]+)", line)[1]] += times[name] * trips
            elif opcode == "call":
                times[re.search(r"to_apply=%([^,\s]+)", line)[1]] += times[name]
    return times


TILE = r"\[([\d,]+)\](?:T\(([\d,]+)\))?"


def tile(dims, order):
    """Return the numbers of "[2,4]T(1,0)": 0 to 7 as an array of 2 x 4, with its dimensions in that order."""
    dims = [int(n) for n in dims.split(",")]
    order = [int(n) for n in order.split(",")] if order else list(range(len(dims)))
    numbers = []
    for place in itertools.product(*(range(dims[d]) for d in order)):
        index = dict(zip(order, place, strict=True))
        flat = 0
        for d, size in enumerate(dims):
            flat = flat * size + index[d]
        numbers.append(flat)
    return numbers


def groups_of(line):
    """Return the members of the groups of an instruction as text: {{0,1},{2,3}}, [2,4]<=[8], mesh['a'=8] {'a'}."""
    if listed := re.search(r"replica_groups=\{(\{.*?\})\}", line):
        return {tuple(int(n) for n in group.split(",")) for group in re.findall(r"\{([\d,]+)\}", listed[1])}
    if iota := re.search(r"replica_groups=\[([\d,]+)\]<=" + TILE, line):
        shape = [int(n) for n in iota[1].split(",")]
        numbers = tile(iota[2], iota[3])
        return {tuple(numbers[at:at + shape[1]]) for at in range(0, len(numbers), shape[1])}
    if mesh := re.search(r"replica_groups=mesh\[(.*?)\](?:, device_ids=\((.*?)\))? \{(.*?)\}", line):
        axes = [(name, int(size)) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh[1])]
        inner = re.findall(r"'([^']+)'", mesh[3])
        devices = list(range(math.prod(size for _, size in axes)))
        if mesh[2]:
            reordered = re.match(TILE, mesh[2])
            devices = tile(reordered[1], reordered[2]) if reordered else [int(n) for n in mesh[2].split(",")]
        groups = collections.defaultdict(list)
        for flat, place in enumerate(itertools.product(*(range(size) for _, size in axes))):
            at = dict(zip((name for name, _ in axes), place, strict=True))
            groups[tuple(value for name, value in at.items() if name not in inner)].append(devices[flat])
        return {tuple(group) for group in groups.values()}
    return set()


def events(folder):
    with gzip.open(os.path.join(folder, "host.trace.json.gz")) as file:
        trace = json.load(file)["traceEvents"]
    return [e["args"] for e in trace if e.get("ph") == "X" and "hlo_op" in e.get("args", {})]


def call(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")


def check(chakra, folder):
    with open(os.path.join(folder, "module.txt"), encoding="utf-8") as file:
        program, entry = computations(file.read())
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        truth = json.load(file)
    times, executed = iterations(program, entry), events(folder)
    devices = {e["device_ordinal"] for e in executed}
    opcode_of = {name: opcode for rows in program.values() for name, opcode, _ in rows}
    wanted, recorded, groups = collections.Counter(), collections.Counter(), set()
    for name, rows in program.items():
        for _, opcode, line in rows:
            if opcode in COLLECTIVES:
                wanted[opcode] += times[name] * len(devices) * truth["runs"]
                groups |= groups_of(line)
    recorded.update(opcode_of[e["hlo_op"]] for e in executed if opcode_of.get(e["hlo_op"]) in COLLECTIVES)
    wrong = []

    def compare(what, ours, theirs, tolerance=0.0):
        if isinstance(theirs, int | float) and abs(ours - theirs) <= tolerance * abs(theirs):
            return
        if ours != theirs:
            wrong.append(f"{what}: {ours}, not {theirs}")

    with tempfile.TemporaryDirectory() as out:
        call(chakra, "link", f"{folder}/host.xplane.pb", "-o", f"{out}/t", "--json", f"{out}/link.json")
        call(chakra, "import", f"{folder}/module.hlo.pb", "-o", f"{out}/i/", "--json", f"{out}/import.json")
        call(chakra, "check", f"{out}/t")
        link, imported = (json.load(open(f"{out}/{name}.json", encoding="utf-8")) for name in ("link", "import"))
        nodes = collections.Counter()
        members = set()
        for path in glob.glob(f"{out}/t/*.et"):
            call(chakra, "convert", path, "-o", f"{out}/one.json")
            with open(f"{out}/one.json", encoding="utf-8") as file:
                trace = json.load(file)
            for node in trace["nodes"]:
                names = {a["name"]: a for a in node.get("attr", [])}
                nodes[path] += "hlo_opcode" in names
            for attr in trace["metadata"].get("attr", []):
                if attr["name"] == "process_groups":
                    members |= {tuple(group["ranks"]) for group in json.loads(attr.get("stringVal", attr.get("string_val")))}
        per_device = collections.Counter(e["device_ordinal"] for e in executed)
        compare("events by device", sorted(nodes.values()), sorted(per_device.values()))
        of_link, of_import = link["programs"][0], imported["programs"][0]
        ours = {c["opcode"]: c["executions"] for c in of_link["collectives"]}
        compare("collectives recorded", ours, dict(recorded))
        compare("collectives by count", ours, dict(wanted))
        compare("collectives imported", {c["opcode"]: c["executions"] * truth["runs"] for c in of_import["collectives"]}, dict(wanted))
        compare("groups", {tuple(sorted(g)) for g in members}, {tuple(sorted(g)) for g in groups})
        compare("FLOPs", of_import["flops_once"], truth["flops"], 0.01)
        compare("bytes", of_import["bytes_once"], truth["bytes"], 0.05)
        compare("findings", [f["tag"] for f in link["findings"] if f["severity"] != "note" and f["tag"].startswith("xla.")], [])
        errors = [f"{rank['self_replay_error']:+.1%}" for rank in link["ranks"]]
    print(f"{folder}: {len(executed)} events, {sum(recorded.values())} collectives, {len(groups)} groups, self-check {min(errors)} to {max(errors)}: "
          + ("; ".join(wrong) or "equal"))
    return not wrong


def main():
    chakra, *folders = sys.argv[1:]
    if not all([check(chakra, folder) for folder in folders]):
        sys.exit(1)


if __name__ == "__main__":
    main()
