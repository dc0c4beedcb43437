"""Updates of parameters, from dense gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from epl.paddle.description import OF_ROWS
from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator


def _rate(inputs: Inputs) -> Any:
    return inputs.one("LearningRate").reshape(())


def _of_used_rows(made: Outputs, inputs: Inputs, attributes: Attributes, of: Mapping[str, str]) -> Outputs:
    """Keeps the rows of a table that a run has not used, of which Paddle has no gradient.

    Gradients are dense here: a row whose gradient is zero counts as not used.

    Args:
      of: the inputs that outputs are updates of.
    """
    if "Grad" not in attributes.get(OF_ROWS, ()):
        return made
    gradient = inputs.one("Grad")
    used = jnp.any(gradient != 0, tuple(range(1, gradient.ndim)), keepdims=True)
    rows = {name: jnp.where(used, made[name][0], inputs.one(before)) for name, before in of.items()}
    return {**made, **{name: [value] for name, value in rows.items()}}


@operator("sgd")
def sgd(inputs: Inputs, _: Attributes) -> Outputs:
    """A step against the gradient."""
    return {"ParamOut": [inputs.one("Param") - _rate(inputs) * inputs.one("Grad")]}


@operator("momentum")
def momentum(inputs: Inputs, attributes: Attributes) -> Outputs:
    """With a velocity, or a step ahead by Nesterov."""
    parameter, gradient = inputs.one("Param"), inputs.one("Grad") * attributes.get("rescale_grad", 1.0)
    if attributes.get("regularization_method") == "l2_decay":
        gradient = gradient + attributes["regularization_coeff"] * parameter
    velocity = attributes["mu"] * inputs.one("Velocity") + gradient
    step = gradient + attributes["mu"] * velocity if attributes.get("use_nesterov") else velocity
    return {"ParamOut": [parameter - _rate(inputs) * step], "VelocityOut": [velocity]}


def _moments(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Means of gradients and of their squares, and the powers that correct them in the next step."""
    gradient, first, second = (inputs.one(name) for name in ("Grad", "Moment1", "Moment2"))
    beta, other = attributes["beta1"], attributes["beta2"]
    return {
        "Moment1Out": [beta * first + (1 - beta) * gradient],
        "Moment2Out": [other * second + (1 - other) * gradient * gradient],
        "Beta1PowOut": [inputs.one("Beta1Pow") * beta],
        "Beta2PowOut": [inputs.one("Beta2Pow") * other],
    }


def _corrections(powers: Mapping[str, list[Any]], suffix: str = "") -> tuple[Any, Any]:
    """What moments of so few steps are smaller by."""
    first, second = ((1 - powers[f"{name}{suffix}"][0]).reshape(()) for name in ("Beta1Pow", "Beta2Pow"))
    return first, second


def _adam(parameter: Any, inputs: Inputs, attributes: Attributes) -> Outputs:
    moments = _moments(inputs, attributes)
    # Paddle's kernel of sparse gradients has the powers of the next step.
    is_sparse = "Grad" in attributes.get(OF_ROWS, ())
    of_first, of_second = _corrections(moments, "Out") if is_sparse else _corrections(inputs)
    (first,), (second,) = moments["Moment1Out"], moments["Moment2Out"]
    rest = jnp.sqrt(of_second)
    rate = _rate(inputs) * rest / of_first
    step = rate * first / (jnp.sqrt(second) + attributes["epsilon"] * rest)
    return {"ParamOut": [parameter - step], **moments}


_ADAM = {"ParamOut": "Param", "Moment1Out": "Moment1", "Moment2Out": "Moment2"}


