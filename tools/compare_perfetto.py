#!/usr/bin/env python3
"""Compares a timeline in Perfetto's stream with the same timeline in Chrome's format. Needs the package perfetto of PyPI.

    compare_perfetto.py FILE.pftrace FILE.json

Decodes the stream with the classes of the package perfetto, and replays it as a viewer does: an end closes the innermost slice
of the track. Slices (rank, track, name, category, node, start and end in picoseconds), flows and counters must be equal.
"""
import collections
import json
import sys
from decimal import Decimal

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

EVENT = perfetto.TrackEvent


def picoseconds(microseconds):
    return int(Decimal(microseconds) * 1_000_000)


class Stream:
    """The slices, flows and counters of a stream; `problems`: rules of the format that it breaks."""

    def __init__(self, path):
        self.slices, self.counters, self.problems = [], collections.defaultdict(list), []
        self.starts, self.ends = {}, {}  # of flows: the slice
        self.tracks, self.names = {}, {"name": {}, "category": {}, "annotation": {}}
        trace = perfetto.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        events = []
        for packet in trace.packet:
            if packet.trusted_packet_sequence_id == 0:
                self.problems.append("a packet without a sequence")
            self.intern(packet.interned_data)
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                events.append((packet.timestamp, packet.track_event))
        self.play(sorted(events, key=lambda e: e[0]))  # stable, as a viewer sorts

    def intern(self, data):
        for kind, texts in (("name", data.event_names), ("category", data.event_categories),
                            ("annotation", data.debug_annotation_names)):
            for text in texts:
                self.names[kind][text.iid] = text.name

    def rank_of(self, track):
        parent = self.tracks[track].parent_uuid
        return self.tracks[parent].process.pid - 1 if parent else -1

    def play(self, events):
        open_slices = collections.defaultdict(list)
        for time, event in events:
            stack = open_slices[event.track_uuid]
            if event.type == EVENT.TYPE_COUNTER:
                track = self.tracks[event.track_uuid]
                self.counters[self.rank_of(event.track_uuid), track.name, track.counter.unit_name].append((time, event.counter_value))
                continue
            if event.type == EVENT.TYPE_SLICE_BEGIN:
                notes = {self.names["annotation"][a.name_iid]: a.uint_value or a.int_value for a in event.debug_annotations}
                stack.append([self.rank_of(event.track_uuid), self.tracks[event.track_uuid].name, self.names["name"][event.name_iid],
                              self.names["category"][event.category_iids[0]], notes["node"], time, notes])
                owner = stack[-1]
                self.slices.append(owner)
            else:
                owner = stack.pop()
                notes = owner.pop()
                start = notes.get("start_ps", owner[5] * 1000)
                end = start + notes["duration_ps"] if "duration_ps" in notes else time * 1000
                if (start // 1000, end // 1000) != (owner[5], time):
                    self.problems.append(f"{owner}: exact times {start}, {end} do not belong to {owner[5]}, {time} ns")
                owner[5:] = [start, end]
            self.flow(event, owner, time)
        if any(open_slices.values()):
            self.problems.append("slices without an end")

    def flow(self, event, owner, time):
        for number in event.flow_ids:
            self.starts[number] = owner
        for number in event.terminating_flow_ids:
            if number not in self.starts:
                self.problems.append(f"flow {number} ends at {time} ns before it begins")
            self.ends[number] = owner


def of_chrome(path):
    """Slices, flows as pairs of slices, counters."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    links = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name" and e["args"]["name"] == "links"}
    slices, counters, flows = [], collections.defaultdict(list), collections.defaultdict(dict)
    for event in events:
        if event["ph"] == "X":
            start = picoseconds(event["ts"])
            slices.append([event["pid"], tracks[event["pid"], event["tid"]], event["name"], event["cat"], event["args"]["node"], start,
                           start + picoseconds(event["dur"])])
        elif event["ph"] == "C":
            (unit, value), = event["args"].items()
            counters[-1 if event["pid"] in links else event["pid"], event["name"], unit].append((picoseconds(event["ts"]) // 1000, value))
        elif event["ph"] in "sf":
            flows[event["id"]][event["ph"]] = (event["pid"], tracks[event["pid"], event["tid"]], picoseconds(event["ts"]))
    return slices, flows, counters


def main():
    stream = Stream(sys.argv[1])
    slices, flows, counters = of_chrome(sys.argv[2])
    problems = stream.problems
    if sorted(stream.slices) != sorted(slices):
        problems.append(f"slices differ: {len(stream.slices)} and {len(slices)}")
    if stream.counters != counters:
        problems.append(f"counters differ: {len(stream.counters)} and {len(counters)}")
    if set(stream.starts) != set(flows) or set(stream.ends) != set(flows):
        problems.append(f"flows differ: {len(stream.starts)} begin, {len(stream.ends)} end, of {len(flows)}")
    for number, ends in flows.items():
        for (rank, track, time), owner in ((ends["s"], stream.starts.get(number)), (ends["f"], stream.ends.get(number))):
            if owner and not (owner[:2] == [rank, track] and owner[5] <= time <= owner[6]):
                problems.append(f"flow {number}: {rank}, {track} at {time} is not in {owner}")
    print("\n".join(problems[:20] + [f"{len(slices)} slices, {len(flows)} flows, {len(counters)} counters, {len(problems)} problems"]))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
