#!/usr/bin/env python3
"""Makes the figures of the documentation, docs/pictures/NAME.svg, from text and data.

    figures.py [--check] [--bin DIR] [NAME...]     all figures, or these; --list prints their names

Some figures show results of the command: they need --bin, the folder with chakra (build/release/bin if it is there), and are
skipped without it. --check writes nothing and exits with 1 if a checked-in file differs.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from drawing import Drawing, width_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PICTURES = os.path.join(ROOT, "docs", "pictures")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()



# edge_kinds: lanes, nodes and edges of a step on one rank.
LANES = [("main thread", "blue"), ("Gloo's thread", "purple"), ("backward thread", "teal"), ("stream 7", "green"), ("stream 13", "yellow"),
         ("stream 20", "pink")]
STEP = {  # name: (lane, from, to, text); a name that begins with "gap" is drawn dashed
    "forward": (0, 0, 70, "forward"), "launch": (0, 88, 142, "launch"), "call": (0, 160, 232, "broadcast_"), "gap1": (0, 250, 298, "gap"),
    "reader": (0, 316, 376, "reader"), "block": (0, 394, 482, "synchronize"), "rest": (0, 656, 736, "remainder"),
    "gloo": (1, 222, 294, "broadcast"), "gap2": (2, 222, 270, "gap"), "backward": (2, 316, 390, "backward"),
    "k0": (3, 118, 206, "matmul"), "k1": (3, 340, 440, "gradient"), "k2": (3, 552, 640, "optimizer"), "copy": (4, 462, 526, "copy"),
    "nccl": (5, 462, 546, "all-reduce"),
}
STEP_EDGES = [  # kind, from, to, x where it leaves, x where it arrives, where the number stands on it; no x: along the lane
    ("program", "forward", "launch", None, None, None), ("program", "launch", "call", None, None, None),
    ("program", "call", "gap1", None, None, None), ("program", "gap1", "reader", None, None, None),
    ("program", "reader", "block", None, None, None), ("program", "block", "rest", None, None, 0.5),
    ("program", "gap2", "backward", None, None, None), ("launch", "launch", "k0", 126, 126, 0.5), ("launch", "backward", "k1", 364, 364, None),
    ("stream", "k0", "k1", None, None, 0.5), ("stream", "k1", "k2", None, None, None), ("comm", "call", "gloo", 227, 227, 0.5),
    ("data", "gloo", "gap1", 278, 278, 0.5), ("thread", "call", "gap2", 184, 230, 0.5), ("event", "k1", "nccl", 420, 470, 0.6),
    ("event", "nccl", "k2", 538, 566, None), ("contention", "k1", "copy", 434, 480, 0.45), ("sync", "k2", "rest", 624, 676, 0.5),
]
KINDS = {  # colour, inferred here, what it is
    "program": ("grey", False, "next piece of work on the same thread"), "launch": ("blue", False, "call to the device operation it launched"),
    "stream": ("green", False, "next operation on the same stream"), "event": ("orange", False, "wait of a stream for another, by an event"),
    "sync": ("red", False, "device operation to the call that blocks on it"), "thread": ("teal", True, "one thread hands over to another"),
    "comm": ("purple", False, "call to the communication it starts"), "data": ("pink", False, "communication to the first reader of its tensors"),
    "contention": ("yellow", True, "the device was busy with another stream"),
}


def edge_kinds(_):
    d = Drawing(920, 486, "One training step on one rank: nodes on threads and streams, and the kinds of edges between them")
    left, top, row, high = 150, 18, 56, 26
    numbers = {kind: str(place + 1) for place, kind in enumerate(KINDS)}
    for place, (lane, colour) in enumerate(LANES):
        d.line(left - 10, top + place * row + 13, 905, top + place * row + 13)
        d.text(12, top + place * row + 17, lane, bold=True, kind=f"t-{colour}")
    badges = []
    for kind, source, target, leaves, arrives, badge in STEP_EDGES:
        colour, inferred, _ = KINDS[kind]
        (lane1, _, end1, _), (lane2, begin2, _, _) = STEP[source], STEP[target]
        down = lane2 > lane1
        x1, y1 = (left + end1, top + lane1 * row + 13) if leaves is None else (left + leaves, top + lane1 * row + (high if down else 0))
        x2, y2 = (left + begin2, top + lane2 * row + 13) if arrives is None else (left + arrives, top + lane2 * row + (0 if down else high))
        (d.arrow if leaves is None else d.curve)(x1, y1, x2, y2, colour, dashed=inferred)
        if badge is not None:
            beside = {"comm": -15, "data": 15}.get(kind, 0)
            badges.append((x1 + (x2 - x1) * badge + beside, y1 + (y2 - y1) * badge, numbers[kind], colour))
        elif (source, target) == ("forward", "launch"):
            badges.append(((x1 + x2) / 2, y1 - 1, numbers[kind], colour))
    for name, (lane, begin, end, text) in STEP.items():
        d.box(left + begin, top + lane * row, end - begin, high, text, LANES[lane][1], 11, 4, name.startswith("gap"))
    for badge in badges:
        d.badge(*badge)
    for place, (kind, (colour, _, what)) in enumerate(KINDS.items()):
        x, y = 24 + place // 5 * 450, 366 + place % 5 * 24
        d.badge(x, y - 4, numbers[kind], colour)
        d.text(x + 16, y, kind, bold=True, kind=f"t-{colour}")
        d.text(x + 104, y, what, size=11.5)
    d.text(490, 462, "dashed edges are inferred by a rule; the others come from a record", size=11.5, kind="second")
    return d


def rooms_of(text):
    """room -> the rooms that it may include and does not reach through another one."""
    allowed = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            room, _, others = line.partition(":")
            allowed[room] = set(others.split())
    reach = {}
    for room, others in allowed.items():  # lowest first, so that those of others are known
        reach[room] = set().union(others, *(reach[o] for o in others))
    return {room: sorted(o for o in others if not any(o in reach[p] for p in others if p != o)) for room, others in allowed.items()}


ROOM_COLOURS = {"base": "grey", "des": "grey", "answer": "grey", "json": "grey", "schema": "grey", "kind": "grey", "options": "grey", "pack": "grey",
                "trace": "blue", "io": "blue", "feed": "blue", "feeders": "blue", "result": "blue", "edit": "blue", "gen": "teal", "foreign": "teal",
                "recording": "teal", "flight": "teal", "link": "teal", "match": "green", "check": "green", "analyze": "green", "net": "orange",
                "coll": "orange", "device": "orange", "calibrate": "orange", "sim": "red", "replay": "red", "astra": "red", "whatif": "red",
                "view": "purple", "job": "purple", "facade": "purple", "cli": "purple"}
ROOM_WORDS = (("grey", "foundation"), ("blue", "traces, files, feeding"), ("teal", "sources of traces"), ("green", "checks and analyses"),
              ("orange", "networks and devices"), ("red", "runs"), ("purple", "answers and the command"))


def layers_of(below):
    """Rows of (room, None) and, where an arrow passes a row, (room, room below); each row in an order with few crossings; and arrows' ways."""
    level = {}
    for room, others in below.items():
        level[room] = 1 + max((level[o] for o in others), default=-1)
    rows = [[] for _ in range(max(level.values()) + 1)]
    for room in below:
        rows[level[room]].append((room, None))
    ways = []
    for room, others in below.items():
        for other in others:
            between = [((room, other), row) for row in range(level[room] - 1, level[other], -1)]
            for spot, row in between:
                rows[row].append(spot)
            ways.append([((room, None), level[room]), *between, ((other, None), level[other])])
    near = {}
    for way in ways:
        for (a, row_a), (b, row_b) in zip(way, way[1:]):
            near.setdefault((a, row_a, "down"), []).append((b, row_b))
            near.setdefault((b, row_b, "up"), []).append((a, row_a))
    at = {(spot, row): (i + 0.5) / len(spots) for row, spots in enumerate(rows) for i, spot in enumerate(spots)}
    for sweep in range(40):
        side = "down" if sweep % 2 == 0 else "up"
        for row in range(len(rows)) if side == "down" else range(len(rows) - 1, -1, -1):
            def place(spot):
                others = near.get((spot, row, side), [])
                return sum(at[o] for o in others) / len(others) if others else at[spot, row]
            rows[row].sort(key=place)
            weights = [width_of(spot[0]) + 34 if spot[1] is None else 16 for spot in rows[row]]
            total, gone = sum(weights), 0
            for spot, weight in zip(rows[row], weights):
                at[spot, row] = (gone + weight / 2) / total
                gone += weight
    return rows, ways, at


