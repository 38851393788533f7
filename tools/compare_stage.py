#!/usr/bin/env python3
"""Collectives of jobs that STAGE wrote (symbolic_tensor_graph, data/stage) beside those of the same step from 'chakra gen step'.

    compare_stage.py [--bin DIR] [--data DIR] [--every-rank] [JOB...]
    compare_stage.py --stage CHECKOUT [--python PYTHON] [--bin DIR] [--every-rank] [JOB...]

For every rank (of jobs with more than 8 ranks: the first and the last of each stage, unless --every-rank) and every kind and group: how
many there are of what, in both. All counts on both sides must be those of the closed forms below, so that a difference without a reason
fails. docs/reference/stage.md shows the tables and gives the reasons.

--stage: a checkout of symbolic_tensor_graph, which makes jobs with experts; the test data have none. PYTHON has its packages (sympy, pandas,
numpy, protobuf, graphviz, tqdm). Its replicate_graph.py must be changed to replace whole words of op_attr only: as it is, it makes
Micro(MicroBatch) of MicroBatch, and main.py fails. Experts have an axis of their own in STAGE's mesh and lie inside data parallelism in ours, so
groups of such jobs are compared by what they are for, not by their ranks.
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
AXES = ("dp", "tp", "cp", "ep", "pp")  # neighbours first, as STAGE numbers its ranks
MODEL = "--hidden 8192 --ffn 28672 --heads 64 --kv-heads 0 --gated false --vocab 32000 --sequence 1024"
SMALL = {"dmodel": 1024, "dff": 4096, "seq": 256, "head": 16, "kvhead": 16, "dvocal": 32000}  # of jobs with experts, as STAGE names them
# sequences: of a micro-batch and rank; with experts of all ep ranks, which STAGE gives the same ones
Job = collections.namedtuple("Job", "dp tp cp pp layers micro_batches sequences fsdp ep experts top_k", defaults=[False, 1, 0, 0])
EXPERTS = {
    "experts_ep4": Job(1, 1, 1, 1, 2, 1, 8, False, 4, 8, 2),
    "experts_dp2ep2": Job(2, 1, 1, 1, 2, 2, 2, False, 2, 8, 2),
    "experts_tp2ep2": Job(1, 2, 1, 1, 2, 1, 8, False, 2, 8, 4),
    "experts_cp2ep2": Job(1, 1, 2, 1, 2, 1, 8, False, 2, 16, 1),
    "experts_dp2tp2ep2pp2": Job(2, 2, 1, 2, 4, 4, 2, False, 2, 8, 2),
    "experts_fsdp_dp2ep2": Job(2, 1, 1, 1, 2, 1, 4, True, 2, 8, 2),
}
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
    "g": "all ep ranks of STAGE compute the same attention; they share out the width of what experts take, and gather it again",
    "h": "STAGE gathers and scatters for each expert of a rank, and gathers once more for weight gradients; ours once for all, and keeps it."
         " An expert of STAGE's gets 1/experts of the tokens of its rank, though only experts/ep lie there",
    "i": "STAGE sums gradients of experts with those of the layer; ours over the ranks that have the same experts",
}
WHAT = [  # of names in either job
    (r"moe\.(xrouted|y1|dyrouted|dx1)@|(dispatch|experts\.down)(\.grad)?\.all_to_all", "tokens to experts"),
    (r"moe\.\d+\.ffn|(dispatch|experts\.down)(\.grad)?\.(all_gather|reduce_scatter)", "activations of experts"),
    (r"moe\.yrouter@|post_attn_norm\.dy@|ffn_res\.x1@", "widths of tokens"),
    (r"experts\.(gradients|parameters)", "weights of experts"),
    (r"(send|recv)|_Y_(SEND|RECV)$", "messages"),
    (r"transformer\.\d+\._sharded_grad|layer\d+\.gradients", "gradients of layers"),
    (r"transformer\.\d+\._assembled_weight|layer\d+\.parameters", "parameters of layers"),
    (r"attn_kernel\.d?[kv]|mha\.d[kv]@|layer\d+\.attention\.(rotate_k|v)\.", "keys and values"),
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


def axes_of_role(job, role):
    """Where experts share out replicas: the axes of a group of ours."""
    axes = {"dp": ("dp", "cp", "ep"), "edp": ("dp", "cp"), "etp": ("tp",)}.get(role, (role,))
    return "-".join(axis for axis in AXES if axis in axes and getattr(job, axis) > 1)


def communication(job, path, rank, groups):
    """Row -> [count, sum of comm_size] of a rank; its groups by name, else those that the trace lists."""
    metadata, nodes = et.read(path)
    roles = {}
    if "process_groups" in metadata:
        listed = json.loads(metadata["process_groups"])
        groups = {g["pg_name"]: g["ranks"] for g in listed}
        roles = {g["pg_name"]: g["pg_desc"] for g in listed if job.experts}
    found = collections.defaultdict(lambda: [0, 0])
    for node in nodes:
        kind, attrs = et.NODE_TYPES[node["type"]], node["attrs"]
        if kind == "COLL":
            group = attrs["pg_name"]
            axes = axes_of_role(job, roles[group]) if group in roles else axes_of(job, groups[group])
            row = Row(what(node["name"]), et.COMM_TYPES[attrs.get("comm_type", 0)], axes)
        elif kind in ("SEND", "RECV"):
            peer = attrs["comm_dst" if kind == "SEND" else "comm_src"]
            row = Row(what(node["name"]), kind, "pp" if roles else axes_of(job, [rank, peer], group=False))
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
    if job.experts:
        return {Row(*key): value for key, value in (rows | expected_of_experts(job, layers, ends, shared)).items() if value[0] or value[1]}
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


def expected_of_experts(job, layers, ends, shared):
    """The rows of expected() that differ where layers have experts: ours has dp x ep replicas, and experts on `shared` of them."""
    passes, local = layers * job.micro_batches, job.experts // job.ep
    both, own = "-".join(axis for axis in AXES if axis in (*shared, "ep")), "-".join(shared)
    rows = {
        ("tokens to experts", "ALL_TO_ALL", "ep"): (4 * passes, 4 * passes, ""),
        ("widths of tokens", "ALL_GATHER", "ep"): (3 * passes, 0, "g"),
    }
    if job.tp > 1:
        rows["activations of layers", "ALL_GATHER", "tp"] = (3 * passes, 3 * passes, "")
        rows["activations of layers", "REDUCE_SCATTER", "tp"] = (2 * passes, 2 * passes, "")
        rows["activations of experts", "ALL_GATHER", "tp"] = (3 * local * passes, 2 * passes, "h")
        rows["activations of experts", "REDUCE_SCATTER", "tp"] = (2 * local * passes, 2 * passes, "h")
    if job.fsdp:
        for what_, gathered in (("layers", layers), ("the ends", ends)):
            of_layers = what_ == "layers"
            rows[f"parameters of {what_}", "ALL_GATHER", "dp"] = (2 * passes * of_layers, 0, "i")
            rows[f"parameters of {what_}", "ALL_GATHER", both] = (0, 2 * gathered * job.micro_batches, "i" if of_layers else "d")
            rows[f"gradients of {what_}", "REDUCE_SCATTER", "dp"] = (passes * of_layers, 0, "i")
            rows[f"gradients of {what_}", "REDUCE_SCATTER", both] = (0, gathered * job.micro_batches, "i" if of_layers else "d")
        rows["gradients of the ends", "ALL_REDUCE", "dp"] = (ends, 0, "d")
        rows["weights of experts", "ALL_GATHER", own] = (0, 2 * passes, "i")
        rows["weights of experts", "REDUCE_SCATTER", own] = (0, passes, "i")
        return rows
    for axis in shared:
        rows["gradients of layers", "ALL_REDUCE", axis] = (passes, 0, "ai")
        rows["gradients of the ends", "ALL_REDUCE", axis] = (ends, 0, "g")
    rows["gradients of layers", "ALL_REDUCE", both] = (0, layers, "gi")
    rows["gradients of the ends", "ALL_REDUCE", both] = (0, ends, "g")
    if shared:
        rows["weights of experts", "ALL_REDUCE", own] = (0, layers, "i")
    return rows


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
    size = job.dp * job.tp * job.cp * job.ep
    chosen = range(size) if every or size * job.pp <= 8 else (0, size - 1)
    return [(stage * size + at, stage, at == 0) for stage, at in itertools.product(range(job.pp), chosen)]


def stage_job(options, name, job, chosen, folder):
    """STAGE's job: out of the test data, or made."""
    theirs = os.path.join(folder, name)
    if not job.experts:
        archive = subprocess.run(["zstd", "-dc", "--long=27", f"{options.data}/{name}.tar.zst"], capture_output=True, check=True).stdout
        files = [f"{name}/workload.{part}" for part in ["json", *(f"{rank}.et" for rank, _, _ in chosen)]]
        subprocess.run(["tar", "x", "-C", folder, *files], input=archive, check=True)
        return theirs
    os.mkdir(theirs)
    sequences = job.sequences * job.dp
    given = SMALL | {"dp": job.dp, "tp": job.tp, "sp": job.cp, "ep": job.ep, "pp": job.pp, "num_stacks": job.layers, "experts": job.experts,
                     "kexperts": job.top_k, "micro_batch": sequences, "batch": sequences * job.micro_batches,
                     "weight_sharded": job.fsdp, "model_type": "moe", "output_dir": theirs, "output_name": "workload.%d.et"}
    done = subprocess.run([options.python, "main.py", *(f"--{key}={value}" for key, value in given.items())], cwd=options.stage, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"compare_stage: {name}: STAGE failed\n{done.stdout[-2000:]}")
    return theirs


