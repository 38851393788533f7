"""A job of JAX on CPU devices: jax_job.py HOW FOLDER. Each mode records the steps 3 and 4 of eight."""
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax  # noqa: E402
import numpy as np  # noqa: E402

if "WORLD_SIZE" in os.environ:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{os.environ['MASTER_PORT']}", int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"]))
MESH = jax.sharding.Mesh(np.array(jax.devices()), ("data",))


def put(shape, *axes):
    sharding = jax.sharding.NamedSharding(MESH, jax.sharding.PartitionSpec(*axes))
    return jax.make_array_from_callback(shape, sharding, lambda part: np.ones(shape, np.float32)[part] / 64)


@jax.jit
def secret_projector(weights, x):
    return weights - 0.1 * jax.grad(lambda w: (jax.numpy.tanh(x @ w) ** 2).mean())(weights)


def annotated(steps=8):
    weights, x = put((64, 64)), put((64, 64), "data")
    for i in range(steps):
        with jax.profiler.StepTraceAnnotation("train", step_num=100 + i):
            weights = secret_projector(weights, x)


def inside(record, folder):
    """The block begins inside of an annotation, and an annotation ends by an exception: neither is a step."""
    weights, x = put((64, 64)), put((64, 64), "data")
    with jax.profiler.StepTraceAnnotation("outside", step_num=0):
        block = record(folder, steps=range(3, 5))
        block.__enter__()
    try:
        with jax.profiler.StepTraceAnnotation("broken", step_num=0):
            raise ValueError("skipped")
    except ValueError:
        pass
    for i in range(8):
        with jax.profiler.StepTraceAnnotation("train", step_num=i):
            weights = secret_projector(weights, x)
    block.__exit__(None, None, None)


def by_hand(recorder, fail_at=None):
    weights, x = put((64, 64)), put((64, 64), "data")
    for i in range(8):
        if i == fail_at:
            raise ValueError("a job that fails")
        weights = secret_projector(weights, x)
        recorder.step()


def main(how, folder):
    if how == "plain":
        return annotated()
    from chakra_et import record
    if how == "inside":
        return inside(record, folder)
    options = {"hidden": {"level": 1}}.get(how, {})
    with record(folder, steps="1:2,3:5" if how == "cycles" else range(3, 5), **options) as recorder:
        if how in ("annotated", "hidden"):
            annotated()
        elif how == "early":
            annotated(2)
        else:
            by_hand(recorder, 4 if how == "fails" else None)
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