def rooms(_):
    below = rooms_of(read("rooms.txt"))
    rows, ways, at = layers_of(below)
    step = 68
    d = Drawing(960, 50 + step * len(rows), "The rooms of the project: each may include those below it that an arrow leads to")

    def spot(where):
        return 14 + at[where] * 932, d.height - 62 - where[1] * step
    for way in ways:
        colour, (x, y) = ROOM_COLOURS.get(way[-1][0][0], "grey"), spot(way[0])
        path = f"M{x:.1f} {y + 13:.1f}"
        y += 13
        for where in way[1:]:
            to_x, to_y = spot(where)
            last = where == way[-1]
            to_y -= 14
            path += f"C{x:.1f} {(y + to_y) / 2:.1f} {to_x:.1f} {(y + to_y) / 2:.1f} {to_x:.1f} {to_y:.1f}" + ("" if last else "v28")
            x, y = to_x, to_y + 28
        d.path(path, colour, 1.2)
    for row, spots in enumerate(rows):
        for room, passes in spots:
            if passes is None:
                (x, y), wide = spot(((room, None), row)), max(width_of(room) + 16, 48)
                d.box(x - wide / 2, y - 13, wide, 26, room, ROOM_COLOURS.get(room, "grey"))
    x = 20
    for colour, word in ROOM_WORDS:
        d.rect(x, d.height - 20, 12, 12, f"f-{colour}", 2)
        d.text(x + 17, d.height - 10, word, size=11)
        x += width_of(word, 11) + 31
    return d


