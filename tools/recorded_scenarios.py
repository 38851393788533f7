#!/usr/bin/env python3
"""The jobs that record_jobs.py records: a process for each rank, on the CPU, with Gloo.

    PYTHONPATH=FOLDER_OF_rec.py recorded_scenarios.py SCENARIO OUT RANKS [key=value...]

It runs in the Python of the environment that records, not in the project's. SCENARIO is a function of this file
without its `scenario_`, or one of rec.py, which has the recorder (`Rec`). OUT gets host.R.json, device.R.json and
truth.R.json for each rank R. A scenario writes each communication call of its steps into the truth (`record.comm`),
in the order in which the rank makes them; or the bytes of a type of call in all, `ALL_REDUCE_TOTAL` for example; or
none, where only the times of the job are judged.
"""
import contextlib
import os
import random
import sys

import rec
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

FLOAT = 4  # bytes


def bytes_of(module):
    return sum(parameter.numel() for parameter in module.parameters()) * FLOAT


def blocks(count, width=256):
    return nn.Sequential(*[rec.block(width, 2 * width) for _ in range(count)])


def option(options, name, default=0):
    return int(options.get(name, default))


def mesh_of(*shape, names=None):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cpu", shape, mesh_dim_names=names)


def train(record, model, optimizer, data, told=lambda: None):
    """Plain steps; `told` adds the calls of a step to the truth."""
    def step(_):
        model(data).square().mean().backward()
        told()
        optimizer.step()
        optimizer.zero_grad()
    record.run(step)


# ---- sharded data parallel ---------------------------------------------------------------------------------

def shard(model, mesh, **how):
    from torch.distributed.fsdp import fully_shard
    for part in model:
        fully_shard(part, mesh=mesh, **how)
    fully_shard(model, mesh=mesh, **how)


