#!/usr/bin/env python3
"""The demo: recordings of a real training job, linked, checked, replayed, simulated on two systems and
opened as a timeline. Everything it writes lies in demo/.

    demo.py [--bin DIR]
"""
import argparse
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORDINGS = "examples/traces/ddp_gloo_2ranks"

STEPS = [
    ("Two ranks of data-parallel training, recorded with PyTorch's two observers, become two linked traces.\n"
     "Each is replayed against its own measurement: the errors are those of the graph.",
     ["link", RECORDINGS, "-o", "demo/traces", "--json", "demo/link.json"]),
    ("Nothing dangles, nothing waits for itself, and both ranks run the same collectives in the same order.",
     ["check", "demo/traces"]),
    ("The same job on 10 Gb/s Ethernet ...",
     ["sim", "demo/traces", "--network", "examples/networks/ethernet_10g.yml", "--json", "demo/ethernet.json",
      "--timeline", "demo/ethernet_timeline.json"]),
    ("... and behind an NVLink-like switch.",
     ["sim", "demo/traces", "--network", "examples/networks/nvlink_switch.yml", "--json", "demo/nvlink.json",
      "--timeline", "demo/nvlink_timeline.json"]),
    ("What was measured, as a timeline.",
     ["view", "demo/traces", "-o", "demo/timeline.json"]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    shutil.rmtree("demo", ignore_errors=True)
    os.makedirs("demo")
    for number, (text, command) in enumerate(STEPS, 1):
        print(f"\n{number}. {text}\n\n$ chakra {' '.join(command)}", flush=True)
        if subprocess.run([os.path.join(arguments.bin, "chakra"), *command]).returncode != 0:
            sys.exit("the demo failed")
    for name in ("timeline", "ethernet_timeline", "nvlink_timeline"):
        subprocess.run([sys.executable, "tools/check_timeline.py", f"demo/{name}.json"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([sys.executable, "tools/draw_timeline.py", "demo/timeline.json", "demo/timeline.svg"], check=True)
    print("\nDone. Open demo/timeline.json (measured) and demo/ethernet_timeline.json (simulated) in https://ui.perfetto.dev.\n"
          "demo/timeline.svg is a picture of the first. demo/*.json hold all numbers.")


if __name__ == "__main__":
    main()
