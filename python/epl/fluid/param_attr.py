"""What is said of a parameter where a layer makes it."""

from __future__ import annotations

from typing import Any

from epl.errors import UnsupportedError
from epl.fluid.installed import load
from epl.places import calling_place

paddle = load()

GRADIENT_CLIP = "gradient_clip"
"""In `optimize_attr` of a parameter: how its gradient is cut."""


class ParamAttr(paddle.ParamAttr):  # type: ignore[misc, name-defined]
    """What a layer is told of a parameter.

    Args:
      name: the variable's.
      initializer: what it begins with.
      learning_rate: times the optimizer's.
      regularizer: in place of the optimizer's.
      trainable: whether it is updated.
      do_model_average: whether averages of models have it.
      gradient_clip: how its gradient is cut, if the optimizer is not told.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = False,
        gradient_clip: Any = None,
    ) -> None:
        super().__init__(name, initializer, learning_rate, regularizer, trainable, do_model_average)
        self.gradient_clip = gradient_clip

    def _to_kwargs(self, with_initializer: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = super()._to_kwargs(with_initializer)
        # Parameters of Paddle 2.6 keep these numbers as they are, and have no place for a clip.
        numbers = {**made["optimize_attr"], GRADIENT_CLIP: self.gradient_clip}
        return {**made, "optimize_attr": numbers}


class WeightNormParamAttr(paddle.static.WeightNormParamAttr):  # type: ignore[misc, name-defined]
    """The same of a parameter that is a direction times a length, both of which are trained.

    Raises:
      UnsupportedError: for a length for each index of a dimension, which Paddle 2.6 cannot run.
    """

    def __init__(
        self,
        dim: int | None = None,
        name: str | None = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = False,
    ) -> None:
        if dim is not None:
            raise UnsupportedError(
                f"WeightNormParamAttr: expected dim None, found {dim}: Paddle 2.6 cannot run its gradient",
                calling_place(),
            )
        super().__init__(dim, name, initializer, learning_rate, regularizer, trainable, do_model_average)
