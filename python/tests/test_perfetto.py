"""Timelines in Perfetto's stream, decoded by the classes of the package perfetto, against the same in Chrome's format."""
import glob
import json
import os
import random
import subprocess
import sys

import chakra_et
import pytest
from conftest import ROOT, command

sys.path.insert(0, os.path.join(ROOT, "tools"))

DATA = os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))


def compare(name):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "compare_perfetto.py"), f"{name}.pftrace", f"{name}.json"],
                          text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def view(path, name, *options):
    for form in ("json", "pftrace"):
        command("view", path, "-o", f"{name}.{form}", *options)
    return compare(name)


def test_a_linked_job():
    assert " 0 problems" in view("linked", "linked_timeline")


def test_slices_that_overlap_at_any_picosecond():
    draw = random.Random(7)
    lines = []
    for node in range(400):
        begin = draw.randrange(3000)
        end = begin + draw.choice([0, 1, draw.randrange(900)])
        for word, tick in (("issue", begin), ("callback", end)):
            lines.append((tick, word == "callback", f"{word},Rank={node % 3},Tick={tick},NodeId={node},NodeName=n\"{node % 7}\\\u00e9"))
    with open("events.csv", "w", encoding="utf-8") as out:
        print("\n".join(line for _, _, line in sorted(lines)), file=out)
    assert "400 slices" in view("events.csv", "events_timeline", "--npu-frequency", "3GHz")


def test_a_simulation():
    for form in ("json", "pftrace"):
        command("sim", "tiny", "--network", "net.yml", "--timeline", f"simulated.{form}")
    assert "998 flows" in compare("simulated")  # of the ranks that were simulated
    assert os.path.getsize("simulated.pftrace") * 3 < os.path.getsize("simulated.json")


def counters_of(path, name):
    """The counters of a stream whose names begin with `name`: changes by rank and the rest of the name."""
    from compare_perfetto import Stream

    return {(rank, full[len(name):]): changes for (rank, full, _), changes in Stream(path).counters.items() if full.startswith(name)}


@pytest.mark.parametrize("congestion", ["closed", "fluid"])
def test_loads_of_links_are_those_of_the_report(congestion):
    for form in ("json", "pftrace"):
        command("sim", "tiny", "--network", "net.yml", "--congestion", congestion, "--timeline", f"loads.{form}")
    compare("loads")
    command("report", "tiny", "--network", "net.yml", "--congestion", congestion, "-o", "loads.html", "--json", "loads_report.json")
    wanted = {}
    with open("loads_report.json", encoding="utf-8") as file:
        for row in json.load(file)["link_loads"]:
            others = f" and {row['links'] - 1} equal" if row["links"] > 1 else ""
            changes = wanted.setdefault((-1, row["link"] + others), {})
            changes[row["start_ps"] // 1000] = int(row["share"] * 1e4 + .5)
            changes[row["end_ps"] // 1000] = 0
    assert wanted
    assert {key: dict(changes) for key, changes in counters_of("loads.pftrace", "load of ").items()} == wanted


def test_memory_is_that_of_analyze():
    view("linked", "memory")
    answer = chakra_et.open("linked").analyze(only="memory").to_dict()
    wanted = {}
    for row in answer["memory_over_time"]:
        wanted.setdefault((row["rank"], row["device"]), []).append((row["from_ps"], row["live_bytes"]))
    found = counters_of("memory.pftrace", "live tensors on ")
    assert wanted and wanted.keys() == found.keys()
    for key, changes in wanted.items():
        assert [value for _, value in found[key]] == [value for _, value in changes]
        shifts = {time - from_ps // 1000 for (time, _), (from_ps, _) in zip(found[key], changes)}
        assert len(shifts) <= 2 and max(shifts) - min(shifts) <= 1  # the rank's first start, in whole nanoseconds


@pytest.mark.skipif(not os.path.isdir(DATA), reason="no test data")
def test_queues_are_those_of_analyze():
    recording, = glob.glob(f"{DATA}/kineto/tracelens_h100__gaunernst_bert-small-uncased__1016001.json.gz")
    command("link", recording, "-o", "queues.0.et")
    view("queues.0.et", "queues")
    changes, = counters_of("queues.pftrace", "waiting on device 0 stream 7").values()
    answer = chakra_et.open("queues.0.et").analyze(only="queues").to_dict()
    length = {}
    for row in answer["queue_lengths_over_time"]:
        length[row["from_ps"] // 1000] = row["length"]  # the last of the changes at one moment
    assert dict(changes) == length
