"""A plan on its devices: what runs, is traced and saved without the step that it was made of."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from epl import hidden, plan_program, reports, runtime
from epl.array import Array
from epl.calling import caller, signless
from epl.errors import ArgumentError
from epl.files import write_file
from epl.processes import group
from epl.processes.agreement import check_same
from epl.processes.gathering import gather
from epl.processes.timelines import recorded
from epl.reports import Report
from epl.signature import check_leaf
from epl.simulation import Simulation, simulate
from epl.slots import GIVEN

PathLike = str | os.PathLike[str]


class Executable:
    """A plan on its devices, called with flat arguments in the order of its slots.

    What it pulls is no argument of the caller.

    `plan` is the runtime's plan (devices, layout, arena_bytes, state_bytes, received_bytes, num_kernels,
    num_collectives, slots).
    """

    def __init__(
        self,
        plan: Any,
        devices: str,
        name: str,
        constants: Sequence[np.ndarray[Any, Any]] = (),
        kinds: Sequence[Any] | None = None,
        reported: Sequence[Report] = (),
        keeps_results: bool = False,
        max_threads: int = 0,
    ) -> None:
        """Puts a plan on devices.

        Args:
          constants: values of the slots that the caller does not pass (arrays that the step closed over).
          kinds: of the results, `jax.ShapeDtypeStruct`s, if not the plan's own.
          reported: what the hidden results say.
          keeps_results: whether all results stay on the devices, as `epl.Array`s; else states do.
          max_threads: of this process that run a step; 0: one for each core, and one for each device at most.

        Raises:
          ProcessError: if processes have other constants.
        """
        self.plan = plan
        self.name = name
        self._hidden = tuple(constants)
        self._group = group.current() if plan.devices > 1 else None
        if self._group is None:
            options = {"keeps_results": keeps_results, "max_threads": max_threads}
            with runtime.named_libraries():
                self._session = guarded(runtime.module().Session, plan, devices, **options)
        else:
            self._session = self._group.open_session(plan, devices, name, keeps_results, max_threads)
            closed = [(f"array {i} that it closed over", value) for i, value in enumerate(constants)]
            if closed:
                check_same(self._group, closed, f"step {name}")
            batches = [
                f"{slot.name}: {slot.dtype}{list(slot.shape)}" for slot in plan.slots if slot.role == "batch"
            ]
            self._operation = f"a call of {name}({', '.join(batches)}) by plan {self._group.num_plans}"
        given = [number for number, slot in enumerate(plan.slots) if slot.role in GIVEN]
        self._inputs = [plan.slots[number] for number in given if not plan.slots[number].hidden]
        results = [slot for slot in plan.slots if slot.role == "result"]
        kept = [slot.updates >= 0 or (keeps_results and not slot.hidden) for slot in results]
        self._reports = tuple(reported)
        self._returned = [slot for slot in results if not slot.hidden]
        first = len(self._inputs)
        uploaded = [self._session.state(given[first + i], signless(v)) for i, v in enumerate(self._hidden)]
        kinds = kinds or [jax.ShapeDtypeStruct(slot.shape, np.dtype(slot.dtype)) for slot in self._returned]
        kinds = [*kinds, *(kind for report in reported for kind in report.kinds)]
        self._made_callers: dict[bool, Callable[..., list[Any]]] = {}
        self._make_caller = functools.partial(caller, self._session, name, results, kinds, uploaded, kept)

    def release(self) -> None:
        """Gives back the memory that steps need for themselves, once all have ended; the next takes it again.

        States, which are the user's, stay as they are.
        """
        self._session.release()

    @property
    def layout(self) -> str:
        """How the devices are used: `cpu:2 = data 2`."""
        return str(self.plan.layout)

    @property
    def owners(self) -> dict[str, int]:
        """Of states that one device of the data axis updates (`zero.owner`): the coordinate of that device.

        Names are those of `plan.slots`; rows of a stack that stages of a pipeline share have their numbers
        behind it, as `params['w'][0:2]`.
        """
        return {
            name if rows is None else f"{name}[{rows[0]}:{rows[1]}]": member
            for name, rows, member in self.plan.owners
        }

    def __call__(self, *leaves: Any) -> list[Any]:
        """Runs a step on one array per slot; gives `epl.Array` for states, `jax.Array` for the rest."""
        if len(leaves) != len(self._inputs):
            names = ", ".join(slot.name for slot in self._inputs)
            raise ArgumentError(
                f"{self.name} takes {len(self._inputs)} arrays ({names}), found {len(leaves)}"
            )
        for leaf, slot in zip(leaves, self._inputs, strict=True):
            check_leaf(leaf, slot.name)
        return self.run(list(leaves), donate=True)

    def run(
        self,
        leaves: list[Any],
        *,
        donate: bool,
        prints: bool = True,
        as_numpy: bool = False,
        outside: Any = None,
    ) -> list[Any]:
        """Runs a step on the user's arrays; `donate`: whether it consumes the `epl.Array`s of its states.

        `outside`: the runtime's `Outside`, of a plan that pulls or pushes; this waits for its end then.
        With `as_numpy` results that do not stay on the devices are arrays of NumPy, not of JAX.

        On Ctrl-C, and when a check fails, the step runs to its end, and the arrays that it consumed hold the
        updated state: without the results, the caller would have neither.

        Raises:
          StepError: for a check that failed; its `results` are the list.
        """
        call = self._made_callers.get(as_numpy)
        if call is None:
            call = self._made_callers[as_numpy] = self._make_caller(as_numpy=as_numpy)
        try:
            if self._group is None:
                results = call(leaves, donate, outside)
            else:
                results = self._together(call, leaves, donate)
        except runtime.module().Error as error:
            raise (self._group or runtime).translated(error) from None
        return self._report(leaves, results, prints) if self._reports else results

    def _together(self, call: Callable[..., list[Any]], leaves: list[Any], donate: bool) -> list[Any]:
        """The call of a step that all processes make. One that this process can't make is none."""
        assert self._group is not None
        leaves = self._brought(leaves)
        before = self._session.num_calls
        self._group.begin(self._operation)
        try:
            results = call(leaves, donate)
        except BaseException:
            if self._session.num_calls == before:
                self._group.take_back()
            raise
        return results

    def _brought(self, leaves: list[Any]) -> list[Any]:
        """The arguments; those in parts that are not as this step holds them are whole in every process."""

        def is_elsewhere(slot: int, leaf: Any) -> bool:  # the same in all processes
            is_there = isinstance(leaf, Array) and not leaf.is_deleted() and not leaf.is_whole_everywhere
            return is_there and not self._session.takes(slot, leaf.buffer)

        places = [slot for slot, leaf in enumerate(leaves) if is_elsewhere(slot, leaf)]
        if not places:
            return leaves
        whole = dict(zip(places, gather([leaves[slot] for slot in places]), strict=True))
        return [whole.get(slot, leaf) for slot, leaf in enumerate(leaves)]

    def _report(self, leaves: list[Any], results: list[Any], prints: bool) -> list[Any]:
        """The results without the hidden ones, after what they say."""
        number = len(self._returned)
        returned, said = results[:number], gather(results[number:])
        shown = self._reports if prints and group.speaks() else reports.without_prints(self._reports)
        try:
            error = reports.show(shown, said, self.name)
        except BaseException:  # of the user's function that shows a value
            self._hand_back(leaves, returned)
            raise
        if error is None:
            return returned
        self._hand_back(leaves, returned)
        error.results = returned
        raise error

    def _hand_back(self, leaves: list[Any], results: list[Any]) -> None:
        """Lets the arrays that a step has consumed hold its new states."""
        for slot, result in zip(self._returned, results, strict=True):
            leaf = leaves[slot.updates] if slot.updates >= 0 else None
            if isinstance(leaf, Array) and isinstance(result, Array) and leaf.buffer.is_donated:
                leaf.buffer = result.buffer

    @contextlib.contextmanager
    def trace(self, path: PathLike) -> Iterator[None]:
        """Writes a timeline of the steps in the block, which Perfetto opens (ui.perfetto.dev).

        `with compiled.trace("t.json"): ...`

        Over processes all write one timeline, with the devices of all: process 0 writes the file, to the path
        that all give, and all leave the block when it is there. On one host all times are of one clock; on
        several they are as close as the clocks of the hosts. A block that raises writes none then.

        Raises:
          Error: if the file cannot be written, with the system's reason.
          ProcessError: if processes give other paths, or one is lost.
        """
        target = user_path(path)
        if self._group is not None:
            with recorded(self._group, self._session, self.name, target):
                yield
            return
        self._session.trace(True)
        try:
            yield
        finally:
            self._session.trace(False)
            write_file(target, self._session.trace_json().encode())

    def simulate(
        self,
        *,
        timeline: PathLike | None = None,
        gflops: float | None = None,
        gbps: float | None = None,
        card: str | PathLike | None = None,
        speeds: Sequence[float] | None = None,
        link_us: float = 0.0,
        link_gbps: float | None = None,
    ) -> Simulation:
        """How long a step takes, without running it: its commands in time, by the rules of the executor.

        Commands take what a roofline says, or what a timeline has recorded. Each device has a core of its
        own.

        Args:
          timeline: that `trace` wrote for this plan: commands take the medians of its times.
          gflops: peak of a device, in 10^9 operations a second; default: measured on one core.
          gbps: bandwidth of a device, in 10^9 bytes a second; default: measured on one core.
          card: of a plan for GPUs, the card whose figures commands are predicted by: `a100`, `h100` (which
            None stands for), `h200`, `b200`, or a file as `epl-plan machine --kind` prints it.
          speeds: for each mesh, how fast its devices are beside those that the times are of: commands take
            their time divided by that.
          link_us: microseconds that a message to another mesh takes, beside its send and its receive.
          link_gbps: 10^9 bytes a second of messages that a device gets; default: no limit.

        Raises:
          Error: if the timeline is none of this plan, a number is not positive, there is not one speed for
            each mesh, or `card` is none, of a plan on CPUs, or beside `gflops` or `gbps`.
        """
        options = {
            "trace": None if timeline is None else user_path(timeline),
            "gflops": gflops,
            "gbps": gbps,
            "card": card,
            "speeds": None if speeds is None else ",".join(map(str, speeds)),
            "link": link_us,
            "link-gbps": link_gbps,
        }
        return simulate(self.plan, options)

    def graph(self) -> str:
        """The plan as a graph in the language of Graphviz: a node for each command, an edge for each wait.

        Dotted edges are the order of lanes: what a device computes, and what it exchanges.
        """
        return plan_program.ask(self.plan, "render", "--graph")

    def save(self, path: PathLike) -> None:
        """Writes the plan, and what is hidden beside it, to `<path>.hidden.npz`: constants, checks, prints.

        Of a step with parameter servers also what these have of it, to `<path>.servers`. What computes ids of
        lookups is not among it: that is compiled again.

        Raises:
          Error: if a file cannot be written, with the system's reason, for example a full disk. What stood
            at its path before is still there.
        """
        target = user_path(path)
        if self._hidden or self._reports:
            write_file(hidden.path_of(target), hidden.to_bytes(self.plan, self._hidden, self._reports))
        guarded(self.plan.save, os.fspath(target))


def user_path(path: Any, what: str = "path", kind: str = "a file") -> Path:
    """A path of the user's; Python's own messages about what is none do not name the argument.

    Args:
      what: the argument is called, for the error. kind: of what it must be the path.

    Raises:
      ArgumentError: if it is none.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if (
        not isinstance(text, str)
        or not text
        or "\0" in text
        or text != text.encode(errors="replace").decode()
    ):
        raise ArgumentError(f"{what} must be that of {kind}, in UTF-8, found {path!r}")
    return Path(text)


def guarded(action: Any, *args: Any, **options: Any) -> Any:
    """Calls the runtime; its errors become `epl.Error`."""
    try:
        return action(*args, **options)
    except runtime.module().Error as error:
        raise runtime.translated(error) from None
