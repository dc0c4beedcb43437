"""Tensor parallelism: every model of test/models on 2 x 2 devices, and what a transformer exchanges."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near, assert_trains_as_jax, exchanged
from test_models import NAMES, train

LENGTH, WIDTH, HEADS, VOCABULARY, BATCH = 8, 16, 2, 160, 4


@pytest.mark.parametrize("name", NAMES)
def test_every_model_trains_as_jax_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epl, "replicate", lambda *_, **__: epl.split(device_count=2, name="all"))
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    found, losses = train(model, [epl.parallelize(s, state="state", batch=1, devices=4) for s in model.steps])
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(found, expected, 10 * model.tolerance)


def normalize(x: jax.Array, gain: jax.Array) -> jax.Array:
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain


def block(x: jax.Array, params: dict[str, jax.Array]) -> jax.Array:
    """Causal attention and a perceptron, each round a residual."""
    normal = normalize(x, params["gain0"])

    def heads(w: jax.Array) -> jax.Array:
        return (normal @ w).reshape(*x.shape[:2], HEADS, -1).transpose(0, 2, 1, 3)

    scores = heads(params["q"]) @ heads(params["k"]).swapaxes(2, 3) / 3
    masked = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    read = jax.nn.softmax(masked) @ heads(params["v"])
    x = x + read.transpose(0, 2, 1, 3).reshape(x.shape) @ params["o"] + params["bias0"]
    hidden = jax.nn.gelu(normalize(x, params["gain1"]) @ params["up"] + params["bias1"])
    return x + hidden @ params["down"] + params["bias2"]


def transformer(
    layers: int, *transforms: optax.GradientTransformation, dims: dict[str, int | None] | None = None
) -> tuple[Any, Any]:
    """A language model whose vocabulary matrix reads and writes tokens: its step and its state.

    `transforms` of gradients come before AdamW.
    """
    random = np.random.default_rng(0)

    def weights(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(0, shape[-1] ** -0.5, shape), jnp.float32)

    shapes = dict.fromkeys(("q", "k", "v", "o"), (WIDTH, WIDTH))
    shapes |= {"up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH), "gain0": (WIDTH,), "gain1": (WIDTH,)}
    shapes |= {"bias0": (WIDTH,), "bias1": (4 * WIDTH,), "bias2": (WIDTH,)}
    params: dict[str, Any] = {"words": weights(VOCABULARY, WIDTH), "places": weights(LENGTH, WIDTH)}
    params["blocks"] = [{name: weights(*shape) for name, shape in shapes.items()} for _ in range(layers)]
    optimizer = optax.chain(*transforms, optax.adamw(1e-3, eps=1e-2))

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.split(device_count=2, dims=dims):
            h = params["words"][x] + params["places"]
            for each in params["blocks"]:
                h = block(h, each)
            logits = h @ params["words"].T
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(state[0], x, y)
        updates, opt = optimizer.update(gradients, state[1], state[0])
        return (optax.apply_updates(state[0], updates), opt), value

    return step, (params, optimizer.init(params))


@pytest.mark.parametrize("devices", [2, 4])
def test_a_transformer_exchanges_what_megatron_does(devices: int) -> None:
    """Four sums a block, the embedding's, the head's gradient, the denominators and the labels of the loss;
    the maxima of its rows. Data parallelism adds the loss and a sum for each parameter."""
    step, state = transformer(layers=2)
    x, y = np.random.default_rng(1).integers(0, VOCABULARY, (2, BATCH, LENGTH)).astype(np.int32)
    parallel = epl.parallelize(step, state="state", batch=("x", "y"), devices=devices)
    lowered = parallel.lower(state, x, y)
    compiled = lowered.compile()
    parameters, sums = len(jax.tree.leaves(state[0])), exchanged(lowered.as_text("local"))
    assert sums.keys() == {"all_reduce"}
    assert len(sums["all_reduce"]) == 2 * 4 + 4 + 1 + (parameters + 1 if devices == 4 else 0)
    # Each of these waits for the one before it; gradients and the loss are summed at once.
    assert compiled.plan.num_collectives == 2 * 4 + 4 + 1 + (1 if devices == 4 else 0)
    if devices == 2:  # of a sum each of two devices receives as much as the tensor has
        features, rows = BATCH * LENGTH * WIDTH, BATCH * LENGTH
        assert compiled.plan.received_bytes == 4 * ((2 * 4 + 2) * features + 3 * rows)
    assert_trains_as_jax(parallel, step, state, x, y)


def test_a_norm_of_all_gradients_is_one_sum() -> None:
    """Squares of split gradients are pending sums, those of others complete: one member adds them."""
    x, y = np.random.default_rng(1).integers(0, VOCABULARY, (2, BATCH, LENGTH)).astype(np.int32)
    counts = []
    for transforms in ((), (optax.clip_by_global_norm(0.1),)):
        step, state = transformer(2, *transforms)
        parallel = epl.parallelize(step, state="state", batch=("x", "y"), devices=2)
        counts.append(parallel.lower(state, x, y).compile().plan.num_collectives)
    assert counts[1] == counts[0] + 1
    assert_trains_as_jax(parallel, step, state, x, y)


def test_device_count_that_does_not_divide_the_devices_is_an_error() -> None:
    step, state = transformer(layers=1)
    x = np.zeros((3, LENGTH), np.int32)
    with pytest.raises(epl.CompileError, match="split over 2 devices on 3, expected a number of devices"):
        epl.parallelize(step, state="state", batch=("x", "y"), devices=3)(state, x, x)
