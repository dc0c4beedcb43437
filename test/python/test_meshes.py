"""Task graphs with devices of their own, beside `jax.jit`."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near, training_step

ROWS, WIDTH, CLASSES = 24, 12, 8
Scopes = list[Callable[[], Any]]

BODY_AND_HEAD: dict[str, Scopes] = {
    "replicate, replicate": [epl.replicate, epl.replicate],
    "replicate, split": [epl.replicate, lambda: epl.split(device_count=2)],
    "split, replicate": [lambda: epl.split(device_count=2), epl.replicate],
    "replicate(2), split(3)": [lambda: epl.replicate(2), lambda: epl.split(3)],
    "four": [epl.replicate] * 4,
}


def count(scopes: Scopes) -> int:
    """The devices of one replica of all scopes."""
    return sum(scope().strategy.device_count for scope in scopes)


def parameters(layers: int) -> dict[str, Any]:
    random = np.random.default_rng(0)
    sizes = [WIDTH] + [WIDTH] * (layers - 1) + [CLASSES]
    return {
        f"layer{i}": {
            "w": jnp.asarray(random.normal(0, 0.4, (sizes[i], sizes[i + 1])), jnp.float32),
            "b": jnp.zeros(sizes[i + 1]),
        }
        for i in range(layers)
    }


def layered(scopes: Scopes) -> Callable[..., jax.Array]:
    """The loss of a network, each layer of which stands in a scope of its own."""

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        for i, scope in enumerate(scopes):
            with scope():
                x = x @ params[f"layer{i}"]["w"] + params[f"layer{i}"]["b"]
                if i + 1 < len(scopes):
                    x = jnp.tanh(x)
                else:
                    return optax.softmax_cross_entropy_with_integer_labels(x, y).mean()
        raise AssertionError

    return loss


def data(seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(ROWS, WIDTH)).astype(np.float32)
    return x, random.integers(0, CLASSES, ROWS).astype(np.int32)


def check(
    step: Any, state: tuple[Any, ...], devices: int, batches: int = 3, config: dict[str, Any] | None = None
) -> Any:
    """Some steps, all results but the last one the next state, as `jax.jit` takes them; the compiled one."""
    names = tuple(range(len(state)))
    batch = (len(state), len(state) + 1)
    parallel = epl.parallelize(step, state=names, batch=batch, devices=devices, config=config)
    compiled = parallel.lower(*state, *data()).compile()
    found = expected = state
    for seed in range(batches):
        *found, value = parallel(*found, *data(seed))
        *expected, expected_value = jax.jit(step)(*expected, *data(seed))
        np.testing.assert_allclose(value, expected_value, rtol=1e-4)
    assert_near(tuple(found), tuple(expected), 1e-4)
    return compiled


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("kind", BODY_AND_HEAD)
def test_layers_side_by_side(kind: str, replicas: int) -> None:
    scopes = BODY_AND_HEAD[kind]
    optimizer = optax.sgd(0.3)
    params = parameters(len(scopes))
    step = training_step(optimizer, layered(scopes))
    compiled = check(step, (params, optimizer.init(params)), replicas * count(scopes))
    assert compiled.layout.count("[") == len(scopes)
    assert compiled.layout.count(f"data {replicas}") == len(scopes)


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize(
    "optimizer",
    [
        optax.adam(1e-2),
        optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(1e-2)),
        optax.sgd(optax.cosine_decay_schedule(0.1, 5), momentum=0.9),
    ],
    ids=["adam", "norm of all gradients", "schedule"],
)
def test_optimizers_across_meshes(optimizer: optax.GradientTransformation, devices: int) -> None:
    scopes = BODY_AND_HEAD["replicate, replicate"]
    params = parameters(2)
    check(training_step(optimizer, layered(scopes)), (params, optimizer.init(params)), devices)


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        *itertools.product(["replicate, replicate", "replicate, split", "four"], ["v1", "v2", "v3"]),
        ("replicate(2), split(3)", "v1"),
        ("replicate(2), split(3)", "v2"),
    ],
)
def test_levels_of_zero_share_the_state_of_a_scope_among_its_devices(kind: str, level: str) -> None:
    """Those that have copies: of the body, which is larger, all that it has in both replicas."""
    scopes, optimizer = BODY_AND_HEAD[kind], optax.adam(1e-2, eps=1e-3)
    params = parameters(len(scopes))
    step = training_step(optimizer, layered(scopes))
    config = {"zero.level": level}
    compiled = check(step, (params, optimizer.init(params)), 2 * count(scopes), config=config)
    body, shares = 4 * (WIDTH * WIDTH + WIDTH), 2 * count(scopes[:1])
    kept = body + 2 * body // shares if level in ("v1", "v2") else 3 * body // shares
    counter = 4  # there or beside the head
    assert compiled.plan.state_bytes in (kept, kept + counter)


@pytest.mark.parametrize("devices", [3, 6])
def test_an_embedding_that_two_meshes_read(devices: int) -> None:
    random = np.random.default_rng(0)
    params = {
        "table": jnp.asarray(random.normal(0, 0.3, (CLASSES, WIDTH)), jnp.float32),
        "w": jnp.asarray(random.normal(0, 0.3, (WIDTH, WIDTH)), jnp.float32),
    }

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate(name="embed"):
            h = params["table"][y] + x
        with epl.replicate(name="middle"):
            h = jnp.tanh(h @ params["w"])
        with epl.replicate(name="head"):
            logits = h @ params["table"].T
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    optimizer = optax.adam(1e-2)
    check(training_step(optimizer, loss), (params, optimizer.init(params)), devices)


def test_a_name_that_is_entered_again_is_the_same_mesh() -> None:
    """What goes out of a mesh comes back to it: no circle of waits."""
    scopes: Scopes = [lambda: epl.replicate(name="a"), lambda: epl.replicate(name="b")] * 2
    params = parameters(4)
    optimizer = optax.sgd(0.2)
    compiled = check(training_step(optimizer, layered(scopes)), (params, optimizer.init(params)), 2)
    assert compiled.layout.count("[") == 2


def test_results_of_several_meshes() -> None:
    """Values of both, a batch as it is, a state that nobody changes, and a constant."""

    def step(w: jax.Array, kept: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        with epl.replicate(name="a"):
            h = jnp.sin(x @ w)
        with epl.replicate(name="b"):
            z = jnp.cos(h).sum(axis=1) + kept
        return w + h.sum(), kept, {"h": h, "z": z, "x": x, "y": y, "zeros": jnp.zeros(3)}

    w, kept = jnp.eye(WIDTH), jnp.float32(2)
    x, y = data()
    parallel = epl.parallelize(step, state=("w", "kept"), batch=("x", "y"), devices=4)
    assert_near(parallel(w, kept, x, y), jax.jit(step)(w, kept, x, y), 1e-4)


def test_a_loop_within_a_scope() -> None:
    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate(name="recurrent"):
            w = params["layer0"]["w"] / 2  # which forgets: rounding does not grow
            x, _ = jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), None), x, length=100)
        with epl.replicate(name="head"):
            logits = x @ params["layer1"]["w"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    optimizer = optax.sgd(0.1)
    params = parameters(2)
    check(training_step(optimizer, loss), (params, optimizer.init(params)), 4)


def test_a_branch_by_a_predicate_of_another_mesh() -> None:
    def step(w: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        with epl.replicate(name="a"):
            h = jnp.tanh(x @ w)
            large = h.mean() > 0
        with epl.replicate(name="b"):
            h = jax.lax.cond(large, lambda h: jnp.sin(h @ w), lambda h: jnp.cos(h @ w @ w), h)
        return w * 0.9, h.sum()

    check(step, (jnp.eye(WIDTH) * 0.3,), 4)


def test_evaluation() -> None:
    scopes = BODY_AND_HEAD["replicate, split"]
    loss = layered(scopes)
    evaluate = epl.parallelize(loss, batch=("x", "y"), devices=6)
    np.testing.assert_allclose(evaluate(parameters(2), *data()), loss(parameters(2), *data()), rtol=1e-5)


@pytest.mark.parametrize("devices", [1, 3])
def test_scopes_without_a_name_share_devices_that_do_not_suffice(devices: int) -> None:
    scopes = BODY_AND_HEAD["replicate, replicate"]
    optimizer = optax.sgd(0.3)
    params = parameters(2)
    compiled = check(training_step(optimizer, layered(scopes)), (params, optimizer.init(params)), devices)
    assert compiled.layout == f"cpu:{devices} = data {devices}"


def test_stages_with_a_name_run_on_one_device_as_well() -> None:
    scopes: Scopes = [lambda: epl.replicate(name="a"), lambda: epl.replicate(name="b")]
    optimizer = optax.sgd(0.3)
    params = parameters(2)
    compiled = check(training_step(optimizer, layered(scopes)), (params, optimizer.init(params)), 1)
    assert compiled.layout == "cpu:1 = data 1"
