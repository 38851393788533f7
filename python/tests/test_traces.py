"""Traces: arrays without a copy that outlive the trace, edges, and the builder."""
import gc
import os
import subprocess
import sys

import chakra_et
import duckdb
import numpy
import polars
import pyarrow
import pytest


def build(rank):
    builder = chakra_et.Builder(rank=rank).group("dp", [0, 1])
    work = builder.compute("work", dur_ps=10_000_000 * (rank + 1), num_ops=5, tensor_bytes=7)
    builder.on_stream(0, 7).attribute("layer", 3).attribute("note", "first")
    reduce = builder.collective("reduce", chakra_et.CommType.all_reduce, bytes=1 << 20, group="dp")
    builder.wait(reduce, work, lag_ps=4000)
    message = builder.send("m", 1, 64, tag=9) if rank == 0 else builder.receive("m", 0, 64, tag=9)
    builder.wait(message, reduce, chakra_et.EdgeKind.program)
    builder.compute("host", 1000)
    builder.host().on_thread(1, 2)
    return builder.finish()


def test_a_trace_that_was_built():
    trace = build(0)
    assert repr(trace) == "<chakra_et.Trace of rank 0: 4 nodes>"
    assert len(trace) == 4 and trace.rank == 0 and trace.groups == {"dp": [0, 1]}
    assert trace["dur_ps"].tolist() == [10_000_000, 0, 0, 1000]
    assert trace["name"].tolist() == ["work", "reduce", "m", "host"] and trace.name(-1) == "host"
    kinds = chakra_et.NodeType
    assert trace["type"].tolist() == [kinds.comp, kinds.comm_coll, kinds.comm_send, kinds.comp]
    assert trace["on_device"].tolist() == [True, True, True, False]
    assert trace["num_ops"].tolist() == [5, 0, 0, 0] and trace["tensor_bytes"].tolist() == [7, 0, 0, 0]
    assert trace["start_ps"].mask.all()
    assert trace.attribute(0, "layer") == "3" and trace.attribute(0, "note") == "first" and trace.attribute(1, "layer") is None
    assert trace.communication(0) is None
    assert trace.communication(1) == {"type": "all_reduce", "bytes": 1 << 20, "group": "dp", "src": None, "dst": None, "tag": None, "root": None}
    assert trace.communication(2)["dst"] == 1 and trace.communication(2)["tag"] == 9
    edges = trace.edges
    assert len(edges) == 2
    assert edges.begin.tolist() == [0, 0, 1, 2, 2] and edges.on.tolist() == [0, 1]
    assert edges.kind.tolist() == [chakra_et.EdgeKind.data, chakra_et.EdgeKind.program] and edges.lag_ps.tolist() == [4000, 0]
    with pytest.raises(IndexError):
        trace.name(4)
    with pytest.raises(KeyError, match="did you mean 'dur_ps'"):
        trace["dur"]
    assert trace.units["dur_ps"] == "ps" and set(trace.units) == set(trace.meanings) == set(trace.keys())


def test_a_job_that_was_built():
    job = chakra_et.Job.of([build(1), build(0)])
    assert job.ranks == [0, 1] and job.path == "" and not job.check().findings
    answer = job.simulate(network="net2.yml")
    assert answer.table("ranks")["compute_ps"].tolist() == [10_000_000, 20_000_000]
    for path in ("built", "folder/", "built.chakra"):
        job.write(path)
        again = chakra_et.open(path)
        assert again.ranks == [0, 1]
        assert again.trace(1)["dur_ps"].tolist() == job.trace(1)["dur_ps"].tolist()
        assert again.simulate(network="net2.yml")["makespan_ps"] == answer["makespan_ps"]
    assert job.edit(ranks="1").ranks == [1]


def test_mistakes_of_a_builder():
    def mistake(build):
        builder = chakra_et.Builder(0)
        build(builder)
        with pytest.raises(chakra_et.Error) as error:
            builder.finish()
        return error.value.tag

    assert mistake(lambda b: b.wait(b.compute("a", 1), 7)) == "trace.build"
    assert mistake(lambda b: b.compute("a", -1)) == "trace.build"
    with pytest.raises(chakra_et.Error) as error:
        chakra_et.Job.of([build(0), build(0)])
    assert error.value.tag == "io.job.rank_twice"
    with pytest.raises(TypeError):
        chakra_et.Builder(0).compute("a", 1.5)


def test_an_empty_trace():
    trace = chakra_et.Builder(0).finish()
    assert len(trace) == 0 and trace["dur_ps"].tolist() == [] and trace["num_ops"].tolist() == []
    assert trace.edges.begin.tolist() == [0] and len(trace.edges) == 0
    assert pyarrow.table(trace).num_rows == 0


