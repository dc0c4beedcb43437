"""Operations of jnp and lax, on tensors that two devices share by rows, against `jax.jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import flax.linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl

X = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
POSITIONS = np.array([3, 0, 5, 3], np.int32)
Operation = Callable[[jax.Array], Any]
INTEGERS = (jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint16, jnp.uint32)


def label(x: jax.Array) -> jax.Array:
    """An index of a column for every row."""
    return (jnp.abs(x[:, 0]) * 4).astype(int) % 6


def tokens(x: jax.Array) -> jax.Array:
    """A number below 2,000 for every row; several are the same, several are small."""
    return (jnp.abs(x[:, 0]) * 20).astype(int) % 7 * (jnp.abs(x[:, 1]) * 40).astype(int) % 2000


def table(x: jax.Array) -> jax.Array:
    """2,000 rows."""
    return jnp.tile(x, (250, 1)) + jnp.arange(2000.0)[:, None]


def unsigned(x: jax.Array) -> jax.Array:
    """Numbers around 2^31, where signs would show."""
    return (x * 900).astype(jnp.int32).view(jnp.uint32)


def pooled(x: jax.Array, window: tuple[int, int], strides: tuple[int, int], padding: Any) -> jax.Array:
    """The largest number of every window."""
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, strides, padding)


def image(x: jax.Array, *shape: int) -> jax.Array:
    """Images of that shape, one for each row."""
    phases = jnp.arange(1.0, 1 + np.prod(shape)) / 7
    return jnp.abs(x[:, :1] * jnp.cos(phases) + x[:, 1:2] * jnp.sin(3 * phases)).reshape(-1, *shape)


def convolution(
    image_shape: tuple[int, ...],
    kernel_shape: tuple[int, ...],
    strides: tuple[int, ...],
    padding: Any,
    layout: tuple[str, str, str] = ("NHWC", "HWIO", "NHWC"),
    **options: Any,
) -> Operation:
    """A convolution of images with a constant kernel, and the gradients of both."""

    def operation(x: jax.Array) -> Any:
        kernel = jnp.cos(jnp.arange(1.0, 1 + np.prod(kernel_shape)) / 3).reshape(kernel_shape) ** 2
        convolve = functools.partial(
            jax.lax.conv_general_dilated,
            window_strides=strides,
            padding=padding,
            dimension_numbers=layout,
            **options,
        )
        gradients = jax.grad(lambda *operands: (convolve(*operands) ** 2).sum(), (0, 1))
        operands = (image(x, *image_shape), kernel)
        return convolve(*operands), gradients(*operands)

    return operation


def transposed_convolution(x: jax.Array) -> Any:
    """As decoders have it, with its gradients."""
    kernel = jnp.cos(jnp.arange(36.0)).reshape(3, 3, 2, 2)

    def upsample(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return jax.lax.conv_transpose(x, kernel, (2, 2), "SAME")

    operands = (image(x, 4, 3, 2), kernel)
    return upsample(*operands), jax.grad(lambda *o: (upsample(*o) ** 2).sum(), (0, 1))(*operands)


def pooling(kind: str, window: tuple[int, int], strides: tuple[int, int], padding: Any) -> Operation:
    """Pooling of images as flax does it, with its gradient."""

    def pool(x: jax.Array) -> jax.Array:
        pools = {"max": flax.linen.max_pool, "avg": flax.linen.avg_pool}
        return pools[kind](x, window, strides, padding)

    def operation(x: jax.Array) -> Any:
        images = image(x, 6, 5, 3)
        return pool(images), jax.grad(lambda images: (pool(images) ** 2).sum())(images)

    return operation


def extremes(x: jax.Array) -> jax.Array:
    """Numbers beyond every integer, infinities, and what is none."""
    beyond = jnp.where(x > 1, jnp.inf, jnp.where(x < -1, -jnp.inf, x * 1e12))
    return jnp.where(jnp.abs(x) < 0.3, jnp.nan, beyond)


def ties(x: jax.Array) -> jax.Array:
    """Numbers of which many are equal, both zeros, infinities, and what is none."""
    return jnp.where(x > 1.2, jnp.nan, jnp.where(x < -1.2, -jnp.inf, jnp.round(x * 2) / 2))


def several(x: jax.Array) -> tuple[jax.Array, ...]:
    """Keys with ties of two types, and what is moved along."""
    return ties(x), (x * 2).astype(jnp.int8), x, jnp.arange(48).reshape(8, 6)


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
    "gathers": {
        "rows": lambda x: x[POSITIONS],
        "columns": lambda x: x[:, POSITIONS],
        "columns outside": lambda x: jnp.take(x, 3 * POSITIONS, axis=1),
        "columns clipped": lambda x: jnp.take(x, 3 * POSITIONS, axis=1, mode="clip"),
        "pairs": lambda x: x[POSITIONS, POSITIONS[::-1]],
        "planes": lambda x: x.reshape(2, 4, 2, 3)[1, POSITIONS, :, POSITIONS % 3],
        "flags": lambda x: (x > 0)[POSITIONS],
        "bytes": lambda x: (x * 9).astype(jnp.int8)[:, POSITIONS],
        "not a number": lambda x: jnp.log(x)[POSITIONS],
        "along an axis": lambda x: jnp.take_along_axis(x, label(x)[:, None], 1),
        "of each row": lambda x: jax.vmap(lambda row, i: row[i])(x, label(x)),
        "slice": lambda x: jax.lax.dynamic_slice(x, (label(x)[0], label(x)[1]), (3, 6)),
        "slice of each row": lambda x: jax.vmap(lambda r, i: jax.lax.dynamic_slice(r, (i,), (2,)))(
            x, label(x)
        ),
        "rows of a large table": lambda x: table(x)[tokens(x)],
        "rows outside": lambda x: x.at[tokens(x) - 9].get(mode="fill", fill_value=-1.0),
        "rows clipped": lambda x: x.at[tokens(x) - 9].get(mode="clip"),
        "rows wrapped": lambda x: jnp.take(x, tokens(x), axis=0, mode="wrap"),
        "rows in bounds": lambda x: x.at[label(x)].get(mode="promise_in_bounds"),
        "negative positions": lambda x: x[-label(x) - 1],
        "label of each row": lambda x: x[jnp.arange(8), label(x)],
        "labels of each row": lambda x: x[np.arange(8)[:, None], jnp.stack([label(x), label(x) - 1], 1)],
        "diagonal": lambda x: x[jnp.arange(6), jnp.arange(6)],
        "rows of rows": lambda x: jnp.take_along_axis(x, jnp.argmax(x, 0)[None], 0),
        "reversed columns": lambda x: jnp.take(x, 5 - label(x), axis=1).T,
        "unsigned positions": lambda x: x[label(x).astype(jnp.uint8)],
        "positions of a byte": lambda x: x[label(x).astype(jnp.int8) - 3],
        "sixteen bits": lambda x: x.astype(jnp.bfloat16)[label(x)].astype(jnp.float32),
        "long integers": lambda x: (x * 9).astype(int)[:, label(x)],
        "constants": lambda x: jnp.array([2.0, 3.0, 5.0, 7.0, 11.0, 13.0])[label(x)] * x[:, 0],
        "nothing": lambda x: x[label(x)[:0]],
        "one": lambda x: x[:1, :1][label(x)[:1]],
        "one scalar": lambda x: x[label(x)[0], label(x)[1]],
        "read into a sum": lambda x: jnp.sin(x[label(x)] + x).sum(1),
        "slices of planes": lambda x: jax.lax.dynamic_slice(
            x.reshape(8, 2, 3), (label(x)[0], label(x)[1], label(x)[2]), (2, 1, 2)
        ),
    },
    "scatters": {
        "add to rows": lambda x: x.at[POSITIONS].add(x[:4]),
        "add to columns": lambda x: x.at[:, POSITIONS].add(1.0),
        "add to pairs": lambda x: x.at[POSITIONS, POSITIONS[::-1]].add(2.0),
        "add to rows outside": lambda x: x.at[9 * POSITIONS].add(1.0),
        "set a row": lambda x: x.at[label(x)[0]].set(7.0),
        "set a column": lambda x: x.at[:, -1].set(x[:, 0]),
        "set a part": lambda x: x.at[1:3, :2].set(0.0),
        "set in each row": lambda x: jax.vmap(lambda row, i: row.at[i].set(5.0))(x, label(x)),
        "update": lambda x: jax.lax.dynamic_update_slice(x, x[:3] * 2, (label(x)[0], 0)),
        "add to a large table": lambda x: jnp.zeros((2000, 6)).at[tokens(x)].add(x),
        "gradient of a large table": jax.grad(lambda x: (table(x)[tokens(x)] * jnp.sin(x)).sum()),
        "add outside": lambda x: x.at[tokens(x) - 9].add(x),
        "add outside, clipped": lambda x: x.at[tokens(x) - 9].add(x, mode="clip"),
        "subtract": lambda x: x.at[label(x)].subtract(x),
        "multiply": lambda x: x.at[label(x)].multiply(x),
        "maximum": lambda x: x.at[label(x)].max(2 * x),
        "minimum": lambda x: x.at[label(x), 2].min(x[:, 0]),
        "maximum of none": lambda x: x.at[label(x)].max(jnp.log(x)),
        "maximum of unsigned": lambda x: unsigned(x).at[label(x)].max(unsigned(-x)),
        "set repeatedly": lambda x: jnp.zeros((6, 6)).at[label(x)].set(x),
        "set pairs repeatedly": lambda x: jnp.zeros((6, 6)).at[label(x), label(-x)].set(x[:, 0]),
        "set columns": lambda x: x.at[:, POSITIONS].set(x[:, :4]),
        "set rows in place": lambda x: x.at[jnp.array([0, 2])].set(1.0),
        "set flags": lambda x: (x > 0).at[label(x)].set(x < 0),
        "any of flags": lambda x: (x > 0).at[label(x)].max(x < 0),
        "add bytes": lambda x: (x * 9).astype(jnp.int8).at[label(x)].add(jnp.int8(3)),
        "add sixteen bits": lambda x: x.astype(jnp.bfloat16).at[POSITIONS[:3]].add(1.5).astype(jnp.float32),
        "add to each row": lambda x: x.at[jnp.arange(8), label(x)].add(1.0),
        "add to the diagonal": lambda x: x.at[jnp.arange(6), jnp.arange(6)].add(1.0),
        "add nothing": lambda x: x.at[label(x)[:0]].add(x[:0]),
        "add to nothing": lambda x: x[:0].at[label(x)].add(1.0),
        "add windows": lambda x: jax.lax.scatter_add(
            x, label(x)[:, None], x[:, None, :3], jax.lax.ScatterDimensionNumbers((1, 2), (), (0,))
        ),
        "sums of segments": lambda x: jax.ops.segment_sum(x, label(x), 6),
        "sums of segments of numbers": lambda x: jax.ops.segment_sum(x[:, 0], label(x), 6),
        "counts": lambda x: jnp.bincount(label(x), length=6),
        "largest of segments": lambda x: jax.ops.segment_max(x, label(x), 6),
        "products of segments": lambda x: jax.ops.segment_prod(x, label(x), 6),
        "update of planes": lambda x: jax.lax.dynamic_update_slice(
            x.reshape(8, 2, 3), x.reshape(8, 2, 3)[:2, :, :1], (label(x)[0], label(x)[1], label(x)[2])
        ),
        "gradient of rows": jax.grad(lambda x: jnp.sin(x[POSITIONS]).sum()),
        "gradient of a slice": jax.grad(
            lambda x: jnp.sin(jax.lax.dynamic_slice(x, (POSITIONS[0], 1), (3, 2))).sum()
        ),
        "integer labels": jax.grad(
            lambda x: optax.softmax_cross_entropy_with_integer_labels(x, label(x)).mean()
        ),
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
    "sorts": {
        "sort": jnp.sort,
        "sort the batch": lambda x: jnp.sort(x, 0),
        "sort the middle": lambda x: jnp.sort(x.reshape(8, 3, 2), 1),
        "sort everything": lambda x: jnp.sort(x, None),
        "descending": lambda x: jnp.sort(x, descending=True),
        "ties": lambda x: jnp.sort(ties(x)),
        "one element": lambda x: jnp.sort(x[:, :1]),
        "no element": lambda x: jnp.sort(x[:, :0]),
        "no rows": lambda x: jnp.sort(x[:0]),
        "argsort": jnp.argsort,
        "argsort of ties": lambda x: jnp.argsort(ties(x)),
        "argsort of ties, descending": lambda x: jnp.argsort(ties(x), descending=True),
        "argsort of the batch": lambda x: jnp.argsort(ties(x), 0),
        "several": lambda x: jax.lax.sort(several(x)),
        "several by two keys": lambda x: jax.lax.sort(several(x), num_keys=2),
        "several by three keys": lambda x: jax.lax.sort(several(x), dimension=0, num_keys=3),
        "unstable": lambda x: jax.lax.sort(x, is_stable=False),
        "lexsort": lambda x: jnp.lexsort((x[:, 0], ties(x)[:, 1])),
        "bfloat16": lambda x: jnp.sort(ties(x).astype(jnp.bfloat16)),
        "float16": lambda x: jnp.argsort(ties(x).astype(jnp.float16)),
        "booleans": lambda x: jnp.sort(x > 0),
        **{f"sort {t.__name__}": lambda x, t=t: jnp.sort((x * 90).astype(t)) for t in INTEGERS},
        "long rows": lambda x: jnp.sort(jnp.sin(jnp.arange(800.0) * x[:, :1])),
        "argsort of long rows": lambda x: jnp.argsort(jnp.arange(1001) * label(x)[:, None] % 97),
        "top 2": lambda x: jax.lax.top_k(x, 2),
        "top of ties": lambda x: jax.lax.top_k(jnp.round(x), 5),
        "top of long rows": lambda x: jax.lax.top_k(jnp.sin(jnp.arange(800.0) * x[:, :1]), 9),
        "top of rising rows": lambda x: jax.lax.top_k(jnp.arange(900.0) + x[:, :1], 30),
        "top of long ties": lambda x: jax.lax.top_k(jnp.arange(801) * label(x)[:, None] % 23, 40),
        "top of integers": lambda x: jax.lax.top_k((x * 10).astype(int), 3),
        "top of everything": lambda x: jax.lax.top_k(x, 6),
        "median": lambda x: jnp.median(x, 1),
        "median of the batch": lambda x: jnp.median(x, 0),
        "quantile": lambda x: jnp.quantile(x, 0.3, axis=1),
        "percentiles": lambda x: jnp.percentile(x, jnp.array([10.0, 90.0]), axis=1),
        "unique": lambda x: jnp.unique(jnp.round(x), size=7),
        "searchsorted": lambda x: jnp.searchsorted(jnp.sort(x[0]), x),
        "permutation": lambda x: jax.random.permutation(jax.random.key(3), x, axis=1),
        "permutation of the batch": lambda x: jax.random.permutation(jax.random.key(3), x),
        "categorical": lambda x: jax.random.categorical(jax.random.key(4), x),
        "choice": lambda x: jax.random.choice(jax.random.key(4), x, (5,), replace=False),
        "gradient of sort": jax.grad(lambda x: (jnp.sort(x) * jnp.arange(6.0)).sum()),
        "gradient of top_k": jax.grad(lambda x: (jax.lax.top_k(x, 2)[0] ** 2).sum()),
        "gradient of median": jax.grad(lambda x: jnp.median(x, 1).sum()),
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
    "convolutions": {
        "same": convolution((6, 5, 3), (3, 3, 3, 4), (1, 1), "SAME"),
        "valid": convolution((6, 5, 3), (3, 3, 3, 4), (1, 1), "VALID"),
        "one channel": convolution((6, 5, 1), (3, 3, 1, 4), (1, 1), "SAME"),
        "pointwise": convolution((6, 5, 3), (1, 1, 3, 4), (1, 1), "VALID"),
        "patches": convolution((6, 4, 3), (2, 2, 3, 4), (2, 2), "VALID"),
        "strided": convolution((7, 6, 3), (3, 3, 3, 4), (2, 2), "SAME"),
        "uneven strides": convolution((7, 6, 3), (3, 2, 3, 4), (3, 2), "VALID"),
        "dilated": convolution((7, 6, 3), (3, 2, 3, 4), (1, 1), "SAME", rhs_dilation=(2, 3)),
        "uneven padding": convolution((6, 5, 3), (3, 3, 3, 4), (1, 2), ((2, 0), (1, 3))),
        "image dilated": convolution((4, 3, 3), (3, 3, 3, 4), (1, 1), ((1, 1), (2, 0)), lhs_dilation=(2, 3)),
        "transposed": transposed_convolution,
        "even kernel": convolution((6, 5, 3), (4, 2, 3, 4), (1, 1), "SAME"),
    },
    "convolutions of other layouts": {
        "channels first": convolution((3, 6, 5), (4, 3, 3, 3), (1, 1), "SAME", ("NCHW", "OIHW", "NCHW")),
        "channels first, strided": convolution(
            (3, 6, 5), (4, 3, 2, 3), (2, 1), "SAME", ("NCHW", "OIHW", "NCHW")
        ),
        "channels last, kernel not": convolution(
            (6, 5, 3), (4, 3, 3, 3), (1, 1), "SAME", ("NHWC", "OIHW", "NHWC")
        ),
        "groups": convolution((6, 5, 4), (3, 3, 2, 6), (1, 1), "SAME", feature_group_count=2),
        "depthwise": convolution((6, 5, 4), (3, 3, 1, 4), (1, 1), "SAME", feature_group_count=4),
        "depthwise, multiplied": convolution((6, 5, 4), (3, 3, 1, 8), (2, 2), "SAME", feature_group_count=4),
        "groups, channels first": convolution(
            (4, 6, 5), (6, 2, 3, 3), (1, 1), "SAME", ("NCHW", "OIHW", "NCHW"), feature_group_count=2
        ),
        "line": convolution((9, 3), (3, 3, 4), (2,), "SAME", ("NWC", "WIO", "NWC")),
        "line, causal": convolution(
            (9, 3), (3, 3, 4), (1,), ((4, 0),), ("NWC", "WIO", "NWC"), rhs_dilation=(2,)
        ),
        "volume": convolution((4, 3, 5, 2), (2, 3, 3, 2, 4), (1, 1, 2), "SAME", ("NDHWC", "DHWIO", "NDHWC")),
    },
    "pooling": {
        "max": pooling("max", (2, 2), (2, 2), "VALID"),
        "max, overlapping": pooling("max", (3, 3), (2, 2), "SAME"),
        "max, padded": pooling("max", (3, 2), (1, 2), ((1, 1), (0, 1))),
        "average": pooling("avg", (2, 2), (2, 2), "VALID"),
        "average, overlapping": pooling("avg", (3, 3), (2, 2), "SAME"),
        "average, padded": pooling("avg", (3, 2), (1, 2), ((1, 1), (0, 1))),
        "global": lambda x: jax.grad(lambda x: (image(x, 6, 5, 3).mean((1, 2)) ** 2).sum())(x),
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


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("group", GROUPS)
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
        assert lowered.as_text(stage="local").count("epl.all_reduce") == 2 * (devices - 1)
