"""`DistributeTranspiler`: a program of one process becomes one of several trainers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from epl.errors import ArgumentError, UnsupportedError
from epl.fluid import trainers as known
from epl.fluid.installed import load
from epl.fluid.trainers import Trainers, check_endpoints, count_groups


class EndpointsError(ArgumentError, AssertionError):
    """The addresses of trainers are no text."""


@dataclass
class DistributeTranspilerConfig:
    """How a program is made one of several trainers. See Paddle's class.

    mode: `"nccl2"`: `ParallelExecutor` sums gradients; `"collective"`: the program does, by ops that are put
    into it. collective_mode: `"grad_allreduce"` sums gradients; `"local_sgd"` lets trainers train alone and
    averages parameters after each step. The other fields are of parameter servers, which are not supported
    yet, and of addresses, which launchers have.
    """

    slice_var_up: bool = True
    split_method: Any = None
    min_block_size: int = 8192
    enable_dc_asgd: bool = False
    mode: str = "pserver"
    print_log: bool = False
    wait_port: bool = True
    sync_mode: bool = True
    collective_mode: str | None = None
    nccl_comm_num: int = 1
    use_hierarchical_allreduce: bool = False
    hierarchical_allreduce_inter_nranks: int = 0


class DistributeTranspiler:
    """Makes a program one of several trainers.

    Args:
      config: default values where None.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        self.config = config or DistributeTranspilerConfig()

    def transpile(
        self,
        trainer_id: int,
        program: Any = None,
        pservers: str = "127.0.0.1:6174",
        trainers: str | int | Sequence[str] = 1,
        sync_mode: bool = True,
        startup_program: Any = None,
        current_endpoint: str = "127.0.0.1:6174",
    ) -> None:
        """Makes the program one of this trainer.

        Args:
          trainer_id: the number of this one, from 0 on.
          program, startup_program: of Paddle; default the default programs.
          pservers, sync_mode: of parameter servers.
          trainers: the addresses of all, with commas between them, in the order of their numbers.
          current_endpoint: that of this one.

        Raises:
          ArgumentError: for addresses that do not fit, and for numbers out of range.
          UnsupportedError: for parameter servers.
        """
        del pservers, sync_mode
        if self.config.mode not in ("nccl2", "collective"):
            raise UnsupportedError(
                f'DistributeTranspilerConfig.mode is "{self.config.mode}": parameter servers are not '
                'supported yet, expected "nccl2" or "collective"'
            )
        static = load().static
        program = static.default_main_program() if program is None else program
        startup = static.default_startup_program() if startup_program is None else startup_program
        endpoints = self._endpoints(trainers)
        check_endpoints(endpoints, current_endpoint, trainer_id)
        config = self.config
        size = config.hierarchical_allreduce_inter_nranks
        groups = count_groups(len(endpoints), size) if config.use_hierarchical_allreduce else 1
        found = Trainers(len(endpoints), trainer_id, endpoints, groups, config.nccl_comm_num)
        program._is_distributed = True
        program._is_chief = trainer_id == 0
        program._endpoints = program._trainers_endpoints = list(endpoints)
        program._nccl_comm_num = config.nccl_comm_num
        program._use_hierarchical_allreduce = config.use_hierarchical_allreduce
        program._hierarchical_allreduce_inter_nranks = size
        if config.mode == "collective":
            self._add_collectives(found, program, startup, current_endpoint)
        for each in (program, startup):
            known.note(each, found)

    def _endpoints(self, trainers: str | int | Sequence[str]) -> tuple[str, ...]:
        if isinstance(trainers, str):
            return tuple(each.strip() for each in trainers.split(","))
        if self.config.mode == "collective" and isinstance(trainers, (list, tuple)):
            return tuple(trainers)
        raise EndpointsError(
            f"trainers must be a string of addresses with commas between them in mode {self.config.mode}, "
            f"found {trainers!r}"
        )

    def _add_collectives(self, trainers: Trainers, program: Any, startup: Any, current: str) -> None:
        """Puts ops into the programs, by Paddle's own transpilers."""
        load()
        from paddle.distributed.transpiler import collective

        kinds = {"grad_allreduce": collective.GradAllReduce, "local_sgd": collective.LocalSGD}
        mode = self.config.collective_mode or "grad_allreduce"
        if mode not in kinds:
            raise ArgumentError(f'collective_mode is "{mode}", expected {", ".join(kinds)}')
        kinds[mode](self.config.nccl_comm_num).transpile(
            startup_program=startup,
            main_program=program,
            rank=trainers.id,
            endpoints=list(trainers.endpoints),
            current_endpoint=current,
            wait_port=False,
        )
