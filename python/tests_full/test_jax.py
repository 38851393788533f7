"""chakra_et.record with JAX: profiles of one and two processes link completely, with the steps of the script."""
import json
import os
import socket
import subprocess
import sys

import pytest

pytest.importorskip("jax")
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jax_job.py")
CHAKRA = os.path.join(os.path.dirname(sys.executable), "chakra")


def chakra(*words):
    done = subprocess.run([CHAKRA, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def job(*words, processes=1):
    """Run a job. Return what its processes printed, with their exit status."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    more = {"WORLD_SIZE": str(processes), "MASTER_PORT": str(port)} if processes > 1 else {}
    started = [subprocess.Popen([sys.executable, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, RANK=str(rank), JAX_PLATFORMS="cpu", **more)) for rank in range(processes)]
    try:
        return [(process.communicate(timeout=300)[0], process.returncode) for process in started]
    finally:
        for process in started:
            process.kill()


def recorded(folder, how, processes=1):
    printed = job(JOB, how, folder, processes=processes)
    assert all(status == 0 for _, status in printed), printed
    return [json.loads((folder / f"manifest.{rank}.json").read_text()) for rank in range(processes)]


def linked(folder, traces, devices, *options):
    """Link, check, and return the steps that the analysis shows."""
    traces.mkdir()
    chakra("link", folder, "-o", traces / "t", "--json", traces / "link.json", *options)
    result = json.loads((traces / "link.json").read_text())
    assert [rank["rank"] for rank in result["ranks"]] == list(range(devices))
    assert all(rank["events"] > 0 and abs(rank["self_check_error"]) < 0.05 for rank in result["ranks"])
    assert [row["opcode"] for row in result["programs"][0]["collectives"]] == ["all-reduce"]
    assert "nothing found" in chakra("check", traces / "t")
    chakra("analyze", traces / "t", "--only", "steps", "--json", traces / "steps.json")
    return sorted({row["step"] for row in json.loads((traces / "steps.json").read_text())["step_times"]})


@pytest.mark.parametrize("how, counted_by", [("by_hand", "step"), ("annotated", "StepTraceAnnotation"), ("inside", "StepTraceAnnotation")])
def test_steps_of_one_process(tmp_path, how, counted_by):
    manifest, = recorded(tmp_path / "out", how)
    assert (manifest["steps"], manifest["complete"], manifest["counted_by"]) == ([3, 4], True, counted_by)
    assert manifest["options"]["devices"] == ["cpu"]
    assert linked(tmp_path / "out", tmp_path / "traces", 2) == ["step 3", "step 4"]


def test_two_processes(tmp_path):
    manifests = recorded(tmp_path / "out", "annotated", 2)
    assert [(manifest["rank"], manifest["ranks"]) for manifest in manifests] == [(0, 2), (1, 2)]
    assert linked(tmp_path / "out", tmp_path / "traces", 4) == ["step 3", "step 4"]


def test_an_unchanged_script(tmp_path):
    printed, = job("-m", "chakra_et.record", "--framework", "jax", "--steps", "3:5", "-o", tmp_path / "out", "--", JOB, "plain", "unused")
    assert printed[1] == 0, printed
    assert linked(tmp_path / "out", tmp_path / "traces", 2) == ["step 3", "step 4"]


def test_later_recordings_are_chosen_by_cycle(tmp_path):
    recorded(tmp_path / "out", "cycles")
    assert linked(tmp_path / "out", tmp_path / "first", 2, "--cycle", 0) == ["step 1"]
    assert linked(tmp_path / "out", tmp_path / "second", 2, "--cycle", 1) == ["step 3", "step 4"]


@pytest.mark.parametrize("processes", [1, 2])
def test_level_1_keeps_no_name(tmp_path, processes):
    manifests = recorded(tmp_path / "out", "hidden", processes)
    assert all(manifest["level"] == 1 and manifest["hidden"]["names"] > 0 for manifest in manifests)
    names = sorted(os.listdir(tmp_path / "out"))
    assert names == sorted([f"manifest.{rank}.json" for rank in range(processes)] + [f"trace.{rank}.et" for rank in range(2 * processes)])
    for name in names:
        content = (tmp_path / "out" / name).read_bytes()
        assert not any(secret in content for secret in (b"secret_projector", b"jax_job", socket.gethostname().encode()))
    assert "nothing found" in chakra("check", tmp_path / "out")


def test_a_job_that_fails_keeps_its_recorded_steps(tmp_path):
    printed, = job(JOB, "fails", tmp_path / "out")
    assert printed[1] == 1 and "ValueError: a job that fails" in printed[0]
    manifest = json.loads((tmp_path / "out" / "manifest.0.json").read_text())
    assert (manifest["failed"], manifest["complete"]) == ("ValueError", False)
    assert linked(tmp_path / "out", tmp_path / "traces", 2) == ["step 3"]


def test_a_block_that_ends_early_says_so(tmp_path):
    printed, = job(JOB, "early", tmp_path / "out")
    assert printed[1] == 1 and "counted by StepTraceAnnotation of the script, before a step was recorded" in printed[0]
    assert os.listdir(tmp_path / "out") == []
