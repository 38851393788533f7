"""A script that does not know of the recording; its model and optimizer are made inside. Arguments: steps."""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

if __name__ == "__main__":
    dist.init_process_group("gloo")
    net = nn.parallel.DistributedDataParallel(nn.Linear(32, 32))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(int(sys.argv[1])):
        net(torch.randn(8, 32)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    os.write(1, f"arguments {sys.argv[1:]} {os.path.basename(sys.argv[0])}\n".encode())  # a line of each rank
    dist.destroy_process_group()
    sys.exit(0)
