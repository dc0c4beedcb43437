"""Losses."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


def aligned(x: Any, label: Any, axis: int) -> Any:
    """Labels with the dimension that they number, of one element."""
    return label if label.ndim == x.ndim else jnp.expand_dims(label, axis % x.ndim)


def is_label(x: Any, label: Any, axis: int) -> Any:
    """Where along a dimension the labels are."""
    return aligned(x, label, axis) == lax.broadcasted_iota(label.dtype, x.shape, axis % x.ndim)


@operator("softmax_with_cross_entropy")
def softmax_with_cross_entropy(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The cross entropy of softmax with labels, numbers or weights; none where the label is to be ignored."""
    x, label, axis = inputs.one("Logits"), inputs.one("Label"), attributes.get("axis", -1)
    logarithm = jax.nn.log_softmax(x, axis) if attributes.get("use_softmax", True) else jnp.log(x)
    if attributes.get("soft_label"):
        loss = -jnp.sum(label * logarithm, axis, keepdims=True)
    else:
        counts = aligned(x, label, axis) != attributes.get("ignore_index", -100)
        loss = -jnp.sum(jnp.where(is_label(x, label, axis) & counts, logarithm, 0), axis, keepdims=True)
    return {"Softmax": [jnp.exp(logarithm)], "Loss": [loss]}


@operator("cross_entropy", "cross_entropy2")
def cross_entropy(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The cross entropy of probabilities, along the last dimension; none where the label is to be ignored."""
    x, label = inputs.one("X"), inputs.one("Label")
    if attributes.get("soft_label"):
        return {"Y": [-jnp.sum(label * jnp.log(x), -1, keepdims=True)]}
    right = jnp.sum(jnp.where(is_label(x, label, -1), x, 0), -1, keepdims=True)
    counts = aligned(x, label, -1) != attributes.get("ignore_index", -100)
    return {"Y": [-jnp.log(jnp.where(counts, right, 1))], "MatchX": [right], "XShape": [x]}


@operator("sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The cross entropy of sigmoid with labels from 0 to 1; none where the label is to be ignored."""
    x, label = inputs.one("X"), inputs.one("Label")
    loss = jnp.maximum(x, 0) - x * label + jnp.log1p(jnp.exp(-jnp.abs(x)))
    counts = label != attributes.get("ignore_index", -100)
    loss = jnp.where(counts, loss, 0)
    return out(loss / jnp.maximum(jnp.sum(counts), 1) if attributes.get("normalize") else loss)


@operator("bce_loss")
def bce_loss(inputs: Inputs, _: Attributes) -> Outputs:
    """The cross entropy of probabilities with labels from 0 to 1."""
    x, label = inputs.one("X"), inputs.one("Label")
    right, wrong = (jnp.maximum(jnp.log(each), -100) for each in (x, 1 - x))
    return out(-(label * right + (1 - label) * wrong))


@operator("log_loss")
def log_loss(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same of Fluid, with a number that keeps logarithms finite."""
    x, label, least = inputs.one("Predicted"), inputs.one("Labels"), attributes["epsilon"]
    return {"Loss": [-label * jnp.log(x + least) - (1 - label) * jnp.log(1 - x + least)]}


@operator("huber_loss")
def huber_loss(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Squares of small differences, and a line for large ones."""
    rest, delta = inputs.one("Y") - inputs.one("X"), attributes["delta"]
    size = jnp.abs(rest)
    loss = jnp.where(size <= delta, 0.5 * rest * rest, delta * (size - 0.5 * delta))
    return {"Out": [loss], "Residual": [rest]}


@operator("kldiv_loss")
def kldiv_loss(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The divergence of a distribution from one that is given by logarithms."""
    x, target = inputs.one("X"), inputs.one("Target")
    loss = jnp.where(target > 0, target * (jnp.log(jnp.where(target > 0, target, 1)) - x), 0)
    reduction = attributes.get("reduction", "mean")
    if reduction == "none":
        return {"Loss": [loss]}
    dims = {"sum": (), "batchmean": (0,)}.get(reduction, tuple(range(x.ndim)))
    return {"Loss": [jnp.sum(loss) / inputs.extent("X", *dims)]}


@operator("rank_loss")
def rank_loss(inputs: Inputs, _: Attributes) -> Outputs:
    """The cross entropy of which of two scores is larger."""
    ahead = inputs.one("Left") - inputs.one("Right")
    return out(jax.nn.softplus(ahead) - inputs.one("Label") * ahead)


@operator("hinge_loss")
def hinge_loss(inputs: Inputs, _: Attributes) -> Outputs:
    """What a score lacks to 1 on the side of its label, 0 or 1."""
    return {"Loss": [jnp.maximum(1 - inputs.one("Logits") * (2 * inputs.one("Labels") - 1), 0)]}


@operator("bpr_loss")
def bpr_loss(inputs: Inputs, _: Attributes) -> Outputs:
    """How far the label's score is ahead of the others, the mean over these."""
    x, own = inputs.one("X"), is_label(inputs.one("X"), inputs.one("Label"), -1)
    right = jnp.sum(jnp.where(own, x, 0), -1, keepdims=True)
    behind = jnp.sum(jnp.where(own, 0, jax.nn.softplus(x - right)), -1, keepdims=True)
    return {"Y": [behind / (x.shape[-1] - 1)]}


@operator("teacher_student_sigmoid_loss")
def teacher_student_loss(inputs: Inputs, _: Attributes) -> Outputs:
    """The cross entropy of a click, and of a teacher's score.

    The label is -2 or -1, without a click or with one; with a teacher's score that score, or more by one.
    """
    x, label = inputs.one("X"), inputs.one("Label")
    base = jnp.maximum(x, 0) + jnp.log1p(jnp.exp(-jnp.abs(x)))
    clicked = ((label >= -1) & (label < 0)) | (label >= 1)
    score = jnp.where(label >= 1, label - 1, label)
    return {"Y": [base - jnp.where(clicked, x, 0) + jnp.where(label >= 0, base - x * score, 0)]}


@operator("label_smooth")
def label_smooth(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Labels mixed with what is likely before, or with all classes alike."""
    x, prior, share = inputs.one("X"), inputs.maybe("PriorDist"), attributes["epsilon"]
    return out((1 - share) * x + share * (1 / x.shape[-1] if prior is None else prior))
