"""A second opinion: latency and bandwidth on paper, without a simulator.

It shares nothing with `chakra sim`. A collective takes its dimensions one after the other and has each for itself; a rank
has one computation under way, and `at_once` says whether one collective or any number of them.
"""


def collective_ns(kind, size, dims, system):
    """dims: the dimensions that take part. system: 'kind' (Ring, Switch), 'npus', 'bytes_per_ns', 'step_ns', one each per dimension."""

    def part(what, dim, bytes_in):
        n, rate, step = system["npus"][dim], system["bytes_per_ns"][dim], system["step_ns"][dim]
        if system["kind"] == "Ring":
            steps = {"RS": n - 1, "AG": n - 1, "AR": 2 * (n - 1), "A2A": n * (n - 1) // 2}[what]
            return steps * (step + (bytes_in if what == "AG" else bytes_in / n) / rate)
        bits = n.bit_length() - 1
        if what == "A2A":
            return (n - 1) * (step + bytes_in / n / rate)
        moved = (n - 1) * (bytes_in if what == "AG" else bytes_in / n)
        return (2 if what == "AR" else 1) * (bits * step + moved / rate)

    dims = [dim for dim in dims if system["npus"][dim] > 1]
    total = 0.0
    if kind == "ALL_TO_ALL":
        return sum(part("A2A", dim, size) for dim in dims)
    if kind == "ALL_GATHER":
        for dim in reversed(dims):
            total += part("AG", dim, size)
            size *= system["npus"][dim]
        return total
    for dim in dims[:-1]:
        total += part("RS", dim, size)
        size /= system["npus"][dim]
    total += part("AR", dims[-1], size) if dims else 0.0
    for dim in reversed(dims[:-1]):
        total += part("AG", dim, size)
        size *= system["npus"][dim]
    return total


def run(nodes, system, at_once):
    """nodes: in order of id, dicts with 'deps' (ids) and 'ns', or 'kind', 'size', 'dims'. at_once: 'one' or 'all'. -> finish, in ns."""
    lasts = {i: node["ns"] if "ns" in node else collective_ns(node["kind"], node["size"], node["dims"], system) for i, node in enumerate(nodes)}
    missing, after = [len(node["deps"]) for node in nodes], [[] for _ in nodes]
    for i, node in enumerate(nodes):
        for dep in node["deps"]:
            after[dep].append(i)
    ready, running, now = [i for i, count in enumerate(missing) if count == 0], [], 0.0
    while ready or running:
        for i in sorted(ready):
            is_compute = "ns" in nodes[i]
            alone = is_compute or at_once == "one"
            if alone and any(("ns" in nodes[other]) == is_compute for _, other in running):
                continue
            ready.remove(i)
            running.append((now + lasts[i], i))
        running.sort()
        now, ended = running.pop(0)
        for i in after[ended]:
            missing[i] -= 1
            if missing[i] == 0:
                ready.append(i)
    return now
