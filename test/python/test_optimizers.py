"""Optimizers of optax that do more than add up: loops, branches, random numbers, inner optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen as nn
from flax.training.dynamic_scale import DynamicScale
from flax.training.train_state import TrainState

import epl
from steps import assert_agrees, batches, mlp, mlp_parameters

X, Y = batches(1, 8)[0]
RATE = 1e-3
SHAPES = (12, 16, 10)


def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    with epl.replicate():
        return optax.softmax_cross_entropy_with_integer_labels(mlp(params, x), y).mean()


PARTS = {name: "trained" if name.startswith("w") else "frozen" for name in mlp_parameters(SHAPES)}
OPTIMIZERS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "finite": lambda: optax.apply_if_finite(optax.adam(RATE, eps=1e-2), 3),
    "parts": lambda: optax.multi_transform(
        {"trained": optax.lion(RATE), "frozen": optax.set_to_zero()}, PARTS
    ),
    "noise": lambda: optax.chain(optax.add_noise(0.01, 0.5, jax.random.key(0)), optax.sgd(0.1)),
    "clipped by layer": lambda: optax.chain(
        optax.adaptive_grad_clip(0.01), optax.sgd(0.1, 0.9, nesterov=True)
    ),
    "factored": lambda: optax.adafactor(RATE, min_dim_size_to_factor=8),
    "schedule free": lambda: optax.contrib.schedule_free_adamw(RATE, eps=1e-2),
    "orthogonal": lambda: optax.contrib.muon(RATE),
    "sharpness": lambda: optax.contrib.sam(
        optax.sgd(0.1), optax.chain(optax.contrib.normalize(), optax.sgd(0.05)), sync_period=2
    ),
    "plateau": lambda: optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau(patience=1, rtol=0.5)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name: str) -> None:
    optimizer = OPTIMIZERS[name]()

    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        extra = {"value": value} if name == "plateau" else {}
        updates, state = optimizer.update(gradients, state, params, **extra)
        return optax.apply_updates(params, updates), state, value

    params = mlp_parameters(SHAPES)
    assert_agrees(step, (params, optimizer.init(params)), X, Y, rounds=5)


def test_gradients_accumulated_by_a_scan_and_scaled() -> None:
    def step(params: Any, scale: DynamicScale, x: jax.Array, y: jax.Array) -> Any:
        def add(gradients: Any, part: Any) -> Any:
            _, finite, value, more = scale.value_and_grad(loss)(params, *part)
            return jax.tree.map(jnp.add, gradients, more), (value, finite)

        parts = x.reshape(4, -1, x.shape[1]), y.reshape(4, -1)
        gradients, (values, finite) = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), parts)
        return jax.tree.map(lambda p, g: p - 0.1 * g / 4, params, gradients), scale, values.mean(), finite

    assert_agrees(step, (mlp_parameters(SHAPES), DynamicScale()), X, Y, rounds=5)


class Network(nn.Module):
    """Statistics of the batch and dropout, for images of bytes."""

    @nn.compact
    def __call__(self, x: jax.Array, is_training: bool = True) -> jax.Array:
        with epl.replicate():
            x = nn.Conv(8, (3, 3), use_bias=False)(x.astype(jnp.float32) / 255)
            x = nn.relu(nn.BatchNorm(use_running_average=not is_training, momentum=0.9)(x)).mean((1, 2))
            return nn.Dense(3)(nn.Dropout(0.3, deterministic=not is_training)(x))


class State(TrainState):
    """What training keeps besides parameters and optimizer."""

    statistics: Any
    averages: Any
    key: jax.Array


def test_a_train_state_with_statistics_and_averages() -> None:
    random = np.random.default_rng(0)
    images, labels = random.integers(0, 255, (8, 6, 6, 1)).astype(np.uint8), Y % 3
    network = Network()
    start = network.init(jax.random.key(0), images, is_training=False)

    def step(state: State, x: jax.Array, y: jax.Array) -> Any:
        key = jax.random.fold_in(state.key, state.step)

        def loss_of(params: Any) -> Any:
            variables = {"params": params, "batch_stats": state.statistics}
            logits, new = state.apply_fn(variables, x, mutable=["batch_stats"], rngs={"dropout": key})
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, y)
            return losses.mean(), (logits, new["batch_stats"])

        (value, (logits, statistics)), gradients = jax.value_and_grad(loss_of, has_aux=True)(state.params)
        state = state.apply_gradients(grads=gradients, statistics=statistics)
        averages = optax.incremental_update(state.params, state.averages, 0.1)
        return state.replace(averages=averages), {"loss": value, "right": (logits.argmax(-1) == y).mean()}

    decay = optax.cosine_decay_schedule(1e-2, 10)
    state = State.create(
        apply_fn=network.apply,
        params=start["params"],
        tx=optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(decay, eps=1e-2)),
        statistics=start["batch_stats"],
        averages=start["params"],
        key=jax.random.key(1),
    )
    assert_agrees(step, (jax.tree.map(jnp.asarray, state),), images, labels)
