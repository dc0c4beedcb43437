"""The ids of a call's lookups, before the step runs.

Ids that are a batch of the step are taken as they come, with 64 bits. Others are computed by plans of their
own, for one CPU device. Where elements of batches are only moved (a column, a reshape) that is in 64 bits,
too, though JAX has 32 unless jax_enable_x64 is set; what computes with them is in JAX's types, and batches
have to fit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import lookups
from epl.adapters.jax import trace as adapter
from epl.compile import load_or_compile
from epl.errors import ArgumentError, Place
from epl.executable import Executable
from epl.tables.checking import check_fits
from epl.tables.steps import Lookup, StepTables

Ids = np.ndarray[Any, np.dtype[np.int64]]
_DEVICE = "cpu:1"


class IdsOfCalls:
    """Gives the ids of a step's lookups for the arguments of a call."""

    def __init__(
        self,
        name: str,
        tables: StepTables,
        arguments: Sequence[adapter.Argument],
        leaves: Sequence[Any],
        place: Place | None,
    ) -> None:
        """Compiles what computes ids, if there is something to compute.

        Args:
          name: of the step.
          arguments: of the step, and `leaves`, their shapes and dtypes.
          place: of the step.

        Raises:
          CompileError: with the user's source line, for what cannot be computed.
        """
        self._lookups = tables.lookups
        computed = [i for i, lookup in enumerate(tables.lookups) if lookup.ids.argument is None]
        moved = [i for i in computed if lookups.is_moved(tables.lookups[i].ids)]
        others = [i for i in computed if i not in moved]
        self._programs = [
            (
                which,
                _Program(f"{name}_ids", [self._lookups[i] for i in which], arguments, leaves, place, is_wide),
            )
            for which, is_wide in ((moved, True), (others, False))
            if which
        ]

    def __call__(self, leaves: Sequence[Any]) -> list[Ids]:
        """The ids of each lookup.

        Raises:
          ArgumentError: for an id below 0 or beyond the table's last one that is not its padding.
        """
        found = {
            i: _as_ids(leaves[lookup.ids.argument], lookup)
            for i, lookup in enumerate(self._lookups)
            if lookup.ids.argument is not None
        }
        for which, program in self._programs:
            found |= dict(zip(which, program(leaves), strict=True))
        for i, lookup in enumerate(self._lookups):
            _check(found[i], lookup)
        return [found[i] for i in range(len(self._lookups))]


@dataclass(frozen=True)
class _Used:
    """An argument of the step that ids are made of."""

    number: int
    name: str
    is_wide: bool


class _Program:
    """Computes the ids of some lookups.

    Args:
      is_wide: whether with 64 bits.
    """

    def __init__(
        self,
        name: str,
        wanted: Sequence[Lookup],
        arguments: Sequence[adapter.Argument],
        leaves: Sequence[Any],
        place: Place | None,
        is_wide: bool,
    ) -> None:
        self._is_wide = is_wide
        self._lookups = wanted
        values = [lookup.ids for lookup in wanted]
        numbers = sorted(set().union(*map(lookups.arguments_of, values)))
        self._used = [_Used(i, arguments[i].name, is_wide and _is_integer(leaves[i])) for i in numbers]
        kinds = [
            jax.ShapeDtypeStruct(leaves[used.number].shape, np.int64) if used.is_wide else leaves[used.number]
            for used in self._used
        ]
        names = [used.name for used in self._used]

        def compute(*given: Any) -> list[Any]:
            known = dict(zip(numbers, given, strict=True))
            return lookups.evaluate(values, known.__getitem__)

        with self._types():
            traced = adapter.trace(compute, kinds, name, names)
            program = adapter.lower(
                traced,
                [adapter.Argument(each, "constant") for each in names],
                [adapter.Result(lookup.name) for lookup in wanted],
                name=name,
                place=place or Place("<step>"),
            )
            plan = load_or_compile(program.text, _DEVICE, name)
            results = jax.tree.leaves(traced.out)
            self._run = Executable(plan, _DEVICE, name, program.hidden, results, program.reports)

    def __call__(self, leaves: Sequence[Any]) -> list[Ids]:
        given = [self._given(leaves[used.number], used) for used in self._used]
        with self._types():
            found = self._run.run(given, donate=False, as_numpy=True)
        return [_as_ids(ids, lookup) for ids, lookup in zip(found, self._lookups, strict=True)]

    def _types(self) -> contextlib.AbstractContextManager[Any]:
        """Within, JAX has the types that the ids are computed in."""
        return jax.enable_x64(True) if self._is_wide else contextlib.nullcontext()

    def _given(self, leaf: Any, used: _Used) -> Any:
        if used.is_wide:
            return _as_wide(np.asarray(leaf), f'"{used.name}"')
        table = self._lookups[0].table.name
        check_fits(leaf, f'values of "{used.name}", of which the step computes ids of table "{table}",')
        return leaf


def _is_integer(leaf: Any) -> bool:
    return bool(jnp.issubdtype(leaf.dtype, jnp.integer))


def _as_ids(leaf: Any, lookup: Lookup) -> Ids:
    return _as_wide(np.asarray(leaf), f'ids of table "{lookup.table.name}"')


def _as_wide(array: np.ndarray[Any, Any], what: str) -> Ids:
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise ArgumentError(f"{what} must be integers of 0 to 2^63 - 1, found {array.max()}")
    return np.ascontiguousarray(array, np.int64).reshape(array.shape)


def _check(ids: Ids, lookup: Lookup) -> None:
    table = lookup.table
    if not ids.size or (ids.min() >= 0 and (table.rows is None or ids.max() < table.rows)):
        return
    is_wrong = ids < 0 if table.rows is None else (ids < 0) | (ids >= table.rows)
    wrong = np.argwhere(is_wrong if table.padding is None else is_wrong & (ids != table.padding))
    if not len(wrong):
        return
    position = tuple(map(int, wrong[0]))
    place = f"{lookup.place}: " if lookup.place else ""
    most = "2^63 - 1" if table.rows is None else f"{table.rows - 1}"
    more = "" if table.padding is None else f", or {table.padding}, its padding"
    raise ArgumentError(
        f'{place}table "{table.name}" is looked up by id {ids[position]} at {list(position)}, '
        f"expected ids of 0 to {most}{more}"
    )
