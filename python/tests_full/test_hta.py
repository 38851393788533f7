"""chakra_et.hta beside HolisticTraceAnalysis itself, on its own files.

HTA gets each file as tools/compare_hta.py prepares it, with times in whole nanoseconds, because HTA rounds times with decimals. Files
with whole microseconds are also compared as they are.
"""
import glob
import logging
import math
import os
import sys
import warnings

import chakra_et
import pandas
import pytest
from chakra_et.hta import QUEUE_CALLS, TraceAnalysis

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))
import compare_hta  # noqa: E402

FILES = sorted(glob.glob(os.path.join(os.environ.get("CHAKRA_TEST_DATA", ""), "kineto", "hta_*.json.gz")))
KEYS = {"breakdown": ["kernel_type", "name", "rank"]}
MANY = 10**9

pytestmark = pytest.mark.filterwarnings("ignore")


def hta(path, folder, last):
    from hta.trace_analysis import TraceAnalysis as Original
    logging.disable(logging.CRITICAL)
    return Original(trace_files={0: path}, trace_dir=folder, include_last_profiler_step=last)


class Pair:
    """Both analyses of one file; unit: nanoseconds of one unit of HTA's times."""

    def __init__(self, path, folder, prepared, last):
        self.unit, self.document = 1 if prepared else 1000, compare_hta.read(path)
        written = os.path.join(folder, "trace.json")
        compare_hta.write(self.document, written, prepared)
        self.its, self.mine = hta(written, folder, last), TraceAnalysis({0: path}, include_last_profiler_step=last)

    def same(self, mine, its, times):
        """Compare frames: the columns in `times` are times."""
        assert list(mine.columns) == list(its.columns)
        assert len(mine) == len(its)
        for column in mine.columns:
            for here, there in zip(mine[column].tolist(), its[column].tolist(), strict=True):
                if isinstance(there, str):
                    assert here == there, column
                elif not (math.isnan(there) and math.isnan(here)):
                    scale = self.unit / 1000 if column in times else 1
                    rounded = 0.0101 if "pctg" in column else 0.101 if column == "percentage" else 0  # by HTA, to one or two digits
                    assert math.isclose(here, there * scale, rel_tol=1e-9, abs_tol=2e-6 if column in times else rounded), column


@pytest.fixture(scope="module", autouse=True)
def stable_sorting():
    """HTA sorts starts of the same time in any order."""
    sort = pandas.DataFrame.sort_values
    pandas.DataFrame.sort_values = lambda self, *a, **k: sort(self, *a, **{"kind": "stable", **k})
    yield
    pandas.DataFrame.sort_values = sort


def usable(path):
    """Whether a file has device operations."""
    try:
        return len(chakra_et.link([path], rank=0).analyze(only="kernels").table("kernels")) > 0
    except chakra_et.Error:
        return False


def whole(path):
    """Whether all times are whole microseconds and HTA counts each record as here: it ignores the call of the first one."""
    events = compare_hta.read(path)["traceEvents"]
    return ("correlation" not in (events[0].get("args") or {})
            and all(isinstance(event.get(key, 0), int) for event in events for key in ("ts", "dur"))
            and not any(event.get("cat") == "cuda_sync" for event in events)
            and not any("stream" in (event.get("args") or {}) for event in events if event.get("cat") not in compare_hta.DEVICE))


def variants(path):
    """Return pairs of (with times in whole nanoseconds, with the last step)."""
    return [(True, True), (True, False), (False, False)] if whole(path) else [(True, True), (True, False)]


CASES = [pytest.param((path, prepared, last), id=f"{os.path.basename(path)[4:34]}-{'ns' if prepared else 'given'}-{'all' if last else 'but_last'}")
         for path in FILES if usable(path) for prepared, last in variants(path)]


@pytest.fixture(params=CASES, scope="module")
def pair(request, tmp_path_factory):
    return Pair(request.param[0], str(tmp_path_factory.mktemp("hta")), *request.param[1:])


def test_files_are_there():
    assert len(CASES) >= 25 or not FILES


def test_temporal_breakdown(pair):
    pair.same(pair.mine.get_temporal_breakdown(), pair.its.get_temporal_breakdown(visualize=False),
              ("idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"))


def test_comm_comp_overlap(pair):
    pair.same(pair.mine.get_comm_comp_overlap(), pair.its.get_comm_comp_overlap(visualize=False), ())


@pytest.mark.parametrize("memory", [True, False])
def test_kernel_breakdown(pair, memory):
    mine = pair.mine.get_gpu_kernel_breakdown(num_kernels=MANY, include_memory_kernels=memory)
    its = pair.its.get_gpu_kernel_breakdown(visualize=False, num_kernels=MANY, include_memory_kernels=memory)
    pair.same(mine[0].sort_values("kernel_type"), its[0].sort_values("kernel_type"), ("sum",))
    pair.same(*(frame.sort_values(KEYS["breakdown"]) for frame in (mine[1], its[1])),
              ("sum (us)", "max (us)", "min (us)", "mean (us)", "stddev"))


