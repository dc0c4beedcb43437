"""A step in two roles, as parameter servers run it: plans of a worker and of blocks, driven by NumPy."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from epl import runtime
from epl.executable import Executable
from epl.servers.job import DTYPES
from steps import numbers

COMPILE = Path(__file__).parents[2] / "build" / "bin" / "epl-compile"


class Refused(Exception):
    """What epl-compile says of a step that it does not split."""


def compile_step(text: str, folder: Path, *options: str) -> str:
    """What epl-compile prints for a step.

    Raises:
      Refused: if it fails.
    """
    done = subprocess.run(
        [COMPILE, "-", *options], input=text, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Refused(done.stderr)
    return done.stdout


def roles_of(text: str, folder: Path, *options: str) -> Any:
    """Who has what of a step."""
    return json.loads(compile_step(text, folder, "--emit=roles", *options))


class Servers:
    """The workers and servers of a lowered step, in one process and without a network.

    Args:
      lowered: the step.
      folder: for plans.
      options: of the compiler; `worker` more of them for the worker's program.
      workers: how many there are; servers get the mean of what they push.

    Raises:
      Refused: if the step is not split.
    """

    def __init__(
        self, lowered: Any, folder: Path, *options: str, worker: Sequence[str] = (), workers: int = 1
    ) -> None:
        text = lowered.as_text("input")
        self.roles = roles_of(text, folder, *options)
        compile_step(text, folder, "--role=worker", *options, *worker, "-o", "worker.eplan")
        compile_step(text, folder, "--role=server", *options, "-o", ".")
        self._hidden = list(lowered.program.hidden)
        plan = runtime.module().Plan.load(str(folder / "worker.eplan"))
        self._worker = Executable(plan, plan.device_string, "worker", self._hidden)
        self._programs = {name: _load(folder / f"{name}.eplan") for name in self.roles["programs"]}
        self._own: list[dict[int, Any]] = [{} for _ in range(workers)]  # states of each, by argument
        self._blocks: dict[str, list[Any]] = {}  # what each block holds
        self._types: list[np.dtype[Any]] = []  # of the step's arguments

    def start(self, *trees: Any) -> None:
        """Deals out the arguments of the first step."""
        values = [*leaves_of(*trees), *self._hidden]
        self._types = [value.dtype for value in values]
        for entry in self.roles["worker"]["arguments"]:
            if entry["kind"] == "state":
                for own in self._own:
                    own[entry["argument"]] = values[entry["argument"]]
        for group in self.roles["groups"]:
            held = [each for each in group["arguments"] if each["kind"] != "push"]
            for block in group["blocks"]:
                self._blocks[block["name"]] = [_rows(values[e["argument"]], e, block) for e in held]

    def fetch(self, argument: int) -> Any:
        """A state as it is now: that of blocks, whose copies are equal; else a worker's."""
        copies = []
        for group in self.roles["groups"]:
            for index, each in enumerate(group["arguments"]):
                if each["kind"] == "push" or each["argument"] != argument:
                    continue
                parts = [self._blocks[block["name"]][index] for block in group["blocks"]]
                copies += [np.concatenate(parts)] if each["sliced"] else parts
        for copy in copies:
            np.testing.assert_array_equal(copy, copies[0])
        return (copies[0] if copies else self._own[0][argument]).view(self._types[argument])

    def step(self, *batches: tuple[Any, ...]) -> list[list[Any]]:
        """A step on the arguments of each worker, of which states are not read.

        Returns:
          For each worker the results of the step that update nothing, in order.
        """
        done = [self._work(own, leaves_of(*batch)) for own, batch in zip(self._own, batches, strict=True)]
        for group in self.roles["groups"]:
            for block in group["blocks"]:
                self._update(group, block, [pushed for _, pushed in done])
        return [results for results, _ in done]

    def _work(self, own: dict[int, Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
        described = self.roles["worker"]
        arguments, pulled = [], {}
        for slot, entry in enumerate(described["arguments"]):
            number = entry["argument"]
            if entry["kind"] == "pull":
                pulled[slot] = self.fetch(number)
            elif number < len(leaves):  # the others are what the step closes over
                arguments.append(own[number] if entry["kind"] == "state" else leaves[number])
        outside = runtime.module().OutsideTensors(self._worker.plan, pulled)
        found = self._worker.run(arguments, donate=True, outside=outside)
        made: dict[str, list[Any]] = {"result": [], "state": [], "push": []}
        pushed = [value for _, value in sorted(outside.pushed.items())]
        for entry, value in zip(described["results"], [*found, *pushed], strict=True):
            typed = value.view(DTYPES[entry["type"]]) if entry["kind"] == "push" else value
            made[entry["kind"]].append(np.array(typed))
        updated = [slot.updates for slot in self._worker.plan.slots if slot.updates >= 0]
        for slot, value in zip(updated, made["state"], strict=True):
            own[described["arguments"][slot]["argument"]] = value
        return made["result"], made["push"]

    def _update(self, group: Any, block: Any, pushed: list[list[Any]]) -> None:
        held = self._blocks[block["name"]]
        reads = [each for each in group["arguments"] if each["kind"] == "push"]
        means = [_rows(_mean([values[each["push"]] for values in pushed]), each, block) for each in reads]
        new = self._programs[block["program"]](*held, *means)
        held[: len(new)] = [np.array(value) for value in new]


def _load(file: Path) -> Executable:
    return Executable(runtime.module().Plan.load(str(file)), "cpu:1", file.stem)


def _mean(values: list[Any]) -> Any:
    """The sum in the order of workers, times 1 / workers."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total * total.dtype.type(1 / len(values)) if len(values) > 1 else total


def _rows(value: Any, argument: Any, block: Any) -> Any:
    rows = slice(block["begin"], block["begin"] + block["rows"])
    return np.ascontiguousarray(value[rows]) if argument["sliced"] else value


def leaves_of(*trees: Any) -> list[Any]:
    """The leaves of a step's arguments in order, keys as their data."""
    return [numbers(leaf) for leaf in jax.tree.leaves(trees)]
