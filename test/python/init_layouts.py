"""Steps in all kinds of layouts, and what makes their states: for tests of `epl.init_state`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

import epl

WIDTH, LAYERS = 16, 4
KEY = jax.random.PRNGKey(7)
OPTIMIZER = optax.adam(1e-2)
Tree = Any
Scope = Callable[[], contextlib.AbstractContextManager[Any]]


def uniform(key: jax.Array, *shape: int) -> jax.Array:
    return jax.random.uniform(key, shape, minval=-1)


def normalised(key: jax.Array, *shape: int) -> jax.Array:
    w = jax.random.truncated_normal(key, -2, 2, shape)
    return w / jnp.sqrt(jnp.mean(w * w))


def parameters(key: jax.Array) -> dict[str, jax.Array]:
    """Random bits, statistics of a parameter, segments (gates), unequal parts (qkv), constants, counters."""
    keys = jax.random.split(key, 6)
    return {
        "qkv": uniform(keys[0], WIDTH, 2 * WIDTH),
        "out": normalised(keys[1], WIDTH, WIDTH),
        "gates": normalised(keys[2], WIDTH, 4 * WIDTH),
        "down": jax.random.normal(keys[3], (2 * WIDTH, WIDTH)) / 4,
        "bias": jnp.zeros(WIDTH),
        "table": jnp.sin(jnp.arange(WIDTH * WIDTH, dtype=jnp.float32).reshape(WIDTH, WIDTH)),
        "whole": jax.random.randint(keys[4], (WIDTH,), 0, 9).astype(jnp.float32),
    }


def stacked(key: jax.Array) -> dict[str, jax.Array]:
    """A row for each layer."""
    keys = jax.random.split(key, LAYERS)
    return {"w": jax.vmap(lambda key: normalised(key, WIDTH, WIDTH))(keys), "b": jnp.zeros((LAYERS, WIDTH))}


def states(make: Callable[[jax.Array], Tree]) -> Callable[[jax.Array], Tree]:
    def init(key: jax.Array) -> Tree:
        params = make(key)
        return params, OPTIMIZER.init(params)

    return init


def trained(loss: Callable[[Tree, jax.Array], jax.Array]) -> Callable[..., Tree]:
    def train_step(params: Tree, opt_state: Tree, x: jax.Array) -> Tree:
        value, gradients = jax.value_and_grad(loss)(params, x)
        updates, opt_state = OPTIMIZER.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value

    return train_step


def block(p: Tree, x: jax.Array) -> jax.Array:
    parts = jnp.split(x @ p["qkv"], [WIDTH, WIDTH + WIDTH // 2], axis=1)
    q, k, v = (part.reshape(len(x), 4, -1, WIDTH // 8) for part in parts)  # two queries for each key
    x = x + (q * k + v).reshape(x.shape) @ p["out"] + p["bias"] + p["whole"]
    narrow, wide = jnp.split(x @ p["gates"], 2, axis=1)
    return x + (jax.nn.silu(narrow) * wide) @ p["down"] @ p["table"]


def in_one(scope: Scope) -> Callable[[Tree, jax.Array], jax.Array]:
    def loss(p: Tree, x: jax.Array) -> jax.Array:
        with scope():
            return (block(p, x) ** 2).mean()

    return loss


def body_and_head(p: Tree, x: jax.Array) -> jax.Array:
    with epl.replicate(name="body"):
        h = jnp.tanh(x @ p["out"] + p["bias"] + p["whole"])
    with epl.split(device_count=2, name="head"):
        narrow, wide = jnp.split(h @ p["gates"], 2, axis=1)
        y = (narrow * wide) @ p["down"] @ p["table"]
        return (y**2).mean() + ((h @ p["qkv"]) ** 2).mean()


def scanned(p: Tree, x: jax.Array) -> jax.Array:
    with epl.auto_stages(2):
        h, _ = lax.scan(lambda h, row: (jnp.tanh(h @ row["w"] + row["b"]), None), x, p)
        return (h * h).mean()


@dataclass(frozen=True)
class Layout:
    loss: Callable[[Tree, jax.Array], jax.Array]
    devices: int
    config: dict[str, Any] = field(default_factory=dict)
    make: Callable[[jax.Array], Tree] = parameters


def split2() -> Any:
    return epl.split(device_count=2)


LAYOUTS = {
    "one device": Layout(in_one(epl.replicate), 1),
    "data parallel": Layout(in_one(epl.replicate), 4),
    "ZeRO v1": Layout(in_one(epl.replicate), 4, {"zero.level": "v1"}),
    "ZeRO v2": Layout(in_one(epl.replicate), 2, {"zero.level": "v2"}),
    "ZeRO v3": Layout(in_one(epl.replicate), 4, {"zero.level": "v3"}),
    "split": Layout(in_one(split2), 2),
    "split on 4, ZeRO v1": Layout(in_one(split2), 4, {"zero.level": "v1"}),
    "colocated": Layout(body_and_head, 4, {"cluster.colocate_split_and_replicate": True}),
    "two meshes": Layout(body_and_head, 3),
    "two meshes, two replicas": Layout(body_and_head, 6),
    "pipeline": Layout(body_and_head, 3, {"pipeline.num_micro_batch": 2}),
    "rows in stages": Layout(scanned, 4, {"pipeline.num_micro_batch": 2, "zero.level": "v1"}, stacked),
}


def lowered(layout: Layout, init: Callable[[jax.Array], Tree]) -> tuple[epl.Parallelized, epl.Lowered]:
    step = epl.parallelize(
        trained(layout.loss),
        state=("params", "opt_state"),
        batch="x",
        devices=layout.devices,
        config=layout.config,
    )
    return step, step.lower(*jax.eval_shape(init, KEY), jax.ShapeDtypeStruct((24, WIDTH), jnp.float32))


def addresses(tree: Tree) -> list[list[int]]:
    """Where the devices hold arrays."""
    return [
        [array.__array_interface__["data"][0] for _, _, array, _ in leaf.buffer.shards()]
        for leaf in jax.tree.leaves(tree)
    ]
