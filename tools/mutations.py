#!/usr/bin/env python3
"""Random changes of every kind of input, which keep its structure: no command may crash, hang, or end without a documented exit code.

    mutations.py [--bin DIR] [--count N] [--seed N] [--only KIND] [--keep FOLDER]

Inputs and commands are those of bombs.py, and some more (MORE). A document is read, one to four of its values, fields, tokens or lines are
changed (numbers to the ends of their types, texts, other types, copies, swaps, nothing), and it is written again, at times packed. Each is
given to one of the commands that read its kind. --seed: that of the run, which is printed (default: a new one); with --only, an input of it
comes again. --keep: where inputs that failed are left (default: the current folder). Limits of time and memory are those of bombs.py.
"""
import argparse
import collections
import copy
import glob
import gzip
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import bombs

NUMBERS = [0, 1, -1, 2, 3, 7, 127, 128, 255, 65535, 65536, 2**31 - 1, 2**31, -2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, -2**63, 2**64 - 1,
           2**64, 10**30, 0.5, -0.0, 1e-300, 1e300, 1e308, 1.5, 4096, 10**6, 10**9, 10**12]
TEXTS = ["", " ", "0", "-1", "1e999", "NaN", "null", "true", "a" * 300, "\u202eabc", "\x1b[31m", "../../x", "/dev/null", "=1+1", "\\", "\"", "{", "[]", "é",
         "18446744073709551616", "0x10", "1_000", "ALL_REDUCE", "rank", "1,2", "\n", "%s"]


# ---- trees: JSON ------------------------------------------------------------------------------------------------

