"""Link the raw recordings of a job inside of the private folder, hide its labels, and put the traces into the output folder."""
import json
import os
import shutil
import tempfile

from . import output
from .command import run
from .errors import RecordError, warn


def hide(command, private, linked, hidden):
    """Hide the names of the traces with a key that nobody keeps. Return how much was hidden."""
    with tempfile.TemporaryDirectory(dir=private) as folder:
        key, names, answer = (os.path.join(folder, name) for name in ("key", "names", "answer.json"))
        run(command, ["obfuscate", linked, "--key", key, "--new-key", "--names", names, "-o", hidden, "--json", answer], private, silent=True)
        with open(answer, encoding="utf-8") as file:
            found = json.load(file)
    return {"names": found["hidden_nodes"], "members": sum(row["count"] for row in found["dropped"]), "words": found["words"]}


def link(command, private, raw, out, complete):
    """`raw`, and the manifests of its ranks: what PrivateFolder.take() returns. The raw files are removed in any case."""
    folder, manifests = raw
    linked, hidden = os.path.join(private, "linked"), os.path.join(private, "hidden")
    world = manifests[0]["ranks"] if manifests else 0
    if len(manifests) < world:
        why = "ranks of other hosts are linked there, and clocks of hosts are not compared" if complete else "the others ended early"
        warn(f"{len(manifests)} of {world} ranks are linked together: {why}")
    try:
        os.makedirs(out, exist_ok=True)
        try:
            run(command, ["link", folder, "-o", linked], private, silent=True)
        except RecordError:  # PyTorch does not escape quotes in labels, and the raw files exist only once
            shutil.rmtree(linked, ignore_errors=True)
            run(command, ["link", "--salvage", folder, "-o", linked], private, silent=True)
            warn("the recordings are damaged, by labels with quotes perhaps; damaged records were left out")
        counts = hide(command, private, linked, hidden)
        traces = sorted(name for name in os.listdir(hidden) if output.OWN.match(name))
        for name in traces:
            output.publish(os.path.join(hidden, name), os.path.join(out, name), False)
        for manifest in manifests:
            kept, own = output.shared_manifest(manifest), f"trace.{manifest['rank']}.et"
            one_each = len(traces) == len(manifests) and own in traces  # else a process has several devices, each with a trace
            kept["files"], kept["hidden"] = {"trace": {"name": own}} if one_each else {"traces": {"names": traces}}, counts
            output.write_manifest(out, kept)
    finally:
        for path in (folder, linked, hidden):
            shutil.rmtree(path, ignore_errors=True)
