#!/usr/bin/env python3
"""Writes small inputs for a fuzz target to begin with: fuzz_seeds.py TARGET FOLDER.

They are made here or cut from the project's own examples, so fuzzing needs no other data.
"""
import gzip
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import et  # noqa: E402

EXAMPLE = os.path.join(ROOT, "examples", "traces", "ddp_gloo_2ranks")

TRACE = """metadata rank=1 schema=1.1.1
1 COMP root is_cpu_op=true
2 COMP mm dur_us=5 start_us=10 is_cpu_op=true tid=7 deps=1 ctrl=1
3 COLL reduce deps=2 comm_type=ALL_REDUCE comm_size:u64=1024 pg_name=0 is_cpu_op=false stream=20 device=0 dur_us=9 start_us=12
4 SEND out deps=3 comm_dst:i32=2 comm_tag:i32=5 comm_size=8
5 RECV in deps=9 comm_src:i32=2
6 LOAD load tensor_size:u64=64
"""

GPU = {"schemaVersion": 1, "baseTimeNanoseconds": 5, "distributedInfo": {"rank": 0, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
       "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 1.5, "dur": 900},
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 2, "dur": 20, "args": {"Record function id": 4, "External id": 4}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 4, "dur": 6.25, "args": {"correlation": 9}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 12, "dur": 300, "args": {"device": 0, "stream": 7, "correlation": 9}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamWaitEvent", "pid": 1, "tid": 1, "ts": 25, "dur": 1, "args": {"correlation": 10}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 30, "dur": 5, "args": {"correlation": 11}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 20, "ts": 313, "dur": 40,
     "args": {"device": 0, "stream": 20, "correlation": 11, "Collective name": "allreduce", "In msg nelems": 64, "dtype": "Float",
              "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 50, "dur": 310, "args": {"correlation": 12}},
    {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 50, "dur": 310,
     "args": {"cuda_sync_kind": "Context Sync", "correlation": 12}},
    {"ph": "X", "cat": "user_annotation", "name": "gloo:all_reduce", "pid": 1, "tid": 2, "ts": 400, "dur": 50,
     "args": {"Input Dims": [[4]], "Input type": ["float"]}},
    {"ph": "X", "cat": "cpu_op", "name": "c10d::allreduce_", "pid": 1, "tid": 1, "ts": 380, "dur": 25},
    {"ph": "X", "cat": "cuda_runtime", "name": "hipGraphLaunch", "pid": 1, "tid": 1, "ts": 500, "dur": 80, "args": {"correlation": 13}},
    {"ph": "X", "cat": "Kernel", "name": "a", "pid": 0, "tid": "stream 7", "ts": 515, "dur": 4, "args": {"correlation": 13}},
    {"ph": "X", "cat": "Kernel", "name": "b", "pid": 0, "tid": "stream 7", "ts": 519, "dur": 4, "args": {"correlation": 13}}]}


JOB = """1 COMP a dur_us=5 is_cpu_op=true tid=1
2 COMP b dur_us=7 is_cpu_op=false device=0 stream=7 deps=1 num_ops=1000 tensor_size:u64=64
3 COLL c comm_type=BROADCAST comm_size=64 comm_root=0 deps=2
4 SEND d comm_dst=0 comm_size=64 deps=3
5 RECV e comm_src=0 comm_size=64 deps=3
6 LOAD f tensor_size:u64=64 deps=4,5
"""

# A pair without common ids.
NODES = [{"id": i, "name": name, "parent": parent, "fw_parent": 0, "seq_id": -1, "scope": 0, "tid": 1, "fw_tid": 0, "rf_id": rf,
          "op_schema": "", "inputs": [], "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [], "output_types": []}
         for i, name, parent, rf in [(2, "[pytorch|profiler|execution_graph|thread]", 1, 0), (3, "aten::mm", 2, 1), (4, "aten::t", 3, 2),
                                     (1, "[pytorch|profiler|execution_graph|process]", 1, 0)]]
EVENTS = [{"ph": "X", "cat": "Operator", "name": name, "pid": 1, "tid": 1, "ts": 100 * i + at, "dur": dur, "args": {"External id": 2 * i + at}}
          for i in range(3) for name, at, dur in [("aten::mm", 0, 20), ("aten::t", 1, 5)]]
PAIR = json.dumps({"schema": "1.0.1", "nodes": NODES}).encode() + b"\0" + json.dumps({"traceEvents": EVENTS}).encode()


def cut(kind, key, count):
    """The first records of an example, as a document of its own."""
    with gzip.open(os.path.join(EXAMPLE, f"{kind}.0.json.gz")) as file:
        document = json.load(file)
    document[key] = document[key][:count]
    return json.dumps(document).encode()




def collective_seeds():
    """The four collectives that ASTRA-sim has, one after the other; with each of the endings that choose how."""
    lines = [f"{i + 1} COLL c comm_type={kind} comm_size=4096 is_cpu_op=False" + (f" deps={i}" if i else "")
             for i, kind in enumerate((0, 2, 7, 6))]
    lines.append("5 COMP last num_ops:i64=1000 tensor_size:u64=1000 is_cpu_op=False deps=4")
    return [et.encode("\n".join(lines + [f"6 COMP {'x' * 3} end:str={chr(ending)}"])) for ending in range(33, 127, 4)]


RANKS = {"schema": "chakra-ranks-1", "classes": [{"file": "class0.et", "group_slots": ["tp"], "peer_slots": 1}],
         "groups": [{"name": "a", "description": "x", "backend": "nccl", "size": 2, "ranks": {"first": 0, "step": 1, "count": 2}},
                    {"name": "b", "ranks": [2, 3]}],
         "ranks": [{"rank": r, "class": 0, "groups": [r // 2], "peers": [3 - r]} for r in range(4)]}


EVENTS = b"""issue,sys->id=0,tick=1000,node->id=1,node->name=COMP_NODE_a
[debug] issue,sys->id=1, tick=2000, node->id=7, node->name=b, node->type=7
callback,sys->id=0,tick=3500,node->id=1,node->name=COMP_NODE_a
callback,sys->id=1, tick=4000, node->id=7, node->name=b, node->type=7
other
"""

SEEDS = {
    "event_csv_fuzz": lambda: [EVENTS],
    "et_fuzz": lambda: [et.encode(TRACE), gzip.compress(et.encode(TRACE))],
    "host_fuzz": lambda: [cut("host", "nodes", 12), cut("host", "nodes", 2)],
    "link_fuzz": lambda: [json.dumps(GPU).encode(), json.dumps(GPU["traceEvents"]).encode(), cut("device", "traceEvents", 30)],
    "pair_fuzz": lambda: [cut("host", "nodes", 40) + b"\0" + cut("device", "traceEvents", 60), PAIR],
    "job_fuzz": lambda: [et.encode(TRACE), et.encode(JOB), *collective_seeds()],
    "selection_fuzz": lambda: [b"allreduce: 0-64KiB tree, 64KiB- ring; alltoall: pairwise", b"Reduce-Scatter: -1GB hierarchical # big\nbarrier: tree"],
    "ranks_fuzz": lambda: [json.dumps(RANKS).encode()],
    "spec_fuzz": lambda: [b"topology: [ Ring ]\nnpus_count: [ 8 ]\n", b"{\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": true}}"],
}


def main():
    target, folder = sys.argv[1:3]
    for number, seed in enumerate(SEEDS[target]()):
        with open(os.path.join(folder, f"seed{number}"), "wb") as file:
            file.write(seed)


if __name__ == "__main__":
    main()
