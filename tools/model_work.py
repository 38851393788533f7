#!/usr/bin/env python3
"""Work that chakra derives from recorded shapes, against counts made from models' definitions.

    model_work.py [--bin DIR] [--check]

The reference knows a model's layers (from its paper or its configuration), the batch and how many steps were
recorded; it reads neither shapes nor operators. It counts products of matrices, convolutions and attention (all
pairs of positions), a multiply-add as 2 operations. Other recordings have no reference; of all, the table has the
share of device time launched under aten:: operators with shapes whose work is known. --check ends with 1 where
operations are off by more than 2 % or that share is below 95 %.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.environ.get("CHAKRA_TEST_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data"))


# ---- models, from their definitions ------------------------------------------------------------------------

def resnet_layers(depth):
    """(kernel, channels in, out, size of the output's side) of each convolution. He et al. 2016, table 1; of the
    deep ones, torchvision puts the stride into the 3x3 convolution ("v1.5")."""
    blocks = {18: [2, 2, 2, 2], 50: [3, 4, 6, 3]}[depth]
    layers = [(7, 3, 64, 112)]
    channels, side = 64, 56
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            before, side = side, side // stride
            if depth == 50:
                layers += [(1, channels, width, before), (3, width, width, side), (1, width, 4 * width, side)]
                out = 4 * width
            else:
                layers += [(3, channels, width, side), (3, width, width, side)]
                out = width
            if stride != 1 or channels != out:
                layers.append((1, channels, out, side))
            channels = out
    return layers, channels


def resnet(depth, batch, backward=True, classes=1000):
    layers, features = resnet_layers(depth)
    convolutions = [2 * k * k * cin * cout * side * side for k, cin, cout, side in layers]
    forward = sum(convolutions) + 2 * features * classes
    # Each product has two gradients, but nobody wants the image's.
    return batch * (3 * forward - convolutions[0] if backward else forward)


def attention(layers, batch, tokens, width):
    """Scores and weighted sums, over all heads."""
    return layers * batch * 4 * tokens * tokens * width


def bert(layers, width, inner, vocabulary, batch, tokens):
    """Devlin et al. 2019: four projections and two feed-forward layers each; the head for masked words is a dense
    layer and the vocabulary."""
    per_token = layers * 2 * (4 * width * width + 2 * width * inner) + 2 * (width * width + width * vocabulary)
    return batch * tokens * per_token + attention(layers, batch, tokens, width)


def qwen(layers, width, inner, batch, tokens):
    """Qwen1.5: four projections, three matrices of the gated feed-forward layer; without the head."""
    per_token = layers * 2 * (4 * width * width + 3 * width * inner)
    return batch * tokens * per_token + attention(layers, batch, tokens, width)


def gpt2(batch, tokens, layers=12, width=768, vocabulary=50257):
    """Radford et al. 2019, small: four projections' worth of attention and two feed-forward layers of 4 widths each; the
    head is the vocabulary. Forward and backward, which takes twice as much."""
    per_token = layers * 2 * 12 * width * width + 2 * width * vocabulary
    return 3 * (batch * tokens * per_token + attention(layers, batch, tokens, width))


# Recording or pair; what it must come to, or None. Batches and steps are those of the runs.
RUNS = [
    ("kineto_tb_resnet50_num_workers_4.pt.trace", 6 * resnet(50, 32)),
    ("tracelens_mi300_train_resnet18", 5 * resnet(18, 512)),
    ("tracelens_h100__gaunernst_bert-small-uncased__1016001", bert(4, 512, 2048, 30522, 1, 141)),
    ("tracelens_mi300__gaunernst_bert-small-uncased__1016001", bert(4, 512, 2048, 30522, 1, 141)),
    ("tracelens_h100__Qwen_Qwen1.5-0.5B-Chat__1016005", qwen(24, 1024, 2816, 16, 559)),
    ("tracelens_mi300__Qwen_Qwen1.5-0.5B-Chat__1016005", qwen(24, 1024, 2816, 16, 559)),
    ("pairs/resnet_2080ti/resnet_et + pairs/resnet_2080ti/resnet_kineto", resnet(18, 128)),
    ("et_json/resnet_1gpu_et_1.0.3 + kineto/hta_nccl_parser_config__nccl_data", 3 * resnet(50, 32)),
    ("et_json/resnet_1gpu_et_1.0.3", 3 * resnet(50, 32)),
    ("et_json/hoti2024_ddp2_host_rank0", resnet(50, 32)),
    (ROOT + "/examples/traces/gpt2_host/host.0", gpt2(1, 128)),
    ("hta_amd_trace__mi250_minitoy_train_ROCm6_2_kineto", None),
    ("hta_negative_queue_length_values_check__rank0", None),
    ("hta_trace_diff__control__control", None),
    ("hta_trace_filter__sampled_rank-0", None),
    ("hta_trace_filter__sampled_rank-1", None),
    ("sidnb13_dcb0aa1a78e7_4399.1752181589589738346.pt.trace", None),
    ("tracelens_perf_model__normalization__normalization_layer_test", None),
    ("tracelens_torch_compile_triton__trace", None),
    ("tracelens_inference__sglang_decode__sglang_Qwen3-8B_decode", None),
    ("tracelens_vllm_decode_full__graph_execution", None),
    ("pairs/linear_2080ti/linear_et + pairs/linear_2080ti/linear_kineto", None),
]


def link(chakra, run, folder):
    files = [os.path.join(DATA, name if "/" in name else "kineto/" + name) + ".json.gz" for name in run.split(" + ")]
    out = subprocess.run([chakra, "link", *files, "-o", f"{folder}/trace.0.et", "--json", "-"], capture_output=True)
    if out.returncode != 0:
        sys.exit(f"model_work: {run}: {out.stderr.decode().strip()}")
    return json.loads(out.stdout)["ranks"][0]["work"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=ROOT + "/build/release/bin")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if not os.path.isdir(DATA):
        print(f"model_work: no test data at {DATA}, skipped")
        return
    bad = []
    print(f"{'recording':<62} {'operations':>11} {'reference':>11} {'off':>8} {'aten::':>8} {'all':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for run, reference in RUNS:
            work = link(args.bin + "/chakra", run, folder)
            off = work["operations"] / reference - 1 if reference else None
            aten = work["aten_covered_ns"] / work["aten_with_shapes_ns"] if work["aten_with_shapes_ns"] else None
            covered = work["covered_ns"] / work["device_ns"] if work["device_ns"] else None
            show = lambda share, sign="": "-" if share is None else f"{100 * share:{sign}.2f} %"
            print(f"{run.removeprefix(ROOT + '/')[-62:]:<62} {work['operations']:>11.4g} {reference or 0:>11.4g} {show(off, '+'):>8} "
                  f"{show(aten):>8} {show(covered):>8}")
            if (off is not None and abs(off) > 0.02) or (aten is not None and aten < 0.95):
                bad.append(run)
    if args.check and bad:
        sys.exit("model_work: off by more than 2 %, or less than 95 % covered: " + ", ".join(bad))


if __name__ == "__main__":
    main()
