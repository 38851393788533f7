"""Answers and tables: values, arrays, Arrow, pandas, polars, DuckDB, files, and how long memory lives."""
import gc
import gzip
import json
import os
import weakref

import chakra_et
import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import RECORDED, command

EXACT = 2**53 + 1  # no double has it


@pytest.fixture(scope="module")
def answer():
    return chakra_et.open("tiny").simulate(network="net.yml")


@pytest.fixture(scope="module")
def large():
    """A start beyond 2^53 ps beside a node without a start."""
    builder = chakra_et.Builder(0)
    builder.compute("first", EXACT)
    builder.starts_at(EXACT)
    builder.compute("second", 5)
    return builder.finish()


def test_values(answer):
    assert answer.verb == "sim"
    assert answer["makespan_ps"] == json.loads(answer.to_json())["makespan_ps"] > 0
    assert answer["interrupted"] is False
    assert isinstance(answer["congestion.mode"], str)
    assert isinstance(answer["throughput.tokens_per_s"], float)
    with pytest.raises(KeyError, match="did you mean 'makespan_ps'"):
        answer["makespan"]
    with pytest.raises(KeyError, match="did you mean 'ranks'"):
        answer.table("rank")
    for key in answer.keys():
        value = answer.to_dict()
        for part in key.split("."):
            value = (value or {}).get(part)
        assert value == answer[key] or answer[key] is None, key


def test_tables_equal_the_json(answer):
    compared = 0
    for made in (answer, chakra_et.open("linked").check(), chakra_et.open("linked").analyze(), chakra_et.open("tiny").what_if(from_network="net.yml")):
        whole = made.to_dict()
        for key in made.tables():
            table, wanted = made.table(key), whole.get(key)
            if not isinstance(wanted, list) or not all(isinstance(row, dict) for row in wanted):
                continue  # below another table, or an object
            assert len(table) == len(wanted)
            for name in table.keys():
                if "." not in name:
                    assert table[name].tolist() == [row.get(name) for row in wanted], (key, name)
                    compared += len(wanted)
    assert compared > 1000


def test_a_column_is_a_view(answer):
    table = answer.table("ranks")
    finish = table["finish_ps"]
    assert finish.dtype == numpy.int64 and not finish.flags.writeable and not finish.flags.owndata
    assert finish.__array_interface__["data"] == table["finish_ps"].__array_interface__["data"]
    assert finish.max() == answer["makespan_ps"]
    assert table.units["finish_ps"] == "ps" and table.meanings["finish_ps"]
    with pytest.raises(ValueError, match="read-only"):
        finish[0] = 1


def test_an_array_outlives_all_else():
    job = chakra_et.open("tiny")
    answer = job.simulate(network="net.yml")
    table = answer.table("ranks")
    finish, stream = table["finish_ps"], pyarrow.table(table)
    gone, expected = weakref.ref(answer), finish.tolist()
    del job, answer, table
    gc.collect()
    [chakra_et.open("tiny").simulate(network="net.yml") for _ in range(3)]  # other memory moves in
    assert gone() is None
    assert finish.tolist() == expected == stream["finish_ps"].to_pylist()


def test_missing_values_are_masked(answer):
    table = answer.table("collectives")
    arrow = pyarrow.table(table)
    masked = [key for key in table.keys() if isinstance(table[key], numpy.ma.MaskedArray)]
    assert masked
    for key in table.keys():
        assert table[key].tolist() == arrow[key].to_pylist()
    assert any(arrow[key].null_count for key in masked)


def test_rows_below_a_row(answer):
    parents, children = answer.table("collectives"), answer.table("collectives.candidates")
    row = children["row"]
    assert len(row) == len(children) and (numpy.diff(row) >= 0).all() and row.max() < len(parents)
    wanted = [len(each["candidates"]) for each in answer.to_dict()["collectives"] if "candidates" in each]
    assert numpy.unique(row, return_counts=True)[1].tolist() == [count for count in wanted if count]


