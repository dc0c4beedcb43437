"""Distributed embeddings of programs in mode pserver: tables of rows (`epl.Table`) on the servers.

from                                    | the table's
----------------------------------------+-----------------------------------------------------
lookups of the program                  | rows, elements of one, padding
ops that update the variable            | optimizer, that of each row
the startup program, whose ops for it   | first values, which ids, the seed and the name say
are taken out                           |
"""

from __future__ import annotations

import os
import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epl.errors import ArgumentError, UnsupportedError
from epl.fluid.programs import imported
from epl.paddle import operators
from epl.paddle.description import Op
from epl.paddle.operators.table import Inputs
from epl.paddle.program import Program
from epl.paddle.row_updates import GivenTables, RowUpdate
from epl.paddle.tables import LOOKUPS, ProgramTable, ProgramTables, left_out, names_of, read_tables
from epl.servers.strategy import AssignedServers, ParameterServer
from epl.tables import inits
from epl.tables.inits import Init
from epl.tables.table import Table

_PREFETCH = "PADDLE_ENABLE_REMOTE_PREFETCH"
_NO_TABLES = {"dc_asgd": "enable_dc_asgd", "geo": "geo_sgd_mode"}


@dataclass(frozen=True)
class _First:
    """How a table begins: its rows, and what its optimizer keeps of each, by name."""

    init: Init
    seed: int
    kept: Mapping[str, float]


