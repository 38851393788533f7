#!/usr/bin/env python3
"""Measures collectives on a network of known rates and sets the simulator's predictions beside them.

    fabric_table.py --bin DIR [--mpi] [--quick] [--note TEXT]   writes docs/reference/fabric_table.md; needs root

Ranks stand in network namespaces of their own, joined by a bridge; a token bucket (tc tbf) limits each rank's link in
both directions. They run collectives with `chakra replay --backend fabric`; `chakra sim --congestion fluid` predicts
the same job. Three constants are fitted to runs of two ranks on sizes that are not judged. The same runs without a
limit show what the processors take; where that is much, a row is not judged. All addresses are of these namespaces,
which are removed at the end. --mpi: instead the same collectives by `--backend mpi`, to docs/reference/mpi_table.md.
Their algorithms are the MPI library's own: the page names that one of ours whose predicted time is the nearest.
--quick: few of the rows, to see that it works; writes no page.
"""
import argparse
import itertools
import json
import math
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
LAUNCHER = 200                 # of ADDRESS: where mpirun is
REPEATS, SMALL_REPEATS = 10, 40  # the first one opens windows and empties buckets, and does not count
LONGEST_S = 0.8                # a run that is predicted to take longer is left out
# Of the predicted time. A row is not judged that takes longer than this without any limit, or whose ranks start so far apart.
MOST_OF_PROCESSORS, MOST_BETWEEN_STARTS = 0.2, 0.1
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
# By `mpi`: comm_type, our algorithms for it.
BY_MPI = [
    ("ALL_REDUCE", ["ring", "direct", "halving_doubling", "double_binary_tree", "tree"]),
    ("ALL_GATHER", ["ring", "direct", "halving_doubling", "bruck"]),
    ("ALL_TO_ALL", ["pairwise", "direct", "ring", "bruck"]),
    ("BROADCAST", ["tree", "binary_tree", "chain"]),
    ("GATHER", ["linear", "tree"]),
]
TWO_JOBS = ("two jobs on a link: all-reduce, ring", "ALL_REDUCE", "ring")


# ---- the network --------------------------------------------------------------------------------------

def run(*command, check=True):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def burst_bytes(mbit):
    """Of the token bucket: 0.4 ms of the link, as late as timers may be; three Ethernet frames at least."""
    return max(3 * 1514, mbit * 50)


