#!/usr/bin/env python3
"""Writes examples/devices/ from public tables of measured kernels.

    device_files.py [--bin DIR] [--data DIR] [--out DIR]

Large tables are thinned so that a file is read in milliseconds: of the H100's products the rows with a power of two as m, and every second of
their places in n and k; of its attention every third length, in full precision of keys, without windows; of decode and latent attention, experts and
gated delta networks every second to fourteenth context, length or number of tokens, so that the random third stays below 10 %. Vidur's products are left out:
aiconfigurator measured more of them. `sustained-time` is from tools/predict_steps.py llm-foundry.
"""
import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VIDUR_PRODUCTS = ("attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj")
AIC = "github.com/ai-dynamo/aiconfigurator {} (Apache-2.0)"
VIDUR = "github.com/microsoft/vidur@7d47513363ec data/profiling/compute/{} (MIT)"
SUSTAINED = "sustained-time fitted to llm-foundry's steps (docs/explanation/accuracy.md)"


def rows_of(path):
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def vidur(rows):
    return [row for row in rows if row["op"] not in VIDUR_PRODUCTS]


def products(rows):
    sizes = {size: sorted({int(row[size]) for row in rows}) for size in "nk"}
    places = {size: {value: place for place, value in enumerate(values)} for size, values in sizes.items()}
    kept = []
    for row in rows:
        m = int(row["m"])
        place = places["n"][int(row["n"])] + places["k"][int(row["k"])] + m.bit_length()
        if m & (m - 1) == 0 and place % 2 == 0 and row["gemm_dtype"] in ("bfloat16", "fp8"):
            kept.append(row)
    return kept


def every(nth, size, rows):
    """Of rows that differ in `size` alone every nth, not the same places in neighbouring series."""
    series = {}
    for row in rows:
        series.setdefault(tuple(sorted((key, value) for key, value in row.items() if key not in (size, "latency"))), []).append(row)
    by_sizes = sorted(series.values(), key=lambda rows: [(len(value), value) for value in rows[0].values()])
    kept = []
    for number, of in enumerate(by_sizes):
        kept += sorted(of, key=lambda row: int(row[size]))[-number % nth::nth]
    return kept


def attention(rows):
    series = {}
    for row in rows:
        if row["window_size"] == "0" and row["kv_cache_dtype"] == row["attn_dtype"] and int(row["head_dim"]) <= 256:
            key = tuple(int(row[column]) for column in ("num_heads", "num_key_value_heads", "head_dim", "batch_size"))
            series.setdefault(key, []).append(row)
    kept = []
    for number, key in enumerate(sorted(series)):
        kept += sorted(series[key], key=lambda row: int(row["isl"]))[-number % 3::3]
    return kept


def decode(rows):
    own = [row for row in rows if row["kv_cache_dtype"] == row["attn_dtype"]]
    others = [row for row in rows if row["kv_cache_dtype"] != row["attn_dtype"]]
    return every(7 if others else 2, "step", own) + every(14, "step", others)


def latent_decode(rows):
    return every(3, "step", rows)


def latent(rows):
    return every(3, "isl", rows)


def experts(rows):
    """Equal and unequal loads in 16 bits, equal ones in 8 bits with a scale per block. With a scale per tensor the measured kernels take
    twice as long as in 16 bits, so no job that may choose takes them."""
    hows = {"balanced", "power_law_1.2"} if any(row["distribution"] == "balanced" for row in rows) else {"power_law_1.01", "power_law_1.2"}
    kept = [row for row in rows if row["distribution"] in hows and row["moe_dtype"] in ("bfloat16", "fp8_block")
            and (row["moe_dtype"] == "bfloat16" or row["distribution"] == "balanced")]
    blocks = [row for row in kept if row["moe_dtype"] == "fp8_block"]  # of two libraries: all are needed
    return every(2, "num_tokens", [row for row in kept if row["moe_dtype"] == "bfloat16"]) + blocks


def recurrent(rows):
    return every(3, "seq_len", [row for row in rows if row["phase"] == "context"]) + [row for row in rows if row["phase"] == "generation"]


def by_type(*types):
    return lambda rows: [row for row in rows if row["gemm_dtype"] in types]


