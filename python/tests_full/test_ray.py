"""Ray as the driver of a fleet, started on this machine."""
import os
import shutil

import chakra_et
import pytest
from chakra_et import drivers

RECORDED = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "examples", "traces", "ddp_gloo_2ranks")


@pytest.fixture(scope="module")
def cluster():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def files_of(folder):
    found = {}
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != ".fleet"]
        for name in files:
            with open(os.path.join(root, name), "rb") as file:
                found[os.path.relpath(os.path.join(root, name), folder)] = file.read()
    return found


def test_ray_gives_the_files_of_one_process(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkdir("jobs")
    for job in range(8):
        shutil.copytree(RECORDED, f"jobs/{job}")
    jobs = str(tmp_path / "jobs")
    chakra_et.fleet.link(jobs, output=str(tmp_path / "out"))
    expected = files_of("out")
    os.rename("out", "one")
    report = drivers.ray("link", jobs, output=str(tmp_path / "out"), split=1)
    assert report["done"] == 8 and report["ok"]
    assert files_of("out") == expected
