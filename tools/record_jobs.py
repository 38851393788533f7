#!/usr/bin/env python3
"""Records jobs with a PyTorch from PyPI, then links and simulates them and judges what comes out.

    record_jobs.py --torch VERSION [--every N] [--bin DIR] [--shared DIR] [--keep DIR] [--limit SECONDS]
                   [--environment DIR [--stubs DIR]] [NAME...]

The jobs are those of JOBS that this PyTorch can run, a process for each rank, on the CPU; NAME is a part of a job's name.
--every takes each N-th of them. PyTorch is installed into build/torch-VERSION without the CUDA libraries that it names
(record/README.md of the shared folder): stand-ins take their place. --environment takes an existing one.

Each recording is linked, and simulated with its transfers as recorded. The time that comes out is compared with the span
of the files, which this reads from the JSON by itself; the calls are compared with what the job knows that it made
(compare_truth.py). In each ten jobs begun, one may be farther off than 2 %; none may be farther off than 5 %, be refused
or have a wrong call. A job that is farther off than 2 % is recorded once more before it counts, and one that cannot be
recorded is tried once more. The exit status is 1 if a limit is exceeded. Where nothing can be recorded (no network, a
PyTorch that does not load, no shared folder, no sockets) there is nothing to judge: a sentence says so, and the exit
status is 0.
"""
import argparse
import collections
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import compare_truth
from page import ROOT

HERE = os.path.dirname(os.path.abspath(__file__))
# Imported once after installing, which compiles them: the jobs write no byte code.
USED = "torch._dynamo, torch.distributed.fsdp, torch.distributed.optim, torch.distributed.pipelining, torch.distributed.tensor.parallel"
PYTHON_PACKAGES = ["filelock", "typing-extensions", "sympy", "mpmath", "networkx", "jinja2", "markupsafe", "fsspec", "numpy", "setuptools"]

RECORDING_SECONDS = 180  # of one recording; a job takes about ten
COMMAND_SECONDS = 60     # of one run of the command
INSTALL_SECONDS = 240    # of each of the two calls of pip
CLOSE, FARTHEST = 0.02, 0.05
JOBS_FOR_ONE = 10        # jobs among which one may be farther off than CLOSE

# Kinds of records that are work of the job; the profiler's own are not.
WORK = {"cpu_op", "user_annotation", "kernel", "cpu_instant_event"}

Job = collections.namedtuple("Job", "name scenario ranks options since", defaults=["", (2, 4)])
Result = collections.namedtuple("Result", "span simulated calls wrong refused")

NEW = (2, 10)  # fully_shard and pipelines on the CPU

# Scenarios of recorded_scenarios.py and of rec.py. `since`: the PyTorch that can first run it on the CPU, as far as tried.
JOBS = [
    Job("ddp", "ddp", 4),
    Job("fsdp1", "fsdp1", 2),
    Job("images", "images", 2),
    Job("ring", "ring", 2),
    Job("moe", "moe", 4),
    Job("pipeline_groups", "pipeline_groups", 4),
    Job("fsdp2", "fsdp2", 2, "", NEW),
    Job("sequence", "sequence", 4, "", (2, 6)),
    Job("ulysses", "ulysses", 4),
    Job("mesh", "mesh", 4),
    Job("experts", "experts", 4),
    Job("hsdp", "hsdp", 4, "", NEW),
    Job("async", "async", 4),
    Job("images_accumulated", "images", 4, "zero=1 acc=2"),
    Job("functional", "functional", 2),
    Job("interleaved", "pipeline", 4, "schedule=ScheduleInterleaved1F1B stages=2", NEW),
    Job("localsgd", "localsgd", 4, "active=4"),
    Job("pp", "pp", 2),
    Job("fsdp2_accumulated", "fsdp2", 4, "acc=2", NEW),
    Job("zoo", "zoo", 3),
    Job("ring_isend", "ring", 4, "how=isend"),
    Job("sequence_sharded", "sequence", 4, "dp=2", NEW),
    Job("fsdp1_kept", "fsdp1", 4, "strategy=SHARD_GRAD_OP"),
    Job("server", "server", 3),
    Job("tp", "tp", 4, "", (2, 6)),
    Job("gan", "gan", 2),
    Job("hsdp_loss", "hsdp", 4, "loss=1", NEW),
    Job("batchp2p", "batchp2p", 4),
    Job("uneven", "uneven", 3, "active=8"),
    Job("images_half", "images", 2, "hook=fp16"),
    Job("gpipe", "pipeline", 4, "schedule=ScheduleGPipe", NEW),
    Job("ddp_late", "ddp", 2, "delay_ms=10"),
    Job("ring_send", "ring", 4, "how=send"),
    Job("fsdp2_half", "fsdp2", 2, "bf16=1", NEW),
    Job("objects", "objects", 4),
    Job("images_evaluated", "images", 4, "evaluate=1 unused=1"),
    Job("pplib", "pplib", 3, "", NEW),
    Job("fsdp1_clipped", "fsdp1", 2, "clip=1"),
    Job("functional3", "functional", 3),
    Job("pipeline_world", "pipeline_groups", 4, "world=1"),
    Job("fsdp2_kept", "fsdp2", 2, "reshard=0", NEW),
    Job("async_late", "async", 2, "delay_ms=15"),
    Job("funcol", "funcol", 4),
    Job("images_view", "images", 2, "view=1"),
    Job("moe2", "moe", 2),
    Job("pp4", "pp", 4),
    Job("ring3", "ring", 3),
    Job("zoo4", "zoo", 4),
]


