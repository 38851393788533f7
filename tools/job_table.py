#!/usr/bin/env python3
"""Links every recorded job of the examples and the test data and writes docs/reference/job_table.md.

    job_table.py --bin DIR [--check]     --check: fail if the page does not say what comes out now
"""
import glob
import json
import os
import subprocess
import tarfile
import tempfile

from page import ROOT, write_or_check

HEAD = """# How well recorded jobs replay as a whole

Made by `./dev table`. Each job is linked and run again with its transfers as recorded: every
rank begins when it did, each member of a collective or message ends as long after the last
start as it did, or by its own time where it had ended by then and could, and waiting comes out
anew. *measured*: from the first start to the last end, clocks aligned. *error*: replayed /
measured - 1, of the job, of the rank and of the step (on one rank) where it is largest.
[accuracy](../explanation/accuracy.md), "Whole jobs", explains the columns.

| job | ranks | nodes | collectives | measured | error, job | worst rank | worst step | clocks known to |
|---|---|---|---|---|---|---|---|---|
"""


def inputs(data, folder):
    """(name, folders) of each job."""
    yield "example ddp_gloo_2ranks", [os.path.join(ROOT, "examples", "traces", "ddp_gloo_2ranks")]
    for name in ("dlrm_kineto", "dlrm_pytorch_et"):
        with tarfile.open(os.path.join(data, "pairs", "dlrm_v100_8rank", name + ".tar.gz")) as tar:
            tar.extractall(folder)
    yield "DLRM, 8 V100, NCCL", [os.path.join(folder, "dlrm_pytorch_et"), os.path.join(folder, "dlrm_kineto")]
    for path in sorted(glob.glob(os.path.join(data, "recorded", "*"))):
        if len(glob.glob(os.path.join(path, "*.1.json.gz"))) > 0:
            yield f"recorded {os.path.basename(path)}, Gloo", [path]


def link(binary, folders, folder):
    report = os.path.join(folder, "report.json")
    done = subprocess.run([binary, "link", *folders, "-o", os.path.join(folder, "linked"), "--json", report],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip().rsplit("[", 1)[-1].rstrip("]")
    with open(report, encoding="utf-8") as file:
        return json.load(file), None


def percent(share):
    text = f"{100 * share:+.2f}"
    return (text if float(text) else text[1:]) + " %"


def worst(items):
    errors = [item["recorded_transfers"]["error"] for item in items if item["measured_ns"] and item["recorded_transfers"]]
    return percent(max(errors, key=abs)) if errors else ""


def row(name, report):
    job, measured = report["job"], report["job"]["measured"]
    clocks = [clock["uncertainty_ns"] for clock in job["clock"] if clock["collectives"]]
    return (f"| {name} | {len(report['ranks'])} | {sum(r['nodes'] for r in report['ranks']):,} "
            f"| {sum(c['count'] for c in job['collectives']):,} | {measured['measured_ns'] / 1e6:,.2f} ms "
            f"| {percent(measured['recorded_transfers']['error'])} | {worst(measured['ranks'])} "
            f"| {worst([step for r in measured['ranks'] for step in r['steps']])} "
            f"| {f'{max(clocks) / 1000:,.1f} us' if clocks else ''} |")


def page(binary, data):
    rows, not_replayed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, folders in inputs(data, folder):
            report, error = link(binary, folders, tempfile.mkdtemp(dir=folder))
            if error:
                not_replayed.append(f"- {name}: refused ({error}).")
                continue
            if (report["job"].get("measured") or {}).get("recorded_transfers"):
                rows.append(row(name, report))
                continue
            why = [f["text"] for f in report["findings"] if f["tag"] == "sim.job.not_replayed"]
            not_replayed.append(f"- {name}: {why[0] if why else 'it has no measured times'}.")
    text = HEAD + "\n".join(rows) + "\n"
    if not_replayed:
        text += "\n## Not replayed\n\n" + "\n".join(not_replayed) + "\n"
    return text


if __name__ == "__main__":
    write_or_check("job_table.md", __doc__, page)
