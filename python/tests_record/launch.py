"""Starts the ranks of a job as torchrun does, without its own process."""
import os
import re
import socket
import subprocess
import sys
import warnings

import chakra_et.record

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(os.path.dirname(chakra_et.record.__file__))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment(**more):
    path = os.pathsep.join([PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
    return dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", PYTHONFAULTHANDLER="1", OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", **more)


class TorchCrash(AssertionError):
    """A signal ended a process inside of PyTorch."""


def crash(printed):
    """Return a sentence about a crash inside of PyTorch that Python's fault handler printed; None for any other output."""
    found = re.search(r"Fatal Python error: (.+)\n(?:.*\n)*?Current thread .*\n(.*)", printed)
    if not found:
        return None
    place = re.search(r'File "(.*)", line (\d+) in (.*)', found[2])
    if place is None:
        return f"{found[1]} in a thread without Python code" if "no Python frame" in found[2] else None
    inside = "/site-packages/torch/" in place[1] or place[3] == "finish_observer"  # which calls C++ of PyTorch alone
    return f"{found[1]} in {place[3]}, {place[1]}:{place[2]}" if inside else None


def again(start):
    """Call start(0), and once more start(1) if PyTorch itself crashed. A warning of the test run tells each crash."""
    try:
        return start(0)
    except TorchCrash as error:
        warnings.warn(f"PyTorch crashed, the job is started once more: {error}", stacklevel=2)
        return start(1)


def ranks(words, world, seconds=400, prefix=(), **more):
    """What each rank printed, by rank; fails if a rank fails."""
    port = str(free_port())
    processes = [subprocess.Popen([*prefix, sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  env=environment(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world),
                                                  MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **more)) for rank in range(world)]
    printed = []
    try:
        for process in processes:
            printed.append(process.communicate(timeout=seconds)[0])
    finally:
        for process in processes:
            process.kill()
    failed = [f"rank {rank}, exit status {process.returncode}: {text[-3000:]}"
              for rank, (process, text) in enumerate(zip(processes, printed)) if process.returncode]
    crashes = [text for text in map(crash, printed) if text]
    if crashes:
        raise TorchCrash("; ".join(crashes))
    assert not failed, "\n".join(failed)
    return printed
