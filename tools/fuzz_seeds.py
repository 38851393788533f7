#!/usr/bin/env python3
"""Writes small inputs for a fuzz target to begin with: fuzz_seeds.py TARGET FOLDER.

They are made here or cut from the project's own examples, so fuzzing needs no other data.
"""
import gzip
import json
import os
import pickle
import sqlite3
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import et  # noqa: E402
import xplane_oracle  # noqa: E402

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


SLOW_TORUS = b"""topology: [Torus, Switch, Mesh]
npus_count: [4, 2, 3]
bandwidth: [50, 20, 10]
latency: [500, 50, 5]
slow_links:
- {from: 1, to: 2, bandwidth: 5, latency: 900}
- {from: 5, to: 25, latency: 1, both: false}
reduction: [none, {bandwidth: 30, latency: 70}, none]
"""
GRAPH = b"""ranks: [a, b, c]
switches: 2
links:
- {from: a, to: 3, bandwidth: 5, latency: 900}
- {from: b, to: 3, bandwidth: 5, latency: 900}
- {from: 3, to: 4, bandwidth: 5.5, latency: 0}
- {from: 4, to: c, bandwidth: 7, latency: 9, both: false}
- {from: c, to: 4, bandwidth: 1e3, latency: 9, both: false}
- {from: c, to: a, bandwidth: 7, latency: 9, both: false}
reduction: [{switch: 3, bandwidth: 6}]
"""
FAT_TREE = b"""topology: FatTree
down: [2, 3]
up: [1, 2]
bandwidth: [50, 25]
latency: 500
reduction: [{bandwidth: 40, latency: 300}, none]
"""
DRAGONFLY = b"""topology: Dragonfly
ranks_per_router: 2
routers: 2
global: 1
groups: 3
bandwidth: 50
latency: [5, 50, 500]
"""
RAILS = b"""topology: Rails
ranks_per_node: 2
nodes: 2
pods: 1
spines: 0
bandwidth: [400, 50, 50]
latency: 500
reduction: {bandwidth: 40}
"""

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

SECRETS = rb"""{"user": "carol", "host": "n1.lab", "ts": 1764223200123, "name": "A=\u002fhome/carol/x.py a@b.org hf_AbCdEfGhIjKlMnOpQr 10.0.0.1:80
2026-11-27 fe80::1 https://a@b/c 8f14e45fceea167a5a36dedd4bea2543", "attr": [{"name": "hostname", "value": "n2"}]}"""


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


TEXT = ["MICRO\n1\nconv1 -1 5 NONE 0 5 NONE 0 5  ALLTOALL 1048576 5\n"] + [
    f"{header}\n3\n" + "".join(f"l{i} -1 10 ALLGATHER 500 11 REDUCESCATTER 600 12 ALLREDUCE 700 10\n" for i in range(3))
    for header in ("DATA", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_DLRM 1",
                   "HYBRID_TRANSFORMER model_parallel_NPU_group: 2", "DISTRIBUTED_INFERENCE",
                   "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 checkpoint_initiates: 1 2")] + [
    "HYBRID_CUSTOMIZED\n2\n" + "".join(f"l -1 10 ALLGATHER 500 11 REDUCESCATTER 600 12 ALLREDUCE 700 10 {policy}\n"
                                       for policy in ("HYBRID_MODEL_DATA", "DATA")),
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 ep: 2 pp: 2 vpp: 2 ga: 2 all_gpus: 4 checkpoints: 0 "
    "checkpoint_initiates: 0 pp_comm: 64\n7\n" + "grad_a -1 1 BROADCAST 4 1 NONE 0 1 ALLGATHER_DP_EP 8 1\n" +
    "l -1 10 ALLTOALL_EP 500 11 NONE 0 12 REDUCESCATTER 700 10\n" * 4 + "opt -1 1 NONE 7 1 NONE 0 0 NONE 0 1\n" * 2]

FLEXFLOW = """digraph taskgraph {  node0 [color=red,label="{device_id=0|Dense|Forward|COMP_NODE|simulated_run_time=0.0205}",shape=record];
  node0 -> node1;
  node1 [label="{device_id=1|Comm from A to B|Comm|COMM_SEND_RECV_NODE|src_device_id=0|dst_device_id=1|comm_size=40|run_time=3e-08}",shape=record];
  node1 -> node2;
  node0 -> node2;
  node2 [color=red,label="{device_id=1|Dense|Backward|COMP_NODE|simulated_run_time=1}",shape=record];
}"""


