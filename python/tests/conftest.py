"""Jobs and files of the tests, made once, in a folder that the tests are run in."""
import json
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.environ.get("CHAKRA", os.path.join(os.path.dirname(sys.executable), "chakra"))
RECORDED = os.path.join(ROOT, "examples", "traces", "ddp_gloo_2ranks")


def command(*arguments, code=0):
    """Run the command. Requires the exit code. Returns standard output and standard error."""
    done = subprocess.run([COMMAND, *map(str, arguments)], text=True, capture_output=True)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stderr}"
    return done.stdout, done.stderr


def in_a_fork(text):
    """Return what a function gives in a child process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, text().encode())
        finally:
            os._exit(0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.close(read)
    os.waitpid(child, 0)
    return said


def write_measured():
    """A device and a network whose laws are known, as in chakra/calibrate/cases."""
    sizes = sorted([int(256 * 2 ** (i / 2)) for i in range(11)] + [3000])
    with open("kernels.csv", "w") as out:
        print("kernel,type,m,n,k,time_us,device", file=out)
        for m in sizes:
            for n in sizes:
                for k in sizes:
                    us = 2 * 2 * m * n * k / 312e6 + 1.5 * 2 * (m * k + n * k + m * n) / 2.039e6 + 4
                    print(f"gemm,bf16,{m},{n},{k},{us:.9f},NVIDIA A100-SXM4-80GB", file=out)
    with open("collectives.csv", "w") as out:
        print("collective,ranks,size_bytes,time_us", file=out)
        for power in range(20, 32, 2):
            print(f"all_reduce,4,{2**power},{20 + 1.5 * 2**power / 1e5:.6f}", file=out)


@pytest.fixture(scope="session", autouse=True)
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chakra")
    os.chdir(folder)
    with open("net.yml", "w") as out:
        out.write("topology: [Switch]\nnpus_count: [16]\nbandwidth: [10]\nlatency: [1000]\n")
    with open("net2.yml", "w") as out:
        out.write("topology: [Switch]\nnpus_count: [2]\nbandwidth: [10]\nlatency: [1000]\n")
    with open("system.json", "w") as out:
        json.dump({"roofline-enabled": 1, "peak-perf": 100, "local-mem-bw": 1000, "preferred-dataset-splits": 1,
                   "all-reduce-implementation": ["ring"]}, out)
    with open("memory.json", "w") as out:
        json.dump({"memory-type": "NO_MEMORY_EXPANSION"}, out)
    with open("groups.json", "w") as out:
        json.dump({"0": [0, 1]}, out)
    with open("my.key", "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as out:
        out.write("chakra-key-1\n" + "5" * 64 + "\n")
    write_measured()
    with open("work.txt", "w") as out:
        out.write("MICRO\n2\nconv1 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 1024 10\nconv2 -1 5 NONE 0 5 NONE 0 5 ALLREDUCE 2048 10\n")
    command("gen", "step", "--preset", "tiny", "-o", "tiny")
    with open("sweep.yml", "w") as out:
        out.write("generate: {preset: tiny, layers: [2, 4]}\nsimulate: {network: net.yml}\nobjectives: [makespan_ps, memory_bytes]\n")
    command("sweep", "sweep.yml", "-o", "swept")  # the tests continue this sweep
    command("link", RECORDED, "-o", "linked")
    os.mkdir("recordings")
    os.symlink(RECORDED, "recordings/pair")
    command("fleet", "link", "recordings", "-o", "fleet")  # the tests continue these fleets
    command("fleet", "analyze", "linked", "-o", "analyzed")
    command("obfuscate", "linked", "--key", "my.key", "-o", "hidden")
    command("certify", "linked", "hidden", "-o", "certificate.json")
    return folder
