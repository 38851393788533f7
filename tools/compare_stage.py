#!/usr/bin/env python3
"""Collectives of jobs that STAGE wrote (symbolic_tensor_graph, data/stage) beside those of the same step from 'chakra gen step'.

    compare_stage.py [--bin DIR] [--data DIR] [--every-rank] [JOB...]

For every rank (of jobs with more than 8 ranks: the first and the last of each stage, unless --every-rank) and every kind and group: how
many there are of what, in both. All counts on both sides must be those of the closed forms below, so that a difference without a reason
fails. docs/reference/stage.md shows the tables and gives the reasons.
"""
import argparse
import collections
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import et

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AXES = ("dp", "tp", "cp", "pp")  # neighbours first, as STAGE numbers its ranks
MODEL = "--hidden 8192 --ffn 28672 --heads 64 --kv-heads 0 --gated false --vocab 32000 --sequence 1024"
Job = collections.namedtuple("Job", "dp tp cp pp layers micro_batches sequences fsdp", defaults=[False])  # sequences: of a micro-batch and rank
JOBS = {
    "dense_dp8_L8": Job(8, 1, 1, 1, 8, 1, 8),
    "fsdp_dp8_L8": Job(8, 1, 1, 1, 8, 1, 8, True),
    "dense_dp2tp2pp2_L4": Job(2, 2, 1, 2, 4, 4, 8),
    "dense_dp4tp4sp2pp2_L8": Job(4, 4, 2, 2, 8, 8, 2),
    "dense_dp8tp8pp4_L16": Job(8, 8, 1, 4, 16, 32, 1),
}
REASONS = {
    "a": "STAGE reduces the gradients of a layer in every micro-batch; ours, as Megatron-LM, in the last one",
    "b": "STAGE has one collective for each axis; ours one over all ranks with the same weights",
    "c": "STAGE has whole embeddings on every rank, and sums their gradients over the ranks that share tokens; ours shards the vocabulary",
    "d": "STAGE's FSDP leaves the embedding and the head whole; ours shards them as any part",
    "e": "STAGE's loss needs no other rank; with a sharded vocabulary it needs the sums of all",
    "f": "STAGE's norms have no weights; theirs see a share of the tokens each, so the gradients are summed",
}
WHAT = [  # of names in either job
    (r"(send|recv)|_Y_(SEND|RECV)$", "messages"),
    (r"transformer\.\d+\._sharded_grad|layer\d+\.gradients", "gradients of layers"),
    (r"transformer\.\d+\._assembled_weight|layer\d+\.parameters", "parameters of layers"),
    (r"attn_kernel\.[kv]|mha\.d[kv]@|layer\d+\.attention\.(rotate_k|v)\.", "keys and values"),
    (r"transformer\.|layer\d+\.", "activations of layers"),
    (r"(in|out)_emb\.w@|(embedding|head)\.gradients", "gradients of the ends"),
    (r"(embedding|head)\.parameters", "parameters of the ends"),
    (r"head\.loss\.", "loss"),
    (r"^norms\.", "gradients of norms"),
    (r"(embedding|head)\.", "activations of the ends"),
]
Row = collections.namedtuple("Row", "what kind axes")


def place(job, rank):
    result = []
    for axis in AXES:
        rank, at = divmod(rank, getattr(job, axis))
        result.append(at)
    return result


def axes_of(job, ranks, group=True):
    """The axes on which the ranks differ; those of a group must be all on them."""
    places = [place(job, rank) for rank in ranks]
    axes = [axis for i, axis in enumerate(AXES) if len({p[i] for p in places}) > 1]
    whole = math.prod(getattr(job, axis) for axis in axes) == len(set(ranks))
    return "-".join(axes) if whole or not group else f"{sorted(ranks)}"


def what(name):
    return next((text for pattern, text in WHAT if re.search(pattern, name)), name)


