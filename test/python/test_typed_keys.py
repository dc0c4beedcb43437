"""A typed random key that a step returns: JAX's own, around an `epl.Array`."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from epl.servers.buffers import ServedBuffer
from table_steps import restart

ONES = np.ones((4, 2), np.float32)


def step(key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Noise by a key that is split."""
    key, now = jax.random.split(key)
    with epl.replicate():
        return key, (x + jax.random.uniform(now, x.shape)).sum()


@pytest.fixture(scope="module")
def parallel() -> epl.Parallelized:
    return epl.parallelize(step, state="key", batch="x", devices=2)


def numbers(value: Any) -> Any:
    """Arrays as they are, the numbers of keys."""
    is_key = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(value) if is_key else value


def closed_over_by_a_step(key: jax.Array) -> Any:
    return epl.parallelize(lambda x: x + jax.random.uniform(key, x.shape), devices=2, name="add")(ONES)


@pytest.mark.parametrize(
    "use",
    [
        jax.random.split,
        jax.random.clone,
        jax.random.key_data,
        lambda k: jax.random.fold_in(k, 3),
        lambda k: jax.random.uniform(k, (3,)),
        lambda k: jax.jit(lambda k: (k, jax.random.uniform(k)))(k),
        lambda k: jax.jit(lambda x: x + jax.random.uniform(k))(1.0),
        lambda k: jax.vmap(lambda i: jax.random.fold_in(k, i))(jnp.arange(3)),
        lambda k: jax.lax.scan(lambda c, _: (jax.random.split(c)[0], None), k, None, length=2)[0],
        lambda k: jnp.stack([k, k])[1],
        lambda k: k.reshape(1)[0],
        lambda k: k == k,
        lambda k: k.copy(),
        lambda k: copy.deepcopy([k])[0],
        lambda k: jax.device_put(k),
        lambda k: jax.device_get(k),
        lambda k: k.addressable_shards[0].data,
        lambda k: (k.shape, k.size, k.nbytes, k.committed, k.is_fully_replicated),
        lambda k: jax.block_until_ready(k),
        closed_over_by_a_step,
    ],
)
def test_goes_where_a_key_goes(parallel: epl.Parallelized, use: Callable[[Any], Any]) -> None:
    found, expected = (use(run(jax.random.key(5), ONES)[0]) for run in (parallel, jax.jit(step)))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)
        np.testing.assert_array_equal(numbers(a), numbers(b))


@pytest.mark.parametrize("generator", ["threefry2x32", "rbg"])
def test_comes_back_with_its_generator(generator: str) -> None:
    def split(keys: jax.Array, x: jax.Array) -> Any:
        return jax.vmap(lambda key: jax.random.split(key)[0])(keys), x.sum()

    parallel = epl.parallelize(split, state="keys", batch="x", devices=2)
    found = expected = jax.random.split(jax.random.key(1, impl=generator), 4)
    for _ in range(3):
        found, expected = parallel(found, ONES)[0], jax.jit(split)(expected, ONES)[0]
    assert found.dtype == expected.dtype
    assert found.shape == (4,)
    np.testing.assert_array_equal(numbers(found), numbers(expected))


def test_is_donated(parallel: epl.Parallelized) -> None:
    key, _ = parallel(jax.random.key(0), ONES)
    parallel(key, ONES)
    assert key.is_deleted()
    with pytest.raises(epl.DonatedError, match=r'state "key" was donated by call \d+ of step: .* copy\(\)'):
        jax.random.split(key)
    with pytest.raises(epl.DonatedError, match='state "key" was donated'):
        parallel(key, ONES)


def test_pickled_it_is_a_key_of_jax(parallel: epl.Parallelized) -> None:
    key, _ = parallel(jax.random.key(0), ONES)
    restored = pickle.loads(pickle.dumps(key))
    assert restored.dtype == key.dtype
    np.testing.assert_array_equal(numbers(restored), numbers(key))
    parallel(restored, ONES)


def noisy_step(params: Any, keys: jax.Array, x: jax.Array) -> Any:
    """An update by keys that nobody else reads, so that servers hold them."""
    with epl.replicate():
        loss, grads = jax.value_and_grad(lambda p: ((x @ p["w"]) ** 2).mean())(params)
    keys, now = jnp.moveaxis(jax.vmap(jax.random.split)(keys), 1, 0)
    scale = jax.vmap(jax.random.uniform)(now).sum()
    return jax.tree.map(lambda p, g: p - 0.1 * scale * g, params, grads), keys, loss


@pytest.mark.usefixtures("own_servers")
def test_servers_hold_keys(tmp_path: Path) -> None:
    made = epl.parallelize(
        noisy_step, state=("params", "keys"), batch="x", devices="cpu:1", strategy=epl.ParameterServer()
    )
    params: Any = {"w": np.ones(2, np.float32)}
    keys = jax.random.split(jax.random.key(1), 2)
    expected = params, keys
    for _ in range(2):
        params, keys, _ = made(params, keys, ONES)
        *expected, _ = jax.jit(noisy_step)(*expected, ONES)
    assert isinstance(keys._base_array.buffer, ServedBuffer)
    assert keys.dtype == expected[1].dtype
    np.testing.assert_array_equal(numbers(keys), numbers(expected[1]))
    np.testing.assert_allclose(params["w"], expected[0]["w"], rtol=1e-6)
    made.newest.compile().check(params, keys, ONES)
    with epl.Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(0, {"params": params, "keys": keys})
        own = jax.tree.map(lambda value: np.asarray(numbers(value)), made(params, keys, ONES))
        with pytest.raises(epl.DonatedError, match='state "keys" was donated by step 2, and servers hold'):
            np.asarray(numbers(keys))
        restart()
        layout = epl.layout_of(made.newest)
        restored = checkpoints.restore({"params": layout[0], "keys": layout[1]})
        again = made(restored["params"], restored["keys"], ONES)
        for a, b in zip(jax.tree.leaves(own), jax.tree.leaves(again), strict=True):
            np.testing.assert_array_equal(a, numbers(b))


def test_compiles_nothing_anew(parallel: epl.Parallelized, caplog: pytest.LogCaptureFixture) -> None:
    key, _ = parallel(jax.random.key(0), ONES)
    with caplog.at_level("DEBUG", logger="epl"):
        parallel(key, ONES)
        parallel(jax.random.key(7), ONES)
    assert not caplog.records
