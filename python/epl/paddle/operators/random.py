"""Random numbers. They are JAX's, of the key that the program is given: not those that Paddle draws."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from epl.paddle import dtypes
from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


@operator("uniform_random")
def uniform(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Uniform between two numbers."""
    dtype, ends = dtypes.computed(attributes["dtype"]), (attributes["min"], attributes["max"])
    return out(jax.random.uniform(inputs.key(), attributes["shape"], dtype, *ends))


@operator("gaussian_random")
def gaussian(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Normal, of a mean and a deviation."""
    drawn = jax.random.normal(inputs.key(), attributes["shape"], dtypes.computed(attributes["dtype"]))
    return out(attributes["mean"] + attributes["std"] * drawn)


@operator("truncated_gaussian_random")
def truncated_gaussian(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same, of what is within two deviations."""
    dtype = dtypes.computed(attributes["dtype"])
    drawn = jax.random.truncated_normal(inputs.key(), -2, 2, attributes["shape"], dtype)
    return out(attributes["mean"] + attributes["std"] * drawn)


@operator("dropout")
def dropout(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Elements are dropped with a probability, and scaled in training or afterwards."""
    x, probability = inputs.one("X"), attributes["dropout_prob"]
    scales = attributes.get("dropout_implementation") == "upscale_in_train"
    if attributes.get("is_test"):
        kept = x if scales else x * (1 - probability)
        return {"Out": [kept], "Mask": [jnp.ones(x.shape, jnp.uint8)]}
    kept = jax.random.bernoulli(inputs.key(), 1 - probability, x.shape)
    value = x / (1 - probability) if scales and probability < 1 else x
    return {"Out": [jnp.where(kept, value, 0)], "Mask": [kept.astype(jnp.uint8)]}
