"""One block of a job that records some of its steps."""
import contextlib
import importlib.util
import os
import statistics
import sys
import time

from . import hidden_job, jax_side, output, torch_side
from .command import find_command
from .errors import RecordError, note, warn
from .private import NEEDED, PrivateFolder
from .steps import Clock, parse_steps

FORMAT = "chakra recording 1"
MUCH = 0.1  # longer steps, from which on `chakra link` warns, too
SIDES = {"torch": torch_side, "jax": jax_side}  # of frameworks, each with the same functions and a class Recording
active = None  # the recorder whose block is open
warned = set()  # what this process has warned of
parts_of = {}  # folder -> how many recordings of this process it has


def _in_child():
    """A forked process, such as a worker of a DataLoader, inherits the observer and its open file: it must not write there."""
    global active
    recorder, active = active, None
    if recorder is not None:
        recorder.watch.ended, recorder.is_open = lambda: None, False  # the child may leave the block: its files are those of the parent
        if recorder.recording is not None:
            recorder.recording.in_child()


os.register_at_fork(after_in_child=_in_child)


def side_of(framework):
    """The side of a framework; without a name, of the one that the process has imported, else of the one that is installed."""
    if framework is None:
        found = [name for name in SIDES if name in sys.modules] or [name for name in SIDES if importlib.util.find_spec(name)]
        return SIDES[found[0] if found else "torch"]
    if framework not in SIDES:
        raise RecordError(f"framework={framework!r} is unknown: {' or '.join(SIDES)}")
    return SIDES[framework]


