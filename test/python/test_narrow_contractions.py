"""Products and convolutions of bf16 and f16: the sums of f32, each rounded once."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl

X = np.random.default_rng(0).normal(size=(4, 6, 9, 8)).astype(np.float32)
KERNEL = np.random.default_rng(1).normal(size=(3, 3, 8, 17)).astype(np.float32)
WEIGHTS = np.random.default_rng(2).normal(size=(8, 33)).astype(np.float32)
LAYOUT = ("NHWC", "HWIO", "NHWC")


def convolve(x: jax.Array, kernel: jax.Array, **options: Any) -> jax.Array:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT, **options)


def contract(x: jax.Array, kernel: jax.Array, weights: jax.Array) -> dict[str, jax.Array]:
    """Contractions of every kind; only the last two have results that are not of the operands' type."""
    rows = x.reshape(-1, x.shape[-1])
    gradients = jax.grad(lambda x, k: (convolve(x, k) * jnp.arange(17, dtype=x.dtype)).sum(), (0, 1))
    by_x, by_kernel = gradients(x, kernel)
    single = {"preferred_element_type": jnp.float32}
    return {
        "product": rows @ weights,
        "product of a transpose": weights.T @ rows.T,
        "weight's gradient": rows.T @ rows,
        "attention": jnp.einsum("bqhd,bkhd->bhqk", x, x),
        "batch": jnp.einsum("bhqk,bhkd->bhqd", x, x.swapaxes(2, 3)),
        "convolution": convolve(x, kernel),
        "dilated": convolve(x, kernel, rhs_dilation=(2, 2)),
        "depthwise": convolve(x, kernel[:, :, :1].repeat(8, 3)[..., :8], feature_group_count=8),
        "operand's gradient": by_x,
        "kernel's gradient": by_kernel,
        "product in f32": jnp.dot(rows, weights, **single),
        "convolution in f32": convolve(x, kernel, **single),
    }


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_contractions_are_those_of_f32(dtype: Any, devices: int) -> None:
    def step(x: jax.Array, kernel: jax.Array, weights: jax.Array) -> dict[str, jax.Array]:
        with epl.replicate():
            return contract(x, kernel, weights)

    operands = [jnp.asarray(each, dtype) for each in (X, KERNEL, WEIGHTS)]
    found = epl.parallelize(step, batch="x", devices=devices)(*operands)
    expected = jax.jit(contract)(*(each.astype(jnp.float32) for each in operands))
    for name, result in found.items():
        single = name.endswith("in f32")
        assert result.dtype == (jnp.float32 if single else dtype), name
        # A sum over samples is rounded on each device, and again when they have been added.
        error = 1e-5 if single else float(jnp.finfo(dtype).eps) * (0.51 if devices == 1 else 1)
        number = np.asarray(expected[name], np.float64)
        magnitude = np.abs(number).max()
        np.testing.assert_allclose(
            np.asarray(result, np.float64), number, rtol=0, atol=error * magnitude, err_msg=name
        )


@pytest.mark.parametrize("devices", [1, 2])
def test_attention_of_jax_asks_for_an_algorithm(devices: int) -> None:
    def step(queries: jax.Array, keys: jax.Array) -> jax.Array:
        def attend(keys: jax.Array) -> jax.Array:
            attended = jax.nn.dot_product_attention(queries, keys, keys, is_causal=True)
            return attended.astype(jnp.float32).sum()

        with epl.replicate():
            return jax.grad(attend)(keys)

    # Two heads of queries share one of keys.
    queries, keys = jnp.asarray(X, jnp.bfloat16)[:, :, :4], jnp.asarray(X, jnp.bfloat16)[:, :, :2]
    found = epl.parallelize(step, batch=["queries", "keys"], devices=devices)(queries, keys)
    expected = np.asarray(jax.jit(step)(queries, keys), np.float64)
    assert found.dtype == jnp.bfloat16
    error = 8 * float(jnp.finfo(jnp.bfloat16).eps) * np.abs(expected).max()
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=0, atol=error)


@pytest.mark.parametrize("algorithm", ["BF16_BF16_F32", "BF16_BF16_F32_X3", "F32_F32_F32"])
def test_algorithms_are_those_of_jax(algorithm: str) -> None:
    def step(x: jax.Array, weights: jax.Array) -> jax.Array:
        with epl.replicate():
            return jax.lax.dot(x, weights, precision=jax.lax.DotAlgorithmPreset[algorithm])

    rows = jnp.asarray(X.reshape(-1, 8))
    found = epl.parallelize(step, batch="x", devices=2)(rows, jnp.asarray(WEIGHTS))
    np.testing.assert_allclose(found, jax.jit(step)(rows, WEIGHTS), rtol=1e-5, atol=1e-5)
