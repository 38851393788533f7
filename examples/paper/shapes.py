"""Text workloads of the same shape as the recovered ones, where those are absent: the same layers, collectives and sizes of a layer's
order, worked out from the dimensions of the matrices. They stand in; they are not the paper's files, and totals differ."""

FLOP_PER_NS = 4480  # of the MLPs and of DLRM
BYTES = 2           # of an element


def matrix(tokens, rows, columns, flop_per_ns=FLOP_PER_NS):
    """-> ns of a product tokens x rows x columns"""
    return max(1, round(2 * tokens * rows * columns / flop_per_ns))


def text(header, layers):
    """layers: (name, (ns, collective, bytes) forward, input gradient, weight gradient)"""
    lines = [" ".join([name, "-1", *(str(word) for phase in phases for word in phase), "0"]) for name, *phases in layers]
    return "\n".join([header, str(len(lines)), *lines]) + "\n"


def mlp(header, hybrid):
    """Six layers of 64 rows; model parallel forward and input gradient, with data parallel weight gradients in the hybrids."""
    widths, layers, before = (320, 512, 512, 1152, 512, 512), [], 640
    for i, width in enumerate(widths):
        ns, moved = matrix(64, before, width), BYTES * 64 * width
        weight = (ns, "ALLREDUCE", moved) if hybrid else (ns // 2, "NONE", 0)
        layers.append((f"mlp{i}", (ns, "ALLGATHER", moved), (ns, "ALLREDUCE", moved), weight))
        before = width
    return text(header, layers)


def dlrm():
    """Embeddings by all-to-all, four bottom and three top layers, data parallel."""
    layers = [("embedding", (300, "ALLTOALL", 98304), (300, "ALLTOALL", 98304), (300, "NONE", 0))]
    for name, rows, columns in (("bottom0", 13, 512), ("bottom1", 512, 512), ("bottom2", 512, 512), ("bottom3", 512, 16),
                                ("top0", 1040, 512), ("top1", 512, 512), ("top2", 512, 512)):
        ns = matrix(22, rows, columns)
        layers.append((name, (ns, "NONE", 0), (ns, "NONE", 0), (ns, "ALLREDUCE", BYTES * rows * columns)))
    return text("HYBRID_DLRM 4", layers)


def transformer(blocks=6, tokens=1024, width=4096, shards=4, vocabulary=9000):
    """Blocks of query, key, value, attention, projection and two feed-forward matrices: 57 layers; tensor parallel over 4, data parallel."""
    whole, square = BYTES * tokens * width, BYTES * width * width
    ns = matrix(tokens, width, width // shards, 2731)
    none, gradient, rest = ("NONE", 0), round(0.69 * ns), round(0.71 * ns)
    layers = [("embedding", (300, "ALLGATHER", whole), (1, *none), (1, *none))]
    for b in range(1, blocks + 1):
        weight, large = (rest, "ALLREDUCE", square), (4 * rest, "ALLREDUCE", 4 * square)
        layers += [(f"query{b}", (ns, *none), (gradient, "ALLREDUCE", whole), weight), (f"key{b}", (ns, *none), (gradient, *none), weight),
                   (f"value{b}", (ns, *none), (gradient, *none), weight), (f"softmax{b}", (768, *none), (768, *none), (768, *none)),
                   (f"attention{b}", (768, *none), (768, *none), (768, *none)),
                   (f"projection{b}", (gradient, "ALLREDUCE", whole), (ns, "ALLGATHER", 4 * square), weight),
                   (f"up{b}", (4 * ns, *none), (4 * gradient, "ALLREDUCE", whole), large),
                   (f"down{b}", (4 * gradient, "ALLREDUCE", whole), (4 * ns, *none), large),
                   (f"norm{b}", (196608, *none), (196608, *none), (139264, *none))]
    head, moved = matrix(tokens, width, vocabulary // 16, 2731), BYTES * vocabulary * width
    layers += [("head", (head, "ALLGATHER", moved), (round(0.69 * head), "ALLREDUCE", whole), (round(0.71 * head), "ALLREDUCE", moved // 4)),
               ("loss", (590976, *none), (296224, *none), (313344, *none))]
    return text(f"HYBRID_TRANSFORMER model_parallel_NPU_group: {shards}", layers)


# By the name of the file that each stands in for.
SHAPES = {
    "MLP_ModelParallel.txt": lambda: mlp("MODEL", False),
    "MLP_HybridParallel_Model_Data.txt": lambda: mlp("HYBRID_MODEL_DATA", True),
    "MLP_HybridParallel_Data_Model.txt": lambda: mlp("HYBRID_DATA_MODEL", True),
    "DLRM_HybridParallel.txt": dlrm,
    "Transformer_HybridParallel.txt": transformer,
}
