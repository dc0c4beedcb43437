"""The plan by which servers update rows of a table, and what the optimizer keeps of a row at first.

The optimizer of a table is that of one row. Mapped over rows by `jax.vmap` it is a step on `ROWS` of them:
the rows and what it keeps of each are states, the gradient is a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import trace as adapter
from epl.compile import plan_bytes
from epl.errors import Error, Place, UnsupportedError
from epl.places import definition
from epl.servers.compiling import server_options
from epl.signature import DTYPES, is_key
from epl.tables.keeping import TableSpec

ROWS = 256
"""How many rows a plan updates at once (`runtime/servers`)."""


@dataclass(frozen=True)
class Slot:
    """What the optimizer keeps of each row, with the value that a new row has."""

    name: str
    first: np.ndarray[Any, Any]


@dataclass(frozen=True)
class Updates:
    """How a table's rows are updated.

    plan: the bytes of its file, whose arguments are rows, slots and gradients, `ROWS` of each.
    """

    slots: tuple[Slot, ...]
    plan: bytes


def updates_of(table: TableSpec, level: str) -> Updates:
    """Compiles the updates of a table, for servers of a level of CPUs.

    Raises:
      UnsupportedError: for an optimizer that begins with the value of a row, whose state changes its form, or
        that does something else than arithmetic.
      CompileError: with the user's source line, if the update does not compile.
    """
    slots, tree = _slots(table)
    name = f"update_{''.join(c if c.isalnum() else '_' for c in table.name)}"
    row = jax.ShapeDtypeStruct((ROWS, table.dim), table.dtype)
    kept = [jax.ShapeDtypeStruct((ROWS, *slot.first.shape), slot.first.dtype) for slot in slots]

    def one(row: Any, gradient: Any, *state: Any) -> list[Any]:
        found, new = _updated(table, gradient, tree.unflatten(state), row)
        return [jnp.asarray(found, row.dtype), *_flattened(table, tree, new)]

    def update(rows: Any, *rest: Any) -> list[Any]:
        *state, gradient = rest
        return list(jax.vmap(one)(rows, gradient, *state))

    arguments = [
        adapter.Argument(f'"{table.name}"', "state"),
        *(adapter.Argument(slot.name, "state") for slot in slots),
        adapter.Argument("gradient", "constant"),
    ]
    traced = adapter.trace(update, [row, *kept, row], name, [each.name for each in arguments])
    _check_kept(table, slots, traced.out[1:])
    results = [adapter.Result(each.name, i) for i, each in enumerate(arguments[:-1])]
    place = _place(table.optimizer)
    program = adapter.lower(traced, arguments, results, name=name, place=place)
    if program.hidden or program.reports:
        raise UnsupportedError(
            f'the optimizer of table "{table.name}" closes over arrays, prints or checks: servers run it '
            "without Python, so it must be made of numbers and arithmetic",
            place,
        )
    return Updates(tuple(slots), plan_bytes(program.text, server_options(level), name))


def with_plan(table: TableSpec, plan: bytes) -> Updates:
    """The updates of a table whose plan `updates_of` has compiled before; errors as there."""
    return Updates(tuple(_slots(table)[0]), plan)


def _updated(table: TableSpec, gradient: Any, state: Any, row: Any) -> tuple[Any, Any]:
    """The row behind an update; one that makes that, and no difference, keeps all of its bits."""
    optimizer = table.optimizer
    if (updated := getattr(optimizer, "updated", None)) is not None:
        found: tuple[Any, Any] = updated(gradient, state, row)
        return found
    moved, new = _asked(table, optimizer.update, gradient, state, row)
    return row + moved, new


def _asked(table: TableSpec, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the optimizer gives for a row.

    Raises:
      UnsupportedError: if it cannot, as one that needs more than a gradient, or a matrix.
    """
    try:
        return function(*arguments)
    except (TypeError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise UnsupportedError(
            f'the optimizer of table "{table.name}" must be one that updates a row {table.dtype.name}'
            f"[{table.dim}] by its gradient, found {type(error).__name__}: {error}",
            _place(table.optimizer),
        ) from error


def _place(optimizer: Any) -> Place:
    return getattr(optimizer, "place", None) or definition(optimizer.update)


def _slots(table: TableSpec) -> tuple[list[Slot], Any]:
    """What the optimizer keeps of a row, and the tree of that."""
    rows = [np.full(table.dim, value, table.dtype) for value in (0, 1)]
    first, other = (
        jax.tree.flatten_with_path(_asked(table, table.optimizer.init, jnp.asarray(row))) for row in rows
    )
    slots = []
    for (path, leaf), (_, another) in zip(first[0], other[0], strict=True):
        name = f"{table.name}.opt_state{jax.tree_util.keystr(path)}"
        found = jnp.asarray(leaf)
        if is_key(found.dtype) or np.dtype(found.dtype).name not in DTYPES:
            raise UnsupportedError(
                f'the optimizer of table "{table.name}" keeps {found.dtype} in "{name}", expected numbers'
            )
        if not np.array_equal(np.asarray(found), np.asarray(another), equal_nan=True):
            raise UnsupportedError(
                f'the optimizer of table "{table.name}" begins with the value of a row in "{name}": servers '
                "make rows by the table's init, so what it keeps must begin with the same value for all"
            )
        slots.append(Slot(name, np.asarray(found)))
    return slots, first[1]


def _flattened(table: TableSpec, tree: Any, new: Any) -> list[Any]:
    leaves: list[Any]
    leaves, found = jax.tree.flatten(new)
    if found != tree:
        raise UnsupportedError(
            f'the optimizer of table "{table.name}" gives its state as another tree: expected {tree}, found '
            f"{found}"
        )
    return leaves


def _check_kept(table: TableSpec, slots: list[Slot], found: list[Any]) -> None:
    for slot, new in zip(slots, found, strict=True):
        expected, kind = (slot.first.dtype, (ROWS, *slot.first.shape)), (np.dtype(new.dtype), new.shape)
        if expected != kind:
            raise UnsupportedError(
                f'the optimizer of table "{table.name}" keeps {slot.first.dtype}{list(slot.first.shape)} in '
                f'"{slot.name}" and makes {kind[0]}{list(new.shape[1:])} of it: expected the same'
            )