def run(command, seconds, environment=None):
    """(exit status, what it prints); None as the status where it ran out of time. No process of it is left."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                                   env=environment, start_new_session=True)
        status = None
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        said.seek(0)
        return status, said.read().decode(errors="replace")


# ---- the environment ---------------------------------------------------------------------------------------

def packages_of(environment):
    return next(iter(glob.glob(os.path.join(environment, "lib", "python3*", "site-packages"))), "")


def stand_ins_source(shared):
    """stubs.py, so that functions that return a text return one: PyTorch prints it, and 1 is no address."""
    with open(os.path.join(shared, "record", "stubs.py"), encoding="utf-8") as file:
        text = file.read()
    plain = r"""f'int {x}(void){{return 1;}}\n'"""
    named = r"""(f'const char*{x}(void){{return "none";}}\n' if 'ErrorString' in x or 'ErrorName' in x else f'int {x}(void){{return 100;}}\n')"""
    return text.replace(plain, named)


def surroundings(environment, stubs, **more):
    """The variables in which the environment's Python finds the libraries of PyTorch."""
    libraries = [stubs, os.path.join(packages_of(environment), "nvidia", "cuda_cupti", "lib")]
    return dict(os.environ, LD_LIBRARY_PATH=":".join(libraries), OMP_NUM_THREADS="1", **more)


def download(version, environment):
    """Makes the environment; why it could not be downloaded, if so."""
    pip = [os.path.join(environment, "bin", "python"), "-m", "pip", "install", "-q", "--no-compile", "--only-binary", ":all:",
           "--disable-pip-version-check", "--timeout", "20", "--retries", "1"]
    commands = [([sys.executable, "-m", "venv", environment], COMMAND_SECONDS),
                ([*pip, *PYTHON_PACKAGES], INSTALL_SECONDS),
                ([*pip, "--no-deps", f"torch=={version}"], INSTALL_SECONDS)]
    for command, seconds in commands:
        status, said = run(command, seconds)
        if status != 0:
            return f"no end within {seconds} s" if status is None else last_line(said)
    return ""


def complete(environment, shared):
    """Adds the stand-ins and loads PyTorch; why it does not load, if so."""
    python, source, stubs = (os.path.join(environment, *parts) for parts in (("bin", "python"), ("stubs.py",), ("stubs",)))
    with open(source, "w", encoding="utf-8") as file:
        file.write(stand_ins_source(shared))
    for command in ([python, source, os.path.join(packages_of(environment), "torch", "lib"), stubs], [python, "-c", f"import {USED}"]):
        status, said = run(command, INSTALL_SECONDS, surroundings(environment, stubs))
        if status != 0:
            return f"no end within {INSTALL_SECONDS} s" if status is None else last_line(said)
    return ""


