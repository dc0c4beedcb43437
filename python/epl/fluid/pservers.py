"""Fluid's pserver mode: which server has which block of a program's parameters, and who this process is.

A trainer runs the program itself, as a worker of `epl.ParameterServer`; what a server holds and does, trainer
0 sends it. So a server's programs have variables, for people, and no ops:

    program            | `Executor.run`
    -------------------+-----------------------------------------------------------------
    trainer's          | pulls parameters, runs forward and backward, pushes gradients
    server's startup   | nothing: first values are those of trainer 0
    server's           | the process becomes `epl-server`, and ends when all trainers have
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import socket
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epl import runtime
from epl.errors import ArgumentError, ConfigError, ProcessError
from epl.fluid.dispatchers import Block, dispatch, dispatcher_class
from epl.fluid.tables import ServedTables
from epl.fluid.transpiler_config import DistributeTranspilerConfig
from epl.paddle.description import OPTIMIZE, Op
from epl.paddle.program import Program
from epl.processes.launch_variables import integer_variable
from epl.servers.deadline import deadline
from epl.servers.roles import Role, checked_addresses, read_role
from epl.servers.strategy import AssignedServers

_GRADIENT, _RATE = "Grad", "LearningRate"
_MAX_MERGE, _DEFAULT_MAX_MERGE = "FLAGS_communicator_max_merge_var_num", "20"  # Fluid's
_OF_WHOLE = frozenset({"lamb", "lars_momentum"})  # read the length of the whole parameter: it is not cut
_CONNECT_SECONDS, _PAUSE_SECONDS = 2.0, 0.2


@dataclass(frozen=True)
class ServerStartup:
    """What stands for the startup program of a server."""


Noted = AssignedServers | Role | ServerStartup
_NOTED: weakref.WeakKeyDictionary[Any, Noted] = weakref.WeakKeyDictionary()


def note(program: Any, what: Noted) -> None:
    """Leaves on a program of Paddle what it is: a trainer's, a server's, or the startup program of one."""
    _NOTED[program] = what


def noted(program: Any) -> Noted | None:
    """What was left on a program; None for one that has nothing to do with servers."""
    with contextlib.suppress(TypeError):  # of what can be no key, and no program
        return _NOTED.get(program)
    return None


@dataclass(frozen=True)
class _Placed:
    """A block of a parameter on a server. op: updates the parameter."""

    name: str
    shape: tuple[int, ...]
    server: int
    parameter: str
    op: Op


class Placement:
    """The blocks of a program's parameters, dealt out to servers as Fluid's transpiler does.

    Args:
      config: how.
      program: which trains.
      seed: of the order of parameters that are not cut, as in Fluid.
      servers: their addresses.
      tables: those of the program, of which each server has rows.

    Raises:
      ArgumentError: for a program that updates no parameter, and as of `dispatch`.
    """

    def __init__(
        self,
        config: DistributeTranspilerConfig,
        program: Program,
        seed: int,
        servers: Sequence[str],
        tables: ServedTables,
    ) -> None:
        self._program = program
        self._config = config
        self._servers = servers
        self._rows = list(tables.shapes(len(servers)))
        looked_up = {table.name for table in tables.of.tables}
        ops = [op for op in _updates(program) if looked_up.isdisjoint(op.inputs["Param"])]
        if not ops and not looked_up:
            raise ArgumentError(
                "the program updates no parameter: call minimize of an optimizer before transpile"
            )
        if not config.slice_var_up:
            np.random.RandomState(seed).shuffle(ops)  # type: ignore[arg-type]
        dispatcher = dispatcher_class(config.split_method)(list(servers))
        dispatcher.reset()
        self.blocks = [block for op in ops for block in self._place(op, dispatcher)]
        self._by_name = {block.name: block.server for block in reversed(self.blocks)}
        self._first = {block.parameter: block.server for block in reversed(self.blocks)}

    def _place(self, op: Op, dispatcher: Any) -> Iterator[_Placed]:
        """The blocks of the parameter that an op updates."""
        (parameter,), (gradient,) = op.inputs["Param"], op.inputs[_GRADIENT]
        shape = self._program.variables[parameter].shape
        is_cut = self._config.slice_var_up and op.kind not in _OF_WHOLE
        count = len(self._servers) if is_cut else 1
        module = runtime.module()
        shapes = module.slice_variable(list(shape), count, self._config.min_block_size)
        blocks = [
            Block(module.block_name(gradient, number, len(shapes)), tuple(own))
            for number, own in enumerate(shapes)
        ]
        for number, (block, server) in enumerate(zip(blocks, dispatch(dispatcher, blocks), strict=True)):
            name = module.block_name(parameter, number, len(shapes))
            yield _Placed(name, block.shape, server, parameter, op)

    def servers_of(self, names: Sequence[str]) -> list[int]:
        """The server of each block of a parameter, which may be cut into fewer blocks than Fluid does it."""
        return [
            self._by_name[name] if name in self._by_name else self._first[re.sub(r"\.block\d+$", "", name)]
            for name in names
        ]

    def describe(self) -> list[str]:
        """A line for each block, and for each server's part of a table: name, shape, and where it is."""
        blocks = [
            f"{block.name} {list(block.shape)} on {self._servers[block.server]}" for block in self.blocks
        ]
        return blocks + [
            f"{name} {shape} on {server}" for name, shape, _ in self._rows for server in self._servers
        ]

    def fill(self, program: Any, server: int) -> None:
        """Gives a program of Paddle the variables that a server has, by Fluid's names."""
        own = program.global_block()
        for name, shape, dtype in self._rows:
            self._add(own, name, shape, dtype)
        for block in self.blocks:
            if block.server != server:
                continue
            whole = self._program.variables[block.parameter]
            self._add(own, block.name, block.shape, whole.dtype)
            for kind, names in block.op.inputs.items():
                for name in names if kind not in ("Param", _GRADIENT) else ():
                    state = self._program.variables[name]
                    is_cut = kind != _RATE and state.shape == whole.shape
                    if state.persistable:
                        self._add(own, name, block.shape if is_cut else state.shape, state.dtype)

    @staticmethod
    def _add(block: Any, name: str, shape: Sequence[int], dtype: Any) -> None:
        if not block.has_var(name):
            block.create_var(name=name, shape=list(shape), dtype=np.dtype(dtype).name, persistable=True)


