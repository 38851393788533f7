#!/usr/bin/env python3
"""Compares chakra's reading and writing of InfraGraph with the package infragraph 3.1.0, by which every number is judged.

    infragraph_oracle.py [--bin DIR] [--pairs N]

Needs the package: pip install infragraph==3.1.0. For each public blueprint of the package, chakra must read as many
components of each kind, the same sum of bandwidths by link, and as many hops between random pairs of XPUs as
networkx.shortest_path finds. chakra's own blueprints must have the same nodes and edges as the package's. Networks
that chakra writes must be read by the package with as many edges.
"""
import argparse
import collections
import contextlib
import io
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

import networkx
from infragraph import Annotation, GraphRequest, Infrastructure
from infragraph.blueprints.devices.amd.mi300x import MI300X
from infragraph.blueprints.devices.common.transceiver.qsfp import QSFP
from infragraph.blueprints.devices.dell.xe9680 import Dellxe9680
from infragraph.blueprints.devices.dell.xe9680L import Dellxe9680L
from infragraph.blueprints.devices.dell.xe9685L import Dellxe9685L
from infragraph.blueprints.devices.generic.generic_switch import Switch
from infragraph.blueprints.devices.generic.server import Server
from infragraph.blueprints.devices.ironwood_rack import IronwoodRack
from infragraph.blueprints.devices.nvidia.cx5 import Cx5
from infragraph.blueprints.devices.nvidia.dgx import NvidiaDGX
from infragraph.blueprints.fabrics.clos_fat_tree_fabric import ClosFatTreeFabric
from infragraph.blueprints.fabrics.closfabric import ClosFabric
from infragraph.blueprints.fabrics.dragonfly_fabric import DragonflyFabric
from infragraph.blueprints.fabrics.hybrid_debruijn_fabric import HybridDeBruijnFabric
from infragraph.blueprints.fabrics.multi_host_debruijn_fabric import MultiHostDeBruijnFabric
from infragraph.blueprints.fabrics.single_tier_fabric import SingleTierFabric
from infragraph.infragraph_service import InfraGraphService

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GIB = 1 << 30


def alone(*devices):
    infrastructure = Infrastructure(name="alone")
    for device in devices:
        infrastructure.devices.append(device)
    infrastructure.instances.add(name="host", device=devices[0].name, count=1)
    return infrastructure


def nested():
    transceiver = QSFP("qsfp28_100g")
    card = Cx5("cx5_100g_dual", transceiver)
    return alone(NvidiaDGX("dgx_a100", card), card, transceiver)


# The package's blueprint, and chakra's with its settings where there is one.
BLUEPRINTS = {
    "server 1": (lambda: alone(Server(1)), "server", []),
    "server 4": (lambda: alone(Server(4)), "server", ["factor=4"]),
    "dgx1": (lambda: alone(NvidiaDGX("dgx1")), "dgx-1", []),
    "dgx2": (lambda: alone(NvidiaDGX("dgx2")), None, []),
    "dgx_a100": (lambda: alone(NvidiaDGX("dgx_a100")), "dgx-a100", []),
    "dgx_h100": (lambda: alone(NvidiaDGX("dgx_h100")), "dgx-h100", []),
    "dgx_gb200": (lambda: alone(NvidiaDGX("dgx_gb200")), "dgx-gb200", []),
    "dgx_a100 with cards": (nested, None, []),
    "mi300x": (lambda: alone(MI300X()), "mi300x", []),
    "ironwood": (lambda: alone(IronwoodRack()), "torus", []),
    "xe9680": (lambda: alone(Dellxe9680()), None, []),
    "xe9680L": (lambda: alone(Dellxe9680L()), None, []),
    "xe9685L": (lambda: alone(Dellxe9685L()), None, []),
    "clos": (ClosFabric, "clos", []),
    "fat tree 2": (lambda: ClosFatTreeFabric(Switch(8), Server(1), 2, []), "fat-tree", []),
    "fat tree 3": (lambda: ClosFatTreeFabric(Switch(8), Server(2), 3, []), "fat-tree", ["levels=3", "factor=2"]),
    "dragonfly": (lambda: DragonflyFabric(Switch(16), Server(1), 4, 2, 2), "dragonfly", []),
    "single tier": (lambda: SingleTierFabric(Server(2), 3), "single-tier", ["hosts=3", "factor=2"]),
    "de Bruijn": (lambda: MultiHostDeBruijnFabric(Switch(16), Server(1), 2), None, []),
    "de Bruijn with racks": (lambda: HybridDeBruijnFabric(Switch(16), Server(1), 2), None, []),
}
# The package's edges name components "nvlsw" that its device does not have, and drops them: chakra refuses the file.
REFUSED = {"dgx2": "infragraph.endpoint"}
# The package gives the uppermost cables the link below: 200 instead of 400 Gbps.
OTHER_LINKS = {"fat tree 3": {"tier_2_link": "tier_1_link"}}
# chakra's names of parts that the package calls otherwise.
NAMES = {"torus_rack": "IRONWOOD_TORUS_RACK_4x4x4", "xpu": "IRONWOOD", "cpu": "AMD_TURIN_ZEN5_EPYC", "nic": "nic200"}


