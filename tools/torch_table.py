#!/usr/bin/env python3
"""Replays host traces with --compute torch and counts the operators that ran with the recorded shapes.

    torch_table.py [--check] [--quick] [--memory] [--bin DIR] [--plugin FILE] [NAME...]

NAME is a part of a trace's name. --check fails where a trace has less than its limit, --quick leaves out those that
take long, --memory counts in a second run that may have the live tensors plus 10 % and 512 MiB and no byte more. It needs the plugin (./dev torch); the
traces that lie in the test data are left out where those are absent.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.environ.get("CHAKRA_TEST_DATA", os.path.join(ROOT, "..", "shared", "data"))
SKIPPED = 77

LONG = {"resnet 1.1.1", "resnet 1.0.3", "resnet 1.0.1", "hoti"}  # tens of seconds each

# (name, archive or trace, member of the archive, least share with the recorded shapes in percent)
TRACES = [
    ("linear", "pairs/linear_2080ti/linear_et.json.gz", "", 99),
    ("resnet 1.1.1", "et_json/resnet_1gpu_et_1.1.1.json.tar.gz", "resnet_1gpu_et.json", 99),
    ("dlrm", "pairs/dlrm_v100_8rank/dlrm_pytorch_et.tar.gz", "dlrm_pytorch_et/dlrm_eg_0.json", 99),
    ("gpt2", os.path.join(ROOT, "examples/traces/gpt2_host/host.0.json.gz"), "", 99),
    ("ddp", os.path.join(ROOT, "examples/traces/ddp_gloo_2ranks/host.0.json.gz"), "", 95),
    ("resnet 1.0.3", "et_json/resnet_1gpu_et_1.0.3.json.gz", "", 95),
    ("resnet 1.0.1", "pairs/resnet_2080ti/resnet_et.json.gz", "", 95),
    ("hoti", "et_json/hoti2024_ddp2_host_rank0.json.gz", "", 95),
    ("chakra 1.0.2", "et_json/chakra_1.0.2-chakra.0.0.4.tgz", "1.0.2-chakra.0.0.4.json", 95),
    ("simple add", "pairs/simple_add_a100/benchmark_simple_add_et.json.gz", "", 95),
] + [(f"recorded {job}", f"recorded/{job}-2.6.0/host.0.json.gz", "", 95)
     for job in ("Pasync_base", "async", "batchp2p", "funcol", "mesh", "moe", "names", "threads", "tp", "zoo")] + [
    ("recorded pp", "recorded/pp-2.6.0/host.0.json.gz", "", 95)]


LIBRARIES = 512 << 20  # bytes that libraries may have, beside the live tensors and a tenth of them


def run(command, data_limit=resource.RLIM_INFINITY):
    """With at most data_limit bytes of memory that is this process's own."""
    return subprocess.run(command, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (data_limit, data_limit)))


def unpack(source, member, folder):
    if not member:
        return source
    with tarfile.open(source) as archive, open(os.path.join(folder, "host.json"), "wb") as out:
        out.write(archive.extractfile(member).read())
    return out.name


def replay(args, source, member, folder):
    """The counts of a trace, or why there are none."""
    job = os.path.join(folder, "t.0.et")
    linked = run([args.chakra, "link", unpack(source, member, folder), "-o", job, "--salvage"])
    if linked.returncode != 0:
        return linked.stderr.strip().splitlines()[-1]
    command = [args.chakra, "replay", job, "--allow-ops", "none", "--no-check", "--compute", "torch", "--json", "-"]
    if args.plugin:
        command += ["--compute-option", f"plugin={args.plugin}"]
    limit = resource.RLIM_INFINITY
    for _ in range(2 if args.memory else 1):
        done = run(command, limit)
        if done.returncode != 0:
            return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        result = json.loads(done.stdout)
        limit = result["computed"][0]["live_bytes"] * 11 // 10 + LIBRARIES
    return dict(result["computed"][0], span_ns=result["ranks"][0]["span_ns"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--plugin", default="")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.chakra = os.path.join(args.bin, "chakra")
    failed, ran = [], 0
    print("trace                 operators     ran  same shapes    share  substituted  live MiB  seconds")
    for name, path, member, least in TRACES:
        source = os.path.join(DATA, path)
        if (args.names and not any(part in name for part in args.names)) or not os.path.exists(source):
            continue
        if args.quick and name in LONG:
            continue
        with tempfile.TemporaryDirectory() as folder:
            row = replay(args, source, member, folder)
        if isinstance(row, str):
            print(f"{name}: {row}")
            failed.append(name)
            continue
        ran += 1
        share = 100 * row["same_shapes"] / max(1, row["operators"])
        print(f"{name:20} {row['operators']:10} {row['ran']:7} {row['same_shapes']:12} {share:7.2f}% {row['substituted']:12}"
              f" {row['live_bytes'] / 2**20:9.1f} {row['span_ns'] / 1e9:8.2f}", flush=True)
        for kind in ("not_run", "other_shapes"):
            for one in row[kind]:
                print(f"    {kind}: {one['count']} {one['operator']}: {one['why'][:200]}")
        if share < least:
            failed.append(f"{name}: {share:.2f} % of its operators have the recorded shapes, and {least} % should")
    if failed and args.check:
        print("\n".join(failed), file=sys.stderr)
        return 1
    return 0 if ran else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
