"""Steps as people write them, with flax, optax and what JAX offers, beside `jax.jit` (or `nnx.jit`)."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen as nn

import epl
from steps import Step, assert_agrees, assert_near, mlp

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(8, 12)).astype(np.float32)
Y = RANDOM.normal(size=(8, 3)).astype(np.float32)
Loss = Callable[[Any, jax.Array, jax.Array], jax.Array]


def parameters() -> dict[str, jax.Array]:
    random = np.random.default_rng(0)
    sizes = {"w0": (12, 16), "b0": (16,), "w1": (16, 3), "b1": (3,)}
    return {name: jnp.asarray(random.normal(size=size) / 4, jnp.float32) for name, size in sizes.items()}


def squares(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    with epl.replicate():
        return ((mlp(params, x) - y) ** 2).mean()


def descend(loss: Loss) -> Step:
    """A step of gradient descent."""

    def step(params: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), value

    return step


def optimize(optimizer: optax.GradientTransformation) -> Step:
    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(squares)(params, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    return step


def test_hyperparameters_change_between_calls() -> None:
    optimizer = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3, eps=1e-2)
    function = optimize(optimizer)
    reference = jax.jit(function)
    for devices in (1, 2):
        step = epl.parallelize(function, state=(0, 1), batch=(2, 3), devices=devices)
        found = expected = (parameters(), optimizer.init(parameters()))
        for rate in (1e-3, np.float32(2e-3), jnp.float32(1e-4), 0.5):
            for state in (found[1], expected[1]):
                state.hyperparams["learning_rate"] = rate
            *found, loss = step(*found, X, Y)
            *expected, expected_loss = reference(*expected, X, Y)
            np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
        assert_near(found[0], expected[0], 1e-4)
        assert len(step._lowered) == 1


def test_an_optimizer_of_several_steps() -> None:
    optimizer = optax.MultiSteps(optax.adam(1e-3, eps=1e-2), every_k_schedule=3)
    assert_agrees(optimize(optimizer), (parameters(), optimizer.init(parameters())), X, Y)


def test_gradients_and_their_application_as_two_steps() -> None:
    optimizer = optax.adam(1e-3, eps=1e-2)

    def gradients(params: Any, x: jax.Array, y: jax.Array) -> Any:
        return jax.value_and_grad(squares)(params, x, y)

    def apply(params: Any, state: Any, grads: Any) -> Any:
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    def train(first: Step, second: Step) -> tuple[Any, list[float]]:
        params, state = parameters(), optimizer.init(parameters())
        losses = []
        for _ in range(10):
            loss, grads = first(params, X, Y)
            params, state = second(params, state, grads)
            losses.append(float(loss))
        return params, losses

    expected = train(jax.jit(gradients), jax.jit(apply))
    for devices in (1, 2):
        found = train(
            epl.parallelize(gradients, batch=(1, 2), devices=devices),
            epl.parallelize(apply, state=(0, 1), devices=devices),
        )
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)
        assert_near(found[0], expected[0], 1e-4)


def test_a_gradient_penalty() -> None:
    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate():
            slopes = jax.vmap(jax.grad(lambda v: jnp.tanh(mlp(params, v)).sum()))(x)
            return ((mlp(params, x) - y) ** 2).mean() + ((jnp.linalg.norm(slopes, axis=1) - 1) ** 2).mean()

    assert_agrees(descend(loss), (parameters(),), X, Y)


def test_clipped_gradients_of_every_example() -> None:
    def step(params: Any, key: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        key, now = jax.random.split(key)
        losses, grads = jax.vmap(jax.value_and_grad(squares), (None, 0, 0))(params, x, y)
        norms = jax.vmap(optax.tree.norm)(grads)
        weights = jnp.minimum(1, 0.5 / norms) / len(x)
        noise = 0.01 * jax.random.normal(now, norms.shape).sum()
        params = jax.tree.map(lambda p, g: p - 0.1 * (jnp.tensordot(weights, g, 1) + noise), params, grads)
        return params, key, losses.mean(), norms

    assert_agrees(step, (parameters(), jax.random.key(1)), X, Y)


@pytest.mark.parametrize("name", ["layers", None])
def test_an_inner_jit_in_two_scopes(name: str | None) -> None:
    @jax.jit
    def layer(w: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.tanh(x @ w + b)

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate(name=name):
            x = layer(params["w0"], params["b0"], x)
        with epl.replicate(name=name):
            return ((layer(params["w1"], params["b1"], x) - y) ** 2).mean()

    assert_agrees(descend(loss), (parameters(),), X, Y)


def test_a_scope_inside_of_what_is_called_twice_and_a_default() -> None:
    @jax.jit
    def layer(w: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
        with epl.replicate():
            return jnp.tanh(x @ w + b)

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        x = layer(params["w0"], params["b0"], jnp.sin(x))
        x = layer(params["w1"], params["b1"], x * 2)
        return ((x - y) ** 2).mean()

    epl.set_default_strategy(epl.replicate())
    assert_agrees(descend(loss), (parameters(),), X, Y)


def test_derivatives_of_peoples_own() -> None:
    @jax.custom_vjp
    def sine(x: jax.Array) -> jax.Array:
        return jnp.sin(x)

    sine.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda cosine, g: (2 * g * cosine,))

    @jax.custom_jvp
    def elu(x: jax.Array) -> jax.Array:
        return jnp.where(x > 0, x, jnp.exp(x) - 1)

    elu.defjvps(lambda tangent, value, x: tangent * jnp.where(x > 0, 1, value + 1))
    keep_products = jax.checkpoint_policies.dots_saveable

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate():
            hidden = jax.checkpoint(lambda x: elu(sine(x @ params["w0"])))(x)
            output = jax.checkpoint(lambda h: jnp.tanh(h @ params["w1"]), policy=keep_products)(hidden)
            still = jax.lax.stop_gradient(output)
            return ((output - y) ** 2).mean() + (still * output).mean() + jax.vmap(jnp.sum)(output).mean()

    assert_agrees(descend(loss), (parameters(),), X, Y)


class Network(nn.Module):
    """Layers with a scope inside, and axes that have names for a mesh."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        with epl.replicate():
            initial = nn.with_logical_partitioning(nn.initializers.lecun_normal(), ("in", "out"))
            x = nn.relu(nn.Dense(16, kernel_init=initial)(x))
            return nn.Dense(3)(nn.with_logical_constraint(x, ("batch", "out")))


