"""Queries against two other ways to the same numbers: the JSON of `chakra analyze`, and DuckDB over the JSON of the traces."""
import json

import pytest
from conftest import command

ANALYSES = ["annotations", "bandwidth", "bytes", "bytes_by_size", "clocks", "collectives", "copies", "critical_path", "critical_path_bounds",
            "critical_path_edges", "critical_path_nodes", "device_time", "exposed", "idle_causes", "imbalance", "imbalance_collectives",
            "imbalance_ranks", "kernel_kinds", "kernels", "launches", "launches_each", "memory", "memory_over_time", "message_bandwidth", "message_transfers",
            "modules", "operators", "overlap", "queue_lengths", "queue_lengths_over_time", "sequences", "shapes", "stragglers", "time", "work"]

# From the tables of traces: a table of `analyze`, its columns, and the SQL that computes the same from nodes.
COMPUTED = [
    ("linked", "bytes", "type count bytes time_ps",
     "select comm_type, count(*), sum(comm_bytes), sum(dur_ps) from nodes where type = 'COMM_COLL_NODE' group by 1"),
    ("linked", "bytes_by_size", "type group size_bytes count bytes time_ps",
     "select comm_type, comm_group, comm_bytes, count(*), sum(comm_bytes), sum(dur_ps) from nodes where comm_type <> '' group by 1, 2, 3"),
    ("linked", "collectives", "type group size_bytes members count",
     "select type, group_name, bytes, max(members), count(*) from collectives group by 1, 2, 3"),
    ("linked", "critical_path", "rank length_ps",
     "select rank, max(start_ps + dur_ps) - min(start_ps) from nodes where start_ps is not null group by rank"),
    ("linked", "overlap", "rank communication_ps", """
with c as (select rank, start_ps as a, start_ps + dur_ps as b from nodes where type = 'COMM_COLL_NODE'),
  marked as (select *, max(b) over (partition by rank order by a, b rows between unbounded preceding and 1 preceding) as before from c)
select rank, sum(b - max(a, coalesce(before, a))) from marked where b > coalesce(before, a) group by rank"""),
    ("linked", "bandwidth", "type group members count",
     "select type, group_name, members, count(*) from collectives group by 1, 2, 3, bytes"),
    ("tiny", "bytes", "type count bytes",
     """select coalesce(comm_type, substr(type, 6, 4)), count(*), sum(comm_bytes) from nodes where type like 'COMM%' group by 1"""),
    ("tiny", "bytes_by_size", "type group size_bytes count",
     """select coalesce(comm_type, substr(type, 6, 4)), iif(comm_type is null, '', comm_group), comm_bytes, count(*)
from nodes where type like 'COMM%' group by 1, 2, 3"""),
]

# `nodes` and `edges` are views of DuckDB over the JSON of the traces.
BOTH = [
    "select rank, count(*) from nodes group by rank",
    "select type, count(*) from nodes group by type",
    "select rank, name, count(*) from nodes group by rank, name",
    "select name, sum(dur_ps), min(dur_ps), max(dur_ps) from nodes where dur_ps is not null group by name",
    "select rank, id, dur_ps from nodes where dur_ps is not null order by dur_ps desc, rank, id limit 50",
    "select rank, min(start_ps), max(start_ps + dur_ps) from nodes where start_ps is not null group by rank",
    "select comm_type, comm_group, sum(comm_bytes), count(*) from nodes where comm_type is not null group by 1, 2",
    "select rank, count(*) from edges where dependency = 'data' group by rank",
    "select rank, node, count(*) from edges where dependency = 'data' group by 1, 2 order by 3 desc, 1, 2 limit 20",
    "select b.name, count(*) from edges e join nodes a on a.rank = e.rank and a.id = e.node join nodes b on b.rank = e.rank and "
    "b.id = e.waits_for where e.dependency = 'control' and a.name = 'aten::mm' group by 1",
    "select a.rank, count(*) from nodes a join nodes b on a.rank = b.rank and a.part_of = b.id group by 1",
    "select rank, thread, count(*), sum(dur_ps) from nodes where thread is not null group by 1, 2",
]


def rows_of(text, job="linked"):
    return [list(row.values()) for row in json.loads(command("query", job, text, "--json", "-")[0])["rows"]]


