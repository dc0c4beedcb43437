"""What servers hold of a step, for the runtime: blocks, the plans that update them, first values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epl import runtime
from epl.errors import ArgumentError, UnsupportedError
from epl.servers.strategy import ParameterServer

DTYPES = {
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
"""NumPy's names of the compiler's types of elements."""

_ON_LOST = {"end": "end_job", "continue": "go_on"}
PARAMETER = -1
"""The parameter itself, in the place of a state's number."""


@dataclass(frozen=True)
class Held:
    """What servers hold of one argument of the step: a parameter, or one of its states."""

    parameter: int
    state: int


class Job:
    """A step's parameters on servers.

    job: the runtime's `ServersJob`. held: by the number of the step's argument. sources: of each value of the
    job, (parameter, state), the argument of the step that has its first value.
    """

    def __init__(
        self,
        roles: Any,
        strategy: ParameterServer,
        servers: int,
        workers: int,
        plans: Mapping[str, bytes],
    ) -> None:
        """Deals out blocks.

        Args:
          roles: what `epl-compile --emit=roles` says.
          servers, workers: how many there are.
          plans: the programs of servers, by name.

        Raises:
          ArgumentError: if the strategy's dispatch is a function that names other servers.
          UnsupportedError: if an update is made of several values that workers push.
        """
        self.held: dict[int, Held] = {}
        self.sources: dict[tuple[int, int], int] = {}
        dispatch = _dispatcher(strategy, servers)
        order = {program: number for number, program in enumerate(roles["programs"])}
        arguments: dict[str, list[tuple[str, int]]] = {}
        parameters = []
        for number, group in enumerate(roles["groups"]):
            self._note_sources(number, group)
            names = [block["name"] for block in group["blocks"]]
            places = dispatch(names)
            parameters.append(_parameter(group, places, order))
            for block in group["blocks"]:
                arguments[block["program"]] = _arguments(group)
        listed = [(arguments[program], plans[program]) for program in roles["programs"]]
        steps = strategy.geo_steps if strategy.mode == "geo" else 0
        on_lost = _ON_LOST[strategy.on_lost]
        self.job = runtime.module().ServersJob(
            strategy.mode, on_lost, workers, servers, steps, parameters, listed
        )

    def _note_sources(self, number: int, group: Any) -> None:
        state = 0
        for argument in group["arguments"]:
            if argument["kind"] in ("push", "backup"):
                continue
            is_parameter = argument["kind"] == "parameter"
            place = PARAMETER if is_parameter else state
            state += not is_parameter
            self.sources[number, place] = argument["argument"]
            # Of a state that several groups have copies of, the first one's is what the step returns.
            self.held.setdefault(argument["argument"], Held(number, place))

    def first_values(self, leaf: Callable[[int], np.ndarray[Any, Any]]) -> dict[tuple[int, int], Any]:
        """What servers begin with; `leaf` gives an argument of the step."""
        return {place: leaf(argument) for place, argument in self.sources.items()}


def _parameter(group: Any, places: Sequence[int], order: Mapping[str, int]) -> tuple[Any, ...]:
    """A parameter as the runtime's `ServersJob` has it."""
    own = next(argument for argument in group["arguments"] if argument["kind"] == "parameter")
    states = [
        (argument["name"], DTYPES[argument["type"]], argument["shape"], argument["sliced"])
        for argument in group["arguments"]
        if argument["kind"] not in ("parameter", "push", "backup")
    ]
    blocks = []
    for block, server in zip(group["blocks"], places, strict=True):
        shape = [block["rows"], *own["shape"][1:]] if own["shape"] else []
        blocks.append((block["name"], block["offset"], block["size"], shape, server, order[block["program"]]))
    return own["name"], DTYPES[own["type"]], own["shape"], states, blocks


def _arguments(group: Any) -> list[tuple[str, int]]:
    """What each argument of the plan that updates a parameter is."""
    found: list[tuple[str, int]] = []
    state = 0
    own = next(argument for argument in group["arguments"] if argument["kind"] == "parameter")
    for argument in group["arguments"]:
        if argument["kind"] == "parameter":
            found.append(("parameter", PARAMETER))
        elif argument["kind"] == "backup":
            found.append(("backup", PARAMETER))
        elif argument["kind"] == "push":
            _check_gradient(group["name"], own, argument, found)
            found.append(("gradient", PARAMETER))
        else:
            found.append(("state", state))
            state += 1
    return found


def _check_gradient(name: str, own: Any, pushed: Any, before: Sequence[tuple[str, int]]) -> None:
    is_like = (pushed["shape"], pushed["type"]) == (own["shape"], own["type"])
    if not is_like or ("gradient", PARAMETER) in before:
        kind = f"{DTYPES[pushed['type']]}{pushed['shape']}"
        raise UnsupportedError(
            f'the update of "{name}" is made of {kind} that workers push, beside or in the place of one '
            f"gradient {DTYPES[own['type']]}{own['shape']}, which is not supported yet"
        )


def _dispatcher(strategy: ParameterServer, servers: int) -> Callable[[Sequence[str]], Sequence[int]]:
    """What says which server has each block of a parameter, for one parameter after another."""
    if callable(strategy.dispatch):
        return _checked(strategy.dispatch, servers)
    module = runtime.module()
    made = module.HashName(servers) if strategy.dispatch == "hash" else module.RoundRobin(servers)
    dispatch: Callable[[Sequence[str]], Sequence[int]] = made.dispatch
    return dispatch


def _checked(
    dispatch: Callable[[Sequence[str]], Sequence[int]], servers: int
) -> Callable[[Sequence[str]], Sequence[int]]:
    def checked(names: Sequence[str]) -> list[int]:
        found = list(dispatch(list(names)))
        is_good = len(found) == len(names) and all(
            isinstance(place, (int, np.integer)) and 0 <= place < servers for place in found
        )
        if not is_good:
            raise ArgumentError(
                f"dispatch of epl.ParameterServer must give a server of 0 to {servers - 1} for each block of "
                f"{list(names)}, found {found}"
            )
        return [int(place) for place in found]

    return checked
