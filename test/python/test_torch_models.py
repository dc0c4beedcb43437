"""Models of torch.nn and transformers, parallelized, beside torch itself."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch

import epl
from torch_models import MODELS, assert_same_state, eager, make

LAYOUTS = [
    *((name, "replicate", 2) for name in MODELS),
    *((name, "split", 2) for name in MODELS),
    *((name, "split", 4) for name in ("gpt2", "convolutions")),
]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.parametrize(("name", "scope", "devices"), LAYOUTS)
def test_trains_as_torch(name: str, scope: str, devices: int) -> None:
    pytest.importorskip("transformers")
    case = make(name, scope)
    ours = case.module.train()
    theirs = copy.deepcopy(ours)
    # A gradient that is 0 but for rounding must not become an update of full size.
    optimizers = [torch.optim.AdamW(module.parameters(), 1e-3, eps=1e-3) for module in (ours, theirs)]
    step = epl.torch.parallelize(ours, case.loss, optimizers[0], devices=devices)
    for _ in range(3):
        loss = step(*case.batch)
        np.testing.assert_allclose(loss, eager(theirs, case.loss, optimizers[1], *case.batch), rtol=1e-5)
    state = step.state_dict()
    assert_same_state(state["module"], theirs.state_dict())
    assert_same_optimizer(state["optimizer"], optimizers[1].state_dict())


def assert_same_optimizer(found: Any, expected: Any) -> None:
    """Averages of gradients as torch has them, by the largest gradient of the model."""
    assert found["param_groups"] == expected["param_groups"]
    assert list(found["state"]) == list(expected["state"])
    for slot in ("exp_avg", "exp_avg_sq"):
        pairs = [(found["state"][i][slot], entry[slot]) for i, entry in expected["state"].items()]
        largest = max(theirs.abs().max().item() for _, theirs in pairs)
        assert max((ours - theirs).abs().max().item() for ours, theirs in pairs) <= 1e-5 * largest
    assert all(found["state"][i]["step"] == entry["step"] for i, entry in expected["state"].items())


@pytest.mark.parametrize("name", ["gpt2", "lstm", "convolutions"])
def test_backward_work_is_in_the_scope_of_its_forward_work(name: str) -> None:
    """But for sums of gradients, which belong to none."""
    case = make(name)
    optimizer = torch.optim.SGD(case.module.parameters(), 0.1)
    step = epl.torch.parallelize(case.module, case.loss, optimizer, devices=2)
    text = step.lower(*case.batch).as_text()
    backward = text.count('"jit(')
    assert text.count("transpose(jvp(epl.s0))") > 10
    assert text.count("transpose(jvp())") < 0.2 * backward
