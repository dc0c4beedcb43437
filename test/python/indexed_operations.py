"""Gathers, scatters and sorts, each on a matrix of 8 x 6."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

from dense_operations import INTEGERS, Operation, label

POSITIONS = np.array([3, 0, 5, 3], np.int32)


def tokens(x: jax.Array) -> jax.Array:
    """A number below 2,000 for every row; several are the same, several are small."""
    return (jnp.abs(x[:, 0]) * 20).astype(int) % 7 * (jnp.abs(x[:, 1]) * 40).astype(int) % 2000


def table(x: jax.Array) -> jax.Array:
    """2,000 rows."""
    return jnp.tile(x, (250, 1)) + jnp.arange(2000.0)[:, None]


def unsigned(x: jax.Array) -> jax.Array:
    """Numbers around 2^31, where signs would show."""
    return (x * 900).astype(jnp.int32).view(jnp.uint32)


def ties(x: jax.Array) -> jax.Array:
    """Numbers of which many are equal, both zeros, infinities, and what is none."""
    return jnp.where(x > 1.2, jnp.nan, jnp.where(x < -1.2, -jnp.inf, jnp.round(x * 2) / 2))


def several(x: jax.Array) -> tuple[jax.Array, ...]:
    """Keys with ties of two types, and what is moved along."""
    return ties(x), (x * 2).astype(jnp.int8), x, jnp.arange(48).reshape(8, 6)


GROUPS: dict[str, dict[str, Operation]] = {
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
}
