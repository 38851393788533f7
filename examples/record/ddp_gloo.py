#!/usr/bin/env python3
"""Record data-parallel training of a small transformer over Gloo on the CPU.

Each rank runs ExecutionTraceObserver and torch.profiler together (record.py), so the
host trace and the Kineto trace name the same record functions:

    OUT/host.<rank>.json.gz     PyTorch execution trace
    OUT/device.<rank>.json.gz   Kineto trace

The backward pass runs on a thread of its own, as it does when a GPU is used, where
torch.profiler can record all threads (2.7 and newer), else on the main thread.
Needs PyTorch 2.1 or newer (pip install torch numpy); nothing else in this project does.

    python3 ddp_gloo.py --out DIR [--ranks 2] [--layers 4] [--steps 3]
"""
import argparse
import os
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from record import Recorder
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARMUP_STEPS = 3


class Block(nn.Module):
    """One pre-norm transformer block: attention and a feed-forward net."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden)
        self.attention = nn.MultiheadAttention(hidden, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(hidden)
        self.feed_forward = nn.Sequential(
            nn.Linear(hidden, 4 * hidden), nn.GELU(), nn.Linear(4 * hidden, hidden))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.feed_forward(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, hidden, heads, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.blocks = nn.Sequential(*(Block(hidden, heads) for _ in range(layers)))
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens):
        return self.head(self.blocks(self.embedding(tokens)))


def train(rank, args):
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)

    model = Transformer(args.vocabulary, args.hidden, args.heads, args.layers)
    parameter_bytes = sum(4 * p.numel() for p in model.parameters())
    model = DistributedDataParallel(
        model, bucket_cap_mb=args.bucket_share * parameter_bytes / 2**20)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    tokens = torch.randint(args.vocabulary, (args.batch, args.sequence + 1),
                           generator=torch.Generator().manual_seed(rank))
    recorder = Recorder(args.out, rank, WARMUP_STEPS, args.steps)
    if rank == 0:
        for what in recorder.missing:
            print(f"PyTorch {torch.__version__} does not record {what}")
    all_threads = not any("threads" in what for what in recorder.missing)
    backward_thread = ThreadPoolExecutor(max_workers=1)

    def step():
        optimizer.zero_grad()
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(
            logits.reshape(-1, args.vocabulary), tokens[:, 1:].reshape(-1))
        if all_threads:
            backward_thread.submit(loss.backward).result()
        else:
            loss.backward()
        optimizer.step()

    with recorder:
        for _ in range(WARMUP_STEPS + args.steps):
            step()
            recorder.step()

    backward_thread.shutdown()
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="folder to write to")
    for name, default, text in (
            ("ranks", 2, "processes"), ("layers", 4, "transformer blocks"),
            ("steps", 3, "recorded training steps"), ("hidden", 256, "hidden size"),
            ("heads", 4, "attention heads"), ("vocabulary", 1000, "tokens known"),
            ("sequence", 64, "tokens per sample"), ("batch", 8, "samples per rank and step"),
            ("threads", 1, "threads per rank for an operator"), ("port", 29511, "rendezvous port")):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{text} ({default})")
    parser.add_argument("--bucket-share", type=float, default=0.6,
                        help="gradient bucket, share of all parameters (0.6: two buckets)")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    mp.spawn(train, args=(args,), nprocs=args.ranks)


if __name__ == "__main__":
    main()
