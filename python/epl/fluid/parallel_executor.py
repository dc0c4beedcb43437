"""`ParallelExecutor`: trains and tests a program on several devices."""

from __future__ import annotations

import sys
from typing import Any

from epl.errors import ArgumentError
from epl.fluid import trainers
from epl.fluid.data_parallel import DataParallel, SharingError, check_loss
from epl.fluid.installed import load
from epl.fluid.places import Place, cpu_places, cuda_places
from epl.fluid.programs import imported
from epl.fluid.scope import Scope, global_scope
from epl.paddle.strategies import BuildStrategy, ExecutionStrategy


class ParallelExecutor:
    """Runs a program on all devices, each on its part of the batch, and sums the gradients, as Paddle's does.

    Args:
      use_cuda: whether on cards, see `cuda_places`; else on CPU devices, as many as CPU_NUM says.
      loss_name: of the variable that is minimized, of a program that trains.
      main_program: default `default_main_program()`.
      share_vars_from: an executor whose variables this one has, to test what that one trains.
      exec_strategy, build_strategy: how; default values where None. Final from the first run on.
      num_trainers, trainer_id: how many processes train, and which one this is.
      scope: of the variables; default `global_scope()`.
      loss: `"device"`: the losses of devices count alike, as in Paddle, whatever parts they have; `"global"`:
        rows count alike, so that it trains as one device does.

    Raises:
      ArgumentError: for unknown options, for another type of `share_vars_from`, and for a program that trains
        without a loss.
    """

    def __init__(
        self,
        use_cuda: bool,
        loss_name: str | None = None,
        main_program: Any = None,
        share_vars_from: ParallelExecutor | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        build_strategy: BuildStrategy | None = None,
        num_trainers: int = 1,
        trainer_id: int = 0,
        scope: Scope | None = None,
        *,
        loss: str = "device",
        **options: Any,
    ) -> None:
        _check_options(options)
        if share_vars_from is not None and not isinstance(share_vars_from, ParallelExecutor):
            raise ArgumentError(
                f"share_vars_from must be ParallelExecutor, found {type(share_vars_from).__name__}"
            )
        self._places: list[Place] = [*(cuda_places() if use_cuda else cpu_places())]
        self._build = build_strategy or BuildStrategy()
        self._execution = exec_strategy or ExecutionStrategy()
        _check_trainers(self._build, num_trainers, trainer_id)
        self._program = load().static.default_main_program() if main_program is None else main_program
        check_loss(imported(self._program), loss_name, loss)
        self._loss_name = loss_name
        self._loss = loss
        self._shared = share_vars_from
        self._scope = scope or global_scope()
        self._parallel: DataParallel | None = None
        if share_vars_from is not None and share_vars_from.device_count != self.device_count:
            count = share_vars_from.device_count
            raise SharingError(f"share_vars_from has {count} devices, expected {self.device_count}, as here")

    @property
    def device_count(self) -> int:
        """How many devices run the program."""
        return len(self._places)

    def run(
        self, fetch_list: Any, feed: Any = None, feed_dict: Any = None, return_numpy: bool = True
    ) -> list[Any]:
        """Runs the program once, all its ops.

        Args:
          fetch_list: variables or their names.
          feed: a dict from names to arrays, which are cut for the devices along dimension 0 (see
            `EPL_FLUID_SPLIT`), or a list of such dicts, one for each device.
          feed_dict: the same, deprecated.
          return_numpy: whether what is fetched is arrays, else `Tensor`s.

        Returns:
          What is fetched: the values of all devices along dimension 0, in the order of the devices. A loss,
          say, has a value for each.

        Raises:
          ArgumentError: for a feed that does not fit, and for unknown fetches.
          SharingError: if the executor to share with never ran.
          RefusedError: if another trainer does not take its arguments; nothing has run then.
        """
        if feed is None and feed_dict is not None:
            print("`feed_dict` is deprecated. Please use `feed=`", file=sys.stderr)
            feed = feed_dict
        return self._made().run(feed, fetch_list, return_numpy, return_merged=True)

    def _made(self) -> DataParallel:
        if self._parallel is None:
            joining = trainers.joining(trainers.said(self._program, self._build))
            with joining.checks("its first run"):
                scope = self._shared_scope()
            self._parallel = DataParallel(
                imported(self._program),
                self._program,
                self._places,
                scope,
                self._loss_name,
                self._build,
                self._execution,
                self._loss,
                joining,
            )
        return self._parallel

    def _shared_scope(self) -> Scope:
        if self._shared is None:
            return self._scope
        if self._shared._parallel is None:
            raise SharingError("share_vars_from never ran, so there are no variables to share: run it first")
        return self._shared._parallel.scope

    def drop_local_exe_scopes(self) -> None:
        """Gives back the memory that runs need for themselves; the next run takes it again.

        Raises:
          TypeError: before the first run.
        """
        self._ran().drop()

    def _need_create_local_exe_scopes(self) -> bool:
        return self._ran().is_dropped

    def _ran(self) -> DataParallel:
        if self._parallel is None:
            raise ArgumentError("the executor never ran: it has no local scopes yet")
        return self._parallel


def _check_options(options: dict[str, Any]) -> None:
    """Names the options of Fluid 0.x that are fields of strategies."""
    for name in options:
        for strategy in (ExecutionStrategy, BuildStrategy):
            if name in strategy.FIELDS:
                raise ArgumentError(
                    f"ParallelExecutor has no option {name}: it is a field of {strategy.__name__}, "
                    f"which {'exec' if strategy is ExecutionStrategy else 'build'}_strategy takes"
                )
        raise ArgumentError(f"ParallelExecutor has no option {name}")


def _check_trainers(build: BuildStrategy, num_trainers: int, trainer_id: int) -> None:
    """Puts what the executor is told of trainers into the strategy, as Paddle does."""
    for name, value, plain in (("num_trainers", num_trainers, 1), ("trainer_id", trainer_id, 0)):
        if value != plain and value != getattr(build, name):
            setattr(build, name, value)
