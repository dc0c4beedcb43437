"""The tables of a step, and where it looks them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from epl.adapters.jax import lookups
from epl.adapters.jax import trace as adapter
from epl.adapters.jax.lookups import Value
from epl.errors import ArgumentError, Place, UnsupportedError
from epl.servers.strategy import ParameterServer
from epl.signature import Signature, Spec
from epl.tables.keeping import TableSpec
from epl.tables.table import Table, is_table
from epl.tables.traces import returned

_NO_TABLES = ("dc_asgd", "geo")


@dataclass(frozen=True)
class Lookup:
    """A lookup of a step, whose rows are an argument of what is compiled.

    batch_dim: the dimension of the ids that the batch has; None: all devices have the rows whole. by_device:
    whether dimension 0 is that of the devices, in a step that says what one device does.
    """

    table: TableSpec
    number: int
    ids: Value
    shape: tuple[int, ...]
    batch_dim: int | None
    by_device: bool
    place: Place | None

    @property
    def name(self) -> str:
        """Of the rows, in messages."""
        return f"{self.table.name}.lookup{self.number}"

    @property
    def kind(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of the rows."""
        return jax.ShapeDtypeStruct((*self.shape, self.table.dim), self.table.dtype)

    @property
    def argument(self) -> adapter.Argument:
        """The rows as an argument."""
        role = "constant" if self.batch_dim is None else "batch"
        return adapter.Argument(self.name, role, self.batch_dim)


@dataclass(frozen=True)
class StepTables:
    """The tables of a step, and where it looks them up.

    tables: in the order of the arguments. lookups: those of the first table, then of the next one. trained:
    the names of tables that the step updates: what it returns behind the user's results are the gradients of
    their lookups.
    """

    tables: tuple[TableSpec, ...]
    lookups: tuple[Lookup, ...]
    trained: frozenset[str]

    @cached_property
    def places(self) -> dict[tuple[str, int], int]:
        """Which of its table's lookups each is, by table and number."""
        found: dict[tuple[str, int], int] = {}
        for table in self.tables:
            own = [lookup for lookup in self.lookups if lookup.table == table]
            found |= {(table.name, lookup.number): place for place, lookup in enumerate(own)}
        return found

    @cached_property
    def by_device(self) -> dict[str, tuple[bool, ...]]:
        """Of each table's lookups whether devices have their own, by table."""
        return {
            table.name: tuple(lookup.by_device for lookup in self.lookups if lookup.table == table)
            for table in self.tables
        }

    @cached_property
    def pushed(self) -> list[int]:
        """The lookups whose gradients the step returns."""
        return [i for i, lookup in enumerate(self.lookups) if lookup.table.name in self.trained]

    @cached_property
    def arguments(self) -> list[adapter.Argument]:
        """The rows of all lookups."""
        return [lookup.argument for lookup in self.lookups]

    @cached_property
    def results(self) -> list[adapter.Result]:
        """The gradients."""
        return [adapter.Result(f"gradient of {self.lookups[i].name}") for i in self.pushed]


def find(signature: Signature, spec: Spec, strategy: ParameterServer | None) -> StepTables | None:
    """The tables of a step, which is traced to see where it looks them up; None if it has none.

    Raises:
      ArgumentError: for a table without servers, given twice, named as another one, or in a batch.
      UnsupportedError: for tables where there are none yet, and lookups whose ids are not known before the
        step.
    """
    given = _given(spec)
    if not given:
        return None
    _check_given(signature, given)
    _check_servers(signature, given[0][1].name, strategy)
    found = _lookups(signature, spec, spec.leaves)
    _check_ids(signature, spec, found)
    twice = _Doubled(signature, spec)
    made = [
        Lookup(
            table.spec,
            each.number,
            each.ids,
            each.shape,
            twice.batch_dim(each),
            signature.device_axis in each.axes if signature.device_axis else False,
            each.place,
        )
        for _, table in given
        for each in sorted(found, key=lambda each: each.number)
        if each.table == table.name
    ]
    trained = frozenset(table.name for parameter, table in given if parameter in signature.state)
    return StepTables(tuple(table.spec for _, table in given), tuple(made), trained)


def check_gradients(tables: StepTables, jaxpr: Any) -> None:
    """Raises UnsupportedError if a table that the closed jaxpr of its step updates cannot be trained by that.

    JAX differentiates by arguments of a function: by a table that this closes over a derivative is zeros.
    """
    zeros = dict(zip(tables.pushed, lookups.are_zeros(jaxpr, len(tables.pushed)), strict=True))
    for table in tables.tables:
        own = [number for number in tables.pushed if tables.lookups[number].table == table]
        if own and all(zeros[number] for number in own):
            raise UnsupportedError(
                f'table "{table.name}" is updated by gradients that are zeros whatever its rows are: look up '
                "in the argument that jax.grad differentiates by, not in a table that its function closes "
                "over (and leave a table out of state= that is not to be trained)",
                tables.lookups[own[0]].place,
            )


