#!/usr/bin/env python3
"""Measures collectives on a network of known rates and sets the simulator's predictions beside them.

    fabric_table.py --bin DIR [--quick] [--note TEXT]   writes docs/reference/fabric_table.md; needs root

Ranks stand in network namespaces of their own, joined by a bridge; a token bucket (tc tbf) limits each rank's link in
both directions. They run collectives with `chakra replay --backend fabric`; `chakra sim --congestion fluid` predicts
the same job. Four constants are fitted to runs of two ranks on sizes that are not judged. All addresses are of these
namespaces, which are removed at the end. --quick: few of the rows, to see that it works; writes no page.
"""
import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import et

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KIB, MIB = 1 << 10, 1 << 20
PREFIX = "chk"                 # of namespaces and interfaces
ADDRESS = "10.213.77."
REPEATS = 6                    # the first one opens windows and empties buckets, and does not count
LONGEST_S = 0.8                # a run that is predicted to take longer is left out
FIT_SIZES = [96 * KIB, 384 * KIB, 1536 * KIB]
SIZES = [64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB]
RATES = [50, 200, 1000]        # Mbit/s
# A rank keeps its memory, as libraries of communication do: new pages for every operation cost more than fast links.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(8 << 30),
               "MALLOC_TOP_PAD_": str(64 * MIB)}
# Shape: name, comm_type, algorithm.
SHAPES = [
    ("all-reduce, ring", "ALL_REDUCE", "ring"),
    ("all-reduce, tree", "ALL_REDUCE", "tree"),
    ("all-gather, ring", "ALL_GATHER", "ring"),
    ("all-to-all, pairwise", "ALL_TO_ALL", "pairwise"),
    ("broadcast, tree", "BROADCAST", "tree"),
    ("incast: gather, linear", "GATHER", "linear"),
]
TWO_JOBS = "two jobs on a link: all-reduce, ring"


# ---- the network --------------------------------------------------------------------------------------

def run(*command, check=True):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def burst_bytes(mbit):
    """A millisecond of the link, as much as timers may be late; 50,000 bytes at most, three Ethernet frames at least."""
    return max(3 * 1514, min(50_000, mbit * 125))


def limit(device, mbit, prefix=()):
    """The queue is long enough that nothing is dropped: what is sent waits in it."""
    run(*prefix, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{mbit}mbit", "burst",
        str(burst_bytes(mbit)), "limit", str(32 * MIB))


