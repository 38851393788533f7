#!/usr/bin/env python3
"""A second model of ASTRA-sim's analytical back ends, as the judge of `chakra sim --compat astra-sim`.

    astra_model.py [--bin DIR] [--jobs N] [--seed S]    random jobs of seeds S, S+1, ...: the finish of every rank must be the model's, to the nanosecond
    astra_model.py --golden DIR                         the model against ASTRA-sim's recorded results

It shares no code with chakra and is written another way: a delay or a message is an event that calls a function, and all that
an algorithm does follows from how many of its delays are over. Numbers in brackets are sections of docs/reference/compat.md.

Modelled: both back ends [1], chunks, phases, queues [2], endpoints [3], ring, direct, halvingDoubling, their one-line forms, doubleBinaryTree [4],
messages and rendezvous [5], COMP, COLL, SEND and RECV nodes, the roofline [6], groups [7].
Not modelled: ctrl_deps, involved_dim, BROADCAST, replay-only, remote memory, custom collectives, and what is refused.
A random job mixes all that is modelled (astra_jobs.py). Some cannot finish, and chakra must also say so.
"""
import argparse
import collections
import dataclasses
import heapq
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import astra_jobs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STUCK = 4  # chakra's exit code
REQUEST_BYTES = 8192
GROUP_DELAY_NS = 10
CHUNKS_OF_A_GROUP = 1_000_000


def finishes(job):
    """When each rank ends, in ns; None for a rank that cannot."""
    clock = Clock()
    network = Network(job, clock)
    ranks = [Rank(number, job, clock, network) for number in range(len(job.ranks))]
    for rank in ranks:
        rank.issue()
    clock.run()
    return [rank.finish for rank in ranks]


# ---- time, links and messages -------------------------------------------------------------------------

class Clock:
    """Whole nanoseconds [1]. What is due at the same time happens in the order in which it was planned."""

    def __init__(self):
        self.now, self.events, self.order = 0, [], itertools.count()

    def after(self, delay, action):
        heapq.heappush(self.events, (self.now + delay, next(self.order), action))

    def run(self):
        while self.events:
            self.now, _, action = heapq.heappop(self.events)
            action()


Channel = collections.namedtuple("Channel", "tag sender receiver bytes")


class Message:
    """Of a channel: its n-th send and its n-th receive, whichever comes first. [5]"""

    def __init__(self):
        self.on_sent = self.on_received = None
        self.arrived = False


class Network:
    def __init__(self, job, clock):
        self.clock, self.aware, self.rendezvous = clock, job.aware, job.rendezvous
        self.kinds, self.counts, self.latencies = (job.network[key] for key in ("topology", "npus_count", "latency"))
        self.bytes_per_ns = [gigabytes * 2**30 / 1e9 for gigabytes in job.network["bandwidth"]]
        self.sends, self.receives = collections.Counter(), collections.Counter()
        self.messages = collections.defaultdict(Message)
        self.links = collections.defaultdict(collections.deque)  # (device, next device) -> (message, path) in order; the first is on the link

    def send(self, channel, on_sent):
        if self.rendezvous:
            self.receive_now(self.request(channel), lambda: self.send_now(channel, on_sent))
        else:
            self.send_now(channel, on_sent)

    def receive(self, channel, on_received):
        if self.rendezvous:
            self.send_now(self.request(channel), lambda: self.receive_now(channel, on_received))
        else:
            self.receive_now(channel, on_received)

    @staticmethod
    def request(channel):
        return Channel(("request", channel.tag), channel.receiver, channel.sender, REQUEST_BYTES)

    def send_now(self, channel, on_sent):
        message = self.messages[channel, self.sends[channel]]
        self.sends[channel] += 1
        message.on_sent = on_sent
        if self.aware:
            self.hop(message, channel.bytes, self.path(channel.sender, channel.receiver))
        else:
            self.clock.after(self.delay(*channel[1:]), lambda: self.arrive(message))

    def receive_now(self, channel, on_received):
        """A message that is there already is told by an event of its own."""
        message = self.messages[channel, self.receives[channel]]
        self.receives[channel] += 1
        message.on_received = on_received
        if message.arrived:
            self.clock.after(0, on_received)

    @staticmethod
    def arrive(message):
        """The sender is told before the receiver."""
        message.on_sent()
        if message.on_received:
            message.on_received()
        message.arrived = True

    def delay(self, sender, receiver, size):
        """Unaware: only the lowest dimension in which the ranks differ costs anything [1]."""
        for kind, count, latency, bytes_per_ns in zip(self.kinds, self.counts, self.latencies, self.bytes_per_ns):
            (sender, a), (receiver, b) = divmod(sender, count), divmod(receiver, count)
            if a != b:
                hops = {"Ring": min((a - b) % count, (b - a) % count), "Switch": 2, "FullyConnected": 1}[kind]
                return int(hops * latency + size / bytes_per_ns)
        raise ValueError("a message to the rank itself")

    def path(self, sender, receiver):
        """Aware: the devices on the way; the switch has the number after the last rank's [1]."""
        count = self.counts[0]
        if self.kinds[0] == "Switch":
            return [sender, count, receiver]
        if self.kinds[0] == "FullyConnected":
            return [sender, receiver]
        ahead = (receiver - sender) % count
        step = 1 if ahead <= count - ahead else -1
        return [(sender + step * hop) % count for hop in range(min(ahead, count - ahead) + 1)]

    def hop(self, message, size, path):
        if len(path) == 1:
            return self.arrive(message)
        link = self.links[path[0], path[1]]
        link.append((message, size, path))
        if len(link) == 1:
            self.enter(link)

    def enter(self, link):
        message, size, path = link[0]
        transfer = size / self.bytes_per_ns[0]
        self.clock.after(int(self.latencies[0] + transfer), lambda: self.hop(message, size, path[1:]))
        self.clock.after(int(transfer), lambda: self.leave(link))

    def leave(self, link):
        link.popleft()
        if link:
            self.enter(link)