def installed(version, environment, shared):
    """Whether the environment is there. Without a network it is not, nor where PyTorch does not load on this machine."""
    mark, begun = os.path.join(environment, "complete"), time.monotonic()
    if os.path.exists(mark):
        return True
    shutil.rmtree(environment, ignore_errors=True)
    if why := download(version, environment):
        print(f"PyTorch {version} cannot be downloaded, so no job is recorded: {why}")
        return False
    if why := complete(environment, shared):
        print(f"PyTorch {version} does not load with stand-ins for its CUDA libraries, so no job is recorded: {why}")
        return False
    with open(mark, "w", encoding="utf-8"):
        print(f"PyTorch {version} is in {environment} after {time.monotonic() - begun:.0f} s", flush=True)
    return True


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if re.search(r"\b\w*error\b", line, re.IGNORECASE)]
    return (named or lines or ["no message"])[-1][:200]


# ---- recording ---------------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def merge_truths(folder):
    """truth.json of all ranks instead of a file for each."""
    truth = {}
    for path in glob.glob(os.path.join(folder, "truth.*.json")):
        with open(path, encoding="utf-8") as file:
            truth[path.split(".")[-2]] = json.load(file)
        os.remove(path)
    with open(os.path.join(folder, "truth.json"), "w", encoding="utf-8") as file:
        json.dump(truth, file)
    return truth


