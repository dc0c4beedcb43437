"""Sequence parallelism: `split.sequence_parallel` beside `jax.jit`, and what devices exchange and keep."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from epl.adapters.jax import loops
from steps import assert_near, assert_trains_as_jax, exchanged
from test_models import train
from test_split import BATCH, LENGTH, VOCABULARY, WIDTH, block, transformer

TRIP_COUNT = 5  # of a loop; few iterations are no loop
FEATURES = f"{BATCH}x{LENGTH}x{WIDTH}xf32"


def words() -> tuple[np.ndarray, np.ndarray]:
    x, y = np.random.default_rng(1).integers(0, VOCABULARY, (2, BATCH, LENGTH)).astype(np.int32)
    return x, y


def parallelized(step: Any, devices: int, shared: bool = True, **config: Any) -> Any:
    config = {key.replace("_", ".", 1): value for key, value in config.items()}
    config["split.sequence_parallel"] = shared
    return epl.parallelize(step, state="state", batch=("x", "y"), devices=devices, config=config)


@pytest.mark.parametrize("layers", [1, 3])
def test_a_block_exchanges_what_megatron_does(layers: int) -> None:
    """Each sum of a block is scattered, and gathered for the next product, in both directions; so are the
    embedding's and the head's gradient. The gains' and the biases' gradients are sums."""
    step, state = transformer(layers)
    x, y = words()
    found = []
    for shared in (False, True):
        lowered = parallelized(step, 2, shared).lower(state, x, y)
        tensors = exchanged(lowered.as_text("local"))
        found.append({kind: Counter(each)[FEATURES] for kind, each in tensors.items()})
        plan = lowered.compile().plan
        found.append((plan.received_bytes, plan.arena_bytes))
    whole, (received, arena), parts, (received_parts, arena_parts) = found
    assert whole == {"all_reduce": 4 * layers + 2}
    assert parts == {"reduce_scatter": 4 * layers + 2, "all_gather": 4 * layers + 2, "all_reduce": 0}
    # Four gradients of a layer, and of the places, each sent and received once.
    assert received_parts == received + 4 * WIDTH * (4 * layers + LENGTH)
    assert arena_parts < arena


@pytest.mark.parametrize(("count", "devices"), [(2, 2), (2, 4), (4, 4), (2, 8)])
@pytest.mark.parametrize("level", ["", "v1", "v3"])
def test_a_transformer_trains_as_jax_does(
    count: int, devices: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = epl.split
    monkeypatch.setattr(epl, "split", lambda **options: split(**{**options, "device_count": count}))
    step, state = transformer(2, optax.clip_by_global_norm(0.1))
    assert_trains_as_jax(parallelized(step, devices, zero_level=level), step, state, *words())


def scanned(remat: bool, dropout: float) -> tuple[Any, Any]:
    """The same transformer, its layers as iterations of a loop, dropout behind each: its step, its state."""
    _, (params, _) = transformer(TRIP_COUNT)
    params["blocks"] = jax.tree.map(lambda *each: jnp.stack(each), *params["blocks"])

    def iteration(h: jax.Array, iteration: Any) -> tuple[jax.Array, None]:
        layer, key = iteration
        h = block(h, layer)
        return jnp.where(jax.random.bernoulli(key, 1 - dropout, h.shape), h / (1 - dropout), 0), None

    def loss(params: Any, keys: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.split(device_count=2):
            h = params["words"][x] + params["places"]
            h, _ = jax.lax.scan(
                jax.checkpoint(iteration) if remat else iteration, h, (params["blocks"], keys)
            )
            logits = h @ params["words"].T
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        key, used = jax.random.split(state[1])
        value, gradients = jax.value_and_grad(loss)(state[0], jax.random.split(used, TRIP_COUNT), x, y)
        return (jax.tree.map(lambda p, g: p - 0.1 * g, state[0], gradients), key), value

    return step, (params, jax.random.key(0))


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("remat", [False, True])
def test_layers_of_a_loop_are_shared(devices: int, remat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes from one iteration to the next is in parts, and so are random bits."""
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)
    step, state = scanned(remat, dropout=0.1)
    parallel = parallelized(step, devices)
    lowered = parallel.lower(state, *words())
    parts = f"f32[{BATCH}{'/data' if devices == 4 else ''}/model, {LENGTH}, {WIDTH}]"
    carried = [line for line in lowered.as_text("global").splitlines() if "= loop_carry(" in line]
    assert [line for line in carried if parts in line] == carried != []
    tensors = exchanged(lowered.as_text("local"))
    # In each iteration 2 of the forward and 2 of the backward work, with the embedding's and the head's
    # gradient. What is computed again is the attention, with what it and the perceptron read.
    assert Counter(tensors["reduce_scatter"])[FEATURES] == 6 + remat
    assert Counter(tensors["all_gather"])[FEATURES] == 6 + 2 * remat
    assert_trains_as_jax(parallel, step, state, *words())


@pytest.mark.parametrize("name", ["gpt", "lora", "moe_top_k", "translator", "vit"])
def test_models_train_as_jax_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epl, "replicate", lambda *_, **__: epl.split(device_count=2, name="all"))
    module = importlib.import_module(f"models.{name}")
    if name in ("gpt", "translator"):  # wide enough that weights are not what is exchanged
        monkeypatch.setattr(module, "WIDTH", 64)
    model = module.build()
    options: dict[str, Any] = {"state": "state", "batch": 1, "devices": 4}
    config = {"split.sequence_parallel": True}
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    found, losses = train(model, [epl.parallelize(s, config=config, **options) for s in model.steps])
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(found, expected, 10 * model.tolerance)