def test_kernel_breakdown_with_others(pair):
    columns = ["name", "sum (us)", "kernel_type", "rank"]
    for few in (1, 3, 10):
        mine = pair.mine.get_gpu_kernel_breakdown(num_kernels=few)[1]
        its = pair.its.get_gpu_kernel_breakdown(visualize=False, num_kernels=few)[1]
        by_sum = [frame[columns].sort_values(["kernel_type", "sum (us)"], ignore_index=True).drop(columns="name") for frame in (mine, its)]
        pair.same(*by_sum, ("sum (us)",))
        assert set(mine["name"]) == set(its["name"]) or mine["sum (us)"].duplicated().any()


@pytest.mark.parametrize("memory", [True, False])
def test_launch_stats(pair, memory):
    keys = ["correlation", "cpu_duration", "gpu_duration", "launch_delay"]
    mine = pair.mine.get_cuda_kernel_launch_stats(include_memory_events=memory)[0]
    its = pair.its.get_cuda_kernel_launch_stats(visualize=False, include_memory_events=memory)[0]
    pair.same(mine.sort_values(keys), its.sort_values(keys), keys[1:])


def test_queue_lengths(pair):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        mine = pair.mine.get_queue_length_time_series()
    if set(pair.mine._table(0, "launches", "launches_each")["call"]) - set(QUEUE_CALLS):
        assert any("which HTA leaves out" in str(each.message) for each in warned)
        return
    its = pair.its.get_queue_length_time_series()
    assert mine.keys() == its.keys()
    if mine:
        keys = ["stream", "ts", "queue_length"]
        pair.same(mine[0][keys].sort_values(keys), its[0][keys].sort_values(keys), ("ts",))
        assert list(mine[0].columns) == list(its[0].columns)
        pair.same(pair.mine.get_queue_length_summary()["queue_length"], pair.its.get_queue_length_summary()["queue_length"], ())


def test_idle_time(pair):
    if pair.unit != 1:
        return  # HTA compares its 30 with microseconds there
    mine, _ = pair.mine.get_idle_time_breakdown()
    its, _ = pair.its.get_idle_time_breakdown(visualize=False)
    assert list(mine.columns) == list(its.columns)
    skipped = compare_hta.overlapping(pair.document)
    rows = []
    for frame, scale in ((mine, 1), (its, 0.001)):
        frame = frame.assign(stream=frame["stream"].astype(int))
        frame = frame[~frame["stream"].isin(skipped) & (frame["idle_time"] > 0)].sort_values(["stream", "idle_category"])
        rows.append([(row.stream, row.idle_category, round(row.idle_time * scale, 2), row.idle_time_ratio) for row in frame.itertuples()])
    assert len(rows[0]) == len(rows[1])
    for here, there in zip(*rows, strict=True):
        assert here[:2] == there[:2] and here[2] == pytest.approx(there[2], abs=0.011) and here[3] == there[3]


def test_two_ranks(tmp_path):
    """Ranks of one job: times of queue lengths count from the first event of all ranks."""
    paths = {rank: path for rank in (0, 1) for path in FILES if path.endswith(f"sampled_rank-{rank}.json.gz")}
    if not paths:
        pytest.skip("no test data")
    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis as Original
    its, mine = Original(trace_files=paths, trace_dir=str(tmp_path)), TraceAnalysis(paths)
    pair = object.__new__(Pair)
    pair.unit = 1000
    pair.same(mine.get_temporal_breakdown(), its.get_temporal_breakdown(visualize=False),
              ("idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)"))
    pair.same(mine.get_comm_comp_overlap(), its.get_comm_comp_overlap(visualize=False), ())
    here, there = mine.get_gpu_kernel_breakdown(num_kernels=MANY), its.get_gpu_kernel_breakdown(visualize=False, num_kernels=MANY)
    pair.same(here[0], there[0], ("sum",))
    pair.same(*(each[1].sort_values(KEYS["breakdown"]) for each in (here, there)), ("sum (us)", "max (us)", "min (us)", "mean (us)", "stddev"))
    here, there = mine.get_queue_length_time_series(ranks=[0, 1]), its.get_queue_length_time_series(ranks=[0, 1])
    for rank in (0, 1):
        keys = ["stream", "ts", "queue_length"]
        pair.same(here[rank][keys].sort_values(keys), there[rank][keys].sort_values(keys), ("ts",))
    assert mine.get_profiler_steps() == its.get_profiler_steps()


def test_profiler_steps(pair):
    assert pair.mine.get_profiler_steps() == pair.its.get_profiler_steps()
