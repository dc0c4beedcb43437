"""Queries, keys and values of one product where several heads of queries read one of keys: no exchange."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import assert_near, assert_trains_as_jax, exchanged
from test_dims import shardings
from test_segments import BATCH, HEADS, LENGTH, WIDTH, Params, normal, trains

GROUPS = 2
GROUPED_SIZES = (WIDTH, WIDTH // 2, WIDTH // 2)  # of queries, keys and values


def grouped_parameters() -> list[Params]:
    """Of blocks whose queries, keys and values are of one matrix, and so are a narrow and a wide gate."""

    def block(seed: int) -> Params:
        params = {"qkv": normal(WIDTH, 2 * WIDTH, seed=seed), "bias": normal(2 * WIDTH, seed=seed) / 4}
        params |= {"gates": normal(WIDTH, 72, seed=seed + 1), "out": normal(WIDTH, WIDTH, seed=seed + 2)}
        return params | {"narrow": normal(24, WIDTH, seed=seed), "wide": normal(48, WIDTH, seed=seed + 1)}

    return [block(seed) for seed in (0, 3)]


def parts_apart(params: Params) -> Params:
    """The parts of its matrices in matrices of their own."""
    borders = np.cumsum(GROUPED_SIZES)[:-1].tolist()
    cut = {name: jnp.split(params[name], borders, -1) for name in ("qkv", "bias")}
    return params | cut | {"gates": jnp.split(params["gates"], [24], -1)}


def grouped_block(x: jax.Array, p: Params, heads_counted: bool) -> jax.Array:
    """Two heads of queries read one of keys and values. `heads_counted`: the cut is one of heads."""
    size = WIDTH // HEADS
    if not isinstance(p["qkv"], list):
        h = x @ p["qkv"] + p["bias"]
        h = h.reshape(*x.shape[:2], -1, size) if heads_counted else h
        cut = [each // size if heads_counted else each for each in GROUPED_SIZES]
        qkv = jnp.split(h, np.cumsum(cut)[:-1].tolist(), 2)
        narrow, wide = jnp.split(x @ p["gates"], [24], -1)
    else:
        qkv = [x @ w + b for w, b in zip(p["qkv"], p["bias"], strict=True)]
        narrow, wide = (x @ w for w in p["gates"])
    q, k, v = (each.reshape(*x.shape[:2], GROUPS, -1, size) for each in qkv)
    weights = jax.nn.softmax(jnp.einsum("btghe,bsgoe->bghts", q, k) / 2)
    x = x + jnp.einsum("bghts,bsgoe->btghe", weights, v).reshape(x.shape) @ p["out"]
    return x + jax.nn.silu(narrow) @ p["narrow"] + jnp.tanh(wide) @ p["wide"]


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("form", ["flat", "counted", "scanned"])
def test_grouped_queries_of_one_product(form: str, devices: int) -> None:
    """Parts of different extents: nothing but sums, and no more of them than with separate matrices."""

    def loss(blocks: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        if form == "scanned":
            x, _ = jax.lax.scan(lambda h, p: (grouped_block(h, p, False), None), x, blocks)
        else:
            for p in blocks:
                x = grouped_block(x, p, form == "counted")
        return ((x - y) ** 2).mean()

    data = np.asarray(normal(BATCH, LENGTH, WIDTH)), np.asarray(normal(BATCH, LENGTH, WIDTH, seed=1))
    fused: Any = grouped_parameters()
    apart: Any = [parts_apart(each) for each in fused]
    if form == "scanned":
        fused, apart = (jax.tree.map(lambda *each: jnp.stack(each), *blocks) for blocks in (fused, apart))
    found, separate = (trains(loss, params, *data, devices) for params in (fused, apart))
    assert all(name.startswith("sum of ") for name in found)
    activations = (
        f"sum of {BATCH * LENGTH * WIDTH}" if devices == 2 else f"sum of {BATCH * LENGTH * WIDTH // 2}"
    )
    assert found[activations] <= separate[activations]


@pytest.mark.parametrize("said", ["dims", "constrained"])
@pytest.mark.parametrize("count", [2, 4])
def test_shares_of_parts_are_split_as_is_said(said: str, count: int) -> None:
    """Four devices share two heads of keys and values: right, with exchanges."""
    params: Any = grouped_parameters()[0]

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        def loss(params: Any) -> jax.Array:
            with epl.split(device_count=count, dims={"qkv": 1} if said == "dims" else None):
                if said == "constrained":
                    params = params | {"qkv": epl.constrain(params["qkv"], {1: "model"})}
                return ((grouped_block(x, params, False) - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    data = np.asarray(normal(BATCH, LENGTH, WIDTH)), np.asarray(normal(BATCH, LENGTH, WIDTH, seed=1))
    parallel = epl.parallelize(step, state=0, batch=(1, 2), devices=4)
    local = parallel.lower(params, *data).as_text(stage="local")
    assert shardings(local)["params['qkv']"] == '[{}, {"model"}, {}]'
    assert (set(exchanged(local)) == {"all_reduce"}) == (count == 2)
    assert_trains_as_jax(parallel, step, params, *data)


def test_state_of_parts_is_the_users_wherever_it_goes() -> None:
    """In another step, which splits it or not, and as an array; also where devices share what is left."""
    params: Any = grouped_parameters()

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        def loss(params: Any) -> jax.Array:
            with epl.split(device_count=2):
                h = x
                for p in params:
                    h = grouped_block(h, p, False)
                return ((h - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    def replicated(params: Any, x: jax.Array) -> Any:
        with epl.replicate():
            return params, (params[0]["qkv"] * jnp.arange(2 * WIDTH)).sum(), x.sum()

    data = np.asarray(normal(BATCH, LENGTH, WIDTH)), np.asarray(normal(BATCH, LENGTH, WIDTH, seed=1))
    expected, _ = jax.jit(step)(jax.jit(step)(params, *data)[0], *data)
    for options in ({"devices": 2}, {"devices": 4, "config": {"zero.level": "v3"}}):
        steps = [epl.parallelize(step, state=0, batch=(1, 2), **options) for _ in range(2)]
        found, _ = steps[1](steps[0](params, *data)[0], *data)
        weights = found[0]["qkv"]
        for seen in (
            np.asarray(weights),
            pickle.loads(pickle.dumps(weights)),
            weights.copy(),
            jnp.asarray(weights),
        ):
            assert_near(jnp.asarray(seen), expected[0]["qkv"], 1e-4)
        other = epl.parallelize(replicated, state=0, batch=1, devices=2)
        found, total, _ = other(found, np.ones((2, 1), np.float32))
        assert_near(total, replicated(expected, jnp.ones((2, 1)))[1], 1e-4)
        steps[0].lower(params, *data).compile().check(params, *data)
        assert_near(steps[0](found, *data)[0], jax.jit(step)(expected, *data)[0], 1e-4)
