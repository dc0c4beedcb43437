"""The processes that train together: Fluid's nccl2 mode.

A process is a trainer, by `num_trainers` and `trainer_id`, as scripts of Fluid say it, or by what
`DistributeTranspiler` has left on a program. Processes are started by a launcher that connects them,
`epl-launch -n 2 train.py`, which must say the same of who a process is. Each has as many devices.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from epl.errors import ArgumentError, ConfigError
from epl.paddle.feeds import Lengths
from epl.paddle.strategies import BuildStrategy
from epl.processes import group
from epl.processes.launch_variables import read_launch

_TRANSPILED: weakref.WeakKeyDictionary[Any, Trainers] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Trainers:
    """How many processes train, which one this is, and the addresses of all if they were said."""

    count: int = 1
    id: int = 0
    endpoints: tuple[str, ...] = ()

    def join(self, devices: int) -> None:
        """Meets the other trainers, each of which has so many devices.

        Raises:
          ConfigError: if this process was not started as that trainer.
          ProcessError: if one does not come.
        """
        met = meet(devices)
        if self.count == 1:
            return
        found = (1, 0) if met is None else (met.processes, met.process)
        if found != (self.count, self.id):
            raise ConfigError(
                f"this is trainer {self.id} of {self.count}, as the script says, but process {found[1]} of "
                f"{found[0]}, as its launcher says: start trainers by epl-launch -n {self.count}, and give "
                "each the number that PADDLE_TRAINER_ID in its environment says"
            )

    def here(self, devices: int) -> range:
        """The numbers of this trainer's devices among those of all."""
        return range(self.id * devices, (self.id + 1) * devices)

    def first(self, value: Any, what: str) -> Any:
        """The value of trainer 0, which others give None for. `what`: is exchanged, for errors."""
        met = group.current() if self.count > 1 else None
        return value if met is None else met.share(value if self.id == 0 else None, what)[0]

    def lengths(self, own: Lengths) -> list[Lengths]:
        """How many rows the devices of all trainers are fed."""
        met = group.current() if self.count > 1 else None
        return [own] if met is None else met.share(own, "the lengths of parts")


def meet(devices: int) -> group.Group | None:
    """The processes that were started with this one, each of which has so many devices; None if it is alone.

    Raises:
      ConfigError, ProcessError: as of `epl.init`.
    """
    launched = read_launch(os.environ).processes or 1
    return group.join(f"cpu:{launched * devices}")


def note(program: Any, trainers: Trainers) -> None:
    """Leaves on a program of Paddle that it is one of trainers."""
    _TRANSPILED[program] = trainers


def noted(program: Any) -> Trainers:
    """The trainers of a program; one, if none was left on it."""
    return _TRANSPILED.get(program, Trainers())


def of(program: Any, build: BuildStrategy) -> Trainers:
    """Who trains a program, as a strategy and the transpiler say.

    Raises:
      ArgumentError: for numbers that do not fit together.
    """
    known = noted(program)
    endpoints = tuple(build.trainers_endpoints) or known.endpoints
    found = Trainers(build.num_trainers, build.trainer_id, endpoints)
    if found.count == 1 and known.count > 1:
        found = known
    if known.count > 1 and (found.count, found.id) != (known.count, known.id):
        raise ArgumentError(
            f"num_trainers is {found.count} and trainer_id {found.id}, but the program was transpiled for "
            f"trainer {known.id} of {known.count}"
        )
    if found.id >= found.count:
        raise ArgumentError(
            f"trainer_id is {found.id}, expected less than num_trainers, which is {found.count}"
        )
    if endpoints and len(endpoints) != found.count:
        raise ArgumentError(
            f"{len(endpoints)} endpoints are named, expected num_trainers, which is {found.count}"
        )
    check_groups(build.use_hierarchical_allreduce, build.hierarchical_allreduce_inter_nranks, found.count)
    return found


def check_groups(is_hierarchical: bool, size: int, trainers: int) -> None:
    """Whether trainers make whole groups, of which sums are made first.

    Raises:
      ArgumentError: if not.
    """
    if is_hierarchical and not (trainers > 1 and size > 1 and trainers % size == 0):
        raise ArgumentError(
            f"use_hierarchical_allreduce with groups of {size} (hierarchical_allreduce_inter_nranks): "
            f"expected groups of 2 or more that {trainers} trainers make"
        )


def check_endpoints(endpoints: Sequence[str], current: str, trainer_id: int) -> None:
    """Whether addresses are those of two trainers or more, of which this is one.

    Raises:
      ArgumentError: if not.
    """
    for each in endpoints:
        host, _, port = each.rpartition(":")
        if not host or not port.isdecimal():
            raise ArgumentError(f'trainers has "{each}", expected an address and a port, 127.0.0.1:6174 say')
    if len(endpoints) < 2:
        raise ArgumentError(
            f"trainers names {len(endpoints)} trainer, expected 2 or more: {', '.join(endpoints)}"
        )
    if twice := sorted({each for each in endpoints if list(endpoints).count(each) > 1}):
        raise ArgumentError(f'trainers names "{twice[0]}" twice')
    if current not in endpoints:
        raise ArgumentError(f'current_endpoint is "{current}", expected one of {", ".join(endpoints)}')
    if list(endpoints).index(current) != trainer_id:
        raise ArgumentError(
            f'current_endpoint "{current}" is that of trainer {list(endpoints).index(current)}, but '
            f"trainer_id is {trainer_id}"
        )
