#!/usr/bin/env python3
"""Measured times per output token of models with experts, against `chakra gen serve` and `chakra sim`.

    predict_experts.py [--bin DIR]

The rows are those of aiconfigurator on H100 in 8 bits (silicon_sample.csv of ai-dynamo/aiconfigurator, Apache-2.0): Qwen3 235B on TensorRT-LLM
1.0 with 512 output tokens, and MiniMax M2.5 on vLLM 0.18. No constant was fitted to them. Their servers keep whole experts on each of the tensor-parallel
ranks. `chakra gen serve` divides each expert over the ranks, which reads as many bytes on a rank (docs/explanation/accuracy.md).
"""
import argparse
import collections
import math
import os
import sys
import tempfile

from predict_steps import ROOT, SERVED, Server, error
from published_steps import QWEN3_235B

MINIMAX = {"model_type": "qwen3_moe", "hidden_size": 3072, "intermediate_size": 1536, "moe_intermediate_size": 1536, "num_hidden_layers": 62,
           "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 200064, "num_experts": 256,
           "num_experts_per_tok": 8, "norm_topk_prob": True, "max_position_embeddings": 196608}
# Model, server, GPUs, tokens of a prompt and of an answer -> milliseconds per output token, by sequences at a time
MEASURED = {
    ("Qwen3 235B", "trtllm", 4, 128, 512): {16: 18.42, 32: 22.55, 64: 26.56, 128: 32.52},
    ("Qwen3 235B", "trtllm", 4, 256, 512): {8: 15.44, 16: 18.49, 32: 22.37, 64: 26.46, 128: 32.94},
    ("Qwen3 235B", "trtllm", 4, 512, 512): {4: 13.35, 8: 15.5, 16: 18.24, 32: 22.69, 64: 27.41, 128: 35.56},
    ("Qwen3 235B", "trtllm", 4, 1024, 512): {4: 13.39, 8: 15.75, 16: 18.96, 32: 24.08, 64: 30.31, 128: 41.07},
    ("Qwen3 235B", "trtllm", 8, 128, 512): {16: 14.79, 32: 17.87, 64: 21.49, 128: 27.59},
    ("Qwen3 235B", "trtllm", 8, 256, 512): {8: 12.73, 16: 14.74, 32: 17.57, 64: 21.62, 128: 28.37},
    ("Qwen3 235B", "trtllm", 8, 512, 512): {4: 11.51, 8: 12.8, 16: 15.03, 32: 18.38, 64: 22.78, 128: 30.95},
    ("Qwen3 235B", "trtllm", 8, 1024, 512): {4: 11.63, 8: 13.22, 16: 15.57, 32: 19.66, 64: 25.56, 128: 36.41},
    ("MiniMax M2.5", "vllm", 4, 1024, 1024): {4: 10.12, 8: 12.47, 16: 15.54, 32: 20.02, 64: 25.66},
    ("MiniMax M2.5", "vllm", 4, 8192, 1024): {4: 13.67, 8: 14.43, 16: 19.72, 32: 29.34, 64: 29.59},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"))
    arguments = parser.parse_args()
    SERVED.update({"Qwen3 235B": QWEN3_235B, "MiniMax M2.5": MINIMAX})
    groups = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(os.path.join(arguments.bin, "chakra"), folder)
        for (model, backend, ranks, prompt, output), times in MEASURED.items():
            for batch, milliseconds in times.items():
                row = {"model_path": model, "backend": backend, "tp_size": str(ranks), "gemm_quant_mode": "fp8", "isl": str(prompt), "osl": str(output),
                       "batch_size": str(batch)}
                off = math.log(server.per_token(row) / milliseconds)
                for group in (f"{model} on {backend}", f"{model} on {backend}, {batch:3} at a time"):
                    groups[group].append(off)
    print("\n| time per output token | rows | error | mean predicted / measured | worst |\n|---|---|---|---|---|")
    for group, offs in sorted(groups.items()):
        worst = math.exp(max(abs(off) for off in offs))
        print(f"| {group} | {len(offs)} | {error(offs):.1%} | {math.exp(sum(offs) / len(offs)):.2f} | {worst:.2f} |")


if __name__ == "__main__":
    sys.exit(main())
