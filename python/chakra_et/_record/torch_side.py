"""The profiler of the installed PyTorch with each option that linking uses, and what this PyTorch cannot record."""
import inspect
import json
import os
import platform
import sys
import time

from . import threads
from .errors import RecordError
from .steps import OptimizerWatch

Watch = OptimizerWatch

NAME = "PyTorch"
FILES = {"host": "json", "device": "json"}
COUNTED_BY = "optimizer"
COUNTERS = "optimizers"
PROCESSES = ("rank", "ranks")
WARMS_UP = True
OBSERVES = True  # an observer of operators beside the profiler
STEPS_WAIT = True  # a step of the script lasts as long as its work, but for what a GPU still does

EXPERIMENTAL = {"enable_cuda_sync_events": "waits between streams of the device (linking infers them by rules)",
                "profile_all_threads": "operators of threads that the profiled thread did not start"}
OPTIONS = {"record_shapes": True, "profile_memory": False, "with_stack": False, "with_flops": False, "with_modules": False}


def version():
    import torch
    return torch.__version__


def check_idle():
    try:
        import torch
    except ModuleNotFoundError as error:
        raise RecordError(f"PyTorch cannot be imported: {error}") from error
    if torch.autograd._profiler_enabled():
        raise RecordError("a profiler runs already; end the script's own torch.profiler before the recording")


def rank_of_job():
    """(rank, ranks of the job, ranks on this host), from torch.distributed, else from the environment."""
    import torch.distributed as dist
    if dist.is_available() and dist.is_initialized():
        rank, world = dist.get_rank(), dist.get_world_size()
    else:
        rank, world = (int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1)))
    return rank, world, int(os.environ.get("LOCAL_WORLD_SIZE", world))


def rank_is_known(named):
    """Before init_process_group without torchrun, a process does not know its rank."""
    import torch.distributed as dist
    return named is not None or "RANK" in os.environ or (dist.is_available() and dist.is_initialized())


