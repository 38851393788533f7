"""chakra_et.export: the program of a step is what the step does when it runs, at any number of ranks."""
import collections
import contextlib
import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
if VERSION < (2, 6):
    pytest.skip("chakra_et.export needs PyTorch 2.6", allow_module_level=True)

import torch.distributed as dist  # noqa: E402
from chakra_et import export  # noqa: E402
from chakra_et._record.command import find_command  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.distributed.tensor import DTensor, Shard, distribute_tensor  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import flop_registry  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "tools"), os.path.join(ROOT, "examples", "torch_compile")]
import et  # noqa: E402
import programs  # noqa: E402

CHAKRA = find_command()
NAMES = ["dense", "tensor", "experts"]
TYPES = {"all_reduce": "ALL_REDUCE", "all_to_all_single": "ALL_TO_ALL", "all_gather_into_tensor": "ALL_GATHER",
         "reduce_scatter_tensor": "REDUCE_SCATTER"}


def exported(path, name, dp, rank=0):
    with export.fake_ranks(dp * programs.PROGRAMS[name][1], rank):
        capture = export.Capture()
        programs.program(capture, name, dp)
        capture.write(path)
    return path


def imported(path, folder, *options):
    """{rank: bytes of its trace}"""
    folder.mkdir()
    done = subprocess.run([CHAKRA, "import", str(path), "-o", f"{folder}/", *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


class Counter(TorchDispatchMode):
    """Counts what eager PyTorch does, below DTensor: FLOPs by PyTorch's own formulas, and collectives."""

    def __init__(self):
        super().__init__()
        self.flops, self.collectives = 0, collections.Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented
        result = function(*args, **(kwargs or {}))
        if formula := flop_registry.get(function._overloadpacket):
            self.flops += formula(*args, **(kwargs or {}), out_val=result)
        space, name = function._schema.name.split("::")
        if space.startswith("_c10d_functional") and name in TYPES:
            from torch.distributed.distributed_c10d import _resolve_process_group
            ranks = tuple(dist.get_process_group_ranks(_resolve_process_group(args[-1])))
            self.collectives[TYPES[name], args[0].numel() * args[0].element_size(), ranks] += 1
        return result


def counted(name, dp):
    """The same step without a compiler."""
    with export.fake_ranks(dp * programs.PROGRAMS[name][1]), Counter() as counter:
        with torch.device("meta"):
            mesh, model, data = programs.PROGRAMS[name][0](dp)
        model(data).backward()
        if name == "tensor":
            programs.average(list(model.parameters()), mesh.get_group("dp"))
    return counter


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    return {name: exported(folder / f"{name}.json", name, 2) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_work_and_collectives_are_those_of_eager_pytorch(name, files, tmp_path):
    imported(files[name], tmp_path / "job")
    metadata, nodes = et.read(tmp_path / "job" / "trace.0.et")
    eager = counted(name, 2)
    with_formula = {f"aten::{packet.__name__}" for packet in flop_registry if hasattr(packet, "__name__")}
    flops = sum(node["attrs"].get("num_ops", 0) for node in nodes if node["name"] in with_formula)
    assert flops == eager.flops > 0
    groups = {group["pg_name"]: tuple(group["ranks"]) for group in json.loads(metadata["process_groups"])}
    collectives = collections.Counter((et.COMM_TYPES[node["attrs"]["comm_type"]], node["attrs"]["comm_size"], groups[node["attrs"]["pg_name"]])
                                      for node in nodes if node["type"] == et.NODE_TYPES.index("COLL"))
    assert collectives == eager.collectives and collectives


@pytest.mark.parametrize("name", NAMES)
def test_retargeting_equals_exporting(name, files, tmp_path):
    others = programs.PROGRAMS[name][1]
    wide = exported(tmp_path / "wide.json", name, 8 // others)
    assert imported(files[name], tmp_path / "grown", "--num-npus", "8") == imported(wide, tmp_path / "wide")


def test_every_rank_has_the_same_program(files, tmp_path):
    last = exported(tmp_path / "last.json", "experts", 2, rank=3)
    assert imported(last, tmp_path / "last") == imported(files["experts"], tmp_path / "first")


def test_one_data_parallel_rank_is_not_grown_by_guessing(tmp_path):
    """Newer PyTorch takes the default group for a dimension of all ranks: nothing says which is meant."""
    path = exported(tmp_path / "one.json", "tensor", 1)
    (tmp_path / "job").mkdir()
    done = subprocess.run([CHAKRA, "import", str(path), "-o", f"{tmp_path}/job/", "--num-npus", "8"], capture_output=True, text=True, check=False)
    if done.returncode:
        assert "foreign.torch.retarget" in done.stderr
    else:
        assert VERSION < (2, 10)
        wide = exported(tmp_path / "wide.json", "tensor", 4)
        assert {entry.name: entry.read_bytes() for entry in (tmp_path / "job").iterdir()} == imported(wide, tmp_path / "wide")


def test_uses_follow_results_from_graph_to_graph(files):
    with open(files["tensor"], encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    phase = {node["id"]: node["phase"] for node in nodes}
    assert list(dict.fromkeys(phase.values())) == ["forward", "backward", "gradients", "optimizer"]
    reduces = [node for node in nodes if node["phase"] == "gradients" and node["op"].endswith("all_reduce")]
    assert reduces and all({phase[dep] for dep in node["deps"]} >= {"backward"} for node in reduces)
    waits = {node["id"] for node in nodes if node["op"].endswith("wait_tensor") and node["phase"] == "gradients"}
    first = next(node for node in nodes if node["phase"] == "optimizer" and not node.get("view"))
    assert waits <= set(first["deps"])


# ---- refusals --------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def refused(*reasons):
    with export.fake_ranks(4):
        capture = export.Capture()
        yield capture
        with pytest.raises(export.ExportError) as error:
            capture.document()
    for reason in reasons:
        assert reason in str(error.value)


def test_graph_breaks_are_listed():
    def broken(x):
        y = x + 1
        print("a side effect")
        torch._dynamo.graph_break()
        return y * 2
    with refused("graph break:") as capture:
        capture.compile(broken)(torch.ones(4, requires_grad=True))


def test_nothing_to_export():
    with refused("no compiled graph has run"):
        pass


def test_dynamic_shapes_are_refused():
    def chosen(x):
        return x[x > 0].sum()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True), refused("dynamic shapes") as capture:
        capture.compile(chosen)(torch.ones(4))


def test_communication_outside_of_the_graphs_is_refused():
    with refused("DistributedDataParallel communicates outside") as capture:
        capture.compile(nn.parallel.DistributedDataParallel(nn.Linear(4, 4)))
    with refused("a hook runs outside of the graphs: parameter weight") as capture:
        model = nn.Linear(4, 4)
        model.weight.register_post_accumulate_grad_hook(lambda parameter: None)
        capture.compile(model)


def test_a_loss_outside_of_the_graphs_is_refused():
    with refused("comes from operators outside of the graphs") as capture:
        capture.compile(nn.Linear(4, 4))(torch.ones(2, 4)).square().mean().backward()


def test_uneven_parameters_are_refused():
    with refused("divided unevenly along tp", "dimensions that the capture's mesh lacks: tp") as capture:
        mesh = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
        model = nn.Linear(4, 6, bias=False)
        model.weight = nn.Parameter(distribute_tensor(model.weight, mesh, [Shard(0)]))
        capture.compile(model)


def test_command_line(tmp_path, files):
    script = os.path.join(ROOT, "examples", "torch_compile", "programs.py")
    done = subprocess.run([sys.executable, export.__file__, script, "-o", str(tmp_path / "job.json.gz"), "--world-size", "2", "dense", "2"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert imported(tmp_path / "job.json.gz", tmp_path / "packed") == imported(files["dense"], tmp_path / "plain")
