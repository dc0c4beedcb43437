"""Operations on whole matrices and their gradients, of a batch that devices share, against `jax.jit`.

Values and gradients on one and four devices; with EPL_NIGHTLY set also on two and three.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from matrix_operations import GROUPS, VALUES, Operation, positive
from steps import assert_close, exchanged

COUNTS = (1, 2, 3, 4) if os.environ.get("EPL_NIGHTLY") else (1, 4)
A = np.random.default_rng(0).normal(size=(12, 5, 5)).astype(np.float32)


def with_gradients(operations: Mapping[str, Operation], a: jax.Array) -> dict[str, Any]:
    """The values of all operations, and the gradients of sums of them with fixed weights."""
    found = {}
    for name, operation in operations.items():
        value, pull = jax.vjp(operation, a)
        found[name] = value, pull(jnp.cos(jnp.arange(float(value.size))).reshape(value.shape))
    return found


def assert_each_close(found: Any, expected: Any, tolerance: float) -> None:
    for name in expected:
        assert jax.tree.map(jnp.result_type, found[name]) == jax.tree.map(jnp.result_type, expected[name])
        try:
            assert_close(found[name], expected[name], tolerance)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error


@pytest.fixture(scope="module")
def by_jax() -> Callable[[str], Any]:
    """What `jax.jit` makes of a group: once, for any number of devices."""
    return functools.cache(lambda group: jax.jit(functools.partial(with_gradients, GROUPS[group]))(A))


@pytest.mark.parametrize("devices", COUNTS)
@pytest.mark.parametrize("group", GROUPS)
def test_values_and_gradients_agree_with_jax(group: str, devices: int, by_jax: Callable[[str], Any]) -> None:
    def step(a: jax.Array) -> Any:
        with epl.replicate():
            return with_gradients(GROUPS[group], a)

    found = epl.parallelize(step, batch="a", devices=devices, name=group)(A)
    assert_each_close(found, by_jax(group), 1e-4)


@pytest.mark.parametrize("devices", [1, 3])
def test_values_alone_agree_with_jax(devices: int) -> None:
    def step(a: jax.Array) -> Any:
        with epl.replicate():
            return {name: operation(a) for name, operation in VALUES.items()}

    assert_each_close(epl.parallelize(step, batch="a", devices=devices)(A), jax.jit(step)(A), 1e-5)


def test_double_precision() -> None:
    some = {**GROUPS["cholesky"], **GROUPS["lu"], **GROUPS["qr"], **GROUPS["eigh"], **GROUPS["svd"]}

    def step(a: jax.Array) -> Any:
        with epl.replicate():
            return {name: operation(a) for name, operation in some.items()}

    with jax.enable_x64(True):
        a = A.astype(np.float64)
        assert_each_close(epl.parallelize(step, batch="a", devices=2)(a), jax.jit(step)(a), 1e-12)


def test_a_batch_of_matrices_is_factored_where_it_is() -> None:
    """Nothing is exchanged, and each device has its part of the matrices."""

    def step(a: jax.Array) -> Any:
        with epl.replicate():
            v = jnp.linalg.eigh(positive(a))[1]
            return jax.vmap(lambda p, b: jax.scipy.linalg.solve_triangular(p, b))(a, v)

    text = epl.parallelize(step, batch="a", devices=4).lower(A).as_text(stage="local")
    assert exchanged(text) == {}
    assert re.search("epl.factorize +eigh", text)
    assert "tensor<3x5x5xf32>, tensor<3x5x5xf32>" in text


def test_right_hand_sides_are_solved_where_they_are() -> None:
    """Of one matrix, which all devices have."""

    def step(a: jax.Array, b: jax.Array) -> Any:
        with epl.replicate():
            factor = jnp.linalg.cholesky(positive(a))
            return jax.vmap(lambda y: jax.scipy.linalg.cho_solve((factor, True), y))(b)

    b = np.arange(40, dtype=np.float32).reshape(8, 5)
    parallel = epl.parallelize(step, batch="b", devices=4)
    assert exchanged(parallel.lower(A[0], b).as_text(stage="local")) == {}
    assert_close(parallel(A[0], b), jax.jit(step)(A[0], b), 1e-5)


@pytest.mark.parametrize("devices", [1, 2])
def test_in_loops_and_branches(devices: int) -> None:
    def iteration(carried: jax.Array, a: jax.Array) -> tuple[jax.Array, jax.Array]:
        factor = jnp.linalg.cholesky(positive(a + carried))
        return jnp.tanh(jax.scipy.linalg.solve_triangular(factor, carried, lower=True)), jnp.linalg.det(
            factor
        )

    def step(a: jax.Array, x: jax.Array) -> Any:
        def loss(a: jax.Array) -> jax.Array:
            last, stacked = jax.lax.scan(iteration, jnp.eye(5), a)
            return last.sum() + jnp.log(stacked).sum()

        with epl.replicate():
            value, gradient = jax.value_and_grad(loss)(a)
            chosen = jax.lax.cond(x.sum() > 0, jnp.linalg.inv, lambda a: jnp.linalg.svdvals(a) * a, a[0])
            return value, gradient, chosen

    parallel = epl.parallelize(step, batch="x", devices=devices)
    for sign in (1, -1):
        x = sign * np.ones(4, np.float32)
        assert_close(parallel(A, x), jax.jit(step)(A, x), 1e-4)


def test_a_state_is_factored_in_place() -> None:
    """Donated states, whose factors take their place."""

    def step(state: Any, x: jax.Array) -> Any:
        with epl.replicate():
            a = positive(state["a"]) + x.mean()
            w, v = jnp.linalg.eigh(a)
            return {"a": jnp.linalg.cholesky(a), "w": w, "v": jnp.abs(v)}, w.sum()

    parallel = epl.parallelize(step, state="state", batch="x", devices=2, donate=True)
    found = expected = {"a": jnp.asarray(A[0]), "w": jnp.zeros(5), "v": jnp.zeros((5, 5))}
    for _ in range(4):
        x = np.ones(4, np.float32)
        found, _ = parallel(found, x)
        expected, _ = jax.jit(step)(expected, x)
    assert_close(jax.tree.map(jnp.asarray, found), expected, 1e-4)


ZERO = {"zero.level": "v1"}


def test_zero_shares_the_factorizations_of_a_batch() -> None:
    """Preconditioners of blocks: each device keeps and factors its own, and gathers what they make."""

    def step(state: Any, x: jax.Array) -> Any:
        def loss(w: jax.Array) -> jax.Array:
            with epl.replicate():
                return jnp.tanh(jnp.einsum("ni,bij->nbj", x, w)).mean()

        value, gradient = jax.value_and_grad(loss)(state["w"])
        sums = state["sums"] + gradient @ gradient.mT + 0.1 * jnp.diag(jnp.arange(5.0))
        w, v = jnp.linalg.eigh(sums)
        root = (v * jnp.maximum(w, 1e-2)[..., None, :] ** -0.5) @ v.mT
        return {"w": state["w"] - 0.1 * root @ gradient, "sums": sums}, value

    state = {"w": jnp.asarray(A[:4]), "sums": jnp.zeros((4, 5, 5))}
    x = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)
    parallel = epl.parallelize(step, state="state", batch="x", devices=2, config=ZERO)
    text = parallel.lower(state, x).as_text(stage="local")
    assert ": (tensor<2x5x5xf32>) -> (tensor<2x5x5xf32>, tensor<2x5xf32>)" in text
    found = expected = state
    for _ in range(3):
        found, loss = parallel(found, x)
        expected, expected_loss = jax.jit(step)(expected, x)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_close(jax.tree.map(jnp.asarray, found), expected, 1e-4)


def test_on_meshes_of_their_own() -> None:
    def step(a: jax.Array) -> Any:
        with epl.replicate(name="first"):
            factor = jnp.linalg.cholesky(positive(a))
        with epl.replicate(name="second"):
            return jnp.linalg.inv(factor).sum((-2, -1)), jnp.linalg.svdvals(factor)

    parallel = epl.parallelize(step, batch="a", devices=4)
    assert_close(parallel(A), jax.jit(step)(A), 1e-5)


def test_split_scopes() -> None:
    """An orthogonal matrix per head, made of a parameter by QR; heads are split."""

    def step(w: jax.Array, x: jax.Array) -> Any:
        def loss(w: jax.Array) -> jax.Array:
            with epl.split(device_count=2):
                q, _ = jnp.linalg.qr(w)
                return (jnp.einsum("nhi,hij->nhj", x, q) ** 3).mean()

        value, gradient = jax.value_and_grad(loss)(w)
        return w - gradient, value

    x = np.random.default_rng(1).normal(size=(6, 4, 5)).astype(np.float32)
    for devices in (2, 4):
        found, loss = epl.parallelize(step, state="w", batch="x", devices=devices)(A[:4], x[:4])
        expected, expected_loss = jax.jit(step)(A[:4], x[:4])
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
        assert_close(jnp.asarray(found), expected, 1e-4)


def test_other_programs_lower_as_before() -> None:
    """What JAX exports for a platform is what it was before epl was imported."""
    exported = jax.export.export(jax.jit(jnp.linalg.cholesky), platforms=["tpu"])(A[0])
    assert "stablehlo.cholesky" in exported.mlir_module()
