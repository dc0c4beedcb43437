"""Lowers a graph of ATen operators to JAX, node by node.

Method: an operator is our own (`operators.py`) or torchax's. Each node runs under the name that JAX would
give it, `transpose(jvp(epl.s0))` for the gradient of what stands in a scope, and in the user's lines. What an
operator makes must have torch's shape; its dtype becomes torch's, as JAX promotes otherwise.
Invariant out: arrays of the shapes and dtypes that torch has.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from epl.adapters.torch import gradients, hooks, lines, matrices
from epl.adapters.torch.graph import BACKWARD, PER_MICRO_BATCH, SCOPE, Graph
from epl.adapters.torch.operators import NOTHING, OWN, SAME
from epl.adapters.torch.support import BRANCH, MASK, OPERATOR, Refused, explained
from epl.adapters.torch.tensors import jax_dtype, to_host
from epl.errors import Error, UnsupportedError
from epl.scope_table import replayed, replayed_per_micro_batch

_OWN = {**OWN, **gradients.OWN, **matrices.OWN}


def run(graph: Graph, leaves: Sequence[Any], key: Any, *, differentiated: bool) -> list[Any]:
    """The results of a graph on arrays, or tracers, of JAX.

    Args:
      leaves: of the graph's arguments.
      key: of JAX, for operators that draw.
      differentiated: whether the graph has backward work.

    Raises:
      UnsupportedError: for an operator that has no form in JAX, with the user's line.
    """
    values: dict[Any, Any] = {}
    arguments = iter(leaves)
    results: list[Any] = []
    with hooks.random_key(key):
        for node in graph.module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(arguments)
            elif node.op == "get_attr":
                values[node] = jnp.asarray(to_host(hooks.constant(graph.module, node.target)))
            elif node.op == "output":
                results = list(torch.fx.node.map_arg(node.args[0], values.__getitem__))
            else:
                args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
                values[node] = _run_node(node, args, dict(kwargs), differentiated)
    return results


def _run_node(node: Any, args: Any, kwargs: dict[str, Any], differentiated: bool) -> Any:
    if node.target is operator.getitem:
        return args[0][args[1]]
    marks = hooks.marks(node)
    transform = "transpose(jvp({}))" if BACKWARD in marks else "jvp({})" if differentiated else "{}"
    with replayed(marks.get(SCOPE), transform), replayed_per_micro_batch(PER_MICRO_BATCH in marks):
        return lines.at(node, lambda: _checked(node, _apply(node, args, kwargs)))


def _apply(node: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if node.target in SAME:
        return args[0]
    if node.target in NOTHING:
        return None
    if row := _refused(node):
        raise explained(row, lines.place(node), _name(node))
    try:
        if own := _OWN.get(node.target):
            return own(*args, **kwargs, **matrices.options(node))
        return hooks.lower(node.target, *_without_places(args, kwargs))
    except LookupError:
        raise explained(OPERATOR, lines.place(node), _name(node)) from None
    except Error:
        raise
    except Exception as error:
        raise UnsupportedError(
            f'"{_name(node)}": torchax cannot lower it ({type(error).__name__}: {error}): {OPERATOR.instead}',
            lines.place(node),
        ) from error


def _refused(node: Any) -> Refused | None:
    if hooks.asks_for_a_value(node):
        return BRANCH
    return MASK if hooks.has_a_shape_of_values(node) else None


def _name(node: Any) -> str:
    return str(node.target).removesuffix(".default")


def _without_places(args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Arguments that say where and how torch keeps a tensor mean nothing to JAX."""
    dropped = {"device", "layout", "pin_memory", "memory_format", "non_blocking"}
    return args, {name: value for name, value in kwargs.items() if name not in dropped}


def _checked(node: Any, made: Any) -> Any:
    """What an operator made, in torch's dtypes."""
    expected = hooks.node_value(node)
    if isinstance(expected, torch.Tensor):
        return _as(node, expected, made)
    if isinstance(expected, (tuple, list)):
        return tuple(
            _as(node, tensor, value) if isinstance(tensor, torch.Tensor) else value
            for tensor, value in zip(expected, made, strict=False)
        )
    return made


def _as(node: Any, expected: Any, made: Any) -> Any:
    if made is None:
        return None
    array = made if isinstance(made, jax.Array) else jnp.asarray(np.asarray(made))
    if array.shape != tuple(expected.shape):
        raise UnsupportedError(
            f'"{_name(node)}": torchax makes shape {array.shape} of it, torch {tuple(expected.shape)}: '
            f"{OPERATOR.instead}",
            lines.place(node),
        )
    dtype = jax_dtype(expected.dtype)
    return (
        array if array.dtype == dtype and not array.weak_type else jax.lax.convert_element_type(array, dtype)
    )
