#!/usr/bin/env python3
"""Measured training steps against steps that `chakra gen step` makes and `chakra sim` runs.

    predict_steps.py SET [--bin DIR] [--data DIR] [--rows N] [--markdown]

SET is `llm-foundry` (MPT models, FSDP, on A100 and H100, with the shipped files and --stack fsdp-eager: nothing is fitted here), `published`
(steps and peaks of memory that frameworks publish, each with its stack: nothing is fitted here either), `papers` (steps of Megatron-LM and
Megatron-Bridge that no file of the test data has, with --stack megatron-te), `serving` (time per output token of
three servers on the H100, likewise), `vtrain` (GPTs
on 2, 4 and 8 A100 of one node, 18 divisions into tensor, data and pipeline parallel ranks) or `neusight` (one A100,
forward and backward of five models in 32 bits). For each measured step it makes the step of that model and mesh with a device file and runs
it on a network file. Both files are fitted to other data: measured kernels and collectives. Then it fits six constants (START), all but one
of them part of the device file, to some of the steps, and judges the others:

- vtrain: fitted to the rows of two hidden sizes and judged on all others. The public table has two only; so they are also fitted to one of
  the two and judged on the other.
- neusight: fitted to all models but one, and judged on that one; the kernels of that model are not in the device file either.

Attention in several kernels computes all scores, those of later words too: --causal false.

It prints the error of each group, exp(mean |ln(simulated / measured)|) - 1, with the fitted constants and without them. --rows N: fits to at
most N rows, evenly taken (36). It exits with 1 where a group of a set that is not the fitted one is off by more than 15 %.
"""
import argparse
import collections
import csv
import gzip
import json
import math
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from concurrent.futures import ThreadPoolExecutor

from published_steps import BRIDGE, BRIDGE_FITTED, BRIDGE_LATER, KORTHIKANTI, SERVED

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_ERROR = 0.15
# The constants, by name, and where their fit begins: keys of device files; link-time divides the bandwidths of the network file.
START = {"host-us": 50.0, "ops-time": 1.5, "bytes-time": 1.5, "fixed-us": 5.0, "link-time": 1.2, "unaligned-time": 2.5}
Row = collections.namedtuple("Row", "group hidden ranks options measured_ms forward_backward_only")
Result = collections.namedtuple("Result", "row plain_ms fitted_ms")


