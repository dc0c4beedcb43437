"""Objects of flax.nnx as arguments: a step changes them in place, as under `nnx.jit`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import epl
from steps import assert_agrees, assert_near

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(8, 6)).astype(np.float32)
Y = RANDOM.normal(size=(8, 3)).astype(np.float32)


def objects() -> tuple[nnx.Module, nnx.Optimizer, nnx.Metric]:
    rngs = nnx.Rngs(0, dropout=1)
    layers = nnx.Linear(6, 16, rngs=rngs), nnx.BatchNorm(16, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    model = nnx.Sequential(*layers, nnx.relu, nnx.Linear(16, 3, rngs=rngs))
    optimizer = nnx.Optimizer(model, optax.adam(1e-3, eps=1e-2), wrt=nnx.Param)
    return model, optimizer, nnx.metrics.Average()


def squares(model: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    with epl.replicate():
        return ((model(x) - y) ** 2).mean()


def train(model: Any, optimizer: Any, metric: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    loss, gradients = nnx.value_and_grad(squares)(model, x, y)
    optimizer.update(model, gradients)
    metric.update(values=loss)
    return loss


def test_objects_are_updated_in_place() -> None:
    expected, reference = objects(), nnx.jit(train)
    losses = [float(reference(*expected, X, Y)) for _ in range(10)]
    for devices in (1, 2):
        found = objects()
        step = epl.parallelize(
            train, state=("model", "optimizer", "metric"), batch=("x", "y"), devices=devices
        )
        np.testing.assert_allclose([float(step(*found, X, Y)) for _ in range(10)], losses, rtol=1e-5)
        for a, b in zip(found, expected, strict=True):
            assert_near(nnx.to_pure_dict(nnx.state(a)), nnx.to_pure_dict(nnx.state(b)), 1e-4)
        np.testing.assert_allclose(found[2].compute(), expected[2].compute(), rtol=1e-5)
        assert len(step._lowered) == 1


def test_plain_states_come_back_beside_objects() -> None:
    def step(count: jax.Array, model: Any, x: jax.Array) -> Any:
        model.bias[...] += x.mean()
        return count + 1, {"mean": model(x).mean()}

    def step_of_arrays(count: jax.Array, bias: jax.Array, kernel: jax.Array, x: jax.Array) -> Any:
        bias += x.mean()
        return count + 1, bias, {"mean": (x @ kernel + bias).mean()}

    model = nnx.Linear(6, 3, rngs=nnx.Rngs(0))
    count, bias, _ = step_of_arrays(jnp.int32(4), model.bias[...], model.kernel[...], X)
    parallel = epl.parallelize(step, state=("model", "count"), batch="x", devices=2)
    found, result = parallel(jnp.int32(4), model, X)
    assert int(found) == int(count)
    np.testing.assert_allclose(model.bias[...], bias, rtol=1e-5)
    np.testing.assert_allclose(result["mean"], model(X).mean(), rtol=1e-5)
    names = [a.name for a in parallel.lower(count, model, X).arguments]
    assert names == ["count", "model['bias'].value", "model['kernel'].value", "x"]


def test_variables_by_themselves() -> None:
    def step(scale: Any, average: Any, x: jax.Array) -> jax.Array:
        loss, gradient = nnx.value_and_grad(lambda scale: ((x * scale - 1) ** 2).mean())(scale)
        scale[...] -= 0.1 * gradient[...]
        average[...] = 0.9 * average[...] + 0.1 * loss
        return loss

    def variables() -> tuple[nnx.Param, nnx.BatchStat]:
        return nnx.Param(jnp.ones(6)), nnx.BatchStat(jnp.float32(0))

    expected, found = variables(), variables()
    reference = nnx.jit(step)
    parallel = epl.parallelize(step, state=(0, 1), batch="x", devices=2)
    for _ in range(3):
        np.testing.assert_allclose(parallel(*found, X), reference(*expected, X), rtol=1e-5)
    assert_near(jax.tree.leaves(found), jax.tree.leaves(expected), 1e-5)
    with pytest.raises(epl.StateError, match='step changes "average" in place: name it in state'):
        epl.parallelize(step, state="scale", batch="x", devices=2)(*found, X)
    with pytest.raises(epl.ArgumentError, match='"scale" and "average" share the variable'):
        parallel(found[0], found[0], X)


def test_random_streams_and_metrics() -> None:
    def step(rngs: nnx.Rngs, metrics: nnx.MultiMetric, x: jax.Array, labels: jax.Array) -> jax.Array:
        kept = nnx.Dropout(0.5, rngs=rngs)(x) + rngs.noise.uniform(x.shape)
        metrics.update(values=kept.sum(), logits=x, labels=labels)
        return kept

    def objects() -> tuple[nnx.Rngs, nnx.MultiMetric]:
        accuracy, total = nnx.metrics.Accuracy(), nnx.metrics.Average("values")
        return nnx.Rngs(0, noise=1), nnx.MultiMetric(accuracy=accuracy, total=total)

    labels = np.arange(8, dtype=np.int32) % 6
    reference = nnx.jit(step)
    for devices in (1, 2, 4):
        expected, found = objects(), objects()
        parallel = epl.parallelize(step, state=(0, 1), batch=(2, 3), devices=devices)
        for _ in range(3):
            np.testing.assert_array_equal(parallel(*found, X, labels), reference(*expected, X, labels))
        assert int(found[0].dropout.count[...]) == 3
        assert float(found[1].compute()["accuracy"]) == float(expected[1].compute()["accuracy"])
        np.testing.assert_allclose(found[1].compute()["total"], expected[1].compute()["total"], rtol=1e-5)
        found[1].reset()
        assert int(found[1].accuracy.count[...]) == 0


def test_a_compiled_step_updates_objects_too() -> None:
    first, second = objects(), objects()
    step = epl.parallelize(train, state=("model", "optimizer", "metric"), batch=("x", "y"), devices=2)
    compiled = step.lower(*first, X, Y).compile()
    compiled.check(*first, X, Y)
    assert_near(nnx.state(first[0]), nnx.state(second[0]), 0)
    assert float(compiled(*first, X, Y)) == float(step(*second, X, Y))
    assert_near(nnx.state(first[0]), nnx.state(second[0]), 0)
    assert int(first[1].step[...]) == 1


def test_evaluation_takes_an_object_that_it_does_not_change() -> None:
    model, _, _ = objects()
    model.eval()
    evaluate = epl.parallelize(squares, batch=("x", "y"), devices=2)
    np.testing.assert_allclose(evaluate(model, X, Y), squares(model, X, Y), rtol=1e-5)
    model.train()
    with pytest.raises(epl.StateError, match='squares changes "model" in place: name it in state'):
        evaluate(model, X, Y)


def test_states_split_by_people() -> None:
    graph, state = nnx.split(objects()[:2])

    def step(state: Any, x: jax.Array, y: jax.Array) -> Any:
        model, optimizer = nnx.merge(graph, state)
        loss, gradients = nnx.value_and_grad(squares)(model, x, y)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer)), loss

    assert_agrees(step, (state,), X, Y)


def parallelize(step: Any) -> epl.Parallelized:
    return epl.parallelize(step, state="model", batch="x", devices=2)


def test_what_a_step_cannot_do_to_an_object() -> None:
    def grow(model: Any, x: jax.Array) -> None:
        model.last = nnx.Variable(x)

    def switch(model: Any, x: jax.Array) -> None:
        model.eval()

    def give_back(model: Any, x: jax.Array) -> Any:
        return model, x.sum()

    def reshape(model: Any, x: jax.Array) -> None:
        model.layers[0].bias.set_value(jnp.zeros(3))

    for step, message in [
        (grow, r'grow must not add variables to "model" or remove them, found model\[\'last\'\]'),
        (switch, 'switch must not change attributes of "model" that are no variables: call train'),
        (give_back, "give_back returns an object of flax.nnx: states of that kind are updated in place"),
        (reshape, r"same shapes and dtypes: model\['layers'\]\[0\]\['bias'\].value: expected float32\[16\]"),
    ]:
        with pytest.raises(epl.StateError, match=message):
            parallelize(step)(objects()[0], X)


def test_arguments_that_share_a_variable() -> None:
    def step(model: Any, other: Any, x: jax.Array) -> jax.Array:
        return model(x).sum() + other(x).sum()

    model = nnx.Linear(6, 3, rngs=nnx.Rngs(0))
    tied = nnx.Sequential(model, nnx.relu)
    with pytest.raises(epl.ArgumentError, match='"model" and "other" share the variable "layers'):
        epl.parallelize(step, state=(0, 1), batch=2, devices=2)(model, tied, X)
