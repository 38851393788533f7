#!/usr/bin/env python3
"""Repeats a pair of recordings, so that there are large ones to measure with.

    repeat_trace.py N HOST.json[.gz] DEVICE.json[.gz] OUT_HOST.json OUT_DEVICE.json

Each copy follows the one before in time; node ids, record-function ids, external ids, event indices and
correlations are shifted so that they stay unique. Written a record per line, as PyTorch does.
"""
import gzip
import json
import sys
from decimal import Decimal

# Arguments of events that number something; those of a row count the same things.
NUMBERED = [("correlation", "wait_on_cuda_event_record_corr_id"), ("External id", "external id"), ("Ev Idx",)]


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        return json.loads(file.read(), parse_float=Decimal)


class Encoder(json.JSONEncoder):
    def default(self, value):
        return float(value) if isinstance(value, Decimal) else super().default(value)


def dumps(value):
    return json.dumps(value, cls=Encoder)


def write(path, document, key, records):
    with open(path, "w", encoding="utf-8") as file:
        file.write("{\n")
        for name, value in document.items():
            if name != key:
                file.write(f"  {dumps(name)}: {dumps(value)},\n")
        file.write(f'  "{key}": [\n')
        first = True
        for record in records:
            file.write(("" if first else ",\n") + "    " + dumps(record))
            first = False
        file.write("\n  ]\n}\n")


def host_copies(document, count):
    nodes = document["nodes"]
    step = max(node["id"] for node in nodes) + 1
    rf_step = 1 + max(a["value"] for node in nodes for a in node["attrs"] if a["name"] == "rf_id")
    root = next(node for node in nodes if node["name"].endswith("|process]"))
    for copy in range(count):
        def shifted(node_id, copy=copy):
            return node_id if node_id == root["id"] else node_id + copy * step
        for node in nodes:
            if node is root and copy < count - 1:
                continue
            attrs = [dict(a, value=a["value"] + copy * rf_step) if a["name"] == "rf_id" and a["value"] else a for a in node["attrs"]]
            yield dict(node, id=shifted(node["id"]), ctrl_deps=shifted(node["ctrl_deps"]), attrs=attrs)


def device_copies(document, count, rf_step):
    events = [e for e in document["traceEvents"] if e.get("ph") == "X" or e.get("ph") == "M"]
    timed = [e for e in events if e["ph"] == "X"]
    begin = min(e["ts"] for e in timed)
    span = max(e["ts"] + e.get("dur", 0) for e in timed) - begin + 100
    steps = {key: 1 + max((e.get("args", {}).get(key) or 0 for e in timed for key in keys), default=0) for keys in NUMBERED for key in keys}
    steps["Record function id"] = rf_step
    for copy in range(count):
        for event in events:
            if event["ph"] == "M":
                if copy == 0:
                    yield event
                continue
            args = dict(event.get("args", {}))
            for key, step in steps.items():
                if args.get(key, -1) > 0 or (key == "correlation" and key in args):
                    args[key] += copy * step
            yield dict(event, ts=event["ts"] + copy * span, args=args)


def main():
    count = int(sys.argv[1])
    host, device = load(sys.argv[2]), load(sys.argv[3])
    rf_step = 1 + max(a["value"] for node in host["nodes"] for a in node["attrs"] if a["name"] == "rf_id")
    write(sys.argv[4], host, "nodes", host_copies(host, count))
    write(sys.argv[5], device, "traceEvents", device_copies(device, count, rf_step))


if __name__ == "__main__":
    main()