def vtrain_rows(data):
    """GPTs in float16, attention in several kernels with dropout, tensor parallelism without sequence parallelism, gradients are
    all-reduced. Their vocabulary has 50,257 words, of which each rank has a whole number. The times are put together from parts that
    were timed apart (docs/explanation/accuracy.md), so the host waits for the device after each part."""
    rows = []
    with open(os.path.join(data, "vtrain_single_node_a100.csv"), encoding="utf-8-sig", newline="") as file:
        for cells in list(csv.reader(file))[1:]:
            ranks, batch, micro, hidden, heads, layers, sequence, tp, dp, pp = (int(cell) for cell in cells[:10])
            options = {"layers": layers, "hidden": hidden, "ffn": 4 * hidden, "heads": heads, "kv-heads": heads, "head-dim": hidden // heads,
                       "vocab": 50257 // tp * tp, "sequence": sequence, "causal": "false", "tp": tp, "dp": dp, "pp": pp, "micro-batch-size": micro,
                       "micro-batches": batch // micro // dp}
            fixed = ["--model", "gpt3-175b", "--sequence-parallel", "false", "--zero", "0", "--fused-attention", "false",
                     "--gradient-bytes", "2", "--host-waits", "parts"]
            rows.append(Row(f"tp {tp} dp {dp} pp {pp}", hidden, ranks, fixed + [f"--{k}={v}" for k, v in options.items()], float(cells[10]), False))
    return rows


# name of NeuSight's files -> layers, hidden, heads, vocabulary
NEUSIGHT = {"bert_large": (24, 1024, 16, 30522), "gpt2_large": (36, 1280, 20, 50257), "gpt3_27": (32, 2560, 32, 50257),
            "gpt3_xl": (24, 3072, 24, 50257), "opt_13": (24, 2048, 32, 50272)}


def neusight_files(data):
    with tarfile.open(os.path.join(data, "neusight_label_NVIDIA_A100_80GB_PCIe.tar.gz")) as files:
        for member in sorted(files.getmembers(), key=lambda m: m.name):
            yield member.name.rsplit("/", 1)[-1], files.extractfile(member).read().decode()


def neusight_rows(data):
    rows = []
    for name, text in neusight_files(data):
        if not name.endswith(".json"):
            continue
        model, _, sequence, batch = name[:-5].split("-")
        layers, hidden, heads, vocabulary = NEUSIGHT[model]
        options = {"layers": layers, "hidden": hidden, "ffn": 4 * hidden, "heads": heads, "kv-heads": heads, "head-dim": hidden // heads,
                   "vocab": vocabulary, "sequence": sequence, "micro-batch-size": batch, "micro-batches": 1, "causal": "false"}
        fixed = ["--model", "gpt3-175b", "--zero", "0", "--fused-attention", "false", "--bytes-per-element", "4"]
        rows.append(Row(model, hidden, 1, fixed + [f"--{k}={v}" for k, v in options.items()], json.loads(text)["e2e_latency"], True))
    return rows


class Machine:
    """Device and network files made of other data than the steps."""

    def __init__(self, chakra, folder, name, kernels, data):
        self.chakra, self.folder, self.data, self.count = chakra, folder, data, 0
        self.device = os.path.join(folder, f"{name}.json")
        self.run("calibrate", "device", "--from", *kernels, "--device", "A100-PCIe-80GB" if name.startswith("neusight") else "A100-SXM-80GB",
                 "-o", self.device)
        with open(self.device, encoding="utf-8") as file:
            self.fields = json.load(file)

    def run(self, *arguments):
        done = subprocess.run([self.chakra, *arguments], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"predict_steps: chakra {' '.join(arguments)}\n{done.stderr}")
        return done.stdout

    def networks(self, ranks, link_time):
        """A network file for each number of ranks, whose bandwidths are divided by `link_time`."""
        paths = {1: os.path.join(self.folder, "1.yml")}
        with open(paths[1], "w", encoding="utf-8") as file:
            file.write("topology: [ Ring ]\nnpus_count: [ 1 ]\nbandwidth: [ 100 ]\nlatency: [ 500 ]\n")
        for count in sorted(set(ranks) - {1}):
            path = os.path.join(self.folder, f"{count}.yml")
            if not os.path.exists(path):
                self.run("calibrate", "network", "--from", os.path.join(self.data, "aic_nccl_a100_sxm.csv.gz"), "--where", "nccl_dtype=half",
                         "--npus", str(count), "-o", path)
            paths[count] = os.path.join(self.folder, f"{count}-{link_time:.6g}.yml")
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"(bandwidth: (?:\[ )?)([0-9.]+)", lambda m: f"{m[1]}{float(m[2]) / link_time:.8g}", file.read())
            with open(paths[count], "w", encoding="utf-8") as file:
                file.write(text)
        return paths

    def with_constants(self, constants):
        """A device file with them; nothing fitted: without."""
        self.count += 1
        path = os.path.join(self.folder, f"constants{self.count}.json")
        fields = dict(self.fields)
        if constants:
            fields.update({key: constants[key] for key in ("host-us", "unaligned-time")})
            fields["others"] = {key: constants[key] for key in ("ops-time", "bytes-time", "fixed-us")}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(fields, file)
        return path

    def milliseconds(self, row, device, network):
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            job = os.path.join(folder, "job")
            self.run("gen", "step", *row.options, "--device", device, "-o", job)
            more = ["--timeline", os.path.join(folder, "t.json")] if row.forward_backward_only else []
            report = json.loads(self.run("sim", job, "--device", device, "--network", network, "--json", "-", *more))
            if not more:
                return report["makespan_ps"] / 1e9
            with open(more[1], encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            return min(e["ts"] for e in events if e.get("name", "").endswith(".optimizer")) / 1e3

    def all(self, rows, constants):
        device = self.with_constants(constants)
        networks = self.networks({row.ranks for row in rows}, constants["link-time"] if constants else 1)
        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(lambda row: self.milliseconds(row, device, networks[row.ranks]), rows))


def solve(matrix, right):
    """Of a small symmetric matrix, by elimination."""
    rows = [line[:] + [value] for line, value in zip(matrix, right)]
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            times = rows[j][i] / rows[i][i]
            rows[j] = [a - times * b for a, b in zip(rows[j], rows[i])]
    solution = [0.0] * len(rows)
    for i in reversed(range(len(rows))):
        solution[i] = (rows[i][-1] - sum(rows[i][j] * solution[j] for j in range(i + 1, len(rows)))) / rows[i][i]
    return solution


