#!/usr/bin/env python3
"""Kills `chakra pack --append` at random moments: the container must be the old one or the new one, byte by byte.

    append_crash.py [--bin DIR] [--rounds N]

Also two that add at the same time, and one that is killed while others wait: every rank that was added must be there.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import et  # noqa: E402


def trace(path, rank, nodes):
    lines = [f"metadata rank={rank}"] + [f"{i} COMP op{i % 97}_{rank} dur_us={i * rank % 1009} deps={i - 1}" if i > 1 else "1 COMP first dur_us=1"
                                         for i in range(1, nodes + 1)]
    with open(path, "wb") as file:
        file.write(et.encode("\n".join(lines)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    chakra = os.path.abspath(os.path.join(options.bin, "chakra"))
    rng = random.Random(5)
    ended = {"old": 0, "new": 0}
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, f"t.{rank}.et") for rank in range(4)]
        for rank, path in enumerate(files):
            trace(path, rank, 3000)
        job = os.path.join(folder, "job.chakra")

        def read():
            with open(job, "rb") as file:
                return file.read()

        def append(path):
            return subprocess.Popen([chakra, "pack", path, "-o", job, "--append"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        subprocess.run([chakra, "pack", files[0], "-o", job], check=True, stdout=subprocess.DEVNULL)
        old = read()
        begin = time.monotonic()
        if append(files[1]).wait() != 0:
            sys.exit("adding failed")
        took, new = time.monotonic() - begin, read()
        for number in range(options.rounds):
            with open(job, "wb") as file:
                file.write(old)
            process = append(files[1])
            time.sleep(rng.random() * took * 1.2)
            process.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)[number % 3])
            process.wait()
            now = read()
            if now not in (old, new):
                sys.exit(f"round {number}: neither the old container nor the new one: {len(now)} bytes")
            ended["old" if now == old else "new"] += 1
        left = [name for name in os.listdir(folder) if name.startswith("job.chakra.")]
        if len(left) > 1:  # what is killed between naming and renaming leaves its file
            sys.exit(f"files are left: {left}")
        with open(job, "wb") as file:
            file.write(old)
        killed = append(files[1])
        waiting = [append(path) for path in files[2:]]
        killed.kill()
        killed.wait()
        if any(process.wait() != 0 for process in waiting):
            sys.exit("two that add at the same time disturb one another")
        said = subprocess.run([chakra, "pack", job, "--stats", "--json", "-"], check=True, capture_output=True, text=True).stdout
        for rank in (0, 2, 3):
            if f'"rank": {rank},' not in said:
                sys.exit(f"rank {rank} was lost: {said}")
    print(f"append_crash: {options.rounds} rounds, then {ended['old']} times the old container and {ended['new']} times the new one")


if __name__ == "__main__":
    main()
