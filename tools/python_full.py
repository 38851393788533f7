#!/usr/bin/env python3
"""Runs the tests of python/ that need PyTorch, notebooks or HolisticTraceAnalysis.

    python_full.py --torch VERSION [--bin DIR] [--shared DIR] [--wheel ENVIRONMENT] [OPTIONS of pytest...]

python/tests_record runs in build/torch-VERSION, which tools/record_jobs.py makes with a PyTorch for the CPU; pytest is added to it.
python/tests_full runs in ENVIRONMENT, which ./dev makes with the wheel and the packages; it imports PyTorch from build/torch-VERSION.
Where PyTorch cannot be installed (no network, a PyTorch that does not load, no shared folder), a sentence names the reason, and the
tests that need PyTorch are left out.
"""
import argparse
import os
import subprocess
import sys

import record_jobs
from page import ROOT

PYTEST = "pytest==8.4.2"


def record_alone():
    """A folder with the package's modules for PyTorch alone: they must run where the extension is missing."""
    folder = os.path.join(ROOT, "build", "record-alone")
    os.makedirs(os.path.join(folder, "chakra_et"), exist_ok=True)
    for name in ("record.py", "export.py", "_record"):
        link = os.path.join(folder, "chakra_et", name)
        if not os.path.islink(link):
            os.symlink(os.path.join(ROOT, "python", "chakra_et", name), link)
    return folder


def torch_environment(args):
    """Return the environment with PyTorch and pytest, or None after a sentence."""
    if not os.path.exists(os.path.join(args.shared, "record", "stubs.py")):
        print(f"no stand-ins for CUDA libraries at {args.shared}/record: PyTorch is not tested")
        return None
    environment = os.path.join(ROOT, "build", f"torch-{args.torch}")
    if not record_jobs.installed(args.torch, environment, args.shared):
        return None
    python = os.path.join(environment, "bin", "python")
    if subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode:
        status, text = record_jobs.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PYTEST], record_jobs.INSTALL_SECONDS)
        if status != 0:
            print(f"pytest cannot be installed, so PyTorch is not tested: {record_jobs.last_line(text)}")
            return None
    return environment


def let_import(wheel, environment):
    """Let the environment of the wheel import PyTorch from the other one, after its own packages."""
    with open(os.path.join(record_jobs.packages_of(wheel), "torch.pth"), "w", encoding="utf-8") as file:
        file.write(record_jobs.packages_of(environment) + "\n" if environment else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default="2.10.0", metavar="VERSION", help="PyTorch from PyPI (2.10.0)")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="folder of the command")
    parser.add_argument("--shared", default=os.path.dirname(os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))),
                        help="folder with record/stubs.py")
    parser.add_argument("--wheel", metavar="ENVIRONMENT", help="environment with the wheel, for python/tests_full (default: without these tests)")
    args, more = parser.parse_known_args()
    command, failed = os.path.join(os.path.abspath(args.bin), "chakra"), False
    environment, surroundings = torch_environment(args), dict(os.environ)
    if environment:
        surroundings = record_jobs.surroundings(environment, os.path.join(environment, "stubs"))
        failed |= run_tests(environment, "tests_record", more, dict(surroundings, PYTHONPATH=record_alone(), CHAKRA_COMMAND=command))
    if args.wheel:
        let_import(args.wheel, environment)
        failed |= run_tests(args.wheel, "tests_full", more, surroundings)
    return 1 if failed else 0


def run_tests(environment, folder, more, variables):
    """Run pytest. Return whether a test failed; no test for the given options (5) is no failure."""
    words = [os.path.join(environment, "bin", "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(ROOT, "python", folder), *more]
    return subprocess.run(words, env=dict(variables, PYTHONDONTWRITEBYTECODE="1"), check=False).returncode not in (0, 5)


if __name__ == "__main__":
    sys.exit(main())