def record(args, job, folder):
    """Why the job could not be recorded, "" where it was."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = surroundings(args.environment, args.stubs, GLOO_SOCKET_IFNAME="lo", PYTHONDONTWRITEBYTECODE="1",
                               PYTHONPATH=os.path.join(args.shared, "record"))
    command = [os.path.join(args.environment, "bin", "python"), os.path.join(HERE, "recorded_scenarios.py"), job.scenario, folder,
               str(job.ranks), f"port={free_port()}", *job.options.split()]
    status, said = run(command, RECORDING_SECONDS, environment)
    if status != 0:
        return f"no end within {RECORDING_SECONDS} s" if status is None else last_line(said)
    ranks = len(merge_truths(folder))
    return "" if ranks == job.ranks else f"{ranks} of {job.ranks} ranks wrote their files"


def recorded(args, job, folder):
    """Why the job could not be recorded in two tries, "" where it was."""
    return record(args, job, folder) and record(args, job, folder)


# ---- judging -----------------------------------------------------------------------------------------------

def span_of(folder):
    """Nanoseconds from the first start to the last end of the work in all device files, whose clock is one."""
    first, last = float("inf"), float("-inf")
    for path in glob.glob(os.path.join(folder, "device.*.json")):
        with open(path, encoding="utf-8", errors="replace") as file:
            trace = json.loads(file.read(), strict=False)
        base = int(trace.get("baseTimeNanoseconds", 0))
        for event in trace["traceEvents"]:
            if event.get("ph") == "X" and event.get("cat") in WORK:
                start = base + float(event["ts"]) * 1000
                first, last = min(first, start), max(last, start + float(event["dur"]) * 1000)
    return last - first


def simulated_time(chakra, folder, work):
    """(nanoseconds that linking and simulating give, "") or (None, why there are none)"""
    linked, network, report = (os.path.join(work, name) for name in ("linked", "network.yml", "report.json"))
    with open(network, "w", encoding="utf-8") as file:
        file.write(compare_truth.NETWORK)
    for command in ([chakra, "link", folder, "-o", linked],
                    [chakra, "sim", linked, "--network", network, "--transfers", "recorded", "--json", report]):
        status, said = run(command, COMMAND_SECONDS)
        if status != 0:
            return None, f"chakra {command[1]}: " + ("no end in time" if status is None else last_line(said))
    with open(report, encoding="utf-8") as file:
        return json.load(file)["makespan_ps"] / 1e3, ""


def knows_calls(folder):
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        return any(rank["comm"] for rank in json.load(file).values())


def judge(chakra, folder):
    with tempfile.TemporaryDirectory() as work:
        simulated, refused = simulated_time(chakra, folder, work)
    if refused or not knows_calls(folder):
        return Result(span_of(folder), simulated, None, [], refused)
    calls, found, wrong, lines = compare_truth.compare(chakra, folder)
    return Result(span_of(folder), simulated, calls or found, lines if any(wrong.values()) else [], "")


def distance(result):
    return abs(result.simulated / result.span - 1)


def row(job, result, again):
    if result.refused:
        return f"| {job.name} | {job.ranks} | {result.span / 1e6:.1f} | | | | {result.refused} |"
    calls = "not known" if result.calls is None else str(result.calls)
    said = [f"wrong: {len(result.wrong)}"] if result.wrong else []
    said += [f"second recording; the first: {100 * again:.2f} % off"] if again is not None else []
    return (f"| {job.name} | {job.ranks} | {result.span / 1e6:.1f} | {result.simulated / 1e6:.1f} "
            f"| {100 * (result.simulated / result.span - 1):+.2f} % | {calls} | {'; '.join(said)} |")


def judge_job(args, job, folder):
    """The result of a job, None where it could not be recorded; prints its row."""
    failed, result, again = recorded(args, job, folder), None, None
    if not failed:
        result = judge(args.chakra, folder)
        if not result.refused and not result.wrong and distance(result) > CLOSE:
            again = distance(result)
            failed = recorded(args, job, folder)
            result = result if failed else judge(args.chakra, folder)
    if result is None:
        print(f"| {job.name} | {job.ranks} | | | | | could not be recorded: {failed} |", flush=True)
        return None
    print(row(job, result, again), flush=True)
    for line in result.wrong[:4]:
        print(f"    {job.name}: {line}", file=sys.stderr)
    return result


def exceeded(results):
    """The limits that the jobs exceed, in words. `results`: by name."""
    judged = {name: distance(result) for name, result in results.items() if not result.refused}
    off = [name for name, far in judged.items() if far > CLOSE]
    lines = [f"{name} is refused" for name, result in results.items() if result.refused]
    lines += [f"{name} has wrong calls" for name, result in results.items() if result.wrong]
    lines += [f"{name} is {100 * far:.2f} % off, and 5 % is the most" for name, far in judged.items() if far > FARTHEST]
    if len(off) > -(-len(judged) // JOBS_FOR_ONE):
        lines.append(f"{len(off)} of {len(judged)} jobs are farther off than 2 %: {', '.join(off)}")
    return lines


def chosen(args, version):
    able = [job for job in JOBS if job.since <= version]
    return [job for job in able[::args.every] if not args.names or any(name in job.name for name in args.names)]


def judge_jobs(args, jobs, folder):
    results, failed, begun, late = {}, [], time.monotonic(), []
    print("| job | ranks | span, ms | simulated, ms | error | calls compared | |\n|---|---|---|---|---|---|---|", flush=True)
    for job in jobs:
        if args.limit and time.monotonic() - begun > args.limit:
            late.append(job.name)
            continue
        result = judge_job(args, job, os.path.join(folder, f"{job.name}-{args.torch}"))
        if result is None:
            failed.append(job.name)
        else:
            results[job.name] = result
    seconds = time.monotonic() - begun
    print(f"\nPyTorch {args.torch}: {len(results)} of {len(jobs)} jobs judged in {seconds:.0f} s, {len(failed)} could not be recorded"
          + (f"; out of time for {', '.join(late)}" if late else ""))
    return exceeded(results)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--torch", required=True, metavar="VERSION")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), metavar="DIR")
    parser.add_argument("--shared", default=os.path.dirname(os.path.abspath(compare_truth.DATA)), metavar="DIR")
    parser.add_argument("--keep", metavar="DIR", help="where the recordings stay")
    parser.add_argument("--limit", type=float, default=0, metavar="SECONDS", help="begin no job after this time")
    parser.add_argument("--environment", metavar="DIR", help="an environment that has this PyTorch")
    parser.add_argument("--stubs", metavar="DIR", help="the stand-ins for its CUDA libraries (stubs in the environment)")
    args = parser.parse_args()
    args.chakra = os.path.join(os.path.abspath(args.bin), "chakra")
    return args


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # run() ends the processes that it began
    args = arguments()
    if not os.path.exists(os.path.join(args.shared, "record", "rec.py")):
        print(f"no scenarios at {os.path.join(args.shared, 'record')}: no job is recorded")
        return
    if not args.environment:
        args.environment = os.path.join(ROOT, "build", f"torch-{args.torch}")
        if not installed(args.torch, args.environment, args.shared):
            return
    args.stubs = args.stubs or os.path.join(args.environment, "stubs")
    jobs = chosen(args, tuple(int(part) for part in args.torch.split(".")[:2]))
    if args.keep:
        wrong = judge_jobs(args, jobs, os.path.abspath(args.keep))
    else:
        with tempfile.TemporaryDirectory() as folder:
            wrong = judge_jobs(args, jobs, folder)
    if wrong:
        sys.exit("record_jobs: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
