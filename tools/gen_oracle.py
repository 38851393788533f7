#!/usr/bin/env python3
"""Closed forms of training steps, as the judge of `chakra gen step --json -`.

    gen_oracle.py [--bin DIR] [--steps N] [--seed S]    random models and meshes of seeds S, S+1, ...; every number must be equal

It shares no code with chakra and knows nothing of its programs, nodes or placements: a layer is a table of weights, and how often a rank
communicates is counted by hand. docs/reference/generating.md has the rules. Steps of odd seeds have --fp8.

Judged: parameters, operations, those in 8 bits, surplus; of every stage its parameters, collectives and messages (count and bytes of each
group and type), and the memory of parameters, gradients and optimizer.
Drawn: grouped-query, multi-query and latent attention, experts with ep and etp, shared experts, biases, tied embeddings, vocabularies and
layers that do not divide evenly, tp, cp of three kinds, pp, dp, ZeRO 0 to 3, --keep-gathered, --recompute.
Not judged: activations, working memory, operations of a rank, bytes on the wire, order and times of nodes.
Not drawn: other schedules than 1f1b, --sequence-parallel false, --zero-ranks, --clip, --mtp, --expert-skew, --ends false, storage, --order,
element sizes, windows, other models than decoders.
"""
import argparse
import collections
import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ELEMENT, GRADIENT, OPTIMIZER = 2, 4, 12  # bytes
FP8_COPIES = 2  # bytes more of an element whose matrix is cast: as it is, and transposed


# ---- models and steps ------------------------------------------------------------------------------------

@dataclasses.dataclass
class Latent:
    query_rank: int  # 0: queries are not compressed
    kv_rank: int
    rope: int
    nope: int


@dataclasses.dataclass
class Experts:
    count: int
    active: int
    width: int
    shared: int = 0  # width of all shared ones together
    dense_layers: int = 0  # the first ones have an MLP instead


@dataclasses.dataclass
class Model:
    kind: str
    layers: int
    width: int
    vocab: int
    heads: int
    kv_heads: int
    key_width: int  # of a head, as that of a query
    value_width: int
    mlp: int
    latent: Latent = None
    experts: Experts = None

    @property
    def tied(self):
        return self.kind == "tied"

    @property
    def qwen(self):
        """Queries, keys and values have a bias, and shared experts a gate."""
        return self.kind == "shared experts"

    def has_mlp(self, layer):
        return not self.experts or layer < self.experts.dense_layers


@dataclasses.dataclass
class Step:
    model: Model
    tp: int
    cp: int
    pp: int
    dp: int
    ep: int
    etp: int
    context: str
    zero: int
    keep_gathered: bool
    recompute: str
    fp8: bool
    micro_batches: int
    batch: int
    sequence: int

    @property
    def edp(self):
        return self.tp * self.cp * self.dp // (self.etp * self.ep)

    @property
    def forwards(self):
        """How often a layer is computed forward."""
        return 2 if self.recompute == "full" else 1

    @property
    def tokens(self):
        """Of the whole step."""
        return self.batch * self.sequence * self.micro_batches * self.dp

    @property
    def local_tokens(self):
        """Of a micro-batch, on the ranks of a tensor-parallel group together."""
        return self.batch * self.sequence // self.cp

    @property
    def kv_heads(self):
        """Of a rank. Where there are fewer than ranks, each has one."""
        return divided(self.model.kv_heads, self.tp)

    @property
    def vocab(self):
        """Of a rank."""
        return divided(self.model.vocab, self.tp)


