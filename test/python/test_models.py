"""Every model of test/models on several devices, beside `jax.jit`: losses and states.

On four devices, where models with splits have replicas, too; with EPL_NIGHTLY set also on one and two.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import epl
from models.model import Model
from steps import assert_near

FOLDER = Path(__file__).parents[1] / "models"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "model"))
ROUNDS = 10
COUNTS = (1, 2, 4) if os.environ.get("EPL_NIGHTLY") else (4,)


def train(model: Model, steps: list[Any]) -> tuple[Any, list[float]]:
    """The state and the losses of all steps on ten batches."""
    random, state, losses = np.random.default_rng(7), model.state, []
    for _ in range(ROUNDS):
        batch = model.batch(random)
        for step in steps:
            state, loss = step(state, batch)
            losses.append(float(loss))
    return state, losses


@pytest.mark.parametrize("name", NAMES)
def test_trains_as_jax_does(name: str) -> None:
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    for devices in COUNTS:
        steps = [epl.parallelize(s, state="state", batch=1, devices=devices) for s in model.steps]
        found, losses = train(model, steps)
        np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
        assert_near(found, expected, 10 * model.tolerance)
