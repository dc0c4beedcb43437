"""`Executor`: runs startup programs, and programs on one device."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from epl.errors import ArgumentError
from epl.fluid import feeding, pservers, seeds, served, trainers
from epl.fluid.compiler import CompiledProgram
from epl.fluid.installed import load
from epl.fluid.places import CPUPlace, CUDAPlace, Place, local_devices
from epl.fluid.programs import imported
from epl.fluid.pservers import ServerStartup
from epl.fluid.scope import Scope, global_scope
from epl.fluid.seeds import Seeds
from epl.fluid.trainers import Call, Trainers
from epl.paddle import feeds
from epl.paddle.program import Program
from epl.paddle.replicas import Replicas, Weight
from epl.servers.connection import disconnect
from epl.servers.roles import Role
from epl.servers.serving import serve


class Executor:
    """Runs programs on a place. See Paddle's `fluid.Executor`.

    Args:
      place: a CPU device, the default, or a card, for which a CPU device stands in.

    Raises:
      ArgumentError: for what is no place.
    """

    def __init__(self, place: Place | None = None) -> None:
        if place is not None and not isinstance(place, (CPUPlace, CUDAPlace)):
            raise ArgumentError(f"place must be a CPUPlace or a CUDAPlace, found {type(place).__name__}")
        self.place = place or CPUPlace()
        self._made: weakref.WeakKeyDictionary[Program, _Made] = weakref.WeakKeyDictionary()
        self._has_served = False  # a CompiledProgram
        self._is_closed = False

    def run(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        return_merged: bool = True,
        use_prune: bool = False,
    ) -> list[Any]:
        """Runs all ops of a program.

        Args:
          program: of Paddle, or a `CompiledProgram`; default `default_main_program()`. That of a parameter
            server does not come back: the process ends when the trainers have.
          feed: arrays by name; of a `CompiledProgram` also a list of such dicts, one for each device.
          fetch_list: variables or their names.
          feed_var_name, fetch_var_name, use_program_cache, use_prune: make no difference; what ran is kept
            compiled, and no op is left out.
          scope: of its variables; default `global_scope()`.
          return_numpy: whether what is fetched is arrays, else `Tensor`s.
          return_merged: whether values of several devices are one, see `CompiledProgram`.

        Returns:
          What is fetched, in the order of the list.

        Raises:
          ArgumentError: for a feed that does not fit, and for unknown fetches.
          UnsupportedError: for ops that EPL does not have.
          ProcessError: if a parameter server, or a trainer that it waits for, is lost.
        """
        del feed_var_name, fetch_var_name, use_program_cache, use_prune
        if self._is_closed:
            raise ArgumentError("the executor is closed")
        scope = global_scope() if scope is None else scope
        if program is None:
            program = load().static.default_main_program()
        match pservers.noted(program):
            case Role() as role:
                serve(role)
            case ServerStartup():
                return []
        if isinstance(program, CompiledProgram):
            self._has_served |= program.is_served
            return program.run(self.place, feed, fetch_list, scope, return_numpy, return_merged)
        read = imported(program)
        made = self._made.get(read) or self._made.setdefault(read, _make(read, program, scope))
        call = Call(made.trainers)
        with call.checks("its fetch_list"):
            call.fetches = names = feeding.names_of(fetch_list)
            made.replicas.check_fetches(names)
        scope.declare(read.variables)
        fed = _fed(made, {} if feed is None else feed, scope, call)
        values = made.replicas.run(scope.values, fed, call.fetches, made.seeds.next())
        fetched = dict(zip(call.fetches, values, strict=True))
        found = [feeding.of_devices(name, fetched[name], read)[0] for name in names]
        if return_numpy:
            return list(found)
        return [feeding.as_tensor(name, value) for name, value in zip(names, found, strict=True)]

    def close(self) -> None:
        """Frees what it has compiled; it runs nothing any more. A trainer says goodbye to parameter servers.

        Raises:
          ProcessError: if a server is lost before it has all gradients.
        """
        trains = self._has_served or any(made.replicas.is_served for made in self._made.values())
        self._is_closed = True
        self._made.clear()
        if trains:
            disconnect()


@dataclass
class _Made:
    """What runs a program."""

    replicas: Replicas
    trainers: Trainers
    seeds: Seeds


def _make(read: Program, program: Any, scope: Scope) -> _Made:
    """What runs a program: alone, or with other trainers if it has ops that exchange values."""
    if (found := served.found(read, program, scope)) is not None:
        replicas = Replicas(read, 1, weight=Weight.ONE, strategy=found.strategy, tables=found.tables)
        return _Made(replicas, Trainers(), Seeds(found.seed))
    of_all = trainers.noted(program) if any(op.kind.startswith("c_") for op in read.ops) else Trainers()
    trainers.meet(1 if of_all.count > 1 else local_devices())
    joining = trainers.joining(of_all)
    with joining.checks("its numbers"):
        of_all.check_launch()
    joining.agree()
    replicas = Replicas(read, of_all.count, here=of_all.here(1), weight=Weight.ONE)
    return _Made(replicas, of_all, Seeds(of_all.first(seeds.begin(program), "the seed of a program")))


def _fed(made: _Made, feed: Any, scope: Scope, call: Call) -> feeds.Fed:
    """What the device is fed, once all trainers take it; of persistable variables it is in the scope then."""
    replicas, program = made.replicas, made.replicas.program
    with call.checks("its feed"):
        given = feeding.arrays(program, feed)
        variables = {name: value for name, value in given.items() if name in program.parameters}
        replicas.check_fed(variables)
        part = {name: value for name, value in given.items() if name not in program.parameters}
        values = scope.values
        replicas.check_variables({**values, **variables} if variables else values)
        fed = feeds.of_parts([part], 1, call.share)
    values.update(variables)
    return fed
