"""Measures what record() costs beside torch.profiler alone: interleaved pairs, the median of the ratios.

    [CPU_TIME=1] overhead.py [PAIRS [WIDTH [BATCH]]]                             one process, on the CPU
    torchrun --nproc-per-node 2 overhead.py [PAIRS [WIDTH [BATCH]]]              fully_shard over Gloo; rank 0 prints

Ways to record the same steps take turns: torch.profiler alone, torch.profiler with an ExecutionTraceObserver written by hand,
record(), and record() with observe="before". The first table row is the median duration of a recorded step, the second the whole block with its files.
"""
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
from chakra_et.record import record
from torch import nn
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule

PAIRS, WIDTH, BATCH = (int(word) for word in (sys.argv[1:] + ["10", "512", "64"][len(sys.argv) - 1:]))
WARMUP, ACTIVE = 2, 8
clock = time.process_time if os.environ.get("CPU_TIME") else time.perf_counter  # of a machine that others use


class Timed:
    def __init__(self):
        torch.manual_seed(0)
        layers = [part for _ in range(6) for part in (nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.LayerNorm(WIDTH))]
        self.net = nn.Sequential(*layers)
        if dist.is_initialized():
            from torch.distributed.fsdp import fully_shard
            for layer in self.net:
                if isinstance(layer, nn.Linear):
                    fully_shard(layer)
            fully_shard(self.net)
        self.optimizer = torch.optim.AdamW(self.net.parameters())
        self.data = torch.randn(BATCH, WIDTH)

    def steps(self, end):
        """The median duration of the recorded steps, without what happens between steps."""
        took = []
        for number in range(WARMUP + ACTIVE):
            begun = clock()
            self.net(self.data).square().mean().backward()
            self.optimizer.zero_grad()
            if number >= WARMUP:
                took.append(clock() - begun)
            self.optimizer.step()
            end()
        return statistics.median(took)


def profiler_alone(timed, folder, **more):
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=WARMUP, active=ACTIVE, repeat=1), record_shapes=True,
                 on_trace_ready=lambda ready: ready.export_chrome_trace(os.path.join(folder, "device.json")), **more) as running:
        return timed.steps(running.step)


def with_observer(timed, folder):
    observer = ExecutionTraceObserver()
    observer.register_callback(os.path.join(folder, "host.json"))
    try:
        return profiler_alone(timed, folder, execution_trace_observer=observer)
    finally:
        observer.unregister_callback()


def with_record(timed, folder, observe="during"):
    with record(os.path.join(folder, "out"), steps=range(WARMUP, WARMUP + ACTIVE), warmup=WARMUP, observe=observe, quiet=True):
        return timed.steps(lambda: None)


def observed_before(timed, folder):
    return with_record(timed, folder, "before")


def unrecorded(timed, _):
    return timed.steps(lambda: None)


def main():
    torch.set_num_threads(1)
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
    timed, ways = Timed(), (unrecorded, profiler_alone, with_observer, with_record, observed_before)
    found = {way: [] for way in ways}
    for number in range(PAIRS + 1):
        for way in ways if number % 2 else reversed(ways):
            with tempfile.TemporaryDirectory() as folder:
                begun = clock()
                step = way(timed, folder)
                if number:  # the first round is the warm-up
                    found[way].append((step, clock() - begun))
    if dist.is_initialized() and dist.get_rank():
        return
    for index, name in enumerate(("a recorded step", "the block and its files")):
        base = [pair[index] for pair in found[profiler_alone]]
        print(f"{name}: torch.profiler alone {1e3 * statistics.median(base):.2f} ms")
        for way in (unrecorded, with_observer, with_record, observed_before):
            ratios = sorted(pair[index] / alone - 1 for pair, alone in zip(found[way], base))
            print(f"  {way.__name__}: {100 * statistics.median(ratios):+.1f} % (quarters {100 * ratios[len(ratios) // 4]:+.1f} to "
                  f"{100 * ratios[3 * len(ratios) // 4]:+.1f} %)")


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
