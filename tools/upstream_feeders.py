#!/usr/bin/env python3
"""Compiles the feeder tests of mlcommons/chakra against our classes, and runs them.

    upstream_feeders.py --build DIR CHECKOUT     CHECKOUT: a work tree of github.com/mlcommons/chakra

tests/feeder/tests.cpp reads a .et file by ETFeeder, tests/feeder/wrapper_tests.cpp a JSON file by WrapperNode. The build is installed into a
temporary folder first and found by pkg-config. Only CHECKOUT has code of mlcommons/chakra. Exit 77: a compiler or pkg-config is missing.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

from consumer import run

TESTS = ("tests.cpp", "wrapper_tests.cpp")
TRACES = ("feeder_tests_trace.tar.gz", "json_trace.tar.gz")
# wrapper_tests.cpp includes the header by the name that it had before the tests were merged
OLD_NAMES = {"WrapperNode.h": "wrapper_node.h"}


def unpack(checkout, folder):
    """Write the files of the archives, without their folders, to tests/data, where the tests look for them."""
    data = os.path.join(folder, "tests", "data")
    os.makedirs(data)
    for name in TRACES:
        with tarfile.open(os.path.join(checkout, "tests", "data", name)) as archive:
            for member in archive:
                if member.isfile():
                    with open(os.path.join(data, os.path.basename(member.name)), "wb") as file:
                        shutil.copyfileobj(archive.extractfile(member), file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release")
    parser.add_argument("checkout")
    options = parser.parse_args()
    for tool in ("cmake", "pkg-config", "g++"):
        if not shutil.which(tool):
            print(f"SKIP: no {tool}")
            sys.exit(77)  # to ctest, skipped
    checkout, failed = os.path.abspath(options.checkout), 0
    with tempfile.TemporaryDirectory() as folder:
        installed = os.path.join(folder, "installed")
        run("cmake", "--install", options.build, "--prefix", installed, "--component", "library")
        environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(installed, "lib", "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "chakra-feeders", env=environment).split()
        names = os.path.join(folder, "old_names")
        os.mkdir(names)
        for old, new in OLD_NAMES.items():
            with open(os.path.join(names, old), "w", encoding="utf-8") as file:
                file.write(f'#include "{new}"\n')
        unpack(checkout, folder)
        for name in TESTS:
            program = os.path.join(folder, "run_" + name[:-len(".cpp")])
            run("g++", "-w", "-o", program, os.path.join(checkout, "tests", "feeder", name), "-I", names, *flags, "-lgtest")
            done = subprocess.run([program], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            passed = re.search(r"^\[  PASSED  \] (\d+) tests?\.$", done.stdout, re.M)
            ran = re.search(r"^\[=+\] (\d+) tests? from .* ran\.", done.stdout, re.M)
            print(f"{name}: {passed[1] if passed else 0} of {ran[1] if ran else '?'} tests passed, exit {done.returncode}")
            if done.returncode or not passed or not ran or passed[1] != ran[1] or passed[1] == "0":
                failed += 1
                print(done.stdout)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
