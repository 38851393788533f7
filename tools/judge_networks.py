#!/usr/bin/env python3
"""How far off `chakra calibrate network` is on public measurements that it was not fitted to.

    judge_networks.py [--bin DIR] [--data DIR]

Each set of measured collectives is split into rows to fit and rows to judge; the program fits to the first (`--from`) and says how far it is
off on the second (`--judge`): exp(mean |ln(predicted / measured)|) - 1 over points, which are medians of equal rows. Beside it stands the
spread of the data, each row against the median of its equals, or against the line between its neighbours where no rows are equal. It writes
the table of docs/explanation/accuracy.md, "Fitted networks", and exits with 1 where a set that is judged is further off than it may be: 5 %
and 20 % at worst, or the larger of 5 % and 1.25 times the spread for the sets of SPREAD.
"""
import argparse
import collections
import csv
import gzip
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST, WORST = 0.05, 0.20
SPREAD = {"vidur_network_h100", "nccl_tests_cluster00_2node_pairwise"}  # judged by the data's own spread
SINGLE, PAIRS = "nccl_tests_h100_single_node", "nccl_tests_h100_2node_pairwise"
Split = collections.namedtuple("Split", "name what fit judge npus judged", defaults=("", True))


class Data:
    def __init__(self, folder):
        self.folder = folder

    def rows(self, name):
        path = os.path.join(self.folder, f"{name}.csv")
        with (open(path, newline="") if os.path.exists(path) else gzip.open(path + ".gz", "rt", newline="")) as file:
            return [dict(row, set=name) for row in csv.DictReader(file)]


def power(row, column="size_bytes"):
    return int(math.log2(int(row[column])))


def number_before(row, text):
    source = row["source"]
    end = source.index(text)
    return int(source[end - 3:end])


def halves(rows, name, what, of):
    """Both ways: fitted to those for which `of` is 0 and judged on those for which it is 1, and the other way round; None: neither."""
    for fit, other in ((0, 1), (1, 0)):
        yield Split(name, what[fit], [r for r in rows if of(r) == fit], [r for r in rows if of(r) == other])


def splits(data):
    def node_and_size(row):
        node, size = number_before(row, ".log") % 2, power(row) % 2
        return node if node == size else None

    rows = [r for r in data.rows(SINGLE) if r["collective"] != "sendrecv"]
    yield from halves(rows, SINGLE, ("half of the nodes, every second size", "the other half, likewise"), node_and_size)
    rows = [r for r in data.rows("nccl_tests_a100_8gpu_superbench") if int(r["size_bytes"]) >= 32]
    yield from halves(rows, "nccl_tests_a100_8gpu_superbench", ("even powers of two", "odd powers of two"), lambda r: power(r) % 2)
    rows = data.rows("aic_nccl_a100_sxm")
    yield from halves(rows, "aic_nccl_a100_sxm", ("`half`", "`int8`"), lambda r: int(r["nccl_dtype"] == "int8"))
    for split in halves(rows, "aic_nccl_a100_sxm", ("even powers of two", "odd powers of two"),
                        lambda r: (power(r, "message_size") + (r["nccl_dtype"] == "half")) % 2):
        yield split._replace(judged=False)
    for machine in ("h100_dgx", "h100_pairwise_nvlink"):
        rows = [r for r in data.rows("vidur_network_h100") if r["sku"] == machine and r["collective"] == "all_reduce"]
        sizes = {size: i for i, size in enumerate(sorted({int(r["size_as_recorded"]) for r in rows}))}
        kept = [r for r in rows if sizes[int(r["size_as_recorded"])] % 8 == 3]
        yield Split("vidur_network_h100", f"`{machine}`, seven of eight sizes", [r for r in rows if r not in kept], kept)
    rows = [r for r in data.rows("nccl_tests_cluster00_2node_pairwise") if r["collective"] == "alltoall"]
    yield from halves(rows, "nccl_tests_cluster00_2node_pairwise", ("even pairs of nodes", "odd pairs of nodes"),
                      lambda r: number_before(r, ".log") % 2)
    pairs = [r for r in data.rows(PAIRS)]
    yield Split(PAIRS, "one node, and two nodes with one GPU each", data.rows(SINGLE) + [r for r in pairs if r["gpus_per_node"] == "1"],
                [r for r in pairs if r["gpus_per_node"] != "1"], "8,2", False)


