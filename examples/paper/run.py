#!/usr/bin/env python3
"""Runs the paper's simulation experiments (Figures 5, 6 and 7) again and says which of its claims hold.

    run.py [--bin DIR] [--data DIR] [-o DIR] [--quick] [--readme]

Needs Python 3 alone and the command chakra: in --bin, else in the path, else build/release/bin of the project. The recovered workloads
are read from DIR/workloads (--data, else CHAKRA_TEST_DATA, else ../shared/data beside the project); where they are absent, workloads of
the same shape stand in (shapes.py). --quick runs only what needs none of them. README.md says what is recovered, calibrated and chosen.
"""
import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import alpha_beta  # noqa: E402
import plots  # noqa: E402
import shapes  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SIZES = {4: 2, 16: 4, 64: 8}  # NPUs -> NPUs along each of the two dimensions
MODES = ("compat", "native")
MODE_NAMES = {"compat": "ASTRA-sim's rules", "native": "native rules"}
RULES = ("all", "dimension", "one")  # of alpha_beta
DIRECTIONS = 2  # ways round a ring
# name -> (bandwidths in GB/s of 10^9, of each direction of a ring or of the port to a switch; ns per step; bandwidths of Figure 7)
SYSTEMS = {
    "torus": ("Ring", (62, 62), (500, 500), ((31, 62, 128), (31, 62, 128))),
    "DGX2": ("Switch", (600, 37.5), (500, 5000), ((150, 300, 600), (18.75, 37.5, 75))),
}
# name -> file. The two files of the hybrid MLP differ in the header alone; the first word of our names is what dimension 1 does.
FILES = {
    "MLP-MP": "MLP_ModelParallel.txt",
    "MLP-DP-MP": "MLP_HybridParallel_Model_Data.txt",
    "MLP-MP-DP": "MLP_HybridParallel_Data_Model.txt",
    "DLRM": "DLRM_HybridParallel.txt",
    "Transformer": "Transformer_HybridParallel.txt",
}
GENERATED, MODEL_165M = "MLP-MP gen", "165M"
# What the paper's time used, dimension by dimension; without it chakra takes the fastest of all algorithms.
NATIVE_ALGORITHMS = ("allreduce: hierarchical, ring; allgather: hierarchical, ring; reducescatter: hierarchical, ring; "
                     "alltoall: pairwise")

# Another model of the same configuration: totals over that of torus 4, for 4, 16, 64 NPUs. It lets any number of collectives run at once.
ORACLE = {
    ("MLP-MP", "torus"): (1, 1.326, 2.435), ("MLP-MP", "DGX2"): (1.312, 1.870, 2.657),
    ("MLP-DP-MP", "torus"): (1, 1.063, 1.193), ("MLP-DP-MP", "DGX2"): (1.203, 1.653, 2.191),
    ("MLP-MP-DP", "torus"): (1, 1.063, 1.193), ("MLP-MP-DP", "DGX2"): (1.028, 1.089, 1.284),
    ("DLRM", "torus"): (1, 1.399, 2.143), ("DLRM", "DGX2"): (2.384, 3.604, 4.765),
    ("Transformer", "torus"): (1, 0.281, 0.154), ("Transformer", "DGX2"): (1.010, 0.276, 0.231),
}


def mlp_text(npus, k, m=8192):
    """Six equal layers, m x k times k x k, the output columns shared out: times in ns at 2 x 512 x 512 operations per ns, 2 bytes an element."""
    ns = round(2 * m * k * (k / npus) / (2 * 512 * 512))
    shard, whole = m * k // npus * 2, m * k * 2
    layers = [f"mlp{i} -1 {ns} ALLGATHER {shard} {ns} ALLREDUCE {whole} {ns} NONE 0 0" for i in range(6)]
    return "\n".join(["MODEL", "6"] + layers) + "\n"


def transformer_text(text, npus, scale):
    """Compute x scale; the model-parallel group is dimension 1, and at 4 NPUs, as the file has it, all of them."""
    lines = text.splitlines()
    out = [f"HYBRID_TRANSFORMER model_parallel_NPU_group: {max(4, SIZES[npus])}", lines[1]]
    for columns in (line.split() for line in lines[2:]):
        for i in (2, 5, 8):
            columns[i:i + 1] = [str(round(int(columns[i]) * scale))] if columns else []
        out.append(" ".join(columns))
    return "\n".join(out) + "\n"