def sorted_rows(rows):
    return sorted(([*row] for row in rows), key=lambda row: [(value is not None, str(type(value)), value) for value in row])


@pytest.fixture(scope="module")
def analyses():
    return {job: json.loads(command("analyze", job, "--json", "-")[0]) for job in ("linked", "tiny")}


@pytest.mark.parametrize("job", ["linked", "tiny"])
def test_tables_of_analyses(job, analyses):
    compared = 0
    for table in ANALYSES:
        found = json.loads(command("query", job, f"select * from analyze_{table}", "--json", "-")[0])["rows"]
        wanted = [{key: value for key, value in row.items() if not (key.endswith("_ns") and key[:-2] + "ps" in row)}
                  for row in analyses[job][table]]
        names = dict.fromkeys(key for row in wanted for key in row)
        wanted = [{key: None if row[key] == "unknown" and not isinstance(other.get(key), str) else row[key] for key in names}
                  for row, other in zip(wanted, found, strict=True)]
        assert found == wanted, table
        compared += bool(found)
    assert compared >= 8


@pytest.mark.parametrize("job, table, columns, text", COMPUTED, ids=[f"{c[0]}-{c[1]}" for c in COMPUTED])
def test_sums_over_nodes(job, table, columns, text, analyses):
    wanted = [[row[column] for column in columns.split()] for row in analyses[job][table]]
    assert sorted_rows(rows_of(text, job)) == sorted_rows(wanted)


@pytest.fixture(scope="module")
def duck(place):
    duckdb = pytest.importorskip("duckdb")
    command("convert", "linked", "-o", "raw/", "--to", "json")
    base = duckdb.connect()
    source = " union all by name ".join(
        f"select {rank} as rank, unnest(nodes) as n from read_json('raw/trace.{rank}.json', maximum_object_size = 500000000)" for rank in (0, 1))
    base.execute(f"create table raw as {source}")
    base.execute("""create macro attr(n, key) as list_filter(n.attr, lambda a: a.name = key)[1]""")
    base.execute("""create macro number(n, key) as cast(coalesce(attr(n, key).int64Val, attr(n, key).uint64Val) as hugeint)""")
    base.execute("""create table nodes as select rank, cast(n.id as bigint) as id, n.name as name, n.type as type,
        (number(n, 'ts_ns') - (select min(number(n, 'ts_ns')) from raw)) * 1000 as start_ps,
        number(n, 'dur_ns') * 1000 as dur_ps, number(n, 'comm_size') as comm_bytes, attr(n, 'pg_name').stringVal as comm_group,
        number(n, 'comm_type') as comm_number, number(n, 'part_of') as part_of, number(n, 'tid') as thread from raw""")
    base.execute("""alter table nodes add column comm_type varchar""")
    base.execute("update nodes set comm_type = 'ALL_REDUCE' where comm_number = 0")
    base.execute("""create table edges as select rank, cast(n.id as bigint) as node, cast(unnest(n.dataDeps) as bigint) as waits_for,
        'data' as dependency from raw union all
        select rank, cast(n.id as bigint), cast(unnest(n.ctrlDeps) as bigint), 'control' from raw""")
    return base


@pytest.mark.parametrize("text", BOTH)
def test_duckdb_over_the_json(text, duck):
    wanted = [[int(value) if isinstance(value, int) else value for value in row] for row in duck.execute(text).fetchall()]
    found = rows_of(text)
    assert found
    assert sorted_rows(found) == sorted_rows(wanted)


def test_the_method():
    chakra_et = pytest.importorskip("chakra_et")
    job = chakra_et.open("linked")
    answer = job.query("select rank, count(*) as nodes, :x as x from nodes group by rank", param=["x=9007199254740993"])
    assert answer.to_dict()["rows"] == [{"rank": r, "nodes": n, "x": 9007199254740993} for r, n in rows_of(BOTH[0])]
    table = answer.table("rows").to_pandas()
    assert list(table["x"]) == [9007199254740993] * 2
    del answer, job
    assert list(table.columns) == ["rank", "nodes", "x"]
    with pytest.raises(chakra_et.Error) as error:
        chakra_et.open("linked").query("select * from nothing")
    assert error.value.tag == "query.sql" and error.value.place.file == "SQL"
