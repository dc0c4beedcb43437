"""A small module and its training beside torch, for the tests."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

import epl
from torch_models import assert_same_state, eager

Forward = Callable[["Net", torch.Tensor], torch.Tensor]


class Net(nn.Module):
    """Two layers, which a function puts together."""

    def __init__(self, forward: Forward, scope: Any = epl.replicate) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(16, 16), nn.Linear(16, 4)
        self.run = forward
        self.scope = scope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.scope():
            return self.run(self, x)


def plain(net: Net, x: torch.Tensor) -> torch.Tensor:
    return net.b(F.relu(net.a(x)))


def loss(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(module(x).float(), y)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(8, 16), torch.randint(0, 4, (8,))


def net(forward: Forward = plain, scope: Any = epl.replicate) -> Net:
    torch.manual_seed(0)
    return Net(forward, scope)


def sgd(module: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.SGD(module.parameters(), 0.1)


def assert_trains_as_torch(
    module: nn.Module,
    loss_fn: Any,
    *data: Any,
    tolerance: float = 1e-5,
    make: Any = sgd,
    rounds: int = 3,
    **options: Any,
) -> epl.torch.Step:
    """Some steps on two devices beside torch; gives ours."""
    theirs = copy.deepcopy(module)
    optimizer = make(theirs)
    step = epl.torch.parallelize(module, loss_fn, make(module), devices=2, **options)
    for _ in range(rounds):
        found = step(*data)
        np.testing.assert_allclose(found, eager(theirs, loss_fn, optimizer, *data), rtol=tolerance)
    assert_same_state(step.state_dict()["module"], theirs.state_dict(), tolerance)
    return step
