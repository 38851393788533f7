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

import draw_timeline
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


ROOM_COLOURS = {"base": "grey", "des": "grey", "answer": "grey", "json": "grey", "schema": "grey", "filetype": "grey", "options": "grey", "pack": "grey",
                "trace": "blue", "io": "blue", "feed": "blue", "feeders": "blue", "result": "blue", "edit": "blue", "gen": "teal", "foreign": "teal",
                "model": "teal", "recording": "teal", "flight": "teal", "link": "teal", "match": "green", "check": "green", "analyze": "green", "net": "orange",
                "coll": "orange", "work": "orange", "device": "orange", "calibrate": "orange", "sim": "red", "recorded": "red", "replay": "red",
                "replay_fabric": "red", "replay_torch": "red", "astra": "red", "whatif": "red", "doctor": "teal",
                "view": "purple", "job": "purple", "linking": "purple", "generate": "purple", "convert": "purple", "run": "purple", "query": "purple",
                "report": "purple", "sweep": "purple", "fleet": "purple", "share": "purple", "certify": "purple", "list": "purple", "facade": "purple",
                "cli": "purple"}
ROOM_WORDS = (("grey", "foundation"), ("blue", "traces, files, feeding"), ("teal", "sources of traces"), ("green", "checks and analyses"),
              ("orange", "networks and devices"), ("red", "runs"), ("purple", "verbs and the command"))


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

    def place(spot, row, side):
        others = near.get((spot, row, side), [])
        return sum(at[o] for o in others) / len(others) if others else at[spot, row]
    for sweep in range(40):
        side = "down" if sweep % 2 == 0 else "up"
        for row in range(len(rows)) if side == "down" else range(len(rows) - 1, -1, -1):
            rows[row] = [spot for _, _, spot in sorted((place(spot, row, side), i, spot) for i, spot in enumerate(rows[row]))]
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


# timeline_explained: rank -> lane -> slices (from, to, text, kind), in microseconds.
SLICES = (
    {"CPU thread": [(0, 15, "forward", "host"), (17, 34, "backward", "host"), (36, 52, "optimizer", "host")],
     "stream 7": [(15, 60, "forward", "compute"), (60, 112, "backward", "compute"), (164, 190, "optimizer", "compute")],
     "stream 20": [(60, 78, "send", "comm"), (112, 134, "waits", "comm"), (134, 160, "all-reduce", "comm")]},
    {"CPU thread": [(0, 15, "forward", "host"), (17, 34, "backward", "host"), (36, 52, "optimizer", "host")],
     "stream 7": [(78, 134, "forward and backward", "compute"), (164, 190, "optimizer", "compute")],
     "stream 20": [(15, 78, "receive", "message"), (134, 160, "all-reduce", "comm")]},
)
SENT = 60  # the message is under way from here
ACCOUNT = {"computes": "green", "communicates, exposed": "pink", "host-bound": "blue", "pipeline bubble": "yellow", "idle": "grey"}


def account_of(lanes, moment):
    """Where the time of a rank goes at a moment: the first of ACCOUNT that holds, as docs/explanation/simulation.md has it."""
    kinds = {kind for slices in lanes.values() for begin, end, _, kind in slices if begin <= moment < end}
    if "compute" in kinds:
        return "computes"
    if "comm" in kinds or ("message" in kinds and moment >= SENT):
        return "communicates, exposed"
    if "host" in kinds:
        return "host-bound"
    return "pipeline bubble" if "message" in kinds else "idle"


