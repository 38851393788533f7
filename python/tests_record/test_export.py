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
if VERSION < (2, 4):
    pytest.skip("chakra_et.export needs PyTorch 2.4", allow_module_level=True)

import torch.distributed as dist  # noqa: E402
from chakra_et import export  # noqa: E402
from chakra_et._record.command import find_command  # noqa: E402
from torch import nn  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import flop_registry  # noqa: E402

try:
    from torch.distributed.tensor import Shard, distribute_tensor
except ImportError:  # before PyTorch 2.5
    from torch.distributed._tensor import Shard, distribute_tensor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "tools"), os.path.join(ROOT, "examples", "torch_compile")]
import et  # noqa: E402
import programs  # noqa: E402

CHAKRA = find_command()
NAMES = ["dense", "tensor", "experts"]
TYPES = {"all_reduce": "ALL_REDUCE", "all_to_all_single": "ALL_TO_ALL", "all_gather_into_tensor": "ALL_GATHER",
         "reduce_scatter_tensor": "REDUCE_SCATTER"}
EAGER_TYPES = {"allreduce_": ("ALL_REDUCE", 0), "_allgather_base_": ("ALL_GATHER", 1), "_reduce_scatter_base_": ("REDUCE_SCATTER", 1)}


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
        if any(kind.__name__ in {"DTensor", "AsyncCollectiveTensor"} for kind in types):
            return NotImplemented
        result = function(*args, **(kwargs or {}))
        if formula := flop_registry.get(function._overloadpacket):
            self.flops += formula(*args, **(kwargs or {}), out_val=result)
        space, name = function._schema.name.split("::")
        if space.startswith("_c10d_functional") and name in TYPES:
            from torch.distributed.distributed_c10d import _resolve_process_group
            ranks = tuple(dist.get_process_group_ranks(_resolve_process_group(args[-1])))
            self.collectives[TYPES[name], args[0].numel() * args[0].element_size(), ranks] += 1
        if space == "c10d" and name in EAGER_TYPES:
            kind, where = EAGER_TYPES[name]
            tensor = args[where][0] if isinstance(args[where], (list, tuple)) else args[where]
            groups = [arg for arg in args if isinstance(arg, torch.ScriptObject) and "ProcessGroup" in str(arg._type())]
            ranks = tuple(dist.get_process_group_ranks(dist.ProcessGroup.unbox(groups[0])))
            self.collectives[kind, tensor.numel() * tensor.element_size(), ranks] += 1
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


def check_counts(folder, eager):
    """The trace of rank 0 has the FLOPs and the collectives that PyTorch did."""
    metadata, nodes = et.read(folder / "trace.0.et")
    with_formula = {f"aten::{packet.__name__}" for packet in flop_registry if hasattr(packet, "__name__")}
    flops = sum(node["attrs"].get("num_ops", 0) for node in nodes if node["name"] in with_formula)
    assert flops == eager.flops > 0
    groups = {group["pg_name"]: tuple(group["ranks"]) for group in json.loads(metadata["process_groups"])}
    collectives = collections.Counter((et.COMM_TYPES[node["attrs"]["comm_type"]], node["attrs"]["comm_size"], groups[node["attrs"]["pg_name"]])
                                      for node in nodes if node["type"] == et.NODE_TYPES.index("COLL"))
    assert collectives == eager.collectives and collectives


@pytest.mark.parametrize("name", NAMES)
def test_work_and_collectives_are_those_of_eager_pytorch(name, files, tmp_path):
    imported(files[name], tmp_path / "job")
    check_counts(tmp_path / "job", counted(name, 2))


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


# ---- operators between graphs ----------------------------------------------------------------------------------------

class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
            torch._dynamo.graph_break()
            x = x @ x.t() @ x
        return x.square().mean()


def broken(compiled, mesh):
    """Graph breaks, and gradients that are reduced by hand."""
    model, data = Broken(), torch.ones(8, 16)

    def step():
        compiled(model)(data).backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=mesh.get_group("dp"))
    return step


def between(compiled, _mesh):
    """Two graphs, operators between them, and the loss outside."""
    model, data, mix = nn.ModuleList([nn.Linear(16, 16), nn.Linear(16, 16)]), torch.ones(8, 16), torch.ones(16, 16)

    def step():
        middle = (compiled(model[0])(data) @ mix).relu()
        (compiled(model[1])(middle) - 1).square().mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
    return step


