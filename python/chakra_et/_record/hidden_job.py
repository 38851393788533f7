"""Link the raw recordings of a job inside of the private folder, hide its labels, and put the traces into the output folder."""
import os
import shutil

from . import output
from .command import run
from .errors import RecordError, warn
from .hide import Hider


def link(command, private, raw, out, complete):
    """`raw`, and the manifests of its ranks: what PrivateFolder.take() returns. The raw files are removed in any case."""
    folder, manifests = raw
    linked, hidden = os.path.join(private, "linked"), os.path.join(private, "hidden")
    world = manifests[0]["ranks"] if manifests else 0
    if len(manifests) < world:
        why = "ranks of other hosts are linked there, and clocks of hosts are not compared" if complete else "the others ended early"
        warn(f"{len(manifests)} of {world} ranks are linked together: {why}")
    try:
        os.makedirs(hidden, 0o700, exist_ok=True)
        os.makedirs(out, exist_ok=True)
        try:
            run(command, ["link", folder, "-o", linked], private, silent=True)
        except RecordError:  # PyTorch does not escape quotes in labels, and the raw files exist only once
            shutil.rmtree(linked, ignore_errors=True)
            run(command, ["link", "--salvage", folder, "-o", linked], private, silent=True)
            warn("the recordings are damaged, by labels with quotes perhaps; damaged records were left out")
        hider = Hider()
        for rank in sorted(manifest["rank"] for manifest in manifests):
            trace, plain, lines = (os.path.join(hidden, f"{name}.{rank}.{end}") for name, end in (("trace", "et"), ("plain", "jsonl"), ("lines", "jsonl")))
            run(command, ["convert", os.path.join(linked, f"trace.{rank}.et"), "-o", plain], private, silent=True)
            hider.file(plain, lines)
            run(command, ["convert", lines, "-o", trace], private, silent=True)
        for manifest in manifests:
            kept = output.shared_manifest(manifest)
            name = output.publish(os.path.join(hidden, f"trace.{manifest['rank']}.et"), os.path.join(out, f"trace.{manifest['rank']}.et"), False)
            kept["files"], kept["hidden"] = {"trace": {"name": name}}, dict(hider.hidden)
            output.write_manifest(out, kept)
    finally:
        for path in (folder, linked, hidden):
            shutil.rmtree(path, ignore_errors=True)
