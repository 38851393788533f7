#!/usr/bin/env python3
"""Checks a timeline in Chrome's trace event format: what any viewer of it relies on.

    check_timeline.py FILE

Valid JSON; every slice has ts, dur, pid and tid; slices of a track nest; each flow has one start and one
end, each inside a slice of its track. Prints counts, or the defects.
"""
import collections
import json
import sys
from decimal import Decimal


def main():
    events = json.load(open(sys.argv[1]), parse_float=Decimal)["traceEvents"]
    tracks, flows, problems = collections.defaultdict(list), collections.defaultdict(list), []
    names = set()
    for event in events:
        phase = event.get("ph")
        if phase == "X":
            missing = [key for key in ("ts", "dur", "pid", "tid", "name") if key not in event]
            if missing or event["dur"] < 0:
                problems.append(f"slice without {missing} or with a negative duration: {event}")
            else:
                tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        elif phase in ("s", "f"):
            flows[event["id"]].append(event)
        elif phase == "C":
            if not all(isinstance(value, int) for value in event["args"].values()):
                problems.append(f"a counter without a number: {event}")
        elif phase == "M":
            if event["name"] == "thread_name":
                names.add((event["pid"], event["tid"]))
        else:
            problems.append(f"an event of phase {phase}")
    for track, slices in tracks.items():
        if track not in names:
            problems.append(f"track {track} has no name")
        around = []
        for start, end in sorted(slices, key=lambda s: (s[0], -s[1])):
            while around and around[-1] <= start:
                around.pop()
            if around and around[-1] < end:
                problems.append(f"track {track}: a slice from {start} to {end} sticks out of one that ends at {around[-1]}")
            around.append(end)
    for number, ends in flows.items():
        if [e["ph"] for e in ends] != ["s", "f"]:
            problems.append(f"flow {number} has the ends {[e['ph'] for e in ends]}")
        for end in ends:
            if not any(start <= end["ts"] <= stop for start, stop in tracks[end["pid"], end["tid"]]):
                problems.append(f"flow {number}: an end at {end['ts']} in no slice")
    for problem in problems[:20]:
        print(problem)
    print(f"{sum(map(len, tracks.values()))} slices on {len(tracks)} tracks, {len(flows)} flows, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
