"""A job with 50 planted secrets, recorded twice: as it is (OUT/plain) and with level=1 (OUT/hidden).

    secrets_job.py OUT SECRET00,SECRET01,...
"""
import os
import sys
import threading

import torch
import torch.distributed as dist
from chakra_et.record import record
from torch import nn

S = sys.argv[2].split(",")
RANK = int(os.environ["RANK"])


def custom_operators():
    """An operator in a namespace of its own and one in aten's, with secret names of operator, overload and argument."""
    own, standard = torch.library.Library(S[19], "DEF"), torch.library.Library("aten", "FRAGMENT")
    own.define(f"{S[20]}.{S[39]}(Tensor {S[22]}, str label) -> Tensor")
    own.impl(f"{S[20]}.{S[39]}", lambda data, label: data * 2, "CPU")
    standard.define(f"{S[44]}(Tensor data) -> Tensor")
    standard.impl(S[44], lambda data: data + 1, "CPU")
    return own, standard


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter(S[29], nn.Parameter(torch.randn(32, 32)))
        self.register_buffer(S[30], torch.ones(32))
        self.add_module(S[16], nn.Linear(32, 32))

    def forward(self, data):
        return getattr(self, S[16])(data @ getattr(self, S[29])) * getattr(self, S[30])


class Dataset(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.randn(32)


def labels():
    """Annotations that begin or end as PyTorch's own do."""
    plain = [*S[7:12], f"two words {S[40]}", f"{S[41]} \u00fc\u2603", f"ProfilerStep#{S[42]}", f"autograd::engine::evaluate_function: {S[43]}",
             f"nccl:{S[45]}", f"cuda{S[46]}", f"gloo:all_reduce {S[47]}", f"## {S[48]} ##", f"{{{S[49]}: [1, 2]}}", f"aten::{S[34]}",
             f"/home/{S[33]}/train.py(12): forward", f"nn.Module: {S[28]}_0", f"Optimizer.step#{S[35]}.step", f"FSDP::all_gather ({S[38]})"]
    for name in plain:
        with torch.profiler.record_function(name):
            torch.ones(3).sum()
    for number in (12, 13, 14):
        with torch.profiler.record_function(f"{S[7]} with arguments", S[number]):
            torch.ones(3).sum()


def main():
    dist.init_process_group("gloo")
    libraries = custom_operators()
    group = dist.new_group([0, 1], group_desc=S[23])
    net = type(S[15], (Base,), {})()
    optimizer = type(S[17], (torch.optim.SGD,), {})(net.parameters(), lr=1e-3)
    function = type(S[18], (torch.autograd.Function,), {"forward": staticmethod(lambda context, data: data * 3),
                                                        "backward": staticmethod(lambda context, gradient: gradient * 3)})
    compiled = torch.compile(eval(f"lambda {S[27]}: {S[27]}.relu() + 1"), backend="eager")
    loader = torch.utils.data.DataLoader(type(S[25], (Dataset,), {})(), batch_size=4, num_workers=1)
    operators = getattr(torch.ops, S[19])

    def step():
        labels()
        for data in loader:
            made = function.apply(net(getattr(getattr(operators, S[20]), S[39])(data, S[21])))
            made = compiled(getattr(torch.ops.aten, S[44])(made))
            thread = threading.Thread(target=lambda: torch.ones(4).sum(), name=S[26])
            thread.start()
            thread.join()
            made.square().mean().backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad, group=group)
        optimizer.step()
        optimizer.zero_grad()

    for name, level in (("plain", 0), ("hidden", 1)):
        with record(os.path.join(sys.argv[1], name), steps=range(1, 3), warmup=1, level=level):
            for _ in range(4):
                step()
        dist.barrier()
    dist.destroy_process_group()
    del libraries


if __name__ == "__main__":
    main()
