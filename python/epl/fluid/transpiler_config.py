"""`DistributeTranspilerConfig`: the settings of `DistributeTranspiler`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.dispatchers import dispatcher_class
from epl.servers.strategy import Mode

_LEAST_BLOCK = 8192  # elements


class SettingsError(ArgumentError, AssertionError):
    """Settings that Fluid's transpiler does not take."""


@dataclass
class DistributeTranspilerConfig:
    """How a program is made one of several trainers. See Paddle's class.

    mode: `"pserver"`: servers hold the parameters; `"nccl2"`: `ParallelExecutor` sums gradients;
    `"collective"`: the program does, by ops that are put into it.

    Of parameter servers:

    | field | what |
    |---|---|
    | `slice_var_up` | whether parameters are cut into blocks for several servers |
    | `min_block_size` | how many elements a block has at least, itself at least 8192 |
    | `split_method` | which server has which block: `RoundRobin`, `HashName`, or a class of the user's |
    | `sync_mode` | servers wait for the gradients of all trainers; here and in `transpile` |
    | `half_async` | without `sync_mode`: a trainer waits for its own gradients |
    | `completely_not_async` | as `sync_mode` |
    | `enable_dc_asgd` | without `sync_mode`: delays of gradients are compensated |
    | `geo_sgd_mode`, `geo_sgd_need_push_nums` | trainers exchange differences every so many steps |
    | `print_log` | whether blocks are printed with their servers |
    | `wait_port` | whether `get_trainer_program` waits until servers listen |
    | `runtime_split_send_recv` | makes no difference; not with `sync_mode` |

    A user's class is derived from `PSDispatcher`. The others are of the other modes. collective_mode:
    `"grad_allreduce"` sums gradients; `"local_sgd"` lets trainers train alone and averages parameters after
    each step.
    """

    slice_var_up: bool = True
    split_method: Any = None
    min_block_size: int = _LEAST_BLOCK
    enable_dc_asgd: bool = False
    mode: str = "pserver"
    print_log: bool = False
    wait_port: bool = True
    sync_mode: bool = True
    runtime_split_send_recv: bool = False
    half_async: bool = False
    completely_not_async: bool = False
    geo_sgd_mode: bool = False
    geo_sgd_need_push_nums: int = 100
    collective_mode: str | None = None
    nccl_comm_num: int = 1
    use_hierarchical_allreduce: bool = False
    hierarchical_allreduce_inter_nranks: int = 0

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a field; ArgumentError for what Fluid does not take."""
        other = {"sync_mode": "runtime_split_send_recv", "runtime_split_send_recv": "sync_mode"}.get(name)
        if other is not None and value is None:
            raise ArgumentError(f"{name} must be True or False, found None")
        if other is not None and value and getattr(self, other, False):
            raise ArgumentError(f"{name} is not to be True where {other} is: set {other} to False before")
        super().__setattr__(name, value)

    def check(self) -> None:
        """Raises SettingsError for blocks that are too small, and as of `dispatcher_class`."""
        least = self.min_block_size
        if isinstance(least, bool) or not isinstance(least, int) or least < _LEAST_BLOCK:
            raise SettingsError(
                f"min_block_size must be an integer of at least {_LEAST_BLOCK}, found {least!r}"
            )
        dispatcher_class(self.split_method)

    def server_mode(self, sync_mode: Any) -> Mode:
        """The mode of `epl.ParameterServer`, with what `transpile` is told of it.

        Raises:
          ArgumentError: for no truth value.
          SettingsError: for settings that do not go together.
        """
        if not isinstance(sync_mode, bool):
            raise ArgumentError(f"sync_mode must be True or False, found {sync_mode!r}")
        is_sync = (sync_mode and self.sync_mode) or self.completely_not_async
        asked = [name for name in ("enable_dc_asgd", "geo_sgd_mode", "half_async") if getattr(self, name)]
        if "enable_dc_asgd" in asked and is_sync:
            raise SettingsError(
                "enable_dc_asgd compensates delays, which there are none of with sync_mode: set sync_mode to "
                "False"
            )
        if len(asked) > 1:
            raise SettingsError(f"{asked[0]} and {asked[1]} are two modes of parameter servers: choose one")
        if asked and asked[0] != "half_async":
            return "dc_asgd" if asked[0] == "enable_dc_asgd" else "geo"
        if is_sync:
            return "sync"
        return "half_async" if asked else "async"
