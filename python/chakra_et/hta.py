"""Calls of HolisticTraceAnalysis (HTA), answered by chakra.

    from chakra_et.hta import TraceAnalysis          # instead of hta.trace_analysis
    TraceAnalysis(trace_dir="traces").get_temporal_breakdown()

Names, arguments and columns are those of HTA 0.5.0, and times are microseconds. Times are exact: HTA rounds times with decimals to
whole microseconds. visualize=True needs matplotlib; the default is False. A call without an equal answer raises chakra_et.Error
and names the table of chakra. docs/how-to/hta.md lists calls and differences. Requires pandas and pyarrow.
"""
import collections
import os
import warnings

from . import Error, Place, link
from ._base import path_of

__all__ = ["TraceAnalysis"]

US = 1_000_000  # picoseconds
TYPES = ("computation", "communication", "memory")
MEMORY_CALLS = ("cudaMemcpyAsync", "cudaMemsetAsync")
LAUNCH_CALLS = ("cudaLaunchKernel", "cudaLaunchKernelExC", *MEMORY_CALLS)  # calls of HTA's launch statistics
QUEUE_CALLS = (*LAUNCH_CALLS, "cuLaunchKernel", "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemsetAsync", "hipMemcpyAsync",
               "hipMemcpyWithStream")  # and of its queue lengths
KERNEL_WAIT_NS = 30  # gaps of analysis `idle`

# Calls of HTA that no table answers with the same values: name -> the nearest answer.
UNANSWERED = {
    "get_potential_stragglers": "job.analyze(only='stragglers').table('stragglers') counts late arrivals, with clocks aligned",
    "get_gpu_kernels_with_user_annotations": "job.analyze(only='modules').table('annotations') has device time by annotation",
    "get_gpu_user_annotation_breakdown": "job.analyze(only='modules').table('annotations') has device time by annotation",
    "get_frequent_cuda_kernel_sequences": "job.analyze(only='sequences').table('sequences') has the sequences of all operators",
    "get_aten_op_kernels_and_delay": "job.analyze(only='operators,launches') has tables of operators and launches",
    "generate_trace_with_counters": "job.view('timeline.json') writes a timeline",
    "get_time_spent_blocked_on_full_queue": "job.analyze(only='queues').table('queue_lengths')['full_ps'] is the time at 1,024 or more",
    "get_memory_bw_summary": "job.analyze(only='copies').table('copies') has the bandwidth of copies by direction",
    "get_memory_bw_time_series": "job.analyze(only='copies').table('copies') has the bandwidth of copies by direction",
    "get_cupti_counter_data_with_operators": "chakra reads no performance counters",
    "critical_path_analysis": "job.analyze(only='critical_path') has the critical path of each rank",
    "overlay_critical_path_analysis": "job.analyze(only='critical_path') has the critical path of each rank",
}


def _refuse(text, file=""):
    return Error(f"chakra_et.hta: {text}", "cli.usage", text, Place(file, None, None), 2)


def _files(trace_files, trace_dir):
    """Return (rank or None, path) of each trace. A folder is searched as HTA does: names that end with .json or .gz."""
    if trace_files is None:
        folder = path_of(trace_dir)
        if not os.path.isdir(folder):
            raise _refuse(f"no folder of Kineto traces: {folder}", folder)
        trace_files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith((".json", ".gz"))]
    if not trace_files:
        raise _refuse(f"no Kineto trace (.json, .gz) in {trace_dir}", path_of(trace_dir))
    pairs = sorted(trace_files.items()) if isinstance(trace_files, dict) else [(None, path) for path in trace_files]
    return [(rank, path_of(path)) for rank, path in pairs]


def _join_small(kernels, duration_ratio, num_kernels):
    """Rename kernels to "others" as HTA does, and join their statistics."""
    import numpy

    kernels = kernels.sort_values("sum", ascending=False, ignore_index=True, kind="stable")
    if len(kernels) <= num_kernels:
        return kernels
    cumulated = kernels["sum"].cumsum()
    small = (cumulated > cumulated.quantile(duration_ratio)) | (kernels.index >= num_kernels)
    rest = kernels[small]
    count, total = rest["count"].sum(), rest["sum"].sum()
    mean = total / count
    squares = ((rest["count"] - 1) * rest["std"] ** 2 + rest["count"] * (rest["mean"] - mean) ** 2).sum()
    kept = kernels[~small].copy()
    kept.loc[len(kernels)] = {"name": "others", "count": count, "sum": total, "max": rest["max"].max(), "min": rest["min"].min(),
                              "mean": mean, "std": float(numpy.sqrt(squares / (count - 1))) if count > 1 else 0.0}
    return kept


