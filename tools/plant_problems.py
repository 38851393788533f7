#!/usr/bin/env python3
"""Record jobs with one planted problem each, and compare the first diagnosis with the problem.

    plant_problems.py OUT [--bin build/release/bin] [--count 10] [--judge] [KIND...]

Two ranks train over Gloo on the CPU, with PyTorch 2.6 or newer. The kind `none` has no problem. Other
work on the machine delays ranks for real, so record on a machine without other work, or with `chrt -r 5`.
--judge does not record, and needs no PyTorch. Each wrong diagnosis is printed, and counts by kind at the
end; the command exits with 1 if a kind has less than 95 % right.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import time

KINDS = ("late_data_loader", "skewed_expert", "slow_rank", "small_messages", "no_overlap", "none")
OF_A_RANK = KINDS[:3]
WARMUP, ACTIVE = 2, 4


class Items:
    """A data set that takes some time for each item."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        time.sleep(self.seconds)
        return index


def place_of(seed):
    return seed % 2


def route(hidden, net, rank, late, many, few=100):
    """Send tokens to the experts of both ranks and back; those of `late` receive more."""
    import torch
    import torch.distributed as dist
    send = [many if to == late else few for to in range(2)]
    get = [send[rank]] * 2
    there, back = torch.empty(sum(get), hidden), torch.empty(sum(send), hidden)
    dist.all_to_all_single(there, torch.randn(sum(send), hidden), get, send)
    for _ in range(10):
        net[2](there @ net[1].weight)
    dist.all_to_all_single(back, there, send, get)


def slow_down(seed, x, seconds):
    """Sleep, or compute for so long."""
    if seed % 4 < 2:
        time.sleep(seconds)
    end = time.perf_counter() + seconds
    while seed % 4 >= 2 and time.perf_counter() < end:
        x @ x.t()


def reduce_gradients(kind, net):
    """Wait for each all-reduce: a few large ones, or many small ones."""
    import torch
    import torch.distributed as dist
    flat = torch.cat([p.grad.view(-1) for p in net.parameters()])
    sizes = {"no_overlap": (flat.numel() // 3 + 1,), "small_messages": (256, 16384)}[kind]
    for size in sizes:
        for part in (flat if size == sizes[-1] else flat[:2048]).split(size):
            dist.all_reduce(part)


def record(kind, seed, rank, out):
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule
    torch.manual_seed(0)
    hidden, late, seconds = 512, place_of(seed), 0.04 + 0.02 * (seed % 5)
    layers = [layer for _ in range(6) for layer in (nn.Linear(hidden, hidden), nn.ReLU())]
    net = nn.Sequential(nn.Linear(256, hidden), *layers)
    plain = kind in ("no_overlap", "small_messages", "skewed_expert")
    model = net if plain else nn.parallel.DistributedDataParallel(net, bucket_cap_mb=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    named = kind == "late_data_loader" and seed % 4 < 2
    loader = iter(torch.utils.data.DataLoader(Items(seconds if rank == late else 0), batch_size=1)) if named else None
    x = torch.randn(128, 256)

    def step():
        if named:
            next(loader)
        elif kind == "late_data_loader" and rank == late:
            time.sleep(seconds)
        optimizer.zero_grad()
        y = model(x)
        if kind == "skewed_expert":
            route(hidden, net, rank, late, 100 * (4 + seed % 5))
        if kind == "slow_rank" and rank == late:
            slow_down(seed, x, seconds)
        y.square().mean().backward()
        if kind in ("no_overlap", "small_messages"):
            reduce_gradients(kind, net)
        optimizer.step()

    folder = os.path.join(out, f"{kind}.{seed}")
    os.makedirs(folder, exist_ok=True)
    dist.barrier()
    observer = ExecutionTraceObserver().register_callback(os.path.join(folder, f"host.{rank}.json"))
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=WARMUP, active=ACTIVE),
                 execution_trace_observer=observer,
                 on_trace_ready=lambda p: p.export_chrome_trace(os.path.join(folder, f"device.{rank}.json"))) as profiler:
        for _ in range(WARMUP + ACTIVE):
            step()
            profiler.step()
    observer.unregister_callback()
    dist.barrier()


def train(rank, out, count, kinds):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ.setdefault("MASTER_PORT", "29733")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    for kind in kinds:
        for seed in range(count):
            record(kind, seed, rank, out)
    dist.destroy_process_group()


def diagnosis_of(folder, tools):
    """The kind and the place of the first diagnosis."""
    chakra, linked = os.path.join(tools, "chakra"), folder + ".linked"
    subprocess.run([chakra, "link", folder, "-o", linked], check=True, capture_output=True)
    done = subprocess.run([chakra, "analyze", linked, "--only", "diagnosis", "--json", "-"], check=True, capture_output=True)
    return [(row["kind"], row["place"], row["share"]) for row in json.loads(done.stdout)["diagnosis"]]


def judge(args):
    right, all_of = collections.Counter(), collections.Counter()
    for kind in args.kinds:
        for seed in range(args.count):
            rows = diagnosis_of(os.path.join(args.out, f"{kind}.{seed}"), args.bin)
            place = f"rank {place_of(seed)}" if kind in OF_A_RANK else "" if kind == "none" else "group 0"
            all_of[kind] += 1
            if rows[0][:2] == (kind, place):
                right[kind] += 1
            else:
                print(f"{kind}.{seed} at {place}: found", ", ".join(f"{k} at {p} ({100 * s:.1f} %)" for k, p, s in rows))
    for kind in args.kinds:
        print(f"{kind:18} {right[kind]} of {all_of[kind]}")
    return all(right[kind] >= 0.95 * all_of[kind] for kind in args.kinds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--judge", action="store_true")
    args = parser.parse_args()
    if not args.judge:
        import torch.multiprocessing as mp
        mp.spawn(train, args=(args.out, args.count, args.kinds), nprocs=2)
    return 0 if judge(args) else 1


if __name__ == "__main__":
    sys.exit(main())
