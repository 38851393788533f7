"""Drivers of fleets: processes and Slurm's batch file give the files of one process. Ray has a test in tests_full."""
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import chakra_et
import pytest
from chakra_et import drivers
from conftest import RECORDED


def files_of(folder):
    found = {}
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".fleet"]
        for name in files:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def kill_one():
    """Kill a worker in this folder. Returns whether there was one."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            if any(word.startswith(b"--shard=") for word in words) and os.path.samefile(f"/proc/{pid}/cwd", "."):
                os.kill(int(pid), signal.SIGKILL)
                return True
        except (OSError, ProcessLookupError):
            pass  # the process has ended
    return False


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """Three jobs, and the files that one process makes of them."""
    monkeypatch.chdir(tmp_path)
    os.mkdir("jobs")
    for name in "abc":
        shutil.copytree(RECORDED, f"jobs/{name}")
    report = chakra_et.fleet.link("jobs", output="out")
    assert [report[key] for key in ("done", "failed", "open", "ok")] == [3, 0, 0, True]
    os.rename("out", "one")
    return files_of("one")


def test_processes(jobs):
    report = drivers.processes("link", "jobs", output="out", workers=2, split=1)
    assert report["done"] == 3 and report["ok"]
    assert files_of("out") == jobs
    assert int(report.table("jobs")["tasks"].sum()) == 3 * 6
    again = drivers.processes("link", ["jobs"], output="out", workers=3, split=1)
    assert again.to_dict() == report.to_dict()  # also the times: no task has run again


def test_killed_workers_cost_their_tasks_only(jobs):
    ended = threading.Event()

    def kill():
        for _ in range(4):
            while not ended.wait(0.05) and not kill_one():
                pass
            time.sleep(0.2)

    killer = threading.Thread(target=kill)
    killer.start()
    report = drivers.processes("link", "jobs", output="out", workers=2, split=1)
    ended.set()
    killer.join()
    assert report["done"] == 3 and files_of("out") == jobs


def test_the_batch_file_of_slurm(jobs):
    drivers.slurm("link", "jobs", output="out", workers=3, wait=20, split=1, salvage=False, file="link.sbatch", directives=["--mem=1G"])
    with open("link.sbatch", encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[:4] == ["#!/bin/sh", "#SBATCH --job-name=chakra-link", "#SBATCH --array=1-3", "#SBATCH --mem=1G"]
    place = os.path.dirname(os.environ.get("CHAKRA", sys.executable))
    array = [subprocess.Popen(["sh", "link.sbatch"], stdout=subprocess.DEVNULL,
                              env={**os.environ, "PATH": place + ":" + os.environ["PATH"], "SLURM_ARRAY_TASK_ID": str(task)}) for task in (1, 2, 3)]
    assert [job.wait() for job in array] == [0, 0, 0]
    assert files_of("out") == jobs


def test_a_job_that_fails_is_a_row(jobs):
    os.mkdir("jobs/broken")
    with open("jobs/broken/device.0.json", "w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "na')
    report = drivers.processes("link", "jobs", output="out", workers=2)
    assert [report[key] for key in ("done", "failed", "open", "ok")] == [3, 1, 0, False]
    assert list(report.table("failures")["job"]) == ["broken"]


def test_wrong_arguments_are_refused(jobs):
    with pytest.raises(ValueError):
        drivers.processes("view", "jobs", output="out")
    with pytest.raises(ValueError):
        drivers.processes("link", "jobs", output="out", workers=-1)
    with pytest.raises(chakra_et.Error) as error:
        drivers.processes("link", "missing", output="out", workers=1)
    assert error.value.tag == "base.file.open"
    with pytest.raises((chakra_et.Error, TypeError)):
        drivers.processes("link", "jobs", output="out", workers=1, no_such_option=1)
