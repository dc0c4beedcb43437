"""The training steps that are measured: each a step for one device, its first state and one batch."""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl


@dataclass(frozen=True)
class Model:
    """A training step `step(*state, x, y) -> (*state, loss)` with what it is called on."""

    step: Callable[..., Any]
    state: list[Any]
    batch: tuple[Any, Any]


def mlp(sizes: list[int], batch: int, optimizer: optax.GradientTransformation) -> Model:
    """A perceptron with relu and mean cross entropy on one-hot labels, f32, on random data."""
    rng = np.random.default_rng(0)
    params = [
        {"w": jnp.asarray(rng.normal(0, np.sqrt(2 / n), (n, m)), jnp.float32), "b": jnp.zeros(m)}
        for n, m in itertools.pairwise(sizes)
    ]

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss_fn(params: Any) -> jax.Array:
            with epl.replicate():
                h = x
                for layer in params[:-1]:
                    h = jax.nn.relu(h @ layer["w"] + layer["b"])
                logits = h @ params[-1]["w"] + params[-1]["b"]
                return optax.softmax_cross_entropy(logits, jax.nn.one_hot(y, sizes[-1])).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    x = rng.normal(size=(batch, sizes[0])).astype(np.float32)
    y = rng.integers(0, sizes[-1], batch).astype(np.int32)
    return Model(step, [params, optimizer.init(params)], (x, y))


def transformer(
    layers: int, width: int, heads: int, length: int, batch: int, optimizer: optax.GradientTransformation
) -> Model:
    """Pre-norm blocks of attention and gelu, mean square error against random targets, f32."""
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> jax.Array:
        return jnp.asarray(rng.normal(0, shape[0] ** -0.5, shape), jnp.float32)

    params = [
        {
            "qkv": weight(width, 3 * width),
            "out": weight(width, width),
            "up": weight(width, 4 * width),
            "down": weight(4 * width, width),
            "gains": jnp.ones((2, width)),
        }
        for _ in range(layers)
    ]

    def norm(x: jax.Array, gain: jax.Array) -> jax.Array:
        x = x - x.mean(-1, keepdims=True)
        return gain * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def block(layer: Any, x: jax.Array) -> jax.Array:
        b, t, d = x.shape
        qkv = norm(x, layer["gains"][0]) @ layer["qkv"]
        q, k, v = (part.reshape(b, t, heads, d // heads) for part in jnp.split(qkv, 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(b, t, d) @ layer["out"]
        return x + jax.nn.gelu(norm(x, layer["gains"][1]) @ layer["up"]) @ layer["down"]

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss_fn(params: Any) -> jax.Array:
            with epl.replicate():
                h = x
                for layer in params:
                    h = block(layer, h)
                return ((h - y) ** 2).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    x, y = rng.normal(size=(2, batch, length, width)).astype(np.float32)
    return Model(step, [params, optimizer.init(params)], (x, y))


MODELS = {
    "digits": functools.partial(mlp, [64, 512, 512, 10], 128, optax.adam(1e-3)),
    "MLP 1024": functools.partial(mlp, [784, 1024, 1024, 10], 256, optax.sgd(1e-2)),
    "MLP 2048": functools.partial(mlp, [784, 2048, 2048, 10], 1024, optax.sgd(1e-2)),
    "transformer": functools.partial(transformer, 2, 256, 4, 128, 16, optax.adamw(1e-3)),
}
