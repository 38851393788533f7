"""Progress and Ctrl-C in every verb: the right exception, and no partial file."""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import sys
import threading

import chakra_et
import pytest
from conftest import RECORDED, in_a_fork

ROOM = "stopped"


@pytest.fixture(scope="module", autouse=True)
def large(place):
    job = chakra_et.generate.step(preset="llama3-8b", dp=4, micro_batches=32)
    job.write("large/")
    with open("large.yml", "w") as file:
        file.write(f"topology: [Switch]\nnpus_count: [{len(job.ranks)}]\nbandwidth: [10]\nlatency: [1000]\n")


@pytest.fixture(autouse=True)
def room():
    shutil.rmtree(ROOM, ignore_errors=True)
    os.mkdir(ROOM)


def large_job():
    return chakra_et.open("large")


# Each takes some tenths of a second, and asks often in that time.
VERBS = {
    "check": lambda progress: large_job().check(progress=progress),
    "simulate": lambda progress: large_job().simulate(network="large.yml", progress=progress),
    "simulate as ASTRA-sim": lambda progress: large_job().simulate(network="large.yml", compat="astra-sim", system="system.json",
                                                                   no_check=True, progress=progress),
    "what_if": lambda progress: large_job().what_if(from_network="large.yml", jitter="compute=normal:0.1", repeat=100, progress=progress),
    "analyze": lambda progress: large_job().analyze(progress=progress),
    "diff": lambda progress: large_job().diff(large_job(), progress=progress),
    "edit": lambda progress: large_job().edit(expand=64, progress=progress),
    "write": lambda progress: large_job().write(f"{ROOM}/written/", progress=progress),
    "write a container": lambda progress: large_job().write(f"{ROOM}/written.chakra", progress=progress),
    "write JSON": lambda progress: large_job().write(f"{ROOM}/written/", to="json", progress=progress),
    "view": lambda progress: large_job().view(f"{ROOM}/drawn.dot", rank=0, progress=progress),
    "run": lambda progress: chakra_et.open("linked").run(backend="null", scale_compute=30, progress=progress),
    "link": lambda progress: chakra_et.link([RECORDED], output=f"{ROOM}/linked", progress=progress),
    "step": lambda progress: chakra_et.generate.step(preset="llama3-8b", dp=8, pp=16, virtual_stages=2, micro_batches=256, progress=progress),
    "serve": lambda progress: chakra_et.generate.serve(model="llama3-70b", contexts=[64] * 8, steps=2000, progress=progress),
}
KEEP = 2  # calls before the stop


class Stop(Exception):
    pass


class Caller:
    """A progress function that stops the verb."""

    def __init__(self, stop):
        self.shares, self.stop = [], stop

    def __call__(self, share):
        self.shares.append(share)
        return self.stop() if len(self.shares) > KEEP else None


def false():
    return False


def fail():
    raise Stop


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize("stop,error", [(false, chakra_et.Error), (fail, Stop), (interrupt, KeyboardInterrupt)])
@pytest.mark.parametrize("verb", VERBS)
def test_progress_stops_a_verb(verb, stop, error):
    caller = Caller(stop)
    with pytest.raises(error) as caught:
        VERBS[verb](caller)
    assert len(caller.shares) == KEEP + 1 and caller.shares == sorted(caller.shares) and caller.shares[0] == 0 and caller.shares[-1] < 1
    if error is chakra_et.Error:
        assert caught.value.code == 130 and caught.value.tag in ("job.interrupted", "sim.interrupted")
    assert os.listdir(ROOM) == []


SIGNAL = """
import os, signal, sys, threading
sys.path.insert(0, {tests!r})
import test_stopping
os.chdir({place!r})
verb = test_stopping.VERBS[{verb!r}]
if not os.path.isdir(test_stopping.ROOM): os.mkdir(test_stopping.ROOM)
class Asked:
    calls = 0
    def __call__(self, share):
        self.calls += 1
        if self.calls == 3:
            os.kill(os.getpid(), signal.SIGINT)  # the next call of the library notices it
try:
    verb(Asked())
except KeyboardInterrupt:
    print("interrupted", os.listdir(test_stopping.ROOM))
"""


@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c_stops_a_verb(verb, place):
    program = SIGNAL.format(tests=os.path.dirname(__file__), place=str(place), verb=verb)
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=60)
    assert done.stdout == "interrupted []\n", done.stderr


RANKS = """
import os, signal, threading
import chakra_et
job = chakra_et.open({large!r})
try:
    threading.Timer(0.03, os.kill, (os.getpid(), signal.SIGINT)).start()
    {call}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("call", ["job.ranks", "job.trace(0)"])
def test_ctrl_c_stops_reading(call, place):
    done = subprocess.run([sys.executable, "-c", RANKS.format(large=str(place / "large"), call=call)], text=True, capture_output=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr


def test_a_progress_function_may_not_use_the_job_that_is_read():
    job, errors = large_job(), []

    def asks(share):
        if 0 < share < 0.3 and not errors:
            with pytest.raises(chakra_et.Error) as error:
                job.trace(0)
            errors.append(error.value.tag)

    job.check(progress=asks)
    assert errors == ["job.busy"]


def test_other_threads_wait_for_the_one_that_reads():
    """Eight threads ask one job that was not read, with different verbs. Stopped calls leave nothing behind."""
    job = large_job()
    verbs = [lambda: job.check().to_json(), lambda: job.simulate(network="large.yml").to_json(), lambda: str(job.ranks),
             lambda: str(len(job.trace(1))), lambda: job.analyze(only=["time"]).to_json(), lambda: job.diff(job).to_json()]
    with pytest.raises(chakra_et.Error):
        job.check(progress=Caller(false))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: verbs[number % len(verbs)](), range(3 * len(verbs))))
    alone = large_job()
    expected = [alone.check().to_json(), alone.simulate(network="large.yml").to_json(), str(alone.ranks), str(len(alone.trace(1))),
                alone.analyze(only=["time"]).to_json(), alone.diff(alone).to_json()]
    assert found == [expected[number % len(verbs)] for number in range(3 * len(verbs))]


def test_a_job_survives_a_fork_before_it_is_used():
    job = large_job()
    said = in_a_fork(
        lambda: f"{job.simulate(network='large.yml')['makespan_ps']} {len(job.check(progress=lambda share: None).findings)}")
    assert said == f"{job.simulate(network='large.yml')['makespan_ps']} {len(job.check().findings)}"


def test_threads_without_signals():
    """Python gives signals to the main thread only; a verb in another thread stops by its progress function."""
    errors, before = [], signal.getsignal(signal.SIGINT)

    def asks():
        try:
            large_job().check(progress=Caller(false))
        except chakra_et.Error as error:
            errors.append(error.code)

    thread = threading.Thread(target=asks)
    thread.start()
    thread.join()
    assert errors == [130] and signal.getsignal(signal.SIGINT) is before
