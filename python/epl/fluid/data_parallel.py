"""A program on several devices, as `ParallelExecutor` and `CompiledProgram` run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from epl.errors import ArgumentError, Error
from epl.fluid import feeding, seeds, served, trainers
from epl.fluid.places import Place
from epl.fluid.scope import Scope
from epl.fluid.seeds import Seeds
from epl.fluid.trainers import Call, Trainers
from epl.paddle import feeds
from epl.paddle.device_values import Fetched
from epl.paddle.program import Program
from epl.paddle.replicas import Replicas, Weight
from epl.paddle.strategies import (
    BuildStrategy,
    ExecutionStrategy,
    GradientScaleStrategy,
    ReduceStrategy,
)

_WEIGHTS = {
    GradientScaleStrategy.CoeffNumDevice: Weight.MEAN,
    GradientScaleStrategy.One: Weight.ONE,
    GradientScaleStrategy.Customized: Weight.FED,
}

Part = dict[str, np.ndarray[Any, Any]]


class DataParallel:
    """A program that every place runs on its part of what is fed.

    Args:
      program: as read, and `source`, of Paddle, whose seed counts.
      places: of one kind, at least one.
      loss: what is minimized, None for a program that does not train.
      weighs: `"device"`: devices count alike, as in Paddle; `"global"`: rows count alike, as on one device.
      joining: the call in which its trainers meet.

    Raises:
      ArgumentError: for a loss that is no variable.
      ConfigError, ProcessError, RefusedError: if not all trainers come.
      UnsupportedError: for tables that do not go with what the program does.
    """

    def __init__(
        self,
        program: Program,
        source: Any,
        places: Sequence[Place],
        scope: Scope,
        loss: str | None,
        build: BuildStrategy,
        execution: ExecutionStrategy,
        weighs: str,
        joining: Call,
    ) -> None:
        with joining.checks("its loss_name"):
            if loss is not None and loss not in program.variables:
                raise ArgumentError(f'loss_name is "{loss}", which is no variable of the program')
        self.program = program
        self.places = tuple(places)
        self.scope = scope
        self._runs = execution.num_iteration_per_run
        weight = _WEIGHTS[build.gradient_scale_strategy]
        if weighs == "global" and weight is Weight.MEAN:
            weight = Weight.ROWS
        scope.declare(program.variables)
        feeding.split()  # an error now, though even batches do not ask
        self._graph = build.debug_graphviz_path
        trainers.meet(len(places))
        with joining.checks("its numbers"):
            self._trainers = trainers.of(source, build)
            self._trainers.check_launch()
            by_servers = served.found(program, source, scope)
        joining.agree()
        self.config = _config(build, execution, self._trainers, is_served=by_servers is not None)
        self._replicas = Replicas(
            program,
            len(places) * self._trainers.count,
            here=self._trainers.here(len(places)),
            weight=weight,
            loss=loss,
            syncs=build.sync_batch_norm,
            groups=self._trainers.groups,
            config=self.config,
            strategy=by_servers.strategy if by_servers else None,
            tables=by_servers.tables if by_servers else None,
        )
        begin = by_servers.seed if by_servers else seeds.begin(source)
        self._seeds = Seeds(self._trainers.first(begin, "the seed of a program"))
        self._begin()
        self._drop_after = execution.num_iteration_per_drop_scope
        self._since_drop = 0
        for strategy in (build, execution):
            strategy.finalize()

    def _begin(self) -> None:
        """Has all trainers begin with the variables of trainer 0."""
        if self._trainers.count == 1:
            return
        values = self.scope.values
        names = sorted(name for name in self.program.parameters if values.get(name) is not None)
        own = (
            [np.array(self.scope.var(name).get_tensor()) for name in names] if self._trainers.id == 0 else []
        )
        found = self._trainers.first(dict(zip(names, own, strict=False)), "the variables of a program")
        self.scope.values.update(found)

    def run(self, feed: Any, fetch_list: Any, return_numpy: bool, return_merged: bool) -> list[Any]:
        """Runs the program on all places; arguments and errors as of `ParallelExecutor.run`."""
        call = self.call()
        with call.checks("its fetch_list"):
            call.fetches = names = feeding.names_of(fetch_list)
            self._replicas.check_fetches(names)
        fed = self._fed({} if feed is None else feed, call)
        fetched: list[Fetched] = []
        for number in range(self._runs):
            wanted = call.fetches if number == self._runs - 1 else []
            fetched = self._replicas.run(self.scope.values, fed, wanted, self._seeds.next())
        found = dict(zip(call.fetches, fetched, strict=True))
        if self._graph:
            Path(self._graph).write_text(self._replicas.graph())
            self._graph = ""
        self._since_drop += 1
        if self._since_drop >= self._drop_after:
            self.drop()
        return [self._result(name, found[name], return_numpy, return_merged) for name in names]

    def call(self) -> Call:
        """A run of the program, as its trainers tell one another."""
        return Call(self._trainers)

    def owners(self) -> dict[str, int]:
        """The device that each parameter belongs to in Reduce mode, by name; empty before the first run."""
        return self._replicas.owners()

    @property
    def is_dropped(self) -> bool:
        """Whether the next run takes memory."""
        return self._since_drop == 0

    def drop(self) -> None:
        """Gives back the memory that runs need for themselves."""
        self._replicas.release()
        self._since_drop = 0

    def _result(self, name: str, fetched: Fetched, return_numpy: bool, return_merged: bool) -> Any:
        if return_merged:
            value = feeding.merged(name, fetched, self.program)
            return value if return_numpy else feeding.as_tensor(name, value)
        values = [np.atleast_1d(each) for each in feeding.of_devices(name, fetched, self.program)]
        return values if return_numpy else [feeding.as_tensor(name, each) for each in values]

    def _fed(self, feed: Any, call: Call) -> feeds.Fed:
        """What all places are fed, once all trainers take it.

        Persistable variables that are fed are in the scope then.
        """
        count = len(self.places)
        with call.checks("its feed"):
            variables, given = self._given(feed)
            self._replicas.check_fed(variables)
            values = self.scope.values
            self._replicas.check_variables({**values, **variables} if variables else values)
            call.variables = {name: variables[name] for name in variables if self._replicas.is_shared(name)}
            if isinstance(given, list):
                fed = feeds.of_parts(given, count, call.share)
            else:
                fed = feeds.of_even_batch(given, count, call.share)
        values.update(variables)
        return fed

    def _given(self, feed: Any) -> tuple[Part, Part | list[Part]]:
        """Persistable variables that are fed; and the rest: parts, or a batch that places share evenly."""
        count = len(self.places)
        if not isinstance(feed, Mapping):
            if not isinstance(feed, (list, tuple)):
                raise ArgumentError(f"feed must be a dict, or a list of dicts, found {type(feed).__name__}")
            parts = self._parts(feed)
            return self._taken(parts), parts
        batch = feeding.arrays(self.program, feed, count)
        variables = self._taken([batch])
        if not batch:
            return variables, [{}] * count
        if feeds.is_even(batch, count):
            return variables, batch
        parts = feeds.cut(batch, count, feeding.split())
        self._check_count(len(parts), batch)
        return variables, parts

    def _parts(self, feed: Sequence[Any]) -> list[Part]:
        """What each place is fed, of a list."""
        count = len(self.places)
        for each in feed:
            if not isinstance(each, Mapping):
                raise ArgumentError(
                    f"Each element of feed list should be a dict, found {type(each).__name__}"
                )
        if not feed or len(feed) > count or (len(feed) < count and self.program.trains):
            raise ArgumentError(
                "Feed a list of tensor, the list should be the same size as places: expected a dict for each "
                f"of {count} devices, found {len(feed)}"
            )
        for index, each in enumerate(feed):
            if not each:
                raise ArgumentError(
                    f"element {index} of the feed list is empty: a reader's last batch may be too small "
                    f"for all {count} devices, leave it out (drop_last=True)"
                )
        parts = [
            feeding.arrays(self.program, each, what=f"element {index} of the feed list")
            for index, each in enumerate(feed)
        ]
        for part in parts:
            if part.keys() != parts[0].keys():
                raise ArgumentError("the elements of the feed list have different names")
        return parts

    def _check_count(self, parts: int, batch: Part) -> None:
        """A batch may have too few rows for all places if the program does not train."""
        if parts < len(self.places) and (self.program.trains or not parts):
            name, value = next(iter(batch.items()))
            raise ArgumentError(
                f"The number({len(value)}) of samples[{name}] of current batch is less than the count"
                f"({len(self.places)}) of devices(CPU), currently, it is not allowed. It makes "
                f"{parts} parts: leave it out, or set the environment variable CPU_NUM to fewer devices."
            )

    def _taken(self, parts: list[Part]) -> Part:
        """Takes persistable variables, the learning rate say, out of parts; their values."""
        names = [name for name in parts[0] if name in self.program.parameters]
        return {name: self._one_value(name, np.stack([part.pop(name) for part in parts])) for name in names}

    def _one_value(self, name: str, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The one value of all devices: a row, or an equal one for each."""
        count, shape = len(self.places), self.program.parameters[name].shape
        rows = value.reshape(-1, *shape)
        if len(rows) not in (1, count):
            raise ArgumentError(
                f'"{name}" in feed is persistable and has {len(rows)} rows: expected 1, or one for each of '
                f"{count} devices"
            )
        if any(not np.array_equal(row, rows[0]) for row in rows):
            raise ArgumentError(
                f'"{name}" in feed has different values for the devices, whose parameters would differ then'
            )
        return np.ascontiguousarray(rows[0])


