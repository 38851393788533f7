#!/usr/bin/env python3
"""What-ifs against jobs that were really changed.

    measure_what_ifs.py --python PYTHON [--bin DIR] [--repeat 5] [--keep DIR]

PYTHON has PyTorch (pip install torch numpy). Two ranks train a small transformer over Gloo on the CPU. Each change of CHANGES is made to the
job itself: the job is recorded before and after it, REPEAT times each, in turn; each recording before is linked, and `chakra whatif` says
what the change does. The measured change is the difference of the means. It holds where the mean of the predictions is within 5 % of the
measured change plus twice its standard error, and the change is at least ten times that error. Exits with 1 where one does not hold.

A machine with two idle cores is needed. As root the ranks run with a high priority.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST, TIMES_ERROR = 0.05, 10
RANKS, WARMUP, STEPS = 2, 2, 5
HIDDEN, SEQUENCE, LAYERS, BATCH = 512, 64, 3, 8
# What is done to the job (options of `record` below), and what is asked. {more}: the bytes of all gradients, with the wider layer, as a multiple
# of those without it.
CHANGES = [
    ("twice the batch", ["--batch", str(2 * BATCH)], ["--batch", "2"]),
    ("a layer three times as wide", ["--wide", "3"],
     ["--scale-node", "aten::bmm=3", "--scale-node", "aten::clamp_min*=3", "--scale-node", "aten::threshold_backward=3", "--scale", "all_reduce={more}"]),
    ("rank 1 has half of a core", ["--share-core", "1"], ["--speed", "1=0.5"]),
]


# ---- the job ---------------------------------------------------------------------------------------------------------------------------

def train(rank, o):
    import torch
    import torch.distributed as dist
    from record import Recorder
    from torch import nn

    class Wide(nn.Module):
        """A feed-forward layer of products and an activation that nothing else in the model uses."""

        def __init__(self):
            super().__init__()
            self.up = nn.Parameter(torch.randn(1, HIDDEN, int(o.wide * 8 * HIDDEN)) / 16)
            self.down = nn.Parameter(torch.randn(1, int(o.wide * 8 * HIDDEN), HIDDEN) / 64)

        def forward(self, x):
            flat = x.reshape(1, -1, HIDDEN)
            return x + torch.bmm(torch.relu(torch.bmm(flat, self.up)), self.down).reshape(x.shape)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(HIDDEN)
            self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

        def forward(self, x):
            return x + self.down(nn.functional.gelu(self.up(self.norm(x))))

    torch.manual_seed(0)
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {rank % os.cpu_count()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(o.port))
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    other = None
    try:
        if rank == 1 and o.share_core:  # inherits core and priority
            other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        layers = [*(Block() for _ in range(LAYERS)), Wide()]
        model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=100)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        x = torch.randn(o.batch, SEQUENCE, HIDDEN)
        with Recorder(o.record, rank, WARMUP, STEPS) as recorder:
            for _ in range(WARMUP + STEPS):
                optimizer.zero_grad()
                model(x).square().mean().backward()
                optimizer.step()
                recorder.step()
        if rank == 0:
            with open(os.path.join(o.record, "parameters"), "w") as file:
                file.write(str(sum(p.numel() for p in model.parameters())))
    finally:
        if other:
            other.kill()
    dist.barrier()
    dist.destroy_process_group()


def record(o):
    import torch.multiprocessing as mp
    sys.path.insert(0, os.path.join(ROOT, "examples/record"))
    os.makedirs(o.record, exist_ok=True)
    os.setsid()
    if os.geteuid() == 0:
        with open("/proc/self/autogroup", "w") as file:  # Linux shares cores among sessions first
            file.write("-19")
        os.nice(-19)
    mp.spawn(train, args=(o,), nprocs=RANKS)


# ---- before, after, and the answer --------------------------------------------------------------------------------------------------

# glibc gives large blocks back to Linux, which clears their pages anew in every step: a fifth of its time, and most of its noise.
KEEPS_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "100000000000", "MALLOC_MMAP_THRESHOLD_": "100000000000"}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **KEEPS_MEMORY})
    if done.returncode:
        sys.exit(f"measure_what_ifs: {' '.join(command)}\n{done.stderr[-3000:]}")
    return done.stdout


class Job:
    """A recording: its time by the trace, and how many parameters it has."""

    def __init__(self, o, folder, name, options):
        raw, self.traces = os.path.join(folder, name, "raw"), os.path.join(folder, name, "traces")
        run([o.python, os.path.abspath(__file__), "--record", raw, *options])
        with open(os.path.join(raw, "parameters"), encoding="utf-8") as file:
            self.parameters = int(file.read())
        os.remove(os.path.join(raw, "parameters"))
        run([o.chakra, "link", raw, "-o", self.traces])
        shutil.rmtree(raw)
        answer = json.loads(run([o.chakra, "whatif", self.traces, "--json", "-"]))
        self.ps, self.error = answer["measured_ps"], answer["error"]


def measure(o, folder, at, change):
    name, options, asked = change
    before, after = [], []
    for i in range(o.repeat):
        before.append(Job(o, folder, f"{at}-before{i}", []))
        after.append(Job(o, folder, f"{at}-after{i}", options))
    asked = [text.format(more=f"{after[0].parameters / before[0].parameters:.4g}") for text in asked]
    said = [json.loads(run([o.chakra, "whatif", job.traces, *asked, "--json", "-"])) for job in before]
    times = [[job.ps / 1e9 / STEPS for job in jobs] for jobs in (before, after)]
    measured = statistics.mean(times[1]) - statistics.mean(times[0])
    error = sum(statistics.variance(part) / o.repeat for part in times) ** 0.5
    predicted = statistics.mean(answer["change_ps"] for answer in said) / 1e9 / STEPS
    replay = statistics.mean(abs(job.error) for job in before)
    good = abs(predicted - measured) <= MOST * abs(measured) + 2 * error and abs(measured) >= TIMES_ERROR * error
    print(f"| {name} | `{' '.join(asked)}` | {statistics.mean(times[0]):.1f} ms | {measured:+.2f} ms +- {error:.2f} ms | {predicted:+.2f} ms | "
          f"{predicted / measured - 1:+.1%} | {replay:.2%} | {'yes' if good else 'no'} |".replace("%", " %"), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", type=int, help="the change with this number alone, from 0")
    parser.add_argument("--keep", help="a folder for the linked jobs")
    of_job = parser.add_argument_group("of the job that is recorded (internal)")
    of_job.add_argument("--record", help=argparse.SUPPRESS)
    for name, default in (("--batch", BATCH), ("--wide", 1), ("--share-core", 0), ("--port", 29531)):
        of_job.add_argument(name, type=int, default=default, help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.record:
        return record(o)
    o.chakra = os.path.join(o.bin, "chakra")
    print("| change | asked | a step before | measured change | predicted | off by | replay before | holds |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        results = [measure(o, o.keep or folder, i, change) for i, change in enumerate(CHANGES) if o.only in (None, i)]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