class Failed(Exception):
    pass


def check(what, got, wanted):
    if got != wanted:
        raise Failed(f"{what}: {got}, but the package has {wanted}")


def run(chakra, *args):
    return subprocess.run([chakra, *args], capture_output=True, text=True, check=False)


def convert(chakra, text, folder, ending, form):
    """The path and the contents of what the command makes of a network in the text."""
    source, target = os.path.join(folder, "in"), os.path.join(folder, f"out.{ending}")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    done = run(chakra, "convert", source, "-o", target, "--to", form)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    with open(target, encoding="utf-8") as file:
        return target, file.read()


def converted(chakra, text, folder):
    """The network that chakra reads from the text: kinds of devices by name, and edges with their bandwidth."""
    target, made = convert(chakra, text, folder, "yml", "network")
    lines = made.splitlines()
    ranks = json.loads(lines[0].removeprefix("ranks: "))
    rest = json.loads(lines[1].removeprefix("switches: ")) if lines[1].startswith("switches") else []
    pattern = re.compile(r'  - \{ from: "(.*)", to: "(.*)", bandwidth: (\S+), latency: (\S+) \}')
    edges = {}
    for line in lines[lines.index("links:") + 1:]:
        a, b, bandwidth, latency = pattern.fullmatch(line).groups()
        edges[frozenset((a, b))] = (round(float(bandwidth) * GIB), float(latency))
    return ranks, rest, edges, target


def annotated(infrastructure):
    """The package's graph, with a bandwidth and a latency of each link, and both in one file as the package writes it."""
    for device in infrastructure.devices:
        for component in device.components:
            if component.choice == "custom" and component.custom.type is None:
                component.custom.type = "untyped"  # the package does not write a component without it
    service = InfraGraphService()
    service.set_graph(infrastructure)
    graph = service.get_networkx_graph()
    annotation, named = Annotation(), {}
    for *_, data in graph.edges(data=True):
        named.setdefault(data["link"], data.get("bandwidth"))
    for number, (name, bandwidth) in enumerate(sorted(named.items())):
        link = annotation.links.add(name=name)
        if bandwidth is None:
            link.attributes.add(attribute="bandwidth", value=f"{16 * (number + 1)} GBps")
        link.attributes.add(attribute="latency", value=f"{100 * (number + 1)} ns")
    service.annotate_graph(annotation)
    request = GraphRequest()
    request.choice = "infragraph"
    request.infragraph.annotations.choice = "partial"
    return graph, service.get_graph(request)


def bytes_per_s(text):
    number, unit = text.split()
    return float(number) * {"Gbps": 1e9 / 8, "GBps": 1e9}[unit]


def hops_of(chakra, network, ranks, pairs, folder):
    """Hops as chakra routes: with 1 ns a link, a message of one byte takes as many ns as links, and its byte almost none."""
    with open(network, encoding="utf-8") as file:
        text = re.sub(r"latency: \S+", "latency: 1000", re.sub(r"bandwidth: [^,]+", "bandwidth: 1000000", file.read()))
    with open(network, "w", encoding="utf-8") as file:
        file.write(text)
    found = []
    job = os.path.join(folder, "job")
    os.makedirs(job, exist_ok=True)
    for old in os.listdir(job):
        os.remove(os.path.join(job, old))

    def put(rank, text):
        with open(os.path.join(job, f"job.{rank}.et"), "wb") as out:
            out.write(et.encode(text))

    for rank in range(ranks):
        put(rank, "")
    for a, b in pairs:
        ends = f"comm_src:i32={a} comm_dst:i32={b} comm_size=1"
        put(a, f"1 SEND m {ends}")
        put(b, f"1 RECV m {ends}")
        done = run(chakra, "sim", job, "--network", network, "--json", "-")
        put(a, "")
        put(b, "")
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        found.append(round(json.loads(done.stdout)["makespan_ps"] / 1e6))
    return found