# file -> device, its fields beside the tables, tables of the test data and what is kept of each, sources by kernel
FILES = {
    "a100_sxm_80gb.json": (
        "A100-SXM-80GB", {"sustained-time": 1.19, "unaligned-time": 3},
        {"aic_gemm_a100_sxm": None, "aic_attention_ctx_a100": None, "vidur_compute_a100": vidur, "aic_attention_gen_a100": decode,
         "aic_moe_a100": experts},
        {"gemm": AIC.format("a100_sxm/gemm/vllm/0.14.0"), "attention": AIC.format("a100_sxm/attention/vllm/0.14.0"),
         "decode_attention": AIC.format("a100_sxm/attention/vllm/0.14.0"), "experts": AIC.format("a100_sxm/moe/vllm/0.14.0"), "": VIDUR.format("a100")},
        "unaligned-time fitted to vTrain's steps (docs/explanation/accuracy.md)"),
    "h100_sxm.json": (
        "H100-SXM", {"sustained-time": 1.28},
        {"aic_gemm_h100_vllm": products, "aic_gemm_h100_sglang": by_type("fp8_block", "int8_wo"), "aic_attention_ctx_h100": attention,
         "vidur_compute_h100": vidur, "aic_attention_gen_h100": decode, "aic_moe_h100": experts, "aic_mla_ctx_h100": latent,
         "aic_mla_gen_h100": latent_decode, "aic_gdn_h100": recurrent, "aic_mamba2_h100": None},
        {"gemm": AIC.format("h100_sxm/gemm/vllm/0.24.0"), "gemm.fp8_block": AIC.format("h100_sxm/gemm/sglang/0.5.6.post2"),
         "gemm.int8_wo": AIC.format("h100_sxm/gemm/sglang/0.5.6.post2"), "attention": AIC.format("h100_sxm/attention/vllm/0.24.0"),
         "decode_attention": AIC.format("h100_sxm/attention/vllm/0.24.0"), "experts": AIC.format("h100_sxm/moe/vllm/0.24.0"),
         "latent_attention": AIC.format("h100_sxm/mla/sglang/0.5.14"), "latent_decode": AIC.format("h100_sxm/mla/sglang/0.5.14"),
         "gated_delta": AIC.format("h100_sxm/gdn/vllm/0.24.0"), "gated_delta_decode": AIC.format("h100_sxm/gdn/vllm/0.24.0"),
         "conv1d": AIC.format("h100_sxm/gdn/vllm/0.24.0"), "conv1d_decode": AIC.format("h100_sxm/gdn/vllm/0.24.0"),
         "conv1d.mamba2": AIC.format("h100_sxm/mamba2/trtllm/1.3.0rc20"), "conv1d_decode.mamba2": AIC.format("h100_sxm/mamba2/trtllm/1.3.0rc20"),
         "": VIDUR.format("h100")}, ""),
}


def write(name, options, folder):
    device, fields, tables, sources, more = FILES[name]
    paths = []
    for table, keep in tables.items():
        rows = rows_of(os.path.join(options.data, f"{table}.csv.gz"))
        kept = keep(rows) if keep else rows
        paths.append(os.path.join(folder, f"{table}.csv"))
        with open(paths[-1], "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            out.writerows(kept)
    path = os.path.join(options.out, name)
    command = [os.path.join(options.bin, "chakra"), "calibrate", "device", "--from", *paths, "--device", device, "-o", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"device_files: {done.stderr}")
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    made = json.loads("\n".join(lines))
    notes = "; ".join(part for part in (made["source"], SUSTAINED, more) if part)
    own = iter(made["kernels"])
    for number, line in enumerate(lines):  # the file keeps its lines: a shape each
        if line.startswith('  "source"'):
            lines[number] = "".join(f'  "{key}": {value},\n' for key, value in fields.items()) + f'  "source": {json.dumps(notes)},'
        elif '{"kernel": ' in line:
            kernel = next(own)
            name = kernel["kernel"]
            source = sources.get(name) or sources.get(name.split(".")[0]) or sources[""]
            lines[number] = line.replace(json.dumps(kernel["source"]), json.dumps(source))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    print(f"{path}: {sum(len(kernel['measured']) for kernel in made['kernels'])} shapes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--data", default=os.path.join(ROOT, "../shared/data/measured"))
    parser.add_argument("--out", default=os.path.join(ROOT, "examples/devices"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in FILES:
            write(name, options, folder)


if __name__ == "__main__":
    main()
