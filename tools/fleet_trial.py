#!/usr/bin/env python3
"""Link and analyze fleets by many processes, and compare every byte with one process.

    fleet_trial.py [--data DIR] [--bin DIR] [--ranks N] [--jobs N] [--shards N] [--kills N] [--seed N]

One job of N ranks (its ranks are tasks) and N jobs of two ranks, made from a recording of two ranks in the test data. Processes are
killed at random and started again by xargs; one file is unreadable, and one folder has no recording.
"""
import argparse
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROUNDS_WITH_KILLS = 5


def recording(data, rank, kind):
    return gzip.decompress((data / f"recorded/async-2.6.0/{kind}.{rank}.json.gz").read_bytes()).decode()


def write_rank(folder, data, rank, world, rng):
    """A rank of a job: one of the two recorded ranks, with another number, clock and pace of communication."""
    shift = rng.randrange(10**6) / 1000
    for kind in ("device", "host"):
        text = recording(data, rank % 2, kind)
        members = ", ".join(str(r) for r in range(world))
        text = re.sub(r'("rank": )\d+(, "world_size": )\d+', rf"\g<1>{rank}\g<2>{world}", text)
        text = text.replace('"pg_size": 2, "ranks": [0, 1]', f'"pg_size": {world}, "ranks": [{members}]')
        text = text.replace('\\"group_size\\": 2', f'\\"group_size\\": {world}')
        text = re.sub(r'"ts": (\d+\.\d+)', lambda found: f'"ts": {float(found[1]) + shift:.3f}', text)
        (folder / f"{kind}.{rank}.json").write_text(text, encoding="utf-8")


def make_fleet(folder, data, ranks, jobs, rng):
    large = folder / "large"
    large.mkdir(parents=True)
    for rank in range(ranks):
        write_rank(large, data, rank, ranks, rng)
    for job in range(jobs):
        small = folder / f"job{job}"
        small.mkdir()
        for rank in range(2):
            write_rank(small, data, rank, 2, rng)
    broken = folder / "broken"
    broken.mkdir()
    whole = recording(data, 0, "device")
    (broken / "device.0.json").write_text(whole[: len(whole) // 2], encoding="utf-8")
    (folder / "notes").mkdir()
    (folder / "notes" / "text.txt").write_text("no recording", encoding="utf-8")


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and ".fleet" not in path.parts}


class Trial:
    def __init__(self, binary, work, rng):
        self.binary, self.work, self.rng = binary, work, rng

    def call(self, *arguments, **options):
        return [str(self.binary), "fleet", *map(str, arguments), *(f"--{key}={value}" for key, value in options.items())]

    def run(self, *arguments, **options):
        return subprocess.run(self.call(*arguments, **options), capture_output=True, text=True, cwd=self.work, check=False)

    def one_process(self, verb, inputs, out, **options):
        done = self.run(verb, inputs, output=out, **options)
        if done.returncode not in (0, 1):
            sys.exit(f"fleet_trial: {done.stderr}")
        return self.work / out

    def by_xargs(self, verb, inputs, out, shards, kills, **options):
        """Rounds of xargs; in the first rounds processes are killed."""
        call = self.call(verb, inputs, output=out, **options)
        self.run(verb, inputs, "--plan", output=out, **options)
        for attempt in range(50):
            process = subprocess.Popen(["xargs", "-P", str(min(shards, 8)), "-I{}", *call, f"--shard={{}}/{shards}"],
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.work)
            process.stdin.write("".join(f"{i}\n" for i in range(1, shards + 1)).encode())
            process.stdin.close()
            while kills > 0 and attempt < ROUNDS_WITH_KILLS and process.poll() is None:
                time.sleep(self.rng.random() * 0.3)
                kills -= self.kill_one()
            process.wait()
            report = self.report(out)
            if report["open"] == 0:
                return self.work / out, report, attempt + 1
        sys.exit(f"fleet_trial: {report['open']} jobs are open after 50 rounds")

    def kill_one(self):
        """Kill a worker of this trial. Returns the number of killed processes."""
        workers = []
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
                if words[0] == os.fsencode(self.binary) and (place / "cwd").resolve() == self.work.resolve():
                    workers.append(int(place.name))
            except OSError:
                pass  # the process has ended
        if not workers:
            return 0
        try:
            os.kill(self.rng.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            return 0
        return 1

    def report(self, out):
        self.run("merge", output=out, json="merge.json")
        return json.loads((self.work / "merge.json").read_text(encoding="utf-8"))


def compare(name, expected, found):
    a, b = files_of(expected), files_of(found)
    wrong = sorted(path for path in a.keys() | b.keys() if a.get(path) != b.get(path))
    if wrong or not a:
        sys.exit(f"fleet_trial: {name}: {len(wrong)} of {len(a)} files differ, such as {wrong[:3]}")
    return len(a)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--data", type=pathlib.Path, default=os.environ.get("CHAKRA_TEST_DATA"))
    parser.add_argument("--ranks", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    if not o.data or not o.data.exists():
        print("fleet_trial: no test data (CHAKRA_TEST_DATA): skipped")
        sys.exit(77)
    rng = random.Random(o.seed)
    work = pathlib.Path(tempfile.mkdtemp(prefix="fleet_trial."))
    try:
        trial = Trial(o.bin.resolve() / "chakra", work, rng)
        make_fleet(work / "recordings", o.data, o.ranks, o.jobs, rng)
        whole = trial.one_process("link", "recordings", "whole", split=10**6)
        whole_keep = files_of(whole)
        (work / "whole").rename(work / "expected_link")
        for name, options in (("ranks as tasks", {"split": 2}), ("jobs as tasks", {"split": 10**6})):
            made, report, rounds = trial.by_xargs("link", "recordings", "whole", o.shards, o.kills, **options)
            count = compare(f"link, {name}", work / "expected_link", made)
            states = [report[key] for key in ("done", "failed", "open")]
            if states != [o.jobs + 1, 1, 0] or [row["job"] for row in report["failures"]] != ["broken"]:
                sys.exit(f"fleet_trial: wrong report: {states}, {report['failures']}")
            print(f"link, {name}: {count} files equal to one process, {rounds} rounds of {o.shards} processes")
            shutil.rmtree(made)
        (work / "expected_link").rename(work / "whole")
        assert files_of(work / "whole") == whole_keep
        expected = trial.one_process("analyze", "whole/jobs", "analyzed")
        expected.rename(work / "expected_analyze")
        made, report, rounds = trial.by_xargs("analyze", "whole/jobs", "analyzed", o.shards, o.kills)
        count = compare("analyze", work / "expected_analyze", made)
        print(f"analyze: {count} files equal to one process, {rounds} rounds")
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
