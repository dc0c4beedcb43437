"""torch.optim's SGD, Adam and AdamW on torch's own state; optax."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import optax
import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import SGD, Adam, AdamW

import epl
from torch_models import assert_same_state, eager

Make = Callable[[nn.Module], torch.optim.Optimizer]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def loss(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    with epl.replicate():
        return F.cross_entropy(module(x), y)


def perceptron() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4))


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    return torch.randn(8, 16), torch.randint(0, 4, (8,))


def grouped(kind: Any, **options: Any) -> Make:
    def make(module: nn.Module) -> torch.optim.Optimizer:
        biases = [p for name, p in module.named_parameters() if name.endswith("bias")]
        weights = [p for name, p in module.named_parameters() if name.endswith("weight")]
        return kind([{"params": weights, **options}, {"params": biases, "lr": 0.003}], 0.01)

    return make


def of(kind: Any, *args: Any, **options: Any) -> Make:
    return lambda module: kind(module.parameters(), *args, **options)


OPTIMIZERS: dict[str, Make] = {
    "SGD": of(SGD, 0.1),
    "SGD, decay": of(SGD, 0.1, weight_decay=0.1),
    "SGD, momentum, dampened": of(SGD, 0.1, 0.9, dampening=0.5),
    "SGD, Nesterov": of(SGD, 0.1, 0.9, nesterov=True, weight_decay=0.01),
    "SGD, upwards": of(SGD, 0.1, maximize=True),
    "SGD, groups": grouped(SGD, momentum=0.9),
    "Adam": of(Adam, 0.01),
    "Adam, amsgrad": of(Adam, 0.01, amsgrad=True, weight_decay=0.1),
    "Adam, upwards": of(Adam, 0.01, betas=(0.8, 0.9), maximize=True),
    "AdamW": of(AdamW, 0.01, weight_decay=0.1),
    "AdamW, a tensor as rate": lambda module: AdamW(module.parameters(), torch.tensor(0.01)),
    "AdamW, groups": grouped(AdamW, weight_decay=0.5, amsgrad=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_updates_as_torch(name: str) -> None:
    ours, data = perceptron(), batch()
    theirs = copy.deepcopy(ours)
    optimizer, reference = OPTIMIZERS[name](ours), OPTIMIZERS[name](theirs)
    step = epl.torch.parallelize(ours, loss, optimizer, devices=2)
    for _ in range(4):
        np.testing.assert_allclose(step(*data), eager(theirs, loss, reference, *data), rtol=1e-5)
    assert_same_state(step.state_dict()["module"], theirs.state_dict())
    found, expected = step.state_dict()["optimizer"], reference.state_dict()
    assert found["param_groups"] == expected["param_groups"]
    assert list(found["state"]) == list(expected["state"])
    for index, entry in expected["state"].items():
        if entry.get("momentum_buffer", 0) is not None:
            assert_same_state(found["state"][index], entry)
    reference.load_state_dict(found)


def test_a_schedule_compiles_nothing_anew(caplog: pytest.LogCaptureFixture) -> None:
    ours, data = perceptron(), batch()
    theirs = copy.deepcopy(ours)
    make = of(AdamW, 0.01)
    optimizers = make(ours), make(theirs)
    schedules = [torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch)) for o in optimizers]
    step = epl.torch.parallelize(ours, loss, optimizers[0], devices=2)
    with caplog.at_level(logging.DEBUG, "epl"):
        for _ in range(4):
            step(*data)
            eager(theirs, loss, optimizers[1], *data)
            for schedule in schedules:
                schedule.step()
    assert [record.message for record in caplog.records if record.name == "epl"] == ["Sequential: first call"]
    assert_same_state(step.state_dict()["module"], theirs.state_dict())


def test_a_state_that_torch_has_begun_goes_on() -> None:
    ours, data = perceptron(), batch()
    optimizer = SGD(ours.parameters(), 0.1, momentum=0.9, dampening=0.5)
    eager(ours, loss, optimizer, *data)
    theirs = copy.deepcopy(ours)
    reference = SGD(theirs.parameters(), 0.1, momentum=0.9, dampening=0.5)
    reference.load_state_dict(optimizer.state_dict())
    step = epl.torch.parallelize(ours, loss, optimizer, devices=2)
    for _ in range(2):
        step(*data)
        eager(theirs, loss, reference, *data)
    assert_same_state(step.state_dict()["module"], theirs.state_dict())


def test_a_parameter_whose_gradient_comes_later_counts_its_own_steps() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(16, 4), nn.Linear(16, 4)

        def forward(self, x: torch.Tensor, both: bool) -> torch.Tensor:
            return self.a(x) + self.b(x) if both else self.a(x)

    def chosen(module: nn.Module, x: torch.Tensor, y: torch.Tensor, both: bool) -> torch.Tensor:
        with epl.replicate():
            return F.cross_entropy(module(x, both), y)

    torch.manual_seed(0)
    ours = Two()
    theirs = copy.deepcopy(ours)
    make = of(AdamW, 0.01)
    optimizer, reference = make(ours), make(theirs)
    step = epl.torch.parallelize(ours, chosen, optimizer, devices=2)
    for both in (False, True, False, True):
        step(*batch(), both)
        eager(theirs, chosen, reference, *batch(), both)
    assert_same_state(step.state_dict()["module"], theirs.state_dict())
    assert step.state_dict()["optimizer"]["state"][2]["step"] == 2


def test_optax_clips_schedules_and_keeps_types() -> None:
    schedule = optax.linear_schedule(0.1, 0.01, 4)
    optimizer = optax.chain(optax.clip_by_global_norm(0.1), optax.adamw(schedule, weight_decay=0.0))
    ours, data = perceptron(), batch()
    theirs = copy.deepcopy(ours)
    step = epl.torch.parallelize(ours, loss, optimizer, devices=2)
    reference = AdamW(theirs.parameters(), 0.1, weight_decay=0.0)
    for iteration in range(4):
        reference.zero_grad()
        value = loss(theirs, *data)
        value.backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), 0.1)
        reference.param_groups[0]["lr"] = float(schedule(iteration))
        reference.step()
        np.testing.assert_allclose(step(*data), value.item(), rtol=1e-4)
    assert_same_state(step.state_dict()["module"], theirs.state_dict(), 1e-3)
    kept = step.state_dict()
    expected = step(*data)
    step.load_state_dict(kept)
    assert step(*data) == expected
