"""Record steps of a PyTorch or JAX job with one call, for `chakra link`.

    import chakra_et
    with chakra_et.record("out/", steps=range(10, 13)):
        train()                                  # unchanged: a step ends where an optimizer has stepped

    python -m chakra_et.record --steps 10:13 -o out/ -- train.py ARGS         # also under torchrun, one rank a process

Each rank writes host.RANK.json.gz (ExecutionTraceObserver), device.RANK.json.gz (torch.profiler) and manifest.RANK.json.
With level=1, names, paths and labels never reach a disk: out/ gets linked traces, trace.RANK.et, with the names of an
allow-list alone. With JAX, each process writes profile.PROCESS.xplane.pb.gz, and a step ends where a
jax.profiler.StepTraceAnnotation ends. docs/how-to/record.md has the options. Needs PyTorch 2.1 or JAX 0.10; level=1 also the
command `chakra`.
"""
import argparse
import os
import runpy
import sys
import types

from ._record.errors import RecordError, RecordWarning

__all__ = ["RecordError", "RecordWarning", "main", "record"]


def record(out, steps=None, *, warmup=3, level=0, **options):
    """Return a context manager that records the steps `steps` of its block into the folder `out`.

    steps: range(10, 13), "10:13" or a list of ranges, counted from 0 at the start of the block; None: the whole block.
    warmup: steps before, in which the profiler runs without recording. level: 1 removes names, paths and labels.
    observe: "before" writes the host trace in the step before, so that the recorded steps run without PyTorch's slower observer.
    framework: "torch" or "jax"; None: the one that is imported. rank: instead of the framework's.
    overwrite: replace an earlier recording. compress=False: no gzip. command: path of `chakra`.
    private, private_bytes: the folder on tmpfs for level=1, and its room for each rank.
    quiet: neither print the overhead nor warn of missing features. The recorder's step() ends a step by hand.
    Errors: RecordError. An exception in the block leaves the recorded steps in `out` and is raised again.
    """
    from ._record.session import Recorder
    return Recorder(out, steps, warmup=warmup, level=level, **options)


class _Callable(types.ModuleType):
    """`chakra_et.record` is this module and the function."""

    def __call__(self, *arguments, **options):
        return record(*arguments, **options)


sys.modules[__name__].__class__ = _Callable


def arguments(words):
    parser = argparse.ArgumentParser(prog="python -m chakra_et.record", description="Record steps of an unchanged PyTorch or JAX script.",
                                     usage="%(prog)s [OPTIONS] -o FOLDER -- SCRIPT ARGS... | -- -m MODULE ARGS...")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder for the recordings of all ranks")
    parser.add_argument("--steps", metavar="A:B", help="steps A to B - 1, counted from 0; A:B,C:D for several (default: all)")
    parser.add_argument("--warmup", type=int, default=3, metavar="N", help="steps before, with the profiler but unrecorded (3)")
    parser.add_argument("--level", type=int, choices=(0, 1), default=0, help="1: link, and remove names, paths and labels (0)")
    parser.add_argument("--observe", choices=("during", "before"), default="during",
                        help="steps of the host trace: the recorded ones, or the one before them (during)")
    parser.add_argument("--framework", choices=("torch", "jax"), help="framework of the script (PyTorch, if it is installed)")
    parser.add_argument("--rank", type=int, help="rank of this process (default: the framework's, else RANK)")
    parser.add_argument("--overwrite", action="store_true", help="replace an earlier recording in the folder")
    parser.add_argument("--private", metavar="FOLDER", help="folder on tmpfs for --level 1 (default: /dev/shm)")
    parser.add_argument("--private-bytes", type=int, metavar="N", help="room there for each rank (256 MiB)")
    parser.add_argument("--quiet", action="store_true", help="print no overhead and no missing features")
    parser.add_argument("script", nargs=argparse.REMAINDER, help="script and its arguments, behind --")
    parsed = parser.parse_args(words)
    if parsed.script[:1] == ["--"]:
        del parsed.script[0]
    if not parsed.script or parsed.script == ["-m"]:
        parser.error("name a script behind --, such as -- train.py")
    return parsed


def run_script(words):
    """Run a script or a module as Python itself would."""
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = words
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    runpy.run_path(words[0], run_name="__main__")


def main(words=None):
    parsed = arguments(sys.argv[1:] if words is None else words)
    options = {"rank": parsed.rank, "framework": parsed.framework, "observe": parsed.observe, "overwrite": parsed.overwrite,
               "private": parsed.private, "quiet": parsed.quiet}
    if parsed.private_bytes is not None:
        options["private_bytes"] = parsed.private_bytes
    try:
        with record(parsed.output, parsed.steps, warmup=parsed.warmup, level=parsed.level, **options) as recorder:
            if recorder.side.NAME == "PyTorch":
                own_steps(recorder)
            run_script(parsed.script)
    except RecordError as error:
        print(f"chakra_et.record: {error}", file=sys.stderr)
        return 1
    return 0


def own_steps(recorder):
    """Let the step() of a profiler in the script also end steps."""
    from torch.profiler import profile

    from ._record.torch_side import is_own
    original = profile.step

    def step(self):
        if not is_own(self):
            recorder.step()
        return original(self)

    profile.step = step


if __name__ == "__main__":
    sys.exit(main())
