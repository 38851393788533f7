#!/usr/bin/env python3
"""Writes the table of parameters that transformers counts, against which chakra/model/model_test.cpp holds ours.

Needs transformers and torch; models are made on torch's meta device, so no weights are loaded or stored.
    python3 tools/model_parameters.py > chakra/model/testing/model_parameters.txt
With --check FILE it counts the configurations of FILE again, as another version of transformers does, and prints those
that differ.
"""

import argparse
import json
import os
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageClassification  # noqa: E402

TOKENS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}


def width(r, most=40):
    return r.randint(1, most) * 8


def base(r):
    """The keys that nearly all have. Two heads of keys and values at least, so that a wrong number of them shows."""
    heads = r.choice([4, 6, 8, 12])
    return {
        "hidden_size": heads * r.choice([8, 16, 24]),
        "num_attention_heads": heads,
        "num_hidden_layers": r.randint(1, 6),
        "vocab_size": r.randint(100, 3000),
        "intermediate_size": width(r),
        "max_position_embeddings": r.randint(64, 4096),
        "tie_word_embeddings": r.choice([True, False]),
    }


def grouped(r):
    c = base(r)
    heads = c["num_attention_heads"]
    c["num_key_value_heads"] = r.choice([None, 1, 2, heads // 2, heads])
    if r.random() < 0.2:
        c["head_dim"] = 40
    return c


def flags(r, *names):
    return {name: r.choice([True, False]) for name in names}


def llama(r):
    return grouped(r) | flags(r, "attention_bias", "mlp_bias") | {"head_dim": r.choice([None, 8, 40, 64])}


def granite(r):
    return grouped(r) | flags(r, "attention_bias", "mlp_bias")


def mistral(r):
    return grouped(r) | {"head_dim": r.choice([None, 40]), "sliding_window": r.choice([None, 128])}


def qwen_window(r):
    return flags(r, "use_sliding_window") | {"sliding_window": 64, "max_window_layers": 2}


def qwen2(r):
    return grouped(r) | qwen_window(r)


def qwen3(r):
    return grouped(r) | qwen_window(r) | flags(r, "attention_bias") | {"head_dim": r.choice([8, 40, 128])}


def gemma(r):
    c = grouped(r) | flags(r, "attention_bias") | {"head_dim": r.choice([16, 40, 256])}
    c["num_key_value_heads"] = c["num_key_value_heads"] or 1
    return c


def with_bias(r):
    return grouped(r) | flags(r, "attention_bias")


def smollm3(r):
    return grouped(r) | flags(r, "attention_bias", "mlp_bias")


def gpt2(r):
    c = base(r)
    names = {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_layer": "num_hidden_layers"}
    if r.random() < 0.7:
        for new, old in names.items():
            c[new] = c.pop(old)
    c["n_positions"] = c.pop("max_position_embeddings")
    c["n_inner"] = r.choice([None, c.pop("intermediate_size")])
    return c


def bigcode(r):
    return gpt2(r) | flags(r, "multi_query")


def gpt_neox(r):
    return base(r) | flags(r, "use_parallel_residual", "attention_bias")


def falcon(r):
    c = base(r) | flags(r, "alibi", "new_decoder_architecture", "multi_query", "parallel_attn", "bias")
    c["ffn_hidden_size"] = r.choice([None, c.pop("intermediate_size")])
    c["num_kv_heads"] = r.choice([None, 2])
    c["num_ln_in_parallel_attn"] = r.choice([None, None, 1, 2])
    return c


def bloom(r):
    c = base(r)
    del c["intermediate_size"], c["max_position_embeddings"]
    for old, new in [("num_attention_heads", "n_head"), ("num_hidden_layers", "n_layer")]:
        if r.random() < 0.6:
            c[new] = c.pop(old)
    return c


def opt(r):
    c = base(r) | flags(r, "enable_bias", "do_layer_norm_before", "layer_norm_elementwise_affine")
    c["ffn_dim"] = c.pop("intermediate_size")
    c["_remove_final_layer_norm"] = r.random() < 0.2
    return c


def phi(r):
    return grouped(r) | flags(r, "qk_layernorm")


def starcoder2(r):
    return grouped(r) | flags(r, "use_bias")


def stablelm(r):
    c = grouped(r) | flags(r, "use_qkv_bias", "use_parallel_residual")
    c["num_key_value_heads"] = c["num_key_value_heads"] or 1
    c.pop("head_dim", None)  # not read
    return c


def cohere(r):
    return grouped(r) | flags(r, "attention_bias", "use_qk_norm")


def mixtral(r):
    return mistral(r) | {"num_local_experts": r.choice([4, 8]), "num_experts_per_tok": r.choice([1, 2])}


def olmoe(r):
    return with_bias(r) | {"num_experts": r.choice([4, 16]), "num_experts_per_tok": r.choice([1, 3])}


def gpt_oss(r):
    c = with_bias(r) | {"num_local_experts": r.choice([4, 8]), "num_experts_per_tok": 2}
    return c | {"head_dim": r.choice([16, 40]), "num_key_value_heads": c["num_key_value_heads"] or 1}


def qwen_moe(r):
    c = grouped(r) | {"num_experts": r.choice([0, 4, 8, 8]), "num_experts_per_tok": 2, "moe_intermediate_size": width(r)}
    layers = c["num_hidden_layers"]
    c["decoder_sparse_step"] = r.choice([1, 1, 2, 3])
    c["mlp_only_layers"] = r.choice([[], [0], [layers - 1], [0, layers + 2]])
    return c


def qwen2_moe(r):
    return qwen_moe(r) | flags(r, "qkv_bias") | {"shared_expert_intermediate_size": width(r)}


def qwen3_moe(r):
    return qwen_moe(r) | flags(r, "attention_bias") | {"head_dim": r.choice([8, 40, 128])}


def latent(r):
    c = base(r) | flags(r, "attention_bias")
    layers = c["num_hidden_layers"]
    return c | {
        "num_key_value_heads": c["num_attention_heads"],
        "q_lora_rank": r.choice([None, 24, 40]),
        "kv_lora_rank": r.choice([16, 32]),
        "qk_rope_head_dim": r.choice([4, 8]),
        "qk_nope_head_dim": r.choice([8, 16]),
        "v_head_dim": r.choice([8, 12]),
        "n_routed_experts": r.choice([4, 8]),
        "n_shared_experts": r.choice([1, 2, 3]),
        "num_experts_per_tok": r.choice([1, 2]),
        "moe_intermediate_size": width(r),
        "first_k_dense_replace": r.choice([0, 1, layers, layers + 1]),
        "n_group": 1,
        "topk_group": 1,
        "moe_layer_freq": 1,
    }


def deepseek_v2(r):
    return latent(r) | {"mlp_bias": r.random() < 0.3}


def deepseek_v3(r):
    return latent(r) | {"num_nextn_predict_layers": r.choice([0, 1])}


def vit(r):
    heads = r.choice([2, 3, 4])
    c = {
        "hidden_size": heads * r.choice([8, 16]),
        "num_attention_heads": heads,
        "num_hidden_layers": r.randint(1, 6),
        "intermediate_size": width(r),
        "image_size": r.choice([32, 50, 224, [64, 96]]),
        "patch_size": r.choice([4, 14, 16, [8, 16]]),
        "num_channels": r.choice([1, 3]),
        "num_labels": r.randint(1, 30),
    }
    if r.random() < 0.5:
        c["id2label"] = {str(i): f"label {i}" for i in range(c.pop("num_labels"))}
    return c | flags(r, "qkv_bias")


KINDS = {
    "llama": llama,
    "mistral": mistral,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "gemma": gemma,
    "gemma2": gemma,
    "gemma3_text": gemma,
    "phi3": grouped,
    "olmo": with_bias,
    "olmo2": with_bias,
    "smollm3": smollm3,
    "granite": granite,
    "gpt2": gpt2,
    "gpt_bigcode": bigcode,
    "gptj": gpt2,
    "gpt_neox": gpt_neox,
    "falcon": falcon,
    "bloom": bloom,
    "opt": opt,
    "phi": phi,
    "starcoder2": starcoder2,
    "stablelm": stablelm,
    "cohere": cohere,
    "mixtral": mixtral,
    "olmoe": olmoe,
    "gpt_oss": gpt_oss,
    "qwen2_moe": qwen2_moe,
    "qwen3_moe": qwen3_moe,
    "deepseek_v2": deepseek_v2,
    "deepseek_v3": deepseek_v3,
    "vit": vit,
}
# Absent, they leave a model that transformers does not make, or too large a one to make often.
NEEDED = {"num_experts_per_tok", "num_hidden_layers", "n_layer", "moe_layer_freq"}


def count(config):
    config = {k: v for k, v in config.items() if k != "quantization_config"}
    made = AutoConfig.for_model(config.pop("model_type"), **config)
    heads, kv_heads = made.num_attention_heads, getattr(made, "num_key_value_heads", None)
    if getattr(made, "new_decoder_architecture", False):
        kv_heads = made.num_kv_heads
    if kv_heads and heads % kv_heads != 0:
        raise ValueError("heads of keys and values that do not divide the heads: it is made, and cannot run")
    models = AutoModelForImageClassification if made.model_type == "vit" else AutoModelForCausalLM
    _ = models._model_mapping[type(made)]  # imported here: some of it cannot be on the meta device
    with torch.device("meta"):
        model = models.from_config(made)
    return sum(p.numel() for p in model.parameters())


def random_config(r, kind):
    config = KINDS[kind](r)
    absent = [k for k in config if k not in NEEDED and r.random() < r.choice([0, 0, 0.1, 0.3])]
    return {"model_type": kind} | {k: v for k, v in config.items() if k not in absent} | TOKENS


def published_configs():
    """The config.json of published models, as they stand; what is stored with fewer bits is not counted so."""
    path = os.path.join(os.path.dirname(__file__), "..", "chakra", "model", "testing", "published_models.jsonl")
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="FILE")
    parser.add_argument("--each", type=int, default=20, help="configurations of each model_type")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            for line in file:
                expected, text = line.split(" ", 1)
                try:
                    found = count(json.loads(text))
                except Exception as error:  # noqa: BLE001
                    found = repr(error)[:120]
                if str(found) != expected:
                    print(found, line, end="")
        return
    for config in published_configs():
        print(count(config), json.dumps(config))
    for kind in KINDS:
        r = random.Random(f"{options.seed} {kind}")
        print(count({"model_type": kind}), json.dumps({"model_type": kind}))  # all defaults
        made = 0
        for _ in range(options.each * 5):
            if made == options.each:
                break
            config = random_config(r, kind)
            try:
                number = count(config)
            except Exception as error:  # noqa: BLE001  it does not make this one
                print(kind, repr(error)[:150], file=sys.stderr)
                continue
            made += 1
            print(number, json.dumps(config))


if __name__ == "__main__":
    main()
