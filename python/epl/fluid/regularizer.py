"""Penalties on parameters, whose gradients are added to those of the loss."""

from __future__ import annotations

from epl.fluid.installed import load

paddle = load()


class L1DecayRegularizer(paddle.regularizer.L1Decay):  # type: ignore[misc, name-defined]
    """A number times the sum of magnitudes."""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        super().__init__(regularization_coeff)


class L2DecayRegularizer(paddle.regularizer.L2Decay):  # type: ignore[misc, name-defined]
    """A number times half the sum of squares."""

    def __init__(self, regularization_coeff: float = 0.0) -> None:
        super().__init__(regularization_coeff)


L1Decay = L1DecayRegularizer
L2Decay = L2DecayRegularizer