def communication(job, path, rank, groups):
    """Row -> [count, sum of comm_size] of a rank; its groups by name, else those that the trace lists."""
    metadata, nodes = et.read(path)
    if "process_groups" in metadata:
        groups = {g["pg_name"]: g["ranks"] for g in json.loads(metadata["process_groups"])}
    found = collections.defaultdict(lambda: [0, 0])
    for node in nodes:
        kind, attrs = et.NODE_TYPES[node["type"]], node["attrs"]
        if kind == "COLL":
            row = Row(what(node["name"]), et.COMM_TYPES[attrs.get("comm_type", 0)], axes_of(job, groups[attrs["pg_name"]]))
        elif kind in ("SEND", "RECV"):
            peer = attrs["comm_dst" if kind == "SEND" else "comm_src"]
            row = Row(what(node["name"]), kind, axes_of(job, [rank, peer], group=False))
        else:
            continue
        found[row][0] += 1
        found[row][1] += attrs.get("comm_size", 0)
    return found


def expected(job, stage):
    """Row -> (count in STAGE's job, in ours, reason where they differ)."""
    first, last = stage == 0, stage + 1 == job.pp
    layers, m, ends = job.layers // job.pp, job.micro_batches, first + last
    shared = [axis for axis in ("dp", "cp") if getattr(job, axis) > 1]
    rows = {
        ("messages", "SEND", "pp"): (m * (2 - ends), m * (2 - ends), ""),
        ("messages", "RECV", "pp"): (m * (2 - ends), m * (2 - ends), ""),
    }
    if job.tp > 1:
        rows |= {
            ("activations of layers", "ALL_GATHER", "tp"): (6 * layers * m, 6 * layers * m, ""),
            ("activations of layers", "REDUCE_SCATTER", "tp"): (4 * layers * m, 4 * layers * m, ""),
            ("activations of the ends", "ALL_GATHER", "tp"): (0, m * (first + 2 * last), "c"),
            ("activations of the ends", "REDUCE_SCATTER", "tp"): (0, m * ends, "c"),
            ("gradients of the ends", "ALL_REDUCE", "tp"): (ends, 0, "c"),
            ("loss", "ALL_REDUCE", "tp"): (0, 3 * m * last, "e"),
            ("gradients of norms", "ALL_REDUCE", "tp"): (0, 1, "f"),
        }
    if job.cp > 1:
        rows |= {("keys and values", kind, "cp"): (2 * layers * m, 2 * layers * m, "") for kind in ("ALL_GATHER", "REDUCE_SCATTER")}
    if job.fsdp:
        rows |= {
            ("parameters of layers", "ALL_GATHER", "dp"): (2 * layers * m, 2 * layers * m, ""),
            ("gradients of layers", "REDUCE_SCATTER", "dp"): (layers * m, layers * m, ""),
            ("parameters of the ends", "ALL_GATHER", "dp"): (0, 2 * ends * m, "d"),
            ("gradients of the ends", "REDUCE_SCATTER", "dp"): (0, ends * m, "d"),
            ("gradients of the ends", "ALL_REDUCE", "dp"): (ends, 0, "d"),
        }
        return {Row(*key): value for key, value in rows.items() if value[0] or value[1]}
    for axis in shared + (["-".join(shared)] if len(shared) > 1 else []):
        by_stage, by_us = axis in shared, axis == "-".join(shared)
        reason = "a" if by_stage and by_us else "ab"
        rows["gradients of layers", "ALL_REDUCE", axis] = (layers * m * by_stage, layers * by_us, reason)
        rows["gradients of the ends", "ALL_REDUCE", axis] = (ends * by_stage, ends * by_us, "b")
    return {Row(*key): value for key, value in rows.items() if value[0] or value[1]}


def findings(name, rank, theirs, ours, should):
    for row in theirs.keys() | ours.keys() | should.keys():
        counts, asked = (theirs[row][0], ours[row][0]), should.get(row, (0, 0))[:2]
        if counts != asked:
            yield f"{name}, rank {rank}: {' '.join(row)}: STAGE {counts[0]}, ours {counts[1]}; {asked[0]} and {asked[1]} should be"


