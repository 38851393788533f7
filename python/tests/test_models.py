"""Models and feeders that are written in Python."""
import importlib.util
import os

import chakra_et
import numpy
import pytest
from conftest import ROOT


class Kept(chakra_et.Models):
    """The built-in durations; collects the calls."""

    def __init__(self):
        self.ranks, self.meetings, self.views = [], [], []

    def prices(self, trace, rank):
        self.ranks.append(rank)
        self.views.append(trace["dur_ps"])
        return trace["dur_ps"]

    def collective(self, meeting):
        self.meetings.append(meeting)


def test_models_that_keep_everything_change_nothing():
    for path, network in (("tiny", "net.yml"), ("linked", "net2.yml")):
        job, models = chakra_et.open(path), Kept()
        answer = job.simulate(network=network, models=models)
        assert answer.to_json() == job.simulate(network=network, congestion="closed").to_json()
        assert models.ranks and models.meetings and not models.views[0].flags.writeable
    dependent = Kept()
    dependent.rank_independent = False  # ranks are not folded
    assert job.simulate(network="net2.yml", models=dependent)["makespan_ps"] == answer["makespan_ps"]


def test_the_times_of_models_are_used():
    job = chakra_et.open("tiny")

    class Twice(chakra_et.Models):
        def prices(self, trace, rank):
            return trace["dur_ps"] * 2

    before, after = (job.simulate(network="net.yml", congestion="closed", models=models).table("ranks")["compute_ps"] for models in (None, Twice()))
    assert (after == 2 * before).all() and before.sum() > 0
    assert job.simulate(network="net.yml", congestion="closed").table("ranks")["compute_ps"].tolist() == before.tolist()

    class Recorded(chakra_et.Models):
        """The times that the network model gives, by a table of an answer."""

        def __init__(self, answer):
            table = answer.table("collectives")
            self.times = {(table["type"][row].lower(), table["bytes"][row], table["members"][row]): table["total_ps"][row] // table["count"][row]
                          for row in range(len(table))}

        def collective(self, meeting):
            assert meeting.last_ps >= meeting.first_ps >= 0
            return self.times[meeting.type, meeting.bytes, meeting.members]

    answer = job.simulate(network="net.yml", congestion="closed")
    assert job.simulate(network="net.yml", models=Recorded(answer))["makespan_ps"] == answer["makespan_ps"]

    class Free(chakra_et.Models):
        def collective(self, meeting):
            return numpy.int64(0)

    assert job.simulate(network="net.yml", models=Free())["makespan_ps"] < answer["makespan_ps"]


def models(prices=None, collective=None):
    class Given(chakra_et.Models):
        pass

    if prices:
        Given.prices = lambda self, trace, rank: prices(trace)
    if collective:
        Given.collective = lambda self, meeting: collective
    return Given()


@pytest.mark.parametrize("made,error,text", [
    (lambda t: t["dur_ps"].tolist(), TypeError, "int64 array of .* not list"),
    (lambda t: t["dur_ps"].astype("float64"), TypeError, "not ndarray of float64"),
    (lambda t: t["dur_ps"].astype("uint64"), TypeError, "not ndarray of uint64"),
    (lambda t: t["dur_ps"].astype(">i8"), TypeError, "not ndarray of >i8"),
    (lambda t: numpy.ma.masked_array(t["dur_ps"], False), TypeError, "MaskedArray"),
    (lambda t: t["dur_ps"][1:], ValueError, r"of shape \(\d+,\)"),
    (lambda t: t["dur_ps"][:, None], ValueError, "of shape"),
    (lambda t: t["dur_ps"] - (1 << 62), chakra_et.Error, "negative time"),
])
def test_wrong_prices(made, error, text):
    with pytest.raises(error, match=text):
        chakra_et.open("tiny").simulate(network="net.yml", models=models(made))


@pytest.mark.parametrize("time,error,text", [
    (1.5, TypeError, "int or None, not float"), (True, TypeError, "not bool"), ("1", TypeError, "not str"),
    (1 << 63, ValueError, "out of range"), (-1, chakra_et.Error, "sim.model.time")])
def test_wrong_times_of_collectives(time, error, text):
    with pytest.raises(error, match=text):
        chakra_et.open("tiny").simulate(network="net.yml", models=models(collective=time))


def test_a_strided_array_of_prices():
    job = chakra_et.open("tiny")
    strided = models(lambda t: numpy.repeat(t["dur_ps"], 2)[::2])
    assert job.simulate(network="net.yml", models=strided)["makespan_ps"] == job.simulate(network="net.yml", congestion="closed")["makespan_ps"]


def test_exceptions_of_models_reach_the_caller():
    class Stop(BaseException):
        pass

    raised = Stop("mine")

    def fails(trace):
        raise raised

    job = chakra_et.open("tiny")
    with pytest.raises(Stop) as caught:
        job.simulate(network="net.yml", models=models(fails))
    assert caught.value is raised

    class Interrupted(chakra_et.Models):
        def collective(self, meeting):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.simulate(network="net.yml", models=Interrupted())
    assert job.simulate(network="net.yml")["makespan_ps"] > 0  # the job is as before
    with pytest.raises(TypeError, match="derived from chakra_et.Models"):
        job.simulate(network="net.yml", models=object())
    for options in ({"congestion": "fluid"}, {"device": "H100-SXM"}, {"compat": "astra-sim", "system": "system.json"}):
        with pytest.raises(chakra_et.Error) as error:
            job.simulate(network="net.yml", models=Kept(), **options)
        assert error.value.tag == "cli.usage"


