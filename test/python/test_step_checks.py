"""`epl.check`: a step that fails names the user's line and values, and keeps its new states."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from jax import lax
from jax.experimental import checkify

import epl
from steps import assert_near, batches, mlp, mlp_parameters

X = np.arange(24, dtype=np.float32).reshape(12, 2)
DEVICES = pytest.mark.parametrize("devices", [1, 2, 3])


def averaged(w: jax.Array, x: jax.Array) -> Any:
    with epl.replicate():
        mean = (x * w).mean()
        epl.check(mean < 100, "mean is {:.1f}, w {w}", mean, w=w)
        return w + 1, mean


def line_of(function: Any, offset: int) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


@DEVICES
def test_a_check_that_holds_and_one_that_fails(devices: int) -> None:
    step = epl.parallelize(averaged, state="w", batch="x", devices=devices)
    w, mean = step(jnp.ones(2), X)
    assert_near((w, mean), averaged(jnp.ones(2), X), 1e-6)
    with pytest.raises(epl.StepError) as error:
        step(jnp.full(2, 10.0), X)
    assert str(error.value) == f"{line_of(averaged, 3)}: mean is 115.0, w [10. 10.] (averaged)"
    assert str(error.value.place) == line_of(averaged, 3)
    assert_near(error.value.results, (jnp.full(2, 11.0), jnp.float32(115)), 1e-6)


def test_donated_states_are_the_new_ones() -> None:
    step = epl.parallelize(averaged, state="w", batch="x", devices=2)
    w, _ = step(jnp.ones(2), X)
    with pytest.raises(epl.StepError) as error:
        step(w, X * 100)
    np.testing.assert_array_equal(w, [3, 3])
    np.testing.assert_array_equal(error.value.results[0], w)
    step(w, X)  # goes on


def test_states_that_are_not_donated_stay() -> None:
    step = epl.parallelize(averaged, state="w", batch="x", devices=2, donate=False)
    w, _ = step(jnp.ones(2), X)
    with pytest.raises(epl.StepError) as error:
        step(w, X * 100)
    np.testing.assert_array_equal(w, [2, 2])
    np.testing.assert_array_equal(error.value.results[0], [3, 3])


def test_a_step_of_states_only_fails_at_its_call() -> None:
    @epl.parallelize(state="n", devices=2)
    def count(n: jax.Array) -> jax.Array:
        epl.check(n < 1, "counted to {}", n)
        return n + 1

    n = count(jnp.zeros(()))
    with pytest.raises(epl.StepError, match=r"counted to 1.0"):
        count(n)
    assert float(n) == 2


def test_objects_of_nnx_are_updated() -> None:
    @epl.parallelize(state="model", batch="x", devices=2)
    def step(model: nnx.Linear, x: jax.Array) -> jax.Array:
        with epl.replicate():
            model.bias[...] += 1
            epl.check(model(x).sum() > 1e9, "small")
            return model.bias.sum()

    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    for count in (1, 2):
        with pytest.raises(epl.StepError, match="small") as error:
            step(model, X)
        np.testing.assert_array_equal(model.bias[...], [count, count])
        assert float(error.value.results) == 2 * count
    with pytest.raises(epl.StepError, match="small"):
        step.lower(model, X).compile()(model, X)
    np.testing.assert_array_equal(model.bias[...], [3, 3])


@DEVICES
def test_the_first_one_of_a_scan_in_the_order_of_the_program(devices: int) -> None:
    def step(x: jax.Array, limit: jax.Array) -> Any:
        def body(total: jax.Array, i: jax.Array) -> Any:
            for _ in range(30):
                total = total + x.mean() / 30
            epl.check(total < limit, "iteration {}: {:.0f}", i, total)
            epl.check(i < 9, "iteration {} is late", i)
            return total, total

        with epl.replicate():
            return lax.scan(body, 0.0, jnp.arange(12))

    parallel = epl.parallelize(step, batch="x", devices=devices)
    with pytest.raises(epl.StepError, match="iteration 3: 46"):
        parallel(X, 40.0)
    with pytest.raises(epl.StepError, match="iteration 9 is late"):
        parallel(X, 1e9)


@DEVICES
def test_branches_and_batches_of_jax(devices: int) -> None:
    def step(x: jax.Array, taken: jax.Array) -> Any:
        def branch(x: jax.Array) -> jax.Array:
            epl.check(x.sum() < 0, "branch {}", x.sum())
            return x * 2

        def row(row: jax.Array, other: jax.Array) -> jax.Array:
            epl.check(row < 20, "{} of {}", row, other)
            return (row**2).sum()

        with epl.replicate():
            x = lax.cond(taken, branch, lambda x: x, x)
            return jax.vmap(row, (0, None))(x, x[0, 1]).sum()

    parallel = epl.parallelize(step, batch="x", devices=devices)
    assert_near(parallel(X - 10, False), step(jnp.asarray(X - 10), False), 1e-6)
    with pytest.raises(epl.StepError, match=r"branch 276.0"):
        parallel(X, True)
    with pytest.raises(epl.StepError, match=re.escape("[20. 21.] of 1.0, in element 10 of jax.vmap")):
        parallel(X, False)


def training(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
    def loss_of(params: Any) -> jax.Array:
        with epl.replicate():
            loss = optax.softmax_cross_entropy(mlp(params, x), jax.nn.one_hot(y, 10)).mean()
            epl.check(jnp.isfinite(loss), "the loss is {}", loss)
            return loss

    loss, gradients = jax.value_and_grad(loss_of)(params)
    epl.check(optax.tree.norm(gradients) < 1e6, "gradients explode")
    updates, state = optax.adam(1e-3, eps=1e-2).update(gradients, state, params)
    return optax.apply_updates(params, updates), state, loss


@pytest.mark.parametrize("level", ["", "v1", "v2", "v3"])
def test_training_with_checks(level: str) -> None:
    params = mlp_parameters()
    state = optax.adam(1e-3, eps=1e-2).init(params)
    [(x, y)] = batches(1)
    step = epl.parallelize(
        training,
        state=("params", "state"),
        batch=("x", "y"),
        devices=2,
        config={"zero.level": level},
        donate=False,
    )
    assert_near(step(params, state, x, y), jax.jit(training)(params, state, x, y), 1e-5)
    step.lower(params, state, x, y).compile().check(params, state, x, y)
    x[5, 3] = np.nan
    with pytest.raises(epl.StepError, match=r": the loss is nan \(training\)"):
        step(params, state, x, y)


def test_meshes_of_their_own() -> None:
    def step(x: jax.Array) -> Any:
        with epl.replicate(name="one"):
            h = x * 2
            epl.check(h.max() < 50, "one {}", h.max())
        with epl.replicate(name="two"):
            g = h + 1
            epl.check(g.max() < 40, "two {}", g.max())
        return g.sum()

    parallel = epl.parallelize(step, batch="x", devices=2)
    parallel(X / 2)
    with pytest.raises(epl.StepError, match=r"two 47.0"):
        parallel(X)
    with pytest.raises(epl.StepError, match=r"one 69.0"):
        parallel(X * 1.5)


def test_padding_is_checked_as_the_sample_it_repeats() -> None:
    @epl.parallelize(batch="x", devices=2, pad_batch=True)
    def step(x: jax.Array, mask: jax.Array) -> jax.Array:
        epl.check(x[:, 0] < 5, "{}", x[:, 0])
        return x * 2

    assert step(X[:3]).shape == (3, 2)
    with pytest.raises(epl.StepError, match=r"\[0. 2. 4. 6. 8. 8.\]") as error:
        step(X[:5])
    np.testing.assert_array_equal(error.value.results, X[:5] * 2)


def test_a_loaded_plan_checks(tmp_path: Path) -> None:
    lowered = epl.parallelize(averaged, state="w", batch="x", devices=2).lower(jnp.ones(2), X)
    lowered.compile().save(tmp_path / "step.eplan")
    for like in (None, lowered):
        loaded = epl.load(tmp_path / "step.eplan", like=like)
        assert len(loaded(jnp.ones(2), X)) == 2
        with pytest.raises(epl.StepError, match=r"mean is 115.0, w"):
            loaded(jnp.full(2, 10.0), X)
    (tmp_path / "step.eplan.hidden.npz").unlink()
    with pytest.raises(epl.Error, match=r"hidden.npz\", which is missing"):
        epl.load(tmp_path / "step.eplan")


def test_outside_of_steps_what_is_known_is_checked_at_once() -> None:
    epl.check(jnp.ones(3) > 0, "fine")
    with pytest.raises(epl.StepError) as error:
        epl.check(jnp.arange(3) > 0, "found {}", jnp.arange(3))
    here = test_outside_of_steps_what_is_known_is_checked_at_once
    assert str(error.value) == f"{line_of(here, 3)}: found [0 1 2]"
    with pytest.raises(epl.StepError, match=r"element 0 of jax.vmap"):
        jax.vmap(lambda x: epl.check(x > 0, "found {}", x))(jnp.arange(3))
    with pytest.raises(epl.StepError, match=r"found 2.0"):
        jax.grad(lambda x: (epl.check(x > 3, "found {}", x), x**2)[1])(2.0)
    jax.jit(lambda x: epl.check(x > 0, "found {}", x))(-1.0)


def test_wrong_calls() -> None:
    with pytest.raises(epl.ArgumentError, match="condition of bool, found float32: compare it, as in x > 0"):
        epl.check(jnp.ones(2), "no")
    with pytest.raises(epl.ArgumentError, match="takes a message, found None"):
        epl.check(True, None)  # type: ignore[arg-type]
    with pytest.raises(epl.ArgumentError, match=r"'{} {}' with 1 values: .*; write {{ and }} for braces"):
        epl.check(True, "{} {}", 1.0)
    with pytest.raises(epl.ArgumentError, match=r"'{name}' with 0 values"):
        epl.check(True, "{name}")
    epl.check(True, "{{}}")


@DEVICES
def test_checkify_inside_a_step(devices: int) -> None:
    def safe(x: jax.Array) -> jax.Array:
        checkify.check(x.sum() < 100, "sum is {s}", s=x.sum())
        return jnp.log(x)

    def step(x: jax.Array) -> Any:
        with epl.replicate():
            error, y = checkify.checkify(safe, errors=checkify.user_checks | checkify.nan_checks)(x)
        return error, y

    parallel = epl.parallelize(step, batch="x", devices=devices)
    error, y = parallel(X + 1)
    assert "sum is 300.0" in error.get()
    assert_near(y, np.log(X + 1), 1e-6)
    assert parallel(X / 10 + 1)[0].get() is None
    assert "nan generated" in parallel(X / 10 - 1)[0].get()
