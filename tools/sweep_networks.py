#!/usr/bin/env python3
"""A generated step on the networks of the MLSys 2026 artifact, beside the published times of Mixtral-8x7B.

    sweep_networks.py [--bin DIR] [--data DIR] [--step OPTIONS]

Eight ranks on a switch, a ring and a fully connected network, 75 to 900 GB/s, three ways: by ASTRA-sim's rules, with ring algorithms, with
chakra's choice. Each column is fitted by T = A + C / B, with the least squares of relative errors. Exits with 1 where the rings do not
follow the published law (switch < ring < fully connected at every bandwidth, fits within 1 % on the switch and 7 % on the others), or where
C is not the bytes that a rank sends in rings. docs/how-to/sweep.md shows the result.
--step: other options of 'chakra gen step', for 8 ranks with groups of 8.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STEP = "--model mixtral-8x7b --ep 8 --dp 8 --sequence 4096 --micro-batches 2 --overlap false"
BANDWIDTHS = (75, 150, 300, 600, 900)
NETWORKS = {"switch": "s", "ring": "r", "fully connected": "fc"}  # -> names of files
MOST_ERROR = {"switch": 0.01, "ring": 0.07, "fully connected": 0.07}
PUBLISHED_NS = {  # Mixtral-8x7B on eight H100; its traces are not public
    "switch": (2514776156, 1838174566, 1513367965, 1338718656, 1280430992),
    "ring": (4331750922, 2520517119, 1801545391, 1454825514, 1342633550),
    "fully connected": (7085495469, 4064450176, 2905072696, 1990520371, 1708311078),
}
LINK_SHARE = {"switch": 1, "ring": 1 / 2, "fully connected": 1 / 7}  # of a rank's bandwidth, one link of its ring
RANKS = 8
RING_SENDS = {  # of the buffer, by a rank: an all-to-all goes through those between
    "ALL_REDUCE": 2 * (RANKS - 1) / RANKS, "ALL_GATHER": (RANKS - 1) / RANKS, "REDUCE_SCATTER": (RANKS - 1) / RANKS, "ALL_TO_ALL": (RANKS - 1) / 2}
WAYS = {  # -> whether the published law must hold, and the options of 'chakra sim'
    "ASTRA-sim's rules": (True, ["--compat", "astra-sim", "--system", "{data}/system.json"]),
    "rings": (True, ["--congestion", "closed", "--collectives", "ring"]),
    "default": (False, ["--congestion", "closed"]),
}
Fit = collections.namedtuple("Fit", "fixed per_bandwidth error")  # A in s, C in s GB/s, the largest relative error


def fit(seconds):
    """Of T = A + C / B, by weights 1 / T^2."""
    rows = [(1 / b, t, 1 / t**2) for b, t in zip(BANDWIDTHS, seconds)]
    w, wx, wt, wxx, wxt = (sum(f(x, t) * k for x, t, k in rows)
                           for f in (lambda x, t: 1, lambda x, t: x, lambda x, t: t, lambda x, t: x * x, lambda x, t: x * t))
    slope = (w * wxt - wx * wt) / (w * wxx - wx**2)
    fixed = (wt - slope * wx) / w
    return Fit(fixed, slope, max(abs(fixed + slope * x - t) / t for x, t, _ in rows))


def chakra(folder, *arguments):
    done = subprocess.run([os.path.join(folder, "chakra"), *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"sweep_networks: chakra {' '.join(arguments)}\n{done.stderr}")
    return done.stdout


def simulated(options, job):
    """way -> network -> seconds by bandwidth."""
    def seconds(arguments, network):
        given = [a.format(data=options.data) for a in arguments]
        said = chakra(options.bin, "sim", job, "--network", f"{options.data}/{network}.yml", *given, "--json", "-")
        return json.loads(said)["makespan_ps"] / 1e12

    return {way: {name: [seconds(arguments, f"{short}{b}") for b in BANDWIDTHS] for name, short in NETWORKS.items()}
            for way, (_, arguments) in WAYS.items()}


def closed_form(generated):
    """network -> C where every collective is a ring, in s GB/s (of 2^30 bytes)."""
    sent = sum(row["bytes"] * RING_SENDS[row["type"]] for row in generated["ranks"][0]["communication"])
    return {name: sent / 2**30 / share for name, share in LINK_SHARE.items()}


def findings(times, expected):
    for name, c in expected.items():
        found = fit(times["rings"][name]).per_bandwidth
        if abs(found / c - 1) > 0.001:
            yield f"rings, {name}: C is {found:.2f} s GB/s, the bytes sent make {c:.2f}"
    for way, (must, _) in WAYS.items():
        rows = times[way]
        for i, b in enumerate(BANDWIDTHS):
            if must and not rows["switch"][i] < rows["ring"][i] < rows["fully connected"][i]:
                yield f"{way}: not switch < ring < fully connected at {b} GB/s"
        for name in NETWORKS:
            if must and fit(rows[name]).error > MOST_ERROR[name]:
                yield f"{way}: {name} is {100 * fit(rows[name]).error:.1f} % off A + C / B"


def show(times):
    print(f"{'ms':<16} {'GB/s':>5} " + "".join(f"{way:>19}" for way in times))
    for name in NETWORKS:
        for i, b in enumerate(BANDWIDTHS):
            print(f"{name:<16} {b:>5} " + "".join(f"{1e3 * rows[name][i]:>19.1f}" for rows in times.values()))
    print(f"\n{'A + C / B':<22} {'A, s':>8} {'C, s GB/s':>10} {'worst':>8}")
    for way, rows in times.items():
        for name in NETWORKS:
            found = fit(rows[name])
            print(f"{way}, {name}".ljust(34)[:34] + f"{found.fixed:>7.3f} {found.per_bandwidth:>10.1f} {100 * found.error:>7.2f}%")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=f"{ROOT}/build/release/bin")
    parser.add_argument("--data", default=os.environ.get("CHAKRA_TEST_DATA", f"{os.path.dirname(ROOT)}/shared/data") + "/mlsys26")
    parser.add_argument("--step", default=STEP, metavar="OPTIONS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generated = json.loads(chakra(options.bin, "gen", "step", *options.step.split(), "-o", f"{folder}/job", "--json", "-"))
        times = simulated(options, f"{folder}/job")
    print(f"chakra gen step {options.step}\n")
    show({"published": {name: [t / 1e9 for t in row] for name, row in PUBLISHED_NS.items()}} | times)
    expected = closed_form(generated)
    print("C of the bytes sent in rings".ljust(41) + " ".join(f"{c:.1f}" for c in expected.values()))
    wrong = list(findings(times, expected))
    print("\n" + ("\n".join(wrong) or "the law holds: switch < ring < fully connected at every bandwidth, fits within 1, 7, 7 %"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