FIGURES = {"edge_kinds": edge_kinds, "rooms": rooms}
WITH_COMMAND = set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file differs")
    parser.add_argument("--bin", help="folder with the command chakra")
    parser.add_argument("--list", action="store_true", help="print the names of the figures")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    if args.list:
        print("\n".join(FIGURES))
        return
    if unknown := set(args.names) - set(FIGURES):
        parser.error(f"unknown figure {sorted(unknown)[0]}; known: {', '.join(FIGURES)}")
    chakra = os.path.abspath(os.path.join(args.bin or os.path.join(ROOT, "build", "release", "bin"), "chakra"))
    if not os.path.exists(chakra):
        if args.bin:
            parser.error(f"{chakra} does not exist")
        chakra = None
    differ = []
    for name in args.names or FIGURES:
        if name in WITH_COMMAND and not chakra:
            print(f"{name}: skipped; it needs --bin DIR, the folder with chakra", file=sys.stderr)
            continue
        text, path = FIGURES[name](chakra).svg(), os.path.join(PICTURES, name + ".svg")
        old = read(path) if os.path.exists(path) else ""
        if text != old and args.check:
            differ.append(name)
        elif text != old:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"docs/pictures/{name}.svg")
    if differ:
        sys.exit(f"not up to date: {', '.join(differ)}; python3 tools/figures.py {' '.join(differ)} makes them")


if __name__ == "__main__":
    main()
