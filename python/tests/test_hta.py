"""chakra_et.hta on a small trace with known answers. `./dev test python-full` compares with HTA itself."""
import json
import warnings

import chakra_et
import pytest
from chakra_et.hta import UNANSWERED, TraceAnalysis

US = 1000  # ns
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
# name, category, stream, start, duration, launched at, by a call of 2 us (in us)
OPERATIONS = [("gemm", "kernel", 7, 10.25, 10, 2, "cudaLaunchKernel"), ("gemm", "kernel", 7, 20.25, 20, 5, "cudaLaunchKernel"),
              ("add", "kernel", 7, 60, 5, 50, "cudaLaunchKernel"), (NCCL, "kernel", 20, 30, 30, 8, "cudaLaunchKernelExC"),
              ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", 7, 70, 4, 66, "cudaMemcpyAsync"),
              ("triton", "kernel", 7, 80, 1, 78, "cuLaunchKernel")]


def write_trace(path, rank, step=None):
    events = []
    for number, (name, kind, stream, start, duration, launched, call) in enumerate(OPERATIONS, 100):
        events += [{"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": stream, "ts": start, "dur": duration,
                    "args": {"correlation": number, "stream": stream, "device": 0, "External id": number}},
                   {"ph": "X", "cat": "cuda_driver" if call == "cuLaunchKernel" else "cuda_runtime", "name": call, "pid": 1, "tid": 1, "ts": launched, "dur": 2,
                    "args": {"correlation": number, "External id": number}},
                   {"ph": "X", "cat": "cpu_op", "name": f"aten::{number}", "pid": 1, "tid": 1, "ts": launched - 0.5, "dur": 3,
                    "args": {"External id": number}}]
    for number, (first, last) in enumerate(step or [], 4):
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": 1, "tid": 1, "ts": first, "dur": last - first})
    with open(path, "w") as file:
        json.dump({"schemaVersion": 1, "traceEvents": events, "distributedInfo": {"rank": rank, "world_size": 2}}, file)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kineto")
    for rank in (0, 3):
        write_trace(folder / f"rank{rank}.json", rank)
    return folder


@pytest.fixture(scope="module")
def analysis(folder):
    return TraceAnalysis(trace_dir=folder)


def test_times(analysis):
    times = analysis.get_temporal_breakdown()
    assert times["rank"].tolist() == [0, 3]
    # 10.25 to 60 without a gap, 60 to 65, 70 to 74, 80 to 81; of these computation 30, 5 and 1
    assert times.loc[0, ["kernel_time(us)", "idle_time(us)", "compute_time(us)", "non_compute_time(us)"]].tolist() == [70.75, 11, 36, 23.75]
    assert times["idle_time_pctg"].tolist() == [15.55, 15.55]
    assert analysis.get_comm_comp_overlap()["comp_comm_overlap_pctg"].tolist() == [34.17, 34.17]  # 10.25 of 30 us


def test_kernels(analysis):
    kinds, kernels = analysis.get_gpu_kernel_breakdown()
    assert dict(zip(kinds["kernel_type"], kinds["sum"], strict=True)) == {
        "COMPUTATION": 2 * 25.75, "COMMUNICATION": 2 * 19.75, "COMPUTATION overlapping COMMUNICATION": 2 * 10.25, "MEMORY": 2 * 4}
    gemm = kernels[kernels["name"] == "gemm"].iloc[0]
    assert gemm[["sum (us)", "max (us)", "min (us)", "mean (us)"]].tolist() == [30, 20, 10, 15] and gemm["stddev"] == pytest.approx(50**0.5)
    others = analysis.get_gpu_kernel_breakdown(num_kernels=1)[1]
    others = others[(others["name"] == "others") & (others["rank"] == 3)].iloc[0]
    assert others[["sum (us)", "max (us)", "min (us)", "mean (us)"]].tolist() == [6, 5, 1, 3] and others["stddev"] == pytest.approx(8**0.5)


def test_launches_and_queues(analysis):
    with pytest.warns(UserWarning, match="leaves out 1 launches by cuLaunchKernel, as HTA does"):
        launches = analysis.get_cuda_kernel_launch_stats(ranks=[3])[3].set_index("correlation")
    assert launches.loc[100].to_dict() == {"cpu_duration": 2, "gpu_duration": 10, "launch_delay": 6.25}
    assert len(launches) == 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(analysis.get_cuda_kernel_launch_stats(include_memory_events=False)[0]) == 4
    series = analysis.get_queue_length_time_series()[0]
    first = series[series["stream"] == 7]
    assert first["queue_length"].tolist()[:4] == [1, 2, 1, 0]
    assert (first["ts"] - first["ts"].iloc[0]).tolist()[:4] == [0, 3, 8.25, 18.25]
    assert analysis.get_queue_length_summary()["queue_length"].loc[(0, 7), "max"] == 2


def test_idle_time(analysis):
    causes, statistics = analysis.get_idle_time_breakdown(ranks=[0, 3], streams=[7])
    assert statistics is None
    assert causes[causes["rank"] == 3].set_index("idle_category")["idle_time"].to_dict() == {"host_wait": 19.75 + 5 + 6}
    with pytest.raises(chakra_et.Error, match="only 30"):
        analysis.get_idle_time_breakdown(consecutive_kernel_delay=50)
    with pytest.raises(chakra_et.Error, match="single gaps"):
        analysis.get_idle_time_breakdown(show_idle_interval_stats=True)


def test_the_last_step_is_left_out(tmp_path):
    write_trace(tmp_path / "steps.json", 0, [(1, 40), (45, 90)])
    analysis = TraceAnalysis(trace_dir=tmp_path)
    assert analysis.get_profiler_steps() == [4]
    assert set(analysis.get_gpu_kernel_breakdown()[1]["name"]) == {"gemm", NCCL}
    whole = TraceAnalysis(trace_dir=tmp_path, include_last_profiler_step=True)
    assert whole.get_profiler_steps() == [4, 5] and len(whole.get_gpu_kernel_breakdown()[1]) == 5


def test_each_other_call_names_a_table(analysis):
    for name in UNANSWERED:
        with pytest.raises(chakra_et.Error, match=f"{name} has no answer with HTA's values") as error:
            getattr(analysis, name)(0, x=1)
        assert error.value.tag == "cli.usage" and error.value.code == 2
    with pytest.raises(AttributeError):
        analysis.get_nothing  # noqa: B018


def test_inputs_that_cannot_be_analysed(folder, tmp_path):
    for inputs, match in (({"trace_dir": tmp_path}, "no Kineto trace"), ({"trace_dir": tmp_path / "none"}, "no folder"), ({"trace_files": {}}, "no Kineto"),
                          ({"trace_files": [folder / "rank0.json", folder / "rank0.json"]}, "a second trace of rank 0")):
        with pytest.raises(chakra_et.Error, match=match):
            TraceAnalysis(**inputs)
    (tmp_path / "cut.json").write_bytes((folder / "rank0.json").read_bytes()[:-300])
    with pytest.raises(chakra_et.Error) as error:
        TraceAnalysis(trace_dir=tmp_path)
    assert error.value.tag == "pytorch.json.truncated"
    with pytest.raises(chakra_et.Error, match="no trace of rank 1; there are 0, 3"):
        TraceAnalysis(trace_dir=folder).get_idle_time_breakdown(ranks=[1])
    assert list(TraceAnalysis({5: folder / "rank0.json"}).jobs) == [5]
