"""JAX: its profiler, and the steps of an unchanged script."""
import contextlib
import glob
import os
import platform
import shutil
import sys
import threading
import time
from functools import wraps

from .errors import RecordError

NAME = "JAX"
FILES = {"profile": "xplane.pb"}
COUNTED_BY = "StepTraceAnnotation"
COUNTERS = "StepTraceAnnotation of the script"
PROCESSES = ("process", "processes")
WARMS_UP = False
OBSERVES = False
STEPS_WAIT = False  # a step of the script only starts its work


def version():
    import jax
    return jax.__version__


def check_idle():
    try:
        import jax
    except ModuleNotFoundError as error:
        raise RecordError(f"JAX cannot be imported: {error}") from error
    state = getattr(jax._src.profiler, "_profile_state", None)
    if getattr(state, "profile_session", None) is not None:
        raise RecordError("a profiler runs already; end the script's own jax.profiler before the recording")


def rank_of_job():
    """(number of the process, processes of the job, processes on this host), without a start of JAX's back ends."""
    from jax._src import distributed
    state = distributed.global_state
    number, world = (state.process_id, state.num_processes) if state.client is not None else (0, 1)
    return number, world, int(os.environ.get("LOCAL_WORLD_SIZE", world))


def rank_is_known(named):
    from jax._src import distributed
    return named is not None or distributed.global_state.client is not None


def lacking():
    return []


def groups():
    return []  # the programs state them


def options(_):
    return {"python_tracer_level": 0, "devices": _devices()}


def _devices():
    """Kinds of devices, once the job has started JAX's back ends."""
    from jax._src import xla_bridge
    return sorted(xla_bridge.backends()) if xla_bridge.backends_are_initialized() else []


def versions():
    import jax
    import jaxlib
    found = {"python": platform.python_version(), "jax": jax.__version__, "jaxlib": jaxlib.__version__,
             "system": f"{platform.system()} {platform.release()}", "machine": platform.machine()}
    if _devices():
        found["device"], found["devices"] = jax.local_devices()[0].device_kind, jax.local_device_count()
    return found


class Watch:
    """Calls `ended` where the outermost jax.profiler.StepTraceAnnotation of a thread ends, except those of Recording."""

    def __init__(self, ended):
        self.ended, self.depth, self.handle = ended, {}, None

    def start(self):
        import jax
        kind, watch = jax.profiler.StepTraceAnnotation, self
        self.handle = kind, vars(kind).get("__enter__"), vars(kind).get("__exit__")
        enter, leave = kind.__enter__, kind.__exit__

        @wraps(enter)
        def entered(annotation):
            thread = threading.get_ident()
            watch.depth[thread] = watch.depth.get(thread, 0) + 1
            return enter(annotation)

        @wraps(leave)
        def left(annotation, *error):
            thread = threading.get_ident()
            depth = watch.depth.get(thread, 0) - 1  # -1: the annotation began before the block
            watch.depth[thread] = max(0, depth)
            result = leave(annotation, *error)
            if depth == 0 and not any(error):
                watch.ended()
            return result

        kind.__enter__, kind.__exit__ = entered, left

    def stop(self):
        kind, *methods = self.handle
        for name, method in zip(("__enter__", "__exit__"), methods):
            if method is None:
                delattr(kind, name)
            else:
                setattr(kind, name, method)


def wait_for_devices():
    """Wait until the devices have done what the script has started, so that each step has its work."""
    import jax
    jax.effects_barrier()
    for array in jax.live_arrays():
        with contextlib.suppress(RuntimeError):  # deleted, or of a computation that failed: the script will see that
            array.block_until_ready()


class Recording:
    """The steps of a range in one profile. The file is there, and `write_s` is set, when stop() has ended."""

    def __init__(self, files, _, begin, end, began, observe="during"):
        import jax
        del observe  # JAX has one profile
        self.path, self.number, self.end, self.write_s, self.annotation = files["profile"], begin, end, None, None
        self.folder = f"{self.path}.folder"
        wait_for_devices()
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        try:
            jax.profiler.start_trace(self.folder, profiler_options=options)
        except Exception as error:
            raise RecordError(f"JAX's profiler does not start: {error}") from error
        self.running = True
        began()
        self._annotate()

    def _annotate(self):
        """The steps have the recorder's numbers; those of the script lie inside of them."""
        from jax.profiler import TraceAnnotation
        self.annotation = TraceAnnotation("step", _r=1, step_num=self.number)
        self.annotation.__enter__()

    def _leave(self):
        if self.annotation is not None:
            self.annotation.__exit__(None, None, None)
            self.annotation = None

    def step(self):
        self._leave()
        self.number += 1
        if self.end is None or self.number < self.end:
            self._annotate()

    def stop(self):
        import jax
        self._leave()
        wait_for_devices()
        begun = time.perf_counter()
        self.running = False
        try:
            jax.profiler.stop_trace()
            found = glob.glob(os.path.join(glob.escape(self.folder), "**", "*.xplane.pb"), recursive=True)
            if len(found) != 1:
                raise RecordError(f"JAX wrote {len(found)} profiles instead of one; see its messages above")
            os.replace(found[0], self.path)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.write_s = time.perf_counter() - begun

    def abandon(self):
        with contextlib.suppress(Exception):
            self._leave()
            if self.running:
                sys.modules["jax"].profiler.stop_trace()
        shutil.rmtree(self.folder, ignore_errors=True)

    def in_child(self):
        """The profiler's threads stay with the parent."""
        self.annotation, self.running = None, False
