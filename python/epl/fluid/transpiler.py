"""`DistributeTranspiler`: a program of one process becomes one of several trainers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from epl.errors import ArgumentError
from epl.fluid import pservers as servers
from epl.fluid import tables
from epl.fluid import trainers as known
from epl.fluid.dispatchers import HashName, PSDispatcher, RoundRobin
from epl.fluid.installed import load
from epl.fluid.programs import imported
from epl.fluid.pservers import Placement, ServerStartup
from epl.fluid.trainers import Trainers, check_endpoints, count_groups
from epl.fluid.transpiler_config import DistributeTranspilerConfig
from epl.processes import group
from epl.servers.roles import Role, assign

__all__ = [
    "DistributeTranspiler",
    "DistributeTranspilerConfig",
    "EndpointsError",
    "HashName",
    "PSDispatcher",
    "RoundRobin",
]


class EndpointsError(ArgumentError, AssertionError):
    """The addresses of trainers are no text."""


@dataclass(frozen=True)
class _Served:
    """A program in mode "pserver"."""

    program: Any
    placement: Placement
    role: Role
    mode: str

    def number_of(self, endpoint: str) -> int:
        """The number of a server. Raises ArgumentError if there is none at the address."""
        if endpoint not in self.role.servers:
            raise ArgumentError(
                f'no server is at "{endpoint}", expected one of {", ".join(self.role.servers)}'
            )
        return self.role.servers.index(endpoint)


class DistributeTranspiler:
    """Makes a program one of several trainers.

    Args:
      config: default values where None.

    Raises:
      ArgumentError: for a config of another class, and for settings that Fluid does not take.
    """

    def __init__(self, config: DistributeTranspilerConfig | None = None) -> None:
        if config is not None and not isinstance(config, DistributeTranspilerConfig):
            raise ArgumentError(f"config must be a DistributeTranspilerConfig, found {type(config).__name__}")
        self.config = config or DistributeTranspilerConfig()
        self.config.check()
        self._served: _Served | None = None

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
          pservers: in mode "pserver" the addresses of the servers, with commas between them.
          trainers: in mode "pserver" how many there are; else the addresses of all, with commas between them,
            in the order of their numbers.
          sync_mode: in mode "pserver" whether servers wait for all trainers; the config says so, too.
          current_endpoint: that of this process.

        Raises:
          ArgumentError, ConfigError: for addresses that do not fit, for numbers out of range, and for a
            program of which `minimize` was not called.
          UnsupportedError: for a program that has what servers do not support.
        """
        mode = self.config.mode
        if mode not in ("pserver", "nccl2", "collective"):
            raise ArgumentError(
                f'DistributeTranspilerConfig.mode is "{mode}", expected "pserver", "nccl2" or "collective"'
            )
        static = load().static
        program = static.default_main_program() if program is None else program
        startup = static.default_startup_program() if startup_program is None else startup_program
        if mode == "pserver":
            role = servers.role_of_trainer(trainer_id, pservers, trainers)
            self._serve(role, program, startup, sync_mode, current_endpoint)
        else:
            self._connect(trainer_id, program, startup, trainers, current_endpoint)

    def _serve(self, role: Role, program: Any, startup: Any, sync_mode: bool, current: str) -> None:
        """Makes the program that of a worker of servers."""
        found = tables.read(program, startup, self.config.server_mode(sync_mode))
        placement = Placement(self.config, imported(program), program.random_seed, role.servers, found)
        strategy = servers.strategy_of(self.config, sync_mode, placement, role)
        group.stay_alone()
        if self.config.print_log:
            print("\n".join(placement.describe()), flush=True)
        program._is_distributed = True
        program._is_chief = role.number == 0
        program._endpoints = list(role.servers)
        program._ps_endpoint = current
        program._distributed_lookup_table = found.of.tables[0].name if found.of.tables else None
        servers.note(program, strategy)
        tables.note(program, startup, found, strategy)
        assign(role)
        self._served = _Served(program, placement, role, strategy.mode)

    def get_trainer_program(self, wait_port: bool = True) -> Any:
        """The program of this trainer, in mode "pserver": that which was transpiled.

        Args:
          wait_port: whether to wait until all servers listen, but for `FLAGS_rpc_deadline` milliseconds at
            most; not with `geo_sgd_mode`.

        Raises:
          ArgumentError: before `transpile`.
          ProcessError: if a server does not come.
        """
        served = self._transpiled("get_trainer_program")
        if wait_port and self.config.wait_port and served.mode != "geo":
            servers.wait_for_servers(served.role.servers)
        return served.program

    def get_pserver_program(self, endpoint: str) -> Any:
        """The program of a server, which has the variables that it holds.

        `Executor.run` of it does not come back: the process becomes the server, and ends when the trainers
        have.

        Raises:
          ArgumentError: before `transpile`, and for an address that is not among `pservers`.
        """
        served = self._transpiled("get_pserver_program")
        number = served.number_of(endpoint)
        made = self._program_of(served, number)
        made._ps_endpoint = endpoint
        servers.note(made, Role("server", number, served.role.servers, served.role.workers))
        return made

    def get_pserver_programs(self, endpoint: str) -> tuple[Any, Any]:
        """The program of a server, and its startup program; errors as of `get_pserver_program`."""
        return self.get_pserver_program(endpoint), self.get_startup_program(endpoint)

    def get_startup_program(
        self, endpoint: str, pserver_program: Any = None, startup_program: Any = None
    ) -> Any:
        """The startup program of a server, of which a run does nothing: trainer 0 sends the first values.

        Args:
          endpoint: the server's address.
          pserver_program, startup_program: deprecated in Fluid, make no difference.

        Raises:
          ArgumentError: as of `get_pserver_program`.
        """
        del pserver_program, startup_program
        served = self._transpiled("get_startup_program")
        made = self._program_of(served, served.number_of(endpoint))
        servers.note(made, ServerStartup())
        return made

    def _transpiled(self, what: str) -> _Served:
        if self._served is None:
            raise ArgumentError(f'{what} is of mode "pserver", behind transpile: call that before')
        return self._served

    @staticmethod
    def _program_of(served: _Served, server: int) -> Any:
        """A program with the variables of a server."""
        made = load().static.Program()
        made.random_seed = served.program.random_seed
        served.placement.fill(made, server)
        return made

    def _connect(self, trainer_id: int, program: Any, startup: Any, trainers: Any, current: str) -> None:
        """Makes the program that of one of trainers that exchange gradients."""
        endpoints = self._endpoints(trainers)
        check_endpoints(endpoints, current, trainer_id)
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
            self._add_collectives(found, program, startup, current)
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