class Recorder:
    """What `chakra_et.record()` returns: a context manager. step() ends a step; without a call, optimizers end them."""

    def __init__(self, out, steps=None, *, warmup=3, level=0, rank=None, overwrite=False, compress=True, command=None, private=None,
                 private_bytes=NEEDED, quiet=False, framework=None, observe="during"):
        if level not in (0, 1):
            raise RecordError(f"level={level} is unknown: 0 keeps names, 1 removes names, paths and labels")
        self.side, self.is_named, self.failure = side_of(framework), framework is not None, None
        self.out, self.ranges, self.level = output.folder_of(out), parse_steps(steps), level
        self.warmup, self.observe = max(0, int(warmup)) if self.side.WARMS_UP else 0, observe
        if observe == "before":
            self._needs_a_step_before()
        elif observe != "during":
            raise RecordError(f"observe={observe!r} is unknown: 'during' or 'before'")
        self.is_new, self.is_open, self.checked = True, False, False
        self.rank, self.overwrite, self.compress, self.quiet = rank, overwrite, compress, quiet
        if rank is not None and not (isinstance(rank, int) and 0 <= rank < 1 << 31):
            raise RecordError(f"rank={rank!r} is not a rank: a whole number from 0")
        self.command = find_command(command) if level else None
        self.private_at, self.private_bytes, self.private = private, private_bytes, None
        self.number, self.manual, self.cycle, self.recording = 0, False, 0, None
        self.clock, self.took, self.saved, self.lacks, self.began_with = Clock(), {}, [], [], None
        self.watch = self.side.Watch(self._step_ended)
        self.error = None  # of the recorder itself

    def _needs_a_step_before(self):
        if not self.side.OBSERVES:
            raise RecordError(f"observe='before' is for PyTorch; {self.side.NAME} has no second observer")
        before = 0
        for first, end in self.ranges or [(0, None)]:
            if first <= before:
                raise RecordError("observe='before' records the host trace in the step before each range, which must not lie in another range: "
                                  f"begin at step {before + 1} or later")
            before = end
        self.warmup = max(1, self.warmup)

    # ---- the block -------------------------------------------------------------------------------------------

    def __enter__(self):
        global active
        if not self.is_new:
            raise RecordError("a recorder serves one block; call chakra_et.record() again for the next block")
        if active is not None:
            raise RecordError("a recording is open already; blocks may follow each other, not lie inside of each other")
        self.side.check_idle()
        rank, world, local = self._place()
        self.checked = self.side.rank_is_known(self.rank)
        if self.out not in parts_of:
            output.refuse_earlier(self.out, rank, world, self.overwrite)
        os.makedirs(self.out, exist_ok=True)
        if self.level:
            self.private = PrivateFolder(self.out, self.private_at, self.private_bytes, local)
        self.lacks = self.side.lacking()
        if not self.quiet and rank == 0:
            for text in self.lacks:
                if text not in warned:
                    warned.add(text)
                    warn(f"{self.side.NAME} {self.side.version()} does not record {text}")
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
        others = [side.NAME for name, side in SIDES.items() if name in sys.modules and side is not self.side]
        if others and not self.is_named:
            warn(f"{self.side.NAME} was recorded, not {others[0]}, which the process has imported, too; choose one (framework=, --framework)")
        try:
            self._stop()
            if self.error is not None:
                raise self.error
            if not self.saved and self.failure is None:
                asked = "" if self.ranges is None else f"; the steps {self._asked()} were asked for"
                how = "step()" if self.manual else self.side.COUNTERS
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
        """End a step, as torch.profiler's step() does. The first call replaces what ends steps of an unchanged script.

        Outside of the block, a call has no effect.
        """
        if not self.is_open:
            return
        if not self.manual:
            self.manual = True
            if self.number:
                return  # the optimizer or the annotation has just ended this step
        self._advance()

    def _step_ended(self):
        if not self.manual:
            self._advance()

    def _advance(self):
        recorded = self.recording is not None and self._recorded(self.number)
        self.clock.end(recorded, self.recording is None and self.number > 0)
        self.number += 1
        try:
            if self.recording is not None:
                self.recording.step()
                end = self._range()[1]
                if end is not None and self.number >= end:
                    self._stop()
            self._begin_if_due()
        except Exception as error:  # the job is worth more than its recording: raised where the block ends
            self._fail(error)
        self.clock.begin()

    def _fail(self, error):
        note(f"the job goes on without a recording: {error}")
        self.error = self.error or error
        recording, self.recording = self.recording, None
        if recording is not None:
            with contextlib.suppress(Exception):
                recording.abandon()

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
        if self.recording is None and span is not None and self.number >= span[0] - self.warmup:
            self._begin(*span)

    # ---- a recording -----------------------------------------------------------------------------------------

    def _raw(self):
        """{kind: path} of the files that the framework writes."""
        folder = self.private.path if self.private else self.out
        return {kind: os.path.join(folder, f".{kind}.{os.getpid()}.{form}") for kind, form in self.side.FILES.items()}

    def _remove_raw(self):
        for path in self._raw().values():
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    def _begin(self, first, end):
        begun = time.perf_counter()
        self.took, self.clock.recorded = {}, []
        self._remove_raw()
        self.recording = self.side.Recording(self._raw(), first, self.number, end, self._began, self.observe)
        self.took["begin"] = time.perf_counter() - begun

    def _began(self):
        """The recorded steps begin, with the process groups that exist now."""
        self.began_with = self.side.groups()

    def _stop(self):
        """End the recording of a range: at its last step, or where the block ends."""
        if self.recording is None:
            return
        recording, span, self.recording = self.recording, self._range(), None
        recording.stop()
        if recording.write_s is not None:
            self.took["write"] = recording.write_s
            self._save(span)
        else:  # it was warming up
            self._remove_raw()
        self.cycle += 1

    def _save(self, span):
        begun = time.perf_counter()
        files, forms = self._raw(), self.side.FILES
        sizes = {kind: output.check_whole(path, kind, self.side.NAME) for kind, path in files.items()}
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
                manifest["files"][kind]["name"] = output.publish(path, os.path.join(folder, f"{kind}.{rank}.{forms[kind]}"), self.compress)
            self.took["save"] = time.perf_counter() - begun
            manifest["overhead"] = self._overhead()
            output.write_manifest(folder, manifest)
        elif self.private.done(part, rank, {f"{kind}.{rank}.{forms[kind]}": path for kind, path in files.items()}, manifest) == local:
            self._link_part(part)
        self.saved.append((part, manifest))

    def _link_part(self, part, complete=True):
        taken = self.private.take(part)
        if taken is not None:
            hidden_job.link(self.command, self.private.path, taken, output.part_folder(self.out, part), complete)

    # ---- what the recording says about itself ----------------------------------------------------------------

    def _place(self):
        rank, world, local = self.side.rank_of_job()
        return (rank if self.rank is None else self.rank), world, local

    def _manifest(self, span, part, sizes):
        first, end = span
        last = self.number if end is None else min(self.number, end)
        steps = list(range(first, max(last, first + 1)))
        groups = self.side.groups()
        lacks = list(self.lacks)
        if len(groups) > len(self.began_with):
            lacks.append("process groups that were made after the recording began")
        rank, world, _ = self._place()
        return {"ranks": world, "rank": rank, "format": FORMAT, "level": self.level, "part": part, "steps": steps,
                "observed": [first - 1] if self.observe == "before" else steps if self.side.OBSERVES else None,
                "asked": None if self.ranges is None else [first, end], "complete": end is None or self.number >= end,
                "counted_by": "step" if self.manual else self.side.COUNTED_BY, "failed": self.failure, "host": output.host_id(),
                "versions": self.side.versions(), "options": self.side.options(self.warmup),
                "lacks": lacks, "groups": groups, "files": {kind: {"bytes": size} for kind, size in sizes.items()},
                "overhead": self._overhead()}

    def _overhead(self):
        made = {f"{key}_s": round(value, 6) for key, value in self.took.items()}
        for key, values in (("plain_step_s", self.clock.plain), ("recorded_step_s", self.clock.recorded)):
            if values and self.side.STEPS_WAIT:
                made[key] = round(statistics.median(values), 6)
        if "plain_step_s" in made and "recorded_step_s" in made:
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
                hint = ", most of which observe=\"before\" avoids" if overhead["slower"] > MUCH and manifest["observed"] == manifest["steps"] else ""
                parts.append(f"{100 * overhead['slower']:+.1f} % beside the steps before{hint}")
            processes = f"{manifest['ranks']} {self.side.PROCESSES[manifest['ranks'] > 1]}"
            note(f"steps {manifest['steps'][0]} to {manifest['steps'][-1]} of {processes} in '{folder}' ({'; '.join(parts)})")
            if not self.level:
                note(f"next: chakra link '{folder}' -o traces" if part == 0 and len(self.saved) == 1
                     else f"next: chakra link '{self.out}' --cycle {part} -o traces")
