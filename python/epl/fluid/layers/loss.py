"""Losses, one for each sample if nothing else is said."""

from __future__ import annotations

from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, one_dimension
from epl.fluid.layers.registry import LAYERS, layer


@layer
def cross_entropy(input: Any, label: Any, soft_label: bool = False, ignore_index: int = -100) -> Any:
    """The cross entropy of probabilities with labels: numbers of [..., 1], or weights if they are soft.

    Args:
      input: probabilities along the last dimension, as softmax makes them.
      ignore_index: the number of samples that have no loss.
    """
    builder = Builder("cross_entropy")
    inputs = {"X": input, "Label": label}
    if soft_label:
        return builder.op("cross_entropy", inputs, {"soft_label": True}, output="Y")
    others = {"XShape": "float32", "MatchX": "float32"}
    return builder.op("cross_entropy2", inputs, {"ignore_index": ignore_index}, output="Y", others=others)


@layer
def softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The cross entropy of softmax with labels, and the softmax if it is asked for."""
    builder = Builder("softmax_with_cross_entropy")
    softmax = builder.variable(getattr(logits, "dtype", "float32"))
    told = {
        "soft_label": soft_label,
        "ignore_index": ignore_index,
        "numeric_stable_mode": numeric_stable_mode,
        "axis": axis,
    }
    inputs = {"Logits": logits, "Label": label}
    loss = builder.op("softmax_with_cross_entropy", inputs, told, output="Loss", others={"Softmax": softmax})
    return (loss, softmax) if return_softmax else loss


@layer
def sigmoid_cross_entropy_with_logits(
    x: Any, label: Any, ignore_index: int = -100, name: str | None = None, normalize: bool = False
) -> Any:
    """The cross entropy of sigmoid with labels from 0 to 1, element by element.

    Args:
      normalize: whether it is divided by the number of labels that are not to be ignored.
    """
    builder = Builder("sigmoid_cross_entropy_with_logits", name)
    told = {"ignore_index": ignore_index, "normalize": normalize}
    return builder.op("sigmoid_cross_entropy_with_logits", {"X": x, "Label": label}, told)


@layer
def square_error_cost(input: Any, label: Any) -> Any:
    """Squares of differences, element by element."""
    builder = Builder("square_error_cost")
    rest = builder.op("elementwise_sub", {"X": input, "Y": label})
    return builder.op("square", {"X": rest})


@layer
def mse_loss(input: Any, label: Any) -> Any:
    """The mean of squares of differences, of one element."""
    return LAYERS["reduce_mean"](square_error_cost(input, label))


@layer
def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> Any:
    """The cross entropy of probabilities of [N, 1] with labels from 0 to 1."""
    inputs = {"Predicted": input, "Labels": label}
    return Builder("log_loss", name).op("log_loss", inputs, {"epsilon": epsilon}, output="Loss")


@layer
def huber_loss(input: Any, label: Any, delta: float) -> Any:
    """Half squares of small differences, and a line for those beyond `delta`, element by element."""
    others = {"Residual": getattr(input, "dtype", "float32")}
    inputs = {"X": input, "Y": label}
    return Builder("huber_loss").op("huber_loss", inputs, {"delta": float(delta)}, others=others)


@layer
def smooth_l1(
    x: Any, y: Any, inside_weight: Any = None, outside_weight: Any = None, sigma: float | None = None
) -> Any:
    """Half squares of small differences, and a line for large ones, summed over each sample: [N, 1].

    Args:
      inside_weight, outside_weight: of the differences, and of the loss of each element.
      sigma: differences beyond 1 / sigma**2 are large; default 1.
    """
    square = 1.0 if sigma is None else float(sigma) ** 2
    if inside_weight is not None:
        x, y = (LAYERS["elementwise_mul"](each, inside_weight) for each in (x, y))
    found = LAYERS["scale"](huber_loss(x, y, 1 / square), square)
    if outside_weight is not None:
        found = LAYERS["elementwise_mul"](found, outside_weight)
    return LAYERS["reduce_sum"](LAYERS["flatten"](found), dim=1, keep_dim=True)


@layer
def kldiv_loss(x: Any, target: Any, reduction: str = "mean", name: str | None = None) -> Any:
    """The divergence of `target` from the distribution whose logarithms are `x`.

    Args:
      reduction: "none": element by element; "batchmean", "mean" or "sum": one element.
    """
    builder = Builder("kldiv_loss", name)
    told = {"reduction": reduction}
    return one_dimension(builder.op("kldiv_loss", {"X": x, "Target": target}, told, output="Loss"))


@layer
def rank_loss(label: Any, left: Any, right: Any, name: str | None = None) -> Any:
    """RankNet's loss of two scores, of [N, 1]; the label is 1 if the left one is to be the larger, else 0."""
    return Builder("rank_loss", name).op("rank_loss", {"Label": label, "Left": left, "Right": right})


