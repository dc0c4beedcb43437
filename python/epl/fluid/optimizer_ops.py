"""Optimizers that Paddle 2.6 has as ops alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from epl.fluid.optimizer_base import Optimizer


class _OfOp(Optimizer):
    """An optimizer of one op for each parameter.

    kind: of the op. kept: what it keeps for each parameter: the name in the op, in the names of variables,
    and in the op's outputs.
    """

    kind: ClassVar[str]
    kept: ClassVar[Sequence[tuple[str, str, str]]]

    def __init__(
        self,
        learning_rate: Any,
        attributes: Mapping[str, Any],
        parameter_list: Any,
        regularization: Any,
        grad_clip: Any,
        name: str | None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        super().__init__(rate, parameter_list, regularization, grad_clip, name)
        self.type = self.kind
        self._attributes = dict(attributes)

    def _create_accumulators(self, _: Any, parameters: Sequence[Any]) -> None:
        for parameter in parameters:
            for _input, name, _output in self.kept:
                self._add_accumulator(name, parameter)

    def _append_optimize_op(self, block: Any, param_and_grad: tuple[Any, Any]) -> Any:
        parameter, gradient = param_and_grad
        inputs = {"Param": parameter, "Grad": gradient, "LearningRate": self._create_param_lr(param_and_grad)}
        outputs = {"ParamOut": parameter}
        for given, name, made in self.kept:
            inputs[given] = outputs[made] = self._get_accumulator(name, parameter)
        return block.append_op(
            type=self.kind, inputs=inputs, outputs=outputs, attrs=self._attributes, stop_gradient=True
        )


class FtrlOptimizer(_OfOp):
    """Follow the regularized leader: penalties `l1` and `l2` of the sum of all steps."""

    kind = "ftrl"
    kept = (
        ("SquaredAccumulator", "squared", "SquaredAccumOut"),
        ("LinearAccumulator", "linear", "LinearAccumOut"),
    )

    def __init__(
        self,
        learning_rate: Any,
        l1: float = 0.0,
        l2: float = 0.0,
        lr_power: float = -0.5,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        attributes = {"l1": float(l1), "l2": float(l2), "lr_power": float(lr_power)}
        super().__init__(learning_rate, attributes, parameter_list, regularization, grad_clip, name)


class DecayedAdagradOptimizer(_OfOp):
    """Adagrad by a mean of squares."""

    kind = "decayed_adagrad"
    kept = (("Moment", "moment", "MomentOut"),)

    def __init__(
        self,
        learning_rate: Any,
        decay: float = 0.95,
        epsilon: float = 1e-6,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        attributes = {"decay": float(decay), "epsilon": float(epsilon)}
        super().__init__(learning_rate, attributes, parameter_list, regularization, grad_clip, name)


class LarsMomentumOptimizer(_OfOp):
    """Momentum, of a rate for each parameter: by its length and that of its gradient.

    Args:
      lars_coeff: of the share of a parameter's length that a step has.
      lars_weight_decay: of parameters.
    """

    kind = "lars_momentum"
    kept = (("Velocity", "velocity", "VelocityOut"),)

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        lars_coeff: float = 0.001,
        lars_weight_decay: float = 0.0005,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        attributes = {
            "mu": float(momentum),
            "lars_coeff": float(lars_coeff),
            "lars_weight_decay": [float(lars_weight_decay)],
        }
        super().__init__(learning_rate, attributes, parameter_list, regularization, grad_clip, name)
