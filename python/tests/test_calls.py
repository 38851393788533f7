"""Errors, threads, fork, progress and Ctrl-C; what an import does."""
import concurrent.futures
import fractions
import inspect
import os
import pickle
import pydoc
import shutil
import subprocess
import sys
import threading
import time

import chakra_et
import pytest
from conftest import RECORDED, command, in_a_fork


def test_linking_in_memory_keeps_the_rank():
    recordings = [os.path.join(RECORDED, f"{kind}.1.json.gz") for kind in ("host", "device")]
    assert chakra_et.link(recordings).ranks == [1]
    assert chakra_et.link(recordings, rank=5).ranks == [5]


def test_an_import_without_the_shared_library(tmp_path):
    """As `pip install --target` leaves the package."""
    shutil.copytree(os.path.dirname(chakra_et.__file__), tmp_path / "chakra_et")
    done = subprocess.run([sys.executable, "-c", "import chakra_et"], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1 and "'pip install --target' leaves it out" in done.stderr and "--prefix (libchakra.so" in done.stderr


def test_errors():
    with pytest.raises(chakra_et.Error) as caught:
        chakra_et.open("tiny").simulate(network="net.yml", congestion="fliud")
    error = caught.value
    assert error.tag == "cli.usage" and error.code == 2 and "did you mean fluid?" in str(error) and error.place.line is None
    with pytest.raises(chakra_et.Error, match=r"1 to 1000000|from 1") as caught:
        chakra_et.open("tiny").what_if(repeat=0, jitter="compute=normal:0.1")
    with pytest.raises(TypeError, match="no_such"):
        chakra_et.open("tiny").check(no_such=1)
    with pytest.raises(TypeError, match="network"):
        chakra_et.open("tiny").simulate(network=["a.yml", "b.yml"])
    with pytest.raises(chakra_et.Error) as caught:
        chakra_et.open("nothing here")
    assert caught.value.tag == "io.job.none" and caught.value.code == 3
    with open("bad.yml", "w") as file:
        file.write("topology: [Switch]\nnpus_count: [16]\nbandwith: [10]\nlatency: [1000]\n")
    with pytest.raises(chakra_et.Error) as caught:
        chakra_et.open("tiny").simulate(network="bad.yml")
    assert caught.value.place.file == "bad.yml" and str(caught.value) in command("sim", "tiny", "--network", "bad.yml", code=1)[1]
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.tag, again.place, again.code) == (str(caught.value), caught.value.tag, caught.value.place, caught.value.code)
    with pytest.raises(chakra_et.Error) as caught:
        chakra_et.open("tiny").trace(99)
    assert caught.value.tag == "cli.usage"
    with pytest.raises(chakra_et.Error, match="no kind 'x'"):
        chakra_et.names("x")
    assert "H100-SXM" in chakra_et.names("devices")


def test_values_of_options():
    job = chakra_et.open("tiny")
    text = job.simulate(network="net.yml", delay=["*=1us", "0:*=2us"]).to_json()
    assert text == job.simulate(network="net.yml", delay=("*=1us", "0:*=2us")).to_json()
    one = job.simulate(network="net.yml", delay="*=1us").to_json()
    assert one != text

    class Path:
        def __fspath__(self):
            return "net.yml"

    assert job.simulate(network=Path(), delay="*=1us").to_json() == one
    numpy = pytest.importorskip("numpy")
    recorded = chakra_et.open("linked")
    for error in (numpy.float64(99.5), numpy.float32(99.5), fractions.Fraction(199, 2)):
        given = {"network": "net2.yml", "unrecorded": "scale"}
        assert recorded.simulate(**given, max_error=error).to_json() == recorded.simulate(**given, max_error=99.5).to_json()
    assert job.simulate(network="net.yml", no_fold=numpy.True_).to_json() == job.simulate(network="net.yml", no_fold=True).to_json()
    for wrong in ({}, b"net.yml", object()):
        with pytest.raises(TypeError):
            job.simulate(network=wrong)


