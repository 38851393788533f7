"""Small jobs that are recorded, each in a block of its own: one process for each rank, started as torchrun does.

    jobs.py OUT NAME...       in the environment RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT

A job gets its folder OUT/NAME. facts.RANK.json holds what only the script can see: exceptions, warnings, counts.
"""
import json
import os
import sys
import warnings

import torch
import torch.distributed as dist
from chakra_et.record import RecordError, record
from torch import nn

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
facts = {}


def model(width=64, layers=2):
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))])


def step(net, optimizer, width=64, batch=8):
    net(torch.randn(batch, width)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def parallel():
    net = nn.parallel.DistributedDataParallel(model())
    return net, torch.optim.AdamW(net.parameters())


def job_ddp(out, **options):
    net, optimizer = parallel()
    with record(out, steps=range(3, 6), warmup=2, **options):
        for _ in range(8):
            step(net, optimizer)


def job_made_inside(out):
    """The optimizer is made inside of the block and step 0 is recorded."""
    with record(out, steps="0:2"):
        net, optimizer = parallel()
        for _ in range(4):
            step(net, optimizer)


def job_manual(out):
    """step() ends steps, although two optimizers step in each."""
    net, optimizer = parallel()
    other = torch.optim.SGD(net.parameters(), lr=1e-3)
    with record(out, steps=range(2, 4), warmup=1) as recorder:
        for _ in range(5):
            step(net, optimizer)
            step(net, other)
            recorder.step()


def job_two_optimizers(out):
    net, optimizer = parallel()
    other = torch.optim.SGD(net.parameters(), lr=1e-3)
    with record(out, steps=range(2, 4), warmup=1) as recorder:
        for _ in range(5):
            step(net, optimizer)
            step(net, other)
    facts["two_optimizers"] = recorder.number


def job_scheduler(out):
    """Learning-rate schedulers wrap step() as well, before the block and inside of it."""
    net, optimizer = parallel()
    schedulers = [torch.optim.lr_scheduler.StepLR(optimizer, 2)]
    with record(out, steps=range(1, 3)) as recorder:
        schedulers.append(torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9))
        for _ in range(4):
            step(net, optimizer)
            for scheduler in schedulers:
                scheduler.step()
    facts["scheduler"] = recorder.number


def job_whole(out):
    net, optimizer = parallel()
    step(net, optimizer)
    with record(out):
        for _ in range(2):
            step(net, optimizer)


def sharded(parts=False):
    """FSDP2 where PyTorch has it for CPUs, else FSDP1. `parts`: FSDP1 with a unit for each layer."""
    net = model()
    if VERSION >= (2, 10) and not parts:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard
        mesh = init_device_mesh("cpu", (WORLD,))
        for part in net:
            fully_shard(part, mesh=mesh) if isinstance(part, nn.Linear) else None
        fully_shard(net, mesh=mesh)
    else:
        from torch.distributed.fsdp import FullyShardedDataParallel
        from torch.distributed.fsdp.wrap import ModuleWrapPolicy
        net = FullyShardedDataParallel(net, device_id=torch.device("cpu"), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}) if parts else None)
    return net, torch.optim.AdamW(net.parameters())


def job_fsdp(out, parts=False, **options):
    net, optimizer = sharded(parts)
    with record(out, steps=range(2, 4), warmup=1, **options):
        for _ in range(5):
            step(net, optimizer)


def job_pipeline(out, **options):
    """A stage on each rank: activations go on, gradients come back."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with record(out, steps=range(2, 4), warmup=1, **options):
        for _ in range(5):
            sent = []
            for _ in range(2):
                data = torch.randn(8, 64)
                if RANK > 0:
                    dist.recv(data, RANK - 1)
                data.requires_grad_()
                made = net(data)
                if RANK < WORLD - 1:
                    sent.append(dist.isend(made.detach(), RANK + 1))
                    gradient = torch.empty_like(made)
                    dist.recv(gradient, RANK + 1)
                    made.backward(gradient)
                else:
                    made.square().mean().backward()
                if RANK > 0:
                    sent.append(dist.isend(data.grad, RANK - 1))
            for work in sent:
                work.wait()
            optimizer.step()
            optimizer.zero_grad()


def job_compile(out, **options):
    compiled = torch.compile(model(), backend=os.environ.get("COMPILE_BACKEND", "aot_eager"))
    net = nn.parallel.DistributedDataParallel(compiled)
    optimizer = torch.optim.AdamW(net.parameters())
    with record(out, steps=range(3, 5), warmup=1, **options):
        for _ in range(6):
            step(net, optimizer)


def job_before(out):
    """The host trace has the step before, as in the next jobs."""
    job_ddp(out, observe="before")


def job_before_pipeline(out):
    job_pipeline(out, observe="before")


def job_before_compile(out):
    job_compile(out, observe="before")


def job_before_fsdp(out):
    """Threads of Gloo's pool take turns to run the operators of a collective, in another order in each step."""
    job_fsdp(out, observe="before")


def job_before_fsdp1(out):
    job_fsdp(out, parts=True, observe="before")


def job_before_sizes(out):
    """Batches of several sizes: of the recorded steps, only step 4 has the size of step 2."""
    net, optimizer = parallel()
    with record(out, steps=range(3, 6), observe="before"):
        for batch in (8, 16, 8, 16, 8, 32, 8):
            step(net, optimizer, batch=batch)


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.randn(64)


