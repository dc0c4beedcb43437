"""`CompiledProgram`: a program that an `Executor` runs on several devices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid import served, trainers
from epl.fluid.data_parallel import DataParallel, SharingError, check_loss
from epl.fluid.places import CPUPlace, CUDAPlace, Place, cpu_places, cuda_places
from epl.fluid.programs import imported
from epl.fluid.scope import Scope
from epl.paddle.strategies import BuildStrategy, ExecutionStrategy


class CompilingError(ArgumentError, AssertionError):
    """A program cannot be compiled so."""


class CompiledProgram:
    """A program and how it is run. See Paddle's class.

    Args:
      program_or_graph: a Program of Paddle.
      build_strategy: default values where None.

    Raises:
      ArgumentError: for what is no program.
    """

    def __init__(self, program_or_graph: Any, build_strategy: BuildStrategy | None = None) -> None:
        imported(program_or_graph)
        self._program = program_or_graph
        self._build = build_strategy or BuildStrategy()
        self._execution = ExecutionStrategy()
        self._places: list[Place] | None = None
        self._loss_name: str | None = None
        self._loss = "device"
        self._shared: CompiledProgram | None = None
        self._is_data_parallel = False
        self._parallel: DataParallel | None = None

    def with_data_parallel(
        self,
        loss_name: str | None = None,
        build_strategy: BuildStrategy | None = None,
        exec_strategy: ExecutionStrategy | None = None,
        share_vars_from: CompiledProgram | None = None,
        places: Sequence[Place] | None = None,
        *,
        loss: str = "device",
    ) -> CompiledProgram:
        """Has the program run on several devices.

        Args:
          loss_name, exec_strategy, share_vars_from, loss: as of `ParallelExecutor`.
          build_strategy: instead of that of the constructor.
          places: the devices; default all that the environment says.

        Returns:
          Itself.

        Raises:
          CompilingError: the second time, and for places of several kinds.
          ArgumentError: for another type of `share_vars_from`.
        """
        if self._is_data_parallel:
            raise CompilingError("Already compiled with parallel, cannot be recompiled.")
        if share_vars_from is not None and not isinstance(share_vars_from, CompiledProgram):
            raise ArgumentError(
                f"share_vars_from must be a CompiledProgram, found {type(share_vars_from).__name__}"
            )
        if places is not None:
            self._places = list(places)
            kinds = {type(place) for place in self._places}
            if len(kinds) != 1 or not kinds <= {CPUPlace, CUDAPlace}:
                raise CompilingError(f"Place type not match: expected places of one kind, found {places!r}")
        self._is_data_parallel = True
        self._build = build_strategy or self._build
        self._execution = exec_strategy or self._execution
        self._loss_name = loss_name
        self._loss = loss
        self._shared = share_vars_from
        return self

    def run(
        self, place: Place, feed: Any, fetch_list: Any, scope: Scope, return_numpy: bool, return_merged: bool
    ) -> list[Any]:
        """Runs it; arguments and errors as of `Executor.run`."""
        return self._made(place, scope).run(feed, fetch_list, return_numpy, return_merged)

    @property
    def is_served(self) -> bool:
        """Whether parameter servers train the program."""
        return served.is_trained(self._program)

    def owners(self) -> dict[str, int]:
        """The device that each parameter belongs to in Reduce mode, by name; empty before the first run."""
        return self._parallel.owners() if self._parallel else {}

    def _made(self, place: Place, scope: Scope) -> DataParallel:
        if self._parallel is not None:
            with self._parallel.call().checks("its executor"):
                self._check_same(self._parallel, place, scope)
            return self._parallel
        joining = trainers.joining(trainers.said(self._program, self._build))
        with joining.checks("its first run"):
            program = imported(self._program)
            if self._is_data_parallel:
                check_loss(program, self._loss_name, self._loss)
            if self._shared is not None:
                scope = self._scope_of(self._shared, scope)
            places = self._devices(place)
        self._parallel = DataParallel(
            program,
            self._program,
            places,
            scope,
            self._loss_name,
            self._build,
            self._execution,
            self._loss,
            joining,
        )
        return self._parallel

    def _check_same(self, parallel: DataParallel, place: Place, scope: Scope) -> None:
        if not isinstance(parallel.places[0], type(place)):
            raise ArgumentError("Cannot compile program with different place.")
        if self._shared is None and parallel.scope is not scope:
            raise ArgumentError("Cannot compile program with different scope.")

    def _devices(self, place: Place) -> list[Place]:
        if not self._is_data_parallel:
            return [place]
        places = self._places
        if places is None:
            places = [*(cpu_places() if isinstance(place, CPUPlace) else cuda_places())]
        if not isinstance(places[0], type(place)):
            raise CompilingError(
                f"Place type not match: the executor is on {place}, the program on {places[0]}"
            )
        if self._shared is not None and self._shared._parallel is not None:
            count = len(self._shared._parallel.places)
            if count != len(places):
                raise SharingError(f"share_vars_from has {count} devices, expected {len(places)}, as here")
        return places

    @staticmethod
    def _scope_of(shared: CompiledProgram, given: Scope) -> Scope:
        if not shared._is_data_parallel:
            raise SharingError("The shared Program is not data parallel, cannot share variables from it.")
        if shared._parallel is None:
            raise SharingError(
                "The shared Program is not compiled and executed, so there is no variables to share."
            )
        if given is not shared._parallel.scope:
            print("share_vars_from is set, scope is ignored.", file=sys.stderr)
        return shared._parallel.scope