def msccl(kind, ranks):
    """A ring in which everybody sends what it has to the next, once; and with the steps of an all-reduce of two."""
    step = '<step s="{}" type="{}" srcbuf="{}" srcoff="{}" dstbuf="{}" dstoff="{}" cnt="1" depid="{}" deps="-1" hasdep="0"/>'
    text = f'<algo name="x" proto="LL" nchannels="1" nchunksperloop="{ranks}" ngpus="{ranks}" coll="{kind}" inplace="1">'
    for rank in range(ranks):
        mine, other = rank, (rank + 1) % ranks
        steps = [("s", other), ("rrc", mine), ("s", mine), ("r", other)] if kind == "allreduce" else [("s", mine), ("r", other)]
        buffer = "i" if kind == "allreduce" else "o"
        text += f'<gpu id="{rank}" i_chunks="{ranks}" o_chunks="{ranks}" s_chunks="1"><tb id="0" send="{other}" recv="{other}" chan="0">'
        text += "".join(step.format(i, name, buffer, at, buffer, at, -1) for i, (name, at) in enumerate(steps)) + "</tb></gpu>"
    return (text + "</algo>").encode()


FEEDER = {"workload_graph": [
    {"Id": 1, "Name": "a", "NodeType": 4, "is_cpu_op": True, "runtime": 3, "data_deps": [], "ctrlDeps": []},
    {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "comm_type": 2, "comm_size": 64, "comm_priority": 1, "tensor_size": 4},
    {"Id": 3, "Name": "c", "NodeType": 5, "data_deps": [1, 2], "comm_src": 0, "comm_dst": 1, "comm_tag": 2, "other": [1]}]}
