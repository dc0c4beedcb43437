"""Models of the literature (test/corpus) on all layouts, beside `jax.jit`: three steps, losses and states.

Two models on four layouts, unless EPL_NIGHTLY is set: that takes minutes.
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
from corpus.layouts import LAYOUTS, Layout
from models.model import Model
from steps import assert_near

FOLDER = Path(__file__).parents[1] / "corpus"
MODELS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "layouts"))
ROUNDS = 3
SOME_MODELS = ["siren", "vq_vae"]
SOME_LAYOUTS = ["split over 2 of 4", "colocated on 2", "apart on 2", "ZeRO v3 on 4"]
NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))


def build(name: str, layout: Layout) -> Model:
    model: Model = importlib.import_module(f"corpus.{name}").build(layout.body, layout.head)
    return model


def train(model: Model, step: Any) -> tuple[Any, list[float]]:
    """The state and the losses of three batches."""
    random, state, losses = np.random.default_rng(7), model.state, []
    for _ in range(ROUNDS):
        state, loss = step(state, model.batch(random))
        losses.append(float(loss))
    return state, losses


@pytest.mark.parametrize("layout", LAYOUTS if NIGHTLY else SOME_LAYOUTS)
@pytest.mark.parametrize("name", MODELS if NIGHTLY else SOME_MODELS)
def test_trains_as_jax_does(name: str, layout: str) -> None:
    chosen = LAYOUTS[layout]
    model = build(name, chosen)
    expected, expected_losses = train(model, jax.jit(model.steps[0]))
    parallel = epl.parallelize(
        model.steps[0], state="state", batch=1, devices=chosen.devices, config=chosen.config
    )
    found, losses = train(model, parallel)
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(found, expected, 10 * model.tolerance)
