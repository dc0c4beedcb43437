"""What a user should know of a compiled step: which scopes share devices, and what is not parallel.

A step that is not parallel is right, and slow; nothing else would say so. Each warning stands at the user's
line and names what to write.
"""

from __future__ import annotations

import logging
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from epl.adapters.jax import trace as adapter
from epl.devices import count_devices
from epl.differences import Difference
from epl.errors import CopyWarning, NotParallelWarning, Place, RecompileWarning
from epl.places import calling_place
from epl.scope_table import Kind, Strategy, scope_outside

_LOG = logging.getLogger("epl")
_MOST = 3  # so many times a step is compiled anew for one reason before a warning

Group = list[Strategy]

_shown: dict[str, dict[Any, Any]] = {}  # by file, as `warnings` keeps it for a module


def advise(
    program: adapter.Program,
    name: str,
    layout: str,
    arguments: Sequence[adapter.Argument],
    options: Sequence[str],
) -> str:
    """Warns of what is not parallel in a compiled step; which scopes share devices, "" if all are one.

    Args:
      program: the step.
      name: of the step.
      layout: of its plan: `cpu:2 = data 2, 4 micro-batches`, with brackets round each of several meshes,
        and the schedule of a pipeline.
      arguments: of the step.
      options: that it was compiled with.
    """
    devices, _, axes = layout.partition(" = ")
    axes, micro, _ = re.sub(r"(, \d+ stages)?, \d+ micro-batches", "\n", axes).partition("\n")
    meshes = axes.split(" + ") if axes.startswith("[") else [axes]
    copies = max((int(size) for size in re.findall(r"\bdata2? (\d+)", axes)), default=1)
    has_batch = any(argument.batch_dim is not None for argument in arguments)
    if copies > 1 and not has_batch and "epl.constrain" not in program.text:
        _warn_no_batch(program, name, layout, all(argument.role == "state" for argument in arguments))
    stages = sum(scope.stages for scope in program.scopes)
    is_staged = f", {stages} stages" in layout or any(each.startswith("--num-stages") for each in options)
    groups = _groups(program.scopes, count_devices(devices), is_staged)
    if len(meshes) == len(groups) > 1 and not micro:
        _warn_stages(groups, name, layout)
    return _describe(groups, program.scopes, meshes, count_devices(devices))


def _groups(scopes: Sequence[Strategy], devices: int, is_staged: bool) -> list[Group]:
    """The scopes that are one task graph, as passes/annotate/FormTaskgraphs.cpp forms them.

    Scopes without a name, of one kind and count, are one scope where the devices are no multiple of what all
    scopes together ask for, unless a number of stages, or a table, says how scopes share devices.
    """
    suffice = is_staged or devices % max(1, _wanted(scopes)) == 0
    groups: dict[object, Group] = {}
    for index, scope in enumerate(scopes):
        alone = suffice or scope.name
        strategy = scope.kind, scope.device_count, scope.stages
        groups.setdefault(index if alone else strategy, []).append(scope)
    return list(groups.values())


def _wanted(scopes: Sequence[Strategy]) -> int:
    """The devices that all scopes want together, each of its own."""
    return sum(scope.device_count * scope.stages for scope in scopes)


def _describe(groups: list[Group], scopes: Sequence[Strategy], meshes: Sequence[str], devices: int) -> str:
    if len(scopes) < 2 or devices < 2:
        return ""
    if len(meshes) > 1:
        return _describe_meshes(groups, len(meshes))
    if len(groups) > 1:
        return f"{len(groups)} scopes share the devices: {', '.join(map(_listed, groups))}"
    wanted = _wanted(scopes)
    why = f", since {devices} devices are no multiple of {wanted}" if devices % wanted else ""
    return f"{len(scopes)} scopes are one{why}: {_listed(scopes)}"


def _describe_meshes(groups: list[Group], meshes: int) -> str:
    """Each scope, or each stage that is found in one, has a mesh; or a mesh has several of them."""
    listed = ", ".join(_listed(group) + _cut(group[0].stages) for group in groups)
    stages = sum(group[0].stages for group in groups)
    if stages == meshes:
        said = f"{len(groups)} scopes, devices of their own: {listed}", "shares them"
    else:
        said = f"{stages} stages on {meshes} meshes: {listed}", "puts all on one"
    return f"{said[0]}; `cluster.colocate_split_and_replicate` {said[1]}"


def _cut(stages: int) -> str:
    return f" in {stages} stages" if stages > 1 else ""


def _listed(group: Sequence[Strategy]) -> str:
    """`split "head" (train.py:7)`; some places of those that are one."""
    first = group[0]
    places = [f"{scope.place.file.rpartition('/')[2]}:{scope.place.line}" for scope in group if scope.place]
    places = list(dict.fromkeys(places))
    shown = ", ".join(places[:3]) + (", ..." if len(places) > 3 else "")
    name = f' "{first.name}"' if first.name else ""
    return f"{first.kind.value}{name}" + (f" ({shown})" if shown else "")


def _warn_no_batch(program: adapter.Program, name: str, layout: str, has_states_only: bool) -> None:
    named = "" if has_states_only else 'name the arguments that hold samples, batch=("x",), or '
    warn(
        NotParallelWarning,
        f"{name} has no batch, so that devices along data do the same work ({layout}): {named}have the "
        'devices share what the step makes itself, epl.constrain(x, {0: "data"})',
        program.place,
    )


def _warn_stages(groups: list[Group], name: str, layout: str) -> None:
    """Of `replicate` scopes alike that only their places tell apart."""
    alike: dict[int, Group] = {}
    for group in groups:
        if group[0].kind is Kind.REPLICATE and not group[0].name and group[0].stages == 1:
            alike.setdefault(group[0].device_count, []).append(group[0])
    for first, second, *_ in (scopes for scopes in alike.values() if len(scopes) > 1):
        warn(
            NotParallelWarning,
            f"this epl.replicate of {name} and that of {first.place} have devices of their own ({layout}), "
            "so that no device works on both: give them names if they are stages, "
            'epl.replicate(name="stage_0"), one name if they are one scope, or set '
            "cluster.colocate_split_and_replicate",
            second.place,
        )


def warn_of_copies(name: str) -> None:
    """Warns of a step of a module that another step has trained without writing the module back."""
    warn(
        CopyWarning,
        f"{name} trains a copy of tensors that another step has trained: give share=, that step, to "
        "epl.torch.parallelize to train the same ones, or call its write_back() before",
        calling_place(),
    )


def check_scope_outside(name: str) -> None:
    """Warns of a call inside a scope, which does not reach the step's operations."""
    if (scope := scope_outside()) is not None:
        warn(
            NotParallelWarning,
            f"{name} is called inside {scope}, which is not for it: write the scope inside the step, round "
            "the operations that it is for",
            calling_place(),
        )


class Recompilations:
    """Says why a step is compiled anew, and warns where one reason comes again and again."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, found: Difference) -> None:
        """Logs a recompilation of a step; the third one for one reason is a warning."""
        text = f"{name} was compiled for {found.text}: compiling anew"
        _LOG.info("%s", text)
        reason = found.kind, found.name
        self._counts[reason] += 1
        if self._counts[reason] == _MOST:
            warn(RecompileWarning, f"{text} for the {_MOST}rd time: {found.remedy}", calling_place())


def warn(category: type[Warning], message: str, place: Place | None) -> None:
    """Warns at the user's line, once unless the user's filters say otherwise: calls stand in loops."""
    place = place or Place("<step>")
    shown = _shown.setdefault(place.file, {})
    warnings.warn_explicit(message, category, place.file, place.line, registry=shown)