def divided(number, by):
    """Rounded up."""
    return -(-number // by)


def random_model(pick):
    kind = pick.choice(["grouped", "one kv head", "latent", "latent, queries not", "experts", "shared experts", "tied"])
    sizes = {"kind": kind, "layers": pick.choice([3, 5, 6, 7, 9, 10]), "width": pick.choice([96, 192, 320, 384]),
             "vocab": pick.choice([777, 1000, 1001, 4099]), "heads": pick.choice([4, 8, 12, 16]), "mlp": pick.choice([192, 288, 384])}
    if kind.startswith("latent"):
        latent = Latent(query_rank=56 if kind == "latent" else 0, kv_rank=40, rope=8, nope=24)
        experts = Experts(count=8, active=3, width=96, shared=2 * 96, dense_layers=pick.choice([0, 1, 2]))
        return Model(**sizes, kv_heads=sizes["heads"], key_width=latent.nope + latent.rope, value_width=20, latent=latent, experts=experts)
    kv_heads = 1 if kind == "one kv head" else pick.choice([n for n in (1, 2, 4, sizes["heads"]) if sizes["heads"] % n == 0])
    head = pick.choice([16, 24, 40])
    experts = {"experts": Experts(count=pick.choice([4, 6, 8]), active=2, width=sizes["mlp"]),
               "shared experts": Experts(count=8, active=4, width=96, shared=192)}
    return Model(**sizes, kv_heads=kv_heads, key_width=head, value_width=head, experts=experts.get(kind))


def config(model):
    """The model as Hugging Face's config.json."""
    keys = {"hidden_size": model.width, "num_hidden_layers": model.layers, "vocab_size": model.vocab, "tie_word_embeddings": model.tied,
            "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "num_attention_heads": model.heads,
            "num_key_value_heads": model.kv_heads, "intermediate_size": model.mlp}
    experts, latent = model.experts, model.latent
    if latent:
        return keys | {"model_type": "deepseek_v2", "q_lora_rank": latent.query_rank or None, "kv_lora_rank": latent.kv_rank,
                       "qk_rope_head_dim": latent.rope, "qk_nope_head_dim": latent.nope, "v_head_dim": model.value_width,
                       "n_routed_experts": experts.count, "num_experts_per_tok": experts.active, "moe_intermediate_size": experts.width,
                       "n_shared_experts": experts.shared // experts.width, "first_k_dense_replace": experts.dense_layers, "moe_layer_freq": 1}
    keys["head_dim"] = model.key_width
    if model.qwen:
        return keys | {"model_type": "qwen2_moe", "num_experts": experts.count, "num_experts_per_tok": experts.active,
                       "moe_intermediate_size": experts.width, "shared_expert_intermediate_size": experts.shared, "decoder_sparse_step": 1,
                       "mlp_only_layers": [], "use_sliding_window": False}
    if experts:
        return keys | {"model_type": "mixtral", "num_local_experts": experts.count, "num_experts_per_tok": experts.active, "sliding_window": None}
    return keys | {"model_type": "llama"}


def random_step(pick, fp8):
    model, context = random_model(pick), pick.choice(["ring", "gather", "all-to-all"])
    while True:
        step = Step(model=model, tp=pick.choice([1, 2, 4]), cp=pick.choice([1, 2, 4]), pp=pick.choice([1, 2, 3]), dp=pick.choice([1, 2, 3, 4]),
                    ep=pick.choice([1, 2, 4]) if model.experts else 1, etp=pick.choice([1, 2, 4]) if model.experts else 1,
                    context=context, zero=pick.randrange(4), keep_gathered=pick.random() < 0.3,
                    recompute=pick.choice(["none", "none", "full", "selective"]), fp8=fp8, micro_batches=pick.choice([3, 4, 6]),
                    batch=pick.choice([1, 2, 3]), sequence=48 * pick.choice([1, 2, 3]))
        if divides(step):
            return step


def divides(step):
    model = step.model
    ranks_of_heads = step.tp * (step.cp if step.context == "all-to-all" else 1)
    if model.heads % ranks_of_heads or step.sequence % (step.tp * step.cp):
        return False
    if not model.latent and model.kv_heads % ranks_of_heads and (ranks_of_heads > step.tp or step.tp % model.kv_heads):
        return False
    return not model.experts or (model.experts.count % step.ep == 0 and step.tp * step.cp * step.dp % (step.etp * step.ep) == 0)


def command(program, step):
    options = {"model": "config.json", "tp": step.tp, "cp": step.cp, "pp": step.pp, "dp": step.dp, "zero": step.zero,
               "micro-batches": step.micro_batches, "micro-batch-size": step.batch, "sequence": step.sequence, "recompute": step.recompute,
               "keep-gathered": str(step.keep_gathered).lower(), "json": "-"}
    if step.cp > 1:
        options["context"] = step.context
    if step.model.experts:
        options |= {"ep": step.ep, "etp": step.etp}
    return [program, "gen", "step", *(text for name, value in options.items() for text in (f"--{name}", str(value))), *["--fp8"] * step.fp8]


# ---- weights of a layer ------------------------------------------------------------------------------------

# On which ranks: each has all ("each"), or a share over tp ("tp"), of heads of keys and values ("kv"), of experts over ep and etp ("experts").
# What for: a product that may read 8 bits ("fp8"), one that may not ("product"), or none ("vector").
Weight = collections.namedtuple("Weight", "elements ranks use")


def weights(model, layer):
    width = model.width
    return [Weight(2 * width, "each", "vector"),
            *(latent_weights(model) if model.latent else head_weights(model)),
            Weight(model.heads * model.value_width * width, "tp", "fp8"),
            *([Weight(3 * width * model.mlp, "tp", "fp8")] if model.has_mlp(layer) else expert_weights(model))]


def head_weights(model):
    queries, keys_and_values = model.heads * model.key_width, 2 * model.kv_heads * model.key_width
    rows = [Weight(model.width * queries, "tp", "fp8"), Weight(model.width * keys_and_values, "kv", "fp8")]
    return rows + ([Weight(queries, "tp", "vector"), Weight(keys_and_values, "kv", "vector")] if model.qwen else [])


def latent_weights(model):
    latent, queries = model.latent, model.heads * model.key_width
    rank = latent.query_rank
    if rank:
        rows = [Weight(model.width * rank, "each", "fp8"), Weight(rank, "each", "vector"), Weight(rank * queries, "tp", "fp8")]
    else:
        rows = [Weight(model.width * queries, "tp", "fp8")]
    return rows + [Weight(model.width * (latent.kv_rank + latent.rope), "each", "fp8"), Weight(latent.kv_rank, "each", "vector"),
                   Weight(latent.kv_rank * model.heads * (latent.nope + model.value_width), "tp", "fp8")]


def expert_weights(model):
    experts, width = model.experts, model.width
    rows = [Weight(width * experts.count, "each", "product"), Weight(experts.count * 3 * width * experts.width, "experts", "fp8"),
            Weight(3 * width * experts.shared, "tp", "fp8")]
    return rows + ([Weight(width, "each", "product")] if model.qwen else [])


def on_rank(step, weight):
    """Its elements on one rank."""
    if weight.ranks == "kv":
        return weight.elements // step.model.kv_heads * step.kv_heads
    return weight.elements // {"each": 1, "tp": step.tp, "experts": step.ep * step.etp}[weight.ranks]


def multiplied(model, layer, uses):
    """Multiply-adds of a token with the weights of these uses: of experts only the active ones."""
    rows = [weight for weight in weights(model, layer) if weight.use in uses]
    return sum(row.elements // model.experts.count * model.experts.active if row.ranks == "experts" else row.elements for row in rows)


# ---- sums over all ranks -----------------------------------------------------------------------------------

def parameters(model):
    outside = model.vocab * model.width * (1 if model.tied else 2) + model.width
    return outside + sum(weight.elements for layer in range(model.layers) for weight in weights(model, layer))


def operations(step):
    """Without surplus. A multiply-add is 2, backward is twice forward, and a token meets half of the sequence."""
    model = step.model
    scores, values = (step.sequence * model.heads * width * model.layers for width in (model.key_width, model.value_width))
    layers = sum(2 * multiplied(model, layer, ["fp8", "product"]) for layer in range(model.layers)) + scores + values
    again = {"none": 0, "selective": scores, "full": layers}[step.recompute]
    return step.tokens * (3 * (layers + 2 * model.width * model.vocab) + again)


def kv_surplus(step):
    """Heads of keys and values that several ranks have."""
    model = step.model
    repeated = step.kv_heads * step.tp - model.kv_heads
    return step.tokens * model.layers * (2 + step.forwards) * 2 * 2 * model.width * repeated * model.key_width


def vocab_surplus(step):
    """Words that fill up the last rank's share."""
    return step.tokens * 3 * 2 * step.model.width * (step.vocab * step.tp - step.model.vocab)


def fp8_operations(step):
    """With surplus."""
    layers = sum(2 * multiplied(step.model, layer, ["fp8"]) for layer in range(step.model.layers))
    return step.tokens * (2 + step.forwards) * layers + kv_surplus(step)


# ---- a stage -----------------------------------------------------------------------------------------------

class Traffic(collections.defaultdict):
    """(group, type) -> [count, bytes] of a rank in the step."""

    def __init__(self):
        super().__init__(lambda: [0, 0])

    def add(self, group, kind, count, bytes_of_one):
        if count:
            self[group, kind][0] += count
            self[group, kind][1] += count * bytes_of_one


def layers_of_stages(step):
    """Where they do not divide evenly, embedding and head count as a layer each, and the rest goes to the stages after the first."""
    stages, layers = step.pp, step.model.layers
    counts = [layers // stages] * stages
    if layers % stages:
        least, rest = divmod(layers + 2, stages)
        counts = [least + (1 <= stage <= rest) - (stage in (0, stages - 1)) for stage in range(stages)]
    starts = [sum(counts[:stage]) for stage in range(stages)]
    return [range(start, start + count) for start, count in zip(starts, counts)]


def parts_of(step, stage, layers):
    """(elements that dp ranks share, elements that edp ranks share) of a rank, for each part of the stage."""
    model, first, last = step.model, stage == 0, stage == step.pp - 1
    parts = [(step.vocab * model.width, 0)] * first
    for layer in layers:
        rows = weights(model, layer)
        experts = sum(on_rank(step, row) for row in rows if row.ranks == "experts")
        parts.append((sum(on_rank(step, row) for row in rows) - experts, experts))
    if last:
        parts.append((model.width + (0 if model.tied and first else step.vocab * model.width), 0))
    return parts


def add_tensor_parallel(traffic, step, layer):
    """A layer's: inputs are gathered (again for gradients of weights), results reduce-scattered, and the reverse of both backward."""
    if step.tp == 1:
        return
    model, tokens, micro = step.model, step.local_tokens, step.micro_batches
    wide = 1 if step.fp8 else ELEMENT  # bytes of an element that is gathered for a product
    inputs = [(model.width, model.width * wide)]  # width, bytes of a token
    if model.latent:
        rank, latent = model.latent.query_rank or model.width, model.latent
        inputs = [(latent.kv_rank + latent.rope, latent.kv_rank * wide + latent.rope * ELEMENT), (rank, rank * wide)]
    results = 1
    if model.has_mlp(layer) or model.experts.shared:
        inputs.append((model.width, model.width * wide))
        results = 2
    for width, size in inputs:
        traffic.add("tp", "ALL_GATHER", (step.forwards + (not step.keep_gathered)) * micro, tokens * size)
        traffic.add("tp", "REDUCE_SCATTER", micro, tokens * width * ELEMENT)
    traffic.add("tp", "ALL_GATHER", results * micro, tokens * model.width * wide)
    traffic.add("tp", "REDUCE_SCATTER", results * step.forwards * micro, tokens * model.width * ELEMENT)


def add_experts(traffic, step, layer):
    """A layer's: to the experts and back, forward and backward."""
    model = step.model
    if model.has_mlp(layer):
        return
    size = step.local_tokens // step.tp * model.experts.active * model.width * ELEMENT
    passes = (step.forwards + 1) * step.micro_batches
    if step.ep > 1:
        traffic.add("ep", "ALL_TO_ALL", 2 * passes, size)
    if step.etp > 1:
        traffic.add("etp", "ALL_GATHER", passes, size * step.etp)
        traffic.add("etp", "REDUCE_SCATTER", passes, size * step.etp)


def add_context(traffic, step):
    """A layer's. Keys and values are two tensors, those of latents one."""
    if step.cp == 1:
        return
    model, micro, heads = step.model, step.micro_batches, step.model.heads // step.tp
    one = step.local_tokens * ELEMENT
    queries, results = one * heads * model.key_width, one * heads * model.value_width
    tensors = [queries + results] if model.latent else [one * step.kv_heads * model.key_width] * 2
    if step.context == "ring":
        for kind in ("SEND", "RECV"):
            traffic.add("cp", kind, (step.cp - 1) * (step.forwards + 2) * micro, sum(tensors))
    elif step.context == "gather":
        for size in tensors:
            traffic.add("cp", "ALL_GATHER", step.forwards * micro, size * step.cp)
            traffic.add("cp", "REDUCE_SCATTER", micro, size * step.cp)
    else:
        for size in [queries, *tensors, results]:
            traffic.add("cp", "ALL_TO_ALL", (step.forwards + 1) * micro, size)


def add_ends(traffic, step, stage, layers):
    """Embedding, head and loss over tp, and what every rank has whole: its gradient is summed once."""
    if step.tp == 1:
        return
    first, last, micro = stage == 0, stage == step.pp - 1, step.micro_batches
    activations = step.local_tokens * step.model.width * ELEMENT
    if first:
        traffic.add("tp", "REDUCE_SCATTER", micro, activations)
        traffic.add("tp", "ALL_GATHER", micro, activations)
    if last:
        traffic.add("tp", "ALL_GATHER", (1 if step.keep_gathered else 2) * micro, activations)
        traffic.add("tp", "REDUCE_SCATTER", micro, activations)
        traffic.add("tp", "ALL_REDUCE", 3 * micro, step.local_tokens * 4)
    whole = sum(row.elements for layer in layers for row in weights(step.model, layer) if row.ranks == "each") + last * step.model.width
    traffic.add("tp", "ALL_REDUCE", 1 if whole else 0, whole * GRADIENT)


def add_data_parallel(traffic, step, group, ranks, elements):
    """A part's gradients and parameters."""
    if ranks == 1 or not elements:
        return
    if step.zero == 0:
        traffic.add(group, "ALL_REDUCE", 1, elements * GRADIENT)
        return
    padded = divided(elements, ranks) * ranks
    traffic.add(group, "REDUCE_SCATTER", 1 if step.zero == 1 else step.micro_batches, padded * GRADIENT)
    traffic.add(group, "ALL_GATHER", 2 * step.micro_batches if step.zero == 3 else 1, padded * ELEMENT)


def stage_traffic(step, stage, layers):
    traffic, first, last = Traffic(), stage == 0, stage == step.pp - 1
    for layer in layers:
        add_tensor_parallel(traffic, step, layer)
        add_experts(traffic, step, layer)
        add_context(traffic, step)
    add_ends(traffic, step, stage, layers)
    for shared, experts in parts_of(step, stage, layers):
        add_data_parallel(traffic, step, "dp-cp" if step.cp > 1 else "dp", step.dp * step.cp, shared)
        add_data_parallel(traffic, step, "edp", step.edp, experts)
    if step.model.tied and step.pp > 1 and (first or last):
        table = step.vocab * step.model.width
        traffic.add("tied", "ALL_REDUCE", 1, (table if step.zero == 0 else divided(table, step.dp * step.cp)) * GRADIENT)
    neighbours = (not first) + (not last)
    for kind in ("SEND", "RECV"):
        traffic.add("pp", kind, neighbours * step.micro_batches, step.local_tokens // step.tp * step.model.width * ELEMENT)
    return traffic


def stage_memory(step, stage, layers):
    """Bytes of a rank. From which level of ZeRO on a rank has only its share, rounded up for each part."""
    memory = {"parameters": 0, "gradients": 0, "optimizer": 0}
    for part in parts_of(step, stage, layers):
        for elements, ranks in zip(part, (step.dp * step.cp, step.edp)):
            for key, size, level in (("parameters", ELEMENT, 3), ("gradients", GRADIENT, 2), ("optimizer", OPTIMIZER, 1)):
                memory[key] += size * (divided(elements, ranks) if step.zero >= level else elements)
    for layer in layers if step.fp8 else ():
        rows = weights(step.model, layer)
        ranks = [step.edp if row.ranks == "experts" else step.dp * step.cp for row in rows]
        if step.zero < 3 or max(ranks) == 1:  # else they are cast after each gathering
            memory["parameters"] += FP8_COPIES * sum(on_rank(step, row) for row in rows if row.use == "fp8")
    return memory


# ---- comparison --------------------------------------------------------------------------------------------

def expected_numbers(step):
    numbers = {"parameters": parameters(step.model), "operations": operations(step) + kv_surplus(step) + vocab_surplus(step),
               "fp8_operations": fp8_operations(step) if step.fp8 else 0, "surplus": kv_surplus(step) + vocab_surplus(step), "classes": step.pp}
    for stage, layers in enumerate(layers_of_stages(step)):
        numbers[f"stage {stage}: parameters"] = sum(map(sum, parts_of(step, stage, layers)))
        for key, size in stage_memory(step, stage, layers).items():
            numbers[f"stage {stage}: memory of {key}"] = size
        for (group, kind), sums in stage_traffic(step, stage, layers).items():
            numbers[f"stage {stage}: {group} {kind} [count, bytes]"] = sums
    return numbers


def actual_numbers(result):
    numbers = {"parameters": result["parameters"], "operations": result["operations"], "fp8_operations": result.get("fp8_operations", 0),
               "surplus": sum(row["operations"] for row in result["surplus"]), "classes": len(result["ranks"])}
    for stage, row in enumerate(result["ranks"]):
        numbers[f"stage {stage}: parameters"] = row["parameters"]
        for key in ("parameters", "gradients", "optimizer"):
            numbers[f"stage {stage}: memory of {key}"] = row["memory_per_rank"][key]
        for sums in row["communication"]:
            numbers[f"stage {stage}: {sums['group']} {sums['type']} [count, bytes]"] = [sums["count"], sums["bytes"]]
    return numbers


def differences(step, arguments, folder):
    """A line for each number that differs."""
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config(step.model), file)
    run = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=60)
    if run.returncode:
        return [f"exit {run.returncode}: {run.stderr.strip()}"]
    expected, actual = expected_numbers(step), actual_numbers(json.loads(run.stdout))
    return [f"{name}: chakra {actual.get(name)}, closed form {expected.get(name)}" for name in sorted(expected.keys() | actual.keys())
            if expected.get(name) != actual.get(name)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=os.path.join(ROOT, "build", "release", "bin"), help="the folder of chakra")
    parser.add_argument("--steps", type=int, default=300, help="how many random steps (default 300)")
    parser.add_argument("--seed", type=int, default=1, help="of the first step (default 1)")
    options = parser.parse_args()
    program, wrong = os.path.join(os.path.abspath(options.bin), "chakra"), 0
    with tempfile.TemporaryDirectory(prefix="gen_oracle.") as folder:
        for seed in range(options.seed, options.seed + options.steps):
            step = random_step(random.Random(seed), fp8=seed % 2 == 1)
            arguments = command(program, step)
            if found := differences(step, arguments, folder):
                wrong += 1
                print(f"the step of seed {seed} differs (again: --steps 1 --seed {seed})", " ".join(arguments),
                      f"config.json: {json.dumps(config(step.model))}", *found, sep="\n  ")
    print(f"{options.steps} steps, {f'{wrong} differ' if wrong else 'all equal'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