def sharded_step(record, sizes, group, gathered, scattered, reshard=True, synchronized=True, replicas=()):
    """The calls of one forward and backward pass with FSDP2, which gathers a block ahead in the backward pass."""
    shards = len(group)
    gather = lambda block: record.comm("ALL_GATHER", sizes[block] // shards // gathered, group)
    last = len(sizes) - 1
    for block in range(len(sizes)):
        gather(block)
    if reshard:
        gather(last)
    for block in range(last, -1, -1):
        if reshard and block:
            gather(block - 1)
        if synchronized:
            record.comm("REDUCE_SCATTER", sizes[block] // scattered, group)
        if synchronized and replicas:
            record.comm("ALL_REDUCE", sizes[block] // shards // scattered, replicas)


def scenario_fsdp2(rank, world, options):
    """FSDP2: bf16=1 gathers in half precision, reshard=0 keeps the weights for the backward pass, acc=N accumulates."""
    how, half, reshard, passes = {}, option(options, "bf16"), bool(option(options, "reshard", 1)), option(options, "acc", 1)
    if half:
        from torch.distributed.fsdp import MixedPrecisionPolicy
        how["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = blocks(3)
    sizes = [bytes_of(part) for part in model]
    shard(model, mesh_of(world), reshard_after_forward=reshard, **how)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data, record = torch.randn(64, 256), rec.mk(options, rank)

    def step(_):
        for number in range(passes):
            synchronized = number == passes - 1
            model.set_requires_gradient_sync(synchronized)
            model(data).square().mean().backward()
            sharded_step(record, sizes, range(world), 2 if half else 1, 1, reshard, synchronized)
        optimizer.step()
        optimizer.zero_grad()
    record.run(step)


def scenario_hsdp(rank, world, options):
    """FSDP2 within each half of the ranks, data parallel between the halves; loss=1 reduces the loss over all."""
    shards = world // 2
    model = blocks(3)
    sizes = [bytes_of(part) for part in model]
    shard(model, mesh_of(2, shards, names=("replicate", "shard")))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data, record = torch.randn(64, 256), rec.mk(options, rank)
    group = [rank // shards * shards + at for at in range(shards)]
    replicas = [rank % shards + at * shards for at in range(2)]

    def step(_):
        loss = model(data).square().mean()
        loss.backward()
        sharded_step(record, sizes, group, 1, 1, replicas=replicas)
        optimizer.step()
        optimizer.zero_grad()
        if option(options, "loss"):
            dist.all_reduce(loss.detach())
            record.comm("ALL_REDUCE", FLOAT, range(world))
    record.run(step)


def is_block(module, recurse, nonwrapped_numel):
    return recurse or (isinstance(module, nn.Sequential) and len(module) == 3 and isinstance(module[0], nn.Linear))


def scenario_fsdp1(rank, world, options):
    """The older FullyShardedDataParallel: strategy=SHARD_GRAD_OP keeps the weights, clip=1 clips by the norm."""
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    strategy, clips = options.get("strategy", "FULL_SHARD"), option(options, "clip")
    model = blocks(3)
    size = bytes_of(model)
    model = FullyShardedDataParallel(model, auto_wrap_policy=is_block, device_id=torch.device("cpu"),
                                     sharding_strategy=ShardingStrategy[strategy])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data, record = torch.randn(64, 256), rec.mk(options, rank)

    def step(_):
        model(data).square().mean().backward()
        record.comm("ALL_GATHER_TOTAL", (2 if strategy == "FULL_SHARD" else 1) * size // world, range(world))
        record.comm("REDUCE_SCATTER_TOTAL", size, range(world))
        if clips:
            model.clip_grad_norm_(1.0)
            record.comm("ALL_REDUCE_TOTAL", FLOAT, range(world))
        optimizer.step()
        optimizer.zero_grad()
    record.run(step)


# ---- data parallel -----------------------------------------------------------------------------------------

def loader(workers):
    more = {"persistent_workers": True, "prefetch_factor": 2} if workers else {}
    return iter(torch.utils.data.DataLoader(rec.DS(), batch_size=16, num_workers=workers, **more))


def images(normalized):
    layers = [nn.Conv2d(3, 8, 3), *([nn.BatchNorm2d(8)] if normalized else []), nn.ReLU(), nn.Flatten(),
              nn.Linear(8 * 30 * 30, 32), nn.ReLU(), nn.Linear(32, 10)]
    return nn.Sequential(*layers)


def data_parallel(model, options):
    named = {"view": "gradient_as_bucket_view", "unused": "find_unused_parameters"}
    how = {argument: True for name, argument in named.items() if option(options, name)}
    model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.5, **how)
    if options.get("hook"):
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        model.register_comm_hook(None, getattr(default_hooks, f"{options['hook']}_compress_hook"))
    return model


def optimizer_of(model, options):
    if not option(options, "zero"):
        return torch.optim.SGD(model.parameters(), lr=1e-3)
    from torch.distributed.optim import ZeroRedundancyOptimizer
    return ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-3)


def scenario_images(rank, world, options):
    """DDP with batch norm, whose buffers are broadcast, and a data loader with workers.

    view=1, unused=1: options of DDP; hook=fp16 or bf16; zero=1: ZeRO's optimizer; acc=N accumulates;
    evaluate=1 reduces the loss and waits at a barrier; bn=0: no batch norm.
    """
    normalized, passes = option(options, "bn", 1), option(options, "acc", 1)
    model = images(normalized)
    size = bytes_of(model) // (2 if options.get("hook") else 1)
    buffers = sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
    known = not any(option(options, name) for name in ("zero", "unused", "evaluate")) and passes == 1
    model = data_parallel(model, options)
    optimizer, batches, record = optimizer_of(model, options), loader(option(options, "workers", 2)), rec.mk(options, rank)

    def step(_):
        for number in range(passes):
            inputs, labels = next(batches)
            with model.no_sync() if number < passes - 1 else contextlib.nullcontext():
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if known:
            record.comm("ALL_REDUCE_TOTAL", size, range(world))
        if known and normalized:
            record.comm("BROADCAST_TOTAL", buffers, range(world))
        if option(options, "evaluate"):
            dist.all_reduce(torch.stack([loss.detach(), torch.tensor(float(len(inputs)))]))
            dist.barrier()
    record.run(step)


def scenario_localsgd(rank, world, options):
    """Each rank trains alone; every second step averages the weights."""
    model, record = rec.block(128, 256), rec.mk(options, rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(number):
        model(torch.randn(32, 128)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if number % 2:
            return
        for parameter in model.parameters():
            dist.all_reduce(parameter.data)
            record.comm("ALL_REDUCE", parameter.numel() * FLOAT, range(world))
            parameter.data /= world
    record.run(step)


def scenario_gan(rank, world, options):
    """Two DDP models trained in turns."""
    generator, critic = (nn.parallel.DistributedDataParallel(rec.block(64, width)) for width in (128, 256))
    size = bytes_of(generator) + bytes_of(critic)
    optimizers = [torch.optim.SGD(model.parameters(), lr=1e-3) for model in (critic, generator)]
    record = rec.mk(options, rank)

    def step(_):
        noise = torch.randn(32, 64)
        critic(generator(noise).detach()).sum().backward()
        optimizers[0].step()
        critic.requires_grad_(False)
        generator(noise).square().sum().backward()
        optimizers[1].step()
        critic.requires_grad_(True)
        for optimizer in optimizers:
            optimizer.zero_grad()
        record.comm("ALL_REDUCE_TOTAL", size, range(world))
    record.run(step)


def scenario_server(rank, world, options):
    """Rank 0 gives out the weights and collects the gradients; then a scatter and a gather."""
    record, model, everyone = rec.mk(options, rank), rec.block(128, 256), range(world)
    size, piece = bytes_of(model), 100

    def step(_):
        dist.broadcast(torch.cat([parameter.data.flatten() for parameter in model.parameters()]), 0)
        record.comm("BROADCAST", size, everyone, root=0)
        if rank:
            model(torch.randn(64, 128)).sum().backward()
        dist.reduce(torch.ones(size // FLOAT), 0)
        record.comm("REDUCE", size, everyone, root=0)
        part = torch.empty(piece)
        dist.scatter(part, None if rank else [torch.ones(piece) for _ in everyone], src=0)
        record.comm("SCATTER", 0 if rank else piece * FLOAT * world, everyone, root=0)
        dist.gather(part, None if rank else [torch.empty(piece) for _ in everyone], dst=0)
        record.comm("GATHER", piece * FLOAT, everyone, root=0)
    record.run(step)


# ---- tensors and sequences in parts ------------------------------------------------------------------------

class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, data):
        return data + self.down(F.gelu(self.up(self.norm(data))))


def scenario_sequence(rank, world, options):
    """Sequence parallel blocks; dp=N shards the weights over N such groups."""
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module
    replicas = option(options, "dp", 1)
    parts = world // replicas
    mesh = mesh_of(replicas, parts, names=("dp", "tp"))
    model = nn.Sequential(Residual(256), Residual(256))
    for part in model:
        parallelize_module(part, mesh["tp"], {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                                              "down": RowwiseParallel(output_layouts=Shard(1), use_local_output=True)})
    if replicas > 1:
        shard(model, mesh["dp"])
    train(rec.mk(options, rank), model, torch.optim.SGD(model.parameters(), lr=1e-3), torch.randn(2, 64 // parts, 256))


def exchange(how, rank, sent, received, following, previous):
    """Sends to the rank that follows, receives from the one before; the works to wait for."""
    if how == "batch":
        return dist.batch_isend_irecv([dist.P2POp(dist.isend, sent, following), dist.P2POp(dist.irecv, received, previous)])
    if how == "isend":
        return [dist.isend(sent, following), dist.irecv(received, previous)]
    if rank % 2 == 0:
        dist.send(sent, following)
        dist.recv(received, previous)
    else:
        dist.recv(received, previous)
        dist.send(sent, following)
    return []


def scenario_ring(rank, world, options):
    """Ring attention by hand: keys and values travel round; how=batch, isend or send."""
    record, how = rec.mk(options, rank), options.get("how", "batch")
    length, width, heads = 64, 32, 4
    project = nn.Linear(width * heads, 3 * width * heads)
    following, previous = (rank + 1) % world, (rank - 1) % world

    def step(_):
        query, key, value = project(torch.randn(length, width * heads)).detach().view(length, 3, heads, width).permute(1, 2, 0, 3)
        held = torch.stack([key, value])
        total, weight = torch.zeros(heads, length, width), torch.zeros(heads, length, 1)
        for hop in range(world):
            works, received = [], torch.empty_like(held)
            if hop < world - 1:
                works = exchange(how, rank, held, received, following, previous)
                record.comm("SEND", held.numel() * FLOAT, [rank, following])
                record.comm("RECV", held.numel() * FLOAT, [previous, rank])
            scores = (query @ held[0].transpose(1, 2) / width**0.5).exp()
            weight += scores.sum(-1, keepdim=True)
            total += scores @ held[1]
            for work in works:
                work.wait()
            held = received
        (total / weight).sum().item()
    record.run(step)


def scenario_ulysses(rank, world, options):
    """Attention with its heads split: all-to-all from parts of the sequence to heads, and back."""
    record, length, heads, width = rec.mk(options, rank), 64, 4, 32
    project, finish = nn.Linear(heads * width, 3 * heads * width), nn.Linear(heads * width, heads * width)
    part, held = length // world, heads // world

    def swap(data):
        data = data.contiguous()
        swapped = torch.empty_like(data)
        dist.all_to_all_single(swapped, data)
        record.comm("ALL_TO_ALL", data.numel() * FLOAT, range(world))
        return swapped

    def step(_):
        projected = project(torch.randn(part, heads * width)).detach().view(part, 3, world, held * width)
        query, key, value = swap(projected.permute(2, 0, 1, 3)).reshape(length, 3, held, width).permute(1, 2, 0, 3)
        seen = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]
        seen = swap(seen.permute(1, 0, 2).reshape(world, part, held * width))
        finish(seen.permute(1, 0, 2).reshape(part, heads * width)).sum().item()
    record.run(step)


# ---- pipelines and experts ---------------------------------------------------------------------------------

def halves(rank):
    """Of four ranks: the group of one's pair (0 1, 2 3), then of those across (0 2, 1 3), each with its ranks."""
    pairs, across = [[0, 1], [2, 3]], [[0, 2], [1, 3]]
    groups = [dist.new_group(ranks) for ranks in pairs + across]
    return (groups[rank // 2], pairs[rank // 2]), (groups[2 + rank % 2], across[rank % 2])


def reduce_gradients(record, model, group, ranks):
    works = []
    for parameter in model.parameters():
        works.append(dist.all_reduce(parameter.grad, group=group, async_op=True))
        record.comm("ALL_REDUCE", parameter.numel() * FLOAT, ranks)
    for work in works:
        work.wait()


def reduce_over_all(record, elements):
    dist.all_reduce(torch.ones(elements))
    record.comm("ALL_REDUCE", elements * FLOAT, range(dist.get_world_size()))


class Stage:
    """One of two stages: its activations, and messages with the other stage."""

    def __init__(self, record, rank, first, peer, group):
        self.record, self.rank, self.first, self.peer, self.how = record, rank, first, peer, {"group": group} if group else {}
        self.model, self.inputs, self.outputs, self.works = rec.block(128, 512), [], [], []

    def send(self, data, at_once=False):
        self.record.comm("SEND", data.numel() * FLOAT, [self.rank, self.peer])
        if at_once:
            dist.send(data, self.peer, **self.how)
        else:
            self.works.append(dist.isend(data, self.peer, **self.how))

    def receive(self):
        data = torch.empty(16, 128)
        dist.recv(data, self.peer, **self.how)
        self.record.comm("RECV", data.numel() * FLOAT, [self.peer, self.rank])
        return data

    def forward(self):
        data = torch.randn(16, 128) if self.first else self.receive().requires_grad_()
        self.inputs.append(data)
        self.outputs.append(self.model(data))
        if self.first:
            self.send(self.outputs[-1].detach())

    def backward(self, at):
        if self.first:
            self.outputs[at].backward(self.receive())
        else:
            self.outputs[at].square().mean().backward()
            self.send(self.inputs[at].grad, at_once=True)

    def finish(self):
        for work in self.works:
            work.wait()
        self.inputs, self.outputs, self.works = [], [], []


def scenario_pipeline_groups(rank, world, options):
    """Four ranks: two stages, each data parallel over two ranks; messages in groups, or in the world with world=1."""
    assert world == 4
    (data_group, data_ranks), (pipe_group, pipe_ranks) = halves(rank)
    first, in_world, record = rank < 2, option(options, "world"), rec.mk(options, rank)
    stage = Stage(record, rank, first, pipe_ranks[1 if first else 0], None if in_world else pipe_group)
    optimizer, shared = torch.optim.SGD(stage.model.parameters(), lr=1e-3), torch.randn(50, 128)

    def step(_):
        for _ in range(3):
            stage.forward()
        for at in range(3):
            stage.backward(at)
        stage.finish()
        reduce_gradients(record, stage.model, data_group, data_ranks)
        if not in_world:  # weights that both ends share
            dist.all_reduce(shared, group=pipe_group)
            record.comm("ALL_REDUCE", shared.numel() * FLOAT, pipe_ranks)
        optimizer.step()
        optimizer.zero_grad()
        reduce_over_all(record, 1)
    record.run(step)


def told_messages(record, rank, world, stages, microbatches, size):
    """The messages of the stages that a rank holds: activations to the next stage, gradients to the one before."""
    following, previous = (rank + 1) % world, (rank - 1) % world
    for stage in stages:
        for _ in range(microbatches):
            if stage < len(stages) * world - 1:
                record.comm("SEND", size, [rank, following])
                record.comm("RECV", size, [following, rank])
            if stage > 0:
                record.comm("RECV", size, [previous, rank])
                record.comm("SEND", size, [rank, previous])


def scenario_pipeline(rank, world, options):
    """torch.distributed.pipelining: schedule=NAME, stages=N on each rank."""
    from torch.distributed import pipelining
    count, name, microbatches = option(options, "stages", 1), options["schedule"], 4
    model, held = [rec.block(128, 256) for _ in range(count)], [rank + at * world for at in range(count)]
    stages = [pipelining.PipelineStage(part, number, world * count, torch.device("cpu")) for part, number in zip(model, held)]
    pipeline = getattr(pipelining, name)(stages if count > 1 else stages[0], n_microbatches=microbatches,
                                         loss_fn=lambda got, wanted: (got - wanted).square().mean())
    optimizer = torch.optim.SGD([parameter for part in model for parameter in part.parameters()], lr=1e-3)
    record, data = rec.mk(options, rank), torch.randn(32 * microbatches, 128)
    inputs, how = [data] if rank == 0 else [], {"target": data} if rank == world - 1 else {}

    def step(_):
        pipeline.step(*inputs, **how)
        told_messages(record, rank, world, held, microbatches, 32 * 128 * FLOAT)
        optimizer.step()
        optimizer.zero_grad()
    record.run(step)


def scenario_experts(rank, world, options):
    """Experts in groups of two, with unequal loads; their weights are data parallel between the groups."""
    assert world == 4
    (expert_group, expert_ranks), (data_group, data_ranks) = halves(rank)
    loads, width = torch.Generator().manual_seed(7 + rank // 2), 128
    model, record, mine = rec.block(width, 512), rec.mk(options, rank), rank % 2

    def swap(data, given, got):
        swapped = torch.empty(sum(got), width)
        dist.all_to_all_single(swapped, data, got, given, group=expert_group)
        record.comm("ALL_TO_ALL", sum(given) * width * FLOAT, expert_ranks, out=sum(got) * width * FLOAT)
        return swapped

    def step(_):
        tokens = torch.randint(1, 40, (2, 2), generator=loads).tolist()
        given, got = tokens[mine], [row[mine] for row in tokens]
        answers = model(swap(torch.randn(sum(given), width), given, got))
        answers.sum().backward()
        swap(answers.detach(), got, given)
        reduce_gradients(record, model, data_group, data_ranks)
        model.zero_grad()
        reduce_over_all(record, 3)
    record.run(step)


# ---- other calls -------------------------------------------------------------------------------------------

def scenario_functional(rank, world, options):
    """Functional collectives, one of them coalesced."""
    from torch.distributed import _functional_collectives as functional
    record, everyone = rec.mk(options, rank), range(world)

    def step(_):
        data = torch.randn(100, 100)
        for reduced in functional.all_reduce_coalesced([data.sum(0), data.sum()], "sum", dist.group.WORLD):
            reduced.sum().item()
        record.comm("ALL_REDUCE", 101 * FLOAT, everyone)
        rows = data[:96].contiguous()
        functional.reduce_scatter_tensor(rows, "sum", 0, dist.group.WORLD).sum().item()
        record.comm("REDUCE_SCATTER", rows.numel() * FLOAT, everyone)
        functional.all_to_all_single(rows, None, None, dist.group.WORLD).sum().item()
        record.comm("ALL_TO_ALL", rows.numel() * FLOAT, everyone)
        functional.broadcast(data[:3].contiguous(), 1, dist.group.WORLD).sum().item()
        record.comm("BROADCAST", 300 * FLOAT, everyone, root=1)
    record.run(step)


def scenario_uneven(rank, world, options):
    """Many short pieces of work that differ from rank to rank, with an all-reduce after each."""
    record, layer, chance = rec.mk(options, rank), nn.Linear(64, 64), random.Random(rank)

    def step(_):
        for _ in range(5):
            data = layer(torch.ones(4, 64)).detach()
            rec.busy(chance.random() * 3)
            dist.all_reduce(data)
            record.comm("ALL_REDUCE", data.numel() * FLOAT, range(world))
    record.run(step)


def scenario_objects(rank, world, options):
    """Collectives of Python objects, and a barrier."""
    record, layer = rec.mk(options, rank), nn.Linear(64, 64)

    def step(_):
        dist.all_reduce(layer(torch.ones(64, 64)).detach())
        dist.all_gather_object([None] * world, {"rank": rank, "text": "y" * (10 + rank)})
        dist.broadcast_object_list([None] if rank else [layer.state_dict()], 0)
        dist.barrier()
    record.run(step)


# ---- running -----------------------------------------------------------------------------------------------

def run_rank(rank, name, world, options):
    if scenario := globals().get(f"scenario_{name}"):
        setattr(rec, f"s_{name}", scenario)
    rec.main(rank, name, world, options)


def main():
    name, out, world = sys.argv[1], sys.argv[2], int(sys.argv[3])
    options = dict(word.split("=", 1) for word in sys.argv[4:]) | {"out": out}
    os.makedirs(out, exist_ok=True)
    torch.multiprocessing.spawn(run_rank, args=(name, world, options), nprocs=world)


if __name__ == "__main__":
    main()
