"""Products of matrices."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from epl.paddle.operators.table import Attributes, Inputs, Outputs, operator, out


@operator("mul")
def mul(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The product of two matrices that dimensions are put together to."""
    x, y = inputs.one("X"), inputs.one("Y")
    rows, inner = attributes["x_num_col_dims"], attributes["y_num_col_dims"]
    product = x.reshape(math.prod(x.shape[:rows]), -1) @ y.reshape(math.prod(y.shape[:inner]), -1)
    return out(product.reshape(x.shape[:rows] + y.shape[inner:]))


@operator("matmul_v2")
def matmul_v2(inputs: Inputs, attributes: Attributes) -> Outputs:
    """Products of batches of matrices, as NumPy has them, either one transposed."""
    x = _transposed(inputs.one("X"), attributes.get("trans_x", False))
    return out(x @ _transposed(inputs.one("Y"), attributes.get("trans_y", False)))


@operator("matmul")
def matmul(inputs: Inputs, attributes: Attributes) -> Outputs:
    """The same of Fluid, times `alpha`."""
    x = _transposed(inputs.one("X"), attributes.get("transpose_X", False))
    product = x @ _transposed(inputs.one("Y"), attributes.get("transpose_Y", False))
    return out(product * attributes.get("alpha", 1.0))


@operator("bmm")
def bmm(inputs: Inputs, _: Attributes) -> Outputs:
    """Products of as many matrices."""
    return out(inputs.one("X") @ inputs.one("Y"))


@operator("dot")
def dot(inputs: Inputs, _: Attributes) -> Outputs:
    """Products of vectors, along the last dimension."""
    return out(jnp.sum(inputs.one("X") * inputs.one("Y"), -1))


@operator("bilinear_tensor_product")
def bilinear(inputs: Inputs, _: Attributes) -> Outputs:
    """Products of two rows with each of several matrices, plus a bias."""
    x, y, weights, bias = (inputs.maybe(name) for name in ("X", "Y", "Weight", "Bias"))
    found = jnp.einsum("bi,kij,bj->bk", x, weights, y)
    return out(found if bias is None else found + bias)


def _transposed(x: Any, is_transposed: bool) -> Any:
    return jnp.swapaxes(x, -1, -2) if is_transposed and x.ndim > 1 else x