# ---- a rank: its nodes, chunks and queues ----------------------------------------------------------------

Line = collections.namedtuple("Line", "dimension ranks algorithm whole")  # the ranks of a phase in order; whole: not of a group


class Queue:
    def __init__(self):
        self.waiting, self.running = [], 0


@dataclasses.dataclass
class Chunk:
    node: int
    number: int  # the same on all ranks
    priority: int
    phases: iter = None
    phase: object = None  # the one that runs or waits


class Rank:
    def __init__(self, number, job, clock, network):
        self.number, self.job, self.clock, self.network, self.system = number, job, clock, network, job.system
        self.nodes = {node["id"]: node for node in job.ranks[number]}
        self.waits_for = {id_: set(node["deps"]) for id_, node in self.nodes.items()}
        self.ready = {id_ for id_, deps in self.waits_for.items() if not deps}
        self.running, self.busy = set(), set()
        self.finish = None
        self.due = {}  # time -> what happens then
        self.queues = [[Queue() for _ in range(job.queues)] for _ in job.network["npus_count"]]
        self.turns = collections.Counter()   # phases so far, per dimension and half of the queues
        self.trees = collections.Counter()   # so far, per collective and dimension
        self.chunks = collections.Counter()  # so far, per group
        self.chunks_left = {}                # per node
        self.collectives = 0
        self.endpoint_delay = int(job.system["endpoint-delay"] * job.injection_scale)

    def after(self, delay, action):
        """What is due on one rank at one time happens together, where the first of it was planned [1]."""
        time = self.clock.now + delay
        if time in self.due:
            return self.due[time].append(action)
        self.due[time] = [action]

        def happen():
            for each in self.due[time]:  # which may grow meanwhile
                each()
            del self.due[time]

        self.clock.after(delay, happen)

    # Nodes [6].

    @staticmethod
    def resource(node):
        if node["type"] == "RECV":
            return None
        return "cpu" if node["is_cpu_op"] else "compute" if node["type"] == "COMP" else "network"

    def issue(self):
        for id_ in sorted(self.ready):
            node = self.nodes[id_]
            resource = self.resource(node)
            if resource in self.busy:
                continue
            if resource:
                self.busy.add(resource)
            self.ready.remove(id_)
            self.running.add(id_)
            self.start(node)
        if not self.ready and not self.running:
            self.finish = self.clock.now

    def done(self, id_):
        self.running.remove(id_)
        self.busy.discard(self.resource(self.nodes[id_]))
        for other, deps in self.waits_for.items():
            if id_ in deps:
                deps.remove(id_)
                if not deps:
                    self.ready.add(other)
        self.issue()

    def start(self, node):
        def done():
            self.done(node["id"])

        if node["type"] == "COMP":
            self.after(self.compute_time(node), done)
        elif node["type"] == "SEND":
            self.network.send(Channel(("node", node["comm_tag"]), self.number, node["comm_dst"], node["comm_size"]), done)
        elif node["type"] == "RECV":
            self.network.receive(Channel(("node", node["comm_tag"]), node["comm_src"], self.number, node["comm_size"]), done)
        else:
            self.start_collective(node)

    def compute_time(self, node):
        if self.system.get("roofline-enabled") and not node["is_cpu_op"]:
            intensity = node["num_ops"] / node["tensor_size"]
            return int(node["num_ops"] / min(self.system["local-mem-bw"] * 1e9 * intensity, self.system["peak-perf"] * 1e12) * 1e9)
        return node["dur_us"] * 1000 or 1

    # Collectives [2].

    def start_collective(self, node):
        kind, size, ranks, splits = node["comm_type"], node["comm_size"], len(self.job.ranks), self.system["preferred-dataset-splits"]
        chunk_bytes = size // splits
        if kind != "ALL_GATHER" and chunk_bytes < ranks:
            chunk_bytes = ranks
            size = splits * ranks
        chunks = math.ceil(size / chunk_bytes)
        priority = {"LIFO": self.collectives, "FIFO": -self.collectives, "EXPLICIT": node["comm_priority"]}[self.system["scheduling-policy"]]
        self.collectives += 1
        self.chunks_left[node["id"]] = chunks
        group = node.get("pg_name", 0)
        lines = self.lines(kind, group)
        for _ in range(chunks):
            chunk = Chunk(node["id"], group * CHUNKS_OF_A_GROUP + self.chunks[group], priority)
            self.chunks[group] += 1
            chunk.phases = iter(self.plan(chunk, kind, lines, chunk_bytes))
            self.go_on(chunk)

    def lines(self, kind, group):
        """Of each dimension this rank's line; of a group one [7]."""
        algorithms, counts, everyone = self.system[astra_jobs.COLLECTIVES[kind] + "-implementation"], self.job.network["npus_count"], range(len(self.job.ranks))
        members = self.job.groups.get(group, everyone)
        if len(members) < len(everyone):
            return [Line(0, members, algorithms[0] if len(algorithms) == 1 else "ring", whole=False)]
        if algorithms[0].startswith("one"):
            return [Line(0, everyone, algorithms[0], whole=True)]
        lines, stride = [], 1
        for dimension, (count, algorithm) in enumerate(zip(counts, algorithms)):
            first = self.number - self.number // stride % count * stride
            lines.append(Line(dimension, range(first, first + count * stride, stride), algorithm, whole=True))
            stride *= count
        return lines

    def plan(self, chunk, kind, lines, size):
        if kind == "ALL_GATHER":
            steps = [(line, kind, "all") for line in reversed(lines)]
        elif kind == "ALL_REDUCE" and self.system["collective-optimization"] == "localBWAware":
            steps = [(line, "REDUCE_SCATTER", "first") for line in lines[:-1]] + [(lines[-1], kind, "first")]
            steps += [(line, "ALL_GATHER", "second") for line in reversed(lines[:-1])]
        else:
            steps = [(line, kind, "all") for line in lines]
        phases, middle = [], self.job.queues // 2
        for line, kind_here, half in steps:
            queues = {"all": range(self.job.queues), "first": range(max(middle, 1)), "second": range(middle, self.job.queues)}[half]
            queue = queues[self.turns[line.dimension, half] % len(queues)]
            self.turns[line.dimension, half] += 1
            forward = half == "first" or (half == "all" and (self.job.queues == 1 or queue < middle))
            if line.algorithm == "doubleBinaryTree":  # whatever the collective: an all-reduce, which leaves the size as it is [4]
                phases.append(TreePhase(self, chunk, line, size, self.trees[kind, line.dimension] % 2 == 0, self.queues[line.dimension][queue]))
                self.trees[kind, line.dimension] += 1
                continue
            phases.append(Phase(self, chunk, line, kind_here, size, forward, self.queues[line.dimension][queue]))
            if kind_here == "ALL_GATHER":
                size *= len(line.ranks)
            elif kind_here == "REDUCE_SCATTER":
                size //= len(line.ranks)
        return phases

    def go_on(self, chunk):
        """At the start of a chunk and at the end of each of its phases. The order matters [2, 5]."""
        ended, begun = chunk.phase, next(chunk.phases, None)
        chunk.phase = begun
        if not begun:
            self.chunks_left[chunk.node] -= 1
            if self.chunks_left[chunk.node] == 0:
                self.done(chunk.node)
        if ended:
            ended.queue.running -= 1
        if begun:
            begun.queue.waiting.append(begun)
            begun.queue.waiting.sort(key=lambda phase: -phase.chunk.priority)  # stable: first come first served among equals
        for phase in (ended, begun):
            if phase:
                self.serve(phase.queue)

    def serve(self, queue):
        while queue.waiting and queue.running < math.ceil(self.system["active-chunks-per-dimension"] / self.job.queues):
            queue.running += 1
            queue.waiting.pop(0).start()