@dataclass
class ServedTables:
    """The tables of a program that is transpiled.

    of: what the program does with them. strategy: of the servers, None until `note`.
    """

    of: ProgramTables
    strategy: ParameterServer | None = None
    _firsts: dict[str, _First] = field(default_factory=dict)
    _made: dict[str, Table] = field(default_factory=dict)

    def made(self, values: Mapping[str, Any]) -> Mapping[str, Table]:
        """The tables by name, made once; `values`: of the scope, with what updates have as constants.

        Raises:
          ArgumentError: for such a variable that has no value.
        """
        if not self._made:
            self._made = {table.name: self._make(table, values) for table in self.of.tables}
        return self._made

    def _make(self, table: ProgramTable, values: Mapping[str, Any]) -> Table:
        update, first = table.update, self._firsts[table.name]
        assert update is not None, "the program trains"
        for name in update.constants:
            if values.get(name) is None:
                raise ArgumentError(f'variable "{name}" has no value: run the startup program first')
        rows, dim = table.variable.shape
        return Table(
            table.name,
            dim=dim,
            optimizer=RowUpdate(
                table, first.kept, {name: np.asarray(values[name]) for name in update.constants}
            ),
            init=first.init,
            dtype=table.variable.dtype,
            padding=table.padding,
            seed=first.seed,
            rows=rows,
        )

    def shapes(self, servers: int) -> Iterable[tuple[str, list[int], np.dtype[Any]]]:
        """What a server has room for of each table, and of what its optimizer keeps: name, shape, dtype."""
        for table in self.of.tables:
            rows = -(-table.variable.shape[0] // servers)
            for each in (table.variable, *table.states):
                own = each.shape[1:] if each.shape == table.variable.shape else each.shape
                yield each.name, [rows, *own], each.dtype


_NOTED: weakref.WeakKeyDictionary[Any, ServedTables] = weakref.WeakKeyDictionary()
_STARTUPS: weakref.WeakKeyDictionary[Any, ServedTables] = weakref.WeakKeyDictionary()
_BY_NAME: dict[str, ServedTables] = {}


def read(program: Any, startup: Any, mode: str) -> ServedTables:
    """The tables of a program of Paddle, and how its startup program begins them.

    They are the embeddings with `is_distributed`; with `PADDLE_ENABLE_REMOTE_PREFETCH=1` in the environment
    also those with `is_sparse`, of which Fluid's trainers fetch rows then.

    Raises:
      UnsupportedError: at the op, for a mode without tables, for what does not work on rows, and for rows
        that begin otherwise than evenly or normally around 0, or with one number.
    """
    attributes = ["is_distributed", *(["is_sparse"] if os.environ.get(_PREFETCH) == "1" else [])]
    own = imported(program)
    found = read_tables(own, names_of(own, attributes))
    if found.tables and mode in _NO_TABLES:
        op = next(iter(found.tables[0].lookups.values()))
        raise UnsupportedError(
            f'{op} has a table "{found.tables[0].name}" with is_distributed=True: with {_NO_TABLES[mode]} '
            "there are none; without is_distributed it is a parameter"
        )
    firsts = imported(startup)
    made = ServedTables(found)
    for table in found.tables:
        made._firsts[table.name] = _first(table, firsts, startup.random_seed)
    return made


def note(program: Any, startup: Any, tables: ServedTables, strategy: ParameterServer) -> None:
    """Leaves its tables on a program of Paddle, which trainers run, and on its startup program."""
    tables.strategy = strategy
    if tables.of.tables:
        _NOTED[program], _STARTUPS[startup] = tables, tables
        _BY_NAME.update({table.name: tables for table in tables.of.tables})


def trained_by(program: Any, values: Mapping[str, Any]) -> GivenTables | None:
    """The tables that were left on a program; arguments and errors as of `ServedTables.made`."""
    found = _NOTED.get(program)
    return GivenTables(found.of, found.made(values)) if found else None


def left_out_of(program: Any, own: Program) -> GivenTables | None:
    """The tables that a trainer does not make in a startup program, `own` as it was read; None for another.

    Their ops are still there, as others draw random numbers by their places.
    """
    found = _STARTUPS.get(program)
    return GivenTables(left_out(own, found.of.kept), {}) if found else None


def read_by(program: Program, values: Mapping[str, Any]) -> tuple[ParameterServer, GivenTables] | None:
    """The tables that another program trains and this one looks up, with the servers; None if there are none.

    Args:
      values: of the scope: an embedding that has one is no table.

    Raises:
      ArgumentError: for a program that trains them, too.
      UnsupportedError: as of `read_tables`.
    """
    looked_up = dict.fromkeys(op.inputs["W"][0] for op in program.ops if op.kind in LOOKUPS)
    names = [name for name in looked_up if name in _BY_NAME and values.get(name) is None]
    if not names:
        return None
    if program.trains:
        raise ArgumentError(
            f'the program trains "{names[0]}", a table that servers hold, and is not the one that was '
            "transpiled: run that, or a clone(for_test=True)"
        )
    made: dict[str, Table] = {}
    for name in names:
        made[name] = _BY_NAME[name].made(values)[name]
    strategy = _BY_NAME[names[0]].strategy
    assert strategy is not None, "its trainer's program was noted"
    return strategy, GivenTables(read_tables(program, names), made)


def among(names: Iterable[str], values: Mapping[str, Any]) -> tuple[list[Table], frozenset[str]]:
    """The tables among variables, and all the variables that servers have for rows.

    Args:
      names: of variables that have something to do with the tables that this process trains.
      values: of the scope; a variable that has one is of no table.

    Raises:
      ArgumentError: as of `ServedTables.made`.
    """
    wanted = [name for name in names if values.get(name) is None]
    every = list({id(served): served for served in _BY_NAME.values()}.values())
    found = [_BY_NAME[name].made(values)[name] for name in wanted if name in _BY_NAME]
    return found, frozenset(name for name in wanted if any(name in served.of.kept for served in every))


def at_servers(names: Iterable[str], servers: Sequence[str]) -> frozenset[str]:
    """The variables that are tables which this process trains.

    Args:
      names: of variables.
      servers: addresses of those that have the tables.

    Raises:
      ArgumentError: if others have them.
    """
    found = frozenset(name for name in names if name in _BY_NAME)
    for name in found:
        strategy = _BY_NAME[name].strategy
        role = strategy.role if isinstance(strategy, AssignedServers) else None
        if role and set(role.servers) != set(servers):
            raise ArgumentError(
                f'pserver_endpoints are {", ".join(servers)}, and table "{name}" is on the servers of '
                f"transpile: expected {', '.join(role.servers)}"
            )
    return found


def _first(table: ProgramTable, startup: Program, seed: int) -> _First:
    op = _beginning(table.name, startup)
    init = _init(table.name, op)
    own = int(op.attributes.get("seed", 0))
    if own in (0, seed):  # Paddle gives that of the program to ops; tables without their own have other rows
        own = seed << 32 | zlib.crc32(table.name.encode())
    kept = {}
    for state in table.states:
        begins = _beginning(state.name, startup)
        if begins.kind != "fill_constant":
            raise UnsupportedError(
                f'{begins} begins "{state.name}" of table "{table.name}": what an optimizer keeps of rows '
                'begins with one number for all, expected "fill_constant"'
            )
        kept[state.name] = _number(begins)
    return _First(init, own, kept)


def _beginning(name: str, startup: Program) -> Op:
    """The op of a startup program that makes a variable."""
    found = [op for op in startup.ops if name in op.writes]
    if len(found) != 1:
        raise ArgumentError(
            f'"{name}" is written by {len(found)} ops of the startup program, expected one: give transpile '
            "the startup program of the one that it transpiles"
        )
    return found[0]


def _number(op: Op) -> float:
    """The one that "fill_constant" has."""
    function = operators.find(op.kind)
    assert function is not None, "the program was read"
    return float(function(Inputs({}, lambda: None), {**op.attributes, "shape": (1,)})["Out"][0][0])


def _init(table: str, op: Op) -> Init:
    of, found = op.attributes, op.kind
    if op.kind == "fill_constant":
        return inits.constant(_number(op))
    if op.kind == "uniform_random":
        if of["min"] == -of["max"]:
            return inits.uniform(of["max"])
        found = f"uniform_random of {of['min']:g} to {of['max']:g}"
    elif op.kind == "gaussian_random":
        if of["mean"] == 0:
            return inits.normal(of["std"])
        found = f"gaussian_random around {of['mean']:g}"
    raise UnsupportedError(
        f'{op} begins table "{table}" by {found}: rows of tables begin evenly from -x to x (Uniform, Xavier, '
        "MSRA), normally around 0 (Normal, Xavier, MSRA), or with one number (Constant)"
    )
