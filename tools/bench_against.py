#!/usr/bin/env python3
"""Compares the benchmarks of this tree with those of another commit, in interleaved runs of one session.

    bench_against.py REF [--rounds N] [--filter PATTERN] [--most RATIO]

REF is checked out and built under build/against. Each round runs every benchmark of both, in turns; of each the smallest
processor time counts, since what disturbs a run only adds. Prints a line per benchmark: before, now, their ratio.
Exits 1 if a ratio is above --most (1.03).
"""
import argparse
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLACE = os.path.join(ROOT, "build", "against")
FORMER = {"feeders_bench": "compat_bench", "link_bench": "pytorch_bench"}  # what programs of earlier commits are called


def build(ref):
    """Where REF's benchmarks are."""
    commit = subprocess.run(["git", "rev-parse", "--verify", f"{ref}^{{commit}}"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    if not commit:
        sys.exit(f"bench_against: there is no commit {ref}")
    source = os.path.join(PLACE, "source")
    if not os.path.exists(os.path.join(source, ".git")):
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--detach", "--force", source, commit], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=source, check=True)
    subprocess.run(["cmake", "--preset", "release"], cwd=source, check=True, stdout=subprocess.DEVNULL)
    folder = os.path.join(source, "build", "release")
    listed = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
    names = sorted({line.split(":")[0] for line in listed.splitlines() if line.split(":")[0].endswith("_bench") and "/" not in line.split(":")[0]})
    subprocess.run(["ninja", "-C", folder, *names], check=True, stdout=subprocess.DEVNULL)
    return os.path.join(folder, "bin")


def times(binary, pattern):
    """Benchmark -> processor time in ns."""
    command = [binary, "--benchmark_format=json", "--benchmark_min_time=0.1", f"--benchmark_filter={pattern}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    unit = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    rows = json.loads(said or '{"benchmarks": []}')["benchmarks"]
    return {row["name"]: row["cpu_time"] * unit[row["time_unit"]] for row in rows if not row.get("error_occurred")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ref")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--filter", default=".")
    parser.add_argument("--most", type=float, default=1.03)
    options = parser.parse_args()
    bins = [build(options.ref), os.path.join(ROOT, "build", "release", "bin")]
    best = [{}, {}]
    for turn in range(options.rounds):
        for binary in sorted(glob.glob(os.path.join(bins[1], "*_bench"))):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                program = os.path.basename(binary)
                names = [name for name in (program, FORMER.get(program)) if name and os.path.exists(os.path.join(bins[which], name))]
                if not names:
                    continue
                path = os.path.join(bins[which], names[0])
                for name, time in times(path, options.filter).items():
                    key = f"{os.path.basename(binary)[:-6]}: {name}"
                    best[which][key] = min(time, best[which].get(key, time))
    slower = 0
    for key, now in sorted(best[1].items()):
        before = best[0].get(key)
        if before is None:
            print(f"{key:<60} {now / 1e6:12.4f} ms, new")
            continue
        slower += now > options.most * before
        print(f"{key:<60} {before / 1e6:12.4f} -> {now / 1e6:12.4f} ms  {now / before:.3f}{'  slower' if now > options.most * before else ''}")
    for key in sorted(best[0].keys() - best[1].keys()):
        print(f"{key:<60} gone")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
