#!/usr/bin/env python3
"""Ends commands that write, at random moments: each of their files must be the old one, the new one, or not there.

    kills.py [--bin DIR] [--count N] [--seed N]

Each command runs once by itself: what it writes then is the new output, and how long it took. Then it is ended by SIGKILL, SIGTERM, SIGINT or
SIGHUP, in half of the runs where its output is there already. Whole is a file that has the bytes of before or of the undisturbed run; what
lies under a temporary name after SIGKILL does not count, after other signals there must be none. A command that ends with 0 must have written
everything. `sim` writes by SIGINT what there is by then, and says so: only its exit code is judged there. --seed: printed; default: a new one.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXAMPLES = os.path.join(ROOT, "examples")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
NET = f"{EXAMPLES}/networks/ethernet_10g.yml"
# {w}: a folder of good inputs; out/ is where all of them write
COMMANDS = {
    "link": f"link {EXAMPLES}/traces/ddp_gloo_2ranks -o out/traces",
    "link to a container": f"link {EXAMPLES}/traces/ddp_gloo_2ranks -o out/job.chakra",
    "gen": "gen step --preset llama3-8b -o out/job --json out/step.json",
    "gen all ranks": "gen step --preset tiny --all-ranks -o out/job",
    "gen serve": "gen serve --model llama3-8b --tp 2 --steps 2 -o out/job",
    "convert": "convert {w}/traces/trace.0.et -o out/t.json",
    "convert a folder": "convert {w}/traces -o out/lines --to jsonl",
    "pack": "pack {w}/traces -o out/job.chakra",
    "unpack": "unpack {w}/job.chakra -o out/traces",
    "obfuscate": "obfuscate {w}/traces --key {w}/key -o out/shared",
    "view": "view {w}/traces -o out/timeline.json",
    "view a graph": "view {w}/traces/trace.0.et -o out/g.dot",
    "sim": f"sim {{w}}/traces --network {NET} --json out/r.json --timeline out/t.json --csv out/r.csv",
    "whatif": f"whatif {{w}}/traces --network {NET} --json out/w.json",
    "whatif jitter": f"whatif {{w}}/traces --network {NET} --jitter compute=uniform:0.1 --json out/w.json",
    "analyze": "analyze {w}/traces --json out/a.json",
    "check": "check {w}/traces --json out/c.json",
    "diff": "diff {w}/traces {w}/traces --json out/d.json",
    "calibrate device": "calibrate device --from {w}/gemm.csv --device H100-SXM -o out/own.json",
}


def content(folder):
    """path -> bytes, of all files."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def is_temporary(name):
    return name.endswith(".tmp")


class Trial:
    def __init__(self, chakra, folder, good, command):
        self.writes_parts = command.startswith("sim ")
        self.words = [chakra, *command.format(w=good).split(" ")]
        self.folder, self.out = folder, os.path.join(folder, "out")
        begin = time.monotonic()
        done = self.start().wait()
        self.took, self.new = time.monotonic() - begin, content(self.out)
        if done != 0 or not self.new:
            sys.exit(f"kills: {' '.join(self.words)} ended with {done}")
        begin = time.monotonic()
        self.start().wait()
        self.took = min(self.took, time.monotonic() - begin)
        self.stable = content(self.out) == self.new  # some state when they were made
        self.clear()

    def start(self):
        os.makedirs(self.out, exist_ok=True)
        return subprocess.Popen(self.words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def clear(self):
        shutil.rmtree(self.out, ignore_errors=True)

    def old(self):
        """Other files under the same names."""
        for name in self.new:
            path = os.path.join(self.out, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(b"old " + name.encode())

    def kill(self, rng):
        """The complaint, "" without one; and how it ended."""
        self.clear()
        if rng.random() < 0.5:
            self.old()
        before, sent = content(self.out), rng.choice(SIGNALS)
        process = self.start()
        time.sleep(rng.random() * self.took * 1.1)
        process.send_signal(sent)
        code, after = process.wait(), content(self.out)
        code = 128 - code if code < 0 else code
        if code == 0:
            whole = {name: data for name, data in after.items() if not is_temporary(name)}
            return ("it ended with 0, and its output is not whole" if self.stable and whole != self.new else ""), 0
        if code != 128 + sent:
            return f"it ended with {code} by {sent.name}", code
        for name, data in after.items() if not (self.writes_parts and sent == signal.SIGINT) else ():
            if is_temporary(name):
                if sent != signal.SIGKILL:
                    return f"{name} was left by {sent.name}", code
            elif data != before.get(name) and (self.stable and data != self.new.get(name)):
                return f"{name} is neither the old file nor the new one ({len(data)} bytes, {sent.name})", code
        lost = [name for name in before if name not in after]
        return f"{lost[0]} is gone" if lost else "", code


def prepare(chakra, good):
    os.mkdir(good)
    for command in (f"link {EXAMPLES}/traces/ddp_gloo_2ranks -o {good}/traces", f"pack {good}/traces -o {good}/job.chakra"):
        subprocess.run([chakra, *command.split(" ")], check=True, capture_output=True)
    with open(os.path.join(good, "key"), "w", encoding="utf-8") as file:
        file.write("chakra-key-1\n" + "7" * 64 + "\n")
    with open(os.path.join(good, "gemm.csv"), "w", encoding="utf-8") as file:
        file.write("kernel_source,gemm_dtype,m,n,k,latency\n")
        for m, n, k in ((m, n, k) for m in (1, 8, 64, 512) for n in (128, 512, 2048) for k in (128, 512, 2048)):
            file.write(f"torch_flow,bfloat16,{m},{n},{k},{0.004 + m * n * k / 1e12:.5f}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    rng, chakra = random.Random(seed), os.path.abspath(os.path.join(options.bin, "chakra"))
    codes, bad = collections.Counter(), 0
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="kills") as folder:
        good = os.path.join(folder, "good")
        prepare(chakra, good)
        trials = {name: Trial(chakra, folder, good, command) for name, command in COMMANDS.items()}
        for name in (name for name, trial in trials.items() if not trial.stable):
            print(f"{name}: two runs differ, so only names and exit codes are judged")
        for number in range(options.count):
            name = list(trials)[number % len(trials)]
            wrong, code = trials[name].kill(rng)
            codes[code] += 1
            if wrong:
                bad += 1
                print(f"{name}, run {number}: {wrong}", flush=True)
    print(f"{options.count} runs ended: {', '.join(f'{n} with {code}' for code, n in sorted(codes.items()))}; {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
