#!/usr/bin/env python3
"""Generates and simulates training steps of the known models on 8 to 1,024 ranks, as a search for a mesh does.

    sweep_configurations.py [--bin DIR] [--count N] [--seed N] [--workers N]

Models are those of 'chakra list models' that have a size. Each step is written, simulated without contention on nodes of eight ranks, and
removed. No step may be faster than the operations of its busiest rank at the device's peak allow, nor wait for ever. Prints that on standard
output, and the time on standard error: 1,000 in a minute on two cores is the aim.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEADS = {"llama2-7b": 32, "llama2-70b": 64, "llama3-8b": 32, "llama3-70b": 64, "llama3-405b": 128, "gpt-165m": 12, "gpt3-175b": 96,
         "qwen3-8b": 32, "qwen3-30b-a3b": 32, "mixtral-8x7b": 32, "deepseek-moe-16b": 16, "deepseek-v2": 128, "deepseek-v3": 128}
EXPERTS = {"qwen3-30b-a3b": 128, "mixtral-8x7b": 8, "deepseek-moe-16b": 64, "deepseek-v2": 160, "deepseek-v3": 256}
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
PEAK_PER_S = 989e12 * 0.6  # the generator's defaults


def configuration(pick):
    """(ranks, options of 'chakra gen step')"""
    model, ranks = pick.choice(list(HEADS)), 2 ** pick.randint(3, 10)
    tp = pick.choice([t for t in (1, 2, 4, 8) if HEADS[model] % t == 0])
    pp = pick.choice([p for p in (1, 2, 4, 8, 16) if tp * p <= ranks and (p <= 4 or model != "gpt-165m")])
    dp = ranks // (tp * pp)
    options = {"model": model, "tp": tp, "pp": pp, "dp": dp, "micro-batches": max(8, pp * pick.choice([1, 2])), "zero": pick.randint(0, 3)}
    if model in EXPERTS:
        options |= {"etp": 1, "ep": pick.choice([e for e in (1, 2, 4, 8, 16, 32, 64) if EXPERTS[model] % e == 0 and e <= dp])}
    if pp > 1:
        options["schedule"] = pick.choice(["1f1b", "gpipe", "zb-h1"])
    return ranks, [text for name, value in options.items() for text in (f"--{name}", str(value))]


def network(folder, ranks):
    path = os.path.join(folder, f"{ranks}.yml")
    with open(path, "w", encoding="utf-8") as file:
        if ranks == 8:
            file.write("topology: [Switch]\nnpus_count: [8]\nbandwidth: [400]\nlatency: [500]\n")
        else:
            file.write(f"topology: [Switch, Switch]\nnpus_count: [8, {ranks // 8}]\nbandwidth: [400, 50]\nlatency: [500, 2000]\n")
    return path


def run(program, options, job, net):
    """The error, or an empty text."""
    generated = subprocess.run([program, "gen", "step", *options, "-o", job, "--json", "-"], capture_output=True, text=True)
    if generated.returncode:
        return generated.stderr
    simulated = subprocess.run([program, "sim", job, "--network", net], capture_output=True, text=True)
    subprocess.run(["rm", "-r", job], check=True)
    if simulated.returncode:
        return simulated.stderr
    least = max(row["operations"] for row in json.loads(generated.stdout)["ranks"]) / PEAK_PER_S
    finish = re.search(r"^finished after ([\d.]+) (\S+)$", simulated.stdout, re.MULTILINE)
    makespan = float(finish[1]) * UNITS[finish[2]]
    return "" if makespan >= 0.999 * least else f"{makespan} s, its busiest rank computes for {least} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=f"{ROOT}/build/release/bin")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    pick = random.Random(options.seed)
    wanted = [configuration(pick) for _ in range(options.count)]
    program, start = os.path.join(options.bin, "chakra"), time.time()
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        nets = {ranks: network(folder, ranks) for ranks, _ in wanted}
        said = list(pool.map(lambda i: run(program, wanted[i][1], f"{folder}/{i}", nets[wanted[i][0]]), range(len(wanted))))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{time.time() - start:.1f} s; {used.ru_utime + used.ru_stime:.1f} s of processors; load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    for (_, step), text in zip(wanted, said):
        if text:
            print(f"chakra gen step {' '.join(step)}: {text.strip()}")
    print(f"{len(wanted)} configurations, {sum(map(bool, said))} wrong")
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main())