def our_job(options, job, folder):
    ours = os.path.join(folder, "ours")
    given = MODEL.split() + ["--order", "dp-tp-cp-pp"]
    if job.experts:
        config = os.path.join(folder, "config.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"model_type": "mixtral", "hidden_size": SMALL["dmodel"], "intermediate_size": SMALL["dff"], "vocab_size": SMALL["dvocal"],
                       "num_attention_heads": SMALL["head"], "num_key_value_heads": SMALL["kvhead"], "num_local_experts": job.experts,
                       "num_experts_per_tok": job.top_k, "num_hidden_layers": job.layers, "max_position_embeddings": 4096}, file)
        given = ["--model", config, f"--sequence={SMALL['seq']}", f"--ep={job.ep}"]
    values = {"layers": job.layers, "dp": job.dp * job.ep, "tp": job.tp, "cp": job.cp, "pp": job.pp, "context": "gather",
              "zero": 3 if job.fsdp else 0, "micro-batches": job.micro_batches, "micro-batch-size": job.sequences // job.ep}
    subprocess.run([os.path.join(options.bin, "chakra"), "gen", "step", *given, *(f"--{key}={value}" for key, value in values.items()),
                    "--all-ranks", "-o", ours], check=True, capture_output=True)
    return ours


def compare(options, name, folder):
    job = (JOBS | EXPERTS)[name]
    chosen = ranks_of(job, options.every_rank)
    theirs, ours = stage_job(options, name, job, chosen, folder), our_job(options, job, folder)
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
    parser.add_argument("jobs", nargs="*", metavar="JOB")
    parser.add_argument("--bin", default=f"{ROOT}/build/release/bin")
    parser.add_argument("--data", default=os.environ.get("CHAKRA_TEST_DATA", f"{os.path.dirname(ROOT)}/shared/data") + "/stage")
    parser.add_argument("--every-rank", action="store_true")
    parser.add_argument("--stage", metavar="CHECKOUT")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    wrong, known = [], EXPERTS if options.stage else JOBS
    for name in options.jobs or known:
        if name not in known:
            parser.error(f"{name} is none of {', '.join(known)}")
        with tempfile.TemporaryDirectory() as folder:
            wrong += compare(options, name, folder)
    for letter, text in REASONS.items():
        if options.stage or letter not in "ghi":  # of experts
            print(f"{letter}  {text}")
    print("size: bytes of ours for each element of STAGE's, whose comm_size counts elements")
    print("\n" + ("\n".join(wrong) or "every difference has a reason"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
