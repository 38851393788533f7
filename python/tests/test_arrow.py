"""Arrow files against the tables of the package, which reach pyarrow in another way."""
import json

import chakra_et
import polars
import pyarrow as pa
import pytest
from conftest import command

ANSWERS = {
    "analyze": lambda: chakra_et.open("linked").analyze(),
    "check": lambda: chakra_et.open("linked").check(),
    "simulate": lambda: chakra_et.open("tiny").simulate(network="net.yml"),
    "nodes": lambda: chakra_et.open("linked").query("select * from nodes"),
    "nothing": lambda: chakra_et.open("linked").query("select * from nodes where id < 0"),
    "whatif": lambda: chakra_et.open("tiny").what_if(from_network="net.yml", scale=["compute=0.5"]),
}


def equal(file, table):
    """Batches and the sizes of their offsets may differ, values and metadata may not."""
    assert file.schema.names == table.schema.names
    for field, other in zip(file.schema, table.schema):
        assert field.type == other.type and (field.metadata or {}) == (other.metadata or {}), field
    assert file.combine_chunks().equals(table.combine_chunks())


@pytest.mark.parametrize("name", ANSWERS)
def test_files_equal_tables(name, tmp_path):
    answer = ANSWERS[name]()
    answer.write(tmp_path / "made.arrow")
    files = sorted(path.name for path in tmp_path.iterdir())
    read = 0
    for key in answer.tables():
        table = pa.table(answer.table(key))
        if f"made.{key}.arrow" not in files:
            assert table.num_rows == 0, key
            continue
        with pa.ipc.open_file(tmp_path / f"made.{key}.arrow") as file:
            equal(file.read_all(), table)
        read += 1
    assert read == len(files) > 0


def test_many_rows_and_all_types(tmp_path):
    sql = ("with recursive n(i) as (select 0 union all select i + 1 from n where i < 150000) "
           "select i, case when i % 3 then null else i end as some, i / 4.0 as real, 'text ' || (i % 7) as words, "
           "case i % 3 when 0 then i when 1 then 'a' else null end as mixed, null as absent, char(55357) as broken from n")
    answer = chakra_et.open("tiny").query(sql)
    answer.write(tmp_path / "made.arrow")
    with pa.ipc.open_file(tmp_path / "made.rows.arrow") as file:
        assert file.num_record_batches == 3
        table = file.read_all()
    equal(table, pa.table(answer.table("rows")))
    assert table["i"].to_pylist() == list(range(150001))
    assert table["mixed"].to_pylist()[:4] == ["0", '"a"', None, "3"]
    frame = polars.read_ipc(tmp_path / "made.rows.arrow")
    assert frame["some"].sum() == sum(range(0, 150001, 3)) and frame["absent"].null_count() == 150001


def test_the_command_writes_the_same(tmp_path):
    command("query", "linked", "--named", "kernels", "--arrow", tmp_path / "a", "--csv", tmp_path / "a", "--json", tmp_path / "a.json")
    with pa.ipc.open_file(tmp_path / "a.rows.arrow") as file:
        rows = file.read_all().to_pylist()
    assert rows == json.loads((tmp_path / "a.json").read_text())["rows"]
    assert len((tmp_path / "a.rows.csv").read_text().splitlines()) == len(rows) + 1
    assert command("query", "linked", "select 1", "--arrow", tmp_path / "a.json" / "folder", code=3)[1]


def test_a_simulation_by_sql():
    job = chakra_et.open("tiny")
    simulated = job.simulate(network="net.yml", timeline="simulated.json")
    by_sql = job.query("select rank, finish_ps from sim_ranks order by rank", network="net.yml").table("rows")
    assert by_sql["finish_ps"].tolist() == simulated.table("ranks")["finish_ps"].tolist()
    slices = [one for one in json.load(open("simulated.json"))["traceEvents"] if one["ph"] == "X"]
    rows = job.query("select rank, name, start_ps, end_ps from sim_timeline", network="net.yml").table("rows")
    assert sorted(zip(rows["rank"].tolist(), rows["name"].tolist())) == sorted((one["pid"], one["name"]) for one in slices)
    assert max(rows["end_ps"].tolist()) == simulated["makespan_ps"]
    value = job.query("select whole from sim_values where key = 'makespan_ps'", network="net.yml").table("rows")
    assert value["whole"].tolist() == [simulated["makespan_ps"]]
    several = job.query("select count(*) from sim_ranks, sim_links, sim_values, sim_timeline", network="net.yml").findings
    assert sorted(finding.text for finding in several) == sorted(finding.text for finding in simulated.findings)
    idle = job.query("select count(*) from nodes", network="net.yml")
    assert any("--network" in finding.text for finding in idle.findings)
    with pytest.raises(chakra_et.Error, match="--network"):
        job.query("select * from sim_ranks")


def test_the_measured_timeline():
    job = chakra_et.open("linked")
    job.view("measured.json", to="timeline")
    slices = [one for one in json.load(open("measured.json"))["traceEvents"] if one["ph"] == "X"]
    rows = job.query("select rank, name, end_ps - start_ps as dur_ps from timeline").table("rows")
    made = sorted(zip(rows["rank"].tolist(), rows["name"].tolist(), rows["dur_ps"].tolist()))
    assert made == sorted((one["pid"], one["name"], round(one["dur"] * 1e6)) for one in slices)
    apart = job.query("select count(*) as n from timeline t join nodes n on n.rank = t.rank and n.id = t.id where n.start_ps <> t.start_ps")
    assert apart.table("rows")["n"].tolist() == [0]