def test_arrow_and_its_readers(answer):
    ranks = answer.table("ranks")
    arrow = pyarrow.table(ranks)
    assert arrow.schema.field("finish_ps").metadata[b"unit"] == b"ps"
    assert arrow["finish_ps"].chunk(0).buffers()[1].address == ranks["finish_ps"].__array_interface__["data"][0]  # no copy
    assert answer.to_pandas("ranks")["finish_ps"].dtype == pandas.ArrowDtype(pyarrow.int64())
    assert answer.to_polars("ranks")["finish_ps"].to_list() == ranks["finish_ps"].tolist()
    assert duckdb.sql("select max(finish_ps) from ranks").fetchall() == [(answer["makespan_ps"],)]
    for key in answer.tables():
        each = answer.table(key)
        pyarrow.table(each).validate(full=True)
        assert len(answer.to_pandas(key)) == len(answer.to_polars(key)) == len(each)


def test_whole_numbers_stay_exact(large):
    assert large["start_ps"].tolist() == [EXACT, None]
    assert pyarrow.table(large)["start_ps"].to_pylist() == [EXACT, None]
    assert pyarrow.table(large).to_pandas(types_mapper=pandas.ArrowDtype)["start_ps"][0] == EXACT
    assert polars.DataFrame(large)["start_ps"].to_list() == [EXACT, None]
    assert duckdb.sql("select start_ps from large").fetchall() == [(EXACT,), (None,)]
    assert large["dur_ps"].tolist() == [EXACT, 5]


def test_findings():
    found = chakra_et.open("tiny").edit(expand="32").made.findings
    assert found and found[0].severity in ("note", "warning", "error") and found[0].tag and found[0].rank is None


def test_a_table_of_findings():
    with gzip.open(os.path.join(RECORDED, "device.0.json.gz")) as whole, open("cut.json", "wb") as cut:
        cut.write(whole.read()[:-2000])
    recordings = ["cut.json", os.path.join(RECORDED, "host.0.json.gz")]
    with pytest.raises(chakra_et.Error) as error:
        chakra_et.link(recordings)
    assert error.value.tag == "pytorch.json.truncated" and error.value.place.file == "cut.json" and error.value.place.byte > 1e6
    made = chakra_et.link(recordings, salvage=True).made
    table, wanted = made.table("ranks.findings"), made.to_dict()["ranks"][0]["findings"]
    assert len(table) == len(wanted) > 0
    for key in ("tag", "severity", "rank", "node", "text"):
        assert table[key].tolist() == [each[key] for each in wanted] == pyarrow.table(table)[key].to_pylist()
    assert table["row"].tolist() == [0] * len(wanted)


def test_files(answer):
    answer.write("answer.json")
    answer.write("answer.txt")
    answer.write("other", "txt")
    with open("answer.json") as json_file, open("answer.txt") as text, open("other") as other:
        assert json_file.read() == answer.to_json()
        assert text.read() == other.read() == str(answer)
    assert str(answer) == command("sim", "tiny", "--network", "net.yml")[0]
    with pytest.raises(chakra_et.Error) as error:
        answer.write("net.yml/answer.json")
    assert error.value.tag == "base.file.create" and error.value.code == 3
    with pytest.raises(chakra_et.Error, match="known: json, txt"):
        answer.write("answer.x", "xml")


def test_html_of_a_large_table():
    """131,072 rows: ten are shown, and only ten are read."""
    with open("large.yml", "w") as out:
        out.write("topology: [Switch]\nnpus_count: [131072]\nbandwidth: [10]\nlatency: [1000]\n")
    builder = chakra_et.Builder(0)
    builder.compute("step", 1000)
    table = chakra_et.Job.of([builder.finish()]).edit(expand="131072").simulate(network="large.yml").table("ranks")
    assert len(table) == 131_072
    html = table._repr_html_()
    assert html.count("<tr>") == 11 and "10 of 131,072 rows of ranks" in html and len(html) < 5000


def test_html_shows_ten_rows(answer):
    html = answer.table("ranks")._repr_html_()
    assert html.count("<tr>") == 11 and "10 of 16 rows" in html and "finish_ps [ps]" in html
    assert "makespan_ps" in answer._repr_html_()
    assert "16 rows" in repr(answer.table("ranks")) and "sim" in repr(answer)