# ---- algorithms [4] ---------------------------------------------------------------------------------------

class Phase:
    """What one rank does for one chunk in one dimension: `window` delays at the start, one more for each receive; each that is over
    lets the next message go, until all `steps` messages have gone and come and the last delays are over."""

    def __init__(self, rank, chunk, line, kind, size, forward, queue):
        self.rank, self.chunk, self.line, self.kind, self.size, self.forward, self.queue = rank, chunk, line, kind, size, forward, queue
        self.place, self.others = line.ranks.index(rank.number), len(line.ranks) - 1
        name = line.algorithm.removeprefix("one").lower()
        self.direct, self.halving = name.startswith("direct"), name == "halvingdoubling"
        self.window = min(int(name[len("direct"):] or self.others), self.others) if self.direct else 1
        if self.halving:
            self.distances = [2**i for i in range(self.others.bit_length())]
            self.steps = len(self.distances) * (2 if kind == "ALL_REDUCE" else 1)
            reducing = len(self.distances) - 1
        else:
            self.steps = self.others * (2 if kind == "ALL_REDUCE" else 1)
            if kind == "ALL_TO_ALL" and not self.direct:
                self.steps = self.others * (self.others + 1) // 2
            reducing = self.window if self.direct and line.whole else self.others * self.window
        self.cycle = self.window + reducing  # delays that do not reduce, then those that may
        self.delays = self.delays_over = self.sent = self.received = 0

    def message(self, step):
        """The places to send to and to receive from, and bytes, counted from 0."""
        if not self.halving:
            away = 1 + step % self.others if self.direct else 1
            to, from_ = (self.place + away) % (self.others + 1), (self.place - away) % (self.others + 1)
            if not self.forward:
                to, from_ = from_, to
            return to, from_, self.size if self.kind == "ALL_GATHER" else self.size // (self.others + 1)
        halvings = len(self.distances)
        if self.kind == "ALL_GATHER":
            distance, size = self.distances[halvings - 1 - step], self.size << step
        elif step < halvings:
            distance, size = self.distances[step], self.size >> (step + 1)
        else:  # of an all-reduce, back: from the smallest size, halved once more, doubled each time
            back = step - halvings
            distance, size = self.distances[halvings - 1 - back], (self.size >> (halvings + 1)) << (back + 1)
        peer = self.place ^ distance
        return peer, peer, size

    def start(self):
        for _ in range(self.window):
            self.begin_delay()

    def begin_delay(self):
        """The endpoint's, and then one for the reduction, which is that of the message about to be sent [3, 5]."""
        step = self.delays
        self.delays += 1
        endpoint = self.rank.endpoint_delay if self.line.whole else GROUP_DELAY_NS
        cycles, place = divmod(step, self.cycle)
        if place < self.window or not (self.kind == "REDUCE_SCATTER" or self.kind == "ALL_REDUCE" and cycles % 2 == 0):
            return self.rank.after(endpoint, self.delay_over)
        reduction = 3 * int(self.message(step)[2] / (self.rank.system["local-mem-bw"] * 1e9) * 1e9)
        self.rank.after(endpoint, lambda: self.rank.after(reduction, self.delay_over))

    def delay_over(self):
        self.delays_over += 1
        if not (self.direct and self.kind == "ALL_REDUCE" and self.sent >= self.others):
            self.exchange()
        elif self.received >= self.others:  # the second half waits for the receives of the first
            for _ in range(self.window):
                self.exchange()
        if self.delays_over == self.window + self.steps:
            self.rank.go_on(self.chunk)

    def exchange(self):
        if self.sent == self.steps or self.sent == self.delays_over:
            return
        to, from_, size = self.message(self.sent)
        self.sent += 1
        tag, number, ranks = ("chunk", self.chunk.number), self.rank.number, self.line.ranks
        self.rank.network.send(Channel(tag, number, ranks[to], size), lambda: None)
        self.rank.network.receive(Channel(tag, ranks[from_], number, size), self.arrived)

    def arrived(self):
        self.received += 1
        self.begin_delay()


