#!/usr/bin/env python3
"""Links every recording of the test data with device activity and writes docs/reference/replay_table.md.

    replay_table.py --bin DIR [--check]     --check: fail if the page does not say what comes out now
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile

from page import write_or_check

HEAD = """# How well every recording replays

Made by `./dev table` from the recordings of the test data that hold device operations. Times are
the recordings' own; [accuracy](../explanation/accuracy.md), "Self-replay", explains the columns.
*error*: replayed / measured - 1, median of |error| and the worst over the steps. *half*: the change
if the device durations are halved. *others*: worst error of the other steps if only the first step
sets the launch latency and the dispatch gap (`--fit-steps`). *starts*: device starts off by,
median. *stall*: worst stream. *sync*, *initial*, *unrecorded* (device work that the recording
lacks, rule U1): shares of the critical path.

"""
LIMIT_SHARE = 0.02
LIMIT_MEDIAN, LIMIT_WORST = 0.01, 0.03


def inputs(data, folder):
    """(name, files) of each recording."""
    for path in sorted(glob.glob(os.path.join(data, "kineto", "*.gz"))):
        yield os.path.basename(path).removesuffix(".gz").removesuffix(".json"), [path]
    et_json = os.path.join(data, "et_json", "resnet_1gpu_et_1.0.3.json.gz")
    yield "pair ResNet, 1 GPU", [et_json, os.path.join(data, "kineto", "hta_nccl_parser_config__nccl_data.json.gz")]
    for pair in ("linear_2080ti", "resnet_2080ti", "simple_add_a100"):
        files = sorted(glob.glob(os.path.join(data, "pairs", pair, "*.json.gz")))
        yield f"pair {pair}", files
        yield f"{pair}, Kineto alone", [f for f in files if not f.endswith("_et.json.gz")]
    for name in ("dlrm_kineto", "dlrm_pytorch_et"):
        with tarfile.open(os.path.join(data, "pairs", "dlrm_v100_8rank", name + ".tar.gz")) as tar:
            tar.extractall(folder)
    for rank in range(8):
        kineto = glob.glob(os.path.join(folder, "dlrm_kineto", f"worker{rank}_*"))[0]
        yield f"pair dlrm_v100, rank {rank}", [os.path.join(folder, "dlrm_pytorch_et", f"dlrm_eg_{rank}.json"), kineto]


def link(binary, files, folder, *options):
    report = os.path.join(folder, "report.json")
    done = subprocess.run([binary, "link", *files, "-o", os.path.join(folder, "t.et"), "--json", report, *options],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        return None, done.stderr.strip().rsplit("[", 1)[-1].rstrip("]")
    with open(report, encoding="utf-8") as file:
        return json.load(file)["ranks"][0], None


def reasons(r):
    """Why a recording is an exception, from what its report says."""
    path, out = r["critical_path"], []
    errors = [abs(step["error"]) for step in r["steps"]]
    if path["initial_condition"] > LIMIT_SHARE:
        out.append(f"waits for work before the recording ({100 * path['initial_condition']:.0f} % of the critical path)")
    if path["unrecorded"] > LIMIT_SHARE:
        out.append(f"device work that was not recorded is assumed ({100 * path['unrecorded']:.0f} % of the critical path)")
    if path["sync_remainder"] > LIMIT_SHARE:
        out.append(f"blocking calls go on after what they wait for ({100 * path['sync_remainder']:.0f} %): in truth perhaps waits")
    if r["stream_stall_share"] > LIMIT_SHARE:
        sampled = any(f["tag"] == "sim.replay.stall" for f in r["findings"])
        out.append("streams stall for no recorded reason" + (": sampled, or kernels that start late" if sampled else ""))
    if statistics.median(errors) > LIMIT_MEDIAN or max(errors) > LIMIT_WORST:
        out.append("the replay of a step is off")
    return out


def other_steps(binary, files, folder, steps):
    """The worst error of the steps after the first, with the constants of the first."""
    numbers = [step["name"].partition("#")[2] for step in steps]
    if len(numbers) < 2 or not all(map(str.isdigit, numbers)):
        return ""
    r, error = link(binary, files, folder, "--fit-steps", numbers[0])
    if error:
        sys.exit(f"{files}: {error}")
    return percent(max((step["error"] for step in r["steps"][1:]), key=abs))


def percent(share, digits=2):
    text = f"{100 * share:+.{digits}f}"
    return (text if float(text) else text[1:]) + " %"


def page(binary, data):
    tables = {True: [], False: []}
    exceptions, without, refused = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, files in inputs(data, folder):
            r, error = link(binary, files, folder)
            if error:
                refused.append(f"`{name}` ({error})")
                continue
            if r["device_ops"] == 0:
                without.append(f"`{name}`")
                continue
            errors = [abs(step["error"]) for step in r["steps"]]
            worst = max((step["error"] for step in r["steps"]), key=abs)
            path = r["critical_path"]
            tables[r["informative"]].append(
                f"| {name} | {r['device_ops']:,} | {len(r['steps'])} | {100 * statistics.median(errors):.2f} % | {percent(worst)} "
                f"| {other_steps(binary, files, folder, r['steps'])} | {percent(r['half_device_ns'] / r['measured_ns'] - 1, 1)} "
                f"| {r['device_start_error_ns']['median'] / 1000:.1f} us "
                f"| {100 * r['stream_stall_share']:.2f} % | {100 * path['device']:.0f} % | {100 * path['sync_remainder']:.1f} % "
                f"| {100 * path['initial_condition']:.1f} % | {100 * path['unrecorded']:.1f} % "
                f"| {r['inferred_edges']:,} |")
            why = reasons(r)
            if why:
                exceptions.append(f"- `{name}`: {'; '.join(why)}.")
    columns = ("| recording | device operations | steps | error, median | worst | others | half | starts | stall "
               "| device | sync | initial | unrecorded | inferred edges |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
    text = HEAD + "## Informative: device and constants make at least 10 % of the critical path\n\n" + columns
    text += "\n".join(tables[True]) + "\n\n## The host alone explains the time\n\n" + columns + "\n".join(tables[False])
    text += "\n\n## Exceptions\n\nBeyond 2 % of stall, sync, initial condition or unrecorded work, 1 % of median or 3 % of worst error:\n\n"
    text += "\n".join(exceptions)
    text += f"\n\nWithout device operations: {', '.join(without)}."
    text += f"\nRefused: {', '.join(refused)}.\n" if refused else "\n"
    return text


if __name__ == "__main__":
    write_or_check("replay_table.md", __doc__, page)
