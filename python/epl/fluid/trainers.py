"""The processes that train together: Fluid's nccl2 mode.

A process is a trainer, by `num_trainers` and `trainer_id`, as scripts of Fluid say it, or by what
`DistributeTranspiler` has left on a program. Processes are started by a launcher that connects them,
`epl-launch -n 2 train.py`, which must say the same of who a process is. Each has as many devices.

Before each step trainers tell one another what they are fed (`Call`). One whose arguments are wrong tells
that instead, so that all raise an error at that call and none waits in a step that does not come:

    trainer 0                | trainer 1
    -------------------------+--------------------------------------------------------------
    takes its feed, tells it | finds that "y" is missing, tells the message
    hears trainer 1's        | raises its ArgumentError
    raises a RefusedError    |
    next call                | next call
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from epl.errors import ArgumentError, ConfigError, Error, ProcessError, reason
from epl.paddle.feeds import Lengths, Part, Share
from epl.paddle.strategies import BuildStrategy, ReduceStrategy
from epl.processes import group
from epl.processes.launch_variables import read_launch

_TRANSPILED: weakref.WeakKeyDictionary[Any, Trainers] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Trainers:
    """How many processes train, which one this is, and the addresses of all if they were said.

    groups: of neighbours, within which gradients are summed first; 1: among all at once. communicators: how
    many exchanges may be under way at a time.
    """

    count: int = 1
    id: int = 0
    endpoints: tuple[str, ...] = ()
    groups: int = 1
    communicators: int = 1

    def check_launch(self) -> None:
        """Whether this process was started as this trainer.

        Raises:
          ConfigError: if not.
        """
        met = group.current()
        found = (1, 0) if met is None else (met.processes, met.process)
        if self.count > 1 and found != (self.count, self.id):
            raise ConfigError(
                f"this is trainer {self.id} of {self.count}, as the script says, but process {found[1]} of "
                f"{found[0]}, as its launcher says: start trainers by epl-launch -n {self.count}, and give "
                "each the number that PADDLE_TRAINER_ID in its environment says"
            )

    def describe(self, trainer: int) -> str:
        """`trainer 1 of 2 (127.0.0.1:6175)`."""
        address = f" ({self.endpoints[trainer]})" if trainer < len(self.endpoints) else ""
        return f"trainer {trainer} of {self.count}{address}"

    def here(self, devices: int) -> range:
        """The numbers of this trainer's devices among those of all."""
        return range(self.id * devices, (self.id + 1) * devices)

    def first(self, value: Any, what: str) -> Any:
        """The value of trainer 0, which others give None for. `what`: is exchanged, for errors."""
        met = group.current() if self.count > 1 else None
        return value if met is None else met.share(value if self.id == 0 else None, what)[0]


class RefusedError(Error, ValueError):
    """Another trainer does not take the arguments of its call, so that this call does nothing either."""


@dataclass(frozen=True)
class _Said:
    """What a trainer tells the others of a call: why it refuses it; or what it is fed and fetches.

    rows: by name of what is fed the type and shape of a row. variables: digests of persistable variables that
    are fed, which all trainers have alike.
    """

    refusal: str = ""
    lengths: Lengths = field(default_factory=dict)
    rows: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    fetches: tuple[str, ...] = ()


class Call:
    """What trainers tell one another once in a call that all make, before what they do together.

    fetches: names of variables that this one wants; after `share` those that any of them does. variables: the
    persistable ones that are fed, of which all trainers have one value.

    Args:
      trainers: who call.
      about: what it is, for errors; all say the same.
    """

    def __init__(self, trainers: Trainers, about: str = "a run of a program") -> None:
        self.fetches: Sequence[str] = ()
        self.variables: Mapping[str, np.ndarray[Any, Any]] = {}
        self._trainers = trainers
        self._about = about
        self._has_said = False

    @contextlib.contextmanager
    def checks(self, what: str) -> Iterator[None]:
        """Has all trainers raise an error if the body does so on one, unless they have been told before.

        Args:
          what: is refused then, for errors: "its feed".
        """
        try:
            yield
        except Exception as error:
            if not self._has_said:
                with contextlib.suppress(ProcessError):  # of what this one is told, its own error comes first
                    self._say(_Said(f"{what}: {reason(error)}"))
            raise

    def agree(self) -> None:
        """Waits for all trainers.

        Raises:
          RefusedError: if another one refuses the call.
        """
        self._hear(_Said())

    @property
    def share(self) -> Share | None:
        """What tells all trainers the lengths of each; None for one alone, who hears nothing."""
        return self._share if self._trainers.count > 1 else None

    def _share(self, lengths: Lengths, part: Part) -> list[Lengths]:
        """The lengths of all trainers.

        Args:
          lengths: how many rows each device of this one is fed, by name.
          part: of one device, or the batch.

        Raises:
          RefusedError: if another one refuses the call.
          ArgumentError: in all of them, for feeds that do not go together.
        """
        rows = {name: f"{value.dtype.name}{list(value.shape[1:])}" for name, value in part.items()}
        digests = {name: _digest(value) for name, value in self.variables.items()}
        said = self._hear(_Said("", lengths, rows, digests, tuple(self.fetches)))
        self._check_rows([each.rows for each in said])
        self._check_variables([each.variables for each in said])
        self.fetches = list(dict.fromkeys(name for each in said for name in each.fetches))
        return [each.lengths for each in said]

    def _say(self, own: _Said) -> list[_Said]:
        met = group.current() if self._trainers.count > 1 else None
        self._has_said = True
        return [own] if met is None else met.share(own, self._about)

    def _hear(self, own: _Said) -> list[_Said]:
        said = self._say(own)
        for trainer, each in enumerate(said):
            if each.refusal:
                raise RefusedError(f"{self._trainers.describe(trainer)} has refused {each.refusal}")
        return said

    def _check_rows(self, rows: Sequence[Mapping[str, str]]) -> None:
        for trainer, own in enumerate(rows):
            for name in sorted(own.keys() | rows[0].keys()):
                first, found = rows[0].get(name, "nothing"), own.get(name, "nothing")
                if first != found:
                    raise ArgumentError(
                        f'"{name}" in feed has rows of {first} on trainer 0, {found} on '
                        f"{self._trainers.describe(trainer)}: expected the same on all trainers"
                    )

    def _check_variables(self, digests: Sequence[Mapping[str, str]]) -> None:
        for trainer, own in enumerate(digests):
            for name in sorted(own.keys() | digests[0].keys()):
                if own.get(name) != digests[0].get(name):
                    raise ArgumentError(
                        f'"{name}" in feed has another value on {self._trainers.describe(trainer)} than on '
                        "trainer 0, whose parameters would differ then"
                    )


