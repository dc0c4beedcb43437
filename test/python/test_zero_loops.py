"""ZeRO where layers are stacked: never in the way of a loop that takes the layers, unrolled or not."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
import pytest

import epl
from epl.adapters.jax import loops
from steps import assert_near

WIDTH, HIDDEN, CLASSES, ROWS = 8, 16, 5, 24
LEVELS = ("", "v0", "v1", "v2", "v3")
SCOPES: dict[str, Callable[[], Any]] = {"r": epl.replicate, "s": lambda: epl.split(device_count=2)}
Setting = tuple[int, int, str, str]  # layers, devices, scopes, level


@pytest.fixture(autouse=True)
def keep_short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)


def parameters(layers: int) -> dict[str, jax.Array]:
    """Matrices, scales, and a number for each layer; a head."""
    random = np.random.default_rng(layers)
    shapes = {
        "down": (layers, HIDDEN, WIDTH),
        "gain": (layers,),
        "head": (WIDTH, CLASSES),
        "scale": (layers, WIDTH),
        "up": (layers, WIDTH, HIDDEN),
    }
    return {name: jnp.asarray(random.normal(0, 0.3, shape), jnp.float32) for name, shape in shapes.items()}


def scanned_loss(scopes: str) -> Callable[..., jax.Array]:
    def layer(h: jax.Array, own: Any) -> Any:
        normed = h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6) * own["scale"]
        return h + (1 + own["gain"]) * jnp.tanh(normed @ own["up"]) @ own["down"], None

    def loss(params: Any, x: jax.Array) -> jax.Array:
        with SCOPES[scopes[0]]():
            h, _ = jax.lax.scan(layer, x, {name: p for name, p in params.items() if name != "head"})
        with SCOPES[scopes[1]]():
            return ((h @ params["head"]) ** 2).mean()

    return loss


def scanned_step(scopes: str, optimizer: optax.GradientTransformation) -> Callable[..., Any]:
    def step(params: Any, opt_state: Any, x: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(scanned_loss(scopes))(params, x)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return step


def config(scopes: str, level: str) -> dict[str, Any]:
    shared = {"cluster.colocate_split_and_replicate": scopes.isupper()}
    return {**shared, "zero.level": level} if level else shared


def check(setting: Setting, optimizer: optax.GradientTransformation) -> None:
    """Two steps beside `jax.jit`. Scopes in capitals share their devices."""
    layers, devices, scopes, level = setting
    step = scanned_step(scopes.lower(), optimizer)
    x = np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)
    found = expected = parameters(layers), optimizer.init(parameters(layers))
    parallel = epl.parallelize(
        step, state=(0, 1), batch=2, devices=devices, config=config(scopes, level), name="scanned"
    )
    for _ in range(2):
        *found, value = parallel(*found, x)
        *expected, expected_value = jax.jit(step)(*expected, x)
        np.testing.assert_allclose(value, expected_value, rtol=1e-5)
    assert_near(tuple(found), tuple(expected), 1e-4)


def fits(devices: int, scopes: str) -> bool:
    """Whether the scopes' devices divide these: shared, or one after the other."""
    counts = [2 if scope == "s" else 1 for scope in scopes.lower()]
    return devices % (max(counts) if scopes.isupper() else sum(counts)) == 0


def settings() -> list[Setting]:
    orders = ["".join(order) for order in itertools.product("rs", repeat=2)]
    every = itertools.product(
        range(1, 5), (1, 2, 3, 4, 6, 8), [*orders, *(order.upper() for order in orders)], LEVELS
    )
    return [setting for setting in every if fits(setting[1], setting[2])]


SAMPLED = settings() if os.environ.get("EPL_NIGHTLY") else settings()[3::29]


@pytest.mark.parametrize("setting", SAMPLED, ids=lambda s: f"{s[0]} layers, {s[1]} devices, {s[2]}, {s[3]}")
def test_stacked_layers_train_as_jax_does(setting: Setting) -> None:
    check(setting, optax.adam(1e-2, eps=1e-3))


@pytest.mark.parametrize("level", ["v2", "v3"])
@pytest.mark.parametrize("layers", [2, 4])
def test_a_split_beside_replicas(layers: int, level: str) -> None:
    """A layer's gradient is a sum over the split's devices; what concatenates those of all layers is not."""
    check((layers, 2, "SR", level), optax.sgd(0.1))


def sharded(lowered: epl.Lowered, name: str) -> str:
    """How the listing of the global program writes a parameter: "f32[4, 8/data]"."""
    lines = lowered.as_text("global").splitlines()
    line = next(line for line in lines if line.strip().startswith(f"params['{name}']"))
    return line[line.index("f32[") : line.index("]", line.index("f32[")) + 1]


def lower(layers: int, optimizer: optax.GradientTransformation, level: str = "v3") -> epl.Lowered:
    x = np.ones((ROWS, WIDTH), np.float32)
    state = parameters(layers), optimizer.init(parameters(layers))
    parallel = epl.parallelize(
        scanned_step("rr", optimizer), state=(0, 1), batch=2, devices=2, config=config("RR", level)
    )
    return parallel.lower(*state, x)


@pytest.mark.parametrize("layers", [2, 4])
def test_layers_stay_together(layers: int) -> None:
    """Unless nothing else divides: then a stack is gathered before its loop."""
    lowered = lower(layers, optax.sgd(0.1))
    assert sharded(lowered, "up") == f"f32[{layers}, {WIDTH}/data, {HIDDEN}]"
    assert sharded(lowered, "scale") == f"f32[{layers}, {WIDTH}/data]"
    assert sharded(lowered, "gain") == f"f32[{layers}/data]"


def test_momentum_that_is_multiplied_by_layers_is_shared_by_layers() -> None:
    """Muon orthogonalizes each layer's matrix: who has a part of one exchanges it in each product."""
    dims = jax.tree.map(
        lambda p: optax.contrib.MuonDimensionNumbers(1, 2) if p.ndim == 3 else None, parameters(4)
    )
    muon = optax.contrib.muon(1e-2, muon_weight_dimension_numbers=dims)
    assert sharded(lower(4, muon), "up") == f"f32[4/data, {WIDTH}, {HIDDEN}]"
    check((4, 2, "RR", "v1"), muon)