def show(name, job, by_stage):
    mesh = " ".join(f"{axis} {getattr(job, axis)}" for axis in AXES if getattr(job, axis) > 1)
    print(f"{name}: {mesh}, {job.layers} layers, {job.micro_batches} micro-batches; counts of a rank, by stage")
    print(f"  {'what':<24} {'kind':<15} {'group':<6} {'STAGE':<18} {'ours':<18} {'size':>6}  reason")
    order = {text: i for i, (_, text) in enumerate(WHAT)}
    for row in sorted({row for _, _, should in by_stage for row in should}, key=lambda row: (order[row.what], row)):
        counts = [" ".join(str(side[row][0]) for side in sides) for sides in list(zip(*by_stage))[:2]]
        reason = next((should[row][2] for _, _, should in by_stage if row in should and should[row][0] != should[row][1]), "")
        elements, size = (sum(side[row][1] / max(1, side[row][0]) for side in sides) for sides in list(zip(*by_stage))[:2])
        print(f"  {row.what:<24} {row.kind:<15} {row.axes:<6} {counts[0]:<18} {counts[1]:<18} {size / elements if elements and size else 0:>6.3f}  {reason}"
              .replace(" 0.000 ", "       ").rstrip())
    print()


def ranks_of(job, every):
    """(rank, stage, first of its stage) of those that are compared."""
    size = job.dp * job.tp * job.cp
    chosen = range(size) if every or size * job.pp <= 8 else (0, size - 1)
    return [(stage * size + at, stage, at == 0) for stage, at in itertools.product(range(job.pp), chosen)]


def compare(options, name, folder):
    job = JOBS[name]
    chosen = ranks_of(job, options.every_rank)
    archive = subprocess.run(["zstd", "-dc", "--long=27", f"{options.data}/{name}.tar.zst"], capture_output=True, check=True).stdout
    files = [f"{name}/workload.{part}" for part in ["json", *(f"{rank}.et" for rank, _, _ in chosen)]]
    subprocess.run(["tar", "x", "-C", folder, *files], input=archive, check=True)
    theirs, ours = os.path.join(folder, name), os.path.join(folder, "ours")
    given = (f"{MODEL} --layers {job.layers} --dp {job.dp} --tp {job.tp} --cp {job.cp} --pp {job.pp} --context gather --order dp-tp-cp-pp "
             f"--zero {3 if job.fsdp else 0} --micro-batches {job.micro_batches} --micro-batch-size {job.sequences}")
    subprocess.run([os.path.join(options.bin, "chakra"), "gen", "step", *given.split(), "--all-ranks", "-o", ours], check=True, capture_output=True)
    with open(f"{theirs}/workload.json", encoding="utf-8") as file:
        groups = json.load(file)
    wrong, by_stage = [], []
    for rank, stage, first in chosen:
        should = expected(job, stage)
        sides = (communication(job, f"{theirs}/workload.{rank}.et", rank, groups), communication(job, f"{ours}/step.{rank}.et", rank, {}))
        wrong += findings(name, rank, *sides, should)
        if first:
            by_stage.append((*sides, should))
    show(name, job, by_stage)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="JOB", default=list(JOBS))
    parser.add_argument("--bin", default=f"{ROOT}/build/release/bin")
    parser.add_argument("--data", default=os.environ.get("CHAKRA_TEST_DATA", f"{os.path.dirname(ROOT)}/shared/data") + "/stage")
    parser.add_argument("--every-rank", action="store_true")
    options = parser.parse_args()
    wrong = []
    for name in options.jobs:
        with tempfile.TemporaryDirectory() as folder:
            wrong += compare(options, name, folder)
    for letter, text in REASONS.items():
        print(f"{letter}  {text}")
    print("size: bytes of ours for each element of STAGE's, whose comm_size counts elements")
    print("\n" + ("\n".join(wrong) or "every difference has a reason"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
