#!/usr/bin/env python3
"""Installs a build, moves it elsewhere, and builds and runs programs of a user's own against it.

    consumer.py --build DIR     the example examples/feeding by find_package and by pkg-config, and the command itself
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import et  # noqa: E402

TRACE = """metadata rank=0
1 COMP a dur_us=5
2 COMP b dur_us=7 deps=1
3 COLL c comm_type=ALL_REDUCE comm_size:u64=1024 dur_us=9 deps=1
4 COMP d dur_us=1 deps=2,3
"""
STREAMED = "4 nodes, 1 of them communication, in 15 us"  # 5 us, then 7 beside 9, then 1
FREE = "a 0\nb 0, c 1024\nd 0\n"  # what is free at each step, with the bytes of collectives
PEER = "4 nodes issued, 22 us, 1024 bytes in collectives"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(found, wanted, what):
    if wanted not in found:
        sys.exit(f"{what} said\n{found}\ninstead of\n{wanted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    build = parser.parse_args().build
    for tool in ("cmake", "pkg-config", "g++"):
        if not shutil.which(tool):
            print(f"SKIP: no {tool}")
            sys.exit(77)  # to ctest, skipped
    os.environ.setdefault("CMAKE_GENERATOR", "Ninja")  # as ./dev: a bare machine has no make
    with tempfile.TemporaryDirectory() as folder:
        where = lambda *parts: os.path.join(folder, *parts)  # noqa: E731
        run("cmake", "--install", build, "--prefix", where("first"))
        os.rename(where("first"), where("moved"))
        trace = where("job.0.et")
        with open(trace, "wb") as file:
            file.write(et.encode(TRACE))
        example = where("moved", "share", "chakra", "examples", "feeding")

        # find_package
        run("cmake", "-S", example, "-B", where("build"), f"-DCMAKE_PREFIX_PATH={where('moved')}")
        run("cmake", "--build", where("build"), "-j", "2")
        expect(run(where("build", "feed_trace"), trace, "2"), STREAMED, "feed_trace")
        if os.path.exists(where("build", "peer_feeder")):
            expect(run(where("build", "peer_feeder"), trace), PEER, "peer_feeder")
            expect(run(where("build", "free_nodes"), trace), FREE, "free_nodes")

        # the whole library: recordings are linked and simulated
        examples = where("moved", "share", "chakra", "examples")
        run("cmake", "-S", os.path.join(examples, "job"), "-B", where("job"), f"-DCMAKE_PREFIX_PATH={where('moved')}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wconversion -Wno-sign-conversion -Werror")
        run("cmake", "--build", where("job"), "-j", "2")
        with open(where("net.yml"), "w", encoding="utf-8") as file:
            file.write("topology: [Switch]\nnpus_count: [2]\nbandwidth: [1]\nlatency: [1000]\n")
        said = run(where("job", "link_and_simulate"), os.path.join(examples, "traces", "ddp_gloo_2ranks"), where("traces"), where("net.yml"))
        for wanted in ("rank 0: ", "rank 1: ", "  self-check     ", ": 2 ranks on a ", "finished after "):
            expect(said, wanted, "link_and_simulate")
        asked = subprocess.run([where("job", "ask"), where("traces"), where("net.yml")], text=True, capture_output=True, check=False)
        for wanted in ("2 ranks", "makespan ", "a rank ends after "):
            expect(asked.stdout, wanted, "ask")
        expect(asked.stderr, "did you mean fluid? [cli.usage]", "ask")
        if asked.returncode != 2:
            sys.exit(f"ask ended with {asked.returncode}, not with 2\n{asked.stdout}{asked.stderr}")
        headers = sorted(name for at, _, names in os.walk(where("moved", "include", "chakra")) if "feeders" not in at for name in names)
        if headers != ["chakra.h", "options.h", "result.h", "trace.h"]:
            sys.exit(f"these headers are installed: {headers}")

        # pkg-config
        environment = dict(os.environ, PKG_CONFIG_PATH=where("moved", "lib", "pkgconfig"))
        programs = (("chakra", "feed_trace", ["2"], STREAMED), ("chakra-feeders", "peer_feeder", [], PEER), ("chakra-feeders", "free_nodes", [], FREE))
        for package, program, words, wanted in programs:
            flags = run("pkg-config", "--cflags", "--libs", package, env=environment).split()
            run("g++", "-o", where(program), os.path.join(example, program + ".cpp"), *flags)
            expect(run(where(program), trace, *words), wanted, program)

        # the program that docs/how-to/feed.md shows
        guide = open(where("moved", "share", "doc", "chakra", "docs", "how-to", "feed.md"), encoding="utf-8").read()
        with open(where("guide.cpp"), "w", encoding="utf-8") as file:
            file.write(guide.split("```cpp\n")[1].split("```")[0])
        run("g++", "-o", where("guide"), where("guide.cpp"), *run("pkg-config", "--cflags", "--libs", "chakra", env=environment).split())
        expect(run(where("guide"), trace), "start 1 a\nstart 2 b\nstart 3 c\nstart 4 d\n", "docs/how-to/feed.md's program")

        # the command, found as a user finds it
        environment = dict(os.environ, PATH=where("moved", "bin") + ":" + os.environ["PATH"])
        expect(run("chakra", "info", trace, env=environment), "rank 0", "chakra info")
        expect(run("chakra_trace_link", "--help", env=environment), "--chakra-host-trace", "chakra_trace_link")
        report = run("chakra", "doctor", env=environment)
        for line in ("ok: path", "ok: names", "ok: examples"):
            expect(report, line, "chakra doctor")
    print("consumer: find_package, pkg-config, the command: all from a moved folder")


if __name__ == "__main__":
    main()
