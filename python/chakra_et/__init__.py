"""Chakra execution traces: make a job, query the job, write the job.

    import chakra_et
    job = chakra_et.open("traces")                       # or link(), generate.step(), generate.serve(), Job.of()
    answer = job.simulate(network="network.yml")
    answer["makespan_ps"], answer.table("ranks")["finish_ps"]

    with chakra_et.record("out/", steps=range(10, 13)):  # a PyTorch job; see chakra_et.record
        train()

The verbs and options are those of the command `chakra`. Times are integers in picoseconds. The import starts no thread; the first
array imports NumPy, and the first recording imports PyTorch.
"""
import builtins
import importlib
import os

try:
    from . import _chakra
except ImportError as error:
    if "libchakra" in str(error):
        raise ImportError("the shared library of chakra_et is missing: 'pip install --target' leaves it out; install into a virtual "
                          f"environment, or with --prefix ({error})") from error
    raise
from ._base import Answer, Error, Finding, Place, Table, path_of
from ._chakra import Builder, CommType, EdgeKind, Edges, NodeType, Trace, use_cores
from ._models import Feeder, Meeting, Models
from ._verbs import Job, calibrate, certify, convert, doctor, fleet, generate, import_workload, link, obfuscate, pack, select, sweep, unpack

__version__ = _chakra.version()
__all__ = ["Answer", "Builder", "CommType", "EdgeKind", "Edges", "Error", "Feeder", "Finding", "Job", "Meeting", "Models", "NodeType",
           "Place", "Table", "Trace", "calibrate", "certify", "convert", "doctor", "drivers", "fleet", "generate", "hta",
           "import_workload", "link", "list", "names",
           "obfuscate", "open", "pack", "plots", "record", "select", "sweep", "unpack", "use_cores"]


def __getattr__(name):
    if name in ("drivers", "hta", "plots", "record"):  # record is a module that can be called
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def open(path: str | os.PathLike) -> Job:
    """Open a prefix (PREFIX.<rank>.et), a folder, a container, one trace, or a job by classes (ranks.json).

    Only names are inspected; the first verb reads the traces. Errors: io.job.none and other errors of finding ranks.
    """
    return Job(_chakra.open(path_of(path)))


def list(kind: str = "") -> Answer:
    """Return the table of a kind, such as list("devices"); without a kind, the kinds. Errors: cli.usage."""
    return Answer(_chakra.list(kind))


def names(kind: str) -> builtins.list[str]:
    """Return the names that an option can take: names('devices'), names('models'). `chakra list` has the kinds. Errors: cli.usage."""
    return _chakra.names(kind)