class Lab:
    """Makes traces and runs them, in a folder of its own. `workloads`: the folder of the recovered files, or None: others stand in."""

    def __init__(self, chakra, workloads, folder):
        self.chakra, self.workloads, self.folder, self.jobs = chakra, workloads, folder, {}

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def call(self, *arguments):
        done = subprocess.run([self.chakra, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"run.py: chakra {' '.join(arguments)}: exit {done.returncode}\n{done.stderr}")

    def text(self, workload, npus, only_comm):
        if workload.startswith(GENERATED):
            return mlp_text(npus, 7360 if workload.endswith("7360") else 3712)
        if self.workloads is None:
            text = shapes.SHAPES[FILES[workload]]()
        else:
            with open(os.path.join(self.workloads, FILES[workload]), encoding="utf-8") as file:
                text = file.read()
        return transformer_text(text, npus, 0 if only_comm else 4 / npus) if workload == "Transformer" else text

    def job(self, workload, npus, only_comm=False):
        """-> (native prefix, trace of one rank for the compatible mode, its nodes for alpha_beta)"""
        key = (workload, npus, only_comm)
        if key in self.jobs:
            return self.jobs[key]
        side, folder = SIZES[npus], self.path(f"job{len(self.jobs)}")
        os.mkdir(folder)
        prefix = os.path.join(folder, "rank")
        if workload == MODEL_165M:
            # Chosen: GPT-2 small's width and depth, 16 heads, an untied head. 64 sequences a step, whatever the number of NPUs.
            self.call("gen", "step", "--layers", "12", "--hidden", "768", "--ffn", "3072", "--heads", "16", "--kv-heads", "16", "--head-dim", "48", "--gated",
                      "false", "--sequence", "1024", "--vocab", "51200", "--micro-batches", "2", "--micro-batch-size", str(32 // side), "--tp", str(side),
                      "--dp", str(side), "--pp", "1", "--virtual-stages", "1", "--keep-gathered", "true",
                      "--order", "tp-dp-pp", "--device-peak-tflops", "524.288", "--efficiency", "1",
                      "--all-ranks", "-o", folder)
            self.jobs[key] = (folder, None, None)
            return self.jobs[key]
        source = os.path.join(folder, "workload.txt")
        with open(source, "w", encoding="utf-8") as file:
            file.write(self.text(workload, npus, only_comm))
        self.call("import", source, "-o", prefix, "--dims", f"{side},{side}", "--time-unit", "ns")
        self.jobs[key] = (prefix, *self.one_rank(source, folder, side))
        return self.jobs[key]

    def one_rank(self, source, folder, side):
        """The paper's traces name the dimensions that take part, not groups, so all ranks are alike. 1 us here is 1 ns of the file: the
        compatible mode reads whole microseconds; the network is slowed down by as much (`simulate`)."""
        prefix = os.path.join(folder, "us")
        self.call("import", source, "-o", prefix, "--dims", f"{side},{side}", "--time-unit", "us")
        self.call("convert", prefix + ".0.et", "-o", prefix + ".json")
        with open(prefix + ".json", encoding="utf-8") as file:
            trace = json.load(file)
        attributes = {a["name"]: a for a in trace["metadata"]["attr"]}
        groups = json.loads(attributes["process_groups"]["stringVal"]) if "process_groups" in attributes else []
        dims = {g["pg_name"]: [len({r % side for r in g["ranks"]}) > 1, len({r // side for r in g["ranks"]}) > 1] for g in groups}
        trace["metadata"]["attr"] = [attributes["schema"]]
        nodes, kept, stands_for, names = [], [], {}, {"0": "ALL_REDUCE", "2": "ALL_GATHER", "6": "ALL_TO_ALL"}
        for node in trace["nodes"]:
            deps = sorted({new for old in node.get("dataDeps", []) for new in stands_for[old]})
            told, own = {"deps": deps}, {a["name"]: a for a in node.get("attr", [])}
            involved = dims.get(own.pop("pg_name", {}).get("stringVal"), [True, True])
            stands_for[node.get("id", "0")] = [len(nodes)] if any(involved) else deps
            if not any(involved):
                continue  # a group of one rank
            if node["type"] == "COMP_NODE":
                told["ns"] = int(node.get("durationMicros", 0))
            else:
                node["attr"] = list(own.values()) + [{"name": "involved_dim", "boolList": {"values": involved}}]
                told.update(kind=names[own["comm_type"].get("int64Val", "0")], size=int(own["comm_size"].get("int64Val", 0)),
                            dims=[d for d in (0, 1) if involved[d]])
            node.update(id=str(len(nodes)), dataDeps=[str(dep) for dep in deps])
            nodes.append(told)
            kept.append(node)
        trace["nodes"] = kept
        with open(prefix + ".edited.json", "w", encoding="utf-8") as file:
            json.dump(trace, file)
        self.call("convert", prefix + ".edited.json", "-o", os.path.join(folder, "one.0.et"))
        return os.path.join(folder, "one.0.et"), nodes

    def simulate(self, mode, workload, system, npus, bandwidths, steps, only_comm=False, directions=DIRECTIONS):
        """-> (total, compute, exposed communication) in ns, of the rank that ends last"""
        prefix, one, _ = self.job(workload, npus, only_comm)
        kind, side, compat = SYSTEMS[system][0], SIZES[npus], mode == "compat"
        # Compatible: a collective goes round a ring one way, so that way has the bandwidth of both. A step through a switch is two links.
        rate = [b * (directions if compat and kind == "Ring" else 1) / (2**30 / 1e9) / (1000 if compat else 1) for b in bandwidths]
        latency = [step / (2 if kind == "Switch" else 1) * (1000 if compat else 1) for step in steps]
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            network, result, rules = (os.path.join(folder, name) for name in ("network.yml", "result.json", "system.json"))
            with open(network, "w", encoding="utf-8") as file:
                file.write(f"topology: [ {kind}, {kind} ]\nnpus_count: [ {side}, {side} ]\nbandwidth: {rate}\nlatency: {latency}\n")
            if compat:
                algorithm, exchange = ("ring", "ring") if kind == "Ring" else ("halvingDoubling", "direct1")
                with open(rules, "w", encoding="utf-8") as file:
                    json.dump({"scheduling-policy": "LIFO", "endpoint-delay": 0, "active-chunks-per-dimension": 1, "preferred-dataset-splits": 1,
                               "collective-optimization": "localBWAware", "all-reduce-implementation": [algorithm] * 2,
                               "all-gather-implementation": [algorithm] * 2, "reduce-scatter-implementation": [algorithm] * 2,
                               "all-to-all-implementation": [exchange] * 2}, file)
                self.call("sim", one, "--expand", str(npus), "--compat", "astra-sim", "--system", rules, "--network", network, "--json", result)
            else:
                self.call("sim", prefix, "--network", network, "--congestion", "closed", "--collectives", NATIVE_ALGORITHMS, "--json", result)
            with open(result, encoding="utf-8") as file:
                told = json.load(file)
        last = max(told["ranks"], key=lambda rank: rank["finish_ps"])
        unit = 1e6 if compat else 1e3
        return last["finish_ps"] / unit, last["compute_ps"] / unit, last["exposed_comm_ps"] / unit

    def on_paper(self, workload, system, npus, bandwidths, steps, rule):
        kind, side = SYSTEMS[system][0], SIZES[npus]
        return alpha_beta.run(self.job(workload, npus)[2], {
            "kind": kind, "npus": [side, side], "bytes_per_ns": [b * (DIRECTIONS if kind == "Ring" else 1) for b in bandwidths], "step_ns": steps}, rule)


def points(workloads):
    """Everything that is simulated: key -> arguments of Lab.simulate. A key is (mode, workload, system, NPUs, bandwidths, steps)."""
    for workload in workloads:
        for mode in MODES:
            if mode == "compat" and workload == MODEL_165M:
                continue  # its groups have names, which the compatible mode does not know
            for system, (_, own, steps, (firsts, seconds)) in SYSTEMS.items():
                for npus in SIZES:
                    yield (mode, workload, system, npus, own, steps)
                for pair in ((a, b) for a in firsts for b in seconds):
                    yield (mode, workload, system, 64, pair, steps)
            for npus in SIZES:  # S1: what if both dimensions of DGX2 had the same latency
                yield (mode, workload, "DGX2", npus, SYSTEMS["DGX2"][1], (500, 500))


class Answers:
    """Claims: each method -> [(variant, holds, numbers)], from the results of all points."""

    def __init__(self, lab, results, workloads):
        self.lab, self.results, self.workloads = lab, results, workloads

    def at(self, mode, workload, system, npus, bandwidths=None, steps=None):
        return self.results.get((mode, workload, system, npus, bandwidths or SYSTEMS[system][1], steps or SYSTEMS[system][2]))

    def totals(self, mode, workload, system="torus", steps=None):
        return [self.at(mode, workload, system, npus, steps=steps)[0] for npus in SIZES]

    def has(self, mode, workload):
        return workload in self.workloads and (mode, workload) != ("compat", MODEL_165M)

    def each(self, mode, *wanted):
        return [w for w in (wanted or self.workloads) if self.has(mode, w)]

    def h1(self, mode):
        for workload in self.each(mode, "Transformer", MODEL_165M):
            t4, t16, t64 = self.totals(mode, workload)
            yield workload, t4 > t16 > t64, f"1, {t4 / t16:.2f}, {t4 / t64:.2f}"

    def h2(self, mode):
        for workload in self.each(mode, "Transformer"):
            _, own, steps, _ = SYSTEMS["torus"]
            alone, _, _ = self.lab.simulate(mode, workload, "torus", 4, own, steps, only_comm=True)
            ratio = self.at(mode, workload, "torus", 4)[1] / alone
            yield workload, 20 <= ratio <= 30, f"{ratio:.1f}"

    def h3(self, mode):
        for workload in self.each(mode, "Transformer", MODEL_165M):
            runs = [self.at(mode, workload, "torus", npus) for npus in SIZES]
            totals, computes, exposed = zip(*runs)
            falls = all(abs(c * n / (computes[0] * 4) - 1) < 0.02 for c, n in zip(computes, SIZES))
            steady = falls and exposed[0] < exposed[1] < exposed[2] and totals[0] > totals[1] > totals[2]
            yield workload, steady, f"exposed {', '.join(f'{e / 1e6:.3g}' for e in exposed)} ms; compute {', '.join(f'{c / 1e6:.4g}' for c in computes)} ms"

    def h4(self, mode):
        for workload in self.each(mode, "MLP-MP", GENERATED):
            total, _, exposed = self.at(mode, workload, "torus", 64)
            gain = self.totals(mode, workload)[0] / total
            yield workload, exposed > total / 2 and gain < 1, f"exposed {100 * exposed / total:.1f} %, performance {gain:.2f}"

    def h5(self, mode):
        low = SYSTEMS["torus"][3][0][0]
        _, compute, exposed = self.at(mode, GENERATED, "torus", 64, (low, low))
        yield "k = 3712, both ways", abs(exposed / compute / 128 - 1) <= 0.02, f"{exposed / compute:.1f}"
        if mode == "compat":
            _, compute, exposed = self.lab.simulate(mode, GENERATED + " 7360", "torus", 64, (low, low), SYSTEMS["torus"][2], directions=1)
            yield "k = 7360, one way", abs(exposed / compute / 128 - 1) <= 0.02, f"{exposed / compute:.1f}"

    def gains(self, mode):
        low, high = SYSTEMS["torus"][3][0][0], SYSTEMS["torus"][3][0][-1]
        return {w: self.at(mode, w, "torus", 64, (low, low))[0] / self.at(mode, w, "torus", 64, (high, high))[0] for w in self.each(mode)}

    def h6(self, mode):
        gains = self.gains(mode)
        others = [w for w in gains if not w.startswith("MLP-MP") or w == "MLP-MP-DP"]
        if others:
            yield GENERATED, all(gains[GENERATED] > gains[w] for w in others), ", ".join(f"{w} {gain:.2f}" for w, gain in gains.items())

    def h7(self, mode):
        for system in SYSTEMS:
            worse = []
            for workload in self.each(mode):
                grid = self.grid(mode, workload, system)
                worse += [workload for i in range(3) for j in range(3)
                          if (i and grid[i][j] > grid[i - 1][j]) or (j and grid[i][j] > grid[i][j - 1])]
            yield system, not worse, f"{len(self.each(mode))} workloads at 9 points" if not worse else "not " + ", ".join(sorted(set(worse)))

    def h8(self, mode):
        better = {w: self.totals(mode, w) for w in self.each(mode) if w not in ("Transformer", MODEL_165M)}
        told = ", ".join(f"{w} {t[0] / t[1]:.2f} {t[0] / t[2]:.2f}" for w, t in better.items())
        yield "performance at 16, 64", not any(t[0] > t[1] > t[2] for t in better.values()), told

    def s1(self, mode):
        for label, steps in (("DGX2 at 500 / 5,000 ns", (500, 5000)), ("DGX2 at 500 / 500 ns", (500, 500))):
            slower, fast, pairs = [], 0, 0
            for workload in self.each(mode):
                over = [torus / dgx - 1 for torus, dgx in zip(self.totals(mode, workload), self.totals(mode, workload, "DGX2", steps))]
                pairs, fast = pairs + len(over), fast + sum(more <= 0 for more in over)
                if max(over) > 0:
                    slower.append(f"{workload} ({', '.join(f'{npus}: {100 * more:.1f} %' for npus, more in zip(SIZES, over) if more > 0)})")
            told = f"in {fast} of {pairs} pairs of workload and size"
            yield label, 2 * fast > pairs, told if not slower else f"{told}; slower: " + ", ".join(slower)

    def s2(self, mode):
        def rises(workload, system):
            t4, t16, t64 = self.totals(mode, workload, system)
            return t4 > t16 > t64
        rising = [f"{w}/{s}" for w in self.each(mode) for s in SYSTEMS if rises(w, s)]
        own = {f"{w}/torus" for w in ("Transformer", MODEL_165M)}
        yield "improve at 16 and 64", bool(rising) and set(rising) <= own, ", ".join(rising) or "none"

    def s3(self, mode):
        low, high = SYSTEMS["torus"][3][0][0], SYSTEMS["torus"][3][0][-1]
        for workload in self.each(mode, "MLP-DP-MP", "MLP-MP-DP"):
            base, first, second = (self.at(mode, workload, "torus", 64, pair)[0] for pair in ((low, low), (high, low), (low, high)))
            wanted = second < first if workload == "MLP-DP-MP" else first < second
            yield workload, wanted, f"1 -> {first / base:.3f} along dimension 1, {second / base:.3f} along 2"

    def grid(self, mode, workload, system):
        firsts, seconds = SYSTEMS[system][3]
        return [[self.at(mode, workload, system, 64, (a, b))[0] for b in seconds] for a in firsts]


CLAIMS = {
    "H1": "On the torus the Transformer's performance rises from 4 to 16 to 64 NPUs",
    "H2": "Its compute is 20 to 30 times its communication at 4 NPUs on the torus (paper: 25)",
    "H3": "Its exposed communication grows with the NPUs, its compute falls as 1/N (chosen so, but for 165M), the total falls (torus)",
    "H4": "MLP-MP, torus, 64 NPUs: over half the time is exposed communication, and it is slower than with 4",
    "H5": "MLP-MP, torus at 31 / 31 GB/s, 64 NPUs: exposed communication is 128 times compute, within 2 % (k calibrated to it)",
    "H6": "MLP-MP gains most from bandwidth: T(31, 31) / T(128, 128), torus, 64 NPUs",
    "H7": "More bandwidth in either dimension never makes a run longer",
    "H8": "What is not a Transformer does not improve steadily on the torus",
    "S1": "The torus is generally (in most pairs of workload and size) at least as fast as DGX2",
    "S2": "Only the Transformer on the torus improves steadily",
    "S3": "The hybrid MLPs want bandwidth where they are model parallel: DP-MP in dimension 2, MP-DP in dimension 1",
}


def verdicts(answers):
    """-> [(claim, mode, variant, 'holds' | 'does not hold', numbers)]"""
    rows = []
    for claim in CLAIMS:
        for mode in MODES:
            told = list(getattr(answers, claim.lower())(mode))
            rows += [(claim, mode, variant, "holds" if holds else "does not hold", numbers) for variant, holds, numbers in told]
        if not any(row[0] == claim for row in rows):
            rows.append((claim, "-", "-", "not run", "needs the recovered workloads"))
    return rows


def overall(rows):
    told = {row[3] for row in rows}
    return told.pop() if len(told) == 1 else "in part"


def markdown(rows):
    out = ["| | claim | verdict | rules: variant | | numbers |", "|---|---|---|---|---|---|"]
    for claim, words in CLAIMS.items():
        own = [row for row in rows if row[0] == claim]
        for i, (_, mode, variant, verdict, numbers) in enumerate(own):
            head = f"| {claim} | {words} | **{overall(own)}** " if i == 0 else "| | | "
            out.append(f"{head}| {mode}: {variant} | {verdict} | {numbers} |")
    return "\n".join(out) + "\n"


def update_readme(table):
    path = os.path.join(HERE, "README.md")
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition("| | claim |")
    after = rest.partition("\n\n")[2]
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + table + "\n" + after)


def cross_check(lab, results, workloads):
    """The compatible mode against paper and pencil on every point, and both conventions against the recovered figures."""
    rows, recovered = [], []
    if lab.workloads is None:
        workloads = []  # nothing was recovered for what stands in
    for (mode, workload, system, npus, pair, steps), (total, _, _) in results.items():
        if mode == "compat":
            expected = lab.on_paper(workload, system, npus, pair, steps, "one")
            rows.append((workload, system, npus, pair[0], pair[1], steps[1], total, expected, total / expected - 1))
    for (workload, system), wanted in ORACLE.items():
        if workload not in workloads:
            continue
        base = {rule: lab.on_paper(workload, "torus", 4, *SYSTEMS["torus"][1:3], rule) for rule in RULES}
        simulated = results["compat", workload, "torus", 4, *SYSTEMS["torus"][1:3]][0]
        for npus, figure in zip(SIZES, wanted):
            own = SYSTEMS[system][1:3]
            recovered.append((workload, system, npus, figure, *(lab.on_paper(workload, system, npus, *own, rule) / base[rule] for rule in RULES),
                              results["compat", workload, system, npus, *own][0] / simulated))
    return rows, recovered


def write_table(path, header, rows):
    with open(path, "w", encoding="utf-8") as file:
        for row in [header] + rows:
            file.write("\t".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row) + "\n")


def write_figures(out, answers):
    blues, oranges = ("#9ecae1", "#4292c6", "#08519c"), ("#fdd0a2", "#fd8d3c", "#a63603")
    performance, parts, sweep = [], [], []
    for mode in MODES:
        names = answers.each(mode)
        five, six = [], []
        for workload in names:
            base = answers.at(mode, workload, "torus", 4)[0]
            own_five, own_six = [], []
            for s, system in enumerate(SYSTEMS):
                for i, npus in enumerate(SIZES):
                    total, compute, exposed = answers.at(mode, workload, system, npus)
                    performance.append((mode, workload, system, npus, total / 1e6, base / total))
                    parts.append((mode, workload, system, npus, total / 1e6, compute / 1e6, exposed / 1e6, compute / base, exposed / base))
                    own_five.append((str(npus), [(3 * s + i, base / total)]))
                    if system == "torus":
                        own_six.append((str(npus), [(0, compute / base), (1, exposed / base)]))
            five.append((workload, own_five))
            six.append((workload, own_six))
        legend = [(f"{system}, {npus} NPUs", color) for system, colors in zip(SYSTEMS, (blues, oranges)) for npus, color in zip(SIZES, colors)]
        rows, own_rows = [], []
        for system, (_, _, _, (firsts, seconds)) in SYSTEMS.items():
            row, own_row = [], []
            for workload in names:
                grid, least = answers.grid(mode, workload, system), answers.grid(mode, workload, "torus")[0][0]
                row.append((workload, firsts, seconds, [[t / least for t in line] for line in grid]))
                own_row.append((workload, firsts, seconds, [[t / grid[0][0] for t in line] for line in grid]))
                sweep += [(mode, workload, system, a, b, t / 1e6, t / least, t / grid[0][0])
                          for a, line in zip(firsts, grid) for b, t in zip(seconds, line)]
            rows.append((system, row))
            own_rows.append((system, own_row))
        for name, svg in (
                ("fig5", plots.bars(f"Performance, {MODE_NAMES[mode]}", "performance over torus with 4 NPUs", five, legend)),
                ("fig6", plots.bars(f"Where the time goes on the torus with 4, 16, 64 NPUs, {MODE_NAMES[mode]}", "time over that of 4 NPUs", six,
                                    [("compute", blues[1]), ("exposed communication", oranges[1])])),
                ("fig7", plots.grids(f"Runtime over that of the torus with the least bandwidths, 64 NPUs, {MODE_NAMES[mode]}", rows)),
                ("fig7_own", plots.grids(f"Runtime over that of the same network with the least bandwidths, 64 NPUs, {MODE_NAMES[mode]}", own_rows))):
            with open(os.path.join(out, f"{name}.{mode}.svg"), "w", encoding="utf-8") as file:
                file.write(svg)
    write_table(os.path.join(out, "fig5.tsv"), ("rules", "workload", "system", "npus", "total_ms", "performance"), performance)
    write_table(os.path.join(out, "fig6.tsv"), ("rules", "workload", "system", "npus", "total_ms", "compute_ms", "exposed_ms", "compute_share_of_4",
                                                "exposed_share_of_4"), parts)
    write_table(os.path.join(out, "fig7.tsv"), ("rules", "workload", "system", "dim1_gb_per_s", "dim2_gb_per_s", "total_ms", "over_torus_least",
                                                "over_own_least"), sweep)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", metavar="DIR", help="where chakra is")
    parser.add_argument("--data", metavar="DIR", default=os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data")),
                        help="holds workloads/astra-sim-1.0")
    parser.add_argument("-o", "--output", metavar="DIR", default="paper-results", help="where tables and plots go (paper-results)")
    parser.add_argument("--quick", action="store_true", help="only what needs no recovered file")
    parser.add_argument("--readme", action="store_true", help="also put the table of claims into the README beside this file")
    arguments = parser.parse_args()
    built = os.path.join(ROOT, "build", "release", "bin")
    chakra = os.path.join(arguments.bin, "chakra") if arguments.bin else shutil.which("chakra") or os.path.join(built, "chakra")
    if not os.path.isfile(chakra):
        sys.exit(f"run.py: no {chakra}; build the project or name its folder with --bin")
    source = os.path.join(arguments.data, "workloads", "astra-sim-1.0")
    workloads, stand_ins = [GENERATED, MODEL_165M], ""
    if not arguments.quick:
        workloads = [*list(FILES)[:1], GENERATED, *list(FILES)[1:], MODEL_165M]
        if not all(os.path.isfile(os.path.join(source, name)) for name in FILES.values()):
            stand_ins = (f"The recovered workloads are not in {source}: workloads of the same shape, made by shapes.py, stand in for "
                         f"{', '.join(FILES)}. Their figures are not the paper's.")
            print(f"run.py: {stand_ins}", file=sys.stderr)
    os.makedirs(arguments.output, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(os.path.abspath(chakra), None if stand_ins else source, folder)
        for workload in workloads:
            for npus in SIZES:
                lab.job(workload, npus)
        keys = list(dict.fromkeys(points(workloads)))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = dict(zip(keys, pool.map(lambda key: lab.simulate(*key), keys)))
        answers = Answers(lab, results, workloads)
        rows = verdicts(answers)
        write_figures(arguments.output, answers)
        checked, recovered = cross_check(lab, results, workloads)
    write_table(os.path.join(arguments.output, "cross_check.tsv"),
                ("workload", "system", "npus", "dim1_gb_per_s", "dim2_gb_per_s", "dim2_step_ns", "simulated_ns", "on_paper_ns", "difference"), checked)
    write_table(os.path.join(arguments.output, "recovered.tsv"),
                ("workload", "system", "npus", "recovered", *(f"on_paper_{rule}" for rule in RULES), "simulated"), recovered)
    write_table(os.path.join(arguments.output, "claims.tsv"), ("claim", "rules", "variant", "verdict", "numbers"), rows)
    with open(os.path.join(arguments.output, "claims.md"), "w", encoding="utf-8") as file:
        file.write((stand_ins + "\n\n" if stand_ins else "") + markdown(rows))
    for claim, words in CLAIMS.items():
        own = [row for row in rows if row[0] == claim]
        print(f"{claim} {overall(own)}: {words}")
        for _, mode, variant, verdict, numbers in own:
            print(f"   {verdict:13} {mode:6} {variant}: {numbers}")
    worst = max(checked, key=lambda row: abs(row[-1]))
    print(f"{len(results)} runs; ASTRA-sim's rules against latency and bandwidth on paper: at most {100 * abs(worst[-1]):.2f} % apart ({len(checked)} points)")
    if recovered:  # so all of it ran
        apart = {w: max(abs(row[5] / row[3] - 1) for row in recovered if row[0] == w) for w in FILES}
        told = ", ".join(f"{w} {100 * most:.1f} %" for w, most in apart.items())
        print(f"recovered totals against the same on paper, one collective in each dimension: at most {told} apart")
        if arguments.readme:
            update_readme(markdown(rows))


if __name__ == "__main__":
    main()
