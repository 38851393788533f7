"""Chakra execution traces: make a job, ask it, write it.

    import chakra_et
    job = chakra_et.open("traces")                       # or link(), generate.step(), generate.serve(), Job.of()
    answer = job.simulate(network="network.yml")
    answer["makespan_ps"], answer.table("ranks")["finish_ps"]

The verbs and their options are those of the command `chakra`. Times are whole picoseconds. Nothing starts a thread at import,
and NumPy is imported by the first array.
"""
import os

from . import _chakra
from ._base import Answer, Error, Finding, Place, Table
from ._chakra import Builder, CommType, EdgeKind, Edges, NodeType, Trace
from ._verbs import Job, calibrate, generate, link

__version__ = _chakra.version()
__all__ = ["Answer", "Builder", "CommType", "EdgeKind", "Edges", "Error", "Finding", "Job", "NodeType", "Place", "Table", "Trace",
           "calibrate", "generate", "link", "names", "open"]


def open(path: str | os.PathLike) -> Job:
    """A job: a prefix (PREFIX.<rank>.et), a folder, a container, one trace, or a job by classes (ranks.json).

    Only its name is looked at; the first verb reads it. Errors: io.job.none and others of finding ranks.
    """
    return Job(_chakra.open(os.fspath(path)))


def names(kind: str) -> list[str]:
    """The names that an option may take: names('devices'), names('models'); `chakra list` has the kinds. Errors: cli.usage."""
    return _chakra.names(kind)