def fit(machine, rows, most):
    """Gauss and Newton's method on the logarithms of the constants; a quarter of a prior keeps those that the rows do not determine where
    they begin."""
    rows = [rows[i * len(rows) // min(most, len(rows))] for i in range(min(most, len(rows)))]
    constants = dict(START)
    residuals = None
    for turn in range(12):
        at = machine.all(rows, constants)
        residuals = [math.log(ms / row.measured_ms) for ms, row in zip(at, rows)]
        slopes = []
        for name in START:
            moved = dict(constants, **{name: constants[name] * 1.1})
            slopes.append([math.log(b / a) / math.log(1.1) for a, b in zip(at, machine.all(rows, moved))])
        weights = [1 / math.sqrt(1 + (r / 0.1) ** 2) for r in residuals]
        matrix = [[sum(w * a * b for w, a, b in zip(weights, one, two)) for two in slopes] for one in slopes]
        for i, name in enumerate(START):
            matrix[i][i] += 0.02
        step = solve(matrix, [-sum(w * s * r for w, s, r in zip(weights, line, residuals)) - 0.02 * math.log(constants[name] / START[name])
                              for line, name in zip(slopes, START)])
        constants = {name: constants[name] * math.exp(max(-1, min(1, d))) for name, d in zip(START, step)}
        print(f"  turn {turn}: {error(residuals):.1%} before; now " + ", ".join(f"{k} {v:.3g}" for k, v in constants.items()), file=sys.stderr)
        if max(abs(d) for d in step) < 0.03:
            break
    return constants


def error(logs):
    return math.exp(sum(abs(x) for x in logs) / len(logs)) - 1


def table(title, rows, plain, fitted):
    """Markdown; whether all groups are within MOST_ERROR."""
    print(f"\n{title}\n\n| | steps | nothing fitted | constants fitted | worst step | mean simulated / measured |\n|---|---|---|---|---|---|")
    good = True
    for group in [*dict.fromkeys(row.group for row in rows), "all"]:
        of = [i for i, row in enumerate(rows) if group in (row.group, "all")]
        logs = [[math.log(times[i] / rows[i].measured_ms) for i in of] for times in (plain, fitted)]
        good &= error(logs[1]) <= MOST_ERROR
        print(f"| {group} | {len(of)} | {error(logs[0]):.1%} | {error(logs[1]):.1%} | {math.exp(max(abs(x) for x in logs[1])) - 1:.0%} | "
              f"{math.exp(sum(logs[1]) / len(of)):.2f} |")
    return good


def vtrain(arguments, chakra, folder):
    kernels = [os.path.join(arguments.data, f"{name}.csv.gz") for name in ("aic_gemm_a100_sxm", "aic_attention_ctx_a100", "vidur_compute_a100")]
    machine = Machine(chakra, folder, "vtrain", kernels, arguments.data)
    rows = vtrain_rows(arguments.data)
    hidden = sorted({row.hidden for row in rows})
    splits = [((size,), [h for h in hidden if h != size]) for size in hidden[:2]]
    if len(hidden) > 2:
        splits = [(tuple(hidden[:2]), hidden[2:])]
    good = True
    for of, others in splits:
        constants = fit(machine, [row for row in rows if row.hidden in of], arguments.rows)
        judged = [row for row in rows if row.hidden in others][::arguments.every]
        good &= table(f"Fitted to width {', '.join(map(str, of))}, judged on width {', '.join(map(str, others))}: "
                      + ", ".join(f"{k} {v:.3g}" for k, v in constants.items()), judged, machine.all(judged, None), machine.all(judged, constants))
    return good


def neusight(arguments, chakra, folder):
    rows, judged, plain, fitted = neusight_rows(arguments.data), [], [], []
    for model in NEUSIGHT:
        kernels = []
        for name, text in neusight_files(arguments.data):
            if name.endswith(".csv") and not name.startswith(model):
                kernels.append(os.path.join(folder, name))
                with open(kernels[-1], "w", encoding="utf-8") as file:
                    file.write(text)
        machine = Machine(chakra, folder, f"neusight-{model}", kernels, arguments.data)
        constants = fit(machine, [row for row in rows if row.group != model], arguments.rows)
        of = [row for row in rows if row.group == model]
        judged += of
        plain += machine.all(of, None)
        fitted += machine.all(of, constants)
    return table("Each model judged with files and constants of the other four", judged, plain, fitted)


# MPT models -> layers, hidden, heads
MPT = {"mpt-125m": (12, 768, 12), "mpt-350m": (24, 1024, 16), "mpt-760m": (24, 1536, 12), "mpt-1b": (24, 2048, 16), "mpt-3b": (32, 2560, 20),
       "mpt-7b": (32, 4096, 32), "mpt-13b": (40, 5120, 40), "mpt-30b": (48, 7168, 56), "mpt-70b": (64, 8192, 64)}


def two_levels(place, gpus, inside, across):
    """A network file of nodes with 8 GPUs, in GB/s of a GPU."""
    path = os.path.join(place, "network.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"topology: [ Switch, Switch ]\nnpus_count: [ {min(gpus, 8)}, {max(1, gpus // 8)} ]\nbandwidth: [ {inside}, {across} ]\n"
                   "latency: [ 1000, 3000 ]\n")
    return path


def is_likely(report, seconds):
    """Whether a measured step is in the range that `chakra sim` prints."""
    return report["published"]["least_ps"] <= seconds * 1e12 <= report["published"]["most_ps"]


def foundry_step(chakra, row, folder):
    """The simulation of a step."""
    layers, hidden, heads = MPT[row["model"]]
    h100, gpus = "h100" in row["gpu"], int(row["gpus"])
    device = os.path.join(ROOT, "examples/devices", "h100_sxm.json" if h100 else "a100_sxm_80gb.json")
    network = os.path.join(ROOT, "examples/networks", "measured_8xh100.yml" if h100 else "measured_8xa100_sxm4_80gb.yml")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        config, job = os.path.join(place, "config.json"), os.path.join(place, "job")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"model_type": "gpt2", "n_embd": hidden, "n_layer": layers, "n_head": heads, "vocab_size": 50368,
                       "n_positions": max(int(row["sequence"]), 2048)}, file)
        if gpus > 8:
            network = two_levels(place, gpus, *((400, 50) if h100 else (250, 25)))
        options = {"sequence": row["sequence"], "dp": gpus, "zero": 3 if row["sharding"] == "FULL_SHARD" else 2,
                   "micro-batch-size": row["micro_batch_size"], "micro-batches": row["micro_batches"],
                   "recompute": "full" if row["full_recompute"] == "True" else "none",
                   "gradient-bytes": 2 if row["mixed_precision_mode"] == "PURE" else 4}
        software = ["--device", device, "--stack", "fsdp-eager"]
        made = [chakra, "gen", "step", "--model", config, *(f"--{key}={value}" for key, value in options.items()), *software, "-o", job]
        subprocess.run(made + (["--fp8"] if row["precision"] == "amp_fp8" else []), capture_output=True, check=True)
        done = subprocess.run([chakra, "sim", job, "--network", network, "--congestion", "closed", *software, "--json", "-"],
                              capture_output=True, check=True)
        return json.loads(done.stdout)


def foundry(arguments, chakra, folder):
    with open(os.path.join(arguments.data, "training_llm_foundry.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[::arguments.every]
    with ThreadPoolExecutor(max_workers=2) as pool:
        reports = list(pool.map(lambda row: foundry_step(chakra, row, folder), rows))
    groups, likely = collections.defaultdict(list), 0
    for row, report in zip(rows, reports):
        off = math.log(report["makespan_ps"] / 1e12 / float(row["measured_step_s"]))
        likely += is_likely(report, float(row["measured_step_s"]))
        for group in ("all", row["gpu"], f"{row['gpu'][:4]}, {row['sequence']} tokens", row["model"]):
            groups[group].append(off)
    print("\n| | steps | error | mean simulated / measured |\n|---|---|---|---|")
    for group, offs in sorted(groups.items()):
        print(f"| {group} | {len(offs)} | {error(offs):.1%} | {math.exp(sum(offs) / len(offs)):.2f} |")
    print(f"in the printed range: {likely} of {len(rows)}")
    return error(groups["all"]) <= 0.1


# Models of published steps -> ours
PUBLISHED = {"llama3.1-8b": "llama3-8b", "llama3-8b": "llama3-8b", "llama3.1-70b": "llama3-70b", "llama3.1-405b": "llama3-405b",
             "qwen3-30b-a3b": "qwen3-30b-a3b", "llama-7b": "llama2-7b"}
# Beginnings of sources -> the stack; more options; what of the memory is published
SOURCES = {"torchtitan": ("torchtitan", [], "all"), "NVIDIA Megatron-Bridge": ("megatron-te", [], "all"),
           "LOMO": ("fsdp-eager", ["--fused-attention", "false"], "activations")}


def published_step(chakra, row, folder):
    """The stack; seconds of a step over those published, whether these are in the printed range, and gibibytes at the peak over those
    published: None where none are."""
    stack, more, part = next(of for name, of in SOURCES.items() if row["source"].startswith(name))
    gpus, h100 = int(row["gpus"]), row["gpu"].startswith("H100")
    device = os.path.join(ROOT, "examples/devices", "h100_sxm.json" if h100 else "a100_sxm_80gb.json")
    network = os.path.join(ROOT, "examples/networks", "measured_8xh100.yml" if h100 else "measured_8xa100_sxm4_80gb.yml")
    options = {key: row[key.replace("-", "_")] for key in ("sequence", "dp", "tp", "pp", "cp", "ep")}
    options.update({"micro-batch-size": row["micro_batch_size"], "micro-batches": row["micro_batches"], "zero": row["sharding"][-1:] or "0",
                    "recompute": row["recompute"] or "none", "model": PUBLISHED[row["model"]]})
    if row["schedule"]:
        options["schedule"] = row["schedule"]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        if gpus > 8:
            network = two_levels(place, gpus, 400, 50)
        job, software = os.path.join(place, "job"), ["--device", device, "--stack", stack]
        made = [chakra, "gen", "step", *(f"--{key}={value}" for key, value in options.items()), *more, *software, "-o", job, "--json", "-"]
        report = json.loads(subprocess.run(made + (["--fp8"] if row["precision"] == "fp8" else []), capture_output=True, check=True).stdout)
        seconds = likely = gib = None
        if row["step_s"]:
            done = subprocess.run([chakra, "sim", job, "--network", network, "--congestion", "closed", *software, "--json", "-"],
                                  capture_output=True, check=True)
            simulated = json.loads(done.stdout)
            seconds, likely = simulated["makespan_ps"] / 1e12 / float(row["step_s"]), is_likely(simulated, float(row["step_s"]))
        if row["peak_memory_gib"]:
            peak = report["memory_per_rank"]
            held = peak["sum"] if part == "all" else (peak["activations_peak"] + peak["working"]) * 1.05
            gib = held / 2**30 / float(row["peak_memory_gib"])
    return stack, seconds, likely, gib


def published(arguments, chakra, folder):
    with open(os.path.join(arguments.data, "published_steps.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    offs, peaks, ranges = collections.defaultdict(list), [], []
    print("\n| stack | model | GPUs | tokens | time, simulated / published | peak of memory, likewise |\n|---|---|---|---|---|---|")
    for row in rows:
        stack, seconds, likely, gib = published_step(chakra, row, folder)
        if seconds:
            offs[stack].append(math.log(seconds))
            ranges.append(likely)
        if gib:
            peaks.append(abs(gib - 1))
        cells = [f"{value:.2f}" if value else "-" for value in (seconds, gib)]
        print(f"| {stack} | {row['model']} | {row['gpus']} | {int(row['sequence']):,} | {' | '.join(cells)} |", flush=True)
    for stack, logs in offs.items():
        print(f"{stack}: {error(logs):.1%} off, ratio {math.exp(sum(logs) / len(logs)):.2f}")
    print(f"steps in the printed range: {sum(ranges)} of {len(ranges)}")
    print(f"peaks within 15 %: {sum(peak <= 0.15 for peak in peaks)} of {len(peaks)}")
    return sum(peak <= 0.15 for peak in peaks) >= 0.8 * len(peaks)


def simulated_step(chakra, folder, device, rates, gpus, options, flags):
    with tempfile.TemporaryDirectory(dir=folder) as place:
        if isinstance(options["model"], dict):
            config = os.path.join(place, "config.json")
            with open(config, "w", encoding="utf-8") as file:
                json.dump(options["model"], file)
            options = options | {"model": config}
        job, software = os.path.join(place, "job"), ["--device", os.path.join(ROOT, "examples/devices", device), "--stack", "megatron-te"]
        subprocess.run([chakra, "gen", "step", *(f"--{key}={value}" for key, value in options.items()), *flags, *software, "-o", job],
                       capture_output=True, check=True)
        done = subprocess.run([chakra, "sim", job, "--network", two_levels(place, gpus, *rates), "--congestion", "closed", *software, "--json", "-"],
                              capture_output=True, check=True)
        return json.loads(done.stdout)


def papers(arguments, chakra, folder):
    groups = collections.defaultdict(list)
    print("\n| step | GPUs | simulated, s | published, s | ratio | in the printed range |\n|---|---|---|---|---|---|")

    def judge(group, name, gpus, report, published_s):
        seconds, inside = report["makespan_ps"] / 1e12, "yes" if is_likely(report, published_s) else "no"
        groups[group].append(math.log(seconds / published_s))
        print(f"| {name} | {gpus} | {seconds:.2f} | {published_s:.2f} | {seconds / published_s:.2f} | {inside} |", flush=True)
    for name, (layers, hidden, heads, pp, micro, sequences, virtual, gpus, *published_s) in KORTHIKANTI.items():
        for full, seconds in zip((True, False), published_s):
            options = {"model": "gpt3-175b", "layers": layers, "hidden": hidden, "ffn": 4 * hidden, "heads": heads, "kv-heads": heads,
                       "head-dim": hidden // heads, "vocab": 51200, "sequence": 2048, "tp": 8, "pp": pp, "dp": gpus // 8 // pp, "zero": 0,
                       "micro-batch-size": sequences, "micro-batches": micro, "recompute": "full" if full else "selective",
                       "sequence-parallel": str(not full).lower(), "fused-attention": "false",
                       "schedule": "interleaved" if virtual > 1 else "1f1b", "virtual-stages": virtual}
            judge("Korthikanti", f"{name}, {options['recompute']}", gpus,
                  simulated_step(chakra, folder, "a100_sxm_80gb.json", (250, 25), gpus, options, []), seconds)
    for row in (*BRIDGE, *BRIDGE_LATER):
        model, gpus, sequence, tp, pp, cp, virtual, ep, size, batch, eight, tokens = row
        dp = gpus // (tp * pp * cp)
        options = {"model": model, "sequence": sequence, "tp": tp, "pp": pp, "cp": cp, "dp": dp, "ep": ep, "etp": int(ep > 1), "zero": 1,
                   "micro-batch-size": size, "micro-batches": batch // size // dp, "schedule": "interleaved" if virtual > 1 else "1f1b",
                   "virtual-stages": virtual}
        name = model if isinstance(model, str) else f"{model['model_type']}, {model['num_hidden_layers']} layers"
        experts = "experts, fitted" if row in BRIDGE_FITTED else "experts, later" if row in BRIDGE_LATER else "experts"
        judge(f"Megatron-Bridge, {experts if ep > 1 else 'dense'}", name, gpus,
              simulated_step(chakra, folder, "h100_sxm.json", (400, 50), gpus, options, ["--fp8"] if eight else []), batch * sequence / gpus / tokens)
    for group, offs in groups.items():
        print(f"{group}: {error(offs):.1%} off, ratio {math.exp(sum(offs) / len(offs)):.2f}, worst {math.exp(max(abs(o) for o in offs)):.2f}")
    return max(abs(off) for group in ("Korthikanti", "Megatron-Bridge, dense") for off in groups[group]) <= math.log(1.12)


PROMPT_WAITS, REQUESTS = 2.7, 10  # of vLLM's and TensorRT-LLM's Qwen3 32B; requests of a client, as aiconfigurator measures


class Server:
    """Passes of a model on a number of GPUs, in milliseconds; each is simulated once."""

    def __init__(self, chakra, folder):
        self.chakra, self.folder, self.known = chakra, folder, {}
        done = subprocess.run([chakra, "list", "stacks", "--json", "-"], capture_output=True, text=True, check=True)
        self.shares = {row["stack"]: float(row["prefill share"]) for row in json.loads(done.stdout)}
        with open(os.path.join(ROOT, "examples/networks/serving_8xh100.yml"), encoding="utf-8") as file:
            self.network = file.read()

    def milliseconds(self, row, *what):
        key = (row["model_path"], row["tp_size"], row["gemm_quant_mode"], row["backend"], *what)
        if key not in self.known:
            software = ["--device", os.path.join(ROOT, "examples/devices/h100_sxm.json"), "--stack", row["backend"]]
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                config, network, job = (os.path.join(place, name) for name in ("config.json", "network.yml", "job"))
                with open(config, "w", encoding="utf-8") as file:
                    json.dump(dict(SERVED[row["model_path"]], tie_word_embeddings=False), file)
                with open(network, "w", encoding="utf-8") as file:
                    file.write(self.network.replace("npus_count: [ 8 ]", f"npus_count: [ {row['tp_size']} ]"))
                bits = ["--fp8"] if row["gemm_quant_mode"] == "fp8" else []
                subprocess.run([self.chakra, "gen", "serve", "--model", config, "--tp", row["tp_size"], *what, *bits, *software, "-o", job],
                               capture_output=True, check=True)
                done = subprocess.run([self.chakra, "sim", job, "--network", network, "--congestion", "closed", "--json", "-"],
                                      capture_output=True, check=True)
            self.known[key] = json.loads(done.stdout)["makespan_ps"] / 1e9
        return self.known[key]

    def per_token(self, row):
        """A step of all sequences in the middle of their outputs, and a share of the prompts of the others (serving.md)."""
        prompt, output, batch = (int(row[key]) for key in ("isl", "osl", "batch_size"))
        step = self.milliseconds(row, "--prompts", "false", "--contexts", str(prompt + output // 2), "--batch", str(batch))
        return step + self.shares[row["backend"]] * (batch - 1) / output * self.prefill(row)

    def prefill(self, row):
        return self.milliseconds(row, "--contexts", row["isl"], "--batch", "1", "--steps", "0")

    def to_first_token(self, row, waiting):
        """Serving.md: PROMPT_WAITS prompts of others before its own, and of each client the first of REQUESTS requests, which all begin at
        once. Where the server has a place fewer than clients, one client is `waiting` at any time but the first."""
        batch = int(row["batch_size"])
        first, later = (batch + 1) / 2, 1 + PROMPT_WAITS * (batch - 1) / batch
        for_place = int(row["osl"]) * self.per_token(row) * waiting / (batch - waiting)
        return self.prefill(row) * (first + (REQUESTS - 1) * later) / REQUESTS + for_place * (REQUESTS - 1) / REQUESTS


def serving(arguments, chakra, folder):
    with gzip.open(os.path.join(arguments.data, "serving_h100.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["model_path"] in SERVED and row["pp_size"] == "1"][::arguments.every]
    server, groups, firsts = Server(chakra, folder), collections.defaultdict(list), collections.defaultdict(list)
    for row in rows:
        off = math.log(server.per_token(row) / float(row["silicon_tpot_ms"]))
        bits = "8 bits" if row["gemm_quant_mode"] == "fp8" else "16 bits"
        for group in ("all", row["backend"], f"{row['backend']}, {bits}", f"{row['backend']}, tp {row['tp_size']}"):
            groups[group].append(off)
        group = f"{row['backend']}, {row['model_path'].split('/')[-1]}, {bits}, {int(row['batch_size']):3} at a time"
        for waiting, name in enumerate((group, f"{group}, one of them waits")):
            firsts[name].append(math.log(server.to_first_token(row, waiting) / float(row["silicon_ttft_ms"])))
    for what, of in (("time per output token", groups), ("time to first token", firsts)):
        print(f"\n| {what} | rows | error | mean predicted / measured | worst | within 25 % |\n|---|---|---|---|---|---|")
        for group, offs in sorted(of.items()):
            worst = math.exp(max(abs(off) for off in offs))
            near = sum(abs(math.exp(off) - 1) <= 0.25 for off in offs)
            print(f"| {group} | {len(offs)} | {error(offs):.1%} | {math.exp(sum(offs) / len(offs)):.2f} | {worst:.2f} | {near} |")
    return error(groups["all"]) <= 0.12


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=("llm-foundry", "vtrain", "neusight", "published", "papers", "serving"))
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    parser.add_argument("--data", default=os.path.join(ROOT, "../shared/data/measured"))
    parser.add_argument("--rows", type=int, default=36)
    parser.add_argument("--every", type=int, default=1, help="judge every N-th row only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judge = {"llm-foundry": foundry, "vtrain": vtrain, "neusight": neusight, "published": published, "papers": papers,
                 "serving": serving}[arguments.set]
        sys.exit(0 if judge(arguments, os.path.join(arguments.bin, "chakra"), folder) else 1)


if __name__ == "__main__":
    main()
