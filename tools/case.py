#!/usr/bin/env python3
"""Runs the cases: text files that hold input, command and what must come out.

    case.py [--bin DIR] [--update] [NAME...]

A case is chakra/*/cases/NAME.case. Its sections begin with lines of two dashes:

    What it shows, in a sentence.
    -- needs data               skip where the test data is absent ($DATA in commands)
    -- needs torch              skip where the plugin of --compute torch is not built (./dev torch)
    -- needs mpi                skip where mpirun or the plugin for it is absent
    -- needs limits             skip with sanitizers, which need more addresses and files than 'ulimit' leaves
    -- needs tmpfs              skip where 'unshare -rm' cannot mount a file system in memory
    -- file net.yml             a file with the following lines
    -- trace job.0.et           a trace, in the text form of tools/et.py
    -- run                      shell lines, run in an empty folder with chakra in the path
    -- exit 4                   of the last of them (default 0)
    -- error sim.stuck          stderr must name this tag; the sentence may change
    -- stdout                   exactly what must come out
    -- absent out.et            no such file may be there afterwards

run, exit, error, stdout and absent may come several times, one group after the other.
--update writes what came out into the case; the diff is for reviewers.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import et  # noqa: E402


class Section:
    def __init__(self, header, lines):
        self.header, self.lines = header, lines
        self.kind, _, self.argument = header.partition(" ")

    def text(self):
        return "".join(line + "\n" for line in self.lines)


def parse(path):
    title, sections = [], []
    for line in open(path, encoding="utf-8").read().splitlines():
        if line.startswith("-- "):
            sections.append(Section(line[3:].strip(), []))
        elif sections:
            sections[-1].lines.append(line)
        else:
            title.append(line)
    return title, sections


def write(path, title, sections):
    with open(path, "w", encoding="utf-8") as file:
        for line in title:
            file.write(line + "\n")
        for section in sections:
            file.write(f"-- {section.header}\n{section.text()}")


def trimmed(text):
    return [line.rstrip() for line in text.rstrip("\n").splitlines()]


def environment_of(bin_dir):
    """The environment of a case's commands."""
    return dict(os.environ, PATH=f"{os.path.abspath(bin_dir)}:{os.environ['PATH']}", LC_ALL="C.UTF-8",
                DATA=os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data")),
                TOOLS=os.path.join(ROOT, "tools"), EXAMPLES=os.path.join(ROOT, "examples"))


def make_file(section, folder):
    """The file of a section 'file' or 'trace'."""
    target = os.path.join(folder, section.argument)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as file:
        file.write(et.encode(section.text()) if section.kind == "trace" else section.text().encode())


def is_sanitized(bin_dir):
    return os.path.basename(os.path.dirname(os.path.abspath(bin_dir))) in ("asan", "tsan", "fuzz")


def has_torch_plugin(bin_dir):
    """Where the command itself looks. Not beside sanitizers: libtorch was built without."""
    if is_sanitized(bin_dir):
        return False
    return any(os.path.exists(os.path.join(bin_dir, place, "libchakra_replay_torch.so"))
               for place in ("../lib/chakra", ".", "../../torch"))


def mounts_tmpfs(folder):
    try:
        return subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode == 0
    except OSError:
        return False


def run_case(path, bin_dir, update):
    """None if it passed, else the problems; 'skip: ...' if it could not run."""
    title, sections = parse(path)
    environment = environment_of(bin_dir)
    data = environment["DATA"]
    problems = [f"names {data}, which is elsewhere on other machines"] if any(data in s.text() for s in sections) else []
    with tempfile.TemporaryDirectory() as folder:
        result, checked = None, None

        def check_exit(expected):
            if result is not None and checked is not None and result.returncode != expected:
                problems.append(f"exit {result.returncode}, expected {expected}\nstderr: {result.stderr.strip()[-2000:]}")

        wanted_exit = 0
        for section in sections:
            kind = section.kind
            if kind == "needs":
                if section.argument == "data" and not os.path.isdir(data):
                    return "skip: no test data"
                if section.argument == "torch" and not has_torch_plugin(bin_dir):
                    return "skip: the plugin of --compute torch is not built (./dev torch)"
                plugin = os.path.join(bin_dir, "libchakra_replay_mpi.so")
                if section.argument == "mpi" and not (shutil.which("mpirun") and os.path.exists(plugin)):
                    return "skip: no MPI"
                if section.argument == "limits" and is_sanitized(bin_dir):
                    return "skip: sanitizers need what is limited"
                if section.argument == "tmpfs" and not mounts_tmpfs(folder):
                    return "skip: no file system in memory can be mounted"
            elif kind in ("file", "trace"):
                make_file(section, folder)
            elif kind == "run":
                check_exit(wanted_exit)
                result = subprocess.run(["bash", "-c", section.text()], cwd=folder, env=environment, text=True,
                                        capture_output=True, timeout=600)
                checked, wanted_exit = True, 0
            elif kind == "exit":
                if update:
                    section.header = f"exit {result.returncode}"
                wanted_exit = result.returncode if update else int(section.argument)
            elif kind == "error":
                if f"[{section.argument}]" not in result.stderr:
                    problems.append(f"stderr does not name [{section.argument}]: {result.stderr.strip()[-2000:]}")
            elif kind == "stdout":
                if update:
                    blank = bool(section.lines) and section.lines[-1] == ""
                    section.lines = trimmed(result.stdout) + ([""] if blank else [])
                elif trimmed(result.stdout) != trimmed(section.text()):
                    problems.append(f"stdout is\n{result.stdout}\nexpected\n{section.text()}\nstderr: {result.stderr.strip()[-2000:]}")
            elif kind == "absent":
                if glob.glob(os.path.join(folder, section.argument)):
                    problems.append(f"{section.argument} is there")
            else:
                problems.append(f"no section '{kind}'")
        check_exit(wanted_exit)
    if update:
        write(path, title, sections)
    return "\n".join(problems) or None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--update", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(ROOT, "chakra", "*", "cases", "*.case")))
    if arguments.names:
        paths = [p for p in paths if any(re.search(n, p) for n in arguments.names)]
    passed = failed = skipped = 0
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    for path, problem in zip(paths, pool.map(lambda path: run_case(path, arguments.bin, arguments.update), paths)):
        name = os.path.relpath(path, os.path.join(ROOT, "chakra"))
        if problem is None:
            passed += 1
        elif problem.startswith("skip"):
            skipped += 1
            print(f"SKIP {name}: {problem}")
        else:
            failed += 1
            print(f"FAIL {name}\n{problem}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not paths else 77 if skipped and not passed else 0)  # 77: to ctest, skipped


if __name__ == "__main__":
    main()
