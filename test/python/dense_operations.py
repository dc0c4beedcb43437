"""Operations without positions and windows, by groups, each on a matrix of 8 x 6."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

Operation = Callable[[jax.Array], Any]
INTEGERS = (jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint16, jnp.uint32)


def label(x: jax.Array) -> jax.Array:
    """An index of a column for every row."""
    return (jnp.abs(x[:, 0]) * 4).astype(int) % 6


def pooled(x: jax.Array, window: tuple[int, int], strides: tuple[int, int], padding: Any) -> jax.Array:
    """The largest number of every window."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, padding)


def extremes(x: jax.Array) -> jax.Array:
    """Numbers beyond every integer, infinities, and what is none."""
    beyond = jnp.where(x > 1, jnp.inf, jnp.where(x < -1, -jnp.inf, x * 1e12))
    return jnp.where(jnp.abs(x) < 0.3, jnp.nan, beyond)


GROUPS: dict[str, dict[str, Operation]] = {
    "conversions": {
        **{f"extremes to {t.__name__}": lambda x, t=t: extremes(x).astype(t) for t in INTEGERS},
        **{f"small to {t.__name__}": lambda x, t=t: (x * 90).astype(t) for t in INTEGERS},
    },
    "elementwise": {
        "exp": jnp.exp,
        "expm1": jnp.expm1,
        "log1p": lambda x: jnp.log1p(jnp.abs(x)),
        "tanh": jnp.tanh,
        "logistic": jax.nn.sigmoid,
        "gelu": jax.nn.gelu,
        "erf": jax.scipy.special.erf,
        "silu": jax.nn.silu,
        "softplus": jax.nn.softplus,
        "sin": jnp.sin,
        "tan": jnp.tan,
        "cbrt": jnp.cbrt,
        "rsqrt": lambda x: jax.lax.rsqrt(jnp.abs(x)),
        "power": lambda x: jnp.abs(x) ** x,
        "cube": lambda x: x**3,
        "shared sixty times": lambda x: functools.reduce(
            lambda value, _: jnp.sin(value) - value, range(60), x
        ),
        "atan2": lambda x: jnp.arctan2(x, x[:, ::-1]),
    },
    "rounding and comparison": {
        "floor": jnp.floor,
        "ceil": jnp.ceil,
        "round": lambda x: jnp.round(x * 3),
        "round away from zero": lambda x: jax.lax.round(x * 3),
        "fewer bits": lambda x: jax.lax.reduce_precision(x, 5, 10),
        "sign": jnp.sign,
        "mod": lambda x: x % 3,
        "rem": lambda x: jax.lax.rem(x, 0.3),
        "isnan": jnp.isnan,
        "where": lambda x: jnp.where(x > 0, x, -2),
        "clip": lambda x: jnp.clip(x, -1, x[0, 0]),
        "select": lambda x: jax.lax.select_n(x > 0, x, 2 * x),
        "one hot": lambda x: jax.nn.one_hot((x[:, 0] * 2).astype(int), 4),
        "all": lambda x: (x > -9).all(1),
        "any": lambda x: (x > 1).any(),
    },
    "integers": {
        "divide": lambda x: (x * 10).astype(int) // 3,
        "shift": lambda x: (x * 10).astype(int) >> 1,
        "shift to the left": lambda x: (x * 10).astype(int) << 3,
        "shift of bits": lambda x: jax.lax.shift_right_logical((x * 10).astype(int), 3),
        "negation of bits": lambda x: ~(x * 10).astype(int),
        "leading zeros": lambda x: jax.lax.clz((x * 10).astype(int)),
        "population count": lambda x: jax.lax.population_count((x * 10).astype(int)),
        "bits": lambda x: jax.lax.bitcast_convert_type(x, jnp.int32) ^ 5,
        "unsigned": lambda x: (jnp.abs(x) * 50).astype(jnp.uint8) * 3 // 2,
        "int8": lambda x: (x * 30).astype(jnp.int8),
        "sum": lambda x: (x * 10).astype(int).sum(),
        "maximum": lambda x: (x * 10).astype(int).max(0),
    },
    "reductions": {
        "sum rows": lambda x: x.sum(0),
        "sum columns": lambda x: x.sum(1),
        "mean": jnp.mean,
        "max": lambda x: x.max(0),
        "min": lambda x: x.min(),
        "sum of planes": lambda x: x.reshape(4, 2, 3, 2).sum((0, 2)),
        "sum of every other dimension": lambda x: x.reshape(1, 2, 2, 2, 3, 2).sum((1, 3)),
        "sum of nothing": lambda x: (x[:, :0] @ x.T[:0]) + x[:, :1],
        "sum of a scalar": lambda x: x[0, 0].sum(),
        "sum over no dimension": lambda x: x.sum(()),
        "largest of a scalar": lambda x: jnp.argmax(x[1, 1]),
        "product": lambda x: x.prod(1),
        "variance": lambda x: x.var(0),
        "norm": jnp.linalg.norm,
        "logsumexp": lambda x: jax.nn.logsumexp(x, 1),
        "softmax": jax.nn.softmax,
        "argmax": lambda x: jnp.argmax(x, 1),
        "argmin of the batch": lambda x: jnp.argmin(x, 0),
        "batch norm": lambda x: (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5),
        "cumulative sum": lambda x: jnp.cumsum(x, 1),
        "cumulative sum of the batch": lambda x: jnp.cumsum(x, 0),
    },
    "shapes": {
        "transpose": lambda x: x.T,
        "reshape": lambda x: x.reshape(8, 2, 3),
        "flatten": lambda x: x.reshape(-1),
        "row": lambda x: x[0],
        "last row": lambda x: x[-1],
        "rows": lambda x: x[2:5],
        "strided": lambda x: x[1:7:2, ::3],
        "flip": lambda x: x[::-1],
        "flip columns": lambda x: x[:, ::-1],
        "roll": lambda x: jnp.roll(x, 1, 1),
        "pad": lambda x: jnp.pad(x, ((0, 0), (1, 2))),
        "pad the batch": lambda x: jnp.pad(x, 1),
        "interior pad": lambda x: jax.lax.pad(x, 1.0, ((0, 0, 0), (1, 1, 1))),
        "tile": lambda x: jnp.tile(x, (2, 1)),
        "repeat": lambda x: jnp.repeat(x, 2, 1),
        "stack": lambda x: jnp.stack([x, -x], 1),
        "concatenate": lambda x: jnp.concatenate([x, x * 2], 1),
        "concatenate the batch": lambda x: jnp.concatenate([x, x * 2]),
        "split": lambda x: jnp.split(x, 2, 1)[1],
        "triangle": jnp.tril,
    },
    "control flow": {
        "scan": lambda x: jax.lax.scan(lambda c, row: (jnp.sin(c + row), c), x[0], x),
        "reverse scan": lambda x: jax.lax.scan(lambda c, row: (c * row, c), x[0], x, reverse=True),
        "scan of nothing": lambda x: jax.lax.scan(lambda c, row: (c + row, c), x[0], x[:0])[0],
        "scan of scans": lambda x: jax.lax.scan(
            lambda c, row: jax.lax.scan(lambda d, v: (d * 0.5 + v, d), c, row), x[0, 0], x
        ),
        "associative scan": lambda x: jax.lax.associative_scan(jnp.multiply, x),
        "gradient of a scan": jax.grad(
            lambda x: jax.lax.scan(lambda c, row: (jnp.sin(c * row), c.sum()), x[0], x)[1].sum()
        ),
        "fori": lambda x: jax.lax.fori_loop(0, 5, lambda i, v: v * 0.5 + i, x),
        "fori with indices": lambda x: jax.lax.fori_loop(1, 6, lambda i, v: v.at[i].add(v[i - 1]), x),
        "triangle of loops": lambda x: jax.lax.fori_loop(
            0, 4, lambda i, v: jax.lax.fori_loop(0, i, lambda j, w: w + x[j, i], v), x
        ),
        "while": lambda x: jax.lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] * 2, s[1] + x), (1, x)),
        "unsigned counter": lambda x: jax.lax.fori_loop(
            jnp.uint8(250), jnp.uint8(255), lambda i, v: v + i.astype(jnp.float32), x
        ),
        "cond": lambda x: jax.lax.cond(x[0, 0] > 0, lambda v: jnp.sin(v), lambda v: -v, x),
        "cond of a counter": lambda x: jax.lax.fori_loop(
            0, 3, lambda i, v: jax.lax.cond(i % 2 == 0, lambda v: v * 2, lambda v: v + 1, v), x
        ),
        "gradient of a cond": jax.grad(
            lambda x: jax.lax.cond(x[0, 0] > 0, lambda v: jnp.sin(v).sum(), lambda v: (v * v).sum(), x)
        ),
        "switch": lambda x: jax.vmap(lambda v, i: v * i)(
            x, jax.lax.switch(label(x)[0], [lambda i: i, lambda i: -i, lambda i: i * 2], label(x))
        ),
        "remainder by a computed zero": lambda x: jax.lax.cond(
            label(x)[0] < 0, lambda i: 7 // (i - i), lambda i: i, label(x)
        ),
    },
    "contractions": {
        "matrix": lambda x: x @ x.T,
        "inner": lambda x: x.T @ x,
        "vector": lambda x: x @ jnp.arange(6.0),
        "batched": lambda x: jnp.einsum("bij,bkj->bik", x.reshape(8, 2, 3), x.reshape(8, 2, 3)),
        "bfloat16": lambda x: (x.astype(jnp.bfloat16) @ jnp.eye(6, dtype=jnp.bfloat16)).astype(jnp.float32),
        "integers": lambda x: x.astype(int) @ jnp.arange(12).reshape(6, 2),
        "convolution": lambda x: jax.lax.conv(x.reshape(8, 1, 2, 3), jnp.ones((2, 1, 2, 2)), (1, 1), "SAME"),
        "max pool": lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "VALID"),
    },
    "gradients": {
        "slice": jax.grad(lambda x: jnp.sin(x[2:4]).sum()),
        "concatenate": jax.grad(lambda x: jnp.sin(jnp.concatenate([x, x * x], 1)).sum()),
        "max pool": jax.grad(
            lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2), (1, 2), "VALID").sum()
        ),
        "max pool, overlapping": jax.grad(lambda x: (pooled(x, (3, 2), (2, 1), "VALID") ** 2).sum()),
        "max pool, padded": jax.grad(lambda x: (pooled(x, (3, 3), (2, 2), "SAME") ** 2).sum()),
        "max pool, padded more": jax.grad(lambda x: (pooled(x, (3, 2), (2, 3), ((2, 1), (1, 3))) ** 2).sum()),
        "max pool of equals": jax.grad(lambda x: (pooled(x * 0 - 1, (3, 3), (1, 2), "SAME") ** 2).sum()),
        "min pool": jax.grad(
            lambda x: jax.lax.reduce_window(x, jnp.inf, jax.lax.min, (3, 2), (1, 1), "SAME").sum()
        ),
        "remat": jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)).sum())),
        "custom": jax.grad(lambda x: jax.nn.relu(x).sum()),
        "of a gradient": jax.grad(lambda x: jax.grad(lambda v: (v**4).sum())(x).sum()),
        "clipped": lambda x: optax.clip_by_global_norm(1.0).update(x, optax.EmptyState())[0],
        "vmap": jax.vmap(jax.grad(lambda v: (v @ v) ** 2)),
        "unrolled scan": lambda x: jax.lax.scan(lambda c, r: (c * r, c), x[0], x, unroll=True),
        "composite": lambda x: jax.lax.composite(lambda v: v * 2, "example.twice")(x),
    },
}
