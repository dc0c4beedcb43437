"""Metrics."""

from __future__ import annotations

from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, one_dimension, paddle
from epl.fluid.layers.registry import layer
from epl.fluid.layers.tensor import topk


@layer
def accuracy(input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None) -> Any:
    """The share of samples whose label is among the `k` likeliest classes.

    Args:
      input: scores of [N, classes]. label: numbers of [N, 1].
      correct, total: variables that become the counts of which it is the quotient.
    """
    values, places = topk(input, k)
    builder = Builder("accuracy")
    counts = {"Correct": _count(builder, correct), "Total": _count(builder, total)}
    inputs = {"Out": values, "Indices": places, "Label": label}
    made = one_dimension(builder.op("accuracy", inputs, output="Accuracy", dtype="float32", others=counts))
    made.stop_gradient = True
    return made


def _count(builder: Builder, given: Any) -> Any:
    return builder.variable("int32") if given is None else given


@layer
def auc(
    input: Any,
    label: Any,
    curve: str = "ROC",
    num_thresholds: int = 4095,
    topk: int = 1,
    slide_steps: int = 1,
) -> tuple[Any, Any, list[Any]]:
    """The area under the ROC curve.

    Args:
      input: probabilities of [N, 2] or [N, 1], of which the last column is the one that the label has.
      label: 0 or 1, of [N, 1].
      num_thresholds: into how many buckets probabilities are counted, less one.
      slide_steps: of how many runs before the second result is; 0: of all.

    Returns:
      the area of all runs, that of the last ones, and the counts of both, which are persistable.
    """
    if curve != "ROC":
        raise ArgumentError(f'layers.auc: expected "ROC" as curve, found {curve!r}')
    try:
        whole, batch, counts = paddle.static.auc(input, label, curve, num_thresholds, topk, slide_steps)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"layers.auc: {error}") from error
    return one_dimension(whole), one_dimension(batch), counts