LINKED = {"schema": "1.1.0-chakra.0.0.4", "pid": 1, "nodes": [
    {"id": 0, "name": "root", "ctrl_deps": 0, "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
    {"id": 1, "name": "## process_group:init ##", "ctrl_deps": 0,
     "inputs": {"values": ['[{"pg_name": "3", "ranks": [0, 1], "group_size": 2}]'], "shapes": [[]], "types": ["String"]}},
    {"id": 2, "name": "op", "ctrl_deps": 0, "inputs": {"values": [[4, 5, 0, 6, 4, "cuda:0"], True, None, 1.5], "shapes": [[2]], "types": ["Tensor"]},
     "attrs": [{"name": "tid", "value": 1}, {"name": "dtype", "value": "Float"}, {"name": "in_msg_nelems", "value": 9}],
     "exclusive_dur": 7.25, "ts": 1000.125, "inter_thread_dep": 0},
    {"id": 3, "name": "ncclDevKernel_SendRecv", "ctrl_deps": 2, "cat": "kernel", "ts": 1001, "exclusive_dur": 2, "stream": 7, "pg_name": "3"},
    {"id": 4, "name": "sync", "ctrl_deps": 0, "ts": 1009, "sync_dep": [3]}]}
def eg_seed():
    """Two nodes of version 0.0.1, with attributes."""
    nodes = [b"\x08\x00\x12\x01a\x18\x03\x38\x05", b"\x08\x01\x12\x01b\x18\x06\x20\x00\x2a\x09\x0a\x01n\x10\x02\x28\x05\x40\x07"]
    return b"".join(bytes([len(node)]) + node for node in nodes)


LINES = b"""{"chakraTrace":"jsonl/1","chakraNodes":"3","version":"0.0.4","attr":[{"name":"rank","int64Val":"3"}]}
{"id":"1","name":{"base64":"/w=="},"type":"COMP_NODE","unknownFields":"8AEB","inputs":{"values":"[1]"}}
{"id":"2","name":"\\u00e9\\n","type":99,"ctrlDeps":["1"],"dataDeps":[1],"attr":[{"name":"d","doubleVal":{"bits":"0x7ff0000000000001"}},{"floatVal":"NaN"}]}
{"id":"3","attr":[{"sint32List":{"values":[-1]}},{"bytesList":{"values":["AA=="]}}]}
"""


def document_seed():
    head, *nodes = LINES.decode().splitlines()
    return ('{"chakraTrace":"json/1","metadata":{},"nodes":[' + ",\n".join(nodes) + "]}").encode()


def columns_seed(entries, columns, replaced=b""):
    """A dictionary, columns and replaced values for three nodes (container_fuzz.cpp)."""
    pieces = [bytes([len(entries)])] + [bytes([len(entry)]) + entry for entry in entries] + [bytes([len(columns)])]
    pieces += [bytes([column, len(data)]) + data for column, data in columns.items()]
    return b"".join(pieces) + bytes([len(replaced)]) + replaced


def container_seeds():
    """Names and dependencies; replaced texts and integers; metadata and differences."""
    fixed = [b"\x01op\0.\0", b"\x030S\0", b"\x030I\0", b"\x030N\0", b"\x031N\0"]
    first = {2: b"\0\0\0", 3: b"\2\2\2", 4: b"\2\0\0", 5: b"\2\2\2\2\2\2"}
    attrs = [b"\x030A\x1dp", b"\x031A\x1dp", b"\x030A\x09s", b"\x01tp\0"]
    metadata = b"\x0a\x050.0.4\x12\x05\x0a\x01r\x48\5\x12\x0e\x0a\x01g\xea\1\x08[1,2,30]"
    return [columns_seed([b"\x02\x48\x04\x00", *fixed, b"\x030D\0", b"\x032D\0"], first | {6: b"\2\2\2", 7: b"\1\1\1"}),
            columns_seed([b"\x02\x40\x07\x00\x01p\x1d\x00\x01s\x09\x00", *fixed, *attrs],
                         first | {6: b"\x12\0\0", 7: b"\0\0\0", 8: b"\2\2\2"}, b"\6\1\x09\1\x09\5\x08\1\2\x40"),
            bytes([len(metadata)]) + metadata + b"\1\4\2\2"]


EVENTS = b"""issue,sys->id=0,tick=1000,node->id=1,node->name=COMP_NODE_a
[debug] issue,sys->id=1, tick=2000, node->id=7, node->name=b, node->type=7
callback,sys->id=0,tick=3500,node->id=1,node->name=COMP_NODE_a
callback,sys->id=1, tick=4000, node->id=7, node->name=b, node->type=7
other
"""

OWN_MODEL = b"model_type: transformer\nname: m\nhidden: 64\nvocabulary: 100\nsequence: 64\nlayers: 3\nheads: 8\nwidth: 128\n" \
            b"experts: 4\nactive_experts: 2\nexpert_width: 32\nkv_rank: 8\nrope_dim: 4\nmtp_layers: 1\n"
OTHER_MODELS = [
    b"model_type: dit\ninput_size: 8\nhidden_size: 32\nnum_heads: 4\ndepth: 2\nclass_dropout_prob: 0.1\nlearn_sigma: false\n",
    b"model_type: dlrm\ndense: 4\nhidden: 8\ntables: 3\nrows: 5\nlookups: 2\nbottom: [6, 8]\ntop: [4, 1]\n",
    b"model_type: mlp\nname: m\nhidden: 8\nlayers: 3\nbias: true\n",
]


def model_seeds():
    """The first configuration of each kind of model, which has the defaults alone, and one with keys of each."""
    with open(os.path.join(ROOT, "chakra", "model", "testing", "model_parameters.txt"), "rb") as file:
        lines = [line.split(b" ", 1)[1] for line in file]
    chosen = {}
    for line in lines:
        chosen.setdefault(json.loads(line)["model_type"], []).append(line)
    return [line for kind in chosen.values() for line in kind[:4]]


def flight_seeds():
    """A dump of a flight recorder as JSON, and as the pickles that c10 and Python write."""
    entry = {"record_id": 0, "pg_id": 0, "process_group": ("0", "pp"), "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1,
             "profiling_name": "nccl:all_reduce", "time_created_ns": 17 * 10**17, "input_sizes": [[4, 2]], "input_dtypes": ["Float"],
             "output_sizes": [[8]], "output_dtypes": ["Float"], "state": "started", "time_discovered_started_ns": None,
             "duration_ms": 1.5, "timeout_ms": 600000, "is_p2p": False, "frames": [{"name": "f", "filename": "a.py", "line": 3}]}
    message = {**entry, "record_id": 1, "profiling_name": "nccl:send 0->1", "is_p2p": True, "p2p_seq_id": 1, "state": "scheduled"}
    batch = {**message, "record_id": 2, "profiling_name": "nccl:coalesced", "state": "completed"}
    dump = {"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "pp", "ranks": "[0, 1, 2]"}},
            "pg_status": {"0": {"last_enqueued_collective": 1}}, "entries": [entry, message, batch]}
    return [json.dumps(dump).encode(), pickle.dumps(dump, 2), pickle.dumps(dump, 4)]


def torch_seed():
    """The example's head, and its nodes up to the second collective."""
    with gzip.open(os.path.join(ROOT, "examples", "torch_compile", "experts.json.gz")) as file:
        program = json.load(file)
    collectives = [i for i, node in enumerate(program["nodes"]) if "group" in node]
    return json.dumps({**program, "nodes": program["nodes"][:collectives[1] + 2]}).encode()


HLO_TEXT = b"""HloModule jit_f, is_scheduled=true, num_partitions=8

%body (x: (s32[], f32[4])) -> (s32[], /*index=1*/f32[4]) {
  %x = (s32[], f32[4]{0:T(8)}) parameter(0)
  %g = f32[4]{0} get-tuple-element(%x), index=1
  %r = f32[4]{0} all-reduce(%g), channel_id=1, replica_groups=mesh['a'=2,'b'=4] {'b':(1)2}, use_global_device_ids=true
  ROOT %t = (s32[], f32[4]{0}) tuple(%g, %r), metadata={op_name="a\\"b"}
}

%condition (y: (s32[], f32[4])) -> pred[] {
  ROOT %c = pred[] constant(false)
}

ENTRY %main (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  %p = (s32[], f32[4]{0}) parameter(0)
  %s = ((s32[], f32[4]{0}), f32[4]{0}) all-to-all-start(%p), replica_groups=[4,2]<=[2,4]T(1,0), channel_id=2
  %d = f32[4]{0} all-to-all-done(%s), control-predecessors={%p}
  %v = f32[4]{0} convolution(%d, %d), window={size=3 pad=1_-1}, dim_labels=b0f_0io->b0f
  ROOT %w = (s32[], f32[4]{0}) while(%p), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"3"}}
}
"""


MANIFEST = b"""{
  "ranks": 2, "rank": 1, "format": "chakra recording 1", "steps": [3], "observed": [3],
  "overhead": {"begin_s": 0.1, "plain_step_s": 0.01, "recorded_step_s": 0.02, "slower": 1.0}
}
"""


def xla_seeds():
    """The recorded examples, and programs cut out of the profiles."""
    seeds = []
    for name in ("experts", "pipeline"):
        for file in ("host.xplane.pb.gz", "module.hlo.pb.gz"):
            with gzip.open(os.path.join(ROOT, "examples", "xla", name, file)) as recorded:
                seeds.append(recorded.read())
        seeds.append(HLO_TEXT)
        seeds += [xplane_oracle.convert(seeds[-3], kind) for kind in ("gpu", "tpu")]
    seeds.append(xla_browser_seed())
    return seeds


def xla_browser_seed():
    """A profile for browsers, two devices on two threads, with ends of instructions, then the text of its program."""
    events = [{"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}}]
    for device in range(2):
        for number, op in enumerate(("dot.1", "all-reduce.2", "end: all-reduce.2", "fusion.3")):
            event = {"ph": "X", "pid": 7, "tid": device, "ts": 1.5 * number, "dur": 1.25, "name": op}
            if not op.startswith("end"):
                event["args"] = {"hlo_op": op, "hlo_module": "jit_step", "run_id": "3", "device_ordinal": str(device)}
            events.append(event)
    profile = json.dumps({"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}).encode()
    return profile + b"\0" + HLO_STEP


HLO_STEP = b"""HloModule jit_step, is_scheduled=true, num_partitions=2

%fused (a: f32[4,4]) -> f32[4,4] {
  %a = f32[4,4]{1,0} parameter(0)
  ROOT %m = f32[4,4]{1,0} multiply(%a, %a)
}

%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %z = f32[] add(%x, %y)
}

ENTRY %main (p: f32[4,4]) -> f32[4,4] {
  %p = f32[4,4]{1,0} parameter(0)
  %dot.1 = f32[4,4]{1,0} dot(%p, %p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %all-reduce.2 = f32[4,4]{1,0} all-reduce(%dot.1), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=%sum
  ROOT %fusion.3 = f32[4,4]{1,0} fusion(%all-reduce.2), kind=kLoop, calls=%fused
}
"""


def infragraph_seed():
    """Two boxes with nested cards, a ring, and annotations."""
    values = {"physical": {"bandwidth": {"choice": "gigabits_per_second", "gigabits_per_second": 400}, "latency": {"choice": "us", "us": 0.5}}}
    box = {"name": "box", "components": [{"name": "xpu", "count": 4, "choice": "xpu"}, {"name": "card", "count": 2, "choice": "device"}],
           "links": [{"name": "bus", **values}],
           "edges": [{"ep1": {"component": "xpu"}, "ep2": {"component": "xpu"}, "scheme": "ring", "link": "bus"},
                     {"ep1": {"component": "xpu[0:4:2]"}, "ep2": {"device": "card[-1]", "component": "port[::-1]"}, "scheme": "many2many", "link": "bus"}]}
    card = {"name": "card", "components": [{"name": "port", "count": 2, "choice": "port"}], "links": [{"name": "inner"}],
            "edges": [{"ep1": {"component": "port[0]"}, "ep2": {"component": "port[1]"}, "scheme": "one2one", "link": "inner"}]}
    edge = {"ep1": {"instance": "host[0]", "component": "card[0].port[0]"}, "ep2": {"instance": "host[1]", "component": "card[:1].port"},
            "scheme": "one2one", "link": "wire"}
    infrastructure = {"name": "two", "devices": [box, card], "links": [{"name": "wire", **values}],
                      "instances": [{"name": "host", "device": "box", "count": 2}], "edges": [edge]}
    attributes = [{"attribute": "bandwidth", "value": "64 GBps"}, {"attribute": "latency", "value": "5 ns"}]
    ranks = [{"name": f"host[{i}]xpu[{j}]", "attributes": [{"attribute": "rank", "value": str(4 * i + j)}]} for i in range(2) for j in range(4)]
    return json.dumps({"infrastructure": infrastructure, "annotations": {
        "nodes": ranks, "links": [{"name": "inner", "attributes": attributes}],
        "edges": [{"ep1": "host.0.card.0.port.0", "ep2": "host[1]card[0]port[0]", "attributes": attributes}]}}).encode()


def rocprof_seed():
    """An output of rocprofv3: calls, a kernel, a copy and a range."""
    def record(kind, operation, correlation, start, end, **more):
        return {"kind": kind, "operation": operation, "thread_id": 7, "correlation_id": {"internal": correlation, "external": 0},
                "start_timestamp": start, "end_timestamp": end, **more}
    kinds = [("HIP_RUNTIME_API", ["hipLaunchKernel"]), ("HSA_CORE_API", ["hsa_copy"]), ("KERNEL_DISPATCH", ["dispatch"]),
             ("MEMORY_COPY", ["MEMORY_COPY_HOST_TO_DEVICE"]), ("MARKER_CORE_API", ["roctxRangePushA"])]
    dispatch = {"agent_id": {"handle": 2}, "queue_id": {"handle": 3}, "kernel_id": 4}
    records = {"kernel_dispatch": [record(2, 0, 31, 150, 200, dispatch_info=dispatch, stream_id={"handle": 1})],
               "hip_api": [record(0, 0, 31, 100, 120), record(0, 0, 32, 130, 140)], "hsa_api": [record(1, 0, 33, 132, 138)],
               "marker_api": [record(4, 0, 40, 90, 300)],
               "memory_copy": [record(3, 0, 33, 210, 220, dst_agent_id={"handle": 2}, src_agent_id={"handle": 1}, bytes=64)]}
    return json.dumps({"rocprofiler-sdk-tool": [{
        "agents": [{"id": {"handle": 1}, "type": 1, "name": "CPU"}, {"id": {"handle": 2}, "type": 2, "name": "gfx942"}],
        "strings": {"buffer_records": [{"kind": kind, "operations": names} for kind, names in kinds], "marker_api": [{"key": 40, "value": "step"}]},
        "kernel_symbols": [{"kernel_id": 4, "kernel_name": "k", "formatted_kernel_name": "k(int)"}], "buffer_records": records}]}).encode()


def nsys_seed():
    """An export of Nsight Systems: calls, kernels, a copy, a wait and ranges."""
    tid = (77 << 24) + 5
    base = sqlite3.connect(":memory:")
    base.executescript(f"""PRAGMA page_size = 512;
        CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);
        INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION_MAJOR', '3');
        CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'scale(float*)'), (3, 'step');
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 120, {tid}, 31, 1), (130, 140, {tid}, 32, 1);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, demangledName);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (170, 290, 0, 7, 32, {77 << 24}, 2);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind);
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (125, 165, 0, 7, 31, {77 << 24}, 4096, 1, 1, 2);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(correlationId, deviceId, streamId, syncType);
        INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (32, 0, 7, 3);
        CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId, schemaId, idx, type, name, offset);
        INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES (1, 7, 0, 18, 'NCCL communicator ID', NULL), (1, 7, 1, 22, 'Message size [bytes]', 8);
        CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text, textId, binaryData);
        INSERT INTO NVTX_EVENTS VALUES (90, 310, 59, {tid}, NULL, 3, NULL);""")
    payload = struct.pack("<6Q", 1, 7, 16, 32, 0xabc, 4096)
    base.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, ?, NULL, ?)", [
        (127, 128, tid, "ncclGroupStart", None), (128, 129, tid, "ncclAllReduce", payload), (129, 141, tid, "ncclGroupEnd", None)])
    base.execute("UPDATE StringIds SET value = 'ncclDevKernel_AllReduce(x)' WHERE id = 2")
    base.commit()
    return base.serialize()


def rocpd_seed():
    """A database of rocprofv3: calls, a kernel, a copy, a range and a call of RCCL."""
    base = sqlite3.connect(":memory:")
    base.executescript("""PRAGMA page_size = 512;
        CREATE TABLE rocpd_info_process_1(id, pid); INSERT INTO rocpd_info_process_1 VALUES (70, 70);
        CREATE TABLE rocpd_info_agent_1(id, type, type_index, name, product_name);
        INSERT INTO rocpd_info_agent_1 VALUES (4, 'GPU', 1, 'gfx942', '');
        CREATE TABLE rocpd_string_1(id, string);
        INSERT INTO rocpd_string_1 VALUES (1, 'HIP_RUNTIME_API'), (2, 'HSA_CORE_API'), (3, 'MARKER_CORE_RANGE_API'), (4, 'RCCL_API'),
          (5, 'hipLaunchKernel'), (6, 'roctxThreadRangeA'), (7, 'ncclAllReduce'), (8, 'MEMORY_COPY_HOST_TO_DEVICE');
        CREATE TABLE rocpd_info_kernel_symbol_1(id, kernel_name, display_name);
        INSERT INTO rocpd_info_kernel_symbol_1 VALUES (7, 'ncclDevKernel_Generic', 'ncclDevKernel_Generic(x)');
        CREATE TABLE rocpd_event_1(id, category_id, stack_id, extdata);
        INSERT INTO rocpd_event_1 VALUES (1, 1, 31, '{}'), (2, 2, 40, '{}'), (3, 3, 50, '{"message": "step"}'),
          (4, 4, 60, '{}'), (5, 1, 31, '{}'), (6, 1, 40, '{}');
        CREATE TABLE rocpd_region_1(start, end, pid, tid, name_id, event_id);
        INSERT INTO rocpd_region_1 VALUES (100, 120, 70, 77, 5, 1), (105, 115, 70, 77, 5, 2), (90, 310, 70, 77, 6, 3), (95, 125, 70, 77, 7, 4);
        CREATE TABLE rocpd_kernel_dispatch_1(start, end, pid, event_id, stream_id, queue_id, agent_id, kernel_id);
        INSERT INTO rocpd_kernel_dispatch_1 VALUES (170, 290, 70, 5, 1, 2, 4, 7);
        CREATE TABLE rocpd_memory_copy_1(start, end, pid, event_id, stream_id, name_id, dst_agent_id, src_agent_id, size);
        INSERT INTO rocpd_memory_copy_1 VALUES (130, 140, 70, 6, 1, 8, 4, 0, 64);
        CREATE TABLE rocpd_arg_1(event_id, name, value); INSERT INTO rocpd_arg_1 VALUES (4, 'count', '16'), (4, 'datatype', '7'), (4, 'comm', '0x1');""")
    return base.serialize()


SQL = [
    "select rank, name, count(*), sum(dur_ps) from nodes where rank = 1 group by name order by 4 desc limit 5",
    "select distinct type from nodes as n join edges as e on n.rank = e.rank and n.id = e.node where e.kind = 'given'",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 50) select max(n), group_concat(n) from r",
    "select id, lag(start_ps) over (partition by rank order by start_ps) from nodes where name like '%node%' or id in (1, 2, '3')",
    "select * from collectives left join collective_nodes using (collective) order by rank desc, node",
    "select replace(trim(hex(zeroblob(9)), '0'), 'a', printf('%10d', 1)), json_extract('[1]', '$[0]'), x'00' from columns",
]


SWEEP = b"""generate: {tp: [1, 2, 4], micro-batches: [1, 2]}
simulate: {network: net.yml}
points: [{delay: a=1us}, {delay: ~}]
constraints: ["tp * micro_batches <= 4 and not tp == 3", "1 < max(tp, 2) // 1 % 7 <= 8 or network == 'x'"]
objectives: [makespan_ps, memory_bytes]
require_fit: false
"""
CERTIFICATE = json.dumps({
    "certificate": 1, "level": 1, "doubtful_texts": 0,
    "guesses": [{"attribute": name, "value": 2} for name in ("width", "layers", "stages", "experts")],
    "files": [{"name": "trace.0.et", "bytes": 7, "digest": "00"}]}).encode()

SEEDS = {
    "xla_fuzz": xla_seeds,
    "json_fuzz": lambda: [LINES, document_seed(), eg_seed()],
    "container_fuzz": container_seeds,
    "flight_fuzz": flight_seeds,
    "event_csv_fuzz": lambda: [EVENTS],
    "et_fuzz": lambda: [et.encode(TRACE), gzip.compress(et.encode(TRACE))],
    "feed_fuzz": lambda: [et.encode(TRACE), et.encode(JOB), et.encode("\n".join(reversed(JOB.strip().splitlines())))],
    "host_fuzz": lambda: [cut("host", "nodes", 12), cut("host", "nodes", 2), MANIFEST],
    "link_fuzz": lambda: [json.dumps(GPU).encode(), json.dumps(GPU["traceEvents"]).encode(), cut("device", "traceEvents", 30)],
    "pair_fuzz": lambda: [cut("host", "nodes", 40) + b"\0" + cut("device", "traceEvents", 60), PAIR],
    "job_fuzz": lambda: [et.encode(TRACE), et.encode(JOB), *collective_seeds()],
    "query_fuzz": lambda: [text.encode() for text in SQL],
    "selection_fuzz": lambda: [b"allreduce: 0-64KiB tree, 64KiB- ring; alltoall: pairwise", b"Reduce-Scatter: -1GB hierarchical # big\nbarrier: tree"],
    "ranks_fuzz": lambda: [json.dumps(RANKS).encode()],
    "infragraph_fuzz": lambda: [infragraph_seed()],
    "nsys_fuzz": lambda: [nsys_seed()],
    "rocpd_fuzz": lambda: [rocpd_seed()],
    "rocprof_fuzz": lambda: [rocprof_seed()],
    "network_fuzz": lambda: [SLOW_TORUS, GRAPH, FAT_TREE, DRAGONFLY, RAILS],
    "text_fuzz": lambda: [text.encode() for text in TEXT],
    "forms_fuzz": lambda: [TEXT[1].encode(), FLEXFLOW.encode(), msccl("allreduce", 2), msccl("allgather", 2),
                           json.dumps(FEEDER).encode(), json.dumps(LINKED).encode(), torch_seed()],
    "model_fuzz": lambda: [*model_seeds(), OWN_MODEL, *OTHER_MODELS],
    "certificate_fuzz": lambda: [CERTIFICATE],
    "names_fuzz": lambda: [b"chakra-names-1\nmark\n" + b"".join(len(text).to_bytes(4, "little") + text for text in (b"label.1", b"mine", b"label.2", b""))],
    "secrets_fuzz": lambda: [cut("host", "nodes", 2), cut("device", "traceEvents", 10), SECRETS],
    "fleet_fuzz": lambda: [b'{"key":"a/0/1","state":"failed","tag":"a.b","text":"no","wall_us":7,"values":{"ranks":"2"}}', b"3/16"],
    "sweep_fuzz": lambda: [SWEEP, b"job: [a, b]\nsimulate: {network: [n.yml, ~], delay: [[a=1us, b=1us], c=2us]}\nsample: 2\nseed: 3\nobjective: makespan_ps"],
    "spec_fuzz": lambda: [b"topology: [ Ring ]\nnpus_count: [ 8 ]\n", b"{\"a\": [1, 2.5, \"x\"], \"b\": {\"c\": true}}"],
}


def main():
    target, folder = sys.argv[1:3]
    for number, seed in enumerate(SEEDS[target]()):
        with open(os.path.join(folder, f"seed{number}"), "wb") as file:
            file.write(seed)


if __name__ == "__main__":
    main()
