#!/usr/bin/env python3
"""Record a small JAX program on eight CPU devices: record.py PROGRAM FOLDER.

PROGRAM is data, tensor, fsdp, pipeline, experts, routed, attention, images, loop or branch. FOLDER receives host.xplane.pb (the profile of two
runs), module.hlo.pb and module.txt (the compiled program), host.trace.json.gz (the profile for a browser), and
truth.json (JAX's count of FLOPs and bytes). `chakra link FOLDER -o TRACES` makes a trace of each device.
"""
import glob
import json
import os
import shutil
import sys
import tempfile

DUMP = tempfile.mkdtemp()
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=8 --xla_dump_to={DUMP} --xla_dump_hlo_as_text --xla_dump_hlo_as_proto"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

RUNS = 2
DEVICES = np.array(jax.devices())


def put(mesh, shape, *axes):
    return jax.device_put(jax.random.normal(jax.random.key(0), shape) * 0.02, NamedSharding(mesh, P(*axes)))


def descend(loss):
    def step(weights, x):
        return jax.tree.map(lambda w, g: w - 0.1 * g, weights, jax.grad(loss)(weights, x))
    return step


def data():
    mesh = Mesh(DEVICES, ("dp",))
    weights = {"a": put(mesh, (64, 64)), "b": put(mesh, (64, 64))}
    return jax.jit(descend(lambda w, x: (jnp.tanh(x @ w["a"]) @ w["b"]).var())), (weights, put(mesh, (64, 64), "dp"))


def tensor():
    mesh = Mesh(DEVICES.reshape(2, 4), ("dp", "tp"))
    weights = (put(mesh, (64, 256), None, "tp"), put(mesh, (256, 64), "tp"))
    step = descend(lambda w, x: (jax.nn.gelu(x @ w[0]) @ w[1]).var())
    return jax.jit(step, out_shardings=tuple(w.sharding for w in weights)), (weights, put(mesh, (32, 64), "dp"))


def fsdp():
    mesh = Mesh(DEVICES, ("fsdp",))
    weights = {"u": put(mesh, (3, 64, 128), None, "fsdp"), "d": put(mesh, (3, 128, 64), None, "fsdp")}

    def loss(w, x):
        return (jax.lax.scan(lambda h, w: (h + jax.nn.gelu(h @ w["u"]) @ w["d"], None), x, w)[0] ** 2).mean()
    return jax.jit(descend(loss), out_shardings=jax.tree.map(lambda w: w.sharding, weights)), (weights, put(mesh, (16, 64), "fsdp"))


def pipeline():
    mesh, batches = Mesh(DEVICES, ("pp",)), 2

    def stage(w, xs):
        def tick(carry, t):
            y = jnp.tanh(jnp.where(jax.lax.axis_index("pp") == 0, xs[jnp.minimum(t, batches - 1)], carry) @ w[0])
            return jax.lax.ppermute(y, "pp", [(j, j + 1) for j in range(7)]), y
        zero = jax.lax.pcast(jnp.zeros((32, 64)), ("pp",), to="varying")
        return jax.lax.psum((jax.lax.scan(tick, zero, jnp.arange(batches + 7))[1] ** 2).sum(), "pp")[None]
    run = jax.shard_map(stage, mesh=mesh, in_specs=(P("pp"), P(None)), out_specs=P(None))
    return jax.jit(descend(lambda w, x: run(w, x)[0])), (put(mesh, (8, 64, 64), "pp"), jnp.ones((batches, 32, 64)))


def experts():
    mesh = Mesh(DEVICES.reshape(2, 4), ("dp", "ep"))
    weights = (put(mesh, (4, 32, 64), "ep"), put(mesh, (4, 64, 32), "ep"))

    def layer(a, b, x):
        y = jax.lax.all_to_all(x.reshape(4, -1, 32), "ep", 0, 0)
        y = jnp.tanh(y.reshape(-1, 32) @ a[0]) @ b[0]
        y = jax.lax.all_to_all(y.reshape(4, -1, 32), "ep", 0, 0).reshape(x.shape)
        return jax.lax.psum((y * y).sum(), ("dp", "ep"))[None]
    run = jax.shard_map(layer, mesh=mesh, in_specs=(P("ep"), P("ep"), P(("dp", "ep"))), out_specs=P(None))
    return jax.jit(descend(lambda w, x: run(*w, x)[0])), (weights, put(mesh, (512, 32), ("dp", "ep")))


