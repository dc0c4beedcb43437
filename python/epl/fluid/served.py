"""What a program has to do with parameter servers, for those who run it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epl.fluid import pservers, seeds, tables
from epl.fluid.scope import Scope
from epl.paddle.program import Program
from epl.paddle.row_updates import GivenTables
from epl.servers.strategy import AssignedServers, ParameterServer


@dataclass(frozen=True)
class Served:
    """How servers train a program, or have tables that it reads, or would make. seed: of its first run."""

    strategy: ParameterServer | None
    tables: GivenTables | None
    seed: int


def is_trained(program: Any) -> bool:
    """Whether a program of Paddle is a trainer's, in mode pserver."""
    return isinstance(pservers.noted(program), AssignedServers)


def found(read: Program, program: Any, scope: Scope) -> Served | None:
    """What servers have to do with a program, `program` of Paddle; None if nothing.

    Raises:
      ArgumentError, UnsupportedError: as of `tables.read_by`, `ServedTables.made`.
    """
    begin, strategy = seeds.begin(program), pservers.noted(program)
    if isinstance(strategy, AssignedServers):
        number = strategy.role.number if strategy.role else 0
        return Served(strategy, tables.trained_by(program, scope.values), begin + number)
    if (made := tables.left_out_of(program, read)) is not None:
        return Served(None, made, begin)
    others = tables.read_by(read, scope.values)
    return None if others is None else Served(*others, begin)