@pytest.mark.parametrize("with_rules", [False, True], ids=["no rules", "rules"])
def test_a_scope_inside_of_a_flax_module_with_logical_axes(with_rules: bool) -> None:
    network = Network()

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        return ((network.apply(params, x) - y) ** 2).mean()

    rules = [("batch", "data"), ("in", None), ("out", "model")] if with_rules else []
    with nn.logical_axis_rules(rules), warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing to constrain without a mesh
        assert_agrees(descend(loss), (network.init(jax.random.key(0), X),), X, Y)


class Trainer:
    """Keeps what a step needs besides its arguments."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    @epl.parallelize(state="params", batch=("x", "y"), static_argnames="self", devices=2)
    def step(self, params: Any, x: jax.Array, y: jax.Array) -> Any:
        loss, gradients = jax.value_and_grad(squares)(params, x, y)
        return jax.tree.map(lambda p, g: p - self.rate * g, params, gradients), loss

    @epl.parallelize(batch="x", devices=2)
    def predict(self, x: jax.Array) -> jax.Array:
        return x * self.rate


def test_methods_of_a_class() -> None:
    trainers = Trainer(0.1), Trainer(0.2)
    for trainer in (*trainers, *trainers):
        found = trainer.step(parameters(), X, y=Y)
        assert_near(
            found, jax.jit(Trainer.step.__wrapped__, static_argnums=0)(trainer, parameters(), X, Y), 1e-5
        )
    assert len(Trainer.step._lowered) == 2
    with pytest.raises(epl.ArgumentError, match='"self" must be an array, found Trainer: name it in static'):
        trainers[0].predict(X)


@epl.parallelize(batch="x", devices=2)
def double(x: jax.Array) -> jax.Array:
    return x * 2


def test_steps_are_copied_and_pickled_like_functions() -> None:
    double(X)
    assert copy.deepcopy({"step": double})["step"] is double
    assert pickle.loads(pickle.dumps(double)) is double
    unnamed = epl.parallelize(functools.partial(lambda rate, x: x * rate, 2), batch="x")
    assert copy.copy(unnamed) is unnamed
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(unnamed)


def test_a_batch_that_grows_and_shrinks_compiles_twice(caplog: pytest.LogCaptureFixture) -> None:
    step = epl.parallelize(lambda x: x * 2, batch=0, devices=2, name="double")
    with caplog.at_level("DEBUG", "epl"):
        for size in (8, 4, 8, 4):
            np.testing.assert_array_equal(step(X[:size]), X[:size] * 2)
    assert [record.getMessage() for record in caplog.records] == [
        "double: first call",
        'double was compiled for "x" as float32[8, 12], found float32[4, 12]: compiling anew',
    ]


def test_other_settings_compile_anew(caplog: pytest.LogCaptureFixture) -> None:
    step = epl.parallelize(lambda x: x * 2, batch=0, devices=2, name="double")
    step(X)
    with caplog.at_level("DEBUG", "epl"), jax.enable_x64(True):
        step(X)
    assert ["other settings" in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("batch", [{"a": X, "n": 3}, {"a": X, "n": jnp.float32(1)}])
def test_a_scalar_is_no_batch(batch: Any) -> None:
    step = epl.parallelize(lambda x: x["a"] * x["n"], batch="x", devices=2, name="scale")
    with pytest.raises(epl.ArgumentError, match=r"\"x\['n'\]\" is a batch along axis 0, but has only 0 dim"):
        step(batch)
