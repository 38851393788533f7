#!/usr/bin/env python3
"""Predicts recorded delays: jobs that were recorded several times, as they are and with more work in one place.

    perturbation.py [--bin DIR] FOLDER RANK:PATTERN=TIME BASE... -- VARIANT...

BASE and VARIANT are folders of recordings (host.R.json.gz, device.R.json.gz, truth.json with begin and end of each
rank in seconds of one clock) in FOLDER. Every BASE is linked and simulated with --delay; the mean of the predicted
changes of the total is compared with the change of the measured means. Within 5 % of that and twice its spread it holds.
"""
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

NETWORK = "topology: [ Switch ]\nnpus_count: [ {} ]\nbandwidth: [ 1 ]\nlatency: [ 1000 ]\n"


def measured_ms(folder):
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        ranks = json.load(file).values()
    return 1e3 * (max(rank["end"] for rank in ranks) - min(rank["begin"] for rank in ranks)), len(ranks)


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"perturbation.py: {' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def predicted_ms(chakra, folder, ranks, delay, scratch):
    traces, network = os.path.join(scratch, "traces"), os.path.join(scratch, "net.yml")
    with open(network, "w", encoding="utf-8") as file:
        file.write(NETWORK.format(max(2, ranks)))
    call(chakra, "link", folder, "-o", traces)
    report = json.loads(call(chakra, "sim", traces, "--network", network, "--delay", delay, "--json", "-"))
    delays = report["delays"]
    added = sum(rule["time_ps"] * rule["nodes"] for rule in delays["rules"])
    return delays["before_ps"] / 1e9, delays["change_ps"] / 1e9, added / 1e9


def main():
    arguments = sys.argv[1:]
    chakra = "build/release/bin/chakra"
    if arguments[:1] == ["--bin"]:
        chakra, arguments = os.path.join(arguments[1], "chakra"), arguments[2:]
    if len(arguments) < 5 or "--" not in arguments:
        sys.exit(__doc__)
    folder, delay, *names = arguments
    split = names.index("--")
    base, variant = ([os.path.join(folder, name) for name in some] for some in (names[:split], names[split + 1:]))
    before, after = ([measured_ms(path)[0] for path in paths] for paths in (base, variant))
    with tempfile.TemporaryDirectory() as scratch:
        told = [predicted_ms(os.path.abspath(chakra), path, measured_ms(path)[1], delay, scratch) for path in base]
    change = statistics.mean(after) - statistics.mean(before)
    spread = math.sqrt(sum(statistics.variance(some) / len(some) for some in (before, after) if len(some) > 1))
    predicted = statistics.mean(c for _, c, _ in told)
    allowed = 0.05 * abs(change) + 2 * spread
    print(f"{delay:20} measured {statistics.mean(before):8.2f} -> {statistics.mean(after):8.2f} ms: {change:+8.2f} (spread {spread:.2f}); "
          f"simulated before {statistics.mean(b for b, _, _ in told):8.2f}, predicted {predicted:+8.2f} "
          f"({min(c for _, c, _ in told):+.2f} to {max(c for _, c, _ in told):+.2f}), added up {told[0][2]:+.2f}: "
          f"{'holds' if abs(predicted - change) <= allowed else 'does not hold'}")


if __name__ == "__main__":
    main()
