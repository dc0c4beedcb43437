"""`epl.ParameterServer`: how a step is trained with parameter servers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from epl.errors import ArgumentError
from epl.servers.roles import Role, read_role

Mode = Literal["sync", "half_async", "async", "dc_asgd", "geo"]
OnLost = Literal["end", "continue"]
Merge = Literal["sum", "mean"]
Dispatch = Literal["round_robin", "hash"] | Callable[[Sequence[str]], Sequence[int]]


@dataclass(frozen=True)
class ParameterServer:
    """Servers hold the parameters of a step and apply its gradients; the step is that of one worker.

    mode: when a server applies gradients. The modes are those of Fluid's `DistributeTranspiler`.

    | mode | a server applies | a worker's next step reads |
    |---|---|---|
    | `"sync"` | the average over all workers, once all have come | what all steps before have made |
    | `"half_async"` | each gradient as it comes | what its own gradients have made, at least |
    | `"async"` | each gradient as it comes | what is there |
    | `"dc_asgd"` | each g as g + g * g * (w - w'), w' being the w that its worker had | as async |
    | `"geo"` | differences of parameters, divided by the workers | as async, every `geo_steps` steps |

    Args:
      on_lost: of sync: whether a worker that is silent for three seconds ends the others, or these go on with
        the average of the rest. In the other modes they go on. Nobody goes on without worker 0 or a server;
        nor, in any mode, without a worker that is lost before a step has been called for the first time.
      slice_up: whether parameters are cut into blocks for several servers, where their update allows it.
      min_block_size: how many elements a block has at least. Fluid's default.
      dispatch: which server has which block: in turn, by a hash of the block's name (CRC-32), or what a
        function says that is given the names of a parameter's blocks, for each parameter in turn.
      geo_steps: of geo: after how many steps differences are sent.
      check_finite: whether a step whose gradients (of geo: differences) have a NaN or an infinity is a
        `StepError` of its worker, which names the parameter, or the table and an id. Nothing of such a step
        is sent, so that no server applies any of it: a worker that catches the error may call the step again,
        on another batch, while the others wait. States that the worker has itself, such as means of batches,
        are new then, as of any `StepError`. Gradients are sent when the step has computed all of them.
      max_merge: of async and dc_asgd: how many gradients of a block, each of a step, become one at most,
        while they wait for the server to apply the one before; 1: each is sent by itself. A worker waits
        before its next step if more have to. In the other modes it waits for its own gradients anyhow; of
        half_async those of parameters that it does not read merge, too. Gradients of tables do not, nor those
        that are sent with a value beside, such as a learning rate.
      merge: whether such a one is their sum, by which SGD moves as far as by all of them, or their mean,
        which is of the size of one. Steps of one process have one `merge` and one `max_merge`.

    Raises:
      ArgumentError: for values that are none of these.

    Source: Fluid's DistributeTranspilerConfig; DC-ASGD: Zheng et al., ICML 2017; merging: Paddle's
    communicator (`FLAGS_communicator_max_merge_var_num`).
    """

    mode: Mode = "sync"
    on_lost: OnLost = "end"
    slice_up: bool = True
    min_block_size: int = 8192
    dispatch: Dispatch = "round_robin"
    geo_steps: int = 100
    check_finite: bool = False
    max_merge: int = 20
    merge: Merge = "sum"

    def __post_init__(self) -> None:
        """Checks the values."""
        _check_choice("mode", self.mode, get_args(Mode))
        _check_choice("on_lost", self.on_lost, get_args(OnLost))
        _check_choice("merge", self.merge, get_args(Merge))
        if not callable(self.dispatch):
            _check_choice("dispatch", self.dispatch, ("round_robin", "hash"), " or a function")
        for name in ("min_block_size", "geo_steps", "max_merge"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ArgumentError(
                    f"{name} of epl.ParameterServer must be an integer of at least 1, found {value!r}"
                )
        for name in ("slice_up", "check_finite"):
            if not isinstance(value := getattr(self, name), bool):
                raise ArgumentError(f"{name} of epl.ParameterServer must be True or False, found {value!r}")
        if self.on_lost == "continue" and self.mode != "sync":
            raise ArgumentError(
                f'on_lost="continue" of epl.ParameterServer is of mode "sync": in mode "{self.mode}" '
                "the others go on in any case"
            )

    @property
    def goes_on(self) -> bool:
        """Whether others go on without a worker that is lost."""
        return self.mode != "sync" or self.on_lost == "continue"


@dataclass(frozen=True)
class AssignedServers(ParameterServer):
    """The same, for a process whose script says what it is, and not its environment.

    Args:
      role: which worker this process is, and who the servers are.
    """

    role: Role | None = None


def role_of(strategy: ParameterServer) -> Role | None:
    """What this process is, by its script or else its environment; None if it is alone.

    Raises:
      ConfigError: as of `read_role`.
    """
    assigned = strategy.role if isinstance(strategy, AssignedServers) else None
    return assigned or read_role(os.environ)


def _check_choice(name: str, value: object, choices: Sequence[str], more: str = "") -> None:
    if value not in choices:
        expected = ", ".join(f'"{choice}"' for choice in choices)
        raise ArgumentError(f"{name} of epl.ParameterServer must be one of {expected}{more}, found {value!r}")
