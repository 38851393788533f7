#!/usr/bin/env python3
"""How fast a gigabyte of recordings is linked, and in how much memory.

    link_bench.py [--bin DIR] [--copies N] [--runs N]

Repeats a pair of recordings (repeat_trace.py; of the test data where they are there, else of the examples),
and links it in fresh processes whose address space is limited to 0.6 times the size of the input. Counts user
and system time and compares them with what simdjson alone takes for the same bytes. The answer is checked
against that of one copy and between runs; a wrong one ends the benchmark with 1.
"""
import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARE = 0.6  # of the size of the input: the address space


def pair():
    """Two recordings."""
    data = os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))
    recorded = (data + "/et_json/resnet_1gpu_et_1.0.3.json.gz", data + "/kineto/hta_nccl_parser_config__nccl_data.json.gz")
    if all(map(os.path.exists, recorded)):
        return recorded
    return tuple(f"{ROOT}/examples/traces/ddp_gloo_2ranks/{kind}.0.json.gz" for kind in ("host", "device"))


def link(chakra, inputs, output, limit=None):
    """The report of a run and its usage of resources."""
    def limited():
        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([chakra, "link", *inputs, "-o", output, "--json", "-"], preexec_fn=limited, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(f"link_bench: exit {run.returncode}: {run.stderr.decode().strip()}")
    return json.loads(run.stdout)["ranks"][0], after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def bare_parse(bench, inputs):
    env = dict(os.environ, CHAKRA_BENCH_HOST=inputs[0], CHAKRA_BENCH_DEVICE=inputs[1])
    out = subprocess.run([bench, "--benchmark_filter=BM_BareParse", "--benchmark_format=json"], env=env, check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(out)["benchmarks"][0]["cpu_time"] / 1e3


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=ROOT + "/build/release/bin")
    parser.add_argument("--copies", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    chakra = args.bin + "/chakra"
    with tempfile.TemporaryDirectory(prefix="chakra-bench-") as folder:
        files = [f"{folder}/host.json", f"{folder}/device.json"]
        one, many = pair(), files
        subprocess.run([sys.executable, ROOT + "/tools/repeat_trace.py", str(args.copies), *one, *many], check=True)
        size = sum(map(os.path.getsize, many))
        limit = int(SHARE * size)
        single, _, _ = link(chakra, one, f"{folder}/one.0.et")
        times, answers = [], set()
        for _ in range(args.runs):
            output = f"{folder}/many.0.et"
            report, user, system = link(chakra, many, output, limit)
            times.append((user + system, user, system))
            answers.add(digest(output))
            os.remove(output)
            for key in ("matched_host_ops", "attached_device_ops", "comm_nodes", "comm_bytes"):
                if report[key] != args.copies * single[key]:
                    sys.exit(f"link_bench: {key} is {report[key]}, not {args.copies} times {single[key]}")
            if abs(report["self_check_error"]) > 0.01:
                sys.exit(f"link_bench: the self-check is off by {report['self_check_error']}")
        if len(answers) > 1:
            sys.exit("link_bench: two runs gave two answers")
        floor = bare_parse(args.bin + "/link_bench", many)
        total, (best, user, system) = statistics.median(t[0] for t in times), min(times)
        print(f"{size / 1e6:,.0f} MB of recordings ({args.copies} copies), "
              f"in an address space of {limit / 1e6:,.0f} MB")
        print(f"user + system  {total:.2f} s, median of {args.runs} ({size / 1e6 / total:.0f} MB/s); "
              f"best {best:.2f} s = {user:.2f} + {system:.2f} ({size / 1e6 / best:.0f} MB/s)")
        print(f"bare parse     {floor:.2f} s by simdjson: linking takes {total / floor:.1f} times that")
        print(f"answer         sha256 {answers.pop()}")


if __name__ == "__main__":
    main()
