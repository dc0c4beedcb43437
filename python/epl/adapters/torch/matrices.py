"""Operators of torch.linalg that torchax has not, or for one matrix only, on arrays [..., rows, columns].

Method: all of them by JAX's LU factorization, which EPL has for batches and on several devices. For a
solution or a determinant torch factorizes the matrix or its transpose, as memory suits it. Which of them it
was is seen in what the gradient does with the factors: it solves with the matrix's adjoint.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import torch

_ATEN = torch.ops.aten

_FACTORIZING = frozenset(
    {_ATEN._linalg_solve_ex.default, _ATEN._linalg_det.default, _ATEN._linalg_slogdet.default}
)


def options(node: Any) -> dict[str, bool]:
    """What an operator here is told besides its arguments: whether it is to factorize the transpose.

    Raises:
      LookupError: if the graph takes the factors for those of both.
    """
    if node.target not in _FACTORIZING:
        return {}
    solves = [user for user in _users(node) if user.target is _ATEN.linalg_lu_solve.default]
    adjoint = {
        bool(user.kwargs.get("adjoint", user.args[4] if len(user.args) > 4 else False)) for user in solves
    }
    if len(adjoint) > 1:
        raise LookupError(str(node.target))
    return {"transposed": adjoint == {False}}


def _users(node: Any) -> list[Any]:
    """Who reads what an operator makes, through aliases."""
    found: list[Any] = []
    for user in node.users:
        passes = user.target in (operator.getitem, _ATEN.alias.default, _ATEN.detach.default)
        found += _users(user) if passes else [user]
    return found


def _turned(x: Any) -> Any:
    return jnp.swapaxes(x, -1, -2)


def _factors(x: Any, *, transposed: bool = False) -> tuple[Any, Any]:
    """The factors of a matrix, or of its transpose, in one, and pivots as torch counts them, from 1."""
    factors, pivots, _ = jax.lax.linalg.lu(_turned(x) if transposed else x)
    return factors, pivots + 1


def _diagonal(factors: Any) -> Any:
    return jnp.diagonal(factors, axis1=-2, axis2=-1)


def _fine(x: Any) -> Any:
    """What says that a factorization went well, for each matrix; nobody looks at values in a step."""
    return jnp.zeros(x.shape[:-2], jnp.int32)


def _lu_solve(factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False) -> Any:
    if not left:
        return _turned(_lu_solve(factors, pivots, _turned(b), adjoint=not adjoint))
    batch = jnp.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    order = jax.lax.linalg.lu_pivots_to_permutation(pivots - 1, factors.shape[-1])
    factors = jnp.broadcast_to(factors, (*batch, *factors.shape[-2:]))
    order = jnp.broadcast_to(order, (*batch, order.shape[-1]))[..., None]
    b = jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    solve = jax.lax.linalg.triangular_solve
    if not adjoint:
        b = jnp.take_along_axis(b, order, axis=-2)
        b = solve(factors, b, left_side=True, lower=True, unit_diagonal=True)
        return solve(factors, b, left_side=True, lower=False)
    b = solve(factors, b, left_side=True, lower=False, transpose_a=True)
    b = solve(factors, b, left_side=True, lower=True, transpose_a=True, unit_diagonal=True)
    return jnp.take_along_axis(b, jnp.argsort(order, axis=-2), axis=-2)


def _solve(
    a: Any, b: Any, *, left: bool = True, check_errors: bool = False, transposed: bool = False
) -> tuple[Any, Any, Any, Any]:
    del check_errors
    factors, pivots = _factors(a, transposed=transposed)
    is_vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    found = _lu_solve(factors, pivots, b[..., None] if is_vector else b, left=left, adjoint=transposed)
    return found[..., 0] if is_vector else found, factors, pivots, _fine(a)


def _times_parity(product: Any, pivots: Any) -> Any:
    """A product over the diagonal, negative for an odd number of exchanges of rows."""
    exchanged = pivots != jnp.arange(1, pivots.shape[-1] + 1, dtype=pivots.dtype)
    return jnp.where(exchanged.sum(-1) % 2 == 1, -product, product)


def _determinant(a: Any, *, transposed: bool = False) -> tuple[Any, Any, Any]:
    factors, pivots = _factors(a, transposed=transposed)
    return _times_parity(jnp.prod(_diagonal(factors), axis=-1), pivots), factors, pivots


def _log_determinant(a: Any, *, transposed: bool = False) -> tuple[Any, Any, Any, Any]:
    factors, pivots = _factors(a, transposed=transposed)
    diagonal = _diagonal(factors)
    sign = _times_parity(jnp.prod(jnp.sign(diagonal), axis=-1), pivots)
    return sign, jnp.log(jnp.abs(diagonal)).sum(-1), factors, pivots


def _lu_factor(a: Any, *, pivot: bool = True, check_errors: bool = False) -> tuple[Any, Any, Any]:
    del check_errors
    if not pivot:
        raise LookupError("pivot=False")
    return (*_factors(a), _fine(a))


def _unpacked(
    factors: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Any, Any, Any]:
    """The permutation, the lower factor, the upper one; empty what is not asked for."""
    none = jnp.zeros(0, factors.dtype)
    permutation, *rest = _parts(factors, pivots)
    lower, upper = rest if unpack_data else (none, none)
    return permutation if unpack_pivots else none, lower, upper


def _parts(factors: Any, pivots: Any) -> tuple[Any, Any, Any]:
    """The permutation, the lower factor with a diagonal of ones, the upper one."""
    rows, columns = factors.shape[-2:]
    count = min(rows, columns)
    order = jax.lax.linalg.lu_pivots_to_permutation(pivots - 1, rows)
    permutation = (order[..., None, :] == jnp.arange(rows, dtype=order.dtype)[:, None]).astype(factors.dtype)
    lower = jnp.tril(factors[..., :, :count], -1) + jnp.eye(rows, count, dtype=factors.dtype)
    return permutation, lower, jnp.triu(factors[..., :count, :])


def _lu(a: Any, *, pivot: bool = True) -> tuple[Any, Any, Any]:
    factors, pivots, _ = _lu_factor(a, pivot=pivot)
    return _parts(factors, pivots)


def _diagonal_scatter(x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """By comparing positions, which shards: a row has one element of the diagonal at most."""
    moved = jnp.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    above = max(-offset, 0)
    pads = [(0, 0)] * (source.ndim - 1) + [(above, rows - above - source.shape[-1])]
    of_row = jnp.pad(source, pads)[..., None]
    is_here = jnp.arange(columns) - jnp.arange(rows)[:, None] == offset
    return jnp.moveaxis(jnp.where(is_here, of_row, moved), (-2, -1), (dim1, dim2))


OWN: dict[Any, Callable[..., Any]] = {
    _ATEN._linalg_solve_ex.default: _solve,
    _ATEN._linalg_det.default: _determinant,
    _ATEN._linalg_slogdet.default: _log_determinant,
    _ATEN.linalg_lu_factor_ex.default: _lu_factor,
    _ATEN.linalg_lu_solve.default: _lu_solve,
    _ATEN.linalg_lu.default: _lu,
    _ATEN.lu_unpack.default: _unpacked,
    _ATEN.diagonal_scatter.default: _diagonal_scatter,
}
"""By the operator's overload."""
