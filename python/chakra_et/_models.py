"""Models and feeders: what a simulator in Python replaces or uses."""
from __future__ import annotations

from collections import namedtuple

from . import _chakra

Meeting = namedtuple("Meeting", "group type bytes members first_ps last_ps")
Meeting.__doc__ = """A collective whose last member has arrived.

group: the name of the process group. type: as in CommType, 'all_reduce'. bytes: the contribution of each rank. members: the number of
ranks. first_ps, last_ps: the arrivals.
"""


class Models:
    """Your models of durations, in place of the built-in ones: job.simulate(network=..., models=MyModels()).

    Derive a class, and define one or both methods. An exception of a method ends the simulation and reaches the caller unchanged.
    The simulation uses the contention model 'closed'.

    rank_independent: set to False if a method depends on the rank or the group. Otherwise equivalent ranks are simulated once.
    """

    rank_independent = True

    def prices(self, trace: _chakra.Trace, rank: int):
        """Return the durations of all nodes, an int64 array of len(trace) in picoseconds, or None to keep trace['dur_ps'].

        Called before the simulation, once for each trace. In a job by classes, once for each class; rank is then the first rank of the
        class. trace['dur_ps'] and the other columns are views without a copy, and you may keep the views.
        """
        return None

    def collective(self, meeting: Meeting):
        """Return the time from the last arrival to the end of the collective in picoseconds, or None to use the network model.

        Called during the simulation, once for each collective.
        """
        return None


def check_models(models):
    if not isinstance(models, Models):
        raise TypeError(f"models: {type(models).__name__} is not an object of a class derived from chakra_et.Models")


def is_rank_independent(models) -> bool:
    value = models.rank_independent() if callable(models.rank_independent) else models.rank_independent
    if not isinstance(value, bool):
        raise TypeError(f"rank_independent: {value!r} is not True or False")
    return value


def checked_prices(made, rows, rank):
    """Return the array of Models.prices() for the simulation, or None."""
    if made is None:
        return None
    import numpy

    wanted = f"prices() of rank {rank}: return an int64 array of {rows:,} values or None, not"
    if not isinstance(made, numpy.ndarray):
        raise TypeError(f"{wanted} {type(made).__name__}")
    if isinstance(made, numpy.ma.MaskedArray) or made.dtype != numpy.int64:
        raise TypeError(f"{wanted} {type(made).__name__} of {made.dtype}")
    if made.shape != (rows,):
        raise ValueError(f"{wanted} an array of shape {made.shape}")
    return numpy.ascontiguousarray(made)


def checked_time(made):
    """Return the time of Models.collective() as an int, or None."""
    if made is None:
        return None
    if isinstance(made, bool) or not hasattr(made, "__index__"):
        raise TypeError(f"collective(): return picoseconds as an int or None, not {type(made).__name__}")
    time = made.__index__()
    if not -(1 << 63) <= time < 1 << 63:
        raise ValueError(f"collective(): {time} ps is out of range")
    return time


def _whole(name, values, dtype):
    """Return whole numbers as an array of one dimension. Never rounds or wraps."""
    import numpy

    array = numpy.atleast_1d(numpy.asarray(values))
    if array.size == 0:
        return numpy.empty(0, dtype)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: whole numbers are required, not {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"{name}: one dimension is required, not {array.ndim}")
    if array.min() < 0 or array.max() > numpy.iinfo(dtype).max:
        raise ValueError(f"{name}: a value is out of range")
    return numpy.ascontiguousarray(array, dtype)


class Feeder(_chakra.Feeder):
    """Hand out the rows of a trace as soon as their dependencies are done, for simulators in Python.

    start() and done() return two arrays: the rows that may start now (uint32), and the earliest start of each row in picoseconds (int64):
    the maximum of end plus lag over the dependencies. Rows ascend within start(), and among the rows that one end makes ready. Many rows
    in one call cost less than one call for each row.

    remaining: the rows that are not done. queues: the queue of each row (int64 array; -1: no queue); a queue runs one node at a time, and
    the simulator of the package takes the lowest ready row first. Errors of Feeder(trace): sim.trace.defect, sim.stuck.cycle.
    """

    def done(self, rows, end_ps):
        """Report the end of one row or of several rows. Return the rows that may start now, and their times.

        rows: a row, or an array of rows. end_ps: the end of each row, or one end for all rows. After an error, no row of the call is
        done. Errors: feed.not_running for a row that was not handed out, is done, or is a duplicate.
        """
        import numpy

        rows, ends = _whole("rows", rows, numpy.uint32), _whole("end_ps", end_ps, numpy.int64)
        if len(ends) != len(rows) and len(ends) != 1:
            raise ValueError(f"end_ps: {len(ends):,} ends for {len(rows):,} rows")
        return self._done(rows, numpy.ascontiguousarray(numpy.broadcast_to(ends, rows.shape)) if len(rows) else numpy.empty(0, numpy.int64))