def devices():
    """Kinds of devices that can be recorded beside the CPU, by the names of ProfilerActivity."""
    import torch
    found = []
    for name in ("cuda", "xpu", "mtia"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available() and hasattr(torch.profiler.ProfilerActivity, name.upper()):
            found.append(name.upper())
    return found


def experimental():
    """(options of _ExperimentalConfig that this version has, what a recording without the others lacks)"""
    import torch
    known = torch._C._profiler._ExperimentalConfig.__init__.__doc__ or ""
    used = [name for name in EXPERIMENTAL if name in known]
    lacks = [text for name, text in EXPERIMENTAL.items() if name not in known and (name != "enable_cuda_sync_events" or devices())]
    return used, lacks


def lacking():
    """What the installed PyTorch cannot record, one text each."""
    import torch
    lacks = experimental()[1]
    parameters = inspect.signature(torch.profiler.profile.__init__).parameters
    if "execution_trace_observer" not in parameters:
        lacks.append("record-function ids in the Kineto trace (linking joins the two traces by the order of operators)")
    if not torch.profiler.supported_activities() or not torch.autograd.kineto_available():
        lacks.append("times: this PyTorch was built without Kineto")
    accelerators = [name for name in ("cuda", "xpu", "mtia", "hpu", "npu")
                    if getattr(getattr(torch, name, None), "is_available", lambda: False)()]
    for name in accelerators:
        if name.upper() not in devices():
            lacks.append(f"operations of the device {name}")
    return lacks


def groups():
    """The process groups of this rank: name, description, back end, ranks."""
    import torch.distributed as dist
    if not (dist.is_available() and dist.is_initialized()):
        return []
    world = dist.distributed_c10d._world
    found = []
    for group, name in world.pg_names.items():
        ranks = world.pg_group_ranks.get(group, {})
        found.append({"name": str(name), "description": str(getattr(group, "group_desc", "")),
                      "backend": str(world.pg_backend_config.get(group, "")), "ranks": sorted(int(rank) for rank in ranks)})
    return found


def start_observer(observer):
    """Start the observer and write the process groups into the host trace, which older versions do not do by themselves."""
    import torch
    observer.start()
    if hasattr(observer, "_record_pg_config"):
        return
    listed = [{"pg_name": group["name"], "backend_config": group["backend"], "ranks": group["ranks"], "group_size": len(group["ranks"])}
              for group in groups()]
    if listed:
        enter = torch.autograd._record_function_with_args_enter
        torch.autograd._record_function_with_args_exit(enter("## process_group:init ##", json.dumps(listed)))


def options(warmup):
    return {**OPTIONS, **{name: True for name in experimental()[0]}, "devices": devices(), "warmup": warmup}


def versions():
    import torch
    found = {"python": platform.python_version(), "torch": torch.__version__, "system": f"{platform.system()} {platform.release()}",
             "machine": platform.machine(), "cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None)}
    if torch.cuda.is_available():
        found["device"] = torch.cuda.get_device_name()
        found["devices"] = torch.cuda.device_count()
        try:
            found["nccl"] = ".".join(str(part) for part in torch.cuda.nccl.version())
        except (AttributeError, RuntimeError):
            pass
    return {key: value for key, value in found.items() if value is not None}


def make_observer(path):
    from torch.profiler import ExecutionTraceObserver
    try:  # PyTorch keeps an observer whose file it cannot open, and then refuses every later one
        with open(path, "wb"):
            pass
    except OSError as error:
        raise RecordError(f"the host trace cannot be written: {error}") from error
    observer = ExecutionTraceObserver()
    observer.register_callback(path)  # returns None in 2.1 and 2.2
    if not observer._registered:
        raise RecordError("PyTorch has one execution trace observer a process, and another one is registered; "
                          "unset ENABLE_PYTORCH_EXECUTION_TRACE, or remove the observer of the script")
    return observer


def finish_observer(observer):
    """Complete the host trace. The observer's method would also copy the sources of compiled kernels beside the trace.

    Threads of Gloo and of autograd may still be inside of the observer's callback, and PyTorch frees the observer under them
    (a segmentation fault with 2.6 on a busy machine). So the observer stops first, and is freed when the threads have left.
    """
    if not getattr(observer, "_registered", True):
        return
    observer.stop()
    threads.wait_until_outside()
    remove = getattr(sys.modules.get("torch.profiler.profiler"), "_remove_execution_trace_observer", None)
    if remove is None or not getattr(observer, "_registered", False):
        observer.unregister_callback()
        return
    remove()
    observer._registered = False


def make_profiler(observer, first, begin, end, began, ready):
    """A profiler whose step is `begin`, that warms up until step `first` and saves at step `end` - 1 (None: at its end).

    Without an observer (None), the host trace is not its concern. It calls `began` when the recording begins, `ready` with itself when the recording has ended.
    """
    import torch
    from torch.profiler import ProfilerAction, ProfilerActivity, profile

    def schedule(step):
        if step < first:
            return ProfilerAction.WARMUP
        if end is None or step < end - 1:
            return ProfilerAction.RECORD
        return ProfilerAction.RECORD_AND_SAVE if step == end - 1 else ProfilerAction.NONE

    class Profiler(profile):
        """Runs the observer where this version of PyTorch does not."""
        own_observer = None

        def start_trace(self):
            began()
            if self.own_observer is not None:
                start_observer(self.own_observer)
            super().start_trace()

        def stop_trace(self):
            if self.own_observer is not None:
                self.own_observer.stop()
            super().stop_trace()

    arguments = dict(OPTIONS, schedule=schedule, on_trace_ready=ready,
                     activities=[ProfilerActivity.CPU, *(getattr(ProfilerActivity, name) for name in devices())],
                     experimental_config=torch._C._profiler._ExperimentalConfig(**{name: True for name in experimental()[0]}))
    if observer is not None and "execution_trace_observer" in inspect.signature(profile.__init__).parameters:
        profiler = Profiler(execution_trace_observer=observer, **arguments)
    else:
        profiler = Profiler(**arguments)
        profiler.own_observer = observer
    profiler.is_chakra_recorder = True
    profiler.step_num = begin  # so the annotations ProfilerStep#N count as the script does
    profiler.current_action = schedule(begin)
    return profiler


def is_own(profiler):
    return getattr(profiler, "is_chakra_recorder", False)


class Recording:
    """The steps of a range in the two files, from the warm-up steps before it on.

    observe="before": the host trace has the step before the range, so that the steps of the range run without the observer.
    """

    def __init__(self, files, first, begin, end, began, observe="during"):
        self.files, self.write_s = files, None
        self.observer, self.observed = make_observer(files["host"]), first - 1 if observe == "before" else None
        try:
            self.profiler = make_profiler(self.observer if self.observed is None else None, first, begin, end, began, self._export)
            self.profiler.start()
            self._observe()
        except BaseException:
            finish_observer(self.observer)
            raise

    def _observe(self):
        """Start the observer if its only step begins."""
        if self.observed is not None and self.profiler.step_num == self.observed:
            start_observer(self.observer)

    def step(self):
        if self.observed is not None and self.profiler.step_num == self.observed:
            self.observer.stop()  # before the profiler's own work at the end of a step
        self.profiler.step()
        self._observe()

    def _export(self, profiler):
        """The profiler has stopped: write its trace."""
        begun = time.perf_counter()
        profiler.export_chrome_trace(self.files["device"])
        finish_observer(self.observer)
        self.write_s = time.perf_counter() - begun

    def stop(self):
        """End at the last step of the range, or where the block ends. Without `write_s` afterwards, no step was recorded."""
        from torch.profiler import ProfilerAction
        if self.profiler.current_action == ProfilerAction.WARMUP:
            self.profiler.execution_trace_observer = self.profiler.own_observer = None  # else its end would start and stop it
        try:
            self.profiler.__exit__(None, None, None)
        finally:
            finish_observer(self.observer)

    def abandon(self):
        finish_observer(self.observer)

    def in_child(self):
        self.observer.stop()
