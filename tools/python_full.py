#!/usr/bin/env python3
"""Runs the tests of python/ that need PyTorch, in a virtual environment with a PyTorch for the CPU.

    python_full.py --torch VERSION [--bin DIR] [--shared DIR] [OPTIONS of pytest...]

The environment is build/torch-VERSION, as tools/record_jobs.py makes it; pytest is added to it. Where the environment cannot be
made (no network, a PyTorch that does not load, no shared folder) there is nothing to test: a sentence says so, and the exit status
is 0.
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", default="2.6.0", metavar="VERSION", help="PyTorch from PyPI (2.6.0)")
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="folder of the command")
    parser.add_argument("--shared", default=os.path.dirname(os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))),
                        help="folder with record/stubs.py")
    args, more = parser.parse_known_args()
    if not os.path.exists(os.path.join(args.shared, "record", "stubs.py")):
        print(f"no stand-ins for CUDA libraries at {args.shared}/record: PyTorch is not tested")
        return 0
    environment = os.path.join(ROOT, "build", f"torch-{args.torch}")
    if not record_jobs.installed(args.torch, environment, args.shared):
        return 0
    python = os.path.join(environment, "bin", "python")
    if subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode:
        status, text = record_jobs.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", PYTEST], record_jobs.INSTALL_SECONDS)
        if status != 0:
            print(f"pytest cannot be installed, so PyTorch is not tested: {record_jobs.last_line(text)}")
            return 0
    variables = record_jobs.surroundings(environment, os.path.join(environment, "stubs"), PYTHONPATH=record_alone(),
                                         PYTHONDONTWRITEBYTECODE="1", CHAKRA_COMMAND=os.path.join(os.path.abspath(args.bin), "chakra"))
    return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(ROOT, "python", "tests_record"), *more],
                          env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
