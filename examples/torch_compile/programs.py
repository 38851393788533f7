"""Three programs for chakra_et.export: data parallel, tensor parallel by DTensor, experts with all-to-alls.

Each takes the number of data-parallel ranks and returns (mesh, the module, its input, what runs after the backward pass).
"""
import torch
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional

WIDTH, TOKENS = 64, 32


class Averaged(torch.autograd.Function):
    """The parameter; its gradient is the mean over the group."""

    @staticmethod
    def forward(ctx, parameter, group):
        ctx.group = group
        return parameter.view_as(parameter)

    @staticmethod
    def backward(ctx, gradient):
        return funcol.all_reduce(gradient.contiguous(), "avg", ctx.group), None


class Linear(nn.Module):
    """A linear layer whose gradients are averaged over a group."""

    def __init__(self, inputs, outputs, group):
        super().__init__()
        self.weight, self.group = nn.Parameter(torch.empty(outputs, inputs)), group

    def forward(self, x):
        return functional.linear(x, Averaged.apply(self.weight, self.group))


class Attention(nn.Module):
    def __init__(self, group):
        super().__init__()
        self.qkv, self.out = Linear(WIDTH, 3 * WIDTH, group), Linear(WIDTH, WIDTH, group)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        return self.out(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class Dense(nn.Module):
    """Transformer blocks with attention."""

    def __init__(self, group):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH, elementwise_affine=False) for _ in range(4))
        self.attentions = nn.ModuleList(Attention(group) for _ in range(2))
        self.ups = nn.ModuleList(Linear(WIDTH, 4 * WIDTH, group) for _ in range(2))
        self.downs = nn.ModuleList(Linear(4 * WIDTH, WIDTH, group) for _ in range(2))

    def forward(self, x):
        for i in range(2):
            x = x + self.attentions[i](self.norms[2 * i](x))
            x = x + self.downs[i](functional.gelu(self.ups[i](self.norms[2 * i + 1](x))))
        return x.square().mean()


class Experts(nn.Module):
    """Each token goes to one of the experts, which the ranks of a group share; each expert takes as many."""

    def __init__(self, everyone, experts, owners):
        super().__init__()
        self.gate = Linear(WIDTH, 2 * experts.size(), everyone)
        self.up, self.down = Linear(WIDTH, 4 * WIDTH, owners), Linear(4 * WIDTH, WIDTH, owners)
        self.experts = experts

    def exchange(self, x):
        return funcol.all_to_all_single_autograd(x, None, None, self.experts)

    def forward(self, x):
        scores = self.gate(x.flatten(0, 1)).softmax(-1)
        weight, order = scores.max(-1)[0].sort()
        tokens = self.exchange(x.flatten(0, 1)[order].contiguous())
        tokens = self.exchange(self.down(functional.relu(self.up(tokens))).contiguous())
        return (tokens * weight.unsqueeze(-1)).square().mean()


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        return self.down(functional.relu(self.up(x))).square().mean()


def batch():
    return torch.empty(4, TOKENS, WIDTH)


def dense(dp):
    mesh = init_device_mesh("cpu", (dp,), mesh_dim_names=("dp",))
    return mesh, Dense(mesh.get_group("dp")), batch()


def tensor(dp):
    """The gradients of the data-parallel ranks are averaged by a graph after the backward pass."""
    mesh = init_device_mesh("cpu", (dp, 2), mesh_dim_names=("dp", "tp"))
    return mesh, parallelize_module(Mlp(), mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()}), batch()


def experts(dp):
    mesh = init_device_mesh("cpu", (dp, 2), mesh_dim_names=("dp", "ep"))
    everyone = torch.distributed.group.WORLD
    return mesh, Experts(everyone, mesh.get_group("ep"), mesh.get_group("dp")), batch()


PROGRAMS = {"dense": (dense, 1), "tensor": (tensor, 2), "experts": (experts, 2)}  # with the ranks of one data-parallel rank


def average(parameters, group):
    """The gradients of DTensors, averaged over the group."""
    return [funcol.all_reduce(p.grad.to_local(), "avg", group) for p in parameters]


def program(capture, name, dp, how="meta"):
    """A step of the program, by `python -m chakra_et.export`."""
    with torch.device(how):
        capture.mesh, model, data = PROGRAMS[name][0](int(dp))
    capture.compile(model)(data).backward()
    if name == "tensor":
        capture.compile(average, "gradients")(list(model.parameters()), capture.mesh.get_group("dp"))
    capture.compile_step(torch.optim.AdamW(model.parameters()))()