def _digest(value: np.ndarray[Any, Any]) -> str:
    return f"{value.dtype.name}{list(value.shape)} {hashlib.sha256(value.tobytes()).hexdigest()}"


def joining(trainers: Trainers) -> Call:
    """The call in which trainers meet, and whether each is who it says it is."""
    return Call(trainers, "who trains a program")


def meet(devices: int) -> group.Group | None:
    """The processes that were started with this one, each of which has so many devices; None if it is alone.

    Raises:
      ConfigError, ProcessError: as of `epl.init`.
    """
    if group.is_alone():  # which a script may say against its environment
        return None
    launched = read_launch(os.environ).processes or 1
    return group.join(f"cpu:{launched * devices}")


def note(program: Any, trainers: Trainers) -> None:
    """Leaves on a program of Paddle that it is one of trainers."""
    _TRANSPILED[program] = trainers


def noted(program: Any) -> Trainers:
    """The trainers of a program; one, if none was left on it."""
    return _TRANSPILED.get(program, Trainers())


def said(program: Any, build: BuildStrategy) -> Trainers:
    """Who trains a program, as a strategy says or else the transpiler."""
    known = noted(program)
    endpoints = tuple(build.trainers_endpoints) or known.endpoints
    if build.num_trainers == 1 and known.count > 1:
        return replace(known, endpoints=endpoints)
    return Trainers(build.num_trainers, build.trainer_id, endpoints)


def of(program: Any, build: BuildStrategy) -> Trainers:
    """Who trains a program, as a strategy and the transpiler say alike.

    Raises:
      ArgumentError: for numbers that do not fit together.
    """
    known, found = noted(program), said(program, build)
    if known.count > 1 and (found.count, found.id) != (known.count, known.id):
        raise ArgumentError(
            f"num_trainers is {found.count} and trainer_id {found.id}, but the program was transpiled for "
            f"trainer {known.id} of {known.count}"
        )
    if found.id >= found.count:
        raise ArgumentError(
            f"trainer_id is {found.id}, expected less than num_trainers, which is {found.count}"
        )
    if found.endpoints and len(found.endpoints) != found.count:
        raise ArgumentError(
            f"{len(found.endpoints)} endpoints are named, expected num_trainers, which is {found.count}"
        )
    groups = _groups(build, found.count) or known.groups
    communicators = max(build.nccl_comm_num, known.communicators)
    found = replace(found, groups=groups, communicators=communicators)
    if found.groups > 1 and build.reduce_strategy is not ReduceStrategy.AllReduce:
        raise ArgumentError(
            f"use_hierarchical_allreduce with {build.reduce_strategy}: expected ReduceStrategy.AllReduce, as "
            "the sums of a group belong to none of its devices"
        )
    return found


def _groups(build: BuildStrategy, trainers: int) -> int:
    """How many groups of trainers a strategy says, 0 if it says nothing; errors as of `of`."""
    if not build.use_hierarchical_allreduce:
        return 0
    groups = count_groups(trainers, build.hierarchical_allreduce_inter_nranks)
    number = build.hierarchical_allreduce_exter_nranks
    if number not in (0, groups):
        raise ArgumentError(
            f"hierarchical_allreduce_exter_nranks is {number}, expected {groups}, the groups that {trainers} "
            "trainers make, or 0"
        )
    return groups


def count_groups(trainers: int, size: int) -> int:
    """How many groups of a size trainers make, in which sums are made first.

    Raises:
      ArgumentError: if some are left.
    """
    if not (trainers > 1 and size > 1 and trainers % size == 0):
        raise ArgumentError(
            f"use_hierarchical_allreduce with groups of {size} (hierarchical_allreduce_inter_nranks): "
            f"expected groups of 2 or more that {trainers} trainers make"
        )
    return trainers // size


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