def _updates(program: Program) -> Iterator[Op]:
    """The first op that updates each parameter."""
    seen = set()
    for op in program.ops:
        parameter = op.inputs.get("Param", ())
        if op.role & OPTIMIZE and parameter and _GRADIENT in op.inputs and parameter not in seen:
            seen.add(parameter)
            yield op


def strategy_of(
    config: DistributeTranspilerConfig, sync_mode: Any, placement: Placement, role: Role
) -> AssignedServers:
    """How a program is trained.

    Raises:
      ArgumentError: for settings that do not go together.
      ConfigError: if the environment says no number of gradients that are merged.
    """
    return AssignedServers(
        mode=config.server_mode(sync_mode),
        slice_up=bool(config.slice_var_up),
        min_block_size=config.min_block_size,
        dispatch=placement.servers_of,
        geo_steps=config.geo_sgd_need_push_nums,
        max_merge=integer_variable(_MAX_MERGE, os.environ.get(_MAX_MERGE) or _DEFAULT_MAX_MERGE, least=1),
        role=role,
    )


def role_of_trainer(trainer_id: Any, pservers: Any, trainers: Any) -> Role:
    """Who this process is, as `transpile` is told it.

    Raises:
      ArgumentError, ConfigError: for numbers that are none or out of range, for addresses that are malformed
        or named twice, and if the environment of a trainer says otherwise.
    """
    if not isinstance(pservers, str):
        raise ArgumentError(
            f"pservers must be a string of addresses with commas between them, found {pservers!r}"
        )
    servers = checked_addresses([each.strip() for each in pservers.split(",")], "pservers")
    count = _integer("trainers", trainers, 1, math.inf, 'in mode "pserver" an integer of at least 1')
    number = _integer("trainer_id", trainer_id, 0, count - 1, f"an integer of 0 to {count - 1}")
    role = Role("worker", number, servers, count)
    _check_environment(role)
    return role


def _integer(name: str, value: Any, least: int, most: float, expected: str) -> int:
    is_good = isinstance(value, (int, np.integer)) and not isinstance(value, bool) and least <= value <= most
    if not is_good:
        raise ArgumentError(f"{name} must be {expected}, found {value!r}")
    return int(value)


def _check_environment(role: Role) -> None:
    """Raises ConfigError if a launcher has started this process as another trainer."""
    try:
        found = read_role(os.environ)
    except ConfigError:
        return  # a script that says all by itself needs no complete environment
    if found is not None and found.kind == "worker" and found != role:
        raise ConfigError(
            f"this is {_describe(role)}, as the script says, but {_describe(found)}, as the variables of its "
            "environment say: give transpile what they say"
        )


def _describe(role: Role) -> str:
    return f"trainer {role.number} of {role.workers} with the servers {','.join(role.servers)}"


def wait_for_servers(servers: Sequence[str]) -> None:
    """Waits until all servers listen.

    Raises:
      ProcessError: if one does not, `FLAGS_rpc_deadline` milliseconds long.
      ConfigError: as of `deadline`.
    """
    limit = deadline(os.environ)
    end = time.monotonic() + limit / 1000
    for number, address in enumerate(servers):
        while (problem := _try_to_reach(address, end)) is not None:
            if time.monotonic() + _PAUSE_SECONDS >= end:
                raise ProcessError(
                    f"server {number} ({address}) does not listen after {limit} ms (FLAGS_rpc_deadline): "
                    f"{problem}"
                )
            time.sleep(_PAUSE_SECONDS)


def _try_to_reach(address: str, end: float) -> str | None:
    """Why nobody listens at an address; None if somebody does."""
    host, _, port = address.rpartition(":")
    seconds = min(_CONNECT_SECONDS, max(end - time.monotonic(), 0.001))
    try:
        socket.create_connection((host.strip("[]"), int(port)), seconds).close()
    except OSError as error:
        return str(error)
    return None
