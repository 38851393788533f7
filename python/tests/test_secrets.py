"""What recordings reveal: `chakra doctor --secrets`, which finds nothing after `chakra obfuscate`."""
import gzip
import json
import os

import pytest
from conftest import RECORDED, command

PLANTED = {
    "token": ["hf_AbCdEfGhIjKlMnOpQrStUv", "8f14e45fceea167a5a36dedd4bea2543"],
    "e-mail": ["carol@example.com"],
    "address": ["10.0.13.7:29500", "https://wandb.ai/moon"],
    "user": ["carol"],
    "host": ["n17.lab"],
    "environment": ["WANDB_PROJECT=moonshot"],
    "path": ["/home/carol/moon/train.py"],
    "date": ["2026-11-27"],
    "name": ["MoonModel_0", "moon_kernel"],
}


def secrets_of(path):
    found = json.loads(command("doctor", "--secrets", path, "--json", "-")[0])
    return {kind["kind"]: kind for kind in found["kinds"]}, found


def write_trace(path, names):
    """A trace in the form jsonl, with a planted name for each node."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"version": "0.0.4", "attr": [{"name": "hostname", "stringVal": "n17.lab"}, {"name": "rank", "int64Val": "0"}]}) + "\n")
        for number, name in enumerate(names):
            attr = [{"name": "is_cpu_op", "boolVal": bool(number % 2)}, {"name": "note", "stringVal": name},
                    {"name": "op_schema", "stringVal": f"aten::{name}(Tensor x)"}, {"name": "ts_ns", "int64Val": str(1764223200000000000 + number)}]
            file.write(json.dumps({"id": str(number + 1), "name": name, "type": "COMP_NODE", "durationMicros": "5", "attr": attr,
                                   "inputs": {"values": f"['{name}', 1]", "shapes": "[[1], []]", "types": "['Tensor', 'Int']"}}) + "\n")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    write_trace(folder / "trace.0.jsonl", [text for texts in PLANTED.values() for text in texts] + ["aten::mm"])
    return folder


def test_planted_secrets_are_found(planted):
    kinds, found = secrets_of(planted)
    for kind, texts in PLANTED.items():
        assert kinds[kind]["count"] >= len(texts) and kinds[kind]["different"] >= len(texts)
    for kind in set(PLANTED) - {"date", "name"}:  # of these, other texts come first
        assert set(PLANTED[kind]) <= set(kinds[kind]["examples"]), kind
    assert found["files"] == [{"path": str(planted / "trace.0.jsonl"), "kind": found["files"][0]["kind"], "read": True,
                               "texts": found["texts"], "error": None}]


@pytest.mark.parametrize("form", ["et", "json", "chakra", "jsonl.gz"])
def test_planted_secrets_are_found_in_every_form(planted, form, tmp_path):
    source = planted / "trace.0.jsonl"
    if form == "chakra":
        command("pack", source, "-o", tmp_path / "job.chakra")
    elif form == "jsonl.gz":
        (tmp_path / "trace.0.jsonl.gz").write_bytes(gzip.compress(source.read_bytes()))
    else:
        command("convert", source, "-o", tmp_path / f"trace.0.{form}")
    kinds, found = secrets_of(tmp_path)
    for kind in set(PLANTED) - {"date", "name"}:
        assert set(PLANTED[kind]) <= set(kinds[kind]["examples"]), (form, kind)
    assert all(file["read"] for file in found["files"])


def test_hiding_leaves_none(planted, tmp_path):
    command("obfuscate", planted, "--key", "my.key", "--names", tmp_path / "names", "-o", tmp_path / "hidden")
    kinds, found = secrets_of(tmp_path / "hidden")
    assert found["texts"] > 20 and {kind: of["count"] for kind, of in kinds.items()} == dict.fromkeys(kinds, 0), kinds
    text = (tmp_path / "hidden" / "trace.0.et").read_bytes()
    assert not any(secret.encode() in text for texts in PLANTED.values() for secret in texts)


def test_every_file_is_named(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log.txt").write_text("carol was here")
    (tmp_path / "cut.json").write_text('{"name": "moon')
    (tmp_path / "trace.1.et").write_bytes(b"\x08\xff\xff")
    os.symlink(tmp_path, tmp_path / "round")
    os.mkfifo(tmp_path / "pipe")
    kinds, found = secrets_of(tmp_path)
    assert {os.path.relpath(file["path"], tmp_path): file["read"] for file in found["files"]} == {
        "cut.json": True, "deep/log.txt": False, "pipe": False, "round": False, "trace.1.et": True}
    assert {finding["tag"] for finding in found["findings"]} >= {"cli.doctor.not_read"} and kinds["name"]["examples"] == ["moon"]
    errors = {os.path.basename(file["path"]): file["error"] for file in found["files"]}
    assert errors["trace.1.et"] and not errors["cut.json"]


def test_real_recordings():
    kinds, found = secrets_of(RECORDED)
    assert found["texts"] > 1000 and kinds["date"]["count"] > 0 and all(file["read"] for file in found["files"])