def _given(spec: Spec) -> list[tuple[str, Table]]:
    """The tables among the arguments, with their parameters."""
    trees = spec.by_parameter([None] * len(spec.kinds))
    return [
        (name, leaf)
        for name, tree in trees.items()
        for leaf in jax.tree.leaves(tree, is_leaf=is_table)
        if is_table(leaf)
    ]


def _check_given(signature: Signature, given: Sequence[tuple[str, Table]]) -> None:
    step, known = signature.name, dict[str, tuple[str, Table]]()
    for parameter, table in given:
        if table.name in known:
            first, other = known[table.name]
            what = "is given" if table.spec == other.spec else "is the name of two tables, which are given"
            raise ArgumentError(
                f'table "{table.name}" {what} to {step} twice, as "{first}" and as "{parameter}": expected '
                "once"
            )
        known[table.name] = parameter, table
        if parameter in signature.batch:
            raise ArgumentError(
                f'table "{table.name}" is in batch "{parameter}" of {step}: expected it in state, if the '
                "step trains it, or else as a constant"
            )
        if table.dtype == "float64" and not jax.config.jax_enable_x64:
            raise ArgumentError(f'table "{table.name}" is of float64, which needs jax_enable_x64')


def _check_servers(signature: Signature, table: str, strategy: ParameterServer | None) -> None:
    """Raises an error if a step of this kind, with this strategy, has no tables."""
    if strategy is None:
        raise ArgumentError(
            f'table "{table}" of {signature.name} is held by parameter servers: give '
            "strategy=epl.ParameterServer(...) to epl.parallelize"
        )
    if strategy.mode in _NO_TABLES:
        raise UnsupportedError(
            f'table "{table}" of {signature.name}: mode "{strategy.mode}" of epl.ParameterServer has no '
            'tables, expected "sync", "half_async" or "async"'
        )


def _lookups(signature: Signature, spec: Spec, leaves: Sequence[Any]) -> list[lookups.Lookup]:
    """Those of a step on such arguments, by a first trace."""
    names = [argument.name for argument in signature.arguments(spec)]

    def step(*leaves: Any) -> Any:
        return returned(signature, spec, leaves)

    return lookups.find(adapter.trace(step, leaves, signature.name, names).stage.jaxpr)


def _check_ids(signature: Signature, spec: Spec, found: Sequence[lookups.Lookup]) -> None:
    arguments = signature.arguments(spec)
    for lookup in found:
        made_of = [arguments[number] for number in sorted(lookups.arguments_of(lookup.ids))]
        if state := next((each for each in made_of if each.role == "state"), None):
            raise UnsupportedError(
                f'table "{lookup.table}" is looked up by ids that are made of state "{state.name}": rows are '
                "pulled before the step, so ids must be made of its batches",
                lookup.place,
            )


class _Doubled:
    """Tells which dimension of ids the batch has: that which grows if the step is traced for twice of it."""

    def __init__(self, signature: Signature, spec: Spec) -> None:
        self._signature = signature
        self._spec = spec
        self._arguments = signature.arguments(spec)

    def batch_dim(self, lookup: lookups.Lookup) -> int | None:
        """Of a lookup's ids; None if they do not grow with it, or the step takes no other batch."""
        if self._signature.device_axis and self._signature.device_axis in lookup.axes:
            return 0  # the outermost of what is mapped: each device has its part
        if lookup.ids.argument is not None:
            return self._arguments[lookup.ids.argument].batch_dim
        if all(self._arguments[i].batch_dim is None for i in lookups.arguments_of(lookup.ids)):
            return None
        grown = zip(lookup.shape, self._shapes.get((lookup.table, lookup.number), ()), strict=False)
        return next((dim for dim, (a, b) in enumerate(grown) if b == 2 * a), None)

    @cached_property
    def _shapes(self) -> dict[tuple[str, int], tuple[int, ...]]:
        leaves = [
            leaf if argument.batch_dim is None else leaf.update(shape=_twice(leaf.shape, argument.batch_dim))
            for leaf, argument in zip(self._spec.leaves, self._arguments, strict=True)
        ]
        try:
            found = _lookups(self._signature, self._spec, leaves)
        except Exception:  # of the user's step, which takes this batch alone
            return {}
        return {(each.table, each.number): each.shape for each in found}


def _twice(shape: Sequence[int], dim: int) -> tuple[int, ...]:
    return (*shape[:dim], 2 * shape[dim], *shape[dim + 1 :])