def window_bytes(mbit):
    """Of a connection: half a millisecond of the link. With more, acknowledgements wait behind the data that their
    sender sends, and of two connections the one with the smaller window starves."""
    return max(32 * KIB, mbit * 125 // 2)


def output_bytes(mbit):
    """Of a connection, in its rank's own queue, where acknowledgements wait for them to leave: 1.3 ms of the link."""
    return max(16 * KIB, mbit * 1300 // 8)


class Network:
    """`bridges[i]`: the bridge of rank i; two bridges are joined by a link of the same rate. `mbit` None: no limit, and
    windows as at the highest rate."""

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
                self.limit(f"{PREFIX}t{end}")
        for rank, bridge in enumerate(self.bridges):
            name, host = f"{PREFIX}{rank}", f"{PREFIX}v{rank}"
            inside = ("ip", "netns", "exec", name)
            run("ip", "netns", "add", name)
            run("ip", "link", "add", host, "type", "veth", "peer", "name", "e0", "netns", name)
            run("ip", "link", "set", host, "master", f"{PREFIX}b{bridge}", "up")
            run(*inside, "ip", "addr", "add", f"{ADDRESS}{rank + 1}/24", "dev", "e0")
            run(*inside, "ip", "link", "set", "lo", "up")
            run(*inside, "ip", "link", "set", "e0", "up")
            rate = self.mbit or max(RATES)
            for setting in ("tcp_congestion_control=cubic", "tcp_slow_start_after_idle=0",
                            f"tcp_wmem=4096 {window_bytes(rate)} {window_bytes(rate)}",
                            f"tcp_limit_output_bytes={output_bytes(rate)}"):
                run(*inside, "sysctl", "-q", "-w", f"net.ipv4.{setting}", check=False)
            # Segments that the bucket holds at once need not be cut, which costs the processor much.
            run(*inside, "ip", "link", "set", "e0", "gso_max_size", str(min(65536, burst_bytes(rate) * 2 // 3)))
            self.limit("e0", inside)
            self.limit(host)
        self.build_launcher()

    def build_launcher(self):
        """A namespace for mpirun, on the first bridge, without a limit."""
        name, host = f"{PREFIX}l", f"{PREFIX}vl"
        inside = ("ip", "netns", "exec", name)
        run("ip", "netns", "add", name)
        run("ip", "link", "add", host, "type", "veth", "peer", "name", "e0", "netns", name)
        run("ip", "link", "set", host, "master", f"{PREFIX}b{self.bridges[0]}", "up")
        run(*inside, "ip", "addr", "add", f"{ADDRESS}{LAUNCHER}/24", "dev", "e0")
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "link", "set", "e0", "up")

    def limit(self, device, prefix=()):
        """The queue is long enough that nothing is dropped: what is sent waits in it."""
        if self.mbit:
            run(*prefix, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{self.mbit}mbit", "burst",
                str(burst_bytes(self.mbit)), "limit", str(32 * MIB))

    def remove(self):
        for name in [*range(len(self.bridges)), "l"]:
            run("ip", "netns", "del", f"{PREFIX}{name}", check=False)
            run("ip", "link", "del", f"{PREFIX}v{name}", check=False)
        for name in (f"{PREFIX}t0", f"{PREFIX}b0", f"{PREFIX}b1"):
            run("ip", "link", "del", name, check=False)


def network_file(bridges, mbit, constants):
    """The same network as the simulator has it."""
    rate = mbit * 1e6 / 8 * constants["share"] / (1 << 30)
    latency = constants["message_ns"]
    burst = f"burst: {burst_bytes(mbit) * constants['share']}\n"
    if len(set(bridges)) == 1:
        return f"{burst}topology: [ Switch ]\nnpus_count: [ {len(bridges)} ]\nbandwidth: [ {rate} ]\nlatency: [ {latency / 2} ]\n"
    links = [f"  - {{ from: {r}, to: s{b}, bandwidth: {rate}, latency: {latency / 3} }}" for r, b in enumerate(bridges)]
    links.append(f"  - {{ from: s0, to: s1, bandwidth: {rate}, latency: {latency / 3} }}")
    return f"{burst}ranks: {len(bridges)}\nswitches: [ s0, s1 ]\nlinks:\n" + "\n".join(links) + "\n"


# ---- the job ------------------------------------------------------------------------------------------

def comm_size(comm_type, size, ranks):
    """`size` is that of the whole buffer, in bytes; of gathers comm_size is one rank's part of it."""
    part = max(4, size // ranks // 4 * 4)
    return part if comm_type in ("ALL_GATHER", "GATHER") else part * ranks if comm_type == "ALL_TO_ALL" else size


def repeats_of(size):
    """Short operations are disturbed more often."""
    return SMALL_REPEATS if size < MIB else REPEATS


def write_job(folder, groups, comm_type, sizes):
    """A trace for each rank: each size `repeats_of` times, behind a barrier of all."""
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
            for repeat in range(repeats_of(size)):
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
    return {size: time + constants["operation_ns"] / 1e9 for size, time in times.items()}


# ---- fitting ------------------------------------------------------------------------------------------

# By constant: where the search begins, and its first step. No time of a message or an operation is negative.
START = {"share": 1448 / 1514, "message_ns": 20e3, "operation_ns": 20e3}
STEPS = {"share": 0.02, "message_ns": 20e3, "operation_ns": 20e3}


def fit(chakra, measured):
    """The constants with which the simulator is least far from (shape, Mbit/s) -> size -> seconds, as the sum of the
    distances of logarithms, so that a few disturbed runs do not decide: steps along each constant, ever smaller."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = {}
        for shape, comm_type, algorithm in SHAPES:
            jobs[shape] = os.path.join(folder, str(len(jobs)), "job"), comm_type, algorithm
            os.makedirs(jobs[shape][0])
            write_job(jobs[shape][0], [[0, 1]], comm_type, FIT_SIZES)

        def distance(constants):
            return sum(errors_of(chakra, jobs, measured, constants))

        best, steps = dict(START), dict(STEPS)
        least = distance(best)
        while steps["message_ns"] > 200:
            moved = False
            for name, sign in itertools.product(steps, (1, -1)):
                tried = {**best, name: max(0, best[name] + sign * steps[name])}
                found = distance(tried)
                if found < least:
                    best, least, moved = tried, found, True
            if not moved:
                steps = {name: step / 2 for name, step in steps.items()}
        return best, statistics.median(errors_of(chakra, jobs, measured, best))


def errors_of(chakra, jobs, measured, constants):
    """Distances of logarithms, over the fitted runs."""
    errors = []
    for (shape, mbit), seconds in measured.items():
        job, comm_type, algorithm = jobs[shape]
        predicted = predict(chakra, os.path.dirname(job), [0, 0], mbit, algorithm, constants)
        errors += [abs(math.log(predicted[comm_size(comm_type, size, 2)] / took)) for size, took in seconds.items()]
    return errors


# ---- measuring ----------------------------------------------------------------------------------------

def start_ranks(chakra, folder, ranks, algorithm):
    """A process for each rank that sends our plans, or with no algorithm mpirun, which starts them."""
    if algorithm:
        return [start_rank(chakra, folder, rank, ranks, algorithm) for rank in range(ranks)]
    # Not by chrt: MPI waits by looking again and again, and would not let the other ranks run.
    rank = f'ip netns exec {PREFIX}$OMPI_COMM_WORLD_RANK "$0" replay "$1/job" --backend mpi --rendezvous "$1/meet" --compute none ' \
           '--timeline "$1/times.{rank}.json"'
    # The launcher and the ranks speak over the bridge, and MPI's messages take nothing but the limited interface.
    known = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PMIX_MCA_ptl_base_if_include": "e0",
             "PMIX_MCA_ptl_base_remote_connections": "1", "PMIX_MCA_ptl_tcp_if_include": "e0", "PMIX_MCA_ptl_tcp_remote_connections": "1"}
    command = ["nice", "-n", "-10", "ip", "netns", "exec", f"{PREFIX}l", "mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks),
               "--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "e0", "sh", "-c", f"exec {rank}", chakra, folder]
    return [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
                             env={**os.environ, **KEEP_MEMORY, **known})]


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
    processes = start_ranks(chakra, folder, ranks, algorithm)
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
    """By size, of each repetition what it took, from the last rank's start to the last one's end, and the time between
    the first rank's start and the last one's."""
    replay(chakra, folder, len(bridges), algorithm)
    starts, ends = {}, {}
    for rank in range(len(bridges)):
        with open(os.path.join(folder, f"times.{rank}.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        for event in events:
            if event.get("ph") == "X" and "." in event["name"]:
                starts.setdefault(event["name"], []).append(event["ts"])
                ends.setdefault(event["name"], []).append(event["ts"] + event["dur"])
    seconds = {}
    for name, of in starts.items():
        size, repeat = map(int, name.split("."))
        if repeat > 0:
            seconds.setdefault(size, []).append(((max(ends[name]) - max(of)) / 1e6, (max(of) - min(of)) / 1e6))
    return seconds


def medians(seconds):
    return {size: statistics.median(took for took, _ in times) for size, times in seconds.items()}


class Row:
    def __init__(self, shape, ranks, mbit, size, times, predicted, free):
        self.shape, self.ranks, self.mbit, self.size = shape, ranks, mbit, size
        seconds = [took for took, _ in times]
        self.measured = statistics.median(seconds)
        self.spread = (max(seconds) - min(seconds)) / self.measured
        self.predicted = predicted
        self.error = predicted / self.measured - 1
        # Of the predicted time: what the processors take, and what is between the starts.
        self.processors = free / predicted
        self.starts = statistics.median(between for _, between in times) / predicted

    def judged(self):
        return self.processors <= MOST_OF_PROCESSORS and self.starts <= MOST_BETWEEN_STARTS


def measure_sizes(chakra, shape, bridges, groups, sizes):
    """Of one shape, by size: the repetitions' times. The network is there."""
    _, comm_type, algorithm = shape
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "job")
        os.mkdir(job)
        write_job(job, groups, comm_type, sizes)
        return measure(chakra, folder, bridges, algorithm)


def predict_sizes(chakra, shape, bridges, groups, mbit, sizes, constants):
    """The same by the simulator."""
    _, comm_type, algorithm = shape
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "job")
        os.mkdir(job)
        write_job(job, groups, comm_type, sizes)
        predicted = predict(chakra, folder, bridges, mbit, algorithm, constants)
        return {size: predicted[comm_size(comm_type, size, len(groups[0]))] for size in sizes}


def fit_constants(chakra, rates):
    """The constants, how many runs they are of, and how far they are off on these."""
    measured = {}
    for mbit in rates:
        with Network([0, 0], mbit):
            for shape in SHAPES:
                seconds = measure_sizes(chakra, shape, [0, 0], [[0, 1]], FIT_SIZES)
                measured[shape[0], mbit] = medians(seconds)
    constants, left = fit(chakra, measured)
    return constants, sum(map(len, measured.values())), left


def say(row):
    print(f"{row.shape:40} {row.ranks} ranks {row.mbit:5} Mbit/s {row.size >> 10:6} KiB {row.measured * 1e3:9.2f} ms, "
          f"spread {100 * row.spread:3.0f} %, processors {100 * row.processors:3.0f} %, starts {100 * row.starts:3.0f} %, "
          f"predicted {row.predicted * 1e3:9.2f} ms, {100 * row.error:+.1f} %", flush=True)


def rows_of_network(chakra, constants, shapes, bridges, groups, rates, sizes):
    """Each shape and rate, with the sizes that do not take too long."""
    free = {}
    with Network(bridges, None):
        for shape in shapes:
            free[shape[0]] = medians(measure_sizes(chakra, shape, bridges, groups, sizes))
    rows = []
    for mbit in rates:
        with Network(bridges, mbit):
            for shape in shapes:
                predicted = predict_sizes(chakra, shape, bridges, groups, mbit, sizes, constants)
                short = [size for size in sizes if predicted[size] < LONGEST_S]
                seconds = measure_sizes(chakra, shape, bridges, groups, short)
                for size in short:
                    rows.append(Row(shape[0], len(bridges), mbit, size, seconds[size], predicted[size], free[shape[0]][size]))
                    say(rows[-1])
    return rows


def rows_of(chakra, constants, rates, rank_counts, sizes):
    rows = []
    for ranks in rank_counts:
        rows += rows_of_network(chakra, constants, SHAPES, [0] * ranks, [list(range(ranks))], rates, sizes)
    return rows + rows_of_network(chakra, constants, [TWO_JOBS], [0, 0, 1, 1], [[0, 2], [1, 3]], rates, sizes)


# ---- the same by MPI -----------------------------------------------------------------------------------

class MpiRow:
    """`predicted`: seconds, by the name of one of our algorithms."""

    def __init__(self, comm_type, ranks, mbit, size, times, predicted, free):
        self.comm_type, self.ranks, self.mbit, self.size = comm_type, ranks, mbit, size
        seconds = [took for took, _ in times]
        self.measured = statistics.median(seconds)
        self.spread = (max(seconds) - min(seconds)) / self.measured
        self.nearest = min(predicted, key=lambda name: abs(math.log(predicted[name] / self.measured)))
        self.predicted = predicted[self.nearest]
        self.error = self.predicted / self.measured - 1
        self.processors = free / self.predicted

    def judged(self):
        return self.processors <= MOST_OF_PROCESSORS


def rows_by_mpi(chakra, constants, rates, rank_counts, sizes):
    rows = []
    for ranks in rank_counts:
        bridges, groups = [0] * ranks, [list(range(ranks))]
        shapes = [((comm_type, comm_type, None), algorithms) for comm_type, algorithms in BY_MPI]
        with Network(bridges, None):
            free = {shape[0]: medians(measure_sizes(chakra, shape, bridges, groups, sizes)) for shape, _ in shapes}
        for mbit in rates:
            with Network(bridges, mbit):
                for shape, algorithms in shapes:
                    predicted = {name: predict_sizes(chakra, (*shape[:2], name), bridges, groups, mbit, sizes, constants)
                                 for name in algorithms}
                    short = [size for size in sizes if min(p[size] for p in predicted.values()) < LONGEST_S / 2]
                    seconds = measure_sizes(chakra, shape, bridges, groups, short)
                    for size in short:
                        rows.append(MpiRow(shape[0], ranks, mbit, size, seconds[size],
                                           {name: p[size] for name, p in predicted.items()}, free[shape[0]][size]))
                        print(mpi_line(rows[-1]), flush=True)
    return rows


def mpi_line(r):
    return (f"| {r.comm_type} | {r.ranks} | {r.mbit} | {r.size // KIB} | {r.measured * 1e3:.2f} ms | {100 * r.spread:.0f} % "
            f"| {100 * r.processors:.0f} % | {r.nearest} | {r.predicted * 1e3:.2f} ms | {100 * r.error:+.1f} % |")


# ---- the page -----------------------------------------------------------------------------------------

HEAD = """# Measured against predicted: collectives on a limited network

Made by `tools/fabric_table.py` (as root; on a quiet machine). Ranks stand in network namespaces of
their own, joined by a bridge; a token bucket (`tc tbf`) limits each rank's link both ways. They run
collectives with [`fabric`](fabric.md), the plan that is simulated, and `chakra sim --congestion
fluid` predicts the same job on a Switch of that rate, with the bucket as its
[`burst`](formats/network.md). Two jobs on a link: two groups of two ranks, whose only way is one
link of the same rate.

Connections stay open, and windows are not closed between operations, so no slow start is measured;
queues are long enough that nothing is dropped. A connection may have as much under way as its link
carries in half a millisecond (`tcp_wmem`; 32 KiB at least), and 1.3 milliseconds in its rank's own
queue (`tcp_limit_output_bytes`; 16 KiB at least): with more, acknowledgements wait behind data, and
all-to-alls took up to 1.7 times as long. The ranks run before other programs (`chrt -f 5`): a
program that is woken late sends late. They keep their memory from one operation to the next.

*measured*: median of {repeats} repetitions, {small} where the size is less than 1 MiB, from the last
rank's start to the last one's end.
*spread*: largest less smallest of them, of the median. *processors*: what the same operations take
without a limit, of the predicted time. *starts*: time between the first rank's start and the last
one's, likewise (median). Above {most:.0f} % of processors or {apart:.0f} % of starts it is no longer the link that
is measured: two cores cannot keep the ranks in step. Such a row stands apart, not judged.
*error*: predicted / measured - 1.

**Where it is off.** Small all-to-alls of eight ranks: blocks of 8 to 32 KiB are as large as what waits
in the queues, so rounds still meet at a rank, where TCP shares its link by what each connection has
under way, not evenly; `fluid` gives each its half. Short operations have two kinds of repetitions, one
half as long again as the other (*spread*); which kind is the median differs from run to run.

"""


def constants_text(constants, count, left):
    return (f"""## Constants

Fitted once to {count} runs of two ranks on sizes of {', '.join(str(s // KIB) for s in FIT_SIZES)} KiB, none of which
is below, and used for all shapes, rates and numbers of ranks. On those runs the fit is off by
{100 * left:.1f} % in the median.

| constant | value | where it goes |
|---|---|---|
| share of the rate that carries data | {constants['share']:.4f} | `bandwidth` and `burst` of the network file |
| time of a message | {constants['message_ns'] / 1e3:.0f} us | `latency` of the network file, over its links |
| time of an operation | {constants['operation_ns'] / 1e3:.0f} us | added to the predicted time |

Of an Ethernet frame of 1,514 bytes TCP carries 1,448: a share of 0.9564.

""")


def summary(rows, key):
    lines = ["| | rows | median | worst | above 15 % |", "|---|---|---|---|---|"]
    for name in sorted({key(row) for row in rows}, key=str):
        errors = [row.error for row in rows if key(row) == name]
        lines.append(f"| {name} | {len(errors)} | {100 * statistics.median(map(abs, errors)):.1f} % "
                     f"| {100 * max(errors, key=abs):+.1f} % | {sum(abs(e) > 0.15 for e in errors)} |")
    return "\n".join(lines)


def listed(rows):
    lines = ["| shape | ranks | Mbit/s | KiB | measured | spread | processors | starts | predicted | error |", "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        lines.append(f"| {r.shape} | {r.ranks} | {r.mbit} | {r.size // KIB} | {r.measured * 1e3:.2f} ms | {100 * r.spread:.0f} % "
                     f"| {100 * r.processors:.0f} % | {100 * r.starts:.0f} % | {r.predicted * 1e3:.2f} ms | {100 * r.error:+.1f} % |")
    return "\n".join(lines)


MPI_HEAD = """# Collectives by MPI on a limited network

Made by `tools/fabric_table.py --mpi`: the networks of [the table of `fabric`](fabric_table.md), and
on them `--backend mpi` with OpenMPI {version} over TCP (`--mca btl self,tcp`). Which algorithm an
operation takes is OpenMPI's choice, and it does not say which.

*nearest*: that of our algorithms whose time, as `chakra sim --congestion fluid` predicts it, is the
nearest to the measured one. Where the error is small, OpenMPI's must have been this one, or one that
sends as much in as many rounds; where it is not, it is none of ours. The constants are fitted
to runs of `fabric`, not of MPI: {share:.4f} of the rate carries data, a message takes {message:.0f} us, an operation
{operation:.0f} us. *spread*, *processors*: as in that table; {left_out} rows that take more than {most:.0f} % of the
predicted time without a limit are left out.

"""


def mpi_page(all_rows, constants, note):
    rows = [row for row in all_rows if row.judged()]
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0].split()[-1]
    text = MPI_HEAD.format(version=version, most=100 * MOST_OF_PROCESSORS, left_out=len(all_rows) - len(rows), share=constants["share"],
                           message=constants["message_ns"] / 1e3, operation=constants["operation_ns"] / 1e3) + (f"{note}\n\n" if note else "")
    lines = ["| | rows | nearest, how often | median | worst |", "|---|---|---|---|---|"]
    for comm_type, _ in BY_MPI:
        of = [row for row in rows if row.comm_type == comm_type]
        counts = ", ".join(f"{name} {sum(row.nearest == name for row in of)}" for name in sorted({row.nearest for row in of}))
        if of:
            lines.append(f"| {comm_type} | {len(of)} | {counts} | {100 * statistics.median(abs(row.error) for row in of):.1f} % "
                         f"| {100 * max((row.error for row in of), key=abs):+.1f} % |")
    table = ["| operation | ranks | Mbit/s | KiB | measured | spread | processors | nearest | predicted | error |", "|---|---|---|---|---|---|---|---|---|---|"]
    return text + "\n".join(lines) + "\n\n## All rows\n\n" + "\n".join(table + [mpi_line(row) for row in rows]) + "\n"


def page(all_rows, constants, count, left, note):
    rows = [row for row in all_rows if row.judged()]
    errors = [abs(row.error) for row in rows]
    text = HEAD.format(repeats=REPEATS - 1, small=SMALL_REPEATS - 1, most=100 * MOST_OF_PROCESSORS, apart=100 * MOST_BETWEEN_STARTS)
    text += f"{note}\n\n" if note else ""
    text += (f"**{len(rows)} rows: median error {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %, "
             f"{sum(e > 0.15 for e in errors)} above 15 %.** {len(all_rows) - len(rows)} rows are not judged.\n\n")
    text += constants_text(constants, count, left)
    for title, key in (("By shape", lambda r: r.shape), ("By rate, Mbit/s", lambda r: r.mbit),
                       ("By ranks", lambda r: r.ranks), ("By size, KiB", lambda r: r.size // KIB)):
        text += f"## {title}\n\n{summary(rows, key)}\n\n"
    text += f"## All rows\n\n{listed(rows)}\n\n"
    return text + f"## Not judged: the processors decide\n\n{listed(row for row in all_rows if not row.judged())}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--mpi", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--note", default="", help="a sentence for the page, about the machine")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("network namespaces need root: skipped")
        return
    chakra = os.path.join(os.path.abspath(args.bin), "chakra")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that namespaces are removed
    constants, count, left = fit_constants(chakra, [200] if args.quick else RATES)
    print(constants, f"{100 * left:.1f} %")
    which = ([200], [3], SIZES[:2]) if args.quick else (RATES, [2, 3, 4, 8], SIZES)
    if args.mpi:
        rows = rows_by_mpi(chakra, constants, *(which if args.quick else (RATES, [2, 4, 8], SIZES[::2])))
        name, text = "mpi_table.md", mpi_page(rows, constants, args.note)
    else:
        name, text = "fabric_table.md", page(rows_of(chakra, constants, *which), constants, count, left, args.note)
    if args.quick:
        return
    with open(os.path.join(ROOT, "docs", "reference", name), "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
