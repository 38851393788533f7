#!/usr/bin/env python3
"""Makes the wheel of a build, installs it in an empty environment, and types the commands of README.md there.

    try_wheel.py --build DIR      with the Python of build/python-tools (./dev test wheel), beside which the backends lie

Judges what would keep it from other systems (symbols, libraries, RPATH), its size, and how long the command takes to start.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import python_package  # noqa: E402

MOST_BYTES = 12_000_000
MOST_START_S = 0.015  # of processor time
MOST_IMPORT_S = 0.1


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}")
    return done.stdout


def readme_commands():
    """The block of README.md that is typed after the installation, and the line before it that brings the examples."""
    text = open(os.path.join(ROOT, "README.md"), encoding="utf-8").read()
    commands = [block for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S) if "chakra link examples/" in block]
    examples = re.findall(r"^ *(cp -r .*share/chakra/examples.*)$", text, re.M)
    if len(commands) != 1 or len(examples) != 1:
        sys.exit("try_wheel: README.md has not one block of commands and one line that copies the examples")
    lines = [line for line in commands[0].splitlines() if line.startswith("chakra ")]
    return [examples[0], *lines]


def judge(wheel):
    """Problems of a wheel as a file."""
    problems = []
    if os.path.getsize(wheel) >= MOST_BYTES:
        problems.append(f"{os.path.getsize(wheel):,} bytes; less than {MOST_BYTES:,} are allowed")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        data = os.path.join(folder, f"chakra_et-{python_package.version()}.data")
        library = os.path.join(data, "data", "lib", "chakra")
        libraries = {name: os.path.join(library, name) for name in sorted(os.listdir(library))}
        ours = [os.path.join(data, "scripts", "chakra"), os.path.join(folder, "chakra_et", "_chakra.abi3.so")]
        problems += python_package.check_programs(ours, libraries)
        programs = {*ours, *libraries.values()}
        for place, _, entries in os.walk(folder):
            for path in (os.path.join(place, entry) for entry in entries):
                if python_package.is_program(path) and path not in programs:
                    problems.append(f"{os.path.relpath(path, folder)} is a program that nothing checks")
        texts = os.listdir(os.path.join(folder, f"chakra_et-{python_package.version()}.dist-info", "licenses"))
        if len(texts) < len(python_package.HEADERS) + 3:
            problems.append(f"licence texts are missing; there are {', '.join(sorted(texts))}")
    return problems


def start_s(command, environment):
    """Processor time of the shortest of ten calls."""
    times = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(command, "--version", env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def import_s(python, environment):
    """Processor time of the shortest of five imports."""
    program = "import time; began = time.process_time(); import chakra_et; print(time.process_time() - began)"
    return min(float(run(python, "-c", program, env=environment)) for _ in range(5))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    build = parser.parse_args().build
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        where = lambda *parts: os.path.join(folder, *parts)  # noqa: E731
        wheel = where(python_package.make_wheel(build, folder, portable=True))
        problems = judge(wheel)
        if python_package.make_wheel(build, where("again"), portable=True) != os.path.basename(wheel) or \
                python_package.read(wheel, "rb") != python_package.read(where("again", os.path.basename(wheel)), "rb"):
            problems.append("made again, it is another file")
        run(sys.executable, "-m", "venv", where("venv"))
        run(where("venv", "bin", "pip"), "install", "--no-index", "--find-links", os.path.join(sys.prefix, "backends"),
            "--disable-pip-version-check", wheel)
        os.mkdir(where("empty"))
        environment = {"PATH": f"{where('venv', 'bin')}:/usr/bin:/bin", "HOME": where("empty"), "LANG": "C.UTF-8"}
        for command in readme_commands():
            run("bash", "-ec", command, cwd=where("empty"), env=environment)
        doctor = run("chakra", "doctor", cwd=where("empty"), env=environment)
        problems += [f"chakra doctor does not say '{line}':\n{doctor}" for line in ("ok: path", "ok: names", "ok: examples") if line not in doctor]
        if "--chakra-host-trace" not in run("chakra_trace_link", "--help", cwd=where("empty"), env=environment):
            problems.append("chakra_trace_link is not the command by that name")
        plugins = run("chakra", "doctor", "--plugins", cwd=where("empty"), env=environment)
        if where("venv", "share", "chakra", "plugins") not in plugins:
            problems.append(f"chakra doctor --plugins does not name the sources of plugins:\n{plugins}")
        starts = start_s(where("venv", "bin", "chakra"), environment)
        if starts >= MOST_START_S:
            problems.append(f"'chakra --version' takes {starts * 1e3:.1f} ms of processor time; less than {MOST_START_S * 1e3:.0f} are allowed")
        imported = import_s(where("venv", "bin", "python"), environment)
        if imported >= MOST_IMPORT_S:
            problems.append(f"import chakra_et takes {imported * 1e3:.0f} ms; less than {MOST_IMPORT_S * 1e3:.0f} are allowed")
        size = os.path.getsize(wheel)
    if problems:
        sys.exit("\n".join(["try_wheel:", *problems]))
    print(f"try_wheel: {os.path.basename(wheel)}, {size / 1e6:.1f} MB: README.md's commands run, --version takes {starts * 1e3:.1f} ms,"
          f" import chakra_et {imported * 1e3:.0f} ms; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