def relatives(places, root_is_last):
    """Each place's parent and children: a root at one end, below it the middle of the rest, whose children are the middles of the halves."""
    parent, children = {}, {place: [] for place in places}

    def hang(below, rest):
        if rest:
            middle = len(rest) // 2
            parent[rest[middle]] = below
            children[below].append(rest[middle])
            hang(rest[middle], rest[:middle])
            hang(rest[middle], rest[middle + 1:])

    root, rest = (places[-1], places[:-1]) if root_is_last else (places[0], places[1:])
    hang(root, rest)
    return parent, children


class TreePhase:
    """The whole chunk goes up from the leaves to the root and down again; what follows a rank's part of it waits for one more delay."""

    def __init__(self, rank, chunk, line, size, root_is_last, queue):
        self.rank, self.chunk, self.size, self.queue = rank, chunk, size, queue
        parent, children = relatives(list(line.ranks), root_is_last)
        self.parent, self.children = parent.get(rank.number), children[rank.number]
        self.missing = len(self.children)

    def start(self):
        if not self.children:
            self.delay(False, self.up)
        for child in self.children:
            self.receive(child, lambda: self.delay(True, self.one_child))

    def one_child(self):
        self.missing -= 1
        if self.missing == 0:
            self.up()

    def up(self):
        if self.parent is None:
            return self.down()
        self.send(self.parent)
        self.receive(self.parent, lambda: self.delay(bool(self.children), self.down))

    def down(self):
        for child in self.children:
            self.send(child)
        self.rank.go_on(self.chunk)

    def delay(self, reduces, action):
        reduction = 3 * int(self.size / (self.rank.system["local-mem-bw"] * 1e9) * 1e9)
        self.rank.after(self.rank.endpoint_delay, (lambda: self.rank.after(reduction, action)) if reduces else action)

    def send(self, to):
        self.rank.network.send(Channel(("chunk", self.chunk.number), self.rank.number, to, self.size), lambda: None)

    def receive(self, from_, on_received):
        self.rank.network.receive(Channel(("chunk", self.chunk.number), from_, self.rank.number, self.size), on_received)


