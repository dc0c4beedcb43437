"""A step takes the state of another one as it lies on the devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near

ROWS, WIDTH, CLASSES = 8, 12, 16
Scope = Callable[[], Any]

TRAINING: dict[str, tuple[Scope, dict[str, Any]]] = {
    "split": (lambda: epl.split(device_count=2), {}),
    "ZeRO v3": (epl.replicate, {"zero.level": "v3"}),
    "split, ZeRO v1": (lambda: epl.split(device_count=2), {"zero.level": "v1"}),
}


def parameters() -> dict[str, jax.Array]:
    random = np.random.default_rng(0)

    def weights(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(0, shape[0] ** -0.5, shape), jnp.float32)

    return {
        "gates": weights(WIDTH, 4 * WIDTH),
        "down": weights(2 * WIDTH, WIDTH),
        "head": weights(WIDTH, CLASSES),
        "bias": weights(CLASSES),
    }


def predict(params: Any, x: jax.Array, fused: bool) -> jax.Array:
    up = x @ params["gates"]
    if fused:
        up = jnp.tanh(up[:, : 2 * WIDTH]) * up[:, 2 * WIDTH :]
    else:
        up = jnp.tanh(up).reshape(-1, 2 * WIDTH, 2).sum(2)
    return (x + up @ params["down"]) @ params["head"] + params["bias"]


def steps(train_scope: Scope, test_scope: Scope | None, fused: bool = False) -> tuple[Any, Any]:
    def train(params: Any, moments: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            with train_scope():
                logits = predict(params, x, fused)
                return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), moments, value

    def test(params: Any, x: jax.Array) -> jax.Array:
        if test_scope is None:
            return predict(params, x, fused)
        with test_scope():
            return predict(params, x, fused)

    return train, test


def data() -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(1)
    x = jnp.asarray(random.normal(size=(ROWS, WIDTH)), jnp.float32)
    return x, jnp.asarray(random.integers(0, CLASSES, ROWS), jnp.int32)


def shardings(plan: Any) -> dict[str, Any]:
    """Of the parameters."""
    return {slot.name: slot.sharding for slot in plan.slots if slot.name.startswith("params")}


def trained(train: Any, config: Any, devices: int = 4) -> tuple[Any, Any, Any]:
    """Parameters and moments after a step on the devices, its plan, and what `jax.jit` makes of them."""
    parallel = epl.parallelize(
        train, state=("params", "moments"), batch=("x", "y"), devices=devices, config=config
    )
    state = (parameters(), jax.tree.map(jnp.zeros_like, parameters()))
    plan = parallel.lower(*state, *data()).compile().plan
    *found, _ = parallel(*state, *data())
    *expected, _ = jax.jit(train)(*state, *data())
    return found, plan, expected


@pytest.mark.parametrize("fused", [False, True], ids=["", "fused"])
@pytest.mark.parametrize("scope", [None, epl.replicate, lambda: epl.split(device_count=2)])
@pytest.mark.parametrize("kind", TRAINING)
def test_an_evaluation_leaves_parameters_where_they_are(kind: str, scope: Scope | None, fused: bool) -> None:
    train_scope, config = TRAINING[kind]
    train, test = steps(train_scope, scope, fused)
    state, plan, expected = trained(train, config)
    evaluate = epl.parallelize(test, batch="x", devices=4)
    lowered = evaluate.lower(state[0], data()[0])
    if kind == "ZeRO v3" and scope is not None and scope is not epl.replicate:
        assert "epl.arrives" in lowered.as_text()  # on a mesh without an axis to split over
        assert lowered.compile().layout == "cpu:4 = data 2, model 2"
    else:
        assert any(any(sharding) for sharding in shardings(plan).values())
        assert shardings(lowered.compile().plan).items() <= shardings(plan).items()
    found = evaluate(state[0], data()[0])
    assert_near(found, jax.jit(test)(expected[0], data()[0]), 1e-4)


def test_training_goes_on_with_other_batches_in_the_same_layout() -> None:
    train, _ = steps(*2 * [TRAINING["split"][0]])
    parallel = epl.parallelize(train, state=("params", "moments"), batch=("x", "y"), devices=4)
    *state, _ = parallel(parameters(), jax.tree.map(jnp.zeros_like, parameters()), *data())
    shorter = [part[:4] for part in data()]
    lowered = parallel.lower(*state, *shorter)
    assert "epl.arrives" in lowered.as_text()
    *more, loss = parallel(*state, *shorter)
    assert {leaf.device_sharding for leaf in jax.tree.leaves(more)} == {
        leaf.device_sharding for leaf in jax.tree.leaves(lowered.compile()(*more, *shorter)[:2])
    }
    assert np.isfinite(loss)


def test_what_the_user_says_of_a_parameter_counts_more() -> None:
    train, _ = steps(TRAINING["split"][0], None)
    state, plan, expected = trained(train, {}, devices=2)
    head = shardings(plan)["params['head']"]
    other = 1 - next(dim for dim, axes in enumerate(head) if axes)
    _, test = steps(train, lambda: epl.split(device_count=2, dims={"head": other}))

    def update(params: Any, x: jax.Array) -> Any:
        return jax.tree.map(lambda p: p + test(params, x).sum(), params)

    parallel = epl.parallelize(update, state="params", batch="x", devices=2)
    found = shardings(parallel.lower(state[0], data()[0]).compile().plan)
    assert found["params['head']"][other] == ["model"]
    assert found["params['down']"] == shardings(plan)["params['down']"]
    assert_near(parallel(state[0], data()[0]), jax.jit(update)(expected[0], data()[0]), 1e-4)


@pytest.mark.parametrize("devices", [1, 2, 8])
def test_on_other_devices_it_is_distributed_anew(devices: int) -> None:
    train, test = steps(TRAINING["split"][0], None)
    state, _, expected = trained(train, {})
    evaluate = epl.parallelize(test, batch="x", devices=devices)
    assert "epl.arrives" not in evaluate.lower(state[0], data()[0]).as_text()
    assert_near(evaluate(state[0], data()[0]), jax.jit(test)(expected[0], data()[0]), 1e-4)


def test_on_more_devices_for_each_copy_it_is_distributed_anew() -> None:
    train, test = steps(TRAINING["split"][0], lambda: epl.split(device_count=4))
    state, _, expected = trained(train, {})
    evaluate = epl.parallelize(test, batch="x", devices=4)
    compiled = evaluate.lower(state[0], data()[0]).compile()
    assert compiled.layout == "cpu:4 = model 4"
    assert_near(evaluate(state[0], data()[0]), jax.jit(test)(expected[0], data()[0]), 1e-4)


def test_copies_say_nothing_of_a_layout() -> None:
    train, _ = steps(epl.replicate, None)
    state, _, _ = trained(train, {}, devices=2)
    split, _ = steps(TRAINING["split"][0], None)
    parallel = epl.parallelize(split, state=("params", "moments"), batch=("x", "y"), devices=2)
    lowered = parallel.lower(*state, *data())
    assert "epl.arrives" not in lowered.as_text()
    assert lowered.compile().layout == "cpu:2 = model 2"


def test_the_reference_knows_no_layout() -> None:
    train, test = steps(TRAINING["split"][0], None)
    state, _, _ = trained(train, {})
    epl.parallelize(test, batch="x", devices=4).lower(state[0], data()[0]).compile().check(
        state[0], data()[0]
    )