class TraceAnalysis:
    """Analyse a folder of Kineto traces, one for each rank, with the calls of HTA's TraceAnalysis.

    trace_files: rank -> path, or a list of paths. trace_dir: a folder, without trace_files. include_last_profiler_step: keep the
    device operations of the last ProfilerStep. Errors: those of chakra_et.link, cli.usage for two traces of one rank.
    """

    def __init__(self, trace_files=None, trace_dir=".", include_last_profiler_step=False):
        self.jobs = {}
        files = _files(trace_files, trace_dir)
        for rank, path in files:
            try:
                job = link([path], rank=rank)
            except Error as error:
                if error.tag != "io.job.rank" or len(files) > 1:
                    raise
                job = link([path], rank=0)  # as HTA does
            if job.ranks[0] in self.jobs:
                raise _refuse(f"{path}: a second trace of rank {job.ranks[0]}; name the ranks by trace_files={{0: ..., 1: ...}}", path)
            self.jobs[job.ranks[0]] = job
        self.jobs = dict(sorted(self.jobs.items()))
        self._launched = "steps" if include_last_profiler_step else "before-last-step"
        self._answers = {}

    def __getattr__(self, name):
        if name in UNANSWERED:
            def unanswered(*arguments, **options):
                raise _refuse(f"{name} has no answer with HTA's values; {UNANSWERED[name]}")
            return unanswered
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self):
        return [*super().__dir__(), *UNANSWERED]

    def _table(self, rank, analysis, key):
        if rank not in self.jobs:
            raise _refuse(f"no trace of rank {rank}; there are {', '.join(map(str, self.jobs))}")
        if (rank, analysis) not in self._answers:
            self._answers[rank, analysis] = self.jobs[rank].analyze(only=analysis, launched=self._launched)
        table = self._answers[rank, analysis].table(key)
        return _frame({name: table[name] for name in table.keys()})

    def _kinds(self, rank):
        """Return kinds -> busy time in us, of any device."""
        kinds = self._table(rank, "kernels", "kernel_kinds")
        if (kinds["device"] == "any").any():
            kinds = kinds[kinds["device"] == "any"]
        return {frozenset(kind.split(" and ")): time / US for kind, time in zip(kinds["kind"], kinds["time_ps"], strict=True)}

    def _streams(self, table, rank):
        if table.groupby("stream")["device"].nunique().gt(1).any():
            raise _refuse(f"rank {rank} has streams of the same number on several devices, which HTA joins")
        return table

    def get_profiler_steps(self):
        """Return the numbers of the ProfilerSteps of all ranks, without the last one by default."""
        found = set()
        for job, rank in ((job, rank) for rank, job in self.jobs.items()):
            trace = job.trace(rank)
            rows = sorted((int(trace["start_ps"][row]), trace.name(row)) for row in range(len(trace))
                          if trace.name(row).startswith("ProfilerStep#"))
            steps = [int(name.removeprefix("ProfilerStep#")) for _, name in rows]
            found.update(steps[:-1] if len(steps) > 1 and self._launched == "before-last-step" else steps)
        return sorted(found)

    def get_temporal_breakdown(self, visualize=False):
        """Return idle, compute and other time of the device for each rank (us, percent)."""
        rows = []
        for rank in self.jobs:
            times = self._table(rank, "kernels", "device_time")
            if not len(times):
                raise _refuse(f"rank {rank} has no device operations")
            span, idle = (int(times[key].iloc[-1]) / US for key in ("span_ps", "idle_ps"))  # the last row is any device, or the only one
            compute = sum(time for kinds, time in self._kinds(rank).items() if "computation" in kinds)
            other = max(0.0, round(span - idle - compute, 6))
            rows.append([rank, idle, compute, other, span, *(round(100 * part / span, 2) for part in (idle, compute, other))])
        frame = _frame(rows, ["rank", "idle_time(us)", "compute_time(us)", "non_compute_time(us)", "kernel_time(us)", "idle_time_pctg",
                              "compute_time_pctg", "non_compute_time_pctg"])
        if visualize:
            _draw(frame, "rank", ["compute_time(us)", "non_compute_time(us)", "idle_time(us)"], "Temporal breakdown", "time [us]")
        return frame

    def get_comm_comp_overlap(self, visualize=False):
        """Return the share of communication time during which computation runs, for each rank (percent)."""
        rows = []
        for rank in self.jobs:
            communication = {kinds: time for kinds, time in self._kinds(rank).items() if "communication" in kinds}
            total = sum(communication.values())
            overlapped = sum(time for kinds, time in communication.items() if "computation" in kinds)
            rows.append([rank, round(100 * overlapped / total, 2) if total else float("nan")])
        frame = _frame(rows, ["rank", "comp_comm_overlap_pctg"])
        if visualize:
            _draw(frame, "rank", ["comp_comm_overlap_pctg"], "Computation-communication overlap", "overlap [%]")
        return frame

    def get_gpu_kernel_breakdown(self, visualize=False, duration_ratio=0.8, num_kernels=10, include_memory_kernels=True, image_renderer=""):
        """Return (time by kind of kernel, statistics by kernel and rank) (us, percent).

        Kernels beyond num_kernels, or beyond the quantile duration_ratio of the accumulated time, become one row "others".
        image_renderer has no effect: plots use matplotlib.
        """
        import pandas

        types = TYPES if include_memory_kernels else TYPES[:2]
        totals, parts = collections.Counter(), []
        for rank in self.jobs:
            for kinds, time in self._kinds(rank).items():
                if name := " overlapping ".join(kind.upper() for kind in types if kind in kinds):
                    totals[name] += time
            kernels = self._table(rank, "kernels", "kernels")
            times = {key: kernels[f"{key}_ps"].fillna(0).astype("float64") / US for key in ("sum", "max", "min", "mean", "std")}
            kernels = kernels[["name", "kind", "count"]].assign(**times)
            for kind in types:
                part = _join_small(kernels[kernels["kind"] == kind].drop(columns="kind"), duration_ratio, num_kernels)
                parts.append(part.assign(kernel_type=kind.upper(), rank=rank))
        by_type = _frame(sorted(totals.items(), key=lambda item: -item[1]), ["kernel_type", "sum"])
        by_type["percentage"] = (100 * by_type["sum"] / by_type["sum"].sum()).round(1)
        by_kernel = pandas.concat(parts, ignore_index=True).sort_values(["kernel_type", "name", "rank"], ignore_index=True)
        by_kernel = by_kernel.rename(columns={"sum": "sum (us)", "max": "max (us)", "min": "min (us)", "std": "stddev", "mean": "mean (us)"})
        if visualize:
            _draw(by_type, "kernel_type", ["sum"], "Time by kind of kernel, all ranks", "time [us]")
        return by_type, by_kernel[["name", "sum (us)", "max (us)", "min (us)", "stddev", "mean (us)", "kernel_type", "rank"]]

    def get_cuda_kernel_launch_stats(self, ranks=None, runtime_cutoff=50, launch_delay_cutoff=100, include_memory_events=True, visualize=False):
        """Return rank -> the time of each launch, of its operation, and the delay between them (us).

        runtime_cutoff and launch_delay_cutoff (us) are lines of the plots alone, as in HTA.
        """
        result = {}
        for rank in ranks or [0]:
            launches = self._table(rank, "launches", "launches_each")
            self._warn_of_other_calls(launches, LAUNCH_CALLS, "get_cuda_kernel_launch_stats leaves out", "as HTA does", "launches_each")
            launches = launches[launches["call"].isin([call for call in LAUNCH_CALLS if include_memory_events or call not in MEMORY_CALLS])]
            result[rank] = _frame({"correlation": launches["correlation"].astype("int64"), **{
                name: launches[key].astype("int64") / US for name, key in (("cpu_duration", "call_duration_ps"), ("gpu_duration", "operation_duration_ps"),
                                                                           ("launch_delay", "delay_ps"))}}).reset_index(drop=True)
            if visualize:
                _draw_launches(result[rank], rank, runtime_cutoff, launch_delay_cutoff)
        return result

    def _warn_of_other_calls(self, launches, known, what, why, table):
        others = launches["call"][~launches["call"].isin(known)]
        if len(others):
            warnings.warn(f"{what} {len(others)} launches by {', '.join(sorted(set(others)))}, {why}; table {table!r} has all", stacklevel=3)

    def get_queue_length_time_series(self, ranks=None):
        """Return rank -> each change of the number of launched operations that have not begun, by stream (ts in us)."""
        zero = min(self.jobs[rank].trace(rank).base_ns for rank in self.jobs)
        result = {}
        for rank in ranks or [0]:
            launches = self._table(rank, "launches", "launches_each")
            self._warn_of_other_calls(launches, QUEUE_CALLS, "queue lengths include", "which HTA leaves out", "queue_lengths")
            series = self._streams(self._table(rank, "queues", "queue_lengths_over_time"), rank)
            if len(series):
                result[rank] = _frame({"ts": series["from_ps"].astype("int64") / US + (self.jobs[rank].trace(rank).base_ns - zero) / 1000,
                                       "pid": series["device"].astype("int64"), "tid": series["stream"].astype("int64"),
                                       "stream": series["stream"].astype("int64"), "queue_length": series["length"].astype("int64")})
        return result

    def get_queue_length_summary_from_time_series(self, queue_length_dict):
        """Return statistics of the queue lengths of get_queue_length_time_series() by rank and stream, or None."""
        import pandas

        parts = [series.assign(rank=rank)[["rank", "stream", "queue_length"]].groupby(["rank", "stream"]).describe()
                 for rank, series in queue_length_dict.items()]
        return pandas.concat(parts) if parts else None

    def get_queue_length_summary(self, ranks=None):
        """Return statistics of the queue lengths by rank and stream, or None without launches."""
        return self.get_queue_length_summary_from_time_series(self.get_queue_length_time_series(ranks))

    def get_idle_time_breakdown(self, ranks=None, streams=None, visualize=False, visualize_pctg=True, show_idle_interval_stats=False,
                                consecutive_kernel_delay=KERNEL_WAIT_NS):
        """Return (idle time of each stream by cause (us), None).

        consecutive_kernel_delay: only 30 (ns). show_idle_interval_stats: only False.
        """
        import pandas

        if consecutive_kernel_delay != KERNEL_WAIT_NS:
            raise _refuse(f"consecutive_kernel_delay: only {KERNEL_WAIT_NS} (ns), the limit of analysis 'idle'")
        if show_idle_interval_stats:
            raise _refuse("show_idle_interval_stats: chakra keeps no statistics of single gaps")
        parts = []
        for rank in ranks or [0]:
            causes = self._streams(self._table(rank, "idle", "idle_causes"), rank)
            if streams:
                causes = causes[causes["stream"].isin(streams)]
            times = causes["time_ps"].astype("int64") / US
            totals = times.groupby(causes["stream"]).transform("sum")
            parts.append(_frame({"rank": rank, "stream": causes["stream"].astype("int64"), "idle_category": causes["cause"].str.replace(" ", "_"),
                                 "idle_time": times.round(2), "idle_time_ratio": (times / totals).round(2)}))
            if visualize:
                value = "idle_time_ratio" if visualize_pctg else "idle_time"
                wide = parts[-1].pivot(index="stream", columns="idle_category", values=value).fillna(0).reset_index()
                _draw(wide, "stream", list(wide.columns[1:]), f"Idle time of rank {rank} by stream", value)
        return pandas.concat(parts, ignore_index=True), None


def _frame(values, columns=None):
    import pandas

    return pandas.DataFrame(values, columns=columns)


def _draw(frame, key, values, title, label):
    from .plots import bars

    bars([str(each) for each in frame[key]], {value: frame[value].tolist() for value in values}, title=title, label=label, legend=key)


def _draw_launches(launches, rank, runtime_cutoff, launch_delay_cutoff):
    from .plots import histogram

    histogram(launches["cpu_duration"], title=f"Launches of rank {rank}", label="call [us]", line=runtime_cutoff)
    histogram(launches["launch_delay"], title=f"Launches of rank {rank}", label="delay [us]", line=launch_delay_cutoff)
