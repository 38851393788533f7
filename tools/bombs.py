#!/usr/bin/env python3
"""Hostile inputs of every kind that the command reads: each must end soon, in little memory, and say why.

    bombs.py [--bin DIR] [--full] [--size BYTES] [--only KIND] [--bomb TEXT]

For each kind of input, bombs are made from small good ones (tools/fuzz_seeds.py), always the same, and given to every
command that reads that kind. A run is good if it takes at most 10 s of processor time and 64 MiB + 30 times the bytes
of the input after unpacking (of which a command takes at most 1,000 times the packed ones), and ends without a signal,
with a tag wherever it does not end with 0. Without --full, some commands and small bombs only.
"""
import argparse
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import et  # noqa: E402
import fuzz_seeds  # noqa: E402

SECONDS, MEMORY, TIMES, UNPACKED_TIMES = 10, 64 << 20, 30, 1000
TAG = re.compile(r"\[[a-z_]+(\.[a-z_0-9]+)+\]")


# ---- bombs: name -> bytes, from a good input and a size ---------------------------------------------------------

def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def message(*fields):
    body = b"".join(fields)
    return varint(len(body)) + body


def sized(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c", "-3"], input=data, capture_output=True, check=True).stdout


def zstd_run(byte, size):
    """A frame of one byte repeated: blocks of 128 KiB in 4 bytes each."""
    blocks, rest = divmod(size, 1 << 17)
    body = b"".join((((1 << 17) << 3) | 2 | (rest == 0 and i + 1 == blocks)).to_bytes(3, "little") + byte for i in range(blocks))
    if rest or not blocks:
        body += ((rest << 3) | 3).to_bytes(3, "little") + byte
    return b"\x28\xb5\x2f\xfd\x00\x50" + body


def gzip_(data):
    return gzip.compress(data, 6, mtime=0)


def any_bombs(seed, n):
    """Of every kind."""
    noise = random.Random(7)
    yield "zeros", bytes(n)
    yield "zeros behind", seed + bytes(n)
    yield "ones", b"\xff" * n
    yield "repeated", seed * (n // len(seed) + 1)
    yield "blanks", b" " * n
    yield "lines", b"\n" * n
    yield "noise", noise.randbytes(n)
    yield "brackets", b"[" * n
    yield "braces", b"{" * n
    yield "brackets closed", b"[" * (n // 2) + b"]" * (n // 2)
    yield "nested", b'{"a":' * (n // 5)
    yield "nested list", b'[{"a":' * (n // 6)
    yield "string", seed[:len(seed) // 2] + b'"' + b"a" * n
    yield "backslashes", b'{"a":"' + b"\\" * n
    yield "digits", b"9" * n
    yield "commas", b"[" + b"," * n
    yield "tags", b"<a>" * (n // 3)
    yield "angles", b"<" * n
    yield "cut", seed[:len(seed) * 2 // 3]
    for value in (b"99999999999999999999", b"9223372036854775807", b"1e308", b"-1", b"4294967295"):
        yield f"numbers {value.decode()}", re.sub(rb"\b[0-9]+\b", value, seed)
    yield "gzip of zeros", gzip_(bytes(n * 16))
    yield "gzip of blanks", gzip_(b" " * (n * 16))
    yield "gzip members", gzip_(b"") * (n // 20)
    yield "gzip twice", gzip_(gzip_(bytes(n * 16)))
    yield "gzip cut", gzip_(seed * (n // len(seed) + 1))[:-9]
    yield "zstd of zeros", zstd_run(b"\0", n * 64)
    yield "zstd of brackets", zstd_run(b"[", n * 64)
    yield "zstd of many times", zstd(seed * (n * 4 // len(seed) + 1))
    yield "zstd frames", zstd(b"") * (n // 9)
    yield "zstd skipped", (b"\x50\x2a\x4d\x18" + b"\0" * 4) * (n // 8)
    yield "tar of much", b"a".ljust(124, b"\0") + b"77777777777\0" + b"0" * 20 + b"0" + b"ustar".rjust(105, b"\0") + bytes(300) + seed


def json_bombs(seed, n):
    """Inside a good document: at each of its arrays and objects, and at its texts and numbers."""
    yield "deep value", seed[:-1] + b',"deep":' + b"[" * (n // 2) + b"]" * (n // 2) + b"}"
    yield "many keys", seed.rstrip()[:-1] + b"".join(b',"k%d":1' % i for i in range(n // 9)) + b"}"
    yield "one key often", seed.rstrip()[:-1] + b',"k":1' * (n // 6) + b"}"
    yield "long key", seed.rstrip()[:-1] + b',"' + b"k" * n + b'":1}'
    yield "long number", seed.rstrip()[:-1] + b',"k":' + b"9" * n + b"}"
    yield "many numbers", seed.rstrip()[:-1] + b',"k":[1' + b",1" * (n // 2) + b"]}"
    yield "many objects", seed.rstrip()[:-1] + b',"k":[{}' + b",{}" * (n // 3) + b"]}"
    yield "escapes", seed.rstrip()[:-1] + b',"k":"' + b"\\u0000" * (n // 6) + b'"}'
    for opening in (b"[", b"{"):
        for at in [m.start() for m in re.finditer(re.escape(opening), seed)][:8]:
            open_end, close = at + 1, {b"[": b"]", b"{": b"}"}[opening]
            depth, end = 0, at
            for end in range(at, len(seed)):
                depth += (seed[end:end + 1] == opening) - (seed[end:end + 1] == close)
                if depth == 0:
                    break
            inner = seed[open_end:end]
            if opening == b"[" and inner.strip():
                yield f"array at {at} often", seed[:open_end] + b",".join([inner] * (n // (len(inner) + 1) + 1)) + seed[end:]
            yield f"{opening.decode()} at {at} unclosed", seed[:open_end] + b"{" * n
            if opening == b"[":
                yield f"[ at {at} of empty objects", seed[:open_end] + b"{}," * (n // 3) + b"{}" + seed[end:]
                yield f"[ at {at} of ones", seed[:open_end] + b"1," * (n // 2) + b"1" + seed[end:]
    for at in [m.start() for m in re.finditer(rb'"[^"]*"', seed)][:40:4]:
        end = seed.index(b'"', at + 1)
        yield f"long text at {at}", seed[:end] + b"x" * n + seed[end:]


def yaml_bombs(seed, n):
    yield "aliases", b"a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 40))
    yield "a long text by alias", b"a: &a " + b"x" * (n // 2) + b"\nb: [*a" + b",*a" * (n // 6) + b"]\n"
    yield "many anchors", b"".join(b"k%d: &a%d 1\n" % (i, i) for i in range(n // 16))
    yield "keys asked for", b"? " * (n // 2)
    yield "dashes", b"- " * (n // 2)
    yield "flow maps", b"{a: " * (n // 4)
    yield "block of lines", b"a: |\n" + b" x\n" * (n // 3)
    yield "directives", b"%TAG ! tag:a\n" * (n // 13)
    yield "documents", b"---\n" * (n // 4)
    yield "tags of yaml", b"!a " * (n // 3)
    yield "quotes", b"'" * n
    yield "items", b"topology:\n" + b"- Ring\n" * (n // 7)
    yield "short items", b"npus_count: [" + b"1," * (n // 2) + b"1]\n" + seed
    yield "huge dimension", re.sub(rb"npus_count: *\[[^\]]*\]", b"npus_count: [1000000, 1000000, 1000000]", seed)
    yield "huge switches", re.sub(rb"switches: *[0-9]+", b"switches: 4000000000", seed)
    yield "huge levels", re.sub(rb"down: *\[[^\]]*\]", b"down: [16000000, 16000000]", seed)
    yield "many dimensions", (b"topology: [" + b"Ring," * (n // 40) + b"Ring]\nnpus_count: [" + b"2," * (n // 40) +
                              b"2]\nbandwidth: [" + b"1," * (n // 40) + b"1]\nlatency: [" + b"1," * (n // 40) + b"1]\n")


def sweep_bombs(seed, n):
    numbers = b"[" + b", ".join(b"%d" % i for i in range(1, min(n // 6, 1000))) + b"]"
    huge = b"generate: {" + b", ".join(key + b": " + numbers for key in (b"dp", b"micro-batches", b"sequence", b"seed", b"hidden")) + b"}\n"
    yield "combinations", huge
    yield "a rare sample", huge + b"sample: 1000\nconstraints: [dp == 1, micro_batches == 1, sequence == 1]\n"
    yield "constraints", seed + b"constraints: [" + b"layers > 0, " * (n // 12) + b"layers > 0]\n"
    yield "a long constraint", seed + b"constraints: layers" + b"+layers" * (n // 7) + b" > 0\n"
    yield "parentheses", seed + b"constraints: " + b"(" * (n // 2) + b"1" + b")" * (n // 2) + b"\n"
    yield "points", b"generate: {}\npoints: [" + b"{layers: 8}, " * (n // 13) + b"{layers: 9}]\n"
    yield "values", b"generate: {layers: [" + b", ".join(b"%d" % i for i in range(1, n // 8)) + b"], preset: tiny}\nconstraints: layers < 1\n"
    yield "objectives", seed + b"objectives: [" + b"mfu, " * (n // 5) + b"mfu]\n"


def xml_bombs(seed, n):
    doctype = b'<!DOCTYPE a [<!ENTITY x0 "ha">' + b"".join(
        b'<!ENTITY x%d "%s">' % (i, b"&x%d;" % (i - 1) * 10) for i in range(1, 30)) + b"]>"
    yield "entities", doctype + b"<algo>&x29;</algo>"
    yield "external entity", b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///dev/zero">]><algo name="&x;">' + seed
    yield "attributes", b"<algo " + b"".join(b'a%d="1" ' % i for i in range(n // 9)) + b"/>"
    yield "comments", b"<!-- " * (n // 5)
    yield "empty gpus", seed[:seed.index(b"<gpu")] + b"<gpu/>" * (n // 6) + b"</algo>"
    yield "gpus of ids", seed[:seed.index(b"<gpu")] + b"".join(
        b'<gpu id="%d" i_chunks="1" o_chunks="1" s_chunks="1"></gpu>' % i for i in range(n // 60)) + b"</algo>"
    step = re.search(rb"<step [^>]*/>", seed).group()
    yield "steps", seed.replace(step, step * (n // len(step)), 1)
    for name in (b"i_chunks", b"o_chunks", b"s_chunks", b"cnt", b"ngpus", b"nchunksperloop", b"nchannels"):
        yield f"huge {name.decode()}", re.sub(name + rb'="[^"]*"', name + b'="1000000000"', seed)


def et_bombs(seed, n):
    metadata = message(sized(1, b"0.0.4"))
    node = b"\x08\x01"
    yield "one id", metadata + message(node) * (n // 3)
    yield "small nodes", metadata + b"".join(message(b"\x08" + varint(i)) for i in range(n // 5))
    yield "empty messages", metadata + bytes(n)
    yield "one empty message", metadata + b"\0" + message(node)
    yield "empty attributes", metadata + message(node, sized(10, b"") * (n // 2))
    yield "unknown fields", metadata + message(node, b"\xa0\x06\x00" * (n // 3))
    yield "ids packed", metadata + message(node, sized(5, b"\x01" * n))
    yield "ids one by one", metadata + message(node, b"\x28\x01" * (n // 2))
    yield "far ids", metadata + message(node, sized(5, b"".join(varint(i * 7919) for i in range(n // 4))))
    yield "callers", metadata + message(node, sized(4, b"\x01" * n))
    yield "long name", metadata + message(node, sized(2, b"x" * n))
    yield "names", metadata + b"".join(message(b"\x08" + varint(i), sized(2, b"%x" % i)) for i in range(n // 12))
    yield "names of attributes", metadata + message(node, b"".join(sized(10, sized(1, b"%x" % i)) for i in range(n // 10)))
    yield "attributes", metadata + b"".join(message(b"\x08" + varint(i), sized(10, sized(1, b"a") + b"\x30\x01")) for i in range(n // 13))
    yield "lanes", metadata + b"".join(message(b"\x08" + varint(i), sized(10, sized(1, b"tid") + b"\x30" + varint(i))) for i in range(n // 18))
    yield "lists", metadata + message(node, sized(10, sized(1, b"dep_kinds") + sized(16, sized(1, b"\x01" * n))))
    yield "dimensions", metadata + message(node, sized(10, sized(1, b"involved_dim") + sized(28, sized(1, b"\x01" * n))))
    yield "a chain", metadata + b"".join(message(b"\x08" + varint(i + 1), b"\x20\x04\x38\x01", b"\x28" + varint(i)) for i in range(n // 11))
    yield "a chain backwards", metadata + b"".join(message(b"\x08" + varint(i + 1), b"\x20\x04", b"\x28" + varint(i + 2)) for i in range(n // 11))
    yield "collectives", metadata + b"".join(
        message(b"\x08" + varint(i), b"\x18\x07", sized(10, sized(1, b"comm_type") + b"\x30\x00"),
                sized(10, sized(1, b"comm_size") + b"\x30\x7f")) for i in range(n // 40))
    yield "groups", metadata + b"".join(
        message(b"\x08" + varint(i), b"\x18\x07", sized(10, sized(1, b"comm_type") + b"\x30\x00"),
                sized(10, sized(1, b"pg_name") + b"\x7a" + message(b"%x" % i))) for i in range(n // 45))
    yield "sends", metadata + b"".join(
        message(b"\x08" + varint(i), b"\x18\x05", sized(10, sized(1, b"comm_dst") + b"\x30" + varint(i))) for i in range(n // 25))
    yield "length", metadata + varint((1 << 31) - 1) + node
    yield "length beyond", metadata + varint((1 << 63) - 1) + node
    yield "length of length", metadata + b"\x80" * n
    yield "long metadata", message(sized(1, b"x" * n)) + message(node)
    yield "metadata of attributes", message(sized(1, b"4"), sized(2, sized(1, b"a") + b"\x30\x01") * (n // 7)) + message(node)
    yield "groups in metadata", message(sized(1, b"4"), sized(2, sized(1, b"process_groups") + b"\x7a" + message(
        b"[" + b'{"pg_name":"1","ranks":[0]},' * (n // 28) + b"{}]"))) + message(node)
    yield "nested groups", message(sized(1, b"4"), sized(2, sized(1, b"process_groups") + b"\x7a" + message(b"[" * n))) + message(node)
    yield "huge numbers", metadata + message(node, b"\x18\x04", b"\x30" + varint((1 << 64) - 1), b"\x38" + varint((1 << 64) - 1))
    yield "huge work", metadata + b"".join(message(b"\x08" + varint(i), b"\x18\x04", sized(
        10, sized(1, b"num_ops") + b"\x48" + varint((1 << 64) - 1))) for i in range(1, 100))


def text_bombs(seed, n):
    lines = seed.decode().splitlines()
    yield "lines often", "\n".join([*lines[:1], str(n // 50), *([lines[-1]] * (n // 50))]).encode()
    yield "many layers said", "\n".join([lines[0], "4000000000", *lines[2:]]).encode()
    yield "many columns", ("\n".join(lines[:2]) + "\nl " + "1 " * (n // 2)).encode()
    yield "header", (lines[0] + " x: 1" * (n // 5) + "\n" + "\n".join(lines[1:])).encode()


def dot_bombs(seed, n):
    yield "edges", seed[:-1] + b"node0 -> node1;" * (n // 15) + b"}"
    yield "chain", seed[:-1] + b"->".join(b"node0" for _ in range(n // 7)) + b";}"
    yield "attributes", seed[:-1] + b'node9 [label="{' + b"a=1|" * (n // 4) + b'}"];}'
    yield "comments", b"/*" * (n // 2)
    yield "unclosed label", seed[:-1] + b'node9 [label="' + b"{|" * (n // 2)
    yield "subgraphs", b"digraph a " + b"{subgraph b " * (n // 12)


def lines_bombs(seed, n):
    lines = seed.splitlines()
    yield "records", lines[0] + b"\n" + (lines[1] + b"\n") * (n // (len(lines[1]) + 1))
    yield "empty records", lines[0] + b"\n" + b"{}\n" * (n // 3)
    yield "small records", lines[0] + b"\n" + b"".join(b'{"id":%d}\n' % i for i in range(n // 12))


def container_bombs(seed, n):
    rng = random.Random(3)
    yield "magic", b"CHAKRAJB" * (n // 8)
    yield "ends", seed[:16] + b"CHAKRAJE" * (n // 8)
    yield "trailers", seed[:16] + seed[-40:] * (n // 40)
    yield "zeros behind the header", seed[:16] + bytes(n)
    for i in range(12):
        damaged = bytearray(seed)
        damaged[rng.randrange(len(seed))] ^= 1 << rng.randrange(8)
        yield f"changed {i}", bytes(damaged)
    for part in (3, 2):
        yield f"cut to {part - 1} of {part}", seed[:len(seed) * (part - 1) // part]
    yield "directory that expands", with_directory(seed[:16], zstd_run(b"\0", n * 60))
    yield "directory of ranks", with_directory(seed[:16], zstd(varint(1 << 40) + b"\0\0\0" * (n // 2)))
    yield "many ranks said", with_directory(seed[:16], zstd(varint(1 << 62)))


def crc32c(data):
    """As the container has it: started with all ones, not inverted at the end."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc


def with_directory(header, packed):
    block = b"\x01" + packed
    trailer = len(header).to_bytes(8, "little") + len(block).to_bytes(8, "little") + crc32c(block).to_bytes(4, "little")
    trailer += (len(header) + len(block) + 40).to_bytes(8, "little")
    return header + block + trailer + crc32c(trailer).to_bytes(4, "little") + b"CHAKRAJE"


# ---- kinds: file name, seed, bombs beside those of every kind, commands -------------------------------------------

def seed_of(name, index=0):
    return lambda world: fuzz_seeds.SEEDS[name]()[index]


SYSTEM = (b'{"roofline-enabled": 1, "peak-perf": 10, "local-mem-bw": 100, "scheduling-policy": "LIFO", "active-chunks-per-dimension": 1,'
          b'"preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"], "devices": {"own": {"device": "H100-SXM", "ranks": [0]}},'
          b'"ranks": {"0": {"speed": 0.5, "start-ns": 10}}}')
MEMORY_FILE = b'{"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 1, "remote-mem-bw": 2, "num-nodes": 1, "num-npus-per-node": 1}'
DEVICE = b"name: Own-1\npeaks:\n  f32: 60\n  bf16: 480\nmemory-bandwidth: 2400\nmemory: 96\nrecorded-as: [Own One]\nsource: sheet\n"
SIM = "sim {job} --network {net}"
CERTIFY = "certify {f} {f} -o {o}.certificate"
OBFUSCATE = "obfuscate {f} --key {key} -o {o}.hidden"
READS_TRACES = ["check {f}", "info {f}", "select {f} -k 1", "query {f} --named types", OBFUSCATE, CERTIFY,
                "convert {f} -o {o}.json", "convert {f} -o {o}.jsonl", "convert {f} -o {o}.et", "pack {f} -o {o}.chakra",
                "view {f} -o {o}.v.json", "view {f} -o {o}.dot", "analyze {f}",
                "report {f} -o {o}.html", "diff {f} {f}", "doctor {f}", "sim {f} --network {net}",
                "sim {f} --network {net} --compat astra-sim --system {sys}"]
KINDS = {
    "et": ("t.et", seed_of("et_fuzz"), [et_bombs], READS_TRACES),
    "json": ("t.json", lambda world: fuzz_seeds.document_seed(), [json_bombs], READS_TRACES),
    "jsonl": ("t.jsonl", seed_of("json_fuzz"), [lines_bombs], READS_TRACES),
    "eg": ("t.eg", lambda world: fuzz_seeds.eg_seed(), [et_bombs], READS_TRACES),
    "ranks": ("ranks.json", seed_of("ranks_fuzz"), [json_bombs], ["info {f}", "select {f} -k 1", OBFUSCATE, CERTIFY, "check {f}", "sim {f} --network {net}",
                                                              "doctor {f}"]),
    "container": ("t.chakra", lambda world: open(world["container"], "rb").read(), [container_bombs],
                  ["info {f}", "select {f} -k 1", "check {f}", "unpack {f} -o {o}", "pack {f} --stats", "pack {t} --append -o {f}", "doctor {f}",
                   "doctor --repair {f}"]),
    "host": ("host.json", seed_of("host_fuzz"), [json_bombs], ["link {f} -o {o}.et", "link {f} --salvage -o {o}.et", "doctor {f}", "link {f} {k} -o {o}.et"]),
    "kineto": ("kineto.json", seed_of("link_fuzz"), [json_bombs],
               ["link {f} -o {o}.et", "link {f} --salvage -o {o}.et", "doctor {f}", "link {h} {f} -o {o}.et"]),
    "network": ("net.yml", seed_of("network_fuzz"), [yaml_bombs], ["sim {t} --network {f}", "sim {t} --network {f} --compat astra-sim --system {sys}"]),
    "graph": ("net.yml", seed_of("network_fuzz", 1), [yaml_bombs], ["sim {t} --network {f}"]),
    "shape": ("net.yml", seed_of("network_fuzz", 2), [yaml_bombs], ["sim {t} --network {f}"]),
    "network-json": ("net.json", lambda world: b'{"topology": ["Ring"], "npus_count": [2], "bandwidth": [50.0], "latency": [500.0]}', [json_bombs],
                     ["sim {t} --network {f}"]),
    "system": ("sys.json", lambda world: SYSTEM, [json_bombs],
               ["sim {t} --network {net} --system {f}", "sim {t} --network {net} --compat astra-sim --system {f}"]),
    "memory": ("mem.json", lambda world: MEMORY_FILE, [json_bombs], ["sim {t} --network {net} --compat astra-sim --system {sys} --memory {f}"]),
    "groups": ("groups.json", lambda world: b'{"1": [0, 1], "2": [0]}', [json_bombs],
               ["sim {t} --network {net} --groups {f}", "check {t} --groups {f}", "analyze {t} --groups {f}"]),
    "device": ("own.yml", lambda world: DEVICE, [yaml_bombs], ["sim {t} --network {net} --device {f}"]),
    "rules": ("rules.txt", seed_of("selection_fuzz"), [], ["sim {t} --network {net} --collectives {f}"]),
    "sweep": ("s.yml", lambda world: b"generate:\n  preset: tiny\n  layers: [8, 16]\nrequire_fit: false\n", [yaml_bombs, sweep_bombs],
              ["sweep {f} -o {o}"]),
    "certificate": ("c.json", seed_of("certificate_fuzz"), [json_bombs], ["certify --check {f} {t}"]),
    "csv": ("events.csv", seed_of("event_csv_fuzz"), [], ["view {f} -o {o}.json"]),
    "msccl": ("a.xml", lambda world: fuzz_seeds.msccl("allreduce", 2), [xml_bombs], ["import {f} -o {o}", "import {f} --from msccl -o {o}"]),
    "text": ("w.txt", seed_of("text_fuzz", 1), [text_bombs],
             ["import {f} -o {o} --dims 2", "import {f} --from text -o {o} --dims 2", "import {f} -o {o} --num-npus 4294967295"]),
    "rows": ("r.txt", seed_of("text_fuzz", 10), [text_bombs],
             ["import {f} -o {o}", "import {f} -o {o} --classes"]),
    "flexflow": ("g.graph", lambda world: fuzz_seeds.FLEXFLOW.encode(), [dot_bombs], ["import {f} -o {o}", "import {f} --from flexflow -o {o}"]),
    "feeder-json": ("f.json", lambda world: json.dumps(fuzz_seeds.FEEDER).encode(), [json_bombs],
                    ["import {f} -o {o}", "import {f} --from feeder-json -o {o}"]),
    "linked-json": ("l.json", lambda world: json.dumps(fuzz_seeds.LINKED).encode(), [json_bombs],
                    ["import {f} -o {o}", "import {f} --from linked-json -o {o}"]),
}


# ---- running -------------------------------------------------------------------------------------------------------

def unpacked_size(data):
    """What a command may unpack at most, counted without keeping it."""
    most, size = len(data) * UNPACKED_TIMES, 0
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            process = subprocess.Popen(["zstd", "-q", "-d", "-c"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            while size < most and (piece := process.stdout.read(1 << 20)):
                size += len(piece)
            process.kill()
            process.communicate()
    elif data.startswith(b"\x1f\x8b"):
        rest = data
        while rest.startswith(b"\x1f\x8b") and size < most:
            unpacker = zlib.decompressobj(31)
            pending = rest
            try:
                while pending and not unpacker.eof:
                    size += len(unpacker.decompress(pending, 1 << 20))
                    pending = unpacker.unconsumed_tail
            except zlib.error:
                break
            rest = unpacker.unused_data
            if size == 0:
                break
    return max(len(data), min(size, most))


class Runner:
    """Runs commands from a process that stays small: what a process counts as its memory begins with that of the one
    that starts it."""

    def __init__(self):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.write)
            os.close(self.read)
            with os.fdopen(to_read) as jobs, os.fdopen(to_write, "w") as results:
                for line in jobs:
                    print(json.dumps(run(*json.loads(line))), file=results, flush=True)
            os._exit(0)
        os.close(to_read)
        os.close(to_write)
        self.jobs, self.results = os.fdopen(self.write, "w"), os.fdopen(self.read)

    def run(self, command, folder, memory):
        print(json.dumps([command, folder, memory]), file=self.jobs, flush=True)
        return json.loads(self.results.readline())


def run(command, folder, memory):
    """Exit code (negative: a signal), seconds of processor time, bytes of memory, what it said."""
    limit = 4 * memory + (2 << 30)  # of addresses: only for what runs away
    out, err = os.path.join(folder, "stdout"), os.path.join(folder, "stderr")
    start = time.monotonic()
    with open(out, "wb") as to, open(err, "wb") as to_err:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=to, stderr=to_err,
                                   preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
                                                       resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 2, SECONDS + 2))))
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > 12 * SECONDS:
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
    said = b""
    for path in (err, out):
        with open(path, "rb") as file:
            said += file.read(1 << 14)
            file.seek(max(0, os.path.getsize(path) - (1 << 14)))
            said += file.read()
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, said.decode(errors="replace")


def complaint(code, seconds, memory, budget, said):
    if code < 0 or code > 4:
        return f"ended by {'signal' if code < 0 else 'exit'} {abs(code)}"
    if seconds > SECONDS:
        return f"took {seconds:.1f} s"
    if memory > budget:
        return f"took {memory >> 20} MiB of {budget >> 20}"
    if code != 0 and not TAG.search(said):
        return f"exit {code} without a tag: {said[:200]!r}"
    return ""


def prepare(folder, chakra):
    """Good inputs, for the other arguments of the commands."""
    world = {key: os.path.join(folder, name) for key, name in
             {"t": "good.et", "net": "good.yml", "sys": "good.sys.json", "k": "good.kineto.json", "key": "good.key", "h": "good.host.json",
              "container": "good.chakra"}.items()}
    contents = {"t": et.encode("1 COMP a num_ops=1000 tensor_size:u64=64 dur_us=5\n2 COMP b dur_us=7 deps=1"),
                "net": b"topology: [Ring]\nnpus_count: [1]\nbandwidth: [50]\nlatency: [500]\n",
                "sys": SYSTEM.replace(b'"ranks"', b'"other"'), "key": b"chakra-key-1\n" + b"7" * 64 + b"\n",
                "k": fuzz_seeds.SEEDS["link_fuzz"]()[0], "h": fuzz_seeds.SEEDS["host_fuzz"]()[0]}
    for key, data in contents.items():
        with open(world[key], "wb") as file:
            file.write(data)
    with open(os.path.join(folder, "a.5.et"), "wb") as file:
        file.write(fuzz_seeds.SEEDS["et_fuzz"]()[0].replace(b"rank", b"Rank"))
    subprocess.run([chakra, "pack", os.path.join(folder, "a.5.et"), "-o", world["container"]], check=True, capture_output=True)
    return world


def bombs_of(kind, world, size):
    _, seed, more, _ = KINDS[kind]
    good = seed(world)
    for make in [any_bombs, *more]:
        yield from make(good, size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--full", action="store_true", help="every command on every bomb, of a size that shows what is not linear")
    parser.add_argument("--size", type=int, help="bytes of a bomb, about (default: 20,000; with --full 2,000,000)")
    parser.add_argument("--only", help="this kind of input")
    parser.add_argument("--bomb", help="bombs whose name has this text")
    parser.add_argument("--show", type=float, help="print also runs that take this share of a limit")
    options = parser.parse_args()
    chakra, runner = os.path.abspath(os.path.join(options.bin, "chakra")), Runner()
    size = options.size or (2_000_000 if options.full else 20_000)
    begin, runs, bad, slowest, largest = time.monotonic(), 0, 0, 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="bombs") as folder:
        world = prepare(folder, chakra)
        for kind, (name, _, _, commands) in KINDS.items():
            if options.only and options.only != kind:
                continue
            place = os.path.join(folder, kind)
            for number, (bomb, data) in enumerate(bombs_of(kind, world, size)):
                if options.bomb and options.bomb not in bomb:
                    continue
                unpacked = unpacked_size(data)
                for command in commands if options.full else [commands[number % len(commands)]]:
                    shutil.rmtree(place, ignore_errors=True)
                    os.makedirs(place)
                    path = os.path.join(place, name)
                    with open(path, "wb") as file:
                        file.write(data)
                    budget = MEMORY + TIMES * unpacked * max(1, command.count("{f}"))
                    line = command.format(f=path, o=os.path.join(place, "out"), **world).split()
                    code, seconds, memory, said = runner.run([chakra, *line], place, budget)
                    runs += 1
                    slowest, largest = max(slowest, seconds), max(largest, memory / budget)
                    wrong = complaint(code, seconds, memory, budget, said)
                    if wrong:
                        bad += 1
                        print(f"{kind}: {bomb} ({len(data):,} bytes): {command}: {wrong}", flush=True)
                    elif options.show and (seconds > options.show * SECONDS or memory > options.show * budget):
                        print(f"  {kind}: {bomb} ({len(data):,} bytes): {command}: exit {code}, {seconds:.1f} s, "
                              f"{memory >> 20} MiB of {budget >> 20}", flush=True)
            shutil.rmtree(place, ignore_errors=True)
    print(f"bombs: {runs} runs in {time.monotonic() - begin:.0f} s, {bad} bad; at most {slowest:.1f} s of {SECONDS} and {100 * largest:.0f} % of the memory")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
