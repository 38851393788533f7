#!/usr/bin/env python3
"""Random combinations of options: no command may crash, hang, or end without a documented exit code and a tag.

    combinations.py [--bin DIR] [--seconds N] [--seed N]

The options are those of --help. Each option first runs alone with each of VALUES; combinations then take only values that are no usage error
alone, so that most of them reach the work. --seconds: the time for combinations. --seed: printed; default: a new one.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRACES = os.path.join(ROOT, "examples", "traces", "ddp_gloo_2ranks")
MOST_SECONDS = 30
JOBS = ["linked", "tiny", "job.chakra", "linked/trace.0.et"]
OUTPUTS = ["out.json", "out", "out/", "out.dot", "out.et", "out.chakra", "out.pftrace"]
# verb -> its words; JOB: one of JOBS, OUT: one of OUTPUTS
VERBS = {
    "check": "JOB", "sim": "JOB --network net.yml", "whatif": "JOB --from-network net.yml", "analyze": "JOB", "view": "JOB -o OUT",
    "report": "JOB -o OUT", "replay": "JOB --timeout 2",
    "diff": "JOB JOB", "info": "JOB", "convert": "JOB -o OUT", "pack": "JOB -o OUT", "unpack": "job.chakra -o OUT", "gen step": "--preset tiny -o OUT",
    "gen serve": "--model llama3-8b -o OUT", "gen network": "clos -o OUT", "gen cases": "-o OUT", "link": f"{TRACES} -o OUT", "doctor": "JOB",
    "select": "JOB JOB -k 1", "query": "JOB select/**/*from/**/nodes/**/limit/**/3", "list": "", "obfuscate": "JOB --key key -o OUT",
    "sweep": "sweep.yml -o OUT",
    "certify": "JOB JOB -o OUT",
}
LONG = ("--warmup-iter", "--num-iter", "--scale-compute", "--expand", "--timeout")  # what is asked for may take hours
VALUES = ["0", "1", "2", "3", "7", "16", "64", "1000000", "-1", "0.5", "1e9", "nan", "", "a", "on", "off", "true", "false", "all", "ring", "linked",
          "tiny", "net.yml", "A100-SXM-80GB", "H100-SXM", "1us", "10GiB", "0:2", "2:1", "0=0.5", "*=0.5", "compute=0.5", "compute=normal:0.1",
          "1f1b", "interleaved", "out.json", "out.svg", "-", "1,2", "all-reduce: ring", "fluid", "closed", "packet", "auto", "medoids", "facility",
          "megatron-te", "vllm", "mixtral-8x7b", "fp16", "fp32", "sgd", "full", "selective", "none", "null", "sleep", "dp=2", "tp-cp-ep-dp-pp",
          "0-1", "0-8=0.5"]


class Trial:
    def __init__(self, chakra, rng):
        self.chakra, self.rng, self.codes, self.bad = chakra, rng, collections.Counter(), 0

    def words(self, verb):
        place = {"JOB": JOBS, "OUT": OUTPUTS}
        return verb.split() + [self.rng.choice(place.get(word, [word])) for word in VERBS[verb].split()]

    def run(self, words):
        """Return the exit code, -1 after a complaint."""
        try:
            done = subprocess.run([self.chakra, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            return self.complain(words, f"ran longer than {MOST_SECONDS} s")
        said = done.stderr.decode(errors="replace")
        self.codes[done.returncode] += 1
        if not 0 <= done.returncode <= 4:
            return self.complain(words, f"ended with {done.returncode}: {said[-300:]}")
        differs = words[0] in ("diff", "certify") and done.returncode == 1  # --threshold, claims that fail
        if done.returncode != 0 and not differs and not re.search(r"\[[a-z_0-9.]+\]", said):
            return self.complain(words, f"has no tag: {said[-300:]}")
        return done.returncode

    def complain(self, words, what):
        self.bad += 1
        print(f"chakra {' '.join(words)!r} {what}", flush=True)
        return -1

    def options(self, verb):
        """(name, whether it takes a value)"""
        text = subprocess.run([self.chakra, *verb.split(), "--help"], capture_output=True, text=True, check=True).stdout
        found = re.findall(r"^ +(?:-\w, ?)?(--[\w-]+)(?:,--[\w-]+)*( [A-Z\[][^ ]*)?(?:  |$)", text, re.M)
        return [(name, bool(value)) for name, value in found if name not in ("--help", *LONG)]

    def accepted(self, verb):
        """The words of options that are no usage error alone."""
        words = [f"{name}={value}" if takes else name for name, takes in self.options(verb) for value in (VALUES if takes else [""])]
        return [word for word in words if self.run([*self.words(verb), word]) not in (2, -1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    trial = Trial(os.path.abspath(os.path.join(options.bin, "chakra")), random.Random(seed))
    with tempfile.TemporaryDirectory(prefix="combinations") as folder:
        os.chdir(folder)
        with open("key", "w", encoding="utf-8") as file:
            file.write("chakra-key-1\n" + "7" * 64 + "\n")
        with open("net.yml", "w", encoding="utf-8") as file:
            file.write("topology: [Ring, Switch]\nnpus_count: [8, 8]\nbandwidth: [50, 25]\nlatency: [500, 1000]\n")
        with open("sweep.yml", "w", encoding="utf-8") as file:
            file.write("generate: {preset: tiny, layers: [8, 16]}\nsimulate: {network: net.yml}\nobjectives: [makespan_ps, memory_bytes]\n")
        for command in (f"link {TRACES} -o linked", "gen step --preset tiny -o tiny", "pack linked -o job.chakra"):
            subprocess.run([trial.chakra, *command.split()], check=True, capture_output=True)
        known = {verb: trial.accepted(verb) for verb in VERBS}
        alone, end = sum(trial.codes.values()), time.monotonic() + options.seconds
        while time.monotonic() < end:
            verb = trial.rng.choice([verb for verb in VERBS if known[verb]])
            trial.run([*trial.words(verb), *trial.rng.sample(known[verb], min(len(known[verb]), trial.rng.randrange(2, 6)))])
        os.chdir(ROOT)
    codes = ", ".join(f"{count} with {code}" for code, count in sorted(trial.codes.items()))
    print(f"{alone} options alone and {sum(trial.codes.values()) - alone} combinations ended: {codes}; {trial.bad} wrong")
    sys.exit(1 if trial.bad else 0)


if __name__ == "__main__":
    main()