class Network:
    """`bridges[i]`: the bridge of rank i; two bridges are joined by a link of the same rate."""

    def __init__(self, bridges, mbit):
        self.bridges, self.mbit = bridges, mbit

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def build(self):
        self.remove()
        for bridge in sorted(set(self.bridges)):
            run("ip", "link", "add", f"{PREFIX}b{bridge}", "type", "bridge")
            run("ip", "link", "set", f"{PREFIX}b{bridge}", "up")
        if len(set(self.bridges)) == 2:
            run("ip", "link", "add", f"{PREFIX}t0", "type", "veth", "peer", "name", f"{PREFIX}t1")
            for end in (0, 1):
                run("ip", "link", "set", f"{PREFIX}t{end}", "master", f"{PREFIX}b{end}", "up")
                limit(f"{PREFIX}t{end}", self.mbit)
        for rank, bridge in enumerate(self.bridges):
            name, host = f"{PREFIX}{rank}", f"{PREFIX}v{rank}"
            inside = ("ip", "netns", "exec", name)
            run("ip", "netns", "add", name)
            run("ip", "link", "add", host, "type", "veth", "peer", "name", "e0", "netns", name)
            run("ip", "link", "set", host, "master", f"{PREFIX}b{bridge}", "up")
            run(*inside, "ip", "addr", "add", f"{ADDRESS}{rank + 1}/24", "dev", "e0")
            run(*inside, "ip", "link", "set", "lo", "up")
            run(*inside, "ip", "link", "set", "e0", "up")
            for setting in ("tcp_congestion_control=cubic", "tcp_slow_start_after_idle=0"):
                run(*inside, "sysctl", "-q", "-w", f"net.ipv4.{setting}", check=False)
            # Segments that the bucket holds at once need not be cut, which costs the processor much.
            run(*inside, "ip", "link", "set", "e0", "gso_max_size", str(min(65536, burst_bytes(self.mbit) * 2 // 3)))
            limit("e0", self.mbit, inside)
            limit(host, self.mbit)

    def remove(self):
        for rank in range(len(self.bridges)):
            run("ip", "netns", "del", f"{PREFIX}{rank}", check=False)
            run("ip", "link", "del", f"{PREFIX}v{rank}", check=False)
        for name in (f"{PREFIX}t0", f"{PREFIX}b0", f"{PREFIX}b1"):
            run("ip", "link", "del", name, check=False)


def network_file(bridges, mbit, constants):
    """The same network as the simulator has it."""
    rate = mbit * 1e6 / 8 * constants["share"] / (1 << 30)
    latency = max(0, constants["message_ns"])
    if len(set(bridges)) == 1:
        return f"topology: [ Switch ]\nnpus_count: [ {len(bridges)} ]\nbandwidth: [ {rate} ]\nlatency: [ {latency / 2} ]\n"
    links = [f"  - {{ from: {r}, to: s{b}, bandwidth: {rate}, latency: {latency / 3} }}" for r, b in enumerate(bridges)]
    links.append(f"  - {{ from: s0, to: s1, bandwidth: {rate}, latency: {latency / 3} }}")
    return f"ranks: {len(bridges)}\nswitches: [ s0, s1 ]\nlinks:\n" + "\n".join(links) + "\n"


# ---- the job ------------------------------------------------------------------------------------------

def comm_size(comm_type, size, ranks):
    """`size` is that of the whole buffer, in bytes; of gathers comm_size is one rank's part of it."""
    part = max(4, size // ranks // 4 * 4)
    return part if comm_type in ("ALL_GATHER", "GATHER") else part * ranks if comm_type == "ALL_TO_ALL" else size


def write_job(folder, groups, comm_type, sizes):
    """A trace for each rank: each size REPEATS times, behind a barrier of all."""
    ranks = sorted(itertools.chain(*groups))
    listed = [{"pg_name": "all", "ranks": ranks, "group_size": len(ranks)}]
    listed += [{"pg_name": f"g{i}", "ranks": group, "group_size": len(group)} for i, group in enumerate(groups)]
    for rank in ranks:
        group = next(i for i, members in enumerate(groups) if rank in members)
        groups_text = json.dumps(listed, separators=(',', ':'))
        lines = [f"metadata rank={rank} process_groups={groups_text}"]
        node = 0
        for size in sizes:
            own = comm_size(comm_type, size, len(groups[group]))
            for repeat in range(REPEATS):
                for what in ("COLL barrier comm_type=BARRIER comm_size=0 pg_name=all",
                             f"COLL {size}.{repeat} comm_type={comm_type} comm_size={own} comm_dtype=Float "
                             f"comm_root={groups[group][0]} pg_name=g{group}"):
                    node += 1
                    deps = f" deps={node - 1}" if node > 1 else ""
                    lines.append(f"{node} {what}{deps} is_cpu_op=false device=0 stream=1 ts_ns={node} dur_ns=0")
        with open(os.path.join(folder, f"job.{rank}.et"), "wb") as file:
            file.write(et.encode("\n".join(lines)))


def predict(chakra, folder, bridges, mbit, algorithm, constants):
    """Seconds by size, as `chakra sim` has them, and what the constants add for each operation."""
    path = os.path.join(folder, "network.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(network_file(bridges, mbit, constants))
    done = subprocess.run([chakra, "sim", os.path.join(folder, "job"), "--network", path, "--congestion", "fluid",
                           "--collectives", f"barrier: dissemination; {algorithm}", "--json", "-"],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    times = {}
    for row in json.loads(done.stdout)["collectives"]:
        if row["type"] != "BARRIER":
            one = row["total_ps"] / row["count"] / 1e12
            times[row["bytes"]] = max(one, times.get(row["bytes"], 0))
    added = constants["operation_ns"] / 1e9 - constants["burst"] * burst_bytes(mbit) / (mbit * 125e3)
    return {size: max(time + added, 0) for size, time in times.items()}


# ---- fitting ------------------------------------------------------------------------------------------

# Of two ranks: rounds one after the other, and bytes of the buffer that a link carries one after the other.
TWO_RANKS = {"all-reduce, ring": (2, 1), "all-reduce, tree": (2, 2), "all-gather, ring": (1, 0.5),
             "all-to-all, pairwise": (1, 0.5), "broadcast, tree": (1, 1), "incast: gather, linear": (1, 0.5)}


def solve(matrix, right):
    """Gauss with pivots."""
    n = len(right)
    rows = [list(row) + [value] for row, value in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def fit(measured):
    """The constants from (shape, Mbit/s, size) -> seconds; the least sum of relative errors, by reweighted least squares,
    so that a few disturbed runs do not decide."""
    rows = []
    for (shape, mbit, size), seconds in measured.items():
        rounds, share = TWO_RANKS[shape]
        rate = mbit * 125e3
        rows.append([v / seconds for v in (size * share / rate, rounds, 1, -burst_bytes(mbit) / rate)])
    weights = [1.0] * len(rows)
    for _ in range(50):
        square = [[sum(w * r[i] * r[j] for w, r in zip(weights, rows)) for j in range(4)] for i in range(4)]
        found = solve(square, [sum(w * r[i] for w, r in zip(weights, rows)) for i in range(4)])
        weights = [1 / max(abs(sum(f * v for f, v in zip(found, r)) - 1), 1e-3) for r in rows]
    inverse, message, operation, burst = found
    return {"share": 1 / inverse, "message_ns": message * 1e9, "operation_ns": operation * 1e9, "burst": burst}


# ---- measuring ----------------------------------------------------------------------------------------

def start_rank(chakra, folder, rank, ranks, algorithm):
    out = os.path.join(folder, f"times.{rank}.json")
    # A little before other programs: a rank sleeps nearly all the time, and is to be woken at once.
    command = ["chrt", "-f", "5", "ip", "netns", "exec", f"{PREFIX}{rank}", chakra, "replay", os.path.join(folder, "job"),
               "--rank", str(rank), "--ranks", str(ranks), "--rendezvous", os.path.join(folder, "meet"), "--backend", "fabric",
               "--backend-option", "address=e0", "--backend-option", f"collectives=barrier: dissemination; {algorithm}",
               "--compute", "none", "--timeline", out]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            start_new_session=True, env={**os.environ, **KEEP_MEMORY})


def replay(chakra, folder, ranks, algorithm):
    """All ranks, each in its namespace; none is left behind."""
    processes = [start_rank(chakra, folder, rank, ranks, algorithm) for rank in range(ranks)]
    try:
        ends = time.monotonic() + 120
        errors = [p.communicate(timeout=max(0.1, ends - time.monotonic()))[1] for p in processes]
    finally:
        for p in processes:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
    if any(p.returncode for p in processes):
        raise RuntimeError("\n".join(errors))


def measure(chakra, folder, bridges, algorithm):
    """By size, what each repetition took: from the last rank's start to the last one's end."""
    replay(chakra, folder, len(bridges), algorithm)
    started, ended = {}, {}
    for rank in range(len(bridges)):
        with open(os.path.join(folder, f"times.{rank}.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        for event in events:
            if event.get("ph") == "X" and "." in event["name"]:
                name = event["name"]
                started[name] = max(started.get(name, 0), event["ts"])
                ended[name] = max(ended.get(name, 0), event["ts"] + event["dur"])
    seconds = {}
    for name, end in ended.items():
        size, repeat = map(int, name.split("."))
        if repeat > 0:
            seconds.setdefault(size, []).append((end - started[name]) / 1e6)
    return seconds


class Row:
    def __init__(self, shape, ranks, mbit, size, seconds, predicted):
        self.shape, self.ranks, self.mbit, self.size = shape, ranks, mbit, size
        self.measured = statistics.median(seconds)
        self.spread = (max(seconds) - min(seconds)) / self.measured
        self.predicted = predicted
        self.error = predicted / self.measured - 1


def measure_shape(chakra, shape, comm_type, algorithm, bridges, groups, mbit, sizes, constants):
    """Rows of those sizes that do not take too long; the network is there."""
    rough = constants or {"share": 0.95, "message_ns": 1e5, "operation_ns": 0, "burst": 0}
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "job")
        os.mkdir(job)
        write_job(job, groups, comm_type, sizes)
        predicted = predict(chakra, folder, bridges, mbit, algorithm, rough)
        own = {size: comm_size(comm_type, size, len(groups[0])) for size in sizes}
        sizes = [size for size in sizes if predicted[own[size]] < LONGEST_S]
        if not sizes:
            return []
        write_job(job, groups, comm_type, sizes)
        seconds = measure(chakra, folder, bridges, algorithm)
        rows = [Row(shape, len(bridges), mbit, size, seconds[size], predicted[own[size]]) for size in sizes]
        for row in rows:
            say(row)
        return rows


def fit_constants(chakra, rates):
    measured = {}
    for mbit in rates:
        with Network([0, 0], mbit):
            for shape, comm_type, algorithm in SHAPES:
                for row in measure_shape(chakra, shape, comm_type, algorithm, [0, 0], [[0, 1]], mbit, FIT_SIZES, None):
                    measured[shape, mbit, row.size] = row.measured
    return fit(measured), measured


def say(row):
    print(f"{row.shape:40} {row.ranks} ranks {row.mbit:5} Mbit/s {row.size >> 10:6} KiB "
          f"{row.measured * 1e3:9.2f} ms, spread {100 * row.spread:3.0f} %, predicted {row.predicted * 1e3:9.2f} ms, {100 * row.error:+.1f} %",
          flush=True)


def rows_of(chakra, constants, rates, rank_counts, sizes):
    rows = []
    for mbit, ranks in itertools.product(rates, rank_counts):
        with Network([0] * ranks, mbit):
            for shape, comm_type, algorithm in SHAPES:
                rows += measure_shape(chakra, shape, comm_type, algorithm, [0] * ranks, [list(range(ranks))], mbit, sizes,
                                      constants)
    for mbit in rates:
        with Network([0, 0, 1, 1], mbit):
            rows += measure_shape(chakra, TWO_JOBS, "ALL_REDUCE", "ring", [0, 0, 1, 1], [[0, 2], [1, 3]], mbit,
                                  sizes, constants)
    return rows


# ---- the page -----------------------------------------------------------------------------------------

HEAD = """# Measured against predicted: collectives on a limited network

Made by `tools/fabric_table.py` (as root; on a quiet machine). Ranks stand in network namespaces of
their own, joined by a bridge; a token bucket (`tc tbf`) limits each rank's link both ways. They run
collectives with [`fabric`](fabric.md), the plan that is simulated, and `chakra sim --congestion
fluid` predicts the same job on a Switch of that rate. Two jobs on a link: two groups of two ranks,
whose only way is one link of the same rate.

Connections stay open, and windows are not closed between operations, so no slow start is measured;
queues are long enough that nothing is dropped. The ranks run before other programs (`chrt -f 5`): a
program that is woken late sends late. They keep their memory from one operation to the next.

*measured*: median of {repeats} repetitions, from the last rank's start to the last one's end.
*spread*: largest less smallest of them, of the median. *error*: predicted / measured - 1.

"""


def constants_text(constants, count, left):
    return (f"""## Constants

Fitted once to {count} runs of two ranks on sizes of {', '.join(str(s // KIB) for s in FIT_SIZES)} KiB, none of which
is below, and used for all shapes, rates and numbers of ranks. On those runs the fit is off by
{100 * left:.1f} % in the median.

| constant | value | where it goes |
|---|---|---|
| share of the rate that carries data | {constants['share']:.4f} | `bandwidth` of the network file |
| time of a message | {constants['message_ns'] / 1e3:.0f} us | `latency` of the network file, over its links |
| time of an operation | {constants['operation_ns'] / 1e3:.0f} us | added to what the simulator says |
| share of a full bucket that an operation gets for nothing | {constants['burst']:.2f} | its time is taken from what the simulator says |

Of an Ethernet frame of 1,514 bytes TCP carries 1,448: a share of 0.9564.

""")


def summary(rows, key):
    lines = ["| | rows | median | worst | above 15 % |", "|---|---|---|---|---|"]
    for name in sorted({key(row) for row in rows}, key=str):
        errors = [row.error for row in rows if key(row) == name]
        lines.append(f"| {name} | {len(errors)} | {100 * statistics.median(map(abs, errors)):.1f} % "
                     f"| {100 * max(errors, key=abs):+.1f} % | {sum(abs(e) > 0.15 for e in errors)} |")
    return "\n".join(lines)


def page(rows, constants, count, left, note):
    errors = [abs(row.error) for row in rows]
    text = HEAD.format(repeats=REPEATS - 1) + (f"{note}\n\n" if note else "")
    text += (f"**{len(rows)} rows: median error {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %, "
             f"{sum(e > 0.15 for e in errors)} above 15 %.**\n\n")
    text += constants_text(constants, count, left)
    for title, key in (("By shape", lambda r: r.shape), ("By rate, Mbit/s", lambda r: r.mbit),
                       ("By ranks", lambda r: r.ranks), ("By size, KiB", lambda r: r.size // KIB)):
        text += f"## {title}\n\n{summary(rows, key)}\n\n"
    text += "## All rows\n\n| shape | ranks | Mbit/s | KiB | measured | spread | predicted | error |\n|---|---|---|---|---|---|---|---|\n"
    for r in rows:
        text += (f"| {r.shape} | {r.ranks} | {r.mbit} | {r.size // KIB} | {r.measured * 1e3:.2f} ms | {100 * r.spread:.0f} % "
                 f"| {r.predicted * 1e3:.2f} ms | {100 * r.error:+.1f} % |\n")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--note", default="", help="a sentence for the page, about the machine")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("network namespaces need root: skipped")
        return
    chakra = os.path.join(os.path.abspath(args.bin), "chakra")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces are removed
    constants, fitted = fit_constants(chakra, [200] if args.quick else RATES)
    print(constants)
    left = statistics.median(abs(fit_error(key, seconds, constants)) for key, seconds in fitted.items())
    rows = rows_of(chakra, constants, [200] if args.quick else RATES, [3] if args.quick else [2, 3, 4, 8], SIZES[:2] if args.quick else SIZES)
    if args.quick:
        return
    with open(os.path.join(ROOT, "docs", "reference", "fabric_table.md"), "w", encoding="utf-8") as file:
        file.write(page(rows, constants, len(fitted), left, args.note))


def fit_error(key, seconds, constants):
    shape, mbit, size = key
    rounds, share = TWO_RANKS[shape]
    rate = mbit * 125e3
    predicted = (size * share / rate / constants["share"] + rounds * constants["message_ns"] / 1e9
                 + constants["operation_ns"] / 1e9 - constants["burst"] * burst_bytes(mbit) / rate)
    return predicted / seconds - 1


if __name__ == "__main__":
    main()
