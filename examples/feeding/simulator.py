"""A simulator in Python: nodes run in their queues, and every collective takes a fixed time.

    simulator.py JOB PS    print the end of each rank; a collective takes PS picoseconds after the arrival of the last member
"""
import heapq
import sys
from collections import Counter, defaultdict

import chakra_et

DONE, READY = 0, 1


class Rank:
    def __init__(self, trace, ranks):
        self.feeder = chakra_et.Feeder(trace)
        self.dur, self.queue = trace["dur_ps"].tolist(), self.feeder.queues.tolist()
        self.waiting, self.busy = defaultdict(list), set()  # ready rows by queue, and queues with a running row
        self.meeting, seen = {}, Counter()  # row -> the collective, and the number of members
        for row, kind in enumerate(trace["type"].tolist()):
            if kind in (chakra_et.NodeType.comm_send, chakra_et.NodeType.comm_recv):
                sys.exit(f"{trace}: {trace.name(row)} is a message, which needs a network; job.simulate() has one")
            if kind == chakra_et.NodeType.comm_coll:
                group = trace.communication(row)["group"]
                self.meeting[row] = (group, seen[group]), len(trace.groups.get(group) or ranks)
                seen[group] += 1


def simulate(job, collective_ps):
    """Return the end of each rank."""
    ranks = {rank: Rank(job.trace(rank), job.ranks) for rank in job.ranks}
    events, arrived, ends = [], defaultdict(list), dict.fromkeys(ranks, 0)

    def announce(rank, now, rows, times):
        for row, time in zip(rows.tolist(), times.tolist(), strict=True):
            heapq.heappush(events, (max(now, time), READY, rank, row))

    def start(rank, row, now):
        if row not in ranks[rank].meeting:
            return heapq.heappush(events, (now + ranks[rank].dur[row], DONE, rank, row))
        key, members = ranks[rank].meeting[row]
        arrived[key].append((rank, row))
        for member in arrived[key] if len(arrived[key]) == members else ():
            heapq.heappush(events, (now + collective_ps, DONE, *member))

    for rank, of in ranks.items():
        announce(rank, 0, *of.feeder.start())
    while events:
        now, touched = events[0][0], set()
        while events and events[0][0] == now:  # everything that happens at a time happens before a queue takes the next row
            done = defaultdict(list)
            while events and events[0][0] == now:
                _, kind, rank, row = heapq.heappop(events)
                queue = ranks[rank].queue[row]
                touched.add((rank, queue))
                if kind == DONE:
                    done[rank].append(row)
                    ranks[rank].busy.discard(queue)
                elif queue < 0:
                    start(rank, row, now)
                else:
                    heapq.heappush(ranks[rank].waiting[queue], row)
            for rank, rows in done.items():
                ends[rank] = now
                announce(rank, now, *ranks[rank].feeder.done(rows, now))
        for rank, queue in touched:
            if ranks[rank].waiting[queue] and queue not in ranks[rank].busy:
                ranks[rank].busy.add(queue)
                start(rank, heapq.heappop(ranks[rank].waiting[queue]), now)
    for rank, of in ranks.items():
        if of.feeder.remaining:
            sys.exit(f"rank {rank}: {of.feeder.remaining} nodes wait for ever")
    return ends


if __name__ == "__main__":
    for rank, end in simulate(chakra_et.open(sys.argv[1]), int(sys.argv[2])).items():
        print(rank, end)
