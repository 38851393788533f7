#!/usr/bin/env python3
"""Compares traces that chakra links from exports of Nsight Systems with the export itself, read by Python's sqlite3.

    nsys_oracle.py [--bin DIR] FILE.sqlite...

Of each process of a file that used a device, every kernel, copy and memset must be a node with the same name, duration, stream and start (but for one
offset), every CUDA call must be on its thread, and each device operation must depend on the call of its correlation id.
"""
import argparse
import collections
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAUNCH = 2  # the kind of an edge


def open_base(path):
    return sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)


def processes(path):
    """The globalPid of each process with device operations; None for exports without that column."""
    base, found = open_base(path), set()
    for (table,) in base.execute("select name from sqlite_master where type = 'table'").fetchall():
        if table.startswith("CUPTI_ACTIVITY_KIND_") and table.rsplit("_", 1)[1] in ("KERNEL", "MEMCPY", "MEMSET"):
            if "globalPid" not in [column[1] for column in base.execute(f"pragma table_info({table})")]:
                return [None]
            found |= {pid for (pid,) in base.execute(f"select distinct globalPid from {table}")}
    return sorted(found) or [None]


def known_processes(path):
    try:
        return processes(path)
    except sqlite3.DatabaseError as error:
        print(f"{os.path.basename(path)}: not compared: {error}")
        return []


def wanted(path, process):
    """Device operations as (name, start, duration, device, stream, name of the launching call), by sqlite3."""
    base = open_base(path)
    of_ops = "" if process is None else f" where globalPid = {process}"
    of_calls = "" if process is None else f" where globalTid >> 24 = {process >> 24}"
    tables = {row[0] for row in base.execute("select name from sqlite_master where type = 'table'")}
    names = dict(base.execute("select id, value from StringIds"))
    calls = {}
    if "CUPTI_ACTIVITY_KIND_RUNTIME" in tables:
        for correlation, name in base.execute("select correlationId, nameId from CUPTI_ACTIVITY_KIND_RUNTIME" + of_calls):
            calls[correlation] = names[name].rsplit("_v", 1)[0] if names[name].rsplit("_v", 1)[-1].isdigit() else names[name]
    ops = []
    if "CUPTI_ACTIVITY_KIND_KERNEL" in tables:
        ops += [(names[name], *rest) for name, *rest in base.execute(
            "select demangledName, start, end - start, deviceId, streamId, correlationId from CUPTI_ACTIVITY_KIND_KERNEL" + of_ops)]
    if "CUPTI_ACTIVITY_KIND_MEMCPY" in tables:
        if "ENUM_CUDA_MEMCPY_OPER" not in tables:
            raise ValueError("an export without the names of copies (ENUM_CUDA_MEMCPY_OPER) cannot be compared")
        copies, memories = (dict(base.execute(f"select id, label from {table}")) for table in ("ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND"))
        copies = {kind: re.sub(r"(\w)\w*-to-(\w)\w*", r"\1to\2", label) for kind, label in copies.items()}
        ops += [(f"Memcpy {copies[kind]} ({memories[a]} -> {memories[b]})", *rest) for kind, a, b, *rest in base.execute(
            "select copyKind, srcKind, dstKind, start, end - start, deviceId, streamId, correlationId from CUPTI_ACTIVITY_KIND_MEMCPY" + of_ops)]
    if "CUPTI_ACTIVITY_KIND_MEMSET" in tables:
        ops += [("Memset (Device)", *rest) for rest in base.execute(
            "select start, end - start, deviceId, streamId, correlationId from CUPTI_ACTIVITY_KIND_MEMSET" + of_ops)]
    return sorted(((*op[:-1], calls.get(op[-1])) for op in ops), key=lambda op: (*op[:5], op[5] or "")), len(calls)


def linked(nodes):
    """The same of a trace: nodes with a stream; the launch is the edge of that kind."""
    ops = []
    for node in nodes.values():
        attrs = node["attrs"]
        if "stream" not in attrs or node["name"].startswith("[chakra|"):
            continue
        launches = [nodes[dep]["name"] for dep, kind in zip(node["deps"], attrs.get("dep_kinds", [])) if kind == LAUNCH]
        ops.append((node["name"], attrs["ts_ns"], attrs["dur_ns"], attrs["device"], attrs["stream"], launches[0] if launches else None))
    return sorted(ops, key=lambda op: (*op[:5], op[5] or ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    chakra = os.path.join(options.bin, "chakra")
    failed = 0
    for path, process in [(file, process) for file in options.files for process in known_processes(file)]:
        choice = [] if process is None else ["--process", str(process >> 24 & 0xffffff)]
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.0.et")
            done = subprocess.run([chakra, "link", path, "-o", trace, *choice], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                print(f"{os.path.basename(path)}: {done.stderr.strip()}")
                continue
            checked = subprocess.run([chakra, "check", trace], capture_output=True, text=True, check=False)
            nodes = {node["id"]: node for node in et.read(trace)[1]}
            got = linked(nodes)
            try:
                ops, calls = wanted(path, process)
            except ValueError as error:
                print(f"{os.path.basename(path)}: not compared: {error}")
                continue
        problems = []
        if checked.returncode != 0:
            problems.append(checked.stdout.strip())
        if [op[0] for op in got] != [op[0] for op in ops] or collections.Counter(op[2:5] for op in got) != collections.Counter(op[2:5] for op in ops):
            problems.append("other device operations")
        if len({a[1] - b[1] for a, b in zip(got, ops)}) > 1:
            problems.append("other starts")
        if [op[5] for op in got] != [op[5] for op in ops]:
            problems.append("other launches")
        failed += bool(problems)
        check = next((line for line in done.stdout.splitlines() if "self" in line), "").strip()
        print(f"{' '.join([os.path.basename(path), *choice[1:]])}: {len(ops)} device operations, {calls} calls, {len(nodes)} nodes; "
              f"{'; '.join(problems) or 'equal'}; {check}")
    return failed > 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import et
    sys.exit(main())
