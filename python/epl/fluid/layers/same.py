"""Layers that Paddle 2.6 has with the names and arguments that they had in Fluid."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import paddle, reason
from epl.fluid.layers.registry import layer


def _enter(function: Callable[..., Any]) -> None:
    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        try:
            return function(*positional, **named)
        except (AssertionError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            raise ArgumentError(f"layers.{function.__name__}: {reason(error)}") from error

    layer(call)


_WITH_PARAMETERS = (
    "batch_norm",
    "bilinear_tensor_product",
    "conv2d",
    "conv2d_transpose",
    "data_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
)

for _name in _WITH_PARAMETERS:
    _enter(getattr(paddle.static.nn, _name))
_enter(paddle.create_parameter)
_enter(paddle.static.create_global_var)
_enter(paddle.static.nn.continuous_value_model)
_enter(paddle.tensor.fill_constant)
