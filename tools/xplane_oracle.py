#!/usr/bin/env python3
"""Compares the traces that chakra linked from a profile of GPUs or TPUs with the events of the profile, in plain Python.

    xplane_oracle.py PROFILE TRACES          events of each device: names, starts, durations; of GPUs also the
                                             calls of the host that started them: names, starts, edges
    xplane_oracle.py --as gpu|tpu PROFILE OUT
                                             a profile of CPU devices as one of GPUs (a stream per thread) or TPUs

It reads xplane.proto by field numbers and shares no code with the product. Public profiles to compare:
docs/reference/formats/xla.md.
"""
import argparse
import collections
import gzip
import re
import sys

import et


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def read_stat(data, names):
    name = value = None
    for number, field in et.fields(data):
        if number == 1:
            name = names.get(field, "")
        elif number == 4:
            value = signed(field)
        elif number in (5, 6):
            value = field
        elif number == 7:
            value = names.get(field, "").encode()
        elif number == 3:
            value = field
    return name, value


def read_map(entries, text=2):
    """id -> name of a table of descriptions, and the descriptions themselves."""
    names, raw = {}, {}
    for entry in entries:
        key, message = 0, b""
        for number, field in et.fields(entry):
            if number == 1:
                key = field
            elif number == 2:
                message = field
        raw[key] = message
        names[key] = next((f.decode(errors="replace") for n, f in et.fields(message) if n == text), "")
    return names, raw


def read_planes(data):
    for number, plane in et.fields(data):
        if number != 1:
            continue
        parts = collections.defaultdict(list)
        for field, value in et.fields(plane):
            parts[field].append(value)
        yield plane, parts


def read_lines(parts):
    """(name, id, begin in ns, [(metadata, offset, duration, stats)]) of each line."""
    names, _ = read_map(parts[5])
    for line in parts[3]:
        name, number_of, begin, events = "", 0, 0, []
        for number, field in et.fields(line):
            if number == 1:
                number_of = signed(field)
            elif number == 2:
                name = field.decode()
            elif number == 3:
                begin = signed(field)
            elif number == 4:
                event = {1: 0, 2: 0, 3: 0}
                stats = {}
                for key, value in et.fields(field):
                    if key in event:
                        event[key] = signed(value)
                    elif key == 4:
                        stat, found = read_stat(value, names)
                        stats[stat] = found
                events.append((event[1], event[2], event[3], stats))
        yield name, number_of, begin, events


def events_of(data):
    """device -> [(name, start in ns since the epoch of the lines, duration in ps, line)]"""
    found = collections.defaultdict(list)
    for _, parts in read_planes(data):
        device = re.fullmatch(rb"/device:(GPU|TPU):(\d+)", (parts[2] or [b""])[0])
        if not device:
            continue
        tpu = device[1] == b"TPU"
        names, raw = read_map(parts[4])
        shown, _ = read_map(parts[4], 4)
        for name, _, begin, events in read_lines(parts):
            if not (name in ("XLA Ops", "Async XLA Ops") if tpu else name.startswith("Stream #")):
                continue
            for metadata, offset, duration, stats in events:
                event = names.get(metadata, "")
                if tpu:
                    own = stats.get("hlo_op", b"").decode()
                    event = own or shown.get(metadata) or re.sub(r"^%(.*?)( = .*)?$", r"\1", event)
                found[int(device[2])].append((event, begin * 1000 + offset, duration, name))
    return found


def calls_of(data):
    """device -> [(call, its start in ps, event)] by the numbers that a call and its events share."""
    calls, found = {}, collections.defaultdict(list)
    for _, parts in read_planes(data):
        if (parts[2] or [b""])[0].startswith(b"/device:"):
            continue
        names, _ = read_map(parts[4])
        for _, _, begin, events in read_lines(parts):
            for metadata, offset, _, stats in events:
                if "correlation_id" in stats:
                    calls.setdefault(stats["correlation_id"], (names.get(metadata, ""), begin * 1000 + offset))
    for _, parts in read_planes(data):
        device = re.fullmatch(rb"/device:GPU:(\d+)", (parts[2] or [b""])[0])
        names, _ = read_map(parts[4])
        for name, _, _, events in read_lines(parts) if device else []:
            for metadata, _, _, stats in events if name.startswith("Stream #") else []:
                if stats.get("correlation_id") in calls:
                    found[int(device[1])].append((*calls[stats["correlation_id"]], names.get(metadata, "")))
    return found


def launches_of(nodes):
    """[(call, its start in ns, event)] of the edges from calls of the host to events."""
    by_id = {node["id"]: node for node in nodes}
    found = []
    for node in nodes:
        for on in node["deps"]:
            call = by_id[on]
            if not node["attrs"].get("is_cpu_op") and call["attrs"].get("is_cpu_op") and not call["name"].startswith("[chakra|"):
                found.append((call["name"], call["attrs"]["ts_ns"], node["attrs"].get("kernel", node["name"])))
    return found


def nodes_of(nodes):
    """[(name, start, end)] in ns; the pieces of a node, and a permute and its messages, are one."""
    spans = {}
    for node in nodes:
        attrs = node["attrs"]
        if attrs.get("is_cpu_op"):
            continue
        message = node["type"] in (5, 6)
        key = node["ctrl"][0] if message else attrs.get("part_of", node["id"])
        start, end = attrs["ts_ns"], attrs["ts_ns"] + attrs["dur_ns"]
        if key in spans:
            old = spans[key]
            spans[key] = (old[0], min(old[1], start), max(old[2], end))
        else:
            spans[key] = (attrs.get("kernel", node["name"]), start, end)
    return list(spans.values())


