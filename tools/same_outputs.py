#!/usr/bin/env python3
"""Shows that two builds of chakra say and write the same: every command of the cases and of the demo, with both.

    same_outputs.py BIN_BEFORE [BIN_NOW] [--texts] [NAME...]

BIN_... are folders of binaries (BIN_NOW: build/release/bin). Compared are exit codes, standard output, and each file that is left, byte
for byte; standard error and files of text only with --texts, since sentences may change. Prints what differs; exits 1 if something does.
"""
import argparse
import concurrent.futures
import difflib
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import case  # noqa: E402

VARYING = [(re.compile(r"\b[0-9.]+ (?:ms|s|MB|MB/s|GB/s) (?:of processor|wall|resident)"), "TIME")]


def files_below(folder):
    """Path -> contents, of each plain file."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def case_outputs(path, bin_dir, folder):
    """(what, bytes) of all that a case's commands say and leave; folder is emptied first, so that paths in it are the same for both."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = case.environment_of(bin_dir)
    outputs, runs = {}, 0
    for section in case.parse(path)[1]:
        if section.kind in ("file", "trace"):
            case.make_file(section, folder)
        elif section.kind == "run":
            done = subprocess.run(["bash", "-c", section.text()], cwd=folder, env=environment, capture_output=True, timeout=900, check=False)
            runs += 1
            outputs[f"run {runs}: exit"] = str(done.returncode).encode()
            outputs[f"run {runs}: stdout"] = done.stdout
            outputs[f"run {runs}: stderr"] = done.stderr
    return outputs | files_below(folder)


def demo_outputs(bin_dir, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    subprocess.run(["cp", "-r", os.path.join(ROOT, "tools"), os.path.join(ROOT, "examples"), folder], check=True)
    done = subprocess.run([sys.executable, os.path.join(folder, "tools", "demo.py"), "--bin", os.path.abspath(bin_dir)], cwd=folder,
                          capture_output=True, check=False)
    return {"stdout": done.stdout} | files_below(os.path.join(folder, "demo"))


def plain(content):
    for pattern, instead in VARYING:
        content = pattern.sub(instead, content.decode("utf-8", "replace")).encode()
    return content


def differences(before, now, texts):
    for what in sorted(before.keys() | now.keys()):
        a, b = before.get(what), now.get(what)
        if a is None or b is None:
            yield f"{what}: only {'now' if a is None else 'before'}"
        elif plain(a) != plain(b) and (texts or not re.search(r"stderr$|\berr(or)?s?$|\.err$|\.log$|\.txt$", what)):
            try:
                lines = list(difflib.unified_diff(a.decode().splitlines(), b.decode().splitlines(), lineterm="", n=0))[2:12]
            except UnicodeDecodeError:
                lines = [hashlib.sha256(content).hexdigest()[:12] + f", {len(content)} bytes" for content in (a, b)]
            yield "\n    ".join([f"{what}:", *lines])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("now", nargs="?", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(ROOT, "chakra", "*", "cases", "*.case")))
    paths = [path for path in paths if not options.names or any(re.search(name, path) for name in options.names)]
    wrong = 0
    with tempfile.TemporaryDirectory() as place, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        def compare(number, path):
            folder = os.path.join(place, str(number), "case")
            run = demo_outputs if path is None else lambda bin_dir, where: case_outputs(path, bin_dir, where)
            found = list(differences(run(options.before, folder), run(options.now, folder), options.texts))
            shutil.rmtree(folder, ignore_errors=True)
            return found

        jobs = [*paths] if options.names else [None, *paths]
        for path, found in zip(jobs, pool.map(compare, range(len(jobs)), jobs)):
            name = "demo" if path is None else os.path.relpath(path, os.path.join(ROOT, "chakra"))
            wrong += bool(found)
            for text in found:
                print(f"{name}: {text}")
    print(f"{len(jobs)} compared, {wrong} differ")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
