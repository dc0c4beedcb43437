"""What a plan's step takes, simulated command by command: the program `epl-plan simulate`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from epl import plan_program


@dataclass(frozen=True)
class MeshSimulation:
    """What the devices of a mesh do in a step; times are in seconds.

    Attributes:
      devices: their names: `cpu:0, cpu:1`.
      busy: how long they compute, copy and communicate.
      kept: how many micro-batches of a stage have begun and not ended, at most; 0 if there are none.
      waits: how long they wait, by what for: `messages from mesh 1`, `room for messages to mesh 1`,
        `collectives`, `the end of the step`.
    """

    devices: str
    busy: float
    kept: int
    waits: Mapping[str, float]


@dataclass(frozen=True)
class Simulation:
    """A step, simulated; times are in seconds.

    Attributes:
      makespan: from its begin to its end.
      bubble: the share of the meshes' time in which they wait.
      measured: the median of the steps of the timeline that times are from, if they are from one.
      meshes: one, or those of scopes on devices of their own.
    """

    makespan: float
    bubble: float
    measured: float | None
    meshes: tuple[MeshSimulation, ...]

    def __str__(self) -> str:
        lines = [f"makespan {self.makespan:.3g} s, bubble {self.bubble:.1%}"]
        for mesh in self.meshes:
            waits = "".join(f", waits {time:.3g} s for {what}" for what, time in mesh.waits.items())
            lines.append(f"{mesh.devices}: busy {mesh.busy:.3g} s{waits}")
        return "\n".join(lines)


def simulate(plan: Any, options: Mapping[str, Any]) -> Simulation:
    """Simulates a plan of the runtime; `options` are those of the program that are not None.

    Raises:
      Error: what the program says.
    """
    given = [f"--{name}={value}" for name, value in options.items() if value is not None]
    found = json.loads(plan_program.ask(plan, "simulate", "--json", *given))
    meshes = tuple(MeshSimulation(**mesh) for mesh in found.pop("meshes"))
    return Simulation(**found, meshes=meshes)