def timeline_explained(_):
    d = Drawing(940, 460, "A timeline of two ranks, and how each moment of a rank is accounted for")
    left, scale, high, y = 128, 4.15, 24, 34
    colours = {"host": "blue", "compute": "green", "comm": "pink", "message": "pink"}
    for tick in range(0, 191, 20):
        d.line(left + tick * scale, 22, left + tick * scale, 326)
        d.text(left + tick * scale, 16, f"{tick} us", "middle", 11, "second")
    tops = []
    for rank, lanes in enumerate(SLICES):
        tops.append(y)
        d.text(10, y + 10, f"rank {rank}", bold=True, size=13)
        y += 16
        for lane, slices in lanes.items():
            d.text(118, y + 16, lane, "end", 11.5)
            for begin, end, text, kind in slices:
                d.box(left + begin * scale, y, (end - begin) * scale, high, text, colours[kind], 11, 3)
            y += high + 6
        pieces = []
        for moment in range(190):
            word = account_of(lanes, moment)
            if pieces and pieces[-1][2] == word:
                pieces[-1][1] = moment + 1
            else:
                pieces.append([moment, moment + 1, word])
        d.text(118, y + 14, "accounted as", "end", 11.5, "second")
        for begin, end, word in pieces:
            d.rect(left + begin * scale, y + 3, (end - begin) * scale, 14, f"d-{ACCOUNT[word]}")
        y += high + 14
    d.curve(left + 60 * scale + 6, tops[0] + 100, left + 78 * scale - 4, tops[1] + 76, "pink", dashed=True)
    d.arrow(left + 12 * scale, tops[0] + 40, left + 18 * scale, tops[0] + 47, "blue")
    d.line(left + 134 * scale, tops[0] + 100, left + 134 * scale, tops[1] + 100, "l-pink", 1.4, ' stroke-dasharray="5 3"')
    for number, (x, at) in enumerate(((10, tops[0] + 56), (76.5, tops[0] + 77), (132, tops[0] + 77), (158, tops[0] + 77), (60, tops[1] + 100)), 1):
        d.badge(left + x * scale, at, str(number), "orange")
    words = ("launch: a call on the CPU starts a kernel", "hidden communication: the rank computes meanwhile",
             "waiting in a collective: rank 1 arrives at the dashed line", "exposed communication: all members have arrived",
             "bubble: the message has not been sent yet")
    for place, word in enumerate(words):
        x, at = 24 + place % 2 * 470, 358 + place // 2 * 24
        d.badge(x, at - 4, str(place + 1), "orange")
        d.text(x + 16, at, word, size=11.5)
    x = 24
    for word, colour in ACCOUNT.items():
        d.rect(x - 8, 442 - 10, 14, 12, f"d-{colour}")
        d.text(x + 12, 442, word, size=11.5)
        x += width_of(word, 11.5) + 44
    return d


def simulated(chakra, place, network, *options):
    out = os.path.join(place, "result.json")
    with open(os.path.join(place, "network.yml"), "w", encoding="utf-8") as file:
        file.write(network)
    subprocess.run([chakra, "sim", "job", "--network", "network.yml", "--json", "result.json", *options], cwd=place, check=True, capture_output=True)
    with open(out, encoding="utf-8") as file:
        return json.load(file)


def generated(chakra, place, *options):
    subprocess.run([chakra, "gen", "step", "--preset", "tiny", "-o", "job", *options], cwd=place, check=True, capture_output=True)


