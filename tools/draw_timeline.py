#!/usr/bin/env python3
"""Draws a timeline in Chrome's trace event format as a picture, for documents.

    draw_timeline.py FILE.json OUT.svg [FROM_MS TO_MS]

One row per nesting level of each track, slices too narrow to see left out, arrows for flows. Readable on light and dark pages.
"""
import collections
import html
import json
import sys

WIDTH, LABEL, ROW, DEPTH = 1200, 150, 13, 5
COLOURS = {"COMM_COLL_NODE": "#d1495b", "COMM_SEND_NODE": "#d1495b", "COMM_RECV_NODE": "#d1495b"}
STYLE = """<style>.rank{font-weight:bold;font-size:11px}.back{fill:#fff}.ink{fill:#1f2328}.flow{stroke:#222;fill:none;stroke-width:1}.tick{stroke:#ddd}
@media (prefers-color-scheme: dark){.back{fill:#0d1117}.ink{fill:#e6edf3}.flow{stroke:#e6edf3}.tick{stroke:#343b44}}</style>
"""
PALETTE = ["#5b8e7d", "#8cb369", "#f4e285", "#f4a259", "#7d8491", "#9fb8ad", "#b5c99a", "#a3b18a"]


def drawn(events, begin=None, end=None):
    """The picture of trace events as SVG; `begin` and `end` in microseconds, by default all of it."""
    slices = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in slices) if begin is None else begin
    end = max(e["ts"] + e["dur"] for e in slices) if end is None else end
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    tracks = collections.defaultdict(list)
    for e in slices:
        tracks[e["pid"], e["tid"]].append(e)

    def x(ts):
        return LABEL + (ts - begin) / (end - begin) * (WIDTH - LABEL - 10)

    body, y, rank = [], 34, None
    top = {}
    for track in sorted(tracks):
        if track[0] != rank:
            rank = track[0]
            body.append(f'<text x="6" y="{y + 10}" class="rank ink">rank {rank}</text>')
            y += 18
        depth, around = 0, []
        top[track] = y
        rows = 1
        for e in sorted(tracks[track], key=lambda e: (e["ts"], -e["dur"])):
            while around and around[-1] <= e["ts"]:
                around.pop()
            depth = len(around)
            around.append(e["ts"] + e["dur"])
            width = x(e["ts"] + e["dur"]) - x(e["ts"])
            if depth >= DEPTH or width < 0.4 or e["ts"] + e["dur"] < begin or e["ts"] > end:
                continue
            rows = max(rows, depth + 1)
            left = max(x(e["ts"]), LABEL)
            right = min(x(e["ts"] + e["dur"]), WIDTH - 10)
            colour = COLOURS.get(e["cat"]) or PALETTE[sum(map(ord, e["name"])) % len(PALETTE)]
            body.append(f'<rect x="{left:.1f}" y="{y + depth * ROW}" width="{max(right - left, 0.4):.1f}" height="{ROW - 1}" fill="{colour}"/>')
            fits = int((right - left) / 6)
            if fits >= 4:
                name = e["name"] if len(e["name"]) <= fits else e["name"][:fits - 1] + "…"
                body.append(f'<text x="{left + 2:.1f}" y="{y + depth * ROW + 9}">{html.escape(name)}</text>')
        body.append(f'<text x="6" y="{y + 9}" class="ink">{html.escape(names.get(track, ""))}</text>')
        y += rows * ROW + 8
    ends = collections.defaultdict(dict)
    for e in events:
        if e["ph"] in "sf":
            ends[e["id"]][e["ph"]] = e
    for flow in ends.values():
        s, f = flow["s"], flow["f"]
        if begin <= s["ts"] <= end and begin <= f["ts"] <= end:
            body.append(f'<path d="M {x(s["ts"]):.1f} {top[s["pid"], s["tid"]] + 6} L {x(f["ts"]):.1f} {top[f["pid"], f["tid"]] + 6}" class="flow"/>')
    ticks = []
    step = 10 ** (len(str(int((end - begin) / 1000))) - 1) or 1
    tick = -(-begin // (step * 1000)) * step * 1000
    while tick <= end:
        ticks.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="20" y2="{y}" class="tick"/>'
                     f'<text x="{x(tick) + 2:.1f}" y="16" class="ink">{tick / 1000:g} ms</text>')
        tick += step * 1000
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="9">\n{STYLE}'
            f'<rect width="{WIDTH}" height="{y}" class="back"/>\n' + "\n".join(ticks + body) + "\n</svg>\n")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    part = [float(milliseconds) * 1000 for milliseconds in sys.argv[3:5]] if len(sys.argv) > 4 else []
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(drawn(events, *part))


if __name__ == "__main__":
    main()
