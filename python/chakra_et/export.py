"""Write the program of a PyTorch step to one JSON file, before the step has run, for `chakra import`.

    from chakra_et import export                                    # or copy this file: it needs PyTorch alone
    with export.fake_ranks(8):                                      # one process, any number of ranks, no network
        mesh = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
        capture = export.Capture(mesh)
        model = capture.compile(make_model(mesh))                   # torch.compile, with a backend that notes its graphs
        model(batch).backward()
        capture.compile_step(optimizer)()
        capture.write("step.json")

    with capture:                                               # instead: operators between graphs are noted as well
        model(batch).backward()

    python -m chakra_et.export SCRIPT -o step.json --world-size 8   # the same: calls program(capture) of the script

The file holds each run of each graph of AOTAutograd: operators with shapes, element types and strides, collectives with their
groups, and which node uses the result of which. Outside of `with capture`, graph breaks and communication outside of the graphs
are refused with a list; dynamic shapes always are. docs/how-to/torch_compile.md has the limits,
docs/reference/formats/torch_program.md the file. Needs PyTorch 2.4 or newer.
"""
import argparse
import contextlib
import functools
import gzip
import inspect
import itertools
import json
import operator
import runpy
import sys

import torch
import torch._dynamo  # here: inside of a mode, 2.6 fails to import it
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

__all__ = ["Capture", "ExportError", "fake_ranks", "main"]

VERSION = 1
WRAPPERS = {"DistributedDataParallel", "FullyShardedDataParallel", "FSDPModule"}  # these communicate in hooks
# These launch no kernel; of all other views, the schema has the alias.
VIEWS = {"aten::_unsafe_view", "aten::lift_fresh_copy", "aten::empty", "aten::empty_like", "aten::empty_strided",
         "aten::new_empty", "aten::new_empty_strided"}
GROUP_ARGUMENTS = {"group_name", "group"}
NO_WORK = {"wait_tensor", "barrier", "monitored_barrier_"}  # of operators that communicate
OPERATORS = "operators"  # the phase of operators outside of graphs and backward passes

# Collectives of eager code: (the functional collective with the same work, where its input stands, where its results).
EAGER_COLLECTIVES = {
    "allreduce_": ("all_reduce_", 0, 0),
    "allreduce_coalesced_": ("all_reduce_coalesced_", 0, 0),
    "_allgather_base_": ("all_gather_into_tensor", 1, 0),
    "allgather_": ("all_gather_into_tensor", 1, 0),
    "allgather_into_tensor_coalesced_": ("all_gather_into_tensor_coalesced", 1, 0),
    "_reduce_scatter_base_": ("reduce_scatter_tensor", 1, 0),
    "reduce_scatter_": ("reduce_scatter_tensor", 1, 0),
    "reduce_scatter_tensor_coalesced_": ("reduce_scatter_tensor_coalesced", 1, 0),
    "alltoall_base_": ("all_to_all_single", 1, 0),
    "alltoall_": ("all_to_all_single", 1, 0),
}


class ExportError(RuntimeError):
    """The step cannot be exported; the text lists the reasons."""


@contextlib.contextmanager
def fake_ranks(world_size, rank=0):
    """Let this process be one rank of `world_size`: collectives return at once, without data."""
    from torch.testing._internal.distributed.fake_pg import FakeStore
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world_size)
    try:
        with _Operators():
            yield
    finally:
        dist.destroy_process_group()