@layer
def margin_rank_loss(label: Any, left: Any, right: Any, margin: float = 0.1, name: str | None = None) -> Any:
    """What the larger of two scores of [N, 1] lacks to a margin; the label is 1 for the left one, else -1."""
    builder = Builder("margin_rank_loss", name)
    ahead = builder.op("elementwise_sub", {"X": left, "Y": right})
    ahead = builder.op("elementwise_mul", {"X": label, "Y": ahead})
    return builder.op("relu", {"X": LAYERS["scale"](ahead, -1.0, margin)})


@layer
def hinge_loss(input: Any, label: Any, name: str | None = None) -> Any:
    """What a score lacks to 1 on the side of its label, 0 or 1."""
    inputs = {"Logits": input, "Labels": label}
    return Builder("hinge_loss", name).op("hinge_loss", inputs, output="Loss")


@layer
def bpr_loss(input: Any, label: Any, name: str | None = None) -> Any:
    """Bayesian personalized ranking: how far the label's score is ahead, the mean over the other classes."""
    return Builder("bpr_loss", name).op("bpr_loss", {"X": input, "Label": label}, output="Y")


@layer
def teacher_student_sigmoid_loss(
    input: Any, label: Any, soft_max_up_bound: float = 15.0, soft_max_lower_bound: float = -15.0
) -> Any:
    """The cross entropy of a click, and of a teacher's score if the label says that there is one."""
    told = {
        "soft_max_up_bound": float(soft_max_up_bound),
        "soft_max_lower_bound": float(soft_max_lower_bound),
    }
    return Builder("teacher_student_sigmoid_loss").op(
        "teacher_student_sigmoid_loss", {"X": input, "Label": label}, told, output="Y"
    )


@layer
def dice_loss(input: Any, label: Any, epsilon: float = 1e-5) -> Any:
    """One minus Dice's coefficient of probabilities with labels of [..., 1], the mean over the samples."""
    if len(input.shape) < 2:
        raise ArgumentError(
            f"layers.dice_loss: expected an input of two dimensions, found {list(input.shape)}"
        )
    wanted = LAYERS["one_hot"](label, input.shape[-1])
    dims = list(range(1, len(input.shape)))
    both = LAYERS["reduce_sum"](LAYERS["elementwise_mul"](input, wanted), dim=dims)
    either = LAYERS["elementwise_add"](
        LAYERS["reduce_sum"](input, dim=dims), LAYERS["reduce_sum"](wanted, dim=dims)
    )
    share = LAYERS["elementwise_div"](LAYERS["scale"](both, 2.0), LAYERS["scale"](either, 1.0, epsilon))
    return LAYERS["reduce_mean"](LAYERS["scale"](share, -1.0, 1.0))


@layer
def cos_sim(X: Any, Y: Any) -> Any:
    """The cosine of rows: [N, 1]. `Y` has as many rows as `X`, or one."""
    product = LAYERS["reduce_sum"](LAYERS["elementwise_mul"](X, Y), dim=_inner(X), keep_dim=True)
    lengths = [
        LAYERS["sqrt"](LAYERS["reduce_sum"](LAYERS["square"](each), dim=_inner(each), keep_dim=True))
        for each in (X, Y)
    ]
    found = LAYERS["elementwise_div"](product, LAYERS["elementwise_mul"](*lengths))
    return LAYERS["reshape"](found, [-1, 1]) if len(X.shape) > 2 else found


def _inner(x: Any) -> list[int]:
    return list(range(1, len(x.shape)))


@layer
def l2_normalize(x: Any, axis: int, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """Divided by its norm along a dimension, of which `epsilon` is added to the square."""
    told = {"axis": 0 if len(x.shape) == 1 else axis, "epsilon": epsilon}
    return Builder("l2_normalize", name).op("norm", {"X": x}, told, others={"Norm": x.dtype})
