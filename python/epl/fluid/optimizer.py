"""Optimizers, by the names and arguments of Fluid 1.8, over those of Paddle 2.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from epl.fluid.installed import load
from epl.fluid.optimizer_base import Optimizer
from epl.fluid.optimizer_ops import DecayedAdagradOptimizer, FtrlOptimizer, LarsMomentumOptimizer

paddle = load()

_base = paddle.optimizer


class SGDOptimizer(Optimizer, _base.SGD):  # type: ignore[misc, name-defined]
    """Steps against the gradient."""

    def __init__(
        self,
        learning_rate: Any,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        _base.SGD.__init__(self, rate, parameter_list, regularization, grad_clip, name=name)


class MomentumOptimizer(Optimizer, _base.Momentum):  # type: ignore[misc, name-defined]
    """With a velocity, or a step ahead by Nesterov."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        parameter_list: Any = None,
        use_nesterov: bool = False,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        _base.Momentum.__init__(
            self, rate, momentum, parameter_list, use_nesterov, regularization, grad_clip, name=name
        )


class AdagradOptimizer(Optimizer, _base.Adagrad):  # type: ignore[misc, name-defined]
    """By the sum of squares of gradients."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
    ) -> None:
        rate = self._set_rate(learning_rate)
        _base.Adagrad.__init__(
            self, rate, epsilon, parameter_list, regularization, grad_clip, name, initial_accumulator_value
        )


class AdamOptimizer(Optimizer, _base.Adam):  # type: ignore[misc, name-defined]
    """By means of gradients and of their squares.

    lazy_mode: whether rows of a table that a run does not use stay as they are, with their means.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
        lazy_mode: bool = False,
    ) -> None:
        rate = self._set_rate(learning_rate)
        settings = (beta1, beta2, epsilon, parameter_list, regularization, grad_clip, lazy_mode)
        _base.Adam.__init__(self, rate, *settings, name=name)


class AdamaxOptimizer(Optimizer, _base.Adamax):  # type: ignore[misc, name-defined]
    """Adam by the largest gradient so far."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        settings = (beta1, beta2, epsilon, parameter_list, regularization, grad_clip, name)
        _base.Adamax.__init__(self, rate, *settings)


class AdadeltaOptimizer(Optimizer, _base.Adadelta):  # type: ignore[misc, name-defined]
    """By means of squares of gradients and of steps."""

    def __init__(
        self,
        learning_rate: Any,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        _base.Adadelta.__init__(self, rate, epsilon, rho, parameter_list, regularization, grad_clip, name)


class RMSPropOptimizer(Optimizer, _base.RMSProp):  # type: ignore[misc, name-defined]
    """By a mean of squares, or by the variance if it is centered."""

    def __init__(
        self,
        learning_rate: Any,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        settings = (rho, epsilon, momentum, centered, parameter_list, regularization, grad_clip, name)
        _base.RMSProp.__init__(self, rate, *settings)


class LambOptimizer(Optimizer, _base.Lamb):  # type: ignore[misc, name-defined]
    """Adam's step, as long as the parameter is."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        parameter_list: Any = None,
        regularization: Any = None,
        grad_clip: Any = None,
        exclude_from_weight_decay_fn: Callable[[Any], bool] | None = None,
        name: str | None = None,
    ) -> None:
        rate = self._set_rate(learning_rate)
        settings = (beta1, beta2, epsilon, parameter_list, grad_clip, exclude_from_weight_decay_fn)
        _base.Lamb.__init__(self, rate, lamb_weight_decay, *settings, name=name)
        self.regularization = regularization


SGD = SGDOptimizer
Momentum = MomentumOptimizer
Adagrad = AdagradOptimizer
Adam = AdamOptimizer
Adamax = AdamaxOptimizer
DecayedAdagrad = DecayedAdagradOptimizer
Adadelta = AdadeltaOptimizer
RMSProp = RMSPropOptimizer
Ftrl = FtrlOptimizer
LarsMomentum = LarsMomentumOptimizer
Lamb = LambOptimizer
