"""Gradients, as ops that are appended to the program."""

from __future__ import annotations

from typing import Any

from epl.errors import ArgumentError
from epl.fluid.installed import load
from epl.fluid.layers.builder import Variable

paddle = load()


def append_backward(
    loss: Any, parameter_list: Any = None, no_grad_set: Any = None, callbacks: Any = None
) -> list[tuple[Any, Any]]:
    """Appends the gradient ops of a loss.

    Args:
      loss: of one element.
      parameter_list: variables or names; default all parameters that are trained.
      no_grad_set: variables or names that no gradient goes through.

    Returns:
      pairs of a parameter and its gradient.
    """
    return list(paddle.static.append_backward(checked_loss(loss), parameter_list, no_grad_set, callbacks))


def checked_loss(loss: Any) -> Any:
    """The loss.

    Raises:
      ArgumentError: for what is no variable of one element.
    """
    if not isinstance(loss, Variable):
        raise ArgumentError(f"expected a Variable as loss, found {type(loss).__name__}")
    if any(extent != 1 for extent in loss.shape):
        raise ArgumentError(
            f'expected a loss of one element, found "{loss.name}" of shape {list(loss.shape)}: layers.mean '
            "makes one of it"
        )
    return loss


def gradients(targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None) -> list[Any]:
    """The gradients of targets with respect to variables, None where there is none.

    Args:
      target_gradients: those that the targets have; default ones.
    """
    return list(paddle.static.gradients(targets, inputs, target_gradients, no_grad_set))
