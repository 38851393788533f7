#!/usr/bin/env python3
"""Chakra traces without chakra: a reader and writer of .et in plain Python, for tests.

It shares no code with the product, so that what it finds in a file is an outside opinion.

    et.py longest FILE      the longest path over data_deps with dur_ns and dep_lag_ns, and the same
                            with the durations of device nodes halved (JSON, nanoseconds)
    et.py write FILE        a trace from its text form on standard input (see encode())
    et.py dump FILE         the nodes, a line each
    et.py scale FILE OUT ATTRIBUTE=VALUE FACTOR
                            the trace with dur_ns of the nodes with that attribute times FACTOR
    et.py delay FILE OUT ID NS
                            the trace with NS added to the dur_ns of a node
"""
import gzip
import json
import sys
from fractions import Fraction

NODE_TYPES = ["INVALID", "META", "LOAD", "STORE", "COMP", "SEND", "RECV", "COLL"]
COMM_TYPES = ["ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL",
              "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"]
MEMBERS = {"i32": 7, "i64": 9, "u32": 11, "u64": 13, "bool": 27, "str": 29}


# ---- reading ------------------------------------------------------------------------------------------

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """(number, value) of each field; varints as int, fixed as bytes, the rest as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            value = data[at:at + size]
            at += size
        else:
            size = 8 if wire == 1 else 4
            value = data[at:at + size]
            at += size
        yield number, value


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def packed(value):
    if isinstance(value, int):
        return [value]
    values, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        values.append(one)
    return values


def attribute(data):
    name, value = "", None
    for number, field in fields(data):
        if number == 1:
            name = field.decode()
        elif number in (7, 9):
            value = signed(field)
        elif number in (11, 13, 27):
            value = field
        elif number in (10, 12):
            value = [signed(v) for _, list_ in fields(field) for v in packed(list_)]
        elif number == 29:
            value = field.decode()
    return name, value


def read(path):
    """The metadata's attributes, and a dict per node."""
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    messages, at = [], 0
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        at += size
    metadata = dict(attribute(f) for number, f in fields(messages[0]) if number == 2)
    nodes = []
    for message in messages[1:]:
        node = {"id": 0, "name": "", "type": 0, "ctrl": [], "deps": [], "start_us": 0, "dur_us": 0, "attrs": {}}
        for number, field in fields(message):
            if number == 1:
                node["id"] = field
            elif number == 2:
                node["name"] = field.decode(errors="replace")
            elif number == 3:
                node["type"] = field
            elif number == 4:
                node["ctrl"] += packed(field)
            elif number == 5:
                node["deps"] += packed(field)
            elif number == 6:
                node["start_us"] = field
            elif number == 7:
                node["dur_us"] = field
            elif number == 10:
                name, value = attribute(field)
                node["attrs"][name] = value
        nodes.append(node)
    return metadata, nodes


def longest_path(nodes, device_share=Fraction(1)):
    """When the last node ends if each starts as soon as its dependencies and their lags allow."""
    end = {}
    waiting = {node["id"]: node for node in nodes}
    order = []
    state = {}
    for root in waiting:  # depth first, without recursion
        stack = [root]
        while stack:
            node = stack[-1]
            if state.get(node) == 2:
                stack.pop()
            elif state.get(node) == 1:
                state[node] = 2
                order.append(node)
                stack.pop()
            else:
                state[node] = 1
                for dep in waiting[node]["deps"]:
                    if state.get(dep) == 1:
                        raise ValueError(f"cycle at node {dep}")
                    if dep not in state:
                        stack.append(dep)
    for id_ in order:
        node = waiting[id_]
        attrs = node["attrs"]
        lags = attrs.get("dep_lag_ns") or [0] * len(node["deps"])
        start = max([end[dep] + lag for dep, lag in zip(node["deps"], lags)], default=0)
        duration = Fraction(attrs["dur_ns"] if "dur_ns" in attrs else node["dur_us"] * 1000)
        if attrs.get("is_cpu_op") == 0:
            duration *= device_share
        end[id_] = max(start, 0) + duration
    return max(end.values(), default=Fraction(0))