def folding(chakra):
    network = "topology: [ FullyConnected, Switch ]\nnpus_count: [ 2, 16 ]\nbandwidth: [ 400, 50 ]\nlatency: [ 100, 1000 ]\n"
    cases = (("all ranks run at one speed", []), ("ranks 6 and 7 are slow", [6, 7]), ("rank 5 is slow", [5]))
    d = Drawing(940, 330, "Ranks that are simulated once: a job of 32 ranks, with slow ranks and without")
    names = list("blue orange green purple pink teal yellow red".split())
    with tempfile.TemporaryDirectory() as place:
        generated(chakra, place, "--dp", "4")  # tp 2 x pp 4 x dp 4
        for panel, (title, slow) in enumerate(cases):
            with open(os.path.join(place, "system.json"), "w", encoding="utf-8") as file:
                json.dump({"ranks": {str(rank): {"speed": 0.5} for rank in slow}}, file)
            result = simulated(chakra, place, network, "--congestion", "closed", "--system", "system.json")
            actors = [rank["actor"] for rank in result["ranks"]]
            x0 = 66 + panel * 294
            d.text(x0, 24, title, bold=True, size=13)
            d.text(x0, 43, f"{len(actors)} ranks, {len(set(actors))} actors, {result['events']:,} events", size=11.5, kind="second")
            for rank, actor in enumerate(actors):
                x, y = x0 + rank % 8 * 33, 62 + rank // 8 * 52
                same = actors.count(actor) > 1
                d.box(x, y, 29, 40, [str(rank)], names[actor % len(names)] if same else "grey", 11)
                if rank in slow:
                    d.badge(x + 25, y + 2, "!", "red")
    for stage in range(4):
        d.text(8, 86 + stage * 52, f"stage {stage}", size=11.5)
    d.text(66, 288, "A box is a rank. Neighbours of one colour in a stage are one actor: simulated once, with every rank in the result.", size=12)
    d.text(66, 310, "Grey boxes are actors of one rank. ! is a rank at half speed. tp 2 x pp 4 x dp 4, tensor-parallel pairs side by side.", size=12,
           kind="second")
    return d