def replicated(compiled, mesh):
    model, data = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)), torch.ones(8, 16)
    parallel = nn.parallel.DistributedDataParallel(model, process_group=mesh.get_group("dp"))
    run = compiled(parallel)
    with contextlib.suppress(RuntimeError):  # the exporter has set it
        parallel.register_comm_hook(parallel.process_group, export._average_bucket)
    return lambda: run(data).square().mean().backward()


def sharded(compiled, mesh):
    from torch.distributed.fsdp import fully_shard
    model, data = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)), torch.ones(8, 16)
    for part in (model[0], model[2], model):
        fully_shard(part, mesh=mesh)

    def step():
        for part in (model[0], model[2]):
            part.forward = compiled(part.forward)
        model(data).square().mean().backward()
    return step


STEPS = [between, replicated] + ([broken] if VERSION >= (2, 6) else []) + ([sharded] if VERSION >= (2, 10) else [])


def noted(make, ranks, path):
    with export.fake_ranks(ranks):
        capture = export.Capture(init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",)))
        step = make(capture.compile, capture.mesh)
        with capture:
            step()
        capture.write(path)
    return path


@pytest.mark.parametrize("make", STEPS, ids=lambda make: make.__name__)
def test_operators_between_graphs_are_those_of_eager_pytorch(make, tmp_path):
    path = noted(make, 2, tmp_path / "step.json")
    imported(path, tmp_path / "job")
    with export.fake_ranks(2):
        step = make(lambda function: function, init_device_mesh("cpu", (2,), mesh_dim_names=("dp",)))
        with Counter() as eager:
            step()
    check_counts(tmp_path / "job", eager)
    if make is sharded:
        return  # refused: its shapes depend on the number of ranks
    wide = noted(make, 8, tmp_path / "wide.json")
    assert imported(path, tmp_path / "grown", "--num-npus", "8") == imported(wide, tmp_path / "wide")


def test_users_of_operators_between_graphs_wait_for_them(tmp_path):
    with open(noted(between, 2, tmp_path / "step.json"), encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    product = next(node for node in nodes if node["op"] == "aten::mm" and node["phase"] == "operators")
    assert nodes[product["deps"][0]]["phase"] == "forward"
    relu = next(node for node in nodes if node["op"] == "aten::relu")
    assert relu["deps"] == [product["id"]]
    first = next(node for node in nodes if node["id"] > relu["id"] and node["phase"] == "forward" and not node.get("view"))
    assert relu["id"] in first["deps"]
    reduces = [node for node in nodes if node["op"] == "_c10d_functional::all_reduce_"]
    assert len(reduces) == 4 and all(nodes[node["id"] + 1]["deps"] == [node["id"]] for node in reduces)


def test_operators_that_are_not_noted_are_named(tmp_path):
    with export.fake_ranks(2):
        capture = export.Capture(init_device_mesh("cpu", (2,), mesh_dim_names=("dp",)))
        run = capture.compile(lambda x: (x @ x).sum())
        torch.ones(8, 8) + 1  # before the step
        run(torch.ones(8, 8))
        torch.ones(8, 8) @ torch.ones(8, 8)
        capture.write(tmp_path / "step.json")
        assert "aten::mm (1)" in capture.outside() and "aten::add" not in capture.outside()
    (tmp_path / "job").mkdir()
    done = subprocess.run([CHAKRA, "import", str(tmp_path / "step.json"), "-o", f"{tmp_path}/job/"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "foreign.torch.outside" in done.stdout and "aten::mm (1)" in done.stdout


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


def test_communication_after_the_graphs_is_refused():
    with refused("communication outside of the graphs: c10d::allreduce_") as capture:
        dist.all_reduce(capture.compile(lambda x: x * 2)(torch.ones(4)))
    with refused("communication outside of the graphs without a form for all ranks: c10d::broadcast_") as capture, capture:
        dist.broadcast(capture.compile(lambda x: x * 2)(torch.ones(4)), 0)


def test_graphs_outside_of_the_noted_part_are_refused():
    with refused("a graph ran outside of `with capture`") as capture:
        double = capture.compile(lambda x: x * 2)
        with capture:
            double(torch.ones(4))
        double(torch.ones(4))
    with refused("a graph ran before `with capture`") as capture:
        capture.compile(lambda x: x * 2)(torch.ones(4))
        with capture:
            pass


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