def _config(
    build: BuildStrategy, execution: ExecutionStrategy, found: Trainers, *, is_served: bool
) -> dict[str, Any]:
    """What strategies, and who trains, say as settings of EPL; servers update, so no device owns states."""
    owns = build.reduce_strategy is ReduceStrategy.Reduce and not is_served
    in_order = build.enable_sequential_execution or build.sync_batch_norm or execution.num_threads == 1
    return {
        "cluster.num_threads": execution.num_threads,
        "cluster.sequential": in_order,
        "communication.fuse": build.fuse_all_reduce_ops is not False,
        "communication.fuse_broadcasts": build.fuse_broadcast_ops is not False,
        "communication.num_communicators": found.communicators,
        "zero.owner": "parameter" if owns else "",
    }


def check_loss(program: Program, loss: str | None, weighs: str) -> None:
    """Whether a program that trains has a loss, and it is known how it weighs.

    Raises:
      ArgumentError: if not.
    """
    if weighs not in ("device", "global"):
        raise ArgumentError(f'loss must be "device" or "global", found {weighs!r}')
    if loss is None and program.trains:
        raise MissingLossError(
            "The loss name of CompiledProgram is None. The loss name should be set if the program has a "
            "backward part."
        )


class MissingLossError(ArgumentError, AssertionError):
    """A program trains, and nobody said what it minimizes."""


class SharingError(Error, ValueError):
    """Variables cannot be shared with an executor."""
