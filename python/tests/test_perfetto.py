"""Timelines in Perfetto's stream, decoded by the classes of the package perfetto, against the same in Chrome's format."""
import glob
import os
import random
import subprocess
import sys

import chakra_et
import pytest
from conftest import ROOT, command

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
    assert "3992 flows" in compare("simulated")
    assert os.path.getsize("simulated.pftrace") * 3 < os.path.getsize("simulated.json")


@pytest.mark.skipif(not os.path.isdir(DATA), reason="no test data")
def test_queues_are_those_of_analyze():
    recording, = glob.glob(f"{DATA}/kineto/tracelens_h100__gaunernst_bert-small-uncased__1016001.json.gz")
    command("link", recording, "-o", "queues.0.et")
    assert "1 counters" in view("queues.0.et", "queues")
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    from compare_perfetto import Stream

    (_, name, unit), changes = next(iter(Stream("queues.pftrace").counters.items()))
    answer = chakra_et.open("queues.0.et").analyze(only="queues").to_dict()
    length = {}
    for row in answer["queue_lengths_over_time"]:
        length[row["from_ps"] // 1000] = row["length"]  # the last of the changes at one moment
    assert (name, unit) == ("waiting on device 0 stream 7", "operations")
    assert dict(changes) == length
