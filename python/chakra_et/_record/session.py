"""One block of a job that records some of its steps."""
import contextlib
import os
import statistics
import time

from . import hidden_job, output, torch_side
from .command import find_command
from .errors import RecordError, note, warn
from .private import NEEDED, PrivateFolder
from .steps import Clock, OptimizerWatch, parse_steps

FORMAT = "chakra recording 1"
active = None  # the recorder whose block is open
warned = set()  # what this process has warned of
parts_of = {}  # folder -> how many recordings of this process it has


def _in_child():
    """A forked process, such as a worker of a DataLoader, inherits the observer and its open file: it must not write there."""
    global active
    recorder, active = active, None
    if recorder is not None:
        recorder.watch.ended, recorder.is_open = lambda: None, False  # the child may leave the block: its files are those of the parent
        if recorder.profiler is not None:
            recorder.observer.stop()


os.register_at_fork(after_in_child=_in_child)


class Recorder:
    """What `chakra_et.record()` returns: a context manager. step() ends a step; without a call, optimizers end them."""

    def __init__(self, out, steps=None, *, warmup=3, level=0, rank=None, overwrite=False, compress=True, command=None, private=None,
                 private_bytes=NEEDED, quiet=False):
        if level not in (0, 1):
            raise RecordError(f"level={level} is unknown: 0 keeps names, 1 removes names, paths and labels")
        self.out, self.ranges, self.warmup, self.level = output.folder_of(out), parse_steps(steps), max(0, int(warmup)), level
        self.is_new, self.is_open, self.checked = True, False, False
        self.rank, self.overwrite, self.compress, self.quiet = rank, overwrite, compress, quiet
        if rank is not None and not (isinstance(rank, int) and 0 <= rank < 1 << 31):
            raise RecordError(f"rank={rank!r} is not a rank: a whole number from 0")
        self.command = find_command(command) if level else None
        self.private_at, self.private_bytes, self.private = private, private_bytes, None
        self.number, self.manual, self.cycle, self.profiler, self.observer = 0, False, 0, None, None
        self.clock, self.took, self.saved, self.lacks, self.began_with = Clock(), {}, [], [], None
        self.watch, self.failure = OptimizerWatch(self._optimizer_stepped), None
        self.error = None  # of the recorder itself

    # ---- the block -------------------------------------------------------------------------------------------

    def __enter__(self):
        global active
        try:
            import torch
        except ModuleNotFoundError as error:
            raise RecordError(f"PyTorch cannot be imported: {error}") from error
        if not self.is_new:
            raise RecordError("a recorder serves one block; call chakra_et.record() again for the next block")
        if active is not None:
            raise RecordError("a recording is open already; blocks may follow each other, not lie inside of each other")
        if torch.autograd._profiler_enabled():
            raise RecordError("a profiler runs already; end the script's own torch.profiler before the recording")
        rank, world, local = self._place()
        self.checked = output.rank_is_known(self.rank)
        if self.out not in parts_of:
            output.refuse_earlier(self.out, rank, world, self.overwrite)
        os.makedirs(self.out, exist_ok=True)
        if self.level:
            self.private = PrivateFolder(self.out, self.private_at, self.private_bytes, local)
        self.lacks = torch_side.lacking()
        if not self.quiet and rank == 0:
            for text in self.lacks:
                if text not in warned:
                    warned.add(text)
                    warn(f"PyTorch {torch.__version__} does not record {text}")
        active, self.is_new, self.is_open = self, False, True
        try:
            self.watch.start()
            self.clock.begin()
            self._begin_if_due()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind, error, _):
        if not self.is_open:
            return False
        self.failure = None if kind is None or (kind is SystemExit and error.code in (0, None)) else kind.__name__
        try:
            self._stop_profiler()
            if self.error is not None:
                raise self.error
            if not self.saved and self.failure is None:
                asked = "" if self.ranges is None else f"; the steps {self._asked()} were asked for"
                how = "step()" if self.manual else "optimizers"
                raise RecordError(f"the block ended at step {self.number}, counted by {how}, before a step was recorded{asked}")
        except BaseException as own:
            if self.failure is None:
                raise
            note(f"the recording is not complete: {own}")
        finally:
            self._close()
        self._report()
        return False

    def _close(self):
        global active
        active, self.is_open = None, False
        if self.watch.handle is not None:
            self.watch.stop()
        self._remove_raw()  # of a recording that failed
        if self.private is not None:
            try:
                for part in self.private.leave():
                    self._link_part(part, complete=False)
            finally:
                self.private.remove()

    # ---- steps -----------------------------------------------------------------------------------------------

    def step(self):
        """End a step, as torch.profiler's step() does. The first call replaces the optimizers as the end of steps.

        Outside of the block, a call has no effect.
        """
        if not self.is_open:
            return
        if not self.manual:
            self.manual = True
            if self.number:
                return  # the optimizer has just ended this step
        self._advance()

    def _optimizer_stepped(self):
        if not self.manual:
            self._advance()

    def _advance(self):
        recorded = self.profiler is not None and self._recorded(self.number)
        self.clock.end(recorded, self.profiler is None and self.number > 0)
        self.number += 1
        try:
            if self.profiler is not None:
                self.profiler.step()
                end = self._range()[1]
                if end is not None and self.number >= end:
                    self._stop_profiler()
            self._begin_if_due()
        except Exception as error:  # the job is worth more than its recording: raised where the block ends
            self._fail(error)
        self.clock.begin()

    def _fail(self, error):
        note(f"the job goes on without a recording: {error}")
        self.error, self.profiler = self.error or error, None
        with contextlib.suppress(Exception):
            torch_side.finish_observer(self.observer)

    def _range(self):
        if self.error is not None:
            return None
        if self.ranges is None:
            return (0, None)
        return self.ranges[self.cycle] if self.cycle < len(self.ranges) else None

    def _recorded(self, number):
        first, end = self._range()
        return number >= first and (end is None or number < end)

    def _asked(self):
        return ",".join(f"{first}:{end}" for first, end in self.ranges or [])

    def _begin_if_due(self):
        span = self._range()
        if self.profiler is None and span is not None and self.number >= span[0] - self.warmup:
            self._begin(*span)

    # ---- a recording -----------------------------------------------------------------------------------------

    def _raw(self, kind):
        folder = self.private.path if self.private else self.out
        return os.path.join(folder, f".{kind}.{os.getpid()}.json")

    def _remove_raw(self):
        for kind in ("host", "device"):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._raw(kind))

    def _begin(self, first, end):
        begun = time.perf_counter()
        self.took, self.clock.recorded = {}, []
        self._remove_raw()
        self.observer = torch_side.make_observer(self._raw("host"))
        try:
            self.profiler = torch_side.make_profiler(self.observer, first, self.number, end, self._began, self._exported)
            self.profiler.start()
        except BaseException:
            self.profiler = None
            torch_side.finish_observer(self.observer)
            raise
        self.took["begin"] = time.perf_counter() - begun

    def _began(self):
        """The warm-up ends: the observer writes the process groups that exist now."""
        self.began_with = torch_side.groups()

    def _exported(self, profiler):
        """The profiler has stopped: write its trace."""
        begun = time.perf_counter()
        profiler.export_chrome_trace(self._raw("device"))
        torch_side.finish_observer(self.observer)
        self.took["write"] = time.perf_counter() - begun

    def _stop_profiler(self):
        """End the recording of a range: at its last step, or where the block ends."""
        if self.profiler is None:
            return
        profiler, span, self.profiler = self.profiler, self._range(), None
        if torch_side.is_warming_up(profiler):
            profiler.execution_trace_observer = profiler.own_observer = None  # else its end would start and stop it
        try:
            profiler.__exit__(None, None, None)
        finally:
            torch_side.finish_observer(self.observer)
        if "write" in self.took:
            self._save(span)
        else:  # it was warming up
            self._remove_raw()
        self.cycle += 1

    def _save(self, span):
        begun = time.perf_counter()
        files = {kind: self._raw(kind) for kind in ("host", "device")}
        sizes = {kind: output.check_whole(path, kind) for kind, path in files.items()}
        part = parts_of.get(self.out, 0)
        manifest = self._manifest(span, part, sizes)
        rank, _, local = self._place()
        if part == 0 and not self.checked:
            output.refuse_earlier(self.out, rank, manifest["ranks"], self.overwrite)
        parts_of[self.out] = part + 1
        if self.private is None:
            folder = output.part_folder(self.out, part)
            os.makedirs(folder, exist_ok=True)
            for kind, path in files.items():
                manifest["files"][kind]["name"] = output.publish(path, os.path.join(folder, f"{kind}.{rank}.json"), self.compress)
            self.took["save"] = time.perf_counter() - begun
            manifest["overhead"] = self._overhead()
            output.write_manifest(folder, manifest)
        elif self.private.done(part, rank, files, manifest) == local:
            self._link_part(part)
        self.saved.append((part, manifest))

    def _link_part(self, part, complete=True):
        taken = self.private.take(part)
        if taken is not None:
            hidden_job.link(self.command, self.private.path, taken, output.part_folder(self.out, part), complete)

    # ---- what the recording says about itself ----------------------------------------------------------------

    def _place(self):
        rank, world, local = output.rank_of_job()
        return (rank if self.rank is None else self.rank), world, local

    def _manifest(self, span, part, sizes):
        first, end = span
        last = self.number if end is None else min(self.number, end)
        steps = list(range(first, max(last, first + 1)))
        groups = torch_side.groups()
        lacks = list(self.lacks)
        if len(groups) > len(self.began_with):
            lacks.append("process groups that were made after the recording began")
        rank, world, _ = self._place()
        return {"ranks": world, "rank": rank, "format": FORMAT, "level": self.level, "part": part, "steps": steps,
                "asked": None if self.ranges is None else [first, end], "complete": end is None or self.number >= end,
                "counted_by": "step" if self.manual else "optimizer", "failed": self.failure, "host": output.host_id(),
                "versions": torch_side.versions(),
                "options": {**torch_side.OPTIONS, **{name: True for name in torch_side.experimental()[0]}, "devices": torch_side.devices(),
                            "warmup": self.warmup},
                "lacks": lacks, "groups": groups, "files": {kind: {"bytes": size} for kind, size in sizes.items()},
                "overhead": self._overhead()}

    def _overhead(self):
        made = {f"{key}_s": round(value, 6) for key, value in self.took.items()}
        for key, values in (("plain_step_s", self.clock.plain), ("recorded_step_s", self.clock.recorded)):
            if values:
                made[key] = round(statistics.median(values), 6)
        if self.clock.plain and self.clock.recorded:
            made["slower"] = round(made["recorded_step_s"] / made["plain_step_s"] - 1, 4)
        return made

    def _report(self):
        for part, manifest in self.saved:
            for text in manifest["lacks"][len(self.lacks):]:
                warn(f"the recording lacks {text}")
            if not manifest["complete"]:
                warn(f"the block ended at step {self.number}: the recording has the steps {manifest['steps']} of {manifest['asked']}")
            if self.quiet or manifest["rank"] != 0:
                continue
            overhead = manifest["overhead"]
            folder = output.part_folder(self.out, part)
            parts = [f"{key} {overhead[f'{key}_s']:.2f} s" for key in ("begin", "write", "save") if f"{key}_s" in overhead]
            if "recorded_step_s" in overhead:
                parts.append(f"a recorded step {1e3 * overhead['recorded_step_s']:.1f} ms")
            if "slower" in overhead:
                parts.append(f"{100 * overhead['slower']:+.1f} % beside the steps before")
            note(f"steps {manifest['steps'][0]} to {manifest['steps'][-1]} of {manifest['ranks']} ranks in '{folder}' ({'; '.join(parts)})")
            if not self.level:
                note(f"next: chakra link '{folder}' -o traces" if part == 0 and len(self.saved) == 1
                     else f"next: chakra link '{self.out}' --cycle {part} -o traces")