def compare_reading(chakra, name, make, pairs, folder):
    graph, text = annotated(make())
    if name in REFUSED:
        source = os.path.join(folder, "in.json")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = run(chakra, "convert", source, "-o", os.path.join(folder, "out.yml"), "--to", "network")
        check("refused", REFUSED[name] in done.stderr, True)
        return f"refused with {REFUSED[name]}"
    ranks, rest, edges, network = converted(chakra, text, folder)
    kinds = collections.Counter(str(data["type"]) for _, data in graph.nodes(data=True))
    check("XPUs", ranks, [node for node, data in graph.nodes(data=True) if data["type"] == "xpu"])
    check("components", collections.Counter(str(graph.nodes[node]["type"]) for node in ranks + rest), kinds)
    check("edges", set(edges), {frozenset(edge) for edge in graph.edges})
    sums, wanted = collections.Counter(), collections.Counter()
    for a, b, data in graph.edges(data=True):
        sums[data["link"]] += edges[frozenset((a, b))][0]
        wanted[data["link"]] += bytes_per_s(data["bandwidth"])
        check("latency", f"{edges[frozenset((a, b))][1]:g} ns", data["latency"])
    check("bandwidth by link", dict(sums), dict(wanted))
    every = list(itertools.combinations(range(len(ranks)), 2))
    random.seed(name)
    chosen = random.sample(every, min(pairs, len(every)))
    # As in devices, a route leads through an XPU only if no other does.
    without = {frozenset((ranks[a], ranks[b])): graph.subgraph([n for n in rest] + [ranks[a], ranks[b]]) for a, b in chosen}
    hops, plain, through = [], 0, 0
    for a, b in chosen:
        part = without[frozenset((ranks[a], ranks[b]))]
        shortest = networkx.shortest_path_length(graph, ranks[a], ranks[b])
        if networkx.has_path(part, ranks[a], ranks[b]):
            hops.append(networkx.shortest_path_length(part, ranks[a], ranks[b]))
            plain += hops[-1] == shortest
        else:
            hops.append(shortest)
            through += 1
            plain += 1
    check("hops", hops_of(chakra, network, len(ranks), chosen, folder), hops)
    return (f"{len(graph)} components, {len(edges)} edges, {len(chosen)} pairs"
            + (f"; {len(chosen) - plain} pairs are shorter through an XPU" if plain < len(chosen) else ""))


def compare_blueprint(chakra, name, make, blueprint, settings, folder):
    service = InfraGraphService()
    service.set_graph(make())
    wanted = service.get_networkx_graph()
    target = os.path.join(folder, "blueprint.json")
    arguments = [part for setting in settings for part in ("--set", setting)]
    done = run(chakra, "gen", "network", blueprint, "-o", target, *arguments)
    if done.returncode != 0:
        raise Failed(done.stderr.strip())
    service = InfraGraphService()
    with open(target, encoding="utf-8") as file:
        service.set_graph(file.read())
    got = service.get_networkx_graph()
    names = (lambda node: ".".join(NAMES.get(part, part) for part in node.split("."))) if blueprint == "torus" else str
    check("nodes", {names(n): str(d["type"]) for n, d in got.nodes(data=True)},
          {n: str(d["type"]) for n, d in wanted.nodes(data=True)})
    other = OTHER_LINKS.get(name, {})

    def edges(graph, rename, links):
        return {frozenset(map(rename, (a, b))): links.get(d["link"], d["link"]) for a, b, d in graph.edges(data=True)}

    check("edges", edges(got, names, other), edges(wanted, str, {}))
    if not other:
        gbps = {frozenset(map(names, (a, b))): d.get("bandwidth") and bytes_per_s(d["bandwidth"]) for a, b, d in got.edges(data=True)}
        check("bandwidths", gbps, {frozenset((a, b)): d.get("bandwidth") and bytes_per_s(d["bandwidth"])
                                   for a, b, d in wanted.edges(data=True)})


NETWORKS = {
    "torus": "topology: [ Torus, Torus ]\nnpus_count: [ 4, 4 ]\nbandwidth: [ 50, 50 ]\nlatency: [ 500, 500 ]\n",
    "leaf-spine": "topology: FatTree\ndown: [ 4, 4 ]\nup: [ 1, 2 ]\nbandwidth: [ 50, 100 ]\nlatency: 700\n",
}


def compare_writing(chakra, name, text, folder):
    _, written = convert(chakra, text, folder, "json", "infragraph")
    infrastructure = Infrastructure().deserialize(written)
    service = InfraGraphService()
    service.set_graph(infrastructure.serialize(Infrastructure.YAML))
    _, _, edges, _ = converted(chakra, written, folder)
    graph = service.get_networkx_graph()
    check(f"{name}: edges", {frozenset(edge) for edge in graph.edges}, set(edges))
    for a, b, data in graph.edges(data=True):
        check(f"{name}: bandwidth", round(bytes_per_s(data["bandwidth"])), edges[frozenset((a, b))][0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"))
    parser.add_argument("--pairs", type=int, default=100)
    options = parser.parse_args()
    chakra = os.path.join(options.bin, "chakra")
    warnings.simplefilter("ignore")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, blueprint, settings) in BLUEPRINTS.items():
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    told = compare_reading(chakra, name, make, options.pairs, folder)
                    if blueprint:
                        compare_blueprint(chakra, name, make, blueprint, settings, folder)
                        told += f"; equal to 'chakra gen network {blueprint}'"
                print(f"{name}: {told}")
            except Failed as error:
                failed += 1
                print(f"{name}: FAILED: {str(error)[:2000]}")
        for name, text in NETWORKS.items():
            try:
                compare_writing(chakra, name, text, folder)
                print(f"{name}: written as InfraGraph and read back by the package")
            except Failed as error:
                failed += 1
                print(f"{name}: FAILED: {str(error)[:2000]}")
    return failed > 0


if __name__ == "__main__":
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    import et
    sys.exit(main())