def compare(profile, traces):
    data = open(profile, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    found, calls, wrong = events_of(data), calls_of(data), 0
    starts = [start for events in found.values() for _, start, _, _ in events]
    for device, events in sorted(found.items()):
        _, trace = et.read(f"{traces}/trace.{device}.et")
        nodes = nodes_of(trace)
        if collections.Counter(n for n, _, _ in nodes) != collections.Counter(e[0] for e in events):
            print(f"device {device}: names differ")
            wrong += 1
            continue
        # Times of a trace are relative to another start than those of the profile: the same one for all nodes.
        by_name = collections.defaultdict(list)
        for name, start, duration, _ in events:
            by_name[name].append((start, start + duration))
        shift = None
        nodes_by_name = collections.defaultdict(list)
        for name, start, end in nodes:
            nodes_by_name[name].append((start, end))
        for name, spans in by_name.items():
            for (start, end), (own, own_end) in zip(sorted(spans), sorted(nodes_by_name[name])):
                # A -done begins where what it waits for ends.
                if shift is None:
                    shift = own - start // 1000
                late = own - start // 1000 - shift
                if abs(own_end - end // 1000 - shift) > 1 or late < -1 or (late > 1 and "done" not in name):
                    wrong += 1
                    print(f"device {device}: {name}: {start} to {end} ps became {own} to {own_end} ns")
        if shift is not None:
            called = sorted((call, start // 1000 + shift, event) for call, start, event in calls.get(device, []))
            ours = sorted(launches_of(trace))
            if len(called) != len(ours) or any(a[0] != b[0] or a[2] != b[2] or abs(a[1] - b[1]) > 1 for a, b in zip(called, ours)):
                wrong += 1
                print(f"device {device}: calls of the host differ: {len(ours)}, not {len(called)}")
    print(f"{len(found)} devices, {len(starts)} events, {sum(map(len, calls.values()))} with a call, {wrong} differences")
    return wrong == 0


# ---- made profiles --------------------------------------------------------------------------------------


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


STATS = {"hlo_op": 1, "hlo_module": 2, "program_id": 3, "correlation_id": 4, "run_id": 5}


def stat(name, value):
    if isinstance(value, (bytes, str)):
        return field(4, field(1, STATS[name]) + field(5, value))
    return field(4, field(1, STATS[name]) + field(4, value))


def convert(data, kind):
    out, devices = b"", collections.defaultdict(list)
    for plane, parts in read_planes(data):
        if parts[2] == [b"/host:CPU"]:
            for thread, (_, _, begin, events) in enumerate(read_lines(parts)):
                for _, offset, duration, stats in events:
                    if "hlo_op" in stats:
                        devices[stats["device_ordinal"]].append((begin * 1000 + offset, duration, thread, stats))
        else:
            out += field(1, plane)
    for device, events in sorted(devices.items()):
        if kind == "gpu":  # has no events around others
            events = [e for e in events if not re.match(b"while|call|conditional", e[3]["hlo_op"])]
        events.sort(key=lambda event: (event[0], -event[1]))
        out += field(1, device_plane(device, events, kind))
    return out


def device_plane(device, events, kind):
    ops = sorted({stats["hlo_op"].decode() for _, _, _, stats in events})
    plane = field(2, f"/device:{kind.upper()}:{device}")
    base = min(event[0] for event in events) // 1000
    lines, runs = collections.defaultdict(bytes), {}
    for call, (start, duration, thread, stats) in enumerate(events):
        module = (stats["hlo_module"].decode(), stats["program_id"], stats["run_id"])
        first, last = runs.get(module, (start, 0))
        runs[module] = (first, max(last, start + duration))
        own = field(1, ops.index(stats["hlo_op"].decode()) + 1) + field(2, start - base * 1000) + field(3, duration)
        if kind == "gpu":
            own += stat("hlo_op", stats["hlo_op"]) + stat("hlo_module", module[0]) + stat("program_id", module[1])
            lines[f"Stream #{thread}(Compute)", thread] += field(4, own + stat("correlation_id", call))
        else:
            lines["XLA Ops", 3] += field(4, own)
    modules = list(runs)
    for number, (name, program, run) in enumerate(modules if kind == "tpu" else []):
        start, end = runs[modules[number]]
        lines["XLA Modules", 2] += field(4, field(1, len(ops) + number + 1) + field(2, start - base * 1000) +
                                         field(3, end - start) + stat("run_id", run))
    for (name, line), content in sorted(lines.items()):
        plane += field(3, field(1, line) + field(2, name) + field(3, base) + content)
    texts = [(op if kind == "gpu" else f"%{op} = f32[] add()", op) for op in ops]
    texts += [(f"{name}({program})", "") for name, program, _ in modules]
    for number, (name, display) in enumerate(texts):
        text = field(1, number + 1) + field(2, name) + (field(4, display) if kind == "tpu" and number % 2 else b"")
        plane += field(4, field(1, number + 1) + field(2, text))
    for name, number in STATS.items():
        plane += field(5, field(1, number) + field(2, field(1, number) + field(2, name)))
    return plane


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--as", dest="kind", choices=["gpu", "tpu"])
    parser.add_argument("profile")
    parser.add_argument("other")
    args = parser.parse_args()
    if not args.kind:
        return 0 if compare(args.profile, args.other) else 1
    data = open(args.profile, "rb").read()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    open(args.other, "wb").write(convert(data, args.kind))
    return 0


if __name__ == "__main__":
    sys.exit(main())
