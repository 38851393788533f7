"""Starts the ranks of a job as torchrun does, without its own process."""
import os
import socket
import subprocess
import sys

import chakra_et.record

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.dirname(os.path.dirname(chakra_et.record.__file__))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def environment(**more):
    path = os.pathsep.join([PACKAGES, *filter(None, [os.environ.get("PYTHONPATH")])])
    return dict(os.environ, PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", **more)


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
    assert not failed, "\n".join(failed)
    return printed
