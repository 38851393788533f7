"""Steps that papers and documentation publish, and models of measured serving, for predict_steps.py."""

# Korthikanti et al., 2022, table 5: layers, hidden, heads, pp, micro-batches of a replica, sequences of one, virtual stages, GPUs (A100);
# seconds of a step with full recomputation, and with selective one and sequence parallelism
KORTHIKANTI = {"22B": (48, 6144, 64, 1, 1, 4, 1, 8, 1.42, 1.10), "175B": (96, 12288, 96, 8, 64, 1, 3, 64, 18.13, 13.75),
               "530B": (105, 20480, 128, 35, 280, 1, 3, 280, 49.05, 37.83), "1T": (128, 25600, 160, 64, 512, 1, 1, 512, 94.42, 71.49)}
QWEN3_235B = {"model_type": "qwen3_moe", "hidden_size": 4096, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_hidden_layers": 94,
              "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936, "num_experts": 128,
              "num_experts_per_tok": 8, "norm_topk_prob": True, "max_position_embeddings": 40960}
GPT_OSS_120B = {"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "num_hidden_layers": 36, "num_attention_heads": 64,
                "num_key_value_heads": 8, "head_dim": 64, "vocab_size": 201088, "num_local_experts": 128, "num_experts_per_tok": 4,
                "sliding_window": 128, "attention_bias": True, "max_position_embeddings": 131072}
# Megatron-Bridge's performance summaries of 25.09 to 26.02, DGX-H100, dropless: model, GPUs, sequence, tp, pp, cp, virtual stages, ep,
# sequences of a micro-batch, of all; in 8 bits; tokens per second and GPU
BRIDGE = [
    ("llama3-8b", 8, 8192, 1, 1, 1, 1, 1, 1, 128, True, 14451), ("llama3-8b", 8, 8192, 1, 1, 1, 1, 1, 1, 128, True, 14079),
    ("llama3-70b", 64, 8192, 4, 8, 1, 5, 1, 1, 128, True, 1602), ("llama3-70b", 64, 8192, 4, 8, 1, 5, 1, 1, 256, True, 1621),
    ("llama3-70b", 64, 8192, 4, 8, 1, 5, 1, 1, 128, True, 1619), ("llama3-405b", 1024, 8192, 8, 8, 2, 8, 1, 1, 512, True, 292),
    ("llama3-405b", 1024, 8192, 8, 8, 2, 8, 1, 1, 512, True, 302), ("llama3-405b", 1024, 8192, 8, 8, 2, 8, 1, 1, 1536, True, 311),
    ("qwen3-30b-a3b", 16, 4096, 1, 2, 1, 24, 8, 2, 512, True, 5275), ("qwen3-30b-a3b", 16, 4096, 1, 2, 1, 12, 8, 1, 1024, True, 5113),
    (GPT_OSS_120B, 64, 4096, 1, 4, 1, 1, 8, 4, 512, False, 5630), (GPT_OSS_120B, 64, 4096, 1, 4, 1, 1, 8, 1, 1280, False, 5993),
    (QWEN3_235B, 256, 4096, 2, 8, 1, 4, 32, 1, 2048, True, 1575), (QWEN3_235B, 256, 4096, 2, 8, 1, 4, 32, 1, 8192, True, 1633),
    ("deepseek-v3", 1024, 4096, 2, 8, 1, 4, 64, 1, 8192, True, 1297),
]
# The same with experts, of later releases: 26.02.01 (in the layout of 26.02, 1.77 times as fast), 26.04, 26.04.01, 26.06, and a profiled step
# without overlap of messages of experts (skills/nemo-mbridge-perf-moe-comm-overlap of NVIDIA-NeMo/Megatron-Bridge, 24.7138 s)
BRIDGE_LATER = [
    ("qwen3-30b-a3b", 16, 4096, 1, 2, 1, 12, 8, 1, 1024, True, 9058), ("qwen3-30b-a3b", 16, 4096, 1, 1, 1, 1, 16, 1, 1024, True, 8901),
    ("qwen3-30b-a3b", 16, 4096, 1, 1, 1, 1, 16, 1, 1024, True, 8960), ("qwen3-30b-a3b", 16, 4096, 1, 1, 1, 1, 16, 1, 1024, True, 8826),
    ("qwen3-30b-a3b", 16, 4096, 1, 1, 1, 1, 16, 1, 1024, False, 10607),
    (GPT_OSS_120B, 64, 4096, 1, 4, 1, 1, 8, 1, 1280, False, 5984), (GPT_OSS_120B, 64, 4096, 1, 4, 1, 1, 8, 1, 1280, False, 5810),
    (GPT_OSS_120B, 64, 4096, 1, 4, 1, 1, 8, 1, 1280, False, 5824),
    (QWEN3_235B, 256, 4096, 2, 8, 1, 4, 32, 1, 8192, True, 1611), (QWEN3_235B, 256, 4096, 2, 8, 1, 4, 32, 1, 8192, True, 1686),
    (QWEN3_235B, 256, 4096, 2, 8, 1, 4, 32, 1, 8192, True, 1712),
]
# Of these, the steps that expert-us of the stack was fitted to: the first of each layout and type of Qwen3 30B
BRIDGE_FITTED = (BRIDGE_LATER[0], BRIDGE_LATER[1], BRIDGE_LATER[4])
# Models of measured serving -> config.json
SERVED = {"Qwen/Qwen3-32B": {"model_type": "qwen3", "hidden_size": 5120, "intermediate_size": 25600, "num_hidden_layers": 64, "head_dim": 128,
                             "num_attention_heads": 64, "num_key_value_heads": 8, "vocab_size": 151936, "max_position_embeddings": 40960},
          "meta-llama/Llama-3.1-8B-Instruct": {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                                               "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                                               "max_position_embeddings": 131072}}
