"""What torch differentiates is what a step differentiates."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import epl
from torch_steps import Forward, Net, assert_trains_as_torch, batch, loss, net, plain, sgd

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def without_gradient(net: Net, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        target = net.a(x)
    return net.b(target + net.a(x))


class Straight(torch.autograd.Function):
    """Rounds, and lets gradients through."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.round(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return 2 * gradient


def through_a_view(net: Net, x: torch.Tensor) -> torch.Tensor:
    h = net.a(x).clone()
    h.view(8, 4, 4)[:, 0] = 0
    return net.b(h)


def in_place(net: Net, x: torch.Tensor) -> torch.Tensor:
    h = net.a(x).clone()
    h[:, :4] = 0
    h[:, 4:8] += 1
    return net.b(h.mul_(2))


def profiled(net: Net, x: torch.Tensor) -> torch.Tensor:
    with torch.profiler.record_function("both"):
        return net.b(F.relu(net.a(x)))


def hooked(net: Net, x: torch.Tensor) -> torch.Tensor:
    h = net.a(x)
    h.register_hook(lambda gradient: 3 * gradient)
    return net.b(h)


def picked(net: Net, x: torch.Tensor) -> torch.Tensor:
    h = net.a(x)
    values, indices = h.topk(3)
    return net.b(torch.zeros_like(h).scatter(1, indices, values) + h.gather(1, indices).sum(1, keepdim=True))


FORWARDS: dict[str, Forward] = {
    "plain": plain,
    "no_grad": without_gradient,
    "detach": lambda net, x: net.b(net.a(x).detach() + net.a(x)),
    "autograd.Function": lambda net, x: net.b(Straight.apply(3 * net.a(x))),
    "write through a view": through_a_view,
    "writes in place": in_place,
    "hook of a gradient": hooked,
    "float64 inside": lambda net, x: net.b(net.a(x).double().cumsum(1).float()),
    "tensors made in forward": lambda net, x: net.b(
        net.a(x) * torch.arange(16.0) + torch.tensor([1.0, 2.0] * 8)
    ),
    "closed-over tensor": lambda net, x, c=torch.linspace(0, 1, 16): net.b(net.a(x) * c),  # noqa: B008
    "checkpoint": lambda net, x: net.b(checkpoint(net.a, x, use_reentrant=False)),
    "checkpoint of the older kind": lambda net, x: checkpoint(net.b, F.relu(net.a(x)), use_reentrant=True),
    "such a checkpoint of an input": lambda net, x: net.b(checkpoint(net.a, x, use_reentrant=True)),
    "profiled": profiled,
    "top-k, scatter, gather": picked,
    "integers": lambda net, x: net.b(net.a(x)) * (torch.arange(8) // 3 % 2)[:, None],
    "einsum": lambda net, x: net.b(torch.einsum("bi,ij->bj", x, net.a.weight)),
    "sort": lambda net, x: net.b(net.a(x).sort(1, descending=True).values),
    "clamp, where": lambda net, x: net.b(torch.where(x > 0, net.a(x).clamp(-0.5, 0.5), x)),
}


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@pytest.mark.parametrize("name", FORWARDS)
def test_differentiates_as_torch(name: str) -> None:
    assert_trains_as_torch(net(FORWARDS[name]), loss, *batch())


def penalized(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    value = loss(module, x, y)
    (gradient,) = torch.autograd.grad(value, x, create_graph=True)
    return value + (gradient**2).sum()


def test_gradient_penalty() -> None:
    assert_trains_as_torch(net(lambda net, x: net.b(torch.tanh(net.a(x)))), penalized, *batch())


def test_ignored_labels_weights_and_smoothing() -> None:
    def smooth(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
        return F.cross_entropy(module(x), torch.where(y == 0, -100, y), weight, label_smoothing=0.1)

    assert_trains_as_torch(net(), smooth, *batch())


@pytest.mark.parametrize("where", ["forward", "call"])
def test_autocast(where: str) -> None:
    def narrow(net: Net, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return plain(net, x)

    if where == "forward":
        step = assert_trains_as_torch(net(narrow), loss, *batch(), tolerance=2e-2)
        assert "bf16" in step.lower(*batch()).as_text()
        return
    module = net()
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    assert "bf16" not in step.lower(*batch()).as_text()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "bf16" in step.lower(*batch()).as_text()


def test_a_module_of_bfloat16() -> None:
    x, y = batch()
    step = assert_trains_as_torch(net().bfloat16(), loss, x.bfloat16(), y, tolerance=3e-2)
    assert all(value.dtype is torch.bfloat16 for value in step.state_dict()["module"].values())
