"""Arrays, tables and streams outlive what they were made of. tobytes() copies by memcpy, which the address sanitizer checks."""
import gc
import operator
import threading

import chakra_et
import duckdb
import numpy
import polars
import pyarrow
import pytest
from conftest import RECORDED


def make_noise():
    """Use memory that was freed."""
    gc.collect()
    return [chakra_et.generate.step(preset="tiny").simulate(network="net.yml") for _ in range(2)]


def checked(read):
    """read() at once, and again after everything else is gone, has the same bytes."""
    first = read()
    assert first
    noise = make_noise()
    assert read() == first and noise


TRACE_KEYS = ("dur_ps", "type", "start_ps", "num_ops", "tensor_bytes", "on_device", "name")
COLUMNS = {key: operator.itemgetter(key) for key in TRACE_KEYS}
COLUMNS |= {key: operator.attrgetter(key) for key in ("edges.begin", "edges.on", "edges.kind", "edges.lag_ps")}
COLUMNS |= {"queues": lambda trace: chakra_et.Feeder(trace).queues, "rows": lambda trace: chakra_et.Feeder(trace).start()[0],
            "a slice": lambda trace: trace["dur_ps"][10:20][::2], "another view": lambda trace: trace["dur_ps"].view("uint64")}


@pytest.mark.parametrize("column", COLUMNS)
def test_an_array_outlives_its_trace_and_job(column):
    array = COLUMNS[column](chakra_et.open("linked").trace(0))
    checked((lambda: repr(array.tolist())) if array.dtype == object else array.tobytes)


def test_an_array_of_a_built_trace():
    def built():
        builder = chakra_et.Builder(0)
        for row in range(1000):
            builder.compute(f"node {row}", row)
        return builder.finish()["dur_ps"]

    array = built()
    checked(array.tobytes)
    assert array.sum() == 499500


def test_arrays_of_tables_outlive_the_answer():
    answer = chakra_et.open("tiny").simulate(network="net.yml")
    arrays = [answer.table(key)[column] for key in answer.tables() for column in answer.table(key).keys()]
    del answer
    arrays = [array for array in arrays if array.dtype != object and array.nbytes]
    assert len(arrays) > 20
    checked(lambda: b"".join(array.tobytes() for array in arrays))


def test_a_table_outlives_answer_and_job():
    table = chakra_et.open("tiny").simulate(network="net.yml").table("collectives")
    checked(lambda: repr(table._rows(100)))
    checked(table._repr_html_)
    nested = chakra_et.open("tiny").simulate(network="net.yml").table("collectives.candidates")
    checked(lambda: nested["predicted_ps"].tobytes())


def trace_of_linked():
    return chakra_et.open("linked").trace(0)


def table_of_ranks():
    return chakra_et.open("tiny").simulate(network="net.yml").table("collectives")


@pytest.mark.parametrize("made", [trace_of_linked, table_of_ranks])
@pytest.mark.parametrize("read", [
    lambda made: pyarrow.table(made), lambda made: pyarrow.RecordBatchReader.from_stream(made).read_all(),
    lambda made: polars.DataFrame(made).to_arrow(), lambda made: pyarrow.table(made).slice(3, 5)])
def test_arrow_outlives_its_source(made, read):
    table = read(made())
    checked(lambda: repr(table.to_pylist()))
    column = read(made()).column(table.num_columns - 1)
    checked(lambda: repr(column.to_pylist()))


class Stream:
    """A source of Arrow that has a capsule alone."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


@pytest.mark.parametrize("made", [trace_of_linked, table_of_ranks])
def test_a_stream_outlives_its_source(made):
    stream, expected = Stream(made().__arrow_c_stream__()), pyarrow.table(made())
    noise = make_noise()
    assert pyarrow.table(stream).equals(expected) and noise
    with pytest.raises(Exception, match="released|stream"):  # a stream is read once
        pyarrow.table(stream)


@pytest.mark.parametrize("made", [trace_of_linked, table_of_ranks])
def test_streams_that_are_not_read(made):
    source = made()
    capsules = [source.__arrow_c_stream__() for _ in range(3)]
    del source, capsules[1]
    reader = pyarrow.RecordBatchReader.from_stream(Stream(capsules[0]))
    schema = reader.schema
    del reader
    make_noise()
    assert "unit" in repr(schema) or schema.names
    del capsules
    make_noise()


def test_duckdb_reads_after_the_job():
    arrow = pyarrow.table(trace_of_linked())
    relation = duckdb.sql("select name, sum(dur_ps)::bigint as total from arrow group by name order by total desc, name")
    checked(lambda: repr(relation.fetchall()))
    assert duckdb.from_arrow(pyarrow.table(trace_of_linked())).count("*").fetchall() == [(arrow.num_rows,)]


def test_findings_and_texts_outlive_the_answer():
    answer = chakra_et.link(RECORDED).made
    findings, keys, text = answer.findings, answer.keys(), answer.to_text()
    expected = repr((findings, keys, text))
    del answer
    assert make_noise() and repr((findings, keys, text)) == expected


def test_what_models_keep():
    class Keeps(chakra_et.Models):
        def __init__(self):
            self.traces, self.views, self.meetings, self.made = [], [], [], []

        def prices(self, trace, rank):
            self.traces.append(trace)
            self.views.append(trace["dur_ps"])
            self.made.append(trace["dur_ps"] * 2)
            return self.made[-1]

        def collective(self, meeting):
            self.meetings.append(meeting)
            return 1000

    models = Keeps()
    chakra_et.open("tiny").simulate(network="net.yml", models=models)
    checked(lambda: b"".join(view.tobytes() for view in models.views + models.made))
    checked(lambda: repr((models.meetings, [trace.name(0) for trace in models.traces])))
    assert all((2 * view == made).all() for view, made in zip(models.views, models.made, strict=True))


def test_arrays_in_other_threads():
    array, found = trace_of_linked()["dur_ps"], []
    expected = int(array.sum())
    threads = [threading.Thread(target=lambda view: found.append(int(numpy.add.reduce(view))), args=(array[:],)) for _ in range(8)]
    del array
    noise = make_noise()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8 and noise