def places(tree, out):
    """(container, key) of every value."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        out.append((tree, key))
        if isinstance(value, (dict, list)):
            places(value, out)
    return out


def change_tree(rng, tree):
    found = places(tree, []) if isinstance(tree, (dict, list)) else []
    if not found:
        return
    container, key = rng.choice(found)
    try:
        value = container[key]
        kind = rng.randrange(9)
        if kind < 3:
            container[key] = rng.choice(NUMBERS) if isinstance(value, (int, float)) or kind == 0 else rng.choice(TEXTS)
        elif kind == 3:
            del container[key]
        elif kind == 4 and isinstance(container, list):
            container.insert(key, copy.deepcopy(value))
        elif kind == 4:
            container[str(key) + rng.choice(["", "s", "_", " "]) or "k"] = copy.deepcopy(value)
        elif kind == 5:
            other, at = rng.choice(found)
            container[key] = copy.deepcopy(other[at])
        elif kind == 6:
            container[key] = rng.choice([None, True, False, [], {}, [value], {"a": value}])
        elif kind == 7 and isinstance(value, (int, float)):
            container[key] = value * rng.choice([-1, 2, 1000, 10**9, 0.5])
        elif isinstance(value, list):
            rng.shuffle(value)
    except (KeyError, IndexError, OverflowError):
        pass  # an earlier change has moved it


def change_json(rng, data):
    tree = json.loads(data)
    for _ in range(rng.randint(1, 4)):
        change_tree(rng, tree)
    return json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode(errors="replace")


def change_lines_of_json(rng, data):
    lines = data.splitlines()
    at = rng.randrange(len(lines))
    try:
        lines[at] = change_json(rng, lines[at])
    except ValueError:
        pass
    if rng.random() < 0.2:
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(lines) + b"\n"


# ---- texts ------------------------------------------------------------------------------------------------------

TOKEN = re.compile(rb"[A-Za-z_]+|[0-9][0-9.eE]*|[^\sA-Za-z0-9_]|\s+")


def change_text(rng, data):
    for _ in range(rng.randint(1, 4)):
        if rng.random() < 0.25:
            lines = data.split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            kind = rng.randrange(3)
            if kind == 0:
                del lines[i]
            elif kind == 1:
                lines.insert(i, lines[j])
            else:
                lines[i], lines[j] = lines[j], lines[i]
            data = b"\n".join(lines)
            continue
        tokens = TOKEN.findall(data)
        if not tokens:
            return data
        i = rng.randrange(len(tokens))
        kind = rng.randrange(6)
        if kind < 3:
            numbers = [at for at, token in enumerate(tokens) if token[:1].isdigit()]
            i = rng.choice(numbers) if numbers and kind < 2 else i
            tokens[i] = (str(rng.choice(NUMBERS)) if kind < 2 else rng.choice(TEXTS)).encode(errors="replace")
        elif kind == 3:
            del tokens[i]
        elif kind == 4:
            tokens.insert(i, rng.choice(tokens))
        else:
            j = rng.randrange(len(tokens))
            tokens[i], tokens[j] = tokens[j], tokens[i]
        data = b"".join(tokens)
    return data


# ---- messages of protobuf ---------------------------------------------------------------------------------------

def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7f) << shift, shift + 7
        if byte < 0x80:
            return value, at


def parse_message(data):
    """[field, wire type, value]; None where it is no message."""
    fields, at = [], 0
    try:
        while at < len(data):
            key, at = read_varint(data, at)
            number, wire = key >> 3, key & 7
            if wire == 0:
                value, at = read_varint(data, at)
            elif wire == 2:
                size, at = read_varint(data, at)
                value, at = data[at:at + size], at + size
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
                value, at = data[at:at + size], at + size
            else:
                return None
            if number == 0 or at > len(data):
                return None
            fields.append([number, wire, value])
    except IndexError:
        return None
    return fields


def write_message(fields):
    out = b""
    for number, wire, value in fields:
        out += bombs.varint(number << 3 | wire)
        if wire == 0:
            out += bombs.varint(value & (1 << 64) - 1)
        else:
            out += (bombs.varint(len(value)) if wire == 2 else b"") + value
    return out


def change_message(rng, data, depth=0):
    fields = parse_message(data)
    if not fields:
        return rng.choice(TEXTS).encode(errors="replace")
    i = rng.randrange(len(fields))
    number, wire, value = fields[i]
    kind = rng.randrange(8)
    if wire == 2 and kind < 5 and depth < 4:
        fields[i][2] = change_message(rng, value, depth + 1) if kind < 4 else rng.choice(TEXTS).encode(errors="replace")
    elif wire == 0 and kind < 5:
        fields[i][2] = int(rng.choice(NUMBERS[:22])) if kind < 3 else value + rng.choice([-1, 1, 2])
    elif kind == 5:
        del fields[i]
    elif kind == 6:
        fields.insert(rng.randrange(len(fields) + 1), list(fields[i]))
    else:
        fields[i][0] = max(1, number + rng.choice([-1, 1, 3]))
    return write_message(fields)


def change_et(rng, data):
    messages, at = [], 0
    while at < len(data):
        size, at = read_varint(data, at)
        messages.append(data[at:at + size])
        at += size
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(messages))
        kind = rng.randrange(10)
        if kind < 7:
            messages[i] = change_message(rng, messages[i])
        elif kind == 7 and len(messages) > 1:
            del messages[i]
        elif kind == 8:
            messages.insert(i, rng.choice(messages))
        else:
            rng.shuffle(messages)
    return b"".join(bombs.varint(len(m)) + m for m in messages)


def change_bytes(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        kind, i = rng.randrange(5), rng.randrange(len(data))
        if kind < 2:
            data[i] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[i] = rng.choice([0, 1, 127, 128, 255])
        elif kind == 3:
            del data[i:i + rng.choice([1, 2, 8])]
        else:
            data[i:i] = data[i:i + rng.choice([1, 4, 16])]
        if not data:
            return b""
    return bytes(data)


# ---- kinds ------------------------------------------------------------------------------------------------------

CONFIG = {"model_type": "qwen3_moe", "hidden_size": 256, "intermediate_size": 512, "moe_intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 1000, "num_experts": 4, "num_experts_per_tok": 2,
          "decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True, "tie_word_embeddings": False, "max_position_embeddings": 512}
KERNELS = {"name": "Own", "peaks": {"f32": 60, "bf16": 480}, "memory-bandwidth": 2400, "memory": 96, "sustained-time": 1.2, "host-us": 3,
           "kernels": [{"kernel": "gemm", "type": "bf16", "source": "here", "ops-time": 1.2, "bytes-time": [1.1, 1.2, 1.3], "fixed-us": 2,
                        "sizes": ["m", "n", "k", "us"], "measured": [[m, n, 512, 3 + m * n / 1e5] for m in (16, 256) for n in (128, 1024)]}]}
STACK = b"name: mine\nattention:\n  H100-SXM: 180\nelementwise-time: 1.5\nhost-us: 4\nlogit-bytes: 12\nactivations: eager\nsharding: fsdp\nproducts: bursts\n"
GEMMS = b"kernel_source,gemm_dtype,m,n,k,latency\n" + b"".join(
    b"torch_flow,bfloat16,%d,%d,%d,%.4f\n" % (m, n, k, 0.004 + m * n * k / 1e12) for m in (1, 16, 256) for n in (128, 1024, 4096) for k in (128, 1024))
COLLECTIVES = b"framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n" + b"".join(
    b"TRTLLM,1.0,H100,%s,NCCL,half,%d,%d,%.3f\n" % (op, gpus, size, 0.02 + size / 1e8)
    for op in (b"all_reduce", b"all_gather") for gpus in (2, 4) for size in (512, 8192, 1 << 20))
STEP = "gen step --model {f} --dp 2 --micro-batches 2"
MORE = {
    "config": ("config.json", lambda world: json.dumps(CONFIG).encode(),
               [STEP + " --ep 2 --stats", STEP + " -o {o}", "gen serve --model {f} --stats", "gen serve --model {f} -o {o}", STEP + " --lora-rank 4 --stats"]),
    "kernels": ("own.json", lambda world: json.dumps(KERNELS).encode(),
                ["sim {t} --network {net} --device {f}", "gen step --model tiny --device {f} --stats", "gen serve --model tiny --device {f} --stats"]),
    "stack": ("stack.yml", lambda world: STACK,
              ["gen step --model tiny --device H100-SXM --stack {f} --stats", "sim {t} --network {net} --device H100-SXM --stack {f}"]),
    "gemms": ("gemm.csv", lambda world: GEMMS, ["calibrate device --from {f} --device H100-SXM -o {o}.json"]),
    "collectives": ("nccl.csv", lambda world: COLLECTIVES, ["calibrate network --from {f} --npus 4 -o {o}.yml"]),
}
CHANGES = {"et": change_et, "eg": change_et, "json": change_json, "jsonl": change_lines_of_json, "container": change_bytes}
MEMORY = {"config": 4 << 30,  # a model of many layers is a large job, whatever the size of its file
          "shape": 1 << 30}  # so is a network of many ranks: about 1 KiB a rank, at most 2^20 ranks
JSON_KINDS = {"ranks", "host", "kineto", "network-json", "system", "memory", "groups", "feeder-json", "linked-json", "config", "kernels"}
KINDS = {kind: (name, seed, commands) for kind, (name, seed, _, commands) in bombs.KINDS.items()} | MORE


def change_of(kind):
    return CHANGES.get(kind, change_json if kind in JSON_KINDS else change_text)


def packed(rng, data):
    way = rng.random()
    return gzip.compress(data, 1) if way < 0.03 else bombs.zstd(data) if way < 0.05 else data


def changed(rng, kind, seeds):
    """The name of the file, its bytes, a command."""
    name, _, commands = KINDS[kind]
    change = change_of(kind)
    try:
        data = change(rng, seeds[kind])
    except (ValueError, IndexError, RecursionError):
        data = change_bytes(rng, seeds[kind])
    return name, packed(rng, data), rng.choice(commands)


class Worker:
    def __init__(self, chakra, folder):
        self.chakra, self.folder, self.runner = chakra, folder, bombs.Runner()
        os.mkdir(folder)
        self.world = bombs.prepare(folder, chakra)
        self.seeds = {kind: seed(self.world) for kind, (_, seed, _) in KINDS.items()}

    def run(self, seed, number, only):
        rng = random.Random(f"{seed} {number}")
        kind = only or rng.choice(sorted(KINDS))
        name, data, command = changed(rng, kind, self.seeds)
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        words = command.format(f=path, o=os.path.join(self.folder, f"out{number}"), **self.world).split(" ")
        budget = MEMORY.get(kind, bombs.MEMORY + bombs.TIMES * max(bombs.unpacked_size(data), 1 << 20))
        code, seconds, memory, said = self.runner.run([self.chakra, *words], self.folder, budget)
        for written in glob.glob(os.path.join(self.folder, "out*")):
            if os.path.isdir(written):
                shutil.rmtree(written)
            else:
                os.remove(written)
        wrong = bombs.complaint(code, seconds, memory, budget, said)
        return kind, code, (wrong, name, data, command, said) if wrong else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(bombs.ROOT, "build", "release", "bin"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--keep", default=".")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
    chakra = os.path.abspath(os.path.join(options.bin, "chakra"))
    codes, bad, begin = collections.Counter(), 0, time.monotonic()
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutations") as folder:
        workers = [Worker(chakra, os.path.join(folder, str(i))) for i in range(2)]

        def share(i):
            """Run each second input; report a wrong one at once, since a long run may be ended."""
            ran, wrong_ones = collections.Counter(), 0
            for number in range(options.first + i, options.first + options.count, len(workers)):
                kind, code, wrong = workers[i].run(seed, number, options.only)
                ran[code] += 1
                if wrong:
                    wrong_ones += 1
                    report(wrong, kind, number)
            return ran, wrong_ones

        def report(wrong, kind, number):
            kept = os.path.join(options.keep, f"mutation-{seed}-{number}-{wrong[1]}")
            with open(kept, "wb") as file:
                file.write(wrong[2])
            print(f"{kind}, input {number}: {wrong[0]}: chakra {wrong[3]}\n  {kept}\n  {wrong[4][:300]!r}", flush=True)

        with ThreadPoolExecutor(len(workers)) as pool:
            for ran, wrong_ones in pool.map(share, range(len(workers))):
                codes += ran
                bad += wrong_ones
    ended = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    kinds = 1 if options.only else len(KINDS)
    print(f"{options.count} changed inputs of {kinds} kinds in {time.monotonic() - begin:.0f} s, ended: {ended}; {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