# ---- comparing --------------------------------------------------------------------------------------------

def compare_jobs(bin_dir, jobs, seed):
    for each in range(seed, seed + jobs):
        job = astra_jobs.random_job(each)
        expected = finishes(job)
        folder = tempfile.mkdtemp(prefix="astra_model.")
        command = astra_jobs.write(job, folder)
        run = subprocess.run([os.path.join(bin_dir, command[0]), *command[1:]], capture_output=True, text=True, timeout=60)
        if run.returncode == 0:
            actual = [rank["finish_ps"] // 1000 for rank in json.loads(run.stdout)["ranks"]]
        else:
            actual = f"exit {run.returncode}: {run.stderr.strip()}"
        if actual != expected and not (None in expected and run.returncode == STUCK):
            sys.exit(f"the job of seed {each} differs (again: --jobs 1 --seed {each})\n  {' '.join(command)}\n  model  {expected}\n  chakra {actual}")
        shutil.rmtree(folder)
    print(f"{jobs} jobs, all equal")


def compare_recorded(folder):
    count = 0
    for count, (row, job) in enumerate(astra_jobs.recorded_jobs(folder), 1):
        times = finishes(job)
        if (min(times), max(times)) != (int(row["min_finish_ns"]), int(row["max_finish_ns"])):
            sys.exit(f"the model says {min(times)} to {max(times)} ns for {row}")
    print(f"{count} recorded results, all equal")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="the folder of chakra")
    parser.add_argument("--jobs", type=int, default=200, help="how many random jobs (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the first job (default 0)")
    parser.add_argument("--golden", metavar="DIR", help="compare with the recorded results in this folder instead")
    arguments = parser.parse_args()
    if arguments.golden:
        compare_recorded(arguments.golden)
    else:
        compare_jobs(arguments.bin, arguments.jobs, arguments.seed)


if __name__ == "__main__":
    main()