def routed():
    """Top-2 routing with sorts and scatters; each device has an expert with room for 24 tokens of each device."""
    mesh, width, tokens, room = Mesh(DEVICES, ("ep",)), 32, 64, 24
    weights = (put(mesh, (width, 8)), put(mesh, (8, width, 64), "ep"), put(mesh, (8, 64, width), "ep"))

    def layer(router, up, down, x):
        weight, expert = jax.lax.top_k(jax.nn.softmax(x @ router), 2)
        expert = expert.reshape(-1)
        place = jnp.minimum(jnp.cumsum(jax.nn.one_hot(expert, 8, dtype=jnp.int32), 0)[jnp.arange(2 * tokens), expert] - 1, room - 1)
        sent = jnp.zeros((8, room, width)).at[expert, place].add(jnp.repeat(x, 2, 0))
        y = jax.nn.silu(jax.lax.all_to_all(sent, "ep", 0, 0).reshape(-1, width) @ up[0]) @ down[0]
        y = jax.lax.all_to_all(y.reshape(8, room, width), "ep", 0, 0)[expert, place] * weight.reshape(-1, 1)
        y = y.reshape(tokens, 2, width).sum(1) + x[jnp.argsort(expert)[:tokens] // 2]
        return jax.lax.pmean((y * y).mean(), "ep")[None]
    run = jax.shard_map(layer, mesh=mesh, in_specs=(P(), P("ep"), P("ep"), P("ep")), out_specs=P(), check_vma=False)
    return jax.jit(descend(lambda w, x: run(*w, x)[0])), (weights, put(mesh, (8 * tokens, width), "ep"))


def attention():
    """A block with an embedding that is divided by columns: XLA turns the mesh for one of its groups."""
    mesh, width, heads, tokens = Mesh(DEVICES.reshape(2, 4), ("dp", "tp")), 64, 4, 32
    weights = {"qkv": put(mesh, (width, 3, width), None, None, "tp"), "out": put(mesh, (width, width), "tp"), "embedding": put(mesh, (128, width), "tp")}

    def loss(w, t):
        x = w["embedding"][t]
        q, k, v = (jnp.einsum("bsd,de->bse", x, w["qkv"][:, i]).reshape(4, tokens, heads, -1) for i in range(3))
        scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), jnp.einsum("bqhd,bkhd->bhqk", q, k) / 4, -1e9)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ w["out"]
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ w["embedding"].T)[:, :-1], t[:, 1:, None], -1).mean()
    words = jax.device_put(jnp.arange(4 * tokens).reshape(4, tokens), NamedSharding(mesh, P("dp")))
    return jax.jit(descend(loss), out_shardings=jax.tree.map(lambda w: w.sharding, weights)), (weights, words)


def images():
    """Convolutions, which other threads go on to compute."""
    mesh = Mesh(DEVICES, ("dp",))
    weights = (put(mesh, (5, 5, 3, 16)), put(mesh, (3, 3, 4, 16)))

    def loss(w, x):
        names = ("NHWC", "HWIO", "NHWC")
        x = jax.nn.relu(jax.lax.conv_general_dilated(x, w[0], (2, 2), "SAME", dimension_numbers=names))
        return (jax.lax.conv_general_dilated(x, w[1], (1, 1), "VALID", dimension_numbers=names, feature_group_count=4) ** 2).mean()
    return jax.jit(descend(loss)), (weights, put(mesh, (16, 33, 31, 3), "dp"))


def loop():
    def inner(w, x):
        return jax.lax.fori_loop(0, 3, lambda i, y: jnp.tanh(y @ w), x)
    step = jax.jit(lambda w, x: jax.lax.scan(lambda c, _: (inner(w, c), c.sum()), x, None, length=5))
    return step, (jnp.ones((64, 64)) * 0.01, jnp.ones((64, 64)))


def branch():
    step = jax.jit(lambda p, w, x: jax.lax.cond(p > 0, lambda x: jnp.tanh(x @ w) @ w, lambda x: x * 2, x).sum())
    return step, (jnp.float32(1), jnp.ones((128, 128)) * 0.01, jnp.ones((128, 128)))


def main():
    program, folder = sys.argv[1:3]
    step, arguments = globals()[program]()
    compiled = step.lower(*arguments).compile()
    jax.block_until_ready(compiled(*arguments))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as profile:
        with jax.profiler.trace(profile, profiler_options=options):
            for _ in range(RUNS):
                jax.block_until_ready(compiled(*arguments))
        os.makedirs(folder, exist_ok=True)
        for ending in ("xplane.pb", "trace.json.gz"):
            shutil.copy(glob.glob(f"{profile}/plugins/profile/*/*.{ending}")[0], f"{folder}/host.{ending}")
    title = compiled.as_text().split()[1].rstrip(",")
    text = max(glob.glob(f"{DUMP}/*.{title}.*after_optimizations.txt"), key=os.path.getsize)
    shutil.copy(text, f"{folder}/module.txt")
    shutil.copy(text.replace(".txt", ".hlo.pb"), f"{folder}/module.hlo.pb")
    cost = compiled.cost_analysis()
    with open(f"{folder}/truth.json", "w", encoding="utf-8") as file:
        json.dump({"jax": jax.__version__, "runs": RUNS, "flops": cost["flops"], "bytes": cost["bytes accessed"]}, file, indent=1)
    shutil.rmtree(DUMP)


if __name__ == "__main__":
    main()