def fabric_loads(chakra):
    lines = ["ranks: 16", "switches: [ leaf0, leaf1, leaf2, leaf3, spine ]", "links:"]  # as docs/tutorials/first_topology.md
    lines += [f"  - {{ from: {rank}, to: leaf{rank // 4}, bandwidth: 50, latency: 500 }}" for rank in range(16)]
    lines += [f"  - {{ from: leaf{leaf}, to: spine, bandwidth: 50, latency: 700 }}" for leaf in range(4)]
    with tempfile.TemporaryDirectory() as place:
        generated(chakra, place)
        result = simulated(chakra, place, "\n".join(lines) + "\n")
    d = Drawing(940, 430, "What each link of a leaf-spine network carries in a training step of 16 ranks")
    spot = {"spine": (470, 52)} | {f"leaf{leaf}": (125 + leaf * 230, 190) for leaf in range(4)}
    spot |= {str(rank): (125 + rank // 4 * 230 + (rank % 4 - 1.5) * 54, 322) for rank in range(16)}
    links = {(link["from"], link["to"]): link["bytes"] for link in result["links"]}
    asked = {tuple(link["link"].split(" -> ")): link["asked"] for link in result["congestion"]["shared_links"]}
    for (source, target), carried in links.items():
        if links[target, source] != carried:
            raise ValueError(f"{source} and {target}: the directions differ, and the figure has one number for both")
        (x1, y1), (x2, y2) = spot[source], spot[target]
        if y1 > y2:
            d.line(x1, y1, x2, y2, "l-red" if (source, target) in asked else "l-blue", 2 + 7 * carried / max(links.values()))
    for name, (x, y) in spot.items():
        d.box(x - (22 if name.isdigit() else 42), y - 15, 44 if name.isdigit() else 84, 30, name, "grey")
    for leaf in range(4):
        side, x = ("end", -12) if leaf < 2 else ("start", 12)
        x, down = (x * 1.5, 14) if leaf in (1, 2) else (x, 0)
        x += (spot["spine"][0] + 2 * spot[f"leaf{leaf}"][0]) / 3
        d.text(x, 122 + down, f"{links[f'leaf{leaf}', 'spine'] / 1e6:.2f} MB", side, 11.5)
        d.text(x, 137 + down, f"asked for {asked[f'leaf{leaf}', 'spine']:.1f} x", side, 11.5, "t-red")
        ranks = {f"{links[str(rank), f'leaf{leaf}'] / 1e6:.2f}" for rank in range(4 * leaf, 4 * leaf + 4)}
        d.text(spot[f"leaf{leaf}"][0], 360, f"{' and '.join(sorted(ranks))} MB each", "middle", 11.5)
    d.text(24, 394, "A line is a link; each of its directions carries the bytes beside it. The wider the line, the more bytes.", size=12)
    d.text(24, 414, "Red: several ranks share the link, and at a moment they ask for a multiple of its rate, though it carries fewer bytes in all.", size=12)
    return d


def life_of_a_trace(_):
    d = Drawing(940, 386, "The life of a trace: recorded or made, linked, checked, run, answered")
    d.box(20, 40, 150, 46, ["host trace", "operators, tensors"], "teal", 11.5)
    d.box(20, 104, 150, 46, ["Kineto trace", "measured times"], "teal", 11.5)
    d.box(20, 218, 150, 40, ["model, workload", "or program"], "grey", 11)
    d.box(226, 70, 84, 50, ["link"], "blue", 13)
    d.box(226, 212, 84, 52, ["gen, import", "C++ library"], "blue", 11.5)
    d.box(370, 130, 150, 70, ["traces", "one graph per rank", "trace.RANK.et"], "purple", 12)
    d.box(392, 30, 106, 40, "check", "green", 13)
    d.box(370, 262, 150, 40, "convert, pack", "grey", 12)
    targets = ((34, "analyze, diff", "orange", "tables: where time went"), (104, "sim", "red", "results, timeline"),
               (174, "replay", "red", "the same traffic, for real"), (244, "feed", "red", "a simulator of your own"),
               (314, "view", "orange", "timeline, graph"))
    for y, word, colour, answer in targets:
        d.box(590, y, 110, 38, word, colour, 13)
        d.box(742, y, 184, 38, answer, "grey", 12)
        d.path(f"M520 165C555 165 555 {y + 19} 590 {y + 19}", "purple")
        d.arrow(700, y + 19, 742, y + 19, "grey")
    d.path("M170 63C200 63 200 88 226 88", "teal")
    d.path("M170 127C200 127 200 102 226 102", "teal")
    d.arrow(170, 238, 226, 238, "grey")
    d.path("M310 95C345 95 340 150 370 150", "blue")
    d.path("M310 238C345 238 340 182 370 182", "blue")
    d.path("M425 130L425 70", "purple")
    d.path("M465 70L465 130", "green")
    d.path("M425 200L425 262", "purple")
    d.path("M465 262L465 200", "purple")
    d.text(473, 104, "unchanged", size=11, kind="second")
    d.text(473, 236, "same graph", size=11, kind="second")
    for x, y, number in ((20, 40, 1), (226, 70, 2), (370, 130, 3), (392, 30, 4), (590, 104, 5), (742, 104, 6)):
        d.badge(x, y, str(number), "blue")
    d.text(20, 372, "Numbers are the sections of this page.", size=11.5, kind="second")
    return d


def error_sources(_):
    found = re.search(r"^ *job +([\d.]+ ms) +([\d.]+ ms) +([+-][\d.]+ %) +([\d.]+ ms) +([+-][\d.]+ %)", read("README.md"), re.MULTILINE)
    measured, replayed, graph, simulated_time, network = found.groups()
    d = Drawing(940, 332, "The three sources of error of a prediction, and what measures each of them")
    stops = (("the job", "as measured", measured, "grey"), ("recorded transfers", "the graph alone", replayed, "blue"),
             ("simulated transfers", "with a network", simulated_time, "orange"), ("another device", "the prediction", "", "red"))
    for place, (title, second, number, colour) in enumerate(stops):
        x = 20 + place * 250
        d.box(x, 46, 150, 62, [title, second] + ([number] if number else []), colour, 12, dashed=not number)
    sources = (("1  graph", "blue", graph, ("a missing or wrong edge,", "wrong lags, lost records"), ("link: each rank by itself;", "sim: the whole job")),
               ("2  network", "orange", network, ("bandwidth, latency, routing,", "algorithm, shared links"), ("sim, on the network of", "the recording")),
               ("3  scaling of compute", "red", "", ("how long a kernel takes", "on a device not recorded"),
                ("calibrate device: shapes", "held out of the fit")))
    for place, (title, colour, error, why, how) in enumerate(sources):
        x = 170 + place * 250
        d.arrow(x, 77, x + 100, 77, colour, width=2.4)
        if error:
            d.text(x + 49, 68, error, "middle", 12, f"t-{colour}", bold=True)
        d.line(x + 50, 84, x + 50, 140, f"l-{colour}", 1.2, ' stroke-dasharray="3 3"')
        left = x - 60
        d.box(left, 140, 220, 26, title, colour, 12.5)
        d.text(left + 6, 188, "comes from", size=11, kind="second")
        d.text(left + 6, 242, "is measured by", size=11, kind="second")
        for line, word in enumerate(why):
            d.text(left + 6, 204 + line * 16, word, size=12)
        for line, word in enumerate(how):
            d.text(left + 6, 258 + line * 16, word, size=12)
    d.text(20, 30, "A prediction passes three models, and each one can add an error. Numbers: the example job of README.md.", size=12)
    d.text(20, 300, "On the network of the recording the second difference is the network's error. On another network, as in this example,", size=12,
           kind="second")
    d.text(20, 317, "it is the answer to a what-if.", size=12, kind="second")
    return d


CALIBRATED = [("aic_gemm_a100_sxm", "gemm"), ("aic_gemm_h100_sglang", "gemm"), ("aic_gemm_h100_sglang", "gemm.fp8_block"),
              ("aic_attention_ctx_a100", "attention"), ("aic_attention_gen_h100", "decode_attention"), ("aic_mla_ctx_h100", "latent_attention"),
              ("aic_mla_gen_h100", "latent_decode"), ("aic_moe_h100", "experts"), ("aic_gdn_h100", "gated_delta"), ("aic_gdn_h100", "conv1d"),
              ("vidur_compute_h100", "activation"), ("vidur_compute_h100", "add"), ("vidur_compute_h100", "embedding"),
              ("vidur_compute_h100", "norm"), ("vidur_compute_h100", "rope")]


def calibrated_rows():
    """(device, kernel, errors in percent: random, blocks, roofline) of CALIBRATED, from the table of docs/explanation/calibration.md."""
    known = {}
    for line in read("docs/explanation/calibration.md").splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        if len(cells) == 7 and cells[0].startswith("`"):
            percents = [re.match(r"([\d.]+) %", cells[place]) for place in (3, 4, 6)]
            if all(percents):
                known.setdefault((cells[0].strip("`"), cells[1].split(",")[0]), (cells[1], [float(p[1]) for p in percents]))
    return [("A100" if "a100" in name else "H100", *known[name, kernel]) for name, kernel in CALIBRATED]


def calibration(_):
    rows = calibrated_rows()
    d = Drawing(940, 108 + 23 * len(rows), "Error of predicted kernel times before and after calibration")
    left, right, top = 250, 900, 58

    def x(percent):
        return left + math.log10(percent) / math.log10(3000) * (right - left)
    for tick in (1, 3, 10, 30, 100, 300, 1000, 3000):
        d.line(x(tick), top - 8, x(tick), d.height - 46)
        d.text(x(tick), top - 14, f"{tick:,} %", "middle", 11, "second")
    d.text(20, 24, "Error of predicted kernel times, on shapes that were held out (logarithmic scale)", bold=True, size=13)
    for place, (device, kernel, (random, blocks, roofline)) in enumerate(rows):
        y = top + 10 + place * 23
        d.text(20, y + 4, kernel)
        d.text(236, y + 4, device, "end", 11.5, "second")
        d.arrow(x(roofline) - 7, y, x(blocks) + 8, y, "grey", width=1.2)
        d.line(x(random), y, x(blocks), y, "l-green", 2)
        d.add(f'<circle cx="{x(roofline):.1f}" cy="{y}" r="5" class="d-red"/>')
        d.add(f'<circle cx="{x(blocks):.1f}" cy="{y}" r="5" class="f-green" stroke-width="1.6"/>')
        d.add(f'<circle cx="{x(random):.1f}" cy="{y}" r="5" class="d-green"/>')
    at = 250
    for kind, word in (("d-red", "before: roofline of the data sheet"), ("d-green", "after: a random third held out"), ("f-green", "after: blocks held out")):
        d.add(f'<circle cx="{at}" cy="{d.height - 20}" r="5" class="{kind}" stroke-width="1.6"/>')
        d.text(at + 11, d.height - 16, word, size=11.5)
        at += width_of(word, 11.5) + 34
    return d


def deadlock(_):
    d = Drawing(760, 262, "Two ranks that wait for each other: two collectives on one stream, in opposite orders")
    for rank, names in enumerate((("all-reduce in group a", "all-gather in group b"), ("all-gather in group b", "all-reduce in group a"))):
        y = 46 + rank * 110
        d.text(14, y + 24, f"rank {rank}", bold=True, size=13)
        d.text(14, y + 40, "stream 20", size=11.5, kind="second")
        d.line(94, y + 23, 746, y + 23)
        for place, name in enumerate(names):
            d.box(120 + place * 330, y, 250, 46, name, "purple" if name.endswith("a") else "teal", 12.5)
        d.arrow(370, y + 23, 450, y + 23, "grey", width=2)
        d.text(410, y + 14, "then", "middle", 11.5, "second")
    d.path("M300 92C330 130 530 120 560 156", "purple", 2.2, dashed=True)
    d.path("M300 156C330 118 530 128 560 92", "teal", 2.2, dashed=True)
    d.text(14, 24, "Each rank runs its first collective until the other rank joins it. Neither ever does.", size=12.5)
    d.text(14, 234, "dashed: the member that is missing, which is queued behind the collective that waits for it", size=12, kind="second")
    d.text(14, 252, "chakra check reports the cycle as check.deadlock before anything runs", size=12, kind="second")
    return d


def timeline(chakra):
    """The first steps of README.md."""
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([chakra, "link", "examples/traces/ddp_gloo_2ranks", "-o", place], cwd=ROOT, check=True, capture_output=True)
        subprocess.run([chakra, "view", place, "-o", os.path.join(place, "timeline.json")], check=True, capture_output=True)
        with open(os.path.join(place, "timeline.json"), encoding="utf-8") as file:
            return draw_timeline.drawn(json.load(file)["traceEvents"])


FIGURES = {"edge_kinds": edge_kinds, "rooms": rooms, "timeline_explained": timeline_explained, "folding": folding, "error_sources": error_sources,
           "fabric_loads": fabric_loads, "life_of_a_trace": life_of_a_trace, "calibration": calibration, "deadlock": deadlock, "timeline": timeline}
WITH_COMMAND = {"folding", "fabric_loads", "timeline"}


def made(name, chakra):
    figure = FIGURES[name](chakra)
    return figure.svg() if isinstance(figure, Drawing) else figure


def outdated():
    """The figures from text alone whose file differs."""
    for name in FIGURES:
        path = os.path.join(PICTURES, name + ".svg")
        if name not in WITH_COMMAND and (not os.path.exists(path) or made(name, None) != read(path)):
            yield name


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
        text, path = made(name, chakra), os.path.join(PICTURES, name + ".svg")
        if os.path.exists(path) and text == read(path):
            continue
        if args.check:
            differ.append(name)
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"docs/pictures/{name}.svg")
    if differ:
        sys.exit(f"not up to date: {', '.join(differ)}; python3 tools/figures.py {' '.join(differ)} makes them")


if __name__ == "__main__":
    main()
