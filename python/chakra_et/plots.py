"""Plots of answers and jobs, through matplotlib where it is installed.

    answer.plot("ranks")                             # bars of a table; also answer.table("ranks").plot()
    chakra_et.plots.timeline(job)                    # what each rank runs

Each function returns matplotlib's Axes. A notebook shows the figure; a script calls axes.figure.savefig("figure.png").
"""
import importlib

from . import _chakra

SHOWN_BARS = 30
PLACES = ("row", "rank", "device", "stream", "node")  # columns of numbers that name a row
UNITS_OF_TIME = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999")
KINDS = (("computation", ("comp",)), ("communication", ("comm_send", "comm_recv", "comm_coll")), ("memory", ("mem_load", "mem_store")))


def _axes(axes, height=3.5):
    if axes is not None:
        return axes
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError("plots of chakra_et need matplotlib; install it with: pip install matplotlib") from error
    return pyplot.subplots(figsize=(8, height), layout="constrained")[1]


def time_unit(largest_ps):
    """Return (picoseconds, name) of the unit in which a time is at least 1."""
    return next((unit for unit in UNITS_OF_TIME if abs(largest_ps) >= unit[0]), UNITS_OF_TIME[-1])


def bars(names, values, *, title="", label="", legend="", axes=None):
    """Draw horizontal bars: names, and a list of numbers for each label of `values`, stacked. legend: the axis of the names."""
    axes = _axes(axes, 1.2 + 0.28 * max(2, len(names)))
    left = [0.0] * len(names)
    for color, (name, numbers) in zip(COLORS * (1 + len(values) // len(COLORS)), values.items(), strict=False):
        axes.barh(range(len(names)), numbers, left=left, label=name, color=color)
        left = [start + number for start, number in zip(left, numbers, strict=True)]
    axes.set_yticks(range(len(names)), [name if len(name) <= 60 else name[:57] + "..." for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set(title=title, xlabel=label, ylabel=legend)
    axes.spines[["top", "right"]].set_visible(False)
    if len(values) > 1:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return axes


def histogram(numbers, *, title="", label="", line=None, axes=None):
    """Draw how often numbers occur, and a dashed line at `line`."""
    axes = _axes(axes)
    axes.hist(numbers, bins=50, color=COLORS[0])
    if line is not None:
        axes.axvline(line, color=COLORS[5], linestyle="--")
    axes.set(title=title, xlabel=label, ylabel="count", yscale="log")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def table(source, value=None, *, by=None, axes=None):
    """Draw a column of a table as bars, one for each row, at most 30.

    value: the column (default: the first one in ps, else the first column of numbers that does not name the row). by: columns that name
    the rows (default: texts and ranks left of `value`). Missing values are drawn as 0. Errors: ValueError without a column of numbers.
    """
    keys, units = source.keys(), source.units
    value = value or _value_column(source)
    if by is None:
        by = [key for key in keys[:keys.index(value)] if source[key].dtype.kind not in "iuf" or key in PLACES and len(set(source[key].tolist())) > 1]
    by = [by] if isinstance(by, str) else list(by)
    numbers = [0 if number is None else number for number in source[value][:SHOWN_BARS].tolist()]
    columns = [source[key][:SHOWN_BARS].tolist() for key in by]
    names = [", ".join("" if part is None else str(part) for part in row) for row in zip(*columns, strict=True)] or [str(row) for row in range(len(numbers))]
    unit = units.get(value) or ""
    if unit == "ps":
        scale, unit = time_unit(max(map(abs, numbers), default=0))
        numbers = [number / scale for number in numbers]
    more = f", {len(numbers)} of {len(source):,} rows" if len(source) > len(numbers) else ""
    return bars(names, {value: numbers}, title=source.key + more, label=value.removesuffix("_ps") + (f" [{unit}]" if unit else ""),
                legend=", ".join(by), axes=axes)


def _value_column(source):
    keys, units = source.keys(), source.units
    if times := [key for key in keys if units.get(key) == "ps"]:
        return times[0]
    numeric = [key for key in keys if source[key].dtype.kind in "iuf"]
    chosen = [key for key in numeric if key not in PLACES] or numeric
    if not chosen:
        raise ValueError(f"table {source.key!r} has no column of numbers to plot")
    return chosen[0]


def timeline(job, ranks=None, *, axes=None):
    """Draw when the nodes of each rank run, as recorded: a lane for the host and one for the device of each rank.

    ranks: only these. Zeros of the clocks are aligned if all traces have one. Errors: ValueError for traces without start times, such as
    generated ones; KeyError for an unknown rank.
    """
    import numpy

    ranks = job.ranks if ranks is None else list(ranks)
    for rank in ranks:
        if rank not in job.ranks:
            raise KeyError(f"no rank {rank}; there are {', '.join(map(str, job.ranks))}")
    traces = {rank: job.trace(rank) for rank in ranks}
    bases = [trace.base_ns for trace in traces.values()]
    lanes, last = [], 0
    for rank, trace in traces.items():
        offset = 1000 * (trace.base_ns - min(bases)) if min(bases) > 0 else 0
        start, duration, kind, device = (trace[key] for key in ("start_ps", "dur_ps", "type", "on_device"))
        known = ~numpy.ma.getmaskarray(start) & (numpy.ma.filled(duration, 0) > 0)
        for on_device, place in ((False, "host"), (True, "device")):
            spans = {}
            for name, types in KINDS:
                rows = known & (device == on_device) & numpy.isin(kind, [_chakra.NodeType[each] for each in types])
                if rows.any():
                    spans[name] = numpy.stack([numpy.ma.filled(start, 0)[rows] + offset, numpy.ma.filled(duration, 0)[rows]], axis=1)
            if spans:
                lanes.append((f"rank {rank} {place}", spans))
                last = max([last, *(int(each.sum(axis=1).max()) for each in spans.values())])
    if not lanes:
        raise ValueError("the job has no start times: a timeline needs recorded traces")
    axes = _axes(axes, 1.2 + 0.45 * len(lanes))
    scale, unit = time_unit(last)
    for row, (_, spans) in enumerate(lanes):
        for (name, _), color in zip(KINDS, COLORS, strict=False):
            if name in spans:
                axes.broken_barh((spans[name] / scale).tolist(), (row - 0.4, 0.8), facecolors=color)
    axes.set_yticks(range(len(lanes)), [name for name, _ in lanes])
    axes.set_ylim(len(lanes) - 0.4, -0.6)
    axes.set(title="Recorded timeline", xlabel=f"time [{unit}]")
    axes.spines[["top", "right"]].set_visible(False)
    shown = [(name, color) for (name, _), color in zip(KINDS, COLORS, strict=False) if any(name in spans for _, spans in lanes)]
    axes.legend([axes.broken_barh([], (0, 0), facecolors=color) for _, color in shown], [name for name, _ in shown], frameon=False,
                loc="upper left", bbox_to_anchor=(1, 1))
    return axes
