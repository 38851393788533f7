"""Jobs for ASTRA-sim's rules: random ones, those whose results are recorded, and their files. Used by astra_model.py."""
import csv
import dataclasses
import json
import math
import os
import random
import re

import et

COLLECTIVES = {"ALL_REDUCE": "all-reduce", "ALL_GATHER": "all-gather", "REDUCE_SCATTER": "reduce-scatter", "ALL_TO_ALL": "all-to-all"}


@dataclasses.dataclass
class Job:
    network: dict  # as in the network file
    system: dict   # as in the system file
    ranks: list    # of lists of nodes: dicts of id, type, deps and attributes by their names in a trace
    groups: dict = dataclasses.field(default_factory=dict)  # number -> ranks in order
    aware: bool = False
    queues: int = 1  # per dimension
    rendezvous: bool = False
    injection_scale: float = 1.0


# ---- random jobs ------------------------------------------------------------------------------------------

def random_system(pick, counts):
    system = {"scheduling-policy": pick.choice(["LIFO", "FIFO", "EXPLICIT"]), "endpoint-delay": pick.choice([10, 1, pick.randint(1, 500)]),
              "active-chunks-per-dimension": pick.choice([1, 1, 2, 3, 4, 8]), "preferred-dataset-splits": pick.choice([1, 2, 4, pick.randint(1, 9)]),
              "collective-optimization": pick.choice(["localBWAware", "baseline"]), "local-mem-bw": pick.choice([1600, 50, pick.randint(1, 4000)])}
    if pick.random() < 0.3:
        system |= {"roofline-enabled": 1, "peak-perf": pick.choice([900, pick.randint(1, 2000)])}

    def algorithm(kind, ranks, names, tree=False):  # halvingDoubling has no all-to-all; it and the tree need a power of two
        power = ranks & (ranks - 1) == 0
        if tree and power and pick.random() < 0.25:
            return "doubleBinaryTree"
        return pick.choice(names if power and kind != "ALL_TO_ALL" else names[:-1])

    one_line = pick.random() < 0.15
    for kind, name in COLLECTIVES.items():
        if one_line:
            algorithms = [algorithm(kind, math.prod(counts), ["oneRing", "oneDirect", "oneHalvingDoubling"])] * len(counts)
        else:
            algorithms = [algorithm(kind, count, ["ring", "direct", f"direct{pick.randint(1, 4)}", "halvingDoubling"], tree=True) for count in counts]
        system[name + "-implementation"] = algorithms
    return system


def random_groups(pick, ranks, system):
    """They may overlap. Where there is one dimension, its algorithm runs in groups, too; halvingDoubling needs a power of two, the tree all ranks."""
    groups = {}
    for number in range(1, pick.randint(1, 4) if ranks >= 4 else 1):
        members = pick.sample(range(ranks), pick.randint(2, ranks))
        lists = [system[name + "-implementation"] for name in COLLECTIVES.values()]
        halving = any(len(algorithms) == 1 and "halving" in algorithms[0].lower() for algorithms in lists)
        tree = any(algorithms == ["doubleBinaryTree"] for algorithms in lists)
        groups[number] = pick.sample(range(ranks), ranks) if tree else members[:2] if halving and len(members) < ranks else members
    return groups


