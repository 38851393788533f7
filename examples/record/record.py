"""Record one rank of a PyTorch job, with PyTorch 2.1 or newer.

    recorder = Recorder("out", rank, warmup=3, active=3)
    with recorder:
        for batch in batches:       # at least warmup + active of them
            train(batch)
            recorder.step()

It writes out/host.<rank>.json.gz (ExecutionTraceObserver) and out/device.<rank>.json.gz (torch.profiler), which `chakra link`
joins. Copy this file; it needs PyTorch alone. What a version cannot record stands in `recorder.missing`. docs/how-to/record.md
says why each option is as it is.
"""
import gzip
import inspect
import json
import os
import shutil

import torch
import torch.distributed as dist
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile, schedule


def experimental_options():
    """What `_ExperimentalConfig` of this version offers of the options that linking profits from, and what it lacks."""
    wanted = {"enable_cuda_sync_events": "waits between streams (rules stand in for them)",
              "profile_all_threads": "operators of threads that the profiled one did not start"}
    known = torch._C._profiler._ExperimentalConfig.__init__.__doc__ or ""
    return [name for name in wanted if name in known], [text for name, text in wanted.items() if name not in known]


def record_groups():
    """The process groups as a node of the host trace, as newer versions write them when the observer starts."""
    world = dist.distributed_c10d._world
    groups = [{"pg_name": name, "backend_config": str(world.pg_backend_config[group]),
               "ranks": list(world.pg_group_ranks[group]), "group_size": len(world.pg_group_ranks[group])}
              for group, name in world.pg_names.items()]
    enter = torch.autograd._record_function_with_args_enter
    torch.autograd._record_function_with_args_exit(enter("## process_group:init ##", json.dumps(groups)))


class _ProfileWithObserver(profile):
    """For versions whose profiler starts no observer: it starts and stops with the trace, between two steps."""

    observer = None

    def start_trace(self):
        self.observer.start()
        if dist.is_available() and dist.is_initialized():
            record_groups()
        super().start_trace()

    def stop_trace(self):
        self.observer.stop()
        super().stop_trace()


class Recorder:
    def __init__(self, folder, rank=0, warmup=3, active=3):
        os.makedirs(folder, exist_ok=True)
        self.host, self.device = (os.path.join(folder, f"{kind}.{rank}.json") for kind in ("host", "device"))
        self.missing = []
        self.observer = ExecutionTraceObserver()
        self.observer.register_callback(self.host)  # returns None in 2.1 and 2.2
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        options, self.missing = experimental_options()
        arguments = {
            "activities": activities,
            "schedule": schedule(wait=0, warmup=warmup, active=active, repeat=1),
            "record_shapes": True,
            "experimental_config": torch._C._profiler._ExperimentalConfig(**{name: True for name in options}),
            "on_trace_ready": lambda profiler: profiler.export_chrome_trace(self.device),
        }
        if "execution_trace_observer" in inspect.signature(profile.__init__).parameters:  # 2.3 and newer
            self.profiler = profile(execution_trace_observer=self.observer, **arguments)
        else:
            self.profiler = _ProfileWithObserver(**arguments)
            self.profiler.observer = self.observer

    def __enter__(self):
        self.profiler.__enter__()
        return self

    def step(self):
        self.profiler.step()

    def __exit__(self, *error):
        self.profiler.__exit__(*error)
        self.observer.unregister_callback()  # before that, the host trace is not complete
        for path in (self.host, self.device):
            if os.path.exists(path):
                _compress(path)
        resources = self.host.removesuffix(".json") + "_resources"  # 2.5 and 2.6 make it, for Triton's kernels
        if os.path.isdir(resources) and not os.listdir(resources):
            os.rmdir(resources)


def _compress(path):
    with open(path, "rb") as plain, open(path + ".gz", "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        shutil.copyfileobj(plain, packed)
    os.remove(path)
