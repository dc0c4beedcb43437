"""What a function makes of a part of its samples: found in what it makes of all, or computed for the part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from epl.adapters.jax import jaxprs, micro_values
from epl.adapters.jax.sample_match import Match

ROWS, COUNT = 8, 4
W = np.random.default_rng(1).normal(size=(6, 6)).astype("f")

Function = Callable[[jax.Array], jax.Array]


def pooled(x: jax.Array) -> jax.Array:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "VALID")


def convolved(x: jax.Array) -> jax.Array:
    return jax.lax.conv(x[:, None, None, :], W[:2, None, None, :3], (1, 1), "SAME")


def scanned(x: jax.Array) -> jax.Array:
    last, all_of = jax.lax.scan(lambda h, w: (jnp.tanh(h * w), h.sum(axis=1)), x, W)
    return last.sum(axis=1) + all_of.sum(axis=0)


# Of samples one by one.
EACH: dict[str, Function] = {
    "elements": lambda x: jnp.where(x > 0, jnp.exp(-x), jnp.clip(x, -1, 1)).astype(jnp.bfloat16),
    "bias": lambda x: x + W[0],
    "reduction": lambda x: (x - x.max(axis=1, keepdims=True)).argmin(axis=1),
    "product": lambda x: (x @ W).T,
    "product from the right": lambda x: W @ x.T,
    "product of rows": lambda x: jnp.einsum("nd,nd->n", x, x * 2),
    "reshape": lambda x: x.reshape(-1, 2, 3).transpose(2, 0, 1)[..., None],
    "rows as samples": lambda x: (x.reshape(-1) * 2).reshape(-1, 3, 2),
    "slices": lambda x: jnp.pad(x[:, 1:4], ((0, 0), (2, 1))),
    "concatenation": lambda x: jnp.concatenate([x, x[:, ::-1], jnp.ones((len(x), 1))], axis=1),
    "stack": lambda x: jnp.stack(jnp.split(x, 2, axis=1), axis=0),
    "sort": lambda x: jnp.sort(x, axis=1) + jnp.cumsum(x, axis=1),
    "top k": lambda x: jax.lax.top_k(x, 2)[0],
    "look-up": lambda x: jnp.asarray(W)[jnp.abs(x).astype(int) % 6],
    "column": lambda x: x[:, jnp.array([3, 1])],
    "one-hot": lambda x: jax.nn.one_hot(jnp.abs(x[:, 0]).astype(int), 6),
    "along an axis": lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=1)[:, :2], axis=1),
    "tile": lambda x: x * jnp.tile(W[:1], (len(x), 1)),
    "random bits": lambda x: x * jax.random.bernoulli(jax.random.key(3), 0.5, x.shape),
    "convolution": convolved,
    "window": pooled,
    "scan": scanned,
    "branches": lambda x: jax.lax.cond(W.sum() > 0, jnp.sin, lambda x: x * 2, x),
    "jit": jax.jit(lambda x: jax.nn.relu(x) + jax.nn.gelu(x)),
}
# Of what several samples make, of their number, or of their positions.
MIXED: dict[str, Function] = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: jnp.exp(x.mean()),
    "whole number": lambda x: x.sum() / (len(x) // 2),
    "normalized": lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + 1),
    "positions": lambda x: x * jnp.arange(len(x))[:, None],
    "by position": lambda x: x[jnp.arange(len(x)), jnp.argmax(x, axis=1)],
    "sorted samples": lambda x: jnp.sort(x, axis=0),
    "running sum": lambda x: jnp.cumsum(x, axis=0),
    "reversed": lambda x: x[::-1],
    "rolled": lambda x: jnp.roll(x, 1, axis=0) - x,
    "compared": lambda x: x @ x.T,
    "power": lambda x: x ** len(x),
    "every other": lambda x: x[::2],
    "scan over samples": lambda x: jax.lax.scan(lambda h, row: (h * 0.5 + row, h), x[0], x)[1],
    "scan with a constant": lambda x: jax.lax.scan(lambda h, w: (h * len(x), None), x, W)[0],
    "scattered": lambda x: jnp.zeros(4).at[jnp.abs(x[:, 0]).astype(int) % 4].add(x[:, 1]),
    "while": lambda x: jax.lax.while_loop(lambda h: h < 10, lambda h: h * 2, 1 + jnp.abs(x).sum()),
    "as many zeros": lambda x: jnp.zeros((ROWS, 6)).at[0].set(x.sum(axis=0)),
    "no samples": lambda _: jnp.asarray(W) * 2,
}


def traces(function: Function) -> tuple[Any, Any]:
    shapes = [jax.ShapeDtypeStruct((rows, 6), jnp.float32) for rows in (ROWS, ROWS // COUNT)]
    whole, micro = (jax.make_jaxpr(function)(shape) for shape in shapes)
    return whole, micro


def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, 6)).astype("f") * 2


def of_each(function: Function) -> Any:
    made = micro_values.rewritten(*traces(function), COUNT, [lambda values: values])
    return jax.jit(made)(values())[0]


@pytest.mark.parametrize("name", EACH)
def test_parts_of_what_is_made_of_all_samples(name: str) -> None:
    function, (whole, micro) = EACH[name], map(jaxprs.inlined, traces(EACH[name]))
    [out] = micro.jaxpr.outvars
    found = Match(whole, micro, [0], COUNT).found(out)
    assert [part.value for part in found] == whole.jaxpr.outvars
    all_of = jax.jit(function)(values())
    expected = np.stack(np.split(np.asarray(all_of, np.float32), COUNT, axis=found[0].dim))
    np.testing.assert_array_equal(np.asarray(of_each(function), np.float32), expected)


@pytest.mark.parametrize("name", MIXED)
def test_what_is_computed_for_each_part(name: str) -> None:
    expected = np.stack([jax.jit(MIXED[name])(part) for part in np.split(values(), COUNT)])
    np.testing.assert_allclose(of_each(MIXED[name]), expected, rtol=1e-5, atol=1e-6)