# ---- feeders ---------------------------------------------------------------------------------------------------------


def diamond():
    builder = chakra_et.Builder(0)
    for name in "abcd":
        builder.compute(name, 10)
    for row, on, lag in ((1, 0, 0), (2, 0, 5), (3, 1, 0), (3, 2, 0)):
        builder.wait(row, on, lag_ps=lag)
    return builder.finish()


def test_a_feeder():
    feeder = chakra_et.Feeder(diamond())
    rows, times = feeder.start()
    assert rows.dtype == numpy.uint32 and times.dtype == numpy.int64 and (rows.tolist(), times.tolist()) == ([0], [0])
    rows, times = feeder.done(0, 10)
    assert (rows.tolist(), times.tolist(), feeder.remaining) == ([1, 2], [10, 15], 3)
    rows, times = feeder.done([2, 1], numpy.array([25, 20]))
    assert (rows.tolist(), times.tolist(), feeder.remaining) == ([3], [25], 1)
    assert len(feeder.done([], 0)[0]) == 0
    feeder.done(3, 35)
    assert feeder.remaining == 0


def test_mistakes_with_a_feeder():
    feeder = chakra_et.Feeder(diamond())
    feeder.start()
    feeder.done(0, 10)
    for rows in ([1, 0], [1, 1], [1, 3], [1, 4]):  # done, twice, not handed out, no row
        with pytest.raises(chakra_et.Error) as error:
            feeder.done(rows, 20)
        assert error.value.tag == "feed.not_running" and feeder.remaining == 3
    for rows, ends, error in ((1.0, 20, TypeError), (1, 2.5, TypeError), (-1, 20, ValueError), (1 << 32, 20, ValueError),
                              (1, -1, ValueError), ([[1]], 20, ValueError), ([1, 2], [20, 21, 22], ValueError)):
        with pytest.raises(error):
            feeder.done(rows, ends)
    assert feeder.done([1, 2], [20, 25])[0].tolist() == [3]
    builder = chakra_et.Builder(0)
    builder.compute("a", 1)
    builder.compute("b", 1)
    builder.wait(0, 1)
    builder.wait(1, 0)
    with pytest.raises(chakra_et.Error) as error:
        chakra_et.Feeder(builder.finish())
    assert error.value.tag == "sim.stuck.cycle"


def test_batches_equal_single_calls():
    trace = chakra_et.open("linked").trace(0)
    one, many = chakra_et.Feeder(trace), chakra_et.Feeder(trace)
    rows, _ = many.start()
    assert one.start()[0].tolist() == rows.tolist()
    seen = len(rows)
    while len(rows):
        ends = numpy.arange(len(rows)) * 1000
        parts = [one.done(int(row), int(end)) for row, end in zip(rows, ends, strict=True)]
        rows, times = many.done(rows, ends)
        assert rows.tolist() == [row for part in parts for row in part[0].tolist()]
        assert len(times) == len(rows)
        seen += len(rows)
    assert seen == len(trace) and many.remaining == one.remaining == 0


def test_queues():
    builder = chakra_et.Builder(0).group("a", [0, 1]).group("b", [0, 2])
    builder.compute("device", 1)
    builder.compute("host", 1)
    builder.host()
    builder.compute("on a stream", 1)
    builder.on_stream(0, 7)
    builder.load("load", 1)
    builder.send("send", 1, 1)
    builder.receive("receive", 1, 1)
    for group in "aba":
        builder.collective("reduce", chakra_et.CommType.all_reduce, bytes=8, group=group)
    queues = chakra_et.Feeder(builder.finish()).queues.tolist()
    assert queues[5] == -1 and queues[6] == queues[8] and len(set(queues)) == 8


# ---- the example -----------------------------------------------------------------------------------------------------


def example():
    spec = importlib.util.spec_from_file_location("simulator", os.path.join(ROOT, "examples", "feeding", "simulator.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_simulator_of_the_examples():
    fixed = models(collective=7_000_000)
    alone = {"preset": "tiny", "dp": 4, "pp": 1, "virtual_stages": 1}  # without pipelines no messages
    for job in (chakra_et.generate.step(**alone), chakra_et.generate.step(**alone, tp=1, overlap=False)):
        ends = example().simulate(job, 7_000_000)
        answer = job.simulate(network="net.yml", models=fixed)
        assert max(ends.values()) == answer["makespan_ps"]
        assert [ends[rank] for rank in job.ranks] == answer.table("ranks")["finish_ps"].tolist()
    alone = chakra_et.Job.of([diamond()])
    assert example().simulate(alone, 0)[0] == alone.simulate(network="net.yml")["makespan_ps"]
