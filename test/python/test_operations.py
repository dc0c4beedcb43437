"""Operations of jnp and lax, on tensors that two devices share by rows, against `jax.jit`."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dense_operations
import epl
import indexed_operations
import window_operations
from steps import exchanged

X = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
GROUPS = dense_operations.GROUPS | indexed_operations.GROUPS | window_operations.GROUPS


@pytest.mark.parametrize(
    ("group", "devices"), [*itertools.product(GROUPS, (1, 2)), ("strided convolutions", 4)]
)
def test_operations_agree_with_jax(group: str, devices: int) -> None:
    def step(x: jax.Array) -> dict[str, Any]:
        with epl.replicate():
            return {name: operation(x) for name, operation in GROUPS[group].items()}

    found = epl.parallelize(step, batch="x", devices=devices, name=group)(X)
    expected = jax.jit(step)(X)
    for name in GROUPS[group]:
        for a, b in zip(jax.tree.leaves(found[name]), jax.tree.leaves(expected[name]), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype), name
            exact = not jnp.issubdtype(b.dtype, jnp.floating)
            magnitude = np.abs(np.nan_to_num(np.asarray(b, np.float64))).max(initial=0.0)
            np.testing.assert_allclose(
                np.asarray(a), np.asarray(b), rtol=0, atol=0 if exact else 2e-6 * magnitude, err_msg=name
            )


@pytest.mark.parametrize("name", ["label of each row", "labels of each row", "along an axis", "of each row"])
def test_rows_that_positions_count_stay_on_their_device(name: str) -> None:
    def step(x: jax.Array) -> Any:
        with epl.replicate():
            return GROUPS["gathers"][name](x).sum()

    text = epl.parallelize(step, batch="x", devices=2).lower(X).as_text(stage="local")
    assert text.count("epl.gather") == 1
    assert "epl.all_gather" not in text


def test_an_embedding_takes_memory_for_what_it_moves() -> None:
    """The gradient of a table, the rows that are read and theirs; not a mask of all rows for each token."""
    table, ids = np.zeros((20_000, 64), np.float32), np.zeros((32, 16), np.int32)

    def step(table: jax.Array, ids: jax.Array) -> tuple[jax.Array, jax.Array]:
        def loss(table: jax.Array) -> jax.Array:
            return jnp.sin(table[ids]).mean()

        with epl.replicate():
            value, gradient = jax.value_and_grad(loss)(table)
        return table - 0.1 * gradient, value

    for devices in (1, 2):
        lowered = epl.parallelize(step, state="table", batch="ids", devices=devices).lower(table, ids)
        plan = lowered.compile().plan
        assert plan.arena_bytes < table.nbytes + 4 * ids.size * 64 * 4
        moved = exchanged(lowered.as_text(stage="local"))
        rows = ["32x16x64xf32", "32x16xi32"]  # and no table (test_embedding_gradients.py)
        assert sorted(moved.get("all_gather", [])) == (rows if devices > 1 else [])
        assert moved.get("all_reduce", []) == ["f32"] * (devices - 1)


@pytest.mark.parametrize("devices", [1, 2])
def test_reductions_of_nothing(devices: int) -> None:
    def step(x: jax.Array) -> Any:
        with epl.replicate():
            none = x[:0]
            return (
                none.sum(),
                none.sum(0),
                none.mean(),
                none.prod(1),
                none.max(initial=-3.0),
                none.all(0),
                none.T @ none,
            )

    x = np.ones((4, 3), np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a mean of nothing
        expected = jax.jit(lambda x: step(x))(x)
    for batch in (x, x[:0]):
        found = epl.parallelize(step, batch="x", devices=devices)(batch)
        for result, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(result, wanted)
            assert result.dtype == wanted.dtype


@pytest.mark.parametrize("shape", [(131072, 4), (131072, 40), (32, 64, 64, 4), (3, 40000, 5)])
@pytest.mark.parametrize("devices", [1, 2])
def test_long_sums_are_exact_to_some_roundings(devices: int, shape: tuple[int, ...]) -> None:
    """The error of adding 131,072 rows one after another is 1e-5."""
    dims = tuple(range(len(shape) - 1)) if shape[0] != 3 else 1

    def step(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        with epl.replicate():
            return x.mean(dims), (x * x).sum(dims), x - 1

    x = np.random.default_rng(0).random(shape, np.float32)
    found = epl.parallelize(step, batch="x" if shape[0] != 3 else (), devices=devices)(x)
    exact = x.astype(np.float64)
    for result, expected in zip(found, (exact.mean(dims), (exact**2).sum(dims), exact - 1), strict=True):
        np.testing.assert_allclose(result, expected, rtol=5e-7)