def test_names_of_any_bytes():
    """Files may have them; Python and Arrow have U+FFFD for each byte that is no UTF-8, as the JSON of the command has."""
    builder = chakra_et.Builder(0)
    builder.compute("aXXb", 1000)
    builder.attribute("note", "XX")
    builder.compute("\u00e9\u20ac\U0001f600", 1000)
    chakra_et.Job.of([builder.finish()]).write("bytes/")
    with open("bytes/trace.0.et", "rb") as file:
        data = file.read()
    assert data.count(b"XX") == 2
    with open("bytes/trace.0.et", "wb") as file:
        file.write(data.replace(b"XX", b"\xff\xe2"))
    trace = chakra_et.open("bytes").trace(0)
    wanted = ["a\ufffd\ufffdb", "\u00e9\u20ac\U0001f600"]
    assert trace["name"].tolist() == wanted == [trace.name(0), trace.name(1)] and trace.attribute(0, "note") == "\ufffd\ufffd"
    table = pyarrow.table(trace)
    table.validate(full=True)
    assert table["name"].to_pylist() == wanted


def test_arrays_outlive_the_trace():
    job = chakra_et.open("linked")
    trace = job.trace(0)
    views = {key: trace[key] for key in ("dur_ps", "type", "start_ps")}
    views["on"] = trace.edges.on
    table = pyarrow.table(trace)
    expected = {key: view.tolist() for key, view in views.items()}
    assert not any(view.flags.writeable for view in views.values())
    assert table["dur_ps"].chunk(0).buffers()[1].address == views["dur_ps"].__array_interface__["data"][0]
    del job, trace
    gc.collect()
    others = [chakra_et.generate.step(preset="tiny") for _ in range(3)]
    assert {key: view.tolist() for key, view in views.items()} == expected
    assert table["dur_ps"].to_pylist() == expected["dur_ps"] and others


def test_readers_agree():
    trace = chakra_et.open("linked").trace(0)
    arrow = pyarrow.table(trace)
    arrow.validate(full=True)
    assert arrow["name"].to_pylist() == trace["name"].tolist()
    assert arrow["start_ps"].to_pylist() == trace["start_ps"].tolist()
    assert arrow["type"].to_pylist()[:3] == [chakra_et.NodeType(kind).name for kind in trace["type"][:3]]
    assert polars.DataFrame(trace)["dur_ps"].sum() == trace["dur_ps"].sum()
    total = duckdb.sql("select name, sum(dur_ps)::bigint as total from trace group by name order by total desc, name limit 1").fetchall()[0]
    names = trace["name"]
    assert total[1] == trace["dur_ps"][names == total[0]].sum()
    begin, on = trace.edges.begin, trace.edges.on
    assert begin[-1] == len(on) and (numpy.diff(begin.astype("int64")) >= 0).all() and on.max() < len(trace)


MEMORY = """
import ctypes, gc
import duckdb, numpy, pyarrow
import chakra_et
builder = chakra_et.Builder(0)
for row in range(NODES):
    builder.compute("abc"[row % 3], row, row, row)
    builder.starts_at(row)
    if row:
        builder.wait(row, row - 1)
trace = builder.finish()
del builder
def memory(which):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(which)) << 10
def begin():
    # Free memory goes back to the system, and the largest size counts from here.
    global last
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    last = memory("VmRSS:")
sum_of = lambda array: int(numpy.add.reduce(array))
small = chakra_et.open("linked").trace(0)
query = "select sum(dur_ps)::bigint, count(start_ps) from arrow"
arrow = pyarrow.table(small)
sum_of(small["dur_ps"]), duckdb.sql(query).fetchall()
def added():
    grown = memory("VmHWM:") - last
    begin()
    return grown
begin()
copied = trace["dur_ps"].copy()
print(added(), copied.nbytes)
del copied
begin()
views = [trace[key] for key in ("dur_ps", "start_ps", "num_ops", "tensor_bytes", "type")] + [trace.edges.begin, trace.edges.on]
total = sum_of(views[0])
print(added(), sum(view.nbytes for view in views), total)
arrow = pyarrow.table(trace)
print(added(), arrow.nbytes, arrow["dur_ps"].null_count)
total, count = duckdb.sql(query).fetchall()[0]
print(added(), count, total)
"""


def test_views_take_no_memory():
    """NumPy, pyarrow and DuckDB read the memory of the trace. Columns of bits are made: a bit for each node."""
    nodes = 10_000_000 if os.environ.get("CHAKRA_TEST_FULL") else 1_000_000
    done = subprocess.run([sys.executable, "-c", MEMORY.replace("NODES", str(nodes))], check=True, text=True, capture_output=True)
    (copy_added, copied), (numpy_added, shown, total), (arrow_added, arrow, nulls), (duckdb_added, count, summed) = (
        map(int, line.split()) for line in done.stdout.splitlines())
    assert copy_added > 0.9 * copied == 7.2 * nodes  # a copy would be seen
    print(f"{nodes:,} nodes of {shown:,} bytes; NumPy added {numpy_added:,}, pyarrow {arrow_added:,}, DuckDB {duckdb_added:,} bytes")
    assert shown >= 40 * nodes and arrow > 37 * nodes and total == summed == nodes * (nodes - 1) // 2 and (nulls, count) == (0, nodes)
    limit = shown / 100 + (0 if nodes > 1_000_000 else 4 << 20)  # DuckDB has some MB of its own, whatever the size
    for added in (numpy_added, arrow_added, duckdb_added):
        assert added < limit, done.stdout