@operator("adam")
def adam(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Adam; its epsilon is that of the moment before it is corrected."""
    made = _adam(inputs.one("Param"), inputs, attributes)
    return _of_used_rows(made, inputs, attributes, _ADAM) if attributes.get("lazy_mode") else made


@operator("adamw")
def adamw(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Adam, of parameters that decay first."""
    parameter = inputs.one("Param")
    if attributes.get("with_decay"):
        rate = _rate(inputs) * attributes.get("lr_ratio", 1.0)
        parameter = parameter * (1 - rate * attributes["coeff"])
    return _adam(parameter, inputs, attributes)


@operator("adamax")
def adamax(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Adam by the largest gradient so far."""
    gradient, parameter = inputs.one("Grad"), inputs.one("Param")
    moment = attributes["beta1"] * inputs.one("Moment") + (1 - attributes["beta1"]) * gradient
    most = jnp.maximum(jnp.abs(gradient), attributes["beta2"] * inputs.one("InfNorm") + attributes["epsilon"])
    rate = _rate(inputs) / (1 - inputs.one("Beta1Pow")).reshape(())
    return {"ParamOut": [parameter - rate * moment / most], "MomentOut": [moment], "InfNormOut": [most]}


@operator("adagrad")
def adagrad(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By the sum of squares of gradients."""
    gradient = inputs.one("Grad")
    moment = inputs.one("Moment") + gradient * gradient
    step = _rate(inputs) * gradient / (jnp.sqrt(moment) + attributes["epsilon"])
    return {"ParamOut": [inputs.one("Param") - step], "MomentOut": [moment]}


@operator("adadelta")
def adadelta(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By means of squares of gradients and of steps."""
    gradient, rho, epsilon = inputs.one("Grad"), attributes["rho"], attributes["epsilon"]
    squares = rho * inputs.one("AvgSquaredGrad") + (1 - rho) * gradient * gradient
    steps = inputs.one("AvgSquaredUpdate")
    step = -jnp.sqrt((steps + epsilon) / (squares + epsilon)) * gradient
    return {
        "ParamOut": [inputs.one("Param") + _rate(inputs) * step],
        "AvgSquaredGradOut": [squares],
        "AvgSquaredUpdateOut": [rho * steps + (1 - rho) * step * step],
    }


@operator("rmsprop")
def rmsprop(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By a mean of squares, or by the variance if it is centered."""
    gradient, decay = inputs.one("Grad"), attributes["decay"]
    squares = decay * inputs.one("MeanSquare") + (1 - decay) * gradient * gradient
    mean = inputs.maybe("MeanGrad")
    spread = squares
    if attributes.get("centered"):
        mean = decay * mean + (1 - decay) * gradient
        spread = squares - mean * mean
    moment = attributes["momentum"] * inputs.one("Moment")
    moment = moment + _rate(inputs) * gradient / jnp.sqrt(spread + attributes["epsilon"])
    made = {"ParamOut": [inputs.one("Param") - moment], "MeanSquareOut": [squares], "MomentOut": [moment]}
    return made if mean is None else {**made, "MeanGradOut": [mean]}


@operator("lamb")
def lamb(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Adam's step, as long as the parameter is."""
    parameter = inputs.one("Param")
    moments, (of_first, of_second) = _moments(inputs, attributes), _corrections(inputs)
    (first,), (second,) = moments["Moment1Out"], moments["Moment2Out"]
    step = first / of_first / (jnp.sqrt(second / of_second) + attributes["epsilon"])
    step = step + attributes["weight_decay"] * parameter
    lengths = jnp.sqrt(jnp.sum(parameter * parameter)), jnp.sqrt(jnp.sum(step * step))
    known = (lengths[0] > 0) & (lengths[1] > 0)
    trust = jnp.where(known, lengths[0] / jnp.where(known, lengths[1], 1), 1)
    return {"ParamOut": [parameter - _rate(inputs) * trust * step], **moments}


_FTRL = {
    "ParamOut": "Param",
    "SquaredAccumOut": "SquaredAccumulator",
    "LinearAccumOut": "LinearAccumulator",
}


@operator("ftrl")
def ftrl(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The parameter that is best for the sum of all gradients and for penalties, which keep it small."""
    parameter, gradient, rate = inputs.one("Param"), inputs.one("Grad"), _rate(inputs)
    before, power = inputs.one("SquaredAccumulator"), -attributes["lr_power"]
    squares = before + gradient * gradient
    slope, old_slope = (jnp.power(each, power) / rate for each in (squares, before))
    linear = inputs.one("LinearAccumulator") + gradient - (slope - old_slope) * parameter
    least, rest = attributes["l1"] + 1e-10, attributes["l2"] + 1e-10
    found = (least * jnp.sign(linear) - linear) / (slope + 2 * rest)
    made = {
        "ParamOut": [jnp.where(jnp.abs(linear) > least, found, 0)],
        "SquaredAccumOut": [squares],
        "LinearAccumOut": [linear],
    }
    return _of_used_rows(made, inputs, attributes, _FTRL)


@operator("decayed_adagrad")
def decayed_adagrad(inputs: Inputs, attributes: Attributes) -> Outputs:
    """By a mean of squares of gradients."""
    gradient, decay = inputs.one("Grad"), attributes["decay"]
    moment = decay * inputs.one("Moment") + (1 - decay) * gradient * gradient
    step = _rate(inputs) * gradient / (jnp.sqrt(moment) + attributes["epsilon"])
    return {"ParamOut": [inputs.one("Param") - step], "MomentOut": [moment]}


@operator("lars_momentum")
def lars_momentum(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Momentum by a rate that is as large as the parameter is long beside its gradient."""
    parameter, gradient = inputs.one("Param"), inputs.one("Grad") * attributes.get("rescale_grad", 1.0)
    (decay,), rate = attributes["lars_weight_decay"], _rate(inputs)
    length, slope = (jnp.sqrt(jnp.sum(each * each)) for each in (parameter, gradient))
    below = slope + decay * length + attributes.get("epsilon", 0.0)
    known = (length > 0) & (slope > 0) & (decay > 0)
    own = jnp.where(known, rate * attributes["lars_coeff"] * length / jnp.where(known, below, 1), rate)
    velocity = attributes["mu"] * inputs.one("Velocity") + own * (gradient + decay * parameter)
    return {"ParamOut": [parameter - velocity], "VelocityOut": [velocity]}
