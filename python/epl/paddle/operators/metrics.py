"""Metrics."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator


@operator("accuracy")
def accuracy(inputs: Inputs, _: Attributes) -> Outputs:
    """The share of rows in whose numbers the label is, how many those are, and how many rows."""
    hits = jnp.any(inputs.one("Indices") == inputs.one("Label"), axis=1)
    right, total = jnp.sum(hits, dtype=jnp.int32), inputs.extent("Indices", 0)
    return {
        "Accuracy": [right.astype(jnp.float32) / total],
        "Correct": [right],
        "Total": [jnp.asarray(total, jnp.int32)],
    }


@operator("auc")
def auc(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The area under the ROC curve, of counts by bucket of the probability of the last column.

    The counts are of all runs, or with `slide_steps` those of so many last runs one behind the other, their
    sum, and the number of the run.
    """
    labels, likely = inputs.one("Label").reshape(-1), inputs.one("Predict")[:, -1]
    last, steps = attributes["num_thresholds"], attributes["slide_steps"]
    buckets = (likely * last).astype(jnp.int32)
    made = {}
    sums = []
    for name, hits in (("StatPos", labels > 0), ("StatNeg", labels == 0)):
        before = inputs.one(name)
        own = jnp.zeros(last + 1, before.dtype).at[buckets].add(hits.astype(before.dtype))
        after, total = _counted(before.reshape(-1), own, steps)
        made[f"{name}Out"] = [after.reshape(before.shape)]
        sums.append(total.astype(jnp.float32))
    return {"AUC": [_area(*sums)], **made}


def _counted(before: Any, own: Any, steps: int) -> tuple[Any, Any]:
    """What is kept, and the sum of what counts, with a run's counts in place of the oldest ones."""
    if not steps:
        total = before + own
        return total, total
    count = own.shape[0]
    run = before[-1]
    begin = (run % steps) * count
    total = before[steps * count : -1] - lax.dynamic_slice(before, [begin], [count]) + own
    runs = lax.dynamic_update_slice(before[: steps * count], own, [begin])
    return jnp.concatenate([runs, total, (run + 1)[None]]), total


def _area(positive: Any, negative: Any) -> Any:
    """Of trapezoids between the shares of both kinds that are above each threshold."""
    above, below = (jnp.cumsum(counts[::-1]) for counts in (positive, negative))
    before = jnp.concatenate([jnp.zeros(1, above.dtype), above[:-1]])
    whole = above[-1] * below[-1]
    area = jnp.sum(negative[::-1] * (above + before)) / 2
    return jnp.where(whole > 0, area / jnp.where(whole > 0, whole, 1), 0)