def job_loader(out):
    net, optimizer = parallel()
    with record(out, steps=range(2, 4), warmup=1):
        for batch in torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2):
            net(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


def job_forks(out):
    """Workers start inside of the recorded steps."""
    net, optimizer = parallel()
    with record(out, steps=range(1, 3), warmup=1):
        for _ in range(4):
            for batch in torch.utils.data.DataLoader(Numbers(), batch_size=32, num_workers=2):
                net(batch).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()


def job_groups(out):
    """A mesh of 2 x 2: groups of neighbours and across."""
    rows = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    columns = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    with record(out, steps=range(2, 4), warmup=1):
        for _ in range(5):
            net(torch.randn(8, 64)).square().mean().backward()
            for parameter in net.parameters():
                dist.all_reduce(parameter.grad, group=rows[RANK // 2])
            # of another size: on a busy machine, recordings of Gloo do not show in which of two groups an equal collective ran
            dist.all_reduce(torch.cat([parameter.grad.flatten() for parameter in net.parameters()]), group=columns[RANK % 2])
            optimizer.step()
            optimizer.zero_grad()


def job_cycles(out):
    net, optimizer = parallel()
    with record(out, steps=[range(1, 3), range(5, 7)], warmup=1):
        for _ in range(8):
            step(net, optimizer)


def job_blocks(out):
    net, optimizer = parallel()
    for _ in range(2):
        with record(out, steps=range(1, 3), warmup=1):
            for _ in range(4):
                step(net, optimizer)


def job_exception(out):
    net, optimizer = parallel()
    try:
        with record(out, steps=range(1, 6), warmup=1):
            for number in range(8):
                if number == 3:
                    raise KeyError("of the script")
                step(net, optimizer)
    except KeyError as error:
        facts["exception"] = str(error)


def job_inside_operator(out):
    """The exception comes out of the backward pass, with operators open."""
    class Breaks(torch.autograd.Function):
        @staticmethod
        def forward(context, data):
            return data * 2

        @staticmethod
        def backward(context, gradient):
            raise ValueError("of backward")

    net, optimizer = model(), None
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    try:
        with record(out, steps=range(1, 6), warmup=1):
            for number in range(8):
                made = net(torch.randn(8, 64))
                (Breaks.apply(made) if number == 3 else made).square().mean().backward()
                optimizer.step()
    except ValueError as error:
        facts["inside_operator"] = str(error)


def job_hidden(out):
    """Two recordings with level=1; the script fails in the second."""
    net, optimizer = parallel()
    try:
        with record(out, steps=[range(1, 3), range(5, 9)], warmup=1, level=1):
            for number in range(9):
                with torch.profiler.record_function("hush"):
                    step(net, optimizer)
                if number == 6:
                    raise KeyError("of the script")
    except KeyError as error:
        facts["hidden"] = str(error)


def job_full(out):
    """The file system is full at the first recording: the job goes on, and the block raises the error."""
    net, optimizer = parallel()
    original, steps = torch.profiler.profile.export_chrome_trace, 0
    torch.profiler.profile.export_chrome_trace = lambda self, path: open(path, "w").close()
    try:
        with record(out, steps=[range(1, 3), range(4, 6)], warmup=1):
            for _ in range(7):
                step(net, optimizer)
                steps += 1
    except RecordError as error:
        facts["full"] = [str(error), steps]
    torch.profiler.profile.export_chrome_trace = original


def job_early(out):
    net, optimizer = parallel()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with record(out, steps=range(2, 9), warmup=1):
            for _ in range(4):
                step(net, optimizer)
    facts["early"] = [str(one.message) for one in caught]


def job_refusals(out):
    """Errors that a call states before or behind the block."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    found = facts["refusals"] = {}

    def refused(name, call):
        try:
            call()
            found[name] = ""
        except RecordError as error:
            found[name] = str(error)

    def too_late():
        with record(out, steps=range(7, 9)):
            step(net, optimizer)

    def nested():
        with record(os.path.join(out, "a"), steps=range(9)), record(os.path.join(out, "b")):
            pass

    def profiled():
        with torch.profiler.profile(), record(os.path.join(out, "c")):
            pass

    def again():
        with record(os.path.join(os.path.dirname(out), "earlier"), steps=range(1)):
            step(net, optimizer)

    for name, call in (("too_late", too_late), ("nested", nested), ("profiled", profiled), ("again", again)):
        refused(name, call)
    for name, steps in (("empty", range(3, 3)), ("text", "1-3"), ("stride", range(0, 9, 2)), ("order", ["5:7", "6:8"])):
        refused(name, lambda steps=steps: record(out, steps=steps))
    refused("level", lambda: record(out, level=2))
    for name, steps in (("before_first", range(2)), ("before_next", "1:3,3:5"), ("before_whole", None)):
        refused(name, lambda steps=steps: record(out, steps=steps, observe="before"))
    refused("observe", lambda: record(out, observe="after"))
    refused("framework", lambda: record(out, framework="none"))
    refused("no_memory", lambda: record(os.path.join(out, "d"), level=1, private=os.path.dirname(out)).__enter__())
    refused("small_memory", lambda: record(os.path.join(out, "d"), level=1, private_bytes=1 << 60).__enter__())


def main():
    torch.manual_seed(RANK)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    out, names = sys.argv[1], sys.argv[2:]
    for name in names:
        globals()["job_" + name](os.path.join(out, name))
        dist.barrier()
    with open(os.path.join(out, f"facts.{RANK}.json"), "w", encoding="utf-8") as file:
        json.dump(facts, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
