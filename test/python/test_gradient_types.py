"""`communication.fp16`: gradients are sent in 16 bits where devices sum them, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import mpi
from steps import exchanged, mlp_loss, mlp_parameters

F16, BF16 = {"communication.fp16": True}, {"communication.fp16": "bf16"}
DENSE = {"communication.sparse_as_dense": True}
# A device's addend is rounded once, and so is their sum: each is off by half a unit of the last place at
# most, which is 2^-11 of the value for f16 and 2^-8 for bf16. Addends are positive, so not larger than
# their sum.
ROUNDING = {"f16": 2.0**-11, "bf16": 2.0**-8}


def descend(w: Any, x: Any) -> Any:
    """The gradient of a sum of products: integers if x is of these."""
    value, gradient = jax.value_and_grad(lambda w: jnp.sum(x @ w))(w)
    return w - gradient, value


def parallelized(step: Any, devices: int, config: dict[str, Any]) -> Any:
    return epl.parallelize(step, state="w", batch="x", devices=devices, config=config)


def integers() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    return (
        random.integers(-3, 4, (6, 5)).astype(np.float32),
        random.integers(-3, 4, (16, 6)).astype(np.float32),
    )


CONFIGS: list[dict[str, Any]] = [
    F16,
    BF16,
    {**F16, "communication.fp16_scale": 1},
    {**F16, "zero.level": "v2"},
    {**F16, "zero.owner": "parameter"},
    {**F16, "pipeline.num_micro_batch": 2},
    {**F16, "pipeline.num_micro_batch": 2, "zero.level": "v2"},
    {**BF16, "communication.fuse": False},
]


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_gradients_that_16_bits_hold_have_the_bits_of_one_device(
    config: dict[str, Any], devices: int
) -> None:
    w, x = integers()
    expected, value = jax.jit(descend)(w, x)
    own = parallelized(descend, devices, config)
    found, own_value = own(w, x)
    assert np.array_equal(found, expected)
    assert float(own_value) == float(value)


@pytest.mark.parametrize("config", [F16, BF16], ids=["f16", "bf16"])
@pytest.mark.parametrize("devices", [2, 4])
def test_others_are_within_their_rounding(devices: int, config: dict[str, Any]) -> None:
    random = np.random.default_rng(1)
    w, x = random.random((6, 5), np.float32), random.random((16, 6), np.float32)
    gradient = np.asarray(jax.jit(descend)(np.zeros_like(w), x)[0])
    found = np.asarray(parallelized(descend, devices, config)(np.zeros_like(w), x)[0])
    bound = 2 * ROUNDING["f16" if config is F16 else "bf16"] * np.abs(gradient)
    assert (np.abs(found - gradient) <= bound).all()
    assert (found != gradient).any()


def types_of(step: Any, *values: Any, devices: int = 2, **config: Any) -> dict[str, int]:
    """How many tensors of each type are summed, and are of several elements."""
    own = epl.parallelize(step, state=0, batch=tuple(range(1, len(values))), devices=devices, config=config)
    kinds = exchanged(own.lower(*values).as_text("local"))
    types = [each.rpartition("x")[2] for kind in ("all_reduce", "reduce_scatter", "reduce")
             for each in kinds.get(kind, [])]  # fmt: skip
    return {each: types.count(each) for each in types}


def test_gradients_alone_are_narrow() -> None:
    """The loss is a sum, too; it stays f32."""

    def step(params: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(mlp_loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    x, y = np.ones((8, 12), np.float32), np.zeros(8, np.int32)
    assert types_of(step, mlp_parameters(), x, y, **F16) == {"f16": 6, "f32": 1}
    assert types_of(step, mlp_parameters(), x, y, **BF16) == {"bf16": 6, "f32": 1}
    assert types_of(step, mlp_parameters(), x, y) == {"f32": 7}


def test_statistics_of_a_batch_stay_f32() -> None:
    """Those of a norm, and the sums that its gradient reads, which are gradients of gain and bias, too."""

    def loss(params: Any, x: Any) -> Any:
        h = x @ params["w"]
        h = (h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5) * params["gain"] + params["bias"]
        return jnp.sum(jnp.tanh(h) ** 2)

    def step(params: Any, x: Any) -> Any:
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, x))

    params = {
        "w": np.eye(4, dtype=np.float32),
        "gain": np.ones(4, np.float32),
        "bias": np.zeros(4, np.float32),
    }
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    plain, narrow = types_of(step, params, x), types_of(step, params, x, **F16)
    assert narrow["f32"] + narrow["f16"] == plain["f32"]
    assert narrow["f32"] >= 2  # the mean and the variance, at least
    own = epl.parallelize(step, state=0, batch=1, devices=2, config=F16)
    expected = jax.jit(step)(params, x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=2e-3), own(params, x), expected)


def test_what_stages_send_each_other_stays_f32() -> None:
    """Sums over the devices of a split are no gradients of parameters where they go to the stage before."""

    def step(params: Any, x: Any) -> Any:
        def loss(params: Any) -> Any:
            with epl.replicate(name="body"):
                h = jnp.tanh(x @ params["a"])
            with epl.split(device_count=2, name="head"):
                return jnp.sum(jax.nn.relu(h @ params["b"]) @ params["c"])

        return jax.tree.map(lambda p, g: p - g, params, jax.grad(loss)(params))

    random = np.random.default_rng(3)
    shapes = {"a": (6, 8), "b": (8, 32), "c": (32, 4)}
    params = {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    x = random.normal(size=(8, 6)).astype(np.float32)
    plain = types_of(step, params, x, devices=6)
    narrow = types_of(step, params, x, devices=6, **F16)
    assert narrow["f16"] >= 1  # of the body, which two devices have
    assert narrow["f32"] >= 1
    assert narrow["f16"] + narrow["f32"] == plain["f32"]


def test_gradients_of_16_bits_stay_what_they_are() -> None:
    w, x = integers()
    half = {"w": w.astype(jnp.bfloat16)}

    def step(params: Any, x: Any) -> Any:
        gradient = jax.grad(lambda p: jnp.sum((x.astype(jnp.bfloat16) @ p["w"]).astype(jnp.float32)))(params)
        return jax.tree.map(lambda p, g: p - g, params, gradient)

    assert types_of(step, half, x, **F16) == {"bf16": 1}


def test_rows_of_embeddings_are_no_sums() -> None:
    """They are sent as they are; the sum of the table is narrow."""

    def step(table: Any, ids: Any) -> Any:
        return table - jax.grad(lambda t: jnp.sum(t[ids]))(table)

    table, ids = np.zeros((512, 8), np.float32), np.arange(16, dtype=np.int32)
    assert types_of(step, table, ids, **F16) == {}
    assert types_of(step, table, ids, **F16, **DENSE) == {"f16": 1}


def gradient_of(factor: float, config: dict[str, Any]) -> float:
    def step(w: Any, x: Any) -> Any:
        return jax.grad(lambda w: jnp.sum(x * w))(w)

    own = epl.parallelize(step, state="w", batch="x", devices=2, config=config)
    return float(own(np.float32(0), np.full(2, factor, np.float32)))


def test_a_scale_keeps_small_gradients() -> None:
    """f16 ends at 2^-24 and 65504: the scale moves what it holds. bf16 needs none."""
    small, large = 2.0**-27, 1024.0
    assert gradient_of(small, F16) == 2 * small
    assert gradient_of(small, {**F16, "communication.fp16_scale": 1}) == 0
    assert gradient_of(large, F16) == np.inf
    assert gradient_of(large, {**F16, "communication.fp16_scale": 1}) == 2 * large
    assert gradient_of(small, BF16) == 2 * small
    assert gradient_of(large, BF16) == 2 * large


def test_a_scale_is_one_of_f16() -> None:
    for config in ({}, BF16):
        with pytest.raises(
            epl.ConfigError, match=r'"communication.fp16_scale" is of gradients .* found 64 and'
        ):
            epl.Config({**config, "communication.fp16_scale": 64})
    w, x = integers()
    with pytest.raises(epl.CompileError, match=r'"communication\.fp16_scale"'):
        parallelized(descend, 2, {**F16, "communication.fp16_scale": 1 << 20})(w, x)


def train_in_processes() -> None:
    """What is sent between processes is f16."""
    epl.init("cpu:2")
    w, x = integers()
    expected, _ = jax.jit(descend)(w, x)
    found, _ = epl.parallelize(descend, state="w", batch="x", config=F16)(w, x)
    assert np.array_equal(epl.gather(found), expected)
    print("has the bits of one device")


def test_in_two_processes(tmp_path: Path) -> None:
    printed = mpi.call(2, "test_gradient_types", "train_in_processes", folder=tmp_path)
    assert printed.count("has the bits of one device") == 2