class Capture:
    """Collects the graphs that run. `mesh`: the DeviceMesh of all ranks, whose dimensions name the groups."""

    def __init__(self, mesh=None):
        self.mesh = mesh
        self._nodes = []
        self._groups = {}       # by name
        self._parameters = {}   # id -> (parameter, its entry)
        self._refused = {}      # reason -> count
        self._unseen = {}       # the same; these do not count where operators outside of graphs are noted
        self._operators = _Operators.running  # sees what runs outside of graphs
        if self._operators:
            self._operators.capture = self
        self._notes_all = False  # whether operators outside of graphs are noted
        self._outside = {}       # operators outside of graphs that are not noted -> count
        self._writers = {}      # address of a storage -> node ids
        self._pending = {"forward": [], "all": []}  # results that a later graph waits for as a whole
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        _fail_on_recompile_limit(True)

    def compile(self, function, phase="other"):
        """Return torch.compile(function). `phase` names graphs without a backward pass ("optimizer")."""
        from torch._dynamo.backends.common import aot_autograd
        if isinstance(function, torch.nn.Module):
            self._look_at(function)
        backend = aot_autograd(fw_compiler=self._compiler("forward"), bw_compiler=self._compiler("backward"),
                               inference_compiler=self._compiler(phase), keep_inference_input_mutations=True)

        def quietly(module, inputs):
            with _disable_current_modes():  # making a graph runs operators
                return backend(module, inputs)
        return torch.compile(function, backend=quietly, dynamic=False)

    def compile_step(self, optimizer):
        """Return the optimizer's step, compiled: without the wrappers of torch.optim, which break the graph."""
        return torch.no_grad()(functools.partial(self.compile(inspect.unwrap(type(optimizer).step), "optimizer"), optimizer))

    def __enter__(self):
        """Note the operators outside of graphs too, with the collectives of hooks: DistributedDataParallel, fully_shard."""
        if self._nodes and not self._notes_all:
            self._refuse("a graph ran before `with capture`")
        if not self._operators:
            self._operators = _Operators()
            self._operators.capture = self
            self._operators.__enter__()  # until the process ends
        self._notes_all = self._operators.noting = True
        _fail_on_recompile_limit(False)  # what runs without a graph is noted
        return self

    def __exit__(self, *error):
        self._operators.noting = False
        _fail_on_recompile_limit(True)

    def document(self):
        """Return the file as a dict. Errors: ExportError."""
        if not self._notes_all:
            counters = torch._dynamo.utils.counters
            for reason, count in counters["graph_break"].items():
                self._refuse(f"graph break: {' '.join(str(reason).split())[:300]}; `with capture` notes the operators between the graphs", count)
            if skipped := counters["frames"]["total"] - counters["frames"]["ok"]:
                self._refuse("a function that torch.compile did not compile", skipped)
            for reason, count in self._unseen.items():
                self._refuse(reason, count)
        if not self._nodes:
            self._refuse("no compiled graph has run")
        dims = self._dims()
        groups = [self._group(name, dims) for name in self._groups]
        placed = {dim for _, entry in self._parameters.values() for dim in entry.get("placements", ())}
        if unknown := placed - {name for name, _ in dims}:
            self._refuse(f"DTensors lie along dimensions that the capture's mesh lacks: {', '.join(sorted(unknown))}")
        if self._refused:
            raise ExportError("the step cannot be exported:\n" + "\n".join(f"- {why} ({n} times)" for why, n in self._refused.items()))
        return {"chakra_torch_program": VERSION, "torch": torch.__version__, "world_size": _world_size(), "rank": _rank(),
                "outside": self._outside, "mesh": [{"name": name, "size": size} for name, size in dims], "groups": groups,
                "parameters": [entry for _, entry in self._parameters.values()], "nodes": self._nodes}

    def outside(self):
        """Return a sentence on the operators that the file lacks; "": none."""
        if not self._outside:
            return ""
        return (f"{sum(self._outside.values())} operators outside of compiled functions are not in the file; `with capture` notes them: "
                + ", ".join(f"{name} ({count})" for name, count in sorted(self._outside.items())))

    def write(self, path):
        """Write the file, with gzip if its name ends in .gz. Errors: ExportError."""
        document = self.document()
        nodes = document.pop("nodes")
        text = json.dumps(document)[:-1] + ', "nodes": [\n' + ",\n".join(json.dumps(node) for node in nodes) + "\n]}\n"
        with gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w", encoding="utf-8") as file:
            file.write(text)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _refuse(self, why, count=1, unseen=False):
        reasons = self._unseen if unseen else self._refused
        reasons[why] = reasons.get(why, 0) + count

    def _look_at(self, module):
        """Note the parameters of a module, and refuse communication that no graph shows."""
        for name, part in module.named_modules():
            if isinstance(part, torch.nn.parallel.DistributedDataParallel):
                with contextlib.suppress(RuntimeError):  # it has a hook
                    part.register_comm_hook(part.process_group, _average_bucket)
            if wrapper := WRAPPERS & {base.__name__ for base in type(part).__mro__}:
                self._refuse(f"{wrapper.pop()} communicates outside of the graphs: module {name or 'model'}", unseen=True)
        for name, parameter in module.named_parameters():
            if parameter._backward_hooks or parameter._post_accumulate_grad_hooks:
                self._refuse(f"a hook runs outside of the graphs: parameter {name}", unseen=True)
            local = getattr(parameter, "_local_tensor", parameter)
            entry = {"name": name, "shape": list(local.shape), "dtype": _dtype(local)}
            if local is not parameter:
                entry["placements"] = self._placements(name, parameter)
            self._parameters.setdefault(id(parameter), (parameter, entry))

    def _placements(self, name, parameter):
        """{"dp": "Replicate", "tp": "Shard"}, for a DTensor."""
        mesh, placements = parameter.device_mesh, {}
        for i, placement in enumerate(parameter.placements):
            dim = (mesh.mesh_dim_names or [f"dim{d}" for d in range(mesh.ndim)])[i]
            placements[dim] = "Shard" if placement.is_shard() else "Replicate" if placement.is_replicate() else "Partial"
            if placement.is_shard() and parameter.shape[placement.dim] % mesh.size(i):
                self._refuse(f"ranks differ: parameter {name} is divided unevenly along {dim}")
        return placements

    # ---- groups ------------------------------------------------------------------------------------------------------

    def _dims(self):
        """[(name, ranks along it)], outermost first."""
        if self.mesh is None:
            return [("world", _world_size())]
        if self.mesh.mesh.flatten().tolist() != list(range(_world_size())):
            self._refuse("the mesh must contain all ranks in order")
        names = self.mesh.mesh_dim_names or [f"dim{d}" for d in range(self.mesh.ndim)]
        return list(zip(names, self.mesh.mesh.shape))

    def _group(self, name, dims):
        """The members, and along which dimensions of the mesh they are.

        exact: these are the dimensions that the program means. If one along others has the same members, it may be meant:
        PyTorch takes the default group for a dimension that has all ranks.
        """
        from torch.distributed.distributed_c10d import _get_default_group
        ranks, names = self._groups[name], [dim for dim, _ in dims]
        group = {"name": name, "ranks": ranks, "exact": True}
        named = names if self.mesh is not None and self.mesh.mesh_dim_names else []
        of = [dim for dim in named if self.mesh.get_group(dim).group_name == name]
        if name == _get_default_group().group_name:
            return dict(group, dims=names, exact=not of or of == names)
        if of:
            return dict(group, dims=of[:1], exact=len(of) == 1)
        for chosen in itertools.chain(*(itertools.combinations(range(len(dims)), n) for n in range(len(dims) + 1))):
            if _members(dims, chosen) == ranks:
                return dict(group, dims=[names[d] for d in chosen], exact=all(size > 1 for _, size in dims))
        self._refuse(f"a group is not along dimensions of the mesh: ranks {ranks}")
        return dict(group, dims=[])

    def _note_group(self, name):
        if name not in self._groups:
            from torch.distributed.distributed_c10d import _resolve_process_group
            self._groups[name] = dist.get_process_group_ranks(_resolve_process_group(name))

    # ---- graphs ------------------------------------------------------------------------------------------------------

    def _compiler(self, phase):
        def compiler(module, _inputs):
            from functorch.compile import make_boxed_func
            for node in reversed(module.graph.nodes):
                if not node.users and not _has_effect(node):
                    module.graph.erase_node(node)
            module.recompile()

            def run(*arguments):
                with self._operators.paused() if self._operators else contextlib.nullcontext():
                    results = module(*arguments)
                self._add(module.graph, phase, arguments, results)
                return results
            return make_boxed_func(run)
        return compiler

    def _add(self, graph, phase, arguments, results):
        """Append one run of a graph."""
        ids = {}  # of each fx node: the ids of the nodes that its value needs
        placeholders = iter(arguments)
        inputs = {}
        if self._notes_all and not self._operators.noting:
            self._refuse("a graph ran outside of `with capture`")
        first = [] if self._notes_all else self._before(phase)
        for node in graph.nodes:
            if node.op == "placeholder":
                inputs[node] = next(placeholders)
                ids[node] = self._written(inputs[node]) if node.users else []
                if phase == "backward" and node.name.startswith("tangents") and ids[node] == [] and node.users \
                        and not self._notes_all and isinstance(inputs[node], torch.Tensor) and inputs[node].numel() > 1:
                    self._refuse(f"a gradient of shape {list(inputs[node].shape)} comes from operators outside of the graphs: "
                                 "compute the loss in the compiled function, and return the loss alone")
            elif node.op == "get_attr":
                ids[node] = []
            elif node.op == "output":
                self._note_results(phase, node.args[0], results, ids)
            elif node.target is operator.getitem:
                ids[node] = ids[node.args[0]]
            else:
                ids[node] = self._add_node(node, phase, ids, first)
                first = [] if ids[node] == [len(self._nodes) - 1] else first
                for changed in _changed(node):
                    ids[changed] = ids[node]
                    if changed in inputs:
                        self._note_writer(inputs[changed], ids[node])

    def _before(self, phase):
        """The results that a run waits for beside those it names: what computes between graphs is unknown."""
        if phase == "forward":
            return []
        waits, self._pending["forward"] = self._pending["forward" if phase == "backward" else "all"], []
        if phase != "backward":
            self._pending["all"] = []
        return waits

    def _note_results(self, phase, nodes, results, ids):
        made = []
        for node, result in zip(nodes, results):
            if isinstance(node, torch.fx.Node) and isinstance(result, torch.Tensor):
                self._note_writer(result, ids[node])
                made += ids[node]
        self._pending["all"] = list(dict.fromkeys(self._pending["all"] + made))
        if phase == "forward":
            self._pending["forward"] = list(dict.fromkeys(self._pending["forward"] + made))

    def _written(self, value):
        """The ids of the nodes that wrote the storage last."""
        if not isinstance(value, torch.Tensor):
            if not isinstance(value, torch.distributed.DeviceMesh):  # newer PyTorch passes it to graphs
                self._refuse(f"dynamic shapes: a graph takes a number or an object ({type(value).__name__}); give sizes as constants")
            return []
        return self._writers.get(value.untyped_storage()._cdata, [])

    def _note_writer(self, value, ids):
        if ids:
            storage = value.untyped_storage()
            if storage._cdata not in self._writers:
                storage._weak_ref()  # kept for good: no later storage has this address, but the memory is given back
            self._writers[storage._cdata] = ids

    # ---- operators outside of graphs ---------------------------------------------------------------------------------

    def _see(self, function, arguments, keywords, result):
        """An operator ran outside of the graphs."""
        schema = function._schema
        if schema.name.startswith("profiler::") or schema.name.endswith("::_wrap_tensor_autograd"):
            return
        if self._operators.noting:
            self._add_operator(schema, arguments, keywords, result)
        elif not self._nodes or _is_view(schema) or schema.name.split("::")[1] in NO_WORK:
            return  # before the step, or nothing to do
        elif "c10d" in schema.name:
            self._refuse(f"communication outside of the graphs: {schema.name}; `with capture` notes it")
        elif any(value.numel() > 1 for value in _flat([arguments, keywords, result]) if isinstance(value, torch.Tensor)):
            self._outside[schema.name] = self._outside.get(schema.name, 0) + 1

    def _add_operator(self, schema, arguments, keywords, result):
        """Append an operator that ran outside of a graph. Views have the storage, and so the writers, of what they view."""
        space, name = schema.name.split("::")
        values = {argument.name: arguments[i] if i < len(arguments) else keywords.get(argument.name, argument.default_value)
                  for i, argument in enumerate(schema.arguments)}
        results = [value for value in _flat(result) if isinstance(value, torch.Tensor)]
        if space == "c10d":
            self._add_eager_collective(name, list(values.values()))
        elif name == "wait_tensor":
            self._add_wait(results)
        elif not _is_view(schema):
            written = [values[a.name] for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
            self._append(schema.name, values, result, results + [v for v in _flat(written) if isinstance(v, torch.Tensor)])

    def _append(self, op, values, result, written):
        phase = "backward" if torch._C._current_graph_task_id() != -1 else OPERATORS
        entry = {"id": len(self._nodes), "name": op.split("::")[1], "op": op, "phase": phase}
        tensors = [value for value in _flat(list(values.values())) if isinstance(value, torch.Tensor)]
        if deps := list(dict.fromkeys(itertools.chain(*(self._written(tensor) for tensor in tensors)))):
            entry["deps"] = deps
        self._describe(entry, values, result)
        self._nodes.append(entry)
        for value in written:
            self._note_writer(value, [entry["id"]])

    def _add_wait(self, tensors):
        for tensor in tensors:
            if deps := self._written(tensor):
                self._nodes.append({"id": len(self._nodes), "name": "wait_tensor", "op": "_c10d_functional::wait_tensor",
                                    "phase": self._nodes[deps[-1]]["phase"], "deps": deps[-1:]})
                self._note_writer(tensor, [self._nodes[-1]["id"]])

    def _add_eager_collective(self, name, values):
        """What Python's torch.distributed calls. Users of the result wait for it."""
        if name not in EAGER_COLLECTIVES:
            if name not in NO_WORK:
                self._refuse(f"communication outside of the graphs without a form for all ranks: c10d::{name}")
            return
        functional, source, results = EAGER_COLLECTIVES[name]
        group = next((value for value in values if isinstance(value, torch.ScriptObject) and "ProcessGroup" in str(value._type())), None)
        inputs, outputs = (list(_flat([values[i]])) for i in (source, results))
        many = "coalesced" in functional or len(inputs) > 1
        arguments = {"input": inputs if many else inputs[0]}
        if name == "alltoall_":
            sizes = {tensor.numel() for tensor in inputs + outputs}
            arguments.update({"output_split_sizes": [], "input_split_sizes": [] if len(sizes) == 1 else [1, 2]})
        elif name == "alltoall_base_":
            arguments.update({"output_split_sizes": list(values[3]), "input_split_sizes": list(values[4])})
        self._append(f"_c10d_functional::{functional}", dict(arguments, group=dist.ProcessGroup.unbox(group).group_name), outputs, outputs)
        self._add_wait(outputs)

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def _describe(self, entry, values, outputs):
        """Add arguments and results: shapes, element types, strides, numbers, and the group."""
        for name, value in values.items():
            if name in GROUP_ARGUMENTS and isinstance(value, str):
                entry["group"] = value
                self._note_group(value)
                values[name] = None  # ranks may have other names for their groups
        entry["inputs"] = self._tensors(list(values.values()), entry["op"])
        entry["outputs"] = self._tensors(list(outputs) if isinstance(outputs, (tuple, list)) else [outputs], entry["op"], values=False)

    def _add_node(self, node, phase, ids, after):
        """Return the ids of the nodes that its users wait for: itself, or what a view is of."""
        schema = getattr(node.target, "_schema", None)
        entry = {"id": len(self._nodes), "name": node.name, "op": _op_name(node), "phase": phase}
        if path := _module_path(node):
            entry["module"] = path
        if view := _is_view(schema) or _is_write_back(node):
            entry["view"] = True
        waits = view or entry["op"].endswith("::wait_tensor")
        if deps := list(dict.fromkeys(itertools.chain(*(ids[on] for on in node.all_input_nodes), [] if waits else after))):
            entry["deps"] = deps
        if schema is None or any(on.op == "get_attr" and not isinstance(on.meta.get("val"), torch.Tensor) and _is_graph(on)
                                 for on in node.all_input_nodes):
            self._refuse(f"an operator that is not of a library, or that calls graphs: {entry['op']}")
            schema = None
        values = _by_schema(node, schema)
        self._describe(entry, values, node.meta.get("val"))
        self._nodes.append(entry)
        return deps if view else [entry["id"]]

    def _tensors(self, arguments, op, values=True):
        """Shapes, element types, strides and numbers by argument, in the notation of execution traces."""
        side = {"shapes": [], "types": [], "strides": []} | ({"values": []} if values else {})
        for argument in arguments:
            argument = torch.fx.node.map_arg(argument, lambda n: n.meta.get("val"))
            items = [item for item in argument if item is not None] if isinstance(argument, (list, tuple)) else []
            listed = bool(items) and all(isinstance(item, torch.Tensor) for item in items)
            tensors = items if listed else [argument] if isinstance(argument, torch.Tensor) else []
            sizes = [_sizes(tensor) for tensor in tensors]
            if any(not isinstance(size, int) for size in itertools.chain(*(shape + stride for shape, stride in sizes))):
                self._refuse(f"dynamic shapes: {op} (e.g. splits that depend on data)")
                tensors, sizes, listed, argument = [], [], False, None
            types = {_dtype(tensor) for tensor in tensors}
            side["shapes"].append([s for s, _ in sizes] if listed else sizes[0][0] if sizes else [])
            side["strides"].append([s for _, s in sizes] if listed else sizes[0][1] if sizes else [])
            side["types"].append(f"GenericList[Tensor({types.pop() if len(types) == 1 else 'mixed'})]" if listed
                                 else types.pop() if types else "")
            if values:
                side["values"].append("" if tensors else _plain(argument))
        return side


def _fail_on_recompile_limit(fail):
    for name in ("fail_on_recompile_limit_hit", "fail_on_cache_limit_hit"):  # before PyTorch 2.7
        if hasattr(torch._dynamo.config, name):
            setattr(torch._dynamo.config, name, fail)
            break


def _average_bucket(group, bucket):
    """What DistributedDataParallel does without a hook, which fails with fake groups: these return no tensor."""
    gradients = bucket.buffer().div_(torch.tensor(float(group.size())))  # no number in the file: it can be read for other sizes
    dist.all_reduce(gradients, group=group)
    done = torch.futures.Future()
    done.set_result(gradients)
    return done


class _Operators(TorchDispatchMode):
    """Tells a capture which operators run, below DTensor, but neither in a graph nor while one is made."""

    running = None

    def __init__(self):
        super().__init__()
        self.capture, self.noting, self._pauses = None, False, 0

    def __enter__(self):
        _Operators.running = self
        return super().__enter__()

    def __exit__(self, *error):
        _Operators.running = None
        return super().__exit__(*error)

    @classmethod
    def is_infra_mode(cls):
        return True  # before PyTorch 2.10: torch.compile compiles nothing inside of other modes

    @classmethod
    def ignore_compile_internals(cls):
        return True

    @contextlib.contextmanager
    def paused(self):
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1

    @torch._disable_dynamo  # it would make a graph of this function, in which the operator runs once more
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        compiling = self._pauses or torch._guards.TracingContext.try_get() is not None
        if not compiling and any(kind.__name__ in {"DTensor", "AsyncCollectiveTensor"} for kind in types):
            return NotImplemented
        result = function(*args, **kwargs)
        if self.capture and not compiling and not any(isinstance(value, FakeTensor) for value in _flat([args, kwargs, result])):
            self.capture._see(function, args, kwargs, result)
        return result


def _flat(value):
    """The values in lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    return itertools.chain(*map(_flat, value)) if isinstance(value, (list, tuple)) else [value]


# ---- one fx node -----------------------------------------------------------------------------------------------------

def _op_name(node):
    schema = getattr(node.target, "_schema", None)
    return schema.name if schema else f"python::{getattr(node.target, '__name__', node.target)}"


def _is_graph(node):
    owner = node.graph.owning_module
    return owner is not None and isinstance(getattr(owner, str(node.target), None), torch.nn.Module)


def _is_view(schema):
    """Whether the operator launches no kernel: its result is its input, unchanged."""
    if schema is None:
        return False
    aliases = [result.alias_info for result in schema.returns]
    return schema.name in VIEWS or (bool(aliases) and all(alias is not None and not alias.is_write for alias in aliases))


def _has_effect(node):
    """Whether a node whose result is unused stays: AOTAutograd leaves unused copies of forward nodes in the backward graph."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or schema.is_mutable:  # before PyTorch 2.6, is_impure() does not know what changes its arguments
        return schema is not None or node.op in {"placeholder", "output"} or node.is_impure()
    return node.is_impure() and not schema.name.startswith("_c10d_functional")


def _is_write_back(node):
    """Whether the operator copies the new value of an input: AOTAutograd moves what changes inputs to the end of a graph."""
    return node.target is torch.ops.aten.copy_.default and node.args[0].op == "placeholder"


def _by_schema(node, schema):
    """{name: argument}, in the order of the schema, defaults included."""
    if schema is None:
        return {str(i): value for i, value in enumerate(node.args)}
    return {argument.name: node.args[i] if i < len(node.args) else node.kwargs.get(argument.name, argument.default_value)
            for i, argument in enumerate(schema.arguments)}


def _changed(node):
    """The fx nodes that an operator writes in place."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    values = _by_schema(node, schema)
    written = [values[a.name] for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    flat = itertools.chain(*(value if isinstance(value, (list, tuple)) else [value] for value in written))
    return [value for value in flat if isinstance(value, torch.fx.Node)]


def _module_path(node):
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    path = str(list(stack.values())[-1][0]) if stack else ""
    return path.replace("L['self'].", "").replace("L['self']", "")


def _dtype(tensor):
    return str(tensor.dtype).replace("torch.", "")


def _sizes(tensor):
    return list(tensor.shape), list(tensor.stride()) if tensor.layout == torch.strided else []


def _plain(value):
    """Numbers, texts and lists of them; anything else as its text."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (bool, int, str)) or (isinstance(value, float) and abs(value) < float("inf")) else str(value)


def _members(dims, chosen):
    """The ranks that differ from this one along the chosen dimensions alone."""
    ranks, stride, mine = [0], 1, _rank()
    for d in reversed(range(len(dims))):
        size = dims[d][1]
        places = range(size) if d in chosen else [mine // stride % size]
        ranks = [rank + place * stride for place in places for rank in ranks]
        stride *= size
    return sorted(ranks)


def _world_size():
    return dist.get_world_size() if dist.is_initialized() else 1


def _rank():
    return dist.get_rank() if dist.is_initialized() else 0


def main(words=None):
    parser = argparse.ArgumentParser(prog="python -m chakra_et.export", description="Write the program of a PyTorch step before it has run.")
    parser.add_argument("script", metavar="SCRIPT", help="Python file with a function program(capture, *ARGS)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="JSON file; .gz: packed")
    parser.add_argument("--world-size", type=int, default=1, metavar="N", help="number of ranks (1)")
    parser.add_argument("--rank", type=int, default=0, metavar="R", help="rank of which the program is written (0)")
    parser.add_argument("arguments", nargs="*", metavar="ARGS", help="texts for the function")
    options = parser.parse_intermixed_args(words)
    with fake_ranks(options.world_size, options.rank):
        capture = Capture()
        runpy.run_path(options.script)["program"](capture, *options.arguments)
        try:
            capture.write(options.output)
        except ExportError as error:
            print(f"chakra_et.export: {error}", file=sys.stderr)
            return 1
        if outside := capture.outside():
            print(f"chakra_et.export: warning: {outside}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
