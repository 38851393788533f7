"""A second opinion: latency and bandwidth on paper, without a simulator.

It shares nothing with `chakra sim`. A collective takes its dimensions one after the other. A rank has one computation under way, and of
collectives what `rule` says: 'one' at a time; 'all' at once, each as if alone; or one in each 'dimension', the rest in line.
"""


def phases_of(kind, size, dims, system):
    """What a collective does: [(dimension, ns)]. system: 'kind' (Ring, Switch), 'npus', 'bytes_per_ns', 'step_ns', one each per dimension."""

    def part(what, dim, bytes_in):
        n, rate, step = system["npus"][dim], system["bytes_per_ns"][dim], system["step_ns"][dim]
        if system["kind"] == "Ring":
            steps = {"RS": n - 1, "AG": n - 1, "AR": 2 * (n - 1), "A2A": n * (n - 1) // 2}[what]
            return dim, steps * (step + (bytes_in if what == "AG" else bytes_in / n) / rate)
        if what == "A2A":
            return dim, (n - 1) * (step + bytes_in / n / rate)
        moved = (n - 1) * (bytes_in if what == "AG" else bytes_in / n)
        return dim, (2 if what == "AR" else 1) * ((n.bit_length() - 1) * step + moved / rate)

    if kind == "ALL_TO_ALL":
        return [part("A2A", dim, size) for dim in dims]
    phases = []
    if kind == "ALL_REDUCE":
        for dim in dims[:-1]:
            phases.append(part("RS", dim, size))
            size /= system["npus"][dim]
        phases.append(part("AR", dims[-1], size))
        dims = dims[:-1]
    for dim in reversed(dims):
        phases.append(part("AG", dim, size))
        size *= system["npus"][dim]
    return phases


def run(nodes, system, rule):
    """nodes: in order of id, dicts with 'deps' (ids) and 'ns', or 'kind', 'size', 'dims'. -> finish, in ns.

    A node is a list of (resource, ns) that it goes through; a resource holds one at a time, and of those in line takes the lowest id.
    """
    ways = []
    for i, node in enumerate(nodes):
        phases = [("compute", node["ns"])] if "ns" in node else phases_of(node["kind"], node["size"], node["dims"], system)
        if "ns" not in node and rule != "dimension":
            phases = [("network" if rule == "one" else i, sum(ns for _, ns in phases))]
        ways.append(phases)
    missing, after = [len(node["deps"]) for node in nodes], [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for dep in node["deps"]:
            after[dep].append(i)
    waiting, busy, now = [(i, 0) for i, count in enumerate(missing) if count == 0], {}, 0.0
    while waiting or busy:
        for i, phase in sorted(waiting):
            resource, ns = ways[i][phase]
            if resource not in busy:
                busy[resource] = (now + ns, i, phase)
                waiting.remove((i, phase))
        resource = min(busy, key=lambda r: busy[r])
        now, i, phase = busy.pop(resource)
        if phase + 1 < len(ways[i]):
            waiting.append((i, phase + 1))
            continue
        for child in after[i]:
            missing[child] -= 1
            if missing[child] == 0:
                waiting.append((child, 0))
    return now
