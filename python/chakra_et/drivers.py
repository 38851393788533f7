"""Drivers of fleets: processes of this machine, Ray, and a file for Slurm.

A fleet is a list of tasks in a shared folder (`chakra_et.fleet`, `chakra fleet`). A driver starts workers, each with a shard of the
list, and starts them again until the list is finished. A killed worker loses its current tasks only. All drivers give the same files
as chakra_et.fleet.link() in one process.

    from chakra_et import drivers
    report = drivers.processes("link", "recordings", output="linked", workers=8)
    report = drivers.ray("analyze", "linked/jobs", output="analyzed", workers=64)
    drivers.slurm("link", "/data/recordings", output="/data/linked", workers=64, file="link.sbatch")
"""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ._base import Answer, Error, Place, path_of
from ._verbs import fleet

_MEMORY_SHARE = 0.8
_PHASES = 4  # of a job whose ranks are tasks

_Path = str | os.PathLike


def processes(verb: str, path: Sequence[_Path] | _Path, *, output: _Path, workers: int | None = None, **options) -> Answer:
    """Run a fleet with processes of this machine, and return the report, as fleet.merge() does.

    verb: 'link' or 'analyze'. path, output, options: as for chakra_et.fleet.link() and analyze(). workers: processes at one time
    (default: one for each core); each uses one core. Errors: those of the verb; drivers.workers if workers end without progress.
    """
    count = workers or len(os.sched_getaffinity(0))
    options.setdefault("memory", _memory_of_a_worker(count))
    words = [_command(), *_words(verb, path, output, options), "--jobs=1"]

    def work(shard: str) -> str:
        done = subprocess.run([*words, f"--shard={shard}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode in (0, 1):
            return ""
        return done.stderr.strip() or f"a worker ended with {done.returncode}"

    def run() -> list[str]:
        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(work, _shards(count)))

    return _rounds(verb, path, output, options, count, run)


def ray(verb: str, path: Sequence[_Path] | _Path, *, output: _Path, workers: int | None = None, **options) -> Answer:
    """Run a fleet on a Ray cluster, and return the report. Requires ray.

    The driver uses the cluster that ray.init() has joined, or starts Ray on this machine. All machines must see path and output
    under the same names, and need chakra-et. workers: Ray tasks of each round, with one CPU each (default: the CPUs of the cluster).
    The other parameters and errors are those of processes().
    """
    import ray as cluster

    if not cluster.is_initialized():
        cluster.init(include_dashboard=False, log_to_driver=False)
    count = workers or max(1, int(cluster.cluster_resources().get("CPU", 1)))
    _words(verb, path, output, options)  # refuse an unknown verb here

    @cluster.remote(num_cpus=1, max_retries=3)
    def work(shard: str) -> str:
        import chakra_et

        chakra_et.use_cores(1)
        try:
            getattr(chakra_et.fleet, verb)(path, output=output, shard=shard, **options)
        except Exception as error:  # the driver shows the reason
            return str(error)
        return ""

    def run() -> list[str]:
        messages = []
        for result in [work.remote(shard) for shard in _shards(count)]:
            try:
                messages.append(cluster.get(result))
            except cluster.exceptions.RayError as error:  # such as a machine that is gone
                messages.append(str(error))
        return messages

    return _rounds(verb, path, output, options, count, run)


def slurm(verb: str, path: Sequence[_Path] | _Path, *, output: _Path, workers: int, file: _Path, wait: int = 600,
          directives: Sequence[str] = (), **options) -> None:
    """Write a batch file for Slurm: an array of jobs, each with a shard of the fleet.

    Submit the file with sbatch. Submit the file again to continue after failures; `chakra fleet merge` reports. wait: seconds that a
    shard waits for other shards without progress. directives: lines for sbatch, such as '--partition=cpu' or '--mem=16G'.
    """
    if workers < 1:
        raise ValueError(f"a fleet needs at least one worker, not {workers}")
    words = _words(verb, path, output, {**options, "wait": wait})
    lines = ["#!/bin/sh", f"#SBATCH --job-name=chakra-{verb}", f"#SBATCH --array=1-{workers}", *(f"#SBATCH {each}" for each in directives),
             f"exec chakra {shlex.join(words)} --shard=\"$SLURM_ARRAY_TASK_ID\"/{workers}"]
    Path(path_of(file)).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _shards(count: int) -> list[str]:
    return [f"{index}/{count}" for index in range(1, count + 1)]


def _command() -> str:
    """Return the path of the command: the one beside this Python, else the first one in PATH."""
    beside = Path(sys.executable).with_name("chakra")
    return str(beside) if beside.exists() else shutil.which("chakra") or "chakra"


def _memory_of_a_worker(workers: int) -> str | None:
    """Return a share of the free memory in bytes; None if unknown."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        free = 1024 * int(text.split("MemAvailable:")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return None
    return str(max(1, int(free * _MEMORY_SHARE) // workers))


def _words(verb: str, path: Sequence[_Path] | _Path, output: _Path, options: dict) -> list[str]:
    """Return the arguments of the command."""
    if verb not in ("link", "analyze"):
        raise ValueError(f"a fleet can link or analyze, not {verb!r}")
    paths = [path] if isinstance(path, (str, os.PathLike)) else path
    words = ["fleet", verb, *map(path_of, paths), f"--output={path_of(output)}"]
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words.append(f"{option}={','.join(map(str, value)) if isinstance(value, (list, tuple)) else value}")
    return words


def _rounds(verb: str, path: Sequence[_Path] | _Path, output: _Path, options: dict, workers: int,
            run: Callable[[], list[str]]) -> Answer:
    """Run all shards again and again, until the list is finished or rounds make no progress."""
    if workers < 1:
        raise ValueError(f"a fleet needs at least one worker, not {workers}")
    getattr(fleet, verb)(path, output=output, plan=True, **options)
    finished, idle = -1, 0
    while True:
        messages = [message for message in run() if message]
        report = fleet.merge(output=output)
        jobs = report.table("jobs")
        done = int(jobs["tasks_done"].sum()) if len(jobs) else 0
        idle = idle + 1 if done == finished else 0
        finished = done
        if report["open"] == 0:
            return report
        if idle >= _PHASES:
            text = messages[0].splitlines()[-1] if messages else "no task can run"
            raise Error(f"the fleet makes no progress: {text} [drivers.workers]", "drivers.workers", text, Place(None, None, None), 1)