def spread(rows):
    """Mean and 95 % quantile of |ln(row / its equals)|."""
    def column(row, *names):
        return next(row[n] for n in names if n in row)

    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows:
        key = (column(row, "collective", "op_name"), column(row, "num_workers", "num_gpus", "ranks"), row.get("nodes"))
        size = int(column(row, "size_bytes", "size_as_recorded", "message_size")) * (2 if row.get("nccl_dtype") == "half" else 1)
        groups[key][size].append(float(column(row, "oop_time_us", "median_ms", "latency")))
    off = []
    for sizes in groups.values():
        order = sorted(sizes)
        for i, size in enumerate(order):
            times = sizes[size]
            if len(times) > 2:
                off += [abs(math.log(t / statistics.median(times[:k] + times[k + 1:]))) for k, t in enumerate(times)]
            elif len(times) == 1 and 0 < i < len(order) - 1 and order[i + 1] < 1.5 * order[i - 1]:
                before, after = order[i - 1], order[i + 1]
                line = sizes[before][0] + (size - before) / (after - before) * (sizes[after][0] - sizes[before][0])
                off.append(abs(math.log(times[0] / line)))
    if not off:
        return None
    return math.expm1(sum(off) / len(off)), math.expm1(sorted(off)[(len(off) - 1) * 95 // 100])


def write(folder, name, rows):
    """A file for each set, since their columns differ."""
    paths = []
    for of in sorted({row["set"] for row in rows}):
        paths.append(os.path.join(folder, f"{name}-{of}.csv"))
        with open(paths[-1], "w", newline="") as file:
            part = [{k: v for k, v in row.items() if k != "set"} for row in rows if row["set"] == of]
            writer = csv.DictWriter(file, part[0])
            writer.writeheader()
            writer.writerows(part)
    return paths


def judge(chakra, split, folder):
    result = os.path.join(folder, "result.json")
    command = [chakra, "calibrate", "network", "--from", *write(folder, "fit", split.fit), "--judge", *write(folder, "judge", split.judge),
               "-o", os.path.join(folder, "net.yml"), "--json", result, *(["--npus", split.npus] if split.npus else [])]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"judge_networks: {' '.join(command)}\n{done.stderr}")
    with open(result, encoding="utf-8") as file:
        return json.load(file)


def percent(share):
    return "-" if share is None else f"{share:.1%}".replace("%", " %")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--data", default=os.path.join(ROOT, "../shared/data/measured"))
    arguments = parser.parse_args()
    good, groups, outlying = True, [], set()
    print("| measurements | fitted to | points | error | 95 % of them | worst | spread of the data | 95 % of it |\n|---|---|---|---|---|---|---|---|")
    for split in splits(Data(arguments.data)):
        with tempfile.TemporaryDirectory() as folder:
            result = judge(os.path.join(arguments.bin, "chakra"), split, folder)
        error, own = result["judged"], spread(split.fit + split.judge)
        worst = max(error["groups"], key=lambda row: row["worst"])
        print(f"| `{split.name}` | {split.what} | {error['points']} | {percent(error['error'])} | {percent(error['most_of_95'])} | "
              f"{percent(error['worst'])} ({worst['of']}) | {percent(own and own[0])} | {percent(own and own[1])} |")
        if split.judged:
            most = max(MOST, 1.25 * own[0]) if split.name in SPREAD else MOST
            good &= error["error"] <= most and (split.name in SPREAD or error["worst"] <= WORST)
        if split.name == PAIRS:
            groups = error["groups"]
        outlying |= {f["text"] for f in result["findings"] if f["tag"] == "calibrate.network.outlying"}
    print("\n| two nodes, from one node and one GPU a node | GPUs a node x nodes | points | error | worst |\n|---|---|---|---|---|")
    for row in groups:
        print(f"| {row['operation']} | {row['ranks']} | {row['points']} | {percent(row['error'])} | {percent(row['worst'])} |")
    print("\nOutlying, as the program names them:\n")
    for text in sorted(outlying):
        print(f"- {text}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