def random_job(seed):
    """Up to 32 ranks that compute and communicate; where their order is not the same, and sometimes where it is, they cannot finish."""
    pick = random.Random(seed)
    aware = pick.random() < 0.5
    counts = [pick.randint(2, most) for most in pick.choice([[8]] if aware else [[8], [8], [4, 4], [3, 3, 3], [4, 2, 4]])]
    network = {"topology": [pick.choice(["Ring", "Switch", "FullyConnected"]) for _ in counts], "npus_count": counts,
               "bandwidth": [pick.choice([50.0, 100.0, 12.5, float(pick.randint(1, 400))]) for _ in counts],
               "latency": [pick.choice([500.0, 1000.0, float(pick.randint(0, 2000)), pick.randint(1, 20000) / 10]) for _ in counts]}
    system, ranks = random_system(pick, counts), math.prod(counts)
    groups = random_groups(pick, ranks, system)
    job = Job(network, system, [[] for _ in range(ranks)], groups, aware, queues=pick.choice([1, 1, 2, 3, 4]),
              rendezvous=pick.random() < 0.3, injection_scale=pick.choice([1.0, 1.0, 0.5, 2.3]))

    in_order = pick.random() < 0.8  # else a collective on the processor may overtake, or be overtaken by, one that is not

    def add(rank, type_, **attributes):
        nodes = job.ranks[rank]
        deps = {pick.choice([len(nodes), pick.randint(1, len(nodes))])} if nodes and pick.random() < 0.8 else set()
        if type_ != "COMP" and in_order:
            deps |= {node["id"] for node in nodes if node["type"] != "COMP"}
        nodes.append({"id": len(nodes) + 1, "type": type_, "deps": sorted(deps), "is_cpu_op": False} | attributes)

    def add_compute(rank):
        if pick.random() < 0.2:
            add(rank, "COMP", is_cpu_op=True, dur_us=pick.randint(1, 40))
        elif "roofline-enabled" in system:
            add(rank, "COMP", num_ops=pick.randint(10**6, 10**12), tensor_size=pick.randint(10**5, 10**9))
        else:
            add(rank, "COMP", dur_us=pick.choice([0, 1, pick.randint(1, 100)]))

    for _ in range(pick.randint(1, 6)):
        what = pick.random()
        if what < 0.3:
            for rank in range(ranks):
                if pick.random() < 0.6:
                    add_compute(rank)
        elif what < 0.5:
            sender, receiver = pick.sample(range(ranks), 2)
            same = {"comm_tag": pick.randint(0, 2), "comm_size": pick.choice([1, 1024, pick.randint(1, 10**6)])}
            add(sender, "SEND", comm_dst=receiver, **same)
            add(receiver, "RECV", comm_src=sender, **same)
        else:
            same = {"comm_type": pick.choice(list(COLLECTIVES)), "comm_priority": pick.randint(0, 3),
                    "comm_size": pick.choice([1048576, 65536, pick.randint(64, 3 * 10**6), pick.randint(9, 500)]), "is_cpu_op": pick.random() < 0.2}
            group = pick.choice([0, *groups])
            for rank in groups.get(group, range(ranks)):
                add(rank, "COLL", **same, **({"pg_name": group} if group else {}))
    for rank in range(ranks):
        if not job.ranks[rank]:
            add_compute(rank)
    return job


# ---- recorded jobs ----------------------------------------------------------------------------------------

def network_file(path):
    """The lists of a network file: each on a line of its own."""
    kinds = {"topology": str.strip, "npus_count": int, "bandwidth": float, "latency": float}
    with open(path, encoding="utf-8") as file:
        return {key: [kinds[key](text) for text in texts.split(",")] for key, texts in re.findall(r"(\w+): *\[(.*)\]", file.read())}


def recorded_jobs(folder):
    """Each job of ASTRA-sim's recorded results that ended, with the row that says how."""
    rows = []
    for name in ("algorithms.tsv", "multidim.tsv"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            rows += csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
    for row in rows:
        if row["exit"] != "0":
            continue
        network = network_file(os.path.join(folder, "cfg", row.get("network", f"{row.get('topology')}_8") + ".yml"))
        with open(os.path.join(folder, "cfg", row.get("system", f"{row.get('algorithm')}1d_s{row.get('splits')}") + ".json"), encoding="utf-8") as file:
            system = json.load(file)
        node = {"id": 1, "type": "COLL", "deps": [], "is_cpu_op": False, "comm_type": row["collective"].upper(), "comm_size": 2**20, "comm_priority": 0}
        ranks = [[node]] * math.prod(network["npus_count"])
        yield row, Job(network, system, ranks, aware=row["backend"] == "aware", queues=int(row.get("queues", 1)))


# ---- files ------------------------------------------------------------------------------------------------

def write(job, folder):
    """Writes the job's files; gives the command that simulates them."""
    members = {"comm_tag": "i32", "comm_src": "i32", "comm_dst": "i32", "comm_priority": "i32", "tensor_size": "u64"}

    def line(node):
        attributes = {key: value for key, value in node.items() if key not in ("id", "type", "deps")}
        attributes["is_cpu_op"] = str(node["is_cpu_op"]).lower()
        words = ["deps=" + ",".join(map(str, node["deps"]))] if node["deps"] else []
        words += [f"{key}:{members[key]}={value}" if key in members else f"{key}={value}" for key, value in attributes.items()]
        return f"{node['id']} {node['type']} n{node['id']} {' '.join(words)}\n"

    for number, nodes in enumerate(job.ranks):
        with open(f"{folder}/t.{number}.et", "wb") as file:
            file.write(et.encode("".join(map(line, nodes))))
    for name, content in (("network.yml", job.network), ("system.json", job.system), ("groups.json", job.groups)):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            json.dump(content, file)
    command = ["chakra", "sim", f"{folder}/t", "--network", f"{folder}/network.yml", "--system", f"{folder}/system.json", "--compat", "astra-sim",
               "--backend", "congestion_aware" if job.aware else "congestion_unaware", "--num-queues-per-dim", str(job.queues),
               "--injection-scale", str(job.injection_scale), "--rendezvous-protocol", str(job.rendezvous).lower(), "--json", "-"]
    return command + (["--groups", f"{folder}/groups.json"] if job.groups else [])
