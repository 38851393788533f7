"""init_process_group comes after the recording has begun. Arguments: the folder."""
import sys

import torch
import torch.distributed as dist
from chakra_et.record import record

with record(sys.argv[1]):
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(3))
dist.destroy_process_group()