# ---- writing ------------------------------------------------------------------------------------------

def put_varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def put(number, value):
    if isinstance(value, bytes):
        return put_varint(number << 3 | 2) + put_varint(len(value)) + value
    return put_varint(number << 3) + put_varint(value)


def put_attribute(key, text):
    """key=value with the member guessed, or key:i32=value with the member named."""
    name, _, member = key.partition(":")
    if name == "comm_type" and text in COMM_TYPES:
        text = str(COMM_TYPES.index(text))
    if not member:
        member = "bool" if text in ("true", "false") else "str" if not text.lstrip("-").isdigit() else "i64"
        if name == "pg_name":
            member = "str"
    value = text.encode() if member == "str" else int(text in ("true", "1")) if member == "bool" else int(text)
    return put(1, name.encode()) + put(MEMBERS[member], value)


def encode(text):
    """A line per node: ID TYPE NAME [deps=1,2] [ctrl=3] [start_us=] [dur_us=] [attribute=value ...].
    A first line 'metadata [attribute=value ...]' may stand before them. '#' begins a comment."""
    out = bytearray()

    def message(body):
        out.extend(put_varint(len(body)) + body)

    lines = [line.split("#")[0].split() for line in text.splitlines()]
    lines = [line for line in lines if line]
    head = lines.pop(0)[1:] if lines and lines[0][0] == "metadata" else []
    message(put(1, b"0.0.4") + b"".join(put(2, put_attribute(*item.split("=", 1))) for item in head))
    for id_, type_, name, *items in lines:
        body = put(1, int(id_)) + put(2, name.encode()) + put(3, NODE_TYPES.index(type_))
        for key, value in (item.split("=", 1) for item in items):
            if key in ("deps", "ctrl"):
                for dep in value.split(","):
                    body += put(5 if key == "deps" else 4, int(dep))
            elif key == "start_us":
                body += put(6, int(value))
            elif key == "dur_us":
                body += put(7, int(value))
            else:
                body += put(10, put_attribute(key, value))
        message(body)
    return bytes(out)


def with_durations(data, change):
    """The file with each node's dur_ns put through change(id, attributes, dur_ns); all else byte for byte."""
    out, at, first = bytearray(), 0, True
    while at < len(data):
        size, at = varint(data, at)
        message, body, at = data[at:at + size], bytearray(), at + size
        items = list(fields(message))
        attrs = dict(attribute(value) for key, value in items if key == 10)
        id_ = next((value for key, value in items if key == 1), 0)
        if first or "dur_ns" not in attrs:
            body += message
        else:
            for key, value in items:
                if key == 10 and attribute(value)[0] == "dur_ns":
                    value = put_attribute("dur_ns:i64", str(int(change(id_, attrs, attrs["dur_ns"]))))
                body += put(key, value)
        out += put_varint(len(body)) + body
        first = False
    return bytes(out)


def number(value):
    return int(value) if value == int(value) else float(value)


def main():
    verb, path = sys.argv[1:3]
    if verb == "longest":
        _, nodes = read(path)
        print(json.dumps({"replayed_ns": number(longest_path(nodes)),
                          "half_device_ns": number(longest_path(nodes, Fraction(1, 2)))}))
    elif verb == "write":
        with open(path, "wb") as file:
            file.write(encode(sys.stdin.read()))
    elif verb in ("scale", "delay"):
        out, what, amount = sys.argv[3:6]

        def change(id_, attrs, dur_ns):
            if verb == "delay":
                return dur_ns + int(amount) if id_ == int(what) else dur_ns
            name, value = what.split("=")
            return dur_ns * float(amount) if str(attrs.get(name)) == value else dur_ns

        with open(path, "rb") as file:
            changed = with_durations(file.read(), change)
        with open(out, "wb") as file:
            file.write(changed)
    elif verb == "dump":
        metadata, nodes = read(path)
        print("metadata", metadata)
        for node in nodes:
            print(node["id"], NODE_TYPES[node["type"]], node["name"], "deps", node["deps"], "ctrl", node["ctrl"], node["attrs"])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