def test_a_path_is_whole():
    """The library would take a path up to its zero: it would read or write another file."""
    job = chakra_et.open("tiny")
    answer = job.check()
    calls = (lambda path: job.simulate(network=path), chakra_et.open, job.write, job.view, answer.write, lambda path: chakra_et.link([path]))
    for wrong in ("net.yml\0x", "net\udc80.yml"):
        for call in calls:
            with pytest.raises(ValueError, match="zero character|UTF-8"):
                call(wrong)


def test_several_threads_ask_one_job():
    job = chakra_et.open("tiny")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: job.simulate(network="net.yml").to_json(), range(16)))
    assert len(set(answers)) == 1


def test_other_threads_run_meanwhile():
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    chakra_et.open("tiny").what_if(from_network="net.yml", jitter="compute=normal:0.1", repeat=30)
    ended = time.monotonic()
    done.set()
    thread.join()
    assert ended - began > 0.1
    assert sum(began < tick < ended for tick in ticks) > 10


def test_a_job_survives_a_fork():
    job = chakra_et.open("tiny")
    made = chakra_et.generate.step(preset="tiny")
    expected = subprocess.run([sys.executable, "-c", "import chakra_et; print(chakra_et.open('tiny').simulate(network='net.yml')['makespan_ps'])"],
                              check=True, text=True, capture_output=True).stdout
    said = in_a_fork(lambda: f"{job.simulate(network='net.yml')['makespan_ps']} {made.simulate(network='net.yml')['makespan_ps']}")
    assert said.split() == [expected.strip()] * 2


def test_progress():
    shares = []
    answer = chakra_et.open("tiny").simulate(network="net.yml", progress=shares.append)
    assert shares[0] == 0 and shares[-1] == 1 and shares == sorted(shares)
    assert answer.to_json() == chakra_et.open("tiny").simulate(network="net.yml").to_json()
    with pytest.raises(chakra_et.Error) as error:
        chakra_et.open("tiny").check(progress=lambda share: False)
    assert error.value.code == 130

    def fails(share):
        raise LookupError("of the caller")

    with pytest.raises(LookupError, match="of the caller"):
        chakra_et.open("tiny").simulate(network="net.yml", progress=fails)


CTRL_C = """
import os, signal, threading, time
import chakra_et
job = chakra_et.generate.step(preset="llama3-8b", dp=8, micro_batches=64)
job.ranks
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    while True:
        job.simulate(network="large.yml", no_fold=True, congestion="fluid")
except KeyboardInterrupt:
    print(time.monotonic() - began)
"""


def test_ctrl_c_stops_a_simulation():
    ranks = len(chakra_et.generate.step(preset="llama3-8b", dp=8, micro_batches=64).ranks)
    with open("large.yml", "w") as file:
        file.write(f"topology: [Switch]\nnpus_count: [{ranks}]\nbandwidth: [10]\nlatency: [1000]\n")
    done = subprocess.run([sys.executable, "-c", CTRL_C], check=True, text=True, capture_output=True, timeout=60)
    assert 0.25 < float(done.stdout) < 5


def test_an_import_is_light():
    program = ("import sys, threading, time; began = time.process_time(); import chakra_et; took = time.process_time() - began;"
               "print(took, threading.active_count(), len(__import__('os').listdir('/proc/self/task')), 'numpy' in sys.modules)")
    lines = [subprocess.run([sys.executable, "-c", program], check=True, text=True, capture_output=True).stdout.split() for _ in range(3)]
    assert min(float(line[0]) for line in lines) < 0.1
    assert all(line[1:] == ["1", "1", "False"] for line in lines)


def test_documentation():
    signature = inspect.signature(chakra_et.Job.simulate)
    assert signature.parameters["congestion"].default is None and signature.parameters["network"].kind is inspect.Parameter.KEYWORD_ONLY
    for function in (chakra_et.Job.simulate, chakra_et.Job.what_if, chakra_et.generate.step, chakra_et.link):
        for name in inspect.signature(function).parameters:
            if name not in ("self", "progress"):
                assert f"{name}: " in function.__doc__, (function, name)
    assert "makespan_ps" in pydoc.render_doc(chakra_et.Answer)
    assert chakra_et.__version__ in command("--version")[0]
