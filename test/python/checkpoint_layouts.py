"""One training step in all kinds of layouts, whose states have the same trees: for tests of checkpoints."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl

WIDTH, ROWS = 16, 16
OPTIMIZER = optax.adam(1e-2)
State = tuple[dict[str, Any], Any, jax.Array]


def replicas(count: int = 1, name: str = "all") -> Callable[[], Any]:
    return functools.partial(epl.replicate, count, name=name)


def parts(count: int, name: str = "all") -> Callable[[], Any]:
    return functools.partial(epl.split, count, name=name)


LAYOUTS: dict[str, tuple[int, Callable[[], Any], Callable[[], Any], dict[str, Any] | None]] = {
    "one device": (1, replicas(), replicas(), None),
    "2 replicas": (2, replicas(), replicas(), None),
    "4 replicas": (4, replicas(), replicas(), None),
    "ZeRO v1": (4, replicas(), replicas(), {"zero.level": "v1"}),
    "ZeRO v3": (4, replicas(), replicas(), {"zero.level": "v3"}),
    "split, 2 replicas": (4, parts(2), parts(2), None),
    "split in 4": (4, parts(4), parts(4), None),
    "two stages": (4, replicas(1, "a"), replicas(1, "b"), None),
    "replicas, then split": (4, replicas(2, "a"), parts(2, "b"), None),
}
"""Devices, the scopes of the first and the second half of the model, the configuration."""


def new_state() -> State:
    """Parameters, the optimizer's state with its counts, a typed key."""
    random = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return random.normal(0, shape[0] ** -0.5, shape).astype(np.float32)

    params = {
        "body": {"qkv": weights(WIDTH, 4 * WIDTH), "bias": weights(4 * WIDTH), "out": weights(WIDTH, WIDTH)},
        "head": {"up": weights(WIDTH, 4 * WIDTH), "down": weights(4 * WIDTH, WIDTH), "scale": weights(WIDTH)},
    }
    params["head"]["half"] = params["head"]["down"].astype(jnp.bfloat16)  # type: ignore[index]
    return params, OPTIMIZER.init(params), jax.random.key(7)


def train_step(first: Callable[[], Any], second: Callable[[], Any]) -> Callable[..., Any]:
    """A step with queries of 2 * WIDTH, keys and values of WIDTH in one matrix, which a split cuts each."""

    def loss(params: Any, x: jax.Array, y: jax.Array, noise: jax.Array) -> jax.Array:
        body, head = params["body"], params["head"]
        with first():
            joined = (x + noise) @ body["qkv"] + body["bias"]
            q, k, v = jnp.split(joined, [2 * WIDTH, 3 * WIDTH], 1)
            x = x + jnp.tanh(q[:, :WIDTH] + q[:, WIDTH:]) @ body["out"] + (jnp.tanh(k) * v) @ body["out"]
        with second():
            x = jnp.tanh(x @ head["up"]) @ (head["down"] + head["half"].astype(jnp.float32))
            return jnp.mean((x * head["scale"] - y) ** 2)

    def step(params: Any, opt_state: Any, key: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        key, used = jax.random.split(key)
        noise = 0.01 * jax.random.normal(used, (WIDTH,))
        value, gradients = jax.value_and_grad(loss)(params, x, y, noise)
        updates, opt_state = OPTIMIZER.update(gradients, opt_state)
        return optax.apply_updates(params, updates), opt_state, key, value

    return step


@functools.cache
def parallelized(layout: str) -> epl.Parallelized:
    devices, first, second, config = LAYOUTS[layout]
    return epl.parallelize(
        train_step(first, second),
        state=("params", "opt_state", "key"),
        batch=("x", "y"),
        devices=devices,
        config=config,
        name="train",
    )


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    x = random.normal(size=(ROWS, WIDTH)).astype(np.float32)
    return x, np.tanh(x[:, ::-1])


def trained(layout: str, state: Any, steps: int) -> State:
    """The state after so many steps."""
    for _ in range(steps):
        *state, _ = parallelized(layout)(*state, *data())
    params, opt_state, key = state
    return params, opt_state, key


def tree_of(state: Any) -> dict[str, Any]:
    """As it is saved."""
    return dict(zip(("params", "optimizer", "key"), state, strict=True))


def state_of(tree: dict[str, Any]) -> State:
    return tree["params"], tree["optimizer"], tree["key"]


def layout_of(layout: str) -> dict[str, Any]:
    state = new_state()
    return tree_of(epl.layout_of(parallelized(layout).lower(*state, *data()), state))


def numbers(tree: Any) -> Any:
    """Arrays of NumPy, of keys their numbers; called by all processes."""

    def plain(leaf: Any) -> Any:
        is_key = jnp.issubdtype(getattr(leaf, "dtype", np.int8), jax.dtypes.prng_key)
        return leaf._base_array if is_key else leaf

    return jax.tree.map(np.asarray, epl.gather(jax.tree.map(plain, tree)))


def assert_same(found: Any, expected: Any) -> None:
    """Equal bits, of trees that `numbers` made."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    paths = jax.tree.flatten_with_path(expected)[0]
    for a, (path, b) in zip(jax.tree.leaves(found), paths, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), path
        assert a.tobytes() == b.tobytes(), path
