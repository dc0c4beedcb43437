"""Metrics."""

from __future__ import annotations

from typing import Any

from epl.fluid.layers.builder import Builder, one_dimension
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
      topk: has no effect, as in Fluid.
      slide_steps: of how many runs before the second result is; 0: of all.

    Returns:
      the area of all runs, that of the last ones, and the counts of both, which are persistable.
    """
    del topk
    builder = Builder("auc")
    if curve != "ROC":
        raise builder.unsupported(f"the curve {curve!r}")
    count = num_thresholds + 1
    shape = [(1 + slide_steps) * count + 1] if slide_steps else [1, count]
    last = [builder.state(shape, "int64", 0) for _ in range(2)]
    every = [builder.state([1, count], "int64", 0) for _ in range(2)]
    told = {"curve": curve, "num_thresholds": num_thresholds}
    batch, whole = (
        _area(builder, input, label, counts, {**told, "slide_steps": steps})
        for counts, steps in ((last, slide_steps), (every, 0))
    )
    return whole, batch, [*last, *every]


def _area(builder: Builder, input: Any, label: Any, counts: list[Any], told: dict[str, Any]) -> Any:
    positive, negative = counts
    inputs = {"Predict": input, "Label": label, "StatPos": positive, "StatNeg": negative}
    others = {"StatPosOut": positive, "StatNegOut": negative}
    made = one_dimension(builder.op("auc", inputs, told, output="AUC", dtype="float64", others=others))
    made.stop_gradient = True
    return made
